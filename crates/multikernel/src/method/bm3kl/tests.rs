//! Checks the sampler against brute force, against an independent reference, and against itself (Geweke 2004).

mod logit;
mod numbers;

use std::slice;

use super::chain::{Draw, DualAverage, Latent};
use super::density::{Place, Point, Problem};
use super::distinct::Distinct;
use super::hmc;
use super::margins::Margins;
use super::numbers::Noise;
use super::settings::{FunctionPrior, Likelihood, Settings, WeightSampler};
use super::split::NormalPrior;
use super::sweep::{SweepPhase, sweep};
use crate::data::{Dataset, Labels, Samples};
use crate::dist::{Rng, gamma, ln_gamma, normal};
use crate::linalg::{Matrix, dot};
use crate::plan::{Model, Plan, Session};
use crate::pool::Pool;
use crate::run::Silent;
use crate::solve::cholesky::Cholesky;
use crate::stack::{Stack, StackOptions};

/// A model trained on one thread: handing over work on so few rows takes longer than the work.
fn alone(plan: Plan, data: &Dataset) -> Model {
    plan.train_in(data, &mut Session::new(&Pool::new(1).unwrap(), &mut Silent)).unwrap()
}

/// Jitter on the diagonal of a combined kernel in `f64`.
const JITTER: f64 = 1e-6;
const KERNELS: [&str; 3] = ["gaussian(0.5)", "gaussian(1.5)", "polynomial(2)"];
/// The rows of the reference problems.
const ROWS: [[f64; 2]; 12] = [
    [0.346, 0.822],
    [0.33, -1.303],
    [0.905, 0.446],
    [-0.537, 0.581],
    [0.365, 0.294],
    [0.028, 0.547],
    [-0.736, -0.163],
    [-0.482, 0.599],
    [0.04, -0.292],
    [-0.782, -0.257],
    [0.008, -0.276],
    [1.294, 1.007],
];

pub(super) fn settings(prior: FunctionPrior, sampler: WeightSampler) -> Settings {
    Settings {
        prior,
        sampler,
        likelihood: Likelihood::Margin,
        noise: None,
        n_factors: 0,
        learned: true,
        chains: 1,
        warmup: 100,
        draws: 100,
        leapfrog: 0,
        gamma0: 2.0,
        tau: 0.5,
        eta: 1.0,
        beta: 6.0,
        kappa: 1.0,
        epsilon: 0.05,
        decay: false,
    }
}

/// Builds a problem with this many rows and functions.
type Make = fn(usize, usize, Settings) -> World;

/// A problem whose margin can be set.
pub(super) struct World {
    rows: Vec<[f64; 2]>,
    stack: Stack,
    /// Kernels between points.
    between: Stack,
    pool: Pool,
    pub(super) settings: Settings,
    pub(super) sign: Matrix,
    margin: Matrix,
    pub(super) scale: f64,
    distinct: Distinct,
    there: bool,
}

impl World {
    pub(super) fn new(rows: &[[f64; 2]], kernels: &[&str], sign: Matrix, settings: Settings) -> World {
        let pool = Pool::new(1).unwrap();
        let points = Matrix::from_vec(rows.len(), 2, rows.as_flattened().to_vec()).unwrap();
        let kernels: Vec<_> = kernels.iter().map(|text| text.parse().unwrap()).collect();
        let stack = Stack::train(&points, &kernels, &StackOptions::new(&pool)).unwrap();
        let even = Matrix::from_fn(kernels.len(), 1, |_, _| 0.3);
        let distinct = match settings.prior {
            FunctionPrior::Gp => Distinct::of(&stack.combine(&even, &pool).unwrap()[0]),
            FunctionPrior::Paper => Distinct::each(rows.len()),
        };
        let between = stack.view(distinct.first()).unwrap().compact(&pool).unwrap();
        let rows = rows.to_vec();
        World { rows, stack, between, pool, settings, margin: sign.clone(), sign, scale: 1.0, distinct, there: false }
    }

    /// Rows 3 and 4 equal row 1, row 5 equals row 0.
    fn repeated(n: usize, n_functions: usize, settings: Settings) -> World {
        let mut rows = ROWS[..n].to_vec();
        [(3, 1), (4, 1), (5, 0)].into_iter().for_each(|(to, from)| rows[to] = rows[from]);
        let small = World::small(n, n_functions, settings);
        let world = World::new(&rows, &KERNELS, small.sign, small.settings);
        assert_eq!(world.distinct.n(), if world.settings.prior == FunctionPrior::Gp { n - 3 } else { n });
        world
    }

    pub(super) fn small(n: usize, n_functions: usize, settings: Settings) -> World {
        let sign = Matrix::from_fn(n_functions, n, |c, i| if (i * (c + 2) / 2) % 2 == 0 { 1.0 } else { -1.0 });
        World::new(&ROWS[..n], &KERNELS, sign, settings)
    }

    pub(super) fn problem(&self) -> Problem<'_> {
        Problem {
            stack: &self.between,
            pool: &self.pool,
            settings: &self.settings,
            sign: self.sign.clone(),
            margin: self.margin.clone(),
            variance: 1.0,
            scale: self.scale,
            distinct: &self.distinct,
            fixed: None,
            there: self.there,
            stop: &|| false,
        }
    }

    pub(super) fn begin(&self, rng: &mut Rng) -> Latent {
        Latent::begin(&self.settings, rng, self.stack.n_kernels(), self.sign.n_rows(), self.sign.n_cols())
    }

    /// A chain with scales and variances that are all different.
    pub(super) fn odd(&self, rng: &mut Rng) -> Latent {
        let mut latent = self.begin(rng);
        latent.lambda.data_mut().iter_mut().for_each(|lambda| *lambda = gamma(rng, 2.0, 0.3));
        latent.nu.data_mut().iter_mut().for_each(|nu| *nu = gamma(rng, 2.0, 0.5));
        latent
    }

    /// `scale H` at some weights, by brute force.
    pub(super) fn kernel(&self, weights: &[f64]) -> Matrix {
        let all: Vec<usize> = (0..self.stack.n_rows()).collect();
        let kernels: Vec<Matrix> = (0..weights.len()).map(|m| self.stack.block(m, &all, &all).unwrap()).collect();
        let entry = |i: usize, j: usize| weights.iter().zip(&kernels).map(|(w, k)| w * k.get(i, j)).sum::<f64>();
        Matrix::from_fn(all.len(), all.len(), |i, j| self.scale * entry(i, j))
    }

    /// `S` of one function, by brute force.
    fn covariance(&self, latent: &Latent, weights: &[f64], log_nu: &[f64], c: usize) -> Matrix {
        let h = self.kernel(weights);
        let n = h.n_rows();
        let lambda = self.problem().observed(latent, log_nu, c).lambda;
        let noise = |i: usize, j: usize| if i == j { lambda[i] } else { 0.0 };
        Matrix::from_fn(n, n, |i, j| {
            let signal = match self.settings.prior {
                // The jitter belongs to the function, which is equal at equal rows.
                FunctionPrior::Gp => log_nu[0].exp() * (h.get(i, j) + if h.row(i) == h.row(j) { JITTER } else { 0.0 }),
                FunctionPrior::Paper => (0..n).map(|k| h.get(i, k) * latent.nu.get(c, k) * h.get(k, j)).sum(),
            };
            signal + self.settings.tau + noise(i, j)
        })
    }
}

