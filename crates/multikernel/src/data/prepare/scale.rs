//! Standardising columns with statistics of the training rows.

use crate::error::{Error, Result};
use crate::features::{Features, Sparse};
use crate::linalg::Matrix;

/// A mean and a scale per column: `(x - mean) / scale`.
///
/// Learned on training rows and then applied to any rows, so no information from test rows leaks into training. A
/// column that is constant on the training rows has scale 1, so it becomes 0 there and keeps its unit elsewhere.
///
/// ```
/// use multikernel::{Matrix, data::Scaler};
/// let train = Matrix::from_vec(2, 1, vec![1.0, 3.0])?.into();
/// let scaler = Scaler::fit(&train)?;
/// assert_eq!(scaler.apply(&train)?.to_dense()?.data(), [-1.0, 1.0]);
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scaler {
    mean: Vec<f64>,
    scale: Vec<f64>,
}

impl Scaler {
    /// Learns the mean and population standard deviation (divisor n) of each column; the rows must be finite.
    ///
    /// Handles columns of any finite magnitude: sums run on values divided by a power of two, so 1e300 does not
    /// overflow, and no bit changes at ordinary magnitudes. Sparse rows cost as much as they store; the results are
    /// those of the dense table up to rounding, because background values are counted rather than added one by one.
    pub fn fit(rows: &Features) -> Result<Self> {
        if rows.n_rows() == 0 {
            return Err(Error::input("cannot learn a scale from no rows; give at least one"));
        }
        if let Some((i, j, value)) = rows.first_not_finite() {
            return Err(Error::input(format!(
                "row {}, column {}: {value} cannot be scaled; give finite numbers",
                i + 1,
                j + 1,
            )));
        }
        let (mean, scale) = match rows {
            Features::Dense(rows) => (0..rows.n_cols()).map(|j| moments(&rows.column(j), None)).unzip(),
            Features::Sparse(rows) => sparse_moments(rows),
        };
        Ok(Scaler { mean, scale })
    }

    /// The scaler that changes nothing in `n_features` columns.
    pub fn identity(n_features: usize) -> Self {
        Scaler { mean: vec![0.0; n_features], scale: vec![1.0; n_features] }
    }

    /// A scaler from stored numbers: equally many means and scales, all finite, scales positive.
    pub fn from_parts(mean: Vec<f64>, scale: Vec<f64>) -> Result<Self> {
        if mean.len() != scale.len() {
            return Err(Error::input(format!("scaler: {} means but {} scales", mean.len(), scale.len())));
        }
        if let Some(j) = mean.iter().position(|mean| !mean.is_finite()) {
            return Err(Error::input(format!("scaler: mean {} of column {} must be finite", mean[j], j + 1)));
        }
        if let Some(j) = scale.iter().position(|scale| !(scale.is_finite() && *scale > 0.0)) {
            return Err(Error::input(format!(
                "scaler: scale {} of column {} must be positive and finite",
                scale[j],
                j + 1
            )));
        }
        Ok(Scaler { mean, scale })
    }

    /// Mean of each column.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The divisor of each centred column.
    pub fn scale(&self) -> &[f64] {
        &self.scale
    }

    /// The scaled rows, in the same storage. A different number of columns is an error, and so is a value so far
    /// outside the training range that its scaled value is not finite.
    pub fn apply(&self, rows: &Features) -> Result<Features> {
        if rows.n_cols() != self.mean.len() {
            return Err(Error::input(format!(
                "the rows have {} columns, the scaler was learned on {}",
                rows.n_cols(),
                self.mean.len()
            )));
        }
        let scaled = match rows {
            Features::Dense(rows) => {
                let mut scaled = rows.clone();
                (0..rows.n_rows()).for_each(|i| self.standardise(scaled.row_mut(i)));
                Some(scaled.into())
            }
            Features::Sparse(rows) => self.apply_sparse(rows).map(Features::from),
        };
        scaled.filter(|scaled| scaled.first_not_finite().is_none()).ok_or_else(|| self.too_far(rows))
    }

