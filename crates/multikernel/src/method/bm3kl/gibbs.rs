//! Updates given the kernel weights: the functions, then the scales of the loss.

use std::sync::Arc;

use super::chain::{Draw, Latent};
use super::density::{FunctionPosterior, Point, Problem};
use super::distinct::Seen;
use super::hmc::{log_prior, no_density};
use super::settings::{FunctionPrior, MIN_LAMBDA};
use super::{logit, numbers};
use crate::dist::{Rng, gamma, half_gig, ln_normal_cdf, normal, normals};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::method::factor::Factor;
use crate::pool::Pool;
use crate::simd::{exp, ln};
use crate::solve::cholesky::Cholesky;

/// Updates the functions, then the scales, of one chain at its current weights. `keep`: predictions will use the draw.
pub(super) fn update(
    problem: &Problem<'_>,
    latent: &mut Latent,
    (point, accepted): &(Point, f64),
    rng: &mut Rng,
    keep: bool,
    pool: &Pool,
) -> Result<Draw> {
    let mut draw = Draw {
        weights: latent.weights(),
        log_nu: latent.log_nu.clone(),
        log_posterior: log_posterior(problem, latent, point),
        accepted: *accepted,
        coef: Matrix::zeros(problem.n_functions(), problem.n()),
        bias: vec![],
        held_out: vec![],
        log_ratios: vec![],
        factors: vec![],
        functions: Matrix::zeros(problem.n_functions(), problem.n()),
    };
    let root = match problem.settings.prior {
        FunctionPrior::Gp => Some(root(problem, latent, point, pool)?),
        FunctionPrior::Paper => None,
    };
    let mut biases = vec![];
    for (c, part) in point.parts.iter().enumerate() {
        if keep && problem.settings.holds_factors() {
            draw.factors.extend(part.factor.packed()?);
        } else if keep {
            leave_out(problem, latent, part, c, pool, &mut draw)?;
        }
        let (f, bias) = match &root {
            Some(root) => gaussian(problem, latent, part, c, root, rng, &mut draw)?,
            None => shrunk(problem, latent, point, c, rng, &mut draw)?,
        };
        draw.functions.row_mut(c).copy_from_slice(&f);
        biases.push(bias);
        if problem.settings.holds_factors() {
            continue;
        }
        let (rate, (least, _)) = (problem.settings.rate(), problem.settings.bounds());
        let margins = problem.margin.row(c).iter().zip(&f);
        for (lambda, (margin, f)) in latent.lambda.row_mut(c).iter_mut().zip(margins) {
            *lambda = half_gig(rng, rate, (margin - f) * (margin - f)).max(least);
        }
    }
    if problem.settings.is_logit() {
        logit::update(problem, latent, &mut draw.functions, &biases, rng)?;
    }
    if let Some(noise) = problem.settings.noise {
        numbers::update(problem, noise, latent, &draw.functions, rng)?;
    }
    Ok(draw)
}

/// The factor of `H + j I`, used to draw functions from the prior.
fn root(problem: &Problem<'_>, latent: &Latent, point: &Point, pool: &Pool) -> Result<Factor> {
    let weights: Vec<f64> = latent.weights().iter().map(|weight| problem.scale * weight).collect();
    // Next to the loss, a Gram matrix that is slightly indefinite goes unnoticed; here it does not.
    for more in [1.0, 10.0, 100.0, 1000.0] {
        let diagonal = vec![more * problem.jitter(); problem.distinct.n()];
        let factor = match &point.kernel {
            Some(kernel) => Cholesky::of_sum(kernel, 1.0, 0.0, &diagonal, pool, problem.stop).map(Factor::Here),
            None => problem
                .stack
                .factor_of_sum_there(&weights, (1.0, 0.0), &diagonal, problem.pool)
                .map(|factor| Factor::There(Arc::new(factor))),
        };
        match factor {
            Err(Error::NotDefinite { .. }) => {}
            factor => return factor,
        }
    }
    Err(no_density())
}

/// The log density of the chain's variables with the functions integrated out, without its constant.
fn log_posterior(problem: &Problem<'_>, latent: &Latent, point: &Point) -> f64 {
    let settings = problem.settings;
    // nu ~ Gamma(1, vs), vs ~ Gamma(beta, kappa), with vs integrated out.
    let shrunk = |nu: &f64| -(settings.beta + 1.0) * ln(nu + settings.kappa);
    let lambda = latent.lambda.data();
    let scales = match settings.noise {
        Some(noise) => noise.log_scales(&latent.lambda),
        None if settings.is_logit() => lambda.iter().map(|&lambda| logit::log_scale(lambda)).sum::<f64>(),
        None => -settings.gamma0 * lambda.iter().sum::<f64>(),
    };
    point.likelihood
        + log_prior(problem, &latent.x, &latent.log_nu)
        + scales
        + latent.nu.data().iter().map(shrunk).sum::<f64>()
}

