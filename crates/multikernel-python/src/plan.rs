//! What to train, and training.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use multikernel::data::{Dataset, Labels, LogChoice, Numbers, Recipe, Times};
use multikernel::plan::Session;
use multikernel::run::{Control, Observer};
use multikernel::{Device, Matrix, Plan as LibraryPlan, Pool};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::checkpoint::Kept;
use crate::error::raise;
use crate::job;
use crate::model::Model;
use crate::rows::{Rows, labels};

/// A method with its settings.
#[pyclass(frozen, module = "multikernel._core")]
pub(crate) struct Plan(pub(crate) LibraryPlan);

#[pymethods]
impl Plan {
    /// Parameters are given as texts, as on the command line.
    #[new]
    #[pyo3(signature = (method, *, kernels=None, params=vec![], seed=0, scale="standard", log=vec![], top_variance=None, missing="skip", proba=false, precision="f64"))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        method: &str,
        kernels: Option<&str>,
        params: Vec<(String, String)>,
        seed: u64,
        scale: &str,
        log: Vec<String>,
        top_variance: Option<NonZeroUsize>,
        missing: &str,
        proba: bool,
        precision: &str,
    ) -> PyResult<Plan> {
        let log = match log.as_slice() {
            [] => LogChoice::None,
            [all] if all == "all" => LogChoice::All,
            _ => LogChoice::Views(log),
        };
        let build = || {
            let recipe = Recipe { scale: scale.parse()?, log, top_variance: top_variance.map(NonZeroUsize::get) };
            let plan = LibraryPlan::new(method)?.seed(seed).recipe(recipe).missing(missing.parse()?).proba(proba);
            let plan = plan.precision(precision.parse()?);
            let plan = kernels.into_iter().try_fold(plan, LibraryPlan::kernels)?;
            params.iter().try_fold(plan, |plan, (name, value)| plan.set(name, value))
        };
        build().map(Plan).map_err(raise)
    }

    #[getter]
    fn uses_kernels(&self) -> bool {
        self.0.uses_kernels()
    }

    #[getter]
    fn is_supervised(&self) -> bool {
        self.0.is_supervised()
    }

    /// The plan under another name.
    fn titled(&self, title: &str) -> Plan {
        Plan(self.0.clone().titled(title))
    }

    /// All settings as texts.
    fn settings(&self) -> Vec<(String, String)> {
        self.0.settings().into_iter().collect()
    }
}

/// Threads, device, time and memory of a job.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Limits {
    threads: usize,
    device: String,
    max_seconds: Option<f64>,
    memory: Option<u64>,
}

impl Limits {
    pub(crate) fn control(&self) -> PyResult<Control> {
        let control = Control::default();
        match self.max_seconds {
            Some(seconds) => control.with_max_seconds(seconds).map_err(raise),
            None => Ok(control),
        }
    }

    /// Calls `work` with a session within the limits.
    pub(crate) fn session<T>(
        &self,
        control: &Control,
        observer: &mut dyn Observer,
        work: impl FnOnce(&mut Session<'_>) -> multikernel::Result<T>,
    ) -> multikernel::Result<T> {
        let pool = Pool::new(self.threads)?.with_device(Device::named(&self.device)?);
        let mut session = Session::new(&pool, observer);
        session.control = control.clone();
        session.memory = self.memory;
        work(&mut session)
    }
}

/// The table of rows with labels; without, all rows have the same.
pub(crate) fn dataset(
    rows: &Rows,
    classes: &[String],
    codes: Option<&[i64]>,
    groups: Option<&[String]>,
    (name, label): (&str, Option<String>),
) -> PyResult<Dataset> {
    let labels = match codes {
        Some(codes) => labels(classes, codes)?,
        None => Labels::from_parts(vec!["row".into()], vec![0; rows.0.n_samples()]).map_err(raise)?,
    };
    let mut data = Dataset::new(name, rows.0.clone(), labels).map_err(raise)?;
    data.label_name = label;
    match groups {
        Some(groups) => data.with_groups(groups, None).map_err(raise),
        None => Ok(data),
    }
}

/// Numbers to predict: their names, and an array of rows x numbers.
pub(crate) type GivenNumbers<'py> = (Vec<String>, PyReadonlyArray2<'py, f64>);

/// The table of rows with numbers to predict.
pub(crate) fn number_dataset(
    rows: &Rows,
    (names, values): GivenNumbers<'_>,
    groups: Option<&[String]>,
    name: &str,
) -> PyResult<Dataset> {
    let values = values.as_array();
    let build = || {
        let matrix = Matrix::from_vec(values.nrows(), values.ncols(), values.iter().copied().collect())?;
        let data = Dataset::of_numbers(name, rows.0.clone(), Numbers::new(names, matrix)?)?;
        match groups {
            Some(groups) => data.with_groups(groups, None),
            None => Ok(data),
        }
    };
    build().map_err(raise)
}

/// Times to an event, and whether it happened.
pub(crate) type GivenTimes<'py> = (PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, bool>);

/// [`Times`] of arrays.
pub(crate) fn times((time, event): &GivenTimes<'_>) -> PyResult<Times> {
    Times::new(time.as_array().to_vec(), event.as_array().to_vec()).map_err(raise)
}

/// Trains. Returns the model, the messages of the run, and the exception that ended it early, if any. A run goes on from its
/// checkpoint, which is removed when it is finished.
#[pyfunction]
#[pyo3(signature = (plan, rows, classes, codes, limits, *, groups=None, name="data", label=None, numbers=None, times=None, checkpoint=None, checkpoint_seconds=5.0, on_progress=None))]
#[allow(clippy::too_many_arguments)]
pub(crate) fn fit(
    py: Python<'_>,
    plan: &Plan,
    rows: &Rows,
    classes: Vec<String>,
    codes: Option<PyReadonlyArray1<'_, i64>>,
    limits: Limits,
    groups: Option<Vec<String>>,
    name: &str,
    label: Option<String>,
    numbers: Option<GivenNumbers<'_>>,
    times: Option<GivenTimes<'_>>,
    checkpoint: Option<PathBuf>,
    checkpoint_seconds: f64,
    on_progress: Option<Py<PyAny>>,
) -> PyResult<(Model, Vec<String>, Option<PyErr>)> {
    let codes = codes.map(|codes| codes.as_array().to_vec());
    let data = match (numbers, times) {
        (Some(numbers), _) => number_dataset(rows, numbers, groups.as_deref(), name)?,
        (None, Some(given)) => Dataset::of_times(name, rows.0.clone(), self::times(&given)?).map_err(raise)?,
        (None, None) => dataset(rows, &classes, codes.as_deref(), groups.as_deref(), (name, label))?,
    };
    let control = limits.control()?;
    let kept = checkpoint.map(|path| Kept::claim(path, checkpoint_seconds)).transpose()?;
    let mut done = job::run(py, &control, on_progress.as_ref(), |observer| {
        limits.session(&control, observer, |session| {
            session.checkpoint = kept.as_ref().map(Kept::checkpoint);
            plan.0.train_in(&data, session)
        })
    })?;
    match (done.result, done.interrupt) {
        (Ok(model), interrupt) => {
            if let Some(kept) = kept {
                kept.end(&model, &mut done.notes);
            }
            Ok((Model::from(model), done.notes, interrupt))
        }
        // Interrupted before anything was learned.
        (Err(_), Some(interrupt)) => Err(interrupt),
        (Err(error), None) => Err(raise(error)),
    }
}
