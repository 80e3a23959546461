//! One kept candidate, trained on all rows: its weights, then the machine on them.

use super::candidate::{Candidate, Part, Rule};
use super::landmarks::{self, LandmarkModel, OnLandmarks};
use super::{Auto, MOST_FACTORED, MOST_TRAINED};
use crate::data::Target;
use crate::error::{Error, Result};
use crate::file::{Codec, Record};
use crate::method::alignf::Products;
use crate::method::ends::{EndModel, EndState};
use crate::method::evidence::Climb;
use crate::method::sample::sample;
use crate::method::svc::{EndsInSvc, Svc};
use crate::method::svimkl::Fit;
use crate::method::weighted::{Weighted, on_a_sample, scaled, spread};
use crate::method::{Alignf, Average, Evidence};
use crate::run::{Control, Predict, Progress, State, Status, Task, forward_to_inner};

/// Training of a member.
#[derive(Clone, Debug, Default)]
pub(super) struct Member {
    rule: RuleState,
    /// The machine on the weights of all kernels of the bank, and what c is divided by.
    machine: Option<EndState>,
    spread: f64,
    /// What takes the machine's place where rows are too many for it.
    landmarks: Option<Box<Fit>>,
    /// The penalty of that; none before it is chosen.
    lambda: Option<f64>,
    warning: Option<String>,
}

/// Progress of the rule that weighs the kernels.
#[derive(Clone, Debug, Default)]
enum RuleState {
    #[default]
    Untouched,
    Evidence(Box<Weighted<Climb>>),
    Alignf(Box<Weighted<Products>>),
}

impl Codec for Member {
    fn encode(&self) -> Record {
        let mut record = Record::default();
        record.put("spread", &self.spread);
        record.put("warning", &self.warning);
        record.put("lambda", &self.lambda.into_iter().collect::<Vec<f64>>());
        match &self.rule {
            RuleState::Untouched => {}
            RuleState::Evidence(state) => record.put_record("evidence", state.encode()),
            RuleState::Alignf(state) => record.put_record("alignf", state.encode()),
        }
        if let Some(machine) = &self.machine {
            record.put_record("machine", machine.encode());
        }
        if let Some(fit) = &self.landmarks {
            record.put_record("landmarks", fit.encode());
        }
        record
    }

    fn decode(record: &Record) -> Result<Self> {
        let of = |name: &str| Some(record.take_record(name)).filter(|inner| !inner.is_empty());
        let rule = match (of("evidence"), of("alignf")) {
            (Some(evidence), _) => RuleState::Evidence(Box::new(Weighted::decode(&evidence)?)),
            (None, Some(alignf)) => RuleState::Alignf(Box::new(Weighted::decode(&alignf)?)),
            (None, None) => RuleState::Untouched,
        };
        let machine = of("machine").map(|machine| EndState::decode(&machine)).transpose()?;
        let landmarks = of("landmarks").map(|fit| Fit::decode(&fit).map(Box::new)).transpose()?;
        let lambda: Vec<f64> = record.take("lambda")?;
        Ok(Member {
            rule,
            machine,
            spread: record.take("spread")?,
            landmarks,
            lambda: lambda.first().copied(),
            warning: record.take("warning")?,
        })
    }
}

/// What a member is trained as.
pub(super) struct As<'a> {
    pub(super) candidate: &'a Candidate,
    pub(super) c: f64,
    pub(super) auto: &'a Auto,
}

impl As<'_> {
    fn average(&self) -> Average {
        Average { c: self.c, class_weights: self.auto.class_weights.clone(), ..Default::default() }
    }

    fn evidence(&self) -> Evidence {
        Evidence { c: self.c, class_weights: self.auto.class_weights.clone(), ..Default::default() }
    }

    fn alignf(&self) -> Alignf {
        Alignf { c: self.c, class_weights: self.auto.class_weights.clone(), ..Default::default() }
    }

    fn on_landmarks(&self, lambda: f64) -> OnLandmarks<'_> {
        OnLandmarks { candidate: self.candidate, lambda, auto: self.auto }
    }

    /// The weights of its kernels as weights of all kernels of the bank.
    fn of_bank(&self, weights: &[f64], n_kernels: usize) -> Vec<f64> {
        let mut all = vec![0.0; n_kernels];
        self.candidate.kernels.iter().zip(weights).for_each(|(&m, &weight)| all[m] = weight);
        all
    }

    fn uniform(&self) -> Vec<f64> {
        let n = self.candidate.kernels.len();
        vec![1.0 / n as f64; n]
    }
}