fn inverse(matrix: &Matrix) -> Matrix {
    let pool = Pool::new(1).unwrap();
    Cholesky::new(matrix.clone(), &pool, &|| false).unwrap().inverse(&pool, &|| false).unwrap()
}

fn times(matrix: &Matrix, vector: &[f64]) -> Vec<f64> {
    matrix.rows().map(|row| dot(row, vector)).collect()
}

/// The log density targeted by the Hamiltonian moves, at `log e` and `log nu`.
fn log_density(world: &World, latent: &Latent, x: &[f64], log_nu: &[f64]) -> f64 {
    let problem = world.problem();
    let weights = super::chain::weights_of(x);
    let place = Place { weights: &weights, log_nu, latent };
    let point = problem.evaluate(&[place], false).unwrap().remove(0).unwrap();
    point.likelihood + hmc::log_prior(&problem, x, log_nu)
}

/// z of a `log e`, by bisection.
fn normal_of(prior: NormalPrior, x: f64) -> f64 {
    let (mut low, mut high) = (-36.0, 36.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if prior.at(middle).x < x { low = middle } else { high = middle }
    }
    low
}

#[test]
fn normal_prior_is_that_of_the_kernel_weights() {
    let step = 1e-5;
    for eta in [0.3, 0.8, 1.0, 2.5, 40.0] {
        let prior = NormalPrior::new(eta);
        // The density of z is that of log e times the slope: their ratio is the same everywhere.
        let constant = |z: f64| {
            let at = prior.at(z);
            at.excess - 0.5 * z * z - (eta * at.x - at.x.exp() + at.slope.ln())
        };
        for k in -50..=50 {
            let z = 0.1 * f64::from(k);
            let (at, below, above) = (prior.at(z), prior.at(z - step), prior.at(z + step));
            let size = 1.0 + at.excess.abs();
            assert!((constant(z) - constant(0.0)).abs() < 1e-12 * size, "{eta} {z}: {}", constant(z));
            let slope = (above.x - below.x) / (2.0 * step);
            assert!((at.slope / slope - 1.0).abs() < 1e-7, "{eta} {z}: {} {slope}", at.slope);
            let by_excess = (above.excess - below.excess) / (2.0 * step);
            let size = 1.0 + above.by_excess.abs().max(below.by_excess.abs());
            assert!((at.by_excess - by_excess).abs() < 1e-6 * size, "{eta} {z}: {} {by_excess}", at.by_excess);
            if eta == 1.0 {
                assert_eq!((at.excess, at.by_excess), (0.0, 0.0));
            }
        }
        // What a quarter of the draws of e are below, from the distribution function.
        if eta == 1.0 {
            let e = prior.at(-0.674_489_750_196_081_7).x.exp();
            assert!((e + f64::ln(0.75)).abs() < 1e-14, "{e}");
        }
    }
}

#[test]
fn slopes_of_split_moves_are_differences() {
    for (prior, eta) in [(FunctionPrior::Gp, 1.0), (FunctionPrior::Gp, 0.7), (FunctionPrior::Paper, 2.5)] {
        let mut world = World::small(9, 3, settings(prior, WeightSampler::Split));
        world.settings.eta = eta;
        let latent = world.odd(&mut Rng::new(1, 0));
        let problem = world.problem();
        let q = hmc::pack(&problem, &latent);
        let found = hmc::evaluate(&problem, slice::from_ref(&latent), vec![q.clone()]).unwrap().remove(0);
        for k in 0..q.len() {
            // The normal part of the density is not in the slope.
            let at = |shift: f64| {
                let mut q = q.clone();
                q[k] += shift;
                let square = if k < 3 { q[k] * q[k] } else { 0.0 };
                let state = hmc::evaluate(&problem, slice::from_ref(&latent), vec![q]).unwrap().remove(0);
                state.log_density + 0.5 * square
            };
            let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
            let error = (found.gradient[k] - difference).abs() / (1.0 + difference.abs());
            assert!(error < 1e-6, "{prior:?} {eta} {k}: {} against {difference}", found.gradient[k]);
        }
        // The density is that of log e times the slopes.
        let moved = Latent { x: vec![0.3, -1.1, 0.4], ..latent.clone() };
        let density = |latent: &Latent| {
            let map = NormalPrior::new(eta);
            let z: Vec<f64> = latent.x.iter().map(|&x| normal_of(map, x)).collect();
            let latent = Latent { ellipse: z.clone(), ..latent.clone() };
            let q = hmc::pack(&problem, &latent);
            let state = hmc::evaluate(&problem, slice::from_ref(&latent), vec![q]).unwrap().remove(0);
            let slopes: f64 = z.iter().map(|&z| map.at(z).slope.ln()).sum();
            state.log_density - slopes - log_density(&world, &latent, &latent.x, &latent.log_nu)
        };
        assert!((density(&moved) - density(&latent)).abs() < 1e-10, "{} {}", density(&moved), density(&latent));
    }
}

