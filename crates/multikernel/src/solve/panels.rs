//! Matrices split into panels, the form in which `simd::sums` multiplies them.
//!
//! A panel holds up to [`WIDE`] rows (or columns) side by side, line by line of the other index: the numbers of a sum
//! of products are stored in the order in which they are read. The last panel is as narrow as whole vectors allow.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::linalg::{Matrix, Pieces, keep_more, more_spare};
use crate::pool::Pool;
use crate::simd::{Buffer, Lines, NARROW, SIDE, Tile, VECTOR, WIDE, sums, transpose};

/// With fewer operations, work stays on the calling thread: handing it over takes longer.
const MIN_SHARED: usize = 2_000_000;
/// Operations that are worth another thread.
const PER_THREAD: usize = 1_000_000;
/// Operations in the time a number is copied from one matrix to another, which is that of memory.
const COPIED: usize = 16;

/// The panels of one matrix.
#[derive(Clone, Debug)]
pub(super) struct Panels {
    /// The rows of the matrix, padded to a multiple of the vector length.
    size: usize,
    /// Start of each panel in `values`, plus the end of the last.
    starts: Vec<usize>,
    values: Buffer,
}

/// Number of rows of `n` after padding to whole vectors.
pub(super) fn padded(n: usize) -> usize {
    n.next_multiple_of(VECTOR)
}

impl Panels {
    /// Panels with unspecified contents; `depth` gives the number of lines of the panel that holds the given rows.
    pub(super) fn some(n: usize, depth: impl Fn(Range<usize>) -> usize) -> Result<Panels> {
        let size = padded(n);
        let mut starts = vec![0];
        let mut end = 0;
        for first in (0..size).step_by(WIDE) {
            let rows = first..(first + WIDE).min(size);
            end += rows.len() * depth(rows);
            starts.push(end);
        }
        let memory = || Error::input(format!("no memory for a matrix of {n} rows; use fewer rows"));
        let values = spare(end).ok_or_else(memory)?;
        Ok(Panels { size, starts, values })
    }

    /// The rows of a matrix.
    pub(super) fn of_rows(matrix: &Matrix, pool: &Pool) -> Result<Panels> {
        let mut panels = Panels::some(matrix.n_rows(), |_| matrix.n_cols())?;
        panels.each(pool, matrix.data().len(), |rows, panel| {
            if rows.end > matrix.n_rows() {
                panel.fill(0.0);
            }
            for row in rows.clone().step_by(NARROW) {
                pack(matrix, row, matrix.n_cols(), panel, row - rows.start, rows.len());
            }
        });
        Ok(panels)
    }

    /// The columns of a matrix.
    pub(super) fn of_columns(matrix: &Matrix, pool: &Pool) -> Result<Panels> {
        let mut panels = Panels::some(matrix.n_cols(), |_| matrix.n_rows())?;
        panels.each(pool, matrix.data().len(), |columns, panel| {
            let taken = columns.start..columns.end.min(matrix.n_cols());
            if taken.len() < columns.len() {
                panel.fill(0.0);
            }
            for (row, line) in matrix.rows().zip(panel.chunks_exact_mut(columns.len())) {
                line[..taken.len()].copy_from_slice(&row[taken.clone()]);
            }
        });
        Ok(panels)
    }

    /// The lower triangle of a square matrix, including the diagonal; padding rows are those of the identity.
    pub(super) fn of_lower(matrix: &Matrix, pool: &Pool) -> Result<Panels> {
        let mut panels = Panels::some(matrix.n_rows(), |rows| rows.end)?;
        panels.each(pool, matrix.data().len(), |rows, panel| pack_lower(matrix, rows, panel));
        Ok(panels)
    }

