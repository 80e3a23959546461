//! How the entries of a stack are cut into tiles: by size alone, never by the number of threads.

use std::ops::Range;

/// Rows per block. Eight `f64` fill one cache line, so a tile can be written across the diagonal as well as along its
/// rows.
pub(super) const BLOCK_ROWS: usize = 8;
/// Maximum columns per tile: a tile of `f64` and the base quantity behind it fit in the first-level cache.
pub(super) const TILE_COLS: usize = 256;
/// Maximum blocks per strip: the runs written across the diagonal are then eight cache lines long.
const STRIP_BLOCKS: usize = 8;
/// Strips have several blocks only if at least this many remain: enough to share out among threads, the longest being twice
/// the mean. Smaller matrices stay in the caches, where single cache lines are as good. Under Miri small matrices must have
/// some.
const STRIPS: usize = if cfg!(miri) { 2 } else { 96 };
/// Number of parts a sum over all entries is split into; each is summed separately, then they are added in order.
const PARTS: usize = 32;

/// The shape of a stack. A symmetric one holds, block by block of [`BLOCK_ROWS`] rows, the columns up to the end of the
/// block: the lower triangle, and the upper only within the squares on the diagonal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) n_rows: usize,
    pub(super) n_cols: usize,
    pub(super) symmetric: bool,
}

/// A rectangle of entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tile {
    pub(super) rows: Range<usize>,
    pub(super) cols: Range<usize>,
}

impl Tile {
    /// Number of entries.
    pub(super) fn len(&self) -> usize {
        self.rows.len() * self.cols.len()
    }

    /// The number of leading columns whose entries stand for two, (i, j) and (j, i).
    pub(super) fn n_mirrored(&self, cut: &Cut) -> usize {
        if cut.symmetric { self.cols.end.min(self.rows.start).saturating_sub(self.cols.start) } else { 0 }
    }
}

impl Cut {
    /// Number of blocks of rows.
    pub(super) fn n_blocks(&self) -> usize {
        if self.n_cols == 0 { 0 } else { self.n_rows.div_ceil(BLOCK_ROWS) }
    }

    /// The rows of a block.
    pub(super) fn rows(&self, block: usize) -> Range<usize> {
        block * BLOCK_ROWS..(block * BLOCK_ROWS + BLOCK_ROWS).min(self.n_rows)
    }

    fn width(&self, block: usize) -> usize {
        if self.symmetric { self.rows(block).end } else { self.n_cols }
    }

    /// The tiles of a block, from left to right.
    pub(super) fn tiles(&self, block: usize) -> impl Iterator<Item = Tile> + use<> {
        let (rows, width) = (self.rows(block), self.width(block));
        (0..width)
            .step_by(TILE_COLS)
            .map(move |start| Tile { rows: rows.clone(), cols: start..(start + TILE_COLS).min(width) })
    }

    /// Number of tiles.
    pub(super) fn n_tiles(&self) -> usize {
        (0..self.n_blocks()).map(|block| self.width(block).div_ceil(TILE_COLS)).sum()
    }

    /// Entries before this block.
    pub(super) fn start(&self, block: usize) -> usize {
        match block.checked_sub(1) {
            None => 0,
            // All earlier blocks are full: 8 * 8 (1 + 2 + ... + block).
            Some(before) if self.symmetric => {
                let whole = BLOCK_ROWS * BLOCK_ROWS * (before * block / 2);
                whole + self.rows(before).len() * self.width(before)
            }
            Some(before) => self.rows(before).end * self.n_cols,
        }
    }

    /// All blocks, grouped into runs that are processed together when a whole matrix is written. A symmetric stack with
    /// many rows has runs of up to [`STRIP_BLOCKS`]: see `StripWriter`.
    pub(super) fn strips(&self) -> Vec<Range<usize>> {
        let n = self.n_blocks();
        let each = if self.symmetric { (n / STRIPS).clamp(1, STRIP_BLOCKS) } else { 1 };
        // Top to bottom: rows then land on pages that were just cleared and are still in the cache. From the bottom,
        // the writes across the diagonal would be the first to touch all the pages.
        (0..n.div_ceil(each)).map(|strip| strip * each..(strip * each + each).min(n)).collect()
    }

    /// The tiles of a strip from left to right, each with its block; tiles with the same columns come together.
    pub(super) fn tiles_of_strip(
        &self,
        strip: &Range<usize>,
    ) -> impl Iterator<Item = (Range<usize>, impl Iterator<Item = (usize, Tile)> + use<>)> + use<> {
        let (cut, strip) = (*self, strip.clone());
        let width = strip.clone().last().map_or(0, |block| cut.width(block));
        (0..width).step_by(TILE_COLS).map(move |start| {
            let tile = move |block| cut.tiles(block).nth(start / TILE_COLS).map(|tile| (block, tile));
            (start..(start + TILE_COLS).min(width), strip.clone().filter_map(tile))
        })
    }

