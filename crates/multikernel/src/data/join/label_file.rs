//! The labels file of a join: the class of each sample.

use std::collections::{HashMap, HashSet};

use crate::data::read::{
    Cells, Columns, MissingLabel, MissingLabels, ReadOptions, Truth, is_name, labels_missing, read_cells,
};
use crate::data::table::words::{finite, has_words, is_missing, is_missing_label, list, quoted};
use crate::error::{Error, Place, Remedy, Result, message};

/// The samples that labels are wanted for.
pub(super) enum Wanted<'a> {
    /// Those with these ids; the first of them, and the file that has it.
    Ids(HashSet<&'a str>, &'a str),
    /// This many, in row order, in this file.
    Rows(usize, &'a str),
}

/// A labels file before its rows are interpreted: whether the first is a header depends on the samples.
pub(super) struct LabelFile {
    pub(super) source: String,
    rows: Vec<Cells>,
}

/// The contents of a labels file, one entry per row.
pub(super) struct LabelRows {
    pub(super) source: String,
    /// Present if samples have ids.
    pub(super) ids: Option<Vec<String>>,
    /// The line number of each row.
    pub(super) lines: Vec<u64>,
    pub(super) labels: Vec<String>,
    pub(super) label_name: Option<String>,
    /// The numbers to predict, or the time and the event, of each row; empty if classes are.
    pub(super) targets: Vec<Vec<f64>>,
    pub(super) groups: Option<Vec<String>>,
    pub(super) group_name: Option<String>,
    pub(super) notes: Vec<String>,
}

/// The roles of the columns.
struct Layout {
    id: Option<usize>,
    /// Whether the id column was given or known by name, rather than just being the first.
    is_known_id: bool,
    /// The label, or the first target.
    label: usize,
    /// What [`ReadOptions::target`] names, and the event last.
    targets: Vec<usize>,
    groups: Option<usize>,
}

impl LabelFile {
    pub(super) fn read(source: &str, options: &ReadOptions) -> Result<Self> {
        Ok(LabelFile { source: source.to_string(), rows: read_cells(source, options)? })
    }

    /// The name of the label column if the first row is a header: no feature of a view has this name.
    pub(super) fn label_name(&self, options: &ReadOptions) -> Result<Option<String>> {
        let columns = self.columns(options);
        let layout = self.layout(&columns, true)?;
        // A label that occurs again is not a name: the file has no header.
        let comes_again = |name: &str| self.rows.iter().skip(1).any(|row| row.cells().nth(layout.label) == Some(name));
        let name = columns.name(layout.label).filter(|name| options.header != Some(false) && !comes_again(name));
        Ok(name.map(str::to_string))
    }

    /// How many of the names occur in a cell of the file.
    pub(super) fn n_named(&self, names: &[String]) -> usize {
        let cells: HashSet<&str> = self.rows.iter().flat_map(Cells::cells).collect();
        names.iter().filter(|name| cells.contains(name.as_str())).count()
    }

    /// Whether the file has a column named by an option.
    pub(super) fn has(&self, option: &str, wanted: &str, options: &ReadOptions) -> bool {
        self.columns(options).told(option, wanted).is_ok()
    }

    /// The labels of the wanted samples: all rows, checked one by one.
    pub(super) fn rows(&self, wanted: &Wanted<'_>, options: &ReadOptions) -> Result<LabelRows> {
        let columns = self.columns(options);
        let mut layout = self.layout(&columns, matches!(wanted, Wanted::Ids(..)))?;
        match wanted {
            Wanted::Ids(_, other) if layout.id.is_none() => return Err(no_ids(&self.source, other)),
            Wanted::Rows(_, other) if layout.id.is_some() && layout.is_known_id => {
                return Err(no_ids(other, &self.source));
            }
            Wanted::Rows(..) => layout.id = None,
            Wanted::Ids(..) => (),
        }
        let mut notes = Vec::new();
        let header = options.header.unwrap_or_else(|| self.is_header(&columns, &layout, wanted, &mut notes));
        let used = [layout.id, Some(layout.label), layout.groups];
        let is_used = |j: usize| used.contains(&Some(j)) || layout.targets.contains(&j);
        let ignored: Vec<String> = (0..columns.n).filter(|&j| !is_used(j)).map(|j| columns.shown(j)).collect();
        if header && !ignored.is_empty() {
            notes.push(format!("columns ignored: {}", list(&ignored, 5)));
        }
        let name = |column: Option<usize>| column.filter(|_| header).and_then(|j| columns.name(j)).map(str::to_string);
        let (label_name, group_name) = (name(Some(layout.label)), name(layout.groups));
        let mut rows = LabelRows {
            source: self.source.clone(),
            ids: layout.id.map(|_| Vec::new()),
            lines: Vec::new(),
            labels: Vec::new(),
            label_name,
            targets: Vec::new(),
            groups: layout.groups.map(|_| Vec::new()),
            group_name,
            notes,
        };
        let mut seen = HashMap::new();
        let body = &self.rows[usize::from(header)..];
        if options.missing_labels == MissingLabels::Refuse {
            check_labels(&self.source, body, layout.label)?;
        }
        for cells in body {
            rows.add(cells, &layout, &mut seen)?;
            if !layout.targets.is_empty() {
                rows.add_targets(cells, &layout, options)?;
            }
        }
        if !has_words(&rows.labels) {
            // Among numbers `None` is a missing label.
            rows.labels.iter_mut().filter(|label| is_missing(label)).for_each(String::clear);
        }
        if rows.labels.is_empty() {
            let message = "the file holds a header but no rows; give at least one row";
            return Err(Error::data(Place::file(&self.source), message));
        }
        Ok(rows)
    }

