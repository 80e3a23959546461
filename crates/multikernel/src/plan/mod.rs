//! From a method and its settings to a model: the registry of methods, the plan, the preparation of training rows, the
//! fitted model, and everything around a fit (shares, probabilities, forecasts, streams).

mod by_kind;
mod errors;
mod forecast;
#[cfg(test)]
mod hostile;
mod model;
mod one_class;
mod online;
mod partition;
#[expect(clippy::module_inception)]
mod plan;
mod prepare;
mod registry;
mod session;
mod share;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod unscaled;
mod views;

pub use crate::run::Calibration;
pub use errors::StreamErrors;
pub use forecast::Forecast;
pub use model::{
    Model, ModelClusters, ModelInput, ModelKernels, ModelNumbers, ModelTimes, Parts, PartsBy, Prediction, Training,
};
pub use online::{Online, OnlineOptions};
pub use partition::{Partitions, answer};
pub use plan::Plan;
pub use prepare::Prepared;
pub use registry::Registry;
pub use session::Session;
pub use views::{Missing, Part};
