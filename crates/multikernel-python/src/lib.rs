//! The extension module `multikernel._core`: rows, fits and models for the Python package, which adds scikit-learn's
//! interface. All algorithms are in the library.

mod checkpoint;
mod error;
mod evaluate;
mod job;
mod list;
mod model;
mod online;
mod partition;
mod plan;
mod rows;

use pyo3::prelude::*;

/// The library under the estimators; see the package's documentation for what to use.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::checkpoint::Claimed;
    #[pymodule_export]
    use super::evaluate::{Evaluating, concordance, evaluation_page};
    #[pymodule_export]
    use super::list::{datasets, kernels, load_dataset, methods};
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::online::Online;
    #[pymodule_export]
    use super::partition::{answer_partition, fit_partitions};
    #[pymodule_export]
    use super::plan::{Plan, fit};
    #[pymodule_export]
    use super::rows::{Rows, kind_of_texts};

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
