//! The normal distribution times the loss of one row.

use crate::dist::{inverse_mills, ln_normal_cdf, normal_quantile_of_ln};
use crate::simd::{exp, ln};

/// ln sqrt(2 pi).
const LN_ROOT_TAU: f64 = 0.918_938_533_204_672_8;
/// The least probability of a side that is known only as the rest of the other.
const LEAST_REST: f64 = 1e-17;

/// A place in a distribution: the probabilities below and above it. Both, because the small one is the accurate one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) below: f64,
    pub(super) above: f64,
}

/// The law of `z = y f` of one row with density in the ratio of `N(z; m, s^2) exp(-zeta - root |zeta|)`, `zeta = o - z`:
/// a normal distribution times an exponential one on either side of o.
pub(super) struct Margin {
    o: f64,
    below: Side,
    above: Side,
    /// The logarithm of the integral of the product.
    pub(super) ln_mass: f64,
}

/// `N(t; m, s^2) exp(-slope t)` for `t > 0`: a normal distribution around `-x s` beyond 0.
struct Side {
    x: f64,
    deviation: f64,
    /// ln P(Z > x).
    ln_beyond: f64,
    /// The logarithm of its integral.
    ln_mass: f64,
}

impl Margin {
    pub(super) fn new(mean: f64, deviation: f64, o: f64, root: f64) -> Margin {
        let below = Side::new(o - mean, deviation, root + 1.0);
        let above = Side::new(mean - o, deviation, root - 1.0);
        let (less, more) = (below.ln_mass.min(above.ln_mass), below.ln_mass.max(above.ln_mass));
        Margin { o, below, above, ln_mass: more + ln(1.0 + exp(less - more)) }
    }

    /// Where z is in this law.
    pub(super) fn place(&self, z: f64) -> Place {
        if z < self.o {
            let below = exp(self.below.ln_mass - self.ln_mass + self.below.ln_above(self.o - z)).min(1.0);
            Place { below: below.max(f64::MIN_POSITIVE), above: (1.0 - below).max(LEAST_REST) }
        } else {
            let above = exp(self.above.ln_mass - self.ln_mass + self.above.ln_above(z - self.o)).min(1.0);
            Place { below: (1.0 - above).max(LEAST_REST), above: above.max(f64::MIN_POSITIVE) }
        }
    }

    /// The z at a place: the inverse of [`Margin::place`].
    pub(super) fn at(&self, place: Place) -> f64 {
        let above = ln(place.above) - (self.above.ln_mass - self.ln_mass);
        if above <= 0.0 {
            return self.o + self.above.at(above);
        }
        self.o - self.below.at((ln(place.below) - (self.below.ln_mass - self.ln_mass)).min(0.0))
    }
}

impl Side {
    fn new(mean: f64, deviation: f64, slope: f64) -> Side {
        let x = slope * deviation - mean / deviation;
        let ln_beyond = ln_normal_cdf(-x);
        // exp(slope (slope s^2 / 2 - m)) P(Z > x); where both factors are extreme, in terms of their ratio.
        let ln_mass = if x >= 0.0 {
            -0.5 * (mean / deviation) * (mean / deviation) - LN_ROOT_TAU - ln(inverse_mills(-x))
        } else {
            slope * (0.5 * slope * deviation * deviation - mean) + ln_beyond
        };
        Side { x, deviation, ln_beyond, ln_mass }
    }

    /// ln P(T > t).
    fn ln_above(&self, t: f64) -> f64 {
        ln_normal_cdf(-self.x - t / self.deviation) - self.ln_beyond
    }

    /// The t with ln P(T > t) = `ln_above`.
    fn at(&self, ln_above: f64) -> f64 {
        ((-self.x - normal_quantile_of_ln(ln_above + self.ln_beyond)) * self.deviation).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean, deviation, o and root of laws with little and much of either side, and with both far out.
    const LAWS: [[f64; 4]; 7] = [
        [0.3, 0.7, 1.0, 1.0],
        [-2.0, 1.5, 1.0, 1.0],
        [40.0, 50.0, 1.0, 1.0],
        [-90.0, 30.0, 1.0, 1.0],
        [5.0, 0.2, 1.0, 1.0],
        [0.4, 2.0, -0.7, 2.236],
        [-30.0, 4.0, 0.2, 2.236],
    ];

    fn density([mean, deviation, o, root]: [f64; 4], z: f64) -> f64 {
        let (far, zeta) = ((z - mean) / deviation, o - z);
        (-0.5 * far * far - LN_ROOT_TAU - zeta - root * zeta.abs()).exp() / deviation
    }

    /// The integral of a density from `from` to `to`, by Simpson's rule on either side of o.
    fn integral(law: [f64; 4], from: f64, to: f64) -> f64 {
        let simpson = |from: f64, to: f64| {
            let (n, h) = (20_000, (to - from) / 20_000.0);
            let weight = |k: usize| if k == 0 || k == n { 1.0 } else { [2.0, 4.0][k % 2] };
            (0..=n).map(|k| weight(k) * density(law, from + h * k as f64)).sum::<f64>() * h / 3.0
        };
        let o = law[2];
        if from < o && to > o { simpson(from, o) + simpson(o, to) } else { simpson(from, to) }
    }

    #[test]
    fn masses_and_places_are_integrals_of_the_density() {
        for law in LAWS {
            let [mean, deviation, o, root] = law;
            let margin = Margin::new(mean, deviation, o, root);
            // All the mass: of the normal distribution, and of those around which the exponentials put it.
            let (low, high) =
                (mean.min(o) - 12.0 * deviation, mean.max(o) + 12.0 * deviation + 4.0 * deviation.powi(2));
            let mass = integral(law, low, high);
            assert!((margin.ln_mass - mass.ln()).abs() < 1e-7, "{law:?}: {} {}", margin.ln_mass, mass.ln());
            for part in [0.02, 0.3, 0.8, 0.995] {
                let z = margin.at(Place { below: part, above: 1.0 - part });
                let found = integral(law, low, z) / mass;
                assert!((found - part).abs() < 1e-6, "{law:?} {part}: {z} {found}");
            }
        }
    }

    #[test]
    fn places_are_found_again() {
        for law in LAWS {
            let [mean, deviation, o, root] = law;
            let margin = Margin::new(mean, deviation, o, root);
            for part in [1e-12, 1e-5, 0.1, 0.5, 0.9, 1.0 - 1e-6] {
                let z = margin.at(Place { below: part, above: 1.0 - part });
                let again = margin.at(margin.place(z));
                assert!((again - z).abs() < 1e-8 * (1.0 + deviation), "{law:?} {part}: {z} {again}");
            }
            // Far above, where the probability below is 1.
            let z = mean.max(o) + 20.0 * deviation;
            let again = margin.at(margin.place(z));
            assert!((again - z).abs() < 1e-8 * (1.0 + z.abs()), "{law:?}: {z} {again}");
        }
    }
}
