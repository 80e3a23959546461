//! State of the inference: only the distributions that a round of updates starts from.

use std::sync::Arc;

use crate::data::Target;
use crate::error::Result;
use crate::file::{Cache, record};
use crate::linalg::Matrix;
use crate::method::problems::positive_classes;
use crate::run::Task;

record! {
    /// The inferred distributions after a round, for N rows, P kernels and c two-class problems or numbers. Outputs of
    /// single kernels are not kept: a round starts by computing them.
    #[derive(Clone, Debug, Default)]
    pub struct Beliefs {
        /// The lower bound after each round.
        pub(super) bounds: Vec<f64>,
        pub(super) converged: bool,
        /// Means of the sample weights, N x c, and of their squares.
        pub(super) samples: Matrix,
        pub(super) squares: Matrix,
        /// Means of the decisions, N x c; the numbers themselves.
        pub(super) decisions: Matrix,
        /// Mean precision of the noise on decisions: 1 for classes.
        pub(super) precision: f64,
        /// Means of the c biases, then of the P kernel weights, and their covariance.
        pub(super) weights: Vec<f64>,
        pub(super) covariance: Matrix,
        /// `sum_m K_m K_m`, which depends on the data alone.
        pub(super) powers: Cache<Arc<Matrix>>,
    }
}

impl Beliefs {
    /// Whether the arrays fit the data.
    pub(super) fn fits(&self, task: &Task<'_>) -> Result<bool> {
        if self.bounds.is_empty() {
            return Ok(true);
        }
        let (n, c) = (task.n_samples(), n_problems(task));
        let size = c + task.stack()?.n_kernels();
        let shape = |matrix: &Matrix| (matrix.n_rows(), matrix.n_cols());
        Ok([&self.samples, &self.squares, &self.decisions].iter().all(|matrix| shape(matrix) == (n, c))
            && self.weights.len() == size
            && shape(&self.covariance) == (size, size)
            && self.precision.is_finite()
            && self.precision > 0.0)
    }
}

/// Two-class problems, or numbers.
fn n_problems(task: &Task<'_>) -> usize {
    match task.target {
        Target::Numbers(numbers) => numbers.n_targets(),
        _ => positive_classes(task.labels).len(),
    }
}
