//! A trained model: labels, scores and probabilities for rows.

use std::path::Path;

use super::header::Header;
use super::input::ModelInput;
use super::kept::{Kept, Learned};
use super::kernels::ModelKernels;
use super::training::Training;
use crate::data::Samples;
use crate::draws::{Draws, DrawsFormat};
use crate::error::{Error, Remedy, Result, message};
use crate::file::{self, Record};
use crate::linalg::Matrix;
use crate::plan::views::presence;
use crate::pool::Pool;
use crate::run::{Input, Predict, Rows, first_largest};
use crate::stack::{Points, Stack, StackOptions, Storage};

/// A trained model: predicts classes, saves and loads. For everything else see [`Model::numbers`] and [`Model::times`] (other targets),
/// [`Model::kernels`] (which matter), [`Model::input`] (what rows it accepts), [`Model::training`] (how it was trained)
/// and [`Model::clustering`].
///
/// ```
/// use multikernel::{Model, Plan, data::bundled};
/// let data = bundled("sonar")?;
/// let model = Plan::new("average")?.train(&data)?;
/// let path = std::env::temp_dir().join(format!("sonar-{}.multikernel", std::process::id()));
/// model.save(&path)?;
/// assert_eq!(Model::load(&path)?.predict(&data.samples)?, model.predict(&data.samples)?);
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), multikernel::Error>(())
/// ```
pub struct Model {
    pub(in crate::plan) header: Header,
    pub(in crate::plan) kept: Kept,
    pub(in crate::plan) learned: Learned,
    pub(in crate::plan) predictor: Box<dyn Predict>,
    /// The predictor's fields, as they go into a file.
    pub(in crate::plan) record: Record,
}

/// A model's predictions for rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The class of each row, as an index into [`Model::classes`].
    pub labels: Vec<usize>,
    /// n_samples x n_classes; larger is more likely, the first largest is the label.
    pub scores: Matrix,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model").field("header", &self.header).finish_non_exhaustive()
    }
}

/// Bytes of kernel values, or of dense rows, held at a time during prediction.
const BATCH_BYTES: usize = 64 << 20;
/// The same with a device, whose calls have to be long, and the most rows.
const BATCH_THERE: (usize, usize) = (512 << 20, 1 << 16);

impl Model {
    /// Class names; predictions are indices into them.
    pub fn classes(&self) -> &[String] {
        &self.header.classes
    }

