//! Multiple Kernel Learning: classifiers that learn from many kernels at once.
//!
//! Given rows and a bank of kernels, it learns a model and a weight for each kernel, and makes predictions:
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
//! Parameters are set by name, as on the command line: [`Plan::set`]. `auto` leaves the choice to inner
//! cross-validation.
//!
//! # Methods
//! Start with `average`, with `majority` as the baseline. [`plan::Registry`] lists all 31 by name; add your own with
//! [`plan::Registry::with`].
//!
//! **Baselines**
//! - [`majority`](method::Majority): the most frequent class
//! - [`svm`](method::Svm): an SVM on one kernel
//! - [`average`](method::Average): an SVM on the uniform combination of all kernels; the default, and hard to beat
//! - [`single`](method::Single), [`bestview`](method::BestView): an SVM on the kernel, or the view, that does best in
//!   inner cross-validation
//!
//! **Weights by a rule, then one SVM**
//! - [`evidence`](method::Evidence): the evidence of a Gaussian model; nothing to tune, and robust when many kernels
//!   are useless
//! - [`fheuristic`](method::Fheuristic), [`alignf`](method::Alignf): alignment with the classes, one by one or jointly
//! - [`easymkl`](method::EasyMkl): the distance between the classes under each kernel
//!
//! **Weights that minimise the SVM's objective**
//! - [`simplemkl`](method::SimpleMkl): sparse weights, by projected quasi-Newton steps
//! - [`silp`](method::Silp), [`level`](method::Level): the same problem by cutting planes and by the level method
//! - [`lpmkl`](method::LpMkl): weights under a p-norm, from sparse to uniform
//!
//! **Boosting**, one SVM per kernel and trial
//! - [`mkboost-d1`](method::MkBoostD1), [`mkboost-d2`](method::MkBoostD2): the best kernel votes, or all of them do
//! - [`mkboost-s1`](method::MkBoostS1), [`mkboost-s2`](method::MkBoostS2): the same on sampled kernels, at half the
//!   cost
//!
//! **Many rows and streams** ([`Online`])
//! - [`mklda`](method::MklDa): max-margin MKL by stochastic gradients, with kernel weights for each class
//! - [`ufomkl`](method::UfoMkl), [`obscure`](method::Obscure): subgradients of a norm over kernels
//!
//! **Bayesian**
//! - [`bm3kl`](method::Bm3kl): max-margin, by sampling: kernel weights with credible intervals
//! - [`bemkl`](method::Bemkl), [`sbemkl`](method::Sbemkl): variational inference, the second with a sparse prior
//! - [`gpc`](method::Gpc): Gaussian process classification with the kernel of highest evidence
//! - [`bsvm`](method::Bsvm): a Bayesian SVM that samples the width of its Gaussian kernel
//!
//! **Kernel logistic regression**, with probabilities
//! - [`svimkl`](method::SviMkl): a distribution for each kernel weight, by variational inference
//! - [`mklr`](method::Mklr): the same by penalised likelihood
//!
//! **Clusters**
//! - [`cik`](method::Cik): clusters, each with its own kernel machine; also a classifier
//! - [`dpm`](method::Dpm): a Dirichlet-process mixture of Gaussians, without labels
//! - [`mkc`](method::Mkc): multiple kernel k-means with separate kernel weights for each row
//! - [`bank`](method::Bank): two classes with one kernel whose spectrum is a sampled mixture; a rival of `cik`
//!
//! # Modules
//! - [`data`]: readers, labels, scaling, splits, bundled sets
//! - [`kernel`]: kernels and the text grammar for banks
//! - [`stack`]: the operations through which methods access kernels
//! - [`solve`]: solvers independent of any method; [`dist`]: random variates
//! - [`run`]: the method interface and the runner that drives it; [`mod@file`]: models and checkpoints on disk
//! - [`draws`]: posterior draws and their diagnostics
//! - [`method`]: the methods
//! - [`plan`]: [`Plan`] and [`Model`], the registry, and everything around a fit
//! - [`evaluate`]: metrics, cross-validation, paired comparison; [`report`]: text and JSON
//! - [`testing`]: conformance suites for kernels and methods, including your own
//!
//! The same seed gives bit-identical results on any number of threads. Nothing is printed, and no input panics: bad
//! data give an [`Error`] that says where the fault is and what to do.

mod closest;
pub mod data;
mod device;
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

pub use device::Device;
pub use error::{Error, Message, Place, Remedy, Result};
pub use linalg::{Matrix, Matrix32, SharedValues};
pub use plan::{Model, Online, OnlineOptions, Plan};
pub use pool::Pool;
