//! A column of delimited text while it is read: its number format is known only after its last cell.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::data::read::kinds::{Guess, Interned, guess};
use crate::data::read::numbers::{Decimal, Truth, before_percent, is_mark, is_maybe_thousands, is_readable};
use crate::data::table;
use crate::data::table::words::{finite, is_missing, is_none};

/// Longer texts are not ids.
const LONG: usize = 200;

/// How the plain numbers of a column use the point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Points {
    #[default]
    None,
    /// All of them may be thousands separators, such as `1.234`.
    Thousands,
    /// They are decimal points.
    Decimal,
}

/// A cell that is neither a plain number nor missing.
#[derive(Debug)]
struct Cell {
    row: usize,
    line: u64,
    text: Box<str>,
}

/// The cells of a column that are neither plain numbers nor missing.
#[derive(Debug)]
struct Odd {
    /// Their texts, while they may be numbers.
    cells: Vec<Cell>,
    /// Their texts, once one of them is no number in any format.
    words: Words,
    n: usize,
    /// How many are marks that may stand for a missing value.
    n_marks: usize,
    /// How many are neither marks nor numbers in any format.
    n_bad: usize,
    /// The line and text of the first that is not a number in any format.
    first_bad: Option<(u64, String)>,
    /// Hashes of the texts, while they all differ.
    seen: Option<HashSet<u64>>,
    /// Whether all are text, none a number in any format.
    is_text: bool,
    /// Whether one is a number that is not finite: no text, but a mistake.
    has_infinite: bool,
    /// Rows and values, while all cells belong to one pair of words for 1 and 0.
    truths: Option<Vec<(usize, f64)>>,
    truth: Option<Truth>,
}

/// The texts of a column, as positions among those that differ.
#[derive(Debug, Default)]
pub(super) struct Words {
    pub(super) interned: Interned,
    /// Row and position of each cell.
    pub(super) codes: Vec<(usize, usize)>,
    /// The line on which each text comes first.
    pub(super) lines: Vec<u64>,
}

impl Words {
    /// Takes a cell; returns how many bytes of it are kept.
    pub(super) fn add(&mut self, row: usize, line: u64, text: &str) -> usize {
        let code = self.interned.code(text);
        self.codes.push((row, code));
        if code < self.lines.len() {
            return size_of::<(usize, usize)>();
        }
        self.lines.push(line);
        size_of::<(usize, usize)>() + 2 * (text.len() + 40)
    }
}

/// A row counter that the column may turn out to be.
#[derive(Debug)]
struct Count {
    next: Option<f64>,
    /// As written in the file.
    texts: Vec<String>,
}

/// The state of a column that may be a feature.
#[derive(Debug)]
pub(super) struct Column {
    /// Its position in the file.
    pub(super) at: usize,
    pub(super) name: String,
    /// How many values are missing.
    pub(super) n_missing: usize,
    /// Row, line and text of those that are the word `None`, which is a word among words.
    nones: Vec<(usize, u64, Box<str>)>,
    points: Points,
    /// Rows of plain numbers such as `1.000`, whose value does not reveal the point.
    round: Vec<usize>,
    is_whole: bool,
    count: Option<Count>,
    odd: Option<Box<Odd>>,
}

/// A cell that cannot be read as a number.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    /// The position of the column in the file, its name, and the line and text of the cell.
    pub(super) at: usize,
    pub(super) name: String,
    pub(super) line: u64,
    pub(super) text: String,
    /// How many cells of the column have the same problem.
    pub(super) n: usize,
    pub(super) kind: Kind,
}

/// Why a cell is not a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::data::read) enum Kind {
    /// It is not a number in any format; whether all cells of the column are distinct texts.
    Word { all_differ: bool },
    /// The other cells of its column are dates.
    NoDate,
    /// Day and month may be either.
    DayOrMonth,
    /// It is no level of an ordered column, or the order of the levels is unknown.
    NoLevel,
    /// It is no letter sequence.
    NoSequence,
    /// Its format differs from that of the other cells.
    Mixed,
    /// Its comma may be a decimal or a thousands separator, and nothing decides which.
    Ambiguous,
}

/// The formats in which the odd cells of a column can be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    comma: bool,
    point: bool,
    /// Whether the two formats give different numbers.
    differ: bool,
    percent: bool,
}

/// The outcome for a column of numbers in another format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Written {
    pub(in crate::data::read) comma: bool,
    pub(in crate::data::read) thousands: bool,
    pub(in crate::data::read) percent: bool,
    pub(in crate::data::read) marks: bool,
    /// The words that were read as 1 and 0.
    pub(super) truth: Option<Truth>,
}

