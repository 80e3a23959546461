//! `svimkl`: kernel logistic regression with kernel weights, by stochastic variational inference (Adamo and Corneli
//! 2024), and `mklr`, the same with point estimates. Numbers, counts and times have likelihoods of their own on the same
//! functions.

mod ascent;
mod climb;
mod clip;
mod distribution;
mod functions;
mod layout;
mod loss;
mod model;
mod objective;
mod partition;
mod scale;
mod settings;
mod state;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_of_losses;

use climb::Passes;
use clip::Clip;
use distribution::{Family, WeightDistribution};
pub use functions::{FunctionsModel, SviMklEnd};
use layout::Layout;
pub use loss::NumbersLoss;
use loss::{Loss, n_functions, poisson_loss};
pub use model::LogisticModel;
use objective::{Objective, Prior};
use scale::IDENTITY;
pub(super) use settings::LAMBDAS;
pub use settings::{BoundSolver, Indefinite, WeightFamily};
use settings::{Settings, logistic_params};
pub(super) use state::Fit;

use super::ends::partial_log_likelihood;
use super::stream::draw_landmarks;
use super::weighted::misfit;
use crate::data::{Target, TargetKind, Times};
use crate::error::{Error, Remedy, Result, message};
use crate::file::Cache;
use crate::kernel::DEFAULT_BANK;
use crate::linalg::Matrix;
use crate::method::Weighting;
use crate::run::{About, Allowed, ByPartitions, Control, Method, Needs, Progress, State, Task};
use crate::simd::ln;

/// Number of levels from which the nodes of `solver=ascent` are drawn.
const ASCENT_LEVELS: usize = 256;
/// The random stream for arranging nodes.
const ARRANGE: u64 = 2 << 41;

logistic_params! {
    /// Kernel logistic regression with distributions over the kernel weights, learned by variational inference; with
    /// probabilities and intervals.
    ///
    /// The log odds of a row are `sum_d b_d (K_d a)`, the sample weights a have the penalty `lambda a' K a`, and each
    /// kernel weight has a prior: an exponential distribution with rate `delta`, as published, or a gamma distribution
    /// with shape below 1, which selects kernels. The method learns the sample weights and, for each kernel, the
    /// distribution (`q`) nearest to the posterior given them. The expected likelihood is a mean over nodes: quantiles
    /// of each distribution, arranged so that every part of every distribution is used once, with a separate
    /// arrangement for each (a Latin hypercube). Nodes are scaled to the mean of their distribution, so that the
    /// identity `lambda a' E[K] a = delta sum E[b] - shape P` holds at the optimum; it is reported as evidence of
    /// convergence. More than two classes use a softmax with shared kernel weights.
    ///
    /// Numbers have squared error instead (`loss=gaussian`), counts Poisson's likelihood of the exponential of the function
    /// (`loss=poisson`), times to an event Cox's partial likelihood of log risks, with Efron's treatment of ties; several
    /// numbers share the kernel weights. The noise of numbers is not learned: penalised likelihood would make it vanish
    /// where kernels can follow every row. It is taken to be 1 standard deviation of the target, and lambda and delta
    /// are relative to it; where it is smaller, intervals of kernel weights are too wide. Predictions of numbers have no
    /// intervals: see [`SviMklEnd`].
    ///
    /// **The weight of a useless kernel does not go to zero** under the published prior but to 1/delta: a and b can
    /// trade scale freely, so the mean weight cannot fall below it. Compare weights with it, or set `shape` below 1.
    /// Intervals are conditional on the sample weights.
    ///
    /// Cost of a step for c functions: two passes over the kernels with c vectors each, and 6 N P c products for each
    /// node; N^3 at steps 0, 8, 16, 32, ... Memory: about 6 N^2 numbers besides the kernels. With m landmarks N m^2 in place
    /// of N^3, and 8 N P c + 4 m^2 numbers and 3 m more for each of up to 8,192 rows.
    pub struct SviMkl {
        /// the distribution that stands for what is known of a kernel weight; exponential is the published one, whose
        /// intervals always span a factor of 146
        q: WeightFamily = WeightFamily::Gamma, Allowed::OneOf(WeightFamily::WORDS);
        /// how much wiggly functions cost; auto chooses by the log-loss of held-out rows, which the bound cannot (numbers:
        /// squared error, times: partial likelihood); of more than 1000 rows on a fifth of them, with up to 500 landmarks,
        /// from smooth to wiggly, as long as that helps
        lambda: f64 = 0.1, Allowed::PositiveOrAuto(LAMBDAS);
        /// rate of the prior of a kernel weight; only lambda times delta matters to what is predicted
        delta: f64 = 1.0, Allowed::Number(1e-6, 1e6);
        /// shape of the gamma prior of a kernel weight; 1 is the published exponential distribution, under which a
        /// useless kernel stays at 1/delta; below 1, 0.1 say, it goes to shape/delta, so that kernels are selected;
        /// there may then be several optima
        shape: f64 = 1.0, Allowed::Number(0.01, 1e3);
        /// points at which the distributions of all kernel weights are looked at together; solver=ascent and plain draw
        /// so many anew for each step (published: 1)
        nodes: usize = 32, Allowed::Whole(1, 4096);
    } {
        /// lbfgs, quasi-Newton steps on fixed nodes; ascent, stochastic steps as published, with Adam's step sizes;
        /// plain, steps of `rate` times the gradient at freshly drawn nodes: Algorithm 1 as printed with nodes=1 rate=1
        /// (and q=exponential intercept=no), which seldom converges
        solver: BoundSolver = BoundSolver::Lbfgs, Allowed::OneOf(BoundSolver::WORDS);
    } {
        /// ascent: length of its steps, which shrinks over the second half of them; plain: that of all steps
        rate: f64 = 0.01, Allowed::Number(1e-6, 1.0);
        /// ascent, plain: rows looked at in a step, drawn without replacement; 0 for all
        batch: usize = 0, Allowed::Whole(0, 1_000_000_000);
    }
}

