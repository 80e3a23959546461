use super::likelihood::Slope;
use super::*;
use crate::data::{Dataset, Samples};
use crate::dist::{Rng, normal};
use crate::evaluate::concordance;
use crate::plan::Plan;
use crate::pool::Pool;
use crate::run::Input;
use crate::stack::{Stack, StackOptions};

/// Rows with ties in time, censored and not.
fn tied(n: usize, seed: u64) -> (Times, Vec<f64>) {
    let mut rng = Rng::new(seed, 0);
    let time = (0..n).map(|_| (8.0 * rng.uniform()).ceil()).collect();
    let event = (0..n).map(|_| rng.uniform() < 0.6).collect();
    let f = (0..n).map(|_| normal(&mut rng)).collect();
    (Times::new(time, event).unwrap(), f)
}

/// Efron's partial likelihood as it is written.
fn brute(times: &Times, f: &[f64]) -> f64 {
    let (time, event) = (times.time(), times.event());
    let mut distinct: Vec<f64> = (0..f.len()).filter(|&i| event[i]).map(|i| time[i]).collect();
    distinct.sort_by(f64::total_cmp);
    distinct.dedup();
    let mut value = 0.0;
    for t in distinct {
        let at_risk: f64 = (0..f.len()).filter(|&i| time[i] >= t).map(|i| f[i].exp()).sum();
        let own: Vec<usize> = (0..f.len()).filter(|&i| time[i] == t && event[i]).collect();
        let tied: f64 = own.iter().map(|&i| f[i].exp()).sum();
        for (l, &i) in own.iter().enumerate() {
            value += f[i] - (at_risk - l as f64 / own.len() as f64 * tied).ln();
        }
    }
    value
}

#[test]
fn likelihood_is_efrons_and_its_slope_and_curvature_are_differences() {
    let pool = Pool::new(2).unwrap();
    for seed in 0..4 {
        let (times, f) = tied(23, seed);
        let likelihood = PartialLikelihood::new(&times);
        let Slope { value, gradient } = likelihood.slope(&f);
        assert!((value - brute(&times, &f)).abs() < 1e-10);
        let curvature = likelihood.curvature(&f, &pool, &|| false).unwrap();
        let moved = |j: usize, by: f64| {
            let mut f = f.clone();
            f[j] += by;
            f
        };
        for (j, own) in gradient.iter().enumerate() {
            let slope = (brute(&times, &moved(j, 1e-5)) - brute(&times, &moved(j, -1e-5))) / 2e-5;
            assert!((slope - own).abs() < 1e-7, "{slope} {own}");
            let (up, down) = (likelihood.slope(&moved(j, 1e-5)).gradient, likelihood.slope(&moved(j, -1e-5)).gradient);
            for i in 0..23 {
                assert!(((down[i] - up[i]) / 2e-5 - curvature.get(i, j)).abs() < 1e-6);
            }
        }
    }
}

/// Two columns, the second useless; times are exponential with rate exp(1.2 x).
fn study(n: usize, seed: u64) -> Dataset {
    let mut rng = Rng::new(seed, 1);
    let x = Matrix::from_fn(n, 2, |_, _| normal(&mut rng));
    let mut time = vec![];
    let mut event = vec![];
    for i in 0..n {
        let own = -rng.uniform().ln() / (1.2 * x.get(i, 0)).exp();
        let censored = -rng.uniform().ln() / 0.5;
        time.push(own.min(censored));
        event.push(own <= censored);
    }
    Dataset::of_times("study", Samples::unnamed(x).unwrap(), Times::new(time, event).unwrap()).unwrap()
}

fn stack(kernel: &str, data: &Dataset, pool: &Pool) -> Stack {
    Stack::train(data.samples.features(), &[kernel.parse().unwrap()], &StackOptions::new(pool)).unwrap()
}

fn task<'a>(data: &'a Dataset, stack: &'a Stack, pool: &'a Pool) -> Task<'a> {
    let (labels, target) = (&data.labels, &data.target);
    Task { input: Input::Stack(stack), labels, target, groups: None, views: &[], alternatives: &[], seed: 1, pool }
}

