//! What a method is: a state machine over a task, and the model it ends with.

use std::sync::OnceLock;

use super::coefficients::Coefficients;
use super::control::Control;
use super::learner::{Begin, Learner};
use super::observer::Progress;
use super::params::{Param, Params};
use crate::data::Labels;
use crate::dist::Rng;
use crate::draws::Draws;
use crate::error::{Error, Result};
use crate::features::Features;
use crate::file::{Codec, Record};
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::stack::Stack;

/// What a method works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Kernels, through the operations of the [`Stack`], again and again: they are stored where memory allows.
    Stack,
    /// Kernels, through one or two operations of the [`Stack`] in all: they are computed on the way and never stored.
    Pass,
    /// The scaled rows themselves; a kernel bank is then an error.
    Rows,
}

/// The name card of a method, from which the command line and help texts are made.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// One word: the same in file names, `--method` and reports.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// What it works on.
    pub needs: Needs,
    /// Its parameters.
    pub params: &'static [Param],
    /// The bank it takes when the user gives none; empty for [`Needs::Rows`].
    pub bank: &'static str,
}

/// The points a method learns from or predicts for.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// Kernels between the points (rows) and the training points (columns).
    Stack(&'a Stack),
    /// The scaled points.
    Rows(&'a Rows<'a>),
}

/// Scaled points, of which a dense table is made when a method first asks for it: sparse ones that nobody looks at stay as
/// they are.
#[derive(Debug)]
pub struct Rows<'a> {
    features: &'a Features,
    memory: Option<u64>,
    dense: OnceLock<Matrix>,
}

impl<'a> Rows<'a> {
    /// The points; `memory` is the most bytes a dense table of sparse ones, and what a method makes of it, may take.
    pub fn new(features: &'a Features, memory: Option<u64>) -> Self {
        Rows { features, memory, dense: OnceLock::new() }
    }

    /// The points as they are kept.
    pub fn features(&self) -> &'a Features {
        self.features
    }

    /// Bytes that may be taken beside the dense table.
    pub(crate) fn room(&self) -> u64 {
        let table = (self.features.n_rows() as u64).saturating_mul(self.features.n_cols() as u64).saturating_mul(8);
        self.memory.map_or(u64::MAX, |limit| limit.saturating_sub(table))
    }

    /// The dense table, made once; an error if it takes more memory than it may.
    pub fn dense(&self) -> Result<&Matrix> {
        match (self.features, self.dense.get()) {
            (Features::Dense(matrix), _) | (_, Some(matrix)) => Ok(matrix),
            (features, None) => {
                let matrix = features.to_dense_within(self.memory)?.into_owned();
                Ok(self.dense.get_or_init(|| matrix))
            }
        }
    }
}

impl<'a> Input<'a> {
    /// The stack, for methods that said [`Needs::Stack`] or [`Needs::Pass`].
    pub fn stack(self) -> Result<&'a Stack> {
        match self {
            Input::Stack(stack) => Ok(stack),
            Input::Rows(_) => Err(Error::input("this method needs kernels, got rows")),
        }
    }

    /// The scaled points, for methods that said [`Needs::Rows`]: a dense table, which takes 8 bytes a value where the
    /// points were sparse.
    pub fn rows(self) -> Result<&'a Matrix> {
        match self {
            Input::Rows(rows) => rows.dense(),
            Input::Stack(_) => Err(Error::input("this method needs rows, got kernels")),
        }
    }

    /// Bytes that a method may take beside the points or their kernels.
    pub(crate) fn room(self) -> u64 {
        match self {
            Input::Stack(stack) => stack.room(),
            Input::Rows(rows) => rows.room(),
        }
    }

    /// Number of points.
    pub fn n_samples(self) -> usize {
        match self {
            Input::Stack(stack) => stack.n_rows(),
            Input::Rows(rows) => rows.features.n_rows(),
        }
    }
}

/// The kernels that look at one view and no other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelsOfView {
    /// The view, or the Gram matrix.
    pub name: String,
    /// Its kernels, ascending.
    pub kernels: Vec<usize>,
}

