//! A trained model, one file per topic: predictions, kernels, input, training, clusters, files.

mod alignment;
mod clusters;
mod file;
mod header;
mod input;
mod kept;
mod kernels;
mod parts;
mod predict;
mod training;

pub use clusters::ModelClusters;
pub(super) use header::Header;
pub use input::ModelInput;
pub(super) use input::ordered;
pub(super) use kept::{Kept, Learned};
pub use kernels::ModelKernels;
pub use parts::{Parts, PartsBy};
pub use predict::{Model, Prediction};
pub use training::Training;
