//! Aligned plain-text tables.

use std::fmt;

use super::{one_line, width};

/// A plain-text table with aligned columns; printing it gives one line for the header, a rule, and one for each row.
///
/// A column whose cells are all numbers (also `0.91 ± 0.02`, `[-0.1, 0.3]`, `95%`; empty cells and `-` do not count) is
/// aligned right, any other left. Width is counted in characters.
///
/// ```
/// use multikernel::report::Table;
/// let mut table = Table::new(&["method", "accuracy"]);
/// table.row(vec!["mklda", "0.9300"]);
/// table.row(vec!["average".to_string(), format!("{:.4}", 0.9)]);
/// assert_eq!(
///     table.to_string(),
///     "method   accuracy\n\
///      -------  --------\n\
///      mklda      0.9300\n\
///      average    0.9000\n"
/// );
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new(header: &[&str]) -> Self {
        Table { header: header.iter().map(|text| one_line(text)).collect(), rows: Vec::new() }
    }

    /// Adds a row. Missing cells stay empty; cells beyond the header get a column without a name.
    pub fn row<T: Into<String>>(&mut self, cells: Vec<T>) -> &mut Self {
        let cells: Vec<String> = cells.into_iter().map(|cell| one_line(&cell.into())).collect();
        if cells.len() > self.header.len() {
            self.header.resize(cells.len(), String::new());
        }
        self.rows.push(cells);
        self
    }

    /// Cells of column `j` in rows long enough to have one.
    fn column(&self, j: usize) -> impl Iterator<Item = &str> {
        self.rows.iter().filter_map(move |row| row.get(j)).map(String::as_str)
    }

    fn layout(&self) -> Vec<Column> {
        (0..self.header.len())
            .map(|j| Column {
                width: self.column(j).map(width).fold(width(&self.header[j]), usize::max),
                right: self.column(j).any(is_number) && self.column(j).all(|cell| is_blank(cell) || is_number(cell)),
            })
            .collect()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.header.is_empty() {
            return Ok(());
        }
        let layout = self.layout();
        let rule: Vec<String> = layout.iter().map(|column| "-".repeat(column.width)).collect();
        for cells in [&self.header, &rule].into_iter().chain(&self.rows) {
            writeln!(f, "{}", line(cells, &layout))?;
        }
        Ok(())
    }
}

struct Column {
    width: usize,
    right: bool,
}

fn line(cells: &[String], layout: &[Column]) -> String {
    let mut line = String::new();
    for (cell, column) in cells.iter().zip(layout) {
        let w = column.width;
        line += &if column.right { format!("{cell:>w$}  ") } else { format!("{cell:<w$}  ") };
    }
    line.truncate(line.trim_end().len());
    line
}

fn is_blank(cell: &str) -> bool {
    matches!(cell.trim(), "" | "-" | "–" | "—")
}

/// Whether every word of the cell is a number, up to the signs that numbers come in.
fn is_number(cell: &str) -> bool {
    let is_part = |word: &str| {
        let bare = word.trim_matches(['[', ']', '(', ')', ',', '%', '±']);
        bare.parse::<f64>().is_ok() || word == "±"
    };
    !is_blank(cell) && cell.split_whitespace().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_numbers_and_text_are_aligned_right_and_left() {
        let mut table = Table::new(&["method", "accuracy", "interval", "n", "note"]);
        table.row(vec!["mkboost-d1", "0.9312 ± 0.0120", "[-0.0100, 0.0300]", "5", "2 runs"]);
        table.row(vec!["svm", "1 ± 0", "-", "100", ""]);
        let expected = "\
method             accuracy           interval    n  note
----------  ---------------  -----------------  ---  ------
mkboost-d1  0.9312 ± 0.0120  [-0.0100, 0.0300]    5  2 runs
svm                   1 ± 0                  -  100
";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn table_unicode_text_is_measured_in_characters() {
        let mut table = Table::new(&["nom", "x"]);
        table.row(vec!["été", "1"]).row(vec!["a", "-2.5"]);
        assert_eq!(table.to_string(), "nom     x\n---  ----\nété     1\na    -2.5\n");
    }

    #[test]
    fn table_uneven_rows_keep_every_cell() {
        let mut table = Table::new(&["a", "b"]);
        table.row(vec!["x"]).row(vec!["y", "1", "z"]);
        assert_eq!(table.to_string(), "a  b\n-  -  -\nx\ny  1  z\n");
    }

    #[test]
    fn table_control_characters_become_spaces() {
        let mut table = Table::new(&["a\tb"]);
        table.row(vec!["x\n\u{1b}[31m"]);
        assert_eq!(table.to_string(), "a b\n-------\nx  [31m\n");
    }

    #[test]
    fn table_without_rows_or_columns_prints_what_there_is() {
        assert_eq!(Table::new(&["method", "n"]).to_string(), "method  n\n------  -\n");
        assert_eq!(Table::new(&[]).to_string(), "");
    }

    #[test]
    fn table_column_of_blanks_is_text() {
        let mut table = Table::new(&["auroc"]);
        table.row(vec!["-"]);
        assert_eq!(table.to_string(), "auroc\n-----\n-\n");
    }
}
