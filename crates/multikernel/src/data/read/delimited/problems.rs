//! All that is wrong with a table, in one message.

use super::column::{Kind, Problem};
use crate::data::read::numbers::is_readable;
use crate::data::table::words::{not_finite, quoted, shell_word};
use crate::error::{Error, Place};

/// So many columns are told one by one.
const MAX_COLUMNS: usize = 20;

/// A longer list is no use.
const LONGEST_LIST: usize = 300;

/// What is wrong with a table.
#[derive(Debug, Default)]
pub(super) struct Problems {
    pub(super) columns: Vec<Problem>,
    /// Places in the file of columns that are called like ids but whose values repeat.
    pub(super) repeating: Vec<usize>,
    pub(super) labels: Option<MissingLabel>,
    /// Where the first row without any value is, and how many there are.
    pub(super) empty: Option<(Place, usize)>,
}

/// Labels that are missing.
#[derive(Debug)]
pub(in crate::data) struct MissingLabel {
    /// Where the first is, and what stands there.
    pub(in crate::data) place: Place,
    pub(in crate::data) text: String,
    pub(in crate::data) n: usize,
}

/// How the messages may advise.
pub(super) struct Advice<'a> {
    pub(super) file: &'a str,
    pub(super) n_rows: usize,
    /// Whether a first line was said to hold no names.
    pub(super) is_bare: bool,
    /// The line of the first row.
    pub(super) first_line: u64,
    /// What was taken for granted about the file, and how to say otherwise.
    pub(super) guess: Option<&'a str>,
    /// Whether the file has names, by which columns are called.
    pub(super) has_names: bool,
    /// Whether rows can be left out with `--missing-labels drop`.
    pub(super) can_drop: bool,
    /// Whether columns are those of a model, and cannot be left out.
    pub(super) is_new: bool,
    /// Whether the rows have ids already.
    pub(super) has_ids: bool,
    /// How many columns are to be features.
    pub(super) n_features: usize,
    /// Whether samples are in columns of the file.
    pub(super) columns_of_rows: bool,
    /// The columns that are left out already.
    pub(super) ignored: &'a [String],
}

impl Problems {
    /// The one error for all of them; `None` where there are none.
    pub(super) fn into_error(self, advice: &Advice<'_>) -> Option<Error> {
        let mut parts: Vec<(Place, String)> = vec![];
        if !self.columns.is_empty() {
            parts.push((advice.place(&self.columns), self.of_columns(advice)));
        }
        let drop = if advice.can_drop { ", or leave such rows out with --missing-labels drop" } else { "" };
        if let Some(MissingLabel { place, text, n }) = &self.labels {
            let found = if text.is_empty() { String::new() } else { format!(" ({})", quoted(text)) };
            let also = and_in_more(*n);
            parts.push((place.clone(), format!("the label is missing{found}{also}; fill it in{drop}")));
        }
        if let Some((place, n)) = &self.empty {
            let also = and_in_more(*n);
            let or = if advice.can_drop { "" } else { "or " };
            let act = format!("remove it, {or}fill values in{drop}");
            parts.push((place.clone(), format!("the row has no value at all{also}; {act}")));
        }
        let mut parts = parts.into_iter();
        let (place, mut message) = parts.next()?;
        for (place, other) in parts {
            message += &format!("\n  also {place}: {other}");
        }
        Some(Error::data(place, message))
    }

    fn of_columns(&self, advice: &Advice<'_>) -> String {
        let ignore = format!("--ignore {}", self.pasted(advice));
        // A first line of names taken for a row is wrong in all of its cells.
        let is_header = advice.is_bare && self.columns.iter().all(|column| column.line == advice.first_line);
        let turned = self.turned(advice);
        let guess = if is_header || !turned.is_empty() { String::new() } else { self.guess(advice) };
        if let Some(only) = self.columns.first().filter(|_| is_header || self.columns.len() == 1) {
            let more = match only.n {
                2 if !is_header => ", like 1 more cell of it".to_string(),
                n if n > 2 && !is_header => format!(", like {} more cells of it", n - 1),
                _ => String::new(),
            };
            let act = match only.kind {
                Kind::Ambiguous => "say --decimal comma or --decimal point".to_string(),
                _ if is_header => "is the first line a header?".to_string(),
                _ if advice.is_new => "correct it".to_string(),
                _ if advice.n_features == 1 => self.mend(advice, "correct it").to_string(),
                _ => format!("{}, or leave the column out with {ignore}", self.mend(advice, "correct it")),
            };
            let what = self.what(only, advice);
            let column = quoted(&only.name);
            let text = quoted(&only.text);
            return format!("{text} in column {column} {}{more}; {act}{what}{guess}", why(only));
        }
        let n = self.columns.len();
        let mend = self.mend(advice, "correct them");
        let act = match () {
            () if advice.is_new => "correct them".to_string(),
            () if n == advice.n_features => mend.to_string(),
            () => format!("{mend}, or leave them out with {ignore}"),
        };
        let mut message = format!("{n} columns have cells that are not numbers; {turned}{act}{guess}");
        let most = if turned.is_empty() { MAX_COLUMNS } else { 3 };
        for column in self.columns.iter().take(most) {
            let detail = match column.kind {
                Kind::Word { .. } => String::new(),
                Kind::StreamModel => format!(": it {}", why(column)),
                Kind::Ambiguous => format!(": it {} (say --decimal comma or point)", why(column)),
            };
            let (name, text, line) = (quoted(&column.name), quoted(&column.text), column.line);
            let cells = format!("{} of {} cells", column.n, advice.n_rows);
            message += &format!("\n  {name}: {text} in line {line}, {cells}{detail}{}", self.what(column, advice));
        }
        if n > most {
            message += &format!("\n  and {} more columns", n - most);
        }
        message
    }