    /// Number of stored entries.
    pub(super) fn len(&self) -> usize {
        self.start(self.n_blocks())
    }

    /// Where entry (row, col) of slot 0 is stored if there are `n_slots`, and the distance between slots there.
    pub(super) fn place(&self, row: usize, col: usize, n_slots: usize) -> (usize, usize) {
        let mirrored = self.symmetric && col >= self.rows(row / BLOCK_ROWS).end;
        let (row, col) = if mirrored { (col, row) } else { (row, col) };
        let block = row / BLOCK_ROWS;
        let (rows, first) = (self.rows(block), col / TILE_COLS * TILE_COLS);
        let width = (first + TILE_COLS).min(self.width(block)) - first;
        let before = (self.start(block) + rows.len() * first) * n_slots;
        (before + (row - rows.start) * width + (col - first), rows.len() * width)
    }

    /// Runs of blocks with about the same number of entries each.
    pub(super) fn parts(&self) -> Vec<Range<usize>> {
        self.parts_up_to(PARTS)
    }

    /// [`Cut::parts`], at most this many.
    pub(super) fn parts_up_to(&self, most: usize) -> Vec<Range<usize>> {
        let most = most.clamp(1, PARTS);
        let (n, total) = (self.n_blocks(), self.len());
        let mut parts = vec![];
        let mut begin = 0;
        for block in 0..n {
            let (part, end) = (parts.len() + 1, self.start(block + 1));
            if end as u128 * most as u128 >= part as u128 * total as u128 || block + 1 == n {
                parts.push(begin..block + 1);
                begin = block + 1;
            }
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuts() -> Vec<Cut> {
        let sizes = [1, 7, 8, 9, 16, 255, 256, 257, 523];
        let square = sizes.iter().map(|&n| Cut { n_rows: n, n_cols: n, symmetric: true });
        let other = sizes.iter().map(|&n| Cut { n_rows: n, n_cols: 300, symmetric: false });
        square.chain(other).chain([Cut { n_rows: 0, n_cols: 5, symmetric: false }]).collect()
    }

    #[test]
    fn tiles_cover_every_entry_or_its_mirror_once() {
        for cut in cuts() {
            let mut seen = vec![0; cut.n_rows * cut.n_cols];
            let mut held = 0;
            for block in 0..cut.n_blocks() {
                assert_eq!(cut.start(block), held, "{cut:?}");
                for tile in cut.tiles(block) {
                    held += tile.len();
                    let mirrored = tile.cols.start + tile.n_mirrored(&cut);
                    for i in tile.rows.clone() {
                        for j in tile.cols.clone() {
                            seen[i * cut.n_cols + j] += 1;
                            if j < mirrored {
                                seen[j * cut.n_cols + i] += 1;
                            }
                        }
                    }
                }
            }
            assert_eq!(cut.len(), held, "{cut:?}");
            assert!(seen.iter().all(|&count| count == 1), "{cut:?}");
        }
    }

    #[test]
    fn place_of_every_entry_is_where_its_tile_puts_it() {
        for cut in cuts() {
            let n_slots = 3;
            for block in 0..cut.n_blocks() {
                for tile in cut.tiles(block) {
                    let start = (cut.start(block) + tile.rows.len() * tile.cols.start) * n_slots;
                    for (r, i) in tile.rows.clone().enumerate() {
                        for (c, j) in tile.cols.clone().enumerate() {
                            let here = (start + r * tile.cols.len() + c, tile.len());
                            assert_eq!(cut.place(i, j, n_slots), here);
                            if c < tile.n_mirrored(&cut) {
                                assert_eq!(cut.place(j, i, n_slots), here);
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn strips_have_every_tile_once() {
        for cut in cuts().into_iter().chain([4000, 1537].map(|n| Cut { n_rows: n, n_cols: n, symmetric: true })) {
            let strips = cut.strips();
            assert!(strips.iter().cloned().flatten().eq(0..cut.n_blocks()), "{cut:?}");
            for strip in strips {
                let mut found: Vec<(usize, Tile)> = vec![];
                for (cols, tiles) in cut.tiles_of_strip(&strip) {
                    let tiles: Vec<(usize, Tile)> = tiles.collect();
                    assert!(tiles.iter().all(|(_, tile)| tile.cols.start == cols.start && tile.cols.end <= cols.end));
                    assert_eq!(tiles.last().map(|(_, tile)| tile.cols.end), Some(cols.end));
                    found.extend(tiles);
                }
                found.sort_by_key(|(block, tile)| (*block, tile.cols.start));
                let all = strip.flat_map(|block| cut.tiles(block).map(move |tile| (block, tile)));
                assert!(found.into_iter().eq(all), "{cut:?}");
            }
        }
    }

    #[test]
    fn parts_are_all_blocks_in_order() {
        for cut in cuts() {
            let parts = cut.parts();
            assert!(parts.len() <= PARTS);
            assert!(parts.iter().cloned().flatten().eq(0..cut.n_blocks()), "{cut:?}");
        }
    }
}
