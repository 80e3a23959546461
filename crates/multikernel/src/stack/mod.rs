//! The kernel stack: P kernels between row points and column points, touched only through a few operations.
//!
//! Storage is the stack's own business; a method never knows which it has. Values are stored packed, in `f64` or `f32`, or
//! computed tile by tile whenever they are needed; both are the same code and give the same bits.

mod cut;
mod layout;
mod ops;
mod points;
mod profile;
mod source;
mod sparse;

use std::fmt;
use std::sync::{Arc, MutexGuard};

use crate::error::{Error, Result, gib};
use crate::features::Features;
use crate::kernel::{Base, Kernel};
use crate::linalg::{Matrix, zeroed};
use crate::pool::{Pool, Spare, keep};
use crate::simd::{Real, skip_to_line};

use cut::Cut;
use layout::Layout;
use ops::Watch;
use points::Sides;
use source::{Scratch, Source};

/// How kernel values are held. Sums over them are `f64` either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Eight bytes a value.
    #[default]
    F64,
    /// Four bytes a value: half the memory and up to twice the speed, for an error of up to 2e-7 in every unit-diagonal kernel
    /// value. Squared distances and inner products are still `f64`; only the kernel of them is not.
    F32,
}

impl Precision {
    /// The word used by the command line and in files.
    pub fn word(self) -> &'static str {
        match self {
            Precision::F64 => "f64",
            Precision::F32 => "f32",
        }
    }

    fn bytes(self) -> usize {
        match self {
            Precision::F64 => f64::BYTES,
            Precision::F32 => f32::BYTES,
        }
    }
}

impl std::str::FromStr for Precision {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "f64" => Ok(Precision::F64),
            "f32" => Ok(Precision::F32),
            _ => Err(Error::param("precision", format!("must be f64 or f32, got `{text}`"))),
        }
    }
}

/// Where kernel values are between two operations. The results of operations have the same bits for all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Storage {
    /// Packed in memory where that is allowed, else tiled.
    #[default]
    Fit,
    /// Packed in memory: each operation reads them. An error where the memory does not suffice.
    Packed,
    /// Nowhere: each operation computes them tile by tile. Right for a single pass.
    Tiled,
}

/// Asked now and then, from any thread: whether to stop.
type Asked = Arc<dyn Fn() -> bool + Send + Sync>;

/// How a stack is built: with which threads, within which memory, and who hears of it.
#[derive(Clone)]
pub struct Building<'a> {
    /// The threads.
    pub pool: &'a Pool,
    /// Most bytes the stack, and the result of one operation beside it, may take.
    pub memory: Option<u64>,
    /// How values are held.
    pub precision: Precision,
    /// Where values are held.
    pub storage: Storage,
    /// Called with (values done, in all) while values are stored; returning false gives up with [`Error::Stopped`].
    pub watch: Option<&'a (dyn Fn(usize, usize) -> bool + Sync)>,
    /// Asked now and then by every operation on the stack; true ends it with [`Error::Stopped`].
    pub stop: Option<Asked>,
}

impl<'a> Building<'a> {
    /// With these threads, in `f64`, stored, no limit, silently.
    pub fn new(pool: &'a Pool) -> Self {
        let (precision, storage) = (Precision::default(), Storage::default());
        Building { pool, memory: None, precision, storage, watch: None, stop: None }
    }
}

/// The training means of one `centred` kernel: k~(x, y) = k(x, y) - mean_i k(x, x_i) - mean_i k(x_i, y) + grand mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Centring {
    /// mean_i k(x_i, x_j) for each training point j.
    pub means: Vec<f64>,
    /// Their mean.
    pub grand: f64,
}

/// P kernels between row points and column points.
///
/// [`Stack::train`] makes it over the training points (square, symmetric), [`Stack::cross`] between new and training
/// points; [`Stack::view`] and [`Stack::between`] restrict it without copying. Cloning is cheap.
/// Memory where stored: 8 (or 4) bytes times P n_rows n_cols, half of it where symmetric; one value per entry instead of P
/// for 32 or more radial kernels on the same columns, which are one function of the distance (error below 1e-11 of the sum
/// of weights).
///
/// ```
/// use multikernel::{Matrix, Pool, stack::{Building, Stack}};
/// let rows = Matrix::from_vec(3, 1, vec![0.0, 1.0, 3.0])?.into();
/// let kernels = ["gaussian(1)".parse()?, "linear".parse()?];
/// let pool = Pool::new(1)?;
/// let stack = Stack::train(&rows, &kernels, &Building::new(&pool))?;
/// let sum = &stack.combine(&Matrix::from_vec(2, 1, vec![0.5, 0.5])?, &pool)?[0];
/// assert!((sum.get(1, 2) - 0.5 * ((-2.0f64).exp() + 1.0)).abs() < 1e-15);
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone)]
pub struct Stack {
    core: Arc<Core>,
    rows: Selection,
    cols: Selection,
    stop: Option<Asked>,
}

