//! Base quantities between points: what kernels are functions of, computed once for all kernels that share it.

use std::ops::Range;
use std::sync::Arc;

use super::cut::Tile;
use super::given::Points;
use super::layout::Group;
use super::sparse::{self, Background, SparsePoints};
use crate::features::Features;
use crate::kernel::{Base, Columns};
use crate::linalg::Matrix;
use crate::simd::{Accumulate, Buffer, PANEL, ROWS, accumulate, dispatched, sum_of_squares};

/// The row points and the column points of one group of kernels.
#[derive(Debug)]
pub(super) struct Sides {
    base: Base,
    pairs: Pairs,
    /// What rows and columns are divided by; empty for bases that are not.
    lengths: (Vec<f64>, Vec<f64>),
    n_zero: usize,
}

#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one for each group of kernels")]
enum Pairs {
    Dense { left: Dense<Vec<f64>>, right: Dense<Buffer> },
    Sparse { left: Box<SparsePoints>, right: Box<SparsePoints>, background: Background },
    Given(Given),
}

/// Rows and columns of a Gram matrix, with the diagonal at them.
#[derive(Debug, Default)]
struct Given {
    values: Arc<Matrix>,
    rows: Vec<usize>,
    cols: Vec<usize>,
    diagonals: [Vec<f64>; 2],
}

impl Given {
    fn new(name: &str, (left, rows): (&Points, &[usize]), (right, cols): (&Points, &[usize])) -> Given {
        // Checked before: a stack is never made without its Gram matrices.
        let Some(gram) = left.gram(name) else { return Given::default() };
        let (rows, cols) = (left.at(rows), right.at(cols));
        // Without a diagonal only raw kernels are made, which do not look at it.
        let pick = |diagonal: &[f64], at: &[usize]| at.iter().filter_map(|&i| diagonal.get(i).copied()).collect();
        let diagonals = [pick(gram.row_diagonal(), &rows), pick(gram.diagonal(), &cols)];
        Given { values: gram.values().clone(), rows, cols, diagonals }
    }

    fn tile_into(&self, tile: &Tile, out: &mut [f64]) {
        for (&i, row) in self.rows[tile.rows.clone()].iter().zip(out.chunks_exact_mut(tile.cols.len())) {
            let values = self.values.row(i);
            for (out, &j) in row.iter_mut().zip(&self.cols[tile.cols.clone()]) {
                *out = values[j];
            }
        }
    }
}

impl Pairs {
    fn norms(&self) -> (&[f64], &[f64]) {
        match self {
            Pairs::Dense { left, right } => (&left.norms, &right.norms),
            Pairs::Sparse { left, right, .. } => (left.norms(), right.norms()),
            Pairs::Given(Given { diagonals: [left, right], .. }) => (left, right),
        }
    }
}

impl Sides {
    /// The selected points on the columns of a group; sparse around a background, if there is one.
    pub(super) fn new(
        group: &Group,
        (left, rows): (&Points, &[usize]),
        (right, cols): (&Points, &[usize]),
        background: Option<&[f64]>,
    ) -> Sides {
        let columns = &group.columns;
        let pairs = match (&group.gram, background) {
            (Some(name), _) => Pairs::Given(Given::new(name, (left, rows), (right, cols))),
            (None, None) => {
                let (left, right) = (left.features(), right.features());
                Pairs::Dense { left: Dense::rows(left, columns, rows), right: Dense::panels(right, columns, cols) }
            }
            (None, Some(background)) => {
                let (left, right) = (left.features(), right.features());
                let right = SparsePoints::new(right, columns, background, cols, None);
                let left = SparsePoints::new(left, columns, background, rows, Some(&right));
                Pairs::Sparse { left: left.into(), right: right.into(), background: Background::new(background) }
            }
        };
        let (left, right) = pairs.norms();
        let lengths = (lengths(group.base, left), lengths(group.base, right));
        let n_zero = left.iter().filter(|&&norm| norm == 0.0).count();
        Sides { base: group.base, pairs, lengths, n_zero }
    }

    /// How many row points are zero.
    pub(super) fn n_zero(&self) -> usize {
        self.n_zero
    }

    /// The base quantity of every entry of a tile, row by row; `packed` is scratch space.
    ///
    /// Each entry depends on its two points alone, in a form that is symmetric in them, so neither the order of the points
    /// nor the cut into tiles changes a bit, and unit diagonals are exact.
    pub(super) fn base_into(&self, tile: &Tile, packed: &mut Vec<f64>, out: &mut [f64]) {
        match &self.pairs {
            Pairs::Given(given) => given.tile_into(tile, out),
            Pairs::Dense { left, right } => dense_into(self.base, left, right, tile, packed, out),
            Pairs::Sparse { left, right, background } => {
                sparse::base_into(self.base, background, left, right, tile, out)
            }
        }
        let shift = match self.base {
            Base::SquaredDistance | Base::L1Distance | Base::InnerProduct | Base::Given => return,
            Base::Cosine | Base::GivenCosine => 0.0,
            Base::ShiftedCosine => 1.0,
        };
        let (left, right) = &self.lengths;
        for (i, row) in tile.rows.clone().zip(out.chunks_exact_mut(tile.cols.len())) {
            cosine(shift, left[i], &right[tile.cols.clone()], row);
        }
    }
}

