//! Quantiles of the standard normal distribution.

use super::{inverse_mills, ln_normal_cdf};
use crate::simd::ln;

/// The z with P(Z <= z) = p, for `p` strictly between 0 and 1; NaN outside. Error below 1e-12 (1 + |z|).
pub(crate) fn normal_quantile(p: f64) -> f64 {
    if !(p > 0.0 && p < 1.0) {
        f64::NAN
    } else if p < 0.5 {
        lower(p)
    } else {
        -lower(1.0 - p)
    }
}

/// For p <= 1/2: Newton's method on the log probability. It is concave, and -sqrt(-2 ln 2p), where its bound
/// exp(-z^2/2)/2 equals p, lies to the left of the root, so the steps go up to it and never past.
fn lower(p: f64) -> f64 {
    let mut z = -(-2.0 * ln(2.0 * p)).max(0.0).sqrt();
    for _ in 0..50 {
        let next = z - (ln_normal_cdf(z) - ln(p)) / inverse_mills(z);
        if (next - z).abs() <= f64::EPSILON * (1.0 - z) {
            return next;
        }
        z = next;
    }
    z
}

#[cfg(test)]
mod tests {
    use super::super::normal_cdf;
    use super::*;

    #[test]
    fn quantile_inverts_the_distribution_function() {
        for i in 1..600 {
            let p = 0.5 * 0.95f64.powi(i);
            let found = normal_cdf(normal_quantile(p));
            assert!((found - p).abs() < 1e-11 * p, "{p:e}: {found:e}");
            assert_eq!(normal_quantile(1.0 - 0.25), -normal_quantile(0.25));
        }
        assert!(normal_quantile(0.5).abs() < 1e-15 && normal_quantile(f64::MIN_POSITIVE).is_finite());
        assert!(normal_quantile(0.0).is_nan() && normal_quantile(1.0).is_nan());
    }

    #[test]
    fn quantile_has_known_values() {
        // From Python's `statistics.NormalDist().inv_cdf`.
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
