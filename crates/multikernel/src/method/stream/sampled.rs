//! The trade-off parameters of `mklda` as random variables, sampled as in the paper and as in a Gibbs sampler.
//!
//! Everything is kept as logarithms: with the published updates the parameters diverge, to 10^-147 on small data after
//! six loops, and the results that depend on them (which rows are learned, which kernels get more weight) do not depend
//! on their scale.

use crate::dist::{Rng, ln_gamma, ln_reciprocal_inverse_gaussian, normal};
use crate::error::Result;
use crate::file::{Field, Record, record};
use crate::linalg::Matrix;
use crate::method::weighted::misfit;
use crate::simd::{exp, ln};

/// A run has diverged below this log10(alpha).
const AWAY: f64 = -10.0;
/// Logarithms this large have too few digits left to distinguish kernels: sampling stops.
const LOST: f64 = 1e6;

/// Priors of the trade-off parameters: alpha is gamma with shape kappa0 and scale theta0, beta normal with mean mu0 and
/// standard deviation sigma0. Stored only if they are not the published ones, so that older files can be read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Priors {
    pub(super) kappa0: f64,
    pub(super) theta0: f64,
    pub(super) mu0: f64,
    pub(super) sigma0: f64,
}

impl Default for Priors {
    fn default() -> Self {
        Priors { kappa0: 1.0, theta0: 1.0, mu0: 1.0, sigma0: 1.0 }
    }
}

impl Field for Priors {
    fn put(&self, name: &str, record: &mut Record) {
        if *self != Priors::default() {
            record.put(name, &vec![self.kappa0, self.theta0, self.mu0, self.sigma0]);
        }
    }

    fn take(name: &str, record: &Record) -> Result<Self> {
        if !record.has(name) {
            return Ok(Priors::default());
        }
        match record.take::<Vec<f64>>(name)?[..] {
            [kappa0, theta0, mu0, sigma0] if kappa0 > 0.0 && theta0 > 0.0 && sigma0 > 0.0 => {
                Ok(Priors { kappa0, theta0, mu0, sigma0 })
            }
            _ => Err(misfit()),
        }
    }
}

record! {
    /// alpha, beta and lambda, and the distributions they are drawn from: alpha is gamma with shape kappa0 and scale
    /// theta, beta normal with mean ratio * sigma and standard deviation sigma.
    #[derive(Clone, Debug, Default)]
    pub(super) struct Sampled {
        /// Whether each loop draws from the priors given the weights (gibbs), not from the state of the previous loop
        /// (published).
        afresh: bool,
        priors: Priors,
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

/// The weights `e^(ln_steps - scale)` of the functions, from `ln(1 / gamma_mf)` (P x classes): two classes share one, as
/// their coefficients differ only in sign. With the scale of [`Sampled::weights`] their mean sums to 1.
pub(super) fn function_weights(ln_steps: &Matrix, scale: f64) -> Matrix {
    let weight = |f: usize, m: usize| exp(ln_steps.get(f, m) - scale);
    match ln_steps.n_cols() {
        2 => Matrix::from_fn(ln_steps.n_rows(), 1, |f, _| 0.5 * (weight(f, 0) + weight(f, 1))),
        n_classes => Matrix::from_fn(ln_steps.n_rows(), n_classes, weight),
    }
}

impl Sampled {
    /// From the priors; every lambda is 1.
    pub(super) fn begin(
        afresh: bool,
        n_samples: usize,
        n_kernels: usize,
        n_classes: usize,
        priors: Priors,
        mut rng: Rng,
    ) -> Sampled {
        let ln_lambda = Matrix::zeros(n_kernels, n_classes);
        let mut sampled = Sampled { afresh, priors, n_samples, ln_lambda, ..Sampled::default() };
        sampled.restart();
        sampled.draw(&mut rng);
        sampled.note();
        sampled
    }

