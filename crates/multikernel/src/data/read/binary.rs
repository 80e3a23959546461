//! Code shared by the readers of binary files.

use std::collections::HashSet;
use std::io::Read;

use super::options::ReadOptions;
use super::roles::{Roles, of_columns};
use crate::data::table::words::missing_note;
use crate::data::table::{Samples, Table, Told, within};
use crate::error::{Error, Message, Place, Result};
use crate::features::Features;
use crate::linalg::Matrix;

/// All bytes of a file, at most `limit`.
pub(super) fn whole(mut reader: impl Read, source: &str, limit: u64) -> Result<Vec<u8>> {
    const STEP: usize = 1 << 20;
    let mut bytes = Vec::new();
    loop {
        let is_full = bytes.try_reserve(STEP).is_err();
        if is_full || bytes.len() as u64 > limit {
            let (what, help) =
                (format!("{source}: the file in memory"), "allow more memory, or save fewer rows".into());
            return Err(Error::Memory { what, need: bytes.len() as u64, limit, help });
        }
        let n = reader.by_ref().take(STEP as u64).read_to_end(&mut bytes);
        if n.map_err(|error| Error::io("read", source, error))? == 0 {
            return Ok(bytes);
        }
    }
}

/// An array of numbers, and its optional metadata.
pub(super) struct Parts {
    /// Samples in rows.
    pub(super) array: Matrix,
    /// Names of the columns.
    pub(super) names: Option<Vec<String>>,
    /// The name of the labels, and the label of each row.
    pub(super) labels: Option<(String, Vec<String>)>,
    /// The name of the groups, and the group of each row.
    pub(super) groups: Option<(String, Vec<String>)>,
    /// The id of each row.
    pub(super) ids: Option<Vec<String>>,
    /// The options that matched one of these.
    pub(super) told: Vec<Told>,
}

impl Parts {
    /// An array alone.
    pub(super) fn new(array: Matrix) -> Self {
        Parts { array, names: None, labels: None, groups: None, ids: None, told: vec![] }
    }

    /// The table; `options` may name columns of the array as label, groups and id, which must then hold whole numbers.
    pub(super) fn into_table(self, source: &str, options: &ReadOptions) -> Result<Table> {
        let Parts { array, names, labels, groups, ids, told } = self;
        // No column of an array is a label unless specified.
        let options = ReadOptions { unlabelled: options.label.is_none(), ..options.clone() };
        let mut roles = of_columns(source, array.n_cols(), names, &options)?;
        roles.check_decided(source, &options)?;
        roles.told.extend(told);
        let column = |j: usize, what: &str| whole_numbers(&array, j, source, what);
        let (label_name, labels) = match roles.label {
            Some(j) => (roles.label_name.clone(), Some(column(j, "label")?)),
            None => labels.unzip(),
        };
        let (group_name, groups) = match roles.groups {
            Some(j) => (roles.group_name.clone(), Some(column(j, "group")?)),
            None => groups.unzip(),
        };
        let beside = roles.maybe_ids.iter().copied().find(|j| ids.is_none() && !roles.features.contains(j));
        let ids = match roles.id.filter(|_| ids.is_none()) {
            Some(j) => Some(column(j, "id")?),
            None => ids.or_else(|| distinct(&array.column(beside?))),
        };
        let is_same = roles.features.iter().copied().eq(0..array.n_cols());
        let features = if is_same { array } else { array.select_cols(&roles.features) };
        Ok(Table { labels, label_name, groups, group_name, ..table(features, ids, source, roles, &options)? })
    }
}

/// The table of these features, without labels and groups yet.
pub(super) fn table(
    features: Matrix,
    ids: Option<Vec<String>>,
    source: &str,
    mut roles: Roles,
    options: &ReadOptions,
) -> Result<Table> {
    let (features, ids) = match ids {
        None => named_ids(features, &mut roles),
        ids => (features, ids),
    };
    let mut missing = vec![0; features.n_cols()];
    for row in features.rows() {
        for (count, value) in missing.iter_mut().zip(row) {
            *count += usize::from(value.is_nan());
        }
    }
    roles.notes.extend(missing_note(&missing).map(Message::from));
    let samples = Samples::new(Features::Dense(features), roles.names);
    let id_name = roles.all_names.as_ref().and_then(|names| names.get(roles.id?)).cloned();
    let with_ids = |samples: Samples| match ids {
        Some(ids) => Ok(samples.with_ids(ids)?.with_id_name(id_name)),
        None => Ok(samples),
    };
    let samples = samples.and_then(with_ids);
    let samples = samples.map_err(|error| within(source, error))?;
    if let Some(row) = samples.first_empty_row().filter(|_| options.part.is_none() && options.expect.is_none()) {
        let message = "the row has no value at all; remove it, or fill values in";
        return Err(Error::data(Place::file(format!("{source}, row {}", row + 1)), message));
    }
    Ok(Table {
        name: source.to_string(),
        source: source.to_string(),
        samples,
        labels: None,
        label_name: None,
        label_column: None,
        groups: None,
        group_name: None,
        some_labels: None,
        targets: None,
        told: roles.told,
        index_base: None,
        columns: vec![],
        notes: roles.notes,
    })
}

