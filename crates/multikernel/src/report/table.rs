//! Aligned plain-text tables.

use std::fmt;

use super::{WIDTH, one_line, width, wrap_list};

/// Text columns are not made narrower than this, so that a few words fit on a line; the first, which identifies the
/// row, may be.
const MIN_COLUMN: usize = 24;
const MIN_FIRST_COLUMN: usize = 14;

/// A plain-text table with aligned columns; printing it gives one line for the header, a rule, and one for each row.
///
/// A column whose cells are all numbers (including `0.91 ± 0.02`, `[-0.1, 0.3]`, `95%`; empty cells and `-` do not
/// count) is right-aligned, any other left-aligned. Width is counted in characters. In a table wider than 80, headers
/// and texts are wrapped; if it is still too wide, it is printed as several tables, each with the first column.
///
/// ```
/// use multikernel::report::TextTable;
/// let mut table = TextTable::new(&["method", "accuracy"]);
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
pub struct TextTable {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl TextTable {
    /// A table without rows.
    pub fn new(header: &[&str]) -> Self {
        TextTable { header: header.iter().map(|text| one_line(text)).collect(), rows: Vec::new() }
    }

    /// Adds a row. Missing cells stay empty; cells beyond the header get an unnamed column.
    pub fn row<T: Into<String>>(&mut self, cells: Vec<T>) -> &mut Self {
        let cells: Vec<String> = cells.into_iter().map(|cell| one_line(&cell.into())).collect();
        if cells.len() > self.header.len() {
            self.header.resize(cells.len(), String::new());
        }
        self.rows.push(cells);
        self
    }

    /// The table in lines of at most `limit` characters, as far as numbers leave room.
    ///
    /// ```
    /// let mut table = multikernel::report::TextTable::new(&["meaning", "value"]);
    /// table.row(vec!["a text that is rather long for its line", "0.5"]);
    /// assert!(table.within(30).lines().all(|line| line.chars().count() <= 30));
    /// ```
    pub fn within(&self, limit: usize) -> String {
        let columns = self.columns();
        let blocks: Vec<String> = blocks(&columns, limit)
            .into_iter()
            .map(|block| {
                let chosen: Vec<&Column> = block.iter().map(|&j| &columns[j]).collect();
                self.block(&block, &chosen, &fitted(&chosen, limit))
            })
            .collect();
        blocks.join("\n")
    }

    /// Cells of column `j` in rows long enough to have one.
    fn column(&self, j: usize) -> impl Iterator<Item = &str> {
        self.rows.iter().filter_map(move |row| row.get(j)).map(String::as_str)
    }

    fn columns(&self) -> Vec<Column> {
        (0..self.header.len())
            .map(|j| Column {
                head: width(&self.header[j]),
                word: self.header[j].split_whitespace().map(width).max().unwrap_or(0),
                cells: self.column(j).map(width).max().unwrap_or(0),
                least: if j == 0 { MIN_FIRST_COLUMN } else { MIN_COLUMN },
                right: self.column(j).any(is_number) && self.column(j).all(|cell| is_blank(cell) || is_number(cell)),
            })
            .collect()
    }

    /// Some of the columns, at the given widths.
    fn block(&self, chosen: &[usize], columns: &[&Column], widths: &[usize]) -> String {
        let mut text = lines(chosen.iter().map(|&j| self.header[j].as_str()), columns, widths, 0);
        let rule: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
        text += &lines(rule.iter().map(String::as_str), columns, widths, 0);
        for row in &self.rows {
            text += &lines(chosen.iter().map(|&j| row.get(j).map_or("", String::as_str)), columns, widths, 2);
        }
        text
    }
}

impl fmt::Display for TextTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.within(WIDTH))
    }
}

struct Column {
    /// Width of the header, and of its longest word.
    head: usize,
    word: usize,
    /// Width of the widest cell.
    cells: usize,
    /// Width below which texts are not wrapped.
    least: usize,
    right: bool,
}

impl Column {
    /// Width without any wrapping.
    fn natural(&self) -> usize {
        self.head.max(self.cells)
    }

    /// Width with the header wrapped.
    fn tight(&self) -> usize {
        self.word.max(self.cells)
    }

    /// Width with texts wrapped as well.
    fn least(&self) -> usize {
        if self.right { self.tight() } else { self.tight().min(self.least) }
    }
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1)
}

/// Groups of columns that fit side by side: all of them if possible, else as many as fit beside the first.
fn blocks(columns: &[Column], limit: usize) -> Vec<Vec<usize>> {
    let mut blocks: Vec<Vec<usize>> = vec![];
    for j in 0..columns.len() {
        let fits = |block: &Vec<usize>| {
            let widths: Vec<usize> = block.iter().chain([&j]).map(|&j| columns[j].least()).collect();
            block.len() < 2 || total(&widths) <= limit
        };
        match blocks.last_mut().filter(|block| fits(block)) {
            Some(block) => block.push(j),
            None if j == 0 => blocks.push(vec![0]),
            None => blocks.push(vec![0, j]),
        }
    }
    blocks
}

