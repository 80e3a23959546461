//! The blocked sweep: weights, means and covariances are drawn, after which rows are independent.

use super::build::members;
use super::cluster::{Cluster, diagonal, fill};
use super::loops::{GaussianRef, SIDE, diagonal_squares, ln_product, squares};
use super::sweep::{draw, misled};
use super::{Mixture, Prior, Shape, Witness, compact, stopped};
use crate::dist::{Rng, gamma, normal};
use crate::error::Result;
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::simd::{exp, ln};

/// Rows that share a generator.
const BATCH: usize = 1024;
/// Lower limit of a chi-square variate: its reciprocal is still finite.
const MIN_CHI_SQUARE: f64 = 1e-100;

/// A normal distribution.
#[derive(Clone, Debug)]
pub(crate) struct Gaussian {
    shape: Shape,
    mean: Vec<f64>,
    /// The lower triangle of the Cholesky factor of the covariance, row by row, or the variances.
    spread: Vec<f64>,
    inverses: Vec<f64>,
    /// -ln det / 2; constants shared by all distributions are omitted.
    offset: f64,
}

impl Gaussian {
    /// Draws mean and covariance of a cluster given its rows.
    pub(super) fn of(prior: &Prior, cluster: &Cluster, rng: &mut Rng) -> Gaussian {
        let (d, n) = (prior.mean.len(), cluster.n as f64);
        let (tau, nu) = (prior.tau + n, prior.nu + n);
        let mut chi_square = |freedom: f64, rng: &mut Rng| gamma(rng, 0.5 * freedom, 2.0).max(MIN_CHI_SQUARE);
        let spread = match prior.shape {
            Shape::Diagonal => cluster.spread.iter().map(|sum| sum / chi_square(nu, rng)).collect(),
            Shape::Full => divided(&cluster.spread, &bartlett(d, nu, rng, &mut chi_square), d),
        };
        let mut distribution = Gaussian::of_parts(prior.shape, cluster.mean.clone(), spread);
        distribution.mean = distribution.sample_scaled(1.0 / tau.sqrt(), rng);
        distribution
    }

    /// The distribution with this mean, and the factor of its covariance or its variances.
    pub(super) fn of_parts(shape: Shape, mean: Vec<f64>, spread: Vec<f64>) -> Gaussian {
        let inverses: Vec<f64> = match shape {
            Shape::Diagonal => spread.iter().map(|variance| 1.0 / variance).collect(),
            Shape::Full => (0..mean.len()).map(|i| 1.0 / spread[diagonal(i)]).collect(),
        };
        let half = if shape == Shape::Full { 1.0 } else { 0.5 };
        let offset = half * ln_product(&inverses);
        Gaussian { shape, mean, spread, inverses, offset }
    }

    pub(super) fn shape(&self) -> Shape {
        self.shape
    }

    pub(super) fn mean(&self) -> &[f64] {
        &self.mean
    }

    pub(super) fn spread(&self) -> &[f64] {
        &self.spread
    }

    /// Draws a row from this distribution.
    pub(crate) fn sample(&self, rng: &mut Rng) -> Vec<f64> {
        self.sample_scaled(1.0, rng)
    }

    fn sample_scaled(&self, scale: f64, rng: &mut Rng) -> Vec<f64> {
        let z: Vec<f64> = self.mean.iter().map(|_| scale * normal(rng)).collect();
        let apart = |i: usize| match self.shape {
            Shape::Diagonal => self.spread[i].sqrt() * z[i],
            Shape::Full => self.spread[diagonal(i) - i..=diagonal(i)].iter().zip(&z).map(|(l, z)| l * z).sum(),
        };
        self.mean.iter().enumerate().map(|(i, mean)| mean + apart(i)).collect()
    }

    /// Log densities of a block of rows, up to a constant shared by all distributions.
    pub(super) fn ln_densities(&self, block: &[f64], solved: &mut [f64]) -> [f64; SIDE] {
        let gaussian = GaussianRef { mean: &self.mean, spread: &self.spread, inverses: &self.inverses };
        let found = match self.shape {
            Shape::Full => squares(gaussian, block, solved),
            Shape::Diagonal => diagonal_squares(gaussian, block),
        };
        found.map(|square| if square < f64::INFINITY { self.offset - 0.5 * square } else { f64::NEG_INFINITY })
    }
}

/// The lower triangle T, row by row, with `T' T` Wishart with identity scale: normal variates, and square roots of
/// chi-squares on the diagonal.
fn bartlett(d: usize, nu: f64, rng: &mut Rng, chi_square: &mut impl FnMut(f64, &mut Rng) -> f64) -> Vec<f64> {
    let mut triangle = Vec::with_capacity(d * (d + 1) / 2);
    for i in 0..d {
        triangle.extend((0..i).map(|_| normal(rng)));
        triangle.push(chi_square(nu - (d - 1 - i) as f64, rng).sqrt());
    }
    triangle
}

/// `L T^-1` of triangles, row by row: if `T' T` is Wishart with identity scale, this is the factor of an inverse
/// Wishart matrix with scale `L L'`.
fn divided(lower: &[f64], t: &[f64], d: usize) -> Vec<f64> {
    let mut found = lower.to_vec();
    for i in 0..d {
        let line = &mut found[diagonal(i) - i..=diagonal(i)];
        for j in (0..=i).rev() {
            let rest: f64 = (j + 1..=i).map(|k| line[k] * t[diagonal(k) - k + j]).sum();
            line[j] = (line[j] - rest) / t[diagonal(j)];
        }
    }
    found
}

/// Weighted distributions, the heaviest first.
struct Atoms {
    /// Weight, position and distribution; positions from `n_known` on are new.
    list: Vec<(f64, usize, Gaussian)>,
    n_known: usize,
}

