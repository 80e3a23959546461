//! The dual of the two-class support vector machine, by sequential minimal optimisation.
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

use super::pass::{self, Peak, Width};
use super::rows::Rows;
use crate::error::{Error, Result};
use crate::linalg::{Matrix, axpy};

/// Iterations between two looks at the caller's wish to stop and at the health of the numbers.
const POLL: u64 = 256;
/// Iterations between two tries to set variables aside, or the number of variables where that is less (as LIBSVM).
const SHRINK_EVERY: usize = 1000;
/// Setting aside pays for gathering shorter rows only when at most this part of the variables remains.
const SHRINK_TO: f64 = 0.5;
/// A start whose two classes differ in weight by no more than this part is put right on single variables, so that
/// variables at their bounds stay there; beyond it the heavier class is scaled down as a whole.
const ROUNDING: f64 = 1e-9;

/// One two-class problem on a view of a Gram matrix: `min 1/2 a'Qa - 1'a`, `Q_ij = y_i y_j K_ij`,
/// `0 <= a_i <= upper_i`, `y'a = 0`.
///
/// Views cost nothing to make. Rows of a view that is a run of neighbouring rows are read in place; for other views
/// the rows the solver touches are gathered when first needed, into at most 128 MiB (256 MiB while variables are set
/// aside).
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// The whole Gram matrix, symmetric (not checked), `n x n`.
    pub gram: &'a Matrix,
    /// Which rows (and columns) of `gram` make the problem, in any order.
    pub rows: &'a [usize],
    /// For each row of the view: true for the class `y = +1`.
    pub positive: &'a [bool],
    /// For each row of the view: the bound of its dual variable; zero leaves the sample out.
    pub upper: &'a [f64],
}

/// How exact and how long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Stop when the violation `m - M` of the optimality conditions is at most this; LIBSVM's `eps`.
    pub tolerance: f64,
    /// Set variables aside while they are stuck at a bound: faster on large problems, same optimum.
    pub shrinking: bool,
    /// Stop after this many iterations in any case.
    pub max_iter: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { tolerance: 1e-3, shrinking: true, max_iter: 10_000_000 }
    }
}

/// The point reached; always feasible.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// Dual variables, one per row of the view.
    pub alpha: Vec<f64>,
    /// The constant of `f(x) = sum_i alpha_i y_i k(x_i, x) + bias`: the mean over variables strictly inside their box,
    /// or the middle of the allowed interval when there are none.
    pub bias: f64,
    /// `1/2 a'Qa - 1'a`.
    pub objective: f64,
    /// Iterations of this call.
    pub n_iter: u64,
    /// The violation `m - M` of the optimality conditions over all variables, zero where they hold.
    pub gap: f64,
    /// Whether `gap` came within the tolerance.
    pub converged: bool,
}

/// Solves the problem, from zero or from `start`; `None` when `cancelled` said so.
///
/// A start need not be feasible: it is clipped to the boxes and its heavier class is lowered until `y'a = 0`. To work
/// in slices, bound `max_iter` and start again from the `alpha` returned; each start costs one kernel row per non-zero
/// variable. One iteration costs two passes over the view; `cancelled` is asked every few hundred. The result is the
/// same on every machine, bit for bit, and runs on the calling thread alone.
///
/// An indefinite matrix is allowed: the objective still falls at every iteration, but the point reached need not be the
/// global minimum.
///
/// # Errors
/// Shapes that do not fit, bounds or starts that are negative or not finite, fewer than two classes with a positive
/// bound, and values of the Gram matrix that are not finite. The last are looked for where the solution depends on
/// them: on the diagonal and in every kernel row used.
///
/// ```
/// use multikernel::Matrix;
/// use multikernel::solve::smo::{Options, Problem, solve};
/// // Points -1, 0, 2 on the line with the linear kernel; the last two are positive.
/// let x = [-1.0, 0.0, 2.0];
/// let gram = Matrix::from_fn(3, 3, |i, j| x[i] * x[j]);
/// let problem = Problem { gram: &gram, rows: &[0, 1, 2], positive: &[false, true, true], upper: &[10.0; 3] };
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
) -> Result<Option<Solution>> {
    check(problem, options)?;
    let beta = match start {
        Some(alpha) => feasible(problem, alpha)?,
        None => vec![0.0; problem.rows.len()],
    };
    if cancelled() {
        return Ok(None);
    }
    let full = Layout::new(problem, beta)?;
    let mut solver = Solver { full, small: None, width: Width::detect(), n_iter: 0 };
    if !solver.descend(options, cancelled)? {
        return Ok(None);
    }
    solver.unshrink();
    solver.full.check_finite()?;
    Ok(Some(solver.full.solution(options.tolerance, solver.n_iter)))
}

