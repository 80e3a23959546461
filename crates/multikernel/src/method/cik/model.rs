//! The model of `cik`: clusters, and a machine for each.

use super::Cik;
use super::machine::{Machine, softmin};
use super::space::Space;
use super::{Likelihood, Machines, Search};
use crate::error::{Error, Result};
use crate::file::record;
use crate::linalg::Matrix;
use crate::method::machine::IsNumbers;
use crate::mixture::Mixture;
use crate::pool::Pool;
use crate::run::{Clusterer, Explain, Input, Placed, Predict, Probabilistic, Regressor, Task, first_largest};
use crate::simd::{exp, ln};

/// Rows predicted together.
const BLOCK: usize = 256;
/// Clusters less likely than the best by more than this many nats are ignored.
const GAP: f64 = 40.0;

record! {
    /// Clusters, each with a density and a kernel machine; the model of [`Cik`](super::Cik).
    ///
    /// Scores are probabilities: of each cluster given the row's density, times those of its machine; the share of an
    /// unseen cluster is spread evenly over all classes. Where numbers are predicted, scores are the mean of what the
    /// machines of the clusters say, and 0, their mean, for an unseen one.
    #[derive(Clone, Debug)]
    pub struct CikModel {
        /// Or numbers.
        n_classes: usize,
        /// The factor on the machines' losses.
        beta: f64,
        space: Space,
        mixture: Mixture,
        machines: Machines,
        /// Training rows by cluster (rows) and class (columns); of any number the same.
        counts: Matrix,
        told: Told,
        is_numbers: IsNumbers,
    }
}

record! {
    /// How the clusters were found.
    #[derive(Clone, Debug)]
    pub(super) struct Told {
        /// After each sweep.
        n_clusters: Vec<usize>,
        ln_joint: Vec<f64>,
        /// Splits and merges tried, splits made, and merges made.
        moves: Vec<usize>,
        is_whole: bool,
    }
}

impl Told {
    pub(super) fn new(n_clusters: Vec<usize>, ln_joint: Vec<f64>, moves: Vec<usize>, is_whole: bool) -> Told {
        Told { n_clusters, ln_joint, moves, is_whole }
    }

    /// Facts about the search.
    pub(super) fn facts(&self, space: &Space, mixture: &Mixture) -> Vec<(String, String)> {
        let mut sizes = mixture.counts();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        let shown: Vec<String> = sizes.iter().take(20).map(usize::to_string).collect();
        let more = if sizes.len() > 20 { ", ..." } else { "" };
        let shape = if space.is_full() { "full" } else { "diagonal" };
        let mut facts = vec![
            ("clusters".to_string(), format!("{} of {}{more} rows", sizes.len(), shown.join(", "))),
            ("covariances".to_string(), format!("{shape}, on {} columns", space.n_columns())),
        ];
        if let [.., last] = self.n_clusters[..] {
            let recent = &self.n_clusters[self.n_clusters.len().saturating_sub(10)..];
            let (least, most) = recent.iter().fold((last, last), |(least, most), &k| (least.min(k), most.max(k)));
            facts.push((
                "sweeps".to_string(),
                format!("{}, {least} to {most} clusters in the last {}", self.n_clusters.len(), recent.len()),
            ));
        }
        if let [tried, splits, merges] = self.moves[..]
            && tried > 0
        {
            facts.push(("moves".to_string(), format!("{tried} tried, {splits} splits and {merges} merges made")));
        }
        facts
    }

    /// Warnings for the user.
    pub(super) fn warnings(&self) -> Vec<String> {
        if self.is_whole {
            return vec![];
        }
        vec!["stopped before its end: clusters may not have settled; give it more time".into()]
    }

    pub(super) fn fits(&self) -> bool {
        self.n_clusters.len() == self.ln_joint.len() && self.moves.len() == 3
    }
}

