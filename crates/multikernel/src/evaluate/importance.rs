//! Which columns matter to a model: how much its accuracy, R2 or concordance falls when their values are dealt to other
//! rows.

use std::cmp::Ordering;

use serde::Serialize;

use super::protocol::LEVEL;
use super::student::quantile;
use super::times::concordances;
use crate::data::{Dataset, MAX_REPEATS, Samples, Target, Times};
use crate::dist::Rng;
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::plan::Model;
use crate::pool::Pool;

/// Marks the random streams of permutations.
const STREAM: u64 = 1 << 62;

/// What is permuted at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportanceOf {
    /// Each column alone.
    Columns,
    /// All columns of a view together.
    Views,
    /// Named sets of columns, each together, as positions among the columns of the rows.
    Sets(Vec<(String, Vec<usize>)>),
}

/// One column, view or set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Importance {
    /// Its name.
    pub name: String,
    /// How many columns it has.
    pub n_columns: usize,
    /// How much the metric falls, on average over the permutations.
    pub drop: f64,
    /// A 95 % interval of the drop for other rows like these (Student's t over rows).
    pub interval: (f64, f64),
    /// Whether the metric falls for certain: at the level of the interval, over all that were permuted together
    /// (Bonferroni).
    pub distinguishable: bool,
    /// The share of predicted classes that change; `None` for numbers and times, which change in almost every row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed: Option<f64>,
}

/// The importance of columns, views or sets on some rows; from [`importance`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Importances {
    /// What falls: `accuracy` for classes, `r2` for numbers, `concordance` for times.
    pub metric: &'static str,
    /// The metric on the rows as they are.
    pub value: f64,
    /// The same for classes; `None` for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// Number of rows.
    pub n_rows: usize,
    /// Permutations of each.
    pub n_repeats: usize,
    /// Whether the model was trained on these very rows: then it is what the model uses, not what helps on new rows.
    pub is_trained_on: bool,
    /// The columns, views or sets, the largest drop first.
    pub found: Vec<Importance>,
}

/// Permutation importance (Breiman 2001): the values of a column, or of a whole view, are dealt to other rows at
/// random, which keeps their distribution and takes away what they say about a row. Use rows that the model was not
/// trained on. Columns that tell the same as others matter little each, as the others make up for them; permute them as
/// one view or set then. What falls is the accuracy for classes, R2 for numbers and the concordance for times.
///
/// Cost: `n_repeats` predictions of all rows for each column, view or set. The same result for any number of threads.
///
/// ```
/// use multikernel::{Plan, Pool, data::bundled, evaluate::{ImportanceOf, importance}};
/// let data = bundled("sonar")?;
/// let (train, test) = (data.select(&(0..140).collect::<Vec<_>>()), data.select(&(140..208).collect::<Vec<_>>()));
/// let model = Plan::new("average")?.train(&train)?;
/// let sets = ImportanceOf::Sets(vec![("low".into(), (0..30).collect()), ("high".into(), (30..60).collect())]);
/// let found = importance(&model, &test, &sets, 3, 0, &Pool::new(1)?)?;
/// assert!(found.found.len() == 2 && !found.is_trained_on);
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn importance(
    model: &Model,
    rows: &Dataset,
    of: &ImportanceOf,
    n_repeats: usize,
    seed: u64,
    pool: &Pool,
) -> Result<Importances> {
    let (samples, n) = (&rows.samples, rows.samples.n_samples());
    if n_repeats == 0 || n < 2 {
        return Err(Error::param(
            "repeats",
            format!("{n_repeats} permutations of {n} rows; give at least one, and two rows"),
        ));
    }
    if n_repeats > MAX_REPEATS {
        return Err(Error::param("repeats", format!("must be at most {MAX_REPEATS}, got {n_repeats}")));
    }
    let truth = Truth::of(model, rows)?;
    let sets = sets(of, samples)?;
    let before = truth.scores(&Found::of(model, samples, pool)?)?;
    let labels = model.numbers().is_none() && model.times().is_none();
    let mut found = vec![];
    let n_sets = sets.len();
    for (at, (name, columns)) in sets.into_iter().enumerate() {
        // For each row, how much worse it is predicted; and whether its prediction changes.
        let (mut falls, mut changed) = (vec![0.0; n], 0usize);
        let mut rng = Rng::new(seed, STREAM | at as u64);
        for _ in 0..n_repeats {
            let mut order: Vec<usize> = (0..n).collect();
            rng.shuffle(&mut order);
            let after = truth.scores(&Found::of(model, &samples.shuffled(&columns, &order)?, pool)?)?;
            for (fall, (before, after)) in falls.iter_mut().zip(before.rows.iter().zip(&after.rows)) {
                *fall += (before - after) / n_repeats as f64;
            }
            changed += before.labels.iter().zip(&after.labels).filter(|(before, after)| before != after).count();
        }
        let (drop, error) = mean_and_error(&falls);
        // Half the width of a t interval that so many comparisons share.
        let half = |share: usize| error * quantile(1.0 - 0.5 * (1.0 - LEVEL) / share as f64, n as f64 - 1.0);
        let changed = labels.then(|| changed as f64 / (n * n_repeats) as f64);
        let interval = (drop - half(1), drop + half(1));
        found.push(Importance {
            name,
            n_columns: columns.len(),
            drop,
            interval,
            distinguishable: drop > half(n_sets),
            changed,
        });
    }
    found.sort_by(|a, b| b.drop.total_cmp(&a.drop).then(b.changed.partial_cmp(&a.changed).unwrap_or(Ordering::Equal)));
    let value = before.rows.iter().sum::<f64>() / n as f64;
    let training = model.training();
    let is_trained_on = training.n_samples() == n && training.fingerprint() == rows.fingerprint();
    let metric = truth.metric();
    Ok(Importances { metric, value, accuracy: labels.then_some(value), n_rows: n, n_repeats, is_trained_on, found })
}