    /// Scaled rows in their own units again: `x scale + mean`, the inverse of [`Scaler::apply`] up to rounding. A
    /// different number of columns is an error.
    ///
    /// ```
    /// use multikernel::{Matrix, data::Scaler};
    /// let rows = Matrix::from_vec(2, 1, vec![1.0, 3.0])?.into();
    /// let scaler = Scaler::fit(&rows)?;
    /// assert_eq!(scaler.undo(&scaler.apply(&rows)?)?, rows);
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn undo(&self, rows: &Features) -> Result<Features> {
        if rows.n_cols() != self.mean.len() {
            let (found, known) = (rows.n_cols(), self.mean.len());
            return Err(Error::input(format!("the rows have {found} columns, the scaler was learned on {known}")));
        }
        // A value below the rounding of its mean was 0: a row of zeros has no direction, and must have none here.
        let own = |j: usize, value: f64| {
            let own = value * self.scale[j] + self.mean[j];
            if own.abs() <= 4.0 * f64::EPSILON * self.mean[j].abs() { 0.0 } else { own }
        };
        Ok(match rows {
            Features::Dense(rows) => {
                Matrix::from_fn(rows.n_rows(), rows.n_cols(), |i, j| own(j, rows.get(i, j))).into()
            }
            Features::Sparse(rows) => {
                let background = rows.background().iter().enumerate().map(|(j, &value)| own(j, value)).collect();
                rows.map(own, background).into()
            }
        })
    }

    /// `None` if the background of a column is needed and cannot be scaled.
    fn apply_sparse(&self, rows: &Sparse) -> Option<Sparse> {
        let mut background = rows.background().to_vec();
        self.standardise(&mut background);
        if background.iter().any(|value| !value.is_finite()) {
            let (ends, _) = rows.by_column();
            let mut start = 0;
            for (value, end) in background.iter_mut().zip(ends) {
                if !value.is_finite() && end - start < rows.n_rows() {
                    return None;
                }
                // No entry of this column is background: any value will do.
                if !value.is_finite() {
                    *value = 0.0;
                }
                start = end;
            }
        }
        Some(rows.map(|j, value| standardise(value, self.mean[j], self.scale[j]), background))
    }

    fn standardise(&self, row: &mut [f64]) {
        for (value, (&mean, &scale)) in row.iter_mut().zip(self.mean.iter().zip(&self.scale)) {
            *value = standardise(*value, mean, scale);
        }
    }

    /// The error for rows with a value that cannot be scaled; names the first such value.
    fn too_far(&self, rows: &Features) -> Error {
        let mut row = vec![0.0; rows.n_cols()];
        for i in 0..rows.n_rows() {
            rows.row_into(i, &mut row);
            let numbers = row.iter().zip(self.mean.iter().zip(&self.scale)).enumerate();
            for (j, (&value, (&mean, &scale))) in numbers {
                if !standardise(value, mean, scale).is_finite() {
                    return Error::input(format!(
                        "row {}, column {}: {value} is too far from the training mean {mean} (scale {scale}) to be \
                         scaled; check the value",
                        i + 1,
                        j + 1,
                    ));
                }
            }
        }
        Error::input("a value cannot be scaled; check the values")
    }
}

fn standardise(value: f64, mean: f64, scale: f64) -> f64 {
    let centred = value - mean;
    // Two huge numbers of opposite sign leave the range of f64 although their scaled difference does not.
    if centred.is_finite() { centred / scale } else { (0.5 * value - 0.5 * mean) / scale * 2.0 }
}

/// Mean and scale of each column of sparse rows.
pub(super) fn sparse_moments(rows: &Sparse) -> (Vec<f64>, Vec<f64>) {
    let (ends, values) = rows.by_column();
    let mut start = 0;
    let column = |(&end, &background): (&usize, &f64)| {
        let stored = &values[start..end];
        start = end;
        let n_others = rows.n_rows() - stored.len();
        moments(stored, (n_others > 0).then_some((n_others as f64, background)))
    };
    ends.iter().zip(rows.background()).map(column).unzip()
}

