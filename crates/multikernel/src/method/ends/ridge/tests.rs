use super::*;
use crate::data::{Dataset, Samples};
use crate::dist::{Rng, normal};
use crate::linalg::dot;
use crate::plan::Plan;
use crate::pool::Pool;
use crate::run::{Input, Predict};
use crate::stack::{Stack, StackOptions, Storage};

fn wave(n: usize, noise: f64, seed: u64) -> (Matrix, Vec<f64>) {
    let mut rng = Rng::new(seed, 0);
    let x = Matrix::from_fn(n, 2, |_, _| 4.0 * rng.uniform() - 2.0);
    let y = (0..n).map(|i| (2.0 * x.get(i, 0)).sin() + 0.5 * x.get(i, 1) + noise * normal(&mut rng)).collect();
    (x, y)
}

fn dataset(x: Matrix, y: Vec<f64>) -> Dataset {
    Dataset::of_numbers("wave", Samples::unnamed(x).unwrap(), Numbers::one("y", y).unwrap()).unwrap()
}

/// Solves a small symmetric system by Gaussian elimination, with the logarithm of the determinant.
fn eliminate(a: &Matrix, b: &[f64]) -> (Vec<f64>, f64) {
    let n = a.n_rows();
    let mut rows: Vec<Vec<f64>> = (0..n).map(|i| a.row(i).iter().copied().chain([b[i]]).collect()).collect();
    let mut log = 0.0;
    for k in 0..n {
        let at = (k..n).max_by(|&i, &j| rows[i][k].abs().total_cmp(&rows[j][k].abs())).unwrap();
        rows.swap(k, at);
        log += rows[k][k].abs().ln();
        for i in k + 1..n {
            let factor = rows[i][k] / rows[k][k];
            let from = rows[k].clone();
            rows[i].iter_mut().zip(from).skip(k).for_each(|(value, from)| *value -= factor * from);
        }
    }
    let mut x = vec![0.0; n];
    for k in (0..n).rev() {
        let rest: f64 = (k + 1..n).map(|j| rows[k][j] * x[j]).sum();
        x[k] = (rows[k][n] - rest) / rows[k][k];
    }
    (x, log)
}

