//! What a model keeps besides the method's own fields.

use super::numbers::Units;
use crate::data::{Preprocessor, Presence};
use crate::file::Record;
use crate::kernel::{Columns, Kernel};
use crate::plan::views::Missing;
use crate::run::{Calibration, KernelsOfView};
use crate::stack::{Centring, Points};

/// What a model keeps of its training rows, and how its stack is built from them.
#[derive(Default)]
pub(in crate::plan) struct Kept {
    pub(in crate::plan) preprocessor: Preprocessor,
    pub(in crate::plan) missing: Missing,
    /// The feature sets and views used by kernels of the bank.
    pub(in crate::plan) sets: Vec<(String, Columns)>,
    pub(in crate::plan) views: Vec<KernelsOfView>,
    pub(in crate::plan) points: Points,
    pub(in crate::plan) presence: Option<Presence>,
    /// Row indices of the points in the training data's Gram matrices, and the diagonals of those.
    pub(in crate::plan) at: Vec<usize>,
    pub(in crate::plan) diagonals: Vec<(String, Vec<f64>)>,
    /// Which of the points are the model's own, in its order.
    pub(in crate::plan) columns: Vec<usize>,
    /// Which kernels of the bank the model uses, ascending.
    pub(in crate::plan) used: Vec<usize>,
    /// The used kernels and, for the centred ones, their training means.
    pub(in crate::plan) kernels: Vec<Kernel>,
    pub(in crate::plan) centring: Vec<Option<Centring>>,
    /// Position of the label column, if it has no name.
    pub(in crate::plan) label_column: Option<String>,
    /// The column on which views were joined.
    pub(in crate::plan) id_name: Option<String>,
}

/// Results learned around the method.
#[derive(Default)]
pub(in crate::plan) struct Learned {
    pub(in crate::plan) shares: Option<Vec<f64>>,
    pub(in crate::plan) calibration: Option<Calibration>,
    /// The units of the numbers it predicts; `None` for classes.
    pub(in crate::plan) units: Option<Units>,
    /// Which parameters were chosen, and from which values.
    pub(in crate::plan) tuned: Option<String>,
    /// The one class that it predicts for all training rows.
    pub(in crate::plan) one_class: Option<usize>,
    /// The state of the online learner.
    pub(in crate::plan) stream: Option<Record>,
}