logistic_params! {
    /// Kernel logistic regression with kernel weights that maximise the penalised likelihood, with a penalty on their
    /// squares (`ridge`), or that are all equal (`weights=uniform`): the controls for [`SviMkl`], with probabilities.
    /// For very many rows, with `landmarks`.
    ///
    /// Numbers have squared error (`loss=gaussian`), counts Poisson's likelihood of the exponential of the function
    /// (`loss=poisson`), times to an event Cox's partial likelihood of log risks, with Efron's treatment of ties; several
    /// numbers share the kernel weights. The noise of numbers is profiled out: `lambda` and `ridge` are relative to its
    /// variance, so the function does not depend on it; `lambda=auto` finds the smoothness. Predictions of numbers have
    /// no intervals: see [`SviMklEnd`].
    ///
    /// Cost: as there with one node.
    pub struct Mklr {
        /// how much wiggly functions cost; auto chooses by the log-loss of held-out rows, which the bound cannot (numbers:
        /// squared error, times: partial likelihood); of more than 1000 rows on a fifth of them, with up to 500 landmarks,
        /// from smooth to wiggly, as long as that helps
        lambda: f64 = 0.1, Allowed::PositiveOrAuto(LAMBDAS);
        /// how much the square of a kernel weight costs
        ridge: f64 = 0.1, Allowed::Positive;
        /// kernel weights are learned, or all 1/P: the control
        weights: Weighting = Weighting::Learned, Allowed::OneOf(Weighting::WORDS);
    } {
    } {
    }
}

/// The targets of both methods.
const TARGETS: &[TargetKind] = &[TargetKind::Classes, TargetKind::Numbers, TargetKind::Times];

