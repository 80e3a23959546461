//! The median distance between training rows: the unit of `median*` widths.

use super::columns::Columns;
use crate::features::{Features, Sparse};
use crate::linalg::Matrix;

/// The maximum number of rows compared; larger sets are thinned to this many.
const MAX_ROWS: usize = 1000;
/// Rows compared however many columns they have: two thousand pairs, which give the median to a few per cent.
const MIN_ROWS: usize = 64;
/// Products over all pairs beyond which fewer rows are compared: a tenth of a second, whatever the columns.
const MAX_PRODUCTS: usize = 200_000_000;

/// The median Euclidean distance over pairs of rows on the given columns.
///
/// Uses all pairs of up to 1000 rows (fewer beyond 400 columns); larger sets are thinned to the rows numbered floor(i n
/// / 1000). Only positive, finite distances count (duplicate rows would pull the median to 0, missing values to
/// nothing); without any the median is 1. Costs up to 500,000 distances and 2e8 products, d per distance, where d is
/// the number of stored values of a row if rows are sparse; for a single column n log n and 64 passes over it.
pub(super) fn median_distance(features: &Features, columns: &Columns) -> f64 {
    let n = features.n_rows();
    let count = columns.count(features.n_cols());
    let width = match features {
        Features::Dense(_) => count,
        Features::Sparse(sparse) => count.min(sparse.n_stored() / n.max(1)),
    };
    let is_line = count == 1;
    let most = if is_line { MAX_ROWS } else { (2 * MAX_PRODUCTS / width.max(1)).isqrt().clamp(MIN_ROWS, MAX_ROWS) };
    let rows: Vec<usize> = (0..n.min(most)).map(|i| i * n / n.min(most)).collect();
    let median = match features {
        Features::Dense(matrix) if is_line => median_on_line(gather(matrix, &rows, columns)),
        Features::Dense(matrix) => {
            let values = gather(matrix, &rows, columns);
            let rows: Vec<&[f64]> = values.chunks_exact(columns.count(matrix.n_cols()).max(1)).collect();
            median_of_pairs(&rows, |x, y| squared_distance(x, y))
        }
        Features::Sparse(sparse) if is_line => median_on_line(line(sparse, &rows, columns)),
        Features::Sparse(sparse) => {
            let rows: Vec<Entries> = rows.iter().map(|&i| entries_on(sparse, i, columns)).collect();
            median_of_pairs(&rows, |x, y| squared_distance_of_entries(x, y, sparse.background()))
        }
    };
    median.unwrap_or(1.0)
}

/// The median of a given matrix of distances over pairs of these rows, thinned as above.
pub(super) fn median_given(distances: &Matrix, rows: &[usize]) -> f64 {
    let (n, most) = (rows.len(), rows.len().min(MAX_ROWS));
    let rows: Vec<usize> = (0..most).map(|i| rows[i * n / most]).collect();
    let pairs = rows.iter().enumerate().flat_map(|(i, &a)| rows[..i].iter().map(move |&b| (a, b)));
    let within = |&(a, b): &(usize, usize)| a < distances.n_rows() && b < distances.n_cols();
    let mut values: Vec<f64> = pairs.filter(within).map(|(a, b)| distances.get(a, b)).collect();
    values.retain(|value| *value > 0.0 && value.is_finite());
    values.sort_unstable_by(f64::total_cmp);
    let half = values.len() / 2;
    match values.len() % 2 {
        _ if values.is_empty() => 1.0,
        0 => 0.5 * (values[half - 1] + values[half]),
        _ => values[half],
    }
}

/// The values of rows at the columns, one row after the other.
fn gather(features: &Matrix, rows: &[usize], columns: &Columns) -> Vec<f64> {
    let mut values = Vec::with_capacity(rows.len() * columns.count(features.n_cols()));
    rows.iter().for_each(|&i| columns.gather(features.row(i), &mut values));
    values
}

/// Stored values of a row with their columns, ascending.
type Entries = Vec<(u32, f64)>;

/// The stored values of a row at the columns.
fn entries_on(rows: &Sparse, i: usize, columns: &Columns) -> Entries {
    let (stored, values) = rows.entries(i);
    let Some(ranges) = columns.ranges() else { return stored.iter().copied().zip(values.iter().copied()).collect() };
    let mut entries = vec![];
    for range in ranges {
        let start = stored.partition_point(|&column| (column as usize) < range.start);
        let end = stored.partition_point(|&column| (column as usize) < range.end);
        entries.extend(stored[start..end].iter().copied().zip(values[start..end].iter().copied()));
    }
    entries
}

