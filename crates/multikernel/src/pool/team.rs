//! Threads that help the one that asks: it works itself from the first moment on, and they join as they wake up.

use std::any::Any;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a thread watches for work, or for the end of it, before it sleeps: about as long as waking it up takes.
const WATCH: Duration = Duration::from_micros(50);

/// Threads beside the one that asks. They end when this is dropped.
///
/// A thread that waits for its helpers takes up no other work meanwhile, so an item may hold a lock while it asks for work itself.
#[derive(Debug)]
pub(super) struct Team {
    board: Arc<Board>,
    n_helpers: usize,
}

/// Where work is posted.
#[derive(Debug, Default)]
struct Board {
    posts: Mutex<Posts>,
    /// Goes up with every change that a helper may wait for, under the lock: it can be watched without.
    news: AtomicUsize,
    posted: Condvar,
    left: Condvar,
}

#[derive(Debug, Default)]
struct Posts {
    /// The oldest first: what was asked for inside an item comes after what the item is part of.
    jobs: Vec<Post>,
    /// Helpers that sleep.
    asleep: usize,
    closed: bool,
}

/// A job on the stack of the thread that asks, which takes it off the board and waits for its helpers before it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Post(*const Job<'static>);

// SAFETY: a job may be used from several threads at once (its closure is `Sync`, the rest are atomics and a lock), and lives as long
// as it is on the board or has helpers.
unsafe impl Send for Post {}

/// Items 0, ..., n - 1 to be worked on.
struct Job<'a> {
    work: &'a (dyn Fn(usize) + Sync),
    lanes: Vec<Lane>,
    /// Items that are taken together.
    grain: usize,
    /// Threads that came so far.
    joined: AtomicUsize,
    helpers: AtomicUsize,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

/// Neighbouring items. A thread begins with a lane of its own: threads at neighbouring items would write to the same pages, and get
/// each of them cleared twice where it is new.
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
        let lanes = (0..n_lanes).map(|lane| Lane { next: bound(lane).into(), end: bound(lane + 1) }).collect();
        let (joined, helpers) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Job { work, lanes, grain, joined, helpers, panic: Mutex::default() }
    }

    fn is_open(&self) -> bool {
        self.lanes.iter().any(Lane::is_open)
    }

    /// Works on items until all are taken. After a panic nobody takes another.
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

/// Nothing is half-done while these locks are held, so a panic of another thread does not matter.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits a little until it is so; whether it is.
fn watch(is_so: impl Fn() -> bool) -> bool {
    let begin = Instant::now();
    while !is_so() {
        if begin.elapsed() > WATCH {
            return false;
        }
        (0..16).for_each(|_| std::hint::spin_loop());
    }
    true
}

impl Team {
    /// A team of `n_helpers` threads.
    pub(super) fn new(n_helpers: usize) -> std::io::Result<Team> {
        let team = Team { board: Arc::default(), n_helpers };
        for i in 0..n_helpers {
            let board = team.board.clone();
            std::thread::Builder::new().name(format!("multikernel-{i}")).spawn(move || board.serve())?;
        }
        Ok(team)
    }

    pub(super) fn n_helpers(&self) -> usize {
        self.n_helpers
    }

    /// Calls `work` with 0, ..., n - 1, each once, on this thread and on those that are free, `grain` at a time; returns once all calls
    /// have returned. The panic of a call becomes that of this one.
    pub(super) fn run(&self, n: usize, grain: usize, work: &(dyn Fn(usize) + Sync)) {
        let job = Job::new(n, (self.n_helpers + 1).min(n.max(1)), grain, work);
        // Lifetimes only: the job is off the board and without helpers before this function ends, and nothing in between can panic.
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
    /// Nobody waits for the threads: in a process that was forked off they do not exist.
    fn drop(&mut self) {
        let mut posts = lock(&self.board.posts);
        posts.closed = true;
        self.board.news.fetch_add(1, Ordering::Release);
        self.board.posted.notify_all();
    }
}

impl Board {
    /// Posts a job for which so many helpers have something to do.
    fn post(&self, post: Post, n_helpers: usize) {
        let mut posts = lock(&self.posts);
        posts.jobs.push(post);
        self.news.fetch_add(1, Ordering::Release);
        let wake = posts.asleep.min(n_helpers);
        drop(posts);
        (0..wake).for_each(|_| self.posted.notify_one());
    }

    /// Takes a job off and waits until nobody is at it.
    fn take_off(&self, post: Post, job: &Job<'_>) {
        let mut posts = lock(&self.posts);
        posts.jobs.retain(|other| *other != post);
        drop(posts);
        let is_left = || job.helpers.load(Ordering::Acquire) == 0;
        if !watch(is_left) {
            let posts = lock(&self.posts);
            drop(self.left.wait_while(posts, |_| !is_left()));
        }
    }

