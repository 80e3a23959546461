//! The inverse Gaussian distribution and the distribution of its reciprocal.
//!
//! Michael, Schucany and Haas: with y chi-square with one degree of freedom and w = mean y / (2 shape), the two roots
//! of the transformation are mean / q and mean q, q = 1 + w + sqrt(w (w + 2)), of which the smaller is taken with
//! probability q / (1 + q). In this form, with a product of roots instead of a difference, nothing cancels however
//! large mean/shape is.

use super::Rng;
use super::normal::chi_square;
use crate::simd::{exp, ln};

/// An inverse Gaussian variate: first the mean, then the shape; variance mean^3/shape. NaN unless both are positive and
/// the shape is finite; an infinite mean gives the limit, the Lévy distribution of scale `shape`.
///
/// The mean of its reciprocal is 1/mean + 1/shape, which reveals the order of the two arguments; its mean cannot if
/// they are equal. Cost: about 3.5 uniform variates.
///
/// ```
/// use multikernel::dist::{Rng, inverse_gaussian};
/// let mut rng = Rng::new(0, 0);
/// let mean = (0..10_000).map(|_| 1.0 / inverse_gaussian(&mut rng, 2.0, 5.0)).sum::<f64>() / 1e4;
/// assert!((mean - (1.0 / 2.0 + 1.0 / 5.0)).abs() < 0.02);
/// ```
pub fn inverse_gaussian(rng: &mut Rng, mean: f64, shape: f64) -> f64 {
    /// From here on q = 2 w to the last bit.
    const LARGE: f64 = 1e17;
    if !(mean > 0.0 && shape > 0.0 && shape.is_finite()) {
        return f64::NAN;
    }
    let y = chi_square(rng);
    let u = rng.uniform();
    let w = mean / shape * (0.5 * y);
    if w > LARGE {
        return shape / y;
    }
    let q = root(w);
    if u * (1.0 + q) < q { mean / q } else { mean * q }
}

/// ln(lambda) where 1/lambda is inverse Gaussian with mean 1/a and shape 1, given ln(a); minus infinity stands for a =
/// 0, where lambda is chi-square with one degree of freedom. NaN if ln(a) is NaN or plus infinity.
///
/// The distribution of the scales in a group elastic net, a = |beta| |w|. The logarithm is finite for every finite
/// ln(a), whether or not lambda is in the range of `f64`. The mean of lambda is 1 + a, that of 1/lambda is 1/a.
///
/// ```
/// use multikernel::dist::{Rng, ln_reciprocal_inverse_gaussian};
/// let mut rng = Rng::new(0, 0);
/// let mut draw = || ln_reciprocal_inverse_gaussian(&mut rng, 30f64.ln());
/// let mean = (0..10_000).map(|_| (-draw()).exp()).sum::<f64>() / 1e4;
/// assert!((mean * 30.0 - 1.0).abs() < 0.02);
/// ```
pub fn ln_reciprocal_inverse_gaussian(rng: &mut Rng, ln_a: f64) -> f64 {
    if ln_a.is_nan() || ln_a == f64::INFINITY {
        return f64::NAN;
    }
    let half = 0.5 * chi_square(rng);
    let u = rng.uniform();
    if ln_a > 0.0 {
        let q = root(half * exp(-ln_a));
        return if u * (1.0 + q) < q { ln_a + ln(q) } else { ln_a - ln(q) };
    }
    // a q instead of q, which is as large as 1/a.
    let a = exp(ln_a);
    let product = a + half + (half * (half + 2.0 * a)).sqrt();
    if u * (a + product) < product { ln(product) } else { 2.0 * ln_a - ln(product) }
}

