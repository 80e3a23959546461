//! Labelled rows from a source that may never end.

use std::io::Read;

use super::delimited::{Cells, FeatureCells, check_row_names, check_width, first_row, is_blank, no_label, split_alone};
use super::libsvm::{Line, SparseRows};
use super::read::{
    Format, ReadOptions, Says, by_ending, csv_delimiter, is_word, says, short_name, sniff, with_views_of,
};
use super::roles::{End, Roles, decide, place_of};
use super::text::{Found, Lines, Source, check_memory, is_missing};
use super::{Dataset, Expect, Labels, Samples, libsvm};
use crate::error::{Error, Place, Result};
use crate::linalg::Matrix;

/// A batch ends when its values take so many bytes: the rest comes with the next.
const BATCH_BYTES: usize = 1 << 26;

/// What becomes of a line that is no row.
pub enum OnError<'a> {
    /// It ends the stream with its error, after the rows before it.
    Fail,
    /// It is passed over, and its error, which says where and why, is handed out.
    Skip(&'a mut dyn FnMut(Error)),
}

impl std::fmt::Debug for OnError<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if matches!(self, OnError::Fail) { "Fail" } else { "Skip" })
    }
}

/// Some rows of a stream, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The values: dense, in the order of the features, NaN where one is missing.
    pub samples: Samples,
    /// The label of each row.
    pub labels: Vec<String>,
    /// The line of each row, counted from 1.
    pub lines: Vec<u64>,
}

/// Reads labelled rows from a source that may never end: a file, a pipe, a socket.
///
/// The text is LIBSVM, CSV or TSV, plain or gzip, told as [`read`](super::read) tells it, and columns, header, missing values
/// and messages are the same, but for what an endless text asks for:
/// - A row is one line: a quote has to close on its line, and a line has at most 64 MiB.
/// - Every row has a label. Ids are left out without a look at them.
/// - The features of LIBSVM text are those of [`ReadOptions::expect`], or end with the largest index of the first batch; a
///   larger one later is an error of its line.
///
/// What is wrong with one line is an error of that line alone ([`OnError`]); what is wrong before the first row, and a source
/// that cannot be read, is an error of the stream. Memory does not grow with the rows read.
///
/// ```
/// use multikernel::data::{OnError, ReadOptions, RowStream};
/// let text = "a,b,class\n1,2,p\n3,oops,q\n4,?,q\n";
/// let mut stream = RowStream::open(text.as_bytes(), "rows.csv", &ReadOptions::default())?;
/// let mut skipped = vec![];
/// let batch = stream.next(100, OnError::Skip(&mut |error| skipped.push(error.to_string())))?.unwrap();
/// assert_eq!((batch.labels, batch.lines), (vec!["p".to_string(), "q".to_string()], vec![2, 4]));
/// assert!(skipped[0].starts_with("rows.csv:3:2: 'oops' in column 'b' is not a number"));
/// assert!(stream.next(100, OnError::Fail)?.is_none());
/// # Ok::<(), multikernel::Error>(())
/// ```
pub struct RowStream<'a> {
    lines: Lines<'a>,
    text: Text<'a>,
    options: ReadOptions,
    label_name: Option<String>,
    label_column: Option<String>,
    /// The names of the features, once they are known.
    names: Vec<String>,
    index_base: Option<u8>,
    notes: Vec<String>,
    /// An error that came after rows, which go first.
    failed: Option<Error>,
}

/// What lines are taken for.
enum Text<'a> {
    Libsvm,
    Delimited(Delimited<'a>),
}

struct Delimited<'a> {
    delimiter: char,
    features: FeatureCells<'a>,
    label: usize,
    n_columns: usize,
    header: bool,
    /// Lines that held a row, good or bad, so far.
    n_lines: usize,
    cells: Cells,
    /// Whether `cells` holds a row that was read to find out about the columns.
    is_waiting: bool,
}

/// The rows of a batch as they come.
#[derive(Default)]
struct Growing {
    data: Vec<f64>,
    labels: Vec<String>,
    sparse: SparseRows,
    lines: Vec<u64>,
}

impl std::fmt::Debug for RowStream<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowStream").field("name", &self.lines.name).field("line", &self.line()).finish_non_exhaustive()
    }
}

