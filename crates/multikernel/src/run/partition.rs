//! Learning from rows that lie in partitions: what a method adds up over each, and what it makes of the sums.

use super::checkpoint::Keeper;
use super::control::Control;
use super::method::Task;
use super::observer::Observer;
use super::runner::Run;
use crate::error::{Error, Result};
use crate::file::Record;

/// A method whose steps need no more of the rows than sums over them: those of an objective, given some rows (landmarks)
/// that alone carry coefficients, or those of clusters. It learns from sums that partitions of the rows give, wherever these are. Methods that can return it from
/// [`Method::by_partitions`](super::Method::by_partitions).
pub trait ByPartitions: Send + Sync {
    /// Rows that are drawn of all, at least: for widths of kernels, and for what is learned from a few rows.
    fn n_drawn(&self) -> usize {
        4000
    }

    /// How many of `n_rows` rows are landmarks; `None` for methods that take all rows drawn.
    fn n_landmarks(&self, _n_rows: usize) -> Option<usize> {
        None
    }

    /// What a block of rows adds to the answer to a request, a record of arrays: `block` has the kernels between the rows
    /// and the landmarks, or the rows themselves for methods on rows, and a seed of its own. Depends on nothing else, so that
    /// it does not matter where it is computed, or how often.
    fn sums(&self, request: &Record, block: &Task<'_>) -> Result<Record>;

    /// Adds the answer of the next block, or of the next partition, to those before it: number by number, unless the
    /// method knows better.
    fn add(&self, sums: &mut Record, next: &Record) -> Result<()> {
        add_sums(sums, next)
    }

    /// Learns from sums over all rows; `landmarks` has the kernels among the landmarks, or the rows drawn. `keeper` has the
    /// state to go on from, and is given the state after each step: what follows from it has the same bits.
    fn learn(
        &self,
        landmarks: &Task<'_>,
        rows: &AllRows<'_>,
        keeper: &mut Keeper,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> Result<Run>;
}

/// Asks all partitions, and adds their answers in their order.
pub type AskPartitions<'a> = dyn Fn(&Record) -> Result<Record> + 'a;

/// All rows, which are in partitions.
pub struct AllRows<'a> {
    /// Their number.
    pub n_rows: usize,
    /// The mean of each number to predict, as methods are given it; empty for classes.
    pub number_means: Vec<f64>,
    /// Of times to predict: the distinct times of events, ascending, and the number of events at each.
    pub events: (Vec<f64>, Vec<usize>),
    /// Asks for sums over them.
    pub ask: &'a AskPartitions<'a>,
}

/// Numbers of which partitions send a few at every step, at most: one for each distinct time of an event.
pub(crate) const MOST_TIMES: usize = 1 << 21;

/// Adds the arrays of a record to those of another with the same arrays; no rows add nothing.
pub(crate) fn add_sums(sums: &mut Record, next: &Record) -> Result<()> {
    if next.is_empty() {
        return Ok(());
    }
    if sums.is_empty() {
        *sums = next.clone();
        return Ok(());
    }
    if sums.add_arrays(next) { Ok(()) } else { Err(Error::input("the sums of two partitions do not fit together")) }
}
