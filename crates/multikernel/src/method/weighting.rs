//! Whether kernel weights are learned, or uniform as a control.

use crate::run::choice;

choice! {
    /// Whether kernel weights are learned.
    pub enum Weighting {
        /// Learned.
        Learned = "learned",
        /// All equal: the control.
        Uniform = "uniform",
    }
}
