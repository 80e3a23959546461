//! `mklda`: max-margin multiple kernel learning by data augmentation (Nguyen, Le, Nguyen, Nguyen and Phung 2016).
//!
//! The group elastic net `alpha/2 |w_mf|^2 + beta |w_mf|` on the weights of class m in kernel f is written as a mixture
//! of ridges `gamma_mf = (alpha + beta^2 / lambda_mf) / N`. Given the ridges, the weights are found by stochastic
//! gradient steps of size `1/(gamma_mf t)`, starting at t = 1, so that `w_mf = (1 / (gamma_mf t)) sum_n c_nm
//! Phi_f(x_n)` with integers c shared by all kernels; given the norms of the weights, the ridges are updated.

use super::batch::{Rule, StreamMethod, StreamState, TARGETS, functions_of};
use super::expansion::Expansion;
use super::learner::{self, Streamed};
use super::model::StreamModel;
use super::published::Published;
use super::sampled::{Priors, Sampled, best_scale};
use crate::data::TargetKind;
use crate::error::{Error, Result};
use crate::file::record;
use crate::kernel::DEFAULT_BANK;
use crate::linalg::Matrix;
use crate::method::weighted::misfit;
use crate::run::{About, Allowed, Begin, Learner, Method, Needs, Task, choice, params};
use crate::simd::{exp, ln};

/// The samplers' random stream, separate from those of the row orders.
pub(super) const SAMPLES: u64 = 1 << 40;

choice! {
    /// How the ridges are updated.
    pub enum MklDaVariant {
        /// From the norms of the weights, at fixed scale.
        Stable = "stable",
        /// Sampled as in the paper.
        Published = "published",
        /// Sampled, with the weights rescaled to the best point on their ray.
        Gibbs = "gibbs",
    }
}

/// What `auto` chooses a number of the hyper-priors from.
const PRIORS: &[f64] = &[10.0, 1.0, 0.1];

params! {
    /// Max-margin multiple kernel learning by data augmentation: for many rows, many kernels, and streams. Each class
    /// has its own kernel weights; [`ModelKernels::class_weights`](crate::plan::ModelKernels::class_weights) shows
    /// them.
    ///
    /// `variant=stable` computes the ridges from the norms of the weights at fixed scale; `r`, `rho` and the number of
    /// epochs and loops are fixed defaults, not learned. `published` samples them as in the paper, which diverges: a
    /// warning says how far. `gibbs` samples them with the weights rescaled to the best point on their ray; that is a
    /// heuristic, not a posterior draw.
    ///
    /// On a stream, `published` is algorithm 2 of the paper: a row keeps the ridges of its time, and as they diverge, a
    /// few updates later newer rows outweigh it so far that nothing is left of it. It is there to show that; a warning
    /// says how many of the learned rows still count. `stable` gives all rows the current ridges and forgets nothing.
    ///
    /// Numbers are learned by `stable` alone, with the loss `max(0, |y - f(x)| - epsilon)` in place of the hinge; each
    /// has a function and kernel weights of its own. What is augmented is the norm, and the weights are found by gradient
    /// steps for either loss, so nothing else changes but the length of a step: it ends where the error is epsilon (see
    /// `ufomkl`), since numbers have to be met, while scores of classes are only compared. For the same reason the other
    /// variants refuse numbers: their scale diverges, or is set by margins. On a stream a row's coefficient is at most
    /// `r / (epochs sqrt(t))`.
    ///
    /// Cost: loops x epochs x N rows, each one kernel value per point with a coefficient so far (32 or more Gaussians
    /// on the same columns count as one), and once per loop one per pair of points. Memory: the rows, and one
    /// coefficient per point and class.
    ///
    /// ```
    /// use multikernel::{Plan, data::bundled};
    /// let data = bundled("vehicle")?;
    /// let model = Plan::new("mklda")?.kernels("gaussian(gamma=2^-8..2^2; 40)")?.train(&data)?;
    /// let weights = model.kernels().class_weights().expect("four classes have weights of their own");
    /// assert_eq!((weights.n_rows(), weights.n_cols()), (40, 4));
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub struct MklDa {
        /// stable: ridges from the norms, scale fixed; published: sampled as printed; gibbs: sampled, weights rescaled
        variant: MklDaVariant = MklDaVariant::Stable, Allowed::OneOf(MklDaVariant::WORDS);
        /// stable: how far the margin outweighs the norms; a stream is learned at the raw margin epochs/r; auto chooses
        /// among 1, 3, 10, 30 and 100
        r: f64 = 10.0, Allowed::PositiveOrAuto(&[1.0, 3.0, 10.0, 30.0, 100.0]);
        /// stable: evenness of the kernel weights; auto chooses among 10, 1 and 0.1
        rho: f64 = 1.0, Allowed::PositiveOrAuto(&[10.0, 1.0, 0.1]);
        /// passes over the rows in each loop; of a stream, see r
        epochs: usize = 3, Allowed::Whole(1, 1000);
        /// times the ridges are found anew; not on streams
        loops: usize = 5, Allowed::Whole(1, 1000);
        /// numbers: residuals up to this cost nothing, in standard deviations of the target
        epsilon: f64 = 0.1, Allowed::Number(0.0, 10.0);
        /// for very many rows: points drawn at random that alone carry coefficients; 0 for none, which is exact
        landmarks: usize = 0, Allowed::Whole(0, 20_000);
        /// whether rows are drawn with replacement, as published, instead of each once in an epoch; not on streams
        replacement: bool = false, Allowed::OneOf(&["no", "yes"]);
        /// published, gibbs: shape of the gamma prior of alpha, the ridge common to all kernels; auto chooses among 10, 1
        /// and 0.1, as for the next three
        kappa0: f64 = 1.0, Allowed::NumberOrAuto(1e-6, 1e6, PRIORS);
        /// published, gibbs: scale of the gamma prior of alpha
        theta0: f64 = 1.0, Allowed::NumberOrAuto(1e-9, 1e9, PRIORS);
        /// published, gibbs: mean of the normal prior of beta, the weight of the group norm
        mu0: f64 = 1.0, Allowed::NumberOrAuto(-1e9, 1e9, PRIORS);
        /// published, gibbs: standard deviation of the normal prior of beta
        sigma0: f64 = 1.0, Allowed::NumberOrAuto(1e-9, 1e9, PRIORS);
    }
}