/// Refuses what does not fit together.
fn check(problem: &Problem, options: &Options) -> Result<()> {
    let Problem { gram, rows, positive, upper } = problem;
    if gram.n_rows() != gram.n_cols() {
        return Err(Error::input(format!(
            "gram must be square, got {} x {}; give one row and one column per sample",
            gram.n_rows(),
            gram.n_cols()
        )));
    }
    for (what, len) in [("positive", positive.len()), ("upper", upper.len())] {
        if len != rows.len() {
            return Err(Error::input(format!("{what} needs one value for each of the {} rows, got {len}", rows.len())));
        }
    }
    if let Some(row) = rows.iter().find(|&&row| row >= gram.n_rows()) {
        return Err(Error::input(format!(
            "rows: found row {row}, but gram has {} rows; use rows counted from 0",
            gram.n_rows()
        )));
    }
    if let Some((i, bound)) = upper.iter().enumerate().find(|(_, u)| !u.is_finite() || **u < 0.0) {
        return Err(Error::input(format!("upper[{i}] must be finite and at least 0, got {bound}")));
    }
    for (class, name) in [(true, "positive"), (false, "negative")] {
        if !positive.iter().zip(*upper).any(|(&p, &u)| p == class && u > 0.0) {
            return Err(Error::input(format!(
                "no {name} sample with a bound above 0 among {} rows; a support vector machine needs both classes",
                rows.len()
            )));
        }
    }
    if !(options.tolerance > 0.0 && options.tolerance.is_finite()) {
        return Err(Error::param(
            "tolerance",
            format!("must be finite and above 0, got {}; 1e-3 is the default", options.tolerance),
        ));
    }
    Ok(())
}

/// A start as signed variables: clipped to the boxes, the heavier class lowered until both weigh the same.
fn feasible(problem: &Problem, start: &[f64]) -> Result<Vec<f64>> {
    let Problem { positive, upper, .. } = problem;
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
    let mut alpha: Vec<f64> = start.iter().zip(*upper).map(|(&a, &u)| a.clamp(0.0, u)).collect();
    let weight =
        |alpha: &[f64], class| alpha.iter().zip(*positive).filter(|(_, p)| **p == class).map(|(a, _)| a).sum::<f64>();
    let (plus, minus) = (weight(&alpha, true), weight(&alpha, false));
    let heavy = plus > minus;
    if (plus - minus).abs() > ROUNDING * (plus + minus) {
        let factor = plus.min(minus) / plus.max(minus);
        alpha.iter_mut().zip(*positive).filter(|(_, p)| **p == heavy).for_each(|(a, _)| *a *= factor);
    }
    // What rounding leaves over comes off variables inside their box; off the others only if those do not suffice.
    let (plus, minus) = (weight(&alpha, true), weight(&alpha, false));
    let heavy = plus > minus;
    let mut over = (plus - minus).abs();
    for at_bound in [false, true] {
        for ((a, &p), &u) in alpha.iter_mut().zip(*positive).zip(*upper) {
            if p == heavy && (*a == u) == at_bound {
                let less = over.min(*a);
                *a -= less;
                over -= less;
            }
        }
    }
    Ok(alpha.iter().zip(*positive).map(|(&a, &p)| if p { a } else { -a }).collect())
}

/// The variables taking part, as parallel arrays: all of the view, or those not set aside.
#[derive(Debug)]
struct Layout<'a> {
    /// Kernel rows over the variables of this layout.
    rows: Rows<'a>,
    /// Position in the view of each variable.
    place: Vec<usize>,
    /// `y`, +1 or -1.
    sign: Vec<f64>,
    /// `b`, and its box.
    beta: Vec<f64>,
    lo: Vec<f64>,
    hi: Vec<f64>,
    /// `y - Kb`.
    resid: Vec<f64>,
    /// 0 where `b` may go up, else -infinity: added to the residual it leaves only candidates in a maximum.
    up: Vec<f64>,
    /// 0 where `b` may go down, else +infinity.
    low: Vec<f64>,
    diag: Vec<f64>,
}