impl<'a> RowStream<'a> {
    /// Reads up to the first line that says what the columns are, and waits for no more. `name` stands in messages, and its
    /// ending may tell the format.
    ///
    /// [`ReadOptions::memory`] is what one batch may take.
    pub fn open(reader: impl Read + 'a, name: &'a str, options: &ReadOptions) -> Result<Self> {
        check(options)?;
        let known = options.format.or_else(|| by_ending(name).filter(|&format| is_text(format)));
        let tells = |line: &str| match known {
            Some(_) => !line.is_empty(),
            None => !matches!(says(line), Says::Nothing),
        };
        let source = Source::open_live(reader, name, tells)?;
        let format = known.map_or_else(|| sniff(&source), Ok)?;
        let delimiter = if format == Format::Tsv { '\t' } else { csv_delimiter(&source.head) };
        let mut stream = RowStream {
            lines: source.live_lines(),
            text: Text::Libsvm,
            options: options.clone(),
            label_name: None,
            label_column: None,
            names: vec![],
            index_base: None,
            notes: vec![],
            failed: None,
        };
        match format {
            Format::Libsvm => stream.begin_libsvm()?,
            _ => stream.begin_delimited(delimiter)?,
        }
        Ok(stream)
    }

    /// Waits for a row and gives it with those that have been read already, at most `most`; `None` after the last. So a
    /// source that is slower than its reader is answered row by row, and one that is faster in batches.
    pub fn next(&mut self, most: usize, on_error: OnError<'_>) -> Result<Option<Batch>> {
        self.collect(most, false, on_error)
    }

    /// Waits for `n` rows; fewer only at the end or before an error. The rows to learn scales and widths from.
    pub fn gather(&mut self, n: usize, on_error: OnError<'_>) -> Result<Option<Batch>> {
        self.collect(n, true, on_error)
    }

    /// The number of the line last read, counted from 1.
    pub fn line(&self) -> u64 {
        self.lines.number()
    }

    /// The names of the features; none before the first batch of LIBSVM text.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What a reader of the result should know: guesses made, columns ignored.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// The rows of a batch as a set to learn from, with what a model has to know of the text they come from.
    pub fn dataset(&self, batch: Batch) -> Result<Dataset> {
        let set = Dataset::new(short_name(self.lines.name), batch.samples, Labels::new(&batch.labels)?)?;
        let (label_name, label_column) = (self.label_name.clone(), self.label_column.clone());
        Ok(Dataset { label_name, label_column, index_base: self.index_base, ..set })
    }

    fn begin_libsvm(&mut self) -> Result<()> {
        libsvm::check_options(&self.options)?;
        if let Some(expect) = &self.options.expect {
            (self.names, self.index_base) = (expect.names.clone(), expect.index_base.or(Some(1)));
        }
        Ok(())
    }

    /// Reads the first row, which says what the columns are.
    fn begin_delimited(&mut self, delimiter: char) -> Result<()> {
        let (name, mut cells) = (self.lines.name, Cells::default());
        loop {
            let number = self.lines.number() + 1;
            let Some(line) = self.lines.next()? else {
                return Err(Error::data(Place::file(name), "the stream is empty; give at least one row"));
            };
            if !is_blank(line, delimiter) {
                split_alone(name, line, number, delimiter, &mut cells)?;
                break;
            }
        }
        // Before the names, which a hostile line would make many.
        check_memory(name, 1, cells.len(), self.options.limit())?;
        let (header, roles) = first_row(name, &cells, &self.options)?;
        let mut roles = roles.by_name_alone();
        if roles.is_undecided {
            decide_by_row(name, &cells, header, &mut roles, &self.options)?;
        }
        let Some(label) = roles.label else {
            let message = "the rows have no label column, and there is nothing to learn without labels; add one, or say \
                           which it is with --label";
            return Err(Error::data(Place::file(name), message));
        };
        self.text = Text::Delimited(Delimited {
            delimiter,
            features: FeatureCells::new(name, &roles, &self.options),
            label,
            n_columns: cells.len(),
            header,
            n_lines: 0,
            cells,
            is_waiting: !header,
        });
        (self.names, self.label_name, self.notes) = (roles.names, roles.label_name, roles.notes);
        self.label_column = roles.label_column;
        Ok(())
    }

