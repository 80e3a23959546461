//! The quantities kernels are functions of.

use crate::linalg::dot;

/// The quantity a kernel is a function of, for two rows `x` and `y` restricted to the kernel's columns.
///
/// Kernels with equal base and equal [`Columns`](super::Columns) share one computation of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// `|x - y|^2`.
    SquaredDistance,
    /// `|x - y|_1`, the sum of absolute differences.
    L1Distance,
    /// `x'y`.
    InnerProduct,
    /// `x'y / (|x| |y|)`, 0 where either row is zero.
    Cosine,
    /// `t = (1 + x'y) / sqrt((1 + |x|^2)(1 + |y|^2))`.
    ShiftedCosine,
    /// The entry `g(x, y)` of a given Gram matrix.
    Given,
    /// `g(x, y) / sqrt(g(x, x) g(y, y))`, 0 where either is 0.
    GivenCosine,
}

impl Base {
    /// The base quantity of two rows, by definition: for checks and for a few pairs. The stack computes whole blocks.
    /// NaN for a given Gram matrix, which the rows do not determine.
    pub fn between(self, x: &[f64], y: &[f64]) -> f64 {
        let differences = x.iter().zip(y).map(|(x, y)| x - y);
        match self {
            Base::SquaredDistance => differences.map(|d| d * d).sum(),
            Base::L1Distance => differences.map(f64::abs).sum(),
            Base::InnerProduct => dot(x, y),
            Base::Cosine => {
                let lengths = dot(x, x).sqrt() * dot(y, y).sqrt();
                if lengths == 0.0 { 0.0 } else { dot(x, y) / lengths }
            }
            Base::ShiftedCosine => (1.0 + dot(x, y)) / ((1.0 + dot(x, x)) * (1.0 + dot(y, y))).sqrt(),
            Base::Given | Base::GivenCosine => f64::NAN,
        }
    }
}
