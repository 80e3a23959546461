//! The rows of delimited text: their values, and decisions that need all of them.

use std::collections::{HashMap, HashSet};

use super::cells::Cells;
use super::coded::{Coded, code};
use super::column::{Column, Fit, Set, Written, usual};
use super::kept::Kept;
use super::leave_out::{left, missing_in, rows_of, squeeze, without};
use super::problems::{Advice, MissingLabel, Problems};
use crate::data::read::memory::{check_memory, out_of_memory};
use crate::data::read::numbers::Truth;
use crate::data::read::options::{MissingLabels, ReadOptions};
use crate::data::read::roles::{ByValue, Roles, decide, place_of};
use crate::data::table::words::{has_words, is_missing, is_none, list, missing_note, quoted};
use crate::data::table::{Coding, ColumnNote, Kind, Samples, Table, ToldKind};
use crate::error::{Error, Message, Place, Remedy, Result, message};
use crate::linalg::Matrix;

/// With fewer rows it is unclear whether a column of numbers is an id.
const MIN_ID_ROWS: usize = 20;

/// A text of a label, group or id, besides its letters.
const TEXT_BYTES: usize = 32;

/// With fewer rows it is unclear whether a column of text is an id.
const SOME_ROWS: usize = 3;

/// The line on which each row begins: rows that follow one another without a blank line or a line break in quotes are
/// kept as one entry.
#[derive(Default)]
struct LinesOfRows(Vec<(usize, u64)>);

impl LinesOfRows {
    /// Takes the next row; returns how many bytes that takes.
    fn add(&mut self, row: usize, line: u64) -> usize {
        if self.0.last().is_some_and(|&(first, at)| line == at + (row - first) as u64) {
            return 0;
        }
        self.0.push((row, line));
        size_of::<(usize, u64)>()
    }

    fn of(&self, row: usize) -> u64 {
        let k = self.0.partition_point(|&(first, _)| first <= row);
        self.0[..k].last().map_or(0, |&(first, line)| line + (row - first) as u64)
    }
}

/// The rows read so far.
pub(super) struct Body<'a> {
    name: &'a str,
    options: &'a ReadOptions,
    roles: Roles,
    n_columns: usize,
    columns: Vec<Column>,
    /// Which of the columns turned out not to be features.
    is_aside: Vec<bool>,
    /// What they hold.
    codings: Vec<Coding>,
    /// Why columns were set aside, by their position in the file: what they are, and the reason.
    left_out: Vec<(usize, &'static str, String)>,
    data: Vec<f64>,
    /// Bytes of cells that are not plain numbers.
    bytes: usize,
    n_rows: usize,
    labels: Vec<String>,
    /// Rows with a missing label, and their positions.
    unlabelled: Vec<(usize, Place)>,
    lines: LinesOfRows,
    groups: Vec<String>,
    kept: Vec<Kept>,
    ids: Option<(Vec<String>, Option<String>)>,
    problems: Problems,
}

impl<'a> Body<'a> {
    pub(super) fn new(name: &'a str, n_columns: usize, roles: Roles, options: &'a ReadOptions) -> Self {
        let counts = roles.by_value == ByValue::All || roles.is_undecided;
        let columns = roles.features.iter().zip(&roles.names);
        let columns: Vec<Column> = columns.map(|(&j, name)| Column::new(j, name.clone(), counts)).collect();
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
            codings: vec![Coding::default(); columns.len()],
            left_out: vec![],
            columns,
            roles,
            data: vec![],
            bytes: 0,
            n_rows: 0,
            labels: vec![],
            unlabelled: vec![],
            lines: LinesOfRows::default(),
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
        for column in &mut self.columns {
            let value = column.add(cells.cell(column.at), self.n_rows, cells.line_of(column.at), &mut self.bytes);
            self.data.push(value);
        }
        self.bytes += self.lines.add(self.n_rows, line);
        if let Some(j) = self.roles.label {
            self.add_label(cells.cell(j), cells.place(self.name, j));
        }
        if let Some(j) = self.roles.groups {
            let group = cells.cell(j);
            if group.is_empty() {
                let message = "the group is missing; fill it in, or remove the row";
                return Err(Error::data(cells.place(self.name, j), message));
            }
            self.bytes += group.len() + TEXT_BYTES;
            self.groups.push(group.to_string());
        }
        self.n_rows += 1;
        // A kept text is held twice, the second time to find it again.
        self.bytes += self.kept.iter().map(|kept| kept.cost(cells)).sum::<usize>();
        self.kept.iter_mut().try_for_each(|kept| kept.add(self.name, cells))
    }

