//! The samples of the joined table and their metadata.

use std::collections::HashSet;

use super::checks::{and_more, check_order, check_samples, check_turned};
use super::label_file::{LabelFile, LabelRows, Wanted, no_ids};
use super::view_file::ViewFile;
use crate::data::read::{MissingLabels, ReadOptions, check_classes, check_memory, check_sparse_memory, out_of_memory};
use crate::data::table::words::{is_missing_label, quoted};
use crate::data::table::{Coding, Numbers, Samples, Table, View};
use crate::error::{Error, Message, Place, Remedy, Result, message};
use crate::features::{Features, Sparse};
use crate::linalg::Matrix;

/// The row number, counted from 1, of each sample without an id in every file.
fn row_numbers(rows: &[Vec<Option<usize>>]) -> Option<Vec<usize>> {
    let rows = rows.iter().find(|rows| !rows.is_empty())?;
    rows.iter().map(|row| row.map(|row| row + 1)).collect()
}

/// What the columns of all files hold; those of a view that is not given, what the model says.
fn codings(files: &[ViewFile], options: &ReadOptions) -> Vec<Coding> {
    let mut codings: Vec<Coding> = vec![];
    for file in files {
        let own = file.table.as_ref().map_or(&[][..], |table| table.samples.codings());
        for k in 0..file.names.len() {
            let expected = || options.expect.as_ref()?.kinds.get(codings.len()).cloned();
            let from_model = || Coding { told: expected().unwrap_or_default(), ..Coding::default() };
            let coding = own.get(k).cloned().unwrap_or_else(from_model);
            codings.push(coding);
        }
    }
    codings
}

/// What a labels file has to be predicted, under the names it was asked for by.
pub(super) fn numbers_of(targets: Vec<Vec<f64>>, options: &ReadOptions) -> Result<Option<Numbers>> {
    if targets.is_empty() {
        return Ok(None);
    }
    let names: Vec<String> = options.targets().cloned().collect();
    let values = Matrix::from_vec(targets.len(), names.len(), targets.concat())?;
    Numbers::new(names, values).map(Some)
}

/// The samples of the table, their rows in the files, and their metadata.
pub(super) struct Join {
    pub(super) ids: Option<Vec<String>>,
    pub(super) n_samples: usize,
    /// Per file, the row of each sample; empty if the view is not given.
    pub(super) rows: Vec<Vec<Option<usize>>>,
    pub(super) labels: Option<Vec<String>>,
    pub(super) label_name: Option<String>,
    /// The file with the labels, if it is one of its own.
    label_source: Option<String>,
    /// What a labels file has to be predicted of each sample; empty if classes are.
    pub(super) targets: Vec<Vec<f64>>,
    pub(super) groups: Option<Vec<String>>,
    pub(super) group_name: Option<String>,
    pub(super) notes: Vec<Message>,
}

impl Join {
    pub(super) fn new(files: &[ViewFile], labels: Option<&LabelFile>, options: &ReadOptions) -> Result<Join> {
        let tables: Vec<&Table> = files.iter().filter_map(|file| file.table.as_ref()).collect();
        let with = tables.iter().find(|table| table.samples.ids().is_some());
        let without = tables.iter().find(|table| table.samples.ids().is_none());
        if let Some(labels) = labels.filter(|_| !options.transpose) {
            check_turned(&tables, labels)?;
        }
        let mut join = match (with, without) {
            (Some(with), Some(without)) => return Err(no_ids(&without.source, &with.source)),
            (Some(first), None) => Join::by_id(files, first, labels, options)?,
            (None, first) => Join::by_position(files, first, labels, options)?,
        };
        if labels.is_none() && !options.has_no_label() {
            join.labels_of_views(files, options)?;
        }
        if options.missing_labels == MissingLabels::Drop {
            join.drop_unlabelled();
        }
        if join.groups.is_none() {
            join.groups_of_views(files)?;
        }
        Ok(join)
    }

    /// Leaves out samples whose label is missing, unless all are.
    pub(super) fn drop_unlabelled(&mut self) {
        let Some(labels) = &self.labels else { return };
        let kept: Vec<usize> = (0..self.n_samples).filter(|&i| !is_missing_label(&labels[i])).collect();
        if kept.len() == self.n_samples || kept.is_empty() {
            return;
        }
        self.notes.push(
            format!("samples without a label left out: {} of {}", self.n_samples - kept.len(), self.n_samples).into(),
        );
        let select = |texts: &mut Option<Vec<String>>| {
            *texts = texts.take().map(|texts| kept.iter().map(|&i| texts[i].clone()).collect());
        };
        [&mut self.ids, &mut self.labels, &mut self.groups].into_iter().for_each(select);
        self.select_targets(&kept);
        for rows in self.rows.iter_mut().filter(|rows| !rows.is_empty()) {
            *rows = kept.iter().map(|&i| rows[i]).collect();
        }
        self.n_samples = kept.len();
    }

