//! Gram matrices given in place of features.

use std::sync::Arc;

use crate::error::{Error, Message, Result, message};
use crate::linalg::Matrix;
use crate::simd::{SIDE, dispatched, transpose};

/// The allowed asymmetry of a Gram matrix, relative to its largest entry: single-precision rounding.
const ASYMMETRY: f64 = 1e-6;

/// A given Gram matrix: the values of one kernel between row points and column points.
///
/// Kernels `precomputed(NAME)` read it. [`Gram::square`] holds the values among the training points, [`Gram::cross`]
/// those between new points and the training points. 8 bytes per entry, shared by all clones.
///
/// ```
/// use multikernel::{Matrix, data::Gram};
/// let gram = Gram::square("shape", Matrix::from_vec(2, 2, vec![4.0, 1.0, 1.0, 1.0])?)?;
/// assert_eq!((gram.n_rows(), gram.diagonal()), (2, &[4.0, 1.0][..]));
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Gram {
    name: Arc<str>,
    values: Arc<Matrix>,
    /// k(x, x) of the row points; empty if not given.
    rows: Arc<[f64]>,
    /// k(y, y) of the column points.
    cols: Arc<[f64]>,
}

impl Gram {
    /// The kernel among points: n x n, finite, symmetric (up to single-precision rounding, which is averaged out) and
    /// with no negative number on the diagonal.
    pub fn square(name: &str, mut values: Matrix) -> Result<Gram> {
        let n = values.n_rows();
        if values.n_cols() != n {
            return Err(refuse(name, format!("is {n} x {}; it must be square", values.n_cols())));
        }
        if !is_fine(values.data(), n) {
            check_finite(name, &values)?;
            average(name, &mut values)?;
        }
        let diagonal: Arc<[f64]> = (0..n).map(|i| values.get(i, i)).collect();
        check_diagonal(name, &diagonal)?;
        Ok(Gram { name: name.into(), values: Arc::new(values), rows: diagonal.clone(), cols: diagonal })
    }

    /// The kernel between new points (rows) and all training points (columns, in the order of the training data).
    /// `diagonal` is k(x, x) of the new points, needed by kernels that are not `raw`; `trained` is that of the training
    /// points.
    pub fn cross(name: &str, values: Matrix, diagonal: Option<Vec<f64>>, trained: &[f64]) -> Result<Gram> {
        let (n, n_trained) = (values.n_rows(), trained.len());
        if values.n_cols() != n_trained {
            return Err(refuse(
                name,
                format!(
                    "has {} columns; it must have {n_trained}, one for each row the model was trained on",
                    values.n_cols()
                ),
            ));
        }
        check_finite(name, &values)?;
        let diagonal = diagonal.unwrap_or_default();
        if !diagonal.is_empty() && diagonal.len() != n {
            return Err(refuse(
                name,
                format!("has {n} rows, its diagonal {} values; give one per row", diagonal.len()),
            ));
        }
        check_diagonal(name, &diagonal)?;
        Ok(Gram { name: name.into(), values: Arc::new(values), rows: diagonal.into(), cols: trained.into() })
    }

    /// Its name in kernels.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of row points.
    pub fn n_rows(&self) -> usize {
        self.values.n_rows()
    }

    /// Number of column points.
    pub fn n_cols(&self) -> usize {
        self.values.n_cols()
    }

    /// k(y, y) of the column points.
    pub fn diagonal(&self) -> &[f64] {
        &self.cols
    }

    /// All entries.
    pub(crate) fn values(&self) -> &Arc<Matrix> {
        &self.values
    }

    /// k(x, x) of the row points; empty if not given.
    pub(crate) fn row_diagonal(&self) -> &[f64] {
        &self.rows
    }

    /// Whether its rows and columns are the same points.
    pub(crate) fn is_square(&self) -> bool {
        Arc::ptr_eq(&self.rows, &self.cols)
    }
}

impl Gram {
    /// An error about this matrix.
    pub(crate) fn refuse(&self, message: impl Into<Message>) -> Error {
        refuse(&self.name, message)
    }
}

fn refuse(name: &str, message: impl Into<Message>) -> Error {
    Error::input(message![format!("the Gram matrix `{name}` "), message])
}

dispatched! {
    /// Whether a square matrix equals its transpose to the last bit and is finite, in one read: nothing has to be averaged then,
    /// so that shared values are not copied.
    fn is_fine(values: &[f64], n: usize) -> bool {
        let whole = n / SIDE * SIDE;
        let (mut differ, mut too_large) = ([0u64; SIDE], [0u64; SIDE]);
        let mut across = [0.0; SIDE * SIDE];
        for i in (0..whole).step_by(SIDE) {
            for j in (0..=i).step_by(SIDE) {
                transpose(&values[j * n + i..], n, &mut across, SIDE);
                for r in 0..SIDE {
                    let row = &values[(i + r) * n + j..][..SIDE];
                    for c in 0..SIDE {
                        let bits = row[c].to_bits();
                        differ[c] |= bits ^ across[r * SIDE + c].to_bits();
                        too_large[c] |= carried(bits);
                    }
                }
            }
        }
        for i in whole..n {
            for j in 0..=i {
                let bits = values[i * n + j].to_bits();
                differ[0] |= bits ^ values[j * n + i].to_bits();
                too_large[0] |= carried(bits);
            }
        }
        differ.iter().all(|&bits| bits == 0) && too_large.iter().all(|&bits| bits >> 63 == 0)
    }
}

