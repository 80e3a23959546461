//! The duals of the two-class support vector machine and of support vector regression, by sequential minimal
//! optimisation.
//!
//! The pair to move is chosen by second-order gain (Fan, Chen, Lin 2005, "Working set selection using second order
//! information", WSS 3); variables stuck at a bound are set aside and checked again before convergence is declared.
//!
//! Inside, the labels are folded into the variables: with `b_i = y_i a_i` the dual reads
//!
//! ```text
//! min 1/2 b'Kb - y'b,   sum b = 0,   lo_i <= b_i <= hi_i   ([0, u_i] for y_i = +1, [-u_i, 0] for y_i = -1)
//! ```
//!
//! so kernel rows are used as they are, and the residual `r = y - Kb` is all the state there is: `b_i` may go up where
//! it is below `hi_i`, down where it is above `lo_i`, and the optimum is where no residual of the first kind exceeds
//! one of the second: `m = max_up r <= M = min_low r`.
//!
//! Regression with an insensitive zone of half width epsilon has the same form, with the numbers in place of the labels,
//! a box on both sides of 0, and a cost of the absolute value:
//!
//! ```text
//! min 1/2 b'Kb - y'b + epsilon sum |b|,   sum b = 0,   -u_i <= b_i <= u_i
//! ```
//!
//! The kink at 0 makes no second variable per row, as in LIBSVM, but a second offset: a variable at or above 0 gains
//! `r - epsilon` per unit up, one below it `r + epsilon`, and the same for down with the sides of 0 exchanged. A step
//! ends at the kink, from which the next one may go on. A label is a number with epsilon 0 and half a box.

use super::leap::{self, Face};
use super::pass::{self, Peak, Width, larger, smaller};
pub use super::rows::Gram;
use super::rows::GramRows;
use crate::error::{Error, Result};
use crate::linalg::axpy;

/// Iterations between two checks for cancellation and for non-finite numbers.
const POLL: u64 = 256;
/// Iterations between two attempts to set variables aside, or the number of variables if that is less (as LIBSVM).
const SHRINK_EVERY: usize = 1000;
/// Setting aside pays for gathering shorter rows only when at most this fraction of the variables remains.
const SHRINK_TO: f64 = 0.5;
/// Iterations, as a multiple of the number of variables, after which leaps start: most problems are solved by then.
const LEAP_FROM: u64 = 4;
/// If the two classes of a start differ in weight by no more than this fraction, single variables are corrected, so
/// that variables at their bounds stay there; beyond it the heavier class is scaled down as a whole.
const ROUNDING: f64 = 1e-9;

/// One two-class problem on a view of a Gram matrix: `min 1/2 a'Qa - 1'a`, `Q_ij = y_i y_j K_ij`,
/// `0 <= a_i <= upper_i`, `y'a = 0`.
///
/// Views cost nothing to create. Rows of a view that is a contiguous range are read in place; for other views the rows
/// the solver touches are gathered on first use, into at most 128 MiB (256 MiB while variables are set aside).
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// The whole Gram matrix, symmetric (not checked), `n x n`.
    pub gram: Gram<'a>,
    /// The rows (and columns) of `gram` in the problem, in any order.
    pub rows: &'a [usize],
    /// For each row of the view: true for the class `y = +1`.
    pub positive: &'a [bool],
    /// For each row of the view: the bound of its dual variable; zero leaves the sample out.
    pub upper: &'a [f64],
}

/// Support vector regression on a view of a Gram matrix: `min 1/2 b'Kb - y'b + epsilon sum |b|`, `|b_i| <= upper_i`,
/// `sum b = 0`, the dual of `min 1/2 |w|^2 + sum_i upper_i max(0, |y_i - f(x_i)| - epsilon)`. Views are as in
/// [`Problem`].
#[derive(Clone, Copy, Debug)]
pub struct Regression<'a> {
    /// The whole Gram matrix, symmetric (not checked), `n x n`.
    pub gram: Gram<'a>,
    /// The rows (and columns) of `gram` in the problem, in any order.
    pub rows: &'a [usize],
    /// For each row of the view: its number y.
    pub values: &'a [f64],
    /// For each row of the view: the bound of its dual variable; zero leaves the sample out.
    pub upper: &'a [f64],
    /// Residuals up to this cost nothing.
    pub epsilon: f64,
}

/// Accuracy and iteration limit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Stop when the violation `m - M` of the optimality conditions is at most this; LIBSVM's `eps`.
    pub tolerance: f64,
    /// Set variables aside while they are stuck at a bound: faster on large problems, same optimum.
    pub shrinking: bool,
    /// If iterations are many, move all variables inside their boxes at once now and then: several times fewer
    /// iterations if the kernel is of low rank and bounds are high, and different digits beyond the tolerance. For
    /// problems of at most some hundred rows.
    pub leaps: bool,
    /// Maximum number of iterations.
    pub max_iter: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { tolerance: 1e-3, shrinking: true, leaps: false, max_iter: 10_000_000 }
    }
}

/// The point reached; always feasible.
#[derive(Clone, Debug, PartialEq)]
pub struct SmoSolution {
    /// Dual variables, one per row of the view; of a regression the signed `b`.
    pub alpha: Vec<f64>,
    /// The constant of `f(x) = sum_i alpha_i y_i k(x_i, x) + bias` (of a regression `sum_i b_i k(x_i, x) + bias`): the
    /// mean over variables strictly inside their box, or the middle of the allowed interval if there are none.
    pub bias: f64,
    /// `1/2 a'Qa - 1'a`, or `1/2 b'Kb - y'b + epsilon sum |b|`.
    pub objective: f64,
    /// Iterations of this call.
    pub n_iter: u64,
    /// The violation `m - M` of the optimality conditions over all variables, zero where they hold.
    pub gap: f64,
    /// The primal objective at `bias` minus the dual one: the optimum is at most this far above `-objective`.
    pub duality_gap: f64,
    /// Whether `gap` came within the tolerance.
    pub converged: bool,
}

