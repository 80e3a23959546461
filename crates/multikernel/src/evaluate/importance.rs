//! Which columns matter to a model: how much its accuracy falls when their values are dealt to other rows.

use serde::Serialize;

use super::protocol::LEVEL;
use super::student::quantile;
use crate::data::{Dataset, Samples};
use crate::dist::Rng;
use crate::error::{Error, Result};
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
    /// How much the accuracy falls, on average over the permutations.
    pub drop: f64,
    /// A 95 % interval of the drop for other rows like these (Student's t over rows).
    pub interval: (f64, f64),
    /// Whether accuracy falls for certain: at the level of the interval, over all that were permuted together
    /// (Bonferroni).
    pub distinguishable: bool,
    /// The share of predictions that change.
    pub changed: f64,
}

/// The importance of columns, views or sets on some rows; from [`importance`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Importances {
    /// The accuracy on the rows as they are.
    pub accuracy: f64,
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
/// one view or set then.
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
    if rows.labels.classes() != model.classes() {
        return Err(Error::input("the rows have other classes than the model; read them as its test rows"));
    }
    let sets = sets(of, samples)?;
    let before = model.predict_in(samples, pool)?.labels;
    let is_right = |labels: &[usize], i: usize| f64::from(u8::from(labels[i] == rows.labels.codes()[i]));
    let mut found = vec![];
    let n_sets = sets.len();
    for (at, (name, columns)) in sets.into_iter().enumerate() {
        // For each row, how much less often it is right; and whether its prediction changes.
        let (mut falls, mut changed) = (vec![0.0; n], 0usize);
        let mut rng = Rng::new(seed, STREAM | at as u64);
        for _ in 0..n_repeats {
            let mut order: Vec<usize> = (0..n).collect();
            rng.shuffle(&mut order);
            let after = model.predict_in(&samples.shuffled(&columns, &order)?, pool)?.labels;
            for i in 0..n {
                falls[i] += (is_right(&before, i) - is_right(&after, i)) / n_repeats as f64;
                changed += usize::from(before[i] != after[i]);
            }
        }
        let (drop, error) = mean_and_error(&falls);
        // Half the width of a t interval that so many comparisons share.
        let half = |share: usize| error * quantile(1.0 - 0.5 * (1.0 - LEVEL) / share as f64, n as f64 - 1.0);
        let changed = changed as f64 / (n * n_repeats) as f64;
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
    found.sort_by(|a, b| b.drop.total_cmp(&a.drop).then(b.changed.total_cmp(&a.changed)));
    let accuracy = (0..n).map(|i| is_right(&before, i)).sum::<f64>() / n as f64;
    let training = model.training();
    let is_trained_on = training.n_samples() == n && training.fingerprint() == rows.fingerprint();
    Ok(Importances { accuracy, n_rows: n, n_repeats, is_trained_on, found })
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
    use crate::data::Labels;
    use crate::linalg::Matrix;
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
        assert!(found.accuracy > 0.93 && (signal.drop - (found.accuracy - 0.5)).abs() < 0.06, "{found:?}");
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
}
