//! Base quantities between sparse points: time and memory are proportional to the values kept.
//!
//! A point is x = b + s, where b is the background shared by all points and s is zero in most columns. Distances do not
//! depend on b; inner products are s's' + s'b + b's' + b'b. One-hot columns are such points too, with the common value
//! of each column as background, also after standardising. Where a difference of such sums would leave too few digits,
//! it is recomputed from the points themselves.

use std::cell::{OnceCell, RefCell};

use super::cut::Tile;
use crate::features::{Features, Sparse};
use crate::kernel::{Base, Columns};
use crate::linalg::Matrix;
use crate::simd::{LANES, SIDE, dispatched, sparse_overlaps, sparse_products, sum_of_squares, transpose};

/// With fewer columns, dense points are cheaper.
const MIN_SPARSE_COLUMNS: usize = 33;
/// At most one value in this many may differ from the background.
const SPARSITY: usize = 4;
/// If a difference of sums falls below this fraction of them, it is recomputed from the points: it keeps its digits
/// only down to here.
const CANCELLED: f64 = 1.0 / 64.0;
/// Marks a column that no point on the right keeps.
const ABSENT: u32 = u32::MAX;

/// For each set of columns, the background of the points if they are sparse around it.
///
/// It depends on the column points of a stack alone, so new points do not affect one another.
pub(super) fn backgrounds<'a>(points: &Features, sets: impl Iterator<Item = &'a Columns>) -> Vec<Option<Vec<f64>>> {
    let usual = OnceCell::new();
    sets.map(|columns| background(points, columns, &usual)).collect()
}

fn background(points: &Features, columns: &Columns, usual: &OnceCell<Usual>) -> Option<Vec<f64>> {
    let (n, n_columns) = (points.n_rows(), columns.count(points.n_cols()));
    if n_columns < MIN_SPARSE_COLUMNS || n == 0 {
        return None;
    }
    let usual = usual.get_or_init(|| Usual::new(points));
    let picked = columns.indices(points.n_cols());
    let n_kept: usize = picked.iter().map(|&k| usual.n_kept[k]).sum();
    (n_kept <= n * n_columns / SPARSITY).then(|| picked.iter().map(|&k| usual.values[k]).collect())
}

/// For each column the value most points have, and how many have another. Columns without such a value use their mean:
/// it is near the values, and a background far from them would cost digits.
struct Usual {
    values: Vec<f64>,
    n_kept: Vec<usize>,
}

impl Usual {
    fn new(points: &Features) -> Usual {
        let n = points.n_rows();
        let (mut values, mut n_kept) = match points {
            Features::Dense(matrix) => (common_values(matrix), vec![0; matrix.n_cols()]),
            Features::Sparse(sparse) => (sparse.background().to_vec(), vec![0; sparse.n_cols()]),
        };
        let mut rests = vec![0.0; values.len()];
        // Accumulate parts of the mean, not a sum: it cannot overflow.
        let mut keep = |k: usize, value: f64| {
            n_kept[k] += 1;
            rests[k] += value / n as f64;
        };
        for i in 0..n {
            match points {
                Features::Dense(matrix) => {
                    let row = matrix.row(i).iter().zip(&values).enumerate();
                    row.filter(|(_, (value, usual))| value != usual).for_each(|(k, (&value, _))| keep(k, value));
                }
                Features::Sparse(sparse) => {
                    let (columns, stored) = sparse.entries(i);
                    columns.iter().zip(stored).for_each(|(&k, &value)| keep(k as usize, value));
                }
            }
        }
        for ((value, n_kept), rest) in values.iter_mut().zip(&mut n_kept).zip(rests) {
            if 2 * *n_kept > n {
                *value = rest + *value * ((n - *n_kept) as f64 / n as f64);
                *n_kept = n;
            }
        }
        Usual { values, n_kept }
    }
}

/// For each column the value that more than half of the rows have, if there is one (Boyer and Moore's majority vote),
/// else an arbitrary one.
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

/// The value of points in each column they do not keep.
#[derive(Debug)]
pub(super) struct Background {
    values: Vec<f64>,
    /// b'b.
    square: f64,
}

impl Background {
    pub(super) fn new(values: &[f64]) -> Background {
        Background { values: values.to_vec(), square: sum_of_squares(values) }
    }
}

/// Points of one side of a stack.
#[derive(Debug)]
pub(super) struct SparsePoints {
    /// Start of each point, plus the end of the last.
    starts: Vec<usize>,
    /// The columns of s, ascending within a point.
    columns: Vec<u32>,
    /// The same, numbered among the columns kept by points on the right.
    places: Vec<u32>,
    /// s, and x as given: s is rounded.
    values: Vec<f64>,
    whole: Vec<f64>,
    /// Sum of s^2, of |s|, of s b, and |x|^2.
    squares: Vec<f64>,
    sizes: Vec<f64>,
    shifts: Vec<f64>,
    norms: Vec<f64>,
    /// Whether x is so small compared with s and b that inner products must be summed over all columns.
    cancelled: Vec<bool>,
    n_places: usize,
}

