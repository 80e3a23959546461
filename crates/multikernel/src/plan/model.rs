//! A trained model with everything a prediction needs: scaling, kernels, training rows, class names.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use super::calibrate::Calibration;
use super::prepare::{Kept, Missing, kernels_of_views, presence};
use super::registry::Registry;
use crate::data::{Expect, Preprocessor, Presence, Samples, Scaler, View, is_numbered};
use crate::draws::{Draws, DrawsFormat};
use crate::error::{Error, Result};
use crate::features::Features;
use crate::file::record;
use crate::file::{self, Codec, Kind, Record};
use crate::kernel::{Columns, Kernel};
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::run::{Input, Intervals, KernelsOfView, Placed, Predict, Rows, first_largest};
use crate::stack::{Centring, Points, Precision, Stack, StackOptions, Storage};

record! {
    /// What a model says about itself.
    #[derive(Clone, Debug, PartialEq)]
    pub(super) struct Header {
        pub(super) method: String,
        pub(super) params: BTreeMap<String, String>,
        pub(super) kernels: Option<String>,
        pub(super) resolved: Vec<String>,
        pub(super) scale: String,
        pub(super) precision: Precision,
        pub(super) seed: u64,
        pub(super) classes: Vec<String>,
        pub(super) features: Vec<String>,
        pub(super) views: Vec<String>,
        pub(super) label: Option<String>,
        pub(super) index_base: Option<u64>,
        pub(super) dataset: String,
        pub(super) n_samples: usize,
        pub(super) fingerprint: String,
        pub(super) stop: String,
        pub(super) finished: bool,
        pub(super) steps: u64,
    }
}

/// A trained classifier: predicts, saves, loads, and says which kernels matter.
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
    pub(super) header: Header,
    missing: Missing,
    pub(super) kept: Kept,
    pub(super) learned: Learned,
    predictor: Box<dyn Predict>,
    record: Record,
}

/// What was learned around the method.
#[derive(Default)]
pub(super) struct Learned {
    pub(super) shares: Option<Vec<f64>>,
    pub(super) calibration: Option<Calibration>,
    /// Which parameters were chosen, among which.
    pub(super) tuned: Option<String>,
    /// Where the learner of a stream stands.
    pub(super) stream: Option<Record>,
}

/// What a model says of each row.
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

/// Bytes of kernel values, or of dense rows, held at a time while predicting.
const BATCH_BYTES: usize = 64 << 20;

impl Model {
    pub(super) fn new(
        header: Header,
        missing: Missing,
        kept: Kept,
        learned: Learned,
        predictor: Box<dyn Predict>,
        record: Record,
    ) -> Model {
        Model { header, missing, kept, learned, predictor, record }
    }

    /// The method's name.
    pub fn method(&self) -> &str {
        &self.header.method
    }

    /// The parameters it was trained with, as text.
    pub fn params(&self) -> &BTreeMap<String, String> {
        &self.header.params
    }

    /// The bank text it was trained with.
    pub fn bank(&self) -> Option<&str> {
        self.header.kernels.as_deref()
    }

    /// The concrete kernels, each as its text, in the order of the weights.
    pub fn kernels(&self) -> &[String] {
        &self.header.resolved
    }

    /// The concrete kernels as people know them, where the training data had names: `on gene` for a view, `on NAME` for a
    /// feature set, `on [radius]` for up to three named columns.
    pub fn kernel_names(&self) -> Vec<String> {
        self.kept.all.iter().map(|kernel| self.kernel_name(kernel)).collect()
    }

    fn kernel_name(&self, kernel: &Kernel) -> String {
        let (preprocessor, text) = (&self.kept.preprocessor, kernel.to_string());
        let Some((head, rest)) = text.split_once(" on [") else { return text };
        let Some((_, tail)) = rest.split_once(']') else { return text };
        let named = |place: &str| format!("{head} on {place}{tail}");
        if let Some((set, _)) = self.kept.sets.iter().find(|(_, columns)| columns == kernel.columns()) {
            return named(set);
        }
        let whole = |view: &&View| Columns::from_ranges([view.columns.clone()]) == *kernel.columns();
        if let Some(view) = preprocessor.views().iter().find(whole) {
            return named(&view.name);
        }
        let columns = kernel.columns().indices(preprocessor.names().len());
        if columns.len() > 3 || is_numbered(preprocessor.names()) {
            return text;
        }
        let names: Vec<&str> = columns.iter().map(|&column| preprocessor.names()[column].as_str()).collect();
        named(&format!("[{}]", names.join(", ")))
    }

