//! The columns used for clustering, and the prior of the clusters.

use super::settings::{Clustering, Covariance};
use crate::error::{Error, Result};
use crate::file::record;
use crate::linalg::Matrix;
use crate::mixture::{Prior, Shape};

/// Maximum number of columns for an automatic full covariance: it costs a triangular solve for every row and cluster.
const MAX_FULL: usize = 20;
/// Minimum number of rows per entry of an automatic full covariance, which has about as many entries as the square of
/// the columns: the weak prior accepts even the thinnest clusters, and a handful of rows in many columns always lies in
/// one.
const MIN_ROWS: usize = 5;

record! {
    /// The columns used for clustering, their scale factors, and whether clusters have full covariances.
    ///
    /// Constant columns are left out. A column is measured in its standard deviations; for diagonal clusters, a
    /// two-valued column is measured in the difference of its values, so that one-hot columns keep their common unit
    /// and a rare value does not count more than a common one.
    #[derive(Clone, Debug)]
    pub(super) struct Space {
        columns: Vec<usize>,
        factors: Vec<f64>,
        full: bool,
    }
}

/// Mean, variance, and the difference of the two values of a two-valued column.
struct Column {
    mean: f64,
    variance: f64,
    gap: Option<f64>,
}

impl Column {
    fn of(rows: &Matrix, j: usize) -> Column {
        let n = rows.n_rows() as f64;
        let mean = rows.rows().map(|row| row[j]).sum::<f64>() / n;
        let variance = rows.rows().map(|row| (row[j] - mean) * (row[j] - mean)).sum::<f64>() / n;
        let first = rows.get(0, j);
        let other = rows.rows().map(|row| row[j]).find(|&value| value != first);
        let two = other.filter(|&other| rows.rows().all(|row| row[j] == first || row[j] == other));
        Column { mean, variance, gap: two.map(|other| (other - first).abs()) }
    }

    fn varies(&self) -> bool {
        // A constant column only has the rounding errors of its mean.
        self.variance > 1e-20 * self.mean * self.mean && self.variance.is_normal()
    }
}

impl Space {
    /// The space of training rows; `covariance` is full, diagonal or auto. Fails if there are no columns, or if the
    /// squares of a column overflow.
    pub(super) fn new(rows: &Matrix, covariance: Covariance) -> Result<Space> {
        let all: Vec<Column> = (0..rows.n_cols()).map(|j| Column::of(rows, j)).collect();
        if all.is_empty() {
            return Err(Error::input(
                "clusters are found in columns of numbers, and there are none: mkc takes kernels alone",
            ));
        }
        if let Some(j) = all.iter().position(|column| !column.variance.is_finite()) {
            let column = j + 1;
            return Err(Error::input(format!(
                "the values of column {column} are too large for clusters; scale the columns"
            )));
        }
        let mut columns: Vec<usize> = (0..all.len()).filter(|&j| all[j].varies()).collect();
        if columns.is_empty() {
            // All rows are equal: one constant column represents them.
            columns.extend((0..all.len()).take(1));
        }
        let coded = columns.iter().filter(|&&j| all[j].gap.is_some()).count();
        let full = match covariance {
            Covariance::Full => true,
            Covariance::Diagonal => false,
            Covariance::Auto => {
                let few = columns.len() <= MAX_FULL && rows.n_rows() >= MIN_ROWS * columns.len().pow(2);
                few && 2 * coded <= columns.len()
            }
        };
        let factor = |&j: &usize| match all[j].gap {
            Some(gap) if !full => 1.0 / gap,
            _ if all[j].varies() => 1.0 / all[j].variance.sqrt(),
            _ => 1.0,
        };
        Ok(Space { factors: columns.iter().map(factor).collect(), columns, full })
    }

    /// Whether clusters have full covariances.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// Number of columns used for clustering.
    pub(super) fn n_columns(&self) -> usize {
        self.columns.len()
    }

    /// Whether it can be applied to rows with this many columns.
    pub(super) fn fits(&self, n_cols: usize) -> bool {
        self.columns.len() == self.factors.len() && self.columns.iter().all(|&j| j < n_cols)
    }

    /// Rows in the clusters' coordinates.
    pub(super) fn apply(&self, rows: &Matrix) -> Result<Matrix> {
        let (n, d) = (rows.n_rows(), self.columns.len());
        if !self.fits(rows.n_cols()) {
            return Err(Error::input(format!("clusters in other columns than the {} of the rows", rows.n_cols())));
        }
        let mut table = Matrix::try_zeros(n, d)
            .ok_or_else(|| Error::input(format!("no memory for {n} rows of {d} columns; use fewer rows")))?;
        for (i, row) in rows.rows().enumerate() {
            let kept = self.columns.iter().zip(&self.factors).map(|(&j, factor)| row[j] * factor);
            table.row_mut(i).iter_mut().zip(kept).for_each(|(out, value)| *out = value);
        }
        Ok(table)
    }

