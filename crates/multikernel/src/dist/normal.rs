//! The standard normal distribution.

use super::Rng;
use crate::simd::{dispatched, ln, ln_of_normal};

/// A normal variate with mean 0 and variance 1 (Marsaglia's polar method, exact up to rounding; at most 12 in
/// magnitude).
///
/// Cost: some 2.5 uniform variates. The second variate of a pair is discarded, or the position would not be the whole
/// state.
///
/// ```
/// use multikernel::dist::{Rng, normal};
/// let mut rng = Rng::new(0, 0);
/// let mean = (0..10_000).map(|_| 2.0 + 0.5 * normal(&mut rng)).sum::<f64>() / 1e4;
/// assert!((mean - 2.0).abs() < 0.02);
/// ```
pub fn normal(rng: &mut Rng) -> f64 {
    let (u, square) = in_the_circle(rng);
    u * (-2.0 * ln(square) / square).sqrt()
}

/// The results of `n` calls of [`normal`], with the same bits and in half the time: the logarithms are vectorised.
pub(crate) fn normals(rng: &mut Rng, n: usize) -> Vec<f64> {
    let (mut values, squares): (Vec<f64>, Vec<f64>) = (0..n).map(|_| in_the_circle(rng)).unzip();
    stretch(&squares, &mut values);
    values
}

/// One coordinate of a point in the unit disc, excluding its centre, and the squared distance from the centre, which is
/// never subnormal: coordinates are multiples of 2^-52.
fn in_the_circle(rng: &mut Rng) -> (f64, f64) {
    loop {
        let (u, v) = (2.0 * rng.uniform() - 1.0, 2.0 * rng.uniform() - 1.0);
        let square = u * u + v * v;
        if square > 0.0 && square < 1.0 {
            return (u, square);
        }
    }
}

dispatched! {
    /// Turns coordinates of points in the disc into normal variates.
    fn stretch(squares: &[f64], values: &mut [f64]) {
        for (value, square) in values.iter_mut().zip(squares) {
            *value *= (-2.0 * ln_of_normal(*square) / square).sqrt();
        }
    }
}

/// The square of a normal variate, never 0: a chi-square variate with one degree of freedom.
pub(super) fn chi_square(rng: &mut Rng) -> f64 {
    loop {
        let z = normal(rng);
        if z != 0.0 {
            return z * z;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::{assert_law, assert_mean, assert_share, normal_cdf};
    use super::*;
    use crate::simd::at_every_level;

    #[test]
    fn normal_has_its_law_its_moments_and_its_tails() {
        let mut rng = Rng::new(1, 0);
        let draws: Vec<f64> = (0..200_000).map(|_| normal(&mut rng)).collect();
        assert_law(&draws, normal_cdf, "normal");
        assert_mean(&draws, |z| z, 0.0, 1.0, "mean");
        assert_mean(&draws, |z| z * z, 1.0, 2.0, "variance");
        assert_mean(&draws, |z| z.powi(3), 0.0, 15.0, "third moment");
        assert_mean(&draws, |z| z.powi(4), 3.0, 96.0, "fourth moment");
        assert_share(&draws, |z| z > 3.0, 0.001_349_898_031_630_09, "above 3");
        assert_share(&draws, |z| z < -3.5, 0.000_232_629_079_035_525, "below -3.5");
        // Neighbours in one stream are uncorrelated.
        let products: Vec<f64> = draws.windows(2).map(|pair| pair[0] * pair[1]).collect();
        assert_mean(&products, |x| x, 0.0, 1.0, "neighbours");
    }

    #[test]
    fn many_at_once_are_the_same_as_one_by_one_at_every_level() {
        for n in [0, 1, 7, 8, 100, 1001] {
            let many = at_every_level(|| {
                let mut rng = Rng::new(5, 0);
                let values = normals(&mut rng, n);
                (values.iter().map(|z| z.to_bits()).collect::<Vec<u64>>(), rng.position())
            });
            let mut rng = Rng::new(5, 0);
            let one_by_one = (0..n).map(|_| normal(&mut rng).to_bits()).collect();
            assert_eq!(many, (one_by_one, rng.position()));
        }
    }

    #[test]
    fn chi_square_is_a_squared_normal() {
        let mut rng = Rng::new(2, 0);
        let draws: Vec<f64> = (0..50_000).map(|_| chi_square(&mut rng)).collect();
        assert_law(&draws, |x| 2.0 * normal_cdf(x.sqrt()) - 1.0, "chi-square");
    }

    #[test]
    fn normal_keeps_its_bits() {
        let mut rng = Rng::new(7, 3);
        let found = [(); 3].map(|()| normal(&mut rng).to_bits());
        assert_eq!(found, [0xbff8_f9dd_21bc_03a0, 0x3fe2_ada7_5004_3e4d, 0xbfeb_617e_4943_5726]);
    }
}
