//! Calibration: how many intervals hold the weights, widths and amplitudes that labels were drawn from.

use multikernel::data::{Dataset, Labels, Samples};
use multikernel::dist::{Rng, gamma, normal};
use multikernel::draws::{Draws, rank, rank_uniformity};
use multikernel::evaluate::Spread;
use multikernel::solve::cholesky::Cholesky;
use multikernel::{Matrix, Model, Pool, Result};

use super::line::Line;
use super::show::{ACCURACY, Column, LOG_LOSS, Layout, METHOD, SEEDS, SET, TRAIN, WARNINGS};
use super::table::{Entry, Reproducible, Split, TablePart};

pub(super) const TABLE: Reproducible = Reproducible {
    name: "coverage",
    summary: "weights drawn from the priors of bm3kl, svimkl and bsvm, labels from their functions: coverage of intervals, ranks",
    sets: &[
        "logit-12",
        "logit-40",
        "logit-100",
        "sign-12",
        "sign-40",
        "sign-100",
        "svimkl-12",
        "svimkl-40",
        "svimkl-100",
        "bsvm-12",
        "bsvm-40",
        "bsvm-100",
    ],
    parts,
    layout: Layout {
        columns: &[SET, SEEDS, METHOD, LEVEL, COVERAGE, RANKS, ACCURACY, LOG_LOSS, TRAIN, WARNINGS],
        note: |_| {
            "N rows. logit-N: functions from the prior of bm3kl, labels with probability 1 / (1 + exp(-f)); sign-N: the signs \
             of f; svimkl-N: from the prior of svimkl, labels likewise; bsvm-N: from the prior of bsvm, labels in the ratio of its \
             losses. Coverage of the three weights, of width and amplitude for bsvm, ± standard error over sets; smallest p of the \
             chi-square tests of uniform ranks (the same, and log nu), times their number; ± standard deviation over sets elsewhere"
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
const LEVEL: Column =
    ("of %", |line| line.calibration.level.map_or(String::new(), |level| format!("{:.0}", 100.0 * level)));
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
/// What the intervals of draws promise.
const OF_DRAWS: f64 = 0.9;
/// The penalty of `svimkl` on sample weights, at its default: half the precision of a function.
const LAMBDA: f64 = 0.1;
/// The prior of `bsvm`: standard deviations of the logarithms of width and amplitude, variance of the bias.
const WIDTH_DEVIATION: f64 = 1.0;
const AMPLITUDE_DEVIATION: f64 = 3.0;
/// Distinct from the streams of splits, of methods and of other planted data.
const STREAM: u64 = 1 << 54;

fn parts(set: &str) -> Vec<TablePart> {
    let kind = Kind::of(set).map_or(Kind::Logit, |(kind, _)| kind);
    let entries = match kind {
        // The other losses have signs of their own to answer for.
        Kind::Logit => {
            vec![Entry::new("bm3kl", &[("likelihood", "logit")]), Entry::new("bm3kl", &[("gamma0", "1")])]
        }
        Kind::Sign => vec![
            Entry::new("bm3kl", &[("likelihood", "logit")]),
            Entry::new("bm3kl", &[("gamma0", "1")]),
            Entry::new("bm3kl", &[("gamma0", "0")]),
            Entry::new("bm3kl", &[("gamma0", "100")]),
        ],
        // Without an intercept: its prior is flat, so that it cannot be drawn.
        Kind::Svimkl => vec![
            Entry::new("svimkl", &[("intercept", "no")]),
            Entry::new("svimkl", &[("intercept", "no"), ("q", "exponential")]),
            Entry::new("svimkl", &[("intercept", "no"), ("q", "lognormal")]),
        ],
        Kind::Bsvm => vec![Entry::new("bsvm", &[])],
    };
    let (kernels, split): (fn(usize, u64) -> String, _) = (|_, _| "gaussian(1) each".into(), Split::Planted);
    // Those of bsvm would be learned on inner folds, which few rows of one class do not allow.
    let proba = kind != Kind::Bsvm;
    vec![TablePart { bank: "one a column", kernels: Some(kernels), split, n_seeds: 260, proba, entries }]
}

/// What the sets of a name are drawn from.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Logit,
    Sign,
    Svimkl,
    Bsvm,
}

impl Kind {
    /// The kind and the number of training rows of a set of this table.
    fn of(set: &str) -> Option<(Kind, usize)> {
        let (kind, n) = set.split_once('-').filter(|_| TABLE.sets.contains(&set))?;
        let kinds = [("logit", Kind::Logit), ("sign", Kind::Sign), ("svimkl", Kind::Svimkl), ("bsvm", Kind::Bsvm)];
        let (_, kind) = kinds.into_iter().find(|(name, _)| *name == kind)?;
        Some((kind, n.parse().ok()?))
    }

    /// The probability of the first class where the function is f.
    fn probability(self, f: f64) -> f64 {
        match self {
            Kind::Logit | Kind::Svimkl => 1.0 / (1.0 + (-f).exp()),
            Kind::Sign => f64::from(u8::from(f > 0.0)),
            // exp(-2 max(1 - f, 0)) beside exp(-2 max(1 + f, 0)).
            Kind::Bsvm => 1.0 / (1.0 + (2.0 * ((1.0 - f).max(0.0) - (1.0 + f).max(0.0))).exp()),
        }
    }

    /// Numbers from the prior, given the rows of which the first n are for training.
    fn prior(self, rows: &Matrix, n: usize, rng: &mut Rng) -> Prior {
        match self {
            Kind::Logit | Kind::Sign => {
                let e: Vec<f64> = (0..COLUMNS).map(|_| gamma(rng, 1.0, 1.0)).collect();
                let weights: Vec<f64> = e.iter().map(|value| value / e.iter().sum::<f64>()).collect();
                let log_nu = SPREAD * normal(rng);
                let known = weights.iter().enumerate().map(|(m, &weight)| Known::of("weights", m, weight));
                let known = known.chain([Known { is_counted: false, ..Known::of("log_nu", 0, log_nu) }]).collect();
                Prior { known, kernel: Covariance::Columns(weights), root: (0.5 * log_nu).exp(), bias: TAU }
            }
            Kind::Svimkl => {
                let weights: Vec<f64> = (0..COLUMNS).map(|_| gamma(rng, 1.0, 1.0)).collect();
                let known = weights.iter().enumerate().map(|(m, &weight)| Known::of("weights", m, weight)).collect();
                Prior { known, kernel: Covariance::Columns(weights), root: (0.5 / LAMBDA).sqrt(), bias: 0.0 }
            }
            Kind::Bsvm => {
                let width = median_distance(rows, n) * (WIDTH_DEVIATION * normal(rng)).exp();
                let root = (0.5 * AMPLITUDE_DEVIATION * normal(rng)).exp();
                let known = vec![Known::of("width", 0, width), Known::of("amplitude", 0, root * root)];
                Prior { known, kernel: Covariance::Width(width), root, bias: 1.0 }
            }
        }
    }
}

/// A number that a set was drawn from, under the name that models give it.
#[derive(Clone, Copy, Debug)]
struct Known {
    name: &'static str,
    index: usize,
    value: f64,
    /// Whether it counts for the coverage.
    is_counted: bool,
}

impl Known {
    fn of(name: &'static str, index: usize, value: f64) -> Known {
        Known { name, index, value, is_counted: true }
    }
}

/// What a function is drawn from: `b + root g`, `g ~ N(0, K + jitter)`, `b ~ N(0, bias)`.
struct Prior {
    known: Vec<Known>,
    kernel: Covariance,
    root: f64,
    bias: f64,
}

enum Covariance {
    /// `exp(-d^2 / 2)` on each column, with these weights.
    Columns(Vec<f64>),
    /// `exp(-d^2 / (2 s^2))` on all columns.
    Width(f64),
}

impl Covariance {
    fn between(&self, a: &[f64], b: &[f64]) -> f64 {
        let squares = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b));
        match self {
            Covariance::Columns(weights) => squares.zip(weights).map(|(square, w)| w * (-0.5 * square).exp()).sum(),
            Covariance::Width(width) => (-0.5 * squares.sum::<f64>() / (width * width)).exp(),
        }
    }
}

