//! Reading tables: where from, in which format, and what comes out.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::delimited::Cells;
use super::roles::Told;
use super::text::{HEAD, Source, finite, list, peek, quoted};
use super::{
    Dataset, Decimal, Expect, Labels, Samples, bundled, bundled_sets, delimited, expect, libsvm, npy, npz, parquet,
};
use crate::error::{Error, Place, Result};

/// Tables above this size are refused unless [`ReadOptions::memory`] allows them.
const MEMORY: u64 = 8 << 30;

/// A format for tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// `label index:value ...`, one row per line; indices left out are 0. A table of more than 64 columns in which fewer
    /// than a quarter of the values are not 0 is kept as [`Sparse`](super::Sparse) rows: 12 bytes per value that is not
    /// 0, 8 per row and about 100 per column, most of them for its name.
    Libsvm,
    /// Comma-separated (or by semicolons, bars or tabs, told from the first line), cells quoted with `"` where needed.
    Csv,
    /// Tab-separated, otherwise like CSV.
    Tsv,
    /// One NumPy array, 1-D or 2-D, of numbers; label, groups and ids are columns of whole numbers named by position.
    Npy,
    /// NumPy arrays in a zip archive: features in `X` (or `x`, `data`, `features`, or the only 2-D array); labels in `y` (or
    /// `label`, `labels`, `target`, `class`), column names in `names` (or `columns`) and ids in `ids`, where they are there.
    /// Label, groups and id of [`ReadOptions`] name arrays. The archive is held in memory besides while it is read.
    Npz,
    /// A Parquet table, read by builds with the feature `arrow`. Columns are numbers, but for label, groups and
    /// id; null is missing.
    Parquet,
    /// An Arrow IPC file (Feather version 2), like Parquet.
    Arrow,
}

/// How to read a table; the default tells everything from the file.
///
/// ```
/// use multikernel::data::{Format, ReadOptions, read_from};
/// let mut options = ReadOptions::default();
/// options.format = Some(Format::Csv);
/// options.label = Some("0".into());
/// let table = read_from("good,0.5,2\nbad,1.5,0\n".as_bytes(), "standard input", &options)?;
/// assert_eq!(table.labels.unwrap(), ["good", "bad"]);
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ReadOptions {
    /// The format; told from the file's name or first line when not given.
    pub format: Option<Format>,
    /// Whether delimited text begins with column names; when not given, it does if a feature cell of the first line is
    /// not a number, its label cell is called `label`, `class` or `target`, or its first cell is blank and the others are
    /// whole numbers, all different, as a table without names is written with row names.
    pub header: Option<bool>,
    /// The label column of delimited text: its name, or its position from 0, or from -1 backwards; a name wins over a
    /// position. When not given: the first column called `label`, `class`, `target` or `y` in any case, else the last.
    pub label: Option<String>,
    /// The column of delimited text that names the samples, given as for `label`. When not given: the first column called
    /// `id`, `sample`, `sample_id`, `sampleid`, `sample id`, `barcode` or `Unnamed: 0` in any case, or like an id (`patient_id`,
    /// `PassengerId`), if its values all differ; else the first column if the header has a blank for it, as R writes row names
    /// and pandas its index; else a first column of texts that all differ, or one that counts the rows (20 or more); else there
    /// are no ids. `none` says that there are none. An id is no feature; it must be there and differ from row to row.
    pub id: Option<String>,
    /// The column of delimited text that says which rows belong together, such as patients or batches, given as for
    /// `label`. It is text, no feature, and must be there in every row.
    pub groups: Option<String>,
    /// All columns but ids and groups are features; labels of LIBSVM rows are ignored.
    pub unlabelled: bool,
    /// Rows may be without labels: a column of delimited text is a label only if it is called `label`, `class` or `target` in
    /// any case, or named by `label`.
    pub label_optional: bool,
    /// Columns of delimited text to leave out, by name or position as for `label`.
    pub ignore: Vec<String>,
    /// What becomes of rows without a label, or without any value.
    pub missing_labels: MissingLabels,
    /// How decimals are written, for cells that could be read in two ways, such as `1,234`; told from the file when not given.
    pub decimal: Option<Decimal>,
    /// Delimited text has samples in columns: their ids in the first line, the names of features in the first column.
    pub transpose: bool,
    /// For prediction: what the model knows. Columns are then matched to the model's features, and labels may be
    /// missing.
    pub expect: Option<Expect>,
    /// Bytes the table may take, column names included; 8 GiB when not given.
    pub memory: Option<u64>,
    /// Set where the file is one of several that are joined.
    pub(super) part: Option<JoinedPart>,
}

/// What becomes of rows without a label, or without any value; rows of a prediction may be without labels anyway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingLabels {
    /// They are an error.
    #[default]
    Refuse,
    /// They are left out, and a note says how many.
    Drop,
}

/// How one of several joined files is read: it need not have the columns that options ask for, has a label only where a
/// column is called so, and a row may be without any value.
#[derive(Clone, Debug, Default)]
pub(super) struct JoinedPart {
    /// Columns that are left out where the file has them: labels that another file gives.
    pub(super) leave_out: Vec<String>,
}

impl ReadOptions {
    /// Options to read rows for a model.
    pub fn expecting(expect: Expect) -> Self {
        ReadOptions { expect: Some(expect), ..ReadOptions::default() }
    }

