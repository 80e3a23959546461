//! Standardising columns with numbers learned on the training rows.

use crate::error::{Error, Result};
use crate::linalg::Matrix;

/// Per column a mean and a scale: `(x - mean) / scale`.
///
/// Learned on training rows and then applied to any rows, so nothing of the test rows leaks into training. A column
/// that is constant on the training rows has scale 1, so it becomes 0 there and keeps its unit elsewhere.
///
/// ```
/// use multikernel::{Matrix, data::Scaler};
/// let train = Matrix::from_vec(2, 1, vec![1.0, 3.0])?;
/// let scaler = Scaler::fit(&train)?;
/// assert_eq!(scaler.apply(&train)?.data(), [-1.0, 1.0]);
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Scaler {
    mean: Vec<f64>,
    scale: Vec<f64>,
}

impl Scaler {
    /// Learns mean and population standard deviation (divisor n) of each column; the rows must be finite.
    ///
    /// Columns of any finite size are handled: sums run on values divided by a power of two, so 1e300 does not
    /// overflow, and no bit changes for ordinary sizes.
    pub fn fit(rows: &Matrix) -> Result<Self> {
        if rows.n_rows() == 0 {
            return Err(Error::input("cannot learn a scale from no rows; give at least one"));
        }
        for (i, row) in rows.rows().enumerate() {
            if let Some(j) = row.iter().position(|value| !value.is_finite()) {
                return Err(Error::input(format!(
                    "row {}, column {}: {} cannot be scaled; give finite numbers",
                    i + 1,
                    j + 1,
                    row[j]
                )));
            }
        }
        let (mean, scale) = (0..rows.n_cols()).map(|j| moments(&rows.column(j))).unzip();
        Ok(Scaler { mean, scale })
    }

    /// The scaler that changes nothing in `n_features` columns.
    pub fn identity(n_features: usize) -> Self {
        Scaler { mean: vec![0.0; n_features], scale: vec![1.0; n_features] }
    }

    /// A scaler from stored numbers: as many scales as means, all finite, scales positive.
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

    /// What each centred column is divided by.
    pub fn scale(&self) -> &[f64] {
        &self.scale
    }

    /// The rows, scaled. Another number of columns is an error, and so is a value so far outside the training range
    /// that its scaled value is no finite number.
    pub fn apply(&self, rows: &Matrix) -> Result<Matrix> {
        if rows.n_cols() != self.mean.len() {
            return Err(Error::input(format!(
                "the rows have {} columns, the scaler was learned on {}",
                rows.n_cols(),
                self.mean.len()
            )));
        }
        let mut scaled = rows.clone();
        for i in 0..rows.n_rows() {
            let numbers = self.mean.iter().zip(&self.scale);
            for (j, (value, (&mean, &scale))) in scaled.row_mut(i).iter_mut().zip(numbers).enumerate() {
                let result = standardise(*value, mean, scale);
                if !result.is_finite() {
                    return Err(Error::input(format!(
                        "row {}, column {}: {value} is too far from the training mean {mean} (scale {scale}) to be \
                         scaled; check the value",
                        i + 1,
                        j + 1,
                    )));
                }
                *value = result;
            }
        }
        Ok(scaled)
    }
}

fn standardise(value: f64, mean: f64, scale: f64) -> f64 {
    let centred = value - mean;
    // Two huge numbers of opposite sign leave the range of f64 although their scaled difference does not.
    if centred.is_finite() { centred / scale } else { (0.5 * value - 0.5 * mean) / scale * 2.0 }
}

/// Mean and scale of a column of finite numbers.
fn moments(column: &[f64]) -> (f64, f64) {
    let first = column[0];
    // Compared value by value: the computed deviation of a constant column need not be exactly 0.
    if column.iter().all(|&value| value == first) {
        return (first, 1.0);
    }
    let largest = column.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
    let unit = power_of_two_below(largest);
    let n = column.len() as f64;
    let scaled = || column.iter().map(|value| value / unit);
    // Second pass over the deviations: removes the rounding error of the first mean (Chan, Golub and LeVeque 1983).
    let rough = scaled().sum::<f64>() / n;
    let shift = scaled().map(|value| value - rough).sum::<f64>() / n;
    let mean = rough + shift;
    let (mut squares, mut rest) = (0.0, 0.0);
    for value in scaled() {
        squares += (value - mean) * (value - mean);
        rest += value - mean;
    }
    let variance = (squares - rest * rest / n) / n;
    // Below the smallest or above the largest f64 only by rounding, or for columns of subnormal numbers.
    let scale = (variance.max(0.0).sqrt() * unit).clamp(f64::from_bits(1), f64::MAX);
    (mean * unit, scale)
}

