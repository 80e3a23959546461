//! Gradients, identities, an independent sampler, and odd data.

use super::objective::RowBatch;
use super::*;
use crate::data::{Dataset, Samples, Scale, Target, bundled};
use crate::dist::{Rng, normal};
use crate::linalg::Matrix;
use crate::method::check::{labels, with_task};
use crate::plan::Plan;
use crate::pool::Pool;
use crate::run::{Input, Predict};
use crate::simd::Real;
use crate::solve::lbfgs::{Memory, search};
use crate::stack::{Stack, StackOptions};

pub(super) const SETTINGS: Settings = Settings {
    family: Family::Gamma,
    prior: Prior::Gamma { shape: 1.0, rate: 1.0 },
    lambda: 0.1,
    loss: NumbersLoss::Gaussian,
    nodes: 16,
    intercept: true,
    ascent: false,
    plain: false,
    iterations: 500,
    tol: 1e-12,
    rate: 0.01,
    batch: 0,
    landmarks: 0,
    clip: true,
};

pub(super) fn random_points(n: usize, d: usize) -> Matrix {
    let mut rng = Rng::new(21, 0);
    Matrix::from_fn(n, d, |_, _| normal(&mut rng))
}

/// Two noisy circles, as in the toy set.
fn circles() -> (Matrix, Vec<usize>) {
    let mut rng = Rng::new(7, 0);
    let codes: Vec<usize> = (0..100).map(|i| i % 2).collect();
    let points = Matrix::from_fn(100, 2, |i, j| {
        let (angle, radius) = (i as f64 / 50.0 * std::f64::consts::PI, if i % 2 == 0 { 1.0 } else { 0.5 });
        radius * if j == 0 { angle.cos() } else { angle.sin() } + 0.1 * normal(&mut rng)
    });
    (points, codes)
}

/// The loss and its full gradient, computed from the kernels.
pub(super) fn whole(objective: &Objective<'_>, x: &[f64]) -> (f64, Vec<f64>) {
    let passes = Passes::new(objective).unwrap();
    let outputs = objective.outputs(&x[objective.layout.samples()], &passes.forward).unwrap();
    let value = objective.value_on_all(x, &outputs);
    let mut gradient = value.gradient;
    objective.add_output_gradients(&value.output_gradients.unwrap(), &passes.backward, &mut gradient).unwrap();
    (value.loss, gradient)
}

pub(super) fn random_x(objective: &Objective<'_>) -> Vec<f64> {
    let mut rng = Rng::new(5, 0);
    (0..objective.layout.size()).map(|_| 0.4 * normal(&mut rng)).collect()
}

/// Runs to the end.
pub(super) fn fit(task: &Task<'_>, settings: &Settings) -> Fit {
    let mut state = begin(task, settings).unwrap();
    let control = Control::default();
    while !state.converged && state.losses.len() <= settings.iterations {
        step(task, settings, &mut state, &control).unwrap();
    }
    assert!(settings.ascent || state.converged, "{:?}", state.losses.last());
    state
}

/// All weight distributions, with priors that are not 1.
pub(super) const DISTRIBUTIONS: [(Family, Prior); 5] = [
    (Family::Exponential, Prior::Gamma { shape: 1.0, rate: 1.7 }),
    (Family::Gamma, Prior::Gamma { shape: 0.2, rate: 1.7 }),
    (Family::LogNormal, Prior::Gamma { shape: 1.0, rate: 1.7 }),
    (Family::Point, Prior::Ridge(0.3)),
    (Family::Point, Prior::Fixed),
];

const KERNELS: [&str; 3] = ["gaussian(1)", "polynomial(2)", "sigmoid(0.7) raw"];

#[test]
fn gradients_are_those_of_differences() {
    let points = random_points(26, 3);
    let codes = |classes: usize| (0..26).map(|i| (i * i + i / 3) % classes).collect::<Vec<_>>();
    for (family, prior) in DISTRIBUTIONS {
        for (classes, landmarks) in [(2, 0), (3, 0), (4, 0), (2, 9), (3, 9)] {
            // Clipping needs all rows.
            let kernels = if landmarks == 0 { &KERNELS[..] } else { &KERNELS[..2] };
            with_task(&points, &codes(classes), kernels, |task| {
                let settings = Settings { family, prior, landmarks, ..SETTINGS };
                let clip = Clip::new(task, true, &|| false).unwrap();
                assert_eq!(clip.kernels.len(), usize::from(landmarks == 0));
                let objective = objective(task, &settings, clip).unwrap();
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
                    // Richardson extrapolation: the error is of fourth order in h.
                    let slope = (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
                    let off = (slope - gradient[k]).abs();
                    assert!(
                        off < 1e-6 * scale.max(1.0),
                        "{family:?} {classes} {landmarks} {k}: {slope} {}",
                        gradient[k]
                    );
                }
            });
        }
    }
}

