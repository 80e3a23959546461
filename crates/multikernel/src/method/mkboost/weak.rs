//! The weak learner: an SVM on the drawn rows of one kernel, and its decisions for all rows.

use std::ops::Range;

use crate::dist::Rng;
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::simd::{GATHERED, Places, Real, prefetch};
use crate::solve::smo;

/// Iteration limit, after which an SVM on a few rows is used as it is.
const MAX_ITERATIONS: u64 = 1_000_000;
/// Numbers per cache line.
const LINE: usize = 8;
/// Number of drawn rows from which shrinking pays off.
const SHRINK_FROM: usize = 500;
/// Kernel values below this count as 0 in the solver: their products would be subnormal, which is slow.
const SUBNORMAL_GUARD: f64 = 1e-150;
/// Rows are nearly orthogonal if the cross terms between rows are less than this fraction of the diagonal terms.
const HARDLY: f64 = 0.5;

/// The rows of one trial: each listed once, ascending, with the number of times it was drawn.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Drawn {
    pub(super) rows: Vec<usize>,
    pub(super) times: Vec<usize>,
}

impl Drawn {
    /// Draws `n` rows with replacement, with probabilities proportional to the weights.
    pub(super) fn new(weights: &[f64], n: usize, rng: &mut Rng) -> Drawn {
        let mut total = 0.0;
        let sums: Vec<f64> = weights
            .iter()
            .map(|weight| {
                total += weight;
                total
            })
            .collect();
        // The last row with positive weight, in case a product rounds up to the total.
        let last = weights.iter().rposition(|&weight| weight > 0.0).unwrap_or(0);
        let mut counts = vec![0; weights.len()];
        for _ in 0..n {
            let at = rng.uniform() * total;
            counts[sums.partition_point(|&sum| sum <= at).min(last)] += 1;
        }
        let rows: Vec<usize> = (0..counts.len()).filter(|&i| counts[i] > 0).collect();
        Drawn { times: rows.iter().map(|&i| counts[i]).collect(), rows }
    }
}

/// One of several kernels stored one below the other in a matrix.
#[derive(Clone, Copy, Debug)]
pub(super) struct KernelRows<'a> {
    pub(super) matrix: &'a Matrix,
    /// Its first row.
    pub(super) top: usize,
}

impl<'a> KernelRows<'a> {
    /// Row `i` of the kernel.
    pub(super) fn row(self, i: usize) -> &'a [f64] {
        self.matrix.row(self.top + i)
    }
}

/// The two-class problem of one trial, the same for all kernels.
pub(super) struct Trial {
    /// The drawn rows among those of the pair.
    pub(super) rows: Vec<usize>,
    /// 0, 1, ..., and for each of them the class and the bound; padded.
    order: Vec<usize>,
    positive: Vec<bool>,
    upper: Vec<f64>,
    /// The difference of the means of the two classes.
    between_means: Vec<f64>,
    options: smo::Options,
}

impl Trial {
    /// The drawn rows of a pair, whose rows are `positive` or not.
    pub(super) fn new(drawn: Drawn, positive: &[bool], c: f64, tol: f64) -> Trial {
        let n = drawn.rows.len();
        // Padded with variables that cannot move: the solver is faster on whole vectors.
        let size = n.next_multiple_of(GATHERED);
        let mut positive: Vec<bool> = drawn.rows.iter().map(|&i| positive[i]).collect();
        let mut upper: Vec<f64> = drawn.times.iter().map(|&times| c * times as f64).collect();
        let n_positive = positive.iter().filter(|&&positive| positive).count();
        let share = |&positive: &bool| if positive { 1.0 / n_positive as f64 } else { -1.0 / (n - n_positive) as f64 };
        let mut between_means: Vec<f64> = positive.iter().map(share).collect();
        positive.resize(size, false);
        upper.resize(size, 0.0);
        between_means.resize(size, 0.0);
        let (shrinking, max_iter) = (n >= SHRINK_FROM, MAX_ITERATIONS);
        let options = smo::Options { tolerance: tol, shrinking, leaps: true, max_iter };
        Trial { rows: drawn.rows, order: (0..size).collect(), positive, upper, between_means, options }
    }

