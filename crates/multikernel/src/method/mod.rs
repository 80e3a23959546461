//! The methods, one file each, the registry that lists them, and the plan and model around them.

mod average;
mod machine;
mod majority;
mod model;
mod plan;
mod registry;
mod svm;

pub use average::Average;
pub use machine::Machine;
pub use majority::Majority;
pub use model::{Model, Prediction};
pub use plan::{Plan, Prepared, Scale, Session};
pub use registry::Registry;
pub use svm::Svm;
