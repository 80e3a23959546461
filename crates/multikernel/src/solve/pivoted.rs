//! Cholesky factors of positive semi-definite matrices, cut where nothing is left.

use crate::error::{Error, Result};
use crate::linalg::{Matrix, axpy};

/// `K ~ L L'` with L of n x rank: the row of the k-th pivot ends at column k.
#[derive(Clone, Debug)]
pub(crate) struct Pivoted {
    /// The row of each step, that of the largest diagonal entry left.
    pub(crate) pivots: Vec<usize>,
    /// The trace, without negative entries.
    pub(crate) trace: f64,
    /// The part of the trace left before each step, and after the last: descending, from 1 on.
    pub(crate) left: Vec<f64>,
    /// The rows of L at the pivots, up to the diagonal, one after the other.
    lower: Vec<f64>,
}

/// Factors a symmetric matrix until no diagonal entry left exceeds `tolerance` of the largest at the start, at most
/// `most` steps. What is left of a positive semi-definite matrix is so, too; negative eigenvalues are never taken. Cost:
/// n rank^2 operations on the calling thread, memory for n rank numbers. [`Error::Stopped`] if `stop` returned true.
pub(crate) fn pivoted(
    matrix: &Matrix,
    tolerance: f64,
    most: usize,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Pivoted> {
    let n = matrix.n_rows();
    let mut rest: Vec<f64> = (0..n).map(|i| matrix.get(i, i)).collect();
    let sum = |rest: &[f64]| rest.iter().map(|value| value.max(0.0)).sum::<f64>();
    let least = tolerance * rest.iter().copied().fold(0.0, f64::max);
    let trace = sum(&rest);
    let (mut pivots, mut columns, mut left) = (Vec::<usize>::new(), Vec::<f64>::new(), vec![1.0]);
    while pivots.len() < most.min(n) {
        // The first of the largest.
        let pivot = (0..n).rev().max_by(|&a, &b| rest[a].total_cmp(&rest[b])).unwrap_or(0);
        if !(rest[pivot] > least && rest[pivot].is_finite()) {
            break;
        }
        if stop() {
            return Err(Error::Stopped("stopped while a kernel was factored".into()));
        }
        let mut column = matrix.row(pivot).to_vec();
        columns.chunks_exact(n).for_each(|before| axpy(-before[pivot], before, &mut column));
        let root = rest[pivot].sqrt();
        column.iter_mut().for_each(|value| *value /= root);
        // What earlier pivots have left is rounding.
        pivots.iter().for_each(|&before| column[before] = 0.0);
        column[pivot] = root;
        pivots.push(pivot);
        rest.iter_mut().zip(&column).for_each(|(rest, value)| *rest -= value * value);
        pivots.iter().for_each(|&done| rest[done] = 0.0);
        left.push(sum(&rest) / trace);
        columns.extend(column);
    }
    let lower = pivots.iter().enumerate().flat_map(|(k, &pivot)| (0..=k).map(move |j| (j, pivot)));
    let lower = lower.map(|(j, pivot)| columns[j * n + pivot]).collect();
    Ok(Pivoted { pivots, trace, left, lower })
}

impl Pivoted {
    /// The inverse of the first `rank` rows and columns of the factor, pivots in their order: its lower triangle with the
    /// diagonal, row by row. Cost: rank^3 / 3 operations.
    pub(crate) fn inverse(&self, rank: usize) -> Vec<f64> {
        let mut inverse: Vec<f64> = Vec::with_capacity(rank * (rank + 1) / 2);
        for k in 0..rank {
            let own = &self.lower[k * (k + 1) / 2..][..=k];
            let mut row = vec![0.0; k + 1];
            row[k] = 1.0;
            (0..k).for_each(|j| axpy(-own[j], &inverse[j * (j + 1) / 2..][..=j], &mut row[..=j]));
            row.iter_mut().for_each(|value| *value /= own[k]);
            inverse.extend(row);
        }
        inverse
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::{Rng, normal};

    fn factor(matrix: &Matrix, most: usize) -> Pivoted {
        pivoted(matrix, 1e-10, most, &|| false).unwrap()
    }

    /// H H' of n x rank.
    fn square(n: usize, rank: usize) -> Matrix {
        let mut rng = Rng::new(4, n as u64);
        let h = Matrix::from_fn(n, rank, |_, _| normal(&mut rng));
        Matrix::from_fn(n, n, |i, j| crate::linalg::dot(h.row(i), h.row(j)))
    }

    /// `|L^-1 k_i|^2`, the part of the diagonal that the factor explains.
    #[test]
    fn factor_ends_at_the_rank_and_knows_what_is_left() {
        for (n, rank, most) in [(12, 12, 12), (30, 7, 30), (5, 1, 5), (30, 30, 9)] {
            let matrix = square(n, rank);
            let found = factor(&matrix, most);
            let (rank, inverse) = (rank.min(most), found.inverse(rank.min(most)));
            assert_eq!(found.pivots.len(), rank);
            assert!(found.left[0] == 1.0 && found.left.is_sorted_by(|a, b| a > b), "{:?}", found.left);
            let half = |k: usize, i: usize| -> f64 {
                let row = &inverse[k * (k + 1) / 2..][..=k];
                row.iter().zip(&found.pivots).map(|(value, &pivot)| value * matrix.get(pivot, i)).sum()
            };
            let explained: f64 = (0..n).map(|i| (0..rank).map(|k| half(k, i).powi(2)).sum::<f64>()).sum();
            let trace: f64 = (0..n).map(|i| matrix.get(i, i)).sum();
            assert!((1.0 - explained / trace - found.left[rank]).abs() < 1e-9, "{explained} of {trace}");
        }
    }

    #[test]
    fn inverse_of_the_first_columns_whitens_their_rows() {
        let matrix = square(20, 20);
        let found = factor(&matrix, 20);
        let inverse = found.inverse(15);
        let row = |k: usize| &inverse[k * (k + 1) / 2..][..=k];
        for a in 0..15 {
            for b in 0..15 {
                let entry = |i: usize, j: usize| row(a)[i] * matrix.get(found.pivots[i], found.pivots[j]) * row(b)[j];
                let sum: f64 = (0..=a).flat_map(|i| (0..=b).map(move |j| (i, j))).map(|(i, j)| entry(i, j)).sum();
                assert!((sum - f64::from(u8::from(a == b))).abs() < 1e-9, "{a} {b}: {sum}");
            }
        }
    }

    #[test]
    fn negative_and_missing_matrices_have_no_factor() {
        assert!(factor(&Matrix::from_vec(2, 2, vec![-1.0, 0.0, 0.0, -2.0]).unwrap(), 2).pivots.is_empty());
        assert!(factor(&Matrix::zeros(3, 3), 3).pivots.is_empty());
        assert!(factor(&Matrix::zeros(0, 0), 3).pivots.is_empty());
        assert!(factor(&Matrix::from_vec(1, 1, vec![f64::NAN]).unwrap(), 3).pivots.is_empty());
        assert!(matches!(pivoted(&square(3, 3), 1e-10, 3, &|| true), Err(Error::Stopped(_))));
    }
}