    /// The same of shifted matrices, all at once.
    pub(super) fn of_sums(sums: &[ShiftedMatrix<'_>], pool: &Pool) -> Result<Vec<Panels>> {
        let make = |sum: &ShiftedMatrix<'_>| Panels::some(sum.d.len(), |rows| rows.end);
        let mut all = sums.iter().map(make).collect::<Result<Vec<_>>>()?;
        let mut items = vec![];
        for (panels, sum) in all.iter_mut().zip(sums) {
            let size = panels.size;
            let rows = move |p: usize| p * WIDE..(p * WIDE + WIDE).min(size);
            items.extend(panels.split().into_iter().enumerate().map(|(p, panel)| (sum, rows(p), panel)));
        }
        let operations = COPIED * sums.iter().map(|sum| sum.matrix.data().len()).sum::<usize>();
        share(pool, operations, items.into_iter(), |(sum, rows, panel)| {
            pack_lower(sum.matrix, rows.clone(), panel);
            shift_panel(sum.scale, sum.shift, sum.d, rows, panel);
        });
        Ok(all)
    }

    /// The lower triangle of `H diag(d) H'`, in the form of [`Panels::of_lower`], where these are the panels of H with
    /// n rows: with the bits of `scaled_square`, and without copying.
    pub(super) fn lower_of_square(&self, n: usize, d: &[f64], pool: &Pool) -> Result<Panels> {
        let scaled = self.scaled(d, pool)?;
        let mut panels = Panels::some(n, |rows| rows.end)?;
        let (step, size) = (together(n), self.size);
        let part = |(part, panels): (usize, &mut [&mut [f64]])| {
            let mut tile = [[0.0; WIDE]; NARROW];
            for column in (0..size.min((part + 1) * step * WIDE)).step_by(NARROW) {
                let few = self.lines(column / WIDE).skip(0, column % WIDE);
                for (p, panel) in (part * step..).zip(&mut *panels).filter(|(p, _)| column < (p + 1) * WIDE) {
                    let width = self.width(p);
                    sums(few, NARROW, scaled.lines(p), width, d.len(), &mut tile);
                    put_lines(&tile, width, &mut panel[column * width..], column, p * WIDE, n);
                }
            }
        };
        // Long panels first, so that threads finish together.
        share(pool, n * n * d.len(), panels.split().chunks_mut(step).enumerate().rev(), part);
        Ok(panels)
    }

    /// Turns the panels of A, n x n ([`Panels::of_lower`]), into those of `scale A + shift 11' + diag(d)`.
    pub(super) fn shift_lower(&mut self, scale: f64, shift: f64, d: &[f64], pool: &Pool) {
        let numbers = self.values.len();
        self.each(pool, numbers, |rows, panel| shift_panel(scale, shift, d, rows, panel));
    }

    /// The diagonal entry of row i ([`Panels::of_lower`]).
    pub(super) fn diagonal(&self, i: usize) -> f64 {
        self.lines(i / WIDE).skip(i, i % WIDE).line(0, 1)[0]
    }

    /// A copy with each line multiplied by its factor.
    pub(super) fn scaled(&self, factors: &[f64], pool: &Pool) -> Result<Panels> {
        let mut panels = Panels::some(self.size, |_| factors.len())?;
        panels.each(pool, self.values.len(), |rows, panel| {
            let from = self.lines(rows.start / WIDE).values().chunks_exact(rows.len());
            for ((to, from), factor) in panel.chunks_exact_mut(rows.len()).zip(from).zip(factors) {
                to.iter_mut().zip(from).for_each(|(to, from)| *to = from * factor);
            }
        });
        Ok(panels)
    }

    /// The n x n matrix of [`Panels::of_lower`], zero above its diagonal.
    pub(super) fn to_lower(&self, n: usize) -> Matrix {
        let mut matrix = Matrix::zeros(n, n);
        for i in 0..n {
            let (lines, width, lane) = (self.lines(i / WIDE), self.width(i / WIDE), i % WIDE);
            matrix.row_mut(i)[..=i].iter_mut().enumerate().for_each(|(k, out)| *out = lines.line(k, width)[lane]);
        }
        matrix
    }

    /// Number of rows, including padding.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Number of panels.
    pub(super) fn count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Rows of a panel.
    pub(super) fn width(&self, panel: usize) -> usize {
        WIDE.min(self.size - panel * WIDE)
    }

    /// A panel, line by line.
    pub(super) fn lines(&self, panel: usize) -> Lines<'_> {
        Lines::new(&self.values[self.starts[panel]..self.starts[panel + 1]], self.width(panel))
    }

