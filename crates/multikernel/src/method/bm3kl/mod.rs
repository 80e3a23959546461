//! `bm3kl`: Bayesian max-margin multiple kernel learning (Du et al. 2016): kernel weights with their uncertainty.

mod chain;
mod density;
mod distinct;
mod gibbs;
mod hmc;
mod logit;
mod margins;
mod model;
mod numbers;
mod numbers_model;
mod published;
mod settings;
mod slice;
mod split;
mod spread;
mod sweep;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use chain::{Bm3klState, Extra, Ground, Latent, Trace};
use density::Problem;
use distinct::Distinct;
use margins::Margins;
pub use model::Bm3klModel;
use model::{HeldOut, Sample};
use numbers::Noise;
use numbers_model::NumbersSample;
pub use numbers_model::{Bm3klEnd, Bm3klNumbers};
use settings::Settings;
pub use settings::{FunctionPrior, Likelihood, WeightSampler};
use spread::Spread;
use sweep::{SweepPhase, sweep};

use super::weighted::{misfit, outcome};
use crate::data::{Target, TargetKind};
use crate::dist::Rng;
use crate::error::{Error, Remedy, Result, message};
use crate::file::Cache;
use crate::kernel::DEFAULT_BANK;
use crate::linalg::Matrix;
use crate::method::Weighting;
use crate::pool::Pool;
use crate::run::{About, Allowed, Control, Method, Needs, Progress, State, Task, params};
use crate::simd::exp;
use crate::solve::cholesky::Keeping;
use crate::stack::{Stack, Symmetric};

/// Maximum number of draws that predictions are averaged over, across all chains.
const MAX_KEPT_DRAWS: usize = 100;
/// likelihood=logit, numbers: most values of the factors that predictions need, 128 MiB. A factor of 1,000 rows has
/// half a million, so 33 draws of them are kept; at least one of each chain always is.
const MAX_FACTOR_VALUES: usize = 1 << 24;

