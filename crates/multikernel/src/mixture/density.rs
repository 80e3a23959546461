//! Densities of many rows under all clusters.

use super::cluster::{Cluster, Scratch, fill};
use super::loops::SIDE;
use super::sweep::one;
use super::{Mixture, Shape};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::simd::{exp, ln};

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

    /// Log density of each training row given the others, in batches of rows: what a new row of the same kind would have.
    ///
    /// Cost: as [`Mixture::ln_joint_densities`]; a row far from its own cluster costs a pass over that cluster.
    pub(crate) fn ln_densities_left_out(&self, rows: &Matrix, pool: &Pool) -> Result<Vec<f64>> {
        const ROWS: usize = 128 * BATCH;
        let (d, width, members) = (rows.n_cols(), self.parts.len() + 1, self.members());
        let scale = ln((rows.n_rows() - 1) as f64 + self.prior.alpha);
        let mut found = Vec::with_capacity(rows.n_rows());
        for (batch, data) in rows.data().chunks(ROWS * d).enumerate() {
            let mut joint = self.ln_joint_densities(&Matrix::from_vec(data.len() / d, d, data.to_vec())?, pool)?;
            pool.chunks_mut(joint.data_mut(), BATCH * width, |chunk, out| {
                let mut scratch = Scratch::new(d);
                for (s, joint) in out.chunks_mut(width).enumerate() {
                    let i = batch * ROWS + chunk * BATCH + s;
                    joint[self.clusters[i]] = self.own_joint_without(rows, i, &members, &mut scratch);
                }
            });
            found.extend(joint.rows().map(|joint| ln_sum(joint) - scale));
        }
        Ok(found)
    }

    /// ln of `(n_k - 1) t(x | the others of k)` for row i and its own cluster k.
    fn own_joint_without(&self, rows: &Matrix, i: usize, members: &[Vec<usize>], scratch: &mut Scratch) -> f64 {
        let (k, row, shape) = (self.clusters[i], rows.row(i), self.prior.shape);
        if self.parts[k].n == 1 {
            return f64::NEG_INFINITY;
        }
        self.parts[k].ln_joint_without(shape, row, scratch).unwrap_or_else(|| {
            let others: Vec<usize> = members[k].iter().copied().filter(|&other| other != i).collect();
            one(&self.prior, rows, &others).ln_joint(shape, row, scratch)
        })
    }
}

/// ln of the sum of what these are the logarithms of.
fn ln_sum(values: &[f64]) -> f64 {
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + ln(values.iter().map(|value| exp(value - most)).sum())
}

/// The densities of one block, written to one row of `out` per row.
fn write(parts: &[&Cluster], shape: Shape, block: &[f64], scratch: &mut Scratch, out: &mut [f64]) {
    for (k, part) in parts.iter().enumerate() {
        let found = part.ln_joints(shape, block, scratch);
        out.chunks_exact_mut(parts.len()).zip(found).for_each(|(out, value)| out[k] = value);
    }
}