#[test]
fn split_steps_go_back_and_their_error_is_of_second_order() {
    let world = World::small(9, 2, settings(FunctionPrior::Gp, WeightSampler::Split));
    let latents = [world.odd(&mut Rng::new(4, 0))];
    let problem = world.problem();
    let begun = vec![vec![0.7, -0.4, 1.1, 0.2]];
    let starts = hmc::evaluate(&problem, &latents, vec![hmc::pack(&problem, &latents[0])]).unwrap();
    let energy = |state: &hmc::HmcState, p: &[f64]| 0.5 * dot(p, p) - state.log_density;
    let error = |n_leaps: usize| {
        let sizes = [0.6 / n_leaps as f64];
        let (ends, momenta) = hmc::leap(&problem, &latents, &starts, &begun, &sizes, n_leaps).unwrap();
        // With the momentum reversed it comes back.
        let reversed = vec![momenta[0].iter().map(|p| -p).collect::<Vec<f64>>()];
        let (back, momenta_back) = hmc::leap(&problem, &latents, &ends, &reversed, &sizes, n_leaps).unwrap();
        let apart = back[0].q.iter().zip(&starts[0].q).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(apart < 1e-10, "{n_leaps}: {apart}");
        assert!(momenta_back[0].iter().zip(&begun[0]).all(|(a, b)| (a + b).abs() < 1e-10));
        energy(&ends[0], &momenta[0]) - energy(&starts[0], &begun[0])
    };
    let [coarse, fine] = [error(20), error(40)];
    assert!(coarse.abs() > 1e-7 && (coarse / fine - 4.0).abs() < 0.2, "{coarse} {fine}");
    // Without a likelihood there is no error, however long the step.
    let (mut z, mut p) = (vec![0.3, -1.2], vec![0.9, 0.4]);
    let energy = |z: &[f64], p: &[f64]| dot(z, z) + dot(p, p);
    let before = energy(&z, &p);
    super::split::turn(&mut z, &mut p, 1.3);
    assert!((energy(&z, &p) - before).abs() < 1e-14);
    assert!((z[0] - (0.3 * 1.3f64.cos() + 0.9 * 1.3f64.sin())).abs() < 1e-14, "{z:?}");
}

#[test]
fn likelihood_is_that_of_a_normal_law_and_slopes_are_differences() {
    let (small, repeated): (Make, Make) = (World::small, World::repeated);
    let (tube, normal) = (Some(Noise::Tube(0.5)), Some(Noise::Normal));
    for (make, prior, likelihood, noise) in [
        (small, FunctionPrior::Gp, Likelihood::Margin, None),
        (small, FunctionPrior::Paper, Likelihood::Margin, None),
        (repeated, FunctionPrior::Gp, Likelihood::Margin, None),
        (repeated, FunctionPrior::Paper, Likelihood::Margin, None),
        (small, FunctionPrior::Gp, Likelihood::Logit, None),
        (repeated, FunctionPrior::Gp, Likelihood::Logit, None),
        (small, FunctionPrior::Gp, Likelihood::Margin, tube),
        (repeated, FunctionPrior::Gp, Likelihood::Margin, tube),
        (small, FunctionPrior::Gp, Likelihood::Normal, normal),
        (repeated, FunctionPrior::Gp, Likelihood::Normal, normal),
    ] {
        let mut world = make(9, 3, Settings { likelihood, noise, ..settings(prior, WeightSampler::Collapsed) });
        if noise.is_some() {
            let mut rng = Rng::new(6, 0);
            world.margin = Matrix::from_fn(3, 9, |_, _| gamma(&mut rng, 2.0, 1.0) - 1.0);
        }
        world.scale = 1.7;
        world.settings.eta = 0.8;
        let latent = world.odd(&mut Rng::new(1, 0));
        let (weights, problem) = (latent.weights(), world.problem());
        let place = Place { weights: &weights, log_nu: &latent.log_nu, latent: &latent };
        let point = problem.evaluate(&[place], true).unwrap().remove(0).unwrap();
        let by_hand: f64 = (0..3)
            .map(|c| {
                let s = world.covariance(&latent, &weights, &latent.log_nu, c);
                let t = problem.observed(&latent, &latent.log_nu, c).t;
                let factor = Cholesky::new(s.clone(), &world.pool, &|| false).unwrap();
                -0.5 * (dot(&t, &times(&inverse(&s), &t)) + factor.log_determinant())
            })
            .sum();
        assert!((point.likelihood - by_hand).abs() < 1e-9 * by_hand.abs(), "{} {by_hand}", point.likelihood);
        let gradient =
            hmc::gradient(&problem, &hmc::unpack(&problem, &latent, &hmc::pack(&problem, &latent)), &weights, &point);
        let unit = 1e-5;
        for k in 0..latent.x.len() + latent.log_nu.len() {
            let at = |shift: f64| {
                let (mut x, mut log_nu) = (latent.x.clone(), latent.log_nu.clone());
                // The gradient in log nu is in units of 0.25.
                if k < x.len() {
                    x[k] += shift
                } else {
                    log_nu[k - x.len()] += 0.25 * shift
                }
                log_density(&world, &latent, &x, &log_nu)
            };
            let difference = (at(unit) - at(-unit)) / (2.0 * unit);
            let error = (gradient[k] - difference).abs() / (1.0 + difference.abs());
            assert!(error < 1e-6, "{prior:?} {k}: {} against {difference}", gradient[k]);
        }
    }
}

#[test]
fn a_place_without_a_factor_leaves_the_others_as_they_are() {
    // As many rows as are worked on in step, and more threads than matrices.
    let mut rng = Rng::new(11, 0);
    let rows: Vec<[f64; 2]> = (0..140).map(|_| [normal(&mut rng), normal(&mut rng)]).collect();
    let sign = Matrix::from_fn(1, 140, |_, i| if rows[i][0] > 0.0 { 1.0 } else { -1.0 });
    let mut world = World::new(&rows, &KERNELS, sign, settings(FunctionPrior::Gp, WeightSampler::Collapsed));
    let mut latents: Vec<Latent> = (0..3).map(|_| world.odd(&mut rng)).collect();
    latents[1].lambda.data_mut().fill(-10.0);
    let weights: Vec<Vec<f64>> = latents.iter().map(Latent::weights).collect();
    let places = || {
        let place = |k: usize| Place { weights: &weights[k], log_nu: &latents[k].log_nu, latent: &latents[k] };
        (0..latents.len()).map(place).collect::<Vec<_>>()
    };
    let alone: Vec<Option<Point>> =
        places().into_iter().map(|place| world.problem().evaluate(&[place], true).unwrap().remove(0)).collect();
    world.pool = Pool::new(5).unwrap();
    let together = world.problem().evaluate(&places(), true).unwrap();
    assert!(alone[1].is_none() && together[1].is_none());
    for k in [0, 2] {
        let (alone, together) = (alone[k].as_ref().unwrap(), together[k].as_ref().unwrap());
        assert_eq!(alone.likelihood.to_bits(), together.likelihood.to_bits());
        assert_eq!((&alone.by_weight, &alone.by_log_nu), (&together.by_weight, &together.by_log_nu));
        assert_eq!(alone.parts[0].solved, together.parts[0].solved);
    }
}

