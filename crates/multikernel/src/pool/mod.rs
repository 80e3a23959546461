//! The thread pool: results never depend on the number of threads.

#[cfg(test)]
mod tests;
mod threads;

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use threads::Threads;

use crate::device::Device;
use crate::error::{Error, Result};

/// Maximum threads per pool. More than the machine has only wait for one another, and thousands bring it to a halt.
const MAX_THREADS: usize = 1024;

/// A thread pool of fixed size that includes the calling thread: a pool of one thread starts none. Work is split by
/// index, never by the number of threads, and assembled in index order, so the bits are the same for any size. Work may
/// call the pool in turn.
///
/// ```
/// let pool = multikernel::Pool::new(2)?;
/// assert_eq!(pool.map(4, |i| i * i), vec![0, 1, 4, 9]);
/// # Ok::<(), multikernel::Error>(())
/// ```
///
/// A pool also keeps the memory of the most recently dropped kernel stacks for reuse: getting fresh pages from the
/// system takes longer than filling them. It is released with the pool.
#[derive(Debug)]
pub struct Pool {
    threads: Arc<Threads>,
    spare: Arc<Spare>,
    device: Option<Device>,
}

/// Unused memory, for either precision.
#[derive(Debug, Default)]
pub(crate) struct Spare {
    wide: Mutex<Vec<Vec<f64>>>,
    narrow: Mutex<Vec<Vec<f32>>>,
}

/// Stores kept for reuse: one for the training points and one between new and training points.
const MAX_SPARE_STORES: usize = 2;

impl Spare {
    /// Memory of earlier stores of `f64`.
    pub(crate) fn wide(&self) -> MutexGuard<'_, Vec<Vec<f64>>> {
        lock(&self.wide)
    }

    /// The same for `f32`.
    pub(crate) fn narrow(&self) -> MutexGuard<'_, Vec<Vec<f32>>> {
        lock(&self.narrow)
    }

    /// Bytes kept.
    pub(crate) fn bytes(&self) -> u64 {
        let wide: usize = self.wide().iter().map(Vec::capacity).sum();
        let narrow: usize = self.narrow().iter().map(Vec::capacity).sum();
        (8 * wide + 4 * narrow) as u64
    }

    /// Releases everything to the system.
    pub(crate) fn clear(&self) {
        self.wide().clear();
        self.narrow().clear();
    }
}

/// Keeps `values`, and only the two most recent of all.
pub(crate) fn keep<T>(mut kept: MutexGuard<'_, Vec<Vec<T>>>, values: Vec<T>) {
    kept.push(values);
    let surplus = kept.len().saturating_sub(MAX_SPARE_STORES);
    kept.drain(..surplus);
}

