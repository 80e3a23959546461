//! The roles of the columns of delimited text.

use std::collections::HashSet;

use super::options::ReadOptions;
use crate::closest::closest;
use crate::data::table::words::{columns, list, position, quoted};
use crate::data::table::{Expect, Kind, Told, ToldKind, by_name, numbered};
use crate::error::{Error, Message, Place, Remedy, Result, message};

/// The roles of the columns.
pub(super) struct Roles {
    /// Column of each feature.
    pub(super) features: Vec<usize>,
    pub(super) names: Vec<String>,
    pub(super) label: Option<usize>,
    pub(super) label_name: Option<String>,
    /// A description of the label column if it has no name.
    pub(super) label_column: Option<String>,
    /// The id column: given, or beyond doubt.
    pub(super) id: Option<usize>,
    /// Columns named like ids, in the order in which they are tried: they are ids if their values are all distinct.
    pub(super) maybe_ids: Vec<usize>,
    /// Which columns may be identified as ids by their values alone.
    pub(super) by_value: ByValue,
    pub(super) groups: Option<usize>,
    pub(super) group_name: Option<String>,
    /// Columns whose kind is known, and the kind.
    pub(super) kinds: Vec<(usize, ToldKind)>,
    /// The names of all columns, if the file has names.
    pub(super) all_names: Option<Vec<String>>,
    /// Rows without names have more columns than features and label: values decide which are features.
    pub(super) is_undecided: bool,
    /// The options that matched a column of the file.
    pub(super) told: Vec<Told>,
    pub(super) notes: Vec<Message>,
    /// The assumption made, for the message about a first row that does not fit.
    pub(super) guess: Option<Message>,
}

/// Which columns may be identified as ids by their values alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByValue {
    None,
    /// A first column of texts.
    Texts,
    /// A first column of texts, or one that counts the rows.
    All,
}

impl Roles {
    /// The name of a column, if it has one.
    pub(super) fn name_of(&self, column: Option<usize>) -> Option<String> {
        let name = column.and_then(|j| self.all_names.as_ref()?.get(j));
        name.filter(|name| !name.is_empty()).cloned()
    }

    /// A column's name in messages.
    pub(super) fn shown(&self, j: usize) -> String {
        self.name_of(Some(j)).map_or_else(|| format!("{}", j + 1), |name| quoted(&name))
    }

    /// Refuses more columns than features if values cannot decide between them.
    pub(super) fn check_decided(&self, file: &str, options: &ReadOptions) -> Result<()> {
        match options.expect.as_ref().filter(|_| self.is_undecided) {
            Some(expect) => Err(miscounted(file, self.features.len(), "", expect.names.len(), options, "")),
            None => Ok(()),
        }
    }

    /// The same for rows seen one by one, where only names can identify ids.
    pub(super) fn by_name_alone(mut self) -> Roles {
        let maybe = std::mem::take(&mut self.maybe_ids);
        let kept: Vec<usize> = (0..self.features.len()).filter(|&k| !maybe.contains(&self.features[k])).collect();
        if !kept.is_empty() && kept.len() < self.features.len() {
            self.names = kept.iter().map(|&k| self.names[k].clone()).collect();
            self.features = kept.iter().map(|&k| self.features[k]).collect();
        }
        let ids: Vec<String> = maybe.iter().filter(|j| !self.features.contains(j)).map(|&j| self.shown(j)).collect();
        if !ids.is_empty() {
            let shown = list(&ids, 5);
            self.notes.push(message![
                format!("ids: column {shown}, by name; if it is a feature, say "),
                Remedy::Id(Some("none".into()))
            ]);
        }
        self
    }
}

/// The advice if a first row was mistaken for names.
pub(super) fn no_names() -> Message {
    message!["the first line was read as names; if the file has none, add ", Remedy::Header(false)]
}

/// The names that identify a label column by default.
pub(super) const LABEL_NAMES: [&str; 4] = ["label", "class", "target", "y"];

/// Names of labels; if labels are optional, `y` is as likely a coordinate.
pub(super) fn label_names(options: &ReadOptions) -> &'static [&'static str] {
    if options.label_optional { &LABEL_NAMES[..3] } else { &LABEL_NAMES }
}

