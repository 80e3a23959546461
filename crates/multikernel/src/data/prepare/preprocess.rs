//! Preprocessing of features before kernels see them, learned on training rows alone.

use std::borrow::Cow;
use std::str::FromStr;

use super::encode::{Encoded, EncodedLayout, Encoder, Seen, Wanted, numbers_of, views_among};
use super::log::ln_1p;
use super::scale::{Scaler, moments, sparse_moments};
use crate::data::table::words::{list, quoted};
use crate::data::table::{Presence, Samples, ToldKind, View};
use crate::error::{Error, Result};
use crate::features::Features;
use crate::file::{Codec, Record};

/// How features are scaled before kernels see them; learned on training rows, stored in the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scale {
    /// Mean 0 and standard deviation 1 per column; constant columns are only shifted.
    #[default]
    Standard,
    /// Unchanged.
    None,
}

impl Scale {
    /// The word used by the command line and in files.
    pub fn word(self) -> &'static str {
        match self {
            Scale::Standard => "standard",
            Scale::None => "none",
        }
    }
}

impl FromStr for Scale {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "standard" => Ok(Scale::Standard),
            "none" => Ok(Scale::None),
            _ => Err(Error::param("scale", format!("must be standard or none, got `{text}`"))),
        }
    }
}

/// The columns to be log-transformed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LogChoice {
    /// None.
    #[default]
    None,
    /// All.
    All,
    /// The columns of these views.
    Views(Vec<String>),
}

impl LogChoice {
    /// The text used by the command line and in files; `None` if no logarithm is taken.
    pub fn word(&self) -> Option<String> {
        match self {
            LogChoice::None => None,
            LogChoice::All => Some("all".into()),
            LogChoice::Views(views) => Some(views.join(",")),
        }
    }

    /// Whether each of `n` columns is chosen; empty if none is.
    fn columns(&self, n: usize, views: &[View]) -> Result<Vec<bool>> {
        let names = match self {
            LogChoice::None => return Ok(vec![]),
            LogChoice::All => return Ok(vec![true; n]),
            LogChoice::Views(names) => names,
        };
        let mut chosen = vec![false; n];
        for name in names {
            let Some(view) = views.iter().find(|view| view.name == *name) else {
                let known: Vec<&str> = views.iter().map(|view| view.name.as_str()).collect();
                let known = if known.is_empty() { "none".into() } else { list(&known, 8) };
                let message = format!("the data has no view {} (its views: {known}); name one, or all", quoted(name));
                return Err(Error::param("log", message));
            };
            chosen[view.columns.clone()].fill(true);
        }
        Ok(chosen)
    }
}

/// The preprocessing steps: the logarithm, then the filter, then missing values, then the scale.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recipe {
    /// How columns are scaled.
    pub scale: Scale,
    /// The columns to transform by `ln(1 + x)` first.
    pub log: LogChoice,
    /// The number of columns to keep in each view (or overall, without views): those with the largest variance.
    pub top_variance: Option<usize>,
}

impl Recipe {
    /// Whether it can be applied to all these rows; checked before they are split, while rows still have their numbers.
    ///
    /// # Errors
    /// An unknown view, or a value whose logarithm does not exist.
    pub fn check(&self, rows: &Features, names: &[String], views: &[View]) -> Result<()> {
        logarithm(rows, &self.log.columns(rows.n_cols(), views)?, names).map(|_| ())
    }

    /// The numbers after its first step, the logarithm.
    pub(crate) fn logged(&self, numbers: &NumberColumns<'_>) -> Result<Features> {
        let log = self.log.columns(numbers.names.len(), &numbers.views)?;
        logarithm(&numbers.rows, &log, &numbers.names)
    }
}

/// The columns of a table that are numbers.
pub(crate) struct NumberColumns<'a> {
    pub(crate) rows: Cow<'a, Features>,
    pub(crate) names: Vec<String>,
    /// The views of the table as ranges among these columns.
    pub(crate) views: Vec<View>,
}

