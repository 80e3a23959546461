//! `mkboost-d1`, `mkboost-d2`, `mkboost-s1`, `mkboost-s2`: AdaBoost whose weak learners are SVMs, one per kernel, on a
//! few rows sampled by their weights (Xia and Hoi 2013, "MKBoost: A Framework of Multiple Kernel Boosting").
//!
//! One trial draws rows, fits an SVM on each kernel to them, and evaluates the SVMs on all rows:
//!
//! ```text
//! D = 1/N on rows, S = 1 on kernels; `trials` times:
//!   n rows with replacement by D; J = all kernels (D1, D2), or each kernel j with chance S_j (S1, S2)
//!   h_j = sign of the SVM on kernel j, e_j = sum of D where h_j is wrong, for j in J
//!   S1, S2:  S_j *= decay^e_j for j in J, then S /= max S
//!   D1, S1:  h = the h_j of least error;    D2, S2:  h = sign(sum_j a_j h_j), a_j = 1/2 ln((1 - e_j) / e_j)
//!   e = sum of D where h is wrong; a = 1/2 ln((1 - e) / e); F += a h; D *= exp(-a y h), normalised
//! ```
//!
//! Errors are clamped to [1e-10, 1 - 1e-10] where their logarithm is taken. D acts through the draws alone: the SVM
//! sees a row drawn k times as one row with k times the `c`. More than two classes are handled one against one, with
//! one such run per pair.

mod boost;
mod kernels;
mod model;
mod state;
mod trials;
mod weak;

#[cfg(test)]
mod tests;

use crate::error::Result;
use crate::kernel::DEFAULT_BANK;
use crate::run::{About, Allowed, Control, Method, Needs, Progress, State, Task, params};

pub use model::MkBoostModel;
use state::Boosting;

/// The differences between the four methods.
#[derive(Clone, Copy, Debug)]
struct Variant {
    /// Whether a trial votes with all its SVMs, not just the best one.
    combines: bool,
    /// Whether kernels are drawn.
    samples: bool,
}

/// The parameters of all four methods; `$drawn` comes after `ratio`.
macro_rules! boost_params {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($drawn:tt)* }) => {
        params! {
            $(#[$meta])*
            $vis struct $name {
                /// rounds of boosting
                trials: usize = 100, Allowed::Whole(1, 1_000_000);
                /// rows drawn for a trial, as a share of the training rows; at least 2 are drawn
                ratio: f64 = 0.2, Allowed::Number(0.0, 1.0);
                $($drawn)*
                /// trade-off of the SVMs: large follows the drawn rows, small is smooth; auto chooses among 0.5, 5, 50,
                /// 500
                c: f64 = 50.0, Allowed::PositiveOrAuto(&[0.5, 5.0, 50.0, 500.0]);
                /// an SVM is done when its optimality conditions hold to this
                tol: f64 = 0.001, Allowed::Positive;
                /// share of the rows kept out of boosting; the number of trials that is best on them is kept. 0 keeps
                /// all trials
                holdout: f64 = 0.0, Allowed::Number(0.0, 0.5);
                /// with holdout: stop after this many trials that did not make it better on the rows held out
                patience: usize = 20, Allowed::Whole(1, 1_000_000);
            }
        }

        impl $name {
            /// The parameters common to all four methods; without kernel sampling, kernels do not decay.
            fn common(&self, variant: Variant, decay: f64) -> BoostParams {
                let $name { trials, ratio, c, tol, holdout, patience, .. } = *self;
                BoostParams { variant, trials, ratio, decay, c, tol, holdout, patience }
            }
        }
    };
}

/// [`boost_params!`] for the methods that sample kernels.
macro_rules! drawn_boost_params {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {}) => {
        boost_params! {
            $(#[$meta])*
            $vis struct $name {
                /// a kernel whose SVM has error e is drawn decay^e times as often from then on; 1 always takes all
                /// kernels
                decay: f64 = 0.03125, Allowed::Number(1e-6, 1.0);
            }
        }
    };
}

/// Parameters of a run.
#[derive(Clone, Copy, Debug)]
struct BoostParams {
    variant: Variant,
    trials: usize,
    ratio: f64,
    decay: f64,
    c: f64,
    tol: f64,
    holdout: f64,
    patience: usize,
}