#[test]
fn fit_is_the_maximum_of_the_penalised_likelihood() {
    let data = study(40, 3);
    let pool = Pool::new(2).unwrap();
    let stack = stack("gaussian(1)", &data, &pool);
    let task = task(&data, &stack, &pool);
    let gram = combined(&[1.0], &task).unwrap();
    for ln_amplitude in [-3.0, 0.0, 2.0] {
        let found = fit(&gram, ln_amplitude, &[], &task, &|| false).unwrap();
        assert!(found.converged);
        // At the maximum of l(f) - f' (a K)^-1 f / 2 the prior's pull (a K)^-1 f = b is the slope of the likelihood.
        let likelihood = PartialLikelihood::new(data.target.times().unwrap());
        let slope = likelihood.slope(&found.risks).gradient;
        assert!(found.slope.iter().zip(&slope).all(|(a, b)| (a - b).abs() < 1e-9));
        let objective = |b: &[f64]| {
            let along = gram.times(b);
            let f: Vec<f64> = along.iter().map(|value| found.amplitude * value).collect();
            brute(data.target.times().unwrap(), &f) - 0.5 * found.amplitude * dot(b, &along)
        };
        let mut rng = Rng::new(9, 0);
        for _ in 0..20 {
            let other: Vec<f64> = found.slope.iter().map(|b| b + 0.01 * normal(&mut rng)).collect();
            assert!(objective(&other) < objective(&found.slope));
        }
    }
}

/// With one column `x` and the kernel `x x'` the functions are lines `f = beta x` with `beta ~ N(0, a)`, so the evidence is an
/// integral over one number.
#[test]
fn evidence_is_the_integral_over_the_slope_of_a_line() {
    let data = study(160, 7);
    let x = data.samples.features().to_dense().unwrap().column(0);
    let column = Samples::unnamed(Matrix::from_fn(160, 1, |i, _| x[i])).unwrap();
    let times = data.target.times().unwrap();
    let data = Dataset::of_times("line", column, times.clone()).unwrap();
    let pool = Pool::new(2).unwrap();
    let stack = stack("linear raw", &data, &pool);
    let task = task(&data, &stack, &pool);
    let gram = combined(&[1.0], &task).unwrap();
    for ln_amplitude in [-4.0, -1.0, 2.0, 5.0] {
        let found = fit(&gram, ln_amplitude, &[], &task, &|| false).unwrap();
        let beta = dot(&found.slope, &x) * found.amplitude;
        let log_joint = |beta: f64| {
            let f: Vec<f64> = x.iter().map(|x| beta * x).collect();
            let prior = -0.5 * beta * beta / found.amplitude - 0.5 * (std::f64::consts::TAU * found.amplitude).ln();
            brute(times, &f) + prior
        };
        // The trapezoidal rule over a range that holds all of the mass.
        let (top, step) = (log_joint(beta), 0.002);
        let sum: f64 = (-600..=600).map(|k| (log_joint(beta + step * f64::from(k)) - top).exp()).sum();
        let integral = top + (sum * step).ln();
        // Laplace's approximation errs by a term of the order of 1 / events.
        assert!((found.evidence - integral).abs() < 1.0 / 80.0, "{} {integral}", found.evidence);
    }
}

#[test]
fn risks_order_new_rows_and_the_useful_column_carries_the_decision() {
    let data = study(260, 5);
    let (train, test) = (data.select(&(0..160).collect::<Vec<_>>()), data.select(&(160..260).collect::<Vec<_>>()));
    let plan = Plan::new("evidence").unwrap().kernels("gaussian(1..4) on [x1], gaussian(1..4) on [x2]").unwrap();
    let model = plan.train(&train).unwrap();
    let times = model.times().unwrap();
    let risks = times.risks(&test.samples).unwrap();
    let truth: Vec<f64> = (0..100).map(|i| test.samples.features().to_dense().unwrap().get(i, 0)).collect();
    let rows = test.target.times().unwrap();
    let (found, best) = (concordance(rows, &risks).unwrap(), concordance(rows, &truth).unwrap());
    assert!(found > best - 0.02, "{found} {best}");
    let weights = model.kernels().weights().unwrap();
    let half = weights.len() / 2;
    assert!(weights[..half].iter().sum::<f64>() > 0.8, "{weights:?}");
}

#[test]
fn survival_of_equal_risks_is_the_estimate_without_columns() {
    // A constant column: the curve is exp(-Nelson-Aalen).
    let time = vec![1.0, 2.0, 3.0, 4.0, 5.0];
    let data = Times::new(time.clone(), vec![true, false, true, true, false]).unwrap();
    let (at, hazard) = PartialLikelihood::new(&data).baseline(&[0.0; 5]);
    assert_eq!(at, [1.0, 3.0, 4.0]);
    for (found, expected) in hazard.iter().zip([0.2, 0.2 + 1.0 / 3.0, 0.2 + 1.0 / 3.0 + 0.5]) {
        assert!((found - expected).abs() < 1e-15);
    }
}

