//! `bm3kl`: Bayesian max-margin multiple kernel learning (Du et al. 2016), kernel weights with their uncertainty.

mod chain;
mod density;
mod distinct;
mod gibbs;
mod hmc;
mod margins;
mod model;
mod published;
mod settings;
mod slice;
mod sweep;
#[cfg(test)]
mod tests;

use chain::{Ground, Latent, State, Trace};
use density::Problem;
use distinct::Distinct;
use margins::Margins;
pub use model::Bm3klModel;
use model::{HeldOut, Sample};
use settings::{PARAMS, Prior, Sampler, Settings};
use sweep::{SweepPhase, sweep};

use super::weighted::{misfit, signs};
use crate::dist::Rng;
use crate::error::{Error, Remedy, Result, message};
use crate::file::Cache;
use crate::kernel::DEFAULT_BANK;
use crate::linalg::Matrix;
use crate::run::{About, Control, Method, Needs, Params, Progress, Task};
use crate::stack::{Stack, Symmetric};

/// Most draws that predictions are averaged over, of all chains.
const MAX_KEPT_DRAWS: usize = 100;

/// Bayesian max-margin multiple kernel learning: which kernels matter, and how sure we are.
///
/// Functions `f_c = g_c + b_c` are Gaussian processes with the combined kernel `H = sum_m w_m K_m` and one variance (prior=gp),
/// the kernel weights w have a Dirichlet prior, and rows pull functions towards the margin by the pseudo-likelihood
/// `exp(-2 max(1 - delta f, 0))`, normal given one more scale lambda per row; with C > 2 classes, for rows of a function's own class
/// A (C - 1) stands in place of the 1 and for others A, somewhat above 1 (prior=gp). A sweep moves (w, nu) with the functions integrated
/// out, then functions, then scales. Classes share the weights; two classes are one function. Several chains run side by side and
/// share each pass over the kernels.
///
/// What it promises is conditional on the loss, whose width `gamma0` sets: intervals are those of this pseudo-posterior, and
/// are always shown beside the prior's. Take it where a few hundred rows have several sensible kernels and the weights are
/// the question; with thousands of rows take `evidence`.
///
/// Probabilities are averaged over draws with one temperature, chosen by the log-loss of what the functions say of each
/// training row when that row is left out, which needs no inner folds: with `t ~ N(0, S)` it is `t_i - al_i / (S^-1)_ii`.
///
/// `prior=paper sampler=paper gamma0=100` is the published sampler (its `tau` is 1e-4, by the text a variance, by a formula a
/// precision; ours is a variance). Its chains do not agree, and a warning says so.
///
/// Rows that no kernel tells apart are one point of a function (prior=gp): there are as many rows in its matrices as distinct ones.
///
/// Cost of a sweep: chains (leapfrog + 1) (2 passes over the kernels shared by all chains, and n^3 operations per function for n
/// distinct rows).
#[derive(Clone, Copy, Debug, Default)]
pub struct Bm3kl;

impl Method for Bm3kl {
    type State = State;
    type Model = Bm3klModel;

    fn about(&self) -> About {
        About {
            name: "bm3kl",
            summary: "Bayesian max-margin: kernel weights with intervals, by sampling",
            needs: Needs::Stack,
            params: PARAMS,
            bank: DEFAULT_BANK,
        }
    }

    fn init(&self, task: &Task<'_>, params: &Params) -> Result<State> {
        let settings = Settings::new(params)?;
        let stack = task.stack()?;
        let sides = signs(task.labels);
        let (n, n_functions) = (sides.n_rows(), sides.n_cols());
        check_memory(stack, &settings, n, n_functions)?;
        let begin = |k: usize| Latent::begin(&settings, &mut task.rng(k as u64, 0), stack.n_kernels(), n_functions, n);
        Ok(State {
            sweeps: 0,
            scale: scale(task, Margins::new(n_functions, &settings))?,
            chains: (0..settings.chains).map(begin).collect(),
            traces: vec![Trace::default(); settings.chains],
            ground: Cache::default(),
        })
    }

    fn check(&self, task: &Task<'_>, params: &Params, state: &State) -> Result<()> {
        let settings = Settings::new(params)?;
        let sides = signs(task.labels);
        let (n, n_functions, n_kernels) = (sides.n_rows(), sides.n_cols(), task.stack()?.n_kernels());
        let fits = state.chains.len() == settings.chains
            && state.chains.iter().all(|chain| chain.fits(&settings, n_kernels, n_functions, n))
            && state.sweeps <= settings.warmup + settings.draws
            && state.traces.iter().all(|trace| trace_fits(trace, state, &settings, n_kernels, n_functions, n));
        if fits { Ok(()) } else { Err(misfit()) }
    }

