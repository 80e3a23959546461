//! Symmetric positive definite matrices: factor, determinant, systems, inverse.
//!
//! Blocked by 64 columns, which are brought up to date with all columns to their left by sums of products as long as
//! possible, the loop that also computes inner products between points. Every sum has a fixed order, and work is cut by the
//! shape alone: the same bits for any number of threads and any instruction set.

use crate::error::{Error, Result};
use crate::linalg::{Matrix, axpy, dot};
use crate::pool::Pool;
use crate::simd::{Accumulate, PANEL, ROWS, accumulate, ln, solve_lower, solve_transposed};
use crate::solve::product::room;

/// Columns that are factored together.
const BLOCK: usize = 64;
/// Columns of the inverse computed together: panels that use a piece of the factor while it is in the cache.
const STRIP: usize = 2 * PANEL;

/// `A = L L'` of a symmetric positive definite matrix.
///
/// Memory: n^2 numbers, n^2 more while it is computed, and 2 n^2 for an inverse. The same bits for any number of threads.
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
#[derive(Clone, Debug, PartialEq)]
pub struct Cholesky {
    lower: Matrix,
}

impl Cholesky {
    /// Factors an n x n matrix in place; only what is on and below its diagonal is read. `stop` is asked now and then.
    /// Cost: n^3 / 3 operations.
    ///
    /// # Errors
    /// [`Error::NotDefinite`] where a pivot is not above n roundings of its diagonal entry, [`Error::Stopped`] where `stop`
    /// said so, and a matrix that is not square or leaves no memory for as much again.
    pub fn new(mut matrix: Matrix, pool: &Pool, stop: &(dyn Fn() -> bool + Sync)) -> Result<Cholesky> {
        let n = matrix.n_rows();
        if matrix.n_cols() != n {
            let cols = matrix.n_cols();
            return Err(Error::input(format!("only square matrices have a Cholesky factor, got {n} x {cols}")));
        }
        let least: Vec<f64> = (0..n).map(|i| n as f64 * f64::EPSILON * matrix.get(i, i).abs()).collect();
        // The columns to the left of the present block, as `accumulate` wants its few points.
        let mut left = room(n.next_multiple_of(PANEL), n)?;
        for block in (0..n).step_by(BLOCK) {
            if stop() {
                return Err(stopped());
            }
            let cols = block..(block + BLOCK).min(n);
            update(&mut matrix, left.data(), cols.clone(), pool);
            factor(&mut matrix, cols.clone(), &least)?;
            divide(&mut matrix, left.data_mut(), cols, pool);
        }
        (0..n).for_each(|i| matrix.row_mut(i)[i + 1..].fill(0.0));
        Ok(Cholesky { lower: matrix })
    }

    /// `L`, zero above its diagonal.
    pub fn lower(&self) -> &Matrix {
        &self.lower
    }

    /// Number of rows.
    pub fn size(&self) -> usize {
        self.lower.n_rows()
    }

    /// `log det A`.
    pub fn log_determinant(&self) -> f64 {
        2.0 * (0..self.size()).map(|i| ln(self.lower.get(i, i))).sum::<f64>()
    }

    /// `A^-1 B` for B of n x c. Cost: 2 n^2 c operations on the calling thread; for c near n take [`Cholesky::inverse`].
    pub fn solve(&self, right: &Matrix) -> Result<Matrix> {
        let (n, c) = (self.size(), right.n_cols());
        if right.n_rows() != n {
            return Err(Error::input(format!("right-hand sides have {} rows, the factor {n}", right.n_rows())));
        }
        let mut x = right.clone();
        for i in 0..n {
            let (done, rest) = x.data_mut().split_at_mut(i * c);
            let (row, x) = (self.lower.row(i), &mut rest[..c]);
            done.chunks_exact(c.max(1)).zip(row).for_each(|(done, &l)| axpy(-l, done, x));
            x.iter_mut().for_each(|x| *x /= row[i]);
        }
        for i in (0..n).rev() {
            let (open, rest) = x.data_mut().split_at_mut(i * c);
            let (row, x) = (self.lower.row(i), &mut rest[..c]);
            x.iter_mut().for_each(|x| *x /= row[i]);
            open.chunks_exact_mut(c.max(1)).zip(row).for_each(|(open, &l)| axpy(-l, x, open));
        }
        Ok(x)
    }

