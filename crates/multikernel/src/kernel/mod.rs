//! Kernels as small functions of a base quantity, and the text that names whole banks of them.
//!
//! A [`Kernel`] is concrete: a [`Family`] with its parameter, a set of [`Columns`] and two switches. It never sees the
//! data, only its [`Base`] quantity (a squared distance, an inner product, ...), so that many kernels on the same
//! columns share the work. A [`Bank`] is what people write; [`Bank::resolve`] turns it into kernels on given rows.
//!
//! # The grammar
//!
//! ```text
//! bank     = term, term, ...
//! term     = family suffix*                 suffixes in any order, each at most once
//! family   = gaussian(values) | gaussian(gamma=values) | laplacian(values) | linear | polynomial(values) | sigmoid(values)
//! values   = value, value, ...
//! value    = factor | median | median*factor        `median` for gaussian widths only
//! factor   = number
//!          | 2^a..2^b                       one per power of two
//!          | 1..3                           one per whole number
//!          | low..high; count               `count` numbers, log-spaced, ends included
//! number   = 0.1 | 1e-3 | 2^-6
//! suffix   = each                           one copy per single column
//!          | on view | on [columns]         where the kernel looks
//!          | raw                            no unit diagonal
//!          | centred                        centred with the training means
//! columns  = item, item, ...
//! item     = 3 | 0:500 | name | "a name, quoted"
//! ```
//!
//! Positions count from 0 and `0:500` stops before 500. Names hold anything but white space and `, : " [ ]`; others, and
//! names made of digits only, stand in double quotes, with `""` for a quote inside. The families are
//!
//! | text | kernel | with `raw` |
//! |---|---|---|
//! | `gaussian(s)` | `exp(-abs(x-y)^2 / (2 s^2))` | the same |
//! | `gaussian(gamma=g)` | `exp(-g abs(x-y)^2)` | the same |
//! | `laplacian(g)` | `exp(-g abs(x-y)_1)` | the same |
//! | `linear` | `x'y / (abs(x) abs(y))` | `x'y` |
//! | `polynomial(q)` | `t^q`, `t = (1 + x'y) / sqrt((1 + abs(x)^2)(1 + abs(y)^2))` | `(1 + x'y)^q` |
//! | `sigmoid(a)` | needs `raw` | `tanh(a x'y)` |
//!
//! ```
//! use multikernel::Matrix;
//! use multikernel::kernel::{Bank, Layout};
//!
//! let bank: Bank = "gaussian(2^-1..2^1) each, linear on [0, 2]".parse()?;
//! let rows = Matrix::from_vec(2, 3, vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0])?;
//! let kernels = bank.resolve(&Layout::default(), &rows)?;
//! assert_eq!(kernels.len(), 3 * 3 + 1);
//! assert_eq!(kernels[1].to_string(), "gaussian(1) on [0]");
//! # Ok::<(), multikernel::Error>(())
//! ```

mod bank;
mod columns;
mod exp;
mod family;
mod grammar;
mod median;
mod term;

pub use bank::{Bank, DEFAULT_BANK, Layout, MAX_KERNELS};
pub use columns::Columns;
pub use family::{Base, Family, Kernel};
pub use term::Term;