params! {
    /// Bayesian max-margin multiple kernel learning: which kernels matter, and how sure we are.
    ///
    /// The functions `f_c = g_c + b_c` are Gaussian processes with the combined kernel `H = sum_m w_m K_m` and one
    /// shared variance (prior=gp), the kernel weights w have a Dirichlet prior, and rows pull the functions towards the
    /// margin through the pseudo-likelihood `exp(-2 max(1 - delta f, 0))`, which is normal given an extra scale lambda
    /// per row; with C > 2 classes, the 1 becomes A (C - 1) for rows of a function's own class and A for the others,
    /// with A somewhat above 1 (prior=gp). A sweep moves (w, nu) with the functions integrated out, then functions,
    /// then scales. Classes share the weights; two classes need one function. Several chains run in parallel and share
    /// each pass over the kernels.
    ///
    /// Its uncertainty is conditional on the loss, whose width is set by `gamma0`: intervals are those of this
    /// pseudo-posterior, and are always shown next to the prior's. Use it where a few hundred rows have several
    /// sensible kernels and the weights are the question; with thousands of rows use `evidence`.
    ///
    /// Probabilities are averaged over draws with one temperature, chosen by the leave-one-out log-loss of the
    /// functions on the training rows, which needs no inner folds: with `t ~ N(0, S)` the left-out prediction is `t_i -
    /// al_i / (S^-1)_ii`.
    ///
    /// `likelihood=logit` is a likelihood of labels: `1 / (1 + exp(-delta f))`, which is normal given a Polya-Gamma scale
    /// per row (Polson, Scott and Windle 2013), in the same sampler. Its intervals are those of a posterior, and hold
    /// what they promise where functions come from the prior. Its probabilities need no temperature: each draw averages
    /// the logistic function over the distribution of the function at the new row, for which a model holds an N x N
    /// factor of each of up to 100 draws (up to 128 MiB in all). The variance of a function at a new row starts from
    /// the kernel between the row and itself: 1 for unit-diagonal kernels, the mean over the training rows for others.
    /// Two classes only: a row of C classes would count as C answers, yes for its own class and no for the others, as
    /// if they were independent, and intervals of the shared kernel weights would be too narrow.
    ///
    /// Numbers are `y = f + rho u` with noise u whose scale rho is sampled too, log rho^2 with the prior of log nu: that of
    /// support vector regression, `exp(-2 max(|u| - tube, 0)) / (2 tube + 1)`, which is normal given two scales per row,
    /// one for each side of the tube, or normal (`likelihood=normal`). Unlike the loss of classes both are likelihoods of
    /// what is seen, so intervals of kernel weights and of new numbers are those of a posterior (prior=gp only). The tube
    /// scales with the noise: 0.5 is 0.61 standard deviations of the noise, the best width for normal noise (Smola et al.
    /// 1998). Several numbers share kernel weights, variance and noise, and have a function each.
    ///
    /// `prior=paper sampler=published gamma0=100 tau=1e-4 chains=1 warmup=180 draws=20` is the published sampler (its
    /// `tau` is a variance according to the text, a precision according to a formula; ours is a variance, so tau=1e4 is
    /// the other reading). `sampler=paper` is the same with large friction integrated exactly and with bounds on scales
    /// and variances. Their chains do not agree, and a warning says so.
    ///
    /// Rows that no kernel distinguishes are treated as one point of a function (prior=gp): its matrices have one row
    /// per distinct point.
    ///
    /// Cost of a sweep: chains (leapfrog + 1) (2 passes over the kernels, shared by all chains, and n^3 operations per
    /// function for n distinct rows).
    pub struct Bm3kl {
        /// of the functions: gp, a Gaussian process with the combined kernel, or paper, shrinkage on each sample weight
        /// as published, whose chains seldom agree
        prior: FunctionPrior = FunctionPrior::Gp, Allowed::OneOf(FunctionPrior::WORDS);
        /// of the kernel weights: collapsed, Hamiltonian with the functions integrated out; split, the same in
        /// coordinates in which the prior is normal, for many kernels; slice, elliptical slice, to check them;
        /// published, the published step as printed, which is never refused and may diverge, an error then; paper, the
        /// same made stable, which never diverges (both prior=paper only)
        sampler: WeightSampler = WeightSampler::Collapsed, Allowed::OneOf(WeightSampler::WORDS);
        /// margin, a pseudo-likelihood that holds functions to the margin, and numbers to a tube; logit, the likelihood of
        /// labels of logistic regression (two classes, prior=gp), which takes no gamma0; normal, numbers with normal noise
        likelihood: Likelihood = Likelihood::Margin, Allowed::OneOf(Likelihood::WORDS);
        /// kernel weights are learned, or all the same: the control
        weights: Weighting = Weighting::Learned, Allowed::OneOf(Weighting::WORDS);
        /// independent chains; from two on their agreement is checked
        chains: usize = 4, Allowed::Whole(1, 64);
        /// sweeps of each chain that are thrown away, in which step sizes are found
        warmup: usize = 75, Allowed::Whole(1, 1_000_000);
        /// sweeps of each chain that are kept; raise it where R-hat is above 1.01; predictions use up to 100 of all
        draws: usize = 125, Allowed::Whole(1, 1_000_000);
        /// gradients per update of the kernel weights; 0 for 6, and up to 8 with many kernels; with sampler=split for 3
        leapfrog: usize = 0, Allowed::Whole(0, 1000);
        /// how hard the loss holds decisions to the margin from both sides, and with it how narrow intervals are; 0 is
        /// the hinge alone (published: 100 or 500)
        gamma0: f64 = 1.0, Allowed::Number(0.0, 1e9);
        /// numbers, likelihood=margin: half the width of the tube in which errors cost nothing, in units of the noise, which
        /// is sampled; 0 is the absolute error
        tube: f64 = 0.5, Allowed::Number(0.0, 100.0);
        /// prior variance of the bias
        tau: f64 = 100.0, Allowed::Number(1e-9, 1e9);
        /// of the Dirichlet prior of the kernel weights; below 1 for few kernels, above for even weights
        eta: f64 = 1.0, Allowed::Number(0.001, 1e6);
        /// prior=paper: shape of the shrinkage of sample weights; auto chooses among 1, 2, 3, as published
        beta: f64 = 0.1, Allowed::NumberOrAuto(1e-6, 1e6, &[1.0, 2.0, 3.0]);
        /// prior=paper: rate of the shrinkage
        kappa: f64 = 1e-10, Allowed::Number(1e-100, 1e6);
        /// sampler=paper, sampler=published: step size
        epsilon: f64 = 0.1, Allowed::Number(1e-9, 1.0);
        /// sampler=paper, sampler=published: whether the step size is divided by the number of the sweep
        decay: bool = false, Allowed::OneOf(&["no", "yes"]);
    }
}

