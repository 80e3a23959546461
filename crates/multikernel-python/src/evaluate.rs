//! Cross-validation of several methods on the same splits.

use multikernel::data::Dataset;
use multikernel::evaluate::{Protocol, SplitEvaluation, ablations};
use multikernel::report::{evaluation_json, evaluation_page as page_of, evaluation_text};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::raise;
use crate::job;
use crate::plan::{GivenNumbers, GivenTimes, Limits, Plan, dataset, number_dataset, times as times_of};
use crate::rows::Rows;

/// Plans on the same splits of rows: by folds, or by repeated splits if `n_repeats` is given.
#[pyclass(frozen, module = "multikernel._core")]
pub(crate) struct Evaluating {
    data: Dataset,
    plans: Vec<multikernel::Plan>,
    protocol: Protocol,
    seed: u64,
}

impl Evaluating {
    fn cut(&self) -> multikernel::Result<SplitEvaluation<'_>> {
        SplitEvaluation::new(&self.data, &self.plans, &self.protocol, self.seed)
    }
}

#[pymethods]
impl Evaluating {
    #[new]
    #[pyo3(signature = (plans, rows, classes, codes, *, folds=5, n_repeats=None, train_fraction=0.5, ablate=false, seed=0, groups=None, name="data", numbers=None))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        plans: Vec<PyRef<'_, Plan>>,
        rows: &Rows,
        classes: Vec<String>,
        codes: Option<PyReadonlyArray1<'_, i64>>,
        folds: usize,
        n_repeats: Option<usize>,
        train_fraction: f64,
        ablate: bool,
        seed: u64,
        groups: Option<Vec<String>>,
        name: &str,
        numbers: Option<GivenNumbers<'_>>,
    ) -> PyResult<Evaluating> {
        let codes = codes.map(|codes| codes.as_array().to_vec());
        let data = match numbers {
            Some(numbers) => number_dataset(rows, numbers, groups.as_deref(), name)?,
            None => dataset(rows, &classes, codes.as_deref(), groups.as_deref(), (name, None))?,
        };
        let mut plans: Vec<multikernel::Plan> = plans.iter().map(|plan| plan.0.clone()).collect();
        if ablate && let Some(plan) = plans.first() {
            plans = ablations(plan, &data.samples).map_err(raise)?;
        }
        let protocol = match n_repeats {
            Some(n_repeats) => Protocol::Repeats { n_repeats, train_fraction },
            None => Protocol::Folds(folds),
        };
        Ok(Evaluating { data, plans, protocol, seed })
    }

    /// All of it here. Returns JSON, text and the exception that ended it early, if any.
    #[pyo3(signature = (limits, on_progress=None))]
    fn whole(
        &self,
        py: Python<'_>,
        limits: Limits,
        on_progress: Option<Py<PyAny>>,
    ) -> PyResult<(String, String, Option<PyErr>)> {
        let control = limits.control()?;
        let done = job::run(py, &control, on_progress.as_ref(), |observer| {
            limits.session(&control, observer, |session| {
                let found =
                    multikernel::evaluate::evaluate(&self.data, &self.plans, &self.protocol, self.seed, session)?;
                Ok((evaluation_json(&found), evaluation_text(&found)))
            })
        })?;
        match (done.result, done.interrupt) {
            (Ok((json, text)), interrupt) => Ok((json, text, interrupt)),
            (Err(_), Some(interrupt)) => Err(interrupt),
            (Err(error), None) => Err(raise(error)),
        }
    }

    /// What identifies it, and its parts as pairs of plan and split.
    fn parts(&self) -> PyResult<(String, Vec<(usize, usize)>)> {
        let cut = self.cut().map_err(raise)?;
        Ok((cut.fingerprint().to_string(), cut.parts()))
    }

    /// One plan on one split, as bytes.
    fn run<'py>(&self, py: Python<'py>, plan: usize, split: usize, limits: Limits) -> PyResult<Bound<'py, PyBytes>> {
        let control = limits.control()?;
        let done = job::run(py, &control, None, |observer| {
            limits.session(&control, observer, |session| self.cut()?.run(plan, split, session))
        })?;
        match (done.result, done.interrupt) {
            (_, Some(interrupt)) => Err(interrupt),
            (Ok(bytes), None) => Ok(PyBytes::new(py, &bytes)),
            (Err(error), None) => Err(raise(error)),
        }
    }

    /// JSON and text of all parts.
    fn join(&self, py: Python<'_>, parts: Vec<Vec<u8>>) -> PyResult<(String, String)> {
        let found = py.detach(|| self.cut()?.join(&parts)).map_err(raise)?;
        Ok((evaluation_json(&found), evaluation_text(&found)))
    }
}

/// Harrell's concordance of risks with times; NaN where no pair of rows can be compared.
#[pyfunction]
pub(crate) fn concordance(times: GivenTimes<'_>, risks: PyReadonlyArray1<'_, f64>) -> PyResult<f64> {
    let (times, risks) = (times_of(&times)?, risks.as_array().to_vec());
    if times.n_samples() != risks.len() {
        return Err(raise(multikernel::Error::input("there must be one risk for each time")));
    }
    Ok(multikernel::evaluate::concordance(&times, &risks).unwrap_or(f64::NAN))
}

/// The HTML page of an evaluation, from its JSON.
#[pyfunction]
pub(crate) fn evaluation_page(json: &str) -> PyResult<String> {
    page_of(json, None).map_err(raise)
}
