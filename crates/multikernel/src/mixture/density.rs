//! Densities of many rows under all clusters.

use super::cluster::{Cluster, Scratch, fill};
use super::loops::SIDE;
use super::{Mixture, Shape};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::pool::Pool;

/// Rows that one thread takes at a time.
const BATCH: usize = 8 * SIDE;

impl Mixture {
    /// ln of `n_k t(x | k)` for each row and cluster, n x (K + 1); the last column is ln of `alpha t(x | prior)`. Every
    /// entry is finite, however far away a row is.
    ///
    /// Cost: n K d^2 / 2 fused products (diagonal: n K d), shared among threads; the same bits for any number of them
    /// and for a single row.
    pub(crate) fn ln_joint_densities(&self, rows: &Matrix, pool: &Pool) -> Result<Matrix> {
        let (n, d, width) = (rows.n_rows(), rows.n_cols(), self.parts.len() + 1);
        if d != self.prior.mean.len() {
            let own = self.prior.mean.len();
            return Err(Error::input(format!("new rows have {d} columns, those of the mixture {own}")));
        }
        let mut found = Matrix::try_zeros(n, width)
            .ok_or_else(|| Error::input(format!("no memory for the densities of {n} rows in {width} clusters")))?;
        let empty = Cluster::empty(&self.prior);
        let parts: Vec<&Cluster> = self.parts.iter().chain([&empty]).collect();
        pool.chunks_mut(found.data_mut(), BATCH * width, |batch, out| {
            let (mut block, mut scratch) = (vec![0.0; d * SIDE], Scratch::new(d));
            for (b, out) in out.chunks_mut(SIDE * width).enumerate() {
                let (first, count) = (batch * BATCH + b * SIDE, out.len() / width);
                fill(&mut block, (first..first + count).map(|i| rows.row(i)));
                write(&parts, self.prior.shape, &block, &mut scratch, out);
            }
        });
        Ok(found)
    }
}

/// The densities of one block, written to one row of `out` per row.
fn write(parts: &[&Cluster], shape: Shape, block: &[f64], scratch: &mut Scratch, out: &mut [f64]) {
    for (k, part) in parts.iter().enumerate() {
        let found = part.ln_joints(shape, block, scratch);
        out.chunks_exact_mut(parts.len()).zip(found).for_each(|(out, value)| out[k] = value);
    }
}
