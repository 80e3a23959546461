use super::likelihood::Slope;
use super::*;
use crate::data::{Dataset, Samples};
use crate::dist::{Rng, normal};
use crate::evaluate::concordance;
use crate::file::Codec;
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
    for seed in 0..4 {
        let (times, f) = tied(23, seed);
        let likelihood = PartialLikelihood::new(&times);
        let Slope { value, gradient } = likelihood.slope(&f);
        assert!((value - brute(&times, &f)).abs() < 1e-10);
        let curvature = likelihood.curvature(&f);
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

/// The sum over the terms as it is written, with risks so far apart that the squares of their sums are no numbers.
#[test]
fn curvature_is_the_sum_over_terms_where_risks_are_far_apart() {
    let (times, near) = tied(30, 5);
    // The longer the time, the smaller the risk: sums over long times are as small as 1e-260.
    let f: Vec<f64> = near.iter().zip(times.time()).map(|(f, time)| f - 75.0 * time).collect();
    let (time, event) = (times.time(), times.event());
    let mut expected = Matrix::zeros(30, 30);
    for row in (0..30).filter(|&i| event[i]) {
        let tied: Vec<usize> = (0..30).filter(|&i| event[i] && time[i] == time[row]).collect();
        let part = tied.iter().position(|&i| i == row).unwrap() as f64 / tied.len() as f64;
        let at_risk = |i: usize| {
            if time[i] < time[row] {
                0.0
            } else if tied.contains(&i) {
                1.0 - part
            } else {
                1.0
            }
        };
        let most = (0..30).filter(|&i| at_risk(i) > 0.0).map(|i| f[i]).fold(f64::NEG_INFINITY, f64::max);
        let shares: Vec<f64> =
            (0..30).map(|i| if at_risk(i) > 0.0 { at_risk(i) * (f[i] - most).exp() } else { 0.0 }).collect();
        let sum: f64 = shares.iter().sum();
        for i in 0..30 {
            for j in 0..30 {
                let diagonal = if i == j { shares[i] / sum } else { 0.0 };
                expected.set(i, j, expected.get(i, j) + diagonal - shares[i] * shares[j] / (sum * sum));
            }
        }
    }
    let found = PartialLikelihood::new(&times).curvature(&f);
    for (found, expected) in found.data().iter().zip(expected.data()) {
        assert!((found - expected).abs() < 1e-12, "{found} {expected}");
    }
}

/// The mean value over the nodes, slopes by row and node, and the events expected of each row: from the sums of parts
/// that went through bytes, as partitions send them.
fn in_parts(times: &Times, f: &[f64], n_nodes: usize, parts: &[Vec<usize>]) -> (f64, Vec<f64>, Vec<f64>) {
    let (pool, (events, counts)) = (Pool::new(2).unwrap(), times.events());
    let functions = |rows: &[usize]| -> Vec<f64> {
        rows.iter().flat_map(|&i| &f[i * n_nodes..(i + 1) * n_nodes]).copied().collect()
    };
    let mut sums = RiskSums::new(&times.select(&[]), &events, &[], n_nodes).unwrap();
    for rows in parts {
        let next = RiskSums::new(&times.select(rows), &events, &functions(rows), n_nodes).unwrap();
        sums.add(&RiskSums::decode(&next.encode()).unwrap()).unwrap();
    }
    let (value, hazards) = sums.likelihood(&counts, &pool).unwrap();
    let (mut slopes, mut expected) = (vec![0.0; f.len()], vec![0.0; f.len() / n_nodes]);
    for rows in parts {
        let hazards = RowHazards::new(&times.select(rows), &events, hazards.clone(), n_nodes).unwrap();
        for (k, &i) in rows.iter().enumerate() {
            let slope = &mut slopes[i * n_nodes..(i + 1) * n_nodes];
            slope.copy_from_slice(&f[i * n_nodes..(i + 1) * n_nodes]);
            expected[i] = hazards.at_row(k, slope);
        }
    }
    (value, slopes, expected)
}

/// Rows dealt to this many parts, some of which may have none.
fn dealt(n: usize, n_parts: usize, rng: &mut Rng) -> Vec<Vec<usize>> {
    let mut parts = vec![vec![]; n_parts];
    (0..n).for_each(|i| parts[rng.below(n_parts)].push(i));
    parts
}

/// Ties, times of censored rows alone, one event, all events at once, each at its own time.
fn studies(n: usize) -> Vec<Times> {
    let (own, at_once): (Vec<f64>, Vec<f64>) = ((0..n).map(|i| (i * 7 % n) as f64).collect(), vec![3.0; n]);
    let mut all: Vec<Times> = (0..4).map(|seed| tied(n, seed).0).collect();
    all.extend([
        Times::new(own.clone(), (0..n).map(|i| i % 4 == 1).collect()).unwrap(),
        Times::new(own.clone(), (0..n).map(|i| i == n / 2).collect()).unwrap(),
        Times::new(own.clone(), (0..n).map(|i| own[i] == 0.0).collect()).unwrap(),
        Times::new(own.clone(), (0..n).map(|i| own[i] + 1.0 == n as f64).collect()).unwrap(),
        Times::new(own, vec![true; n]).unwrap(),
        Times::new(at_once, vec![true; n]).unwrap(),
    ]);
    all
}

#[test]
fn sums_of_parts_are_the_partial_likelihood_of_all_rows() {
    let (n, mut rng) = (41, Rng::new(2, 2));
    for times in studies(n) {
        let likelihood = PartialLikelihood::new(&times);
        let (events, counts) = times.events();
        // A shift of all log risks by 1e5 leaves them 11 digits.
        for (n_nodes, shift, tol) in [(1, 0.0, 1e-12), (3, 0.0, 1e-12), (2, 1e5, 1e-8), (2, -1e5, 1e-8)] {
            let f: Vec<f64> = (0..n * n_nodes).map(|_| shift + 2.0 * normal(&mut rng)).collect();
            let at_node = |s: usize| -> Vec<f64> { (0..n).map(|i| f[i * n_nodes + s]).collect() };
            let exact: Vec<Slope> = (0..n_nodes).map(|s| likelihood.slope(&at_node(s))).collect();
            let mean = exact.iter().map(|slope| slope.value).sum::<f64>() / n_nodes as f64;
            for n_parts in [1, 3, 7] {
                let (value, slopes, expected) = in_parts(&times, &f, n_nodes, &dealt(n, n_parts, &mut rng));
                assert!((value - mean).abs() < tol * mean.abs().max(1.0), "{value} {mean}");
                for i in 0..n {
                    let event = f64::from(u8::from(times.event()[i]));
                    for (s, slope) in exact.iter().enumerate() {
                        let found = n_nodes as f64 * slopes[i * n_nodes + s];
                        assert!(
                            (found - slope.gradient[i]).abs() < tol * (1.0 + n as f64),
                            "{found} {}",
                            slope.gradient[i]
                        );
                    }
                    let whole = event - exact.iter().map(|slope| slope.gradient[i]).sum::<f64>() / n_nodes as f64;
                    assert!((expected[i] - whole).abs() < tol * (1.0 + n as f64), "{} {whole}", expected[i]);
                }
            }
            if shift == 0.0 && n_nodes == 1 {
                let mut sums = RiskSums::new(&times.select(&[]), &events, &[], 1).unwrap();
                for rows in dealt(n, 3, &mut rng) {
                    let few: Vec<f64> = rows.iter().map(|&i| f[i]).collect();
                    sums.add(&RiskSums::new(&times.select(&rows), &events, &few, 1).unwrap()).unwrap();
                }
                let (at, hazard) = likelihood.baseline(&f);
                assert_eq!(at, events);
                let found = sums.baseline(&counts).unwrap();
                assert!(found.iter().zip(&hazard).all(|(a, b)| (a / b - 1.0).abs() < 1e-12), "{found:?} {hazard:?}");
                let mean = f.iter().sum::<f64>() / n as f64;
                let spread = (f.iter().map(|f| (f - mean).powi(2)).sum::<f64>() / n as f64).sqrt();
                assert!((sums.deviation(n) - spread).abs() < 1e-12 * (1.0 + spread));
            }
        }
    }
}

/// [`brute`] for log risks whose exponentials are no numbers.
fn brute_of_logs(times: &Times, f: &[f64]) -> f64 {
    let (time, event) = (times.time(), times.event());
    let mut value = 0.0;
    for (t, d) in {
        let (times, counts) = times.events();
        times.into_iter().zip(counts)
    } {
        let at_risk: Vec<usize> = (0..f.len()).filter(|&i| time[i] >= t).collect();
        let most = at_risk.iter().map(|&i| f[i]).fold(f64::NEG_INFINITY, f64::max);
        let risk = |i: usize| (f[i] - most).exp();
        let tied: Vec<usize> = at_risk.iter().copied().filter(|&i| time[i] == t && event[i]).collect();
        let (all, own): (f64, f64) = (at_risk.iter().map(|&i| risk(i)).sum(), tied.iter().map(|&i| risk(i)).sum());
        for (l, &i) in tied.iter().enumerate() {
            value += f[i] - most - (all - l as f64 / d as f64 * own).ln();
        }
    }
    value
}

/// One row's risk is nothing beside another's: sums relative to the largest of all would be zero, and their logarithm not
/// finite.
#[test]
fn risks_that_are_thousands_apart_do_not_vanish() {
    let mut rng = Rng::new(3, 3);
    for times in studies(30) {
        let f: Vec<f64> = (0..30).map(|_| 1500.0 * normal(&mut rng)).collect();
        let exact = brute_of_logs(&times, &f);
        for n_parts in [1, 3, 7] {
            let (value, slopes, expected) = in_parts(&times, &f, 1, &dealt(30, n_parts, &mut rng));
            assert!((value - exact).abs() < 1e-12 * exact.abs().max(1.0), "{value} {exact}");
            assert!(expected.iter().all(|expected| expected.is_finite() && *expected >= 0.0));
            assert!(slopes.iter().sum::<f64>().abs() < 1e-8, "{slopes:?}");
            for i in 0..30 {
                let moved = |by: f64| {
                    let mut f = f.clone();
                    f[i] += by;
                    brute_of_logs(&times, &f)
                };
                let slope = (moved(1e-3) - moved(-1e-3)) / 2e-3;
                // Differences of values near 1e5, which have 11 digits.
                assert!((slopes[i] - slope).abs() < 1e-5, "{} {slope}", slopes[i]);
            }
        }
    }
}

#[test]
fn sums_of_other_events_are_refused() {
    let (times, f) = tied(20, 1);
    let (events, counts) = times.events();
    let sums = RiskSums::new(&times, &events, &f, 1).unwrap();
    let pool = Pool::new(1).unwrap();
    assert!(sums.likelihood(&counts, &pool).is_ok());
    assert!(sums.likelihood(&counts[1..], &pool).is_err());
    assert!(sums.baseline(&counts[1..]).is_err());
    // An event that the list lacks, and a time after all rows.
    assert!(RiskSums::new(&times, &events[1..], &f, 1).is_err());
    let later = [&events[..], &[100.0]].concat();
    let sums = RiskSums::new(&times, &later, &f, 1).unwrap();
    assert!(sums.likelihood(&[&counts[..], &[1]].concat(), &pool).is_err());
    let fewer = RiskSums::new(&times, &events, &f, 1).unwrap();
    assert!(sums.clone().add(&fewer).is_err());
    let (_, hazards) = fewer.likelihood(&counts, &pool).unwrap();
    assert!(RowHazards::new(&times, &events, hazards, 2).is_err());
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
        // The determinant is that of the maximum, not of a point on the way: from there on there is no way.
        let again = fit(&gram, ln_amplitude, std::slice::from_ref(&found.slope), &task, &|| false).unwrap();
        assert!((again.evidence - found.evidence).abs() < 1e-9, "{} {}", again.evidence, found.evidence);
        // Starts that are worse than none are not taken.
        let wild = [1e3, -40.0, 1e300].map(|factor| found.slope.iter().map(|b| factor * b).collect());
        let begun = fit(&gram, ln_amplitude, &wild, &task, &|| false).unwrap();
        assert_eq!((begun.evidence, begun.slope), (found.evidence, found.slope));
    }
}

#[test]
fn risks_beyond_all_numbers_are_no_better_than_any() {
    // The first at risk is e^800 times less so than the second.
    let likelihood = PartialLikelihood::new(&Times::new(vec![2.0, 1.0], vec![true, true]).unwrap());
    assert_eq!(likelihood.slope(&[-400.0, 400.0]).value, f64::NEG_INFINITY);
    assert!(likelihood.slope(&[-300.0, 300.0]).value.is_finite());
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
