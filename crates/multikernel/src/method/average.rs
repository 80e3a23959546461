//! `average`: an SVM on the uniform combination of all kernels. The baseline every learned weighting must beat.

use super::ends::{EndState, TARGETS};
use super::svc::svc_params;
use super::svm::FixedWeights;
use crate::data::TargetKind;
use crate::error::Result;
use crate::kernel::DEFAULT_BANK;
use crate::run::{About, Method, Needs, Task};

svc_params! {
    /// C-SVC on `(1/P) sum_m K_m`. With unit-diagonal kernels the combination has a unit diagonal too, so `c` means the
    /// same for any number of kernels. Cost: one pass over the stack, then [`Svm`](super::Svm).
    pub struct Average {}
}

impl Method for Average {
    type State = EndState;

    fn about(&self) -> About {
        About {
            name: "average",
            summary: "SVM on the uniform combination of all kernels: the bar every learned weighting must clear",
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

impl FixedWeights for Average {
    fn weights(&self, task: &Task<'_>) -> Result<Vec<f64>> {
        let n_kernels = task.stack()?.n_kernels();
        Ok(vec![1.0 / n_kernels as f64; n_kernels])
    }
}
