//! Our own dense matrices and the few operations on them; a linear-algebra crate, if ever needed, is named only here.

use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::simd::{Real, SIDE, transpose, transpose_raw};

/// A dense row-major `f64` matrix: the one array type of the public API.
///
/// ```
/// use multikernel::Matrix;
/// let m = Matrix::from_vec(2, 3, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// assert_eq!(m.row(1), &[4.0, 5.0, 6.0]);
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matrix {
    n_rows: usize,
    n_cols: usize,
    data: Values,
}

/// Values that several owners read: an array of another language, a mapped file. See [`Matrix::shared`].
pub type SharedValues = Arc<dyn AsRef<[f64]> + Send + Sync>;

/// The values of a matrix: its own, or shared until somebody writes to them.
#[derive(Clone)]
enum Values {
    Own(Vec<f64>),
    Shared(SharedValues),
}

impl Values {
    /// The values to write to; shared ones are copied first.
    #[inline]
    fn own(&mut self) -> &mut Vec<f64> {
        if let Values::Shared(shared) = self {
            *self = Values::Own((**shared).as_ref().to_vec());
        }
        match self {
            Values::Own(own) => own,
            Values::Shared(_) => unreachable!("copied above"),
        }
    }
}

impl Deref for Values {
    type Target = [f64];

    #[inline]
    fn deref(&self) -> &[f64] {
        match self {
            Values::Own(own) => own,
            Values::Shared(shared) => (**shared).as_ref(),
        }
    }
}

