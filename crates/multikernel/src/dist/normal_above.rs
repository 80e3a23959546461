//! The normal distribution above a bound.

use super::{Rng, normal};
use crate::simd::{exp, ln};

/// A standard normal variate conditioned to be above `bound`: the utility of a probit model given its label.
///
/// By rejection, with at most 3 tries on average: normal variates below a bound of 0.45, shifted exponential ones from
/// there on (Robert 1995). A bound that is NaN or infinite is returned as is.
pub(crate) fn normal_above(rng: &mut Rng, bound: f64) -> f64 {
    if !bound.is_finite() {
        return bound;
    }
    if bound < 0.45 {
        loop {
            let z = normal(rng);
            if z > bound {
                return z;
            }
        }
    }
    // The rate with the highest acceptance probability. For large bounds it is the bound itself, whose square would
    // overflow.
    let rate = if bound < 1e8 { 0.5 * (bound + (bound * bound + 4.0).sqrt()) } else { bound };
    loop {
        let beyond = -ln(1.0 - rng.uniform()) / rate;
        let z = bound + beyond;
        let short = z - rate;
        if 1.0 - rng.uniform() <= exp(-0.5 * short * short) {
            return z;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{assert_law, normal_cdf};
    use super::super::normal_cdf as exact_cdf;
    use super::*;

    #[test]
    fn normal_above_has_its_law() {
        for (stream, bound) in [-30.0, -1.0, 0.0, 0.4, 0.5, 1.3, 4.0].into_iter().enumerate() {
            let mut rng = Rng::new(1, stream as u64);
            let draws: Vec<f64> = (0..50_000).map(|_| normal_above(&mut rng, bound)).collect();
            assert!(draws.iter().all(|&z| z >= bound));
            let tail = exact_cdf(-bound);
            assert_law(&draws, |z| 1.0 - exact_cdf(-z) / tail, &format!("above {bound}"));
        }
        assert!((normal_cdf(1.0) - exact_cdf(1.0)).abs() < 1e-12);
    }

    #[test]
    fn bounds_far_out_are_met() {
        let mut rng = Rng::new(2, 0);
        for bound in [40.0, 1e6, 1e9, 1e300] {
            let z = normal_above(&mut rng, bound);
            assert!(z >= bound && z <= bound * 1.01, "{bound}: {z}");
        }
        assert!(normal_above(&mut rng, f64::NAN).is_nan());
    }
}
