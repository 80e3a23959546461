//! `easymkl`: kernels weighted by how far apart they put the classes, along the margin of the mean kernel.

use super::svc::svc_params;
use super::weighted::{Move, Rule, Weighted, Weights, misfit, signs};
use crate::error::Result;
use crate::file::{Cache, record};
use crate::kernel::DEFAULT_BANK;
use crate::linalg::Matrix;
use crate::run::{About, Allowed, Control, Method, Needs, Task};
use crate::solve::smo;
use crate::stack::Symmetric;

svc_params! {
    /// C-SVC on kernels weighted by the distance between the classes under each (Aiolli and Donini 2015, "EasyMKL: a
    /// scalable multiple kernel learning algorithm"): `gamma`, a distribution over the rows of either class, minimises
    /// `(1 - lambda) gamma'Y K Y gamma + lambda |gamma|^2` for the mean kernel `K`, and `d_m ~ gamma'Y K_m Y gamma`.
    /// With `lambda` 0 the distance is between the nearest points of the two classes' convex hulls, with 1 between
    /// their means. For more than two classes the distances of each class from the rest are summed, so that all
    /// machines share one set of weights: one combined kernel instead of one per class, one answer to which kernels
    /// matter, and one-vs-one works as well as one-vs-rest. Kernels should have the same scale, as unit-diagonal
    /// kernels do. Cost: one hard-margin SVM per class, two passes over the kernels.
    pub struct EasyMkl {
        /// from the nearest points of the classes (0) to their means (1); auto chooses among 0.01, 0.1, 0.5, 0.9
        lambda: f64 = 0.1, Allowed::NumberOrAuto(1e-6, 1.0, &[0.01, 0.1, 0.5, 0.9]);
    }
}

/// Accuracy of gamma relative to the margin; well below what kernel weights can show.
const TOLERANCE: f64 = 1e-5;
/// Iterations per step, after which the state can be stored, and the iteration limit of a problem, as for the SVM.
const SLICE: u64 = 50_000;
const LIMIT: u64 = 10_000_000;

record! {
    /// The current problem (a class against the rest), its dual variables, and the distances summed so far.
    #[derive(Clone, Debug, Default)]
    pub struct Margins {
        solved: usize,
        alpha: Vec<f64>,
        n_iter: u64,
        given_up: usize,
        distances: Vec<f64>,
        gram: Cache<Matrix>,
    }
}

impl Rule for EasyMkl {
    type Progress = Margins;

    fn check_progress(&self, task: &Task<'_>, state: &Margins) -> Result<()> {
        let (n, n_kernels) = (task.n_samples(), task.stack()?.n_kernels());
        let fits = state.solved <= signs(task.labels).n_cols()
            && (state.solved == 0 || state.distances.len() == n_kernels)
            && [0, n].contains(&state.alpha.len())
            && [0, n_kernels].contains(&state.distances.len());
        if fits { Ok(()) } else { Err(misfit()) }
    }

    fn advance(&self, task: &Task<'_>, state: &mut Margins, control: &Control) -> Result<Move> {
        let y = signs(task.labels);
        // After the last problem a stop may come before the SVM begins: a resumed run solves none again.
        if state.solved < y.n_cols() {
            let positive: Vec<bool> = y.rows().map(|row| row[state.solved] > 0.0).collect();
            let lambda = self.lambda;
            let gram = state.gram.get_or_make(|| mixed(task, lambda))?;
            let Some(solution) = nearest(gram, &positive, lambda, &state.alpha, control)? else {
                return Ok(Move::Cancelled);
            };
            let n_iter = state.n_iter + solution.n_iter;
            if !solution.converged && solution.n_iter == SLICE && n_iter < LIMIT {
                (state.alpha, state.n_iter) = (solution.alpha, n_iter);
                return Ok(Move::On(state.solved, y.n_cols(), Some(("gap", solution.gap))));
            }
            let along = margin(&solution.alpha, &positive)?;
            let found = task.stack()?.project(&[Symmetric::Factored(&along, &along)], task.pool)?.column(0);
            state.distances.resize(found.len(), 0.0);
            state.distances.iter_mut().zip(found).for_each(|(sum, distance)| *sum += distance);
            state.given_up += usize::from(!solution.converged);
            (state.solved, state.alpha, state.n_iter) = (state.solved + 1, vec![], 0);
        }
        if state.solved < y.n_cols() {
            return Ok(Move::On(state.solved, y.n_cols(), None));
        }
        let mut weights = Weights::new("easymkl", state.distances.clone());
        state.gram = Cache::default();
        if state.given_up > 0 {
            let (open, all) = (state.given_up, y.n_cols());
            let warning = format!(
                "{open} of {all} problems for the weights did not converge; use a larger lambda, or kernels that are positive \
                 semi-definite"
            );
            weights.warning = Some(weights.warning.map_or(warning.clone(), |first| format!("{first}; {warning}")));
        }
        Ok(Move::Done(weights))
    }
}

/// `(1 - lambda)` times the mean kernel, with `lambda` added to its diagonal.
fn mixed(task: &Task<'_>, lambda: f64) -> Result<Matrix> {
    let n_kernels = task.stack()?.n_kernels();
    let weights = Matrix::from_fn(n_kernels, 1, |_, _| (1.0 - lambda) / n_kernels as f64);
    let mut gram = task.stack()?.combine(&weights, task.pool)?.remove(0);
    (0..gram.n_rows()).for_each(|i| gram.set(i, i, gram.get(i, i) + lambda));
    Ok(gram)
}

/// The dual of the hard-margin SVM, whose variables are a multiple `t` of gamma: along a ray the dual objective is `t^2
/// q(gamma) / 2 - 2 t`, so `t = 2 / q` and the minimum is `-2 / q`, attained where q is smallest.
fn nearest(
    gram: &Matrix,
    positive: &[bool],
    lambda: f64,
    start: &[f64],
    control: &Control,
) -> Result<Option<smo::SmoSolution>> {
    let n_positive = positive.iter().filter(|&&positive| positive).count() as f64;
    let n_negative = positive.len() as f64 - n_positive;
    // Never active for positive semi-definite kernels: q is at least lambda |gamma|^2, and gamma at most 1.
    let bound = 4.0 / (lambda * (1.0 / n_positive.max(1.0) + 1.0 / n_negative.max(1.0)));
    let (rows, upper): (Vec<usize>, Vec<f64>) = (0..positive.len()).map(|i| (i, bound)).unzip();
    let problem = smo::Problem { gram: gram.into(), rows: &rows, positive, upper: &upper };
    let options = smo::Options { tolerance: TOLERANCE, max_iter: SLICE, ..Default::default() };
    let start = (!start.is_empty()).then_some(start);
    smo::solve(&problem, &options, start, &|| control.stop().is_some())
}

/// `Y gamma` as a column.
fn margin(alpha: &[f64], positive: &[bool]) -> Result<Matrix> {
    let total: f64 = alpha.iter().zip(positive).filter(|(_, positive)| **positive).map(|(alpha, _)| alpha).sum();
    let signed = |(alpha, &positive): (&f64, &bool)| if positive { alpha / total } else { -alpha / total };
    Matrix::from_vec(alpha.len(), 1, alpha.iter().zip(positive).map(signed).collect())
}

impl Method for EasyMkl {
    type State = Weighted<Margins>;

    fn about(&self) -> About {
        About {
            name: "easymkl",
            summary: "SVM on kernels weighed by the distance of the classes under each",
            needs: Needs::Pass,
            bank: DEFAULT_BANK,
        }
    }

    fn tunes_by_log_loss(&self) -> bool {
        true
    }
}
