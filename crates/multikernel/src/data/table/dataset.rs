//! Labelled samples, and the fingerprint that ties a model or checkpoint to them.

use std::collections::HashMap;

use super::expect::Expect;
use super::gram::Gram;
use super::labels::Labels;
use super::samples::Samples;
use super::target::{Numbers, Target, Times};
use crate::error::{Error, Result};
use crate::features::Features;

/// Samples with what is predicted for them: the input of every method.
///
/// ```
/// let sonar = multikernel::data::bundled("sonar")?;
/// let half = sonar.select(&(0..104).collect::<Vec<_>>());
/// assert_eq!(half.samples.n_samples(), 104);
/// assert_ne!(half.fingerprint(), sonar.fingerprint());
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// Its name in reports.
    pub name: String,
    /// The rows.
    pub samples: Samples,
    /// The class of each row; where numbers or times are predicted, its stratum, by which splits are dealt.
    pub labels: Labels,
    /// What is predicted.
    pub target: Target,
    /// The name of the label column in the file, if it has one.
    pub label_name: Option<String>,
    /// The position of the label column if it has no name, such as `column 5 (the last)`.
    pub label_column: Option<String>,
    /// Per row, the code of the patient, batch, ... it belongs to, if known: rows with the same code stay on the same
    /// side of every split.
    pub groups: Option<Vec<usize>>,
    /// The name of the groups column in the file, if it has one.
    pub group_name: Option<String>,
    /// The first index of LIBSVM text (0 or 1).
    pub index_base: Option<u8>,
}

impl Dataset {
    /// A set of rows with one label each.
    pub fn new(name: impl Into<String>, samples: Samples, labels: Labels) -> Result<Self> {
        let name = name.into();
        if samples.n_samples() != labels.n_samples() {
            return Err(Error::input(format!(
                "{name}: {} rows but {} labels; give one label per row",
                samples.n_samples(),
                labels.n_samples()
            )));
        }
        let (label_name, label_column, groups, group_name) = (None, None, None, None);
        let (target, index_base) = (Target::Classes, None);
        Ok(Dataset { name, samples, labels, target, label_name, label_column, groups, group_name, index_base })
    }

    /// A set of rows with numbers to predict.
    ///
    /// ```
    /// use multikernel::{Matrix, Plan, data::{Dataset, Numbers, Samples}};
    /// let x = Matrix::from_fn(60, 1, |i, _| i as f64 / 10.0);
    /// let y: Vec<f64> = x.data().iter().map(|x| x.sin()).collect();
    /// let data = Dataset::of_numbers("sine", Samples::unnamed(x)?, Numbers::one("y", y)?)?;
    /// let model = Plan::new("evidence")?.train(&data)?;
    /// let found = model.numbers().expect("numbers were trained on").predict(&data.samples)?;
    /// assert!((found.get(15, 0) - 1.5f64.sin()).abs() < 0.05);
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn of_numbers(name: impl Into<String>, samples: Samples, numbers: Numbers) -> Result<Self> {
        let set = Dataset::new(name, samples, numbers.strata()?)?;
        let label_name = Some(numbers.names().join(", "));
        Ok(Dataset { target: Target::Numbers(numbers), label_name, ..set })
    }

    /// A set of rows with times to an event to predict.
    pub fn of_times(name: impl Into<String>, samples: Samples, times: Times) -> Result<Self> {
        let set = Dataset::new(name, samples, times.strata()?)?;
        Ok(Dataset { target: Target::Times(times), ..set })
    }

    /// The same set with the group of each row as text, coded in order of first appearance; `name` is their name in
    /// reports. A blank group is an error.
    ///
    /// ```
    /// let glass = multikernel::data::bundled("glass")?.select(&[0, 1, 2]);
    /// let glass = glass.with_groups(&["lot 2", "lot 1", "lot 2"], Some("lot".into()))?;
    /// assert_eq!(glass.groups.unwrap(), [0, 1, 0]);
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn with_groups(self, groups: &[impl AsRef<str>], name: Option<String>) -> Result<Self> {
        if groups.len() != self.samples.n_samples() {
            return Err(Error::input(format!(
                "{}: {} rows but {} groups; give one group per row",
                self.name,
                self.samples.n_samples(),
                groups.len()
            )));
        }
        let mut seen = HashMap::new();
        let mut codes = Vec::with_capacity(groups.len());
        for (i, group) in groups.iter().enumerate() {
            let group = group.as_ref();
            if group.trim().is_empty() {
                return Err(Error::input(format!("row {}: the group is blank; fill it in", i + 1)));
            }
            let next = seen.len();
            codes.push(*seen.entry(group).or_insert(next));
        }
        Ok(Dataset { groups: Some(codes), group_name: name, ..self })
    }

