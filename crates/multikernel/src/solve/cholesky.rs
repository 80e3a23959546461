//! Symmetric positive definite matrices: factorisation, determinant, linear systems, inverse.
//!
//! Matrices are split into panels of 24 rows, and everything but the eight-by-eight squares on the diagonal consists of
//! sums of products as long as possible, computed in registers (`simd::sums`). Every sum has a fixed order, and work is
//! split by the shape alone: the same bits for any number of threads and any instruction set.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::simd::{
    Lines, NARROW, SIDE, WIDE, add_squares, backward, divide, factor, forward, ln, subtract_inner, sums, transpose,
};
use crate::solve::panels::{Half, Panels, padded, share, symmetric_each, together};
pub(crate) use crate::solve::panels::{Keeping, ShiftedMatrix};
use crate::solve::product::PackedRows;

/// Rows from which [`Cholesky::solve_on`] goes block by block: fewer are divided before threads wake up.
const MIN_BLOCKED: usize = 768;
/// Panels of such a block.
const BLOCK: usize = 4;
/// How often a thread looks for a block before it lets others run.
const MOST_LOOKS: usize = 2000;

/// `A = L L'` of a symmetric positive definite matrix.
///
/// Memory: n^2 / 2 numbers, and n^2 / 2 more while an inverse is computed. The same bits for any number of threads.
///
/// ```
/// use multikernel::{Matrix, Pool, solve::cholesky::Cholesky};
/// let pool = Pool::new(1)?;
/// let a = Matrix::from_vec(2, 2, vec![4.0, 2.0, 2.0, 2.0])?;
/// let factor = Cholesky::new(a, &pool, &|| false)?;
/// assert_eq!(factor.lower().data(), &[2.0, 0.0, 1.0, 1.0]);
/// assert_eq!(factor.inverse(&pool, &|| false)?.data(), &[0.5, -0.5, -0.5, 1.0]);
/// assert!((factor.log_determinant() - 4f64.ln()).abs() < 1e-15);
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cholesky {
    n: usize,
    /// The factor in panels of rows, column by column.
    panels: Panels,
    /// The reciprocals of its diagonal.
    inverses: Vec<f64>,
    /// The factor row by row, computed on first use.
    lower: OnceLock<Matrix>,
}

impl PartialEq for Cholesky {
    fn eq(&self, other: &Self) -> bool {
        // The rest follows from them.
        self.n == other.n && self.panels == other.panels
    }
}

impl Cholesky {
    /// Factors an n x n matrix; only the lower triangle, including the diagonal, is read. `stop` is polled now and
    /// then. Cost: n^3 / 3 operations.
    ///
    /// # Errors
    /// [`Error::NotDefinite`] if a pivot is not above n roundings of its diagonal entry, [`Error::Stopped`] if `stop`
    /// returned true, and an error if the matrix is not square or there is no memory for half as much again.
    pub fn new(matrix: Matrix, pool: &Pool, stop: &(dyn Fn() -> bool + Sync)) -> Result<Cholesky> {
        let n = matrix.n_rows();
        if matrix.n_cols() != n {
            let cols = matrix.n_cols();
            return Err(Error::input(format!("only square matrices have a Cholesky factor, got {n} x {cols}")));
        }
        let panels = Panels::of_lower(&matrix, pool)?;
        drop(matrix);
        Cholesky::of_panels(n, panels, pool, stop)
    }

