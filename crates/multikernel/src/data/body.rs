//! The rows of delimited text: their values, and what only all of them together can tell.

use std::collections::{HashMap, HashSet};

use super::Samples;
use super::column::{Column, Fit, Set, Written, usual};
use super::delimited::{Cells, missing_note};
use super::numbers::Truth;
use super::problems::{Advice, MissingLabel, Problems};
use super::read::{MissingLabels, ReadOptions, Table};
use super::roles::{ByValue, End, Roles, decide, place_of};
use super::text::{check_memory, has_words, is_missing, is_none, list, out_of_memory, quoted, shell_word};
use crate::error::{Error, Place, Result};
use crate::linalg::Matrix;

/// Fewer rows say nothing about whether a column of numbers is an id.
const MIN_ID_ROWS: usize = 20;

/// Fewer rows say nothing about whether a column of texts is an id.
const SOME_ROWS: usize = 3;

/// The texts of a column that is no feature, or may not be one.
struct Kept {
    column: usize,
    texts: Vec<String>,
    /// The line of each text, while they are there and all differ.
    lines: Option<HashMap<String, u64>>,
    /// Whether the column was given as ids, so that a text twice is an error.
    is_given: bool,
    /// Whether texts are wanted even if they repeat.
    keeps_all: bool,
}

impl Kept {
    fn new(column: usize, is_given: bool, keeps_all: bool) -> Self {
        Kept { column, texts: vec![], lines: Some(HashMap::new()), is_given, keeps_all }
    }

    fn add(&mut self, name: &str, cells: &Cells) -> Result<()> {
        let (j, text) = (self.column, cells.cell(self.column));
        if let Some(lines) = &mut self.lines {
            let before = if text.is_empty() { Some(0) } else { lines.insert(text.to_string(), cells.line()) };
            match before {
                Some(0) if self.is_given => {
                    let message = format!("the id is missing; fill it in, or leave the column out with --ignore {j}");
                    return Err(Error::data(cells.place(name, j), message));
                }
                Some(line) if self.is_given => {
                    let message = format!(
                        "the id {} stands in line {line} already; give every row its own, leave the column out with --ignore \
                         {j}, or keep such rows together with --groups {j}",
                        quoted(text)
                    );
                    return Err(Error::data(cells.place(name, j), message));
                }
                Some(_) => self.lines = None,
                None => (),
            }
        }
        if self.lines.is_some() || self.keeps_all {
            self.texts.push(text.to_string());
        } else {
            self.texts = vec![];
        }
        Ok(())
    }

    fn all_differ(&self) -> bool {
        self.lines.is_some()
    }

    /// What the column is, as one end of rows that have too many; `counts` where it counts the rows.
    fn end(&self, options: &ReadOptions, counts: bool) -> End {
        let Some(expect) = &options.expect else { return End::default() };
        let there = || self.texts.iter().filter(|text| !is_missing(text) || expect.is_class(text));
        let known: HashSet<&String> = there().collect();
        let is_number = |text: &&String| super::text::finite(text).is_some();
        let is_text = there().any(|text| !is_number(&text));
        let is_words = there().all(|text| !is_number(&text)) && there().count() == self.texts.len();
        let is_whole = there().all(|text| super::text::finite(text).is_some_and(|value| value.fract() == 0.0));
        End {
            is_classes: !known.is_empty() && known.iter().all(|text| expect.is_class(text)),
            is_text,
            is_maybe_id: self.all_differ() && (is_words || (is_whole && self.texts.len() > 1)),
            is_id: self.all_differ() && (is_words || counts),
        }
    }
}

/// The rows read so far.
pub(super) struct Body<'a> {
    name: &'a str,
    options: &'a ReadOptions,
    roles: Roles,
    n_columns: usize,
    columns: Vec<Column>,
    /// Which of the columns turned out to be no features.
    is_aside: Vec<bool>,
    data: Vec<f64>,
    /// Bytes of cells that are no plain numbers.
    bytes: usize,
    n_rows: usize,
    first_line: u64,
    labels: Vec<String>,
    /// Rows whose label is missing, and their places.
    unlabelled: Vec<(usize, Place)>,
    /// Rows with hardly a plain number, and their lines.
    suspects: Vec<(usize, u64)>,
    groups: Vec<String>,
    kept: Vec<Kept>,
    ids: Option<(Vec<String>, Option<String>)>,
    problems: Problems,
}

impl<'a> Body<'a> {
    pub(super) fn new(name: &'a str, n_columns: usize, roles: Roles, options: &'a ReadOptions) -> Self {
        let (counts, texts) = (roles.by_value == ByValue::All || roles.is_undecided, roles.by_value != ByValue::None);
        let columns = roles.features.iter().zip(&roles.names);
        let columns: Vec<Column> =
            columns.map(|(&j, name)| Column::new(j, name.clone(), counts, texts && j == 0)).collect();
        let mut kept: Vec<Kept> = roles.id.iter().map(|&j| Kept::new(j, true, false)).collect();
        kept.extend(roles.maybe_ids.iter().map(|&j| Kept::new(j, false, false)));
        if let (true, [first, .., last]) = (roles.is_undecided, roles.features.as_slice()) {
            kept.extend([Kept::new(*first, false, true), Kept::new(*last, false, true)]);
        } else if roles.by_value == ByValue::Texts && !roles.features.contains(&0) && roles.maybe_ids.is_empty() {
            kept.push(Kept::new(0, false, false));
        }
        Body {
            name,
            options,
            n_columns,
            is_aside: vec![false; columns.len()],
            columns,
            roles,
            data: vec![],
            bytes: 0,
            n_rows: 0,
            first_line: 0,
            labels: vec![],
            unlabelled: vec![],
            suspects: vec![],
            groups: vec![],
            kept,
            ids: None,
            problems: Problems::default(),
        }
    }

    pub(super) fn add(&mut self, cells: &Cells) -> Result<()> {
        let (n_cols, line) = (self.columns.len(), cells.line());
        check_memory(self.name, self.n_rows + 1, n_cols, self.options.limit())?;
        let need = (self.data.len() + n_cols) as u64 * 8 + self.bytes as u64;
        if self.data.try_reserve(n_cols).is_err() || need > self.options.limit() {
            return Err(out_of_memory(self.name, self.n_rows + 1, n_cols, need, self.options.limit()));
        }
        if self.n_rows == 0 {
            self.first_line = line;
        }
        let mut n_plain = 0;
        for column in &mut self.columns {
            let value = column.add(cells.cell(column.at), self.n_rows, cells.line_of(column.at), &mut self.bytes);
            n_plain += usize::from(!value.is_nan());
            self.data.push(value);
        }
        // Columns of ids and the label may be among them.
        if n_plain <= self.roles.maybe_ids.len() + 2 {
            self.suspects.push((self.n_rows, line));
        }
        if let Some(j) = self.roles.label {
            self.add_label(cells.cell(j), cells.place(self.name, j));
        }
        if let Some(j) = self.roles.groups {
            let group = cells.cell(j);
            if group.is_empty() {
                let message = "the group is missing; fill it in, or remove the row";
                return Err(Error::data(cells.place(self.name, j), message));
            }
            self.groups.push(group.to_string());
        }
        self.n_rows += 1;
        self.kept.iter_mut().try_for_each(|kept| kept.add(self.name, cells))
    }