#[test]
fn one_pass_finds_what_two_find() {
    let points = random_points(77, 3);
    for (family, prior) in DISTRIBUTIONS {
        for classes in [2, 3] {
            let codes: Vec<usize> = (0..77).map(|i| (i * i + i / 3) % classes).collect();
            with_task(&points, &codes, &KERNELS[..2], |task| {
                let settings = Settings { family, prior, landmarks: 9, ..SETTINGS };
                let objective = objective(task, &settings, Clip::default()).unwrap();
                let passes = Passes::new(&objective).unwrap();
                let (x, samples) = (random_x(&objective), objective.layout.samples());
                let outputs = objective.outputs(&x[samples.clone()], &passes.forward).unwrap();
                let (direction, length) = (x.iter().rev().copied().collect::<Vec<_>>(), 0.7);
                let to: Vec<f64> = x.iter().zip(&direction).map(|(x, by)| x + length * by).collect();
                let (along, there, value) =
                    objective.pass(&to, &outputs, &direction[samples.clone()], length, &passes.forward).unwrap();
                let (loss, gradient) = whole(&objective, &to);
                let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-11 * (1.0 + b.abs()));
                assert!(
                    value.output_gradients.is_none()
                        && near(&[value.loss], &[loss])
                        && near(&value.gradient, &gradient)
                );
                assert!(near(&there, &objective.outputs(&to[samples.clone()], &passes.forward).unwrap()));
                assert!(near(&along, &objective.outputs(&direction[samples], &passes.forward).unwrap()));
            });
        }
    }
}

#[test]
fn bound_of_no_function_under_the_prior_is_that_of_tossed_coins() {
    let points = random_points(30, 2);
    for (family, delta) in [(Family::Exponential, 1.0), (Family::Exponential, 2.5), (Family::Gamma, 0.3)] {
        for classes in [2, 3] {
            let codes: Vec<usize> = (0..30).map(|i| i % classes).collect();
            with_task(&points, &codes, &["gaussian(1)", "linear"], |task| {
                let prior = Prior::Gamma { shape: 1.0, rate: delta };
                let objective = objective(task, &Settings { family, prior, ..SETTINGS }, Clip::default()).unwrap();
                let mut x = vec![0.0; objective.layout.size()];
                x[objective.layout.means()].fill(-delta.ln());
                let expected = 30.0 * (classes as f64).ln();
                let (loss, _) = whole(&objective, &x);
                assert!((loss - expected).abs() < 1e-10, "{family:?} {delta}: {loss} {expected}");
            });
        }
    }
}

#[test]
fn scale_identity_holds_at_the_optimum_of_every_law() {
    let (points, codes) = circles();
    let three: Vec<usize> = (0..100).map(|i| if points.get(i, 0) > 0.3 { 2 } else { codes[i] }).collect();
    for codes in [&codes, &three] {
        for (family, prior) in [
            (Family::Exponential, Prior::Gamma { shape: 1.0, rate: 1.0 }),
            (Family::Gamma, Prior::Gamma { shape: 1.0, rate: 1.0 }),
            (Family::Gamma, Prior::Gamma { shape: 0.1, rate: 2.0 }),
            (Family::LogNormal, Prior::Gamma { shape: 1.0, rate: 1.0 }),
            (Family::Point, Prior::Ridge(0.1)),
        ] {
            with_task(&points, codes, &["linear", "gaussian(0.5)", "laplacian(1)"], |task| {
                let settings = Settings { family, prior, nodes: 32, ..SETTINGS };
                let state = fit(task, &settings);
                let objective = objective(task, &settings, Clip::default()).unwrap();
                let value = objective.value_on_all(&state.x, &state.outputs);
                let gap = objective.identity_gap(&state.x, &value.lengths);
                let length = f64::dot(&objective.means(&state.x), &value.lengths);
                assert!(gap.abs() < 1e-2 && length > 0.1, "{family:?} {prior:?}: {gap}");
                // With one multiplier for all sample weights the identity would be off by as much as they weigh.
                assert!(state.losses.windows(2).all(|pair| pair[1] <= pair[0]), "the bound fell");
            });
        }
    }
}