    fn collect(&mut self, most: usize, wait: bool, mut on_error: OnError<'_>) -> Result<Option<Batch>> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let mut batch = Growing { sparse: SparseRows::new(true), ..Growing::default() };
        let most = if wait { most } else { most.min(BATCH_BYTES / (8 * self.names.len().max(1))) }.max(1);
        while batch.lines.len() < most && self.failed.is_none() {
            let wait = wait || batch.lines.is_empty();
            let error = match self.add_next(wait, &mut batch) {
                Ok(Found::Line) => continue,
                Ok(Found::Pause | Found::End) => break,
                Err(error) => error,
            };
            match (error, &mut on_error) {
                (Stopped::Line(error), OnError::Skip(tell)) => tell(error),
                (Stopped::Line(error) | Stopped::Stream(error), _) => self.failed = Some(error),
            }
        }
        if batch.lines.is_empty() {
            return self.failed.take().map_or(Ok(None), Err);
        }
        self.finish(batch).map(Some)
    }

    /// Adds the row of the next line, if it holds one.
    fn add_next(&mut self, wait: bool, batch: &mut Growing) -> std::result::Result<Found, Stopped> {
        let waiting = matches!(&self.text, Text::Delimited(Delimited { is_waiting: true, .. }));
        let found = if waiting { Found::Line } else { self.lines.advance(wait).map_err(Stopped::Stream)? };
        if found != Found::Line {
            return Ok(found);
        }
        let (name, options) = (self.lines.name, &self.options);
        match &mut self.text {
            Text::Libsvm => {
                let text = self.lines.text().map_err(Stopped::Line)?;
                batch.add_pairs(&Line { name, number: self.lines.number(), text }, options)?;
            }
            Text::Delimited(delimited) => delimited.add(&self.lines, options, batch)?,
        }
        Ok(Found::Line)
    }

    fn finish(&mut self, batch: Growing) -> Result<Batch> {
        let Growing { data, labels, sparse, lines } = batch;
        let (samples, labels) = match &self.text {
            Text::Libsvm => self.finish_libsvm(sparse)?,
            Text::Delimited(_) => {
                (Samples::new(Matrix::from_vec(lines.len(), self.names.len(), data)?, self.names.clone())?, labels)
            }
        };
        Ok(Batch { samples: with_views_of(samples, &self.options)?, labels, lines })
    }

    fn finish_libsvm(&mut self, rows: SparseRows) -> Result<(Samples, Vec<String>)> {
        let table = rows.into_table(self.lines.name, &self.options)?;
        let dense = table.samples.features().to_dense_within(Some(self.options.limit()))?.into_owned();
        let samples = Samples::new(dense, table.samples.names().to_vec())?;
        if self.options.expect.is_none() {
            // The first rows have decided what the features are.
            (self.names, self.index_base) = (samples.names().to_vec(), table.index_base);
            self.options.expect = Some(Expect::new(self.names.clone(), None, self.index_base));
        }
        for note in table.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        Ok((samples, table.labels.unwrap_or_default()))
    }
}

/// Finds the label of rows without names that have a column more than features, by what the first of them holds.
fn decide_by_row(name: &str, first: &Cells, header: bool, roles: &mut Roles, options: &ReadOptions) -> Result<()> {
    let Some(expect) = options.expect.as_ref() else { return Ok(()) };
    let end = |j: Option<&usize>| {
        let cell = j.map_or("", |&j| first.cell(j));
        // A stream needs a label, so what is more than the features can be nothing else.
        End { is_classes: !header && expect.is_class(cell), is_text: is_word(cell), ..End::default() }
    };
    let ends = [end(roles.features.first()), end(roles.features.last())];
    let (label, _) = decide(name, &roles.features, ends, options, roles.label.is_some())?;
    let Some(k) = label else { return Ok(()) };
    let j = roles.features.remove(k);
    let column = place_of(j, first.len());
    roles.notes.push(format!("label: {column}, a class of the model in the first row"));
    (roles.label, roles.label_column, roles.names) = (Some(j), Some(column), expect.names.clone());
    Ok(())
}

/// Whose error it is.
enum Stopped {
    /// Of one line: the next may be good.
    Line(Error),
    /// Of the source or of what rows may take: nothing comes after it.
    Stream(Error),
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        match error {
            Error::Data { .. } => Stopped::Line(error),
            _ => Stopped::Stream(error),
        }
    }
}

impl Growing {
    fn add_pairs(&mut self, line: &Line<'_>, options: &ReadOptions) -> Result<()> {
        self.sparse.add(line, options)?;
        if self.sparse.len() > self.lines.len() {
            self.lines.push(line.number);
        }
        Ok(())
    }
}

