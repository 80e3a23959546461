//! The kernels of a model: their names, and how much each matters.

use super::header::Header;
use super::kept::{Kept, Learned};
use crate::data::{Preprocessor, View, is_numbered};
use crate::kernel::{Columns, Kernel};
use crate::linalg::Matrix;
use crate::run::{Explain, Intervals, KernelsOfView};
use crate::stack::Precision;

/// Beyond this many, columns are not named one by one.
const MAX_NAMED_COLUMNS: usize = 3;

/// The kernels of a [`Model`](super::Model), from [`Model::kernels`](super::Model::kernels). Weights, shares, names and
/// intervals are in the order of the kernels; a model of a method that works on rows has none.
///
/// ```
/// use multikernel::{Plan, data::bundled};
/// let model = Plan::new("average")?.kernels("gaussian(1..3), linear")?.train(&bundled("sonar")?)?;
/// let kernels = model.kernels();
/// assert_eq!(kernels.names(), ["gaussian(1)", "gaussian(2)", "gaussian(3)", "linear"]);
/// assert_eq!(kernels.weights(), Some(&[0.25; 4][..]));
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct ModelKernels<'a> {
    pub(super) header: &'a Header,
    pub(super) kept: &'a Kept,
    pub(super) learned: &'a Learned,
    pub(super) explain: &'a dyn Explain,
}

/// A kernel under its familiar name, on rows prepared so and with these sets of columns.
pub(in crate::plan) fn kernel_name(kernel: &Kernel, preprocessor: &Preprocessor, sets: &[(String, Columns)]) -> String {
    let columns = kernel.columns();
    if columns.is_all() {
        return kernel.to_string();
    }
    if let Some((set, _)) = sets.iter().find(|(_, of_set)| of_set == columns) {
        return set.strip_prefix('=').map_or_else(|| kernel.text_on(set), str::to_string);
    }
    let whole = |view: &&View| Columns::from_ranges([view.columns.clone()]) == *columns;
    if let Some(view) = preprocessor.views().iter().find(whole) {
        return kernel.text_on(&view.name);
    }
    let positions = columns.indices(preprocessor.names().len());
    if positions.len() > MAX_NAMED_COLUMNS || is_numbered(preprocessor.names()) {
        return kernel.to_string();
    }
    let names: Vec<&str> = positions.iter().map(|&column| preprocessor.names()[column].as_str()).collect();
    kernel.text_on(&format!("[{}]", names.join(", ")))
}

impl<'a> ModelKernels<'a> {
    /// Number of kernels.
    pub fn len(self) -> usize {
        self.header.kernels.len()
    }

    /// Whether the method works on rows, without kernels.
    pub fn is_empty(self) -> bool {
        self.header.kernels.is_empty()
    }

    /// The text of their bank; `None` for methods that work on rows.
    pub fn bank(self) -> Option<&'a str> {
        self.header.bank.as_deref()
    }

    /// The kernels themselves.
    pub fn as_slice(self) -> &'a [Kernel] {
        &self.header.kernels
    }

    /// The kernels under their familiar names, where the training data had names: `on gene` for a view, `on NAME` for a
    /// feature set, `on [radius]` for up to three named columns.
    pub fn names(self) -> Vec<String> {
        let kernels = self.header.kernels.iter();
        kernels.map(|kernel| kernel_name(kernel, &self.kept.preprocessor, &self.kept.sets)).collect()
    }

    /// The kernels on each single view, as positions among all; empty for data without views.
    pub fn by_view(self) -> &'a [KernelsOfView] {
        &self.kept.views
    }

    /// One weight per kernel, for methods that have them.
    pub fn weights(self) -> Option<&'a [f64]> {
        self.explain.weights()
    }

    /// One weight per kernel (rows) and class (columns), adding up to 1 for each class, for methods with kernel weights
    /// per class.
    pub fn class_weights(self) -> Option<Matrix> {
        self.explain.class_weights()
    }

    /// Intervals of the weights, for methods with a distribution for each weight; those of samplers come from
    /// [`Model::draws`](super::Model::draws).
    pub fn intervals(self) -> Option<Intervals> {
        self.explain.intervals()
    }

    /// Each kernel's share of the decisions on the training rows; they add up to 1. For models that are weighted sums
    /// of more than one kernel.
    pub fn shares(self) -> Option<&'a [f64]> {
        self.learned.shares.as_deref()
    }

    /// How kernel values are stored, in training and in prediction.
    pub fn precision(self) -> Precision {
        self.header.precision
    }
}
