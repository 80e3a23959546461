//! Which column of delimited text is what.

use std::collections::{HashMap, HashSet};

use super::delimited::Cells;
use super::read::{ReadOptions, is_word};
use super::samples::numbered;
use super::text::{columns, list, quoted};
use super::{Expect, expect};
use crate::error::{Error, Place, Result};

/// Which columns are what.
pub(super) struct Roles {
    /// Column of each feature.
    pub(super) features: Vec<usize>,
    pub(super) names: Vec<String>,
    pub(super) label: Option<usize>,
    pub(super) label_name: Option<String>,
    pub(super) id: Option<usize>,
    pub(super) groups: Option<usize>,
    pub(super) group_name: Option<String>,
    pub(super) notes: Vec<String>,
    /// What was taken for granted, for the message about a first row that does not fit.
    pub(super) guess: Option<String>,
}

/// The names by which a label column is known, unless told.
const LABEL_NAMES: [&str; 4] = ["label", "class", "target", "y"];

/// The names by which an id column is known, unless told.
const ID_NAMES: [&str; 5] = ["id", "sample", "sample_id", "sampleid", "barcode"];

fn is_one_of(name: &str, known: &[&str]) -> bool {
    known.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Whether the first row holds names.
pub(super) fn is_header(first: &Cells, options: &ReadOptions) -> bool {
    let n = first.len();
    if let Some(expect) = &options.expect {
        let cells: HashSet<&str> = first.cells().collect();
        if expect.names.iter().all(|name| cells.contains(name.as_str())) {
            return true;
        }
        // As many cells as features: none of them is a label.
        if n == expect.names.len() && options.label.is_none() {
            return first.cells().any(is_word);
        }
    }
    let named = |wanted: &String| is_word(wanted) && first.cells().any(|cell| cell == wanted);
    if [&options.label, &options.id, &options.groups].into_iter().flatten().any(named) {
        return true;
    }
    let told = |wanted: &Option<String>| wanted.as_ref().and_then(|wanted| position(wanted, n));
    let aside = [told(&options.id), told(&options.groups)];
    let is_free = |j: usize| !aside.contains(&Some(j));
    let label = if options.unlabelled {
        None
    } else {
        let known = || (0..n).find(|&j| is_one_of(first.cell(j), &LABEL_NAMES));
        told(&options.label).or_else(known).or_else(|| (0..n).rev().find(|&j| is_free(j)))
    };
    // A lone 'y' may be a class (yes and no), the longer words are names.
    label.is_some_and(|j| is_one_of(first.cell(j), &LABEL_NAMES[..3]))
        || (0..n).any(|j| Some(j) != label && is_free(j) && is_word(first.cell(j)))
}

/// The column at a position counted from 0, or backwards from -1.
fn position(wanted: &str, n: usize) -> Option<usize> {
    let n = i64::try_from(n).ok()?;
    let at = wanted.parse::<i64>().ok()?;
    let column = if at < 0 { n.checked_add(at)? } else { at };
    (0..n).contains(&column).then_some(column as usize)
}

/// What each column of a file is, told from its first row and what was asked for.
pub(super) fn roles(file: &str, first: &Cells, header: bool, options: &ReadOptions) -> Result<Roles> {
    let names = if header { Some(header_names(file, first)?) } else { None };
    let columns = Columns { file, n: first.len(), names, options };
    match &options.expect {
        Some(expect) => columns.expected(expect),
        None => columns.in_training(),
    }
}

/// The names in the first row, all different; blank ones by position, but the first stays blank: so are row names written.
fn header_names(file: &str, first: &Cells) -> Result<Vec<String>> {
    let mut seen = HashMap::new();
    let mut names = Vec::with_capacity(first.len());
    for (j, cell) in first.cells().enumerate() {
        let column = if cell.is_empty() && j > 0 { format!("x{}", j + 1) } else { cell.to_string() };
        if let Some(before) = seen.insert(column.clone(), j + 1) {
            let message = format!("columns {before} and {} are both called {}; rename one", j + 1, quoted(&column));
            return Err(Error::data(first.place(file, j), message));
        }
        names.push(column);
    }
    Ok(names)
}

/// The columns of a file before they are anything.
struct Columns<'a> {
    file: &'a str,
    n: usize,
    /// Where the first row holds names; the name of a column of row names is blank.
    names: Option<Vec<String>>,
    options: &'a ReadOptions,
}

/// Columns that are neither features nor the label: ids, row names that are not the ids, and groups.
#[derive(Default)]
struct Aside {
    id: Option<usize>,
    row_names: Option<usize>,
    groups: Option<usize>,
    note: Option<String>,
}

impl Aside {
    fn columns(&self) -> impl Iterator<Item = usize> {
        [self.id, self.row_names, self.groups].into_iter().flatten()
    }

    fn holds(&self, j: usize) -> bool {
        self.columns().any(|column| column == j)
    }
}

