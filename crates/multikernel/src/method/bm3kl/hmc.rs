//! Hamiltonian moves of kernel weights and variances, with the functions integrated out.
//!
//! The position is `log e` for each kernel, with e gamma distributed so that its shares are Dirichlet, then `log nu /
//! 0.25` (prior=gp): unscaled, log nu ruins the mixing. All chains take their steps together, so they share each pass
//! over the kernels; each has its own step size and random stream.

use super::chain::{Latent, exps_of, weights_of};
use super::density::{Place, Point, Problem};
use crate::dist::{Rng, normals};
use crate::error::{Error, Result};
use crate::simd::exp;

/// `log nu` per unit of position.
const UNIT: f64 = 0.25;
/// The prior standard deviation of `log nu`.
pub(super) const SPREAD: f64 = 3.0;

/// A position and the density there.
struct HmcState {
    q: Vec<f64>,
    /// `None` where the density does not exist.
    point: Option<Point>,
    log_density: f64,
    gradient: Vec<f64>,
}

/// `log e` and `log nu` at a position.
fn unpack(problem: &Problem<'_>, latent: &Latent, q: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let n_moved = if problem.settings.learned { latent.x.len() } else { 0 };
    let x = if problem.settings.learned { q[..n_moved].to_vec() } else { latent.x.clone() };
    (x, q[n_moved..].iter().map(|r| UNIT * r).collect())
}

fn pack(problem: &Problem<'_>, latent: &Latent) -> Vec<f64> {
    let x: &[f64] = if problem.settings.learned { &latent.x } else { &[] };
    x.iter().copied().chain(latent.log_nu.iter().map(|nu| nu / UNIT)).collect()
}

/// The log density at the chains' positions, with its gradient.
fn evaluate(problem: &Problem<'_>, latents: &[Latent], positions: Vec<Vec<f64>>) -> Result<Vec<HmcState>> {
    let unpacked: Vec<(Vec<f64>, Vec<f64>)> =
        positions.iter().zip(latents).map(|(q, latent)| unpack(problem, latent, q)).collect();
    let weights: Vec<Vec<f64>> = unpacked.iter().map(|(x, _)| weights_of(x)).collect();
    // A chain that diverged is no longer evaluated.
    let sane: Vec<usize> = (0..positions.len())
        .filter(|&k| weights[k].iter().all(|w| w.is_finite()) && unpacked[k].1.iter().all(|nu| nu.abs() < 60.0))
        .collect();
    let place = |&k: &usize| Place { weights: &weights[k], log_nu: &unpacked[k].1, latent: &latents[k] };
    let found = problem.evaluate(&sane.iter().map(place).collect::<Vec<_>>(), true)?;
    let mut states: Vec<HmcState> = positions
        .into_iter()
        .map(|q| HmcState { gradient: vec![0.0; q.len()], q, point: None, log_density: f64::NEG_INFINITY })
        .collect();
    for (k, point) in sane.into_iter().zip(found) {
        let Some(point) = point else { continue };
        let (x, log_nu) = &unpacked[k];
        states[k].log_density = point.likelihood + log_prior(problem, x, log_nu);
        states[k].gradient = gradient(problem, x, log_nu, &weights[k], &point);
        states[k].point = Some(point);
    }
    Ok(states)
}

/// The log prior without its constant: of `log e`, whose density has a factor e from the change of variable, and of
/// `log nu`.
pub(super) fn log_prior(problem: &Problem<'_>, x: &[f64], log_nu: &[f64]) -> f64 {
    let eta = problem.settings.eta;
    let density = || x.iter().zip(exps_of(x)).map(|(x, e)| eta * x - e).sum();
    let weights: f64 = if problem.settings.learned { density() } else { 0.0 };
    weights - log_nu.iter().map(|nu| nu * nu).sum::<f64>() / (2.0 * SPREAD * SPREAD)
}

pub(super) fn gradient(problem: &Problem<'_>, x: &[f64], log_nu: &[f64], weights: &[f64], point: &Point) -> Vec<f64> {
    let mean: f64 = weights.iter().zip(&point.by_weight).map(|(w, g)| w * g).sum();
    let eta = problem.settings.eta;
    let by_x = exps_of(x).into_iter().zip(weights).zip(&point.by_weight).map(|((e, w), g)| eta - e + w * (g - mean));
    let by_nu = log_nu.iter().zip(&point.by_log_nu).map(|(nu, slope)| UNIT * (slope - nu / (SPREAD * SPREAD)));
    // If weights are not learned, there are no slopes in them, and the first part is empty.
    by_x.chain(by_nu).collect()
}