impl Delimited<'_> {
    fn add(&mut self, lines: &Lines<'_>, options: &ReadOptions, batch: &mut Growing) -> Result<()> {
        if !std::mem::take(&mut self.is_waiting) {
            let line = lines.text()?;
            if is_blank(line, self.delimiter) {
                return Ok(());
            }
            split_alone(lines.name, line, lines.number(), self.delimiter, &mut self.cells)?;
        }
        let n_before = self.n_lines;
        self.n_lines += 1;
        if self.header && n_before == 0 {
            check_row_names(lines.name, &self.cells, self.n_columns)?;
        }
        check_width(lines.name, &self.cells, self.n_columns)?;
        let (n_rows, n_cols) = (batch.lines.len(), self.features.n_features());
        check_memory(lines.name, n_rows + 1, n_cols, options.limit())?;
        let label = self.cells.cell(self.label);
        let read = self.features.read(&self.cells, n_before, &mut batch.data);
        let missing = || no_label(self.cells.place(lines.name, self.label));
        if let Err(error) = read.and_then(|()| if is_missing(label) { Err(missing()) } else { Ok(()) }) {
            batch.data.truncate(n_rows * n_cols);
            return Err(error);
        }
        batch.labels.push(label.to_string());
        batch.lines.push(self.cells.line());
        Ok(())
    }
}

fn is_text(format: Format) -> bool {
    matches!(format, Format::Libsvm | Format::Csv | Format::Tsv)
}

