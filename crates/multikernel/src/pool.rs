//! Our own threads: results never depend on how many there are.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rayon::prelude::*;

use crate::error::{Error, Result};

/// Most threads of a pool. More than a machine has only wait for one another, and thousands bring it to a halt.
const MOST_THREADS: usize = 1024;

/// A thread pool of a fixed size. Work is cut by its index, never by the number of threads, and put together in
/// index order, so the same bits come out for any size.
///
/// ```
/// let pool = multikernel::Pool::new(2)?;
/// assert_eq!(pool.map(4, |i| i * i), vec![0, 1, 4, 9]);
/// # Ok::<(), multikernel::Error>(())
/// ```
///
/// A pool also keeps the memory of the last kernel stacks that were dropped, for the next ones: getting fresh pages from
/// the system takes longer than filling them. It goes back to the system with the pool.
#[derive(Debug)]
pub struct Pool {
    inner: rayon::ThreadPool,
    spare: Arc<Spare>,
}

/// Memory that is not in use, of either precision.
#[derive(Debug, Default)]
pub(crate) struct Spare {
    wide: Mutex<Vec<Vec<f64>>>,
    narrow: Mutex<Vec<Vec<f32>>>,
}

/// Stores kept for reuse: one of the training points and one between new and training points.
const KEPT: usize = 2;

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
    let surplus = kept.len().saturating_sub(KEPT);
    kept.drain(..surplus);
}

impl Pool {
    /// A pool of `n_threads`; 0 takes what the machine has, more than 1024 is refused.
    pub fn new(n_threads: usize) -> Result<Self> {
        if n_threads > MOST_THREADS {
            return Err(Error::param(
                "threads",
                format!("must be from 0 (all of the machine) to {MOST_THREADS}, got {n_threads}"),
            ));
        }
        let inner = rayon::ThreadPoolBuilder::new()
            .num_threads(n_threads)
            .thread_name(|i| format!("multikernel-{i}"))
            .build()
            .map_err(|error| Error::param("threads", format!("cannot start {n_threads} threads: {error}")))?;
        Ok(Pool { inner, spare: Arc::default() })
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

    /// Number of threads.
    pub fn n_threads(&self) -> usize {
        self.inner.current_num_threads()
    }

    /// Whether work of so many pieces is done as well by the thread that asks: handing it over takes longer than small pieces do.
    fn is_plain(&self, n: usize) -> bool {
        n <= 1 || self.n_threads() == 1
    }

    /// `f(0), ..., f(n - 1)` in order.
    pub fn map<T: Send>(&self, n: usize, f: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
        if self.is_plain(n) {
            return (0..n).map(f).collect();
        }
        self.inner.install(|| (0..n).into_par_iter().map(f).collect())
    }

    /// Calls `f(i, chunk)` for the consecutive chunks of length `size` of `data` (the last may be shorter).
    pub fn chunks_mut(&self, data: &mut [f64], size: usize, f: impl Fn(usize, &mut [f64]) + Sync + Send) {
        if size == 0 {
            return;
        }
        if self.is_plain(data.len().div_ceil(size)) {
            return data.chunks_mut(size).enumerate().for_each(|(i, chunk)| f(i, chunk));
        }
        self.inner.install(|| data.par_chunks_mut(size).enumerate().for_each(|(i, chunk)| f(i, chunk)));
    }

    /// Calls `f` on each item; items are handed out one by one, so uneven work evens out.
    pub fn each<T: Send>(&self, items: Vec<T>, f: impl Fn(T) + Sync + Send) {
        if self.is_plain(items.len()) {
            return items.into_iter().for_each(f);
        }
        self.inner.install(|| items.into_par_iter().with_max_len(1).for_each(f));
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
