//! The methods: one file or folder each, holding its parameters, state and model.

mod alignf;
mod alike;
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
mod evidence;
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
mod svimkl;
mod svm;
mod weighted;

pub use alignf::Alignf;
pub use average::Average;
pub use bank::{Bank, BankModel};
pub use bemkl::{Bemkl, BemklModel, Sbemkl};
pub use bm3kl::{Bm3kl, Bm3klModel};
pub use bsvm::{Bsvm, BsvmModel};
pub use choose::{BestView, Single};
pub use cik::{Cik, CikModel, Dpm, DpmModel};
pub use easymkl::EasyMkl;
pub use evidence::Evidence;
pub use fheuristic::Fheuristic;
pub use gpc::{Gpc, GpcModel};
pub use machine::SvmModel;
pub use majority::Majority;
pub use margin::{Level, LpMkl, Silp, SimpleMkl};
pub use mkboost::{MkBoostD1, MkBoostD2, MkBoostModel, MkBoostS1, MkBoostS2};
pub use mkc::{Mkc, MkcModel};
pub use stream::{MklDa, Obscure, StreamModel, UfoMkl};
pub use svimkl::{LogisticModel, Mklr, SviMkl};
pub use svm::Svm;
