//! The file of each view.

use std::collections::HashMap;

use super::label_file::LabelFile;
use crate::closest::closest;
use crate::data::read::{JoinedPart, ReadOptions};
use crate::data::sets::load;
use crate::data::table::words::{did_you_mean, list, quoted};
use crate::data::table::{Expect, Table, View, is_numbered};
use crate::error::{Error, Message, Result, message};
use crate::features::{Features, Sparse};

/// A view of the samples and the file that holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewSource {
    /// Its name in kernels: letters, digits, `_`, `-` and `.`, but not digits alone.
    pub name: String,
    /// A file or bundled set, as [`load`](crate::data::load) takes it.
    pub source: String,
}

/// A view to be read.
pub(super) struct Slot<'a> {
    pub(super) name: &'a str,
    /// The source; a view of the model may be absent.
    pub(super) source: Option<&'a str>,
    /// The model's names for its columns, and its expectations of the file.
    pub(super) expect: Option<(&'a [String], Expect)>,
}

/// The views of the model in its order; the given views must all be among them.
pub(super) fn slots_of_model<'a>(views: &'a [ViewSource], expect: &'a Expect) -> Result<Vec<Slot<'a>>> {
    if expect.views.is_empty() {
        return Err(Error::param("view", "the model was trained without views; give one file of rows"));
    }
    let known = || expect.views.iter().map(|view| view.name.as_str());
    if let Some(view) = views.iter().find(|view| known().all(|name| name != view.name)) {
        let hint = closest(&view.name, known()).map_or(String::new(), did_you_mean);
        let known: Vec<&str> = known().collect();
        let message = format!("the model has no view {}{hint} (its views: {})", quoted(&view.name), list(&known, 8));
        return Err(Error::param("view", message));
    }
    let mut in_order: Vec<&View> = expect.views.iter().collect();
    in_order.sort_by_key(|view| view.columns.start);
    let mut end = 0;
    let follows = |view: &&View| std::mem::replace(&mut end, view.columns.end) == view.columns.start;
    if !in_order.iter().all(follows) || end != expect.names.len() {
        let message = "the views of the model do not divide its columns among them; give one file of rows";
        return Err(Error::param("view", message));
    }
    let slot = |view: &'a View| {
        let names = &expect.names[view.columns.clone()];
        let bare = names.iter().map(|name| bare(&view.name, name).to_string()).collect::<Vec<_>>();
        // LIBSVM indices start where those of the training rows did.
        let index_base = u8::from(!(is_numbered(&bare) && bare.first().is_some_and(|name| name == "x0")));
        let given = views.iter().find(|given| given.name == view.name);
        let expected =
            Expect::new(bare, expect.label_name.clone(), Some(index_base)).with_classes(expect.classes.clone());
        let kinds = expect.kinds.get(view.columns.clone()).map_or(vec![], <[_]>::to_vec);
        let expected = expected.with_kinds(kinds);
        Slot { name: &view.name, source: given.map(|given| given.source.as_str()), expect: Some((names, expected)) }
    };
    Ok(in_order.into_iter().map(slot).collect())
}

/// The name of a column within its view.
pub(super) fn bare<'a>(view: &str, column: &'a str) -> &'a str {
    column.strip_prefix(view).and_then(|rest| rest.strip_prefix(':')).unwrap_or(column)
}

