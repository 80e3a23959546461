//! What is known about points besides their features: precomputed Gram matrices, and which views each point has.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use crate::data::{Gram, Presence, Scaler, View};
use crate::error::{Error, Remedy, Result, message};
use crate::features::Features;
use crate::kernel::{Base, Columns, Kernel};
use crate::linalg::Matrix;

/// The points between which kernels are evaluated: their features and, if any, the Gram matrices they have a row in and
/// the views they lack. Cloning is cheap.
///
/// For points that lack views, kernel m becomes `K~_m = S A_m K_m A_m S`: `A_m` is 1 for points that have every view
/// the kernel uses, else 0, and `S_ii = (mean_m a_mi)^-1/2`. Every kernel stays positive semidefinite, and the uniform
/// combination of kernels with unit diagonal has a unit diagonal, whatever is missing. There is no radial collapse
/// then.
#[derive(Clone, Debug, Default)]
pub struct Points {
    features: Arc<Features>,
    grams: Arc<[Gram]>,
    /// The place of each matrix by its name.
    places: Arc<HashMap<String, usize>>,
    /// The row (and, for training points, column) of the Gram matrices for each point.
    at: Arc<[usize]>,
    known: Option<Arc<Known>>,
    /// What the columns were scaled by, for `unscaled` kernels.
    units: Option<Arc<Scaler>>,
}

/// Which views the points have, and the factors their kernels are multiplied by.
#[derive(Debug)]
struct Known {
    presence: Presence,
    views: Vec<View>,
    scale: Vec<f64>,
}

impl From<&Features> for Points {
    fn from(features: &Features) -> Points {
        Points { features: Arc::new(features.clone()), ..Points::default() }
    }
}

impl From<&Matrix> for Points {
    fn from(rows: &Matrix) -> Points {
        Points { features: Arc::new(rows.clone().into()), ..Points::default() }
    }
}

impl From<&Points> for Points {
    fn from(points: &Points) -> Points {
        points.clone()
    }
}

impl Points {
    /// The same points, as the rows `at` of these Gram matrices.
    pub fn with_grams(mut self, grams: &[Gram], at: &[usize]) -> Result<Points> {
        if at.len() != self.n_points() {
            let (n, found) = (self.n_points(), at.len());
            return Err(Error::input(format!("{n} points but {found} rows of Gram matrices; give one each")));
        }
        let most = at.iter().copied().max();
        if let Some(gram) = grams.iter().find(|gram| most.is_some_and(|most| most >= gram.n_rows())) {
            let (found, needed) = (gram.n_rows(), most.unwrap_or(0) + 1);
            return Err(gram.refuse(format!("has {found} rows, the data {needed}; give one per row of the data")));
        }
        let places = grams.iter().enumerate().rev().map(|(g, gram)| (gram.name().to_string(), g)).collect();
        (self.grams, self.at, self.places) = (grams.into(), at.into(), Arc::new(places));
        Ok(self)
    }

    /// The same points, whose columns were scaled so: `unscaled` kernels look at them as they were before. An error if there
    /// are more or fewer columns.
    pub fn with_units(mut self, units: Option<&Scaler>) -> Result<Points> {
        if let Some(units) = units.filter(|units| units.mean().len() != self.features.n_cols()) {
            let (found, known) = (self.features.n_cols(), units.mean().len());
            return Err(Error::input(format!("the points have {found} columns, the scaler was learned on {known}")));
        }
        self.units = units.cloned().map(Arc::new);
        Ok(self)
    }

