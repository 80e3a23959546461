//! Metrics of predicted numbers.

use crate::dist::normal_cdf;
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::simd::exp;

/// Metrics of predicted numbers on one test set; means over the columns where several numbers are predicted.
///
/// ```
/// use multikernel::{Matrix, evaluate::NumberMetrics};
/// let column = |values: [f64; 4]| Matrix::from_vec(4, 1, values.to_vec());
/// let (truth, predicted) = (column([1.0, 2.0, 3.0, 4.0])?, column([1.0, 2.0, 3.0, 6.0])?);
/// let metrics = NumberMetrics::new(&truth, &predicted, None)?;
/// assert_eq!((metrics.rmse, metrics.mae, metrics.r2), (1.0, 0.5, 1.0 - 4.0 / 5.0));
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct NumberMetrics {
    /// 1 - (sum of squared errors) / (sum of squared deviations from the mean of the test rows); 0 where these do not
    /// vary.
    pub r2: f64,
    /// Root of the mean squared error.
    pub rmse: f64,
    /// Mean absolute error.
    pub mae: f64,
    /// Continuous ranked probability score, the mean over rows of `integral (F(z) - 1[y <= z])^2 dz`, in the units of
    /// the number: the absolute error for a certain prediction, less for an honest distribution. `None` without
    /// deviations.
    pub crps: Option<f64>,
    /// Share of rows inside their 90 % intervals; `None` without deviations.
    pub coverage: Option<f64>,
}

/// The 0.95 quantile of the standard normal distribution: half the width of a 90 % interval.
const WIDE: f64 = 1.644_853_626_951_472_7;
/// 1 / sqrt(pi) and 1 / sqrt(2 pi), the same on every system.
const INVERSE_ROOT_PI: f64 = 0.564_189_583_547_756_3;
const INVERSE_ROOT_TAU: f64 = 0.398_942_280_401_432_7;

impl NumberMetrics {
    /// Metrics of `predicted` against `truth` (n_samples x n_targets each) and, where predictions are normal
    /// distributions, their standard deviations. Shapes that differ and empty input are errors.
    pub fn new(truth: &Matrix, predicted: &Matrix, deviations: Option<&Matrix>) -> Result<NumberMetrics> {
        let shape = |matrix: &Matrix| (matrix.n_rows(), matrix.n_cols());
        let same = shape(truth) == shape(predicted) && deviations.is_none_or(|found| shape(found) == shape(truth));
        if !same || truth.data().is_empty() {
            let ((n, columns), (rows, found)) = (shape(truth), shape(predicted));
            return Err(Error::input(format!(
                "predictions are {rows} x {found}, the truth {n} x {columns}; give one prediction for each number"
            )));
        }
        let n = truth.n_rows() as f64;
        let column = |t: usize| {
            let rows = (0..truth.n_rows()).map(|i| (truth.get(i, t), predicted.get(i, t)));
            let mean = rows.clone().map(|(y, _)| y).sum::<f64>() / n;
            let all: f64 = rows.clone().map(|(y, _)| (y - mean).powi(2)).sum();
            let rest: f64 = rows.clone().map(|(y, f)| (y - f).powi(2)).sum();
            let absolute: f64 = rows.map(|(y, f)| (y - f).abs()).sum();
            let r2 = if all > 0.0 { 1.0 - rest / all } else { 0.0 };
            [r2, (rest / n).sqrt(), absolute / n]
        };
        let columns: Vec<[f64; 3]> = (0..truth.n_cols()).map(column).collect();
        let mean = |k: usize| columns.iter().map(|column| column[k]).sum::<f64>() / columns.len() as f64;
        let (crps, coverage) = deviations.map_or((None, None), |deviations| {
            let all = truth.data().iter().zip(predicted.data()).zip(deviations.data());
            let count = truth.data().len() as f64;
            let score: f64 = all.clone().map(|((&y, &f), &s)| crps(y, f, s)).sum();
            let inside = all.filter(|&((&y, &f), &s)| (y - f).abs() <= WIDE * s).count();
            (Some(score / count), Some(inside as f64 / count))
        });
        Ok(NumberMetrics { r2: mean(0), rmse: mean(1), mae: mean(2), crps, coverage })
    }
}

/// The score of a normal distribution (Gneiting and Raftery 2007, equation 21).
fn crps(y: f64, mean: f64, deviation: f64) -> f64 {
    if deviation <= 0.0 {
        return (y - mean).abs();
    }
    let z = (y - mean) / deviation;
    let density = INVERSE_ROOT_TAU * exp(-0.5 * z * z);
    deviation * (z * (2.0 * normal_cdf(z) - 1.0) + 2.0 * density - INVERSE_ROOT_PI)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crps_is_the_integral_of_its_definition() {
        for (y, mean, deviation) in [(0.3, 0.0, 1.0), (-2.0, 1.0, 0.5), (5.0, 4.0, 3.0)] {
            let (mut sum, step) = (0.0, 1e-3);
            let mut z = -40.0;
            while z < 40.0 {
                let middle: f64 = z + step / 2.0;
                let above = if middle >= y { 1.0 } else { 0.0 };
                sum += step * (normal_cdf((middle - mean) / deviation) - above).powi(2);
                z += step;
            }
            assert!((crps(y, mean, deviation) - sum).abs() < 1e-3, "{sum}");
        }
        assert_eq!(crps(3.0, 1.0, 0.0), 2.0);
    }

    #[test]
    fn figures_of_two_columns_are_means_over_columns() {
        let truth = Matrix::from_vec(2, 2, vec![0.0, 10.0, 2.0, 30.0]).unwrap();
        let predicted = Matrix::from_vec(2, 2, vec![1.0, 10.0, 1.0, 30.0]).unwrap();
        let deviations = Matrix::from_vec(2, 2, vec![0.1, 1.0, 10.0, 1.0]).unwrap();
        let found = NumberMetrics::new(&truth, &predicted, Some(&deviations)).unwrap();
        assert_eq!((found.r2, found.rmse, found.mae, found.coverage), (0.5, 0.5, 0.5, Some(0.75)));
        assert!(NumberMetrics::new(&truth, &Matrix::zeros(2, 1), None).is_err());
        assert!(NumberMetrics::new(&Matrix::zeros(0, 1), &Matrix::zeros(0, 1), None).is_err());
    }
}
