//! Cross-validation in one call.

use super::protocol::{Protocol, evaluate};
use super::result::Evaluation;
use crate::data::Dataset;
use crate::error::Result;
use crate::plan::{Plan, Session};
use crate::pool::Pool;
use crate::run::Silent;

/// Stratified cross-validation of plans with `n_folds` folds, the same for all plans, with the machine's threads and
/// silently. Groups of rows ([`Dataset::with_groups`]) stay together. For other protocols, limits, progress or given
/// threads use [`evaluate`]; [`evaluation_text`](crate::report::evaluation_text) formats the result as a table.
///
/// ```
/// use multikernel::{Plan, data::bundled, evaluate::cross_validate};
/// let data = bundled("sonar")?;
/// let found = cross_validate(&data, &[Plan::new("majority")?, Plan::new("average")?], 5, 0)?;
/// let [majority, average] = &found.results[..] else { unreachable!("one result per plan") };
/// assert!(average.accuracy() > majority.accuracy() + 0.2);
/// assert!(found.paired[0].distinguishable);
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn cross_validate(data: &Dataset, plans: &[Plan], n_folds: usize, seed: u64) -> Result<Evaluation> {
    let pool = Pool::shared()?;
    evaluate(data, plans, &Protocol::Folds(n_folds), seed, &mut Session::new(&pool, &mut Silent))
}
