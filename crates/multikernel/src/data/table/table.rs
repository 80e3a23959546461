//! The contents of a file, before they become a data set to learn from.

use super::dataset::Dataset;
use super::labels::Labels;
use super::samples::Samples;
use crate::error::{Error, Message, Place, Remedy, Result, message};

/// The contents of a file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Table {
    /// Name for reports: the file's name without folder and format endings, or the bundled name.
    pub name: String,
    /// Its origin, as errors name it.
    pub source: String,
    /// The rows.
    pub samples: Samples,
    /// The label of each row, if the file has labels.
    pub labels: Option<Vec<String>>,
    /// The labels of rows to predict if only some have one, blank for the others; `labels` is `None` then.
    pub some_labels: Option<Vec<String>>,
    /// The name of the label column, if it has one.
    pub label_name: Option<String>,
    /// The position of the label column if it has no name, such as `column 5 (the last)`.
    pub label_column: Option<String>,
    /// The group of each row, if [`ReadOptions::groups`](crate::data::ReadOptions::groups) named a column.
    pub groups: Option<Vec<String>>,
    /// The name of the groups column, if it has one.
    pub group_name: Option<String>,
    /// The options that matched a column of the file.
    pub(in crate::data) told: Vec<Told>,
    /// The first index of LIBSVM text (0 or 1).
    pub index_base: Option<u8>,
    /// What each column of the file is taken for; empty for formats that hold numbers alone.
    pub columns: Vec<ColumnNote>,
    /// Notes for the user: guesses made, columns ignored.
    pub notes: Vec<Message>,
}

/// What a column of a file is taken for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ColumnNote {
    /// Its name, or its position from 0.
    pub name: String,
    /// Its kind for features; else `label`, `groups`, `id`, `constant` or `ignored`.
    pub kind: String,
    /// What it holds, or why it is left out.
    pub about: String,
    /// How many cells are missing.
    pub n_missing: usize,
    /// Whether it is a feature.
    pub is_feature: bool,
}

impl Table {
    /// The rows with their labels, ids, views and groups; a table without labels is an error, and so is a row without
    /// any value.
    pub fn into_dataset(self) -> Result<Dataset> {
        self.into_dataset_or(None)
    }

    /// [`Table::into_dataset`], except that rows without labels all get the class `class`: for methods that need none.
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
                message![
                    "the rows have no labels; give a file with a label in each row, or one of labels with ",
                    Remedy::LabelsFile
                ],
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

    /// The rows with their labels as a test set for these classes; a label outside them is an error.
    pub fn into_test_set(self, classes: &[String]) -> Result<Dataset> {
        let source = self.source.clone();
        let labels = self.labels.clone();
        let set = self.into_dataset()?;
        let labels =
            Labels::with_classes(&labels.unwrap_or_default(), classes).map_err(|error| within(&source, error))?;
        Ok(Dataset { labels, ..set })
    }
}

/// Prepends the file's name to a message that lacks it.
pub(in crate::data) fn within(source: &str, error: Error) -> Error {
    match error {
        Error::Input(message) => Error::data(Place::file(source), message),
        other => other,
    }
}

/// An option and the column it names.
pub(in crate::data) type Told = (&'static str, String);
