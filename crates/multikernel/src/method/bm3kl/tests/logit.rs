//! likelihood=logit: labels can be simulated, so everything can be checked against what they were drawn from.

use super::*;
use crate::data::Scale;
use crate::dist::{logistic_normal_mean, polya_gamma};
use crate::draws::{rank, rank_uniformity};
use crate::method::bm3kl::logit::log_scale;
use crate::method::bm3kl::spread::Spread;

fn logit(sampler: WeightSampler) -> Settings {
    Settings { likelihood: Likelihood::Logit, n_factors: 1, tau: 1.0, ..settings(FunctionPrior::Gp, sampler) }
}

fn logistic(f: f64) -> f64 {
    1.0 / (1.0 + (-f).exp())
}

/// Labels given functions: +1 with probability `logistic(f)`.
fn labels(functions: &Matrix, rng: &mut Rng) -> Matrix {
    Matrix::from_fn(functions.n_rows(), functions.n_cols(), |c, i| {
        if rng.uniform() < logistic(functions.get(c, i)) { 1.0 } else { -1.0 }
    })
}

#[test]
fn scales_integrate_out_to_the_likelihood_of_a_label() {
    // The integral over omega of everything a row contributes is 2 / (1 + exp(-delta f)).
    let world = World::small(6, 1, logit(WeightSampler::Collapsed));
    let problem = world.problem();
    let mut latent = world.begin(&mut Rng::new(1, 0));
    for (i, f) in [(0, 0.7), (1, 0.7), (2, -3.0), (3, 12.0), (1, -0.2)] {
        let (mut sum, step) = (0.0, 2e-3);
        for k in -5_000..1_500 {
            let omega = (step * f64::from(k)).exp();
            latent.lambda.set(0, i, 1.0 / omega);
            let gap: f64 = problem.observed(&latent, &latent.log_nu, 0).t[i] - f;
            sum += step * omega * (log_scale(1.0 / omega) - 0.5 * omega * gap * gap).exp() * omega.sqrt();
        }
        let expected = 2.0 * logistic(problem.sign.get(0, i) * f);
        assert!((sum / expected - 1.0).abs() < 1e-9, "{i} {f}: {sum} {expected}");
    }
}

/// Bounded or light-tailed functions of a state.
fn statistics(weights: &[f64], log_nu: f64, f: &Matrix, lambda: &Matrix, sign: &Matrix) -> Vec<f64> {
    let (w, omega) = (weights, |i: usize| 1.0 / lambda.get(0, i));
    let log = |value: f64| (1.0 + value * value).ln();
    let (f0, f1) = (f.get(0, 0), f.get(0, 1));
    vec![
        w[0],
        w[1],
        w[0] * w[0],
        w[0] * w[1],
        f0.tanh(),
        log(f0),
        log(f0 - f1),
        w[0] * log(f.get(0, 2)),
        omega(0),
        omega(0) * omega(1),
        omega(1).ln(),
        sign.get(0, 0),
        sign.get(0, 0) * f0.tanh(),
        sign.get(0, 1) * sign.get(0, 2) * w[0],
        log_nu,
        log_nu * log_nu,
        log_nu * w[0],
        sign.get(0, 0) * sign.get(0, 1) * log_nu,
    ]
}

