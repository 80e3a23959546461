//! The Gaussian model in the space of features, from sums over rows alone.
//!
//! With `K_m = Phi_m Phi_m'` the covariance is `Phi D Phi' + s I`, D the weight of each feature's kernel. The rows are
//! needed for `G = Phi' Phi`, `B = Phi' Y` and `<Y, Y>` only. With `R = D^1/2 G D^1/2 + s I`, of the number of features, and `U
//! = R^-1 D^1/2 B`, Woodbury's identity gives
//!
//! - `log det = (n - F) log s + log det R`, `<Y, H Y> = (<Y, Y> - <B, D^1/2 U>) / s`,
//! - `Phi' A = D^-1/2 U`, so `<K_m, A A'>` is the squared length of its part of U over the weight,
//! - `D^1/2 Phi' H Phi D^1/2 = I - s R^-1`, whose diagonal sums to `<K_m, H>` times the weight,
//! - `|A|^2 = (<Y, Y> - <B, D^1/2 U> - s |U|^2) / s^2`, `tr H = (n - F + s tr R^-1) / s`,
//! - the posterior mean `D Phi' H Y = D^1/2 U` of the features' weights.

use super::basis::Basis;
use super::{Components, Point, Products, log_evidence};
use crate::error::{Error, Result};
use crate::file::record;
use crate::linalg::{Matrix, dot};
use crate::method::factor::Factor;
use crate::pool::Pool;
use crate::simd::ln;
use crate::solve::cholesky::Cholesky;
use crate::solve::product::{product, scaled_square};

record! {
    /// Sums over rows with features `Phi` and outcomes `[Y, 1]`.
    #[derive(Clone, Debug, Default)]
    pub(super) struct Sums {
        /// `Phi' Phi`, the upper half with the diagonal, row by row.
        square: Vec<f64>,
        /// `Phi' [Y, 1]`.
        along: Matrix,
        /// `[Y, 1]' [Y, 1]`.
        outcomes: Matrix,
    }
}

impl Sums {
    /// Those of rows with these features (rows of a matrix) and outcomes.
    pub(super) fn of(
        features: &Matrix,
        outcomes: &Matrix,
        pool: &Pool,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Sums> {
        let (n, c) = (outcomes.n_rows(), outcomes.n_cols());
        let ones = Matrix::from_fn(n, c + 1, |i, j| if j < c { outcomes.get(i, j) } else { 1.0 });
        Ok(Sums {
            square: scaled_square(features, &vec![1.0; n], pool, stop)?.upper(),
            along: product(features, &ones, pool)?,
            outcomes: product(&ones.transposed(), &ones, pool)?,
        })
    }

    /// Adds those of other rows; false, and nothing useful, if they do not fit.
    pub(super) fn add(&mut self, next: &Sums) -> bool {
        let shape = |sums: &Sums| {
            let [along, outcomes] = [&sums.along, &sums.outcomes].map(|matrix| (matrix.n_rows(), matrix.n_cols()));
            (sums.square.len(), along, outcomes)
        };
        let add = |sums: &mut [f64], next: &[f64]| sums.iter_mut().zip(next).for_each(|(sum, value)| *sum += value);
        let fits = shape(self) == shape(next);
        add(&mut self.square, &next.square);
        add(self.along.data_mut(), next.along.data());
        add(self.outcomes.data_mut(), next.outcomes.data());
        fits
    }
}

/// The model of all rows.
#[derive(Clone, Debug)]
pub(super) struct Space {
    /// `Phi' Phi`.
    gram: Matrix,
    /// `Phi' Y` for the centred Y of variance 1.
    along: Matrix,
    /// `|y|^2` of each column of Y.
    squares: Vec<f64>,
    n_rows: usize,
    /// The kernel of each feature.
    kernels: Vec<usize>,
    n_kernels: usize,
    /// The mean of each outcome, and the factor by which Y is smaller.
    means: Vec<f64>,
    scale: f64,
}

/// The part of the sum of squares below which what is left of it without the mean is rounding.
const NO_SPREAD: f64 = 1e-12;

impl Space {
    /// The model of this many rows with these features, from sums over them.
    pub(super) fn new(sums: &Sums, basis: &Basis, n_rows: usize) -> Result<Space> {
        let misfit = || Error::input("the sums of partitions do not fit; all workers need the same version");
        let (n, f, width) = (n_rows as f64, basis.len(), sums.along.n_cols());
        let is_finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        let fits = width > 1
            && sums.along.n_rows() == f
            && [sums.outcomes.n_rows(), sums.outcomes.n_cols()] == [width, width]
            && sums.outcomes.get(width - 1, width - 1) == n
            && is_finite(&sums.square)
            && is_finite(sums.along.data())
            && is_finite(sums.outcomes.data());
        let gram = Matrix::of_upper(&sums.square).filter(|gram| fits && gram.n_rows() == f).ok_or_else(misfit)?;
        let c = width - 1;
        let means: Vec<f64> = (0..c).map(|j| sums.outcomes.get(j, c) / n).collect();
        let whole: f64 = (0..c).map(|j| sums.outcomes.get(j, j)).sum();
        let spreads: Vec<f64> = (0..c).map(|j| (sums.outcomes.get(j, j) - n * means[j] * means[j]).max(0.0)).collect();
        let spread: f64 = spreads.iter().sum();
        let variance = if spread > NO_SPREAD * whole { spread / (n * c as f64) } else { 1.0 };
        let (scale, squares) = (variance.sqrt(), spreads.iter().map(|spread| spread / variance).collect());
        let centred = |j: usize, t: usize| sums.along.get(j, t) - sums.along.get(j, c) * means[t];
        let along = Matrix::from_fn(f, c, |j, t| centred(j, t) / scale);
        Ok(Space { gram, along, squares, n_rows, kernels: basis.kernels(), n_kernels: basis.n_kernels(), means, scale })
    }

