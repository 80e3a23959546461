//! The exponential of the radial kernels: branch-free, so loops over it vectorise, and with the same bits on every
//! machine, which the system library's exponential does not guarantee.

use std::f64::consts::LOG2_E;

use super::dispatched;

/// ln 2 = `LN2_HIGH` + `LN2_LOW` to 85 bits; the high part ends in 21 zero bits, so k * `LN2_HIGH` is exact for |k| <
/// 2^21.
const LN2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Adding 1.5 * 2^52 rounds to the nearest integer and leaves it in the low bits; with 1023 more these are the sign and
/// exponent of 2^k.
const ROUND: f64 = 6_755_399_441_055_744.0 + 1023.0;
/// Below this, 2^k would no longer be a normal number; e^-708 is 3e-308 and is taken as 0.
pub(super) const LOWEST: f64 = -708.0;
/// Above this, 2^k would overflow.
const HIGHEST: f64 = 709.0;
/// The fourth root of the smallest value a kernel may have: powers of anything below it are set to 0, never subnormal,
/// because processors handle subnormals a hundred times slower.
const SMALLEST_FOURTH: f64 = f64::from_bits((1023 - 255) << 52);
/// The same for squares.
const SMALLEST_SQUARE: f64 = f64::from_bits((1023 - 510) << 52);
/// (e^r - 1 - r) / r^2 on |r| <= ln(2)/2, interpolated at ten Chebyshev nodes: even and odd powers, highest first. The
/// resulting error of e^r is 1.15e-17 for r < 0, a tenth of a unit in the last place, and 1.28e-17 for r > 0.
const EVEN: [f64; 5] = [
    2.762_008_844_540_974_6e-7,
    2.480_152_129_595_437_6e-5,
    0.001_388_888_891_721_371_7,
    0.041_666_666_666_624_13,
    0.500_000_000_000_000_1,
];
const ODD: [f64; 5] = [
    2.510_038_549_551_032e-8,
    2.755_726_845_999_706_4e-6,
    0.000_198_412_698_630_536_18,
    0.008_333_333_333_330_062,
    0.166_666_666_666_666_69,
];

/// e^x to within 1.17 units in the last place (the largest error found is 1.103): e^x = 2^k e^r with k the integer
/// nearest to x / ln 2. Exactly 1 at 0; 0 below -708 and infinite above 709; NaN stays NaN.
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    let shifted = x.mul_add(LOG2_E, ROUND);
    let k = shifted - ROUND;
    let r = k.mul_add(-LN2_LOW, k.mul_add(-LN2_HIGH, x));
    // e^r = 1 + (r + r^2 (even + r odd)): two independent chains of products, and large terms added last.
    let square = r * r;
    let (mut even, mut odd) = (EVEN[0], ODD[0]);
    for i in 1..EVEN.len() {
        even = even.mul_add(square, EVEN[i]);
        odd = odd.mul_add(square, ODD[i]);
    }
    let sum = 1.0 + square.mul_add(r.mul_add(odd, even), r);
    let power = f64::from_bits(shifted.to_bits() << 52);
    let value = sum * power;
    let value = if x < LOWEST { 0.0 } else { value };
    if x > HIGHEST { f64::INFINITY } else { value }
}

dispatched! {
    /// Overwrites each number with its exponential, with the bits of [`exp`]: many times faster than one by one where
    /// fused products are function calls.
    pub(crate) fn exps(values: &mut [f64]) {
        for value in values {
            *value = exp(*value);
        }
    }
}

dispatched! {
    /// `out = e^(-rate * base)`, element by element, with the bits of [`exp`].
    pub(crate) fn decay_into(rate: f64, base: &[f64], out: &mut [f64]) {
        for (out, base) in out.iter_mut().zip(base) {
            *out = exp(-(rate * base));
        }
    }
}

/// The square or, with `twice`, the fourth power of a value of at most 1; 0 below 2^-1020.
///
/// The Gaussian of twice the rate (half the width: four times the rate) from that of the wider one.
#[inline(always)]
pub(super) fn raise(twice: bool, value: f64) -> f64 {
    // Zero before the product, not after: a subnormal product is slow even if its value is unused. Not `>`: NaN has to
    // pass through.
    let smallest = if twice { SMALLEST_FOURTH } else { SMALLEST_SQUARE };
    let value = if value < smallest { 0.0 } else { value };
    let square = value * value;
    if twice { square * square } else { square }
}

/// Below this the `f32` exponential is taken as 0.
pub(super) const LOWEST_NARROW: f32 = -87.0;

