//! The state of the chains, and their draws.

use std::sync::Arc;

use super::distinct::Distinct;
use super::settings::{FunctionPrior, Settings, WeightSampler};
use super::split::NormalPrior;
use crate::dist::{Rng, ln_gamma, normal};
use crate::error::Result;
use crate::file::{Cache, Codec, Field, Record, record};
use crate::linalg::Matrix;
use crate::simd::{exp, exps, ln};
use crate::solve::cholesky::Keeping;
use crate::stack::Stack;

record! {
    /// The variables a chain updates. Matrices have one row per function: one for two classes, else one per class, or one
    /// per number.
    #[derive(Clone, Debug, PartialEq)]
    pub(super) struct Latent {
        /// Position of the chain's random number generator.
        pub(super) position: u64,
        /// `log e`; weights are `e / sum e`.
        pub(super) x: Vec<f64>,
        /// sampler=slice: two normal variates per kernel, whose squares sum to `2 e`; then one for `log nu` (prior=gp).
        /// sampler=split: one normal variate per kernel, see `split`.
        pub(super) ellipse: Vec<f64>,
        /// sampler=paper, sampler=published: the momentum of each `e`.
        pub(super) momentum: Vec<f64>,
        /// The scales of the loss; of numbers two rows for each function, see `numbers`.
        pub(super) lambda: Matrix,
        /// prior=gp: the logarithm of the variance, one for all functions; then that of the noise of numbers.
        pub(super) log_nu: Vec<f64>,
        /// prior=paper: a variance for each row.
        pub(super) nu: Matrix,
        pub(super) step: DualAverage,
    }
}

record! {
    /// The step size of a chain, tuned by dual averaging (Hoffman and Gelman 2014, section 3.2).
    #[derive(Clone, Debug, PartialEq)]
    pub(super) struct DualAverage {
        log_step as "log_now": f64,
        log_step_adapted as "log_mean": f64,
        hbar as "error": f64,
        count: f64,
    }
}

/// The initial step size.
const FIRST_STEP: f64 = 0.2;
/// The target acceptance rate while step sizes are tuned. Afterwards it is some tenths higher, as the averaged step is
/// shorter than most of those tried.
const ACCEPTED: f64 = 0.65;

impl Default for DualAverage {
    fn default() -> Self {
        DualAverage { log_step: ln(FIRST_STEP), log_step_adapted: ln(FIRST_STEP), hbar: 0.0, count: 0.0 }
    }
}

impl DualAverage {
    /// A fixed step.
    #[cfg(test)]
    pub(super) fn of(size: f64) -> DualAverage {
        DualAverage { log_step: ln(size), log_step_adapted: ln(size), hbar: 0.0, count: 0.0 }
    }

    /// The step to take: the current trial step in warm-up, the averaged one afterwards.
    pub(super) fn size(&self, warm: bool) -> f64 {
        if warm { exp(self.log_step_adapted) } else { exp(self.log_step) }
    }

    /// Updates the step size from the acceptance probability of an update; it stays below `longest`.
    pub(super) fn learn(&mut self, accepted: f64, longest: f64) {
        self.count += 1.0;
        self.hbar += (ACCEPTED - accepted - self.hbar) / (self.count + 10.0);
        self.log_step = ln(10.0 * FIRST_STEP) - self.hbar * self.count.sqrt() / 0.05;
        // No step of a sensible chain is outside; a few rejected updates in a row must not send it there.
        self.log_step = self.log_step.clamp(-12.0, ln(longest).clamp(-12.0, 1.0));
        let share = exp(-0.75 * ln(self.count));
        self.log_step_adapted = share * self.log_step + (1.0 - share) * self.log_step_adapted;
    }
}