/// Solves the problem, from zero or from `start`; `None` if `cancelled` returned true.
///
/// A start need not be feasible: it is clipped to the boxes and its heavier class is lowered until `y'a = 0`. To work
/// in slices, limit `max_iter` and restart from the returned `alpha`; each start costs one kernel row per non-zero
/// variable. One iteration costs two passes over the view; `cancelled` is polled every few hundred. It runs on the
/// calling thread alone, and the result is the same on every machine, bit for bit.
///
/// An indefinite matrix is allowed: the objective still falls at every iteration, but the point reached need not be the
/// global minimum.
///
/// # Errors
/// Mismatched shapes, bounds or starts that are negative or not finite, fewer than two classes with a positive bound,
/// and non-finite values of the Gram matrix. The last are checked where the solution depends on them: on the diagonal
/// and in every kernel row used.
///
/// ```
/// use multikernel::Matrix;
/// use multikernel::solve::smo::{Options, Problem, solve};
/// // Points -1, 0, 2 on the line with the linear kernel; the last two are positive.
/// let x = [-1.0, 0.0, 2.0];
/// let gram = Matrix::from_fn(3, 3, |i, j| x[i] * x[j]);
/// let problem = Problem { gram: (&gram).into(), rows: &[0, 1, 2], positive: &[false, true, true], upper: &[10.0; 3] };
/// let solution = solve(&problem, &Options::default(), None, &|| false)?.expect("not cancelled");
/// // The margin lies between -1 and 0: f(x) = 2 x + 1.
/// assert!(solution.converged);
/// assert!((solution.alpha[0] - 2.0).abs() < 1e-3 && (solution.bias - 1.0).abs() < 1e-3);
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn solve(
    problem: &Problem,
    options: &Options,
    start: Option<&[f64]>,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Option<SmoSolution>> {
    let Problem { gram, rows, positive, upper } = *problem;
    check(gram, rows, ("positive", positive.len()), upper, options)?;
    check_classes(problem)?;
    let beta = match start {
        Some(alpha) => feasible(upper, alpha, positive)?,
        None => vec![0.0; rows.len()],
    };
    let mut solution = descended(&problem.dual(), beta, options, cancelled)?;
    if let Some(solution) = &mut solution {
        solution.alpha.iter_mut().for_each(|b| *b = b.abs());
    }
    Ok(solution)
}

/// Solves a regression, as [`solve`] does a problem of two classes; a start is a signed `b`.
///
/// # Errors
/// As [`solve`]; also numbers that are not finite, an epsilon that is negative, and no row with a bound above 0.
///
/// ```
/// use multikernel::Matrix;
/// use multikernel::solve::smo::{Options, Regression, solve_regression};
/// // Points 0, 1, 2 on the line with the linear kernel, y = 2 x, at most 0.1 off.
/// let x = [0.0, 1.0, 2.0];
/// let gram = Matrix::from_fn(3, 3, |i, j| x[i] * x[j]);
/// let values = [0.0, 2.0, 4.0];
/// let problem = Regression { gram: (&gram).into(), rows: &[0, 1, 2], values: &values, upper: &[10.0; 3], epsilon: 0.1 };
/// let solution = solve_regression(&problem, &Options::default(), None, &|| false)?.expect("not cancelled");
/// // The flattest line within 0.1 of all three: f(x) = 1.9 x + 0.1.
/// let slope: f64 = solution.alpha.iter().zip(x).map(|(b, x)| b * x).sum();
/// assert!((slope - 1.9).abs() < 1e-3 && (solution.bias - 0.1).abs() < 1e-3);
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn solve_regression(
    problem: &Regression,
    options: &Options,
    start: Option<&[f64]>,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Option<SmoSolution>> {
    let Regression { gram, rows, values, upper, .. } = *problem;
    check(gram, rows, ("values", values.len()), upper, options)?;
    check_numbers(problem)?;
    let beta = match start {
        Some(beta) => {
            let positive: Vec<bool> = beta.iter().map(|&b| b > 0.0).collect();
            feasible(upper, &beta.iter().map(|b| b.abs()).collect::<Vec<_>>(), &positive)?
        }
        None => vec![0.0; rows.len()],
    };
    descended(&problem.dual(), beta, options, cancelled)
}

/// What both problems are to the solver: `min 1/2 b'Kb - aim'b + epsilon sum |b|`, each `b` within its bounds, which
/// hold 0.
struct Dual<'a> {
    gram: Gram<'a>,
    rows: &'a [usize],
    aim: Vec<f64>,
    bounds: Vec<(f64, f64)>,
    epsilon: f64,
}

impl<'a> Problem<'a> {
    fn dual(&self) -> Dual<'a> {
        let Problem { gram, rows, positive, upper } = *self;
        let aim = positive.iter().map(|&y| if y { 1.0 } else { -1.0 }).collect();
        let side = |(&y, &u): (&bool, &f64)| if y { (0.0, u) } else { (-u, 0.0) };
        Dual { gram, rows, aim, bounds: positive.iter().zip(upper).map(side).collect(), epsilon: 0.0 }
    }
}

impl<'a> Regression<'a> {
    fn dual(&self) -> Dual<'a> {
        let Regression { gram, rows, values, upper, epsilon } = *self;
        Dual { gram, rows, aim: values.to_vec(), bounds: upper.iter().map(|&u| (-u, u)).collect(), epsilon }
    }
}

