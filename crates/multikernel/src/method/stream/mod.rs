//! Learners that go from row to row: `mklda`, `ufomkl`, `obscure`, from a table or from an endless stream.

mod batch;
mod expansion;
mod mklda;
mod model;

pub use batch::Batch;
pub use mklda::MklDa;
pub use model::Mixed;
