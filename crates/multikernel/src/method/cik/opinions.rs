//! The machines' opinions of every row, for all clusters.

use super::Likelihood;
use super::machine::{Answers, Machine};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::mixture::{Mixture, Witness};
use crate::pool::Pool;
use crate::run::first_largest;

/// Rows evaluated together.
const BLOCK: usize = 512;

/// Clusters less likely than the best by more than this many nats are not evaluated.
const GAP: f64 = 30.0;

/// For each row and cluster, the log-likelihood of the row's class or numbers under the cluster's machine, and the same
/// for a cluster that has no machine yet.
pub(super) struct Opinions {
    n_clusters: usize,
    /// Row by row; a few digits are enough for comparison with a density.
    values: Vec<f32>,
    /// Of each row, or one for all.
    fresh: Vec<f64>,
}

impl Opinions {
    fn fresh_of(&self, row: usize) -> f64 {
        self.fresh[row % self.fresh.len()]
    }
}

impl Witness for Opinions {
    fn known(&self, row: usize, cluster: usize) -> f64 {
        f64::from(self.values[row * self.n_clusters + cluster])
    }

    fn fresh(&self, row: usize) -> f64 {
        self.fresh_of(row)
    }
}

/// The rows, and their classes or numbers.
pub(super) struct Scene<'a> {
    /// As seen by the machines.
    pub(super) rows: &'a Matrix,
    /// As seen by the clusters.
    pub(super) table: &'a Matrix,
    pub(super) answers: Answers<'a>,
    pub(super) n_outputs: usize,
    pub(super) pool: &'a Pool,
    pub(super) stop: &'a (dyn Fn() -> bool + Sync),
}

/// The log densities of some rows in all clusters.
type Densities<'a> = dyn Fn(&[usize]) -> Result<Matrix> + Sync + 'a;

impl Opinions {
    /// Evaluates the machines. Cost: one product of D x d and one of 2 D x outputs for each row and each cluster within
    /// 30 nats of the most likely; the others count as clusters without a machine.
    pub(super) fn of(scene: &Scene<'_>, mixture: &Mixture, machines: &[Machine], how: &Likelihood) -> Result<Opinions> {
        let densities = |rows: &[usize]| mixture.ln_joint_densities(&scene.table.select_rows(rows), Pool::alone()?);
        Opinions::given(scene, &densities, machines, how)
    }

    /// The same, given the log of weight times density of rows in each cluster, up to a constant of the row.
    pub(super) fn given(
        scene: &Scene<'_>,
        densities: &Densities<'_>,
        machines: &[Machine],
        how: &Likelihood,
    ) -> Result<Opinions> {
        let (n, n_clusters, fresh) = (scene.rows.n_rows(), machines.len(), how.fresh(scene.answers, scene.n_outputs));
        let mut values = vec![];
        // Many clusters and many rows: better an error than a killed process.
        values.try_reserve_exact(n.saturating_mul(n_clusters)).map_err(|_| {
            Error::input(format!("no memory for what {n_clusters} machines say of {n} rows; start from fewer clusters"))
        })?;
        values.extend((0..n).flat_map(|row| std::iter::repeat_n(fresh[row % fresh.len()] as f32, n_clusters)));
        let mut results: Vec<Result<()>> = (0..n.div_ceil(BLOCK)).map(|_| Ok(())).collect();
        let blocks = values.chunks_mut(BLOCK * n_clusters).zip(&mut results).enumerate().collect();
        scene.pool.each(blocks, |(block, (found, result))| {
            let rows: Vec<usize> = (block * BLOCK..((block + 1) * BLOCK).min(n)).collect();
            *result = judge(scene, densities, machines, how, &rows, found);
        });
        results.into_iter().collect::<Result<()>>()?;
        Ok(Opinions { n_clusters, values, fresh })
    }

    /// The same after clusters were renumbered: `from` gives the old number of each, `None` for one without a machine.
    pub(super) fn moved<'a>(&'a self, from: &'a [Option<usize>]) -> Moved<'a> {
        Moved { opinions: self, from }
    }
}

/// Opinions of renumbered clusters.
pub(super) struct Moved<'a> {
    opinions: &'a Opinions,
    from: &'a [Option<usize>],
}

impl Witness for Moved<'_> {
    fn known(&self, row: usize, cluster: usize) -> f64 {
        self.from[cluster].map_or_else(|| self.opinions.fresh_of(row), |before| self.opinions.known(row, before))
    }

    fn fresh(&self, row: usize) -> f64 {
        self.opinions.fresh_of(row)
    }
}

/// The opinions on a block of rows.
fn judge(
    scene: &Scene<'_>,
    densities: &Densities<'_>,
    machines: &[Machine],
    how: &Likelihood,
    rows: &[usize],
    found: &mut [f32],
) -> Result<()> {
    if (scene.stop)() {
        return Err(Error::Stopped("stopped while machines were asked".into()));
    }
    let n_clusters = machines.len();
    let densities = densities(rows)?;
    let ask = |found: &mut [f32], wanted: &dyn Fn(usize, usize) -> bool| -> Result<()> {
        let mut room = vec![0.0; scene.n_outputs];
        for (cluster, machine) in machines.iter().enumerate() {
            let places: Vec<usize> = (0..rows.len()).filter(|&place| wanted(place, cluster)).collect();
            let which: Vec<usize> = places.iter().map(|&place| rows[place]).collect();
            let mut scores = vec![0.0; which.len() * scene.n_outputs];
            machine.scores(scene.rows, &which, &mut scores)?;
            for ((&place, &row), scores) in places.iter().zip(&which).zip(scores.chunks_exact(scene.n_outputs)) {
                found[place * n_clusters + cluster] = how.of(scores, scene.answers, row, &mut room) as f32;
            }
        }
        Ok(())
    };
    // The most likely cluster of each row first: it bounds how unlikely others may be, as no opinion is above 0.
    let likeliest: Vec<usize> = densities.rows().map(|row| first_largest(&row[..n_clusters])).collect();
    ask(found, &|place, cluster| likeliest[place] == cluster)?;
    let best = |(place, &cluster): (usize, &usize)| {
        densities.get(place, cluster) + f64::from(found[place * n_clusters + cluster])
    };
    let least: Vec<f64> = likeliest.iter().enumerate().map(best).map(|best| best - GAP).collect();
    ask(found, &|place, cluster| likeliest[place] != cluster && densities.get(place, cluster) > least[place])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opinions_move_with_their_clusters() {
        let opinions = Opinions { n_clusters: 2, values: vec![-1.0, -2.0, -3.0, -4.0], fresh: vec![-8.0, -9.0] };
        let from = [Some(1), None, Some(0)];
        let moved = opinions.moved(&from);
        assert_eq!([0, 1, 2].map(|k| moved.known(1, k)), [-4.0, -9.0, -3.0]);
        assert_eq!((moved.known(0, 0), moved.fresh(0), moved.fresh(1)), (-2.0, -8.0, -9.0));
        // One for all rows.
        let alike = Opinions { fresh: vec![-9.0], ..opinions };
        assert_eq!((alike.moved(&from).known(1, 1), alike.fresh(1)), (-9.0, -9.0));
    }
}