/// The values of rows at a single column.
fn line(rows: &Sparse, picked: &[usize], columns: &Columns) -> Vec<f64> {
    let usual = columns.indices(rows.n_cols()).first().map_or(0.0, |&column| rows.background()[column]);
    picked.iter().map(|&i| entries_on(rows, i, columns).first().map_or(usual, |&(_, value)| value)).collect()
}

fn median_of_pairs<R>(rows: &[R], squared_distance: impl Fn(&R, &R) -> f64) -> Option<f64> {
    let mut squares = Vec::with_capacity(rows.len() * rows.len() / 2);
    for (i, x) in rows.iter().enumerate() {
        squares.extend(rows[..i].iter().map(|y| squared_distance(x, y)).filter(|d| *d > 0.0 && d.is_finite()));
    }
    let middle = squares.len() / 2;
    if squares.is_empty() {
        return None;
    }
    let even = squares.len().is_multiple_of(2);
    let (below, upper, _) = squares.select_nth_unstable_by(middle, f64::total_cmp);
    let upper = upper.sqrt();
    Some(if even { mean(below.iter().copied().fold(0.0, f64::max).sqrt(), upper) } else { upper })
}

/// The same for one column in n log n: the r-th smallest difference of sorted numbers is found by bisecting the
/// interval of possible bit patterns, since counting the differences up to a bound takes one pass.
fn median_on_line(mut values: Vec<f64>) -> Option<f64> {
    values.retain(|v| v.is_finite());
    values.sort_unstable_by(f64::total_cmp);
    let (ties, _) = up_to(&values, 0.0);
    let n_pairs = up_to(&values, f64::MAX).0 - ties;
    if n_pairs == 0 {
        return None;
    }
    let lower = ranked(&values, ties + (n_pairs - 1) / 2);
    if n_pairs % 2 == 1 {
        return Some(lower);
    }
    let (count, next) = up_to(&values, lower);
    let upper = if count > ties + n_pairs / 2 { lower } else { next };
    Some(mean(lower, upper))
}

/// How many pairs of the sorted values differ by at most `bound`, and the smallest difference above it.
fn up_to(values: &[f64], bound: f64) -> (usize, f64) {
    let (mut first, mut count, mut next) = (0, 0, f64::INFINITY);
    for (j, v) in values.iter().enumerate() {
        // Rounded differences are monotone in the smaller value, so `first` only moves right.
        while v - values[first] > bound {
            first += 1;
        }
        count += j - first;
        if first > 0 {
            next = next.min(v - values[first - 1]);
        }
    }
    (count, next)
}

