//! Base quantities between points: the arguments of kernels, computed once for all kernels that share them.

use std::collections::HashMap;
use std::sync::Arc;

use super::cut::{BLOCK_ROWS, TILE_COLS, Tile};
use super::given::Points;
use super::layout::Group;
use super::sparse::{self, Background, SparsePoints};
use crate::features::Features;
use crate::kernel::{Base, Columns};
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::simd::{Accumulate, Buffer, PANEL, ROWS, Real, UninitPart, accumulate, dispatched};

/// The row points and the column points of one group of kernels.
#[derive(Debug)]
pub(super) struct Sides {
    base: Base,
    pairs: Pairs,
    /// Divisors of rows and columns; empty for bases that have none.
    lengths: (Vec<f64>, Vec<f64>),
    n_zero: usize,
}

#[derive(Debug)]
enum Pairs {
    Dense(Arc<Dense>),
    Sparse(Arc<SparsePairs>),
    Given(Given),
}

/// Sparse row and column points around the same background.
#[derive(Debug)]
pub(super) struct SparsePairs {
    left: SparsePoints,
    right: SparsePoints,
    background: Background,
}

/// Rows and columns of a Gram matrix, with its diagonal at them.
#[derive(Debug, Default)]
struct Given {
    values: Arc<Matrix>,
    rows: Vec<usize>,
    cols: Vec<usize>,
    /// Whether columns ascend, so that most tiles are runs of neighbours.
    in_order: bool,
    diagonals: [Vec<f64>; 2],
}

impl Given {
    fn new(name: &str, (left, rows): (&Points, &[usize]), (right, cols): (&Points, &[usize])) -> Given {
        // Checked earlier: a stack is never built without its Gram matrices.
        let Some(gram) = left.gram(name) else { return Given::default() };
        let (rows, cols) = (left.at(rows), right.at(cols));
        // Without a diagonal only raw kernels exist, and they do not use it.
        let pick = |diagonal: &[f64], at: &[usize]| at.iter().filter_map(|&i| diagonal.get(i).copied()).collect();
        let diagonals = [pick(gram.row_diagonal(), &rows), pick(gram.diagonal(), &cols)];
        let in_order = cols.is_sorted_by(|a, b| a < b);
        Given { values: gram.values().clone(), rows, cols, in_order, diagonals }
    }

    fn tile_into(&self, tile: &Tile, out: &mut [f64]) {
        self.append_tile(tile, &mut UninitPart::over(out));
    }

    /// The values of a tile, row by row, without a step between the matrix and their place.
    fn append_tile<T: Real>(&self, tile: &Tile, out: &mut UninitPart<'_, T>) {
        let (all, width) = (self.values.data(), self.values.n_cols());
        let cols = &self.cols[tile.cols.clone()];
        let neighbours = match cols {
            [first, .., last] if self.in_order && last - first + 1 == cols.len() => Some(*first..last + 1),
            _ => None,
        };
        let mut picked = vec![];
        for &i in &self.rows[tile.rows.clone()] {
            let row = &all[i * width..(i + 1) * width];
            match &neighbours {
                Some(cols) => T::round_into(&row[cols.clone()], out),
                None => {
                    picked.clear();
                    picked.extend(cols.iter().map(|&j| row[j]));
                    T::round_into(&picked, out);
                }
            }
        }
    }
}

impl Pairs {
    fn norms(&self) -> (&[f64], &[f64]) {
        match self {
            Pairs::Dense(dense) => (&dense.left.norms, &dense.right.norms),
            Pairs::Sparse(sparse) => (sparse.left.norms(), sparse.right.norms()),
            Pairs::Given(Given { diagonals: [left, right], .. }) => (left, right),
        }
    }
}

