//! The model: the clustering, and the assignment of new rows.

use super::Mkc;
use super::Rounds;
use super::kmeans::k_means;
use super::weights::{Local, means};
use crate::error::{Error, Result};
use crate::file::record;
use crate::linalg::{Matrix, axpy, dot};
use crate::method::machine::Told;
use crate::pool::Pool;
use crate::run::{Clusterer, Explain, Input, Placed, Predict, Probabilistic, Task};
use crate::stack::Stack;

record! {
    /// The clusters of the training rows, and the mean weights of the rows in each.
    ///
    /// **New rows** are not part of the published method; here they go to the nearest mean: the distance to a cluster's
    /// mean is taken under the kernel `sum_m w_m^2 k_m` with the cluster's mean weights w. Kernels are divided by their
    /// mean diagonal entries, which also stand in for the kernel between a new row and itself. A training row is not
    /// necessarily assigned to its own cluster.
    ///
    /// Scores, for comparing clusterings as classifiers, are the class frequencies among the training rows of the row's
    /// cluster, with one added to each count. Cost per row: one kernel value per training row and kernel.
    #[derive(Clone, Debug)]
    pub struct MkcModel {
        /// Means over all rows.
        weights: Vec<f64>,
        /// The cluster of each training row.
        clusters: Vec<usize>,
        points: Vec<usize>,
        /// Squared mean weights of each cluster, divided by the mean diagonal entries: clusters x P.
        squares: Matrix,
        /// The part of the squared distance from each mean that does not depend on the new row.
        offsets: Vec<f64>,
        /// Class frequencies in each cluster: clusters x classes.
        frequencies: Matrix,
        told: Told,
        warnings: Vec<String>,
    }
}

impl MkcModel {
    pub(super) fn new(task: &Task<'_>, method: &Mkc, state: &Rounds, asked: usize) -> Result<MkcModel> {
        let stack = task.stack()?;
        let embedded = unit_rows(&state.vectors.select_rows(&(0..asked).collect::<Vec<_>>()).transposed());
        let clusters = k_means(&embedded, asked, |start| task.rng(1 + start, 0), task.pool)?;
        let n_clusters = clusters.iter().max().map_or(0, |&last| last + 1);
        let diagonals = means(&stack.diagonals(task.pool)?);
        let own = means_of_clusters(&state.weights, &clusters, n_clusters);
        let square = |cluster: usize, m: usize| own.get(cluster, m).powi(2) / diagonals[m];
        let squares = Matrix::from_fn(n_clusters, stack.n_kernels(), square);
        let mut model = MkcModel {
            weights: means(&state.weights),
            points: (0..clusters.len()).collect(),
            offsets: vec![0.0; n_clusters],
            frequencies: frequencies(task, &clusters, n_clusters),
            told: Told(facts(state, &clusters, n_clusters)),
            warnings: warnings(method, state, Local::new(task)?.scatter(), asked, n_clusters),
            clusters,
            squares,
        };
        let used = model.used();
        let within = model.mean_kernels(&stack.pick(&used)?, task.pool)?;
        let counts = model.counts();
        for (i, &cluster) in model.clusters.iter().enumerate() {
            model.offsets[cluster] += within.get(i, cluster) / counts[cluster] as f64;
        }
        for (offset, squares) in model.offsets.iter_mut().zip(model.squares.rows()) {
            *offset += dot(squares, &diagonals);
        }
        Ok(model)
    }

    fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.offsets.len()];
        self.clusters.iter().for_each(|&cluster| counts[cluster] += 1);
        counts
    }

    /// Kernels with nonzero weight in some cluster.
    fn used(&self) -> Vec<usize> {
        let in_use = |&m: &usize| self.squares.rows().any(|row| row[m] != 0.0);
        (0..self.squares.n_cols()).filter(in_use).collect()
    }

    /// For each cluster, its kernel averaged over its rows, at the points of a stack of the used kernels.
    fn mean_kernels(&self, stack: &Stack, pool: &Pool) -> Result<Matrix> {
        let counts = self.counts();
        let coefficient = |i: usize, cluster: usize| match self.clusters[i] == cluster {
            true => 1.0 / counts[cluster] as f64,
            false => 0.0,
        };
        let coefficients = Matrix::from_fn(self.clusters.len(), counts.len(), coefficient);
        let mixture = stack.mixture(&self.squares.select_cols(&self.used()).transposed(), pool)?;
        stack.decide(&mixture, &coefficients, pool)
    }

    fn placed(&self, input: Input<'_>, pool: &Pool) -> Result<Vec<usize>> {
        let kernels = self.mean_kernels(input.stack()?, pool)?;
        let nearest = |row: &[f64]| {
            let distances = row.iter().zip(&self.offsets).map(|(kernel, offset)| offset - 2.0 * kernel).enumerate();
            distances.fold((0, f64::INFINITY), |best, next| if next.1 < best.1 { next } else { best }).0
        };
        Ok(kernels.rows().map(nearest).collect())
    }
}

