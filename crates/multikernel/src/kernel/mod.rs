//! Kernels as small functions of a base quantity, and the text that describes whole banks of them.
//!
//! A [`Kernel`] is concrete: a [`Family`] with its parameters, a set of [`Columns`] and two switches. It never sees the
//! data, only its [`Base`] quantity (a squared distance, an inner product, ...), so that many kernels on the same
//! columns share the work. A [`KernelBank`] is what users write; [`KernelBank::resolve`] turns it into kernels on given
//! rows. The families are the modules of [`family`]; [`Family`] shows how to write your own.
//!
//! # The grammar
//!
#![doc = include_str!("grammar.md")]
//!
//! ```
//! use multikernel::Matrix;
//! use multikernel::kernel::{KernelBank, Layout};
//!
//! let bank: KernelBank = "gaussian(2^-1..2^1) each, linear on [0, 2]".parse()?;
//! let rows = Matrix::from_vec(2, 3, vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0])?.into();
//! let kernels = bank.resolve(&Layout::default(), &rows)?;
//! assert_eq!(kernels.len(), 3 * 3 + 1);
//! assert_eq!(kernels[1].to_string(), "gaussian(1) on [0]");
//! # Ok::<(), multikernel::Error>(())
//! ```

mod bank;
mod base;
mod columns;
mod concrete;
mod declaration;
pub mod family;
mod grammar;
mod median;
mod term;
mod text;

/// The grammar of banks as text for users; `multikernel kernels` prints it.
pub const GRAMMAR: &str = include_str!("grammar.md");

pub use bank::{
    AUTO_BANK, AUTO_BANK_OF_ONE_WIDTH, AUTO_BANK_OF_VIEWS, AUTO_BANK_WITHOUT_COLUMNS, CENTRED_BANK,
    CENTRED_BANK_OF_VIEWS, DEFAULT_BANK, DEFAULT_BANK_OF_VIEWS, KernelBank, Layout, Resolved,
};
pub use base::Base;
pub use columns::Columns;
pub use concrete::Kernel;
pub use declaration::{Family, Form, Forms, KernelFunction, KernelParam, MAX_KERNEL_PARAMS, ParamRange};
pub use family::Families;
pub use term::{MAX_KERNELS, Term};
pub use text::quoted_name;