    /// The given rows, in the given order, with the whole class list; panics on a row out of range, as slices do.
    pub fn select(&self, rows: &[usize]) -> Dataset {
        let (samples, labels) = (self.samples.select_rows(rows), self.labels.select(rows));
        Dataset {
            name: self.name.clone(),
            samples,
            labels,
            target: self.target.select(rows),
            label_name: self.label_name.clone(),
            label_column: self.label_column.clone(),
            groups: self.groups.as_ref().map(|groups| rows.iter().map(|&i| groups[i]).collect()),
            group_name: self.group_name.clone(),
            index_base: self.index_base,
        }
    }

    /// The information a model must keep to read rows like these again with
    /// [`ReadOptions::expecting`](crate::data::ReadOptions::expecting).
    pub fn expect(&self) -> Expect {
        Expect::new(self.samples.names().to_vec(), self.label_name.clone(), self.index_base)
            .with_views(self.samples.views().to_vec())
            .with_classes(if self.target == Target::Classes { self.labels.classes().to_vec() } else { vec![] })
            .with_kinds(self.samples.told_kinds())
    }

    /// 64 hexadecimal digits that change when any value, name, view, class, label, group or the order of rows changes.
    ///
    /// It is the BLAKE3 hash of: the text `multikernel dataset 1\n`; `n_samples`, `n_features`; all values row by row
    /// as the bits of an `f64` (so `0` and `-0` differ, and a missing value is always 0x7ff8000000000000); the number
    /// of column names and each name; the number of views and each view's name, first column and end; the number of
    /// classes and each class; the code of each row; where numbers or times are predicted, their
    /// names and values; and, where there are groups, the group of each row; where not all
    /// columns are numbers, the kind of each column and the number and text of each of its texts; and, for each Gram matrix,
    /// its name and its values between the rows, of a square one those on and below the diagonal. Counts and codes are 64-bit, a text is its length in
    /// bytes and its UTF-8 bytes, and all numbers are little-endian.
    ///
    /// The name of the set is excluded: the same data under another file name are the same data. So are the sample ids:
    /// nothing is learned from them, and a table joined from several files is the same data as one file of its rows.
    ///
    /// Sparse rows have the fingerprint of the equivalent dense table: it costs no memory, but the time to hash 8
    /// `n_samples` `n_features` bytes.
    pub fn fingerprint(&self) -> String {
        let mut hash = Canon(blake3::Hasher::new());
        hash.0.update(b"multikernel dataset 1\n");
        hash.count(self.samples.n_samples());
        hash.count(self.samples.n_features());
        hash.rows(self.samples.features());
        hash.texts(self.samples.names());
        hash.count(self.samples.views().len());
        for view in self.samples.views() {
            hash.text(&view.name);
            hash.count(view.columns.start);
            hash.count(view.columns.end);
        }
        hash.texts(self.labels.classes());
        for &code in self.labels.codes() {
            hash.count(code);
        }
        // Numbers and times to predict, which sets of classes lack.
        match &self.target {
            Target::Classes => {}
            Target::Numbers(numbers) => {
                hash.texts(numbers.names());
                numbers.values().data().iter().for_each(|value| hash.bits(*value));
            }
            Target::Times(times) => {
                hash.text("time");
                times.time().iter().for_each(|time| hash.bits(*time));
            }
        }
        // Groups affect splits inside a run; without any, the bytes are those of sets that never had them.
        for &group in self.groups.iter().flatten() {
            hash.count(group);
        }
        // So do kinds and texts, which tables of numbers alone lack.
        for coding in self.samples.codings() {
            hash.text(&coding.told.to_string());
            hash.texts(&coding.texts);
        }
        // So do Gram matrices: the entries between the rows, in their order.
        let at = self.samples.rows_of_grams();
        self.samples.grams().iter().for_each(|gram| hash.gram(gram, at));
        hash.0.finalize().to_hex().to_string()
    }
}

/// Numbers of Gram matrices that are hashed together: sixteen chunks side by side, several times.
const HASHED_NUMBERS: usize = 16 << 10;

/// Writes each part so that no two different sequences of parts give the same bytes.
struct Canon(blake3::Hasher);

