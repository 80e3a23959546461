//! The methods, one file or folder each, with its parameters, state and model.

mod alignf;
mod alike;
mod auto;
mod average;
mod bank;
mod bemkl;
mod bm3kl;
mod bsvm;
#[cfg(test)]
mod check;
mod choose;
mod cik;
mod easymkl;
mod ends;
mod evidence;
mod factor;
mod fheuristic;
mod gpc;
mod machine;
mod majority;
mod margin;
mod mkboost;
mod mkc;
mod problems;
pub(crate) mod sample;
mod stream;
mod svc;
mod svimkl;
mod svm;
mod weighted;
mod weighting;

pub use alignf::Alignf;
pub use auto::{Auto, AutoModel, AutoState, Effort};
pub use average::Average;
pub use bank::{Bank, BankModel};
pub use bemkl::{Bemkl, BemklEnd, BemklModel, Sbemkl};
pub use bm3kl::{Bm3kl, Bm3klEnd, Bm3klModel, Bm3klNumbers, FunctionPrior, Likelihood, WeightSampler};
pub use bsvm::{Bsvm, BsvmModel};
pub use choose::{BestView, Single};
pub use cik::{Cik, CikModel, ClusterSampler, Covariance, Dpm, DpmModel, MachineLikelihood, Optimiser};
pub use easymkl::EasyMkl;
pub use ends::{CoxModel, EndModel, EndState, RidgeModel, SvrModel};
pub use evidence::{Evidence, EvidenceEnd, EvidenceState, PosteriorModel};
pub use fheuristic::Fheuristic;
pub use gpc::{Gpc, GpcModel};
pub use machine::SvmModel;
pub use majority::Majority;
pub use margin::{Level, LpMkl, Silp, SimpleMkl};
pub use mkboost::{MkBoostD1, MkBoostD2, MkBoostModel, MkBoostS1, MkBoostS2};
pub use mkc::{Mkc, MkcModel};
pub use problems::Loss;
pub use stream::{MklDa, MklDaVariant, Obscure, StreamModel, UfoMkl};
pub use svc::{ClassWeights, Multiclass};
pub use svimkl::{
    BoundSolver, FunctionsModel, Indefinite, LogisticModel, Mklr, NumbersLoss, SviMkl, SviMklEnd, WeightFamily,
};
pub use svm::{KernelChoice, Svm};
pub use weighting::Weighting;
