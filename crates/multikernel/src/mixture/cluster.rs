//! One cluster: the posterior of its mean and covariance given its rows, and the density of one more row.

use std::f64::consts::PI;

use super::loops::{
    self, GaussianRef, MIN_LEFT, SIDE, diagonal_spread, diagonal_spreads, downdate, ln_product, spread, spreads,
    square, update,
};
use super::{Prior, Shape};
use crate::dist::{ln_gamma_function, ln_gamma_rise};
use crate::simd::ln;

/// Rows of one Gaussian whose mean and covariance are integrated out: with tau = tau0 + n, nu = nu0 + n, and `S = S0 +
/// sum_i (x_i - mean) x_i'` about their posterior mean, as a Cholesky factor (full) or one sum per column (diagonal).
///
/// ```text
/// ln t(x) = gammas - d/2 ln pi + d/2 ln(ratio) - ln det S / 2 - (nu + 1)/2 ln(1 + ratio q),   ratio = tau/(tau + 1)
/// ```
/// with `q = (x - mean)' S^-1 (x - mean)`; the diagonal distribution is the product of d such densities of one column
/// each.
#[derive(Clone, Debug)]
pub(super) struct Cluster {
    pub(super) n: usize,
    pub(super) mean: Vec<f64>,
    /// The lower triangle of the factor of S, row by row, or the sums.
    pub(super) spread: Vec<f64>,
    inverses: Vec<f64>,
    /// ln det S.
    ln_det: f64,
    /// ln of the gamma functions in t, for n rows and for one fewer.
    gammas: [f64; 2],
    /// ln n t(x) = offset - power ln(1 + ratio q), with alpha in place of n if there are no rows.
    offset: f64,
    power: f64,
    ratio: f64,
    /// The same for one row fewer: offset + power ln(1 - ratio q).
    less: [f64; 3],
}

/// Scratch space for the loops.
#[derive(Clone, Debug)]
pub(super) struct Scratch {
    pub(super) solved: Vec<f64>,
    turns: Vec<f64>,
    apart: Vec<f64>,
}

impl Scratch {
    pub(super) fn new(d: usize) -> Scratch {
        Scratch { solved: vec![0.0; d * SIDE], turns: vec![0.0; 2 * d], apart: vec![0.0; d] }
    }
}

/// Index of the diagonal entry of row i in a triangle stored row by row.
pub(super) fn diagonal(i: usize) -> usize {
    i * (i + 3) / 2
}

impl Cluster {
    /// A cluster without rows: the prior.
    pub(super) fn empty(prior: &Prior) -> Cluster {
        let d = prior.mean.len();
        let spread = match prior.shape {
            Shape::Diagonal => prior.scale.clone(),
            Shape::Full => {
                let mut triangle = vec![0.0; d * (d + 1) / 2];
                prior.scale.iter().enumerate().for_each(|(i, scale)| triangle[diagonal(i)] = scale.sqrt());
                triangle
            }
        };
        Cluster::of_parts(prior, 0, prior.mean.clone(), spread)
    }

    /// A cluster from its stored state.
    pub(super) fn of_parts(prior: &Prior, n: usize, mean: Vec<f64>, spread: Vec<f64>) -> Cluster {
        let mut cluster = Cluster {
            n,
            inverses: vec![0.0; mean.len()],
            mean,
            spread,
            ln_det: 0.0,
            gammas: [gammas(prior, n), gammas(prior, n.saturating_sub(1))],
            offset: 0.0,
            power: 0.0,
            ratio: 0.0,
            less: [0.0; 3],
        };
        cluster.settle(prior);
        cluster
    }