/// As for margins: everything from the prior, then ten sweeps in turns with new labels.
fn geweke(mut world: World, n_starts: usize) -> (f64, Vec<f64>) {
    let mut rng = Rng::new(61, 0);
    let mut changes: Vec<Vec<f64>> = vec![];
    for start in 0..n_starts {
        let (all, mut latent) = from_prior(&world, &mut rng);
        latent.step = DualAverage::of(0.5);
        for (lambda, f) in latent.lambda.data_mut().iter_mut().zip(all.functions.data()) {
            *lambda = 1.0 / polya_gamma(&mut rng, *f);
        }
        world.sign = labels(&all.functions, &mut rng);
        let before = statistics(&all.weights, all.log_nu[0], &all.functions, &latent.lambda, &world.sign);
        let mut rngs = [Rng::new(62, start as u64)];
        let mut after = vec![];
        for sweep_number in 1..=10 {
            let phase = SweepPhase { sweep: sweep_number, warm: true, keep: false };
            let mut latents = [latent];
            let draw = sweep(&world.problem(), &mut latents, &mut rngs, phase).unwrap().remove(0);
            [latent] = latents;
            // sampler=slice: where the next update begins.
            let begins = match world.settings.sampler {
                WeightSampler::Slice => 3.0 * latent.ellipse[6],
                _ => latent.log_nu[0],
            };
            assert!((begins - latent.log_nu[0]).abs() < 1e-12);
            world.sign = labels(&draw.functions, &mut rng);
            after = statistics(&latent.weights(), latent.log_nu[0], &draw.functions, &latent.lambda, &world.sign);
        }
        changes.push(after.iter().zip(before).map(|(after, before)| after - before).collect());
    }
    let z = |k: usize| {
        let (mean, error) = mean_and_error(changes.iter().map(|change| change[k]), n_starts);
        mean / error
    };
    let z: Vec<f64> = (0..changes[0].len()).map(z).collect();
    (z.iter().fold(0.0, |most: f64, z| most.max(z.abs())), z)
}

#[test]
fn geweke_finds_nothing_in_hamiltonian_moves_under_the_likelihood_of_labels() {
    let (most, z) = geweke(World::small(6, 2, logit(WeightSampler::Collapsed)), 4_000);
    assert!(most < 4.0, "{z:?}");
}

#[test]
fn geweke_finds_nothing_in_slice_moves_and_repeated_rows_under_the_likelihood_of_labels() {
    let (most, z) = geweke(World::repeated(6, 1, logit(WeightSampler::Slice)), 4_000);
    assert!(most < 4.0, "{z:?}");
}

#[test]
fn geweke_finds_nothing_in_split_moves_under_the_likelihood_of_labels() {
    let (most, z) = geweke(World::small(6, 1, logit(WeightSampler::Split)), 4_000);
    assert!(most < 4.0, "{z:?}");
}

#[test]
fn probabilities_are_those_of_the_functions_distribution() {
    let (small, repeated): (Make, Make) = (World::small, World::repeated);
    for make in [small, repeated] {
        let mut world = make(8, 1, logit(WeightSampler::Collapsed));
        world.scale = 1.4;
        let latent = world.odd(&mut Rng::new(4, 0));
        let (weights, (_, draw)) = (latent.weights(), functions_drawn(&world, &latent, 1));
        let new = [[0.2, 0.1], [1.0, -2.0], ROWS[1]];
        // The kernels between training rows and new ones, by a stack of both.
        let both =
            World::new(&[&world.rows[..], &new[..]].concat(), &KERNELS, Matrix::zeros(1, 11), world.settings.clone());
        let h = Matrix::from_fn(11, 11, |i, j| world.scale * both.kernel(&weights).get(i, j));
        let (nu, tau) = (latent.log_nu[0].exp(), world.settings.tau);
        let solved = inverse(&world.covariance(&latent, &weights, &latent.log_nu, 0));
        let al = times(&solved, &world.problem().observed(&latent, &latent.log_nu, 0).t);
        let first = world.distinct.first();
        let cross = both.stack.between(&[8, 9, 10], first).unwrap();
        let one = Matrix::from_vec(1, 3, weights.clone()).unwrap();
        let amplitudes = vec![world.scale * nu];
        let spread = Spread::new(&world.between, &world.pool, tau, &one, amplitudes, draw.factors.clone()).unwrap();
        assert!(
            spread.fits(1, 1, first.len()) && !spread.fits(1, 1, first.len() + 1) && !spread.fits(2, 1, first.len())
        );
        let coef = draw.coef.select_cols(first).transposed();
        let decisions = cross.decide(&cross.mixture(&one.transposed(), &world.pool).unwrap(), &coef, &world.pool);
        let found = spread.probabilities(&cross, &one, &decisions.unwrap(), &draw.bias, &world.pool).unwrap();
        for (k, found) in found.into_iter().enumerate() {
            let u: Vec<f64> = (0..8).map(|i| nu * h.get(8 + k, i) + tau).collect();
            let (mean, variance) = (dot(&u, &al), nu * h.get(8 + k, 8 + k) + tau - dot(&u, &times(&solved, &u)));
            let expected = logistic_normal_mean(mean, variance);
            assert!((found - expected).abs() < 1e-9, "{k}: {found} {expected}");
            // Neither the mean function alone nor the variance without data would do.
            let others = [logistic(mean), logistic_normal_mean(mean, nu * h.get(8 + k, 8 + k) + tau)];
            assert!(others.iter().all(|other| (found - other).abs() > 1e-4), "{k}: {found} {others:?}");
        }
    }
}