/// Draws of the functions with everything else fixed, each from the same start.
pub(super) fn functions_drawn(world: &World, latent: &Latent, n_draws: usize) -> (Vec<Vec<f64>>, Draw) {
    let problem = world.problem();
    let weights = latent.weights();
    let place = Place { weights: &weights, log_nu: &latent.log_nu, latent };
    let point = (problem.evaluate(&[place], false).unwrap().remove(0).unwrap(), 1.0);
    let mut rng = Rng::new(5, 0);
    let mut draw = None;
    let draws = (0..n_draws).map(|_| {
        let next = super::gibbs::update(&problem, &mut latent.clone(), &point, &mut rng, true, &world.pool).unwrap();
        let functions = next.functions.row(0).to_vec();
        draw = Some(next);
        functions
    });
    (draws.collect(), draw.unwrap())
}

#[test]
fn functions_are_drawn_from_their_normal_law() {
    let (small, repeated): (Make, Make) = (World::small, World::repeated);
    for (make, prior, noise) in [
        (small, FunctionPrior::Gp, None),
        (small, FunctionPrior::Paper, None),
        (repeated, FunctionPrior::Gp, None),
        (small, FunctionPrior::Gp, Some(Noise::Tube(0.7))),
        (repeated, FunctionPrior::Gp, Some(Noise::Normal)),
    ] {
        // Scales so large that rows leave the functions to their prior, including the bias.
        let n_factors = usize::from(noise.is_some());
        let world = make(6, 1, Settings { tau: 5.0, noise, n_factors, ..settings(prior, WeightSampler::Collapsed) });
        let mut latent = world.odd(&mut Rng::new(2, 0));
        latent.lambda.data_mut().iter_mut().for_each(|lambda| *lambda *= 20.0);
        let n_draws = 40_000;
        let (draws, _) = functions_drawn(&world, &latent, n_draws);
        let s = world.covariance(&latent, &latent.weights(), &latent.log_nu, 0);
        let solved = inverse(&s);
        let observed = world.problem().observed(&latent, &latent.log_nu, 0);
        let (n, t, lambda) = (6, observed.t, observed.lambda);
        let al = times(&solved, &t);
        // f has mean t - Lambda al and covariance Lambda - Lambda S^-1 Lambda.
        let mean: Vec<f64> = (0..n).map(|i| t[i] - lambda[i] * al[i]).collect();
        let covariance = |i: usize, j: usize| {
            if i == j {
                lambda[i] - lambda[i] * solved.get(i, i) * lambda[i]
            } else {
                -lambda[i] * solved.get(i, j) * lambda[j]
            }
        };
        let found: Vec<f64> = (0..n).map(|i| draws.iter().map(|f| f[i]).sum::<f64>() / n_draws as f64).collect();
        for i in 0..n {
            let z = (found[i] - mean[i]) / (covariance(i, i) / n_draws as f64).sqrt();
            assert!(z.abs() < 4.0, "{prior:?} mean {i}: {z}");
            for j in 0..=i {
                let both = draws.iter().map(|f| (f[i] - mean[i]) * (f[j] - mean[j])).sum::<f64>() / n_draws as f64;
                let size = (covariance(i, i) * covariance(j, j)).sqrt();
                assert!(
                    (both - covariance(i, j)).abs() < 0.03 * size,
                    "{prior:?} {i} {j}: {both} {}",
                    covariance(i, j)
                );
            }
        }
    }
}

#[test]
fn coefficients_are_the_function_and_left_out_rows_are_left_out() {
    let (small, repeated): (Make, Make) = (World::small, World::repeated);
    for (make, prior) in [(small, FunctionPrior::Gp), (small, FunctionPrior::Paper), (repeated, FunctionPrior::Gp)] {
        let mut world = make(8, 1, settings(prior, WeightSampler::Collapsed));
        world.scale = 0.6;
        let latent = world.odd(&mut Rng::new(3, 0));
        let (_, draw) = functions_drawn(&world, &latent, 1);
        let h = world.kernel(&latent.weights());
        let s = world.covariance(&latent, &latent.weights(), &latent.log_nu, 0);
        let t = world.problem().observed(&latent, &latent.log_nu, 0).t;
        let al = times(&inverse(&s), &t);
        for i in 0..8 {
            // The coefficients are those of unscaled kernels.
            let value = dot(h.row(i), draw.coef.row(0)) / world.scale + draw.bias[0];
            let expected = match prior {
                // The mean, without the jitter, which does not extend to new rows.
                FunctionPrior::Gp => {
                    let point: f64 = (0..8).filter(|&j| h.row(i) == h.row(j)).map(|j| al[j]).sum();
                    t[i] - latent.lambda.get(0, i) * al[i] - latent.log_nu[0].exp() * JITTER * point
                }
                FunctionPrior::Paper => draw.functions.get(0, i),
            };
            assert!((value - expected).abs() < 1e-10, "{prior:?} {i}: {value} {expected}");
            // The mean of row i from all the others.
            let others: Vec<usize> = (0..8).filter(|&j| j != i).collect();
            let part = Matrix::from_fn(7, 7, |a, b| s.get(others[a], others[b]));
            let solved = times(&inverse(&part), &others.iter().map(|&j| t[j]).collect::<Vec<_>>());
            let left_out: f64 = others.iter().zip(&solved).map(|(&j, q)| s.get(i, j) * q).sum();
            assert!((draw.held_out[i] - left_out).abs() < 1e-10, "{prior:?} {i}: {} {left_out}", draw.held_out[i]);
        }
    }
}

#[test]
fn expected_loss_is_an_integral() {
    let distribution = |zeta: f64, mean: f64, variance: f64| {
        (-(zeta - mean).powi(2) / (2.0 * variance)).exp() / (std::f64::consts::TAU * variance).sqrt()
    };
    for (mean, variance, s) in [(0.3, 0.5, 3f64.sqrt()), (-2.0, 0.1, 201f64.sqrt()), (1.5, 4.0, 1.0)] {
        let step = 1e-5;
        // The midpoint rule, whose cells meet at the kink.
        let sum: f64 = (-1_200_000..1_200_000)
            .map(|k| {
                let zeta = (f64::from(k) + 0.5) * step;
                step * distribution(zeta, mean, variance) * (-zeta - s * zeta.abs()).exp()
            })
            .sum();
        let found = super::gibbs::ln_expected_loss(mean, variance, s);
        assert!((found - sum.ln()).abs() < 1e-8, "{mean} {variance} {s}: {found} {}", sum.ln());
    }
}

