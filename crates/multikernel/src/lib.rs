//! Classifiers from many kernels at once (Multiple Kernel Learning): kernel weights and predictions.
//!
//! ```
//! use multikernel::{Plan, data::bundled, evaluate::cross_validate};
//!
//! let data = bundled("ionosphere")?;
//! let plan = Plan::new("average")?.kernels("gaussian(median*2^-3..2^3), polynomial(1..3)")?;
//! let found = cross_validate(&data, &[plan.clone()], 5, 0)?;
//! assert!(found.results[0].accuracy() > 0.92);
//!
//! let model = plan.proba(true).train(&data)?;
//! let (predicted, probabilities) = (model.predict(&data.samples)?, model.probabilities(&data.samples)?);
//! let class = predicted.labels[0];
//! assert_eq!(model.classes()[class], "good");
//! assert!(probabilities.get(0, class) > 0.8);
//! assert_eq!(model.kernels().weights().map(<[f64]>::len), Some(10));
//! # Ok::<(), multikernel::Error>(())
//! ```
//!
//! # Which method
//! `average` (SVM on the uniform combination of all kernels) is the default and hard to beat with a sensible bank; `evidence`
//! learns weights without anything to tune and holds where many kernels are useless; `simplemkl` finds few kernels;
//! `mkboost-d1` boosts one SVM per kernel; `svm` takes one kernel; `majority` shows what a result is worth.
//! [`plan::Registry`] lists them all, and one of your own joins by [`plan::Registry::with`].
//!
//! # The rooms
//! - [`data`]: readers, labels, scaling, splits, bundled sets
//! - [`kernel`]: kernels and the text grammar of banks
//! - [`stack`]: the operations through which methods touch kernels
//! - [`solve`]: solvers that know no method; [`dist`]: random variates
//! - [`run`]: what a method is, and the runner that drives it; [`mod@file`]: models and checkpoints on disk
//! - [`draws`]: what samplers drew, and whether it may be believed
//! - [`method`]: the methods
//! - [`plan`]: [`Plan`] and [`Model`], the registry, and what surrounds a fit
//! - [`evaluate`]: metrics, cross-validation, paired comparison; [`report`]: text and JSON
//! - [`testing`]: conformance suites for kernels and methods, yours included
//!
//! The same seed gives the same bits on any number of threads. Nothing is printed, and no input panics: bad data give an
//! [`Error`] that says where and what to do.

mod closest;
pub mod data;
pub mod dist;
pub mod draws;
mod error;
pub mod evaluate;
mod features;
pub mod file;
pub mod kernel;
mod linalg;
pub mod method;
mod mixture;
pub mod plan;
mod pool;
mod precision;
pub mod report;
pub mod run;
mod simd;
pub mod solve;
pub mod stack;
pub mod testing;

pub use error::{Error, Message, Place, Remedy, Result};
pub use linalg::Matrix;
pub use plan::{Model, Online, OnlineOptions, Plan};
pub use pool::Pool;
#[cfg(feature = "rayon-bench")]
#[doc(hidden)]
pub use pool::RayonPieces;