impl SparsePoints {
    /// The selected points; those on the right number the columns they keep, those on the left reuse these numbers.
    pub(super) fn new(
        points: &Features,
        columns: &Columns,
        background: &[f64],
        selected: &[usize],
        right: Option<&SparsePoints>,
    ) -> SparsePoints {
        let mut side = SparsePoints {
            starts: vec![0],
            columns: vec![],
            places: vec![],
            values: vec![],
            whole: vec![],
            squares: vec![],
            sizes: vec![],
            shifts: vec![],
            norms: vec![],
            cancelled: vec![],
            n_places: 0,
        };
        let picked = columns.indices(points.n_cols());
        match points {
            Features::Dense(matrix) => {
                for &i in selected {
                    let row = matrix.row(i);
                    side.push(background, picked.iter().enumerate().map(|(k, &column)| (k as u32, row[column])));
                }
            }
            Features::Sparse(sparse) => side.push_sparse(sparse, &picked, background, selected),
        }
        side.number(background.len(), right);
        side.sum(background);
        side
    }

    /// Appends a point given by its values in column order; background values are skipped.
    fn push(&mut self, background: &[f64], values: impl Iterator<Item = (u32, f64)>) {
        for (k, value) in values.filter(|&(k, value)| value != background[k as usize]) {
            self.columns.push(k);
            self.values.push(value - background[k as usize]);
            self.whole.push(value);
        }
        self.starts.push(self.columns.len());
    }

    fn push_sparse(&mut self, points: &Sparse, picked: &[usize], background: &[f64], selected: &[usize]) {
        let mut position = vec![ABSENT; points.n_cols()];
        picked.iter().enumerate().for_each(|(k, &column)| position[column] = k as u32);
        // Columns whose background differs from that of the points: values not stored count there too.
        let own = points.background();
        let moved: Vec<u32> =
            picked.iter().zip(background).filter(|&(&k, usual)| own[k] != *usual).map(|(&k, _)| k as u32).collect();
        let n_stored = selected.iter().map(|&i| points.entries(i).0.len()).sum();
        self.columns.reserve(n_stored);
        self.values.reserve(n_stored);
        self.whole.reserve(n_stored);
        let mut row = vec![];
        for &i in selected {
            let (columns, stored) = points.entries(i);
            if moved.is_empty() {
                let placed = columns.iter().zip(stored).map(|(&column, &value)| (position[column as usize], value));
                self.push(background, placed.filter(|&(k, _)| k != ABSENT));
                continue;
            }
            let absent = moved.iter().filter(|column| columns.binary_search(column).is_err());
            row.clear();
            row.extend(columns.iter().copied().zip(stored.iter().copied()));
            row.extend(absent.map(|&column| (column, own[column as usize])));
            row.sort_unstable_by_key(|&(column, _)| column);
            let placed = row.iter().map(|&(column, value)| (position[column as usize], value));
            self.push(background, placed.filter(|&(k, _)| k != ABSENT));
        }
    }

    fn n_points(&self) -> usize {
        self.starts.len() - 1
    }

    /// The columns of a point that differ from the background, and x there.
    fn entries(&self, i: usize) -> (&[u32], &[f64]) {
        let range = self.starts[i]..self.starts[i + 1];
        (&self.columns[range.clone()], &self.whole[range])
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
            let range = self.starts[i]..self.starts[i + 1];
            let (columns, values) = (&self.columns[range.clone()], &self.values[range]);
            let square = sum_of_squares(values);
            let size = values.iter().fold(0.0, |sum, s| sum + s.abs());
            let shift: f64 = columns.iter().zip(values).map(|(&k, s)| s * background[k as usize]).sum();
            // Assembled as inner products are, so that x'x equals it bit for bit.
            let norm = square + ((shift + shift) + constant);
            let cancelled = norm < CANCELLED * (square + constant);
            self.squares.push(square);
            self.sizes.push(size);
            self.shifts.push(shift);
            let point = self.entries(i);
            self.norms.push(if cancelled { product(point, point, background) } else { norm });
            self.cancelled.push(cancelled);
        }
    }

    /// |x|^2 of each point.
    pub(super) fn norms(&self) -> &[f64] {
        &self.norms
    }
}

thread_local! {
    /// The points of a block column by column; all zero between uses, so it never needs clearing.
    static PANEL: RefCell<Vec<[f64; LANES]>> = const { RefCell::new(vec![]) };
}

