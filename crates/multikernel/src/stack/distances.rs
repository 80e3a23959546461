//! Squared distances between points, tile by tile: for callers that need distances but no kernels.

use std::ops::Range;

use super::cut::Cut;
use super::given::Points;
use super::layout::Group;
use super::points::{Shared, Sides};
use super::sparse;
use crate::features::Features;
use crate::kernel::{Base, Columns};
use crate::simd::Buffer;

/// Squared distances between all pairs of a set of points. They are computed on demand by the same code as the kernels:
/// equal points have distance 0, and sparse points cost only what they store.
#[derive(Debug)]
pub(crate) struct Distances {
    sides: Sides,
    cut: Cut,
}

impl Distances {
    /// Copies the points twice, once for each of the two orders in which they are read.
    pub(crate) fn new(points: &Features) -> Distances {
        let columns = Columns::all();
        let background = sparse::backgrounds(points, std::iter::once(&columns)).pop().flatten();
        let n = points.n_rows();
        let all: Vec<usize> = (0..n).collect();
        let group =
            Group { base: Base::SquaredDistance, columns, unscaled: false, gram: None, slots: 0..0, radial: None };
        let points = Points::from(points);
        let sides = Sides::new(&group, (&points, &all), (&points, &all), background.as_deref(), &mut Shared::default());
        Distances { sides, cut: Cut { n_rows: n, n_cols: n, symmetric: false } }
    }

    /// Number of row blocks: the unit to share out among threads.
    pub(crate) fn n_blocks(&self) -> usize {
        self.cut.n_blocks()
    }

    /// The rows of a block.
    pub(crate) fn rows(&self, block: usize) -> Range<usize> {
        self.cut.rows(block)
    }

    /// Calls `f` with each tile of a block of rows, from left to right: its columns, and the squared distances row by
    /// row.
    pub(crate) fn each(&self, block: usize, mut f: impl FnMut(Range<usize>, &[f64])) {
        let mut squares = Buffer::default();
        for tile in self.cut.tiles(block) {
            squares.set_len(tile.len());
            self.sides.base_into(&tile, &mut squares);
            f(tile.cols, &squares);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::tests::sparse;
    use crate::linalg::Matrix;

    /// All squared distances, row by row.
    fn table(points: &Features) -> Vec<Vec<f64>> {
        let distances = Distances::new(points);
        let mut table = vec![vec![]; points.n_rows()];
        for block in 0..distances.n_blocks() {
            distances.each(block, |cols, squares| {
                for (i, squares) in distances.rows(block).zip(squares.chunks_exact(cols.len())) {
                    assert_eq!(table[i].len(), cols.start);
                    table[i].extend_from_slice(squares);
                }
            });
        }
        table
    }

    #[test]
    fn distances_of_dense_and_sparse_points_are_those_of_all_pairs() {
        for (n, d) in [(0, 3), (1, 1), (5, 0), (17, 4), (300, 2), (40, 50)] {
            // Mostly zeros, and integers, so nothing rounds.
            let value =
                |i: usize, j: usize| if (i + j).is_multiple_of(5) { ((7 * i + 3 * j) % 11) as f64 } else { 0.0 };
            let points = Matrix::from_fn(n, d, value);
            let square = |i: usize, j: usize| (0..d).map(|k| (value(i, k) - value(j, k)).powi(2)).sum::<f64>();
            let expected: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| square(i, j)).collect()).collect();
            assert_eq!(table(&points.clone().into()), expected, "{n} x {d}");
            assert_eq!(table(&sparse(&points, &vec![0.0; d])), expected, "{n} x {d}, sparse");
        }
    }
}
