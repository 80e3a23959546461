//! The distributions inferred in a round of updates.

use super::Prior;
use crate::linalg::Matrix;
use crate::simd::ln;

/// log(2 pi), the same on every system.
pub(super) const LN_TAU: f64 = 1.837_877_066_409_345_5;

/// The distribution of a precision: gamma, with the prior's shape plus a half, and this scale.
#[derive(Clone, Copy, Debug)]
pub(super) struct Precision {
    prior: Prior,
    scale: f64,
}

impl Precision {
    /// The optimal one given the mean square of the normal variable it is the precision of.
    pub(super) fn given(prior: Prior, square: f64) -> Precision {
        Precision { prior, scale: 1.0 / (1.0 / prior.scale + 0.5 * square) }
    }

    pub(super) fn mean(&self) -> f64 {
        (self.prior.shape + 0.5) * self.scale
    }

    /// The contribution to the bound of the precision and of the prior of its normal variable, whose mean square is now
    /// `square`.
    pub(super) fn term(&self, square: f64) -> f64 {
        let shape = self.prior.shape + 0.5;
        let rest = 1.0 - self.scale * (1.0 / self.prior.scale + 0.5 * square);
        shape * (ln(self.scale) + rest) + self.prior.constant - 0.5 * LN_TAU
    }
}

/// The outputs of single kernels: means P x c N, problem by problem, and the covariance between kernels, which is the
/// same for all rows and problems.
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
    /// For the c biases, then the kernel weights.
    pub(super) precisions: Vec<Precision>,
}

/// The sample weights of one problem.
pub(super) struct Samples {
    pub(super) means: Vec<f64>,
    pub(super) variances: Vec<f64>,
    pub(super) ln_determinant: f64,
    pub(super) precisions: Vec<Precision>,
    /// `sum_m K_m g_m` over the outputs.
    pub(super) collected: Vec<f64>,
    /// `sum_m |K_m a|^2` at the means.
    pub(super) power: f64,
}