impl fmt::Debug for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stack").field("shape", &self.cut()).field("core", &self.core).finish_non_exhaustive()
    }
}

/// What all views of a stack share.
struct Core {
    layout: Layout,
    /// The shape of the whole.
    cut: Cut,
    precision: Precision,
    store: Store,
    /// The row points; empty where values are stored.
    left: Arc<Features>,
    /// The column points, where they are others.
    right: Option<Arc<Features>>,
    /// For each group the value most points have in each column, if they are sparse around it.
    backgrounds: Vec<Option<Vec<f64>>>,
    centring: Vec<Option<Centring>>,
    /// The mean of each row of each centred kernel.
    row_means: Vec<Vec<f64>>,
    notes: Vec<String>,
    memory: Option<u64>,
    /// The limit that values would have crossed had they been stored.
    crossed: Option<u64>,
    spare: Arc<Spare>,
}

impl Drop for Core {
    fn drop(&mut self) {
        match std::mem::replace(&mut self.store, Store::Nowhere) {
            Store::Nowhere => {}
            Store::F64(values) => keep(self.spare.wide(), values),
            Store::F32(values) => keep(self.spare.narrow(), values),
        }
    }
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core").field("cut", &self.cut).field("precision", &self.precision).finish_non_exhaustive()
    }
}

/// Kernel values in memory: block by block, tile by tile, slot by slot, so that a pass reads them from end to end.
enum Store {
    Nowhere,
    F64(Vec<f64>),
    F32(Vec<f32>),
}

/// Values left unused at the beginning or end of a store, so that the rest begins at a line of the cache.
const SLACK: usize = 16;

/// A type kernel values can be stored in.
trait Element: Real {
    fn of(store: &Store) -> Option<&[Self]>;
    fn into_store(values: Vec<Self>) -> Store;
    fn spare(spare: &Spare) -> MutexGuard<'_, Vec<Vec<Self>>>;
}

impl Element for f64 {
    fn of(store: &Store) -> Option<&[f64]> {
        if let Store::F64(values) = store { Some(&values[skip_to_line(values)..]) } else { None }
    }

    fn into_store(values: Vec<f64>) -> Store {
        Store::F64(values)
    }

    fn spare(spare: &Spare) -> MutexGuard<'_, Vec<Vec<f64>>> {
        spare.wide()
    }
}

impl Element for f32 {
    fn of(store: &Store) -> Option<&[f32]> {
        if let Store::F32(values) = store { Some(&values[skip_to_line(values)..]) } else { None }
    }

    fn into_store(values: Vec<f32>) -> Store {
        Store::F32(values)
    }

    fn spare(spare: &Spare) -> MutexGuard<'_, Vec<Vec<f32>>> {
        spare.narrow()
    }
}

/// At least `n` values of any kind for a store: the memory of an earlier one, cut down where it is much larger, else new.
fn room<T: Element>(n: usize, spare: &Spare) -> Option<Vec<T>> {
    let mut kept = T::spare(spare);
    if let Some(at) = kept.iter().position(|values| values.len() >= n && values.len() / 2 < n) {
        let mut values = kept.swap_remove(at);
        // A sixteenth more is kept: the splits of a cross-validation differ by a row.
        if values.len() - n > n / 16 {
            values.truncate(n);
            values.shrink_to_fit();
        }
        return Some(values);
    }
    drop(kept);
    spare.clear();
    zeroed(n)
}

/// Which of the rows or columns a view shows.
#[derive(Clone, Debug)]
enum Selection {
    All(usize),
    Some(Arc<[usize]>),
}

impl Selection {
    fn len(&self) -> usize {
        match self {
            Selection::All(n) => *n,
            Selection::Some(indices) => indices.len(),
        }
    }