    /// The mean of each outcome.
    pub(super) fn means(&self) -> &[f64] {
        &self.means
    }

    /// The factor by which outcomes are smaller in the model.
    #[cfg(test)]
    pub(super) fn scale(&self) -> f64 {
        self.scale
    }

    /// The roots of the weights of features.
    fn roots(&self, weights: &[f64]) -> Vec<f64> {
        self.kernels.iter().map(|&m| weights[m].sqrt()).collect()
    }

    /// The posterior mean of the weights of features (rows), for outcomes in their own units.
    pub(super) fn posterior_mean(&self, now: &Point, weights: &[f64]) -> Matrix {
        let roots = self.roots(weights);
        Matrix::from_fn(roots.len(), self.means.len(), |j, t| self.scale * roots[j] * now.solved.get(j, t))
    }

    /// `s <y, H y>` of each column y, which is `<y, y>` less its part of `<B, D^1/2 U>`.
    fn unexplained(&self, roots: &[f64], solved: &Matrix) -> Vec<f64> {
        let mut left = self.squares.clone();
        for ((along, solved), root) in self.along.rows().zip(solved.rows()).zip(roots) {
            let products = along.iter().zip(solved).map(|(along, solved)| root * along * solved);
            left.iter_mut().zip(products).for_each(|(left, product)| *left -= product);
        }
        left
    }

    /// The variance of each outcome, in its own units, that is 1 in the model: with the best amplitude `<y, H y> / n` of
    /// its column.
    pub(super) fn amplitudes(&self, now: &Point, weights: &[f64], noise: f64) -> Vec<f64> {
        let left = self.unexplained(&self.roots(weights), &now.solved);
        let own = |left: f64| self.scale * self.scale * left / (noise * self.n_rows as f64);
        // A column of zeros (a constant target) has none: the floor keeps it positive.
        left.into_iter().map(|left| own(left).max(f64::MIN_POSITIVE)).collect()
    }

    /// The mean over rows of `k_m(x, x) - |phi_m(x)|^2` of each kernel, what the features leave out of it.
    pub(super) fn left_out(&self, basis: &Basis) -> Vec<f64> {
        let mut left = basis.diagonals().to_vec();
        for (j, &m) in self.kernels.iter().enumerate() {
            left[m] -= self.gram.get(j, j) / self.n_rows as f64;
        }
        left.iter().map(|left| left.max(0.0)).collect()
    }