/// The column widths: unwrapped, or with headers wrapped, or with the widest texts wrapped, whichever fits first.
fn fitted(columns: &[&Column], limit: usize) -> Vec<usize> {
    let mut widths: Vec<usize> = columns.iter().map(|column| column.natural()).collect();
    if total(&widths) <= limit {
        return widths;
    }
    widths = columns.iter().map(|column| column.tight()).collect();
    while total(&widths) > limit {
        let wide = (0..widths.len()).filter(|&j| widths[j] > columns[j].least()).max_by_key(|&j| widths[j]);
        let Some(j) = wide else { break };
        widths[j] -= 1;
    }
    widths
}

/// One row of cells as one line, or as several if cells are wrapped.
fn lines<'c>(cells: impl Iterator<Item = &'c str>, columns: &[&Column], widths: &[usize], indent: usize) -> String {
    let wrapped: Vec<Vec<String>> = cells.zip(widths).map(|(cell, &width)| wrap_list(cell, width, indent)).collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(0).max(1);
    let mut text = String::new();
    for at in 0..height {
        let mut line = String::new();
        for ((cell, column), &w) in wrapped.iter().zip(columns).zip(widths) {
            let cell = cell.get(at).map_or("", String::as_str);
            line += &if column.right { format!("{cell:>w$}  ") } else { format!("{cell:<w$}  ") };
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

fn is_blank(cell: &str) -> bool {
    matches!(cell.trim(), "" | "-" | "–" | "—")
}

/// Whether every word of the cell is a number, apart from the usual signs around numbers.
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
        let mut table = TextTable::new(&["method", "accuracy", "interval", "n", "note"]);
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
        let mut table = TextTable::new(&["nom", "x"]);
        table.row(vec!["été", "1"]).row(vec!["a", "-2.5"]);
        assert_eq!(table.to_string(), "nom     x\n---  ----\nété     1\na    -2.5\n");
    }

    #[test]
    fn table_uneven_rows_keep_every_cell() {
        let mut table = TextTable::new(&["a", "b"]);
        table.row(vec!["x"]).row(vec!["y", "1", "z"]);
        assert_eq!(table.to_string(), "a  b\n-  -  -\nx\ny  1  z\n");
    }

    #[test]
    fn table_control_characters_become_spaces() {
        let mut table = TextTable::new(&["a\tb"]);
        table.row(vec!["x\n\u{1b}[31m"]);
        assert_eq!(table.to_string(), "a b\n-------\nx  [31m\n");
    }

    #[test]
    fn table_without_rows_or_columns_prints_what_there_is() {
        assert_eq!(TextTable::new(&["method", "n"]).to_string(), "method  n\n------  -\n");
        assert_eq!(TextTable::new(&[]).to_string(), "");
    }

    #[test]
    fn table_column_of_blanks_is_text() {
        let mut table = TextTable::new(&["auroc"]);
        table.row(vec!["-"]);
        assert_eq!(table.to_string(), "auroc\n-----\n-\n");
    }

    #[test]
    fn table_too_wide_has_headers_wrapped_then_texts_then_is_several() {
        let mut table = TextTable::new(&["kernel", "share of the decision", "n"]);
        table.row(vec!["gaussian(2) on a view", "0.25", "1"]).row(vec!["linear", "0.75", "10"]);
        let headers = "\
kernel                 share of   n
                            the
                       decision
---------------------  --------  --
gaussian(2) on a view      0.25   1
linear                     0.75  10
";
        assert_eq!(table.within(40), headers);
        let texts = "\
kernel          share of   n
                     the
                decision
--------------  --------  --
gaussian(2) on      0.25   1
  a view
linear              0.75  10
";
        assert_eq!(table.within(28), texts);
        let several = "\
kernel            share of
                       the
                  decision
----------------  --------
gaussian(2) on a      0.25
  view
linear                0.75

kernel                  n
---------------------  --
gaussian(2) on a view   1
linear                 10
";
        assert_eq!(table.within(26), several);
    }

    #[test]
    fn table_fits_its_width_whatever_the_cells() {
        let word = "w".repeat(200);
        let mut table = TextTable::new(&["method", "a long header", "c", "d", "e", "f", "g", "h"]);
        table.row(vec![word.as_str(), "1", &word, "0.9312 ± 0.0120", "[-0.0100, 0.0300]", "x y", &word, "12345678901"]);
        for limit in [40, 60, 80] {
            let text = table.within(limit);
            assert!(text.lines().all(|line| width(line) <= limit), "{limit}\n{text}");
            assert!(text.contains("12345678901") && text.contains("x y"), "{text}");
            assert!(text.matches('w').count() >= 600, "nothing is lost by wrapping");
        }
    }
}
