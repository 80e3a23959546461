//! likelihood=logit: the variance of functions at new rows, and probabilities that take it into account.

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

/// Stored if it is there: files of likelihood=margin are unchanged.
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

    /// Whether there is a factor of n rows for each of the kept draws.
    pub(super) fn fits(&self, kept: usize, n: usize) -> bool {
        self.amplitudes.len() == kept
            && self.diagonals.len() == kept
            && kept > 0
            && self.factors.len().is_multiple_of(kept)
            && side(self.factors.len() / kept) == Some(n)
            && self.tau > 0.0
    }

    /// The variance of the function of a draw at a row whose combined kernel with the points is `kernel`:
    /// `k(x, x) + tau - |L^-1 (k_x + tau)|^2`, with the amplitude in k.
    fn variance(&self, draw: usize, kernel: &[f64]) -> f64 {
        let (n, amplitude) = (kernel.len(), self.amplitudes[draw]);
        let factor = &self.factors[draw * (n * (n + 1) / 2)..];
        let mut solved: Vec<f64> = Vec::with_capacity(n);
        for (i, kernel) in kernel.iter().enumerate() {
            let row = &factor[i * (i + 1) / 2..][..=i];
            solved.push((amplitude * kernel + self.tau - dot(&row[..i], &solved)) / row[i]);
        }
        // Rounding must not make it negative.
        (amplitude * self.diagonals[draw] + self.tau - dot(&solved, &solved)).max(0.0)
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
        let (n_rows, n_draws, shared) = (stack.n_rows(), biases.len(), weights.n_rows() == 1);
        let mut sums = vec![0.0; n_rows];
        let together = (BLOCK_BYTES / (8 * n_rows * stack.n_cols()).max(1)).clamp(1, n_draws);
        for first in (0..n_draws).step_by(together) {
            let draws = first..(first + together).min(n_draws);
            let places: Vec<usize> = if shared { vec![0] } else { draws.clone().collect() };
            let kernels = stack.combine(&weights.select_rows(&places).transposed(), pool)?;
            pool.chunks_mut(&mut sums, 1, |i, sum| {
                for draw in draws.clone() {
                    let kernel = kernels[if shared { 0 } else { draw - first }].row(i);
                    let mean = decisions.get(i, draw) + biases[draw];
                    sum[0] += logistic_normal_mean(mean, self.variance(draw, kernel)) / n_draws as f64;
                }
            });
        }
        Ok(sums)
    }
}
