//! Learn classifiers from many kernels at once.

pub mod data;
pub mod dist;
mod error;
pub mod file;
pub mod evaluate;
pub mod kernel;
mod linalg;
mod pool;
pub mod report;
pub mod solve;

pub use error::{Error, Place, Result};
pub use linalg::Matrix;
pub use pool::Pool;
