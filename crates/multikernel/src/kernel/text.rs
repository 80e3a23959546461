//! Building blocks of bank texts: positions, errors, and the printing of numbers and names.

use std::fmt;

use crate::error::Error;

/// An error message and the character of the text it refers to.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) at: usize,
    pub(super) message: String,
}

impl Fault {
    pub(super) fn new(at: impl Into<usize>, message: impl Into<String>) -> Self {
        Fault { at: at.into(), message: message.into() }
    }

    pub(super) fn within(self, text: &str) -> Error {
        Error::Bank { text: text.to_string(), at: self.at, message: self.message }
    }
}

/// The result of a parsing or resolving step.
pub(super) type Parsed<T> = std::result::Result<T, Fault>;

/// The position of a part in the text. Always compares equal: two banks are the same whatever their spacing.
#[derive(Clone, Copy, Debug)]
pub(super) struct At(pub(super) usize);

impl PartialEq for At {
    fn eq(&self, _: &At) -> bool {
        true
    }
}

impl From<At> for usize {
    fn from(at: At) -> usize {
        at.0
    }
}

/// The shortest decimal that reads back as the same number; scientific where plain digits would be long.
pub(super) struct Decimal(pub(super) f64);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        if self.0 == 0.0 || (1e-5..1e16).contains(&size) || !size.is_finite() {
            write!(f, "{}", self.0)
        } else {
            write!(f, "{:e}", self.0)
        }
    }
}

/// Whether a character may appear in an unquoted name.
pub(super) fn is_bare(c: char) -> bool {
    !c.is_whitespace() && !matches!(c, ',' | ':' | '"' | '[' | ']')
}

/// A view or column name, quoted if it would not parse back bare.
pub(super) struct Name<'a>(pub(super) &'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bare = self.0.chars().all(is_bare) && !self.0.bytes().all(|b| b.is_ascii_digit());
        if bare { f.write_str(self.0) } else { write!(f, "\"{}\"", self.0.replace('"', "\"\"")) }
    }
}

/// A name in parentheses, quoted if it contains a parenthesis itself.
pub(super) struct Enclosed<'a>(pub(super) &'a str);

impl fmt::Display for Enclosed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bare = !self.0.is_empty() && self.0.chars().all(|c| is_bare(c) && !matches!(c, '(' | ')'));
        if bare { write!(f, "({})", self.0) } else { write!(f, "(\"{}\")", self.0.replace('"', "\"\"")) }
    }
}

/// A column name as banks write it: in double quotes, unless it is a plain word.
///
/// ```
/// assert_eq!(multikernel::kernel::quoted_name("age"), "age");
/// assert_eq!(multikernel::kernel::quoted_name("Body Mass (g)"), "\"Body Mass (g)\"");
/// ```
pub fn quoted_name(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_word = name.chars().all(is_plain) && name.chars().any(|c| !c.is_ascii_digit());
    if is_word { name.to_string() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}
