//! Numbers, counts and times: gradients, closed forms, and models of other kinds that must agree.

use super::state::Basis;
use super::tests::{DISTRIBUTIONS, SETTINGS, fit, random_points, random_x, whole};
use super::*;
use crate::data::{Dataset, Numbers, Samples, Scale};
use crate::dist::{Rng, normal};
use crate::linalg::dot;
use crate::method::check::{labels, with_target};
use crate::plan::{Model, PartsBy, Plan};
use crate::run::Predict;
use crate::simd::Real;
use crate::solve::cholesky::Cholesky;

const KERNELS: [&str; 2] = ["gaussian(1)", "polynomial(2)"];

/// Two numbers, two counts, and times with ties and censored rows, that follow from the points.
fn targets(points: &Matrix) -> [(Target, NumbersLoss); 3] {
    let n = points.n_rows();
    let mut rng = Rng::new(31, 0);
    let names = || vec!["a".to_string(), "b".to_string()];
    let rise = |i: usize| points.get(i, 0) - 0.5 * points.get(i, 1);
    let numbers = Matrix::from_fn(n, 2, |i, t| rise(i).sin() * (t as f64 + 0.5) + 0.3 * normal(&mut rng));
    let counts = Matrix::from_fn(n, 2, |i, t| (rise(i) + t as f64 + 0.5 * normal(&mut rng)).exp().floor());
    let time = (0..n).map(|i| (8.0 * (-rise(i)).exp() * rng.uniform()).ceil().min(12.0)).collect();
    let times = Times::new(time, (0..n).map(|i| i % 4 > 0).collect()).unwrap();
    [
        (Target::Numbers(Numbers::new(names(), numbers).unwrap()), NumbersLoss::Gaussian),
        (Target::Numbers(Numbers::new(names(), counts).unwrap()), NumbersLoss::Poisson),
        (Target::Times(times), NumbersLoss::Gaussian),
    ]
}

