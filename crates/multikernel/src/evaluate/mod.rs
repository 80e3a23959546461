//! How good a method is, and whether two methods differ: metrics of one split, paired comparison over many.

mod metrics;
mod paired;
mod protocol;
mod student;

pub use metrics::{Metrics, auprc, auroc};
pub use paired::{Paired, compare};
pub use protocol::{Evaluation, Fold, LEVEL, PlanResult, Protocol, Spread, evaluate};