/// Loss and gradient at the optimal scale agree with those computed from the kernels, and the scale identity holds
/// there whatever the rest is.
#[test]
fn best_scale_is_where_its_identity_holds() {
    let points = random_points(26, 3);
    for (family, prior) in DISTRIBUTIONS {
        for (classes, landmarks) in [(2, 0), (3, 9)] {
            let codes: Vec<usize> = (0..26).map(|i| (i * i + i / 3) % classes).collect();
            with_task(&points, &codes, &KERNELS[..2], |task| {
                let settings = Settings { family, prior, landmarks, ..SETTINGS };
                let objective = objective(task, &settings, Clip::default()).unwrap();
                let passes = Passes::new(&objective).unwrap();
                let x = random_x(&objective);
                let outputs = objective.outputs(&x[objective.layout.samples()], &passes.forward).unwrap();
                let mut state = objective.begin(x, outputs, &passes).unwrap();
                let before = state.losses[0];
                objective.rescale(&mut state);
                let (loss, gradient) = whole(&objective, &state.x);
                assert!((loss - state.losses[0]).abs() < 1e-9 * loss, "{family:?}: {loss} {}", state.losses[0]);
                assert_eq!(state.losses[0] < before, prior != Prior::Fixed, "{family:?}");
                for (k, (found, told)) in gradient.iter().zip(&state.gradient).enumerate() {
                    assert!((found - told).abs() < 1e-9 * (1.0 + found.abs()), "{family:?} {k}: {found} {told}");
                }
                let value = objective.value_on_all(&state.x, &state.outputs);
                let gap = objective.identity_gap(&state.x, &value.lengths);
                assert!(gap.abs() < 1e-9, "{family:?}: {gap}");
            });
        }
    }
}

/// At an optimum with a kernel of full rank `K (y - p) = 2 lambda K a`, so the sample weights are residuals.
#[test]
fn sample_weights_of_uniform_kernels_are_residuals() {
    let (points, codes) = circles();
    with_task(&points, &codes, &["gaussian(0.3)", "laplacian(2)"], |task| {
        let settings =
            Settings { family: Family::Point, prior: Prior::Fixed, nodes: 1, lambda: 0.05, tol: 0.0, ..SETTINGS };
        let mut state = begin(task, &settings).unwrap();
        (0..60).for_each(|_| drop(step(task, &settings, &mut state, &Control::default()).unwrap()));
        let kernel = task.stack().unwrap().combine(&Matrix::from_vec(2, 1, vec![0.5; 2]).unwrap(), task.pool).unwrap();
        let (alpha, intercept) = (&state.x[..100], state.x[100]);
        let mut sum = 0.0;
        for (i, row) in kernel[0].rows().enumerate() {
            let f = f64::dot(row, alpha) + intercept;
            let residual = f64::from(u8::from(codes[i] == 0)) - 1.0 / (1.0 + (-f).exp());
            assert!((alpha[i] - residual / 0.1).abs() < 1e-5, "{i}: {} {}", alpha[i], residual / 0.1);
            sum += residual;
        }
        assert!(sum.abs() < 1e-6, "the intercept is free: {sum}");
    });
}

/// A ridge has one optimal weight for each kernel, `lambda a' K_d a / (2 ridge)`, also if the ascent started from next
/// to none of it.
#[test]
fn kernels_let_go_under_a_ridge_come_back() {
    let (points, codes) = circles();
    for lambda in [0.1, 10.0] {
        with_task(&points, &codes, &["linear", "gaussian(0.5)", "laplacian(1)"], |task| {
            let settings = Settings {
                family: Family::Point,
                prior: Prior::Ridge(0.1),
                nodes: 1,
                lambda,
                iterations: 2000,
                ..SETTINGS
            };
            let objective = objective(task, &settings, Clip::default()).unwrap();
            let passes = Passes::new(&objective).unwrap();
            let ends: Vec<Fit> = [[0.0; 3], [0.0, -40.0, -40.0], [-40.0, 0.0, -30.0]]
                .into_iter()
                .map(|ln_means| {
                    let mut x = vec![0.0; objective.layout.size()];
                    x[objective.layout.means()].copy_from_slice(&ln_means);
                    let mut state = objective.begin(x, vec![0.0; 300], &passes).unwrap();
                    while !state.converged && state.losses.len() <= settings.iterations {
                        step(task, &settings, &mut state, &Control::default()).unwrap();
                    }
                    state
                })
                .collect();
            for end in &ends {
                let (best, loss) = (ends[0].losses.last().unwrap(), end.losses.last().unwrap());
                assert!(end.converged && (loss - best).abs() < 1e-5 * best, "{lambda}: {loss} {best}");
                let value = objective.value_on_all(&end.x, &end.outputs);
                for (mean, length) in objective.means(&end.x).iter().zip(&value.lengths) {
                    assert!((mean - lambda * length / 0.2).abs() < 1e-2 * mean.max(0.1), "{lambda}: {mean} {length}");
                }
            }
        });
    }
}