    /// The options that ask for a column, and the column.
    pub(super) fn told(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let one = [("label", self.label.as_ref()), ("id", self.id_column()), ("groups", self.groups.as_ref())];
        let ignored = self.ignore.iter().map(|wanted| ("ignore", wanted.as_str()));
        one.into_iter().filter_map(|(option, wanted)| Some((option, wanted?.as_str()))).chain(ignored)
    }

    /// Whether the last column is taken for the label where none is called so.
    pub(super) fn takes_last(&self) -> bool {
        self.part.is_none() && !self.label_optional
    }

    /// The column told to hold ids.
    pub(super) fn id_column(&self) -> Option<&String> {
        self.id.as_ref().filter(|_| self.wants_ids())
    }

    /// Whether a column may be ids: nobody said that there are none.
    pub(super) fn wants_ids(&self) -> bool {
        self.id.as_deref() != Some("none")
    }

    pub(super) fn limit(&self) -> u64 {
        self.memory.unwrap_or(MEMORY)
    }
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Table {
    /// Name for reports: the file's name without folder and format endings, or the bundled name.
    pub name: String,
    /// Where it was read from, as errors name it.
    pub source: String,
    /// The rows.
    pub samples: Samples,
    /// The label of each row, where the file has labels.
    pub labels: Option<Vec<String>>,
    /// The labels of rows to predict of which some have none, blank there; `labels` is `None` then.
    pub some_labels: Option<Vec<String>>,
    /// The name of the label column, where it has one.
    pub label_name: Option<String>,
    /// Which column the label is where it has no name, such as `column 5 (the last)`.
    pub label_column: Option<String>,
    /// What each row belongs to, where [`ReadOptions::groups`] named a column.
    pub groups: Option<Vec<String>>,
    /// The name of the groups column, where it has one.
    pub group_name: Option<String>,
    /// The options that name a column of the file.
    pub(super) told: Vec<Told>,
    /// The first index of LIBSVM text (0 or 1).
    pub index_base: Option<u8>,
    /// What a reader of the result should know: guesses made, columns ignored.
    pub notes: Vec<String>,
}

impl Table {
    /// The rows with their labels, ids, views and groups; a table without labels is an error, and so is a row without any
    /// value.
    pub fn into_dataset(self) -> Result<Dataset> {
        self.into_dataset_or(None)
    }

    /// [`Table::into_dataset`], with rows that have no labels all in the class `class`: for methods that want none.
    ///
    /// ```
    /// use multikernel::data::{ReadOptions, read_from};
    /// let options = { let mut options = ReadOptions::default(); options.label_optional = true; options };
    /// let rows = read_from("a,b\n1,2\n3,4\n".as_bytes(), "rows", &options)?.into_unlabelled("row")?;
    /// assert_eq!((rows.samples.n_features(), rows.labels.classes()), (2, &["row".to_string()][..]));
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn into_unlabelled(self, class: &str) -> Result<Dataset> {
        self.into_dataset_or(Some(class))
    }

    fn into_dataset_or(mut self, class: Option<&str>) -> Result<Dataset> {
        if let (None, Some(class)) = (&self.labels, class) {
            self.labels = Some(vec![class.to_string(); self.samples.n_samples()]);
        }
        if let Some(row) = self.samples.first_empty_row() {
            let message =
                format!("row {} has no value at all; remove it, or fill values in", self.samples.row_number(row));
            return Err(Error::data(Place::file(self.source), message));
        }
        let Some(labels) = self.labels else {
            return Err(Error::data(
                Place::file(self.source),
                "the rows have no labels; give a file with a label in each row, or one of labels with --labels",
            ));
        };
        let labels = Labels::new(&labels).map_err(|error| within(&self.source, error))?;
        let set = Dataset::new(self.name, self.samples, labels)?;
        let (label_name, label_column) = (self.label_name, self.label_column);
        let set = Dataset { label_name, label_column, index_base: self.index_base, ..set };
        match &self.groups {
            Some(groups) => set.with_groups(groups, self.group_name).map_err(|error| within(&self.source, error)),
            None => Ok(set),
        }
    }