    /// The columns as if the first row were a header.
    fn columns<'a>(&'a self, options: &'a ReadOptions) -> Columns<'a> {
        let names: Vec<String> = self.rows.first().map_or(vec![], |first| first.cells().map(str::to_string).collect());
        Columns { file: &self.source, n: names.len(), names: Some(names), options }
    }

    /// Sample ids are in the first column unless another is given or known by name. The label is the column given, else
    /// one known by name, else the only one left.
    fn layout(&self, columns: &Columns<'_>, with_ids: bool) -> Result<Layout> {
        let options = columns.options;
        let asked = |option: &str, wanted: Option<&String>| wanted.and_then(|wanted| columns.told(option, wanted).ok());
        let named = |option: &'static str, wanted: &String| columns.told(option, wanted);
        let targets = options.target.iter().map(|wanted| named("target", wanted));
        let targets: Vec<usize> =
            targets.chain(options.event.iter().map(|wanted| named("event", wanted))).collect::<Result<_>>()?;
        let label = options.label.as_ref().map(|wanted| named("label", wanted)).transpose()?;
        let told = targets.first().copied().or(label);
        let groups = asked("groups", options.groups.as_ref());
        let is_free = |j: usize| Some(j) != told && Some(j) != groups && !targets.contains(&j);
        let mut free: Vec<usize> = (0..columns.n).filter(|&j| is_free(j)).collect();
        let row_names = || free.first().copied().filter(|&j| j == 0 && columns.n > 1 && columns.has_row_names());
        let known = asked("id", options.id_column());
        let known =
            known.or_else(|| options.wants_ids().then(|| self.known_id(columns, is_free).or_else(row_names))?);
        let enough = free.len() + usize::from(told.is_some()) > 1;
        let id = known.or_else(|| free.first().copied().filter(|_| with_ids && enough));
        free.retain(|&j| Some(j) != id);
        let label = told.or_else(|| columns.known_label(|j| free.contains(&j)));
        let Some(label) = label.or_else(|| free.first().copied().filter(|_| free.len() == 1)) else {
            let shown: Vec<String> = free.iter().map(|&j| columns.shown(j)).collect();
            let message = match shown.len() {
                0 => "no column is left for the labels; give one beside ids and groups".into(),
                _ => message![
                    format!("one of the columns {} must be the label; name it with ", list(&shown, 8)),
                    Remedy::Label(None)
                ],
            };
            return Err(Error::data(Place::file(&self.source), message));
        };
        for (option, column, other, what) in [
            ("id", id, Some(label), "the label"),
            ("groups", groups, Some(label), "the label"),
            ("groups", groups, id, "the id"),
        ] {
            if let Some(j) = column.filter(|_| column == other) {
                let message = format!("column {} of {} is {what}; choose another", columns.shown(j), self.source);
                return Err(Error::param(option, message));
            }
        }
        Ok(Layout { id, is_known_id: known.is_some(), label, targets, groups })
    }

    /// The column with the name of an id; among names that merely resemble one, a column whose values are all distinct.
    fn known_id(&self, columns: &Columns<'_>, is_free: impl Fn(usize) -> bool) -> Option<usize> {
        columns.known_id(&is_free).or_else(|| {
            let all_differ = |j: usize| {
                let mut seen = HashSet::new();
                self.rows.iter().skip(1).all(|row| row.cells().nth(j).is_some_and(|cell| seen.insert(cell)))
            };
            columns.like_ids(None, is_free).into_iter().find(|&j| all_differ(j))
        })
    }

