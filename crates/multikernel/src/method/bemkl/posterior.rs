//! The distributions that a round of updates infers.

use super::Prior;
use crate::linalg::Matrix;
use crate::simd::ln;

/// log(2 pi), the same on every system.
pub(super) const LN_TAU: f64 = 1.837_877_066_409_345_5;

/// The distribution of a precision: gamma, of the prior's shape and a half, and of this scale.
#[derive(Clone, Copy, Debug)]
pub(super) struct Precision {
    prior: Prior,
    scale: f64,
}

impl Precision {
    /// The best one given the mean square of the normal variable it is the precision of.
    pub(super) fn given(prior: Prior, square: f64) -> Precision {
        Precision { prior, scale: 1.0 / (1.0 / prior.scale + 0.5 * square) }
    }

    pub(super) fn mean(&self) -> f64 {
        (self.prior.shape + 0.5) * self.scale
    }

    /// What the precision and the prior of its normal variable, whose mean square is `square` by now, bring to the
    /// bound.
    pub(super) fn term(&self, square: f64) -> f64 {
        let shape = self.prior.shape + 0.5;
        let rest = 1.0 - self.scale * (1.0 / self.prior.scale + 0.5 * square);
        shape * (ln(self.scale) + rest) + self.prior.constant - 0.5 * LN_TAU
    }
}

/// The outputs of single kernels: means P x c N, problem after problem, and the covariance between kernels, which is
/// the same for all rows and problems.
pub(super) struct Outputs {
    pub(super) means: Matrix,
    pub(super) covariance: Matrix,
    pub(super) ln_determinant: f64,
}

/// Biases and kernel weights.
pub(super) struct Weights {
    pub(super) means: Vec<f64>,
    pub(super) covariance: Matrix,
    pub(super) ln_determinant: f64,
    /// Of the c biases, then of the kernel weights.
    pub(super) precisions: Vec<Precision>,
}

/// The sample weights of one problem.
pub(super) struct Samples {
    pub(super) means: Vec<f64>,
    pub(super) variances: Vec<f64>,
    pub(super) ln_determinant: f64,
    pub(super) precisions: Vec<Precision>,
    /// `sum_m K_m g_m` of the outputs.
    pub(super) collected: Vec<f64>,
    /// `sum_m |K_m a|^2` of the means.
    pub(super) power: f64,
}