/// What a model predicts for rows.
enum Found {
    Labels(Vec<usize>),
    Numbers(Matrix),
    Risks(Vec<f64>),
}

impl Found {
    fn of(model: &Model, samples: &Samples, pool: &Pool) -> Result<Found> {
        if let Some(numbers) = model.numbers() {
            return numbers.predict_in(samples, pool).map(Found::Numbers);
        }
        match model.times() {
            Some(times) => times.risks_in(samples, pool).map(Found::Risks),
            None => Ok(Found::Labels(model.predict_in(samples, pool)?.labels)),
        }
    }
}

/// What the rows truly are.
enum Truth<'a> {
    Labels(&'a [usize]),
    /// With the variance of each number, which R2 is relative to.
    Numbers(&'a Matrix, Vec<f64>),
    Times(&'a Times),
}

/// A score for each row, whose mean is the metric; the labels predicted, for classes.
struct Scores {
    rows: Vec<f64>,
    labels: Vec<usize>,
}

impl<'a> Truth<'a> {
    fn of(model: &Model, rows: &'a Dataset) -> Result<Truth<'a>> {
        let other =
            |what: &str| Error::input(format!("the model predicts {what}, which the rows lack; name the columns"));
        if model.numbers().is_some() {
            let values = rows.target.numbers().ok_or_else(|| other("numbers"))?.values();
            let variances = (0..values.n_cols()).map(|t| variance(&values.column(t))).collect();
            return Ok(Truth::Numbers(values, variances));
        }
        if model.times().is_some() {
            return rows.target.times().map(Truth::Times).ok_or_else(|| other("times to an event"));
        }
        if rows.target != Target::Classes || rows.labels.classes() != model.classes() {
            return Err(Error::input("the rows have other classes than the model; read them as its test rows"));
        }
        Ok(Truth::Labels(rows.labels.codes()))
    }

    fn metric(&self) -> &'static str {
        match self {
            Truth::Labels(_) => "accuracy",
            Truth::Numbers(..) => "r2",
            Truth::Times(_) => "concordance",
        }
    }

    fn scores(&self, found: &Found) -> Result<Scores> {
        let rows = match (self, found) {
            (Truth::Labels(truth), Found::Labels(found)) => {
                let rows = truth.iter().zip(found).map(|(a, b)| f64::from(u8::from(a == b))).collect();
                return Ok(Scores { rows, labels: found.clone() });
            }
            (Truth::Numbers(truth, variances), Found::Numbers(found)) => {
                let score = |i: usize| {
                    let errors = variances.iter().enumerate().filter(|(_, variance)| **variance > 0.0);
                    let each = errors.map(|(t, variance)| 1.0 - (truth.get(i, t) - found.get(i, t)).powi(2) / variance);
                    each.sum::<f64>() / variances.len() as f64
                };
                (0..truth.n_rows()).map(score).collect()
            }
            (Truth::Times(times), Found::Risks(risks)) => concordances(times, risks)
                .ok_or_else(|| Error::input("no two rows can be compared by their times; give rows with events"))?,
            _ => return Err(Error::input("the rows have another target than the model")),
        };
        Ok(Scores { rows, labels: vec![] })
    }
}

fn variance(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n
}

fn sets(of: &ImportanceOf, samples: &Samples) -> Result<Vec<(String, Vec<usize>)>> {
    let sets: Vec<(String, Vec<usize>)> = match of {
        ImportanceOf::Columns => samples.names().iter().enumerate().map(|(j, name)| (name.clone(), vec![j])).collect(),
        ImportanceOf::Views => {
            samples.views().iter().map(|view| (view.name.clone(), view.columns.clone().collect())).collect()
        }
        ImportanceOf::Sets(sets) => sets.clone(),
    };
    if sets.is_empty() {
        return Err(Error::input(
            "the rows have no views, so there are none to permute; permute columns or named sets",
        ));
    }
    let out_of_range = |columns: &Vec<usize>| columns.iter().any(|&j| j >= samples.n_features());
    match sets.iter().find(|(_, columns)| columns.is_empty() || out_of_range(columns)) {
        Some((name, _)) => Err(Error::input(format!(
            "the set '{name}' must have columns from 0 to {}; correct it",
            samples.n_features().saturating_sub(1)
        ))),
        None => Ok(sets),
    }
}

/// The mean over rows and its standard error.
fn mean_and_error(falls: &[f64]) -> (f64, f64) {
    let n = falls.len() as f64;
    let mean = falls.iter().sum::<f64>() / n;
    let variance = falls.iter().map(|fall| (fall - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Labels, Numbers};
    use crate::plan::Plan;

    /// The class is the sign of the first column; the second is noise.
    fn rows(n: usize, seed: u64) -> Dataset {
        let mut rng = Rng::new(seed, 0);
        let values: Vec<[f64; 2]> = (0..n).map(|_| [rng.uniform() - 0.5, rng.uniform()]).collect();
        let table = Matrix::from_fn(n, 2, |i, j| values[i][j]);
        let texts: Vec<&str> = values.iter().map(|row| if row[0] > 0.0 { "up" } else { "down" }).collect();
        let labels = Labels::with_classes(&texts, &["down".into(), "up".into()]).unwrap();
        Dataset::new("rows", Samples::new(table, vec!["signal".into(), "noise".into()]).unwrap(), labels).unwrap()
    }

    #[test]
    fn column_that_decides_falls_to_chance_and_noise_does_not_matter() {
        let (train, test) = (rows(200, 1), rows(300, 2));
        let model = Plan::new("svm").unwrap().kernels("gaussian(2)").unwrap().train(&train).unwrap();
        let pool = Pool::new(2).unwrap();
        let found = importance(&model, &test, &ImportanceOf::Columns, 5, 0, &pool).unwrap();
        let [signal, noise] = &found.found[..] else { panic!("two columns") };
        assert_eq!((signal.name.as_str(), noise.name.as_str()), ("signal", "noise"));
        // Half the rows get a value of the other sign.
        assert!(found.value > 0.93 && (signal.drop - (found.value - 0.5)).abs() < 0.06, "{found:?}");
        assert!(
            signal.interval.0 > 0.3
                && signal.distinguishable
                && !noise.distinguishable
                && noise.drop.abs() < 0.03
                && !found.is_trained_on,
            "{found:?}"
        );
        let again = importance(&model, &test, &ImportanceOf::Columns, 5, 0, &Pool::new(1).unwrap()).unwrap();
        assert_eq!(found, again);
        assert!(importance(&model, &train, &ImportanceOf::Columns, 1, 0, &pool).unwrap().is_trained_on);
        let both = ImportanceOf::Sets(vec![("both".into(), vec![0, 1])]);
        // Whole rows are dealt: the accuracy is that of chance.
        let both = importance(&model, &test, &both, 5, 0, &pool).unwrap();
        assert!((both.found[0].drop - signal.drop).abs() < 0.08);
        for bad in [ImportanceOf::Views, ImportanceOf::Sets(vec![("a".into(), vec![7])])] {
            assert!(importance(&model, &test, &bad, 1, 0, &pool).is_err());
        }
    }

    /// Two columns, the first of which decides.
    fn two_columns(n: usize, seed: u64) -> (Samples, Vec<f64>) {
        let mut rng = Rng::new(seed, 0);
        let values: Vec<f64> = (0..2 * n).map(|_| rng.uniform()).collect();
        let signal = (0..n).map(|i| values[2 * i]).collect();
        let table = Matrix::from_vec(n, 2, values).unwrap();
        (Samples::new(table, vec!["signal".into(), "noise".into()]).unwrap(), signal)
    }

    #[test]
    fn permutations_without_end_are_refused() {
        let set = rows(20, 1);
        let model = Plan::new("svm").unwrap().kernels("gaussian(2)").unwrap().train(&set).unwrap();
        let found = importance(&model, &set, &ImportanceOf::Columns, usize::MAX, 0, &Pool::new(1).unwrap());
        assert_eq!(
            found.unwrap_err().to_string(),
            format!("parameter repeats: must be at most 10000, got {}", usize::MAX)
        );
    }

    #[test]
    fn r2_of_numbers_falls_by_the_squared_distance_of_the_permuted_predictions() {
        let set = |n, seed| {
            let (samples, signal) = two_columns(n, seed);
            let y = signal.iter().map(|x| 3.0 + 10.0 * x).collect();
            Dataset::of_numbers("line", samples, Numbers::one("y", y).unwrap()).unwrap()
        };
        let (train, test, pool) = (set(80, 1), set(60, 2), Pool::new(2).unwrap());
        let model = Plan::new("svm").unwrap().kernels("linear raw").unwrap().train(&train).unwrap();
        let found = importance(&model, &test, &ImportanceOf::Columns, 20, 0, &pool).unwrap();
        assert_eq!((found.metric, found.found[0].name.as_str(), found.accuracy), ("r2", "signal", None));
        // A line that gets another row's value: two independent values are twice their variance apart.
        assert!((found.value - 1.0).abs() < 1e-3 && (found.found[0].drop - 2.0).abs() < 0.25, "{found:?}");
        assert!(found.found[0].distinguishable && !found.found[1].distinguishable, "{found:?}");
        let other = rows(20, 1);
        assert!(importance(&model, &other, &ImportanceOf::Columns, 1, 0, &pool).is_err());
    }

    #[test]
    fn concordance_of_times_falls_to_one_half() {
        let set = |n, seed| {
            let (samples, signal) = two_columns(n, seed);
            let times = Times::new(signal.iter().map(|x| 10.0 - 5.0 * x).collect(), vec![true; n]).unwrap();
            Dataset::of_times("study", samples, times).unwrap()
        };
        let (train, test, pool) = (set(80, 1), set(60, 2), Pool::new(2).unwrap());
        let model = Plan::new("svm").unwrap().kernels("linear raw").unwrap().train(&train).unwrap();
        let found = importance(&model, &test, &ImportanceOf::Columns, 20, 0, &pool).unwrap();
        assert_eq!((found.metric, found.found[0].name.as_str()), ("concordance", "signal"));
        assert!(found.value > 0.95 && (found.found[0].drop - (found.value - 0.5)).abs() < 0.06, "{found:?}");
        assert!(found.found[0].distinguishable && found.found[1].drop.abs() < 0.02, "{found:?}");
    }
}
