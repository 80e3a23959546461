//! Learning from a stream.

use std::sync::{Mutex, MutexGuard, PoisonError};

use multikernel::data::Dataset;
use multikernel::{Matrix, Model as LibraryModel, Online as LibraryOnline, OnlineOptions, Pool};
use numpy::{PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::error::raise;
use crate::model::Model;
use crate::plan::{GivenNumbers, Plan, dataset, number_dataset};
use crate::rows::Rows;

/// A learner of rows that come one after the other.
#[pyclass(frozen, module = "multikernel._core")]
pub(crate) struct Online {
    learner: Mutex<LibraryOnline>,
    pool: Pool,
}

impl Online {
    fn learner(&self) -> MutexGuard<'_, LibraryOnline> {
        self.learner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Online {
    /// Freezes scales and kernels from these rows, and the units of their numbers where these are predicted, without
    /// learning from them.
    #[staticmethod]
    #[pyo3(signature = (plan, rows, *, numbers=None, budget=None, update_every=100, threads=1, name="data", label=None))]
    #[expect(clippy::too_many_arguments, reason = "keywords of the Python function")]
    fn begin(
        plan: &Plan,
        rows: &Rows,
        numbers: Option<GivenNumbers<'_>>,
        budget: Option<usize>,
        update_every: usize,
        threads: usize,
        name: &str,
        label: Option<String>,
    ) -> PyResult<Online> {
        let data: Dataset = match numbers {
            Some(numbers) => number_dataset(rows, numbers, None, name)?,
            None => dataset(rows, &[], None, None, (name, label))?,
        };
        let pool = Pool::new(threads).map_err(raise)?;
        let options = OnlineOptions { budget, update_every };
        let learner = LibraryOnline::begin(&plan.0, &data, &options, &pool).map_err(raise)?;
        Ok(Online { learner: Mutex::new(learner), pool })
    }

    /// Goes on from a model, given as the bytes of its file.
    #[staticmethod]
    #[pyo3(signature = (content, plan, *, budget=None, update_every=100, threads=1))]
    fn resume(
        content: &[u8],
        plan: &Plan,
        budget: Option<usize>,
        update_every: usize,
        threads: usize,
    ) -> PyResult<Online> {
        let pool = Pool::new(threads).map_err(raise)?;
        let options = OnlineOptions { budget, update_every };
        let begin = || LibraryOnline::from_model(LibraryModel::from_bytes(content)?, &plan.0, &options, &pool);
        let learner = begin().map_err(raise)?;
        Ok(Online { learner: Mutex::new(learner), pool })
    }

    /// Predicts each row, then learns it. Returns the codes predicted (-1 while no class is known).
    fn learn<'py>(
        &self,
        py: Python<'py>,
        rows: &Rows,
        classes: Vec<String>,
        codes: PyReadonlyArray1<'py, i64>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let labels = crate::rows::texts(&classes, &codes.as_array().to_vec())?;
        let found = py.detach(|| self.learner().learn(&rows.0, &labels, &self.pool)).map_err(raise)?;
        Ok(PyArray1::from_iter(py, found.into_iter().map(|code| code.map_or(-1, |code| code as i64))))
    }

    /// Predicts the numbers of each row (rows x numbers), then learns them. Returns what was predicted.
    fn learn_numbers<'py>(
        &self,
        py: Python<'py>,
        rows: &Rows,
        values: PyReadonlyArray2<'py, f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let given = values.as_array();
        let values = Matrix::from_vec(given.nrows(), given.ncols(), given.iter().copied().collect()).map_err(raise)?;
        let found = py.detach(|| self.learner().learn_numbers(&rows.0, &values, &self.pool)).map_err(raise)?;
        let found: Vec<Vec<f64>> = found.rows().map(<[f64]>::to_vec).collect();
        Ok(PyArray2::from_vec2(py, &found)?)
    }

    /// R2, RMSE and MAE of each number over all rows, each predicted before it was learned.
    #[getter]
    fn errors(&self) -> Vec<(Option<f64>, Option<f64>, Option<f64>)> {
        self.learner().errors().iter().map(|errors| (errors.r2(), errors.rmse(), errors.mae())).collect()
    }

    #[getter]
    fn classes(&self) -> Vec<String> {
        self.learner().classes().to_vec()
    }

    #[getter]
    fn n_rows(&self) -> u64 {
        self.learner().n_rows()
    }

    #[getter]
    fn n_correct(&self) -> u64 {
        self.learner().n_correct()
    }

    /// The model so far.
    fn model(&self, py: Python<'_>) -> PyResult<Model> {
        py.detach(|| self.learner().model()).map(Model::from).map_err(raise)
    }
}
