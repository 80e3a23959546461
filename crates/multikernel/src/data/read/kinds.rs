//! Finding what a column of texts holds.

use std::collections::HashMap;

use super::dates::{self, Order};
use crate::data::table::words::quoted;
use crate::data::table::{Kind, ToldKind};

/// With fewer rows, a column whose texts nearly all differ is still taken for categories.
const SOME_ROWS: usize = 20;
/// Texts of at least so many words on average are sentences.
const SENTENCE: f64 = 4.0;
/// A column of sentences with one distinct text in so many rows or fewer holds texts; with more it repeats levels.
const REPEATED: usize = 10;
/// Letters per text, on average, from which on they are a sequence of DNA or RNA.
const DNA_LENGTH: usize = 10;
/// The same for proteins, whose letters are those of words.
const PROTEIN_LENGTH: usize = 20;
/// One cell in this many may differ before a column of dates is no column of dates.
const DATES: usize = 5;

/// The distinct texts of a column.
#[derive(Debug, Default)]
pub(in crate::data) struct Interned {
    pub(in crate::data) texts: Vec<String>,
    /// How many cells hold each.
    counts: Vec<usize>,
    index: HashMap<String, usize>,
}

impl Interned {
    /// The position of a text, which is added if it is new.
    pub(in crate::data) fn code(&mut self, text: &str) -> usize {
        let code = match self.index.get(text) {
            Some(&code) => code,
            None => {
                self.texts.push(text.to_string());
                self.counts.push(0);
                self.index.insert(text.to_string(), self.texts.len() - 1);
                self.texts.len() - 1
            }
        };
        self.counts[code] += 1;
        code
    }

    /// Adds a text that so many more cells hold.
    pub(in crate::data) fn add(&mut self, text: &str, times: usize) {
        if times > 0 {
            let code = self.code(text);
            self.counts[code] += times - 1;
        }
    }

    /// How many cells hold a text.
    pub(in crate::data) fn n_cells(&self) -> usize {
        self.counts.iter().sum()
    }

    /// How many cells hold a text that satisfies a condition, and the first that does not.
    fn holding(&self, is: impl Fn(&str) -> bool) -> (usize, Option<&str>) {
        let (mut n, mut other) = (0, None);
        for (text, count) in self.texts.iter().zip(&self.counts) {
            match is(text) {
                true => n += count,
                false => other = other.or(Some(text.as_str())),
            }
        }
        (n, other)
    }

    /// The mean over cells of a number of each text.
    fn mean(&self, of: impl Fn(&str) -> usize) -> f64 {
        let sum: usize = self.texts.iter().zip(&self.counts).map(|(text, count)| of(text) * count).sum();
        sum as f64 / self.n_cells().max(1) as f64
    }
}