    fn select_targets(&mut self, kept: &[usize]) {
        if !self.targets.is_empty() {
            self.targets = kept.iter().map(|&i| std::mem::take(&mut self.targets[i])).collect();
        }
    }

    /// Samples by id: those of the labels file, else those of all views.
    pub(super) fn by_id(
        files: &[ViewFile],
        first: &Table,
        labels: Option<&LabelFile>,
        options: &ReadOptions,
    ) -> Result<Join> {
        let mut seen = HashSet::new();
        let all = files.iter().filter_map(|file| file.table.as_ref()?.samples.ids()).flatten().map(String::as_str);
        let in_views: Vec<&str> = all.filter(|id| seen.insert(*id)).collect();
        let mut given = labels.map(|labels| labels.rows(&Wanted::Ids(seen, &first.source), options)).transpose()?;
        let mut notes = Vec::new();
        if let Some(rows) = &given {
            notes.extend(check_samples(rows, &in_views, &first.source)?.map(Message::from));
        }
        let ids = given.as_mut().and_then(|rows| rows.ids.take());
        let ids = ids.unwrap_or_else(|| in_views.into_iter().map(str::to_string).collect());
        let rows: Vec<Vec<Option<usize>>> = files.iter().map(|file| file.rows_of(&ids)).collect();
        for (file, rows) in files.iter().zip(&rows) {
            let Some(table) = file.table.as_ref().filter(|_| rows.iter().all(Option::is_none)) else { continue };
            let own = table.samples.ids().and_then(|ids| ids.first()).map_or(String::new(), |id| quoted(id));
            let wanted = ids.first().map_or(String::new(), |id| quoted(id));
            let message = format!(
                "none of its samples is wanted: its first id is {own}, the first of the others {wanted}; check that all \
                 files write ids alike and have one row per sample"
            );
            return Err(Error::data(Place::file(&table.source), message));
        }
        let n_views = |i: usize| rows.iter().filter(|rows| rows.get(i).is_some_and(Option::is_some)).count();
        if files.iter().filter(|file| file.table.is_some()).count() > 1 && (0..ids.len()).all(|i| n_views(i) < 2) {
            notes.push("no sample is in two views: check that all files write ids alike".into());
        }
        Ok(Join::of(ids.len(), Some(ids), rows, given, notes))
    }

    /// Samples by row order; all files must have the same number of rows.
    pub(super) fn by_position(
        files: &[ViewFile],
        first: Option<&&Table>,
        labels: Option<&LabelFile>,
        options: &ReadOptions,
    ) -> Result<Join> {
        let n_samples = first.map_or(0, |first| first.samples.n_samples());
        let source = first.map_or("", |first| &first.source);
        let given = labels.map(|labels| labels.rows(&Wanted::Rows(n_samples, source), options)).transpose()?;
        let tables = files.iter().filter_map(|file| file.table.as_ref());
        let counts = tables.map(|table| (&table.source, table.samples.n_samples()));
        for (other, n) in counts.chain(given.iter().map(|rows| (&rows.source, rows.labels.len()))) {
            if n != n_samples {
                let message = message![
                    format!(
                        "{n} rows, but {source} has {n_samples}; files without sample ids are joined row by row: give all \
                         the same rows in the same order, or name a column of ids with "
                    ),
                    Remedy::Id(None)
                ];
                return Err(Error::data(Place::file(other), message));
            }
        }
        let tables: Vec<&Table> = files.iter().filter_map(|file| file.table.as_ref()).collect();
        check_order(&tables)?;
        let many = tables.len() + usize::from(given.is_some()) > 1;
        let notes = many.then(|| "no file has sample ids: joined row by row".into()).into_iter().collect();
        let rows = |file: &ViewFile| file.table.as_ref().map_or(vec![], |_| (0..n_samples).map(Some).collect());
        Ok(Join::of(n_samples, None, files.iter().map(rows).collect(), given, notes))
    }

    /// The samples with the contents of a labels file.
    pub(super) fn of(
        n_samples: usize,
        ids: Option<Vec<String>>,
        rows: Vec<Vec<Option<usize>>>,
        given: Option<LabelRows>,
        notes: Vec<Message>,
    ) -> Join {
        let mut join = Join {
            ids,
            n_samples,
            rows,
            labels: None,
            label_name: None,
            label_source: None,
            targets: vec![],
            groups: None,
            group_name: None,
            notes: vec![],
        };
        if let Some(given) = given {
            join.notes = given.notes.iter().map(|note| format!("{}: {note}", given.source).into()).collect();
            (join.labels, join.label_name) = (Some(given.labels), given.label_name);
            (join.groups, join.group_name) = (given.groups, given.group_name);
            (join.targets, join.label_source) = (given.targets, Some(given.source));
        }
        join.notes.extend(notes);
        join
    }

