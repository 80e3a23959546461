//! LIBSVM text: `label index:value index:value ... # comment`.

use super::memory::{check_memory, check_sparse_memory, out_of_memory};
use super::options::ReadOptions;
use super::text::Lines;
use crate::data::table::words::{finite, is_missing, not_finite, quoted};
use crate::data::table::{Expect, Samples, Table, numbered};
use crate::error::{Error, Message, Place, Result};
use crate::features::{Features, Sparse};
use crate::linalg::Matrix;

/// Larger indices are refused: a name for each column would not fit in memory.
const MAX_INDEX: u64 = 1 << 31;

/// A label, besides its letters.
const LABEL_BYTES: usize = 32;

/// Tables with up to this many columns are dense: rows this short gain nothing from sparsity.
const DENSE_COLS: usize = 64;

/// Tables in which at least one value in this many is nonzero are dense: whole rows are then faster to process.
const DENSE_SHARE: usize = 4;

/// Whether a line looks like LIBSVM text: at least one `index:value` and nothing else after the first word.
pub(super) fn looks_like(line: &str) -> bool {
    let pair = |word: &str| match word.split_once(':') {
        Some((index, value)) => index == "qid" || (index.parse::<u64>().is_ok() && value.parse::<f64>().is_ok()),
        None => false,
    };
    let mut words = words(line).map(|(_, word)| word);
    let Some(first) = words.next() else { return false };
    let rest: Vec<&str> = words.collect();
    rest.iter().all(|word| pair(word)) && (pair(first) || !rest.is_empty())
}

/// The words before the comment, each with its byte offset.
fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    line.split_ascii_whitespace()
        // A '#' inside a word is part of it, as in the class 'c#'.
        .take_while(|word| !word.starts_with('#'))
        .map(|word| (word.as_ptr() as usize - line.as_ptr() as usize, word))
}

/// Rows as they arrive, before the number of columns is known.
#[derive(Default)]
pub(super) struct SparseRows {
    /// Whether every row needs a label.
    needed: bool,
    /// The row being read: index, offset in the line and value of each pair.
    row: Vec<(u32, usize, f64)>,
    /// The concatenated indices of all rows, ascending within a row.
    indices: Vec<u32>,
    /// The value at each index.
    values: Vec<f64>,
    /// End offset of each row in these.
    ends: Vec<usize>,
    labels: Vec<String>,
    /// Bytes of the labels.
    label_bytes: usize,
    labelled: Option<bool>,
    has_zero: bool,
    largest: Option<u32>,
    queries: bool,
}

pub(super) fn read(mut lines: Lines<'_>, options: &ReadOptions) -> Result<Table> {
    check_options(options)?;
    let needed = !options.unlabelled && options.expect.is_none() && options.takes_last();
    let mut rows = SparseRows::new(needed);
    let name = lines.name;
    let mut number = 0;
    while let Some(line) = lines.next()? {
        number += 1;
        rows.add(&Line { name, number, text: line }, options)?;
    }
    if rows.ends.is_empty() {
        return Err(Error::data(Place::file(name), "the file holds no rows; give at least one"));
    }
    rows.into_table(name, options)
}

/// Refuses options that name a column: LIBSVM text has no named columns.
pub(super) fn check_options(options: &ReadOptions) -> Result<()> {
    // One of several joined files need not have the columns named in the options.
    let whole = options.part.is_none();
    if whole && options.label.is_some() {
        return Err(Error::param("label", "LIBSVM text has its label first in each row; leave the label column out"));
    }
    for (option, given, what) in [("id", options.id_column(), "ids"), ("groups", options.groups.as_ref(), "groups")] {
        if whole && given.is_some() {
            let message = format!("LIBSVM text has no column of {what}; leave it out, or give delimited text");
            return Err(Error::param(option, message));
        }
    }
    Ok(())
}

/// A line and its position.
pub(super) struct Line<'a> {
    pub(super) name: &'a str,
    pub(super) number: u64,
    pub(super) text: &'a str,
}

impl Line<'_> {
    /// An error at the word that starts at byte `at`.
    fn error(&self, at: usize, message: impl Into<Message>) -> Error {
        Error::data(Place::column(self.name, self.number, self.column(at)), message)
    }

    fn column(&self, at: usize) -> u64 {
        self.text[..at].chars().count() as u64 + 1
    }
}