impl MklDa {
    pub(super) fn priors(&self) -> Priors {
        Priors { kappa0: self.kappa0, theta0: self.theta0, mu0: self.mu0, sigma0: self.sigma0 }
    }
}

impl Method for MklDa {
    type State = StreamState<Ridges>;

    fn about(&self) -> About {
        About {
            name: "mklda",
            summary: "max-margin MKL by data augmentation: stochastic gradients, kernel weights from norms, for many rows and kernels",
            needs: Needs::Pass,
            bank: DEFAULT_BANK,
        }
    }

    fn n_squares(&self) -> usize {
        0
    }

    fn targets(&self) -> &'static [TargetKind] {
        // Numbers need the scale of the weights, which only one variant keeps.
        if self.variant == MklDaVariant::Stable { TARGETS } else { &[TargetKind::Classes] }
    }

    fn tuned_targets(&self) -> &'static [TargetKind] {
        self.targets()
    }

    fn tunes_by_log_loss(&self) -> bool {
        true
    }

    fn learner(&self, begin: &Begin<'_>) -> Result<Option<Box<dyn Learner>>> {
        if self.replacement {
            return Err(Error::param("replacement", "must be no for a stream, whose rows come one after the other"));
        }
        match self.variant {
            MklDaVariant::Published => Ok(Some(Box::new(Published::begin(self, begin)?))),
            _ => Ok(Some(Box::new(Streamed::<StreamRidges>::begin(self, begin)?))),
        }
    }
}

impl StreamMethod for MklDa {
    fn landmarks(&self) -> usize {
        self.landmarks
    }

    fn replacement(&self) -> bool {
        self.replacement
    }

    fn epsilon(&self) -> f64 {
        self.epsilon
    }
}

record! {
    /// The ridges and their history.
    #[derive(Clone, Debug)]
    pub struct Ridges {
        n_samples: usize,
        rho: f64,
        epochs: u64,
        loops: u64,
        /// Rows since the coefficients were last reset.
        time: u64,
        /// `1 / gamma_mf` up to a common factor: averaged over the functions, they sum to 1.
        weights: Matrix,
        /// The raw margin below which the first row is learned: the inverse of that factor.
        unit: f64,
        sampled: bool,
        rescaled: bool,
        /// The trade-off parameters, if sampled.
        trade: Sampled,
        /// How far the weights moved in each loop: half the sum of absolute differences, averaged over the functions.
        moves: Vec<f64>,
        /// The previous loop, for a run that is stopped early in the next.
        kept: Expansion,
        kept_weights: Matrix,
    }
}

impl Ridges {
    #[cfg(test)]
    pub(super) fn kept(&self) -> &Expansion {
        &self.kept
    }

    /// The coefficients of the average of all iterates; of the last one for the published variant.
    fn coefficients(&self, expansion: &Expansion) -> Matrix {
        if self.sampled && !self.rescaled { expansion.coefficients.clone() } else { expansion.averaged(self.time) }
    }

