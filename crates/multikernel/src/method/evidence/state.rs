//! The state of a run: between all rows, or on landmarks.

use super::basis::Basis;
use super::model::{EvidenceEnd, functions};
use super::partition::{check_memory, outcomes, posterior};
use super::space::{InSpace, Space, Sums};
use super::{Climb, Evidence, Rule, forms};
use crate::error::{Error, Result};
use crate::file::{Cache, Codec, Record, record};
use crate::method::stream::draw_landmarks;
use crate::method::weighted::{Weighted, is_same_rule, misfit};
use crate::run::{Control, Input, Progress, State, Task};

/// Rows whose features are computed at a time.
const BLOCK_ROWS: usize = 2048;

/// The state of `evidence`.
#[derive(Clone, Debug)]
pub enum EvidenceState {
    /// Weights from all rows, then a machine on them.
    Rows(Box<Weighted<Climb>>),
    /// Sums over the rows, then weights.
    Landmarks(Box<OnLandmarks>),
}

record! {
    /// Sums over blocks of rows, then the updates.
    #[derive(Clone, Debug, Default)]
    pub struct OnLandmarks {
        n_blocks: usize,
        sums: Sums,
        climb: Climb,
        finished: bool,
        basis: Cache<Basis>,
        space: Cache<Space>,
    }
}

/// The part of a record that holds a state on landmarks.
const LANDMARKS: &str = "landmarks";

impl Codec for EvidenceState {
    fn encode(&self) -> Record {
        match self {
            EvidenceState::Rows(state) => state.encode(),
            EvidenceState::Landmarks(state) => {
                let mut record = Record::default();
                record.put_record(LANDMARKS, state.encode());
                record
            }
        }
    }

    fn decode(record: &Record) -> Result<Self> {
        let landmarks = record.take_record(LANDMARKS);
        if landmarks.is_empty() {
            return Ok(EvidenceState::Rows(Box::new(Weighted::decode(record)?)));
        }
        Ok(EvidenceState::Landmarks(Box::new(OnLandmarks::decode(&landmarks)?)))
    }
}

impl State<Evidence> for EvidenceState {
    type Model = EvidenceEnd;

    fn init(method: &Evidence, task: &Task<'_>) -> Result<Self> {
        if method.landmarks == 0 {
            return Ok(EvidenceState::Rows(Box::new(Weighted::init(method, task)?)));
        }
        method.check_landmarks()?;
        if task.stack()?.n_kernels() == 0 {
            return Err(Error::input("there is no kernel to weigh"));
        }
        Ok(EvidenceState::Landmarks(Box::default()))
    }

    fn again(&self, earlier: &Evidence, method: &Evidence, task: &Task<'_>) -> Result<Self> {
        match self {
            EvidenceState::Rows(state) if method.landmarks == 0 => {
                Ok(EvidenceState::Rows(Box::new(state.again(earlier, method, task)?)))
            }
            // Parameters of the SVM change nothing here.
            EvidenceState::Landmarks(_) if is_same_rule(earlier, method) => Ok(self.clone()),
            _ => Self::init(method, task),
        }
    }

    fn is_done(&self) -> bool {
        match self {
            EvidenceState::Rows(state) => State::<Evidence>::is_done(state.as_ref()),
            EvidenceState::Landmarks(state) => state.finished,
        }
    }

    fn check(&self, method: &Evidence, task: &Task<'_>) -> Result<()> {
        match self {
            EvidenceState::Rows(state) if method.landmarks == 0 => state.check(method, task),
            EvidenceState::Landmarks(state) if method.landmarks > 0 && state.n_blocks <= n_blocks(task) => {
                method.check_progress(task, &state.climb)
            }
            _ => Err(misfit()),
        }
    }

    fn step(&mut self, method: &Evidence, task: &Task<'_>, control: &Control) -> Result<Progress> {
        match self {
            EvidenceState::Rows(state) => state.step(method, task, control),
            EvidenceState::Landmarks(state) => state.step(method, task, control),
        }
    }

