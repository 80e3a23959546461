//! The primitives a team is built on. The model checker runs the same team on its own threads, locks and atomics
//! (`crates/pool-check`).

pub(super) use std::sync::atomic::{AtomicUsize, Ordering};
pub(super) use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// How long a thread spins waiting for work, or for its end, before it sleeps: about as long as a wake-up takes.
pub(super) const WATCH: Duration = Duration::from_micros(50);

/// Starts a detached thread.
pub(super) fn spawn(name: String, work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    std::thread::Builder::new().name(name).spawn(work).map(drop)
}

/// Spins briefly until the condition holds; returns whether it does.
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