impl Odd {
    fn new() -> Self {
        let (seen, truths) = (Some(HashSet::new()), Some(vec![]));
        Odd {
            cells: vec![],
            words: Words::default(),
            n: 0,
            n_marks: 0,
            n_bad: 0,
            first_bad: None,
            seen,
            is_text: true,
            has_infinite: false,
            truths,
            truth: None,
        }
    }

    /// Takes a cell; returns how many bytes of it are kept.
    fn add(&mut self, text: &str, row: usize, line: u64) -> usize {
        self.n += 1;
        let (mark, readable) = (is_mark(text), is_readable(text));
        self.n_marks += usize::from(mark);
        self.n_bad += usize::from(!mark && !readable);
        self.is_text &= !mark && !readable && text.len() <= LONG;
        self.has_infinite |= !readable && text.parse::<f64>().is_ok();
        if !mark && !readable && self.first_bad.is_none() {
            self.first_bad = Some((line, text.to_string()));
        }
        if let Some(seen) = &mut self.seen {
            let mut hasher = DefaultHasher::new();
            text.hash(&mut hasher);
            if !seen.insert(hasher.finish()) || text.len() > LONG {
                self.seen = None;
            }
        }
        let truths = self.add_truth(text, row);
        if self.first_bad.is_some() {
            self.move_cells();
            return self.words.add(row, line, text) + truths;
        }
        self.cells.push(Cell { row, line, text: text.into() });
        size_of::<Cell>() + text.len() + 16 + truths
    }

    /// Cells that were kept as numbers become texts.
    fn move_cells(&mut self) {
        for cell in std::mem::take(&mut self.cells) {
            self.words.add(cell.row, cell.line, &cell.text);
        }
    }

    /// Takes a cell of a column that may consist of two words; returns how many bytes of it are kept.
    fn add_truth(&mut self, text: &str, row: usize) -> usize {
        let Some(truths) = &mut self.truths else { return 0 };
        match Truth::parse(text).filter(|(pair, _)| self.truth.is_none_or(|before| before == *pair)) {
            Some((pair, value)) => {
                self.truth = Some(pair);
                truths.push((row, value));
                size_of::<(usize, f64)>()
            }
            None => {
                self.truths = None;
                0
            }
        }
    }
}

impl Column {
    /// An empty column; `counts` if it may turn out to count the rows.
    pub(super) fn new(at: usize, name: String, counts: bool) -> Self {
        Column {
            at,
            name,
            n_missing: 0,
            nones: vec![],
            points: Points::None,
            round: vec![],
            is_whole: true,
            count: counts.then(|| Count { next: None, texts: vec![] }),
            odd: None,
        }
    }

    /// The value of a cell, NaN until the end if it is not a plain number. Adds the bytes kept besides to `bytes`.
    #[inline]
    pub(super) fn add(&mut self, cell: &str, row: usize, line: u64, bytes: &mut usize) -> f64 {
        let Some(value) = finite(cell) else {
            self.add_odd(cell, row, line, bytes);
            return f64::NAN;
        };
        let is_whole = value.fract() == 0.0;
        self.is_whole &= is_whole;
        if self.points != Points::Decimal && (!is_whole || cell.as_bytes().contains(&b'.')) {
            self.add_point(cell, is_whole, row);
        }
        if let Some(count) = &mut self.count {
            if count.next.is_some_and(|next| next != value) || !is_whole {
                self.count = None;
            } else {
                count.next = Some(value + 1.0);
                count.texts.push(cell.to_string());
            }
        }
        value
    }

    #[cold]
    fn add_odd(&mut self, cell: &str, row: usize, line: u64, bytes: &mut usize) {
        self.count = None;
        if is_missing(cell) {
            self.n_missing += 1;
            if is_none(cell) {
                self.nones.push((row, line, cell.into()));
                *bytes += size_of::<(usize, u64, Box<str>)>() + cell.len();
            }
        } else {
            let odd = self.odd.get_or_insert_with(|| Box::new(Odd::new()));
            *bytes += odd.add(cell, row, line);
        }
    }

    fn add_point(&mut self, cell: &str, is_whole: bool, row: usize) {
        if !is_maybe_thousands(cell) {
            self.points = Points::Decimal;
            self.round = vec![];
            return;
        }
        self.points = Points::Thousands;
        if is_whole {
            self.round.push(row);
        }
    }

    /// The row numbers in the column, if it counts the rows.
    pub(super) fn take_count(&mut self, n_rows: usize) -> Option<Vec<String>> {
        self.count.take().map(|count| count.texts).filter(|texts| texts.len() == n_rows)
    }