/// What `auto` is chosen by where numbers or times are predicted.
fn held_out_loss(target: &Target, scores: &Matrix, loss: NumbersLoss) -> Option<(&'static str, f64)> {
    match (target, loss) {
        (Target::Numbers(counts), NumbersLoss::Poisson) => Some(("Poisson log-loss", poisson_loss(counts, scores))),
        (Target::Times(times), _) => Some(("partial log-loss", -partial_log_likelihood(times, scores.data()))),
        // The squared error ranks as the Gaussian log likelihood does at the noise that fits best.
        _ => None,
    }
}

/// One of the two methods.
trait FitsLogistic: Method {
    /// Its settings.
    fn settings(&self) -> Settings;
}

impl Method for SviMkl {
    type State = Fit;

    fn about(&self) -> About {
        About {
            name: "svimkl",
            summary: "kernel logistic regression (numbers, counts, times too), weights by variational inference; probabilities, intervals",
            needs: Needs::Stack,
            bank: DEFAULT_BANK,
        }
    }

    // With many rows, landmarks are used unless set otherwise.
    fn n_squares(&self) -> usize {
        0
    }

    fn n_landmarks(&self, n_rows: usize) -> Option<usize> {
        Some(self.settings().points(n_rows))
    }

    fn rehearsal(&self, n_rows: usize) -> Option<Self> {
        let (landmarks, tol) = self.settings().rehearsal(n_rows)?;
        Some(Self { landmarks, tol, ..self.clone() })
    }

    fn targets(&self) -> &'static [TargetKind] {
        TARGETS
    }

    fn tuned_targets(&self) -> &'static [TargetKind] {
        TARGETS
    }

    fn takes_counts(&self) -> bool {
        self.loss == NumbersLoss::Poisson
    }

    fn held_out_loss(&self, target: &Target, scores: &Matrix) -> Option<(&'static str, f64)> {
        held_out_loss(target, scores, self.loss)
    }

    fn tunes_by_log_loss(&self) -> bool {
        true
    }

    fn by_partitions(&self) -> Option<Box<dyn ByPartitions>> {
        Some(Box::new(self.settings()))
    }
}

impl FitsLogistic for SviMkl {
    fn settings(&self) -> Settings {
        Settings::of_svimkl(self)
    }
}

impl Method for Mklr {
    type State = Fit;

    fn about(&self) -> About {
        About {
            name: "mklr",
            summary: "kernel logistic regression (numbers, counts, times too), weights by penalised likelihood, or uniform; probabilities",
            needs: Needs::Stack,
            bank: DEFAULT_BANK,
        }
    }

    // As for `svimkl`.
    fn n_squares(&self) -> usize {
        0
    }

    fn n_landmarks(&self, n_rows: usize) -> Option<usize> {
        Some(self.settings().points(n_rows))
    }

    fn rehearsal(&self, n_rows: usize) -> Option<Self> {
        let (landmarks, tol) = self.settings().rehearsal(n_rows)?;
        Some(Self { landmarks, tol, ..self.clone() })
    }

    fn targets(&self) -> &'static [TargetKind] {
        TARGETS
    }

    fn tuned_targets(&self) -> &'static [TargetKind] {
        TARGETS
    }

    fn takes_counts(&self) -> bool {
        self.loss == NumbersLoss::Poisson
    }

    fn held_out_loss(&self, target: &Target, scores: &Matrix) -> Option<(&'static str, f64)> {
        held_out_loss(target, scores, self.loss)
    }

    fn tunes_by_log_loss(&self) -> bool {
        true
    }

    fn by_partitions(&self) -> Option<Box<dyn ByPartitions>> {
        Some(Box::new(self.settings()))
    }
}

impl FitsLogistic for Mklr {
    fn settings(&self) -> Settings {
        Settings::of_mklr(self)
    }
}

impl<M: FitsLogistic> State<M> for Fit {
    type Model = SviMklEnd;

    fn init(method: &M, task: &Task<'_>) -> Result<Fit> {
        begin(task, &method.settings())
    }

    fn again(&self, _: &M, method: &M, task: &Task<'_>) -> Result<Fit> {
        again(task, &method.settings(), self)
    }

    fn check(&self, method: &M, task: &Task<'_>) -> Result<()> {
        check(task, &method.settings(), self)
    }