/// What a set was drawn from, and the set.
pub(super) struct Truth {
    known: Vec<Known>,
    train: Dataset,
    test: Dataset,
}

/// The set of a seed, if it is one of this table: columns are standard normal, then scaled as every method does; all
/// else comes from the prior of a method. Sets whose training rows are of one class are drawn anew, which changes no
/// posterior: it depends on the labels alone.
pub(super) fn drawn(set: &str, seed: u64) -> Result<Option<Truth>> {
    let Some((kind, n)) = Kind::of(set) else { return Ok(None) };
    let (mut rng, pool) = (Rng::new(seed, STREAM), Pool::new(1)?);
    let total = n + N_TEST;
    loop {
        let rows = scaled(&mut rng, n);
        let prior = kind.prior(&rows, n, &mut rng);
        let kernel =
            |i: usize, j: usize| prior.kernel.between(rows.row(i), rows.row(j)) + if i == j { JITTER } else { 0.0 };
        let factor = Cholesky::new(Matrix::from_fn(total, total, kernel), &pool, &|| false)?;
        let z: Vec<f64> = (0..total).map(|_| normal(&mut rng)).collect();
        let bias = prior.bias.sqrt() * normal(&mut rng);
        let f = factor.multiply_lower(&z).into_iter().map(|g| bias + prior.root * g);
        let is_first = |f: f64| if kind == Kind::Sign { f > 0.0 } else { rng.uniform() < kind.probability(f) };
        let codes: Vec<usize> = f.map(is_first).map(|is_first| usize::from(!is_first)).collect();
        if codes[..n].contains(&0) && codes[..n].contains(&1) {
            let labels = Labels::from_parts(vec!["yes".into(), "no".into()], codes)?;
            let all = Dataset::new(set, Samples::unnamed(rows)?, labels)?;
            let [train, test] = [(0..n), (n..total)].map(|rows| all.select(&rows.collect::<Vec<_>>()));
            return Ok(Some(Truth { known: prior.known, train, test }));
        }
    }
}

