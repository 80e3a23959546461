//! Labelled rows from a possibly endless source.

mod kinds;

use std::collections::VecDeque;
use std::io::Read;

use super::delimited::{
    Cells, FeatureCells, check_row_names, check_width, first_row, is_blank, no_label, number, split_alone,
};
use super::format::{Says, by_ending, csv_delimiter, says, short_name, sniff};
use super::kinds::Interned;
use super::libsvm;
use super::libsvm::{Line, SparseRows};
use super::memory::check_memory;
use super::options::{Format, ReadOptions, with_views_of};
use super::roles::{End, Roles, decide, place_of};
use super::text::{Found, Lines, Source};
use crate::data::table::words::{finite, is_missing, is_word, quoted};
use crate::data::table::{Dataset, Expect, Labels, Numbers, Samples};
use crate::error::{Error, Message, Place, Remedy, Result, message};
use crate::linalg::Matrix;

/// A batch ends when its values reach this many bytes; the remaining rows come with the next.
const BATCH_BYTES: usize = 1 << 26;

/// The treatment of a line that is not a valid row.
pub enum OnError<'a> {
    /// Ends the stream with its error, after the rows before it.
    Fail,
    /// Skips it and passes on its error, which says where and why.
    Skip(&'a mut dyn FnMut(Error)),
}

impl std::fmt::Debug for OnError<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if matches!(self, OnError::Fail) { "Fail" } else { "Skip" })
    }
}

/// A batch of consecutive rows from a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The values: dense, in the order of the features, NaN if missing; texts where a column holds them.
    pub samples: Samples,
    /// The label of each row.
    pub labels: Vec<String>,
    /// The line of each row, counted from 1.
    pub lines: Vec<u64>,
}

/// Reads labelled rows from a possibly endless source: a file, a pipe, a socket.
///
/// The text is LIBSVM, CSV or TSV, plain or gzip, detected as in [`read`](crate::data::read), and columns, header,
/// missing values and messages are the same, except for the requirements of an endless text:
/// - A row is one line: a quote has to close on its line, and a line has at most 64 MiB.
/// - Every row has a label, or a number to predict, of which there is one ([`ReadOptions::target`]): labels are then
///   numbers, written plainly. Ids are dropped unread.
/// - What the columns hold ([`ReadOptions::kinds`]) is found from the rows of a first [`RowStream::gather`], and stays.
///   Without one, columns are numbers unless options or a model say otherwise.
/// - The features of LIBSVM text are those of [`ReadOptions::expect`], or end with the largest index of the first
///   batch; a larger index later is an error of its line.
///
/// A fault in one line is an error of that line alone ([`OnError`]); a fault before the first row, or a source that
/// cannot be read, is an error of the stream. Memory does not grow with the number of rows read.
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
    /// The column of numbers to predict, if labels are these.
    target: Option<String>,
    /// The names of the features, once they are known.
    names: Vec<String>,
    index_base: Option<u8>,
    notes: Vec<Message>,
    /// An error that followed rows, which are returned first.
    failed: Option<Error>,
}

/// The format of the lines.
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
    /// Number of lines so far that held a row, good or bad.
    n_lines: usize,
    cells: Cells,
    /// Rows that were read to determine the columns and their kinds, and lines that are none.
    waiting: VecDeque<std::result::Result<Cells, Stopped>>,
    /// Whether the kinds of the columns are known.
    is_decided: bool,
}

/// The rows of a batch as they arrive.
#[derive(Default)]
struct Growing {
    data: Vec<f64>,
    labels: Vec<String>,
    sparse: SparseRows,
    lines: Vec<u64>,
    /// The distinct texts of each feature.
    texts: Vec<Interned>,
}

impl std::fmt::Debug for RowStream<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowStream").field("name", &self.lines.name).field("line", &self.line()).finish_non_exhaustive()
    }
}

