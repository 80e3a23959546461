//! Writes values to their place in a full matrix: along its rows and, if an entry stands for two, across its diagonal.

use std::ops::Range;

use super::cut::{BLOCK_ROWS, Cut, TILE_COLS, Tile};
use crate::linalg::Pieces;
use crate::simd::{Buffer, PastCaches, SIDE, UninitPart, transpose};

/// Writes a tile to its place and, for entries that stand for two, across the diagonal, in the matrix that starts at
/// row `top` of the pieces.
pub(super) fn write(tile: &Tile, cut: &Cut, values: &[f64], pieces: &Pieces<'_>, top: usize) {
    let width = tile.cols.len();
    along(tile, values, pieces, top);
    for first in (0..tile.n_mirrored(cut)).step_by(SIDE) {
        let j = tile.cols.start + first;
        if tile.rows.len() == SIDE {
            // SAFETY: each entry of the matrix belongs to one tile or to the mirror of one, and each tile to one task.
            unsafe { pieces.put_turned(&values[first..], width, top + j, tile.rows.start) };
            continue;
        }
        for (k, j) in (j..j + SIDE).enumerate() {
            // SAFETY: as above.
            let column = unsafe { pieces.piece(top + j, tile.rows.clone()) };
            for (r, out) in column.iter_mut().enumerate() {
                *out = values[r * width + first + k];
            }
        }
    }
}

fn along(tile: &Tile, values: &[f64], pieces: &Pieces<'_>, top: usize) {
    for (i, row) in tile.rows.clone().zip(values.chunks_exact(tile.cols.len())) {
        // SAFETY: each entry of the matrix belongs to one tile or to the mirror of one, and each tile to one task.
        unsafe { pieces.piece(top + i, tile.cols.clone()) }.copy_from_slice(row);
    }
}

/// Writes the tiles of a strip ([`Cut::strips`]) to a matrix. Entries that belong across the diagonal are first
/// transposed in the cache and then written past it, a run of all rows of the strip at a time: single cache lines of a
/// large matrix, each in a different row, take several times as long.
pub(super) struct StripWriter<'a> {
    cut: &'a Cut,
    pieces: &'a Pieces<'a>,
    rows: Range<usize>,
    /// The rows of the strip for each column of a tile.
    turned: Buffer,
    past: PastCaches,
}

impl<'a> StripWriter<'a> {
    pub(super) fn new(cut: &'a Cut, strip: &Range<usize>, pieces: &'a Pieces<'a>) -> Self {
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
            self.past.copy(&turned[first - self.rows.start..], &mut UninitPart::over(piece));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::Matrix;

    /// A number for each unordered pair of points.
    fn value(i: usize, j: usize) -> f64 {
        (i.max(j) * 10_000 + i.min(j)) as f64
    }

    #[test]
    fn strips_of_any_shape_write_every_entry_and_its_mirror() {
        let mut heights = vec![];
        let square = |n: usize| Cut { n_rows: n, n_cols: n, symmetric: true };
        let (n_rows, n_cols) = if cfg!(miri) { (10, 21) } else { (600, 301) };
        let other = Cut { n_rows, n_cols, symmetric: false };
        // An entry takes Miri a millisecond.
        let sizes: &[usize] = if cfg!(miri) { &[1, 9, 43] } else { &[1, 9, 255, 511, 512, 523, 1029, 2055] };
        for cut in sizes.iter().copied().map(square).chain([other]) {
            let mut matrix = Matrix::from_fn(cut.n_rows, cut.n_cols, |_, _| f64::NAN);
            let pieces = Pieces::new(&mut matrix);
            for strip in cut.strips() {
                let mut writer = StripWriter::new(&cut, &strip, &pieces);
                heights.push(writer.rows.len());
                for (cols, tiles) in cut.tiles_of_strip(&strip) {
                    for (_, tile) in tiles {
                        let of_row = |i: usize| tile.cols.clone().map(move |j| value(i, j));
                        let values: Vec<f64> = tile.rows.clone().flat_map(of_row).collect();
                        writer.put(&tile, &values);
                    }
                    writer.finish(cols);
                }
            }
            let expected = Matrix::from_fn(cut.n_rows, cut.n_cols, value);
            assert!(matrix == expected, "{cut:?}");
        }
        heights.sort_unstable();
        heights.dedup();
        // One block, several, the maximum, and the remainders of each.
        assert!(cfg!(miri) || heights == [1, 5, 7, 8, 11, 15, 16, 32, 64]);
    }
}