/// Everything drawn from the prior: the weights, log nu, functions, scales, and the margin as data.
struct Prior0 {
    weights: Vec<f64>,
    log_nu: Vec<f64>,
    functions: Matrix,
    lambda: Matrix,
    /// The mean log variance of the sample weights.
    log_variance: Option<f64>,
}

fn log_variance(latent: &Latent) -> Option<f64> {
    let nu = latent.nu.data();
    (!nu.is_empty()).then(|| nu.iter().map(|nu| nu.ln()).sum::<f64>() / nu.len() as f64)
}

fn from_prior(world: &World, rng: &mut Rng) -> (Prior0, Latent) {
    let (settings, n, n_functions) = (&world.settings, world.sign.n_cols(), world.sign.n_rows());
    let mut latent = world.begin(rng);
    latent.x = (0..latent.x.len()).map(|_| ln_gamma(rng, settings.eta)).collect();
    latent.log_nu.iter_mut().for_each(|nu| *nu = 3.0 * normal(rng));
    if settings.sampler == WeightSampler::Split {
        let prior = NormalPrior::new(settings.eta);
        latent.ellipse = latent.x.iter().map(|&x| normal_of(prior, x)).collect();
    } else if !latent.ellipse.is_empty() {
        latent.ellipse.iter_mut().for_each(|z| *z = normal(rng));
        let (squares, rest) = latent.ellipse.split_at(2 * latent.x.len());
        latent.x = super::chain::log_squares(squares);
        latent.log_nu = rest.iter().map(|z| 3.0 * z).collect();
    }
    for nu in latent.nu.data_mut() {
        let rate = gamma(rng, settings.beta, 1.0 / settings.kappa);
        *nu = gamma(rng, 1.0, 1.0 / rate);
    }
    let weights = latent.weights();
    let h = world.kernel(&weights);
    let mut functions = Matrix::zeros(n_functions, n);
    for c in 0..n_functions {
        let bias = settings.tau.sqrt() * normal(rng);
        let f = match settings.prior {
            FunctionPrior::Gp => {
                let first: Vec<usize> = (0..n).filter(|&i| (0..i).all(|j| h.row(i) != h.row(j))).collect();
                let jitter = |a: usize, b: usize| if a == b { JITTER } else { 0.0 };
                let entry = |a: usize, b: usize| h.get(first[a], first[b]) + jitter(a, b);
                let points = Matrix::from_fn(first.len(), first.len(), entry);
                let root = Cholesky::new(points, &world.pool, &|| false).unwrap();
                let z: Vec<f64> = first.iter().map(|_| (0.5 * latent.log_nu[0]).exp() * normal(rng)).collect();
                let at_points = times(root.lower(), &z);
                (0..n).map(|i| at_points[first.iter().position(|&j| h.row(i) == h.row(j)).unwrap()]).collect()
            }
            FunctionPrior::Paper => {
                let a: Vec<f64> = latent.nu.row(c).iter().map(|nu| nu.sqrt() * normal(rng)).collect();
                times(&h, &a)
            }
        };
        functions.row_mut(c).iter_mut().zip(f).for_each(|(out, f)| *out = f + bias);
    }
    for lambda in latent.lambda.data_mut() {
        *lambda = gamma(rng, 1.0, 1.0 / settings.gamma0);
    }
    let all = Prior0 {
        weights,
        log_nu: latent.log_nu.clone(),
        functions,
        lambda: latent.lambda.clone(),
        log_variance: log_variance(&latent),
    };
    (all, latent)
}

/// The margin given functions and scales: `o ~ N(delta f - lambda, lambda)`, times the sign.
fn margin(world: &World, functions: &Matrix, lambda: &Matrix, rng: &mut Rng) -> Matrix {
    Matrix::from_fn(functions.n_rows(), functions.n_cols(), |c, i| {
        let (sign, lambda) = (world.sign.get(c, i), lambda.get(c, i));
        functions.get(c, i) - sign * lambda + lambda.sqrt() * normal(rng)
    })
}

/// Bounded or light-tailed functions of a state.
fn statistics(all: &Prior0, margin: &Matrix) -> Vec<f64> {
    let (w, f, o) = (&all.weights, &all.functions, margin);
    let log = |value: f64| (1.0 + value * value).ln();
    let mut values = vec![
        w[0],
        w[1],
        w[0] * w[0],
        w[0] * w[1],
        f.get(0, 0).tanh(),
        log(f.get(0, 0)),
        log(f.get(0, 0) - f.get(0, 1)),
        w[0] * log(f.get(0, 2)),
        all.lambda.get(0, 0),
        all.lambda.get(0, 1).ln(),
        o.get(0, 0).tanh(),
        log(o.get(0, 0)),
        (o.get(0, 0) * f.get(0, 0)).tanh(),
    ];
    values.extend(all.log_variance);
    values.extend(all.log_nu.first().map(|nu| [*nu, nu * nu, nu * w[0]]).into_iter().flatten());
    values
}

/// Draws everything from the prior, margins included, then alternates ten sweeps with redrawing the margins, which must
/// leave the joint distribution invariant: returns the largest mean change of a statistic over this many starts, in
/// standard errors. Starts are independent, so slow mixing hides nothing, as it can in one long chain.
fn geweke(settings: Settings, n_functions: usize, n_starts: usize) -> (f64, Vec<f64>) {
    geweke_of(World::small(6, n_functions, settings), n_starts)
}

fn geweke_of(mut world: World, n_starts: usize) -> (f64, Vec<f64>) {
    const SWEEPS: usize = 10;
    let mut rng = Rng::new(21, 0);
    let mut changes: Vec<Vec<f64>> = vec![];
    for start in 0..n_starts {
        let (all, mut latent) = from_prior(&world, &mut rng);
        latent.step = DualAverage::of(0.5);
        world.margin = margin(&world, &all.functions, &all.lambda, &mut rng);
        let before = statistics(&all, &world.margin);
        let mut rngs = [Rng::new(22, start as u64)];
        let mut after = vec![];
        for number in 1..=SWEEPS {
            let phase = SweepPhase { sweep: number, warm: true, keep: false };
            let mut latents = [latent];
            let draw = sweep(&world.problem(), &mut latents, &mut rngs, phase).unwrap().remove(0);
            [latent] = latents;
            // The published step moves the weights after the functions.
            let weights = latent.weights();
            let all = Prior0 {
                weights,
                log_nu: draw.log_nu,
                functions: draw.functions,
                lambda: latent.lambda.clone(),
                log_variance: log_variance(&latent),
            };
            world.margin = margin(&world, &all.functions, &all.lambda, &mut rng);
            after = statistics(&all, &world.margin);
        }
        changes.push(after.iter().zip(before).map(|(after, before)| after - before).collect());
    }
    let z: Vec<f64> = (0..changes[0].len())
        .map(|k| {
            let (mean, error) = mean_and_error(changes.iter().map(|change| change[k]), n_starts);
            mean / error
        })
        .collect();
    (z.iter().fold(0.0, |most: f64, z| most.max(z.abs())), z)
}

