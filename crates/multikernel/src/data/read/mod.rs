//! From bytes to a [`Table`](crate::data::Table): one file per format, format detection, and code shared by readers.

#[cfg(feature = "arrow")]
mod arrow;
mod binary;
mod classes;
mod columns;
pub(super) mod dates;
mod delimited;
mod dispatch;
mod fasta;
mod format;
mod gmt;
pub(super) mod kinds;
mod libsvm;
mod matrix;
mod memory;
mod npy;
mod npz;
mod numbers;
mod options;
mod parquet;
mod roles;
mod stream;
#[cfg(test)]
mod tests;
mod text;
mod xlsx;

pub(super) use classes::check_classes;
pub use columns::{Column, kind_of_texts, samples_of_columns};
pub(super) use delimited::{Cells, MissingLabel, labels_missing};
pub(super) use dispatch::read_cells;
pub use dispatch::{read, read_from};
pub(super) use format::short_name;
pub use gmt::{FeatureSet, FeatureSets};
pub use matrix::read_matrix;
pub(super) use memory::{check_memory, check_sparse_memory, out_of_memory};
pub use numbers::Decimal;
pub(super) use numbers::Truth;
pub use options::{Format, MissingLabels, ReadOptions};
pub(super) use options::{JoinedPart, with_views_of};
pub(super) use roles::{Columns, is_name};
pub use stream::{Batch, OnError, RowStream};
