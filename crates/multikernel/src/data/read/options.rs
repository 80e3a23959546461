//! Options for reading a table.

use super::numbers::Decimal;
use crate::data::table::{Expect, Samples, ToldKind};
use crate::error::Result;

/// Larger tables are refused unless [`ReadOptions::memory`] allows them.
const MEMORY: u64 = 8 << 30;

/// A table format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// `label index:value ...`, one row per line; omitted indices are 0. A table with more than 64 columns and fewer
    /// than a quarter of its values nonzero is kept as [`Sparse`](crate::data::Sparse) rows: 12 bytes per nonzero
    /// value, 8 per row and about 560 per column, most of them for its name.
    Libsvm,
    /// Comma-separated (or by semicolons, bars or tabs, detected from the first line), cells quoted with `"` where
    /// needed.
    Csv,
    /// Tab-separated, otherwise like CSV.
    Tsv,
    /// One NumPy array, 1-D or 2-D, of numbers; label, groups and ids are columns of whole numbers given by position.
    Npy,
    /// NumPy arrays in a zip archive: features in `X` (or `x`, `data`, `features`, or the only 2-D array); optionally,
    /// labels in `y` (or `label`, `labels`, `target`, `class`), column names in `names` (or `columns`) and ids in
    /// `ids`. The label, groups and id of [`ReadOptions`] name arrays. The archive is also held in memory while it is
    /// read.
    Npz,
    /// A Parquet table, read by builds with the feature `arrow`. Columns of texts, dictionaries and dates are read as
    /// those of its CSV export; null is missing.
    Parquet,
    /// An Arrow IPC file (Feather version 2), like Parquet.
    Arrow,
    /// An Excel workbook, read by builds with the feature `xlsx`: its first sheet, or the one named after the file, as
    /// in `FILE.xlsx#Sheet`. Its cells are read as those of its CSV export.
    Xlsx,
    /// Sequences under header lines `>id`: ids and one column, `sequence`.
    Fasta,
}

/// How to read a table; by default everything is detected from the file.
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
    /// The format; by default detected from the file's name or first line.
    pub format: Option<Format>,
    /// Whether delimited text starts with column names; by default, it does if a feature cell of the first line is not
    /// a number, its label cell is `label`, `class` or `target`, or its first cell is blank and the others are distinct
    /// whole numbers, as in a table without names written with row names.
    pub header: Option<bool>,
    /// The label column of delimited text: its name, or its position from 0, or backwards from -1; a name takes
    /// precedence over a position. Default: the first column named `label`, `class`, `target` or `y` in any case, else
    /// the last.
    pub label: Option<String>,
    /// The column of delimited text that identifies the samples, given as for `label`. Default: the first column named
    /// `id`, `sample`, `sample_id`, `sampleid`, `sample id`, `barcode` or `Unnamed: 0` in any case, or similar to an id
    /// (`patient_id`, `PassengerId`), if its values are all distinct; else the first column if its header is blank, as
    /// R writes row names and pandas its index; else a first column of distinct texts, or one that counts the rows (20
    /// or more); else there are no ids. `none` says that there are none. An id is not a feature; it must be present and
    /// distinct in every row.
    pub id: Option<String>,
    /// The column of delimited text that says which rows belong together, such as patients or batches, given as for
    /// `label`. It is text, not a feature, and must be present in every row.
    pub groups: Option<String>,
    /// All columns except ids and groups are features; labels of LIBSVM rows are ignored.
    pub unlabelled: bool,
    /// The columns of numbers to predict (or of a time and an event), given as for `label`: they are numbers, whatever
    /// they look like, and there is no label column. [`Table::into_numbers`](crate::data::Table::into_numbers) takes
    /// them out of the features.
    pub target: Vec<String>,
    /// The column that says whether a row has the event (1, yes) or was last seen without it (0, no), where `target`
    /// is the time of an event.
    pub event: Option<String>,
    /// Labels are optional: a column of delimited text is a label only if it is named `label`, `class` or `target` in
    /// any case, or given by `label`.
    pub label_optional: bool,
    /// Columns of delimited text to leave out, by name or position as for `label`.
    pub ignore: Vec<String>,
    /// The treatment of rows without a label, or without any value.
    pub missing_labels: MissingLabels,
    /// What columns of delimited text hold, where the cells would say otherwise: the name or position of each, as for
    /// `label`, and its kind. By default a column is numbers if its cells are; else dates, a sequence, text or
    /// categories, as its texts look; columns of ids or of one text are left out.
    pub kinds: Vec<(String, ToldKind)>,
    /// The decimal separator, for cells that could be read in two ways, such as `1,234`; by default detected from the
    /// file.
    pub decimal: Option<Decimal>,
    /// Delimited text has samples as columns: their ids in the first line, feature names in the first column.
    pub transpose: bool,
    /// For prediction: the model's expectations. Columns are then matched to the model's features, and labels may be
    /// missing.
    pub expect: Option<Expect>,
    /// Memory limit for the table in bytes, column names included; 8 GiB by default.
    pub memory: Option<u64>,
    /// Set if the file is one of several being joined.
    pub(in crate::data) part: Option<JoinedPart>,
}

