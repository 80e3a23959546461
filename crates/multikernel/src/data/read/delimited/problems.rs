//! Everything wrong with a table, in one message.

use super::column::{Kind, Problem};
use crate::data::read::numbers::is_readable;
use crate::data::table::words::{not_finite, quoted};
use crate::error::{Error, Message, Place, Remedy, message};

/// At most this many columns are listed one by one.
const MAX_COLUMNS: usize = 20;

/// The problems of a table.
#[derive(Debug, Default)]
pub(super) struct Problems {
    pub(super) columns: Vec<Problem>,
    /// File positions of columns that are named like ids but have repeated values.
    pub(super) repeating: Vec<usize>,
    pub(super) labels: Option<MissingLabel>,
    /// The position of the first row without any value, and the number of such rows.
    pub(super) empty: Option<(Place, usize)>,
}

/// Missing labels.
#[derive(Debug)]
pub(in crate::data) struct MissingLabel {
    /// The position of the first, and its text.
    pub(in crate::data) place: Place,
    pub(in crate::data) text: String,
    pub(in crate::data) n: usize,
}

/// The context for advice in messages.
pub(super) struct Advice<'a> {
    pub(super) file: &'a str,
    pub(super) n_rows: usize,
    /// Whether the first line was declared to hold no names.
    pub(super) is_bare: bool,
    /// The line of the first row.
    pub(super) first_line: u64,
    /// The assumption made about the file, and how to override it.
    pub(super) guess: Option<&'a Message>,
    /// Whether the file has column names to refer to.
    pub(super) has_names: bool,
    /// Whether rows may be left out.
    pub(super) can_drop: bool,
    /// Whether the columns belong to a model, and so cannot be left out.
    pub(super) is_new: bool,
    /// Whether the rows have ids already.
    pub(super) has_ids: bool,
    /// How many columns would be features.
    pub(super) n_features: usize,
    /// Whether samples are columns of the file.
    pub(super) columns_of_rows: bool,
    /// The columns already left out.
    pub(super) ignored: &'a [String],
}

impl Problems {
    /// One error for all of them; `None` if there are none.
    pub(super) fn into_error(self, advice: &Advice<'_>) -> Option<Error> {
        let mut parts: Vec<(Place, Message)> = vec![];
        if !self.columns.is_empty() {
            parts.push((advice.place(&self.columns), self.of_columns(advice)));
        }
        let drop = if advice.can_drop {
            message![", or leave such rows out with ", Remedy::DropUnlabelled]
        } else {
            Message::default()
        };
        if let Some(MissingLabel { place, text, n }) = &self.labels {
            let found = if text.is_empty() { String::new() } else { format!(" ({})", quoted(text)) };
            let also = and_in_more(*n);
            let missing = format!("the label is missing{found}{also}; fill it in");
            parts.push((place.clone(), message![missing, drop.clone()]));
        }
        if let Some((place, n)) = &self.empty {
            let also = and_in_more(*n);
            let or = if advice.can_drop { "" } else { "or " };
            let empty = format!("the row has no value at all{also}; remove it, {or}fill values in");
            parts.push((place.clone(), message![empty, drop]));
        }
        let mut parts = parts.into_iter();
        let (place, mut message): (Place, Message) = parts.next()?;
        for (place, other) in parts {
            message = message![message, format!("\n  also {place}: "), other];
        }
        Some(Error::data(place, message))
    }

