//! Dirichlet-process mixtures of Gaussians, means and covariances integrated out: the number of clusters is not fixed.
//!
//! A [`Mixture`] is a partition of rows and the posterior of each of its clusters. [`Mixture::sweep`] draws the cluster
//! of each row given all others, [`Mixture::split_merge`] takes steps that single rows cannot,
//! [`Mixture::blocked_sweep`] draws weights, means and covariances first, after which rows are independent and are
//! shared among all threads. All of them leave the same distribution invariant. A [`Witness`] adds other information
//! about a row, such as how well the classifier of a cluster does on it.

mod blocked;
mod build;
mod cluster;
mod condense;
mod density;
mod elsewhere;
mod k_means;
mod loops;
mod split_merge;
mod sweep;
#[cfg(test)]
mod tests;

pub(crate) use elsewhere::{DealtSums, N_FRESH, Offer};
pub(crate) use k_means::k_means;

use crate::error::{Error, Result};
use crate::file::{Codec, Field, Record, record};
use crate::linalg::Matrix;
use crate::pool::Pool;
use build::{build, members, size};
use cluster::{Cluster, ln_partition};

/// Whether the covariance of a cluster has d (d + 1) / 2 free parameters or d.
///
/// Full for up to some 30 varying columns; diagonal beyond, and if some columns are sums of others (one-hot), where
/// only the prior makes a full covariance invertible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Full,
    Diagonal,
}

/// Stored as its name.
impl Field for Shape {
    fn put(&self, name: &str, record: &mut Record) {
        record.put(name, &if *self == Shape::Full { "full" } else { "diagonal" }.to_string());
    }

    fn take(name: &str, record: &Record) -> Result<Self> {
        match record.take::<String>(name)?.as_str() {
            "full" => Ok(Shape::Full),
            "diagonal" => Ok(Shape::Diagonal),
            other => Err(Error::input(format!("field `{name}` is `{other}`; it may be full or diagonal"))),
        }
    }
}

record! {
    /// Prior of the clusters: normal-inverse-Wishart, `S ~ IW(nu, diag(scale))`, or one normal-inverse-gamma per
    /// column, `variance_j ~ IG(nu/2, scale_j/2)`; the mean given them is `N(mean, covariance / tau)`. alpha is the
    /// concentration of the Dirichlet process: about `alpha ln(1 + N / alpha)` clusters a priori for N rows.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Prior {
        pub(crate) shape: Shape,
        pub(crate) mean: Vec<f64>,
        pub(crate) tau: f64,
        /// Degrees of freedom: above d - 1 (full) or 0.
        pub(crate) nu: f64,
        /// One per column. The prior mean of a variance is `scale / (nu - d - 1)` (full) or `scale / (nu - 2)`.
        pub(crate) scale: Vec<f64>,
        pub(crate) alpha: f64,
    }
}

/// The largest value a mixture accepts: squares of sums of them do not overflow.
const MAX_VALUE: f64 = 1e100;

impl Prior {
    fn check(&self) -> Result<()> {
        let d = self.mean.len();
        let is_positive = |x: &f64| *x > 0.0 && x.is_normal();
        let least = if self.shape == Shape::Full { d as f64 - 1.0 } else { 0.0 };
        let fault = if d == 0 || self.scale.len() != d {
            format!("has {d} means and {} scales; give one of each for every column", self.scale.len())
        } else if let Some(x) = self.mean.iter().find(|x| x.is_nan() || x.abs() > MAX_VALUE) {
            format!("has a mean of {x}; it must be a number from -{MAX_VALUE:e} to {MAX_VALUE:e}")
        } else if let Some(x) =
            self.scale.iter().find(|x| !(is_positive(x) && (1.0 / MAX_VALUE..=MAX_VALUE).contains(*x)))
        {
            format!("has a scale of {x}; it must be from {:e} to {MAX_VALUE:e}", 1.0 / MAX_VALUE)
        } else if !is_positive(&self.tau) {
            format!("has a tau of {}; it must be a number above 0", self.tau)
        } else if !is_positive(&self.alpha) {
            format!("has an alpha of {}; it must be a number above 0", self.alpha)
        } else if !(self.nu > least && self.nu.is_finite()) {
            format!("has a nu of {}; it must be a number above {least}", self.nu)
        } else {
            return Ok(());
        };
        Err(Error::input(format!("the prior of a mixture {fault}")))
    }
}

