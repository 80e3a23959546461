//! Table 1 of Adamo and Corneli (2024), SVIMKL; the method on real data sets, and on kernels that are mostly noise.

use multikernel::data::{Dataset, Labels, Samples, circles, moons, repeats, separable};
use multikernel::dist::{Rng, normal};
use multikernel::{Matrix, Result};

use super::line::Line;
use super::show::{
    ACCURACY, Column, KERNELS, LOG_LOSS, LOGISTIC, Layout, MEAN_WEIGHTS, METHOD, OTHERS, SEEDS, SET, TRAIN, WARNINGS,
    spread_short,
};
use super::table::{Entry, Reproducible, Split, TablePart};
use super::verdict::{Figure, Judged, judge};

pub(super) const TABLE: Reproducible = Reproducible {
    name: "svimkl",
    summary: "SVIMKL on real sets: three distributions, the selecting prior and its controls; accuracy and log-loss against uniform weights",
    sets: &["ionosphere", "sonar", "wdbc", "german.numer", "vehicle", "mfeat"],
    parts,
    layout: LOGISTIC,
};

pub(super) const TOYS: Reproducible = Reproducible {
    name: "svimkl-toys",
    summary: "Adamo and Corneli 2024, table 1: kernel weights and accuracy on moons, circles and separable rows",
    sets: &["moons", "circles", "separable"],
    parts: toys_parts,
    layout: TOYS_LAYOUT,
};

pub(super) const NOISE: Reproducible = Reproducible {
    name: "svimkl-noise",
    summary: "4 kernels on columns that matter and 40 on columns of noise: who finds the 4",
    sets: &[NOISE_SET],
    parts: noise_parts,
    layout: NOISE_LAYOUT,
};

const PAPER_WEIGHTS: Column = ("paper", paper_weights);
const RANKS: Column = ("rank correlation", |line| spread_short(&rank_correlations(line), 3));
const FOUND: Column = ("weight on the 4", |line| spread_short(&found_shares(line), 3));

/// Weights of few kernels, next to the paper's.
const TOYS_LAYOUT: Layout = Layout {
    columns: &[SET, SEEDS, METHOD, ACCURACY, LOG_LOSS, MEAN_WEIGHTS, PAPER_WEIGHTS, OTHERS, TRAIN, WARNINGS],
    note: |_| {
        "± standard deviation over seeds, each of which draws 100 rows to train and 100 to test; weights are means over seeds; verdicts are on shares of their sum".into()
    },
};

/// Weights of many kernels, mostly noise.
const NOISE_LAYOUT: Layout = Layout {
    columns: &[SET, SEEDS, KERNELS, METHOD, ACCURACY, LOG_LOSS, RANKS, FOUND, TRAIN, WARNINGS],
    note: |_| {
        "± standard deviation over seeds; rank correlation of kernel weights with the strengths of their columns".into()
    },
};

/// The name of the set with few relevant columns.
const NOISE_SET: &str = "noise";
const N_NOISE: usize = 40;
/// Variances of the functions of the relevant columns.
const STRENGTHS: [f64; 4] = [4.0, 2.0, 1.0, 0.5];

type Settings = &'static [(&'static str, &'static str)];

const UNIFORM: Settings = &[("weights", "uniform")];
const EXPONENTIAL: Settings = &[("q", "exponential")];
const LOGNORMAL: Settings = &[("q", "lognormal")];
const SELECTING: Settings = &[("shape", "0.1")];
const AUTO: Settings = &[("lambda", "auto")];
const UNIFORM_AUTO: Settings = &[("weights", "uniform"), ("lambda", "auto")];

