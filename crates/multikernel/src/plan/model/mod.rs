//! A trained model, one file per topic: predictions, numbers, times, kernels, input, training, clusters, files.

mod alignment;
mod clusters;
mod file;
mod header;
mod input;
mod kept;
mod kernels;
mod numbers;
mod parts;
mod predict;
mod times;
mod training;

pub use clusters::ModelClusters;
pub(super) use header::{Header, TrainedOn};
pub use input::ModelInput;
pub(super) use input::ordered;
pub(super) use kept::{Kept, Learned};
pub use kernels::ModelKernels;
pub(super) use kernels::kernel_name;
pub use numbers::ModelNumbers;
pub(super) use numbers::Units;
pub use parts::{Parts, PartsBy};
pub use predict::{Model, Prediction};
pub use times::ModelTimes;
pub use training::Training;
