//! Numbers from given kernel weights: kernel ridge regression as a Gaussian process, `Y ~ N(0, a (K + r I))` with `K =
//! sum_m w_m K_m`, whose amplitude `a` and ratio `r` of noise to amplitude maximise the evidence. What a C-SVC is to
//! classes, this is to numbers.
//!
//! For a given `r` the best amplitude of a column y is `a = y' (K + r I)^-1 y / n`, which leaves one unknown: `ln r` is
//! searched on a grid, then around its best point. Several columns share `r` and have an amplitude each.

mod model;
#[cfg(test)]
mod tests;

pub use model::RidgeModel;

use super::search::{Search, best};
use crate::data::Numbers;
use crate::error::{Error, Result};
use crate::file::{Cache, record};
use crate::linalg::Matrix;
use crate::run::{Control, Progress, Task};
use crate::simd::{exp, ln};
use crate::solve::cholesky::Cholesky;

record! {
    /// The ratios tried so far and the evidence of each.
    #[derive(Clone, Debug)]
    pub struct RidgeState {
        weights: Vec<f64>,
        /// `ln r`, relative to the mean diagonal of the combined kernel.
        tried: Vec<f64>,
        evidence: Vec<f64>,
        gram: Cache<Matrix>,
    }
}

/// The search for `ln r`: from noise that is a millionth of the signal to a signal that is a thousandth of the noise. In
/// the end the bracket is a few percent of r wide, where the evidence is flat.
const SEARCH: Search = Search { grid: &[-13.8, -10.35, -6.9, -3.45, 0.0, 3.45, 6.9], evaluations: 17, width: 0.05 };
/// The ratio of a run that was stopped before the first evaluation.
const DEFAULT: f64 = -2.3;

/// The Gaussian process at one ratio.
struct Fit {
    factor: Cholesky,
    /// `(K + r I)^-1 Y`.
    solved: Matrix,
    amplitudes: Vec<f64>,
    ratio: f64,
    evidence: f64,
}

/// log(2 pi), the same on every system.
const LN_TAU: f64 = 1.837_877_066_409_345_5;

/// The numbers to predict.
pub(in crate::method) fn numbers<'a>(task: &Task<'a>) -> Result<&'a Numbers> {
    task.target.numbers().ok_or_else(|| Error::input("the rows have no numbers to predict"))
}

impl RidgeState {
    pub(in crate::method) fn new(weights: Vec<f64>, task: &Task<'_>) -> Result<RidgeState> {
        numbers(task)?;
        Ok(RidgeState { weights, tried: vec![], evidence: vec![], gram: Cache::default() })
    }

    pub(in crate::method) fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Whether any ratio was tried.
    pub(in crate::method) fn is_begun(&self) -> bool {
        !self.tried.is_empty()
    }

    /// Checks that the arrays of a stored state fit the task.
    pub(in crate::method) fn fits(&self, task: &Task<'_>) -> Result<()> {
        let fits = self.weights.len() == task.stack()?.n_kernels() && SEARCH.fits(&self.tried, &self.evidence);
        if fits { Ok(()) } else { Err(Error::input("the checkpoint's arrays do not fit the data; start anew")) }
    }

    /// Tries one ratio.
    pub(in crate::method) fn advance(&mut self, task: &Task<'_>, control: &Control) -> Result<Progress> {
        let Some(next) = SEARCH.next(&self.tried, &self.evidence) else { return Ok(Progress::of(1, 1)) };
        let weights = &self.weights;
        let gram = self.gram.get_or_make(|| combined(weights, task))?;
        let evidence = match fit(gram, next, task, &|| control.stop().is_some()) {
            Err(Error::Stopped(_)) => return Ok(Progress::cancelled()),
            // Kernels that are not positive semi-definite need more noise.
            Err(Error::NotDefinite { .. }) => f64::NEG_INFINITY,
            fit => fit?.evidence,
        };
        self.tried.push(next);
        self.evidence.push(evidence);
        let done = self.tried.len();
        let total = if SEARCH.next(&self.tried, &self.evidence).is_none() { done } else { SEARCH.evaluations };
        Ok(Progress::of(done, total.max(done)).with("evidence", self.evidence[best(&self.evidence)]))
    }

    /// The model at the best ratio.
    pub(in crate::method) fn model(mut self, task: &Task<'_>) -> Result<RidgeModel> {
        let finished = SEARCH.next(&self.tried, &self.evidence).is_none();
        let at = if self.tried.is_empty() { DEFAULT } else { self.tried[best(&self.evidence)] };
        let weights = &self.weights;
        let gram = self.gram.get_or_make(|| combined(weights, task))?;
        let fit = fit(gram, at, task, &|| false).map_err(|error| match error {
            Error::NotDefinite { .. } => Error::input(
                "no amount of noise makes the combined kernel positive definite; leave out kernels that are not \
                 positive semi-definite (sigmoid, given Gram matrices)",
            ),
            other => other,
        })?;
        let warning = (!finished).then(|| {
            let (n, most) = (self.tried.len(), SEARCH.evaluations);
            format!(
                "stopped after {n} of {most} noise levels were tried: the best of these was taken; give it more time"
            )
        });
        RidgeModel::new(self.weights, fit, task, warning)
    }
}

/// The combined kernel of the training rows.
fn combined(weights: &[f64], task: &Task<'_>) -> Result<Matrix> {
    let column = Matrix::from_vec(weights.len(), 1, weights.to_vec())?;
    Ok(task.stack()?.combine(&column, task.pool)?.remove(0))
}

/// The process at `ln r`, relative to the mean diagonal entry of the kernel.
fn fit(gram: &Matrix, ln_ratio: f64, task: &Task<'_>, stop: &(dyn Fn() -> bool + Sync)) -> Result<Fit> {
    let (y, n) = (numbers(task)?.values(), gram.n_rows());
    let size = (0..n).map(|i| gram.get(i, i).abs()).sum::<f64>() / n.max(1) as f64;
    let ratio = exp(ln_ratio) * if size > 0.0 { size } else { 1.0 };
    let mut sum = gram.clone();
    (0..n).for_each(|i| sum.set(i, i, sum.get(i, i) + ratio));
    let factor = Cholesky::new(sum, task.pool, stop)?;
    let solved = factor.solve(y)?;
    // A column of zeros (a constant target) has no amplitude: the floor keeps its evidence finite.
    let product = |t: usize| (0..n).map(|i| y.get(i, t) * solved.get(i, t)).sum::<f64>() / n as f64;
    let amplitudes: Vec<f64> = (0..y.n_cols()).map(|t| product(t).max(f64::MIN_POSITIVE)).collect();
    let each = |&amplitude: &f64| -0.5 * (n as f64 * (LN_TAU + ln(amplitude) + 1.0) + factor.log_determinant());
    let evidence = amplitudes.iter().map(each).sum();
    Ok(Fit { factor, solved, amplitudes, ratio, evidence })
}
