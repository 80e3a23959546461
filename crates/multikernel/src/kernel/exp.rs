//! The exponential of the radial kernels: without branches, so loops over it vectorise, and with the same bits on every
//! machine, which the exponential of the system library does not promise.

use std::f64::consts::LOG2_E;

/// ln 2 = `LN2_HIGH` + `LN2_LOW` to 85 bits; the high part ends in 21 zero bits, so k * `LN2_HIGH` is exact for |k| < 2^21.
const LN2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Adding 1.5 * 2^52 rounds to the nearest whole number and leaves it in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// Below this, 2^k would leave the normal numbers; e^-708 is 3e-308 and counts as 0.
const LOWEST: f64 = -708.0;
/// Above this, 2^k would overflow.
const HIGHEST: f64 = 709.0;
/// 1/n! for n = 12, 10, ..., 2 and for n = 13, 11, ..., 3. On |r| <= ln(2)/2 the first term left out of the series is
/// below 5e-18, a twentieth of the rounding.
const EVEN: [f64; 6] = [1.0 / 479_001_600.0, 1.0 / 3_628_800.0, 1.0 / 40_320.0, 1.0 / 720.0, 1.0 / 24.0, 1.0 / 2.0];
const ODD: [f64; 6] =
    [1.0 / 6_227_020_800.0, 1.0 / 39_916_800.0, 1.0 / 362_880.0, 1.0 / 5_040.0, 1.0 / 120.0, 1.0 / 6.0];

/// e^x to within one unit in the last place: e^x = 2^k e^r with k the whole number nearest to x / ln 2.
/// Exactly 1 at 0; 0 below -708 and infinite above 709; NaN stays NaN.
#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    let shifted = x * LOG2_E + ROUND;
    let k = shifted - ROUND;
    let r = (x - k * LN2_HIGH) - k * LN2_LOW;
    // e^r = 1 + (r + r^2 (even + r odd)): two chains of products that run side by side, and large terms added last.
    let square = r * r;
    let (mut even, mut odd) = (EVEN[0], ODD[0]);
    for i in 1..EVEN.len() {
        even = even * square + EVEN[i];
        odd = odd * square + ODD[i];
    }
    let sum = 1.0 + (r + square * (even + r * odd));
    // The low twelve bits of k + 1023 are the sign and exponent of 2^k.
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    let value = sum * power;
    let value = if x < LOWEST { 0.0 } else { value };
    if x > HIGHEST { f64::INFINITY } else { value }
}

/// `out = e^(-rate * base)`, element by element; the bits of [`exp`] whatever instructions are used.
pub(super) fn decay_into(rate: f64, base: &[f64], out: &mut [f64]) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, checked on the line above.
        unsafe { decay_avx2(rate, base, out) };
        return;
    }
    decay_loop(rate, base, out);
}

#[inline(always)]
fn decay_loop(rate: f64, base: &[f64], out: &mut [f64]) {
    for (out, base) in out.iter_mut().zip(base) {
        *out = exp(-(rate * base));
    }
}

/// The same loop compiled four lanes wide. Products and sums stay separate instructions, so the bits do not change.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn decay_avx2(rate: f64, base: &[f64], out: &mut [f64]) {
    decay_loop(rate, base, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;

    /// Distance in units in the last place between two positive numbers.
    fn ulps(a: f64, b: f64) -> u64 {
        a.to_bits().abs_diff(b.to_bits())
    }

    #[test]
    fn exp_over_its_range_agrees_with_the_system_to_two_ulps() {
        // One unit for ours and one for the system's.
        let mut rng = Rng::new(1, 0);
        for _ in 0..300_000 {
            let x = 1417.0 * rng.uniform() - 708.0;
            assert!(ulps(exp(x), x.exp()) <= 2, "{x}");
            let small = -rng.uniform();
            assert!(ulps(exp(small), small.exp()) <= 2, "{small}");
        }
    }

    #[test]
    fn exp_at_special_arguments_is_exact() {
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(-0.0), 1.0);
        assert_eq!(exp(f64::NEG_INFINITY), 0.0);
        assert_eq!(exp(-1e300), 0.0);
        assert_eq!(exp(f64::INFINITY), f64::INFINITY);
        assert!(exp(f64::NAN).is_nan());
        assert!(exp(-708.0) > 0.0 && exp(709.0) < f64::INFINITY);
    }

    #[test]
    fn decay_into_any_length_has_the_bits_of_exp() {
        let mut rng = Rng::new(2, 0);
        for n in 0..40 {
            let base: Vec<f64> = (0..n).map(|_| 2000.0 * rng.uniform()).collect();
            let mut out = vec![0.0; n];
            decay_into(0.7, &base, &mut out);
            for (b, o) in base.iter().zip(&out) {
                assert_eq!(exp(-(0.7 * b)).to_bits(), o.to_bits());
            }
            decay_loop(0.7, &base.clone(), &mut out);
            for (b, o) in base.iter().zip(&out) {
                assert_eq!(exp(-(0.7 * b)).to_bits(), o.to_bits());
            }
        }
    }
}
