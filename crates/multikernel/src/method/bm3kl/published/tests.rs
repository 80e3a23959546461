//! The published step against its equations, against differences, and against the distributions it approximates.

use super::super::chain::{Draw, Latent, weights_of};
use super::super::settings::{FunctionPrior, Settings, WeightSampler};
use super::super::sweep::{SweepPhase, sweep};
use super::super::tests::{World, functions_drawn, mean_and_error, settings};
use super::{gradients, step, update};
use crate::dist::{Rng, ln_gamma, normals};
use crate::linalg::Matrix;

/// Both variants; they are the same as long as friction is small.
const SAMPLERS: [WeightSampler; 2] = [WeightSampler::Published, WeightSampler::Paper];

fn of(sampler: WeightSampler) -> Settings {
    settings(FunctionPrior::Paper, sampler)
}

/// The conditional of e, above equation (7), from its definition: sample weights refer to unscaled kernels.
fn log_q(world: &World, latent: &Latent, draw: &Draw, e: &[f64]) -> f64 {
    let total: f64 = e.iter().sum();
    let weights: Vec<f64> = e.iter().map(|e| e / total).collect();
    let kernel = world.kernel(&weights);
    let mut log_q: f64 = e.iter().map(|e| (world.settings.eta - 1.0) * e.ln() - e).sum();
    for c in 0..draw.coef.n_rows() {
        for i in 0..kernel.n_rows() {
            let own: f64 = kernel.row(i).iter().zip(draw.coef.row(c)).map(|(k, a)| k * a).sum();
            let zeta = 1.0 - world.sign.get(c, i) * (own / world.scale + draw.bias[c]);
            let lambda = latent.lambda.get(c, i);
            log_q -= (lambda + zeta).powi(2) / (2.0 * lambda);
        }
    }
    log_q
}

#[test]
fn slopes_of_the_published_step_are_differences_of_log_q() {
    for eta in [0.7, 2.5] {
        let mut world = World::small(7, 2, Settings { eta, ..of(WeightSampler::Published) });
        world.scale = 1.7;
        let mut rng = Rng::new(61, 0);
        let mut latent = world.odd(&mut rng);
        let (_, draw) = functions_drawn(&world, &latent, 1);
        // Away from a sum of 1, so that a missing 1 / sum e shows.
        latent.x.iter_mut().for_each(|x| *x += 1.0);
        let e: Vec<f64> = latent.x.iter().map(|x| x.exp()).collect();
        let found = gradients(&world.problem(), std::slice::from_ref(&latent), std::slice::from_ref(&draw)).unwrap();
        let mut by_data = 0.0;
        for m in 0..e.len() {
            let at = |by: f64| {
                let mut moved = e.clone();
                moved[m] *= 1.0 + by;
                log_q(&world, &latent, &draw, &moved)
            };
            let h = 1e-4;
            let slope = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h * e[m]);
            let off = (found[0][m] - slope).abs();
            assert!(off < 1e-7 * (1.0 + slope.abs()), "eta {eta}, kernel {m}: {} {slope}", found[0][m]);
            by_data += (slope - (eta - 1.0) / e[m] + 1.0).abs();
        }
        assert!(by_data > 0.1, "the rows have no say in this test: {by_data}");
    }
}

/// A chain of its own for each of n kernels that no row speaks about.
fn free(settings: &Settings, n: usize, rng: &mut Rng) -> Latent {
    let mut latent = Latent::begin(settings, rng, n, 1, 1);
    latent.x = (0..n).map(|_| ln_gamma(rng, settings.eta)).collect();
    latent
}

#[test]
fn published_step_is_equations_7_and_8() {
    for sampler in SAMPLERS {
        let settings = Settings { eta: 1.5, ..of(sampler) };
        let mut rng = Rng::new(62, 0);
        let mut latent = free(&settings, 6, &mut rng);
        // The second has momentum enough to cross 0; the last has more friction than an explicit step can bear.
        (latent.x[1], latent.momentum[1]) = ((1e-3f64).ln(), -3.0);
        latent.x[5] = 30f64.ln();
        let (size, gradient) = (0.1, normals(&mut rng, 6));
        let (before, shocks) = (latent.clone(), normals(&mut rng.clone(), 6));
        step(&settings, &mut latent, &gradient, size, &mut rng).unwrap();
        for m in 0..6 {
            let (e, r) = (before.x[m].exp(), before.momentum[m]);
            // G^-1 = diag(e).
            let (inverse, root) = (e, e.sqrt());
            let (friction, noise) = match sampler {
                WeightSampler::Paper if size * e > 1.0 => {
                    ((-size * inverse).exp(), 1.0 - (-2.0 * size * inverse).exp())
                }
                _ => (1.0 - size * inverse, 2.0 * size * inverse),
            };
            let momentum = friction * r + size * root * gradient[m] + size * 0.5 / root + noise.sqrt() * shocks[m];
            let moved = e + size * root * momentum;
            assert_eq!(moved < 0.0, m == 1, "{sampler:?}: {moved}");
            assert!((latent.momentum[m] - momentum).abs() < 1e-12 * momentum.abs().max(1.0), "{sampler:?} {m}");
            assert!((latent.x[m].exp() / moved.abs() - 1.0).abs() < 1e-10, "{sampler:?} {m}: {moved}");
        }
    }
}

