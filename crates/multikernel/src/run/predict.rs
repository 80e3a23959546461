//! The model a method produces: it scores points, and may have further capabilities.
//!
//! Every model has [`Predict`] and [`Explain`]. [`Probabilistic`], [`Regressor`], [`Survival`], [`Clusterer`] and
//! [`Additive`] are optional: a model that implements them announces it through [`Predict::probabilistic`],
//! [`Predict::regressor`], [`Predict::survival`], [`Predict::clustering`] and [`Predict::additive`].

use super::coefficients::Coefficients;
use super::input::Input;
use crate::draws::Draws;
use crate::error::Result;
use crate::file::record;
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
    /// the difference of their scores): log joint densities, say, have to be normalised row by row. The stack has the
    /// columns requested by [`Predict::points`] and the kernels requested by [`Predict::kernels`].
    fn scores(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix>;

    /// A number for each point and class from which probabilities can be learned: larger is more likely, of one kind
    /// for all classes, and smooth, which votes are not. Defaults to the scores.
    fn margins(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        self.scores(input, pool)
    }

    /// The training rows the scores are computed from, in the order of the stack's columns.
    fn points(&self) -> &[usize] {
        &[]
    }

    /// The kernels of the bank the scores are computed from, ascending: the stack passed to [`Predict::scores`] has
    /// only these, so that kernels of weight zero cost nothing. `None` for all.
    fn kernels(&self) -> Option<Vec<usize>> {
        None
    }

    /// Whether its arrays are consistent with each other and with the numbers of kernels and of scores (classes, or
    /// numbers to predict): called when it is
    /// read from a file, where a checksum shows that nothing was damaged, not that all lengths are right.
    fn check(&self, _n_kernels: usize, _n_classes: usize) -> Result<()> {
        Ok(())
    }

    /// The model as one with class probabilities of its own; `None` if it has only scores.
    fn probabilistic(&self) -> Option<&dyn Probabilistic> {
        None
    }

    /// Whether it predicts the same for every row by design, so that nobody need be warned of it.
    fn is_constant(&self) -> bool {
        false
    }

    /// The model as one of numbers; `None` if it predicts classes.
    fn regressor(&self) -> Option<&dyn Regressor> {
        None
    }

    /// The model as one of times; `None` if it predicts something else.
    fn survival(&self) -> Option<&dyn Survival> {
        None
    }

    /// The model as a clustering; `None` if it is not one.
    fn clustering(&self) -> Option<&dyn Clusterer> {
        None
    }

    /// The model as one whose decisions are sums over kernels; `None` if they are not.
    fn additive(&self) -> Option<&dyn Additive> {
        None
    }
}

/// A model's account of itself and its kernels. Everything is optional: `impl Explain for MyModel {}` will do.
pub trait Explain {
    /// One weight per kernel of the bank, for models that have them.
    fn weights(&self) -> Option<&[f64]> {
        None
    }

    /// One weight per kernel (rows) and class (columns), for models with kernel weights per class.
    fn class_weights(&self) -> Option<Matrix> {
        None
    }

    /// For models whose decisions are `f_p(x) = sum_i coef_ip sum_m weights_m k_m(x_i, x) + bias_p` over their points:
    /// the coefficients, from which each kernel's share of the decisions is computed.
    fn coefficients(&self) -> Option<&Coefficients> {
        None
    }

    /// Whether each kernel has coefficients of its own: shares are then those of its parts ([`Additive`]).
    fn has_own_coefficients(&self) -> bool {
        false
    }

    /// The models whose mean this one is: its shares are the means of theirs. None for all others.
    fn members(&self) -> Vec<&dyn Predict> {
        vec![]
    }

    /// Intervals of the kernel weights, for models with a distribution for each; those of samplers come from
    /// [`Explain::draws`].
    fn intervals(&self) -> Option<Intervals> {
        None
    }

    /// The draws, for models that are a sample: a variable `weights` along `kernel`, and whatever else is worth
    /// inspecting. The enclosing model fills in the names of kernels and classes.
    fn draws(&self) -> Option<Draws> {
        None
    }

    /// Facts for `inspect`: name and value.
    fn facts(&self) -> Vec<(String, String)> {
        vec![]
    }

