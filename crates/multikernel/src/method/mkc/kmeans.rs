//! k-means on a few columns, the best of several starts.

use crate::dist::Rng;
use crate::error::Result;
use crate::linalg::Matrix;
use crate::mixture;
use crate::pool::Pool;

/// Number of starts, the best of which is kept.
const STARTS: usize = 20;

/// The cluster of each row, numbered from 0 in order of first appearance: at most `k`, none empty. `rng` gives the
/// generator of each start.
pub(super) fn k_means(
    rows: &Matrix,
    k: usize,
    rng: impl Fn(u64) -> Rng + Sync + Send,
    pool: &Pool,
) -> Result<Vec<usize>> {
    let alone = Pool::alone()?;
    let found = pool.map(STARTS, |start| mixture::k_means(rows, k, &mut rng(start as u64), alone));
    let found = found.into_iter().collect::<Result<Vec<_>>>()?;
    let costs = found.iter().map(|clusters| cost(rows, clusters, k));
    // The first of equals.
    let best = costs.enumerate().fold((0, f64::INFINITY), |best, next| if next.1 < best.1 { next } else { best });
    Ok(numbered(&found[best.0], k))
}

/// The sum of squared distances to the cluster means.
fn cost(rows: &Matrix, clusters: &[usize], k: usize) -> f64 {
    let (mut means, mut counts) = (Matrix::zeros(k, rows.n_cols()), vec![0.0; k]);
    clusters.iter().for_each(|&cluster| counts[cluster] += 1.0);
    for (&cluster, row) in clusters.iter().zip(rows.rows()) {
        means.row_mut(cluster).iter_mut().zip(row).for_each(|(mean, x)| *mean += x / counts[cluster]);
    }
    let square = |(x, mean): (&f64, &f64)| (x - mean) * (x - mean);
    let of = |(&cluster, row): (&usize, &[f64])| row.iter().zip(means.row(cluster)).map(square).sum::<f64>();
    clusters.iter().zip(rows.rows()).map(of).sum()
}

/// The same clusters renumbered without gaps, in order of first appearance.
fn numbered(clusters: &[usize], k: usize) -> Vec<usize> {
    let (mut numbers, mut next) = (vec![usize::MAX; k], 0);
    let mut number = |cluster: usize| {
        if numbers[cluster] == usize::MAX {
            numbers[cluster] = next;
            next += 1;
        }
        numbers[cluster]
    };
    clusters.iter().map(|&cluster| number(cluster)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(rows: &Matrix, k: usize, n_threads: usize) -> Vec<usize> {
        k_means(rows, k, |start| Rng::new(3, start), &Pool::new(n_threads).unwrap()).unwrap()
    }

    #[test]
    fn k_means_finds_clouds_and_numbers_them_by_their_first_rows() {
        let mut rng = Rng::new(1, 0);
        let rows = Matrix::from_fn(90, 2, |i, j| f64::from(u8::from(i % 3 == j)) * 5.0 + rng.uniform());
        let expected: Vec<usize> = (0..90).map(|i| i % 3).collect();
        assert_eq!(run(&rows, 3, 1), expected);
        assert_eq!(run(&rows, 3, 3), expected);
    }

    #[test]
    fn k_means_of_few_different_rows_has_no_empty_cluster() {
        let rows = Matrix::from_vec(4, 1, vec![2.0, 7.0, 2.0, 7.0]).unwrap();
        assert_eq!(run(&rows, 3, 1), [0, 1, 0, 1]);
        assert_eq!(run(&Matrix::zeros(3, 2), 2, 1), [0, 0, 0]);
        assert_eq!(run(&rows, 1, 1), [0; 4]);
    }

    #[test]
    fn k_means_of_a_line_is_the_best_of_all_cuts() {
        let values = [0.0, 0.4, 1.0, 1.1, 3.0, 3.7, 3.9, 8.0, 9.0];
        let rows = Matrix::from_vec(values.len(), 1, values.to_vec()).unwrap();
        let cost = |part: &[f64]| {
            let mean = part.iter().sum::<f64>() / part.len() as f64;
            part.iter().map(|x| (x - mean).powi(2)).sum::<f64>()
        };
        let mut best = (f64::INFINITY, vec![]);
        for a in 1..values.len() {
            for b in a + 1..values.len() {
                let sum = cost(&values[..a]) + cost(&values[a..b]) + cost(&values[b..]);
                if sum < best.0 {
                    best = (sum, (0..values.len()).map(|i| usize::from(i >= a) + usize::from(i >= b)).collect());
                }
            }
        }
        assert_eq!(run(&rows, 3, 1), best.1);
    }
}
