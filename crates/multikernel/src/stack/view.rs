//! A stack, and views of it: subsets of its points and kernels.

use std::fmt;
use std::sync::Arc;

use super::core::{Core, Element, Store};
use super::cut::Cut;
use super::given::Points;
use super::options::{Centring, StackOptions, StopQuery};
use super::source::Source;
use super::watch::Watch;
use crate::error::{Error, Result, gib};
use crate::kernel::Kernel;
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::precision::Precision;

/// P kernels between row points and column points.
///
/// [`Stack::train`] builds it over the training points (square, symmetric), [`Stack::cross`] between new and training
/// points; [`Stack::view`] and [`Stack::between`] restrict it without copying. Cloning is cheap. Memory if stored: 8
/// (or 4) bytes times P n_rows n_cols, half of it if symmetric; one value per entry instead of P for 32 or more radial
/// kernels on the same columns, which are treated as one function of the distance (error below 1e-11 of the sum of
/// weights).
///
/// ```
/// use multikernel::{Matrix, Pool, stack::{StackOptions, Stack}};
/// let rows = Matrix::from_vec(3, 1, vec![0.0, 1.0, 3.0])?;
/// let kernels = ["gaussian(1)".parse()?, "linear".parse()?];
/// let pool = Pool::new(1)?;
/// let stack = Stack::train(&rows, &kernels, &StackOptions::new(&pool))?;
/// let sum = &stack.combine(&Matrix::from_vec(2, 1, vec![0.5, 0.5])?, &pool)?[0];
/// assert!((sum.get(1, 2) - 0.5 * ((-2.0f64).exp() + 1.0)).abs() < 1e-15);
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone)]
pub struct Stack {
    pub(super) core: Arc<Core>,
    rows: Selection,
    cols: Selection,
    /// Which kernels of the core, and in which order.
    pub(super) kernels: Selection,
    stop: Option<StopQuery>,
}

impl fmt::Debug for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stack").field("shape", &self.cut()).field("core", &self.core).finish_non_exhaustive()
    }
}

/// The rows or columns a view shows.
#[derive(Clone, Debug)]
pub(super) enum Selection {
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

    pub(super) fn indices(&self) -> Arc<[usize]> {
        match self {
            Selection::All(n) => (0..*n).collect(),
            Selection::Some(indices) => indices.clone(),
        }
    }

    pub(super) fn is_all(&self) -> bool {
        matches!(self, Selection::All(_))
    }