/// The treatment of rows without a label, or without any value; rows to predict may lack labels anyway.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingLabels {
    /// They are an error.
    #[default]
    Refuse,
    /// They are left out, and a note says how many.
    Drop,
}

/// How one of several joined files is read: it need not have the columns named in the options, has a label only if a
/// column is named so, and a row may have no values at all.
#[derive(Clone, Debug, Default)]
pub(in crate::data) struct JoinedPart {
    /// Columns to leave out if the file has them: labels given by another file.
    pub(in crate::data) leave_out: Vec<String>,
}

impl ReadOptions {
    /// Options for reading rows for a model.
    pub fn expecting(expect: Expect) -> Self {
        ReadOptions { expect: Some(expect), ..ReadOptions::default() }
    }

    /// The options that name a column, and the column.
    pub(in crate::data) fn told(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let one = [
            ("label", self.label.as_ref()),
            ("id", self.id_column()),
            ("groups", self.groups.as_ref()),
            ("event", self.event.as_ref()),
        ];
        let ignored = self.ignore.iter().map(|wanted| ("ignore", wanted.as_str()));
        let kinds = self.kinds.iter().map(|(wanted, _)| ("kinds", wanted.as_str()));
        let targets = self.target.iter().map(|wanted| ("target", wanted.as_str()));
        let one = one.into_iter().filter_map(|(option, wanted)| Some((option, wanted?.as_str())));
        one.chain(ignored).chain(kinds).chain(targets)
    }

    /// Whether the last column is taken as the label if none is named so.
    pub(super) fn takes_last(&self) -> bool {
        self.part.is_none() && !self.label_optional
    }

    /// Whether no column is a label.
    pub(in crate::data) fn has_no_label(&self) -> bool {
        self.unlabelled || !self.target.is_empty()
    }

    /// The columns to predict, an event last.
    pub(in crate::data) fn targets(&self) -> impl Iterator<Item = &String> {
        self.target.iter().chain(&self.event)
    }

    /// Whether rows that lack a target are to be left out.
    pub(in crate::data) fn drops_untargeted(&self) -> bool {
        self.missing_labels == MissingLabels::Drop && !self.target.is_empty() && self.part.is_none()
    }

    /// The column given as ids.
    pub(in crate::data) fn id_column(&self) -> Option<&String> {
        self.id.as_ref().filter(|_| self.wants_ids())
    }

    /// Whether a column may be ids: true unless ids were ruled out.
    pub(in crate::data) fn wants_ids(&self) -> bool {
        self.id.as_deref() != Some("none")
    }

    pub(in crate::data) fn limit(&self) -> u64 {
        self.memory.unwrap_or(MEMORY)
    }
}

/// The rows with the views of the model they are read for.
pub(in crate::data) fn with_views_of(samples: Samples, options: &ReadOptions) -> Result<Samples> {
    match &options.expect {
        Some(expect) if !expect.views.is_empty() => samples.with_views(expect.views.clone()),
        _ => Ok(samples),
    }
}
