//! The road beyond N x N: kernel logistic regression (`mklr`), of numbers and times too, whose sample weights are on landmarks
//! alone.

use super::candidate::{Candidate, Part, Rule};
use super::compare::loss_of;
use super::{Auto, Effort};
use crate::data::Target;
use crate::error::{Error, Result};
use crate::file::{Codec, Record};
use crate::linalg::Matrix;
use crate::method::sample::sample;
use crate::method::svc::ClassWeights;
use crate::method::svimkl::{Fit, LAMBDAS};
use crate::method::{Mklr, SviMklEnd, Weighting};
use crate::pool::Pool;
use crate::run::inner::{self, Deal, HeldOut, Want};
use crate::run::{
    Additive, Coefficients, Control, Explain, Input, Params, Predict, Probabilistic, Progress, Regressor, Silent,
    State, Survival, Task,
};

/// What a candidate is trained as on landmarks.
pub(super) struct OnLandmarks<'a> {
    pub(super) candidate: &'a Candidate,
    /// How much wiggly functions cost.
    pub(super) lambda: f64,
    pub(super) auto: &'a Auto,
}

/// Kernels that landmarks are used with: each of them passes over all rows at every step. A candidate of more, whose single
/// columns were worth it, does better on some of the rows.
const MOST_KERNELS: usize = 20;

/// Whether there are landmarks for a candidate: not with class weights, which they do not know.
pub(super) fn are_for(auto: &Auto, candidate: &Candidate) -> bool {
    candidate.kernels.len() <= MOST_KERNELS && auto.class_weights == ClassWeights::None
}

/// How many landmarks there are. Numbers have twice as many: they have to be met, while classes are told apart by a
/// boundary.
pub(super) fn n_landmarks(auto: &Auto, task: &Task<'_>) -> usize {
    let n = match auto.effort {
        Effort::Quick => 250,
        Effort::Normal => 500,
        Effort::Thorough => 1000,
    };
    if let Target::Numbers(_) = task.target { 2 * n } else { n }
}

/// The rows trained on: all, or as many as memory has room for. Of n rows and m landmarks `mklr` holds 3 n m + 3 m^2
/// numbers, 8 for each row, kernel and function, and 8 for each landmark, kernel and thread.
pub(super) fn rows(auto: &Auto, candidate: &Candidate, task: &Task<'_>) -> Result<Vec<usize>> {
    let (m, n_kernels) = (n_landmarks(auto, task) as u64, candidate.kernels.len() as u64);
    let of_a_row = 3 * m + 8 * n_kernels * task.n_outputs() as u64;
    let fixed = 3 * m * m + 8 * m * n_kernels * task.pool.n_threads() as u64;
    let most = (task.stack()?.room() / 8).saturating_sub(fixed) / of_a_row;
    Ok(sample(task.labels, usize::try_from(most).unwrap_or(usize::MAX).max(1)))
}

impl OnLandmarks<'_> {
    /// Uniform weights stay so; those of other rules are learned anew, on all rows.
    fn mklr(&self, task: &Task<'_>) -> Mklr {
        let weights = if self.candidate.rule == Rule::Average { Weighting::Uniform } else { Weighting::Learned };
        let landmarks = n_landmarks(self.auto, task);
        Mklr { lambda: self.lambda, weights, landmarks, ..Mklr::default() }
    }

    /// The penalty, given the c of the candidate. For classes it is that of c: `c sum loss + |f|^2 / 2` has the optimum of
    /// `sum loss + lambda |f|^2` with `lambda = 1 / (2 c)`. Numbers and times have no c: theirs is the value of `lambda=auto` with
    /// the lowest loss on the inner folds on which candidates are compared. It is a ratio of variances, the same for any
    /// number of rows.
    pub(super) fn lambda(
        candidate: &Candidate,
        c: f64,
        auto: &Auto,
        task: &Task<'_>,
        control: &Control,
    ) -> Result<f64> {
        if *task.target == Target::Classes {
            return Ok(0.5 / c);
        }
        let method = |&lambda: &f64| Params::new(Box::new(OnLandmarks { candidate, lambda, auto }.mklr(task)));
        let settings = LAMBDAS.iter().map(method).collect::<Result<Vec<Params>>>()?;
        let mut kernels = candidate.kernels.clone();
        kernels.sort_unstable();
        let part = Part::new(task, &Part::rows(auto, task), &kernels)?;
        let part = part.task(task);
        let folds = inner::folds(&part, Deal::Choose)?;
        let held_out = HeldOut { want: Want::Scores, task: &part, folds: &folds, control };
        let found = held_out.all(&settings, &mut Silent)?;
        let losses: Vec<f64> = found.iter().map(|predicted| loss_of(predicted, &part, &folds)).collect();
        // Of equals the first, which is the smoothest.
        let best = (0..losses.len()).rev().min_by(|&a, &b| losses[a].total_cmp(&losses[b])).unwrap_or(0);
        Ok(LAMBDAS[best])
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
        self.with_part(task, |part, _| <Fit as State<Mklr>>::init(&self.mklr(task), part))
    }

    pub(super) fn step(&self, fit: &mut Fit, task: &Task<'_>, control: &Control) -> Result<Progress> {
        self.with_part(task, |part, _| <Fit as State<Mklr>>::step(fit, &self.mklr(task), part, control))
    }

    pub(super) fn check(&self, fit: &Fit, task: &Task<'_>) -> Result<()> {
        self.with_part(task, |part, _| <Fit as State<Mklr>>::check(fit, &self.mklr(task), part))
    }

    pub(super) fn finish(&self, fit: Fit, task: &Task<'_>) -> Result<LandmarkModel> {
        let n_kernels = task.stack()?.n_kernels();
        self.with_part(task, |part, rows| {
            let model = <Fit as State<Mklr>>::finish(fit, &self.mklr(task), part)?;
            LandmarkModel::new(model, self.kernels(), rows, n_kernels)
        })
    }
}

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