fn parts(set: &str) -> Vec<TablePart> {
    let mut entries = vec![
        Entry::new("mklr", UNIFORM),
        Entry::new("svimkl", &[]),
        Entry::new("svimkl", EXPONENTIAL),
        Entry::new("svimkl", LOGNORMAL),
        Entry::new("svimkl", SELECTING),
        Entry::new("mklr", &[]),
        Entry::new("average", &[]),
    ];
    if set != "mfeat" {
        entries.extend([Entry::new("mklr", UNIFORM_AUTO), Entry::new("svimkl", AUTO)]);
    }
    let (bank, kernels): (_, fn(usize, u64) -> String) = match set {
        "mfeat" => ("4 on each view", |_, _| "gaussian(median*2^-1..2^1) each view, linear each view".into()),
        _ => ("17 kernels", |_, _| "gaussian(2^-6..2^7), polynomial(1..3)".into()),
    };
    let split = if set == "mfeat" { Split::Rows(500) } else { Split::Share(0.5) };
    vec![TablePart { bank, kernels: Some(kernels), split, n_seeds: 20, proba: true, entries }]
}

const CLIPPED: Settings = &[("indefinite", "clip")];
const PUBLISHED: Settings = &[("q", "exponential"), ("intercept", "no"), ("indefinite", "clip")];
/// Algorithm 1 as printed but for its step of 1: with that weights collapse.
const PLAIN: Settings = &[
    ("q", "exponential"),
    ("intercept", "no"),
    ("solver", "plain"),
    ("nodes", "1"),
    ("rate", "0.01"),
    ("iterations", "2000"),
    ("indefinite", "clip"),
];
const PLAIN_AS_PRINTED: Settings = &[
    ("q", "exponential"),
    ("intercept", "no"),
    ("solver", "plain"),
    ("nodes", "1"),
    ("rate", "1"),
    ("indefinite", "clip"),
];
const PUBLISHED_RIDGE: Settings = &[("intercept", "no"), ("indefinite", "clip")];
const SELECTING_CLIPPED: Settings = &[("shape", "0.1"), ("indefinite", "clip")];

fn toys_parts(_: &str) -> Vec<TablePart> {
    let entries = vec![
        Entry::new("svimkl", PUBLISHED),
        Entry::new("svimkl", PLAIN),
        Entry::new("svimkl", PLAIN_AS_PRINTED),
        Entry::new("svimkl", CLIPPED),
        Entry::new("svimkl", SELECTING_CLIPPED),
        Entry::new("mklr", PUBLISHED_RIDGE),
    ];
    // The paper's width 0.1 fits best when read as the rate of the exponential.
    let kernels: fn(usize, u64) -> String =
        |_, _| "linear raw, sigmoid(0.5) raw, gaussian(gamma=0.1), laplacian(0.1)".into();
    let split = Split::Planted;
    vec![TablePart { bank: "4 kernels", kernels: Some(kernels), split, n_seeds: 20, proba: true, entries }]
}

fn noise_parts(_: &str) -> Vec<TablePart> {
    let entries = vec![
        Entry::new("svimkl", EXPONENTIAL),
        Entry::new("svimkl", &[]),
        Entry::new("svimkl", SELECTING),
        Entry::new("mklr", &[]),
        Entry::new("mklr", UNIFORM),
        Entry::new("average", &[]),
        Entry::new("simplemkl", &[("c", "auto")]),
        Entry::new("evidence", &[]),
    ];
    let kernels: fn(usize, u64) -> String = |_, _| "gaussian(0.7) each".into();
    let split = Split::Planted;
    vec![TablePart { bank: "one a column", kernels: Some(kernels), split, n_seeds: 20, proba: true, entries }]
}

/// The training and test rows of a set drawn from the seed.
pub(super) fn drawn(set: &str, seed: u64) -> Result<(Dataset, Dataset)> {
    let all = match set {
        "moons" => moons(200, 0.2, seed)?,
        "circles" => circles(200, 0.1, 0.5, seed)?,
        "separable" => separable(200, seed)?,
        _ => return Ok((noise(seed, 0, 200)?, noise(seed, 1, 1000)?)),
    };
    let split = &repeats(&all.labels, 1, 0.5, seed)?[0];
    Ok((all.select(&split.train), all.select(&split.test)))
}