/// The label of a row of scores: the first largest.
pub(crate) fn first_largest(scores: &[f64]) -> usize {
    (0..scores.len()).rev().max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap_or(0)
}

/// Marks the streams of methods; splits take those without the mark.
const METHOD_STREAMS: u64 = 1 << 63;

/// Everything a method may look at while it learns.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The training points.
    pub input: Input<'a>,
    /// Their classes. In a split, a class of the data may have no row.
    pub labels: &'a Labels,
    /// What rows belong to (patients, batches), where that is known: rows of one group must not be on both sides of an
    /// inner split.
    pub groups: Option<&'a [usize]>,
    /// The kernels on each single view; none for data without views.
    pub views: &'a [KernelsOfView],
    /// Names all randomness of the run, which comes from [`Task::rng`].
    pub seed: u64,
    /// The threads.
    pub pool: &'a Pool,
}

impl<'a> Task<'a> {
    /// The stack, for methods that said [`Needs::Stack`] or [`Needs::Pass`].
    pub fn stack(&self) -> Result<&'a Stack> {
        self.input.stack()
    }

    /// The scaled rows, for methods that said [`Needs::Rows`]: see [`Input::rows`].
    pub fn rows(&self) -> Result<&'a Matrix> {
        self.input.rows()
    }

    /// The generator of one stream (a chain, a class) of the run, at a position from [`Rng::position`]; 0 is its beginning.
    /// These streams are apart from those that dealt the rows of a split with the same seed.
    pub fn rng(&self, stream: u64, position: u64) -> Rng {
        Rng::at(self.seed, stream | METHOD_STREAMS, position)
    }

    /// Number of training points.
    pub fn n_samples(&self) -> usize {
        self.input.n_samples()
    }
}

/// Where a clustering puts rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// The cluster of each row.
    pub clusters: Vec<usize>,
    /// ln density of each row, for models that have one.
    pub density: Option<Vec<f64>>,
}

/// What is known of each kernel weight, for models that have a distribution for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Intervals {
    /// How much of the distribution an interval covers, the rest in equal parts on both sides.
    pub level: f64,
    /// The interval of each kernel of the bank.
    pub bounds: Vec<(f64, f64)>,
    /// That of every kernel before any data.
    pub prior: (f64, f64),
    /// What they hold under.
    pub note: String,
}