/// Information about rows beyond their values: its log likelihood in a cluster that had this position when the sweep
/// started, or in one created since.
pub(crate) trait Witness: Sync {
    /// For a row in an existing cluster.
    fn known(&self, row: usize, cluster: usize) -> f64;
    /// For a row in a new cluster.
    fn fresh(&self, row: usize) -> f64;
}

/// The witness without information.
pub(crate) struct Nothing;

impl Witness for Nothing {
    fn known(&self, _: usize, _: usize) -> f64 {
        0.0
    }

    fn fresh(&self, _: usize) -> f64 {
        0.0
    }
}

/// A partition of rows into non-empty clusters, and the posterior of each of them.
///
/// It holds no rows: they are passed again to the operations that need them, and must be the same. A stored state
/// resumes with the same bits. Memory: one number per row and d (d + 1) / 2 (diagonal: d) per cluster.
#[derive(Clone, Debug)]
pub(crate) struct Mixture {
    prior: Prior,
    parts: Vec<Cluster>,
    /// The cluster of each row.
    clusters: Vec<usize>,
}

impl Codec for Mixture {
    fn encode(&self) -> Record {
        let mut record = self.prior.encode();
        let (d, k, width) = (self.prior.mean.len(), self.parts.len(), size(&self.prior));
        record.put("clusters", &self.clusters);
        record.put("counts", &self.counts());
        record.put("means", &Matrix::from_fn(k, d, |k, j| self.parts[k].mean[j]));
        record.put("spreads", &Matrix::from_fn(k, width, |k, j| self.parts[k].spread[j]));
        record
    }

    fn decode(record: &Record) -> Result<Self> {
        let prior = Prior::decode(record)?;
        prior.check()?;
        let counts: Vec<usize> = record.take("counts")?;
        let (means, spreads): (Matrix, Matrix) = (record.take("means")?, record.take("spreads")?);
        let shapes = [means.n_rows(), means.n_cols(), spreads.n_rows(), spreads.n_cols()];
        if shapes != [counts.len(), prior.mean.len(), counts.len(), size(&prior)] {
            return Err(misfit("the numbers of its clusters do not fit together"));
        }
        let parts = counts.iter().enumerate();
        let parts =
            parts.map(|(k, &n)| Cluster::of_parts(&prior, n, means.row(k).to_vec(), spreads.row(k).to_vec())).collect();
        Ok(Mixture { prior, parts, clusters: record.take("clusters")? })
    }
}

fn misfit(what: &str) -> Error {
    Error::input(format!("the mixture does not fit: {what}; the file was not written by this method"))
}

impl Mixture {
    /// The mixture of rows with given clusters: numbers from 0, with gaps allowed.
    ///
    /// Cost: d^2 / 2 products per row (diagonal: d).
    pub(crate) fn new(prior: Prior, rows: &Matrix, clusters: Vec<usize>) -> Result<Mixture> {
        Mixture::on(prior, rows, clusters, Pool::alone()?)
    }

    /// [`Mixture::new`] for many rows, on all threads.
    pub(crate) fn on(prior: Prior, rows: &Matrix, clusters: Vec<usize>, pool: &Pool) -> Result<Mixture> {
        prior.check()?;
        check_rows(rows)?;
        if clusters.len() != rows.n_rows() || rows.n_rows() == 0 || rows.n_cols() != prior.mean.len() {
            let (n, d, own) = (rows.n_rows(), rows.n_cols(), prior.mean.len());
            let given = clusters.len();
            return Err(Error::input(format!(
                "a mixture of {n} rows of {d} columns got clusters of {given} rows and a prior for {own} columns; give as \
                 many, and at least one row"
            )));
        }
        let (clusters, kept) = compact(&clusters);
        let mut mixture = Mixture { prior, parts: vec![], clusters };
        let lists = members(&mixture.clusters, kept.len());
        mixture.parts = mixture.build(rows, &lists, pool);
        Ok(mixture)
    }

