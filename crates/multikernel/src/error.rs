//! The error type: every message names the input, what was found, what is allowed and what to do.
//!
//! The advice is data ([`Remedy`]) inside a [`Message`], so that each interface can put it in its own terms: `Display`
//! uses those of this library, the command line its flags.

use std::fmt;

/// The result of every fallible call in this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// A position in a text file; prints as `file:line:column` (both from 1), omitting unknown parts.
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

/// Listing more names than this makes a message no clearer.
const MAX_NAMES: usize = 20;

/// What to do about a problem: the setting to change, and its value where known.
///
/// `Display` names the field or function of this library, in backticks; a program built on the library can match on the
/// remedy and phrase it in its own terms, as the command line does with its flags.
///
/// ```
/// use multikernel::Remedy;
/// assert_eq!(Remedy::Ignore(vec!["city".into()]).to_string(), r#"`ReadOptions::ignore = ["city"]`"#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remedy {
    /// Name the label column.
    Label(Option<String>),
    /// Name the column of numbers to predict.
    Target(Option<String>),
    /// Name the id column; `none` says that there is none.
    Id(Option<String>),
    /// Name the column that says which rows belong together.
    Groups(Option<String>),
    /// Leave out these columns, by name or position; empty when the choice is up to the user.
    Ignore(Vec<String>),
    /// Say what a column holds: its name or position, and the kind.
    Kinds(Option<(String, &'static str)>),
    /// Say whether the first line holds column names.
    Header(bool),
    /// Say that samples are columns.
    Transpose,
    /// Say that decimals are written with a comma.
    DecimalComma,
    /// Say that decimals are written with a point.
    DecimalPoint,
    /// Leave out rows without a label or without any value.
    DropUnlabelled,
    /// Give the labels in a separate file.
    LabelsFile,
    /// Give the Gram matrix of this name.
    Gram(String),
    /// Give the diagonal k(x, x) of new rows with the Gram matrix of this name.
    GramDiagonal(String),
    /// Raise the memory limit.
    Memory,
    /// Keep kernels in `f32`.
    Precision,
    /// Set a parameter of the method.
    Set(&'static str, String),
    /// Learn probabilities along with the model.
    Probabilities,
    /// Ask for scores.
    Scores,
    /// Resume from the checkpoint.
    Resume,
}

impl Remedy {
    /// One remedy of each kind, for testing how other interfaces phrase them.
    #[doc(hidden)]
    pub fn examples() -> Vec<Remedy> {
        let name = || "a".to_string();
        vec![
            Remedy::Label(Some(name())),
            Remedy::Target(Some(name())),
            Remedy::Id(Some(name())),
            Remedy::Groups(Some(name())),
            Remedy::Ignore(vec![name()]),
            Remedy::Kinds(Some((name(), "category"))),
            Remedy::Header(false),
            Remedy::Transpose,
            Remedy::DecimalComma,
            Remedy::DecimalPoint,
            Remedy::DropUnlabelled,
            Remedy::LabelsFile,
            Remedy::Gram(name()),
            Remedy::GramDiagonal(name()),
            Remedy::Memory,
            Remedy::Precision,
            Remedy::Set("c", "1".into()),
            Remedy::Probabilities,
            Remedy::Scores,
            Remedy::Resume,
        ]
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let column = |field: &str, name: &Option<String>| match name {
            Some(name) => format!("ReadOptions::{field} = {name:?}"),
            None => format!("ReadOptions::{field}"),
        };
        let code = match self {
            Remedy::Label(name) => column("label", name),
            Remedy::Target(Some(name)) => format!("ReadOptions::target = [{name:?}]"),
            Remedy::Target(None) => "ReadOptions::target".into(),
            Remedy::Id(name) => column("id", name),
            Remedy::Groups(name) => column("groups", name),
            Remedy::Ignore(names) if names.is_empty() => "ReadOptions::ignore".into(),
            Remedy::Ignore(names) => {
                let shown: Vec<String> = names.iter().take(MAX_NAMES).map(|name| format!("{name:?}")).collect();
                let more = names.len().saturating_sub(MAX_NAMES);
                let more = if more > 0 { format!(", .. {more} more") } else { String::new() };
                format!("ReadOptions::ignore = [{}{more}]", shown.join(", "))
            }
            Remedy::Kinds(None) => "ReadOptions::kinds".into(),
            Remedy::Kinds(Some((name, kind))) => format!("ReadOptions::kinds = [({name:?}, {kind:?})]"),
            Remedy::Header(is_there) => format!("ReadOptions::header = {is_there}"),
            Remedy::Transpose => "ReadOptions::transpose".into(),
            Remedy::DecimalComma => "ReadOptions::decimal = Comma".into(),
            Remedy::DecimalPoint => "ReadOptions::decimal = Point".into(),
            Remedy::DropUnlabelled => "ReadOptions::missing_labels = Drop".into(),
            Remedy::LabelsFile => "read_with_labels".into(),
            Remedy::Gram(_) => "Samples::with_grams".into(),
            Remedy::GramDiagonal(_) => "Gram::cross".into(),
            Remedy::Memory => return f.write_str("the memory limit"),
            Remedy::Precision => "Precision::F32".into(),
            Remedy::Set(name, value) => format!("Plan::set({name:?}, {value:?})"),
            Remedy::Probabilities => "Plan::proba".into(),
            Remedy::Scores => "Model::predict".into(),
            Remedy::Resume => "Checkpoint::resume".into(),
        };
        write!(f, "`{code}`")
    }
}

/// A message for people that keeps its advice as data.
///
/// `Display` and `to_string` phrase it in terms of this library; [`Message::render`] in those of another interface.
///
/// ```
/// use multikernel::data::{ReadOptions, read_from};
/// let text = "age,size,class\n31,7,p\n52,six,q\n";
/// let error = read_from(text.as_bytes(), "people.csv", &ReadOptions::default()).unwrap_err();
/// assert!(error.to_string().ends_with(r#"leave the column out with `ReadOptions::ignore = ["size"]`"#));
/// let other = error.message().render(|remedy| match remedy {
///     multikernel::Remedy::Ignore(names) => format!("the box \"leave out\" beside {}", names.join(", ")),
///     other => other.to_string(),
/// });
/// assert!(other.ends_with(r#"leave the column out with the box "leave out" beside size"#));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message(Vec<Part>);

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Remedy(Remedy),
}

impl Message {
    /// The text, with each remedy phrased by `words`.
    pub fn render(&self, words: impl Fn(&Remedy) -> String) -> String {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Remedy(remedy) => words(remedy),
        };
        self.0.iter().map(part).collect()
    }

    /// The remedies, in order of appearance.
    pub fn remedies(&self) -> impl Iterator<Item = &Remedy> {
        self.0.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Remedy(remedy) => Some(remedy),
        })
    }

    /// Whether the message is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends another text.
    pub(crate) fn push(&mut self, other: impl Into<Message>) {
        self.0.append(&mut other.into().0);
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Remedy::to_string))
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Message(if text.is_empty() { vec![] } else { vec![Part::Text(text)] })
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        text.to_string().into()
    }
}

