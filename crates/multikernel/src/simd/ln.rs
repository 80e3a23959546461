//! The natural logarithm with the same bits on every machine, which the system library's does not guarantee.

use std::f64::consts::{LN_2, SQRT_2};

use super::dispatched;

/// 2 atanh(t) = 2 t (1 + t^2/3 + t^4/5 + ...); the highest power first.
const SERIES: [f64; 11] = {
    let mut series = [0.0; 11];
    let mut k = 0;
    while k < series.len() {
        series[k] = 1.0 / (2 * (series.len() - k) - 1) as f64;
        k += 1;
    }
    series
};

/// ln x to within two roundings of itself or, near 1, of 1/2. Minus infinity at 0, NaN below.
#[inline]
pub(crate) fn ln(x: f64) -> f64 {
    if !(f64::MIN_POSITIVE..f64::INFINITY).contains(&x) {
        return at_the_ends(x);
    }
    ln_of_normal(x)
}

/// [`ln`] of a positive normal number, with the same bits and branch-free, so that loops over it vectorise; meaningless
/// for anything else.
#[inline(always)]
pub(crate) fn ln_of_normal(x: f64) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    let bits = x.to_bits();
    let (exponent, m) = ((bits >> 52) as i64 - 1023, f64::from_bits(bits & MANTISSA | 1023 << 52));
    let (exponent, m) = if m > SQRT_2 { (exponent + 1, m / 2.0) } else { (exponent, m) };
    // ln m = 2 atanh((m - 1) / (m + 1)), a series in a square below 0.0295: the omitted terms are below a rounding.
    let t = (m - 1.0) / (m + 1.0);
    let series = SERIES.iter().fold(0.0, |sum, c| sum * (t * t) + c);
    exponent as f64 * LN_2 + 2.0 * t * series
}

dispatched! {
    /// Overwrites each positive normal number with its logarithm, with the bits of [`ln`]; NaN stays NaN, and the
    /// result is meaningless for anything else.
    pub(crate) fn lns_of_normal(values: &mut [f64]) {
        for value in values {
            *value = if value.is_nan() { *value } else { ln_of_normal(*value) };
        }
    }
}

/// [`ln`] of anything but a positive normal number.
#[cold]
fn at_the_ends(x: f64) -> f64 {
    if x > 0.0 && x.is_subnormal() {
        // 2^54 times a subnormal number is exact and normal.
        ln(x * (1u64 << 54) as f64) - 54.0 * LN_2
    } else if x == 0.0 {
        f64::NEG_INFINITY
    } else if x > 0.0 {
        x
    } else {
        f64::NAN
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;
    use crate::simd::at_every_level;
    use crate::simd::check::{bits, every_binade};

    #[test]
    fn ln_is_that_of_the_system_to_two_roundings() {
        let mut rng = Rng::new(3, 0);
        for _ in 0..10_000 {
            let x = f64::powi(2.0, rng.below(2000) as i32 - 1000) * (0.5 + rng.uniform());
            let (found, expected) = (ln(x), x.ln());
            assert!((found - expected).abs() <= 4e-16 * expected.abs().max(0.5), "{x}: {found} for {expected}");
        }
        for x in [5e-324, 1e-310, f64::MIN_POSITIVE, f64::MIN_POSITIVE.next_down(), f64::MAX] {
            assert!((ln(x) - x.ln()).abs() <= 2e-13, "{x:e}: {} for {}", ln(x), x.ln());
        }
    }

    #[test]
    fn many_logarithms_have_the_bits_of_one_by_one_at_every_level() {
        let values = every_binade(&mut Rng::new(4, 0), 3);
        let values: Vec<f64> = values.into_iter().map(f64::abs).filter(|x| x.is_normal()).collect();
        let found = at_every_level(|| {
            let mut found = values.clone();
            lns_of_normal(&mut found);
            bits(&found)
        });
        assert!(values.len() > 4000);
        assert_eq!(found, bits(&values.iter().map(|&x| ln(x)).collect::<Vec<f64>>()));
        let mut nothing = [f64::NAN, 1.0];
        lns_of_normal(&mut nothing);
        assert!(nothing[0].is_nan() && nothing[1] == 0.0);
    }

    #[test]
    fn ln_at_special_arguments_is_exact() {
        assert_eq!((ln(1.0), ln(0.0), ln(-0.0)), (0.0, f64::NEG_INFINITY, f64::NEG_INFINITY));
        assert_eq!(ln(f64::INFINITY), f64::INFINITY);
        for x in [-1.0, -5e-324, f64::NEG_INFINITY, f64::NAN] {
            assert!(ln(x).is_nan(), "{x}");
        }
    }

    #[test]
    fn ln_keeps_its_bits() {
        let found = [0.3, 2.5, 1e-200, 7e150].map(|x| ln(x).to_bits());
        let expected = [0xbff3_4378_fcbd_a720, 0x3fed_5240_f0e0_e077, 0xc07c_c845_b54b_54f1, 0x4075_b556_baa6_b20f];
        assert_eq!(found, expected);
    }
}
