//! The features of one row, read as it arrives.

use std::sync::Arc;

use super::cells::Cells;
use super::coded::is_letters;
use crate::data::read::dates::{self, Order};
use crate::data::read::kinds::Interned;
use crate::data::read::numbers::{Decimal, Truth};
use crate::data::read::options::ReadOptions;
use crate::data::read::roles::Roles;
use crate::data::table::words::{finite, is_missing, is_missing_label, not_finite, quoted};
use crate::data::table::{Coding, Kind, ToldKind};
use crate::error::{Error, Message, Place, Remedy, Result, message};

/// Reads the features from the cells of a row.
pub(in crate::data::read) struct FeatureCells<'a> {
    name: &'a str,
    /// The assumption made about the file, and how to override it.
    guess: Option<Message>,
    /// Whether an option says that the first line holds no names.
    is_bare: bool,
    /// Whether a row may have no values at all.
    may_be_empty: bool,
    /// The decimal separator, if given.
    decimal: Option<Decimal>,
    columns: Vec<FeatureColumn>,
}

/// The column of a feature.
pub(in crate::data::read) struct FeatureColumn {
    pub(in crate::data::read) at: usize,
    /// Its name in errors.
    pub(in crate::data::read) name: String,
    /// What it holds; numbers, unless told or found otherwise.
    pub(in crate::data::read) told: ToldKind,
    pub(in crate::data::read) is_told: bool,
}

impl FeatureColumn {
    /// The value of a cell: a number, or the position of its text among `texts`; NaN where it is missing, `None` where
    /// it is not of the column's kind.
    fn value(&self, cell: &str, decimal: Option<Decimal>, texts: &mut Interned) -> Option<f64> {
        let text = |texts: &mut Interned| match finite(cell) {
            // As in a table, numbers among texts are texts in their shortest spelling.
            Some(value) => texts.code(&value.to_string()) as f64,
            None => texts.code(cell) as f64,
        };
        match self.told.kind {
            Kind::Number | Kind::YesNo => number(cell, decimal)
                .or_else(|| Truth::parse(cell).map(|(_, value)| value))
                .or_else(|| is_missing(cell).then_some(f64::NAN)),
            _ if is_missing_label(cell) => Some(f64::NAN),
            Kind::Date => {
                let order = self.told.words.first().and_then(|word| Order::of(word)).unwrap_or(Order::Ymd);
                dates::parse(cell, order)
            }
            Kind::Ordered => {
                let rank = self.told.words.iter().position(|level| level == cell);
                Some(rank.map_or(f64::NAN, |rank| rank as f64))
            }
            Kind::Sequence => is_letters(cell).then(|| text(texts)),
            Kind::Category | Kind::Text => Some(text(texts)),
        }
    }

    /// What the column holds, given its distinct texts.
    pub(in crate::data::read) fn coding(&self, texts: Interned) -> Coding {
        let texts = match self.told.kind {
            Kind::Ordered => self.told.words.clone(),
            _ => texts.texts,
        };
        Coding { told: self.told.clone(), texts: Arc::new(texts) }
    }
}

/// A plain number, or one with the given decimal separator.
pub(in crate::data::read) fn number(cell: &str, decimal: Option<Decimal>) -> Option<f64> {
    finite(cell).or_else(|| decimal.and_then(|decimal| decimal.parse(cell)))
}

impl<'a> FeatureCells<'a> {
    pub(in crate::data) fn new(name: &'a str, roles: &Roles, options: &ReadOptions) -> Self {
        let column = |(&at, name): (&usize, &String)| {
            let told = roles.kinds.iter().find(|(j, _)| *j == at).map(|(_, told)| told.clone());
            FeatureColumn { at, name: name.clone(), is_told: told.is_some(), told: told.unwrap_or_default() }
        };
        FeatureCells {
            name,
            guess: roles.guess.clone(),
            is_bare: options.header == Some(false),
            // A sample that lacks one view may have others.
            may_be_empty: options.part.is_some(),
            decimal: options.decimal,
            columns: roles.features.iter().zip(&roles.names).map(column).collect(),
        }
    }

    pub(in crate::data) fn n_features(&self) -> usize {
        self.columns.len()
    }

    pub(in crate::data::read) fn columns(&self) -> &[FeatureColumn] {
        &self.columns
    }

    pub(in crate::data::read) fn columns_mut(&mut self) -> &mut Vec<FeatureColumn> {
        &mut self.columns
    }

    /// Appends one value per feature, NaN if it is missing; after an error the caller must remove what was appended.
    /// `texts` holds the distinct texts of each feature. `n_before` is the number of rows before this one.
    pub(in crate::data) fn read(
        &self,
        cells: &Cells,
        n_before: usize,
        data: &mut Vec<f64>,
        texts: &mut Vec<Interned>,
    ) -> Result<()> {
        texts.resize_with(self.columns.len(), Interned::default);
        let mut is_empty = true;
        for (column, texts) in self.columns.iter().zip(texts) {
            let cell = cells.cell(column.at);
            let Some(value) = column.value(cell, self.decimal, texts) else {
                return Err(Error::data(cells.place(self.name, column.at), self.bad_cell(cell, column, n_before)));
            };
            // A missing category is a level of its own.
            is_empty &= value.is_nan() && column.told.kind != Kind::Category;
            data.push(value);
        }
        if is_empty && !self.may_be_empty {
            let message = "the row has no value at all; remove it, or fill values in";
            return Err(Error::data(Place::line(self.name, cells.line()), message));
        }
        Ok(())
    }

    fn bad_cell(&self, cell: &str, column: &FeatureColumn, n_before: usize) -> Message {
        let (kind, column) = (column.told.kind, quoted(&column.name));
        // Only the first row can be a header mistaken for data.
        let advice = match n_before {
            0 if self.is_bare => "is the first line a header?".into(),
            _ => message!["correct it, or leave the column out with ", Remedy::Ignore(vec![])],
        };
        let hint = match (&self.guess, n_before) {
            // A wrong guess about the file is the likely cause if its very first row does not fit.
            (Some(guess), 0) if !self.is_bare => message![" (", guess.clone(), ")"],
            _ => Message::default(),
        };
        let what = match Decimal::Comma.parse(cell) {
            _ if kind == Kind::Date => "is no date, though others of its column are".into(),
            _ if kind == Kind::Sequence => "is no sequence of letters".into(),
            Some(_) => message!["is not a number (write decimals with a point, or say ", Remedy::DecimalComma, ")"],
            None => not_finite(cell).into(),
        };
        message![format!("{} in column {column} ", quoted(cell)), what, "; ", advice, hint]
    }
}

/// The error for a row with a missing label.
pub(in crate::data::read) fn no_label(place: Place) -> Error {
    Error::data(place, "the label is missing; remove the row or fill it in first")
}
