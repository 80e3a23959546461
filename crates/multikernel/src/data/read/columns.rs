//! Samples from columns in memory, as data frames hold them.

use std::sync::Arc;

use super::dates::{self, Order};
use super::kinds::{Guess, Interned, guess, ladder};
use super::numbers::Truth;
use crate::data::table::words::{finite, quoted};
use crate::data::table::{Coding, Kind, Samples, ToldKind};
use crate::error::{Error, Result};
use crate::linalg::Matrix;

/// A column in memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Numbers, NaN where missing.
    Number(Vec<f64>),
    /// Texts whose kind is to be found.
    Text(Vec<Option<String>>),
    /// Texts of a known kind.
    Known(ToldKind, Vec<Option<String>>),
}

/// Samples from named columns of the same length, and remarks: what was guessed, what was left out.
///
/// ```
/// use multikernel::data::{Column, Kind, samples_of_columns};
/// let sex = ["f", "m", "f"].map(|text| Some(text.to_string())).to_vec();
/// let columns = vec![("age".into(), Column::Number(vec![30.0, 41.0, 35.0])), ("sex".into(), Column::Text(sex))];
/// let (samples, _) = samples_of_columns(columns)?;
/// assert_eq!((samples.kind(1), samples.text(1, 1)), (Kind::Category, Some("m")));
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn samples_of_columns(columns: Vec<(String, Column)>) -> Result<(Samples, Vec<String>)> {
    let length = |column: &Column| match column {
        Column::Number(values) => values.len(),
        Column::Text(texts) | Column::Known(_, texts) => texts.len(),
    };
    let n = columns.first().map_or(0, |(_, column)| length(column));
    let (mut names, mut values, mut codings, mut notes) = (vec![], vec![], vec![], vec![]);
    for (name, column) in columns {
        if length(&column) != n {
            let message = format!("column {} has {} rows, the first {n}", quoted(&name), length(&column));
            return Err(Error::input(format!("{message}; give columns of the same length")));
        }
        let (told, texts) = match column {
            Column::Number(numbers) => {
                names.push(name);
                values.push(numbers);
                codings.push(Coding::default());
                continue;
            }
            Column::Text(texts) => (None, texts),
            Column::Known(told, texts) => (Some(told), texts),
        };
        match coded(&name, told, &texts)? {
            Ok((coding, codes)) => {
                if coding.kind() != Kind::Number {
                    notes.push(format!("column {} taken as {}", quoted(&name), coding.told));
                }
                names.push(name);
                values.push(codes);
                codings.push(coding);
            }
            Err(why) => notes.push(format!("column {} left out: {why}", quoted(&name))),
        }
    }
    let matrix = Matrix::from_fn(n, names.len(), |i, j| values[j][i]);
    Ok((Samples::new(matrix, names)?.with_codings(codings), notes))
}

type Codes = (Coding, Vec<f64>);

/// The codes of a column of texts, or why it is left out.
fn coded(name: &str, told: Option<ToldKind>, texts: &[Option<String>]) -> Result<std::result::Result<Codes, String>> {
    let mut interned = Interned::default();
    let codes: Vec<Option<usize>> = texts.iter().map(|text| text.as_ref().map(|text| interned.code(text))).collect();
    let refuse = |what: String| Error::input(format!("column {}: {what}", quoted(name)));
    let told = match found(name, told, &interned, texts.len())? {
        Ok(told) => told,
        Err(why) => return Ok(Err(why)),
    };
    let value = |text: &String| match told.kind {
        Kind::Number => finite(text),
        Kind::YesNo => Truth::parse(text).map(|(_, value)| value),
        Kind::Date => dates::parse(text, told.words.first().and_then(|word| Order::of(word)).unwrap_or(Order::Ymd)),
        Kind::Ordered => told.words.iter().position(|level| level == text).map(|rank| rank as f64),
        _ => Some(f64::NAN),
    };
    let keeps_texts = told.kind.keeps_texts();
    let mut known = vec![];
    for text in &interned.texts {
        let unreadable = || refuse(format!("{} is no {}; correct it, or say another kind", quoted(text), told.kind));
        known.push(value(text).ok_or_else(unreadable)?);
    }
    let code = |code: &Option<usize>| match code {
        Some(code) if keeps_texts => *code as f64,
        Some(code) => known[*code],
        None => f64::NAN,
    };
    let values = codes.iter().map(code).collect();
    let texts = match told.kind {
        Kind::Ordered => told.words.clone(),
        _ if keeps_texts => interned.texts,
        _ => vec![],
    };
    Ok(Ok((Coding { told, texts: Arc::new(texts) }, values)))
}

/// What a column of texts holds, by its distinct texts in the order in which they come and how many of `n_rows` rows hold each:
/// for tables whose rows are not in one place. An inner error says why it is left out. A kind that is told is kept, but an
/// ordered one is given its levels.
///
/// ```
/// use multikernel::data::{Kind, kind_of_texts};
/// let texts = [("red".to_string(), 12), ("blue".to_string(), 9)];
/// assert_eq!(kind_of_texts("colour", None, &texts, 21)?, Ok(Kind::Category.into()));
/// assert_eq!(kind_of_texts("colour", None, &texts[..1], 12)?, Err("it is 'red' in every row".into()));
/// # Ok::<(), multikernel::Error>(())
/// ```
///
/// # Errors
/// Dates that cannot be told from one another, an order that is unknown.
pub fn kind_of_texts(
    name: &str,
    told: Option<ToldKind>,
    texts: &[(String, usize)],
    n_rows: usize,
) -> Result<std::result::Result<ToldKind, String>> {
    let mut column = Interned::default();
    texts.iter().for_each(|(text, times)| column.add(text, *times));
    found(name, told, &column, n_rows)
}

/// What a column holds, or why it is left out.
fn found(
    name: &str,
    told: Option<ToldKind>,
    column: &Interned,
    n_rows: usize,
) -> Result<std::result::Result<ToldKind, String>> {
    let all = |is: &dyn Fn(&str) -> bool| !column.texts.is_empty() && column.texts.iter().all(|text| is(text));
    let refuse = |what: String| Error::input(format!("column {}: {what}", quoted(name)));
    let told = match told {
        Some(told) => told,
        None if all(&|text| finite(text).is_some()) => Kind::Number.into(),
        None if all(&|text| Truth::parse(text).is_some()) => Kind::YesNo.into(),
        None => match guess(column, n_rows) {
            Guess::Is(told) => told,
            Guess::LeftOut(_, why) => return Ok(Err(why)),
            Guess::NoDate { text, .. } => {
                return Err(refuse(format!(
                    "{} is no date, though others are; correct it, or say its kind",
                    quoted(&text)
                )));
            }
            Guess::DayOrMonth { text } => {
                let text = quoted(&text);
                return Err(refuse(format!("{text} may have the day first or the month; say date(dmy) or date(mdy)")));
            }
        },
    };
    match told.kind {
        Kind::Ordered if told.words.is_empty() => {
            let levels = ladder(&column.texts);
            let unknown = || refuse("the order of its levels is unknown; name them, the lowest first".into());
            Ok(Ok(ToldKind { words: levels.ok_or_else(unknown)?, ..told }))
        }
        _ => Ok(Ok(told)),
    }
}