/// The rows that machines are trained on: all, unless their combined kernel is too large.
pub(super) fn trained(task: &Task<'_>) -> Result<Vec<usize>> {
    Ok(sample(task.labels, most_trained(task)?))
}

fn most_trained(task: &Task<'_>) -> Result<usize> {
    let room = (task.stack()?.room() / 8).isqrt();
    let most = if *task.target == Target::Classes { MOST_TRAINED } else { MOST_FACTORED };
    Ok(usize::try_from(room).unwrap_or(usize::MAX).clamp(1, most))
}

/// Whether rows are too many for the machine, so that landmarks, or some of the rows, take its place.
pub(super) fn is_beyond(task: &Task<'_>) -> Result<bool> {
    Ok(task.n_samples() > most_trained(task)?)
}

/// Whether a candidate has landmarks in place of the machine.
pub(super) fn has_landmarks(auto: &Auto, candidate: &Candidate, task: &Task<'_>) -> Result<bool> {
    // Where memory is so tight that there would be landmarks for fewer rows than the machine takes, the machine is better.
    Ok(landmarks::are_for(auto, candidate)
        && is_beyond(task)?
        && landmarks::rows(auto, candidate, task)?.len() > most_trained(task)?)
}

/// Calls `f` with the task on the rows that machines are trained on.
fn on_trained<T>(task: &Task<'_>, f: impl FnOnce(&Task<'_>, &[usize]) -> Result<T>) -> Result<T> {
    let rows = trained(task)?;
    if rows.len() == task.n_samples() {
        return f(task, &rows);
    }
    let kernels: Vec<usize> = (0..task.stack()?.n_kernels()).collect();
    let part = Part::new(task, &rows, &kernels)?;
    f(&part.task(task), &rows)
}

impl Member {
    /// One step of the rule or of the machine.
    pub(super) fn step(&mut self, role: &As<'_>, task: &Task<'_>, control: &Control) -> Result<Progress> {
        if has_landmarks(role.auto, role.candidate, task)? {
            let Some(lambda) = self.lambda else {
                self.lambda = Some(OnLandmarks::lambda(role.candidate, role.c, role.auto, task, control)?);
                return Ok(Progress::of(0, 1));
            };
            if let Some(fit) = &mut self.landmarks {
                return role.on_landmarks(lambda).step(fit, task, control);
            }
            self.landmarks = Some(Box::new(role.on_landmarks(lambda).init(task)?));
            return Ok(Progress::of(0, 1));
        }
        if let Some(machine) = &mut self.machine {
            let svc = scaled(role.average().svc(), self.spread);
            return on_trained(task, |task, _| machine.advance(task, &svc, control));
        }
        let weights = match self.weigh(role, task, control)? {
            Ok(weights) => role.of_bank(&weights, task.stack()?.n_kernels()),
            Err(progress) => return Ok(progress),
        };
        on_trained(task, |task, _| {
            // Uniform weights have the c of `average`, as it is.
            self.spread = if role.candidate.rule == Rule::Average { 1.0 } else { spread(&weights, task)? };
            self.machine = Some(EndState::new(weights, task, &scaled(role.average().svc(), self.spread))?);
            Ok(Progress::of(0, 1))
        })
    }

