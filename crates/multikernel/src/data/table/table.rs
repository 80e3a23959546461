//! The contents of a file, before they become a data set to learn from.

use super::dataset::Dataset;
use super::kind::Kind;
use super::labels::Labels;
use super::samples::Samples;
use super::target::{Numbers, Target, Times};
use super::words::{finite, list, position, quoted};
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
    /// The numbers to predict, or the time and the event, if they come from a file of labels.
    pub(in crate::data) targets: Option<Numbers>,
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
        self.check_rows()?;
        let Some(labels) = self.labels.take() else {
            return Err(Error::data(
                Place::file(self.source),
                message![
                    "the rows have no labels; give a file with a label in each row, or one of labels with ",
                    Remedy::LabelsFile
                ],
            ));
        };
        let labels = Labels::new(&labels).map_err(|error| within(&self.source, error))?;
        self.into_set(labels)
    }

    /// Whether every row has a value.
    fn check_rows(&self) -> Result<()> {
        let Some(row) = self.samples.first_empty_row() else { return Ok(()) };
        let message = format!("row {} has no value at all; remove it, or fill values in", self.samples.row_number(row));
        Err(Error::data(Place::file(&self.source), message))
    }

    /// The rows with these labels, ids, views and groups.
    fn into_set(self, labels: Labels) -> Result<Dataset> {
        let set = Dataset::new(self.name, self.samples, labels)?;
        let (label_name, label_column) = (self.label_name, self.label_column);
        let set = Dataset { label_name, label_column, index_base: self.index_base, ..set };
        match &self.groups {
            Some(groups) => set.with_groups(groups, self.group_name).map_err(|error| within(&self.source, error)),
            None => Ok(set),
        }
    }

    /// The rows with numbers to predict: the columns `names`, which are taken out of the features, or the labels, where
    /// the format or a file of labels gives them. A missing number is an error that names its row.
    ///
    /// ```
    /// use multikernel::data::{ReadOptions, read_from};
    /// let options = { let mut options = ReadOptions::default(); options.target = vec!["price".into()]; options };
    /// let text = "rooms,city,price\n3,Oslo,310\n2,Rome,225.5\n4,Oslo,402\n";
    /// let data = read_from(text.as_bytes(), "houses.csv", &options)?.into_numbers(&["price".into()])?;
    /// assert_eq!(data.samples.names(), ["rooms", "city"]);
    /// assert_eq!(data.target.numbers().unwrap().values().data(), [310.0, 225.5, 402.0]);
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn into_numbers(mut self, names: &[String]) -> Result<Dataset> {
        let source = self.source.clone();
        let labels = self.labels.take();
        // Columns of that name come first: a set may have labels beside its numbers.
        let are_columns = names.iter().all(|name| self.samples.names().contains(name));
        let (numbers, label_column) = match (self.targets.take(), labels.filter(|_| !are_columns)) {
            (Some(targets), _) => (targets, None),
            (None, Some(labels)) => (self.numbers_of(&labels, names)?, self.label_column.take()),
            (None, None) => (self.take_columns("target", names)?, None),
        };
        let label_name = Some(numbers.names().join(", "));
        self.check_rows()?;
        let (target, strata) = outcome(numbers, false).map_err(|error| within(&source, error))?;
        Ok(Dataset { target, label_name, label_column, ..self.into_set(strata)? })
    }

    /// The rows with times to an event: the columns `time` and `event`, which are taken out of the features. An event is
    /// 1 or yes, 0 or no where a row was last seen without it.
    ///
    /// ```
    /// use multikernel::data::{ReadOptions, read_from};
    /// let mut options = ReadOptions::default();
    /// (options.target, options.event) = (vec!["days".into()], Some("died".into()));
    /// let text = "age,days,died\n61,310,yes\n52,225,no\n70,102,yes\n";
    /// let data = read_from(text.as_bytes(), "study.csv", &options)?.into_times("days", "died")?;
    /// assert_eq!((data.samples.names(), data.target.times().unwrap().n_events()), (&["age".to_string()][..], 2));
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn into_times(mut self, time: &str, event: &str) -> Result<Dataset> {
        let source = self.source.clone();
        let taken = match self.targets.take() {
            Some(targets) => targets,
            None => self.take_columns("time", &[time.to_string(), event.to_string()])?,
        };
        let events = taken.values().column(1);
        if let Some(row) = events.iter().position(|&value| value != 0.0 && value != 1.0) {
            let (row, found) = (self.row(row), events[row]);
            let message = format!("{row}: the event '{event}' is {found}; write 1 for an event, 0 for none");
            return Err(Error::data(Place::file(source), message));
        }
        let label_name = Some(taken.names().join(", "));
        self.check_rows()?;
        let (target, strata) = outcome(taken, true).map_err(|error| within(&source, error))?;
        Ok(Dataset { target, label_name, ..self.into_set(strata)? })
    }

    /// A row in messages: where files are joined, its number is that of no file, and its id is.
    fn row(&self, row: usize) -> String {
        let id = self.samples.ids().filter(|_| !self.samples.views().is_empty()).map(|ids| quoted(&ids[row]));
        id.map_or_else(|| format!("row {}", self.samples.row_number(row)), |id| format!("sample {id}"))
    }

    /// Labels as numbers.
    fn numbers_of(&self, labels: &[String], names: &[String]) -> Result<Numbers> {
        let [name] = names else {
            let message = "the labels are one number for each row; name one target";
            return Err(Error::param("target", message));
        };
        let mut values = Vec::with_capacity(labels.len());
        for (row, label) in labels.iter().enumerate() {
            let Some(value) = finite(label) else {
                let row = self.samples.row_number(row);
                let message = format!("row {row}: the target '{name}' is '{label}', not a number; correct it");
                return Err(Error::data(Place::file(&self.source), message));
            };
            values.push(value);
        }
        let name = self.label_name.clone().unwrap_or_else(|| name.clone());
        Numbers::one(name, values).map_err(|error| within(&self.source, error))
    }

    /// The feature that an option names or gives the position of.
    fn column(&self, wanted: &str) -> Option<usize> {
        let known = self.samples.names();
        known.iter().position(|name| name == wanted).or_else(|| position(wanted, known.len()))
    }

    /// Leaves out rows that lack a target, unless all do.
    pub(in crate::data) fn drop_untargeted<'a>(&mut self, targets: impl Iterator<Item = &'a String>) -> Result<()> {
        let at: Vec<usize> = targets.filter_map(|wanted| self.column(wanted)).collect();
        let values = self.samples.select_columns(&at).features().to_dense()?.into_owned();
        let n = self.samples.n_samples();
        let kept: Vec<usize> = (0..n).filter(|&i| values.row(i).iter().all(|value| !value.is_nan())).collect();
        if kept.len() == n || kept.is_empty() {
            return Ok(());
        }
        self.notes.push(format!("rows without a target left out: {} of {n}", n - kept.len()).into());
        let numbers = self.samples.ids().is_none().then(|| (0..n).map(|i| self.samples.row_number(i)).collect());
        self.samples = self.samples.clone().with_row_numbers(numbers).select_rows(&kept);
        for texts in [&mut self.labels, &mut self.some_labels, &mut self.groups] {
            *texts = texts.take().map(|texts| kept.iter().map(|&i| texts[i].clone()).collect());
        }
        Ok(())
    }

    /// Takes columns of numbers out of the features.
    fn take_columns(&mut self, option: &str, names: &[String]) -> Result<Numbers> {
        let known = self.samples.names();
        let mut at = vec![];
        for wanted in names {
            let Some(column) = self.column(wanted).filter(|column| !at.contains(column)) else {
                let message = format!(
                    "{} has no column '{wanted}' of numbers, or it is named twice; it has {}",
                    self.source,
                    list(known, 8)
                );
                return Err(Error::param(option, message));
            };
            at.push(column);
        }
        if at.len() == known.len() {
            return Err(Error::param(option, format!("{}: no column is left to predict from", self.source)));
        }
        let taken = self.samples.select_columns(&at);
        if let Some(column) = (0..at.len()).find(|&column| !matches!(taken.kind(column), Kind::Number | Kind::YesNo)) {
            let (name, kind) = (&taken.names()[column], taken.kind(column));
            let help = match option {
                "time" => "times are numbers; write an event as 1 or 0, yes or no",
                _ => "and numbers are needed; name a column of numbers",
            };
            let message = format!("the column '{name}' is a {kind}, {help}");
            return Err(Error::data(Place::file(&self.source), message));
        }
        let values = taken.features().to_dense()?.into_owned();
        if let Some(row) = values.rows().position(|row| row.iter().any(|value| !value.is_finite())) {
            let (row, name) = (self.row(row), list(taken.names(), 3));
            let message = message![
                format!(
                    "{row}: the target {name} is missing; remove the row or fill it in, or leave such rows out with "
                ),
                Remedy::DropUnlabelled
            ];
            return Err(Error::data(Place::file(&self.source), message));
        }
        self.samples = self.samples.without_columns(&at)?;
        Numbers::new(taken.names().to_vec(), values).map_err(|error| within(&self.source, error))
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

/// What is to be predicted, numbers or a time and an event, and the strata of rows.
pub(in crate::data) fn outcome(taken: Numbers, has_event: bool) -> Result<(Target, Labels)> {
    if !has_event {
        let strata = taken.strata()?;
        return Ok((Target::Numbers(taken), strata));
    }
    let events = taken.values().column(1).into_iter().map(|value| value == 1.0).collect();
    let times = Times::new(taken.values().column(0), events)?;
    let strata = times.strata()?;
    Ok((Target::Times(times), strata))
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