/// The optimum, from a feasible point; `alpha` is signed.
fn descended(
    dual: &Dual<'_>,
    beta: Vec<f64>,
    options: &Options,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Option<SmoSolution>> {
    if cancelled() {
        return Ok(None);
    }
    let full = Variables::new(dual, beta)?;
    let mut solver = Solver { full, small: None, moved: Vec::new(), width: Width::detect(), n_iter: 0 };
    if !solver.descend(options, cancelled)? {
        return Ok(None);
    }
    solver.unshrink();
    solver.full.check_finite(solver.full.rows.cols())?;
    Ok(Some(solver.full.solution(options.tolerance, solver.n_iter)))
}

/// Rejects inconsistent input; `given` is what a row has besides its bound.
fn check(gram: Gram<'_>, rows: &[usize], given: (&str, usize), upper: &[f64], options: &Options) -> Result<()> {
    let (n_rows, n_cols) = gram.shape();
    if n_rows != n_cols {
        return Err(Error::input(format!(
            "gram must be square, got {} x {}; give one row and one column per sample",
            n_rows, n_cols
        )));
    }
    for (what, len) in [given, ("upper", upper.len())] {
        if len != rows.len() {
            return Err(Error::input(format!("{what} needs one value for each of the {} rows, got {len}", rows.len())));
        }
    }
    if let Some(row) = rows.iter().find(|&&row| row >= n_rows) {
        return Err(Error::input(format!(
            "rows: found row {row}, but gram has {} rows; use rows counted from 0",
            n_rows
        )));
    }
    if let Some((i, bound)) = upper.iter().enumerate().find(|(_, u)| !u.is_finite() || **u < 0.0) {
        return Err(Error::input(format!("upper[{i}] must be finite and at least 0, got {bound}")));
    }
    if !(options.tolerance > 0.0 && options.tolerance.is_finite()) {
        return Err(Error::param(
            "tolerance",
            format!("must be finite and above 0, got {}; 1e-3 is the default", options.tolerance),
        ));
    }
    Ok(())
}

/// Rejects a problem that lacks a class.
fn check_classes(problem: &Problem) -> Result<()> {
    let Problem { rows, positive, upper, .. } = problem;
    for (class, name) in [(true, "positive"), (false, "negative")] {
        if !positive.iter().zip(*upper).any(|(&p, &u)| p == class && u > 0.0) {
            return Err(Error::input(format!(
                "no {name} sample with a bound above 0 among {} rows; a support vector machine needs both classes",
                rows.len()
            )));
        }
    }
    Ok(())
}

/// Rejects numbers that cannot be fitted.
fn check_numbers(problem: &Regression) -> Result<()> {
    let Regression { rows, values, upper, epsilon, .. } = problem;
    if let Some((i, value)) = values.iter().enumerate().find(|(_, y)| !y.is_finite()) {
        return Err(Error::input(format!("values[{i}] must be finite, got {value}; leave the sample out")));
    }
    if !(epsilon.is_finite() && *epsilon >= 0.0) {
        return Err(Error::param("epsilon", format!("must be finite and at least 0, got {epsilon}; 0.1 is usual")));
    }
    if !upper.iter().any(|&u| u > 0.0) {
        return Err(Error::input(format!("no sample with a bound above 0 among {} rows; raise upper", rows.len())));
    }
    Ok(())
}

/// A start as signed variables, from absolute values and signs: clipped to the boxes, the heavier sign lowered until
/// both weigh the same.
fn feasible(upper: &[f64], start: &[f64], positive: &[bool]) -> Result<Vec<f64>> {
    if start.len() != upper.len() {
        return Err(Error::input(format!(
            "start needs one value for each of the {} rows, got {}",
            upper.len(),
            start.len()
        )));
    }
    if let Some((i, value)) = start.iter().enumerate().find(|(_, a)| !a.is_finite()) {
        return Err(Error::input(format!("start[{i}] must be finite, got {value}; leave the start out to begin at 0")));
    }
    let mut alpha: Vec<f64> = start.iter().zip(upper).map(|(&a, &u)| a.clamp(0.0, u)).collect();
    let weight =
        |alpha: &[f64], class| alpha.iter().zip(positive).filter(|(_, p)| **p == class).map(|(a, _)| a).sum::<f64>();
    let (plus, minus) = (weight(&alpha, true), weight(&alpha, false));
    let heavy = plus > minus;
    if (plus - minus).abs() > ROUNDING * (plus + minus) {
        let factor = plus.min(minus) / plus.max(minus);
        alpha.iter_mut().zip(positive).filter(|(_, p)| **p == heavy).for_each(|(a, _)| *a *= factor);
    }
    // What rounding leaves over is subtracted from variables inside their box, and from the others only if those do not
    // suffice.
    let (plus, minus) = (weight(&alpha, true), weight(&alpha, false));
    let heavy = plus > minus;
    let mut over = (plus - minus).abs();
    for at_bound in [false, true] {
        for ((a, &p), &u) in alpha.iter_mut().zip(positive).zip(upper) {
            if p == heavy && (*a == u) == at_bound {
                let less = over.min(*a);
                *a -= less;
                over -= less;
            }
        }
    }
    Ok(alpha.iter().zip(positive).map(|(&a, &p)| if p { a } else { -a }).collect())
}

/// The active variables, as parallel arrays: all of the view, or those not set aside.
#[derive(Debug)]
struct Variables<'a> {
    /// Kernel rows over these variables.
    rows: GramRows<'a>,
    /// Position in the view of each variable.
    place: Vec<usize>,
    /// `y`: +1 or -1, or a number.
    aim: Vec<f64>,
    /// The cost of the absolute value of `b`.
    epsilon: f64,
    /// `b`, and its box.
    beta: Vec<f64>,
    lo: Vec<f64>,
    hi: Vec<f64>,
    /// `y - Kb`.
    resid: Vec<f64>,
    /// What the kink adds to the residual where `b` goes up, -infinity where it may not: the sum has a maximum over
    /// candidates alone. 0 where there is no kink.
    up: Vec<f64>,
    /// The same where `b` goes down, +infinity where it may not.
    low: Vec<f64>,
    diag: Vec<f64>,
}

impl<'a> Variables<'a> {
    /// All variables of the problem, at the feasible point `beta`.
    fn new(problem: &Dual<'a>, beta: Vec<f64>) -> Result<Self> {
        let n = beta.len();
        let mut variables = Variables {
            rows: GramRows::new(problem.gram, problem.rows.to_vec()),
            place: (0..n).collect(),
            lo: problem.bounds.iter().map(|bounds| bounds.0).collect(),
            hi: problem.bounds.iter().map(|bounds| bounds.1).collect(),
            resid: problem.aim.clone(),
            up: vec![f64::NEG_INFINITY; n],
            low: vec![f64::INFINITY; n],
            diag: problem.rows.iter().map(|&row| problem.gram.get(row, row)).collect(),
            beta: vec![0.0; n],
            aim: problem.aim.clone(),
            epsilon: problem.epsilon,
        };
        if let Some(t) = variables.diag.iter().position(|k| !k.is_finite()) {
            return Err(not_finite(problem.rows[t], problem.rows[t], variables.diag[t]));
        }
        for (t, b) in beta.into_iter().enumerate() {
            variables.move_to(t, b);
        }
        Ok(variables)
    }

    /// Sets variable `t` and the offsets that depend on it, but not the residuals.
    fn set(&mut self, t: usize, beta: f64) {
        self.beta[t] = beta;
        let (at_least_0, above_0) = (beta >= 0.0, beta > 0.0);
        let kink = |is_above: bool| if is_above { -self.epsilon } else { self.epsilon };
        let (up, low) = (kink(at_least_0), kink(above_0));
        self.up[t] = if beta < self.hi[t] { up } else { f64::NEG_INFINITY };
        self.low[t] = if beta > self.lo[t] { low } else { f64::INFINITY };
    }

    /// Whether variable `t` may go both ways at the same price: it is at no bound and not at the kink.
    fn is_free(&self, t: usize) -> bool {
        self.up[t] == self.low[t]
    }

