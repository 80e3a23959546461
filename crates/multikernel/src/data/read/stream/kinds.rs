//! What the columns of a stream hold, found from its first rows.

use super::{Delimited, RowStream, Stopped, Text};
use crate::data::read::dates::{self, Order};
use crate::data::read::delimited::{Cells, FeatureColumn, is_blank, kind_notes, left_out_note, number, split_alone};
use crate::data::read::kinds::{Guess, Interned, guess, ladder};
use crate::data::read::numbers::{Decimal, Truth};
use crate::data::read::text::{Found, Lines};
use crate::data::table::words::{finite, is_missing, is_missing_label, quoted};
use crate::data::table::{Kind, ToldKind};
use crate::error::{Error, Message, Place, Remedy, Result, message};

impl RowStream<'_> {
    /// Finds the kinds of the columns from the rows of the first batch, `most` of them, which wait to be read by it.
    /// Without `wait` columns are numbers unless told: how many rows have arrived must not decide.
    pub(super) fn find_kinds(&mut self, most: usize, wait: bool) -> Result<()> {
        let Text::Delimited(delimited) = &mut self.text else { return Ok(()) };
        if std::mem::replace(&mut delimited.is_decided, true) {
            return Ok(());
        }
        if wait {
            delimited.look_ahead(&mut self.lines, most, self.options.limit());
        }
        self.notes.extend(delimited.settle_kinds(self.lines.name, wait, self.options.decimal)?);
        self.names = delimited.features.columns().iter().map(|column| column.name.clone()).collect();
        Ok(())
    }
}

/// What became of a column.
enum Outcome {
    Is(ToldKind),
    LeftOut(&'static str, String),
}

impl Delimited<'_> {
    /// Reads up to `most` rows, but no more than `limit` bytes.
    fn look_ahead(&mut self, lines: &mut Lines<'_>, most: usize, limit: u64) {
        let mut need = 0;
        while self.waiting.len() < most.max(1) && need <= limit {
            match lines.advance(true) {
                Ok(Found::Line) => {}
                Ok(Found::Pause | Found::End) => break,
                Err(error) => {
                    self.waiting.push_back(Err(Stopped::Stream(error)));
                    break;
                }
            }
            let (number, mut cells) = (lines.number(), Cells::default());
            let row = lines.text().and_then(|line| {
                let is_row = !is_blank(line, self.delimiter);
                if is_row {
                    split_alone(lines.name, line, number, self.delimiter, &mut cells)?;
                }
                Ok(is_row.then_some(cells))
            });
            if let Some(row) = row.transpose() {
                need += row.as_ref().map_or(0, Cells::size);
                self.waiting.push_back(row.map_err(Stopped::from));
            }
        }
    }

    /// Gives every column its kind, by the rows that wait if they may decide, and drops those that are no features.
    fn settle_kinds(&mut self, name: &str, by_rows: bool, decimal: Option<Decimal>) -> Result<Vec<Message>> {
        let rows = || self.waiting.iter().flatten().filter(|row| by_rows && row.len() == self.n_columns);
        let (mut found, mut notes) = (vec![], vec![]);
        for column in self.features.columns() {
            let cells = || rows().map(|row| row.cell(column.at));
            found.push(kind_of(column, cells, decimal).map_err(|message| Error::data(Place::file(name), message))?);
        }
        let n_left = found.iter().filter(|found| matches!(found, Outcome::Is(_))).count();
        let (mut kept, mut told) = (vec![], vec![]);
        for (mut column, found) in std::mem::take(self.features.columns_mut()).into_iter().zip(found) {
            match found {
                Outcome::LeftOut(what, why) if n_left > 0 => {
                    notes.push(left_out_note(&quoted(&column.name), what, &why, column.name.clone()));
                    continue;
                }
                Outcome::LeftOut(..) => column.told = Kind::Category.into(),
                Outcome::Is(kind) => column.told = kind,
            }
            if !column.is_told {
                told.push((column.told.kind, column.name.clone(), column.name.clone()));
            }
            kept.push(column);
        }
        *self.features.columns_mut() = kept;
        notes.extend(kind_notes(&told, "taken as categories: "));
        Ok(notes)
    }
}

/// The kind of a column with these cells.
fn kind_of<'a, I: Iterator<Item = &'a str>>(
    column: &FeatureColumn,
    cells: impl Fn() -> I,
    decimal: Option<Decimal>,
) -> std::result::Result<Outcome, Message> {
    let told = &column.told;
    if column.is_told && !(told.kind == Kind::Ordered && told.words.is_empty()) {
        return Ok(Outcome::Is(told.clone()));
    }
    let is_text = |cell: &&str| !is_missing_label(cell) && number(cell, decimal).is_none();
    let (n_rows, n_texts) = (cells().count(), cells().filter(is_text).count());
    let n_present = cells().filter(|cell| !is_missing(cell)).count();
    let pair = |cell: &str| Truth::parse(cell).map(|(pair, _)| pair);
    let first = cells().find(is_text).and_then(pair);
    let is_truth = first.is_some() && cells().filter(is_text).all(|cell| pair(cell) == first);
    if !column.is_told && (is_truth || 2 * n_texts <= n_present) {
        let is_all = is_truth && n_texts == n_present;
        return Ok(Outcome::Is(if is_all { Kind::YesNo } else { Kind::Number }.into()));
    }
    let mut texts = Interned::default();
    for cell in cells().filter(|cell| !is_missing_label(cell)) {
        texts.code(&finite(cell).map_or_else(|| cell.to_string(), |value| value.to_string()));
    }
    if column.is_told {
        let unknown = || {
            let what = format!("column {}: the order of its levels is unknown; say ", quoted(&column.name));
            message![what, Remedy::Kinds(Some((column.name.clone(), "ordered(LOW<...<HIGH)")))]
        };
        return Ok(Outcome::Is(ToldKind { kind: Kind::Ordered, words: ladder(&texts.texts).ok_or_else(unknown)? }));
    }
    match guess(&texts, n_rows) {
        Guess::Is(told) => Ok(Outcome::Is(told)),
        Guess::LeftOut(what, why) => Ok(Outcome::LeftOut(what, why)),
        // Lines with another cell are errors of their own.
        Guess::NoDate { .. } => {
            let n_dates = |order: Order| cells().filter(|cell| dates::parse(cell, order).is_some()).count();
            let counts = Order::ALL.map(|order| (n_dates(order), order));
            let most = counts.iter().map(|(n, _)| *n).max().unwrap_or(0);
            let best: Vec<Order> = counts.into_iter().filter(|(n, _)| *n == most).map(|(_, order)| order).collect();
            match best.as_slice() {
                [order] => Ok(Outcome::Is(ToldKind { kind: Kind::Date, words: vec![order.word().into()] })),
                _ => {
                    Err(day_or_month(column, cells().find(|cell| dates::parse(cell, best[0]).is_some()).unwrap_or("")))
                }
            }
        }
        Guess::DayOrMonth { text } => Err(day_or_month(column, &text)),
    }
}

/// The message about dates that can be read in two ways.
fn day_or_month(column: &FeatureColumn, text: &str) -> Message {
    let say = |kind| Remedy::Kinds(Some((column.name.clone(), kind)));
    message![
        format!("column {}: {} may have the day first or the month; say ", quoted(&column.name), quoted(text)),
        say("date(dmy)"),
        " or ",
        say("date(mdy)")
    ]
}