/// q = 1 + w + sqrt(w (w + 2)), the larger root; the smaller is 1/q.
fn root(w: f64) -> f64 {
    1.0 + w + (w * (w + 2.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::super::check::{assert_law, assert_mean, assert_share, inverse_gaussian_cdf, law_distance, normal_cdf};
    use super::*;

    #[test]
    fn inverse_gaussian_has_its_law_and_its_moments() {
        for (stream, (mean, shape)) in
            [(1.0, 1.0), (2.0, 5.0), (5.0, 2.0), (0.01, 0.3), (1e3, 1.0), (1.0, 50.0)].into_iter().enumerate()
        {
            let (mut rng, what) = (Rng::new(1, stream as u64), format!("mean {mean}, shape {shape}"));
            let draws: Vec<f64> = (0..100_000).map(|_| inverse_gaussian(&mut rng, mean, shape)).collect();
            assert_law(&draws, |x| inverse_gaussian_cdf(x, mean, shape), &what);
            // Var(1/X) = 1/(mean shape) + 2/shape^2; X itself has too heavy a tail where mean/shape is large.
            let variance = 1.0 / (mean * shape) + 2.0 / (shape * shape);
            assert_mean(&draws, |x| 1.0 / x, 1.0 / mean + 1.0 / shape, variance, &what);
            if mean < 10.0 * shape {
                assert_mean(&draws, |x| x, mean, mean.powi(3) / shape, &what);
            }
            // Swapped or slightly different arguments are another distribution.
            assert!(law_distance(&draws, |x| inverse_gaussian_cdf(x, mean, 1.1 * shape)) > 2.5, "{what}");
            if mean != shape && mean < 300.0 * shape {
                assert!(law_distance(&draws, |x| inverse_gaussian_cdf(x, shape, mean)) > 10.0, "{what}");
            }
        }
    }

    #[test]
    fn inverse_gaussian_tails_are_as_heavy_as_they_should_be() {
        let mut rng = Rng::new(2, 0);
        let draws: Vec<f64> = (0..300_000).map(|_| inverse_gaussian(&mut rng, 2.0, 3.0)).collect();
        for x in [0.2, 0.3, 10.0, 15.0] {
            let below = inverse_gaussian_cdf(x, 2.0, 3.0);
            assert!(!(0.01..=0.99).contains(&below), "{x} is no tail: {below}");
            assert_share(&draws, |draw| draw <= x, below, &format!("below {x}"));
        }
    }

    #[test]
    fn inverse_gaussian_of_a_huge_mean_is_levy() {
        for (stream, (mean, shape)) in
            [(1e12, 1.0), (1e300, 1.0), (f64::MAX, 1e-200), (f64::INFINITY, 3.0)].into_iter().enumerate()
        {
            let mut rng = Rng::new(3, stream as u64);
            let draws: Vec<f64> = (0..50_000).map(|_| inverse_gaussian(&mut rng, mean, shape)).collect();
            assert!(draws.iter().all(|x| *x > 0.0 && x.is_finite()));
            assert_law(&draws, |x| 2.0 * normal_cdf(-(shape / x).sqrt()), &format!("mean {mean:e}, shape {shape:e}"));
        }
    }

    #[test]
    fn inverse_gaussian_of_a_tiny_mean_is_nearly_normal() {
        for (stream, (mean, shape)) in [(1e-9f64, 1.0), (1.0, 1e12)].into_iter().enumerate() {
            let mut rng = Rng::new(4, stream as u64);
            let std = mean * (mean / shape).sqrt();
            let draws: Vec<f64> = (0..50_000).map(|_| (inverse_gaussian(&mut rng, mean, shape) - mean) / std).collect();
            assert_law(&draws, normal_cdf, &format!("mean {mean:e}, shape {shape:e}"));
        }
        assert_eq!(inverse_gaussian(&mut Rng::new(4, 9), 1e-300, 1.0), 1e-300);
    }

    #[test]
    fn reciprocal_has_its_law_and_its_moments() {
        for (stream, a) in [0.01f64, 0.5, 0.999, 1.001, 4.0, 30.0, 250.0].into_iter().enumerate() {
            let (mut rng, what) = (Rng::new(5, stream as u64), format!("a {a}"));
            let draws: Vec<f64> =
                (0..100_000).map(|_| ln_reciprocal_inverse_gaussian(&mut rng, a.ln()).exp()).collect();
            assert_law(&draws, |lambda| 1.0 - inverse_gaussian_cdf(1.0 / lambda, 1.0 / a, 1.0), &what);
            assert_mean(&draws, |lambda| lambda, 1.0 + a, a + 2.0, &what);
            if a >= 0.5 {
                assert_mean(&draws, |lambda| 1.0 / lambda, 1.0 / a, a.powi(-3), &what);
            }
        }
    }

    #[test]
    fn reciprocal_at_thirty_has_the_mean_of_the_right_order_of_arguments() {
        let mut rng = Rng::new(6, 0);
        let ln_a = 30f64.ln();
        let mean = (0..50_000).map(|_| (-ln_reciprocal_inverse_gaussian(&mut rng, ln_a)).exp()).sum::<f64>() / 5e4;
        // With mean and shape swapped it would be 1.
        assert!((mean / (1.0 / 30.0) - 1.0).abs() < 0.02, "{mean}");
    }

    #[test]
    fn reciprocal_of_nothing_and_of_almost_nothing_is_chi_square() {
        for (stream, ln_a) in [f64::NEG_INFINITY, -1e300, -700.0, -300.0, -40.0].into_iter().enumerate() {
            let mut rng = Rng::new(7, stream as u64);
            let draws: Vec<f64> = (0..50_000).map(|_| ln_reciprocal_inverse_gaussian(&mut rng, ln_a).exp()).collect();
            assert_law(&draws, |x| 2.0 * normal_cdf(x.sqrt()) - 1.0, &format!("ln a {ln_a}"));
        }
    }

    #[test]
    fn reciprocal_is_finite_for_every_finite_logarithm() {
        let mut rng = Rng::new(8, 0);
        for power in -400..=400 {
            let ln_a = f64::from(power) * std::f64::consts::LN_10;
            for _ in 0..50 {
                let found = ln_reciprocal_inverse_gaussian(&mut rng, ln_a);
                assert!(found.is_finite(), "a 1e{power}");
                // lambda - a has the standard deviation sqrt(a + 2) around 1.
                assert!(power < 20 || (found - ln_a).abs() < 1e-8, "a 1e{power}: {}", found - ln_a);
            }
        }
        assert_eq!(ln_reciprocal_inverse_gaussian(&mut rng, 1e300), 1e300);
    }

    #[test]
    fn what_is_no_law_is_nan() {
        let mut rng = Rng::new(9, 0);
        for (mean, shape) in
            [(0.0, 1.0), (-1.0, 1.0), (f64::NAN, 1.0), (1.0, 0.0), (1.0, f64::INFINITY), (1.0, f64::NAN)]
        {
            assert!(inverse_gaussian(&mut rng, mean, shape).is_nan(), "{mean} {shape}");
        }
        assert!(ln_reciprocal_inverse_gaussian(&mut rng, f64::INFINITY).is_nan());
        assert!(ln_reciprocal_inverse_gaussian(&mut rng, f64::NAN).is_nan());
    }

    #[test]
    fn inverse_gaussian_keeps_its_bits() {
        let mut rng = Rng::new(7, 3);
        let found = [0.2, 1.0, 60.0].map(|mean: f64| {
            (
                inverse_gaussian(&mut rng, mean, 2.0).to_bits(),
                ln_reciprocal_inverse_gaussian(&mut rng, crate::simd::ln(mean)).to_bits(),
            )
        });
        let expected = [
            (0x3fd4_de1b_8110_24b8, 0xbff0_43ee_7b90_cb2c),
            (0x3fe5_6e7f_6c1c_e97e, 0x3ffc_fb54_cae4_1b80),
            (0x3ff0_8d0f_a53b_7b67, 0x400f_8a55_a2cd_372e),
        ];
        assert_eq!(found, expected);
    }
}