/// The optimal distributions at fixed sample weights, by quasi-Newton steps in means and shapes alone; returns the loss
/// there and all parameters.
fn best_laws(objective: &Objective<'_>, x: &[f64], outputs: &[f64]) -> (f64, Vec<f64>) {
    let free = objective.layout.means().start..objective.layout.size();
    let mut x = x.to_vec();
    let mut memory = Memory::default();
    for _ in 0..200 {
        let value = objective.value_on_all(&x, outputs);
        let gradient = &value.gradient[free.clone()];
        if f64::dot(gradient, gradient) < 1e-16 {
            break;
        }
        let direction = memory.direction(gradient, |all| Ok(all.iter().map(|g| g.to_vec()).collect())).unwrap();
        let slope = f64::dot(gradient, &direction);
        let at = |t: f64| {
            let mut moved = x.clone();
            moved[free.clone()].iter_mut().zip(&direction).for_each(|(x, d)| *x += t * d);
            (objective.value_on_all(&moved, outputs), moved)
        };
        let look = |t: f64| {
            let (value, _) = at(t);
            Ok((value.loss, f64::dot(&value.gradient[free.clone()], &direction)))
        };
        let Some(length) = search((value.loss, slope), 0.5, look).unwrap() else { break };
        let (next, moved) = at(length);
        let change = next.gradient[free.clone()].iter().zip(gradient).map(|(a, b)| a - b).collect();
        memory.remember(direction.iter().map(|d| length * d).collect(), change);
        x = moved;
    }
    (objective.value_on_all(&x, outputs).loss, x)
}

const TOYS: [&str; 3] = ["linear", "gaussian(gamma=0.1)", "laplacian(0.1)"];

#[test]
fn gamma_laws_bound_no_less_than_exponential_ones_at_the_same_sample_weights() {
    let (points, codes) = circles();
    with_task(&points, &codes, &TOYS, |task| {
        let of = |family: Family| Settings { family, nodes: 128, ..SETTINGS };
        let state = fit(task, &of(Family::Exponential));
        let narrow = objective(task, &of(Family::Exponential), Clip::default()).unwrap();
        let wide = objective(task, &of(Family::Gamma), Clip::default()).unwrap();
        // Shape 1 is the exponential distribution, whose nodes match the gamma table up to interpolation.
        let mut x = state.x.clone();
        x.resize(wide.layout.size(), 0.0);
        let (exponential, as_gamma) =
            (narrow.value_on_all(&state.x, &state.outputs), wide.value_on_all(&x, &state.outputs));
        assert!((exponential.loss - as_gamma.loss).abs() < 1e-4, "{} {}", exponential.loss, as_gamma.loss);
        let (gamma, _) = best_laws(&wide, &x, &state.outputs);
        let (same, _) = best_laws(&narrow, &state.x, &state.outputs);
        assert!(gamma < same - 0.05, "gamma {gamma}, exponential {same}");
    });
}

/// Random-walk Metropolis in the log kernel weights at fixed sample weights: mean and standard deviation of each
/// weight.
fn sampled(outputs: &[f64], lengths: &[f64], codes: &[usize], start: &[f64], draws: usize) -> Vec<(f64, f64)> {
    let d = lengths.len();
    let ln_density = |ln_weights: &[f64]| {
        let weights: Vec<f64> = ln_weights.iter().map(|w| w.exp()).collect();
        let fit: f64 = outputs
            .chunks_exact(d)
            .zip(codes)
            .map(|(outputs, &code)| {
                let f = f64::dot(outputs, &weights) * if code == 0 { 1.0 } else { -1.0 };
                -(-f).max(0.0) - (-f.abs()).exp().ln_1p()
            })
            .sum();
        // Penalty, prior of rate 1, and the Jacobian of the logarithm.
        fit - SETTINGS.lambda * f64::dot(&weights, lengths) - weights.iter().sum::<f64>()
            + ln_weights.iter().sum::<f64>()
    };
    let mut rng = Rng::new(3, 0);
    let mut here: Vec<f64> = start.iter().map(|w| w.ln()).collect();
    let mut density = ln_density(&here);
    let mut sums = vec![(0.0, 0.0); d];
    let burn = draws / 10;
    for k in 0..draws + burn {
        let scale = if k % 3 == 0 { 0.9 } else { 0.3 };
        let there: Vec<f64> = here.iter().map(|w| w + scale * normal(&mut rng)).collect();
        let next = ln_density(&there);
        if rng.uniform().ln() < next - density {
            (here, density) = (there, next);
        }
        if k >= burn {
            for (sum, w) in sums.iter_mut().zip(&here) {
                *sum = (sum.0 + w.exp(), sum.1 + (2.0 * w).exp());
            }
        }
    }
    let n = draws as f64;
    sums.into_iter().map(|(sum, squares)| (sum / n, (squares / n - (sum / n).powi(2)).sqrt())).collect()
}

