//! Rows of numbers, dense or sparse: the output of readers and the input of kernels and methods.

use std::borrow::Cow;

use crate::error::{Error, Remedy, Result, message};
use crate::linalg::Matrix;

/// Rows of numbers, one per sample: dense, or sparse with only the values that differ from their column's background.
///
/// Readers choose by content; scaling, kernels, models and predictions accept both and treat them alike. Two tables of
/// the same values are equal only if they use the same storage.
///
/// ```
/// use multikernel::{Matrix, data::Features};
/// let features = Features::from(Matrix::from_vec(2, 2, vec![0.0, 1.0, 2.0, 0.0])?);
/// let mut row = [0.0; 2];
/// features.row_into(1, &mut row);
/// assert_eq!(row, [2.0, 0.0]);
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Features {
    /// Every value: 8 bytes each.
    Dense(Matrix),
    /// Only the values that differ from the background: 12 bytes each.
    Sparse(Sparse),
}

impl Default for Features {
    /// No rows and no columns.
    fn default() -> Self {
        Features::Dense(Matrix::default())
    }
}

impl From<Matrix> for Features {
    fn from(matrix: Matrix) -> Self {
        Features::Dense(matrix)
    }
}

impl From<Sparse> for Features {
    fn from(sparse: Sparse) -> Self {
        Features::Sparse(sparse)
    }
}