    fn step(&mut self, method: &M, task: &Task<'_>, control: &Control) -> Result<Progress> {
        step(task, &method.settings(), self, control)
    }

    fn finish(self, method: &M, task: &Task<'_>) -> Result<SviMklEnd> {
        finish(task, &method.settings(), self)
    }
}

/// Whether fewer than two classes have rows.
fn is_trivial(task: &Task<'_>) -> bool {
    *task.target == Target::Classes && task.labels.counts().iter().filter(|&&count| count > 0).count() < 2
}

/// The objective to maximise. The seed arranges the nodes: each kernel visits all its levels in its own order.
fn objective<'a>(task: &Task<'a>, settings: &Settings, clip: Clip) -> Result<Objective<'a>> {
    let points = match settings.points(task.n_samples()) {
        n if n == task.n_samples() => (0..n).collect(),
        n => draw_landmarks(task, n),
    };
    on_points(task, settings, clip, (Loss::new(task, settings.loss), n_functions(task)), points)
}

/// The same with these targets and points.
fn on_points<'a>(
    task: &Task<'a>,
    settings: &Settings,
    clip: Clip,
    (loss, n_functions): (Loss, usize),
    points: Vec<usize>,
) -> Result<Objective<'a>> {
    let stack = task.stack()?;
    let n_kernels = stack.n_kernels();
    let distribution =
        WeightDistribution::new(settings.family, if settings.ascent { ASCENT_LEVELS } else { settings.nodes });
    let layout = Layout {
        n_points: points.len(),
        n_functions,
        n_kernels,
        intercept: settings.intercept && loss.has_intercepts(),
        weighted: settings.prior != Prior::Fixed,
        shaped: distribution.has_shape(),
    };
    let mut places = Vec::with_capacity(n_kernels * distribution.levels());
    for d in 0..n_kernels {
        let mut order: Vec<usize> = (0..distribution.levels()).collect();
        task.rng(ARRANGE + d as u64, 0).shuffle(&mut order);
        places.extend(order);
    }
    let (prior, lambda) = (settings.prior, settings.lambda);
    Ok(Objective { layout, distribution, prior, lambda, loss, points, places, clip, stack, pool: task.pool })
}

fn begin(task: &Task<'_>, settings: &Settings) -> Result<Fit> {
    let stack = task.stack()?;
    if stack.n_kernels() == 0 {
        return Err(Error::input("there is no kernel to weigh"));
    }
    if let Target::Times(times) = task.target {
        check_times(times, settings)?;
    }
    if !settings.ascent {
        fits_memory(&objective(task, settings, Clip::default())?)?;
    }
    let clip = Clip::new(task, settings.clip, &|| false)?;
    if !clip.kernels.is_empty() && settings.points(task.n_samples()) < task.n_samples() {
        return Err(Error::param(
            "indefinite",
            "clipping needs all rows as points; leave out the kernel with negative eigenvalues, or set landmarks to the number of rows",
        ));
    }
    let objective = objective(task, settings, clip)?;
    let x = first_point(&objective, settings, |c| objective.loss.first_intercept(c));
    let Layout { n_functions, n_kernels, .. } = objective.layout;
    let outputs = vec![0.0; n_functions * task.n_samples() * n_kernels];
    if settings.ascent {
        return objective.begin(x, outputs, &Passes::new(&objective)?);
    }
    let mut between = Cache::default();
    let passes = Passes::kept(&objective, &mut between)?;
    Ok(Fit { between, ..objective.begin(x, outputs, &passes)? })
}

/// Where steps begin: no function but these intercepts.
fn first_point(objective: &Objective<'_>, settings: &Settings, intercept: impl Fn(usize) -> f64) -> Vec<f64> {
    let mut x = vec![0.0; objective.layout.size()];
    // As published, the kernels together start as their mean; times 1/delta, so that the path, too, depends on lambda
    // delta alone.
    let rate = if let Prior::Gamma { rate, .. } = settings.prior { rate } else { 1.0 };
    for (c, place) in objective.layout.intercepts().enumerate() {
        x[place] = intercept(c);
    }
    x[objective.layout.means()].fill(-ln(rate * objective.layout.n_kernels as f64));
    x[objective.layout.shapes()].fill(objective.distribution.first_shape());
    x
}

