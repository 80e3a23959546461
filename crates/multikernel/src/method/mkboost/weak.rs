//! The weak learner: an SVM on the drawn rows of one kernel, and what it says of all rows.

use crate::dist::Rng;
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::simd::Real;
use crate::solve::smo;

/// Iterations after which an SVM on a few rows is taken as it is.
const MOST_ITERATIONS: u64 = 1_000_000;

/// The rows of one trial: each once, ascending, and how often it was drawn.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Drawn {
    pub(super) rows: Vec<usize>,
    pub(super) times: Vec<usize>,
}

impl Drawn {
    /// `n` rows with replacement, each with a chance in proportion to its weight.
    pub(super) fn new(weights: &[f64], n: usize, rng: &mut Rng) -> Drawn {
        let mut total = 0.0;
        let sums: Vec<f64> = weights
            .iter()
            .map(|weight| {
                total += weight;
                total
            })
            .collect();
        // The last row with a weight, for a product that rounds up to the total.
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

/// The two-class problem of one trial, the same for all kernels.
pub(super) struct Trial {
    /// The drawn rows among those of the pair.
    pub(super) rows: Vec<usize>,
    /// 0, 1, ..., one for each of them.
    order: Vec<usize>,
    positive: Vec<bool>,
    upper: Vec<f64>,
    options: smo::Options,
}

impl Trial {
    /// The drawn rows of a pair whose rows are `positive` or not.
    pub(super) fn new(drawn: Drawn, positive: &[bool], c: f64, tol: f64) -> Trial {
        Trial {
            order: (0..drawn.rows.len()).collect(),
            positive: drawn.rows.iter().map(|&i| positive[i]).collect(),
            upper: drawn.times.iter().map(|&times| c * times as f64).collect(),
            rows: drawn.rows,
            options: smo::Options { tolerance: tol, max_iter: MOST_ITERATIONS, ..Default::default() },
        }
    }

    /// The class of all drawn rows, if they are of one.
    pub(super) fn only_class(&self) -> Option<bool> {
        let first = *self.positive.first()?;
        self.positive.iter().all(|&positive| positive == first).then_some(first)
    }

    /// The SVM on the drawn rows, whose kernel is `gram`; `None` when cancelled.
    pub(super) fn solve(
        &self,
        kernel: usize,
        gram: &Matrix,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Weak>> {
        let problem = smo::Problem { gram, rows: &self.order, positive: &self.positive, upper: &self.upper };
        let solved = smo::solve(&problem, &self.options, None, cancelled)
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

/// An SVM; support points are places among the drawn rows.
#[derive(Clone, Debug)]
pub(super) struct Weak {
    pub(super) kernel: usize,
    pub(super) bias: f64,
    pub(super) support: Vec<usize>,
    pub(super) coef: Vec<f64>,
    pub(super) converged: bool,
}

impl Weak {
    /// The constant classifier of a class.
    pub(super) fn constant(kernel: usize, class: bool) -> Weak {
        let bias = if class { 1.0 } else { -1.0 };
        Weak { kernel, bias, support: vec![], coef: vec![], converged: true }
    }
}

/// `out += sum_k coef_k rows_k`, one after the other, as training and prediction both do it: the same sums in the same order.
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