/// Calls `f` with a task for each target, and settings for it.
fn with_each(points: &Matrix, kernels: &[&str], f: impl Fn(&Task<'_>, Settings)) {
    let strata = labels(&vec![0; points.n_rows()]);
    for (target, loss) in targets(points) {
        with_target(points, &target, &strata, kernels, |task| f(task, Settings { loss, ..SETTINGS }));
    }
}

#[test]
fn gradients_are_those_of_differences() {
    let points = random_points(26, 3);
    for (family, prior) in DISTRIBUTIONS {
        for landmarks in [0, 9] {
            with_each(&points, &KERNELS, |task, settings| {
                let settings = Settings { family, prior, landmarks, ..settings };
                let objective = objective(task, &settings, Clip::default()).unwrap();
                let x = random_x(&objective);
                let (_, gradient) = whole(&objective, &x);
                let scale = f64::dot(&gradient, &gradient).sqrt();
                for k in 0..x.len() {
                    let at = |by: f64| {
                        let mut moved = x.clone();
                        moved[k] += by;
                        whole(&objective, &moved).0
                    };
                    let h = 1e-4;
                    let slope = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
                    let off = (slope - gradient[k]).abs();
                    let kind = task.target.kind();
                    assert!(off < 1e-6 * scale.max(1.0), "{family:?} {kind} {k}: {slope} {}", gradient[k]);
                }
            });
        }
    }
}

#[test]
fn one_pass_finds_what_two_find() {
    let points = random_points(77, 3);
    for (family, prior) in DISTRIBUTIONS {
        with_each(&points, &KERNELS, |task, settings| {
            let settings = Settings { family, prior, landmarks: 9, ..settings };
            let objective = objective(task, &settings, Clip::default()).unwrap();
            if !objective.loss.is_by_row() {
                return;
            }
            let passes = Passes::new(&objective).unwrap();
            let (x, samples) = (random_x(&objective), objective.layout.samples());
            let outputs = objective.outputs(&x[samples.clone()], &passes.forward).unwrap();
            let (direction, length) = (x.iter().rev().copied().collect::<Vec<_>>(), 0.7);
            let to: Vec<f64> = x.iter().zip(&direction).map(|(x, by)| x + length * by).collect();
            let (_, _, value) = objective.pass(&to, &outputs, &direction[samples], length, &passes.forward).unwrap();
            let (loss, gradient) = whole(&objective, &to);
            let near = |a: f64, b: f64| (a - b).abs() < 1e-10 * (1.0 + b.abs());
            assert!(near(value.loss, loss), "{family:?}: {} {loss}", value.loss);
            assert!(value.gradient.iter().zip(&gradient).all(|(&a, &b)| near(a, b)), "{family:?}");
        });
    }
}

/// Losses are minus log likelihoods, written as in a textbook, at functions that are constants.
#[test]
fn losses_of_no_function_are_those_of_constants() {
    let points = random_points(26, 3);
    with_each(&points, &KERNELS, |task, settings| {
        let settings = Settings { family: Family::Point, prior: Prior::Fixed, ..settings };
        let objective = objective(task, &settings, Clip::default()).unwrap();
        let mut x = vec![0.0; objective.layout.size()];
        x[objective.layout.intercepts()].fill(0.3);
        let (found, _) = whole(&objective, &x);
        let expected: f64 = match (task.target, settings.loss) {
            (Target::Numbers(numbers), NumbersLoss::Gaussian) => {
                numbers.values().data().iter().map(|y| 0.5 * (y - 0.3).powi(2)).sum()
            }
            (Target::Numbers(counts), NumbersLoss::Poisson) => {
                let ln_factorial = |y: f64| (1..=y as u64).map(|k| (k as f64).ln()).sum::<f64>();
                counts.values().data().iter().map(|&y| 0.3f64.exp() - 0.3 * y + ln_factorial(y)).sum()
            }
            (Target::Times(times), _) => -partial_log_likelihood(times, &[0.0; 26]),
            (Target::Classes, _) => unreachable!(),
        };
        assert!((found - expected).abs() < 1e-9 * expected, "{found} {expected}");
    });
}

/// `lambda a' E[K] a = delta sum E[b] - shape P` at the optimum, as for classes: nothing in it depends on the loss.
#[test]
fn scale_identity_holds_at_the_optimum_of_every_loss() {
    let points = random_points(80, 2);
    for (family, prior) in [
        (Family::Exponential, Prior::Gamma { shape: 1.0, rate: 1.0 }),
        (Family::Gamma, Prior::Gamma { shape: 0.5, rate: 2.0 }),
        (Family::LogNormal, Prior::Gamma { shape: 1.0, rate: 1.0 }),
        (Family::Point, Prior::Ridge(0.1)),
    ] {
        for landmarks in [0, 30] {
            with_each(&points, &["linear", "gaussian(0.5)", "laplacian(1)"], |task, settings| {
                let settings = Settings { family, prior, nodes: 32, landmarks, ..settings };
                let state = fit(task, &settings);
                let objective = objective(task, &settings, Clip::default()).unwrap();
                let value = objective.value_on_all(&state.x, &state.outputs);
                let means = objective.means(&state.x);
                let length = settings.lambda * f64::dot(&means, &value.lengths);
                let expected: f64 = match prior {
                    Prior::Gamma { shape, rate } => means.iter().map(|mean| rate * mean - shape).sum(),
                    Prior::Ridge(ridge) => means.iter().map(|mean| 2.0 * ridge * mean * mean).sum(),
                    Prior::Fixed => 0.0,
                };
                let kind = task.target.kind();
                assert!((length - expected).abs() < 1e-2 && length > 0.1, "{kind} {family:?}: {length} {expected}");
                assert!(state.losses.windows(2).all(|pair| pair[1] <= pair[0]), "{kind}: the bound fell");
            });
        }
    }
}

/// The combined kernel of uniform weights between all rows.
fn uniform_kernel(task: &Task<'_>) -> Matrix {
    let n = task.stack().unwrap().n_kernels();
    let weights = Matrix::from_vec(n, 1, vec![1.0 / n as f64; n]).unwrap();
    task.stack().unwrap().combine(&weights, task.pool).unwrap().remove(0)
}

/// Settings of `mklr` with uniform weights, run until nothing moves.
fn uniform(settings: Settings) -> Settings {
    Settings { family: Family::Point, prior: Prior::Fixed, nodes: 1, lambda: 0.3, tol: 1e-15, ..settings }
}

/// `(C'C + 2 lambda P) z = C'y` for the columns C of kernel values between rows and points, and of ones: kernel ridge
/// regression with an intercept, on some or all rows as points. Returns the fitted numbers.
fn ridge(kernel: &Matrix, points: &[usize], y: &[f64], lambda: f64, pool: &crate::pool::Pool) -> Vec<f64> {
    let (n, m) = (kernel.n_rows(), points.len());
    let columns = Matrix::from_fn(n, m + 1, |i, j| if j < m { kernel.get(i, points[j]) } else { 1.0 });
    let left = Matrix::from_fn(m + 1, m + 1, |a, b| {
        let squares = dot(&columns.column(a), &columns.column(b));
        let inside = a < m && b < m;
        // A hair, for a factor of what is nearly singular; the fit hardly depends on it.
        let penalty = if inside { 2.0 * lambda * kernel.get(points[a], points[b]) } else { 0.0 };
        squares + penalty + if a == b { 1e-10 } else { 0.0 }
    });
    let right: Vec<f64> = (0..=m).map(|a| dot(&columns.column(a), y)).collect();
    let solved = Cholesky::new(left, pool, &|| false).unwrap().solve(&Matrix::from_vec(m + 1, 1, right).unwrap());
    columns.times(solved.unwrap().data())
}

#[test]
fn numbers_under_uniform_weights_are_those_of_kernel_ridge_regression() {
    let points = random_points(60, 3);
    for landmarks in [0, 20] {
        with_each(&points, &["gaussian(0.7)", "laplacian(1)"], |task, settings| {
            let Loss::Gaussian(numbers) = Loss::new(task, settings.loss) else { return };
            let settings = Settings { landmarks, ..uniform(settings) };
            let state = fit(task, &settings);
            let objective = objective(task, &settings, Clip::default()).unwrap();
            let functions = objective.mean_functions(&state.x, &state.outputs);
            for (t, found) in functions.chunks_exact(60).enumerate() {
                let expected = ridge(&uniform_kernel(task), &objective.points, &numbers.column(t), 0.3, task.pool);
                for (found, expected) in found.iter().zip(&expected) {
                    assert!((found - expected).abs() < 1e-6, "{landmarks} {t}: {found} {expected}");
                }
            }
        });
    }
}

/// With a linear kernel and the penalty `lambda a'K a = lambda |w|^2` this is a generalised linear model: by Newton's
/// steps in the three coefficients.
#[test]
fn counts_on_a_linear_kernel_are_those_of_a_generalised_linear_model() {
    let points = random_points(70, 2);
    with_each(&points, &["linear raw"], |task, settings| {
        let Loss::Poisson(counts, _) = Loss::new(task, settings.loss) else { return };
        let settings = uniform(settings);
        let state = fit(task, &settings);
        let objective = objective(task, &settings, Clip::default()).unwrap();
        let functions = objective.mean_functions(&state.x, &state.outputs);
        let rows = Matrix::from_fn(70, 3, |i, j| if j < 2 { points.get(i, j) } else { 1.0 });
        for (t, found) in functions.chunks_exact(70).enumerate() {
            let mut w = vec![0.0; 3];
            for _ in 0..50 {
                let means: Vec<f64> = rows.times(&w).iter().map(|f| f.exp()).collect();
                let penalty = |a: usize| if a < 2 { 2.0 * 0.3 } else { 0.0 };
                let left = Matrix::from_fn(3, 3, |a, b| {
                    let sum: f64 = (0..70).map(|i| means[i] * rows.get(i, a) * rows.get(i, b)).sum();
                    sum + if a == b { penalty(a) } else { 0.0 }
                });
                let right = Matrix::from_fn(3, 1, |a, _| {
                    (0..70).map(|i| (counts.get(i, t) - means[i]) * rows.get(i, a)).sum::<f64>() - penalty(a) * w[a]
                });
                let step = Cholesky::new(left, task.pool, &|| false).unwrap().solve(&right).unwrap();
                w.iter_mut().zip(step.data()).for_each(|(w, step)| *w += step);
            }
            for (found, expected) in found.iter().zip(rows.times(&w)) {
                assert!((found - expected).abs() < 1e-6, "{t}: {found} {expected}");
            }
        }
    });
}

/// Every row twice: the first half of the rows spans all functions, so landmarks there lose nothing.
#[test]
fn landmarks_that_span_all_rows_lose_nothing() {
    let half = random_points(30, 2);
    let points = Matrix::from_fn(60, 2, |i, j| half.get(i % 30, j));
    with_each(&points, &["gaussian(0.5)", "laplacian(1)"], |task, settings| {
        for (family, prior) in [(Family::Point, Prior::Ridge(0.1)), (Family::Point, Prior::Fixed)] {
            let settings = Settings { family, prior, nodes: 1, lambda: 0.3, tol: 1e-14, ..settings };
            let exact = fit(task, &settings);
            let all = objective(task, &settings, Clip::default()).unwrap();
            let mut few = objective(task, &Settings { landmarks: 30, ..settings }, Clip::default()).unwrap();
            few.points = (0..30).collect();
            let passes = Passes::new(&few).unwrap();
            let mut x = vec![0.0; few.layout.size()];
            for (place, c) in few.layout.intercepts().zip(0..) {
                x[place] = few.loss.first_intercept(c);
            }
            x[few.layout.means()].fill(-(2.0f64.ln()));
            let outputs = vec![0.0; few.layout.n_functions * 60 * 2];
            let mut state = few.begin(x, outputs, &passes).unwrap();
            while !state.converged && state.losses.len() < 500 {
                few.climb(&mut state, settings.tol, &passes, &|| false).unwrap();
            }
            let kind = task.target.kind();
            let (expected, found) = (exact.losses.last().unwrap(), state.losses.last().unwrap());
            assert!((expected - found).abs() < 1e-8 * expected, "{kind} {prior:?}: {found} {expected}");
            let functions =
                [all.mean_functions(&exact.x, &exact.outputs), few.mean_functions(&state.x, &state.outputs)];
            for (expected, found) in functions[0].iter().zip(&functions[1]) {
                assert!((expected - found).abs() < 1e-4, "{kind} {prior:?}: {found} {expected}");
            }
        }
    });
}

#[test]
fn curvature_of_landmarks_is_a_sum_over_blocks_of_rows() {
    let points = random_points(50, 2);
    with_each(&points, &KERNELS, |task, settings| {
        let objective = objective(task, &Settings { landmarks: 12, ..settings }, Clip::default()).unwrap();
        let passes = Passes::new(&objective).unwrap();
        let curvature = (0..50).map(|i| 0.1 + (i as f64).sin().abs()).collect();
        let basis = Basis { means: vec![0.7, 1.9], curvature, ..Basis::default() };
        let whole = objective.curvature(&basis, &passes, &|| false).unwrap();
        let blocks = objective.curvature_by_blocks(&basis, 7, &|| false).unwrap();
        let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12 * (1.0 + a.abs());
        assert!(whole.data().iter().zip(blocks.data()).all(near));
    });
}

#[test]
fn batches_are_for_losses_that_are_sums_over_rows() {
    let points = random_points(40, 2);
    with_each(&points, &KERNELS, |task, settings| {
        let settings = Settings { ascent: true, batch: 10, iterations: 40, ..settings };
        let begun = begin(task, &settings);
        match task.target {
            Target::Times(_) => {
                let message = begun.err().unwrap().to_string();
                assert!(message.starts_with("parameter batch: the partial likelihood of times is no sum"), "{message}");
                assert!(begin(task, &Settings { batch: 0, ..settings }).is_ok());
            }
            _ => drop(begun.unwrap()),
        }
    });
}

/// Counts of two columns that follow from the first of three.
fn counts(n: usize) -> Dataset {
    let points = random_points(n, 3);
    let values = Matrix::from_fn(n, 2, |i, t| {
        let mut rng = Rng::new(40 + i as u64, t as u64);
        let mean = (1.0 + t as f64 + 0.8 * points.get(i, 0)).exp();
        // A Poisson variate: events of rate 1 until the mean.
        let (mut sum, mut count) = (-rng.uniform().ln(), 0.0);
        while sum < mean {
            (sum, count) = (sum - rng.uniform().ln(), count + 1.0);
        }
        count
    });
    let numbers = Numbers::new(vec!["visits".into(), "calls".into()], values).unwrap();
    Dataset::of_numbers("counts", Samples::unnamed(points).unwrap(), numbers).unwrap()
}

fn plan(method: &str, sets: &[(&str, &str)]) -> Plan {
    let plan = Plan::new(method).unwrap().kernels("gaussian(1), linear on [0], linear on [2]").unwrap();
    sets.iter().fold(plan.scale(Scale::None), |plan, (name, value)| plan.set(name, value).unwrap())
}

#[test]
fn counts_are_predicted_as_counts_and_explained_by_their_logarithms() {
    let data = counts(120);
    let truth = data.target.numbers().unwrap().values();
    for method in ["mklr", "svimkl"] {
        let model = plan(method, &[("loss", "poisson")]).train(&data).unwrap();
        let numbers = model.numbers().unwrap();
        let found = numbers.predict(&data.samples).unwrap();
        for t in 0..2 {
            let mean = |values: &Matrix| values.column(t).iter().sum::<f64>() / 120.0;
            // With a free intercept the mean of predictions over nodes is that of counts. svimkl predicts at the mean of
            // the nodes, where the exponential is below its mean.
            let off = mean(&found) / mean(truth) - 1.0;
            let fits = if method == "mklr" { off.abs() < 1e-4 } else { off < 0.0 && off > -0.01 };
            assert!(fits, "{method}: {} {}", mean(&found), mean(truth));
        }
        assert!(found.data().iter().all(|&count| count > 0.0));
        let parts = model.parts(&data.samples, PartsBy::Kernel).unwrap();
        for (total, found) in parts.totals().data().iter().zip(found.data()) {
            assert!((total.exp() / found - 1.0).abs() < 1e-9, "{method}: {total} {found}");
        }
        assert_eq!(model.outputs(), ["log of visits", "log of calls"]);
        let message = numbers.intervals(&data.samples, 0.9).unwrap_err().to_string();
        assert!(message.contains("has no intervals"), "{message}");
    }
}

#[test]
fn numbers_that_are_no_counts_are_refused_by_row() {
    let data = counts(30);
    for (bad, shown) in [(-1.0, "-1"), (2.5, "2.5")] {
        let mut values = data.target.numbers().unwrap().values().clone();
        values.set(6, 1, bad);
        let numbers = Numbers::new(vec!["visits".into(), "calls".into()], values).unwrap();
        let data = Dataset::of_numbers("counts", data.samples.clone(), numbers).unwrap();
        let message = plan("mklr", &[("loss", "poisson")]).train(&data).unwrap_err().to_string();
        assert_eq!(
            message,
            format!(
                "parameter loss: poisson is for counts, which are whole numbers from 0 on, but the target 'calls' is {shown} in row 7; \
                 use loss=gaussian, or correct the row"
            )
        );
        assert!(plan("mklr", &[]).train(&data).is_ok());
    }
    // Counts that are all zero have no finite optimum; what is predicted is next to none.
    let zeros = Numbers::one("visits", vec![0.0; 30]).unwrap();
    let none = Dataset::of_numbers("none", data.samples.clone(), zeros).unwrap();
    let model = plan("mklr", &[("loss", "poisson")]).train(&none).unwrap();
    let found = model.numbers().unwrap().predict(&none.samples).unwrap();
    assert!(found.data().iter().all(|&count| (0.0..0.1).contains(&count)), "{found:?}");
}

/// The line about `lambda=auto`, its figures, and the value chosen.
fn tuned(model: &Model) -> (String, Vec<f64>, String) {
    let facts = model.training().facts();
    let line = facts.into_iter().map(|(_, text)| text).find(|text| text.contains("held-out")).unwrap();
    let figures = line.split("; ").skip(1).map(|part| part.rsplit(' ').next().unwrap().parse().unwrap()).collect();
    (line, figures, model.training().params()["lambda"].clone())
}

#[test]
fn lambda_is_chosen_by_the_loss_of_held_out_rows() {
    let points = random_points(90, 2);
    let samples = || Samples::unnamed(points.clone()).unwrap();
    for (target, loss) in targets(&points) {
        let (data, name) = match target {
            Target::Numbers(numbers) => (
                Dataset::of_numbers("numbers", samples(), numbers).unwrap(),
                if loss == NumbersLoss::Poisson { "Poisson log-loss" } else { "squared error" },
            ),
            Target::Times(times) => (Dataset::of_times("times", samples(), times).unwrap(), "partial log-loss"),
            Target::Classes => unreachable!(),
        };
        let plan = Plan::new("mklr").unwrap().kernels("gaussian(0.2)").unwrap();
        let sets = [("lambda", "auto"), ("weights", "uniform"), ("loss", loss.word())];
        let plan = sets.iter().fold(plan, |plan, (name, value)| plan.set(name, value).unwrap());
        let (line, figures, chosen) = tuned(&plan.train(&data).unwrap());
        assert!(line.contains(&format!("held-out {name} of lambda = 100 ")), "{line}");
        let best = (0..7).min_by(|&a, &b| figures[a].total_cmp(&figures[b])).unwrap();
        assert_eq!(chosen, ["100", "10", "1", "0.1", "0.01", "0.001", "0.0001"][best], "{line}");
        // Narrow kernels that follow every row are found out.
        assert!(figures[6] > figures[best] + 0.02, "{line}");
    }
}

/// Kernels with negative eigenvalues have coefficients of their own, for these targets too.
#[test]
fn clipped_kernels_predict_their_own_rows_as_they_were_fitted() {
    let points = random_points(40, 2);
    with_each(&points, &["gaussian(1)", "sigmoid(2) raw"], |task, settings| {
        let settings = Settings { family: Family::Point, prior: Prior::Ridge(0.1), nodes: 1, ..settings };
        let state = fit(task, &settings);
        let clip = state.clip.0.clone().unwrap();
        assert_eq!(clip.kernels.len(), 1);
        let objective = objective(task, &settings, clip).unwrap();
        let functions = objective.mean_functions(&state.x, &state.outputs);
        let model = finish(task, &settings, state).unwrap();
        let parts = model.additive().unwrap().parts(task.input, task.pool).unwrap();
        let biases = model.additive().unwrap().biases();
        for (c, (function, bias)) in functions.chunks_exact(40).zip(&biases).enumerate() {
            for (i, expected) in function.iter().enumerate() {
                let found = parts.iter().map(|part| part.get(i, c)).sum::<f64>() + bias;
                assert!((found - expected).abs() < 1e-9 * (1.0 + expected.abs()), "{found} {expected}");
            }
        }
        let scores = model.scores(task.input, task.pool).unwrap();
        let is_counts = settings.loss == NumbersLoss::Poisson;
        for (k, &f) in functions.iter().enumerate() {
            let expected = if is_counts { f.exp() } else { f };
            assert!((scores.get(k % 40, k / 40) - expected).abs() < 1e-8 * (1.0 + expected.abs()));
        }
    });
}
