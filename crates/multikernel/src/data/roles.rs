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
    pub(super) id_name: Option<String>,
    /// The options that name a column of the file.
    pub(super) told: Vec<Told>,
    pub(super) notes: Vec<String>,
    /// What was taken for granted, for the message about a first row that does not fit.
    pub(super) guess: Option<String>,
}

/// An option and the column it asks for.
pub(super) type Told = (&'static str, String);

/// The names by which a label column is known, unless told.
const LABEL_NAMES: [&str; 4] = ["label", "class", "target", "y"];

/// Names of labels; where rows may be without, `y` is as likely a coordinate.
fn label_names(options: &ReadOptions) -> &'static [&'static str] {
    if options.label_optional { &LABEL_NAMES[..3] } else { &LABEL_NAMES }
}

/// The names by which an id column is known, unless told.
const ID_NAMES: [&str; 7] = ["id", "sample", "sample_id", "sampleid", "sample id", "barcode", "unnamed: 0"];

fn is_one_of(name: &str, known: &[&str]) -> bool {
    known.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Whether a cell is a name by which columns are known. A lone 'y' may be a class (yes and no).
pub(super) fn is_name(cell: &str) -> bool {
    is_one_of(cell, &ID_NAMES) || is_one_of(cell, &LABEL_NAMES[..3])
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
        let known = || (0..n).find(|&j| is_one_of(first.cell(j), label_names(options)));
        let last = || (0..n).rev().find(|&j| options.takes_last() && is_free(j));
        told(&options.label).or_else(known).or_else(last)
    };
    // A lone 'y' may be a class (yes and no), the longer words are names.
    heads_row_names(first)
        || label.is_some_and(|j| is_one_of(first.cell(j), &LABEL_NAMES[..3]))
        || (0..n).any(|j| Some(j) != label && is_free(j) && is_word(first.cell(j)))
}

/// Whether the first row is a blank and then words or whole numbers that are all different: names of columns after none for
/// the row names. Columns that were only counted are called so.
fn heads_row_names(first: &Cells) -> bool {
    let mut seen = HashSet::new();
    let is_name = |cell: &str| is_word(cell) || cell.bytes().all(|byte| byte.is_ascii_digit());
    first.len() > 1
        && first.cell(0).is_empty()
        && (1..first.len()).map(|j| first.cell(j)).all(|cell| !cell.is_empty() && is_name(cell) && seen.insert(cell))
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
    of_columns(file, first.len(), names, options)
}

/// What each of `n` columns is, told from their names, where they have any, and what was asked for.
pub(super) fn of_columns(file: &str, n: usize, names: Option<Vec<String>>, options: &ReadOptions) -> Result<Roles> {
    let columns = Columns { file, n, names, options };
    let told = options.told().filter(|(option, wanted)| columns.sought(option, wanted).is_ok());
    let told = told.map(|(option, wanted)| (option, wanted.to_string())).collect();
    let roles = match &options.expect {
        Some(expect) => columns.expected(expect),
        None => columns.in_training(),
    }?;
    Ok(Roles { told, ..roles })
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
pub(super) struct Columns<'a> {
    pub(super) file: &'a str,
    pub(super) n: usize,
    /// Where the first row holds names; the name of a column of row names is blank.
    pub(super) names: Option<Vec<String>>,
    pub(super) options: &'a ReadOptions,
}

/// Columns that are neither features nor the label.
struct Aside {
    id: Option<usize>,
    groups: Option<usize>,
    /// Row names that are not the ids, and the label that another file gives.
    left_out: Vec<usize>,
    notes: Vec<String>,
}

impl Aside {
    fn columns(&self) -> impl Iterator<Item = usize> {
        self.id.into_iter().chain(self.groups).chain(self.left_out.iter().copied())
    }

    fn holds(&self, j: usize) -> bool {
        self.columns().any(|column| column == j)
    }
}

