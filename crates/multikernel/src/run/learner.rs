//! Learning from an endless stream of rows.

use super::predict::Predict;
use crate::error::{Error, Result};
use crate::file::Record;
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::stack::Stack;

/// What a stream learner starts from.
#[derive(Clone, Copy, Debug)]
pub struct Begin<'a> {
    /// A stack of the kernels; its points do not matter.
    pub kernels: &'a Stack,
    /// Maximum number of points kept; `None` for no limit.
    pub budget: Option<usize>,
    /// Number of rows between updates of the kernel weights.
    pub update_every: usize,
    /// Number of known classes.
    pub n_classes: usize,
    /// Number of numbers to predict; 0 for classes.
    pub n_numbers: usize,
    /// Seeds all randomness, as in [`Task`](super::Task).
    pub seed: u64,
    /// A state from [`Learner::encode`] and the points from [`Learner::points`], to resume from.
    pub stored: Option<(&'a Record, &'a Matrix)>,
}

/// An online learner: learns from rows one at a time. Methods that have one return it from
/// [`Method::learner`](super::Method::learner). How rows are split into calls changes no bit of the result.
pub trait Learner: Send {
    /// Predicts each of the scaled rows, then learns from it. All classes are known. Returns the predicted classes.
    fn learn(&mut self, rows: &Matrix, classes: &[usize], pool: &Pool) -> Result<Vec<usize>>;
    /// Predicts the numbers of each of the scaled rows, then learns them: n_rows x [`Begin::n_numbers`], standardised.
    /// Learners of classes refuse.
    fn learn_numbers(&mut self, _rows: &Matrix, _values: &Matrix, _pool: &Pool) -> Result<Matrix> {
        Err(Error::input("the method learns classes from a stream, no numbers"))
    }
    /// The predicted class of each row, without learning.
    fn predict(&mut self, rows: &Matrix, pool: &Pool) -> Result<Vec<usize>>;
    /// Makes room for one more class.
    fn add_class(&mut self, pool: &Pool) -> Result<()>;
    /// The points kept, in the model's order.
    fn points(&self) -> Matrix;
    /// Number of points kept.
    fn n_support(&self) -> usize;
    /// One weight per kernel, adding up to 1.
    fn weights(&self) -> Vec<f64>;
    /// The state without its points.
    fn encode(&self) -> Record;
    /// The current model, and its fields.
    fn model(&self) -> Result<(Box<dyn Predict>, Record)>;
}
