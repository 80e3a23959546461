//! Writes values to their place in a full matrix: along its rows and, if an entry stands for two, across its diagonal.

use std::ops::Range;

use super::cut::{BLOCK_ROWS, Cut, TILE_COLS, Tile};
use crate::linalg::Pieces;
use crate::simd::{Buffer, PastCaches, SIDE, UninitPart, transpose};

/// A number that sums of kernels are written in.
pub(super) trait Written: Copy + Send + Sync {
    fn of(value: f64) -> Self;

    /// Writes as many numbers as there is room for.
    fn put(from: &[f64], to: &mut [Self]);

    /// The same past the caches, where that is possible.
    fn put_past(_: &PastCaches, from: &[f64], to: &mut [Self]) {
        Self::put(from, to);
    }

    /// Writes the transpose of a square, whose rows are `stride` numbers apart in `from`, to (row, col).
    ///
    /// # Safety
    /// No piece that exists at the same time may overlap the square.
    unsafe fn put_turned(pieces: &Pieces<'_, Self>, from: &[f64], stride: usize, row: usize, col: usize) {
        for c in 0..SIDE {
            // SAFETY: promised by the caller.
            let column = unsafe { pieces.piece(row + c, col..col + SIDE) };
            column.iter_mut().enumerate().for_each(|(r, out)| *out = Self::of(from[r * stride + c]));
        }
    }
}

impl Written for f64 {
    fn of(value: f64) -> f64 {
        value
    }

    fn put(from: &[f64], to: &mut [f64]) {
        to.copy_from_slice(&from[..to.len()]);
    }

    fn put_past(past: &PastCaches, from: &[f64], to: &mut [f64]) {
        past.copy(&from[..to.len()], &mut UninitPart::over(to));
    }

    unsafe fn put_turned(pieces: &Pieces<'_, f64>, from: &[f64], stride: usize, row: usize, col: usize) {
        // SAFETY: promised by the caller.
        unsafe { pieces.put_turned(from, stride, row, col) };
    }
}

impl Written for f32 {
    fn of(value: f64) -> f32 {
        value as f32
    }

    fn put(from: &[f64], to: &mut [f32]) {
        to.iter_mut().zip(from).for_each(|(to, &from)| *to = from as f32);
    }
}

/// Writes a tile to its place and, for entries that stand for two, across the diagonal, in the matrix that starts at
/// row `top` of the pieces.
pub(super) fn write<T: Written>(tile: &Tile, cut: &Cut, values: &[f64], pieces: &Pieces<'_, T>, top: usize) {
    let width = tile.cols.len();
    along(tile, values, pieces, top);
    for first in (0..tile.n_mirrored(cut)).step_by(SIDE) {
        let j = tile.cols.start + first;
        if tile.rows.len() == SIDE {
            // SAFETY: each entry of the matrix belongs to one tile or to the mirror of one, and each tile to one task.
            unsafe { T::put_turned(pieces, &values[first..], width, top + j, tile.rows.start) };
            continue;
        }
        for (k, j) in (j..j + SIDE).enumerate() {
            // SAFETY: as above.
            let column = unsafe { pieces.piece(top + j, tile.rows.clone()) };
            for (r, out) in column.iter_mut().enumerate() {
                *out = T::of(values[r * width + first + k]);
            }
        }
    }
}

fn along<T: Written>(tile: &Tile, values: &[f64], pieces: &Pieces<'_, T>, top: usize) {
    for (i, row) in tile.rows.clone().zip(values.chunks_exact(tile.cols.len())) {
        // SAFETY: each entry of the matrix belongs to one tile or to the mirror of one, and each tile to one task.
        T::put(row, unsafe { pieces.piece(top + i, tile.cols.clone()) });
    }
}

/// Writes the tiles of a strip ([`Cut::strips`]) to a matrix. Entries that belong across the diagonal are first
/// transposed in the cache and then written past it, a run of all rows of the strip at a time: single cache lines of a
/// large matrix, each in a different row, take several times as long.
pub(super) struct StripWriter<'a, T> {
    cut: &'a Cut,
    pieces: &'a Pieces<'a, T>,
    rows: Range<usize>,
    /// The rows of the strip for each column of a tile.
    turned: Buffer,
    past: PastCaches,
}

impl<'a, T: Written> StripWriter<'a, T> {
    pub(super) fn new(cut: &'a Cut, strip: &Range<usize>, pieces: &'a Pieces<'a, T>) -> Self {
        let rows = cut.rows(strip.start).start..cut.rows(strip.end - 1).end;
        StripWriter { cut, pieces, rows, turned: Buffer::default(), past: PastCaches::new() }
    }

