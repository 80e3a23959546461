//! Learning from rows that come one after the other and never end.

use super::predict::Predict;
use crate::error::Result;
use crate::file::Record;
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::stack::Stack;

/// What a learner of a stream is begun with.
#[derive(Clone, Copy, Debug)]
pub struct Begin<'a> {
    /// A stack of the kernels, whatever its points.
    pub kernels: &'a Stack,
    /// Most points kept; `None` for no limit.
    pub budget: Option<usize>,
    /// Rows after which kernel weights are found anew.
    pub update_every: usize,
    /// Classes known.
    pub n_classes: usize,
    /// A state from [`Learner::encode`] and the points from [`Learner::points`], to go on from.
    pub stored: Option<(&'a Record, &'a Matrix)>,
}

/// A learner of rows that come one after the other: the `learn` of a method that has one, see
/// [`Method::learner`](super::Method::learner). How rows are cut into calls changes no bit of what is learned.
pub trait Learner: Send {
    /// Predicts each of the scaled rows, then learns from it. All classes are known. The predicted classes.
    fn learn(&mut self, rows: &Matrix, classes: &[usize], pool: &Pool) -> Result<Vec<usize>>;
    /// The predicted class of each row, learning nothing.
    fn predict(&mut self, rows: &Matrix, pool: &Pool) -> Result<Vec<usize>>;
    /// Makes room for one more class.
    fn add_class(&mut self, pool: &Pool) -> Result<()>;
    /// The points kept, in the order the model has them.
    fn points(&self) -> Matrix;
    /// Number of points kept.
    fn n_support(&self) -> usize;
    /// One weight per kernel, adding up to 1.
    fn weights(&self) -> Vec<f64>;
    /// The state without its points.
    fn encode(&self) -> Record;
    /// The model as it stands, and its fields.
    fn model(&self) -> Result<(Box<dyn Predict>, Record)>;
}