/// The mean and its standard error from this many batch means.
pub(super) fn mean_and_error(values: impl Iterator<Item = f64>, n_batches: usize) -> (f64, f64) {
    let values: Vec<f64> = values.collect();
    let means: Vec<f64> = values
        .chunks_exact(values.len() / n_batches)
        .map(|batch| batch.iter().sum::<f64>() / batch.len() as f64)
        .collect();
    let n = means.len() as f64;
    let mean = means.iter().sum::<f64>() / n;
    let variance = means.iter().map(|m| (m - mean) * (m - mean)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

#[test]
fn geweke_finds_nothing_in_hamiltonian_moves_under_the_gaussian_process() {
    let (most, z) = geweke(settings(FunctionPrior::Gp, WeightSampler::Collapsed), 2, 2_000);
    assert!(most < 4.0, "{z:?}");
}

#[test]
fn geweke_finds_nothing_where_rows_come_several_times() {
    let (most, z) = geweke_of(World::repeated(6, 2, settings(FunctionPrior::Gp, WeightSampler::Collapsed)), 2_000);
    assert!(most < 4.0, "{z:?}");
}

#[test]
fn geweke_finds_nothing_in_slice_moves_under_the_gaussian_process() {
    let (most, z) = geweke(settings(FunctionPrior::Gp, WeightSampler::Slice), 2, 2_000);
    assert!(most < 4.0, "{z:?}");
}

#[test]
fn geweke_finds_nothing_in_hamiltonian_moves_under_the_published_prior() {
    let (most, z) = geweke(settings(FunctionPrior::Paper, WeightSampler::Collapsed), 2, 2_000);
    assert!(most < 4.0, "{z:?}");
}

#[test]
fn geweke_finds_nothing_in_split_moves() {
    for (prior, eta) in [(FunctionPrior::Gp, 1.0), (FunctionPrior::Gp, 0.6), (FunctionPrior::Paper, 2.5)] {
        let (most, z) = geweke(Settings { eta, ..settings(prior, WeightSampler::Split) }, 2, 2_000);
        assert!(most < 4.0, "{prior:?} {eta}: {z:?}");
    }
}

#[test]
fn geweke_finds_nothing_in_slice_moves_under_the_published_prior() {
    let (most, z) = geweke(settings(FunctionPrior::Paper, WeightSampler::Slice), 2, 2_000);
    assert!(most < 4.0, "{z:?}");
}

#[test]
fn geweke_finds_the_bias_of_the_published_step() {
    // It is never rejected, so its step size biases the result. That it is no wrong formula is for the tests of the
    // step to show, whose bias falls to nothing with its size.
    let published = |epsilon: f64| {
        let settings = Settings { epsilon, ..settings(FunctionPrior::Paper, WeightSampler::Paper) };
        geweke(settings, 2, 10_000)
    };
    let (most, z) = published(0.2);
    assert!(most > 5.0, "{z:?}");
}

#[test]
fn scales_of_the_loss_have_the_law_that_makes_the_loss() {
    // By tanh-sinh quadrature with lambda = exp(sinh u): the integral over lambda of gamma0 exp(-gamma0 lambda) N(zeta
    // + lambda; 0, lambda) is (gamma0 / s) exp(-zeta - s |zeta|), and the mean of lambda is (1 + s |zeta|) / s^2.
    for (gamma0, zeta) in [(1.0, 0.7), (1.0, -0.7), (100.0, 0.3), (2.0, -2.5), (2.0, 1e-3)] {
        let s2: f64 = Settings { gamma0, ..settings(FunctionPrior::Gp, WeightSampler::Collapsed) }.rate();
        let s = s2.sqrt();
        let (mut mass, mut first) = (0.0, 0.0);
        let step = 1e-3;
        for k in -6_000..=4_000 {
            let u = f64::from(k) * step;
            let (lambda, jacobian) = (u.sinh().exp(), u.sinh().exp() * u.cosh());
            let square: f64 = zeta + lambda;
            let density = gamma0 * (-gamma0 * lambda - square * square / (2.0 * lambda)).exp();
            let weight = step * jacobian * density / (std::f64::consts::TAU * lambda).sqrt();
            if weight.is_finite() {
                mass += weight;
                first += weight * lambda;
            }
        }
        let expected = gamma0 / s * (-zeta - s * f64::abs(zeta)).exp();
        assert!((mass / expected - 1.0).abs() < 1e-10, "{gamma0} {zeta}: {mass} {expected}");
        let mean = (1.0 + s * f64::abs(zeta)) / s2;
        assert!((first / mass - mean).abs() < 1e-10, "{gamma0} {zeta}: {} {mean}", first / mass);
    }
}

/// Chains on a problem as users run it; returns the draws of each after warm-up.
fn run(world: &World, n_chains: usize, warmup: usize, draws: usize) -> Vec<Vec<Draw>> {
    let problem = world.problem();
    let mut rngs: Vec<Rng> = (0..n_chains).map(|k| Rng::new(31, k as u64)).collect();
    let mut latents: Vec<Latent> = rngs.iter_mut().map(|rng| world.begin(rng)).collect();
    let mut chains: Vec<Vec<Draw>> = (0..n_chains).map(|_| vec![]).collect();
    for number in 1..=warmup + draws {
        let phase = SweepPhase { sweep: number, warm: number > warmup, keep: false };
        let drawn = sweep(&problem, &mut latents, &mut rngs, phase).unwrap();
        if number > warmup {
            chains.iter_mut().zip(drawn).for_each(|(chain, draw)| chain.push(draw));
        }
    }
    chains
}

/// Mean and standard deviation of a number over all draws, and the error of the mean.
fn moments(chains: &[Vec<Draw>], of: impl Fn(&Draw) -> f64) -> (f64, f64, f64) {
    let values: Vec<f64> = chains.iter().flatten().map(of).collect();
    let (mean, error) = mean_and_error(values.iter().copied(), 40);
    let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / values.len() as f64;
    (mean, variance.sqrt(), error)
}

/// Off by less than 0.15 standard deviations, and less than that if the standard error allows it.
fn assert_close(found: (f64, f64, f64), expected: (f64, f64), what: &str) {
    let off = (found.0 - expected.0) / expected.1;
    assert!(
        found.2 < 0.05 * expected.1,
        "{what}: the mean is known to {} standard deviations only",
        found.2 / expected.1
    );
    assert!(off.abs() < 0.15, "{what}: off by {off} standard deviations, {found:?} {expected:?}");
    assert!((found.1 / expected.1 - 1.0).abs() < 0.15, "{what}: spread {} {}", found.1, expected.1);
}

/// Independent reference: single-site Gibbs and slice sampling of functions under the closed form of the loss, without
/// scales, 400 chains of 6,000 draws, with the error of every mean below 0.01 standard deviations.
#[test]
fn draws_agree_with_an_independent_reference_under_the_gaussian_process() {
    let y = [-1.0, -1.0, -1.0, -1.0, 1.0, 1.0, 1.0, -1.0, -1.0, 1.0, 1.0, 1.0];
    let references = [
        (1.0, [(0.506_80, 0.220_24), (0.253_47, 0.193_66), (0.239_73, 0.187_10)], (1.9618, 0.8264)),
        (100.0, [(0.593_82, 0.198_15), (0.206_36, 0.165_20), (0.199_82, 0.161_73)], (4.7583, 0.9284)),
    ];
    for ((gamma0, weights, log_nu), sampler) in
        references.into_iter().flat_map(|of| [(of, WeightSampler::Collapsed), (of, WeightSampler::Split)])
    {
        let sign = Matrix::from_vec(1, 12, y.to_vec()).unwrap();
        let settings = Settings { gamma0, tau: 100.0, ..settings(FunctionPrior::Gp, sampler) };
        let world = World::new(&ROWS, &KERNELS, sign, settings);
        let chains = run(&world, 4, 400, if gamma0 > 10.0 { 6_000 } else { 4_000 });
        for (m, &expected) in weights.iter().enumerate() {
            let what = format!("{sampler:?}, gamma0 {gamma0}, weight {m}");
            assert_close(moments(&chains, |draw| draw.weights[m]), expected, &what);
        }
        let what = format!("{sampler:?}, gamma0 {gamma0}, log nu");
        assert_close(moments(&chains, |draw| draw.log_nu[0]), log_nu, &what);
    }
}

/// Independent reference: Metropolis under closed forms of the loss and of the prior of the sample weights, 1,000
/// chains of 60,000 draws, with the error of every mean below 0.003 standard deviations.
#[test]
fn draws_agree_with_an_independent_reference_under_the_published_prior() {
    let y = [1.0, -1.0, -1.0, -1.0, 1.0, -1.0, 1.0, 1.0];
    let references = [
        (2.0, [(0.370_24, 0.249_28), (0.293_66, 0.223_57), (0.336_10, 0.238_13)]),
        (100.0, [(0.878_15, 0.083_95), (0.058_76, 0.057_17), (0.063_09, 0.062_55)]),
    ];
    for ((gamma0, weights), sampler) in
        references.into_iter().flat_map(|of| [(of, WeightSampler::Collapsed), (of, WeightSampler::Split)])
    {
        let sign = Matrix::from_vec(1, 8, y.to_vec()).unwrap();
        let settings = Settings { gamma0, ..settings(FunctionPrior::Paper, sampler) };
        let world = World::new(&ROWS[..8], &KERNELS, sign, settings);
        let chains = run(&world, 4, 400, if gamma0 > 10.0 { 10_000 } else { 4_000 });
        for (m, &expected) in weights.iter().enumerate() {
            let what = format!("{sampler:?}, gamma0 {gamma0}, weight {m}");
            assert_close(moments(&chains, |draw| draw.weights[m]), expected, &what);
        }
    }
}

#[test]
fn margins_of_more_than_two_classes_sum_to_zero_and_are_in_the_balance_of_two() {
    for gamma0 in [0.0, 1.0, 100.0] {
        let of = |prior| Settings { gamma0, ..settings(prior, WeightSampler::Collapsed) };
        let steep = 1.0 + (1.0 + 2.0 * gamma0).sqrt();
        let worth = |a: f64, variance: f64| steep * a - 0.5 * variance.ln();
        for n_functions in [1, 3, 4, 10, 40, 200] {
            let n_classes = n_functions.max(2);
            let sides = Matrix::from_fn(n_functions, 2 * n_classes, |c, i| if i % n_classes == c { 1.0 } else { -1.0 });
            let margins = Margins::new(n_functions, &of(FunctionPrior::Gp));
            let signed = margins.signed(&sides);
            assert!(signed.data().iter().zip(sides.data()).all(|(margin, side)| margin * side >= 1.0));
            let square = dot(signed.data(), signed.data()) / signed.data().len() as f64;
            assert!((margins.variance() / square - 1.0).abs() < 1e-10, "{} {square}", margins.variance());
            if n_functions == 1 {
                assert_eq!((signed, margins.variance()), (sides.clone(), 1.0));
            } else {
                let sum = |i: usize| signed.column(i).iter().sum::<f64>().abs();
                assert!((0..n_classes).all(|i| sum(i) < 1e-12 * square), "{signed:?}");
                // The margin of other classes is A.
                let (a, two) = (-signed.get(1, 0), worth(1.0, 1.0));
                assert!((worth(a, square) - two).abs() < 1e-10 * two, "{n_functions} functions, gamma0 {gamma0}: {a}");
            }
            // As published.
            assert_eq!(Margins::new(n_functions, &of(FunctionPrior::Paper)).signed(&sides), sides);
        }
    }
}

/// Well-separated rows of this many classes, `n_each` of each.
fn far_apart(n_classes: usize, n_each: usize, seed: u64) -> Dataset {
    let (mut middles, mut rng) = (Rng::new(3, 0), Rng::new(seed, 1));
    let middle = Matrix::from_fn(n_classes, 10, |_, _| 2.5 * normal(&mut middles));
    let rows = Matrix::from_fn(n_classes * n_each, 10, |i, j| middle.get(i / n_each, j) + normal(&mut rng));
    let codes = (0..n_classes * n_each).map(|i| i / n_each).collect();
    let labels = Labels::from_parts((0..n_classes).map(|c| c.to_string()).collect(), codes).unwrap();
    let names = (0..10).map(|j| format!("x{j}")).collect();
    Dataset::new("far apart", Samples::new(rows, names).unwrap(), labels).unwrap()
}

#[test]
fn forty_classes_of_two_rows_are_not_taken_for_noise() {
    let (train, test) = (far_apart(40, 2, 0), far_apart(40, 5, 1));
    for (weights, chains) in [("uniform", 6), ("learned", 2)] {
        let plan = Plan::new("bm3kl").unwrap().kernels("gaussian(1..4)").unwrap();
        let settings = [("weights", weights), ("chains", &chains.to_string()), ("warmup", "40"), ("draws", "20")];
        let plan = settings.iter().try_fold(plan, |plan, (name, value)| plan.set(name, value)).unwrap();
        let model = plan.train(&train).unwrap();
        let draws = model.draws().unwrap();
        let log_nu = &draws.variables().iter().find(|variable| variable.name == "log_nu").unwrap().values;
        // Constant functions are near -10, and no chain returns from there.
        assert!(log_nu.data().iter().all(|nu| *nu > -2.0), "{weights}: {:?}", log_nu.data());
        let found = model.predict(&test.samples).unwrap().labels;
        let right = found.iter().zip(test.labels.codes()).filter(|(a, b)| a == b).count();
        assert!(right >= 180, "{weights}: {right} of 200");
    }
}

#[test]
fn planted_kernel_is_found() {
    let mut rng = Rng::new(41, 0);
    let rows: Vec<[f64; 2]> = (0..60).map(|_| [normal(&mut rng), normal(&mut rng)]).collect();
    let kernels = [
        "gaussian(2) on [1]",
        "gaussian(0.05) on [1]",
        "gaussian(0.5) on [1]",
        "gaussian(1) on [0]",
        "gaussian(1) on [1]",
        "gaussian(0.3) on [1]",
        "gaussian(0.1) on [1]",
        "linear on [1]",
        "polynomial(2) on [1]",
        "polynomial(3) on [1]",
    ];
    let wave = |x: f64| if (2.0 * x).sin() > 0.0 { 1.0 } else { -1.0 };
    let sign = Matrix::from_fn(1, 60, |_, i| wave(rows[i][0]));
    let settings = Settings { gamma0: 1.0, tau: 100.0, ..settings(FunctionPrior::Gp, WeightSampler::Collapsed) };
    let chains = run(&World::new(&rows, &kernels, sign, settings), 2, 200, 200);
    let means: Vec<f64> = (0..10).map(|m| moments(&chains, |draw| draw.weights[m]).0).collect();
    assert!(means[3] > 0.5, "{means:?}");
    assert!((0..10).all(|m| m == 3 || means[3] > 3.0 * means[m]), "{means:?}");
}

/// The middle 90 % of some values.
fn interval(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let at = |p: f64| values[(p * (values.len() - 1) as f64).round() as usize];
    (at(0.05), at(0.95))
}

#[test]
fn intervals_cover_what_data_were_drawn_from() {
    let n_sets = 120;
    let mut world = World::small(
        12,
        1,
        Settings { gamma0: 1.0, tau: 1.0, ..settings(FunctionPrior::Gp, WeightSampler::Collapsed) },
    );
    let mut covered = [0; 4];
    for set in 0..n_sets {
        let mut rng = Rng::new(51, set);
        let (all, _) = from_prior(&world, &mut rng);
        world.margin = margin(&world, &all.functions, &all.lambda, &mut rng);
        let chains = run(&world, 1, 150, 600);
        let truth = [all.weights[0], all.weights[1], all.weights[2], all.log_nu[0]];
        for (k, (covered, truth)) in covered.iter_mut().zip(truth).enumerate() {
            let of = |draw: &Draw| if k < 3 { draw.weights[k] } else { draw.log_nu[0] };
            let (low, high) = interval(chains[0].iter().map(of).collect());
            *covered += u32::from(low <= truth && truth <= high);
        }
    }
    let shares: Vec<f64> = covered.iter().map(|&c| f64::from(c) / n_sets as f64).collect();
    let weights = shares[..3].iter().sum::<f64>() / 3.0;
    assert!((weights - 0.9).abs() < 0.05, "weights {weights}, all {shares:?}");
    // A single number is known less well: 0.9 to four standard errors.
    assert!(shares.iter().all(|share| (share - 0.9).abs() < 0.11), "{shares:?}");
}

#[test]
fn temperature_of_rows_that_separate_is_no_certainty() {
    use super::model::{HeldOut, at_an_end, temperature};
    // Every row on its side of the margin, in one draw: 12 of each of two classes, 8 of each of three.
    let two: Vec<f64> = (0..24).map(|i| if i < 12 { 1.0 } else { -1.0 }).collect();
    let three: Vec<f64> = (0..3).flat_map(|c| (0..24).map(move |i| if i / 8 == c { 1.0 } else { -1.0 })).collect();
    for (decisions, n_functions, n_present) in [(&two, 1, 2), (&three, 3, 3)] {
        let places: Vec<usize> = (0..24).map(|i| i / (24 / n_present)).collect();
        let held_out =
            HeldOut { decisions, log_ratios: &[0.0; 24], places: &places, n_functions, n_present, size: 1.0 };
        let t = temperature(&held_out, Pool::alone().unwrap());
        let doubt = 1.0 / ((24 / n_present) as f64 + 2.0);
        let mut likely = vec![0.0; n_present];
        super::model::soften(&decisions.iter().step_by(24).copied().collect::<Vec<_>>(), t, &mut likely);
        assert!((likely[0] - (1.0 - doubt)).abs() < 0.01, "{likely:?} at {t}");
        assert!(!at_an_end(t, 1.0));
        // Decisions ten times as large get ten times the temperature.
        let large: Vec<f64> = decisions.iter().map(|f| 10.0 * f).collect();
        let of_large = temperature(&HeldOut { decisions: &large, size: 10.0, ..held_out }, Pool::alone().unwrap());
        assert!((of_large / t - 10.0).abs() < 1e-9, "{of_large} {t}");
    }
}

#[test]
fn draws_count_for_a_row_by_how_little_they_expected_it() {
    use super::model::{HeldOut, temperature};
    // The draw that did not expect row 0 gets more weight in its leave-one-out prediction.
    let decisions = [2.0, -2.0, 0.1, -2.0];
    let places = [0, 1];
    let of = |log_ratios: &[f64]| {
        let places = &places;
        let held_out = HeldOut { decisions: &decisions, log_ratios, places, n_functions: 1, n_present: 2, size: 1.0 };
        temperature(&held_out, Pool::alone().unwrap())
    };
    let (plain, honest) = (of(&[0.0, 0.0, 0.0, 0.0]), of(&[0.0, 0.0, 2.0, 0.0]));
    assert!(honest > 1.02 * plain, "{plain} {honest}");
}