/// Checks that something can be learned from times, and with these settings.
fn check_times(times: &Times, settings: &Settings) -> Result<()> {
    if times.n_events() == 0 {
        return Err(Error::input("no training row has an event; nothing can be learned from censored rows alone"));
    }
    if settings.ascent && settings.batch != 0 {
        return Err(Error::param(
            "batch",
            "the partial likelihood of times is no sum over rows, so a batch cannot stand for the others; leave it at 0",
        ));
    }
    Ok(())
}

/// Whether the steps fit into memory beside the kernels.
fn fits_memory(objective: &Objective<'_>) -> Result<()> {
    let (need, limit) = (objective.bytes(), objective.stack.room());
    if need <= limit {
        return Ok(());
    }
    let (m, n) = (objective.points.len(), objective.loss.n_rows());
    Err(Error::Memory {
        what: format!("the curvature between {m} points and {n} rows, and outputs of all kernels at them"),
        need,
        limit,
        help: message!["set landmarks to fewer rows, or raise ", Remedy::Memory],
    })
}

/// Warm start from the end of a run with other parameters.
fn again(task: &Task<'_>, settings: &Settings, earlier: &Fit) -> Result<Fit> {
    let Some(clip) = earlier.clip.0.clone().filter(|_| !settings.ascent) else { return begin(task, settings) };
    let objective = objective(task, settings, clip)?;
    if earlier.x.len() != objective.layout.size() {
        return begin(task, settings);
    }
    let mut between = earlier.between.clone();
    let passes = Passes::kept(&objective, &mut between)?;
    Ok(Fit { between, ..objective.begin(earlier.x.clone(), earlier.outputs.clone(), &passes)? })
}

fn check(task: &Task<'_>, settings: &Settings, state: &Fit) -> Result<()> {
    let objective = objective(task, settings, Clip::default())?;
    let n = task.n_samples();
    check_fit(state, objective.layout, (n, n))
}

/// Checks the arrays of a state: outputs of so many rows, and their curvature at so many.
fn check_fit(state: &Fit, layout: Layout, (n, n_curved): (usize, usize)) -> Result<()> {
    let size = layout.size();
    let memory = state.memory.steps.len() == state.memory.changes.len()
        && state.memory.steps.iter().chain(&state.memory.changes).all(|vector| vector.len() == size);
    let others = layout.intercepts().len() + layout.means().len() + layout.shapes().len();
    let basis = state.basis.means.is_empty()
        || state.basis.means.len() == layout.n_kernels
            && state.basis.curvature.len() == n_curved
            && state.basis.others.len() == others;
    let fits = state.x.len() == size
        && state.gradient.len() == size
        && state.outputs.len() == layout.n_functions * n * layout.n_kernels
        && state.curvature.len() == n_curved
        && !state.losses.is_empty()
        && (state.moments.is_empty() || state.moments.len() == 3 * size)
        && memory
        && basis;
    if fits { Ok(()) } else { Err(misfit()) }
}

fn step(task: &Task<'_>, settings: &Settings, state: &mut Fit, control: &Control) -> Result<Progress> {
    if is_trivial(task) {
        return Ok(Progress::of(1, 1));
    }
    let stop = || control.stop().is_some();
    if state.clip.0.is_none() {
        state.clip = Cache(Some(Clip::new(task, settings.clip, &stop)?));
    }
    let mut objective = objective(task, settings, state.clip.0.clone().unwrap_or_default())?;
    if settings.ascent {
        objective.ascend(task, settings, state)?;
    } else {
        let passes = Passes::kept(&objective, &mut state.between)?;
        objective.climb(state, settings.tol, &passes, &stop)?;
    }
    let taken = state.losses.len() - 1;
    let done = if state.converged { settings.iterations } else { taken.min(settings.iterations) };
    Ok(Progress::of(done, settings.iterations).with("bound", -state.losses[taken]))
}

