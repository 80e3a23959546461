//! The random number generator.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng};

/// A counter-based generator: `seed` identifies the run, `stream` the chain, fold or class, `position` the progress.
///
/// Two streams of one seed never overlap, and a generator is rebuilt from its three numbers, so results do not depend
/// on the number of threads and a state can be stored.
///
/// ```
/// use multikernel::dist::Rng;
/// let mut a = Rng::new(7, 0);
/// a.uniform();
/// let mut b = Rng::at(7, 0, a.position());
/// assert_eq!(a.uniform(), b.uniform());
/// ```
#[derive(Clone, Debug)]
pub struct Rng {
    inner: ChaCha8Rng,
}

impl Rng {
    /// The generator of `stream` of `seed`, at its start.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut inner = ChaCha8Rng::seed_from_u64(seed);
        inner.set_stream(stream);
        Rng { inner }
    }

    /// The generator of `stream` of `seed`, at a position taken from [`Rng::position`].
    pub fn at(seed: u64, stream: u64, position: u64) -> Self {
        let mut rng = Rng::new(seed, stream);
        rng.inner.set_word_pos(u128::from(position));
        rng
    }

    /// The number of 32-bit words drawn so far.
    pub fn position(&self) -> u64 {
        // A stream would have to draw 2^64 words (over a century of sampling) to leave this range.
        self.inner.get_word_pos() as u64
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.inner.next_u64()
    }

    /// Uniform on `[0, 1)`, 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform on `0..n` without bias (rejection); `n` must be positive.
    pub fn below(&mut self, n: usize) -> usize {
        let n = n as u64;
        // Values above the largest multiple of n would favour small remainders.
        let limit = u64::MAX - u64::MAX % n;
        loop {
            let bits = self.bits();
            if bits < limit {
                return (bits % n) as usize;
            }
        }
    }

    /// Shuffles in place, every order equally likely (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_restores_the_sequence() {
        let mut a = Rng::new(3, 5);
        for _ in 0..17 {
            a.bits();
        }
        let mut b = Rng::at(3, 5, a.position());
        assert_eq!((0..9).map(|_| a.bits()).collect::<Vec<_>>(), (0..9).map(|_| b.bits()).collect::<Vec<_>>());
    }

    #[test]
    fn streams_differ() {
        assert_ne!(Rng::new(0, 0).bits(), Rng::new(0, 1).bits());
        assert_ne!(Rng::new(0, 0).bits(), Rng::new(1, 0).bits());
    }

    #[test]
    fn uniform_has_the_moments_of_the_uniform_law() {
        let mut rng = Rng::new(1, 0);
        let n = 200_000;
        let draws: Vec<f64> = (0..n).map(|_| rng.uniform()).collect();
        let mean = draws.iter().sum::<f64>() / n as f64;
        let second = draws.iter().map(|u| u * u).sum::<f64>() / n as f64;
        // Five standard errors: sd of u is 1/sqrt(12), of u^2 is sqrt(4/45).
        assert!((mean - 0.5).abs() < 5.0 * (1.0 / 12.0f64).sqrt() / (n as f64).sqrt());
        assert!((second - 1.0 / 3.0).abs() < 5.0 * (4.0 / 45.0f64).sqrt() / (n as f64).sqrt());
    }

    #[test]
    fn shuffle_makes_every_order_of_three_equally_often() {
        let mut rng = Rng::new(2, 0);
        let n = 60_000;
        let mut counts = std::collections::BTreeMap::new();
        for _ in 0..n {
            let mut items = [0, 1, 2];
            rng.shuffle(&mut items);
            *counts.entry(items).or_insert(0u32) += 1;
        }
        assert_eq!(counts.len(), 6);
        // Chi-square with 5 degrees of freedom: 25.7 is its 0.9999 quantile.
        let expected = n as f64 / 6.0;
        let chi2: f64 = counts.values().map(|&c| (f64::from(c) - expected).powi(2) / expected).sum();
        assert!(chi2 < 25.7, "{counts:?}");
    }
}