#[test]
fn probabilities_of_a_model_are_an_integral() {
    // Two rows, one kernel, a new row: three function values and log nu, by quadrature.
    let (rows, sides, k) = ([0.0, 1.0, -0.5], [1.0, -1.0], |a: f64, b: f64| (-0.5 * (a - b) * (a - b)).exp());
    let tau = 0.5;
    let (mut mass, mut first) = (0.0, 0.0);
    let (step, wide) = (0.1, 0.5);
    for log_nu in (-24..=24).map(|k| wide * f64::from(k)) {
        let nu: f64 = f64::exp(log_nu);
        let v = |a: usize, b: usize| nu * (k(rows[a], rows[b]) + if a == b { JITTER } else { 0.0 }) + tau;
        // The factor of the three values.
        let (l00, l10, l20) = (v(0, 0).sqrt(), v(1, 0) / v(0, 0).sqrt(), v(2, 0) / v(0, 0).sqrt());
        let l11 = (v(1, 1) - l10 * l10).sqrt();
        let l21 = (v(2, 1) - l20 * l10) / l11;
        let rest = v(2, 2) - l20 * l20 - l21 * l21;
        for (a, b) in (-60..=60).flat_map(|a| (-60..=60).map(move |b| (step * f64::from(a), step * f64::from(b)))) {
            let prior = (-0.5 * (a * a + b * b) - log_nu * log_nu / 18.0).exp();
            let weight = prior * logistic(sides[0] * l00 * a) * logistic(sides[1] * (l10 * a + l11 * b));
            if weight > 1e-12 {
                mass += weight;
                first += weight * logistic_normal_mean(l20 * a + l21 * b, rest);
            }
        }
    }
    let expected = first / mass;
    let data = |rows: &[f64], classes: &[usize]| {
        let labels = Labels::from_parts(vec!["yes".into(), "no".into()], classes.to_vec()).unwrap();
        let samples = Samples::unnamed(Matrix::from_vec(rows.len(), 1, rows.to_vec()).unwrap()).unwrap();
        Dataset::new("tiny", samples, labels).unwrap()
    };
    let (train, test) = (data(&rows[..2], &[0, 1]), data(&rows[2..], &[0]));
    let mut found = vec![];
    for seed in 0..40 {
        let plan = Plan::new("bm3kl").unwrap().kernels("gaussian(1)").unwrap().scale(Scale::None).seed(seed);
        let settings = [("likelihood", "logit"), ("tau", "0.5"), ("draws", "250"), ("chains", "4")];
        let plan = settings.iter().try_fold(plan, |plan, (name, value)| plan.set(name, value)).unwrap();
        let model = alone(plan, &train);
        found.push(model.predict(&test.samples).unwrap().scores.get(0, 0));
    }
    let (mean, error) = mean_and_error(found.iter().copied(), 40);
    assert!(error < 0.004, "{error}");
    assert!((mean - expected).abs() < 4.0 * error, "{mean} ± {error}, expected {expected}");
    assert!((expected - 0.5).abs() > 20.0 * error, "{expected} would be reached by doing nothing");
}

