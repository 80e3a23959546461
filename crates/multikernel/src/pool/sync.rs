//! What a team is made of. The model checker runs the same team on threads, locks and atomics of its own
//! (`crates/pool-check`).

pub(super) use std::sync::atomic::{AtomicUsize, Ordering};
pub(super) use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// How long a thread watches for work, or for the end of it, before it sleeps: about as long as waking it up takes.
pub(super) const WATCH: Duration = Duration::from_micros(50);

/// Starts a thread that nobody waits for.
pub(super) fn spawn(name: String, work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    std::thread::Builder::new().name(name).spawn(work).map(drop)
}

/// Waits a little until it is so; whether it is.
pub(super) fn watch(is_so: impl Fn() -> bool) -> bool {
    let begin = Instant::now();
    while !is_so() {
        if begin.elapsed() > WATCH {
            return false;
        }
        (0..16).for_each(|_| std::hint::spin_loop());
    }
    true
}
