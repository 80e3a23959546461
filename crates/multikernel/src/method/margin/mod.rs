//! Kernel weights that minimise the SVM's own objective: `simplemkl`, `silp`, `level`, `lpmkl`.
//!
//! All four solve `min over d of J(d)`, where `J(d) = sum_p max_a 1'a - 1/2 b'(sum_m d_m K_m) b` is the sum of the SVM
//! optima of all two-class problems p (`b = y a`), over the simplex or a p-norm ball. J is convex, and at any d its
//! derivatives are `-1/2 s_m` with the slopes `s_m = sum_p b_p' K_m b_p`: one `project`. They differ in how the next d
//! is found; this file has the rest.
//!
//! Numbers change the machine and nothing else: `J(d) = sum_t max_b y_t'b - epsilon |b|_1 - 1/2 b'(sum_m d_m K_m) b`
//! over the columns t is convex too, with the same derivatives, and so it is with squared loss.
//!
//! On the simplex the kernel may be `(1 - v) sum_m K_m / P + v sum_m d_m K_m` with a `sparsity` v below 1: with more
//! kernels than rows, sparse weights pick by chance and uniform ones cannot pick at all; inner folds decide between the
//! two. J stays convex in d.

mod curvature;
mod cuts;
mod lpmkl;
mod simplemkl;

pub use cuts::{Level, Silp};
pub use lpmkl::LpMkl;
pub use simplemkl::SimpleMkl;

use std::sync::Arc;

use super::ends::{EndModel, SvrModel};
use super::problems::{Cost, Problems};
use super::svc::{EndsInSvc, Svc};
use crate::data::{Target, TargetKind};
use crate::error::{Error, Result};
use crate::file::{Cache, Codec, Record, codes, record};
use crate::linalg::Matrix;
use crate::run::{Control, Progress, State, Status, Task};
use crate::solve::smo;
use crate::stack::Symmetric;

/// [`svc_params!`] with the parameters of a descent: `$first` comes before `gap` and `iterations`.
macro_rules! descent_params {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($first:tt)* }) => {
        svc_params! {
            $(#[$meta])*
            $vis struct $name {
                $($first)*
                /// numbers: the cost of a residual, its size beyond epsilon (support vector regression) or its square
                loss: Loss = Loss::Insensitive, Allowed::OneOf(Loss::WORDS);
                /// numbers: residuals up to this cost nothing, in standard deviations of the target
                epsilon: f64 = 0.1, Allowed::Number(0.0, 10.0);
                /// stop when the duality gap of the kernel weights is at most this part of the objective
                gap: f64 = 0.001, Allowed::Positive;
                /// most steps of the kernel weights
                iterations: usize = 1000, Allowed::Whole(1, 1_000_000);
            }
        }
    };
}
use descent_params;