/// A trained model, without the data handling around it.
pub trait Predict: Send + Sync {
    /// A score for each point (row) and class (column): larger is more likely, and the first largest is the label. Scores
    /// of one class should be comparable between rows, since AUROC and AUPRC rank rows by them (two classes by the
    /// difference of their scores): log joint densities, say, have to be normalised row by row.
    /// The stack given has the columns that [`Predict::points`] asked for.
    fn scores(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix>;

    /// A number for each point and class from which probabilities can be learned: larger is more likely, of one kind for all
    /// classes, and smooth, which votes are not. The scores unless there is something better.
    fn margins(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        self.scores(input, pool)
    }

    /// Class probabilities, for models that have them.
    fn probabilities(&self, _input: Input<'_>, _pool: &Pool) -> Result<Option<Matrix>> {
        Ok(None)
    }

    /// Whether [`Predict::probabilities`] gives any.
    fn has_probabilities(&self) -> bool {
        false
    }

    /// Whether its arrays fit together and the numbers of kernels and classes: called when it is read from a file,
    /// where a checksum says that nothing was damaged, not that all lengths are right.
    fn check(&self, _n_kernels: usize, _n_classes: usize) -> Result<()> {
        Ok(())
    }

    /// The rows of the training data the scores are computed from, in the order of the stack's columns.
    fn points(&self) -> &[usize] {
        &[]
    }

    /// The kernels of the bank the scores are computed from, ascending: the stack handed to [`Predict::scores`] has
    /// these and no others, so that kernels of weight zero cost nothing. `None` for all.
    fn kernels(&self) -> Option<Vec<usize>> {
        None
    }

    /// One weight per kernel of the bank, for models that have them.
    fn weights(&self) -> Option<&[f64]> {
        None
    }

    /// One weight per kernel (rows) and class (columns), for models whose classes weigh kernels each in their own way.
    fn class_weights(&self) -> Option<Matrix> {
        None
    }

    /// For models whose decisions are `f_p(x) = sum_i coef_ip sum_m weights_m k_m(x_i, x) + bias_p` over their points: the
    /// coefficients, from which each kernel's share of the decisions is found.
    fn coefficients(&self) -> Option<&Coefficients> {
        None
    }

    /// What was drawn, for models that are a sample of many: a variable `weights` along `kernel`, and what else is worth a
    /// look. The model that holds this one fills in the names of kernels and classes.
    fn draws(&self) -> Option<Draws> {
        None
    }

    /// Intervals of the kernel weights, for models that have a distribution for each; those of draws come from [`Predict::draws`].
    fn intervals(&self) -> Option<Intervals> {
        None
    }

    /// The cluster of each training row, for models that are a clustering.
    fn clusters(&self) -> Option<&[usize]> {
        None
    }

    /// The clusters of new rows, for models that are a clustering.
    fn place(&self, _input: Input<'_>, _pool: &Pool) -> Result<Option<Placed>> {
        Ok(None)
    }

    /// How much each column (columns) matters to the kernel of each cluster (rows), adding up to 1 for each cluster.
    fn relevance(&self) -> Option<Matrix> {
        None
    }

    /// Facts for `inspect`: name and value.
    fn facts(&self) -> Vec<(String, String)> {
        vec![]
    }

    /// What a user should know, such as a solver that did not converge and what to change.
    fn warnings(&self) -> Vec<String> {
        vec![]
    }
}

/// A way to learn. Implement this, register it, and it has progress, Ctrl-C, time limits, checkpoints,
/// cross-validation, a model file and the conformance suite; `examples/centroid.rs` is one in under 60 lines.
///
/// `step` must depend on nothing but its arguments, so that a stored state goes on exactly where it was.
pub trait Method: Send + Sync + 'static {
    /// Where a run stands; holds no data.
    type State: Codec + Send;
    /// What it ends with.
    type Model: Codec + Predict + 'static;

