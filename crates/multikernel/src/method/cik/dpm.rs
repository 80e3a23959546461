//! `dpm`: the clusters of a Dirichlet-process mixture alone.

use super::machine::Answers;
use super::model::{Told, counts, place, responsibilities};
use super::opinions::Scene;
use super::settings::clustering_params;
use super::space::Space;
use super::start::{self, Sampling};
use crate::error::{Error, Result};
use crate::file::{Cache, Field, Record, record};
use crate::linalg::Matrix;
use crate::method::weighted::misfit;
use crate::mixture::{Mixture, Nothing};
use crate::pool::Pool;
use crate::run::{
    About, ByPartitions, Clusterer, Control, Explain, Input, Method, Needs, Placed, Predict, Probabilistic, Progress,
    State, Task,
};

clustering_params! {
    /// A Dirichlet-process mixture of Gaussians: as many clusters as the data support, with a density. Labels are not
    /// used.
    ///
    /// For finding groups of rows: `multikernel cluster`, with or without labels. It starts from k-means clusters,
    /// merged while that raises the joint density of rows and clusters; the clusters are a draw from their posterior
    /// after `sweeps` sweeps. New rows get a density and the share of training rows that are as improbable (each judged
    /// by the others), so that outliers are those below a small share. As a classifier, a row gets the class frequencies of the training rows in its clusters,
    /// with one pseudo-count per class.
    ///
    /// Cost per sweep: N K d^2, or N K d with diagonal covariances. Memory: rows twice, and 8 bytes for each.
    pub struct Dpm {} {}
}

record! {
    /// State of a run.
    #[derive(Clone, Debug)]
    pub struct Sampled {
        n_sweeps: usize,
        pub(super) position: u64,
        pub(super) space: Space,
        pub(super) mixture: Mixture,
        n_clusters: Vec<usize>,
        ln_joint: Vec<f64>,
        pub(super) moves: Vec<usize>,
        table: Cache<Matrix>,
    }
}

record! {
    /// Clusters with a density, and the classes of their training rows; the model of [`Dpm`].
    #[derive(Clone, Debug)]
    pub struct DpmModel {
        space: Space,
        mixture: Mixture,
        /// Training rows by cluster (rows) and class (columns).
        counts: Matrix,
        told: Told,
        ordinary: Ordinary,
    }
}

/// Log densities of training rows, each given the others, in ascending order: what is ordinary. Empty in models that were
/// stored without them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ordinary(Vec<f64>);

impl DpmModel {
    /// A model of clusters in these columns.
    pub(super) fn new(space: Space, mixture: Mixture, counts: Matrix, told: Told, ordinary: Ordinary) -> DpmModel {
        DpmModel { space, mixture, counts, told, ordinary }
    }
}

impl Ordinary {
    /// Of this many rows all are kept, of more so many quantiles.
    const MOST: usize = 10_000;

    pub(super) fn new(mut densities: Vec<f64>) -> Ordinary {
        densities.sort_by(f64::total_cmp);
        let n = densities.len();
        let kept = |k: usize| densities[(2 * k + 1) * n / (2 * Ordinary::MOST)];
        if n > Ordinary::MOST { Ordinary((0..Ordinary::MOST).map(kept).collect()) } else { Ordinary(densities) }
    }

    /// The share of rows as improbable as one of this density, that row included: uniform for rows like these.
    fn typical(&self, ln_density: f64) -> f64 {
        let below = self.0.partition_point(|&value| value <= ln_density);
        (below + 1) as f64 / (self.0.len() + 1) as f64
    }

    /// The least density whose typical share is at least `quantile`; the least there is where so few rows cannot tell.
    fn threshold(&self, quantile: f64) -> Option<f64> {
        let wanted = (quantile * (self.0.len() + 1) as f64 - 1.0).ceil().max(1.0) as usize;
        self.0.get(wanted.min(self.0.len()).wrapping_sub(1)).copied()
    }
}

impl Field for Ordinary {
    fn put(&self, name: &str, record: &mut Record) {
        if !self.0.is_empty() {
            record.put(name, &self.0);
        }
    }

    fn take(name: &str, record: &Record) -> Result<Self> {
        if record.has(name) { Ok(Ordinary(record.take(name)?)) } else { Ok(Ordinary(vec![])) }
    }
}

impl Method for Dpm {
    type State = Sampled;

    fn about(&self) -> About {
        About {
            name: "dpm",
            summary: "clusters of a Dirichlet-process mixture of Gaussians, found without labels",
            needs: Needs::Rows,
            bank: "",
        }
    }

    fn is_supervised(&self) -> bool {
        false
    }

    fn finds_clusters(&self) -> bool {
        true
    }

    fn by_partitions(&self) -> Option<Box<dyn ByPartitions>> {
        Some(Box::new(self.clone()))
    }
}

impl Sampled {
    /// Checks that it fits the task, and knows the clusters of so many rows.
    pub(super) fn check_for(&self, task: &Task<'_>, n_rows: usize) -> Result<()> {
        let d = task.rows()?.n_cols();
        if !self.space.fits(d) || self.moves.len() != 3 || self.n_clusters.len() != self.ln_joint.len() {
            return Err(misfit());
        }
        self.mixture.check(n_rows, self.space.n_columns())
    }
}

impl State<Dpm> for Sampled {
    type Model = DpmModel;