/// Leave-one-out predictions of a function. From all other points: normal with mean `t_i - al_i / (S^-1)_ii` and
/// variance `1 / (S^-1)_ii - lambda_i`; other rows of the same point are then added.
fn leave_out(
    problem: &Problem<'_>,
    latent: &Latent,
    part: &FunctionPosterior,
    c: usize,
    pool: &Pool,
    draw: &mut Draw,
) -> Result<()> {
    let computed;
    let diagonal = if part.diagonal.is_empty() {
        computed = part.factor.diagonal_of_inverse(pool, problem.stop)?;
        &computed
    } else {
        &part.diagonal
    };
    let (t, s) = (problem.observed(latent, &latent.log_nu, c).t, problem.settings.rate().sqrt());
    let lambda = latent.lambda.row(c);
    let seen = problem.seen(latent, c);
    let points = diagonal.iter().zip(&part.solved).zip(seen.t.iter().zip(&seen.lambda));
    let others: Vec<(f64, f64)> = points
        .map(|((diagonal, al), (t, lambda))| (t - al / diagonal, (1.0 / diagonal - lambda).max(MIN_LAMBDA)))
        .collect();
    draw.log_ratios.resize(problem.n(), 0.0);
    for (i, others) in problem.distinct.at_rows(others).into_iter().enumerate() {
        let (mean, variance) = problem.distinct.beside(i, others, &t, lambda);
        let gap = problem.sign.get(c, i) * (problem.margin.get(c, i) - mean);
        draw.held_out.push(mean);
        draw.log_ratios[i] -= ln_expected_loss(gap, variance, s);
    }
    Ok(())
}

/// The logarithm of the mean of `exp(-zeta - s |zeta|)`, the loss without its scale, over zeta ~ N(mean, variance).
pub(super) fn ln_expected_loss(mean: f64, variance: f64, s: f64) -> f64 {
    let sd = variance.sqrt();
    let (up, down) = (s + 1.0, s - 1.0);
    let above = -up * mean + 0.5 * up * up * variance + ln_normal_cdf((mean - up * variance) / sd);
    let below = down * mean + 0.5 * down * down * variance + ln_normal_cdf(-(mean + down * variance) / sd);
    above.max(below) + ln(1.0 + exp(-(above - below).abs()))
}

/// Turns a prior draw f0 of a function into a posterior draw (Matheron's rule): `q = S^-1 (t - f0 - sqrt(lambda) z)`,
/// and the function at all points, `t - sqrt(lambda) z - lambda q`, which has no cancellation however small lambda is.
fn correction(
    problem: &Problem<'_>,
    latent: &Latent,
    part: &FunctionPosterior,
    c: usize,
    f0: &[f64],
    rng: &mut Rng,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let Seen { t, lambda, .. } = problem.seen(latent, c);
    let shocks = normals(rng, t.len());
    let noisy: Vec<f64> = t.iter().zip(&lambda).zip(shocks).map(|((t, lambda), z)| t - lambda.sqrt() * z).collect();
    let rest: Vec<f64> = noisy.iter().zip(f0).map(|(t, f0)| t - f0).collect();
    let q = part.factor.solve(&Matrix::from_vec(rest.len(), 1, rest)?)?.into_data();
    let f = noisy.iter().zip(&lambda).zip(&q).map(|((t, lambda), q)| t - lambda * q).collect();
    Ok((q, f))
}

/// prior=gp: a draw of `f = g + b` at the training rows, and of b. Predictions use the mean given weights and scales instead,
/// which has less variance.
fn gaussian(
    problem: &Problem<'_>,
    latent: &Latent,
    part: &FunctionPosterior,
    c: usize,
    root: &Factor,
    rng: &mut Rng,
    draw: &mut Draw,
) -> Result<(Vec<f64>, f64)> {
    let (n, tau) = (problem.distinct.n(), problem.settings.tau);
    let nu = exp(latent.log_nu[0]);
    let z: Vec<f64> = normals(rng, n).iter().map(|z| nu.sqrt() * z).collect();
    let bias = tau.sqrt() * normal(rng);
    let f0: Vec<f64> = root.multiply_lower(&z)?.iter().map(|g| g + bias).collect();
    let (q, f) = correction(problem, latent, part, c, &f0, rng)?;
    // The first row of a point represents all its rows.
    let row = draw.coef.row_mut(c);
    problem.distinct.first().iter().zip(&part.solved).for_each(|(&i, al)| row[i] = problem.scale * nu * al);
    draw.bias.push(tau * part.solved.iter().sum::<f64>());
    Ok((problem.distinct.at_rows(f), bias + tau * q.iter().sum::<f64>()))
}

/// prior=paper: a draw of the function and of b by one of `(a, b)`, then of the variances of a.
fn shrunk(
    problem: &Problem<'_>,
    latent: &mut Latent,
    point: &Point,
    c: usize,
    rng: &mut Rng,
    draw: &mut Draw,
) -> Result<(Vec<f64>, f64)> {
    let settings = problem.settings;
    let kernel = point.kernel.as_ref().ok_or_else(no_density)?;
    let nu = latent.nu.row(c);
    let a0: Vec<f64> = nu.iter().zip(normals(rng, nu.len())).map(|(nu, z)| nu.sqrt() * z).collect();
    let bias = settings.tau.sqrt() * normal(rng);
    let f0: Vec<f64> = kernel.times(&a0).iter().map(|f| f + bias).collect();
    let (q, f) = correction(problem, latent, &point.parts[c], c, &f0, rng)?;
    let pulled = kernel.times(&q);
    let a: Vec<f64> = a0.iter().zip(nu).zip(pulled).map(|((a0, nu), pulled)| a0 + nu * pulled).collect();
    let bias = bias + settings.tau * q.iter().sum::<f64>();
    let (_, (least, most)) = settings.bounds();
    for (nu, a) in latent.nu.row_mut(c).iter_mut().zip(&a) {
        let rate = gamma(rng, 1.0 + settings.beta, 1.0 / (*nu + settings.kappa));
        *nu = half_gig(rng, 2.0 * rate, a * a).clamp(least, most);
    }
    draw.coef.row_mut(c).iter_mut().zip(&a).for_each(|(out, a)| *out = problem.scale * a);
    draw.bias.push(bias);
    Ok((f, bias))
}
