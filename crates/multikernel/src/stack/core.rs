//! The state shared by all views of a stack: the kernels, and the points or the values stored in their place.

use std::fmt;
use std::sync::{Arc, MutexGuard};

use super::cut::Cut;
use super::given::Points;
use super::layout::{Group, Layout};
use super::options::{Centring, StackOptions, Storage};
use super::points::{Shared, Sides};
use super::source::{Computed, Means, SLACK, Scratch, Source};
use super::there::Banks;
use super::watch::Watch;
use super::{cost, sparse};
use crate::error::{Error, Remedy, Result, message};
use crate::features::Features;
use crate::kernel::{Base, Kernel};
use crate::linalg::{Matrix, Matrix32, large_pages};
use crate::pool::{Pool, Spare, keep};
use crate::precision::Precision;
use crate::simd::{Real, SimdElement, UninitPart, UninitVec, skip_to_line};

/// State shared by all views of a stack.
pub(super) struct Core {
    pub(super) layout: Arc<Layout>,
    /// The shape of the whole stack.
    pub(super) cut: Cut,
    pub(super) precision: Precision,
    pub(super) store: Store,
    /// The row points; empty if values are stored.
    pub(super) left: Points,
    /// The column points, if they differ from the row points.
    pub(super) right: Option<Points>,
    /// For each group, the most common value in each column if the points are sparse around it.
    pub(super) backgrounds: Vec<Option<Vec<f64>>>,
    pub(super) centring: Vec<Option<Centring>>,
    /// The mean of each row of each centred kernel.
    pub(super) row_means: Vec<Vec<f64>>,
    pub(super) notes: Vec<String>,
    pub(super) memory: Option<u64>,
    /// The memory limit that storing the values would have exceeded.
    pub(super) crossed: Option<u64>,
    pub(super) spare: Arc<Spare>,
    /// What devices have been told of views.
    pub(super) banks: Banks,
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

/// Kernel values in memory, ordered by block, tile and slot, so that a pass reads them sequentially.
pub(super) enum Store {
    Nowhere,
    F64(Vec<f64>),
    F32(Vec<f32>),
}

/// A type kernel values can be stored in.
pub(super) trait Element: SimdElement {
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

/// Memory for a store.
struct Room<T> {
    memory: UninitVec<T>,
    /// Whether to bypass the caches: the memory was used before and exceeds their size.
    past: bool,
}

/// Stores of at least this many bytes bypass the caches when written to reused memory: the second-level cache of most
/// processors is smaller.
const PAST_BYTES: usize = 4 << 20;

/// Room for `n` values: the memory of an earlier store, trimmed if it is much larger, else newly allocated.
fn room<T: Element>(n: usize, spare: &Spare) -> Option<Room<T>> {
    let mut kept = T::spare(spare);
    if let Some(at) = kept.iter().position(|values| values.capacity() >= n && values.capacity() / 2 < n) {
        let mut values = kept.swap_remove(at);
        // Keep a sixteenth more: the splits of a cross-validation differ by a row.
        if values.capacity() - n > n / 16 {
            values.clear();
            values.shrink_to(n);
        }
        return Some(Room { memory: UninitVec::reuse(values, n)?, past: n * T::BYTES >= PAST_BYTES });
    }
    drop(kept);
    spare.clear();
    let mut memory = UninitVec::new(n)?;
    large_pages(memory.memory());
    // The system clears new pages on first write, which leaves them in the caches.
    Some(Room { memory, past: false })
}

/// The background of each group, in the units that its kernels look at.
fn backgrounds(groups: &[Group], points: &Points) -> Vec<Option<Vec<f64>>> {
    let of = |unscaled: bool| {
        let of_kind = groups.iter().filter(|group| group.unscaled == unscaled);
        sparse::backgrounds(&points.features_of(unscaled), of_kind.map(|group| &group.columns)).into_iter()
    };
    let (mut scaled, mut unscaled) = (of(false), of(true));
    groups.iter().map(|group| if group.unscaled { unscaled.next() } else { scaled.next() }.flatten()).collect()
}

impl Core {
    pub(super) fn new(
        kernels: &[Kernel],
        cut: Cut,
        left: Points,
        right: Option<Points>,
        options: &StackOptions<'_>,
    ) -> Core {
        let gated = left.is_gated() || right.as_ref().is_some_and(Points::is_gated);
        let layout = Arc::new(Layout::new(kernels, options.precision, !gated));
        let points = right.as_ref().unwrap_or(&left);
        let plain = !options.sparse && matches!(points.features(), Features::Dense(_));
        let backgrounds = if plain { vec![None; layout.groups.len()] } else { backgrounds(&layout.groups, points) };
        Core {
            backgrounds,
            layout,
            cut,
            precision: options.precision,
            store: Store::Nowhere,
            left,
            right,
            centring: vec![None; kernels.len()],
            row_means: vec![vec![]; kernels.len()],
            notes: vec![],
            memory: options.memory,
            crossed: None,
            spare: options.pool.spare().clone(),
            banks: Banks::default(),
        }
    }