/// Rows whose log odds are a sum of smooth random functions of four columns, scaled by their strengths, and independent
/// of 40 more columns. All columns are standard normal; the functions, the same for both parts, are sums of 200 waves
/// whose frequencies are normal with standard deviation 1 / 0.7: draws of a Gaussian process with the kernel of the
/// table.
fn noise(seed: u64, part: u64, n: usize) -> Result<Dataset> {
    const WAVES: usize = 200;
    let mut rng = Rng::new(seed, STREAM);
    let waves: Vec<[f64; 2]> =
        (0..4 * WAVES).map(|_| [normal(&mut rng) / 0.7, std::f64::consts::TAU * rng.uniform()]).collect();
    let mut rng = Rng::new(seed, STREAM + 1 + part);
    let points = Matrix::from_fn(n, 4 + N_NOISE, |_, _| normal(&mut rng));
    let total: f64 = STRENGTHS.iter().sum();
    let mut labels = Vec::with_capacity(n);
    for row in points.rows() {
        let mut odds = 0.0;
        for ((waves, x), strength) in waves.chunks_exact(WAVES).zip(row).zip(STRENGTHS) {
            let height: f64 = waves.iter().map(|[frequency, phase]| (frequency * x + phase).cos()).sum();
            odds += (2.0 * strength / (WAVES as f64 * total)).sqrt() * height;
        }
        // Only whether a draw lies below this is kept, so the last digit of a platform's `cos` and `exp` does not
        // matter.
        labels.push(if rng.uniform() < 1.0 / (1.0 + (-3.0 * odds).exp()) { "yes" } else { "no" });
    }
    Dataset::new(NOISE_SET, Samples::unnamed(points)?, Labels::new(&labels)?)
}

/// Distinct from the streams of splits and of methods.
const STREAM: u64 = 1 << 53;

/// The weights of table 1, of the published distribution and of the ridge.
fn printed_weights(line: &Line) -> Option<[f64; 4]> {
    let is_ridge = line.method.starts_with("mklr");
    if !is_ridge && !line.method.contains("q=exponential") {
        return None;
    }
    match (line.dataset.as_str(), is_ridge) {
        ("moons", false) => Some([0.0338, 0.0899, 0.2191, 0.6546]),
        ("moons", true) => Some([1.0244, 0.2397, 1.1187, 3.7014]),
        ("circles", false) => Some([0.0964, 0.0272, 0.1329, 0.8220]),
        ("circles", true) => Some([0.0277, 0.0605, 1.4507, 5.7608]),
        ("separable", false) => Some([0.2948, 0.0853, 0.2520, 0.1871]),
        ("separable", true) => Some([1.1034, 0.1429, 0.8841, 2.0121]),
        _ => None,
    }
}

fn paper_weights(line: &Line) -> String {
    let shown = |weights: [f64; 4]| weights.map(|weight| format!("{weight:.4}")).join(" / ");
    printed_weights(line).map_or(String::new(), shown)
}

/// Shares of the weights beside those of the paper, which printed one run on rows of its own.
pub(super) fn judged(line: &Line) -> Vec<Judged> {
    const NAMES: [&str; 4] = ["linear", "sigmoid", "gaussian", "laplacian"];
    let Some(printed) = printed_weights(line) else { return vec![] };
    let total: f64 = printed.iter().sum();
    let share = |m: usize| {
        let of = |weights: &Vec<f64>| weights.get(m).map(|weight| weight / weights.iter().sum::<f64>());
        line.weights.iter().filter_map(of).collect::<Vec<_>>()
    };
    let one = |m: usize| {
        let paper = Figure { mean: printed[m] / total, std: None, n_splits: 1 };
        judge(&format!("share of {}", NAMES[m]), &share(m), paper)
    };
    (0..4).filter_map(one).collect()
}

