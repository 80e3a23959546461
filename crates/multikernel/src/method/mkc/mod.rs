//! `mkc`: localized multiple kernel k-means (Gönen and Margolin 2014).

mod kmeans;
mod model;
#[cfg(test)]
mod tests;
mod weights;

pub use model::MkcModel;
use weights::Local;

use super::weighted::misfit;
use crate::data::Labels;
use crate::error::{Error, Remedy, Result, message};
use crate::file::record;
use crate::kernel::CENTRED_BANK;
use crate::linalg::Matrix;
use crate::run::{About, Allowed, Control, Method, Needs, Progress, State, Task, params};
use crate::solve::eigen::leading;
use crate::stack::Stack;

params! {
    /// Clusters rows under a combined kernel in which every row has its own kernel weights.
    ///
    /// The combined kernel is `K(i, j) = sum_m t_im t_jm k_m(i, j)`, where the weights of a row are nonnegative and sum
    /// to 1. Rows that one kernel describes badly, because a view is noisy there, rely on others. The relaxed kernel
    /// k-means objective, `tr K - tr H' K H` for k orthonormal vectors H, is minimised alternately over H, the leading
    /// eigenvectors of K, and over the weights, a convex problem; neither step raises it. Finally the rows of H, scaled
    /// to length 1, are clustered by k-means, keeping the best of 20 starts.
    ///
    /// Classes are ignored, except for their number where `clusters` is 0. Kernels are scaled to unit diagonal. Use
    /// centred kernels, like the default bank: a nearly constant kernel puts all rows in one place, which is optimal
    /// for this objective, and attracts all the weight.
    ///
    /// Cost per round: up to 12 passes over the kernels, and some products of the N x N kernel with 1.5 k vectors.
    /// Memory: 8 N^2 bytes besides the kernels. Up to about 5,000 rows.
    pub struct Mkc {
        /// number of clusters; 0 for as many as there are classes, and for 10 where there is one class only
        clusters: usize = 0, Allowed::Whole(0, 200);
        /// most rounds of updates
        rounds: usize = 100, Allowed::Whole(1, 100_000);
        /// stop when a round lowers the objective by less than this part of what it is without clusters; 0 goes through
        /// all rounds
        tol: f64 = 1e-5, Allowed::Number(0.0, 1.0);
    }
}

record! {
    /// State of the rounds.
    #[derive(Clone, Debug)]
    pub struct Rounds {
        /// The weights: N x P.
        weights: Matrix,
        /// The leading eigenvectors of the combined kernel, and some more to start the next search from: one per row.
        vectors: Matrix,
        /// The objective after each round.
        objectives: Vec<f64>,
        converged: bool,
    }
}

/// Default number of clusters if nothing determines it.
const USUAL: usize = 10;

/// The number of clusters to find.
fn n_clusters(labels: &Labels, method: &Mkc) -> usize {
    let n_classes = labels.counts().iter().filter(|&&count| count > 0).count();
    match method.clusters {
        0 if n_classes > 1 => n_classes,
        0 => USUAL.min(labels.n_samples()),
        asked => asked,
    }
}

/// Number of vectors to search for: more than wanted, because close neighbours would slow convergence.
fn n_vectors(n_clusters: usize, n: usize) -> usize {
    (n_clusters + (n_clusters / 2).max(4)).min(n)
}

impl Method for Mkc {
    type State = Rounds;

    fn about(&self) -> About {
        About {
            name: "mkc",
            summary: "localized multiple kernel k-means: clusters under kernels that each row weighs in its own way",
            needs: Needs::Stack,
            bank: CENTRED_BANK,
        }
    }

    fn is_supervised(&self) -> bool {
        false
    }

    fn finds_clusters(&self) -> bool {
        true
    }
}

impl State<Mkc> for Rounds {
    type Model = MkcModel;

    fn init(method: &Mkc, task: &Task<'_>) -> Result<Rounds> {
        let (stack, n, k) = (task.stack()?, task.n_samples(), n_clusters(task.labels, method));
        if stack.n_kernels() == 0 {
            return Err(Error::input("there is no kernel to weigh"));
        }
        if k > n {
            return Err(Error::param("clusters", format!("must be at most the number of training rows, {n}, got {k}")));
        }
        check_memory(stack, n, n_vectors(k, n))?;
        let local = Local::new(task)?;
        let mut rng = task.rng(0, 0);
        let vectors = Matrix::from_fn(n_vectors(k, n), n, |_, _| rng.uniform() - 0.5);
        Ok(Rounds { weights: local.even(), vectors, objectives: vec![], converged: false })
    }

    fn check(&self, method: &Mkc, task: &Task<'_>) -> Result<()> {
        let (n, n_kernels) = (task.n_samples(), task.stack()?.n_kernels());
        let k = n_clusters(task.labels, method);
        let fits = (self.weights.n_rows(), self.weights.n_cols()) == (n, n_kernels)
            && (self.vectors.n_rows(), self.vectors.n_cols()) == (n_vectors(k, n), n);
        if fits { Ok(()) } else { Err(misfit()) }
    }

    /// One round. The state changes only at the end, once nothing can stop it any more.
    fn step(&mut self, method: &Mkc, task: &Task<'_>, control: &Control) -> Result<Progress> {
        let (stop, tol) = (|| control.stop().is_some(), method.tol);
        let (local, k) = (Local::new(task)?, n_clusters(task.labels, method));
        let kernel = local.combined(&self.weights)?;
        let found = leading(&kernel, k, &self.vectors, task.pool, &stop)?;
        drop(kernel);
        let h = found.vectors.select_rows(&(0..k).collect::<Vec<_>>()).transposed();
        // A fraction of the objective itself would never be small enough if it goes to zero, as with well-separated
        // clusters.
        let little = tol * local.scatter();
        let (weights, objective) = local.lowered(&h, self.weights.clone(), 0.1 * little)?;
        self.converged = self.objectives.last().is_some_and(|before| before - objective <= little);
        self.objectives.push(objective);
        (self.weights, self.vectors) = (weights, found.vectors);
        let rounds = method.rounds;
        let done = if self.converged { rounds } else { self.objectives.len().min(rounds) };
        Ok(Progress::of(done, rounds).with("objective", objective))
    }

    fn finish(self, method: &Mkc, task: &Task<'_>) -> Result<MkcModel> {
        MkcModel::new(task, method, &self, n_clusters(task.labels, method))
    }
}

/// Rejects runs that would not fit in memory: the combined kernel, and the vectors used in the search for eigenvectors
/// and weights.
fn check_memory(stack: &Stack, n: usize, n_vectors: usize) -> Result<()> {
    // A basis of at most 120 or twice the vectors, with its images and the next block; eight tables of weights.
    let beside = 3 * n_vectors.max(60) * 2 + 8 * stack.n_kernels();
    let need = (n as u64).saturating_mul(n as u64).saturating_add(n as u64 * beside as u64).saturating_mul(8);
    let limit = stack.room();
    if need <= limit {
        return Ok(());
    }
    Err(Error::Memory {
        what: format!("the combined kernel of {n} rows and its eigenvectors"),
        need,
        limit,
        help: message!["use fewer rows, or raise ", Remedy::Memory],
    })
}