/// The base quantity of every entry of a tile, row by row, before normalisation.
pub(super) fn base_into(
    base: Base,
    background: &Background,
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
    turn(&sums, width, out);
    let any_cancelled = right.cancelled[tile.cols.clone()].contains(&true);
    for (i, row) in tile.rows.clone().zip(out.chunks_exact_mut(width)) {
        match base {
            Base::SquaredDistance => {
                let anew = |j: usize| differences(left.entries(i), right.entries(j), &background.values, |d| d * d);
                distances(left.squares[i], &right.squares[tile.cols.clone()], tile.cols.start, row, anew);
            }
            Base::L1Distance => {
                let anew = |j: usize| differences(left.entries(i), right.entries(j), &background.values, f64::abs);
                distances(left.sizes[i], &right.sizes[tile.cols.clone()], tile.cols.start, row, anew);
            }
            Base::InnerProduct | Base::Cosine | Base::ShiftedCosine | Base::Given | Base::GivenCosine => {
                add_shifts(left.shifts[i], &right.shifts[tile.cols.clone()], background.square, row);
                if left.cancelled[i] || any_cancelled {
                    for (j, out) in tile.cols.clone().zip(row) {
                        if left.cancelled[i] || right.cancelled[j] {
                            *out = product(left.entries(i), right.entries(j), &background.values);
                        }
                    }
                }
            }
        }
    }
}

/// Transposes the sums of [`LANES`] rows side by side into rows of `width`, as many as `out` has.
fn turn(sums: &[f64], width: usize, out: &mut [f64]) {
    let n_rows = out.len() / width;
    let whole = if n_rows == SIDE { width / SIDE * SIDE } else { 0 };
    for first in (0..whole).step_by(SIDE) {
        transpose(&sums[first * LANES..], LANES, &mut out[first..], width);
    }
    for (lane, row) in out.chunks_exact_mut(width).enumerate() {
        for (k, out) in row.iter_mut().enumerate().skip(whole) {
            *out = sums[k * LANES + lane];
        }
    }
}

/// The quantity of one point plus that of each other, minus twice what they share (in `row`); calls `anew` if that
/// leaves too few digits.
fn distances(own: f64, others: &[f64], first: usize, row: &mut [f64], anew: impl Fn(usize) -> f64) {
    if less_shared(own, others, row) {
        return;
    }
    for ((j, distance), other) in (first..).zip(row).zip(others) {
        if !keeps_digits(*distance, own + other) {
            *distance = anew(j);
        }
    }
}

/// Not `<`: sums that overflowed have lost their digits as well.
#[inline(always)]
fn keeps_digits(distance: f64, total: f64) -> bool {
    distance >= CANCELLED * total && distance < f64::INFINITY
}

dispatched! {
    /// `row = own + others - 2 row`; returns whether all keep their digits.
    fn less_shared(own: f64, others: &[f64], row: &mut [f64]) -> bool {
        let mut all = true;
        for (value, other) in row.iter_mut().zip(others) {
            let total = own + other;
            *value = total - 2.0 * *value;
            all &= keeps_digits(*value, total);
        }
        all
    }
}

dispatched! {
    /// `row += (own + others) + constant`.
    fn add_shifts(own: f64, others: &[f64], constant: f64, row: &mut [f64]) {
        for (value, other) in row.iter_mut().zip(others) {
            *value += (own + other) + constant;
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

/// Columns that differ from the background, ascending, and the values there.
type Entries<'a> = (&'a [u32], &'a [f64]);

/// Calls `f(column, x, y)` with the values of two points at each column that either keeps.
fn each_kept((a, x): Entries<'_>, (b, y): Entries<'_>, background: &[f64], mut f: impl FnMut(u32, f64, f64)) {
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let (left, right) = (a.get(i).copied().unwrap_or(ABSENT), b.get(j).copied().unwrap_or(ABSENT));
        let column = left.min(right);
        let usual = background[column as usize];
        f(column, if left == column { x[i] } else { usual }, if right == column { y[j] } else { usual });
        i += usize::from(left == column);
        j += usize::from(right == column);
    }
}

/// The sum over columns of a term of the difference.
fn differences(x: Entries<'_>, y: Entries<'_>, background: &[f64], term: impl Fn(f64) -> f64) -> f64 {
    let mut sum = 0.0;
    each_kept(x, y, background, |_, x, y| sum += term(x - y));
    sum
}

/// The inner product of two points, over all columns.
fn product(x: Entries<'_>, y: Entries<'_>, background: &[f64]) -> f64 {
    let (mut sum, mut next) = (0.0, 0);
    let usual = |sum: f64, columns: &[f64]| columns.iter().fold(sum, |sum, b| b.mul_add(*b, sum));
    each_kept(x, y, background, |column, x, y| {
        sum = x.mul_add(y, usual(sum, &background[next..column as usize]));
        next = column as usize + 1;
    });
    usual(sum, &background[next..])
}