    /// Writes a tile; entries across the diagonal are written only by `finish`, after the tiles below have been put.
    pub(super) fn put(&mut self, tile: &Tile, values: &[f64]) {
        if tile.rows.len() == self.rows.len() {
            // A strip of only one block.
            return write(tile, self.cut, values, self.pieces, 0);
        }
        along(tile, values, self.pieces, 0);
        let (width, height) = (tile.cols.len(), self.rows.len());
        self.turned.set_len(TILE_COLS * height);
        let at = tile.rows.start - self.rows.start;
        for first in (0..tile.n_mirrored(self.cut)).step_by(SIDE) {
            if tile.rows.len() == SIDE {
                transpose(&values[first..], width, &mut self.turned[first * height + at..], height);
                continue;
            }
            for c in first..first + SIDE {
                for r in 0..tile.rows.len() {
                    self.turned[c * height + at + r] = values[r * width + c];
                }
            }
        }
    }

    /// Writes what was put in these columns across the diagonal.
    pub(super) fn finish(&mut self, cols: Range<usize>) {
        for (j, turned) in cols.zip(self.turned.chunks_exact(self.rows.len())) {
            // Squares on the diagonal are already complete.
            let first = (j / BLOCK_ROWS * BLOCK_ROWS + BLOCK_ROWS).clamp(self.rows.start, self.rows.end);
            // SAFETY: as above: these are the mirrors of entries of this strip.
            let piece = unsafe { self.pieces.piece(j, first..self.rows.end) };
            T::put_past(&self.past, &turned[first - self.rows.start..], piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::{Matrix, Matrix32};

    /// A number for each unordered pair of points.
    fn value(i: usize, j: usize) -> f64 {
        (i.max(j) * 10_000 + i.min(j)) as f64
    }

    /// Writes all entries; the heights of the strips.
    fn fill<T: Written>(cut: &Cut, strips: &[Range<usize>], pieces: &Pieces<'_, T>) -> Vec<usize> {
        let strip_of = |strip: &Range<usize>| {
            let mut writer = StripWriter::new(cut, strip, pieces);
            for (cols, tiles) in cut.tiles_of_strip(strip) {
                for (_, tile) in tiles {
                    let of_row = |i: usize| tile.cols.clone().map(move |j| value(i, j));
                    let values: Vec<f64> = tile.rows.clone().flat_map(of_row).collect();
                    writer.put(&tile, &values);
                }
                writer.finish(cols);
            }
            writer.rows.len()
        };
        strips.iter().map(strip_of).collect()
    }

    #[test]
    fn strips_of_any_shape_write_every_entry_and_its_mirror() {
        let mut heights = vec![];
        let square = |n: usize| Cut { n_rows: n, n_cols: n, symmetric: true };
        let (n_rows, n_cols) = if cfg!(miri) { (10, 21) } else { (600, 301) };
        let other = Cut { n_rows, n_cols, symmetric: false };
        // An entry takes Miri a millisecond.
        let sizes: &[usize] = if cfg!(miri) { &[1, 9, 43] } else { &[1, 9, 255, 511, 512, 523, 1543, 2317] };
        // Strips of the maximum height, which only matrices of thousands of rows have, in smaller ones.
        let runs = |n: usize| (0..n).step_by(8).map(|first| first..(first + 8).min(n)).collect();
        let whole: Vec<(Cut, Vec<Range<usize>>)> =
            sizes.iter().copied().map(square).chain([other]).map(|cut| (cut, cut.strips())).collect();
        let high = whole.iter().filter(|(cut, _)| cut.symmetric).map(|(cut, _)| (*cut, runs(cut.n_blocks())));
        for (cut, strips) in whole.iter().cloned().chain(high) {
            let nothing = Matrix::from_fn(cut.n_rows, cut.n_cols, |_, _| f64::NAN);
            let (mut wide, mut narrow) = (nothing.clone(), Matrix32::of(&nothing));
            heights.extend(fill(&cut, &strips, &Pieces::new(&mut wide)));
            fill(&cut, &strips, &Pieces::of(&mut narrow));
            let expected = Matrix::from_fn(cut.n_rows, cut.n_cols, value);
            assert!(wide == expected && narrow == Matrix32::of(&expected), "{cut:?}");
        }
        heights.sort_unstable();
        heights.dedup();
        // One block, several, the maximum, and the remainders of each.
        assert!(cfg!(miri) || [1, 8, 16, 24, 64].iter().all(|height| heights.contains(height)), "{heights:?}");
        assert!(cfg!(miri) || heights.iter().any(|height| height % 8 != 0 && *height > 8), "{heights:?}");
    }
}