    pub(super) fn gaussian(&self) -> GaussianRef<'_> {
        GaussianRef { mean: &self.mean, spread: &self.spread, inverses: &self.inverses }
    }

    /// Updates everything that follows from n, the mean and S.
    fn settle(&mut self, prior: &Prior) {
        let (n, d) = (self.n as f64, self.mean.len() as f64);
        let (tau, nu) = (prior.tau + n, prior.nu + n);
        match prior.shape {
            Shape::Diagonal => {
                self.inverses.iter_mut().zip(&self.spread).for_each(|(inverse, s)| *inverse = 1.0 / s);
                self.ln_det = ln_product(&self.spread);
            }
            Shape::Full => {
                let spread = &self.spread;
                self.inverses.iter_mut().enumerate().for_each(|(i, inverse)| *inverse = 1.0 / spread[diagonal(i)]);
                self.ln_det = -2.0 * ln_product(&self.inverses);
            }
        }
        let constant = -0.5 * d * ln(PI) - 0.5 * self.ln_det;
        self.ratio = tau / (tau + 1.0);
        self.power = 0.5 * (nu + 1.0);
        let weight = if self.n == 0 { prior.alpha } else { n };
        self.offset = ln(weight) + self.gammas[0] + constant + 0.5 * d * ln(self.ratio);
        if self.n > 1 {
            let ratio = tau / (tau - 1.0);
            self.less = [ln(n - 1.0) + self.gammas[1] + constant - 0.5 * d * ln(ratio), 0.5 * (nu - 1.0), ratio];
        }
    }

    /// Adds a row.
    pub(super) fn add(&mut self, prior: &Prior, row: &[f64], scratch: &mut Scratch) {
        let tau = prior.tau + self.n as f64;
        let root = (tau / (tau + 1.0)).sqrt();
        self.turn(row, root, 1.0 / (tau + 1.0), scratch);
        match prior.shape {
            Shape::Full => update(&mut self.spread, &scratch.apart, &mut scratch.turns),
            Shape::Diagonal => self.spread.iter_mut().zip(&scratch.apart).for_each(|(s, v)| *s += v * v),
        }
        self.n += 1;
        self.gammas = [gammas(prior, self.n), self.gammas[0]];
        self.settle(prior);
    }

    /// Removes a row; false if too few digits would be left, in which case the cluster is invalid and must be rebuilt.
    pub(super) fn remove(&mut self, prior: &Prior, row: &[f64], scratch: &mut Scratch) -> bool {
        let tau = prior.tau + self.n as f64;
        let root = (tau / (tau - 1.0)).sqrt();
        self.turn(row, root, -1.0 / (tau - 1.0), scratch);
        let holds = match prior.shape {
            Shape::Full => downdate(&mut self.spread, &scratch.apart, &mut scratch.turns),
            Shape::Diagonal => self.spread.iter_mut().zip(&scratch.apart).all(|(s, v)| {
                let whole = *s;
                *s -= v * v;
                *s > MIN_LEFT * whole
            }),
        };
        if holds {
            self.n -= 1;
            self.gammas = [self.gammas[1], gammas(prior, self.n.saturating_sub(1))];
            self.settle(prior);
        }
        holds
    }

    /// Writes `root (x - mean)` and moves the mean by `step (x - mean)`.
    fn turn(&mut self, row: &[f64], root: f64, step: f64, scratch: &mut Scratch) {
        for ((v, mean), x) in scratch.apart.iter_mut().zip(&mut self.mean).zip(row) {
            let apart = x - *mean;
            *v = root * apart;
            *mean += step * apart;
        }
    }

    /// ln of n t(x) for [`SIDE`] rows, with value j of row s at `j * SIDE + s`.
    pub(super) fn ln_joints(&self, shape: Shape, block: &[f64], scratch: &mut Scratch) -> [f64; SIDE] {
        let sums = match shape {
            Shape::Full => spreads(self.gaussian(), self.ratio, block, &mut scratch.solved),
            Shape::Diagonal => diagonal_spreads(self.gaussian(), self.ratio, block),
        };
        let mut found = [0.0; SIDE];
        for (s, (found, &sum)) in found.iter_mut().zip(&sums).enumerate() {
            let sum = if sum.is_finite() { sum } else { self.far(shape, &row_of(block, s)) };
            *found = self.offset - self.power * sum;
        }
        found
    }

    /// [`Cluster::ln_joints`] of one row, with the same bits.
    pub(super) fn ln_joint(&self, shape: Shape, row: &[f64], scratch: &mut Scratch) -> f64 {
        let sum = match shape {
            Shape::Full => spread(self.gaussian(), self.ratio, row, &mut scratch.solved),
            Shape::Diagonal => diagonal_spread(self.gaussian(), self.ratio, row),
        };
        let sum = if sum.is_finite() { sum } else { self.far(shape, row) };
        self.offset - self.power * sum
    }

    /// ln of (n - 1) t(x) given the other rows, for one of at least two rows; `None` if too few digits would be left.
    ///
    /// Removing the row leaves S - v v', whose determinant and inverse follow from those of S, so nothing is actually
    /// removed.
    pub(super) fn ln_joint_without(&self, shape: Shape, row: &[f64], scratch: &mut Scratch) -> Option<f64> {
        let [offset, power, ratio] = self.less;
        let sum = match shape {
            Shape::Full => {
                let left = 1.0 - ratio * square(self.gaussian(), row, &mut scratch.solved);
                (left > MIN_LEFT).then(|| ln(left))?
            }
            Shape::Diagonal => {
                let columns = self.mean.iter().zip(&self.inverses).zip(row).zip(&mut scratch.apart);
                for (((mean, inverse), x), left) in columns {
                    *left = 1.0 - ratio * inverse * (x - mean) * (x - mean);
                }
                scratch.apart.iter().all(|&left| left > MIN_LEFT).then(|| ln_product(&scratch.apart))?
            }
        };
        Some(offset + power * sum)
    }

    /// `sum ln(1 + ratio q)` for rows so far away that q overflows.
    #[cold]
    fn far(&self, shape: Shape, row: &[f64]) -> f64 {
        let pairs = || row.iter().zip(&self.mean);
        let unit = pairs().fold(1.0f64, |most, (x, mean)| most.max(x.abs()).max(mean.abs()));
        let apart: Vec<f64> = pairs().map(|(x, mean)| x / unit - mean / unit).collect();
        let sum = match shape {
            Shape::Diagonal => {
                let terms = apart.iter().zip(&self.inverses).map(|(apart, inverse)| {
                    let square = self.ratio * inverse * (apart * unit) * (apart * unit);
                    let large = ln(self.ratio) + ln(*inverse) + 2.0 * (ln(apart.abs()) + ln(unit));
                    if square < f64::MAX { ln(1.0 + square) } else { large }
                });
                terms.sum()
            }
            Shape::Full => {
                let mut solved = vec![0.0; apart.len()];
                let centre = vec![0.0; apart.len()];
                square(GaussianRef { mean: &centre, ..self.gaussian() }, &apart, &mut solved);
                let most = solved.iter().fold(f64::MIN_POSITIVE, |most, w| most.max(w.abs()));
                let rest: f64 = solved.iter().map(|w| (w / most) * (w / most)).sum();
                ln(self.ratio) + 2.0 * (ln(most) + ln(unit)) + ln(rest)
            }
        };
        // If even this overflows, use the largest distance possible.
        if sum.is_finite() { sum } else { 4.0 * ln(f64::MAX) * row.len() as f64 }
    }

    /// Log marginal likelihood of all rows together.
    pub(super) fn ln_marginal(&self, prior: &Prior) -> f64 {
        let (n, d) = (self.n as f64, self.mean.len());
        let rises: f64 = match prior.shape {
            Shape::Full => (0..d).map(|j| ln_gamma_rise(0.5 * (prior.nu - j as f64), 0.5 * n)).sum(),
            Shape::Diagonal => d as f64 * ln_gamma_rise(0.5 * prior.nu, 0.5 * n),
        };
        let before = 0.5 * prior.nu * ln_product(&prior.scale);
        let after = 0.5 * (prior.nu + n) * self.ln_det;
        let d = d as f64;
        rises + before - after - 0.5 * n * d * ln(PI) + 0.5 * d * (ln(prior.tau) - ln(prior.tau + n))
    }

    /// The diagonal of S.
    pub(super) fn sums(&self, shape: Shape) -> Vec<f64> {
        match shape {
            Shape::Diagonal => self.spread.clone(),
            Shape::Full => {
                let line = |i: usize| &self.spread[diagonal(i) - i..=diagonal(i)];
                (0..self.mean.len()).map(|i| line(i).iter().map(|l| l * l).sum()).collect()
            }
        }
    }
}

