//! What is predicted: classes, numbers, or the time to an event.

use std::fmt;

use super::labels::Labels;
use crate::error::{Error, Result};
use crate::linalg::Matrix;

/// What is predicted.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Target {
    /// Classes, which are the labels of the set.
    #[default]
    Classes,
    /// Numbers.
    Numbers(Numbers),
    /// The time to an event.
    Times(Times),
}

/// The kinds of targets, which methods say they take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TargetKind {
    /// Classes.
    Classes,
    /// Numbers.
    Numbers,
    /// The time to an event.
    Times,
}

impl TargetKind {
    /// The word in messages and files.
    pub fn word(self) -> &'static str {
        match self {
            TargetKind::Classes => "classes",
            TargetKind::Numbers => "numbers",
            TargetKind::Times => "times",
        }
    }
}

impl fmt::Display for TargetKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Target {
    /// Its kind.
    pub fn kind(&self) -> TargetKind {
        match self {
            Target::Classes => TargetKind::Classes,
            Target::Numbers(_) => TargetKind::Numbers,
            Target::Times(_) => TargetKind::Times,
        }
    }

    /// The numbers, if numbers are predicted.
    pub fn numbers(&self) -> Option<&Numbers> {
        if let Target::Numbers(numbers) = self { Some(numbers) } else { None }
    }

    /// The times, if times are predicted.
    pub fn times(&self) -> Option<&Times> {
        if let Target::Times(times) = self { Some(times) } else { None }
    }

    /// The target of the given rows, in the given order; panics on a row out of range, as slices do.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Target {
        match self {
            Target::Classes => Target::Classes,
            Target::Numbers(numbers) => Target::Numbers(numbers.select(rows)),
            Target::Times(times) => Target::Times(times.select(rows)),
        }
    }
}

/// Numbers to predict: one or several columns.
///
/// ```
/// use multikernel::data::Numbers;
/// let prices = Numbers::one("price", vec![3.5, 2.0, 8.0])?;
/// assert_eq!((prices.names(), prices.n_samples()), (&["price".to_string()][..], 3));
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    names: Vec<String>,
    values: Matrix,
}

/// Rows per stratum, and the most strata: splits deal out rows of similar numbers evenly.
const STRATUM_ROWS: usize = 10;
const MAX_STRATA: usize = 10;

impl Numbers {
    /// The numbers of each row (n_samples x n_targets) with one name per column. A missing or infinite number is an
    /// error that names row and column.
    pub fn new(names: Vec<String>, values: Matrix) -> Result<Numbers> {
        if names.is_empty() || names.len() != values.n_cols() {
            let (n, columns) = (names.len(), values.n_cols());
            return Err(Error::input(format!("{n} names for {columns} columns to predict; give one name per column")));
        }
        for (i, row) in values.rows().enumerate() {
            if let Some(t) = row.iter().position(|value| !value.is_finite()) {
                let (row, name, found) = (i + 1, &names[t], shown(row[t]));
                return Err(Error::input(format!(
                    "row {row}: the target '{name}' is {found}; remove the row, or fill in a finite number"
                )));
            }
        }
        Ok(Numbers { names, values })
    }

    /// One number for each row.
    pub fn one(name: impl Into<String>, values: Vec<f64>) -> Result<Numbers> {
        Numbers::new(vec![name.into()], Matrix::from_vec(values.len(), 1, values)?)
    }

    /// The names of the columns.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The numbers, n_samples x n_targets.
    pub fn values(&self) -> &Matrix {
        &self.values
    }

    /// Number of rows.
    pub fn n_samples(&self) -> usize {
        self.values.n_rows()
    }

    /// Number of columns.
    pub fn n_targets(&self) -> usize {
        self.names.len()
    }

