//! The Cholesky factor of a matrix so small that blocks and threads do not pay; for others there is
//! [`Cholesky`](super::cholesky::Cholesky).

use crate::linalg::dot;

/// A pivot below this part of the largest diagonal entry is rounding.
const NOTHING: f64 = 1e-30;

/// The Cholesky factor of an n x n matrix, row by row, written to its lower half. Where the matrix is not positive definite:
/// `None`, or, if a pivot is given, that one instead, so large that the direction is passed over.
pub(super) fn factor(k: &mut [f64], n: usize, pivot: Option<f64>) -> Option<()> {
    let scale = (0..n).map(|i| k[i * n + i]).fold(0.0, f64::max);
    for i in 0..n {
        let (above, row) = k.split_at_mut(i * n);
        for j in 0..i {
            let other = &above[j * n..j * n + j + 1];
            row[j] = (row[j] - dot(&row[..j], &other[..j])) / other[j];
        }
        let rest = row[i] - dot(&row[..i], &row[..i]);
        row[i] = if rest > NOTHING * scale { rest.sqrt() } else { pivot? };
    }
    Some(())
}

/// Solves with a factor, in place.
pub(super) fn solve(factor: &[f64], x: &mut [f64]) {
    let n = x.len();
    for i in 0..n {
        let row = &factor[i * n..i * n + i + 1];
        x[i] = (x[i] - dot(&row[..i], &x[..i])) / row[i];
    }
    for i in (0..n).rev() {
        let row = &factor[i * n..i * n + i + 1];
        x[i] /= row[i];
        let value = x[i];
        x[..i].iter_mut().zip(row).for_each(|(x, l)| *x -= value * l);
    }
}