    /// `A^-1`, symmetric to the last bit. Cost: 2 n^3 / 3 operations. `stop` is asked now and then: [`Error::Stopped`].
    pub fn inverse(&self, pool: &Pool, stop: &(dyn Fn() -> bool + Sync)) -> Result<Matrix> {
        let n = self.size();
        let packed = self.packed(pool)?;
        let blocks: Vec<Block> = (0..n).step_by(BLOCK).map(|start| Block::new(&self.lower, start)).collect();
        let strips = pool.map(n.div_ceil(STRIP), |strip| {
            if stop() { None } else { Some(columns(strip * STRIP, packed.data(), &blocks, n)) }
        });
        let strips: Vec<Vec<Vec<[f64; PANEL]>>> = strips.into_iter().collect::<Option<_>>().ok_or_else(stopped)?;
        let mut inverse = room(n, n)?;
        // Entry (i, j) is computed where j is the column of a panel that begins at or before row i.
        let entry = |i: usize, j: usize| {
            let (row, col) = (i.max(j), i.min(j));
            let panel = &strips[col / STRIP][col % STRIP / PANEL];
            panel[row - first_row(col)][col % PANEL]
        };
        pool.chunks_mut(inverse.data_mut(), n, |i, row| {
            row.iter_mut().enumerate().for_each(|(j, value)| *value = entry(i, j));
        });
        Ok(inverse)
    }

    /// The factor as `accumulate` wants its few points, [`ROWS`] rows of `S` at a time, column by column: `S = L` below the
    /// diagonal blocks and `L'` above.
    fn packed(&self, pool: &Pool) -> Result<Matrix> {
        let n = self.size();
        let mut packed = room(n.next_multiple_of(ROWS), n)?;
        pool.chunks_mut(packed.data_mut(), ROWS * n, |group, packed| {
            for (k, packed) in packed.chunks_exact_mut(ROWS).enumerate() {
                for (i, value) in (group * ROWS..n).zip(packed) {
                    *value = self.lower.get(i.max(k), i.min(k));
                }
            }
        });
        Ok(packed)
    }
}

fn stopped() -> Error {
    Error::Stopped("stopped while a matrix was factored".into())
}

/// Takes the products of all columns to the left off the columns `cols`, on and below the diagonal block.
fn update(matrix: &mut Matrix, left: &[f64], cols: std::ops::Range<usize>, pool: &Pool) {
    let (n, depth, width) = (matrix.n_rows(), cols.start, cols.len());
    if depth == 0 {
        return;
    }
    let mut panels = vec![0.0; width.next_multiple_of(PANEL) * depth];
    for (c, i) in cols.clone().enumerate() {
        let panel = &mut panels[c / PANEL * PANEL * depth..];
        for (k, &value) in matrix.row(i)[..depth].iter().enumerate() {
            panel[k * PANEL + c % PANEL] = value;
        }
    }
    pool.chunks_mut(&mut matrix.data_mut()[depth * n..], ROWS * n, |group, rows| {
        let few = &left[(depth / ROWS + group) * ROWS * n..][..ROWS * depth];
        let mut products = [0.0; ROWS * BLOCK];
        // One panel after the other, while the few points stay in the cache.
        for (panel, first) in panels.chunks_exact(PANEL * depth).zip((0..width).step_by(PANEL)) {
            let here = PANEL.min(width - first);
            let count = rows.len() / n;
            accumulate(Accumulate::Product, few, panel, here, &mut products[..count * here]);
            for (row, products) in rows.chunks_exact_mut(n).zip(products.chunks_exact(here)) {
                let row = &mut row[depth + first..depth + first + here];
                row.iter_mut().zip(products).for_each(|(value, product)| *value -= product);
            }
        }
    });
}