impl Columns<'_> {
    /// The column a person named in an option, by name first, then by position.
    pub(super) fn told(&self, option: &str, wanted: &str) -> Result<usize> {
        self.called(wanted).or_else(|| position(wanted, self.n)).ok_or_else(|| {
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

    /// [`Columns::told`], but in one of several joined files that has names a position means ids only: the last column of
    /// every file is hardly the label.
    fn sought(&self, option: &str, wanted: &str) -> Result<usize> {
        let by_name = self.options.part.is_some() && self.names.is_some() && option != "id";
        if by_name && self.called(wanted).is_none() {
            let message = format!("{} has no column {}; give its name", self.file, quoted(wanted));
            return Err(Error::param(option, message));
        }
        self.told(option, wanted)
    }

    /// The column an option asks for. One of several joined files need not have it.
    fn asked(&self, option: &str, wanted: &Option<String>) -> Result<Option<usize>> {
        let Some(wanted) = wanted else { return Ok(None) };
        let column = self.sought(option, wanted);
        if self.options.part.is_some() { Ok(column.ok()) } else { column.map(Some) }
    }

    /// The columns to leave out. For a prediction, and in one of several joined files, they need not be there.
    fn ignored(&self) -> Result<Vec<usize>> {
        let columns = self.options.ignore.iter().map(|wanted| self.sought("ignore", wanted));
        if self.options.part.is_some() || self.options.expect.is_some() {
            Ok(columns.flatten().collect())
        } else {
            columns.collect()
        }
    }

    /// The column of exactly that name.
    pub(super) fn called(&self, name: &str) -> Option<usize> {
        self.names.as_ref().and_then(|names| names.iter().position(|column| column == name))
    }

    pub(super) fn name(&self, j: usize) -> Option<&str> {
        self.names.as_ref().map(|names| names[j].as_str()).filter(|name| !name.is_empty())
    }

    fn name_of(&self, column: Option<usize>) -> Option<String> {
        column.and_then(|j| self.name(j)).map(str::to_string)
    }

    /// A column as an error shows it: its name, or its position.
    pub(super) fn shown(&self, j: usize) -> String {
        self.name(j).map_or_else(|| j.to_string(), quoted)
    }

    fn known(&self, known: &[&str], is_free: impl Fn(usize) -> bool) -> Option<usize> {
        (0..self.n).find(|&j| self.name(j).is_some_and(|name| is_one_of(name, known)) && is_free(j))
    }

    /// The first of the free columns that is called like a label; `y` only where none has a longer name, beside which it is a coordinate.
    pub(super) fn known_label(&self, is_free: impl Fn(usize) -> bool) -> Option<usize> {
        self.known(&LABEL_NAMES[..3], &is_free).or_else(|| self.known(label_names(self.options), is_free))
    }

    /// The first of the free columns that is called like ids.
    pub(super) fn known_id(&self, is_free: impl Fn(usize) -> bool) -> Option<usize> {
        self.known(&ID_NAMES, is_free)
    }

    /// Whether the first column has no name, as row names are written.
    pub(super) fn has_row_names(&self) -> bool {
        self.names.as_ref().is_some_and(|names| names[0].is_empty())
    }

    /// The columns that `is_free` leaves and options or names set aside.
    fn aside(&self, label: Option<usize>, is_free: impl Fn(usize) -> bool) -> Result<Aside> {
        let groups = self.asked("groups", &self.options.groups)?;
        let elsewhere = self.options.part.iter().flat_map(|part| &part.leave_out);
        let left_out: Vec<usize> = elsewhere.filter_map(|name| self.called(name)).filter(|&j| is_free(j)).collect();
        let is_free = |j: usize| is_free(j) && Some(j) != label && Some(j) != groups && !left_out.contains(&j);
        let mut aside = self.ids(is_free)?;
        self.check_other("id", aside.id, label, "the label")?;
        self.check_other("groups", groups, label, "the label")?;
        self.check_other("groups", groups, aside.id, "the id")?;
        for &j in &left_out {
            aside.notes.push(format!("column {} left out: the labels come from another file", self.shown(j)));
        }
        aside.left_out.extend(left_out);
        Ok(Aside { groups, ..aside })
    }

    /// The column told to hold ids; else one called so; else the first if it has no name, as row names are written.
    fn ids(&self, is_free: impl Fn(usize) -> bool) -> Result<Aside> {
        let row_names = self.has_row_names() && is_free(0);
        let told = self.asked("id", &self.options.id)?;
        let mut aside = Aside { id: told, groups: None, left_out: vec![], notes: vec![] };
        if told.is_none() {
            aside.id = self.known_id(is_free);
            aside.notes.extend(aside.id.map(|j| format!("ids: column {}", self.shown(j))));
        }
        match aside.id {
            None if row_names => {
                aside.id = Some(0);
                aside.notes.push("ids: the first column, which has no name".into());
            }
            Some(id) if id > 0 && row_names => {
                aside.left_out.push(0);
                aside.notes.push("the first column has no name and is left out: row names are no features".into());
            }
            _ => (),
        }
        Ok(aside)
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
        let ignored = self.ignored()?;
        let told = if options.unlabelled { None } else { self.asked("label", &options.label)? };
        let mut aside = self.aside(told, |j| !ignored.contains(&j))?;
        let mut notes = std::mem::take(&mut aside.notes);
        let mut guess = options.part.as_ref().map(|_| self.hint());
        let label = match told {
            _ if options.unlabelled => None,
            Some(j) => Some(j),
            None => self.guessed_label(&aside, &mut notes, &mut guess),
        };
        // The label of one of several joined files may be left out, if another has it.
        let label = label.filter(|j| options.part.is_none() || !ignored.contains(j));
        self.check_needed(&ignored, label, &aside)?;
        let others: Vec<usize> = aside.columns().chain(label).chain(ignored).collect();
        let features: Vec<usize> = (0..self.n).filter(|j| !others.contains(j)).collect();
        if features.is_empty() {
            let message = "no column is left for features; a label and at least one feature are needed";
            return Err(Error::data(Place::file(self.file), message));
        }
        if let Some(j) = self.known_label(|j| options.part.is_some() && label.is_none() && !others.contains(&j)) {
            let column = self.shown(j);
            notes.push(format!("column {column} is a feature: leave it out with --ignore if it holds labels"));
        }
        let (label_name, group_name) = (self.name_of(label), self.name_of(aside.groups));
        let id_name = self.name_of(aside.id).filter(|name| !name.is_empty());
        let names = match self.names {
            Some(names) => features.iter().map(|&j| names[j].clone()).collect(),
            None => numbered(1, features.len()),
        };
        let Aside { id, groups, .. } = aside;
        Ok(Roles { features, names, label, label_name, id, groups, group_name, id_name, told: vec![], notes, guess })
    }

    /// Columns that are left out must not be needed.
    fn check_needed(&self, ignored: &[usize], label: Option<usize>, aside: &Aside) -> Result<()> {
        for (column, what) in [(label, "the label"), (aside.id, "the id"), (aside.groups, "the group")] {
            if let Some(j) = column.filter(|j| ignored.contains(j)) {
                let message = format!("column {} of {} is {what}; leave it in", self.shown(j), self.file);
                return Err(Error::param("ignore", message));
            }
        }
        Ok(())
    }

    /// What a column of a view that does not hold numbers may be, and how to say so.
    fn hint(&self) -> String {
        let unmet = self.options.told().find(|(option, wanted)| self.sought(option, wanted).is_err());
        match unmet {
            Some((option, wanted)) => format!("it has no column {}, which --{option} asks for", quoted(wanted)),
            None if self.options.unlabelled => "name it with --id if it holds sample ids".into(),
            None => "name it with --id if it holds sample ids, with --label if it is the label".into(),
        }
    }

    /// The first column called like a label, else the last that is free; a view need not have a label.
    fn guessed_label(&self, aside: &Aside, notes: &mut Vec<String>, guess: &mut Option<String>) -> Option<usize> {
        let is_free = |j: usize| !aside.holds(j);
        self.known_label(is_free).or_else(|| {
            let last = (0..self.n).rev().find(|&j| is_free(j) && self.options.takes_last())?;
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
        let told = self.asked("label", &options.label)?;
        let label = match (told, &expect.label_name) {
            _ if options.unlabelled => None,
            (Some(j), _) => Some(j),
            (None, Some(known)) => self.called(known).filter(|&j| is_free(j)),
            (None, None) => self.known_label(is_free),
        };
        let ignored = self.ignored()?;
        let aside = self.aside(label, |j| is_free(j) && !ignored.contains(&j))?;
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
            id_name: self.name_of(aside.id).filter(|name| !name.is_empty()),
            told: vec![],
            notes: aside.notes.into_iter().chain(found.note).collect(),
            guess: None,
        })
    }

    /// The model's features in the order of the columns, with or without a label among them.
    fn by_position(self, expect: &Expect) -> Result<Roles> {
        let options = self.options;
        let ignored = self.ignored()?;
        let told = self.asked("label", &options.label)?;
        let aside = self.aside(told, |j| !ignored.contains(&j))?;
        let is_free = |j: usize| !aside.holds(j);
        let (n, d) = ((0..self.n).filter(|&j| is_free(j)).count(), expect.names.len());
        let label = told.or_else(|| {
            let same = || expect.label_name.as_ref().and_then(|name| self.called(name)).filter(|&j| is_free(j));
            let last = || (0..self.n).rev().find(|&j| is_free(j) && options.part.is_none());
            // As many columns as features: none of them is a label.
            let sought = n != d && !options.unlabelled;
            if sought { same().or_else(|| self.known_label(is_free)).or_else(last) } else { None }
        });
        if n - usize::from(label.is_some()) != d {
            let besides = if n < self.n { " besides ids and groups" } else { "" };
            let or = if options.unlabelled { String::new() } else { format!(" (or {} with a label)", d + 1) };
            let message = format!("found {}{besides}, the model expects {d} features{or}", columns(n));
            return Err(Error::data(Place::file(self.file), message));
        }
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
            id_name: self.name_of(aside.id).filter(|name| !name.is_empty()),
            told: vec![],
            notes: aside.notes.into_iter().chain(by_order).collect(),
            guess: None,
        })
    }
}
