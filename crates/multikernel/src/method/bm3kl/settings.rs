//! Parameters of the sampler.

use super::Bm3kl;
use super::numbers::Noise;
use crate::data::Target;
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
        /// The same where the prior of the weights is normal, whose motion is exact.
        Split = "split",
        /// Elliptical slice sampling, to check the other.
        Slice = "slice",
        /// The published step, which is never rejected, made stable.
        Paper = "paper",
        /// The published step as printed; a chain that diverges is an error.
        Published = "published",
    }
}

choice! {
    /// What labels or numbers say about functions.
    pub enum Likelihood {
        /// The pseudo-likelihood of a margin, `exp(-2 max(1 - delta f, 0))`, and a scale lambda for each row; for numbers
        /// the likelihood of a tube, `exp(-2 max(|u| - tube, 0)) / (2 tube + 1)` for errors `u` in units of the noise,
        /// and two scales.
        Margin = "margin",
        /// The likelihood `1 / (1 + exp(-delta f))` of two classes, and a Polya-Gamma scale for each row.
        Logit = "logit",
        /// Numbers with normal noise, whose variance is sampled.
        Normal = "normal",
    }
}

/// Minimum scale of the loss: below it `S` loses all digits where rows are equal.
pub(super) const MIN_LAMBDA: f64 = 1e-8;
/// Minimum and maximum variance of a sample weight (prior=paper).
const VARIANCES: (f64, f64) = (1e-30, 1e4);
/// sampler=split: gradients per update of the kernel weights.
const SPLIT_LEAPS: usize = 3;

/// Validated parameters.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) prior: FunctionPrior,
    pub(super) sampler: WeightSampler,
    pub(super) likelihood: Likelihood,
    /// The noise of numbers; `None` for classes.
    pub(super) noise: Option<Noise>,
    /// Factors of S that predictions need of each kept draw.
    pub(super) n_factors: usize,
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
    pub(super) fn new(method: &Bm3kl, target: &Target) -> Result<Settings> {
        let Bm3kl {
            prior,
            sampler,
            likelihood,
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
            likelihood,
            noise: noise(method, target)?,
            n_factors: match target {
                Target::Numbers(numbers) => numbers.n_targets(),
                _ => usize::from(likelihood == Likelihood::Logit),
            },
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
        if settings.steps_as_published() && settings.prior == FunctionPrior::Gp {
            let sampler = settings.sampler.word();
            return Err(Error::param(
                "sampler",
                format!(
                    "`{sampler}` moves weights given sample weights, which prior=gp does not have; set prior=paper too, or take \
                     sampler=collapsed"
                ),
            ));
        }
        if settings.sampler == WeightSampler::Slice && settings.eta != 1.0 {
            let eta = settings.eta;
            return Err(Error::param("sampler", format!("`slice` needs eta=1, got eta={eta}; take sampler=collapsed")));
        }
        if settings.is_logit() && settings.prior == FunctionPrior::Paper {
            return Err(Error::param(
                "likelihood",
                "`logit` is for functions that are Gaussian processes; take prior=gp and sampler=collapsed or slice",
            ));
        }
        Ok(settings)
    }

    pub(super) fn is_logit(&self) -> bool {
        self.likelihood == Likelihood::Logit
    }

    /// Whether predictions need the variance of functions at new rows, and so factors of S.
    pub(super) fn holds_factors(&self) -> bool {
        self.n_factors > 0
    }

    /// Number of variances whose logarithms are sampled together with the kernel weights: that of the functions
    /// (prior=gp), and that of the noise of numbers.
    pub(super) fn n_variances(&self) -> usize {
        usize::from(self.prior == FunctionPrior::Gp) + usize::from(self.noise.is_some())
    }

    /// Number of rows of scales of the loss, for this many functions.
    pub(super) fn n_scales(&self, n_functions: usize) -> usize {
        match self.noise {
            None => n_functions,
            Some(Noise::Tube(_)) => 2 * n_functions,
            Some(Noise::Normal) => 0,
        }
    }

    /// Gradients per update of the kernel weights.
    pub(super) fn n_leaps(&self, n_kernels: usize) -> usize {
        match (self.leapfrog, self.learned) {
            (0, true) if self.sampler == WeightSampler::Split => SPLIT_LEAPS,
            (0, true) => 6 + (n_kernels / 300).min(2),
            // Variances alone are easy to sample.
            (0, false) => 2,
            (n, _) => n,
        }
    }

    /// Whether kernel weights move by the published step, given sample weights and with a momentum of their own.
    pub(super) fn steps_as_published(&self) -> bool {
        matches!(self.sampler, WeightSampler::Paper | WeightSampler::Published)
    }

    /// The minimum scale of the loss, and the minimum and maximum variance of a sample weight. As printed there are none.
    pub(super) fn bounds(&self) -> (f64, (f64, f64)) {
        match self.sampler {
            WeightSampler::Published => (0.0, (0.0, f64::INFINITY)),
            _ => (MIN_LAMBDA, VARIANCES),
        }
    }

    /// Whether moves have the acceptance probability and the step size of Hamiltonian ones.
    pub(super) fn is_hamiltonian(&self) -> bool {
        matches!(self.sampler, WeightSampler::Collapsed | WeightSampler::Split)
    }

    /// Whether kernel weights move in the coordinates in which their prior is normal.
    pub(super) fn is_split(&self) -> bool {
        self.sampler == WeightSampler::Split && self.learned
    }

    /// `1 + 2 gamma0`, the first argument of the distribution of the scales lambda.
    pub(super) fn rate(&self) -> f64 {
        1.0 + 2.0 * self.gamma0
    }
}

/// The noise of numbers, where they are predicted.
fn noise(method: &Bm3kl, target: &Target) -> Result<Option<Noise>> {
    match (target, method.likelihood) {
        (Target::Numbers(_), _) if method.prior == FunctionPrior::Paper => Err(Error::param(
            "prior",
            "`paper` is for classes; numbers take prior=gp, with sampler=collapsed, split or slice",
        )),
        (Target::Numbers(_), Likelihood::Margin) => Ok(Some(Noise::Tube(method.tube))),
        (Target::Numbers(_), Likelihood::Normal) => Ok(Some(Noise::Normal)),
        (Target::Numbers(_), Likelihood::Logit) => Err(Error::param(
            "likelihood",
            "`logit` is a likelihood of two classes, and numbers are predicted; take likelihood=margin or normal",
        )),
        (_, Likelihood::Normal) => Err(Error::param(
            "likelihood",
            "`normal` is a likelihood of numbers, and classes are predicted; take likelihood=margin or logit",
        )),
        _ => Ok(None),
    }
}