    /// New kernel weights from `c_m'K_f c_m` (P x functions).
    fn reweigh(&mut self, task: &Task<'_>, expansion: &Expansion) -> Result<()> {
        let norms = expansion.norms(task.stack()?, task.pool)?;
        let weights = match self.sampled {
            false => stable(&self.weights, &norms, self.rho),
            true => self.sample(task, expansion, &norms)?,
        };
        let total: f64 = weights.data().iter().zip(self.weights.data()).map(|(a, b)| (a - b).abs()).sum();
        self.moves.push(0.5 * total / weights.n_cols() as f64);
        self.weights = weights;
        Ok(())
    }

    /// Draws new ridges given the weights `w_mf = (1 / (gamma_mf t)) sum_n c_nm Phi_f(x_n)`.
    fn sample(&mut self, task: &Task<'_>, expansion: &Expansion, norms: &Matrix) -> Result<Matrix> {
        let n_classes = task.labels.n_classes();
        let of_class = |f: usize, m: usize| norms.get(f, m.min(norms.n_cols() - 1)).max(0.0);
        let ln_time = ln(self.time as f64);
        let mut ln_norms = Matrix::from_fn(norms.n_rows(), n_classes, |f, m| {
            0.5 * ln(of_class(f, m)) - ln_time - self.trade.ln_gamma(f, m)
        });
        if self.rescaled {
            let shift = self.rescale(task, expansion, norms)?;
            ln_norms.data_mut().iter_mut().for_each(|ln_norm| *ln_norm += shift);
        }
        let mut rng = task.rng(SAMPLES, self.trade.position());
        self.trade.sample(&ln_norms, &mut rng);
        let (weights, scale) = self.trade.weights();
        self.unit = unit(scale);
        Ok(weights)
    }

    /// The log of the factor that brings the weights to the best point on their ray: after so few steps they are far
    /// too long.
    fn rescale(&self, task: &Task<'_>, expansion: &Expansion, norms: &Matrix) -> Result<f64> {
        let margins = expansion.margins(task, &self.weights)?;
        // With weights of unit scale: sum_mf N gamma_mf |w_mf|^2 = N unit sum_mf weights_mf c_m'K_f c_m.
        let n_classes = task.labels.n_classes() as f64 / norms.n_cols() as f64;
        let squares: f64 = self.weights.data().iter().zip(norms.data()).map(|(w, norm)| w * norm.max(0.0)).sum();
        let q = n_classes * squares * self.n_samples as f64 * self.unit;
        // Raw scores times this are those at the best point; those of the weights are raw / (unit time).
        Ok(best_scale(&margins, q).map_or(0.0, |scale| ln(scale) + ln(self.unit) + ln(self.time as f64)))
    }
}

/// `e^-scale`, but never 0: a row without a margin is learned at any scale.
pub(super) fn unit(scale: f64) -> f64 {
    exp(-scale).max(f64::MIN_POSITIVE)
}

/// `q = 1 / (rho + 1/s)` for norms `s_mf = d_mf sqrt(c_m'K_f c_m)` with unit root mean square; d is q normalised so
/// that its mean over the functions sums to 1.
fn stable(d: &Matrix, norms: &Matrix, rho: f64) -> Matrix {
    let s: Vec<f64> = d.data().iter().zip(norms.data()).map(|(d, norm)| d * norm.max(0.0).sqrt()).collect();
    let mean = (s.iter().map(|s| s * s).sum::<f64>() / s.len() as f64).sqrt();
    if !(mean > 0.0 && mean.is_finite()) {
        return d.clone();
    }
    let q = |s: f64| 1.0 / (rho + 1.0 / (s / mean).max(1e-30));
    let total: f64 = s.iter().map(|&s| q(s)).sum::<f64>() / d.n_cols() as f64;
    Matrix::from_fn(d.n_rows(), d.n_cols(), |f, m| q(s[f * d.n_cols() + m]) / total)
}

impl Rule for Ridges {
    type Method = MklDa;
    const NORMS: bool = false;

    fn begin(method: &MklDa, task: &Task<'_>, n_kernels: usize) -> Result<Self> {
        let (n, n_classes, n_functions) = (task.n_samples(), task.labels.n_classes(), functions_of(task));
        let (sampled, rescaled) = (method.variant != MklDaVariant::Stable, method.variant == MklDaVariant::Gibbs);
        let even = Matrix::from_fn(n_kernels, n_functions, |_, _| 1.0 / n_kernels as f64);
        let trade = if sampled {
            Sampled::begin(rescaled, n, n_kernels, n_classes, method.priors(), task.rng(SAMPLES, 0))
        } else {
            Sampled::default()
        };
        let (weights, unit) = if sampled {
            let (weights, scale) = trade.weights();
            (weights, unit(scale))
        } else {
            (even, 1.0 / (method.r * n as f64))
        };
        Ok(Ridges {
            n_samples: n,
            rho: method.rho,
            epochs: method.epochs as u64,
            loops: method.loops as u64,
            time: 0,
            weights,
            unit,
            sampled,
            rescaled,
            trade,
            moves: vec![],
            kept: Expansion::new(n_functions),
            kept_weights: Matrix::zeros(n_kernels, n_functions),
        })
    }

