//! Parameters of the sampler.

use super::Bm3kl;
use crate::error::{Error, Result};
use crate::method::Weighting;
use crate::run::choice;

choice! {
    /// The prior of the functions.
    pub enum FunctionPrior {
        /// A Gaussian process with the combined kernel: `f = g + b`, `g ~ N(0, nu (H + j I))`.
        Gp = "gp",
        /// Shrinkage on each sample weight, as published: `f = H a + b`, `a_i ~ N(0, nu_i)`.
        Paper = "paper",
    }
}

choice! {
    /// How kernel weights are sampled.
    pub enum WeightSampler {
        /// Hamiltonian Monte Carlo, with the functions integrated out.
        Collapsed = "collapsed",
        /// Elliptical slice sampling, to check the other.
        Slice = "slice",
        /// The published step, which is never rejected.
        Paper = "paper",
    }
}

/// Validated parameters.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) prior: FunctionPrior,
    pub(super) sampler: WeightSampler,
    /// Whether kernel weights are learned.
    pub(super) learned: bool,
    pub(super) chains: usize,
    pub(super) warmup: usize,
    pub(super) draws: usize,
    pub(super) leapfrog: usize,
    pub(super) gamma0: f64,
    pub(super) tau: f64,
    pub(super) eta: f64,
    pub(super) beta: f64,
    pub(super) kappa: f64,
    pub(super) epsilon: f64,
    pub(super) decay: bool,
}

impl Settings {
    pub(super) fn new(method: &Bm3kl) -> Result<Settings> {
        let Bm3kl {
            prior,
            sampler,
            chains,
            warmup,
            draws,
            leapfrog,
            gamma0,
            tau,
            eta,
            beta,
            kappa,
            epsilon,
            decay,
            ..
        } = *method;
        let learned = method.weights == Weighting::Learned;
        let settings = Settings {
            prior,
            sampler,
            learned,
            chains,
            warmup,
            draws,
            leapfrog,
            gamma0,
            tau,
            eta,
            beta,
            kappa,
            epsilon,
            decay,
        };
        if settings.sampler == WeightSampler::Paper && settings.prior == FunctionPrior::Gp {
            return Err(Error::param(
                "sampler",
                "`paper` moves weights given sample weights, which prior=gp does not have; set prior=paper too, or take sampler=collapsed",
            ));
        }
        if settings.sampler == WeightSampler::Slice && settings.eta != 1.0 {
            let eta = settings.eta;
            return Err(Error::param("sampler", format!("`slice` needs eta=1, got eta={eta}; take sampler=collapsed")));
        }
        Ok(settings)
    }

    /// Gradients per update of the kernel weights.
    pub(super) fn n_leaps(&self, n_kernels: usize) -> usize {
        match (self.leapfrog, self.learned) {
            (0, true) => 6 + (n_kernels / 300).min(2),
            // Variances alone are easy to sample.
            (0, false) => 2,
            (n, _) => n,
        }
    }

    /// `1 + 2 gamma0`, the first argument of the distribution of the scales lambda.
    pub(super) fn rate(&self) -> f64 {
        1.0 + 2.0 * self.gamma0
    }
}
