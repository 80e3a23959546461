//! Matching the columns of new rows to the features of a model.

use std::collections::HashMap;

use super::kind::{Kind, ToldKind};
use super::samples::{View, is_numbered};
use super::words::{finite, list};
use crate::error::{Error, Place, Result};

/// The properties of a model's training file; made by [`Dataset::expect`](crate::data::Dataset::expect).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Expect {
    /// Feature names in the order of the model.
    pub names: Vec<String>,
    /// Name of the label column, if it had one.
    pub label_name: Option<String>,
    /// First index, if the model was trained from LIBSVM text; otherwise index k is the k-th feature, from 1.
    pub index_base: Option<u8>,
    /// Named groups of features; empty unless set by [`Expect::with_views`].
    pub views: Vec<View>,
    /// The classes of the model: in rows without column names, a column is the label only if it holds nothing else.
    pub classes: Vec<String>,
    /// The kind of each feature; empty if all are numbers.
    pub kinds: Vec<ToldKind>,
}

impl Expect {
    /// The features, label column and first index of a model.
    pub fn new(names: Vec<String>, label_name: Option<String>, index_base: Option<u8>) -> Self {
        Expect { names, label_name, index_base, views: Vec::new(), classes: Vec::new(), kinds: Vec::new() }
    }

    /// The same with the views of the model, so that [`read_views`](crate::data::read_views) can tell its files apart.
    pub fn with_views(self, views: Vec<View>) -> Self {
        Expect { views, ..self }
    }

    /// The same with the classes of the model, which identify a label column without a name.
    pub fn with_classes(self, classes: Vec<String>) -> Self {
        Expect { classes, ..self }
    }

    /// The same with the kind of each feature.
    pub fn with_kinds(self, kinds: Vec<ToldKind>) -> Self {
        Expect { kinds, ..self }
    }

    /// The same with columns of numbers, or of a time and an event, that are to be compared with predictions: they are read
    /// after the features, for [`Table::into_numbers`](crate::data::Table::into_numbers) or
    /// [`Table::into_times`](crate::data::Table::into_times) to take out. For rows of one file.
    pub fn with_target(mut self, columns: &[(String, Kind)]) -> Self {
        if self.kinds.is_empty() {
            self.kinds = vec![Kind::Number.into(); self.names.len()];
        }
        for (name, kind) in columns {
            self.names.push(name.clone());
            self.kinds.push((*kind).into());
        }
        Expect { label_name: None, ..self }
    }

    /// Whether a label is one of the classes, as written or by its numeric value.
    pub(in crate::data) fn is_class(&self, label: &str) -> bool {
        let number = finite(label);
        let same = |class: &String| class == label || (number.is_some() && finite(class) == number);
        self.classes.iter().any(same)
    }

    /// Whether the names are `x1`, `x2`, ... (or from `x0`), made up by a reader rather than given by a person.
    pub(in crate::data) fn is_numbered(&self) -> bool {
        is_numbered(&self.names)
    }
}

/// The positions of a model's features in a table.
pub(in crate::data) struct Found {
    /// The column of each feature of the model.
    pub(in crate::data) columns: Vec<usize>,
    /// A note on the columns ignored.
    pub(in crate::data) note: Option<String>,
}

/// Finds the model's features among `names` in any order; the columns `others` are not features.
pub(in crate::data) fn by_name(source: &str, names: &[String], others: &[usize], expect: &Expect) -> Result<Found> {
    let place: HashMap<&str, usize> = names.iter().enumerate().map(|(j, name)| (name.as_str(), j)).collect();
    let columns: Vec<usize> = expect.names.iter().filter_map(|name| place.get(name.as_str()).copied()).collect();
    if columns.len() < expect.names.len() {
        let missing: Vec<&String> = expect.names.iter().filter(|name| !place.contains_key(name.as_str())).collect();
        return Err(Error::data(
            Place::file(source),
            format!(
                "{} of the {} expected features are missing: {}; give a table with all of them",
                missing.len(),
                expect.names.len(),
                list(&missing, 5)
            ),
        ));
    }
    let used: std::collections::HashSet<usize> = columns.iter().chain(others).copied().collect();
    let extra: Vec<&String> = (0..names.len()).filter(|j| !used.contains(j)).map(|j| &names[j]).collect();
    let note =
        (!extra.is_empty()).then(|| format!("ignored columns that the model was not trained on: {}", list(&extra, 5)));
    Ok(Found { columns, note })
}
