//! A fixed set of points for tables with very many rows: explicit (Nyström) features of the combined kernel.
//!
//! With landmarks Z the features of a row are `u(x) = L^-1 k_Z(x)`, `K_ZZ + eps I = L L'`, in the combined kernel of
//! each function. A gradient step adds `u(x)` to the weights, which is `v = (K_ZZ + eps I)^-1 k_Z(x)` for the
//! coefficients of the landmarks: they are still shared by all kernels, and the model has only the landmarks as points.
//! A row costs one kernel value per landmark, a learned row also a triangular solve; neither grows with the number of
//! rows. The part of the kernel outside the span of the landmarks is lost: much for narrow kernels.

use std::sync::Arc;

use super::expansion::{Event, Expansion, Goal};
use crate::error::{Error, Result};
use crate::linalg::{Matrix, dot};
use crate::pool::Pool;
use crate::run::Task;
use crate::solve::cholesky::Cholesky;
use crate::stack::{Mixture, Stack};

/// Added to the diagonal, relative to it: the initial value, and its growth factor after each failure.
const RIDGE: f64 = 1e-8;
const RIDGE_GROWTH: f64 = 100.0;

/// The random stream of the draw.
const DRAW: u64 = 1 << 41;

/// This many random rows, ascending; all if there are fewer.
pub(in crate::method) fn draw(task: &Task<'_>, n: usize) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..task.n_samples()).collect();
    task.rng(DRAW, 0).shuffle(&mut rows);
    rows.truncate(n);
    rows.sort_unstable();
    rows
}

/// The factor of the combined kernel among the landmarks, for each function or one for all.
pub(super) fn factors(stack: &Stack, mixture: &Mixture, points: &[usize], pool: &Pool) -> Result<Arc<Vec<Cholesky>>> {
    let kernels = stack.view(points)?.mix(mixture, pool)?;
    let factor = |kernel: Matrix| -> Result<Cholesky> {
        let diagonal = (0..kernel.n_rows()).map(|i| kernel.get(i, i)).sum::<f64>() / kernel.n_rows().max(1) as f64;
        let mut ridge = RIDGE * diagonal.max(f64::MIN_POSITIVE);
        loop {
            let mut shifted = kernel.clone();
            (0..shifted.n_rows()).for_each(|i| shifted.set(i, i, shifted.get(i, i) + ridge));
            match Cholesky::new(shifted, pool, &|| false) {
                Err(Error::NotDefinite { .. }) if ridge < diagonal => ridge *= RIDGE_GROWTH,
                found => return found,
            }
        }
    };
    Ok(Arc::new(kernels.into_iter().map(factor).collect::<Result<_>>()?))
}

/// Learns the rows of a block, like [`walk`](super::expansion::walk): `unit` is asked for the scale of raw scores before
/// each row, and `next` is told whether it is learned and returns when and how much. Returns how many were.
pub(super) fn walk<R>(
    (kernels, factors): (&[Matrix], &[Cholesky]),
    goal: Goal<'_>,
    expansion: &mut Expansion,
    rule: &mut R,
    unit: impl Fn(&R) -> f64,
    mut next: impl FnMut(&mut R, bool) -> (u64, f64),
) -> Result<u64> {
    let n_functions = expansion.n_functions();
    let of = |m: usize| m.min(kernels.len() - 1);
    let columns = |matrix: &Matrix| (0..n_functions).map(|m| matrix.column(m)).collect::<Vec<_>>();
    let (mut coefficients, mut times) = (columns(&expansion.coefficients), columns(&expansion.times));
    let mut learned = 0;
    let mut scores = Matrix::from_fn(goal.n_rows(), n_functions, |i, m| dot(kernels[of(m)].row(i), &coefficients[m]));
    for row in 0..goal.n_rows() {
        let miss = goal.miss(row, scores.row(row), unit(rule));
        let (time, most) = next(rule, miss.is_some());
        let Some(miss) = miss else { continue };
        learned += 1;
        let mut features = vec![vec![]; n_functions];
        for m in miss.functions(n_functions) {
            let right = Matrix::from_vec(kernels[of(m)].n_cols(), 1, kernels[of(m)].row(row).to_vec())?;
            features[m] = factors[of(m)].solve(&right)?.into_data();
        }
        let lesson = miss.lesson(most, |m| dot(kernels[of(m)].row(row), &features[m]));
        for (m, delta) in (Event { row, lesson, time }).parts(n_functions).filter(|&(_, delta)| delta != 0.0) {
            let v = &features[m];
            for later in row + 1..goal.n_rows() {
                scores.row_mut(later)[m] += delta * dot(kernels[of(m)].row(later), v);
            }
            crate::linalg::axpy(delta, v, &mut coefficients[m]);
            crate::linalg::axpy(delta * time as f64, v, &mut times[m]);
        }
    }
    let rows = |columns: &[Vec<f64>]| Matrix::from_fn(expansion.points.len(), n_functions, |i, m| columns[m][i]);
    (expansion.coefficients, expansion.times) = (rows(&coefficients), rows(&times));
    Ok(learned)
}
