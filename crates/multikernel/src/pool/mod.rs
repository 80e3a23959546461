//! Our own threads: results never depend on how many there are.

mod cells;
mod engine;
mod sync;
mod team;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use cells::Cells;
use engine::Engine;
#[cfg(feature = "rayon-bench")]
#[doc(hidden)]
pub use engine::RayonPieces;
use team::Team;

use crate::error::{Error, Result};

/// Most threads of a pool. More than a machine has only wait for one another, and thousands bring it to a halt.
const MAX_THREADS: usize = 1024;

/// A thread pool of a fixed size, of which the thread that asks is one: a pool of one thread starts none. Work is cut
/// by its index, never by the number of threads, and put together in index order, so the same bits come out for any
/// size. Work may ask the pool for work in turn.
///
/// ```
/// let pool = multikernel::Pool::new(2)?;
/// assert_eq!(pool.map(4, |i| i * i), vec![0, 1, 4, 9]);
/// # Ok::<(), multikernel::Error>(())
/// ```
///
/// A pool also keeps the memory of the last kernel stacks that were dropped, for the next ones: getting fresh pages
/// from the system takes longer than filling them. It goes back to the system with the pool.
#[derive(Debug)]
pub struct Pool {
    engine: Engine,
    spare: Arc<Spare>,
}

/// Memory that is not in use, of either precision.
#[derive(Debug, Default)]
pub(crate) struct Spare {
    wide: Mutex<Vec<Vec<f64>>>,
    narrow: Mutex<Vec<Vec<f32>>>,
}

/// Stores kept for reuse: one of the training points and one between new and training points.
const MAX_SPARE_STORES: usize = 2;

impl Spare {
    /// Memory of earlier stores of `f64`.
    pub(crate) fn wide(&self) -> MutexGuard<'_, Vec<Vec<f64>>> {
        // A vector is whole at any time, so a thread that panicked left nothing half-done.
        self.wide.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The same for `f32`.
    pub(crate) fn narrow(&self) -> MutexGuard<'_, Vec<Vec<f32>>> {
        self.narrow.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes kept.
    pub(crate) fn bytes(&self) -> u64 {
        let wide: usize = self.wide().iter().map(Vec::capacity).sum();
        let narrow: usize = self.narrow().iter().map(Vec::capacity).sum();
        (8 * wide + 4 * narrow) as u64
    }

    /// Gives everything back to the system.
    pub(crate) fn clear(&self) {
        self.wide().clear();
        self.narrow().clear();
    }
}

/// Keeps `values`, and of all at most two, the youngest.
pub(crate) fn keep<T>(mut kept: MutexGuard<'_, Vec<Vec<T>>>, values: Vec<T>) {
    kept.push(values);
    let surplus = kept.len().saturating_sub(MAX_SPARE_STORES);
    kept.drain(..surplus);
}

impl Pool {
    /// A pool of `n_threads`; 0 takes what the machine has, more than 1024 is refused.
    pub fn new(n_threads: usize) -> Result<Self> {
        if n_threads > MAX_THREADS {
            return Err(Error::param(
                "threads",
                format!("must be from 0 (all of the machine) to {MAX_THREADS}, got {n_threads}"),
            ));
        }
        let machine = || std::thread::available_parallelism().map_or(1, usize::from);
        let n_threads = if n_threads == 0 { machine().min(MAX_THREADS) } else { n_threads };
        let team = Team::new(n_threads - 1)
            .map_err(|error| Error::param("threads", format!("cannot start {n_threads} threads: {error}")))?;
        Ok(Pool { engine: Engine::Team(Arc::new(team)), spare: Arc::default() })
    }

    /// A pool whose work rayon hands out and of which the calling thread is one, to be compared with [`Pool::new`].
    #[cfg(feature = "rayon-bench")]
    #[doc(hidden)]
    pub fn rayon(n_threads: usize, pieces: RayonPieces) -> Result<Self> {
        let threads = rayon::ThreadPoolBuilder::new().num_threads(n_threads).use_current_thread().build();
        let threads =
            threads.map_err(|error| Error::param("threads", format!("cannot start {n_threads} threads: {error}")))?;
        Ok(Pool { engine: Engine::Rayon(Arc::new(threads), pieces), spare: Arc::default() })
    }

