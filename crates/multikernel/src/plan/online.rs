//! Learning from a stream: each row is predicted, then learned, without end.

use std::collections::BTreeMap;
use std::path::Path;

use super::errors::StreamErrors;
use super::model::{Header, Kept, Learned, Model, Units, kernel_name, ordered};
use super::plan::{Plan, as_given};
use super::prepare::layout;

use super::registry::STREAMING_METHODS;
use crate::data::{Dataset, Expect, Numbers, Preprocessor, Samples, TargetKind};
use crate::error::{Error, Place, Remedy, Result, message};
use crate::file::Record;
use crate::kernel::{Columns, Kernel};
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::run::{Begin, Learner, Stop};
use crate::stack::{Points, Stack, StackOptions, Storage};

/// So many labels among the first rows, most of them of a single row, are no classes: each new one costs time that grows
/// with their number.
const MANY_CLASSES: usize = 100;

/// With more classes than this, the label is a number or an id.
const MAX_CLASSES: usize = 1000;

/// How a stream is learned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnlineOptions {
    /// Maximum number of points kept; `None` for no limit, in which case memory and the time per row grow with the
    /// number of rows learned. Beyond the budget the oldest points are forgotten: that costs accuracy on stationary
    /// streams, more so with smaller budgets, and helps on drifting ones.
    pub budget: Option<usize>,
    /// Number of rows between updates of the kernel weights; at the start also after 1, 2, 4, 8, 16 and 32.
    pub update_every: usize,
}

impl Default for OnlineOptions {
    fn default() -> Self {
        OnlineOptions { budget: None, update_every: 100 }
    }
}

/// Learns from rows one at a time: each is predicted, then learned.
///
/// Preprocessing, kernel widths and the order of features are frozen from the first rows ([`Online::begin`]) or taken
/// from a model ([`Online::from_model`]); new classes may appear at any time. [`Online::model`] is a model like any
/// other, and a stream can resume from it: one stream learned in one go, or in two halves with save and load between,
/// gives the same result bit for bit. Numbers are learned by [`Online::learn_numbers`]. Cost per row: one kernel value per point kept, whatever the number of Gaussians
/// on the same columns (from 32 on).
///
/// ```
/// use multikernel::{Online, OnlineOptions, Plan, Pool, data::bundled};
/// let (data, pool) = (bundled("wdbc")?, Pool::new(1)?);
/// let labels: Vec<String> = data.labels.codes().iter().map(|&code| data.labels.classes()[code].clone()).collect();
/// let first = data.select(&(0..100).collect::<Vec<_>>());
/// let mut online = Online::begin(&Plan::new("mklda")?, &first, &OnlineOptions::default(), &pool)?;
/// let predicted = online.learn(&data.samples, &labels, &pool)?;
/// assert_eq!(predicted[0], None);
/// assert!(online.n_correct() > 520);
/// let model = online.model()?;
/// assert_eq!(model.classes(), ["M", "B"]);
/// # Ok::<(), multikernel::Error>(())
/// ```
pub struct Online {
    header: Header,
    preprocessor: Preprocessor,
    sets: Vec<(String, Columns)>,
    learner: Box<dyn Learner>,
    n_rows: u64,
    n_correct: u64,
    /// The units of the numbers to predict, and their errors so far; none of classes.
    units: Option<Units>,
    errors: Vec<StreamErrors>,
    memo: BTreeMap<String, u64>,
    continued: bool,
    stop: Stop,
}

impl std::fmt::Debug for Online {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Online").field("header", &self.header).field("n_rows", &self.n_rows).finish_non_exhaustive()
    }
}

/// A stream has no inner folds to choose parameters on.
fn check_autos(plan: &Plan) -> Result<()> {
    match plan.params().autos().first() {
        Some(auto) => Err(Error::param(*auto, "auto needs inner folds, which a stream has not; set a number")),
        None => Ok(()),
    }
}

/// A stack of the kernels without points.
fn kernels_alone(plan: &Plan, kernels: &[Kernel], n_columns: usize, pool: &Pool) -> Result<Stack> {
    let building = StackOptions {
        precision: plan.stack_precision(),
        storage: Storage::Tiled,
        sparse: false,
        ..StackOptions::new(pool)
    };
    let is_more = |kernel: &&Kernel| kernel.is_centred() || kernel.is_unscaled() || kernel.gram().is_some();
    if let Some(kernel) = kernels.iter().find(is_more) {
        return Err(Error::param(
            "kernels",
            format!(
                "{kernel} depends on all training rows, which a stream has not; leave out `centred`, `unscaled`, `precomputed` and \
                 `distance`"
            ),
        ));
    }
    Stack::train(&Matrix::zeros(0, n_columns), kernels, &building)
}