    /// What to do with the cells: those of a column of words are categories, others are to be corrected.
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
        "write categories as one column of 0/1 for each value (one-hot)"
    }

    /// The advice to turn the table, where it looks as if samples were in columns: nearly all columns are numbers but for the
    /// same line or two, or there are far more of them than rows, and texts name the rows.
    fn turned(&self, advice: &Advice<'_>) -> String {
        let (n, n_rows, n_features) = (self.columns.len(), advice.n_rows, advice.n_features);
        let is_name = |column: &&Problem| column.at == 0 && column.kind == Kind::Word { all_differ: true };
        let has_names = advice.has_ids || self.columns.iter().any(|column| is_name(&column));
        if advice.columns_of_rows || advice.is_new || n_rows <= 2 || n <= 2 || !has_names {
            return String::new();
        }
        let line = self.columns[n / 2].line;
        let is_alike = |column: &&Problem| column.line == line && column.n <= 2 && column.n < n_rows;
        let n_alike = self.columns.iter().filter(is_alike).count();
        if 10 * n_alike >= 9 * n_features {
            return format!("nearly all are in line {line}: if samples are in columns, say --transpose; else ");
        }
        if n_features > 3 * n_rows && 2 * n > n_features {
            return "if samples are in columns, say --transpose; else ".into();
        }
        String::new()
    }

    /// What a column that holds texts may be besides.
    fn what(&self, column: &Problem, advice: &Advice<'_>) -> String {
        let named = advice.called(column);
        match column.kind {
            _ if advice.is_new => String::new(),
            _ if self.repeating.contains(&column.at) => {
                format!(
                    " (it looks like an id column, but its values repeat or are missing: --groups {named} keeps rows of one id together)"
                )
            }
            Kind::Word { all_differ: true } if advice.n_rows > 2 && !advice.has_ids => {
                format!(" (all different: if they are ids, say --id {named})")
            }
            _ => String::new(),
        }
    }

    /// What was guessed about the file, which is the likely cause where its very first row does not fit.
    fn guess(&self, advice: &Advice<'_>) -> String {
        let is_first = self.columns.iter().any(|column| column.line == advice.first_line);
        let guess = advice.guess.filter(|_| is_first).map_or(String::new(), |guess| format!(" ({guess})"));
        match self.columns.len() == advice.n_features && !advice.is_new && advice.n_rows > 2 {
            true => {
                format!(
                    "; no column of numbers is left without them, and multikernel reads no texts and categories yet{guess}"
                )
            }
            false => guess,
        }
    }

    /// The columns to leave out, as a shell takes them.
    fn pasted(&self, advice: &Advice<'_>) -> String {
        let (mut list, mut rest) = (String::new(), 0);
        let given =
            advice.ignored.iter().map(|name| if name.contains(',') { format!("\"{name}\"") } else { name.clone() });
        for word in given.chain(self.columns.iter().map(|column| advice.position_or_name(column))) {
            if list.len() + word.len() > LONGEST_LIST {
                rest += 1;
                continue;
            }
            list += if list.is_empty() { "" } else { "," };
            list += &word;
        }
        let more = if rest > 0 { format!(" (and {rest} more)") } else { String::new() };
        shell_word(&list) + &more
    }
}

/// The error for labels that are missing in a file of labels.
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
    /// The first cell that is wrong: the topmost, then the leftmost.
    fn place(&self, columns: &[Problem]) -> Place {
        let first = columns.iter().min_by_key(|column| (column.line, column.at));
        first.map_or(Place::file(self.file), |first| match self.columns_of_rows {
            true => Place::line(self.file, first.line),
            false => Place::column(self.file, first.line, first.at as u64 + 1),
        })
    }

    /// A column as options take it in a list: its name, or its position where the name would not come through.
    fn position_or_name(&self, column: &Problem) -> String {
        let name = &column.name;
        let passes = self.has_names && !name.is_empty() && !name.contains([',', '"', '$', '`', '\\', '!', '\n']);
        if passes { name.clone() } else { column.at.to_string() }
    }

    fn called(&self, column: &Problem) -> String {
        shell_word(&self.position_or_name(column))
    }
}

fn why(column: &Problem) -> &'static str {
    match column.kind {
        Kind::Ambiguous => "has a comma that may mark decimals or thousands, and no other cell says which",
        Kind::StreamModel if is_readable(&column.text) => {
            "is not written as the other numbers of its column or file are"
        }
        _ => not_finite(&column.text),
    }
}

/// In how many rows besides the first.
fn and_in_more(n: usize) -> String {
    match n {
        0 | 1 => String::new(),
        2 => " (and in 1 more row)".into(),
        _ => format!(" (and in {} more rows)", n - 1),
    }
}