impl NumberColumns<'_> {
    pub(crate) fn of(samples: &Samples) -> NumberColumns<'_> {
        if samples.is_numeric() {
            let rows = Cow::Borrowed(samples.features());
            return NumberColumns { rows, names: samples.names().to_vec(), views: samples.views().to_vec() };
        }
        let at = numbers_of(samples);
        NumberColumns {
            rows: Cow::Owned(samples.features().select_cols(&at)),
            names: at.iter().map(|&j| samples.names()[j].clone()).collect(),
            views: views_among(samples.views(), &at),
        }
    }

    /// How many rows lack each view entirely.
    pub(crate) fn absent(&self) -> Vec<usize> {
        match Presence::of(&self.rows, &self.views).filter(|_| !self.views.is_empty()) {
            Some(presence) => (0..self.views.len()).map(|v| presence.n_rows() - presence.count(v)).collect(),
            None => vec![0; self.views.len()],
        }
    }
}

/// A [`Recipe`] with everything it learned from training rows. It applies to any rows, so that no information from test
/// rows leaks into training.
///
/// Missing values (NaN) are filled with the mean of the training values of their column, after the logarithm: the
/// centre, where kernels see no difference in that column.
///
/// ```
/// use multikernel::{Matrix, data::{Preprocessor, Recipe}};
/// let train = Matrix::from_vec(3, 2, vec![1.0, 5.0, 3.0, f64::NAN, 2.0, 7.0])?.into();
/// let names = ["a".to_string(), "b".to_string()];
/// let fitted = Preprocessor::fit(&Recipe::default(), &train, &names, &[])?;
/// assert_eq!(fitted.apply(&train)?.to_dense()?.get(1, 1), 0.0);
/// assert_eq!(fitted.notes(), ["1 missing value in 1 of 2 columns, filled with the means of the training rows"]);
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preprocessor {
    /// Names of all input columns.
    incoming: Vec<String>,
    /// Whether each input column is log-transformed; empty if none is.
    log: Vec<bool>,
    /// The input columns that are kept, ascending.
    kept: Vec<usize>,
    names: Vec<String>,
    views: Vec<View>,
    /// Fill values for missing entries of the kept columns, before scaling.
    fill: Vec<f64>,
    scaler: Scaler,
    notes: Vec<String>,
    /// For tables that are not all numbers, or whose kernels need other features: the fields above then describe their
    /// numbers.
    encoder: Option<Box<Encoder>>,
}

/// Statistics of a column.
pub(crate) struct ColumnStatistics {
    pub(crate) mean: f64,
    pub(crate) scale: f64,
    /// 0 for a constant column, else its scale.
    pub(crate) spread: f64,
    pub(crate) n_missing: usize,
    pub(crate) is_empty: bool,
}

impl Preprocessor {
    /// Learns from training rows (n x d) with these names and views. Costs a few passes over the values.
    ///
    /// # Errors
    /// An unknown view, a value of -1 or less to be log-transformed (by row and column), or no rows.
    pub fn fit(recipe: &Recipe, rows: &Features, names: &[String], views: &[View]) -> Result<Self> {
        if rows.n_rows() == 0 {
            return Err(Error::input("cannot learn a scale from no rows; give at least one"));
        }
        let log = recipe.log.columns(rows.n_cols(), views)?;
        let logged = logarithm(rows, &log, names)?;
        let mut columns = columns(&logged);
        forgive_absent_views(&mut columns, rows, views);
        Preprocessor::of_statistics(recipe, log, &columns, (names, views))
    }

    /// What is learned from these statistics of each column, after the logarithm of the chosen ones.
    fn of_statistics(
        recipe: &Recipe,
        log: Vec<bool>,
        columns: &[ColumnStatistics],
        (names, views): (&[String], &[View]),
    ) -> Result<Self> {
        let kept = kept(recipe.top_variance, columns, views);
        let at = |k: usize| &columns[kept[k]];
        let scaler = match recipe.scale {
            Scale::None => Scaler::identity(kept.len()),
            Scale::Standard => {
                let (mean, scale) = (0..kept.len()).map(|k| (at(k).mean, at(k).scale)).unzip();
                Scaler::from_parts(mean, scale)?
            }
        };
        let fill = (0..kept.len()).map(|k| at(k).mean).collect();
        let notes = notes(columns, &kept, names, views, recipe.top_variance);
        let (names_kept, views_kept) = placed(&kept, names, views);
        let incoming = names.to_vec();
        let encoder = None;
        Ok(Preprocessor { incoming, log, kept, names: names_kept, views: views_kept, fill, scaler, notes, encoder })
    }

