//! Calibration of kernel weights: how many 90 % intervals hold the weights that labels were drawn from.

use multikernel::data::{Dataset, Labels, Samples};
use multikernel::dist::{Rng, gamma, normal};
use multikernel::draws::{rank, rank_uniformity};
use multikernel::evaluate::Spread;
use multikernel::solve::cholesky::Cholesky;
use multikernel::{Matrix, Model, Pool, Result};

use super::line::Line;
use super::show::{ACCURACY, Column, LOG_LOSS, Layout, METHOD, SEEDS, SET, TRAIN, WARNINGS};
use super::table::{Entry, Reproducible, Split, TablePart};

pub(super) const TABLE: Reproducible = Reproducible {
    name: "coverage",
    summary: "kernel weights drawn from the prior of bm3kl, labels from its functions: coverage of 90 % intervals, ranks",
    sets: &["logit-12", "logit-40", "logit-100", "sign-12", "sign-40", "sign-100"],
    parts,
    layout: Layout {
        columns: &[SET, SEEDS, METHOD, COVERAGE, RANKS, ACCURACY, LOG_LOSS, TRAIN, WARNINGS],
        note: |_| {
            "Labels of logit-N are 1 with probability 1 / (1 + exp(-f)), those of sign-N are the signs of f, N rows; coverage of \
             the three weights, ± standard error over sets; smallest p of four chi-square tests of uniform ranks (three \
             weights, log nu), times four; ± standard deviation over sets elsewhere"
                .into()
        },
    },
};

const COVERAGE: Column = ("coverage %", |line| {
    Spread::of(&line.calibration.covered).map_or(String::new(), |Spread { mean, std }| {
        let error = std.unwrap_or(f64::NAN) / (line.calibration.covered.len() as f64).sqrt();
        format!("{:.1} ± {:.1}", 100.0 * mean, 100.0 * error)
    })
});
const RANKS: Column =
    ("p of ranks", |line| line.calibration.uniformity().map_or(String::new(), |p| format!("{p:.2e}")));

/// Numbers are known by draws of the posterior at this many places.
const RANKED: usize = 19;
const COLUMNS: usize = 3;
/// Rows to predict, of the same functions.
const N_TEST: usize = 20;
/// The prior of `bm3kl`: variance of the bias, standard deviation of log nu, and what is added to a kernel's diagonal.
const TAU: f64 = 100.0;
const SPREAD: f64 = 3.0;
const JITTER: f64 = 1e-6;
/// Distinct from the streams of splits, of methods and of other planted data.
const STREAM: u64 = 1 << 54;

fn parts(set: &str) -> Vec<TablePart> {
    let mut entries = vec![
        Entry::new("bm3kl", &[("likelihood", "logit")]),
        Entry::new("bm3kl", &[("gamma0", "1")]),
        Entry::new("bm3kl", &[("gamma0", "0")]),
        Entry::new("bm3kl", &[("gamma0", "100")]),
    ];
    if set.starts_with("logit") {
        // The other likelihoods have signs of their own to answer for.
        entries.truncate(2);
    }
    let (kernels, split): (fn(usize, u64) -> String, _) = (|_, _| "gaussian(1) each".into(), Split::Planted);
    vec![TablePart { bank: "one a column", kernels: Some(kernels), split, n_seeds: 260, proba: true, entries }]
}

/// What a set was drawn from.
pub(super) struct Truth {
    /// Three kernel weights, then log nu.
    values: [f64; COLUMNS + 1],
    train: Dataset,
    test: Dataset,
}

/// The set of a seed, if it is one of this table: columns are standard normal, then scaled as every method does;
/// weights, variance, function and bias come from the prior of `bm3kl`, with `exp(-d^2 / 2)` on each column. Sets whose
/// training rows are of one class are drawn anew, which changes no posterior: it depends on the labels alone.
pub(super) fn drawn(set: &str, seed: u64) -> Result<Option<Truth>> {
    let Some((n, is_sign)) = size(set) else { return Ok(None) };
    let (mut rng, pool) = (Rng::new(seed, STREAM), Pool::new(1)?);
    loop {
        let rows = scaled(&mut rng, n);
        let e: Vec<f64> = (0..COLUMNS).map(|_| gamma(&mut rng, 1.0, 1.0)).collect();
        let weights: Vec<f64> = e.iter().map(|value| value / e.iter().sum::<f64>()).collect();
        let log_nu = SPREAD * normal(&mut rng);
        let kernel = |i: usize, j: usize| {
            let one = |m: usize| weights[m] * (-0.5 * (rows.get(i, m) - rows.get(j, m)).powi(2)).exp();
            (0..COLUMNS).map(one).sum::<f64>() + if i == j { JITTER } else { 0.0 }
        };
        let total = n + N_TEST;
        let factor = Cholesky::new(Matrix::from_fn(total, total, kernel), &pool, &|| false)?;
        let z: Vec<f64> = (0..total).map(|_| normal(&mut rng)).collect();
        let bias = TAU.sqrt() * normal(&mut rng);
        let f = factor.multiply_lower(&z).into_iter().map(|g| bias + (0.5 * log_nu).exp() * g);
        let first = |f: f64| if is_sign { f > 0.0 } else { rng.uniform() < 1.0 / (1.0 + (-f).exp()) };
        let codes: Vec<usize> = f.map(first).map(|is_first| usize::from(!is_first)).collect();
        if codes[..n].contains(&0) && codes[..n].contains(&1) {
            let labels = Labels::from_parts(vec!["yes".into(), "no".into()], codes)?;
            let all = Dataset::new(set, Samples::unnamed(rows)?, labels)?;
            let [train, test] = [(0..n), (n..total)].map(|rows| all.select(&rows.collect::<Vec<_>>()));
            let values = [weights[0], weights[1], weights[2], log_nu];
            return Ok(Some(Truth { values, train, test }));
        }
    }
}