/// The learner of a plan's method, if it has one.
fn learner(plan: &Plan, begin: &Begin<'_>) -> Result<Box<dyn Learner>> {
    plan.method().learner(begin)?.ok_or_else(|| {
        let name = plan.name();
        Error::param("method", format!("{name} needs all rows at once; {STREAMING_METHODS} learn from a stream"))
    })
}

impl Online {
    /// Freezes preprocessing, kernels and the order of features from the warm-up rows; if these have numbers to
    /// predict, also the mean and the standard deviation of these. Nothing else is learned from what is to be
    /// predicted: pass the rows to [`Online::learn`] or [`Online::learn_numbers`] next.
    pub fn begin(plan: &Plan, warmup: &Dataset, options: &OnlineOptions, pool: &Pool) -> Result<Online> {
        check_autos(plan)?;
        let samples = &warmup.samples;
        if !samples.views().is_empty() || !samples.grams().is_empty() {
            return Err(Error::input("a stream is one table: views and Gram matrices cannot be learned online"));
        }
        plan.check_target(warmup)?;
        let (n_classes, n_rows) = (warmup.labels.n_classes(), samples.n_samples());
        let is_classes = warmup.target.kind() == TargetKind::Classes;
        if is_classes && n_classes > MANY_CLASSES && 2 * n_classes > n_rows {
            return Err(Error::input(message![
                format!("the first {n_rows} rows have {n_classes} labels: a number or an id is no class; "),
                "choose the class column with ",
                Remedy::Label(None)
            ]));
        }
        let preparation = plan.preparation(samples)?;
        let preprocessor = preparation.preprocessor(samples)?;
        let scaled = preprocessor.apply_samples(samples)?;
        let layout = layout(&preprocessor, &[]);
        let resolved = preparation.bank.as_ref().map(|bank| bank.resolve_named(&layout, &scaled)).transpose()?;
        let (kernels, sets) = resolved.map_or_else(Default::default, |resolved| (resolved.kernels, resolved.sets));
        let mut header = plan.header(warmup, preparation.bank.as_ref(), &kernels, plan.params(), warmup.fingerprint());
        header.classes = vec![];
        let alone = kernels_alone(plan, &kernels, preprocessor.names().len(), pool)?;
        let (_, units) = as_given(&warmup.target, false);
        let begin = Begin {
            kernels: &alone,
            budget: options.budget,
            update_every: options.update_every,
            n_classes: 0,
            n_numbers: units.as_ref().map_or(0, |units| units.names.len()),
            seed: header.seed,
            stored: None,
        };
        let learner = learner(plan, &begin)?;
        let (memo, continued) = (BTreeMap::new(), false);
        let errors = units.as_ref().map_or_else(Vec::new, |units| StreamErrors::of(&units.standard));
        let (n_rows, n_correct, stop) = (0, 0, Stop::Finished);
        Ok(Online { header, preprocessor, sets, learner, n_rows, n_correct, units, errors, memo, continued, stop })
    }

