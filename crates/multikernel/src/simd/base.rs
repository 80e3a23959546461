//! Sums over features between a few points and panels of many points: squared distances, L1 distances, inner products.

use super::dispatched;

/// Points per panel: their values of one feature are contiguous.
pub(crate) const PANEL: usize = 16;
/// Points processed against a panel at a time.
pub(crate) const ROWS: usize = 4;

/// The term summed over the features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accumulate {
    /// (x - y)^2.
    SquaredDifference,
    /// |x - y|.
    AbsoluteDifference,
    /// x y.
    Product,
}

/// The sums between up to [`ROWS`] points and the `width` points in consecutive panels.
///
/// `rows` holds the values of [`ROWS`] points feature by feature; `panels` one panel after the other, each feature by
/// feature; `out` has one row of `width` values per requested point. Terms are added in feature order and each is
/// symmetric in the two points, so a sum has the same bits whatever the positions of its points. Sums over no features
/// are 0.
pub(crate) fn accumulate(what: Accumulate, rows: &[f64], panels: &[f64], width: usize, out: &mut [f64]) {
    if rows.is_empty() || width == 0 {
        return out.fill(0.0);
    }
    match what {
        Accumulate::SquaredDifference => squared_difference(rows, panels, width, out),
        Accumulate::AbsoluteDifference => absolute_difference(rows, panels, width, out),
        Accumulate::Product => product(rows, panels, width, out),
    }
}

#[inline(always)]
fn each_panel(rows: &[f64], panels: &[f64], width: usize, out: &mut [f64], term: impl Fn(f64, f64, f64) -> f64) {
    let (rows, _) = rows.as_chunks::<ROWS>();
    let (lines, _) = panels.as_chunks::<PANEL>();
    for (p, panel) in lines.chunks_exact(rows.len()).enumerate() {
        let mut sums = [[0.0f64; PANEL]; ROWS];
        for (x, y) in rows.iter().zip(panel) {
            for r in 0..ROWS {
                for l in 0..PANEL {
                    sums[r][l] = term(x[r], y[l], sums[r][l]);
                }
            }
        }
        let here = p * PANEL..(p * PANEL + PANEL).min(width);
        for (sums, out) in sums.iter().zip(out.chunks_exact_mut(width)) {
            match <&mut [f64; PANEL]>::try_from(&mut out[here.clone()]) {
                Ok(whole) => *whole = *sums,
                Err(_) => out[here.clone()].copy_from_slice(&sums[..here.len()]),
            }
        }
    }
}

dispatched! {
    fn squared_difference(rows: &[f64], panels: &[f64], width: usize, out: &mut [f64]) {
        each_panel(rows, panels, width, out, |x, y, sum| (x - y).mul_add(x - y, sum));
    }
}

dispatched! {
    fn absolute_difference(rows: &[f64], panels: &[f64], width: usize, out: &mut [f64]) {
        each_panel(rows, panels, width, out, |x, y, sum| sum + (x - y).abs());
    }
}

dispatched! {
    fn product(rows: &[f64], panels: &[f64], width: usize, out: &mut [f64]) {
        each_panel(rows, panels, width, out, |x, y, sum| x.mul_add(y, sum));
    }
}

/// Points processed against sparse ones at a time: their values of one column fill one cache line.
pub(crate) const LANES: usize = 8;

dispatched! {
    /// For each sparse point, its inner products with [`LANES`] points: `out` has [`LANES`] numbers per point.
    ///
    /// `panel` has the values of the points column by column; `ends` gives the start of each sparse point, and the end
    /// of the last, in `places` (its columns) and `values`. Columns that are zero in either point add nothing, not even
    /// a rounding error: the bits are those of the dense sum.
    pub(crate) fn sparse_products(
        panel: &[[f64; LANES]],
        ends: &[usize],
        places: &[u32],
        values: &[f64],
        out: &mut [f64],
    ) {
        each_sparse(panel, ends, places, values, out, |x, y, sum| x.mul_add(y, sum));
    }
}

