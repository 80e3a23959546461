//! What a method ends with: a model that scores points, and what else it may be able to do.
//!
//! [`Predict`] and [`Explain`] are what every model has. [`Probabilistic`] and [`Clusterer`] are for those that can: a
//! model implements them and says so through [`Predict::probabilistic`] and [`Predict::clustering`].

use super::coefficients::Coefficients;
use super::input::Input;
use crate::draws::Draws;
use crate::error::Result;
use crate::linalg::Matrix;
use crate::pool::Pool;

/// A trained model, without the data handling around it: scores for points.
///
/// ```
/// use multikernel::run::{Explain, Input, Predict};
/// use multikernel::{Matrix, Pool, Result};
///
/// /// Scores two classes by the sign of the first column.
/// struct Sign;
///
/// impl Predict for Sign {
///     fn scores(&self, input: Input<'_>, _: &Pool) -> Result<Matrix> {
///         let rows = input.rows()?;
///         Ok(Matrix::from_fn(rows.n_rows(), 2, |i, class| if class == 0 { -rows.get(i, 0) } else { rows.get(i, 0) }))
///     }
/// }
///
/// impl Explain for Sign {}
/// ```
pub trait Predict: Explain + Send + Sync {
    /// A score for each point (row) and class (column): larger is more likely, and the first largest is the label.
    /// Scores of one class should be comparable between rows, since AUROC and AUPRC rank rows by them (two classes by
    /// the difference of their scores): log joint densities, say, have to be normalised row by row. The stack given has
    /// the columns that [`Predict::points`] and the kernels that [`Predict::kernels`] asked for.
    fn scores(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix>;

    /// A number for each point and class from which probabilities can be learned: larger is more likely, of one kind
    /// for all classes, and smooth, which votes are not. The scores unless there is something better.
    fn margins(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        self.scores(input, pool)
    }

    /// The rows of the training data the scores are computed from, in the order of the stack's columns.
    fn points(&self) -> &[usize] {
        &[]
    }

    /// The kernels of the bank the scores are computed from, ascending: the stack handed to [`Predict::scores`] has
    /// these and no others, so that kernels of weight zero cost nothing. `None` for all.
    fn kernels(&self) -> Option<Vec<usize>> {
        None
    }

    /// Whether its arrays fit together and the numbers of kernels and classes: called when it is read from a file,
    /// where a checksum says that nothing was damaged, not that all lengths are right.
    fn check(&self, _n_kernels: usize, _n_classes: usize) -> Result<()> {
        Ok(())
    }

    /// The model as one that has class probabilities of its own; `None` where it has scores alone.
    fn probabilistic(&self) -> Option<&dyn Probabilistic> {
        None
    }

    /// The model as a clustering; `None` where it is none.
    fn clustering(&self) -> Option<&dyn Clusterer> {
        None
    }
}

/// What a model says about itself and its kernels. Nothing has to be said: `impl Explain for MyModel {}` will do.
pub trait Explain {
    /// One weight per kernel of the bank, for models that have them.
    fn weights(&self) -> Option<&[f64]> {
        None
    }

    /// One weight per kernel (rows) and class (columns), for models whose classes weigh kernels each in their own way.
    fn class_weights(&self) -> Option<Matrix> {
        None
    }

    /// For models whose decisions are `f_p(x) = sum_i coef_ip sum_m weights_m k_m(x_i, x) + bias_p` over their points:
    /// the coefficients, from which each kernel's share of the decisions is found.
    fn coefficients(&self) -> Option<&Coefficients> {
        None
    }

    /// Intervals of the kernel weights, for models that have a distribution for each; those of draws come from
    /// [`Explain::draws`].
    fn intervals(&self) -> Option<Intervals> {
        None
    }

    /// What was drawn, for models that are a sample of many: a variable `weights` along `kernel`, and what else is
    /// worth a look. The model that holds this one fills in the names of kernels and classes.
    fn draws(&self) -> Option<Draws> {
        None
    }

    /// Facts for `inspect`: name and value.
    fn facts(&self) -> Vec<(String, String)> {
        vec![]
    }

    /// What a user should know, such as a solver that did not converge and what to change.
    fn warnings(&self) -> Vec<String> {
        vec![]
    }
}

/// A model with class probabilities of its own.
pub trait Probabilistic: Predict {
    /// The probability of each class (columns) for each point (rows); rows add up to 1. The scores unless these are
    /// something else.
    fn probabilities(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        self.scores(input, pool)
    }
}

/// A model that puts points into clusters, whatever their class.
pub trait Clusterer {
    /// The cluster of each training row.
    fn clusters(&self) -> &[usize];

    /// The clusters of new rows.
    fn place(&self, input: Input<'_>, pool: &Pool) -> Result<Placed>;

    /// How much each column (columns) matters to the kernel of each cluster (rows), adding up to 1 for each cluster;
    /// `None` where clusters have no kernels of their own.
    fn relevance(&self) -> Option<Matrix> {
        None
    }
}

/// Where a clustering puts rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// The cluster of each row.
    pub clusters: Vec<usize>,
    /// ln density of each row, for models that have one.
    pub density: Option<Vec<f64>>,
}

/// What is known of each kernel weight, for models that have a distribution for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Intervals {
    /// How much of the distribution an interval covers, the rest in equal parts on both sides.
    pub level: f64,
    /// The interval of each kernel of the bank.
    pub bounds: Vec<(f64, f64)>,
    /// That of every kernel before any data.
    pub prior: (f64, f64),
    /// What they hold under.
    pub note: String,
}

/// The label of a row of scores: the first largest.
pub(crate) fn first_largest(scores: &[f64]) -> usize {
    (0..scores.len()).rev().max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap_or(0)
}