impl Method for Bm3kl {
    type State = Bm3klState;

    fn about(&self) -> About {
        About {
            name: "bm3kl",
            summary: "Bayesian max-margin: kernel weights with intervals, by sampling",
            needs: Needs::Stack,
            bank: DEFAULT_BANK,
        }
    }

    fn targets(&self) -> &'static [TargetKind] {
        &[TargetKind::Classes, TargetKind::Numbers]
    }

    fn tunes_by_log_loss(&self) -> bool {
        true
    }
}

impl State<Bm3kl> for Bm3klState {
    type Model = Bm3klEnd;

    fn init(method: &Bm3kl, task: &Task<'_>) -> Result<Bm3klState> {
        let settings = Settings::new(method, task.target)?;
        let stack = task.stack()?;
        let sides = outcome(task);
        let (n, n_functions) = (sides.n_rows(), sides.n_cols());
        if settings.is_logit() && n_functions > 1 {
            return Err(Error::param(
                "likelihood",
                format!("`logit` is a likelihood of two classes, and there are {n_functions}; take likelihood=margin"),
            ));
        }
        check_memory(stack, &settings, n, n_functions)?;
        let begin = |k: usize| Latent::begin(&settings, &mut task.rng(k as u64, 0), stack.n_kernels(), n_functions, n);
        Ok(Bm3klState {
            sweeps: 0,
            scale: scale(task, Margins::new(n_functions, &settings))?,
            chains: (0..settings.chains).map(begin).collect(),
            traces: vec![Trace::default(); settings.chains],
            ground: Cache::default(),
        })
    }

    fn check(&self, method: &Bm3kl, task: &Task<'_>) -> Result<()> {
        let settings = Settings::new(method, task.target)?;
        let sides = outcome(task);
        let (n, n_functions, n_kernels) = (sides.n_rows(), sides.n_cols(), task.stack()?.n_kernels());
        let fits = self.chains.len() == settings.chains
            && self.chains.iter().all(|chain| chain.fits(&settings, n_kernels, n_functions, n))
            && self.sweeps <= settings.warmup + settings.draws
            && self.traces.iter().all(|trace| trace_fits(trace, self, &settings, n_kernels, n_functions, n));
        if fits { Ok(()) } else { Err(misfit()) }
    }

    fn step(&mut self, method: &Bm3kl, task: &Task<'_>, control: &Control) -> Result<Progress> {
        let settings = Settings::new(method, task.target)?;
        let stop = || control.stop().is_some();
        let sides = outcome(task).transposed();
        let make = || ground(task.stack()?, task.pool, &settings, sides.n_rows(), self.scale);
        let ground = self.ground.get_or_make(make)?;
        let margins = Margins::new(sides.n_rows(), &settings);
        let problem = Problem {
            stack: &ground.stack,
            pool: task.pool,
            settings: &settings,
            margin: if settings.noise.is_some() { sides.clone() } else { margins.signed(&sides) },
            variance: margins.variance(),
            sign: sides,
            scale: self.scale,
            distinct: &ground.distinct,
            fixed: ground.fixed.as_ref(),
            there: ground.there,
            stop: &stop,
        };
        let mut chains = self.chains.clone();
        let mut rngs: Vec<Rng> =
            chains.iter().enumerate().map(|(k, chain)| task.rng(k as u64, chain.position)).collect();
        let phase = phase(&settings, task.n_samples(), self.sweeps);
        // Until the first draw is kept for good the last one is, for runs that are stopped before.
        let first_kept = first_kept(&settings, task.n_samples());
        let for_now = self.sweeps < first_kept;
        let keep = phase.keep || for_now;
        let phase = SweepPhase { keep: phase.keep || for_now && settings.holds_factors(), ..phase };
        let draws = sweep(&problem, &mut chains, &mut rngs, phase)?;
        self.sweeps += 1;
        self.chains = chains;
        for (trace, draw) in self.traces.iter_mut().zip(&draws) {
            if self.sweeps <= settings.warmup + 1 {
                *trace = Trace::default();
            } else if self.sweeps <= first_kept + 1 {
                trace.forget_kept();
            }
            trace.push(draw, self.scale, keep);
        }
        let accepted = draws.iter().map(|draw| draw.accepted).sum::<f64>() / draws.len() as f64;
        let progress = Progress::of(self.sweeps, settings.warmup + settings.draws);
        Ok(if settings.is_hamiltonian() { progress.with("accepted", accepted) } else { progress })
    }