    /// Continues from a model. If the model was learned online, resumes its state, with the options it was started
    /// with; the plan's method and parameters must then be the model's. Otherwise only its preprocessing, kernels and
    /// classes are taken, and [`Online::is_continued`] is false.
    pub fn from_model(model: Model, plan: &Plan, options: &OnlineOptions, pool: &Pool) -> Result<Online> {
        check_autos(plan)?;
        let (mut header, stream, points) =
            (model.header.clone(), model.learned.stream.clone(), model.kept.points.features().clone());
        if !header.views.is_empty() || !model.kept.diagonals.is_empty() {
            return Err(Error::input(
                "a stream is one table: a model of views or Gram matrices cannot be gone on from",
            ));
        }
        if model.times().is_some() {
            return Err(Error::input("a model of times cannot be gone on from: no method learns them from a stream"));
        }
        let units = model.learned.units.clone();
        plan.check_kind(if units.is_some() { TargetKind::Numbers } else { TargetKind::Classes })?;
        let (found, wanted) = (plan.params().to_texts(), &header.params);
        // Parameters that are newer than the model were at their defaults.
        let param = |name: &str| plan.method().param_list().iter().find(|param| param.name == name).cloned();
        let same = |(name, value): (&String, &String)| match wanted.get(name) {
            Some(text) => text == value,
            None => param(name).is_some_and(|param| param.default == *value),
        };
        if stream.is_some() && (plan.name() != header.method || !found.iter().all(same)) {
            let settings: Vec<String> = wanted.iter().map(|(name, value)| format!("{name}={value}")).collect();
            return Err(Error::param(
                "method",
                format!(
                    "the model was learned online by {} with {}; go on with the same",
                    header.method,
                    settings.join(" ")
                ),
            ));
        }
        let kept = model.kept;
        let alone = kernels_alone(plan, &header.kernels, kept.preprocessor.names().len(), pool)?;
        let stored = points.to_dense()?;
        let begin = Begin {
            kernels: &alone,
            budget: options.budget,
            update_every: options.update_every,
            n_classes: header.classes.len(),
            n_numbers: units.as_ref().map_or(0, |units| units.names.len()),
            seed: header.seed,
            stored: stream.as_ref().map(|stream| (stream, &*stored)),
        };
        let learner = learner(plan, &begin)?;
        let continued = stream.is_some();
        let counters = stream.map(|stream| Counters::take(&stream)).transpose()?.unwrap_or_default();
        let begun = || units.as_ref().map_or_else(Vec::new, |units| StreamErrors::of(&units.standard));
        let errors = if continued { counters.errors } else { begun() };
        if errors.len() != begun().len() {
            return Err(Error::input(
                "the stream's errors are not those of its numbers; the file was not written by this method",
            ));
        }
        if !continued {
            (header.method, header.params) = (plan.name().into(), found);
        }
        Ok(Online {
            header,
            preprocessor: kept.preprocessor,
            sets: kept.sets,
            learner,
            n_rows: counters.n_rows,
            n_correct: counters.n_correct,
            units,
            errors,
            memo: counters.memo,
            continued,
            stop: Stop::Finished,
        })
    }

    /// Whether it resumed a model that was learned online.
    pub fn is_continued(&self) -> bool {
        self.continued
    }

    /// Predicts each row, then learns from it, row by row; how rows are split into calls changes nothing. Returns the
    /// predicted class of each row, as an index into [`Online::classes`]; `None` while no class is known. Unknown
    /// labels become new classes. After an error, some of the rows may have been learned.
    pub fn learn(&mut self, samples: &Samples, labels: &[String], pool: &Pool) -> Result<Vec<Option<usize>>> {
        if labels.len() != samples.n_samples() {
            let n = samples.n_samples();
            return Err(Error::input(format!("{n} rows but {} labels; give one each", labels.len())));
        }
        if let Some(units) = &self.units {
            let name = &units.names[0];
            return Err(Error::input(format!("the stream predicts numbers ({name}); learn them with `learn_numbers`")));
        }
        let rows = self.prepared(samples)?;
        let mut predicted = vec![];
        while predicted.len() < labels.len() {
            let first = predicted.len();
            let class = |label: &String| self.header.classes.iter().position(|known| known == label);
            let known: Vec<usize> = labels[first..].iter().map_while(class).collect();
            if known.is_empty() {
                predicted.push(self.learn_new_class(&rows.select_rows(&[first]), &labels[first], pool)?);
                continue;
            }
            let block = rows.select_rows(&(first..first + known.len()).collect::<Vec<_>>());
            let found = self.learner.learn(&block, &known, pool)?;
            self.n_rows += known.len() as u64;
            self.n_correct += found.iter().zip(&known).filter(|(found, class)| found == class).count() as u64;
            predicted.extend(found.into_iter().map(Some));
        }
        Ok(predicted)
    }

    /// Rows as the learner sees them.
    fn prepared(&self, samples: &Samples) -> Result<Matrix> {
        let samples = ordered(&self.header.features, samples)?;
        Ok(self.preprocessor.apply_samples(&samples)?.to_dense()?.into_owned())
    }