    fn step(&self, task: &Task<'_>, params: &Params, state: &mut State, control: &Control) -> Result<Progress> {
        let settings = Settings::new(params)?;
        let stop = || control.stop().is_some();
        let ground = state.ground.get_or_make(|| ground(task, &settings, state.scale))?;
        let sides = signs(task.labels).transposed();
        let margins = Margins::new(sides.n_rows(), &settings);
        let problem = Problem {
            stack: &ground.stack,
            pool: task.pool,
            settings: &settings,
            margin: margins.signed(&sides),
            variance: margins.variance(),
            sign: sides,
            scale: state.scale,
            distinct: &ground.distinct,
            fixed: ground.fixed.as_ref(),
            stop: &stop,
        };
        let mut chains = state.chains.clone();
        let mut rngs: Vec<Rng> =
            chains.iter().enumerate().map(|(k, chain)| task.rng(k as u64, chain.position)).collect();
        let phase = phase(&settings, state.sweeps);
        let draws = sweep(&problem, &mut chains, &mut rngs, phase)?;
        state.sweeps += 1;
        state.chains = chains;
        for (trace, draw) in state.traces.iter_mut().zip(&draws) {
            // Of warm-up only the last draw is kept, for runs that are stopped in it.
            if state.sweeps <= settings.warmup + 1 {
                *trace = Trace::default();
            }
            trace.push(draw, phase.keep || state.sweeps <= settings.warmup);
        }
        let accepted = draws.iter().map(|draw| draw.accepted).sum::<f64>() / draws.len() as f64;
        let progress = Progress::of(state.sweeps, settings.warmup + settings.draws);
        Ok(if settings.sampler == Sampler::Collapsed { progress.with("accepted", accepted) } else { progress })
    }

    fn finish(&self, task: &Task<'_>, params: &Params, state: State) -> Result<Bm3klModel> {
        let settings = Settings::new(params)?;
        if state.sweeps == 0 {
            return Err(Error::Stopped("stopped before the first sweep".into()));
        }
        let (n, n_kernels) = (task.n_samples(), task.stack()?.n_kernels());
        let counts = task.labels.counts();
        let present: Vec<usize> = (0..counts.len()).filter(|&class| counts[class] > 0).collect();
        let n_functions = state.chains[0].lambda.n_rows();
        let of = |field: fn(&Trace) -> &Vec<f64>| state.traces.iter().flat_map(field).copied().collect::<Vec<f64>>();
        let (log_posterior, held_out) = (of(|trace| &trace.log_posterior), of(|trace| &trace.held_out));
        let n_draws = log_posterior.len();
        let bias = of(|trace| &trace.bias);
        let kept = bias.len() / n_functions;
        let coef = Matrix::from_vec(kept * n_functions, n, of(|trace| &trace.coef))?.transposed();
        let kept_weights = if settings.learned {
            Matrix::from_vec(kept, n_kernels, of(|trace| &trace.kept_weights))?
        } else {
            Matrix::from_fn(1, n_kernels, |_, _| 1.0 / n_kernels as f64)
        };
        let places: Vec<usize> =
            task.labels.codes().iter().map(|code| present.partition_point(|class| class < code)).collect();
        let surprise = of(|trace| &trace.surprise);
        let held_out = HeldOut {
            decisions: &held_out,
            surprise: &surprise,
            places: &places,
            n_functions,
            n_present: present.len(),
            size: Margins::new(n_functions, &settings).variance().sqrt(),
        };
        let known = !surprise.is_empty() && present.len() > 1;
        let sample = Sample {
            n_classes: counts.len(),
            n_chains: settings.chains,
            weights: Matrix::from_vec(n_draws, n_kernels, of(|trace| &trace.weights))?,
            log_nu: Matrix::from_vec(n_draws, of(|trace| &trace.log_nu).len() / n_draws, of(|trace| &trace.log_nu))?,
            log_posterior,
            kept_weights,
            coef,
            bias: Matrix::from_vec(kept, n_functions, bias)?,
            temperature: if known { model::temperature(&held_out) } else { 1.0 },
            eta: if settings.learned { settings.eta } else { 0.0 },
            present,
        };
        let at_an_end = model::at_an_end(sample.temperature, held_out.size);
        let facts = facts(&settings, &state, sample.temperature, at_an_end);
        let warnings = warnings(&settings, &state);
        Ok(Bm3klModel::new(sample, warnings, facts))
    }
}