impl Mixture {
    /// Mean and covariance of each cluster, drawn given its rows.
    pub(crate) fn gaussians(&self, rng: &mut Rng) -> Vec<Gaussian> {
        self.parts.iter().map(|part| Gaussian::of(&self.prior, part, rng)).collect()
    }

    /// One sweep with explicit weights, means and covariances; returns for each resulting cluster its previous
    /// position, or `None` if it is new.
    ///
    /// For tables of many rows: given these parameters, rows are independent and shared among threads, in blocks whose
    /// generators are derived from `rng`, with the same bits for any number of threads. A slice below the weight of
    /// each row's cluster leaves finitely many new clusters to consider, so nothing is truncated (Walker 2007; Kalli,
    /// Griffin and Walker 2011). Rows move less far per sweep than in [`Mixture::sweep`], where the parameters are
    /// integrated out. If stopped, or on an error, it leaves the mixture unchanged.
    pub(crate) fn blocked_sweep(
        &mut self,
        rows: &Matrix,
        witness: &dyn Witness,
        rng: &mut Rng,
        pool: &Pool,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<Option<usize>>> {
        self.fits(rows)?;
        let (weights, rest) = self.weights(rng);
        let (seed, n) = (rng.bits(), rows.n_rows());
        let mut levels = vec![0.0; n];
        pool.chunks_mut(&mut levels, BATCH, |b, out| {
            let mut rng = Rng::new(seed, 2 * b as u64);
            for (level, &k) in out.iter_mut().zip(&self.clusters[b * BATCH..]) {
                *level = weights[k] * (1.0 - rng.uniform());
            }
        });
        let least = levels.iter().copied().fold(f64::INFINITY, f64::min);
        let atoms = self.atoms(&weights, rest, least, rng);
        let dealt = pool.map(n.div_ceil(BATCH), |b| {
            if stop() {
                return Err(stopped());
            }
            let range = b * BATCH..((b + 1) * BATCH).min(n);
            atoms.deal(rows, range, &levels, witness, &mut Rng::new(seed, 2 * b as u64 + 1))
        });
        let dealt = dealt.into_iter().collect::<Result<Vec<_>>>()?.concat();
        Ok(self.take(rows, &dealt, pool))
    }

    /// Weights of all clusters, and the remainder for new ones.
    pub(super) fn weights(&self, rng: &mut Rng) -> (Vec<f64>, f64) {
        let mut parts: Vec<f64> = self.parts.iter().map(|part| gamma(rng, part.n as f64, 1.0)).collect();
        let rest = gamma(rng, self.prior.alpha, 1.0);
        let total = parts.iter().sum::<f64>() + rest;
        parts.iter_mut().for_each(|part| *part /= total);
        (parts, rest / total)
    }

    /// The existing clusters, and as many new ones as have a weight above `least`.
    fn atoms(&self, weights: &[f64], mut rest: f64, least: f64, rng: &mut Rng) -> Atoms {
        let n_known = self.parts.len();
        let distributions = self.gaussians(rng);
        let mut list: Vec<(f64, usize, Gaussian)> = weights
            .iter()
            .zip(distributions)
            .enumerate()
            .map(|(k, (&weight, distribution))| (weight, k, distribution))
            .collect();
        let empty = Cluster::empty(&self.prior);
        while rest >= least && rest > 0.0 {
            // A stick is broken at 1 - u^(1/alpha).
            let left = rest * exp(ln(1.0 - rng.uniform()) / self.prior.alpha);
            list.push((rest - left, list.len(), Gaussian::of(&self.prior, &empty, rng)));
            rest = left;
        }
        list.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        Atoms { list, n_known }
    }

    /// Applies the new assignment to the mixture, renumbering clusters without gaps.
    fn take(&mut self, rows: &Matrix, dealt: &[usize], pool: &Pool) -> Vec<Option<usize>> {
        let n_known = self.parts.len();
        let (clusters, kept) = compact(dealt);
        self.parts = self.build(rows, &members(&clusters, kept.len()), pool);
        self.clusters = clusters;
        kept.iter().map(|&k| (k < n_known).then_some(k)).collect()
    }
}

impl Atoms {
    /// Draws the positions of some rows.
    fn deal(
        &self,
        rows: &Matrix,
        range: std::ops::Range<usize>,
        levels: &[f64],
        witness: &dyn Witness,
        rng: &mut Rng,
    ) -> Result<Vec<usize>> {
        let d = rows.n_cols();
        let (mut block, mut solved) = (vec![0.0; d * SIDE], vec![0.0; d * SIDE]);
        let (mut values, mut weights, mut dealt) = (vec![], vec![], Vec::with_capacity(range.len()));
        for first in range.clone().step_by(SIDE) {
            let end = (first + SIDE).min(range.end);
            fill(&mut block, (first..end).map(|i| rows.row(i)));
            let least = levels[first..end].iter().copied().fold(f64::INFINITY, f64::min);
            let open = &self.list[..self.list.partition_point(|atom| atom.0 >= least)];
            values.clear();
            values.extend(open.iter().map(|(_, _, distribution)| distribution.ln_densities(&block, &mut solved)));
            for i in first..end {
                weights.clear();
                let under = open[..open.partition_point(|atom| atom.0 >= levels[i])].iter();
                weights.extend(under.zip(&values).map(|((_, k, _), values)| {
                    let known = if *k < self.n_known { witness.known(i, *k) } else { witness.fresh(i) };
                    values[i - first] + known
                }));
                let chosen = draw(&mut weights, rng).ok_or_else(|| misled(i))?;
                dealt.push(open[chosen].1);
            }
        }
        Ok(dealt)
    }
}