    /// The rows with their labels as a test set for rows of these classes; a label that is none of them is an error.
    pub fn into_test_set(self, classes: &[String]) -> Result<Dataset> {
        let source = self.source.clone();
        let labels = self.labels.clone();
        let set = self.into_dataset()?;
        let labels =
            Labels::with_classes(&labels.unwrap_or_default(), classes).map_err(|error| within(&source, error))?;
        Ok(Dataset { labels, ..set })
    }
}

/// Puts the file's name before a message that lacks it.
pub(super) fn within(source: &str, error: Error) -> Error {
    match error {
        Error::Input(message) => Error::data(Place::file(source), message),
        other => other,
    }
}

/// Reads a table from a file, gzip or plain; `-` is standard input.
///
/// The format is the one given; else NumPy, Parquet and Arrow files are known by their first bytes, and text by the ending
/// of its name (`.csv`; `.tsv`, `.tab`; `.svm`, `.libsvm`, `.svmlight`, `.scale`, `.t`, `.tr`, `.val`; each also with `.gz`)
/// or its first lines. Cells of delimited text that are empty, `NA`, `N/A`, `NaN`, `null`, `none`, `?`, `<NA>` or an error of a
/// spreadsheet such as `#N/A` are missing values, NaN in the table, and so are `-`, `.` or `*` among numbers; all others must be
/// finite numbers. Decimal commas, thousands separators and percent signs are read where a whole column has them. A refusal
/// names all columns that are no numbers, with file and line of the first such cell.
pub fn read(path: &Path, options: &ReadOptions) -> Result<Table> {
    if path.as_os_str() == "-" {
        return read_from(std::io::stdin().lock(), "standard input", options);
    }
    let file = File::open(path).map_err(|error| Error::io("read", path, error))?;
    read_from(file, &path.display().to_string(), options)
}

/// Reads a table from any reader; `name` stands in messages, and its ending may tell the format as in [`read`].
pub fn read_from(reader: impl Read, name: &str, options: &ReadOptions) -> Result<Table> {
    if options.unlabelled && options.label.is_some() {
        return Err(Error::param("label", "cannot be given for rows without labels; leave one of the two out"));
    }
    if options.expect.as_ref().is_some_and(|expect| expect.names.is_empty()) {
        return Err(Error::input("the model to read rows for has no features; give at least one name"));
    }
    let (magic, reader) = peek(reader, 8).map_err(|error| Error::io("read", name, error))?;
    let format = options.format.or_else(|| by_magic(&magic)).or_else(|| by_ending(name));
    if options.transpose && format.is_some_and(|format| !matches!(format, Format::Csv | Format::Tsv)) {
        return Err(Error::param(
            "transpose",
            format!("{name} is no CSV or TSV text, which alone can be turned; turn it first"),
        ));
    }
    let table = match format {
        Some(Format::Npy) => npy::read(reader, name, options),
        Some(Format::Npz) => npz::read(reader, name, options),
        Some(Format::Parquet | Format::Arrow) => parquet::read(reader, name, options),
        text => read_text(Source::open(reader, name)?, text, options),
    }?;
    let samples = with_views_of(table.samples, options)?;
    let mut table = Table { name: short_name(name), samples, ..table };
    if options.part.is_none() {
        check_classes(&mut table, options)?;
    }
    Ok(table)
}

/// Labels of more different numbers than this may be a number to predict.
const MAX_NUMERIC_CLASSES: usize = 20;

/// With fewer rows per class than this.
const MIN_ROWS_PER_CLASS: usize = 100;

/// Labels with fewer classes are never taken for numbers of their own.
const MIN_NUMERIC_CLASSES: usize = 10;

/// Warns of labels that read as a number to predict, and refuses them where hardly two rows have the same.
pub(super) fn check_classes(table: &mut Table, options: &ReadOptions) -> Result<()> {
    let Some(labels) = table.labels.as_ref().filter(|_| options.expect.is_none() && !options.label_optional) else {
        return Ok(());
    };
    let classes: HashSet<&str> = labels.iter().map(String::as_str).collect();
    let (n, n_rows) = (classes.len(), labels.len());
    let is_own = n > MIN_NUMERIC_CLASSES && 2 * n > n_rows;
    let is_many = n > MAX_NUMERIC_CLASSES && n_rows < n * MIN_ROWS_PER_CLASS;
    if !is_own && !is_many {
        return Ok(());
    }
    let numbers: Option<Vec<f64>> = classes.iter().map(|class| finite(class)).collect();
    let Some(numbers) = numbers else { return Ok(()) };
    let (low, high) =
        numbers.iter().fold((f64::MAX, f64::MIN), |(low, high), &value| (low.min(value), high.max(value)));
    // Numbers without a gap, counted from 0 or 1, are codes of classes.
    let is_code = (low == 0.0 || low == 1.0) && high - low + 1.0 == n as f64;
    let column = match (&table.label_name, &table.label_column) {
        (Some(name), _) => format!("the label column {}", quoted(name)),
        (None, Some(column)) => format!("the label, {column},"),
        (None, None) => "the label".into(),
    };
    let turned = if looks_turned(table) { " (if samples are in columns, add --transpose)" } else { "" };
    let message = format!(
        "{column} has {n} different numbers in {n_rows} rows and reads as a number to predict, but multikernel predicts \
         classes, each value a class of its own; put the values into a few bins, or name another column with --label{turned}"
    );
    match () {
        () if is_own => return Err(Error::data(Place::file(&table.source), message)),
        () if is_code => {}
        () => table.notes.push(format!("warning: {message}")),
    }
    Ok(())
}

/// Whether columns are called as samples often are, one beginning with numbers after it, beside row names.
fn looks_turned(table: &Table) -> bool {
    let beginning = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit()).to_string();
    let names = table.samples.names();
    let Some(first) = names.first().map(|name| beginning(name)) else { return false };
    let is_counted = |name: &String| beginning(name) == first && name.len() > first.len();
    table.samples.ids().is_some() && names.len() > 2 && !first.is_empty() && names.iter().all(is_counted)
}

fn read_text(source: Source<'_>, format: Option<Format>, options: &ReadOptions) -> Result<Table> {
    match format.map_or_else(|| sniff(&source), Ok)? {
        Format::Libsvm if options.transpose => {
            let message = format!("{} is LIBSVM text, whose rows are samples; leave it out", source.name);
            Err(Error::param("transpose", message))
        }
        Format::Libsvm => libsvm::read(source.lines(), options),
        Format::Tsv => delimited::read(source.lines(), '\t', options),
        _ => {
            let delimiter = csv_delimiter(&source.head);
            delimited::read(source.lines(), delimiter, options)
        }
    }
}

