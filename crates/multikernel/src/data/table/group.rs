//! Views within one file: groups of columns by name, prefix or position.

use std::collections::HashSet;
use std::ops::Range;

use super::samples::View;
use super::table::Table;
use super::words::{did_you_mean, quoted};
use crate::closest::closest;
use crate::error::{Error, Result};

/// Names groups of columns in a table: each pair is the name of a view and its columns.
///
/// Columns are given as names, name prefixes with a star (`rna_*`) and ranges of positions (`0:76`, counted from 0
/// among the features, end excluded), separated by commas. An exact name takes precedence. Columns are reordered so
/// that each view is one range, in the order given and within a view as in the table; columns outside all views follow.
/// Names are unchanged. Existing views of the table are replaced.
///
/// ```
/// use multikernel::data::{ReadOptions, group_columns, read_from};
/// let table = read_from("g1,p1,g2,age,y\n1,2,3,4,a\n".as_bytes(), "t.csv", &ReadOptions::default())?;
/// let views = [("protein", "p1"), ("gene", "g*")].map(|(view, columns)| (view.to_string(), columns.to_string()));
/// let table = group_columns(table, &views)?;
/// assert_eq!(table.samples.names(), ["p1", "g1", "g2", "age"]);
/// assert_eq!(table.samples.views()[1].columns, 1..3);
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn group_columns(table: Table, views: &[(String, String)]) -> Result<Table> {
    check_view_names(views.iter().map(|(name, _)| name.as_str()))?;
    let names = table.samples.names();
    let mut owners: Vec<Option<usize>> = vec![None; names.len()];
    for (v, (view, text)) in views.iter().enumerate() {
        for pattern in text.split(',').map(str::trim) {
            let matches =
                matching(names, pattern).map_err(|message| Error::param("view", format!("{view}: {message}")))?;
            for j in matches {
                if let Some(other) = owners[j].filter(|&other| other != v) {
                    let (column, other) = (quoted(&names[j]), &views[other].0);
                    let message = format!("{view}: column {column} is in the view {other} already; choose one");
                    return Err(Error::param("view", message));
                }
                owners[j] = Some(v);
            }
        }
    }
    let mut order = Vec::with_capacity(names.len());
    let mut ranges = Vec::with_capacity(views.len());
    for (v, (name, _)) in views.iter().enumerate() {
        let start = order.len();
        order.extend((0..names.len()).filter(|&j| owners[j] == Some(v)));
        ranges.push(View { name: name.clone(), columns: start..order.len() });
    }
    let n_grouped = order.len();
    order.extend((0..names.len()).filter(|&j| owners[j].is_none()));
    let mut notes = table.notes;
    if n_grouped < order.len() {
        notes.push(format!("columns in no view: {} of {}", order.len() - n_grouped, order.len()).into());
    }
    let samples = table.samples.select_columns(&order).with_views(ranges)?;
    Ok(Table { samples, notes, ..table })
}

/// The columns that match a pattern, or what is wrong with it.
fn matching(names: &[String], pattern: &str) -> std::result::Result<Vec<usize>, String> {
    if let Some(j) = names.iter().position(|name| name == pattern) {
        return Ok(vec![j]);
    }
    if pattern.is_empty() {
        return Err("a column is left blank; give names, PREFIX* or positions such as 0:76".into());
    }
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((start, end)) = pattern.split_once(':').filter(|(start, end)| digits(start) && digits(end)) {
        return range(start, end, names.len()).map(Iterator::collect);
    }
    if digits(pattern) {
        return Err(format!(
            "no column is called '{pattern}'; write positions as a range, START:END with END left out"
        ));
    }
    let Some(prefix) = pattern.strip_suffix('*') else {
        let hint = closest(pattern, names.iter().map(String::as_str));
        let hint = hint.map_or("; give names, PREFIX* or positions such as 0:76".into(), did_you_mean);
        return Err(format!("no column is called {}{hint}", quoted(pattern)));
    };
    let found: Vec<usize> = (0..names.len()).filter(|&j| names[j].starts_with(prefix)).collect();
    if found.is_empty() {
        let length = prefix.chars().count();
        let beginning = |name: &'_ String| name.char_indices().nth(length).map_or(name.len(), |(at, _)| at);
        let hint = closest(prefix, names.iter().map(|name| &name[..beginning(name)]));
        let hint = hint.map_or("; check the names".into(), |beginning| did_you_mean(&format!("{beginning}*")));
        return Err(format!("no column begins with {}{hint}", quoted(prefix)));
    }
    Ok(found)
}

fn range(start: &str, end: &str, n: usize) -> std::result::Result<Range<usize>, String> {
    // Numbers too long to parse are beyond any table.
    let (from, to) = (start.parse().unwrap_or(usize::MAX), end.parse().unwrap_or(usize::MAX));
    if to > n {
        return Err(format!("the range {start}:{end} ends beyond the {n} columns; END is at most {n}"));
    }
    if from >= to {
        return Err(format!("the range {start}:{end} is empty; END is one past its last column"));
    }
    Ok(from..to)
}