/// What these locks hold is always in a valid state, so a thread that panicked left nothing half-done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// A pool of `n_threads`; 0 means as many as the machine has, more than 1024 is an error.
    pub fn new(n_threads: usize) -> Result<Self> {
        if n_threads > MAX_THREADS {
            return Err(Error::param(
                "threads",
                format!("must be from 0 (all of the machine) to {MAX_THREADS}, got {n_threads}"),
            ));
        }
        let machine = || std::thread::available_parallelism().map_or(1, usize::from);
        let n_threads = if n_threads == 0 { machine().min(MAX_THREADS) } else { n_threads };
        let threads = Threads::new(n_threads)
            .map_err(|error| Error::param("threads", format!("cannot start {n_threads} threads: {error}")))?;
        Ok(Pool { threads: Arc::new(threads), spare: Arc::default(), device: None })
    }

    /// A pool of all the machine's threads, started once and shared by all such pools; memory is per pool. For calls
    /// that are given no pool: a model that predicts row by row would spend its time starting threads.
    pub(crate) fn shared() -> Result<Self> {
        static SHARED: OnceLock<(u32, Arc<Threads>)> = OnceLock::new();
        let process = std::process::id();
        let (owner, threads) = match SHARED.get() {
            Some(shared) => shared,
            None => {
                let threads = Pool::new(0)?.threads;
                SHARED.get_or_init(|| (process, threads))
            }
        };
        // A forked process does not inherit the threads.
        if *owner != process {
            return Pool::new(0);
        }
        Ok(Pool { threads: threads.clone(), spare: Arc::default(), device: None })
    }

    /// A shared pool of one thread: for work inside tasks that already run concurrently.
    pub(crate) fn alone() -> Result<&'static Pool> {
        static ALONE: OnceLock<Pool> = OnceLock::new();
        if let Some(pool) = ALONE.get() {
            return Ok(pool);
        }
        let pool = Pool::new(1)?;
        Ok(ALONE.get_or_init(|| pool))
    }

    /// The same threads with a device beside them, which then does what it can do.
    #[must_use]
    pub fn with_device(mut self, device: impl Into<Option<Device>>) -> Pool {
        self.device = device.into();
        self
    }

    /// The device beside the threads.
    pub fn device(&self) -> Option<&Device> {
        self.device.as_ref()
    }

    /// Memory left by dropped stacks.
    pub(crate) fn spare(&self) -> &Arc<Spare> {
        &self.spare
    }

    /// Number of threads, including the calling one.
    pub fn n_threads(&self) -> usize {
        self.threads.n()
    }

    /// Whether this many pieces are as well done by the calling thread alone: handing over small pieces takes longer
    /// than doing them.
    fn is_plain(&self, n: usize) -> bool {
        n <= 1 || self.n_threads() == 1
    }

    /// `f(0), ..., f(n - 1)` in order.
    pub fn map<T: Send>(&self, n: usize, f: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
        if self.is_plain(n) {
            return (0..n).map(f).collect();
        }
        let cells: Vec<Mutex<Option<T>>> = (0..n).map(|_| Mutex::new(None)).collect();
        self.threads.run(n, self.grain(n), &|i| {
            let value = f(i);
            *lock(&cells[i]) = Some(value);
        });
        cells.into_iter().filter_map(|cell| cell.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
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

    /// Calls `f` on each item; items are handed out one by one, so uneven work is balanced.
    pub fn each<T: Send>(&self, items: Vec<T>, f: impl Fn(T) + Sync + Send) {
        self.hand_out(items.into_iter(), 1, f);
    }

    /// [`Pool::each`], where items are begun in the order given: for items that others wait for, or that take longer.
    /// At most this many threads take part, since waking one takes longer than a small item.
    pub(crate) fn in_order<T: Send>(&self, items: Vec<T>, most: usize, f: impl Fn(T) + Sync + Send) {
        let n = items.len();
        if self.is_plain(n) || most <= 1 {
            return items.into_iter().for_each(f);
        }
        let cells: Vec<Mutex<Option<T>>> = items.into_iter().map(|item| Mutex::new(Some(item))).collect();
        self.threads.run_in_order(n, most, &|i| {
            let item = lock(&cells[i]).take();
            item.into_iter().for_each(&f);
        });
    }

    fn hand_out<T: Send>(&self, items: impl ExactSizeIterator<Item = T>, grain: usize, f: impl Fn(T) + Sync + Send) {
        let n = items.len();
        if self.is_plain(n) {
            return items.for_each(f);
        }
        let cells: Vec<Mutex<Option<T>>> = items.map(|item| Mutex::new(Some(item))).collect();
        self.threads.run(n, grain, &|i| {
            let item = lock(&cells[i]).take();
            item.into_iter().for_each(&f);
        });
    }

    /// Items handed out together if they may be many and small: few enough that no thread is left with much at the end.
    fn grain(&self, n: usize) -> usize {
        (n / (32 * self.n_threads())).max(1)
    }

    /// [`Pool::each`] with scratch space that is reused from item to item: `f` must not rely on its contents.
    pub(crate) fn each_with<S: Default + Send, T: Send>(&self, items: Vec<T>, f: impl Fn(&mut S, T) + Sync + Send) {
        let spare: Mutex<Vec<S>> = Mutex::default();
        self.each(items, |item| {
            let mut space = lock(&spare).pop().unwrap_or_default();
            f(&mut space, item);
            lock(&spare).push(space);
        });
    }
}
