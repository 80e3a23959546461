//! k-means, used to initialise mixtures.

use super::{check_rows, compact};
use crate::dist::Rng;
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::simd::dispatched;

/// Rows that one thread takes at a time.
const BATCH: usize = 256;
/// The least rows that are summed in one piece: pieces, not threads, determine the bits.
const MIN_PIECE: usize = 1024;
/// Maximum rounds: a start need not be optimal.
const ROUNDS: usize = 30;
/// Centres are found from at most this many rows; if there are more, this many are sampled.
const MAX_ROWS: usize = 20_000;

/// The cluster of each row by k-means, numbered without gaps: at most k of them, fewer if rows are equal.
///
/// The first centres are rows drawn with probability proportional to the squared distance to the nearest previous one
/// (k-means++), followed by at most 30 rounds of nearest centres and means, on 20,000 rows if there are more. Cost: N k
/// d products per round, shared among threads; the same bits for any number of them.
pub(crate) fn k_means(rows: &Matrix, k: usize, rng: &mut Rng, pool: &Pool) -> Result<Vec<usize>> {
    check_rows(rows)?;
    if rows.n_rows() == 0 || k == 0 {
        return Err(Error::input(format!("{} rows cannot be dealt to {k} clusters; give one at least", rows.n_rows())));
    }
    let drawn = sample(rows, rng);
    let some = drawn.as_ref().unwrap_or(rows);
    let mut centres = first(some, k, rng, pool);
    let mut clusters = vec![];
    for _ in 0..ROUNDS {
        let before = std::mem::replace(&mut clusters, nearest(some, &centres, pool));
        if before == clusters {
            break;
        }
        centres = means(some, &clusters, &centres, pool);
    }
    if drawn.is_some() {
        clusters = nearest(rows, &centres, pool);
    }
    Ok(compact(&clusters).0)
}

/// A sample of many rows without repetition.
fn sample(rows: &Matrix, rng: &mut Rng) -> Option<Matrix> {
    let n = rows.n_rows();
    if n <= MAX_ROWS {
        return None;
    }
    // One row from each of this many equal pieces.
    let piece = |s: usize| s * n / MAX_ROWS;
    let chosen: Vec<usize> = (0..MAX_ROWS).map(|s| piece(s) + rng.below(piece(s + 1) - piece(s))).collect();
    Some(rows.select_rows(&chosen))
}

/// Draws rows as first centres.
fn first(rows: &Matrix, k: usize, rng: &mut Rng, pool: &Pool) -> Matrix {
    let n = rows.n_rows();
    let mut chosen = vec![rng.below(n)];
    let mut least = vec![f64::INFINITY; n];
    while chosen.len() < k {
        let centre = rows.row(chosen[chosen.len() - 1]);
        pool.chunks_mut(&mut least, BATCH, |b, out| {
            for (i, out) in (b * BATCH..).zip(out) {
                *out = out.min(distance(rows.row(i), centre));
            }
        });
        let total: f64 = least.iter().sum();
        if total <= 0.0 {
            break;
        }
        let mut left = rng.uniform() * total;
        let found = least.iter().position(|&d| {
            left -= d;
            left < 0.0
        });
        // Rounding may leave a remainder.
        chosen.extend(found.or_else(|| least.iter().rposition(|&d| d > 0.0)));
    }
    rows.select_rows(&chosen)
}

/// The nearest centre of each row, the first if tied.
fn nearest(rows: &Matrix, centres: &Matrix, pool: &Pool) -> Vec<usize> {
    let batch = |b: usize| -> Vec<usize> {
        let of = |i: usize| {
            let mut best = (f64::INFINITY, 0);
            for (k, centre) in centres.rows().enumerate() {
                let apart = distance(rows.row(i), centre);
                if apart < best.0 {
                    best = (apart, k);
                }
            }
            best.1
        };
        (b * BATCH..((b + 1) * BATCH).min(rows.n_rows())).map(of).collect()
    };
    pool.map(rows.n_rows().div_ceil(BATCH), batch).concat()
}

/// The mean of the rows of each cluster; a centre without rows stays in place.
fn means(rows: &Matrix, clusters: &[usize], centres: &Matrix, pool: &Pool) -> Matrix {
    let (k, d) = (centres.n_rows(), centres.n_cols());
    // The number of pieces does not grow with the number of rows, or there would be as many sums as rows.
    let step = MIN_PIECE.max(rows.n_rows().div_ceil(64));
    let parts = pool.map(rows.n_rows().div_ceil(step), |b| {
        let (mut sums, mut counts) = (Matrix::zeros(k, d), vec![0usize; k]);
        for i in b * step..((b + 1) * step).min(rows.n_rows()) {
            counts[clusters[i]] += 1;
            sums.row_mut(clusters[i]).iter_mut().zip(rows.row(i)).for_each(|(sum, x)| *sum += x);
        }
        (sums, counts)
    });
    let (mut sums, mut counts) = (Matrix::zeros(k, d), vec![0usize; k]);
    for (part, count) in &parts {
        sums.data_mut().iter_mut().zip(part.data()).for_each(|(sum, part)| *sum += part);
        counts.iter_mut().zip(count).for_each(|(count, part)| *count += part);
    }
    Matrix::from_fn(k, d, |k, j| if counts[k] > 0 { sums.get(k, j) / counts[k] as f64 } else { centres.get(k, j) })
}

dispatched! {
    fn distance(a: &[f64], b: &[f64]) -> f64 {
        let mut sums = [0.0; 8];
        let ((whole, rest), (others, tail)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
        for (a, b) in whole.iter().zip(others) {
            for l in 0..8 {
                sums[l] = (a[l] - b[l]).mul_add(a[l] - b[l], sums[l]);
            }
        }
        for (sum, (a, b)) in sums.iter_mut().zip(rest.iter().zip(tail)) {
            *sum = (a - b).mul_add(a - b, *sum);
        }
        ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]))
    }
}
