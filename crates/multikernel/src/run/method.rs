//! What a method is: a state machine over a task, and the model it produces.

use std::any::Any;

use super::control::Control;
use super::input::Input;
use super::learner::{Begin, Learner};
use super::observer::Progress;
use super::param::{Param, Parameters, Value};
use super::partition::ByPartitions;
use super::predict::Predict;
use crate::data::{Labels, Target, TargetKind};
use crate::dist::Rng;
use crate::error::Result;
use crate::file::{Codec, Record};
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::stack::Stack;

/// What a method works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Kernels, through repeated operations of the [`Stack`]: they are stored where memory allows.
    Stack,
    /// Kernels, through one or two operations of the [`Stack`] in total: they are computed on the fly and never stored.
    Pass,
    /// The scaled rows themselves; a kernel bank is then an error.
    Rows,
}

/// A method's description, from which the command line and help texts are built.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// One word: the same in file names, `--method` and reports.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// What it works on.
    pub needs: Needs,
    /// The default bank, used when the user gives none; empty for [`Needs::Rows`].
    pub bank: &'static str,
}

/// The kernels that use a single view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelsOfView {
    /// The view, or the Gram matrix.
    pub name: String,
    /// Its kernels, ascending.
    pub kernels: Vec<usize>,
}

/// Marks the random streams of methods; splits use those without the mark.
const METHOD_STREAMS: u64 = 1 << 63;

/// [`Task::rng`] of a run with this seed.
pub(crate) fn method_rng(seed: u64, stream: u64, position: u64) -> Rng {
    Rng::at(seed, stream | METHOD_STREAMS, position)
}

/// Everything a method may use while it learns.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The training points.
    pub input: Input<'a>,
    /// Their classes. In a split, a class of the data may have no row. Where numbers or times are predicted, these are
    /// strata, by which folds are dealt.
    pub labels: &'a Labels,
    /// What is predicted: the labels, or numbers with mean 0 and standard deviation 1 in each column (as they are for a
    /// method that [takes counts](Method::takes_counts)), or times.
    pub target: &'a Target,
    /// The group of each row (patients, batches), where known: rows of one group must not be on both sides of an inner
    /// split.
    pub groups: Option<&'a [usize]>,
    /// The kernels on each single view; empty for data without views.
    pub views: &'a [KernelsOfView],
    /// The kernels of each alternative of the bank (`A | B`), among which `auto` chooses; a kernel may be in several. One
    /// list of all kernels, or none, for a bank without bars.
    pub alternatives: &'a [Vec<usize>],
    /// Seeds all randomness of the run, which comes from [`Task::rng`].
    pub seed: u64,
    /// The threads.
    pub pool: &'a Pool,
}

impl<'a> Task<'a> {
    /// The stack, for methods that declared [`Needs::Stack`] or [`Needs::Pass`].
    pub fn stack(&self) -> Result<&'a Stack> {
        self.input.stack()
    }

    /// The scaled rows, for methods that declared [`Needs::Rows`]: see [`Input::rows`].
    pub fn rows(&self) -> Result<&'a Matrix> {
        self.input.rows()
    }

    /// The generator for one stream (a chain, a class) of the run, at a position from [`Rng::position`]; 0 is the
    /// start. These streams are separate from those that dealt the rows of a split with the same seed.
    pub fn rng(&self, stream: u64, position: u64) -> Rng {
        method_rng(self.seed, stream, position)
    }

    /// The number of scores a model has for a point: classes, or numbers to predict.
    pub(crate) fn n_outputs(&self) -> usize {
        match self.target {
            Target::Classes => self.labels.n_classes(),
            Target::Numbers(numbers) => numbers.n_targets(),
            Target::Times(_) => 1,
        }
    }

    /// Number of training points.
    pub fn n_samples(&self) -> usize {
        self.input.n_samples()
    }
}