impl Truth {
    pub(super) fn into_sets(self) -> (Dataset, Dataset) {
        (self.train, self.test)
    }
}

/// The median distance between the first n rows: the prior median of the width of `bsvm`.
fn median_distance(rows: &Matrix, n: usize) -> f64 {
    let square = |i: usize, j: usize| rows.row(i).iter().zip(rows.row(j)).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
    let mut squares: Vec<f64> = (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| square(i, j)).collect();
    squares.sort_unstable_by(f64::total_cmp);
    squares[squares.len() / 2].sqrt()
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
    /// What the intervals promise.
    pub(super) level: Option<f64>,
    /// The share of numbers inside their intervals, one per set: those of a set are not independent.
    pub(super) covered: Vec<f64>,
    /// The ranks of all numbers among the draws, one list per number; none for models without draws.
    pub(super) ranks: Vec<Vec<usize>>,
}

impl Calibration {
    /// Adds a set, for models with draws or with intervals.
    pub(super) fn add(&mut self, model: &Model, truth: &Truth) {
        if let Some(draws) = model.draws() {
            self.level = Some(OF_DRAWS);
            self.add_draws(&draws, &truth.known);
        } else if let Some(found) = model.kernels().intervals() {
            self.level = Some(found.level);
            let is_inside = |one: &Known| {
                found.bounds.get(one.index).is_some_and(|(low, high)| (*low..=*high).contains(&one.value))
            };
            self.count(&truth.known, is_inside);
        }
    }

    fn add_draws(&mut self, draws: &Draws, known: &[Known]) {
        self.ranks.resize(known.len(), vec![]);
        for (ranks, one) in self.ranks.iter_mut().zip(known) {
            let chains = draws.chains(one.name, one.index).unwrap_or_default().concat();
            ranks.push(rank(&chains, RANKED, one.value));
        }
        let summaries = draws.summary();
        self.count(known, |one| {
            let found = summaries.iter().find(|of| (of.variable.as_str(), of.index) == (one.name, one.index));
            found.map(|of| of.diagnosis.interval).is_some_and(|(low, high)| (low..=high).contains(&one.value))
        });
    }

