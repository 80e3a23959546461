//! Online learners: `mklda`, `ufomkl`, `obscure`, from a table or from an endless stream.

mod batch;
mod expansion;
mod landmarks;
mod learner;
mod mklda;
mod model;
mod obscure;
mod power;
mod published;
mod sampled;
#[cfg(test)]
mod tests;
mod ufomkl;

pub(super) use landmarks::draw as draw_landmarks;
pub use mklda::{MklDa, MklDaVariant};
pub use model::StreamModel;
pub use obscure::Obscure;
pub use ufomkl::UfoMkl;