/// `CoxPHSurvivalAnalysis(alpha=1, ties="efron")` of scikit-survival 0.28, whose penalty is `alpha |beta|^2 / 2`: the prior of a
/// linear kernel with amplitude 1.
#[test]
fn linear_kernel_has_the_coefficients_and_the_hazard_of_scikit_survival() {
    let time = vec![5.0, 3.0, 9.0, 1.0, 4.0, 4.0, 7.0, 2.0, 6.0, 3.0, 8.0, 5.0];
    let event = [1, 0, 1, 1, 1, 0, 1, 1, 0, 1, 0, 1].map(|event| event == 1).to_vec();
    let first = [0.3, -0.2, -1.1, 2.0, 0.3, 0.1, -0.5, 1.2, 0.0, 0.7, -0.9, 0.25];
    let shift = [0.1, 0.5, -0.3, 0.2, -0.4, 0.6, -0.1, 0.3, 0.2, -0.6, 0.4, -0.2];
    let x = Matrix::from_fn(12, 2, |i, j| if j == 0 { first[i] + shift[i] } else { (i as f64).cos() });
    let data =
        Dataset::of_times("twelve", Samples::unnamed(x.clone()).unwrap(), Times::new(time, event).unwrap()).unwrap();
    let pool = Pool::new(1).unwrap();
    let stack = stack("linear raw", &data, &pool);
    let task = task(&data, &stack, &pool);
    let gram = combined(&[1.0], &task).unwrap();
    let size = (0..12).map(|i| gram.get(i, i)).sum::<f64>() / 12.0;
    let found = fit(&gram, size.ln(), &[], &task, &|| false).unwrap();
    assert!((found.amplitude - 1.0).abs() < 1e-12);
    let beta: Vec<f64> = (0..2).map(|j| dot(&found.slope, &x.column(j))).collect();
    for (found, expected) in beta.iter().zip([1.419_591_630_278_617_8, -0.147_172_461_917_945_6]) {
        assert!((found - expected).abs() < 1e-6, "{beta:?}");
    }
    let (_, hazard) = PartialLikelihood::new(data.target.times().unwrap()).baseline(&found.risks);
    let expected = [0.022_168_19, 0.075_275_35, 0.163_744_87, 0.280_410_56, 0.678_386_54, 1.610_769_66, 8.474_032_27];
    for (found, expected) in hazard.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-6, "{hazard:?}");
    }
}

/// `mklr` with uniform weights maximises the same penalised likelihood by other means: `lambda a'K a` for `f = K a` is
/// `f'(a K)^-1 f / 2` at the amplitude `1 / (2 lambda)`.
#[test]
fn mklr_with_uniform_weights_finds_the_same_risks_at_the_same_penalty() {
    let mut rng = Rng::new(4, 4);
    let x = Matrix::from_fn(70, 2, |_, _| normal(&mut rng));
    // With ties, and rows censored.
    let time = (0..70).map(|i| (6.0 * (-x.get(i, 0)).exp() * rng.uniform()).ceil()).collect();
    let times = Times::new(time, (0..70).map(|i| i % 3 > 0).collect()).unwrap();
    let data = Dataset::of_times("study", Samples::unnamed(x).unwrap(), times).unwrap();
    let pool = Pool::new(2).unwrap();
    let stack = stack("gaussian(1)", &data, &pool);
    let task = task(&data, &stack, &pool);
    let gram = combined(&[1.0], &task).unwrap();
    for lambda in [0.05, 0.5, 5.0] {
        let exact = fit(&gram, -(2.0f64 * lambda).ln(), &[], &task, &|| false).unwrap();
        let plan = Plan::new("mklr").unwrap().kernels("gaussian(1)").unwrap().scale(crate::data::Scale::None);
        let sets = [("weights", "uniform".to_string()), ("lambda", lambda.to_string()), ("tol", "1e-16".to_string())];
        let plan = sets.iter().fold(plan, |plan, (name, value)| plan.set(name, value).unwrap());
        let model = plan.train(&data).unwrap();
        let found = model.times().unwrap().risks(&data.samples).unwrap();
        for (found, expected) in found.iter().zip(&exact.risks) {
            assert!((found - expected).abs() < 1e-6, "{lambda}: {found} {expected}");
        }
        let (times, hazard) = PartialLikelihood::new(data.target.times().unwrap()).baseline(&exact.risks);
        let (found_times, found_hazard) = model.times().unwrap().baseline();
        assert_eq!(found_times, times);
        assert!(found_hazard.iter().zip(&hazard).all(|(a, b)| (a - b).abs() < 1e-6 * b));
    }
}
