//! Kernel rows of a view as contiguous slices: borrowed if the view allows it, otherwise gathered on first use and kept
//! in a bounded cache.

use crate::linalg::Matrix;

/// Memory for gathered rows. A dropped row costs one gather, about as much as one iteration on it, so a tight bound
/// slows a large problem down by at most a factor of two.
const CACHE_BYTES: usize = 128 << 20;
/// Marks a row that is not in the cache.
const ABSENT: usize = usize::MAX;

/// The square matrix `gram[cols, cols]`, row by row.
#[derive(Debug)]
pub(super) struct GramRows<'a> {
    gram: &'a Matrix,
    cols: Vec<usize>,
    store: Store,
}

#[derive(Debug)]
enum Store {
    /// `cols` is a contiguous range: a row is a slice of a row of the Gram matrix.
    Borrowed { start: usize },
    /// Gathered rows; `slot_of[i]` is the slot of row `i`, `owner[s]` the row in slot `s`, `hand` the next slot to
    /// evict.
    Cached { slots: Vec<Vec<f64>>, slot_of: Vec<usize>, owner: Vec<usize>, hand: usize, n_slots: usize },
}

impl<'a> GramRows<'a> {
    /// The view of `gram` on `cols` (all smaller than its size).
    pub(super) fn new(gram: &'a Matrix, cols: Vec<usize>) -> Self {
        let n_slots = CACHE_BYTES / (size_of::<f64>() * cols.len().max(1));
        GramRows::bounded(gram, cols, n_slots)
    }

    /// As [`GramRows::new`] with room for `n_slots` rows, at least two: an iteration needs a pair.
    fn bounded(gram: &'a Matrix, cols: Vec<usize>, n_slots: usize) -> Self {
        let store = match cols.first() {
            Some(&start) if cols.iter().enumerate().all(|(i, &c)| c == start + i) => Store::Borrowed { start },
            _ => Store::Cached {
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
    pub(super) fn gram(&self) -> &'a Matrix {
        self.gram
    }

    /// Column of the Gram matrix for each position.
    pub(super) fn cols(&self) -> &[usize] {
        &self.cols
    }

    /// Makes row `i` available to [`GramRows::row`], without evicting row `keep`.
    pub(super) fn fetch(&mut self, i: usize, keep: usize) {
        let Store::Cached { slots, slot_of, owner, hand, n_slots } = &mut self.store else { return };
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
        let source = self.gram.row(self.cols[i]);
        slots[slot].extend(self.cols.iter().map(|&c| source[c]));
    }

    /// Row `i`, which was fetched last or kept by the last fetch.
    pub(super) fn row(&self, i: usize) -> &[f64] {
        match &self.store {
            Store::Borrowed { start } => &self.gram.row(self.cols[i])[*start..*start + self.cols.len()],
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
        let mut rows = GramRows::new(&gram, vec![2, 3, 4]);
        rows.fetch(1, 0);
        assert!(std::ptr::eq(rows.row(1), &gram.row(3)[2..5]));
    }

    #[test]
    fn cache_smaller_than_the_view_keeps_the_pair_in_use() {
        let gram = gram(30);
        let cols: Vec<usize> = (0..30).rev().step_by(2).collect();
        for n_slots in [2, 3, 5] {
            let mut rows = GramRows::bounded(&gram, cols.clone(), n_slots);
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
