//! Times to an event from given kernel weights: Cox's model with log risks `f ~ N(0, a K)`, `K = sum_m w_m K_m`, whose
//! amplitude `a` maximises Laplace's approximation of the evidence. What a C-SVC is to classes, this is to times.
//!
//! The log risks at the maximum are `f = a K b` with `b` the slope of the partial likelihood there; Newton's steps are
//! `b - a L (I + a L'K L)^-1 L'K b` for `b = W f + slope`, where `W = L L'` is the curvature.

mod likelihood;
mod model;
mod sums;
#[cfg(test)]
mod tests;

pub(in crate::method) use likelihood::{PartialLikelihood, partial_log_likelihood, residuals};
pub use model::CoxModel;
pub(in crate::method) use sums::{Hazards, RiskSums, RowHazards};

use super::search::{Search, best};
use crate::data::Times;
use crate::error::{Error, Result};
use crate::file::{Cache, record};
use crate::linalg::{Matrix, dot};
use crate::run::{Control, Progress, Task};
use crate::simd::exp;
use crate::solve::cholesky::Cholesky;
use crate::solve::product::congruence;

record! {
    /// The amplitudes tried so far and the evidence of each.
    #[derive(Clone, Debug)]
    pub struct CoxState {
        weights: Vec<f64>,
        /// `ln a`, relative to the mean diagonal of the combined kernel.
        tried: Vec<f64>,
        evidence: Vec<f64>,
        /// `b` of the last amplitude tried, where the next one starts.
        slope: Vec<f64>,
        gram: Cache<Matrix>,
    }
}

/// The search for `ln a`: log risks with a standard deviation from 2 % to a factor of seven.
const SEARCH: Search = Search { grid: &[-8.0, -6.0, -4.0, -2.0, 0.0, 2.0, 4.0], evaluations: 13, width: 0.05 };
/// The amplitude of a run that was stopped before the first evaluation.
const DEFAULT: f64 = -2.0;
/// Newton's steps at most, and the accuracy of the slope.
const STEPS: usize = 50;
const ACCURACY: f64 = 1e-10;
/// A step with an earlier curvature takes N^2 operations, where a new one takes N^3: it is renewed where a step leaves more
/// of the gap.
const SLOW: f64 = 0.2;
/// Parts of a step that are not tried.
const SHORTEST: f64 = 1e-12;
/// Added to the diagonal of the curvature, relative to its mean: adding the same to all log risks changes nothing, so
/// the curvature is singular.
const RIDGE: f64 = 1e-9;

/// The model at one amplitude.
struct Fit {
    /// `b`, at all rows.
    slope: Vec<f64>,
    /// `f`.
    risks: Vec<f64>,
    amplitude: f64,
    evidence: f64,
    converged: bool,
}

/// The times to predict.
pub(in crate::method) fn times<'a>(task: &Task<'a>) -> Result<&'a Times> {
    task.target.times().ok_or_else(|| Error::input("the rows have no times to predict"))
}

impl CoxState {
    pub(in crate::method) fn new(weights: Vec<f64>, task: &Task<'_>) -> Result<CoxState> {
        if times(task)?.n_events() == 0 {
            return Err(Error::input("no training row has an event; nothing can be learned from censored rows alone"));
        }
        Ok(CoxState { weights, tried: vec![], evidence: vec![], slope: vec![], gram: Cache::default() })
    }

    pub(in crate::method) fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Whether any amplitude was tried.
    pub(in crate::method) fn is_begun(&self) -> bool {
        !self.tried.is_empty()
    }

    /// Checks that the arrays of a stored state fit the task.
    pub(in crate::method) fn fits(&self, task: &Task<'_>) -> Result<()> {
        let fits = self.weights.len() == task.stack()?.n_kernels()
            && SEARCH.fits(&self.tried, &self.evidence)
            && [0, task.n_samples()].contains(&self.slope.len())
            && self.slope.iter().all(|value| value.is_finite());
        if fits { Ok(()) } else { Err(Error::input("the checkpoint's arrays do not fit the data; start anew")) }
    }

