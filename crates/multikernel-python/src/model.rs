//! Models.

use multikernel::data::{Dataset, Features, Labels, Samples};
use multikernel::evaluate::{ImportanceOf, importance};
use multikernel::plan::{ModelNumbers, ModelTimes, PartsBy};
use multikernel::run::{Control, Decision, Intervals};
use multikernel::stack::{Stack, StackOptions, Storage};
use multikernel::{Error, Matrix, Model as LibraryModel, Pool, report};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::error::raise;
use crate::job;
use crate::plan::{GivenNumbers, GivenTimes, number_dataset, times as times_of};
use crate::rows::Rows;

/// A trained model.
#[pyclass(frozen, module = "multikernel._core")]
pub(crate) struct Model(pub(crate) LibraryModel);

impl From<LibraryModel> for Model {
    fn from(model: LibraryModel) -> Model {
        Model(model)
    }
}

/// A matrix as an array, without copying its values.
pub(crate) fn array<'py>(py: Python<'py>, matrix: Matrix) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let shape = [matrix.n_rows(), matrix.n_cols()];
    PyArray1::from_vec(py, matrix.into_data()).reshape(shape)
}

/// Clusters, log densities and typical shares of rows.
type Placed<'py> = (Bound<'py, PyArray1<i64>>, Option<Bound<'py, PyArray1<f64>>>, Option<Bound<'py, PyArray1<f64>>>);

fn codes<'py>(py: Python<'py>, codes: &[usize]) -> Bound<'py, PyArray1<i64>> {
    PyArray1::from_iter(py, codes.iter().map(|&code| code as i64))
}

/// Few rows are predicted on the calling thread: starting another one takes longer.
const MAX_ROWS_AT_ONCE: usize = 256;

impl Model {
    /// Calls `work` with threads, without the interpreter; Ctrl-C stops waiting for it.
    fn with_pool<T: Send>(
        &self,
        py: Python<'_>,
        rows: &Rows,
        threads: usize,
        work: impl Fn(&Samples, &Pool) -> multikernel::Result<T> + Send + Sync,
    ) -> PyResult<T> {
        if rows.0.n_samples() <= MAX_ROWS_AT_ONCE {
            return py.detach(|| work(&rows.0, &Pool::new(1)?)).map_err(raise);
        }
        let done = job::run(py, &Control::default(), None, |_| work(&rows.0, &Pool::new(threads)?))?;
        match done.interrupt {
            Some(interrupt) => Err(interrupt),
            None => done.result.map_err(raise),
        }
    }
}

#[pymethods]
impl Model {
    #[staticmethod]
    fn load(path: std::path::PathBuf) -> PyResult<Model> {
        LibraryModel::load(path).map(Model).map_err(raise)
    }

