//! Samples, labels and views; readers for LIBSVM, CSV and TSV text, NumPy arrays and feature sets; scaling; splits;
//! bundled sets; toy sets.
//!
//! [`load`] takes a bundled name or a path, as a user types it, [`read`] a path, [`read_from`] any reader; all three
//! return a [`Table`], which [`Table::into_dataset`] turns into a [`Dataset`] to learn from. [`read_views`] joins
//! several files into one table, [`group_columns`] names groups of columns within one. [`RowStream`] reads endless
//! streams of rows.
//!
//! ```
//! use multikernel::data::{self, ReadOptions};
//! let table = data::read_from("+1 1:0.5 3:2\n-1 2:1\n".as_bytes(), "tiny.svm", &ReadOptions::default())?;
//! let set = table.into_dataset()?;
//! assert_eq!(set.samples.names(), ["x1", "x2", "x3"]);
//! assert_eq!(set.labels.classes(), ["-1", "1"]);
//! # Ok::<(), multikernel::Error>(())
//! ```

mod join;
mod prepare;
mod read;
mod sets;
mod split;
mod table;

pub use crate::features::{Features, Sparse};
pub use join::{ViewSource, labelled, read_views, read_with_labels};
pub(crate) use prepare::{ColumnStatistics, Letters, NumberColumns, Seen, Wanted, ln_1p};
pub use prepare::{Encoded, EncodedLayout, Encoding, LogChoice, Period, Preprocessor, Recipe, Scale, Scaler};
pub use read::{
    Batch, Column, Decimal, FeatureSet, FeatureSets, Format, MissingLabels, OnError, ReadOptions, RowStream,
    kind_of_texts, read, read_from, read_matrix, samples_of_columns,
};
pub use sets::{BundledSet, bundled, bundled_sets, circles, load, moons, separable};
pub(crate) use split::MAX_REPEATS;
pub use split::{Split, folds, folds_by_group, inner_folds, repeats, repeats_by_group};
pub(crate) use table::{Coding, Standard};
pub use table::{
    ColumnNote, Dataset, Expect, Gram, Kind, Labels, Numbers, Presence, Samples, Table, Target, TargetKind, Times,
    ToldKind, View, group_columns, is_numbered,
};
