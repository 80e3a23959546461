//! `simplemkl`, `silp`, `level`, `lpmkl` for numbers: support vector regression and squared loss on learned kernels.

use multikernel::data::{Dataset, Numbers, Samples};
use multikernel::dist::Rng;
use multikernel::plan::Session;
use multikernel::run::Silent;
use multikernel::solve::smo;
use multikernel::{Matrix, Model, Plan, Pool};

const BANK: &str = "gaussian(1) each, linear each";
const SIMPLEX: [&str; 3] = ["simplemkl", "silp", "level"];

/// Two numbers of Friedman's function: the first from five of eight columns, the second from one.
fn friedman(n: usize, seed: u64) -> Dataset {
    let mut rng = Rng::new(seed, 0);
    let x = Matrix::from_fn(n, 8, |_, _| rng.uniform());
    let values = Matrix::from_fn(n, 2, |i, t| {
        let row = x.row(i);
        let wave = 10.0 * (std::f64::consts::PI * row[0] * row[1]).sin() + 20.0 * (row[2] - 0.5).powi(2);
        [wave + 10.0 * row[3] + 5.0 * row[4], 3.0 * row[3]][t] + rng.uniform()
    });
    let numbers = Numbers::new(vec!["a".into(), "b".into()], values).unwrap();
    Dataset::of_numbers("friedman", Samples::unnamed(x).unwrap(), numbers).unwrap()
}

fn plan(method: &str, settings: &[(&str, &str)]) -> Plan {
    let plan = Plan::new(method).unwrap().kernels(BANK).unwrap();
    settings.iter().fold(plan, |plan, (name, value)| plan.set(name, value).unwrap())
}

fn weights(model: &Model) -> Vec<f64> {
    model.kernels().weights().unwrap().to_vec()
}

/// The kernels of the training rows, one by one, and the standardised numbers.
fn kernels(data: &Dataset) -> (Vec<Matrix>, Matrix) {
    let pool = Pool::new(1).unwrap();
    let prepared = plan("average", &[]).prepare(data, &mut Session::new(&pool, &mut Silent)).unwrap();
    let (stack, n) = (prepared.stack().unwrap(), data.samples.n_samples());
    let all: Vec<usize> = (0..n).collect();
    let kernels = (0..stack.n_kernels()).map(|m| stack.block(m, &all, &all).unwrap()).collect();
    let raw = data.target.numbers().unwrap().values();
    let standard = |i: usize, t: usize| {
        let column = raw.column(t);
        let mean = column.iter().sum::<f64>() / n as f64;
        let variance = column.iter().map(|y| (y - mean).powi(2)).sum::<f64>() / n as f64;
        (raw.get(i, t) - mean) / variance.sqrt()
    };
    (kernels, Matrix::from_fn(n, 2, standard))
}

/// J and the slopes `sum_t b_t' K_m b_t` at given weights, from exact regressions that know nothing of the methods.
fn objective((kernels, y): &(Vec<Matrix>, Matrix), weights: &[f64], c: f64) -> (f64, Vec<f64>) {
    let n = y.n_rows();
    let value = |i: usize, j: usize| kernels.iter().zip(weights).map(|(kernel, d)| d * kernel.get(i, j)).sum();
    let gram = Matrix::from_fn(n, n, value);
    let rows: Vec<usize> = (0..n).collect();
    let options = smo::Options { tolerance: 1e-9, ..Default::default() };
    let (mut sum, mut slopes) = (0.0, vec![0.0; kernels.len()]);
    for t in 0..y.n_cols() {
        let (values, upper) = (y.column(t), vec![c; n]);
        let problem =
            smo::Regression { gram: (&gram).into(), rows: &rows, values: &values, upper: &upper, epsilon: 0.1 };
        let solution = smo::solve_regression(&problem, &options, None, &|| false).unwrap().unwrap();
        sum -= solution.objective;
        for (slope, kernel) in slopes.iter_mut().zip(kernels) {
            let b = &solution.alpha;
            *slope += (0..n).map(|i| b[i] * (0..n).map(|j| kernel.get(i, j) * b[j]).sum::<f64>()).sum::<f64>();
        }
    }
    (sum, slopes)
}