    #[staticmethod]
    fn from_bytes(content: &[u8]) -> PyResult<Model> {
        LibraryModel::from_bytes(content).map(Model).map_err(raise)
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.0.to_bytes().map_err(raise)?))
    }

    fn save(&self, path: std::path::PathBuf) -> PyResult<()> {
        self.0.save(path).map_err(raise)
    }

    /// Everything about the model, as JSON.
    fn json(&self) -> String {
        report::model_json(&self.0)
    }

    /// Everything about the model, as text.
    fn text(&self) -> String {
        report::model_text(&self.0)
    }

    #[getter]
    fn method(&self) -> &str {
        self.0.training().method()
    }

    #[getter]
    fn params(&self) -> Vec<(String, String)> {
        self.0.training().params().clone().into_iter().collect()
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.0.training().seed()
    }

    #[getter]
    fn stop(&self) -> &str {
        self.0.training().stop()
    }

    #[getter]
    fn steps(&self) -> u64 {
        self.0.training().steps()
    }

    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.training().warnings()
    }

    #[getter]
    fn facts(&self) -> Vec<(String, String)> {
        self.0.training().facts()
    }

    #[getter]
    fn is_online(&self) -> bool {
        self.0.training().is_online()
    }

    #[getter]
    fn classes(&self) -> Vec<String> {
        self.0.classes().to_vec()
    }

    #[getter]
    fn features(&self) -> Vec<String> {
        self.0.input().features().to_vec()
    }

    /// What the features hold, as `kinds` writes it.
    #[getter]
    fn kinds(&self) -> Vec<String> {
        self.0.input().told_kinds().iter().map(ToString::to_string).collect()
    }

    /// What rows hold that no training row did: new levels, new words.
    fn unseen(&self, rows: &Rows) -> PyResult<Vec<String>> {
        self.0.input().unseen(&rows.0).map_err(raise)
    }

    /// Views as (name, first column, one past the last).
    #[getter]
    fn views(&self) -> Vec<(String, usize, usize)> {
        self.0.input().views().iter().map(|view| (view.name.clone(), view.columns.start, view.columns.end)).collect()
    }

    /// Names of the Gram matrices it was trained on, and their diagonals.
    #[getter]
    fn gram_diagonals(&self) -> Vec<(String, Vec<f64>)> {
        self.0.input().gram_diagonals().to_vec()
    }

    #[getter]
    fn has_probabilities(&self) -> bool {
        self.0.has_probabilities()
    }

    #[getter]
    fn bank(&self) -> Option<&str> {
        self.0.kernels().bank()
    }

    #[getter]
    fn kernels(&self) -> Vec<String> {
        self.0.kernels().names()
    }

    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.0.kernels().weights().map(|weights| PyArray1::from_slice(py, weights))
    }

    #[getter]
    fn shares<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.0.kernels().shares().map(|shares| PyArray1::from_slice(py, shares))
    }

    /// Weights of each class (rows: kernels).
    #[getter]
    fn class_weights<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        self.0.kernels().class_weights().map(|weights| array(py, weights)).transpose()
    }

    /// Views with the indices of their kernels.
    #[getter]
    fn kernels_of_views(&self) -> Vec<(String, Vec<usize>)> {
        self.0.kernels().by_view().iter().map(|view| (view.name.clone(), view.kernels.clone())).collect()
    }

    /// Level, bounds (one pair per kernel), the prior's bounds and what they hold under.
    #[getter]
    fn intervals<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(intervals) = self.0.kernels().intervals().or_else(|| self.intervals_of_draws()) else {
            return Ok(None);
        };
        let side = |(low, high): (f64, f64), j: usize| if j == 0 { low } else { high };
        let bounds = Matrix::from_fn(intervals.bounds.len(), 2, |i, j| side(intervals.bounds[i], j));
        let dict = PyDict::new(py);
        dict.set_item("level", intervals.level)?;
        dict.set_item("bounds", array(py, bounds)?)?;
        dict.set_item("prior", intervals.prior)?;
        dict.set_item("note", intervals.note)?;
        Ok(Some(dict))
    }

    /// Codes of the predicted classes, and scores (n_rows x n_classes).
    #[pyo3(signature = (rows, threads=0))]
    #[allow(clippy::type_complexity)]
    fn predict<'py>(
        &self,
        py: Python<'py>,
        rows: &Rows,
        threads: usize,
    ) -> PyResult<(Bound<'py, PyArray1<i64>>, Bound<'py, PyArray2<f64>>)> {
        let found = self.with_pool(py, rows, threads, |samples, pool| self.0.predict_in(samples, pool))?;
        Ok((codes(py, &found.labels), array(py, found.scores)?))
    }

    #[pyo3(signature = (rows, threads=0))]
    fn probabilities<'py>(&self, py: Python<'py>, rows: &Rows, threads: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
        array(py, self.with_pool(py, rows, threads, |samples, pool| self.0.probabilities_in(samples, pool))?)
    }

    /// The names of the numbers it predicts; none if it predicts classes.
    #[getter]
    fn numbers(&self) -> Vec<String> {
        self.0.numbers().map_or_else(Vec::new, |numbers| numbers.names().to_vec())
    }

    /// Predicted numbers (n_rows x n_numbers).
    #[pyo3(signature = (rows, threads=0))]
    fn predict_numbers<'py>(
        &self,
        py: Python<'py>,
        rows: &Rows,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        array(py, self.with_pool(py, rows, threads, |samples, pool| self.of_numbers()?.predict_in(samples, pool))?)
    }

    /// Their standard deviations; `None` if the model has none.
    #[pyo3(signature = (rows, threads=0))]
    fn deviations<'py>(
        &self,
        py: Python<'py>,
        rows: &Rows,
        threads: usize,
    ) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let work = |samples: &Samples, pool: &Pool| self.of_numbers()?.deviations_in(samples, pool);
        self.with_pool(py, rows, threads, work)?.map(|found| array(py, found)).transpose()
    }

    /// The times of events in training; `None` if it predicts something else.
    #[getter]
    fn event_times<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        self.0.times().map(|times| PyArray1::from_slice(py, times.baseline().0))
    }

    /// Log risks of an event.
    #[pyo3(signature = (rows, threads=0))]
    fn risks<'py>(&self, py: Python<'py>, rows: &Rows, threads: usize) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let work = |samples: &Samples, pool: &Pool| self.of_times()?.risks_in(samples, pool);
        Ok(PyArray1::from_vec(py, self.with_pool(py, rows, threads, work)?))
    }

    /// Probabilities to be without the event after each time (n_rows x n_times).
    #[pyo3(signature = (rows, times, threads=0))]
    fn survival<'py>(
        &self,
        py: Python<'py>,
        rows: &Rows,
        times: Vec<f64>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let work = |samples: &Samples, pool: &Pool| self.of_times()?.survival_in(samples, &times, pool);
        array(py, self.with_pool(py, rows, threads, work)?)
    }

    /// The HTML page of the model, with rows to look at and their classes, numbers or times where they are given.
    #[pyo3(signature = (rows=None, labels=None, numbers=None, times=None, threads=0))]
    fn page(
        &self,
        py: Python<'_>,
        rows: Option<&Rows>,
        labels: Option<Vec<String>>,
        numbers: Option<GivenNumbers<'_>>,
        times: Option<GivenTimes<'_>>,
        threads: usize,
    ) -> PyResult<String> {
        let known = match rows.filter(|_| labels.is_some() || numbers.is_some() || times.is_some()) {
            Some(rows) => Some(self.known(rows, labels.unwrap_or_default(), numbers, times)?),
            None => None,
        };
        let page =
            report::ModelPage { model: &self.0, rows: rows.map(|rows| &rows.0), known: known.as_ref(), command: None };
        py.detach(|| page.html(&Pool::new(threads)?)).map_err(raise)
    }

    /// Permutation importance of columns, views or named sets of columns, as JSON.
    #[pyo3(signature = (rows, by, sets, repeats, seed, labels=None, numbers=None, times=None, threads=0))]
    #[allow(clippy::too_many_arguments)]
    fn importance(
        &self,
        py: Python<'_>,
        rows: &Rows,
        by: &str,
        sets: Vec<(String, Vec<usize>)>,
        repeats: usize,
        seed: u64,
        labels: Option<Vec<String>>,
        numbers: Option<GivenNumbers<'_>>,
        times: Option<GivenTimes<'_>>,
        threads: usize,
    ) -> PyResult<String> {
        let known = self.known(rows, labels.unwrap_or_default(), numbers, times)?;
        let of = match by {
            "columns" => ImportanceOf::Columns,
            "views" => ImportanceOf::Views,
            _ => ImportanceOf::Sets(sets),
        };
        let found = self.with_pool(py, rows, threads, |samples, pool| {
            let mut samples = samples.clone();
            if samples.views().is_empty() && samples.n_features() == self.0.input().features().len() {
                samples = samples.with_views(self.0.input().views().to_vec())?;
            }
            let data = Dataset { samples, ..known.clone() };
            importance(&self.0, &data, &of, repeats, seed, pool)
        })?;
        Ok(report::importance_json(&found))
    }

    /// The parts of decisions by view or by kernel: names, the classes of each decision (the one that a positive value
    /// speaks for first, alone if there is no other), biases, and values (n_rows x names) of each decision.
    #[pyo3(signature = (rows, by_view, threads=0))]
    #[allow(clippy::type_complexity)]
    fn parts<'py>(
        &self,
        py: Python<'py>,
        rows: &Rows,
        by_view: bool,
        threads: usize,
    ) -> PyResult<(Vec<String>, Vec<Vec<usize>>, Vec<f64>, Vec<Bound<'py, PyArray2<f64>>>)> {
        let by = if by_view { PartsBy::View } else { PartsBy::Kernel };
        let found = self.with_pool(py, rows, threads, |samples, pool| self.0.parts_in(samples, by, pool))?;
        let classes = |decision: &Decision| match *decision {
            Decision::Between(first, second) => vec![first, second],
            Decision::For(class) => vec![class],
        };
        let decisions = found.decisions.iter().map(classes).collect();
        let values = found.values.into_iter().map(|values| array(py, values)).collect::<PyResult<_>>()?;
        Ok((found.names, decisions, found.biases, values))
    }

    /// The cluster of each training row; `None` if the model is no clustering.
    #[getter]
    fn clusters<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<i64>>> {
        self.0.clustering().map(|clustering| codes(py, clustering.clusters()))
    }

    /// The log density below which a row is as improbable as fewer than this share of the training rows.
    fn threshold(&self, quantile: f64) -> Option<f64> {
        self.0.clustering()?.threshold(quantile)
    }

    /// The clusters of rows, their log density, and the share of training rows as improbable, if the model has them.
    #[pyo3(signature = (rows, threads=0))]
    fn place<'py>(&self, py: Python<'py>, rows: &Rows, threads: usize) -> PyResult<Placed<'py>> {
        let placed = self.with_pool(py, rows, threads, |samples, pool| match self.0.clustering() {
            Some(clustering) => clustering.place_in(samples, pool),
            None => Err(Error::input("the model is no clustering")),
        })?;
        let numbers = |values: Option<Vec<f64>>| values.map(|values| PyArray1::from_vec(py, values));
        Ok((codes(py, &placed.clusters), numbers(placed.density), numbers(placed.typical)))
    }

    /// Posterior draws: the number of chains, and for each variable its name, dimension, coordinates, values (one row
    /// per draw, chain after chain) and prior bounds.
    #[allow(clippy::type_complexity)]
    fn draws<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<
        Option<(usize, Vec<(String, Option<String>, Vec<String>, Bound<'py, PyArray2<f64>>, Option<(f64, f64)>)>)>,
    > {
        let Some(draws) = self.0.draws() else { return Ok(None) };
        let one = |variable: &multikernel::draws::Variable| {
            let values = array(py, variable.values.clone())?;
            let (name, dimension) = (variable.name.clone(), variable.dimension.clone());
            Ok((name, dimension, variable.coordinates.clone(), values, variable.prior))
        };
        let variables = draws.variables().iter().map(one).collect::<PyResult<_>>()?;
        Ok(Some((draws.n_chains(), variables)))
    }

    /// `sum_m w_m k_m` between `rows` and `trained`, all rows the model was trained on.
    #[pyo3(signature = (rows, trained, threads=0))]
    fn combined<'py>(
        &self,
        py: Python<'py>,
        rows: &Rows,
        trained: &Rows,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let found = self.with_pool(py, rows, threads, |samples, pool| self.combine(samples, &trained.0, pool))?;
        array(py, found)
    }
}