    /// The same kernels between other points, all dense and with no view missing; nothing is stored.
    pub(super) fn of_points(&self, cut: Cut, left: Points, right: Option<Points>) -> Core {
        let n = self.layout.kernels.len();
        Core {
            layout: self.layout.clone(),
            cut,
            precision: self.precision,
            store: Store::Nowhere,
            left,
            right,
            backgrounds: vec![None; self.layout.groups.len()],
            centring: vec![None; n],
            row_means: vec![vec![]; n],
            notes: vec![],
            memory: self.memory,
            crossed: None,
            spare: self.spare.clone(),
            banks: Banks::default(),
        }
    }

    pub(super) fn right(&self) -> &Points {
        self.right.as_ref().unwrap_or(&self.left)
    }

    /// The values between some points, computed on every pass. `batch_mask` marks the groups that will be requested;
    /// the others cost nothing.
    pub(super) fn computed<'a, T: Real>(
        &'a self,
        cut: Cut,
        rows: &[usize],
        cols: &[usize],
        batch_mask: &[bool],
        pool: Option<&'a Pool>,
    ) -> Source<'a, T> {
        let (left, right) = ((&self.left, rows), (self.right(), cols));
        let mut shared = Shared::new(pool);
        let sides = |((group, &batch_mask), background): ((&'a Group, &bool), &Option<Vec<f64>>)| {
            batch_mask.then(|| Sides::new(group, left, right, background.as_deref(), &mut shared))
        };
        let means = |(centring, row_means): (&Option<Centring>, &Vec<f64>)| {
            let pick = |from: &[f64], at: &[usize]| at.iter().map(|&i| from[i]).collect();
            centring.as_ref().map(|centring| Means {
                rows: pick(row_means, rows),
                cols: pick(&centring.means, cols),
                grand: centring.grand,
            })
        };
        let sides = self.layout.groups.iter().zip(batch_mask).zip(&self.backgrounds).map(sides).collect();
        let centring = self.centring.iter().zip(&self.row_means).map(means).collect();
        let gated = self.left.is_gated() || self.right().is_gated();
        let gate = |(group, &batch_mask): (&Group, &bool)| {
            let pick = |(points, at): (&Points, &[usize])| {
                let gate = points.gate(&group.columns);
                at.iter().map(|&i| gate[i]).collect()
            };
            (gated && batch_mask).then(|| [pick(left), pick(right)])
        };
        let gates = self.layout.groups.iter().zip(batch_mask).map(gate).collect();
        Source::computed(&self.layout, cut, Computed { sides, gates, centring })
    }

    /// A note for each group of kernels with unit diagonal that has rows without a direction.
    pub(super) fn zero_rows(&self) -> Vec<String> {
        let note = |(group, background): (&Group, &Option<Vec<f64>>)| {
            let gate = self.left.gate(&group.columns);
            let all: Vec<usize> = (0..self.cut.n_rows).filter(|&i| gate[i] > 0.0).collect();
            let (rows, nothing) = ((&self.left, all.as_slice()), (&self.left, [].as_slice()));
            let zero = Sides::new(group, rows, nothing, background.as_deref(), &mut Shared::default()).n_zero();
            (zero > 0).then(|| {
                format!(
                    "{zero} of {} rows are zero on the columns of {}: their kernel rows are zero",
                    all.len(),
                    self.layout.kernels[self.layout.slots[group.slots.start].kernel]
                )
            })
        };
        let groups = self.layout.groups.iter().zip(&self.backgrounds);
        let may_be_zero = |base: Base| matches!(base, Base::Cosine | Base::GivenCosine);
        groups.filter(|(group, _)| may_be_zero(group.base)).filter_map(note).collect()
    }

