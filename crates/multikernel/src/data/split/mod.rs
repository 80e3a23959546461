//! Dividing rows into those to train on and those to test on.

mod folds;
mod groups;

pub use folds::{Split, folds, folds_by_group, inner_folds, repeats, repeats_by_group};
