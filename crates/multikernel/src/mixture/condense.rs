//! Merges clusters that should be one.

use super::build::build;
use super::cluster::{Cluster, diagonal};
use super::loops::factor;
use super::{Mixture, Prior, Shape, Witness, stopped};
use crate::dist::{ln_gamma_function, ln_gamma_rise};
use crate::error::Result;
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::simd::ln;

/// Maximum number of clusters for which all pairs are examined.
const MAX_ALL_PAIRS: usize = 400;

/// A cluster, its rows, and the cluster whose witness it uses.
struct Group {
    part: Cluster,
    rows: Vec<usize>,
    origin: usize,
}

/// Two positions, and the gain in log joint density from merging them.
type Gain = (usize, usize, f64);

impl Mixture {
    /// Repeatedly merges the two clusters whose merger raises [`Mixture::ln_joint`] most, as long as one does; the
    /// witness's likelihood of the smaller cluster's rows in place of the larger counts too. Returns for each resulting
    /// cluster the position it takes over.
    ///
    /// For a start that has cut clusters into pieces, as k-means does: neither single-row moves nor splits and merges
    /// soon escape from pieces with sharp borders. It is a step uphill, not one that leaves the distribution invariant.
    /// If stopped, or if there are more than 400 clusters, it leaves the mixture unchanged. Cost: d^3 for each pair of
    /// clusters, and the witness's likelihood of each row in each cluster.
    pub(crate) fn condense(
        &mut self,
        rows: &Matrix,
        witness: &dyn Witness,
        pool: &Pool,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<usize>> {
        self.fits(rows)?;
        if self.parts.len() > MAX_ALL_PAIRS {
            return Ok((0..self.parts.len()).collect());
        }
        let lists = self.members().into_iter().enumerate();
        let group = |(part, (origin, rows))| Some(Group { part, rows, origin });
        let mut groups: Vec<Option<Group>> = self.parts.iter().cloned().zip(lists).map(group).collect();
        let all: Vec<(usize, usize)> = (0..groups.len()).flat_map(|a| (0..a).map(move |b| (b, a))).collect();
        let mut gains = self.gains(&groups, &all, witness, pool);
        while let Some(&(a, b, _)) = gains.iter().filter(|gain| gain.2 > 0.0).max_by(|x, y| x.2.total_cmp(&y.2)) {
            if stop() {
                return Err(stopped());
            }
            let (Some(one), Some(other)) = (groups[a].take(), groups[b].take()) else { break };
            let origin = if one.rows.len() >= other.rows.len() { one.origin } else { other.origin };
            let mut both = [one.rows, other.rows].concat();
            both.sort_unstable();
            let part = build(&self.prior, rows, &[&both], pool).remove(0);
            groups[a] = Some(Group { part, rows: both, origin });
            gains.retain(|&(x, y, _)| ![a, b].contains(&x) && ![a, b].contains(&y));
            let others = (0..groups.len()).filter(|&c| c != a && groups[c].is_some());
            let pairs: Vec<(usize, usize)> = others.map(|c| (c.min(a), c.max(a))).collect();
            gains.extend(self.gains(&groups, &pairs, witness, pool));
        }
        let kept: Vec<Group> = groups.into_iter().flatten().collect();
        for (k, group) in kept.iter().enumerate() {
            group.rows.iter().for_each(|&i| self.clusters[i] = k);
        }
        let origins = kept.iter().map(|group| group.origin).collect();
        self.parts = kept.into_iter().map(|group| group.part).collect();
        Ok(origins)
    }

    fn gains(
        &self,
        groups: &[Option<Group>],
        pairs: &[(usize, usize)],
        witness: &dyn Witness,
        pool: &Pool,
    ) -> Vec<Gain> {
        let gain = |p: usize| {
            let (a, b) = pairs[p];
            let found = match (&groups[a], &groups[b]) {
                (Some(one), Some(other)) => gain(&self.prior, one, other, witness),
                _ => f64::NEG_INFINITY,
            };
            (a, b, found)
        };
        pool.map(pairs.len(), gain)
    }
}

/// Log ratio of the merged cluster to the two: marginal likelihoods, `Gamma(n) / (alpha Gamma(n_1) Gamma(n_2))`, and
/// the witness's likelihood of the rows that change.
fn gain(prior: &Prior, one: &Group, other: &Group, witness: &dyn Witness) -> f64 {
    let Some(merged) = merged(prior, &one.part, &other.part) else { return f64::NEG_INFINITY };
    let (n, m) = (one.part.n as f64, other.part.n as f64);
    let rows = merged.ln_marginal(prior) - one.part.ln_marginal(prior) - other.part.ln_marginal(prior);
    let partition = ln_gamma_rise(n, m) - ln_gamma_function(m) - ln(prior.alpha);
    let (large, small) = if one.rows.len() >= other.rows.len() { (one, other) } else { (other, one) };
    let change = |&i: &usize| witness.known(i, large.origin) - witness.known(i, small.origin);
    rows + partition + small.rows.iter().map(change).sum::<f64>()
}

/// The cluster with the rows of both, from their sums: with means about that of the prior, `S = S_1 + S_2 - S0 + tau_1
/// m_1 m_1' + tau_2 m_2 m_2' - tau m m'`; `None` if rounding leaves it without a factor.
fn merged(prior: &Prior, one: &Cluster, other: &Cluster) -> Option<Cluster> {
    let d = prior.mean.len();
    let taus = [one, other].map(|part| prior.tau + part.n as f64);
    let n = one.n + other.n;
    let tau = prior.tau + n as f64;
    let off = |part: &Cluster| -> Vec<f64> { part.mean.iter().zip(&prior.mean).map(|(x, y)| x - y).collect() };
    let (a, b) = (off(one), off(other));
    let c: Vec<f64> = a.iter().zip(&b).map(|(a, b)| (taus[0] * a + taus[1] * b) / tau).collect();
    let cross = |i: usize, j: usize| taus[0] * a[i] * a[j] + taus[1] * b[i] * b[j] - tau * c[i] * c[j];
    let mut sums = vec![0.0; one.spread.len()];
    match prior.shape {
        Shape::Diagonal => {
            for (j, sum) in sums.iter_mut().enumerate() {
                *sum = one.spread[j] + other.spread[j] - prior.scale[j] + cross(j, j);
            }
        }
        Shape::Full => {
            let product = |part: &Cluster, i: usize, j: usize| -> f64 {
                let (x, y) = (&part.spread[diagonal(i) - i..], &part.spread[diagonal(j) - j..]);
                (0..=j).map(|k| x[k] * y[k]).sum()
            };
            for i in 0..d {
                for j in 0..=i {
                    let own = product(one, i, j) + product(other, i, j) + cross(i, j);
                    sums[diagonal(i) - i + j] = if i == j { own - prior.scale[i] } else { own };
                }
            }
        }
    }
    let holds = match prior.shape {
        Shape::Diagonal => sums.iter().all(|&sum| sum > 0.0),
        Shape::Full => factor(&mut sums, d),
    };
    let centre = prior.mean.iter().zip(&c).map(|(prior, c)| prior + c).collect();
    holds.then(|| Cluster::of_parts(prior, n, centre, sums))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::{Rng, normal};

    #[test]
    fn merged_sums_are_those_of_all_rows() {
        let pool = Pool::new(1).unwrap();
        let mut rng = Rng::new(3, 0);
        let rows = Matrix::from_fn(50, 4, |i, _| 3.0 * normal(&mut rng) + (i % 2) as f64);
        for (shape, nu) in [(Shape::Full, 6.0), (Shape::Diagonal, 20.0)] {
            let prior = Prior { shape, mean: vec![0.5; 4], tau: 0.3, nu, scale: vec![2.0; 4], alpha: 1.0 };
            let lists: [Vec<usize>; 3] = [(0..20).collect(), (20..50).collect(), (0..50).collect()];
            let lists: Vec<&[usize]> = lists.iter().map(Vec::as_slice).collect();
            let parts = build(&prior, &rows, &lists, &pool);
            let found = merged(&prior, &parts[0], &parts[1]).unwrap();
            let near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-10 * (1.0 + b.abs()));
            assert!(near(&found.mean, &parts[2].mean) && near(&found.spread, &parts[2].spread), "{shape:?}");
            assert!((found.ln_marginal(&prior) - parts[2].ln_marginal(&prior)).abs() < 1e-9);
        }
    }
}
