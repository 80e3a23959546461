//! Hamiltonian moves of kernel weights and variances, with the functions integrated out.
//!
//! The position is `log e` for each kernel, with e gamma distributed so that its shares are Dirichlet, then `log nu /
//! 0.25` (prior=gp): unscaled, log nu ruins the mixing. All chains take their steps together, so they share each pass
//! over the kernels; each has its own step size and random stream.
//!
//! sampler=split has the normal variates of [`split`] in place of `log e`. Their prior is not part of the gradient: it
//! moves them between gradients.

use super::chain::{Latent, exps_of, weights_of};
use super::density::{Place, Point, Problem};
use super::split::{self, Mapped, NormalPrior};
use crate::dist::{Rng, normals};
use crate::error::{Error, Result};
use crate::simd::exp;

/// `log nu` per unit of position.
const UNIT: f64 = 0.25;
/// The prior standard deviation of `log nu`.
pub(super) const SPREAD: f64 = 3.0;

/// The longest way of an update in units of the normal prior: a quarter of a turn, after which a variate that the rows
/// say nothing of no longer depends on where it was. Step sizes vary by a fifth around it.
const QUARTER: f64 = std::f64::consts::FRAC_PI_2;

/// A position and the density there.
pub(super) struct HmcState {
    pub(super) q: Vec<f64>,
    /// `None` where the density does not exist.
    point: Option<Point>,
    pub(super) log_density: f64,
    /// Of the log density; sampler=split: of its part beside the normal one of the kernel weights.
    pub(super) gradient: Vec<f64>,
}

/// A position in the variables of the model.
pub(super) struct Unpacked {
    /// `log e`.
    pub(super) x: Vec<f64>,
    pub(super) log_nu: Vec<f64>,
    /// sampler=split: the coordinates of `log e`, and how they map to it.
    z: Vec<f64>,
    mapped: Vec<Mapped>,
}

pub(super) fn unpack(problem: &Problem<'_>, latent: &Latent, q: &[f64]) -> Unpacked {
    let (moved, rest) = q.split_at(if problem.settings.learned { latent.x.len() } else { 0 });
    let log_nu = rest.iter().map(|r| UNIT * r).collect();
    if problem.settings.is_split() {
        let prior = NormalPrior::new(problem.settings.eta);
        let mapped: Vec<Mapped> = moved.iter().map(|&z| prior.at(z)).collect();
        return Unpacked { x: mapped.iter().map(|mapped| mapped.x).collect(), log_nu, z: moved.to_vec(), mapped };
    }
    let x = if problem.settings.learned { moved.to_vec() } else { latent.x.clone() };
    Unpacked { x, log_nu, z: vec![], mapped: vec![] }
}

pub(super) fn pack(problem: &Problem<'_>, latent: &Latent) -> Vec<f64> {
    let moved: &[f64] = match (problem.settings.learned, problem.settings.is_split()) {
        (false, _) => &[],
        (true, false) => &latent.x,
        (true, true) => &latent.ellipse,
    };
    moved.iter().copied().chain(latent.log_nu.iter().map(|nu| nu / UNIT)).collect()
}

/// The log density at the chains' positions, with its gradient.
pub(super) fn evaluate(problem: &Problem<'_>, latents: &[Latent], positions: Vec<Vec<f64>>) -> Result<Vec<HmcState>> {
    let unpacked: Vec<Unpacked> = positions.iter().zip(latents).map(|(q, latent)| unpack(problem, latent, q)).collect();
    let weights: Vec<Vec<f64>> = unpacked.iter().map(|unpacked| weights_of(&unpacked.x)).collect();
    // A chain that diverged is no longer evaluated.
    let sane: Vec<usize> =
        (0..positions.len()).filter(|&k| weights[k].iter().all(|w| w.is_finite()) && unpacked[k].is_sane()).collect();
    let place = |&k: &usize| Place { weights: &weights[k], log_nu: &unpacked[k].log_nu, latent: &latents[k] };
    let found = problem.evaluate(&sane.iter().map(place).collect::<Vec<_>>(), true)?;
    let mut states: Vec<HmcState> = positions
        .into_iter()
        .map(|q| HmcState { gradient: vec![0.0; q.len()], q, point: None, log_density: f64::NEG_INFINITY })
        .collect();
    for (k, point) in sane.into_iter().zip(found) {
        let Some(point) = point else { continue };
        states[k].log_density = point.likelihood + unpacked[k].log_prior(problem);
        states[k].gradient = gradient(problem, &unpacked[k], &weights[k], &point);
        states[k].point = Some(point);
    }
    Ok(states)
}

impl Unpacked {
    /// Whether the likelihood can be evaluated. Normal variates are never as large; a chain that diverged is.
    fn is_sane(&self) -> bool {
        self.log_nu.iter().all(|nu| nu.abs() < 60.0) && self.z.iter().all(|z| z.abs() < 36.0)
    }