/// Points shared by groups on the same columns, and the threads that pack them.
#[derive(Default)]
pub(super) struct Shared<'a> {
    pool: Option<&'a Pool>,
    dense: HashMap<(&'a Columns, bool), Arc<Dense>>,
    sparse: HashMap<(&'a Columns, bool), Arc<SparsePairs>>,
}

impl<'a> Shared<'a> {
    pub(super) fn new(pool: Option<&'a Pool>) -> Shared<'a> {
        Shared { pool, ..Shared::default() }
    }
}

impl Sides {
    /// The selected points on the columns of a group; sparse around a background if there is one. `shared` holds those
    /// of other groups between the same points, whose backgrounds are the same.
    pub(super) fn new<'a>(
        group: &'a Group,
        (left, rows): (&Points, &[usize]),
        (right, cols): (&Points, &[usize]),
        background: Option<&[f64]>,
        shared: &mut Shared<'a>,
    ) -> Sides {
        let (columns, key, pool) = (&group.columns, (&group.columns, group.unscaled), shared.pool);
        let pairs = match (&group.gram, background) {
            (Some(name), _) => Pairs::Given(Given::new(name, (left, rows), (right, cols))),
            (None, None) => {
                let dense = || {
                    let (left, right) = (left.features_of(group.unscaled), right.features_of(group.unscaled));
                    Dense::new(columns, (&left, rows), (&right, cols), pool).into()
                };
                Pairs::Dense(shared.dense.entry(key).or_insert_with(dense).clone())
            }
            (None, Some(background)) => {
                let sparse = || {
                    let (left, right) = (left.features_of(group.unscaled), right.features_of(group.unscaled));
                    let right = SparsePoints::new(&right, columns, background, cols, None);
                    let left = SparsePoints::new(&left, columns, background, rows, Some(&right));
                    SparsePairs { left, right, background: Background::new(background) }.into()
                };
                Pairs::Sparse(shared.sparse.entry(key).or_insert_with(sparse).clone())
            }
        };
        let (left, right) = pairs.norms();
        let lengths = (lengths(group.base, left), lengths(group.base, right));
        let n_zero = left.iter().filter(|&&norm| norm == 0.0).count();
        Sides { base: group.base, pairs, lengths, n_zero }
    }

    /// Number of row points that are zero.
    pub(super) fn n_zero(&self) -> usize {
        self.n_zero
    }

    /// Appends the entries of a tile as they are given; false where they are computed.
    pub(super) fn append_given<T: Real>(&self, tile: &Tile, out: &mut UninitPart<'_, T>) -> bool {
        let Pairs::Given(given) = &self.pairs else { return false };
        given.append_tile(tile, out);
        true
    }

    /// The base quantity of every entry of a tile, row by row.
    ///
    /// Each entry depends on its two points alone, in a form symmetric in them, so neither the order of the points nor
    /// the tiling changes a bit, and unit diagonals are exact.
    pub(super) fn base_into(&self, tile: &Tile, out: &mut [f64]) {
        match &self.pairs {
            Pairs::Given(given) => given.tile_into(tile, out),
            Pairs::Dense(dense) => dense.tile_into(self.base, tile, out),
            Pairs::Sparse(pairs) => {
                sparse::base_into(self.base, &pairs.background, &pairs.left, &pairs.right, tile, out)
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

/// Row and column points with all their values on the same columns.
#[derive(Debug)]
pub(super) struct Dense {
    n_features: usize,
    left: Panels<ROWS>,
    right: Panels<PANEL>,
}

/// Points in panels of `SIDE` side by side, feature by feature; positions past the last point are zero.
#[derive(Debug)]
struct Panels<const SIDE: usize> {
    values: Buffer,
    /// |x|^2 of each point, summed in the same order as inner products, so that x'x equals it bit for bit.
    norms: Vec<f64>,
}

/// Panels packed by one task, and the number of values from which there is more than one.
const PIECE: usize = 32;
const MIN_SHARED: usize = 1 << 17;

impl<const SIDE: usize> Panels<SIDE> {
    fn new(
        columns: &Columns,
        (points, selected): (&Features, &[usize]),
        squares: fn(&[f64]) -> [f64; SIDE],
        pool: Option<&Pool>,
    ) -> Self {
        let (d, n) = (columns.count(points.n_cols()), selected.len());
        let (mut values, mut norms) = (Buffer::default(), vec![0.0; n.next_multiple_of(SIDE)]);
        values.set_len(norms.len() * d);
        let parts = values.chunks_mut((PIECE * SIDE * d).max(1)).zip(norms.chunks_mut(PIECE * SIDE));
        let pieces: Vec<_> = selected.chunks(PIECE * SIDE).zip(parts).collect();
        let pack = |(selected, (values, norms)): (&[usize], (&mut [f64], &mut [f64]))| {
            let (mut whole, mut gathered) = (vec![], vec![]);
            let panels = values.chunks_exact_mut(SIDE * d).zip(norms.as_chunks_mut::<SIDE>().0);
            for (selected, (panel, norms)) in selected.chunks(SIDE).zip(panels) {
                for (place, &i) in selected.iter().enumerate() {
                    let row = match points {
                        Features::Dense(matrix) => matrix.row(i),
                        Features::Sparse(_) => {
                            whole.resize(points.n_cols(), 0.0);
                            points.row_into(i, &mut whole);
                            &whole
                        }
                    };
                    let row = if columns.ranges().is_some() {
                        gathered.clear();
                        columns.gather(row, &mut gathered);
                        &gathered
                    } else {
                        row
                    };
                    for (values, &value) in panel.as_chunks_mut::<SIDE>().0.iter_mut().zip(row) {
                        values[place] = value;
                    }
                }
                *norms = squares(panel);
            }
        };
        match pool.filter(|_| n * d >= MIN_SHARED) {
            Some(pool) => pool.each(pieces, pack),
            None => pieces.into_iter().for_each(pack),
        }
        norms.truncate(n);
        Panels { values, norms }
    }
}

dispatched! {
    fn squares_of_rows(panel: &[f64]) -> [f64; ROWS] {
        squares(panel)
    }
}

dispatched! {
    fn squares_of_panel(panel: &[f64]) -> [f64; PANEL] {
        squares(panel)
    }
}

/// |x|^2 of each point of a panel.
#[inline(always)]
fn squares<const SIDE: usize>(panel: &[f64]) -> [f64; SIDE] {
    let mut sums = [0.0f64; SIDE];
    for values in panel.as_chunks::<SIDE>().0 {
        for (sum, x) in sums.iter_mut().zip(values) {
            *sum = x.mul_add(*x, *sum);
        }
    }
    sums
}

impl Dense {
    fn new(columns: &Columns, left: (&Features, &[usize]), right: (&Features, &[usize]), pool: Option<&Pool>) -> Self {
        let n_features = columns.count(left.0.n_cols());
        let left = Panels::new(columns, left, squares_of_rows, pool);
        Dense { n_features, left, right: Panels::new(columns, right, squares_of_panel, pool) }
    }

    /// The sum over features for every entry of a tile, which starts at a panel boundary in rows and columns.
    fn tile_into(&self, base: Base, tile: &Tile, out: &mut [f64]) {
        let what = match base {
            Base::SquaredDistance => Accumulate::SquaredDifference,
            Base::L1Distance => Accumulate::AbsoluteDifference,
            // Precomputed values are never accumulated.
            Base::InnerProduct | Base::Cosine | Base::ShiftedCosine | Base::Given | Base::GivenCosine => {
                Accumulate::Product
            }
        };
        let (width, d) = (tile.cols.len(), self.n_features);
        if d == 0 {
            return out.fill(0.0);
        }
        let panels = &self.right.values[tile.cols.start * d..tile.cols.end.next_multiple_of(PANEL) * d];
        let rows = self.left.values[tile.rows.start * d..].chunks_exact(ROWS * d);
        for (rows, out) in rows.zip(out.chunks_mut(ROWS * width)) {
            accumulate(what, rows, panels, width, out);
        }
    }
}

// Tiles start at panel boundaries.
const _: () = assert!(BLOCK_ROWS.is_multiple_of(ROWS) && TILE_COLS.is_multiple_of(PANEL));

/// The divisor of two points is the product of their lengths. Equal points have cosine 1 up to the rounding of the two
/// square roots, the product and the quotient; anything closer to 1 than that is set to 1, so unit diagonals are exact.
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
    use crate::simd::check::{LENGTHS, bits, uniform};
    use crate::simd::{at_every_level, sum_of_squares};

    #[test]
    fn norms_are_the_products_of_points_with_themselves_to_the_last_bit() {
        let mut rng = Rng::new(2, 0);
        for (n, d, columns) in [(1, 1, vec![]), (3, 5, vec![]), (16, 8, vec![]), (37, 24, vec![1, 2, 7, 23])] {
            let points = Features::from(Matrix::from_vec(n, d, uniform(&mut rng, n * d)).unwrap());
            let columns = if columns.is_empty() { Columns::all() } else { Columns::from_positions(columns) };
            let all: Vec<usize> = (0..n).rev().collect();
            let found = at_every_level(|| {
                let dense = Dense::new(&columns, (&points, &all), (&points, &all), None);
                let mut products = vec![0.0; n * n];
                dense.tile_into(Base::InnerProduct, &Tile { rows: 0..n, cols: 0..n }, &mut products);
                let diagonal: Vec<f64> = (0..n).map(|i| products[i * n + i]).collect();
                assert_eq!(bits(&dense.left.norms), bits(&diagonal));
                assert_eq!(bits(&dense.right.norms), bits(&diagonal));
                bits(&diagonal)
            });
            let square = |i: &usize| {
                let (mut row, mut kept) = (vec![0.0; d], vec![]);
                points.row_into(*i, &mut row);
                columns.gather(&row, &mut kept);
                sum_of_squares(&kept)
            };
            assert_eq!(found, bits(&all.iter().map(square).collect::<Vec<f64>>()), "{n} x {d}");
        }
    }

    #[test]
    fn cosine_of_any_length_is_the_quotient_at_every_level() {
        let mut rng = Rng::new(1, 0);
        for (n, shift) in LENGTHS.into_iter().flat_map(|n| [(n, 0.0), (n, 1.0)]) {
            let mut lengths: Vec<f64> = (0..n).map(|_| 0.1 + rng.uniform()).collect();
            let mut products = uniform(&mut rng, n);
            // A zero row, an equal row, a nearly equal one, and a different one.
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