fn finish(task: &Task<'_>, settings: &Settings, state: Fit) -> Result<SviMklEnd> {
    if is_trivial(task) {
        return Ok(SviMklEnd::Classes(LogisticModel::of_one_class(task, task.stack()?.n_kernels())));
    }
    let mut objective = objective(task, settings, state.clip.0.clone().unwrap_or_default())?;
    let taken = state.losses.len() - 1;
    let size = objective.layout.size();
    let averaged = settings.ascent && !settings.plain && taken > settings.iterations - settings.iterations / 4;
    let x = if averaged { state.moments[2 * size..].to_vec() } else { state.x.clone() };
    let outputs = if settings.ascent {
        objective.draw_places(task, ASCENT_LEVELS, settings.iterations);
        let all: Vec<usize> = (0..task.n_samples()).collect();
        let between = objective.stack.unstoppable().between(&all, &objective.points)?;
        objective.outputs(&x[objective.layout.samples()], &between)?
    } else {
        state.outputs.clone()
    };
    let value = objective.value_on_all(&x, &outputs);
    // The scale is corrected between steps, so the gap after the last step says more than the one where a run was
    // stopped.
    let gap = if state.gap.is_infinite() { objective.identity_gap(&x, &value.lengths) } else { state.gap };
    let mut told = facts(&objective, taken, value.loss, gap);
    let model = if let Target::Classes = task.target {
        SviMklEnd::Classes(LogisticModel::new(task, &objective, &x)?)
    } else {
        let functions = objective.mean_functions(&x, &outputs);
        told.extend(objective.loss.facts(&functions));
        SviMklEnd::Functions(FunctionsModel::new(&objective, &x, objective.loss.baseline(&functions)))
    };
    Ok(model.with(told, warning(settings, &state, gap)))
}

fn facts(objective: &Objective<'_>, taken: usize, loss: f64, gap: f64) -> Vec<(String, String)> {
    let (name, over) = match objective.distribution.family {
        Family::Point => ("penalised log likelihood", String::new()),
        _ => ("lower bound", format!(" over {} nodes", objective.places.len() / objective.layout.n_kernels)),
    };
    let mut facts = vec![
        ("points".into(), objective.points.len().to_string()),
        (name.into(), format!("{:.4}{over}, steps taken {taken}", -loss)),
    ];
    if objective.prior != Prior::Fixed {
        facts.push(("scale identity".into(), format!("off by {gap:.1e}, 0 at an optimum")));
    }
    for (d, _, values) in &objective.clip.kernels {
        let least = values.iter().copied().fold(0.0, f64::min);
        let text = format!("{} negative eigenvalues down to {least:.1e} taken away", values.len());
        facts.push((format!("kernel {}", d + 1), text));
    }
    facts
}

fn warning(settings: &Settings, state: &Fit, gap: f64) -> Option<String> {
    let taken = state.losses.len() - 1;
    if settings.ascent {
        return (taken >= settings.iterations && gap.abs() > 1.0).then(|| {
            format!(
                "the stochastic ascent has not converged: the scale identity is off by {gap:.2}; raise iterations, or use solver=lbfgs"
            )
        });
    }
    if state.converged && gap.abs() >= IDENTITY {
        return Some(format!(
            "no step raises the bound any more, but the scale identity is off by {gap:.1e} (allowed {IDENTITY}): rounding; bring lambda \
             and delta nearer to their defaults, or kernels to a diagonal of 1"
        ));
    }
    if state.converged || taken < settings.iterations {
        return None;
    }
    let rise = match state.losses[..] {
        [.., before, last] => before - last,
        _ => f64::NAN,
    };
    Some(format!(
        "not converged after {taken} steps: the last raised the bound by {rise:.1e}, the scale identity is off by {gap:.1e} (allowed \
         {IDENTITY}); raise iterations"
    ))
}