/// The first column named like an id whose values are distinct whole numbers, and the other columns.
fn named_ids(features: Matrix, roles: &mut Roles) -> (Matrix, Option<Vec<String>>) {
    for j in roles.maybe_ids.clone() {
        let Some(k) = roles.features.iter().position(|&feature| feature == j) else { continue };
        let Some(ids) = distinct(&features.column(k)).filter(|_| features.n_cols() > 1) else { continue };
        roles.notes.push(format!("ids: column {}", roles.shown(j)).into());
        roles.id = Some(j);
        roles.features.remove(k);
        roles.names.remove(k);
        let others: Vec<usize> = (0..features.n_cols()).filter(|&column| column != k).collect();
        return (features.select_cols(&others), Some(ids));
    }
    (features, None)
}

/// Distinct whole numbers as text.
fn distinct(values: &[f64]) -> Option<Vec<String>> {
    let mut seen = HashSet::new();
    values.iter().map(|&value| whole_number(value).filter(|id| seen.insert(id.clone()))).collect()
}

/// A whole number as its digits; `None` for any other value.
pub(super) fn whole_number(value: f64) -> Option<String> {
    (value.trunc() == value && value.abs() <= (1u64 << 53) as f64).then(|| (value as i64).to_string())
}

/// A column of whole numbers as texts.
fn whole_numbers(array: &Matrix, j: usize, source: &str, what: &str) -> Result<Vec<String>> {
    let of = |(i, value): (usize, f64)| {
        let place = || Place::file(format!("{source}, row {}, column {}", i + 1, j + 1));
        let message = || format!("{value} is no {what}; in an array of numbers it must be a whole number");
        whole_number(value).ok_or_else(|| Error::data(place(), message()))
    };
    array.column(j).into_iter().enumerate().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Expect;

    /// Columns a, b and c of rows 1 2 3 and 4 5 6.
    fn parts(names: &[&str]) -> Parts {
        let names = (!names.is_empty()).then(|| names.iter().map(|name| name.to_string()).collect());
        let array = Matrix::from_vec(2, 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        Parts { names, ..Parts::new(array) }
    }

    fn table_of(parts: Parts, options: &ReadOptions) -> (String, Vec<f64>, Vec<String>) {
        let table = parts.into_table("f.npy", options).unwrap();
        let values = table.samples.features().to_dense().unwrap().data().to_vec();
        (table.samples.names().join(" "), values, table.notes.iter().map(Message::to_string).collect())
    }

    fn message(parts: Parts, options: &ReadOptions) -> String {
        parts.into_table("f.npy", options).unwrap_err().to_string()
    }

    #[test]
    fn columns_named_numbered_ignored() {
        let plain = ReadOptions::default();
        assert_eq!(table_of(parts(&[]), &plain), ("x1 x2 x3".into(), vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], vec![]));
        assert_eq!(table_of(parts(&["a", "b", "y"]), &plain).0, "a b y");
        let ignore = ReadOptions { ignore: vec!["b".into(), "-1".into()], ..Default::default() };
        assert_eq!(table_of(parts(&["a", "b", "c"]), &ignore), ("a".into(), vec![1.0, 4.0], vec![]));
        assert_eq!(message(parts(&["a", "b", "a"]), &plain), "f.npy: columns 1 and 3 are both called 'a'; rename one");
    }

    #[test]
    fn columns_matched_to_those_of_a_model() {
        let expecting = |names: &[&str]| {
            let names = names.iter().map(|name| name.to_string()).collect();
            ReadOptions::expecting(Expect::new(names, None, None))
        };
        let (names, values, notes) = table_of(parts(&["a", "b", "c"]), &expecting(&["c", "a"]));
        assert_eq!((names.as_str(), values), ("c a", vec![3.0, 1.0, 6.0, 4.0]));
        assert_eq!(notes, ["ignored columns that the model was not trained on: b"]);
        let (names, values, notes) = table_of(parts(&[]), &expecting(&["p", "q", "r"]));
        assert_eq!((names.as_str(), values[2]), ("p q r", 3.0));
        assert_eq!(notes, ["columns matched by position: the file has no names"]);
        assert_eq!(
            message(parts(&[]), &expecting(&["p", "q"])),
            "f.npy: found 3 columns, the model expects 2 features; say what the others are with `ReadOptions::label`, `ReadOptions::id` or `ReadOptions::ignore` and \
             their positions, counted from 0"
        );
    }

    #[test]
    fn label_id_and_groups_are_whole_numbers_where_they_are_columns() {
        let with = |label: Option<&str>, id: Option<&str>| ReadOptions {
            label: label.map(str::to_string),
            id: id.map(str::to_string),
            ..Default::default()
        };
        let table = parts(&[]).into_table("f.npy", &with(Some("-1"), Some("0"))).unwrap();
        assert_eq!((table.labels.unwrap().join(" "), table.label_name), ("3 6".to_string(), None));
        assert_eq!(table.samples.ids().unwrap(), ["1", "4"]);
        assert_eq!(table.samples.features().to_dense().unwrap().data(), [2.0, 5.0]);
        let named = parts(&["id", "b", "c"]).into_table("f.npz", &with(Some("c"), None)).unwrap();
        assert_eq!((named.labels.unwrap().join(" "), named.label_name), ("3 6".to_string(), Some("c".into())));
        assert_eq!(
            (named.samples.ids().unwrap().join(" "), named.samples.names().join(" ")),
            ("1 4".into(), "b".into())
        );
        // Ids given beside the array take precedence over a column.
        let beside = Parts { ids: Some(vec!["p".into(), "q".into()]), ..parts(&["id", "b", "c"]) };
        assert_eq!(beside.into_table("f.npz", &with(None, None)).unwrap().samples.ids().unwrap(), ["p", "q"]);

        let options = ReadOptions { groups: Some("1".into()), ..with(None, None) };
        let grouped = parts(&["a", "b", "c"]).into_table("f.npz", &options).unwrap();
        assert_eq!((grouped.groups.unwrap().join(" "), grouped.group_name), ("2 5".to_string(), Some("b".into())));
        assert_eq!(grouped.samples.names(), ["a", "c"]);

        let mut broken = parts(&[]);
        broken.array.set(1, 2, 0.5);
        let expected = "f.npy, row 2, column 3: 0.5 is no label; in an array of numbers it must be a whole number";
        assert_eq!(message(broken, &with(Some("2"), None)), expected);
        let mut broken = parts(&[]);
        broken.array.set(0, 0, f64::NAN);
        let expected = "f.npy, row 1, column 1: NaN is no id; in an array of numbers it must be a whole number";
        assert_eq!(message(broken, &with(None, Some("0"))), expected);
        let twice = Parts { ids: Some(vec!["p".into(), "p".into()]), ..parts(&[]) };
        assert_eq!(
            message(twice, &with(None, None)),
            "f.npy: rows 1 and 2 have the same id 'p'; give every row its own"
        );
    }

    #[test]
    fn missing_values_are_noted_and_empty_rows_refused() {
        let mut holed = parts(&[]);
        holed.array.set(0, 0, f64::NAN);
        assert_eq!(table_of(holed, &ReadOptions::default()).2, ["missing values: 1, in 1 of 3 columns"]);
        let mut empty = parts(&[]);
        empty.array.row_mut(1).fill(f64::NAN);
        assert_eq!(
            message(empty, &ReadOptions::default()),
            "f.npy, row 2: the row has no value at all; remove it, or fill values in"
        );
    }

    #[test]
    fn files_larger_than_the_limit_refused() {
        assert_eq!(
            whole(std::io::repeat(1), "f.npz", 1 << 20).unwrap_err().to_string(),
            "f.npz: the file in memory needs 2.0 MiB but 1.0 MiB may be used; allow more memory, or save fewer rows"
        );
        assert_eq!(whole(&[7; 3_000_000][..], "f.npz", 3_000_000).unwrap(), vec![7; 3_000_000]);
    }
}