/// A power of two near and not above `value > 0`, kept where it and its inverse are normal numbers.
fn power_of_two_below(value: f64) -> f64 {
    const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
    f64::from_bits(value.to_bits() & EXPONENT).clamp(2.0f64.powi(-1022), 2.0f64.powi(1022))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn column(values: &[f64]) -> Matrix {
        Matrix::from_vec(values.len(), 1, values.to_vec()).unwrap()
    }

    #[test]
    fn fit_known_columns_gives_population_moments() {
        let rows = Matrix::from_vec(4, 2, vec![2.0, 1.0, 4.0, 1.0, 4.0, 1.0, 6.0, 1.0]).unwrap();
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
            assert!(scaler.apply(&rows).unwrap().data().iter().all(|&x| x == 0.0));
        }
        assert_eq!(Scaler::fit(&column(&[0.0, -0.0])).unwrap().scale(), [1.0]);
    }

    #[test]
    fn new_rows_use_the_training_numbers() {
        let scaler = Scaler::fit(&column(&[0.0, 10.0])).unwrap();
        assert_eq!(scaler.apply(&column(&[5.0, 15.0, -20.0])).unwrap().data(), [0.0, 2.0, -5.0]);
        let constant = Scaler::fit(&column(&[3.0, 3.0])).unwrap();
        assert_eq!(constant.apply(&column(&[5.0])).unwrap().data(), [2.0]);
    }

    #[test]
    fn huge_and_tiny_columns_neither_overflow_nor_vanish() {
        for size in [1e300, f64::MAX, 1e-300, f64::MIN_POSITIVE] {
            let rows = column(&[-size, -size, size]);
            let scaled = Scaler::fit(&rows).unwrap().apply(&rows).unwrap();
            // Mean -1/3 and variance 8/9 in units of the size.
            let expected = [-0.5f64.sqrt(), -0.5f64.sqrt(), 2.0f64.sqrt()];
            for (x, e) in scaled.data().iter().zip(expected) {
                assert!((x - e).abs() < 1e-15 * 4.0, "{size}: {x} {e}");
            }
        }
        let smallest = f64::from_bits(1);
        let rows = column(&[0.0, smallest]);
        assert!(Scaler::fit(&rows).unwrap().apply(&rows).unwrap().data().iter().all(|x| x.is_finite()));
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
        assert!(Scaler::fit(&Matrix::zeros(0, 2)).is_err());
        assert!(Scaler::fit(&column(&[1.0, f64::NAN])).is_err());
        let identity = Scaler::identity(2);
        assert_eq!(
            identity.apply(&column(&[1.0])).unwrap_err().to_string(),
            "the rows have 1 columns, the scaler was learned on 2"
        );
        let rows = Matrix::from_vec(1, 2, vec![1.5, -2.0]).unwrap();
        assert_eq!(identity.apply(&rows).unwrap(), rows);
    }

    #[test]
    fn value_too_far_to_scale_refused() {
        let scaler = Scaler::from_parts(vec![0.0], vec![1e-200]).unwrap();
        let message = scaler.apply(&column(&[1e200])).unwrap_err().to_string();
        assert!(message.starts_with("row 1, column 1: 1"), "{message}");
    }

    proptest! {
        #[test]
        fn scaled_training_rows_have_mean_0_and_deviation_1(
            values in prop::collection::vec(-1e3f64..1e3, 2..40), offset in -1e3f64..1e3,
        ) {
            let values: Vec<f64> = values.iter().map(|value| value + offset).collect();
            let spread = values.iter().cloned().fold(f64::MIN, f64::max) - values.iter().cloned().fold(f64::MAX, f64::min);
            prop_assume!(spread > 1e-3);
            let scaled = Scaler::fit(&column(&values)).unwrap().apply(&column(&values)).unwrap().into_data();
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