/// What a column holds.
#[derive(Debug, PartialEq)]
pub(in crate::data) enum Guess {
    Is(ToldKind),
    /// It is left out: what it is, and why.
    LeftOut(&'static str, String),
    /// Nearly all cells are dates, but not this one.
    NoDate {
        text: String,
        n: usize,
    },
    /// Day and month may be either.
    DayOrMonth {
        text: String,
    },
}

/// What a column of texts holds, in a table of so many rows.
pub(in crate::data) fn guess(column: &Interned, n_rows: usize) -> Guess {
    let (n_texts, n_cells) = (column.texts.len(), column.n_cells());
    if let Some(guess) = guess_dates(column) {
        return guess;
    }
    if n_texts == 1 && n_cells == n_rows && n_rows > 1 {
        return Guess::LeftOut("constant", format!("it is {} in every row", quoted(&column.texts[0])));
    }
    if is_sequence(column) {
        return Guess::Is(Kind::Sequence.into());
    }
    let words = column.mean(|text| text.split_whitespace().count());
    if words >= SENTENCE && n_texts * REPEATED > n_cells && n_texts > 1 {
        return Guess::Is(Kind::Text.into());
    }
    let is_own = 2 * n_texts > n_cells && n_cells >= SOME_ROWS;
    if is_own && words >= SENTENCE / 2.0 {
        return Guess::Is(Kind::Text.into());
    }
    if is_own {
        let own = if n_texts == n_cells { "all its texts differ" } else { "nearly every row has a text of its own" };
        return Guess::LeftOut("id", own.into());
    }
    Guess::Is(Kind::Category.into())
}

/// Dates, if nearly all cells are.
fn guess_dates(column: &Interned) -> Option<Guess> {
    // Most columns are told from dates by their first text.
    let may_be = |text: &String| text.bytes().any(|byte| byte.is_ascii_digit());
    if !column.texts.iter().take(4).any(may_be) {
        return None;
    }
    let n_cells = column.n_cells();
    let fits = |order: Order| column.holding(|text| dates::parse(text, order).is_some());
    let all: Vec<Order> = Order::ALL.into_iter().filter(|&order| fits(order).0 == n_cells).collect();
    let told = |order: Order| {
        let is_told =
            column.texts.iter().all(|text| Order::ALL.iter().all(|&order| dates::parse(text, order).is_some()));
        let words = if is_told { vec![] } else { vec![order.word().to_string()] };
        Some(Guess::Is(ToldKind { kind: Kind::Date, words }))
    };
    match all.as_slice() {
        [] => {
            let (n, other) = Order::ALL.into_iter().map(fits).max_by_key(|(n, _)| *n)?;
            let is_nearly = n > 0 && n * DATES >= n_cells * (DATES - 1);
            is_nearly.then(|| Guess::NoDate { text: other.unwrap_or_default().to_string(), n: n_cells - n })
        }
        // Points stand between day, month and year, in this order.
        [Order::Dmy, Order::Mdy] if column.texts.iter().all(|text| text.contains('.')) => told(Order::Dmy),
        [Order::Dmy, Order::Mdy] => Some(Guess::DayOrMonth { text: column.texts[0].clone() }),
        [first, ..] => told(*first),
    }
}

/// Whether all texts are letters of DNA, RNA or proteins, and long enough to be no words.
fn is_sequence(column: &Interned) -> bool {
    let length = column.mean(str::len);
    let all = |is: fn(u8) -> bool| column.texts.iter().all(|text| text.bytes().all(is));
    let is_bases = || all(|byte| b"ACGTUNRYSWKMBDHVacgtunryswkmbdhv-.".contains(&byte));
    let n_bases: usize =
        column.texts.iter().map(|text| text.bytes().filter(|byte| b"ACGTUacgtu".contains(byte)).count()).sum();
    let n_letters: usize = column.texts.iter().map(String::len).sum();
    if column.texts.len() < 2 || length < DNA_LENGTH as f64 {
        return false;
    }
    // Ambiguous bases are rare; words of these letters are not.
    if is_bases() && 10 * n_bases >= 9 * n_letters {
        return true;
    }
    length >= PROTEIN_LENGTH as f64
        && all(|byte| byte.is_ascii_uppercase() && byte != b'J' || byte == b'*' || byte == b'-')
}

/// The levels of an ordered column, the lowest first: those of a well-known scale, or those that begin with numbers.
pub(in crate::data) fn ladder(texts: &[String]) -> Option<Vec<String>> {
    const SCALES: [&[&str]; 6] = [
        &["very low", "low", "medium", "moderate", "high", "very high"],
        &["none", "mild", "moderate", "severe"],
        &["never", "rarely", "sometimes", "often", "always"],
        &["tiny", "small", "medium", "large", "huge"],
        &["bad", "poor", "fair", "good", "very good", "excellent"],
        &["i", "ii", "iii", "iv", "v", "vi"],
    ];
    let rank =
        |scale: &[&str], text: &str| scale.iter().position(|level| text.eq_ignore_ascii_case(level)).map(|k| k as f64);
    let by = |of: &dyn Fn(&str) -> Option<f64>| -> Option<Vec<String>> {
        let mut ranked: Vec<(f64, &String)> =
            texts.iter().map(|text| Some((of(text)?, text))).collect::<Option<_>>()?;
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(b.1)));
        let is_clear = ranked.windows(2).all(|pair| pair[0].0 < pair[1].0);
        is_clear.then(|| ranked.into_iter().map(|(_, text)| text.clone()).collect())
    };
    let number = |text: &str| {
        let digits: String =
            text.chars().skip_while(|c| !c.is_ascii_digit()).take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        let below = text.trim_start().starts_with(['<', '-']);
        digits.trim_end_matches('.').parse::<f64>().ok().map(|value| if below { value - 1e-9 } else { value })
    };
    SCALES.iter().find_map(|scale| by(&|text| rank(scale, text))).or_else(|| by(&number))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interned(texts: &[&str], times: usize) -> Interned {
        let mut column = Interned::default();
        (0..times).for_each(|_| texts.iter().for_each(|text| _ = column.code(text)));
        column
    }

    fn word(texts: &[&str], times: usize) -> String {
        let column = interned(texts, times);
        match guess(&column, column.n_cells()) {
            Guess::Is(told) => told.to_string(),
            Guess::LeftOut(what, _) => what.into(),
            Guess::NoDate { text, n } => format!("no date {text} {n}"),
            Guess::DayOrMonth { text } => format!("day or month {text}"),
        }
    }

    #[test]
    fn kinds_of_columns_of_texts() {
        let many: Vec<String> = (0..40).map(|k| format!("P{k:04}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let names: Vec<String> = (0..40).map(|k| format!("Smith {k}, Mr. John")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        assert_eq!(word(&["f", "m"], 10), "category");
        assert_eq!(word(&["1 to 3 years of college", "no school at all"], 50), "category");
        assert_eq!(word(&["the dog bit the man", "a man bit the dog today", "nobody bit anybody"], 2), "text");
        assert_eq!(word(&many, 1), "id");
        assert_eq!(word(&names, 1), "text");
        assert_eq!(word(&["same"], 5), "constant");
        assert_eq!(word(&["ACGTACGTACGTAA", "acgtnacgtacgtaa"], 1), "sequence");
        assert_eq!(word(&["MKVLAAGIVGLLLAQWERTYHC", "MKTAYIAKQRQISFVKSHFSRQ"], 1), "sequence");
        assert_eq!(word(&["BACK", "RAYS", "MANY"], 3), "category");
    }

    #[test]
    fn dates_are_told_by_what_only_one_order_reads() {
        assert_eq!(word(&["2021-02-03", "2020-12-31"], 1), "date(ymd)");
        assert_eq!(word(&["13/02/2021", "01/02/2021"], 1), "date(dmy)");
        assert_eq!(word(&["02/13/2021", "01/02/2021"], 1), "date(mdy)");
        assert_eq!(word(&["03.02.2021", "01.02.2021"], 1), "date(dmy)");
        assert_eq!(word(&["03/02/2021", "01/02/2021"], 1), "day or month 03/02/2021");
        assert_eq!(
            word(&["2021-02-03", "2021-02-04", "2021-02-05", "2021-02-06", "2021-02-30"], 3),
            "no date 2021-02-30 3"
        );
        assert_eq!(word(&["3 Feb 2021", "4 Mar 2021"], 1), "date");
    }

    #[test]
    fn ladders_of_known_scales_and_of_numbers() {
        let ladder = |texts: &[&str]| {
            super::ladder(&texts.iter().map(|text| text.to_string()).collect::<Vec<_>>()).map(|levels| levels.join(" "))
        };
        assert_eq!(ladder(&["high", "Low", "medium"]).unwrap(), "Low medium high");
        assert_eq!(ladder(&["10-20", "0-9", "<0", "21+"]).unwrap(), "<0 0-9 10-20 21+");
        assert_eq!(ladder(&["red", "green"]), None);
    }
}
