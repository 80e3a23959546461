//! The kernel between each row point and itself, which the variance of a prediction starts from.

use super::given::Points;
use super::options::{StackOptions, Storage};
use super::view::Stack;
use crate::error::{Error, Remedy, Result, message};
use crate::kernel::{Base, Kernel};
use crate::linalg::Matrix;
use crate::pool::Pool;

impl Stack {
    /// `k_m(x, x)` of all row points (rows) and kernels (columns): for a stack between new and training points, which
    /// does not hold these values. Centred kernels are centred by the training means, and missing views count as in
    /// the other values. Cost: 256 values per point and kernel. An error if the values of the stack are stored, unless
    /// it is square, and for a given Gram matrix without its diagonal.
    ///
    /// ```
    /// use multikernel::{Matrix, Pool, stack::{Stack, StackOptions, Storage}};
    /// let pool = Pool::new(1)?;
    /// let (new, old) = (Matrix::from_vec(2, 1, vec![2.0, 3.0])?, Matrix::from_vec(1, 1, vec![1.0])?);
    /// let options = StackOptions { storage: Storage::Tiled, ..StackOptions::new(&pool) };
    /// let cross = Stack::cross(&new, &old, &["linear raw".parse()?], &[None], &options)?;
    /// assert_eq!(cross.selves(&pool)?.data(), [4.0, 9.0]);
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn selves(&self, pool: &Pool) -> Result<Matrix> {
        let core = &self.core;
        if core.cut.symmetric {
            return self.diagonals(pool);
        }
        let (left, n) = (&core.left, core.cut.n_rows);
        if left.n_points() != n {
            return Err(Error::input("the stack has stored its values and forgotten its points; store nothing"));
        }
        let kernels: Vec<Kernel> = self.kernels().into_iter().map(|kernel| kernel.clone().not_centred()).collect();
        let plain: Vec<usize> = (0..kernels.len()).filter(|&m| kernels[m].gram().is_none()).collect();
        let of_rows: Vec<Kernel> = plain.iter().map(|&m| kernels[m].clone()).collect();
        let options = StackOptions { precision: core.precision, storage: Storage::Tiled, ..StackOptions::new(pool) };
        let own = left.ungated();
        let found = Stack::train(own, &of_rows, &options)?.diagonals(pool)?;
        let mut selves = Matrix::zeros(n, kernels.len());
        for (k, &m) in plain.iter().enumerate() {
            (0..n).for_each(|i| selves.set(i, m, found.get(i, k)));
        }
        for m in (0..kernels.len()).filter(|m| !plain.contains(m)) {
            let given = given(&kernels[m], left)?;
            (0..n).for_each(|i| selves.set(i, m, given[i]));
        }
        let ([rows, _], at) = (self.indices(), self.kernels.indices());
        for (m, &in_core) in at.iter().enumerate() {
            let gate = left.gate(core.layout.kernels[in_core].columns());
            for (i, gate) in gate.into_iter().enumerate() {
                let centred = core.centring[in_core]
                    .as_ref()
                    .map_or(0.0, |centring| centring.grand - 2.0 * core.row_means[in_core][i]);
                selves.set(i, m, gate * gate * (selves.get(i, m) + centred));
            }
        }
        Ok(Matrix::from_fn(rows.len(), kernels.len(), |i, m| selves.get(rows[i], m)))
    }
}

/// The values of a kernel on a Gram matrix, from the diagonal of its rows.
fn given(kernel: &Kernel, points: &Points) -> Result<Vec<f64>> {
    let all: Vec<usize> = (0..points.n_points()).collect();
    let name = kernel.gram().unwrap_or_default();
    if kernel.family().takes_distances() || kernel.base() == Base::GivenCosine {
        let itself = if kernel.family().takes_distances() { 0.0 } else { 1.0 };
        return Ok(vec![kernel.value(itself); all.len()]);
    }
    let diagonal = points.gram(name).map_or(&[][..], |gram| gram.row_diagonal());
    let values: Vec<f64> =
        points.at(&all).into_iter().filter_map(|i| diagonal.get(i)).map(|&base| kernel.value(base)).collect();
    if values.len() == all.len() {
        return Ok(values);
    }
    Err(Error::input(message![
        format!("{kernel}: intervals need the diagonal k(x, x) of the new rows; give it with "),
        Remedy::GramDiagonal(name.into())
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;

    #[test]
    fn selves_are_the_diagonal_of_the_stack_of_the_points() {
        let mut rng = Rng::new(3, 0);
        let mut rows = |n: usize| Matrix::from_fn(n, 4, |_, _| rng.uniform() - 0.3);
        let (new, old, pool) = (rows(37), rows(21), Pool::new(2).unwrap());
        let texts = [
            "gaussian(0.7)",
            "linear raw",
            "polynomial(2) raw on [1:3]",
            "linear",
            "gaussian(2) centred",
            "linear raw centred",
        ];
        let kernels: Vec<Kernel> = texts.iter().map(|text| text.parse().unwrap()).collect();
        let options = StackOptions { storage: Storage::Tiled, ..StackOptions::new(&pool) };
        let train = Stack::train(&old, &kernels, &options).unwrap();
        let cross = Stack::cross(&new, &old, &kernels, train.centring(), &options).unwrap();
        // A stack in which a new point is both a row and, added to the columns, a column: centring stays that of the
        // old points.
        let selves =
            cross.between(&[5, 0, 36], &[1]).unwrap().pick(&[5, 0, 2, 4, 1, 3]).unwrap().selves(&pool).unwrap();
        for (i, &row) in [5, 0, 36].iter().enumerate() {
            for (k, &m) in [5usize, 0, 2, 4, 1, 3].iter().enumerate() {
                let x = new.row(row);
                let value = |a: &[f64], b: &[f64]| {
                    let part = if m == 2 { 1..3 } else { 0..4 };
                    let dot = |a: &[f64], b: &[f64]| part.clone().map(|j| a[j] * b[j]).sum::<f64>();
                    let square = dot(a, a) + dot(b, b) - 2.0 * dot(a, b);
                    match m {
                        0 => (-square / (2.0 * 0.49)).exp(),
                        1 | 5 => dot(a, b),
                        2 => (dot(a, b) + 1.0).powi(2),
                        3 => dot(a, b) / (dot(a, a) * dot(b, b)).sqrt(),
                        _ => (-square / 8.0).exp(),
                    }
                };
                let mut expected = value(x, x);
                if m >= 4 {
                    let n = old.n_rows() as f64;
                    let to: f64 = old.rows().map(|o| value(x, o)).sum::<f64>() / n;
                    let grand: f64 =
                        old.rows().map(|a| old.rows().map(|b| value(a, b)).sum::<f64>()).sum::<f64>() / (n * n);
                    expected += grand - 2.0 * to;
                }
                let found = selves.get(i, k);
                assert!((found - expected).abs() < 1e-12 * (1.0 + expected.abs()), "{} {found} {expected}", texts[m]);
            }
        }
    }
}