    /// A sample's name in messages.
    pub(super) fn sample(&self, i: usize) -> String {
        self.ids.as_ref().map_or_else(|| format!("row {}", i + 1), |ids| format!("sample {}", quoted(&ids[i])))
    }

    pub(super) fn labels_of_views(&mut self, files: &[ViewFile], options: &ReadOptions) -> Result<()> {
        let Some((first, labels)) = self.agreed("label", files, |table| table.labels.as_deref())? else {
            return Ok(());
        };
        let lacking: Vec<usize> = (0..self.n_samples).filter(|&i| labels[i].is_none()).collect();
        match (lacking.first(), &options.expect) {
            (Some(_), None) if options.missing_labels == MissingLabels::Drop => {
                self.labels = Some(labels.into_iter().map(|label| label.unwrap_or_default().to_string()).collect());
                self.label_name = first.label_name.clone();
                Ok(())
            }
            (Some(&i), None) => {
                let message = message![
                    format!("no label for {}{}, which other views have; ", self.sample(i), and_more(lacking.len())),
                    "add the rows here, or give all labels in a file of their own (",
                    Remedy::LabelsFile,
                    ")"
                ];
                Err(Error::data(Place::file(&first.source), message))
            }
            (Some(_), Some(_)) => {
                let (n, all) = (lacking.len(), self.n_samples);
                self.notes.push(format!("{n} of {all} samples have no label: rows read as unlabelled").into());
                Ok(())
            }
            (None, _) => {
                self.labels = Some(labels.into_iter().flatten().map(str::to_string).collect());
                self.label_name = first.label_name.clone();
                Ok(())
            }
        }
    }

    pub(super) fn groups_of_views(&mut self, files: &[ViewFile]) -> Result<()> {
        let Some((first, groups)) = self.agreed("group", files, |table| table.groups.as_deref())? else {
            return Ok(());
        };
        let lacking: Vec<usize> = (0..self.n_samples).filter(|&i| groups[i].is_none()).collect();
        if let Some(&i) = lacking.first() {
            let message = format!(
                "no group for {}{}, which other views have; add the rows here, or give the column in all files",
                self.sample(i),
                and_more(lacking.len())
            );
            return Err(Error::data(Place::file(&first.source), message));
        }
        self.groups = Some(groups.into_iter().flatten().map(str::to_string).collect());
        self.group_name = first.group_name.clone();
        Ok(())
    }

    /// The text that the files give for each sample, and the first of these files; they must all agree.
    #[allow(clippy::type_complexity)]
    pub(super) fn agreed<'a>(
        &self,
        what: &str,
        files: &'a [ViewFile],
        texts: impl Fn(&'a Table) -> Option<&'a [String]>,
    ) -> Result<Option<(&'a Table, Vec<Option<&'a str>>)>> {
        let mut found: Vec<Option<(&str, &str)>> = vec![None; self.n_samples];
        let mut first = None;
        for (file, rows) in files.iter().zip(&self.rows) {
            let Some((table, texts)) = file.table.as_ref().and_then(|table| Some((table, texts(table)?))) else {
                continue;
            };
            first.get_or_insert(table);
            for (i, row) in rows.iter().enumerate() {
                let Some(row) = *row else { continue };
                let text = texts[row].as_str();
                if what == "label" && is_missing_label(text) {
                    continue;
                }
                let (before, source) = *found[i].get_or_insert((text, &table.source));
                if before != text {
                    let message = format!(
                        "{} has the {what} {}, but {} in {source}; correct one of them",
                        self.sample(i),
                        quoted(text),
                        quoted(before)
                    );
                    return Err(Error::data(Place::file(&table.source), message));
                }
            }
        }
        let found = found.into_iter().map(|found| found.map(|(text, _)| text)).collect();
        Ok(first.map(|first| (first, found)))
    }