/// Mean and scale of a column of finite numbers: the stored ones and, if there are others, a count of one repeated
/// value.
pub(super) fn moments(stored: &[f64], others: Option<(f64, f64)>) -> (f64, f64) {
    let other = others.map(|(_, value)| value);
    let all = || stored.iter().copied().chain(other);
    let first = all().next().unwrap_or(0.0);
    // Compared value by value: the computed deviation of a constant column need not be exactly 0.
    if all().all(|value| value == first) {
        return (first, 1.0);
    }
    let unit = power_of_two_below(all().fold(0.0f64, |largest, value| largest.max(value.abs())));
    let n = stored.len() as f64 + others.map_or(0.0, |(count, _)| count);
    // Second pass over the deviations: removes the rounding error of the first mean (Chan, Golub and LeVeque 1983).
    let rough = sum(stored, others, |value| value / unit) / n;
    let shift = sum(stored, others, |value| value / unit - rough) / n;
    let mean = rough + shift;
    let squares = sum(stored, others, |value| (value / unit - mean) * (value / unit - mean));
    let rest = sum(stored, others, |value| value / unit - mean);
    let variance = (squares - rest * rest / n) / n;
    // Out of the range of f64 only by rounding, or for columns of subnormal numbers.
    let scale = (variance.max(0.0).sqrt() * unit).clamp(f64::from_bits(1), f64::MAX);
    (mean * unit, scale)
}

/// The sum of `term` over a column.
fn sum(stored: &[f64], others: Option<(f64, f64)>, term: impl Fn(f64) -> f64) -> f64 {
    let sum = stored.iter().map(|&value| term(value)).sum();
    others.map_or(sum, |(count, value)| sum + count * term(value))
}

