//! Refusing joins that are probably mistakes.

use std::collections::{HashMap, HashSet};

use super::label_file::{LabelFile, LabelRows};
use crate::data::table::words::quoted;
use crate::data::table::{Table, is_numbered};
use crate::error::{Error, Place, Remedy, Result, message};

/// Refuses a row-by-row join if a column common to all files shows that their rows are in different orders: numbers
/// that differ in every row and are mostly the same in all files.
pub(super) fn check_order(tables: &[&Table]) -> Result<()> {
    let [first, others @ ..] = tables else { return Ok(()) };
    if is_numbered(first.samples.names()) {
        // Names made up by a reader say nothing about the content of a column.
        return Ok(());
    }
    let places: Vec<HashMap<&str, usize>> = others.iter().map(|other| places(other)).collect();
    for (j, name) in first.samples.names().iter().enumerate() {
        let in_others = || others.iter().zip(&places).filter_map(|(other, at)| Some((other, *at.get(name.as_str())?)));
        if in_others().next().is_none() {
            continue;
        }
        let Some(own) = distinct(first, j) else { continue };
        for (other, k) in in_others() {
            let Some(theirs) = distinct(other, k) else { continue };
            let known: HashSet<u64> = own.iter().copied().collect();
            let shared = theirs.iter().filter(|value| known.contains(value)).count();
            if own != theirs && 2 * shared >= own.len() {
                let (column, source) = (quoted(name), &first.source);
                let message = message![
                    format!("its column {column} has mostly the numbers it has in {source}, in another order; "),
                    "if they are sample ids, join by them with ",
                    Remedy::Id(Some(name.clone())),
                    ", else leave the column out with ",
                    Remedy::Ignore(vec![name.clone()])
                ];
                return Err(Error::data(Place::file(&other.source), message));
            }
        }
    }
    Ok(())
}

/// The first column of each name.
fn places(table: &Table) -> HashMap<&str, usize> {
    let mut places = HashMap::new();
    for (k, name) in table.samples.names().iter().enumerate() {
        places.entry(name.as_str()).or_insert(k);
    }
    places
}

/// The values of a column if they are distinct integers. Cost: what it looks at, whatever the number of columns.
fn distinct(table: &Table, j: usize) -> Option<Vec<u64>> {
    let features = table.samples.features();
    let mut seen = HashSet::new();
    let value = |i: usize| Some(features.value(i, j)).filter(|value| value.fract() == 0.0).map(f64::to_bits);
    (0..features.n_rows()).map(|i| value(i).filter(|&bits| seen.insert(bits))).collect()
}

/// Refuses views whose column names are the samples of the labels file.
pub(super) fn check_turned(tables: &[&Table], labels: &LabelFile) -> Result<()> {
    for table in tables {
        let names = table.samples.names();
        let n = labels.n_named(names);
        if n > 1 && 2 * n >= names.len() {
            let message = message![
                format!("{n} of its {} columns are called like samples of {}: ", names.len(), labels.source),
                "if samples are in columns, add ",
                Remedy::Transpose
            ];
            return Err(Error::data(Place::file(&table.source), message));
        }
    }
    Ok(())
}

/// Refuses labels for samples that are in no view; returns a note if samples of views have no label.
pub(super) fn check_samples(labels: &LabelRows, in_views: &[&str], view: &str) -> Result<Option<String>> {
    let ids = labels.ids.as_deref().unwrap_or_default();
    let known: HashSet<&str> = in_views.iter().copied().collect();
    let absent: Vec<usize> = (0..ids.len()).filter(|&i| !known.contains(ids[i].as_str())).collect();
    if let Some(&i) = absent.first() {
        let (id, line) = (quoted(&ids[i]), labels.lines[i]);
        let message = if absent.len() == ids.len() {
            let other = in_views.first().map_or(String::new(), |id| quoted(id));
            message![
                format!(
                    "no sample is in a view: the first is {id} here and {other} in {view}; check the columns of ids ("
                ),
                Remedy::Id(None),
                ")"
            ]
        } else {
            format!("no view has sample {id}{}; remove the rows, or add them to a view", and_more(absent.len())).into()
        };
        return Err(Error::data(Place::line(&labels.source, line), message));
    }
    let labelled: HashSet<&str> = ids.iter().map(String::as_str).collect();
    let left_out: Vec<&&str> = in_views.iter().filter(|id| !labelled.contains(**id)).collect();
    Ok(left_out.first().map(|id| {
        format!("samples left out, as {} does not name them: {}, first {}", labels.source, left_out.len(), quoted(id))
    }))
}

/// The number of further ones after the first.
pub(super) fn and_more(n: usize) -> String {
    if n > 1 { format!(" and {} more", n - 1) } else { String::new() }
}
