
mod metrics;

pub use metrics::{Metrics, auprc, auroc};
