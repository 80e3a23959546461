//! The second derivatives of the objective in the kernel weights.
//!
//! Where the dual variables at their bounds stay there, the free ones F solve `K_FF b_F + bias = y_F - K_FB b_B`, `sum b =
//! const`, so with `v_m = (K_m b)_F` a change of the weights moves them by `-P sum_m v_m dd_m`, `P = K_FF^-1 - K_FF^-1 1 1'
//! K_FF^-1 / (1' K_FF^-1 1)`, and the slopes of J, `-1/2 b'K_m b`, by `v_m' P v_l dd_l`. With the factor `K_FF = L L'` that
//! is `a_m' a_l` for `a_m = L^-1 v_m` without its component along `L^-1 1`. (Chapelle and Rakotomamonjy 2008, "Second order
//! optimization of kernel parameters".)

use super::{Objective, Point};
use crate::error::{Error, Result};
use crate::linalg::{Matrix, axpy, dot};
use crate::solve::cholesky::Cholesky;
use crate::solve::hull;

/// Added to the diagonal of kernels, relative to its mean: they may be of low rank.
const RIDGE: f64 = 1e-10;
/// Numbers that products of kernels with coefficients may take: 64 MiB.
const MOST_PRODUCTS: usize = 8 << 20;
/// The cubes of free variables that pay, as a multiple of the entries of the kernels at work: factors run that much faster
/// than passes, and there are ten times fewer of these than without second derivatives.
const MOST_CUBES: usize = 256;

/// `A A'`, the second derivatives for the kernels at work: a row of A for each.
pub(super) struct Curvature(Matrix);

impl Curvature {
    /// At a point with this combined kernel; `None` where they would cost more than they save, or the kernels at work are not
    /// positive definite enough. Every kernel with a weight has to be at work.
    pub(super) fn new(
        objective: &Objective<'_>,
        point: &Point,
        gram: &Matrix,
        active: &[usize],
    ) -> Result<Option<Curvature>> {
        let free: Vec<Vec<usize>> =
            objective.trainable.iter().map(|&p| objective.problems.free(p, &point.alpha)).collect();
        if !is_worthwhile(objective, &free, active.len()) {
            return Ok(None);
        }
        let products = products(objective, point, &free, active)?;
        let mut rows = Matrix::zeros(active.len(), free.iter().map(Vec::len).sum());
        let mut first = 0;
        for (free, products) in free.iter().zip(&products).filter(|(free, _)| free.len() > 1) {
            let Some(sides) = whitened(objective, gram, free, products)? else { return Ok(None) };
            for m in 0..active.len() {
                rows.row_mut(m)[first..first + free.len()].copy_from_slice(sides.row(m));
            }
            first += free.len();
        }
        Ok(Some(Curvature(rows)))
    }

    /// The minimum on the simplex of `gradient'(x - d) + 1/2 |A'(x - d)|^2`; `None` if numbers overflow.
    pub(super) fn lowest(&self, d: &[f64], gradient: &[f64]) -> Option<Vec<f64>> {
        let mut here = vec![0.0; self.0.n_cols()];
        self.0.rows().zip(d).for_each(|(row, &d)| axpy(d, row, &mut here));
        hull::nearest(&self.0, &here, gradient, d)
    }
}

/// Whether second derivatives cost little beside the steps they save.
fn is_worthwhile(objective: &Objective<'_>, free: &[Vec<usize>], n_active: usize) -> bool {
    let n = objective.task.n_samples();
    let numbers = n_active.saturating_mul(free.len().max(1)).saturating_mul(n);
    let cubes = free.iter().map(|free| (free.len() as u64).saturating_pow(3)).fold(0, u64::saturating_add);
    let entries = (MOST_CUBES * n_active) as u64 * (n as u64).saturating_pow(2);
    numbers <= MOST_PRODUCTS && cubes <= entries
}

/// `K_m b` at the free rows of each problem: a row for each kernel.
fn products(objective: &Objective<'_>, point: &Point, free: &[Vec<usize>], active: &[usize]) -> Result<Vec<Matrix>> {
    let (task, mut rows) = (objective.task, free.concat());
    rows.sort_unstable();
    rows.dedup();
    let (columns, coef) = objective.problems.coefficients(&point.alpha).support();
    let stack = task.stack()?.pick(active)?;
    // Rows and columns picked here and there take longer than those of the whole.
    let few = 4 * rows.len() * columns.len() < task.n_samples().pow(2);
    let applied = if few {
        stack.between(&rows, &columns)?.apply(&coef.to_matrix(), task.pool)?
    } else {
        rows = (0..task.n_samples()).collect();
        stack.apply(&objective.problems.coefficients(&point.alpha).to_matrix(), task.pool)?
    };
    let mut places = vec![0; task.n_samples()];
    rows.iter().enumerate().for_each(|(k, &i)| places[i] = k);
    let of = |(free, &p): (&Vec<usize>, &usize)| {
        Matrix::from_fn(active.len(), free.len(), |m, k| objective.sparsity * applied[m].get(places[free[k]], p))
    };
    Ok(free.iter().zip(&objective.trainable).map(of).collect())
}

/// `a_m` of one problem, a row for each kernel; `None` where the kernel has no factor.
fn whitened(objective: &Objective<'_>, gram: &Matrix, free: &[usize], products: &Matrix) -> Result<Option<Matrix>> {
    let (n, pool, control) = (free.len(), objective.task.pool, objective.control);
    let mut kernel = Matrix::from_fn(n, n, |i, j| gram.get(free[i], free[j]));
    let ridge = RIDGE * (0..n).map(|i| kernel.get(i, i)).sum::<f64>() / n as f64;
    (0..n).for_each(|i| kernel.set(i, i, kernel.get(i, i) + objective.problems.ridge(free[i]) + ridge));
    let factor = match Cholesky::new(kernel, pool, &|| control.stop().is_some()) {
        Err(Error::NotDefinite { .. }) => return Ok(None),
        factor => factor?,
    };
    let right = Matrix::from_fn(n, products.n_rows() + 1, |i, m| if m == 0 { 1.0 } else { products.get(m - 1, i) });
    let solved = factor.half_solve(&right)?.transposed();
    let (ones, mut sides) = (solved.row(0), Matrix::zeros(products.n_rows(), n));
    let length = dot(ones, ones);
    for m in 0..products.n_rows() {
        let (row, solved) = (sides.row_mut(m), solved.row(m + 1));
        row.copy_from_slice(solved);
        axpy(-dot(solved, ones) / length, ones, row);
    }
    Ok(Some(sides))
}
