//! The exponential of the radial kernels: without branches, so loops over it vectorise, and with the same bits on every
//! machine, which the exponential of the system library does not promise.

use std::f64::consts::LOG2_E;

use super::dispatched;

/// ln 2 = `LN2_HIGH` + `LN2_LOW` to 85 bits; the high part ends in 21 zero bits, so k * `LN2_HIGH` is exact for |k| < 2^21.
const LN2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fee0_0000);
const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
/// Adding 1.5 * 2^52 rounds to the nearest whole number and leaves it in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// Below this, 2^k would leave the normal numbers; e^-708 is 3e-308 and counts as 0.
const LOWEST: f64 = -708.0;
/// Above this, 2^k would overflow.
const HIGHEST: f64 = 709.0;
/// The fourth root of the smallest number a kernel value may have: powers of what is below are 0, never subnormal, which
/// processors handle a hundred times slower.
const SMALLEST_FOURTH: f64 = f64::from_bits((1023 - 255) << 52);
/// The same for squares.
const SMALLEST_SQUARE: f64 = f64::from_bits((1023 - 510) << 52);
/// (e^r - 1 - r) / r^2 on |r| <= ln(2)/2, interpolated at ten Chebyshev nodes: even and odd powers, highest first.
/// The relative error of e^r is 1.6e-17, a seventh of the rounding.
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

/// e^x to within one unit in the last place: e^x = 2^k e^r with k the whole number nearest to x / ln 2.
/// Exactly 1 at 0; 0 below -708 and infinite above 709; NaN stays NaN.
#[inline(always)]
pub(crate) fn exp(x: f64) -> f64 {
    let shifted = x.mul_add(LOG2_E, ROUND);
    let k = shifted - ROUND;
    let r = k.mul_add(-LN2_LOW, k.mul_add(-LN2_HIGH, x));
    // e^r = 1 + (r + r^2 (even + r odd)): two chains of products that run side by side, and large terms added last.
    let square = r * r;
    let (mut even, mut odd) = (EVEN[0], ODD[0]);
    for i in 1..EVEN.len() {
        even = even.mul_add(square, EVEN[i]);
        odd = odd.mul_add(square, ODD[i]);
    }
    let sum = 1.0 + square.mul_add(r.mul_add(odd, even), r);
    // The low twelve bits of k + 1023 are the sign and exponent of 2^k.
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    let value = sum * power;
    let value = if x < LOWEST { 0.0 } else { value };
    if x > HIGHEST { f64::INFINITY } else { value }
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
    // Zero before the product, not after: one that leaves the normal numbers is slow even if nobody wants it. Not `>`:
    // not-a-number has to pass through.
    let smallest = if twice { SMALLEST_FOURTH } else { SMALLEST_SQUARE };
    let value = if value < smallest { 0.0 } else { value };
    let square = value * value;
    if twice { square * square } else { square }
}

/// The exponential of `f32`, for kernels that are held so: e^x to within 1.1 units in the last place, 0 below -87.
#[inline(always)]
pub(super) fn exp_narrow(x: f32) -> f32 {
    /// ln 2 in two parts; the high part has nine bits, so k times it is exact.
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    /// 1.5 * 2^23.
    const ROUND: f32 = 12_582_912.0;
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
    let value = sum * f32::from_bits(shifted.to_bits().wrapping_add(127) << 23);
    if x < -87.0 { 0.0 } else { value }
}