impl From<Remedy> for Message {
    fn from(remedy: Remedy) -> Self {
        Message(vec![Part::Remedy(remedy)])
    }
}

impl PartialEq<&str> for Message {
    fn eq(&self, other: &&str) -> bool {
        let text: String = self.render(Remedy::to_string);
        text.as_str() == *other
    }
}

/// Joins texts, remedies and messages into one [`Message`].
macro_rules! message {
    ($($part:expr),+ $(,)?) => {{
        let mut message = $crate::error::Message::default();
        $(message.push($part);)+
        message
    }};
}
pub(crate) use message;

/// What went wrong, by the kind of input that caused it.
///
/// ```
/// let error = "gausian(1)".parse::<multikernel::kernel::KernelBank>().unwrap_err();
/// assert!(matches!(error, multikernel::Error::Bank { at: 0, .. }));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be opened, read or written.
    Io {
        /// `read`, `write`, ...
        action: &'static str,
        /// The file.
        path: String,
        /// The operating system's error. Part of the message, so it is not repeated as its source.
        reason: std::io::Error,
    },
    /// A data file has unusable content.
    Data {
        /// Where.
        place: Place,
        /// What was found, what is allowed, what to do.
        message: Message,
    },
    /// A kernel bank text cannot be parsed or does not fit the data; prints the text with a caret under the character.
    Bank {
        /// The whole bank text.
        text: String,
        /// Offset of the offending character, in characters from 0.
        at: usize,
        /// What was found, what is allowed, what to do.
        message: String,
    },
    /// A parameter of a method, or a field of a call, is unknown or out of range.
    Param {
        /// The parameter.
        name: String,
        /// What was found, what is allowed, what to do.
        message: Message,
    },
    /// A model or checkpoint file cannot be used.
    File {
        /// The file.
        path: String,
        /// What was found, what is allowed, what to do.
        message: Message,
    },
    /// Rows, labels or shapes passed to a call do not fit together.
    Input(Message),
    /// The job needs more memory than allowed; nothing was allocated.
    Memory {
        /// The thing to be stored.
        what: String,
        /// Bytes needed.
        need: u64,
        /// Bytes allowed.
        limit: u64,
        /// What to do.
        help: Message,
    },
    /// A matrix that must be positive definite is not.
    NotDefinite {
        /// The first row whose pivot does not exceed rounding error.
        row: usize,
        /// That pivot.
        pivot: f64,
    },
    /// The run was stopped (Ctrl-C, time limit) before anything was learned.
    Stopped(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message().fmt(f)
    }
}

impl std::error::Error for Error {}