/// The rows with the views of the model they are read for.
pub(super) fn with_views_of(samples: Samples, options: &ReadOptions) -> Result<Samples> {
    match &options.expect {
        Some(expect) if !expect.views.is_empty() => samples.with_views(expect.views.clone()),
        _ => Ok(samples),
    }
}

/// The rows of delimited text in a file, cell by cell; `-` is standard input.
pub(super) fn read_cells(source: &str, options: &ReadOptions) -> Result<Vec<Cells>> {
    if source == "-" {
        return cells_from(std::io::stdin().lock(), "standard input", options);
    }
    let file = File::open(source).map_err(|error| Error::io("read", source, error))?;
    cells_from(file, source, options)
}

fn cells_from(reader: impl Read, name: &str, options: &ReadOptions) -> Result<Vec<Cells>> {
    let source = Source::open_as(reader, name, "labels are read as CSV or TSV text, plain or gzip")?;
    let given = options.format.filter(|format| *format != Format::Libsvm);
    let delimiter = match by_ending(name).or(given).map_or_else(|| sniff(&source), Ok)? {
        Format::Tsv => '\t',
        Format::Libsvm => {
            let message = "this is LIBSVM text, which has no ids; give labels as CSV or TSV text";
            return Err(Error::data(Place::file(name), message));
        }
        _ => csv_delimiter(&source.head),
    };
    delimited::read_cells(source.lines(), delimiter, options.limit())
}

/// Reads what a user named: a bundled set, else a file as in [`read`].
///
/// A bundled name wins over a file of that name in the current folder; `./sonar` is the file.
///
/// ```
/// let table = multikernel::data::load("sonar", &Default::default())?;
/// assert_eq!(table.samples.n_features(), 60);
/// let error = multikernel::data::load("snoar", &Default::default()).unwrap_err().to_string();
/// assert!(error.starts_with("snoar: no such file, and no bundled set of that name"));
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn load(source: &str, options: &ReadOptions) -> Result<Table> {
    if let Some(set) = bundled_sets().iter().find(|set| set.name == source) {
        return bundled_table(bundled(set.name)?, set.label, options);
    }
    match read(Path::new(source), options) {
        Err(Error::Io { reason: error, .. }) if error.kind() == std::io::ErrorKind::NotFound => {
            let names: Vec<&str> = bundled_sets().iter().map(|set| set.name).collect();
            Err(Error::data(
                Place::file(source),
                format!("no such file, and no bundled set of that name; bundled are {}", list(&names, usize::MAX)),
            ))
        }
        result => result,
    }
}

/// A bundled set seen through the options, as if it were a file with a header.
fn bundled_table(set: Dataset, label: &str, options: &ReadOptions) -> Result<Table> {
    if options.transpose {
        return Err(Error::param(
            "transpose",
            format!("the rows of the bundled set {} are samples; leave it out", set.name),
        ));
    }
    // One of several joined files need not have what options ask for.
    let whole = options.part.is_none();
    if whole && options.label.as_deref().is_some_and(|wanted| wanted != label) {
        return Err(Error::param("label", format!("the bundled set {} has the one label '{label}'", set.name)));
    }
    for (option, given, what) in [("id", options.id_column(), "ids"), ("groups", options.groups.as_ref(), "groups")] {
        if whole && given.is_some() {
            return Err(Error::param(option, format!("the bundled set {} has no {what}; leave it out", set.name)));
        }
    }
    let (classes, codes) = (set.labels.classes(), set.labels.codes());
    let labels = (!options.unlabelled).then(|| codes.iter().map(|&code| classes[code].clone()).collect());
    let (mut samples, mut notes) = (set.samples, Vec::new());
    if let Some(expected) = &options.expect {
        let found = expect::by_name(&set.name, samples.names(), &[], expected)?;
        notes.extend(found.note);
        if found.columns.iter().copied().ne(0..samples.n_features()) {
            samples = Samples::new(samples.features().select_cols(&found.columns), expected.names.clone())?;
        }
    }
    let samples = with_views_of(samples, options)?;
    let told = options.told().filter(|told| *told == ("label", label)).map(|(option, wanted)| (option, wanted.into()));
    let told = told.collect();
    let label_name = (!options.unlabelled).then(|| label.to_string());
    Ok(Table {
        name: set.name.clone(),
        source: set.name,
        samples,
        labels,
        some_labels: None,
        label_name,
        label_column: None,
        groups: None,
        group_name: None,
        told,
        index_base: None,
        notes,
    })
}

/// The name without a final `.gz`.
fn unpacked(name: &str) -> &str {
    match name.len().checked_sub(3).and_then(|at| name.split_at_checked(at)) {
        Some((rest, ending)) if ending.eq_ignore_ascii_case(".gz") => rest,
        _ => name,
    }
}

/// Tells files that are not text; words that a text may begin with are not enough.
fn by_magic(head: &[u8]) -> Option<Format> {
    const KNOWN: [(&[u8], Format); 5] = [
        (npy::MAGIC, Format::Npy),
        (b"PK\x03\x04", Format::Npz),
        (b"PK\x05\x06", Format::Npz),
        (b"PAR1\x15", Format::Parquet),
        (b"ARROW1\0\0", Format::Arrow),
    ];
    KNOWN.iter().find(|(magic, _)| head.starts_with(magic)).map(|&(_, format)| format)
}