/// Training rows by cluster and class.
pub(super) fn counts(mixture: &Mixture, codes: &[usize], n_classes: usize) -> Matrix {
    let mut counts = Matrix::zeros(mixture.n_clusters(), n_classes);
    for (&cluster, &code) in mixture.clusters().iter().zip(codes) {
        counts.set(cluster, code, counts.get(cluster, code) + 1.0);
    }
    counts
}

/// Log density of a row in units of the clusters' columns; replaces `joint` by the cluster probabilities, the last for
/// a new cluster.
pub(super) fn responsibilities(joint: &mut [f64], n_rows: usize, alpha: f64) -> f64 {
    let most = joint.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    joint.iter_mut().for_each(|value| *value = exp(*value - most));
    let sum: f64 = joint.iter().sum();
    joint.iter_mut().for_each(|value| *value /= sum);
    most + ln(sum) - ln(n_rows as f64 + alpha)
}

/// The most likely cluster of each row, and the rows' density.
pub(super) fn place(space: &Space, mixture: &Mixture, input: Input<'_>, pool: &Pool) -> Result<Placed> {
    let mut joint = mixture.ln_joint_densities(&space.apply(input.rows()?)?, pool)?;
    let (n, k, alpha) = (mixture.n_rows(), mixture.n_clusters(), mixture.prior().alpha);
    let clusters = joint.rows().map(|row| first_largest(&row[..k])).collect();
    let density = (0..joint.n_rows()).map(|i| responsibilities(joint.row_mut(i), n, alpha)).collect();
    Ok(Placed { clusters, density: Some(density), typical: None })
}

impl CikModel {
    pub(super) fn new(task: &Task<'_>, method: &Cik, search: Search) -> Result<CikModel> {
        let n_classes = task.n_outputs();
        let counts = if task.target.numbers().is_some() {
            let sizes = search.mixture.counts();
            Matrix::from_fn(sizes.len(), n_classes, |cluster, _| sizes[cluster] as f64)
        } else {
            counts(&search.mixture, task.labels.codes(), n_classes)
        };
        let is_whole = search.n_rounds == 1 + method.sweeps + method.epochs;
        let told = Told::new(search.n_clusters.clone(), search.ln_joint.clone(), search.moves.clone(), is_whole);
        CikModel::of_counts(task, method, search, counts, told)
    }

    /// The model of a search, with training rows by cluster and class.
    pub(super) fn of_counts(
        task: &Task<'_>,
        method: &Cik,
        search: Search,
        counts: Matrix,
        told: Told,
    ) -> Result<CikModel> {
        let likelihood = Likelihood::new(method);
        let mut machines = search.machines;
        machines.0.iter_mut().for_each(Machine::settle);
        if !machines.0.iter().all(Machine::is_finite) {
            let message =
                "the machines left the range of numbers; scale the columns, or lower rate, kernel_rate and lambda";
            return Err(Error::input(message));
        }
        Ok(CikModel {
            n_classes: task.n_outputs(),
            // Machines without a say in the clusters still have one in the classes.
            beta: if likelihood.beta > 0.0 { likelihood.beta } else { 1.0 },
            counts,
            space: search.space,
            mixture: search.mixture,
            machines,
            told,
            is_numbers: IsNumbers(task.target.numbers().is_some()),
        })
    }

