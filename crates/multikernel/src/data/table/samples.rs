//! Rows of numbers with named columns.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::gram::Gram;
use super::kind::{Coding, Kind, ToldKind};
use crate::error::{Error, Result};
use crate::features::Features;
use crate::linalg::Matrix;

/// A named group of adjacent columns, such as one omics block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Its name in kernels: `gaussian(1) on rna`.
    pub name: String,
    /// Its columns, counted from 0.
    pub columns: Range<usize>,
}

/// A table of numbers, one row per sample, with a unique name for each column.
///
/// NaN in a dense table marks a missing value. Two tables with the same values missing are equal.
///
/// ```
/// use multikernel::{Matrix, data::Samples};
/// let samples = Samples::unnamed(Matrix::from_vec(1, 3, vec![0.5, 2.0, f64::NAN])?)?;
/// assert_eq!(samples.names(), ["x1", "x2", "x3"]);
/// assert_eq!(samples.n_missing(), 1);
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Samples {
    features: Features,
    names: Vec<String>,
    /// One per column; empty if all columns are numbers.
    codings: Vec<Coding>,
    views: Vec<View>,
    ids: Option<Vec<String>>,
    /// The column the ids came from.
    id_name: Option<String>,
    /// The source row of each sample, if rows were left out.
    row_numbers: Option<Vec<usize>>,
    grams: Vec<Gram>,
    /// The index of each sample among the rows of the Gram matrices and, for training samples, their columns.
    at: Vec<usize>,
}

impl Samples {
    /// Samples over `features` (`n_samples` x `n_features`) with one name per column.
    ///
    /// Features are a [`Matrix`](crate::Matrix), in which NaN is a missing value, or [`Sparse`](crate::data::Sparse)
    /// rows, which have no missing values. Names must be unique and not blank, values must not be infinite, and there
    /// must be at least one column.
    pub fn new(features: impl Into<Features>, names: Vec<String>) -> Result<Self> {
        let features = features.into();
        if features.n_cols() == 0 {
            return Err(Error::input("samples have no columns; at least one feature is needed"));
        }
        if names.len() != features.n_cols() {
            return Err(Error::input(format!(
                "{} names for {} columns; give one name per column",
                names.len(),
                features.n_cols()
            )));
        }
        check_names(&names)?;
        if let Some((i, j, value)) = first_refused(&features) {
            let message = if value.is_nan() {
                "in sparse rows, which have no missing values; give a dense table, or fill it in"
            } else {
                "is infinite; correct it, or give NaN where a value is missing"
            };
            return Err(Error::input(format!("row {}, column '{}': {value} {message}", i + 1, names[j])));
        }
        let at = (0..features.n_rows()).collect();
        let (views, ids, id_name, row_numbers, grams) = (vec![], None, None, None, vec![]);
        Ok(Samples { features, names, codings: vec![], views, ids, id_name, row_numbers, grams, at })
    }

    /// Samples known only by their rows in Gram matrices, at least one matrix (see [`Samples::with_grams`]).
    pub fn of_grams(grams: Vec<Gram>) -> Result<Self> {
        let Some(first) = grams.first() else {
            return Err(Error::input("no Gram matrix; give at least one, or features"));
        };
        let (features, n) = (Features::from(Matrix::zeros(first.n_rows(), 0)), first.n_rows());
        let (names, views, ids) = (vec![], vec![], None);
        let at = (0..n).collect();
        let codings = vec![];
        Samples { features, names, codings, views, ids, id_name: None, row_numbers: None, grams: vec![], at }
            .with_grams(grams)
    }

    /// Samples with columns named `x1`, `x2`, ...
    pub fn unnamed(features: impl Into<Features>) -> Result<Self> {
        let features = features.into();
        let names = numbered(1, features.n_cols());
        Samples::new(features, names)
    }

    /// The same samples with named column groups, which must be non-empty, inside the table and distinctly named.
    pub fn with_views(mut self, views: Vec<View>) -> Result<Self> {
        for (v, view) in views.iter().enumerate() {
            if view.name.trim().is_empty() {
                return Err(Error::input(format!("view {}: its name is blank; give it a name", v + 1)));
            }
            if views[..v].iter().any(|other| other.name == view.name) {
                return Err(Error::input(format!("two views are called '{}'; rename one", view.name)));
            }
            if view.columns.is_empty() || view.columns.end > self.n_features() {
                return Err(Error::input(format!(
                    "view '{}': columns {}..{} of a table with {} columns; give a non-empty range inside it",
                    view.name,
                    view.columns.start,
                    view.columns.end,
                    self.n_features()
                )));
            }
        }
        self.views = views;
        Ok(self)
    }