impl Default for Values {
    fn default() -> Self {
        Values::Own(vec![])
    }
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl PartialEq for Values {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl From<Vec<f64>> for Values {
    fn from(values: Vec<f64>) -> Self {
        Values::Own(values)
    }
}

fn check_length(n_rows: usize, n_cols: usize, length: usize) -> Result<()> {
    if n_rows.checked_mul(n_cols) == Some(length) {
        return Ok(());
    }
    Err(Error::input(format!("a {n_rows} x {n_cols} matrix needs {n_rows} * {n_cols} values, got {length}")))
}

impl Matrix {
    /// A matrix of zeros.
    pub fn zeros(n_rows: usize, n_cols: usize) -> Self {
        Matrix { n_rows, n_cols, data: vec![0.0; n_rows * n_cols].into() }
    }

    /// A matrix of zeros, or `None` if there is too little memory.
    pub(crate) fn try_zeros(n_rows: usize, n_cols: usize) -> Option<Self> {
        Some(Matrix { n_rows, n_cols, data: zeroed(n_rows.checked_mul(n_cols)?)?.into() })
    }

    /// A matrix with unspecified numbers, for callers that write all they read: one given back, or zeros; `None` if there is
    /// too little memory.
    pub(crate) fn unspecified(n_rows: usize, n_cols: usize) -> Option<Self> {
        let len = n_rows.checked_mul(n_cols)?;
        let found = {
            let mut kept = spares();
            // Not from one much larger, which somebody else may need.
            let fits = (0..kept.len()).filter(|&i| kept[i].len() >= len && kept[i].len() / 2 <= len);
            fits.min_by_key(|&i| kept[i].len()).map(|i| kept.swap_remove(i))
        };
        let Some(mut data) = found else { return Matrix::try_zeros(n_rows, n_cols) };
        data.truncate(len);
        Some(Matrix { n_rows, n_cols, data: data.into() })
    }

    /// Keeps the memory for [`Matrix::unspecified`]: clearing a matrix takes a good part of the time needed to fill it.
    pub(crate) fn give_back(self) {
        let Values::Own(values) = self.data else { return };
        if (MIN_SPARE..=MAX_SPARE + more_spare()).contains(&values.len()) {
            let mut kept = spares();
            kept.push(values);
            trim(&mut kept);
        }
    }

    /// A matrix over row-major `data` of length `n_rows * n_cols`; any other length is an error.
    pub fn from_vec(n_rows: usize, n_cols: usize, data: Vec<f64>) -> Result<Self> {
        check_length(n_rows, n_cols, data.len())?;
        Ok(Matrix { n_rows, n_cols, data: data.into() })
    }

    /// A matrix over row-major values that others hold too, of length `n_rows * n_cols`; any other length is an error.
    /// Use it for arrays of another language, which stay where they are. They are copied once somebody writes to the
    /// matrix.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use multikernel::Matrix;
    /// let values = Arc::new(vec![1.0, 2.0]);
    /// let mut m = Matrix::shared(1, 2, values.clone())?;
    /// assert_eq!(m.data().as_ptr(), values.as_ptr());
    /// m.set(0, 0, 5.0);
    /// assert_eq!((m.row(0), values[0]), (&[5.0, 2.0][..], 1.0));
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn shared(n_rows: usize, n_cols: usize, values: SharedValues) -> Result<Self> {
        check_length(n_rows, n_cols, (*values).as_ref().len())?;
        Ok(Matrix { n_rows, n_cols, data: Values::Shared(values) })
    }

    /// A matrix with entry `f(i, j)` at row `i`, column `j`.
    pub fn from_fn(n_rows: usize, n_cols: usize, mut f: impl FnMut(usize, usize) -> f64) -> Self {
        let mut data = Vec::with_capacity(n_rows * n_cols);
        for i in 0..n_rows {
            for j in 0..n_cols {
                data.push(f(i, j));
            }
        }
        Matrix { n_rows, n_cols, data: data.into() }
    }

    /// Number of rows.
    #[inline]
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of columns.
    #[inline]
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// Entry at row `i`, column `j`; panics outside the shape, as slices do.
    #[inline]
    pub fn get(&self, i: usize, j: usize) -> f64 {
        self.row(i)[j]
    }

    /// Sets the entry at row `i`, column `j`.
    #[inline]
    pub fn set(&mut self, i: usize, j: usize, value: f64) {
        self.row_mut(i)[j] = value;
    }

    /// Row `i`.
    #[inline]
    pub fn row(&self, i: usize) -> &[f64] {
        &self.data[i * self.n_cols..(i + 1) * self.n_cols]
    }

    /// Row `i`, to write.
    #[inline]
    pub fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.data.own()[i * self.n_cols..(i + 1) * self.n_cols]
    }

    /// Address of an entry, possibly out of range: for prefetching only, not for reading.
    pub(crate) fn row_start(&self, i: usize, j: usize) -> *const f64 {
        self.data.as_ptr().wrapping_add(i * self.n_cols + j)
    }

    /// All rows in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        (0..self.n_rows).map(|i| self.row(i))
    }

    /// Column `j`, copied.
    pub fn column(&self, j: usize) -> Vec<f64> {
        self.rows().map(|row| row[j]).collect()
    }

    /// The values, row by row.
    #[inline]
    pub fn data(&self) -> &[f64] {
        &self.data
    }

    /// The values, row by row, to write.
    #[inline]
    pub fn data_mut(&mut self) -> &mut [f64] {
        self.data.own()
    }

    /// The values, row by row, taken out.
    pub fn into_data(mut self) -> Vec<f64> {
        std::mem::take(self.data.own())
    }

    /// The product with a vector; an entry depends on its row alone.
    pub(crate) fn times(&self, vector: &[f64]) -> Vec<f64> {
        let fours = self.n_rows / 4 * 4;
        let four = |i: usize| f64::dot_four(std::array::from_fn(|k| self.row(i + k)), vector);
        let rest = (fours..self.n_rows).map(|i| f64::dot(self.row(i), vector));
        (0..fours).step_by(4).flat_map(four).chain(rest).collect()
    }

