//! The standard normal distribution function, to full relative accuracy in both tails.
//!
//! Everything is derived from one function, the tail over the density, `(1 - Phi(x)) / phi(x)` for `x >= 0`, which is
//! smooth and never small: its Taylor series around a grid, and a continued fraction far out.

use crate::simd::{exp, ln};

/// ln sqrt(2 pi).
const LN_ROOT_TAU: f64 = 0.918_938_533_204_672_8;
/// 1 / sqrt(2 pi).
const INVERSE_ROOT_TAU: f64 = 0.398_942_280_401_432_7;
/// The tail over the density at 0, 1/2, 1, ..., 5.
const GRID: [f64; 11] = [
    1.253_314_137_315_500_3,
    0.876_364_456_453_692_4,
    0.655_679_542_418_798_5,
    0.515_815_638_217_963_4,
    0.421_369_229_288_054_5,
    0.354_265_111_329_793_67,
    0.304_590_298_710_103_3,
    0.266_567_768_968_223_76,
    0.236_652_382_913_560_67,
    0.212_570_580_442_031_79,
    0.192_808_104_715_315_76,
];
/// Terms of the series: within a quarter of a node the omitted terms are below a rounding.
const TERMS: u32 = 17;
/// Terms of the continued fraction, enough from the last grid node on.
const LEVELS: u32 = 40;

/// P(Z <= z) of the standard normal distribution, with a relative error of a few roundings in both tails; 0 below
/// -37.6, where [`ln_normal_cdf`] is still accurate.
///
/// ```
/// use multikernel::dist::normal_cdf;
/// assert!((normal_cdf(0.0) - 0.5).abs() < 1e-15);
/// assert!((normal_cdf(-20.3) / 6.4292444676983463e-92 - 1.0).abs() < 1e-14);
/// ```
pub fn normal_cdf(z: f64) -> f64 {
    let tail = density(z) * tail_over_density(z.abs());
    if z > 0.0 { 1.0 - tail } else { tail }
}

/// ln P(Z <= z) of the standard normal distribution, with a relative error of a few roundings in both tails: for
/// likelihoods, where the probability itself would be 0 or 1.
///
/// ```
/// use multikernel::dist::ln_normal_cdf;
/// assert!((ln_normal_cdf(-40.0) / -804.60844201375379 - 1.0).abs() < 1e-15);
/// ```
pub fn ln_normal_cdf(z: f64) -> f64 {
    let ratio = tail_over_density(z.abs());
    if z > 0.0 { ln_complement(density(z) * ratio) } else { ln(ratio) - LN_ROOT_TAU - 0.5 * z * z }
}

/// phi(z) / P(Z <= z), the inverse Mills ratio: `z` plus this is the mean of a normal variate with mean z and variance
/// 1, given that it is positive. Relative error of a few roundings in both tails; about -z far below 0.
///
/// ```
/// use multikernel::dist::inverse_mills;
/// // Never negative, however far below zero the mean was.
/// assert!(-1e6 + inverse_mills(-1e6) >= 0.0);
/// ```
pub fn inverse_mills(z: f64) -> f64 {
    let ratio = tail_over_density(z.abs());
    if z > 0.0 { density(z) / (1.0 - density(z) * ratio) } else { 1.0 / ratio }
}

/// `-ln P(Z > z)`, which maps a standard normal variate to an exponential one, and its derivative in z, the hazard
/// `phi(z) / P(Z > z)`. Relative errors of a few roundings in both tails; 0 below -37.6.
pub(crate) fn exponential_of_normal(z: f64) -> (f64, f64) {
    let ratio = tail_over_density(z.abs());
    if z >= 0.0 {
        return (LN_ROOT_TAU + 0.5 * z * z - ln(ratio), 1.0 / ratio);
    }
    let density = density(z);
    let tail = density * ratio;
    (-ln_complement(tail), density / (1.0 - tail))
}

/// exp(-z^2/2) / sqrt(2 pi).
fn density(z: f64) -> f64 {
    // The rounding error of the square is up to 1e-13 of the exponential.
    let square = z * z;
    let lost = if square.is_finite() { z.mul_add(z, -square) } else { 0.0 };
    INVERSE_ROOT_TAU * exp(-0.5 * square) * (1.0 - 0.5 * lost)
}

/// `R(x) = (1 - Phi(x)) / phi(x)` for `x >= 0`.
fn tail_over_density(x: f64) -> f64 {
    let node = (2.0 * x + 0.5) as usize;
    if node >= GRID.len() {
        return 1.0 / (1..LEVELS).rev().fold(x, |below, k| x + f64::from(k) / below);
    }
    // R' = x R - 1, so each derivative follows from the two before it: R_(k+1) = x R_k + k R_(k-1). Here they are
    // divided by their factorials.
    let at = 0.5 * node as f64;
    let h = x - at;
    let (mut before, mut term) = (GRID[node], at * GRID[node] - 1.0);
    let (mut sum, mut power) = (before, h);
    for k in 1..TERMS {
        sum += power * term;
        power *= h;
        (before, term) = (term, (at * term + before) / f64::from(k + 1));
    }
    sum
}

