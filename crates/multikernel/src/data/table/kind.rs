//! What a column of a table holds: numbers, categories, texts, sequences.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::closest::closest;
use crate::error::{Error, Result};

/// What a column holds, which decides the kernels that suit it.
///
/// Readers find it from the cells; [`ReadOptions::kinds`](crate::data::ReadOptions::kinds) corrects them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Numbers.
    #[default]
    Number,
    /// Two words for 1 and 0, such as yes and no: the numbers 1 and 0.
    YesNo,
    /// One of some levels, without an order.
    Category,
    /// One of some levels in an order: the numbers 0, 1, 2, ...
    Ordered,
    /// A date, or a date and time: days since 1970-01-01.
    Date,
    /// Free text.
    Text,
    /// Letters of DNA, RNA or a protein.
    Sequence,
}

impl Kind {
    /// All kinds, in the order messages list them.
    pub const ALL: [Kind; 7] =
        [Kind::Number, Kind::YesNo, Kind::Category, Kind::Ordered, Kind::Date, Kind::Text, Kind::Sequence];

    /// The word used by the command line and in files.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Number => "number",
            Kind::YesNo => "yesno",
            Kind::Category => "category",
            Kind::Ordered => "ordered",
            Kind::Date => "date",
            Kind::Text => "text",
            Kind::Sequence => "sequence",
        }
    }

    /// The word for all columns of a kind in a bank of kernels: `gaussian(1) on numbers`.
    pub fn plural(self) -> &'static str {
        match self {
            Kind::Number | Kind::YesNo | Kind::Ordered | Kind::Date => "numbers",
            Kind::Category => "categories",
            Kind::Text => "texts",
            Kind::Sequence => "sequences",
        }
    }

    /// Whether the cells are kept as texts, from which features are learned.
    pub fn is_text(self) -> bool {
        matches!(self, Kind::Category | Kind::Ordered | Kind::Text | Kind::Sequence)
    }

    /// Whether the values of a column are positions among its texts, rather than numbers.
    pub(crate) fn keeps_texts(self) -> bool {
        matches!(self, Kind::Category | Kind::Text | Kind::Sequence)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Kind {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.word() == text) {
            return Ok(kind);
        }
        let words = Kind::ALL.map(Kind::word);
        let near = closest(text, words).map_or(String::new(), |near| format!("; did you mean {near}?"));
        Err(Error::param("kinds", format!("must be one of {}, got `{text}`{near}", words.join(", "))))
    }
}

/// A kind with what was said about it.
///
/// ```
/// use multikernel::data::{Kind, ToldKind};
/// let told: ToldKind = "ordered(low<mid<high)".parse()?;
/// assert_eq!((told.kind, told.words.len()), (Kind::Ordered, 3));
/// assert_eq!(told.to_string(), "ordered(low<mid<high)");
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToldKind {
    /// The kind.
    pub kind: Kind,
    /// The levels of an ordered column, the lowest first, or the one word that says how dates are written (`ymd`,
    /// `dmy`, `mdy`); empty where the cells decide.
    pub words: Vec<String>,
}

impl From<Kind> for ToldKind {
    fn from(kind: Kind) -> Self {
        ToldKind { kind, words: vec![] }
    }
}

impl fmt::Display for ToldKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.words.is_empty() {
            true => write!(f, "{}", self.kind),
            false => write!(f, "{}({})", self.kind, self.words.join("<")),
        }
    }
}

impl FromStr for ToldKind {
    type Err = Error;

    /// A kind, `ordered(low<mid<high)`, or `date(dmy)`.
    fn from_str(text: &str) -> Result<Self> {
        let Some((kind, rest)) = text.split_once('(') else { return Ok(text.parse::<Kind>()?.into()) };
        let kind: Kind = kind.trim().parse()?;
        let inside = rest.strip_suffix(')').ok_or_else(|| {
            Error::param("kinds", format!("`{text}` lacks its closing parenthesis; write {kind}(...)"))
        })?;
        let words: Vec<String> = inside.split('<').map(|word| word.trim().to_string()).collect();
        let fault = match kind {
            Kind::Ordered if words.iter().any(String::is_empty) => "has a blank level; write ordered(low<mid<high)",
            Kind::Ordered if (1..words.len()).any(|k| words[..k].contains(&words[k])) => {
                "names a level twice; write each once, the lowest first"
            }
            Kind::Date if words.len() != 1 || !["ymd", "dmy", "mdy"].contains(&words[0].as_str()) => {
                "must be date(ymd), date(dmy) or date(mdy)"
            }
            Kind::Ordered | Kind::Date => return Ok(ToldKind { kind, words }),
            _ => "takes nothing in parentheses; only ordered(...) and date(...) do",
        };
        Err(Error::param("kinds", format!("`{text}` {fault}")))
    }
}

/// A column of a table that is not all numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Coding {
    pub(crate) told: ToldKind,
    /// The distinct texts of the column, which its values are positions in; empty for kinds that are numbers.
    pub(crate) texts: Arc<Vec<String>>,
}

impl Coding {
    pub(crate) fn kind(&self) -> Kind {
        self.told.kind
    }

    /// The text of a value; `None` where it is missing.
    pub(crate) fn text(&self, value: f64) -> Option<&str> {
        if value.is_nan() { None } else { self.texts.get(value as usize).map(String::as_str) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn told_kinds_print_as_they_are_read_and_faults_are_named() {
        for text in
            ["number", "yesno", "category", "ordered", "date", "text", "sequence", "date(dmy)", "ordered(a<b c)"]
        {
            assert_eq!(text.parse::<ToldKind>().unwrap().to_string(), text);
        }
        for (text, part) in [
            ("numbr", "did you mean number?"),
            ("ordered(a<b", "closing parenthesis"),
            ("ordered(a<<b)", "blank level"),
            ("ordered(a<b<a)", "twice"),
            ("date(ydm)", "date(ymd), date(dmy)"),
            ("text(a)", "takes nothing"),
        ] {
            let message = text.parse::<ToldKind>().unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
