//! Solvers that know no method: they take matrices and give back optima.

mod pass;
mod rows;
pub mod smo;
