//! Samples, labels and views; readers for LIBSVM, CSV and TSV text, NumPy arrays and feature sets; scaling; splits; the
//! bundled sets; toy sets.
//!
//! [`load`] takes what a user types (a bundled name or a path), [`read`] a path, [`read_from`] any reader; all three
//! give a [`Table`], which [`Table::into_dataset`] turns into a [`Dataset`] to learn from. [`read_views`] makes one table of
//! several files, [`group_columns`] names groups of columns in one. [`RowStream`] reads rows that never end.
//!
//! ```
//! use multikernel::data::{self, ReadOptions};
//! let table = data::read_from("+1 1:0.5 3:2\n-1 2:1\n".as_bytes(), "tiny.svm", &ReadOptions::default())?;
//! let set = table.into_dataset()?;
//! assert_eq!(set.samples.names(), ["x1", "x2", "x3"]);
//! assert_eq!(set.labels.classes(), ["-1", "1"]);
//! # Ok::<(), multikernel::Error>(())
//! ```

#[cfg(feature = "arrow")]
mod arrow;
mod binary;
mod body;
mod bundled;
mod column;
mod dataset;
mod delimited;
mod expect;
mod gmt;
mod gram;
mod group;
mod join;
mod label_file;
mod labels;
mod libsvm;
mod log;
mod matrix;
mod npy;
mod npz;
mod numbers;
mod parquet;
mod parts;
mod preprocess;
mod presence;
mod problems;
mod read;
mod roles;
mod samples;
mod scale;
mod split;
mod stream;
mod text;
mod toys;

pub use crate::features::{Features, Sparse};
pub use bundled::{BundledSet, bundled, bundled_sets};
pub use dataset::Dataset;
pub use expect::Expect;
pub use gmt::{FeatureSet, FeatureSets};
pub use gram::Gram;
pub use group::group_columns;
pub use join::{ViewSource, labelled, read_views, read_with_labels};
pub use labels::Labels;
pub(crate) use log::ln_1p;
pub use matrix::read_matrix;
pub use numbers::Decimal;
pub use preprocess::{LogChoice, Preprocessor, Recipe, Scale};
pub use presence::Presence;
pub use read::{Format, MissingLabels, ReadOptions, Table, load, read, read_from};
pub use samples::{Samples, View, is_numbered};
pub use scale::Scaler;
pub use split::{Split, folds, folds_by_group, inner_folds, repeats, repeats_by_group};
pub use stream::{Batch, OnError, RowStream};
pub use toys::{circles, moons, separable};