impl Features {
    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        match self {
            Features::Dense(matrix) => matrix.n_rows(),
            Features::Sparse(sparse) => sparse.n_rows(),
        }
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        match self {
            Features::Dense(matrix) => matrix.n_cols(),
            Features::Sparse(sparse) => sparse.n_cols(),
        }
    }

    /// Writes all values of row `i` into `row`, which must have one element per column; panics otherwise, as slices do.
    pub fn row_into(&self, i: usize, row: &mut [f64]) {
        match self {
            Features::Dense(matrix) => row.copy_from_slice(matrix.row(i)),
            Features::Sparse(sparse) => sparse.row_into(i, row),
        }
    }

    /// One value; of sparse rows in time logarithmic in what the row stores. Panics out of range, as slices do.
    pub(crate) fn value(&self, i: usize, j: usize) -> f64 {
        match self {
            Features::Dense(matrix) => matrix.get(i, j),
            Features::Sparse(sparse) => {
                let (columns, values) = sparse.entries(i);
                columns.binary_search(&(j as u32)).map_or(sparse.background()[j], |at| values[at])
            }
        }
    }

    /// The given rows, in the given order, copied in the same storage; panics on a row out of range, as slices do.
    pub fn select_rows(&self, rows: &[usize]) -> Features {
        match self {
            Features::Dense(matrix) => matrix.select_rows(rows).into(),
            Features::Sparse(sparse) => sparse.select_rows(rows).into(),
        }
    }

    /// The given columns, in the given order, copied in the same storage; panics on a column out of range, as slices
    /// do.
    pub fn select_cols(&self, cols: &[usize]) -> Features {
        match self {
            Features::Dense(matrix) => matrix.select_cols(cols).into(),
            Features::Sparse(sparse) => sparse.select_cols(cols).into(),
        }
    }

    /// The whole table as dense: borrowed if it already is, else built, at 8 bytes a value. Fails if the system lacks
    /// the memory for it.
    ///
    /// ```
    /// use multikernel::data::{Features, Sparse};
    /// let sparse = Sparse::from_parts(vec![1, 1], vec![2], vec![5.0], vec![0.0; 3])?;
    /// assert_eq!(Features::from(sparse).to_dense()?.data(), [0.0, 0.0, 5.0, 0.0, 0.0, 0.0]);
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn to_dense(&self) -> Result<Cow<'_, Matrix>> {
        self.to_dense_within(None)
    }

    /// [`Features::to_dense`], refused if a table that has to be built takes more than `limit` bytes.
    pub(crate) fn to_dense_within(&self, limit: Option<u64>) -> Result<Cow<'_, Matrix>> {
        let sparse = match self {
            Features::Dense(matrix) => return Ok(Cow::Borrowed(matrix)),
            Features::Sparse(sparse) => sparse,
        };
        let (n_rows, n_cols) = (sparse.n_rows(), sparse.n_cols());
        let need = u64::try_from(n_rows as u128 * n_cols as u128 * 8).unwrap_or(u64::MAX);
        let refuse = |limit: u64| Error::Memory {
            what: format!("the dense table of {n_rows} sparse rows with {n_cols} columns"),
            need,
            limit,
            help: message!["use fewer rows or columns, or raise ", Remedy::Memory],
        };
        if let Some(limit) = limit.filter(|&limit| need > limit) {
            return Err(refuse(limit));
        }
        let mut matrix = Matrix::try_zeros(n_rows, n_cols).ok_or_else(|| refuse(limit.unwrap_or(0)))?;
        for i in 0..n_rows {
            sparse.row_into(i, matrix.row_mut(i));
        }
        Ok(Cow::Owned(matrix))
    }

    /// The same rows in the storage of `other`, so that what is computed between the two does not depend on how the
    /// rows arrived: dense, or sparse over the same background. Unchanged if the numbers of columns differ.
    pub(crate) fn like(&self, other: &Features) -> Result<Cow<'_, Features>> {
        match (self, other) {
            _ if self.n_cols() != other.n_cols() => Ok(Cow::Borrowed(self)),
            (Features::Dense(_), Features::Dense(_)) => Ok(Cow::Borrowed(self)),
            (Features::Sparse(own), Features::Sparse(other)) if same_bits(&own.background, &other.background) => {
                Ok(Cow::Borrowed(self))
            }
            (_, Features::Dense(_)) => Ok(Cow::Owned(self.to_dense()?.into_owned().into())),
            (_, Features::Sparse(other)) => Ok(Cow::Owned(Sparse::over(&other.background, self)?.into())),
        }
    }

    /// Row, column and value of the first value, row by row, that is not finite.
    pub(crate) fn first_not_finite(&self) -> Option<(usize, usize, f64)> {
        let bad = |values: &[f64]| values.iter().position(|value| !value.is_finite());
        match self {
            Features::Dense(matrix) => matrix.rows().enumerate().find_map(|(i, row)| bad(row).map(|j| (i, j, row[j]))),
            // The background is finite.
            Features::Sparse(sparse) => (0..sparse.n_rows()).find_map(|i| {
                let (columns, values) = sparse.entries(i);
                bad(values).map(|k| (i, columns[k] as usize, values[k]))
            }),
        }
    }
}

/// Rows that keep only some of their values; all others are the background, one number per column.
///
/// Rows have background 0 when read. Standardising moves it to (0 - mean) / scale, so scaled rows stay just as sparse.
///
/// ```
/// use multikernel::data::Sparse;
/// // 0 7 0
/// // 1 0 2
/// let rows = Sparse::from_parts(vec![1, 3], vec![1, 0, 2], vec![7.0, 1.0, 2.0], vec![0.0; 3])?;
/// assert_eq!(rows.entries(1), (&[0, 2][..], &[1.0, 2.0][..]));
/// assert_eq!((rows.n_rows(), rows.n_cols(), rows.n_stored()), (2, 3, 3));
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Sparse {
    /// End offset of each row in `columns` and `values`.
    ends: Vec<usize>,
    /// The columns of stored values, ascending within a row.
    columns: Vec<u32>,
    /// The stored values themselves, not relative to the background.
    values: Vec<f64>,
    /// Finite, one value per column.
    background: Vec<f64>,
}

