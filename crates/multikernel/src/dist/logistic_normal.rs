//! The logistic function, and its mean over a normal distribution.

use super::normal_cdf;
use crate::simd::exp;

/// `1 / (1 + exp(-x))`, to full relative accuracy in both tails.
fn logistic(x: f64) -> f64 {
    if x < 0.0 {
        let e = exp(x);
        return e / (1.0 + e);
    }
    1.0 / (1.0 + exp(-x))
}

/// Up to this standard deviation the average is taken over the normal distribution.
const NARROW: f64 = 2.0;
/// Steps of the two trapezoid rules, and how many to either side.
const STEP: f64 = 0.4;
const STEPS: i32 = 16;
const WIDE_STEP: f64 = 0.8;
const WIDE_STEPS: i32 = 26;
/// 1 / sqrt(2 pi).
const INVERSE_ROOT_TAU: f64 = 0.398_942_280_401_432_7;

/// `E logistic(f)` for `f ~ N(mean, variance)`, with an absolute error below 1e-8.
///
/// The trapezoid rule on the whole line errs by `exp(-2 pi d / h)` for step h where d is the distance of the nearest
/// pole. Narrow distributions: over `f = mean + sd z`, poles at `pi / sd`. Wide ones: the logistic function is the
/// distribution function of a logistic variate u, with poles at pi, so that the mean is `E Phi((mean - u) / sd)`.
pub(crate) fn logistic_normal_mean(mean: f64, variance: f64) -> f64 {
    let sd = variance.max(0.0).sqrt();
    let sum: f64 = if sd <= NARROW {
        let at = |k: i32| {
            let z = STEP * f64::from(k);
            exp(-0.5 * z * z) * logistic(mean + sd * z)
        };
        STEP * INVERSE_ROOT_TAU * (-STEPS..=STEPS).map(at).sum::<f64>()
    } else {
        let at = |k: i32| {
            let u = WIDE_STEP * f64::from(k);
            logistic(u) * logistic(-u) * normal_cdf((mean - u) / sd)
        };
        WIDE_STEP * (-WIDE_STEPS..=WIDE_STEPS).map(at).sum::<f64>()
    };
    sum.clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_of_the_logistic_function_is_an_integral() {
        for mean in [0.0, 0.3, -2.0, 7.0, -30.0] {
            for variance in [0.0, 1e-6, 0.1, 1.0, 3.99, 4.01, 30.0, 1e4] {
                let sd: f64 = f64::sqrt(variance);
                // A rule that is fine enough for the widest.
                let step = 1e-3;
                let at = |k: i32| {
                    let z = step * f64::from(k);
                    (-0.5 * z * z).exp() / (1.0 + (-mean - sd * z).exp())
                };
                let expected = step * INVERSE_ROOT_TAU * (-9_000..=9_000).map(at).sum::<f64>();
                let found = logistic_normal_mean(mean, variance);
                assert!((found - expected).abs() < 1e-8, "{mean} {variance}: {found} {expected}");
                // The two answers add up to one.
                let other = logistic_normal_mean(-mean, variance);
                assert!((found + other - 1.0).abs() < 1e-8, "{mean} {variance}: {found} {other}");
            }
        }
    }

    #[test]
    fn logistic_function_has_its_tails() {
        assert!((logistic(-800.0)).abs() < 1e-300 && logistic(800.0) == 1.0);
        assert!((logistic(-40.0) / (-40f64).exp() - 1.0).abs() < 1e-14);
        assert!((logistic(1.0) + logistic(-1.0) - 1.0).abs() < 1e-16);
    }
}
