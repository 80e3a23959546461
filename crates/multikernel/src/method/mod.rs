//! The methods, one file each, the registry that lists them, and the plan and model around them.

mod alignf;
mod alike;
mod average;
mod calibrate;
mod choose;
mod easymkl;
mod fheuristic;
mod inner;
mod machine;
mod majority;
mod margin;
mod mkboost;
mod model;
mod plan;
mod prepare;
mod problems;
mod registry;
mod share;
mod svm;
mod weighted;

pub use alignf::Alignf;
pub use average::Average;
pub use calibrate::Calibration;
pub use choose::{BestView, Single};
pub use easymkl::EasyMkl;
pub use fheuristic::Fheuristic;
pub use machine::Machine;
pub use majority::Majority;
pub use margin::{Level, LpMkl, Silp, SimpleMkl};
pub use mkboost::{Boosted, MkBoostD1, MkBoostD2, MkBoostS1, MkBoostS2};
pub use model::{Model, Prediction};
pub use plan::{Plan, Session};
pub use prepare::{Missing, Part, Prepared};
pub use registry::Registry;
pub use svm::Svm;