impl SparseRows {
    /// No rows yet; `needed` if each row must have a label.
    pub(super) fn new(needed: bool) -> Self {
        SparseRows { needed, ..SparseRows::default() }
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Adds one line; blank and comment lines are not rows. An error leaves the rows unchanged.
    pub(super) fn add(&mut self, line: &Line<'_>, options: &ReadOptions) -> Result<()> {
        let mut words = words(line.text).peekable();
        let Some(&(at, first)) = words.peek() else { return Ok(()) };
        let labelled = !first.contains(':');
        self.check_label(line, at, labelled)?;
        if labelled {
            words.next();
        }
        let mut row = std::mem::take(&mut self.row);
        row.clear();
        for (at, word) in words {
            if word.starts_with("qid:") {
                self.queries = true;
                continue;
            }
            let (index, value) = pair(line, at, word)?;
            check_index(line, at, index, options.expect.as_ref())?;
            row.push((index, at, value));
            let need = (row.len() * size_of::<(u32, usize, f64)>()) as u64;
            if need > options.limit() {
                return Err(out_of_memory(line.name, self.ends.len() + 1, index as usize, need, options.limit()));
            }
        }
        // Words are already in order, so equal indices stay in line order.
        row.sort_by_key(|&(index, ..)| index);
        if let Some(twice) = row.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let first = line.column(twice[0].1);
            let message = format!("index {} occurs twice in this row (first at {first}); keep one", twice[0].0);
            return Err(line.error(twice[1].1, message));
        }
        self.store(line.name, &row, options)?;
        if labelled && !options.unlabelled {
            let label = canonical(first);
            self.label_bytes += label.len() + LABEL_BYTES;
            self.labels.push(label);
        }
        self.row = row;
        Ok(())
    }

    /// Checks that all rows have a label, or that none has and none is needed.
    fn check_label(&mut self, line: &Line<'_>, at: usize, labelled: bool) -> Result<()> {
        if self.needed && !labelled {
            return Err(
                line.error(at, "the row has no label before its first index:value; begin each row with its label")
            );
        }
        let before = *self.labelled.get_or_insert(labelled);
        if before != labelled {
            let message = if before {
                "the row has no label but the rows before have one; label all rows or none"
            } else {
                "the row has a label but the rows before have none; label all rows or none"
            };
            return Err(line.error(at, message));
        }
        Ok(())
    }

    fn store(&mut self, name: &str, row: &[(u32, usize, f64)], options: &ReadOptions) -> Result<()> {
        let need =
            (self.values.len() + row.len()) as u64 * 12 + (self.ends.len() + 1) as u64 * 8 + self.label_bytes as u64;
        let room = self.indices.try_reserve(row.len()).is_ok() && self.values.try_reserve(row.len()).is_ok();
        if need > options.limit() || !room {
            return Err(out_of_memory(name, self.ends.len() + 1, self.n_indices(), need, options.limit()));
        }
        self.indices.extend(row.iter().map(|&(index, ..)| index));
        self.values.extend(row.iter().map(|&(.., value)| value));
        self.ends.push(self.values.len());
        self.has_zero |= row.first().is_some_and(|&(index, ..)| index == 0);
        self.largest = self.largest.max(row.last().map(|&(index, ..)| index));
        Ok(())
    }

    /// The number of columns so far, if indices start at 1 unless 0 occurs.
    fn n_indices(&self) -> usize {
        self.largest.map_or(0, |largest| largest as usize + usize::from(self.has_zero))
    }

    pub(super) fn into_table(mut self, name: &str, options: &ReadOptions) -> Result<Table> {
        let mut notes = Vec::new();
        let n_cols = options.expect.as_ref().map_or(self.n_indices(), |expect| expect.names.len());
        // Checked before creating the names, of which a huge index would make many.
        let is_sparse = self.is_sparse(n_cols);
        self.check_memory(name, n_cols, is_sparse, options.limit())?;
        let (base, names) = match &options.expect {
            Some(expect) => (expect.index_base.unwrap_or(1), expect.names.clone()),
            None => {
                let base = u8::from(!self.has_zero);
                if self.largest.is_none() {
                    let message = "no row has an index:value; check that this is LIBSVM text";
                    return Err(Error::data(Place::file(name), message));
                }
                if self.has_zero {
                    notes.push("zero-based indices: the first column is x0".into());
                }
                (base, numbered(usize::from(base), n_cols))
            }
        };
        if self.queries {
            notes.push("qid: ignored".into());
        }
        if options.unlabelled && self.labelled == Some(true) {
            notes.push("labels ignored".into());
        }
        let labels = std::mem::take(&mut self.labels);
        let labels = (self.labelled == Some(true) && !options.unlabelled).then_some(labels);
        let features: Features = if is_sparse {
            self.into_sparse(base, n_cols)?.into()
        } else {
            self.dense(name, base, n_cols, options)?.into()
        };
        Ok(Table {
            name: name.to_string(),
            source: name.to_string(),
            samples: Samples::new(features, names)?,
            labels,
            label_name: None,
            label_column: None,
            groups: None,
            group_name: None,
            some_labels: None,
            targets: None,
            told: vec![],
            index_base: Some(base),
            columns: vec![],
            notes,
        })
    }

