//! Checks the sampler against its own joint distribution (Geweke 2004), its pseudo-likelihood, and the predictions.

use super::chain::{AMPLITUDE_DEVIATION, WIDTH_DEVIATION};
use super::*;
use crate::data::{Scaler, bundled};
use crate::dist::{Rng, normal};
use crate::draws::diagnose;
use crate::plan::Plan;
use crate::solve::cholesky::Cholesky;

fn go_on() -> bool {
    false
}

/// Rows of a small problem, and their sides.
fn small() -> (Matrix, Vec<f64>) {
    let rows = Matrix::from_fn(6, 2, |i, j| ((5 * i + 3 * j) % 7) as f64 / 3.0);
    (rows, vec![1.0, -1.0, 1.0, 1.0, -1.0, -1.0])
}

/// The order of the small problem's rows in its chains: not that of the data.
const ORDER: [usize; 6] = [3, 0, 5, 1, 4, 2];

/// Mean and standard error of an autocorrelated sequence, by 50 batch means.
fn mean_of_parts(values: &[f64]) -> (f64, f64) {
    let parts: Vec<f64> =
        values.chunks_exact(values.len() / 50).map(|part| part.iter().sum::<f64>() / part.len() as f64).collect();
    let n = parts.len() as f64;
    let mean = parts.iter().sum::<f64>() / n;
    let variance = parts.iter().map(|part| (part - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// The statistics compared for a joint draw.
fn statistics(chain: &Chain, scales: &[f64], margins: &[f64], sides: &[f64]) -> Vec<f64> {
    let n = scales.len() as f64;
    let mean = |f: &dyn Fn(usize) -> f64| (0..scales.len()).map(f).sum::<f64>() / n;
    let (width, amplitude) = (chain.ln_width, chain.ln_amplitude);
    vec![
        width,
        width * width,
        amplitude,
        amplitude * amplitude,
        mean(&|i| scales[i]),
        mean(&|i| scales[i].ln()),
        mean(&|i| chain.f[i].tanh()),
        mean(&|i| chain.f[i].abs().ln_1p()),
        mean(&|i| (sides[i] * chain.f[i]).tanh() * scales[i].ln()),
        (chain.f[0] * chain.f[1]).tanh(),
        mean(&|i| margins[i].tanh()),
        mean(&|i| (margins[i] - sides[i] * chain.f[i]).abs().ln_1p()),
    ]
}

/// Everything drawn from its prior, one after the other.
fn forward(target: &Target<'_>, rng: &mut Rng) -> (Chain, Vec<f64>) {
    let ln_width = target.ln_width + WIDTH_DEVIATION * normal(rng);
    let mut chain = Chain { f: vec![], ln_width, ln_amplitude: AMPLITUDE_DEVIATION * normal(rng) };
    chain.f = target.draw(&chain, &target.unit(ln_width).unwrap(), rng).0;
    let scales = chain.f.iter().map(|_| -ln(1.0 - rng.uniform()) / target.rate).collect();
    (chain, scales)
}

/// The margins given the rest.
fn observe(chain: &Chain, scales: &[f64], sides: &[f64], rng: &mut Rng) -> Vec<f64> {
    (0..sides.len()).map(|i| sides[i] * chain.f[i] - scales[i] + scales[i].sqrt() * normal(rng)).collect()
}

/// Largest mean change, in standard errors, of draws from the joint distribution over five sweeps, after each of which the
/// margins are redrawn: the sampler leaves the joint distribution invariant if and only if its updates are right. Starts
/// are independent, so errors are those of plain means, however slowly chains move.
fn geweke(n_starts: usize, sampler_rate: f64) -> f64 {
    const SWEEPS: usize = 5;
    let ((rows, sides), pool) = (small(), Pool::new(1).unwrap());
    let distances = distances(&rows, &pool).unwrap();
    let none = vec![0.0; sides.len()];
    let (rate, ln_width) = (2.0, 0.2);
    let of = Target {
        distances: &distances,
        order: &ORDER,
        sides: &sides,
        margins: &none,
        rate,
        ln_width,
        pool: &pool,
        stop: &go_on,
    };
    let mut rng = Rng::new(3, 0);
    let mut change = || {
        let (mut chain, mut scales) = forward(&of, &mut rng);
        let mut margins = observe(&chain, &scales, &sides, &mut rng);
        let before = statistics(&chain, &scales, &margins, &sides);
        for _ in 0..SWEEPS {
            let target = Target { margins: &margins, rate: sampler_rate, ..of };
            target.sweep(&mut chain, &mut rng).unwrap();
            scales = target.scales(&chain.f, &mut rng);
            margins = observe(&chain, &scales, &sides, &mut rng);
        }
        let after = statistics(&chain, &scales, &margins, &sides);
        after.iter().zip(before).map(|(after, before)| after - before).collect::<Vec<f64>>()
    };
    let changes: Vec<Vec<f64>> = (0..n_starts).map(|_| change()).collect();
    let n = n_starts as f64;
    let worst = |k: usize| {
        let mean = changes.iter().map(|change| change[k]).sum::<f64>() / n;
        let variance = changes.iter().map(|change| (change[k] - mean).powi(2)).sum::<f64>() / (n - 1.0);
        mean.abs() / (variance / n).sqrt()
    };
    (0..changes[0].len()).map(worst).fold(0.0, f64::max)
}

#[test]
fn sampler_leaves_its_joint_law_alone() {
    let worst = geweke(2_500, 2.0);
    assert!(worst < 4.0, "{worst} standard errors");
    // A rate of the scales that is wrong by a factor of 2 is detected, so this test can fail.
    let wrong = geweke(1_000, 1.0);
    assert!(wrong > 6.0, "{wrong} standard errors");
}

/// Without a rate, scales integrate out to `exp(-2 max(1 - y f, 0))`: so given `z = 1 - y f`, `E[1/scale] = 1/|z|` and
/// `E[scale] = 1 + |z|`. With `s^2 = 1 + 2 rate` they are `s/|z|` and `(1 + s |z|) / s^2`.
#[test]
fn scales_have_the_moments_of_the_hinge() {
    let (pool, mut rng) = (Pool::new(1).unwrap(), Rng::new(5, 0));
    let sides = vec![-1.0; 40_000];
    let margins = vec![1.0; sides.len()];
    let distances = Matrix::zeros(0, 0);
    let with = |rate: f64| Target {
        distances: &distances,
        order: &[],
        sides: &sides,
        margins: &margins,
        rate,
        ln_width: 0.0,
        pool: &pool,
        stop: &go_on,
    };
    for (rate, f) in [(0.0, -4.0), (0.0, -1.5), (0.0, 0.5), (0.0, 3.0), (2.0, -1.5), (2.0, 3.0)] {
        let scales = with(rate).scales(&vec![f; sides.len()], &mut rng);
        let (short, s) = ((1.0f64 + f).abs(), (1.0 + 2.0 * rate).sqrt());
        let n = scales.len() as f64;
        let (mean, inverse) = (scales.iter().sum::<f64>() / n, scales.iter().map(|scale| 1.0 / scale).sum::<f64>() / n);
        let (exact, error) = ((1.0 + s * short) / (s * s), ((s * short + 2.0) / n).sqrt() / (s * s));
        assert!((mean - exact).abs() < 5.0 * error, "{rate} {f}: {mean}");
        assert!((inverse - s / short).abs() < 5.0 * (s * short.powi(-3) / n).sqrt(), "{rate} {f}: {inverse}");
    }
    let target = with(0.0);
    let scales = target.scales(&vec![-1.0; sides.len()], &mut rng);
    assert!(scales.iter().all(|scale| *scale > 0.0 && scale.is_finite()));
}

/// The density of f, as the places say it: `p(f | b, width, amplitude) p(o | f)` is the product of the masses times the
/// slopes of the places, each in its own row's f. A wrong factor in either leaves a wrong law of width and amplitude.
#[test]
fn places_are_uniform_up_to_the_masses() {
    let ((rows, sides), pool) = (small(), Pool::new(1).unwrap());
    let distances = distances(&rows, &pool).unwrap();
    let margins = [1.0, 0.3, -0.4, 1.2, 2.0, 0.1];
    for (rate, ln_width, ln_amplitude, bias) in [(0.0, 0.2, 0.7, 0.3), (0.0, -0.8, 4.0, -0.5), (2.0, 0.5, -1.0, 0.1)] {
        let target = Target {
            distances: &distances,
            order: &ORDER,
            sides: &sides,
            margins: &margins,
            rate,
            ln_width: 0.2,
            pool: &pool,
            stop: &go_on,
        };
        let (factor, mut rng) = (target.unit(ln_width).unwrap(), Rng::new(8, 0));
        let mut chain = Chain { f: vec![], ln_width, ln_amplitude };
        let root = (0.5 * ln_amplitude).exp();
        let z: Vec<f64> = (0..6).map(|_| normal(&mut rng)).collect();
        chain.f = factor.multiply_lower(&z).iter().map(|g| bias + root * g).collect();
        let places = target.places(&chain, bias, &factor).unwrap();
        let (ln_mass, again) = target.placed(&places, bias, ln_amplitude, &factor);
        assert!(again.iter().zip(&chain.f).all(|(a, b)| (a - b).abs() < 1e-9), "{again:?} {:?}", chain.f);
        let slope = |i: usize| {
            let h = 1e-6 * root;
            let moved = |by: f64| {
                let mut other = chain.clone();
                other.f[i] += by;
                target.places(&other, bias, &factor).unwrap()[i].below
            };
            ((moved(h) - moved(-h)) / (2.0 * h)).abs().ln()
        };
        let slopes: f64 = (0..6).map(slope).sum();
        let s = (1.0 + 2.0 * rate).sqrt();
        let loss = |i: usize| {
            let zeta = margins[i] - sides[i] * chain.f[i];
            zeta + s * zeta.abs()
        };
        let normal = -0.5 * (z.iter().map(|z| z * z).sum::<f64>() + factor.log_determinant())
            - 6.0 * (0.5 * ln_amplitude + 0.5 * std::f64::consts::TAU.ln());
        let joint = normal - (0..6).map(loss).sum::<f64>();
        assert!((joint - ln_mass - slopes).abs() < 1e-4, "{rate} {ln_amplitude}: {joint}, not {}", ln_mass + slopes);
    }
}

/// Posterior means of a small problem: draws from the prior weighted by `exp(-2 sum_i max(1 - y_i f_i, 0))` share nothing
/// with the sampler but the prior.
#[test]
fn posterior_means_are_those_of_weighted_prior_draws() {
    let ((rows, sides), pool) = (small(), Pool::new(1).unwrap());
    let (distances, margins) = (distances(&rows, &pool).unwrap(), vec![1.0; 6]);
    let ln_width = 0.2;
    let target = Target {
        distances: &distances,
        order: &ORDER,
        sides: &sides,
        margins: &margins,
        rate: 0.0,
        ln_width,
        pool: &pool,
        stop: &go_on,
    };
    let of = |chain: &Chain| {
        let (width, amplitude) = (chain.ln_width, chain.ln_amplitude);
        [width, width * width, amplitude, amplitude * amplitude, width * amplitude, (chain.f[0] - chain.f[3]).tanh()]
    };
    let mut rng = Rng::new(4, 0);
    let weighted: Vec<(f64, [f64; 6])> = (0..80_000)
        .map(|_| {
            let (width, amplitude) =
                (ln_width + WIDTH_DEVIATION * normal(&mut rng), AMPLITUDE_DEVIATION * normal(&mut rng));
            let mut chain = Chain { f: vec![], ln_width: width, ln_amplitude: amplitude };
            chain.f = target.draw(&chain, &target.unit(width).unwrap(), &mut rng).0;
            let loss: f64 = chain.f.iter().zip(&sides).map(|(f, side)| 2.0 * (1.0 - side * f).max(0.0)).sum();
            ((-loss).exp(), of(&chain))
        })
        .collect();
    let mut chain = Chain { f: vec![0.0; 6], ln_width, ln_amplitude: 0.0 };
    let sweeps: Vec<[f64; 6]> = (0..12_000)
        .map(|_| {
            target.sweep(&mut chain, &mut rng).unwrap();
            of(&chain)
        })
        .collect();
    let total: f64 = weighted.iter().map(|(weight, _)| weight).sum();
    for k in 0..6 {
        let exact = weighted.iter().map(|(weight, of)| weight * of[k]).sum::<f64>() / total;
        let error = weighted.iter().map(|(weight, of)| (weight * (of[k] - exact)).powi(2)).sum::<f64>().sqrt() / total;
        let (found, error_found) = mean_of_parts(&sweeps.iter().map(|of| of[k]).collect::<Vec<_>>());
        let apart = (found - exact).abs() / error.hypot(error_found);
        assert!(apart < 4.0, "{k}: {found} +- {error_found}, not {exact} +- {error}");
    }
}

/// R-hat of the logarithms of amplitude and width: four chains which start apart.
fn r_hats(name: &str, step: usize, warmup: usize, sweeps: usize) -> [f64; 2] {
    let (data, pool) = (bundled(name).unwrap(), Pool::new(1).unwrap());
    let some = data.select(&(0..data.labels.codes().len()).step_by(step).collect::<Vec<_>>());
    let rows = Scaler::fit(some.samples.features()).unwrap().apply(some.samples.features()).unwrap();
    let (distances, sides) = (distances(&rows.to_dense().unwrap(), &pool).unwrap(), sides(&some.labels).transposed());
    let (margins, ln_width) = (vec![1.0; sides.n_cols()], ln_median(&distances));
    let order = order(&distances, sides.row(0), ln_width, &go_on).unwrap();
    let sides: Vec<f64> = order.iter().map(|&i| sides.get(0, i)).collect();
    let target = Target {
        distances: &distances,
        order: &order,
        sides: &sides,
        margins: &margins,
        rate: 0.0,
        ln_width,
        pool: &pool,
        stop: &go_on,
    };
    let mut found = [vec![], vec![]];
    for k in 0..4 {
        let mut rng = Rng::new(9, k);
        let mut chain = Chain { f: vec![0.0; sides.len()], ln_width, ln_amplitude: 2.0 * k as f64 };
        let mut draws = [vec![], vec![]];
        for sweep in 0..warmup + sweeps {
            target.sweep(&mut chain, &mut rng).unwrap();
            if sweep >= warmup {
                draws[0].push(chain.ln_amplitude);
                draws[1].push(chain.ln_width);
            }
        }
        found.iter_mut().zip(draws).for_each(|(found, draws)| found.push(draws));
    }
    found.map(|chains| diagnose(&chains).r_hat)
}

#[test]
fn chains_of_the_default_length_agree() {
    let Bsvm { warmup, sweeps, .. } = Bsvm::default();
    for (name, step) in [("sonar", 3), ("ionosphere", 4)] {
        let [amplitude, width] = r_hats(name, step, warmup, sweeps);
        assert!(amplitude < 1.05 && width < 1.05, "{name}: {amplitude} {width}");
    }
    // The first sweeps do not, so this test can fail.
    let [amplitude, width] = r_hats("ionosphere", 4, 0, 8);
    assert!(amplitude.max(width) > 1.1, "{amplitude} {width}");
}

/// Given scales, width and amplitude, f is normal with mean `S (S + D)^-1 t` and covariance `S - S (S + D)^-1 S`, where S
/// is its prior covariance and D the scales; the bias with mean `1' (S + D)^-1 t` and variance `1 - 1' (S + D)^-1 1`.
#[test]
fn functions_given_scales_have_their_mean_and_covariance() {
    let ((rows, sides), pool) = (small(), Pool::new(1).unwrap());
    let (n, distances, margins) = (sides.len(), distances(&rows, &pool).unwrap(), vec![1.0; sides.len()]);
    let target = Target {
        distances: &distances,
        order: &[0, 1, 2, 3, 4, 5],
        sides: &sides,
        margins: &margins,
        rate: 0.0,
        ln_width: 0.2,
        pool: &pool,
        stop: &go_on,
    };
    let (scales, amplitude, width) = ([0.3, 1.2, 0.05, 2.0, 0.7, 0.4], 1.7f64, 1.1f64);
    let chain = Chain { f: vec![0.0; n], ln_width: width.ln(), ln_amplitude: amplitude.ln() };
    let kernel = |i: usize, j: usize| (-0.5 * distances.get(i, j) / (width * width)).exp();
    let noise = |i: usize, j: usize| if i == j { 1e-6 } else { 0.0 };
    let prior = Matrix::from_fn(n, n, |i, j| amplitude * (kernel(i, j) + noise(i, j)) + 1.0);
    let with_scales = |i: usize, j: usize| prior.get(i, j) + if i == j { scales[i] } else { 0.0 };
    let factor = Cholesky::new(Matrix::from_fn(n, n, with_scales), &pool, &go_on).unwrap();
    let unit = target.unit(chain.ln_width).unwrap();
    // Columns of S, then t, then ones, solved.
    let right = Matrix::from_fn(n, n + 2, |i, k| match k {
        k if k < n => prior.get(i, k),
        k if k == n => sides[i] * (1.0 + scales[i]),
        _ => 1.0,
    });
    let solved = factor.solve(&right).unwrap();
    // f, then b, whose covariance with f is 1 before the rows are seen.
    let prior_of = |k: usize, i: usize| if k < n { prior.get(k, i) } else { 1.0 };
    let mean = |k: usize| (0..n).map(|i| prior_of(k, i) * solved.get(i, n)).sum::<f64>();
    let covariance = |k: usize, l: usize| {
        let column = if l < n { l } else { n + 1 };
        let before = if k < n && l < n { prior.get(k, l) } else { 1.0 };
        before - (0..n).map(|i| prior_of(k, i) * solved.get(i, column)).sum::<f64>()
    };
    let (count, mut rng) = (40_000, Rng::new(7, 0));
    let draws: Vec<Vec<f64>> = (0..count)
        .map(|_| {
            let mut one = chain.clone();
            let (_, bias) = target.function(&mut one, &unit, &scales, &mut rng).unwrap();
            one.f.into_iter().chain([bias]).collect()
        })
        .collect();
    for k in 0..=n {
        let found = draws.iter().map(|draw| draw[k]).sum::<f64>() / count as f64;
        assert!((found - mean(k)).abs() < 5.0 * (covariance(k, k) / count as f64).sqrt(), "{k}: {found}");
        for l in 0..=k {
            let product = |draw: &Vec<f64>| (draw[k] - mean(k)) * (draw[l] - mean(l));
            let found = draws.iter().map(product).sum::<f64>() / count as f64;
            let exact = covariance(k, l);
            let error = ((covariance(k, k) * covariance(l, l) + exact * exact) / count as f64).sqrt();
            assert!((found - exact).abs() < 5.0 * error, "{k} {l}: {found}, not {exact}");
        }
    }
}

#[test]
fn draws_are_of_width_and_amplitude_and_halves_that_disagree_are_told() {
    let data = bundled("glass6").unwrap();
    let plan = Plan::new("bsvm").unwrap().set("warmup", "3").unwrap().set("sweeps", "12").unwrap();
    let model = plan.set("thin", "3").unwrap().train(&data).unwrap();
    let draws = model.draws().unwrap();
    assert_eq!((draws.n_chains(), draws.n_draws()), (1, 4));
    let names: Vec<&str> = draws.variables().iter().map(|variable| variable.name.as_str()).collect();
    assert_eq!(names, ["width", "amplitude"]);
    assert_eq!(draws.variables()[1].coordinates, model.classes());
    let (low, high) = draws.variables()[1].prior.unwrap();
    assert!((low * high - 1.0).abs() < 1e-12 && (high.ln() - 3.0 * 1.644_853_626_951_472_6).abs() < 1e-12);
    let largest = draws.summary().iter().map(|one| one.diagnosis.r_hat).fold(0.0, f64::max);
    let said = model.training().warnings().join(" ");
    assert!(largest > 1.05 && said.contains(&format!("largest R-hat {largest:.3}")), "{largest} {said}");
}

#[test]
fn slices_leave_a_law_alone() {
    let mut rng = Rng::new(6, 0);
    let mut x = 0.3;
    // A mixture of two normal distributions with different widths.
    let of = |x: f64| Ok(((-0.5 * x * x).exp() + (-2.0 * (x - 3.0) * (x - 3.0)).exp()).ln());
    let draws: Vec<f64> = (0..60_000)
        .map(|_| {
            x = chain::slice(x, &mut rng, of).unwrap();
            x
        })
        .collect();
    // Weights 2/3 and 1/3.
    let (mean, error) = mean_of_parts(&draws);
    assert!((mean - 1.0).abs() < 4.0 * error && error < 0.05, "{mean} {error}");
    let squares: Vec<f64> = draws.iter().map(|x| x * x).collect();
    let (mean, error) = mean_of_parts(&squares);
    assert!((mean - (2.0 / 3.0 + (9.0 + 0.25) / 3.0)).abs() < 4.0 * error, "{mean} {error}");
}

#[test]
fn it_learns_keeps_its_draws_and_says_when_it_was_short() {
    let data = bundled("ionosphere").unwrap();
    let some = data.select(&(0..351).step_by(3).collect::<Vec<_>>());
    let rest = data.select(&(1..351).step_by(3).collect::<Vec<_>>());
    let plan = Plan::new("bsvm").unwrap().set("warmup", "30").unwrap().set("sweeps", "40").unwrap();
    let plan = plan.set("thin", "4").unwrap();
    let model = plan.train(&some).unwrap();
    let labels = model.predict(&rest.samples).unwrap().labels;
    let right = labels.iter().zip(rest.labels.codes()).filter(|(a, b)| a == b).count();
    assert!(right > 100, "{right} of {}", labels.len());
    assert!(!model.training().warnings().iter().any(|warning| warning.contains("stopped")));
    assert!(model.training().facts().contains(&("draws".into(), "10 of 40 sweeps after 30".into())));
    let message = plan.set("thin", "41").unwrap().train(&some).unwrap_err().to_string();
    assert_eq!(message, "parameter thin: must be at most the 40 sweeps, got 41");
}

#[test]
fn equal_rows_do_no_harm_and_rows_that_are_all_equal_have_a_width() {
    let data = bundled("wisconsin").unwrap();
    let some = data.select(&(0..683).step_by(6).flat_map(|i| [i, i]).collect::<Vec<_>>());
    let plan = Plan::new("bsvm").unwrap().set("warmup", "10").unwrap().set("sweeps", "10").unwrap();
    let model = plan.train(&some).unwrap();
    let labels = model.predict(&some.samples).unwrap().labels;
    let right = labels.iter().zip(some.labels.codes()).filter(|(a, b)| a == b).count();
    assert!(10 * right > 9 * labels.len(), "{right} of {}", labels.len());
    assert_eq!(ln_median(&Matrix::zeros(5, 5)), 0.0);
}