    /// The name card.
    fn about(&self) -> About;
    /// The state before the first step.
    fn init(&self, task: &Task<'_>, params: &Params) -> Result<Self::State>;
    /// A state for the same task under other parameters, begun from where another run ended: for a row of values of `c`,
    /// say, whose solutions are near one another. What is learned may differ within the method's tolerance only.
    fn again(&self, task: &Task<'_>, params: &Params, _earlier: &Self::State) -> Result<Self::State> {
        self.init(task, params)
    }
    /// Whether a state read from a checkpoint fits the task: the checksum says it was not damaged, not that its arrays
    /// have the right lengths. Called before the first step of a resumed run.
    fn check(&self, _task: &Task<'_>, _params: &Params, _state: &Self::State) -> Result<()> {
        Ok(())
    }
    /// One step. One that lasts over a second polls `control` and, if told to stop, leaves the state as it was and
    /// returns [`Progress::cancelled`]; so does one that passes on the error of a stack operation that was stopped.
    fn step(&self, task: &Task<'_>, params: &Params, state: &mut Self::State, control: &Control) -> Result<Progress>;
    /// Whether it learns from labels. One that does not is given rows of any labels, or of one class for want of any.
    fn is_supervised(&self) -> bool {
        true
    }
    /// Whether its models are clusterings: they have [`Predict::clusters`].
    fn finds_clusters(&self) -> bool {
        false
    }
    /// Whether parameters that are `auto` are chosen by the log-loss of held-out rows, not by accuracy: for methods whose models
    /// have [`Predict::probabilities`].
    fn tunes_by_log_loss(&self) -> bool {
        false
    }
    /// How many matrices between all training rows it keeps at least, beside the kernels: what many rows run into first. Asked of
    /// methods that work on kernels.
    fn n_squares(&self, _params: &Params) -> usize {
        1
    }
    /// The model of a state, finished or not.
    fn finish(&self, task: &Task<'_>, params: &Params, state: Self::State) -> Result<Self::Model>;
    /// A learner of rows that come one after the other; `None` for methods that need all rows at once.
    fn learner(&self, _begin: &Begin<'_>) -> Result<Option<Box<dyn Learner>>> {
        Ok(None)
    }
}

/// A [`Method`] whose state and model types are hidden, so that many fit in one registry.
pub trait AnyMethod: Send + Sync {
    /// See [`Method::about`].
    fn about(&self) -> About;
    /// A new state, or one decoded from a record.
    fn start<'a>(
        &'a self,
        stored: Option<&Record>,
        task: &Task<'_>,
        params: &Params,
    ) -> Result<Box<dyn AnyState<'a> + 'a>>;
    /// See [`Method::is_supervised`].
    fn is_supervised(&self) -> bool;
    /// See [`Method::finds_clusters`].
    fn finds_clusters(&self) -> bool;
    /// See [`Method::tunes_by_log_loss`].
    fn tunes_by_log_loss(&self) -> bool;
    /// See [`Method::n_squares`].
    fn n_squares(&self, params: &Params) -> usize;
    /// A model from its record.
    fn decode(&self, record: &Record) -> Result<Box<dyn Predict>>;
    /// See [`Method::learner`].
    fn learner(&self, begin: &Begin<'_>) -> Result<Option<Box<dyn Learner>>>;
}

/// A state together with its method.
pub trait AnyState<'a> {
    /// See [`Method::again`].
    fn again(&self, task: &Task<'_>, params: &Params) -> Result<Box<dyn AnyState<'a> + 'a>>;
    /// See [`Method::step`].
    fn step(&mut self, task: &Task<'_>, params: &Params, control: &Control) -> Result<Progress>;
    /// The state as a record.
    fn encode(&self) -> Record;
    /// The model and its record.
    fn finish(self: Box<Self>, task: &Task<'_>, params: &Params) -> Result<(Box<dyn Predict>, Record)>;
}

struct Running<'a, M: Method> {
    method: &'a M,
    state: M::State,
}

impl<M: Method> AnyMethod for M {
    fn about(&self) -> About {
        Method::about(self)
    }

    fn start<'a>(
        &'a self,
        stored: Option<&Record>,
        task: &Task<'_>,
        params: &Params,
    ) -> Result<Box<dyn AnyState<'a> + 'a>> {
        let state = match stored {
            Some(record) => {
                let state = M::State::decode(record)?;
                self.check(task, params, &state)?;
                state
            }
            None => self.init(task, params)?,
        };
        Ok(Box::new(Running { method: self, state }))
    }

    fn is_supervised(&self) -> bool {
        Method::is_supervised(self)
    }

    fn finds_clusters(&self) -> bool {
        Method::finds_clusters(self)
    }

    fn tunes_by_log_loss(&self) -> bool {
        Method::tunes_by_log_loss(self)
    }

    fn n_squares(&self, params: &Params) -> usize {
        Method::n_squares(self, params)
    }

    fn decode(&self, record: &Record) -> Result<Box<dyn Predict>> {
        Ok(Box::new(M::Model::decode(record)?))
    }

    fn learner(&self, begin: &Begin<'_>) -> Result<Option<Box<dyn Learner>>> {
        Method::learner(self, begin)
    }
}

impl<'a, M: Method> AnyState<'a> for Running<'a, M> {
    fn again(&self, task: &Task<'_>, params: &Params) -> Result<Box<dyn AnyState<'a> + 'a>> {
        Ok(Box::new(Running { method: self.method, state: self.method.again(task, params, &self.state)? }))
    }

    fn step(&mut self, task: &Task<'_>, params: &Params, control: &Control) -> Result<Progress> {
        self.method.step(task, params, &mut self.state, control)
    }

    fn encode(&self) -> Record {
        self.state.encode()
    }

    fn finish(self: Box<Self>, task: &Task<'_>, params: &Params) -> Result<(Box<dyn Predict>, Record)> {
        let model = self.method.finish(task, params, self.state)?;
        let record = model.encode();
        Ok((Box::new(model), record))
    }
}
