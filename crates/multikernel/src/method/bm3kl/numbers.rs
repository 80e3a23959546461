//! Numbers: rows whose noise is normal, or that of support vector regression.
//!
//! A number is `y = f + rho u` with noise u of unit scale. That of support vector regression has the density
//! `exp(-2 max(|u| - k, 0)) / (2 k + 1)`, which is flat in a tube of half width k and falls off exponentially outside. It
//! is the product of two hinge losses, one for each side of the tube, and each is normal given a scale of its own (Polson
//! and Scott 2011): `exp(-2 max(zeta, 0)) = int N(zeta; -lambda, lambda) dlambda`, with `zeta = u - k` above and
//! `zeta = -u - k` below. Two normal densities in u are one, so given its two scales a row is an observation
//! `t = y + rho m` of the function with variance `rho^2 v`,
//!
//! ```text
//! m = k (lambda_1 - lambda_2) / (lambda_1 + lambda_2),    v = lambda_1 lambda_2 / (lambda_1 + lambda_2)
//! ```
//!
//! and what is left, `N(2 k; lambda_1 + lambda_2, lambda_1 + lambda_2)`, depends on neither function nor noise. Unlike the
//! hinge loss of classes this is a likelihood: its integral over y is 1 whatever f is, so that rho is sampled, too.

use super::chain::Latent;
use super::density::{Observed, Problem};
use super::hmc::SPREAD;
use super::settings::{MIN_LAMBDA, WeightSampler};
use crate::dist::{Rng, half_gig};
use crate::error::Result;
use crate::linalg::Matrix;
use crate::method::bsvm::slice;
use crate::simd::{exp, ln};

/// The noise of numbers, in units of its scale rho.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Noise {
    /// That of support vector regression, with this half width of the tube.
    Tube(f64),
    /// Standard normal.
    Normal,
}

impl Noise {
    /// Its log density without its constant.
    pub(super) fn ln_density(self, u: f64) -> f64 {
        match self {
            Noise::Tube(tube) => -2.0 * (u.abs() - tube).max(0.0),
            Noise::Normal => -0.5 * u * u,
        }
    }

    /// Its variance.
    pub(super) fn variance(self) -> f64 {
        match self {
            Noise::Tube(k) => (2.0 / 3.0 * k * k * k + k * k + k + 0.5) / (2.0 * k + 1.0),
            Noise::Normal => 1.0,
        }
    }

    /// What the numbers `y` say about function c given their scales, where `log_noise` is `log rho^2`.
    pub(super) fn observed(self, latent: &Latent, y: &[f64], log_noise: f64, c: usize) -> Observed {
        let (rho, square) = (exp(0.5 * log_noise), exp(log_noise));
        let Noise::Tube(tube) = self else {
            return Observed { t: y.to_vec(), lambda: vec![square; y.len()], shift: vec![0.0; y.len()] };
        };
        let scales = || latent.lambda.row(2 * c).iter().zip(latent.lambda.row(2 * c + 1));
        let shift: Vec<f64> = scales().map(|(above, below)| rho * tube * (above - below) / (above + below)).collect();
        let t = y.iter().zip(&shift).map(|(y, shift)| y + shift).collect();
        // A quotient first: the product of two small scales loses digits before their sum does.
        let lambda = scales().map(|(above, below)| square * above * (below / (above + below))).collect();
        Observed { t, lambda, shift }
    }

    /// What the scales add to `ln N(t; 0, S)` for the log density of everything but the functions, without constants.
    pub(super) fn log_scales(self, lambda: &Matrix) -> f64 {
        let Noise::Tube(tube) = self else { return 0.0 };
        let of_row = |(above, below): (&f64, &f64)| {
            let sum = above + below;
            -0.5 * ((2.0 * tube - sum) * (2.0 * tube - sum) / sum + ln(sum))
        };
        let functions = 0..lambda.n_rows() / 2;
        functions.flat_map(|c| lambda.row(2 * c).iter().zip(lambda.row(2 * c + 1)).map(of_row)).sum()
    }
}

/// Updates the noise with the scales integrated out, then the scales, given the functions (rows) at the training rows.
pub(super) fn update(
    problem: &Problem<'_>,
    noise: Noise,
    latent: &mut Latent,
    functions: &Matrix,
    rng: &mut Rng,
) -> Result<()> {
    let errors: Vec<f64> = problem.margin.data().iter().zip(functions.data()).map(|(y, f)| y - f).collect();
    latent.log_nu[1] = slice(latent.log_nu[1], rng, |log_noise| Ok(log_density(noise, &errors, log_noise)))?;
    // sampler=slice: the last normal variate of the ellipse is that of the noise.
    if problem.settings.sampler == WeightSampler::Slice
        && let Some(last) = latent.ellipse.last_mut()
    {
        *last = latent.log_nu[1] / SPREAD;
    }
    let Noise::Tube(tube) = noise else { return Ok(()) };
    let rho = exp(0.5 * latent.log_nu[1]);
    for (c, errors) in errors.chunks_exact(problem.n().max(1)).enumerate() {
        for (side, sign) in [(2 * c, 1.0), (2 * c + 1, -1.0)] {
            for (lambda, error) in latent.lambda.row_mut(side).iter_mut().zip(errors) {
                let zeta = sign * error / rho - tube;
                *lambda = half_gig(rng, 1.0, zeta * zeta).max(MIN_LAMBDA);
            }
        }
    }
    Ok(())
}

/// The log density of the errors and of the logarithm of their noise, without its constant.
fn log_density(noise: Noise, errors: &[f64], log_noise: f64) -> f64 {
    let over = exp(-0.5 * log_noise);
    let of_errors: f64 = errors.iter().map(|error| noise.ln_density(over * error)).sum();
    let prior = log_noise / SPREAD;
    of_errors - 0.5 * errors.len() as f64 * log_noise - 0.5 * prior * prior
}
