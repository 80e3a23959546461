//! Base quantities between points: what kernels are functions of, computed once for all kernels that share it.

use std::ops::Range;

use super::cut::Tile;
use super::sparse::{self, SparsePoints};
use crate::features::Features;
use crate::kernel::{Base, Columns};
use crate::simd::{Accumulate, PANEL, ROWS, accumulate};

/// The row points and the column points of one group of kernels.
#[derive(Debug)]
pub(super) enum Sides {
    Dense { left: Dense, right: Dense },
    /// With b'b of the background.
    Sparse { left: SparsePoints, right: SparsePoints, constant: f64 },
}

impl Sides {
    /// The selected points on some columns; sparse around a background, if there is one.
    pub(super) fn new(
        (left, rows): (&Features, &[usize]),
        (right, cols): (&Features, &[usize]),
        columns: &Columns,
        background: Option<&[f64]>,
    ) -> Sides {
        match background {
            None => Sides::Dense { left: Dense::rows(left, columns, rows), right: Dense::panels(right, columns, cols) },
            Some(background) => {
                let right = SparsePoints::new(right, columns, background, cols, None);
                let left = SparsePoints::new(left, columns, background, rows, Some(&right));
                let constant = background.iter().fold(0.0, |sum, b| b.mul_add(*b, sum));
                Sides::Sparse { left, right, constant }
            }
        }
    }

    fn norms(&self) -> (&[f64], &[f64]) {
        match self {
            Sides::Dense { left, right } => (&left.norms, &right.norms),
            Sides::Sparse { left, right, .. } => (left.norms(), right.norms()),
        }
    }

    /// How many row points are zero.
    pub(super) fn n_zero(&self) -> usize {
        self.norms().0.iter().filter(|&&norm| norm == 0.0).count()
    }

    /// The base quantity of every entry of a tile, row by row; `packed` is scratch space.
    ///
    /// Each entry depends on its two points alone, in a form that is symmetric in them, so neither the order of the points
    /// nor the cut into tiles changes a bit, and unit diagonals are exact.
    pub(super) fn base_into(&self, base: Base, tile: &Tile, packed: &mut Vec<f64>, out: &mut [f64]) {
        match self {
            Sides::Dense { left, right } => dense_into(base, left, right, tile, packed, out),
            Sides::Sparse { left, right, constant } => sparse::base_into(base, *constant, left, right, tile, out),
        }
        let (left, right) = self.norms();
        for (i, row) in tile.rows.clone().zip(out.chunks_exact_mut(tile.cols.len())) {
            normalise(base, left[i], &right[tile.cols.clone()], row);
        }
    }
}

/// Points with all their values, as rows or as panels.
#[derive(Debug)]
pub(super) struct Dense {
    n_features: usize,
    /// n x d, to read a few points; or one panel of [`PANEL`] points after the other, each d x 16.
    values: Vec<f64>,
    /// |x|^2 of each point, summed in the order inner products are, so that x'x equals it bit for bit.
    norms: Vec<f64>,
}

impl Dense {
    /// Points that stand for the rows of a stack.
    fn rows(points: &Features, columns: &Columns, selected: &[usize]) -> Dense {
        let n_features = columns.count(points.n_cols());
        let mut values = Vec::with_capacity(selected.len() * n_features);
        let mut whole = vec![];
        for &i in selected {
            match points {
                Features::Dense(matrix) => columns.gather(matrix.row(i), &mut values),
                Features::Sparse(_) => {
                    whole.resize(points.n_cols(), 0.0);
                    points.row_into(i, &mut whole);
                    columns.gather(&whole, &mut values);
                }
            }
        }
        let norms = norms(&values, n_features, selected.len());
        Dense { n_features, values, norms }
    }

    /// Points that stand for the columns of a stack.
    fn panels(points: &Features, columns: &Columns, selected: &[usize]) -> Dense {
        let Dense { n_features, values: rows, norms } = Dense::rows(points, columns, selected);
        let mut values = vec![0.0; selected.len().div_ceil(PANEL) * PANEL * n_features];
        if n_features > 0 {
            for (p, panel) in values.chunks_exact_mut(PANEL * n_features).enumerate() {
                let rows = &rows[p * PANEL * n_features..];
                for (l, row) in rows.chunks_exact(n_features).take(PANEL).enumerate() {
                    for (k, &value) in row.iter().enumerate() {
                        panel[k * PANEL + l] = value;
                    }
                }
            }
        }
        Dense { n_features, values, norms }
    }
}

fn norms(rows: &[f64], n_features: usize, n: usize) -> Vec<f64> {
    let norm = |i: usize| rows[i * n_features..][..n_features].iter().fold(0.0, |sum, x| x.mul_add(*x, sum));
    (0..n).map(norm).collect()
}

fn dense_into(base: Base, left: &Dense, right: &Dense, tile: &Tile, packed: &mut Vec<f64>, out: &mut [f64]) {
    let what = match base {
        Base::SquaredDistance => Accumulate::SquaredDifference,
        Base::L1Distance => Accumulate::AbsoluteDifference,
        Base::InnerProduct | Base::Cosine | Base::ShiftedCosine => Accumulate::Product,
    };
    let (width, d) = (tile.cols.len(), left.n_features);
    let panels = tile.cols.start / PANEL * PANEL * d..tile.cols.end.div_ceil(PANEL) * PANEL * d;
    for (start, out) in tile.rows.clone().step_by(ROWS).zip(out.chunks_mut(ROWS * width)) {
        pack(left, start..(start + ROWS).min(tile.rows.end), packed);
        accumulate(what, packed, &right.values[panels.clone()], width, out);
    }
}

/// The points feature by feature, [`ROWS`] side by side; those past the end are zero.
fn pack(left: &Dense, rows: Range<usize>, packed: &mut Vec<f64>) {
    let d = left.n_features;
    packed.clear();
    packed.resize(ROWS * d, 0.0);
    for (r, i) in rows.enumerate() {
        for (k, &value) in left.values[i * d..(i + 1) * d].iter().enumerate() {
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