    /// Tries one amplitude.
    pub(in crate::method) fn advance(&mut self, task: &Task<'_>, control: &Control) -> Result<Progress> {
        let Some(next) = SEARCH.next(&self.tried, &self.evidence) else { return Ok(Progress::of(1, 1)) };
        let weights = &self.weights;
        let gram = self.gram.get_or_make(|| combined(weights, task))?;
        let starts = starts(&self.slope, self.tried.last(), next);
        let fit = match fit(gram, next, &starts, task, &|| control.stop().is_some()) {
            Err(Error::Stopped(_)) => return Ok(Progress::cancelled()),
            fit => fit?,
        };
        self.tried.push(next);
        self.evidence.push(fit.evidence);
        self.slope = fit.slope;
        let done = self.tried.len();
        let total = if SEARCH.next(&self.tried, &self.evidence).is_none() { done } else { SEARCH.evaluations };
        Ok(Progress::of(done, total).with("evidence", self.evidence[best(&self.evidence)]))
    }

    /// The model at the best amplitude.
    pub(in crate::method) fn model(mut self, task: &Task<'_>) -> Result<CoxModel> {
        let (tried, most) = (self.tried.len(), SEARCH.evaluations);
        let finished = SEARCH.next(&self.tried, &self.evidence).is_none();
        let at = if self.tried.is_empty() { DEFAULT } else { self.tried[best(&self.evidence)] };
        let weights = &self.weights;
        let gram = self.gram.get_or_make(|| combined(weights, task))?;
        let fit = fit(gram, at, &starts(&self.slope, self.tried.last(), at), task, &|| false)?;
        let mut warnings = vec![];
        if !finished {
            warnings.push(format!(
                "stopped after {tried} of {most} amplitudes were tried: the best of these was taken; give it more time"
            ));
        }
        if !fit.converged {
            warnings
                .push("the partial likelihood did not converge; use kernels that are positive semi-definite".into());
        }
        CoxModel::new(self.weights, &fit, task, warnings)
    }
}

/// The combined kernel of the training rows.
fn combined(weights: &[f64], task: &Task<'_>) -> Result<Matrix> {
    let column = Matrix::from_vec(weights.len(), 1, weights.to_vec())?;
    Ok(task.stack()?.combine(&column, task.pool)?.remove(0))
}

/// Where the steps of one amplitude may begin after another: at its `b`, which serves where amplitudes are small, and at its
/// log risks, which serve where they are large.
fn starts(slope: &[f64], last: Option<&f64>, next: f64) -> Vec<Vec<f64>> {
    let Some(last) = last else { return vec![] };
    let ratio = exp(last - next);
    vec![slope.to_vec(), slope.iter().map(|b| ratio * b).collect()]
}

