//! Parameters of `svimkl` and `mklr`.

use super::distribution::Family;
use super::loss::NumbersLoss;
use super::objective::Prior;
use super::{Mklr, SviMkl};
use crate::method::Weighting;
use crate::run::choice;

/// From smooth to wiggly, so that ties go to the smoothest.
pub(in crate::method) const LAMBDAS: &[f64] = &[100.0, 10.0, 1.0, 0.1, 0.01, 0.001, 0.0001];

choice! {
    /// The distribution family for a kernel weight.
    pub enum WeightFamily {
        /// Gamma, with learned mean and shape.
        Gamma = "gamma",
        /// Exponential, as published, with learned mean.
        Exponential = "exponential",
        /// Log-normal, with learned mean and width.
        LogNormal = "lognormal",
    }
}

choice! {
    /// How the bound is maximised.
    pub enum BoundSolver {
        /// Quasi-Newton steps on fixed nodes.
        Lbfgs = "lbfgs",
        /// Stochastic steps as published, with Adam step sizes.
        Ascent = "ascent",
        /// Stochastic steps of one length, as printed.
        Plain = "plain",
    }
}

choice! {
    /// How to treat a kernel with negative eigenvalues.
    pub enum Indefinite {
        /// Reject it.
        Refuse = "refuse",
        /// Remove them.
        Clip = "clip",
    }
}

/// [`params!`] with the parameters common to both methods: some come before `intercept`, some after `iterations`.
macro_rules! logistic_params {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($own:tt)* } { $($solver:tt)* } { $($rest:tt)* }) => {
        $crate::run::params! {
            $(#[$meta])*
            $vis struct $name {
                $($own)*
                /// the likelihood of numbers: gaussian, squared error; poisson, for counts, which are whole numbers from 0
                /// on and are predicted as such. Classes and times have their own
                loss: $crate::method::NumbersLoss = $crate::method::NumbersLoss::Gaussian,
                    $crate::run::Allowed::OneOf($crate::method::NumbersLoss::WORDS);
                /// a constant that costs nothing is added to each function; published is none, with which classes of
                /// unequal size suffer
                intercept: bool = true, $crate::run::Allowed::OneOf(&["yes", "no"]);
                $($solver)*
                /// most steps; ascent and plain go through all of them
                iterations: usize = 1000, $crate::run::Allowed::Whole(1, 10_000_000);
                /// lbfgs: stop when a step raises the bound by less than this part of it; a hundred times that with fewer
                /// landmarks than rows
                tol: f64 = 1e-8, $crate::run::Allowed::Number(0.0, 1.0);
                $($rest)*
                /// rows drawn at random that alone carry sample weights; 0 for all rows up to 4000 of them, else for
                /// 1000; auto doubles them from 125 on, until a fifth of the rows, held out, gains little
                landmarks: usize = 0,
                    $crate::run::Allowed::WholeOrAuto(0, 20_000, &[125.0, 250.0, 500.0, 1000.0, 2000.0, 4000.0]);
                /// what to do with a kernel that has negative eigenvalues: refuse it, or take them away
                indefinite: $crate::method::Indefinite = $crate::method::Indefinite::Refuse,
                    $crate::run::Allowed::OneOf($crate::method::Indefinite::WORDS);
            }
        }
    };
}
pub(super) use logistic_params;

/// Number of rows up to which all of them carry sample weights by default, and how many do beyond.
const ALL_UP_TO: usize = 4000;
const BEYOND: usize = 1000;

/// Landmarks and tolerance that do to compare values of lambda. It is a ratio of variances, the same for any number of
/// landmarks and rows.
const REHEARSED: usize = 500;
const REHEARSED_TOL: f64 = 1e-6;
/// Rows up to which all folds are affordable, and needed: a single one would leave few rows to compare on.
const ALL_FOLDS: usize = 1000;

/// The settings derived from the parameters.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settings {
    pub(super) family: Family,
    pub(super) prior: Prior,
    pub(super) lambda: f64,
    pub(super) loss: NumbersLoss,
    pub(super) nodes: usize,
    pub(super) intercept: bool,
    pub(super) ascent: bool,
    /// The ascent takes plain gradient steps, as printed.
    pub(super) plain: bool,
    pub(super) iterations: usize,
    pub(super) tol: f64,
    pub(super) rate: f64,
    pub(super) batch: usize,
    pub(super) landmarks: usize,
    pub(super) clip: bool,
}

impl Settings {
    pub(super) fn of_svimkl(method: &SviMkl) -> Settings {
        Settings {
            family: match method.q {
                WeightFamily::Gamma => Family::Gamma,
                WeightFamily::Exponential => Family::Exponential,
                WeightFamily::LogNormal => Family::LogNormal,
            },
            prior: Prior::Gamma { shape: method.shape, rate: method.delta },
            lambda: method.lambda,
            loss: method.loss,
            nodes: method.nodes,
            intercept: method.intercept,
            ascent: method.solver != BoundSolver::Lbfgs,
            plain: method.solver == BoundSolver::Plain,
            iterations: method.iterations,
            tol: method.tol,
            rate: method.rate,
            batch: method.batch,
            landmarks: method.landmarks,
            clip: method.indefinite == Indefinite::Clip,
        }
    }

    pub(super) fn of_mklr(method: &Mklr) -> Settings {
        Settings {
            family: Family::Point,
            prior: match method.weights {
                Weighting::Learned => Prior::Ridge(method.ridge),
                Weighting::Uniform => Prior::Fixed,
            },
            lambda: method.lambda,
            loss: method.loss,
            nodes: 1,
            intercept: method.intercept,
            ascent: false,
            plain: false,
            iterations: method.iterations,
            tol: method.tol,
            rate: 0.0,
            batch: 0,
            landmarks: method.landmarks,
            clip: method.indefinite == Indefinite::Clip,
        }
    }

    /// How many of `n_rows` rows carry sample weights.
    pub(super) fn points(&self, n_rows: usize) -> usize {
        match self.landmarks {
            0 if n_rows > ALL_UP_TO => BEYOND,
            0 => n_rows,
            landmarks => landmarks.min(n_rows),
        }
    }

    /// Landmarks and tolerance by which values of lambda are compared, where that is much cheaper than all folds.
    pub(super) fn rehearsal(&self, n_rows: usize) -> Option<(usize, f64)> {
        (n_rows > ALL_FOLDS).then(|| (self.points(n_rows).min(REHEARSED), self.tol.max(REHEARSED_TOL)))
    }
}
