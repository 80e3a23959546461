//! likelihood=logit: what differs from the pseudo-likelihood of a margin once functions have been drawn.

use super::chain::Latent;
use super::density::Problem;
use super::hmc::SPREAD;
use super::settings::WeightSampler;
use crate::dist::{Rng, ln_polya_gamma_density, polya_gamma};
use crate::error::Result;
use crate::linalg::Matrix;
use crate::method::bsvm::slice;
use crate::simd::{exp, ln};

/// Updates the size of the functions (rows: functions, columns: training rows) with the scales integrated out, then the
/// scales, `1 / lambda ~ PG(1, f)`.
///
/// Given the scales, functions can grow or shrink by a few percent only, where rows are well separated, and with them
/// nu. So the functions are multiplied by a factor whose square multiplies nu, once without their biases and once with
/// them: the likelihood of labels is known in closed form, and functions of unit variance stay where they are.
pub(super) fn update(
    problem: &Problem<'_>,
    latent: &mut Latent,
    functions: &mut Matrix,
    biases: &[f64],
    rng: &mut Rng,
) -> Result<()> {
    let mut biases = biases.to_vec();
    for with_biases in [false, true] {
        let (log_nu, shape) = (latent.log_nu[0], (&*functions, biases.as_slice()));
        let change = slice(0.0, rng, |change| Ok(log_density(problem, log_nu, shape, change, with_biases)))?;
        latent.log_nu[0] += change;
        *functions = grown(functions, &biases, change, with_biases);
        if with_biases {
            biases.iter_mut().for_each(|bias| *bias *= exp(0.5 * change));
        }
    }
    // sampler=slice: the last normal variate of the ellipse is that of log nu.
    if problem.settings.sampler == WeightSampler::Slice
        && let Some(last) = latent.ellipse.last_mut()
    {
        *last = latent.log_nu[0] / SPREAD;
    }
    for (lambda, f) in latent.lambda.data_mut().iter_mut().zip(functions.data()) {
        *lambda = 1.0 / polya_gamma(rng, *f);
    }
    Ok(())
}

/// The functions after `log nu` has grown by `change`.
fn grown(functions: &Matrix, biases: &[f64], change: f64, with_biases: bool) -> Matrix {
    let factor = exp(0.5 * change);
    let fixed = |c: usize| if with_biases { 0.0 } else { biases[c] };
    Matrix::from_fn(functions.n_rows(), functions.n_cols(), |c, i| fixed(c) + factor * (functions.get(c, i) - fixed(c)))
}

/// The log density of log nu, the biases and the labels along the way, for functions of fixed shape: with biases that
/// grow, it has a factor for each from the change of variable.
fn log_density(
    problem: &Problem<'_>,
    log_nu: f64,
    (functions, biases): (&Matrix, &[f64]),
    change: f64,
    with_biases: bool,
) -> f64 {
    let moved = grown(functions, biases, change, with_biases);
    let labels: f64 = moved.data().iter().zip(problem.sign.data()).map(|(f, sign)| ln_logistic(sign * f)).sum();
    let square: f64 = biases.iter().map(|bias| bias * bias).sum();
    let of_biases = if with_biases {
        0.5 * change * biases.len() as f64 - 0.5 * exp(change) * square / problem.settings.tau
    } else {
        0.0
    };
    let log_nu = (log_nu + change) / SPREAD;
    labels + of_biases - 0.5 * log_nu * log_nu
}

/// `-ln(1 + exp(-x))`.
fn ln_logistic(x: f64) -> f64 {
    x.min(0.0) - ln(1.0 + exp(-x.abs()))
}

/// What a row's scale adds to `ln N(t; 0, S)` for the log density of everything but the functions: the density of omega
/// under PG(1, 0), and from `exp(delta f / 2 - omega f^2 / 2) = exp(lambda / 8) sqrt(2 pi lambda) N(t; f, lambda)` the
/// two factors in front, without constants.
pub(super) fn log_scale(lambda: f64) -> f64 {
    0.125 * lambda + 0.5 * ln(lambda) + ln_polya_gamma_density(1.0 / lambda)
}

/// The number of rows of a triangle of this many numbers, if it is one.
pub(super) fn side(length: usize) -> Option<usize> {
    let n = (2.0 * length as f64).sqrt() as usize;
    (n.saturating_sub(1)..=n).find(|&n| n.checked_mul(n + 1) == length.checked_mul(2))
}