/// Among the distributions at fixed sample weights, gamma comes close to the posterior: mean within 5 %, standard
/// deviation within 15 %.
#[test]
fn gamma_intervals_agree_with_a_long_chain_at_the_same_sample_weights() {
    let (points, codes) = circles();
    with_task(&points, &codes, &TOYS, |task| {
        let settings = Settings { nodes: 256, intercept: false, ..SETTINGS };
        let state = fit(task, &settings);
        let objective = objective(task, &settings, Clip::default()).unwrap();
        let (_, x) = best_laws(&objective, &state.x, &state.outputs);
        let (means, shapes) = (objective.means(&x), &x[objective.layout.shapes()]);
        let value = objective.value_on_all(&x, &state.outputs);
        let found = sampled(&state.outputs, &value.lengths, &codes, &means, 400_000);
        for (m, (mean, deviation)) in found.into_iter().enumerate() {
            let own = means[m] * objective.distribution.deviation(shapes[m]);
            assert!((means[m] / mean - 1.0).abs() < 0.05, "kernel {m}: mean {} for {mean}", means[m]);
            assert!((own / deviation - 1.0).abs() < 0.15, "kernel {m}: deviation {own} for {deviation}");
        }
    });
}

#[test]
fn kernel_of_zeros_ends_at_the_mean_of_its_prior() {
    let (points, codes) = circles();
    // A column of zeros, on which every cosine is 0.
    let points = Matrix::from_fn(100, 3, |i, j| if j < 2 { points.get(i, j) } else { 0.0 });
    for (shape, delta) in [(1.0, 1.0), (1.0, 4.0), (0.2, 1.0)] {
        with_task(&points, &codes, &["laplacian(1) on [0:2]", "linear on [2]"], |task| {
            let prior = Prior::Gamma { shape, rate: delta };
            let settings = Settings { prior, ..SETTINGS };
            let state = fit(task, &settings);
            let objective = objective(task, &settings, Clip::default()).unwrap();
            let useless = objective.means(&state.x)[1];
            assert!((useless - shape / delta).abs() < 1e-3 * shape / delta, "{shape} {delta}: {useless}");
        });
    }
}

#[test]
fn batches_of_an_epoch_add_up_to_the_whole_gradient() {
    let (points, codes) = circles();
    for landmarks in [0, 23] {
        with_task(&points, &codes, &["gaussian(0.5)", "laplacian(1)"], |task| {
            let objective = objective(task, &Settings { landmarks, ..SETTINGS }, Clip::default()).unwrap();
            let x = random_x(&objective);
            let samples = objective.layout.samples();
            let (_, expected) = whole(&objective, &x);
            let mut sum = vec![0.0; x.len()];
            let mut seen = vec![];
            for taken in 8..12 {
                let rows = objective.batch(task, 30, taken);
                let outputs =
                    objective.outputs(&x[samples.clone()], &objective.stack.between(&rows, &objective.points).unwrap());
                let at_points =
                    objective.outputs(&x[samples.clone()], &objective.stack.view(&objective.points).unwrap());
                let part = rows.len() as f64 / 100.0;
                let batch = RowBatch { rows: Some(&rows), factor: 1.0 / part };
                let value = objective.value(&x, batch, &outputs.unwrap(), &at_points.unwrap());
                let mut gradient = value.gradient;
                let back = objective.stack.between(&objective.points, &rows).unwrap();
                objective.add_output_gradients(&value.output_gradients.unwrap(), &back, &mut gradient).unwrap();
                f64::add_scaled(part, &gradient, &mut sum);
                seen.extend(rows);
            }
            seen.sort_unstable();
            assert_eq!(seen, (0..100).collect::<Vec<_>>());
            for (sum, expected) in sum.iter().zip(&expected) {
                assert!((sum - expected).abs() < 1e-9 * (1.0 + expected.abs()), "{sum} {expected}");
            }
        });
    }
}

#[test]
fn ascent_ends_near_the_optimum() {
    let (points, codes) = circles();
    with_task(&points, &codes, &TOYS, |task| {
        for (family, batch) in [(Family::Exponential, 0), (Family::Gamma, 25)] {
            let settings = Settings { family, nodes: 64, ..SETTINGS };
            let best = fit(task, &settings);
            let climbing = Settings { ascent: true, nodes: 4, iterations: 6000, batch, ..settings };
            let state = fit(task, &climbing);
            let objective = objective(task, &settings, Clip::default()).unwrap();
            let x = &state.moments[2 * state.x.len()..];
            let (loss, best) = (whole(&objective, x).0, *best.losses.last().unwrap());
            let begun = state.losses[0];
            // Steps in single sample weights are slow; a wrong sign or scale anywhere would end above the start.
            assert!(loss - best < 0.2 * (begun - best), "{family:?}: {loss}, best {best}, begun at {begun}");
        }
    });
}

