//! How to read a table.

use super::numbers::Decimal;
use crate::data::table::{Expect, Samples};
use crate::error::Result;

/// Tables above this size are refused unless [`ReadOptions::memory`] allows them.
const MEMORY: u64 = 8 << 30;

/// A format for tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// `label index:value ...`, one row per line; indices left out are 0. A table of more than 64 columns in which
    /// fewer than a quarter of the values are not 0 is kept as [`Sparse`](crate::data::Sparse) rows: 12 bytes per value
    /// that is not 0, 8 per row and about 100 per column, most of them for its name.
    Libsvm,
    /// Comma-separated (or by semicolons, bars or tabs, told from the first line), cells quoted with `"` where needed.
    Csv,
    /// Tab-separated, otherwise like CSV.
    Tsv,
    /// One NumPy array, 1-D or 2-D, of numbers; label, groups and ids are columns of whole numbers named by position.
    Npy,
    /// NumPy arrays in a zip archive: features in `X` (or `x`, `data`, `features`, or the only 2-D array); labels in
    /// `y` (or `label`, `labels`, `target`, `class`), column names in `names` (or `columns`) and ids in `ids`, where
    /// they are there. Label, groups and id of [`ReadOptions`] name arrays. The archive is held in memory besides while
    /// it is read.
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
    /// not a number, its label cell is called `label`, `class` or `target`, or its first cell is blank and the others
    /// are whole numbers, all different, as a table without names is written with row names.
    pub header: Option<bool>,
    /// The label column of delimited text: its name, or its position from 0, or from -1 backwards; a name wins over a
    /// position. When not given: the first column called `label`, `class`, `target` or `y` in any case, else the last.
    pub label: Option<String>,
    /// The column of delimited text that names the samples, given as for `label`. When not given: the first column
    /// called `id`, `sample`, `sample_id`, `sampleid`, `sample id`, `barcode` or `Unnamed: 0` in any case, or like an
    /// id (`patient_id`, `PassengerId`), if its values all differ; else the first column if the header has a blank for
    /// it, as R writes row names and pandas its index; else a first column of texts that all differ, or one that counts
    /// the rows (20 or more); else there are no ids. `none` says that there are none. An id is no feature; it must be
    /// there and differ from row to row.
    pub id: Option<String>,
    /// The column of delimited text that says which rows belong together, such as patients or batches, given as for
    /// `label`. It is text, no feature, and must be there in every row.
    pub groups: Option<String>,
    /// All columns but ids and groups are features; labels of LIBSVM rows are ignored.
    pub unlabelled: bool,
    /// Rows may be without labels: a column of delimited text is a label only if it is called `label`, `class` or
    /// `target` in any case, or named by `label`.
    pub label_optional: bool,
    /// Columns of delimited text to leave out, by name or position as for `label`.
    pub ignore: Vec<String>,
    /// What becomes of rows without a label, or without any value.
    pub missing_labels: MissingLabels,
    /// How decimals are written, for cells that could be read in two ways, such as `1,234`; told from the file when not
    /// given.
    pub decimal: Option<Decimal>,
    /// Delimited text has samples in columns: their ids in the first line, the names of features in the first column.
    pub transpose: bool,
    /// For prediction: what the model knows. Columns are then matched to the model's features, and labels may be
    /// missing.
    pub expect: Option<Expect>,
    /// Bytes the table may take, column names included; 8 GiB when not given.
    pub memory: Option<u64>,
    /// Set where the file is one of several that are joined.
    pub(in crate::data) part: Option<JoinedPart>,
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
pub(in crate::data) struct JoinedPart {
    /// Columns that are left out where the file has them: labels that another file gives.
    pub(in crate::data) leave_out: Vec<String>,
}

impl ReadOptions {
    /// Options to read rows for a model.
    pub fn expecting(expect: Expect) -> Self {
        ReadOptions { expect: Some(expect), ..ReadOptions::default() }
    }

    /// The options that ask for a column, and the column.
    pub(in crate::data) fn told(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let one = [("label", self.label.as_ref()), ("id", self.id_column()), ("groups", self.groups.as_ref())];
        let ignored = self.ignore.iter().map(|wanted| ("ignore", wanted.as_str()));
        one.into_iter().filter_map(|(option, wanted)| Some((option, wanted?.as_str()))).chain(ignored)
    }

    /// Whether the last column is taken for the label where none is called so.
    pub(super) fn takes_last(&self) -> bool {
        self.part.is_none() && !self.label_optional
    }

    /// The column told to hold ids.
    pub(in crate::data) fn id_column(&self) -> Option<&String> {
        self.id.as_ref().filter(|_| self.wants_ids())
    }

    /// Whether a column may be ids: nobody said that there are none.
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
