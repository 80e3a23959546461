//! The kernels of one pair of classes during boosting: stored in full if they fit, else computed piece by piece.

use std::ops::Range;
use std::sync::Arc;

use super::weak::{KernelRows, Trial, Weak, add_rows};
use crate::error::Result;
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::stack::Stack;

/// Memory limit for kernels held at a time, over all pairs boosted in parallel.
pub(super) const WORKING: u64 = 512 << 20;

/// The kernels between the rows of one pair.
#[derive(Clone, Debug)]
pub(super) enum Held {
    /// Stored in full.
    Whole(Whole),
    /// Too large: pieces are computed in every trial.
    Pieces(Stack),
}

/// Kernels stored one below the other, on the rows of a pair or on more.
#[derive(Clone, Debug)]
pub(super) struct Whole {
    pub(super) kernels: Arc<Matrix>,
    /// The positions of the pair's rows, as two runs.
    pub(super) runs: [Range<usize>; 2],
}

/// An SVM and its decisions for all rows of the pair.
pub(super) type Decided = (Weak, Vec<f64>);

/// Bytes of `n_kernels` kernels between points.
pub(super) fn bytes(n_kernels: usize, n_rows: usize, n_cols: usize) -> u64 {
    [n_kernels, n_rows, n_cols].into_iter().fold(8, |product: u64, n| product.saturating_mul(n as u64))
}

/// How many pieces of this many bytes may be held at a time.
fn at_once(stack: &Stack, piece: u64) -> usize {
    ((WORKING.min(stack.room()) / piece.max(1)) as usize).max(1)
}

/// The kernels of a stack stored in full, if they fit.
pub(super) fn unfold(stack: &Stack, pool: &Pool) -> Result<Option<Arc<Matrix>>> {
    let size = bytes(stack.n_kernels(), stack.n_rows(), stack.n_cols());
    if size > WORKING.min(stack.room()) { Ok(None) } else { Ok(Some(Arc::new(stack.unfold(pool)?))) }
}

impl Held {
    /// The kernels of a stack between the rows of a pair.
    pub(super) fn new(stack: Stack, pool: &Pool) -> Result<Held> {
        Ok(match unfold(&stack, pool)? {
            Some(kernels) => {
                let n = kernels.n_cols();
                Held::Whole(Whole { kernels, runs: [0..n, n..n] })
            }
            None => Held::Pieces(stack),
        })
    }

    /// The SVMs of a trial on some of the kernels, in their order; `None` if cancelled.
    pub(super) fn learn(
        &self,
        trial: &Trial,
        kernels: &[usize],
        pool: &Pool,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Vec<Decided>>> {
        match self {
            Held::Whole(whole) => {
                let places = whole.places(&trial.rows);
                let learn = |k: usize| whole.learn(trial, &places, kernels[k], cancelled);
                pool.map(kernels.len(), learn).into_iter().collect()
            }
            Held::Pieces(stack) => {
                let mut found = Vec::with_capacity(kernels.len());
                let n = trial.rows.len();
                for some in kernels.chunks(at_once(stack, bytes(1, n, n))) {
                    let Some(learned) = learn_pieces(stack, trial, some, pool, cancelled)? else { return Ok(None) };
                    found.extend(learned);
                }
                Ok(Some(found))
            }
        }
    }
}

impl Whole {
    /// The positions of some rows of the pair.
    fn places(&self, rows: &[usize]) -> Vec<usize> {
        let all: Vec<usize> = self.runs.iter().cloned().flatten().collect();
        rows.iter().map(|&i| all[i]).collect()
    }

    fn learn(
        &self,
        trial: &Trial,
        places: &[usize],
        kernel: usize,
        cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Decided>> {
        let part = KernelRows { matrix: &self.kernels, top: kernel * self.kernels.n_cols() };
        let gram = trial.gram_at(part, places, &self.runs)?;
        let Some(weak) = trial.solve(kernel, &gram, cancelled)? else { return Ok(None) };
        let mut decisions = vec![weak.bias; self.runs.iter().map(Range::len).sum()];
        let mut rest = decisions.as_mut_slice();
        for run in &self.runs {
            let (here, after) = rest.split_at_mut(run.len());
            add_rows(&weak.coef, weak.support.iter().map(|&at| &part.row(places[at])[run.clone()]), here);
            rest = after;
        }
        Ok(Some((weak, decisions)))
    }
}

/// The same from two kinds of pieces: among the drawn rows, and between them and some of all rows.
fn learn_pieces(
    stack: &Stack,
    trial: &Trial,
    kernels: &[usize],
    pool: &Pool,
    cancelled: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Vec<Decided>>> {
    let (stack, n) = (stack.pick(kernels)?, trial.rows.len());
    let (grams, places) = (stack.view(&trial.rows)?.unfold(pool)?, (0..n).collect::<Vec<_>>());
    let gram = |k: usize| trial.gram_at(KernelRows { matrix: &grams, top: k * n }, &places, &[0..n, n..n]);
    let solved = pool.map(kernels.len(), |k| trial.solve(kernels[k], &gram(k)?, cancelled));
    drop(grams);
    let Some(weak) = solved.into_iter().collect::<Result<Option<Vec<Weak>>>>()? else { return Ok(None) };
    let all: Vec<usize> = (0..stack.n_cols()).collect();
    let mut decisions: Vec<Vec<f64>> = weak.iter().map(|_| Vec::with_capacity(all.len())).collect();
    for some in all.chunks(at_once(&stack, bytes(kernels.len(), n, 1))) {
        let matrix = stack.between(&trial.rows, some)?.unfold(pool)?;
        let found = pool.map(kernels.len(), |k| {
            let mut out = vec![weak[k].bias; some.len()];
            let part = KernelRows { matrix: &matrix, top: k * n };
            add_rows(&weak[k].coef, weak[k].support.iter().map(|&at| part.row(at)), &mut out);
            out
        });
        decisions.iter_mut().zip(found).for_each(|(all, found)| all.extend(found));
    }
    Ok(Some(weak.into_iter().zip(decisions).collect()))
}