    /// The numbers of the given rows, in the given order; panics on a row out of range, as slices do.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Numbers {
        let values = Matrix::from_fn(rows.len(), self.n_targets(), |i, t| self.values.get(rows[i], t));
        Numbers { names: self.names.clone(), values }
    }

    /// Whether all numbers are counts; the error names the first that is none.
    pub(crate) fn check_counts(&self) -> Result<()> {
        for (i, row) in self.values.rows().enumerate() {
            if let Some(t) = row.iter().position(|&value| value < 0.0 || value.fract() != 0.0) {
                let (row, name, found) = (i + 1, &self.names[t], row[t]);
                return Err(Error::param(
                    "loss",
                    format!(
                        "poisson is for counts, which are whole numbers from 0 on, but the target '{name}' is {found} in row {row}; \
                         use loss=gaussian, or correct the row"
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Each row's stratum: up to ten groups of equally many rows by the first number, so that splits by stratum have
    /// small and large numbers on both sides.
    pub(crate) fn strata(&self) -> Result<Labels> {
        let n = self.n_samples();
        if n == 0 {
            return Err(Error::input("no numbers to predict; at least one row is needed"));
        }
        let n_strata = (n / STRATUM_ROWS).clamp(1, MAX_STRATA);
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| self.values.get(a, 0).total_cmp(&self.values.get(b, 0)));
        let mut codes = vec![0; n];
        order.iter().enumerate().for_each(|(rank, &i)| codes[i] = rank * n_strata / n);
        Labels::strata((1..=n_strata).map(|k| format!("stratum {k}")).collect(), codes)
    }

    /// The numbers with mean 0 and standard deviation 1 in each column, and how to undo that. A constant column is
    /// only shifted.
    pub(crate) fn standardised(&self) -> (Numbers, Standard) {
        let n = self.n_samples().max(1) as f64;
        let (mut mean, mut scale) = (vec![], vec![]);
        for t in 0..self.n_targets() {
            let column = self.values.column(t);
            let centre = column.iter().sum::<f64>() / n;
            let deviation = (column.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / n).sqrt();
            mean.push(centre);
            // A spread of rounding errors is none.
            let is_spread = deviation > 1e-12 * centre.abs() && deviation.is_finite();
            scale.push(if is_spread { deviation } else { 1.0 });
        }
        let standard = Standard { mean, scale };
        (Numbers { names: self.names.clone(), values: standard.apply(&self.values) }, standard)
    }
}

/// The mean and the standard deviation of each column of numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Standard {
    pub(crate) mean: Vec<f64>,
    pub(crate) scale: Vec<f64>,
}

impl Standard {
    /// Of numbers that are not standardised.
    pub(crate) fn plain(n_targets: usize) -> Standard {
        Standard { mean: vec![0.0; n_targets], scale: vec![1.0; n_targets] }
    }

    /// Numbers with mean 0 and standard deviation 1.
    pub(crate) fn apply(&self, values: &Matrix) -> Matrix {
        Matrix::from_fn(values.n_rows(), values.n_cols(), |i, t| (values.get(i, t) - self.mean[t]) / self.scale[t])
    }

    /// Standardised numbers in their own units again.
    pub(crate) fn undo(&self, mut values: Matrix) -> Matrix {
        for i in 0..values.n_rows() {
            let row = values.row_mut(i).iter_mut();
            row.zip(self.mean.iter().zip(&self.scale))
                .for_each(|(value, (mean, scale))| *value = mean + scale * *value);
        }
        values
    }
}

/// The time to an event, or until a row was last seen without one (censored).
///
/// ```
/// use multikernel::data::Times;
/// let times = Times::new(vec![5.0, 2.5, 8.0], vec![true, false, true])?;
/// assert_eq!(times.n_events(), 2);
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    time: Vec<f64>,
    event: Vec<bool>,
}

impl Times {
    /// The time of each row, and whether the event happened then. Times must be finite and not negative.
    pub fn new(time: Vec<f64>, event: Vec<bool>) -> Result<Times> {
        if time.len() != event.len() {
            let (n, found) = (time.len(), event.len());
            return Err(Error::input(format!("{n} times but {found} events; give one of each per row")));
        }
        if let Some(i) = time.iter().position(|value| !(value.is_finite() && *value >= 0.0)) {
            let (row, found) = (i + 1, shown(time[i]));
            return Err(Error::input(format!(
                "row {row}: its time is {found}; remove the row, or give a finite time that is not negative"
            )));
        }
        Ok(Times { time, event })
    }

    /// The time of each row.
    pub fn time(&self) -> &[f64] {
        &self.time
    }

    /// Whether the event happened at that time; if not, the row was last seen then.
    pub fn event(&self) -> &[bool] {
        &self.event
    }

    /// Number of rows.
    pub fn n_samples(&self) -> usize {
        self.time.len()
    }

    /// Number of rows with an event.
    pub fn n_events(&self) -> usize {
        self.event.iter().filter(|&&event| event).count()
    }

    /// The times of the given rows, in the given order; panics on a row out of range, as slices do.
    #[must_use]
    pub fn select(&self, rows: &[usize]) -> Times {
        Times {
            time: rows.iter().map(|&i| self.time[i]).collect(),
            event: rows.iter().map(|&i| self.event[i]).collect(),
        }
    }

    /// The distinct times of events, ascending, and the number of events at each.
    pub(crate) fn events(&self) -> (Vec<f64>, Vec<usize>) {
        let mut all: Vec<f64> =
            self.time.iter().zip(&self.event).filter(|(_, event)| **event).map(|(t, _)| *t).collect();
        all.sort_by(f64::total_cmp);
        all.chunk_by(|a, b| a == b).map(|tied| (tied[0], tied.len())).unzip()
    }

    /// Each row's stratum: whether it has an event.
    pub(crate) fn strata(&self) -> Result<Labels> {
        let classes = vec!["censored".to_string(), "event".to_string()];
        Labels::strata(classes, self.event.iter().map(|&event| usize::from(event)).collect())
    }
}

fn shown(value: f64) -> String {
    if value.is_nan() { "missing".into() } else { value.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strata_are_quantiles_of_the_first_number() {
        let numbers = Numbers::one("y", (0..40).map(|i| f64::from((i * 7) % 40)).collect()).unwrap();
        let strata = numbers.strata().unwrap();
        assert_eq!(strata.counts(), [10, 10, 10, 10]);
        for (i, &code) in strata.codes().iter().enumerate() {
            assert_eq!(code, (i * 7) % 40 / 10);
        }
        assert_eq!(Numbers::one("y", vec![1.0; 9]).unwrap().strata().unwrap().n_classes(), 1);
    }

    #[test]
    fn standardised_numbers_have_mean_0_and_deviation_1_and_come_back() {
        let values = Matrix::from_vec(4, 2, vec![1.0, 5.0, 2.0, 5.0, 4.0, 5.0, 9.0, 5.0]).unwrap();
        let numbers = Numbers::new(vec!["a".into(), "constant".into()], values.clone()).unwrap();
        let (standard, undo) = numbers.standardised();
        let column = standard.values().column(0);
        assert!(column.iter().sum::<f64>().abs() < 1e-14);
        assert!((column.iter().map(|v| v * v).sum::<f64>() / 4.0 - 1.0).abs() < 1e-14);
        assert_eq!(standard.values().column(1), [0.0; 4]);
        let back = undo.undo(standard.values().clone());
        assert!(back.data().iter().zip(values.data()).all(|(a, b)| (a - b).abs() < 1e-14));
    }

    #[test]
    fn targets_that_are_missing_or_impossible_are_refused_by_row() {
        let message = |values: Vec<f64>| Numbers::one("price", values).unwrap_err().to_string();
        assert_eq!(
            message(vec![1.0, f64::NAN]),
            "row 2: the target 'price' is missing; remove the row, or fill in a finite number"
        );
        assert!(message(vec![f64::INFINITY]).contains("row 1: the target 'price' is inf"));
        assert_eq!(
            Times::new(vec![1.0, -2.0], vec![true, true]).unwrap_err().to_string(),
            "row 2: its time is -2; remove the row, or give a finite time that is not negative"
        );
        assert!(Times::new(vec![1.0], vec![]).is_err());
    }
}