impl Truth {
    pub(super) fn into_sets(self) -> (Dataset, Dataset) {
        (self.train, self.test)
    }
}

/// The number of rows of a set of this table, and whether its labels are signs.
fn size(set: &str) -> Option<(usize, bool)> {
    let (kind, n) = set.split_once('-')?;
    TABLE.sets.contains(&set).then_some((n.parse().ok()?, kind == "sign"))
}

/// Rows of normal variates, of which the first n have mean 0 and standard deviation 1 in each column.
fn scaled(rng: &mut Rng, n: usize) -> Matrix {
    let raw = Matrix::from_fn(n + N_TEST, COLUMNS, |_, _| normal(rng));
    let of_column = |m: usize| {
        let column = &raw.column(m)[..n];
        let mean = column.iter().sum::<f64>() / n as f64;
        (mean, (column.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n as f64).sqrt())
    };
    let of_columns: Vec<(f64, f64)> = (0..COLUMNS).map(of_column).collect();
    Matrix::from_fn(n + N_TEST, COLUMNS, |i, m| (raw.get(i, m) - of_columns[m].0) / of_columns[m].1)
}

/// How well a method knew what its sets were drawn from.
#[derive(Clone, Debug, Default)]
pub(super) struct Calibration {
    /// The share of weights inside their 90 % intervals, one per set: weights of a set are not independent.
    pub(super) covered: Vec<f64>,
    /// The ranks of the weights and of log nu, one list per number.
    pub(super) ranks: Vec<Vec<usize>>,
}

impl Calibration {
    /// Adds a set, for models with draws.
    pub(super) fn add(&mut self, model: &Model, truth: &Truth) {
        let Some(draws) = model.draws() else { return };
        let values = truth.values[..COLUMNS].iter().enumerate().map(|(m, value)| ("weights", m, value));
        let values = values.chain([("log_nu", 0, &truth.values[COLUMNS])]);
        let (mut inside, summaries) = (0, draws.summary());
        self.ranks.resize(COLUMNS + 1, vec![]);
        for (ranks, (name, index, &value)) in self.ranks.iter_mut().zip(values) {
            let chains = draws.chains(name, index).unwrap_or_default().concat();
            ranks.push(rank(&chains, RANKED, value));
            let found = summaries.iter().find(|one| (one.variable.as_str(), one.index) == ("weights", index));
            let interval = found.filter(|_| name == "weights").map(|one| one.diagnosis.interval);
            inside += usize::from(interval.is_some_and(|(low, high)| low <= value && value <= high));
        }
        self.covered.push(inside as f64 / COLUMNS as f64);
    }

    /// The smallest p of the tests of uniform ranks, times their number.
    pub(super) fn uniformity(&self) -> Option<f64> {
        let least = self.ranks.iter().map(|ranks| rank_uniformity(ranks, RANKED)).reduce(f64::min)?;
        Some((least * self.ranks.len() as f64).min(1.0))
    }
}

impl Line {
    /// Adds what the set of this seed was drawn from, if it is known.
    pub(super) fn add_calibration(&mut self, model: &Model, seed: u64) -> Result<()> {
        if let Some(truth) = drawn(&self.dataset, seed)? {
            self.calibration.add(model, &truth);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use multikernel::Plan;

    use super::*;

    #[test]
    fn sets_are_as_large_as_their_names_and_of_two_classes() {
        for set in TABLE.sets {
            let n = size(set).unwrap().0;
            let truth = drawn(set, 5).unwrap().unwrap();
            assert!((truth.values[..COLUMNS].iter().sum::<f64>() - 1.0).abs() < 1e-12);
            let (train, test) = truth.into_sets();
            assert_eq!((train.samples.n_samples(), test.samples.n_samples()), (n, N_TEST));
            assert!(train.labels.counts().iter().all(|&count| count > 0), "{set}");
        }
        assert!(drawn("moons", 5).unwrap().is_none() && drawn("sonar-12", 5).unwrap().is_none());
    }

    #[test]
    fn intervals_and_ranks_are_of_the_draws() {
        let truth = drawn("logit-12", 1).unwrap().unwrap();
        let plan = Plan::new("bm3kl").unwrap().kernels("gaussian(1) each").unwrap();
        let settings = [("likelihood", "logit"), ("warmup", "20"), ("draws", "40"), ("chains", "1")];
        let plan = settings.iter().try_fold(plan, |plan, (name, value)| plan.set(name, value)).unwrap();
        let model = plan.train(&truth.train).unwrap();
        // Truths below, inside and above all draws.
        let weights = model.kernels().weights().unwrap().to_vec();
        let at = |values| Truth { values, ..drawn("logit-12", 1).unwrap().unwrap() };
        let mut found = Calibration::default();
        found.add(&model, &at([-1.0, weights[1], 2.0, 99.0]));
        assert_eq!(found.covered, [1.0 / 3.0]);
        assert_eq!(
            (&found.ranks[0][..], &found.ranks[2][..], &found.ranks[3][..]),
            (&[0][..], &[RANKED][..], &[RANKED][..])
        );
        assert!((1..RANKED).contains(&found.ranks[1][0]));
        let p = found.uniformity().unwrap();
        assert!(p > 0.0 && p <= 1.0, "{p}");
    }
}