    fn finish(self, method: &Bm3kl, task: &Task<'_>) -> Result<Bm3klEnd> {
        let settings = Settings::new(method, task.target)?;
        if self.sweeps == 0 {
            return Err(Error::Stopped("stopped before the first sweep".into()));
        }
        match (task.target, settings.noise) {
            (Target::Numbers(_), Some(noise)) => self.numbers(&settings, noise, task).map(Bm3klEnd::Numbers),
            _ => self.classes(&settings, task).map(Bm3klEnd::Classes),
        }
    }
}

/// What models of all targets are made of.
struct Kept {
    weights: Matrix,
    log_variances: Matrix,
    log_posterior: Vec<f64>,
    kept_weights: Matrix,
    /// Rows x (kept x functions).
    coef: Matrix,
    /// Kept x functions.
    bias: Matrix,
}

impl Bm3klState {
    /// A field of all chains, one after the other.
    fn of(&self, field: fn(&Trace) -> &Vec<f64>) -> Vec<f64> {
        self.traces.iter().flat_map(field).copied().collect()
    }

    fn kept(&self, settings: &Settings, task: &Task<'_>, n_functions: usize) -> Result<Kept> {
        let (n, n_kernels) = (task.n_samples(), task.stack()?.n_kernels());
        let (log_posterior, bias) = (self.of(|trace| &trace.log_posterior), self.of(|trace| &trace.bias));
        let (n_draws, kept) = (log_posterior.len(), bias.len() / n_functions);
        let log_variances = self.of(|trace| &trace.log_nu);
        let kept_weights = if settings.learned {
            Matrix::from_vec(kept, n_kernels, self.of(|trace| &trace.kept_weights))?
        } else {
            Matrix::from_fn(1, n_kernels, |_, _| 1.0 / n_kernels as f64)
        };
        Ok(Kept {
            weights: Matrix::from_vec(n_draws, n_kernels, self.of(|trace| &trace.weights))?,
            log_variances: Matrix::from_vec(n_draws, log_variances.len() / n_draws, log_variances)?,
            log_posterior,
            kept_weights,
            coef: Matrix::from_vec(kept * n_functions, n, self.of(|trace| &trace.coef))?.transposed(),
            bias: Matrix::from_vec(kept, n_functions, bias)?,
        })
    }

