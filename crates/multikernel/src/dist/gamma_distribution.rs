//! The gamma distribution: distribution function and quantiles, with the same bits on every machine.

use super::gamma_function::ln_gamma_function;
use super::normal_quantile::normal_quantile;
use crate::simd::{exp, ln};

/// Convergence threshold of a sum or a continued fraction.
const SMALL: f64 = 1e-16;
/// Maximum terms of either; the largest shapes take a few times their square root.
const MAX_TERMS: usize = 100_000;
/// Maximum Newton steps; concave functions take far fewer.
const MAX_STEPS: usize = 100;

/// ln P(x) and ln(1 - P(x)) of the gamma distribution with this shape and scale 1, where x is given by its logarithm.
fn ln_both(shape: f64, ln_x: f64) -> (f64, f64) {
    let x = exp(ln_x);
    // ln(1 - e^v) for v < 0.
    let rest = |v: f64| ln(-((exp(0.5 * v) - 1.0) * (exp(0.5 * v) + 1.0)));
    if x < shape + 1.0 {
        let (mut term, mut sum) = (1.0, 1.0);
        for k in 1..MAX_TERMS {
            term *= x / (shape + k as f64);
            sum += term;
            if term < SMALL * sum {
                break;
            }
        }
        let below = shape * ln_x - x - ln_gamma_function(shape + 1.0) + ln(sum);
        return (below, rest(below));
    }
    // The continued fraction of the upper tail (DLMF 8.9.2), by the modified Lentz method.
    let mut b = x + 1.0 - shape;
    let (mut c, mut d) = (1.0 / f64::MIN_POSITIVE, 1.0 / b);
    let mut fraction = d;
    for k in 1..MAX_TERMS {
        let a = -(k as f64) * (k as f64 - shape);
        b += 2.0;
        d = 1.0 / (a * d + b);
        c = b + a / c;
        let factor = c * d;
        fraction *= factor;
        if (factor - 1.0).abs() < SMALL {
            break;
        }
    }
    let above = shape * ln_x - x - ln_gamma_function(shape) + ln(fraction);
    (rest(above), above)
}

/// The probability that a chi-square variate with this many degrees of freedom (at least one) is above x.
pub(crate) fn chi_square_above(x: f64, degrees: usize) -> f64 {
    if x > 0.0 { exp(ln_both(0.5 * degrees as f64, ln(0.5 * x)).1) } else { 1.0 }
}

/// ln of the quantile at `p` of the gamma distribution with this shape (positive) and scale 1; the logarithm, because
/// quantiles of small shapes underflow.
///
/// Both ln P and ln(1 - P) are concave in ln x, so Newton's method on the one below ln(1/2) converges from any start.
pub(crate) fn ln_gamma_quantile(p: f64, shape: f64) -> f64 {
    if !(p > 0.0 && p < 1.0) {
        return if p <= 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    let (lower, target) = if p < 0.5 { (true, ln(p)) } else { (false, ln(1.0 - p)) };
    let mut ln_x = start(p, shape);
    for _ in 0..MAX_STEPS {
        let (below, above) = ln_both(shape, ln_x);
        let value = if lower { below } else { above };
        // d ln P / d ln x = x p(x) / P.
        let density = shape * ln_x - exp(ln_x) - ln_gamma_function(shape);
        let slope = if lower { exp(density - value) } else { -exp(density - value) };
        let step = (target - value) / slope;
        if !step.is_finite() {
            break;
        }
        ln_x += step.clamp(-2.0 / shape.min(1.0), 2.0);
        if step.abs() < 1e-14 * (1.0 + ln_x.abs()) {
            break;
        }
    }
    ln_x
}

/// A starting point near the quantile: by the cube of a normal variate (Wilson and Hilferty 1931), or by the power law
/// of small values.
fn start(p: f64, shape: f64) -> f64 {
    let cube = 1.0 - 1.0 / (9.0 * shape) + normal_quantile(p) / (3.0 * shape.sqrt());
    if shape > 0.5 && cube > 0.1 {
        return ln(shape) + 3.0 * ln(cube);
    }
    (ln(p) + ln_gamma_function(shape + 1.0)) / shape
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chi_square_tails_are_sums_of_poisson_probabilities() {
        for (x, degrees) in [(0.3, 2), (5.0, 4), (30.0, 18), (3.0, 18), (120.0, 18)] {
            let (mut term, mut sum) = (1.0, 0.0);
            for k in 0..degrees / 2 {
                sum += term;
                term *= 0.5 * x / (k + 1) as f64;
            }
            let expected = (-0.5 * x).exp() * sum;
            let found = chi_square_above(x, degrees);
            assert!((found / expected - 1.0).abs() < 1e-11, "{x} {degrees}: {found} {expected}");
        }
        // One degree: 2 P(Z > 1.96).
        assert!((chi_square_above(1.96 * 1.96, 1) - 0.049_995_790_296_440_9).abs() < 1e-12);
        assert_eq!(chi_square_above(0.0, 3), 1.0);
    }

    #[test]
    fn quantiles_of_known_laws() {
        for p in [1e-9, 0.01, 0.3, 0.5, 0.77, 0.999, 1.0 - 1e-9] {
            // Shape 1 is exponential, 1/2 half the square of a normal variate.
            let exponential = (-(1.0f64 - p).ln()).ln();
            let found = ln_gamma_quantile(p, 1.0);
            assert!((found - exponential).abs() < 1e-6, "{p}: {found} for {exponential}");
            let half = (0.5 * normal_quantile(0.5 + 0.5 * p).powi(2)).ln();
            assert!((ln_gamma_quantile(p, 0.5) - half).abs() < 1e-6, "{p}: {} {half}", ln_gamma_quantile(p, 0.5));
        }
    }

    /// The expected values are from scipy.special.gammaincinv.
    #[test]
    fn quantiles_agree_with_another_implementation() {
        for (shape, p, expected) in [
            (0.05, 0.9, 0.076_317_113_909_189_05),
            (0.3, 1e-6, 6.972_699_096_409_39e-21),
            (2.5, 0.025, 0.415_605_806_743_331_25),
            (2.5, 0.975, 6.416_250_997_015_013),
            (300.0, 0.975, 334.884_576_108_205_6),
            (9000.0, 0.1, 8_878.637_478_140_252),
        ] {
            let found = ln_gamma_quantile(p, shape).exp();
            assert!((found / expected - 1.0).abs() < 1e-11, "{shape} {p}: {found} for {expected}");
        }
    }

    #[test]
    fn both_sides_add_up_to_one_on_either_side_of_the_cut() {
        for shape in [0.02, 0.7, 1.0, 14.0, 5e3] {
            for factor in [0.2, 0.9, 1.0, 1.2, 3.0] {
                let (below, above) = ln_both(shape, f64::ln((shape + 1.0) * factor));
                assert!((below.exp() + above.exp() - 1.0).abs() < 1e-12, "{shape} {factor}");
            }
        }
        let (just_below, _) = ln_both(3.0, 4f64.ln() - 1e-12);
        let (just_above, _) = ln_both(3.0, 4f64.ln() + 1e-12);
        assert!((just_below - just_above).abs() < 1e-11);
    }
}