/// The names that identify an id column by default.
const ID_NAMES: [&str; 7] = ["id", "sample", "sample_id", "sampleid", "sample id", "barcode", "unnamed: 0"];

/// Names of columns that are ids if their values are all distinct.
const LIKELY_IDS: [&str; 13] = [
    "index",
    "uid",
    "uuid",
    "guid",
    "rownames",
    "row_names",
    "rowname",
    "samplename",
    "sample_name",
    "sample name",
    "patient",
    "subject",
    "case",
];

/// Whether a name resembles that of an id: `patient_id`, `PassengerId`, `PatientID`.
fn is_like_id(name: &str) -> bool {
    let ends = |ending: &str| {
        let (rest, end) =
            name.len().checked_sub(ending.len()).and_then(|at| name.split_at_checked(at)).unwrap_or_default();
        !rest.is_empty() && end.eq_ignore_ascii_case(ending)
    };
    let camel = |ending: &str| {
        let before = name.strip_suffix(ending).and_then(|rest| rest.chars().last());
        before.is_some_and(|c| c.is_lowercase() || c.is_ascii_digit())
    };
    let spelled = ["_id", "-id", " id", ".id"].into_iter().any(ends);
    is_one_of(name, &ID_NAMES) || is_one_of(name, &LIKELY_IDS) || spelled || camel("Id") || camel("ID")
}

pub(super) fn is_one_of(name: &str, known: &[&str]) -> bool {
    known.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Whether a cell is a known column name. A lone 'y' may be a class (yes and no).
pub(in crate::data) fn is_name(cell: &str) -> bool {
    is_one_of(cell, &ID_NAMES) || is_one_of(cell, &LABEL_NAMES[..3])
}

/// The role of each of `n` columns, from their names, if any, and the options.
pub(super) fn of_columns(file: &str, n: usize, names: Option<Vec<String>>, options: &ReadOptions) -> Result<Roles> {
    let columns = Columns { file, n, names, options };
    let told = options.told().filter(|(option, wanted)| columns.sought(option, wanted).is_ok());
    let told = told.map(|(option, wanted)| (option, wanted.to_string())).collect();
    let mut kinds = columns.told_kinds()?;
    let roles = match &options.expect {
        Some(expect) => columns.expected(expect),
        None => columns.in_training(),
    }?;
    for (name, kind) in options.expect.iter().flat_map(|expect| expect.names.iter().zip(&expect.kinds)) {
        let place = roles.names.iter().position(|known| known == name);
        kinds.extend(place.and_then(|k| roles.features.get(k)).map(|&j| (j, kind.clone())));
    }
    Ok(Roles { told, kinds, ..roles })
}

/// The columns of a file before roles are assigned.
pub(in crate::data) struct Columns<'a> {
    pub(in crate::data) file: &'a str,
    pub(in crate::data) n: usize,
    /// Present if the first row holds names; the name of a column of row names is blank.
    pub(in crate::data) names: Option<Vec<String>>,
    pub(in crate::data) options: &'a ReadOptions,
}

/// Columns that are neither features nor the label.
struct Aside {
    id: Option<usize>,
    maybe_ids: Vec<usize>,
    groups: Option<usize>,
    /// Row names that are not the ids, and the label if another file gives it.
    left_out: Vec<usize>,
    notes: Vec<Message>,
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
    /// The column given in an option, by name first, then by position.
    pub(in crate::data) fn told(&self, option: &str, wanted: &str) -> Result<usize> {
        self.called(wanted).or_else(|| position(wanted, self.n)).ok_or_else(|| {
            let known = self.names.as_ref().map_or(String::new(), |names| {
                let names: Vec<&String> = names.iter().filter(|name| !name.is_empty()).collect();
                format!("a name ({}) or ", list(&names, 8))
            });
            let (file, n) = (self.file, self.n);
            let (near, wanted) = (self.near(wanted), quoted(wanted));
            Error::param(
                option,
                format!("{file} has no column {wanted}{near}; give {known}a position, 0 to {} or -1 to -{n}", n - 1),
            )
        })
    }