    /// The transpose.
    #[must_use]
    pub fn transposed(&self) -> Matrix {
        let (mut out, whole) = (Matrix::zeros(self.n_cols, self.n_rows), |n: usize| n / SIDE * SIDE);
        let lines = out.data_mut();
        for i in (0..whole(self.n_rows)).step_by(SIDE) {
            for j in (0..whole(self.n_cols)).step_by(SIDE) {
                let (from, to) = (&self.data[i * self.n_cols + j..], &mut lines[j * self.n_rows + i..]);
                transpose(from, self.n_cols, to, self.n_rows);
            }
        }
        // What is left of rows and columns.
        for (j, line) in lines.chunks_exact_mut(self.n_rows.max(1)).enumerate() {
            let first = if j < whole(self.n_cols) { whole(self.n_rows) } else { 0 };
            line[first..].iter_mut().zip(first..).for_each(|(value, i)| *value = self.get(i, j));
        }
        out
    }

    /// The upper half of a symmetric matrix with its diagonal, row by row: half the way to go.
    pub(crate) fn upper(&self) -> Vec<f64> {
        self.rows().enumerate().flat_map(|(i, row)| &row[i..]).copied().collect()
    }

    /// The symmetric matrix with this upper half; `None` if it is none.
    pub(crate) fn of_upper(upper: &[f64]) -> Option<Matrix> {
        let n = ((8 * upper.len() + 1).isqrt() - 1) / 2;
        if n * (n + 1) / 2 != upper.len() {
            return None;
        }
        let mut matrix = Matrix::zeros(n, n);
        let mut next = upper.iter();
        for i in 0..n {
            for j in i..n {
                let value = next.next().copied().unwrap_or_default();
                matrix.set(i, j, value);
                matrix.set(j, i, value);
            }
        }
        Some(matrix)
    }

    /// The given rows, in the given order, copied.
    pub fn select_rows(&self, rows: &[usize]) -> Matrix {
        let mut data = Vec::with_capacity(rows.len() * self.n_cols);
        for &i in rows {
            data.extend_from_slice(self.row(i));
        }
        Matrix { n_rows: rows.len(), n_cols: self.n_cols, data: data.into() }
    }

    /// The given columns, in the given order, copied.
    pub fn select_cols(&self, cols: &[usize]) -> Matrix {
        Matrix::from_fn(self.n_rows, cols.len(), |i, j| self.row(i)[cols[j]])
    }
}

/// Length of matrices worth keeping, and of all that are kept: eight of 1,000 rows.
const MIN_SPARE: usize = 1 << 14;
const MAX_SPARE: usize = 8 << 20;

/// How many numbers more may be kept, for runs that need many matrices again and again.
static MORE_SPARE: AtomicUsize = AtomicUsize::new(0);

/// Changes how many numbers are kept: [`Keeping`](crate::solve::cholesky::Keeping) does.
pub(crate) fn keep_more(more: impl Fn(usize) -> usize) {
    let _ = MORE_SPARE.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |now| Some(more(now)));
    trim(&mut spares());
}

/// How many numbers more may be kept.
pub(crate) fn more_spare() -> usize {
    MORE_SPARE.load(Ordering::Relaxed)
}

/// Drops the oldest until few enough are left, so that sizes no longer in use do not stay.
fn trim(kept: &mut Vec<Vec<f64>>) {
    let mut held: usize = kept.iter().map(Vec::len).sum();
    while held > MAX_SPARE + more_spare() {
        held -= kept.remove(0).len();
    }
}

/// Matrices given back, shared by all threads.
fn spares() -> MutexGuard<'static, Vec<Vec<f64>>> {
    static SPARE: Mutex<Vec<Vec<f64>>> = Mutex::new(vec![]);
    // A panicking thread leaves matrices with arbitrary numbers, and nothing relies on more.
    SPARE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A vector of zeros, or `None` if there is too little memory.
fn zeroed<T: Real>(n: usize) -> Option<Vec<T>> {
    // Reserve first, because a failed vector allocation aborts the program; then let the system zero pages as they are
    // first written, which filling a vector here would prevent.
    Vec::<T>::new().try_reserve_exact(n).ok()?;
    let mut values = vec![T::default(); n];
    large_pages(&mut values);
    Some(values)
}

