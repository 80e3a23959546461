//! Sine and cosine of the same numbers at once: branch-free, so loops over them vectorise, and with the same bits on
//! every machine, which the system library's do not guarantee.

use std::f64::consts::FRAC_2_PI;

use super::dispatched;

/// pi/2 in three parts, each the number nearest to the remainder after the previous ones: 161 bits.
const HALF_PI: [f64; 3] = [
    f64::from_bits(0x3ff9_21fb_5444_2d18),
    f64::from_bits(0x3c91_a626_3314_5c07),
    f64::from_bits(0xb91f_1976_b7ed_8fbc),
];
/// Adding 1.5 * 2^52 rounds to the nearest integer and leaves it in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// Up to here three fused products remove the quarter turns; beyond it 192-bit integers do.
const NEAR: f64 = 1_073_741_824.0;
/// (sin r - r) / r^3 as a polynomial in r^2 for |r| <= pi/4, interpolated at six Chebyshev nodes, highest power first.
/// The resulting error of sin r is at most 1.4e-17, an eighth of a unit in the last place.
const SINE: [f64; 6] = [
    1.591_812_902_723_482_6e-10,
    -2.505_113_184_128_889e-8,
    2.755_731_610_253_461_7e-6,
    -1.984_126_983_675_854e-4,
    8.333_333_333_330_948e-3,
    -0.166_666_666_666_666_66,
];
/// (cos r - 1) / r^2 in the same way except for its first term, which is -1/2. The resulting error of cos r is 9e-19.
const COSINE: [f64; 7] = [
    -1.138_263_225_809_361_5e-11,
    2.087_614_626_607_931e-9,
    -2.755_731_727_171_864_4e-7,
    2.480_158_729_876_566_5e-5,
    -1.388_888_888_888_739_8e-3,
    4.166_666_666_666_666_4e-2,
    -0.5,
];
const SIGN: u64 = 1 << 63;

dispatched! {
    /// The sine and the cosine of each number to within 1.6 units in the last place, for all finite numbers (the
    /// largest error found is 1.29); the sine of both zeros is 0, and infinities and NaN give NaN.
    ///
    /// Numbers up to 2^30 take 14 cycles for eight on AVX-512, larger ones some dozens each.
    ///
    /// # Panics
    /// If `sin` or `cos` is shorter than `values`.
    pub(crate) fn sin_cos(values: &[f64], sin: &mut [f64], cos: &mut [f64]) {
        let (sin, cos) = (&mut sin[..values.len()], &mut cos[..values.len()]);
        for ((x, sin), cos) in values.iter().zip(&mut *sin).zip(&mut *cos) {
            (*sin, *cos) = near(*x);
        }
        // Compared as integers, the largest is found lane by lane; NaN is larger than everything else.
        if values.iter().fold(0, |most, x| (x.to_bits() & !SIGN).max(most)) > NEAR.to_bits() {
            mend(values, sin, cos);
        }
    }
}

/// Sine and cosine of |x| up to [`NEAR`].
#[inline(always)]
fn near(x: f64) -> (f64, f64) {
    let shifted = x.mul_add(FRAC_2_PI, ROUND);
    let k = shifted - ROUND;
    // The first difference is exact: both are multiples of 2^-53, and the remainder is below 1.
    let r = k.mul_add(-HALF_PI[0], x);
    let r = k.mul_add(-HALF_PI[2], k.mul_add(-HALF_PI[1], r));
    turned(shifted.to_bits(), r)
}

/// Sine and cosine of r plus this many quarter turns, for |r| <= pi/4.
#[inline(always)]
fn turned(quarters: u64, r: f64) -> (f64, f64) {
    let square = r * r;
    let (mut sine, mut cosine) = (SINE[0], COSINE[0].mul_add(square, COSINE[1]));
    for i in 1..SINE.len() {
        sine = sine.mul_add(square, SINE[i]);
        cosine = cosine.mul_add(square, COSINE[i + 1]);
    }
    let sine = sine.mul_add(square * r, r);
    let cosine = cosine.mul_add(square, 1.0);
    // One quarter turn makes the sine a cosine and the cosine a negative sine; two flip both signs.
    let (s, c) = if quarters & 1 == 0 { (sine, cosine) } else { (cosine, sine) };
    let signed = |value: f64, quarters: u64| f64::from_bits(value.to_bits() ^ (quarters << 62 & SIGN));
    (signed(s, quarters), signed(c, quarters.wrapping_add(1)))
}

/// Corrects the results of [`near`] for numbers beyond its range.
#[cold]
fn mend(values: &[f64], sin: &mut [f64], cos: &mut [f64]) {
    for ((x, sin), cos) in values.iter().zip(sin).zip(cos) {
        if x.abs() > NEAR {
            (*sin, *cos) = if x.is_finite() { far(*x) } else { (f64::NAN, f64::NAN) };
        }
    }
}