fn lengths(base: Base, norms: &[f64]) -> Vec<f64> {
    match base {
        Base::SquaredDistance | Base::L1Distance | Base::InnerProduct | Base::Given => vec![],
        Base::Cosine | Base::GivenCosine => norms.iter().map(|norm| norm.sqrt()).collect(),
        Base::ShiftedCosine => norms.iter().map(|norm| (1.0 + norm).sqrt()).collect(),
    }
}

/// Points with all their values, as rows or as panels.
#[derive(Debug)]
pub(super) struct Dense<V> {
    n_features: usize,
    /// n x d, to read a few points; or one panel of [`PANEL`] points after the other, each d x 16.
    values: V,
    /// |x|^2 of each point, summed in the order inner products are, so that x'x equals it bit for bit.
    norms: Vec<f64>,
}

impl Dense<Vec<f64>> {
    /// Points that stand for the rows of a stack.
    fn rows(points: &Features, columns: &Columns, selected: &[usize]) -> Self {
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
}

impl Dense<Buffer> {
    /// Points that stand for the columns of a stack.
    fn panels(points: &Features, columns: &Columns, selected: &[usize]) -> Self {
        let Dense { n_features, values: rows, norms } = Dense::rows(points, columns, selected);
        let mut values = Buffer::default();
        values.set_len(selected.len().div_ceil(PANEL) * PANEL * n_features);
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
    (0..n).map(|i| sum_of_squares(&rows[i * n_features..(i + 1) * n_features])).collect()
}

fn dense_into(
    base: Base,
    left: &Dense<Vec<f64>>,
    right: &Dense<Buffer>,
    tile: &Tile,
    packed: &mut Vec<f64>,
    out: &mut [f64],
) {
    let what = match base {
        Base::SquaredDistance => Accumulate::SquaredDifference,
        Base::L1Distance => Accumulate::AbsoluteDifference,
        // Values that were given are never accumulated.
        Base::InnerProduct | Base::Cosine | Base::ShiftedCosine | Base::Given | Base::GivenCosine => {
            Accumulate::Product
        }
    };
    let (width, d) = (tile.cols.len(), left.n_features);
    if d == 0 {
        return out.fill(0.0);
    }
    let panels = tile.cols.start / PANEL * PANEL * d..tile.cols.end.div_ceil(PANEL) * PANEL * d;
    for (start, out) in tile.rows.clone().step_by(ROWS).zip(out.chunks_mut(ROWS * width)) {
        pack(left, start..(start + ROWS).min(tile.rows.end), packed);
        accumulate(what, packed, &right.values[panels.clone()], width, out);
    }
}

/// The points feature by feature, [`ROWS`] side by side; those past the end are zero.
fn pack(left: &Dense<Vec<f64>>, rows: Range<usize>, packed: &mut Vec<f64>) {
    let d = left.n_features;
    packed.clear();
    packed.resize(ROWS * d, 0.0);
    for (r, i) in rows.enumerate() {
        for (k, &value) in left.values[i * d..(i + 1) * d].iter().enumerate() {
            packed[k * ROWS + r] = value;
        }
    }
}

/// What two points are divided by is a product of their lengths. Equal points have cosine 1 but for the rounding of the two
/// square roots, the product and the quotient; what is nearer to 1 than that is 1, so unit diagonals are exact.
const ROUNDED: f64 = 2.0 * f64::EPSILON;

dispatched! {
    fn cosine(shift: f64, length: f64, lengths: &[f64], out: &mut [f64]) {
        for (value, &other) in out.iter_mut().zip(lengths) {
            let quotient = (shift + *value) / (length * other);
            let quotient = if (quotient - 1.0).abs() <= ROUNDED { 1.0 } else { quotient };
            // A zero row has no direction.
            *value = if length * other > 0.0 { quotient } else { 0.0 };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;
    use crate::simd::at_every_level;
    use crate::simd::check::{LENGTHS, bits, uniform};

    #[test]
    fn cosine_of_any_length_is_the_quotient_at_every_level() {
        let mut rng = Rng::new(1, 0);
        for (n, shift) in LENGTHS.into_iter().flat_map(|n| [(n, 0.0), (n, 1.0)]) {
            let mut lengths: Vec<f64> = (0..n).map(|_| 0.1 + rng.uniform()).collect();
            let mut products = uniform(&mut rng, n);
            // A zero row, a row that is the same, one that is nearly so, and one that is not.
            for (k, (length, product)) in
                [(0.0, 0.0), (2.0, 4.0), (2.0, 4f64.next_up()), (2.0, 4.0 + 1e-14)].into_iter().enumerate()
            {
                if k < n {
                    (lengths[k], products[k]) = (length, product - shift);
                }
            }
            let run = |length: f64| {
                at_every_level(|| {
                    let mut out = products.clone();
                    cosine(shift, length, &lengths, &mut out);
                    bits(&out)
                })
            };
            let quotients: Vec<f64> =
                products.iter().zip(&lengths).map(|(product, other)| (shift + product) / (2.0 * other)).collect();
            for (k, (found, quotient)) in run(2.0).into_iter().map(f64::from_bits).zip(quotients).enumerate() {
                match k {
                    0 => assert_eq!(found, 0.0),
                    1 | 2 => assert_eq!(found, 1.0),
                    3 => assert_ne!(found, 1.0),
                    _ => assert_eq!(found, quotient),
                }
            }
            assert_eq!(run(0.0), vec![0; n]);
        }
    }
}