    /// The padded kernel among the drawn rows, which are at these rows and columns of `kernel`, in these runs of
    /// columns.
    pub(super) fn gram_at(&self, kernel: KernelRows<'_>, places: &[usize], runs: &[Range<usize>; 2]) -> Result<Matrix> {
        let (columns, size) = (Places::new(places), self.order.len());
        let mut values = Vec::with_capacity(size * size);
        for (at, &i) in places.iter().enumerate() {
            // Rows are far apart in memory: prefetch the next while this one is read.
            if let Some(&next) = places.get(at + 1) {
                let lines = runs.iter().flat_map(|run| kernel.row(next)[run.clone()].chunks(LINE));
                lines.for_each(|line| prefetch(line.as_ptr()));
            }
            values.resize((at + 1) * size, 0.0);
            columns.gather(kernel.row(i), SUBNORMAL_GUARD, &mut values[at * size..]);
        }
        values.resize(size * size, 0.0);
        Matrix::from_vec(size, size, values)
    }

    /// The class of all drawn rows, if there is only one.
    pub(super) fn only_class(&self) -> Option<bool> {
        let drawn = &self.positive[..self.rows.len()];
        let first = *drawn.first()?;
        drawn.iter().all(|&positive| positive == first).then_some(first)
    }

    /// A starting point for kernels under which rows are nearly orthogonal, such as a narrow Gaussian: the best
    /// multiple of the difference `v` of the class means, `2 / v'Kv`, is then close to the solution.
    fn start(&self, gram: &Matrix) -> Option<Vec<f64>> {
        let v = &self.between_means;
        let all: f64 = gram.rows().zip(v).map(|(row, v)| v * f64::dot(row, self.between_means.as_slice())).sum();
        let own: f64 = v.iter().enumerate().map(|(i, v)| v * v * gram.get(i, i)).sum();
        let hardly_alike = (all - own).abs() < HARDLY * own;
        hardly_alike.then(|| v.iter().map(|v| v.abs() * 2.0 / all).collect())
    }

    /// The SVM on the drawn rows, with padded kernel `gram`; `None` if cancelled.
    pub(super) fn solve(
        &self,
        kernel: usize,
        gram: &Matrix,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Weak>> {
        let problem =
            smo::Problem { gram: gram.into(), rows: &self.order, positive: &self.positive, upper: &self.upper };
        let start = self.start(gram);
        let solved = smo::solve(&problem, &self.options, start.as_deref(), cancelled)
            .map_err(|error| Error::input(format!("kernel {kernel} of the bank, counted from 0: {error}")))?;
        let Some(solution) = solved else { return Ok(None) };
        let (mut support, mut coef) = (vec![], vec![]);
        for (at, &alpha) in solution.alpha.iter().enumerate().filter(|&(_, &alpha)| alpha > 0.0) {
            support.push(at);
            coef.push(if self.positive[at] { alpha } else { -alpha });
        }
        Ok(Some(Weak { kernel, bias: solution.bias, support, coef, converged: solution.converged }))
    }
}

/// An SVM; its support points are indices into the drawn rows.
#[derive(Clone, Debug)]
pub(super) struct Weak {
    pub(super) kernel: usize,
    pub(super) bias: f64,
    pub(super) support: Vec<usize>,
    pub(super) coef: Vec<f64>,
    pub(super) converged: bool,
}

impl Weak {
    /// The classifier that always predicts `class`.
    pub(super) fn constant(kernel: usize, class: bool) -> Weak {
        let bias = if class { 1.0 } else { -1.0 };
        Weak { kernel, bias, support: vec![], coef: vec![], converged: true }
    }
}

/// `out += sum_k coef_k rows_k`, one after the other; shared by training and prediction, for the same sums in the same
/// order.
pub(super) fn add_rows<'a>(coef: &[f64], rows: impl Iterator<Item = &'a [f64]>, out: &mut [f64]) {
    let mut four = [(0.0, &[][..]); 4];
    let mut n = 0;
    for (&coef, row) in coef.iter().zip(rows) {
        four[n] = (coef, row);
        n += 1;
        if n == 4 {
            f64::add_four(four.map(|(coef, _)| coef), four.map(|(_, row)| row), out);
            n = 0;
        }
    }
    for &(coef, row) in &four[..n] {
        f64::add_scaled(coef, row, out);
    }
}