/// View names must be distinct words that parse back bare in a bank of kernels.
pub(in crate::data) fn check_view_names<'a>(names: impl Iterator<Item = &'a str>) -> Result<()> {
    let mut seen = HashSet::new();
    for name in names {
        let is_word = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
        if !is_word || name.bytes().all(|byte| byte.is_ascii_digit()) {
            let message =
                format!("{} cannot name a view; use letters, digits, '_', '-' and '.', not digits alone", quoted(name));
            return Err(Error::param("view", message));
        }
        if !seen.insert(name) {
            return Err(Error::param("view", format!("two views are called {}; rename one", quoted(name))));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::ReadOptions;

    fn grouped(columns: &str, views: &[(&str, &str)]) -> Result<Table> {
        let n = columns.split(',').count();
        let cells: Vec<String> = (0..n).map(|k| k.to_string()).collect();
        let text = format!("{columns},label,id\n{},p,s1\n", cells.join(","));
        let table = crate::data::read_from(text.as_bytes(), "f.csv", &ReadOptions::default())?;
        let views: Vec<_> = views.iter().map(|(view, columns)| (view.to_string(), columns.to_string())).collect();
        group_columns(table, &views)
    }

    #[test]
    fn column_groups_are_moved_together() {
        for (views, order, ends, left) in [
            (&[("u", "b"), ("v", "a*")][..], "b a1 a2 a3 c:d 0:2", &[1, 4][..], Some(2)),
            (&[("u", "4:6, a3")], "a3 c:d 0:2 a1 b a2", &[3], Some(3)),
            (&[("u", "a*,a1,0:1")], "a1 a2 a3 b c:d 0:2", &[3], Some(3)),
            // Exact names take precedence.
            (&[("u", "0:2"), ("v", "c:d")], "0:2 c:d a1 b a2 a3", &[1, 2], Some(4)),
            (&[("all", "*")], "a1 b a2 a3 c:d 0:2", &[6], None),
            (&[], "a1 b a2 a3 c:d 0:2", &[], Some(6)),
        ] {
            let table = grouped("a1,b,a2,a3,c:d,0:2", views).unwrap();
            assert_eq!(table.samples.names().join(" "), order, "{views:?}");
            let found: Vec<usize> = table.samples.views().iter().map(|view| view.columns.end).collect();
            assert_eq!(found, ends, "{views:?}");
            let straight = ["a1", "b", "a2", "a3", "c:d", "0:2"];
            let place = |name: &str| straight.iter().position(|other| *other == name).unwrap() as f64;
            let values: Vec<f64> = order.split(' ').map(place).collect();
            assert_eq!(table.samples.features().to_dense().unwrap().data(), values);
            assert_eq!(
                (table.samples.ids().unwrap().join(""), table.labels.unwrap().join("")),
                ("s1".into(), "p".into())
            );
            let note = left.map(|left| format!("columns in no view: {left} of 6"));
            assert_eq!(table.notes.get(1).map(|note| note.to_string()), note);
        }
    }

    #[test]
    fn column_groups_that_fit_no_columns_refused() {
        let columns = "rna_1,rna_2,prot_1";
        for (views, expected) in [
            (&[("u", "rna_3")][..], "u: no column is called 'rna_3'; did you mean rna_1?"),
            (&[("u", "colour")], "u: no column is called 'colour'; give names, PREFIX* or positions such as 0:76"),
            (&[("u", "rma_*")], "u: no column begins with 'rma_'; did you mean rna_*?"),
            (&[("u", "meth*")], "u: no column begins with 'meth'; check the names"),
            (&[("u", "1")], "u: no column is called '1'; write positions as a range, START:END with END left out"),
            (&[("u", "0:4")], "u: the range 0:4 ends beyond the 3 columns; END is at most 3"),
            (
                &[("u", "0:99999999999999999999999")],
                "u: the range 0:99999999999999999999999 ends beyond the 3 columns; END is at most 3",
            ),
            (&[("u", "2:2")], "u: the range 2:2 is empty; END is one past its last column"),
            (&[("u", "rna_1,,rna_2")], "u: a column is left blank; give names, PREFIX* or positions such as 0:76"),
            (&[("u", "")], "u: a column is left blank; give names, PREFIX* or positions such as 0:76"),
            (&[("u", "rna*"), ("v", "1:3")], "v: column 'rna_2' is in the view u already; choose one"),
            (&[("u", "rna*"), ("u", "prot*")], "two views are called 'u'; rename one"),
            (
                &[("on rna", "rna*")],
                "'on rna' cannot name a view; use letters, digits, '_', '-' and '.', not digits alone",
            ),
        ] {
            let message = grouped(columns, views).unwrap_err().to_string();
            assert_eq!(message, format!("parameter view: {expected}"), "{views:?}");
        }
    }
}
