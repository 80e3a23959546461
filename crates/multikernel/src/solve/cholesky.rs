//! Symmetric positive definite matrices: factor, determinant, systems, inverse.
//!
//! Matrices are cut into panels of 24 rows, and everything but squares of eight on the diagonal is sums of products as long as
//! possible, computed in registers (`simd::sums`). Every sum has a fixed order, and work is cut by the shape alone: the same
//! bits for any number of threads and any instruction set.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::simd::{FEW, Lines, WIDE, backward, divide, factor, forward, ln, sums};
use crate::solve::panels::{Panels, symmetric};

/// `A = L L'` of a symmetric positive definite matrix.
///
/// Memory: 1.5 n^2 numbers, and as much for an inverse. The same bits for any number of threads.
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
    lower: Matrix,
    /// The same in panels of rows, column by column.
    panels: Panels,
    /// One over the diagonal.
    inverses: Vec<f64>,
}

impl PartialEq for Cholesky {
    fn eq(&self, other: &Self) -> bool {
        // The rest follows from it.
        self.lower == other.lower
    }
}

impl Cholesky {
    /// Factors an n x n matrix in place; only what is on and below its diagonal is read. `stop` is asked now and then.
    /// Cost: n^3 / 3 operations.
    ///
    /// # Errors
    /// [`Error::NotDefinite`] where a pivot is not above n roundings of its diagonal entry, [`Error::Stopped`] where `stop`
    /// said so, and a matrix that is not square or leaves no memory for half as much again.
    pub fn new(mut matrix: Matrix, pool: &Pool, stop: &(dyn Fn() -> bool + Sync)) -> Result<Cholesky> {
        let n = matrix.n_rows();
        if matrix.n_cols() != n {
            let cols = matrix.n_cols();
            return Err(Error::input(format!("only square matrices have a Cholesky factor, got {n} x {cols}")));
        }
        let mut panels = Panels::of_lower(&matrix, pool)?;
        let mut least: Vec<f64> = (0..n).map(|i| n as f64 * f64::EPSILON * matrix.get(i, i).abs()).collect();
        least.resize(panels.size(), 0.0);
        let mut inverses = vec![0.0; panels.size()];
        for p in 0..panels.count() {
            if stop() {
                return Err(stopped());
            }
            let (first, width) = (p * WIDE, panels.width(p));
            factor_panel(panels.panel_mut(p), width, first, &least, &mut inverses)?;
            panels.each_after(p, 2 * first * WIDE, pool, |own, panel, lanes| {
                divide_panel(own, panel, lanes, first, &inverses[first..first + width]);
            });
        }
        panels.write_lower(&mut matrix, pool);
        Ok(Cholesky { lower: matrix, panels, inverses })
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
        let (n, mut sides) = (self.size(), self.forward(right)?);
        for first in (0..n).step_by(FEW).rev() {
            let end = (first + FEW).min(n);
            let rows = Lines::new(&self.lower.data()[first * n..], n);
            for x in sides.chunks_exact_mut(self.panels.size()) {
                backward(&mut x[..end], rows, &self.inverses[first..end]);
            }
        }
        Ok(self.columns(&sides, right.n_cols()))
    }

    /// `L^-1 B` for B of n x c: its squared length is that of B in the metric of `A^-1`. Cost: n^2 c operations on the calling
    /// thread.
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

    /// `L^-1 B`, one right-hand side after the other, each with zeros up to the size of the panels.
    fn forward(&self, right: &Matrix) -> Result<Vec<f64>> {
        let (n, c, size) = (self.size(), right.n_cols(), self.panels.size());
        if right.n_rows() != n {
            return Err(Error::input(format!("right-hand sides have {} rows, the factor {n}", right.n_rows())));
        }
        let mut sides = vec![0.0; c * size];
        for (i, row) in right.rows().enumerate() {
            row.iter().zip(sides.chunks_exact_mut(size)).for_each(|(&value, side)| side[i] = value);
        }
        // What is solved so far, the right-hand sides of a row side by side.
        let mut solved = vec![0.0; n * c];
        let mut tile = [[0.0; WIDE]; FEW];
        for (p, first) in (0..n).step_by(WIDE).enumerate() {
            let (lines, rows) = (self.panels.lines(p), first..first + self.panels.width(p));
            let mut side = 0;
            while side < c {
                // As many at once as are left: 8, 4, 2 or 1.
                let count = 1 << (c - side).min(FEW).ilog2();
                sums(Lines::new(&solved, c).skip(0, side), count, lines, rows.len(), first, &mut tile);
                for (side, sums) in (side..).zip(&tile[..count]) {
                    let x = &mut sides[side * size..][rows.clone()];
                    forward(x, sums, lines.skip(first, 0), &self.inverses[rows.clone()]);
                    x.iter().zip(first..n).for_each(|(&x, i)| solved[i * c + side] = x);
                }
                side += count;
            }
        }
        Ok(sides)
    }