impl<'a> Layout<'a> {
    /// All variables of the problem, at the feasible point `beta`.
    fn new(problem: &Problem<'a>, beta: Vec<f64>) -> Result<Self> {
        let n = beta.len();
        let sign: Vec<f64> = problem.positive.iter().map(|&p| if p { 1.0 } else { -1.0 }).collect();
        let mut layout = Layout {
            rows: Rows::new(problem.gram, problem.rows.to_vec()),
            place: (0..n).collect(),
            lo: problem.upper.iter().zip(&sign).map(|(&u, &y)| if y > 0.0 { 0.0 } else { -u }).collect(),
            hi: problem.upper.iter().zip(&sign).map(|(&u, &y)| if y > 0.0 { u } else { 0.0 }).collect(),
            resid: sign.clone(),
            up: vec![f64::NEG_INFINITY; n],
            low: vec![f64::INFINITY; n],
            diag: problem.rows.iter().map(|&row| problem.gram.get(row, row)).collect(),
            beta: vec![0.0; n],
            sign,
        };
        if let Some(t) = layout.diag.iter().position(|k| !k.is_finite()) {
            return Err(not_finite(problem.rows[t], problem.rows[t], layout.diag[t]));
        }
        for (t, b) in beta.into_iter().enumerate() {
            layout.move_to(t, b);
        }
        Ok(layout)
    }

    /// Sets variable `t` and the masks that follow from it, not the residuals.
    fn set(&mut self, t: usize, beta: f64) {
        self.beta[t] = beta;
        self.up[t] = if beta < self.hi[t] { 0.0 } else { f64::NEG_INFINITY };
        self.low[t] = if beta > self.lo[t] { 0.0 } else { f64::INFINITY };
    }

    /// Sets variable `t` and brings the residuals along.
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

    /// Moves along the pair `i` up, `j` down to the minimum on that line inside the box; returns the next first
    /// variable, or `None` when the step is lost in rounding.
    fn step(&mut self, width: Width, i: usize, j: usize) -> Option<Peak> {
        self.rows.fetch(j, i);
        let quad = pass::curvature(self.diag[i], self.diag[j], self.rows.row(i)[j]);
        let (room_i, room_j) = (self.hi[i] - self.beta[i], self.beta[j] - self.lo[j]);
        let step = ((self.resid[i] - self.resid[j]) / quad).min(room_i).min(room_j);
        // A bound is reached exactly, and never passed by rounding.
        let to_i = if step == room_i { self.hi[i] } else { (self.beta[i] + step).min(self.hi[i]) };
        let to_j = if step == room_j { self.lo[j] } else { (self.beta[j] - step).max(self.lo[j]) };
        if to_i == self.beta[i] && to_j == self.beta[j] {
            return None;
        }
        self.set(i, to_i);
        self.set(j, to_j);
        let (ki, kj) = (self.rows.row(i), self.rows.row(j));
        Some(pass::update(width, &mut self.resid, ki, kj, &self.up, step))
    }

    /// Positions that may still move: everything but variables at a bound whose residual lies beyond the extremes, so
    /// that no pair they could form now would lower the objective.
    fn movable(&self) -> Vec<usize> {
        let (top, bottom) = self.extremes();
        let stuck = |t: usize| {
            let (up, low) = (self.up[t] == 0.0, self.low[t] == 0.0);
            !(up && low) && !(up && self.resid[t] >= bottom) && !(low && self.resid[t] <= top)
        };
        (0..self.beta.len()).filter(|&t| !stuck(t)).collect()
    }

