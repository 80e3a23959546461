//! Kernel rows of a view as contiguous slices: borrowed if the view allows it, otherwise gathered on first use and kept
//! in a bounded cache.

use crate::linalg::{Matrix, Matrix32};
use crate::simd::Real;

/// Memory for gathered rows. A dropped row costs one gather, about as much as one iteration on it, so a tight bound
/// slows a large problem down by at most a factor of two.
const CACHE_BYTES: usize = 128 << 20;
/// Marks a row that is not in the cache.
const ABSENT: usize = usize::MAX;

/// A Gram matrix to solve on.
#[derive(Clone, Copy, Debug)]
pub enum Gram<'a> {
    /// Eight bytes a value.
    F64(&'a Matrix),
    /// Four bytes a value; rows are widened when they are used, so sums are `f64` all the same.
    F32(&'a Matrix32),
}

impl<'a> From<&'a Matrix> for Gram<'a> {
    fn from(matrix: &'a Matrix) -> Self {
        Gram::F64(matrix)
    }
}

impl<'a> From<&'a Matrix32> for Gram<'a> {
    fn from(matrix: &'a Matrix32) -> Self {
        Gram::F32(matrix)
    }
}

impl Gram<'_> {
    /// Rows and columns.
    pub(super) fn shape(self) -> (usize, usize) {
        match self {
            Gram::F64(gram) => (gram.n_rows(), gram.n_cols()),
            Gram::F32(gram) => (gram.n_rows(), gram.n_cols()),
        }
    }

    /// The value at row `i`, column `j`.
    pub(super) fn get(self, i: usize, j: usize) -> f64 {
        match self {
            Gram::F64(gram) => gram.get(i, j),
            Gram::F32(gram) => gram.get(i, j),
        }
    }

    /// Appends some columns of row `i` to `out`.
    fn gather(self, i: usize, cols: &[usize], is_run: bool, out: &mut Vec<f64>) {
        match self {
            Gram::F64(gram) => out.extend(cols.iter().map(|&c| gram.row(i)[c])),
            Gram::F32(gram) if is_run => {
                let run = &gram.row(i)[cols[0]..cols[0] + cols.len()];
                out.resize(run.len(), 0.0);
                f32::widen_into(run, out);
            }
            Gram::F32(gram) => out.extend(cols.iter().map(|&c| f64::from(gram.row(i)[c]))),
        }
    }
}

/// The square matrix `gram[cols, cols]`, row by row.
#[derive(Debug)]
pub(super) struct GramRows<'a> {
    gram: Gram<'a>,
    cols: Vec<usize>,
    store: Store<'a>,
}

#[derive(Debug)]
enum Store<'a> {
    /// `cols` is a contiguous range: a row is a slice of a row of the Gram matrix.
    Borrowed { gram: &'a Matrix, start: usize },
    /// Gathered rows; `slot_of[i]` is the slot of row `i`, `owner[s]` the row in slot `s`, `hand` the next slot to
    /// evict.
    Cached { slots: Vec<Vec<f64>>, slot_of: Vec<usize>, owner: Vec<usize>, hand: usize, n_slots: usize, is_run: bool },
}

impl<'a> GramRows<'a> {
    /// The view of `gram` on `cols` (all smaller than its size).
    pub(super) fn new(gram: Gram<'a>, cols: Vec<usize>) -> Self {
        let n_slots = CACHE_BYTES / (size_of::<f64>() * cols.len().max(1));
        GramRows::bounded(gram, cols, n_slots)
    }

    /// As [`GramRows::new`] with room for `n_slots` rows, at least two: an iteration needs a pair.
    fn bounded(gram: Gram<'a>, cols: Vec<usize>, n_slots: usize) -> Self {
        let is_run = cols.first().is_some_and(|&start| cols.iter().enumerate().all(|(i, &c)| c == start + i));
        let store = match gram {
            Gram::F64(gram) if is_run => Store::Borrowed { gram, start: cols[0] },
            _ => Store::Cached {
                is_run,
                slots: Vec::new(),
                slot_of: vec![ABSENT; cols.len()],
                owner: Vec::new(),
                hand: 0,
                n_slots: n_slots.max(2),
            },
        };
        GramRows { gram, cols, store }
    }

    /// The whole Gram matrix.
    pub(super) fn gram(&self) -> Gram<'a> {
        self.gram
    }

    /// Column of the Gram matrix for each position.
    pub(super) fn cols(&self) -> &[usize] {
        &self.cols
    }

    /// Makes row `i` available to [`GramRows::row`], without evicting row `keep`.
    pub(super) fn fetch(&mut self, i: usize, keep: usize) {
        let Store::Cached { slots, slot_of, owner, hand, n_slots, is_run } = &mut self.store else { return };
        if slot_of[i] != ABSENT {
            return;
        }
        let slot = if slots.len() < *n_slots {
            slots.push(Vec::with_capacity(self.cols.len()));
            owner.push(i);
            slots.len() - 1
        } else {
            // Oldest first, skipping the row in use.
            if owner[*hand] == keep {
                *hand = (*hand + 1) % *n_slots;
            }
            let slot = *hand;
            *hand = (*hand + 1) % *n_slots;
            slot_of[owner[slot]] = ABSENT;
            owner[slot] = i;
            slots[slot].clear();
            slot
        };
        slot_of[i] = slot;
        self.gram.gather(self.cols[i], &self.cols, *is_run, &mut slots[slot]);
    }

    /// Row `i`, which was fetched last or kept by the last fetch.
    pub(super) fn row(&self, i: usize) -> &[f64] {
        match &self.store {
            Store::Borrowed { gram, start } => &gram.row(self.cols[i])[*start..*start + self.cols.len()],
            Store::Cached { slots, slot_of, .. } => &slots[slot_of[i]],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;

    fn gram(n: usize) -> Matrix {
        Matrix::from_fn(n, n, |i, j| (i * 1000 + j) as f64)
    }

    #[test]
    fn run_of_columns_is_borrowed() {
        let gram = gram(6);
        let mut rows = GramRows::new((&gram).into(), vec![2, 3, 4]);
        rows.fetch(1, 0);
        assert!(std::ptr::eq(rows.row(1), &gram.row(3)[2..5]));
    }

    #[test]
    fn cache_smaller_than_the_view_keeps_the_pair_in_use() {
        let gram = gram(30);
        let narrow = Matrix32::of(&gram);
        let mixed: Vec<usize> = (0..30).rev().step_by(2).collect();
        let run: Vec<usize> = (4..21).collect();
        let views = [(Gram::F64(&gram), &mixed), (Gram::F32(&narrow), &mixed), (Gram::F32(&narrow), &run)];
        for ((view, cols), n_slots) in views.into_iter().flat_map(|view| [2, 3, 5].map(|n_slots| (view, n_slots))) {
            let mut rows = GramRows::bounded(view, cols.clone(), n_slots);
            let mut rng = Rng::new(5, 0);
            for _ in 0..500 {
                let (i, j) = (rng.below(cols.len()), rng.below(cols.len()));
                rows.fetch(i, i);
                rows.fetch(j, i);
                for t in [i, j] {
                    let want: Vec<f64> = cols.iter().map(|&c| gram.get(cols[t], c)).collect();
                    assert_eq!(rows.row(t), want);
                }
            }
        }
    }
}