/// Requests huge pages: the system clears and maps memory page by page on first write, which for pages of 4 KiB takes
/// longer than computing what is written.
#[cfg(all(target_os = "linux", not(miri)))]
pub(crate) fn large_pages<T>(values: &mut [T]) {
    const PAGE: usize = 2 << 20;
    let (start, size) = (values.as_mut_ptr() as usize, size_of_val(values));
    let first = start.next_multiple_of(PAGE);
    if size < 2 * PAGE {
        return;
    }
    let length = (start + size - first) / PAGE * PAGE;
    // SAFETY: whole pages inside memory we own; the advice changes how they are backed, not their contents. A refusal
    // affects only speed.
    unsafe { libc::madvise(first as *mut libc::c_void, length, libc::MADV_HUGEPAGE) };
}

#[cfg(not(all(target_os = "linux", not(miri))))]
pub(crate) fn large_pages<T>(_: &mut [T]) {}

/// A dense row-major `f32` matrix: half the memory of a [`Matrix`], for a kernel between tens of thousands of points.
///
/// ```
/// use multikernel::{Matrix, Matrix32};
/// let m = Matrix32::of(&Matrix::from_vec(1, 2, vec![0.5, 1.0 + 1e-9])?);
/// assert_eq!((m.get(0, 0), m.row(0)[1]), (0.5, 1.0));
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Matrix32 {
    n_rows: usize,
    n_cols: usize,
    data: Vec<f32>,
}

impl Matrix32 {
    /// The values of a matrix, rounded.
    pub fn of(matrix: &Matrix) -> Matrix32 {
        let data = matrix.data().iter().map(|&value| value as f32).collect();
        Matrix32 { n_rows: matrix.n_rows, n_cols: matrix.n_cols, data }
    }

    /// A matrix of zeros, or `None` if there is too little memory.
    pub(crate) fn try_zeros(n_rows: usize, n_cols: usize) -> Option<Self> {
        Some(Matrix32 { n_rows, n_cols, data: zeroed(n_rows.checked_mul(n_cols)?)? })
    }

    /// Number of rows.
    #[inline]
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of columns.
    #[inline]
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// Row `i` as a slice.
    #[inline]
    pub fn row(&self, i: usize) -> &[f32] {
        &self.data[i * self.n_cols..][..self.n_cols]
    }

    /// The value at row `i`, column `j`.
    #[inline]
    pub fn get(&self, i: usize, j: usize) -> f64 {
        f64::from(self.row(i)[j])
    }

    /// All values, row by row.
    pub(crate) fn data_mut(&mut self) -> &mut [f32] {
        &mut self.data
    }
}

/// One matrix written piece by piece from several threads.
pub(crate) struct Pieces<'a, T = f64> {
    data: *mut T,
    n_rows: usize,
    n_cols: usize,
    matrix: std::marker::PhantomData<&'a mut [T]>,
}

// SAFETY: it is an exclusively borrowed matrix, which may be sent; the caller of `piece` promises that pieces do not
// overlap.
unsafe impl<T: Send> Send for Pieces<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Pieces<'_, T> {}

impl<'a> Pieces<'a, f32> {
    pub(crate) fn of(matrix: &'a mut Matrix32) -> Self {
        let (n_rows, n_cols) = (matrix.n_rows, matrix.n_cols);
        Pieces { data: matrix.data.as_mut_ptr(), n_rows, n_cols, matrix: std::marker::PhantomData }
    }
}

impl<'a> Pieces<'a> {
    pub(crate) fn new(matrix: &'a mut Matrix) -> Self {
        let (n_rows, n_cols) = (matrix.n_rows, matrix.n_cols);
        Pieces { data: matrix.data.own().as_mut_ptr(), n_rows, n_cols, matrix: std::marker::PhantomData }
    }

