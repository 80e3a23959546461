//! How good a method is, and whether two methods differ: metrics of one split, paired comparison over many.

mod ablate;
mod bootstrap;
mod kernels;
mod metrics;
mod paired;
mod protocol;
mod student;

pub use ablate::ablations;
pub use bootstrap::bootstrap;
pub use kernels::KernelSummary;
pub use metrics::{Metrics, auprc, auroc, brier, calibration_error, log_loss};
pub use paired::{Paired, compare, compare_with_first};
pub use protocol::{Evaluation, Fold, LEVEL, PlanResult, Protocol, Spread, evaluate};
pub(crate) use protocol::{check_test, one_split};
