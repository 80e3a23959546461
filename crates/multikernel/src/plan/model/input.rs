//! The rows a model accepts, and their preprocessing before the kernels.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::header::Header;
use super::kept::Kept;
use crate::data::{Expect, Kind, Samples, Scale, ToldKind, View, is_numbered};
use crate::error::{Error, Result};
use crate::features::Features;
use crate::plan::views::Missing;

/// The rows that a [`Model`](super::Model) accepts, from [`Model::input`](super::Model::input): the columns it was
/// trained on, and their preprocessing.
///
/// ```
/// use multikernel::{Plan, data::{Scale, bundled}};
/// let data = bundled("wdbc")?;
/// let model = Plan::new("average")?.train(&data)?;
/// let input = model.input();
/// assert_eq!((input.features().len(), input.scale()), (30, Scale::Standard));
/// assert_eq!(input.scaled(&data.samples)?.n_rows(), 569);
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct ModelInput<'a> {
    pub(super) header: &'a Header,
    pub(super) kept: &'a Kept,
}

impl<'a> ModelInput<'a> {
    /// Names of the features, in the model's order.
    pub fn features(self) -> &'a [String] {
        &self.header.features
    }

    /// The views of these features; empty for data without views.
    pub fn views(self) -> &'a [View] {
        &self.header.views
    }

    /// How rows that lack views are treated.
    pub fn missing(self) -> Missing {
        self.kept.missing
    }

    /// The label column of the training data: its name, or its position in a file without names.
    pub fn label(self) -> Option<&'a str> {
        self.header.label.as_deref().or(self.kept.label_column.as_deref())
    }

    /// The column of sample ids on which the views of the training data were joined; `None` for data from one file.
    pub fn id_name(self) -> Option<&'a str> {
        self.kept.id_name.as_deref()
    }

    /// k(x, x) of all training rows in each Gram matrix the model's kernels need, for checking new rows against.
    pub fn gram_diagonals(self) -> &'a [(String, Vec<f64>)] {
        &self.kept.diagonals
    }

    /// What a reader needs to bring a file into the model's order of features.
    pub fn expect(self) -> Expect {
        let index_base = self.header.index_base.and_then(|base| u8::try_from(base).ok());
        Expect::new(self.header.features.clone(), self.header.label.clone(), index_base)
            .with_views(self.header.views.clone())
            .with_classes(self.header.classes.clone())
            .with_kinds(self.kept.preprocessor.kinds().to_vec())
    }

    /// What the features hold, in the model's order.
    pub fn kinds(self) -> Vec<Kind> {
        self.told_kinds().iter().map(|told| told.kind).collect()
    }

    /// What the features hold, in the model's order, with what was said about it: levels in their order, how dates are
    /// written.
    pub fn told_kinds(self) -> Vec<ToldKind> {
        match self.kept.preprocessor.kinds() {
            [] => vec![Kind::Number.into(); self.header.features.len()],
            kinds => kinds.to_vec(),
        }
    }

    /// What rows hold that no training row did, such as new levels of categories and new words, one line each.
    pub fn unseen(self, samples: &Samples) -> Result<Vec<String>> {
        Ok(self.kept.preprocessor.unseen(self.ordered(samples)?.as_ref()))
    }

    /// How features are scaled.
    pub fn scale(self) -> Scale {
        self.header.scale
    }

    /// The columns of [`ModelInput::scaled`].
    pub fn scaled_names(self) -> &'a [String] {
        self.kept.preprocessor.names()
    }

    /// Rows as methods see them: scaled, with missing values filled in, and without dropped columns. Columns are
    /// matched as by [`Model::predict`](super::Model::predict).
    pub fn scaled(self, samples: &Samples) -> Result<Features> {
        self.kept.preprocessor.apply_samples(self.ordered(samples)?.as_ref())
    }

    /// The rows with their features in the model's order.
    pub(crate) fn ordered<'s>(self, samples: &'s Samples) -> Result<Cow<'s, Samples>> {
        ordered(&self.header.features, samples)
    }
}

/// The rows with features in the order of these names: matched by name if the names are the same in a different order.
pub(in crate::plan) fn ordered<'a>(wanted: &[String], samples: &'a Samples) -> Result<Cow<'a, Samples>> {
    let found = samples.names();
    if wanted.len() != found.len() {
        return Err(Error::input(format!(
            "rows have {} features, the model was trained with {}; give the same columns as in training",
            found.len(),
            wanted.len()
        )));
    }
    if wanted == found {
        return Ok(Cow::Borrowed(samples));
    }
    let place: BTreeMap<&str, usize> = found.iter().enumerate().map(|(i, name)| (name.as_str(), i)).collect();
    match wanted.iter().map(|name| place.get(name.as_str()).copied()).collect::<Option<Vec<usize>>>() {
        Some(order) => Ok(Cow::Owned(samples.select_columns(&order))),
        None if is_numbered(found) => Ok(Cow::Borrowed(samples)),
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
