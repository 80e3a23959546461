//! Work without the interpreter: the calling thread waits, looks for Ctrl-C and passes progress on.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use multikernel::run::{Control, Observer, Progress};
use pyo3::prelude::*;

/// How often Ctrl-C is looked for.
const SLICE: Duration = Duration::from_millis(50);
/// Progress is passed on with every other look: ten times a second at most.
const SLICES_PER_CALL: u32 = 2;

/// The latest progress, and messages not yet passed on.
#[derive(Default)]
struct Latest {
    phase: String,
    done: u64,
    total: u64,
    notes: Vec<String>,
}

/// Notes what a run reports, for the thread that waits.
struct Reporter<'a>(&'a Mutex<Latest>);

impl Reporter<'_> {
    fn write(&self, write: impl FnOnce(&mut Latest)) {
        write(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Observer for Reporter<'_> {
    fn phase(&mut self, name: &str) {
        self.write(|latest| (latest.phase, latest.done, latest.total) = (name.into(), 0, 0));
    }

    fn progress(&mut self, progress: &Progress) {
        self.write(|latest| (latest.done, latest.total) = (progress.done, progress.total));
    }

    fn note(&mut self, text: &str) {
        self.write(|latest| latest.notes.push(text.into()));
    }
}

/// What a job gave.
pub(crate) struct Done<T> {
    pub(crate) result: T,
    /// The exception of a signal handler (Ctrl-C), or of the callback.
    pub(crate) interrupt: Option<PyErr>,
    pub(crate) notes: Vec<String>,
}

/// Runs `work` on a thread of its own while this one waits without holding the interpreter. An exception raised by a
/// signal handler or by `on_progress(phase, done, total)` cancels `control`; the work then ends with what it has.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    control: &Control,
    on_progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&mut dyn Observer) -> T + Send,
) -> PyResult<Done<T>> {
    let latest = Mutex::new(Latest::default());
    let canceller = control.canceller();
    let (result, interrupt) = py.detach(|| {
        std::thread::scope(|scope| {
            let (sender, receiver) = channel();
            let worker = scope.spawn(|| {
                let result = work(&mut Reporter(&latest));
                // The waiting thread is always there.
                _ = sender.send(());
                drop(sender);
                result
            });
            let (mut interrupt, mut slices) = (None, 0);
            while let Err(RecvTimeoutError::Timeout) = receiver.recv_timeout(SLICE) {
                slices += 1;
                let look =
                    || Python::attach(|py| look(py, &latest, on_progress.filter(|_| slices % SLICES_PER_CALL == 0)));
                if interrupt.is_none()
                    && let Err(error) = look()
                {
                    canceller.cancel();
                    interrupt = Some(error);
                }
            }
            // What came after the last look, for runs of less than a slice too.
            if interrupt.is_none() {
                interrupt = Python::attach(|py| look(py, &latest, on_progress)).err();
            }
            (worker.join(), interrupt)
        })
    });
    let notes = std::mem::take(&mut latest.lock().unwrap_or_else(PoisonError::into_inner).notes);
    match result {
        Ok(result) => Ok(Done { result, interrupt, notes }),
        // A bug of ours; the interpreter goes on.
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

fn look(py: Python<'_>, latest: &Mutex<Latest>, on_progress: Option<&Py<PyAny>>) -> PyResult<()> {
    py.check_signals()?;
    let Some(call) = on_progress else { return Ok(()) };
    let (phase, done, total) = {
        let latest = latest.lock().unwrap_or_else(PoisonError::into_inner);
        (latest.phase.clone(), latest.done, latest.total)
    };
    call.call1(py, (phase, done, total))?;
    Ok(())
}