    /// The weights of the candidate's kernels, or the progress of a rule that has none yet.
    fn weigh(
        &mut self,
        role: &As<'_>,
        task: &Task<'_>,
        control: &Control,
    ) -> Result<std::result::Result<Vec<f64>, Progress>> {
        if role.candidate.rule == Rule::Average {
            return Ok(Ok(role.uniform()));
        }
        let part = Part::new(task, &Part::rows(role.auto, task), &role.candidate.kernels)?;
        let part = part.task(task);
        if matches!(self.rule, RuleState::Untouched) {
            self.rule = match role.candidate.rule {
                Rule::Alignf => RuleState::Alignf(Box::new(Weighted::init(&role.alignf(), &part)?)),
                _ => RuleState::Evidence(Box::new(Weighted::init(&role.evidence(), &part)?)),
            };
        }
        let (progress, learned) = match &mut self.rule {
            RuleState::Evidence(state) => (state.step(&role.evidence(), &part, control)?, state.learned()),
            RuleState::Alignf(state) => (state.step(&role.alignf(), &part, control)?, state.learned()),
            RuleState::Untouched => return Ok(Ok(role.uniform())),
        };
        Ok(match learned {
            Some((weights, warning)) if progress.status != Status::Cancelled => {
                self.warning = warning;
                Ok(weights)
            }
            _ if progress.status == Status::Cancelled => Err(progress),
            _ => Err(Progress::of(0, 1)),
        })
    }

    /// The penalty of its landmarks, if it has them.
    pub(super) fn lambda(&self) -> Option<f64> {
        self.lambda
    }

    /// Whether a stored member fits the task.
    pub(super) fn check(&self, role: &As<'_>, task: &Task<'_>) -> Result<()> {
        if let (Some(fit), Some(lambda)) = (&self.landmarks, self.lambda) {
            return role.on_landmarks(lambda).check(fit, task);
        }
        if let Some(machine) = &self.machine {
            let svc = scaled(role.average().svc(), self.spread);
            return on_trained(task, |task, _| machine.fits(task, &svc));
        }
        let part = Part::new(task, &Part::rows(role.auto, task), &role.candidate.kernels)?;
        let part = part.task(task);
        match (&self.rule, role.candidate.rule) {
            (RuleState::Untouched, _) => Ok(()),
            (RuleState::Evidence(state), Rule::Evidence) => state.check(&role.evidence(), &part),
            (RuleState::Alignf(state), Rule::Alignf) => state.check(&role.alignf(), &part),
            _ => Err(Error::input("the checkpoint's candidates are not those of the data; start anew")),
        }
    }

    /// The model, from all rows or, if it was stopped before there was one, from a sample.
    pub(super) fn finish(self, role: &As<'_>, task: &Task<'_>) -> Result<MemberModel> {
        if let (Some(fit), Some(lambda)) = (self.landmarks, self.lambda) {
            return role.on_landmarks(lambda).finish(*fit, task).map(|model| MemberModel::Landmarks(Box::new(model)));
        }
        let svc: Svc = role.average().svc();
        if let Some(machine) = self.machine.filter(EndState::is_begun) {
            return on_trained(task, |task, rows| {
                let model = machine.model(task, &scaled(svc, self.spread))?.of_rows(rows);
                Ok(MemberModel::End(Box::new(model.with_warning(self.warning))))
            });
        }
        let weights = role.of_bank(&role.uniform(), task.stack()?.n_kernels());
        let (model, rows) = on_a_sample(weights, task, &svc)?;
        Ok(MemberModel::End(Box::new(model.with_warning(Some(format!(
            "stopped before the model was trained: all kernels have the same weight{rows}; give it more time"
        ))))))
    }
}

/// The model of a member: the machine at the end of its rule, or a regression on landmarks.
#[derive(Clone, Debug)]
pub(super) enum MemberModel {
    End(Box<EndModel>),
    Landmarks(Box<LandmarkModel>),
}

impl MemberModel {
    fn inner(&self) -> &dyn Predict {
        match self {
            MemberModel::End(model) => model.as_ref(),
            MemberModel::Landmarks(model) => model.as_ref(),
        }
    }
}

forward_to_inner!(MemberModel);

impl Codec for MemberModel {
    fn encode(&self) -> Record {
        match self {
            MemberModel::End(model) => model.encode(),
            MemberModel::Landmarks(model) => {
                let mut record = Record::default();
                record.put_record("landmarks", model.encode());
                record
            }
        }
    }

    fn decode(record: &Record) -> Result<Self> {
        match record.take_record("landmarks") {
            landmarks if landmarks.is_empty() => {
                EndModel::decode(record).map(|model| MemberModel::End(Box::new(model)))
            }
            landmarks => LandmarkModel::decode(&landmarks).map(|model| MemberModel::Landmarks(Box::new(model))),
        }
    }
}
