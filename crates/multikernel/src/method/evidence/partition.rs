//! `evidence` on rows in partitions: one pass over them for the sums of [`Space`], then updates here.

use super::basis::Basis;
use super::model::{Decided, EvidenceEnd, PosteriorModel, functions};
use super::space::{InSpace, Space, Sums};
use super::variance::Variance;
use super::{Climb, Evidence, forms};
use crate::data::Target;
use crate::error::{Error, Remedy, Result, message};
use crate::file::{Codec, Record};
use crate::linalg::Matrix;
use crate::method::svc::ClassWeights;
use crate::method::weighted::Weights;
use crate::run::{AllRows, ByPartitions, Control, Keeper, Observer, Progress, Run, Stop, Task};

/// Landmarks unless set otherwise.
const LANDMARKS: usize = 1000;

/// The functions' outcomes at the rows of a task: +1 for rows of the class and -1 for others, or the numbers.
pub(super) fn outcomes(task: &Task<'_>, functions: &[usize]) -> Matrix {
    match task.target {
        Target::Numbers(numbers) => numbers.values().clone(),
        _ => {
            let codes = task.labels.codes();
            Matrix::from_fn(codes.len(), functions.len(), |i, k| if codes[i] == functions[k] { 1.0 } else { -1.0 })
        }
    }
}

/// [`functions`], where all classes have rows somewhere.
fn functions_of_all(task: &Task<'_>) -> Vec<usize> {
    match (task.target, task.labels.n_classes()) {
        (Target::Classes, n) if n > 2 => (0..n).collect(),
        _ => functions(task),
    }
}

impl Evidence {
    /// Refuses what only the SVM at the end has.
    pub(super) fn check_landmarks(&self) -> Result<()> {
        if self.class_weights != ClassWeights::None {
            return Err(Error::param(
                "class_weights",
                "with landmarks the Gaussian model predicts in place of the SVM, and has no class weights; leave them out",
            ));
        }
        Ok(())
    }
}

/// Checks that products of features fit: as they come, whole, the model at two points, an inverse and its half.
pub(super) fn check_memory(basis: &Basis, landmarks: &Task<'_>) -> Result<()> {
    let (f, m) = (basis.len() as u64, landmarks.n_samples());
    let (need, limit) = ((8 * 6 * f).saturating_mul(f), landmarks.stack()?.room());
    if need <= limit {
        return Ok(());
    }
    Err(Error::Memory {
        what: format!("the products of {f} features, of {} kernels on {m} landmarks", basis.n_kernels()),
        need,
        limit,
        help: message!["set landmarks to fewer rows, use fewer kernels, or raise ", Remedy::Memory],
    })
}

impl ByPartitions for Evidence {
    fn n_landmarks(&self, n_rows: usize) -> Option<usize> {
        Some(if self.landmarks == 0 { LANDMARKS } else { self.landmarks }.min(n_rows))
    }

    fn sums(&self, request: &Record, block: &Task<'_>) -> Result<Record> {
        let (basis, stack) = (Basis::decode(request)?, block.stack()?);
        basis.check(stack.n_kernels(), stack.n_cols())?;
        let outcomes = outcomes(block, &functions_of_all(block));
        Ok(Sums::of(&basis.features(stack, block.pool)?, &outcomes, block.pool, &|| false)?.encode())
    }

    fn learn(
        &self,
        landmarks: &Task<'_>,
        rows: &AllRows<'_>,
        keeper: &mut Keeper,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<Run> {
        self.check_landmarks()?;
        // Between all rows the method takes times, too.
        if let Target::Times(_) = landmarks.target {
            return Err(Error::param(
                "method",
                "on partitions evidence predicts classes and numbers; for times to an event use mklr or svimkl",
            ));
        }
        let stop = || control.stop().is_some();
        let basis = Basis::new(landmarks, &stop)?;
        check_memory(&basis, landmarks)?;
        // The pass over the rows and the start of the updates are a unit each.
        let (mut climb, total) = (Climb::default(), self.iterations + 2);
        let mut progress = Progress::of(1, total);
        let sums = match keeper.take_stored() {
            Some(stored) => stored,
            None => {
                let sums = (rows.ask)(&basis.encode())?;
                // All that the rows are needed for.
                keeper.keep(&progress, sums.clone(), observer);
                sums
            }
        };
        let space = Space::new(&Sums::decode(&sums)?, &basis, rows.n_rows)?;
        drop(sums);
        let functions = functions_of_all(landmarks);
        if space.means().len() != functions.len() {
            return Err(Error::input("the sums of partitions do not fit; all workers need the same version"));
        }
        let forms = forms(&landmarks.stack()?.kernels(), landmarks.views);
        let why = loop {
            if let Some(why) = control.stop() {
                break why;
            }
            let goes_on = match climb.advance(self, &InSpace(&space, landmarks.pool), &forms, &stop) {
                Err(Error::Stopped(_)) => break control.stop().unwrap_or(Stop::Cancelled),
                goes_on => goes_on?,
            };
            let done = if goes_on { 1 + climb.evidence.len() } else { total };
            progress = climb.evidence.last().iter().fold(Progress::of(done, total), |p, &&e| p.with("evidence", e));
            observer.progress(&progress);
            if !goes_on {
                break Stop::Finished;
            }
        };
        if climb.weights.is_empty() {
            return Err(Error::Stopped(format!("{why} before anything was learned; no model was made")));
        }
        let steps = climb.evidence.len() as u64;
        let mut model = posterior(climb, (&space, &basis), landmarks, functions, why == Stop::Finished)?;
        model = model.with(vec![("rows".into(), format!("{} in partitions", rows.n_rows))], None);
        let model = EvidenceEnd::Posterior(model);
        let record = model.encode();
        Ok(Run { model: Box::new(model), record, stop: why, steps, progress })
    }
}

/// The model at the weights reached; its points are places among the landmarks.
pub(super) fn posterior(
    mut climb: Climb,
    (space, basis): (&Space, &Basis),
    landmarks: &Task<'_>,
    functions: Vec<usize>,
    is_whole: bool,
) -> Result<PosteriorModel> {
    let model = InSpace(space, landmarks.pool);
    let (weights, noise) = (climb.weights.clone(), climb.noise);
    let now = climb.point.get_or_make(|| super::Components::point(&model, &weights, noise, &|| false))?;
    let m = landmarks.n_samples();
    let coef = basis.coefficients(&space.posterior_mean(now, &weights), m)?;
    let told = Weights::new("evidence", weights.clone());
    let used: Vec<usize> = (0..weights.len()).filter(|&m| told.values[m] != 0.0).collect();
    let variance = match landmarks.target {
        Target::Numbers(_) => Some(Variance::new(space, basis, now, (&weights, noise), &used)?),
        _ => None,
    };
    let early = "stopped before all updates were made: the kernel weights are those reached by then; give it more time";
    let warning = if is_whole { told.warning } else { Some(early.to_string()) };
    let facts = [vec![("landmarks".into(), m.to_string()), space.facts(basis)], climb.facts()].concat();
    let decided =
        Decided { functions, bias: space.means().to_vec(), weights: told.values, points: basis.points(&used) };
    Ok(PosteriorModel::new(landmarks, decided, &coef, variance).with(facts, warning))
}
