//! The sections of a page, one file each.

pub(super) mod alignment;
pub(super) mod calibration;
pub(super) mod candidates;
pub(super) mod chains;
pub(super) mod clusters;
pub(super) mod columns;
pub(super) mod confusion;
pub(super) mod curves;
pub(super) mod missing;
pub(super) mod residuals;
pub(super) mod rows;
pub(super) mod settings;
pub(super) mod shares;
pub(super) mod survival;
pub(super) mod verdict;
pub(super) mod weights;

use crate::report::bars::cut;
use crate::report::numbers::short;

/// Kernels, views or columns that a chart shows; the rest are one line together.
const MOST: usize = 40;

/// Characters of a name in a sentence.
const BRIEF: usize = 48;

/// A name as it stands in a sentence.
pub(super) fn brief(name: &str) -> String {
    cut(&short(name), BRIEF)
}

/// Positions of the largest values, largest first, and whether some are left out.
fn largest(values: &[f64], most: usize) -> (Vec<usize>, bool) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[b].total_cmp(&values[a]));
    let is_cut = order.len() > most;
    order.truncate(most);
    (order, is_cut)
}