    /// What the user should know of the features.
    pub(super) fn facts(&self, basis: &Basis) -> (String, String) {
        let pairs = self.left_out(basis).into_iter().zip(basis.diagonals());
        let parts: Vec<f64> = pairs.map(|(left, &all)| if all > 0.0 { 100.0 * left / all } else { 0.0 }).collect();
        let most = parts.iter().copied().fold(0.0, f64::max);
        let mean = parts.iter().sum::<f64>() / parts.len().max(1) as f64;
        let text = format!(
            "{}; they leave out {mean:.1} % of the kernels at the rows, {most:.1} % of the kernel that loses most",
            basis.len()
        );
        ("features".into(), text)
    }

    /// The features of these kernels, ascending.
    pub(super) fn features_of(&self, kernels: &[usize]) -> Vec<usize> {
        (0..self.kernels.len()).filter(|&j| kernels.binary_search(&self.kernels[j]).is_ok()).collect()
    }
}

/// [`Components`] of a space, on these threads.
pub(super) struct InSpace<'a>(pub(super) &'a Space, pub(super) &'a Pool);

impl Components for InSpace<'_> {
    fn point(&self, weights: &[f64], noise: f64, stop: &(dyn Fn() -> bool + Sync)) -> Result<Point> {
        let InSpace(space, pool) = *self;
        let roots = space.roots(weights);
        let mut inner = space.gram.clone();
        for (i, &root) in roots.iter().enumerate() {
            inner.row_mut(i).iter_mut().zip(&roots).for_each(|(value, other)| *value *= root * other);
            inner.row_mut(i)[i] += noise;
        }
        let factor = Cholesky::new(inner, pool, stop)?;
        let (f, c) = (roots.len(), space.along.n_cols());
        let solved = factor.solve(&Matrix::from_fn(f, c, |j, t| roots[j] * space.along.get(j, t)))?;
        let log_determinant = (space.n_rows as f64 - f as f64) * ln(noise) + factor.log_determinant();
        let square = space.unexplained(&roots, &solved).iter().sum::<f64>() / noise;
        let evidence = log_evidence(space.n_rows, c, log_determinant, square);
        Ok(Point { factor: Factor::Here(factor), solved, evidence })
    }

    fn products(&self, now: &Point, weights: &[f64], noise: f64, stop: &(dyn Fn() -> bool + Sync)) -> Result<Products> {
        let InSpace(space, pool) = *self;
        let (roots, inverse) = (space.roots(weights), now.factor.here()?.inverse(pool, stop)?);
        // The diagonal of `I - s R^-1 = D^1/2 G D^1/2 R^-1`: the one is a difference of nearly equal numbers for features that
        // say less than the noise, the other for those that say more.
        let degrees = |j: usize| -> f64 {
            if roots[j] * roots[j] * space.gram.get(j, j) >= noise {
                return 1.0 - noise * inverse.get(j, j);
            }
            let row = space.gram.row(j).iter().zip(inverse.row(j)).zip(&roots);
            roots[j] * row.map(|((gram, inverse), root)| gram * inverse * root).sum::<f64>()
        };
        let (mut kernels, mut all) = (Matrix::zeros(space.n_kernels, 2), 0.0);
        for (j, &m) in space.kernels.iter().enumerate().filter(|&(j, _)| roots[j] > 0.0) {
            let degrees = degrees(j);
            all += degrees;
            let row = now.solved.row(j);
            let sums = kernels.row_mut(m);
            sums[0] += dot(row, row) / weights[m];
            sums[1] += degrees / weights[m];
        }
        let square = dot(now.solved.data(), now.solved.data());
        let rest = space.unexplained(&roots, &now.solved).iter().sum::<f64>() - noise * square;
        Ok(Products { kernels, noise: [rest / (noise * noise), (space.n_rows as f64 - all) / noise] })
    }

    /// All are positive semi-definite as they are approximated.
    fn indefinite(&self, _: &(dyn Fn() -> bool + Sync)) -> Result<Vec<usize>> {
        Ok(vec![])
    }
}