    /// Factors `scale A + shift 11' + diag(d)` for A of n x n, which is left unchanged and of which only the lower
    /// triangle, including the diagonal, is read: see [`Cholesky::new`].
    pub(crate) fn of_sum(
        matrix: &Matrix,
        scale: f64,
        shift: f64,
        d: &[f64],
        pool: &Pool,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Cholesky> {
        Cholesky::of_sums(&[ShiftedMatrix { matrix, scale, shift, d }], pool, stop)?.remove(0)
    }

    /// [`Cholesky::of_sum`] of several matrices of the same size with the same bits, in step: threads that have nothing to
    /// do in one find work in the others. Some may have no factor.
    pub(crate) fn of_sums(
        sums: &[ShiftedMatrix<'_>],
        pool: &Pool,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<Result<Cholesky>>> {
        let n = sums.first().map_or(0, |sum| sum.d.len());
        for &ShiftedMatrix { matrix, d, .. } in sums {
            fits(matrix.n_rows(), d)?;
            fits(matrix.n_cols(), d)?;
            fits(n, d)?;
        }
        Cholesky::of_many(n, Panels::of_sums(sums, pool)?, pool, stop)
    }

    /// Factors `H diag(s) H' + shift 11' + diag(d)` for H of n x k: see [`Cholesky::new`]. Cost: n^2 k operations more,
    /// half of what a product takes, and no intermediate matrix.
    pub(crate) fn of_square(
        h: &PackedRows,
        s: &[f64],
        shift: f64,
        d: &[f64],
        pool: &Pool,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Cholesky> {
        fits(h.n, d)?;
        fits(h.k, s)?;
        let mut panels = h.panels.lower_of_square(h.n, s, pool)?;
        panels.shift_lower(1.0, shift, d, pool);
        Cholesky::of_panels(h.n, panels, pool, stop)
    }

    /// Factors a matrix in the form of [`Panels::of_lower`].
    fn of_panels(n: usize, panels: Panels, pool: &Pool, stop: &(dyn Fn() -> bool + Sync)) -> Result<Cholesky> {
        Cholesky::of_many(n, vec![panels], pool, stop)?.remove(0)
    }

    /// Factors matrices of n rows in the form of [`Panels::of_lower`], in step.
    fn of_many(
        n: usize,
        mut all: Vec<Panels>,
        pool: &Pool,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<Result<Cholesky>>> {
        let mut works: Vec<Factoring<'_>> = all.iter_mut().map(|panels| Factoring::new(n, panels)).collect();
        let (count, step) = (padded(n).div_ceil(WIDE), together(n));
        for block in (0..count).step_by(step).map(|first| first..(first + step).min(count)) {
            if stop() {
                return Err(stopped());
            }
            let next = block.end..(block.end + step).min(count);
            let (mut blocks, mut items) = (vec![], vec![]);
            for work in works.iter_mut().filter(|work| work.failed.is_none()) {
                let (done, after) = work.open.split_at_mut(block.end);
                items.extend((block.end..).zip(after).map(|(q, panel)| (blocks.len(), q, panel)));
                blocks.push(Divisor {
                    done,
                    inverses: &work.inverses,
                    next: NextBlock::new(next.clone(), &work.least),
                });
            }
            // What the next block waits for comes first, in all matrices.
            items.sort_by_key(|(m, q, _)| (*q, *m));
            let operations = 2 * block.end * block.len() * items.len() * WIDE.pow(3);
            share(pool, operations, items.into_iter(), |(m, q, panel)| {
                let Divisor { done, inverses, next } = &blocks[m];
                block.clone().for_each(|p| divide_panel(done[p], p, panel, q, inverses));
                next.take(q, panel);
            });
            let found: Vec<_> = blocks.into_iter().map(|divisor| divisor.next.found.into_inner()).collect();
            let works = works.iter_mut().filter(|work| work.failed.is_none());
            works.zip(found).for_each(|(work, found)| work.go_on(found.unwrap_or_else(PoisonError::into_inner)));
        }
        let ends: Vec<(Vec<f64>, Option<Error>)> = works.into_iter().map(|work| (work.inverses, work.failed)).collect();
        let factor = |(panels, (inverses, failed)): (Panels, (Vec<f64>, Option<Error>))| match failed {
            Some(error) => Err(error),
            None => Ok(Cholesky { n, panels, inverses, lower: OnceLock::new() }),
        };
        Ok(all.into_iter().zip(ends).map(factor).collect())
    }

    /// `L`, zero above its diagonal. Computed on first use: n^2 numbers.
    pub fn lower(&self) -> &Matrix {
        self.lower.get_or_init(|| self.panels.to_lower(self.n))
    }

    /// Number of rows.
    pub fn size(&self) -> usize {
        self.n
    }

    /// `log det A`.
    pub fn log_determinant(&self) -> f64 {
        2.0 * (0..self.n).map(|i| ln(self.panels.diagonal(i))).sum::<f64>()
    }

    /// `A^-1 B` for B of n x c. Cost: 2 n^2 c operations on the calling thread; for c near n use [`Cholesky::inverse`].
    pub fn solve(&self, right: &Matrix) -> Result<Matrix> {
        let (mut sides, size) = (self.forward(right)?, self.panels.size());
        let panels: Vec<Lines<'_>> = (0..self.panels.count()).map(|p| self.panels.lines(p)).collect();
        let mut block = [0.0; WIDE * WIDE];
        for (p, first) in (0..size).step_by(WIDE).enumerate().rev() {
            let end = first + self.panels.width(p);
            turn(panels[p].skip(first, 0), end - first, &mut block);
            for side in sides.chunks_exact_mut(size) {
                let (open, done) = side.split_at_mut(end);
                for row in (first..end).step_by(NARROW) {
                    subtract_inner(&panels[p + 1..], row, done, &mut open[row..row + NARROW]);
                }
                backward(&mut open[first..], Lines::new(&block, WIDE), &self.inverses[first..end]);
            }
        }
        Ok(self.columns(&sides, right.n_cols()))
    }

    /// [`Cholesky::solve`] on all threads, for many rows. From 768 rows on each sum is split into blocks of 96 rows, so
    /// its last bits differ from those of `solve`, but not between numbers of threads.
    pub(crate) fn solve_on(&self, right: &Matrix, pool: &Pool) -> Result<Matrix> {
        if self.n < MIN_BLOCKED { self.solve(right) } else { self.solve_by_blocks(right, pool) }
    }

    fn solve_by_blocks(&self, right: &Matrix, pool: &Pool) -> Result<Matrix> {
        self.check_rows(right)?;
        let (count, c) = (self.panels.count(), right.n_cols());
        if count == 0 || c == 0 {
            return Ok(Matrix::zeros(self.n, c));
        }
        let blocks: Vec<Range<usize>> =
            (0..count).step_by(BLOCK).map(|first| first..(first + BLOCK).min(count)).collect();
        let operations = self.panels.size().pow(2) * c;
        let half = Solved::new(blocks.len());
        share(pool, operations, blocks.iter().enumerate(), |(b, block)| {
            half.put(b, || self.forward_block(b, block, &blocks, right, &half));
        });
        let whole = Solved::new(blocks.len());
        share(pool, operations, blocks.iter().enumerate().rev(), |(b, block)| {
            whole.put(b, || self.backward_block(b, block, &blocks, half.wait(b)?, &whole));
        });
        let mut out = Matrix::zeros(self.n, c);
        for (b, rows) in out.data_mut().chunks_mut(BLOCK * WIDE * c).enumerate() {
            let solved = whole.wait(b).unwrap_or_default();
            let height = solved.len() / c;
            rows.iter_mut().enumerate().for_each(|(k, value)| *value = solved[k % c * height + k / c]);
        }
        Ok(out)
    }

    /// The rows of a block of `L^-1 B`, the right-hand sides of a row side by side, once those before it are there.
    fn forward_block(
        &self,
        b: usize,
        block: &Range<usize>,
        blocks: &[Range<usize>],
        right: &Matrix,
        solved: &Solved,
    ) -> Option<Vec<f64>> {
        let c = right.n_cols();
        let at = |row: usize, s: usize| if row < self.n { right.get(row, s) } else { 0.0 };
        // Panel by panel, [`WIDE`] numbers of each right-hand side.
        let mut open: Vec<Vec<f64>> =
            block.clone().map(|p| (0..c * WIDE).map(|k| at(p * WIDE + k % WIDE, k / WIDE)).collect()).collect();
        let take_off = |done: &[f64], first: usize, p: usize, x: &mut [f64]| {
            let (lines, width) = (self.panels.lines(p).skip(first, 0), self.panels.width(p));
            each_side(done, c, lines, width, done.len() / c, |s, sums| {
                x[s * WIDE..][..width].iter_mut().zip(sums).for_each(|(x, sum)| *x -= sum);
            });
        };
        for (e, earlier) in blocks[..b].iter().enumerate() {
            let done = solved.wait(e)?;
            block.clone().zip(&mut open).for_each(|(p, x)| take_off(done, earlier.start * WIDE, p, x));
        }
        let mut own = Vec::with_capacity(block.len() * c * WIDE);
        for (p, mut x) in block.clone().zip(open) {
            take_off(&own, block.start * WIDE, p, &mut x);
            let (row, width) = (p * WIDE, self.panels.width(p));
            let (columns, inverses) = (self.panels.lines(p).skip(row, 0), &self.inverses[row..row + width]);
            x.chunks_exact_mut(WIDE).for_each(|x| forward(&mut x[..width], &[0.0; WIDE], columns, inverses));
            (0..width).for_each(|i| own.extend(x.chunks_exact(WIDE).map(|x| x[i])));
        }
        Some(own)
    }

    /// The rows of a block of `L'^-1 B`, one right-hand side after the other, once those after it are there.
    fn backward_block(
        &self,
        b: usize,
        block: &Range<usize>,
        blocks: &[Range<usize>],
        right: &[f64],
        solved: &Solved,
    ) -> Option<Vec<f64>> {
        let rows = self.panels.size().min(block.end * WIDE) - block.start * WIDE;
        let c = right.len() / rows;
        let mut own: Vec<f64> = (0..c * rows).map(|k| right[k % rows * c + k / rows]).collect();
        // Takes what later rows contribute off `x`, which begins at row `first`: `panels` hold the later rows.
        let take_off = |panels: &[Lines<'_>], later: &[f64], first: usize, x: &mut [f64]| {
            for (lane, x) in x.chunks_exact_mut(NARROW).enumerate() {
                subtract_inner(panels, first + lane * NARROW, later, x);
            }
        };
        let lines = |of: &Range<usize>| -> Vec<Lines<'_>> { of.clone().map(|p| self.panels.lines(p)).collect() };
        for (e, later) in blocks.iter().enumerate().skip(b + 1).rev() {
            let (done, panels) = (solved.wait(e)?, lines(later));
            let sides = own.chunks_exact_mut(rows).zip(done.chunks_exact(done.len() / c));
            sides.for_each(|(x, done)| take_off(&panels, done, block.start * WIDE, x));
        }
        let (panels, mut turned) = (lines(block), [0.0; WIDE * WIDE]);
        for (k, p) in block.clone().enumerate().rev() {
            let (row, width) = (p * WIDE, self.panels.width(p));
            turn(panels[k].skip(row, 0), width, &mut turned);
            for side in own.chunks_exact_mut(rows) {
                let (open, done) = side.split_at_mut(k * WIDE + width);
                take_off(&panels[k + 1..], done, row, &mut open[k * WIDE..]);
                backward(&mut open[k * WIDE..], Lines::new(&turned, WIDE), &self.inverses[row..row + width]);
            }
        }
        Some(own)
    }

    /// Checks that right-hand sides have as many rows as the factor.
    fn check_rows(&self, right: &Matrix) -> Result<()> {
        if right.n_rows() == self.n {
            return Ok(());
        }
        Err(Error::input(format!("right-hand sides have {} rows, the factor {}", right.n_rows(), self.n)))
    }

    /// `L^-1 B` for B of n x c: its squared length is that of B in the metric of `A^-1`. Cost: n^2 c operations on the
    /// calling thread.
    ///
    /// ```
    /// use multikernel::{Matrix, Pool, solve::cholesky::Cholesky};
    /// let a = Matrix::from_vec(2, 2, vec![4.0, 2.0, 2.0, 2.0])?;
    /// let factor = Cholesky::new(a, &Pool::new(1)?, &|| false)?;
    /// assert_eq!(factor.half_solve(&Matrix::from_vec(2, 1, vec![2.0, 4.0])?)?.data(), &[1.0, 3.0]);
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn half_solve(&self, right: &Matrix) -> Result<Matrix> {
        Ok(self.columns(&self.forward(right)?, right.n_cols()))
    }

    /// `L^-1 B`, one right-hand side after the other, each padded with zeros to the size of the panels.
    fn forward(&self, right: &Matrix) -> Result<Vec<f64>> {
        self.check_rows(right)?;
        let (c, size) = (right.n_cols(), self.panels.size());
        let mut sides = vec![0.0; c * size];
        for (i, row) in right.rows().enumerate() {
            row.iter().enumerate().for_each(|(s, &value)| sides[s * size + i] = value);
        }
        // The part solved so far, the right-hand sides of a row side by side.
        let mut solved = vec![0.0; c * size];
        for (p, first) in (0..size).step_by(WIDE).enumerate() {
            let (lines, end) = (self.panels.lines(p), first + self.panels.width(p));
            let (done, open) = solved.split_at_mut(first * c);
            each_side(done, c, lines, end - first, first, |s, sums| {
                let x = &mut sides[s * size + first..s * size + end];
                forward(x, sums, lines.skip(first, 0), &self.inverses[first..end]);
                x.iter().enumerate().for_each(|(i, &x)| open[i * c + s] = x);
            });
        }
        Ok(sides)
    }

    /// Consecutive right-hand sides as the columns of a matrix.
    fn columns(&self, sides: &[f64], count: usize) -> Matrix {
        let size = self.panels.size();
        Matrix::from_fn(self.n, count, |i, s| sides[s * size + i])
    }

    /// `L z`: a draw from the normal distribution with covariance A if z holds independent standard normals. Cost: n^2
    /// operations.
    ///
    /// ```
    /// use multikernel::{Matrix, Pool, solve::cholesky::Cholesky};
    /// let a = Matrix::from_vec(2, 2, vec![4.0, 2.0, 2.0, 2.0])?;
    /// let factor = Cholesky::new(a, &Pool::new(1)?, &|| false)?;
    /// assert_eq!(factor.multiply_lower(&[1.0, 10.0]), vec![2.0, 11.0]);
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    ///
    /// # Panics
    /// If the length of z differs from the number of rows of the factor.
    pub fn multiply_lower(&self, z: &[f64]) -> Vec<f64> {
        let n = self.n;
        assert_eq!(z.len(), n, "the factor has {n} rows");
        let mut out = vec![0.0; n];
        let mut tile = [[0.0; WIDE]; NARROW];
        for (p, out) in out.chunks_mut(WIDE).enumerate() {
            let depth = p * WIDE + out.len();
            sums(Lines::new(z, 1), 1, self.panels.lines(p), self.panels.width(p), depth, &mut tile);
            out.copy_from_slice(&tile[0][..out.len()]);
        }
        out
    }

    /// `A^-1`, symmetric to the last bit. Cost: 2 n^3 / 3 operations. `stop` is polled now and then:
    /// [`Error::Stopped`].
    pub fn inverse(&self, pool: &Pool, stop: &(dyn Fn() -> bool + Sync)) -> Result<Matrix> {
        Ok(Cholesky::half_inverses(&[self], Half::Both, &Beside::default(), pool, stop)?.remove(0))
    }

    /// The diagonal of [`Cholesky::inverse`] with the same bits, in half the operations and no matrix: the squared lengths
    /// of the columns of `L^-1`.
    pub(crate) fn diagonal_of_inverse(&self, pool: &Pool, stop: &(dyn Fn() -> bool + Sync)) -> Result<Vec<f64>> {
        let (n, size, step) = (self.n, self.panels.size(), together(self.n));
        let halted = AtomicBool::new(false);
        let mut diagonal = vec![0.0; size];
        share(pool, n.pow(3) / 3, diagonal.chunks_mut(step * WIDE).enumerate(), |(part, diagonal)| {
            if stop() {
                return halted.store(true, Ordering::Relaxed);
            }
            let columns = |(k, sums): (usize, &[f64])| vec![0.0; (size - (part * step + k) * WIDE) * sums.len()];
            let mut half: Vec<Vec<f64>> = diagonal.chunks(WIDE).enumerate().map(columns).collect();
            self.invert_panels(part * step, &mut half.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>());
            half.iter().zip(diagonal.chunks_mut(WIDE)).for_each(|(lines, sums)| add_squares(lines, sums));
        });
        if halted.into_inner() || stop() {
            return Err(stopped());
        }
        diagonal.truncate(n);
        Ok(diagonal)
    }

    /// [`Cholesky::inverse`] of several factors of the same size, in step, on and below the diagonals, with the same bits; the
    /// entries above are meaningless. Solves beside them cost no time of their own: alone they would keep a thread each.
    pub(crate) fn lower_of_inverses(
        factors: &[&Cholesky],
        beside: &Beside<'_>,
        pool: &Pool,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<Matrix>> {
        Cholesky::half_inverses(factors, Half::Lower, beside, pool, stop)
    }

    fn half_inverses(
        factors: &[&Cholesky],
        wanted: Half,
        beside: &Beside<'_>,
        pool: &Pool,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<Matrix>> {
        let Some((n, size)) = factors.first().map(|factor| (factor.n, factor.panels.size())) else { return Ok(vec![]) };
        let halted = AtomicBool::new(false);
        // The inverse of each factor in panels of columns, each starting at its diagonal.
        let mut halves: Vec<Panels> =
            factors.iter().map(|_| Panels::some(n, |columns| size - columns.start)).collect::<Result<_>>()?;
        let (step, operations) = (together(n), factors.len() * n.pow(3) / 3);
        let mut open: Vec<Vec<&mut [f64]>> = halves.iter_mut().map(Panels::split).collect();
        let parts = factors.iter().zip(&mut open);
        let mut items: Vec<_> =
            parts.flat_map(|(factor, open)| open.chunks_mut(step).enumerate().map(move |at| (factor, at))).collect();
        // Long panels first, so that threads finish together.
        items.sort_by_key(|(_, (part, _))| *part);
        let items = (0..beside.n).map(|k| (k, None)).chain(items.into_iter().map(|item| (0, Some(item))));
        share(pool, operations, items, |(k, item)| match item {
            _ if stop() => halted.store(true, Ordering::Relaxed),
            Some((factor, (part, panels))) => factor.invert_panels(part * step, panels),
            None => (beside.work)(k),
        });
        if halted.into_inner() || stop() {
            return Err(stopped());
        }
        symmetric_each(n, factors.len(), wanted, operations, pool, stop, |m, row, panel, width, tile| {
            let few = halves[m].lines(row / WIDE).skip(row % WIDE, row % WIDE);
            sums(few, NARROW, halves[m].lines(panel).skip(row - panel * WIDE, 0), width, size - row, tile);
        })
    }

    /// Computes consecutive column panels of `L^-1`, the first of which is p: those of the identity, each starting at
    /// its diagonal, divided by L.
    fn invert_panels(&self, p: usize, panels: &mut [&mut [f64]]) {
        let mut tile = [[0.0; WIDE]; NARROW];
        for row in (p * WIDE..self.panels.size()).step_by(NARROW) {
            let few = self.panels.lines(row / WIDE).skip(0, row % WIDE);
            for (q, panel) in (p..=row / WIDE).zip(&mut *panels) {
                let (first, width) = (q * WIDE, self.panels.width(q));
                let (done, open) = panel.split_at_mut((row - first) * width);
                open[..NARROW * width].fill(0.0);
                (row..first + width).take(NARROW).enumerate().for_each(|(r, c)| open[r * width + c - first] = 1.0);
                sums(few.skip(first, 0), NARROW, Lines::new(done, width), width, row - first, &mut tile);
                divide(open, width, width, &tile, few.skip(row, 0), &self.inverses[row..]);
            }
        }
    }
}

/// Work that needs the factors alone, done while they are inverted: it is called with each number below n.
pub(crate) struct Beside<'a> {
    pub(crate) n: usize,
    pub(crate) work: &'a (dyn Fn(usize) + Sync),
}

impl Default for Beside<'_> {
    /// None.
    fn default() -> Self {
        Beside { n: 0, work: &|_| {} }
    }
}

/// Calls `f` with each of c right-hand sides and the sums of its products with the first `depth` lines of the factor:
/// `done` holds the solved numbers of all right-hand sides, row by row.
fn each_side(
    done: &[f64],
    c: usize,
    lines: Lines<'_>,
    width: usize,
    depth: usize,
    mut f: impl FnMut(usize, &[f64; WIDE]),
) {
    let mut tile = [[0.0; WIDE]; NARROW];
    let mut side = 0;
    while side < c {
        // As many at once as remain: 8, 4, 2 or 1.
        let count = 1 << (c - side).min(NARROW).ilog2();
        sums(Lines::new(done, c).skip(0, side), count, lines, width, depth, &mut tile);
        (side..).zip(&tile[..count]).for_each(|(side, sums)| f(side, sums));
        side += count;
    }
}

/// The rows of a diagonal block that is given by its columns, [`WIDE`] numbers apart.
fn turn(columns: Lines<'_>, width: usize, rows: &mut [f64; WIDE * WIDE]) {
    for (c, r) in (0..width).step_by(SIDE).flat_map(|c| (c..width).step_by(SIDE).map(move |r| (c, r))) {
        transpose(columns.skip(c, r).values(), width, &mut rows[r * WIDE + c..], WIDE);
    }
}

/// Checks that a diagonal is as long as the matrix has rows.
fn fits(n: usize, d: &[f64]) -> Result<()> {
    if d.len() == n {
        return Ok(());
    }
    Err(Error::input(format!("a matrix of {n} rows or columns needs a diagonal of {n} numbers, got {}", d.len())))
}

fn stopped() -> Error {
    Error::Stopped("stopped while a matrix was factored".into())
}

/// The blocks of a solution, each of which others wait for. They are begun in the order in which they need one another, so
/// whoever waits waits for a thread that is at work.
struct Solved {
    blocks: Vec<OnceLock<Vec<f64>>>,
    /// Whether a block will never be there, because its thread panicked.
    broken: AtomicBool,
}

impl Solved {
    fn new(n: usize) -> Solved {
        Solved { blocks: (0..n).map(|_| OnceLock::new()).collect(), broken: AtomicBool::new(false) }
    }

    /// Computes a block and shows it to the others.
    fn put(&self, b: usize, block: impl FnOnce() -> Option<Vec<f64>>) {
        struct Alarm<'a>(&'a AtomicBool);
        impl Drop for Alarm<'_> {
            fn drop(&mut self) {
                if std::thread::panicking() {
                    self.0.store(true, Ordering::Relaxed);
                }
            }
        }
        let _alarm = Alarm(&self.broken);
        if let Some(block) = block() {
            self.blocks[b].get_or_init(|| block);
        }
    }

    /// A block, as soon as it is there; `None` if it never will be.
    fn wait(&self, b: usize) -> Option<&[f64]> {
        let mut looks = 0;
        loop {
            if let Some(block) = self.blocks[b].get() {
                return Some(block);
            }
            if self.broken.load(Ordering::Relaxed) {
                return None;
            }
            looks += 1;
            // A block takes some microseconds; after that its thread may be waiting for this processor.
            if looks < MOST_LOOKS { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
    }
}

/// Some rows, and the reciprocals of the diagonal of the factor in them.
type Inverses = (Range<usize>, Vec<f64>);

/// A matrix whose first panels are factored.
struct Factoring<'a> {
    open: Vec<&'a mut [f64]>,
    /// The least pivots.
    least: Vec<f64>,
    inverses: Vec<f64>,
    failed: Option<Error>,
}

impl<'a> Factoring<'a> {
    /// The first block is factored.
    fn new(n: usize, panels: &'a mut Panels) -> Factoring<'a> {
        let mut least: Vec<f64> = (0..n).map(|i| n as f64 * f64::EPSILON * panels.diagonal(i).abs()).collect();
        least.resize(panels.size(), 0.0);
        let (mut open, mut inverses) = (panels.split(), vec![0.0; least.len()]);
        let first = together(n).min(open.len());
        let failed = factor_block(&mut open[..first], 0, &least, &mut inverses).err();
        Factoring { open, least, inverses, failed }
    }

    /// Takes in the reciprocals of the diagonal of the next block: the rows and the numbers.
    fn go_on(&mut self, found: Option<Result<Inverses>>) {
        match found {
            Some(Ok((rows, inverses))) => self.inverses[rows].copy_from_slice(&inverses),
            Some(Err(error)) => self.failed = Some(error),
            None => {}
        }
    }
}

/// The panels that later ones are divided by, and those that are factored next.
struct Divisor<'a> {
    done: &'a [&'a mut [f64]],
    inverses: &'a [f64],
    next: NextBlock<'a>,
}

/// The panels to be factored next, while others are still divided by the block before.
struct NextBlock<'a> {
    block: Range<usize>,
    least: &'a [f64],
    /// Those divided so far.
    ready: Mutex<Vec<(usize, &'a mut [f64])>>,
    /// The rows of the block, and the reciprocals of its diagonal.
    found: Mutex<Option<Result<Inverses>>>,
}

impl<'a> NextBlock<'a> {
    fn new(block: Range<usize>, least: &'a [f64]) -> NextBlock<'a> {
        NextBlock { block, least, ready: Mutex::default(), found: Mutex::default() }
    }

    /// Whoever brings the last panel of the block factors it: nobody waits for that.
    fn take(&self, q: usize, panel: &'a mut [f64]) {
        if !self.block.contains(&q) {
            return;
        }
        let mut all = {
            let mut ready = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
            ready.push((q, panel));
            if ready.len() < self.block.len() {
                return;
            }
            std::mem::take(&mut *ready)
        };
        all.sort_by_key(|(q, _)| *q);
        let mut panels: Vec<&mut [f64]> = all.into_iter().map(|(_, panel)| panel).collect();
        let mut inverses = vec![0.0; self.least.len()];
        let rows = self.block.start * WIDE..(self.block.end * WIDE).min(inverses.len());
        let found = factor_block(&mut panels, self.block.start, self.least, &mut inverses)
            .map(|()| (rows.clone(), inverses[rows].to_vec()));
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
    }
}

/// Factors consecutive panels, the first of which is `first`, once they are divided by all before them.
fn factor_block(panels: &mut [&mut [f64]], first: usize, least: &[f64], inverses: &mut [f64]) -> Result<()> {
    for k in 0..panels.len() {
        let (own, after) = panels[k..].split_at_mut(1);
        factor_panel(own[0], first + k, least, inverses)?;
        for (q, panel) in (first + k + 1..).zip(after) {
            divide_panel(own[0], first + k, panel, q, inverses);
        }
    }
    Ok(())
}

/// Factors the diagonal block of panel p, once all columns to its left are done.
fn factor_panel(panel: &mut [f64], p: usize, least: &[f64], inverses: &mut [f64]) -> Result<()> {
    let (first, width) = (p * WIDE, WIDE.min(least.len() - p * WIDE));
    let mut tile = [[0.0; WIDE]; NARROW];
    for lane in (0..width).step_by(NARROW) {
        let row = first + lane;
        let (done, open) = panel.split_at_mut(row * width);
        let lines = Lines::new(done, width).skip(0, lane);
        sums(lines, NARROW, lines, width - lane, row, &mut tile);
        let open = &mut open[lane..];
        factor(open, width, &tile, &least[row..], &mut inverses[row..])
            .map_err(|(r, pivot)| Error::NotDefinite { row: row + r, pivot })?;
        // The rest of the panel is divided by the block just factored; it is copied, because both share the same lines.
        if lane + NARROW < width {
            let block: [[f64; NARROW]; NARROW] = std::array::from_fn(|c| std::array::from_fn(|r| open[c * width + r]));
            tile.iter_mut().for_each(|line| line.rotate_left(NARROW));
            let block = Lines::new(block.as_flattened(), NARROW);
            divide(&mut open[NARROW..], width, width - lane - NARROW, &tile, block, &inverses[row..]);
        }
    }
    Ok(())
}

/// Divides the columns of panel p, in a panel q after it, by the diagonal block of panel p.
fn divide_panel(own: &[f64], p: usize, panel: &mut [f64], q: usize, inverses: &[f64]) {
    let [own_width, width] = [p, q].map(|panel| WIDE.min(inverses.len() - panel * WIDE));
    let own = Lines::new(own, own_width);
    let mut tile = [[0.0; WIDE]; NARROW];
    for lane in (0..own_width).step_by(NARROW) {
        let row = p * WIDE + lane;
        let (done, open) = panel.split_at_mut(row * width);
        sums(own.skip(0, lane), NARROW, Lines::new(done, width), width, row, &mut tile);
        divide(open, width, width, &tile, own.skip(row, lane), &inverses[row..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;
    use crate::simd::at_every_level;
    use crate::simd::check::bits;
    use crate::solve::product::scaled_square;

    /// All shapes of panels and of blocks in them, and matrices large enough that panels are grouped.
    fn sizes() -> impl Iterator<Item = usize> {
        (0..=70).chain([144, 200, 333, 410])
    }

    fn go_on() -> bool {
        false
    }

    /// `Z Z' / n + ridge`, with garbage above the diagonal, which must not be read.
    fn definite(n: usize, ridge: f64) -> Matrix {
        let mut rng = Rng::new(n as u64, 0);
        let z = Matrix::from_fn(n, n / 2 + 1, |_, _| rng.uniform() - 0.5);
        let of = |i: usize, j: usize| z.row(i).iter().zip(z.row(j)).map(|(a, b)| a * b).sum::<f64>();
        Matrix::from_fn(n, n, |i, j| match i.cmp(&j) {
            std::cmp::Ordering::Less => f64::NAN,
            std::cmp::Ordering::Equal => of(i, i) + ridge,
            std::cmp::Ordering::Greater => of(i, j),
        })
    }

    fn whole(half: &Matrix) -> Matrix {
        Matrix::from_fn(half.n_rows(), half.n_rows(), |i, j| half.get(i.max(j), i.min(j)))
    }

    fn product(a: &Matrix, b: &Matrix) -> Matrix {
        Matrix::from_fn(a.n_rows(), b.n_cols(), |i, j| (0..b.n_rows()).map(|k| a.get(i, k) * b.get(k, j)).sum())
    }

    fn worst(a: &Matrix, b: &Matrix) -> f64 {
        assert_eq!((a.n_rows(), a.n_cols()), (b.n_rows(), b.n_cols()));
        a.data().iter().zip(b.data()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn factor_solution_and_inverse_multiply_back() {
        let pool = Pool::new(2).unwrap();
        for n in sizes() {
            let half = definite(n, 0.1);
            let a = whole(&half);
            let factor = Cholesky::new(half, &pool, &go_on).unwrap();
            let identity = Matrix::from_fn(n, n, |i, j| f64::from(u8::from(i == j)));
            assert!(worst(&product(factor.lower(), &factor.lower().transposed()), &a) < 1e-13 * (n + 1) as f64, "{n}");
            let inverse = factor.inverse(&pool, &go_on).unwrap();
            assert!(worst(&product(&a, &inverse), &identity) < 1e-11 * (n + 1) as f64, "{n}");
            assert_eq!(inverse, inverse.transposed());
            let right = Matrix::from_fn(n, 11, |i, j| ((7 * i + 3 * j) % 11) as f64 - 5.0);
            let half = factor.half_solve(&right).unwrap();
            assert!(worst(&product(factor.lower(), &half), &right) < 1e-12 * (n + 1) as f64, "{n}");
            let solved = factor.solve(&right).unwrap();
            assert!(worst(&product(&a, &solved), &right) < 1e-11 * (n + 1) as f64, "{n}");
            let solved = factor.solve_by_blocks(&right, &pool).unwrap();
            assert!(worst(&product(&a, &solved), &right) < 1e-11 * (n + 1) as f64, "{n}");
            let z = Matrix::from_vec(n, 1, right.column(1)).unwrap();
            let drawn = Matrix::from_vec(n, 1, factor.multiply_lower(z.data())).unwrap();
            assert!(worst(&product(factor.lower(), &z), &drawn) < 1e-13 * (n + 1) as f64, "{n}");
        }
    }

    #[test]
    fn sums_squares_and_half_an_inverse_have_the_bits_of_whole_matrices() {
        let pools = [1, 3].map(|threads| Pool::new(threads).unwrap());
        for n in sizes() {
            let (half, k) = (definite(n, 0.1), n + n % 3);
            let [d, s] = [n, k].map(|len| (0..len).map(|i| 1.0 + (i % 7) as f64 / 3.0).collect::<Vec<f64>>());
            let h = Matrix::from_fn(n, k, |i, j| ((5 * i + 3 * j) % 13) as f64 / 7.0 - 0.9);
            let shifted = |a: &Matrix, scale: f64| {
                let diagonal = |i: usize, j: usize| if i == j { d[i] } else { 0.0 };
                Matrix::from_fn(n, n, |i, j| scale * a.get(i, j) + 0.7 + diagonal(i, j))
            };
            let square = scaled_square(&h, &s, &pools[0], &|| false).unwrap();
            let sum = Cholesky::new(shifted(&half, 1.3), &pools[0], &go_on).unwrap();
            let product = Cholesky::new(shifted(&square, 1.0), &pools[0], &go_on).unwrap();
            let inverse = sum.inverse(&pools[0], &go_on).unwrap();
            for pool in &pools {
                assert_eq!(Cholesky::of_sum(&half, 1.3, 0.7, &d, pool, &go_on).unwrap(), sum, "{n}");
                let rows = PackedRows::new(&h, pool).unwrap();
                assert_eq!(Cholesky::of_square(&rows, &s, 0.7, &d, pool, &go_on).unwrap(), product, "{n}");
                let solved: [OnceLock<Matrix>; 3] = Default::default();
                let beside = Beside { n: 3, work: &|k| solved[k].set(sum.solve(&h).unwrap()).unwrap() };
                let lower = Cholesky::lower_of_inverses(&[&sum], &beside, pool, &go_on).unwrap().remove(0);
                assert!(solved.iter().all(|solved| solved.get() == Some(&sum.solve(&h).unwrap())), "{n}");
                (0..n).for_each(|i| assert_eq!(lower.row(i)[..=i], inverse.row(i)[..=i], "{n}"));
                let diagonal: Vec<f64> = (0..n).map(|i| inverse.get(i, i)).collect();
                assert_eq!(bits(&sum.diagonal_of_inverse(pool, &go_on).unwrap()), bits(&diagonal), "{n}");
            }
        }
        let error = |found: Result<Cholesky>| found.unwrap_err().to_string();
        let (pool, text) = (&pools[0], "a matrix of 2 rows or columns needs a diagonal of 2 numbers, got 3");
        let wide = Matrix::zeros(3, 2);
        assert_eq!(error(Cholesky::of_sum(&wide, 1.0, 0.0, &[1.0; 3], pool, &go_on)), text);
        let rows = PackedRows::new(&wide, pool).unwrap();
        assert_eq!(error(Cholesky::of_square(&rows, &[1.0; 3], 0.0, &[1.0; 3], pool, &go_on)), text);
    }

    #[test]
    fn right_hand_sides_do_not_change_one_another() {
        let pool = Pool::new(1).unwrap();
        for n in [1, 23, 77, 410] {
            let factor = Cholesky::new(definite(n, 0.1), &pool, &go_on).unwrap();
            let right = Matrix::from_fn(n, 16, |i, j| ((7 * i + 3 * j) % 11) as f64 - 5.0);
            for solve in
                [Cholesky::solve, |factor: &Cholesky, right: &Matrix| factor.solve_by_blocks(right, &Pool::new(1)?)]
            {
                let alone = |j: usize| bits(solve(&factor, &right.select_cols(&[j])).unwrap().data());
                for c in 0..=16 {
                    let all = solve(&factor, &right.select_cols(&(0..c).collect::<Vec<_>>())).unwrap();
                    assert_eq!((all.n_rows(), all.n_cols()), (n, c));
                    (0..c).for_each(|j| assert_eq!(bits(&all.column(j)), alone(j), "{n}, {c}"));
                }
            }
        }
        let factor = Cholesky::new(definite(4, 0.1), &pool, &go_on).unwrap();
        let text = "right-hand sides have 3 rows, the factor 4";
        assert_eq!(factor.solve(&Matrix::zeros(3, 1)).unwrap_err().to_string(), text);
        assert_eq!(factor.half_solve(&Matrix::zeros(3, 1)).unwrap_err().to_string(), text);
    }

    /// By elimination with partial pivoting.
    fn log_determinant(a: &Matrix) -> f64 {
        let n = a.n_rows();
        let mut rows: Vec<Vec<f64>> = a.rows().map(<[f64]>::to_vec).collect();
        let mut log = 0.0;
        for c in 0..n {
            let pivot = (c..n).max_by(|&p, &q| rows[p][c].abs().total_cmp(&rows[q][c].abs())).unwrap();
            rows.swap(c, pivot);
            log += rows[c][c].abs().ln();
            for r in c + 1..n {
                let factor = rows[r][c] / rows[c][c];
                let (above, below) = rows.split_at_mut(r);
                below[0].iter_mut().zip(&above[c]).for_each(|(x, y)| *x -= factor * y);
            }
        }
        log
    }

    #[test]
    fn log_determinant_is_that_of_elimination() {
        let pool = Pool::new(1).unwrap();
        for n in sizes() {
            let half = definite(n, 1e-3);
            let expected = log_determinant(&whole(&half));
            let found = Cholesky::new(half, &pool, &go_on).unwrap().log_determinant();
            assert!((found - expected).abs() < 1e-10 * (1.0 + expected.abs()), "{n}: {found} for {expected}");
        }
    }

    /// Bits of everything a factor provides.
    fn all_bits(n: usize, threads: usize) -> Vec<Vec<u64>> {
        let pool = Pool::new(threads).unwrap();
        let factor = Cholesky::new(definite(n, 0.1), &pool, &go_on).unwrap();
        let right = Matrix::from_fn(n, 3, |i, j| ((7 * i + 3 * j) % 11) as f64 - 5.0);
        vec![
            bits(factor.lower().data()),
            bits(factor.inverse(&pool, &go_on).unwrap().data()),
            bits(&[factor.log_determinant()]),
            bits(factor.solve(&right).unwrap().data()),
            bits(factor.solve_by_blocks(&right, &pool).unwrap().data()),
            bits(&factor.diagonal_of_inverse(&pool, &go_on).unwrap()),
            bits(&factor.multiply_lower(&right.column(0))),
        ]
    }

    #[test]
    fn bits_are_the_same_for_any_number_of_threads() {
        // The last two are shared between threads, by single panels and by groups of panels.
        for n in [5, 64, 100, 333, 410] {
            let one = all_bits(n, 1);
            assert_eq!(all_bits(n, 2), one);
            assert_eq!(all_bits(n, 3), one);
        }
    }

    /// Enough operations that blocks wait for one another on several threads.
    #[test]
    fn blocks_of_a_solution_have_the_bits_of_one_thread() {
        let near = |i: usize, j: usize| 1.0 / (1.0 + i.abs_diff(j) as f64) + if i == j { 9.0 } else { 0.0 };
        for n in [768, 1001] {
            let right = Matrix::from_fn(n, 8, |i, j| ((7 * i + 3 * j) % 11) as f64 - 5.0);
            let pools = [1, 2, 3, 7].map(|threads| Pool::new(threads).unwrap());
            let factor = Cholesky::new(Matrix::from_fn(n, n, near), &pools[1], &go_on).unwrap();
            let one = factor.solve_on(&right, &pools[0]).unwrap();
            assert!(worst(&one, &factor.solve(&right).unwrap()) < 1e-14);
            for pool in &pools {
                assert_eq!(bits(factor.solve_on(&right, pool).unwrap().data()), bits(one.data()), "{n}");
            }
        }
    }

    #[test]
    fn nobody_waits_for_a_block_whose_thread_panicked() {
        let (pool, solved) = (Pool::new(3).unwrap(), Solved::new(6));
        let ends = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            pool.in_order((0..6).collect(), 3, |b: usize| {
                solved.put(b, || {
                    assert!(b != 2, "as it is wanted here");
                    if b > 0 { solved.wait(b - 1).map(<[f64]>::to_vec) } else { Some(vec![1.0]) }
                });
            });
        }));
        assert!(ends.is_err());
        assert_eq!((solved.wait(1), solved.wait(2), solved.wait(5)), (Some(&[1.0][..]), None, None));
    }

    #[test]
    fn bits_are_the_same_at_every_level() {
        for n in [1, 7, 8, 23, 24, 33, 65, 110] {
            at_every_level(|| all_bits(n, 1));
        }
    }

    /// Memory is reused from factor to factor.
    #[test]
    fn bits_do_not_depend_on_what_was_factored_before() {
        let fresh = |n: usize| std::thread::spawn(move || all_bits(n, 1)).join().unwrap();
        let pool = Pool::new(1).unwrap();
        for n in [150, 13, 70, 96] {
            let spoilt = Matrix::from_fn(160, 160, |i, j| if i == j && i < 150 { 1.0 } else { f64::NAN });
            assert!(Cholesky::new(spoilt, &pool, &go_on).is_err());
            assert_eq!(all_bits(n, 1), fresh(n));
        }
    }

    #[test]
    fn factors_are_equal_if_their_numbers_are() {
        let pool = Pool::new(1).unwrap();
        let factor = |n: usize, ridge: f64| Cholesky::new(definite(n, ridge), &pool, &go_on).unwrap();
        let first = factor(20, 0.1);
        let asked = first.clone();
        assert_eq!(asked.lower().n_rows(), 20);
        assert_eq!(first, asked);
        assert_ne!(first, factor(20, 0.2));
        assert_ne!(factor(6, 0.1), factor(7, 0.1));
    }

    #[test]
    fn matrix_that_is_not_definite_is_refused_by_row() {
        let pool = Pool::new(1).unwrap();
        let named = |matrix: Matrix| match Cholesky::new(matrix, &pool, &go_on) {
            Err(Error::NotDefinite { row, pivot }) => (row, pivot),
            other => panic!("{other:?}"),
        };
        let mut matrix = definite(100, 0.1);
        matrix.set(70, 70, 1e-3);
        let (row, pivot) = named(matrix);
        assert!(row == 70 && pivot < 0.0, "{row} {pivot}");
        // Singular: two rows are equal.
        let twice = Matrix::from_fn(3, 3, |i, j| if i == 1 || j == 1 || i == j { 1.0 } else { 0.25 });
        assert_eq!(named(Matrix::from_fn(2, 2, |_, _| 0.3)).0, 1);
        assert_eq!(named(twice).0, 1);
        assert_eq!(named(Matrix::from_vec(1, 1, vec![f64::NAN]).unwrap()).0, 0);
        let error = Cholesky::new(Matrix::from_vec(1, 1, vec![-2.0]).unwrap(), &pool, &go_on).unwrap_err();
        let text = "a matrix that should be positive definite is not: its pivot of row 0 (counted from 0) is -2e0; every kernel \
                    must be positive semi-definite, and something be added to the diagonal of their sum";
        assert_eq!(error.to_string(), text);
        let error = Cholesky::new(Matrix::zeros(2, 3), &pool, &go_on).unwrap_err();
        assert_eq!(error.to_string(), "only square matrices have a Cholesky factor, got 2 x 3");
    }

    #[test]
    fn asked_to_stop_it_says_so() {
        let pool = Pool::new(2).unwrap();
        assert!(matches!(Cholesky::new(definite(9, 0.1), &pool, &|| true), Err(Error::Stopped(_))));
        let factor = Cholesky::new(definite(9, 0.1), &pool, &go_on).unwrap();
        assert!(matches!(factor.inverse(&pool, &|| true), Err(Error::Stopped(_))));
    }
}