    fn init(method: &Dpm, task: &Task<'_>) -> Result<Sampled> {
        let (rows, mut rng) = (task.rows()?, task.rng(0, 0));
        let space = Space::new(rows, method.covariance)?;
        let table = space.apply(rows)?;
        let mixture = start::mixture(&space, &table, &method.clustering(), &mut rng, task.pool)?;
        let (n_sweeps, position, n_clusters, ln_joint, moves) = (0, rng.position(), vec![], vec![], vec![0; 3]);
        Ok(Sampled { n_sweeps, position, space, mixture, n_clusters, ln_joint, moves, table: Cache(Some(table)) })
    }

    fn check(&self, _: &Dpm, task: &Task<'_>) -> Result<()> {
        self.check_for(task, task.n_samples())
    }

    fn step(&mut self, method: &Dpm, task: &Task<'_>, control: &Control) -> Result<Progress> {
        let (rows, stop) = (task.rows()?, || control.stop().is_some());
        let table = self.table.0.take().map_or_else(|| self.space.apply(rows), Ok)?;
        let scene =
            Scene { rows, table: &table, answers: Answers::Codes(&[]), n_outputs: 0, pool: task.pool, stop: &stop };
        // A cancelled sweep leaves the state unchanged.
        let mut next = self.clone();
        let done = next.sweep(task, method, &scene);
        if done.is_ok() {
            *self = next;
        }
        self.table = Cache(Some(table));
        done?;
        let total = method.sweeps.max(1);
        Ok(Progress::of(self.n_sweeps, total).with("clusters", self.mixture.n_clusters() as f64))
    }

    fn finish(self, method: &Dpm, task: &Task<'_>) -> Result<DpmModel> {
        let is_whole = self.n_sweeps == method.sweeps.max(1);
        let table = self.table.0.map_or_else(|| self.space.apply(task.rows()?), Ok)?;
        let ordinary = Ordinary::new(self.mixture.ln_densities_left_out(&table, task.pool)?);
        let counts = counts(&self.mixture, task.labels.codes(), task.labels.n_classes());
        let told = Told::new(self.n_clusters, self.ln_joint, self.moves, is_whole);
        Ok(DpmModel::new(self.space, self.mixture, counts, told, ordinary))
    }
}

impl Sampled {
    fn sweep(&mut self, task: &Task<'_>, method: &Dpm, scene: &Scene<'_>) -> Result<()> {
        self.n_sweeps += 1;
        let sampling = Sampling::new(method.sampler, scene.table.n_rows());
        if sampling == Sampling::Fixed || method.sweeps == 0 {
            return Ok(());
        }
        let mut rng = task.rng(0, self.position);
        if self.n_sweeps == 1 {
            self.mixture.condense(scene.table, &Nothing, scene.pool, scene.stop)?;
        }
        start::sweep(&mut self.mixture, sampling, &Nothing, scene, &mut rng)?;
        let (_, made) = start::split_merge(&mut self.mixture, method.moves, &Nothing, scene, &mut rng)?;
        self.moves.iter_mut().zip(made).for_each(|(sum, made)| *sum += made);
        self.position = rng.position();
        self.n_clusters.push(self.mixture.n_clusters());
        self.ln_joint.push(self.mixture.ln_joint());
        Ok(())
    }
}

impl Predict for DpmModel {
    fn scores(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        let mut joint = self.mixture.ln_joint_densities(&self.space.apply(input.rows()?)?, pool)?;
        let (k, m, n) = (self.mixture.n_clusters(), self.counts.n_cols(), self.mixture.n_rows());
        let frequencies: Vec<Vec<f64>> = self
            .counts
            .rows()
            .map(|row| {
                let sum = row.iter().sum::<f64>() + m as f64;
                row.iter().map(|count| (count + 1.0) / sum).collect()
            })
            .collect();
        for i in 0..joint.n_rows() {
            responsibilities(joint.row_mut(i), n, self.mixture.prior().alpha);
        }
        let score = |i: usize, class: usize| {
            let row = joint.row(i);
            let known: f64 = row[..k].iter().zip(&frequencies).map(|(share, of)| share * of[class]).sum();
            // Rounding may put a certain class above 1.
            (known + row[k] / m as f64).min(1.0)
        };
        Ok(Matrix::from_fn(joint.n_rows(), m, score))
    }

    fn check(&self, _: usize, n_classes: usize) -> Result<()> {
        let fits = (self.counts.n_rows(), self.counts.n_cols()) == (self.mixture.n_clusters(), n_classes);
        if !fits || !self.told.fits() || !self.ordinary.0.is_sorted() {
            return Err(Error::input("classes of the clusters do not fit together"));
        }
        self.mixture.check(self.mixture.clusters().len(), self.space.n_columns())
    }

    fn probabilistic(&self) -> Option<&dyn Probabilistic> {
        Some(self)
    }

    fn clustering(&self) -> Option<&dyn Clusterer> {
        Some(self)
    }
}

impl Explain for DpmModel {
    fn facts(&self) -> Vec<(String, String)> {
        self.told.facts(&self.space, &self.mixture)
    }

    fn warnings(&self) -> Vec<String> {
        self.told.warnings()
    }
}

impl Probabilistic for DpmModel {}

impl Clusterer for DpmModel {
    fn clusters(&self) -> &[usize] {
        self.mixture.clusters()
    }

    fn threshold(&self, quantile: f64) -> Option<f64> {
        self.ordinary.threshold(quantile)
    }

    fn place(&self, input: Input<'_>, pool: &Pool) -> Result<Placed> {
        let placed = place(&self.space, &self.mixture, input, pool)?;
        let typical = |density: &Vec<f64>| density.iter().map(|&value| self.ordinary.typical(value)).collect();
        let typical = placed.density.as_ref().filter(|_| !self.ordinary.0.is_empty()).map(typical);
        Ok(Placed { typical, ..placed })
    }
}
