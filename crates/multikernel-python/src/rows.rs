//! Rows from arrays.

use std::sync::Arc;

use multikernel::Matrix;
use multikernel::data::{Column, Features, Gram, Labels, Samples, Sparse, View, samples_of_columns};
use numpy::{PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::raise;

/// Rows of a table, Gram matrices, or both.
#[pyclass(frozen, module = "multikernel._core")]
pub(crate) struct Rows(pub(crate) Samples);

type Views = Vec<(String, usize, usize)>;
/// Ids of rows, and the name of their column.
type Ids = (Vec<String>, Option<String>);

fn finish(features: Features, names: Option<Vec<String>>, views: Views, ids: Option<Ids>) -> PyResult<Rows> {
    let samples = match names {
        Some(names) => Samples::new(features, names),
        None => Samples::unnamed(features),
    };
    with_views(samples.map_err(raise)?, views, ids)
}

fn with_views(samples: Samples, views: Views, ids: Option<Ids>) -> PyResult<Rows> {
    let build = || {
        let view = |(name, start, end)| View { name, columns: start..end };
        let samples = samples.with_views(views.into_iter().map(view).collect())?;
        match ids {
            Some((ids, name)) => Ok(samples.with_ids(ids)?.with_id_name(name)),
            None => Ok(samples),
        }
    };
    build().map(Rows).map_err(raise)
}

/// The values of an array that stays where it is.
struct Borrowed {
    values: *const f64,
    length: usize,
    /// Keeps the memory alive.
    _array: Py<PyArray2<f64>>,
}

// SAFETY: the values are only read. A script that writes to the array from another thread while a fit reads it gets
// numbers of both, as from any function of NumPy that releases the interpreter.
unsafe impl Send for Borrowed {}
// SAFETY: as above.
unsafe impl Sync for Borrowed {}

impl AsRef<[f64]> for Borrowed {
    fn as_ref(&self) -> &[f64] {
        // SAFETY: pointer and length are those of a slice of the array, which is alive as long as `self`.
        unsafe { std::slice::from_raw_parts(self.values, self.length) }
    }
}

/// The matrix of a C-ordered array, whose values are not copied.
fn matrix(values: &PyReadonlyArray2<'_, f64>) -> PyResult<Matrix> {
    let (n_rows, n_cols) = (values.shape()[0], values.shape()[1]);
    let slice = values.as_slice().map_err(|_| PyValueError::new_err("the array must be C-ordered"))?;
    let array = (**values).clone().unbind();
    let borrowed = Borrowed { values: slice.as_ptr(), length: slice.len(), _array: array };
    Matrix::shared(n_rows, n_cols, Arc::new(borrowed)).map_err(raise)
}

#[pymethods]
impl Rows {
    /// Rows of a C-ordered float64 array; NaN is a missing value. Views are (name, first column, one past the last).
    #[staticmethod]
    #[pyo3(signature = (values, names=None, views=vec![], ids=None))]
    fn dense(
        values: PyReadonlyArray2<'_, f64>,
        names: Option<Vec<String>>,
        views: Views,
        ids: Option<Ids>,
    ) -> PyResult<Rows> {
        finish(matrix(&values)?.into(), names, views, ids)
    }

    /// Rows of a CSR matrix with sorted column indices; zeros are not missing.
    #[staticmethod]
    #[pyo3(signature = (indptr, indices, data, n_cols, names=None, views=vec![], ids=None))]
    fn sparse(
        indptr: PyReadonlyArray1<'_, i64>,
        indices: PyReadonlyArray1<'_, i64>,
        data: PyReadonlyArray1<'_, f64>,
        n_cols: usize,
        names: Option<Vec<String>>,
        views: Views,
        ids: Option<Ids>,
    ) -> PyResult<Rows> {
        let wrong = || PyValueError::new_err("the sparse matrix has indices outside its shape");
        let ends = indptr
            .as_array()
            .iter()
            .skip(1)
            .map(|&end| usize::try_from(end).map_err(|_| wrong()))
            .collect::<PyResult<_>>()?;
        let columns =
            indices.as_array().iter().map(|&j| u32::try_from(j).map_err(|_| wrong())).collect::<PyResult<_>>()?;
        let sparse = Sparse::from_parts(ends, columns, data.as_array().to_vec(), vec![0.0; n_cols]).map_err(raise)?;
        finish(sparse.into(), names, views, ids)
    }

    /// Rows of named columns, and what was guessed or left out: a float64 array, or texts (None where missing) of the
    /// kind that is given, or else found.
    #[staticmethod]
    fn table(columns: Vec<(String, Option<String>, Bound<'_, PyAny>)>) -> PyResult<(Rows, Vec<String>)> {
        let column = |(name, kind, values): (String, Option<String>, Bound<'_, PyAny>)| {
            if let Ok(numbers) = values.extract::<PyReadonlyArray1<'_, f64>>() {
                return Ok((name, Column::Number(numbers.as_array().to_vec())));
            }
            let texts: Vec<Option<String>> = values.extract()?;
            let column = match kind {
                Some(kind) => Column::Known(kind.parse().map_err(raise)?, texts),
                None => Column::Text(texts),
            };
            Ok((name, column))
        };
        let columns = columns.into_iter().map(column).collect::<PyResult<Vec<_>>>()?;
        let (samples, notes) = samples_of_columns(columns).map_err(raise)?;
        Ok((with_views(samples, vec![], None)?, notes))
    }

    /// Rows known by their values of kernels: among themselves, or (`trained` given: the diagonals of the model's
    /// matrices) with the rows a model was trained on.
    #[staticmethod]
    #[pyo3(signature = (grams, trained=None))]
    fn grams(grams: Vec<(String, PyReadonlyArray2<'_, f64>)>, trained: Option<Vec<Vec<f64>>>) -> PyResult<Rows> {
        let one = |(k, (name, values)): (usize, &(String, PyReadonlyArray2<'_, f64>))| {
            let values = matrix(values)?;
            match &trained {
                Some(trained) => {
                    let diagonal =
                        trained.get(k).ok_or_else(|| PyValueError::new_err("more kernels than the model has"))?;
                    Gram::cross(name, values, None, diagonal).map_err(raise)
                }
                None => Gram::square(name, values).map_err(raise),
            }
        };
        let grams = grams.iter().enumerate().map(one).collect::<PyResult<Vec<_>>>()?;
        Samples::of_grams(grams).map(Rows).map_err(raise)
    }

    #[getter]
    fn n_rows(&self) -> usize {
        self.0.n_samples()
    }

    #[getter]
    fn n_features(&self) -> usize {
        self.0.n_features()
    }

    #[getter]
    fn names(&self) -> Vec<String> {
        self.0.names().to_vec()
    }
}

/// What a column of texts holds, by its distinct texts and how many rows hold each, or why it is left out.
#[pyfunction]
#[pyo3(signature = (name, told, texts, n_rows))]
pub(crate) fn kind_of_texts(
    name: &str,
    told: Option<&str>,
    texts: Vec<(String, usize)>,
    n_rows: usize,
) -> PyResult<(Option<String>, Option<String>)> {
    let told = told.map(str::parse).transpose().map_err(raise)?;
    match multikernel::data::kind_of_texts(name, told, &texts, n_rows).map_err(raise)? {
        Ok(told) => Ok((Some(told.to_string()), None)),
        Err(why) => Ok((None, Some(why))),
    }
}

/// The text of each row's class.
pub(crate) fn texts(classes: &[String], codes: &[i64]) -> PyResult<Vec<String>> {
    let text = |&code: &i64| usize::try_from(code).ok().and_then(|code| classes.get(code)).cloned();
    codes.iter().map(text).collect::<Option<_>>().ok_or_else(|| PyValueError::new_err("a code is none of the classes"))
}

/// Labels from the texts of classes and a code for each row.
pub(crate) fn labels(classes: &[String], codes: &[i64]) -> PyResult<Labels> {
    Labels::new(&texts(classes, codes)?).map_err(raise)
}