/// Means of e, of its square and of its logarithm over chains that see no data, with their errors.
fn without_data(settings: &Settings, size: f64) -> [(f64, f64); 3] {
    let mut rng = Rng::new(63, 0);
    let (n, time) = (400, 90.0);
    let mut latent = free(settings, n, &mut rng);
    let mut sums = [vec![0.0; n], vec![0.0; n], vec![0.0; n]];
    let (begin, all) = ((10.0 / size) as usize, ((10.0 + time) / size) as usize);
    for number in 0..all {
        // The gradient of the prior alone.
        let gradient: Vec<f64> = latent.x.iter().map(|x| (settings.eta - 1.0) / x.exp() - 1.0).collect();
        step(settings, &mut latent, &gradient, size, &mut rng).unwrap();
        for (m, &x) in latent.x.iter().enumerate().filter(|_| number >= begin) {
            let e = x.exp();
            [e, e * e, x].into_iter().zip(&mut sums).for_each(|(value, sum)| sum[m] += value);
        }
    }
    // Chains are independent.
    sums.map(|sum| mean_and_error(sum.iter().map(|sum| sum / (all - begin) as f64), n))
}

/// The value that steps of no size would have, if the bias is proportional to the size.
fn extrapolated(long: (f64, f64), half: (f64, f64)) -> (f64, f64) {
    (2.0 * half.0 - long.0, (4.0 * half.1 * half.1 + long.1 * long.1).sqrt())
}

#[test]
fn without_data_the_published_step_keeps_the_prior_as_steps_shrink() {
    // Gamma(3): mean 3, mean square 12, mean logarithm digamma(3).
    let exact = [3.0, 12.0, 0.922_784_335_098_467_1];
    // Gamma(2.5), which the step would keep without its metric term.
    let other = [2.5, 8.75, 0.703_156_640_645_243_2];
    let settings = Settings { eta: 3.0, ..of(WeightSampler::Published) };
    let (long, half) = (without_data(&settings, 0.06), without_data(&settings, 0.03));
    for k in 0..3 {
        let (limit, error) = extrapolated(long[k], half[k]);
        assert!(4.0 * error < exact[k] - other[k], "{k}: the error {error} hides too much");
        assert!((limit - exact[k]).abs() < 4.0 * error, "{k}: {limit} +- {error} against {}", exact[k]);
        // It is biased, and less so with half the step.
        assert!(long[k].0 - exact[k] < -4.0 * long[k].1, "{k}: {:?} against {}", long[k], exact[k]);
    }
}

/// Two kernels, four rows, fixed sample weights and scales: a world whose conditional of e can be integrated.
fn conditional() -> (World, Latent, Draw) {
    let rows = [[0.346, 0.822], [0.33, -1.303], [0.905, 0.446], [-0.537, 0.581]];
    let sign = Matrix::from_vec(1, 4, vec![1.0, -1.0, 1.0, -1.0]).unwrap();
    let settings = Settings { eta: 3.0, ..of(WeightSampler::Published) };
    let world = World::new(&rows, &["gaussian(0.5)", "polynomial(2)"], sign, settings);
    let mut latent = world.begin(&mut Rng::new(64, 0));
    latent.lambda = Matrix::from_vec(1, 4, vec![0.3; 4]).unwrap();
    let (_, mut draw) = functions_drawn(&world, &latent, 1);
    draw.coef = Matrix::from_vec(1, 4, vec![2.2, -1.0, 2.2, -1.0]).unwrap();
    draw.bias = vec![0.0];
    (world, latent, draw)
}

/// The means of w_1, of its square and of the sum of e, by quadrature: the rows speak about w alone, so the sum is
/// Gamma(2 eta) as in the prior.
fn by_quadrature(world: &World, latent: &Latent, draw: &Draw) -> [f64; 3] {
    let n = 2000;
    let mut sums = [0.0; 3];
    for k in 0..n {
        let w = (f64::from(k) + 0.5) / f64::from(n);
        // The prior of e at a sum of 1 is that of w but for a constant.
        let mass = log_q(world, latent, draw, &[w, 1.0 - w]).exp();
        [1.0, w, w * w].into_iter().zip(&mut sums).for_each(|(value, sum)| *sum += mass * value);
    }
    [sums[1] / sums[0], sums[2] / sums[0], 2.0 * world.settings.eta]
}