pub(super) fn by_ending(name: &str) -> Option<Format> {
    let (_, ending) = unpacked(name).rsplit_once('.')?;
    match ending.to_ascii_lowercase().as_str() {
        "csv" => Some(Format::Csv),
        "tsv" | "tab" => Some(Format::Tsv),
        "svm" | "libsvm" | "svmlight" | "scale" | "t" | "tr" | "val" => Some(Format::Libsvm),
        "npy" => Some(Format::Npy),
        "npz" => Some(Format::Npz),
        "parquet" => Some(Format::Parquet),
        "arrow" | "feather" => Some(Format::Arrow),
        _ => None,
    }
}

/// Endings that say nothing but the format.
const ENDINGS: [&str; 11] =
    ["csv", "tsv", "tab", "svm", "libsvm", "svmlight", "npy", "npz", "parquet", "arrow", "feather"];

pub(super) fn short_name(name: &str) -> String {
    let file = Path::new(name).file_name().map_or_else(|| name.to_string(), |file| file.to_string_lossy().into_owned());
    let short = unpacked(&file);
    match short.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && ENDINGS.contains(&&*ending.to_ascii_lowercase()) => {
            stem.to_string()
        }
        _ => short.to_string(),
    }
}

/// The non-blank lines at the beginning of a text, the last without its last word when it may be cut.
fn head_lines(head: &[u8]) -> Vec<String> {
    let cut = head.len() >= HEAD;
    let text = String::from_utf8_lossy(head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head)).into_owned();
    let mut lines: Vec<String> =
        text.split(['\n', '\r']).map(str::trim).filter(|line| !line.is_empty()).map(str::to_string).collect();
    if let Some(last) = lines.last_mut().filter(|_| cut) {
        last.truncate(last.rfind(char::is_whitespace).unwrap_or(last.len()));
    }
    lines
}

/// What a line says about the format of its text.
pub(super) enum Says {
    /// The format.
    Is(Format),
    /// It is none of ours.
    Unknown,
    /// Nothing: it is blank, a comment or a single word.
    Nothing,
}

/// What a trimmed line says about the format.
pub(super) fn says(line: &str) -> Says {
    match line {
        _ if line.starts_with('#') => Says::Nothing,
        _ if libsvm::looks_like(line) => Says::Is(Format::Libsvm),
        _ if line.contains('\t') => Says::Is(Format::Tsv),
        _ if line.contains([',', ';', '|']) => Says::Is(Format::Csv),
        _ if line.contains(char::is_whitespace) => Says::Unknown,
        _ => Says::Nothing,
    }
}

/// Tells the format from the first line that has more than one word or cell.
pub(super) fn sniff(source: &Source<'_>) -> Result<Format> {
    let lines = head_lines(&source.head);
    for line in &lines {
        match says(line) {
            Says::Is(format) => return Ok(format),
            Says::Unknown => {
                return Err(Error::data(
                    Place::file(source.name),
                    "the first line is neither LIBSVM (label index:value ...) nor separated by commas, semicolons, tabs or \
                     bars; save it with commas between the cells, or give the format",
                ));
            }
            Says::Nothing => {}
        }
    }
    if lines.is_empty() {
        return Err(Error::data(Place::file(source.name), "the file is empty; give at least one row"));
    }
    // One word per line: labels without a single value make no table, so this can only be one column.
    Ok(Format::Csv)
}

/// Semicolon or bar where the first line has one and commas can only be decimal ones; tab where it has nothing else.
pub(super) fn csv_delimiter(head: &[u8]) -> char {
    let lines = head_lines(head);
    // Quoted pieces are every second one between quotes and may hold anything.
    let bare: String = lines.first().map_or(String::new(), |line| line.split('"').step_by(2).collect());
    let decimal = |cell: &str| cell.matches(',').count() <= 1;
    let splits = |mark: char| bare.contains(mark) && bare.split(mark).all(decimal);
    match () {
        () if splits(';') => ';',
        () if splits('|') => '|',
        () if bare.contains('\t') && !bare.contains(',') => '\t',
        () => ',',
    }
}