    /// The panels in order, mutably.
    pub(super) fn split(&mut self) -> Vec<&mut [f64]> {
        let mut rest = &mut self.values[..];
        let cut = |ends: &[usize]| rest.split_off_mut(..ends[1] - ends[0]).unwrap_or_default();
        self.starts.windows(2).map(cut).collect()
    }

    /// Calls `f` with the rows of each panel and the panel, which it fills: on all threads if this many numbers are worth it.
    pub(super) fn each(&mut self, pool: &Pool, numbers: usize, f: impl Fn(Range<usize>, &mut [f64]) + Sync + Send) {
        let size = self.size;
        let items = self.split().into_iter().enumerate();
        share(pool, COPIED * numbers, items, |(p, panel)| f(p * WIDE..(p * WIDE + WIDE).min(size), panel));
    }
}

impl PartialEq for Panels {
    fn eq(&self, other: &Self) -> bool {
        // The panel starts follow from the number of values.
        self.size == other.size && *self.values == *other.values
    }
}

impl Drop for Panels {
    fn drop(&mut self) {
        keep(std::mem::take(&mut self.values));
    }
}

/// Minimum size of a buffer kept for the next panels: getting fresh pages from the system takes a good part of the time
/// needed to factor a matrix of a few hundred rows. Small buffers the allocator has at hand.
const MIN_KEPT: usize = 1 << 12;
/// Maximum total size of the buffers kept: sixteen halves of a matrix of 1,000 rows, or a hundred of 380.
const MAX_KEPT: usize = 8 << 20;

/// Shared by all threads, because a factor is often dropped in a different thread from the one that made it.
static SPARE: Mutex<Vec<Buffer>> = Mutex::new(vec![]);

fn spares() -> MutexGuard<'static, Vec<Buffer>> {
    // A panicking thread leaves buffers with arbitrary numbers, and nothing relies on more.
    SPARE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A buffer with unspecified contents, or `None` if there is too little memory.
fn spare(len: usize) -> Option<Buffer> {
    if len < MIN_KEPT {
        return Buffer::zeros(len);
    }
    let kept = {
        let mut kept = spares();
        let fits = (0..kept.len()).filter(|&i| kept[i].capacity() >= len);
        fits.min_by_key(|&i| kept[i].capacity()).map(|i| kept.swap_remove(i))
    };
    match kept {
        Some(mut buffer) => {
            buffer.set_len(len);
            Some(buffer)
        }
        None => Buffer::zeros(len),
    }
}

fn keep(buffer: Buffer) {
    if (MIN_KEPT..=MAX_KEPT + more_spare()).contains(&buffer.capacity()) {
        let mut kept = spares();
        kept.push(buffer);
        trim(&mut kept);
    }
}

/// Drops the oldest until few enough are left, so that sizes no longer in use do not stay.
fn trim(kept: &mut Vec<Buffer>) {
    let mut held: usize = kept.iter().map(Buffer::capacity).sum();
    while held > MAX_KEPT + more_spare() {
        held -= kept.remove(0).capacity();
    }
}

/// Lets so many more numbers be kept for the next matrices, and as many for the next factors, while it lives: for runs that make
/// many again and again. The thread that asks for memory is the one that clears it, while all others wait.
#[derive(Debug)]
pub(crate) struct Keeping(usize);

impl Keeping {
    pub(crate) fn new(more: usize) -> Keeping {
        keep_more(|now| now + more);
        Keeping(more)
    }
}

impl Drop for Keeping {
    fn drop(&mut self) {
        keep_more(|now| now - self.0);
        trim(&mut spares());
    }
}

/// Calls `f` with each item, begun in the order given, on as many threads as this many operations are worth.
pub(super) fn share<T: Send>(
    pool: &Pool,
    operations: usize,
    items: impl Iterator<Item = T>,
    f: impl Fn(T) + Sync + Send,
) {
    if operations >= MIN_SHARED {
        pool.in_order(items.collect(), operations / PER_THREAD, f);
    } else {
        items.for_each(f);
    }
}

