//! The predictions of a model of times to an event.

use super::predict::Model;
use crate::data::Samples;
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::run::Survival;
use crate::simd::exp;

/// The predictions of a [`Model`] of times to an event, from [`Model::times`].
///
/// ```
/// use multikernel::{Matrix, Plan, data::{Dataset, Samples, Times}};
/// let x = Matrix::from_fn(80, 1, |i, _| (i % 8) as f64);
/// // Rows with a large x have their event early.
/// let time = (0..80).map(|i| 20.0 - 2.0 * (i % 8) as f64 + (i % 5) as f64).collect();
/// let data = Dataset::of_times("study", Samples::unnamed(x)?, Times::new(time, vec![true; 80])?)?;
/// let model = Plan::new("average")?.train(&data)?;
/// let times = model.times().expect("times were trained on");
/// let risks = times.risks(&data.samples)?;
/// assert!(risks[7] > risks[0]);
/// let survival = times.survival(&data.samples, &[5.0, 15.0])?;
/// assert!(survival.get(0, 1) > survival.get(7, 1) && survival.get(0, 0) >= survival.get(0, 1));
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct ModelTimes<'a> {
    model: &'a Model,
    survival: &'a dyn Survival,
}

impl Model {
    /// The model as one of times to an event; `None` if it predicts something else.
    pub fn times(&self) -> Option<ModelTimes<'_>> {
        Some(ModelTimes { model: self, survival: self.predictor.survival()? })
    }
}

impl<'a> ModelTimes<'a> {
    /// The log risk of each row, with the machine's threads: larger is earlier. Columns are matched as by
    /// [`Model::predict`].
    pub fn risks(self, samples: &Samples) -> Result<Vec<f64>> {
        self.risks_in(samples, &Pool::shared()?)
    }

    /// [`ModelTimes::risks`] with given threads.
    pub fn risks_in(self, samples: &Samples, pool: &Pool) -> Result<Vec<f64>> {
        self.risks_until(samples, pool, &|| false)
    }

    /// [`ModelTimes::risks_in`], polling `stop` between batches of rows.
    pub(crate) fn risks_until(self, samples: &Samples, pool: &Pool, stop: &dyn Fn() -> bool) -> Result<Vec<f64>> {
        self.model.scores_until(samples, pool, stop).map(Matrix::into_data)
    }

    /// The probability of each row (rows) to be without the event after each time (columns).
    pub fn survival(self, samples: &Samples, times: &[f64]) -> Result<Matrix> {
        self.survival_in(samples, times, &Pool::shared()?)
    }

    /// [`ModelTimes::survival`] with given threads.
    pub fn survival_in(self, samples: &Samples, times: &[f64], pool: &Pool) -> Result<Matrix> {
        self.survival_of(&self.risks_in(samples, pool)?, times)
    }

    /// The same from log risks.
    pub(crate) fn survival_of(self, risks: &[f64], times: &[f64]) -> Result<Matrix> {
        if let Some(time) = times.iter().find(|time| !(time.is_finite() && **time >= 0.0)) {
            return Err(Error::param("times", format!("must be finite and not negative, got {time}")));
        }
        let hazards: Vec<f64> = times.iter().map(|&time| self.hazard(time)).collect();
        Ok(Matrix::from_fn(risks.len(), times.len(), |i, t| exp(-hazards[t] * exp(risks[i]))))
    }

    /// The times of events in the training rows, ascending, and the baseline hazard cumulated up to each.
    pub fn baseline(self) -> (&'a [f64], &'a [f64]) {
        self.survival.baseline()
    }

    /// The cumulated baseline hazard at a time.
    fn hazard(self, time: f64) -> f64 {
        let (times, hazard) = self.baseline();
        let n = times.partition_point(|&event| event <= time);
        if n == 0 { 0.0 } else { hazard[n - 1] }
    }
}
