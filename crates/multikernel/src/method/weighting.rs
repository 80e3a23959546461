//! Whether kernel weights are learned: the control of methods that compare with uniform ones.

use crate::run::choice;

choice! {
    /// Whether kernel weights are learned.
    pub enum Weighting {
        /// They are.
        Learned = "learned",
        /// All are the same: the control.
        Uniform = "uniform",
    }
}
