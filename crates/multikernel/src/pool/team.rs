//! Helper threads for the calling thread: it starts working immediately, and they join as they wake up.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::PoisonError;

use super::sync::{Arc, AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, spawn, watch};

/// Helper threads beside the calling one. They end when this is dropped.
///
/// A thread that waits for its helpers takes up no other work in the meantime, so an item may hold a lock while it
/// calls the pool itself.
#[derive(Debug)]
pub(super) struct Team {
    pub(super) board: Arc<Board>,
    n_helpers: usize,
}

/// Where work is posted.
#[derive(Debug, Default)]
pub(super) struct Board {
    posts: Mutex<Posts>,
    /// Incremented under the lock with every change a helper may wait for; it can be watched without the lock.
    news: AtomicUsize,
    posted: Condvar,
    left: Condvar,
}

#[derive(Debug, Default)]
struct Posts {
    /// Oldest first: nested jobs come after the job their item belongs to.
    jobs: Vec<Post>,
    /// Number of sleeping helpers.
    asleep: usize,
    closed: bool,
}

/// A job on the stack of the calling thread, which removes it from the board and waits for its helpers before it
/// continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Post(*const Job<'static>);

// SAFETY: a job may be used from several threads at once (its closure is `Sync`, the rest are atomics and a lock), and
// lives as long as it is on the board or has helpers.
unsafe impl Send for Post {}

/// Items 0, ..., n - 1 to be worked on.
struct Job<'a> {
    work: &'a (dyn Fn(usize) + Sync),
    lanes: Vec<Lane>,
    /// Items taken together.
    grain: usize,
    /// Threads that have joined so far.
    joined: AtomicUsize,
    helpers: AtomicUsize,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// A run of neighbouring items. Each thread starts with a lane of its own: threads on neighbouring items would write to
/// the same pages, and new pages would be cleared twice.
struct Lane {
    next: AtomicUsize,
    end: usize,
}

impl Lane {
    fn is_open(&self) -> bool {
        self.next.load(Ordering::Relaxed) < self.end
    }
}

impl<'a> Job<'a> {
    fn new(n: usize, n_lanes: usize, grain: usize, work: &'a (dyn Fn(usize) + Sync)) -> Self {
        let bound = |lane: usize| (n as u128 * lane as u128 / n_lanes as u128) as usize;
        let lanes =
            (0..n_lanes).map(|lane| Lane { next: AtomicUsize::new(bound(lane)), end: bound(lane + 1) }).collect();
        let (joined, helpers) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Job { work, lanes, grain, joined, helpers, panic: Mutex::default() }
    }

    fn is_open(&self) -> bool {
        self.lanes.iter().any(Lane::is_open)
    }

    /// Works on items until all are taken. After a panic no more are taken.
    fn help(&self) {
        let own = self.joined.fetch_add(1, Ordering::Relaxed) % self.lanes.len();
        let result = catch_unwind(AssertUnwindSafe(|| {
            for lane in self.lanes[own..].iter().chain(&self.lanes[..own]) {
                while lane.is_open() {
                    let first = lane.next.fetch_add(self.grain, Ordering::Relaxed);
                    (first..(first + self.grain).min(lane.end)).for_each(self.work);
                }
            }
        }));
        if let Err(panic) = result {
            self.lanes.iter().for_each(|lane| lane.next.store(lane.end, Ordering::Relaxed));
            *lock(&self.panic) = Some(panic);
        }
    }
}

/// Nothing is left half-done while these locks are held, so a panic in another thread does not matter.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Team {
    /// A team of `n_helpers` threads.
    pub(super) fn new(n_helpers: usize) -> std::io::Result<Team> {
        let team = Team { board: Arc::default(), n_helpers };
        for i in 0..n_helpers {
            let board = team.board.clone();
            spawn(format!("multikernel-{i}"), move || board.serve())?;
        }
        Ok(team)
    }

    pub(super) fn n_helpers(&self) -> usize {
        self.n_helpers
    }

    /// Calls `work` with 0, ..., n - 1, each once, on this thread and on idle helpers, `grain` at a time; returns once
    /// all calls have returned. A panic in a call is propagated to the caller.
    pub(super) fn run(&self, n: usize, grain: usize, work: &(dyn Fn(usize) + Sync)) {
        let job = Job::new(n, (self.n_helpers + 1).min(n.max(1)), grain, work);
        // Only the lifetime changes: the job is off the board and without helpers before this function ends, and
        // nothing in between can panic.
        let post = Post(std::ptr::from_ref(&job).cast());
        self.board.post(post, n.div_ceil(grain).saturating_sub(1));
        job.help();
        self.board.take_off(post, &job);
        if let Some(panic) = job.panic.into_inner().unwrap_or_else(PoisonError::into_inner) {
            resume_unwind(panic);
        }
    }
}

impl Drop for Team {
    /// The threads are not joined: in a forked process they do not exist.
    fn drop(&mut self) {
        let mut posts = lock(&self.board.posts);
        posts.closed = true;
        self.board.news.fetch_add(1, Ordering::Release);
        self.board.posted.notify_all();
    }
}

impl Board {
    /// Posts a job that has work for this many helpers.
    fn post(&self, post: Post, n_helpers: usize) {
        let mut posts = lock(&self.posts);
        posts.jobs.push(post);
        self.news.fetch_add(1, Ordering::Release);
        let wake = posts.asleep.min(n_helpers);
        drop(posts);
        (0..wake).for_each(|_| self.posted.notify_one());
    }

    /// Removes a job and waits until no helper works on it.
    fn take_off(&self, post: Post, job: &Job<'_>) {
        let mut posts = lock(&self.posts);
        posts.jobs.retain(|other| *other != post);
        drop(posts);
        let is_left = || job.helpers.load(Ordering::Acquire) == 0;
        if !watch(is_left) {
            let mut posts = lock(&self.posts);
            while !is_left() {
                posts = self.left.wait(posts).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// The main loop of a helper.
    fn serve(&self) {
        while let Some(Post(job)) = self.wait() {
            // SAFETY: the job counted this helper while it was on the board, so its owner waits.
            let job = unsafe { &*job };
            job.help();
            // After this the job may no longer exist.
            job.helpers.fetch_sub(1, Ordering::Release);
            // Under the lock, or a caller that has just seen the helper counted and is about to sleep would miss the
            // wake-up.
            let _posts = lock(&self.posts);
            self.left.notify_all();
        }
    }

    /// The next job with work left, with this helper counted; `None` once the team is dropped.
    fn wait(&self) -> Option<Post> {
        let mut posts = lock(&self.posts);
        loop {
            // SAFETY: jobs on the board exist.
            let open = posts.jobs.iter().map(|post| (*post, unsafe { &*post.0 })).find(|(_, job)| job.is_open());
            if let Some((post, job)) = open {
                job.helpers.fetch_add(1, Ordering::Relaxed);
                return Some(post);
            }
            if posts.closed {
                return None;
            }
            let seen = self.news.load(Ordering::Acquire);
            let is_news = || self.news.load(Ordering::Acquire) != seen;
            drop(posts);
            let noticed = watch(is_news);
            posts = lock(&self.posts);
            if !noticed && !is_news() {
                posts.asleep += 1;
                posts = self.posted.wait(posts).unwrap_or_else(PoisonError::into_inner);
                posts.asleep -= 1;
            }
        }
    }
}
