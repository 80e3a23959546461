//! Checks the bound against its definition, that it rises, and the properties of the inferred distributions.

use std::f64::consts::TAU;

use super::bound::Bound;
use super::ridge::Ridge;
use super::update::MARGIN;
use super::*;
use crate::data::{Dataset, Labels, Numbers, Samples, bundled};
use crate::dist::{Rng, digamma, inverse_mills, ln_gamma_function, normal, normal_cdf};
use crate::linalg::{Matrix, dot};
use crate::method::check::with;
use crate::method::problems::{positive_classes, sides};
use crate::plan::{Plan, Session};
use crate::pool::Pool;
use crate::run::{Explain, Input, Probabilistic, Silent, Status};
use crate::solve::cholesky::Cholesky;

const BANK: &str = "gaussian(2^-2..2^5), polynomial(1..3)";
const PRIORS: [(&str, Prior); 2] = [("bemkl", PLAIN), ("sbemkl", SPARSE)];

fn go_on() -> bool {
    false
}

/// Some rows of a bundled set.
fn some(set: &str, step: usize) -> Dataset {
    let data = bundled(set).unwrap();
    data.select(&(0..data.samples.n_samples()).step_by(step).collect::<Vec<_>>())
}

/// Calls `f` with the task of training on all rows of a set.
fn with_task<T>(data: &Dataset, bank: &str, f: impl FnOnce(&Task<'_>) -> T) -> T {
    let pool = Pool::new(2).unwrap();
    let plan = Plan::new("average").unwrap().kernels(bank).unwrap();
    let mut silent = Silent;
    let prepared = plan.prepare(data, &mut Session::new(&pool, &mut silent)).unwrap();
    let input = Input::Stack(prepared.stack().unwrap());
    let labels = &prepared.data().labels;
    let target = match &prepared.data().target {
        Target::Numbers(numbers) => Target::Numbers(numbers.standardised().0),
        other => other.clone(),
    };
    f(&Task { input, labels, target: &target, groups: None, views: &[], alternatives: &[], seed: 7, pool: &pool })
}

fn updates<'a>(task: &'a Task<'a>, prior: Prior) -> Update<'a> {
    Update { task, prior, noise: 0.01, stop: &go_on }
}

/// Each round raises the bound, up to rounding: a wrong update of any of the distributions would not.
fn assert_rises(what: &str, bounds: &[f64]) {
    for (round, pair) in bounds.windows(2).enumerate() {
        let rise = pair[1] - pair[0];
        assert!(rise > -1e-9 * pair[0].abs(), "{what}: round {} changes the bound by {rise:e}", round + 1);
    }
    assert!(bounds[bounds.len() - 1] > bounds[0], "{what}");
}

#[test]
fn bound_rises_in_every_round() {
    let sets =
        [some("sonar", 2), some("ionosphere", 3), some("wisconsin", 3), some("glass6", 2), clouds(3), waves(60, 1)];
    for data in &sets {
        for (name, prior) in PRIORS {
            with_task(data, BANK, |task| {
                let (update, mut state) = (updates(task, prior), Beliefs::default());
                for _ in 0..60 {
                    state = update.round(&state).unwrap();
                }
                assert_rises(&format!("{name} on {}", data.name), &state.bounds);
            });
        }
    }
}

/// Clouds on a line, separated by the first column; the others are noise.
fn clouds(n_classes: usize) -> Dataset {
    let mut rng = Rng::new(4, n_classes as u64);
    let points = Matrix::from_fn(48, 4, |i, j| {
        let shift = if j == 0 { 2.5 * (i % n_classes) as f64 } else { 0.0 };
        shift + normal(&mut rng)
    });
    let labels: Vec<String> = (0..48).map(|i| format!("class {}", i % n_classes)).collect();
    Dataset::new("clouds", Samples::unnamed(points).unwrap(), Labels::new(&labels).unwrap()).unwrap()
}

/// ln Gamma and its derivative at the shapes used, by mpmath.
fn gamma_functions(shape: f64) -> (f64, f64) {
    match shape {
        1.0 => (0.0, -0.577_215_664_901_532_9),
        1.5 => (-0.120_782_237_635_245_22, 0.036_489_973_978_576_52),
        1e-10 => (23.025_850_929_882_733, -10_000_000_000.577_214),
        _ => (0.572_364_942_728_349_6, -1.963_510_025_527_943_2),
    }
}

/// `E[ln p] - E[ln q]` for a precision and `E[ln p]` for its normal variable, term by term.
fn precision_by_definition(prior: Prior, scale: f64, square: f64) -> f64 {
    let (shape, rate) = (prior.shape + 0.5, 1.0 / prior.scale);
    let ((ln_gamma, _), (ln_gamma_q, digamma)) = (gamma_functions(prior.shape), gamma_functions(shape));
    let (mean, ln_mean) = (shape * scale, digamma + scale.ln());
    let own = (prior.shape - 1.0) * ln_mean - mean * rate - ln_gamma + prior.shape * rate.ln();
    let entropy = shape + scale.ln() + ln_gamma_q + (1.0 - shape) * digamma;
    own + entropy + 0.5 * (ln_mean - mean * square - TAU.ln())
}

fn trace_of_product(a: &Matrix, b: &Matrix) -> f64 {
    dot(a.data(), b.data())
}

fn inverse(matrix: Matrix) -> Matrix {
    let pool = Pool::new(1).unwrap();
    Cholesky::new(matrix, &pool, &go_on).unwrap().inverse(&pool, &go_on).unwrap()
}

fn ln_determinant(matrix: &Matrix) -> f64 {
    Cholesky::new(matrix.clone(), &Pool::new(1).unwrap(), &go_on).unwrap().log_determinant()
}

fn normal_entropy(covariance: &Matrix) -> f64 {
    0.5 * (covariance.n_rows() as f64 * (1.0 + TAU.ln()) + ln_determinant(covariance))
}

/// The bound after a round, from the definitions of all expectations, without simplification.
fn bound_by_definition(update: &Update<'_>, now: &Beliefs) -> (f64, f64) {
    let (task, prior, noise) = (update.task, update.prior, update.noise);
    let stack = task.stack().unwrap();
    let all: Vec<usize> = (0..task.n_samples()).collect();
    let kernels: Vec<Matrix> = (0..stack.n_kernels()).map(|m| stack.block(m, &all, &all).unwrap()).collect();
    let (n, c) = (all.len(), now.samples.n_cols());
    let powers = update.powers().unwrap();
    let outputs = update.outputs(now).unwrap();
    let weights = update.weights(now, &outputs).unwrap();
    let numbers = task.target.numbers().map(Numbers::values);
    let decisions = match numbers {
        Some(y) => update.numbers(y, &outputs, &weights, now.precision),
        None => update.decisions(&outputs, &weights),
    };
    let sides = if numbers.is_some() { Matrix::default() } else { sides(task.labels) };
    let mut rest = 0.0;
    let mut sum = 0.0;
    let mut all_samples = vec![];
    for (p, samples) in update.samples(&powers, &outputs, &now.squares).unwrap().into_iter().enumerate() {
        let mut precision = Matrix::zeros(n, n);
        for (i, square) in now.squares.column(p).into_iter().enumerate() {
            let scale = 1.0 / (1.0 + square / 2.0);
            precision.set(i, i, 1.5 * scale);
            sum += precision_by_definition(PLAIN, scale, samples.means[i].powi(2) + samples.variances[i]);
        }
        for kernel in &kernels {
            for i in 0..n {
                (0..n).for_each(|j| {
                    precision.set(i, j, precision.get(i, j) + dot(kernel.row(i), kernel.row(j)) / noise);
                });
            }
        }
        let covariance = inverse(precision);
        sum += normal_entropy(&covariance);
        for (m, kernel) in kernels.iter().enumerate() {
            for i in 0..n {
                // E[(g - k'a)^2] = (mean)^2 + Var g + k' S k.
                let k = kernel.row(i);
                let spread: f64 = covariance.rows().zip(k).map(|(row, value)| value * dot(row, k)).sum();
                let mean = outputs.means.get(m, p * n + i) - dot(k, &samples.means);
                let square = mean * mean + outputs.covariance.get(m, m) + spread;
                sum -= 0.5 * ((TAU * noise).ln() + square / noise);
            }
        }
        sum += n as f64 * normal_entropy(&outputs.covariance);
        let (bias, weights_only) = (weights.means[p], &weights.means[c..]);
        for i in 0..n {
            let row: Vec<f64> = (0..kernels.len()).map(|m| outputs.means.get(m, p * n + i)).collect();
            let centre = dot(&row, weights_only) + bias;
            // E[(e'g + b)^2], term by term.
            let mut square = bias * bias + weights.covariance.get(p, p);
            for (m, output) in row.iter().enumerate() {
                let cross = weights.means[c + m] * bias + weights.covariance.get(c + m, p);
                square += 2.0 * output * cross;
            }
            let second = |k: usize, l: usize| weights.means[k] * weights.means[l] + weights.covariance.get(k, l);
            let of_weights = Matrix::from_fn(kernels.len(), kernels.len(), |k, l| second(c + k, c + l));
            let of_outputs =
                Matrix::from_fn(kernels.len(), kernels.len(), |k, l| row[k] * row[l] + outputs.covariance.get(k, l));
            square += trace_of_product(&of_weights, &of_outputs);
            if let Some(y) = numbers {
                rest += y.get(i, p).powi(2) - 2.0 * y.get(i, p) * centre + square;
                continue;
            }
            // A normal distribution of variance 1 around the centre, truncated at the margin: its mean, mean square and
            // entropy.
            let side = sides.get(i, p);
            let beyond = side * centre - MARGIN;
            let mean = side * centre + inverse_mills(beyond);
            let mean_square = 1.0 + centre * centre + (side * centre + MARGIN) * inverse_mills(beyond);
            assert!((decisions.means.get(i, p) - side * mean).abs() < 1e-12);
            let from_centre = mean_square - 2.0 * side * mean * centre + centre * centre;
            let entropy = 0.5 * (TAU.ln() + from_centre) + normal_cdf(beyond).ln();
            sum += entropy - 0.5 * (TAU.ln() + mean_square - 2.0 * side * mean * centre + square);
        }
        all_samples.push(samples);
    }
    for (k, &mean) in weights.means.iter().enumerate() {
        let prior = if k < c { PLAIN } else { prior };
        let before = now.weights[k].powi(2) + now.covariance.get(k, k);
        let scale = 1.0 / (1.0 / prior.scale + before / 2.0);
        sum += precision_by_definition(prior, scale, mean * mean + weights.covariance.get(k, k));
    }
    sum += normal_entropy(&weights.covariance);
    if numbers.is_some() {
        // The precision v of the noise: its prior gamma(1, 1), the numbers given it, its entropy.
        let half = (n * c) as f64 / 2.0;
        let (shape, rate) = (1.0 + half, 1.0 + rest / 2.0);
        let (mean, ln_mean) = (shape / rate, digamma(shape) - rate.ln());
        assert!((decisions.precision / mean - 1.0).abs() < 1e-10, "{} {mean}", decisions.precision);
        let entropy = shape - rate.ln() + ln_gamma_function(shape) + (1.0 - shape) * digamma(shape);
        sum += -mean + half * (ln_mean - TAU.ln()) - 0.5 * mean * rest + entropy;
    }
    let bound = Bound { noise, outputs: &outputs, weights: &weights, samples: &all_samples };
    (bound.value(&decisions), sum)
}

#[test]
fn bound_equals_its_definition() {
    for (n_classes, data) in [(2, clouds(2)), (3, clouds(3)), (0, waves(20, 3))] {
        for (name, prior) in PRIORS {
            with_task(&data, "gaussian(1), linear on [0], linear on [1], gaussian(2) on [2]", |task| {
                let update = updates(task, prior);
                let mut state = update.begin(&update.powers().unwrap()).unwrap();
                for round in 0..4 {
                    let (found, expected) = bound_by_definition(&update, &state);
                    let what = format!("{name}, {n_classes} classes, round {round}");
                    assert!((found - expected).abs() < 1e-9 * expected.abs(), "{what}: {found}, expected {expected}");
                    state = update.round(&state).unwrap();
                }
            });
        }
    }
}

/// The bound along a ridge, up to a constant.
fn along(ridge: &Ridge<'_>, u: f64) -> f64 {
    let up = (2.0 * u).exp();
    let term = |prior: Prior, square: f64| (prior.shape + 0.5) * (1.0 / prior.scale + 0.5 * square).ln();
    let weights: f64 = ridge.weights.iter().map(|square| term(ridge.prior, square * up)).sum();
    let samples: f64 = ridge.samples.iter().map(|square| term(PLAIN, square / up)).sum();
    -0.5 * ridge.misfit / up + ridge.volume * u - weights - samples
}

/// A ridge with kernel weights of either prior.
fn with_ridge(prior: Prior, f: impl Fn(&Ridge<'_>)) {
    let mut rng = Rng::new(9, 0);
    let squares = |n: usize, rng: &mut Rng| (0..n).map(|_| 10.0f64.powf(4.0 * rng.uniform() - 2.0)).collect::<Vec<_>>();
    for (n_rows, n_kernels, misfit) in [(20, 3, 70.0), (5, 40, 1000.0), (300, 17, 2.0)] {
        let (weights, samples) = (squares(n_kernels, &mut rng), squares(n_rows, &mut rng));
        let (rows, kernels) = (n_rows as f64, n_kernels as f64);
        let volume = kernels - rows - rows * kernels;
        f(&Ridge { misfit, volume, weights: &weights, prior, samples: &samples });
    }
}

#[test]
fn slopes_of_the_ridge_are_finite_differences_and_its_top_has_none() {
    for (name, prior) in PRIORS {
        with_ridge(prior, |ridge| {
            for u in [-0.7, 0.0, 0.4] {
                let (h, (slope, curvature)) = (1e-4, ridge.slopes(u));
                let [before, here, after] = [u - h, u, u + h].map(|u| along(ridge, u));
                let difference = (after - before) / (2.0 * h);
                assert!(
                    (slope - difference).abs() < 1e-5 * (1.0 + curvature.abs()),
                    "{name} {u}: {slope} {difference}"
                );
                let second = (after - 2.0 * here + before) / (h * h);
                assert!(
                    (curvature - second).abs() < 1e-3 * (1.0 + curvature.abs()),
                    "{name} {u}: {curvature} {second}"
                );
            }
            let top = ridge.top().ln();
            assert!(ridge.slopes(top).0.abs() < 1e-6 * ridge.slopes(top).1.abs(), "{name}");
        });
    }
}

/// The bound along the ridge by the definitions of its parts, all distributions scaled and precisions set anew.
#[test]
fn ridge_is_the_bound_of_scaled_distributions() {
    for (data, (name, prior)) in
        [clouds(2), clouds(3), waves(20, 3)].iter().flat_map(|data| PRIORS.map(|prior| (data, prior)))
    {
        with_task(data, "gaussian(1), linear on [0], gaussian(2) on [2]", |task| {
            let update = updates(task, prior);
            let (powers, mut now) = (update.powers().unwrap(), Beliefs::default());
            for _ in 0..3 {
                now = update.round(&now).unwrap();
            }
            let outputs = update.outputs(&now).unwrap();
            let weights = update.weights(&now, &outputs).unwrap();
            let samples = update.samples(&powers, &outputs, &now.squares).unwrap();
            let (c, n) = (samples.len(), task.n_samples());
            let square = |k: usize| weights.means[k].powi(2) + weights.covariance.get(k, k);
            let of_weights: Vec<f64> = (c..weights.means.len()).map(square).collect();
            let of_sample = |p: usize, i: usize| samples[p].means[i].powi(2) + samples[p].variances[i];
            let of_samples: Vec<f64> = (0..c * n).map(|r| of_sample(r / n, r % n)).collect();
            let misfit =
                Bound { noise: update.noise, outputs: &outputs, weights: &weights, samples: &samples }.misfit();
            let (kernels, rows) = (of_weights.len() as f64, (n * c) as f64);
            let volume = kernels - rows - rows * kernels;
            let ridge = Ridge { misfit, volume, weights: &of_weights, prior, samples: &of_samples };
            let scaled = |matrix: &Matrix, by: &dyn Fn(usize) -> f64| {
                Matrix::from_fn(matrix.n_rows(), matrix.n_cols(), |i, j| by(i) * by(j) * matrix.get(i, j))
            };
            let bound = |t: f64| {
                let fit = |prior: Prior, square: f64| {
                    precision_by_definition(prior, 1.0 / (1.0 / prior.scale + 0.5 * square), square)
                };
                let priors: f64 = of_weights.iter().map(|square| fit(prior, square * t * t)).sum::<f64>()
                    + of_samples.iter().map(|square| fit(PLAIN, square / (t * t))).sum::<f64>();
                // Only the volume of the sample weights' distribution changes: its shape plays no part.
                let entropies = normal_entropy(&scaled(&weights.covariance, &|k| if k < c { 1.0 } else { t }))
                    + rows * normal_entropy(&scaled(&outputs.covariance, &|_| 1.0 / t))
                    - rows * t.ln();
                priors + entropies - 0.5 * misfit / (t * t)
            };
            for t in [0.5, 0.9, 1.3, 2.0f64] {
                let (found, expected) = (along(&ridge, t.ln()) - along(&ridge, 0.0), bound(t) - bound(1.0));
                assert!((found - expected).abs() < 1e-8 * (1.0 + expected.abs()), "{name}, {t}: {found} {expected}");
            }
        });
    }
}

/// What the published updates alone reach after 200 rounds is passed within thirty.
#[test]
fn bound_of_two_hundred_plain_rounds_is_reached_in_thirty() {
    with_task(&some("sonar", 2), BANK, |task| {
        let (update, powers) = (updates(task, PLAIN), updates(task, PLAIN).powers().unwrap());
        let (mut plain, mut state) = (update.begin(&powers).unwrap(), Beliefs::default());
        for _ in 0..200 {
            plain = update.next(&plain).unwrap().0;
        }
        for _ in 0..30 {
            state = update.round(&state).unwrap();
        }
        let (plain, found) = (plain.bounds[199], state.bounds[29]);
        assert!(found > plain, "{found} {plain}");
    });
}

/// Two numbers, waves along the first column of four, with noise of standard deviation .3.
fn waves(n: usize, seed: u64) -> Dataset {
    let mut rng = Rng::new(seed, 0);
    let points = Matrix::from_fn(n, 4, |_, _| 2.0 * rng.uniform() - 1.0);
    let values =
        Matrix::from_fn(n, 2, |i, t| [(3.0 * points.get(i, 0)).sin(), points.get(i, 0)][t] + 0.3 * normal(&mut rng));
    let numbers = Numbers::new(vec!["a".into(), "b".into()], values).unwrap();
    Dataset::of_numbers("waves", Samples::unnamed(points).unwrap(), numbers).unwrap()
}

#[test]
fn numbers_are_predicted_nearly_to_their_noise() {
    let (data, fresh) = (waves(120, 5), waves(400, 6));
    let bank = "gaussian(1) on [0], gaussian(1) on [1], gaussian(1) on [2], gaussian(1) on [3]";
    for name in ["bemkl", "sbemkl"] {
        let model = train(name, &data, bank, &[]);
        let sizes: Vec<f64> = model.kernels().weights().unwrap().iter().map(|weight| weight.abs()).collect();
        assert!(sizes[1..].iter().all(|&size| size < sizes[0]), "{name}: {sizes:?}");
        let (numbers, truth) = (model.numbers().unwrap(), fresh.target.numbers().unwrap().values());
        let mean = numbers.predict(&fresh.samples).unwrap();
        assert_eq!(numbers.deviations(&fresh.samples).unwrap(), None);
        let error: f64 = truth.data().iter().zip(mean.data()).map(|(a, b)| (a - b).powi(2)).sum::<f64>() / 800.0;
        assert!(error < 1.4 * 0.09, "{name}: mean squared error {error}, that of the noise is 0.09");
    }
}

fn train(name: &str, data: &Dataset, bank: &str, settings: &[(&str, &str)]) -> crate::Model {
    let mut plan = Plan::new(name).unwrap().kernels(bank).unwrap();
    for (key, value) in settings {
        plan = plan.set(key, value).unwrap();
    }
    plan.train(data).unwrap()
}

/// The smallest weight relative to the largest, which belongs to the informative kernel.
fn smallest_part(name: &str, n_classes: usize) -> f64 {
    let bank = "gaussian(1) on [0], gaussian(1) on [1], gaussian(1) on [2], gaussian(1) on [3]";
    let found = train(name, &clouds(n_classes), bank, &[]);
    let sizes: Vec<f64> = found.kernels().weights().unwrap().iter().map(|weight| weight.abs()).collect();
    assert!(sizes[1..].iter().all(|&size| size < sizes[0]), "{name}, {n_classes} classes: {sizes:?}");
    sizes.iter().copied().fold(f64::INFINITY, f64::min) / sizes[0]
}

#[test]
fn the_sparse_prior_switches_kernels_off_and_the_plain_one_does_not() {
    for n_classes in [2, 3] {
        let (sparse, plain) = (smallest_part("sbemkl", n_classes), smallest_part("bemkl", n_classes));
        assert!(sparse < 0.01 && plain > 10.0 * sparse, "{n_classes} classes: {sparse} and {plain}");
    }
}

#[test]
fn probabilities_sum_to_one_and_the_label_is_the_most_probable() {
    for (data, bank) in [(some("sonar", 2), BANK), (some("glass6", 2), BANK), (clouds(3), "gaussian(1) each")] {
        let model = train("bemkl", &data, bank, &[("iterations", "30")]);
        let (found, labels) =
            (model.probabilities(&data.samples).unwrap(), model.predict(&data.samples).unwrap().labels);
        let mut right = 0;
        for (i, row) in found.rows().enumerate() {
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert_eq!(crate::run::first_largest(row), labels[i]);
            right += usize::from(labels[i] == data.labels.codes()[i]);
        }
        assert!(10 * right > 8 * labels.len(), "{}: {right} of {} rows right", data.name, labels.len());
    }
}

/// The variance by its definition, from the whole covariance and the outputs of single kernels.
#[test]
fn probability_of_two_classes_equals_its_definition() {
    let data = clouds(2);
    with_task(&data, "gaussian(1), linear on [0], gaussian(2) on [1]", |task| {
        let method = Bemkl::default();
        let mut state = Beliefs::init(&method, task).unwrap();
        for _ in 0..5 {
            state.step(&method, task, &Control::default()).unwrap();
        }
        let model = BemklModel::new(task, &state).unwrap();
        let found = model.probabilities(task.input, task.pool).unwrap();
        let outputs = task.stack().unwrap().apply(&state.samples, task.pool).unwrap();
        for i in 0..task.n_samples() {
            let v: Vec<f64> = std::iter::once(1.0).chain(outputs.iter().map(|g| g.get(i, 0))).collect();
            let mean = dot(&v, &state.weights);
            let variance: f64 = 1.0 + state.covariance.rows().zip(&v).map(|(row, x)| x * dot(row, &v)).sum::<f64>();
            let (above, below) =
                (normal_cdf((mean - 1.0) / variance.sqrt()), normal_cdf((-1.0 - mean) / variance.sqrt()));
            assert!((found.get(i, 0) - above / (above + below)).abs() < 1e-12);
        }
    });
}

#[test]
fn a_class_without_rows_has_no_problem_and_no_probability() {
    let data = clouds(4);
    let present: Vec<usize> = (0..48).filter(|&i| data.labels.codes()[i] != 1).collect();
    let part = data.select(&present);
    assert_eq!(positive_classes(&part.labels), [0, 2, 3]);
    let model = train("bemkl", &part, BANK, &[("iterations", "5")]);
    let found = model.probabilities(&part.samples).unwrap();
    assert!(found.rows().all(|row| row[1] == 0.0 && row.iter().all(|value| value.is_finite())));
}

#[test]
fn it_stops_at_its_tolerance_and_tells_the_last_rise() {
    with_task(&some("sonar", 3), BANK, |task| {
        let run = |tol: &str, iterations: &str| {
            let method: Bemkl = with(&[("tol", tol), ("iterations", iterations)]);
            let mut state = Beliefs::init(&method, task).unwrap();
            while state.step(&method, task, &Control::default()).unwrap().status == Status::Running {}
            state
        };
        let state = run("1e-3", "200");
        let [.., before, last] = state.bounds[..] else { panic!("too few rounds") };
        assert!(state.converged && last - before < 1e-3 * last.abs() && state.bounds.len() < 200);
        let (rise, rounds) = ((last - before) / last.abs(), state.bounds.len());
        let facts = BemklModel::new(task, &state).unwrap().facts();
        let told = format!("{last:.2} after {rounds} (the last raised it by {rise:.1e} of itself)");
        assert!(facts.iter().any(|(_, value)| value.ends_with(&told)), "{facts:?}");
        let state = run("1e-9", "3");
        assert!(!state.converged && state.bounds.len() == 3);
    });
}

#[test]
fn kernels_too_large_for_the_arithmetic_are_refused_with_a_reason() {
    let mut data = clouds(2);
    let huge = Matrix::from_fn(48, 4, |i, j| 1e9 * data.samples.features().to_dense().unwrap().get(i, j));
    data.samples = Samples::unnamed(huge).unwrap();
    let plan = Plan::new("bemkl").unwrap().kernels("linear raw").unwrap().scale("none".parse().unwrap());
    let message = plan.train(&data).unwrap_err().to_string();
    assert!(message.starts_with("kernel values are so large that rounding hides"), "{message}");
}

/// The mean outputs of a row solve `(I / noise + E[e e']) g = K a / noise + E[e] f - E[e b]`, also if weights and bias
/// are correlated, which they hardly are after a run.
#[test]
fn outputs_see_that_weights_and_bias_go_together() {
    with_task(&clouds(2), "gaussian(1), linear on [0], gaussian(2) on [2]", |task| {
        let update = updates(task, PLAIN);
        let mut state = update.round(&Beliefs::default()).unwrap();
        for m in 1..4 {
            state.covariance.set(0, m, 0.1 * m as f64);
            state.covariance.set(m, 0, 0.1 * m as f64);
        }
        let outputs = update.outputs(&state).unwrap();
        let products = task.stack().unwrap().apply(&state.samples, task.pool).unwrap();
        let second = |k: usize, l: usize| state.weights[k] * state.weights[l] + state.covariance.get(k, l);
        for i in 0..task.n_samples() {
            for (m, product) in products.iter().enumerate() {
                let g = |m: usize| outputs.means.get(m, i);
                let left = g(m) / update.noise + (0..3).map(|l| second(1 + m, 1 + l) * g(l)).sum::<f64>();
                let right = product.get(i, 0) / update.noise + state.weights[1 + m] * state.decisions.get(i, 0)
                    - second(1 + m, 0);
                assert!((left - right).abs() < 1e-9 * (1.0 + right.abs()), "row {i}, kernel {m}: {left} {right}");
            }
        }
    });
}