/// How many panels of a matrix of this size are processed together against the others. Matrices that do not fit in the
/// second-level cache are then read a quarter as often.
pub(super) fn together(size: usize) -> usize {
    if size <= 384 { 1 } else { 4 }
}

/// Copies the first `depth` columns of up to [`NARROW`] rows from `row` on to the lines of a panel, from `lane` on.
fn pack(matrix: &Matrix, row: usize, depth: usize, panel: &mut [f64], lane: usize, width: usize) {
    let (n, end) = (matrix.n_cols(), (row + NARROW).min(matrix.n_rows()));
    let done = if end == row + NARROW { depth / SIDE * SIDE } else { 0 };
    for k in (0..done).step_by(SIDE) {
        transpose(&matrix.data()[row * n + k..], n, &mut panel[k * width + lane..], width);
    }
    for (lane, i) in (lane..).zip(row..end) {
        let lines = panel[done * width..].chunks_exact_mut(width);
        lines.zip(&matrix.row(i)[done..depth]).for_each(|(line, &value)| line[lane] = value);
    }
}

/// Copies the rows of a panel of [`Panels::of_lower`].
fn pack_lower(matrix: &Matrix, rows: Range<usize>, panel: &mut [f64]) {
    let n = matrix.n_rows();
    // The diagonal block, and the padding.
    panel[if rows.end > n { 0 } else { rows.start * rows.len() }..].fill(0.0);
    for row in rows.clone().step_by(NARROW) {
        pack(matrix, row, row, panel, row - rows.start, rows.len());
        // Entries above the diagonal may be anything; they stay zero here.
        for i in row..row + NARROW {
            let mut at = |k: usize, value: f64| panel[k * rows.len() + i - rows.start] = value;
            if i < n {
                (row..=i).for_each(|k| at(k, matrix.get(i, k)));
            } else {
                at(i, 1.0);
            }
        }
    }
}

/// Turns a panel of A ([`Panels::of_lower`]) into that of `scale A + shift 11' + diag(d)`.
fn shift_panel(scale: f64, shift: f64, d: &[f64], rows: Range<usize>, panel: &mut [f64]) {
    let n = d.len();
    let end = rows.len().min(n - rows.start);
    for (k, line) in panel.chunks_exact_mut(rows.len()).enumerate().take(n) {
        let first = k.saturating_sub(rows.start);
        line[first..end].iter_mut().for_each(|value| *value = scale * *value + shift);
        if k >= rows.start {
            line[first] += d[k];
        }
    }
}

/// `scale A + shift 11' + diag(d)` of a square matrix A.
#[derive(Clone, Copy)]
pub(crate) struct ShiftedMatrix<'a> {
    pub(crate) matrix: &'a Matrix,
    pub(crate) scale: f64,
    pub(crate) shift: f64,
    pub(crate) d: &'a [f64],
}

/// Which entries of a symmetric matrix are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Half {
    /// Those on and below the diagonal; the entries above are meaningless.
    Lower,
    /// All.
    Both,
}

/// A symmetric n x n matrix of which only tiles on and below the diagonal are computed: `tile` is given the first of
/// [`NARROW`] rows, a panel of columns and how many of its columns are needed. `stop` is polled before each panel:
/// [`Error::Stopped`].
pub(super) fn symmetric(
    n: usize,
    half: Half,
    operations: usize,
    pool: &Pool,
    stop: &(dyn Fn() -> bool + Sync),
    tile: impl Fn(usize, usize, usize, &mut Tile) + Sync + Send,
) -> Result<Matrix> {
    let tile = |_: usize, row: usize, panel: usize, width: usize, sums: &mut Tile| tile(row, panel, width, sums);
    Ok(symmetric_each(n, 1, half, operations, pool, stop, tile)?.remove(0))
}