    /// The same samples with ids, which identify them in messages and results and when files are joined; ids must be
    /// unique and not blank. Nothing is learned from them.
    ///
    /// ```
    /// use multikernel::{Matrix, data::Samples};
    /// let samples = Samples::unnamed(Matrix::zeros(2, 1))?.with_ids(vec!["s7".into(), "s2".into()])?;
    /// assert_eq!(samples.select_rows(&[1]).ids().unwrap(), ["s2"]);
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn with_ids(mut self, ids: Vec<String>) -> Result<Self> {
        if ids.len() != self.n_samples() {
            let message = format!("{} ids for {} samples; give one id per sample", ids.len(), self.n_samples());
            return Err(Error::input(message));
        }
        let mut seen = HashMap::with_capacity(ids.len());
        for (i, id) in ids.iter().enumerate() {
            if id.trim().is_empty() {
                return Err(Error::input(format!("row {}: its id is blank; fill it in", i + 1)));
            }
            if let Some(first) = seen.insert(id.as_str(), i) {
                let message =
                    format!("rows {} and {} have the same id '{id}'; give every row its own", first + 1, i + 1);
                return Err(Error::input(message));
            }
        }
        self.ids = Some(ids);
        Ok(self)
    }

    /// The same samples, with the name of the column their ids came from.
    #[must_use]
    pub fn with_id_name(mut self, name: Option<String>) -> Self {
        self.id_name = name;
        self
    }

    /// The same samples without views and with other column names.
    pub(in crate::data) fn renamed(&self, names: Vec<String>) -> Result<Self> {
        let all: Vec<usize> = (0..self.n_features()).collect();
        check_names(&names)?;
        Ok(Samples { names, ..self.select_columns(&all) })
    }

    /// The same samples with the kind of each column, the values of texts being positions among its texts; no codings
    /// if all columns are plain numbers.
    pub(crate) fn with_codings(mut self, codings: Vec<Coding>) -> Self {
        let is_plain = |coding: &Coding| matches!(coding.kind(), Kind::Number | Kind::YesNo);
        self.codings = if codings.iter().all(is_plain) { vec![] } else { codings };
        self
    }

    /// What the columns hold; empty if all are numbers.
    pub(crate) fn codings(&self) -> &[Coding] {
        &self.codings
    }

    /// Whether all columns are numbers.
    pub fn is_numeric(&self) -> bool {
        self.codings.is_empty()
    }

    /// The kind of a column; panics on a column out of range, as slices do.
    ///
    /// ```
    /// use multikernel::data::{Kind, ReadOptions, read_from};
    /// let text = "age,sex,y\n31,f,a\n40,m,b\n38,f,a\n";
    /// let samples = read_from(text.as_bytes(), "t.csv", &ReadOptions::default())?.samples;
    /// assert_eq!([samples.kind(0), samples.kind(1)], [Kind::Number, Kind::Category]);
    /// assert_eq!(samples.text(1, 1), Some("m"));
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn kind(&self, column: usize) -> Kind {
        if self.codings.is_empty() && column < self.n_features() {
            return Kind::Number;
        }
        self.codings[column].kind()
    }

    /// The text of a cell in a column of texts; `None` where it is missing or a number.
    pub fn text(&self, row: usize, column: usize) -> Option<&str> {
        let coding = self.codings.get(column).filter(|coding| coding.kind().is_text())?;
        match &self.features {
            Features::Dense(matrix) => coding.text(matrix.get(row, column)),
            Features::Sparse(_) => None,
        }
    }

    /// The kinds with what was said about them, one per column; empty if all columns are numbers.
    pub(in crate::data) fn told_kinds(&self) -> Vec<ToldKind> {
        self.codings.iter().map(|coding| coding.told.clone()).collect()
    }

    /// The same samples with their row numbers, counted from 1, in a source from which some rows were left out.
    pub(in crate::data) fn with_row_numbers(mut self, numbers: Option<Vec<usize>>) -> Self {
        self.row_numbers = numbers;
        self
    }

    /// The row number of a sample in its file, counted from 1 without the header; rows that were left out are counted.
    pub fn row_number(&self, row: usize) -> usize {
        self.row_numbers.as_ref().and_then(|numbers| numbers.get(row).copied()).unwrap_or(row + 1)
    }