    fn classes(self, settings: &Settings, task: &Task<'_>) -> Result<Bm3klModel> {
        let counts = task.labels.counts();
        let present: Vec<usize> = (0..counts.len()).filter(|&class| counts[class] > 0).collect();
        let n_functions = self.chains[0].lambda.n_rows();
        let kept = self.kept(settings, task, n_functions)?;
        let places: Vec<usize> =
            task.labels.codes().iter().map(|code| present.partition_point(|class| class < code)).collect();
        let spread = if settings.is_logit() { Some(self.spread(settings, task, &kept.kept_weights)?) } else { None };
        let (held_out, log_ratios) = (self.of(|trace| &trace.held_out), self.of(|trace| &trace.log_ratios));
        let held_out = HeldOut {
            decisions: &held_out,
            log_ratios: &log_ratios,
            places: &places,
            n_functions,
            n_present: present.len(),
            size: Margins::new(n_functions, settings).variance().sqrt(),
        };
        // As published, probabilities are the softmax itself.
        let chosen = settings.sampler != WeightSampler::Published;
        let known = chosen && !log_ratios.is_empty() && present.len() > 1;
        let sample = Sample {
            n_classes: counts.len(),
            n_chains: settings.chains,
            weights: kept.weights,
            log_nu: kept.log_variances,
            log_posterior: kept.log_posterior,
            kept_weights: kept.kept_weights,
            coef: kept.coef,
            bias: kept.bias,
            temperature: if known { model::temperature(&held_out, task.pool) } else { 1.0 },
            eta: if settings.learned { settings.eta } else { 0.0 },
            present,
            spread,
        };
        let at_an_end = model::at_an_end(sample.temperature, held_out.size);
        let facts = facts(settings, &self, sample.temperature, at_an_end);
        Ok(Bm3klModel::new(sample, warnings(settings, &self), facts))
    }

    fn numbers(self, settings: &Settings, noise: Noise, task: &Task<'_>) -> Result<Bm3klNumbers> {
        let kept = self.kept(settings, task, settings.n_factors)?;
        let (points, spread) = self.spread(settings, task, &kept.kept_weights)?;
        let noises = self.traces.iter().flat_map(|trace| &trace.log_noises.0);
        let sample = NumbersSample {
            points,
            n_chains: settings.chains,
            weights: kept.weights,
            log_variances: kept.log_variances,
            log_posterior: kept.log_posterior,
            kept_weights: kept.kept_weights,
            coef: kept.coef,
            bias: kept.bias,
            noise: noises.map(|log_noise| noise.variance() * exp(*log_noise)).collect(),
            eta: if settings.learned { settings.eta } else { 0.0 },
            spread,
        };
        Ok(Bm3klNumbers::new(sample, warnings(settings, &self), facts_of_sampling(settings, &self)))
    }

    /// likelihood=logit, numbers: the rows of the factors, and what the variances of predictions need. The run may have been
    /// stopped, so nothing here may be.
    fn spread(&self, settings: &Settings, task: &Task<'_>, weights: &Matrix) -> Result<(Vec<usize>, Spread)> {
        let stack = task.stack()?.unstoppable();
        let points = match &self.ground.0 {
            Some(ground) => ground.distinct.first().to_vec(),
            None => ground(&stack, task.pool, settings, settings.n_factors, self.scale)?.distinct.first().to_vec(),
        };
        let of = |field: fn(&Trace) -> &Extra| self.traces.iter().flat_map(|trace| field(trace).0.clone()).collect();
        let (amplitudes, factors) = (of(|trace| &trace.amplitudes), of(|trace| &trace.factors));
        let spread = Spread::new(&stack, task.pool, settings.tau, weights, amplitudes, factors)?;
        let kept = self.traces.iter().map(|trace| trace.bias.len()).sum::<usize>() / settings.n_factors.max(1);
        if spread.fits(kept, settings.n_factors, points.len()) { Ok((points, spread)) } else { Err(misfit()) }
    }
}

/// The distinct rows, the kernels between them, and the combined kernel if it is fixed: a pass or two.
fn ground(stack: &Stack, pool: &Pool, settings: &Settings, n_functions: usize, scale: f64) -> Result<Ground> {
    let even = Matrix::from_fn(stack.n_kernels(), 1, |_, _| scale / stack.n_kernels() as f64);
    let mean = |stack: &Stack| Ok::<_, Error>(stack.combine(&even, pool)?.remove(0));
    let distinct = match settings.prior {
        FunctionPrior::Gp => Distinct::of(&mean(stack)?),
        FunctionPrior::Paper => Distinct::each(stack.n_rows()),
    };
    let of_points = distinct.n() < stack.n_rows();
    let stack = if of_points { stack.view(distinct.first())?.compact(pool)? } else { stack.clone() };
    let fixed = if settings.learned { None } else { Some(mean(&stack)?) };
    // Each chain holds the factors of the start and the end of a move, and those of a step between.
    let count = 4 + 3 * settings.chains * n_functions;
    let there = settings.prior == FunctionPrior::Gp && stack.pays_there(pool) && stack.factors_there(count, pool)?;
    let in_chains = settings.chains.saturating_mul(n_functions + 4).saturating_mul(distinct.n() * distinct.n());
    let keeping = Arc::new(Keeping::new(if there { 0 } else { in_chains }));
    Ok(Ground { distinct, stack, fixed, there, _keeping: keeping })
}