impl Sparse {
    /// Rows from their parts: the end offset of each row among the stored values; their columns, ascending within a
    /// row, from 0; the stored values; and, per column, the value of entries that are not stored.
    ///
    /// Inconsistent parts are an error, as are a background that is not finite and more than 2^32 columns.
    pub fn from_parts(ends: Vec<usize>, columns: Vec<u32>, values: Vec<f64>, background: Vec<f64>) -> Result<Self> {
        let n_cols = background.len();
        if n_cols as u64 > MAX_COLS {
            return Err(Error::input(format!("sparse rows of {n_cols} columns; at most {MAX_COLS} are allowed")));
        }
        if let Some(j) = background.iter().position(|value| !value.is_finite()) {
            return Err(Error::input(format!(
                "sparse rows: the background {} of column {} must be finite",
                background[j],
                j + 1
            )));
        }
        let n_stored = ends.last().copied().unwrap_or(0);
        if columns.len() != n_stored || values.len() != n_stored {
            return Err(Error::input(format!(
                "sparse rows: {} columns and {} values for rows that end at {n_stored}; give one of each per stored value",
                columns.len(),
                values.len()
            )));
        }
        let mut start = 0;
        for (i, &end) in ends.iter().enumerate() {
            let row = columns.get(start..end).ok_or_else(|| {
                Error::input(format!("sparse rows: row {} goes from {start} to {end}; ends must ascend", i + 1))
            })?;
            let ascend = row.windows(2).all(|pair| pair[0] < pair[1]);
            if !ascend || row.last().is_some_and(|&last| last as usize >= n_cols) {
                return Err(Error::input(format!(
                    "sparse rows: the columns of row {} must ascend and lie below {n_cols}",
                    i + 1
                )));
            }
            start = end;
        }
        Ok(Sparse { ends, columns, values, background })
    }

    /// Sparse rows that store the values that differ from a background in any bit.
    fn over(background: &[f64], rows: &Features) -> Result<Sparse> {
        let (mut ends, mut columns, mut values) = (Vec::with_capacity(rows.n_rows()), vec![], vec![]);
        let mut row = vec![0.0; rows.n_cols()];
        for i in 0..rows.n_rows() {
            rows.row_into(i, &mut row);
            for (j, (value, usual)) in row.iter().zip(background).enumerate() {
                if value.to_bits() != usual.to_bits() {
                    columns.push(j as u32);
                    values.push(*value);
                }
            }
            ends.push(columns.len());
        }
        Sparse::from_parts(ends, columns, values, background.to_vec())
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.ends.len()
    }

    /// Number of columns.
    pub fn n_cols(&self) -> usize {
        self.background.len()
    }

    /// Number of stored values.
    pub fn n_stored(&self) -> usize {
        self.values.len()
    }

    /// The stored values of row `i` and their columns, ascending; panics on a row out of range, as slices do.
    #[inline]
    pub fn entries(&self, i: usize) -> (&[u32], &[f64]) {
        let range = if i == 0 { 0 } else { self.ends[i - 1] }..self.ends[i];
        (&self.columns[range.clone()], &self.values[range])
    }

    /// Per column, the value of all entries that are not stored.
    pub fn background(&self) -> &[f64] {
        &self.background
    }

    /// Writes all values of row `i` into `row`.
    fn row_into(&self, i: usize, row: &mut [f64]) {
        row.copy_from_slice(&self.background);
        let (columns, values) = self.entries(i);
        for (&column, &value) in columns.iter().zip(values) {
            row[column as usize] = value;
        }
    }

    /// Row ends, columns and values, as [`Sparse::from_parts`] takes them.
    pub(crate) fn parts(&self) -> (&[usize], &[u32], &[f64]) {
        (&self.ends, &self.columns, &self.values)
    }

    /// The same sparsity pattern with other values: `value(column, stored)`, over another background, which must be
    /// finite.
    pub(crate) fn map(&self, value: impl Fn(usize, f64) -> f64, background: Vec<f64>) -> Sparse {
        let places = self.columns.iter().zip(&self.values);
        let values = places.map(|(&column, &stored)| value(column as usize, stored)).collect();
        Sparse { ends: self.ends.clone(), columns: self.columns.clone(), values, background }
    }

