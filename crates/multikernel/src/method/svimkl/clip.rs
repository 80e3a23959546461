//! Kernels that are not positive semi-definite: the bound has no maximum with them, so they are rejected or clipped.

use crate::error::{Error, Result};
use crate::linalg::{Matrix, axpy, dot};
use crate::run::Task;
use crate::solve::cholesky::Cholesky;
use crate::solve::eigen::jacobi;

/// Tolerated negative eigenvalue, from rounding of the kernel or of the file it came from, relative to the largest
/// entry.
const SHIFT: f64 = 1e-6;
/// Maximum number of rows for computing eigenvectors: Jacobi's method takes about 60 N^3 operations.
const MAX_ROWS: usize = 500;

/// Clipped kernels: the eigenvectors of their negative eigenvalues, which are projected out.
#[derive(Clone, Debug, Default)]
pub(super) struct Clip {
    /// Kernel, eigenvectors (rows), and their eigenvalues.
    pub(super) kernels: Vec<(usize, Matrix, Vec<f64>)>,
}

impl Clip {
    /// Checks every kernel that is not known to be positive semi-definite.
    pub(super) fn new(task: &Task<'_>, allowed: bool, stop: &(dyn Fn() -> bool + Sync)) -> Result<Clip> {
        let stack = task.stack()?;
        let mut clip = Clip::default();
        let doubtful = |m: &usize| !stack.kernels()[*m].is_positive_semidefinite();
        for m in (0..stack.n_kernels()).filter(doubtful) {
            let one = Matrix::from_vec(1, 1, vec![1.0])?;
            let gram = stack.pick(&[m])?.combine(&one, task.pool)?.remove(0);
            if is_semidefinite(gram.clone(), task, stop)? {
                continue;
            }
            let name = stack.kernels()[m].to_string();
            if !allowed {
                return Err(Error::param(
                    "indefinite",
                    format!(
                        "kernel {} ({name}) has negative eigenvalues on the training rows, and the bound then grows without end; leave \
                         it out, or set indefinite=clip to take the negative part away",
                        m + 1
                    ),
                ));
            }
            if gram.n_rows() > MAX_ROWS {
                return Err(Error::param(
                    "indefinite",
                    format!(
                        "kernel {} ({name}) has negative eigenvalues; they can be clipped for up to {MAX_ROWS} rows, there are {}; \
                         leave it out, or train on fewer rows",
                        m + 1,
                        gram.n_rows()
                    ),
                ));
            }
            clip.kernels.push(negative(m, gram));
        }
        Ok(clip)
    }

    /// Projects negative eigenvectors out of values laid out function by function, row by row, kernel by kernel.
    pub(super) fn project(&self, values: &mut [f64], n_rows: usize, n_kernels: usize) {
        for (d, vectors, _) in &self.kernels {
            for function in values.chunks_exact_mut((n_rows * n_kernels).max(1)) {
                let mut column: Vec<f64> = (0..n_rows).map(|i| function[i * n_kernels + d]).collect();
                self.take_out(vectors, &mut column);
                column.iter().enumerate().for_each(|(i, &value)| function[i * n_kernels + d] = value);
            }
        }
    }

    fn take_out(&self, vectors: &Matrix, column: &mut [f64]) {
        for vector in vectors.rows() {
            let part = dot(vector, column);
            axpy(-part, vector, column);
        }
    }

    /// The sample weights of a clipped kernel, which replace those shared by all kernels.
    pub(super) fn samples(&self, k: usize, samples: &[f64]) -> Vec<f64> {
        let mut own = samples.to_vec();
        self.take_out(&self.kernels[k].1, &mut own);
        own
    }

    /// The sample weights of all clipped kernels, given those shared by all kernels (rows x functions): a column for each
    /// kernel and function.
    pub(super) fn own(&self, samples: &Matrix) -> Matrix {
        let columns: Vec<Vec<f64>> = (0..self.kernels.len())
            .flat_map(|k| (0..samples.n_cols()).map(move |c| (k, c)))
            .map(|(k, c)| self.samples(k, &samples.column(c)))
            .collect();
        Matrix::from_fn(if columns.is_empty() { 0 } else { samples.n_rows() }, columns.len(), |i, k| columns[k][i])
    }

    /// Adds the effect of clipping to a combination of all kernels with these weights.
    pub(super) fn mend(&self, weights: &[f64], combined: &mut Matrix) {
        for (d, vectors, values) in &self.kernels {
            for (vector, value) in vectors.rows().zip(values) {
                for i in 0..combined.n_rows() {
                    axpy(-weights[*d] * value * vector[i], vector, combined.row_mut(i));
                }
            }
        }
    }
}

fn is_semidefinite(mut gram: Matrix, task: &Task<'_>, stop: &(dyn Fn() -> bool + Sync)) -> Result<bool> {
    let n = gram.n_rows();
    let most = gram.data().iter().fold(0.0, |most: f64, value| most.max(value.abs()));
    let shift = SHIFT * most.max(f64::MIN_POSITIVE);
    (0..n).for_each(|i| gram.set(i, i, gram.get(i, i) + shift));
    match Cholesky::new(gram, task.pool, stop) {
        Err(Error::NotDefinite { .. }) => Ok(false),
        factor => factor.map(|_| true),
    }
}

fn negative(m: usize, gram: Matrix) -> (usize, Matrix, Vec<f64>) {
    let eigen = jacobi(gram);
    let below: Vec<usize> = (0..eigen.values.len()).filter(|&k| eigen.values[k] < 0.0).collect();
    (m, eigen.vectors.select_rows(&below), below.iter().map(|&k| eigen.values[k]).collect())
}
