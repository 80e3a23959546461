//! CSV and TSV text: from lines to cells, from cells to columns, from columns to a table.

mod body;
mod cells;
mod coded;
mod column;
mod features;
mod header;
mod kept;
mod leave_out;
mod problems;

use std::collections::HashSet;

use crate::data::read::memory::check_memory;
use crate::data::read::options::ReadOptions;
use crate::data::read::roles::{Roles, no_names};
use crate::data::read::text::Lines;
use crate::data::table::Table;
use crate::data::table::words::finite;
use crate::error::{Error, Message, Place, Remedy, Result, message};
use body::Body;
pub(super) use body::{kind_notes, left_out_note};
pub(in crate::data) use cells::Cells;
use cells::Records;
pub(super) use cells::{Rows, cells_of, check_row_names, check_width, is_blank, read_cells, split_alone};
pub(super) use features::{FeatureCells, FeatureColumn, no_label, number};
use header::{is_header, roles};
pub(in crate::data) use problems::{MissingLabel, labels_missing};

/// So many columns may be label, ids, groups and others that are no features.
const SIDE_COLUMNS: usize = 16;

pub(in crate::data) fn read(lines: Lines<'_>, delimiter: char, options: &ReadOptions) -> Result<Table> {
    let name = lines.name;
    read_rows(name, Records { lines, delimiter }, options)
}

/// The table of rows of cells; `name` is that of the file in messages.
pub(super) fn read_rows(name: &str, mut records: impl Rows, options: &ReadOptions) -> Result<Table> {
    if options.transpose {
        return read_turned(name, records, options);
    }
    let mut cells = Cells::default();
    if !records.next(&mut cells)? {
        return Err(Error::data(Place::file(name), "the file is empty; give at least one row"));
    }
    let n_columns = cells.len();
    // Names and columns are made next: a long first line would make many of them.
    check_memory(name, 1, n_columns.saturating_sub(SIDE_COLUMNS), options.limit())?;
    let (header, roles) = match first_row(name, &cells, options) {
        Ok(found) => found,
        Err(error) => return Err(with_cause(error, &cells, records, options)),
    };
    if header {
        if !records.next(&mut cells)? {
            return Err(Error::data(Place::file(name), "the file holds a header but no rows; give at least one row"));
        }
        check_row_names(name, &cells, n_columns)?;
    }
    let mut body = Body::new(name, n_columns, roles, options);
    loop {
        check_width(name, &cells, n_columns)?;
        body.add(&cells)?;
        if !records.next(&mut cells)? {
            break;
        }
    }
    body.into_table()
}

/// The error about the first row of rows for a model, with the likely cause: a transposed table, or one without names.
fn with_cause(error: Error, first: &Cells, mut records: impl Rows, options: &ReadOptions) -> Error {
    let (place, message, expect) = match (error, &options.expect) {
        (Error::Data { place, message }, Some(expect)) => (place, message, expect),
        (error, _) => return error,
    };
    let is_told = |message: &Message| message.remedies().any(|remedy| *remedy == Remedy::Header(false));
    let names: HashSet<&str> = expect.names.iter().map(String::as_str).collect();
    let in_line = first.cells().filter(|cell| names.contains(cell)).count();
    if 4 * in_line > names.len() {
        return Error::data(place, message);
    }
    let (mut cells, mut in_column) = (Cells::default(), 0);
    while let Ok(true) = records.next(&mut cells) {
        in_column += usize::from(names.contains(cells.cell(0)));
    }
    let cause = match () {
        () if 2 * in_column > names.len() => message![
            "; the model's features stand in the first column: if samples are in columns, add ",
            Remedy::Transpose
        ],
        () if options.header.is_none() && is_header(first, options) && !is_told(&message) => {
            message![" (", no_names(), ")"]
        }
        () => Message::default(),
    };
    Error::data(place, message![message, cause])
}

/// Reads a transposed table, with samples as columns: ids in its first line, feature names in its first column.
fn read_turned(name: &str, mut records: impl Rows, options: &ReadOptions) -> Result<Table> {
    let mut rows = cells_of(name, &mut records, options.limit(), true)?;
    let n_columns = rows[rows.len() - 1].len();
    if rows.len() < 2 || n_columns < 2 {
        let message = "a table with samples in columns has a first line of sample ids and a first column of feature names; \
                       give at least one of each, or read it with samples in rows";
        return Err(Error::data(Place::file(name), message));
    }
    // The cell above the feature names is not the name of the sample ids.
    let is_short = rows[0].len() + 1 == n_columns;
    rows[0].blank_first(is_short);
    let options = ReadOptions { header: Some(true), ..options.clone() };
    let mut cells = Cells::default();
    cells.turn(&rows, 0);
    let (_, roles) = first_row(name, &cells, &options)?;
    let mut body = Body::new(name, rows.len(), roles, &options);
    for j in 1..n_columns {
        cells.turn(&rows, j);
        body.add(&cells)?;
    }
    body.into_table()
}

/// Whether the first row holds names, and the roles of the columns.
pub(super) fn first_row(name: &str, first: &Cells, options: &ReadOptions) -> Result<(bool, Roles)> {
    let header = options.header.unwrap_or_else(|| is_header(first, options));
    let mut roles = roles(name, first, header, options)?;
    let holds_number = || roles.features.iter().any(|&j| finite(first.cell(j)).is_some());
    if header && options.header.is_none() && holds_number() {
        roles.notes.push(message![
            format!(
                "line {} read as a header, though some of its cells are numbers; if it is a row, say ",
                first.line()
            ),
            Remedy::Header(false)
        ]);
    }
    Ok((header, roles))
}

#[cfg(test)]
mod tests;