    /// Whether the rows stay sparse. Decided by the values alone, without counting explicit zeros, so that a given
    /// table always has the same storage.
    fn is_sparse(&self, n_cols: usize) -> bool {
        let n_stored = self.values.iter().filter(|value| is_stored(**value)).count();
        n_cols > DENSE_COLS && (n_stored as u128 * DENSE_SHARE as u128) < self.ends.len() as u128 * n_cols as u128
    }

    fn check_memory(&self, name: &str, n_cols: usize, is_sparse: bool, limit: u64) -> Result<()> {
        if is_sparse {
            check_sparse_memory(name, self.ends.len(), n_cols, self.values.len(), limit)
        } else {
            check_memory(name, self.ends.len(), n_cols, limit)
        }
    }

    /// The same numbers in sparse storage: columns from 0, without the zeros.
    fn into_sparse(self, base: u8, n_cols: usize) -> Result<Sparse> {
        let SparseRows { mut indices, mut values, mut ends, .. } = self;
        let (mut start, mut kept) = (0, 0);
        for end in &mut ends {
            for k in start..*end {
                if is_stored(values[k]) {
                    indices[kept] = indices[k] - u32::from(base);
                    values[kept] = values[k];
                    kept += 1;
                }
            }
            (start, *end) = (*end, kept);
        }
        indices.truncate(kept);
        values.truncate(kept);
        indices.shrink_to_fit();
        values.shrink_to_fit();
        Sparse::from_parts(ends, indices, values, vec![0.0; n_cols])
    }

    fn dense(&self, name: &str, base: u8, n_cols: usize, options: &ReadOptions) -> Result<Matrix> {
        let n_rows = self.ends.len();
        let need = n_rows as u64 * n_cols as u64 * 8;
        let mut matrix = Matrix::try_zeros(n_rows, n_cols)
            .ok_or_else(|| out_of_memory(name, n_rows, n_cols, need, options.limit()))?;
        let mut start = 0;
        for (i, &end) in self.ends.iter().enumerate() {
            let row = matrix.row_mut(i);
            for k in start..end {
                row[self.indices[k] as usize - usize::from(base)] = self.values[k];
            }
            start = end;
        }
        Ok(matrix)
    }
}

/// Whether a value differs from that of omitted entries; -0 does.
fn is_stored(value: f64) -> bool {
    value.to_bits() != 0
}

/// The index and value of one word.
fn pair(line: &Line<'_>, at: usize, word: &str) -> Result<(u32, f64)> {
    let Some((index, value)) = word.split_once(':') else {
        return Err(line.error(at, format!("expected index:value, found {}", quoted(word))));
    };
    if index.is_empty() || !index.bytes().all(|byte| byte.is_ascii_digit()) {
        let message = format!("the index in {} must be a whole number from 0 or 1", quoted(word));
        return Err(line.error(at, message));
    }
    let index = index.parse::<u64>().ok().filter(|&index| index <= MAX_INDEX).ok_or_else(|| {
        line.error(at, format!("index {index} is above the largest allowed, {MAX_INDEX}; renumber the features"))
    })?;
    let value = finite(value).ok_or_else(|| {
        let message = match value {
            "" => format!("the value after {} is missing; leave out what is zero", quoted(word)),
            value if is_missing(value) => {
                format!("missing value {} at index {index}; remove the row or fill it in first", quoted(value))
            }
            value => format!("the value {} {}; remove the row or correct it", quoted(value), not_finite(value)),
        };
        line.error(at, message)
    })?;
    // MAX_INDEX fits.
    Ok((index as u32, value))
}