/// A learning method: its parameters, its description, and the [`State`] that does the work. Implement this, register
/// it, and it gets progress, Ctrl-C, time limits, checkpoints, cross-validation, a model file and the conformance
/// suite; `examples/centroid.rs` is one in one page. The type is the method's parameters: declare it with
/// [`params!`](crate::params).
pub trait Method: Parameters + Clone + Send + Sync + 'static {
    /// The state of a run; holds no data.
    type State: State<Self>;

    /// The method's description.
    fn about(&self) -> About;
    /// Whether it learns from labels. An unsupervised method may be given any labels, or a single class if there are
    /// none.
    fn is_supervised(&self) -> bool {
        true
    }
    /// The kinds of targets it predicts.
    fn targets(&self) -> &'static [TargetKind] {
        &[TargetKind::Classes]
    }
    /// The kinds of targets for which `auto` parameters are chosen on inner folds: numbers and times by
    /// [`Method::held_out_loss`].
    fn tuned_targets(&self) -> &'static [TargetKind] {
        &[TargetKind::Classes]
    }
    /// Whether it takes numbers for counts: it is given them as they are, not standardised, and its models predict them
    /// as they are. Numbers that are negative or not whole are refused before it sees them.
    fn takes_counts(&self) -> bool {
        false
    }
    /// What settings of `auto` parameters are compared by where numbers or times are predicted: a name, and the loss
    /// that these scores of rows have in total, by a model that has not seen them. Called for each inner fold. `None` for the
    /// squared error of numbers.
    fn held_out_loss(&self, _target: &Target, _scores: &Matrix) -> Option<(&'static str, f64)> {
        None
    }
    /// Whether its models are clusterings, that is, have [`Predict::clustering`].
    fn finds_clusters(&self) -> bool {
        false
    }
    /// Whether `auto` parameters are chosen by held-out log-loss instead of accuracy: that of the model's own
    /// probabilities, or of those its margins give ([`Calibration`](super::Calibration)).
    fn tunes_by_log_loss(&self) -> bool {
        false
    }
    /// Minimum number of matrices between all training rows that it keeps in addition to the kernels: the first limit
    /// reached with many rows. Only used for methods that work on kernels.
    fn n_squares(&self) -> usize {
        1
    }
    /// Whether runs on a few rows foretell what one on many will take; not so for methods that go other ways there.
    fn grows_evenly(&self) -> bool {
        true
    }
    /// How many of `n_rows` training rows carry coefficients, if a parameter called `landmarks` says so.
    fn n_landmarks(&self, _n_rows: usize) -> Option<usize> {
        None
    }
    /// A cheaper version of itself, by which values of `auto` parameters are compared on one inner fold, in the order of
    /// their lists until one is worse; `None` to compare all of them as they are, on all folds.
    fn rehearsal(&self, _n_rows: usize) -> Option<Self> {
        None
    }
    /// An online learner; `None` for methods that need all rows at once.
    fn learner(&self, _begin: &Begin<'_>) -> Result<Option<Box<dyn Learner>>> {
        Ok(None)
    }
    /// How it learns from rows that lie in partitions; `None` for methods whose objective is no sum over rows.
    fn by_partitions(&self) -> Option<Box<dyn ByPartitions>> {
        None
    }
}