/// For each seed, the rank correlation of the kernel weights with the strengths of their columns; ties get mean ranks.
fn rank_correlations(line: &Line) -> Vec<f64> {
    let mut truth = STRENGTHS.to_vec();
    truth.resize(4 + N_NOISE, 0.0);
    let of = |weights: &Vec<f64>| (weights.len() == truth.len()).then(|| rank_correlation(weights, &truth)).flatten();
    line.weights.iter().filter_map(of).collect()
}

/// The fraction of the weight on the relevant columns.
fn found_shares(line: &Line) -> Vec<f64> {
    line.weights.iter().map(|weights| weights.iter().take(4).sum::<f64>() / weights.iter().sum::<f64>()).collect()
}

/// Spearman's rank correlation; `None` if one side is constant.
fn rank_correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let (a, b) = (ranks(a), ranks(b));
    let mean = (a.len() as f64 + 1.0) / 2.0;
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>();
    let scale = (product(&a, &a) * product(&b, &b)).sqrt();
    (scale > 0.0).then(|| product(&a, &b) / scale)
}

/// Ranks from 1; ties share their mean rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let below = |value: f64| values.iter().filter(|&&other| other < value).count() as f64;
    let equal = |value: f64| values.iter().filter(|&&other| other == value).count() as f64;
    values.iter().map(|&value| below(value) + (equal(value) + 1.0) / 2.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_correlation_is_that_of_mean_ranks() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
        assert_eq!(rank_correlation(&[1.0, 2.0, 3.0], &[2.0, 8.0, 9.0]), Some(1.0));
        assert_eq!(rank_correlation(&[1.0, 1.0], &[2.0, 8.0]), None);
        // scipy.stats.spearmanr gives the same.
        let found = rank_correlation(&[0.1, 0.4, 0.2, 0.9], &[0.0, 0.0, 1.0, 3.0]).unwrap();
        assert!((found - 0.632_455_532_033_675_9).abs() < 1e-12, "{found}");
    }

    #[test]
    fn printed_weights_are_judged_as_shares() {
        let line = |method: &str, weights: Vec<Vec<f64>>| Line {
            weights,
            ..Line::new("moons", "4 kernels", "split".into(), method.into(), None)
        };
        let found = judged(&line("svimkl q=exponential", vec![vec![1.0, 2.0, 3.0, 4.0], vec![2.0, 4.0, 6.0, 8.0]]));
        let apart: Vec<f64> = found.iter().map(|one| one.difference).collect();
        // Shares .1 to .4 on both seeds, against .0338 / .9974 and so on.
        for (apart, (ours, paper)) in apart.iter().zip([(0.1, 0.0338), (0.2, 0.0899), (0.3, 0.2191), (0.4, 0.6546)]) {
            assert!((apart - (ours - paper / 0.9974)).abs() < 1e-12, "{found:?}");
        }
        assert_eq!((found[3].of.as_str(), found[3].verdict.word()), ("share of laplacian", "below"));
        assert!(judged(&line("svimkl shape=0.1", vec![vec![1.0; 4]])).is_empty());
    }

    #[test]
    fn drawn_rows_hold_what_is_said_of_them() {
        for set in ["moons", "circles", "separable"] {
            let (train, test) = drawn(set, 3).unwrap();
            assert_eq!((train.labels.counts(), test.labels.n_samples()), (vec![50, 50], 100), "{set}");
        }
        let (train, test) = drawn(NOISE_SET, 3).unwrap();
        assert_eq!((train.samples.n_samples(), test.samples.n_samples(), train.samples.n_features()), (200, 1000, 44));
        // The same functions: a model learned from one part holds for the other.
        let plan =
            multikernel::Plan::new("average").unwrap().kernels("gaussian(0.7) on [0], gaussian(0.7) on [1]").unwrap();
        let found = plan.train(&train).unwrap().predict(&test.samples).unwrap().labels;
        let right = found.iter().zip(test.labels.codes()).filter(|(a, b)| a == b).count();
        assert!(right > 650, "{right}");
    }
}
