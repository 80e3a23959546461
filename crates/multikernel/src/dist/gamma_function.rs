//! The logarithm of the gamma function and its derivatives, with the same bits on every machine.

use std::f64::consts::TAU;

use crate::simd::ln;

/// From here on the first term omitted by [`series`] is below 1e-16.
pub(super) const ASYMPTOTIC_FROM: f64 = 16.0;

/// ln Gamma(z) - (z - 1/2) ln z + z - ln(2 pi)/2 for z of at least [`ASYMPTOTIC_FROM`] (DLMF 5.11.1).
pub(super) fn series(z: f64) -> f64 {
    let w = 1.0 / (z * z);
    let coefficients = [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0];
    coefficients.iter().rev().fold(0.0, |sum, c| sum * w + c) / z
}

/// ln Gamma(x) for `x > 0`.
pub(crate) fn ln_gamma_function(x: f64) -> f64 {
    let (mut z, mut product) = (x, 1.0);
    while z < ASYMPTOTIC_FROM {
        product *= z;
        z += 1.0;
    }
    (z - 0.5) * ln(z) - z + 0.5 * ln(TAU) + series(z) - ln(product)
}

/// ln Gamma(x + a) - ln Gamma(x) for positive x and a, without the cancellation of a plain difference.
pub(crate) fn ln_gamma_rise(x: f64, a: f64) -> f64 {
    let (mut z, mut shift) = (x, 0.0);
    while z < ASYMPTOTIC_FROM {
        shift += ln_1p(a / z);
        z += 1.0;
    }
    let sum = z + a;
    (z - 0.5) * ln_1p(a / z) + a * ln(sum) - a + series(sum) - series(z) - shift
}

/// The derivative of ln Gamma(x) for `x > 0`.
pub(crate) fn digamma(x: f64) -> f64 {
    let (mut z, mut sum) = (x, 0.0);
    while z < ASYMPTOTIC_FROM {
        sum -= 1.0 / z;
        z += 1.0;
    }
    // DLMF 5.11.2.
    let w = 1.0 / (z * z);
    let coefficients = [1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32760.0];
    let series = coefficients.iter().rev().fold(0.0, |sum, c| sum * w + c) * w;
    sum + ln(z) - 0.5 / z - series
}

/// The derivative of [`digamma`] for `x > 0`.
pub(crate) fn trigamma(x: f64) -> f64 {
    let (mut z, mut sum) = (x, 0.0);
    while z < ASYMPTOTIC_FROM {
        sum += 1.0 / (z * z);
        z += 1.0;
    }
    // The derivative of DLMF 5.11.2, term by term.
    let w = 1.0 / (z * z);
    let coefficients = [1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0, -691.0 / 2730.0];
    let series = coefficients.iter().rev().fold(0.0, |sum, c| sum * w + c) * w / z;
    sum + 1.0 / z + 0.5 * w + series
}

/// ln(1 + x) for `x >= 0`, without forming 1 + x where x is small.
fn ln_1p(x: f64) -> f64 {
    if x > 0.4 {
        return ln(1.0 + x);
    }
    // 2 atanh(x / (2 + x)), a series in a square of at most 1/36.
    let t = x / (2.0 + x);
    let series = (0..11).rev().fold(0.0, |sum, k| sum * (t * t) + 1.0 / f64::from(2 * k + 1));
    2.0 * t * series
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ln_gamma_function_has_known_values() {
        let half = 0.5 * std::f64::consts::PI.ln();
        let factorial = |n: u32| (2..=n).map(|k| f64::from(k).ln()).sum::<f64>();
        let table = [
            (0.5, half),
            (1.0, 0.0),
            (2.0, 0.0),
            (2.5, half + 0.75f64.ln()),
            (11.0, factorial(10)),
            (101.0, factorial(100)),
            (1e-200, 200.0 * 10f64.ln()),
        ];
        for (x, expected) in table {
            let found = ln_gamma_function(x);
            assert!((found - expected).abs() < 4e-15 * (1.0 + expected.abs()), "{x}: {found}, expected {expected}");
        }
    }

    #[test]
    fn rise_is_the_difference_and_keeps_its_digits_at_large_arguments() {
        for (x, a) in [(0.3, 0.5), (2.0, 7.5), (40.0, 0.5), (1.0, 300.0), (15.9, 2.0)] {
            let (found, expected) = (ln_gamma_rise(x, a), ln_gamma_function(x + a) - ln_gamma_function(x));
            assert!((found - expected).abs() < 1e-13 * (1.0 + expected.abs()), "{x}, {a}: {found} for {expected}");
        }
        // Gamma(x + 2) / Gamma(x) = x (x + 1).
        for x in [0.1f64, 3.0, 1e3, 1e9, 1e15] {
            let expected = (x * (x + 1.0)).ln();
            assert!((ln_gamma_rise(x, 2.0) - expected).abs() < 1e-14 * (1.0 + expected.abs()), "{x}");
        }
    }

    #[test]
    fn digamma_and_trigamma_have_known_values_and_are_derivatives() {
        const EULER: f64 = 0.577_215_664_901_532_9;
        let square = std::f64::consts::PI.powi(2);
        for (x, first, second) in [
            (1.0, -EULER, square / 6.0),
            (0.5, -EULER - 2.0 * 2f64.ln(), square / 2.0),
            (2.0, 1.0 - EULER, square / 6.0 - 1.0),
        ] {
            assert!((digamma(x) - first).abs() < 4e-15 * (1.0 + first.abs()), "{x}: {}", digamma(x));
            assert!((trigamma(x) - second).abs() < 4e-15 * (1.0 + second), "{x}: {}", trigamma(x));
        }
        for x in [0.03, 0.4, 3.3, 20.0, 1e3] {
            let step = 1e-4 * x;
            let slope = (ln_gamma_function(x + step) - ln_gamma_function(x - step)) / (2.0 * step);
            assert!((digamma(x) - slope).abs() < 1e-6 * (1.0 + slope.abs()), "{x}: {} {slope}", digamma(x));
            let slope = (digamma(x + step) - digamma(x - step)) / (2.0 * step);
            assert!((trigamma(x) - slope).abs() < 1e-6 * (1.0 + slope.abs()), "{x}: {} {slope}", trigamma(x));
        }
    }
}
