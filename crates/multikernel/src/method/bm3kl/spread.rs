//! likelihood=logit, numbers: the variance of functions at new rows, and probabilities that take it into account.

use super::logit::side;
use crate::dist::logistic_normal_mean;
use crate::error::Result;
use crate::file::{Codec, Field, Record, record};
use crate::kernel::Kernel;
use crate::linalg::{Matrix, dot};
use crate::pool::Pool;
use crate::stack::Stack;

record! {
    /// What the variance of a function at a new row needs from each kept draw.
    #[derive(Clone, Debug)]
    pub(super) struct Spread {
        tau: f64,
        /// The combined kernel between a new row and itself.
        diagonals: Vec<f64>,
        /// The factor on the combined kernel, `scale nu`.
        amplitudes: Vec<f64>,
        /// The factor of S: its lower triangle with the diagonal, row by row.
        factors: Vec<f64>,
    }
}

/// Stored if it is there: files of classes under likelihood=margin are unchanged.
impl Field for Option<Spread> {
    fn put(&self, name: &str, record: &mut Record) {
        if let Some(spread) = self {
            record.put_record(name, spread.encode());
            record.needs_fourth_version();
        }
    }

    fn take(name: &str, record: &Record) -> Result<Self> {
        let inner = record.take_record(name);
        if inner.is_empty() { Ok(None) } else { Spread::decode(&inner).map(Some) }
    }
}

/// Where a variance is wanted.
struct At {
    row: usize,
    draw: usize,
    function: usize,
}

/// Rows whose variances are computed together.
const LANES: usize = 8;
/// Bytes of combined kernels of new rows in memory at a time.
const BLOCK_BYTES: usize = 64 << 20;

impl Spread {
    /// `weights` has a row for each kept draw, or one for all.
    pub(super) fn new(
        stack: &Stack,
        pool: &Pool,
        tau: f64,
        weights: &Matrix,
        amplitudes: Vec<f64>,
        factors: Vec<f64>,
    ) -> Result<Spread> {
        let at_rows = stack.diagonals(pool)?;
        let mean = |m: usize| at_rows.column(m).iter().sum::<f64>() / at_rows.n_rows().max(1) as f64;
        let itself = |(m, kernel): (usize, &&Kernel)| if kernel.has_unit_diagonal() { 1.0 } else { mean(m) };
        let of_kernels: Vec<f64> = stack.kernels().iter().enumerate().map(itself).collect();
        let of_draw = |k: usize| dot(weights.row(if weights.n_rows() == 1 { 0 } else { k }), &of_kernels);
        Ok(Spread { tau, diagonals: (0..amplitudes.len()).map(of_draw).collect(), amplitudes, factors })
    }

    /// Whether there is a factor of n rows for each function of each of the kept draws.
    pub(super) fn fits(&self, kept: usize, n_functions: usize, n: usize) -> bool {
        let factors = kept.saturating_mul(n_functions);
        self.amplitudes.len() == kept
            && self.diagonals.len() == kept
            && factors > 0
            && self.factors.len().is_multiple_of(factors)
            && side(self.factors.len() / factors) == Some(n)
            && self.tau > 0.0
    }

    /// The variance of a function of a draw at up to [`LANES`] rows, whose combined kernels with the points are given:
    /// `k(x, x) + tau - |L^-1 (k_x + tau)|^2`, with the amplitude in k.
    fn variances_at(&self, draw: usize, factor: &[f64], kernels: &[&[f64]]) -> [f64; LANES] {
        let (n, amplitude) = (kernels[0].len(), self.amplitudes[draw]);
        let mut solved: Vec<[f64; LANES]> = Vec::with_capacity(n);
        let mut lengths = [0.0; LANES];
        for i in 0..n {
            let row = &factor[i * (i + 1) / 2..][..=i];
            let mut rest = [0.0; LANES];
            kernels.iter().zip(&mut rest).for_each(|(kernel, rest)| *rest = amplitude * kernel[i] + self.tau);
            for (l, solved) in row.iter().zip(&solved) {
                rest.iter_mut().zip(solved).for_each(|(rest, solved)| *rest -= l * solved);
            }
            rest.iter_mut().for_each(|rest| *rest /= row[i]);
            lengths.iter_mut().zip(&rest).for_each(|(length, rest)| *length += rest * rest);
            solved.push(rest);
        }
        // Rounding must not make it negative.
        lengths.map(|length| (amplitude * self.diagonals[draw] + self.tau - length).max(0.0))
    }

    /// Calls `add` for each row, draw and function with the variance there and the row's `width` numbers of `sums`.
    /// `weights` has a row for each draw, or one for all.
    fn over_draws(
        &self,
        (stack, weights): (&Stack, &Matrix),
        n_functions: usize,
        (sums, width): (&mut [f64], usize),
        pool: &Pool,
        add: impl Fn(At, f64, &mut [f64]) + Sync,
    ) -> Result<()> {
        let (n_rows, n_draws, shared) = (stack.n_rows(), self.amplitudes.len(), weights.n_rows() == 1);
        let together = (BLOCK_BYTES / (8 * n_rows * stack.n_cols()).max(1)).clamp(1, n_draws);
        let size = stack.n_cols() * (stack.n_cols() + 1) / 2;
        for first in (0..n_draws).step_by(together) {
            let draws = first..(first + together).min(n_draws);
            let places: Vec<usize> = if shared { vec![0] } else { draws.clone().collect() };
            let kernels = stack.combine(&weights.select_rows(&places).transposed(), pool)?;
            // Several rows at a time read each factor once.
            pool.chunks_mut(sums, LANES * width, |block, sums| {
                for (draw, function) in draws.clone().flat_map(|draw| (0..n_functions).map(move |c| (draw, c))) {
                    let kernel = &kernels[if shared { 0 } else { draw - first }];
                    let rows: Vec<&[f64]> = (0..sums.len() / width).map(|r| kernel.row(block * LANES + r)).collect();
                    let factor = &self.factors[(draw * n_functions + function) * size..][..size];
                    let variances = self.variances_at(draw, factor, &rows);
                    for ((r, sums), variance) in sums.chunks_exact_mut(width).enumerate().zip(variances) {
                        add(At { row: block * LANES + r, draw, function }, variance, sums);
                    }
                }
            });
        }
        Ok(())
    }

    /// The probability of the first class for each row: the logistic function averaged over the function of each draw
    /// at the row, and over draws. `decisions` are the mean functions without `biases`, rows x draws.
    pub(super) fn probabilities(
        &self,
        stack: &Stack,
        weights: &Matrix,
        decisions: &Matrix,
        biases: &[f64],
        pool: &Pool,
    ) -> Result<Vec<f64>> {
        let (mut sums, share) = (vec![0.0; stack.n_rows()], 1.0 / biases.len() as f64);
        self.over_draws((stack, weights), 1, (&mut sums, 1), pool, |at, variance, sum| {
            sum[0] += share * logistic_normal_mean(decisions.get(at.row, at.draw) + biases[at.draw], variance);
        })?;
        Ok(sums)
    }

    /// The variance of each function (columns) at each row, averaged over draws.
    pub(super) fn variances(&self, stack: &Stack, weights: &Matrix, n_functions: usize, pool: &Pool) -> Result<Matrix> {
        let (mut sums, share) = (Matrix::zeros(stack.n_rows(), n_functions), 1.0 / self.amplitudes.len() as f64);
        let out = (sums.data_mut(), n_functions);
        self.over_draws((stack, weights), n_functions, out, pool, |at, variance, sum| {
            sum[at.function] += share * variance;
        })?;
        Ok(sums)
    }
}
