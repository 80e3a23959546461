//! One sweep of all chains: kernel weights, functions, scales of the loss.

use super::chain::{Draw, Latent};
use super::density::{Place, Point, Problem};
use super::settings::WeightSampler;
use super::{gibbs, hmc, published, slice};
use crate::dist::Rng;
use crate::error::Result;

/// The position of a sweep within its run.
#[derive(Clone, Copy, Debug)]
pub(super) struct SweepPhase {
    /// Counted from 1.
    pub(super) sweep: usize,
    /// Whether step sizes are no longer tuned.
    pub(super) warm: bool,
    /// Whether predictions will use the draws.
    pub(super) keep: bool,
}

/// Advances all chains. Weights come first, given the scales of the loss, and functions right after them, as one block:
/// it is a draw from the joint distribution only with nothing in between.
pub(super) fn sweep(
    problem: &Problem<'_>,
    latents: &mut [Latent],
    rngs: &mut [Rng],
    phase: SweepPhase,
) -> Result<Vec<Draw>> {
    let points = match problem.settings.sampler {
        WeightSampler::Collapsed | WeightSampler::Split => hmc::update(problem, latents, rngs, phase.warm)?,
        WeightSampler::Slice => slice::update(problem, latents, rngs)?,
        WeightSampler::Paper | WeightSampler::Published => stay(problem, latents)?,
    };
    let pool = problem.inner_pool(latents.len())?;
    let moved = problem.pool.map(latents.len(), |k| {
        let (mut latent, mut rng) = (latents[k].clone(), rngs[k].clone());
        let draw = gibbs::update(problem, &mut latent, &points[k], &mut rng, phase.keep, pool)?;
        Ok((latent, rng, draw))
    });
    let mut draws = vec![];
    for (k, moved) in moved.into_iter().enumerate() {
        let (latent, rng, draw) = moved?;
        (latents[k], rngs[k]) = (latent, rng);
        draws.push(draw);
    }
    if problem.settings.steps_as_published() && problem.settings.learned {
        published::update(problem, latents, &draws, rngs, phase.sweep)?;
    }
    latents.iter_mut().zip(rngs).for_each(|(latent, rng)| latent.position = rng.position());
    Ok(draws)
}

/// The likelihood at the chains' current positions.
fn stay(problem: &Problem<'_>, latents: &[Latent]) -> Result<Vec<(Point, f64)>> {
    let weights: Vec<Vec<f64>> = latents.iter().map(Latent::weights).collect();
    let places = weights.iter().zip(latents).map(|(weights, latent)| Place { weights, log_nu: &latent.log_nu, latent });
    let points = problem.evaluate(&places.collect::<Vec<_>>(), false)?;
    points.into_iter().map(|point| Ok((point.ok_or_else(hmc::no_density)?, 1.0))).collect()
}
