//! Rows that lie elsewhere, in blocks: distributions are drawn here, rows are dealt to them there, and clusters are made
//! of sums.
//!
//! As in [`Mixture::blocked_sweep`], rows are independent once weights, means and covariances are drawn. A block keeps
//! nothing between sweeps, so a row knows no cluster of its own from which a slice could be taken. Instead the weight
//! left to new clusters is broken into a few pieces, the last of which has all of the rest (Ishwaran and James 2001):
//! with N rows that weight is about alpha / N, and what the truncation moves is a thirty-second of it for alpha = 1.

use super::blocked::Gaussian;
use super::build::{of_scatter, size};
use super::cluster::{Cluster, add_scatter, diagonal, fill};
use super::loops::SIDE;
use super::sweep::{draw, misled};
use super::{Mixture, Prior, Shape, Witness, misfit};
use crate::dist::Rng;
use crate::error::Result;
use crate::file::{Codec, Record, record};
use crate::linalg::Matrix;
use crate::simd::{exp, ln};

/// New clusters that a sweep offers.
pub(crate) const N_FRESH: usize = 5;

/// Weighted distributions, those of clusters first.
#[derive(Clone, Debug)]
pub(crate) struct Offer {
    n_known: usize,
    ln_weights: Vec<f64>,
    gaussians: Vec<Gaussian>,
}

impl Codec for Offer {
    fn encode(&self) -> Record {
        let mut record = Record::default();
        let (k, d) = (self.gaussians.len(), self.n_columns());
        let width = self.gaussians.first().map_or(0, |gaussian| gaussian.spread().len());
        record.put("n_known", &self.n_known);
        record.put("ln_weights", &self.ln_weights);
        record.put("shape", &self.shape());
        record.put("means", &Matrix::from_fn(k, d, |k, j| self.gaussians[k].mean()[j]));
        record.put("spreads", &Matrix::from_fn(k, width, |k, j| self.gaussians[k].spread()[j]));
        record
    }

    fn decode(record: &Record) -> Result<Self> {
        let (shape, ln_weights): (Shape, Vec<f64>) = (record.take("shape")?, record.take("ln_weights")?);
        let (means, spreads): (Matrix, Matrix) = (record.take("means")?, record.take("spreads")?);
        let (k, d) = (ln_weights.len(), means.n_cols());
        let width = if shape == Shape::Full { d * (d + 1) / 2 } else { d };
        let n_known: usize = record.take("n_known")?;
        if (means.n_rows(), spreads.n_rows(), spreads.n_cols()) != (k, k, width) || n_known > k {
            return Err(misfit("the distributions offered do not fit together"));
        }
        let gaussian = |k: usize| Gaussian::of_parts(shape, means.row(k).to_vec(), spreads.row(k).to_vec());
        let gaussians = (0..k).map(gaussian).collect();
        Ok(Offer { n_known, ln_weights, gaussians })
    }
}

impl Offer {
    /// Of these, as many as there are clusters are known.
    pub(crate) fn n_known(&self) -> usize {
        self.n_known
    }

    /// All of them.
    pub(crate) fn len(&self) -> usize {
        self.gaussians.len()
    }

    fn n_columns(&self) -> usize {
        self.gaussians.first().map_or(0, |gaussian| gaussian.mean().len())
    }

    fn shape(&self) -> Shape {
        self.gaussians.first().map_or(Shape::Diagonal, Gaussian::shape)
    }

    /// ln of weight times density for each row and distribution, up to a constant shared by all.
    pub(crate) fn ln_joints(&self, rows: &Matrix) -> Result<Matrix> {
        let (n, d) = (rows.n_rows(), self.n_columns());
        if rows.n_cols() != d {
            return Err(misfit("rows have other columns than the distributions offered"));
        }
        let mut found = Matrix::zeros(n, self.len());
        let (mut block, mut solved) = (vec![0.0; d * SIDE], vec![0.0; d * SIDE]);
        for first in (0..n).step_by(SIDE) {
            let end = (first + SIDE).min(n);
            fill(&mut block, (first..end).map(|i| rows.row(i)));
            for (k, (gaussian, weight)) in self.gaussians.iter().zip(&self.ln_weights).enumerate() {
                let densities = gaussian.ln_densities(&block, &mut solved);
                (first..end).for_each(|i| found.set(i, k, weight + densities[i - first]));
            }
        }
        Ok(found)
    }

    /// Draws the position of each row, given [`Offer::ln_joints`].
    pub(crate) fn deal(&self, ln_joints: &Matrix, witness: &dyn Witness, rng: &mut Rng) -> Result<Vec<usize>> {
        let mut weights = vec![0.0; self.len()];
        let one = |(i, row): (usize, &[f64])| {
            for (k, (weight, joint)) in weights.iter_mut().zip(row).enumerate() {
                *weight = joint + if k < self.n_known { witness.known(i, k) } else { witness.fresh(i) };
            }
            draw(&mut weights, rng).ok_or_else(|| misled(i))
        };
        ln_joints.rows().enumerate().map(one).collect()
    }