impl Latent {
    /// An initial state with weights drawn from their prior and variances near the middle of theirs, so that chains
    /// start apart.
    pub(super) fn begin(settings: &Settings, rng: &mut Rng, n_kernels: usize, n_functions: usize, n: usize) -> Latent {
        let mut x: Vec<f64> = (0..n_kernels).map(|_| ln_gamma(rng, settings.eta)).collect();
        let mut ellipse = vec![];
        let mut log_nu = vec![];
        if settings.prior == FunctionPrior::Gp {
            log_nu = (0..settings.n_variances()).map(|_| normal(rng)).collect();
        }
        if settings.sampler == WeightSampler::Slice {
            ellipse = (0..2 * n_kernels).map(|_| normal(rng)).collect();
            x = log_squares(&ellipse);
            ellipse.extend(log_nu.iter().map(|value| value / 3.0));
        }
        if settings.sampler == WeightSampler::Split {
            let normal_prior = NormalPrior::new(settings.eta);
            ellipse = (0..n_kernels).map(|_| normal(rng)).collect();
            x = ellipse.iter().map(|&z| normal_prior.at(z).x).collect();
        }
        if !settings.learned {
            x = vec![0.0; n_kernels];
        }
        let published = settings.steps_as_published();
        let momentum = if published { (0..n_kernels).map(|_| normal(rng)).collect() } else { vec![] };
        let variances = if settings.prior == FunctionPrior::Paper { (n_functions, n) } else { (0, 0) };
        Latent {
            position: rng.position(),
            x,
            ellipse,
            momentum,
            // Under likelihood=logit, as of a function that is 0.
            lambda: Matrix::from_fn(
                settings.n_scales(n_functions),
                n,
                |_, _| if settings.is_logit() { 4.0 } else { 1.0 },
            ),
            log_nu,
            nu: Matrix::from_fn(variances.0, variances.1, |_, _| 1.0),
            step: DualAverage::default(),
        }
    }

    pub(super) fn weights(&self) -> Vec<f64> {
        weights_of(&self.x)
    }

    /// Whether a stored chain fits the task.
    pub(super) fn fits(&self, settings: &Settings, n_kernels: usize, n_functions: usize, n: usize) -> bool {
        let gp = settings.prior == FunctionPrior::Gp;
        let shape = |matrix: &Matrix| (matrix.n_rows(), matrix.n_cols());
        let published = settings.steps_as_published();
        let ellipse = match settings.sampler {
            WeightSampler::Slice => 2 * n_kernels + settings.n_variances(),
            WeightSampler::Split => n_kernels,
            WeightSampler::Collapsed | WeightSampler::Paper | WeightSampler::Published => 0,
        };
        self.x.len() == n_kernels
            && self.ellipse.len() == ellipse
            && self.momentum.len() == if published { n_kernels } else { 0 }
            && shape(&self.lambda) == (settings.n_scales(n_functions), n)
            && self.log_nu.len() == settings.n_variances()
            && shape(&self.nu) == if gp { (0, 0) } else { (n_functions, n) }
    }
}

/// `e` from its logarithms.
pub(super) fn exps_of(x: &[f64]) -> Vec<f64> {
    let mut e = x.to_vec();
    exps(&mut e);
    e
}

/// `e / sum e`.
pub(super) fn weights_of(x: &[f64]) -> Vec<f64> {
    let most = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut weights: Vec<f64> = x.iter().map(|x| x - most).collect();
    exps(&mut weights);
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|w| *w /= sum);
    weights
}

/// `log((z1^2 + z2^2) / 2)`: half a chi-square variate of two degrees is gamma of shape 1.
pub(super) fn log_squares(z: &[f64]) -> Vec<f64> {
    z.as_chunks::<2>().0.iter().map(|[a, b]| ln(0.5 * (a * a + b * b))).collect()
}

/// One draw of a chain.
pub(super) struct Draw {
    pub(super) weights: Vec<f64>,
    pub(super) log_nu: Vec<f64>,
    pub(super) log_posterior: f64,
    pub(super) accepted: f64,
    /// `f_c(x) = sum_i coef_ci sum_m weights_m k_m(x_i, x) + bias_c`.
    pub(super) coef: Matrix,
    pub(super) bias: Vec<f64>,
    /// The prediction of each function for each row without having seen it; empty where not requested.
    pub(super) held_out: Vec<f64>,
    /// Log importance ratios: minus the log-likelihood of each row given the others. The draw is weighted by its
    /// exponential for this row, as the scales of the other rows and the weights depend on the row.
    pub(super) log_ratios: Vec<f64>,
    /// likelihood=logit, numbers: the packed factor of S of each function; empty where not requested.
    pub(super) factors: Vec<f64>,
    /// The functions at the training rows: a draw, whereas `coef` is a mean.
    #[cfg_attr(not(test), allow(dead_code))]
    pub(super) functions: Matrix,
}

