//! Columns of delimited text that are not numbers.

use std::sync::Arc;

use super::column::{Column, Kind as Fault, Problem, Words};
use crate::data::read::dates::{self, Order};
use crate::data::read::kinds::{Guess, Interned, guess, ladder};
use crate::data::read::numbers::Truth;
use crate::data::table::{Coding, Kind, ToldKind};

/// What became of a column of texts.
pub(super) enum Coded {
    /// It is a feature; for new rows, how many cells are no level of an ordered column or no date.
    Feature(Coding, usize),
    /// It is left out: what it is, and why.
    LeftOut(&'static str, String),
}

/// Turns the cells of a column into codes or numbers, which replace its values: NaN where a cell is missing.
///
/// `told` is the kind if it is known. `is_new` if the rows are read for a model: then what the model has not seen is
/// missing.
pub(super) fn code(
    column: &mut Column,
    told: Option<&ToldKind>,
    is_new: bool,
    values: &mut [f64],
) -> Result<Coded, Problem> {
    let mut words = column.take_words();
    add_numbers(&mut words, values);
    let told = match told {
        Some(told) => told.clone(),
        None => match guess(&words.interned, values.len()) {
            Guess::Is(told) => told,
            Guess::LeftOut(what, why) => return Ok(Coded::LeftOut(what, why)),
            Guess::NoDate { text, n } => return Err(problem(column, &words, &text, n, Fault::NoDate)),
            Guess::DayOrMonth { text } => return Err(problem(column, &words, &text, 1, Fault::DayOrMonth)),
        },
    };
    let n_cells = words.interned.n_cells();
    let told = match told.kind {
        Kind::Ordered if told.words.is_empty() => {
            let levels = ladder(&words.interned.texts);
            let unknown = || problem(column, &words, &words.interned.texts[0], n_cells, Fault::NoLevel);
            ToldKind { words: levels.ok_or_else(unknown)?, ..told }
        }
        _ => told,
    };
    let of_text = |text: &String| match told.kind {
        Kind::Date => {
            let order = told.words.first().and_then(|word| Order::of(word)).unwrap_or(Order::Ymd);
            dates::parse(text, order)
        }
        Kind::YesNo => Truth::parse(text).map(|(_, value)| value).or_else(|| text.parse().ok()),
        Kind::Number => text.parse().ok(),
        Kind::Ordered => told.words.iter().position(|level| level == text).map(|rank| rank as f64),
        Kind::Sequence if !is_letters(text) => None,
        _ => Some(0.0),
    };
    let known: Vec<Option<f64>> = words.interned.texts.iter().map(of_text).collect();
    let mut n_unknown = 0;
    if let Some(at) = known.iter().position(Option::is_none) {
        n_unknown = words.codes.iter().filter(|(_, code)| known[*code].is_none()).count();
        let fault = match told.kind {
            Kind::Date => Fault::NoDate,
            Kind::Ordered => Fault::NoLevel,
            Kind::Sequence => Fault::NoSequence,
            _ => Fault::Word { all_differ: false },
        };
        let text = &words.interned.texts[at];
        let is_forgiven = is_new && matches!(told.kind, Kind::Date | Kind::Ordered);
        if !is_forgiven {
            return Err(problem(column, &words, text, n_unknown, fault));
        }
    }
    values.fill(f64::NAN);
    let keeps_texts = matches!(told.kind, Kind::Category | Kind::Text | Kind::Sequence);
    for &(row, code) in &words.codes {
        values[row] = if keeps_texts { code as f64 } else { known[code].unwrap_or(f64::NAN) };
    }
    column.n_missing = values.iter().filter(|value| value.is_nan()).count();
    let Words { interned: Interned { texts, .. }, .. } = words;
    let texts = match told.kind {
        Kind::Ordered => told.words.clone(),
        _ if keeps_texts => texts,
        _ => vec![],
    };
    Ok(Coded::Feature(Coding { told, texts: Arc::new(texts) }, n_unknown))
}

/// Plain numbers among texts are texts, in their shortest spelling.
fn add_numbers(words: &mut Words, values: &[f64]) {
    for (row, value) in values.iter().enumerate().filter(|(_, value)| !value.is_nan()) {
        words.add(row, 0, &value.to_string());
    }
}

/// Whether a text may be a sequence.
pub(super) fn is_letters(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphabetic() || b"*-.".contains(&byte))
}

fn problem(column: &Column, words: &Words, text: &str, n: usize, kind: Fault) -> Problem {
    let at = words.interned.texts.iter().position(|known| known == text);
    let line = at.and_then(|at| words.lines.get(at).copied()).unwrap_or(0);
    Problem { at: column.at, name: column.name.clone(), line, text: text.to_string(), n, kind }
}
