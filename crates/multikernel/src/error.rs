//! The one error type: every message names the input, what was found, what is allowed and what to do.

use std::fmt;

/// Result of every fallible call in this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A position in a text file; prints as `file:line:column` (both from 1), leaving out what is unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// File path or the name of the source (`standard input`, a bundled set).
    pub file: String,
    /// Line, counted from 1.
    pub line: Option<u64>,
    /// Column: for delimited text the field, for LIBSVM text the character; counted from 1.
    pub column: Option<u64>,
}

impl Place {
    /// The whole file.
    pub fn file(file: impl Into<String>) -> Self {
        Place { file: file.into(), line: None, column: None }
    }

    /// A line of the file.
    pub fn line(file: impl Into<String>, line: u64) -> Self {
        Place { file: file.into(), line: Some(line), column: None }
    }

    /// A column of a line of the file.
    pub fn column(file: impl Into<String>, line: u64, column: u64) -> Self {
        Place { file: file.into(), line: Some(line), column: Some(column) }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(column) = self.column {
            write!(f, ":{column}")?;
        }
        Ok(())
    }
}

/// What went wrong, by the kind of input that caused it.
///
/// ```
/// let error = "gausian(1)".parse::<multikernel::kernel::KernelBank>().unwrap_err();
/// assert!(matches!(error, multikernel::Error::Bank { at: 0, .. }));
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be opened, read or written.
    #[error("cannot {action} {path}: {reason}")]
    Io {
        /// `read`, `write`, ...
        action: &'static str,
        /// The file.
        path: String,
        /// What the operating system said. Part of the message, so it is not repeated as its source.
        reason: std::io::Error,
    },
    /// A data file holds something that cannot be used.
    #[error("{place}: {message}")]
    Data {
        /// Where.
        place: Place,
        /// What was found, what is allowed, what to do.
        message: String,
    },
    /// A kernel bank text cannot be parsed or does not fit the data; prints the text with a caret under the character.
    #[error("kernels: {message}\n  {text}\n  {:>width$}", "^", width = at + 1)]
    Bank {
        /// The whole bank text.
        text: String,
        /// Offset of the offending character, in characters from 0.
        at: usize,
        /// What was found, what is allowed, what to do.
        message: String,
    },
    /// A parameter (`--set name=value`, or a field of a call) is unknown or out of range.
    #[error("parameter {name}: {message}")]
    Param {
        /// The parameter.
        name: String,
        /// What was found, what is allowed, what to do.
        message: String,
    },
    /// A model or checkpoint file cannot be used.
    #[error("{path}: {message}")]
    File {
        /// The file.
        path: String,
        /// What was found, what is allowed, what to do.
        message: String,
    },
    /// Rows, labels or shapes handed to a call do not fit.
    #[error("{0}")]
    Input(String),
    /// The job needs more memory than it may use; nothing was allocated.
    #[error("{what} needs {} but {} may be used; {help}", gib(*.need), gib(*.limit))]
    Memory {
        /// What would be stored.
        what: String,
        /// Bytes needed.
        need: u64,
        /// Bytes allowed.
        limit: u64,
        /// What to do.
        help: String,
    },
    /// A matrix that had to be positive definite is not.
    #[error(
        "a matrix that should be positive definite is not: its pivot of row {row} (counted from 0) is {pivot:e}; every kernel \
         must be positive semi-definite, and something be added to the diagonal of their sum"
    )]
    NotDefinite {
        /// The first row whose pivot is not above rounding.
        row: usize,
        /// That pivot.
        pivot: f64,
    },
    /// The run was stopped (Ctrl-C, time limit) before anything was learned.
    #[error("{0}")]
    Stopped(String),
}

impl Error {
    /// An [`Error::Data`] at a place.
    pub fn data(place: Place, message: impl Into<String>) -> Self {
        Error::Data { place, message: message.into() }
    }

    /// An [`Error::Param`] about a named parameter.
    pub fn param(name: impl Into<String>, message: impl Into<String>) -> Self {
        Error::Param { name: name.into(), message: message.into() }
    }

    /// An [`Error::Input`].
    pub fn input(message: impl Into<String>) -> Self {
        Error::Input(message.into())
    }

    /// An [`Error::Io`]: `action` completes the sentence "cannot ... path".
    pub fn io(action: &'static str, path: impl AsRef<std::path::Path>, reason: std::io::Error) -> Self {
        Error::Io { action, path: path.as_ref().display().to_string(), reason }
    }

    /// An [`Error::File`].
    pub fn file(path: impl AsRef<std::path::Path>, message: impl Into<String>) -> Self {
        Error::File { path: path.as_ref().display().to_string(), message: message.into() }
    }
}

/// Bytes as people read them: `1.50 GiB`, `12.0 MiB`, `160 bytes`.
pub(crate) fn gib(bytes: u64) -> String {
    let scaled = |shift: u32| bytes as f64 / (1u64 << shift) as f64;
    match bytes {
        0..1_024 => format!("{bytes} bytes"),
        1_024..1_048_576 => format!("{:.1} KiB", scaled(10)),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", scaled(20)),
        _ => format!("{:.2} GiB", scaled(30)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_prints_what_is_known() {
        assert_eq!(Place::column("a.csv", 3, 7).to_string(), "a.csv:3:7");
        assert_eq!(Place::line("a.csv", 3).to_string(), "a.csv:3");
        assert_eq!(Place::file("a.csv").to_string(), "a.csv");
    }
}
