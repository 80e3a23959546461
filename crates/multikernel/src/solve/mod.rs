//! Solvers that know no method: they take matrices and give back optima.

pub mod cholesky;
pub mod eigen;
pub(crate) mod lbfgs;
mod leap;
pub mod nnls;
mod panels;
mod pass;
pub mod product;
pub mod program;
pub(crate) mod quasi;
mod rows;
pub mod simplex;
pub mod smo;
