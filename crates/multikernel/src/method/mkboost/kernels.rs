//! The kernels of one pair of classes while it is boosted: whole where that is not too much, else piece by piece.

use super::weak::{Trial, Weak, add_rows};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::stack::Stack;

/// Most bytes of kernels in the hand at a time, over all pairs that are boosted side by side.
pub(super) const WORKING: u64 = 512 << 20;

/// The kernels between the rows of one pair.
#[derive(Clone, Debug)]
pub(super) enum Held {
    /// A matrix for each.
    Whole(Vec<Matrix>),
    /// Too large: pieces are asked for at every trial.
    Pieces(Stack),
}

/// An SVM and its decisions about all rows of the pair.
pub(super) type Decided = (Weak, Vec<f64>);

/// Bytes of `n_kernels` kernels between points.
pub(super) fn bytes(n_kernels: usize, n_rows: usize, n_cols: usize) -> u64 {
    [n_kernels, n_rows, n_cols].into_iter().fold(8, |product: u64, n| product.saturating_mul(n as u64))
}

impl Held {
    /// The kernels of a stack between the rows of a pair.
    pub(super) fn new(stack: Stack, pool: &Pool) -> Result<Held> {
        if bytes(stack.n_kernels(), stack.n_rows(), stack.n_cols()) > WORKING {
            return Ok(Held::Pieces(stack));
        }
        match stack.matrices(pool) {
            Ok(matrices) => Ok(Held::Whole(matrices)),
            Err(Error::Memory { .. }) => Ok(Held::Pieces(stack)),
            Err(error) => Err(error),
        }
    }

    /// The SVMs of a trial on some of the kernels, in their order; `None` when cancelled.
    pub(super) fn learn(
        &self,
        trial: &Trial,
        kernels: &[usize],
        pool: &Pool,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Vec<Decided>>> {
        match self {
            Held::Whole(matrices) => {
                let learn = |k: usize| learn_whole(trial, kernels[k], &matrices[kernels[k]], cancelled);
                pool.map(kernels.len(), learn).into_iter().collect()
            }
            Held::Pieces(stack) => {
                let mut found = Vec::with_capacity(kernels.len());
                let at_once = WORKING / bytes(1, trial.rows.len(), trial.rows.len()).max(1);
                for some in kernels.chunks((at_once as usize).max(1)) {
                    let Some(learned) = learn_pieces(stack, trial, some, pool, cancelled)? else { return Ok(None) };
                    found.extend(learned);
                }
                Ok(Some(found))
            }
        }
    }
}

fn learn_whole(
    trial: &Trial,
    kernel: usize,
    matrix: &Matrix,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Decided>> {
    let n = trial.rows.len();
    let mut values = Vec::with_capacity(n * n);
    for &i in &trial.rows {
        let row = matrix.row(i);
        values.extend(trial.rows.iter().map(|&j| row[j]));
    }
    let gram = Matrix::from_vec(n, n, values)?;
    let Some(weak) = trial.solve(kernel, &gram, cancelled)? else { return Ok(None) };
    let mut decisions = vec![weak.bias; matrix.n_cols()];
    add_rows(&weak.coef, weak.support.iter().map(|&at| matrix.row(trial.rows[at])), &mut decisions);
    Ok(Some((weak, decisions)))
}

/// The same from two kinds of pieces: between the drawn rows, and between them and some of all rows.
fn learn_pieces(
    stack: &Stack,
    trial: &Trial,
    kernels: &[usize],
    pool: &Pool,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Vec<Decided>>> {
    let stack = stack.pick(kernels)?;
    let grams = stack.view(&trial.rows)?.matrices(pool)?;
    let solved = pool.map(kernels.len(), |k| trial.solve(kernels[k], &grams[k], cancelled));
    drop(grams);
    let Some(weak) = solved.into_iter().collect::<Result<Option<Vec<Weak>>>>()? else { return Ok(None) };
    let all: Vec<usize> = (0..stack.n_cols()).collect();
    let at_once = WORKING / bytes(kernels.len(), trial.rows.len(), 1).max(1);
    let mut decisions: Vec<Vec<f64>> = weak.iter().map(|_| Vec::with_capacity(all.len())).collect();
    for some in all.chunks((at_once as usize).max(1)) {
        let pieces = stack.between(&trial.rows, some)?.matrices(pool)?;
        let found = pool.map(kernels.len(), |k| {
            let mut out = vec![weak[k].bias; some.len()];
            add_rows(&weak[k].coef, weak[k].support.iter().map(|&at| pieces[k].row(at)), &mut out);
            out
        });
        decisions.iter_mut().zip(found).for_each(|(all, found)| all.extend(found));
    }
    Ok(Some(weak.into_iter().zip(decisions).collect()))
}