    /// Where variable `t` has to stop on its way up: at its bound, or at the kink below which it is.
    fn top(&self, t: usize) -> f64 {
        if self.beta[t] < 0.0 && self.epsilon > 0.0 { smaller(0.0, self.hi[t]) } else { self.hi[t] }
    }

    /// Where variable `t` has to stop on its way down.
    fn bottom(&self, t: usize) -> f64 {
        if self.beta[t] > 0.0 && self.epsilon > 0.0 { larger(0.0, self.lo[t]) } else { self.lo[t] }
    }

    /// Sets variable `t` and updates the residuals.
    fn move_to(&mut self, t: usize, beta: f64) {
        let step = beta - self.beta[t];
        if step != 0.0 {
            self.rows.fetch(t, t);
            axpy(-step, self.rows.row(t), &mut self.resid);
        }
        self.set(t, beta);
    }

    /// The largest residual that may go up, and the smallest that may go down.
    fn extremes(&self) -> (f64, f64) {
        let bottom = self.resid.iter().zip(&self.low).map(|(r, l)| r + l).fold(f64::INFINITY, f64::min);
        (pass::first(&self.resid, &self.up).value, bottom)
    }

    /// Moves along the pair `i` up, `j` down to the minimum on that line inside the box, or to the kink before it;
    /// returns the next first variable, or `None` if the step is lost in rounding.
    fn step(&mut self, width: Width, i: usize, j: usize) -> Option<Peak> {
        self.rows.fetch(j, i);
        let quad = pass::curvature(self.diag[i], self.diag[j], self.rows.row(i)[j]);
        let (top, bottom) = (self.top(i), self.bottom(j));
        let (room_i, room_j) = (top - self.beta[i], self.beta[j] - bottom);
        let gain = (self.resid[i] + self.up[i]) - (self.resid[j] + self.low[j]);
        let step = smaller(smaller(gain / quad, room_i), room_j);
        // A bound is reached exactly, and never exceeded by rounding.
        let to_i = if step == room_i { top } else { smaller(self.beta[i] + step, top) };
        let to_j = if step == room_j { bottom } else { larger(self.beta[j] - step, bottom) };
        if to_i == self.beta[i] && to_j == self.beta[j] {
            return None;
        }
        self.set(i, to_i);
        self.set(j, to_j);
        let (ki, kj) = (self.rows.row(i), self.rows.row(j));
        Some(pass::update(width, &mut self.resid, ki, kj, &self.up, step))
    }

    /// Moves all variables inside their boxes to the minimum on their face, or to the bounds on the way there, one
    /// after the other; false if that is impossible.
    fn leap(&mut self) -> bool {
        let mut free: Vec<usize> = (0..self.beta.len()).filter(|&t| self.is_free(t)).collect();
        if free.len() < 2 || free.len() > leap::MAX_BLOCK {
            return false;
        }
        let mut kernel = Vec::with_capacity(free.len() * free.len());
        for &t in &free {
            self.rows.fetch(t, t);
            let row = self.rows.row(t);
            kernel.extend(free.iter().map(|&s| row[s]));
        }
        let Some(mut face) = Face::new(kernel, free.len()) else { return false };
        while free.len() > 1 {
            let resid: Vec<f64> = free.iter().map(|&t| self.resid[t] + self.up[t]).collect();
            let Some(direction) = face.direction(&resid) else { break };
            let (mut part, mut hit) = (1.0, None);
            for (k, (&t, &d)) in free.iter().zip(&direction).enumerate() {
                let bound = if d > 0.0 { self.top(t) } else { self.bottom(t) };
                if d != 0.0 && (bound - self.beta[t]) / d < part {
                    (part, hit) = ((bound - self.beta[t]) / d, Some((k, bound)));
                }
            }
            for (k, (&t, &d)) in free.iter().zip(&direction).enumerate() {
                let to = smaller(larger(self.beta[t] + part * d, self.bottom(t)), self.top(t));
                self.move_to(t, hit.filter(|&(at, _)| at == k).map_or(to, |(_, bound)| bound));
            }
            let Some((at, _)) = hit else { break };
            face.remove(at);
            free.remove(at);
        }
        true
    }

    /// Positions that may still move: everything but variables at a bound or at the kink whose residual lies beyond the
    /// extremes, so that no pair they could form now would lower the objective.
    fn movable(&self) -> Vec<usize> {
        let (top, bottom) = self.extremes();
        let movable = |&t: &usize| self.resid[t] + self.up[t] >= bottom || self.resid[t] + self.low[t] <= top;
        (0..self.beta.len()).filter(movable).collect()
    }

    /// The variables at the given positions.
    fn select(&self, keep: &[usize]) -> Variables<'a> {
        let pick = |from: &[f64]| keep.iter().map(|&t| from[t]).collect();
        Variables {
            rows: GramRows::new(self.rows.gram(), keep.iter().map(|&t| self.rows.cols()[t]).collect()),
            place: keep.iter().map(|&t| self.place[t]).collect(),
            aim: pick(&self.aim),
            epsilon: self.epsilon,
            beta: pick(&self.beta),
            lo: pick(&self.lo),
            hi: pick(&self.hi),
            resid: pick(&self.resid),
            up: pick(&self.up),
            low: pick(&self.low),
            diag: pick(&self.diag),
        }
    }

    /// Rejects residuals spoilt by the Gram matrix, and names the value responsible; `all` are the problem's rows.
    fn check_finite(&self, all: &[usize]) -> Result<()> {
        let Some(t) = self.resid.iter().position(|r| !r.is_finite()) else { return Ok(()) };
        let (gram, cols) = (self.rows.gram(), self.rows.cols());
        // A step along a spoilt pair spoils residuals of sound rows, so all rows are checked, including those set
        // aside.
        for &row in all {
            if let Some(&col) = all.iter().find(|&&col| !gram.get(row, col).is_finite()) {
                return Err(not_finite(row, col, gram.get(row, col)));
            }
        }
        Err(Error::input(format!(
            "gram: values in row {} are so large that sums overflow; scale the kernel down",
            cols[t]
        )))
    }

    /// Primal minus dual objective. With `d = r - bias` the loss of a row is the largest `b d - epsilon |b|` in its box
    /// (`u max(0, y d)`, as `1 - y f = y d`, or `u max(0, |d| - epsilon)`), and `b'Kb - y'b = -b'd`.
    fn duality_gap(&self, bias: f64) -> f64 {
        let mut gap = 0.0;
        for t in 0..self.beta.len() {
            let (d, beta) = (self.resid[t] - bias, self.beta[t]);
            let loss = (self.hi[t] * (d - self.epsilon)).max(self.lo[t] * (d + self.epsilon)).max(0.0);
            // Terms of one row are combined: each is at least 0.
            gap += loss + self.epsilon * beta.abs() - beta * d;
        }
        gap.max(0.0)
    }

    /// The solution at the present point; requires all variables of the problem.
    fn solution(&self, tolerance: f64, n_iter: u64) -> SmoSolution {
        let (top, bottom) = self.extremes();
        let gap = (top - bottom).max(0.0);
        let (mut sum, mut n_free) = (0.0, 0usize);
        // 1/2 b'Kb - y'b + epsilon |b| with Kb = y - r.
        let mut objective = 0.0;
        for t in 0..self.beta.len() {
            if self.is_free(t) {
                sum += self.resid[t] + self.up[t];
                n_free += 1;
            }
            objective -= 0.5 * self.beta[t] * (self.aim[t] + self.resid[t]) - self.epsilon * self.beta[t].abs();
        }
        let bias = if n_free > 0 { sum / n_free as f64 } else { 0.5 * (top + bottom) };
        SmoSolution {
            alpha: self.beta.clone(),
            bias,
            duality_gap: self.duality_gap(bias),
            objective,
            n_iter,
            gap,
            converged: gap <= tolerance,
        }
    }
}

