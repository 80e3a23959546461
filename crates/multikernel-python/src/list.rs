//! Methods, kernels and data sets.

use multikernel::data::{bundled, bundled_sets};
use multikernel::plan::Registry;
use multikernel::run::{Allowed, AnyMethod, Param};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::error::raise;
use crate::model::array;

/// The type of a parameter, in Python's words.
fn kind(allowed: Allowed) -> &'static str {
    match allowed {
        Allowed::Positive | Allowed::Number(..) => "float",
        Allowed::PositiveOrAuto(_) | Allowed::NumberOrAuto(..) => "float | auto",
        Allowed::WholeOrAuto(..) => "int | auto",
        Allowed::Whole(..) => "int",
        Allowed::OneOf(["no", "yes"] | ["yes", "no"]) => "bool",
        Allowed::OneOf(_) => "choice",
        _ => "str",
    }
}

fn of_param<'py>(py: Python<'py>, param: &Param) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", param.name)?;
    dict.set_item("kind", kind(param.allowed))?;
    dict.set_item("default", &param.default)?;
    dict.set_item("allowed", param.allowed.to_string())?;
    dict.set_item("choices", if let Allowed::OneOf(words) = param.allowed { words } else { &[] })?;
    dict.set_item("help", param.help)?;
    Ok(dict)
}

/// All methods with their parameters.
#[pyfunction]
pub(crate) fn methods<'py>(py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
    let one = |method: &dyn AnyMethod| {
        let (about, dict) = (method.about(), PyDict::new(py));
        dict.set_item("name", about.name)?;
        dict.set_item("summary", about.summary)?;
        dict.set_item("kernels", about.bank)?;
        dict.set_item("is_supervised", method.is_supervised())?;
        dict.set_item("finds_clusters", method.finds_clusters())?;
        let targets: Vec<&str> = method.targets().iter().map(|target| target.word()).collect();
        dict.set_item("targets", targets)?;
        let params = method.param_list().iter().map(|param| of_param(py, param)).collect::<PyResult<Vec<_>>>()?;
        dict.set_item("params", params)?;
        Ok(dict)
    };
    PyList::new(py, Registry::standard().iter().map(one).collect::<PyResult<Vec<_>>>()?)
}

/// All kernels: name, how it is written, what goes in the parentheses, an example.
#[pyfunction]
pub(crate) fn kernels() -> Vec<[&'static str; 4]> {
    let registry = Registry::standard();
    registry.families().iter().map(|family| [family.name, family.written, family.takes, family.example]).collect()
}

/// The data sets that come with the package: name, rows, columns, classes, source, licence, note.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(crate) fn datasets() -> Vec<(&'static str, usize, usize, usize, &'static str, &'static str, &'static str)> {
    let one = |set: &multikernel::data::BundledSet| {
        (set.name, set.n_samples, set.n_features, set.n_classes, set.source, set.licence, set.note)
    };
    bundled_sets().iter().map(one).collect()
}

/// One of them: values, column names, codes, classes, views.
#[pyfunction]
#[allow(clippy::type_complexity)]
pub(crate) fn load_dataset<'py>(
    py: Python<'py>,
    name: &str,
) -> PyResult<(
    Bound<'py, PyArray2<f64>>,
    Vec<String>,
    Bound<'py, PyArray1<i64>>,
    Vec<String>,
    Vec<(String, usize, usize)>,
    Option<String>,
)> {
    let data = bundled(name).map_err(raise)?;
    let values = data.samples.features().to_dense().map_err(raise)?.into_owned();
    let codes = PyArray1::from_iter(py, data.labels.codes().iter().map(|&code| code as i64));
    let views = data.samples.views().iter().map(|v| (v.name.clone(), v.columns.start, v.columns.end)).collect();
    let names = data.samples.names().to_vec();
    Ok((array(py, values)?, names, codes, data.labels.classes().to_vec(), views, data.label_name))
}