/// One update of each chain: returns the likelihood at its end, and its acceptance probability. `warm` means that step
/// sizes are no longer tuned.
pub(super) fn update(
    problem: &Problem<'_>,
    latents: &mut [Latent],
    rngs: &mut [Rng],
    warm: bool,
) -> Result<Vec<(Point, f64)>> {
    let starts = evaluate(problem, latents, latents.iter().map(|latent| pack(problem, latent)).collect())?;
    if starts.iter().any(|spot| spot.point.is_none()) {
        return Err(no_density());
    }
    if starts.iter().all(|spot| spot.q.is_empty()) {
        return Ok(starts.into_iter().filter_map(|spot| spot.point).map(|point| (point, 1.0)).collect());
    }
    let begun: Vec<Vec<f64>> =
        starts.iter().zip(rngs.iter_mut()).map(|(spot, rng)| normals(rng, spot.q.len())).collect();
    // Randomised step sizes avoid periodic orbits.
    let sizes: Vec<f64> = latents
        .iter()
        .zip(rngs.iter_mut())
        .map(|(latent, rng)| latent.step.size(warm) * (0.8 + 0.4 * rng.uniform()))
        .collect();
    let (ends, momenta) = leap(problem, latents, &starts, &begun, &sizes)?;
    let mut result = vec![];
    for (k, (start, end)) in starts.into_iter().zip(ends).enumerate() {
        let kinetic = |p: &[f64]| 0.5 * p.iter().map(|p| p * p).sum::<f64>();
        let gain = end.log_density - kinetic(&momenta[k]) - start.log_density + kinetic(&begun[k]);
        let accepted = if gain.is_nan() { 0.0 } else { exp(gain).min(1.0) };
        if !warm {
            latents[k].step.learn(accepted);
        }
        let spot = if rngs[k].uniform() < accepted { end } else { start };
        let (x, log_nu) = unpack(problem, &latents[k], &spot.q);
        (latents[k].x, latents[k].log_nu) = (x, log_nu);
        result.push((spot.point.ok_or_else(no_density)?, accepted));
    }
    Ok(result)
}

/// The leapfrog steps of all chains together.
fn leap(
    problem: &Problem<'_>,
    latents: &[Latent],
    starts: &[HmcState],
    begun: &[Vec<f64>],
    sizes: &[f64],
) -> Result<(Vec<HmcState>, Vec<Vec<f64>>)> {
    let mut momenta = begun.to_vec();
    let kick = |momenta: &mut [Vec<f64>], gradients: &[Vec<f64>], share: f64| {
        for ((p, gradient), size) in momenta.iter_mut().zip(gradients).zip(sizes) {
            p.iter_mut().zip(gradient).for_each(|(p, g)| *p += share * size * g);
        }
    };
    let mut positions: Vec<Vec<f64>> = starts.iter().map(|spot| spot.q.clone()).collect();
    let gradients: Vec<Vec<f64>> = starts.iter().map(|spot| spot.gradient.clone()).collect();
    kick(&mut momenta, &gradients, 0.5);
    let n_leaps = problem.settings.n_leaps(problem.stack.n_kernels());
    let mut states = vec![];
    for leap in 1..=n_leaps {
        for ((q, p), size) in positions.iter_mut().zip(&momenta).zip(sizes) {
            q.iter_mut().zip(p).for_each(|(q, p)| *q += size * p);
        }
        states = evaluate(problem, latents, positions)?;
        let gradients: Vec<Vec<f64>> = states.iter().map(|spot| spot.gradient.clone()).collect();
        kick(&mut momenta, &gradients, if leap == n_leaps { 0.5 } else { 1.0 });
        positions = states.iter().map(|spot| spot.q.clone()).collect();
    }
    Ok((states, momenta))
}

/// The error for a chain whose current position has no density.
pub(super) fn no_density() -> Error {
    Error::input(
        "the combined kernel of a chain is not positive semi-definite, and there is no Gaussian process with it. If a Gram matrix was \
         given, or `sigmoid`, leave it out or use a method that can do without, such as average; if not, bring gamma0, tau, beta \
         and epsilon nearer to their defaults",
    )
}