    fn add_label(&mut self, label: &str, place: Place) {
        if is_missing(label) {
            self.unlabelled.push((self.labels.len(), place));
        }
        self.bytes += label.len() + TEXT_BYTES;
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
        if self.n_features() == 0 && self.problems.columns.is_empty() {
            return Err(Error::data(Place::file(self.name), self.nothing_left()));
        }
        let dropped = self.look_at_rows();
        let advice = Advice {
            file: self.name,
            n_rows: self.n_rows,
            is_bare: self.options.header == Some(false),
            first_line: self.lines.of(0),
            guess: self.roles.guess.as_ref(),
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
        self.tell_kinds();
        self.finish(&dropped)
    }

    /// Decides whether `None` is a class: it is one among words, but a missing label among numbers.
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
                self.roles.notes.push(
                    format!(
                        "the label {} is taken as a class of its own; leave the cell blank where the label is missing",
                        quoted(first)
                    )
                    .into(),
                );
            }
            let labels = &self.labels;
            self.unlabelled.retain(|(row, _)| !is_none(&labels[*row]));
        }
    }

    /// The position and text of the first of these missing labels, and their number.
    fn first_unlabelled<'b>(&self, mut rows: impl Iterator<Item = &'b (usize, Place)>) -> Option<MissingLabel> {
        let (row, place) = rows.next()?;
        Some(MissingLabel { place: place.clone(), text: self.labels[*row].clone(), n: 1 + rows.count() })
    }

    /// Whether rows may be left out: in prediction only on request.
    fn may_drop(&self) -> bool {
        self.options.expect.is_none() || self.options.missing_labels == MissingLabels::Drop
    }

    /// Decides which of too many unnamed columns are the label and ids.
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
            self.roles.notes.push(message![
                "using the first column as ids; if it is not, say what it is with ",
                Remedy::Label(None),
                ", ",
                Remedy::Id(None),
                " or ",
                Remedy::Ignore(vec![])
            ]);
            self.ids = first.take().map(|kept| (kept.texts, None));
        }
        if let Some(k) = label {
            self.is_aside[k] = true;
            let j = self.columns[k].at;
            let column = place_of(j, self.n_columns);
            self.roles.notes.push(format!("label: {column}, which holds only classes of the model").into());
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

    /// Sets a column aside, unless it is the last feature; returns whether it did, or the column was not a feature.
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

    /// The column given as ids; else the first named like one whose values are distinct; else one identified by its
    /// values.
    fn find_ids(&mut self) {
        for kept in std::mem::take(&mut self.kept) {
            let j = kept.column;
            let is_first = j == 0 && self.roles.name_of(Some(0)).is_none();
            let (shown, name) = (self.roles.shown(j), self.roles.name_of(Some(j)));
            let is_named = kept.is_given || self.roles.maybe_ids.contains(&j);
            if !kept.all_differ() {
                match is_named {
                    true if self.options.expect.is_none() => self.problems.repeating.push(j),
                    true => {
                        self.roles.notes.push(format!("no ids: column {shown} has values twice, or lacks some").into())
                    }
                    false => {
                        let note =
                            format!("ignored columns that the model was not trained on: {}", name.unwrap_or(shown));
                        self.roles.notes.push(note.into());
                    }
                }
            } else if self.ids.is_some() {
                if is_first {
                    let note = "the first column has no name and is left out: row names are not used as features";
                    self.roles.notes.push(note.into());
                } else if self.set_aside(j) {
                    self.roles.notes.push(format!("column {shown} left out: it holds ids as well").into());
                }
            } else {
                self.columns.iter().position(|column| column.at == j).inspect(|&k| self.is_aside[k] = true);
                match () {
                    () if kept.is_given => {}
                    () if is_first && self.options.transpose => self.roles.notes.push("ids: the first line".into()),
                    () if is_first => self.roles.notes.push("ids: the first column, which has no name".into()),
                    () => self.roles.notes.push(format!("ids: column {shown}").into()),
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
        // A column that is to be predicted, or whose kind was told, is no id.
        let is_told = |k: usize| self.roles.kinds.iter().any(|(j, _)| *j == self.columns[k].at);
        let texts = self
            .columns
            .iter()
            .position(|column| column.at == 0)
            .filter(|&k| !self.is_aside[k] && n_rows >= SOME_ROWS && self.columns[k].is_unique_text(n_rows))
            .filter(|&k| !self.columns[k].is_no_id(n_rows))
            .filter(|&k| !is_told(k));
        let counts = || {
            let is_free = |k: usize| !self.is_aside[k] && !is_told(k);
            let is_count = |k: &usize| is_free(*k) && self.columns[*k].counts(n_rows) && n_rows >= MIN_ID_ROWS;
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
            Some(_) => format!("ids: column {shown}, the first, whose texts all differ").into(),
            None => message![
                format!("ids: column {shown}, which counts the rows; if it is a feature, say "),
                Remedy::Id(Some("none".into()))
            ],
        });
        self.ids = Some((ids, self.roles.name_of(Some(j))));
    }

    /// Parses cells that are not plain numbers, now that their columns are complete.
    fn read_numbers(&mut self) {
        let (n_rows, n_cols, told) = (self.n_rows, self.columns.len(), self.options.decimal);
        let fits: Vec<Option<Fit>> = self.columns.iter().map(|column| column.fit(n_rows, told)).collect();
        let features = || (0..n_cols).filter(|&k| !self.is_aside[k]);
        let default = usual(features().map(|k| (&self.columns[k], fits[k])), told);
        let features: Vec<usize> = features().collect();
        let mut written: Vec<(String, Written)> = vec![];
        for k in features {
            let told = self.roles.kinds.iter().find(|(j, _)| *j == self.columns[k].at).map(|(_, told)| told.clone());
            if self.is_coded(k, told.as_ref()) {
                self.code_column(k, told.as_ref());
                continue;
            }
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
                Ok(how) if how != Written::default() => {
                    if how.truth.is_some() {
                        self.codings[k].told.kind = Kind::YesNo;
                    }
                    written.push((self.columns[k].name.clone(), how));
                }
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
                self.roles.notes.push(format!("{what} in {}", list(&names, 5)).into());
            }
        }
        for pair in Truth::ALL {
            let names: Vec<&String> =
                written.iter().filter(|(_, how)| how.truth == Some(pair)).map(|(name, _)| name).collect();
            if !names.is_empty() {
                self.roles.notes.push(format!("read as 1/0: {} in {}", pair.words().join("/"), list(&names, 5)).into());
            }
        }
    }

    /// Whether a column is read as texts: as its kind says, or because it holds more words than numbers.
    fn is_coded(&self, k: usize, told: Option<&ToldKind>) -> bool {
        match told.map(|told| told.kind) {
            Some(Kind::Number | Kind::YesNo) => false,
            Some(_) => true,
            // A model without kinds has numbers alone.
            None if self.options.expect.is_some() => false,
            // Ids that repeat are rather a mistake.
            None if self.problems.repeating.contains(&self.columns[k].at) => false,
            None => self.columns[k].is_mostly_text(self.n_rows) && !self.columns[k].is_truth(self.n_rows),
        }
    }

    /// Reads a column of texts.
    fn code_column(&mut self, k: usize, told: Option<&ToldKind>) {
        let n_cols = self.columns.len();
        let mut values: Vec<f64> = self.data.iter().skip(k).step_by(n_cols).copied().collect();
        let is_new = self.options.expect.is_some();
        match code(&mut self.columns[k], told, is_new, &mut values) {
            Ok(Coded::Feature(coding, n_unknown)) => {
                if n_unknown > 0 {
                    let name = quoted(&self.columns[k].name);
                    let what = if coding.kind() == Kind::Date { "no dates" } else { "levels the model does not know" };
                    let note = format!("warning: column {name}: {n_unknown} cells are {what}, taken as missing");
                    self.roles.notes.push(note.into());
                }
                for (row, value) in values.into_iter().enumerate() {
                    self.data[row * n_cols + k] = value;
                }
                self.codings[k] = coding;
            }
            Ok(Coded::LeftOut(what, why)) => {
                self.is_aside[k] = true;
                self.left_out.push((self.columns[k].at, what, why));
            }
            Err(problem) => self.problems.columns.push(problem),
        }
    }

    /// Why no feature is left, where all columns were left out.
    fn nothing_left(&self) -> Message {
        let column = |(at, _, why): &(usize, &str, String)| format!("{}: {why}", self.roles.shown(*at));
        let why: Vec<String> = self.left_out.iter().take(5).map(column).collect();
        message![
            format!("no column is left for features ({}); say what they hold with ", why.join("; ")),
            Remedy::Kinds(None)
        ]
    }

    /// One line for each kind that was found, and for each column left out.
    fn tell_kinds(&mut self) {
        for (at, what, why) in &self.left_out {
            let name = self.roles.name_of(Some(*at)).unwrap_or_else(|| at.to_string());
            self.roles.notes.push(left_out_note(&self.roles.shown(*at), what, why, name));
        }
        if self.options.expect.is_some() {
            return;
        }
        let told = |k: usize| self.roles.kinds.iter().any(|(j, _)| *j == self.columns[k].at);
        let found = (0..self.columns.len()).filter(|&k| !self.is_aside[k] && !told(k)).map(|k| {
            let (name, coding) = (&self.columns[k].name, &self.codings[k]);
            let shown = match coding.kind() {
                Kind::Category => format!("{name} ({})", coding.texts.len()),
                _ => name.clone(),
            };
            (coding.kind(), shown, self.word(k))
        });
        let notes = kind_notes(&found.collect::<Vec<_>>(), "taken as categories (how many): ");
        self.roles.notes.extend(notes);
    }

    /// What every column of the file is taken for, in the order of the file.
    fn column_notes(&self) -> Vec<ColumnNote> {
        let mut notes = Vec::with_capacity(self.n_columns);
        let places: HashMap<usize, usize> = self.columns.iter().enumerate().map(|(k, column)| (column.at, k)).collect();
        let left_out: HashMap<usize, (&str, &String)> =
            self.left_out.iter().map(|(at, what, why)| (*at, (*what, why))).collect();
        for j in 0..self.n_columns {
            let at = places.get(&j).copied();
            let is_feature = at.is_some_and(|k| !self.is_aside[k]);
            let left = left_out.get(&j);
            let (kind, about) = match (at, left) {
                (Some(k), _) if is_feature => (self.codings[k].kind().word(), self.about(k)),
                (_, Some((what, why))) => (*what, format!("left out: {why}")),
                _ if self.roles.label == Some(j) => ("label", String::new()),
                _ if self.roles.groups == Some(j) => ("groups", String::new()),
                _ if self.roles.id == Some(j) || at.is_some() => ("id", "left out".into()),
                _ => ("ignored", "left out".into()),
            };
            let name = self.roles.name_of(Some(j)).unwrap_or_else(|| j.to_string());
            let n_missing = at.map_or(0, |k| self.columns[k].n_missing);
            notes.push(ColumnNote { name, kind: kind.into(), about, n_missing, is_feature });
        }
        notes
    }

    /// What a feature holds, in short.
    fn about(&self, k: usize) -> String {
        let coding = &self.codings[k];
        let texts: Vec<String> = coding.texts.iter().take(4).map(|text| quoted(text)).collect();
        match coding.kind() {
            Kind::Category => format!("{} levels: {}", coding.texts.len(), list(&texts, 4)),
            Kind::Ordered => coding.texts.join(" < "),
            Kind::Text | Kind::Sequence => format!("such as {}", texts.first().map_or("", String::as_str)),
            Kind::Number | Kind::YesNo | Kind::Date => {
                let values = self.data.iter().skip(k).step_by(self.columns.len()).copied();
                let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
                values
                    .filter(|value| !value.is_nan())
                    .for_each(|value| (low, high) = (low.min(value), high.max(value)));
                match low <= high {
                    true => format!("{low} to {high}"),
                    false => "no value".into(),
                }
            }
        }
    }

    /// The rows to leave out, ascending; other incomplete rows become problems.
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
        let is_category = |k: usize| !self.is_aside[k] && self.codings[k].kind() == Kind::Category;
        // A missing category is a level of its own. The text in such a row may be the cell that is not a number.
        let empty: Vec<usize> = match self.problems.columns.is_empty() && !(0..n_cols).any(is_category) {
            true => (0..self.n_rows).filter(|&row| is_missing(row)).collect(),
            false => vec![],
        };
        let has_labels = self.unlabelled.len() < self.n_rows || self.options.expect.is_none();
        if self.options.missing_labels == MissingLabels::Drop {
            let mut dropped = empty.clone();
            dropped.extend(self.unlabelled.iter().filter(|_| has_labels).map(|&(row, _)| row));
            dropped.sort_unstable();
            dropped.dedup();
            if dropped.len() < self.n_rows {
                return dropped;
            }
        } else if let (Some(&row), true) = (empty.first(), self.options.expect.is_some()) {
            // A row to predict is treated like one of mean values, and does not stop the others.
            let place = Place::line(self.name, self.lines.of(row));
            self.roles.notes.push(format!(
                "warning: {} without any value, the first in {place}: predicted as if all values were the means of training",
                rows_of(empty.len())
            ).into());
        } else {
            let first = empty.first().map(|&row| (Place::line(self.name, self.lines.of(row)), empty.len()));
            self.problems.empty = first;
        }
        if self.options.expect.is_none() && self.roles.label.is_some() {
            // An entirely empty row is reported once.
            let unlabelled = self.unlabelled.iter().filter(|(row, _)| empty.binary_search(row).is_err());
            self.problems.labels = self.first_unlabelled(unlabelled);
            if self.problems.labels.is_none() && self.problems.empty.is_none() {
                self.problems.labels = self.first_unlabelled(self.unlabelled.iter());
            }
        }
        vec![]
    }

    /// Notes which features may be ids.
    fn warn_of_ids(&mut self, repeating: &[usize]) {
        if self.options.expect.is_some() || !self.options.wants_ids() {
            return;
        }
        let features = || (0..self.columns.len()).filter(|&k| !self.is_aside[k]);
        let mut warnings: Vec<Message> = vec![];
        for k in features().filter(|&k| repeating.contains(&self.columns[k].at)) {
            let name = &self.columns[k].name;
            warnings.push(message![
                format!(
                    "warning: column {} looks like an id column, but its values repeat or are missing, so it is used as a \
                     feature; if it says which rows belong together, say ",
                    quoted(name)
                ),
                Remedy::Groups(Some(name.clone())),
                ", else leave it out with ",
                Remedy::Ignore(vec![name.clone()])
            ]);
        }
        if self.n_rows >= MIN_ID_ROWS {
            // What is to be predicted may well differ in every row: times do.
            let is_told = |k: usize| self.options.targets().any(|wanted| *wanted == self.columns[k].name);
            let alike: Vec<usize> = features().filter(|&k| self.all_differ(k) && !is_told(k)).collect();
            let names: Vec<String> = alike.iter().map(|&k| quoted(&self.columns[k].name)).collect();
            let words: Vec<String> = alike.iter().map(|&k| self.word(k)).collect();
            match alike.as_slice() {
                [] => (),
                [_] => warnings.push(message![
                    format!("warning: column {} looks like an id: whole numbers that all differ; ", names[0]),
                    "leave it out with ",
                    Remedy::Ignore(vec![words[0].clone()]),
                    ", or name it with ",
                    Remedy::Id(Some(words[0].clone()))
                ]),
                _ => warnings.push(message![
                    format!("warning: {} columns look like ids, whole numbers that all differ: ", alike.len()),
                    format!("{}; leave out what is no measurement with ", list(&names, 5)),
                    Remedy::Ignore(words[..words.len().min(5)].to_vec())
                ]),
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

    /// Whether the values of a column are distinct whole numbers.
    fn all_differ(&self, k: usize) -> bool {
        let mut seen = HashSet::new();
        !self.codings[k].kind().is_text()
            && self.columns[k].is_whole()
            && self.data.iter().skip(k).step_by(self.columns.len()).all(|value| seen.insert(value.to_bits()))
    }

    fn finish(mut self, dropped: &[usize]) -> Result<Table> {
        // Missing labels are blank from here on, so that `None` is a class.
        self.unlabelled.iter().for_each(|(row, _)| self.labels[*row].clear());
        let mut labels = self.roles.label.map(|_| std::mem::take(&mut self.labels));
        let mut some_labels = None;
        if !dropped.is_empty() {
            let what = "rows without a label or without any value left out";
            self.roles.notes.push(format!("{what}: {} of {}", dropped.len(), self.n_rows).into());
        } else if !self.unlabelled.is_empty() && (self.options.part.is_none() || self.options.expect.is_some()) {
            let taken = labels.take();
            let some = if self.unlabelled.len() < self.n_rows {
                some_labels = taken;
                format!("{} of {} labels are missing", self.unlabelled.len(), self.n_rows)
            } else {
                "the label column is empty".into()
            };
            self.roles.notes.push(format!("{some}: rows read as unlabelled").into());
        }
        let columns = self.column_notes();
        let features: Vec<usize> = (0..self.columns.len()).filter(|&k| !self.is_aside[k]).collect();
        let codings = features.iter().map(|&k| self.codings[k].clone()).collect();
        let names: Vec<String> = features.iter().map(|&k| self.columns[k].name.clone()).collect();
        let (n_rows, n_cols) = (self.n_rows, self.columns.len());
        squeeze(&mut self.data, n_cols, &features, dropped);
        let missing = match dropped {
            [] => features.iter().map(|&k| self.columns[k].n_missing).collect(),
            _ => missing_in(&self.data, names.len()),
        };
        self.roles.notes.extend(missing_note(&missing).map(Message::from));
        let mut texts =
            [labels, self.roles.groups.map(|_| self.groups)].map(|texts| texts.map(|texts| without(texts, dropped)));
        let samples = Samples::new(Matrix::from_vec(n_rows - dropped.len(), names.len(), self.data)?, names)?;
        let samples =
            samples.with_codings(codings).with_row_numbers((!dropped.is_empty()).then(|| left(n_rows, dropped)));
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
            targets: None,
            told: self.roles.told,
            index_base: None,
            columns,
            notes: self.roles.notes,
        })
    }
}

/// The line about a column that is left out: how it is shown, what it is, why, and its name in options.
pub(in crate::data::read) fn left_out_note(shown: &str, what: &str, why: &str, name: String) -> Message {
    message![
        format!("column {shown} left out as {what}: {why}; to use it, say "),
        Remedy::Kinds(Some((name, "category")))
    ]
}

/// One line for each kind that was found: the kind of each column, how it is shown, and its name in options.
pub(in crate::data::read) fn kind_notes(found: &[(Kind, String, String)], categories: &str) -> Vec<Message> {
    let mut notes = vec![];
    for kind in [Kind::Category, Kind::Ordered, Kind::Date, Kind::Text, Kind::Sequence] {
        let of_kind: Vec<_> = found.iter().filter(|(found, ..)| *found == kind).collect();
        let names: Vec<&str> = of_kind.iter().map(|(_, shown, _)| shown.as_str()).collect();
        let Some((.., first)) = of_kind.first() else { continue };
        let what = match kind {
            Kind::Category => categories,
            Kind::Ordered => "taken as ordered categories: ",
            Kind::Date => "taken as dates: ",
            Kind::Text => "taken as text: ",
            _ => "taken as sequences: ",
        };
        let other = if kind == Kind::Category { "text" } else { "category" };
        notes.push(message![
            format!("{what}{}; if not, say ", list(&names, 8)),
            Remedy::Kinds(Some((first.clone(), other)))
        ]);
    }
    notes
}

#[cfg(test)]
mod tests;