impl Error {
    /// The whole text, with the remedies still as data.
    pub fn message(&self) -> Message {
        match self {
            Error::Io { action, path, reason } => format!("cannot {action} {path}: {reason}").into(),
            Error::Data { place, message } => message![format!("{place}: "), message.clone()],
            Error::Bank { text, at, message } => {
                format!("kernels: {message}\n  {text}\n  {:>width$}", "^", width = at + 1).into()
            }
            Error::Param { name, message } => message![format!("parameter {name}: "), message.clone()],
            Error::File { path, message } => message![format!("{path}: "), message.clone()],
            Error::Input(message) => message.clone(),
            Error::Memory { what, need, limit, help } => {
                message![format!("{what} needs {} but {} may be used; ", gib(*need), gib(*limit)), help.clone()]
            }
            Error::NotDefinite { row, pivot } => format!(
                "a matrix that should be positive definite is not: its pivot of row {row} (counted from 0) is {pivot:e}; \
                 every kernel must be positive semi-definite, and something be added to the diagonal of their sum"
            )
            .into(),
            Error::Stopped(message) => message.as_str().into(),
        }
    }

    /// An [`Error::Data`] at a position.
    pub fn data(place: Place, message: impl Into<Message>) -> Self {
        Error::Data { place, message: message.into() }
    }

    /// An [`Error::Param`] about a named parameter.
    pub fn param(name: impl Into<String>, message: impl Into<Message>) -> Self {
        Error::Param { name: name.into(), message: message.into() }
    }

    /// An [`Error::Input`].
    pub fn input(message: impl Into<Message>) -> Self {
        Error::Input(message.into())
    }

    /// An [`Error::Io`]: `action` completes the sentence "cannot ... path".
    pub fn io(action: &'static str, path: impl AsRef<std::path::Path>, reason: std::io::Error) -> Self {
        Error::Io { action, path: path.as_ref().display().to_string(), reason }
    }

    /// An [`Error::File`].
    pub fn file(path: impl AsRef<std::path::Path>, message: impl Into<Message>) -> Self {
        Error::File { path: path.as_ref().display().to_string(), message: message.into() }
    }
}

/// A size in bytes for people: `1.50 GiB`, `12.0 MiB`, `160 bytes`.
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

    /// The lines of code below a folder that contain two dashes and a letter, like command-line flags.
    fn lines_with_flags(folder: &std::path::Path) -> Vec<String> {
        let mut found = vec![];
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                found.extend(lines_with_flags(&entry));
                continue;
            }
            // Style sheets have names that look like flags.
            if entry.extension().is_none_or(|ending| ending != "rs") {
                continue;
            }
            let text = std::fs::read_to_string(&entry).unwrap();
            let is_flag =
                |line: &str| line.split("--").skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()));
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            found.extend(code.filter(|line| is_flag(line)).map(|line| format!("{}: {line}", entry.display())));
        }
        found
    }

    #[test]
    fn no_text_of_the_library_names_a_flag_of_the_command_line() {
        let found = lines_with_flags(std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")));
        assert!(found.is_empty(), "{}", found.join("\n"));
    }

    /// The index of a remedy in [`Remedy::examples`]; a new kind does not compile until it has one.
    fn place(remedy: &Remedy) -> usize {
        match remedy {
            Remedy::Label(_) => 0,
            Remedy::Target(_) => 1,
            Remedy::Id(_) => 2,
            Remedy::Groups(_) => 3,
            Remedy::Ignore(_) => 4,
            Remedy::Kinds(_) => 5,
            Remedy::Header(_) => 6,
            Remedy::Transpose => 7,
            Remedy::DecimalComma => 8,
            Remedy::DecimalPoint => 9,
            Remedy::DropUnlabelled => 10,
            Remedy::LabelsFile => 11,
            Remedy::Gram(_) => 12,
            Remedy::GramDiagonal(_) => 13,
            Remedy::Memory => 14,
            Remedy::Precision => 15,
            Remedy::Set(..) => 16,
            Remedy::Probabilities => 17,
            Remedy::Scores => 18,
            Remedy::Resume => 19,
        }
    }

    #[test]
    fn examples_have_one_remedy_of_each_kind() {
        let examples = Remedy::examples();
        assert_eq!(examples.iter().map(place).collect::<Vec<_>>(), (0..=place(&Remedy::Resume)).collect::<Vec<_>>());
    }

    #[test]
    fn message_keeps_remedies_as_data() {
        let message =
            message!["name it with ", Remedy::Label(None), format!(", {}", 1), message![" or ", Remedy::Transpose]];
        assert_eq!(message, "name it with `ReadOptions::label`, 1 or `ReadOptions::transpose`");
        assert_eq!(message.render(|_| "x".into()), "name it with x, 1 or x");
        assert_eq!(message.remedies().collect::<Vec<_>>(), [&Remedy::Label(None), &Remedy::Transpose]);
    }

    #[test]
    fn place_prints_what_is_known() {
        assert_eq!(Place::column("a.csv", 3, 7).to_string(), "a.csv:3:7");
        assert_eq!(Place::line("a.csv", 3).to_string(), "a.csv:3");
        assert_eq!(Place::file("a.csv").to_string(), "a.csv");
    }
}
