//! One table from several files that hold views of the same samples.

mod checks;
mod label_file;
mod samples;
mod view_file;

use crate::data::read::{ReadOptions, short_name};
use crate::data::table::words::is_missing_label;
use crate::data::table::{Dataset, Expect, Labels, Samples, Table, View, check_view_names, within};
use crate::error::{Error, Place, Result};
use label_file::{LabelFile, Wanted};
use samples::Join;
pub use view_file::ViewSource;
use view_file::{Slot, bare, check_told, slots_of_model};

/// Joins several files, each a view of the same samples, into one table with columns named `view:column`.
///
/// Files whose rows have ids (see [`ReadOptions::id`] for how they are found) are joined by id: the table has every
/// sample of any view, in the order of the labels file, else in order of first appearance, and NaN in all columns of
/// the views that a sample is missing from. Files without ids are joined row by row. A mixture of both is refused.
///
/// `labels` is delimited text with a column of ids, one of labels, and optionally one of groups; without ids, labels in
/// row order. All columns of the view files except ids are then features, and samples that it does not list are left
/// out. Without it, labels are columns of the view files named `label`, `class`, `target` or `y`, or as given by
/// [`ReadOptions::label`]; if several files have one, they must agree.
///
/// Options that name columns must match at least one file. Positions are for files without column names, for the labels
/// file, and for ids.
///
/// With [`ReadOptions::expect`], columns are matched by name to those of the model, view by view. A view of the model
/// that is not given is missing for all samples; labels may be missing.
///
/// Rows are copied once, so that the views and the table briefly coexist in memory: 16 bytes per value in all.
///
/// ```
/// use multikernel::data::{ReadOptions, ViewSource, read_views};
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = |name: &str| folder.path().join(name).display().to_string();
/// let (rna, protein, labels) = (path("rna.csv"), path("protein.csv"), path("labels.csv"));
/// std::fs::write(&rna, "id,a,b\ns1,1,2\ns2,3,4\n").unwrap();
/// std::fs::write(&protein, "id,a\ns3,7\ns1,5\n").unwrap();
/// std::fs::write(&labels, "id,grade\ns3,high\ns2,low\ns1,high\n").unwrap();
/// let views = [("rna", rna), ("protein", protein)].map(|(name, source)| ViewSource { name: name.into(), source });
/// let table = read_views(&views, Some(&labels), &ReadOptions::default())?;
/// assert_eq!(table.samples.names(), ["rna:a", "rna:b", "protein:a"]);
/// assert_eq!(table.samples.ids().unwrap(), ["s3", "s2", "s1"]);
/// assert_eq!(table.samples.features().to_dense()?.row(2), [1.0, 2.0, 5.0]);
/// assert_eq!(table.samples.n_missing(), 3);
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn read_views(views: &[ViewSource], labels: Option<&str>, options: &ReadOptions) -> Result<Table> {
    if views.is_empty() {
        return Err(Error::param("view", "no view is given; give at least one, as NAME=FILE"));
    }
    check_view_names(views.iter().map(|view| view.name.as_str()))?;
    if labels.is_some() && options.unlabelled {
        return Err(Error::param("labels", "cannot be given for rows without labels; leave one of the two out"));
    }
    let slots = match &options.expect {
        Some(expect) => slots_of_model(views, expect)?,
        None => views.iter().map(|view| Slot { name: &view.name, source: Some(&view.source), expect: None }).collect(),
    };
    let labels = labels.map(|source| LabelFile::read(source, options)).transpose()?;
    let files = slots.iter().map(|slot| slot.read(labels.as_ref(), options)).collect::<Result<Vec<_>>>()?;
    check_told(&files, labels.as_ref(), options)?;
    Join::new(&files, labels.as_ref(), options)?.into_table(files, options)
}

/// Reads rows from one file and their labels from another; ids, row order and options as in [`read_views`], but columns
/// keep their own names, and the only views are those of [`ReadOptions::expect`].
pub fn read_with_labels(source: &str, labels: &str, options: &ReadOptions) -> Result<Table> {
    const ONLY: &str = "rows";
    let view = ViewSource { name: ONLY.into(), source: source.into() };
    // What a model expects of the file, as of a view.
    let as_view = |expect: &Expect| {
        let names = expect.names.iter().map(|name| format!("{ONLY}:{name}")).collect();
        let views = vec![View { name: ONLY.into(), columns: 0..expect.names.len() }];
        Expect { names, views, ..expect.clone() }
    };
    let own = ReadOptions { expect: options.expect.as_ref().map(as_view), ..options.clone() };
    let table = read_views(&[view], Some(labels), &own)?;
    let names = table.samples.names().iter().map(|name| bare(ONLY, name).to_string()).collect();
    let views = options.expect.as_ref().map_or(vec![], |expect| expect.views.clone());
    let samples = table.samples.renamed(names)?.with_views(views)?;
    let name = short_name(source);
    Ok(Table { name, source: source.into(), samples, ..table })
}

/// Samples known only by Gram matrices, with labels (and groups) from a file, one row for each.
pub fn labelled(samples: Samples, labels: &str, options: &ReadOptions) -> Result<Dataset> {
    let file = LabelFile::read(labels, options)?;
    let mut rows = file.rows(&Wanted::Rows(samples.n_samples(), "the Gram matrices"), options)?;
    if rows.labels.len() != samples.n_samples() {
        let (n, found) = (samples.n_samples(), rows.labels.len());
        let message =
            format!("{found} labels for Gram matrices of {n} rows; give one label per row, in the same order");
        return Err(Error::data(Place::file(labels), message));
    }
    let kept: Vec<usize> = (0..rows.labels.len()).filter(|&i| !is_missing_label(&rows.labels[i])).collect();
    let numbers = (1..=samples.n_samples()).collect();
    let is_whole = kept.len() == rows.labels.len();
    let samples = if is_whole { samples } else { samples.with_row_numbers(Some(numbers)).select_rows(&kept) };
    rows.labels.retain(|label| !is_missing_label(label));
    rows.groups = rows.groups.map(|groups| kept.iter().map(|&i| groups[i].clone()).collect());
    let codes = Labels::new(&rows.labels).map_err(|error| within(labels, error))?;
    let set = Dataset::new(short_name(labels), samples, codes)?;
    let set = Dataset { label_name: rows.label_name, ..set };
    match rows.groups {
        Some(groups) => set.with_groups(&groups, rows.group_name),
        None => Ok(set),
    }
}

#[cfg(test)]
mod tests;
