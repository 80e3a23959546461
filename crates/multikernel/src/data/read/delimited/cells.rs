//! Rows of delimited text, cell by cell.
//!
//! Cells are split here rather than by a crate so that every line number is right after blank lines, `\r\n` and quoted
//! line breaks, and an unclosed quote is an error instead of one long cell.

use crate::data::read::memory::out_of_memory;
use crate::data::read::text::Lines;
use crate::data::table::words::{columns, quoted};
use crate::error::{Error, Place, Result};

/// The cells of one row.
#[derive(Default)]
pub(in crate::data) struct Cells {
    text: String,
    /// The end of each cell in `text`, and the line it started on.
    ends: Vec<(usize, u64)>,
    /// The file column that all cells come from, if the table was transposed.
    turned: Option<usize>,
}

impl Cells {
    pub(in crate::data) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    pub(in crate::data) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Appends a cell of the row on a line.
    pub(in crate::data::read) fn push(&mut self, text: &str, line: u64) {
        self.text.push_str(text);
        self.ends.push((self.text.len(), line));
    }

    /// The bytes the row takes.
    pub(in crate::data::read) fn size(&self) -> u64 {
        (size_of::<Cells>() + self.text.capacity() + self.ends.capacity() * size_of::<(usize, u64)>()) as u64
    }

    /// Column `j` of rows.
    pub(in crate::data) fn turn(&mut self, rows: &[Cells], j: usize) {
        self.clear();
        self.turned = Some(j);
        for row in rows {
            self.text.push_str(row.cell(j));
            self.ends.push((self.text.len(), row.ends[j].1));
        }
    }

    /// Blanks the first cell, or inserts a blank one before it.
    pub(super) fn blank_first(&mut self, is_added: bool) {
        let line = self.line();
        if is_added {
            self.ends.insert(0, (0, line));
            return;
        }
        let length = self.ends[0].0;
        self.text.drain(..length);
        self.ends.iter_mut().for_each(|(end, _)| *end -= length);
    }

    /// Cell `j`, trimmed.
    pub(in crate::data) fn cell(&self, j: usize) -> &str {
        let start = if j == 0 { 0 } else { self.ends[j - 1].0 };
        self.text[start..self.ends[j].0].trim()
    }

    pub(in crate::data) fn cells(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|j| self.cell(j))
    }

    /// The first line of the row.
    pub(in crate::data) fn line(&self) -> u64 {
        self.ends.first().map_or(0, |&(_, line)| line)
    }

    /// The line of a cell.
    pub(super) fn line_of(&self, j: usize) -> u64 {
        self.ends[j].1
    }

    pub(in crate::data) fn place(&self, name: &str, j: usize) -> Place {
        Place::column(name, self.ends[j].1, self.turned.unwrap_or(j) as u64 + 1)
    }
}

/// Rows cell by cell, of text or of any other table whose cells can be written as text.
pub(in crate::data::read) trait Rows {
    /// Reads the next row that is not blank; false at the end.
    fn next(&mut self, cells: &mut Cells) -> Result<bool>;
}

/// Rows of delimited text.
pub(super) struct Records<'a> {
    pub(in crate::data) lines: Lines<'a>,
    pub(in crate::data::read) delimiter: char,
}

impl Rows for Records<'_> {
    fn next(&mut self, cells: &mut Cells) -> Result<bool> {
        cells.clear();
        let (mut open, began) = (None, self.lines.number() + 1);
        loop {
            let number = self.lines.number() + 1;
            let name = self.lines.name;
            let Some(line) = self.lines.next()? else {
                return match open {
                    None => Ok(false),
                    Some(began) => Err(Error::data(
                        Place::column(name, began, cells.len() as u64 + 1),
                        "the quote that opens this cell is never closed; close it, or double a quote inside a cell",
                    )),
                };
            };
            if open.is_none() && is_blank(line, self.delimiter) {
                continue;
            }
            open = split(line, self.delimiter, number, open, cells)
                .map_err(|message| Error::data(Place::column(name, number, cells.len() as u64 + 1), message))?;
            if open.is_none() {
                return Ok(true);
            }
            // A quote that never closes takes in all that follows.
            self.lines.check_row(cells.text.len(), began)?;
            cells.text.push('\n');
        }
    }
}

/// Whether a line holds no row.
pub(in crate::data::read) fn is_blank(line: &str, delimiter: char) -> bool {
    line.trim().is_empty() && !line.contains(delimiter)
}