    /// The kernels on each single view; none for data without views.
    pub fn views(&self) -> &[KernelsOfView] {
        &self.kept.views
    }

    /// Each kernel's share of the decisions on the training rows; they add up to 1. For models that are weighted sums of
    /// kernels, of more than one.
    pub fn shares(&self) -> Option<&[f64]> {
        self.learned.shares.as_deref()
    }

    /// Whether [`Model::probabilities`] has an answer.
    pub fn has_probabilities(&self) -> bool {
        self.learned.calibration.is_some() || self.predictor.has_probabilities()
    }

    /// k(x, x) of all training rows in a Gram matrix the model's kernels need: what new rows of it are checked against.
    pub fn gram_diagonals(&self) -> &[(String, Vec<f64>)] {
        &self.kept.diagonals
    }

    /// One weight per kernel, for methods that have them.
    pub fn weights(&self) -> Option<&[f64]> {
        self.predictor.weights()
    }

    /// One weight per kernel (rows) and class (columns), adding up to 1 for each class, where classes weigh kernels each in their
    /// own way.
    pub fn class_weights(&self) -> Option<Matrix> {
        self.predictor.class_weights()
    }

    /// What was drawn, with the names of kernels and classes, for methods that sample.
    pub fn draws(&self) -> Option<Draws> {
        let mut draws = self.predictor.draws()?;
        for variable in draws.variables_mut() {
            match variable.dimension.as_deref() {
                Some("kernel") => variable.coordinates = self.kernel_names(),
                // A method knows its classes by number.
                Some("class") => variable.coordinates.iter_mut().for_each(|class| {
                    let known = class.parse().ok().and_then(|number: usize| self.classes().get(number));
                    *class = known.cloned().unwrap_or_default();
                }),
                _ => {}
            }
        }
        Some(draws)
    }

    /// Writes what was drawn to a file, by its ending `.csv` or, in builds with the feature `arrow`, `.arrow`: one row per draw
    /// ([`Draws::encode`]). An error for models of methods that do not sample.
    pub fn save_draws(&self, path: &Path) -> Result<()> {
        let format = DrawsFormat::of(path)?;
        let draws = self.draws().ok_or_else(|| {
            let method = self.method();
            Error::input(format!("the model has no draws: {method} keeps none; train with bm3kl, which does"))
        })?;
        let (_, dataset, fingerprint) = self.trained_on();
        let about = [
            ("method", self.method().to_string()),
            ("seed", self.seed().to_string()),
            ("dataset", dataset.to_string()),
            ("fingerprint", fingerprint.to_string()),
        ];
        file::write_atomic(path, &draws.encode(format, &about)?)
    }

    /// Class names; predictions are indices into them.
    pub fn classes(&self) -> &[String] {
        &self.header.classes
    }

    /// Names of the features, in the order the model takes them.
    pub fn features(&self) -> &[String] {
        &self.header.features
    }

    /// How many training rows, from which data, with which fingerprint.
    pub fn trained_on(&self) -> (usize, &str, &str) {
        (self.header.n_samples, &self.header.dataset, &self.header.fingerprint)
    }

    /// Whether it was learned from a stream, and can be gone on from: see [`Online::from_model`](super::Online::from_model).
    pub fn is_online(&self) -> bool {
        self.learned.stream.is_some()
    }

    /// The seed of the run.
    pub fn seed(&self) -> u64 {
        self.header.seed
    }

    /// How features are scaled, as a word.
    pub fn scale(&self) -> &str {
        &self.header.scale
    }

    /// How kernel values are held, in training and in prediction.
    pub fn precision(&self) -> Precision {
        self.header.precision
    }

    /// Whether the run went to its end, and how it ended.
    pub fn stop(&self) -> (bool, &str) {
        (self.header.finished, &self.header.stop)
    }