/// Row s of a block.
fn row_of(block: &[f64], s: usize) -> Vec<f64> {
    block.iter().skip(s).step_by(SIDE).copied().collect()
}

/// ln of the gamma functions in the density of one more row after n.
fn gammas(prior: &Prior, n: usize) -> f64 {
    let (nu, d) = (prior.nu + n as f64, prior.mean.len() as f64);
    match prior.shape {
        Shape::Full => ln_gamma_rise(0.5 * (nu + 1.0 - d), 0.5 * d),
        Shape::Diagonal => d * ln_gamma_rise(0.5 * nu, 0.5),
    }
}

/// Log probability of a partition into clusters of these sizes under the Dirichlet process.
pub(super) fn ln_partition(alpha: f64, counts: impl Iterator<Item = usize>) -> f64 {
    let (mut sum, mut total) = (0.0, 0);
    for n in counts {
        sum += ln(alpha) + ln_gamma_function(n as f64);
        total += n;
    }
    sum - ln_gamma_rise(alpha, total as f64)
}

/// Transposes rows into a block; positions without a row repeat the last one.
pub(super) fn fill<'a>(block: &mut [f64], rows: impl ExactSizeIterator<Item = &'a [f64]>) {
    let count = rows.len();
    for (s, row) in rows.enumerate() {
        let last = if s + 1 == count { SIDE } else { s + 1 };
        for (values, &x) in block.as_chunks_mut::<SIDE>().0.iter_mut().zip(row) {
            values[s..last].fill(x);
        }
    }
}

/// Adds the scatter of rows about a mean to `sums`: the triangle, or the sums of squares.
pub(super) fn add_scatter(shape: Shape, rows: &[&[f64]], mean: &[f64], apart: &mut [f64], sums: &mut [f64]) {
    match shape {
        Shape::Full => loops::add_squares(rows, mean, apart, sums),
        Shape::Diagonal => {
            for row in rows {
                sums.iter_mut().zip(row.iter().zip(mean)).for_each(|(sum, (x, mean))| *sum += (x - mean) * (x - mean));
            }
        }
    }
}