    fn of_columns(&self, advice: &Advice<'_>) -> Message {
        let ignore = || self.ignore(advice);
        // A line of names mistaken for a row is wrong in all of its cells.
        let is_header = advice.is_bare && self.columns.iter().all(|column| column.line == advice.first_line);
        let turned = self.turned(advice);
        let guess = if is_header || !turned.is_empty() { Message::default() } else { self.guess(advice) };
        if let Some(only) = self.columns.first().filter(|_| is_header || self.columns.len() == 1) {
            let more = match only.n {
                2 if !is_header => ", like 1 more cell of it".to_string(),
                n if n > 2 && !is_header => format!(", like {} more cells of it", n - 1),
                _ => String::new(),
            };
            let act = match only.kind {
                Kind::Ambiguous => message!["say ", Remedy::DecimalComma, " or ", Remedy::DecimalPoint],
                Kind::DayOrMonth => {
                    let say = |order| Remedy::Kinds(Some((advice.position_or_name(only), order)));
                    message!["say ", say("date(dmy)"), " or ", say("date(mdy)")]
                }
                Kind::NoLevel if !advice.is_new => {
                    let say = Remedy::Kinds(Some((advice.position_or_name(only), "ordered(LOW<...<HIGH)")));
                    message!["name all levels, the lowest first, with ", say]
                }
                Kind::NoDate | Kind::NoSequence if !advice.is_new => {
                    let say = Remedy::Kinds(Some((advice.position_or_name(only), "category")));
                    message!["correct it, or say ", say]
                }
                _ if is_header => "is the first line a header?".into(),
                _ if advice.is_new => "correct it".into(),
                _ if advice.n_features == 1 => self.mend(advice, "correct it").into(),
                _ => message![self.mend(advice, "correct it"), ", or leave the column out with ", ignore()],
            };
            let what = self.what(only, advice);
            let column = quoted(&only.name);
            let text = quoted(&only.text);
            return message![format!("{text} in column {column} {}{more}; ", why(only)), act, what, guess];
        }
        let n = self.columns.len();
        let mend = self.mend(advice, "correct them");
        let act = match () {
            () if advice.is_new => "correct them".into(),
            () if n == advice.n_features => mend.into(),
            () => message![mend, ", or leave them out with ", ignore()],
        };
        let most = if turned.is_empty() { MAX_COLUMNS } else { 3 };
        let mut message = message![format!("{n} columns have cells that are not numbers; "), turned, act, guess];
        for column in self.columns.iter().take(most) {
            let detail = match column.kind {
                Kind::Word { .. } => Message::default(),
                Kind::NoDate | Kind::NoLevel | Kind::NoSequence | Kind::DayOrMonth => {
                    format!(": it {}", why(column)).into()
                }
                Kind::Mixed => format!(": it {}", why(column)).into(),
                Kind::Ambiguous => message![
                    format!(": it {} (say ", why(column)),
                    Remedy::DecimalComma,
                    " or ",
                    Remedy::DecimalPoint,
                    ")"
                ],
            };
            let (name, text, line) = (quoted(&column.name), quoted(&column.text), column.line);
            let cells = format!("{} of {} cells", column.n, advice.n_rows);
            let found = format!("\n  {name}: {text} in line {line}, {cells}");
            message = message![message, found, detail, self.what(column, advice)];
        }
        if n > most {
            message.push(format!("\n  and {} more columns", n - most));
        }
        message
    }

    /// What to do about the cells: a column of words holds categories, other cells are to be corrected.
    fn mend<'b>(&self, advice: &Advice<'_>, correct: &'b str) -> &'b str {
        let is_words = |column: &&Problem| {
            matches!(column.kind, Kind::Word { .. })
                && 2 * column.n > advice.n_rows
                && !self.repeating.contains(&column.at)
        };
        let n = self.columns.iter().filter(is_words).count();
        let is_new_or_short = advice.is_new || advice.n_rows <= 2;
        if 2 * n < self.columns.len() || is_new_or_short || !self.turned(advice).is_empty() {
            return correct;
        }
        "correct the cells, or say that they are categories"
    }

    /// The advice to transpose, if samples appear to be columns: nearly all columns are numeric except for the same
    /// line or two, or there are far more of them than rows, and the rows are named by text.
    fn turned(&self, advice: &Advice<'_>) -> Message {
        let (n, n_rows, n_features) = (self.columns.len(), advice.n_rows, advice.n_features);
        let is_name = |column: &&Problem| column.at == 0 && column.kind == Kind::Word { all_differ: true };
        let has_names = advice.has_ids || self.columns.iter().any(|column| is_name(&column));
        if advice.columns_of_rows || advice.is_new || n_rows <= 2 || n <= 2 || !has_names {
            return Message::default();
        }
        let line = self.columns[n / 2].line;
        let is_alike = |column: &&Problem| column.line == line && column.n <= 2 && column.n < n_rows;
        let n_alike = self.columns.iter().filter(is_alike).count();
        if 10 * n_alike >= 9 * n_features {
            let line = format!("nearly all are in line {line}: if samples are in columns, say ");
            return message![line, Remedy::Transpose, "; else "];
        }
        if n_features > 3 * n_rows && 2 * n > n_features {
            return message!["if samples are in columns, say ", Remedy::Transpose, "; else "];
        }
        Message::default()
    }

