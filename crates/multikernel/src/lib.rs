//! Learn classifiers from many kernels at once.

mod closest;
pub mod data;
pub mod dist;
mod error;
pub mod evaluate;
pub mod file;
pub mod kernel;
mod linalg;
pub mod method;
mod pool;
pub mod report;
pub mod run;
pub mod solve;
pub mod stack;
pub mod testing;

pub use error::{Error, Place, Result};
pub use linalg::Matrix;
pub use method::{Model, Plan};
pub use pool::Pool;