impl Slot<'_> {
    pub(super) fn read(&self, labels: Option<&LabelFile>, options: &ReadOptions) -> Result<ViewFile> {
        let expected = self.expect.as_ref();
        let mut file = ViewFile {
            name: self.name.to_string(),
            names: expected.map_or(vec![], |(names, _)| names.to_vec()),
            table: None,
        };
        let Some(source) = self.source else { return Ok(file) };
        let mut own = ReadOptions {
            expect: expected.map(|(_, expect)| expect.clone()),
            part: Some(JoinedPart::default()),
            ..options.clone()
        };
        if let Some(labels) = labels {
            let mut leave_out: Vec<String> = labels.label_name(options)?.into_iter().collect();
            let named = options.label.iter().chain(options.targets());
            let named: Vec<String> = named.filter(|name| !leave_out.contains(name)).cloned().collect();
            leave_out.extend(named);
            // A column named like a label is one, and would leak the classes to a model that gets them from elsewhere.
            for name in ["label", "class", "target"] {
                let spelled = [name.to_string(), name.to_uppercase(), name[..1].to_uppercase() + &name[1..]];
                leave_out.extend(spelled.into_iter().filter(|name| !leave_out.contains(name)).collect::<Vec<_>>());
            }
            let part = Some(JoinedPart { leave_out });
            own = ReadOptions { unlabelled: true, label: None, target: vec![], event: None, part, ..own };
        }
        let table = load(source, &own)?;
        if expected.is_none() {
            file.names = table.samples.names().iter().map(|column| format!("{}:{column}", self.name)).collect();
        }
        Ok(ViewFile { table: Some(table), ..file })
    }
}

/// A view that was read.
pub(super) struct ViewFile {
    pub(super) name: String,
    /// The names of its columns in the joined table.
    pub(super) names: Vec<String>,
    /// Its rows; `None` if a view of the model is not given.
    pub(super) table: Option<Table>,
}

/// Columns named by options must be in at least one file.
pub(super) fn check_told(files: &[ViewFile], labels: Option<&LabelFile>, options: &ReadOptions) -> Result<()> {
    let tables: Vec<&Table> = files.iter().filter_map(|file| file.table.as_ref()).collect();
    for (option, wanted) in options.told() {
        let in_views = tables.iter().any(|table| table.told.iter().any(|told| *told == (option, wanted.to_string())));
        let in_labels = labels.is_some_and(|labels| labels.has(option, wanted, options));
        // Columns left out of the training rows need not be among the new ones.
        if in_views || in_labels || (option == "ignore" && options.expect.is_some()) {
            continue;
        }
        let sources = tables.iter().map(|table| table.source.as_str()).chain(labels.map(|file| file.source.as_str()));
        let sources: Vec<&str> = sources.collect();
        let names = tables.iter().flat_map(|table| table.samples.names()).map(String::as_str);
        let advice = closest(wanted, names).map_or("; give the name of one".to_string(), did_you_mean);
        return Err(Error::param(option, format!("no column {} in {}{advice}", quoted(wanted), list(&sources, 8))));
    }
    Ok(())
}

impl ViewFile {
    /// The row of each sample.
    pub(super) fn rows_of(&self, ids: &[String]) -> Vec<Option<usize>> {
        let Some(own) = self.table.as_ref().and_then(|table| table.samples.ids()) else { return vec![] };
        let row: HashMap<&str, usize> = own.iter().enumerate().map(|(i, id)| (id.as_str(), i)).collect();
        ids.iter().map(|id| row.get(id.as_str()).copied()).collect()
    }

    pub(super) fn sparse(&self) -> Option<&Sparse> {
        match self.table.as_ref()?.samples.features() {
            Features::Sparse(sparse) => Some(sparse),
            Features::Dense(_) => None,
        }
    }

    /// The reader's notes, and for how many of the samples the view has a value.
    pub(super) fn notes(&self, rows: &[Option<usize>], n_samples: usize) -> Vec<Message> {
        let Some(table) = &self.table else {
            return vec![format!("{}: not given, missing for all samples", self.name).into()];
        };
        let is_there = |row: usize| match table.samples.features() {
            Features::Dense(matrix) => matrix.row(row).iter().any(|value| !value.is_nan()),
            Features::Sparse(_) => true,
        };
        let n = rows.iter().flatten().filter(|&&row| is_there(row)).count();
        let of_view = |note: &Message| message![format!("{}: ", self.name), note.clone()];
        let mut notes: Vec<Message> = table.notes.iter().map(of_view).collect();
        notes.push(format!("{}: {n} of {n_samples} samples", self.name).into());
        notes
    }
}
