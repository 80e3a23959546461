//! Training on partitions of rows, which Python asks wherever they are.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use multikernel::data::{Dataset, Labels};
use multikernel::plan::{Partitions, answer};
use multikernel::run::{Canceller, Observer, Progress};
use multikernel::{Error, Pool, Result};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyIterator};

use crate::checkpoint::Kept;
use crate::error::raise;
use crate::model::Model;
use crate::plan::{GivenNumbers, GivenTimes, Limits, Plan, number_dataset, times as times_of};
use crate::rows::Rows;

/// What one partition answers to a question, as bytes: `number` is its place among all. Classes are those of all partitions.
#[pyfunction]
#[pyo3(signature = (setup, request, number, rows, *, name, classes=vec![], codes=None, numbers=None, times=None, label=None, threads=1))]
#[expect(clippy::too_many_arguments, reason = "keywords of the Python function")]
pub(crate) fn answer_partition<'py>(
    py: Python<'py>,
    setup: &[u8],
    request: &[u8],
    number: usize,
    rows: &Rows,
    name: &str,
    classes: Vec<String>,
    codes: Option<PyReadonlyArray1<'py, i64>>,
    numbers: Option<GivenNumbers<'py>>,
    times: Option<GivenTimes<'py>>,
    label: Option<String>,
    threads: usize,
) -> PyResult<Bound<'py, PyBytes>> {
    let data = match (numbers, times) {
        (Some(numbers), _) => number_dataset(rows, numbers, None, name)?,
        (None, Some(given)) => Dataset::of_times(name, rows.0.clone(), times_of(&given)?).map_err(raise)?,
        (None, None) => {
            let codes =
                codes.map_or_else(Vec::new, |codes| codes.as_array().iter().map(|&code| code as usize).collect());
            let labels = Labels::from_parts(classes, codes).map_err(raise)?;
            let mut data = Dataset::new(name, rows.0.clone(), labels).map_err(raise)?;
            data.label_name = label;
            data
        }
    };
    let found = py.detach(|| answer(setup, request, number, &data, &Pool::new(threads)?)).map_err(raise)?;
    Ok(PyBytes::new(py, &found))
}

/// The first exception of a function that was called.
#[derive(Default)]
struct Raised(Mutex<Option<PyErr>>);

impl Raised {
    fn keep(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

/// Partitions behind a Python function of a setup and a request, which gives their answers in order.
struct Asked<'a> {
    ask: &'a Py<PyAny>,
    raised: &'a Raised,
}

impl Partitions for Asked<'_> {
    fn ask(&mut self, setup: &[u8], request: &[u8], take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let stopped = |error: PyErr| {
            self.raised.keep(error);
            Error::Stopped("a partition could not be asked".into())
        };
        Python::attach(|py| {
            let call = (PyBytes::new(py, setup), PyBytes::new(py, request));
            let answers = self.ask.bind(py).call1(call).and_then(|found| PyIterator::from_object(&found));
            for found in answers.map_err(stopped)? {
                let found = found.and_then(|found| Ok(found.cast_into::<PyBytes>()?)).map_err(stopped)?;
                take(found.as_bytes())?;
            }
            Ok(())
        })
    }
}

/// Tells a Python function (phase, done, total) about each step.
struct Told<'a> {
    tell: Option<&'a Py<PyAny>>,
    phase: String,
    notes: Vec<String>,
    raised: &'a Raised,
    canceller: Canceller,
}

impl Told<'_> {
    fn call(&self, done: u64, total: u64) {
        let Some(tell) = self.tell else { return };
        if let Err(error) = Python::attach(|py| tell.call1(py, (&self.phase, done, total))) {
            self.raised.keep(error);
            self.canceller.cancel();
        }
    }
}

impl Observer for Told<'_> {
    fn phase(&mut self, name: &str) {
        self.phase = name.into();
        self.call(0, 0);
    }

    fn progress(&mut self, progress: &Progress) {
        self.call(progress.done, progress.total);
    }

    fn note(&mut self, text: &str) {
        self.notes.push(text.into());
    }
}

/// Trains on partitions: `ask(setup, request)` gives an iterator over the answers of all partitions, in their order. Returns
/// the model and the messages of the run. A run goes on from its checkpoint, which is removed when it is finished.
#[pyfunction]
#[pyo3(signature = (plan, ask, limits, *, name="data", checkpoint=None, checkpoint_seconds=5.0, on_progress=None))]
#[expect(clippy::too_many_arguments, reason = "keywords of the Python function")]
pub(crate) fn fit_partitions(
    py: Python<'_>,
    plan: &Plan,
    ask: Py<PyAny>,
    limits: Limits,
    name: &str,
    checkpoint: Option<PathBuf>,
    checkpoint_seconds: f64,
    on_progress: Option<Py<PyAny>>,
) -> PyResult<(Model, Vec<String>)> {
    let kept = checkpoint.map(|path| Kept::claim(path, checkpoint_seconds)).transpose()?;
    let control = limits.control()?;
    // The interpreter is entered from this thread alone, so that Ctrl-C reaches the function that asks.
    let (found, mut notes, raised) = py.detach(|| {
        let raised = Raised::default();
        let mut told = Told {
            tell: on_progress.as_ref(),
            phase: String::new(),
            notes: vec![],
            raised: &raised,
            canceller: control.canceller(),
        };
        let mut asked = Asked { ask: &ask, raised: &raised };
        let found = limits.session(&control, &mut told, |session| {
            session.checkpoint = kept.as_ref().map(Kept::checkpoint);
            plan.0.train_partitions(name, &mut asked, session)
        });
        let notes = told.notes;
        (found, notes, raised.0.into_inner().unwrap_or_else(PoisonError::into_inner))
    });
    if let Some(error) = raised {
        return Err(error);
    }
    let model = found.map_err(raise)?;
    if let Some(kept) = kept {
        kept.end(&model, &mut notes);
    }
    Ok((Model::from(model), notes))
}
