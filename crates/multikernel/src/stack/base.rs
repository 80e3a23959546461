//! Base quantities: what kernels are functions of, computed once for all kernels that share it.

use crate::kernel::{Base, Columns};
use crate::linalg::Matrix;

/// Columns of the output handled together, so that the running sums stay in the first-level cache.
const BLOCK: usize = 512;

/// Points prepared for one base quantity on one set of columns.
pub(super) struct Points {
    /// n x d, to read one point.
    rows: Matrix,
    /// d x n, to run over all points along one feature.
    features: Matrix,
    /// |x|^2 of each point, summed in the order inner products are, so that x'x equals it bit for bit.
    norms: Vec<f64>,
}

impl Points {
    pub(super) fn new(points: &Matrix, columns: &Columns) -> Self {
        let rows =
            if columns.is_all() { points.clone() } else { points.select_cols(&columns.indices(points.n_cols())) };
        let features = Matrix::from_fn(rows.n_cols(), rows.n_rows(), |k, i| rows.get(i, k));
        let norms = rows.rows().map(|row| row.iter().fold(0.0, |sum, x| sum + x * x)).collect();
        Points { rows, features, norms }
    }

    pub(super) fn n_zero_rows(&self) -> usize {
        self.norms.iter().filter(|&&norm| norm == 0.0).count()
    }
}

/// The base quantity between point `i` of `left` and the first `out.len()` points of `right`.
///
/// Each entry depends on its two points alone, in a form that is symmetric in them, so neither the order of the
/// points nor the cut into blocks changes a bit, and unit diagonals are exact.
pub(super) fn row_into(base: Base, left: &Points, i: usize, right: &Points, out: &mut [f64]) {
    let point = left.rows.row(i);
    for (b, out) in out.chunks_mut(BLOCK).enumerate() {
        let start = b * BLOCK;
        out.fill(0.0);
        for (k, &x) in point.iter().enumerate() {
            let feature = &right.features.row(k)[start..start + out.len()];
            match base {
                Base::SquaredDistance => add(out, feature, |y| (x - y) * (x - y)),
                Base::L1Distance => add(out, feature, |y| (x - y).abs()),
                Base::InnerProduct | Base::Cosine | Base::ShiftedCosine => add(out, feature, |y| x * y),
            }
        }
        let norm = left.norms[i];
        let norms = &right.norms[start..start + out.len()];
        match base {
            Base::SquaredDistance | Base::L1Distance | Base::InnerProduct => {}
            Base::Cosine => normalise(out, norms, |product, other| {
                let scale = (norm * other).sqrt();
                if scale > 0.0 { product / scale } else { 0.0 }
            }),
            Base::ShiftedCosine => {
                normalise(out, norms, |product, other| (1.0 + product) / ((1.0 + norm) * (1.0 + other)).sqrt());
            }
        }
    }
}

fn add(out: &mut [f64], feature: &[f64], term: impl Fn(f64) -> f64) {
    for (sum, &y) in out.iter_mut().zip(feature) {
        *sum += term(y);
    }
}

fn normalise(out: &mut [f64], norms: &[f64], f: impl Fn(f64, f64) -> f64) {
    for (value, &norm) in out.iter_mut().zip(norms) {
        *value = f(*value, norm);
    }
}