/// The exponential in `f32`, for kernels stored in it: e^x for x up to 88 to within 1.14 units in the last place (the
/// maximum from -87 to 0 is 1.08), exactly 1 at 0, 0 below -87; NaN stays NaN.
#[inline(always)]
pub(super) fn exp_narrow(x: f32) -> f32 {
    /// ln 2 in two parts; the high part has nine bits, so k times it is exact.
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    /// 1.5 * 2^23, plus 127 for the exponent of 2^k.
    const ROUND: f32 = 12_582_912.0 + 127.0;
    /// (e^r - 1 - r) / r^2 at five Chebyshev nodes, highest power first.
    const SERIES: [f32; 5] = [0.001_392_618_4, 0.008_363_179, 0.041_666_556, 0.166_665_76, 0.5];
    let shifted = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let k = shifted - ROUND;
    let r = k.mul_add(-LN2_LOW, k.mul_add(-LN2_HIGH, x));
    let mut series = SERIES[0];
    for c in &SERIES[1..] {
        series = series.mul_add(r, *c);
    }
    let sum = 1.0 + (r * r).mul_add(series, r);
    let value = sum * f32::from_bits(shifted.to_bits() << 23);
    if x < LOWEST_NARROW { 0.0 } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;
    use crate::simd::at_every_level;
    use crate::simd::check::{LENGTHS, around, bits, every_binade};
    use crate::simd::double::Double;

    const LN2: Double = Double(std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17);

    /// Terms of the series: 0.35^26 / 26! is 3e-39.
    const TERMS: usize = 26;

    fn inverse_factorials() -> [Double; TERMS] {
        let mut inverse = [Double(1.0, 0.0); TERMS];
        for n in 1..TERMS {
            inverse[n] = inverse[n - 1].over(n as f64);
        }
        inverse
    }

    /// e^x = 2^k (first + second), by the defining series; k ln 2 is accurate to 2^-97, and everything else to more.
    #[inline(always)]
    fn reference(x: f64, series: &[Double; TERMS]) -> (i64, Double) {
        let k = (x / LN2.0).round();
        let r = Double(x, 0.0).plus(LN2.times(Double(-k, 0.0)));
        let mut sum = series[TERMS - 1];
        for &term in series[..TERMS - 1].iter().rev() {
            sum = sum.times(r).plus(term);
        }
        (k as i64, sum)
    }

    dispatched! {
        /// The largest error of [`exp`] in units of the last place of e^x, and where it is.
        fn worst(arguments: &[f64], series: &[Double; TERMS]) -> (f64, f64) {
            let mut worst = (0.0, 0.0);
            for &x in arguments {
                let (k, Double(high, low)) = reference(x, series);
                let below = high < 1.0 || (high == 1.0 && low < 0.0);
                let unit = if below { f64::EPSILON / 2.0 } else { f64::EPSILON };
                let scaled = f64::from_bits(exp(x).to_bits().wrapping_sub((k as u64) << 52));
                let error = ((scaled - high) - low).abs() / unit;
                if error > worst.0 || error.is_nan() {
                    worst = (error, x);
                }
            }
            worst
        }
    }

    /// Bound on the error, in units u = 2^-53 of results in [1/2, 1), for r in [-ln(2)/2, 0]:
    ///
    /// - 0.5 the last sum;
    /// - 0.4375 the sum p = e^r - 1, 0.25 if |p| >= 1/4 (else half of it), and r itself, 0.25 e^r, where |p| = 1 - e^r;
    ///   the high part of k ln 2 and its difference from x are exact, the low part is right to 2^-76;
    /// - 0.104 the polynomial, 1.15e-17;
    /// - 0.0301 the sum even + r odd, below 1/2, and 0.0601 the sum even = 1/2 + ..., both times r^2 <= 0.1202;
    /// - 0.0313 the square r^2, 2^-57, times even + r odd;
    /// - 0.0053 the last step of odd, times r^3, and below 0.001 all steps before.
    ///
    /// Together 1.17. For r in [0, ln(2)/2] the unit is twice as large: 0.5 + 0.125 + 0.177 + 0.058 + 0.031 + 0.031 +
    /// 0.018 + 0.003 is less.
    const MAX_UNITS: f64 = 1.17;

    #[test]
    fn reference_at_known_arguments_has_thirty_digits() {
        let series = inverse_factorials();
        for (x, high, low) in [
            (0.0, 1.0, 0.0),
            (1.0, std::f64::consts::E, 1.445_646_891_729_250_2e-16),
            (-1.0, 0.367_879_441_171_442_33, -1.242_875_367_278_836_3e-17),
            (0.5, 1.648_721_270_700_128_2, -4.731_568_479_435_833e-17),
            (-0.25, 0.778_800_783_071_404_9, -1.023_186_953_453_149_8e-17),
            (10.0, 22_026.465_794_806_718, -1.378_013_470_051_737_2e-12),
            (-100.0, 3.720_075_976_020_836e-44, -1.570_502_490_773_200_8e-60),
            (700.0, 1.014_232_054_735_004_5e304, 1.666_657_192_073_467_3e287),
        ] {
            let (k, found) = reference(x, &series);
            let power = 2f64.powi(k as i32);
            let difference = ((found.0 - high / power) + (found.1 - low / power)).abs();
            // 30 digits; k ln 2 costs up to |k| 2^-107 of them.
            assert!(difference <= 1e-30 + k.unsigned_abs() as f64 * 2f64.powi(-107), "{x}: {difference:e}");
        }
    }

    #[test]
    fn exp_of_every_binade_is_within_its_bound() {
        let (mut rng, series) = (Rng::new(1, 0), inverse_factorials());
        let mut arguments = every_binade(&mut rng, 16);
        for &x in arguments.iter().filter(|x| !(LOWEST..=HIGHEST).contains(*x)) {
            assert_eq!(exp(x), if x < 0.0 { 0.0 } else { f64::INFINITY }, "{x}");
        }
        arguments.retain(|x| (LOWEST..=HIGHEST).contains(x));
        let (error, x) = worst(&arguments, &series);
        assert!(error <= MAX_UNITS, "{error} at {x}");
    }

    #[test]
    fn exp_over_its_range_is_within_its_bound() {
        let (mut rng, series) = (Rng::new(2, 0), inverse_factorials());
        let range: Vec<f64> = (0..300_000).map(|_| LOWEST + (HIGHEST - LOWEST) * rng.uniform()).collect();
        let unit: Vec<f64> = (0..200_000).map(|_| -rng.uniform()).collect();
        // Where k changes, and halfway between.
        let edges: Vec<f64> = (-2042..=2045)
            .flat_map(|k| around(f64::from(k) * (LN2.0 / 2.0)))
            .filter(|x| (LOWEST..=HIGHEST).contains(x))
            .collect();
        for arguments in [range, unit, edges] {
            let (error, x) = worst(&arguments, &series);
            assert!(error <= MAX_UNITS, "{error} at {x}");
        }
    }

    #[test]
    fn exp_at_special_arguments_is_exact() {
        assert_eq!((exp(0.0), exp(-0.0), exp(5e-324), exp(-5e-324)), (1.0, 1.0, 1.0, 1.0));
        assert_eq!((exp(f64::NEG_INFINITY), exp(f64::MIN), exp(LOWEST.next_down())), (0.0, 0.0, 0.0));
        assert_eq!(
            (exp(f64::INFINITY), exp(f64::MAX), exp(HIGHEST.next_up())),
            (f64::INFINITY, f64::INFINITY, f64::INFINITY)
        );
        assert!(exp(LOWEST) >= f64::MIN_POSITIVE && exp(HIGHEST) <= f64::MAX);
        for payload in [0, 1, 0x7ff, 0xfff, (1 << 51) - 1] {
            assert!(exp(f64::from_bits(f64::NAN.to_bits() | payload)).is_nan());
            assert!(exp(-f64::from_bits(f64::NAN.to_bits() | payload)).is_nan());
        }
    }

    #[test]
    fn decay_into_any_length_has_the_bits_of_exp_at_every_level() {
        let mut rng = Rng::new(3, 0);
        for (n, skip) in LENGTHS.into_iter().flat_map(|n| [(n, 0), (n, 1), (n, 3)]) {
            let mut base: Vec<f64> = (0..n + skip).map(|_| 2000.0 * rng.uniform()).collect();
            base.iter_mut().zip([f64::NAN, 0.0, f64::INFINITY, f64::MAX]).for_each(|(base, special)| *base = special);
            let found = at_every_level(|| {
                let mut out = vec![7.0; n + skip];
                let mut exponents: Vec<f64> = base[skip..].iter().map(|base| -(0.7 * base)).collect();
                exps(&mut exponents);
                decay_into(0.7, &base[skip..], &mut out[skip..]);
                assert_eq!(bits(&exponents), bits(&out[skip..]), "{n}");
                assert!(out[..skip].iter().all(|&out| out == 7.0));
                bits(&out[skip..])
            });
            let expected: Vec<f64> = base[skip..].iter().map(|base| exp(-(0.7 * base))).collect();
            assert_eq!(found, bits(&expected));
        }
    }

    dispatched! {
        /// The largest error of [`exp_narrow`] in units of the last place of e^x, and where it is.
        fn worst_narrow(arguments: &[f32]) -> (f64, f32) {
            let mut worst = (0.0, 0.0);
            for &x in arguments {
                let exact = exp(f64::from(x));
                // One unit of f32 is 2^29 units of f64 with the same exponent.
                let unit = f64::from_bits((exact.to_bits() >> 52) << 52) * f64::from(f32::EPSILON);
                let error = (f64::from(exp_narrow(x)) - exact).abs() / unit;
                if error > worst.0 || error.is_nan() {
                    worst = (error, x);
                }
            }
            worst
        }
    }

    /// As [`MAX_UNITS`], in units 2^-24 of results in [1/2, 1): 0.5 + 0.4375 as there, 0.1252 the polynomial (7.47e-9),
    /// 0.0302 its last sum times r^2, 0.0313 the square, 0.0053 the step before, below 0.001 those before that, and
    /// 0.0035 the low part of k ln 2, 126 times 1.65e-12. Together 1.134; the reference is off by 2^-28.
    const MAX_NARROW_UNITS: f64 = 1.14;

    #[test]
    fn exp_narrow_of_every_binade_and_a_million_more_is_within_its_bound() {
        let mut rng = Rng::new(4, 0);
        let (zero, lowest) = ((-0.0f32).to_bits(), (-87.0f32).to_bits());
        let stride: Vec<f32> = (zero..=lowest).step_by(499).map(f32::from_bits).collect();
        let every =
            every_binade(&mut rng, 4).into_iter().map(|x| x as f32).filter(|x| (-87.0..=88.0).contains(x)).collect();
        let edges = (-251..=253)
            .flat_map(|k| {
                let edge = (f64::from(k) * (LN2.0 / 2.0)) as f32;
                (-8i32..=8).map(move |step| f32::from_bits(edge.to_bits().wrapping_add_signed(step)))
            })
            .filter(|x| (-87.0..=88.0).contains(x))
            .collect();
        let positive = (0..200_000).map(|_| 88.0 * rng.uniform() as f32).collect();
        for arguments in [stride, every, edges, positive] {
            let (error, x) = worst_narrow(&arguments);
            assert!(error <= MAX_NARROW_UNITS, "{error} at {x}");
        }
    }

    #[test]
    fn exp_narrow_at_special_arguments_is_exact() {
        assert_eq!((exp_narrow(0.0), exp_narrow(-0.0), exp_narrow(-1e-45)), (1.0, 1.0, 1.0));
        assert!(exp_narrow(-87.0) >= f32::MIN_POSITIVE);
        for x in [(-87.0f32).next_down(), -88.0, -104.0, -1e10, f32::MIN, f32::NEG_INFINITY] {
            assert_eq!(exp_narrow(x), 0.0, "{x}");
        }
        for payload in [0, 1, 0xff, 0x1ff, (1 << 22) - 1] {
            assert!(exp_narrow(f32::from_bits(f32::NAN.to_bits() | payload)).is_nan());
            assert!(exp_narrow(-f32::from_bits(f32::NAN.to_bits() | payload)).is_nan());
        }
    }

    #[test]
    fn raise_is_the_power_or_zero_and_never_subnormal() {
        let mut rng = Rng::new(5, 0);
        let mut values: Vec<f64> =
            every_binade(&mut rng, 8).into_iter().filter(|value| (0.0..=1.0).contains(value)).collect();
        values.extend([0.0, 1.0, 0.5, 0.75, SMALLEST_FOURTH, SMALLEST_SQUARE]);
        values.extend([SMALLEST_FOURTH.next_down(), SMALLEST_SQUARE.next_down(), 5e-324, exp(LOWEST)]);
        let lowest = 2f64.powi(-1020);
        for value in values {
            let (square, fourth) = (raise(false, value), raise(true, value));
            assert!(!square.is_subnormal() && !fourth.is_subnormal(), "{value:e}");
            // Powers of the mantissa, which a factor of a power of two then scales within the normal numbers.
            let (mantissa, exponent) =
                (f64::from_bits((value.to_bits() << 12 >> 12) | (1023 << 52)), value.to_bits() >> 52);
            let exponent = exponent as i32 - 1023;
            let expected = |by: i32, power: f64| {
                if value == 0.0 || by * exponent < -1020 { 0.0 } else { power * 2f64.powi(by * exponent) }
            };
            assert_eq!(square, expected(2, mantissa * mantissa), "{value:e}");
            assert_eq!(fourth, expected(4, (mantissa * mantissa) * (mantissa * mantissa)), "{value:e}");
            assert!([square, fourth].iter().all(|&power| power == 0.0 || power >= lowest), "{value:e}");
        }
        assert_eq!((raise(false, 0.75), raise(true, 0.75)), (0.5625, 0.316_406_25));
        assert!(raise(false, f64::NAN).is_nan() && raise(true, f64::NAN).is_nan());
    }
}
