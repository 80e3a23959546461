//! Products of dense matrices.
//!
//! Every entry is one sum of fused products in the order of the inner index: the same bits for any number of threads
//! and any instruction set.

use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::simd::{NARROW, WIDE, sums};
use crate::solve::panels::{Half, Panels, room, share, symmetric, together};

/// `A B` for A of m x k and B of k x n.
///
/// For products that are not symmetric; `H diag(d) H'` costs half as much with [`scaled_square`]. Cost: 2 m k n
/// operations. Memory: the result, plus as much as A and B take.
///
/// ```
/// use multikernel::{Matrix, Pool, solve::product::product};
/// let a = Matrix::from_vec(1, 2, vec![1.0, 2.0])?;
/// let b = Matrix::from_vec(2, 2, vec![3.0, 4.0, 5.0, 6.0])?;
/// assert_eq!(product(&a, &b, &Pool::new(1)?)?.data(), &[13.0, 16.0]);
/// # Ok::<(), multikernel::Error>(())
/// ```
///
/// # Errors
/// Mismatched shapes, and too little memory for the result.
pub fn product(a: &Matrix, b: &Matrix, pool: &Pool) -> Result<Matrix> {
    let [m, k, l, n] = [a.n_rows(), a.n_cols(), b.n_rows(), b.n_cols()];
    if k != l {
        return Err(Error::input(format!("a matrix of {m} x {k} cannot be multiplied by one of {l} x {n}")));
    }
    let (rows, columns) = (Panels::of_rows(a, pool)?, Panels::of_columns(b, pool)?);
    let mut out = room(m, n)?;
    let step = together(m.max(n).max(k)) * WIDE;
    let part = |(part, out): (usize, &mut [f64])| {
        let mut tile = [[0.0; WIDE]; NARROW];
        for q in 0..columns.count() {
            let here = q * WIDE..(q * WIDE + WIDE).min(n);
            for (row, out) in (part * step..).step_by(NARROW).zip(out.chunks_mut(NARROW * n)) {
                let few = rows.lines(row / WIDE).skip(0, row % WIDE);
                sums(few, NARROW, columns.lines(q), columns.width(q), k, &mut tile);
                let lines = out.chunks_exact_mut(n).zip(&tile);
                lines.for_each(|(out, line)| out[here.clone()].copy_from_slice(&line[..here.len()]));
            }
        }
    };
    share(pool, 2 * m * k * n, out.data_mut().chunks_mut((step * n).max(1)).enumerate(), part);
    Ok(out)
}

/// `H diag(d) H'` for H of n x k and d of length k: symmetric to the last bit.
///
/// For covariances given by a factor; only one half is computed. Cost: n^2 k operations. Memory: the result, plus twice
/// as much as H takes. `stop` is polled now and then.
///
/// ```
/// use multikernel::{Matrix, Pool, solve::product::scaled_square};
/// let h = Matrix::from_vec(2, 2, vec![1.0, 2.0, 0.0, 1.0])?;
/// assert_eq!(scaled_square(&h, &[1.0, 10.0], &Pool::new(1)?, &|| false)?.data(), &[41.0, 20.0, 20.0, 10.0]);
/// # Ok::<(), multikernel::Error>(())
/// ```
///
/// # Errors
/// A diagonal whose length differs from the number of columns of H, too little memory for the result, and
/// [`Error::Stopped`] if `stop` returned true.
pub fn scaled_square(h: &Matrix, d: &[f64], pool: &Pool, stop: &(dyn Fn() -> bool + Sync)) -> Result<Matrix> {
    let (n, k) = (h.n_rows(), h.n_cols());
    if d.len() != k {
        return Err(Error::input(format!("a matrix of {n} x {k} needs a diagonal of {k} numbers, got {}", d.len())));
    }
    let plain = Panels::of_rows(h, pool)?;
    let scaled = plain.scaled(d, pool)?;
    symmetric(n, Half::Both, n * n * k, pool, stop, |row, panel, width, tile| {
        let few = scaled.lines(row / WIDE).skip(0, row % WIDE);
        sums(few, NARROW, plain.lines(panel), width, k, tile);
    })
}

/// `L' A L` for a lower triangle L, zeros above its diagonal, and a symmetric A: symmetric to the last bit.
///
/// Zeros of L and what is known from the other half are left out. Cost: n^3 operations, where two products take 4 n^3.
/// Memory: the result, plus four times as much. `stop` is polled now and then.
///
/// # Errors
/// Too little memory, and [`Error::Stopped`] if `stop` returned true.
pub(crate) fn congruence(lower: &Matrix, a: &Matrix, pool: &Pool, stop: &(dyn Fn() -> bool + Sync)) -> Result<Matrix> {
    let n = lower.n_rows();
    let (columns, rows) = (Panels::of_columns(lower, pool)?, Panels::of_rows(a, pool)?);
    // Column i of L begins in row i, so of A L only what lies on and below the diagonal is asked for.
    let right = symmetric(n, Half::Lower, 2 * n * n * n / 3, pool, stop, |row, panel, width, tile| {
        let first = panel * WIDE;
        let few = rows.lines(row / WIDE).skip(first, row % WIDE);
        sums(few, NARROW, columns.lines(panel).skip(first, 0), width, n - first, tile);
    })?;
    let right = Panels::of_columns(&right, pool)?;
    symmetric(n, Half::Both, n * n * n / 3, pool, stop, |row, panel, width, tile| {
        let few = columns.lines(row / WIDE).skip(row, row % WIDE);
        sums(few, NARROW, right.lines(panel).skip(row, 0), width, n - row, tile);
    })
}

