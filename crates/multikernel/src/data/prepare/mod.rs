//! Preprocessing learned from training rows before any kernel sees them: logarithms, scales, column selection.

mod encode;
mod log;
mod preprocess;
mod scale;

pub use encode::{Encoded, EncodedLayout, Encoding, Period};
pub(crate) use encode::{Letters, Seen, Wanted};
pub(crate) use log::ln_1p;
pub(crate) use preprocess::{ColumnStatistics, NumberColumns};
pub use preprocess::{LogChoice, Preprocessor, Recipe, Scale};
pub use scale::Scaler;