    /// The log prior of a position without its constant.
    fn log_prior(&self, problem: &Problem<'_>) -> f64 {
        if !problem.settings.is_split() {
            return log_prior(problem, &self.x, &self.log_nu);
        }
        let normal: f64 = self.z.iter().zip(&self.mapped).map(|(z, mapped)| mapped.excess - 0.5 * z * z).sum();
        normal + log_prior_of_variance(&self.log_nu)
    }
}

/// The log prior without its constant: of `log e`, whose density has a factor e from the change of variable, and of
/// `log nu`.
pub(super) fn log_prior(problem: &Problem<'_>, x: &[f64], log_nu: &[f64]) -> f64 {
    let eta = problem.settings.eta;
    let density = || x.iter().zip(exps_of(x)).map(|(x, e)| eta * x - e).sum();
    let weights: f64 = if problem.settings.learned { density() } else { 0.0 };
    weights + log_prior_of_variance(log_nu)
}

fn log_prior_of_variance(log_nu: &[f64]) -> f64 {
    -log_nu.iter().map(|nu| nu * nu).sum::<f64>() / (2.0 * SPREAD * SPREAD)
}

/// See [`HmcState::gradient`].
pub(super) fn gradient(problem: &Problem<'_>, at: &Unpacked, weights: &[f64], point: &Point) -> Vec<f64> {
    let mean: f64 = weights.iter().zip(&point.by_weight).map(|(w, g)| w * g).sum();
    // If weights are not learned, there are no slopes in them, and this is empty.
    let by_likelihood = weights.iter().zip(&point.by_weight).map(|(w, g)| w * (g - mean));
    let eta = problem.settings.eta;
    let by_weights: Vec<f64> = if problem.settings.is_split() {
        by_likelihood.zip(&at.mapped).map(|(slope, mapped)| mapped.slope * slope + mapped.by_excess).collect()
    } else {
        by_likelihood.zip(exps_of(&at.x)).map(|(slope, e)| eta - e + slope).collect()
    };
    let by_nu = at.log_nu.iter().zip(&point.by_log_nu).map(|(nu, slope)| UNIT * (slope - nu / (SPREAD * SPREAD)));
    by_weights.into_iter().chain(by_nu).collect()
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
    let n_leaps = problem.settings.n_leaps(problem.stack.n_kernels());
    let longest = if problem.settings.is_split() { QUARTER / n_leaps as f64 } else { f64::INFINITY };
    // Randomised step sizes avoid periodic orbits.
    let sizes: Vec<f64> = latents
        .iter()
        .zip(rngs.iter_mut())
        .map(|(latent, rng)| latent.step.size(warm) * (0.8 + 0.4 * rng.uniform()))
        .collect();
    let (ends, momenta) = leap(problem, latents, &starts, &begun, &sizes, n_leaps)?;
    let mut result = vec![];
    for (k, (start, end)) in starts.into_iter().zip(ends).enumerate() {
        let kinetic = |p: &[f64]| 0.5 * p.iter().map(|p| p * p).sum::<f64>();
        let gain = end.log_density - kinetic(&momenta[k]) - start.log_density + kinetic(&begun[k]);
        let accepted = if gain.is_nan() { 0.0 } else { exp(gain).min(1.0) };
        if !warm {
            latents[k].step.learn(accepted, longest);
        }
        let spot = if rngs[k].uniform() < accepted { end } else { start };
        let Unpacked { x, log_nu, z, .. } = unpack(problem, &latents[k], &spot.q);
        (latents[k].x, latents[k].log_nu) = (x, log_nu);
        if problem.settings.is_split() {
            latents[k].ellipse = z;
        }
        result.push((spot.point.ok_or_else(no_density)?, accepted));
    }
    Ok(result)
}

/// The motion between gradients.
fn drift(problem: &Problem<'_>, q: &mut [f64], p: &mut [f64], time: f64) {
    let n_turned = if problem.settings.is_split() { problem.stack.n_kernels() } else { 0 };
    let (turned, q) = q.split_at_mut(n_turned);
    let (with, p) = p.split_at_mut(n_turned);
    split::turn(turned, with, time);
    q.iter_mut().zip(p).for_each(|(q, p)| *q += time * *p);
}

/// The leapfrog steps of all chains together.
pub(super) fn leap(
    problem: &Problem<'_>,
    latents: &[Latent],
    starts: &[HmcState],
    begun: &[Vec<f64>],
    sizes: &[f64],
    n_leaps: usize,
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
    let mut states = vec![];
    for leap in 1..=n_leaps {
        for ((q, p), size) in positions.iter_mut().zip(&mut momenta).zip(sizes) {
            drift(problem, q, p, *size);
        }
        // Their matrices are room for the next ones.
        states.clear();
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