    /// [`Preprocessor::fit_samples`] from what was summed up elsewhere: the statistics of numbers that [`Recipe::logged`]
    /// gave, and, for a table that is not all numbers or whose kernels need other features, what all rows say about them.
    /// Of `samples`, which may be any of the rows, only names, kinds and views count.
    pub(crate) fn of_parts(
        recipe: &Recipe,
        columns: &[ColumnStatistics],
        samples: &Samples,
        seen: Option<(Seen, &Wanted)>,
        is_dense: bool,
    ) -> Result<Self> {
        let NumberColumns { names, views, .. } = NumberColumns::of(samples);
        let log = recipe.log.columns(names.len(), &views)?;
        let fitted = Preprocessor::of_statistics(recipe, log, columns, (&names, &views))?;
        let Some((seen, wanted)) = seen else { return Ok(fitted) };
        let encoder = Encoder::of_seen(seen, wanted, samples, &fitted.kept, is_dense)?;
        Ok(Preprocessor { encoder: Some(Box::new(encoder)), ..fitted })
    }

    /// [`Preprocessor::fit`] for a table of any kinds, with the features that kernels ask for besides its own. Numbers
    /// are treated as there; categories become one column for each level, 0 or 1, which are not scaled.
    ///
    /// ```
    /// use multikernel::data::{Preprocessor, ReadOptions, Recipe, read_from};
    /// let text = "age,sex,y\n30,f,a\n40,m,b\n35,f,a\n";
    /// let samples = read_from(text.as_bytes(), "t.csv", &ReadOptions::default())?.samples;
    /// let fitted = Preprocessor::fit_samples(&Recipe::default(), &samples, &[], false)?;
    /// assert_eq!(fitted.names(), ["age", "sex=f", "sex=m"]);
    /// assert_eq!(fitted.apply_samples(&samples)?.to_dense()?.row(1)[1..], [0.0, 1.0]);
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Preprocessor::fit`]. With `is_dense` the rows are dense, however many features they have.
    pub fn fit_samples(recipe: &Recipe, samples: &Samples, wanted: &[Encoded], is_dense: bool) -> Result<Self> {
        if samples.is_numeric() && wanted.is_empty() {
            return Preprocessor::fit(recipe, samples.features(), samples.names(), samples.views());
        }
        let numbers = NumberColumns::of(samples);
        let fitted = Preprocessor::fit(recipe, &numbers.rows, &numbers.names, &numbers.views)?;
        let encoder = Encoder::fit(samples, wanted, &fitted.kept, is_dense)?;
        Ok(Preprocessor { encoder: Some(Box::new(encoder)), ..fitted })
    }

    /// [`Preprocessor::apply`] for rows of any kinds, with the same columns as the training rows.
    pub fn apply_samples(&self, samples: &Samples) -> Result<Features> {
        let Some(encoder) = &self.encoder else {
            if let Some(j) = (0..samples.n_features()).find(|&j| samples.kind(j).is_text()) {
                let message = format!("column {} holds texts, numbers in training", quoted(&samples.names()[j]));
                return Err(Error::input(message));
            }
            return self.apply(samples.features());
        };
        if samples.n_features() != encoder.names().len() {
            let (found, wanted) = (samples.n_features(), encoder.names().len());
            return Err(Error::input(format!("the rows have {found} columns, those of training {wanted}")));
        }
        encoder.check(samples)?;
        encoder.apply(samples, &self.apply(&samples.features().select_cols(&numbers_of(samples)))?)
    }

    /// Where the columns of the table went; `None` if each is a feature.
    pub fn layout(&self) -> Option<EncodedLayout<'_>> {
        self.encoder.as_ref().map(|encoder| encoder.layout())
    }

    /// The kind of each column of the table; empty if all are numbers.
    pub fn kinds(&self) -> &[ToldKind] {
        self.encoder.as_ref().map_or(&[], |encoder| encoder.told())
    }

    /// What rows hold that no training row did, such as new levels of categories, one line each.
    pub fn unseen(&self, samples: &Samples) -> Vec<String> {
        self.encoder.as_ref().map_or(vec![], |encoder| encoder.unseen(samples))
    }

    /// A plain scaler, as stored in files of the first versions.
    pub(crate) fn of_scaler(scaler: Scaler, names: &[String], views: &[View]) -> Result<Self> {
        if scaler.mean().len() != names.len() {
            return Err(Error::input("its arrays do not fit its number of features"));
        }
        let (fill, kept) = (scaler.mean().to_vec(), (0..names.len()).collect());
        let (incoming, names, views) = (names.to_vec(), names.to_vec(), views.to_vec());
        Ok(Preprocessor { incoming, log: vec![], kept, names, views, fill, scaler, notes: vec![], encoder: None })
    }

    /// The scaler, if there is nothing else.
    pub(crate) fn as_scaler(&self) -> Option<&Scaler> {
        let plain = self.encoder.is_none()
            && self.log.is_empty()
            && self.notes.is_empty()
            && self.kept.len() == self.incoming.len()
            && self.fill == self.scaler.mean();
        plain.then_some(&self.scaler)
    }

    /// What columns were scaled by, for kernels that take them in their own units; none for tables that are not all
    /// numbers.
    pub fn units(&self) -> Option<&Scaler> {
        self.encoder.is_none().then_some(&self.scaler)
    }

    /// Number of input columns.
    pub fn n_features(&self) -> usize {
        self.encoder.as_ref().map_or(self.incoming.len(), |encoder| encoder.names().len())
    }

    /// Positions of the columns that are kept, ascending, among those that are numbers.
    pub fn kept(&self) -> &[usize] {
        &self.kept
    }

    /// Names of the columns that are kept.
    pub fn names(&self) -> &[String] {
        self.encoder.as_ref().map_or(&self.names, |encoder| &encoder.out_names)
    }

    /// The views, as ranges of the columns that are kept.
    pub fn views(&self) -> &[View] {
        self.encoder.as_ref().map_or(&self.views, |encoder| &encoder.out_views)
    }

    /// Notes for the user: how many values were missing, how many columns were kept.
    pub fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// The rows as kernels take them: the kept columns, nothing missing, in the same storage (sparse stays sparse).
    ///
    /// # Errors
    /// A different number of columns, a value whose logarithm does not exist, or one so far outside the training range
    /// that its scaled value is not finite.
    pub fn apply(&self, rows: &Features) -> Result<Features> {
        if rows.n_cols() != self.incoming.len() {
            return Err(Error::input(format!(
                "the rows have {} columns, the scaler was learned on {}",
                rows.n_cols(),
                self.incoming.len()
            )));
        }
        let logged = logarithm(rows, &self.log, &self.incoming)?;
        let mut rows = if self.kept.len() == self.incoming.len() { logged } else { logged.select_cols(&self.kept) };
        if let Features::Dense(table) = &mut rows {
            for i in 0..table.n_rows() {
                for (value, &fill) in table.row_mut(i).iter_mut().zip(&self.fill) {
                    *value = if value.is_nan() { fill } else { *value };
                }
            }
        }
        self.scaler.apply(&rows)
    }

    pub(crate) fn encode(&self) -> Record {
        let mut record = Record::default();
        record.put("incoming", &self.incoming);
        record.put("log", &self.log.iter().map(|&log| u64::from(log)).collect::<Vec<_>>());
        record.put("kept", &self.kept);
        let views: Vec<String> = self.views.iter().map(|view| view.name.clone()).collect();
        let ends: Vec<usize> = self.views.iter().flat_map(|view| [view.columns.start, view.columns.end]).collect();
        record.put("views", &views);
        record.put("ends", &ends);
        record.put("fill", &self.fill);
        record.put("mean", &self.scaler.mean().to_vec());
        record.put("scale", &self.scaler.scale().to_vec());
        record.put("notes", &self.notes);
        if let Some(encoder) = &self.encoder {
            record.put_record("encoder", encoder.encode());
        }
        record
    }

    pub(crate) fn decode(record: &Record) -> Result<Self> {
        let incoming: Vec<String> = record.take("incoming")?;
        let log: Vec<bool> = record.take::<Vec<u64>>("log")?.into_iter().map(|log| log != 0).collect();
        let (kept, fill): (Vec<usize>, Vec<f64>) = (record.take("kept")?, record.take("fill")?);
        let (names, ends): (Vec<String>, Vec<usize>) = (record.take("views")?, record.take("ends")?);
        let scaler = Scaler::from_parts(record.take("mean")?, record.take("scale")?)?;
        let n = kept.len();
        let encoder = record.take_record("encoder");
        let has_encoder = !encoder.is_empty();
        let fits = (log.is_empty() || log.len() == incoming.len())
            && kept.windows(2).all(|pair| pair[0] < pair[1])
            && kept.last().is_none_or(|&last| last < incoming.len())
            && [fill.len(), scaler.mean().len()] == [n; 2]
            && fill.iter().all(|fill| fill.is_finite())
            && ends.len() == 2 * names.len()
            && ends
                .chunks_exact(2)
                .all(|ends| (ends[0] < ends[1] || has_encoder && ends[0] == ends[1]) && ends[1] <= n);
        if !fits {
            return Err(Error::input("its preprocessing does not fit together"));
        }
        let view = |(name, ends): (String, &[usize])| View { name, columns: ends[0]..ends[1] };
        let views = names.into_iter().zip(ends.chunks_exact(2)).map(view).collect();
        let names = kept.iter().map(|&column| incoming[column].clone()).collect();
        let encoder = has_encoder.then(|| Encoder::decode(&encoder, n).map(Box::new)).transpose()?;
        if encoder.as_ref().is_some_and(|encoder| encoder.n_numbers() != incoming.len()) {
            return Err(Error::input("its columns of numbers are not those of its preprocessing"));
        }
        Ok(Preprocessor { incoming, log, kept, names, views, fill, scaler, notes: record.take("notes")?, encoder })
    }
}

impl Codec for Preprocessor {
    fn encode(&self) -> Record {
        Preprocessor::encode(self)
    }

    fn decode(record: &Record) -> Result<Self> {
        Preprocessor::decode(record)
    }
}

/// `ln(1 + x)` of the chosen columns.
fn logarithm(rows: &Features, log: &[bool], names: &[String]) -> Result<Features> {
    if log.is_empty() {
        return Ok(rows.clone());
    }
    let refuse = |i: usize, j: usize, value: f64| {
        Error::input(format!(
            "row {}, column {}: {value} has no logarithm ln(1 + x); it must be above -1: correct it, or take no logarithm of the column",
            i + 1,
            quoted(&names[j])
        ))
    };
    match rows {
        Features::Dense(table) => {
            let mut table = table.clone();
            for i in 0..table.n_rows() {
                for (j, value) in table.row_mut(i).iter_mut().enumerate().filter(|&(j, _)| log[j]) {
                    if *value <= -1.0 {
                        return Err(refuse(i, j, *value));
                    }
                    *value = ln_1p(*value);
                }
            }
            Ok(table.into())
        }
        Features::Sparse(sparse) => {
            for i in 0..sparse.n_rows() {
                let (columns, values) = sparse.entries(i);
                let bad = columns.iter().zip(values).find(|&(&j, &value)| log[j as usize] && value <= -1.0);
                if let Some((&j, &value)) = bad {
                    return Err(refuse(i, j as usize, value));
                }
            }
            let of = |j: usize, value: f64| if log[j] { ln_1p(value) } else { value };
            if let Some(j) = (0..log.len()).find(|&j| log[j] && sparse.background()[j] <= -1.0) {
                return Err(refuse(0, j, sparse.background()[j]));
            }
            let background = sparse.background().iter().enumerate().map(|(j, &value)| of(j, value)).collect();
            Ok(sparse.map(of, background).into())
        }
    }
}

/// Statistics of each column over its present values.
fn columns(rows: &Features) -> Vec<ColumnStatistics> {
    let column = |mean: f64, scale: f64, constant: bool, n_missing: usize, is_empty: bool| ColumnStatistics {
        mean,
        scale,
        spread: if constant { 0.0 } else { scale },
        n_missing,
        is_empty,
    };
    match rows {
        Features::Dense(table) => {
            let one = |j: usize| {
                let mut values = table.column(j);
                values.retain(|value| !value.is_nan());
                let (mean, mut scale) = moments(&values, None);
                // Nothing is known about a column without a value: new rows' values there must not count.
                if values.is_empty() {
                    scale = f64::MAX;
                }
                let constant = values.iter().all(|value| *value == values[0]);
                column(mean, scale, constant, table.n_rows() - values.len(), values.is_empty())
            };
            (0..table.n_cols()).map(one).collect()
        }
        Features::Sparse(sparse) => {
            let (means, scales) = sparse_moments(sparse);
            let (ends, values) = sparse.by_column();
            let mut start = 0;
            let mut constant = |end: usize, background: f64| {
                let stored = &values[start..end];
                start = end;
                let first = stored.first().copied().unwrap_or(background);
                stored.iter().all(|&value| value == first) && (stored.len() == sparse.n_rows() || first == background)
            };
            let is_constant: Vec<bool> =
                ends.iter().zip(sparse.background()).map(|(&end, &background)| constant(end, background)).collect();
            let all = means.into_iter().zip(scales).zip(is_constant);
            all.map(|((mean, scale), constant)| column(mean, scale, constant, 0, false)).collect()
        }
    }
}

/// Excludes the values of views that a row lacks entirely from the count of missing ones.
fn forgive_absent_views(columns: &mut [ColumnStatistics], rows: &Features, views: &[View]) {
    let Some(presence) = Presence::of(rows, views).filter(|_| !views.is_empty()) else { return };
    for (v, view) in views.iter().enumerate() {
        let absent = presence.n_rows() - presence.count(v);
        columns[view.columns.clone()].iter_mut().for_each(|column| column.n_missing -= absent);
    }
}

/// The columns with the largest spread in each view, or overall without views; columns outside all views are kept.
fn kept(top: Option<usize>, columns: &[ColumnStatistics], views: &[View]) -> Vec<usize> {
    let all = 0..columns.len();
    let Some(top) = top else { return all.collect() };
    let ranges: Vec<_> =
        if views.is_empty() { vec![all.clone()] } else { views.iter().map(|view| view.columns.clone()).collect() };
    let mut kept: Vec<usize> = all.filter(|j| !ranges.iter().any(|range| range.contains(j))).collect();
    for range in ranges {
        let mut order: Vec<usize> = range.collect();
        // Stable: among equal columns the first are kept.
        order.sort_by(|&a, &b| columns[b].spread.total_cmp(&columns[a].spread));
        order.truncate(top.max(1));
        kept.extend(order);
    }
    kept.sort_unstable();
    kept
}

/// Names and views of the kept columns.
fn placed(kept: &[usize], names: &[String], views: &[View]) -> (Vec<String>, Vec<View>) {
    let before = |column: usize| kept.partition_point(|&k| k < column);
    let view = |view: &View| View { columns: before(view.columns.start)..before(view.columns.end), ..view.clone() };
    (kept.iter().map(|&column| names[column].clone()).collect(), views.iter().map(view).collect())
}

fn notes(
    columns: &[ColumnStatistics],
    kept: &[usize],
    names: &[String],
    views: &[View],
    top: Option<usize>,
) -> Vec<String> {
    let mut notes = vec![];
    let holes: Vec<usize> = kept.iter().copied().filter(|&j| columns[j].n_missing > 0).collect();
    let n_missing: usize = holes.iter().map(|&j| columns[j].n_missing).sum();
    if n_missing > 0 {
        let values = if n_missing == 1 { "1 missing value".into() } else { format!("{n_missing} missing values") };
        notes.push(format!(
            "{values} in {} of {} columns, filled with the means of the training rows",
            holes.len(),
            kept.len()
        ));
    }
    let empty: Vec<&String> = holes.iter().filter(|&&j| columns[j].is_empty).map(|&j| &names[j]).collect();
    if !empty.is_empty() {
        notes.push(format!(
            "{} without any value in the training rows, filled with 0: {}",
            empty.len(),
            list(&empty, 5)
        ));
    }
    if top.is_some() && kept.len() < columns.len() {
        let count = |range: &std::ops::Range<usize>| kept.iter().filter(|&j| range.contains(j)).count();
        let of = |view: &View| format!("{} of {} columns of {}", count(&view.columns), view.columns.len(), view.name);
        let each: Vec<String> = views.iter().map(of).collect();
        let all = format!("{} of {} columns", kept.len(), columns.len());
        notes.push(format!("kept by variance: {}", if each.is_empty() { all } else { each.join(", ") }));
    }
    notes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::data::{ReadOptions, read_from};
    use crate::features::tests::{sparse, tables};
    use crate::linalg::Matrix;

    const GAP: f64 = f64::NAN;

    fn names(n: usize) -> Vec<String> {
        (0..n).map(|j| format!("f{j}")).collect()
    }

    fn table(n_rows: usize, n_cols: usize, values: &[f64]) -> Features {
        Matrix::from_vec(n_rows, n_cols, values.to_vec()).unwrap().into()
    }

    fn view(name: &str, columns: std::ops::Range<usize>) -> View {
        View { name: name.into(), columns }
    }

    fn dense(features: &Features) -> Vec<f64> {
        features.to_dense().unwrap().into_owned().into_data()
    }

    #[test]
    fn missing_values_are_left_out_of_the_moments_and_filled_with_the_mean() {
        let rows = table(4, 3, &[1.0, GAP, 5.0, 3.0, GAP, GAP, GAP, GAP, 9.0, 5.0, GAP, 1.0]);
        let fitted = Preprocessor::fit(&Recipe::default(), &rows, &names(3), &[]).unwrap();
        // Column 0 has 1, 3, 5; column 2 has 5, 9, 1; column 1 nothing at all.
        let sd = (8.0f64 / 3.0).sqrt();
        let found = dense(&fitted.apply(&rows).unwrap());
        let expected = [-2.0 / sd, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0 / sd, 2.0 / sd, 0.0, -2.0 / sd];
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{found:?}");
        assert_eq!(
            fitted.notes(),
            [
                "6 missing values in 3 of 3 columns, filled with the means of the training rows",
                "1 without any value in the training rows, filled with 0: f1"
            ]
        );
        // Unscaled rows are filled with the mean as well.
        let recipe = Recipe { scale: Scale::None, ..Recipe::default() };
        let fitted = Preprocessor::fit(&recipe, &rows, &names(3), &[]).unwrap();
        assert_eq!(dense(&fitted.apply(&table(1, 3, &[GAP; 3])).unwrap()), [3.0, 0.0, 5.0]);
    }

    #[test]
    fn values_of_views_that_are_missing_as_a_whole_are_not_counted() {
        let rows = table(3, 3, &[1.0, GAP, GAP, 2.0, GAP, 5.0, 3.0, 1.0, 4.0]);
        let views = [view("a", 0..1), view("b", 1..3)];
        let fitted = Preprocessor::fit(&Recipe::default(), &rows, &names(3), &views).unwrap();
        assert_eq!(fitted.notes(), ["1 missing value in 1 of 3 columns, filled with the means of the training rows"]);
    }

    #[test]
    fn logarithm_comes_first_and_refuses_what_has_none() {
        let e = std::f64::consts::E;
        let rows = table(2, 2, &[0.0, 0.0, e - 1.0, e * e - 1.0]);
        let views = [view("a", 0..1), view("b", 1..2)];
        let recipe = |log: LogChoice| Recipe { log, scale: Scale::None, top_variance: None };
        let fitted = Preprocessor::fit(&recipe(LogChoice::Views(vec!["b".into()])), &rows, &names(2), &views).unwrap();
        let found = dense(&fitted.apply(&rows).unwrap());
        assert!((found[2] - (e - 1.0)).abs() < 1e-15 && (found[3] - 2.0).abs() < 1e-15);
        let all = Preprocessor::fit(&recipe(LogChoice::All), &rows, &names(2), &views).unwrap();
        assert!((dense(&all.apply(&rows).unwrap())[2] - 1.0).abs() < 1e-15);
        let error = fitted.apply(&table(1, 2, &[-7.0, -1.0])).unwrap_err().to_string();
        assert_eq!(
            error,
            "row 1, column 'f1': -1 has no logarithm ln(1 + x); it must be above -1: correct it, or take no logarithm of the column"
        );
        let error = Preprocessor::fit(&recipe(LogChoice::Views(vec!["c".into()])), &rows, &names(2), &views);
        let error = error.unwrap_err().to_string();
        assert_eq!(error, "parameter log: the data has no view 'c' (its views: a, b); name one, or all");
    }

    #[test]
    fn variance_filter_keeps_the_most_of_each_view() {
        let rows = table(2, 6, &[0.0, 0.0, 0.0, 5.0, 7.0, 1.0, 1.0, 3.0, 2.0, 5.0, 8.0, 9.0]);
        let views = [view("a", 0..3), view("b", 3..5)];
        let recipe = Recipe { top_variance: Some(1), ..Recipe::default() };
        let fitted = Preprocessor::fit(&recipe, &rows, &names(6), &views).unwrap();
        assert_eq!(fitted.kept(), [1, 4, 5]);
        assert_eq!(fitted.names(), ["f1", "f4", "f5"]);
        assert_eq!(fitted.views(), [view("a", 0..1), view("b", 1..2)]);
        assert_eq!(fitted.notes(), ["kept by variance: 1 of 3 columns of a, 1 of 2 columns of b"]);
        let recipe = Recipe { top_variance: Some(2), ..Recipe::default() };
        assert_eq!(Preprocessor::fit(&recipe, &rows, &names(6), &[]).unwrap().kept(), [1, 5]);
        let recipe = Recipe { top_variance: Some(9), ..Recipe::default() };
        assert_eq!(Preprocessor::fit(&recipe, &rows, &names(6), &views).unwrap().kept().len(), 6);
    }

    #[test]
    fn forged_parts_are_refused() {
        let rows = table(2, 2, &[0.0, 1.0, 2.0, GAP]);
        let fitted = Preprocessor::fit(&Recipe::default(), &rows, &names(2), &[view("a", 0..2)]).unwrap();
        assert_eq!(Preprocessor::decode(&fitted.encode()).unwrap(), fitted);
        let forged = |name: &str, change: &dyn Fn(&mut Record)| {
            let mut record = fitted.encode();
            change(&mut record);
            assert!(Preprocessor::decode(&record).is_err(), "{name}");
        };
        forged("kept", &|record| record.put("kept", &vec![1usize, 0]));
        forged("kept outside", &|record| record.put("kept", &vec![0usize, 2]));
        forged("fill", &|record| record.put("fill", &vec![0.0]));
        forged("fill not finite", &|record| record.put("fill", &vec![0.0, f64::INFINITY]));
        forged("log", &|record| record.put("log", &vec![1u64]));
        forged("ends", &|record| record.put("ends", &vec![0usize, 3]));
    }

    #[test]
    fn forged_columns_of_numbers_beside_categories_are_refused() {
        let text = "age,sex,y\n30,f,a\n40,m,b\n35,f,a\n";
        let samples = read_from(text.as_bytes(), "t.csv", &ReadOptions::default()).unwrap().samples;
        let fitted = Preprocessor::fit_samples(&Recipe::default(), &samples, &[], false).unwrap();
        let mut record = fitted.encode();
        assert_eq!(Preprocessor::decode(&record).unwrap(), fitted);
        record.put("incoming", &vec!["age".to_string(), "sex".to_string()]);
        let refused = Preprocessor::decode(&record).unwrap_err().to_string();
        assert!(refused.contains("columns of numbers"), "{refused}");
    }

    proptest! {
        #[test]
        fn without_gaps_it_is_the_scaler((matrix, background) in tables()) {
            prop_assume!(matrix.n_rows() > 0 && matrix.n_cols() > 0);
            for rows in [Features::from(matrix.clone()), sparse(&matrix, &background)] {
                let names = names(matrix.n_cols());
                let Ok(scaler) = Scaler::fit(&rows) else { continue };
                let fitted = Preprocessor::fit(&Recipe::default(), &rows, &names, &[]).unwrap();
                prop_assert_eq!(fitted.as_scaler(), Some(&scaler));
                match scaler.apply(&rows) {
                    Ok(scaled) => prop_assert_eq!(fitted.apply(&rows).unwrap(), scaled),
                    Err(_) => prop_assert!(fitted.apply(&rows).is_err()),
                }
            }
        }

        #[test]
        fn sparse_rows_are_kept_and_logged_as_dense_ones((matrix, background) in tables(), top in 1usize..4) {
            prop_assume!(matrix.n_rows() > 0 && matrix.n_cols() > 0);
            let positive = Matrix::from_fn(matrix.n_rows(), matrix.n_cols(), |i, j| matrix.get(i, j).abs().min(1e6));
            let background: Vec<f64> = background.iter().map(|value| value.abs().min(1e6)).collect();
            let recipe = Recipe { log: LogChoice::All, top_variance: Some(top), ..Recipe::default() };
            let names = names(matrix.n_cols());
            let fit = |rows: &Features| Preprocessor::fit(&recipe, rows, &names, &[]).unwrap();
            let (wide, narrow) = (Features::from(positive.clone()), sparse(&positive, &background));
            let (a, b) = (fit(&wide), fit(&narrow));
            // Columns that vary alike to the last digit may change places.
            prop_assume!(a.kept() == b.kept());
            let (a, b) = (dense(&a.apply(&wide).unwrap()), dense(&b.apply(&narrow).unwrap()));
            prop_assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() <= 1e-6 * (1.0 + a.abs())));
        }
    }
}
