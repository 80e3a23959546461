//! The data model: samples with their names, ids, views and Gram matrices; labels; the contents of a file and a model's
//! expectations of the next one. Independent of any file format.

mod dataset;
mod expect;
mod gram;
mod group;
mod kind;
mod labels;
mod presence;
mod samples;
#[expect(clippy::module_inception)]
mod table;
mod target;
pub(super) mod words;

pub use dataset::Dataset;
pub use expect::Expect;
pub(super) use expect::by_name;
pub use gram::Gram;
pub(super) use group::check_view_names;
pub use group::group_columns;
pub(crate) use kind::Coding;
pub use kind::{Kind, ToldKind};
pub use labels::Labels;
pub use presence::Presence;
pub(super) use samples::numbered;
pub use samples::{Samples, View, is_numbered};
pub use table::{ColumnNote, Table};
pub(super) use table::{Told, outcome, within};
pub(crate) use target::Standard;
pub use target::{Numbers, Target, TargetKind, Times};