/// Rejects runs that would not fit in memory: each chain holds the kernel and its factors at the start and the end of a
/// move.
fn check_memory(stack: &Stack, settings: &Settings, n: usize, n_functions: usize) -> Result<()> {
    let factors = (most_kept(settings, n).max(settings.chains) * settings.n_factors) as u64 / 2;
    let need = 8 * (n as u64).pow(2) * (settings.chains as u64 * (n_functions as u64 + 4) + factors);
    let limit = stack.room();
    if need <= limit {
        return Ok(());
    }
    Err(Error::Memory {
        what: format!("the matrices of {} chains on {n} rows", settings.chains),
        need,
        limit,
        help: message![
            "take fewer chains (",
            Remedy::Set("chains", "1".into()),
            ") or fewer rows, or raise ",
            Remedy::Memory
        ],
    })
}

/// The factor on all kernels that makes functions of variance 1 as large as their margins, whatever the scale of the
/// kernels.
fn scale(task: &Task<'_>, margins: Margins) -> Result<f64> {
    let stack = task.stack()?;
    let n = stack.n_rows();
    let unit = Matrix::from_fn(n, n, |i, j| f64::from(u8::from(i == j)));
    let traces = stack.project(&[Symmetric::Dense(&unit)], task.pool)?;
    let mean = traces.data().iter().sum::<f64>() / (n * stack.n_kernels()) as f64;
    if mean.is_finite() && mean > 0.0 {
        Ok(margins.variance() / mean)
    } else {
        Err(Error::input(format!(
            "the kernels have a mean diagonal entry of {mean}, and a Gaussian process needs one above 0; leave out kernels \
             that are zero or not positive semi-definite"
        )))
    }
}

/// Maximum number of draws that predictions use, for n training rows.
fn most_kept(settings: &Settings, n: usize) -> usize {
    let factors = (n.saturating_mul(n + 1) / 2).saturating_mul(settings.n_factors);
    MAX_KEPT_DRAWS.min(MAX_FACTOR_VALUES / factors.max(1))
}

/// The phase of the next sweep, after `sweeps` sweeps.
fn phase(settings: &Settings, n: usize, sweeps: usize) -> SweepPhase {
    let warm = sweeps >= settings.warmup;
    let thin = thin(settings, n);
    // Counted from the end, so that the last draw is always kept.
    let left = (settings.warmup + settings.draws).saturating_sub(sweeps + 1);
    SweepPhase { sweep: sweeps + 1, warm, keep: warm && left.is_multiple_of(thin) }
}

/// One draw in so many is kept.
fn thin(settings: &Settings, n: usize) -> usize {
    settings.draws.div_ceil((most_kept(settings, n) / settings.chains).max(1))
}

/// The sweep whose draw is the first that is kept for good.
fn first_kept(settings: &Settings, n: usize) -> usize {
    settings.warmup + settings.draws.saturating_sub(1) % thin(settings, n).max(1)
}

