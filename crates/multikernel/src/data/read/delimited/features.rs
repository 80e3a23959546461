//! The features of one row, read as it arrives.

use super::cells::Cells;
use crate::data::read::numbers::{Decimal, Truth};
use crate::data::read::options::ReadOptions;
use crate::data::read::roles::Roles;
use crate::data::table::words::{finite, is_missing, not_finite, quoted};
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
    /// The column of each feature and its name in errors.
    columns: Vec<(usize, String)>,
}

impl<'a> FeatureCells<'a> {
    pub(in crate::data) fn new(name: &'a str, roles: &Roles, options: &ReadOptions) -> Self {
        FeatureCells {
            name,
            guess: roles.guess.clone(),
            is_bare: options.header == Some(false),
            // A sample that lacks one view may have others.
            may_be_empty: options.part.is_some(),
            decimal: options.decimal,
            columns: roles.features.iter().copied().zip(roles.names.iter().cloned()).collect(),
        }
    }

    pub(in crate::data) fn n_features(&self) -> usize {
        self.columns.len()
    }

    /// Appends one value per feature, NaN if it is missing; after an error the caller must remove what was appended.
    /// `n_before` is the number of rows before this one.
    pub(in crate::data) fn read(&self, cells: &Cells, n_before: usize, data: &mut Vec<f64>) -> Result<()> {
        let mut is_empty = true;
        for (j, column) in &self.columns {
            let cell = cells.cell(*j);
            let truth = || Truth::parse(cell).map(|(_, value)| value);
            let value =
                match finite(cell).or_else(|| self.decimal.and_then(|decimal| decimal.parse(cell))).or_else(truth) {
                    Some(value) => value,
                    None if is_missing(cell) => f64::NAN,
                    None => return Err(Error::data(cells.place(self.name, *j), self.bad_cell(cell, column, n_before))),
                };
            is_empty &= value.is_nan();
            data.push(value);
        }
        if is_empty && !self.may_be_empty {
            let message = "the row has no value at all; remove it, or fill values in";
            return Err(Error::data(Place::line(self.name, cells.line()), message));
        }
        Ok(())
    }

    fn bad_cell(&self, cell: &str, column: &str, n_before: usize) -> Message {
        let column = quoted(column);
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
