//! Hands out the items of a job to the calling thread and to workers of rayon.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::lock;

/// Workers beside the calling thread, for the process that started them.
#[derive(Debug)]
pub(super) struct Threads {
    /// `None` for no workers.
    pub(super) workers: Option<rayon::ThreadPool>,
    pub(super) process: u32,
}

/// Items to be worked on, `grain` at a time.
struct Job {
    lanes: Vec<Lane>,
    grain: usize,
    /// Threads that have joined so far.
    joined: AtomicUsize,
}

/// A run of neighbouring items. Each thread starts with a lane of its own: threads on neighbouring items would write to
/// the same pages, and new pages would be cleared twice.
struct Lane {
    next: AtomicUsize,
    end: usize,
}

impl Job {
    fn new(n: usize, n_lanes: usize, grain: usize) -> Job {
        let bound = |lane: usize| (n as u128 * lane as u128 / n_lanes as u128) as usize;
        let lane = |lane: usize| Lane { next: AtomicUsize::new(bound(lane)), end: bound(lane + 1) };
        Job { lanes: (0..n_lanes).map(lane).collect(), grain, joined: AtomicUsize::new(0) }
    }

    /// Works on items until all are taken: first those of a lane of its own, then those of others.
    fn help(&self, work: &(dyn Fn(usize) + Sync)) {
        let own = self.joined.fetch_add(1, Ordering::Relaxed) % self.lanes.len();
        for lane in self.lanes[own..].iter().chain(&self.lanes[..own]) {
            while lane.next.load(Ordering::Relaxed) < lane.end {
                let first = lane.next.fetch_add(self.grain, Ordering::Relaxed);
                (first..(first + self.grain).min(lane.end)).for_each(work);
            }
        }
    }
}

/// What the first panic of several threads said. Rayon drops what the others said, and ends the process where that panics in turn:
/// here it is left alone.
#[derive(Default)]
struct FirstPanic(Mutex<Option<Box<dyn Any + Send>>>);

impl FirstPanic {
    fn caught(&self, work: impl FnOnce()) {
        let Err(payload) = catch_unwind(AssertUnwindSafe(work)) else { return };
        let mut first = lock(&self.0);
        match *first {
            None => *first = Some(payload),
            Some(_) => std::mem::forget(payload),
        }
    }

    fn propagate(self) {
        let first = self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(payload) = first {
            resume_unwind(payload);
        }
    }
}

impl Threads {
    pub(super) fn new(n_threads: usize) -> Result<Threads, rayon::ThreadPoolBuildError> {
        let start =
            |n| rayon::ThreadPoolBuilder::new().num_threads(n).thread_name(|i| format!("multikernel-{i}")).build();
        let workers = if n_threads > 1 { Some(start(n_threads - 1)?) } else { None };
        Ok(Threads { workers, process: std::process::id() })
    }

    /// Number of threads, including the calling one.
    pub(super) fn n(&self) -> usize {
        1 + self.workers.as_ref().map_or(0, rayon::ThreadPool::current_num_threads)
    }

    /// Calls `work` with 0, ..., n - 1, each once, on this thread and on idle workers, `grain` at a time; returns once
    /// all calls have returned. A panic in a call is propagated to the caller. The calling thread begins at once: handed
    /// over to a worker, small jobs would spend their time waiting for it to wake up.
    pub(super) fn run(&self, n: usize, grain: usize, work: &(dyn Fn(usize) + Sync)) {
        let n_busy = n.div_ceil(grain).min(self.n());
        self.work_on(&Job::new(n, n_busy.max(1), grain), n_busy, work);
    }

    /// [`Threads::run`] on at most this many threads, each of which takes the first call that nobody has taken.
    pub(super) fn run_in_order(&self, n: usize, most: usize, work: &(dyn Fn(usize) + Sync)) {
        self.work_on(&Job::new(n, 1, 1), n.min(self.n()).min(most), work);
    }

    fn work_on(&self, job: &Job, n_busy: usize, work: &(dyn Fn(usize) + Sync)) {
        // A forked process does not inherit the workers.
        let workers = self.workers.as_ref().filter(|_| self.process == std::process::id());
        let Some(workers) = workers.filter(|_| n_busy > 1) else { return job.help(work) };
        let panic = FirstPanic::default();
        workers.in_place_scope(|scope| {
            (1..n_busy).for_each(|_| scope.spawn(|_| panic.caught(|| job.help(work))));
            panic.caught(|| job.help(work));
        });
        panic.propagate();
    }
}