impl Model {
    /// Rows with what they truly are.
    fn known(
        &self,
        rows: &Rows,
        labels: Vec<String>,
        numbers: Option<GivenNumbers<'_>>,
        times: Option<GivenTimes<'_>>,
    ) -> PyResult<Dataset> {
        const NAME: &str = "rows";
        match (numbers, times) {
            (Some(numbers), _) => number_dataset(rows, numbers, None, NAME),
            (None, Some(times)) => Dataset::of_times(NAME, rows.0.clone(), times_of(&times)?).map_err(raise),
            (None, None) => Labels::with_classes(&labels, self.0.classes())
                .and_then(|labels| Dataset::new(NAME, rows.0.clone(), labels))
                .map_err(raise),
        }
    }

    fn of_numbers(&self) -> multikernel::Result<ModelNumbers<'_>> {
        self.0.numbers().ok_or_else(|| Error::input("the model predicts classes, not numbers"))
    }

    fn of_times(&self) -> multikernel::Result<ModelTimes<'_>> {
        self.0.times().ok_or_else(|| Error::input("the model predicts no times to an event"))
    }

    /// The 90 % intervals of sampled weights.
    fn intervals_of_draws(&self) -> Option<Intervals> {
        let summaries = self.0.draws()?.summary();
        let of_weights: Vec<_> = summaries.into_iter().filter(|one| one.variable == "weights").collect();
        let prior = of_weights.first()?.prior?;
        let bounds = of_weights.iter().map(|one| one.diagnosis.interval).collect();
        Some(Intervals { level: 0.9, bounds, prior, note: "equal tails of the draws of all chains".into() })
    }

    fn combine(&self, samples: &Samples, trained: &Samples, pool: &Pool) -> multikernel::Result<Matrix> {
        let kernels = self.0.kernels();
        let Some(weights) = kernels.weights() else {
            return Err(Error::input("the method has no kernel weights; take one that has, such as evidence"));
        };
        let scaled = |samples: &Samples| -> multikernel::Result<Features> { self.0.input().scaled(samples) };
        let weights = Matrix::from_vec(weights.len(), 1, weights.to_vec())?;
        let options = StackOptions { storage: Storage::Tiled, ..StackOptions::new(pool) };
        let columns = scaled(trained)?;
        let among = Stack::train(&columns, kernels.as_slice(), &options)?;
        let stack = Stack::cross(&scaled(samples)?, &columns, kernels.as_slice(), among.centring(), &options)?;
        Ok(stack.combine(&weights, pool)?.remove(0))
    }
}
