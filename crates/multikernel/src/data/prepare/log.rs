//! The logarithm of the log transform, bit-identical on every machine: the system library does not guarantee that, and
//! a model has to see a row the same way wherever it is loaded.

use std::f64::consts::{FRAC_1_SQRT_2, LN_2};

/// ln(1 + x) to within 2 units in the last place (at most 1.5 observed), near 0 too; NaN for x <= -1.
pub(crate) fn ln_1p(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        // Zero keeps its sign.
        return if x == f64::NEG_INFINITY { f64::NAN } else { x };
    }
    if x <= -1.0 {
        return f64::NAN;
    }
    let sum = 1.0 + x;
    let lost = if x < 1.0 { x - (sum - 1.0) } else { 1.0 - (sum - x) };
    // sum = 2^k m with m from sqrt(1/2) up to sqrt(2): the distance in exponents, counted from sqrt(1/2).
    const EXPONENT: u64 = 0xfff0_0000_0000_0000;
    let above = sum.to_bits().wrapping_sub(FRAC_1_SQRT_2.to_bits());
    let k = (above as i64 >> 52) as f64;
    let m = f64::from_bits(sum.to_bits().wrapping_sub(above & EXPONENT));
    // ln m = 2 artanh(s) with s = f / (2 + f), |s| < 0.172: eleven terms leave 1e-18 of it. The first, 2 s, is f - s f,
    // and f is exact, so only the small rest of it is rounded.
    let f = m - 1.0;
    let s = f / (2.0 + f);
    let square = s * s;
    let series = (1..=10).rev().fold(0.0, |sum, i| square * (sum + 2.0 / f64::from(2 * i + 1)));
    k * LN_2 + (f - (s * (f - series) - lost / sum))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Distance from the system's result, itself accurate to one unit, in units in the last place.
    fn off(x: f64) -> f64 {
        let expected = x.ln_1p();
        let unit = expected.abs().next_up() - expected.abs();
        (ln_1p(x) - expected).abs() / unit
    }

    #[test]
    fn ends_and_zeros() {
        assert_eq!(ln_1p(0.0).to_bits(), 0.0f64.to_bits());
        assert_eq!(ln_1p(-0.0).to_bits(), (-0.0f64).to_bits());
        for x in [-1.0, -1.5, f64::NEG_INFINITY, f64::NAN] {
            assert!(ln_1p(x).is_nan(), "{x}");
        }
        assert_eq!(ln_1p(f64::INFINITY), f64::INFINITY);
        let (least, most) = (f64::from_bits(1), f64::MAX);
        for x in [least, -least, 1e-300, f64::EPSILON / 4.0, most, -1.0 + f64::EPSILON / 2.0, -0.5, 1.0, 3.0] {
            assert!(off(x) <= 3.0, "{x}: {} {}", ln_1p(x), x.ln_1p());
        }
        assert_eq!(ln_1p(std::f64::consts::E - 1.0), 1.0);
    }

    proptest! {
        #[test]
        fn is_the_logarithm_of_one_more(bits: u64, fraction in -1.0f64..3.0, count in 0.0f64..1e6) {
            for x in [f64::from_bits(bits), fraction, fraction * 1e-9, count, count.floor()] {
                if x > -1.0 {
                    prop_assert!(off(x) <= 3.0, "{x}: {} {}", ln_1p(x), x.ln_1p());
                } else {
                    prop_assert!(ln_1p(x).is_nan());
                }
            }
        }
    }
}
