//! Quantiles of the standard normal distribution.

use std::f64::consts::LN_2;

use super::{exponential_of_normal, inverse_mills, ln_normal_cdf};
use crate::simd::{exp, ln};

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

/// The z with ln P(Z <= z) = `ln_p`, for any `ln_p` below 0, however far: about -sqrt(-2 ln_p). Infinite at 0.
pub(crate) fn normal_quantile_of_ln(ln_p: f64) -> f64 {
    if ln_p <= -LN_2 {
        return lower_of_ln(ln_p);
    }
    // 1 - p, by its series where the difference would lose digits.
    let above = if ln_p > -1e-4 { -ln_p * (1.0 + 0.5 * ln_p * (1.0 + ln_p / 3.0)) } else { 1.0 - exp(ln_p) };
    -lower_of_ln(ln(above).min(-LN_2))
}

/// For p <= 1/2: a rational approximation (Hastings; Abramowitz and Stegun 26.2.23, error below 4.5e-4), and two steps of
/// Halley's method on the log probability, each of which cubes the error.
fn lower_of_ln(ln_p: f64) -> f64 {
    let t = (-2.0 * ln_p).sqrt();
    if !t.is_finite() {
        return -t;
    }
    let above = 2.515517 + t * (0.802853 + t * 0.010328);
    let below = 1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308));
    (0..2).fold(above / below - t, |z, _| {
        let (e, mills) = exponential_of_normal(-z);
        let short = -e - ln_p;
        z - short / (mills + 0.5 * short * (z + mills))
    })
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

    #[test]
    fn quantile_of_a_logarithm_inverts_the_logarithm_in_both_tails() {
        for i in -3000..=700 {
            let z = f64::from(i) / 100.0;
            let found = normal_quantile_of_ln(ln_normal_cdf(z));
            assert!((found - z).abs() < 1e-11 * (1.0 + z.abs()), "{z}: {found}");
        }
        let far = normal_quantile_of_ln(ln_normal_cdf(-1e4));
        assert!((far + 1e4).abs() < 1e-7, "{far}");
        assert_eq!(normal_quantile_of_ln(0.0), f64::INFINITY);
        assert_eq!(normal_quantile_of_ln(f64::NEG_INFINITY), f64::NEG_INFINITY);
    }
}
