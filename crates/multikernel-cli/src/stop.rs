//! Ctrl-C and SIGTERM, and the files that a run has claimed.
//!
//! Until something is learned nothing can be lost, so that a signal ends the program at once, wherever it is. After that
//! the first signal asks the run to stop with what was learned, and the second ends it.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use anyhow::{Context, Result};
use multikernel::file::{self, Claim};
use multikernel::run::Canceller;

use crate::say;

/// The files claimed for writing, given up before the program ends.
static CLAIMS: Mutex<Vec<Claim>> = Mutex::new(vec![]);

/// What stops the run, once there is one.
static CANCELLER: Mutex<Option<Canceller>> = Mutex::new(None);

/// Whether there is something learned or measured to end with.
static IS_LEARNING: AtomicBool = AtomicBool::new(false);

/// The exit status after a signal.
const CANCELLED: i32 = 130;

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a write past `ulimit -f` an error, as on a full disk, which would else end the program and leave half a file.
pub(crate) fn survive_size_limits() {
    #[cfg(unix)]
    // SAFETY: nothing else runs yet, and ignoring a signal calls no code of ours.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Claims files for writing until the program ends.
pub(crate) fn claim<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<()> {
    for path in paths {
        listen()?;
        let claim = file::claim(path)?;
        held(&CLAIMS).push(claim);
    }
    Ok(())
}

/// Gives up all claims.
pub(crate) fn release() {
    held(&CLAIMS).clear();
}

/// Connects signals to a run.
pub(crate) fn connect(canceller: Canceller) -> Result<()> {
    *held(&CANCELLER) = Some(canceller);
    listen()
}

/// Says that a phase has begun: those before learning have nothing to lose.
pub(crate) fn enter(phase: &str) {
    if !matches!(phase, "" | "reading" | "forecast" | "preparing") {
        IS_LEARNING.store(true, Ordering::Relaxed);
    }
}

fn listen() -> Result<()> {
    static LISTENING: Once = Once::new();
    let mut listening = Ok(());
    LISTENING.call_once(|| listening = ctrlc::set_handler(on_signal));
    listening.context("cannot listen for Ctrl-C")
}

fn on_signal() {
    let canceller = held(&CANCELLER).clone().filter(|_| IS_LEARNING.load(Ordering::Relaxed));
    match canceller {
        Some(canceller) if !canceller.is_cancelled() => {
            canceller.cancel();
            say("\nstopping with what was learned so far; press Ctrl-C again to quit at once");
        }
        found => {
            if found.is_none() {
                say("\ncancelled; nothing was written");
            }
            release();
            std::process::exit(CANCELLED);
        }
    }
}