/// The descent: `full` holds all variables; while some are set aside, `small` holds the rest and moves alone, and
/// `full` keeps the point and the residuals from before.
#[derive(Debug)]
struct Solver<'a> {
    full: Variables<'a>,
    small: Option<Variables<'a>>,
    /// Where `full` has to move when it is resumed: variables may move in one `small` and be left out of the next.
    moved: Vec<f64>,
    width: Width,
    n_iter: u64,
}

impl Solver<'_> {
    /// Iterates until converged, out of iterations, or unable to move; false when cancelled.
    fn descend(&mut self, options: &Options, cancelled: &(dyn Fn() -> bool + Sync)) -> Result<bool> {
        let every = self.full.beta.len().min(SHRINK_EVERY) as u64;
        let mut shrink_at = every;
        let mut leap_at = if options.leaps { LEAP_FROM * self.full.beta.len() as u64 } else { u64::MAX };
        let mut peak = pass::first(&self.full.resid, &self.full.up);
        loop {
            let variables = self.small.as_mut().unwrap_or(&mut self.full);
            let (i, n) = (peak.at, variables.beta.len());
            let mut next = None;
            if i < n {
                variables.rows.fetch(i, i);
                let Variables { rows, resid, low, diag, .. } = &*variables;
                let second = pass::select(self.width, resid, low, rows.row(i), diag, peak.value, diag[i]);
                if peak.value - second.bottom > options.tolerance && second.at < n {
                    if self.n_iter >= options.max_iter {
                        return Ok(true);
                    }
                    next = variables.step(self.width, i, second.at);
                }
            }
            match next {
                Some(found) => peak = found,
                None if self.small.is_some() => {
                    self.unshrink();
                    peak = pass::first(&self.full.resid, &self.full.up);
                    shrink_at = self.n_iter + every;
                    continue;
                }
                None => return Ok(true),
            }
            self.n_iter += 1;
            if self.n_iter.is_multiple_of(POLL) {
                if cancelled() {
                    return Ok(false);
                }
                self.small.as_ref().unwrap_or(&self.full).check_finite(self.full.rows.cols())?;
            }
            if self.n_iter >= leap_at {
                let variables = self.small.as_mut().unwrap_or(&mut self.full);
                let leapt = variables.leap();
                peak = pass::first(&variables.resid, &variables.up);
                // A leap that failed will fail again for a while.
                leap_at = if leapt { self.n_iter + every / 2 } else { 2 * self.n_iter };
            }
            if options.shrinking && self.n_iter >= shrink_at {
                shrink_at = self.n_iter + every;
                if let Some(found) = self.shrink() {
                    peak = found;
                }
            }
        }
    }

    /// Sets stuck variables aside, if that is worthwhile; returns the first variable to move among the rest.
    fn shrink(&mut self) -> Option<Peak> {
        let variables = self.small.as_ref().unwrap_or(&self.full);
        let keep = variables.movable();
        if keep.len() as f64 > SHRINK_TO * variables.beta.len() as f64 {
            return None;
        }
        let small = variables.select(&keep);
        let peak = pass::first(&small.resid, &small.up);
        self.note_moves();
        self.small = Some(small);
        Some(peak)
    }

    /// Records the values of the present variables.
    fn note_moves(&mut self) {
        match &self.small {
            Some(small) => small.place.iter().zip(&small.beta).for_each(|(&t, &beta)| self.moved[t] = beta),
            None => self.moved.clone_from(&self.full.beta),
        }
    }

    /// Restores all variables: moves `full` to where `small` went.
    fn unshrink(&mut self) {
        self.note_moves();
        if self.small.take().is_some() {
            for (t, &beta) in self.moved.iter().enumerate() {
                self.full.move_to(t, beta);
            }
        }
    }
}

/// The error about a value of the Gram matrix.
fn not_finite(row: usize, col: usize, value: f64) -> Error {
    Error::input(format!(
        "gram: found {value} at row {row}, column {col} (from 0); kernel values must be finite, check that kernel or \
         leave the sample out"
    ))
}

