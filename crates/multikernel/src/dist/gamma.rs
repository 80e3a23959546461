//! The gamma distribution.

use super::{Rng, normal};
use crate::simd::{exp, ln};

/// A gamma variate with mean `shape * scale` and variance `shape * scale^2`; NaN unless both are positive and finite.
///
/// Marsaglia and Tsang's method: about 4 uniform variates for shapes of at least 1. Below 1 it is the variate of
/// `shape + 1` times u^(1/shape), which approaches 0 with the shape and is 0 where it underflows: use [`ln_gamma`] for
/// shapes below 0.1 if 0 is not acceptable.
///
/// ```
/// use multikernel::dist::{Rng, gamma};
/// let mut rng = Rng::new(0, 0);
/// let mean = (0..10_000).map(|_| gamma(&mut rng, 3.0, 0.5)).sum::<f64>() / 1e4;
/// assert!((mean - 1.5).abs() < 0.05);
/// ```
pub fn gamma(rng: &mut Rng, shape: f64, scale: f64) -> f64 {
    if !is_positive(shape) || !is_positive(scale) {
        f64::NAN
    } else if shape < 1.0 {
        let whole = one_or_more(rng, shape + 1.0);
        scale * whole * exp(ln_boost(rng, shape))
    } else {
        scale * one_or_more(rng, shape)
    }
}

/// The logarithm of a gamma variate of scale 1; add ln(scale) for another scale. NaN unless the shape is positive and
/// finite.
///
/// For scales outside the range of `f64`, and for small shapes, most of whose variates are.
///
/// ```
/// use multikernel::dist::{Rng, ln_gamma};
/// assert!((0..100).all(|stream| ln_gamma(&mut Rng::new(0, stream), 1e-6).is_finite()));
/// ```
pub fn ln_gamma(rng: &mut Rng, shape: f64) -> f64 {
    if !is_positive(shape) {
        f64::NAN
    } else if shape < 1.0 {
        let whole = one_or_more(rng, shape + 1.0);
        ln(whole) + ln_boost(rng, shape)
    } else {
        ln(one_or_more(rng, shape))
    }
}

fn is_positive(x: f64) -> bool {
    x > 0.0 && x.is_finite()
}

/// ln(u)/shape, which turns a variate of `shape + 1` into one of `shape`.
fn ln_boost(rng: &mut Rng, shape: f64) -> f64 {
    // A shape near 0 could make it infinite.
    (ln(1.0 - rng.uniform()) / shape).max(f64::MIN)
}

/// For shapes of at least 1: d (1 + c z)^3 with d = shape - 1/3, c = 1/sqrt(9 d), z normal, accepted with probability
/// exp(z^2/2 + d - d v + d ln v), v = (1 + c z)^3.
fn one_or_more(rng: &mut Rng, shape: f64) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let z = normal(rng);
        let y = c * z;
        if y <= -1.0 {
            continue;
        }
        let u = 1.0 - rng.uniform();
        // Below the bound of the exponential there is no need to compute it.
        if u < 1.0 - 0.0331 * (z * z) * (z * z) || ln(u) < 3.0 * d * remainder(y) {
            return d * (1.0 + y) * (1.0 + y) * (1.0 + y);
        }
    }
}

/// ln(1 + y) - y + y^2/2 - y^3/3 for `y > -1`: since z^2/2 is 9 d y^2 / 2, a third of d times this is all that remains
/// of the exponent. Near 0 it uses a series, because for large shapes only rounding errors would remain otherwise.
fn remainder(y: f64) -> f64 {
    if y.abs() > 0.1 {
        return ln(1.0 + y) - y + y * y / 2.0 - y * y * y / 3.0;
    }
    // -y^4/4 + y^5/5 - ... to y^19.
    let series = (4..20).rev().fold(0.0, |sum, k| 1.0 / f64::from(k) - y * sum);
    -(y * y) * (y * y) * series
}

#[cfg(test)]
mod tests {
    use super::super::check::{assert_law, assert_mean, gamma_cdf, law_distance};
    use super::*;

