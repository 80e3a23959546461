//! The margins required of rows, for any number of classes.

use super::settings::{FunctionPrior, Settings};
use crate::linalg::Matrix;
use crate::simd::ln;

/// The margins of a function: for rows of its own class, and for all others.
///
/// With two classes, the one function has margin 1 on both sides, as published. Each of C functions has one row in C on
/// its positive side, and the loss has a width of its own, next to which so little passes for noise: functions come out
/// too smooth, or constant. So rows of the own class get the margin `A (C - 1)` and all others A, the code of Lee, Lin
/// and Wahba (2004), whose functions sum to zero.
///
/// A keeps the balance of function and noise that two classes have. A constant function leaves each row of its class `A
/// C` short of its margin, which costs `u A` per function value, where u is the steep slope of the loss. Functions that
/// fit every row separately, as they must where kernels find no two rows similar, pay half the logarithm of their
/// variance, `A^2 (C - 1)`, per value. So A is chosen such that `u A - ln A - ln(C - 1) / 2` has its value for C = 2
/// and A = 1: 2.73 by default, of which 0.87 is used up by terms that are the same for any A and C. With A = 1 and 40
/// classes it is 0.90, and nothing is left: chains that reached a constant stayed there.
///
/// Numbers have no margins; their variance is 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Margins {
    own: f64,
    other: f64,
}

impl Margins {
    pub(super) fn new(n_functions: usize, settings: &Settings) -> Margins {
        if settings.prior == FunctionPrior::Paper || settings.noise.is_some() || n_functions < 3 {
            return Margins { own: 1.0, other: 1.0 };
        }
        let (classes, steep) = (n_functions as f64, settings.rate().sqrt() + 1.0);
        let mut other = 1.0;
        // Fixed-point iteration: each round shrinks the error by 1 / (u A), at most a half.
        for _ in 0..60 {
            other = 1.0 + (ln(other) + 0.5 * ln(classes - 1.0)) / steep;
        }
        Margins { own: other * (classes - 1.0), other }
    }

    /// The margins times the signs, for each function (rows) and row (columns).
    pub(super) fn signed(self, sides: &Matrix) -> Matrix {
        let signed = |c, i| if sides.get(c, i) > 0.0 { self.own } else { -self.other };
        Matrix::from_fn(sides.n_rows(), sides.n_cols(), signed)
    }

    /// Their mean square over all functions and rows, `(own^2 + (C - 1) other^2) / C`: the variance of functions that
    /// just meet their margins.
    pub(super) fn variance(self) -> f64 {
        self.own * self.other
    }
}