#[cfg(test)]
mod regression_tests;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dist::Rng;
    use crate::linalg::Matrix;

    /// A problem that owns its parts.
    #[derive(Clone, Debug)]
    struct Owned {
        gram: Matrix,
        rows: Vec<usize>,
        positive: Vec<bool>,
        upper: Vec<f64>,
    }

    impl Owned {
        fn view(&self) -> Problem<'_> {
            Problem { gram: (&self.gram).into(), rows: &self.rows, positive: &self.positive, upper: &self.upper }
        }

        fn solve(&self, options: &Options) -> SmoSolution {
            solve(&self.view(), options, None, &|| false).unwrap().unwrap()
        }

        fn solve_from(&self, options: &Options, start: &[f64]) -> SmoSolution {
            solve(&self.view(), options, Some(start), &|| false).unwrap().unwrap()
        }

        fn y(&self, i: usize) -> f64 {
            if self.positive[i] { 1.0 } else { -1.0 }
        }

        fn k(&self, i: usize, j: usize) -> f64 {
            self.gram.get(self.rows[i], self.rows[j])
        }

        /// sum_j a_j y_j K_ij.
        fn score(&self, alpha: &[f64], i: usize) -> f64 {
            (0..alpha.len()).map(|j| alpha[j] * self.y(j) * self.k(i, j)).sum()
        }

        fn objective(&self, alpha: &[f64]) -> f64 {
            (0..alpha.len()).map(|i| alpha[i] * (0.5 * self.y(i) * self.score(alpha, i) - 1.0)).sum()
        }

        /// m - M as defined in the papers: over I_up and I_low of alpha, from scratch.
        fn violation(&self, alpha: &[f64]) -> f64 {
            let (mut top, mut bottom) = (f64::NEG_INFINITY, f64::INFINITY);
            for (i, &a) in alpha.iter().enumerate() {
                let minus_y_gradient = self.y(i) - self.score(alpha, i);
                let (can_grow, can_fall) = (a < self.upper[i], a > 0.0);
                if if self.positive[i] { can_grow } else { can_fall } {
                    top = f64::max(top, minus_y_gradient);
                }
                if if self.positive[i] { can_fall } else { can_grow } {
                    bottom = f64::min(bottom, minus_y_gradient);
                }
            }
            (top - bottom).max(0.0)
        }

        fn assert_feasible(&self, alpha: &[f64]) {
            assert!(alpha.iter().zip(&self.upper).all(|(a, u)| (0.0..=*u).contains(a)), "{alpha:?} {:?}", self.upper);
            let balance: f64 = (0..alpha.len()).map(|i| alpha[i] * self.y(i)).sum();
            let total: f64 = alpha.iter().sum();
            assert!(balance.abs() <= 1e-12 * total, "y'a = {balance}");
        }
    }

    /// Points with `n_features` normal-like coordinates; linear plus Gaussian kernel when `smooth`, else linear alone,
    /// singular as soon as there are fewer features than points.
    fn random(seed: u64, n: usize, n_features: usize, smooth: bool) -> Owned {
        let mut rng = Rng::new(seed, 0);
        let x = Matrix::from_fn(n, n_features, |_, _| (0..4).map(|_| rng.uniform() - 0.5).sum::<f64>());
        let gram = Matrix::from_fn(n, n, |i, j| {
            let (a, b) = (x.row(i), x.row(j));
            let dot: f64 = a.iter().zip(b).map(|(p, q)| p * q).sum();
            let distance: f64 = a.iter().zip(b).map(|(p, q)| (p - q).powi(2)).sum();
            dot + if smooth { (-distance).exp() } else { 0.0 }
        });
        let mut positive: Vec<bool> = (0..n).map(|i| x.get(i, 0) + 0.3 * (rng.uniform() - 0.5) > 0.0).collect();
        (positive[0], positive[1]) = (true, false);
        let mut upper: Vec<f64> =
            (0..n).map(|_| if rng.below(5) == 0 { 0.0 } else { 10f64.powf(2.0 * rng.uniform() - 1.0) }).collect();
        (upper[0], upper[1]) = (1.0, 1.0);
        Owned { gram, rows: (0..n).collect(), positive, upper }
    }

    fn tight() -> Options {
        Options { tolerance: 1e-8, ..Options::default() }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn optimum_random_problem_meets_the_optimality_conditions(
            seed in any::<u64>(), n in 2usize..40, n_features in 1usize..8, smooth in any::<bool>(),
        ) {
            let owned = random(seed, n, n_features, smooth);
            let solution = owned.solve(&tight());
            owned.assert_feasible(&solution.alpha);
            prop_assert!(solution.converged);
            // Rounding of sums of at most 40 products of size at most 10 * 10.
            let noise = 1e-11;
            let violation = owned.violation(&solution.alpha);
            prop_assert!(violation <= 1e-8 + noise, "{violation}");
            prop_assert!((solution.gap - violation).abs() <= noise);
            let objective = owned.objective(&solution.alpha);
            prop_assert!((solution.objective - objective).abs() <= noise * (1.0 + objective.abs()));
            // Weak duality: the primal value of (w, bias) is above the dual one by at most u_i times the violation
            // for each sample, if the bias is right.
            let primal: f64 = (0..n)
                .map(|i| {
                    let score = owned.score(&solution.alpha, i);
                    0.5 * solution.alpha[i] * owned.y(i) * score
                        + owned.upper[i] * (1.0 - owned.y(i) * (score + solution.bias)).max(0.0)
                })
                .sum();
            let duality_gap = primal + objective;
            prop_assert!((duality_gap - solution.duality_gap).abs() <= 1e-9 * (1.0 + primal.abs()));
            let allowed = 1e-8 * owned.upper.iter().sum::<f64>() + noise * (1.0 + objective.abs());
            prop_assert!(duality_gap >= -allowed && duality_gap <= allowed, "{duality_gap} {allowed}");
        }

        #[test]
        fn start_any_numbers_gives_the_same_optimum(seed in any::<u64>(), n in 2usize..40, scale in -2.0f64..2.0) {
            let owned = random(seed, n, 3, true);
            let mut rng = Rng::new(seed, 1);
            let start: Vec<f64> = (0..n).map(|_| (rng.uniform() - 0.3) * 10f64.powf(scale)).collect();
            let at_once = owned.solve_from(&Options { max_iter: 0, ..tight() }, &start);
            prop_assert_eq!(at_once.n_iter, 0);
            owned.assert_feasible(&at_once.alpha);
            let (cold, warm) = (owned.solve(&tight()), owned.solve_from(&tight(), &start));
            // Both are within the violation times the sum of the bounds of the minimum.
            let allowed = 1e-8 * owned.upper.iter().sum::<f64>();
            prop_assert!((cold.objective - warm.objective).abs() <= allowed);
        }

        #[test]
        fn bad_value_anywhere_is_named_or_does_not_matter(
            seed in any::<u64>(), i in 0usize..12, j in 0usize..12, bad in prop::sample::select(vec![f64::NAN, f64::INFINITY]),
        ) {
            let good = random(seed, 12, 2, true);
            let mut spoilt = good.clone();
            for (row, col) in [(i, j), (j, i)] {
                spoilt.gram.set(row, col, bad);
            }
            match solve(&spoilt.view(), &tight(), None, &|| false) {
                Err(error) => {
                    let text = error.to_string();
                    let named = [(i, j), (j, i)].iter().any(|(r, c)| text.contains(&format!("row {r}, column {c} ")));
                    prop_assert!(named, "{}", text);
                }
                Ok(solution) => prop_assert_eq!(solution.unwrap(), good.solve(&tight())),
            }
        }
    }

    #[test]
    fn duality_gap_is_primal_minus_dual_also_far_from_the_optimum() {
        for (seed, tolerance) in [(1, 1.5), (2, 0.5), (3, 0.1), (4, 1e-3)] {
            let owned = random(seed, 30, 3, true);
            let solution = owned.solve(&Options { tolerance, ..tight() });
            let primal: f64 = (0..30)
                .map(|i| {
                    let score = owned.score(&solution.alpha, i);
                    0.5 * solution.alpha[i] * owned.y(i) * score
                        + owned.upper[i] * (1.0 - owned.y(i) * (score + solution.bias)).max(0.0)
                })
                .sum();
            let gap = primal + owned.objective(&solution.alpha);
            assert!((gap - solution.duality_gap).abs() < 1e-9 * (1.0 + primal.abs()), "{gap} {}", solution.duality_gap);
            assert!(tolerance < 0.2 || gap > 1e-3, "a coarse solution should have a gap to speak of, got {gap}");
        }
    }

    #[test]
    fn bad_value_that_spoils_other_rows_first_is_named() {
        let mut spoilt = random(17_911_252_349_594_832_356, 12, 2, true);
        for (row, col) in [(10, 3), (3, 10)] {
            spoilt.gram.set(row, col, f64::NAN);
        }
        let text = solve(&spoilt.view(), &tight(), None, &|| false).unwrap_err().to_string();
        assert!(text.contains("row 3, column 10 "), "{text}");
    }

    #[test]
    fn two_points_have_the_closed_form() {
        let gram = Matrix::from_vec(2, 2, vec![2.0, 0.5, 0.5, 1.0]).unwrap();
        for bound in [0.3, 5.0] {
            let owned =
                Owned { gram: gram.clone(), rows: vec![0, 1], positive: vec![true, false], upper: vec![bound, 7.0] };
            let solution = owned.solve(&tight());
            // a_1 = a_2 = a minimises (k11 + k22 - 2 k12) a^2 / 2 - 2 a on [0, bound].
            let a = f64::min(1.0, bound);
            assert!((solution.alpha[0] - a).abs() < 1e-12 && (solution.alpha[1] - a).abs() < 1e-12);
            assert!((solution.objective - (a * a - 2.0 * a)).abs() < 1e-12);
            // The second point is never at its bound, so f = -1 there.
            assert!((a * 0.5 - a * 1.0 + solution.bias + 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn all_variables_at_bounds_bias_is_the_middle() {
        // Two points far inside the margin: both at the bound, f(x_1) <= 1 and f(x_2) >= -1 allow an interval.
        let gram = Matrix::from_vec(2, 2, vec![1.0, 0.0, 0.0, 3.0]).unwrap();
        let owned = Owned { gram, rows: vec![0, 1], positive: vec![true, false], upper: vec![0.1, 0.1] };
        // bias <= 1 - 0.1 and bias >= -1 + 0.3.
        assert!((owned.solve(&tight()).bias - 0.1).abs() < 1e-12);
    }

    #[test]
    fn slices_of_any_length_reach_the_same_optimum() {
        let owned = random(11, 300, 4, true);
        let whole = owned.solve(&tight());
        for max_iter in [1, 7, 100] {
            let slice = Options { max_iter, ..tight() };
            let mut solution = owned.solve(&slice);
            let mut n_iter = solution.n_iter;
            while !solution.converged {
                assert_eq!(solution.n_iter, max_iter);
                let next = owned.solve_from(&slice, &solution.alpha);
                owned.assert_feasible(&next.alpha);
                assert!(next.objective <= solution.objective + 1e-9);
                n_iter += next.n_iter;
                solution = next;
            }
            assert!(n_iter > max_iter, "several slices");
            assert!((solution.objective - whole.objective).abs() <= 1e-8 * owned.upper.iter().sum::<f64>());
        }
    }

    #[test]
    fn setting_aside_keeps_the_residuals_and_the_optimum() {
        let mut owned = random(3, 120, 2, true);
        owned.upper.iter_mut().for_each(|u| *u *= 100.0);
        let (with, without) = (owned.solve(&tight()), owned.solve(&Options { shrinking: false, ..tight() }));
        assert!(with.converged && without.converged);
        assert!((with.objective - without.objective).abs() <= 1e-8 * owned.upper.iter().sum::<f64>());
        let mut smallest = 120;
        for max_iter in (0..with.n_iter).step_by(50) {
            let full = Variables::new(&owned.view().dual(), vec![0.0; 120]).unwrap();
            let mut solver = Solver { full, small: None, moved: Vec::new(), width: Width::detect(), n_iter: 0 };
            solver.descend(&Options { max_iter, ..tight() }, &|| false).unwrap();
            smallest = smallest.min(solver.small.as_ref().map_or(120, |small| small.beta.len()));
            solver.unshrink();
            let alpha: Vec<f64> = solver.full.beta.iter().map(|b| b.abs()).collect();
            owned.assert_feasible(&alpha);
            for i in 0..120 {
                // Bounds go up to 1000: sums of 120 products of that size.
                assert!((solver.full.resid[i] - (owned.y(i) - owned.score(&alpha, i))).abs() < 1e-9);
            }
        }
        // Set aside more than once: each time at least half go.
        assert!(smallest <= 30, "{smallest}");
    }

    #[test]
    fn doubled_bound_equals_the_sample_twice() {
        let mut twice = random(21, 30, 3, true);
        let mut heavy = twice.clone();
        // The sample gets a bound it reaches only partly, so that the variables themselves are unique.
        heavy.upper[5] = 2.0 * twice.upper[5].max(0.5);
        twice.upper[5] = heavy.upper[5] / 2.0;
        twice.rows.push(5);
        twice.positive.push(twice.positive[5]);
        twice.upper.push(twice.upper[5]);
        let (a, b) = (heavy.solve(&tight()), twice.solve(&tight()));
        assert!((a.objective - b.objective).abs() < 1e-6 && (a.bias - b.bias).abs() < 1e-6);
        assert!(a.alpha[5] > 0.0);
        assert!((a.alpha[5] - (b.alpha[5] + b.alpha[30])).abs() < 1e-5);
    }

    #[test]
    fn zero_bound_equals_the_sample_left_out() {
        let all = random(8, 30, 3, true);
        let rows: Vec<usize> = (0..30).filter(|&i| all.upper[i] > 0.0).collect();
        let some = Owned {
            gram: all.gram.clone(),
            positive: rows.iter().map(|&i| all.positive[i]).collect(),
            upper: rows.iter().map(|&i| all.upper[i]).collect(),
            rows: rows.clone(),
        };
        let (a, b) = (all.solve(&tight()), some.solve(&tight()));
        assert!(rows.len() < 30);
        assert_eq!(rows.iter().map(|&i| a.alpha[i]).collect::<Vec<_>>(), b.alpha);
        assert_eq!((a.bias, a.objective), (b.bias, b.objective));
    }

    #[test]
    fn view_equals_the_copied_matrix_bit_for_bit() {
        let all = random(5, 600, 3, true);
        let mut rows: Vec<usize> = (0..600).filter(|i| i % 3 != 1).collect();
        Rng::new(9, 0).shuffle(&mut rows);
        let view = Owned {
            positive: rows.iter().map(|&i| all.positive[i]).collect(),
            upper: vec![1.0; rows.len()],
            gram: all.gram.clone(),
            rows: rows.clone(),
        };
        let copy =
            Owned { gram: all.gram.select_rows(&rows).select_cols(&rows), rows: (0..400).collect(), ..view.clone() };
        assert_eq!(view.solve(&tight()), copy.solve(&tight()));
    }

    #[test]
    fn indefinite_matrix_terminates_lower_than_it_began() {
        for seed in 0..20 {
            let mut owned = random(seed, 30, 3, true);
            let mut rng = Rng::new(seed, 7);
            for i in 0..30 {
                for j in 0..=i {
                    let value = 2.0 * rng.uniform() - 1.0;
                    owned.gram.set(i, j, value);
                    owned.gram.set(j, i, value);
                }
            }
            let options = Options { max_iter: 100_000, ..tight() };
            let solution = owned.solve(&options);
            owned.assert_feasible(&solution.alpha);
            assert!(solution.converged && solution.objective < 0.0 && solution.n_iter < 100_000);
            assert!(owned.violation(&solution.alpha) <= 1e-8 + 1e-11);
        }
    }

    #[test]
    fn leaps_reach_the_same_optimum_in_fewer_iterations() {
        let options = Options { leaps: true, ..tight() };
        let (mut with, mut without) = (0, 0);
        for (seed, smooth) in [(1, false), (2, false), (3, true), (4, true)] {
            let mut owned = random(seed, 90, 6, smooth);
            owned.upper.iter_mut().for_each(|u| *u *= 100.0);
            let (fast, slow) = (owned.solve(&options), owned.solve(&tight()));
            assert!(fast.converged && slow.converged);
            owned.assert_feasible(&fast.alpha);
            // Bounds go up to 1000: sums of 90 products of that size.
            assert!(owned.violation(&fast.alpha) <= 1e-8 + 1e-9);
            assert!((fast.objective - slow.objective).abs() <= 1e-8 * owned.upper.iter().sum::<f64>());
            (with, without) = (with + fast.n_iter, without + slow.n_iter);
        }
        assert!(3 * with < without, "{with} iterations with leaps, {without} without");
    }

    #[test]
    fn leaps_on_an_indefinite_matrix_are_left_out() {
        let mut owned = random(3, 60, 3, true);
        let mut rng = Rng::new(3, 7);
        for i in 0..60 {
            for j in 0..=i {
                let value = 2.0 * rng.uniform() - 1.0;
                owned.gram.set(i, j, value);
                owned.gram.set(j, i, value);
            }
        }
        let options = Options { leaps: true, max_iter: 100_000, ..tight() };
        let solution = owned.solve(&options);
        owned.assert_feasible(&solution.alpha);
        assert!(solution.converged && owned.violation(&solution.alpha) <= 1e-8 + 1e-11);
    }

    #[test]
    fn cancelling_at_any_time_returns_none() {
        let owned = random(2, 300, 20, false);
        assert!(owned.solve(&tight()).n_iter > POLL);
        let asked = std::sync::atomic::AtomicU32::new(0);
        for limit in [0, 1] {
            asked.store(0, std::sync::atomic::Ordering::Relaxed);
            let cancelled = || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= limit;
            assert!(solve(&owned.view(), &tight(), None, &cancelled).unwrap().is_none());
        }
    }

    /// The error text of a problem that must be rejected.
    fn refusal(owned: &Owned, options: &Options, start: Option<&[f64]>) -> String {
        solve(&owned.view(), options, start, &|| false).unwrap_err().to_string()
    }

    #[test]
    fn bad_input_is_refused_by_name() {
        let good = random(1, 6, 2, true);
        let refuse = |change: &dyn Fn(&mut Owned)| {
            let mut owned = good.clone();
            change(&mut owned);
            refusal(&owned, &tight(), None)
        };
        assert_eq!(
            refuse(&|o| o.positive.fill(true)),
            "no negative sample with a bound above 0 among 6 rows; a support vector machine needs both classes"
        );
        assert!(refuse(&|o| o.upper.fill(0.0)).starts_with("no positive sample with a bound above 0"));
        assert!(refuse(&|o| o.upper[3] = -1.0).starts_with("upper[3] must be finite and at least 0, got -1"));
        assert!(refuse(&|o| o.upper[2] = f64::NAN).starts_with("upper[2] must be finite"));
        assert!(refuse(&|o| o.rows[4] = 6).starts_with("rows: found row 6, but gram has 6 rows"));
        assert!(refuse(&|o| o.gram = Matrix::zeros(6, 7)).starts_with("gram must be square, got 6 x 7"));
        assert!(refuse(&|o| o.upper.truncate(5)).starts_with("upper needs one value for each of the 6 rows, got 5"));
        assert!(refuse(&|o| o.gram.set(0, 1, f64::NAN)).starts_with("gram: found NaN at row 0, column 1 "));
        assert!(refuse(&|o| o.gram.set(4, 4, f64::NAN)).starts_with("gram: found NaN at row 4, column 4 "));
        let huge = refuse(&|o| o.gram.data_mut().iter_mut().for_each(|k| *k *= 1e308));
        assert!(huge.contains("scale the kernel down") || huge.contains("found inf"), "{huge}");
        let zero = Options { tolerance: 0.0, ..tight() };
        assert!(refusal(&good, &zero, None).starts_with("parameter tolerance: must be finite and above 0, got 0"));
        assert!(refusal(&good, &tight(), Some(&[0.0; 5])).starts_with("start needs one value for each of the 6 rows"));
        assert!(refusal(&good, &tight(), Some(&[f64::NAN; 6])).starts_with("start[0] must be finite, got NaN"));
    }
}