    /// The stored values column by column, each column in row order, and the end offset of each column.
    pub(crate) fn by_column(&self) -> (Vec<usize>, Vec<f64>) {
        let mut next = starts(self.n_cols(), self.columns.iter().map(|&column| column as usize));
        let mut values = vec![0.0; self.values.len()];
        for (&column, &value) in self.columns.iter().zip(&self.values) {
            let next = &mut next[column as usize];
            values[*next] = value;
            *next += 1;
        }
        // Each column has been filled up to its end.
        next.pop();
        (next, values)
    }

    fn select_rows(&self, rows: &[usize]) -> Sparse {
        let n_stored = rows.iter().map(|&i| self.entries(i).0.len()).sum();
        let mut ends = Vec::with_capacity(rows.len());
        let (mut columns, mut values) = (Vec::with_capacity(n_stored), Vec::with_capacity(n_stored));
        for &i in rows {
            let entries = self.entries(i);
            columns.extend_from_slice(entries.0);
            values.extend_from_slice(entries.1);
            ends.push(columns.len());
        }
        Sparse { ends, columns, values, background: self.background.clone() }
    }

    fn select_cols(&self, cols: &[usize]) -> Sparse {
        assert!(cols.len() as u64 <= MAX_COLS, "{} columns are more than {MAX_COLS}", cols.len());
        let background = cols.iter().map(|&j| self.background[j]).collect();
        // The new positions of old column j are `places[starts[j]..starts[j + 1]]`: none, one, or several.
        let starts = starts(self.n_cols(), cols.iter().copied());
        let mut next = starts.clone();
        let mut places = vec![0u32; cols.len()];
        for (new, &old) in cols.iter().enumerate() {
            places[next[old]] = new as u32;
            next[old] += 1;
        }
        let (mut ends, mut columns, mut values) = (Vec::with_capacity(self.n_rows()), vec![], vec![]);
        let mut row: Vec<(u32, f64)> = vec![];
        for i in 0..self.n_rows() {
            row.clear();
            let (old, stored) = self.entries(i);
            for (&old, &value) in old.iter().zip(stored) {
                let new = &places[starts[old as usize]..starts[old as usize + 1]];
                row.extend(new.iter().map(|&new| (new, value)));
            }
            row.sort_unstable_by_key(|&(new, _)| new);
            columns.extend(row.iter().map(|&(new, _)| new));
            values.extend(row.iter().map(|&(_, value)| value));
            ends.push(columns.len());
        }
        Sparse { ends, columns, values, background }
    }
}

/// Column indices are stored in 32 bits.
const MAX_COLS: u64 = 1 << 32;

/// Start offset of each of `n` groups of items once sorted by group, and the end of the last: n + 1 numbers.
fn starts(n: usize, groups: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut starts = vec![0; n + 1];
    groups.for_each(|group| starts[group + 1] += 1);
    for j in 0..n {
        starts[j + 1] += starts[j];
    }
    starts
}