    /// The kernels: weights, shares, names.
    pub fn kernels(&self) -> ModelKernels<'_> {
        ModelKernels {
            header: &self.header,
            kept: &self.kept,
            learned: &self.learned,
            explain: self.predictor.as_ref(),
        }
    }

    /// The rows it accepts: columns, views, scaling.
    pub fn input(&self) -> ModelInput<'_> {
        ModelInput { header: &self.header, kept: &self.kept }
    }

    /// How it was trained: method, parameters, data, warnings.
    pub fn training(&self) -> Training<'_> {
        let (header, learned) = (&self.header, &self.learned);
        Training { header, learned, kernels: self.kernels(), explain: self.predictor.as_ref() }
    }

    /// Whether [`Model::probabilities`] is available.
    pub fn has_probabilities(&self) -> bool {
        self.learned.calibration.is_some() || self.predictor.probabilistic().is_some()
    }

    /// Labels and scores of rows, with the machine's threads. Columns are matched by name, in any order; rows without
    /// names of their own ([`Samples::unnamed`]) by position. Cost per row: one kernel value per kept training row and
    /// kernel of nonzero weight.
    pub fn predict(&self, samples: &Samples) -> Result<Prediction> {
        self.predict_in(samples, &Pool::shared()?)
    }

    /// [`Model::predict`] with given threads.
    pub fn predict_in(&self, samples: &Samples, pool: &Pool) -> Result<Prediction> {
        self.predict_until(samples, pool, &|| false)
    }

    /// [`Model::predict_in`], polling `stop` between batches of rows: [`Error::Stopped`] once it returns true.
    pub(crate) fn predict_until(&self, samples: &Samples, pool: &Pool, stop: &dyn Fn() -> bool) -> Result<Prediction> {
        if self.learned.units.is_some() || self.predictor.survival().is_some() {
            let found =
                "the model predicts numbers or times, not classes; ask for them (`Model::numbers`, `Model::times`)";
            return Err(Error::input(found));
        }
        let scores = self.scores_until(samples, pool, stop)?;
        Ok(Prediction { labels: scores.rows().map(first_largest).collect(), scores })
    }

    /// The scores of rows, all of them numbers.
    pub(super) fn scores_until(&self, samples: &Samples, pool: &Pool, stop: &dyn Fn() -> bool) -> Result<Matrix> {
        let scores = self.batches(samples, pool, stop, |input| self.predictor.scores(input, pool))?;
        if let Some(row) = scores.rows().position(|row| row.iter().any(|score| score.is_nan())) {
            return Err(Error::input(format!(
                "row {}: its values are so far from the training rows that a kernel overflows; correct the row, or train \
                 without `raw`",
                row + 1
            )));
        }
        Ok(scores)
    }

    /// Class probabilities of rows (n_samples x n_classes), the largest of which is the predicted class; an error for
    /// models that have none ([`Plan::proba`](crate::Plan::proba) requests them). Columns are matched as by
    /// [`Model::predict`].
    ///
    /// ```
    /// use multikernel::{Plan, data::bundled};
    /// let data = bundled("sonar")?;
    /// let model = Plan::new("average")?.proba(true).train(&data)?;
    /// let probabilities = model.probabilities(&data.samples)?;
    /// assert!((probabilities.row(0).iter().sum::<f64>() - 1.0).abs() < 1e-12);
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn probabilities(&self, samples: &Samples) -> Result<Matrix> {
        self.probabilities_in(samples, &Pool::shared()?)
    }

    /// [`Model::probabilities`] with given threads.
    pub fn probabilities_in(&self, samples: &Samples, pool: &Pool) -> Result<Matrix> {
        self.probabilities_until(samples, pool, &|| false)
    }

    /// [`Model::probabilities_in`], polling `stop` between batches of rows: [`Error::Stopped`] once it returns true.
    pub(crate) fn probabilities_until(
        &self,
        samples: &Samples,
        pool: &Pool,
        stop: &dyn Fn() -> bool,
    ) -> Result<Matrix> {
        if let Some(calibration) = &self.learned.calibration {
            let labels = self.predict_until(samples, pool, stop)?.labels;
            let margins = self.batches(samples, pool, stop, |input| self.predictor.margins(input, pool))?;
            return calibration.apply(&margins, &labels);
        }
        let Some(model) = self.predictor.probabilistic() else {
            let found = format!("this model of the method {} gives scores but no probabilities", self.header.method);
            let help = message!["; train it with ", Remedy::Probabilities, ", or use ", Remedy::Scores];
            return Err(Error::input(message![found, help]));
        };
        self.batches(samples, pool, stop, |input| model.probabilities(input, pool))
    }

    /// A number for each row and class that is larger where the class is more likely, and smooth, which scores need not
    /// be ([`Predict::margins`]).
    pub(crate) fn margins(&self, samples: &Samples, pool: &Pool) -> Result<Matrix> {
        self.batches(samples, pool, &|| false, |input| self.predictor.margins(input, pool))
    }

    /// The draws, with the names of kernels and classes, for methods that sample.
    pub fn draws(&self) -> Option<Draws> {
        let mut draws = self.predictor.draws()?;
        for variable in draws.variables_mut() {
            match variable.dimension.as_deref() {
                Some("kernel") => variable.coordinates = self.kernels().names(),
                // A method knows its classes only by number.
                Some("class") => variable.coordinates.iter_mut().for_each(|class| {
                    let known = class.parse().ok().and_then(|number: usize| self.classes().get(number));
                    *class = known.cloned().unwrap_or_default();
                }),
                _ => {}
            }
        }
        Some(draws)
    }

    /// Writes the draws to a file, as CSV or, in builds with the feature `arrow`, as Arrow, by its ending (`.csv`,
    /// `.arrow`): one row per draw ([`Draws::encode`]). An error for models of methods that do not sample.
    pub fn save_draws(&self, path: &Path) -> Result<()> {
        let format = DrawsFormat::of(path)?;
        let draws = self.draws().ok_or_else(|| {
            let method = &self.header.method;
            Error::input(format!("the model has no draws: {method} keeps none; train with bm3kl, which does"))
        })?;
        let about = [
            ("method", self.header.method.clone()),
            ("seed", self.header.seed.to_string()),
            ("dataset", self.header.dataset.clone()),
            ("fingerprint", self.header.fingerprint.clone()),
        ];
        file::write_atomic(path, &draws.encode(format, &about)?)
    }

    /// Applies `f` to the rows, a batch at a time.
    fn batches(
        &self,
        samples: &Samples,
        pool: &Pool,
        stop: &dyn Fn() -> bool,
        f: impl Fn(Input<'_>) -> Result<Matrix>,
    ) -> Result<Matrix> {
        let mut data = vec![];
        let n = self.each_batch(samples, pool, stop, |input| {
            data.extend_from_slice(f(input)?.data());
            Ok(())
        })?;
        let n_outputs = match &self.learned.units {
            Some(units) => units.names.len(),
            None if self.predictor.survival().is_some() => 1,
            None => self.header.classes.len(),
        };
        Matrix::from_vec(n, n_outputs, data)
    }

    /// Runs `f` on the rows a batch at a time, and returns the number of rows. Rows are independent, so the batch size
    /// affects only memory. `stop` is polled before each batch.
    pub(super) fn each_batch(
        &self,
        samples: &Samples,
        pool: &Pool,
        stop: &dyn Fn() -> bool,
        mut f: impl FnMut(Input<'_>) -> Result<()>,
    ) -> Result<usize> {
        let points = self.points(samples)?;
        let n = points.n_points();
        let per_row = 8 * self.kept.points.n_points().max(points.features().n_cols()).max(1);
        let (bytes, most) = if pool.device().is_some() { BATCH_THERE } else { (BATCH_BYTES, 4096) };
        let size = (bytes / per_row).clamp(1, most);
        for start in (0..n).step_by(size) {
            if stop() {
                return Err(Error::Stopped(format!("stopped after {start} of {n} rows were predicted")));
            }
            let batch = points.select(&(start..(start + size).min(n)).collect::<Vec<_>>());
            if self.header.bank.is_some() {
                f(Input::Stack(&self.stack(batch, pool)?))?;
            } else {
                f(Input::Rows(&Rows::new(batch.features(), None)))?;
            }
        }
        Ok(n)
    }

    /// New rows in the form the kernels need.
    pub(super) fn points(&self, samples: &Samples) -> Result<Points> {
        let (kept, header) = (&self.kept, &self.header);
        let ordered = self.input().ordered(samples)?;
        let points = Points::from(&kept.preprocessor.apply_samples(&ordered)?).with_units(kept.preprocessor.units())?;
        if header.bank.is_none() {
            return Ok(points);
        }
        let points = points.with_grams(samples.grams(), samples.rows_of_grams())?;
        // Views are those of training: new rows have the same columns.
        let raw = Samples::new(ordered.features().clone(), header.features.clone());
        let presence = match raw {
            Ok(raw) if !header.views.is_empty() => presence(&raw.with_views(header.views.clone())?, kept.missing)?,
            _ => None,
        };
        match presence {
            Some(presence) => points.with_presence(&presence, kept.preprocessor.views(), &header.kernels),
            None => Ok(points),
        }
    }

    fn stack(&self, rows: Points, pool: &Pool) -> Result<Stack> {
        let (kept, n) = (&self.kept, rows.n_points());
        let building =
            StackOptions { precision: self.header.precision, storage: Storage::Tiled, ..StackOptions::new(pool) };
        let stack = Stack::cross(rows, &kept.points, &kept.kernels, &kept.centring, &building)?;
        if kept.columns.iter().copied().eq(0..kept.points.n_points()) {
            return Ok(stack);
        }
        stack.between(&(0..n).collect::<Vec<_>>(), &kept.columns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::bundled;
    use crate::plan::Plan;
    use crate::run::Explain;
    use std::collections::HashSet;
    use std::sync::{Arc, Mutex};
    use std::thread::ThreadId;

    /// Records the threads it ran on.
    struct Spy(Arc<Mutex<HashSet<ThreadId>>>);

    impl Predict for Spy {
        fn scores(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
            pool.map(16, |_| {
                // Long enough for every thread to get a turn.
                std::thread::sleep(std::time::Duration::from_micros(200));
                self.0.lock().unwrap().insert(std::thread::current().id());
            });
            Ok(Matrix::zeros(input.n_samples(), 2))
        }
    }

    impl Explain for Spy {}

    #[test]
    fn predictions_without_a_pool_start_no_threads_of_their_own() {
        let data = bundled("sonar").unwrap();
        let mut model = Plan::new("majority").unwrap().train(&data).unwrap();
        let seen = Arc::new(Mutex::new(HashSet::new()));
        model.predictor = Box::new(Spy(seen.clone()));
        for _ in 0..20 {
            model.predict(&data.samples).unwrap();
        }
        // A new pool for each call would have added its threads each time: ids are never reused.
        assert!(seen.lock().unwrap().len() <= Pool::shared().unwrap().n_threads());
    }
}