/// The largest penalised partial likelihood at `ln a`, relative to the mean diagonal entry of the kernel, by Newton's
/// steps from the best of some slopes and 0, with a curvature that is renewed where it has to be; each is shortened until
/// the likelihood rises.
fn fit(
    gram: &Matrix,
    ln_amplitude: f64,
    starts: &[Vec<f64>],
    task: &Task<'_>,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Fit> {
    let (n, likelihood) = (gram.n_rows(), PartialLikelihood::new(times(task)?));
    let size = (0..n).map(|i| gram.get(i, i).abs()).sum::<f64>() / n.max(1) as f64;
    let amplitude = exp(ln_amplitude) / if size > 0.0 { size } else { 1.0 };
    let at = |slope: &[f64]| -> (Vec<f64>, f64) {
        let along = gram.times(slope);
        let penalty = 0.5 * amplitude * dot(slope, &along);
        (along.iter().map(|value| amplitude * value).collect(), penalty)
    };
    let mut slope = vec![0.0; n];
    let (mut f, mut penalty) = at(&slope);
    let mut here = likelihood.slope(&f);
    for start in starts.iter().filter(|start| start.len() == n) {
        let (risks, cost) = at(start);
        let there = likelihood.slope(&risks);
        if there.value - cost > here.value - penalty {
            (slope, f, penalty, here) = (start.clone(), risks, cost, there);
        }
    }
    let curved = |f: &[f64]| curved(&likelihood, f, gram, amplitude, task, stop);
    let (mut lower, mut factor) = curved(&f)?;
    let (mut last_gap, mut converged) = (f64::INFINITY, false);
    for step in 0..=STEPS {
        let gap = slope.iter().zip(&here.gradient).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        converged = gap < ACCURACY;
        let is_last = converged || step == STEPS;
        if step > 0 && (is_last || gap > SLOW * last_gap) {
            (lower, factor) = curved(&f)?;
        }
        if is_last {
            break;
        }
        last_gap = gap;
        let wanted = newton(&lower, &factor, &f, &here.gradient, gram, amplitude)?;
        let before = here.value - penalty;
        let mut length = 1.0;
        loop {
            let tried: Vec<f64> = slope.iter().zip(&wanted).map(|(a, b)| a + length * (b - a)).collect();
            let (risks, cost) = at(&tried);
            let there = likelihood.slope(&risks);
            let now = there.value - cost;
            // Rounding may lower it by a hair at the top.
            if now >= before - 1e-12 * before.abs() || (length < 1e-4 && now.is_finite()) {
                (slope, f, penalty, here) = (tried, risks, cost, there);
                break;
            }
            length *= 0.5;
            // There is no way from here with this curvature.
            if length < SHORTEST {
                break;
            }
        }
    }
    // Laplace: ln p(data | f) + ln p(f) - ln |I + a L'K L| / 2.
    let evidence = here.value - penalty - 0.5 * factor.log_determinant();
    Ok(Fit { slope, risks: f, amplitude, evidence, converged })
}

/// The factor L of the curvature, and that of `I + a L'K L`.
fn curved(
    likelihood: &PartialLikelihood,
    f: &[f64],
    gram: &Matrix,
    amplitude: f64,
    task: &Task<'_>,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<(Matrix, Cholesky)> {
    let n = f.len();
    let mut curvature = likelihood.curvature(f);
    let mean = (0..n).map(|i| curvature.get(i, i)).sum::<f64>() / n.max(1) as f64;
    let ridge = RIDGE * mean.max(f64::MIN_POSITIVE);
    (0..n).for_each(|i| curvature.set(i, i, curvature.get(i, i) + ridge));
    let lower = lower_of(&Cholesky::new(curvature, task.pool, stop)?);
    let mut inner = congruence(&lower, gram, task.pool, stop)?;
    inner.data_mut().iter_mut().for_each(|value| *value *= amplitude);
    (0..n).for_each(|i| inner.set(i, i, 1.0 + inner.get(i, i)));
    Ok((lower, Cholesky::new(inner, task.pool, stop)?))
}

/// The lower triangle of a factor, zeros above it.
fn lower_of(factor: &Cholesky) -> Matrix {
    let lower = factor.lower();
    Matrix::from_fn(factor.size(), factor.size(), |i, j| if j <= i { lower.get(i, j) } else { 0.0 })
}

/// `b - a L (I + a L'K L)^-1 L'K b` with `b = L L' f + slope`.
fn newton(
    lower: &Matrix,
    factor: &Cholesky,
    f: &[f64],
    slope: &[f64],
    gram: &Matrix,
    amplitude: f64,
) -> Result<Vec<f64>> {
    let turned = lower.transposed();
    let curved = lower.times(&turned.times(f));
    let b: Vec<f64> = curved.iter().zip(slope).map(|(a, b)| a + b).collect();
    let right = turned.times(&gram.times(&b));
    let solved = factor.solve(&Matrix::from_vec(right.len(), 1, right)?)?;
    let back = lower.times(solved.data());
    Ok(b.iter().zip(back).map(|(b, back)| b - amplitude * back).collect())
}
