//! Shared by `cik` and `dpm`: the start of the clustering and its moves.

use super::opinions::Scene;
use super::settings::{ClusterSampler, Clustering};
use super::space::Space;
use crate::dist::Rng;
use crate::error::Result;
use crate::linalg::Matrix;
use crate::mixture::{Mixture, Witness, k_means};
use crate::pool::Pool;

/// Maximum number of rows for automatic row-by-row sweeps.
const MAX_COLLAPSED: usize = 20_000;

/// How clusters are sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sampling {
    Collapsed,
    Blocked,
    /// Not at all.
    Fixed,
}

impl Sampling {
    pub(super) fn new(sampler: ClusterSampler, n_rows: usize) -> Sampling {
        match sampler {
            ClusterSampler::Collapsed => Sampling::Collapsed,
            ClusterSampler::Blocked => Sampling::Blocked,
            ClusterSampler::Fixed => Sampling::Fixed,
            ClusterSampler::Auto if n_rows <= MAX_COLLAPSED => Sampling::Collapsed,
            ClusterSampler::Auto => Sampling::Blocked,
        }
    }
}

/// The clusters of k-means.
pub(super) fn mixture(
    space: &Space,
    table: &Matrix,
    params: &Clustering,
    rng: &mut Rng,
    pool: &Pool,
) -> Result<Mixture> {
    let clusters = k_means(table, params.start, rng, pool)?;
    Mixture::on(space.prior(table, params)?, table, clusters, pool)
}

/// One sweep; returns the previous number of each cluster.
pub(super) fn sweep(
    mixture: &mut Mixture,
    sampling: Sampling,
    witness: &dyn Witness,
    scene: &Scene<'_>,
    rng: &mut Rng,
) -> Result<Vec<Option<usize>>> {
    match sampling {
        Sampling::Collapsed => mixture.sweep(scene.table, witness, rng, scene.stop),
        Sampling::Blocked => mixture.blocked_sweep(scene.table, witness, rng, scene.pool, scene.stop),
        Sampling::Fixed => Ok((0..mixture.n_clusters()).map(Some).collect()),
    }
}

/// Splits and merges; returns for each new cluster the cluster whose machine it inherits, and how many moves were
/// tried, split and merged.
pub(super) fn split_merge(
    mixture: &mut Mixture,
    n_moves: usize,
    witness: &dyn Witness,
    scene: &Scene<'_>,
    rng: &mut Rng,
) -> Result<(Vec<usize>, [usize; 3])> {
    let (from, moves) = mixture.split_merge(scene.table, witness, n_moves, rng, scene.pool, scene.stop)?;
    Ok((from, [moves.proposed, moves.splits, moves.merges]))
}
