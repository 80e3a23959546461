//! The order in which rows are placed.

use crate::dist::inverse_mills;
use crate::error::{Error, Result};
use crate::linalg::{Matrix, dot};
use crate::simd::exp;

use super::chain::JITTER;

/// Rows that are hardest to get on their side first: each is the one whose side is least likely given the rows before
/// it, if those are where they are expected on their own (Gibson, Glasbey and Elston 1994). So the later rows follow from
/// the earlier ones, and their places hardly matter.
///
/// The width is `exp(ln_width)`. Cost: that of a factorisation, N^3 / 3, in products of rows.
pub(super) fn order(
    distances: &Matrix,
    sides: &[f64],
    ln_width: f64,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Vec<usize>> {
    let (n, rate) = (sides.len(), 0.5 * exp(-2.0 * ln_width));
    let mut left: Vec<usize> = (0..n).collect();
    // Rows of the factor; means and variances given the rows that are placed.
    let mut lower = Matrix::zeros(n, n);
    let (mut means, mut variances) = (vec![0.0; n], vec![1.0 + JITTER; n]);
    let mut found = Vec::with_capacity(n);
    while !left.is_empty() {
        if stop() {
            return Err(Error::Stopped("stopped while rows were put in order".into()));
        }
        let surety = |i: usize| sides[i] * means[i] / variances[i].sqrt();
        let hardest = (0..left.len()).fold(0, |a, b| if surety(left[b]) < surety(left[a]) { b } else { a });
        let (k, row) = (found.len(), left.remove(hardest));
        let (deviation, moved) = (variances[row].sqrt(), sides[row] * inverse_mills(surety(row)));
        let placed = lower.row(row)[..k].to_vec();
        for &j in &left {
            let kernel = exp(-(rate * distances.get(row, j)));
            let entry = (kernel - dot(&placed, &lower.row(j)[..k])) / deviation;
            lower.set(j, k, entry);
            means[j] += moved * entry;
            variances[j] = (variances[j] - entry * entry).max(JITTER);
        }
        found.push(row);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_on_the_border_come_first_and_their_neighbours_last() {
        // 0 and 1 are next to each other on different sides, 2 and 3 far away, 4 beside 2.
        let x = [0.0f64, 0.1, 100.0, -100.0, 100.1];
        let distances = Matrix::from_fn(5, 5, |i, j| (x[i] - x[j]).powi(2));
        let found = order(&distances, &[1.0, -1.0, 1.0, -1.0, 1.0], 0.0, &|| false).unwrap();
        assert_eq!(found, [0, 1, 2, 3, 4]);
        assert!(order(&distances, &[1.0; 5], 0.0, &|| true).is_err());
    }
}
