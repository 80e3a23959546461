//! Solvers that know nothing about methods: they take matrices and return optima.

pub mod cholesky;
pub mod eigen;
pub(crate) mod hull;
pub(crate) mod lbfgs;
mod leap;
pub mod nnls;
mod panels;
mod pass;
pub(crate) mod pivoted;
pub mod product;
pub mod program;
pub(crate) mod quasi;
mod rows;
pub mod simplex;
pub mod smo;