impl Columns<'_> {
    /// The column a person named in an option, by name first, then by position.
    fn told(&self, option: &str, wanted: &str) -> Result<usize> {
        let named = |names: &Vec<String>| names.iter().position(|column| column == wanted);
        self.names.as_ref().and_then(named).or_else(|| position(wanted, self.n)).ok_or_else(|| {
            let known = self.names.as_ref().map_or(String::new(), |names| {
                let names: Vec<&String> = names.iter().filter(|name| !name.is_empty()).collect();
                format!("a name ({}) or ", list(&names, 8))
            });
            let (file, n) = (self.file, self.n);
            let wanted = quoted(wanted);
            Error::param(
                option,
                format!("{file} has no column {wanted}; give {known}a position, 0 to {} or -1 to -{n}", n - 1),
            )
        })
    }

    fn name(&self, j: usize) -> Option<&str> {
        self.names.as_ref().map(|names| names[j].as_str()).filter(|name| !name.is_empty())
    }

    fn name_of(&self, column: Option<usize>) -> Option<String> {
        column.and_then(|j| self.name(j)).map(str::to_string)
    }

    /// A column as an error shows it: its name, or its position.
    fn shown(&self, j: usize) -> String {
        self.name(j).map_or_else(|| j.to_string(), quoted)
    }

    fn known(&self, known: &[&str], is_free: impl Fn(usize) -> bool) -> Option<usize> {
        (0..self.n).find(|&j| is_free(j) && self.name(j).is_some_and(|name| is_one_of(name, known)))
    }

    /// The columns that `is_free` leaves and options or names set aside.
    fn aside(&self, label: Option<usize>, is_free: impl Fn(usize) -> bool) -> Result<Aside> {
        let groups = self.options.groups.as_ref().map(|wanted| self.told("groups", wanted)).transpose()?;
        let aside = self.ids(|j| is_free(j) && Some(j) != label && Some(j) != groups)?;
        self.check_other("id", aside.id, label, "the label")?;
        self.check_other("groups", groups, label, "the label")?;
        self.check_other("groups", groups, aside.id, "the id")?;
        Ok(Aside { groups, ..aside })
    }

    /// The column told to hold ids; else one called so; else the first if it has no name, as row names are written.
    fn ids(&self, is_free: impl Fn(usize) -> bool) -> Result<Aside> {
        let nameless = self.names.as_ref().is_some_and(|names| names[0].is_empty()) && is_free(0);
        let (id, mut note) = match &self.options.id {
            Some(wanted) => (Some(self.told("id", wanted)?), None),
            None => {
                let id = self.known(&ID_NAMES, is_free);
                (id, id.map(|j| format!("ids: column {}", self.shown(j))))
            }
        };
        let row_names = nameless && id.is_some_and(|id| id > 0);
        if row_names {
            note = Some("the first column has no name and is left out: row names are no features".into());
        } else if nameless && id.is_none() {
            note = Some("ids: the first column, which has no name".into());
        }
        Ok(Aside { id: id.or(nameless.then_some(0)), row_names: row_names.then_some(0), groups: None, note })
    }

    /// Two options, or an option and what a column is known to be, must not mean the same column.
    fn check_other(&self, option: &str, column: Option<usize>, other: Option<usize>, what: &str) -> Result<()> {
        match column.filter(|_| column == other) {
            Some(j) => {
                let message = format!("column {} of {} is {what}; choose another", self.shown(j), self.file);
                Err(Error::param(option, message))
            }
            None => Ok(()),
        }
    }

    fn in_training(self) -> Result<Roles> {
        let options = self.options;
        let ignored = options.ignore.iter().map(|wanted| self.told("ignore", wanted)).collect::<Result<Vec<_>>>()?;
        let told = options.label.as_ref().filter(|_| !options.unlabelled);
        let told = told.map(|wanted| self.told("label", wanted)).transpose()?;
        let aside = self.aside(told, |j| !ignored.contains(&j))?;
        let mut notes: Vec<String> = aside.note.iter().cloned().collect();
        let mut guess = None;
        let label = match told {
            _ if options.unlabelled => None,
            Some(j) => Some(j),
            None => self.guessed_label(&aside, &mut notes, &mut guess),
        };
        for (column, what) in [(label, "the label"), (aside.id, "the id"), (aside.groups, "the group")] {
            if let Some(j) = column.filter(|j| ignored.contains(j)) {
                let message = format!("column {} of {} is {what}; leave it in", self.shown(j), self.file);
                return Err(Error::param("ignore", message));
            }
        }
        let others: Vec<usize> = aside.columns().chain(label).chain(ignored).collect();
        let features: Vec<usize> = (0..self.n).filter(|j| !others.contains(j)).collect();
        if features.is_empty() {
            let message = "no column is left for features; a label and at least one feature are needed";
            return Err(Error::data(Place::file(self.file), message));
        }
        let (label_name, group_name) = (self.name_of(label), self.name_of(aside.groups));
        let names = match self.names {
            Some(names) => features.iter().map(|&j| names[j].clone()).collect(),
            None => numbered(1, features.len()),
        };
        let Aside { id, groups, .. } = aside;
        Ok(Roles { features, names, label, label_name, id, groups, group_name, notes, guess })
    }

    /// The first column called like a label, else the last that is free.
    fn guessed_label(&self, aside: &Aside, notes: &mut Vec<String>, guess: &mut Option<String>) -> Option<usize> {
        let is_free = |j: usize| !aside.holds(j);
        self.known(&LABEL_NAMES, is_free).or_else(|| {
            let last = (0..self.n).rev().find(|&j| is_free(j))?;
            if let Some(name) = self.name(last).map(quoted) {
                notes.push(format!("label: the last column, {name}"));
                *guess = Some(format!("the last column, {name}, was taken as the label: name another with --label"));
            }
            Some(last)
        })
    }

    fn expected(self, expect: &Expect) -> Result<Roles> {
        let Some(names) = &self.names else { return self.by_position(expect) };
        let options = self.options;
        let features: HashSet<&str> = expect.names.iter().map(String::as_str).collect();
        // A feature of the model is no label and no id, whatever it is called.
        let is_free = |j: usize| !features.contains(names[j].as_str());
        if (0..self.n).all(is_free) && expect.is_numbered() {
            let mut roles = self.by_position(expect)?;
            roles.notes.push("columns matched by position: the model's features have no names".to_string());
            return Ok(roles);
        }
        let label = match (&options.label, &expect.label_name) {
            _ if options.unlabelled => None,
            (Some(wanted), _) => Some(self.told("label", wanted)?),
            (None, Some(known)) => (0..self.n).find(|&j| is_free(j) && names[j] == *known),
            (None, None) => self.known(&LABEL_NAMES, is_free),
        };
        let aside = self.aside(label, |j| is_free(j) && !self.is_ignored(j))?;
        for (option, column) in [("label", label), ("id", aside.id), ("groups", aside.groups)] {
            if let Some(j) = column.filter(|&j| !is_free(j)) {
                let message =
                    format!("column {} of {} is a feature of the model; choose another", self.shown(j), self.file);
                return Err(Error::param(option, message));
            }
        }
        let others: Vec<usize> = aside.columns().chain(label).collect();
        let found = expect::by_name(self.file, names, &others, expect)?;
        Ok(Roles {
            features: found.columns,
            names: expect.names.clone(),
            label,
            label_name: self.name_of(label),
            id: aside.id,
            groups: aside.groups,
            group_name: self.name_of(aside.groups),
            notes: aside.note.into_iter().chain(found.note).collect(),
            guess: None,
        })
    }

    /// Whether a column is to be left out; for a prediction columns that are not there need not be.
    fn is_ignored(&self, j: usize) -> bool {
        self.options.ignore.iter().any(|wanted| self.told("ignore", wanted).is_ok_and(|column| column == j))
    }

    /// The model's features in the order of the columns, with or without a label among them.
    fn by_position(self, expect: &Expect) -> Result<Roles> {
        let options = self.options;
        let told = options.label.as_ref().map(|wanted| self.told("label", wanted)).transpose()?;
        let aside = self.aside(told, |j| !self.is_ignored(j))?;
        let is_free = |j: usize| !aside.holds(j);
        let (n, d) = ((0..self.n).filter(|&j| is_free(j)).count(), expect.names.len());
        let label = match told {
            None if n == d => None,
            _ if n != d + 1 || options.unlabelled => {
                let besides = if n < self.n { " besides ids and groups" } else { "" };
                let message = format!(
                    "found {}{besides}, the model expects {d} features (or {} with a label)",
                    columns(n),
                    d + 1
                );
                return Err(Error::data(Place::file(self.file), message));
            }
            Some(j) => Some(j),
            None => {
                let same = |j: &usize| {
                    is_free(*j) && self.name(*j).is_some_and(|name| Some(name) == expect.label_name.as_deref())
                };
                let known = || self.known(&LABEL_NAMES, is_free);
                (0..self.n).find(same).or_else(known).or_else(|| (0..self.n).rev().find(|&j| is_free(j)))
            }
        };
        // Rows without names for a model that has them: right only if the order is the same.
        let by_order = self.names.is_none() && !expect.is_numbered();
        let by_order = by_order.then(|| "columns matched by position: the file has no names".to_string());
        Ok(Roles {
            features: (0..self.n).filter(|&j| is_free(j) && Some(j) != label).collect(),
            names: expect.names.clone(),
            label,
            label_name: self.name_of(label),
            id: aside.id,
            groups: aside.groups,
            group_name: self.name_of(aside.groups),
            notes: aside.note.into_iter().chain(by_order).collect(),
            guess: None,
        })
    }
}