    fn add_label(&mut self, label: &str, place: Place) {
        if is_missing(label) {
            self.unlabelled.push((self.labels.len(), place));
        }
        self.labels.push(label.to_string());
    }

    pub(super) fn into_table(mut self) -> Result<Table> {
        if self.roles.is_undecided {
            self.decide()?;
        } else {
            self.find_ids();
        }
        if self.n_features() == 0 {
            let message = "no column is left for features; a label and at least one feature are needed";
            return Err(Error::data(Place::file(self.name), message));
        }
        self.settle_nones();
        self.read_numbers();
        let dropped = self.look_at_rows();
        let advice = Advice {
            file: self.name,
            n_rows: self.n_rows,
            is_bare: self.options.header == Some(false),
            first_line: self.first_line,
            guess: self.roles.guess.as_deref(),
            has_names: self.roles.all_names.is_some(),
            can_drop: self.may_drop(),
            is_new: self.options.expect.is_some(),
            has_ids: self.ids.is_some(),
            n_features: self.n_features(),
            columns_of_rows: self.options.transpose,
            ignored: &self.options.ignore,
        };
        let problems = std::mem::take(&mut self.problems);
        let repeating = problems.repeating.clone();
        if let Some(error) = problems.into_error(&advice) {
            return Err(error);
        }
        self.warn_of_ids(&repeating);
        self.finish(&dropped)
    }

    /// Whether `None` is a class: it is among words, but among numbers it is a missing label.
    fn settle_nones(&mut self) {
        let Some(first) = self.unlabelled.iter().map(|(row, _)| &self.labels[*row]).find(|label| is_none(label)) else {
            return;
        };
        let is_class = match self.options.expect.as_ref().filter(|expect| !expect.classes.is_empty()) {
            Some(expect) => self.labels.iter().any(|label| is_none(label) && expect.is_class(label)),
            None => has_words(&self.labels),
        };
        if is_class {
            if self.options.expect.is_none() {
                self.roles.notes.push(format!(
                    "the label {} is taken as a class of its own; leave the cell blank where the label is missing",
                    quoted(first)
                ));
            }
            let labels = &self.labels;
            self.unlabelled.retain(|(row, _)| !is_none(&labels[*row]));
        }
    }