impl Canon {
    fn count(&mut self, count: usize) {
        self.0.update(&(count as u64).to_le_bytes());
    }

    /// The name of a Gram matrix and its values between these rows; of a symmetric one, which all square ones are, half of them.
    fn gram(&mut self, gram: &Gram, at: &[usize]) {
        self.text(gram.name());
        let in_order = at.windows(2).all(|pair| pair[1] == pair[0] + 1);
        let (all, width) = (gram.values().data(), gram.n_cols());
        let (mut values, mut bytes) = (vec![], vec![]);
        for (k, &i) in at.iter().enumerate() {
            let row = all.get(i * width..(i + 1) * width).unwrap_or_default();
            let among = if gram.is_square() { &at[..=k] } else { at };
            match *among {
                [first, .., last] if in_order && last < width => values.extend_from_slice(&row[first..=last]),
                _ => values.extend(among.iter().filter_map(|&j| row.get(j))),
            }
            if values.len() >= HASHED_NUMBERS {
                self.numbers(&values, &mut bytes);
                values.clear();
            }
        }
        self.numbers(&values, &mut bytes);
    }

    /// The bytes of numbers, by way of a buffer.
    fn numbers(&mut self, values: &[f64], bytes: &mut Vec<u8>) {
        bytes.resize(8 * values.len(), 0);
        let (places, _) = bytes.as_chunks_mut::<8>();
        places.iter_mut().zip(values).for_each(|(place, value)| *place = value.to_le_bytes());
        self.0.update(bytes);
    }

    /// The bytes of the dense rows, whatever the storage.
    fn rows(&mut self, features: &Features) {
        let mut bytes = Vec::with_capacity(8 * features.n_cols());
        match features {
            Features::Dense(matrix) => {
                for row in matrix.rows() {
                    bytes.clear();
                    bytes.extend(row.iter().flat_map(|&value| bits(value).to_le_bytes()));
                    self.0.update(&bytes);
                }
            }
            Features::Sparse(sparse) => {
                let background = sparse.background();
                bytes.extend(background.iter().flat_map(|value| value.to_le_bytes()));
                let put = |bytes: &mut [u8], column: u32, value: f64| {
                    bytes[8 * column as usize..][..8].copy_from_slice(&value.to_le_bytes());
                };
                for i in 0..sparse.n_rows() {
                    let (columns, values) = sparse.entries(i);
                    columns.iter().zip(values).for_each(|(&column, &value)| put(&mut bytes, column, value));
                    self.0.update(&bytes);
                    columns.iter().for_each(|&column| put(&mut bytes, column, background[column as usize]));
                }
            }
        }
    }