    /// [`Columns::told`], except that in one of several joined files with names, only ids may be given by position: the
    /// last column of every file is hardly the label.
    fn sought(&self, option: &str, wanted: &str) -> Result<usize> {
        let by_name = self.options.part.is_some() && self.names.is_some() && option != "id";
        if by_name && self.called(wanted).is_none() {
            let near = self.near(wanted);
            let message = format!("{} has no column {}{near}; give its name", self.file, quoted(wanted));
            return Err(Error::param(option, message));
        }
        self.told(option, wanted)
    }

    /// A "did you mean" hint if some name is close to the wanted one.
    fn near(&self, wanted: &str) -> String {
        let names = self.names.iter().flatten().map(String::as_str).filter(|name| !name.is_empty());
        closest(wanted, names).map_or(String::new(), |name| format!(" (did you mean {}?)", quoted(name)))
    }

    /// The column named by an option. One of several joined files need not have it.
    fn asked(&self, option: &str, wanted: Option<&String>) -> Result<Option<usize>> {
        let Some(wanted) = wanted else { return Ok(None) };
        let column = self.sought(option, wanted);
        if self.options.part.is_some() { Ok(column.ok()) } else { column.map(Some) }
    }

    /// The columns to leave out. In prediction, and in one of several joined files, they need not be present.
    fn ignored(&self) -> Result<Vec<usize>> {
        let columns = self.options.ignore.iter().map(|wanted| self.sought("ignore", wanted));
        if self.options.part.is_some() || self.options.expect.is_some() {
            Ok(columns.flatten().collect())
        } else {
            columns.collect()
        }
    }

    /// The columns whose kind an option says. In one of several joined files they need not be present.
    fn told_kinds(&self) -> Result<Vec<(usize, ToldKind)>> {
        // The kinds of new rows are those of the model.
        if self.options.expect.is_some() {
            return Ok(vec![]);
        }
        let found = |(wanted, kind): &(String, ToldKind)| Ok((self.sought("kinds", wanted)?, kind.clone()));
        let target = |wanted: &String| Ok((self.sought("target", wanted)?, Kind::Number.into()));
        let columns = self.options.kinds.iter().map(found).chain(self.options.target.iter().map(target));
        if self.options.part.is_some() { Ok(columns.flatten().collect()) } else { columns.collect() }
    }

    /// The column with exactly that name.
    pub(in crate::data) fn called(&self, name: &str) -> Option<usize> {
        self.names.as_ref().and_then(|names| names.iter().position(|column| column == name))
    }

    pub(in crate::data) fn name(&self, j: usize) -> Option<&str> {
        self.names.as_ref().map(|names| names[j].as_str()).filter(|name| !name.is_empty())
    }

    fn name_of(&self, column: Option<usize>) -> Option<String> {
        column.and_then(|j| self.name(j)).map(str::to_string)
    }

    /// A column as errors show it: its name, or its position.
    pub(in crate::data) fn shown(&self, j: usize) -> String {
        self.name(j).map_or_else(|| j.to_string(), quoted)
    }

    fn known(&self, known: &[&str], is_free: impl Fn(usize) -> bool) -> Option<usize> {
        (0..self.n).find(|&j| self.name(j).is_some_and(|name| is_one_of(name, known)) && is_free(j))
    }

    /// The first free column named like a label; `y` only if none has a longer name, next to which it is a coordinate.
    pub(in crate::data) fn known_label(&self, is_free: impl Fn(usize) -> bool) -> Option<usize> {
        self.known(&LABEL_NAMES[..3], &is_free).or_else(|| self.known(label_names(self.options), is_free))
    }

    /// The first free column named like an id.
    pub(in crate::data) fn known_id(&self, is_free: impl Fn(usize) -> bool) -> Option<usize> {
        self.known(&ID_NAMES, is_free)
    }

    /// Whether the first column has no name, the convention for row names.
    pub(in crate::data) fn has_row_names(&self) -> bool {
        self.names.as_ref().is_some_and(|names| names[0].is_empty())
    }