    /// Writes the transpose of a square, whose rows are `stride` numbers apart in `from`, to (row, col).
    ///
    /// # Safety
    /// No piece that exists at the same time may overlap the square.
    pub(crate) unsafe fn put_turned(&self, from: &[f64], stride: usize, row: usize, col: usize) {
        assert!(from.len() >= stride * (SIDE - 1) + SIDE && row + SIDE <= self.n_rows && col + SIDE <= self.n_cols);
        // SAFETY: inside the slice and the matrix, checked above, and not shared, promised by the caller.
        unsafe { transpose_raw(from.as_ptr(), stride, self.data.add(row * self.n_cols + col), self.n_cols) };
    }
}

impl<T> Pieces<'_, T> {
    /// Number of rows of the matrix.
    pub(crate) fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Some columns of a row.
    ///
    /// # Safety
    /// No two pieces that exist at the same time may overlap.
    #[allow(clippy::mut_from_ref)]
    pub(crate) unsafe fn piece(&self, row: usize, cols: std::ops::Range<usize>) -> &mut [T] {
        assert!(row < self.n_rows && cols.start <= cols.end && cols.end <= self.n_cols);
        // SAFETY: inside the matrix, checked above, and not shared, promised by the caller.
        unsafe { std::slice::from_raw_parts_mut(self.data.add(row * self.n_cols + cols.start), cols.len()) }
    }
}

/// Inner product in four interleaved partial sums: fast without changing bits between callers.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sum = [0.0f64; 4];
    let (a4, b4) = (a.chunks_exact(4), b.chunks_exact(4));
    let tail: f64 = a4.remainder().iter().zip(b4.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a4.zip(b4) {
        for k in 0..4 {
            sum[k] += x[k] * y[k];
        }
    }
    (sum[0] + sum[1]) + (sum[2] + sum[3]) + tail
}

/// `y += a x`.
pub(crate) fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

/// Subtracts the mean from each column.
pub(crate) fn centre_columns(matrix: &mut Matrix) {
    let n = matrix.n_rows().max(1) as f64;
    let mut means = vec![0.0; matrix.n_cols()];
    matrix.rows().for_each(|row| means.iter_mut().zip(row).for_each(|(sum, value)| *sum += value));
    means.iter_mut().for_each(|sum| *sum /= n);
    for i in 0..matrix.n_rows() {
        matrix.row_mut(i).iter_mut().zip(&means).for_each(|(value, mean)| *value -= mean);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transpose_has_each_entry_in_its_place_for_any_shape() {
        for (n_rows, n_cols) in [(0, 3), (3, 0), (1, 1), (7, 9), (8, 3), (19, 16), (16, 24)] {
            let matrix = Matrix::from_fn(n_rows, n_cols, |i, j| (100 * i + j) as f64);
            assert_eq!(matrix.transposed(), Matrix::from_fn(n_cols, n_rows, |i, j| (100 * j + i) as f64));
        }
    }

    #[test]
    fn product_with_a_vector_is_that_of_its_rows_for_any_shape() {
        // The last takes Miri minutes.
        let shapes = [(0, 3), (3, 0), (1, 1), (4, 5), (7, 17), (9, 40), (130, 77)];
        for (n_rows, n_cols) in shapes.into_iter().take(if cfg!(miri) { 6 } else { 7 }) {
            let matrix = Matrix::from_fn(n_rows, n_cols, |i, j| ((7 * i + 3 * j) % 11) as f64 - 5.0);
            let vector: Vec<f64> = (0..n_cols).map(|j| (j % 5) as f64 - 2.0).collect();
            let entry = |i: usize| (0..n_cols).map(|j| matrix.get(i, j) * vector[j]).sum::<f64>();
            // Integers: no rounding, whatever the order.
            assert_eq!(matrix.times(&vector), (0..n_rows).map(entry).collect::<Vec<f64>>());
        }
    }
}
