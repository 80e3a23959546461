//! The library's errors in Python's words.

use multikernel::{Error, Message, Remedy};
use pyo3::PyErr;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyRuntimeError, PyValueError};

/// The exception for an error: `OSError` for files, `MemoryError` for too little memory, else `ValueError`.
pub(crate) fn raise(error: Error) -> PyErr {
    let text = text(&error.message());
    match error {
        Error::Io { .. } => PyOSError::new_err(text),
        Error::Memory { .. } => PyMemoryError::new_err(text),
        Error::Stopped(_) => PyRuntimeError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

/// A message of the library, worded for Python.
pub(crate) fn text(message: &Message) -> String {
    message.render(words)
}

/// The argument or call for the library's advice.
fn words(remedy: &Remedy) -> String {
    match remedy {
        Remedy::Label(_) => "the argument `y`".into(),
        Remedy::Target(_) => "`MKLRegressor`".into(),
        Remedy::Id(_) => "the index of the table".into(),
        Remedy::Groups(_) => "the argument `groups`".into(),
        Remedy::Ignore(names) if names.is_empty() => "`X.drop(columns=[...])`".into(),
        Remedy::Ignore(names) => format!("`X.drop(columns={names:?})`"),
        Remedy::DropUnlabelled => "`y.notna()`".into(),
        Remedy::LabelsFile => "the argument `y`".into(),
        Remedy::Gram(name) => format!("a stack that has the kernel {name:?}"),
        Remedy::GramDiagonal(name) => format!("the diagonal of {name:?}"),
        Remedy::Memory => "the parameter `memory`".into(),
        Remedy::Precision => "`precision=\"f32\"`".into(),
        Remedy::Set(name, value) => format!("`{name}={value}`"),
        Remedy::Probabilities => "`proba=True`".into(),
        Remedy::Scores => "`decision_function`".into(),
        Remedy::Header(_) | Remedy::Transpose | Remedy::DecimalComma | Remedy::DecimalPoint | Remedy::Resume => {
            "the table's own options".into()
        }
        other => other.to_string(),
    }
}