/// Refuses options that make no sense for a stream.
fn check(options: &ReadOptions) -> Result<()> {
    if options.unlabelled {
        return Err(Error::param("unlabelled", "a stream is there to learn from; its rows need labels"));
    }
    if options.format.is_some_and(|format| !is_text(format)) {
        return Err(Error::param("format", "a stream is text: give libsvm, csv or tsv"));
    }
    if options.expect.as_ref().is_some_and(|expect| expect.names.is_empty()) {
        return Err(Error::input("the model to read rows for has no features; give at least one name"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;
    use crate::data::{View, read_from};

    /// Gives a few bytes at a time, as a slow pipe does.
    struct Trickle<'a>(&'a [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let n = self.1.min(out.len());
            self.0.read(&mut out[..n])
        }
    }

    /// All that came out of a stream: values as bits, labels, lines, and the errors of lines that were skipped.
    #[derive(Debug, Default, PartialEq)]
    struct Found {
        values: Vec<u64>,
        labels: Vec<String>,
        lines: Vec<u64>,
        skipped: Vec<String>,
        names: Vec<String>,
    }

    impl Found {
        fn add(&mut self, batch: Batch) {
            let values = batch.samples.features().to_dense().unwrap().into_owned();
            assert_eq!((values.n_rows(), batch.labels.len()), (batch.lines.len(), batch.lines.len()));
            self.values.extend(values.data().iter().map(|value| value.to_bits()));
            self.labels.extend(batch.labels);
            self.lines.extend(batch.lines);
            self.names = batch.samples.names().to_vec();
        }
    }

    fn drain(reader: impl Read, options: &ReadOptions, first: usize) -> Result<Found> {
        let (mut found, mut skipped) = (Found::default(), vec![]);
        let mut stream = RowStream::open(reader, "f", options)?;
        let mut tell = |error: Error| skipped.push(error.to_string());
        let mut batch = stream.gather(first, OnError::Skip(&mut tell))?;
        while let Some(rows) = batch {
            found.add(rows);
            batch = stream.next(3, OnError::Skip(&mut tell))?;
        }
        Ok(Found { skipped, ..found })
    }

    fn csv() -> ReadOptions {
        ReadOptions { format: Some(Format::Csv), ..Default::default() }
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// The same whole, a few bytes at a time, and packed; with the number of bytes chosen so that line ends are cut.
    fn drained(text: &[u8], options: &ReadOptions) -> Found {
        let whole = drain(text, options, 2).unwrap();
        for n in [1, 2, 7] {
            assert_eq!(drain(Trickle(text, n), options, 2).unwrap(), whole, "{n} bytes at a time");
        }
        let packed = gzip(text);
        assert_eq!(drain(&packed[..], options, 2).unwrap(), whole);
        assert_eq!(drain(Trickle(&packed, 1), options, 2).unwrap(), whole);
        whole
    }

    #[test]
    fn malformed_lines_of_delimited_text_skipped_with_place_and_reason() {
        let long = "x".repeat(1 << 26);
        let not_number = "is not a number; correct it, or leave the column out with --ignore";
        for (line, expected) in [
            ("1,2", "f:4: found 2 columns, the first line has 3; give every row the same".to_string()),
            ("1,2,p,3", "f:4: found 4 columns, the first line has 3; give every row the same".into()),
            ("1,red,p", format!("f:4:2: 'red' in column 'b' {not_number}")),
            ("0x1F,1,p", format!("f:4:1: '0x1F' in column 'a' {not_number}")),
            (
                "1,inf,p",
                "f:4:2: 'inf' in column 'b' is not a finite number; correct it, or leave the column out with --ignore"
                    .into(),
            ),
            (
                "1,1e309,p",
                "f:4:2: '1e309' in column 'b' is too large (numbers go up to 1.8e308); correct it, or leave the column \
                 out with --ignore"
                    .into(),
            ),
            (",NA,p", "f:4: the row has no value at all; remove it, or fill values in".into()),
            ("1,2,", "f:4:3: the label is missing; remove the row or fill it in first".into()),
            ("1,2,?", "f:4:3: the label is missing; remove the row or fill it in first".into()),
            (
                "1,\"2,p",
                "f:4:2: the quote that opens this cell is not closed in its line; close it, or double a quote inside a \
                 cell (a row of a stream is one line)"
                    .into(),
            ),
            ("1,\"2\"x,p", "f:4:2: 'x' follows a closing quote; double a quote that is part of the cell".into()),
            ("1,2,\u{fffd}", "f:4: byte 5 (0xFF) is not UTF-8 text; save the file as UTF-8 (`iconv -f cp1252 -t utf-8 FILE > NEW`)".into()),
            (&long, "f:4: the line is longer than 64 MiB; a text table has one row per line".into()),
        ] {
            let text = format!("a,b,y\n5,6,q\n\n{line}\n7,8,r\n");
            let bytes = text.clone().into_bytes();
            // The replacement character stands for a byte that is no text.
            let at = text.find('\u{fffd}');
            let bytes = at.map_or(bytes.clone(), |at| [&bytes[..at], b"\xff", &bytes[at + 3..]].concat());
            let found = if line.len() > 99 { drain(&bytes[..], &csv(), 2).unwrap() } else { drained(&bytes, &csv()) };
            assert_eq!(found.skipped.join("; "), expected, "{:?}", &line[..line.len().min(99)]);
            assert_eq!((found.labels, found.lines), (vec!["q".to_string(), "r".into()], vec![2, 5]));
            assert_eq!(found.values, [5.0f64, 6.0, 7.0, 8.0].map(f64::to_bits));
            // Where lines must be good, the rows before the bad one come first, and then its error.
            let mut stream = RowStream::open(&bytes[..], "f", &csv()).unwrap();
            assert_eq!(stream.next(9, OnError::Fail).unwrap().unwrap().lines, [2]);
            assert_eq!(stream.next(9, OnError::Fail).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn malformed_lines_of_libsvm_text_skipped_with_place_and_reason() {
        let options = ReadOptions { format: Some(Format::Libsvm), ..Default::default() };
        for (line, expected) in [
            ("1:2 2:3", "f:4:1: the row has no label before its first index:value; begin each row with its label"),
            ("p 1:x", "f:4:3: the value 'x' is not a number; remove the row or correct it"),
            ("p 1:", "f:4:3: the value after '1:' is missing; leave out what is zero"),
            ("p 1:NA", "f:4:3: missing value 'NA' at index 1; remove the row or fill it in first"),
            ("p 2", "f:4:3: expected index:value, found '2'"),
            ("p a:2", "f:4:3: the index in 'a:2' must be a whole number from 0 or 1"),
            ("p 1:2 1:3", "f:4:7: index 1 occurs twice in this row (first at 3); keep one"),
            ("p 4:1", "f:4:3: index 4 is unknown to the model, which has 1 to 3; remove it"),
            ("p 0:1", "f:4:3: index 0 is unknown to the model, which has 1 to 3; remove it"),
            (
                "p 3000000000:1",
                "f:4:3: index 3000000000 is above the largest allowed, 2147483648; renumber the features",
            ),
        ] {
            let text = format!("q 1:5 # note\n\n+1 3:6\n{line}\n# note\n1.0 2:7\n");
            let found = drained(text.as_bytes(), &options);
            assert_eq!(found.skipped, [expected], "{line}");
            assert_eq!((found.labels.join(" "), found.lines), ("q 1 1".to_string(), vec![1, 3, 6]));
            assert_eq!(found.values, [5.0f64, 0.0, 0.0, 0.0, 0.0, 6.0, 0.0, 7.0, 0.0].map(f64::to_bits));
            assert_eq!(found.names, ["x1", "x2", "x3"]);
        }
    }

    #[test]
    fn what_stands_before_the_first_row_is_no_matter_of_one_line() {
        let packed = gzip("1,p\n".repeat(50_000).as_bytes());
        for (text, expected) in [
            (&b""[..], "f: the file is empty; give at least one row"),
            (b"\n \n", "f: the file is empty; give at least one row"),
            (
                b"a,a,y\n1,2,p\n",
                "f:1:2: columns 1 and 2 are both called 'a'; rename one (the first line was read as names; if the file has none, add --header no)",
            ),
            (b"y\np\nq,1\n", "f: no column is left for features; a label and at least one feature are needed"),
            (
                b"a,\"b,y\n1,2,p\n",
                "f:1:2: the quote that opens this cell is not closed in its line; close it, or double a quote inside a cell \
                 (a row of a stream is one line)",
            ),
            (
                b"1 2 3\n",
                "f: the first line is neither LIBSVM (label index:value ...) nor separated by commas, semicolons, tabs or \
                 bars; save it with commas between the cells, or give the format",
            ),
            (
                b"\x93NUMPY\x01\0\n",
                "f: this is a NumPy file; a stream is LIBSVM, CSV or TSV text, plain or gzip: convert it first",
            ),
            (&packed[..12], "f: the gzip data are damaged or cut short; fetch the file again"),
        ] {
            for n in [1, 1000] {
                assert_eq!(drain(Trickle(text, n), &ReadOptions::default(), 2).unwrap_err().to_string(), expected);
            }
        }
        assert_eq!(
            drain(&b""[..], &csv(), 2).unwrap_err().to_string(),
            "f: the stream is empty; give at least one row"
        );
        let unlabelled = ReadOptions { unlabelled: true, ..csv() };
        assert_eq!(
            drain(&b"1,2\n"[..], &unlabelled, 2).unwrap_err().to_string(),
            "parameter unlabelled: a stream is there to learn from; its rows need labels"
        );
        let npy = ReadOptions { format: Some(Format::Npy), ..csv() };
        assert_eq!(
            drain(&b"1,2\n"[..], &npy, 2).unwrap_err().to_string(),
            "parameter format: a stream is text: give libsvm, csv or tsv"
        );
        let labelled = ReadOptions { label: Some("0".into()), ..Default::default() };
        assert_eq!(
            drain(&b"1 1:2\n"[..], &labelled, 2).unwrap_err().to_string(),
            "parameter label: LIBSVM text has its label first in each row; leave the label column out"
        );
    }

    #[test]
    fn header_row_names_and_first_rows_told_as_read_does() {
        let found = drained(b"a,b,y\ns1,1,2,p\n1,2,p\n", &csv());
        assert_eq!(
            found.skipped,
            [
                "f:2: found 4 columns, the header has 3; give row names a column of their own, with a blank or `id` in the header"
            ]
        );
        let bare = ReadOptions { header: Some(false), ..csv() };
        let found = drained(b"a,b,y\n1,2,p\n1,x,p\n", &bare);
        assert_eq!(
            found.skipped,
            [
                "f:1:1: 'a' in column 'x1' is not a number; is the first line a header?",
                "f:3:2: 'x' in column 'x2' is not a number; correct it, or leave the column out with --ignore"
            ]
        );
        // A header alone, or nothing but bad lines, is the end without a row.
        assert_eq!(drained(b"a,b,y\n", &csv()), Found::default());
        assert_eq!(drained(b"a,b,y\n1,2\n", &csv()).labels, [""; 0]);
    }

    #[test]
    fn columns_of_a_model_found_by_name_and_a_label_is_needed() {
        let expect = Expect::new(vec!["a".into(), "b".into()], Some("y".into()), None);
        let expect = expect.with_views(vec![View { name: "v".into(), columns: 0..1 }]);
        let options = ReadOptions { expect: Some(expect), ..csv() };
        let found = drained(b"id,b,c,y,a\ns,2,9,p,1\ns,,9,q,3\n", &options);
        assert_eq!(found.values, [1.0, 2.0, 3.0, f64::NAN].map(f64::to_bits));
        assert_eq!((found.labels.join(" "), found.names.join(" ")), ("p q".into(), "a b".into()));
        let mut stream = RowStream::open(&b"b,a,y\n2,1,p\n"[..], "f", &options).unwrap();
        assert_eq!(stream.next(1, OnError::Fail).unwrap().unwrap().samples.views().len(), 1);
        let message = |text: &[u8]| drain(text, &options, 1).unwrap_err().to_string();
        assert_eq!(
            message(b"b,y\n2,p\n"),
            "f: 1 of the 2 expected features are missing: a; give a table with all of them"
        );
        let unlabelled = "f: the rows have no label column, and there is nothing to learn without labels; add one, or say \
                          which it is with --label";
        assert_eq!(message(b"b,a\n2,1\n"), unlabelled);
        assert_eq!(message(b"2,1\n"), unlabelled);
        // LIBSVM rows for the same model: the k-th feature is index k.
        let options = ReadOptions { format: Some(Format::Libsvm), ..options };
        let found = drained(b"p 2:4\n", &options);
        assert_eq!((found.values, found.names.join(" ")), ([0.0, 4.0].map(f64::to_bits).to_vec(), "a b".into()));
    }

    #[test]
    fn dataset_of_the_first_rows_knows_where_they_come_from() {
        let mut stream =
            RowStream::open(&b"a,class\n1,p\n2,q\n"[..], "d/rows.csv.gz", &ReadOptions::default()).unwrap();
        let batch = stream.gather(5, OnError::Fail).unwrap().unwrap();
        let set = stream.dataset(batch).unwrap();
        assert_eq!((set.name.as_str(), set.label_name.as_deref(), set.index_base), ("rows", Some("class"), None));
        let mut stream = RowStream::open(&b"p 0:1\nq 2:1\n"[..], "rows", &ReadOptions::default()).unwrap();
        let batch = stream.gather(5, OnError::Fail).unwrap().unwrap();
        assert_eq!(stream.notes(), ["zero-based indices: the first column is x0"]);
        assert_eq!(stream.names(), ["x0", "x1", "x2"]);
        let set = stream.dataset(batch).unwrap();
        assert_eq!((set.label_name, set.index_base), (None, Some(0)));
    }

    /// Gives the pieces as they were sent, at most one per read, and panics if it is asked for more than was sent.
    struct Live(std::collections::VecDeque<Vec<u8>>);

    fn live(pieces: &[&str]) -> Live {
        Live(pieces.iter().map(|piece| piece.as_bytes().to_vec()).collect())
    }

    impl Read for Live {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let piece = self.0.front_mut().expect("a read that would have to wait");
            let n = piece.len().min(out.len());
            out[..n].copy_from_slice(&piece[..n]);
            piece.drain(..n);
            if piece.is_empty() {
                self.0.pop_front();
            }
            Ok(n)
        }
    }

    #[test]
    fn rows_come_as_soon_as_they_are_there_and_no_sooner() {
        let pieces = ["a,b,y\n1,", "2,p\n3,4,q\n5,6,", "r\r", "\n\n7,8,s\r\n9"];
        let mut stream = RowStream::open(live(&pieces), "f", &ReadOptions::default()).unwrap();
        let mut next = |most: usize| stream.next(most, OnError::Fail).unwrap().unwrap().labels.join("");
        // A read more than the answer needs would panic: there is nothing after the last piece.
        assert_eq!((next(9), next(9), next(9)), ("pq".into(), "r".into(), "s".into()));
        let mut stream = RowStream::open(live(&pieces[..2]), "f", &ReadOptions::default()).unwrap();
        let mut next = |most: usize| stream.next(most, OnError::Fail).unwrap().unwrap().labels.join("");
        assert_eq!((next(1), next(0)), ("p".into(), "q".into()));
        // LIBSVM rows are told by their first line too.
        let mut stream = RowStream::open(live(&["+1 1:2\n"]), "f", &ReadOptions::default()).unwrap();
        assert_eq!(stream.next(9, OnError::Fail).unwrap().unwrap().labels, ["1"]);
    }

    #[test]
    fn error_of_the_source_comes_after_the_rows_before_it() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                Err(std::io::Error::other("gone"))
            }
        }
        let reader = (&b"a,y\n1,p\n2,q\n3,"[..]).chain(Broken);
        let mut stream = RowStream::open(reader, "f", &csv()).unwrap();
        let mut tell = |_| panic!("no line is wrong");
        let batch = stream.gather(9, OnError::Skip(&mut tell)).unwrap().unwrap();
        assert_eq!(batch.labels, ["p", "q"]);
        assert_eq!(stream.next(9, OnError::Skip(&mut tell)).unwrap_err().to_string(), "cannot read f: gone");
    }

    #[test]
    fn memory_of_a_batch_is_limited() {
        let options = ReadOptions { memory: Some(1 << 20), ..Default::default() };
        let message = |text: &str| drain(text.as_bytes(), &options, 9).unwrap_err().to_string();
        let expected = "f: a table of 1 rows and 1000000 columns needs 99.2 MiB but 1.0 MiB may be used; allow more memory, \
                        or use fewer rows or columns";
        assert_eq!(message("p 1000000:1\n"), expected);
        let wide = ",".repeat(999_999);
        assert_eq!(message(&wide), expected);
        // A batch ends before its values take more than they may, and the rest comes with the next.
        let text = "p 1:1 4000000:1\n".repeat(5);
        let mut stream = RowStream::open(text.as_bytes(), "f", &ReadOptions::default()).unwrap();
        assert_eq!(stream.gather(1, OnError::Fail).unwrap().unwrap().lines, [1]);
        assert_eq!(stream.next(9, OnError::Fail).unwrap().unwrap().lines, [2, 3]);
        assert_eq!(stream.next(9, OnError::Fail).unwrap().unwrap().lines, [4, 5]);
    }

    /// A table of small whole numbers and missing values as CSV, written in any of the ways that mean the same.
    fn tables() -> impl Strategy<Value = String> {
        let cell = prop::sample::select(vec!["0", "-1.5", "\"2\"", " 3 ", "", "NA", "1e3"]);
        let row = (prop::collection::vec(cell, 2), prop::sample::select(vec!["p", "\"q,r\"", "1.0"]));
        let end = prop::sample::select(vec!["\n", "\r\n", "\r", "\n\n"]);
        (prop::collection::vec((row, end), 1..20), any::<bool>()).prop_map(|(rows, header)| {
            let mut text = String::from(if header { "a,b,c,class\n" } else { "" });
            for ((cells, label), end) in rows {
                text += &format!("7,{},{label}{end}", cells.join(","));
            }
            text
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn rows_are_those_of_the_table(text in tables(), n in 1usize..9) {
            let table = read_from(text.as_bytes(), "f", &csv()).unwrap();
            let found = drain(Trickle(text.as_bytes(), n), &csv(), n).unwrap();
            let bits = |value: &f64| value.to_bits();
            let values: Vec<u64> = table.samples.features().to_dense().unwrap().data().iter().map(bits).collect();
            prop_assert_eq!(found.values, values);
            prop_assert_eq!(Some(found.labels), table.labels);
            prop_assert_eq!(found.names, table.samples.names());
            prop_assert!(found.skipped.is_empty());
        }

        #[test]
        fn arbitrary_bytes_never_panic_and_never_depend_on_how_they_come(
            bytes in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..200),
                prop::collection::vec(prop::sample::select(b"01-:,;\t \n\r\"#.eaN\xe9".to_vec()), 0..120),
            ],
            kind in 0usize..4, header in 0usize..3, n in 1usize..9, expecting: bool,
        ) {
            let options = ReadOptions {
                format: [None, Some(Format::Libsvm), Some(Format::Csv), Some(Format::Tsv)][kind],
                header: [None, Some(true), Some(false)][header],
                expect: expecting.then(|| Expect::new(vec!["x1".into(), "a".into()], Some("e".into()), None)),
                memory: Some(1 << 22),
                ..Default::default()
            };
            let text = |found: Result<Found>| found.map_err(|error| error.to_string());
            let whole = text(drain(&bytes[..], &options, 2));
            prop_assert_eq!(text(drain(Trickle(&bytes, n), &options, 2)), whole);
        }
    }
}