    fn bits(&mut self, value: f64) {
        self.0.update(&bits(value).to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.update(text.as_bytes());
    }

    fn texts(&mut self, texts: &[String]) {
        self.count(texts.len());
        texts.iter().for_each(|text| self.text(text));
    }
}

/// The bits of a number; all missing values have the same bits, whatever their origin.
fn bits(value: f64) -> u64 {
    if value.is_nan() { 0x7ff8_0000_0000_0000 } else { value.to_bits() }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::data::View;
    use crate::features::tests::{sparse, tables};
    use crate::linalg::Matrix;

    fn set(values: &[f64], names: &[&str], views: &[(&str, usize, usize)], labels: &[&str]) -> Dataset {
        let features = Matrix::from_vec(labels.len(), names.len(), values.to_vec()).unwrap();
        let samples = Samples::new(features, names.iter().map(|n| n.to_string()).collect()).unwrap();
        let views = views.iter().map(|&(name, a, b)| View { name: name.into(), columns: a..b }).collect();
        Dataset::new("s", samples.with_views(views).unwrap(), Labels::new(labels).unwrap()).unwrap()
    }

    #[test]
    fn fingerprint_changes_with_any_part() {
        let values = [1.0, 2.0, 3.0, 4.0, 5.0, 0.0];
        let names = ["a", "bc", "d"];
        let base = set(&values, &names, &[("v", 0, 1)], &["p", "q"]);
        let mut variants = vec![base.clone()];
        for i in 0..values.len() {
            let mut changed = values;
            changed[i] = if values[i] == 0.0 { -0.0 } else { values[i] * (1.0 + f64::EPSILON) };
            variants.push(set(&changed, &names, &[("v", 0, 1)], &["p", "q"]));
        }
        // The same letters cut elsewhere must not collide.
        for other in [["ab", "c", "d"], ["a", "bc", "e"], ["bc", "a", "d"]] {
            variants.push(set(&values, &other, &[("v", 0, 1)], &["p", "q"]));
        }
        for views in [&[][..], &[("w", 0, 1)], &[("v", 0, 2)], &[("v", 1, 2)], &[("v", 0, 1), ("w", 0, 1)]] {
            variants.push(set(&values, &names, views, &["p", "q"]));
        }
        for labels in [["q", "p"], ["p", "p"], ["p", "r"]] {
            variants.push(set(&values, &names, &[("v", 0, 1)], &labels));
        }
        for groups in [["u", "v"], ["u", "u"]] {
            variants.push(base.clone().with_groups(&groups, None).unwrap());
        }
        variants.push(base.select(&[1, 0]));
        variants.push(base.select(&[0]));
        variants.push(set(&values, &["a", "bc"], &[("v", 0, 1)], &["p", "q", "q"]));
        let distinct: BTreeSet<String> = variants.iter().map(Dataset::fingerprint).collect();
        assert_eq!(distinct.len(), variants.len());
    }

    #[test]
    fn fingerprint_same_data_under_other_names_is_equal() {
        let a = set(&[1.0], &["a"], &[], &["p"]);
        let samples = a.samples.clone().with_ids(vec!["s1".into()]).unwrap();
        let b = Dataset { name: "other".into(), samples, ..a.clone() };
        assert_eq!(a.fingerprint(), b.fingerprint());
    }

    #[test]
    fn fingerprint_is_the_documented_bytes() {
        let set = set(&[0.5, -f64::NAN], &["a", "bc"], &[("v", 0, 1)], &["p"]);
        let mut bytes = b"multikernel dataset 1\n".to_vec();
        let mut count = |n: u64, text: &str| {
            bytes.extend(n.to_le_bytes());
            bytes.extend(text.as_bytes());
        };
        count(1, "");
        count(2, "");
        count(0.5f64.to_bits(), "");
        count(0x7ff8 << 48, "");
        count(2, "");
        count(1, "a");
        count(2, "bc");
        count(1, "");
        count(1, "v");
        count(0, "");
        count(1, "");
        count(1, "");
        count(1, "p");
        count(0, "");
        // Group names do not count, only membership.
        let set = set.with_groups(&["g"], Some("h".into())).unwrap();
        count(0, "");
        assert_eq!(set.fingerprint(), blake3::hash(&bytes).to_hex().to_string());
    }

    #[test]
    fn fingerprint_of_a_missing_value_depends_on_its_place_alone() {
        let of = |values: [f64; 2]| set(&values, &["a", "b"], &[], &["p"]).fingerprint();
        let payload = f64::from_bits(f64::NAN.to_bits() | 0xabc);
        for other in [-f64::NAN, payload, -payload] {
            assert_eq!(of([1.0, f64::NAN]), of([1.0, other]));
        }
        assert_ne!(of([1.0, f64::NAN]), of([f64::NAN, 1.0]));
        assert_ne!(of([1.0, f64::NAN]), of([1.0, 0.0]));
    }

    proptest! {
        #[test]
        fn fingerprint_of_sparse_rows_is_that_of_the_table((matrix, background) in tables()) {
            prop_assume!(matrix.n_rows() > 0);
            let labels = Labels::new(&vec!["p"; matrix.n_rows()]).unwrap();
            let of = |features: Features| {
                Dataset::new("s", Samples::unnamed(features).unwrap(), labels.clone()).unwrap().fingerprint()
            };
            prop_assert_eq!(of(sparse(&matrix, &background)), of(matrix.into()));
        }
    }

    #[test]
    fn groups_blank_or_too_few_refused() {
        let set = set(&[1.0, 2.0], &["a"], &[], &["p", "q"]);
        let message = |groups: &[&str]| set.clone().with_groups(groups, None).unwrap_err().to_string();
        assert_eq!(message(&["u"]), "s: 2 rows but 1 groups; give one group per row");
        assert_eq!(message(&["u", " "]), "row 2: the group is blank; fill it in");
    }

    #[test]
    fn dataset_different_lengths_refused() {
        let samples = Samples::unnamed(Matrix::zeros(2, 1)).unwrap();
        let error = Dataset::new("s", samples, Labels::new(&["a"]).unwrap()).unwrap_err();
        assert_eq!(error.to_string(), "s: 2 rows but 1 labels; give one label per row");
    }
}
