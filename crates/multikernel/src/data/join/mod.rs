//! One table from several files that hold views of the same samples.

mod checks;
mod label_file;
mod samples;
mod view_file;

use std::collections::HashMap;

use crate::data::read::{ReadOptions, short_name};
use crate::data::table::words::{is_missing_label, list, quoted};
use crate::data::table::{Dataset, Expect, Labels, Samples, Table, Target, View, check_view_names, outcome, within};
use crate::error::{Error, Place, Result};
use label_file::{LabelFile, Wanted};
use samples::{Join, numbers_of};
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
/// out. With [`ReadOptions::target`] it has those columns instead of labels; without a labels file they are in the
/// views, given as `column`, or as `view:column` where several views have one of that name. Without it, labels are columns of the view files named `label`, `class`, `target` or `y`, or as given by
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
    let bare = bare_targets(views, options);
    let files = slots.iter().map(|slot| slot.read(labels.as_ref(), &bare)).collect::<Result<Vec<_>>>()?;
    check_told(&files, labels.as_ref(), &bare)?;
    let mut table = Join::new(&files, labels.as_ref(), &bare)?.into_table(files, &bare)?;
    if table.targets.is_none() && !options.target.is_empty() {
        table.samples = name_targets(&table.samples, options)?;
        if options.drops_untargeted() {
            table.drop_untargeted(options.targets())?;
        }
    }
    Ok(table)
}

/// The options for one of several files: a target `view:column` is a column of that view's file.
fn bare_targets(views: &[ViewSource], options: &ReadOptions) -> ReadOptions {
    let bare =
        |wanted: &String| views.iter().fold(wanted.as_str(), |wanted, view| bare(&view.name, wanted)).to_string();
    let (target, event) = (options.target.iter().map(bare).collect(), options.event.as_ref().map(bare));
    ReadOptions { target, event, ..options.clone() }
}

/// The samples with each target under the name it was asked for by; a column of that name may be in one view only.
fn name_targets(samples: &Samples, options: &ReadOptions) -> Result<Samples> {
    let mut names = samples.names().to_vec();
    for wanted in options.targets().filter(|wanted| !samples.names().contains(wanted)) {
        let views = samples.views().iter();
        let found: Vec<usize> =
            views.flat_map(|view| view.columns.clone().find(|&j| bare(&view.name, &names[j]) == wanted)).collect();
        if let [_, _, ..] = found[..] {
            let places: Vec<String> = found.iter().map(|&j| quoted(&names[j])).collect();
            let message = format!("{} is in several views; name one of {}", quoted(wanted), list(&places, 8));
            return Err(Error::param("target", message));
        }
        found.iter().for_each(|&j| names[j].clone_from(wanted));
    }
    samples.renamed(names)?.with_views(samples.views().to_vec())
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

/// Samples with what is to be predicted of them, and groups, from a file: by id where they have ids, else row by row, as
/// with samples known only by Gram matrices. Samples that it does not list are left out.
pub fn labelled(samples: Samples, labels: &str, options: &ReadOptions) -> Result<Dataset> {
    const SAMPLES: &str = "the samples";
    let file = LabelFile::read(labels, options)?;
    let at: HashMap<&str, usize> =
        samples.ids().unwrap_or_default().iter().enumerate().map(|(i, id)| (id.as_str(), i)).collect();
    let wanted = match samples.ids() {
        Some(_) => Wanted::Ids(at.keys().copied().collect(), SAMPLES),
        None => Wanted::Rows(samples.n_samples(), SAMPLES),
    };
    let mut rows = file.rows(&wanted, options)?;
    if samples.ids().is_none() && rows.labels.len() != samples.n_samples() {
        let (n, found) = (samples.n_samples(), rows.labels.len());
        let message = format!("{found} labels for {n} rows; give one label per row, in the same order");
        return Err(Error::data(Place::file(labels), message));
    }
    // The rows of the file that count, and the sample of each.
    let sample_of = |row: usize| match &rows.ids {
        Some(ids) => at.get(ids[row].as_str()).copied(),
        None => Some(row),
    };
    let kept = (0..rows.labels.len()).filter(|&row| !is_missing_label(&rows.labels[row]));
    let (kept, found): (Vec<usize>, Vec<usize>) = kept.filter_map(|row| Some((row, sample_of(row)?))).unzip();
    let is_whole = found.iter().copied().eq(0..samples.n_samples());
    let numbers = samples.ids().is_none().then(|| (1..=samples.n_samples()).collect());
    let samples = if is_whole { samples } else { samples.with_row_numbers(numbers).select_rows(&found) };
    let targets = kept.iter().filter_map(|&row| rows.targets.get(row).cloned()).collect();
    let (target, codes) = match numbers_of(targets, options)? {
        Some(targets) => outcome(targets, options.event.is_some()),
        None => {
            let texts: Vec<&str> = kept.iter().map(|&row| rows.labels[row].as_str()).collect();
            Labels::new(&texts).map(|codes| (Target::Classes, codes))
        }
    }
    .map_err(|error| within(labels, error))?;
    let label_name = match options.target.is_empty() {
        true => rows.label_name.take(),
        false => Some(options.targets().cloned().collect::<Vec<_>>().join(", ")),
    };
    let set = Dataset { target, label_name, ..Dataset::new(short_name(labels), samples, codes)? };
    match rows.groups {
        Some(groups) => {
            let groups: Vec<String> = kept.iter().map(|&row| groups[row].clone()).collect();
            set.with_groups(&groups, rows.group_name)
        }
        None => Ok(set),
    }
}

#[cfg(test)]
mod tests;