record! {
    /// A chain's record: the weights of every sweep, and for some sweeps the draws that predictions need.
    #[derive(Clone, Debug, Default)]
    pub(super) struct Trace {
        pub(super) weights: Vec<f64>,
        pub(super) log_nu: Vec<f64>,
        pub(super) log_posterior: Vec<f64>,
        pub(super) accepted: Vec<f64>,
        pub(super) kept_weights: Vec<f64>,
        pub(super) coef: Vec<f64>,
        pub(super) bias: Vec<f64>,
        pub(super) held_out: Vec<f64>,
        pub(super) log_ratios as "surprise": Vec<f64>,
        /// likelihood=logit, numbers: the packed factors of S of the kept draws, and `scale nu` of each.
        pub(super) factors: Extra,
        pub(super) amplitudes: Extra,
        /// Numbers: the logarithm of the noise of the kept draws.
        pub(super) log_noises: Extra,
    }
}

/// Numbers that not all runs have: stored if there are any, so that files of other runs are unchanged.
#[derive(Clone, Debug, Default)]
pub(super) struct Extra(pub(super) Vec<f64>);

impl Field for Extra {
    fn put(&self, name: &str, record: &mut Record) {
        if !self.0.is_empty() {
            record.put(name, &self.0);
        }
    }

    fn take(name: &str, record: &Record) -> Result<Self> {
        if record.has(name) { Ok(Extra(record.take(name)?)) } else { Ok(Extra::default()) }
    }
}

impl Trace {
    /// Forgets what predictions are made of; the draws of weights and scales stay.
    pub(super) fn forget_kept(&mut self) {
        let weights = std::mem::take(&mut self.weights);
        let log_nu = std::mem::take(&mut self.log_nu);
        let (log_posterior, accepted) = (std::mem::take(&mut self.log_posterior), std::mem::take(&mut self.accepted));
        *self = Trace { weights, log_nu, log_posterior, accepted, ..Trace::default() };
    }

    pub(super) fn push(&mut self, draw: &Draw, scale: f64, keep: bool) {
        self.weights.extend_from_slice(&draw.weights);
        self.log_nu.extend_from_slice(&draw.log_nu);
        self.log_posterior.push(draw.log_posterior);
        self.accepted.push(draw.accepted);
        if keep {
            self.kept_weights.extend_from_slice(&draw.weights);
            self.coef.extend_from_slice(draw.coef.data());
            self.bias.extend_from_slice(&draw.bias);
            self.held_out.extend_from_slice(&draw.held_out);
            self.log_ratios.extend_from_slice(&draw.log_ratios);
            if !draw.factors.is_empty() {
                self.factors.0.extend_from_slice(&draw.factors);
                self.amplitudes.0.extend(draw.log_nu.iter().take(1).map(|log_nu| scale * exp(*log_nu)));
                self.log_noises.0.extend(draw.log_nu.iter().skip(1));
            }
        }
    }
}

/// State of a run: all chains after a number of sweeps.
#[derive(Clone, Debug)]
pub struct Bm3klState {
    pub(super) sweeps: usize,
    /// The factor on all kernels, chosen so that their mean diagonal entry is the mean square of the margins: 1 with
    /// two classes.
    pub(super) scale: f64,
    pub(super) chains: Vec<Latent>,
    pub(super) traces: Vec<Trace>,
    pub(super) ground: Cache<Ground>,
}

/// The fixed inputs shared by all sweeps.
#[derive(Clone, Debug)]
pub(super) struct Ground {
    /// The mapping of rows to points.
    pub(super) distinct: Distinct,
    /// The kernels between points.
    pub(super) stack: Stack,
    /// weights=uniform: the only combined kernel, between points.
    pub(super) fixed: Option<Matrix>,
    /// Whether matrices are factored on the pool's device.
    pub(super) there: bool,
    /// Room for the matrices and factors of the next gradient.
    pub(super) _keeping: Arc<Keeping>,
}

impl Codec for Bm3klState {
    fn encode(&self) -> Record {
        let mut record = Record::default();
        record.put("sweeps", &self.sweeps);
        record.put("scale", &self.scale);
        record.put("chains", &self.chains.len());
        for (k, (chain, trace)) in self.chains.iter().zip(&self.traces).enumerate() {
            record.put_record(&format!("chain{k}"), chain.encode());
            record.put_record(&format!("trace{k}"), trace.encode());
        }
        record
    }

    fn decode(record: &Record) -> Result<Self> {
        let n: usize = record.take("chains")?;
        let (mut chains, mut traces) = (vec![], vec![]);
        for k in 0..n {
            chains.push(Latent::decode(&record.take_record(&format!("chain{k}")))?);
            traces.push(Trace::decode(&record.take_record(&format!("trace{k}")))?);
        }
        Ok(Bm3klState {
            sweeps: record.take("sweeps")?,
            scale: record.take("scale")?,
            chains,
            traces,
            ground: Cache::default(),
        })
    }
}