    /// The features that a group of kernels looks at.
    pub(super) fn features_of(&self, unscaled: bool) -> Cow<'_, Features> {
        // Checked earlier: a stack of unscaled kernels is never built without units of as many columns.
        let own = self.units.as_ref().filter(|_| unscaled).and_then(|units| units.undo(&self.features).ok());
        own.map_or(Cow::Borrowed(&*self.features), Cow::Owned)
    }

    /// Checks that columns have units if a kernel looks at them unscaled.
    pub(super) fn check_units(&self, kernels: &[Kernel]) -> Result<()> {
        match kernels.iter().find(|kernel| kernel.is_unscaled()) {
            Some(kernel) if self.units.is_none() => Err(Error::input(format!(
                "{kernel} needs to know how its columns were scaled; give it with Points::with_units"
            ))),
            _ => Ok(()),
        }
    }

    /// The same points with some views missing. `kernels` is the whole bank, over which `S` averages. A point for which
    /// no kernel has all its views has zero kernels: see [`Points::n_unknown`].
    pub fn with_presence(mut self, presence: &Presence, views: &[View], kernels: &[Kernel]) -> Result<Points> {
        let n = self.n_points();
        if presence.n_rows() != n || presence.n_views() != views.len() {
            return Err(Error::input("presence must have one row per point and one column per view"));
        }
        let mut counts = vec![0usize; n];
        // The kernels of a bank use few distinct sets of columns.
        let mut by_columns: HashMap<&Columns, usize> = HashMap::new();
        kernels.iter().for_each(|kernel| *by_columns.entry(kernel.columns()).or_default() += 1);
        for (columns, kernels) in by_columns {
            for (count, has) in counts.iter_mut().zip(has_all(presence, views, columns)) {
                *count += if has { kernels } else { 0 };
            }
        }
        // A point without any usable kernel has zero kernels: S is 0 there, not infinite.
        let known = |count: usize| if count == 0 { 0.0 } else { (kernels.len() as f64 / count as f64).sqrt() };
        let scale = counts.iter().map(|&count| known(count)).collect();
        self.known = Some(Arc::new(Known { presence: presence.clone(), views: views.to_vec(), scale }));
        Ok(self)
    }

    /// Number of points.
    pub fn n_points(&self) -> usize {
        self.features.n_rows()
    }

    /// Number of points without any usable kernel, because each uses a view they lack: only a bias decides on them.
    pub fn n_unknown(&self) -> usize {
        self.known.as_ref().map_or(0, |known| known.scale.iter().filter(|&&scale| scale == 0.0).count())
    }

    /// Their features.
    pub fn features(&self) -> &Features {
        &self.features
    }

    /// Some of the points, in the given order; panics on a point outside, as slices do.
    #[must_use]
    pub fn select(&self, points: &[usize]) -> Points {
        let known = self.known.as_ref().map(|known| {
            Arc::new(Known {
                presence: known.presence.select(points),
                views: known.views.clone(),
                scale: points.iter().map(|&i| known.scale[i]).collect(),
            })
        });
        let at = if self.at.is_empty() { Arc::default() } else { points.iter().map(|&i| self.at[i]).collect() };
        let units = self.units.clone();
        let (features, grams) = (Arc::new(self.features.select_rows(points)), self.grams.clone());
        Points { features, grams, places: self.places.clone(), at, known, units }
    }

    pub(super) fn with_features(&self, features: Features) -> Points {
        Points { features: Arc::new(features), ..self.clone() }
    }

    /// The same points, treated by kernels as having all their views.
    pub(super) fn ungated(&self) -> Points {
        Points { known: None, ..self.clone() }
    }

    pub(super) fn is_gated(&self) -> bool {
        self.known.is_some()
    }

    /// `S A` of kernels on these columns: one number per point, 0 if it lacks a view they use.
    pub(super) fn gate(&self, columns: &Columns) -> Vec<f64> {
        match &self.known {
            None => vec![1.0; self.n_points()],
            Some(known) => {
                let has = has_all(&known.presence, &known.views, columns);
                has.zip(&known.scale).map(|(has, &scale)| if has { scale } else { 0.0 }).collect()
            }
        }
    }

    pub(super) fn gram(&self, name: &str) -> Option<&Gram> {
        self.places.get(name).and_then(|&g| self.grams.get(g))
    }

    /// The rows of the Gram matrices that correspond to the selected points.
    pub(super) fn at(&self, selected: &[usize]) -> Vec<usize> {
        selected.iter().map(|&i| self.at[i]).collect()
    }

    /// Checks that the Gram matrices of these kernels are present, with the diagonal they need.
    pub(super) fn check_grams(&self, kernels: &[Kernel], columns: Option<&Points>) -> Result<()> {
        let mut checked: Vec<&str> = vec![];
        for kernel in kernels {
            let Some(name) = kernel.gram() else { continue };
            let Some(gram) = self.gram(name) else {
                let known: Vec<&str> = self.grams.iter().map(Gram::name).collect();
                let known =
                    if known.is_empty() { "none was given".into() } else { format!("given: {}", known.join(", ")) };
                return Err(Error::input(message![
                    format!("{kernel} needs a Gram matrix that is not there ({known}); give it with "),
                    Remedy::Gram(name.into())
                ]));
            };
            if gram.row_diagonal().is_empty() && kernel.base() == Base::GivenCosine {
                return Err(gram.refuse(message![
                    format!("comes without the diagonal k(x, x) of its rows, which {kernel} divides by; give it with "),
                    Remedy::GramDiagonal(name.into()),
                    ", or train with `raw`"
                ]));
            }
            let most = columns.map_or(&self.at, |columns| &columns.at).iter().copied().max();
            if columns.is_none() && !gram.is_square() {
                return Err(gram.refuse("must be square to train on"));
            }
            if most.is_some_and(|most| most >= gram.n_cols()) {
                let (found, needed) = (gram.n_cols(), most.unwrap_or(0) + 1);
                return Err(gram.refuse(format!("has {found} columns; the training data needs {needed}")));
            }
            let new = checked.iter().all(|known| *known != name);
            if new && kernel.family().takes_distances() {
                self.check_distances(kernel, gram, columns)?;
                checked.push(name);
            }
        }
        Ok(())
    }

    /// Checks that a matrix holds distances between these points and the columns: none below 0, and between a point and
    /// itself 0.
    fn check_distances(&self, kernel: &Kernel, gram: &Gram, columns: Option<&Points>) -> Result<()> {
        let place =
            |i: usize, j: usize| format!("holds {} in row {}, column {}", gram.values().get(i, j), i + 1, j + 1);
        for &i in self.at.iter() {
            if columns.is_none() && gram.values().get(i, i) != 0.0 {
                let what = place(i, i);
                return Err(gram.refuse(format!("{what}; {kernel} needs distances, and a row has none from itself")));
            }
            for &j in columns.map_or(&self.at, |columns| &columns.at).iter() {
                if gram.values().get(i, j) < 0.0 {
                    return Err(gram.refuse(format!("{}; {kernel} needs distances, none below 0", place(i, j))));
                }
            }
        }
        Ok(())
    }
}