/// Whether a cell is a word: neither a number nor a mark for a missing value.
pub(super) fn is_word(cell: &str) -> bool {
    finite(cell).is_none() && !super::text::is_missing(cell)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;
    use crate::data::Features;
    use crate::linalg::Matrix;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn message(bytes: &[u8], name: &str) -> String {
        read_from(bytes, name, &ReadOptions::default()).unwrap_err().to_string()
    }

    fn format(text: &str, name: &str) -> Option<Format> {
        by_ending(name).or_else(|| Source::open(text.as_bytes(), name).and_then(|source| sniff(&source)).ok())
    }

    #[test]
    fn format_told_from_ending_then_first_lines() {
        use Format::{Csv, Libsvm, Tsv};
        for (name, expected) in [
            ("a.csv", Csv),
            ("a.CSV.GZ", Csv),
            ("a.tsv", Tsv),
            ("a.tab.gz", Tsv),
            ("a.svm", Libsvm),
            ("vehicle.scale", Libsvm),
            ("vehicle.scale.t.gz", Libsvm),
        ] {
            assert_eq!(format("", name), Some(expected), "{name}");
        }
        for (text, expected) in [
            ("1 1:2 3:4\n", Some(Libsvm)),
            ("\n# note, with commas\n+1\n-1 2:3 # a, b\n", Some(Libsvm)),
            ("\n+1\n-1 2:3 # a, b\n", Some(Libsvm)),
            ("1:2 3:4\n", Some(Libsvm)),
            ("1 qid:3 3:4\n", Some(Libsvm)),
            ("a\tb\n", Some(Tsv)),
            ("1\t1:2\t3:4\n", Some(Libsvm)),
            ("a,b\n", Some(Csv)),
            ("a;b\n", Some(Csv)),
            ("12:30 1:2,5\n", Some(Csv)),
            ("a\n1\n", Some(Csv)),
            ("1 2 3\n", None),
            ("", None),
        ] {
            assert_eq!(format(text, "data"), expected, "{text:?}");
        }
        // A first line longer than the part looked at is cut inside a word.
        let wide = (1..20_000).fold("1".to_string(), |line, k| line + &format!(" {k}:0.5"));
        assert_eq!(format(&wide, "data"), Some(Libsvm));
    }

    #[test]
    fn files_that_are_not_text_told_from_their_first_bytes() {
        for (head, expected) in [
            (&b"\x93NUMPY\x01\0"[..], Some(Format::Npy)),
            (b"PK\x03\x04\x14\0\0\0", Some(Format::Npz)),
            (b"PK\x05\x06\0\0\0\0", Some(Format::Npz)),
            (b"PAR1\x15\x04\x15\x20", Some(Format::Parquet)),
            (b"ARROW1\0\0", Some(Format::Arrow)),
            (b"PK,PAR1,", None),
            (b"PAR1,a\n1", None),
            (b"ARROW1,b", None),
            (b"", None),
        ] {
            assert_eq!(by_magic(head), expected);
        }
        for (ending, expected) in [
            ("npy", Format::Npy),
            ("npz", Format::Npz),
            ("parquet", Format::Parquet),
            ("arrow", Format::Arrow),
            ("feather", Format::Arrow),
        ] {
            assert_eq!(by_ending(&format!("a.{ending}")), Some(expected));
            assert_eq!(short_name(&format!("d/a.{ending}")), "a");
        }
    }

    #[test]
    fn unusable_files_refused_with_a_reason() {
        for (bytes, name, expected) in [
            (&b""[..], "f", "f: the file is empty; give at least one row"),
            (b" \n", "f", "f: the file is empty; give at least one row"),
            (
                b"1 2 3\n4 5 6\n",
                "f",
                "f: the first line is neither LIBSVM (label index:value ...) nor separated by commas, semicolons, \
                 tabs or bars; save it with commas between the cells, or give the format",
            ),
            (
                b"a,y\n1,p\n2,\xe9\n",
                "f",
                "f:3: byte 3 (0xE9) is not UTF-8 text; save the file as UTF-8 (`iconv -f cp1252 -t utf-8 FILE > NEW`)",
            ),
            (
                b"1 1:2\n\xff 1:2\n",
                "f.svm",
                "f.svm:2: byte 1 (0xFF) is not UTF-8 text; save the file as UTF-8 (`iconv -f cp1252 -t utf-8 FILE > NEW`)",
            ),
            (
                b"BZh91AY&SY",
                "f.bz2",
                "f.bz2: this is a bzip2 file; data are read as LIBSVM, CSV or TSV text, plain or gzip, or as .npy or .npz: \
                 convert it first",
            ),
        ] {
            assert_eq!(message(bytes, name), expected);
        }
        let packed = gzip("1,p\n".repeat(50_000).as_bytes());
        let cut = message(&packed[..packed.len() - 20], "f.csv.gz");
        assert!(cut.starts_with("f.csv.gz: the gzip data are damaged or cut short after line "), "{cut}");
        assert!(message(&packed[..12], "f.csv.gz").starts_with("f.csv.gz: the gzip data are damaged"));
        let missing = read(Path::new("no/such/file.csv"), &ReadOptions::default()).unwrap_err().to_string();
        assert!(missing.starts_with("cannot read no/such/file.csv: "), "{missing}");
    }

    #[test]
    fn expecting_no_features_refused() {
        let options = ReadOptions::expecting(Expect::new(vec![], None, Some(0)));
        for text in ["1 0:1\n", "1,2\n"] {
            assert_eq!(
                read_from(text.as_bytes(), "f", &options).unwrap_err().to_string(),
                "the model to read rows for has no features; give at least one name"
            );
        }
    }

    #[test]
    fn table_name_is_the_file_without_folder_and_ending() {
        for (path, expected) in [
            ("d/sonar.csv.gz", "sonar"),
            ("vehicle.scale.t", "vehicle.scale.t"),
            ("a.SVM", "a"),
            (".csv", ".csv"),
            ("-", "-"),
        ] {
            assert_eq!(short_name(path), expected);
        }
    }

    #[test]
    fn into_dataset_without_labels_refused() {
        let mut options = ReadOptions { unlabelled: true, ..Default::default() };
        let table = read_from("1,2\n".as_bytes(), "d/f.csv", &options).unwrap();
        assert_eq!(
            table.into_dataset().unwrap_err().to_string(),
            "d/f.csv: the rows have no labels; give a file with a label in each row, or one of labels with --labels"
        );
        options.unlabelled = false;
        let table = read_from("1,1\n2,1.0\n".as_bytes(), "d/f.csv", &options).unwrap();
        assert_eq!(
            table.into_dataset().unwrap_err().to_string(),
            "d/f.csv: labels '1' and '1.0' are one number written in two ways; write them alike"
        );
    }

    #[test]
    fn into_dataset_row_without_any_value_refused() {
        let table = read_from("1,2,p\n3,4,q\n".as_bytes(), "d/f.csv", &ReadOptions::default()).unwrap();
        let values = vec![f64::NAN, 2.0, f64::NAN, f64::NAN];
        let samples = Samples::unnamed(Matrix::from_vec(2, 2, values).unwrap()).unwrap();
        let holed = Table { samples, ..table };
        assert_eq!(
            holed.into_dataset().unwrap_err().to_string(),
            "d/f.csv: row 2 has no value at all; remove it, or fill values in"
        );
    }

    #[test]
    fn into_dataset_carries_ids_and_groups() {
        let text = "id,a,batch,y\ns3,1,v,p\ns1,2,u,q\ns2,3,v,q\n";
        let options = ReadOptions { groups: Some("batch".into()), ..Default::default() };
        let set = read_from(text.as_bytes(), "f.csv", &options).unwrap().into_dataset().unwrap();
        assert_eq!(set.samples.ids().unwrap(), ["s3", "s1", "s2"]);
        assert_eq!((set.groups.as_deref(), set.group_name.as_deref()), (Some(&[0, 1, 0][..]), Some("batch")));
        let part = set.select(&[1, 2]);
        assert_eq!((part.samples.ids().unwrap().join(" "), part.groups.unwrap()), ("s1 s2".to_string(), vec![1, 0]));
        assert_eq!(part.group_name.as_deref(), Some("batch"));
    }

    #[test]
    fn load_takes_bundled_names_then_paths() {
        let whole = load("glass", &ReadOptions::default()).unwrap();
        assert_eq!(whole.clone().into_dataset().unwrap(), bundled("glass").unwrap());
        let mut names = whole.samples.names().to_vec();
        names.reverse();
        let turned = load("glass", &ReadOptions::expecting(Expect::new(names.clone(), None, None))).unwrap();
        assert_eq!(turned.samples.names(), names);
        let column = |table: &Table, j: usize| table.samples.features().to_dense().unwrap().column(j);
        assert_eq!(column(&turned, 0), column(&whole, 8));
        let unknown = ReadOptions::expecting(Expect::new(vec!["q".into()], None, None));
        assert!(load("glass", &unknown).unwrap_err().to_string().starts_with("glass: 1 of the 1 expected features"));
        let label = ReadOptions { label: Some("x1".into()), ..Default::default() };
        assert_eq!(
            load("glass", &label).unwrap_err().to_string(),
            "parameter label: the bundled set glass has the one label 'label'"
        );
        assert_eq!(
            load("no-such", &ReadOptions::default()).unwrap_err().to_string(),
            "no-such: no such file, and no bundled set of that name; bundled are glass, glass6, ionosphere, \
             nutrimouse, sonar, vehicle, wdbc, wisconsin"
        );
        let file = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
        std::fs::write(file.path(), gzip(b"a,y\n1,p\n")).unwrap();
        assert_eq!(load(&file.path().display().to_string(), &ReadOptions::default()).unwrap().labels.unwrap(), ["p"]);
    }

    /// Finite numbers of every size, with many zeros.
    fn value() -> impl Strategy<Value = f64> {
        prop_oneof![Just(0.0), Just(-0.0), -1e3..1e3, any::<u64>().prop_map(f64::from_bits)]
            .prop_filter("finite", |value| value.is_finite())
    }

    fn rows() -> impl Strategy<Value = (Matrix, Vec<String>)> {
        (1usize..8, 1usize..6).prop_flat_map(|(n, d)| {
            let label = prop::sample::select(vec!["-1", "1", "2.5", "red", "a b", "q\"q", "x,y", "l\nm", "#5", "é"]);
            let labels = prop::collection::vec(label.prop_map(str::to_string), n);
            let values = prop::collection::vec(value(), n * d);
            (values.prop_map(move |values| Matrix::from_vec(n, d, values).unwrap()), labels)
        })
    }

    fn bits(features: &Features) -> Vec<u64> {
        features.to_dense().unwrap().data().iter().map(|value| value.to_bits()).collect()
    }

    /// `columns` of the matrix and the labels, quoted where needed or everywhere.
    fn csv_text(features: &Matrix, labels: &[String], columns: &[usize], end: &str, all: bool) -> String {
        let quote = |text: &str| {
            let needed = all || text.contains(['"', ',', '\n']);
            if needed { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_string() }
        };
        let mut text: String = columns.iter().map(|j| quote(&format!("f{j}")) + ",").collect();
        text += &(quote("label") + end);
        for (row, label) in features.rows().zip(labels) {
            text.extend(columns.iter().map(|&j| quote(&row[j].to_string()) + ","));
            text += &(quote(label) + end);
        }
        text
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        #[test]
        fn csv_round_trip_is_bit_identical_gz_or_plain((features, labels) in rows(), end in 0usize..2, all: bool) {
            let columns: Vec<usize> = (0..features.n_cols()).collect();
            let text = csv_text(&features, &labels, &columns, ["\n", "\r\n"][end], all);
            let plain = read_from(text.as_bytes(), "t.csv", &ReadOptions::default()).unwrap();
            prop_assert_eq!(bits(plain.samples.features()), bits(&features.clone().into()));
            prop_assert_eq!(plain.labels.as_ref().unwrap(), &labels);
            prop_assert_eq!(&read_from(&gzip(text.as_bytes())[..], "t.csv", &ReadOptions::default()).unwrap(), &plain);
        }

        #[test]
        fn libsvm_round_trip_is_bit_identical_in_both_bases(
            (features, labels) in rows(), order: u64, zeros: bool,
        ) {
            // Words without spaces; LIBSVM text has no quotes.
            let labels: Vec<String> = labels.iter().map(|label| label.replace([' ', '\n', '#'], "_")).collect();
            let write = |base: usize| {
                let mut rng = crate::dist::Rng::new(order, 0);
                let mut text = String::new();
                for (row, label) in features.rows().zip(&labels) {
                    // The first and last index must occur somewhere for the base and the width to be seen.
                    let mut js: Vec<usize> = (0..row.len())
                        .filter(|&j| zeros || row[j].to_bits() != 0 || j == 0 || j + 1 == row.len())
                        .collect();
                    rng.shuffle(&mut js);
                    text += label;
                    text.extend(js.iter().map(|&j| format!(" {}:{}", j + base, row[j])));
                    text += "\n";
                }
                text
            };
            for base in [0, 1] {
                let text = write(base);
                let table = read_from(text.as_bytes(), "t.svm", &ReadOptions::default()).unwrap();
                prop_assert_eq!(bits(table.samples.features()), bits(&features.clone().into()));
                prop_assert_eq!(table.labels.as_ref().unwrap(), &labels);
                prop_assert_eq!(table.index_base, Some(base as u8));
                prop_assert_eq!(&table.samples.names()[0], &format!("x{base}"));
                let again = read_from(text.as_bytes(), "t.svm", &ReadOptions::expecting(table.clone().into_dataset().unwrap().expect())).unwrap();
                prop_assert_eq!(again.samples, table.samples);
                let packed = read_from(&gzip(text.as_bytes())[..], "t", &ReadOptions::default()).unwrap();
                prop_assert_eq!(packed.labels, table.labels);
            }
        }

        #[test]
        fn permuted_columns_at_prediction_give_the_same_matrix((features, labels) in rows(), seed: u64) {
            let mut columns: Vec<usize> = (0..features.n_cols()).collect();
            let text = csv_text(&features, &labels, &columns, "\n", false);
            let trained = read_from(text.as_bytes(), "t.csv", &ReadOptions::default()).unwrap();
            crate::dist::Rng::new(seed, 0).shuffle(&mut columns);
            let text = csv_text(&features, &labels, &columns, "\n", false);
            let options = ReadOptions::expecting(trained.clone().into_dataset().unwrap().expect());
            let table = read_from(text.as_bytes(), "t.csv", &options).unwrap();
            prop_assert_eq!(bits(table.samples.features()), bits(&features.clone().into()));
            prop_assert_eq!(table.labels, trained.labels);
        }

        #[test]
        fn arbitrary_bytes_never_panic(
            bytes in prop_oneof![
                prop::collection::vec(any::<u8>(), 0..200),
                // Near misses: the characters the readers look at.
                prop::collection::vec(prop::sample::select(b"01-:,;|%*\t \n\r\"#.eaN\xe9".to_vec()), 0..80),
            ],
            kind in 0usize..4, header in 0usize..3, label in 0usize..4, expecting: bool, unlabelled: bool, part: bool,
            label_optional: bool, transpose: bool, drop: bool, comma: bool,
        ) {
            let options = ReadOptions {
                format: [None, Some(Format::Libsvm), Some(Format::Csv), Some(Format::Tsv)][kind],
                header: [None, Some(true), Some(false)][header],
                label: [None, Some("-1"), Some("1"), Some("a")][label].map(str::to_string),
                id: [None, Some("0"), None, Some("a")][label].map(str::to_string),
                groups: [None, None, Some("1"), None][label].map(str::to_string),
                unlabelled,
                label_optional,
                ignore: [vec![], vec!["0".to_string()], vec!["a".to_string()]][header].clone(),
                expect: expecting.then(|| {
                    Expect::new(vec!["x1".into(), "a".into()], Some("e".into()), None).with_classes(vec!["0".into(), "e".into()])
                }),
                memory: Some(1 << 22),
                missing_labels: if drop { MissingLabels::Drop } else { MissingLabels::Refuse },
                decimal: comma.then_some(Decimal::Comma),
                transpose,
                part: part.then(|| JoinedPart { leave_out: vec!["a".into()] }),
            };
            for input in [bytes.clone(), gzip(&bytes), [b"\x1f\x8b".to_vec(), bytes].concat()] {
                if let Ok(table) = read_from(&input[..], "t", &options) {
                    prop_assert!(table.samples.n_samples() > 0);
                    let lengths = [table.labels.as_deref(), table.groups.as_deref(), table.samples.ids()];
                    for texts in lengths.into_iter().flatten() {
                        prop_assert_eq!(texts.len(), table.samples.n_samples());
                    }
                }
            }
        }
    }
}