/// 2/pi in words of 64 bits after the binary point, preceded by one word before it.
const TWO_OVER_PI: [u64; 21] = [
    0,
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_6bab,
    0xf0cf_bc20_9af4_361d,
];

/// Sine and cosine of a finite |x| of 2^30 and more.
fn far(x: f64) -> (f64, f64) {
    // |x| = whole * 2^e with e = (bits >> 52) - 1075. The first e - 2 bits of 2/pi contribute multiples of four
    // quarters; the table has 64 more before them.
    let bits = x.to_bits() & !SIGN;
    let (whole, first) = (bits & ((1 << 52) - 1) | 1 << 52, (bits >> 52) as usize - (1075 + 2 - 64));
    let word = |i: usize| {
        let (i, shift) = (first / 64 + i, first % 64);
        TWO_OVER_PI[i] << shift | (TWO_OVER_PI[i + 1] >> 1) >> (63 - shift)
    };
    // The low 192 bits of the product: two bits of quarters, and their fraction to 2^-137, where no number is nearer
    // than 2^-62 to an integer.
    let product = |word: u64, carry: u64| u128::from(whole) * u128::from(word) + u128::from(carry);
    let low = product(word(2), 0);
    let middle = product(word(1), (low >> 64) as u64);
    let high = whole.wrapping_mul(word(0)).wrapping_add((middle >> 64) as u64);
    let fraction = (u128::from(high) << 64 | u128::from(middle as u64)) << 2 | u128::from(low as u64 >> 62);
    // The nearest integer number of quarters, and the signed remainder.
    let quarters = (high >> 62).wrapping_add((fraction >> 127) as u64);
    let r = times_half_pi(fraction as i128);
    if x > 0.0 { turned(quarters, r) } else { turned(quarters.wrapping_neg(), -r) }
}