    /// The prior, for rows in the clusters' coordinates.
    pub(super) fn prior(&self, table: &Matrix, params: &Clustering) -> Result<Prior> {
        let d = table.n_cols();
        let columns: Vec<Column> = (0..d).map(|j| Column::of(table, j)).collect();
        let mean_variance = columns.iter().map(|column| column.variance).sum::<f64>() / d as f64;
        // The bound above which a prior covariance has a mean.
        let (own, least) = if self.full { (d as f64 + 2.0, d as f64 + 1.0) } else { (20.0, 2.0) };
        let nu = if params.nu == 0.0 { own } else { params.nu };
        if nu <= least {
            let message = format!("must be above {least} for {d} columns, or 0 for the method's own {own}, got {nu}");
            return Err(Error::param("nu", message));
        }
        let variance = if mean_variance > 0.0 { mean_variance } else { 1.0 };
        Ok(Prior {
            shape: if self.full { Shape::Full } else { Shape::Diagonal },
            mean: columns.iter().map(|column| column.mean).collect(),
            tau: params.tau,
            nu,
            scale: vec![params.spread * variance * (nu - least); d],
            alpha: params.alpha,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;
    use crate::mixture::Mixture;
    use crate::pool::Pool;

    #[test]
    fn columns_are_measured_in_deviations_and_codes_in_their_gap() {
        let mut rng = Rng::new(1, 0);
        // A constant, two binary codes (one rare, one as a scaler leaves it) and two numeric columns of different
        // scales.
        let rows = Matrix::from_fn(400, 5, |i, j| match j {
            0 => 7.3,
            1 => f64::from(u8::from(i % 100 == 0)),
            2 => [-0.5, 1.5][i % 2],
            3 => 1e6 * rng.uniform(),
            _ => 1e-6 * rng.uniform(),
        });
        let space = Space::new(&rows, Covariance::Diagonal).unwrap();
        assert_eq!((space.n_columns(), space.is_full()), (4, false));
        let table = space.apply(&rows).unwrap();
        let spread = |j: usize| Column::of(&table, j);
        assert_eq!((spread(0).gap, spread(1).gap), (Some(1.0), Some(1.0)));
        assert!((spread(2).variance - 1.0).abs() < 1e-12 && (spread(3).variance - 1.0).abs() < 1e-12);
        assert!(
            Space::new(&rows, Covariance::Full).unwrap().apply(&rows).unwrap().get(0, 0) > 5.0,
            "a full covariance has no common unit"
        );
    }

    #[test]
    fn covariances_are_full_for_few_columns_of_numbers() {
        let mut rng = Rng::new(2, 0);
        let mut numbers = |n: usize, d: usize| Matrix::from_fn(n, d, |_, _| rng.uniform());
        let codes = Matrix::from_fn(500, 6, |i, j| f64::from(u8::from((i + j) % 3 == 0)));
        for (rows, full) in
            [(numbers(2000, 20), true), (numbers(1999, 20), false), (numbers(3000, 21), false), (codes, false)]
        {
            assert_eq!(Space::new(&rows, Covariance::Auto).unwrap().is_full(), full);
        }
    }

    fn params(spread: f64, tau: f64, nu: f64) -> Clustering {
        Clustering { start: 1, alpha: 1.0, tau, nu, spread }
    }

    #[test]
    fn spread_is_the_variance_within_clusters_that_the_prior_expects() {
        // One column, so that moments of the prior predictive density can be summed over a grid.
        let mut rng = Rng::new(3, 0);
        let table = Matrix::from_fn(500, 1, |_, _| 5.0 + 3.0 * rng.uniform());
        let Column { mean, variance, .. } = Column::of(&table, 0);
        for covariance in ["full", "diagonal"] {
            let space = Space { columns: vec![0], factors: vec![1.0], full: covariance == "full" };
            let prior = space.prior(&table, &params(0.3, 0.5, 24.0)).unwrap();
            let mixture = Mixture::new(prior, &table, vec![0; 500]).unwrap();
            let grid = Matrix::from_fn(40_001, 1, |i, _| mean + (i as f64 - 20_000.0) * 1e-3);
            let densities = mixture.ln_joint_densities(&grid, Pool::alone().unwrap()).unwrap();
            let (mut sum, mut squares) = (0.0, 0.0);
            for (x, ln_density) in grid.rows().zip(densities.rows()) {
                sum += ln_density[1].exp();
                squares += ln_density[1].exp() * (x[0] - mean).powi(2);
            }
            // A row deviates from the mean of its cluster, and that mean, worth tau rows, from the overall mean.
            let expected = 0.3 * variance * (1.0 + 1.0 / 0.5);
            assert!((squares / sum / expected - 1.0).abs() < 1e-6, "{covariance}: {} {expected}", squares / sum);
        }
    }

    #[test]
    fn prior_expects_the_mean_variance_of_the_columns_for_any_number_of_them() {
        let mut rng = Rng::new(4, 0);
        let table = Matrix::from_fn(300, 3, |_, j| (1 + j) as f64 * rng.uniform());
        let variance = (0..3).map(|j| Column::of(&table, j).variance).sum::<f64>() / 3.0;
        for (full, nu) in [(true, 0.0), (true, 9.0), (false, 0.0), (false, 7.0)] {
            let space = Space { columns: vec![0, 1, 2], factors: vec![1.0; 3], full };
            let prior = space.prior(&table, &params(2.0, 0.1, nu)).unwrap();
            // The mean of an inverse Wishart distribution, or of an inverse gamma distribution with nu/2 and scale/2.
            let least = if full { 4.0 } else { 2.0 };
            for scale in &prior.scale {
                let expected = scale / (prior.nu - least);
                assert!((expected / (2.0 * variance) - 1.0).abs() < 1e-12, "{full} {nu}: {expected} {variance}");
            }
        }
    }

    #[test]
    fn rows_that_are_all_equal_have_a_space_of_one_column() {
        let space = Space::new(&Matrix::from_fn(5, 3, |_, j| j as f64), Covariance::Auto).unwrap();
        assert!(
            Space::new(&Matrix::zeros(5, 0), Covariance::Auto).is_err()
                && Space::new(&Matrix::from_fn(2, 1, |i, _| 1e300 * i as f64), Covariance::Auto).is_err()
        );
        assert_eq!((space.n_columns(), space.fits(3), space.fits(0)), (1, true, false));
    }
}