    /// A selection of this selection.
    fn of(&self, indices: &[usize]) -> Result<Selection> {
        if let Some(&index) = indices.iter().find(|&&index| index >= self.len()) {
            return Err(Error::input(format!("row {index} of a view is outside the stack's 0..{}", self.len())));
        }
        Ok(Selection::Some(match self {
            Selection::All(_) => indices.into(),
            Selection::Some(of) => indices.iter().map(|&i| of[i]).collect(),
        }))
    }

    fn indices(&self) -> Arc<[usize]> {
        match self {
            Selection::All(n) => (0..*n).collect(),
            Selection::Some(indices) => indices.clone(),
        }
    }

    fn is_all(&self) -> bool {
        matches!(self, Selection::All(_))
    }

    /// Whether two selections are one and the same.
    fn is(&self, other: &Selection) -> bool {
        match (self, other) {
            (Selection::All(a), Selection::All(b)) => a == b,
            (Selection::Some(a), Selection::Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

/// A symmetric matrix to project on: dense, or `U V'` of low rank.
#[derive(Clone, Copy, Debug)]
pub enum Symmetric<'a> {
    /// The whole matrix.
    Dense(&'a Matrix),
    /// `U V'`, both n x r.
    Factored(&'a Matrix, &'a Matrix),
}

/// Runs an operation in the precision of a stack.
macro_rules! in_precision {
    ($stack:expr, $operation:ident($($arg:expr),*)) => {
        match $stack.core.precision {
            Precision::F64 => ops::$operation::<f64>($($arg),*),
            Precision::F32 => ops::$operation::<f32>($($arg),*),
        }
    };
}

impl Stack {
    /// The stack over the training points. Cost where stored: N^2/2 base quantities per column set and N^2/2 P kernel
    /// values; otherwise next to nothing now, and that at each operation.
    pub fn train(points: &Features, kernels: &[Kernel], building: &Building<'_>) -> Result<Stack> {
        let n = points.n_rows();
        let cut = Cut { n_rows: n, n_cols: n, symmetric: true };
        let mut core = Core::new(kernels, cut, Arc::new(points.clone()), None, building);
        core.notes = core.zero_rows();
        for m in (0..kernels.len()).filter(|&m| kernels[m].is_centred()) {
            let means = core.means(m, building)?;
            let grand = means.iter().sum::<f64>() / n.max(1) as f64;
            core.row_means[m].clone_from(&means);
            core.centring[m] = Some(Centring { means, grand });
        }
        core.into_stack(building)
    }

    /// The stack between `new` points (rows) and the training points (columns). `centring` is
    /// [`Stack::centring`] of the training stack.
    pub fn cross(
        new: &Features,
        points: &Features,
        kernels: &[Kernel],
        centring: &[Option<Centring>],
        building: &Building<'_>,
    ) -> Result<Stack> {
        if new.n_cols() != points.n_cols() {
            return Err(Error::input(format!(
                "new rows have {} features, training rows {}",
                new.n_cols(),
                points.n_cols()
            )));
        }
        let centred = kernels.iter().map(Kernel::is_centred);
        if !centring.iter().map(Option::is_some).eq(centred) {
            return Err(Error::input("each centred kernel, and no other, needs the training means of its stack"));
        }
        let cut = Cut { n_rows: new.n_rows(), n_cols: points.n_rows(), symmetric: false };
        // Both sides in one form, so that a row has the same kernels whichever way it came.
        let (new, points) = (Arc::new(new.like(points)?.into_owned()), Arc::new(points.clone()));
        let mut core = Core::new(kernels, cut, new, Some(points), building);
        for (m, centring) in centring.iter().enumerate() {
            let Some(centring) = centring else { continue };
            if centring.means.len() != cut.n_cols {
                let (needed, n) = (centring.means.len(), cut.n_cols);
                return Err(Error::input(format!("a centred kernel needs all {needed} training points, got {n}")));
            }
            core.row_means[m] = core.means(m, building)?;
            core.centring[m] = Some(centring.clone());
        }
        core.into_stack(building)
    }

    /// Number of row points.
    pub fn n_rows(&self) -> usize {
        self.rows.len()
    }

    /// Number of column points.
    pub fn n_cols(&self) -> usize {
        self.cols.len()
    }

    /// Number of kernels.
    pub fn n_kernels(&self) -> usize {
        self.core.layout.kernels.len()
    }

    /// The training means of the `centred` kernels (`None` for the others); new points are centred with them.
    pub fn centring(&self) -> &[Option<Centring>] {
        &self.core.centring
    }

    /// Remarks about the points, such as zero rows that give a zero kernel row.
    pub fn notes(&self) -> &[String] {
        &self.core.notes
    }

    /// Bytes of the stored values; 0 for a stack that computes them at each operation.
    pub fn bytes(&self) -> u64 {
        match self.core.store {
            Store::Nowhere => 0,
            _ => self.core.stored_bytes(),
        }
    }

    /// Whether the kernels are computed at each operation because storing them would have crossed the memory allowed.
    pub fn is_limited(&self) -> bool {
        self.core.crossed.is_some()
    }

    /// One line for people: how many kernels, where their values are, and what that costs.
    pub fn describe(&self) -> String {
        let core = &self.core;
        let (n, precision) = (self.n_kernels(), core.precision.word());
        let head = format!("{n} kernels on {} x {} points", self.n_rows(), self.n_cols());
        let stored = gib(core.stored_bytes());
        let values = core.layout.slots.len() as f64 * core.cut.len() as f64;
        match (&core.store, core.crossed) {
            (Store::Nowhere, None) => {
                format!(
                    "{head}: {values:.1e} values computed on the way in {precision}, nothing stored ({stored} if they were)"
                )
            }
            (Store::Nowhere, Some(limit)) => {
                let limit = gib(limit);
                format!(
                    "{head}: {stored} would cross the {limit} allowed, so each pass computes {values:.1e} values in {precision}"
                )
            }
            _ => format!("{head}: stored packed in {precision}, {stored}"),
        }
    }

    /// The stack on a subset of the points (folds, class pairs, resamples), rows and columns alike, without copying.
    pub fn view(&self, points: &[usize]) -> Result<Stack> {
        let rows = self.rows.of(points)?;
        let cols = if self.rows.is(&self.cols) { rows.clone() } else { self.cols.of(points)? };
        Ok(Stack { core: self.core.clone(), rows, cols, stop: self.stop.clone() })
    }

    /// The stack between some row points and some column points, without copying.
    pub fn between(&self, rows: &[usize], cols: &[usize]) -> Result<Stack> {
        let (rows, cols) = (self.rows.of(rows)?, self.cols.of(cols)?);
        Ok(Stack { core: self.core.clone(), rows, cols, stop: self.stop.clone() })
    }

    /// `sum_m W_mc K_m` for each column c of the P x C weights: C matrices of n_rows x n_cols. One pass over the kernels
    /// with a weight that is not zero, whatever C.
    pub fn combine(&self, weights: &Matrix, pool: &Pool) -> Result<Vec<Matrix>> {
        check("combine: weights", "rows (one per kernel)", weights.n_rows(), self.n_kernels())?;
        in_precision!(self, combine(self, weights, pool))
    }

    /// `<K_m, M_c>` for all kernels m (rows) and matrices c (columns): the gradient for all kernels at once. One pass over
    /// the kernels; a matrix of rank r costs r operations per entry, whatever P.
    pub fn project(&self, matrices: &[Symmetric<'_>], pool: &Pool) -> Result<Matrix> {
        for matrix in matrices {
            let (rows, cols) = match matrix {
                Symmetric::Dense(matrix) => (matrix.n_rows(), matrix.n_cols()),
                Symmetric::Factored(u, v) => {
                    check("project: factors", "columns", v.n_cols(), u.n_cols())?;
                    (u.n_rows(), v.n_rows())
                }
            };
            check("project: matrix", "rows", rows, self.n_rows())?;
            check("project: matrix", "columns", cols, self.n_cols())?;
        }
        in_precision!(self, project(self, matrices, pool))
    }

    /// `K_m V` for all kernels, V of n_cols x r: P matrices of n_rows x r. One pass, r products per entry.
    pub fn apply(&self, vectors: &Matrix, pool: &Pool) -> Result<Vec<Matrix>> {
        check("apply: vectors", "rows", vectors.n_rows(), self.n_cols())?;
        in_precision!(self, apply(self, vectors, pool))
    }

    /// `sum_m K_m g_m`, g_m the columns of the n_cols x P matrix: the adjoint of [`Stack::apply`]. One pass.
    pub fn collect(&self, vectors: &Matrix, pool: &Pool) -> Result<Vec<f64>> {
        check("collect: vectors", "rows", vectors.n_rows(), self.n_cols())?;
        check("collect: vectors", "columns (one per kernel)", vectors.n_cols(), self.n_kernels())?;
        in_precision!(self, collect(self, vectors, pool))
    }

    /// The piece of kernel `m` between these row and column points of the view.
    pub fn block(&self, m: usize, rows: &[usize], cols: &[usize]) -> Result<Matrix> {
        if m >= self.n_kernels() {
            return Err(Error::input(format!("kernel {m} is outside the stack's 0..{}", self.n_kernels())));
        }
        let piece = self.between(rows, cols)?;
        in_precision!(piece, block(&piece, m))
    }

    /// The same stack, which nothing stops: for what has to be done after a run was.
    #[must_use]
    pub fn unstoppable(&self) -> Stack {
        Stack { stop: None, ..self.clone() }
    }

    fn watch(&self) -> Watch<'_> {
        Watch::new(self.stop.as_deref())
    }

    /// The shape of this view.
    fn cut(&self) -> Cut {
        let symmetric = self.core.cut.symmetric && self.rows.is(&self.cols);
        Cut { n_rows: self.n_rows(), n_cols: self.n_cols(), symmetric }
    }

    fn indices(&self) -> [Arc<[usize]>; 2] {
        [self.rows.indices(), self.cols.indices()]
    }

    /// The values of this view, for the wanted batches.
    fn source<'a, T: Element>(&'a self, [rows, cols]: &'a [Arc<[usize]>; 2], wanted: &[bool]) -> Source<'a, T> {
        let (core, cut) = (self.core.as_ref(), self.cut());
        match T::of(&core.store) {
            Some(values) if self.rows.is_all() && self.cols.is_all() => Source::stored(&core.layout, cut, values),
            Some(values) => Source::gathered(&core.layout, cut, values, core.cut, rows, cols),
            None => Source::computed(core, cut, rows, cols, &core.layout.groups_of(wanted)),
        }
    }
}

impl Core {
    fn new(
        kernels: &[Kernel],
        cut: Cut,
        left: Arc<Features>,
        right: Option<Arc<Features>>,
        building: &Building<'_>,
    ) -> Core {
        let layout = Layout::new(kernels, building.precision);
        let columns = layout.groups.iter().map(|group| &group.columns);
        Core {
            backgrounds: sparse::backgrounds(right.as_ref().unwrap_or(&left), columns),
            layout,
            cut,
            precision: building.precision,
            store: Store::Nowhere,
            left,
            right,
            centring: vec![None; kernels.len()],
            row_means: vec![vec![]; kernels.len()],
            notes: vec![],
            memory: building.memory,
            crossed: None,
            spare: building.pool.spare().clone(),
        }
    }

    fn right(&self) -> &Features {
        self.right.as_ref().unwrap_or(&self.left)
    }

    /// A remark for each group of kernels with unit diagonal that has rows without a direction.
    fn zero_rows(&self) -> Vec<String> {
        let all: Vec<usize> = (0..self.cut.n_rows).collect();
        let note = |(group, background): (&layout::Group, &Option<Vec<f64>>)| {
            let (rows, nothing) = ((self.left.as_ref(), all.as_slice()), (self.left.as_ref(), [].as_slice()));
            let zero = Sides::new(group, rows, nothing, background.as_deref()).n_zero();
            (zero > 0).then(|| {
                format!(
                    "{zero} of {} rows are zero on the columns of {}: their kernel rows are zero",
                    all.len(),
                    self.layout.kernels[self.layout.slots[group.slots.start].kernel]
                )
            })
        };
        let groups = self.layout.groups.iter().zip(&self.backgrounds);
        groups.filter(|(group, _)| group.base == Base::Cosine).filter_map(note).collect()
    }

    /// The mean of each row of kernel `m`, before centring.
    fn means(&self, m: usize, building: &Building<'_>) -> Result<Vec<f64>> {
        let plain: Vec<Kernel> = vec![self.layout.kernels[m].clone().not_centred()];
        let cut = Cut { symmetric: false, ..self.cut };
        let rows: Vec<usize> = (0..cut.n_rows).collect();
        let cols: Vec<usize> = (0..cut.n_cols).collect();
        let core = Core::new(&plain, cut, self.left.clone(), self.right.clone(), building);
        let source: Source<'_, f64> = Source::computed(&core, cut, &rows, &cols, &[true]);
        if cut.n_cols == 0 {
            return Ok(vec![0.0; cut.n_rows]);
        }
        let watch = Watch::new(building.stop.as_deref());
        let means = building.pool.map(cut.n_blocks(), |block| {
            let mut sums = vec![0.0; cut.rows(block).len()];
            let mut scratch = Scratch::default();
            for tile in cut.tiles(block).take_while(|_| watch.go_on()) {
                source.each(block, &tile, &[true], &mut scratch, |held| {
                    for (sum, row) in sums.iter_mut().zip(held.slot(0).chunks_exact(tile.cols.len())) {
                        *sum += row.iter().sum::<f64>();
                    }
                });
            }
            sums.into_iter().map(|sum| sum / cut.n_cols as f64).collect::<Vec<f64>>()
        });
        watch.result(means.concat())
    }

    fn stored_bytes(&self) -> u64 {
        let size = self.precision.bytes() as u128 * self.layout.slots.len() as u128;
        // A symmetric shape of more than 2^32 rows is past all memory anyway.
        let rows = self.cut.n_rows as u128 * self.cut.n_cols as u128;
        if rows > u128::from(u64::MAX) {
            u64::MAX
        } else {
            u64::try_from(size * self.cut.len() as u128).unwrap_or(u64::MAX)
        }
    }

    /// Stores the values if that is wanted and allowed.
    fn into_stack(mut self, building: &Building<'_>) -> Result<Stack> {
        let need = self.stored_bytes();
        // Room for one combined kernel beside the stack, which every method needs sooner or later.
        let result = (self.cut.n_rows as u64).saturating_mul(self.cut.n_cols as u64).saturating_mul(8);
        let fits = self.memory.is_none_or(|limit| need.saturating_add(result) <= limit);
        let store = match building.storage {
            Storage::Tiled => false,
            Storage::Packed => true,
            Storage::Fit => fits,
        };
        if building.storage == Storage::Fit && !fits {
            self.crossed = self.memory;
        }
        if store {
            match self.precision {
                Precision::F64 => self.fill::<f64>(need, building)?,
                Precision::F32 => self.fill::<f32>(need, building)?,
            }
        }
        let (rows, cols) = (Selection::All(self.cut.n_rows), Selection::All(self.cut.n_cols));
        Ok(Stack { core: Arc::new(self), rows, cols, stop: building.stop.clone() })
    }

    fn fill<T: Element>(&mut self, need: u64, building: &Building<'_>) -> Result<()> {
        let refuse = |limit: u64| {
            self.refusal(format!("the kernel stack of {} kernels", self.layout.kernels.len()), need, limit)
        };
        if let Some(limit) = building.memory.filter(|&limit| need > limit) {
            return Err(refuse(limit));
        }
        let n_slots = self.layout.slots.len();
        let size = (need / T::BYTES as u64) as usize;
        let Some(mut values) = room::<T>(size + SLACK, &self.spare) else {
            if building.storage == Storage::Fit {
                // The system has less than was allowed: compute instead.
                self.crossed = Some(building.memory.unwrap_or(0));
                return Ok(());
            }
            return Err(refuse(0));
        };
        self.clear_spare_over(need);
        let (rows, cols): (Vec<usize>, Vec<usize>) = ((0..self.cut.n_rows).collect(), (0..self.cut.n_cols).collect());
        let wanted = vec![true; self.layout.groups.len()];
        let source: Source<'_, T> = Source::computed(self, self.cut, &rows, &cols, &wanted);
        let counter = Counter::new(building, self.cut.len());
        let mut blocks = vec![];
        let skip = skip_to_line(&values);
        let mut rest = &mut values[skip..];
        for block in 0..self.cut.n_blocks() {
            let size = (self.cut.start(block + 1) - self.cut.start(block)) * n_slots;
            let (values, after) = std::mem::take(&mut rest).split_at_mut(size);
            rest = after;
            blocks.push((block, values));
        }
        building.pool.each(blocks, |(block, values): (usize, &mut [T])| {
            if !counter.stopped() {
                source.fill(block, &mut Scratch::default(), values);
                counter.add(values.len() / n_slots.max(1));
            }
        });
        counter.result()?;
        drop(source);
        self.store = T::into_store(values);
        (self.left, self.right) = (Arc::new(Matrix::default().into()), None);
        Ok(())
    }

    fn refusal(&self, what: String, need: u64, limit: u64) -> Error {
        let help = "use fewer rows or kernels, or raise --memory".to_string();
        Error::Memory { what: format!("{what} on {} x {} points", self.cut.n_rows, self.cut.n_cols), need, limit, help }
    }

    /// Gives spare memory back where it and these bytes are more than is allowed.
    fn clear_spare_over(&self, bytes: u64) {
        if self.memory.is_some_and(|limit| bytes.saturating_add(self.spare.bytes()) > limit) {
            self.spare.clear();
        }
    }

    /// Matrices of zeros for the result of an operation, or a refusal before anything is allocated.
    fn matrices(&self, what: &str, n: usize, n_rows: usize, n_cols: usize) -> Result<Vec<Matrix>> {
        let each = (n_rows as u64).saturating_mul(n_cols as u64).saturating_mul(8);
        let need = each.saturating_mul(n as u64);
        let held = if matches!(self.store, Store::Nowhere) { 0 } else { self.stored_bytes() };
        let refuse = |limit: u64| Error::Memory {
            what: what.to_string(),
            need,
            limit,
            help: "use fewer rows, or raise --memory".into(),
        };
        if let Some(limit) = self.memory.filter(|&limit| need.saturating_add(held) > limit) {
            return Err(refuse(limit - held.min(limit)));
        }
        self.clear_spare_over(need.saturating_add(held));
        (0..n as u64).map(|k| Matrix::try_zeros(n_rows, n_cols).ok_or_else(|| refuse(k * each))).collect()
    }
}

/// Counts values over all threads and asks whether to go on.
struct Counter<'a> {
    watch: Option<&'a (dyn Fn(usize, usize) -> bool + Sync)>,
    done: std::sync::atomic::AtomicUsize,
    total: usize,
    stop: std::sync::atomic::AtomicBool,
}

impl<'a> Counter<'a> {
    fn new(building: &Building<'a>, total: usize) -> Self {
        Counter { watch: building.watch, done: 0.into(), total, stop: false.into() }
    }

    fn add(&self, values: usize) {
        use std::sync::atomic::Ordering::Relaxed;
        let done = self.done.fetch_add(values, Relaxed) + values;
        if self.watch.is_some_and(|watch| !watch(done, self.total)) {
            self.stop.store(true, Relaxed);
        }
    }

    fn stopped(&self) -> bool {
        self.stop.load(std::sync::atomic::Ordering::Relaxed)
    }

    fn result(&self) -> Result<()> {
        if self.stopped() {
            return Err(Error::Stopped(
                "stopped while the kernels were computed; nothing was learned and no model was made".into(),
            ));
        }
        Ok(())
    }
}

fn check(what: &str, side: &str, found: usize, needed: usize) -> Result<()> {
    if found == needed {
        Ok(())
    } else {
        Err(Error::input(format!("{what} has {found} {side}, the stack needs {needed}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reused_memory_is_within_what_is_allowed() {
        let pool = Pool::new(1).unwrap();
        let kernels: Vec<Kernel> = ["gaussian(1)", "linear"].map(|text| text.parse().unwrap()).to_vec();
        let train = |n: usize, memory: Option<u64>| {
            let points = Matrix::from_fn(n, 2, |i, j| (i * 3 + j) as f64).into();
            Stack::train(&points, &kernels, &Building { memory, ..Building::new(&pool) }).unwrap()
        };
        let taken = |stack: &Stack| match &stack.core.store {
            Store::F64(values) => 8 * values.capacity() as u64,
            _ => 0,
        };
        drop((train(400, None), train(400, None)));
        let left = pool.spare().bytes();
        drop(train(399, None));
        assert_eq!(pool.spare().bytes(), left, "a row less gave memory back");
        // A chain of ever smaller ones must not carry the first along.
        for n in [300, 220, 160, 120] {
            let limit = train(n, None).bytes() + 8 * (n * n) as u64 + 1000;
            let stack = train(n, Some(limit));
            assert!(stack.bytes() > 0 && taken(&stack) <= stack.bytes() / 16 * 17 + 256, "{n}: {}", taken(&stack));
            stack.combine(&Matrix::zeros(2, 1), &pool).unwrap();
            let most = limit + stack.bytes() / 16;
            assert!(taken(&stack) + 8 * (n * n) as u64 + pool.spare().bytes() <= most, "{n} rows");
        }
    }
}
