//! Eigenvectors of symmetric matrices: all of a small matrix, the leading ones of a large one.

use crate::error::{Error, Result};
use crate::linalg::{Matrix, axpy, dot};
use crate::pool::Pool;
use crate::simd::Real;

/// Eigenvalues in descending order, with their eigenvectors: orthonormal, one per row.
#[derive(Clone, Debug)]
pub struct Eigen {
    /// The eigenvalues.
    pub values: Vec<f64>,
    /// The eigenvector of each.
    pub vectors: Matrix,
}

impl Eigen {
    /// Keeps the first `count` of them.
    fn first(self, count: usize) -> Eigen {
        let rows: Vec<usize> = (0..count.min(self.values.len())).collect();
        Eigen { values: rows.iter().map(|&k| self.values[k]).collect(), vectors: self.vectors.select_rows(&rows) }
    }
}

/// Sweeps of rotations after which a matrix is as diagonal as it gets: convergence is quadratic, six to ten are usual.
const SWEEPS: usize = 40;

/// All eigenvectors of a symmetric matrix by Jacobi rotations; only the upper triangle, including the diagonal, is
/// read.
///
/// For small matrices, a few hundred rows at most: about 60 n^3 operations on one thread. Accurate to rounding, even
/// for equal eigenvalues.
///
/// ```
/// use multikernel::{Matrix, solve::eigen::jacobi};
/// let eigen = jacobi(Matrix::from_vec(2, 2, vec![2.0, 1.0, 1.0, 2.0])?);
/// assert!((eigen.values[0] - 3.0).abs() < 1e-15 && (eigen.values[1] - 1.0).abs() < 1e-15);
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn jacobi(mut matrix: Matrix) -> Eigen {
    let n = matrix.n_rows();
    let mut vectors = Matrix::from_fn(n, n, |i, j| f64::from(u8::from(i == j)));
    for i in 0..n {
        (0..i).for_each(|j| matrix.set(i, j, matrix.get(j, i)));
    }
    for _ in 0..SWEEPS {
        let off: f64 = (0..n).map(|i| dot(&matrix.row(i)[i + 1..], &matrix.row(i)[i + 1..])).sum();
        let diagonal: f64 = (0..n).map(|i| matrix.get(i, i).powi(2)).sum();
        // The remainder changes no eigenvalue by more than its square, and no vector by more than rounding.
        if off <= f64::EPSILON.powi(2) * diagonal {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                rotate(&mut matrix, &mut vectors, p, q);
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| matrix.get(b, b).total_cmp(&matrix.get(a, a)));
    Eigen { values: order.iter().map(|&k| matrix.get(k, k)).collect(), vectors: vectors.select_rows(&order) }
}

/// Rotates rows and columns p and q so that the entry between them becomes zero.
fn rotate(matrix: &mut Matrix, vectors: &mut Matrix, p: usize, q: usize) {
    let (between, low, high) = (matrix.get(p, q), matrix.get(p, p), matrix.get(q, q));
    if between == 0.0 {
        return;
    }
    let theta = (high - low) / (2.0 * between);
    let tangent = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
    let sine = tangent * cosine;
    turn_rows(matrix, p, q, cosine, sine);
    for i in 0..matrix.n_rows() {
        let row = matrix.row_mut(i);
        (row[p], row[q]) = (cosine * row[p] - sine * row[q], sine * row[p] + cosine * row[q]);
    }
    matrix.set(p, q, 0.0);
    matrix.set(q, p, 0.0);
    turn_rows(vectors, p, q, cosine, sine);
}

fn turn_rows(matrix: &mut Matrix, p: usize, q: usize, cosine: f64, sine: f64) {
    let n = matrix.n_cols();
    let (above, below) = matrix.data_mut().split_at_mut(q * n);
    for (x, y) in above[p * n..(p + 1) * n].iter_mut().zip(&mut below[..n]) {
        (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y);
    }
}

/// Matrices of up to this many rows are decomposed fully.
const SMALL: usize = 64;
/// Target size of a basis: more powers of the matrix for few vectors, at least two for many.
const BASIS: usize = 120;
/// Maximum number of restarts of the basis from the best vectors found.
const CYCLES: usize = 20;
/// Allowed residual of an eigenvector, as a fraction of the largest eigenvalue.
const RESIDUAL: f64 = 1e-9;
/// If less than this fraction of a vector's length remains, it is rounding.
const DEPENDENT: f64 = 1e-10;

/// The leading eigenvectors of a symmetric matrix: those of the algebraically largest eigenvalues.
///
/// For matrices of thousands of rows of which few eigenvectors are needed. A basis of powers of the matrix times a
/// block of vectors (block Lanczos with full orthogonalisation) is restarted from the best vectors found, until the
/// first `count` are eigenvectors to 1e-9 of the largest eigenvalue, or 20 times: eigenvalues nearly equal to those
/// left out are not resolved. The sum of the first `count` Rayleigh quotients is never below that of the starting
/// vectors.
///
/// `start` is the initial block, one vector per row, at least `count` of them and some more for speed; any non-zero
/// vectors will do, and those of a similar matrix save time. As many are returned. Cost: two to four products with the
/// matrix per vector and cycle. The same bits for any number of threads.
///
/// ```
/// use multikernel::{Matrix, Pool, solve::eigen::leading};
/// let diagonal = Matrix::from_fn(100, 100, |i, j| if i == j { i as f64 } else { 0.0 });
/// let start = Matrix::from_fn(6, 100, |i, j| ((i * j) % 7) as f64 - 3.0 + 0.01 * (i + j) as f64);
/// let found = leading(&diagonal, 2, &start, &Pool::new(1)?, &|| false)?;
/// assert!((found.values[0] - 99.0).abs() < 1e-9 && (found.values[1] - 98.0).abs() < 1e-9);
/// # Ok::<(), multikernel::Error>(())
/// ```
///
/// # Errors
/// A matrix that is not square, a start of the wrong length or with too few vectors, and [`Error::Stopped`] if `stop`
/// returned true.
pub fn leading(
    matrix: &Matrix,
    count: usize,
    start: &Matrix,
    pool: &Pool,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Eigen> {
    let (n, width) = (matrix.n_rows(), start.n_rows());
    if matrix.n_cols() != n || start.n_cols() != n || width < count || width > n {
        return Err(Error::input(format!(
            "{count} eigenvectors of a matrix of {n} x {} from {width} vectors of {} numbers: give a square matrix, and from \
             {count} to {n} vectors of {n} numbers",
            matrix.n_cols(),
            start.n_cols()
        )));
    }
    if n <= SMALL {
        return Ok(jacobi(matrix.clone()).first(width));
    }
    let mut best = start.rows().map(<[f64]>::to_vec).collect::<Vec<_>>();
    let mut found = Eigen { values: vec![], vectors: Matrix::default() };
    for _ in 0..CYCLES {
        if stop() {
            return Err(Error::Stopped("stopped while eigenvectors were computed".into()));
        }
        let (next, residual) = cycle(matrix, count, best, width, pool)?;
        found = next;
        let largest = found.values.iter().fold(0.0f64, |most, value| most.max(value.abs()));
        if residual <= RESIDUAL * largest {
            break;
        }
        best = found.vectors.rows().map(<[f64]>::to_vec).collect();
    }
    Ok(found)
}

/// The best vectors of the basis that starts with a block, and the residual of the first `count`.
fn cycle(matrix: &Matrix, count: usize, block: Vec<Vec<f64>>, width: usize, pool: &Pool) -> Result<(Eigen, f64)> {
    let (mut basis, mut images) = (vec![], vec![]);
    let mut block = orthonormal(block, &basis);
    // An incomplete block is filled up, so there are always as many vectors as requested.
    for i in 0..matrix.n_rows() {
        if block.len() == width {
            break;
        }
        let unit = (0..matrix.n_rows()).map(|j| f64::from(u8::from(i == j))).collect();
        block.extend(orthonormal(vec![unit], &block));
    }
    for _ in 0..(BASIS / width).clamp(2, 4) {
        let next = products(matrix, &block, pool);
        basis.append(&mut block);
        block = orthonormal(next.clone(), &basis);
        images.extend(next);
        if block.is_empty() {
            break;
        }
    }
    let small = jacobi(Matrix::from_fn(basis.len(), basis.len(), |i, j| dot(&basis[i], &images[j]))).first(width);
    let mixed = |vectors: &[Vec<f64>], k: usize| {
        let mut sum = vec![0.0; matrix.n_rows()];
        vectors.iter().zip(small.vectors.row(k)).for_each(|(vector, &weight)| axpy(weight, vector, &mut sum));
        sum
    };
    let residual = |k: usize| {
        let (vector, mut image) = (mixed(&basis, k), mixed(&images, k));
        axpy(-small.values[k], &vector, &mut image);
        dot(&image, &image).sqrt()
    };
    let worst = pool.map(count, residual).into_iter().fold(0.0, f64::max);
    let vectors = pool.map(width, |k| mixed(&basis, k)).concat();
    Ok((Eigen { vectors: Matrix::from_vec(width, matrix.n_rows(), vectors)?, values: small.values.clone() }, worst))
}

/// The matrix times each vector.
fn products(matrix: &Matrix, vectors: &[Vec<f64>], pool: &Pool) -> Vec<Vec<f64>> {
    /// Rows per task.
    const ROWS: usize = 32;
    let n = matrix.n_rows();
    let parts = pool.map(n.div_ceil(ROWS), |part| {
        let rows = part * ROWS..(part * ROWS + ROWS).min(n);
        let fours = rows.start + rows.len() / 4 * 4;
        let mut found = vec![vec![]; vectors.len()];
        // Four rows stay in the cache while all vectors are processed.
        for i in (rows.start..fours).step_by(4) {
            for (found, vector) in found.iter_mut().zip(vectors) {
                found.extend(f64::dot_four(std::array::from_fn(|k| matrix.row(i + k)), vector));
            }
        }
        for (found, vector) in found.iter_mut().zip(vectors) {
            found.extend((fours..rows.end).map(|i| f64::dot(matrix.row(i), vector)));
        }
        found
    });
    (0..vectors.len()).map(|k| parts.iter().flat_map(|part| part[k].iter().copied()).collect()).collect()
}

/// The vectors made orthogonal to an orthonormal basis and to one another; dependent ones are dropped.
fn orthonormal(vectors: Vec<Vec<f64>>, basis: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut found: Vec<Vec<f64>> = vec![];
    for mut vector in vectors {
        let length = dot(&vector, &vector).sqrt();
        // Twice is enough: the second round removes what rounding left of the others in the first.
        for _ in 0..2 {
            for other in basis.iter().chain(&found) {
                axpy(-dot(other, &vector), other, &mut vector);
            }
        }
        let left = dot(&vector, &vector).sqrt();
        if left.is_finite() && left > DEPENDENT * length {
            vector.iter_mut().for_each(|value| *value /= left);
            found.push(vector);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;

    fn uniform(n_rows: usize, n_cols: usize, seed: u64) -> Matrix {
        let mut rng = Rng::new(seed, 0);
        Matrix::from_fn(n_rows, n_cols, |_, _| rng.uniform() - 0.5)
    }

    /// An orthogonal matrix from reflections, and a symmetric one with these eigenvalues and the rows of the orthogonal
    /// one as eigenvectors.
    fn with_values(values: &[f64], seed: u64) -> (Matrix, Matrix) {
        let n = values.len();
        let rows = orthonormal(uniform(n, n, seed).rows().map(<[f64]>::to_vec).collect(), &[]);
        assert_eq!(rows.len(), n);
        let entry = |i: usize, j: usize| (0..n).map(|k| values[k] * rows[k][i] * rows[k][j]).sum::<f64>();
        (Matrix::from_fn(n, n, entry), Matrix::from_vec(n, n, rows.concat()).unwrap())
    }

    fn check(matrix: &Matrix, eigen: &Eigen, tolerance: f64) {
        for (k, vector) in eigen.vectors.rows().enumerate() {
            for (i, row) in matrix.rows().enumerate() {
                assert!((dot(row, vector) - eigen.values[k] * vector[i]).abs() < tolerance, "vector {k}");
            }
            for (l, other) in eigen.vectors.rows().enumerate() {
                assert!((dot(vector, other) - f64::from(u8::from(k == l))).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn jacobi_finds_all_eigenvectors() {
        for values in [vec![], vec![3.0], vec![5.0, 5.0, 2.0, 0.0, 0.0, -1.0], (0..40).map(f64::from).collect()] {
            let (matrix, _) = with_values(&values, 1);
            let eigen = jacobi(matrix.clone());
            let mut expected = values.clone();
            expected.sort_by(|a, b| b.total_cmp(a));
            assert!(eigen.values.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12), "{:?}", eigen.values);
            check(&matrix, &eigen, 1e-12);
        }
        assert_eq!(jacobi(Matrix::zeros(3, 3)).values, [0.0; 3]);
    }

    #[test]
    fn leading_finds_the_largest_whatever_the_rest_is() {
        let slow: Vec<f64> = (0..150).map(|k| 1.0 / f64::from(1 + k)).collect();
        let negative: Vec<f64> = (0..150).map(|k| if k < 5 { 3.0 - 0.1 * f64::from(k) } else { -4.0 }).collect();
        let equal: Vec<f64> = (0..150).map(|k| if k < 7 { 2.0 } else { 0.5 }).collect();
        let few: Vec<f64> = (0..150).map(|k| if k < 2 { 1.0 } else { 0.0 }).collect();
        for values in [slow, negative, equal, few] {
            let (matrix, _) = with_values(&values, 2);
            let pool = Pool::new(1).unwrap();
            let found = leading(&matrix, 4, &uniform(8, 150, 3), &pool, &|| false).unwrap();
            assert_eq!((found.values.len(), found.vectors.n_rows()), (8, 8));
            assert!(found.values.iter().zip(&values).take(4).all(|(a, b)| (a - b).abs() < 1e-10), "{:?}", found.values);
            let first = found.first(4);
            check(&matrix, &first, 1e-8);
        }
    }

    #[test]
    fn leading_of_a_matrix_of_zeros_is_orthonormal() {
        let found =
            leading(&Matrix::zeros(80, 80), 3, &Matrix::zeros(5, 80), &Pool::new(1).unwrap(), &|| false).unwrap();
        assert_eq!(found.values, [0.0; 5]);
        check(&Matrix::zeros(80, 80), &found, 1e-15);
    }

    #[test]
    fn leading_has_the_same_bits_on_any_number_of_threads() {
        let (matrix, _) = with_values(&(0..130).map(|k| 0.9f64.powi(k)).collect::<Vec<_>>(), 4);
        let run = |n_threads: usize| {
            let pool = Pool::new(n_threads).unwrap();
            leading(&matrix, 5, &uniform(9, 130, 5), &pool, &|| false).unwrap().vectors
        };
        let one = run(1);
        assert!([2, 4].iter().all(|&n_threads| run(n_threads) == one));
    }

    #[test]
    fn shapes_that_do_not_fit_are_refused() {
        let pool = Pool::new(1).unwrap();
        let text =
            |matrix: &Matrix, start: &Matrix| leading(matrix, 2, start, &pool, &|| false).unwrap_err().to_string();
        assert_eq!(
            text(&Matrix::zeros(4, 4), &Matrix::zeros(1, 4)),
            "2 eigenvectors of a matrix of 4 x 4 from 1 vectors of 4 numbers: give a square matrix, and from 2 to 4 vectors \
             of 4 numbers"
        );
        let stopped = leading(&Matrix::zeros(80, 80), 2, &Matrix::zeros(4, 80), &pool, &|| true);
        assert!(matches!(stopped, Err(Error::Stopped(_))));
    }
}