#[test]
fn derivatives_of_the_objective_are_half_the_slopes() {
    let data = kernels(&friedman(40, 1));
    let start: Vec<f64> = (0..16).map(|m| (1.0 + (m % 3) as f64) / 32.0).collect();
    let (_, slopes) = objective(&data, &start, 1.0);
    for m in 0..16 {
        let at = |change: f64| {
            let mut weights = start.clone();
            weights[m] += change;
            objective(&data, &weights, 1.0).0
        };
        let step = 1e-5;
        let difference = (at(step) - at(-step)) / (2.0 * step);
        assert!((difference + 0.5 * slopes[m]).abs() < 1e-4 * (1.0 + slopes[m]), "{m}: {difference} {}", slopes[m]);
    }
}

#[test]
fn optimum_on_the_simplex_has_equal_slopes_on_its_support_and_no_larger_ones_off_it() {
    let data = friedman(40, 2);
    let parts = kernels(&data);
    let mut found = vec![];
    for method in SIMPLEX {
        let model = plan(method, &[("c", "1"), ("gap", "1e-6"), ("tol", "1e-5")]).train(&data).unwrap();
        assert_eq!(model.training().warnings(), Vec::<String>::new(), "{method}");
        let weights = weights(&model);
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{method}");
        let (value, slopes) = objective(&parts, &weights, 1.0);
        let largest = slopes.iter().copied().fold(0.0, f64::max);
        // The gap of simplemkl is 1/2 (max s - d's), and each kernel's part of it no larger. Those of the others come from
        // all points so far, which bounds J and not the slopes.
        for (d, slope) in weights.iter().zip(&slopes).filter(|_| method == "simplemkl") {
            assert!(0.5 * d * (largest - slope) <= 2e-6 * value, "{method}: {d} {slope} {largest}");
        }
        assert!(weights.iter().filter(|&&d| d > 0.0).count() < 14, "{method}: {weights:?}");
        found.push(value);
    }
    let best = found.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(found.iter().all(|value| value / best - 1.0 < 2e-6), "{found:?}");
    let mut rng = Rng::new(3, 0);
    for _ in 0..20 {
        let raw: Vec<f64> = (0..16).map(|_| rng.uniform().powi(3)).collect();
        let sum: f64 = raw.iter().sum();
        let tried = objective(&parts, &raw.iter().map(|d| d / sum).collect::<Vec<_>>(), 1.0).0;
        assert!(tried > best * (1.0 - 2e-6), "random weights reach {tried}, the optimum is {best}");
    }
}

#[test]
fn lpmkl_is_optimal_in_its_ball() {
    let data = friedman(60, 2);
    let parts = kernels(&data);
    for p in [1.5, 3.0] {
        let settings = [("c", "1"), ("p", &*p.to_string()), ("gap", "1e-6"), ("tol", "1e-5")];
        let weights = weights(&plan("lpmkl", &settings).train(&data).unwrap());
        let norm = weights.iter().map(|d| d.powf(p)).sum::<f64>() / 16f64.powf(1.0 - p);
        assert!((norm - 1.0).abs() < 1e-4, "p = {p}: {norm}");
        // Where the objective is flat on the ball's boundary: s_m is proportional to d_m^(p - 1).
        let (value, slopes) = objective(&parts, &weights, 1.0);
        let inner: f64 = weights.iter().zip(&slopes).map(|(d, s)| d * s).sum();
        let powers: f64 = weights.iter().map(|d| d.powf(p)).sum();
        for (d, s) in weights.iter().zip(&slopes) {
            let wanted = inner * d.powf(p - 1.0) / powers;
            assert!(d * (s - wanted).abs() < 2e-3 * value, "p = {p}: {s} {wanted}");
        }
    }
}

