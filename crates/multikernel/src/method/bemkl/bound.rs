//! The lower bound on the evidence, which every update raises.

use super::posterior::{LN_TAU, Outputs, Precision, Samples, Weights};
use super::update::Decisions;
use crate::linalg::dot;
use crate::simd::ln;

/// The distributions after a round.
pub(super) struct Bound<'a> {
    pub(super) noise: f64,
    pub(super) outputs: &'a Outputs,
    pub(super) weights: &'a Weights,
    pub(super) samples: &'a [Samples],
}

impl Bound<'_> {
    /// `E[ln p] - E[ln q]`: classes add the summed log probability of their sides and lose half the spread; of numbers
    /// both are in what they add.
    pub(super) fn value(&self, decisions: &Decisions) -> f64 {
        let samples: f64 = self.samples.iter().map(samples).sum();
        samples + self.outputs() + self.weights() + decisions.ln_target - 0.5 * decisions.spread
    }

    /// Outputs given sample weights.
    fn outputs(&self) -> f64 {
        let Outputs { means, ln_determinant, .. } = self.outputs;
        let (n_kernels, rows) = (means.n_rows() as f64, means.n_cols() as f64);
        let entropy = 0.5 * rows * (n_kernels + ln_determinant - n_kernels * ln(self.noise));
        entropy - 0.5 * self.misfit()
    }

    /// `E|g - K a|^2` over the noise, summed over kernels, rows and problems.
    pub(super) fn misfit(&self) -> f64 {
        let Outputs { means, covariance, .. } = self.outputs;
        let rows = means.n_cols() as f64;
        let trace: f64 = (0..means.n_rows()).map(|m| covariance.get(m, m)).sum();
        let size = dot(means.data(), means.data()) + rows * trace;
        // E|K a|^2 - 2 g'K a; the variance of the sample weights enters as a trace, which their precision simplifies.
        let fit = |samples: &Samples| {
            let of_precision: f64 = samples.precisions.iter().zip(&samples.variances).map(|(p, v)| p.mean() * v).sum();
            let variance = self.noise * (samples.means.len() as f64 - of_precision);
            samples.power + variance - 2.0 * dot(&samples.means, &samples.collected)
        };
        (size + self.samples.iter().map(fit).sum::<f64>()) / self.noise
    }

    /// Biases and kernel weights.
    fn weights(&self) -> f64 {
        let Weights { means, covariance, ln_determinant, precisions } = self.weights;
        let term = |(k, precision): (usize, &Precision)| precision.term(means[k].powi(2) + covariance.get(k, k));
        precisions.iter().enumerate().map(term).sum::<f64>() + normal_entropy(means.len(), *ln_determinant)
    }
}

/// The variance of `e'g + b`, summed over all rows and problems; `precision` is that of the noise on decisions with
/// which the weights were inferred. As `S^-1 = precision sum E[v v'] + L`, `v = (1, g)`, the trace of `S sum E[v v']` is
/// that of `(I - L S) / precision`.
pub(super) fn spread(outputs: &Outputs, weights: &Weights, precision: f64) -> f64 {
    let Weights { means, covariance, precisions, .. } = weights;
    let (n_kernels, rows) = (outputs.means.n_rows(), outputs.means.n_cols() as f64);
    let own: f64 = precisions.iter().enumerate().map(|(k, p)| p.mean() * covariance.get(k, k)).sum();
    let weights = &means[means.len() - n_kernels..];
    let of_outputs: f64 = outputs.covariance.rows().zip(weights).map(|(row, &weight)| weight * dot(row, weights)).sum();
    (means.len() as f64 - own) / precision + rows * of_outputs
}

fn samples(samples: &Samples) -> f64 {
    let Samples { means, variances, precisions, ln_determinant, .. } = samples;
    let squares = means.iter().zip(variances).map(|(mean, variance)| mean * mean + variance);
    precisions.iter().zip(squares).map(|(precision, square)| precision.term(square)).sum::<f64>()
        + normal_entropy(means.len(), *ln_determinant)
}

fn normal_entropy(n: usize, ln_determinant: f64) -> f64 {
    0.5 * (n as f64 * (1.0 + LN_TAU) + ln_determinant)
}