    /// What else a column of text may be.
    fn what(&self, column: &Problem, advice: &Advice<'_>) -> Message {
        let named = || Some(advice.position_or_name(column));
        match column.kind {
            _ if advice.is_new => Message::default(),
            _ if self.repeating.contains(&column.at) => {
                message![
                    " (it looks like an id column, but its values repeat or are missing: ",
                    Remedy::Groups(named()),
                    " keeps rows of one id together)"
                ]
            }
            Kind::Word { all_differ: true } if advice.n_rows > 2 && !advice.has_ids => {
                message![" (all different: if they are ids, say ", Remedy::Id(named()), ")"]
            }
            _ => Message::default(),
        }
    }

    /// The guess made about the file, which is the likely cause if its very first row does not fit.
    fn guess(&self, advice: &Advice<'_>) -> Message {
        let is_first = self.columns.iter().any(|column| column.line == advice.first_line);
        let guess = advice.guess.filter(|_| is_first);
        let guess = guess.map_or(Message::default(), |guess| message![" (", guess.clone(), ")"]);
        match self.columns.len() == advice.n_features && !advice.is_new && advice.n_rows > 2 {
            true => message!["; no column is left without them", guess],
            false => guess,
        }
    }

    /// The columns to leave out, together with those already left out.
    fn ignore(&self, advice: &Advice<'_>) -> Remedy {
        let columns = self.columns.iter().map(|column| advice.position_or_name(column));
        Remedy::Ignore(advice.ignored.iter().cloned().chain(columns).collect())
    }
}

/// The error for missing labels in a labels file.
pub(in crate::data) fn labels_missing(file: &str, labels: MissingLabel) -> Error {
    let place = Place::file(file);
    let advice = Advice {
        file,
        n_rows: 0,
        is_bare: false,
        first_line: 0,
        guess: None,
        has_names: false,
        can_drop: true,
        is_new: false,
        has_ids: true,
        n_features: 0,
        columns_of_rows: false,
        ignored: &[],
    };
    let problems = Problems { labels: Some(labels), ..Problems::default() };
    problems.into_error(&advice).unwrap_or_else(|| Error::data(place, "the label is missing"))
}

impl Advice<'_> {
    /// The first wrong cell: the topmost, then the leftmost.
    fn place(&self, columns: &[Problem]) -> Place {
        let first = columns.iter().min_by_key(|column| (column.line, column.at));
        first.map_or(Place::file(self.file), |first| match self.columns_of_rows {
            true => Place::line(self.file, first.line),
            false => Place::column(self.file, first.line, first.at as u64 + 1),
        })
    }

    /// A column as options take it in a list: its name, or its position if the name would not survive.
    fn position_or_name(&self, column: &Problem) -> String {
        let name = &column.name;
        let passes = self.has_names && !name.is_empty() && !name.contains([',', '"', '$', '`', '\\', '!', '\n']);
        if passes { name.clone() } else { column.at.to_string() }
    }
}

fn why(column: &Problem) -> &'static str {
    match column.kind {
        Kind::NoDate => "is no date, though others of its column are",
        Kind::DayOrMonth => "may have the day first or the month, and no other cell says which",
        Kind::NoLevel => "has no known place in the order of its column's levels",
        Kind::NoSequence => "is no sequence of letters",
        Kind::Ambiguous => "has a comma that may mark decimals or thousands, and no other cell says which",
        Kind::Mixed if is_readable(&column.text) => "is not written as the other numbers of its column or file are",
        _ => not_finite(&column.text),
    }
}

/// The number of further rows after the first.
fn and_in_more(n: usize) -> String {
    match n {
        0 | 1 => String::new(),
        2 => " (and in 1 more row)".into(),
        _ => format!(" (and in {} more rows)", n - 1),
    }
}
