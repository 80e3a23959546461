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