    /// The layout of the variables at the given positions.
    fn select(&self, keep: &[usize]) -> Layout<'a> {
        let pick = |from: &[f64]| keep.iter().map(|&t| from[t]).collect();
        Layout {
            rows: Rows::new(self.rows.gram(), keep.iter().map(|&t| self.rows.cols()[t]).collect()),
            place: keep.iter().map(|&t| self.place[t]).collect(),
            sign: pick(&self.sign),
            beta: pick(&self.beta),
            lo: pick(&self.lo),
            hi: pick(&self.hi),
            resid: pick(&self.resid),
            up: pick(&self.up),
            low: pick(&self.low),
            diag: pick(&self.diag),
        }
    }

    /// Refuses residuals spoilt by the Gram matrix, and names the value that did it.
    fn check_finite(&self) -> Result<()> {
        let Some(t) = self.resid.iter().position(|r| !r.is_finite()) else { return Ok(()) };
        let (gram, cols) = (self.rows.gram(), self.rows.cols());
        for &c in cols {
            for (row, col) in [(cols[t], c), (c, cols[t])] {
                let value = gram.get(row, col);
                if !value.is_finite() {
                    return Err(not_finite(row, col, value));
                }
            }
        }
        Err(Error::input(format!(
            "gram: values in row {} are so large that sums overflow; scale the kernel down",
            cols[t]
        )))
    }

    /// The solution at the present point; the layout must hold all variables.
    fn solution(&self, tolerance: f64, n_iter: u64) -> Solution {
        let (top, bottom) = self.extremes();
        let gap = (top - bottom).max(0.0);
        let (mut sum, mut n_free) = (0.0, 0usize);
        // 1/2 b'Kb - y'b with Kb = y - r.
        let mut objective = 0.0;
        for t in 0..self.beta.len() {
            if self.up[t] == 0.0 && self.low[t] == 0.0 {
                sum += self.resid[t];
                n_free += 1;
            }
            objective -= 0.5 * self.beta[t] * (self.sign[t] + self.resid[t]);
        }
        Solution {
            alpha: self.beta.iter().map(|b| b.abs()).collect(),
            bias: if n_free > 0 { sum / n_free as f64 } else { 0.5 * (top + bottom) },
            objective,
            n_iter,
            gap,
            converged: gap <= tolerance,
        }
    }
}

/// The descent: `full` holds all variables; while some are set aside, `small` holds the rest and moves alone, and
/// `full` keeps the point and the residuals of the moment it was left.
#[derive(Debug)]
struct Solver<'a> {
    full: Layout<'a>,
    small: Option<Layout<'a>>,
    width: Width,
    n_iter: u64,
}

impl Solver<'_> {
    /// Iterates until converged, out of iterations, or unable to move; false when cancelled.
    fn descend(&mut self, options: &Options, cancelled: &(dyn Fn() -> bool + Sync)) -> Result<bool> {
        let every = self.full.beta.len().min(SHRINK_EVERY) as u64;
        let mut shrink_at = every;
        let mut peak = pass::first(&self.full.resid, &self.full.up);
        loop {
            let layout = self.small.as_mut().unwrap_or(&mut self.full);
            let (i, n) = (peak.at, layout.beta.len());
            let mut next = None;
            if i < n {
                layout.rows.fetch(i, i);
                let Layout { rows, resid, low, diag, .. } = &*layout;
                let second = pass::select(self.width, resid, low, rows.row(i), diag, peak.value, diag[i]);
                if peak.value - second.bottom > options.tolerance && second.at < n {
                    if self.n_iter >= options.max_iter {
                        return Ok(true);
                    }
                    next = layout.step(self.width, i, second.at);
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
                self.small.as_ref().unwrap_or(&self.full).check_finite()?;
            }
            if options.shrinking && self.n_iter >= shrink_at {
                shrink_at = self.n_iter + every;
                if let Some(found) = self.shrink() {
                    peak = found;
                }
            }
        }
    }

    /// Sets aside what is stuck, if that is worth it; returns the first variable in the new layout.
    fn shrink(&mut self) -> Option<Peak> {
        let layout = self.small.as_ref().unwrap_or(&self.full);
        let keep = layout.movable();
        if keep.len() as f64 > SHRINK_TO * layout.beta.len() as f64 {
            return None;
        }
        let small = layout.select(&keep);
        let peak = pass::first(&small.resid, &small.up);
        self.small = Some(small);
        Some(peak)
    }

    /// Takes all variables back: moves `full` to where `small` went.
    fn unshrink(&mut self) {
        if let Some(small) = self.small.take() {
            for (&t, &beta) in small.place.iter().zip(&small.beta) {
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
