//! The trade-off parameters of `mklda` as random variables, sampled as in the paper and as in a Gibbs sampler.
//!
//! Everything is kept as logarithms: with the published updates the parameters diverge, to 10^-147 on small data after
//! six loops, and the results that depend on them (which rows are learned, which kernels get more weight) do not depend
//! on their scale.

use crate::dist::{Rng, ln_gamma, ln_reciprocal_inverse_gaussian, normal};
use crate::error::Result;
use crate::file::record;
use crate::linalg::Matrix;
use crate::method::weighted::misfit;
use crate::simd::{exp, ln};

/// A run has diverged below this log10(alpha).
const AWAY: f64 = -10.0;
/// Logarithms this large have too few digits left to distinguish kernels: sampling stops.
const LOST: f64 = 1e6;

record! {
    /// alpha, beta and lambda, and the distributions they are drawn from: alpha is gamma with shape 1 and scale theta,
    /// beta normal with mean ratio * sigma and standard deviation sigma.
    #[derive(Clone, Debug, Default)]
    pub(super) struct Sampled {
        /// Whether each loop draws from the priors given the weights (gibbs), not from the state of the previous loop
        /// (published).
        afresh: bool,
        n_samples: usize,
        ln_theta: f64,
        ln_sigma: f64,
        ratio: f64,
        ln_alpha: f64,
        ln_beta: f64,
        /// ln lambda_mf: P x classes.
        ln_lambda: Matrix,
        /// Position of the random number generator.
        position: u64,
        /// log10(alpha) of each loop.
        history: Vec<f64>,
    }
}

/// ln(e^a + e^b).
fn ln_sum(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + ln(1.0 + exp(low - high)) }
}

fn ln_sum_of(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::NEG_INFINITY, ln_sum)
}

impl Sampled {
    /// From the priors: theta, mu and sigma are 1, and so is every lambda.
    pub(super) fn begin(afresh: bool, n_samples: usize, n_kernels: usize, n_classes: usize, mut rng: Rng) -> Sampled {
        let ln_lambda = Matrix::zeros(n_kernels, n_classes);
        let mut sampled = Sampled { afresh, n_samples, ratio: 1.0, ln_lambda, ..Sampled::default() };
        sampled.draw(&mut rng);
        sampled
    }

    pub(super) fn check(&self, n_kernels: usize, n_classes: usize) -> Result<()> {
        if self.ln_lambda.n_rows() == n_kernels && self.ln_lambda.n_cols() == n_classes {
            Ok(())
        } else {
            Err(misfit())
        }
    }

    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// alpha and beta from their distributions.
    fn draw(&mut self, rng: &mut Rng) {
        self.ln_alpha = self.ln_theta + ln_gamma(rng, 1.0);
        self.ln_beta = self.ln_sigma + ln((self.ratio + normal(rng)).abs().max(f64::MIN_POSITIVE));
        self.position = rng.position();
        self.history.push(self.ln_alpha / std::f64::consts::LN_10);
    }

    /// ln gamma_mf = ln((alpha + beta^2 / lambda_mf) / N).
    pub(super) fn ln_gamma(&self, f: usize, m: usize) -> f64 {
        let sparse = 2.0 * self.ln_beta - self.ln_lambda.get(f, m);
        ln_sum(self.ln_alpha, sparse) - ln(self.n_samples as f64)
    }

    /// `1 / gamma_mf` as weights of the functions (two classes share one, as their coefficients differ only in sign),
    /// normalised so that their mean sums to 1, and the log of the normalising factor.
    pub(super) fn weights(&self) -> (Matrix, f64) {
        let (n_kernels, n_classes) = (self.ln_lambda.n_rows(), self.ln_lambda.n_cols());
        let all = (0..n_kernels).flat_map(|f| (0..n_classes).map(move |m| (f, m)));
        let scale = ln_sum_of(all.map(|(f, m)| -self.ln_gamma(f, m))) - ln(n_classes as f64);
        let weight = |f: usize, m: usize| exp(-self.ln_gamma(f, m) - scale);
        let weights = match n_classes {
            2 => Matrix::from_fn(n_kernels, 1, |f, _| 0.5 * (weight(f, 0) + weight(f, 1))),
            _ => Matrix::from_fn(n_kernels, n_classes, weight),
        };
        (weights, scale)
    }

    /// Draws lambda, alpha and beta given ln |w_mf| (P x classes).
    pub(super) fn sample(&mut self, ln_norms: &Matrix, rng: &mut Rng) {
        if self.ln_alpha.abs() > LOST {
            return self.history.push(self.ln_alpha / std::f64::consts::LN_10);
        }
        let (mut ln_w, mut ln_tau) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        for f in 0..ln_norms.n_rows() {
            for m in 0..ln_norms.n_cols() {
                let ln_norm = ln_norms.get(f, m);
                let ln_lambda = ln_reciprocal_inverse_gaussian(rng, self.ln_beta + ln_norm);
                self.ln_lambda.set(f, m, ln_lambda);
                ln_w = ln_sum(ln_w, 2.0 * ln_norm);
                ln_tau = ln_sum(ln_tau, 2.0 * ln_norm - ln_lambda);
            }
        }
        self.condition(ln_w, ln_tau);
        self.draw(rng);
    }

