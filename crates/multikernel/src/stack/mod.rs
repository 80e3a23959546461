//! The kernel stack: P kernels between row points and column points, accessed only through a few operations.
//!
//! Storage is the stack's own business, invisible to methods. Values are stored packed, in `f64` or `f32`, or computed
//! tile by tile whenever they are needed; both use the same code and give the same bits.

/// Runs an operation in the stack's precision.
macro_rules! in_precision {
    ($stack:expr, $operation:ident($($arg:expr),*)) => {
        match $stack.core.precision {
            Precision::F64 => $operation::<f64>($($arg),*),
            Precision::F32 => $operation::<f32>($($arg),*),
        }
    };
}

mod core;
mod cost;
mod cut;
mod decide;
mod distances;
mod given;
mod inner;
mod layout;
mod local;
mod mixture;
mod ops;
mod options;
mod points;
mod profile;
mod selves;
mod source;
mod sparse;
mod sweep;
mod there;
mod view;
mod watch;
mod write;

pub use crate::precision::Precision;
pub(crate) use distances::Distances;
pub use given::Points;
pub use inner::Inner;
pub use mixture::Mixture;
pub use ops::Symmetric;
pub use options::{Centring, StackOptions, Storage};
pub(crate) use sweep::{AtRows, Swept};
pub(crate) use there::FactorThere;
pub use view::Stack;
