//! `alignf`: the combination of kernels that is best aligned with the classes.

use super::ends::TARGETS;
use super::svc::svc_params;
use super::weighted::{Move, Rule, Weighted, Weights, dense_block, misfit, outcome};
use crate::data::TargetKind;
use crate::error::{Error, Result};
use crate::file::record;
use crate::kernel::DEFAULT_BANK;
use crate::linalg::{Matrix, centre_columns};
use crate::run::{About, Control, Method, Needs, Task};
use crate::solve::nnls;
use crate::stack::Symmetric;

svc_params! {
    /// C-SVC on the nonnegative combination of kernels that is best aligned with the classes (Cortes, Mohri and
    /// Rostamizadeh 2012, "Algorithms for learning kernels based on centered alignment"): with centred kernels `K^c`
    /// and the target `T` of [`Fheuristic`](super::Fheuristic), `v = argmin_{v >= 0} v'Mv - 2 v'a`, `M_kl = <K_k^c,
    /// K_l^c>`, `a_k = <K_k^c, T>`. Redundant kernels do not share weight: one of them gets it all. The SVM uses the
    /// uncentred kernels, since its bias absorbs the effect of centring.
    ///
    /// A kernel so wide that it is nearly constant can get nearly all of the weight, since centring leaves little of it
    /// and what remains must be scaled up. The weights sum to 1, so the combined kernel then hardly varies and `c = 10`
    /// regularises too strongly: with such kernels in the bank use `c = auto`, or 1000.
    ///
    /// Cost: P^2 N^2 / 2 products for M, and a small active-set problem; memory for about 3 P^2 numbers.
    pub struct Alignf {}
}

record! {
    /// The rows of `M` computed so far, each from the diagonal on.
    #[derive(Clone, Debug, Default)]
    pub struct Products {
        done: usize,
        upper: Vec<f64>,
    }
}

impl Products {
    /// Number of entries in the first `rows` rows of an upper triangle.
    fn len(rows: usize, n_kernels: usize) -> usize {
        rows * n_kernels - rows * rows.saturating_sub(1) / 2
    }

    fn matrix(&self, n_kernels: usize) -> Result<Matrix> {
        let mut matrix = Matrix::try_zeros(n_kernels, n_kernels).ok_or_else(|| no_memory(n_kernels))?;
        let mut values = self.upper.iter();
        for k in 0..n_kernels {
            for (l, &value) in (k..n_kernels).zip(&mut values) {
                matrix.set(k, l, value);
                matrix.set(l, k, value);
            }
        }
        Ok(matrix)
    }
}

fn no_memory(n_kernels: usize) -> Error {
    let help = "use fewer kernels, or the methods fheuristic or easymkl";
    Error::input(format!("no memory for the products of {n_kernels} kernels with one another; {help}"))
}

impl Rule for Alignf {
    type Progress = Products;

    fn check_progress(&self, task: &Task<'_>, state: &Products) -> Result<()> {
        let n_kernels = task.stack()?.n_kernels();
        let fits = state.done <= n_kernels && state.upper.len() == Products::len(state.done, n_kernels);
        if fits { Ok(()) } else { Err(misfit()) }
    }

    fn advance(&self, task: &Task<'_>, state: &mut Products, _: &Control) -> Result<Move> {
        let stack = task.stack()?;
        let n_kernels = stack.n_kernels();
        if state.done < n_kernels {
            let room = Products::len(n_kernels, n_kernels) - state.upper.len();
            state.upper.try_reserve_exact(room).map_err(|_| no_memory(n_kernels))?;
            let mut kernels = dense_block(task, stack, state.done)?;
            kernels.iter_mut().for_each(|kernel| centre(kernel, task));
            let rest: Vec<usize> = (state.done..n_kernels).collect();
            // Centring is a projection: <K_k^c, K_l^c> = <K_k^c, K_l>.
            let with: Vec<Symmetric<'_>> = kernels.iter().map(Symmetric::Dense).collect();
            let products = stack.pick(&rest)?.project(&with, task.pool)?;
            for k in 0..kernels.len() {
                state.upper.extend((k..rest.len()).map(|l| products.get(l, k)));
            }
            state.done += kernels.len();
            return Ok(Move::On(state.done, n_kernels + 1, None));
        }
        let mut y = outcome(task);
        centre_columns(&mut y);
        let agreement = stack.project(&[Symmetric::Factored(&y, &y)], task.pool)?.column(0);
        Ok(Move::Done(Weights::new("alignf", nnls::solve(&state.matrix(n_kernels)?, &agreement)?.x)))
    }
}

/// Centres a symmetric matrix: subtracts its row and column means.
fn centre(kernel: &mut Matrix, task: &Task<'_>) {
    let n = kernel.n_rows().max(1);
    let means: Vec<f64> = kernel.rows().map(|row| row.iter().sum::<f64>() / n as f64).collect();
    let grand = means.iter().sum::<f64>() / n as f64;
    task.pool.chunks_mut(kernel.data_mut(), n, |i, row| {
        for (value, mean) in row.iter_mut().zip(&means) {
            *value -= (means[i] + mean) - grand;
        }
    });
}

impl Method for Alignf {
    type State = Weighted<Products>;

    fn about(&self) -> About {
        About {
            name: "alignf",
            summary: "SVM on the combination of kernels that is best aligned with the classes",
            needs: Needs::Stack,
            bank: DEFAULT_BANK,
        }
    }

    fn targets(&self) -> &'static [TargetKind] {
        TARGETS
    }

    fn tunes_by_log_loss(&self) -> bool {
        true
    }
}