/// Splits the single row on line `number` into `cells`. A quote has to close on its line: a stray one would otherwise
/// swallow everything after it, which in a stream never ends.
pub(in crate::data::read) fn split_alone(
    name: &str,
    line: &str,
    number: u64,
    delimiter: char,
    cells: &mut Cells,
) -> Result<()> {
    cells.clear();
    let open = split(line, delimiter, number, None, cells);
    let message = match open {
        Ok(None) => return Ok(()),
        Ok(Some(_)) => {
            let text = "the quote that opens this cell is not closed in its line; close it, or double a quote inside a cell \
                        (a row of a stream is one line)";
            text.to_string()
        }
        Err(message) => message,
    };
    Err(Error::data(Place::column(name, number, cells.len() as u64 + 1), message))
}

/// Adds the cells of one line; `open` is the line on which a still unclosed quoted cell started, before and after.
fn split(
    line: &str,
    delimiter: char,
    number: u64,
    open: Option<u64>,
    cells: &mut Cells,
) -> std::result::Result<Option<u64>, String> {
    let (mut rest, mut began, mut inside) = (line, open.unwrap_or(number), open.is_some());
    loop {
        if !inside && let Some(after) = rest.trim_start_matches(' ').strip_prefix('"') {
            (rest, inside) = (after, true);
        }
        if inside {
            let Some(after) = unquote(rest, &mut cells.text) else { return Ok(Some(began)) };
            rest = after;
        }
        let (cell, next) = match rest.split_once(delimiter) {
            Some((cell, next)) => (cell, Some(next)),
            None => (rest, None),
        };
        if inside && !cell.trim().is_empty() {
            return Err(format!(
                "{} follows a closing quote; double a quote that is part of the cell",
                quoted(cell.trim())
            ));
        }
        cells.text.push_str(if inside { "" } else { cell });
        cells.ends.push((cells.text.len(), began));
        let Some(next) = next else { return Ok(None) };
        (rest, began, inside) = (next, number, false);
    }
}

/// Appends quoted text up to its closing quote to `text`; returns the remainder, or `None` if the line ends inside.
fn unquote<'a>(mut rest: &'a str, text: &mut String) -> Option<&'a str> {
    loop {
        let Some((piece, after)) = rest.split_once('"') else {
            text.push_str(rest);
            return None;
        };
        text.push_str(piece);
        match after.strip_prefix('"') {
            Some(after) => {
                text.push('"');
                rest = after;
            }
            None => return Some(after),
        }
    }
}

/// The rows of delimited text, cell by cell; all have the same number of columns, and there is at least one.
pub(in crate::data) fn read_cells(lines: Lines<'_>, delimiter: char, limit: u64) -> Result<Vec<Cells>> {
    let name = lines.name;
    cells_of(name, &mut Records { lines, delimiter }, limit, false)
}

/// [`read_cells`], where the first row may have one cell fewer, as R writes tables with row names.
pub(in crate::data::read) fn cells_of(
    name: &str,
    records: &mut impl Rows,
    limit: u64,
    may_be_short: bool,
) -> Result<Vec<Cells>> {
    let (mut rows, mut need) = (Vec::<Cells>::new(), 0);
    loop {
        let mut cells = Cells::default();
        if !records.next(&mut cells)? {
            break;
        }
        let n_columns = rows.last().map_or(cells.len(), Cells::len);
        if !(may_be_short && rows.len() == 1 && cells.len() == n_columns + 1) {
            check_width(name, &cells, n_columns)?;
        }
        need += cells.size();
        if need > limit {
            return Err(out_of_memory(name, rows.len() + 1, cells.len(), need, limit));
        }
        rows.push(cells);
    }
    if rows.is_empty() {
        return Err(Error::data(Place::file(name), "the file is empty; give at least one row"));
    }
    Ok(rows)
}

/// Checks for a first row after the header with one cell more than it: row names without their own column.
pub(in crate::data::read) fn check_row_names(name: &str, first: &Cells, n_columns: usize) -> Result<()> {
    if first.len() != n_columns + 1 {
        return Ok(());
    }
    let message = format!(
        "found {}, the header has {n_columns}; give row names a column of their own, with a blank or `id` in the header",
        columns(first.len())
    );
    Err(Error::data(Place::line(name, first.line()), message))
}

pub(in crate::data::read) fn check_width(name: &str, cells: &Cells, n_columns: usize) -> Result<()> {
    if cells.len() != n_columns {
        let n = cells.len();
        let message = format!("found {}, the first line has {n_columns}; give every row the same", columns(n));
        return Err(Error::data(Place::line(name, cells.line()), message));
    }
    Ok(())
}
