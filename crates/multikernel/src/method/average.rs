//! `average`: the uniform combination of all kernels and an SVM on it. The bar every learned weighting must clear.

use super::machine::SvmModel;
use super::svm::{self, SvmState};
use crate::error::Result;
use crate::kernel::DEFAULT_BANK;
use crate::run::{About, Control, Method, Needs, Params, Progress, Task};

/// C-SVC on `(1/P) sum_m K_m`. With unit-diagonal kernels the combination has a unit diagonal too, so `c` means the
/// same for any number of kernels. Cost: one pass over the stack, then [`Svm`](super::Svm).
#[derive(Clone, Copy, Debug, Default)]
pub struct Average;

impl Method for Average {
    type State = SvmState;
    type Model = SvmModel;

    fn about(&self) -> About {
        About {
            name: "average",
            summary: "SVM on the uniform combination of all kernels: the bar every learned weighting must clear",
            needs: Needs::Pass,
            params: svm::COMMON_PARAMS,
            bank: DEFAULT_BANK,
        }
    }

    fn init(&self, task: &Task<'_>, params: &Params) -> Result<SvmState> {
        let n_kernels = task.stack()?.n_kernels();
        SvmState::new(vec![1.0 / n_kernels as f64; n_kernels], task, params)
    }

    fn again(&self, task: &Task<'_>, params: &Params, earlier: &SvmState) -> Result<SvmState> {
        earlier.again(task, params)
    }

    fn check(&self, task: &Task<'_>, params: &Params, state: &SvmState) -> Result<()> {
        state.check(task, params)
    }

    fn step(&self, task: &Task<'_>, params: &Params, state: &mut SvmState, control: &Control) -> Result<Progress> {
        state.step(task, params, control)
    }

    fn finish(&self, task: &Task<'_>, params: &Params, state: SvmState) -> Result<SvmModel> {
        state.finish(task, params)
    }
}