    /// Facts of the method about this model: name and value.
    pub fn facts(&self) -> Vec<(String, String)> {
        let mut facts = self.predictor.facts();
        facts.extend(self.learned.tuned.iter().map(|tuned| ("chosen".to_string(), tuned.clone())));
        facts.extend(self.kernels_of_classes());
        if let Some(stream) = &self.learned.stream {
            facts.push(("learned online".into(), told_of_stream(stream)));
        }
        if self.missing != Missing::Skip {
            facts.push(("missing views".into(), self.missing.word().into()));
        }
        facts.extend(self.kept.preprocessor.notes().into_iter().map(|note| ("preprocessing".to_string(), note)));
        if self.learned.calibration.is_some() {
            facts.push(("probabilities".into(), "learned on inner folds".into()));
        }
        facts
    }

    /// For each class the kernels it weighs most, where classes differ in that.
    fn kernels_of_classes(&self) -> Vec<(String, String)> {
        let Some(weights) = self.class_weights() else { return vec![] };
        let names = self.kernel_names();
        let of_class = |(m, class): (usize, &String)| {
            let column = weights.column(m);
            let mut order: Vec<usize> = (0..column.len()).collect();
            order.sort_by(|&a, &b| column[b].total_cmp(&column[a]));
            let top = order.iter().take(3).map(|&f| format!("{} {:.4}", names[f], column[f])).collect::<Vec<_>>();
            (format!("kernels of {class}"), top.join(", "))
        };
        self.classes().iter().enumerate().map(of_class).collect()
    }

    /// What a user should know, such as a solver that did not converge.
    pub fn warnings(&self) -> Vec<String> {
        self.predictor.warnings()
    }

    /// The label column of the training data: its name, or where it stands in a file without names.
    pub fn label(&self) -> Option<&str> {
        self.header.label.as_deref().or(self.kept.label_column.as_deref())
    }

    /// The column of sample ids by which the views of the training data were joined; none for data that were one file.
    pub fn id_name(&self) -> Option<&str> {
        self.kept.id_name.as_deref()
    }

    /// What a reader needs to bring a file into the model's order of features.
    pub fn expect(&self) -> Expect {
        let index_base = self.header.index_base.and_then(|base| u8::try_from(base).ok());
        Expect::new(self.header.features.clone(), self.header.label.clone(), index_base)
            .with_views(self.raw_views())
            .with_classes(self.classes().to_vec())
    }

    /// Labels and scores of rows, with the machine's threads. Columns are matched by name, in any order; rows without
    /// names of their own ([`Samples::unnamed`]) by position. Cost per row: one kernel value per
    /// kept training row and kernel whose weight is not zero.
    pub fn predict(&self, samples: &Samples) -> Result<Prediction> {
        self.predict_in(samples, &Pool::shared()?)
    }

    /// [`Model::predict`] with given threads.
    pub fn predict_in(&self, samples: &Samples, pool: &Pool) -> Result<Prediction> {
        self.predict_until(samples, pool, &|| false)
    }

    /// [`Model::predict_in`] unless `stop`, asked between batches of rows, says so: [`Error::Stopped`].
    pub(crate) fn predict_until(&self, samples: &Samples, pool: &Pool, stop: &dyn Fn() -> bool) -> Result<Prediction> {
        let scores = self.batches(samples, pool, stop, |input| self.predictor.scores(input, pool))?;
        if let Some(row) = scores.rows().position(|row| row.iter().any(|score| score.is_nan())) {
            return Err(Error::input(format!(
                "row {}: its values are so far from the training rows that a kernel overflows; correct the row, or train \
                 without `raw`",
                row + 1
            )));
        }
        Ok(Prediction { labels: scores.rows().map(first_largest).collect(), scores })
    }

    /// Class probabilities of rows (n_samples x n_classes), the largest of which is the predicted class; an error for models
    /// that have none ([`Plan::proba`](super::Plan::proba) asks for them). Columns are matched as by [`Model::predict`].
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