    /// The mean of each row of kernel `m`, before centring, over the column points that have the kernel's views.
    pub(super) fn means(&self, m: usize, options: &StackOptions<'_>) -> Result<Vec<f64>> {
        let plain: Vec<Kernel> = vec![self.layout.kernels[m].clone().not_centred()];
        let cut = Cut { symmetric: false, ..self.cut };
        let rows: Vec<usize> = (0..cut.n_rows).collect();
        let cols: Vec<usize> = (0..cut.n_cols).collect();
        let known = self.right().gate(self.layout.kernels[m].columns());
        let n_known = known.iter().filter(|&&gate| gate > 0.0).count().max(1);
        let right = self.right.as_ref().map(Points::ungated);
        let core = Core::new(&plain, cut, self.left.ungated(), right, options);
        let source: Source<'_, f64> = core.computed(cut, &rows, &cols, &[true], Some(options.pool));
        if cut.n_cols == 0 {
            return Ok(vec![0.0; cut.n_rows]);
        }
        let watch = Watch::new(options.stop.as_deref());
        let means = options.pool.map(cut.n_blocks(), |block| {
            let mut sums = vec![0.0; cut.rows(block).len()];
            let mut scratch = Scratch::default();
            for tile in cut.tiles(block).take_while(|_| watch.go_on()) {
                source.each(block, &tile, &[true], &mut scratch, |held| {
                    for (sum, row) in sums.iter_mut().zip(held.slot(0).chunks_exact(tile.cols.len())) {
                        let known = row.iter().zip(&known[tile.cols.clone()]).filter(|&(_, &gate)| gate > 0.0);
                        *sum += known.map(|(value, _)| value).sum::<f64>();
                    }
                });
            }
            sums.into_iter().map(|sum| sum / n_known as f64).collect::<Vec<f64>>()
        });
        watch.result(means.concat())
    }

    pub(super) fn stored_bytes(&self) -> u64 {
        self.bytes_of(self.cut)
    }

    /// Bytes of the values in a shape.
    pub(super) fn bytes_of(&self, cut: Cut) -> u64 {
        let size = self.precision.bytes() as u128 * self.layout.slots.len() as u128;
        // A symmetric shape of more than 2^32 rows exceeds any memory anyway.
        let rows = cut.n_rows as u128 * cut.n_cols as u128;
        if rows > u128::from(u64::MAX) { u64::MAX } else { u64::try_from(size * cut.len() as u128).unwrap_or(u64::MAX) }
    }

    /// Whether reading the stored values of a shape is worth the memory.
    pub(super) fn pays(&self, cut: Cut, need: u64) -> bool {
        let n_columns = self.right().features().n_cols();
        let of_group: Vec<usize> = self.layout.groups.iter().map(|group| group.columns.count(n_columns)).collect();
        let tile = cut.len() as f64 / cut.n_tiles().max(1) as f64;
        cost::pays(&self.layout, &of_group, self.precision, need, tile)
    }

    /// Stores the values if that is requested, allowed and worthwhile.
    pub(super) fn stored(mut self, options: &StackOptions<'_>) -> Result<Core> {
        let need = self.stored_bytes();
        // Leave room for one combined kernel beside the stack, which every method needs sooner or later.
        let result = (self.cut.n_rows as u64).saturating_mul(self.cut.n_cols as u64).saturating_mul(8);
        let fits = self.memory.is_none_or(|limit| need.saturating_add(result) <= limit);
        let on_device = options.pool.device().is_some() && self.suits_devices();
        let store = match options.storage {
            // A device computes them faster than it would receive them.
            _ if on_device => false,
            Storage::Tiled => false,
            Storage::Packed => true,
            Storage::Fit => fits && self.pays(self.cut, need),
        };
        if options.storage == Storage::Fit && !fits {
            self.crossed = self.memory;
        }
        if store {
            match self.precision {
                Precision::F64 => self.fill::<f64>(need, options)?,
                Precision::F32 => self.fill::<f32>(need, options)?,
            }
        }
        Ok(self)
    }