    fn count(&mut self, known: &[Known], is_inside: impl Fn(&Known) -> bool) {
        let counted: Vec<&Known> = known.iter().filter(|one| one.is_counted).collect();
        let n_inside = counted.iter().filter(|one| is_inside(one)).count();
        self.covered.push(n_inside as f64 / counted.len() as f64);
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
            let (kind, n) = Kind::of(set).unwrap();
            let truth = drawn(set, 5).unwrap().unwrap();
            let counted: Vec<f64> = truth.known.iter().filter(|one| one.is_counted).map(|one| one.value).collect();
            assert_eq!(counted.len(), if kind == Kind::Bsvm { 2 } else { COLUMNS });
            let adds_up = (counted.iter().sum::<f64>() - 1.0).abs() < 1e-12;
            assert_eq!(adds_up, matches!(kind, Kind::Logit | Kind::Sign), "{set}");
            let (train, test) = truth.into_sets();
            assert_eq!((train.samples.n_samples(), test.samples.n_samples()), (n, N_TEST));
            assert!(train.labels.counts().iter().all(|&count| count > 0), "{set}");
        }
        assert!(drawn("moons", 5).unwrap().is_none() && drawn("sonar-12", 5).unwrap().is_none());
    }

    /// The power of the four tests of uniform ranks on 260 sets, at 5 % together, if one number is off: a posterior that is
    /// .4 standard deviations beside the truth, two thirds as wide as it should be, or half again as wide.
    #[test]
    fn ranks_of_all_sets_tell_posteriors_that_are_off() {
        let mut rng = Rng::new(2, 0);
        let mut is_told = |shift: f64, spread: f64| {
            let one = |_| {
                let draws: Vec<f64> = (0..RANKED).map(|_| normal(&mut rng)).collect();
                rank(&draws, RANKED, shift + spread * normal(&mut rng))
            };
            let ranks: Vec<usize> = (0..260).map(one).collect();
            4.0 * rank_uniformity(&ranks, RANKED) < 0.05
        };
        let mut power = |shift, spread| (0..300).filter(|_| is_told(shift, spread)).count() as f64 / 300.0;
        assert!(power(0.0, 1.0) < 0.04, "alarms where nothing is off");
        for (shift, spread) in [(0.4, 1.0), (0.0, 1.5), (0.0, 1.0 / 1.5)] {
            let power = power(shift, spread);
            assert!(power > 0.9, "{shift} {spread}: {power}");
        }
    }

    #[test]
    fn labels_are_drawn_in_the_ratio_of_the_losses() {
        for f in [-3.0, -0.5, 0.0, 0.25, 2.0] {
            let hinge = |f: f64| (-2.0 * (1.0f64 - f).max(0.0)).exp();
            let p = Kind::Bsvm.probability(f);
            assert!((p - hinge(f) / (hinge(f) + hinge(-f))).abs() < 1e-15, "{f}: {p}");
            let p = Kind::Svimkl.probability(f);
            assert!((p / (1.0 - p) - f.exp()).abs() < 1e-12 * f.exp(), "{f}: {p}");
        }
        assert_eq!((Kind::Sign.probability(0.1), Kind::Sign.probability(-0.1)), (1.0, 0.0));
    }

    #[test]
    fn the_median_is_that_of_the_rows_to_learn_from() {
        // Distances 1, 2, 3 of the first three rows; the fourth is for testing.
        let rows = Matrix::from_vec(4, 1, vec![0.0, 1.0, 3.0, 100.0]).unwrap();
        assert_eq!(median_distance(&rows, 3), 2.0);
    }

    fn model(set: &str, method: &str, settings: &[(&str, &str)]) -> Model {
        let plan = Plan::new(method).unwrap();
        let plan = if plan.uses_kernels() { plan.kernels("gaussian(1) each").unwrap() } else { plan };
        let plan = settings.iter().try_fold(plan, |plan, (name, value)| plan.set(name, value)).unwrap();
        plan.train(&drawn(set, 1).unwrap().unwrap().train).unwrap()
    }

    /// The truth of a set with other values.
    fn at(set: &str, values: &[f64]) -> Truth {
        let truth = drawn(set, 1).unwrap().unwrap();
        let known = truth.known.iter().zip(values).map(|(one, &value)| Known { value, ..*one }).collect();
        Truth { known, ..truth }
    }

    #[test]
    fn intervals_and_ranks_are_of_the_draws() {
        let settings = [("likelihood", "logit"), ("warmup", "20"), ("draws", "40"), ("chains", "1")];
        let model = model("logit-12", "bm3kl", &settings);
        // Truths below, inside and above all draws.
        let weights = model.kernels().weights().unwrap().to_vec();
        let mut found = Calibration::default();
        found.add(&model, &at("logit-12", &[-1.0, weights[1], 2.0, 99.0]));
        assert_eq!((&found.covered[..], found.level), (&[1.0 / 3.0][..], Some(0.9)));
        assert_eq!(
            (&found.ranks[0][..], &found.ranks[2][..], &found.ranks[3][..]),
            (&[0][..], &[RANKED][..], &[RANKED][..])
        );
        assert!((1..RANKED).contains(&found.ranks[1][0]));
        let p = found.uniformity().unwrap();
        assert!(p > 0.0 && p <= 1.0, "{p}");
    }

    #[test]
    fn intervals_without_draws_have_a_level_of_their_own_and_no_ranks() {
        let model = model("svimkl-12", "svimkl", &[("intercept", "no")]);
        let weights = model.kernels().weights().unwrap().to_vec();
        let mut found = Calibration::default();
        found.add(&model, &at("svimkl-12", &[weights[0], -1.0, weights[2]]));
        assert_eq!((&found.covered[..], found.level), (&[2.0 / 3.0][..], Some(0.95)));
        assert!(found.ranks.is_empty() && found.uniformity().is_none());
    }

    #[test]
    fn width_and_amplitude_of_bsvm_are_known_by_its_draws() {
        let model = model("bsvm-12", "bsvm", &[("warmup", "10"), ("sweeps", "60"), ("thin", "2")]);
        let mut found = Calibration::default();
        found.add(&model, &at("bsvm-12", &[1e9, 0.0]));
        assert_eq!((&found.covered[..], &found.ranks[..]), (&[0.0][..], &[vec![RANKED], vec![0]][..]));
    }
}