/// Whether a stored chain's draws have the right lengths.
fn trace_fits(
    trace: &Trace,
    state: &Bm3klState,
    settings: &Settings,
    n_kernels: usize,
    n_functions: usize,
    n: usize,
) -> bool {
    let drawn = if state.sweeps > settings.warmup { state.sweeps - settings.warmup } else { state.sweeps.min(1) };
    let for_good = state.sweeps > first_kept(settings, n);
    let kept = if for_good {
        (settings.warmup..state.sweeps).filter(|&sweep| phase(settings, n, sweep).keep).count()
    } else {
        state.sweeps.min(1)
    };
    let left_out = if for_good && !settings.holds_factors() { kept } else { 0 };
    let (factors, amplitudes) = (trace.factors.0.len(), trace.amplitudes.0.len());
    let with_factors = if settings.holds_factors() {
        let triangle = |values: usize| logit::side(values).is_some_and(|side| (1..=n).contains(&side));
        let held = kept * settings.n_factors;
        amplitudes == kept && (held == 0 && factors == 0 || factors.is_multiple_of(held) && triangle(factors / held))
    } else {
        factors == 0 && amplitudes == 0
    };
    trace.weights.len() == drawn * n_kernels
        && trace.log_nu.len() == drawn * settings.n_variances()
        && trace.log_noises.0.len() == if settings.noise.is_some() { kept } else { 0 }
        && trace.log_posterior.len() == drawn
        && trace.accepted.len() == drawn
        && trace.kept_weights.len() == kept * n_kernels
        && trace.coef.len() == kept * n_functions * n
        && trace.bias.len() == kept * n_functions
        && trace.held_out.len() == left_out * n_functions * n
        && trace.log_ratios.len() == left_out * n
        && with_factors
}

fn warnings(settings: &Settings, state: &Bm3klState) -> Vec<String> {
    let (done, total) = (state.sweeps, settings.warmup + settings.draws);
    let mut warnings = vec![];
    if done <= settings.warmup {
        warnings.push(format!(
            "stopped after {done} of {} sweeps of warm-up: the model is one draw of each chain, and says nothing of uncertainty; \
             give it more time",
            settings.warmup
        ));
    } else if done < total {
        warnings.push(format!("stopped after {done} of {total} sweeps; intervals are rougher than asked for"));
    }
    warnings
}

/// How many draws there are, and how moves went.
fn facts_of_sampling(settings: &Settings, state: &Bm3klState) -> Vec<(String, String)> {
    let (drawn, warm) = (state.traces[0].log_posterior.len(), state.sweeps > settings.warmup);
    let chains = if settings.chains == 1 { "1 chain".into() } else { format!("{} chains", settings.chains) };
    let sampling = if warm {
        format!("{chains} of {drawn} draws after {} sweeps of warm-up", settings.warmup)
    } else {
        format!("{chains}, the last of {} sweeps of warm-up", state.sweeps)
    };
    let mut facts = vec![("sampling".to_string(), sampling)];
    if settings.is_hamiltonian() && (settings.learned || settings.prior == FunctionPrior::Gp) {
        let accepted: Vec<f64> = state.traces.iter().flat_map(|trace| trace.accepted.iter().copied()).collect();
        let mean = accepted.iter().sum::<f64>() / accepted.len().max(1) as f64;
        let sizes: Vec<String> = state.chains.iter().map(|chain| format!("{:.3}", chain.step.size(true))).collect();
        facts.push((
            "accepted".into(),
            format!(
                "{:.0} % of moves, steps {}{}",
                100.0 * mean,
                sizes.join(", "),
                if mean < 0.5 { "; that is few: raise warmup" } else { "" }
            ),
        ));
    }
    facts
}

fn facts(settings: &Settings, state: &Bm3klState, temperature: f64, at_an_end: bool) -> Vec<(String, String)> {
    let (mut facts, warm) = (facts_of_sampling(settings, state), state.sweeps > settings.warmup);
    if settings.is_logit() {
        let how = "of the posterior: each draw averages over the function at a row, no temperature";
        facts.push(("probabilities".into(), how.into()));
        return facts;
    }
    let chosen = match (warm, at_an_end) {
        _ if settings.sampler == WeightSampler::Published => "as published",
        (false, _) => "not chosen in warm-up",
        (true, false) => "by the log-loss of training rows left out",
        (true, true) => "the end of its range: training rows left out do not tell it, probabilities are rough",
    };
    facts.push(("temperature".into(), format!("{temperature:.3}, {chosen}")));
    facts
}