fn same_bits(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The same values in sparse storage, as a reader would keep them: everything but the background is stored.
    pub(crate) fn sparse(matrix: &Matrix, background: &[f64]) -> Features {
        Sparse::over(background, &matrix.clone().into()).unwrap().into()
    }

    /// A table whose values often equal its background, and the background.
    pub(crate) fn tables() -> impl Strategy<Value = (Matrix, Vec<f64>)> {
        (0usize..9, 1usize..9).prop_flat_map(|(n, d)| {
            let values = prop::collection::vec(prop::option::weighted(0.4, -9i32..9), n * d);
            let background = prop::collection::vec(prop::sample::select(vec![0.0, 0.0, -0.0, -1.5]), d);
            (values, background).prop_map(move |(values, background)| {
                let matrix = Matrix::from_fn(n, d, |i, j| values[i * d + j].map_or(background[j], f64::from));
                (matrix, background)
            })
        })
    }

    fn bits(features: &Features) -> Vec<u64> {
        features.to_dense().unwrap().data().iter().map(|value| value.to_bits()).collect()
    }

    /// Everything stored is in its place: the conditions `from_parts` checks.
    fn check(features: &Features) {
        let Features::Sparse(sparse) = features else { panic!("dense: {features:?}") };
        let (ends, columns, values) = sparse.parts();
        let parts = (ends.to_vec(), columns.to_vec(), values.to_vec(), sparse.background.clone());
        Sparse::from_parts(parts.0, parts.1, parts.2, parts.3).unwrap();
    }

    proptest! {
        #[test]
        fn sparse_rows_are_the_dense_ones((matrix, background) in tables()) {
            let dense = Features::from(matrix.clone());
            let features = sparse(&matrix, &background);
            check(&features);
            prop_assert_eq!((features.n_rows(), features.n_cols()), (matrix.n_rows(), matrix.n_cols()));
            prop_assert_eq!(bits(&features), bits(&dense));
            let mut row = vec![f64::NAN; matrix.n_cols()];
            for i in 0..matrix.n_rows() {
                features.row_into(i, &mut row);
                prop_assert_eq!(&row[..], matrix.row(i));
                let bits = |of: &Features, j| of.value(i, j).to_bits();
                prop_assert!((0..matrix.n_cols()).all(|j| bits(&features, j) == bits(&dense, j)));
            }
            let Features::Sparse(rows) = &features else { unreachable!() };
            let usual = |(k, value): (usize, &f64)| value.to_bits() == background[k % background.len()].to_bits();
            let n_usual = matrix.data().iter().enumerate().filter(|&at| usual(at)).count();
            prop_assert_eq!(rows.n_stored(), matrix.data().len() - n_usual);
        }

        #[test]
        fn selections_of_sparse_rows_are_those_of_dense_ones(
            (matrix, background) in tables(), picks in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let features = sparse(&matrix, &background);
            // In any order, with repeats.
            let cols: Vec<usize> = picks.iter().map(|pick| pick.index(matrix.n_cols())).collect();
            let picked = features.select_cols(&cols);
            check(&picked);
            prop_assert_eq!(bits(&picked), bits(&matrix.select_cols(&cols).into()));
            prop_assert_eq!(picked.n_cols(), cols.len());
            if matrix.n_rows() > 0 {
                let rows: Vec<usize> = picks.iter().map(|pick| pick.index(matrix.n_rows())).collect();
                let picked = features.select_rows(&rows);
                check(&picked);
                prop_assert_eq!(bits(&picked), bits(&matrix.select_rows(&rows).into()));
            }
        }

        #[test]
        fn by_column_are_the_stored_values_of_each((matrix, background) in tables()) {
            let Features::Sparse(rows) = sparse(&matrix, &background) else { unreachable!() };
            let (ends, values) = rows.by_column();
            let mut start = 0;
            for (j, &end) in ends.iter().enumerate() {
                let mut column = matrix.column(j);
                column.retain(|value| value.to_bits() != background[j].to_bits());
                prop_assert_eq!(&values[start..end], &column[..]);
                start = end;
            }
            prop_assert_eq!((ends.len(), start), (matrix.n_cols(), values.len()));
        }

        #[test]
        fn like_keeps_the_values_and_takes_the_way_of_the_other(
            (matrix, background) in tables(), (_, other) in tables(),
        ) {
            let dense = Features::from(matrix.clone());
            let features = sparse(&matrix, &background);
            let mut other = other;
            other.resize(matrix.n_cols(), 2.0);
            let elsewhere = sparse(&Matrix::zeros(1, other.len()), &other);
            for rows in [&dense, &features] {
                prop_assert_eq!(&*rows.like(&dense).unwrap(), &dense);
                prop_assert_eq!(&*rows.like(&features).unwrap(), &features);
                let moved = rows.like(&elsewhere).unwrap();
                check(&moved);
                let Features::Sparse(sparse) = &*moved else { unreachable!() };
                prop_assert!(same_bits(sparse.background(), &other));
                prop_assert_eq!(bits(&moved), bits(&dense));
            }
            prop_assert_eq!(&*dense.like(&sparse(&Matrix::zeros(1, 20), &[0.0; 20])).unwrap(), &dense);
        }
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let message = |ends: &[usize], columns: &[u32], values: &[f64], background: &[f64]| {
            let parts = (ends.to_vec(), columns.to_vec(), values.to_vec(), background.to_vec());
            Sparse::from_parts(parts.0, parts.1, parts.2, parts.3).unwrap_err().to_string()
        };
        let lengths = "for rows that end at 2; give one of each per stored value";
        assert_eq!(
            message(&[2], &[0], &[1.0, 2.0], &[0.0; 2]),
            format!("sparse rows: 1 columns and 2 values {lengths}")
        );
        assert_eq!(message(&[2], &[0, 1], &[1.0], &[0.0; 2]), format!("sparse rows: 2 columns and 1 values {lengths}"));
        assert!(message(&[], &[0], &[1.0], &[0.0]).contains("rows that end at 0"));
        let ends = "sparse rows: row 2 goes from 2 to 1; ends must ascend";
        assert_eq!(message(&[2, 1], &[0], &[1.0], &[0.0; 2]), "sparse rows: row 1 goes from 0 to 2; ends must ascend");
        assert_eq!(message(&[2, 1, 3], &[0, 1, 0], &[1.0; 3], &[0.0; 2]), ends);
        assert!(message(&[usize::MAX, 1], &[0], &[1.0], &[0.0; 2]).contains("row 1 goes from 0 to"));
        let columns = |row| format!("sparse rows: the columns of row {row} must ascend and lie below 2");
        assert_eq!(message(&[1, 3], &[1, 1, 0], &[1.0; 3], &[0.0; 2]), columns(2));
        assert_eq!(message(&[1, 3], &[1, 1, 1], &[1.0; 3], &[0.0; 2]), columns(2));
        assert_eq!(message(&[1, 1], &[2], &[1.0], &[0.0; 2]), columns(1));
        assert_eq!(
            message(&[], &[], &[], &[0.0, f64::INFINITY]),
            "sparse rows: the background inf of column 2 must be finite"
        );
    }

    #[test]
    fn dense_table_over_the_memory_allowed_is_refused() {
        let wide: Features = Sparse::from_parts(vec![0; 1000], vec![], vec![], vec![0.0; 1000]).unwrap().into();
        assert_eq!(wide.to_dense_within(Some(8_000_000)).unwrap().n_rows(), 1000);
        assert!(wide.to_dense_within(Some(7_999_999)).is_err());
        assert_eq!(
            wide.to_dense_within(Some(4_000_000)).unwrap_err().to_string(),
            "the dense table of 1000 sparse rows with 1000 columns needs 7.6 MiB but 3.8 MiB may be used; \
             use fewer rows or columns, or raise the memory limit"
        );
        // More memory than any machine has.
        let rows = Sparse::from_parts(vec![0; 1 << 22], vec![], vec![], vec![0.0; 1 << 22]).unwrap();
        assert!(matches!(Features::from(rows).to_dense().unwrap_err(), Error::Memory { limit: 0, .. }));
        // Dense features need no further memory.
        assert!(Features::from(Matrix::zeros(10, 10)).to_dense_within(Some(1)).is_ok());
    }

    #[test]
    fn first_not_finite_value_is_found_row_by_row() {
        let matrix = Matrix::from_vec(3, 3, vec![0.0, 0.0, 1.0, 0.0, f64::NAN, f64::INFINITY, f64::NAN, 0.0, 0.0]);
        let matrix = matrix.unwrap();
        for features in [sparse(&matrix, &[0.0; 3]), matrix.into()] {
            let (i, j, value) = features.first_not_finite().unwrap();
            assert!((i, j) == (1, 1) && value.is_nan());
            assert!(features.select_rows(&[0]).first_not_finite().is_none());
        }
    }
}