    /// The columns that `is_free` allows and that options or names set aside.
    fn aside(&self, label: Option<usize>, is_free: impl Fn(usize) -> bool) -> Result<Aside> {
        let groups = self.asked("groups", self.options.groups.as_ref())?;
        let elsewhere = self.options.part.iter().flat_map(|part| &part.leave_out);
        let left_out: Vec<usize> = elsewhere.filter_map(|name| self.called(name)).filter(|&j| is_free(j)).collect();
        let is_free = |j: usize| is_free(j) && Some(j) != label && Some(j) != groups && !left_out.contains(&j);
        let mut aside = self.ids(is_free)?;
        self.check_other("id", aside.id, label, "the label")?;
        self.check_other("groups", groups, label, "the label")?;
        self.check_other("groups", groups, aside.id, "the id")?;
        for &j in &left_out {
            aside.notes.push(format!("column {} left out: the labels come from another file", self.shown(j)).into());
        }
        aside.left_out.extend(left_out);
        Ok(Aside { groups, ..aside })
    }

    /// The column given as ids; else those named like ids, which are ids if their values are distinct; else the first
    /// if it has no name, the convention for row names.
    fn ids(&self, is_free: impl Fn(usize) -> bool) -> Result<Aside> {
        // What is to be predicted is no id, whatever it is called.
        let targets: Vec<usize> =
            self.options.targets().filter_map(|wanted| self.sought("target", wanted).ok()).collect();
        let is_free = |j: usize| is_free(j) && !targets.contains(&j);
        let row_names = self.has_row_names() && is_free(0);
        let told = self.asked("id", self.options.id_column())?;
        let mut aside = Aside { id: told, maybe_ids: vec![], groups: None, left_out: vec![], notes: vec![] };
        if told.is_none() && self.options.wants_ids() {
            let known = self.known_id(is_free);
            if self.options.part.is_some() {
                // Files are joined by the column named as an id; repeated ids are then an error.
                aside.id = known;
                aside.notes.extend(aside.id.map(|j| format!("ids: column {}", self.shown(j)).into()));
            }
            if aside.id.is_none() {
                aside.maybe_ids = self.like_ids(known, is_free);
            }
        }
        let first_left_out = "the first column has no name and is left out: row names are not used as features";
        match aside.id {
            None if row_names && !self.options.wants_ids() => {
                aside.left_out.push(0);
                aside.notes.push(first_left_out.into());
            }
            None if row_names && aside.maybe_ids.is_empty() => {
                aside.id = Some(0);
                let transpose = self.options.transpose;
                let note = if transpose { "ids: the first line" } else { "ids: the first column, which has no name" };
                aside.notes.push(note.into());
            }
            None if row_names => {
                aside.maybe_ids.push(0);
                aside.left_out.push(0);
            }
            Some(id) if id > 0 && row_names => {
                aside.left_out.push(0);
                aside.notes.push(first_left_out.into());
            }
            _ => (),
        }
        Ok(aside)
    }

    /// The columns named like ids, the best name first.
    pub(in crate::data) fn like_ids(&self, known: Option<usize>, is_free: impl Fn(usize) -> bool) -> Vec<usize> {
        let is_like = |j: usize| Some(j) != known && self.name(j).is_some_and(is_like_id) && is_free(j);
        known.into_iter().chain((0..self.n).filter(|&j| is_like(j))).collect()
    }