    /// Predicts the numbers of each row (n_samples x n_targets, in their own units), then learns them, row by row; how
    /// rows are split into calls changes nothing. Returns the predictions; the first row's is the mean of the warm-up
    /// rows. After an error, some of the rows may have been learned.
    ///
    /// ```
    /// use multikernel::{Matrix, Online, OnlineOptions, Plan, Pool, data::{Dataset, Numbers, Samples}};
    /// let x = Matrix::from_fn(400, 1, |i, _| (i * 7 % 400) as f64 / 40.0);
    /// let y = Matrix::from_fn(400, 1, |i, _| 100.0 + 10.0 * x.get(i, 0).sin());
    /// let data = Dataset::of_numbers("wave", Samples::unnamed(x)?, Numbers::new(vec!["y".into()], y.clone())?)?;
    /// let (plan, pool) = (Plan::new("ufomkl")?, Pool::new(1)?);
    /// let mut online = Online::begin(&plan, &data.select(&(0..100).collect::<Vec<_>>()), &OnlineOptions::default(), &pool)?;
    /// let predicted = online.learn_numbers(&data.samples, &y, &pool)?;
    /// assert_eq!(predicted.n_rows(), 400);
    /// assert!(online.errors()[0].r2().unwrap() > 0.8);
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn learn_numbers(&mut self, samples: &Samples, values: &Matrix, pool: &Pool) -> Result<Matrix> {
        let Some(units) = &self.units else {
            return Err(Error::input("the stream predicts classes; learn them with `learn`"));
        };
        if [values.n_rows(), values.n_cols()] != [samples.n_samples(), units.names.len()] {
            return Err(Error::input(format!(
                "the numbers are {} x {}, expected {} x {}: a row for each row, a column for each of {}",
                values.n_rows(),
                values.n_cols(),
                samples.n_samples(),
                units.names.len(),
                units.names.join(", ")
            )));
        }
        // Checks that they are numbers.
        Numbers::new(units.names.clone(), values.clone())?;
        let standard = units.standard.clone();
        let rows = self.prepared(samples)?;
        let found = self.learner.learn_numbers(&rows, &standard.apply(values), pool)?;
        let found = standard.undo(found);
        for (numbers, predicted) in values.rows().zip(found.rows()) {
            let pairs = numbers.iter().zip(predicted);
            self.errors.iter_mut().zip(pairs).for_each(|(errors, (&number, &found))| errors.add(number, found));
        }
        self.n_rows += values.n_rows() as u64;
        Ok(found)
    }

    /// The names of the numbers it predicts; empty for classes.
    pub fn number_names(&self) -> &[String] {
        self.units.as_ref().map_or(&[], |units| &units.names)
    }

    /// The mean and the standard deviation of each number in the first rows, as 0 and 1 of which numbers are learned;
    /// empty for classes.
    pub fn number_units(&self) -> Vec<(f64, f64)> {
        let units = self.units.iter().flat_map(|units| units.standard.mean.iter().zip(&units.standard.scale));
        units.map(|(&mean, &scale)| (mean, scale)).collect()
    }

    /// The errors of each number, over all runs; empty for classes.
    pub fn errors(&self) -> &[StreamErrors] {
        &self.errors
    }

    /// A row of a new class: predicted by the classes known before, then learned.
    fn learn_new_class(&mut self, row: &Matrix, label: &str, pool: &Pool) -> Result<Option<usize>> {
        if self.header.classes.len() == MAX_CLASSES {
            let number = MAX_CLASSES + 1;
            return Err(Error::input(message![
                format!("the label `{label}` would be class number {number}: a number or an id is no class; "),
                "choose the class column with ",
                Remedy::Label(None)
            ]));
        }
        let predicted = match self.header.classes.len() {
            0 => None,
            1 => Some(0),
            _ => self.learner.predict(row, pool)?.first().copied(),
        };
        self.learner.add_class(pool)?;
        self.header.classes.push(label.to_string());
        self.learner.learn(row, &[self.header.classes.len() - 1], pool)?;
        self.n_rows += 1;
        Ok(predicted)
    }

    /// Class names in the order they appeared; predictions are indices into them.
    pub fn classes(&self) -> &[String] {
        &self.header.classes
    }

    /// Rows learned so far, over all runs.
    pub fn n_rows(&self) -> u64 {
        self.n_rows
    }

    /// How many of them were predicted correctly before they were learned.
    pub fn n_correct(&self) -> u64 {
        self.n_correct
    }

    /// Number of points kept.
    pub fn n_support(&self) -> usize {
        self.learner.n_support()
    }

    /// The kernels under their familiar names, in the order of the weights.
    pub fn kernel_names(&self) -> Vec<String> {
        self.header.kernels.iter().map(|kernel| kernel_name(kernel, &self.preprocessor, &self.sets)).collect()
    }

    /// One weight per kernel; they add up to 1.
    pub fn weights(&self) -> Vec<f64> {
        self.learner.weights()
    }

    /// What a reader needs to bring rows into the model's order of features.
    pub fn expect(&self) -> Expect {
        let index_base = self.header.index_base.and_then(|base| u8::try_from(base).ok());
        Expect::new(self.header.features.clone(), self.header.label.clone(), index_base)
            .with_classes(self.header.classes.clone())
            .with_kinds(self.preprocessor.kinds().to_vec())
    }