/// [`symmetric`] of several matrices at once: `tile` is given the number of the matrix first.
pub(super) fn symmetric_each(
    n: usize,
    n_matrices: usize,
    half: Half,
    operations: usize,
    pool: &Pool,
    stop: &(dyn Fn() -> bool + Sync),
    tile: impl Fn(usize, usize, usize, usize, &mut Tile) + Sync + Send,
) -> Result<Vec<Matrix>> {
    let mut matrices = (0..n_matrices).map(|_| room(n, n)).collect::<Result<Vec<_>>>()?;
    let halted = AtomicBool::new(false);
    let pieces: Vec<Pieces<'_>> = matrices.iter_mut().map(Pieces::new).collect();
    let (size, step) = (padded(n), together(n));
    let count = size.div_ceil(WIDE);
    let part = |(m, first): (usize, usize)| {
        let panels = first..(first + step).min(count);
        let mut sums = [[0.0; WIDE]; NARROW];
        for q in 0..panels.end {
            if halted.load(Ordering::Relaxed) || stop() {
                return halted.store(true, Ordering::Relaxed);
            }
            for p in panels.start.max(q)..panels.end {
                for row in (p * WIDE..(p * WIDE + WIDE).min(size)).step_by(NARROW) {
                    let width = if q < p { WIDE } else { row + NARROW - q * WIDE };
                    tile(m, row, q, width, &mut sums);
                    if q == p {
                        mirror(&mut sums, row - q * WIDE);
                    }
                    put(&pieces[m], &sums, row, q * WIDE, width, half);
                }
            }
        }
    };
    // Long panels first, so that threads finish together.
    let items = (0..count).step_by(step).rev().flat_map(|first| (0..n_matrices).map(move |m| (m, first)));
    share(pool, operations, items, part);
    drop(pieces);
    if halted.into_inner() {
        return Err(Error::Stopped("stopped while matrices were multiplied".into()));
    }
    Ok(matrices)
}

/// Writes a tile, some columns of a row panel of a symmetric n x n matrix, as lines of the panel: zero above the
/// diagonal, and padding rows are those of the identity.
fn put_lines(tile: &Tile, width: usize, lines: &mut [f64], column: usize, row: usize, n: usize) {
    for ((k, line), sums) in (column..).zip(lines.chunks_exact_mut(width)).zip(tile) {
        line.copy_from_slice(&sums[..width]);
        line[..k.saturating_sub(row).min(width)].fill(0.0);
        if row + width > n {
            (row.max(n)..row + width).for_each(|i| line[i - row] = f64::from(u8::from(i == k)));
        }
    }
}

/// Makes the last square of a tile, which starts at this column, symmetric by copying its lower triangle.
fn mirror(tile: &mut Tile, col: usize) {
    for r in 0..NARROW {
        for l in r + 1..NARROW {
            tile[r][col + l] = tile[l][col + r];
        }
    }
}

/// Writes a tile on or below the diagonal and, if both halves are requested, its mirror image.
fn put(pieces: &Pieces<'_>, tile: &Tile, row: usize, col: usize, width: usize, half: Half) {
    let n = pieces.n_rows();
    let here = col..(col + width).min(n);
    for (i, line) in (row..n).zip(tile) {
        // SAFETY: each tile is put once, by one thread, and tiles do not overlap.
        unsafe { pieces.piece(i, here.clone()) }.copy_from_slice(&line[..here.len()]);
    }
    if half == Half::Lower {
        return;
    }
    // A square on the diagonal is its own mirror image.
    for v in (0..width).step_by(VECTOR).filter(|v| col + v < row) {
        if row + SIDE <= n {
            // SAFETY: as above; images lie above the diagonal, tiles below.
            unsafe { pieces.put_turned(&tile.as_flattened()[v..], WIDE, col + v, row) };
            continue;
        }
        for l in v..v + VECTOR {
            // SAFETY: as above.
            let image = unsafe { pieces.piece(col + l, row..n) };
            image.iter_mut().zip(tile).for_each(|(image, line)| *image = line[l]);
        }
    }
}

/// A matrix with unspecified numbers, or an error if there is too little memory.
pub(super) fn room(n_rows: usize, n_cols: usize) -> Result<Matrix> {
    Matrix::unspecified(n_rows, n_cols)
        .ok_or_else(|| Error::input(format!("no memory for a matrix of {n_rows} x {n_cols}; use fewer rows")))
}
