//! `dpm`: the clusters of a Dirichlet-process mixture alone.

use super::model::{Told, counts, place, responsibilities};
use super::opinions::Scene;
use super::settings::CLUSTERING;
use super::space::Space;
use super::start::{self, Sampling};
use crate::error::{Error, Result};
use crate::file::Cache;
use crate::file::record;
use crate::linalg::Matrix;
use crate::method::weighted::misfit;
use crate::mixture::{Mixture, Nothing};
use crate::pool::Pool;
use crate::run::{About, Control, Input, Method, Needs, Params, Placed, Predict, Progress, Task};

/// A Dirichlet-process mixture of Gaussians: as many clusters as the rows want, with a density. Labels have no say in them.
///
/// For finding groups of rows, `multikernel cluster` with or without labels. It starts from clusters of k-means, merged while that
/// raises the joint density of rows and clusters; the clusters are a draw from their posterior after `sweeps` sweeps. As a classifier a row has the classes of the training rows of its clusters, one row of each class added.
///
/// Cost per sweep: N K d^2, or N K d with diagonal covariances. Memory: rows twice, and 8 bytes for each.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dpm;

record! {
    /// Where a run stands.
    #[derive(Clone, Debug)]
    pub struct Sampled {
        n_sweeps: usize,
        position: u64,
        space: Space,
        mixture: Mixture,
        n_clusters: Vec<usize>,
        ln_joint: Vec<f64>,
        moves: Vec<usize>,
        table: Cache<Matrix>,
    }
}

record! {
    /// Clusters with a density, and the classes of their training rows: of [`Dpm`].
    #[derive(Clone, Debug)]
    pub struct DpmModel {
        space: Space,
        mixture: Mixture,
        /// Training rows by cluster (rows) and class (columns).
        counts: Matrix,
        told: Told,
    }
}

impl Method for Dpm {
    type State = Sampled;
    type Model = DpmModel;

    fn about(&self) -> About {
        About {
            name: "dpm",
            summary: "clusters of a Dirichlet-process mixture of Gaussians, found without labels",
            needs: Needs::Rows,
            params: &CLUSTERING,
            bank: "",
        }
    }

    fn is_supervised(&self) -> bool {
        false
    }

    fn finds_clusters(&self) -> bool {
        true
    }

    fn init(&self, task: &Task<'_>, params: &Params) -> Result<Sampled> {
        let (rows, mut rng) = (task.rows()?, task.rng(0, 0));
        let space = Space::new(rows, params.text("covariance"))?;
        let table = space.apply(rows)?;
        let mixture = start::mixture(&space, &table, params, &mut rng, task.pool)?;
        let (n_sweeps, position, n_clusters, ln_joint, moves) = (0, rng.position(), vec![], vec![], vec![0; 3]);
        Ok(Sampled { n_sweeps, position, space, mixture, n_clusters, ln_joint, moves, table: Cache(Some(table)) })
    }

    fn check(&self, task: &Task<'_>, _: &Params, state: &Sampled) -> Result<()> {
        let (n, d) = (task.n_samples(), task.rows()?.n_cols());
        if !state.space.fits(d) || state.moves.len() != 3 || state.n_clusters.len() != state.ln_joint.len() {
            return Err(misfit());
        }
        state.mixture.check(n, state.space.n_columns())
    }

    fn step(&self, task: &Task<'_>, params: &Params, state: &mut Sampled, control: &Control) -> Result<Progress> {
        let (rows, stop) = (task.rows()?, || control.stop().is_some());
        let table = state.table.0.take().map_or_else(|| state.space.apply(rows), Ok)?;
        let scene = Scene { rows, table: &table, codes: &[], n_classes: 0, pool: task.pool, stop: &stop };
        // A sweep that is stopped leaves the state as it was.
        let mut next = state.clone();
        let done = next.sweep(task, params, &scene);
        if done.is_ok() {
            *state = next;
        }
        state.table = Cache(Some(table));
        done?;
        let total = params.whole("sweeps").max(1);
        Ok(Progress::of(state.n_sweeps, total).with("clusters", state.mixture.n_clusters() as f64))
    }

    fn finish(&self, task: &Task<'_>, params: &Params, state: Sampled) -> Result<DpmModel> {
        let is_whole = state.n_sweeps == params.whole("sweeps").max(1);
        Ok(DpmModel {
            counts: counts(&state.mixture, task.labels.codes(), task.labels.n_classes()),
            space: state.space,
            mixture: state.mixture,
            told: Told::new(state.n_clusters, state.ln_joint, state.moves, is_whole),
        })
    }
}

impl Sampled {
    fn sweep(&mut self, task: &Task<'_>, params: &Params, scene: &Scene<'_>) -> Result<()> {
        self.n_sweeps += 1;
        let sampling = Sampling::new(params, scene.table.n_rows());
        if sampling == Sampling::Fixed || params.whole("sweeps") == 0 {
            return Ok(());
        }
        let mut rng = task.rng(0, self.position);
        if self.n_sweeps == 1 {
            self.mixture.condense(scene.table, &Nothing, scene.pool, scene.stop)?;
        }
        start::sweep(&mut self.mixture, sampling, &Nothing, scene, &mut rng)?;
        let (_, made) = start::split_merge(&mut self.mixture, params, &Nothing, scene, &mut rng)?;
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
        let (k, m, n) = (self.mixture.n_clusters(), self.counts.n_cols(), self.mixture.clusters().len());
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
            // Roundings may put a certain class above 1.
            (known + row[k] / m as f64).min(1.0)
        };
        Ok(Matrix::from_fn(joint.n_rows(), m, score))
    }

    fn probabilities(&self, input: Input<'_>, pool: &Pool) -> Result<Option<Matrix>> {
        self.scores(input, pool).map(Some)
    }

    fn has_probabilities(&self) -> bool {
        true
    }

    fn check(&self, _: usize, n_classes: usize) -> Result<()> {
        let fits = (self.counts.n_rows(), self.counts.n_cols()) == (self.mixture.n_clusters(), n_classes);
        if !fits || !self.told.fits() {
            return Err(Error::input("classes of the clusters do not fit together"));
        }
        self.mixture.check(self.mixture.clusters().len(), self.space.n_columns())
    }

    fn clusters(&self) -> Option<&[usize]> {
        Some(self.mixture.clusters())
    }

    fn place(&self, input: Input<'_>, pool: &Pool) -> Result<Option<Placed>> {
        place(&self.space, &self.mixture, input, pool).map(Some)
    }

    fn facts(&self) -> Vec<(String, String)> {
        self.told.facts(&self.space, &self.mixture)
    }

    fn warnings(&self) -> Vec<String> {
        self.told.warnings()
    }
}
