//! The generalised inverse Gaussian distribution with index 1/2.

use super::Rng;
use super::normal::chi_square;

/// A variate with density proportional to `x^(-1/2) exp(-(a x + b/x) / 2)`, for `a > 0` and `b >= 0`: the distribution
/// of the scales in a max-margin pseudo-likelihood and of the variances of a Laplace distribution. Its reciprocal is
/// inverse Gaussian with mean sqrt(a/b) and shape a. NaN for other arguments.
///
/// Mean `(1 + sqrt(a b)) / a`; at b = 0 it is the gamma distribution with shape 1/2 and rate a/2. Nothing cancels,
/// however small b is: of the two roots m q and m / q, m = sqrt(b/a), the larger is a sum and the smaller is `m^2` over
/// it. Cost: about 3.5 uniform variates.
///
/// ```
/// use multikernel::dist::{Rng, half_gig};
/// let mut rng = Rng::new(0, 0);
/// let mean = (0..10_000).map(|_| half_gig(&mut rng, 3.0, 2.0)).sum::<f64>() / 1e4;
/// assert!((mean - (1.0 + 6f64.sqrt()) / 3.0).abs() < 0.03);
/// ```
pub fn half_gig(rng: &mut Rng, a: f64, b: f64) -> f64 {
    if !(a > 0.0 && a.is_finite() && b >= 0.0 && b.is_finite()) {
        return f64::NAN;
    }
    // Roots first: the quotient and the square may overflow or underflow where the variate does not.
    let m = b.sqrt() / a.sqrt();
    let u = 0.5 * chi_square(rng) / a;
    let x = m + u + u.sqrt() * (u + 2.0 * m).sqrt();
    if rng.uniform() * (x + m) < x { x } else { m * (m / x) }
}

#[cfg(test)]
mod tests {
    use super::super::check::{assert_law, assert_mean, inverse_gaussian_cdf, law_distance, normal_cdf};
    use super::*;

    #[test]
    fn half_gig_has_its_moments_from_no_b_to_a_large_a() {
        let n = 2_000_000;
        for (stream, (a, b)) in
            [(1.0, 0.0), (3.0, 1e-6), (1.0, 1.0), (201.0, 4.0), (0.5, 30.0), (2e9, 1e-3)].into_iter().enumerate()
        {
            let mut rng = Rng::new(11, stream as u64);
            let draws: Vec<f64> = (0..n).map(|_| half_gig(&mut rng, a, b)).collect();
            let root = (a * b).sqrt();
            // E x = (1 + r) / a, E x^2 = (3 + 3 r + r^2) / a^2, E x^4 from K of index 9/2: 105, 105, 45, 10, 1.
            let second = (3.0 + root * (3.0 + root)) / (a * a);
            let fourth = (105.0 + root * (105.0 + root * (45.0 + root * (10.0 + root)))) / a.powi(4);
            let what = format!("a {a}, b {b}");
            let mean = (1.0 + root) / a;
            assert_mean(&draws, |x| x, mean, second - mean * mean, &what);
            assert_mean(&draws, |x| x * x, second, fourth - second * second, &what);
            if b > 1e-3 {
                // 1/x is inverse Gaussian with mean sqrt(a/b) and shape a.
                let mean = (a / b).sqrt();
                assert_mean(&draws, |x| 1.0 / x, mean, mean.powi(3) / a, &what);
            }
        }
    }

    #[test]
    fn half_gig_has_its_law() {
        for (stream, (a, b)) in [(1.0, 1.0), (201.0, 0.3), (2.0, 8.0)].into_iter().enumerate() {
            let mut rng = Rng::new(12, stream as u64);
            let draws: Vec<f64> = (0..100_000).map(|_| half_gig(&mut rng, a, b)).collect();
            let distribution = |a: f64, b: f64| move |x: f64| 1.0 - inverse_gaussian_cdf(1.0 / x, (a / b).sqrt(), a);
            assert_law(&draws, distribution(a, b), &format!("a {a}, b {b}"));
            assert!(law_distance(&draws, distribution(1.1 * a, b)) > 4.0);
            assert!(law_distance(&draws, distribution(a, 1.2 * b)) > 2.5);
        }
        let mut rng = Rng::new(13, 0);
        let draws: Vec<f64> = (0..100_000).map(|_| half_gig(&mut rng, 5.0, 0.0)).collect();
        assert_law(&draws, |x| 2.0 * normal_cdf((5.0 * x).sqrt()) - 1.0, "b = 0");
    }

    #[test]
    fn half_gig_of_what_it_cannot_be_is_not_a_number() {
        let mut rng = Rng::new(14, 0);
        for (a, b) in [(0.0, 1.0), (-1.0, 1.0), (1.0, -1e-9), (f64::NAN, 1.0), (1.0, f64::INFINITY)] {
            assert!(half_gig(&mut rng, a, b).is_nan(), "{a} {b}");
        }
        assert!(half_gig(&mut rng, 1e-300, 1e300).is_finite());
    }
}
