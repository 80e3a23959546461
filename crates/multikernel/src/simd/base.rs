//! Sums over features between a few points and panels of many: squared distances, L1 distances, inner products.

use super::dispatched;

/// Points of a panel: their values of one feature lie side by side.
pub(crate) const PANEL: usize = 16;
/// Points handled against a panel at a time.
pub(crate) const ROWS: usize = 4;

/// What is summed over the features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accumulate {
    /// (x - y)^2.
    SquaredDifference,
    /// |x - y|.
    AbsoluteDifference,
    /// x y.
    Product,
}

/// The sums between up to [`ROWS`] points and `width` points that lie in consecutive panels.
///
/// `rows` holds the values of [`ROWS`] points feature by feature; `panels` one panel after the other, each feature by
/// feature; `out` has one row of `width` values per point that is wanted. Terms are added in the order of the features and
/// each is symmetric in the two points, so a sum has the same bits wherever its points stand.
pub(crate) fn accumulate(what: Accumulate, rows: &[f64], panels: &[f64], width: usize, out: &mut [f64]) {
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

/// Points handled against sparse ones at a time: their values of one column are one line of the cache.
pub(crate) const LANES: usize = 8;

dispatched! {
    /// For each sparse point the sums of products with [`LANES`] points: `out` has [`LANES`] numbers per point.
    ///
    /// `panel` has the values of the points column by column; `ends` says where each sparse point begins and the last ends in
    /// `places`, its columns, and `values`. Columns that are zero in either point add nothing, not even a rounding: the bits
    /// are those of the dense sum.
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
    /// As [`sparse_products`] for what two numbers share, (|x| + |y| - |x - y|) / 2: the smaller one if their signs agree.
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
