//! The kernel stack: P kernels between row points and column points, touched only through a few operations.
//!
//! Storage is the stack's own business; a method never knows which it has. Here: dense `f64`, one matrix a kernel.

mod base;
mod dense;

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::linalg::{Matrix, axpy, dot};
use crate::pool::Pool;

use dense::Dense;
pub use dense::{Building, Centring};

/// Rows handled by one task of the thread pool. A constant: the cut must not depend on the number of threads.
const CHUNK: usize = 16;

/// P kernels between row points and column points.
///
/// [`Stack::train`] makes it over the training points (square, symmetric), [`Stack::cross`] between new and training
/// points; [`Stack::view`] and [`Stack::between`] restrict it without copying. Cloning is cheap.
/// Memory: 8 P n_rows n_cols bytes.
///
/// ```
/// use multikernel::{Matrix, Pool, kernel::Bank, stack::{Building, Stack}};
/// let rows = Matrix::from_vec(3, 1, vec![0.0, 1.0, 3.0])?;
/// let kernels = ["gaussian(1)".parse()?, "linear".parse()?];
/// let pool = Pool::new(1)?;
/// let stack = Stack::train(&rows, &kernels, &Building::new(&pool))?;
/// let sum = &stack.combine(&Matrix::from_vec(2, 1, vec![0.5, 0.5])?, &pool)?[0];
/// assert!((sum.get(1, 2) - 0.5 * ((-2.0f64).exp() + 1.0)).abs() < 1e-15);
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Stack {
    storage: Arc<Dense>,
    rows: Selection,
    cols: Selection,
}

/// Which of the stored rows or columns a view shows.
#[derive(Clone, Debug)]
enum Selection {
    All(usize),
    Some(Arc<[usize]>),
}

impl Selection {
    fn len(&self) -> usize {
        match self {
            Selection::All(n) => *n,
            Selection::Some(indices) => indices.len(),
        }
    }

    fn at(&self, i: usize) -> usize {
        match self {
            Selection::All(_) => i,
            Selection::Some(indices) => indices[i],
        }
    }

    /// A selection of this selection.
    fn of(&self, indices: &[usize]) -> Result<Selection> {
        if let Some(&index) = indices.iter().find(|&&index| index >= self.len()) {
            return Err(Error::input(format!("row {index} of a view is outside the stack's 0..{}", self.len())));
        }
        Ok(Selection::Some(indices.iter().map(|&i| self.at(i)).collect()))
    }
}

/// A symmetric matrix to project on: dense, or `U V'` of low rank.
#[derive(Clone, Copy, Debug)]
pub enum Symmetric<'a> {
    /// The whole matrix.
    Dense(&'a Matrix),
    /// `U V'`, both n x r.
    Factored(&'a Matrix, &'a Matrix),
}

impl Stack {
    /// The stack over the training points. Cost: N^2/2 base quantities per column set and N^2/2 P kernel values.
    pub fn train(points: &Matrix, kernels: &[Kernel], building: &Building<'_>) -> Result<Stack> {
        Ok(Stack::whole(Dense::train(points, kernels, building)?))
    }

    /// The stack between `new` points (rows) and the training points (columns). `centring` is
    /// [`Stack::centring`] of the training stack.
    pub fn cross(
        new: &Matrix,
        points: &Matrix,
        kernels: &[Kernel],
        centring: &[Option<Centring>],
        building: &Building<'_>,
    ) -> Result<Stack> {
        Ok(Stack::whole(Dense::cross(new, points, kernels, centring, building)?))
    }

    fn whole(storage: Dense) -> Stack {
        let (rows, cols) = (Selection::All(storage.n_rows), Selection::All(storage.n_cols));
        Stack { storage: Arc::new(storage), rows, cols }
    }

    /// Number of row points.
    pub fn n_rows(&self) -> usize {
        self.rows.len()
    }

    /// Number of column points.
    pub fn n_cols(&self) -> usize {
        self.cols.len()
    }

    /// Number of kernels.
    pub fn n_kernels(&self) -> usize {
        self.storage.values.len()
    }

    /// The training means of the `centred` kernels (`None` for the others); new points are centred with them.
    pub fn centring(&self) -> &[Option<Centring>] {
        &self.storage.centring
    }

    /// Remarks about the points, such as zero rows that give a zero kernel row.
    pub fn notes(&self) -> &[String] {
        &self.storage.notes
    }

    /// The stack on a subset of the points (folds, class pairs, resamples), rows and columns alike, without copying.
    pub fn view(&self, points: &[usize]) -> Result<Stack> {
        self.between(points, points)
    }

    /// The stack between some row points and some column points, without copying.
    pub fn between(&self, rows: &[usize], cols: &[usize]) -> Result<Stack> {
        Ok(Stack { storage: self.storage.clone(), rows: self.rows.of(rows)?, cols: self.cols.of(cols)? })
    }

    /// `sum_m W_mc K_m` for each column c of the P x C weights: C matrices of n_rows x n_cols. Reads the kernels with a
    /// weight that is not zero once per column.
    pub fn combine(&self, weights: &Matrix, pool: &Pool) -> Result<Vec<Matrix>> {
        check("combine: weights", "rows (one per kernel)", weights.n_rows(), self.n_kernels())?;
        let width = self.n_cols();
        let one = |c: usize| {
            let mut sum = Matrix::zeros(self.n_rows(), width);
            pool.chunks_mut(sum.data_mut(), CHUNK * width, |chunk, out| {
                let mut buffer = vec![];
                for (k, out) in out.chunks_mut(width).enumerate() {
                    for m in (0..self.n_kernels()).filter(|&m| weights.get(m, c) != 0.0) {
                        axpy(weights.get(m, c), self.row(m, chunk * CHUNK + k, &mut buffer), out);
                    }
                }
            });
            sum
        };
        Ok((0..weights.n_cols()).map(one).collect())
    }