dispatched! {
    /// Like [`sparse_products`], for the overlap of two numbers, (|x| + |y| - |x - y|) / 2: the smaller one if their
    /// signs agree.
    pub(crate) fn sparse_overlaps(
        panel: &[[f64; LANES]],
        ends: &[usize],
        places: &[u32],
        values: &[f64],
        out: &mut [f64],
    ) {
        each_sparse(panel, ends, places, values, out, |x, y, sum| {
            let (low, high) = (if x < y { x } else { y }, if x < y { y } else { x });
            sum + (if low > 0.0 { low } else { 0.0 } - if high < 0.0 { high } else { 0.0 })
        });
    }
}

#[inline(always)]
fn each_sparse(
    panel: &[[f64; LANES]],
    ends: &[usize],
    places: &[u32],
    values: &[f64],
    out: &mut [f64],
    term: impl Fn(f64, f64, f64) -> f64,
) {
    let (out, _) = out.as_chunks_mut::<LANES>();
    for (range, out) in ends.windows(2).zip(out) {
        let mut sums = [0.0f64; LANES];
        for (&place, &y) in places[range[0]..range[1]].iter().zip(&values[range[0]..range[1]]) {
            let line = &panel[place as usize];
            for l in 0..LANES {
                sums[l] = term(line[l], y, sums[l]);
            }
        }
        *out = sums;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;
    use crate::simd::at_every_level;
    use crate::simd::check::{bits, uniform, whole};

    const KINDS: [Accumulate; 3] = [Accumulate::SquaredDifference, Accumulate::AbsoluteDifference, Accumulate::Product];

    /// Point by point, in feature order.
    fn plain(what: Accumulate, x: &[f64], y: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (&x, &y) in x.iter().zip(y) {
            sum = match what {
                Accumulate::SquaredDifference => f64::mul_add(x - y, x - y, sum),
                Accumulate::AbsoluteDifference => sum + (x - y).abs(),
                Accumulate::Product => f64::mul_add(x, y, sum),
            };
        }
        sum
    }

    /// Points side by side, `lanes` at a time, feature by feature; NaN past the last point.
    fn packed(points: &[Vec<f64>], n_features: usize, lanes: usize) -> Vec<f64> {
        let mut values = vec![];
        for points in points.chunks(lanes) {
            for k in 0..n_features {
                values.extend((0..lanes).map(|l| points.get(l).map_or(f64::NAN, |point| point[k])));
            }
        }
        values
    }

    #[test]
    fn accumulate_is_the_sum_in_order_for_any_shape_at_every_level() {
        let mut rng = Rng::new(1, 0);
        for (n_rows, width) in (1..=ROWS).flat_map(|n_rows| (1..=40).map(move |width| (n_rows, width))) {
            for (n_features, make) in
                [(1, uniform as fn(&mut Rng, usize) -> Vec<f64>), (2, whole), (7, uniform), (33, uniform)]
            {
                let mut points = |n: usize| -> Vec<Vec<f64>> { (0..n).map(|_| make(&mut rng, n_features)).collect() };
                let (left, right) = (points(n_rows), points(width));
                let (rows, mut panels) = (packed(&left, n_features, ROWS), packed(&right, n_features, PANEL));
                // Start at any alignment.
                let skip = width % 3;
                panels.splice(0..0, vec![f64::NAN; skip]);
                for what in KINDS {
                    let found = at_every_level(|| {
                        let mut out = vec![f64::NAN; n_rows * width + skip];
                        accumulate(what, &rows, &panels[skip..], width, &mut out[skip..]);
                        bits(&out[skip..])
                    });
                    let expected: Vec<f64> =
                        left.iter().flat_map(|x| right.iter().map(move |y| plain(what, x, y))).collect();
                    assert_eq!(found, bits(&expected), "{what:?} {n_rows} x {width}, {n_features} features");
                }
            }
        }
    }

    #[test]
    fn accumulate_over_no_features_or_to_no_points_is_zero_or_nothing() {
        for what in KINDS {
            let mut out = [f64::NAN; 6];
            accumulate(what, &[], &[], 3, &mut out);
            assert_eq!(out, [0.0; 6]);
            accumulate(what, &[1.0; ROWS], &[], 0, &mut []);
        }
    }

    /// Sparse points, as dense rows and in the form the loops take.
    struct Sparse {
        dense: Vec<Vec<f64>>,
        ends: Vec<usize>,
        places: Vec<u32>,
        values: Vec<f64>,
    }

    type Loop = fn(&[[f64; LANES]], &[usize], &[u32], &[f64], &mut [f64]);

    fn sparse(rng: &mut Rng, n: usize, n_columns: usize) -> Sparse {
        // A slice of a larger set: the first point does not start at 0.
        let mut points = Sparse { dense: vec![], ends: vec![2], places: vec![u32::MAX; 2], values: vec![f64::NAN; 2] };
        for i in 0..n {
            let mut row = vec![0.0; n_columns];
            for (k, value) in row.iter_mut().enumerate().filter(|(k, _)| i % 5 != 0 && (i + k) % 3 == 0) {
                *value = 2.0 * rng.uniform() - 1.0;
                points.places.push(k as u32);
                points.values.push(*value);
            }
            points.ends.push(points.places.len());
            points.dense.push(row);
        }
        points
    }

    #[test]
    fn sparse_sums_have_the_bits_of_the_dense_ones_at_every_level() {
        let mut rng = Rng::new(2, 0);
        for (n, n_columns) in [(0, 0), (1, 0), (1, 1), (7, 5), (16, 40), (33, 17), (100, 64)] {
            let Sparse { dense, ends, places, values } = sparse(&mut rng, n, n_columns);
            let left: Vec<Vec<f64>> = (0..LANES).map(|_| uniform(&mut rng, n_columns)).collect();
            let panel: Vec<[f64; LANES]> = (0..n_columns).map(|k| std::array::from_fn(|l| left[l][k])).collect();
            let run = |f: Loop| {
                at_every_level(|| {
                    let mut out = vec![f64::NAN; n * LANES];
                    f(&panel, &ends, &places, &values, &mut out);
                    out.iter().map(|out| out.to_bits()).collect::<Vec<_>>()
                })
            };
            let expected = |term: fn(&[f64], &[f64]) -> f64| -> Vec<f64> {
                dense.iter().flat_map(|y| left.iter().map(move |x| term(x, y))).collect()
            };
            let products = expected(|x, y| plain(Accumulate::Product, x, y));
            assert_eq!(run(sparse_products), bits(&products));
            let overlaps = run(sparse_overlaps);
            // The smaller one if the signs agree is exact; so is the order of summation.
            let shared = expected(|x, y| {
                let one = |(x, y): (&f64, &f64)| if x * y > 0.0 { x.abs().min(y.abs()) } else { 0.0 };
                x.iter().zip(y).map(one).fold(0.0, |sum, shared| sum + shared)
            });
            assert_eq!(overlaps, bits(&shared));
            // And up to rounding by its definition: at most 64 terms of at most 1, each with four roundings of at most
            // 2 and a sum.
            let defined =
                expected(|x, y| x.iter().zip(y).map(|(x, y)| (x.abs() + y.abs() - (x - y).abs()) / 2.0).sum());
            for (overlap, defined) in overlaps.iter().zip(defined) {
                assert!((f64::from_bits(*overlap) - defined).abs() <= 64.0 * 64.0 * f64::EPSILON);
            }
        }
    }

    #[test]
    fn sparse_overlaps_of_signs_that_differ_are_zero() {
        let panel = [[2.0, -2.0, 0.0, 1.0, -1.0, 3.0, -0.5, 5.0]];
        let mut out = [f64::NAN; 2 * LANES];
        sparse_overlaps(&panel, &[0, 1, 2], &[0, 0], &[3.0, -1.5], &mut out);
        assert_eq!(out[..LANES], [2.0, 0.0, 0.0, 1.0, 0.0, 3.0, 0.0, 3.0]);
        assert_eq!(out[LANES..], [0.0, 1.5, 0.0, 0.0, 1.0, 0.0, 0.5, 0.0]);
    }
}