/// ln(1 - q) for q from 0 to 1/2, without forming 1 - q.
fn ln_complement(q: f64) -> f64 {
    // -2 atanh(q / (2 - q)), a series in a square of at most 1/9.
    let t = q / (2.0 - q);
    let series = (0..18).rev().fold(0.0, |sum, k| sum * (t * t) + 1.0 / f64::from(2 * k + 1));
    -2.0 * t * series
}

#[cfg(test)]
mod tests {
    use super::*;

    /// z, P(Z <= z), its logarithm, and the density over it, by mpmath with 60 digits.
    #[allow(clippy::excessive_precision)]
    const TABLE: [(f64, f64, f64, f64); 21] = [
        (-37.5, 4.6053530095819548e-308, -707.66898931750719, 37.526628874883654),
        (-20.3, 6.4292444676983463e-92, -209.97697152524203, 20.349024854391532),
        (-8.1, 2.7479593923982285e-16, -35.830502890801472, 8.2199519010467492),
        (-5.1, 1.6982674071476015e-7, -15.588487091871466, 5.283287616909157),
        (-4.9, 4.7918327659031899e-7, -14.551182689355313, 5.0898286001298836),
        (-3.3, 0.00048342414238377751, -7.6346161480711273, 3.5632662666776367),
        (-2.2, 0.013903447513498604, -4.2756184470441434, 2.5514961531512083),
        (-1.1, 0.13566606094638266, -1.9975588469862971, 1.6057971722098506),
        (-0.6, 0.27425311775007359, -1.2937038116140281, 1.2150257602375433),
        (-0.1, 0.46017216272297102, -0.77615459273027333, 0.86261747153093614),
        (0.0, 0.5, -std::f64::consts::LN_2, 0.79788456080286536),
        (0.1, 0.53982783727702898, -0.61650501011502629, 0.73533174850578066),
        (0.74, 0.7703500028352094, -0.26091031827393587, 0.39383304035789054),
        (0.76, 0.77637270756240057, -0.25312258085228704, 0.38495995913397179),
        (1.3, 0.90319951541438967, -0.10181180266765503, 0.18973503541925962),
        (2.7, 0.99653302619695933, -0.0034729976838374659, 0.010457189616877734),
        (4.0, 0.99996832875816688, -3.1671743377489264e-5, 0.00013383446446857514),
        (6.6, 0.99999999997944211, -2.0557889094206542e-11, 1.3866799941938242e-10),
        (8.3, 0.99999999999999995, -5.2055697448902542e-17, 4.3816394355093329e-16),
        (20.0, 1.0, -2.7536241186062337e-89, 5.5209483621597632e-88),
        (37.5, 1.0, -4.6053530095819548e-308, 1.7282337322841052e-306),
    ];

    fn assert_relative(found: f64, expected: f64, what: &str) {
        assert!((found / expected - 1.0).abs() < 3e-15, "{what}: {found:e}, expected {expected:e}");
    }

    #[test]
    fn functions_equal_high_precision_values_in_both_tails() {
        for (z, cdf, ln_cdf, mills) in TABLE {
            assert_relative(normal_cdf(z), cdf, &format!("cdf at {z}"));
            assert_relative(ln_normal_cdf(z), ln_cdf, &format!("ln cdf at {z}"));
            assert_relative(inverse_mills(z), mills, &format!("inverse Mills ratio at {z}"));
        }
        assert_relative(ln_normal_cdf(-40.0), -804.608_442_013_753_8, "ln cdf at -40");
        assert_relative(inverse_mills(-40.0), 40.024_968_847_207_26, "inverse Mills ratio at -40");
        assert_relative(inverse_mills(-1e8), 1e8, "inverse Mills ratio at -1e8");
        for (z, _, ln_cdf, mills) in TABLE {
            let (e, hazard) = exponential_of_normal(-z);
            assert_relative(e, -ln_cdf, &format!("exponential of {}", -z));
            assert_relative(hazard, mills, &format!("hazard at {}", -z));
        }
    }

    #[test]
    fn pieces_of_the_series_and_the_fraction_meet() {
        for k in 0..=10 {
            let border = 0.25 + 0.5 * f64::from(k);
            let (below, above) = (border * (1.0 - f64::EPSILON), border * (1.0 + f64::EPSILON));
            assert_relative(tail_over_density(below), tail_over_density(above), &format!("at {border}"));
        }
    }

    #[test]
    fn ends_of_the_line_are_exact_and_nan_stays() {
        let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
        assert_eq!((normal_cdf(low), normal_cdf(high), normal_cdf(-40.0)), (0.0, 1.0, 0.0));
        assert_eq!((ln_normal_cdf(low), ln_normal_cdf(high), ln_normal_cdf(40.0)), (low, 0.0, 0.0));
        assert_eq!((inverse_mills(low), inverse_mills(high)), (high, 0.0));
        assert!(normal_cdf(f64::NAN).is_nan() && ln_normal_cdf(f64::NAN).is_nan() && inverse_mills(f64::NAN).is_nan());
    }
}