    /// Where the first of these labels is missing, what stands there, and how many are.
    fn first_unlabelled<'b>(&self, mut rows: impl Iterator<Item = &'b (usize, Place)>) -> Option<MissingLabel> {
        let (row, place) = rows.next()?;
        Some(MissingLabel { place: place.clone(), text: self.labels[*row].clone(), n: 1 + rows.count() })
    }

    /// Whether rows may be left out: nobody asked for a prediction of each.
    fn may_drop(&self) -> bool {
        self.options.expect.is_none() || self.options.missing_labels == MissingLabels::Drop
    }

    /// Which of too many columns without names are the label and ids.
    fn decide(&mut self) -> Result<()> {
        let n = self.columns.len();
        let kept = self.kept.split_off(self.kept.len() - 2);
        let counts = [0, n - 1].map(|k| self.n_rows >= MIN_ID_ROWS && self.columns[k].counts(self.n_rows));
        let ends = [kept[0].end(self.options, counts[0]), kept[1].end(self.options, counts[1])];
        let columns: Vec<usize> = self.columns.iter().map(|column| column.at).collect();
        let (label, id) = decide(self.name, &columns, ends, self.options, self.roles.label.is_some())?;
        let [first, last]: [Kept; 2] = kept.try_into().unwrap_or_else(|_| [0, 0].map(|j| Kept::new(j, false, false)));
        let (mut first, mut last) = (Some(first), Some(last));
        if let Some(k) = id {
            self.is_aside[k] = true;
            let note = "using the first column as ids; if it is not, say what it is with --label, --id or --ignore";
            self.roles.notes.push(note.into());
            self.ids = first.take().map(|kept| (kept.texts, None));
        }
        if let Some(k) = label {
            self.is_aside[k] = true;
            let j = self.columns[k].at;
            let column = place_of(j, self.n_columns);
            self.roles.notes.push(format!("label: {column}, which holds only classes of the model"));
            self.roles.label = Some(j);
            self.roles.label_column = Some(column);
            let kept = if k == 0 { first.take() } else { last.take() };
            for text in kept.map_or(vec![], |kept| kept.texts) {
                let place = Place::file(self.name);
                self.add_label(&text, place);
            }
        }
        let names = self.options.expect.as_ref().map_or(vec![], |expect| expect.names.clone());
        let features = self.columns.iter_mut().zip(&self.is_aside).filter(|(_, is_aside)| !**is_aside);
        features.zip(names).for_each(|((column, _), name)| column.name = name);
        if let Some(given) = self.kept.pop() {
            self.ids = Some((given.texts, self.roles.name_of(Some(given.column))));
        }
        Ok(())
    }

    fn n_features(&self) -> usize {
        self.is_aside.iter().filter(|is_aside| !**is_aside).count()
    }

    /// Sets a column aside, unless it is the last feature; whether it did, or the column was none.
    fn set_aside(&mut self, j: usize) -> bool {
        match self.columns.iter().position(|column| column.at == j) {
            Some(_) if self.n_features() == 1 => false,
            Some(k) => {
                self.is_aside[k] = true;
                true
            }
            None => true,
        }
    }

    /// The column given as ids; else the first called so whose values all differ; else one that shows it by its values.
    fn find_ids(&mut self) {
        for kept in std::mem::take(&mut self.kept) {
            let j = kept.column;
            let is_first = j == 0 && self.roles.name_of(Some(0)).is_none();
            let (shown, name) = (self.roles.shown(j), self.roles.name_of(Some(j)));
            let is_named = kept.is_given || self.roles.maybe_ids.contains(&j);
            if !kept.all_differ() {
                match is_named {
                    true if self.options.expect.is_none() => self.problems.repeating.push(j),
                    true => self.roles.notes.push(format!("no ids: column {shown} has values twice, or lacks some")),
                    false => {
                        let note =
                            format!("ignored columns that the model was not trained on: {}", name.unwrap_or(shown));
                        self.roles.notes.push(note);
                    }
                }
            } else if self.ids.is_some() {
                if is_first {
                    let note = "the first column has no name and is left out: row names are not used as features";
                    self.roles.notes.push(note.into());
                } else if self.set_aside(j) {
                    self.roles.notes.push(format!("column {shown} left out: it holds ids as well"));
                }
            } else {
                self.columns.iter().position(|column| column.at == j).inspect(|&k| self.is_aside[k] = true);
                match () {
                    () if kept.is_given => {}
                    () if is_first && self.options.transpose => self.roles.notes.push("ids: the first line".into()),
                    () if is_first => self.roles.notes.push("ids: the first column, which has no name".into()),
                    () => self.roles.notes.push(format!("ids: column {shown}")),
                }
                self.ids = Some((kept.texts, name));
            }
        }
        if self.ids.is_none() && self.roles.by_value != ByValue::None {
            self.find_ids_by_value();
        }
    }

    fn find_ids_by_value(&mut self) {
        let n_rows = self.n_rows;
        if self.n_features() == 1 {
            return;
        }
        let texts = self
            .columns
            .iter()
            .position(|column| column.at == 0)
            .filter(|&k| !self.is_aside[k] && n_rows >= SOME_ROWS && self.columns[k].is_unique_text(n_rows));
        let counts = || {
            let is_count = |k: &usize| !self.is_aside[*k] && self.columns[*k].counts(n_rows) && n_rows >= MIN_ID_ROWS;
            (0..self.columns.len()).find(|k| self.roles.by_value == ByValue::All && is_count(k))
        };
        let Some(k) = texts.or_else(counts) else { return };
        self.is_aside[k] = true;
        let column = &mut self.columns[k];
        let (j, ids) = (
            column.at,
            if texts.is_some() { column.take_texts() } else { column.take_count(n_rows).unwrap_or_default() },
        );
        let shown = self.roles.shown(j);
        self.roles.notes.push(match texts {
            Some(_) => format!("ids: column {shown}, the first, whose texts all differ"),
            None => format!("ids: column {shown}, which counts the rows; if it is a feature, say --id none"),
        });
        self.ids = Some((ids, self.roles.name_of(Some(j))));
    }

    /// Reads cells that are no plain numbers, now that all of their columns are known.
    fn read_numbers(&mut self) {
        let (n_rows, n_cols, told) = (self.n_rows, self.columns.len(), self.options.decimal);
        let fits: Vec<Option<Fit>> = self.columns.iter().map(|column| column.fit(n_rows, told)).collect();
        let features = || (0..n_cols).filter(|&k| !self.is_aside[k]);
        let default = usual(features().map(|k| (&self.columns[k], fits[k])), told);
        let features: Vec<usize> = features().collect();
        let mut written: Vec<(String, Written)> = vec![];
        for k in features {
            let data = &mut self.data;
            let set = |row: usize, set: Set| {
                let value = &mut data[row * n_cols + k];
                *value = match set {
                    Set::Value(value) => value,
                    Set::Thousands => *value * 1000.0,
                    Set::ThousandsIfBroken if value.fract() != 0.0 => (*value * 1000.0).round(),
                    Set::ThousandsIfBroken => *value,
                };
            };
            match self.columns[k].settle(n_rows, fits[k], default, set) {
                Ok(how) if how != Written::default() => written.push((self.columns[k].name.clone(), how)),
                Ok(_) => (),
                Err(problem) => self.problems.columns.push(problem),
            }
        }
        for (what, is_so) in [
            ("decimal commas", (|how| how.comma) as fn(&Written) -> bool),
            ("thousands separators", |how| how.thousands),
            ("percent signs (12% is read as 12)", |how| how.percent),
            ("marks such as - read as missing values", |how| how.marks),
        ] {
            let names: Vec<&str> =
                written.iter().filter(|(_, how)| is_so(how)).map(|(name, _)| name.as_str()).collect();
            if !names.is_empty() {
                self.roles.notes.push(format!("{what} in {}", list(&names, 5)));
            }
        }
        for pair in Truth::ALL {
            let names: Vec<&String> =
                written.iter().filter(|(_, how)| how.truth == Some(pair)).map(|(name, _)| name).collect();
            if !names.is_empty() {
                self.roles.notes.push(format!("read as 1/0: {} in {}", pair.words().join("/"), list(&names, 5)));
            }
        }
    }

    /// The rows that are left out, ascending; those that lack something but are not become problems.
    fn look_at_rows(&mut self) -> Vec<usize> {
        if self.options.part.is_some() {
            // A sample that lacks one view may have another.
            if self.options.expect.is_none() && self.options.missing_labels == MissingLabels::Refuse {
                self.problems.labels = self.first_unlabelled(self.unlabelled.iter());
            }
            return vec![];
        }
        let n_cols = self.columns.len();
        let is_missing = |row: usize| {
            let row = &self.data[row * n_cols..(row + 1) * n_cols];
            row.iter().zip(&self.is_aside).all(|(value, is_aside)| *is_aside || value.is_nan())
        };
        let mut empty: Vec<(usize, u64)> = self.suspects.iter().copied().filter(|&(row, _)| is_missing(row)).collect();
        if !self.problems.columns.is_empty() {
            // What stands in such a row may be the cell that is no number.
            empty.clear();
        }
        let is_empty: HashSet<usize> = empty.iter().map(|&(row, _)| row).collect();
        let has_labels = self.unlabelled.len() < self.n_rows || self.options.expect.is_none();
        if self.options.missing_labels == MissingLabels::Drop {
            let mut dropped: Vec<usize> = empty.into_iter().map(|(row, _)| row).collect();
            dropped.extend(self.unlabelled.iter().filter(|_| has_labels).map(|&(row, _)| row));
            dropped.sort_unstable();
            dropped.dedup();
            if dropped.len() < self.n_rows {
                return dropped;
            }
        } else if let (Some(&(_, line)), true) = (empty.first(), self.options.expect.is_some()) {
            // A row to predict is answered like one of mean values, and does not stop the others.
            let place = Place::line(self.name, line);
            self.roles.notes.push(format!(
                "warning: {} without any value, the first in {place}: predicted as if all values were the means of training",
                rows_of(empty.len())
            ));
        } else {
            let first = empty.first().map(|&(_, line)| (Place::line(self.name, line), empty.len()));
            self.problems.empty = first;
        }
        if self.options.expect.is_none() && self.roles.label.is_some() {
            // A row without anything is told once.
            let unlabelled = self.unlabelled.iter().filter(|(row, _)| !is_empty.contains(row));
            self.problems.labels = self.first_unlabelled(unlabelled);
            if self.problems.labels.is_none() && self.problems.empty.is_none() {
                self.problems.labels = self.first_unlabelled(self.unlabelled.iter());
            }
        }
        vec![]
    }

    /// Says which features may be ids.
    fn warn_of_ids(&mut self, repeating: &[usize]) {
        if self.options.expect.is_some() || !self.options.wants_ids() {
            return;
        }
        let features = || (0..self.columns.len()).filter(|&k| !self.is_aside[k]);
        let mut warnings: Vec<String> = vec![];
        for k in features().filter(|&k| repeating.contains(&self.columns[k].at)) {
            let (name, word) = (quoted(&self.columns[k].name), shell_word(&self.columns[k].name));
            warnings.push(format!(
                "warning: column {name} looks like an id column, but its values repeat or are missing, so it is used as a \
                 feature; if it says which rows belong together, say --groups {word}, else leave it out with --ignore {word}"
            ));
        }
        if self.n_rows >= MIN_ID_ROWS {
            let alike: Vec<usize> = features().filter(|&k| self.all_differ(k)).collect();
            let names: Vec<String> = alike.iter().map(|&k| quoted(&self.columns[k].name)).collect();
            let words: Vec<String> = alike.iter().map(|&k| self.word(k)).collect();
            match alike.as_slice() {
                [] => (),
                [_] => warnings.push(format!(
                    "warning: column {} looks like an id: whole numbers that all differ; leave it out with --ignore {w}, or \
                     name it with --id {w}",
                    names[0],
                    w = shell_word(&words[0])
                )),
                _ => warnings.push(format!(
                    "warning: {} columns look like ids, whole numbers that all differ: {}; leave out what is no measurement \
                     with --ignore {}",
                    alike.len(),
                    list(&names, 5),
                    shell_word(&words[..words.len().min(5)].join(","))
                )),
            }
        }
        self.roles.notes.extend(warnings);
    }

    /// A column as options take it.
    fn word(&self, k: usize) -> String {
        let name = &self.columns[k].name;
        let passes = self.roles.all_names.is_some() && !name.contains(',');
        if passes { name.clone() } else { self.columns[k].at.to_string() }
    }

    /// Whether the values of a column are whole numbers that all differ.
    fn all_differ(&self, k: usize) -> bool {
        let mut seen = HashSet::new();
        self.columns[k].is_whole()
            && self.data.iter().skip(k).step_by(self.columns.len()).all(|value| seen.insert(value.to_bits()))
    }

    fn finish(mut self, dropped: &[usize]) -> Result<Table> {
        // What is missing is blank from here on, so that `None` is a class.
        self.unlabelled.iter().for_each(|(row, _)| self.labels[*row].clear());
        let mut labels = self.roles.label.map(|_| std::mem::take(&mut self.labels));
        let mut some_labels = None;
        if !dropped.is_empty() {
            let what = "rows without a label or without any value left out";
            self.roles.notes.push(format!("{what}: {} of {}", dropped.len(), self.n_rows));
        } else if !self.unlabelled.is_empty() && (self.options.part.is_none() || self.options.expect.is_some()) {
            let taken = labels.take();
            let some = if self.unlabelled.len() < self.n_rows {
                some_labels = taken;
                format!("{} of {} labels are missing", self.unlabelled.len(), self.n_rows)
            } else {
                "the label column is empty".into()
            };
            self.roles.notes.push(format!("{some}: rows read as unlabelled"));
        }
        let features: Vec<usize> = (0..self.columns.len()).filter(|&k| !self.is_aside[k]).collect();
        let names: Vec<String> = features.iter().map(|&k| self.columns[k].name.clone()).collect();
        let (n_rows, n_cols) = (self.n_rows, self.columns.len());
        squeeze(&mut self.data, n_cols, &features, dropped);
        let missing = match dropped {
            [] => features.iter().map(|&k| self.columns[k].n_missing).collect(),
            _ => missing_in(&self.data, names.len()),
        };
        self.roles.notes.extend(missing_note(&missing));
        let mut texts =
            [labels, self.roles.groups.map(|_| self.groups)].map(|texts| texts.map(|texts| without(texts, dropped)));
        let samples = Samples::new(Matrix::from_vec(n_rows - dropped.len(), names.len(), self.data)?, names)?;
        let samples = samples.with_row_numbers((!dropped.is_empty()).then(|| left(n_rows, dropped)));
        let samples = match self.ids {
            Some((ids, name)) => samples.with_ids(without(ids, dropped))?.with_id_name(name),
            None => samples,
        };
        let [labels, groups] = [texts[0].take(), texts[1].take()];
        Ok(Table {
            name: self.name.to_string(),
            source: self.name.to_string(),
            samples,
            labels,
            label_name: self.roles.label_name,
            label_column: self.roles.label_column,
            groups,
            group_name: self.roles.group_name,
            some_labels,
            told: self.roles.told,
            index_base: None,
            notes: self.roles.notes,
        })
    }
}