/// Which rows are distinct, the kernels between them, and the combined kernel if it is always the same: a pass or two.
fn ground(task: &Task<'_>, settings: &Settings, scale: f64) -> Result<Ground> {
    let stack = task.stack()?;
    let even = Matrix::from_fn(stack.n_kernels(), 1, |_, _| scale / stack.n_kernels() as f64);
    let mean = |stack: &Stack| Ok::<_, Error>(stack.combine(&even, task.pool)?.remove(0));
    let distinct = match settings.prior {
        Prior::Gp => Distinct::of(&mean(stack)?),
        Prior::Paper => Distinct::each(stack.n_rows()),
    };
    let of_points = distinct.n() < stack.n_rows();
    let stack = if of_points { stack.view(distinct.first())?.compact(task.pool)? } else { stack.clone() };
    let fixed = if settings.learned { None } else { Some(mean(&stack)?) };
    Ok(Ground { distinct, stack, fixed })
}

/// Refuses what would not fit: of each chain the kernel and the factors where a move begins and where it ends.
fn check_memory(stack: &Stack, settings: &Settings, n: usize, n_functions: usize) -> Result<()> {
    let need = 8 * (n as u64).pow(2) * settings.chains as u64 * (n_functions as u64 + 4);
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

/// What all kernels are multiplied by, so that functions of the variance 1 are as large as their margins for kernels of any size.
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

/// What the next sweep is, after so many.
fn phase(settings: &Settings, sweeps: usize) -> SweepPhase {
    let warm = sweeps >= settings.warmup;
    let thin = settings.draws.div_ceil((MAX_KEPT_DRAWS / settings.chains).max(1));
    // Counted from the end, so that the last draw is always kept.
    let left = (settings.warmup + settings.draws).saturating_sub(sweeps + 1);
    SweepPhase { sweep: sweeps + 1, warm, keep: warm && left.is_multiple_of(thin) }
}

/// Whether what a stored chain drew has the right lengths.
fn trace_fits(
    trace: &Trace,
    state: &State,
    settings: &Settings,
    n_kernels: usize,
    n_functions: usize,
    n: usize,
) -> bool {
    let drawn = if state.sweeps > settings.warmup { state.sweeps - settings.warmup } else { state.sweeps.min(1) };
    let kept = if state.sweeps > settings.warmup {
        (settings.warmup..state.sweeps).filter(|&sweep| phase(settings, sweep).keep).count()
    } else {
        drawn
    };
    let variances = usize::from(settings.prior == Prior::Gp);
    let left_out = if state.sweeps > settings.warmup { kept } else { 0 };
    trace.weights.len() == drawn * n_kernels
        && trace.log_nu.len() == drawn * variances
        && trace.log_posterior.len() == drawn
        && trace.accepted.len() == drawn
        && trace.kept_weights.len() == kept * n_kernels
        && trace.coef.len() == kept * n_functions * n
        && trace.bias.len() == kept * n_functions
        && trace.held_out.len() == left_out * n_functions * n
        && trace.surprise.len() == left_out * n
}

fn warnings(settings: &Settings, state: &State) -> Vec<String> {
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

fn facts(settings: &Settings, state: &State, temperature: f64, at_an_end: bool) -> Vec<(String, String)> {
    let (drawn, warm) = (state.traces[0].log_posterior.len(), state.sweeps > settings.warmup);
    let chains = if settings.chains == 1 { "1 chain".into() } else { format!("{} chains", settings.chains) };
    let sampling = if warm {
        format!("{chains} of {drawn} draws after {} sweeps of warm-up", settings.warmup)
    } else {
        format!("{chains}, the last of {} sweeps of warm-up", state.sweeps)
    };
    let mut facts = vec![("sampling".to_string(), sampling)];
    if settings.sampler == Sampler::Collapsed && (settings.learned || settings.prior == Prior::Gp) {
        let accepted: Vec<f64> = state.traces.iter().flat_map(|trace| trace.accepted.iter().copied()).collect();
        let mean = accepted.iter().sum::<f64>() / accepted.len().max(1) as f64;
        let sizes: Vec<String> = state.chains.iter().map(|chain| format!("{:.3}", chain.step.size(true))).collect();
        facts.push((
            "accepted".into(),
            format!("{:.0} % of moves, steps {} (far below 60 %, raise warmup)", 100.0 * mean, sizes.join(", ")),
        ));
    }
    let chosen = match (warm, at_an_end) {
        (false, _) => "not chosen in warm-up",
        (true, false) => "by the log-loss of training rows left out",
        (true, true) => "the end of its range: training rows left out do not tell it, probabilities are rough",
    };
    facts.push(("temperature".into(), format!("{temperature:.3}, {chosen}")));
    facts
}