    /// The name of the column the ids came from, if known: new files are joined by it.
    pub fn id_name(&self) -> Option<&str> {
        self.id_name.as_deref()
    }

    /// The same samples as the rows of these Gram matrices, in this order; the matrices must have distinct names.
    pub fn with_grams(mut self, grams: Vec<Gram>) -> Result<Self> {
        let mut names = HashSet::new();
        for gram in &grams {
            if gram.n_rows() != self.n_samples() {
                let (found, n) = (gram.n_rows(), self.n_samples());
                return Err(
                    gram.refuse(format!("has {found} rows, the data {n}; give one row per sample, in the same order"))
                );
            }
            if !names.insert(gram.name()) {
                return Err(Error::input(format!("two Gram matrices are called '{}'; rename one", gram.name())));
            }
        }
        (self.grams, self.at) = (grams, (0..self.n_samples()).collect());
        Ok(self)
    }

    /// The whole Gram matrices: [`Samples::rows_of_grams`] says which of their rows the samples are.
    pub fn grams(&self) -> &[Gram] {
        &self.grams
    }

    /// The row of the Gram matrices that corresponds to each sample.
    pub fn rows_of_grams(&self) -> &[usize] {
        &self.at
    }

    /// The values, `n_samples` x `n_features`.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// The values, moved out.
    pub(in crate::data) fn into_features(self) -> Features {
        self.features
    }

    /// Column names.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Named column groups; empty unless set by [`Samples::with_views`].
    pub fn views(&self) -> &[View] {
        &self.views
    }

    /// The id of each row, if rows have ids.
    pub fn ids(&self) -> Option<&[String]> {
        self.ids.as_deref()
    }

    /// Number of rows.
    pub fn n_samples(&self) -> usize {
        self.features.n_rows()
    }

    /// Number of columns.
    pub fn n_features(&self) -> usize {
        self.features.n_cols()
    }

    /// Number of missing values. Scans every value.
    pub fn n_missing(&self) -> usize {
        match &self.features {
            Features::Dense(matrix) => matrix.data().iter().filter(|value| value.is_nan()).count(),
            Features::Sparse(_) => 0,
        }
    }

    /// The first row all of whose values are missing. In a table with categories, where a missing one is a level of its
    /// own, there is none.
    pub(in crate::data) fn first_empty_row(&self) -> Option<usize> {
        if self.codings.iter().any(|coding| coding.kind() == Kind::Category) {
            return None;
        }
        match &self.features {
            Features::Dense(matrix) => matrix.rows().position(|row| row.iter().all(|value| value.is_nan())),
            Features::Sparse(_) => None,
        }
    }

    /// The rows all of whose values are missing.
    pub(in crate::data) fn empty_rows(&self) -> Vec<usize> {
        match &self.features {
            Features::Dense(matrix) => {
                let rows = matrix.rows().enumerate();
                rows.filter(|(_, row)| row.iter().all(|value| value.is_nan())).map(|(i, _)| i).collect()
            }
            Features::Sparse(_) => vec![],
        }
    }

    /// The given columns, in the given order, copied, without views; panics on a column out of range, as slices do.
    pub(crate) fn select_columns(&self, columns: &[usize]) -> Samples {
        Samples {
            features: self.features.select_cols(columns),
            names: columns.iter().map(|&j| self.names[j].clone()).collect(),
            codings: columns.iter().filter_map(|&j| self.codings.get(j).cloned()).collect(),
            views: Vec::new(),
            ids: self.ids.clone(),
            id_name: self.id_name.clone(),
            row_numbers: self.row_numbers.clone(),
            grams: self.grams.clone(),
            at: self.at.clone(),
        }
    }

    /// The samples without some columns; a view keeps what is left of it, and one that loses all its columns is gone.
    pub(in crate::data) fn without_columns(&self, columns: &[usize]) -> Result<Samples> {
        let kept: Vec<usize> = (0..self.n_features()).filter(|column| !columns.contains(column)).collect();
        let before = |end: usize| kept.iter().filter(|&&column| column < end).count();
        let of = |view: &View| View {
            name: view.name.clone(),
            columns: before(view.columns.start)..before(view.columns.end),
        };
        let views = self.views.iter().map(of).filter(|view| !view.columns.is_empty()).collect();
        let left = self.select_columns(&kept);
        let codings = left.codings.clone();
        left.with_codings(codings).with_views(views)
    }

