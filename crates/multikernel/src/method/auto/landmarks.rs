//! The road beyond N x N: kernel logistic regression (`mklr`) whose sample weights are on landmarks alone.

use super::candidate::{Candidate, Part, Rule};
use super::{Auto, Effort};
use crate::data::Target;
use crate::error::{Error, Result};
use crate::file::{Codec, Record};
use crate::linalg::Matrix;
use crate::method::sample::sample;
use crate::method::svc::ClassWeights;
use crate::method::svimkl::Fit;
use crate::method::{Mklr, SviMklEnd, Weighting};
use crate::pool::Pool;
use crate::run::{
    Additive, Coefficients, Control, Explain, Input, Predict, Probabilistic, Progress, Regressor, State, Survival, Task,
};

/// What a candidate is trained as on landmarks.
pub(super) struct OnLandmarks<'a> {
    pub(super) candidate: &'a Candidate,
    pub(super) c: f64,
    pub(super) auto: &'a Auto,
}

/// Kernels that landmarks are used with: each of them passes over all rows at every step. A candidate of more, whose single
/// columns were worth it, does better on some of the rows.
const MOST_KERNELS: usize = 20;

/// Whether there are landmarks for a candidate and the target of the task: for classes, whose c says how smooth functions
/// are. They know no class weights.
pub(super) fn are_for(auto: &Auto, candidate: &Candidate, task: &Task<'_>) -> bool {
    candidate.kernels.len() <= MOST_KERNELS
        && auto.class_weights == ClassWeights::None
        && *task.target == Target::Classes
}

/// How many landmarks there are.
pub(super) fn n_landmarks(auto: &Auto) -> usize {
    match auto.effort {
        Effort::Quick => 250,
        Effort::Normal => 500,
        Effort::Thorough => 1000,
    }
}

/// The rows trained on: all, or as many as memory has room for. Of n rows and m landmarks `mklr` holds 3 n m + 3 m^2
/// numbers, 8 for each row, kernel and class, and 8 for each landmark, kernel and thread.
pub(super) fn rows(auto: &Auto, candidate: &Candidate, task: &Task<'_>) -> Result<Vec<usize>> {
    let (m, n_kernels) = (n_landmarks(auto) as u64, candidate.kernels.len() as u64);
    let of_a_row = 3 * m + 8 * n_kernels * task.labels.n_classes() as u64;
    let fixed = 3 * m * m + 8 * m * n_kernels * task.pool.n_threads() as u64;
    let most = (task.stack()?.room() / 8).saturating_sub(fixed) / of_a_row;
    Ok(sample(task.labels, usize::try_from(most).unwrap_or(usize::MAX).max(1)))
}

impl OnLandmarks<'_> {
    /// Uniform weights stay so; those of other rules are learned anew, on all rows. The penalty is that of the chosen c:
    /// `c sum loss + |f|^2 / 2` has the optimum of `sum loss + lambda |f|^2` with `lambda = 1 / (2 c)`.
    fn mklr(&self) -> Mklr {
        let weights = if self.candidate.rule == Rule::Average { Weighting::Uniform } else { Weighting::Learned };
        Mklr { lambda: 0.5 / self.c, weights, landmarks: n_landmarks(self.auto), tol: TOLERANCE, ..Mklr::default() }
    }

    /// Its kernels in the order of the bank.
    fn kernels(&self) -> Vec<usize> {
        let mut kernels = self.candidate.kernels.clone();
        kernels.sort_unstable();
        kernels
    }

    fn with_part<T>(&self, task: &Task<'_>, f: impl FnOnce(&Task<'_>, &[usize]) -> Result<T>) -> Result<T> {
        let rows = rows(self.auto, self.candidate, task)?;
        let part = Part::new(task, &rows, &self.kernels())?;
        f(&part.task(task), &rows)
    }

    pub(super) fn init(&self, task: &Task<'_>) -> Result<Fit> {
        self.with_part(task, |part, _| <Fit as State<Mklr>>::init(&self.mklr(), part))
    }

    pub(super) fn step(&self, fit: &mut Fit, task: &Task<'_>, control: &Control) -> Result<Progress> {
        self.with_part(task, |part, _| <Fit as State<Mklr>>::step(fit, &self.mklr(), part, control))
    }

    pub(super) fn check(&self, fit: &Fit, task: &Task<'_>) -> Result<()> {
        self.with_part(task, |part, _| <Fit as State<Mklr>>::check(fit, &self.mklr(), part))
    }

    pub(super) fn finish(&self, fit: Fit, task: &Task<'_>) -> Result<LandmarkModel> {
        let n_kernels = task.stack()?.n_kernels();
        self.with_part(task, |part, rows| {
            let model = <Fit as State<Mklr>>::finish(fit, &self.mklr(), part)?;
            LandmarkModel::new(model, self.kernels(), rows, n_kernels)
        })
    }
}

