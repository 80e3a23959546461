//! Splitting rows into training and test sets.

mod folds;
mod groups;

pub(crate) use folds::MAX_REPEATS;
pub use folds::{Split, folds, folds_by_group, inner_folds, repeats, repeats_by_group};
