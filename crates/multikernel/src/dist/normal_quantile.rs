//! Quantiles of the standard normal law.

use std::f64::consts::TAU;

use crate::simd::{exp, ln};

/// The z with P(Z <= z) = p, for `p` strictly between 0 and 1 and not below 1e-300; NaN outside 0 to 1. Error below
/// 1e-12 (1 + |z|).
pub(crate) fn normal_quantile(p: f64) -> f64 {
    if !(p > 0.0 && p < 1.0) {
        f64::NAN
    } else if p < 0.5 {
        -upper(p)
    } else {
        upper(1.0 - p)
    }
}

/// The z with P(Z > z) = p <= 1/2: Newton on the logarithm of the tail. That is concave, and sqrt(-2 ln 2p), where the bound
/// exp(-z^2/2)/2 of the tail is p, lies to the right of the root, so the steps go down to it and never past.
fn upper(p: f64) -> f64 {
    let mut z = (-2.0 * ln(2.0 * p)).max(0.0).sqrt();
    for _ in 0..50 {
        let (tail, density) = tail(z);
        let next = z + ln(tail / p) * tail / density;
        if (next - z).abs() <= f64::EPSILON * (1.0 + z) {
            return next;
        }
        z = next;
    }
    z
}

/// P(Z > z) for `z >= 0` and the density there: a series near 0, a continued fraction beyond.
fn tail(z: f64) -> (f64, f64) {
    let density = exp(-0.5 * z * z) / TAU.sqrt();
    if z > 3.0 {
        let fraction = (1..100).rev().fold(z, |below, k| z + f64::from(k) / below);
        return (density / fraction, density);
    }
    let (mut term, mut sum, mut k) = (z, z, 1.0);
    while term > 1e-17 * sum {
        k += 2.0;
        term *= z * z / k;
        sum += term;
    }
    (0.5 - density * sum, density)
}

#[cfg(test)]
mod tests {
    use super::super::check::normal_cdf;
    use super::*;

    #[test]
    fn quantile_inverts_the_distribution_function() {
        for i in 1..600 {
            let p = 0.5 * 0.95f64.powi(i);
            let found = normal_cdf(normal_quantile(p));
            assert!((found - p).abs() < 1e-11 * p, "{p:e}: {found:e}");
            assert_eq!(normal_quantile(1.0 - 0.25), -normal_quantile(0.25));
        }
        assert_eq!(normal_quantile(0.5), 0.0);
        assert!(normal_quantile(0.0).is_nan() && normal_quantile(1.0).is_nan());
    }

    #[test]
    fn quantile_has_known_values() {
        // By Python's `statistics.NormalDist().inv_cdf`.
        let table = [
            (0.975, 1.959_963_984_540_053_6),
            (0.0003, -3.431_614_403_623_269_6),
            (0.3, -0.524_400_512_708_040_7),
            (1e-12, -7.034_483_825_301_132),
        ];
        for (p, expected) in table {
            let found = normal_quantile(p);
            assert!((found - expected).abs() < 1e-11, "{p}: {found}, expected {expected}");
        }
    }
}