/// Factors a diagonal block.
fn factor(matrix: &mut Matrix, cols: std::ops::Range<usize>, least: &[f64]) -> Result<()> {
    for i in cols.clone() {
        for j in cols.start..=i {
            let rest = matrix.get(i, j) - dot(&matrix.row(i)[cols.start..j], &matrix.row(j)[cols.start..j]);
            if i > j {
                matrix.set(i, j, rest / matrix.get(j, j));
                continue;
            }
            // Also where it is not a number.
            if !(rest > least[i] && rest.is_finite()) {
                return Err(Error::NotDefinite { row: i, pivot: rest });
            }
            matrix.set(i, i, rest.sqrt());
        }
    }
    Ok(())
}

/// Divides the columns `cols` below their diagonal block by it, and keeps them in `left` too.
fn divide(matrix: &mut Matrix, left: &mut [f64], cols: std::ops::Range<usize>, pool: &Pool) {
    let (n, width) = (matrix.n_rows(), cols.len());
    let block = Block::new(matrix, cols.start);
    let below = cols.end * n;
    if below == n * n {
        return;
    }
    let rows = matrix.data_mut()[below..].chunks_mut(PANEL * n);
    pool.each(rows.zip(left[below..].chunks_mut(PANEL * n)).collect(), |(rows, left)| {
        let mut panel = vec![[0.0; PANEL]; width];
        for (r, row) in rows.chunks_exact(n).enumerate() {
            panel.iter_mut().zip(&row[cols.clone()]).for_each(|(line, &value)| line[r] = value);
        }
        solve_lower(&block.rows, &mut panel);
        for (r, row) in rows.chunks_exact_mut(n).enumerate() {
            row[cols.clone()].iter_mut().zip(&panel).for_each(|(value, line)| *value = line[r]);
        }
        for (g, left) in left.chunks_exact_mut(ROWS * n).enumerate() {
            for (left, line) in left[ROWS * cols.start..].chunks_exact_mut(ROWS).zip(&panel) {
                left.copy_from_slice(&line[g * ROWS..(g + 1) * ROWS]);
            }
        }
    });
}

/// A diagonal block of the factor, row by row and column by column.
struct Block {
    start: usize,
    size: usize,
    rows: Vec<f64>,
    columns: Vec<f64>,
}

impl Block {
    fn new(lower: &Matrix, start: usize) -> Block {
        let size = BLOCK.min(lower.n_rows() - start);
        let of = |at: &dyn Fn(usize, usize) -> f64| {
            (0..size * size).map(|e| at(start + e / size, start + e % size)).collect::<Vec<f64>>()
        };
        Block { start, size, rows: of(&|i, j| lower.get(i, j)), columns: of(&|i, j| lower.get(j, i)) }
    }
}

/// The row a panel of the inverse with this column begins at: that of its diagonal block.
fn first_row(col: usize) -> usize {
    col / BLOCK * BLOCK
}

/// The columns of the inverse from `strip` on, as panels of rows from [`first_row`] on: unit vectors, divided by L, then by L'.
fn columns(strip: usize, packed: &[f64], blocks: &[Block], n: usize) -> Vec<Vec<[f64; PANEL]>> {
    let first = first_row(strip);
    let starts = (strip..(strip + STRIP).min(n)).step_by(PANEL);
    let mut panels: Vec<Vec<[f64; PANEL]>> = starts
        .map(|col| {
            let mut panel = vec![[0.0; PANEL]; n - first];
            (col..(col + PANEL).min(n)).for_each(|j| panel[j - first][j - col] = 1.0);
            panel
        })
        .collect();
    let blocks = &blocks[first / BLOCK..];
    for block in blocks {
        subtract(&mut panels, block, packed, n, first, first..block.start);
        let here = block.start - first..block.start - first + block.size;
        panels.iter_mut().for_each(|panel| solve_lower(&block.rows, &mut panel[here.clone()]));
    }
    for block in blocks.iter().rev() {
        subtract(&mut panels, block, packed, n, first, block.start + block.size..n);
        let here = block.start - first..block.start - first + block.size;
        panels.iter_mut().for_each(|panel| solve_transposed(&block.columns, &mut panel[here.clone()]));
    }
    panels
}