impl<'a> RowStream<'a> {
    /// Reads up to the first line that determines the columns, and no further. `name` is used in messages, and its
    /// extension may determine the format.
    ///
    /// [`ReadOptions::memory`] limits a single batch.
    pub fn open(reader: impl Read + 'a, name: &'a str, options: &ReadOptions) -> Result<Self> {
        check(options)?;
        let mut options = options.clone();
        let target = options.target.pop();
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
            options,
            label_name: None,
            label_column: None,
            target,
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

    /// Waits for a row and returns it with those already read, at most `most`; `None` after the last. So a source
    /// slower than its reader is processed row by row, and a faster one in batches.
    pub fn next(&mut self, most: usize, on_error: OnError<'_>) -> Result<Option<Batch>> {
        self.collect(most, false, on_error)
    }

    /// Waits for `n` rows; fewer only at the end or before an error. For learning kinds, scales and widths from the
    /// first rows.
    pub fn gather(&mut self, n: usize, on_error: OnError<'_>) -> Result<Option<Batch>> {
        self.collect(n, true, on_error)
    }

    /// The number of the line last read, counted from 1.
    pub fn line(&self) -> u64 {
        self.lines.number()
    }

    /// The names of the features; empty before the first batch of LIBSVM text.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Notes for the user: guesses made, columns ignored.
    pub fn notes(&self) -> &[Message] {
        &self.notes
    }

    /// The rows of a batch as a set to learn from, with what a model has to know about their source text.
    pub fn dataset(&self, batch: Batch) -> Result<Dataset> {
        if let Some(target) = &self.target {
            return self.numbers(batch, target);
        }
        let set = Dataset::new(short_name(self.lines.name), batch.samples, Labels::new(&batch.labels)?)?;
        let (label_name, label_column) = (self.label_name.clone(), self.label_column.clone());
        Ok(Dataset { label_name, label_column, index_base: self.index_base, ..set })
    }

    /// The rows of a batch with their numbers.
    fn numbers(&self, batch: Batch, target: &str) -> Result<Dataset> {
        let name = self.label_name.clone().unwrap_or_else(|| target.to_string());
        let number = |(label, &line): (&String, &u64)| {
            finite(label).ok_or_else(|| Error::data(Place::line(self.lines.name, line), no_number(label, &name)))
        };
        let values = batch.labels.iter().zip(&batch.lines).map(number).collect::<Result<Vec<f64>>>()?;
        let set = Dataset::of_numbers(short_name(self.lines.name), batch.samples, Numbers::one(&name, values)?)?;
        let label_column = self.label_column.clone();
        Ok(Dataset { label_name: Some(name), label_column, index_base: self.index_base, ..set })
    }

    /// An error about the label column as one about the target.
    fn of_target(&self, error: Error) -> Error {
        match error {
            Error::Param { name, message } if self.target.is_some() && name == "label" => {
                Error::Param { name: "target".into(), message }
            }
            other => other,
        }
    }

    fn begin_libsvm(&mut self) -> Result<()> {
        libsvm::check_options(&self.options)?;
        if let Some(expect) = &self.options.expect {
            (self.names, self.index_base) = (expect.names.clone(), expect.index_base.or(Some(1)));
        }
        Ok(())
    }

    /// Reads the first row, which determines the columns.
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
        // Checked before creating the names, of which a hostile line would make many.
        check_memory(name, 1, cells.len(), self.options.limit())?;
        if self.target.is_some() {
            self.options.label.clone_from(&self.target);
        }
        let (header, roles) = first_row(name, &cells, &self.options).map_err(|error| self.of_target(error))?;
        let mut roles = roles.by_name_alone();
        if roles.is_undecided {
            decide_by_row(name, &cells, header, &mut roles, &self.options)?;
        }
        let Some(label) = roles.label else {
            let message = message![
                "the rows have no label column, and there is nothing to learn without labels; add one, or say which it is \
                 with ",
                Remedy::Label(None)
            ];
            return Err(Error::data(Place::file(name), message));
        };
        let n_columns = cells.len();
        self.text = Text::Delimited(Delimited {
            delimiter,
            features: FeatureCells::new(name, &roles, &self.options),
            label,
            n_columns,
            header,
            n_lines: 0,
            is_decided: self.options.expect.is_some(),
            waiting: if header { VecDeque::new() } else { VecDeque::from([Ok(cells)]) },
            cells: Cells::default(),
        });
        (self.names, self.label_name, self.notes) = (roles.names, roles.label_name, roles.notes);
        self.label_column = roles.label_column;
        Ok(())
    }

    fn collect(&mut self, most: usize, wait: bool, mut on_error: OnError<'_>) -> Result<Option<Batch>> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        self.find_kinds(most, wait)?;
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

    /// Adds the row on the next line, if any.
    fn add_next(&mut self, wait: bool, batch: &mut Growing) -> std::result::Result<Found, Stopped> {
        let waiting = matches!(&self.text, Text::Delimited(Delimited { waiting, .. }) if !waiting.is_empty());
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
            Text::Delimited(delimited) => delimited.add(&self.lines, options, self.target.as_deref(), batch)?,
        }
        Ok(Found::Line)
    }