/// Whether each point has all the views these columns belong to; columns outside every view are always present.
fn has_all<'a>(presence: &'a Presence, views: &[View], columns: &Columns) -> impl Iterator<Item = bool> + use<'a> {
    let touched: Vec<usize> = (0..views.len()).filter(|&v| touches(columns, &views[v])).collect();
    (0..presence.n_rows()).map(move |i| touched.iter().all(|&v| presence.has(i, v)))
}

fn touches(columns: &Columns, view: &View) -> bool {
    match columns.ranges() {
        None => true,
        Some(ranges) => ranges.iter().any(|range| range.start < view.columns.end && view.columns.start < range.end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_without_any_kernel_are_known_as_such_and_zero() {
        let rows: Features = Matrix::from_vec(2, 2, vec![1.0, f64::NAN, 2.0, 3.0]).unwrap().into();
        let views: Vec<View> = (0..2).map(|v| View { name: format!("v{v}"), columns: v..v + 1 }).collect();
        let presence = Presence::of(&rows, &views).unwrap();
        let filled: Features = Matrix::zeros(2, 2).into();
        let kernels = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<Kernel>>();
        let with = |texts: &[&str]| Points::from(&filled).with_presence(&presence, &views, &kernels(texts));
        let points = with(&["gaussian(1)", "linear on [1]"]).unwrap();
        assert_eq!((points.n_unknown(), points.gate(&Columns::from_positions([1]))), (1, vec![0.0, 1.0]));
        let points = with(&["gaussian(1)", "linear on [0]", "linear on [0] raw"]).unwrap();
        assert_eq!(points.n_unknown(), 0);
        assert_eq!(points.gate(&Columns::from_positions([0])), [1.5f64.sqrt(), 1.0]);
        assert_eq!(points.gate(&Columns::from_positions([1])), [0.0, 1.0]);
    }
}