/// A power of two near but not above `value > 0`, restricted so that it and its inverse are normal numbers.
fn power_of_two_below(value: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
    f64::from_bits(value.to_bits() & EXPONENT).clamp(2.0f64.powi(-1022), 2.0f64.powi(1022))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::features::tests::{sparse, tables};
    use crate::linalg::Matrix;

    fn column(values: &[f64]) -> Features {
        Matrix::from_vec(values.len(), 1, values.to_vec()).unwrap().into()
    }

    fn dense(features: &Features) -> Vec<f64> {
        features.to_dense().unwrap().into_owned().into_data()
    }

    #[test]
    fn fit_known_columns_gives_population_moments() {
        let rows = Matrix::from_vec(4, 2, vec![2.0, 1.0, 4.0, 1.0, 4.0, 1.0, 6.0, 1.0]).unwrap().into();
        let scaler = Scaler::fit(&rows).unwrap();
        assert_eq!(scaler.mean(), [4.0, 1.0]);
        assert_eq!(scaler.scale(), [2.0f64.sqrt(), 1.0]);
    }

    #[test]
    fn constant_columns_become_exactly_zero() {
        // 0.1 summed ten times is not 1.0, so a computed deviation would be noise and blow the column up.
        for value in [0.1, 0.3, 1e300, -7.1e-300, 0.0, f64::MAX] {
            let rows = column(&[value; 10]);
            let scaler = Scaler::fit(&rows).unwrap();
            assert_eq!((scaler.mean(), scaler.scale()), (&[value][..], &[1.0][..]));
            assert!(dense(&scaler.apply(&rows).unwrap()).iter().all(|&x| x == 0.0));
        }
        assert_eq!(Scaler::fit(&column(&[0.0, -0.0])).unwrap().scale(), [1.0]);
    }

    #[test]
    fn new_rows_use_the_training_numbers() {
        let scaler = Scaler::fit(&column(&[0.0, 10.0])).unwrap();
        assert_eq!(dense(&scaler.apply(&column(&[5.0, 15.0, -20.0])).unwrap()), [0.0, 2.0, -5.0]);
        let constant = Scaler::fit(&column(&[3.0, 3.0])).unwrap();
        assert_eq!(dense(&constant.apply(&column(&[5.0])).unwrap()), [2.0]);
    }

    #[test]
    fn huge_and_tiny_columns_neither_overflow_nor_vanish() {
        for size in [1e300, f64::MAX, 1e-300, f64::MIN_POSITIVE] {
            let rows = column(&[-size, -size, size]);
            let scaled = Scaler::fit(&rows).unwrap().apply(&rows).unwrap();
            // Mean -1/3 and variance 8/9 in units of the size.
            let expected = [-0.5f64.sqrt(), -0.5f64.sqrt(), 2.0f64.sqrt()];
            for (x, e) in dense(&scaled).iter().zip(expected) {
                assert!((x - e).abs() < 1e-15 * 4.0, "{size}: {x} {e}");
            }
        }
        let smallest = f64::from_bits(1);
        let rows = column(&[0.0, smallest]);
        assert!(dense(&Scaler::fit(&rows).unwrap().apply(&rows).unwrap()).iter().all(|x| x.is_finite()));
    }

    #[test]
    fn large_offset_keeps_the_spread() {
        // A one-pass formula (mean of squares less squared mean) loses all digits here.
        let rows = column(&[1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0]);
        let scaler = Scaler::fit(&rows).unwrap();
        assert_eq!((scaler.mean()[0], scaler.scale()[0]), (1e9 + 10.0, 22.5f64.sqrt()));
    }

    #[test]
    fn long_sums_keep_the_mean() {
        // The running sum leaves the whole numbers an f64 can hold: one pass alone is off by more than the spread.
        let values: Vec<f64> = (0..100_000).map(|i| 1e15 + f64::from(i % 2)).collect();
        assert_ne!(values.iter().sum::<f64>() / values.len() as f64, 1e15 + 0.5);
        let scaler = Scaler::fit(&column(&values)).unwrap();
        assert_eq!((scaler.mean()[0], scaler.scale()[0]), (1e15 + 0.5, 0.5));
    }

    #[test]
    fn bad_parts_and_shapes_refused() {
        let message = |result: Result<Scaler>| result.unwrap_err().to_string();
        assert_eq!(message(Scaler::from_parts(vec![0.0], vec![])), "scaler: 1 means but 0 scales");
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(
                message(Scaler::from_parts(vec![0.0], vec![bad])),
                format!("scaler: scale {bad} of column 1 must be positive and finite")
            );
        }
        assert_eq!(
            message(Scaler::from_parts(vec![0.0, f64::NAN], vec![1.0, 1.0])),
            "scaler: mean NaN of column 2 must be finite"
        );
        assert!(Scaler::fit(&Matrix::zeros(0, 2).into()).is_err());
        assert!(Scaler::fit(&column(&[1.0, f64::NAN])).is_err());
        let identity = Scaler::identity(2);
        assert_eq!(
            identity.apply(&column(&[1.0])).unwrap_err().to_string(),
            "the rows have 1 columns, the scaler was learned on 2"
        );
        let rows = Matrix::from_vec(1, 2, vec![1.5, -2.0]).unwrap().into();
        assert_eq!(identity.apply(&rows).unwrap(), rows);
    }

    #[test]
    fn value_too_far_to_scale_refused() {
        let scaler = Scaler::from_parts(vec![0.0], vec![1e-200]).unwrap();
        let message = scaler.apply(&column(&[1e200])).unwrap_err().to_string();
        assert!(message.starts_with("row 1, column 1: 1"), "{message}");
    }

    #[test]
    fn sparse_columns_have_the_moments_of_dense_ones_whatever_their_size() {
        let largest = f64::MAX;
        // Constant and stored, constant and not stored, none stored, one value, huge, opposite and huge, tiny, offset.
        let columns = [
            [3.0; 5],
            [0.0; 5],
            [0.0, 0.0, -0.0, 0.0, 0.0],
            [0.0, 7.0, 0.0, 0.0, 0.0],
            [1e300, 0.0, -1e300, 1e300, 0.0],
            [largest, -largest, largest, 0.0, 0.0],
            [0.0, 5e-324, 0.0, 1e-320, 0.0],
            [1e9 + 4.0, 1e9 + 7.0, 1e9 + 13.0, 1e9 + 16.0, 0.0],
        ];
        let matrix = Matrix::from_fn(5, columns.len(), |i, j| columns[j][i]);
        // An entry of column 1 is stored although it is the background.
        let background: Vec<f64> = (0..columns.len()).map(|j| if j == 1 { -0.0 } else { 0.0 }).collect();
        check_sparse(&matrix, &background);
        check_sparse(&matrix, &[0.0; 8]);
        check_sparse(&matrix, &[3.0, 0.0, 0.0, 7.0, 1e300, largest, 5e-324, 1e9 + 4.0]);
    }

    /// Moments and scaled rows of a sparse table match those of the dense table.
    fn check_sparse(matrix: &Matrix, background: &[f64]) {
        let (rows, table) = (sparse(matrix, background), matrix.clone().into());
        let (found, expected) = (Scaler::fit(&rows).unwrap(), Scaler::fit(&table).unwrap());
        let n = matrix.n_rows() as f64;
        for j in 0..matrix.n_cols() {
            let size = matrix.column(j).iter().fold(0.0f64, |size, value| size.max(value.abs()));
            // A mean is accurate to a rounding of the largest value, a sum of n squares to n roundings. Below the
            // normal numbers a rounding is the smallest subnormal.
            let least = f64::from_bits(1);
            let (a, b) = (found.mean()[j], expected.mean()[j]);
            assert!((a - b).abs() <= 4.0 * f64::EPSILON * size + least, "mean {j}: {a} {b}");
            let (a, b) = (found.scale()[j], expected.scale()[j]);
            assert!((a - b).abs() <= (n + 4.0) * f64::EPSILON * b + least, "scale {j}: {a} {b}");
        }
        let (scaled, table) = (expected.apply(&rows).unwrap(), expected.apply(&table).unwrap());
        assert!(matches!(&scaled, Features::Sparse(_)));
        let bits = |features: &Features| dense(features).iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&scaled), bits(&table), "the same scaler gives the same bits");
    }

    #[test]
    fn sparse_values_too_far_to_scale_refused_like_dense_ones() {
        // Of the background, of a stored value before it and after it; columns 1 and 2 never show their background.
        let scaler = Scaler::from_parts(vec![1e200, 0.0, 0.0, 1e200], vec![1e-200, 1e-200, 1.0, 1.0]).unwrap();
        let row = |first: f64, second: f64| [first, second, 5.0, 0.0];
        let message = |rows: &[[f64; 4]]| {
            let matrix = Matrix::from_fn(rows.len(), 4, |i, j| rows[i][j]);
            let refused = |features: &Features| scaler.apply(features).map(|_| ()).map_err(|error| error.to_string());
            let (found, expected) = (refused(&sparse(&matrix, &[0.0; 4])), refused(&matrix.into()));
            assert_eq!(found, expected);
            found
        };
        assert!(message(&[row(0.0, 1.0)]).unwrap_err().starts_with("row 1, column 1: 0 is too far"));
        assert!(message(&[row(1e200, 1e200), row(0.0, 1.0)]).unwrap_err().starts_with("row 1, column 2: 1"));
        assert!(message(&[row(1e200, 1.0), row(0.0, 1e200)]).unwrap_err().starts_with("row 2, column 1: 0 is too far"));
        assert_eq!(message(&[row(1e200, 0.0), row(1e200, 1.0)]), Ok(()));
    }

    proptest! {
        #[test]
        fn sparse_moments_are_those_of_the_table((matrix, background) in tables()) {
            if matrix.n_rows() > 0 {
                check_sparse(&matrix, &background);
            }
        }

        #[test]
        fn scaled_training_rows_have_mean_0_and_deviation_1(
            values in prop::collection::vec(-1e3f64..1e3, 2..40), offset in -1e3f64..1e3,
        ) {
            let values: Vec<f64> = values.iter().map(|value| value + offset).collect();
            let spread = values.iter().cloned().fold(f64::MIN, f64::max) - values.iter().cloned().fold(f64::MAX, f64::min);
            prop_assume!(spread > 1e-3);
            let scaled = dense(&Scaler::fit(&column(&values)).unwrap().apply(&column(&values)).unwrap());
            let n = scaled.len() as f64;
            let mean = scaled.iter().sum::<f64>() / n;
            let variance = scaled.iter().map(|x| x * x).sum::<f64>() / n;
            // Rounding of x - mean is half a unit in the last place of values up to 2e3, seen in units of the
            // deviation, which is at least spread / sqrt(2 n).
            let bound = 2e3 * f64::EPSILON * (2.0 * n).sqrt() / spread * 4.0 + 1e-13;
            prop_assert!(mean.abs() < bound, "{mean}");
            prop_assert!((variance - 1.0).abs() < bound * 4.0, "{variance}");
        }

        #[test]
        fn power_of_two_scaling_changes_no_bit(values in prop::collection::vec(-1e3f64..1e3, 2..20)) {
            let big: Vec<f64> = values.iter().map(|value| value * 2.0f64.powi(1000)).collect();
            let (a, b) = (Scaler::fit(&column(&values)).unwrap(), Scaler::fit(&column(&big)).unwrap());
            prop_assert_eq!(a.mean()[0] * 2.0f64.powi(1000), b.mean()[0]);
            if a.scale()[0] != 1.0 {
                prop_assert_eq!(a.scale()[0] * 2.0f64.powi(1000), b.scale()[0]);
            }
        }
    }
}