/// Bits of which the highest is set where those of a number are not finite: one more than the highest exponent.
fn carried(bits: u64) -> u64 {
    const EXPONENT: u64 = 0x7ff0 << 48;
    (bits & EXPONENT) + (1 << 52)
}

/// Replaces entries across the diagonal by their mean, where they differ by rounding alone.
fn average(name: &str, values: &mut Matrix) -> Result<()> {
    let largest = values.data().iter().fold(0.0f64, |most, value| most.max(value.abs()));
    for i in 0..values.n_rows() {
        for j in 0..i {
            let (a, b) = (values.get(i, j), values.get(j, i));
            if (a - b).abs() > ASYMMETRY * largest {
                return Err(refuse(
                    name,
                    format!("is not symmetric: {a} in row {}, column {} but {b} across", i + 1, j + 1),
                ));
            }
            // Halve before adding: two large numbers must not overflow.
            let mean = if a == b { a } else { 0.5 * a + 0.5 * b };
            values.set(i, j, mean);
            values.set(j, i, mean);
        }
    }
    Ok(())
}

fn check_finite(name: &str, values: &Matrix) -> Result<()> {
    // Without a branch for each value; the search for the first one that is not finite comes after.
    if values.data().chunks(1024).all(|part| part.iter().fold(true, |finite, value| finite & value.is_finite())) {
        return Ok(());
    }
    match values.data().iter().position(|value| !value.is_finite()) {
        Some(k) => {
            let (i, j) = (k / values.n_cols() + 1, k % values.n_cols() + 1);
            Err(refuse(name, format!("holds {} in row {i}, column {j}; its values must be finite", values.data()[k])))
        }
        None => Ok(()),
    }
}

fn check_diagonal(name: &str, diagonal: &[f64]) -> Result<()> {
    match diagonal.iter().position(|value| !(value.is_finite() && *value >= 0.0)) {
        Some(i) => {
            let found = diagonal[i];
            Err(refuse(name, format!("has {found} on its diagonal in row {}; no kernel has less than 0 there", i + 1)))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
        result.unwrap_err().to_string()
    }

    #[test]
    fn whatever_entry_is_not_finite_or_differs_across_the_diagonal_is_seen() {
        for n in [1, 7, 8, 9, 24, 29] {
            let fine = Matrix::from_fn(n, n, |i, j| (i + 1) as f64 * (j + 1) as f64);
            assert!(is_fine(fine.data(), n), "{n}");
            for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let with = |at: &[(usize, usize)], value: f64| {
                    let mut values = fine.clone();
                    at.iter().for_each(|&(i, j)| values.set(i, j, value));
                    is_fine(values.data(), n)
                };
                for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                    assert!(!with(&[(i, j), (j, i)], value), "{value} at {i}, {j} of {n}");
                }
                assert!(with(&[(i, j), (j, i)], f64::MAX));
                assert!(i == j || !with(&[(i, j)], fine.get(i, j).next_up()), "{i}, {j} of {n}");
            }
        }
    }

    #[test]
    fn gram_matrices_that_are_none_are_refused() {
        let matrix = |n, m, values: &[f64]| Matrix::from_vec(n, m, values.to_vec()).unwrap();
        for (values, expected) in [
            (matrix(1, 2, &[1.0, 2.0]), "the Gram matrix `g` is 1 x 2; it must be square"),
            (
                matrix(2, 2, &[1.0, 2.0, 2.1, 1.0]),
                "the Gram matrix `g` is not symmetric: 2.1 in row 2, column 1 but 2 across",
            ),
            (
                matrix(2, 2, &[1.0, 0.0, 0.0, f64::NAN]),
                "the Gram matrix `g` holds NaN in row 2, column 2; its values must be finite",
            ),
            (
                matrix(2, 2, &[1.0, 0.0, 0.0, -0.5]),
                "the Gram matrix `g` has -0.5 on its diagonal in row 2; no kernel has less than 0 there",
            ),
        ] {
            assert_eq!(message(Gram::square("g", values)), expected);
        }
        let nearly = Gram::square("g", matrix(2, 2, &[1.0, 0.5, 0.5 + 1e-7, 1.0])).unwrap();
        assert_eq!(nearly.values().get(0, 1), nearly.values().get(1, 0));
        assert_eq!(
            message(Gram::cross("g", matrix(1, 2, &[1.0, 2.0]), None, &[1.0; 3])),
            "the Gram matrix `g` has 2 columns; it must have 3, one for each row the model was trained on"
        );
        assert_eq!(
            message(Gram::cross("g", matrix(1, 2, &[1.0, 2.0]), Some(vec![1.0; 3]), &[1.0; 2])),
            "the Gram matrix `g` has 1 rows, its diagonal 3 values; give one per row"
        );
    }
}
