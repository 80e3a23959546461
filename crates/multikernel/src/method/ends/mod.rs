//! What a method with one set of kernel weights ends in: a C-SVC for classes, kernel ridge regression for numbers, Cox's
//! model for times.

mod cox;
mod ridge;
mod search;
mod svr;

pub use cox::CoxModel;
use cox::CoxState;
pub(super) use cox::{Hazards, PartialLikelihood, RiskSums, RowHazards, partial_log_likelihood, residuals};
pub use ridge::RidgeModel;
use ridge::RidgeState;
pub use svr::SvrModel;

use super::machine::SvmModel;
use super::svc::Svc;
use super::svm::{FixedWeights, SvmState};
use crate::data::{Target, TargetKind};
use crate::error::{Error, Result};
use crate::file::{Codec, Record};
use crate::run::{Control, Predict, Progress, State, Task, forward_to_inner};

/// The targets of a method that ends so.
pub(super) const TARGETS: &[TargetKind] = &[TargetKind::Classes, TargetKind::Numbers, TargetKind::Times];

/// The state of the machine at the end.
#[derive(Clone, Debug)]
pub enum EndState {
    /// Classes.
    Svm(SvmState),
    /// Numbers.
    Ridge(RidgeState),
    /// Times.
    Cox(CoxState),
}

impl EndState {
    /// The machine on these weights, for the task's target.
    pub(super) fn new(weights: Vec<f64>, task: &Task<'_>, svc: &Svc) -> Result<EndState> {
        match task.target {
            Target::Classes => SvmState::new(weights, task, svc).map(EndState::Svm),
            Target::Numbers(_) => RidgeState::new(weights, task).map(EndState::Ridge),
            Target::Times(_) => CoxState::new(weights, task).map(EndState::Cox),
        }
    }

    pub(super) fn advance(&mut self, task: &Task<'_>, svc: &Svc, control: &Control) -> Result<Progress> {
        match self {
            EndState::Svm(svm) => svm.advance(task, svc, control),
            EndState::Ridge(ridge) => ridge.advance(task, control),
            EndState::Cox(cox) => cox.advance(task, control),
        }
    }

    /// The machine on the same weights with other parameters, warm-started where that helps.
    pub(super) fn with(&self, task: &Task<'_>, earlier: &Svc, svc: &Svc) -> Result<EndState> {
        match self {
            EndState::Svm(svm) => svm.with(task, earlier, svc).map(EndState::Svm),
            // Parameters of an SVM mean nothing to the others.
            EndState::Ridge(_) | EndState::Cox(_) => Ok(self.clone()),
        }
    }

    /// Whether a machine that took over another's solution has nothing left to do.
    pub(super) fn is_finished(&self) -> bool {
        matches!(self, EndState::Svm(svm) if svm.is_finished())
    }

    /// The kernel weights.
    pub(super) fn weights(&self) -> &[f64] {
        match self {
            EndState::Svm(svm) => svm.weights(),
            EndState::Ridge(ridge) => ridge.weights(),
            EndState::Cox(cox) => cox.weights(),
        }
    }

    /// Whether any step was made.
    pub(super) fn is_begun(&self) -> bool {
        match self {
            EndState::Svm(svm) => svm.is_begun(),
            EndState::Ridge(ridge) => ridge.is_begun(),
            EndState::Cox(cox) => cox.is_begun(),
        }
    }

    /// Checks that the arrays of a stored state fit the task.
    pub(super) fn fits(&self, task: &Task<'_>, svc: &Svc) -> Result<()> {
        match (self, task.target) {
            (EndState::Svm(svm), Target::Classes) => svm.fits(task, svc),
            (EndState::Ridge(ridge), Target::Numbers(_)) => ridge.fits(task),
            (EndState::Cox(cox), Target::Times(_)) => cox.fits(task),
            _ => Err(Error::input("the checkpoint is of another target; start anew")),
        }
    }

    pub(super) fn model(self, task: &Task<'_>, svc: &Svc) -> Result<EndModel> {
        match self {
            EndState::Svm(svm) => svm.model(task, svc).map(EndModel::Svm),
            EndState::Ridge(ridge) => ridge.model(task).map(EndModel::Ridge),
            EndState::Cox(cox) => cox.model(task).map(EndModel::Cox),
        }
    }
}

/// The parts of a record that hold machines for numbers and for times.
const SVR: &str = "svr";
const RIDGE: &str = "ridge";
const COX: &str = "cox";

impl Codec for EndState {
    fn encode(&self) -> Record {
        match self {
            EndState::Svm(svm) => svm.encode(),
            EndState::Ridge(ridge) => inside(RIDGE, ridge.encode()),
            EndState::Cox(cox) => inside(COX, cox.encode()),
        }
    }

