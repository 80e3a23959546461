//! The predictions of a model of numbers.

use super::predict::Model;
use crate::data::{Samples, Standard};
use crate::dist::normal_quantile;
use crate::error::{Error, Result};
use crate::file::{Codec, Record};
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::run::Regressor;

/// The numbers a model predicts: their names, and their mean and standard deviation in the training rows.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::plan) struct Units {
    pub(in crate::plan) names: Vec<String>,
    pub(in crate::plan) standard: Standard,
}

impl Units {
    /// Whether there is one finite mean and one finite, positive deviation for each name.
    pub(super) fn check(&self) -> Result<()> {
        let (mean, scale) = (&self.standard.mean, &self.standard.scale);
        let fits = !self.names.is_empty()
            && [mean.len(), scale.len()] == [self.names.len(); 2]
            && mean.iter().all(|mean| mean.is_finite())
            && scale.iter().all(|scale| scale.is_finite() && *scale > 0.0);
        if fits { Ok(()) } else { Err(Error::input("the units of its numbers do not fit together")) }
    }
}

impl Codec for Units {
    fn encode(&self) -> Record {
        let mut record = Record::default();
        record.put("names", &self.names);
        record.put("mean", &self.standard.mean);
        record.put("scale", &self.standard.scale);
        record
    }

    fn decode(record: &Record) -> Result<Self> {
        let standard = Standard { mean: record.take("mean")?, scale: record.take("scale")? };
        Ok(Units { names: record.take("names")?, standard })
    }
}

/// The predictions of a [`Model`] of numbers, from [`Model::numbers`].
///
/// ```
/// use multikernel::{Matrix, Plan, data::{Dataset, Numbers, Samples}};
/// let x = Matrix::from_fn(40, 1, |i, _| i as f64 / 8.0);
/// let y = x.data().iter().enumerate().map(|(i, x)| 100.0 + 10.0 * x + (i % 3) as f64).collect();
/// let data = Dataset::of_numbers("line", Samples::unnamed(x)?, Numbers::one("y", y)?)?;
/// let model = Plan::new("average")?.train(&data)?;
/// let numbers = model.numbers().expect("numbers were trained on");
/// let found = numbers.intervals(&data.samples, 0.9)?;
/// let inside = (0..40).filter(|&i| (found[0].get(i, 0)..=found[1].get(i, 0)).contains(&data.target.numbers().unwrap().values().get(i, 0)));
/// assert!(inside.count() >= 34);
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct ModelNumbers<'a> {
    model: &'a Model,
    units: &'a Units,
    regressor: &'a dyn Regressor,
}

impl Model {
    /// The model as one of numbers; `None` if it predicts classes.
    pub fn numbers(&self) -> Option<ModelNumbers<'_>> {
        let regressor = self.predictor.regressor()?;
        Some(ModelNumbers { model: self, units: self.learned.units.as_ref()?, regressor })
    }
}

impl<'a> ModelNumbers<'a> {
    /// The names of the numbers.
    pub fn names(self) -> &'a [String] {
        &self.units.names
    }

    /// Whether the numbers are exponentials of sums over kernels, as predicted counts are: [`Model::parts`] are then
    /// those of their logarithms.
    pub fn are_exponentials(self) -> bool {
        self.regressor.predicts_logarithms()
    }

    /// The predicted numbers (n_samples x n_targets), with the machine's threads. Columns are matched as by
    /// [`Model::predict`].
    pub fn predict(self, samples: &Samples) -> Result<Matrix> {
        self.predict_in(samples, &Pool::shared()?)
    }

    /// [`ModelNumbers::predict`] with given threads.
    pub fn predict_in(self, samples: &Samples, pool: &Pool) -> Result<Matrix> {
        self.predict_until(samples, pool, &|| false)
    }

    /// [`ModelNumbers::predict_in`], polling `stop` between batches of rows.
    pub(crate) fn predict_until(self, samples: &Samples, pool: &Pool, stop: &dyn Fn() -> bool) -> Result<Matrix> {
        let scores = self.model.scores_until(samples, pool, stop)?;
        Ok(self.units.standard.undo(scores))
    }

    /// The standard deviation of each predicted number (n_samples x n_targets), noise included: predictions are normal
    /// distributions. `None` for models that have no distribution. Cost per row: N^2 / 2 products more than the
    /// prediction.
    pub fn deviations(self, samples: &Samples) -> Result<Option<Matrix>> {
        self.deviations_in(samples, &Pool::shared()?)
    }

    /// [`ModelNumbers::deviations`] with given threads.
    pub fn deviations_in(self, samples: &Samples, pool: &Pool) -> Result<Option<Matrix>> {
        self.deviations_until(samples, pool, &|| false)
    }

    /// [`ModelNumbers::deviations_in`], polling `stop` between batches of rows.
    pub(crate) fn deviations_until(
        self,
        samples: &Samples,
        pool: &Pool,
        stop: &dyn Fn() -> bool,
    ) -> Result<Option<Matrix>> {
        let (mut data, mut is_known) = (vec![], true);
        let n = self.model.each_batch(samples, pool, stop, |input| {
            match self.regressor.variances(input, pool)? {
                Some(variances) => data.extend_from_slice(variances.data()),
                None => is_known = false,
            }
            Ok(())
        })?;
        if !is_known {
            return Ok(None);
        }
        let scale = &self.units.standard.scale;
        let deviations = data.iter().enumerate().map(|(k, variance)| scale[k % scale.len()] * variance.sqrt());
        Matrix::from_vec(n, scale.len(), deviations.collect()).map(Some)
    }

    /// The lower and the upper bounds (n_samples x n_targets each) of intervals that hold a new row's number with this
    /// probability, which must lie between 0 and 1; an error for models that have no distribution.
    pub fn intervals(self, samples: &Samples, level: f64) -> Result<[Matrix; 2]> {
        self.intervals_in(samples, level, &Pool::shared()?)
    }

    /// [`ModelNumbers::intervals`] with given threads.
    pub fn intervals_in(self, samples: &Samples, level: f64, pool: &Pool) -> Result<[Matrix; 2]> {
        if !(level > 0.0 && level < 1.0) {
            return Err(Error::param("level", format!("must lie between 0 and 1, got {level}; 0.9 is usual")));
        }
        let mean = self.predict_in(samples, pool)?;
        let Some(deviation) = self.deviations_in(samples, pool)? else {
            let method = self.model.training().method();
            return Err(Error::input(format!(
                "this model of the method {method} has no intervals; evidence and average have"
            )));
        };
        let wide = normal_quantile(0.5 + level / 2.0);
        let bound = |sign: f64| {
            Matrix::from_fn(mean.n_rows(), mean.n_cols(), |i, t| mean.get(i, t) + sign * wide * deviation.get(i, t))
        };
        Ok([bound(-1.0), bound(1.0)])
    }
}