    /// Numbers the caller wants back after loading: they are stored with the model.
    pub fn memo(&self) -> &BTreeMap<String, u64> {
        &self.memo
    }

    /// Sets the memo.
    pub fn set_memo(&mut self, memo: BTreeMap<String, u64>) {
        self.memo = memo;
    }

    /// Sets why the stream ended, for models made from now on; by default, it reached its end.
    pub fn set_stop(&mut self, stop: Stop) {
        self.stop = stop;
    }

    /// The current model: predicts, and can be resumed. An error before two classes have been seen, or a row of numbers.
    pub fn model(&self) -> Result<Model> {
        if self.units.is_some() && self.n_rows == 0 {
            let message = "there was no row yet; a model needs at least one";
            return Err(Error::data(Place::file(self.header.dataset.clone()), message));
        }
        if self.units.is_none() && self.header.classes.len() < 2 {
            let n = self.n_rows;
            let message = match self.header.classes.first() {
                Some(name) => {
                    format!("all {n} rows so far have the class `{name}`; a model needs rows of at least two classes")
                }
                None => "there was no row yet; a model needs rows of at least two classes".into(),
            };
            return Err(Error::data(Place::file(self.header.dataset.clone()), message));
        }
        let (predictor, record) = self.learner.model()?;
        let used = predictor.kernels().unwrap_or_else(|| (0..self.header.kernels.len()).collect());
        let points = self.learner.points();
        let all: Vec<usize> = (0..points.n_rows()).collect();
        let kept = Kept {
            preprocessor: self.preprocessor.clone(),
            sets: self.sets.clone(),
            kernels: used.iter().map(|&m| self.header.kernels[m].clone()).collect(),
            centring: vec![None; used.len()],
            used,
            points: Points::from(&points),
            at: all.clone(),
            columns: all,
            ..Kept::default()
        };
        let mut stream = self.learner.encode();
        let (n_correct, errors, memo) = (self.n_correct, self.errors.clone(), self.memo.clone());
        Counters { n_rows: self.n_rows, n_correct, errors, memo }.put(&mut stream);
        let (n_samples, steps) = (self.n_rows as usize, self.n_rows);
        let (stop, finished) = (self.stop.to_string(), self.stop == Stop::Finished);
        let header = Header { n_samples, steps, stop, finished, ..self.header.clone() };
        let learned = Learned { stream: Some(stream), units: self.units.clone(), ..Learned::default() };
        Ok(Model { header, kept, learned, predictor, record })
    }

    /// Writes [`Online::model`] to a file, atomically.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.model()?.save(path)
    }
}

/// Counters over all runs.
#[derive(Default)]
struct Counters {
    n_rows: u64,
    n_correct: u64,
    errors: Vec<StreamErrors>,
    memo: BTreeMap<String, u64>,
}

/// The errors of a stream of numbers, as words.
const ERRORS: &str = "errors";

/// The errors of a stored stream; none for one of classes.
pub(super) fn stored_errors(stream: &Record) -> Result<Vec<StreamErrors>> {
    if !stream.has(ERRORS) {
        return Ok(vec![]);
    }
    let words: Vec<u64> = stream.take(ERRORS)?;
    let (all, rest) = words.as_chunks();
    if !rest.is_empty() {
        return Err(Error::input("the errors of its stream do not fit together"));
    }
    Ok(all.iter().map(|&words| StreamErrors::from_words(words)).collect())
}

impl Counters {
    fn put(&self, record: &mut Record) {
        if !self.errors.is_empty() {
            record.put(ERRORS, &self.errors.iter().flat_map(StreamErrors::to_words).collect::<Vec<_>>());
        }
        record.put("n_rows", &self.n_rows);
        record.put("n_correct", &self.n_correct);
        record.put("memo.names", &self.memo.keys().cloned().collect::<Vec<_>>());
        record.put("memo.numbers", &self.memo.values().copied().collect::<Vec<_>>());
    }

    fn take(record: &Record) -> Result<Counters> {
        let (names, numbers): (Vec<String>, Vec<u64>) = (record.take("memo.names")?, record.take("memo.numbers")?);
        let memo = names.into_iter().zip(numbers).collect();
        let (n_rows, n_correct) = (record.take("n_rows")?, record.take("n_correct")?);
        Ok(Counters { n_rows, n_correct, errors: stored_errors(record)?, memo })
    }
}