    fn finish(self, method: &Evidence, task: &Task<'_>) -> Result<EvidenceEnd> {
        match self {
            EvidenceState::Rows(state) => state.finish(method, task).map(EvidenceEnd::Machine),
            EvidenceState::Landmarks(state) => state.finish(method, task),
        }
    }
}

fn n_blocks(task: &Task<'_>) -> usize {
    task.n_samples().div_ceil(BLOCK_ROWS).max(1)
}

/// The rows of a block: spread over all, so that a few blocks are a fair sample.
fn block(task: &Task<'_>, number: usize) -> Vec<usize> {
    (number..task.n_samples()).step_by(n_blocks(task)).collect()
}

impl OnLandmarks {
    fn step(&mut self, method: &Evidence, task: &Task<'_>, control: &Control) -> Result<Progress> {
        let (stop, blocks) = (|| control.stop().is_some(), n_blocks(task));
        let total = blocks + method.iterations + 1;
        let points = draw_landmarks(task, method.landmarks);
        let basis = self.basis.get_or_make(|| basis(task, &points, &stop))?;
        if self.n_blocks < blocks {
            let next = sums(task, self.n_blocks, &points, basis, &stop)?;
            if self.n_blocks == 0 {
                self.sums = next;
            } else if !self.sums.add(&next) {
                return Err(misfit());
            }
            self.n_blocks += 1;
            return Ok(Progress::of(self.n_blocks, total));
        }
        let all = &self.sums;
        let space = self.space.get_or_make(|| Space::new(all, basis, task.n_samples()).map_err(|_| misfit()))?;
        let forms = forms(&task.stack()?.kernels(), task.views);
        self.finished = !self.climb.advance(method, &InSpace(space, task.pool), &forms, &stop)?;
        let done = if self.finished { total } else { blocks + self.climb.evidence.len() };
        Ok(self.climb.evidence.last().iter().fold(Progress::of(done, total), |p, &&e| p.with("evidence", e)))
    }

    fn finish(mut self, method: &Evidence, task: &Task<'_>) -> Result<EvidenceEnd> {
        let points = draw_landmarks(task, method.landmarks);
        let basis = self.basis.get_or_make(|| basis(task, &points, &|| false))?;
        let (n, blocks) = (task.n_samples(), n_blocks(task));
        let seen: usize = (0..self.n_blocks.min(blocks)).map(|number| block(task, number).len()).sum();
        let all = &self.sums;
        let space = self.space.get_or_make(|| Space::new(all, basis, seen).map_err(|_| misfit()))?;
        if self.climb.weights.is_empty() {
            let forms = forms(&task.stack()?.kernels(), task.views);
            self.climb.advance(method, &InSpace(space, task.pool), &forms, &|| false)?;
        }
        let stack = task.stack()?.view(&points)?;
        let landmarks = Task { input: Input::Stack(&stack), ..*task };
        let model = posterior(self.climb, (space, basis), &landmarks, functions(task), self.finished)?;
        let few = (seen < n).then(|| format!("stopped after {seen} of {n} rows were looked at; give it more time"));
        Ok(EvidenceEnd::Posterior(model.of_rows(&points).with(vec![], few)))
    }
}

/// The features on these rows as landmarks.
fn basis(task: &Task<'_>, points: &[usize], stop: &(dyn Fn() -> bool + Sync)) -> Result<Basis> {
    let stack = task.stack()?.view(points)?;
    let landmarks = Task { input: Input::Stack(&stack), ..*task };
    let basis = Basis::new(&landmarks, stop)?;
    check_memory(&basis, &landmarks)?;
    Ok(basis)
}

/// The sums over a block of rows.
fn sums(
    task: &Task<'_>,
    number: usize,
    points: &[usize],
    basis: &Basis,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Sums> {
    let rows = block(task, number);
    let (labels, target) = (task.labels.select(&rows), task.target.select(&rows));
    let stack = task.stack()?.between(&rows, points)?;
    let block = Task { input: Input::Stack(&stack), labels: &labels, target: &target, groups: None, ..*task };
    Sums::of(&basis.features(&stack, task.pool)?, &outcomes(&block, &functions(task)), task.pool, stop)
}