    /// By id, a header is a first row whose id is not a sample. By position, it is one that has a known name, or is one
    /// row too many.
    fn is_header(&self, columns: &Columns<'_>, layout: &Layout, wanted: &Wanted<'_>, notes: &mut Vec<String>) -> bool {
        let first = &self.rows[0];
        let told = columns.options.told().any(|(_, wanted)| columns.called(wanted).is_some());
        let named = told || columns.has_row_names() || first.cells().any(is_name);
        match (wanted, layout.id) {
            (Wanted::Ids(ids, _), Some(j)) if ids.contains(first.cell(j)) => false,
            (Wanted::Ids(..), Some(j)) => {
                if !named {
                    let id = quoted(first.cell(j));
                    notes.push(format!("line {} read as a header: {id} is no sample of a view", first.line()));
                }
                true
            }
            (Wanted::Rows(n, _), _) => named || self.rows.len() == n + 1,
            (Wanted::Ids(..), None) => named,
        }
    }
}

impl LabelRows {
    /// Adds a row; `seen` has the line of every id.
    fn add(&mut self, cells: &Cells, layout: &Layout, seen: &mut HashMap<String, u64>) -> Result<()> {
        let text = |j: usize, what: &str| {
            let cell = cells.cell(j);
            if is_missing(cell) {
                let message = format!("the {what} is missing; remove the row or fill it in first");
                return Err(Error::data(cells.place(&self.source, j), message));
            }
            Ok(cell.to_string())
        };
        let id = layout.id.map(|j| text(j, "id")).transpose()?;
        let label = cells.cell(layout.label).to_string();
        let group = layout.groups.map(|j| text(j, "group")).transpose()?;
        if let (Some(id), Some(j)) = (&id, layout.id)
            && let Some(line) = seen.insert(id.clone(), cells.line())
        {
            let message = format!("the id {} stands in line {line} already; keep one of the rows", quoted(id));
            return Err(Error::data(cells.place(&self.source, j), message));
        }
        self.lines.push(cells.line());
        self.labels.push(label);
        self.ids.iter_mut().zip(id).for_each(|(ids, id)| ids.push(id));
        self.groups.iter_mut().zip(group).for_each(|(groups, group)| groups.push(group));
        Ok(())
    }

    /// Adds what is to be predicted of the row last added; one that lacks some of it has no label, if such rows are left
    /// out.
    fn add_targets(&mut self, cells: &Cells, layout: &Layout, options: &ReadOptions) -> Result<()> {
        let mut targets = Vec::with_capacity(layout.targets.len());
        for &j in &layout.targets {
            let cell = cells.cell(j);
            let is_dropped = is_missing(cell) && options.missing_labels == MissingLabels::Drop;
            if is_dropped && let Some(label) = self.labels.last_mut() {
                label.clear();
            }
            let value = number(cell).or(is_dropped.then_some(f64::NAN)).ok_or_else(|| {
                let what = if is_missing(cell) { "missing".into() } else { format!("{}, not a number", quoted(cell)) };
                let place = cells.place(&self.source, j);
                Error::data(place, format!("what is to be predicted is {what}; correct it, or remove the row"))
            })?;
            targets.push(value);
        }
        if let (Some(&event), Some(&j)) = (targets.get(1), layout.targets.get(1))
            && options.event.is_some()
            && ![0.0, 1.0].contains(&event)
            && !event.is_nan()
        {
            let message = format!("the event is {event}; write 1 for an event, 0 for none");
            return Err(Error::data(cells.place(&self.source, j), message));
        }
        self.targets.push(targets);
        Ok(())
    }
}

/// The number in a cell, or what a word such as yes stands for.
fn number(cell: &str) -> Option<f64> {
    finite(cell).or_else(|| Truth::parse(cell).map(|(_, value)| value))
}

/// Refuses rows without a label.
fn check_labels(source: &str, rows: &[Cells], label: usize) -> Result<()> {
    let is_class = has_words(&rows.iter().map(|row| row.cell(label)).collect::<Vec<_>>());
    let is_missing = |cell: &str| if is_class { is_missing_label(cell) } else { is_missing(cell) };
    let missing = || rows.iter().filter(|row| is_missing(row.cell(label)));
    match missing().next() {
        None => Ok(()),
        Some(row) => {
            let text = row.cell(label).to_string();
            let labels = MissingLabel { place: row.place(source, label), text, n: missing().count() };
            Err(labels_missing(source, labels))
        }
    }
}

/// The error if only some of the files have ids.
pub(super) fn no_ids(without: &str, with: &str) -> Error {
    Error::data(
        Place::file(without),
        message![
            format!("no column of sample ids is known, but {with} has one; name it with "),
            Remedy::Id(None),
            ", or give all files without ids and with the same rows in the same order"
        ],
    )
}