    /// Two options, or an option and a column's known role, must not refer to the same column.
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
        let told = if options.has_no_label() { None } else { self.asked("label", options.label.as_ref())? };
        let mut aside = self.aside(told, |j| !ignored.contains(&j))?;
        let mut notes = std::mem::take(&mut aside.notes);
        let mut guess = options.part.as_ref().map(|_| self.hint());
        let label = match told {
            _ if options.has_no_label() => None,
            Some(j) => Some(j),
            None => self.guessed_label(&aside, &ignored, &mut notes, &mut guess),
        };
        aside.maybe_ids.retain(|&j| Some(j) != label);
        // The label of one of several joined files may be left out, if another has it.
        let label = label.filter(|j| options.part.is_none() || !ignored.contains(j));
        self.check_needed(&ignored, label, &aside)?;
        let others: HashSet<usize> = aside.columns().chain(label).chain(ignored).collect();
        let features: Vec<usize> = (0..self.n).filter(|j| !others.contains(j)).collect();
        if features.is_empty() {
            let message = "no column is left for features; a label and at least one feature are needed";
            return Err(Error::data(Place::file(self.file), message));
        }
        if let Some(j) = self.known_label(|j| options.part.is_some() && label.is_none() && !others.contains(&j)) {
            let column = self.shown(j);
            notes.push(message![
                format!("column {column} is a feature: leave it out with "),
                Remedy::Ignore(vec![]),
                " if it holds labels"
            ]);
        }
        let names = match &self.names {
            Some(names) => features.iter().map(|&j| names[j].clone()).collect(),
            None => numbered(1, features.len()),
        };
        let by_value = match () {
            () if aside.id.is_some() || !options.wants_ids() => ByValue::None,
            () if options.part.is_some() => ByValue::Texts,
            () => ByValue::All,
        };
        Ok(Roles { notes, guess, by_value, ..self.into_roles(features, names, label, aside) })
    }

    fn into_roles(self, features: Vec<usize>, names: Vec<String>, label: Option<usize>, aside: Aside) -> Roles {
        let Aside { id, maybe_ids, groups, notes, .. } = aside;
        Roles {
            features,
            names,
            label,
            label_name: self.name_of(label),
            label_column: label.filter(|_| self.names.is_none()).map(|j| self.place_of(j)),
            id,
            maybe_ids,
            by_value: ByValue::None,
            groups,
            group_name: self.name_of(groups),
            kinds: vec![],
            all_names: self.names,
            is_undecided: false,
            told: vec![],
            notes,
            guess: None,
        }
    }

    /// The description of an unnamed column in results.
    fn place_of(&self, j: usize) -> String {
        place_of(j, self.n)
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

    /// What a non-numeric column of a view may be, and how to declare it.
    fn hint(&self) -> Message {
        let unmet = self.options.told().find(|(option, wanted)| self.sought(option, wanted).is_err());
        match unmet {
            Some((option, wanted)) => {
                message![format!("it has no column {}, which ", quoted(wanted)), told_by(option), " asks for"]
            }
            None if self.options.has_no_label() => {
                message!["name it with ", Remedy::Id(None), " if it holds sample ids"]
            }
            None => message![
                "name it with ",
                Remedy::Id(None),
                " if it holds sample ids, with ",
                Remedy::Label(None),
                " if it is the label"
            ],
        }
    }

    /// The first column named like a label, else the last free one; a view need not have a label.
    fn guessed_label(
        &self,
        aside: &Aside,
        ignored: &[usize],
        notes: &mut Vec<Message>,
        guess: &mut Option<Message>,
    ) -> Option<usize> {
        let is_free = |j: usize| !aside.holds(j);
        // A label is hardly ever named like an id, but if all columns are, one must be.
        let is_last = |j: &usize| is_free(*j) && !ignored.contains(j) && self.options.takes_last();
        let likely = |j: &usize| is_last(j) && !aside.maybe_ids.contains(j);
        let last = (0..self.n).rev().find(likely).or_else(|| (0..self.n).rev().find(is_last));
        if let Some(known) = self.known_label(is_free) {
            // Nobody names a feature `label`; a class may be a class of travel.
            let is_plain = self.name(known).is_some_and(|name| name.eq_ignore_ascii_case("label"));
            if let Some(last) = last.filter(|&last| last > known && !is_plain) {
                let (known, name) = (self.shown(known), self.name(last).unwrap_or_default());
                *guess = Some(message![
                    format!("the column {known} was taken as the label, by its name: name another with "),
                    Remedy::Label(None)
                ]);
                let last = self.shown(last);
                notes.push(message![
                    format!("label: the column {known}, by its name; the last column is {last}: name it with "),
                    Remedy::Label(Some(name.into())),
                    " if that is meant"
                ]);
            }
            return Some(known);
        }
        let last = last?;
        match self.name(last).map(quoted) {
            Some(name) => {
                let last = if self.options.transpose { "the last line" } else { "the last column" };
                notes.push(message![format!("label: {last}, {name}; name another with "), Remedy::Label(None)]);
                *guess = Some(message![
                    format!("{last}, {name}, was taken as the label: name another with "),
                    Remedy::Label(None)
                ]);
            }
            None => {
                let column = self.place_of(last);
                notes.push(message![
                    format!("label: {column}; the file has no names: give another by its position, "),
                    Remedy::Label(Some("0".into())),
                    format!(" to {}", self.n - 1)
                ]);
                *guess =
                    Some(message![format!("{column} was taken as the label: name another with "), Remedy::Label(None)]);
            }
        }
        Some(last)
    }

    fn expected(self, expect: &Expect) -> Result<Roles> {
        let Some(names) = &self.names else { return self.by_position(expect) };
        let options = self.options;
        let features: HashSet<&str> = expect.names.iter().map(String::as_str).collect();
        // A feature of the model is neither label nor id, whatever its name.
        let is_free = |j: usize| !features.contains(names[j].as_str());
        if (0..self.n).all(is_free) && expect.is_numbered() {
            let mut roles = self.by_position(expect)?;
            roles.notes.push("columns matched by position: the model's features have no names".into());
            return Ok(roles);
        }
        let told = self.asked("label", options.label.as_ref())?;
        let label = match (told, &expect.label_name) {
            _ if options.has_no_label() => None,
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
        let mut aside = aside;
        aside.maybe_ids.retain(|&j| Some(j) != label);
        let mut others: Vec<usize> = aside.columns().chain(label).chain(aside.maybe_ids.iter().copied()).collect();
        let is_other = |j: usize| !is_free(j) || others.contains(&j) || ignored.contains(&j);
        let by_value = aside.id.is_none() && options.wants_ids() && aside.maybe_ids.is_empty() && !is_other(0);
        others.extend(Some(0).filter(|_| by_value));
        let found = by_name(self.file, names, &others, expect)?;
        aside.notes.extend(found.note.map(Message::from));
        let by_value = if by_value { ByValue::Texts } else { ByValue::None };
        Ok(Roles { by_value, ..self.into_roles(found.columns, expect.names.clone(), label, aside) })
    }

    /// The model's features in column order, with or without a label among them.
    fn by_position(self, expect: &Expect) -> Result<Roles> {
        let options = self.options;
        let ignored = self.ignored()?;
        let told = self.asked("label", options.label.as_ref())?;
        let mut aside = self.aside(told, |j| !ignored.contains(&j))?;
        // Here names decide: a column that is not one of the features would shift all others.
        let mut like_ids = std::mem::take(&mut aside.maybe_ids).into_iter();
        if let Some(id) = like_ids.next() {
            aside.id = Some(id);
            aside.left_out.extend(like_ids);
            aside.notes.push(format!("ids: column {}", self.shown(id)).into());
        }
        let is_free = |j: usize| !aside.holds(j) && !ignored.contains(&j);
        let (n, d) = ((0..self.n).filter(|&j| is_free(j)).count(), expect.names.len());
        let label = told.or_else(|| {
            let same = || expect.label_name.as_ref().and_then(|name| self.called(name)).filter(|&j| is_free(j));
            // As many columns as features: none of them is a label.
            if n != d && !options.has_no_label() { same().or_else(|| self.known_label(is_free)) } else { None }
        });
        let features: Vec<usize> = (0..self.n).filter(|&j| is_free(j) && Some(j) != label).collect();
        // One extra column may be ids or the label, two may be both.
        let most = d
            + usize::from(aside.id.is_none() && options.wants_ids())
            + usize::from(label.is_none() && !options.has_no_label() && options.part.is_none());
        if !(d..=most).contains(&features.len()) {
            let besides = if n < self.n { " besides ids, groups and those left out" } else { "" };
            return Err(miscounted(self.file, n, besides, d, options, ""));
        }
        // Rows without names for a model that has them: correct only if the order is the same.
        if self.names.is_none() && !expect.is_numbered() {
            aside.notes.push("columns matched by position: the file has no names".into());
        }
        let is_undecided = features.len() > d;
        let names = if is_undecided { numbered(1, features.len()) } else { expect.names.clone() };
        Ok(Roles { is_undecided, ..self.into_roles(features, names, label, aside) })
    }
}

/// The remedy for the option of this name.
fn told_by(option: &str) -> Remedy {
    match option {
        "label" => Remedy::Label(None),
        "id" => Remedy::Id(None),
        "groups" => Remedy::Groups(None),
        "kinds" => Remedy::Kinds(None),
        _ => Remedy::Ignore(vec![]),
    }
}

/// An unnamed column, counted from 1, and whether it is the first or last of `n`.
pub(super) fn place_of(j: usize, n: usize) -> String {
    let end = match j {
        _ if j + 1 == n => " (the last)",
        0 => " (the first)",
        _ => "",
    };
    format!("column {}{end}", j + 1)
}

/// The error for unnamed rows with a different number of columns than features; `why` they cannot be told apart.
fn miscounted(file: &str, n: usize, besides: &str, d: usize, options: &ReadOptions, why: &str) -> Error {
    let or = if options.has_no_label() { String::new() } else { format!(" (or {} with a label)", d + 1) };
    let advice = if n > d {
        message![
            "say what the others are with ",
            Remedy::Label(None),
            ", ",
            Remedy::Id(None),
            " or ",
            Remedy::Ignore(vec![]),
            " and their positions, counted from 0"
        ]
    } else {
        "give a table with all of them".into()
    };
    let found = format!("found {}{besides}, the model expects {d} features{or}{why}; ", columns(n));
    Error::data(Place::file(file), message![found, advice])
}

/// What the first or last of too many columns may be, judging by its values.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct End {
    /// Only classes of the model, and at least one.
    pub(super) is_classes: bool,
    /// Not all numbers, so not a feature.
    pub(super) is_text: bool,
    /// Distinct values, texts or whole numbers.
    pub(super) is_maybe_id: bool,
    /// Certainly ids, unless it is the label: distinct texts, or a count of the rows.
    pub(super) is_id: bool,
}