    /// Right-hand sides, one after the other, as the columns of a matrix.
    fn columns(&self, sides: &[f64], count: usize) -> Matrix {
        Matrix::from_fn(self.size(), count, |i, side| sides[side * self.panels.size() + i])
    }

    /// `L z`: a draw from the normal distribution with covariance A, if z is one of independent standard normals. Cost: n^2
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
    /// If z is not as long as the factor has rows.
    pub fn multiply_lower(&self, z: &[f64]) -> Vec<f64> {
        let n = self.size();
        assert_eq!(z.len(), n, "the factor has {n} rows");
        let mut out = vec![0.0; n];
        let mut tile = [[0.0; WIDE]; FEW];
        for (p, out) in out.chunks_mut(WIDE).enumerate() {
            let depth = p * WIDE + out.len();
            sums(Lines::new(z, 1), 1, self.panels.lines(p), self.panels.width(p), depth, &mut tile);
            out.copy_from_slice(&tile[0][..out.len()]);
        }
        out
    }

    /// `A^-1`, symmetric to the last bit. Cost: 2 n^3 / 3 operations. `stop` is asked now and then: [`Error::Stopped`].
    pub fn inverse(&self, pool: &Pool, stop: &(dyn Fn() -> bool + Sync)) -> Result<Matrix> {
        let (n, size) = (self.size(), self.panels.size());
        let halted = AtomicBool::new(false);
        // The inverse of the factor in panels of columns, each from its diagonal on.
        let mut half = Panels::zeros(n, |columns| size - columns.start)?;
        half.each(pool, n.pow(3) / 3, |columns, panel| {
            if stop() {
                return halted.store(true, Ordering::Relaxed);
            }
            self.invert_panel(columns.start, columns.len(), panel);
        });
        if halted.into_inner() || stop() {
            return Err(stopped());
        }
        symmetric(n, n.pow(3) / 3, pool, |row, panel, width, tile| {
            let few = half.lines(row / WIDE).skip(row % WIDE, row % WIDE);
            sums(few, FEW, half.lines(panel).skip(row - panel * WIDE, 0), width, size - row, tile);
        })
    }

    /// Some columns of `L^-1`, from the row with the number of the first on: those of the identity, divided by L.
    fn invert_panel(&self, first: usize, width: usize, panel: &mut [f64]) {
        let mut tile = [[0.0; WIDE]; FEW];
        (0..width).for_each(|c| panel[c * width + c] = 1.0);
        for row in (first..self.panels.size()).step_by(FEW) {
            let few = self.panels.lines(row / WIDE).skip(0, row % WIDE);
            let (done, open) = panel.split_at_mut((row - first) * width);
            sums(few.skip(first, 0), FEW, Lines::new(done, width), width, row - first, &mut tile);
            divide(open, width, width, &tile, few.skip(row, 0), &self.inverses[row..]);
        }
    }
}

fn stopped() -> Error {
    Error::Stopped("stopped while a matrix was factored".into())
}

/// Factors the diagonal block of a panel, all columns to the left of which are done.
fn factor_panel(panel: &mut [f64], width: usize, first: usize, least: &[f64], inverses: &mut [f64]) -> Result<()> {
    let mut tile = [[0.0; WIDE]; FEW];
    for lane in (0..width).step_by(FEW) {
        let row = first + lane;
        let (done, open) = panel.split_at_mut(row * width);
        let lines = Lines::new(done, width).skip(0, lane);
        sums(lines, FEW, lines, width - lane, row, &mut tile);
        let open = &mut open[lane..];
        factor(open, width, &tile, &least[row..], &mut inverses[row..])
            .map_err(|(r, pivot)| Error::NotDefinite { row: row + r, pivot })?;
        // The rest of the panel is divided by the block that was just factored: a copy, because both lie in the same lines.
        if lane + FEW < width {
            let block: [[f64; FEW]; FEW] = std::array::from_fn(|c| std::array::from_fn(|r| open[c * width + r]));
            tile.iter_mut().for_each(|line| line.rotate_left(FEW));
            let block = Lines::new(block.as_flattened(), FEW);
            divide(&mut open[FEW..], width, width - lane - FEW, &tile, block, &inverses[row..]);
        }
    }
    Ok(())
}

/// Divides the columns from `first` on of a panel of `lanes` rows by the diagonal block of the panel they belong to, as many as
/// there are inverses.
fn divide_panel(own: Lines<'_>, panel: &mut [f64], lanes: usize, first: usize, inverses: &[f64]) {
    let mut tile = [[0.0; WIDE]; FEW];
    for lane in (0..inverses.len()).step_by(FEW) {
        let row = first + lane;
        let (done, open) = panel.split_at_mut(row * lanes);
        sums(own.skip(0, lane), FEW, Lines::new(done, lanes), lanes, row, &mut tile);
        divide(open, lanes, lanes, &tile, own.skip(row, lane), &inverses[lane..]);
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
                below[0].iter_mut().zip(&above[c]).for_each(|(x, y)| *x -= factor * y);
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