    fn check(&self, n_kernels: usize, n_functions: usize) -> Result<()> {
        let shapes = [&self.weights, &self.kept_weights];
        let fits = shapes.iter().all(|m| m.n_rows() == n_kernels && m.n_cols() == n_functions);
        self.kept.check(self.n_samples, n_functions)?;
        if self.sampled {
            self.trade.check(n_kernels, if n_functions == 1 { 2 } else { n_functions })?;
        }
        if fits { Ok(()) } else { Err(misfit()) }
    }

    fn n_epochs(&self) -> u64 {
        self.epochs.saturating_mul(self.loops)
    }

    fn weights(&self) -> &Matrix {
        &self.weights
    }

    fn threshold(&self) -> f64 {
        // g = (1/(t - 1)) sum_n c_n K, and a row is learned below a margin of 1.
        self.time.max(1) as f64 * self.unit
    }

    fn time(&self) -> u64 {
        self.time
    }

    fn next(&mut self, _: bool) -> f64 {
        self.time += 1;
        1.0
    }

    fn turn(&mut self, task: &Task<'_>, epoch: u64, expansion: &mut Expansion) -> Result<()> {
        if !epoch.is_multiple_of(self.epochs) {
            return Ok(());
        }
        self.kept_weights = self.weights.clone();
        let coefficients = self.coefficients(expansion);
        if epoch < self.n_epochs() {
            self.reweigh(task, expansion)?;
        }
        self.kept = std::mem::replace(expansion, expansion.begun_anew());
        self.kept.coefficients = coefficients;
        self.time = 0;
        Ok(())
    }

    fn model(&self, task: &Task<'_>, expansion: Expansion) -> Result<StreamModel> {
        // An unfinished loop knows less than the one before it.
        let (points, mut coefficients, weights) = if self.kept.points.is_empty() {
            (&expansion.points, self.coefficients(&expansion), &self.weights)
        } else {
            (&self.kept.points, self.kept.coefficients.clone(), &self.kept_weights)
        };
        if !self.sampled {
            // In the scale of its ridges, the learner requires a margin of 1.
            coefficients.data_mut().iter_mut().for_each(|c| *c /= self.unit);
        }
        let model = StreamModel::new(points, &coefficients, weights).of_numbers(task.target.numbers().is_some());
        let moves: Vec<String> = self.moves.iter().map(|moved| format!("{moved:.3}")).collect();
        let mut facts = vec![];
        if !moves.is_empty() {
            facts.push(("kernel weights moved by".into(), moves.join(", ")));
        }
        if !self.sampled {
            return Ok(model.with_facts(facts));
        }
        facts.extend(self.trade.facts());
        Ok(model.with_facts(facts).with_warnings(self.trade.warnings()))
    }
}

record! {
    /// Ridges on a stream of unknown length: a row is learned below the raw margin at which learning from a table ends,
    /// `epochs / r`.
    #[derive(Clone, Debug)]
    pub(super) struct StreamRidges {
        margin: f64,
        rho: f64,
        weights: Matrix,
    }
}

impl learner::Rule for StreamRidges {
    type Method = MklDa;

    const POOLED: bool = false;

    fn begin(method: &MklDa, n_kernels: usize) -> Result<Self> {
        if method.variant == MklDaVariant::Gibbs {
            return Err(Error::param(
                "variant",
                "gibbs needs all rows at once, to rescale its weights; use variant=stable on a stream",
            ));
        }
        let weights = Matrix::from_fn(n_kernels, 1, |_, _| 1.0 / n_kernels as f64);
        let margin = method.epochs as f64 / method.r;
        Ok(StreamRidges { margin, rho: method.rho, weights })
    }

    fn weights(&self) -> &Matrix {
        &self.weights
    }

    fn threshold(&self) -> f64 {
        self.margin
    }

    fn delta(&self) -> f64 {
        1.0
    }

    fn refresh(&mut self, norms: &Matrix, _: u64, _: f64) {
        self.weights = stable(&self.weights, norms, self.rho);
    }

    /// A new function starts with the mean of the others.
    fn extend(&mut self, n_functions: usize) {
        let before = &self.weights;
        let weight = |f: usize, m: usize| match before.row(f) {
            [one] => *one,
            row => row.get(m).copied().unwrap_or(row.iter().sum::<f64>() / row.len() as f64),
        };
        self.weights = Matrix::from_fn(before.n_rows(), n_functions, weight);
    }
}