/// pi/2 times a fraction of 128 bits.
fn times_half_pi(fraction: i128) -> f64 {
    let high = fraction as f64;
    let low = (fraction - high as i128) as f64;
    let product = high * HALF_PI[0];
    let rest = high.mul_add(HALF_PI[0], -product) + high.mul_add(HALF_PI[1], low * HALF_PI[0]);
    (product + rest) * (0.5f64).powi(128)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;
    use crate::simd::at_every_level;
    use crate::simd::check::{LENGTHS, around, bits, every_binade};
    use crate::simd::double::{Double, two_sum};

    /// Terms of the series: 0.79^29 / 29! is 1e-34.
    const TERMS: usize = 14;

    /// 1/(2k)! and 1/(2k + 1)! with their signs.
    fn coefficients() -> [[Double; TERMS]; 2] {
        let mut all = [[Double(1.0, 0.0); TERMS]; 2];
        let mut inverse = Double(1.0, 0.0);
        for n in 1..2 * TERMS {
            inverse = inverse.over(if n % 2 == 0 { -1.0 } else { 1.0 } * n as f64);
            all[n % 2][n / 2] = inverse;
        }
        all
    }

    /// Sine and cosine of |x| up to 2^30 by the defining series, to 2^-78 of a unit in the last place of 1.
    #[inline(always)]
    fn reference(x: f64, series: &[[Double; TERMS]; 2]) -> (Double, Double) {
        let k = (x / HALF_PI[0]).round();
        let exact = |part: f64| two_sum(-k * part, (-k).mul_add(part, k * part));
        let r = HALF_PI.iter().fold(Double(x, 0.0), |r, &part| r.plus(exact(part)));
        let square = r.times(r);
        let sum = |series: &[Double; TERMS]| {
            series[..TERMS - 1].iter().rev().fold(series[TERMS - 1], |sum, &term| sum.times(square).plus(term))
        };
        let (sine, cosine) = (sum(&series[1]).times(r), sum(&series[0]));
        let minus = |value: Double| Double(-value.0, -value.1);
        match k.rem_euclid(4.0) as u8 {
            0 => (sine, cosine),
            1 => (cosine, minus(sine)),
            2 => (minus(sine), minus(cosine)),
            _ => (minus(cosine), sine),
        }
    }

    /// The error of a value in units in the last place of the exact one.
    #[inline(always)]
    fn units(found: f64, Double(high, low): Double) -> f64 {
        // A power of two that is approached from below has the smaller unit.
        let below = if low != 0.0 && (low < 0.0) == (high > 0.0) { high.abs().next_down() } else { high.abs() };
        let exponent = (below.to_bits() >> 52).max(53);
        ((found - high) - low).abs() / f64::from_bits((exponent - 52) << 52)
    }

    /// The largest error of sines and cosines, and where it is.
    fn worst(arguments: &[f64], series: &[[Double; TERMS]; 2]) -> (f64, f64) {
        let (mut sin, mut cos) = (vec![0.0; arguments.len()], vec![0.0; arguments.len()]);
        sin_cos(arguments, &mut sin, &mut cos);
        let one = |((&x, sin), cos): ((&f64, &f64), &f64)| {
            let (sine, cosine) = reference(x, series);
            (units(*sin, sine).max(units(*cos, cosine)), x)
        };
        arguments
            .iter()
            .zip(&sin)
            .zip(&cos)
            .map(one)
            .fold((0.0, 0.0), |worst, one| if one.0 <= worst.0 { worst } else { one })
    }

    /// Bound on the error, in units in the last place.
    ///
    /// Sine of r: 0.5 the last sum; 1 r itself, where r is just above a power of two and its sine just below it (else
    /// half of that); 3 roundings of r - sin r, which is below 0.078 and beside r near 1/2 below 0.024: 0.05; 0.05 the
    /// polynomial there, 0.126 near pi/4, where all else is 1.17. Together 1.6.
    ///
    /// Cosine of r: 0.5 the last sum, 0.354 r, 0.225 its square, 0.154 the factor of the square, 0.01 all before: 1.25.
    const MAX_UNITS: f64 = 1.6;

    fn assert_within(arguments: &[f64]) {
        let (error, x) = worst(arguments, &coefficients());
        assert!(error <= MAX_UNITS, "{error} at {x:e}");
    }

    #[test]
    fn reference_at_known_arguments_has_thirty_digits() {
        let series = coefficients();
        for (x, sine, cosine) in [
            (0.0, Double(0.0, 0.0), Double(1.0, 0.0)),
            (
                1.0,
                Double(0.841_470_984_807_896_5, 1.776_845_092_935_536e-18),
                Double(0.540_302_305_868_139_8, -4.760_954_612_604_417e-17),
            ),
            (
                NEAR,
                Double(-0.617_326_415_046_042_1, -3.896_968_470_916_075_5e-17),
                Double(0.786_707_122_941_188_2, -4.425_992_365_508_206e-17),
            ),
        ] {
            let found = reference(x, &series);
            for (found, known) in [(found.0, sine), (found.1, cosine)] {
                let difference = ((found.0 - known.0) + (found.1 - known.1)).abs();
                assert!(difference <= 1e-31, "{x}: {difference:e}");
            }
        }
    }

    #[test]
    fn sin_cos_of_every_binade_is_within_its_bound() {
        let mut rng = Rng::new(1, 0);
        let near: Vec<f64> = every_binade(&mut rng, 256).into_iter().filter(|x| x.abs() <= NEAR).collect();
        // Below 2^-500 squares vanish and there is nothing left to test; binades that matter have more numbers.
        let mut more = vec![];
        for binade in -30..30 {
            more.extend((0..5000).map(|_| 2f64.powi(binade) * (1.0 + rng.uniform())));
        }
        assert_within(&near);
        assert_within(&more);
    }

    #[test]
    fn sin_cos_around_multiples_of_an_eighth_of_a_turn_is_within_its_bound() {
        let mut rng = Rng::new(2, 0);
        let some = (0..40_000).map(|_| rng.below(1_300_000_000) as f64);
        let all = (0..20_000).map(|k| k as f64).chain(some);
        let arguments: Vec<f64> =
            all.flat_map(|k| around(k * (HALF_PI[0] / 2.0))).filter(|x| x.abs() <= NEAR).collect();
        assert_within(&arguments);
    }

    #[test]
    fn sin_cos_far_from_zero_is_within_its_bound() {
        for (x, sine, cosine) in FAR {
            for sign in [1.0, -1.0] {
                let (mut sin, mut cos) = ([0.0], [0.0]);
                sin_cos(&[sign * x], &mut sin, &mut cos);
                let error = units(sign * sin[0], sine).max(units(cos[0], cosine));
                assert!(error <= MAX_UNITS, "{error} at {x:e}");
            }
        }
    }

    #[test]
    fn half_pi_times_a_fraction_is_rounded_once() {
        let mut rng = Rng::new(5, 0);
        for _ in 0..20_000 {
            let fraction = ((u128::from(rng.bits()) << 64 | u128::from(rng.bits())) as i128) >> (1 + rng.below(60));
            let high = fraction as f64;
            let exact = two_sum(high, (fraction - high as i128) as f64).times(Double(HALF_PI[0], HALF_PI[1]));
            let error = units(times_half_pi(fraction) * 2f64.powi(128), exact);
            assert!(error <= 0.501, "{error} at {fraction}");
        }
    }

    #[test]
    fn both_ways_to_take_turns_off_agree_where_both_hold() {
        let mut rng = Rng::new(3, 0);
        for _ in 0..20_000 {
            let x = NEAR * (1.0 + 63.0 * rng.uniform()) * if rng.below(2) == 0 { 1.0 } else { -1.0 };
            let ((s, c), (sine, cosine)) = (near(x), far(x));
            assert!((s - sine).abs() < 3e-16 && (c - cosine).abs() < 3e-16, "{x:e}");
        }
    }

    #[test]
    fn sin_cos_at_special_arguments_is_exact() {
        let least = f64::from_bits(1);
        let values = [0.0, -0.0, least, -least, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e-200];
        let (mut sin, mut cos) = ([7.0; 8], [7.0; 8]);
        sin_cos(&values, &mut sin, &mut cos);
        let nan = f64::NAN;
        assert_eq!(bits(&sin), bits(&[0.0, 0.0, least, -least, nan, nan, nan, 1e-200]));
        assert_eq!(bits(&cos), bits(&[1.0, 1.0, 1.0, 1.0, nan, nan, nan, 1.0]));
    }

    #[test]
    fn sin_cos_of_any_length_has_the_same_bits_at_every_level() {
        let mut rng = Rng::new(4, 0);
        for (n, skip) in LENGTHS.into_iter().flat_map(|n| [(n, 0), (n, 1), (n, 3)]) {
            let mut values: Vec<f64> = (0..n + skip).map(|_| 200.0 * rng.uniform() - 100.0).collect();
            let special = [f64::NAN, 1e300, f64::INFINITY, -1e12, 0.0];
            values.iter_mut().skip(skip).step_by(60).zip(special).for_each(|(value, special)| *value = special);
            let found = at_every_level(|| {
                let (mut sin, mut cos) = (vec![7.0; n + skip], vec![7.0; n + skip]);
                sin_cos(&values[skip..], &mut sin[skip..], &mut cos[skip..]);
                assert!(sin[..skip].iter().chain(&cos[..skip]).all(|&out| out == 7.0));
                (bits(&sin[skip..]), bits(&cos[skip..]))
            });
            let one = |&x: &f64| if x.abs() > NEAR && x.is_finite() { far(x) } else { near(x) };
            let (sin, cos): (Vec<f64>, Vec<f64>) = values[skip..].iter().map(one).unzip();
            assert_eq!(found, (bits(&sin), bits(&cos)));
        }
    }

    /// 2^30 + 1, 1e10, 1e15, 1e22, 2^100, the number nearest to a multiple of pi/2, 2^1000, the largest number and
    /// 2^1023: sines and cosines from 1,500 bits of pi.
    const FAR: [(f64, Double, Double); 9] = [
        (
            f64::from_bits(0x41d0_0000_0040_0000),
            Double(0.328_448_331_974_019_6, 7.048_945_038_755_84e-18),
            Double(0.944_521_938_984_735_4, 3.060_474_702_154_623_7e-17),
        ),
        (
            f64::from_bits(0x4202_a05f_2000_0000),
            Double(-0.487_506_025_087_510_7, -1.665_199_285_246_269e-17),
            Double(0.873_119_622_676_856, -5.414_489_049_448_52e-17),
        ),
        (
            f64::from_bits(0x430c_6bf5_2634_0000),
            Double(0.858_272_793_170_235_9, -2.372_639_689_262_412e-17),
            Double(-0.513_193_737_786_970_3, 5.317_997_726_826_167_5e-17),
        ),
        (
            f64::from_bits(0x4480_f0cf_064d_d592),
            Double(-0.852_200_849_767_188_8, -6.780_682_589_677_328_4e-18),
            Double(0.523_214_785_395_139, -4.714_320_107_657_516_4e-17),
        ),
        (
            f64::from_bits(0x4630_0000_0000_0000),
            Double(-0.872_183_605_418_267_3, 2.833_560_288_403_131e-17),
            Double(0.489_178_656_974_721_46, -9.787_921_958_639_99e-18),
        ),
        (
            f64::from_bits(0x7506_ac5b_262c_a1ff),
            Double(1.0, -1.098_476_220_074_687e-37),
            Double(-4.687_165_924_254_628e-19, 4.372_055_742_938_273_3e-36),
        ),
        (
            f64::from_bits(0x7e70_0000_0000_0000),
            Double(-0.159_201_703_086_242_43, -8.410_182_334_689_326e-18),
            Double(0.987_246_077_598_913_5, 1.021_275_934_014_975e-17),
        ),
        (
            f64::from_bits(0x7fef_ffff_ffff_ffff),
            Double(0.004_961_954_789_184_062, -2.504_937_767_649_410_4e-19),
            Double(-0.999_987_689_426_559_9, -2.603_289_026_721_674_8e-17),
        ),
        (
            f64::from_bits(0x7fe0_0000_0000_0000),
            Double(0.563_127_779_850_884, -1.142_850_879_764_643_5e-17),
            Double(-0.826_369_834_614_148, 4.103_345_667_279_406e-17),
        ),
    ];
}