    /// What was compared on inner folds, for models of methods that choose among candidates.
    fn compared(&self) -> Option<&Compared> {
        None
    }

    /// Lines on what was chosen, which the command line prints when training ends.
    fn told(&self) -> Vec<String> {
        vec![]
    }

    /// Warnings for the user, such as a solver that did not converge and what to change.
    fn warnings(&self) -> Vec<String> {
        vec![]
    }
}

/// Implements [`Predict`] and [`Explain`] for an enum of models by forwarding every call to `self.inner()`, a `&dyn
/// Predict`: one list of the traits' methods, so that none is forgotten where a default would stand in for it.
macro_rules! forward_to_inner {
    ($name:ty) => {
        impl $crate::run::Predict for $name {
            $crate::run::forward_to_inner! { @each
                fn scores(input: $crate::run::Input<'_>, pool: &$crate::pool::Pool) -> $crate::Result<$crate::Matrix>;
                fn margins(input: $crate::run::Input<'_>, pool: &$crate::pool::Pool) -> $crate::Result<$crate::Matrix>;
                fn points() -> &[usize];
                fn kernels() -> Option<Vec<usize>>;
                fn check(n_kernels: usize, n_outputs: usize) -> $crate::Result<()>;
                fn probabilistic() -> Option<&dyn $crate::run::Probabilistic>;
                fn is_constant() -> bool;
                fn regressor() -> Option<&dyn $crate::run::Regressor>;
                fn survival() -> Option<&dyn $crate::run::Survival>;
                fn clustering() -> Option<&dyn $crate::run::Clusterer>;
                fn additive() -> Option<&dyn $crate::run::Additive>;
            }
        }

        impl $crate::run::Explain for $name {
            $crate::run::forward_to_inner! { @each
                fn weights() -> Option<&[f64]>;
                fn class_weights() -> Option<$crate::Matrix>;
                fn coefficients() -> Option<&$crate::run::Coefficients>;
                fn has_own_coefficients() -> bool;
                fn members() -> Vec<&dyn $crate::run::Predict>;
                fn intervals() -> Option<$crate::run::Intervals>;
                fn draws() -> Option<$crate::draws::Draws>;
                fn facts() -> Vec<(String, String)>;
                fn compared() -> Option<&$crate::run::Compared>;
                fn told() -> Vec<String>;
                fn warnings() -> Vec<String>;
            }
        }
    };
    (@each $(fn $method:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(fn $method(&self, $($argument: $type),*) -> $result {
            self.inner().$method($($argument),*)
        })*
    };
}
pub(crate) use forward_to_inner;

/// A model for the target: one of classes, stored as it is, or one of something else, stored as a part of this name.
macro_rules! model_by_target {
    ($(#[$about:meta])* pub enum $name:ident {
        $(#[$about_classes:meta])* $classes:ident($of_classes:ty),
        $(#[$about_other:meta])* $other:ident($of_other:ty) as $part:literal,
    }) => {
        $(#[$about])*
        #[derive(Clone, Debug)]
        pub enum $name {
            $(#[$about_classes])*
            $classes($of_classes),
            $(#[$about_other])*
            $other($of_other),
        }

        impl $name {
            fn inner(&self) -> &dyn $crate::run::Predict {
                match self {
                    $name::$classes(model) => model,
                    $name::$other(model) => model,
                }
            }
        }

        impl $crate::file::Codec for $name {
            fn encode(&self) -> $crate::file::Record {
                match self {
                    $name::$classes(model) => model.encode(),
                    $name::$other(model) => {
                        let mut record = $crate::file::Record::default();
                        record.put_record($part, model.encode());
                        record
                    }
                }
            }

            fn decode(record: &$crate::file::Record) -> $crate::Result<Self> {
                let other = record.take_record($part);
                if other.is_empty() {
                    return <$of_classes>::decode(record).map($name::$classes);
                }
                <$of_other>::decode(&other).map($name::$other)
            }
        }

        $crate::run::forward_to_inner!($name);
    };
}
pub(crate) use model_by_target;

/// A model with class probabilities of its own.
pub trait Probabilistic: Predict {
    /// The probability of each class (columns) for each point (rows); rows add up to 1. Defaults to the scores.
    fn probabilities(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        self.scores(input, pool)
    }
}

/// A model of numbers: its [`Predict::scores`] are the predicted means, a column for each number.
pub trait Regressor: Predict {
    /// The variance of each number, noise included, for normal predictive distributions; `None` for models that have
    /// no distribution.
    fn variances(&self, _input: Input<'_>, _pool: &Pool) -> Result<Option<Matrix>> {
        Ok(None)
    }

    /// Whether its functions, and so its parts ([`Additive`]), are the logarithms of the numbers.
    fn predicts_logarithms(&self) -> bool {
        false
    }
}

/// A model of times to an event with proportional hazards: its [`Predict::scores`] are log risks, in one column.
pub trait Survival: Predict {
    /// The times of events in the training rows, ascending, and the baseline hazard cumulated up to each: a row with
    /// log risk f survives time t with the probability `exp(-H(t) exp(f))`.
    fn baseline(&self) -> (&[f64], &[f64]);
}

/// What a decision function decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Positive for the first class, negative for the second.
    Between(usize, usize),
    /// The larger, the more likely this class; or the value of this number; or, alone, the log risk.
    For(usize),
}

/// A model whose decisions are sums of functions, one for each kernel, and a constant: `f_p(x) = sum_m f_mp(x) +
/// bias_p`.
pub trait Additive: Predict {
    /// What each decision decides; problems without training rows are left out.
    fn decisions(&self) -> Vec<Decision>;

    /// The constant of each decision.
    fn biases(&self) -> Vec<f64>;

    /// The part of each kernel of the stack, that is of [`Predict::kernels`], in each decision (columns) for each point
    /// (rows).
    fn parts(&self, input: Input<'_>, pool: &Pool) -> Result<Vec<Matrix>>;
}

/// A model that assigns points to clusters, regardless of class.
pub trait Clusterer {
    /// The cluster of each training row.
    fn clusters(&self) -> &[usize];

    /// Assigns new rows to clusters.
    fn place(&self, input: Input<'_>, pool: &Pool) -> Result<Placed>;

    /// The log density below which the [`typical`](Placed::typical) share of a row is less than `quantile`: rows below it
    /// are outliers. `None` for models without it.
    fn threshold(&self, quantile: f64) -> Option<f64> {
        let _ = quantile;
        None
    }

    /// How much each column (columns) matters to the kernel of each cluster (rows), adding up to 1 for each cluster;
    /// `None` if clusters have no kernels of their own.
    fn relevance(&self) -> Option<Matrix> {
        None
    }
}

/// The cluster assignment of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Placed {
    /// The cluster of each row.
    pub clusters: Vec<usize>,
    /// Log density of each row, for models that have one.
    pub density: Option<Vec<f64>>,
    /// The share of training rows, each judged by the others, that are as improbable as each row: below 0.05, say, for
    /// outliers; for models that know it.
    pub typical: Option<Vec<f64>>,
}

/// Interval estimates of the kernel weights, for models with a distribution for each.
#[derive(Clone, Debug, PartialEq)]
pub struct Intervals {
    /// The probability an interval covers, with equal tails.
    pub level: f64,
    /// The interval of each kernel of the bank.
    pub bounds: Vec<(f64, f64)>,
    /// The prior interval, the same for every kernel.
    pub prior: (f64, f64),
    /// The assumptions they hold under.
    pub note: String,
}

record! {
    /// Candidates that a method compared on inner folds. The losses of those kept are optimistic: they were chosen for them.
    #[derive(Clone, Debug, Default, PartialEq)]
    pub struct Compared {
        /// How the loss is called.
        pub metric: String,
        /// What each candidate is.
        pub candidates: Vec<String>,
        /// The loss of each on rows held out; infinite for those that were not measured.
        pub losses: Vec<f64>,
        /// Which of them were kept.
        pub kept: Vec<usize>,
    }
}

/// The label of a row of scores: the first largest.
pub(crate) fn first_largest(scores: &[f64]) -> usize {
    (0..scores.len()).rev().max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap_or(0)
}