/// Leaves out rows, ascending, and all columns but these, ascending, in place.
fn squeeze(data: &mut Vec<f64>, n_cols: usize, columns: &[usize], dropped: &[usize]) {
    if columns.len() == n_cols && dropped.is_empty() {
        return;
    }
    let (mut end, mut dropped) = (0, dropped.iter().peekable());
    for row in 0..data.len() / n_cols.max(1) {
        if dropped.next_if(|&&first| first == row).is_some() {
            continue;
        }
        for &k in columns {
            data[end] = data[row * n_cols + k];
            end += 1;
        }
    }
    data.truncate(end);
}

/// The number of missing values of each column.
fn missing_in(data: &[f64], n_cols: usize) -> Vec<usize> {
    let mut missing = vec![0; n_cols];
    for row in data.chunks(n_cols.max(1)) {
        missing.iter_mut().zip(row).for_each(|(count, value)| *count += usize::from(value.is_nan()));
    }
    missing
}

/// The texts of the rows that are left.
fn without(texts: Vec<String>, dropped: &[usize]) -> Vec<String> {
    let mut dropped = dropped.iter().peekable();
    let is_left = |(row, text)| dropped.next_if(|&&first| first == row).is_none().then_some(text);
    texts.into_iter().enumerate().filter_map(is_left).collect()
}

/// `1 row`, `2 rows`.
fn rows_of(n: usize) -> String {
    format!("{n} row{}", if n == 1 { "" } else { "s" })
}