    /// The distributions of alpha and beta before any weight is known.
    fn restart(&mut self) {
        let Priors { theta0, mu0, sigma0, .. } = self.priors;
        (self.ln_theta, self.ln_sigma, self.ratio) = (ln(theta0), ln(sigma0), mu0 / sigma0);
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
    pub(super) fn draw(&mut self, rng: &mut Rng) {
        self.ln_alpha = self.ln_theta + ln_gamma(rng, self.priors.kappa0);
        self.ln_beta = self.ln_sigma + ln((self.ratio + normal(rng)).abs().max(f64::MIN_POSITIVE));
        self.position = rng.position();
    }

    /// Adds alpha to the history.
    fn note(&mut self) {
        self.history.push(self.ln_alpha / std::f64::consts::LN_10);
    }

    /// ln gamma_mf = ln((alpha + beta^2 / lambda_mf) / N).
    pub(super) fn ln_gamma(&self, f: usize, m: usize) -> f64 {
        let sparse = 2.0 * self.ln_beta - self.ln_lambda.get(f, m);
        ln_sum(self.ln_alpha, sparse) - ln(self.n_samples as f64)
    }

    /// `1 / gamma_mf` as weights of the functions, and the log of the normalising factor: see [`function_weights`].
    pub(super) fn weights(&self) -> (Matrix, f64) {
        let ln_steps = self.ln_steps();
        let scale = ln_sum_of(ln_steps.data().iter().copied()) - ln(ln_steps.n_cols() as f64);
        (function_weights(&ln_steps, scale), scale)
    }

    /// Draws lambda, alpha and beta given ln |w_mf| (P x classes).
    pub(super) fn sample(&mut self, ln_norms: &Matrix, rng: &mut Rng) {
        if self.ln_alpha.abs() <= LOST {
            self.scales(ln_norms, rng);
            self.draw(rng);
        }
        self.note();
    }

    /// Draws lambda given ln |w_mf| and beta, and finds the distributions of alpha and beta given both.
    pub(super) fn scales(&mut self, ln_norms: &Matrix, rng: &mut Rng) {
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
        self.position = rng.position();
    }

    /// For streams, whose parameters diverge without end: keeps the logarithms where their digits suffice. Divides the
    /// weights by e^s, and with them 1/beta, 1/sigma, and 1/alpha and 1/theta by e^2s: the chained conditionals are the
    /// same before and after. Returns s, 0 while `ln(1/gamma)` is below `limit`.
    pub(super) fn hold(&mut self, limit: f64) -> f64 {
        let s = 0.5 * (self.weights().1 - limit);
        if s <= 0.0 {
            return 0.0;
        }
        self.ln_alpha += 2.0 * s;
        self.ln_theta += 2.0 * s;
        self.ln_beta += s;
        self.ln_sigma += s;
        s
    }

    /// The number of rows that alpha and beta are divided by in the ridges.
    pub(super) fn set_samples(&mut self, n_samples: usize) {
        self.n_samples = n_samples;
    }

    /// Extends lambda to this many classes; new ones are 1.
    pub(super) fn extend(&mut self, n_classes: usize) {
        let before = std::mem::take(&mut self.ln_lambda);
        let ln_lambda = |f: usize, m: usize| if m < before.n_cols() { before.get(f, m) } else { 0.0 };
        self.ln_lambda = Matrix::from_fn(before.n_rows(), n_classes, ln_lambda);
    }

    /// `ln(1 / gamma_mf)`: P x classes.
    pub(super) fn ln_steps(&self) -> Matrix {
        Matrix::from_fn(self.ln_lambda.n_rows(), self.ln_lambda.n_cols(), |f, m| -self.ln_gamma(f, m))
    }

    /// The distributions of alpha and beta given `sum |w|^2` and `sum |w|^2 / lambda`.
    fn condition(&mut self, ln_w: f64, ln_tau: f64) {
        if self.afresh {
            self.restart();
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
        Sampled::begin(afresh, 100, 3, 2, Priors::default(), Rng::new(1, 0))
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

    /// Mean and mean square under a density on a grid of midpoints.
    fn moments(density: impl Fn(f64) -> f64, low: f64, high: f64) -> [f64; 2] {
        let n = 400_000;
        let (mut total, mut sums) = (0.0, [0.0; 2]);
        for k in 0..n {
            let x = low + (high - low) * (f64::from(k) + 0.5) / f64::from(n);
            let p = density(x);
            total += p;
            sums = [sums[0] + p * x, sums[1] + p * x * x];
        }
        sums.map(|sum| sum / total)
    }

    /// Asserts that draws have these first two moments, within five standard errors.
    fn assert_moments(draws: &[f64], expected: [f64; 2], what: &str) {
        let n = draws.len() as f64;
        for (power, expected) in [(1, expected[0]), (2, expected[1])] {
            let values = draws.iter().map(|x| x.powi(power));
            let mean = values.clone().sum::<f64>() / n;
            let error = (values.map(|x| (x - mean).powi(2)).sum::<f64>() / n / n).sqrt();
            assert!((mean - expected).abs() < 5.0 * error, "{what}^{power}: {mean} +- {error}, expected {expected}");
        }
    }

    const PRIORS: Priors = Priors { kappa0: 2.5, theta0: 0.4, mu0: -0.8, sigma0: 1.7 };

    #[test]
    fn conditionals_under_other_priors_have_the_moments_of_their_densities() {
        // Three kernels, two classes: |w| = 0.3, 0.6, ..., 1.8.
        let norms = Matrix::from_fn(3, 2, |f, m| 0.3 * (2 * f + m + 1) as f64);
        let ln_norms = Matrix::from_fn(3, 2, |f, m| ln(norms.get(f, m)));
        let mut rng = Rng::new(2, 0);
        let mut begun = Sampled::begin(true, 100, 3, 2, PRIORS, Rng::new(1, 0));
        begun.ln_beta = ln(0.9);
        let (mut alphas, mut betas, mut lambdas) = (vec![], vec![], vec![]);
        let w_bar: f64 = norms.data().iter().map(|w| w * w).sum();
        let tau = 3.2;
        for _ in 0..40_000 {
            let mut sampled = begun.clone();
            sampled.scales(&ln_norms, &mut rng);
            lambdas.push(exp(sampled.ln_lambda.get(1, 1)));
            sampled.condition(ln(w_bar), ln(tau));
            sampled.draw(&mut rng);
            alphas.push(exp(sampled.ln_alpha));
            betas.push(exp(sampled.ln_beta));
        }
        let Priors { kappa0, theta0, mu0, sigma0 } = PRIORS;
        let of_alpha = |a: f64| a.powf(kappa0 - 1.0) * (-a / theta0 - 0.5 * w_bar * a).exp();
        assert_moments(&alphas, moments(of_alpha, 0.0, 8.0), "alpha");
        // The sign of beta plays no part.
        let normal = |b: f64| (-0.5 * tau * b * b - 0.5 * ((b - mu0) / sigma0).powi(2)).exp();
        assert_moments(&betas, moments(|b| normal(b) + normal(-b), 0.0, 8.0), "|beta|");
        let a = 0.9 * norms.get(1, 1);
        let of_lambda = |l: f64| (-0.5 * (l + a * a / l)).exp() / l.sqrt();
        assert_moments(&lambdas, moments(of_lambda, 0.0, 60.0), "lambda");
    }

    #[test]
    fn gibbs_steps_given_the_weights_have_the_joint_distribution_of_alpha_and_beta() {
        // With lambda integrated out, p(beta | W) is exp(-|beta| sum |w|) times its prior.
        let norms = Matrix::from_fn(3, 2, |f, m| 0.2 * (2 * f + m + 1) as f64);
        let ln_norms = Matrix::from_fn(3, 2, |f, m| ln(norms.get(f, m)));
        for (stream, priors) in [Priors::default(), PRIORS].into_iter().enumerate() {
            let mut rng = Rng::new(5, stream as u64);
            let mut sampled = Sampled::begin(true, 100, 3, 2, priors, Rng::new(1, 0));
            let (mut alphas, mut betas) = (vec![], vec![]);
            for sweep in 0..60_000 {
                sampled.scales(&ln_norms, &mut rng);
                sampled.draw(&mut rng);
                // Every third sweep: neighbours are correlated.
                if sweep % 3 == 0 {
                    alphas.push(exp(sampled.ln_alpha));
                    betas.push(exp(sampled.ln_beta));
                }
            }
            let w_bar: f64 = norms.data().iter().map(|w| w * w).sum();
            let total: f64 = norms.data().iter().sum();
            let Priors { kappa0, theta0, mu0, sigma0 } = priors;
            let of_alpha = |a: f64| a.powf(kappa0 - 1.0) * (-a / theta0 - 0.5 * w_bar * a).exp();
            assert_moments(&alphas, moments(of_alpha, 0.0, 12.0), "alpha");
            let of_beta = |b: f64| (-b.abs() * total - 0.5 * ((b - mu0) / sigma0).powi(2)).exp();
            assert_moments(&betas, moments(|b| of_beta(b) + of_beta(-b), 0.0, 8.0), "|beta|");
        }
    }

    #[test]
    fn published_chain_starts_from_its_priors_and_is_the_printed_one() {
        let mut sampled = Sampled::begin(false, 100, 3, 2, PRIORS, Rng::new(1, 0));
        sampled.condition(ln(6.0), ln(4.0));
        // theta = 2 theta / (2 + w theta), mu = mu / sqrt(1 + tau sigma^2), sigma likewise.
        let root = (1.0 + 4.0 * PRIORS.sigma0 * PRIORS.sigma0).sqrt();
        let (sigma, theta) = (PRIORS.sigma0 / root, 2.0 * PRIORS.theta0 / (2.0 + 6.0 * PRIORS.theta0));
        assert!((sampled.ln_theta.exp() - theta).abs() < 1e-12);
        assert!((sampled.ln_sigma.exp() - sigma).abs() < 1e-12);
        assert!((sampled.ratio * sampled.ln_sigma.exp() - PRIORS.mu0 / root).abs() < 1e-12);
    }

    #[test]
    fn held_scales_leave_every_conditional_as_it_was() {
        let mut free = Sampled::begin(false, 100, 3, 2, PRIORS, Rng::new(1, 0));
        let far = Matrix::from_fn(3, 2, |f, m| 40.0 + 0.5 * f as f64 - 0.3 * m as f64);
        free.scales(&far, &mut Rng::new(3, 0));
        free.draw(&mut Rng::new(4, 0));
        let mut held = free.clone();
        let s = held.hold(20.0);
        assert!(s > 10.0 && held.weights().1 < 20.0 + 1e-9, "{s}");
        let near = Matrix::from_fn(3, 2, |f, m| far.get(f, m) - s);
        free.scales(&far, &mut Rng::new(6, 0));
        held.scales(&near, &mut Rng::new(6, 0));
        free.draw(&mut Rng::new(7, 0));
        held.draw(&mut Rng::new(7, 0));
        let moved = |a: f64, b: f64, by: f64| assert!((b - a - by).abs() < 1e-9, "{a} {b} {by}");
        moved(free.ln_theta, held.ln_theta, 2.0 * s);
        moved(free.ln_alpha, held.ln_alpha, 2.0 * s);
        moved(free.ln_sigma, held.ln_sigma, s);
        moved(free.ln_beta, held.ln_beta, s);
        free.ln_lambda.data().iter().zip(held.ln_lambda.data()).for_each(|(&a, &b)| moved(a, b, 0.0));
    }

    #[test]
    fn lambda_is_drawn_given_the_norms_and_conditions_alpha_and_beta() {
        // 1 / lambda is inverse Gaussian with mean 1 / (beta |w|) and shape 1, so lambda has mean 1 + beta |w| and
        // variance 2 + beta |w|.
        let ln_norms = Matrix::from_fn(3, 2, |f, m| 0.5 * f as f64 - 0.7 * m as f64);
        let (n, ln_beta, mut rng) = (20_000, ln(1.7), Rng::new(2, 0));
        let mut sums = Matrix::zeros(3, 2);
        for _ in 0..n {
            let mut sampled = Sampled { ln_beta, ..of(true) };
            sampled.sample(&ln_norms, &mut rng);
            let (mut square, mut tau) = (0.0, 0.0);
            for f in 0..3 {
                for m in 0..2 {
                    let (norm, lambda) = (ln_norms.get(f, m).exp(), sampled.ln_lambda.get(f, m).exp());
                    sums.set(f, m, sums.get(f, m) + lambda);
                    square += norm * norm;
                    tau += norm * norm / lambda;
                }
            }
            assert!((sampled.ln_theta.exp() - 2.0 / (2.0 + square)).abs() < 1e-12);
            assert!((sampled.ln_sigma.exp() - 1.0 / (1.0 + tau).sqrt()).abs() < 1e-12);
            assert!((sampled.ratio - 1.0 / (1.0 + tau).sqrt()).abs() < 1e-12);
        }
        for f in 0..3 {
            for m in 0..2 {
                let (mean, norm) = (sums.get(f, m) / f64::from(n), 1.7 * ln_norms.get(f, m).exp());
                let z = (mean - 1.0 - norm) / ((2.0 + norm) / f64::from(n)).sqrt();
                assert!(z.abs() < 4.0, "{f} {m}: {mean} for {}", 1.0 + norm);
            }
        }
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
