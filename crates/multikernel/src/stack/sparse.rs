//! Base quantities between points that keep few of their values: time and memory go with what is kept.
//!
//! A point is x = b + s, where b is the background all points share and s is zero in most columns. Distances do not see b;
//! inner products are s's' + s'b + b's' + b'b. One-hot columns are such points too, with the common value of each column as
//! background, also after standardising.

use std::cell::{OnceCell, RefCell};

use super::cut::Tile;
use crate::features::Features;
use crate::kernel::{Base, Columns};
use crate::linalg::Matrix;
use crate::simd::{LANES, sparse_overlaps, sparse_products, sum_of_squares};

/// Fewer columns than this are cheaper as they are.
const FEWEST_COLUMNS: usize = 33;
/// At most one value in this many may differ from the background.
const SPARSITY: usize = 4;
/// A distance below this part of what its two points have is summed anew from differences: the difference of large sums
/// keeps its digits only down to here.
const CANCELLED: f64 = 1.0 / 64.0;
/// Marks a column that no point on the right keeps.
const ABSENT: u32 = u32::MAX;

/// For each set of columns the background of the points on them, if they are sparse around it.
///
/// It depends on the column points of a stack alone, so that new points change nothing for one another.
pub(super) fn backgrounds<'a>(points: &Features, sets: impl Iterator<Item = &'a Columns>) -> Vec<Option<Vec<f64>>> {
    let usual = OnceCell::new();
    sets.map(|columns| background(points, columns, &usual)).collect()
}

fn background(points: &Features, columns: &Columns, usual: &OnceCell<Vec<f64>>) -> Option<Vec<f64>> {
    let (n, n_columns) = (points.n_rows(), columns.count(points.n_cols()));
    if n_columns < FEWEST_COLUMNS || n == 0 {
        return None;
    }
    let picked = columns.indices(points.n_cols());
    let (usual, n_kept): (&[f64], usize) = match points {
        Features::Dense(matrix) => {
            let usual = usual.get_or_init(|| common_values(matrix));
            let kept = |row: &[f64]| picked.iter().filter(|&&k| row[k] != usual[k]).count();
            (usual, matrix.rows().map(kept).sum())
        }
        Features::Sparse(sparse) => {
            let mut is_picked = vec![false; points.n_cols()];
            picked.iter().for_each(|&k| is_picked[k] = true);
            let kept = |i: usize| sparse.entries(i).0.iter().filter(|&&k| is_picked[k as usize]).count();
            (sparse.background(), (0..n).map(kept).sum())
        }
    };
    (n_kept <= n * n_columns / SPARSITY).then(|| picked.iter().map(|&k| usual[k]).collect())
}

/// For each column the value that more than half of the rows have, if there is one (Boyer and Moore's vote), else any.
fn common_values(matrix: &Matrix) -> Vec<f64> {
    let mut votes = vec![(0.0, 0usize); matrix.n_cols()];
    for row in matrix.rows() {
        for ((value, count), &x) in votes.iter_mut().zip(row) {
            if *count == 0 {
                *value = x;
            }
            *count = if *value == x { *count + 1 } else { *count - 1 };
        }
    }
    votes.into_iter().map(|(value, _)| value).collect()
}

/// Points of one side of a stack.
#[derive(Debug)]
pub(super) struct SparsePoints {
    /// Where each point begins, and where the last ends.
    starts: Vec<usize>,
    /// The columns of s, ascending within a point.
    columns: Vec<u32>,
    /// The same among the columns that points on the right keep.
    places: Vec<u32>,
    values: Vec<f64>,
    /// Sum of s^2, of |s|, of s b, and |x|^2.
    squares: Vec<f64>,
    sizes: Vec<f64>,
    shifts: Vec<f64>,
    norms: Vec<f64>,
    n_places: usize,
}

impl SparsePoints {
    /// The selected points; those on the right number the columns they keep, those on the left take over the numbers.
    pub(super) fn new(
        points: &Features,
        columns: &Columns,
        background: &[f64],
        selected: &[usize],
        right: Option<&SparsePoints>,
    ) -> SparsePoints {
        let (mut starts, mut kept, mut values) = (vec![0], vec![], vec![]);
        let picked = columns.indices(points.n_cols());
        match points {
            Features::Dense(matrix) => {
                for &i in selected {
                    let row = matrix.row(i);
                    for (k, (&column, usual)) in picked.iter().zip(background).enumerate() {
                        if row[column] != *usual {
                            kept.push(k as u32);
                            values.push(row[column] - usual);
                        }
                    }
                    starts.push(kept.len());
                }
            }
            Features::Sparse(sparse) => {
                let mut position = vec![ABSENT; points.n_cols()];
                picked.iter().enumerate().for_each(|(k, &column)| position[column] = k as u32);
                for &i in selected {
                    let (columns, stored) = sparse.entries(i);
                    for (&column, &value) in columns.iter().zip(stored) {
                        let k = position[column as usize];
                        if k != ABSENT && value != background[k as usize] {
                            kept.push(k);
                            values.push(value - background[k as usize]);
                        }
                    }
                    starts.push(kept.len());
                }
            }
        }
        let mut side = SparsePoints {
            starts,
            columns: kept,
            places: vec![],
            values,
            squares: vec![],
            sizes: vec![],
            shifts: vec![],
            norms: vec![],
            n_places: 0,
        };
        side.number(background.len(), right);
        side.sum(background);
        side
    }