/// The state of a run of the method `M`, and how it advances. Methods of one family share a state: it is then
/// implemented for all of them at once.
///
/// `step` must depend on nothing but its arguments, so that a stored state resumes exactly where it was.
pub trait State<M>: Codec + Send + Sized + 'static {
    /// The model a run produces.
    type Model: Codec + Predict + 'static;

    /// The state before the first step.
    fn init(method: &M, task: &Task<'_>) -> Result<Self>;
    /// A state for the same task under different parameters, warm-started from the end of this run, which was that of
    /// `earlier`: for a grid of values of `c`, say, whose solutions are close to one another. The result may differ only
    /// within the method's tolerance.
    fn again(&self, _earlier: &M, method: &M, task: &Task<'_>) -> Result<Self> {
        Self::init(method, task)
    }
    /// Whether a state from [`State::again`] is at its end already, with the model of the run before: a value of `c` that
    /// no dual variable reaches, say, and any larger one. Its run is then left out.
    fn is_done(&self) -> bool {
        false
    }
    /// Whether a state read from a checkpoint fits the task: the checksum shows that it was not damaged, not that its
    /// arrays have the right lengths. Called before the first step of a resumed run.
    fn check(&self, _method: &M, _task: &Task<'_>) -> Result<()> {
        Ok(())
    }
    /// One step. A step that lasts over a second polls `control` and, when asked to stop, leaves the state unchanged
    /// and returns [`Progress::cancelled`]; so does a step that propagates the error of a stopped stack operation.
    fn step(&mut self, method: &M, task: &Task<'_>, control: &Control) -> Result<Progress>;
    /// The model of a state, whether finished or not.
    fn finish(self, method: &M, task: &Task<'_>) -> Result<Self::Model>;
}

/// A [`Method`] with its state and model types erased, so that many fit in one registry.
pub trait AnyMethod: Send + Sync {
    /// See [`Method::about`].
    fn about(&self) -> About;
    /// See [`Parameters::params`].
    fn param_list(&self) -> &'static [Param];
    /// See [`Parameters::value`].
    fn param_value(&self, name: &str) -> Option<Value>;
    /// See [`Parameters::assign`].
    fn assign_param(&mut self, name: &str, value: &Value) -> bool;
    /// See [`Parameters::set`].
    fn set_param(&mut self, name: &str, text: &str) -> Result<()>;
    /// See [`Parameters::check`].
    fn check_params(&self) -> Result<()>;
    /// The same method with the same parameters.
    fn boxed(&self) -> Box<dyn AnyMethod>;
    /// A new state, or one decoded from a record.
    fn start<'a>(&'a self, stored: Option<&Record>, task: &Task<'_>) -> Result<Box<dyn AnyState + 'a>>;
    /// A state warm-started from a run of the same method under different parameters: see [`State::again`].
    fn start_from<'a>(&'a self, earlier: &dyn AnyState, task: &Task<'_>) -> Result<Box<dyn AnyState + 'a>>;
    /// See [`Method::is_supervised`].
    fn is_supervised(&self) -> bool;
    /// See [`Method::targets`].
    fn targets(&self) -> &'static [TargetKind];
    /// See [`Method::tuned_targets`].
    fn tuned_targets(&self) -> &'static [TargetKind];
    /// See [`Method::takes_counts`].
    fn takes_counts(&self) -> bool;
    /// See [`Method::held_out_loss`].
    fn held_out_loss(&self, target: &Target, scores: &Matrix) -> Option<(&'static str, f64)>;
    /// See [`Method::finds_clusters`].
    fn finds_clusters(&self) -> bool;
    /// See [`Method::tunes_by_log_loss`].
    fn tunes_by_log_loss(&self) -> bool;
    /// See [`Method::n_squares`].
    fn n_squares(&self) -> usize;
    /// See [`Method::grows_evenly`].
    fn grows_evenly(&self) -> bool;
    /// See [`Method::n_landmarks`].
    fn n_landmarks(&self, n_rows: usize) -> Option<usize>;
    /// See [`Method::rehearsal`].
    fn rehearsal(&self, n_rows: usize) -> Option<Box<dyn AnyMethod>>;
    /// A model from its record.
    fn decode(&self, record: &Record) -> Result<Box<dyn Predict>>;
    /// See [`Method::learner`].
    fn learner(&self, begin: &Begin<'_>) -> Result<Option<Box<dyn Learner>>>;
    /// See [`Method::by_partitions`].
    fn by_partitions(&self) -> Option<Box<dyn ByPartitions>>;
}

/// A state together with its method.
pub trait AnyState {
    /// See [`State::step`].
    fn step(&mut self, task: &Task<'_>, control: &Control) -> Result<Progress>;
    /// The state as a record.
    fn encode(&self) -> Record;
    /// The state itself and its method, for [`AnyMethod::start_from`].
    fn parts(&self) -> (&dyn Any, &dyn Any);
    /// See [`State::is_done`].
    fn is_done(&self) -> bool;
    /// The model and its record.
    fn finish(self: Box<Self>, task: &Task<'_>) -> Result<(Box<dyn Predict>, Record)>;
}

struct Running<'a, M: Method> {
    method: &'a M,
    state: M::State,
}

impl<M: Method> AnyMethod for M {
    fn about(&self) -> About {
        Method::about(self)
    }

    fn param_list(&self) -> &'static [Param] {
        <M as Parameters>::params()
    }

    fn param_value(&self, name: &str) -> Option<Value> {
        Parameters::value(self, name)
    }

    fn assign_param(&mut self, name: &str, value: &Value) -> bool {
        Parameters::assign(self, name, value)
    }

    fn set_param(&mut self, name: &str, text: &str) -> Result<()> {
        Parameters::set(self, name, text)
    }

    fn check_params(&self) -> Result<()> {
        Parameters::check(self)
    }

    fn boxed(&self) -> Box<dyn AnyMethod> {
        Box::new(self.clone())
    }

    fn start<'a>(&'a self, stored: Option<&Record>, task: &Task<'_>) -> Result<Box<dyn AnyState + 'a>> {
        let state = match stored {
            Some(record) => {
                let state = M::State::decode(record)?;
                state.check(self, task)?;
                state
            }
            None => M::State::init(self, task)?,
        };
        Ok(Box::new(Running { method: self, state }))
    }

    fn start_from<'a>(&'a self, earlier: &dyn AnyState, task: &Task<'_>) -> Result<Box<dyn AnyState + 'a>> {
        let (state, method) = earlier.parts();
        let state = match (state.downcast_ref::<M::State>(), method.downcast_ref::<M>()) {
            (Some(state), Some(method)) => state.again(method, self, task)?,
            _ => M::State::init(self, task)?,
        };
        Ok(Box::new(Running { method: self, state }))
    }

    fn is_supervised(&self) -> bool {
        Method::is_supervised(self)
    }

    fn targets(&self) -> &'static [TargetKind] {
        Method::targets(self)
    }

    fn tuned_targets(&self) -> &'static [TargetKind] {
        Method::tuned_targets(self)
    }

    fn takes_counts(&self) -> bool {
        Method::takes_counts(self)
    }

    fn held_out_loss(&self, target: &Target, scores: &Matrix) -> Option<(&'static str, f64)> {
        Method::held_out_loss(self, target, scores)
    }

    fn finds_clusters(&self) -> bool {
        Method::finds_clusters(self)
    }

    fn tunes_by_log_loss(&self) -> bool {
        Method::tunes_by_log_loss(self)
    }

    fn n_squares(&self) -> usize {
        Method::n_squares(self)
    }

    fn grows_evenly(&self) -> bool {
        Method::grows_evenly(self)
    }

    fn n_landmarks(&self, n_rows: usize) -> Option<usize> {
        Method::n_landmarks(self, n_rows)
    }

    fn rehearsal(&self, n_rows: usize) -> Option<Box<dyn AnyMethod>> {
        Method::rehearsal(self, n_rows).map(|method| method.boxed())
    }

    fn decode(&self, record: &Record) -> Result<Box<dyn Predict>> {
        Ok(Box::new(<M::State as State<M>>::Model::decode(record)?))
    }

    fn learner(&self, begin: &Begin<'_>) -> Result<Option<Box<dyn Learner>>> {
        Method::learner(self, begin)
    }

    fn by_partitions(&self) -> Option<Box<dyn ByPartitions>> {
        Method::by_partitions(self)
    }
}

impl<M: Method> AnyState for Running<'_, M> {
    fn step(&mut self, task: &Task<'_>, control: &Control) -> Result<Progress> {
        self.state.step(self.method, task, control)
    }

    fn encode(&self) -> Record {
        self.state.encode()
    }

    fn parts(&self) -> (&dyn Any, &dyn Any) {
        (&self.state, self.method)
    }

    fn is_done(&self) -> bool {
        self.state.is_done()
    }

    fn finish(self: Box<Self>, task: &Task<'_>) -> Result<(Box<dyn Predict>, Record)> {
        let model = self.state.finish(self.method, task)?;
        let record = model.encode();
        Ok((Box::new(model), record))
    }
}