    /// The same samples with the values of some columns from other rows: those of row i are now those of row `order[i]`.
    /// Sparse rows become dense.
    pub(crate) fn shuffled(&self, columns: &[usize], order: &[usize]) -> Result<Samples> {
        let old = self.features.to_dense()?;
        let mut new = old.clone().into_owned();
        for (i, &from) in order.iter().enumerate() {
            columns.iter().for_each(|&j| new.set(i, j, old.get(from, j)));
        }
        Ok(Samples { features: new.into(), ..self.clone() })
    }

    /// The given rows, in the given order, copied; panics on a row out of range, as slices do. A row taken twice keeps
    /// its id both times.
    pub fn select_rows(&self, rows: &[usize]) -> Samples {
        Samples {
            features: self.features.select_rows(rows),
            names: self.names.clone(),
            codings: self.codings.clone(),
            views: self.views.clone(),
            ids: self.ids.as_ref().map(|ids| rows.iter().map(|&i| ids[i].clone()).collect()),
            id_name: self.id_name.clone(),
            row_numbers: self.row_numbers.as_ref().map(|numbers| rows.iter().map(|&i| numbers[i]).collect()),
            grams: self.grams.clone(),
            at: rows.iter().map(|&i| self.at[i]).collect(),
        }
    }
}

/// Values missing on both sides are equal, unlike NaN in a plain comparison.
impl PartialEq for Samples {
    fn eq(&self, other: &Self) -> bool {
        let values = match (&self.features, &other.features) {
            (Features::Dense(a), Features::Dense(b)) => {
                let same = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan());
                (a.n_rows(), a.n_cols()) == (b.n_rows(), b.n_cols()) && a.data().iter().zip(b.data()).all(same)
            }
            (a, b) => a == b,
        };
        let grams = self.grams == other.grams && (self.grams.is_empty() || self.at == other.at);
        values
            && self.names == other.names
            && self.codings == other.codings
            && self.views == other.views
            && self.ids == other.ids
            && grams
    }
}

/// Whether columns are named `x1`, `x2`, ... (or from `x0`): made up by a reader rather than given by a person.
pub fn is_numbered(names: &[String]) -> bool {
    // As it is written: neither `x01` nor `x+1`.
    let is_number = |name: &str, k: usize| {
        name.strip_prefix('x')
            .is_some_and(|number| number.parse() == Ok(k) && (number == "0" || !number.starts_with(['0', '+'])))
    };
    (0..=1).any(|first| names.iter().enumerate().all(|(k, name)| is_number(name, first + k)))
}

/// `x<first>`, ... for `n` columns.
pub(in crate::data) fn numbered(first: usize, n: usize) -> Vec<String> {
    (first..first + n).map(|k| format!("x{k}")).collect()
}

/// Row, column and value of the first refused value: an infinity, or NaN in sparse rows.
fn first_refused(features: &Features) -> Option<(usize, usize, f64)> {
    match features {
        Features::Dense(matrix) => matrix.rows().enumerate().find_map(|(i, row)| {
            let j = row.iter().position(|value| value.is_infinite())?;
            Some((i, j, row[j]))
        }),
        Features::Sparse(_) => features.first_not_finite(),
    }
}

