//! `fheuristic`: each kernel weighted by how well it agrees with the classes, on its own.

use super::ends::TARGETS;
use super::svc::svc_params;
use super::weighted::{Move, Rule, Weighted, Weights, dense_block, misfit, outcome};
use crate::data::TargetKind;
use crate::error::Result;
use crate::file::record;
use crate::kernel::DEFAULT_BANK;
use crate::linalg::{Matrix, dot};
use crate::run::{About, Control, Method, Needs, Task};
use crate::stack::Symmetric;

svc_params! {
    /// C-SVC on kernels weighted by their alignment with the classes, `d_m ~ <K_m, T> / (|K_m| |T|)` in the Frobenius
    /// norm with `T = y y'`, or one-vs-rest `Y Y'` for more than two classes (Qiu and Lane 2009, "A framework for
    /// multiple kernel support vector regression and its applications to siRNA efficacy prediction"). Nothing is
    /// centred; negative alignments count as 0. The cheapest learned weighting, and a weak one where many kernels are
    /// useless: each still gets the share chance gives it. Cost: two passes over the kernels.
    pub struct Fheuristic {}
}

record! {
    /// The squared norms of the kernels computed so far.
    #[derive(Clone, Debug, Default)]
    pub struct Norms {
        squares: Vec<f64>,
    }
}

impl Rule for Fheuristic {
    type Progress = Norms;

    fn check_progress(&self, task: &Task<'_>, state: &Norms) -> Result<()> {
        if state.squares.len() <= task.stack()?.n_kernels() { Ok(()) } else { Err(misfit()) }
    }

    fn advance(&self, task: &Task<'_>, state: &mut Norms, _: &Control) -> Result<Move> {
        let stack = task.stack()?;
        let n_kernels = stack.n_kernels();
        if state.squares.len() < n_kernels {
            let kernels = dense_block(task, stack, state.squares.len())?;
            state.squares.extend(task.pool.map(kernels.len(), |k| square(&kernels[k])));
            return Ok(Move::On(state.squares.len(), n_kernels + 1, None));
        }
        let y = outcome(task);
        let agreement = stack.project(&[Symmetric::Factored(&y, &y)], task.pool)?;
        let weight = |m: usize| agreement.get(m, 0) / state.squares[m].sqrt();
        Ok(Move::Done(Weights::new("fheuristic", (0..n_kernels).map(weight).collect())))
    }
}

/// The squared Frobenius norm.
fn square(kernel: &Matrix) -> f64 {
    kernel.rows().map(|row| dot(row, row)).sum()
}

impl Method for Fheuristic {
    type State = Weighted<Norms>;

    fn about(&self) -> About {
        About {
            name: "fheuristic",
            summary: "SVM on kernels weighed by their alignment with the classes, each on its own",
            needs: Needs::Pass,
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
