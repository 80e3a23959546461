//! How good a method is, and whether two methods differ: metrics of one split, paired comparison over many, clustering
//! indices.

mod ablate;
mod agreement;
mod bootstrap;
mod clusters;
mod cross_validate;
mod curves;
mod importance;
mod kernels;
mod metrics;
mod numbers;
mod paired;
mod part;
mod predictions;
mod protocol;
mod rare;
mod result;
mod search;
mod side_by_side;
mod student;
mod times;
mod watch;

pub use ablate::ablations;
pub use agreement::{adjusted_rand, nmi, purity, rand_index};
pub use bootstrap::bootstrap;
pub use clusters::{ClusterIndices, davies_bouldin, dunn, silhouette};
pub use cross_validate::cross_validate;
pub use curves::{Bin, Curve, Curves};
pub use importance::{Importance, ImportanceOf, Importances, importance};
pub use kernels::KernelSummary;
pub use metrics::{Metrics, auprc, auroc, brier, calibration_error, log_loss};
pub use numbers::NumberMetrics;
pub use paired::{Paired, compare, compare_with_first};
pub use part::SplitEvaluation;
pub use predictions::{OutOfFold, OutOfFoldNumber};
pub use protocol::{LEVEL, Protocol, evaluate, train_and_test};
pub use result::{Evaluation, Fold, NumberFold, PlanResult, Spread, TestRows, TimeFold};
pub use search::{Best, with_banks};
pub use student::quantile as student_quantile;
pub use times::{KaplanMeier, TimeMetrics, concordance, integrated_brier};
