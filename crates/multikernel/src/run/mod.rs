//! The runner and what it drives: a method is a state machine, and the loop exists once.
//!
//! A [`Method`] does one step and owns no loop, storage, clock or screen. The [`Runner`] owns progress, stopping,
//! Ctrl-C, time limits and checkpoints, so these work for every method, and `run 100 steps` equals
//! `run 40, kill, resume, run 60`, bit for bit.

mod calibrate;
mod checkpoint;
mod coefficients;
mod control;
pub(crate) mod inner;
mod input;
mod learner;
mod method;
mod observer;
mod param;
mod params;
mod partition;
mod predict;
mod runner;

pub use calibrate::Calibration;
pub use checkpoint::{Checkpoint, Keeper};
pub use coefficients::Coefficients;
pub use control::{Canceller, Control, Stop};
pub use input::{Input, Rows};
pub use learner::{Begin, Learner};
pub(crate) use method::method_rng;
pub use method::{About, AnyMethod, AnyState, KernelsOfView, Method, Needs, State, Task};
pub use observer::{Observer, Progress, Silent, Status, seconds_in_words};
pub use param::{Allowed, Param, Parameters, Setting, Value};
pub(crate) use param::{choice, params};
pub use params::Params;
pub use partition::{AllRows, AskPartitions, ByPartitions};
pub(crate) use partition::{MOST_TIMES, add_sums};
pub(crate) use predict::first_largest;
pub use predict::{
    Additive, Clusterer, Compared, Decision, Explain, Intervals, Placed, Predict, Probabilistic, Regressor, Survival,
};
pub(crate) use predict::{forward_to_inner, model_by_target};
pub use runner::{Run, Runner};