    fn build(&self, rows: &Matrix, lists: &[Vec<usize>], pool: &Pool) -> Vec<Cluster> {
        let lists: Vec<&[usize]> = lists.iter().map(Vec::as_slice).collect();
        build(&self.prior, rows, &lists, pool)
    }

    /// Checks that it knows the clusters of this many rows and has so many columns, for states read from files; 0 rows for
    /// one whose rows were elsewhere.
    pub(crate) fn check(&self, n_rows: usize, n_cols: usize) -> Result<()> {
        let mut counts = vec![0usize; self.parts.len()];
        for &k in &self.clusters {
            *counts.get_mut(k).ok_or_else(|| misfit("a row is in a cluster that is not there"))? += 1;
        }
        let is_sound = |part: &Cluster| {
            let positive = part.sums(self.prior.shape).iter().all(|sum| *sum > 0.0 && sum.is_finite());
            let finite = part.mean.iter().chain(&part.spread).all(|value| value.is_finite());
            part.n > 0 && positive && finite && part.gaussian().inverses.iter().all(|x| *x > 0.0 && x.is_finite())
        };
        if self.prior.mean.len() != n_cols {
            Err(misfit("it has another number of columns"))
        } else if self.clusters.len() != n_rows || (n_rows > 0 && counts != self.counts()) {
            Err(misfit("its clusters have other rows"))
        } else if !self.parts.iter().all(is_sound) {
            Err(misfit("a covariance is none"))
        } else {
            Ok(())
        }
    }

    /// The prior.
    pub(crate) fn prior(&self) -> &Prior {
        &self.prior
    }

    /// Number of clusters, all non-empty.
    pub(crate) fn n_clusters(&self) -> usize {
        self.parts.len()
    }

    /// The number of rows of each cluster.
    pub(crate) fn counts(&self) -> Vec<usize> {
        self.parts.iter().map(|part| part.n).collect()
    }

    /// The number of rows, wherever they are.
    pub(crate) fn n_rows(&self) -> usize {
        self.parts.iter().map(|part| part.n).sum()
    }

    /// The cluster of each row; empty if rows are elsewhere.
    pub(crate) fn clusters(&self) -> &[usize] {
        &self.clusters
    }

    /// The rows of each cluster, in order.
    pub(crate) fn members(&self) -> Vec<Vec<usize>> {
        members(&self.clusters, self.parts.len())
    }

    /// ln p(clusters) + ln p(rows | clusters): higher for better partitions.
    pub(crate) fn ln_joint(&self) -> f64 {
        let rows: f64 = self.parts.iter().map(|part| part.ln_marginal(&self.prior)).sum();
        rows + ln_partition(self.prior.alpha, self.parts.iter().map(|part| part.n))
    }

    /// Checks that these are the rows of this mixture.
    fn fits(&self, rows: &Matrix) -> Result<()> {
        if (rows.n_rows(), rows.n_cols()) == (self.clusters.len(), self.prior.mean.len()) {
            return Ok(());
        }
        let (n, d) = (self.clusters.len(), self.prior.mean.len());
        Err(Error::input(format!(
            "the mixture is one of {n} rows of {d} columns, got {} of {}",
            rows.n_rows(),
            rows.n_cols()
        )))
    }
}

/// Checks that all values are numbers that a mixture can square.
fn check_rows(rows: &Matrix) -> Result<()> {
    let bad = |x: &f64| x.is_nan() || x.abs() > MAX_VALUE;
    match rows.rows().enumerate().find_map(|(i, row)| row.iter().position(bad).map(|j| (i, j))) {
        None => Ok(()),
        Some((i, j)) => Err(Error::input(format!(
            "row {} has {:e} in column {}; clusters are found in numbers from -{MAX_VALUE:e} to {MAX_VALUE:e}: scale the columns",
            i + 1,
            rows.get(i, j),
            j + 1
        ))),
    }
}

/// Renumbers without gaps in the order of the old numbers, and returns the old number of each new one.
fn compact(clusters: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let mut seen: Vec<usize> = clusters.to_vec();
    seen.sort_unstable();
    seen.dedup();
    // Every number is present.
    let place = |k: &usize| seen.binary_search(k).unwrap_or(0);
    (clusters.iter().map(place).collect(), seen)
}

fn stopped() -> Error {
    Error::Stopped("stopped while rows were dealt to clusters".into())
}