/// The difference of this rank, counted from 0: the smallest bound that at least `rank + 1` differences do not exceed.
fn ranked(values: &[f64], rank: usize) -> f64 {
    // Positive floats are ordered like their bit patterns.
    let widest = values[values.len() - 1] - values[0];
    let (mut low, mut high) = (0u64, widest.min(f64::MAX).to_bits());
    while low < high {
        let middle = low + (high - low) / 2;
        if up_to(values, f64::from_bits(middle)).0 > rank {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    f64::from_bits(low)
}

fn mean(a: f64, b: f64) -> f64 {
    0.5 * a + 0.5 * b
}

/// `|x - y|^2` from the differences, in four interleaved sums.
fn squared_distance(x: &[f64], y: &[f64]) -> f64 {
    let (xs, x_rest) = x.as_chunks::<4>();
    let (ys, y_rest) = y.as_chunks::<4>();
    let mut sum = [0.0; 4];
    for (x, y) in xs.iter().zip(ys) {
        for k in 0..4 {
            let d = x[k] - y[k];
            sum[k] += d * d;
        }
    }
    let rest: f64 = x_rest.iter().zip(y_rest).map(|(x, y)| (x - y) * (x - y)).sum();
    (sum[0] + sum[1]) + (sum[2] + sum[3]) + rest
}

/// `|x - y|^2` of sparse rows over one background: where neither stores a value the difference is 0.
fn squared_distance_of_entries(x: &Entries, y: &Entries, background: &[f64]) -> f64 {
    let (mut x, mut y) = (x.iter().peekable(), y.iter().peekable());
    let mut sum = 0.0;
    loop {
        let next = match (x.peek(), y.peek()) {
            (None, None) => return sum,
            (Some(&&(column, _)), None) | (None, Some(&&(column, _))) => column,
            (Some(&&(a, _)), Some(&&(b, _))) => a.min(b),
        };
        let usual = background[next as usize];
        let a = x.next_if(|&&(column, _)| column == next).map_or(usual, |&(_, value)| value);
        let b = y.next_if(|&&(column, _)| column == next).map_or(usual, |&(_, value)| value);
        sum += (a - b) * (a - b);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;
    use crate::features::tests::{sparse, tables};
    use proptest::prelude::*;

    fn median(features: &Matrix, columns: &Columns) -> f64 {
        median_distance(&features.clone().into(), columns)
    }

    /// The middle of all pairs, sorted: the definition.
    fn by_sorting(features: &Matrix, columns: &[usize]) -> f64 {
        let n = features.n_rows();
        let mut distances = Vec::new();
        for i in 0..n {
            for j in 0..i {
                let square = |&c: &usize| (features.get(i, c) - features.get(j, c)).powi(2);
                let d = columns.iter().map(square).sum::<f64>().sqrt();
                if d > 0.0 {
                    distances.push(d);
                }
            }
        }
        distances.sort_by(f64::total_cmp);
        match distances.len() {
            0 => 1.0,
            m if m % 2 == 1 => distances[m / 2],
            m => 0.5 * (distances[m / 2 - 1] + distances[m / 2]),
        }
    }

    proptest! {
        #[test]
        fn median_on_small_whole_numbers_is_that_of_all_pairs(
            n in 0usize..12, d in 1usize..7, seed in 0u64..1000, top in 1usize..6
        ) {
            // Whole numbers: squared distances are exact in any order of summation, and ties abound.
            let mut rng = Rng::new(seed, 0);
            let features = Matrix::from_fn(n, d, |_, _| rng.below(top) as f64);
            prop_assert_eq!(median(&features, &Columns::all()), by_sorting(&features, &(0..d).collect::<Vec<_>>()));
            let one = Columns::from_positions([d - 1]);
            prop_assert_eq!(median(&features, &one), by_sorting(&features, &[d - 1]));
        }

        #[test]
        fn median_of_sparse_rows_is_that_of_the_table(
            (matrix, background) in tables(), picks in prop::collection::vec(0usize..9, 1..5),
        ) {
            // Multiples of a half: squared distances are exact in any order of summation.
            let rows = sparse(&matrix, &background);
            let some = Columns::from_positions(picks.into_iter().map(|pick| pick % matrix.n_cols()));
            for columns in [Columns::all(), some.within(matrix.n_cols()), Columns::from_positions([0])] {
                prop_assert_eq!(median_distance(&rows, &columns), median(&matrix, &columns));
            }
        }

        #[test]
        fn median_on_one_real_column_is_exact(values in prop::collection::vec(-1e3..1e3f64, 0..40)) {
            let features = Matrix::from_vec(values.len(), 1, values).unwrap();
            let expected = by_sorting(&features, &[0]);
            prop_assert_eq!(median(&features, &Columns::all()), expected);
        }
    }

    #[test]
    fn median_over_many_rows_uses_every_nth() {
        let mut rng = Rng::new(3, 0);
        let features = Matrix::from_fn(2500, 2, |_, _| rng.below(1000) as f64);
        let thinned = features.select_rows(&(0..1000).map(|i| i * 5 / 2).collect::<Vec<_>>());
        assert_eq!(median(&features, &Columns::all()), by_sorting(&thinned, &[0, 1]));
        assert_eq!(median(&features, &Columns::from_positions([1])), by_sorting(&thinned, &[1]));
    }

    #[test]
    fn median_of_very_many_columns_compares_fewer_rows() {
        let mut rng = Rng::new(4, 0);
        // 40,000 columns allow a hundred rows.
        let features = Matrix::from_fn(150, 40_000, |_, _| f64::from(u8::from(rng.uniform() < 0.01)));
        let thinned = features.select_rows(&(0..100).map(|i| i * 3 / 2).collect::<Vec<_>>());
        assert_eq!(median(&features, &Columns::all()), median(&thinned, &Columns::all()));
    }

    #[test]
    fn median_without_positive_distance_is_one() {
        assert_eq!(median(&Matrix::zeros(5, 3), &Columns::all()), 1.0);
        assert_eq!(median(&Matrix::zeros(5, 3), &Columns::from_positions([1])), 1.0);
        assert_eq!(median(&Matrix::zeros(0, 3), &Columns::all()), 1.0);
        assert_eq!(median(&Matrix::zeros(1, 1), &Columns::all()), 1.0);
    }

    #[test]
    fn median_with_missing_values_leaves_those_rows_out() {
        let nan = f64::NAN;
        let features = Matrix::from_vec(4, 2, vec![0.0, 0.0, nan, 1.0, 3.0, 4.0, f64::INFINITY, 0.0]).unwrap();
        assert_eq!(median(&features, &Columns::all()), 5.0);
        assert_eq!(median(&features, &Columns::from_positions([0])), 3.0);
        // Differences 1, 4, 3, 1, 4 and one 0 that does not count.
        assert_eq!(median(&features, &Columns::from_positions([1])), 3.0);
    }
}