/// [`descent_params!`] for the methods on the simplex.
macro_rules! simplex_params {
    ($(#[$meta:meta])* $vis:vis struct $name:ident;) => {
        descent_params! {
            $(#[$meta])*
            $vis struct $name {
                /// share of the weights that is learned, the rest is uniform: 1 is sparse, 0 is average; auto chooses
                /// among 0, 0.5, 0.9, 1
                sparsity: f64 = 1.0, Allowed::NumberOrAuto(0.0, 1.0, &[0.0, 0.5, 0.9, 1.0]);
            }
        }
    };
}
use simplex_params;

/// A weight below this fraction of the largest is noise of a solver that stays inside the simplex, and is set to 0.
const NEGLIGIBLE: f64 = 1e-6;

record! {
    /// The SVMs at given kernel weights: dual variables, objective and slopes.
    #[derive(Clone, Debug, Default)]
    pub struct Point {
        weights: Vec<f64>,
        alpha: Vec<f64>,
        bias: Vec<f64>,
        /// How far each two-class problem is from satisfying its optimality conditions.
        missed: Vec<f64>,
        /// The sum of the SVMs' dual objectives, and how far J may be above it because they are not exact.
        objective: f64,
        excess: f64,
        slopes: Vec<f64>,
    }
}

/// J and its slopes for one task.
pub struct Objective<'a> {
    task: &'a Task<'a>,
    control: &'a Control,
    /// Tolerance of the SVMs.
    tolerance: f64,
    sparsity: f64,
    /// The fixed part of the kernel.
    uniform: Option<Arc<Matrix>>,
    problems: Problems,
    trainable: Vec<usize>,
}

impl<'a> Objective<'a> {
    fn new(task: &'a Task<'a>, params: &DescentParams, control: &'a Control, run: &Common) -> Result<Self> {
        let problems = params.problems(task)?;
        let trainable = (0..problems.len()).filter(|&p| problems.is_trainable(p)).collect();
        let (tolerance, uniform) = (run.tolerance, run.uniform.0.clone());
        Ok(Objective { task, control, tolerance, sparsity: params.sparsity, uniform, problems, trainable })
    }

    /// The kernel at these weights.
    fn combine(&self, weights: &[f64]) -> Result<Matrix> {
        let learned = Matrix::from_fn(weights.len(), 1, |m, _| self.sparsity * weights[m]);
        let mut gram = self.task.stack()?.combine(&learned, self.task.pool)?.remove(0);
        if let Some(uniform) = &self.uniform {
            gram.data_mut().iter_mut().zip(uniform.data()).for_each(|(sum, value)| *sum += value);
        }
        Ok(gram)
    }

    /// The SVMs on a combined kernel, warm-started from other dual variables; without slopes.
    fn solve(&self, weights: Vec<f64>, gram: &Matrix, start: &[f64]) -> Result<Point> {
        let options = smo::Options { tolerance: self.tolerance, ..Default::default() };
        let solved = self.problems.solve(&self.trainable, gram.into(), start, &options, self.task, self.control)?;
        let solved = solved.ok_or_else(|| Error::Stopped("stopped while an SVM was solved".into()))?;
        let n = self.problems.len();
        let mut point = Point {
            weights,
            alpha: vec![0.0; self.problems.size()],
            bias: vec![0.0; n],
            missed: vec![0.0; n],
            ..Point::default()
        };
        for (&p, solution) in self.trainable.iter().zip(solved) {
            point.alpha[self.problems.range(p)].copy_from_slice(&solution.alpha);
            (point.bias[p], point.missed[p]) = (solution.bias, solution.gap);
            point.objective -= solution.objective;
            point.excess += solution.duality_gap;
        }
        Ok(point)
    }

    /// `sum_p b_p' K b_p` for one matrix.
    fn slope(&self, point: &Point, gram: &Matrix) -> Result<f64> {
        let coef = self.problems.coefficients(&point.alpha).to_matrix().transposed();
        let of_row = |i: usize| {
            let row = gram.row(i);
            coef.rows().filter(|b| b[i] != 0.0).map(|b| b[i] * crate::linalg::dot(row, b)).sum::<f64>()
        };
        Ok(self.task.pool.map(gram.n_rows(), of_row).iter().sum())
    }

    /// Computes the slopes of some of the kernels; the others keep their slopes at another point.
    fn with_slopes(&self, mut point: Point, kernels: &[usize], others: &[f64]) -> Result<Point> {
        let coef = self.problems.coefficients(&point.alpha).to_matrix();
        let stack = self.task.stack()?.pick(kernels)?;
        let slopes = stack.project(&[Symmetric::Factored(&coef, &coef)], self.task.pool)?;
        point.slopes = others.to_vec();
        kernels.iter().zip(slopes.data()).for_each(|(&m, slope)| point.slopes[m] = self.sparsity * slope);
        Ok(point)
    }

    /// The slopes of all kernels.
    fn with_all_slopes(&self, point: Point) -> Result<Point> {
        let n = point.weights.len();
        self.with_slopes(point, &(0..n).collect::<Vec<_>>(), &vec![0.0; n])
    }

    /// The SVMs at these weights, with all slopes.
    fn at(&self, weights: Vec<f64>, start: &[f64]) -> Result<Point> {
        let gram = self.combine(&weights)?;
        self.with_all_slopes(self.solve(weights, &gram, start)?)
    }
}

/// Parameters shared by all four methods.
pub struct DescentParams {
    svc: Svc,
    /// The learned share of the weights.
    sparsity: f64,
    cost: Cost,
    gap: f64,
    iterations: usize,
}

impl DescentParams {
    /// The SVMs for the task's target.
    fn problems(&self, task: &Task<'_>) -> Result<Problems> {
        match task.target {
            Target::Numbers(numbers) => Ok(Problems::of_numbers(numbers, self.svc.c, self.cost)),
            _ => Problems::new(task, &self.svc),
        }
    }
}

/// The targets of the methods in this folder.
const TARGETS: &[TargetKind] = &[TargetKind::Classes, TargetKind::Numbers];

/// A method in this folder.
pub trait Descends: EndsInSvc {
    /// The solver that finds the next weights.
    type Solver: Descend;

    /// Its parameters.
    fn descent(&self) -> DescentParams;
    /// Its solver before the first point.
    fn solver(&self) -> Self::Solver;
}

/// A solver that finds the next weights.
pub trait Descend: Codec + Clone + Send + 'static {
    /// Whether the weights of another run are a good start: not if a weight of 0 stays 0.
    const FROM_ANY_WEIGHTS: bool;
    /// Whether a stored state is one of so many kernels after its first point, or, with none, one before it.
    fn fits(&self, _n_kernels: Option<usize>) -> bool {
        true
    }
    /// Observes a point before its gap is computed.
    fn see(&mut self, _point: &Point) {}
    /// Upper bound on `J(d) - J*`, relative to `J(d)`.
    fn gap(&self, best: &Point) -> f64;
    /// One more iteration; `None` if no better point can be found within the accuracy of the SVMs.
    fn next(&mut self, objective: &Objective<'_>, best: &Point) -> Result<Option<Point>>;
}

codes! {
    /// Whether a descent continues, and if not, why.
    enum DescentStatus {
        Running = 0,
        Converged = 1,
        Stuck = 2,
        OutOfSteps = 3,
    }
}

record! {
    /// The solver-independent state of a run.
    #[derive(Clone, Debug)]
    struct Common {
        best: Point,
        gap: f64,
        /// Current tolerance of the SVMs: `tol` at first.
        tolerance: f64,
        n_steps: usize,
        status: DescentStatus,
        uniform: Cache<Arc<Matrix>>,
    }
}

/// State of a run: the best point so far and the solver's state.
#[derive(Clone, Debug)]
pub struct Descent<S> {
    run: Common,
    solver: S,
}

impl<S: Descend> Codec for Descent<S> {
    fn encode(&self) -> Record {
        let mut record = self.run.encode();
        record.put("solver", &self.solver);
        record
    }

    fn decode(record: &Record) -> Result<Self> {
        Ok(Descent { run: Common::decode(record)?, solver: record.take("solver")? })
    }
}

impl<M: Descends> State<M> for Descent<M::Solver> {
    type Model = EndModel;

    fn init(method: &M, task: &Task<'_>) -> Result<Self> {
        let params = method.descent();
        params.problems(task)?;
        task.stack()?;
        let (best, tolerance, uniform) = (Point::default(), params.svc.tol, Cache(None));
        let run = Common { best, gap: f64::INFINITY, tolerance, n_steps: 0, status: DescentStatus::Running, uniform };
        Ok(Descent { run, solver: method.solver() })
    }

    /// Warm start from the weights and dual variables of another run.
    fn again(&self, _: &M, method: &M, task: &Task<'_>) -> Result<Self> {
        let mut again = Self::init(method, task)?;
        if self.run.best.alpha.len() == method.descent().problems(task)?.size() {
            again.run.best.alpha.clone_from(&self.run.best.alpha);
            if M::Solver::FROM_ANY_WEIGHTS {
                again.run.best.weights.clone_from(&self.run.best.weights);
            }
        }
        Ok(again)
    }

    fn check(&self, method: &M, task: &Task<'_>) -> Result<()> {
        let problems = method.descent().problems(task)?;
        let (p, best) = (task.stack()?.n_kernels(), &self.run.best);
        let is_begun = self.run.n_steps > 0;
        let fits = !is_begun
            || [best.weights.len(), best.slopes.len()] == [p; 2]
                && best.alpha.len() == problems.size()
                && [best.bias.len(), best.missed.len()] == [problems.len(); 2];
        let fits = fits && self.solver.fits(is_begun.then_some(p));
        if fits { Ok(()) } else { Err(Error::input("the checkpoint's arrays do not fit the data; start anew")) }
    }

    fn step(&mut self, method: &M, task: &Task<'_>, control: &Control) -> Result<Progress> {
        self.advance(task, &method.descent(), control)
    }

    fn finish(self, method: &M, task: &Task<'_>) -> Result<EndModel> {
        self.model(task, &method.descent())
    }
}

impl<S: Descend> Descent<S> {
    /// First the SVMs at uniform weights, or at those of an earlier run; then one step of the weights at a time.
    fn advance(&mut self, task: &Task<'_>, params: &DescentParams, control: &Control) -> Result<Progress> {
        if params.sparsity < 1.0 {
            self.run.uniform.get_or_make(|| uniform(task, params))?;
        }
        let objective = Objective::new(task, params, control, &self.run)?;
        let mut after = self.clone();
        if self.run.n_steps == 0 {
            after.run.best = self.first(&objective)?;
            after.solver.see(&after.run.best);
        } else {
            match after.solver.next(&objective, &self.run.best)? {
                Some(next) => {
                    after.solver.see(&next);
                    if next.objective <= after.run.best.objective {
                        after.run.best = next;
                    }
                }
                None => after.sharpen(task, params, control)?,
            }
        }
        after.run.n_steps += 1;
        after.run.gap = after.solver.gap(&after.run.best);
        let wanted = params.gap;
        let coarse = after.run.best.excess > 0.3 * wanted * after.run.best.objective.abs();
        if after.run.gap > wanted && coarse && after.can_sharpen(params) {
            after.sharpen(task, params, control)?;
            after.run.gap = after.solver.gap(&after.run.best);
        }
        let missed = relative(0.0, &after.run.best);
        if after.run.gap <= wanted {
            after.run.status = DescentStatus::Converged;
        } else if missed > 0.3 * wanted && after.run.gap <= 2.0 * missed && !after.can_sharpen(params) {
            // The remaining gain is no more than the SVMs' own error.
            after.run.status = DescentStatus::Stuck;
        } else if after.run.status == DescentStatus::Running && after.run.n_steps >= params.iterations {
            after.run.status = DescentStatus::OutOfSteps;
        }
        if after.run.status != DescentStatus::Running {
            let objective = Objective::new(task, params, control, &after.run)?;
            after.run.best = polished(&objective, after.run.best)?;
        }
        *self = after;
        Ok(self.progress(params))
    }

    fn first(&self, objective: &Objective<'_>) -> Result<Point> {
        let n_kernels = objective.task.stack()?.n_kernels();
        let Point { mut weights, mut alpha, .. } = self.run.best.clone();
        if weights.is_empty() {
            weights = vec![1.0 / n_kernels as f64; n_kernels];
        }
        alpha.resize(objective.problems.size(), 0.0);
        objective.at(weights, &alpha)
    }

    fn can_sharpen(&self, params: &DescentParams) -> bool {
        self.run.tolerance > 2e-6 * params.svc.tol
    }

    /// Tightens the SVM tolerance if it is the limit, down to a millionth of the requested one.
    fn sharpen(&mut self, task: &Task<'_>, params: &DescentParams, control: &Control) -> Result<()> {
        if !self.can_sharpen(params) {
            self.run.status = DescentStatus::Stuck;
            return Ok(());
        }
        self.run.tolerance *= 0.1;
        let objective = Objective::new(task, params, control, &self.run)?;
        self.run.best = objective.at(self.run.best.weights.clone(), &self.run.best.alpha)?;
        self.solver.see(&self.run.best);
        Ok(())
    }

    fn progress(&self, params: &DescentParams) -> Progress {
        let total = params.iterations;
        let mut progress = Progress::of(self.run.n_steps.min(total.saturating_sub(1)), total);
        if self.run.status != DescentStatus::Running {
            progress = Progress { done: self.run.n_steps as u64, total: self.run.n_steps as u64, ..progress };
            progress.status = Status::Finished;
        }
        progress.with("objective", self.run.best.objective).with("gap", self.run.gap)
    }

    fn model(self, task: &Task<'_>, params: &DescentParams) -> Result<EndModel> {
        let problems = params.problems(task)?;
        let warnings = self.warnings(params);
        let trained = (0..problems.len()).filter(|&p| problems.is_trainable(p)).collect();
        let Point { weights, alpha, bias, objective, excess, .. } = self.run.best;
        // The upper bound on J: the dual objective may be below the optimum.
        let objective = objective + excess;
        let (learned, rest) = (params.sparsity, (1.0 - params.sparsity) / weights.len().max(1) as f64);
        let weights = weights.iter().map(|weight| learned * weight + rest).collect();
        let machine = match task.target {
            Target::Numbers(_) => EndModel::Svr(SvrModel::new(weights, &problems.coefficients(&alpha), bias)),
            _ => EndModel::Svm(problems.machine(weights, &alpha, bias).with_trained(trained)),
        };
        let machine = warnings.into_iter().fold(machine, |machine, warning| machine.with_warning(Some(warning)));
        let (gap, n_steps) = (self.run.gap, self.run.n_steps);
        let above = format!("{}, at most {gap:.1e} of it above the optimum", figure(objective));
        Ok(machine
            .with_facts(vec![("objective".into(), above), ("steps of the kernel weights".into(), n_steps.to_string())]))
    }

    fn warnings(&self, params: &DescentParams) -> Vec<String> {
        let (gap, wanted) = (self.run.gap, params.gap);
        let weights = (self.run.status != DescentStatus::Converged).then(|| {
            let (why, help) = match self.run.status {
                DescentStatus::Stuck => ("the SVMs are not exact enough to go on", "use a smaller tol or a larger gap"),
                DescentStatus::OutOfSteps => ("all iterations were made", "allow more iterations or a larger gap"),
                _ => ("the run was stopped", "give it more time or a larger gap"),
            };
            format!(
                "the kernel weights did not converge, {why}: the objective may be {gap:.1e} of itself above its optimum, \
                 asked was {wanted:.1e}; {help}"
            )
        });
        let (missed, tol) = (self.run.best.missed.iter().copied().fold(0.0, f64::max), params.svc.tol);
        let svms = (missed > tol).then(|| {
            format!("an SVM holds its optimality conditions to {missed:.1e}, asked was {tol}; use a smaller c")
        });
        let negative =
            self.run.best.slopes.iter().filter(|&&slope| slope < -1e-9 * self.run.best.objective.abs()).count();
        let indefinite = (negative > 0).then(|| {
            format!("kernels that are not positive semi-definite: {negative}; the weights found need not be the best")
        });
        weights.into_iter().chain(svms).chain(indefinite).collect()
    }
}

/// The fixed part of the kernel.
fn uniform(task: &Task<'_>, params: &DescentParams) -> Result<Arc<Matrix>> {
    let stack = task.stack()?;
    let share = (1.0 - params.sparsity) / stack.n_kernels() as f64;
    let weights = Matrix::from_fn(stack.n_kernels(), 1, |_, _| share);
    Ok(Arc::new(stack.combine(&weights, task.pool)?.remove(0)))
}

/// The point without weights that are noise. Each is less than 1e-6 of the largest, so the objective changes by less
/// than any requested gap, and prediction need not evaluate these kernels.
fn polished(objective: &Objective<'_>, best: Point) -> Result<Point> {
    let largest = best.weights.iter().copied().fold(0.0, f64::max);
    let noise = |&weight: &f64| weight > 0.0 && weight < NEGLIGIBLE * largest;
    if !best.weights.iter().any(&noise) {
        return Ok(best);
    }
    let weights: Vec<f64> = best.weights.iter().map(|weight| if noise(weight) { 0.0 } else { *weight }).collect();
    let (before, after): (f64, f64) = (best.weights.iter().sum(), weights.iter().sum());
    objective.at(weights.iter().map(|weight| weight * before / after).collect(), &best.alpha)
}

/// The duality gap on the simplex: the current dual variables bound J from below at every other point.
fn simplex_gap(point: &Point) -> f64 {
    let largest = point.slopes.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    relative(0.5 * (largest - crate::linalg::dot(&point.weights, &point.slopes)), point)
}

/// How far J at a point may be above its optimum, relative to J: the gap plus the SVMs' own error. J is never below 0,
/// so the result is at most 1.
fn relative(gap: f64, point: &Point) -> f64 {
    let gap = gap.max(0.0) + point.excess;
    if gap <= 0.0 { 0.0 } else { (gap / (point.objective + point.excess).abs().max(f64::MIN_POSITIVE)).min(1.0) }
}

/// Formats a number for display.
fn figure(value: f64) -> String {
    if value == 0.0 || (1e-3..1e9).contains(&value.abs()) { format!("{value:.6}") } else { format!("{value:.6e}") }
}