    fn finish(&mut self, batch: Growing) -> Result<Batch> {
        let Growing { data, labels, sparse, lines, texts } = batch;
        let (samples, labels) = match &self.text {
            Text::Libsvm => self.finish_libsvm(sparse)?,
            Text::Delimited(delimited) => {
                let samples = Samples::new(Matrix::from_vec(lines.len(), self.names.len(), data)?, self.names.clone())?;
                let codings =
                    delimited.features.columns().iter().zip(texts).map(|(column, texts)| column.coding(texts));
                (samples.with_codings(codings.collect()), labels)
            }
        };
        Ok(Batch { samples: with_views_of(samples, &self.options)?, labels, lines })
    }

    fn finish_libsvm(&mut self, rows: SparseRows) -> Result<(Samples, Vec<String>)> {
        let table = rows.into_table(self.lines.name, &self.options)?;
        let dense = table.samples.features().to_dense_within(Some(self.options.limit()))?.into_owned();
        let samples = Samples::new(dense, table.samples.names().to_vec())?;
        if self.options.expect.is_none() {
            // The first rows have determined the features.
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

/// Finds the label of unnamed rows with one column more than features, from the contents of the first row.
fn decide_by_row(name: &str, first: &Cells, header: bool, roles: &mut Roles, options: &ReadOptions) -> Result<()> {
    let Some(expect) = options.expect.as_ref() else { return Ok(()) };
    let end = |j: Option<&usize>| {
        let cell = j.map_or("", |&j| first.cell(j));
        // A stream needs a label, so an extra column can be nothing else.
        End { is_classes: !header && expect.is_class(cell), is_text: is_word(cell), ..End::default() }
    };
    let ends = [end(roles.features.first()), end(roles.features.last())];
    let (label, _) = decide(name, &roles.features, ends, options, roles.label.is_some())?;
    let Some(k) = label else { return Ok(()) };
    let j = roles.features.remove(k);
    let column = place_of(j, first.len());
    roles.notes.push(format!("label: {column}, a class of the model in the first row").into());
    (roles.label, roles.label_column, roles.names) = (Some(j), Some(column), expect.names.clone());
    Ok(())
}

/// The scope of an error.
#[derive(Debug)]
enum Stopped {
    /// One line: the next may be good.
    Line(Error),
    /// The source or a memory limit: nothing follows it.
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
    fn add(
        &mut self,
        lines: &Lines<'_>,
        options: &ReadOptions,
        target: Option<&str>,
        batch: &mut Growing,
    ) -> std::result::Result<(), Stopped> {
        if let Some(waiting) = self.waiting.pop_front() {
            self.cells = waiting?;
        } else {
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
        let read = self.features.read(&self.cells, n_before, &mut batch.data, &mut batch.texts);
        let missing = || no_label(self.cells.place(lines.name, self.label));
        let label = match (is_missing(label), target) {
            (true, _) => Err(missing()),
            (false, None) => Ok(label.to_string()),
            (false, Some(target)) => number(label, options.decimal)
                .map(|value| value.to_string())
                .ok_or_else(|| Error::data(self.cells.place(lines.name, self.label), no_number(label, target))),
        };
        match read.and(label) {
            Ok(label) => batch.labels.push(label),
            Err(error) => {
                batch.data.truncate(n_rows * n_cols);
                return Err(error.into());
            }
        }
        batch.lines.push(self.cells.line());
        Ok(())
    }
}

/// What is wrong with a target that is no number.
fn no_number(found: &str, target: &str) -> String {
    format!("{} for the target {} is not a number; correct or remove the row", quoted(found), quoted(target))
}

fn is_text(format: Format) -> bool {
    matches!(format, Format::Libsvm | Format::Csv | Format::Tsv)
}

/// Refuses options that make no sense for a stream.
fn check(options: &ReadOptions) -> Result<()> {
    if options.unlabelled {
        return Err(Error::param("unlabelled", "a stream is there to learn from; its rows need labels"));
    }
    if options.target.len() > 1 {
        let names = options.target.join(", ");
        return Err(Error::param(
            "target",
            format!("a stream has one column of numbers to predict, got {names}; give one"),
        ));
    }
    if options.event.is_some() {
        return Err(Error::param("event", "times to an event are not learned from a stream; train on a table"));
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
mod tests;