    /// Whether the column counts the rows.
    pub(super) fn counts(&self, n_rows: usize) -> bool {
        self.count.as_ref().is_some_and(|count| count.texts.len() == n_rows)
    }

    /// Whether its texts are rather dates, sequences or sentences than ids.
    pub(super) fn is_no_id(&self, n_rows: usize) -> bool {
        let Some(odd) = &self.odd else { return false };
        match guess(&odd.words.interned, n_rows) {
            Guess::Is(told) => !matches!(told.kind, table::Kind::Category | table::Kind::Text),
            Guess::LeftOut(..) => false,
            Guess::NoDate { .. } | Guess::DayOrMonth { .. } => true,
        }
    }

    /// Whether every cell is text and all are distinct.
    pub(super) fn is_unique_text(&self, n_rows: usize) -> bool {
        self.odd.as_ref().is_some_and(|odd| odd.n == n_rows && odd.is_text && odd.seen.is_some())
    }

    /// The texts of a column of distinct texts.
    pub(super) fn take_texts(&mut self) -> Vec<String> {
        // All of them differ, so each position is a row.
        self.odd.take().map_or(vec![], |odd| odd.words.interned.texts)
    }

    /// Whether all values are whole numbers.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole && self.n_missing == 0 && self.odd.is_none()
    }

    /// Whether a cell has a decimal point.
    pub(super) fn has_decimal_point(&self) -> bool {
        self.points == Points::Decimal
    }

    /// The formats in which the odd cells can be read, if all of them can.
    pub(super) fn fit(&self, n_rows: usize, told: Option<Decimal>) -> Option<Fit> {
        let odd = self.odd.as_ref().filter(|odd| odd.first_bad.is_none() && odd.n > odd.n_marks)?;
        let n_plain = n_rows - self.n_missing - odd.n;
        let n_percent = odd.numbers().filter(|cell| before_percent(&cell.text).is_some()).count();
        let percent = n_percent > 0;
        if percent && (n_plain > 0 || n_percent < odd.n - odd.n_marks) {
            return Some(Fit { comma: false, point: false, differ: false, percent: false });
        }
        let reads = |decimal: Decimal| {
            let allowed =
                told.is_none_or(|told| told == decimal) && !(decimal == Decimal::Comma && self.has_decimal_point());
            allowed && odd.numbers().all(|cell| value(&cell.text, decimal, percent).is_some())
        };
        let differs =
            |cell: &Cell| value(&cell.text, Decimal::Comma, percent) != value(&cell.text, Decimal::Point, percent);
        let (comma, point) = (reads(Decimal::Comma), reads(Decimal::Point));
        Some(Fit { comma, point, differ: odd.numbers().any(differs), percent })
    }

    /// The problem, or the number format found; `set` takes the row and value of each cell that is not a plain number.
    pub(super) fn settle(
        &mut self,
        n_rows: usize,
        fit: Option<Fit>,
        default: Option<Decimal>,
        mut set: impl FnMut(usize, Set),
    ) -> Result<Written, Problem> {
        let mut written = Written::default();
        if let Some((pair, truths)) = self.take_truths(n_rows) {
            truths.into_iter().for_each(|(row, value)| set(row, Set::Value(value)));
            written.truth = Some(pair);
            return Ok(written);
        }
        if let Some(odd) = &self.odd {
            if let Some((line, text)) = odd.first_bad.clone() {
                let all_differ = self.is_unique_text(n_rows);
                return Err(self.problem(
                    line,
                    text,
                    odd.n - odd.n_marks + self.nones.len(),
                    Kind::Word { all_differ },
                ));
            }
            written.marks = odd.n_marks > 0;
        }
        let decimal = match fit {
            None => default.unwrap_or(Decimal::Point),
            Some(Fit { comma: true, point: false, .. }) => Decimal::Comma,
            Some(Fit { comma: false, point: true, .. }) => Decimal::Point,
            Some(Fit { comma: true, point: true, differ, .. }) => match default {
                None if differ => return Err(self.first_number(Kind::Ambiguous)),
                default => default.unwrap_or(Decimal::Point),
            },
            Some(_) => return Err(self.mixed(default.unwrap_or(Decimal::Point))),
        };
        let percent = fit.is_some_and(|fit| fit.percent);
        if decimal == Decimal::Comma && self.points == Points::Thousands {
            written.thousands = true;
            // Points separate thousands: whole values are identified by their rows, the others by their decimals. Cells
            // that are not plain numbers have no value yet.
            (0..n_rows).for_each(|row| set(row, Set::ThousandsIfBroken));
            self.round.iter().for_each(|&row| set(row, Set::Thousands));
        }
        if let Some(odd) = self.odd.take() {
            self.n_missing += odd.n_marks;
            for cell in odd.numbers() {
                written.comma |= decimal == Decimal::Comma && cell.text.contains(',');
                written.thousands |= decimal == Decimal::Point && !percent;
                let value = value(&cell.text, decimal, percent).unwrap_or(f64::NAN);
                self.is_whole &= value.fract() == 0.0;
                set(cell.row, Set::Value(value));
            }
        }
        written.percent = percent;
        Ok(written)
    }

    /// Rows and values of a column that holds only one pair of words for 1 and 0, and missing values.
    fn take_truths(&mut self, n_rows: usize) -> Option<(Truth, Vec<(usize, f64)>)> {
        let odd = self
            .odd
            .take_if(|odd| odd.truths.is_some() && odd.n + self.n_missing == n_rows && self.nones.is_empty())?;
        Some((odd.truth?, odd.truths?))
    }

    /// Whether all cells belong to one pair of words for 1 and 0, or are missing.
    pub(super) fn is_truth(&self, n_rows: usize) -> bool {
        let all = |odd: &Odd| odd.truths.is_some() && odd.n + self.n_missing == n_rows && self.nones.is_empty();
        self.odd.as_deref().is_some_and(all)
    }

    /// Whether more cells are texts than numbers, so that the column is one of texts.
    pub(super) fn is_mostly_text(&self, n_rows: usize) -> bool {
        let n_present = n_rows - self.n_missing;
        self.odd.as_ref().is_some_and(|odd| !odd.has_infinite && 2 * odd.n_bad > n_present)
    }

    /// All cells that are neither plain numbers nor missing, as texts; the word `None` is one of them.
    pub(super) fn take_words(&mut self) -> Words {
        let mut words = match self.odd.take() {
            Some(mut odd) => {
                odd.move_cells();
                odd.words
            }
            None => Words::default(),
        };
        for (row, line, text) in std::mem::take(&mut self.nones) {
            words.add(row, line, &text);
            self.n_missing -= 1;
        }
        words
    }

    fn problem(&self, line: u64, text: String, n: usize, kind: Kind) -> Problem {
        Problem { at: self.at, name: self.name.clone(), line, text, n, kind }
    }

    /// The first number in another format.
    fn first_number(&self, kind: Kind) -> Problem {
        let numbers = || self.odd.iter().flat_map(|odd| odd.numbers());
        let first = numbers().next().map_or((0, String::new()), |cell| (cell.line, cell.text.to_string()));
        self.problem(first.0, first.1, numbers().count(), kind)
    }

    /// The first number whose format differs from the others.
    fn mixed(&self, decimal: Decimal) -> Problem {
        let numbers = || self.odd.iter().flat_map(|odd| odd.numbers());
        let refused = |cell: &&Cell| value(&cell.text, decimal, false).is_none();
        match numbers().find(refused) {
            Some(cell) => {
                self.problem(cell.line, cell.text.to_string(), numbers().filter(refused).count(), Kind::Mixed)
            }
            None => self.first_number(Kind::Mixed),
        }
    }
}

/// A change to the value of a row.
pub(in crate::data::read) enum Set {
    /// It becomes this.
    Value(f64),
    /// A value read as `1.000` becomes 1000.
    Thousands,
    /// A value read with decimals has three of them, and becomes a thousand times as large.
    ThousandsIfBroken,
}

impl Odd {
    /// The cells that are not marks.
    fn numbers(&self) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(|cell| !is_mark(&cell.text))
    }
}

fn value(text: &str, decimal: Decimal, percent: bool) -> Option<f64> {
    decimal.parse(if percent { before_percent(text)? } else { text })
}

/// The file's decimal separator, from the evidence of each column.
pub(super) fn usual<'a>(
    columns: impl Iterator<Item = (&'a Column, Option<Fit>)>,
    told: Option<Decimal>,
) -> Option<Decimal> {
    let (mut comma, mut point) = (false, false);
    for (column, fit) in columns {
        comma |= fit.is_some_and(|fit| fit.comma && !fit.point);
        point |= column.has_decimal_point() || fit.is_some_and(|fit| fit.point && !fit.comma);
    }
    told.or(match (comma, point) {
        (true, false) => Some(Decimal::Comma),
        (false, true) => Some(Decimal::Point),
        _ => None,
    })
}