/// `f` with the task of a set, its stack, and the kernels.
fn with_task<T>(data: &Dataset, texts: &[&str], f: impl Fn(&Task<'_>, &Stack) -> T) -> T {
    let pool = Pool::new(2).unwrap();
    let kernels: Vec<crate::kernel::Kernel> = texts.iter().map(|text| text.parse().unwrap()).collect();
    let stack = Stack::train(data.samples.features(), &kernels, &StackOptions::new(&pool)).unwrap();
    let task = Task {
        input: Input::Stack(&stack),
        labels: &data.labels,
        target: &data.target,
        groups: None,
        views: &[],
        alternatives: &[],
        seed: 1,
        pool: &pool,
    };
    f(&task, &stack)
}

#[test]
fn evidence_mean_and_variance_are_those_of_the_formulas() {
    let (x, y) = wave(24, 0.2, 1);
    let data = dataset(x.clone(), y.clone());
    with_task(&data, &["gaussian(1)", "linear raw"], |task, stack| {
        let weights = vec![0.7, 0.3];
        let gram = combined(&weights, task).unwrap();
        let fit = fit(&gram, -1.3, task, &|| false).unwrap();
        let mut sum = gram.clone();
        (0..24).for_each(|i| sum.set(i, i, sum.get(i, i) + fit.ratio));
        let (solved, log) = eliminate(&sum, &y);
        let amplitude = dot(&y, &solved) / 24.0;
        // ln N(y; 0, a (K + r I)), written out.
        let expected = -0.5 * (dot(&y, &solved) / amplitude + log + 24.0 * amplitude.ln() + 24.0 * LN_TAU);
        assert!((fit.evidence - expected).abs() < 1e-9, "{} {expected}", fit.evidence);
        let ratio = fit.ratio;
        let model = RidgeModel::new(weights.clone(), fit, task, None).unwrap();
        let new = wave(5, 0.0, 2).0;
        let options = StackOptions { storage: Storage::Tiled, ..StackOptions::new(task.pool) };
        let kernels: Vec<_> = stack.kernels().into_iter().cloned().collect();
        let cross = Stack::cross(&new, &x, &kernels, &[None, None], &options).unwrap();
        let means = model.scores(Input::Stack(&cross), task.pool).unwrap();
        let variances = model.regressor().unwrap().variances(Input::Stack(&cross), task.pool).unwrap().unwrap();
        for i in 0..5 {
            let value = |a: &[f64], b: &[f64]| {
                let square: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
                0.7 * (-square / 2.0).exp() + 0.3 * dot(a, b)
            };
            let k: Vec<f64> = x.rows().map(|row| value(row, new.row(i))).collect();
            let mean = dot(&k, &solved);
            let function = value(new.row(i), new.row(i)) - dot(&k, &eliminate(&sum, &k).0);
            assert!((means.get(i, 0) - mean).abs() < 1e-10);
            assert!((variances.get(i, 0) - amplitude * (function + ratio)).abs() < 1e-10);
        }
    });
}

#[test]
fn amplitude_is_the_maximum_and_the_search_ends_at_the_best_noise() {
    let (x, y) = wave(60, 0.3, 3);
    let data = dataset(x, y.clone());
    with_task(&data, &["gaussian(0.8)"], |task, _| {
        let mut state = RidgeState::new(vec![1.0], task).unwrap();
        while state.advance(task, &Control::default()).unwrap().status == crate::run::Status::Running {}
        let gram = combined(&[1.0], task).unwrap();
        let at = state.tried[best(&state.evidence)];
        let top = fit(&gram, at, task, &|| false).unwrap();
        // No point of a fine grid is better by more than the flatness of the top.
        for k in 0..400 {
            let there = fit(&gram, -13.8 + 0.05 * f64::from(k), task, &|| false).unwrap();
            assert!(there.evidence < top.evidence + 1e-3, "{at} {}", -13.8 + 0.05 * f64::from(k));
        }
        let ln_likelihood = |amplitude: f64| {
            let mut sum = gram.clone();
            (0..60).for_each(|i| sum.set(i, i, sum.get(i, i) + top.ratio));
            let (solved, log) = eliminate(&sum, &y);
            -0.5 * (dot(&y, &solved) / amplitude + log + 60.0 * amplitude.ln() + 60.0 * LN_TAU)
        };
        for factor in [0.9, 1.1] {
            assert!(ln_likelihood(factor * top.amplitudes[0]) < top.evidence);
        }
    });
}

#[test]
fn held_out_residuals_are_those_of_refits() {
    let (x, y) = wave(18, 0.3, 5);
    let data = dataset(x.clone(), y.clone());
    with_task(&data, &["gaussian(1)"], |task, _| {
        let gram = combined(&[1.0], task).unwrap();
        let fit = fit(&gram, -2.0, task, &|| false).unwrap();
        let inverse = fit.factor.inverse(task.pool, &|| false).unwrap();
        for left_out in 0..18 {
            let rows: Vec<usize> = (0..18).filter(|&i| i != left_out).collect();
            let mut part = Matrix::from_fn(17, 17, |i, j| gram.get(rows[i], rows[j]));
            (0..17).for_each(|i| part.set(i, i, part.get(i, i) + fit.ratio));
            let with = |values: Vec<f64>| eliminate(&part, &values).0;
            let k: Vec<f64> = rows.iter().map(|&i| gram.get(i, left_out)).collect();
            let mean = dot(&k, &with(rows.iter().map(|&i| y[i]).collect()));
            let variance = gram.get(left_out, left_out) + fit.ratio - dot(&k, &with(k.clone()));
            assert!((y[left_out] - mean - fit.solved.get(left_out, 0) / inverse.get(left_out, left_out)).abs() < 1e-9);
            assert!((variance - 1.0 / inverse.get(left_out, left_out)).abs() < 1e-9);
        }
    });
}

#[test]
fn ninety_percent_intervals_hold_ninety_percent_of_draws_from_the_model() {
    let (n, n_sets) = (60, 200);
    let (mut inside, mut all) = (0usize, 0usize);
    for seed in 0..n_sets {
        let mut rng = Rng::new(seed, 1);
        let x = Matrix::from_fn(n + 10, 2, |_, _| 3.0 * rng.uniform());
        // A draw of a Gaussian process with this very kernel: amplitude 4, noise 0.25.
        let mut gram = Matrix::from_fn(n + 10, n + 10, |i, j| {
            let square: f64 = x.row(i).iter().zip(x.row(j)).map(|(a, b)| (a - b).powi(2)).sum();
            4.0 * (-square / 2.0).exp() + if i == j { 0.25 } else { 0.0 }
        });
        (0..n + 10).for_each(|i| gram.set(i, i, gram.get(i, i) + 1e-9));
        let factor = Cholesky::new(gram, &Pool::new(1).unwrap(), &|| false).unwrap();
        let z: Vec<f64> = (0..n + 10).map(|_| normal(&mut rng)).collect();
        let y: Vec<f64> = factor.multiply_lower(&z).iter().map(|value| 50.0 + value).collect();
        let data = dataset(x, y.clone());
        let (train, test) = (data.select(&(0..n).collect::<Vec<_>>()), data.select(&(n..n + 10).collect::<Vec<_>>()));
        let plan = Plan::new("average").unwrap().kernels("gaussian(1)").unwrap().scale(crate::data::Scale::None);
        let model = plan.train(&train).unwrap();
        let [low, high] = model.numbers().unwrap().intervals(&test.samples, 0.9).unwrap();
        for i in 0..10 {
            inside += usize::from((low.get(i, 0)..=high.get(i, 0)).contains(&y[n + i]));
            all += 1;
        }
    }
    let share = inside as f64 / all as f64;
    assert!((0.88..=0.92).contains(&share), "{share}");
}

#[test]
fn several_numbers_share_the_noise_ratio_and_are_those_of_each_alone_at_it() {
    let (x, y) = wave(40, 0.1, 8);
    let other: Vec<f64> = y.iter().enumerate().map(|(i, y)| 1000.0 - 30.0 * y + (i % 5) as f64).collect();
    let both = Matrix::from_fn(40, 2, |i, t| if t == 0 { y[i] } else { other[i] });
    let numbers = Numbers::new(vec!["a".into(), "b".into()], both).unwrap();
    let data = Dataset::of_numbers("two", Samples::unnamed(x).unwrap(), numbers).unwrap();
    let model = Plan::new("evidence").unwrap().train(&data).unwrap();
    let found = model.numbers().unwrap().predict(&data.samples).unwrap();
    let error = |t: usize, truth: &[f64]| (0..40).map(|i| (found.get(i, t) - truth[i]).powi(2)).sum::<f64>() / 40.0;
    assert!(error(0, &y) < 0.05 && error(1, &other) < 30.0, "{} {}", error(0, &y), error(1, &other));
    assert_eq!(model.numbers().unwrap().names(), ["a", "b"]);
}

#[test]
fn constant_numbers_are_predicted_as_they_are() {
    let data = dataset(wave(12, 0.0, 1).0, vec![7.5; 12]);
    let model = Plan::new("average").unwrap().train(&data).unwrap();
    let found = model.numbers().unwrap().predict(&data.samples).unwrap();
    assert!(found.data().iter().all(|&value| (value - 7.5).abs() < 1e-9), "{:?}", found.data());
}