/// The same means over chains of the published step, with their errors.
fn by_steps(epsilon: f64) -> [(f64, f64); 3] {
    let (mut world, latent, draw) = conditional();
    world.settings.epsilon = epsilon;
    let (n, begin, all) = (96, (10.0 / epsilon) as usize, (70.0 / epsilon) as usize);
    let each = |m: usize| {
        let unit: Vec<f64> = (0..2).map(|d| f64::from(u8::from(d == m))).collect();
        world.kernel(&unit).times(draw.coef.row(0))
    };
    let outputs = [each(0), each(1)];
    let mut rngs: Vec<Rng> = (0..n).map(|k| Rng::new(65, k as u64)).collect();
    let mut latents: Vec<Latent> = rngs
        .iter_mut()
        .map(|rng| Latent {
            x: vec![ln_gamma(rng, 3.0), ln_gamma(rng, 3.0)],
            momentum: normals(rng, 2),
            ..latent.clone()
        })
        .collect();
    let mut draws: Vec<Draw> = (0..n).map(|_| conditional().2).collect();
    let problem = world.problem();
    let mut sums = vec![[0.0; 3]; n];
    for number in 1..=all {
        for (draw, latent) in draws.iter_mut().zip(&latents) {
            let w = weights_of(&latent.x);
            let f = (0..4).map(|i| w[0] * outputs[0][i] + w[1] * outputs[1][i] + draw.bias[0]);
            draw.functions = Matrix::from_vec(1, 4, f.collect()).unwrap();
        }
        update(&problem, &mut latents, &draws, &mut rngs, number).unwrap();
        for (sums, latent) in sums.iter_mut().zip(&latents).filter(|_| number > begin) {
            let (w, total) = (weights_of(&latent.x)[0], latent.x.iter().map(|x| x.exp()).sum::<f64>());
            [w, w * w, total].into_iter().zip(sums).for_each(|(value, sum)| *sum += value);
        }
    }
    [0, 1, 2].map(|k| mean_and_error(sums.iter().map(|sums| sums[k] / (all - begin) as f64), n))
}

#[test]
fn bias_of_the_published_step_falls_with_epsilon_towards_the_conditional_posterior() {
    let (world, latent, draw) = conditional();
    let exact = by_quadrature(&world, &latent, &draw);
    // The prior's mean of w is a half.
    assert!(exact[0] > 0.6, "the rows have no say in this test: {exact:?}");
    let (long, half) = (by_steps(0.06), by_steps(0.03));
    for k in 0..3 {
        let (limit, error) = extrapolated(long[k], half[k]);
        assert!(error < 0.04 * exact[k], "{k}: the error {error} hides too much");
        assert!((limit - exact[k]).abs() < 4.0 * error, "{k}: {limit} +- {error}, {}", exact[k]);
    }
    // The sum of e is short, and half as much with half the step.
    assert!(long[2].0 - exact[2] < -4.0 * long[2].1, "{long:?} against {exact:?}");
}

#[test]
fn chain_that_diverges_is_an_error_as_published_and_goes_on_when_made_stable() {
    for sampler in SAMPLERS {
        let world = World::small(6, 1, Settings { epsilon: 1.0, gamma0: 100.0, ..of(sampler) });
        let mut rngs = [Rng::new(66, 0)];
        let mut latents = [world.begin(&mut rngs[0])];
        let mut last = None;
        for number in 1..=200 {
            let phase = SweepPhase { sweep: number, warm: true, keep: false };
            match sweep(&world.problem(), &mut latents, &mut rngs, phase) {
                Ok(draws) => assert!(draws[0].weights.iter().all(|w| w.is_finite()), "{sampler:?} {number}"),
                Err(error) => {
                    last = Some((number, error.to_string()));
                    break;
                }
            }
        }
        match (sampler, last) {
            (WeightSampler::Published, Some((number, text))) => {
                assert!(
                    text.contains(&format!("diverged in sweep {number}")) && text.contains("sampler=paper"),
                    "{text}"
                )
            }
            (WeightSampler::Paper, None) => {}
            (sampler, last) => panic!("{sampler:?}: {last:?}"),
        }
    }
}

#[test]
fn step_size_shrinks_with_the_sweep_where_it_decays() {
    for (decay, expected) in [(false, 0.05), (true, 0.05 / 7.0)] {
        let (mut world, latent, mut draw) = conditional();
        world.settings.decay = decay;
        draw.functions = Matrix::zeros(1, 4);
        let gradient = gradients(&world.problem(), std::slice::from_ref(&latent), std::slice::from_ref(&draw)).unwrap();
        let mut by_hand = latent.clone();
        step(&world.settings, &mut by_hand, &gradient[0], expected, &mut Rng::new(67, 0)).unwrap();
        let mut latents = [latent];
        update(&world.problem(), &mut latents, &[draw], &mut [Rng::new(67, 0)], 7).unwrap();
        assert_eq!(latents[0], by_hand);
    }
}
