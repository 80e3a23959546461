//! The published update of the kernel weights: one step of an underdamped Langevin diffusion on `e` with metric
//! `diag(1/e)`, never rejected (equations 7 and 8). It is biased by its step size and mixes slowly, because sample
//! weights and kernel weights are tightly coupled; use `sampler=collapsed` instead.

use super::chain::{Draw, Latent, exps_of};
use super::density::Problem;
use crate::dist::{Rng, normals};
use crate::error::Result;
use crate::linalg::Matrix;
use crate::simd::{exp, lns_of_normal};
use crate::solve::product::product;
use crate::stack::Symmetric;

/// Moves the weights of all chains, given the sample weights just drawn: one pass over the kernels. `size` is the step
/// size.
pub(super) fn update(
    problem: &Problem<'_>,
    latents: &mut [Latent],
    draws: &[Draw],
    rngs: &mut [Rng],
    size: f64,
) -> Result<()> {
    // M = R a', R = delta (lambda + zeta) / lambda; a refers to the scaled kernels, as the slopes do. Formed
    // explicitly: as factors it would cost a product per function for each entry of each tile.
    let slope = |(latent, draw): (&Latent, &Draw)| {
        let coef = draw.coef.select_cols(problem.distinct.first());
        product(&pull(problem, latent, draw).transposed(), &coef, problem.pool)
    };
    let matrices = latents.iter().zip(draws).map(slope).collect::<Result<Vec<Matrix>>>()?;
    let with: Vec<Symmetric<'_>> = matrices.iter().map(Symmetric::Dense).collect();
    let slopes = problem.stack.project(&with, problem.pool)?;
    for (k, (latent, rng)) in latents.iter_mut().zip(rngs).enumerate() {
        step(problem.settings.eta, &mut latent.x, &mut latent.momentum, &slopes.column(k), size, rng);
    }
    Ok(())
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

/// Equations (7) and (8) for every kernel.
fn step(eta: f64, x: &mut [f64], momentum: &mut [f64], slopes: &[f64], size: f64, rng: &mut Rng) {
    let e = exps_of(x);
    let total: f64 = e.iter().sum();
    let mean: f64 = e.iter().zip(slopes).map(|(e, g)| e * g).sum::<f64>() / total;
    let shocks = normals(rng, e.len());
    for ((((x, r), e), g), shock) in x.iter_mut().zip(momentum).zip(e).zip(slopes).zip(shocks) {
        let slope = (eta - 1.0) / e - 1.0 + (g - mean) / total;
        // The published friction, 1 - size e, oscillates with growing amplitude beyond 2 / size: from 1 / size on it is
        // integrated exactly, and the noise with it.
        let (kept, noise) = match size * e {
            small if small < 1.0 => (1.0 - small, 2.0 * small),
            large => (exp(-large), 1.0 - exp(-2.0 * large)),
        };
        *r = kept * *r + size * e.sqrt() * slope + size / (2.0 * e.sqrt()) + noise.sqrt() * shock;
        // Far out a step could overflow f64, near 0 its logarithm could.
        *x = (e + size * e.sqrt() * *r).abs().clamp(1e-300, 1e300);
    }
    lns_of_normal(x);
}
