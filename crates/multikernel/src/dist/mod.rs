//! Random variates we own. All randomness is (seed, stream, position) of one counter-based generator.

mod rng;

pub use rng::Rng;