/// Takes the products of the block's rows of the packed factor with the lines `with` off the block's lines.
fn subtract(
    panels: &mut [Vec<[f64; PANEL]>],
    block: &Block,
    packed: &[f64],
    n: usize,
    first: usize,
    with: std::ops::Range<usize>,
) {
    if with.is_empty() {
        return;
    }
    for i in (block.start..block.start + block.size).step_by(ROWS) {
        let few = &packed[i * n + ROWS * with.start..i * n + ROWS * with.end];
        for panel in panels.iter_mut() {
            let mut products = [0.0; ROWS * PANEL];
            let lines = panel[with.start - first..with.end - first].as_flattened();
            accumulate(Accumulate::Product, few, lines, PANEL, &mut products);
            let open = panel[i - first..].iter_mut().take(ROWS.min(block.start + block.size - i));
            for (line, products) in open.zip(products.as_chunks::<PANEL>().0) {
                line.iter_mut().zip(products).for_each(|(x, product)| *x -= product);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;
    use crate::simd::check::bits;

    const SIZES: [usize; 14] = [0, 1, 2, 3, 15, 16, 17, 63, 64, 65, 100, 128, 150, 261];

    fn go_on() -> bool {
        false
    }

    /// `Z Z' / n + ridge`, what is above the diagonal spoilt: it must not be read.
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
        for n in SIZES {
            let half = definite(n, 0.1);
            let a = whole(&half);
            let factor = Cholesky::new(half, &pool, &go_on).unwrap();
            let identity = Matrix::from_fn(n, n, |i, j| f64::from(u8::from(i == j)));
            assert!(worst(&product(factor.lower(), &factor.lower().transposed()), &a) < 1e-13 * (n + 1) as f64, "{n}");
            let inverse = factor.inverse(&pool, &go_on).unwrap();
            assert!(worst(&product(&a, &inverse), &identity) < 1e-11 * (n + 1) as f64, "{n}");
            assert_eq!(inverse, inverse.transposed());
            let right = Matrix::from_fn(n, 3, |i, j| ((7 * i + 3 * j) % 11) as f64 - 5.0);
            let solved = factor.solve(&right).unwrap();
            assert!(worst(&product(&a, &solved), &right) < 1e-11 * (n + 1) as f64, "{n}");
        }
    }

    /// By elimination with the largest pivot of each column.
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
                axpy(-factor, &above[c], &mut below[0]);
            }
        }
        log
    }

    #[test]
    fn log_determinant_is_that_of_elimination() {
        let pool = Pool::new(1).unwrap();
        for n in SIZES {
            let half = definite(n, 1e-3);
            let expected = log_determinant(&whole(&half));
            let found = Cholesky::new(half, &pool, &go_on).unwrap().log_determinant();
            assert!((found - expected).abs() < 1e-10 * (1.0 + expected.abs()), "{n}: {found} for {expected}");
        }
    }

    /// That they are for any instruction set is tested where the loops are.
    #[test]
    fn bits_are_the_same_for_any_number_of_threads() {
        for n in [5, 64, 100, 261] {
            let run = |threads: usize| {
                let pool = Pool::new(threads).unwrap();
                let factor = Cholesky::new(definite(n, 0.1), &pool, &go_on).unwrap();
                let inverse = factor.inverse(&pool, &go_on).unwrap();
                [bits(factor.lower().data()), bits(inverse.data()), bits(&[factor.log_determinant()])]
            };
            let one = run(1);
            assert_eq!(run(2), one);
            assert_eq!(run(3), one);
        }
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