/// Through the steps that are run: two plain steps on half the rows each, short enough to be taken from one place, go
/// twice as far as the whole gradient does.
#[test]
fn steps_on_batches_go_as_far_as_steps_on_all_rows() {
    let (points, codes) = circles();
    with_task(&points, &codes, &["gaussian(0.5)", "laplacian(1)"], |task| {
        let (family, prior) = (Family::Point, Prior::Ridge(0.3));
        let settings =
            Settings { family, prior, nodes: 1, ascent: true, plain: true, rate: 1e-6, batch: 50, ..SETTINGS };
        let mut state = begin(task, &settings).unwrap();
        let objective = objective(task, &settings, Clip::default()).unwrap();
        state.x = random_x(&objective);
        let (from, gradient) = (state.x.clone(), whole(&objective, &state.x).1);
        (0..2).for_each(|_| drop(step(task, &settings, &mut state, &Control::default()).unwrap()));
        let size = f64::dot(&gradient, &gradient).sqrt();
        for ((x, from), gradient) in state.x.iter().zip(&from).zip(&gradient) {
            let gone = (from - x) / 1e-6;
            assert!((gone - 2.0 * gradient).abs() < 1e-3 * size, "{gone} {gradient}");
        }
    });
}

/// Algorithm 1 draws a weight for each kernel on its own. Losses and slopes of drawn nodes have the means that they have
/// over all pairs of levels; with one draw shared by the kernels both would be off, as kernels then go up and down
/// together.
#[test]
fn nodes_of_the_ascent_are_drawn_for_each_kernel_on_its_own() {
    let points = random_points(8, 2);
    let codes: Vec<usize> = (0..8).map(|i| i % 2).collect();
    // Kernels of different traces.
    with_task(&points, &codes, &["gaussian(1)", "polynomial(2) raw"], |task| {
        let settings = Settings { family: Family::Exponential, ascent: true, ..SETTINGS };
        let mut objective = objective(task, &settings, Clip::default()).unwrap();
        let slopes = objective.layout.means();
        // Both kernels lift all rows, half of which belong below: the loss is even in the function, and its mean rises
        // with the variance of the sum of both weights.
        let mut x = vec![0.0; objective.layout.size()];
        x[objective.layout.samples()].fill(0.15);
        x[slopes.end - 1] = -1.5;
        let mut at = |places: Option<Vec<usize>>, taken: usize| {
            match places {
                Some(places) => objective.places = places,
                None => objective.draw_places(task, 64, taken),
            }
            let (loss, gradient) = whole(&objective, &x);
            let mut values = vec![loss];
            values.extend_from_slice(&gradient[slopes.clone()]);
            values
        };
        // Kernel by kernel, all pairs of levels and all levels shared.
        let all = 0..ASCENT_LEVELS * ASCENT_LEVELS;
        let exact = at(Some(all.clone().map(|k| k / ASCENT_LEVELS).chain(all.map(|k| k % ASCENT_LEVELS)).collect()), 0);
        let shared = at(Some((0..ASCENT_LEVELS).chain(0..ASCENT_LEVELS).collect()), 0);
        let drawn: Vec<Vec<f64>> = (0..400).map(|taken| at(None, taken)).collect();
        for k in 0..3 {
            let n = drawn.len() as f64;
            let mean = drawn.iter().map(|values| values[k]).sum::<f64>() / n;
            let variance = drawn.iter().map(|values| (values[k] - mean).powi(2)).sum::<f64>() / (n - 1.0);
            let error = (variance / n).sqrt();
            assert!((mean - exact[k]).abs() < 4.0 * error, "{k}: {mean} +- {error} against {}", exact[k]);
            let told = (shared[k] - exact[k]).abs() / error;
            assert!(k > 0 || told > 8.0, "{k}: a shared draw would be off by {told} errors only");
        }
    });
}

#[test]
fn plain_steps_are_the_gradient_and_leave_no_range_without_a_word() {
    let (points, codes) = circles();
    with_task(&points, &codes, &TOYS, |task| {
        let settings = Settings {
            family: Family::Exponential,
            ascent: true,
            plain: true,
            nodes: 1,
            rate: 1e-3,
            intercept: false,
            iterations: 3,
            ..SETTINGS
        };
        let mut state = begin(task, &settings).unwrap();
        for taken in 0..3 {
            let mut objective = objective(task, &settings, Clip::default()).unwrap();
            objective.draw_places(task, 1, taken);
            let expected: Vec<f64> =
                state.x.iter().zip(whole(&objective, &state.x).1).map(|(x, g)| x - 1e-3 * g).collect();
            step(task, &settings, &mut state, &Control::default()).unwrap();
            let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12 * (1.0 + b.abs());
            assert!(state.x.iter().zip(&expected).all(near), "step {taken}");
        }
        // No iterates are averaged.
        assert!(state.moments.is_empty());
        assert!(finish(task, &settings, state.clone()).is_ok());
        // Sample weights out of range, as after steps that were too long.
        state.x.fill(1e300);
        let message = step(task, &settings, &mut state, &Control::default()).unwrap_err().to_string();
        assert!(message.starts_with("parameter rate: the ascent left the range of numbers in step 4"), "{message}");
    });
}

fn toys(points: &Matrix, codes: &[usize]) -> Dataset {
    Dataset::new("toys", Samples::unnamed(points.clone()).unwrap(), labels(codes)).unwrap()
}

