//! The published update of the kernel weights: one step of an underdamped Langevin diffusion on `e` with metric
//! `diag(1/e)`, never rejected (equations 7 and 8). It is biased by its step size and mixes slowly, because sample
//! weights and kernel weights are tightly coupled; use `sampler=collapsed` instead.
//!
//! `sampler=published` takes the step as printed, and a chain that diverges is an error; `sampler=paper` integrates
//! large friction exactly and holds `e` within the range of `f64`, so that every chain goes on.

#[cfg(test)]
mod tests;

use super::chain::{Draw, Latent, exps_of};
use super::density::Problem;
use super::settings::{Settings, WeightSampler};
use crate::dist::{Rng, normals};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::simd::{exp, lns_of_normal};
use crate::solve::product::product;
use crate::stack::Symmetric;

/// `sampler=paper`: the range of `e`. Far out a step could overflow `f64`, near 0 its logarithm could.
const RANGE: (f64, f64) = (1e-300, 1e300);
/// `sampler=published`: beyond this a chain has diverged. The prior `exp(-e)` leaves nothing there, and friction beyond
/// 2 / size multiplies the momentum by more than it did in the sweep before.
const DIVERGED: f64 = 1e12;

/// Moves the weights of all chains in this sweep, given the sample weights just drawn: one pass over the kernels.
pub(super) fn update(
    problem: &Problem<'_>,
    latents: &mut [Latent],
    draws: &[Draw],
    rngs: &mut [Rng],
    sweep: usize,
) -> Result<()> {
    let settings = problem.settings;
    let size = settings.epsilon / if settings.decay { sweep as f64 } else { 1.0 };
    let gradients = gradients(problem, latents, draws)?;
    for ((latent, rng), gradient) in latents.iter_mut().zip(rngs).zip(gradients) {
        step(settings, latent, &gradient, size, rng).map_err(|leap| diverged(leap, size, sweep))?;
    }
    Ok(())
}

/// The gradient of `log q(e | lambda, a, b)` for each chain: the slope in each `e_m`, whose weight is `e_m / sum e`.
fn gradients(problem: &Problem<'_>, latents: &[Latent], draws: &[Draw]) -> Result<Vec<Vec<f64>>> {
    // M = R a', R = delta (lambda + zeta) / lambda; a refers to the scaled kernels, as the slopes do. Formed
    // explicitly: as factors it would cost a product per function for each entry of each tile.
    let slope = |(latent, draw): (&Latent, &Draw)| {
        let coef = draw.coef.select_cols(problem.distinct.first());
        product(&pull(problem, latent, draw).transposed(), &coef, problem.pool)
    };
    let matrices = latents.iter().zip(draws).map(slope).collect::<Result<Vec<Matrix>>>()?;
    let with: Vec<Symmetric<'_>> = matrices.iter().map(Symmetric::Dense).collect();
    let slopes = problem.stack.project(&with, problem.pool)?;
    let of_chain = |(k, latent): (usize, &Latent)| {
        let (e, slopes) = (exps_of(&latent.x), slopes.column(k));
        let total: f64 = e.iter().sum();
        let mean: f64 = e.iter().zip(&slopes).map(|(e, g)| e * g).sum::<f64>() / total;
        let slope = |(e, g): (&f64, &f64)| (problem.settings.eta - 1.0) / e - 1.0 + (g - mean) / total;
        e.iter().zip(&slopes).map(slope).collect()
    };
    Ok(latents.iter().enumerate().map(of_chain).collect())
}

/// `delta (lambda + zeta) / lambda` for each function (rows) and point (columns), summed over the rows of the point.
fn pull(problem: &Problem<'_>, latent: &Latent, draw: &Draw) -> Matrix {
    let mut pulls = Matrix::zeros(problem.n_functions(), problem.distinct.n());
    for c in 0..problem.n_functions() {
        let of_row = |i: usize| {
            let lambda = latent.lambda.get(c, i);
            (problem.sign.get(c, i) * lambda + problem.margin.get(c, i) - draw.functions.get(c, i)) / lambda
        };
        let rows: Vec<f64> = (0..problem.n()).map(of_row).collect();
        pulls.row_mut(c).copy_from_slice(&problem.distinct.summed(&rows));
    }
    pulls
}

/// Equations (7) and (8) for every kernel of a chain: with `G = diag(1/e)` the momentum gains `size` times `G^-1/2` times
/// the gradient, the divergence `1 / (2 sqrt e)` of `G^-1/2`, the friction `-G^-1 r`, and noise of variance `2 size e`.
fn step(
    settings: &Settings,
    latent: &mut Latent,
    gradient: &[f64],
    size: f64,
    rng: &mut Rng,
) -> std::result::Result<(), Leap> {
    let published = settings.sampler == WeightSampler::Published;
    let e = exps_of(&latent.x);
    let shocks = normals(rng, e.len());
    let each = latent.x.iter_mut().zip(&mut latent.momentum).zip(e).zip(gradient).zip(shocks);
    for (m, ((((x, r), e), slope), shock)) in each.enumerate() {
        // The published friction, 1 - size e, oscillates with growing amplitude beyond 2 / size: sampler=paper integrates
        // it exactly from 1 / size on, and the noise with it.
        let (kept, noise) = match size * e {
            small if published || small < 1.0 => (1.0 - small, 2.0 * small),
            large => (exp(-large), 1.0 - exp(-2.0 * large)),
        };
        *r = kept * *r + size * e.sqrt() * slope + size / (2.0 * e.sqrt()) + noise.sqrt() * shock;
        let moved = (e + size * e.sqrt() * *r).abs();
        *x = if published { moved } else { moved.clamp(RANGE.0, RANGE.1) };
        if !x.is_normal() || published && *x > DIVERGED {
            return Err(Leap { kernel: m, e: *x });
        }
    }
    lns_of_normal(&mut latent.x);
    Ok(())
}

/// Where a chain that diverged was taken.
#[derive(Debug)]
struct Leap {
    kernel: usize,
    e: f64,
}

fn diverged(leap: Leap, size: f64, sweep: usize) -> Error {
    let (kernel, e, most) = (leap.kernel + 1, leap.e, 2.0 / size);
    Error::param(
        "epsilon",
        format!(
            "a chain diverged in sweep {sweep}: the published step took e of kernel {kernel} to {e:.1e}. With a step size of {size} \
             its friction grows without end once e is above {most:.0}; take a smaller epsilon, decay=yes, or sampler=paper, \
             which integrates the friction exactly"
        ),
    )
}