    /// Whether two selections are the same object.
    fn is(&self, other: &Selection) -> bool {
        match (self, other) {
            (Selection::All(a), Selection::All(b)) => a == b,
            (Selection::Some(a), Selection::Some(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

impl Stack {
    /// The stack over the training points. Cost if stored: N^2/2 base quantities per column set and N^2/2 P kernel
    /// values; otherwise next to nothing now, and that much at each operation. `points` are [`Points`], or
    /// [`Features`](crate::data::Features) if nothing else is known about them.
    pub fn train(points: impl Into<Points>, kernels: &[Kernel], options: &StackOptions<'_>) -> Result<Stack> {
        let points = points.into();
        points.check_grams(kernels, None)?;
        points.check_units(kernels)?;
        let n = points.n_points();
        let unknown = (points.n_unknown() > 0).then(|| {
            format!(
                "{} of {n} rows lack a view that every kernel looks at: their kernels are zero, and only a bias decides on \
                 them; use kernels on single views (`each view`), or impute missing views",
                points.n_unknown()
            )
        });
        let cut = Cut { n_rows: n, n_cols: n, symmetric: true };
        let mut core = Core::new(kernels, cut, points, None, options);
        core.notes = core.zero_rows();
        core.notes.extend(unknown);
        for m in (0..kernels.len()).filter(|&m| kernels[m].is_centred()) {
            let means = core.means(m, options)?;
            // Only points that have the kernel's views count, as in the row means.
            let gate = core.right().gate(kernels[m].columns());
            let known: Vec<f64> =
                means.iter().zip(gate).filter(|&(_, gate)| gate > 0.0).map(|(&mean, _)| mean).collect();
            let grand = known.iter().sum::<f64>() / known.len().max(1) as f64;
            core.row_means[m].clone_from(&means);
            core.centring[m] = Some(Centring { means, grand });
        }
        Ok(Stack::new(core.stored(options)?, options))
    }

    fn new(core: Core, options: &StackOptions<'_>) -> Stack {
        let (rows, cols) = (Selection::All(core.cut.n_rows), Selection::All(core.cut.n_cols));
        let kernels = Selection::All(core.layout.kernels.len());
        Stack { core: Arc::new(core), rows, cols, kernels, stop: options.stop.clone() }
    }

    /// The stack between `new` points (rows) and the training points (columns). `centring` is [`Stack::centring`] of
    /// the training stack.
    pub fn cross(
        new: impl Into<Points>,
        points: impl Into<Points>,
        kernels: &[Kernel],
        centring: &[Option<Centring>],
        options: &StackOptions<'_>,
    ) -> Result<Stack> {
        let (new, points) = (new.into(), points.into());
        let (found, needed) = (new.features().n_cols(), points.features().n_cols());
        if found != needed {
            return Err(Error::input(format!("new rows have {found} features, training rows {needed}")));
        }
        new.check_grams(kernels, Some(&points))?;
        new.check_units(kernels)?;
        points.check_units(kernels)?;
        let centred = kernels.iter().map(Kernel::is_centred);
        if !centring.iter().map(Option::is_some).eq(centred) {
            return Err(Error::input("each centred kernel, and no other, needs the training means of its stack"));
        }
        let cut = Cut { n_rows: new.n_points(), n_cols: points.n_points(), symmetric: false };
        // Both sides in one format, so that a row has the same kernels whichever way it was given.
        let new = new.with_features(new.features().like(points.features())?.into_owned());
        let mut core = Core::new(kernels, cut, new, Some(points), options);
        for (m, centring) in centring.iter().enumerate() {
            let Some(centring) = centring else { continue };
            if centring.means.len() != cut.n_cols {
                let (needed, n) = (centring.means.len(), cut.n_cols);
                return Err(Error::input(format!("a centred kernel needs all {needed} training points, got {n}")));
            }
            core.row_means[m] = core.means(m, options)?;
            core.centring[m] = Some(centring.clone());
        }
        Ok(Stack::new(core.stored(options)?, options))
    }

    /// The same kernels between other points, for learners that receive points one after the other: between `rows` and
    /// `columns`, or among `rows`. Nothing is stored, and each value depends on its two points alone. An error for
    /// kernels that need more than that: centred and unscaled kernels, and Gram matrices.
    pub fn of_points(&self, rows: &Matrix, columns: Option<&Points>) -> Result<Stack> {
        let kernels = &self.core.layout.kernels;
        let is_more = |kernel: &&Kernel| kernel.is_centred() || kernel.is_unscaled() || kernel.gram().is_some();
        if let Some(kernel) = kernels.iter().find(is_more) {
            return Err(Error::input(format!(
                "{kernel} depends on all training rows; a stream needs kernels of two rows alone: leave out `centred`, \
                 `unscaled` and Gram matrices"
            )));
        }
        let (n_rows, n_columns) = (rows.n_rows(), columns.map_or(rows.n_rows(), Points::n_points));
        let cut = Cut { n_rows, n_cols: n_columns, symmetric: columns.is_none() };
        let core = self.core.of_points(cut, Points::from(rows), columns.cloned());
        let (rows, cols) = (Selection::All(n_rows), Selection::All(n_columns));
        Ok(Stack { core: Arc::new(core), rows, cols, kernels: self.kernels.clone(), stop: self.stop.clone() })
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
        self.kernels.len()
    }

    /// Precision of the kernel values.
    pub fn precision(&self) -> Precision {
        self.core.precision
    }

    /// The kernels, in order.
    pub fn kernels(&self) -> Vec<&Kernel> {
        self.kernels.indices().iter().map(|&m| &self.core.layout.kernels[m]).collect()
    }

    /// The training means of the `centred` kernels (`None` for the others) of the whole stack, used to centre new
    /// points.
    pub fn centring(&self) -> &[Option<Centring>] {
        &self.core.centring
    }

    /// Notes about the points, such as zero rows that give a zero kernel row.
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

    /// Whether the kernels are computed at each operation because storing them would have exceeded the memory limit.
    pub fn is_limited(&self) -> bool {
        self.core.crossed.is_some()
    }

    /// One-line summary for people: the number of kernels, where their values are, and what that costs.
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
        Ok(Stack { rows, cols, ..self.clone() })
    }

    /// The same stack with the values of a view copied out of its store: for many passes, which then read them
    /// sequentially instead of gathering. Returns the stack itself if nothing is stored, if it shows all points, or if
    /// memory does not allow as many copies as there are threads, since folds may make them concurrently. One pass.
    ///
    /// ```
    /// use multikernel::{Matrix, Pool, stack::{StackOptions, Stack, Storage}};
    /// let pool = Pool::new(1)?;
    /// let points = Matrix::from_vec(3, 1, vec![1.0, 2.0, 3.0])?;
    /// let options = StackOptions { storage: Storage::Packed, ..StackOptions::new(&pool) };
    /// let view = Stack::train(&points, &["linear raw".parse()?], &options)?.view(&[2, 0])?.compact(&pool)?;
    /// assert_eq!(view.unfold(&pool)?.data(), [9.0, 3.0, 3.0, 1.0]);
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn compact(&self, pool: &Pool) -> Result<Stack> {
        let is_view = !(self.rows.is_all() && self.cols.is_all());
        if !is_view || matches!(self.core.store, Store::Nowhere) {
            return Ok(self.clone());
        }
        self.copied(pool)
    }

    /// The same stack with the values of a view in a store of their own, for many passes over it: where they are stored
    /// already, [`Stack::compact`]; else if reading them is worth it and memory allows that with `beside` bytes. One pass.
    pub(crate) fn kept(&self, beside: u64, pool: &Pool) -> Result<Stack> {
        let core = &self.core;
        let is_there = pool.device().is_some() && core.suits_devices();
        let pays = || {
            let need = core.bytes_of(self.cut());
            core.memory.is_none_or(|limit| need.saturating_add(beside) <= limit) && core.pays(self.cut(), need)
        };
        match core.store {
            Store::Nowhere if is_there || !pays() => Ok(self.clone()),
            Store::Nowhere => self.copied(pool),
            _ => self.compact(pool),
        }
    }

    fn copied(&self, pool: &Pool) -> Result<Stack> {
        let copied = in_precision!(self, copied(self, pool))?;
        let (rows, cols) = (Selection::All(self.n_rows()), Selection::All(self.n_cols()));
        Ok(copied.map_or_else(|| self.clone(), |core| Stack { core: Arc::new(core), rows, cols, ..self.clone() }))
    }

    /// The stack of some of the kernels, in the given order, without copying. Unpicked kernels cost nothing, except for
    /// a few that are computed together with a picked one.
    pub fn pick(&self, kernels: &[usize]) -> Result<Stack> {
        if let Some(&m) = kernels.iter().find(|&&m| m >= self.n_kernels()) {
            return Err(Error::input(format!("kernel {m} is outside the stack's 0..{}", self.n_kernels())));
        }
        Ok(Stack { kernels: self.kernels.of(kernels)?, ..self.clone() })
    }

    /// The stack between some row points and some column points, without copying.
    pub fn between(&self, rows: &[usize], cols: &[usize]) -> Result<Stack> {
        let (rows, cols) = (self.rows.of(rows)?, self.cols.of(cols)?);
        Ok(Stack { rows, cols, ..self.clone() })
    }

    /// Memory limit in bytes for the result of one operation.
    pub(crate) fn room(&self) -> u64 {
        self.core.memory.map_or(u64::MAX, |limit| limit.saturating_sub(self.bytes()))
    }

    /// The same stack, never stopped: for work that must finish after a run was stopped.
    #[must_use]
    pub fn unstoppable(&self) -> Stack {
        Stack { stop: None, ..self.clone() }
    }

    /// The same stack, whose operations poll `stop` and nothing else.
    #[must_use]
    pub(crate) fn stopped_by(&self, stop: impl Fn() -> bool + Send + Sync + 'static) -> Stack {
        Stack { stop: Some(Arc::new(stop)), ..self.clone() }
    }

    /// Expands rows for the picked kernels to rows for all of them, zero for the others. A kernel picked twice gets the
    /// sum.
    pub(super) fn spread(&self, rows: Matrix) -> Matrix {
        if self.kernels.is_all() {
            return rows;
        }
        let mut all = Matrix::zeros(self.core.layout.kernels.len(), rows.n_cols());
        for (&m, row) in self.kernels.indices().iter().zip(rows.rows()) {
            all.row_mut(m).iter_mut().zip(row).for_each(|(all, value)| *all += value);
        }
        all
    }

    /// The batches that hold a picked kernel.
    pub(super) fn batch_mask(&self) -> Vec<bool> {
        let mut batch_mask = vec![self.kernels.is_all(); self.core.layout.batches.len()];
        if !self.kernels.is_all() {
            self.kernels.indices().iter().for_each(|&m| batch_mask[self.core.layout.batch_of(m)] = true);
        }
        batch_mask
    }

    /// Whether each kernel of the core is picked.
    pub(super) fn kernel_mask(&self) -> Vec<bool> {
        let mut kernel_mask = vec![false; self.core.layout.kernels.len()];
        self.kernels.indices().iter().for_each(|&m| kernel_mask[m] = true);
        kernel_mask
    }

    /// The positions of each kernel of the core among the picked ones.
    pub(super) fn places(&self) -> Vec<Vec<usize>> {
        let mut places = vec![vec![]; self.core.layout.kernels.len()];
        self.kernels.indices().iter().enumerate().for_each(|(place, &m)| places[m].push(place));
        places
    }

    pub(super) fn watch(&self) -> Watch<'_> {
        Watch::new(self.stop.as_deref())
    }

    /// The shape of this view.
    pub(super) fn cut(&self) -> Cut {
        let symmetric = self.core.cut.symmetric && self.rows.is(&self.cols);
        Cut { n_rows: self.n_rows(), n_cols: self.n_cols(), symmetric }
    }

    pub(super) fn indices(&self) -> [Arc<[usize]>; 2] {
        [self.rows.indices(), self.cols.indices()]
    }

    /// The values of this view, for the batches in the mask. Points are packed on the threads of the pool, if any.
    pub(super) fn source<'a, T: Element>(
        &'a self,
        [rows, cols]: &'a [Arc<[usize]>; 2],
        batch_mask: &[bool],
        pool: Option<&'a Pool>,
    ) -> Source<'a, T> {
        let (core, cut) = (self.core.as_ref(), self.cut());
        match T::of(&core.store) {
            Some(values) if self.rows.is_all() && self.cols.is_all() => Source::stored(&core.layout, cut, values),
            Some(values) => Source::gathered(&core.layout, cut, values, core.cut, rows, cols),
            None => core.computed(cut, rows, cols, &core.layout.groups_of(batch_mask), pool),
        }
    }
}

/// A store of the values a view shows; `None` if there is too little memory.
fn copied<T: Element>(stack: &Stack, pool: &Pool) -> Result<Option<Core>> {
    let (indices, watch) = (stack.indices(), stack.watch());
    let all = vec![true; stack.core.layout.batches.len()];
    let source: Source<'_, T> = stack.source(&indices, &all, Some(pool));
    let mut core = stack.core.of_points(stack.cut(), Points::default(), None);
    core.centring.clone_from(&stack.core.centring);
    core.notes.clone_from(&stack.core.notes);
    let copies = core.stored_bytes().saturating_mul(pool.n_threads() as u64);
    let need = copies.saturating_add(stack.bytes());
    if core.memory.is_some_and(|limit| need > limit) || !core.copy(&source, pool, &watch)? {
        return Ok(None);
    }
    Ok(Some(core))
}

pub(super) fn check(what: &str, side: &str, found: usize, needed: usize) -> Result<()> {
    if found == needed {
        Ok(())
    } else {
        Err(Error::input(format!("{what} has {found} {side}, the stack needs {needed}")))
    }
}
