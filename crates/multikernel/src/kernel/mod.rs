//! Kernels as small functions of a base quantity, and the text that names whole banks of them.
//!
//! A [`Kernel`] is concrete: a [`Family`] with its parameter, a set of [`Columns`] and two switches. It never sees the
//! data, only its [`Base`] quantity (a squared distance, an inner product, ...), so that many kernels on the same
//! columns share the work. A [`KernelBank`] is what people write; [`KernelBank::resolve`] turns it into kernels on given rows.
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
mod columns;
mod family;
mod grammar;
mod median;
mod term;

/// The grammar of banks as text for people: what `multikernel kernels` prints.
pub const GRAMMAR: &str = include_str!("grammar.md");

pub use bank::{
    CENTRED_BANK, CENTRED_BANK_OF_VIEWS, DEFAULT_BANK, DEFAULT_BANK_OF_VIEWS, KernelBank, Layout, MAX_KERNELS, Resolved,
};
pub use columns::Columns;
pub use family::{Base, Family, Kernel};
pub use term::Term;