    pub(super) fn into_table(mut self, files: Vec<ViewFile>, options: &ReadOptions) -> Result<Table> {
        let id_name = files.iter().find_map(|file| Some(file.table.as_ref()?.samples.id_name()?.to_string()));
        let name = files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>().join("+");
        let sources: Vec<&str> = files.iter().filter_map(|file| Some(file.table.as_ref()?.source.as_str())).collect();
        let source = sources.join(", ");
        let mut notes = Vec::new();
        let (mut names, mut views) = (Vec::new(), Vec::new());
        for (file, rows) in files.iter().zip(&self.rows) {
            notes.extend(file.notes(rows, self.n_samples));
            views.push(View { name: file.name.clone(), columns: names.len()..names.len() + file.names.len() });
            names.extend_from_slice(&file.names);
        }
        notes.append(&mut self.notes);
        let codings = codings(&files, options);
        let features = self.features(files, &source, &views, options)?;
        // The model may list them in a different order.
        let views = options.expect.as_ref().map_or(views, |expect| expect.views.clone());
        let samples = Samples::new(features, names)?.with_codings(codings).with_views(views)?;
        let empty = samples.empty_rows();
        let drops = options.missing_labels == MissingLabels::Drop && empty.len() < self.n_samples;
        if let Some(&i) = empty.first().filter(|_| !drops) {
            let mut message =
                message![format!("{}{} has no value in any view; remove it", self.sample(i), and_more(empty.len()))];
            if options.expect.is_none() {
                message = message![message, ", or leave such samples out with ", Remedy::DropUnlabelled];
            }
            return Err(Error::data(Place::file(source), message));
        }
        let mut samples = match self.ids.take() {
            Some(ids) => samples.with_ids(ids)?.with_id_name(id_name),
            None => samples.with_row_numbers(row_numbers(&self.rows)),
        };
        if !empty.is_empty() {
            notes.push(format!("samples without any value left out: {} of {}", empty.len(), self.n_samples).into());
            let kept: Vec<usize> = (0..self.n_samples).filter(|i| empty.binary_search(i).is_err()).collect();
            samples = samples.select_rows(&kept);
            let select = |texts: &mut Option<Vec<String>>| {
                *texts = texts.take().map(|texts| kept.iter().map(|&i| texts[i].clone()).collect());
            };
            [&mut self.labels, &mut self.groups].into_iter().for_each(select);
            self.select_targets(&kept);
        }
        let mut table = Table {
            name,
            source: self.label_source.unwrap_or_else(|| source.clone()),
            samples,
            labels: self.labels,
            label_name: self.label_name,
            label_column: None,
            groups: self.groups,
            group_name: self.group_name,
            some_labels: None,
            targets: numbers_of(self.targets, options)?,
            told: vec![],
            index_base: None,
            columns: vec![],
            notes,
        };
        // What is wrong with labels is wrong in their file.
        check_classes(&mut table, options)?;
        Ok(Table { source, ..table })
    }

    /// The views side by side: sparse if all of them are and no sample lacks one, as sparse rows have no missing
    /// values.
    pub(super) fn features(
        &self,
        files: Vec<ViewFile>,
        source: &str,
        views: &[View],
        options: &ReadOptions,
    ) -> Result<Features> {
        let n_cols = views.last().map_or(0, |view| view.columns.end);
        let complete = self.rows.iter().all(|rows| rows.len() == self.n_samples && rows.iter().all(Option::is_some));
        let parts: Option<Vec<&Sparse>> = files.iter().map(ViewFile::sparse).collect();
        if let Some(parts) = parts.filter(|_| complete && u32::try_from(n_cols).is_ok()) {
            let n_stored = parts.iter().map(|part| part.n_stored()).sum();
            check_sparse_memory(source, self.n_samples, n_cols, n_stored, options.limit())?;
            return Ok(self.sparse(&parts, views, n_stored)?.into());
        }
        check_memory(source, self.n_samples, n_cols, options.limit())?;
        let refused = || {
            let need = self.n_samples as u64 * n_cols as u64 * 8;
            out_of_memory(source, self.n_samples, n_cols, need, options.limit())
        };
        let mut matrix = Matrix::try_zeros(self.n_samples, n_cols).ok_or_else(refused)?;
        for ((file, rows), view) in files.into_iter().zip(&self.rows).zip(views) {
            for i in 0..self.n_samples {
                let cells = &mut matrix.row_mut(i)[view.columns.clone()];
                match (&file.table, rows.get(i).copied().flatten()) {
                    (Some(table), Some(row)) => table.samples.features().row_into(row, cells),
                    _ => cells.fill(f64::NAN),
                }
            }
        }
        Ok(matrix.into())
    }

    pub(super) fn sparse(&self, parts: &[&Sparse], views: &[View], n_stored: usize) -> Result<Sparse> {
        let (mut ends, mut columns) = (Vec::with_capacity(self.n_samples), Vec::with_capacity(n_stored));
        let mut values = Vec::with_capacity(n_stored);
        for i in 0..self.n_samples {
            for ((part, rows), view) in parts.iter().zip(&self.rows).zip(views) {
                let Some(row) = rows[i] else { continue };
                let (own, stored) = part.entries(row);
                columns.extend(own.iter().map(|&column| column + view.columns.start as u32));
                values.extend_from_slice(stored);
            }
            ends.push(values.len());
        }
        let background = parts.iter().flat_map(|part| part.background()).copied().collect::<Vec<_>>();
        Sparse::from_parts(ends, columns, values, background)
    }
}