fn plan(method: &str, kernels: &str, sets: &[(&str, &str)]) -> Plan {
    let plan = Plan::new(method).unwrap().kernels(kernels).unwrap().scale(Scale::None);
    sets.iter().fold(plan, |plan, (name, value)| plan.set(name, value).unwrap())
}

#[test]
fn indefinite_kernel_is_refused_or_clipped() {
    let (points, codes) = circles();
    let data = toys(&points, &codes);
    let bank = "gaussian(1), sigmoid(2) raw";
    let message = plan("svimkl", bank, &[]).train(&data).unwrap_err().to_string();
    assert_eq!(
        message,
        "parameter indefinite: kernel 2 (sigmoid(2) raw) has negative eigenvalues on the training rows, and the bound then grows \
         without end; leave it out, or set indefinite=clip to take the negative part away"
    );
    let model = plan("svimkl", bank, &[("indefinite", "clip")]).train(&data).unwrap();
    let told = model.training().facts();
    assert!(
        told.iter().any(|(name, text)| name == "kernel 2" && text.contains("negative eigenvalues down to -")),
        "{told:?}"
    );
    // Half of the eigenvalues of the hyperbolic tangent are negative; the model predicts its own rows all the same.
    let scores = model.predict(&data.samples).unwrap();
    let right = scores.labels.iter().zip(&codes).filter(|(found, code)| found == code).count();
    assert!(right >= 95, "{right}");
}

/// On training rows, a clipped kernel is the same as a given Gram matrix with its negative eigenvalues removed.
#[test]
fn clipped_kernel_is_that_of_its_positive_part() {
    let (points, codes) = circles();
    with_task(&points, &codes, &["gaussian(1)", "sigmoid(2) raw"], |task| {
        let clip = Clip::new(task, true, &|| false).unwrap();
        let own = task.stack().unwrap().pick(&[1]).unwrap();
        let gram = own.combine(&Matrix::from_vec(1, 1, vec![1.0]).unwrap(), task.pool).unwrap().remove(0);
        let mut positive = gram.clone();
        clip.mend(&[0.0, 1.0], &mut positive);
        let eigen = crate::solve::eigen::jacobi(positive.clone());
        assert!(eigen.values.iter().all(|&value| value > -1e-9), "{:?}", eigen.values.last());
        let vector: Vec<f64> = (0..100).map(|i| (i as f64).sin()).collect();
        // K+ v is K times what is left of v, and what is left of K v.
        let expected = positive.times(&vector);
        let mut outputs: Vec<f64> = gram.times(&vector).iter().flat_map(|&value| [0.0, value]).collect();
        clip.project(&mut outputs, 100, 2);
        let other = gram.times(&clip.samples(0, &vector));
        for i in 0..100 {
            assert!((expected[i] - outputs[2 * i + 1]).abs() < 1e-9, "{i}");
            assert!((expected[i] - other[i]).abs() < 1e-9, "{i}");
        }
    });
}

#[test]
fn odd_data_train_and_predict() {
    let (points, _) = circles();
    let bands: Vec<usize> = (0..100).map(|i| i % 5).collect();
    let many = toys(&points, &bands);
    for method in ["svimkl", "mklr"] {
        let plan = plan(method, "gaussian(1), linear", &[]);
        // Fewer rows than classes; two of five classes.
        for rows in [vec![0, 1, 2], vec![0, 1], vec![0, 5, 3, 8]] {
            let some = many.samples.select_rows(&rows);
            let model = plan.train(&many.select(&rows)).unwrap();
            let (found, known) = (model.predict(&some).unwrap(), rows.iter().map(|&i| bands[i]).collect::<Vec<_>>());
            let probabilities = model.probabilities(&some).unwrap();
            for ((row, label), class) in probabilities.rows().zip(&found.labels).zip(&known) {
                assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12 && known.contains(label), "{method} {rows:?}");
                assert!((0..5).all(|class| known.contains(&class) || row[class] == 0.0), "{method}: {row:?}");
                // If every row has its own class, nothing contradicts it.
                assert!(rows.len() > 3 || label == class, "{method} {rows:?}");
            }
        }
        // Separable: two points far apart, many times.
        let far = Matrix::from_fn(40, 1, |i, _| if i % 2 == 0 { -50.0 } else { 50.0 });
        let sides: Vec<usize> = (0..40).map(|i| i % 2).collect();
        let data = toys(&far, &sides);
        let model = plan.train(&data).unwrap();
        assert_eq!(model.training().warnings(), Vec::<String>::new());
        assert_eq!(model.predict(&data.samples).unwrap().labels, sides);
    }
}