/// One of the four methods.
trait Boosts: Method {
    /// Its parameters.
    fn boost(&self) -> BoostParams;
}

impl<M: Boosts> State<M> for Boosting {
    type Model = MkBoostModel;

    fn init(method: &M, task: &Task<'_>) -> Result<Boosting> {
        Boosting::new(task, &method.boost())
    }

    fn check(&self, method: &M, task: &Task<'_>) -> Result<()> {
        self.fits(task, &method.boost())
    }

    fn step(&mut self, method: &M, task: &Task<'_>, control: &Control) -> Result<Progress> {
        self.advance(task, &method.boost(), control)
    }

    fn finish(self, method: &M, task: &Task<'_>) -> Result<MkBoostModel> {
        self.model(task, &method.boost())
    }
}

boost_params! {
    /// Boosting in which each trial votes with the best of one SVM per kernel. Sparse in kernels: a model has one SVM
    /// per trial. Cost: trials x kernels SVMs on `ratio` of the rows, for each pair of classes.
    ///
    /// ```
    /// use multikernel::{Plan, data::bundled};
    /// let data = bundled("sonar")?;
    /// let model = Plan::new("mkboost-d1")?.set("trials", "20")?.train(&data)?;
    /// let weights = model.kernels().weights().unwrap_or(&[]);
    /// assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub struct MkBoostD1 {}
}

impl Method for MkBoostD1 {
    type State = Boosting;

    fn about(&self) -> About {
        let summary = "boosting; each trial votes with the best of one SVM per kernel";
        About { name: "mkboost-d1", summary, needs: Needs::Stack, bank: DEFAULT_BANK }
    }

    fn n_squares(&self) -> usize {
        0
    }
}

impl Boosts for MkBoostD1 {
    fn boost(&self) -> BoostParams {
        self.common(Variant { combines: false, samples: false }, 1.0)
    }
}

boost_params! {
    /// Boosting in which each trial votes with all its SVMs, one per kernel, weighted by their errors. A model has as
    /// many SVMs as were fitted, and prediction is that much slower than with [`MkBoostD1`].
    pub struct MkBoostD2 {}
}

impl Method for MkBoostD2 {
    type State = Boosting;

    fn about(&self) -> About {
        let summary = "boosting; each trial votes with a weighted vote of one SVM per kernel";
        About { name: "mkboost-d2", summary, needs: Needs::Stack, bank: DEFAULT_BANK }
    }

    fn n_squares(&self) -> usize {
        0
    }
}

impl Boosts for MkBoostD2 {
    fn boost(&self) -> BoostParams {
        self.common(Variant { combines: true, samples: false }, 1.0)
    }
}

drawn_boost_params! {
    /// [`MkBoostD1`] on sampled kernels: those that did badly are drawn less and less. About half the cost.
    pub struct MkBoostS1 {}
}

impl Method for MkBoostS1 {
    type State = Boosting;

    fn about(&self) -> About {
        let summary = "mkboost-d1 on drawn kernels, those that did badly less and less: about half the cost";
        About { name: "mkboost-s1", summary, needs: Needs::Stack, bank: DEFAULT_BANK }
    }

    fn n_squares(&self) -> usize {
        0
    }
}

impl Boosts for MkBoostS1 {
    fn boost(&self) -> BoostParams {
        self.common(Variant { combines: false, samples: true }, self.decay)
    }
}

drawn_boost_params! {
    /// [`MkBoostD2`] on sampled kernels: those that did badly are drawn less and less. About half the cost.
    pub struct MkBoostS2 {}
}

impl Method for MkBoostS2 {
    type State = Boosting;

    fn about(&self) -> About {
        let summary = "mkboost-d2 on drawn kernels, those that did badly less and less: about half the cost";
        About { name: "mkboost-s2", summary, needs: Needs::Stack, bank: DEFAULT_BANK }
    }

    fn n_squares(&self) -> usize {
        0
    }
}

impl Boosts for MkBoostS2 {
    fn boost(&self) -> BoostParams {
        self.common(Variant { combines: true, samples: true }, self.decay)
    }
}