/// Which of too many unnamed columns are label and id, as positions among `columns`: the label is at one end and holds
/// only classes, ids come first. Ambiguous cases are refused.
pub(in crate::data) fn decide(
    file: &str,
    columns: &[usize],
    ends: [End; 2],
    options: &ReadOptions,
    has_label: bool,
) -> Result<(Option<usize>, Option<usize>)> {
    let d = options.expect.as_ref().map_or(0, |expect| expect.names.len());
    let (n, last) = (columns.len(), columns.len() - 1);
    let [first, end] = ends;
    let refused = |why: &str| Err(miscounted(file, n, "", d, options, why));
    let may_label = !has_label && !options.has_no_label() && options.part.is_none();
    if n == d + 2 {
        let fits = first.is_id && end.is_classes && may_label;
        return if fits { Ok((Some(last), Some(0))) } else { refused("") };
    }
    match (first.is_classes && may_label, end.is_classes && may_label) {
        (true, true) if first.is_text != end.is_text => Ok((Some(if first.is_text { 0 } else { last }), None)),
        (true, true) => {
            let (first, last) = (columns[0], columns[last]);
            refused(&format!(", and both column {first} and column {last} (from 0) hold only classes of the model"))
        }
        (false, true) if first.is_id || (first.is_maybe_id && !end.is_text) => {
            let (first, last) = (columns[0], columns[last]);
            refused(&format!(", and column {first} may be ids as well as column {last} (from 0) may be the label"))
        }
        (false, true) => Ok((Some(last), None)),
        (true, false) => Ok((Some(0), None)),
        (false, false) if first.is_id && options.wants_ids() => Ok((None, Some(0))),
        (false, false) if may_label => {
            refused(", and neither the first nor the last column holds only classes of the model")
        }
        (false, false) => refused(""),
    }
}