/// Plans reject rows of one class; inner folds may still have them.
#[test]
fn one_class_is_predicted_with_the_rule_of_succession() {
    let (points, _) = circles();
    for (n_classes, only) in [(2, 0), (2, 1), (5, 3)] {
        let all: Vec<usize> = (0..100).map(|i| i % n_classes).collect();
        let rows: Vec<usize> = (0..100).filter(|&i| all[i] == only).collect();
        let some = toys(&points, &all).select(&rows);
        let pool = Pool::new(1).unwrap();
        let kernels = ["gaussian(1)".parse().unwrap()];
        let stack = Stack::train(some.samples.features(), &kernels, &StackOptions::new(&pool)).unwrap();
        let input = Input::Stack(&stack);
        let task = Task {
            input,
            labels: &some.labels,
            target: &Target::Classes,
            groups: None,
            views: &[],
            alternatives: &[],
            seed: 1,
            pool: &pool,
        };
        let mut state = begin(&task, &SETTINGS).unwrap();
        step(&task, &SETTINGS, &mut state, &Control::default()).unwrap();
        let model = finish(&task, &SETTINGS, state).unwrap();
        let cross = stack.between(&[0, 1], model.points()).unwrap();
        let found = model.probabilistic().unwrap().probabilities(Input::Stack(&cross), &pool).unwrap();
        let n = rows.len() as f64;
        let expected = if n_classes == 2 { (n + 1.0) / (n + 2.0) } else { 1.0 };
        assert!(found.rows().all(|row| (row[only] - expected).abs() < 1e-9), "{n_classes} {only}: {:?}", found.row(0));
    }
}

#[test]
fn lambda_is_chosen_by_log_loss() {
    let (points, codes) = circles();
    // Flipped labels, so that functions that follow every row are penalised.
    let codes: Vec<usize> =
        codes.iter().enumerate().map(|(i, &code)| if i % 6 == 0 { 1 - code } else { code }).collect();
    let data = toys(&points, &codes);
    let model = plan("mklr", "gaussian(0.2)", &[("lambda", "auto"), ("weights", "uniform")]).train(&data).unwrap();
    let line =
        model.training().facts().into_iter().find(|(_, text)| text.contains("held-out log-loss of lambda = 100 "));
    let (_, line) = line.unwrap();
    let figures: Vec<f64> =
        line.split("; ").skip(1).map(|part| part.rsplit(' ').next().unwrap().parse().unwrap()).collect();
    assert_eq!(figures.len(), 7, "{line}");
    let best = (0..7).min_by(|&a, &b| figures[a].total_cmp(&figures[b])).unwrap();
    assert_eq!(
        model.training().params()["lambda"],
        ["100", "10", "1", "0.1", "0.01", "0.001", "0.0001"][best],
        "{line}"
    );
    assert!(figures[6] > figures[best] + 0.1, "{line}");
}

/// Two relevant columns and ten irrelevant ones: a prior of small shape takes weight from the ten, the published one
/// does not.
#[test]
fn small_shape_selects_kernels() {
    let points = random_points(150, 12);
    let codes: Vec<usize> =
        (0..150).map(|i| usize::from(points.get(i, 0).sin() + 0.6 * points.get(i, 1) > 0.1)).collect();
    let kernels: Vec<String> = (0..12).map(|j| format!("gaussian(1) on [{j}]")).collect();
    let kernels: Vec<&str> = kernels.iter().map(String::as_str).collect();
    let share = |shape: f64| {
        with_task(&points, &codes, &kernels, |task| {
            let prior = Prior::Gamma { shape, rate: 1.0 };
            let settings = Settings { prior, nodes: 32, tol: 1e-8, iterations: 2000, ..SETTINGS };
            let state = fit(task, &settings);
            let means = objective(task, &settings, Clip::default()).unwrap().means(&state.x);
            means[..2].iter().sum::<f64>() / means.iter().sum::<f64>()
        })
    };
    let (published, selecting) = (share(1.0), share(0.1));
    assert!(published < 0.6 && selecting > 0.85, "{published} {selecting}");
}

#[test]
fn intervals_are_quantiles_and_say_what_they_hold_under() {
    let data = bundled("sonar").unwrap().select(&(0..208).step_by(3).collect::<Vec<_>>());
    let model = Plan::new("svimkl").unwrap().set("q", "exponential").unwrap().train(&data).unwrap();
    let (intervals, weights) = (model.kernels().intervals().unwrap(), model.kernels().weights().unwrap());
    for ((low, high), weight) in intervals.bounds.iter().zip(weights) {
        // The exponential distribution always spans the same factor.
        assert!((high / low - 0.025f64.ln() / 0.975f64.ln()).abs() < 1e-6 && low < weight && weight < high);
    }
    assert!((intervals.prior.1 + 0.025f64.ln()).abs() < 1e-9, "{:?}", intervals.prior);
    assert!(intervals.note.starts_with("Intervals hold given the sample weights"), "{}", intervals.note);
    assert!(Plan::new("mklr").unwrap().train(&data).unwrap().kernels().intervals().is_none());
}