    /// The distributions of alpha and beta given `sum |w|^2` and `sum |w|^2 / lambda`.
    fn condition(&mut self, ln_w: f64, ln_tau: f64) {
        if self.afresh {
            (self.ln_theta, self.ln_sigma, self.ratio) = (0.0, 0.0, 1.0);
        }
        self.ln_theta = -ln_sum(-self.ln_theta, ln_w - std::f64::consts::LN_2);
        let ln_factor = 0.5 * ln_sum(0.0, ln_tau + 2.0 * self.ln_sigma);
        self.ln_sigma -= ln_factor;
        // The paper divides the mean by the root, like the deviation, which leaves their ratio unchanged; it should be
        // divided by all of it.
        if self.afresh {
            self.ratio *= exp(-ln_factor);
        }
    }

    /// Facts to report about a run.
    pub(super) fn facts(&self) -> Vec<(String, String)> {
        let history: Vec<String> = self.history.iter().map(|alpha| format!("{alpha:.1}")).collect();
        vec![("log10 alpha".into(), history.join(", "))]
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        let lowest = self.history.iter().copied().fold(f64::INFINITY, f64::min);
        if lowest >= AWAY {
            return vec![];
        }
        vec![format!(
            "the trade-off parameter alpha ran away to 10^{lowest:.0}, as the published sampler does: its weights are far from \
             the optimum they are taken for; predictions do not depend on that scale, but use variant=stable"
        )]
    }
}

/// The factor s >= 0 that minimises `sum_n max(0, 1 - s b_n) + s^2 q / 2`: the best point on the ray of the weights.
/// None if it is 0.
pub(super) fn best_scale(margins: &[f64], q: f64) -> Option<f64> {
    // The slope is -sum of the active b_n + q s, and jumps up where a row becomes inactive, at s = 1/b_n: the optimum
    // may be there.
    let mut positive: Vec<f64> = margins.iter().copied().filter(|&b| b > 0.0).collect();
    positive.sort_by(|a, b| b.total_cmp(a));
    let (mut active, mut reached) = (margins.iter().sum::<f64>(), 0.0);
    for b in positive {
        let root = active / q;
        if root <= 1.0 / b {
            reached = root.max(reached);
            break;
        }
        (active, reached) = (active - b, 1.0 / b);
    }
    (reached > 0.0).then_some(reached)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(afresh: bool) -> Sampled {
        Sampled::begin(afresh, 100, 3, 2, Rng::new(1, 0))
    }

    #[test]
    fn beta_given_tau_of_four_has_mean_one_fifth_and_as_printed_its_root() {
        // mu0 / (1 + tau sigma0^2) = 1/5; in the paper 1/sqrt(5) = 0.447. The deviation is 1/sqrt(5) either way.
        for (afresh, expected) in [(true, 0.2), (false, 1.0 / 5f64.sqrt())] {
            let mut sampled = of(afresh);
            sampled.condition(0.0, ln(4.0));
            let sigma = sampled.ln_sigma.exp();
            assert!((sigma - 1.0 / 5f64.sqrt()).abs() < 1e-12);
            assert!((sampled.ratio * sigma - expected).abs() < 1e-12, "{afresh}");
        }
    }

    #[test]
    fn alpha_given_the_weights_has_scale_two_over_two_plus_their_norm() {
        let mut sampled = of(true);
        sampled.condition(ln(6.0), 0.0);
        assert!((sampled.ln_theta.exp() - 2.0 / (2.0 + 6.0)).abs() < 1e-12);
        // Fresh again; in the paper it is chained.
        sampled.condition(ln(6.0), 0.0);
        assert!((sampled.ln_theta.exp() - 0.25).abs() < 1e-12);
        let mut chained = of(false);
        chained.condition(ln(6.0), 0.0);
        chained.condition(ln(6.0), 0.0);
        // 2 (1/4) / (2 + 6/4) = 1/7.
        assert!((chained.ln_theta.exp() - 1.0 / 7.0).abs() < 1e-12);
    }

    #[test]
    fn weights_are_reciprocal_ridges_that_add_up_to_one() {
        let mut sampled = of(true);
        sampled.ln_lambda = Matrix::from_fn(3, 2, |f, m| (f as f64) - 2.0 * m as f64);
        let (weights, scale) = sampled.weights();
        let (alpha, beta) = (sampled.ln_alpha.exp(), sampled.ln_beta.exp());
        let gamma = |f: usize, m: usize| (alpha + beta * beta / sampled.ln_lambda.get(f, m).exp()) / 100.0;
        for f in 0..3 {
            let expected = 0.5 * (1.0 / gamma(f, 0) + 1.0 / gamma(f, 1));
            assert!((weights.get(f, 0) * scale.exp() / expected - 1.0).abs() < 1e-12);
        }
        assert!((weights.data().iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn best_scale_is_the_minimum_along_the_ray() {
        let mut rng = Rng::new(5, 0);
        for _ in 0..200 {
            let n = 1 + rng.below(20);
            let margins: Vec<f64> = (0..n).map(|_| 3.0 * rng.uniform() - 1.0).collect();
            let q = 5.0 * rng.uniform() + 0.01;
            let loss = |s: f64| margins.iter().map(|b| (1.0 - s * b).max(0.0)).sum::<f64>() + 0.5 * q * s * s;
            let found = best_scale(&margins, q).unwrap_or(0.0);
            for s in (0..4000).map(|k| f64::from(k) * 0.01) {
                assert!(loss(found) <= loss(s) + 1e-12, "{found} {s}");
            }
        }
    }
}
