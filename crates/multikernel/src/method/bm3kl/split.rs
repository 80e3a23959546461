//! Coordinates in which the prior of the kernel weights is normal, and the exact motion under it (Shahbaba, Lan,
//! Johnson and Neal 2014).
//!
//! Many kernels barely move from their prior. In `log e` it is skew, with a long left tail, and leapfrog steps must
//! resolve it in every direction. Here `e = -ln P(Z > z)`, which is Gamma(1, 1) if z is standard normal: position and
//! momentum turn about the origin, without error, and only the likelihood is left to the leapfrog steps. Their size then
//! depends on what the rows say, not on the number of kernels.
//!
//! With eta other than 1 the map is `log e = c log e_1 + d`, with e_1 as above. The prior of z is no longer normal, and
//! the logarithm of the ratio, `eta log e - e - log e_1 + e_1` up to a constant, joins the likelihood.

use crate::dist::exponential_of_normal;
use crate::simd::{exp, ln, sin_cos};

/// The map from z to `log e`.
#[derive(Clone, Copy, Debug)]
pub(super) struct NormalPrior {
    eta: f64,
    /// c.
    power: f64,
    /// d.
    shift: f64,
}

/// One kernel at z.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mapped {
    /// `log e`.
    pub(super) x: f64,
    /// `d log e / dz`.
    pub(super) slope: f64,
    /// The log of the prior density of z over the normal one, without its constant, and its derivative: 0 with eta = 1.
    pub(super) excess: f64,
    pub(super) by_excess: f64,
}

impl NormalPrior {
    /// Mode and curvature of the prior of `log e` are those of the normal distribution with eta above 1; below, the left
    /// tail is.
    pub(super) fn new(eta: f64) -> NormalPrior {
        NormalPrior { eta, power: if eta > 1.0 { 1.0 / eta.sqrt() } else { 1.0 / eta }, shift: ln(eta) }
    }

    pub(super) fn at(&self, z: f64) -> Mapped {
        let (e_1, hazard) = exponential_of_normal(z);
        let (x_1, slope_1) = (ln(e_1), hazard / e_1);
        let x = self.power * x_1 + self.shift;
        // With eta = 1, no rounding: the excess is exactly 0.
        let e = if self.eta == 1.0 { e_1 } else { exp(x) };
        Mapped {
            x,
            slope: self.power * slope_1,
            excess: (self.eta * x - e) + (e_1 - x_1),
            by_excess: slope_1 * (self.power * (self.eta - e) + (e_1 - 1.0)),
        }
    }
}

/// Position and momentum after this time under the standard normal density: a turn by as many radians.
pub(super) fn turn(z: &mut [f64], momentum: &mut [f64], time: f64) {
    let ([mut sin, mut cos], times) = ([[0.0]; 2], [time]);
    sin_cos(&times, &mut sin, &mut cos);
    let ([sin], [cos]) = (sin, cos);
    for (z, p) in z.iter_mut().zip(momentum) {
        (*z, *p) = (cos * *z + sin * *p, cos * *p - sin * *z);
    }
}