    /// [`Model::probabilities_in`] unless `stop`, asked between batches of rows, says so: [`Error::Stopped`].
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
        self.batches(samples, pool, stop, |input| {
            self.predictor.probabilities(input, pool)?.ok_or_else(|| {
                Error::input(format!(
                    "this model of the method {} gives scores but no probabilities; train it with --proba, or use --scores",
                    self.method()
                ))
            })
        })
    }

    /// A number for each row and class that is larger where the class is more likely, and smooth, which scores need not be
    /// ([`Predict::margins`]).
    pub(crate) fn margins(&self, samples: &Samples, pool: &Pool) -> Result<Matrix> {
        self.batches(samples, pool, &|| false, |input| self.predictor.margins(input, pool))
    }

    /// The cluster of each training row, for methods that cluster.
    pub fn clusters(&self) -> Option<&[usize]> {
        self.predictor.clusters()
    }

    /// The clusters that rows belong to, told without looking at labels, and how dense it is there; an error for models that
    /// are no clustering. Columns are matched as by [`Model::predict`].
    ///
    /// ```
    /// use multikernel::{Plan, data::bundled};
    /// let data = bundled("ionosphere")?;
    /// let model = Plan::new("dpm")?.set("start", "3")?.set("sweeps", "2")?.train(&data)?;
    /// let placed = model.place(&data.samples)?;
    /// assert_eq!(placed.clusters.len(), 351);
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn place(&self, samples: &Samples) -> Result<Placed> {
        self.place_in(samples, &Pool::shared()?)
    }

    /// [`Model::place`] with given threads.
    pub fn place_in(&self, samples: &Samples, pool: &Pool) -> Result<Placed> {
        let (mut clusters, mut density) = (vec![], vec![]);
        self.each_batch(samples, pool, &|| false, |input| {
            let placed = self.predictor.place(input, pool)?.ok_or_else(|| {
                let method = self.method();
                Error::input(format!("the model has no clusters: {method} finds none; train with cik, dpm or mkc"))
            })?;
            clusters.extend(placed.clusters);
            density.extend(placed.density.into_iter().flatten());
            Ok(())
        })?;
        let density = (density.len() == clusters.len()).then_some(density);
        Ok(Placed { clusters, density })
    }

    /// Intervals of the kernel weights, for methods that have a distribution for each weight.
    pub fn intervals(&self) -> Option<Intervals> {
        self.predictor.intervals()
    }

    /// How much each column (columns, as [`Model::scaled_names`] calls them) matters to the kernel of each cluster (rows), adding up to
    /// 1 for each cluster.
    pub fn relevance(&self) -> Option<Matrix> {
        self.predictor.relevance()
    }

    /// The columns as methods see them, in the order of [`Model::relevance`] and [`Model::scaled`].
    pub fn scaled_names(&self) -> &[String] {
        self.kept.preprocessor.names()
    }

    /// Rows as methods see them: scaled, with missing values filled in, and without the columns that were left out.
    pub fn scaled(&self, samples: &Samples) -> Result<Features> {
        self.kept.preprocessor.apply(self.ordered(samples)?.as_ref())
    }

    /// What `f` makes of the rows, a batch at a time.
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
        Matrix::from_vec(n, self.header.classes.len(), data)
    }

    /// Runs `f` on the rows a batch at a time, and tells how many rows there are: they are independent, so the cut changes nothing
    /// but memory. `stop` is asked before each batch.
    fn each_batch(
        &self,
        samples: &Samples,
        pool: &Pool,
        stop: &dyn Fn() -> bool,
        mut f: impl FnMut(Input<'_>) -> Result<()>,
    ) -> Result<usize> {
        let points = self.points(samples)?;
        let n = points.n_points();
        let per_row = 8 * self.kept.points.n_points().max(points.features().n_cols()).max(1);
        let size = (BATCH_BYTES / per_row).clamp(1, 4096);
        for start in (0..n).step_by(size) {
            if stop() {
                return Err(Error::Stopped(format!("stopped after {start} of {n} rows were predicted")));
            }
            let batch = points.select(&(start..(start + size).min(n)).collect::<Vec<_>>());
            if self.header.kernels.is_some() {
                f(Input::Stack(&self.stack(batch, pool)?))?;
            } else {
                f(Input::Rows(&Rows::new(batch.features(), None)))?;
            }
        }
        Ok(n)
    }

    /// New rows as the kernels take them.
    fn points(&self, samples: &Samples) -> Result<Points> {
        let (kept, features) = (&self.kept, self.ordered(samples)?);
        let points = Points::from(&kept.preprocessor.apply(&features)?);
        if self.header.kernels.is_none() {
            return Ok(points);
        }
        let points = points.with_grams(samples.grams(), samples.rows_of_grams())?;
        // Views are those of training: new rows bring the same columns.
        let raw = Samples::new(features.into_owned(), self.header.features.clone());
        let presence = match raw {
            Ok(raw) if !self.raw_views().is_empty() => presence(&raw.with_views(self.raw_views())?, self.missing)?,
            _ => None,
        };
        match presence {
            Some(presence) => points.with_presence(&presence, kept.preprocessor.views(), &kept.all),
            None => Ok(points),
        }
    }

    /// The views of the columns as they come.
    fn raw_views(&self) -> Vec<View> {
        let view = |text: &String| {
            let (name, columns) = text.rsplit_once('=')?;
            let (start, end) = columns.split_once(':')?;
            Some(View { name: name.into(), columns: start.parse().ok()?..end.parse().ok()? })
        };
        self.header.views.iter().filter_map(view).collect()
    }

    fn stack(&self, rows: Points, pool: &Pool) -> Result<Stack> {
        let (kept, n) = (&self.kept, rows.n_points());
        let building = StackOptions { precision: self.precision(), storage: Storage::Tiled, ..StackOptions::new(pool) };
        let stack = Stack::cross(rows, &kept.points, &kept.kernels, &kept.centring, &building)?;
        if kept.columns.iter().copied().eq(0..kept.points.n_points()) {
            return Ok(stack);
        }
        stack.between(&(0..n).collect::<Vec<_>>(), &kept.columns)
    }

    /// The features in the model's order.
    pub(crate) fn ordered<'a>(&self, samples: &'a Samples) -> Result<Cow<'a, Features>> {
        ordered(&self.header.features, samples)
    }

    /// Writes the model to a file, atomically. Equal models give equal bytes.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let mut record = self.header.encode();
        match self.kept.preprocessor.as_scaler() {
            Some(scaler) => {
                record.put("scaler.mean", &scaler.mean().to_vec());
                record.put("scaler.scale", &scaler.scale().to_vec());
            }
            None => record.put_newer("preprocess", self.kept.preprocessor.encode()),
        }
        record.put("points", self.kept.points.features());
        record.put("columns", &self.kept.columns);
        self.put_newer(&mut record);
        for (m, centring) in self.kept.used.iter().zip(&self.kept.centring) {
            if let Some(centring) = centring {
                record.put(&format!("centring.{m}.means"), &centring.means);
                record.put(&format!("centring.{m}.grand"), &centring.grand);
            }
        }
        record.put_record("model", self.record.clone());
        file::write(path.as_ref(), Kind::Model, &record)
    }

    /// What models of the first two versions of the format never had.
    fn put_newer(&self, record: &mut Record) {
        if self.missing != Missing::Skip {
            record.put_newer("missing", one("mode", &self.missing.word().to_string()));
        }
        if let Some(presence) = &self.kept.presence {
            let mut inner = one("flags", &presence.flags());
            inner.put("n_views", &presence.n_views());
            record.put_newer("presence", inner);
        }
        if !self.kept.diagonals.is_empty() {
            let mut inner = one("names", &self.kept.diagonals.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>());
            inner.put("at", &self.kept.at);
            for (g, (_, diagonal)) in self.kept.diagonals.iter().enumerate() {
                inner.put(&format!("diagonal.{g}"), diagonal);
            }
            record.put_newer("grams", inner);
        }
        if let Some(column) = &self.kept.label_column {
            record.put_newer("label_column", one("words", column));
        }
        if let Some(name) = &self.kept.id_name {
            record.put_newer("id", one("name", name));
        }
        if !self.kept.sets.is_empty() {
            let (names, columns): (Vec<String>, Vec<String>) =
                self.kept.sets.iter().map(|(name, columns)| (name.clone(), columns.to_string())).unzip();
            let mut inner = one("names", &names);
            inner.put("columns", &columns);
            record.put_newer("sets", inner);
        }
        if let Some(shares) = &self.learned.shares {
            record.put_newer("shares", one("values", shares));
        }
        if let Some(tuned) = &self.learned.tuned {
            record.put_newer("tuned", one("line", tuned));
        }
        if let Some(calibration) = &self.learned.calibration {
            record.put_newer("calibration", calibration.encode());
        }
        if let Some(stream) = &self.learned.stream {
            record.put_newer("stream", stream.clone());
        }
    }

    /// Reads a model of one of the standard methods.
    pub fn load(path: impl AsRef<Path>) -> Result<Model> {
        Model::load_with(path, &Registry::standard())
    }

    /// Reads a model of one of the methods of a registry.
    pub fn load_with(path: impl AsRef<Path>, registry: &Registry) -> Result<Model> {
        let path = path.as_ref();
        Model::of(path, &file::read(path, Kind::Model)?, registry)
    }

    /// Reads a model of one of the standard methods from the bytes of a file, such as one compiled into a program.
    pub fn from_bytes(content: &[u8]) -> Result<Model> {
        let name = Path::new("the model");
        Model::of(name, &file::parse(name, content, Kind::Model)?, &Registry::standard())
    }

    fn of(path: &Path, record: &Record, registry: &Registry) -> Result<Model> {
        // What a checked file lacks is a fault of the file: say which.
        Model::decode(record, registry).map_err(|error| match error {
            Error::Io { .. } | Error::File { .. } => error,
            other => Error::file(path, format!("cannot be used: {other}")),
        })
    }

    fn decode(record: &Record, registry: &Registry) -> Result<Model> {
        let header = Header::decode(record)?;
        if let Some(name) = record.nan() {
            return Err(Error::input(format!("its array `{name}` holds NaN")));
        }
        let all: Vec<Kernel> = header.resolved.iter().map(|text| text.parse()).collect::<Result<_>>()?;
        let method = record.take_record("model");
        let predictor = registry.get(&header.method)?.decode(&method)?;
        predictor.check(all.len(), header.classes.len())?;
        let used = predictor.kernels().unwrap_or_else(|| (0..all.len()).collect());
        let centring = |&m: &usize| -> Result<Option<Centring>> {
            if !all[m].is_centred() {
                return Ok(None);
            }
            let field = |name: &str| format!("centring.{m}.{name}");
            Ok(Some(Centring { means: record.take(&field("means"))?, grand: record.take(&field("grand"))? }))
        };
        let centring = used.iter().map(centring).collect::<Result<_>>()?;
        let kernels: Vec<Kernel> = used.iter().map(|&m| all[m].clone()).collect();
        let missing = newer(record, "missing", |inner| inner.take::<String>("mode")?.parse())?.unwrap_or_default();
        let learned = Learned {
            shares: newer(record, "shares", |inner| inner.take("values"))?,
            tuned: newer(record, "tuned", |inner| inner.take("line"))?,
            calibration: newer(record, "calibration", |inner| Calibration::decode(&inner))?,
            stream: newer(record, "stream", Ok)?,
        };
        let mut model = Model { header, missing, kept: Kept::default(), learned, predictor, record: method };
        model.kept = model.decode_kept(record, all, used, kernels, centring)?;
        model.check()?;
        Ok(model)
    }

    fn decode_kept(
        &self,
        record: &Record,
        all: Vec<Kernel>,
        used: Vec<usize>,
        kernels: Vec<Kernel>,
        centring: Vec<Option<Centring>>,
    ) -> Result<Kept> {
        let (names, views) = (&self.header.features, self.raw_views());
        let preprocessor = match newer(record, "preprocess", |inner| Preprocessor::decode(&inner))? {
            Some(preprocessor) => preprocessor,
            None => {
                let scaler = Scaler::from_parts(record.take("scaler.mean")?, record.take("scaler.scale")?)?;
                Preprocessor::of_scaler(scaler, names, &views)?
            }
        };
        let presence = newer(record, "presence", |inner| {
            Presence::from_parts(inner.take("n_views")?, &inner.take::<Vec<u64>>("flags")?)
        })?;
        let features: Features = record.take("points")?;
        let mut points = Points::from(&features);
        if let Some(presence) = &presence {
            points = points.with_presence(presence, preprocessor.views(), &all)?;
        }
        let (mut diagonals, mut at): (_, Vec<usize>) = (vec![], (0..features.n_rows()).collect());
        if let Some(grams) = newer(record, "grams", Ok)? {
            at = grams.take("at")?;
            for (g, name) in grams.take::<Vec<String>>("names")?.into_iter().enumerate() {
                diagonals.push((name, grams.take::<Vec<f64>>(&format!("diagonal.{g}"))?));
            }
            points = points.with_grams(&[], &at)?;
        }
        let sets = newer(record, "sets", |inner| {
            let (names, columns) = (inner.take::<Vec<String>>("names")?, inner.take::<Vec<String>>("columns")?);
            let columns = columns.iter().map(|text| columns_of(text)).collect::<Result<Vec<_>>>()?;
            Ok(names.into_iter().zip(columns).collect())
        })?;
        let views = kernels_of_views(&all, preprocessor.views());
        let (sets, columns) = (sets.unwrap_or_default(), record.take("columns")?);
        let id_name = newer(record, "id", |inner| inner.take("name"))?;
        let label_column = newer(record, "label_column", |inner| inner.take("words"))?;
        Ok(Kept {
            preprocessor,
            all,
            sets,
            views,
            used,
            points,
            presence,
            at,
            diagonals,
            columns,
            kernels,
            centring,
            label_column,
            id_name,
        })
    }

    /// Whether the parts of a file fit together.
    fn check(&self) -> Result<()> {
        let (kept, header) = (&self.kept, &self.header);
        let n_columns = kept.preprocessor.names().len();
        let longest = kept.diagonals.iter().map(|(_, diagonal)| diagonal.len()).min();
        let fits = kept.points.features().n_cols() == n_columns
            && kept.preprocessor.n_features() == header.features.len()
            && kept.columns.iter().all(|&column| column < kept.points.n_points())
            && kept.at.iter().all(|&at| longest.is_none_or(|n| at < n))
            && kept.all.iter().all(|kernel| kernel.columns().end() <= n_columns)
            && kept
                .all
                .iter()
                .filter_map(Kernel::gram)
                .all(|name| kept.diagonals.iter().any(|(known, _)| known == name))
            && self.learned.shares.as_ref().is_none_or(|shares| shares.len() == kept.all.len());
        if !fits {
            return Err(Error::input("its arrays do not fit its number of features"));
        }
        if let Some(calibration) = &self.learned.calibration {
            calibration.check(header.classes.len())?;
        }
        if self.predictor.points().len() != kept.columns.len() {
            return Err(Error::input("it has not one kept row per point"));
        }
        Ok(())
    }
}

