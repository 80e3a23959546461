//! Simulation-based calibration (Talts et al. 2018): where data come from a model's prior and likelihood, the rank of
//! what they were drawn from among draws from the posterior is uniform.

use crate::dist::chi_square_above;

/// The number of draws below the truth, out of `n` that are evenly spaced among all: 0 to n. Neighbours of a chain
/// resemble each other, so `n` should be no more than there are effective draws.
///
/// ```
/// use multikernel::draws::rank;
/// let chain: Vec<f64> = (0..100).map(f64::from).collect();
/// assert_eq!(rank(&chain, 10, 42.0), 4);
/// ```
pub fn rank(draws: &[f64], n: usize, truth: f64) -> usize {
    (0..n).filter(|k| draws.get((2 * k + 1) * draws.len() / (2 * n)).is_some_and(|&draw| draw < truth)).count()
}

/// The probability that ranks from 0 to `n` differ as much from uniform ones as these do, if they are (chi-square):
/// small where a sampler is wrong, or data are not from its model. 1 without ranks; ranks above n count as n. With
/// fewer than five ranks per value it is rough.
///
/// ```
/// use multikernel::draws::rank_uniformity;
/// let even: Vec<usize> = (0..400).map(|k| k % 20).collect();
/// let low: Vec<usize> = (0..400).map(|k| k % 15).collect();
/// assert!(rank_uniformity(&even, 19) > 0.99 && rank_uniformity(&low, 19) < 1e-6);
/// ```
pub fn rank_uniformity(ranks: &[usize], n: usize) -> f64 {
    if ranks.is_empty() || n == 0 {
        return 1.0;
    }
    let mut counts = vec![0.0; n + 1];
    ranks.iter().for_each(|&rank| counts[rank.min(n)] += 1.0);
    let expected = ranks.len() as f64 / (n + 1) as f64;
    let distance = counts.iter().map(|count| (count - expected) * (count - expected) / expected).sum();
    chi_square_above(distance, n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::{Rng, normal};

    #[test]
    fn ranks_of_the_right_law_are_uniform_and_of_others_are_not() {
        let mut rng = Rng::new(1, 0);
        let mut uniformity = |shift: f64, spread: f64| {
            let one = |_| {
                let draws: Vec<f64> = (0..38).map(|_| normal(&mut rng)).collect();
                rank(&draws, 19, shift + spread * normal(&mut rng))
            };
            let ranks: Vec<usize> = (0..400).map(one).collect();
            rank_uniformity(&ranks, 19)
        };
        let right: Vec<f64> = (0..60).map(|_| uniformity(0.0, 1.0)).collect();
        // The probability is itself uniform.
        let below = |p: f64| right.iter().filter(|&&found| found < p).count();
        assert!((14..46).contains(&below(0.5)) && below(0.001) < 2, "{right:?}");
        // Half a standard deviation off, or a spread that is a third too small or half too large.
        for (shift, spread) in [(0.5, 1.0), (0.0, 1.5), (0.0, 0.6)] {
            assert!(uniformity(shift, spread) < 1e-3, "{shift} {spread}");
        }
    }

    #[test]
    fn ranks_of_nothing_say_nothing() {
        assert_eq!((rank(&[], 10, 0.0), rank_uniformity(&[], 10), rank_uniformity(&[0], 0)), (0, 1.0, 1.0));
    }
}