    const SHAPES: [f64; 8] = [0.05, 0.3, 0.5, 1.0, 1.7, 4.0, 30.0, 300.0];

    #[test]
    fn gamma_has_its_law_and_its_moments() {
        for (stream, shape) in SHAPES.into_iter().enumerate() {
            let (mut rng, scale) = (Rng::new(1, stream as u64), 0.25);
            let draws: Vec<f64> = (0..100_000).map(|_| gamma(&mut rng, shape, scale)).collect();
            assert_law(&draws, |x| gamma_cdf((x / scale).ln(), shape), &format!("shape {shape}"));
            assert_mean(&draws, |x| x, shape * scale, shape * scale * scale, &format!("mean of shape {shape}"));
            // A neighbouring shape is detected, so this test can fail.
            assert!(law_distance(&draws, |x| gamma_cdf((x / scale).ln(), 1.03 * shape)) > 2.5, "shape {shape}");
        }
    }

    #[test]
    fn ln_gamma_has_the_law_of_the_logarithm() {
        for (stream, shape) in [1e-8, 1e-3].into_iter().chain(SHAPES).enumerate() {
            let mut rng = Rng::new(2, stream as u64);
            let draws: Vec<f64> = (0..50_000).map(|_| ln_gamma(&mut rng, shape)).collect();
            assert!(draws.iter().all(|x| x.is_finite()));
            assert_law(&draws, |x| gamma_cdf(x, shape), &format!("shape {shape}"));
        }
    }

    #[test]
    fn gamma_of_large_shapes_is_nearly_normal() {
        for (stream, shape) in [1e8, 1e13, 1e16].into_iter().enumerate() {
            let mut rng = Rng::new(3, stream as u64);
            let scaled = |rng: &mut Rng| (gamma(rng, shape, 1.0) - shape) / shape.sqrt();
            let draws: Vec<f64> = (0..50_000).map(|_| scaled(&mut rng)).collect();
            assert_law(&draws, super::super::check::normal_cdf, &format!("shape {shape:e}"));
        }
    }

    #[test]
    fn gamma_extremes_are_numbers_and_what_is_no_law_is_nan() {
        let mut rng = Rng::new(4, 0);
        for shape in [f64::MIN_POSITIVE, 1e-300, 1e-9, 1.0, 1e300] {
            assert!(ln_gamma(&mut rng, shape).is_finite(), "{shape:e}");
            assert!(gamma(&mut rng, shape, 1.0) >= 0.0, "{shape:e}");
        }
        for (shape, scale) in
            [(0.0, 1.0), (-1.0, 1.0), (f64::NAN, 1.0), (f64::INFINITY, 1.0), (1.0, 0.0), (1.0, f64::NAN)]
        {
            assert!(gamma(&mut rng, shape, scale).is_nan(), "{shape} {scale}");
        }
        assert!(ln_gamma(&mut rng, 0.0).is_nan() && ln_gamma(&mut rng, f64::INFINITY).is_nan());
    }

    #[test]
    fn remainder_is_continuous_where_the_series_ends() {
        for y in [0.1f64, -0.1] {
            let direct = (1.0 + y).ln() - y + y * y / 2.0 - y * y * y / 3.0;
            assert!((remainder(y) - direct).abs() < 2e-16, "{y}: {:e}", remainder(y) - direct);
        }
        assert_eq!(remainder(0.0), 0.0);
    }

    #[test]
    fn gamma_keeps_its_bits() {
        let mut rng = Rng::new(7, 3);
        let found =
            [0.4, 1.0, 12.5].map(|shape| (gamma(&mut rng, shape, 2.0).to_bits(), ln_gamma(&mut rng, shape).to_bits()));
        let expected = [
            (0x3fb8_9dbe_4d1c_9c52, 0xc000_9445_dd7e_276c),
            (0x3ff1_1fce_03e8_ef85, 0xc006_d4d8_d4c8_e029),
            (0x4031_02f6_e7cf_b561, 0x4006_6604_9685_a955),
        ];
        assert_eq!(found, expected);
    }
}
