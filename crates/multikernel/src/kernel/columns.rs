//! The columns a kernel uses.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use crate::error::{Error, Result};

/// A set of feature columns: all of them, or some, in ascending order.
///
/// Equal sets compare and hash equal however they were written, so kernels that can share a base quantity are found by
/// comparison. Stored as ranges shared between clones: a set costs a few words, not one per column.
///
/// ```
/// use multikernel::kernel::Columns;
/// let columns = Columns::from_positions([7, 2, 0, 1]);
/// assert_eq!(columns.to_string(), "[0:3, 7]");
/// assert_eq!(columns.indices(10), vec![0, 1, 2, 7]);
/// assert_eq!(Columns::all().indices(3), vec![0, 1, 2]);
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Columns {
    /// Ascending, disjoint, non-adjacent and non-empty; `None` is all columns.
    ranges: Option<Arc<[Range<usize>]>>,
}

impl Columns {
    /// All columns, however many the data has.
    pub fn all() -> Self {
        Columns { ranges: None }
    }

    /// The columns at these positions, counted from 0; order and repetition do not matter.
    pub fn from_positions(positions: impl IntoIterator<Item = usize>) -> Self {
        Columns::from_ranges(positions.into_iter().map(|p| p..p.saturating_add(1)))
    }

    /// The columns of these half-open ranges; order and overlap do not matter.
    pub fn from_ranges(ranges: impl IntoIterator<Item = Range<usize>>) -> Self {
        let mut sorted: Vec<Range<usize>> = ranges.into_iter().filter(|r| !r.is_empty()).collect();
        sorted.sort_unstable_by_key(|r| r.start);
        let mut merged: Vec<Range<usize>> = Vec::with_capacity(sorted.len());
        for range in sorted {
            match merged.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => merged.push(range),
            }
        }
        Columns { ranges: Some(merged.into()) }
    }

    /// The same set for data with `n_features` columns: a set that holds every column becomes [`Columns::all`].
    pub fn within(self, n_features: usize) -> Self {
        match self.ranges.as_deref() {
            Some([one]) if *one == (0..n_features) => Columns::all(),
            _ => self,
        }
    }

    /// Whether this is all columns by definition.
    pub fn is_all(&self) -> bool {
        self.ranges.is_none()
    }

    /// The half-open ranges, ascending and disjoint; `None` for all columns. Copying range by range is the fast way to
    /// gather.
    pub fn ranges(&self) -> Option<&[Range<usize>]> {
        self.ranges.as_deref()
    }

    /// One past the last position, 0 for all columns: rows must be at least this long.
    pub fn end(&self) -> usize {
        self.ranges().and_then(<[_]>::last).map_or(0, |r| r.end)
    }

    /// The number of columns in the set, for rows with `n_features`.
    pub fn count(&self, n_features: usize) -> usize {
        self.ranges().map_or(n_features, |ranges| ranges.iter().map(ExactSizeIterator::len).sum())
    }

    /// The positions in ascending order, for rows with `n_features`.
    pub fn indices(&self, n_features: usize) -> Vec<usize> {
        match self.ranges() {
            None => (0..n_features).collect(),
            Some(ranges) => ranges.iter().cloned().flatten().collect(),
        }
    }

    /// Appends the values of `row` at these columns to `out`; panics if the row is shorter than [`Columns::end`].
    pub fn gather(&self, row: &[f64], out: &mut Vec<f64>) {
        match self.ranges() {
            None => out.extend_from_slice(row),
            Some(ranges) => ranges.iter().for_each(|r| out.extend_from_slice(&row[r.clone()])),
        }
    }
}

impl fmt::Display for Columns {
    /// `[0:3, 7]`, as the grammar reads it; empty for all columns.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(ranges) = self.ranges() else { return Ok(()) };
        f.write_str("[")?;
        for (i, range) in ranges.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            match range.len() {
                1 => write!(f, "{comma}{}", range.start)?,
                _ => write!(f, "{comma}{}:{}", range.start, range.end)?,
            }
        }
        f.write_str("]")
    }
}

impl FromStr for Columns {
    type Err = Error;

    /// Parses the printed form of [`Columns`]: `[0:3, 7]`, or an empty text for all columns.
    fn from_str(text: &str) -> Result<Self> {
        if text.is_empty() {
            return Ok(Columns::all());
        }
        let range = |item: &str| {
            let (start, end) = item.split_once(':').unwrap_or((item, item));
            let (start, last): (usize, usize) = (start.parse().ok()?, end.parse().ok()?);
            let end = if item.contains(':') { last } else { last.checked_add(1)? };
            (start < end).then_some(start..end)
        };
        let items = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let ranges: Option<Vec<Range<usize>>> = items.and_then(|items| items.split(", ").map(range).collect());
        ranges
            .map(Columns::from_ranges)
            .ok_or_else(|| Error::input(format!("`{text}` are no columns; write positions and ranges, as in [0:3, 7]")))
    }
}

impl fmt::Debug for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_all() { f.write_str("all") } else { write!(f, "{self}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn from_positions_in_any_order_is_the_sorted_set(positions in prop::collection::vec(0usize..30, 0..20)) {
            let set: BTreeSet<usize> = positions.iter().copied().collect();
            let columns = Columns::from_positions(positions.iter().copied());
            prop_assert_eq!(columns.indices(30), set.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(columns.count(30), set.len());
            prop_assert_eq!(columns.end(), set.last().map_or(0, |p| p + 1));
            prop_assert_eq!(&columns, &Columns::from_positions(set.iter().rev().copied()));
            let row: Vec<f64> = (0..30).map(f64::from).collect();
            let mut out = Vec::new();
            columns.gather(&row, &mut out);
            prop_assert_eq!(out, set.iter().map(|&p| p as f64).collect::<Vec<_>>());
            if !set.is_empty() {
                prop_assert_eq!(columns.to_string().parse::<Columns>().unwrap(), columns);
            }
        }
    }

    #[test]
    fn text_that_is_no_columns_is_an_error() {
        assert!("".parse::<Columns>().unwrap().is_all());
        for text in ["[]", "3", "[3", "[3:3]", "[4:3]", "[a]", "[1:2:3]", "[1,2]", "[18446744073709551615]"] {
            assert!(text.parse::<Columns>().is_err(), "{text}");
        }
    }

    #[test]
    fn within_a_full_set_is_all_and_others_stay() {
        assert!(Columns::from_positions([1, 0, 2]).within(3).is_all());
        assert!(!Columns::from_positions([1, 0, 2]).within(4).is_all());
        assert!(!Columns::from_positions([1, 2]).within(3).is_all());
    }
}