    /// What rows add to their clusters.
    pub(crate) fn sums(&self, rows: &Matrix, dealt: &[usize]) -> DealtSums {
        let (k, d, shape) = (self.len(), self.n_columns(), self.shape());
        let width = self.gaussians.first().map_or(0, |gaussian| gaussian.spread().len());
        let mut sums =
            DealtSums { counts: vec![0.0; k], firsts: Matrix::zeros(k, d), seconds: Matrix::zeros(k, width) };
        let mut apart = vec![0.0; d];
        for (row, &at) in rows.rows().zip(dealt) {
            let mean = self.gaussians[at].mean();
            sums.counts[at] += 1.0;
            let line = sums.firsts.row_mut(at).iter_mut().zip(row.iter().zip(mean));
            line.for_each(|(sum, (x, mean))| *sum += x - mean);
            add_scatter(shape, &[row], mean, &mut apart, sums.seconds.row_mut(at));
        }
        sums
    }
}

record! {
    /// For each distribution offered: the rows dealt to it, and the sums of their differences from its mean and of the
    /// products of these.
    #[derive(Clone, Debug)]
    pub(crate) struct DealtSums {
        pub(crate) counts: Vec<f64>,
        firsts: Matrix,
        seconds: Matrix,
    }
}

impl DealtSums {
    fn fits(&self, offer: &Offer, prior: &Prior) -> bool {
        let (k, d) = (offer.len(), offer.n_columns());
        let shapes = [self.firsts.n_rows(), self.firsts.n_cols(), self.seconds.n_rows(), self.seconds.n_cols()];
        self.counts.len() == k && shapes == [k, d, k, size(prior)]
    }

    /// The cluster of the rows at one position.
    fn cluster(&self, at: usize, mean: &[f64], prior: &Prior) -> Cluster {
        let (n, first) = (self.counts[at], self.firsts.row(at));
        let mut scatter = self.seconds.row(at).to_vec();
        for i in 0..mean.len() {
            match prior.shape {
                Shape::Diagonal => scatter[i] -= first[i] * first[i] / n,
                Shape::Full => {
                    let line = &mut scatter[diagonal(i) - i..=diagonal(i)];
                    line.iter_mut().zip(first).for_each(|(sum, y)| *sum -= first[i] * y / n);
                }
            }
        }
        let mean: Vec<f64> = mean.iter().zip(first).map(|(mean, sum)| mean + sum / n).collect();
        // Rounding may leave no factor; a variance that is larger by so little does.
        let mut more = 0.0;
        loop {
            let mut sums = scatter.clone();
            for i in 0..mean.len() {
                let at = if prior.shape == Shape::Full { diagonal(i) } else { i };
                sums[at] = sums[at].max(0.0) + more * (sums[at].abs() + prior.scale[i]);
            }
            match of_scatter(prior, n as usize, &mean, sums) {
                Some(cluster) => return cluster,
                None if more < 1e6 => more = if more == 0.0 { 1e-12 } else { 16.0 * more },
                None => return Cluster::empty(prior),
            }
        }
    }
}

impl Mixture {
    /// Weights, means and covariances of all clusters and of some new ones, drawn.
    pub(crate) fn offer(&self, n_fresh: usize, rng: &mut Rng) -> Offer {
        let (mut weights, mut rest) = self.weights(rng);
        let mut gaussians = self.gaussians(rng);
        let empty = Cluster::empty(&self.prior);
        for k in 1..=n_fresh {
            // A stick is broken at 1 - u^(1/alpha); the last piece is not.
            let left = if k < n_fresh { rest * exp(ln(1.0 - rng.uniform()) / self.prior.alpha) } else { 0.0 };
            weights.push(rest - left);
            gaussians.push(Gaussian::of(&self.prior, &empty, rng));
            rest = left;
        }
        let ln_weights = weights.iter().map(|weight| ln(weight.max(f64::MIN_POSITIVE))).collect();
        Offer { n_known: self.parts.len(), ln_weights, gaussians }
    }

    /// Takes the clusters that rows elsewhere were dealt to; returns for each its position in the offer. From then on it
    /// knows no row's cluster.
    pub(crate) fn take_dealt(&mut self, offer: &Offer, sums: &DealtSums) -> Result<Vec<usize>> {
        if !sums.fits(offer, &self.prior) {
            return Err(misfit("the sums of rows do not fit the distributions offered"));
        }
        let kept: Vec<usize> = (0..offer.len()).filter(|&at| sums.counts[at] >= 1.0).collect();
        if kept.is_empty() {
            return Err(misfit("no row was dealt to a cluster"));
        }
        self.parts = kept.iter().map(|&at| sums.cluster(at, offer.gaussians[at].mean(), &self.prior)).collect();
        self.clusters.clear();
        Ok(kept)
    }
}