/// The numbers of the rows that are left, counted from 1.
fn left(n_rows: usize, dropped: &[usize]) -> Vec<usize> {
    (0..n_rows).filter(|row| dropped.binary_search(row).is_err()).map(|row| row + 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Decimal, Expect, read_from};

    fn read(text: &str, options: &ReadOptions) -> Result<Table> {
        read_from(text.as_bytes(), "f.csv", options)
    }

    fn table(text: &str, options: &ReadOptions) -> Table {
        read(text, options).unwrap()
    }

    fn message(text: &str, options: &ReadOptions) -> String {
        read(text, options).unwrap_err().to_string()
    }

    fn values(table: &Table) -> Vec<f64> {
        table.samples.features().to_dense().unwrap().data().to_vec()
    }

    fn plain() -> ReadOptions {
        ReadOptions::default()
    }

    /// Rows made of their number, from 1.
    fn rows(header: &str, n: usize, row: impl Fn(usize) -> String) -> String {
        header.to_string() + &(1..=n).map(|i| row(i) + "\n").collect::<String>()
    }

    fn expecting(names: &[&str], classes: &[&str]) -> ReadOptions {
        let texts = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        ReadOptions::expecting(Expect::new(texts(names), None, None).with_classes(texts(classes)))
    }

    #[test]
    fn one_column_too_many_is_the_label_only_if_it_holds_nothing_but_classes() {
        let options = expecting(&["a", "b"], &["p", "q"]);
        for (text, labels) in [("1,2,p\n3,4,q\n", "p q"), ("p,1,2\np,3,4\n", "p p"), ("1,2,p\n3,4,\n5,6,q\n", "")] {
            let table = table(text, &options);
            assert_eq!(
                (&values(&table)[..2], table.labels.unwrap_or_default().join(" ")),
                (&[1.0, 2.0][..], labels.into())
            );
        }
        let label = table("1,2,p\n3,4,q\n", &options);
        assert_eq!(label.label_column.as_deref(), Some("column 3 (the last)"));
        assert_eq!(label.notes[1], "label: column 3 (the last), which holds only classes of the model");
        let found = "f.csv: found 3 columns, the model expects 2 features (or 3 with a label)";
        let advice = "say what the others are with --label, --id or --ignore and their positions, counted from 0";
        for (text, why) in [
            // Row numbers, patients, measurements.
            ("1,5,6\n2,7,8\n", ", and neither the first nor the last column holds only classes of the model"),
            ("907,5,6\n33,7,8\n", ", and neither the first nor the last column holds only classes of the model"),
            ("0.5,5,p\n0.7,7,x\n", ", and neither the first nor the last column holds only classes of the model"),
        ] {
            assert_eq!(message(text, &options), format!("{found}{why}; {advice}"), "{text:?}");
        }
        // Ids that no feature can be.
        let ids = ReadOptions { header: Some(false), ..options.clone() };
        let table = table("s1,1,2\ns2,3,4\n", &ids);
        assert_eq!(
            (values(&table), table.samples.ids().unwrap().join(" ")),
            (vec![1.0, 2.0, 3.0, 4.0], "s1 s2".into())
        );
        assert_eq!(message("1,2,3,p\n", &options), format!("{found}; {advice}").replace("3 columns", "4 columns"));
    }

    #[test]
    fn rows_left_out_are_counted_in_row_numbers_and_not_in_missing_values() {
        let drop = ReadOptions { missing_labels: MissingLabels::Drop, ..plain() };
        let found = table("a,b,label\n1,2,p\n3,NA,NA\n,,q\n5,,q\n7,8,p\n", &drop);
        let numbers = |samples: &Samples| (0..samples.n_samples()).map(|i| samples.row_number(i)).collect::<Vec<_>>();
        assert_eq!(numbers(&found.samples), [1, 4, 5]);
        assert_eq!(numbers(&found.samples.select_rows(&[2, 1])), [5, 4]);
        assert_eq!(found.notes.last().unwrap(), "missing values: 1, in 1 of 2 columns");
    }

    #[test]
    fn none_is_a_class_among_words_and_missing_among_numbers() {
        let drop = ReadOptions { missing_labels: MissingLabels::Drop, ..plain() };
        let words = "a,label\n1,Mild\n2,None\n3,NA\n4,None\n5,Mild\n";
        let found = table(words, &drop);
        assert_eq!(found.labels.unwrap(), ["Mild", "None", "None", "Mild"]);
        assert!(found.notes.iter().any(|note| note.starts_with("the label 'None' is taken as a class of its own; ")));
        assert_eq!(table("a,label\n1,0\n2,none\n3,1\n", &drop).labels.unwrap(), ["0", "1"]);
        let refused =
            "f.csv:4:2: the label is missing ('NA'); fill it in, or leave such rows out with --missing-labels drop";
        assert_eq!(message(words, &plain()), refused);
        // At predict the classes of the model decide.
        let of = |classes: &[&str]| table(words, &expecting(&["a"], classes)).notes.join("; ");
        assert!(of(&["Mild", "None"]).contains("1 of 5 labels are missing"), "{}", of(&["Mild", "None"]));
        assert!(of(&["Mild", "Bad"]).contains("3 of 5 labels are missing"), "{}", of(&["Mild", "Bad"]));
        // Among the words of a feature it is another.
        assert!(message("a,b,label\n1,x,p\n2,None,q\n3,y,p\n", &plain()).contains("like 2 more cells"));
    }

    #[test]
    fn rows_without_any_value_are_predicted_with_a_warning() {
        let found = table("a,b\n1,2\n,NA\n3,4\n,\n", &expecting(&["a", "b"], &["p", "q"]));
        assert_eq!(found.samples.n_samples(), 4);
        assert!(
            found.notes.iter().any(|note| note.starts_with("warning: 2 rows without any value, the first in f.csv:3:"))
        );
        assert_eq!(
            found.into_dataset().unwrap_err().to_string(),
            "f.csv: row 2 has no value at all; remove it, or fill values in"
        );
    }

    #[test]
    fn pairs_of_words_are_read_as_1_and_0() {
        let text = "a,b,c,d,label\nTrue,yes,T,1,yes\nFALSE,No,f,2,no\n,yes,T,3,no\n";
        let found = table(text, &plain());
        assert_eq!(values(&found)[..8], [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 2.0]);
        assert!(values(&found)[8].is_nan());
        assert_eq!(found.labels.unwrap(), ["yes", "no", "no"]);
        assert_eq!(
            found.notes,
            [
                "read as 1/0: True/False in a",
                "read as 1/0: yes/no in b",
                "read as 1/0: T/F in c",
                "missing values: 1, in 1 of 4 columns"
            ]
        );
        assert_eq!(values(&table("d,a\n1,true\n2,false\n", &expecting(&["a", "d"], &["p"]))), [1.0, 1.0, 0.0, 2.0]);
        for column in ["yes\nmaybe\nno\nno", "True\nno\nTrue", "True\n1\nFalse"] {
            let rows: String = column.lines().map(|cell| format!("{cell},1,p\n")).collect();
            assert!(message(&format!("a,b,label\n{rows}"), &plain()).contains("is not a number"), "{column}");
        }
    }

    #[test]
    fn tables_that_look_turned_are_refused_with_the_advice_to_turn_them() {
        let header: String = (1..=80).map(|i| format!(",patient{i}")).collect();
        let line = |name: &str, cell: &dyn Fn(usize) -> String| {
            name.to_string() + &(1..=80).map(|i| format!(",{}", cell(i))).collect::<String>() + "\n"
        };
        let genes: String = (1..=5).map(|g| line(&format!("g{g}"), &|i| format!("{i}.{g}"))).collect();
        let text = format!("gene{header}\n{genes}{}", line("diagnosis", &|i| ["M", "B"][i % 2].into()));
        let refused = message(&text, &plain());
        let start = "f.csv:7:2: 79 columns have cells that are not numbers; nearly all are in line 7: if samples are in \
                     columns, say --transpose; else correct them\n";
        assert!(refused.starts_with(start), "{refused}");
        assert!(refused.len() < 500, "{refused}");
        // New rows for a model whose features stand in the first column.
        let new = message(&text, &expecting(&["g1", "g2", "g3", "g4", "g5"], &["M", "B"]));
        assert!(
            new.ends_with(
                "; the model's features stand in the first column: if samples are in columns, add --transpose"
            )
        );
    }

    #[test]
    fn words_are_to_be_written_as_0_and_1_or_left_out_with_what_is_left_out_already() {
        let text = "a,b,c,\"x,y\",label\n1,u,v,w,p\n2,u,v,w,q\n3,z,v,k,p\n";
        let ignore = ReadOptions { ignore: vec!["x,y".into()], ..plain() };
        let start = "f.csv:2:2: 2 columns have cells that are not numbers; write categories as one column of 0/1 for each \
                     value (one-hot), or leave them out with --ignore '\"x,y\",b,c'\n";
        assert!(message(text, &ignore).starts_with(start), "{}", message(text, &ignore));
        let many = rows(&(1..=99).map(|j| format!("column{j},")).collect::<String>(), 0, |_| String::new());
        let row = "w,".repeat(99) + "1,p\n";
        let refused = message(&format!("{many}n,label\n{row}{row}{row}"), &plain());
        let pasted = refused.lines().next().unwrap().split("--ignore ").nth(1).unwrap().to_string();
        assert!(pasted.len() < 330 && pasted.contains(" more)"), "{pasted}");
        assert!(!message("a,b,label\nu,v,p\nu,w,q\nu,v,q\n", &plain()).contains("--ignore"));
    }

    #[test]
    fn a_first_line_read_as_names_is_told_where_they_do_not_fit() {
        let hint = "(the first line was read as names; if the file has none, add --header no)";
        assert!(message("x,1,p\ny,2,q\n", &expecting(&["a", "b"], &["p", "q"])).ends_with(hint));
        assert!(message("s,NA,NA,1\nt,2,2,1\n", &plain()).ends_with(hint));
        let told = ReadOptions { header: Some(true), ..plain() };
        assert!(message("s,NA,NA,1\nt,2,2,1\n", &told).ends_with("rename one"));
    }

    #[test]
    fn near_names_are_asked_for() {
        let text = "Survived,alcohol,c\n1,2,p\n3,4,q\n";
        for (wanted, near) in [("surived", "Survived"), ("survived", "Survived"), ("alcool", "alcohol")] {
            let options = ReadOptions { label: Some(wanted.into()), ..plain() };
            let asked = format!("f.csv has no column '{wanted}' (did you mean '{near}'?); give a name");
            assert!(message(text, &options).contains(&asked), "{}", message(text, &options));
        }
    }

    #[test]
    fn labels_of_rows_to_predict_are_kept_where_some_are_missing() {
        let found = table("a,label\n1,p\n2,NA\n3,q\n", &expecting(&["a"], &["p", "q"]));
        assert_eq!((found.labels, found.some_labels.unwrap()), (None, vec!["p".into(), "".into(), "q".into()]));
    }

    #[test]
    fn classes_that_are_numbers_leave_no_doubt_or_are_refused() {
        let options = expecting(&["a", "b"], &["0", "1"]);
        assert_eq!(table("2.5,7,1\n3.5,8,0.0\n", &options).labels.unwrap(), ["1", "0.0"]);
        for (text, why) in [
            ("1,5,0\n0,7,1\n", "both column 0 and column 2 (from 0) hold only classes of the model"),
            // An id before features of which the last is 0 or 1.
            ("907,5,0\n33,7,1\n", "column 0 may be ids as well as column 2 (from 0) may be the label"),
        ] {
            assert!(message(text, &options).contains(why), "{}", message(text, &options));
        }
        for option in ["label=-1", "id=0", "ignore=0"] {
            let (option, wanted) = option.split_once('=').unwrap();
            let mut told = options.clone();
            match option {
                "label" => told.label = Some(wanted.into()),
                "id" => told.id = Some(wanted.into()),
                _ => told.ignore = vec![wanted.into()],
            }
            let table = table("907,5,0\n33,7,1\n", &told);
            let expected = if option == "label" { [907.0, 5.0, 33.0, 7.0] } else { [5.0, 0.0, 7.0, 1.0] };
            assert_eq!(values(&table), expected, "{option}");
        }
    }

    #[test]
    fn label_that_is_guessed_is_told() {
        let notes = |text: &str| table(text, &plain()).notes.join("; ");
        assert_eq!(
            notes("class,age,survived\nyes,30,1\nno,20,0\n"),
            "label: the column 'class', by its name; the last column is 'survived': name it with --label survived if that is \
             meant"
        );
        assert_eq!(notes("age,class\n30,yes\n20,no\n"), "");
        assert_eq!(notes("age,kind\n30,yes\n20,no\n"), "label: the last column, 'kind'; name another with --label");
        let bare = table("30,yes\n20,no\n", &plain());
        assert_eq!(bare.label_column.as_deref(), Some("column 2 (the last)"));
        assert_eq!(
            bare.notes,
            ["label: column 2 (the last); the file has no names: give another by its position, --label 0 to 1"]
        );
        assert_eq!(bare.into_dataset().unwrap().label_column.as_deref(), Some("column 2 (the last)"));
    }

    #[test]
    fn ids_known_by_name_if_their_values_differ() {
        for name in ["patient_id", "PassengerId", "PatientID", "ID", "Sample", "row-id", "uuid", "subject"] {
            let text = format!("a,{name},label\n1,7,p\n2,9,q\n");
            let found = table(&text, &plain());
            assert_eq!(
                (found.samples.ids().unwrap().join(" "), found.samples.id_name()),
                ("7 9".into(), Some(name)),
                "{name}"
            );
            assert_eq!(
                (found.samples.names(), found.notes),
                (&["a".to_string()][..], vec![format!("ids: column '{name}'")])
            );
            // Values that repeat are those of a feature.
            let found = table(&text.replace('9', "7"), &plain());
            assert_eq!((found.samples.ids(), found.samples.n_features()), (None, 2));
            let warning = format!(
                "warning: column '{name}' looks like an id column, but its values repeat or are missing, so it is used as a feature"
            );
            assert!(found.notes[0].starts_with(&warning), "{:?}", found.notes);
            assert!(found.notes[0].contains("--groups") && found.notes[0].contains("--ignore"));
            // And nobody has to have ids.
            let none = table(&text, &ReadOptions { id: Some("none".into()), ..plain() });
            assert_eq!((none.samples.ids(), none.samples.n_features(), none.notes.len()), (None, 2, 0));
        }
        for name in ["paid", "COVID", "acid", "grid", "hybrid"] {
            assert_eq!(table(&format!("a,{name},label\n1,7,p\n2,9,q\n"), &plain()).samples.n_features(), 2, "{name}");
        }
        let two = table("patient_id,sample_id,a,label\n1,8,5,p\n2,9,6,q\n", &plain());
        assert_eq!((two.samples.id_name(), two.samples.names()), (Some("sample_id"), &["a".to_string()][..]));
        assert_eq!(two.notes[1], "column 'patient_id' left out: it holds ids as well");
    }

    #[test]
    fn ids_known_by_their_values() {
        let found = |text: &str, options: &ReadOptions| {
            let table = table(text, options);
            (table.samples.ids().map(|ids| ids[1].clone()), table.samples.names().join(" "), table.notes.join("; "))
        };
        let counted = rows("a,nr,label\n", 20, |i| format!("0.{i},{:03},{}", i + 6, i % 2));
        let (ids, names, notes) = found(&counted, &plain());
        assert_eq!((ids.as_deref(), names.as_str()), (Some("008"), "a"));
        assert_eq!(notes, "ids: column 'nr', which counts the rows; if it is a feature, say --id none");
        assert_eq!(found(&counted, &ReadOptions { id: Some("none".into()), ..plain() }).1, "a nr");
        // Too few rows to tell, and the only feature.
        assert_eq!(found(&rows("a,nr,label\n", 19, |i| format!("0.{i},{i},{}", i % 2)), &plain()).1, "a nr");
        assert_eq!(found(&rows("nr,label\n", 30, |i| format!("{i},{}", i % 2)), &plain()).1, "nr");
        // Whole numbers that all differ are told, others are not.
        let (ids, names, notes) = found(&rows("a,b,label\n", 30, |i| format!("{},{}.5,{}", i * i, i, i % 2)), &plain());
        assert_eq!((ids, names.as_str()), (None, "a b"));
        assert_eq!(
            notes,
            "warning: column 'a' looks like an id: whole numbers that all differ; leave it out with --ignore a, or name it \
             with --id a"
        );
        assert_eq!(
            found(&rows("a;b;label\n", 30, |i| format!("{i},5;{};{}", i / 2, i % 2)), &plain()).2,
            "decimal commas in a"
        );
        assert_eq!(found(&rows("a,b,label\n", 30, |i| format!("{},{},{}", i / 2, 30 - i / 3, i % 2)), &plain()).2, "");
        // A first column of texts.
        let (ids, names, notes) = found(&rows("name,a,label\n", 3, |i| format!("n{i},{i},{}", i % 2)), &plain());
        assert_eq!((ids.as_deref(), names.as_str()), (Some("n2"), "a"));
        assert_eq!(notes, "ids: column 'name', the first, whose texts all differ");
        let other = message(&rows("a,name,label\n", 3, |i| format!("{i},n{i},{}", i % 2)), &plain());
        assert!(other.ends_with("--ignore name (all different: if they are ids, say --id name)"), "{other}");
    }

    #[test]
    fn labels_that_are_numbers_to_predict_are_told_or_refused() {
        let label = |n: usize, label: fn(usize) -> String| {
            let text = rows("a,y\n", n, |i| format!("0.{},{}", i % 7, label(i)));
            read(&text, &plain()).map(|table| table.notes.join("; ")).map_err(|error| error.to_string())
        };
        let reads = "reads as a number to predict, but multikernel predicts classes, each value a class of its own; put the values \
                     into a few bins, or name another column with --label";
        assert_eq!(
            label(770, |i| format!("{}.5", i % 77)).unwrap(),
            format!("warning: the label column 'y' has 77 different numbers in 770 rows and {reads}")
        );
        assert_eq!(
            label(60, |i| format!("{i}.25")).unwrap_err(),
            format!("f.csv: the label column 'y' has 60 different numbers in 60 rows and {reads}")
        );
        // Digits, codes of 26 letters, words, and many rows of each.
        for few in [
            (|i| (i % 10).to_string()) as fn(usize) -> String,
            |i| (i % 26).to_string(),
            |i| (i % 26 + 1).to_string(),
            |i| format!("c{}", i % 60),
        ] {
            assert_eq!(label(300, few).unwrap(), "");
        }
        assert_eq!(label(3000, |i| format!("{}.5", i % 30)).unwrap(), "");
    }

    #[test]
    fn all_problems_of_a_file_are_told_at_once() {
        let text = "id,name,sex,age,fare,class\n1,Ann,f,30,7,p\n2,\"Bob, B\",m,?,x,q\n3,Cyd,f,20,9,\n4,Dan,m,1,2,\n";
        assert_eq!(
            message(text, &plain()),
            "f.csv:2:2: 3 columns have cells that are not numbers; write categories as one column of 0/1 for each value (one-hot), or leave them out with --ignore name,sex,fare\
             \n  'name': 'Ann' in line 2, 4 of 4 cells\
             \n  'sex': 'f' in line 2, 4 of 4 cells\
             \n  'fare': 'x' in line 3, 1 of 4 cells\
             \n  also f.csv:4:6: the label is missing (and in 1 more row); fill it in, or leave such rows out with \
             --missing-labels drop"
        );
        let words = |n: usize| {
            let (names, cells): (Vec<String>, Vec<String>) =
                (0..n).map(|k| (format!("w {k}"), "red".to_string())).unzip();
            format!("{},b,label\n{c},1,p\n{c},2,q\n", names.join(","), c = cells.join(","))
        };
        let many = message(&words(30), &plain());
        assert!(many.contains("--ignore \"w 0,w 1,") && many.contains(",w 29\"\n"), "{many}");
        assert!(many.ends_with("\n  and 10 more columns"), "{many}");
        // A name with a comma in it is left out by its position.
        let comma = message("\"a,b\",c,label\nred,1,p\nred,2,q\n", &plain());
        assert!(comma.contains("with --ignore 0"), "{comma}");
    }

    #[test]
    fn rows_without_labels_or_values_are_dropped_where_that_is_asked_for() {
        let drop = ReadOptions { missing_labels: MissingLabels::Drop, ..plain() };
        let text = "id,a,b,label\n1,1,2,p\n2,3,4,\n3,,NA,q\n4,5,6,q\n";
        let found = table(text, &drop);
        assert_eq!((values(&found), found.labels.unwrap().join(" ")), (vec![1.0, 2.0, 5.0, 6.0], "p q".into()));
        assert_eq!(found.samples.ids().unwrap(), ["1", "4"]);
        assert!(found.notes.contains(&"rows without a label or without any value left out: 2 of 4".to_string()));
        assert_eq!(
            message(text, &plain()),
            "f.csv:3:4: the label is missing; fill it in, or leave such rows out with --missing-labels drop\
             \n  also f.csv:4: the row has no value at all; remove it, fill values in, or leave such rows out with \
             --missing-labels drop"
        );
        assert!(message("a,label\n1,\n2,\n", &drop).contains("the label is missing (and in 1 more row)"));
    }

    #[test]
    fn marks_and_errors_of_spreadsheets_are_missing_among_numbers() {
        for mark in ["#N/A", "#NA", "#VALUE!", "#DIV/0!", "#NULL!", "-", ".", "..", "--", "*"] {
            let table = table(&format!("a,b,label\n1,{mark},p\n2,3,q\n"), &plain());
            assert_eq!((table.samples.n_missing(), values(&table)[3]), (1, 3.0), "{mark}");
        }
        let noted = table("a,b,label\n1,-,p\n2,3,q\n", &plain()).notes;
        assert_eq!(noted, ["marks such as - read as missing values in b", "missing values: 1, in 1 of 2 columns"]);
        assert!(
            message("a,b,label\n1,-,p\n2,+,q\n", &plain()).starts_with("f.csv:3:2: '+' in column 'b' is not a number")
        );
    }

    #[test]
    fn other_ways_of_writing_numbers_are_read_where_a_column_agrees() {
        let b = |cells: [&str; 3]| {
            let text = rows("a;b;label\n", 3, |i| format!("{i};{};p", cells[i - 1]));
            let table = read(&text, &plain()).map_err(|error| error.to_string())?;
            Ok::<_, String>((values(&table).chunks(2).map(|row| row[1]).collect::<Vec<_>>(), table.notes.join("; ")))
        };
        for (cells, expected, note) in [
            (["1,5", "2", "0,25"], [1.5, 2.0, 0.25], "decimal commas in b"),
            (["1.234,5", "1.234", "7"], [1234.5, 1234.0, 7.0], "decimal commas in b; thousands separators in b"),
            (["1.000,5", "2.000", "3"], [1000.5, 2000.0, 3.0], "decimal commas in b; thousands separators in b"),
            (
                ["1 234,5", "2", "-"],
                [1234.5, 2.0, f64::NAN],
                "decimal commas in b; marks such as - read as missing values in b",
            ),
            (["1,234.5", "1,234", "2.5"], [1234.5, 1234.0, 2.5], "thousands separators in b"),
            (["1,234,567", "1,234", "2"], [1_234_567.0, 1234.0, 2.0], "thousands separators in b"),
            (["12%", "7.5 %", "0%"], [12.0, 7.5, 0.0], "percent signs (12% is read as 12) in b"),
            (["12,5%", "7%", "0%"], [12.5, 7.0, 0.0], "decimal commas in b; percent signs (12% is read as 12) in b"),
        ] {
            let (found, notes) = b(cells).unwrap();
            let same = found.iter().zip(expected).all(|(a, b)| *a == b || (a.is_nan() && b.is_nan()));
            assert!(same, "{cells:?}: {found:?}");
            assert!(notes.contains(note), "{notes}");
        }
        for (cells, line, why) in [
            (
                ["1,234", "2,345", "7"],
                2,
                "has a comma that may mark decimals or thousands, and no other cell says which",
            ),
            (["1,5", "2.5", "3"], 2, "is not written as the other numbers of its column or file are"),
            (["12%", "13", "14"], 2, "is not written as the other numbers of its column or file are"),
            (["1,5", "oops", "3"], 3, "is not a number, like 1 more cell of it"),
        ] {
            let message = b(cells).unwrap_err();
            assert!(message.starts_with(&format!("f.csv:{line}:2: ")) && message.contains(why), "{message}");
        }
        // The rest of the file says what a comma is, or somebody does.
        let text = "a;b;label\n1,234;OTHER;p\n2;3;q\n";
        assert_eq!(values(&table(&text.replace("OTHER", "0,5"), &plain()))[0], 1.234);
        assert_eq!(values(&table(&text.replace("OTHER", "0.5"), &plain()))[0], 1234.0);
        for (decimal, value) in [(Decimal::Comma, 1.234), (Decimal::Point, 1234.0)] {
            let told = ReadOptions { decimal: Some(decimal), ..plain() };
            assert_eq!(values(&table(&text.replace("OTHER", "7"), &told))[0], value);
        }
        // Where decimals are commas, points set thousands apart in other columns, too.
        assert_eq!(values(&table(&text.replace("OTHER", "1.500").replace("1,234", "1,2"), &plain()))[1], 1500.0);
    }

    #[test]
    fn bars_and_tabs_separate() {
        let bars = table("a|\"b|c\"|label\n1|2,5|p\n2|3|q\n", &plain());
        assert_eq!((bars.samples.names().join(" "), values(&bars)), ("a b|c".into(), vec![1.0, 2.5, 2.0, 3.0]));
        let tabs = table("a\tb\tlabel\n1\t2\tp\n2\t3\tq\n", &plain());
        assert_eq!(tabs.samples.names(), ["a", "b"]);
    }

    #[test]
    fn tables_with_samples_in_columns_are_turned() {
        let turned = ReadOptions { transpose: true, ..plain() };
        let text = "gene,s1,s2,s3\ng1,1,2,3\n\"g,2\",\"4,5\",NA,6\nclass,p,q,p\n";
        let found = table(text, &turned);
        assert_eq!(
            (found.samples.names().join(" "), found.labels.unwrap().join(" ")),
            ("g1 g,2".into(), "p q p".into())
        );
        assert_eq!(found.samples.ids().unwrap(), ["s1", "s2", "s3"]);
        assert_eq!(found.samples.features().to_dense().unwrap().row(2), [3.0, 6.0]);
        assert_eq!(found.samples.id_name(), None);
        // Where no row is called so, the last is the label.
        let last = table("gene,s1,s2\ng1,1,2\ndiagnosis,M,B\n", &turned);
        assert_eq!(last.labels.unwrap(), ["M", "B"]);
        assert_eq!(last.notes, ["ids: the first line", "label: the last line, 'diagnosis'; name another with --label"]);
        assert_eq!(
            message("gene,s1,s2\ng1,1,2\ng2,3,oops\nclass,p,q\n", &turned),
            "f.csv:3: 'oops' in column 'g2' is not a number; correct it, or leave the column out with --ignore g2"
        );
        assert!(message("gene\ng1\n", &turned).contains("first line of sample ids"));
        // Numbers to predict in a table of texts and sample names.
        let guess = rows("gene,s1,s2,s3,s4\n", 30, |i| format!("g{i},{i},2,3,{i}.5"));
        assert!(message(&guess, &plain()).ends_with("(if samples are in columns, add --transpose)"));
    }
}