/// The features in the order of these names: matched by name if the names are the same in another order.
pub(super) fn ordered<'a>(wanted: &[String], samples: &'a Samples) -> Result<Cow<'a, Features>> {
    let found = samples.names();
    if wanted.len() != found.len() {
        return Err(Error::input(format!(
            "rows have {} features, the model was trained with {}; give the same columns as in training",
            found.len(),
            wanted.len()
        )));
    }
    if wanted == found {
        return Ok(Cow::Borrowed(samples.features()));
    }
    let place: BTreeMap<&str, usize> = found.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
    match wanted.iter().map(|name| place.get(name.as_str()).copied()).collect::<Option<Vec<usize>>>() {
        Some(order) => Ok(Cow::Owned(samples.features().select_cols(&order))),
        None if is_numbered(found) => Ok(Cow::Borrowed(samples.features())),
        None => {
            let missing: Vec<&str> =
                wanted.iter().map(String::as_str).filter(|name| !place.contains_key(name)).take(5).collect();
            Err(Error::input(format!(
                "the rows lack features the model was trained with: {}; give the same columns as in training",
                missing.join(", ")
            )))
        }
    }
}

/// What is worth telling of a stream.
fn told_of_stream(stream: &Record) -> String {
    let rows: u64 = stream.take("n_rows").unwrap_or(0);
    let right: u64 = stream.take("n_correct").unwrap_or(0);
    let every: u64 = stream.take("update_every").unwrap_or(0);
    let budget = match stream.take::<Option<u64>>("budget") {
        Ok(Some(budget)) => format!("at most {budget} points"),
        _ => "any number of points".into(),
    };
    format!(
        "{rows} rows, {right} of them predicted right before they were learned; {budget}, weights anew every {every} rows"
    )
}

/// A record of one field.
fn one<T: file::Field>(name: &str, field: &T) -> Record {
    let mut record = Record::default();
    record.put(name, field);
    record
}

/// What a newer file may have and an older has not.
fn newer<T>(record: &Record, name: &str, read: impl FnOnce(Record) -> Result<T>) -> Result<Option<T>> {
    let inner = record.take_record(name);
    if inner.is_empty() { Ok(None) } else { read(inner).map(Some) }
}

/// Columns from their text, which is that of a kernel on them.
fn columns_of(text: &str) -> Result<Columns> {
    Ok(format!("linear on {text}").parse::<Kernel>()?.columns().clone())
}
