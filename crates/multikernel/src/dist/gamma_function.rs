//! The logarithm of the gamma function, with the same bits on every machine.

use std::f64::consts::TAU;

use crate::simd::ln;

/// From here on the first term that [`series`] leaves out is below 1e-16.
pub(super) const LEAST: f64 = 16.0;

/// ln Gamma(z) - (z - 1/2) ln z + z - ln(2 pi)/2 for z of [`LEAST`] and more (DLMF 5.11.1).
pub(super) fn series(z: f64) -> f64 {
    let w = 1.0 / (z * z);
    let coefficients = [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0];
    coefficients.iter().rev().fold(0.0, |sum, c| sum * w + c) / z
}

/// ln Gamma(x) for `x > 0`.
pub(crate) fn ln_gamma_function(x: f64) -> f64 {
    let (mut z, mut product) = (x, 1.0);
    while z < LEAST {
        product *= z;
        z += 1.0;
    }
    (z - 0.5) * ln(z) - z + 0.5 * ln(TAU) + series(z) - ln(product)
}

/// ln Gamma(x + a) - ln Gamma(x) for positive x and a, without the digits that the difference of the two would lose.
pub(crate) fn ln_gamma_rise(x: f64, a: f64) -> f64 {
    let (mut z, mut shift) = (x, 0.0);
    while z < LEAST {
        shift += ln_1p(a / z);
        z += 1.0;
    }
    let sum = z + a;
    (z - 0.5) * ln_1p(a / z) + a * ln(sum) - a + series(sum) - series(z) - shift
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
}
