//! Detecting a header in delimited text, and interpreting it.

use std::collections::{HashMap, HashSet};

use super::cells::Cells;
use crate::data::read::options::ReadOptions;
use crate::data::read::roles::{LABEL_NAMES, Roles, is_one_of, label_names, no_names, of_columns};
use crate::data::table::words::position;
use crate::data::table::words::{is_word, quoted};
use crate::error::{Error, Message, Result, message};

/// Whether the first row holds names.
pub(super) fn is_header(first: &Cells, options: &ReadOptions) -> bool {
    let n = first.len();
    if let Some(expect) = &options.expect {
        let cells: HashSet<&str> = first.cells().collect();
        if expect.names.iter().all(|name| cells.contains(name.as_str())) {
            return true;
        }
        // As many cells as features: none of them is a label.
        if n == expect.names.len() && options.label.is_none() {
            return first.cells().any(is_word);
        }
    }
    let named = |wanted: &String| is_word(wanted) && first.cells().any(|cell| cell == wanted);
    if [options.label.as_ref(), options.id_column(), options.groups.as_ref()].into_iter().flatten().any(named) {
        return true;
    }
    let told = |wanted: Option<&String>| wanted.and_then(|wanted| position(wanted, n));
    let aside = [told(options.id_column()), told(options.groups.as_ref())];
    let is_free = |j: usize| !aside.contains(&Some(j));
    let label = if options.has_no_label() {
        None
    } else {
        let known = || (0..n).find(|&j| is_one_of(first.cell(j), label_names(options)));
        let last = || (0..n).rev().find(|&j| options.takes_last() && is_free(j));
        told(options.label.as_ref()).or_else(known).or_else(last)
    };
    // A class of the model is not a name.
    let is_class = |j: usize| options.expect.as_ref().is_some_and(|expect| expect.is_class(first.cell(j)));
    // A lone 'y' may be a class (yes and no); the longer words are names.
    heads_row_names(first)
        || label.is_some_and(|j| is_one_of(first.cell(j), &LABEL_NAMES[..3]))
        || (0..n).any(|j| Some(j) != label && is_free(j) && is_word(first.cell(j)) && !is_class(j))
}

/// Whether the first row is a blank followed by distinct words or whole numbers: column names with none for the row
/// names. Whole numbers are the names of columns that were only counted.
fn heads_row_names(first: &Cells) -> bool {
    let mut seen = HashSet::new();
    let is_name = |cell: &str| is_word(cell) || cell.bytes().all(|byte| byte.is_ascii_digit());
    first.len() > 1
        && first.cell(0).is_empty()
        && (1..first.len()).map(|j| first.cell(j)).all(|cell| !cell.is_empty() && is_name(cell) && seen.insert(cell))
}

/// The role of each column of a file, from its first row and the options.
pub(in crate::data::read) fn roles(file: &str, first: &Cells, header: bool, options: &ReadOptions) -> Result<Roles> {
    let names = if header { Some(header_names(file, first, options.header.is_none())?) } else { None };
    of_columns(file, first.len(), names, options)
}

/// The names in the first row, all distinct; blank ones become positions, except that the first stays blank, the
/// convention for row names.
fn header_names(file: &str, first: &Cells, is_guess: bool) -> Result<Vec<String>> {
    let mut seen = HashMap::new();
    let mut names = Vec::with_capacity(first.len());
    for (j, cell) in first.cells().enumerate() {
        let column = if cell.is_empty() && j > 0 { format!("x{}", j + 1) } else { cell.to_string() };
        if let Some(before) = seen.insert(column.clone(), j + 1) {
            let hint = if is_guess { message![" (", no_names(), ")"] } else { Message::default() };
            let twice = format!("columns {before} and {} are both called {}; rename one", j + 1, quoted(&column));
            return Err(Error::data(first.place(file, j), message![twice, hint]));
        }
        names.push(column);
    }
    Ok(names)
}
