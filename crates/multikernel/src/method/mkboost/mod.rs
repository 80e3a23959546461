//! `mkboost-d1`, `mkboost-d2`, `mkboost-s1`, `mkboost-s2`: AdaBoost whose weak learners are SVMs, one for each kernel, on a few
//! rows drawn by their weights (Xia and Hoi 2013, "MKBoost: A Framework of Multiple Kernel Boosting").
//!
//! One trial draws rows, fits an SVM on each kernel to them, and lets all rows say which SVMs are good:
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
//! Errors are clamped to [1e-10, 1 - 1e-10] where their logarithm is taken. D acts through the draws alone: the SVM sees a
//! row drawn k times as one row with k times the `c`. More classes are one such run for each pair of them.

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
use crate::run::{About, Allowed, Control, Method, Needs, Param, Params, Progress, Task};

pub use model::MkBoostModel;
use state::Boosting;

/// What the four methods differ in.
#[derive(Clone, Copy, Debug)]
struct Variant {
    /// Whether a trial votes with all its SVMs, not with the best one alone.
    combines: bool,
    /// Whether kernels are drawn.
    samples: bool,
}

const TRIALS: Param =
    Param { name: "trials", default: "100", allowed: Allowed::Whole(1, 1_000_000), help: "rounds of boosting" };
const RATIO: Param = Param {
    name: "ratio",
    default: "0.2",
    allowed: Allowed::Number(0.0, 1.0),
    help: "rows drawn for a trial, as a share of the training rows; at least 2 are drawn",
};
const DECAY: Param = Param {
    name: "decay",
    default: "0.03125",
    allowed: Allowed::Number(1e-6, 1.0),
    help: "a kernel whose SVM has error e is drawn decay^e times as often from then on; 1 always takes all kernels",
};
const C: Param = Param {
    name: "c",
    default: "50",
    allowed: Allowed::PositiveOrAuto(&[0.5, 5.0, 50.0, 500.0]),
    help: "trade-off of the SVMs: large follows the drawn rows, small is smooth; auto chooses among 0.5, 5, 50, 500",
};
const TOL: Param = Param {
    name: "tol",
    default: "0.001",
    allowed: Allowed::Positive,
    help: "an SVM is done when its optimality conditions hold to this",
};
const HOLDOUT: Param = Param {
    name: "holdout",
    default: "0",
    allowed: Allowed::Number(0.0, 0.5),
    help: "share of the rows kept out of boosting; the number of trials that is best on them is kept. 0 keeps all trials",
};
const PATIENCE: Param = Param {
    name: "patience",
    default: "20",
    allowed: Allowed::Whole(1, 1_000_000),
    help: "with holdout: stop after this many trials that did not make it better on the rows held out",
};

const ALL_KERNELS: &[Param] = &[TRIALS, RATIO, C, TOL, HOLDOUT, PATIENCE];
const DRAWN_KERNELS: &[Param] = &[TRIALS, RATIO, DECAY, C, TOL, HOLDOUT, PATIENCE];

macro_rules! mkboost {
    ($(#[$doc:meta])* $method:ident, $name:literal, $summary:literal, $params:ident, $variant:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $method;

        impl Method for $method {
            type State = Boosting;
            type Model = MkBoostModel;

            fn about(&self) -> About {
                About { name: $name, summary: $summary, needs: Needs::Stack, params: $params, bank: DEFAULT_BANK }
            }

            fn n_squares(&self, _: &Params) -> usize {
                0
            }

            fn init(&self, task: &Task<'_>, params: &Params) -> Result<Boosting> {
                Boosting::new(task, params)
            }

            fn check(&self, task: &Task<'_>, params: &Params, state: &Boosting) -> Result<()> {
                state.check(task, params)
            }

            fn step(
                &self,
                task: &Task<'_>,
                params: &Params,
                state: &mut Boosting,
                control: &Control,
            ) -> Result<Progress> {
                state.step($variant, task, params, control)
            }

            fn finish(&self, task: &Task<'_>, params: &Params, state: Boosting) -> Result<MkBoostModel> {
                state.finish(task, params)
            }
        }
    };
}

mkboost!(
    /// Boosting where each trial votes with the best of one SVM per kernel. Sparse in kernels: a model has one SVM a trial.
    /// Cost: trials x kernels SVMs on `ratio` of the rows, for each pair of classes.
    ///
    /// ```
    /// use multikernel::{Plan, data::bundled};
    /// let data = bundled("sonar")?;
    /// let model = Plan::new("mkboost-d1")?.set("trials", "20")?.train(&data)?;
    /// let weights = model.kernels().weights().unwrap_or(&[]);
    /// assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    MkBoostD1,
    "mkboost-d1",
    "boosting; each trial votes with the best of one SVM per kernel",
    ALL_KERNELS,
    Variant { combines: false, samples: false }
);
mkboost!(
    /// Boosting where each trial votes with all its SVMs, one per kernel, weighted by their errors. A model has as many SVMs
    /// as were fitted, and predicts that much slower than one of [`MkBoostD1`].
    MkBoostD2,
    "mkboost-d2",
    "boosting; each trial votes with a weighted vote of one SVM per kernel",
    ALL_KERNELS,
    Variant { combines: true, samples: false }
);
mkboost!(
    /// [`MkBoostD1`] on kernels that are drawn: those that did badly come up less and less. About half the cost.
    MkBoostS1,
    "mkboost-s1",
    "mkboost-d1 on drawn kernels, those that did badly less and less: about half the cost",
    DRAWN_KERNELS,
    Variant { combines: false, samples: true }
);
mkboost!(
    /// [`MkBoostD2`] on kernels that are drawn: those that did badly come up less and less. About half the cost.
    MkBoostS2,
    "mkboost-s2",
    "mkboost-d2 on drawn kernels, those that did badly less and less: about half the cost",
    DRAWN_KERNELS,
    Variant { combines: true, samples: true }
);
