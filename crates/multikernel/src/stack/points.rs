//! Base quantities between points: what kernels are functions of, computed once for all kernels that share it.

use std::ops::Range;

use super::cut::Tile;
use crate::kernel::{Base, Columns};
use crate::linalg::Matrix;
use crate::simd::{Accumulate, PANEL, ROWS, accumulate};

/// Points prepared for one base quantity on one set of columns.
#[derive(Debug)]
pub(super) struct Points {
    n_features: usize,
    /// n x d, to read a few points. Empty on the right.
    rows: Vec<f64>,
    /// One panel of [`PANEL`] points after the other, each d x 16. Empty on the left.
    panels: Vec<f64>,
    /// |x|^2 of each point, summed in the order inner products are, so that x'x equals it bit for bit.
    norms: Vec<f64>,
}

impl Points {
    /// Points that stand for the rows of a stack.
    pub(super) fn left(points: &Matrix, columns: &Columns, selected: &[usize]) -> Points {
        let n_features = columns.count(points.n_cols());
        let mut rows = Vec::with_capacity(selected.len() * n_features);
        for &i in selected {
            columns.gather(points.row(i), &mut rows);
        }
        let norms = norms(&rows, n_features, selected.len());
        Points { n_features, rows, panels: vec![], norms }
    }

    /// Points that stand for the columns of a stack.
    pub(super) fn right(points: &Matrix, columns: &Columns, selected: &[usize]) -> Points {
        let Points { n_features, rows, norms, .. } = Points::left(points, columns, selected);
        let mut panels = vec![0.0; selected.len().div_ceil(PANEL) * PANEL * n_features];
        if n_features > 0 {
            for (p, panel) in panels.chunks_exact_mut(PANEL * n_features).enumerate() {
                let rows = &rows[p * PANEL * n_features..];
                for (l, row) in rows.chunks_exact(n_features).take(PANEL).enumerate() {
                    for (k, &value) in row.iter().enumerate() {
                        panel[k * PANEL + l] = value;
                    }
                }
            }
        }
        Points { n_features, rows: vec![], panels, norms }
    }

    /// How many points are zero.
    pub(super) fn n_zero(&self) -> usize {
        self.norms.iter().filter(|&&norm| norm == 0.0).count()
    }
}

fn norms(rows: &[f64], n_features: usize, n: usize) -> Vec<f64> {
    let norm = |i: usize| rows[i * n_features..][..n_features].iter().fold(0.0, |sum, x| x.mul_add(*x, sum));
    (0..n).map(norm).collect()
}

/// The base quantity of every entry of a tile, row by row; `packed` is scratch space.
///
/// Each entry depends on its two points alone, in a form that is symmetric in them, so neither the order of the points
/// nor the cut into tiles changes a bit, and unit diagonals are exact.
pub(super) fn base_into(
    base: Base,
    left: &Points,
    right: &Points,
    tile: &Tile,
    packed: &mut Vec<f64>,
    out: &mut [f64],
) {
    let what = match base {
        Base::SquaredDistance => Accumulate::SquaredDifference,
        Base::L1Distance => Accumulate::AbsoluteDifference,
        Base::InnerProduct | Base::Cosine | Base::ShiftedCosine => Accumulate::Product,
    };
    let (width, d) = (tile.cols.len(), left.n_features);
    let panels = tile.cols.start / PANEL * PANEL * d..tile.cols.end.div_ceil(PANEL) * PANEL * d;
    for (start, out) in tile.rows.clone().step_by(ROWS).zip(out.chunks_mut(ROWS * width)) {
        pack(left, start..(start + ROWS).min(tile.rows.end), packed);
        accumulate(what, packed, &right.panels[panels.clone()], width, out);
    }
    for (i, row) in tile.rows.clone().zip(out.chunks_exact_mut(width)) {
        normalise(base, left.norms[i], &right.norms[tile.cols.clone()], row);
    }
}

/// The points feature by feature, [`ROWS`] side by side; those past the end are zero.
fn pack(left: &Points, rows: Range<usize>, packed: &mut Vec<f64>) {
    let d = left.n_features;
    packed.clear();
    packed.resize(ROWS * d, 0.0);
    for (r, i) in rows.enumerate() {
        for (k, &value) in left.rows[i * d..(i + 1) * d].iter().enumerate() {
            packed[k * ROWS + r] = value;
        }
    }
}

fn normalise(base: Base, norm: f64, norms: &[f64], out: &mut [f64]) {
    match base {
        Base::SquaredDistance | Base::L1Distance | Base::InnerProduct => {}
        Base::Cosine => cosine(norm, norms, out),
        Base::ShiftedCosine => shifted_cosine(norm, norms, out),
    }
}

crate::simd::dispatched! {
    fn cosine(norm: f64, norms: &[f64], out: &mut [f64]) {
        for (value, &other) in out.iter_mut().zip(norms) {
            let scale = (norm * other).sqrt();
            *value = if scale > 0.0 { *value / scale } else { 0.0 };
        }
    }
}

crate::simd::dispatched! {
    fn shifted_cosine(norm: f64, norms: &[f64], out: &mut [f64]) {
        for (value, &other) in out.iter_mut().zip(norms) {
            *value = (1.0 + *value) / ((1.0 + norm) * (1.0 + other)).sqrt();
        }
    }
}
