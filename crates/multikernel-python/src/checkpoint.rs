//! Checkpoints of fits.

use std::path::PathBuf;
use std::time::Duration;

use multikernel::file::{self, Claim};
use multikernel::run::Checkpoint;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::raise;

/// The checkpoint that a fit goes on from, if it is there, and that is its own until this is dropped: two fits would
/// overwrite each other's states.
pub(crate) struct Kept {
    checkpoint: Checkpoint,
    _claim: Claim,
}

impl Kept {
    /// Claims the file; refuses one that is no checkpoint before it could be overwritten.
    pub(crate) fn claim(path: PathBuf, seconds: f64) -> PyResult<Kept> {
        let Ok(every) = Duration::try_from_secs_f64(seconds) else {
            return Err(PyValueError::new_err(format!(
                "checkpoint_seconds must be 0 (every step) or more, got {seconds}"
            )));
        };
        file::check_replaceable(&path).map_err(raise)?;
        let claim = file::claim(&path).map_err(raise)?;
        // A fit that begins is nothing to tell; one that goes on is.
        let resume = path.exists();
        Ok(Kept { checkpoint: Checkpoint { every, resume, ..Checkpoint::new(path) }, _claim: claim })
    }

    /// As sessions take it.
    pub(crate) fn checkpoint(&self) -> Checkpoint {
        self.checkpoint.clone()
    }

    /// After the fit: a finished one has nothing to go on from; of another, `notes` gets how to go on.
    pub(crate) fn end(self, model: &multikernel::Model, notes: &mut Vec<String>) {
        let path = &self.checkpoint.path;
        let (is_finished, stop) = (model.training().is_finished(), model.training().stop());
        match path.exists() {
            true if is_finished => {
                if let Err(error) = file::remove(path) {
                    notes.push(format!(
                        "the checkpoint {} of this fit, which is finished, stays: {error}",
                        path.display()
                    ));
                }
            }
            true => notes.push(format!("{stop}; the same fit with this checkpoint goes on from {}", path.display())),
            false => {}
        }
    }
}

/// The right to write a file that Python writes itself, until this is closed.
#[pyclass(name = "Claim")]
pub(crate) struct Claimed(Option<Claim>);

#[pymethods]
impl Claimed {
    #[new]
    fn new(path: PathBuf) -> PyResult<Claimed> {
        file::claim(&path).map(|claim| Claimed(Some(claim))).map_err(raise)
    }

    fn close(&mut self) {
        self.0 = None;
    }
}