/// Rows scaled to length 1; zero rows stay zero.
fn unit_rows(rows: &Matrix) -> Matrix {
    let mut scaled = rows.clone();
    for i in 0..rows.n_rows() {
        let length = dot(rows.row(i), rows.row(i)).sqrt();
        if length > 0.0 {
            scaled.row_mut(i).iter_mut().for_each(|value| *value /= length);
        }
    }
    scaled
}

/// The mean weights of the rows of each cluster.
fn means_of_clusters(weights: &Matrix, clusters: &[usize], n_clusters: usize) -> Matrix {
    let mut sums = Matrix::zeros(n_clusters, weights.n_cols());
    let mut counts = vec![0.0f64; n_clusters];
    for (row, &cluster) in weights.rows().zip(clusters) {
        axpy(1.0, row, sums.row_mut(cluster));
        counts[cluster] += 1.0;
    }
    for (cluster, count) in counts.into_iter().enumerate() {
        sums.row_mut(cluster).iter_mut().for_each(|sum| *sum /= count);
    }
    sums
}

fn frequencies(task: &Task<'_>, clusters: &[usize], n_clusters: usize) -> Matrix {
    let mut found = Matrix::from_fn(n_clusters, task.labels.n_classes(), |_, _| 1.0);
    for (&cluster, &class) in clusters.iter().zip(task.labels.codes()) {
        found.row_mut(cluster)[class] += 1.0;
    }
    for cluster in 0..n_clusters {
        let sum: f64 = found.row(cluster).iter().sum();
        found.row_mut(cluster).iter_mut().for_each(|count| *count /= sum);
    }
    found
}

fn facts(state: &Rounds, clusters: &[usize], n_clusters: usize) -> Vec<(String, String)> {
    let mut counts = vec![0usize; n_clusters];
    clusters.iter().for_each(|&cluster| counts[cluster] += 1);
    let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
    let mut facts = vec![("rows of the clusters".into(), counts.join(", "))];
    if let (Some(first), Some(last)) = (state.objectives.first(), state.objectives.last()) {
        let rounds = state.objectives.len();
        facts.push(("objective".into(), format!("{first:.4} after the first round, {last:.4} after {rounds}")));
    }
    facts
}

fn warnings(method: &Mkc, state: &Rounds, scatter: f64, asked: usize, found: usize) -> Vec<String> {
    let mut warnings = vec![];
    if found < asked {
        warnings.push(format!("only {found} of {asked} clusters have rows: there are no more groups that differ"));
    }
    if let [.., before, last] = state.objectives[..]
        && !state.converged
        && state.objectives.len() >= method.rounds
        && method.tol > 0.0
    {
        warnings.push(format!(
            "the last of {} rounds still lowered the objective by {:.1e} of what it is without clusters; raise rounds",
            state.objectives.len(),
            (before - last) / scatter
        ));
    }
    warnings
}

impl Predict for MkcModel {
    fn scores(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        Ok(self.frequencies.select_rows(&self.placed(input, pool)?))
    }

    fn points(&self) -> &[usize] {
        &self.points
    }

    fn kernels(&self) -> Option<Vec<usize>> {
        Some(self.used())
    }

    fn check(&self, n_kernels: usize, n_classes: usize) -> Result<()> {
        let n_clusters = self.offsets.len();
        let shape = |matrix: &Matrix| (matrix.n_rows(), matrix.n_cols());
        let fits = self.weights.len() == n_kernels
            && shape(&self.squares) == (n_clusters, n_kernels)
            && shape(&self.frequencies) == (n_clusters, n_classes)
            && self.points.len() == self.clusters.len()
            && self.clusters.iter().all(|&cluster| cluster < n_clusters)
            && self.counts().iter().all(|&count| count > 0)
            && n_clusters > 0;
        if fits { Ok(()) } else { Err(Error::input("its arrays do not fit together")) }
    }

    fn probabilistic(&self) -> Option<&dyn Probabilistic> {
        Some(self)
    }

    fn clustering(&self) -> Option<&dyn Clusterer> {
        Some(self)
    }
}

impl Explain for MkcModel {
    fn weights(&self) -> Option<&[f64]> {
        Some(&self.weights)
    }

    fn facts(&self) -> Vec<(String, String)> {
        self.told.0.clone()
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }
}

impl Probabilistic for MkcModel {}

impl Clusterer for MkcModel {
    fn clusters(&self) -> &[usize] {
        &self.clusters
    }

    fn place(&self, input: Input<'_>, pool: &Pool) -> Result<Placed> {
        Ok(Placed { clusters: self.placed(input, pool)?, density: None, typical: None })
    }
}