#[test]
fn squared_loss_is_kernel_ridge_regression_with_an_intercept() {
    let data = friedman(50, 4);
    let c = 2.0;
    let model = plan("lpmkl", &[("p", "inf"), ("c", "2"), ("loss", "squared")]).train(&data).unwrap();
    let (parts, y) = kernels(&data);
    let n = y.n_rows();
    let gram = Matrix::from_fn(n, n, |i, j| parts.iter().map(|kernel| kernel.get(i, j) / 16.0).sum());
    let found = model.numbers().unwrap().predict(&data.samples).unwrap();
    let raw = data.target.numbers().unwrap().values();
    for t in 0..2 {
        // f = y - b / c on training rows, with b = c (y - f): the normal equations (K + I/c) b + bias = y, sum b = 0.
        let (mean, scale) = (raw.column(t).iter().sum::<f64>() / n as f64, raw.get(0, t) - raw.get(1, t));
        let scale = scale / (y.get(0, t) - y.get(1, t));
        let predicted: Vec<f64> = (0..n).map(|i| (found.get(i, t) - mean) / scale).collect();
        let b: Vec<f64> = (0..n).map(|i| c * (y.get(i, t) - predicted[i])).collect();
        assert!(b.iter().sum::<f64>().abs() < 1e-9);
        let function = |i: usize| (0..n).map(|j| gram.get(i, j) * b[j]).sum::<f64>();
        let bias = predicted[0] - function(0);
        for (i, predicted) in predicted.iter().enumerate() {
            assert!((function(i) + bias - predicted).abs() < 1e-9, "row {i}");
        }
    }
    for method in SIMPLEX {
        let model = plan(method, &[("loss", "squared"), ("gap", "1e-3")]).train(&data).unwrap();
        let found = weights(&model);
        assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{method}: {found:?}");
    }
}

#[test]
fn kernels_that_know_the_numbers_get_the_weight() {
    let (train, test) = (friedman(150, 5), friedman(300, 6));
    for (method, loss) in [("simplemkl", "insensitive"), ("simplemkl", "squared")] {
        let model = plan(method, &[("loss", loss)]).train(&train).unwrap();
        let found = weights(&model);
        let of_column = |j: usize| found[j] + found[8 + j];
        let useless: f64 = (5..8).map(of_column).sum();
        assert!(useless < 0.25 * found.iter().sum::<f64>(), "{method} {loss}: {found:?}");
        let (truth, guess) = (test.target.numbers().unwrap().values(), model.numbers().unwrap());
        let guess = guess.predict(&test.samples).unwrap();
        for t in 0..2 {
            let mean = truth.column(t).iter().sum::<f64>() / 300.0;
            let rest: f64 = (0..300).map(|i| (truth.get(i, t) - guess.get(i, t)).powi(2)).sum();
            let all: f64 = (0..300).map(|i| (truth.get(i, t) - mean).powi(2)).sum();
            assert!(rest < 0.3 * all, "{method} {loss}: R2 {}", 1.0 - rest / all);
        }
    }
}

#[test]
fn c_is_chosen_by_held_out_squared_error_and_there_are_no_intervals() {
    let data = friedman(60, 7);
    let model = plan("simplemkl", &[("c", "auto")]).train(&data).unwrap();
    let told = model.training().facts().iter().map(|(_, value)| value.clone()).collect::<Vec<_>>().join("\n");
    assert!(told.contains("held-out squared error of c = 0.3"), "{told}");
    let numbers = model.numbers().unwrap();
    assert_eq!(numbers.deviations(&data.samples).unwrap(), None);
    let message = numbers.intervals(&data.samples, 0.9).unwrap_err().to_string();
    assert!(message.contains("simplemkl has no intervals; evidence"), "{message}");
    let message = plan("average", &[("c", "auto")]).train(&data).unwrap_err().to_string();
    assert!(message.contains("chooses the noise of numbers by the evidence"), "{message}");
}