/// In prediction an index must be known to the model.
fn check_index(line: &Line<'_>, at: usize, index: u32, expect: Option<&Expect>) -> Result<()> {
    let Some(expect) = expect else { return Ok(()) };
    let base = usize::from(expect.index_base.unwrap_or(1));
    let last = expect.names.len() + base - 1;
    if (base..=last).contains(&(index as usize)) {
        return Ok(());
    }
    Err(line.error(at, format!("index {index} is unknown to the model, which has {base} to {last}; remove it")))
}

/// One spelling per number: `+1` and `1.0` become the class `1`; other labels are unchanged.
fn canonical(label: &str) -> String {
    // Exactly representable whole numbers only: beyond 2^53 two labels could become one.
    const WHOLE: f64 = 9_007_199_254_740_992.0;
    match finite(label) {
        Some(number) if number.abs() < WHOLE => (number + 0.0).to_string(),
        Some(_) => label.trim_start_matches('+').to_string(),
        None => label.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Format, read_from};

    fn options() -> ReadOptions {
        ReadOptions { format: Some(Format::Libsvm), ..Default::default() }
    }

    fn read(text: &str) -> Table {
        read_from(text.as_bytes(), "f", &options()).unwrap()
    }

    fn message(text: &str, options: &ReadOptions) -> String {
        read_from(text.as_bytes(), "f", options).unwrap_err().to_string()
    }

    #[test]
    fn rows_with_comments_queries_and_any_order_are_read() {
        let table = read("# head\n\n+1 qid:3 3:1e-2 1:-2 # tail 9:9\r\n  -1\t2:.5  \nc# 1:+7\n2.50\n");
        assert_eq!(table.samples.names(), ["x1", "x2", "x3"]);
        assert_eq!(
            table.samples.features().to_dense().unwrap().data(),
            [-2.0, 0.0, 0.01, 0.0, 0.5, 0.0, 7.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        );
        assert_eq!(table.labels.unwrap(), ["1", "-1", "c#", "2.5"]);
        assert_eq!(table.notes, ["qid: ignored"]);
        assert_eq!(table.index_base, Some(1));
    }

    #[test]
    fn index_0_anywhere_means_zero_based() {
        let table = read("1 1:5\n2 0:3 2:4\n");
        assert_eq!(table.samples.names(), ["x0", "x1", "x2"]);
        assert_eq!(table.samples.features().to_dense().unwrap().data(), [0.0, 5.0, 0.0, 3.0, 0.0, 4.0]);
        assert_eq!(table.index_base, Some(0));
        assert_eq!(table.notes, ["zero-based indices: the first column is x0"]);
    }

    #[test]
    fn labels_one_spelling_per_number() {
        for (label, expected) in [
            ("+1", "1"),
            ("1.0", "1"),
            ("1e0", "1"),
            ("-0", "0"),
            ("007", "7"),
            ("2.5", "2.5"),
            ("90071992547409921", "90071992547409921"),
            ("+90071992547409923", "90071992547409923"),
            ("+a", "+a"),
            ("inf", "inf"),
            ("1,2", "1,2"),
        ] {
            assert_eq!(canonical(label), expected);
        }
    }

    #[test]
    fn malformed_text_refused_with_place() {
        for (text, expected) in [
            ("", "f: the file holds no rows; give at least one"),
            ("# only\n\n", "f: the file holds no rows; give at least one"),
            ("1\n2\n", "f: no row has an index:value; check that this is LIBSVM text"),
            ("1,2,3\n4,5,6\n", "f: no row has an index:value; check that this is LIBSVM text"),
            ("1 1:2\n1 x\n", "f:2:3: expected index:value, found 'x'"),
            ("1 1 : 2\n", "f:1:3: expected index:value, found '1'"),
            ("1 a:2\n", "f:1:3: the index in 'a:2' must be a whole number from 0 or 1"),
            ("1 -1:2\n", "f:1:3: the index in '-1:2' must be a whole number from 0 or 1"),
            ("1 1.5:2\n", "f:1:3: the index in '1.5:2' must be a whole number from 0 or 1"),
            ("1 :2\n", "f:1:3: the index in ':2' must be a whole number from 0 or 1"),
            (
                "1 2147483649:2\n",
                "f:1:3: index 2147483649 is above the largest allowed, 2147483648; renumber the features",
            ),
            (
                "1 99999999999999999999:2\n",
                "f:1:3: index 99999999999999999999 is above the largest allowed, 2147483648; renumber the features",
            ),
            ("1 1:\n", "f:1:3: the value after '1:' is missing; leave out what is zero"),
            ("1 1:0 2:nan\n", "f:1:7: missing value 'nan' at index 2; remove the row or fill it in first"),
            ("1 2:NA\n", "f:1:3: missing value 'NA' at index 2; remove the row or fill it in first"),
            ("1 1:-inf\n", "f:1:3: the value '-inf' is not a finite number; remove the row or correct it"),
            (
                "1 1:1e999\n",
                "f:1:3: the value '1e999' is too large (numbers go up to 1.8e308); remove the row or correct it",
            ),
            (
                "1 1:1,5\n",
                "f:1:3: the value '1,5' is not a number (write decimals with a point); remove the row or correct it",
            ),
            ("1 1:2:3\n", "f:1:3: the value '2:3' is not a number; remove the row or correct it"),
            ("\n1 3:1 1:2 3:4\n", "f:2:11: index 3 occurs twice in this row (first at 3); keep one"),
            // Columns count characters, not bytes.
            ("äöü 1:1 1:2\n", "f:1:9: index 1 occurs twice in this row (first at 5); keep one"),
            (
                "1 1:2\n1:2 2:3\n",
                "f:2:1: the row has no label before its first index:value; begin each row with its label",
            ),
            ("qid:1 2:3\n", "f:1:1: the row has no label before its first index:value; begin each row with its label"),
        ] {
            assert_eq!(message(text, &options()), expected, "{text:?}");
        }
    }

    #[test]
    fn huge_index_refused_before_allocating() {
        let text = "1 1:1\n".repeat(1000) + "1 2147483648:1\n";
        assert_eq!(
            message(&text, &options()),
            "f: a table of 1001 rows and 2147483648 columns needs 1120.00 GiB but 8.00 GiB may be used; \
             allow more memory, or use fewer rows or columns"
        );
        let small = ReadOptions { memory: Some(1 << 20), ..options() };
        assert!(message("1 1:1\n1 70000:1\n", &small).contains("may be used"));
        assert!(message(&("1 1:1 2:1 3:1 4:1\n".repeat(30_000)), &small).contains("may be used"));
    }

    /// One row with values at the given indices, and the label 1.
    fn line(indices: impl IntoIterator<Item = usize>, value: &str) -> String {
        indices.into_iter().fold("1".to_string(), |line, index| line + &format!(" {index}:{value}")) + "\n"
    }

    fn stored(table: &Table) -> Option<usize> {
        match table.samples.features() {
            Features::Dense(_) => None,
            Features::Sparse(sparse) => Some(sparse.n_stored()),
        }
    }

    #[test]
    fn wide_tables_with_few_values_stay_sparse() {
        // 65 columns in 4 rows are 260 values: 64 of them are fewer than a quarter, 65 are not.
        let text = |n: usize| line(1..=n, "2") + &line([65], "2") + "1\n1\n";
        assert_eq!(stored(&read(&text(63))), Some(64));
        assert_eq!(stored(&read(&text(64))), None);
        assert_eq!(stored(&read(&(line([1], "2") + &line([64], "2")))), None, "64 columns are few");
        // Explicit zeros are not counted, so a table always has the same storage; a negative zero is another value.
        assert_eq!(stored(&read(&(text(63) + &line(1..=65, "0")))), Some(64));
        assert_eq!(stored(&read(&(text(63) + &line(1..=65, "-0")))), None);
        assert_eq!(read(&(text(63) + &line(1..=65, "0"))).samples, read(&(text(63) + "1\n")).samples);
    }

    #[test]
    fn sparse_rows_have_their_values_in_both_bases_and_for_a_model() {
        let table = read("1 3:0.5 1:-2\n1\n1 70:1e-3 3:0 2:-0\n");
        let Features::Sparse(rows) = table.samples.features() else { panic!("dense") };
        assert_eq!(rows.entries(0), (&[0, 2][..], &[-2.0, 0.5][..]));
        assert_eq!(rows.entries(1), (&[][..], &[][..]));
        assert_eq!(rows.entries(2), (&[1, 69][..], &[-0.0, 1e-3][..]));
        assert_eq!((rows.n_rows(), rows.n_cols(), table.samples.names()[69].as_str()), (3, 70, "x70"));
        let zero_based = read("1 2:0.5 0:-2\n1\n1 69:1e-3 2:0 1:-0\n");
        assert_eq!(zero_based.samples.features(), table.samples.features());
        assert_eq!((zero_based.samples.names()[69].as_str(), zero_based.index_base), ("x69", Some(0)));
        // The last columns of the model need not occur, and a row of the model may be full.
        let expecting = ReadOptions { expect: Some(table.into_dataset().unwrap().expect()), ..options() };
        let new = read_from("5:1\n".as_bytes(), "f", &expecting).unwrap();
        assert_eq!((stored(&new), new.samples.n_features()), (Some(1), 70));
        let full = read_from(&line(1..=70, "1").as_bytes()[1..], "f", &expecting).unwrap();
        assert_eq!((stored(&full), full.samples.n_features()), (None, 70));
    }

    #[test]
    fn sparse_table_is_measured_by_what_it_stores() {
        // 8 MB dense, half a MB for its columns.
        let text = line([1000], "1").repeat(1000);
        let within = |memory: u64| {
            let options = ReadOptions { memory: Some(memory), ..options() };
            read_from(text.as_bytes(), "f", &options).map(|table| stored(&table))
        };
        let need = 1000 * 12 + 1000 * 8 + 1000 * 560;
        assert_eq!(within(need).unwrap(), Some(1000));
        assert_eq!(
            within(need - 1).unwrap_err().to_string(),
            "f: a table of 1000 rows and 1000 columns needs 566.4 KiB but 566.4 KiB may be used; allow more memory, or \
             use fewer rows or columns"
        );
    }

    #[test]
    fn unlabelled_rows_read_when_asked_for() {
        let unlabelled = ReadOptions { unlabelled: true, ..options() };
        let table = read_from("1:2\n2:3\n".as_bytes(), "f", &unlabelled).unwrap();
        assert_eq!(
            (table.labels, table.samples.features().to_dense().unwrap().data()),
            (None, &[2.0, 0.0, 0.0, 3.0][..])
        );
        let table = read_from("a 1:2\nb 2:3\n".as_bytes(), "f", &unlabelled).unwrap();
        assert_eq!((table.labels, table.notes), (None, vec!["labels ignored".into()]));
        assert_eq!(
            message("1:2\na 1:2\n", &unlabelled),
            "f:2:1: the row has a label but the rows before have none; label all rows or none"
        );
        assert_eq!(
            message("a 1:2\n1:2\n", &unlabelled),
            "f:2:1: the row has no label but the rows before have one; label all rows or none"
        );
        let label = ReadOptions { label: Some("1".into()), ..options() };
        assert_eq!(
            message("a 1:2\n", &label),
            "parameter label: LIBSVM text has its label first in each row; leave the label column out"
        );
    }

    #[test]
    fn expected_indices_follow_the_model() {
        let expecting = |base| {
            let names = vec!["a".to_string(), "b".to_string(), "c".to_string()];
            ReadOptions { format: Some(Format::Libsvm), ..ReadOptions::expecting(Expect::new(names, None, base)) }
        };
        for base in [None, Some(1)] {
            // Short rows are filled with zeros, labels may be missing.
            let table = read_from("1:5\n2:6\n".as_bytes(), "f", &expecting(base)).unwrap();
            assert_eq!(table.samples.features().to_dense().unwrap().data(), [5.0, 0.0, 0.0, 0.0, 6.0, 0.0]);
            assert_eq!(table.samples.names(), ["a", "b", "c"]);
            for (text, bad) in [("1 0:5\n", 0), ("1 4:5\n", 4)] {
                assert_eq!(
                    message(text, &expecting(base)),
                    format!("f:1:3: index {bad} is unknown to the model, which has 1 to 3; remove it")
                );
            }
        }
        let table = read_from("p 2:6\n".as_bytes(), "f", &expecting(Some(0))).unwrap();
        assert_eq!(table.samples.features().to_dense().unwrap().data(), [0.0, 0.0, 6.0]);
        assert_eq!(table.labels.unwrap(), ["p"]);
        assert_eq!(
            message("1 3:5\n", &expecting(Some(0))),
            "f:1:3: index 3 is unknown to the model, which has 0 to 2; remove it"
        );
        // All labels and no value: rows of zeros.
        let table = read_from("p\nq\n".as_bytes(), "f", &expecting(None)).unwrap();
        assert_eq!(table.samples.features().to_dense().unwrap().data(), [0.0; 6]);
    }
}
