//! Detecting labels that are really a numeric target.

use std::collections::HashSet;

use super::options::ReadOptions;
use crate::data::table::Table;
use crate::data::table::words::{finite, quoted};
use crate::error::{Error, Message, Place, Remedy, Result, message};

/// Labels with more distinct numbers than this may be a numeric target, if rows per class are few.
const MAX_NUMERIC_CLASSES: usize = 20;

/// With at least this many rows per class, numeric labels are taken as classes.
const MIN_ROWS_PER_CLASS: usize = 100;

/// More classes than this, with few rows each, are no classes: there is a machine for each pair of them.
const MANY_CLASSES: usize = 1000;

/// With at least this many rows per class, any number of classes is believed.
const FEW_ROWS_PER_CLASS: usize = 10;

/// Labels with fewer classes are never taken for a numeric target.
const MIN_NUMERIC_CLASSES: usize = 10;

/// Warns about labels that look like a numeric target, and refuses them if hardly any two rows have the same.
pub(in crate::data) fn check_classes(table: &mut Table, options: &ReadOptions) -> Result<()> {
    let Some(labels) = table
        .labels
        .as_ref()
        .filter(|_| options.expect.is_none() && !options.label_optional && options.target.is_empty())
    else {
        return Ok(());
    };
    let classes: HashSet<&str> = labels.iter().map(String::as_str).collect();
    let (n, n_rows) = (classes.len(), labels.len());
    if n > MANY_CLASSES && n_rows < n * FEW_ROWS_PER_CLASS {
        let why = format!(
            "the label has {n} classes in {n_rows} rows: an id or a number is no class; name the column of classes with "
        );
        let target =
            message![", or say that it is a number to predict with ", Remedy::Target(table.label_name.clone())];
        return Err(Error::data(Place::file(&table.source), message![why, Remedy::Label(None), target]));
    }
    let is_own = n > MIN_NUMERIC_CLASSES && 2 * n > n_rows;
    let is_many = n > MAX_NUMERIC_CLASSES && n_rows < n * MIN_ROWS_PER_CLASS;
    if !is_own && !is_many {
        return Ok(());
    }
    let numbers: Option<Vec<f64>> = classes.iter().map(|class| finite(class)).collect();
    let Some(numbers) = numbers else { return Ok(()) };
    let (low, high) =
        numbers.iter().fold((f64::MAX, f64::MIN), |(low, high), &value| (low.min(value), high.max(value)));
    // Consecutive numbers from 0 or 1 are class codes.
    let is_code = (low == 0.0 || low == 1.0) && high - low + 1.0 == n as f64;
    let column = match (&table.label_name, &table.label_column) {
        (Some(name), _) => format!("the label column {}", quoted(name)),
        (None, Some(column)) => format!("the label, {column},"),
        (None, None) => "the label".into(),
    };
    let turned = if looks_turned(table) {
        message![" (if samples are in columns, add ", Remedy::Transpose, ")"]
    } else {
        Message::default()
    };
    let why =
        format!("{column} has {n} different numbers in {n_rows} rows and reads as a number to predict: say so with ");
    let classes =
        "; if each number is a class of its own, put them into a few bins; else name the column of classes with ";
    let message = message![why, Remedy::Target(table.label_name.clone()), classes, Remedy::Label(None), turned];
    match () {
        () if is_own => return Err(Error::data(Place::file(&table.source), message)),
        () if is_code => {}
        () => table.notes.push(message!["warning: ", message]),
    }
    Ok(())
}

/// Whether column names look like those of samples, a common prefix followed by numbers, next to row names.
fn looks_turned(table: &Table) -> bool {
    let beginning = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit()).to_string();
    let names = table.samples.names();
    let Some(first) = names.first().map(|name| beginning(name)) else { return false };
    let is_counted = |name: &String| beginning(name) == first && name.len() > first.len();
    table.samples.ids().is_some() && names.len() > 2 && !first.is_empty() && names.iter().all(is_counted)
}