/// The rows of a matrix in the order in which products read them: for repeated calls of [`Cholesky::of_square`].
///
/// [`Cholesky::of_square`]: crate::solve::cholesky::Cholesky::of_square
pub(crate) struct PackedRows {
    pub(super) n: usize,
    pub(super) k: usize,
    pub(super) panels: Panels,
}

impl PackedRows {
    /// Copies a matrix.
    pub(crate) fn new(matrix: &Matrix, pool: &Pool) -> Result<PackedRows> {
        Ok(PackedRows { n: matrix.n_rows(), k: matrix.n_cols(), panels: Panels::of_rows(matrix, pool)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;
    use crate::simd::at_every_level;
    use crate::simd::check::{bits, uniform};

    fn random(n_rows: usize, n_cols: usize) -> Matrix {
        let mut rng = Rng::new(n_rows as u64, n_cols as u64);
        Matrix::from_vec(n_rows, n_cols, uniform(&mut rng, n_rows * n_cols)).unwrap()
    }

    /// Entry by entry, in the order of the inner index.
    fn plain(a: &Matrix, b: &Matrix) -> Matrix {
        let entry = |i: usize, j: usize| (0..b.n_rows()).fold(0.0, |sum, k| a.get(i, k).mul_add(b.get(k, j), sum));
        Matrix::from_fn(a.n_rows(), b.n_cols(), entry)
    }

    /// Every side up to `most`, and some larger shapes.
    fn shapes(most: usize) -> Vec<[usize; 3]> {
        let sides = (0..=most).map(|n| [n, (7 * n) % 31, (n * n) % (most + 1)]);
        sides.chain([[144, 144, 144], [200, 3, 333], [1, 700, 1], [333, 200, 1], [5, 0, 7]]).collect()
    }

    #[test]
    fn product_is_the_sum_in_order_for_any_shape_and_threads_at_every_level() {
        let pools = [1, 3].map(|threads| Pool::new(threads).unwrap());
        for [m, k, n] in shapes(70) {
            let (a, b) = (random(m, k), random(k, n));
            let expected = plain(&a, &b);
            let found = at_every_level(|| bits(product(&a, &b, &pools[0]).unwrap().data()));
            assert_eq!(found, bits(expected.data()), "{m} x {k} x {n}");
            let found = product(&a, &b, &pools[1]).unwrap();
            assert_eq!((found.n_rows(), found.n_cols(), bits(found.data())), (m, n, bits(expected.data())));
        }
    }

    #[test]
    fn scaled_square_is_the_product_of_three_for_any_shape_and_threads_at_every_level() {
        let pools = [1, 3].map(|threads| Pool::new(threads).unwrap());
        for n in (0..=70).chain([144, 200, 333]) {
            let (h, d) = (random(n, n + n % 3), uniform(&mut Rng::new(1, 0), n + n % 3));
            let scaled = Matrix::from_fn(h.n_rows(), h.n_cols(), |i, k| h.get(i, k) * d[k]);
            let half = plain(&scaled, &h.transposed());
            let expected = Matrix::from_fn(n, n, |i, j| half.get(i.max(j), i.min(j)));
            let found = at_every_level(|| bits(scaled_square(&h, &d, &pools[0], &|| false).unwrap().data()));
            assert_eq!(found, bits(expected.data()), "{n}");
            assert_eq!(bits(scaled_square(&h, &d, &pools[1], &|| false).unwrap().data()), found);
        }
    }

    #[test]
    fn congruence_is_the_product_of_three_for_any_size_and_threads_at_every_level() {
        let pools = [1, 3].map(|threads| Pool::new(threads).unwrap());
        for n in (0..=70).chain([144, 200, 333]) {
            let (some, any) = (random(n, n), random(n, n));
            let lower = Matrix::from_fn(n, n, |i, j| if j <= i { some.get(i, j) } else { 0.0 });
            let a = Matrix::from_fn(n, n, |i, j| any.get(i.max(j), i.min(j)));
            let half = plain(&lower.transposed(), &plain(&a, &lower));
            let expected = Matrix::from_fn(n, n, |i, j| half.get(i.max(j), i.min(j)));
            let found = at_every_level(|| bits(congruence(&lower, &a, &pools[0], &|| false).unwrap().data()));
            assert_eq!(found, bits(expected.data()), "{n}");
            assert_eq!(bits(congruence(&lower, &a, &pools[1], &|| false).unwrap().data()), found);
        }
    }

    #[test]
    fn shapes_that_do_not_fit_are_refused() {
        let pool = Pool::new(1).unwrap();
        let error = product(&random(2, 3), &random(4, 5), &pool).unwrap_err();
        assert_eq!(error.to_string(), "a matrix of 2 x 3 cannot be multiplied by one of 4 x 5");
        let error = scaled_square(&random(2, 3), &[1.0; 2], &pool, &|| false).unwrap_err();
        assert_eq!(error.to_string(), "a matrix of 2 x 3 needs a diagonal of 3 numbers, got 2");
        let error = scaled_square(&random(20, 3), &[1.0; 3], &pool, &|| true).unwrap_err();
        assert!(matches!(error, Error::Stopped(_)));
    }
}