fn check_names(names: &[String]) -> Result<()> {
    // Without a look-up of each: there may be millions, batch after batch.
    if is_numbered(names) {
        return Ok(());
    }
    let mut seen = HashMap::with_capacity(names.len());
    for (j, name) in names.iter().enumerate() {
        if name.trim().is_empty() {
            return Err(Error::input(format!("column {}: its name is blank; give it a name", j + 1)));
        }
        if let Some(first) = seen.insert(name.as_str(), j) {
            return Err(Error::input(format!(
                "columns {} and {} are both called '{name}'; rename one",
                first + 1,
                j + 1
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::Sparse;
    use crate::linalg::Matrix;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn samples_infinite_refused_with_row_and_name() {
        let sparse = |value| Sparse::from_parts(vec![1, 2], vec![0, 1], vec![1.0, value], vec![0.0; 2]).unwrap();
        for bad in [f64::INFINITY, f64::NEG_INFINITY] {
            let dense = Matrix::from_vec(2, 2, vec![1.0, f64::NAN, 3.0, bad]).unwrap();
            for features in [Features::from(dense), sparse(bad).into()] {
                assert_eq!(
                    message(Samples::new(features, names(&["a", "b"]))),
                    format!("row 2, column 'b': {bad} is infinite; correct it, or give NaN where a value is missing")
                );
            }
        }
        assert_eq!(
            message(Samples::new(sparse(f64::NAN), names(&["a", "b"]))),
            "row 2, column 'b': NaN in sparse rows, which have no missing values; give a dense table, or fill it in"
        );
    }

    #[test]
    fn missing_values_counted_and_equal_to_one_another() {
        let samples = |values: [f64; 4]| Samples::unnamed(Matrix::from_vec(2, 2, values.to_vec()).unwrap()).unwrap();
        let holed = samples([f64::NAN, 1.0, f64::NAN, f64::NAN]);
        assert_eq!((holed.n_missing(), holed.first_empty_row()), (3, Some(1)));
        assert_eq!(holed, samples([-f64::NAN, 1.0, f64::NAN, f64::NAN]));
        assert_ne!(holed, samples([f64::NAN, 1.0, f64::NAN, 2.0]));
        assert_ne!(holed, samples([f64::NAN, 2.0, f64::NAN, f64::NAN]));
        assert_eq!((holed.select_rows(&[0]).n_missing(), holed.select_rows(&[0]).first_empty_row()), (1, None));
        let wide =
            Samples::unnamed(Matrix::from_vec(1, 4, holed.features().to_dense().unwrap().data().to_vec()).unwrap());
        assert_ne!(holed, wide.unwrap());
    }

    #[test]
    fn samples_bad_names_refused() {
        let features = Matrix::zeros(1, 2);
        assert_eq!(
            message(Samples::new(features.clone(), names(&["a"]))),
            "1 names for 2 columns; give one name per column"
        );
        assert_eq!(
            message(Samples::new(features.clone(), names(&["a", "a"]))),
            "columns 1 and 2 are both called 'a'; rename one"
        );
        assert_eq!(message(Samples::new(features, names(&["a", " "]))), "column 2: its name is blank; give it a name");
        assert_eq!(
            message(Samples::unnamed(Matrix::zeros(3, 0))),
            "samples have no columns; at least one feature is needed"
        );
    }

    #[test]
    fn views_outside_or_repeated_refused() {
        let samples = Samples::unnamed(Matrix::zeros(1, 3)).unwrap();
        let view = |name: &str, columns| View { name: name.into(), columns };
        let with = |views| samples.clone().with_views(views);
        assert_eq!(with(vec![view("a", 0..1), view("b", 1..3)]).unwrap().views().len(), 2);
        assert_eq!(message(with(vec![view("a", 0..1), view("a", 1..3)])), "two views are called 'a'; rename one");
        assert_eq!(
            message(with(vec![view("a", 2..4)])),
            "view 'a': columns 2..4 of a table with 3 columns; give a non-empty range inside it"
        );
        assert!(with(vec![view("a", 1..1)]).is_err());
        assert!(with(vec![view(" ", 0..1)]).is_err());
    }

    #[test]
    fn ids_repeated_blank_or_too_few_refused() {
        let with = |ids: &[&str]| Samples::unnamed(Matrix::zeros(3, 1)).unwrap().with_ids(names(ids));
        assert_eq!(with(&["b", "a", "c"]).unwrap().ids().unwrap(), ["b", "a", "c"]);
        assert_eq!(message(with(&["a", "b"])), "2 ids for 3 samples; give one id per sample");
        assert_eq!(message(with(&["a", "b", " "])), "row 3: its id is blank; fill it in");
        assert_eq!(message(with(&["a", "b", "a"])), "rows 1 and 3 have the same id 'a'; give every row its own");
        assert_ne!(with(&["a", "b", "c"]).unwrap(), with(&["a", "c", "b"]).unwrap());
    }

    #[test]
    fn select_rows_keeps_order_names_views_and_ids() {
        let samples = Samples::unnamed(Matrix::from_vec(3, 1, vec![1.0, 2.0, 3.0]).unwrap()).unwrap();
        let samples = samples.with_ids(names(&["a", "b", "c"])).unwrap();
        let samples = samples.with_views(vec![View { name: "v".into(), columns: 0..1 }]).unwrap();
        let picked = samples.select_rows(&[2, 0, 2]);
        assert_eq!(picked.features().to_dense().unwrap().data(), [3.0, 1.0, 3.0]);
        assert_eq!((picked.names(), picked.views()), (samples.names(), samples.views()));
        assert_eq!(picked.ids().unwrap(), ["c", "a", "c"]);
    }
}