    /// Probabilities or numbers of a block of rows.
    fn block(&self, rows: &Matrix) -> Result<Vec<f64>> {
        let (m, k) = (self.n_classes, self.machines.0.len());
        let all = self.mixture.ln_joint_densities(&self.space.apply(rows)?, Pool::alone()?)?;
        let (mut found, mut room) = (vec![0.0; rows.n_rows() * m], vec![0.0; m]);
        let (n, alpha) = (self.mixture.n_rows(), self.mixture.prior().alpha);
        let mut shares = all.clone();
        for i in 0..rows.n_rows() {
            responsibilities(shares.row_mut(i), n, alpha);
        }
        let most: Vec<f64> = all.rows().map(|row| row.iter().copied().fold(f64::NEG_INFINITY, f64::max)).collect();
        for (cluster, machine) in self.machines.0.iter().enumerate() {
            let which: Vec<usize> = (0..rows.n_rows()).filter(|&i| all.get(i, cluster) > most[i] - GAP).collect();
            let mut scores = vec![0.0; which.len() * m];
            machine.scores(rows, &which, &mut scores)?;
            for (&i, scores) in which.iter().zip(scores.chunks_exact(m)) {
                if self.is_numbers.0 {
                    room.copy_from_slice(scores);
                } else {
                    softmin(scores, self.beta, &mut room);
                }
                let out = found[i * m..][..m].iter_mut().zip(&room);
                out.for_each(|(out, share)| *out += shares.get(i, cluster) * share);
            }
        }
        if self.is_numbers.0 {
            return Ok(found);
        }
        for (i, out) in found.chunks_exact_mut(m).enumerate() {
            // Clusters that were not evaluated, and the unseen one, know no class.
            let silent = (0..=k).filter(|&c| c == k || all.get(i, c) <= most[i] - GAP);
            let rest = silent.map(|c| shares.get(i, c)).sum::<f64>() / m as f64;
            // Rounding may put a certain class above 1.
            out.iter_mut().for_each(|out| *out = (*out + rest).min(1.0));
        }
        Ok(found)
    }
}

impl Predict for CikModel {
    fn scores(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        let rows = input.rows()?;
        let n = rows.n_rows();
        let blocks = pool.map(n.div_ceil(BLOCK), |block| {
            let here: Vec<usize> = (block * BLOCK..((block + 1) * BLOCK).min(n)).collect();
            self.block(&rows.select_rows(&here))
        });
        let found = blocks.into_iter().collect::<Result<Vec<_>>>()?;
        Matrix::from_vec(n, self.n_classes, found.concat())
    }

    fn check(&self, _: usize, n_classes: usize) -> Result<()> {
        let wrong = |what: &str| Err(Error::input(format!("{what} of the clusters do not fit together")));
        let k = self.mixture.n_clusters();
        if self.n_classes != n_classes || (self.counts.n_rows(), self.counts.n_cols()) != (k, n_classes) {
            return wrong("classes");
        }
        let Some(first) = self.machines.0.first().filter(|_| self.machines.0.len() == k) else {
            return wrong("machines");
        };
        if !self.space.fits(first.n_features()) || !self.told.fits() || !self.beta.is_finite() {
            return wrong("columns");
        }
        self.mixture.check(self.mixture.clusters().len(), self.space.n_columns())?;
        let alike = |machine: &Machine| machine.check(first.n_features(), n_classes);
        self.machines.0.iter().try_for_each(alike)
    }

    fn probabilistic(&self) -> Option<&dyn Probabilistic> {
        (!self.is_numbers.0).then_some(self)
    }

    fn regressor(&self) -> Option<&dyn Regressor> {
        self.is_numbers.0.then_some(self)
    }

    fn clustering(&self) -> Option<&dyn Clusterer> {
        Some(self)
    }
}

impl Explain for CikModel {
    fn facts(&self) -> Vec<(String, String)> {
        self.told.facts(&self.space, &self.mixture)
    }

    fn warnings(&self) -> Vec<String> {
        self.told.warnings()
    }
}

impl Probabilistic for CikModel {}

impl Regressor for CikModel {}

impl Clusterer for CikModel {
    fn clusters(&self) -> &[usize] {
        self.mixture.clusters()
    }

    fn place(&self, input: Input<'_>, pool: &Pool) -> Result<Placed> {
        place(&self.space, &self.mixture, input, pool)
    }

    fn relevance(&self) -> Option<Matrix> {
        let shares = |machine: &Machine| {
            let all = machine.relevance();
            let sum: f64 = all.iter().sum();
            all.into_iter().map(|one| if sum > 0.0 { one / sum } else { 0.0 }).collect()
        };
        let rows: Vec<Vec<f64>> = self.machines.0.iter().map(shares).collect();
        Matrix::from_vec(rows.len(), rows.first()?.len(), rows.concat()).ok()
    }
}