/// A step that raises the likelihood by less than this part of it ends the fit: two digits fewer than `mklr` alone asks
/// for, which no prediction shows.
const TOLERANCE: f64 = 1e-6;

/// A model of some kernels of the bank and some rows of the data.
#[derive(Clone, Debug)]
pub(super) struct LandmarkModel {
    model: SviMklEnd,
    /// The number of each of its kernels in the bank.
    kernels: Vec<usize>,
    /// The row of each of its points.
    points: Vec<usize>,
    /// Its kernel weights as weights of the bank.
    weights: Vec<f64>,
}

impl LandmarkModel {
    fn new(model: SviMklEnd, kernels: Vec<usize>, rows: &[usize], n_kernels: usize) -> Result<LandmarkModel> {
        let points = model.points().iter().map(|&point| rows[point]).collect();
        let mut weights = vec![0.0; n_kernels];
        let own = model.weights().unwrap_or_default();
        kernels.iter().zip(own).for_each(|(&m, &weight)| weights[m] = weight);
        LandmarkModel { model, kernels, points, weights }.checked()
    }

    /// Refuses arrays that do not fit together.
    fn checked(self) -> Result<LandmarkModel> {
        let fits = self.model.points().len() == self.points.len()
            && self.model.weights().is_some_and(|own| own.len() == self.kernels.len())
            && self.kernels.is_sorted_by(|a, b| a < b)
            && self.kernels.iter().all(|&m| m < self.weights.len());
        if fits { Ok(self) } else { Err(Error::input("its landmarks do not fit its kernels")) }
    }
}

impl Codec for LandmarkModel {
    fn encode(&self) -> Record {
        let mut record = Record::default();
        record.put_record("model", self.model.encode());
        record.put("kernels", &self.kernels);
        record.put("points", &self.points);
        record.put("weights", &self.weights);
        record
    }

    fn decode(record: &Record) -> Result<Self> {
        LandmarkModel {
            model: SviMklEnd::decode(&record.take_record("model"))?,
            kernels: record.take("kernels")?,
            points: record.take("points")?,
            weights: record.take("weights")?,
        }
        .checked()
    }
}

impl Predict for LandmarkModel {
    fn scores(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        self.model.scores(input, pool)
    }

    fn margins(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        self.model.margins(input, pool)
    }

    fn points(&self) -> &[usize] {
        &self.points
    }

    fn kernels(&self) -> Option<Vec<usize>> {
        Some(self.model.kernels()?.into_iter().map(|m| self.kernels[m]).collect())
    }

    fn check(&self, n_kernels: usize, n_outputs: usize) -> Result<()> {
        if self.weights.len() != n_kernels {
            return Err(Error::input("its kernel weights are not those of the bank"));
        }
        self.model.check(self.kernels.len(), n_outputs)
    }

    fn probabilistic(&self) -> Option<&dyn Probabilistic> {
        self.model.probabilistic()
    }

    fn regressor(&self) -> Option<&dyn Regressor> {
        self.model.regressor()
    }

    fn survival(&self) -> Option<&dyn Survival> {
        self.model.survival()
    }

    fn additive(&self) -> Option<&dyn Additive> {
        self.model.additive()
    }
}

impl Explain for LandmarkModel {
    fn weights(&self) -> Option<&[f64]> {
        Some(&self.weights)
    }

    fn coefficients(&self) -> Option<&Coefficients> {
        self.model.coefficients()
    }

    fn facts(&self) -> Vec<(String, String)> {
        self.model.facts()
    }

    fn warnings(&self) -> Vec<String> {
        self.model.warnings()
    }
}
