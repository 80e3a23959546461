//! Models in files: the header, what is kept of the training rows, and the method's own fields.

use std::path::Path;

use super::header::Header;
use super::kept::{Kept, Learned};
use super::numbers::Units;
use super::predict::Model;
use crate::data::{Preprocessor, Presence, Scaler};
use crate::error::{Error, Result};
use crate::features::Features;
use crate::file::{self, Codec, Kind, Record};
use crate::kernel::{Columns, Kernel};
use crate::plan::registry::Registry;
use crate::plan::views::{Missing, Places};
use crate::run::Calibration;
use crate::stack::{Centring, Points};

impl Model {
    /// Writes the model to a file, atomically. Equal models give equal bytes.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        file::write(path.as_ref(), Kind::Model, &self.to_record())
    }

    /// The bytes of the model's file, as [`Model::save`] writes them and [`Model::from_bytes`] reads them.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        file::bytes(Kind::Model, &self.to_record())
    }

    fn to_record(&self) -> Record {
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
        record
    }

    /// Fields that models of the first two format versions never had.
    fn put_newer(&self, record: &mut Record) {
        if self.kept.missing != Missing::Skip {
            record.put_newer("missing", one("mode", &self.kept.missing.word().to_string()));
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
        if let Some(class) = &self.learned.one_class {
            record.put_newer("one_class", one("class", class));
        }
        if let Some(calibration) = &self.learned.calibration {
            record.put_newer("calibration", calibration.encode());
        }
        if self.predictor.survival().is_some() {
            record.needs_fifth_version();
        }
        if let Some(units) = &self.learned.units {
            record.put_newer("numbers", units.encode());
            record.needs_fifth_version();
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
        // Anything missing from a verified file is the file's fault: name the file.
        Model::decode(record, registry).map_err(|error| match error {
            Error::Io { .. } | Error::File { .. } => error,
            other => Error::file(path, format!("cannot be used: {other}")),
        })
    }

    fn decode(record: &Record, registry: &Registry) -> Result<Model> {
        let mut header = Header::decode(record)?;
        header.kernels.read(registry.families())?;
        if let Some(name) = record.nan() {
            return Err(Error::input(format!("its array `{name}` holds NaN")));
        }
        if let Some(name) = record.huge() {
            return Err(Error::input(format!("its count `{name}` is larger than that of any run")));
        }
        let method = record.take_record("model");
        let predictor = registry.get(&header.method)?.decode(&method)?;
        let units = newer(record, "numbers", |inner| Units::decode(&inner))?;
        units.as_ref().map_or(Ok(()), Units::check)?;
        let n_outputs = match &units {
            Some(units) => units.names.len(),
            None if predictor.survival().is_some() => 1,
            None => header.classes.len(),
        };
        predictor.check(header.kernels.len(), n_outputs)?;
        if units.is_some() != predictor.regressor().is_some() {
            return Err(Error::input("it predicts numbers but lacks their units, or has units but predicts classes"));
        }
        let learned = Learned {
            units,
            shares: newer(record, "shares", |inner| inner.take("values"))?,
            tuned: newer(record, "tuned", |inner| inner.take("line"))?,
            one_class: newer(record, "one_class", |inner| inner.take("class"))?,
            calibration: newer(record, "calibration", |inner| Calibration::decode(&inner))?,
            stream: newer(record, "stream", Ok)?,
        };
        let used = predictor.kernels().unwrap_or_else(|| (0..header.kernels.len()).collect());
        let kept = decode_kept(record, &header, used)?;
        let model = Model { header, kept, learned, predictor, record: method };
        model.check()?;
        Ok(model)
    }

    /// Whether the parts of a file are consistent.
    fn check(&self) -> Result<()> {
        let (kept, header) = (&self.kept, &self.header);
        let n_columns = kept.preprocessor.names().len();
        let longest = kept.diagonals.iter().map(|(_, diagonal)| diagonal.len()).min();
        let fits = kept.points.features().n_cols() == n_columns
            && kept.preprocessor.n_features() == header.features.len()
            && kept.columns.iter().all(|&column| column < kept.points.n_points())
            && kept.at.iter().all(|&at| longest.is_none_or(|n| at < n))
            && header.kernels.iter().all(|kernel| kernel.columns().end() <= n_columns)
            && header
                .kernels
                .iter()
                .filter_map(Kernel::gram)
                .all(|name| kept.diagonals.iter().any(|(known, _)| known == name))
            && self.learned.shares.as_ref().is_none_or(|shares| shares.len() == header.kernels.len());
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

/// What is kept of the training rows; `used` are the kernels that the scores are computed from.
fn decode_kept(record: &Record, header: &Header, used: Vec<usize>) -> Result<Kept> {
    let preprocessor = match newer(record, "preprocess", |inner| Preprocessor::decode(&inner))? {
        Some(preprocessor) => preprocessor,
        None => {
            let scaler = Scaler::from_parts(record.take("scaler.mean")?, record.take("scaler.scale")?)?;
            Preprocessor::of_scaler(scaler, &header.features, &header.views)?
        }
    };
    let presence = newer(record, "presence", |inner| {
        Presence::from_parts(inner.take("n_views")?, &inner.take::<Vec<u64>>("flags")?)
    })?;
    let features: Features = record.take("points")?;
    let columns: Vec<usize> = record.take("columns")?;
    let grams = newer(record, "grams", Ok)?;
    // Rows without values take no bytes, and everything below grows with them: what refers to them bounds them.
    if features.n_cols() == 0 {
        let named = grams.as_ref().map_or(Ok(columns.len()), |grams| Ok(grams.take::<Vec<usize>>("at")?.len()))?;
        if features.n_rows() > named {
            return Err(Error::input(format!("`points` has {} rows without values for {named}", features.n_rows())));
        }
    }
    let mut points = Points::from(&features).with_units(preprocessor.units())?;
    if let Some(presence) = &presence {
        points = points.with_presence(presence, preprocessor.views(), &header.kernels)?;
    }
    let (mut diagonals, mut at): (_, Vec<usize>) = (vec![], (0..features.n_rows()).collect());
    if let Some(grams) = grams {
        at = grams.take("at")?;
        for (g, name) in grams.take::<Vec<String>>("names")?.into_iter().enumerate() {
            diagonals.push((name, grams.take::<Vec<f64>>(&format!("diagonal.{g}"))?));
        }
        points = points.with_grams(&[], &at)?;
    }
    let views = Places::of(&preprocessor).kernels_of_views(&header.kernels);
    Ok(Kept {
        preprocessor,
        missing: newer(record, "missing", |inner| inner.take::<String>("mode")?.parse())?.unwrap_or_default(),
        sets: newer(record, "sets", decode_sets)?.unwrap_or_default(),
        views,
        points,
        presence,
        at,
        diagonals,
        columns,
        kernels: used.iter().map(|&m| header.kernels[m].clone()).collect(),
        centring: decode_centring(record, &header.kernels, &used)?,
        used,
        label_column: newer(record, "label_column", |inner| inner.take("words"))?,
        id_name: newer(record, "id", |inner| inner.take("name"))?,
    })
}

/// The feature sets: their names, and the columns of each as [`Columns`] prints them.
fn decode_sets(record: Record) -> Result<Vec<(String, Columns)>> {
    let (names, columns) = (record.take::<Vec<String>>("names")?, record.take::<Vec<String>>("columns")?);
    names.into_iter().zip(&columns).map(|(name, columns)| Ok((name, columns.parse()?))).collect()
}

/// The training means of the used kernels that are centred.
fn decode_centring(record: &Record, kernels: &[Kernel], used: &[usize]) -> Result<Vec<Option<Centring>>> {
    let centring = |&m: &usize| -> Result<Option<Centring>> {
        if !kernels[m].is_centred() {
            return Ok(None);
        }
        let field = |name: &str| format!("centring.{m}.{name}");
        Ok(Some(Centring { means: record.take(&field("means"))?, grand: record.take(&field("grand"))? }))
    };
    used.iter().map(centring).collect()
}

/// A record of one field.
fn one<T: file::Field>(name: &str, field: &T) -> Record {
    let mut record = Record::default();
    record.put(name, field);
    record
}

/// A field that newer files may have and older ones lack.
fn newer<T>(record: &Record, name: &str, read: impl FnOnce(Record) -> Result<T>) -> Result<Option<T>> {
    let inner = record.take_record(name);
    if inner.is_empty() { Ok(None) } else { read(inner).map(Some) }
}