    /// `<K_m, M_c>` for all kernels m (rows) and matrices c (columns): the gradient for all kernels at once. Reads the
    /// stack once; a matrix of rank r costs r times the products of a dense one.
    pub fn project(&self, matrices: &[Symmetric<'_>], pool: &Pool) -> Result<Matrix> {
        for matrix in matrices {
            let (rows, cols) = match matrix {
                Symmetric::Dense(matrix) => (matrix.n_rows(), matrix.n_cols()),
                Symmetric::Factored(u, v) => {
                    check("project: factors", "columns", v.n_cols(), u.n_cols())?;
                    (u.n_rows(), v.n_rows())
                }
            };
            check("project: matrix", "rows", rows, self.n_rows())?;
            check("project: matrix", "columns", cols, self.n_cols())?;
        }
        let values = pool.map(self.n_kernels(), |m| {
            let mut buffer = vec![];
            let mut sums = vec![0.0; matrices.len()];
            for i in 0..self.n_rows() {
                let row = self.row(m, i, &mut buffer);
                for (sum, matrix) in sums.iter_mut().zip(matrices) {
                    *sum += match matrix {
                        Symmetric::Dense(matrix) => dot(row, matrix.row(i)),
                        Symmetric::Factored(u, v) => row_times(row, v).iter().zip(u.row(i)).map(|(kv, u)| kv * u).sum(),
                    };
                }
            }
            sums
        });
        Ok(Matrix::from_fn(self.n_kernels(), matrices.len(), |m, c| values[m][c]))
    }

    /// `K_m V` for all kernels, V of n_cols x r: P matrices of n_rows x r. Reads the stack once, r products per entry.
    pub fn apply(&self, vectors: &Matrix, pool: &Pool) -> Result<Vec<Matrix>> {
        check("apply: vectors", "rows", vectors.n_rows(), self.n_cols())?;
        let width = vectors.n_cols();
        let one = |m: usize| {
            let mut product = Matrix::zeros(self.n_rows(), width);
            pool.chunks_mut(product.data_mut(), CHUNK * width, |chunk, out| {
                let mut buffer = vec![];
                for (k, out) in out.chunks_mut(width).enumerate() {
                    out.copy_from_slice(&row_times(self.row(m, chunk * CHUNK + k, &mut buffer), vectors));
                }
            });
            product
        };
        Ok((0..self.n_kernels()).map(one).collect())
    }

    /// `sum_m K_m g_m`, g_m the columns of the n_cols x P matrix: the adjoint of [`Stack::apply`]. Reads the stack once.
    pub fn collect(&self, vectors: &Matrix, pool: &Pool) -> Result<Vec<f64>> {
        check("collect: vectors", "rows", vectors.n_rows(), self.n_cols())?;
        check("collect: vectors", "columns (one per kernel)", vectors.n_cols(), self.n_kernels())?;
        let columns: Vec<Vec<f64>> = (0..self.n_kernels()).map(|m| vectors.column(m)).collect();
        let mut sums = vec![0.0; self.n_rows()];
        pool.chunks_mut(&mut sums, CHUNK, |chunk, out| {
            let mut buffer = vec![];
            for (k, out) in out.iter_mut().enumerate() {
                *out =
                    (0..self.n_kernels()).map(|m| dot(self.row(m, chunk * CHUNK + k, &mut buffer), &columns[m])).sum();
            }
        });
        Ok(sums)
    }

    /// The piece of kernel `m` between these row and column points of the view.
    pub fn block(&self, m: usize, rows: &[usize], cols: &[usize]) -> Result<Matrix> {
        if m >= self.n_kernels() {
            return Err(Error::input(format!("kernel {m} is outside the stack's 0..{}", self.n_kernels())));
        }
        let piece = self.between(rows, cols)?;
        let mut buffer = vec![];
        let mut data = Vec::with_capacity(rows.len() * cols.len());
        for i in 0..rows.len() {
            data.extend_from_slice(piece.row(m, i, &mut buffer));
        }
        Matrix::from_vec(rows.len(), cols.len(), data)
    }

    /// Row `i` of kernel `m` in this view; `buffer` holds it where the columns are not stored side by side.
    fn row<'a>(&'a self, m: usize, i: usize, buffer: &'a mut Vec<f64>) -> &'a [f64] {
        let row = self.storage.values[m].row(self.rows.at(i));
        match &self.cols {
            Selection::All(_) => row,
            Selection::Some(cols) => {
                buffer.clear();
                buffer.extend(cols.iter().map(|&j| row[j]));
                buffer
            }
        }
    }
}

/// `row V`.
fn row_times(row: &[f64], vectors: &Matrix) -> Vec<f64> {
    let mut sum = vec![0.0; vectors.n_cols()];
    for (value, vector) in row.iter().zip(vectors.rows()) {
        axpy(*value, vector, &mut sum);
    }
    sum
}

fn check(what: &str, side: &str, found: usize, needed: usize) -> Result<()> {
    if found == needed {
        Ok(())
    } else {
        Err(Error::input(format!("{what} has {found} {side}, the stack needs {needed}")))
    }
}
