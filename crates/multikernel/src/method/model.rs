//! A trained model with everything a prediction needs: scaling, kernels, training rows, class names.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use super::plan::Kept;
use super::registry::Registry;
use crate::data::{Expect, Samples, Scaler, is_numbered};
use crate::error::{Error, Result};
use crate::features::Features;
use crate::file::{self, Codec, Kind, Record};
use crate::kernel::Kernel;
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::record;
use crate::run::{Input, Predict, Rows};
use crate::stack::{Building, Centring, Precision, Stack, Storage};

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
    header: Header,
    scaler: Scaler,
    kept: Kept,
    predictor: Box<dyn Predict>,
    record: Record,
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
        scaler: Scaler,
        kept: Kept,
        predictor: Box<dyn Predict>,
        record: Record,
    ) -> Model {
        Model { header, scaler, kept, predictor, record }
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

    /// The concrete kernels as people know them, where the training data had names: `on gene` for a view, `on [radius]`
    /// for up to three named columns.
    pub fn kernel_names(&self) -> Vec<String> {
        let named = !is_numbered(&self.header.features);
        let name = |text: &String| -> Option<String> {
            let (head, columns) = text.split_once(" on [")?;
            let (columns, tail) = columns.split_once(']')?;
            let view = self.header.views.iter().find_map(|view| view.strip_suffix(&format!("={columns}")));
            let kernel: Kernel = text.parse().ok()?;
            let columns = kernel.columns().indices(self.header.features.len());
            match view {
                Some(view) => Some(format!("{head} on {view}{tail}")),
                None if named && columns.len() <= 3 => {
                    let names: Option<Vec<&str>> =
                        columns.iter().map(|&column| self.header.features.get(column).map(String::as_str)).collect();
                    Some(format!("{head} on [{}]{tail}", names?.join(", ")))
                }
                None => None,
            }
        };
        self.header.resolved.iter().map(|text| name(text).unwrap_or_else(|| text.clone())).collect()
    }

    /// One weight per kernel, for methods that have them.
    pub fn weights(&self) -> Option<&[f64]> {
        self.predictor.weights()
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
        self.predictor.facts()
    }

    /// What a user should know, such as a solver that did not converge.
    pub fn warnings(&self) -> Vec<String> {
        self.predictor.warnings()
    }

    /// What a reader needs to bring a file into the model's order of features.
    pub fn expect(&self) -> Expect {
        let index_base = self.header.index_base.and_then(|base| u8::try_from(base).ok());
        Expect::new(self.header.features.clone(), self.header.label.clone(), index_base)
    }

    /// Labels and scores of rows, with the machine's threads. Columns are matched by name, in any order; rows without
    /// names of their own ([`Samples::unnamed`]) by position. Cost per row: one kernel value per
    /// kept training row and kernel whose weight is not zero.
    pub fn predict(&self, samples: &Samples) -> Result<Prediction> {
        self.predict_in(samples, &Pool::new(0)?)
    }

    /// [`Model::predict`] with given threads.
    pub fn predict_in(&self, samples: &Samples, pool: &Pool) -> Result<Prediction> {
        let scores = self.batches(samples, pool, |input| self.predictor.scores(input, pool))?;
        if let Some(row) = scores.rows().position(|row| row.iter().any(|score| score.is_nan())) {
            return Err(Error::input(format!(
                "row {}: its values are so far from the training rows that a kernel overflows; correct the row, or train \
                 without `raw`",
                row + 1
            )));
        }
        let label = |row: &[f64]| (0..row.len()).rev().max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap_or(0);
        Ok(Prediction { labels: scores.rows().map(label).collect(), scores })
    }

    /// Class probabilities of rows (n_samples x n_classes); an error for methods that have none.
    pub fn probabilities(&self, samples: &Samples, pool: &Pool) -> Result<Matrix> {
        self.batches(samples, pool, |input| {
            self.predictor.probabilities(input, pool)?.ok_or_else(|| {
                Error::input(format!(
                    "the method {} gives scores but no probabilities; ask for scores instead",
                    self.method()
                ))
            })
        })
    }

    /// Runs `f` on the rows a batch at a time: rows are independent, so the cut changes nothing but memory.
    fn batches(&self, samples: &Samples, pool: &Pool, f: impl Fn(Input<'_>) -> Result<Matrix>) -> Result<Matrix> {
        let rows = self.scaler.apply(&*self.ordered(samples)?)?;
        let per_row = 8 * self.kept.rows.n_rows().max(rows.n_cols()).max(1);
        let size = (BATCH_BYTES / per_row).clamp(1, 4096);
        let n_classes = self.header.classes.len();
        let mut data = Vec::with_capacity(rows.n_rows() * n_classes);
        for start in (0..rows.n_rows()).step_by(size) {
            let batch: Vec<usize> = (start..(start + size).min(rows.n_rows())).collect();
            let batch = rows.select_rows(&batch);
            let result = if self.header.kernels.is_some() {
                f(Input::Stack(&self.stack(&batch, pool)?))?
            } else {
                f(Input::Rows(&Rows::new(&batch, None)))?
            };
            data.extend_from_slice(result.data());
        }
        Matrix::from_vec(rows.n_rows(), n_classes, data)
    }

    fn stack(&self, rows: &Features, pool: &Pool) -> Result<Stack> {
        let kept = &self.kept;
        // Dense and sparse kernels may round differently: a row has to get the same scores whichever way it came.
        let rows = &*rows.like(&kept.rows)?;
        let building = Building { precision: self.precision(), storage: Storage::Tiled, ..Building::new(pool) };
        let stack = Stack::cross(rows, &kept.rows, &kept.kernels, &kept.centring, &building)?;
        if kept.columns.iter().copied().eq(0..kept.rows.n_rows()) {
            return Ok(stack);
        }
        stack.between(&(0..rows.n_rows()).collect::<Vec<_>>(), &kept.columns)
    }

    /// The features in the model's order: matched by name if the names are the same in another order.
    fn ordered<'a>(&self, samples: &'a Samples) -> Result<Cow<'a, Features>> {
        let (wanted, found) = (&self.header.features, samples.names());
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

    /// Writes the model to a file, atomically. Equal models give equal bytes.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let mut record = self.header.encode();
        record.put("scaler.mean", &self.scaler.mean().to_vec());
        record.put("scaler.scale", &self.scaler.scale().to_vec());
        record.put("points", &self.kept.rows);
        record.put("columns", &self.kept.columns);
        for (m, centring) in self.kept.used.iter().zip(&self.kept.centring) {
            if let Some(centring) = centring {
                record.put(&format!("centring.{m}.means"), &centring.means);
                record.put(&format!("centring.{m}.grand"), &centring.grand);
            }
        }
        record.put_record("model", self.record.clone());
        file::write(path.as_ref(), Kind::Model, &record)
    }

    /// Reads a model of one of the standard methods.
    pub fn load(path: impl AsRef<Path>) -> Result<Model> {
        Model::load_with(path, &Registry::standard())
    }

    /// Reads a model of one of the methods of a registry.
    pub fn load_with(path: impl AsRef<Path>, registry: &Registry) -> Result<Model> {
        let path = path.as_ref();
        let record = file::read(path, Kind::Model)?;
        // What a checked file lacks is a fault of the file: say which.
        Model::decode(&record, registry).map_err(|error| match error {
            Error::Io { .. } | Error::File { .. } => error,
            other => Error::file(path, format!("cannot be used: {other}")),
        })
    }

    fn decode(record: &Record, registry: &Registry) -> Result<Model> {
        let header = Header::decode(record)?;
        if let Some(name) = record.nan() {
            return Err(Error::input(format!("its array `{name}` holds NaN")));
        }
        let scaler = Scaler::from_parts(record.take("scaler.mean")?, record.take("scaler.scale")?)?;
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
        let kernels = used.iter().map(|&m| all[m].clone()).collect();
        let kept = Kept { used, rows: record.take("points")?, columns: record.take("columns")?, kernels, centring };
        let fits = kept.rows.n_cols() == header.features.len()
            && scaler.mean().len() == header.features.len()
            && kept.columns.iter().all(|&column| column < kept.rows.n_rows())
            && kept.kernels.iter().all(|kernel| kernel.columns().end() <= header.features.len());
        if !fits {
            return Err(Error::input("its arrays do not fit its number of features"));
        }
        if predictor.points().len() != kept.columns.len() {
            return Err(Error::input("it has not one kept row per point"));
        }
        Ok(Model { header, scaler, kept, predictor, record: method })
    }
}
