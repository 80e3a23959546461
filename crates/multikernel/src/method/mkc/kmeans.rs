//! Plain k-means on a few columns, the best of several starts.

use crate::dist::Rng;
use crate::linalg::Matrix;
use crate::pool::Pool;

/// Starts, of which the best is kept.
const STARTS: usize = 20;
/// Most rounds of one start; few need more than a dozen.
const ROUNDS: usize = 100;

/// The cluster of each row, numbered from 0 in the order of their first rows: at most `k`, each with a row. `rng` gives the
/// generator of each start.
pub(super) fn k_means(rows: &Matrix, k: usize, rng: impl Fn(u64) -> Rng + Sync + Send, pool: &Pool) -> Vec<usize> {
    let found = pool.map(STARTS, |start| one_start(rows, k, &mut rng(start as u64)));
    // The first of equals.
    let best = found.into_iter().reduce(|best, next| if next.0 < best.0 { next } else { best });
    best.map_or_else(Vec::new, |(_, clusters)| numbered(&clusters, k))
}

/// The sum of squared distances to the means, and the cluster of each row.
fn one_start(rows: &Matrix, k: usize, rng: &mut Rng) -> (f64, Vec<usize>) {
    let mut centres = spread_out(rows, k, rng);
    let mut clusters = vec![usize::MAX; rows.n_rows()];
    let mut sum = f64::INFINITY;
    for _ in 0..ROUNDS {
        let placed: Vec<(usize, f64)> = rows.rows().map(|row| nearest(row, &centres)).collect();
        let now: Vec<usize> = placed.iter().map(|&(cluster, _)| cluster).collect();
        sum = placed.iter().map(|&(_, square)| square).sum();
        if now == clusters {
            break;
        }
        clusters = now;
        centres = means(rows, &clusters, centres);
    }
    (sum, clusters)
}

/// Rows as centres, each drawn with a chance that grows with its squared distance from those before (k-means++).
fn spread_out(rows: &Matrix, k: usize, rng: &mut Rng) -> Matrix {
    let n = rows.n_rows();
    let mut chosen = vec![rng.below(n.max(1)).min(n.saturating_sub(1))];
    let mut squares: Vec<f64> = rows.rows().map(|row| squared_distance(row, rows.row(chosen[0]))).collect();
    while chosen.len() < k.min(n) {
        let mut rest = rng.uniform() * squares.iter().sum::<f64>();
        let passed = |square: &f64| {
            rest -= square;
            rest < 0.0
        };
        // Where all rows are at centres already, any will do.
        let next = squares.iter().position(passed).unwrap_or_else(|| rng.below(n));
        chosen.push(next);
        for (square, row) in squares.iter_mut().zip(rows.rows()) {
            *square = square.min(squared_distance(row, rows.row(next)));
        }
    }
    rows.select_rows(&chosen)
}

/// The first nearest centre and the squared distance to it.
fn nearest(row: &[f64], centres: &Matrix) -> (usize, f64) {
    let squares = centres.rows().map(|centre| squared_distance(row, centre)).enumerate();
    squares.fold((0, f64::INFINITY), |best, next| if next.1 < best.1 { next } else { best })
}

/// The means of clusters; one without rows keeps its centre.
fn means(rows: &Matrix, clusters: &[usize], mut centres: Matrix) -> Matrix {
    let mut counts = vec![0usize; centres.n_rows()];
    clusters.iter().for_each(|&cluster| counts[cluster] += 1);
    for (cluster, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
        let members = clusters.iter().zip(rows.rows()).filter(|(other, _)| **other == cluster);
        let centre = centres.row_mut(cluster);
        centre.fill(0.0);
        members.for_each(|(_, row)| centre.iter_mut().zip(row).for_each(|(mean, x)| *mean += x / count as f64));
    }
    centres
}

fn squared_distance(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum()
}

/// The same clusters without gaps, in the order of their first rows.
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
        k_means(rows, k, |start| Rng::new(3, start), &Pool::new(n_threads).unwrap())
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