    /// `work` inside the pool: what it asks rayon for then need not enter it again.
    #[cfg(feature = "rayon-bench")]
    #[doc(hidden)]
    pub fn install<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        match &self.engine {
            Engine::Team(_) => work(),
            Engine::Rayon(threads, _) => threads.install(work),
        }
    }

    /// A pool of all the machine's threads, started once and shared by all such pools; memory is each pool's own. For
    /// calls that are given no pool: a model that predicts row by row would spend its time starting threads.
    pub(crate) fn shared() -> Result<Self> {
        static SHARED: OnceLock<(u32, Engine)> = OnceLock::new();
        let process = std::process::id();
        let (owner, engine) = match SHARED.get() {
            Some(shared) => shared,
            None => {
                let engine = Pool::new(0)?.engine;
                SHARED.get_or_init(|| (process, engine))
            }
        };
        // A forked process has no copy of the threads.
        if *owner != process {
            return Pool::new(0);
        }
        Ok(Pool { engine: engine.clone(), spare: Arc::default() })
    }

    /// A pool of one thread, the same for all: for work inside tasks that run side by side already.
    pub(crate) fn alone() -> Result<&'static Pool> {
        static ALONE: OnceLock<Pool> = OnceLock::new();
        if let Some(pool) = ALONE.get() {
            return Ok(pool);
        }
        let pool = Pool::new(1)?;
        Ok(ALONE.get_or_init(|| pool))
    }

    /// Memory that a dropped stack left.
    pub(crate) fn spare(&self) -> &Arc<Spare> {
        &self.spare
    }

    /// Number of threads, with that which asks.
    pub fn n_threads(&self) -> usize {
        self.engine.n_threads()
    }

    /// Whether work of so many pieces is done as well by the thread that asks: handing it over takes longer than small
    /// pieces do.
    fn is_plain(&self, n: usize) -> bool {
        n <= 1 || self.n_threads() == 1
    }

    /// `f(0), ..., f(n - 1)` in order.
    pub fn map<T: Send>(&self, n: usize, f: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
        if self.is_plain(n) {
            return (0..n).map(f).collect();
        }
        let cells: Cells<T> = Cells::new((0..n).map(|_| None));
        // SAFETY: this is the thread that works on the item.
        self.engine.run(n, self.grain(n), &|i| *unsafe { cells.at(i) } = Some(f(i)));
        cells.into_iter().collect()
    }

    /// Calls `f(i, chunk)` for the consecutive chunks of length `size` of `data` (the last may be shorter).
    pub fn chunks_mut(&self, data: &mut [f64], size: usize, f: impl Fn(usize, &mut [f64]) + Sync + Send) {
        if size == 0 {
            return;
        }
        let chunks = data.chunks_mut(size).enumerate();
        let grain = self.grain(chunks.len());
        self.hand_out(chunks, grain, |(i, chunk)| f(i, chunk));
    }

    /// Calls `f` on each item; items are handed out one by one, so uneven work evens out.
    pub fn each<T: Send>(&self, items: Vec<T>, f: impl Fn(T) + Sync + Send) {
        self.hand_out(items.into_iter(), 1, f);
    }

    fn hand_out<T: Send>(&self, items: impl ExactSizeIterator<Item = T>, grain: usize, f: impl Fn(T) + Sync + Send) {
        let n = items.len();
        if self.is_plain(n) {
            return items.for_each(f);
        }
        let cells = Cells::new(items.map(Some));
        // SAFETY: this is the thread that works on the item.
        self.engine.run(n, grain, &|i| unsafe { cells.at(i) }.take().into_iter().for_each(&f));
    }

    /// Items that are handed out together where they may be many and small: few enough that no thread is left with much
    /// at the end.
    fn grain(&self, n: usize) -> usize {
        (n / (32 * self.n_threads())).max(1)
    }

    /// [`Pool::each`] with space to work in, which goes from item to item: `f` may rely on nothing that it finds there.
    pub(crate) fn each_with<S: Default + Send, T: Send>(&self, items: Vec<T>, f: impl Fn(&mut S, T) + Sync + Send) {
        let spare: Mutex<Vec<S>> = Mutex::default();
        let lock = || spare.lock().unwrap_or_else(PoisonError::into_inner);
        self.each(items, |item| {
            let mut space = lock().pop().unwrap_or_default();
            f(&mut space, item);
            lock().push(space);
        });
    }
}