/// Ranks of the weights and of log nu among 19 draws, over sets drawn from the prior: p of four chi-square tests of
/// uniformity, and of the last with a `log nu` raised by `shift`.
fn calibration(world: &mut World, shift: f64, n_sets: u64) -> ([f64; 4], f64) {
    const DRAWS: usize = 19;
    let mut ranks: [Vec<usize>; 5] = Default::default();
    for set in 0..n_sets {
        let mut rng = Rng::new(71, set);
        let (all, _) = from_prior(world, &mut rng);
        world.sign = labels(&all.functions, &mut rng);
        let chain = chain(world, 100, 20 * DRAWS);
        let truth = [all.weights[0], all.weights[1], all.weights[2], all.log_nu[0], all.log_nu[0] + shift];
        for (k, (ranks, truth)) in ranks.iter_mut().zip(truth).enumerate() {
            let of = |draw: &Draw| if k < 3 { draw.weights[k] } else { draw.log_nu[0] };
            ranks.push(rank(&chain.iter().map(of).collect::<Vec<_>>(), DRAWS, truth));
        }
    }
    let [right @ .., raised] = ranks.map(|ranks| rank_uniformity(&ranks, DRAWS));
    (right, raised)
}

/// The draws of a chain after warm-up.
fn chain(world: &World, warmup: usize, n_draws: usize) -> Vec<Draw> {
    let (problem, mut rngs) = (world.problem(), [Rng::new(72, 0)]);
    let mut latents = [world.begin(&mut rngs[0])];
    let mut one = |number: usize| {
        let phase = SweepPhase { sweep: number, warm: number > warmup, keep: false };
        sweep(&problem, &mut latents, &mut rngs, phase).unwrap().remove(0)
    };
    (1..=warmup + n_draws).map(&mut one).skip(warmup).collect()
}

/// 200 sets of 12 rows, 10 for each of 20 ranks: chi-square at 1e-3 notices truths that are half a posterior standard
/// deviation off with a probability above 0.95 (noncentrality 200 (exp(1/4) - 1) = 57, 19 degrees). The control
/// ranks a `log nu` one prior standard deviation above the one that labels were drawn with.
#[test]
fn ranks_of_what_labels_were_drawn_from_are_uniform_and_those_of_something_else_are_not() {
    let mut world = World::small(12, 1, logit(WeightSampler::Collapsed));
    let (right, raised) = calibration(&mut world, 3.0, 200);
    assert!(right.iter().all(|&p| p > 1e-3), "{right:?}");
    assert!(raised < 1e-9, "{raised}");
}

#[test]
fn likelihood_of_labels_refuses_what_does_not_fit() {
    let refused = |settings: &[(&str, &str)], data: &Dataset| {
        let plan = Plan::new("bm3kl").unwrap().kernels("gaussian(1)").unwrap().set("likelihood", "logit").unwrap();
        let plan = settings.iter().try_fold(plan, |plan, (name, value)| plan.set(name, value));
        plan.and_then(|plan| plan.train(data)).map(|_| ()).unwrap_err().to_string()
    };
    let two = far_apart(2, 6, 0);
    let text = refused(&[("prior", "paper")], &two);
    assert!(text.starts_with("parameter likelihood: `logit` is for functions that are Gaussian processes"), "{text}");
    let text = refused(&[("prior", "paper"), ("sampler", "paper")], &two);
    assert!(text.starts_with("parameter likelihood"), "{text}");
    let text = refused(&[], &far_apart(3, 6, 0));
    assert!(
        text.starts_with("parameter likelihood: `logit` is a likelihood of two classes, and there are 3"),
        "{text}"
    );
}