    /// What a helper does.
    fn serve(&self) {
        while let Some(Post(job)) = self.wait() {
            // SAFETY: the job had this helper counted while it was on the board, so it waits.
            let job = unsafe { &*job };
            job.help();
            // After this it may be gone.
            job.helpers.fetch_sub(1, Ordering::Release);
            // Under the lock, or one that has just found the helper counted and is about to sleep would not hear of it.
            let _posts = lock(&self.posts);
            self.left.notify_all();
        }
    }

    /// The next job with something to do, with this helper counted; none once the team is gone.
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

/// One cell per item, each of which one thread at a time may use: that which works on the item.
pub(super) struct Cells<T>(Vec<UnsafeCell<Option<T>>>);

// SAFETY: a cell is used by the thread that works on its item and by no other, as the callers of `at` promise.
unsafe impl<T: Send> Sync for Cells<T> {}

impl<T> Cells<T> {
    pub(super) fn new(items: impl Iterator<Item = Option<T>>) -> Self {
        Cells(items.map(UnsafeCell::new).collect())
    }

    /// The cell of an item.
    ///
    /// # Safety
    /// Only for the thread that works on the item, which must not ask for it twice.
    #[allow(clippy::mut_from_ref)]
    pub(super) unsafe fn at(&self, i: usize) -> &mut Option<T> {
        // SAFETY: nobody else has it, promised by the caller.
        unsafe { &mut *self.0[i].get() }
    }

    /// What lies in the cells.
    pub(super) fn into_iter(self) -> impl Iterator<Item = T> {
        self.0.into_iter().filter_map(UnsafeCell::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn every_item_is_worked_on_once_for_any_team_and_grain() {
        for (n_helpers, n, grain) in [(0, 5, 1), (1, 1, 1), (1, 1000, 1), (3, 1000, 7), (5, 3, 1), (2, 64, 64)] {
            let team = Team::new(n_helpers).unwrap();
            // Many in a row: helpers come late, stay awake or go to sleep between.
            for round in 0..200 {
                let counts: Vec<AtomicUsize> = (0..n).map(|_| AtomicUsize::new(0)).collect();
                team.run(n, grain, &|i| {
                    counts[i].fetch_add(1, Ordering::Relaxed);
                });
                assert!(counts.into_iter().all(|count| count.into_inner() == 1), "{n_helpers} {n} {grain}");
                if round % 50 == 0 {
                    std::thread::sleep(2 * WATCH);
                }
            }
        }
    }

    #[test]
    fn helpers_work_beside_the_one_that_asks() {
        let team = Team::new(2).unwrap();
        for pause in [0, 1, 5] {
            std::thread::sleep(Duration::from_millis(pause));
            // Each of three items waits until the other two are begun: with fewer threads than three that is never.
            let (begun, met) = (AtomicUsize::new(0), AtomicUsize::new(0));
            team.run(3, 1, &|_| {
                begun.fetch_add(1, Ordering::Relaxed);
                let begin = Instant::now();
                while begun.load(Ordering::Relaxed) < 3 && begin.elapsed() < Duration::from_secs(20) {
                    std::thread::yield_now();
                }
                met.fetch_add(usize::from(begin.elapsed() < Duration::from_secs(20)), Ordering::Relaxed);
            });
            assert_eq!(met.into_inner(), 3, "after {pause} ms");
        }
    }

    #[test]
    fn items_may_ask_for_work_themselves_from_any_thread() {
        let team = Team::new(2).unwrap();
        let sum = AtomicUsize::new(0);
        let ask = || {
            team.run(6, 1, &|i| team.run(10, 3, &|j| _ = sum.fetch_add(10 * i + j, Ordering::Relaxed)));
        };
        std::thread::scope(|scope| (0..3).for_each(|_| _ = scope.spawn(ask)));
        assert_eq!(sum.into_inner(), 3 * (0..60).sum::<usize>());
    }

    #[test]
    fn a_panic_reaches_the_one_that_asked_and_leaves_the_team_at_work() {
        let team = Team::new(1).unwrap();
        for bad in [0, 7, 99] {
            let result = catch_unwind(AssertUnwindSafe(|| {
                team.run(100, 1, &|i| {
                    std::thread::sleep(Duration::from_micros(20));
                    assert!(i != bad, "item {i}");
                });
            }));
            let said = result.unwrap_err().downcast::<String>().unwrap();
            assert_eq!(*said, format!("item {bad}"));
        }
        let met = AtomicBool::new(false);
        team.run(1, 1, &|_| met.store(true, Ordering::Relaxed));
        assert!(met.into_inner());
    }

    #[test]
    fn helpers_end_with_their_team() {
        let team = Team::new(3).unwrap();
        let board = Arc::downgrade(&team.board);
        team.run(30, 1, &|_| ());
        drop(team);
        let begin = Instant::now();
        while board.strong_count() > 0 {
            assert!(begin.elapsed() < Duration::from_secs(60), "threads are still there");
            std::thread::yield_now();
        }
    }
}
