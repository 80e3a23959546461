//! What `pool/sync.rs` gives the library.

pub(crate) use loom::sync::atomic::{AtomicUsize, Ordering};
pub(crate) use loom::sync::{Arc, Condvar, Mutex, MutexGuard};

pub(crate) fn spawn(_: String, work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    loom::thread::spawn(work);
    Ok(())
}

/// One look: whether it was long enough is up to the order of threads, of which all are tried.
pub(crate) fn watch(is_so: impl Fn() -> bool) -> bool {
    is_so()
}
