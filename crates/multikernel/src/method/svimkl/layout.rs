//! All parameters as one vector: sample weights function by function, intercepts, log mean kernel weights, shapes.

use std::ops::Range;

/// The layout of the vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Points that carry sample weights.
    pub(super) n_points: usize,
    /// Functions: one for two classes, else one for each class that has rows.
    pub(super) n_functions: usize,
    pub(super) n_kernels: usize,
    pub(super) intercept: bool,
    /// Whether kernel weights are learned.
    pub(super) weighted: bool,
    /// Whether their distributions have a shape parameter.
    pub(super) shaped: bool,
}

impl Layout {
    /// The sample weights of all functions.
    pub(super) fn samples(&self) -> Range<usize> {
        0..self.n_points * self.n_functions
    }

    pub(super) fn intercepts(&self) -> Range<usize> {
        let start = self.samples().end;
        start..start + if self.intercept { self.n_functions } else { 0 }
    }

    /// The log mean weights.
    pub(super) fn means(&self) -> Range<usize> {
        let start = self.intercepts().end;
        start..start + if self.weighted { self.n_kernels } else { 0 }
    }

    pub(super) fn shapes(&self) -> Range<usize> {
        let start = self.means().end;
        start..start + if self.shaped { self.n_kernels } else { 0 }
    }

    pub(super) fn size(&self) -> usize {
        self.shapes().end
    }
}