    /// Stores the values of a source of the same shape; false if the system has too little memory.
    pub(super) fn copy<T: Element>(&mut self, source: &Source<'_, T>, pool: &Pool, watch: &Watch<'_>) -> Result<bool> {
        let n_slots = self.layout.slots.len();
        let Some(Room { memory, past }) = room::<T>(self.cut.len() * n_slots + SLACK, &self.spare) else {
            return Ok(false);
        };
        let values = self.fill_blocks(memory, pool, |scratch, block, out| {
            source.fill(block, scratch, past, || watch.go_on(), out);
        });
        let Some(values) = watch.result(values)? else { return Ok(false) };
        self.store = T::into_store(values);
        Ok(true)
    }

    /// The values of a store whose blocks `write` fills; `None` if it left one unfilled.
    fn fill_blocks<T: Element>(
        &self,
        mut memory: UninitVec<T>,
        pool: &Pool,
        write: impl Fn(&mut Scratch<T>, usize, &mut UninitPart<'_, T>) + Send + Sync,
    ) -> Option<Vec<T>> {
        let n_slots = self.layout.slots.len();
        let before = skip_to_line(memory.memory());
        let after = SLACK - before;
        let size = |block: usize| (self.cut.start(block + 1) - self.cut.start(block)) * n_slots;
        let sizes = std::iter::once(before).chain((0..self.cut.n_blocks()).map(size)).chain([after]);
        memory.fill_parts(sizes, |parts| {
            let [first, blocks @ .., last] = parts else { return };
            first.extend_by(T::default(), before);
            last.extend_by(T::default(), after);
            pool.each_with(blocks.iter_mut().enumerate().collect(), |scratch, (block, out)| write(scratch, block, out));
        })
    }

    fn fill<T: Element>(&mut self, need: u64, options: &StackOptions<'_>) -> Result<()> {
        let refuse = |limit: u64| {
            self.refusal(format!("the kernel stack of {} kernels", self.layout.kernels.len()), need, limit)
        };
        if let Some(limit) = options.memory.filter(|&limit| need > limit) {
            return Err(refuse(limit));
        }
        let n_slots = self.layout.slots.len();
        let size = (need / T::BYTES as u64) as usize;
        let Some(Room { memory, past }) = room::<T>(size + SLACK, &self.spare) else {
            if options.storage == Storage::Fit {
                // The system has less memory than the limit allows: compute instead.
                self.crossed = Some(options.memory.unwrap_or(0));
                return Ok(());
            }
            return Err(refuse(0));
        };
        self.clear_spare_over(need);
        let (rows, cols): (Vec<usize>, Vec<usize>) = ((0..self.cut.n_rows).collect(), (0..self.cut.n_cols).collect());
        let batch_mask = vec![true; self.layout.groups.len()];
        let source: Source<'_, T> = self.computed(self.cut, &rows, &cols, &batch_mask, Some(options.pool));
        let counter = Counter::new(options, self.cut.len());
        let values = self.fill_blocks(memory, options.pool, |scratch, block, out| {
            if !counter.stopped() {
                source.fill(block, scratch, past, || true, out);
                counter.add(out.len() / n_slots.max(1));
            }
        });
        let values = counter.result(values)?;
        drop(source);
        self.store = T::into_store(values);
        (self.left, self.right) = (Points::default(), None);
        Ok(())
    }

    fn refusal(&self, what: String, need: u64, limit: u64) -> Error {
        let help = message!["use fewer rows or kernels, or raise ", Remedy::Memory];
        Error::Memory { what: format!("{what} on {} x {} points", self.cut.n_rows, self.cut.n_cols), need, limit, help }
    }

    /// Returns spare memory to the system if it and these bytes together exceed the limit.
    fn clear_spare_over(&self, bytes: u64) {
        if self.memory.is_some_and(|limit| bytes.saturating_add(self.spare.bytes()) > limit) {
            self.spare.clear();
        }
    }

    /// Zero matrices for the result of an operation, or an error before anything is allocated.
    pub(super) fn matrices(&self, what: &str, n: usize, n_rows: usize, n_cols: usize) -> Result<Vec<Matrix>> {
        self.matrices_by((Matrix::try_zeros, f64::BYTES), what, n, n_rows, n_cols)
    }

    /// The same with unspecified numbers, for callers that write them all.
    pub(super) fn unspecified(&self, what: &str, n: usize, n_rows: usize, n_cols: usize) -> Result<Vec<Matrix>> {
        self.matrices_by((Matrix::unspecified, f64::BYTES), what, n, n_rows, n_cols)
    }

    /// A matrix of zeros for a combined kernel, or an error before it is allocated.
    pub(super) fn narrow(&self, n_rows: usize, n_cols: usize) -> Result<Matrix32> {
        let what = format!("the combined kernel of {n_rows} x {n_cols} points in f32");
        Ok(self.matrices_by((Matrix32::try_zeros, f32::BYTES), &what, 1, n_rows, n_cols)?.remove(0))
    }

    fn matrices_by<M>(
        &self,
        (make, bytes): Maker<M>,
        what: &str,
        n: usize,
        n_rows: usize,
        n_cols: usize,
    ) -> Result<Vec<M>> {
        let each = (n_rows as u64).saturating_mul(n_cols as u64).saturating_mul(bytes as u64);
        let need = each.saturating_mul(n as u64);
        let held = if matches!(self.store, Store::Nowhere) { 0 } else { self.stored_bytes() };
        let refuse = |limit: u64| Error::Memory {
            what: what.to_string(),
            need,
            limit,
            help: message!["use fewer rows, or raise ", Remedy::Memory],
        };
        if let Some(limit) = self.memory.filter(|&limit| need.saturating_add(held) > limit) {
            return Err(refuse(limit - held.min(limit)));
        }
        self.clear_spare_over(need.saturating_add(held));
        (0..n as u64).map(|k| make(n_rows, n_cols).ok_or_else(|| refuse(k * each))).collect()
    }
}

/// Makes a matrix of so many rows and columns where memory allows; bytes of a number in it.
type Maker<M> = (fn(usize, usize) -> Option<M>, usize);

/// Counts values across all threads and polls whether to continue.
struct Counter<'a> {
    watch: Option<&'a (dyn Fn(usize, usize) -> bool + Sync)>,
    done: std::sync::atomic::AtomicUsize,
    total: usize,
    stop: std::sync::atomic::AtomicBool,
}

impl<'a> Counter<'a> {
    fn new(options: &StackOptions<'a>, total: usize) -> Self {
        Counter { watch: options.watch, done: 0.into(), total, stop: false.into() }
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

    /// The values, unless counting was stopped partway.
    fn result<T>(&self, values: Option<T>) -> Result<T> {
        values.filter(|_| !self.stopped()).ok_or_else(|| {
            Error::Stopped(
                "stopped while the kernels were computed; nothing was learned and no model was made: give it more time"
                    .into(),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Stack;
    use super::*;
    use crate::pool::Pool;

    #[test]
    fn reused_memory_is_within_what_is_allowed() {
        let pool = Pool::new(1).unwrap();
        let kernels: Vec<Kernel> = ["gaussian(1)", "linear"].map(|text| text.parse().unwrap()).to_vec();
        let train = |n: usize, memory: Option<u64>| {
            let points = Matrix::from_fn(n, 2, |i, j| (i * 3 + j) as f64);
            Stack::train(&points, &kernels, &StackOptions { memory, ..StackOptions::new(&pool) }).unwrap()
        };
        let taken = |stack: &Stack| match &stack.core.store {
            Store::F64(values) => 8 * values.capacity() as u64,
            _ => 0,
        };
        drop((train(400, None), train(400, None)));
        let left = pool.spare().bytes();
        drop(train(399, None));
        assert_eq!(pool.spare().bytes(), left, "a row less gave memory back");
        // A sequence of ever smaller stores must not carry the first one's memory along.
        for n in [300, 220, 160, 120] {
            let limit = train(n, None).bytes() + 8 * (n * n) as u64 + 1000;
            let stack = train(n, Some(limit));
            assert!(stack.bytes() > 0 && taken(&stack) <= stack.bytes() / 16 * 17 + 256, "{n}: {}", taken(&stack));
            stack.combine(&Matrix::zeros(2, 1), &pool).unwrap();
            let most = limit + stack.bytes() / 16;
            assert!(taken(&stack) + 8 * (n * n) as u64 + pool.spare().bytes() <= most, "{n} rows");
        }
    }

    /// Bits of all kernels between some points.
    fn sample(stack: &Stack) -> Vec<u64> {
        let rows: Vec<usize> = (0..stack.n_rows()).step_by(7).collect();
        let blocks = (0..stack.n_kernels()).map(|m| stack.block(m, &rows, &rows).unwrap());
        blocks.flat_map(|block| block.data().iter().map(|value| value.to_bits()).collect::<Vec<_>>()).collect()
    }

    #[test]
    fn stores_in_memory_of_any_kind_and_written_past_the_caches_hold_the_same() {
        let kernels: Vec<Kernel> =
            ["gaussian(1)", "gaussian(2)", "gaussian(0.01)", "polynomial(2)", "linear on [0]", "laplacian(1) centred"]
                .map(|text| text.parse().unwrap())
                .to_vec();
        // Not a multiple of a block, tile or cache line; large enough to bypass the caches, then half that.
        let n = if cfg!(miri) { 9 } else { 1901 };
        let points = Matrix::from_fn(n, 3, |i, j| ((i * 7919 + j * 104_729) % 1000) as f64 / 300.0);
        let some: Vec<usize> = (0..n).filter(|i| i % 3 > 0).collect();
        let cases = [(Precision::F32, 2), (Precision::F64, 1), (Precision::F32, 1)];
        for (precision, n_threads) in cases.into_iter().take(if cfg!(miri) { 1 } else { 3 }) {
            let pool = Pool::new(n_threads).unwrap();
            let options = StackOptions { precision, storage: Storage::Packed, ..StackOptions::new(&pool) };
            let build = || {
                let whole = Stack::train(&points, &kernels, &options).unwrap();
                let part = whole.view(&some).unwrap().compact(&pool).unwrap();
                (sample(&whole), sample(&part))
            };
            let fresh = build();
            // Old contents of the memory reused by the next stores must not show through.
            pool.spare().wide().iter_mut().for_each(|values| values.fill(f64::NAN));
            pool.spare().narrow().iter_mut().for_each(|values| values.fill(f32::NAN));
            assert!(cfg!(miri) || pool.spare().bytes() as usize >= PAST_BYTES);
            assert!(build() == fresh, "{} on {n_threads} threads", precision.word());
            let tiled = StackOptions { storage: Storage::Tiled, ..options.clone() };
            assert!(sample(&Stack::train(&points, &kernels, &tiled).unwrap()) == fresh.0);
        }
    }

    /// Values between rows and landmarks have a store of their own where memory allows it, with the bits of those computed on
    /// the way and of those gathered from a store of all.
    #[test]
    fn values_between_rows_and_landmarks_are_kept_with_the_same_bits() {
        let kernels: Vec<Kernel> =
            ["gaussian(1)", "polynomial(2)", "laplacian(1) centred"].map(|text| text.parse().unwrap()).to_vec();
        let points = Matrix::from_fn(90, 3, |i, j| ((i * 7919 + j * 104_729) % 1000) as f64 / 300.0);
        let (all, few): (Vec<usize>, Vec<usize>) = ((0..90).collect(), (0..90).step_by(4).collect());
        let weights = Matrix::from_fn(few.len(), 2, |i, j| (i + 3 * j) as f64 / 7.0 - 1.0);
        let pool = Pool::new(1).unwrap();
        let between = |storage: Storage, memory: Option<u64>| {
            let options = StackOptions { storage, memory, ..StackOptions::new(&pool) };
            Stack::train(&points, &kernels, &options).unwrap().between(&all, &few).unwrap()
        };
        let bits = |stack: &Stack| -> Vec<u64> {
            let applied = stack.apply(&weights, &pool).unwrap();
            applied.iter().flat_map(|found| found.data().iter().map(|value| value.to_bits())).collect()
        };
        let (tiled, stored) = (between(Storage::Tiled, None), between(Storage::Packed, None));
        let bytes = 8 * (3 * all.len() * few.len()) as u64;
        for view in [&tiled, &stored] {
            let kept = view.kept(0, &pool).unwrap();
            assert_eq!((kept.bytes(), bits(&kept)), (bytes, bits(&tiled)));
        }
        let tight = between(Storage::Tiled, Some(bytes + 1000));
        assert_eq!((tight.kept(1000, &pool).unwrap().bytes(), tight.kept(1001, &pool).unwrap().bytes()), (bytes, 0));
    }
}