    fn n_points(&self) -> usize {
        self.starts.len() - 1
    }

    fn entries(&self, i: usize) -> (&[u32], &[f64]) {
        let range = self.starts[i]..self.starts[i + 1];
        (&self.columns[range.clone()], &self.values[range])
    }

    fn number(&mut self, n_columns: usize, right: Option<&SparsePoints>) {
        let mut place = vec![ABSENT; n_columns];
        let source = right.unwrap_or(self);
        let mut next = 0;
        for &column in &source.columns {
            if place[column as usize] == ABSENT {
                place[column as usize] = next;
                next += 1;
            }
        }
        self.n_places = next as usize;
        self.places = self.columns.iter().map(|&column| place[column as usize]).collect();
    }

    fn sum(&mut self, background: &[f64]) {
        let constant = sum_of_squares(background);
        for i in 0..self.n_points() {
            let (columns, values) = self.entries(i);
            let square = sum_of_squares(values);
            let size = values.iter().fold(0.0, |sum, s| sum + s.abs());
            let shift: f64 = columns.iter().zip(values).map(|(&k, s)| s * background[k as usize]).sum();
            // As inner products are put together, so that x'x equals it bit for bit.
            let norm = (square + ((shift + shift) + constant)).max(0.0);
            self.squares.push(square);
            self.sizes.push(size);
            self.shifts.push(shift);
            self.norms.push(norm);
        }
    }

    /// |x|^2 of each point.
    pub(super) fn norms(&self) -> &[f64] {
        &self.norms
    }
}

thread_local! {
    /// The points of a block column by column; all zero between uses, so that it need not be cleared.
    static PANEL: RefCell<Vec<[f64; LANES]>> = const { RefCell::new(vec![]) };
}

/// The base quantity of every entry of a tile, row by row, before it is normalised.
pub(super) fn base_into(
    base: Base,
    constant: f64,
    left: &SparsePoints,
    right: &SparsePoints,
    tile: &Tile,
    out: &mut [f64],
) {
    let width = tile.cols.len();
    let mut sums = vec![0.0; width * LANES];
    PANEL.with_borrow_mut(|panel| {
        if panel.len() < right.n_places {
            panel.resize(right.n_places, [0.0; LANES]);
        }
        scatter(left, tile, |place, lane, value| panel[place][lane] = value);
        let starts = &right.starts[tile.cols.start..=tile.cols.end];
        match base {
            Base::L1Distance => sparse_overlaps(panel, starts, &right.places, &right.values, &mut sums),
            _ => sparse_products(panel, starts, &right.places, &right.values, &mut sums),
        }
        scatter(left, tile, |place, lane, _| panel[place][lane] = 0.0);
    });
    for (lane, (i, row)) in tile.rows.clone().zip(out.chunks_exact_mut(width)).enumerate() {
        for ((j, out), sums) in tile.cols.clone().zip(row).zip(sums.chunks_exact(LANES)) {
            let sum = sums[lane];
            *out = match base {
                Base::SquaredDistance => distance(left.squares[i] + right.squares[j], sum)
                    .unwrap_or_else(|| differences(left.entries(i), right.entries(j), |d| d * d)),
                Base::L1Distance => distance(left.sizes[i] + right.sizes[j], sum)
                    .unwrap_or_else(|| differences(left.entries(i), right.entries(j), f64::abs)),
                _ => sum + ((left.shifts[i] + right.shifts[j]) + constant),
            };
        }
    }
}

/// Calls `f(place, lane, value)` for the kept values of the points of a block.
fn scatter(left: &SparsePoints, tile: &Tile, mut f: impl FnMut(usize, usize, f64)) {
    for (lane, i) in tile.rows.clone().enumerate() {
        let range = left.starts[i]..left.starts[i + 1];
        for (&place, &value) in left.places[range.clone()].iter().zip(&left.values[range]) {
            if place != ABSENT {
                f(place as usize, lane, value);
            }
        }
    }
}

/// What two points have less twice what they share; none where that leaves too few digits.
fn distance(total: f64, shared: f64) -> Option<f64> {
    let distance = total - 2.0 * shared;
    // Not `<`: sums that overflowed are summed anew as well.
    (distance >= CANCELLED * total && distance.is_finite()).then_some(distance)
}

/// The sum over columns of a term of the difference.
fn differences((a, x): (&[u32], &[f64]), (b, y): (&[u32], &[f64]), term: impl Fn(f64) -> f64) -> f64 {
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while i < a.len() || j < b.len() {
        let (left, right) = (a.get(i).copied().unwrap_or(ABSENT), b.get(j).copied().unwrap_or(ABSENT));
        let difference = match left.cmp(&right) {
            std::cmp::Ordering::Less => x[i],
            std::cmp::Ordering::Greater => -y[j],
            std::cmp::Ordering::Equal => x[i] - y[j],
        };
        sum += term(difference);
        i += usize::from(left <= right);
        j += usize::from(right <= left);
    }
    sum
}