    fn decode(record: &Record) -> Result<Self> {
        let (ridge, cox) = (record.take_record(RIDGE), record.take_record(COX));
        match (ridge.is_empty(), cox.is_empty()) {
            (true, true) => SvmState::decode(record).map(EndState::Svm),
            (false, _) => RidgeState::decode(&ridge).map(EndState::Ridge),
            (true, false) => CoxState::decode(&cox).map(EndState::Cox),
        }
    }
}

impl<M: FixedWeights> State<M> for EndState {
    type Model = EndModel;

    fn init(method: &M, task: &Task<'_>) -> Result<EndState> {
        EndState::new(method.weights(task)?, task, &method.svc())
    }

    fn again(&self, earlier: &M, method: &M, task: &Task<'_>) -> Result<EndState> {
        self.with(task, &earlier.svc(), &method.svc())
    }

    fn is_done(&self) -> bool {
        self.is_finished()
    }

    fn check(&self, method: &M, task: &Task<'_>) -> Result<()> {
        self.fits(task, &method.svc())
    }

    fn step(&mut self, method: &M, task: &Task<'_>, control: &Control) -> Result<Progress> {
        self.advance(task, &method.svc(), control)
    }

    fn finish(self, method: &M, task: &Task<'_>) -> Result<EndModel> {
        self.model(task, &method.svc())
    }
}

/// The machine at the end.
#[derive(Clone, Debug)]
pub enum EndModel {
    /// Classes.
    Svm(SvmModel),
    /// Numbers, by methods that minimise the objective of a support vector regression.
    Svr(SvrModel),
    /// Numbers, by all others.
    Ridge(RidgeModel),
    /// Times.
    Cox(CoxModel),
}

impl EndModel {
    /// Adds a warning for the user.
    #[must_use]
    pub(super) fn with_warning(self, warning: Option<String>) -> EndModel {
        match self {
            EndModel::Svm(svm) => EndModel::Svm(svm.with_warning(warning)),
            EndModel::Svr(svr) => EndModel::Svr(svr.with_warning(warning)),
            EndModel::Ridge(ridge) => EndModel::Ridge(ridge.with_warning(warning)),
            EndModel::Cox(cox) => EndModel::Cox(cox.with_warning(warning)),
        }
    }

    /// Adds facts about how it was trained.
    #[must_use]
    pub(super) fn with_facts(self, facts: Vec<(String, String)>) -> EndModel {
        match self {
            EndModel::Svm(svm) => EndModel::Svm(svm.with_facts(facts)),
            EndModel::Svr(svr) => EndModel::Svr(svr.with_facts(facts)),
            EndModel::Ridge(ridge) => EndModel::Ridge(ridge.with_facts(facts)),
            EndModel::Cox(cox) => EndModel::Cox(cox.with_facts(facts)),
        }
    }

    /// Turns a machine trained on a subset, `rows`, into one over all training rows.
    #[must_use]
    pub(super) fn of_rows(self, rows: &[usize]) -> EndModel {
        match self {
            EndModel::Svm(svm) => EndModel::Svm(svm.of_rows(rows)),
            EndModel::Svr(svr) => EndModel::Svr(svr.of_rows(rows)),
            EndModel::Ridge(ridge) => EndModel::Ridge(ridge.of_rows(rows)),
            EndModel::Cox(cox) => EndModel::Cox(cox.of_rows(rows)),
        }
    }

    fn inner(&self) -> &dyn Predict {
        match self {
            EndModel::Svm(svm) => svm,
            EndModel::Svr(svr) => svr,
            EndModel::Ridge(ridge) => ridge,
            EndModel::Cox(cox) => cox,
        }
    }
}

impl Codec for EndModel {
    fn encode(&self) -> Record {
        match self {
            EndModel::Svm(svm) => svm.encode(),
            EndModel::Svr(svr) => inside(SVR, svr.encode()),
            EndModel::Ridge(ridge) => inside(RIDGE, ridge.encode()),
            EndModel::Cox(cox) => inside(COX, cox.encode()),
        }
    }

    fn decode(record: &Record) -> Result<Self> {
        let [svr, ridge, cox] = [SVR, RIDGE, COX].map(|name| record.take_record(name));
        match [&svr, &ridge, &cox].map(Record::is_empty) {
            [false, ..] => SvrModel::decode(&svr).map(EndModel::Svr),
            [_, false, _] => RidgeModel::decode(&ridge).map(EndModel::Ridge),
            [.., false] => CoxModel::decode(&cox).map(EndModel::Cox),
            _ => SvmModel::decode(record).map(EndModel::Svm),
        }
    }
}

/// The fields of a machine, under a name that machines for classes lack.
fn inside(name: &str, fields: Record) -> Record {
    let mut record = Record::default();
    record.put_record(name, fields);
    record
}

forward_to_inner!(EndModel);
