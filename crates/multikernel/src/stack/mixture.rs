//! Weighted kernel sums for repeated use: for learners that receive their points row by row.

use std::ops::Range;

use super::layout::{Layout, Radial};
use super::profile::Profile;
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::pool::Pool;

/// Weighted kernel sums of a stack, one per column of weights, prepared once: from
/// [`Stack::mixture`](super::Stack::mixture), for [`Stack::mix`](super::Stack::mix) and
/// [`Stack::decide`](super::Stack::decide) on any stack of the same kernels.
///
/// For 32 or more radial kernels on the same columns it is a table of about 100 KB per column, built with one
/// exponential per kernel and table entry: about a millisecond for 300 kernels.
#[derive(Debug)]
pub struct Mixture {
    pub(super) columns: Vec<Recipe>,
    /// Batches that any column needs.
    pub(super) batch_mask: Vec<bool>,
    /// Slots that any column reads.
    pub(super) slot_mask: Vec<bool>,
    /// The weights of all kernels of the layout, for devices.
    pub(super) weights: Matrix,
}

/// What one column of weights needs.
#[derive(Debug, Default)]
pub(super) struct Recipe {
    /// One per batch.
    pub(super) terms: Vec<Term>,
    /// Slots with non-zero weight, in order.
    pub(super) slots: Vec<(usize, f64)>,
}

/// What one column of weights needs from a batch.
#[derive(Debug)]
pub(super) enum Term {
    /// Nothing: all weights are zero.
    Nothing,
    /// This range of `slots`, following that of the previous batch.
    Slots(Range<usize>),
    /// One function of the distance.
    Radial(Profile),
}

impl Mixture {
    /// `weights` has one row per kernel of the layout.
    pub(super) fn new(layout: &Layout, weights: &Matrix, pool: &Pool) -> Mixture {
        let by_column: Vec<Vec<f64>> = (0..weights.n_cols()).map(|c| weights.column(c)).collect();
        let mut columns: Vec<Recipe> = by_column.iter().map(|_| Recipe::default()).collect();
        for batch in &layout.batches {
            match &layout.groups[batch.group].radial {
                Some(radial) => {
                    let terms = radial_terms(radial, &by_column, pool);
                    columns.iter_mut().zip(terms).for_each(|(recipe, term)| recipe.terms.push(term));
                }
                None => columns.iter_mut().zip(&by_column).for_each(|(recipe, weights)| {
                    let weighted = batch.slots.clone().map(|slot| (slot, weights[layout.slots[slot].kernel]));
                    recipe.add(weighted.filter(|&(_, weight)| weight != 0.0));
                }),
            }
        }
        let asks = |b: usize| columns.iter().any(|recipe| !matches!(recipe.terms[b], Term::Nothing));
        let batch_mask: Vec<bool> = (0..layout.batches.len()).map(asks).collect();
        let mut slot_mask = vec![false; layout.slots.len()];
        columns.iter().flat_map(|recipe| &recipe.slots).for_each(|&(slot, _)| slot_mask[slot] = true);
        // Functions of the distance read the first slot of their batch.
        let radial = |(b, _): &(usize, _)| columns.iter().any(|recipe| matches!(recipe.terms[*b], Term::Radial(_)));
        let first = layout.batches.iter().enumerate().filter(radial).map(|(_, batch)| batch.slots.start);
        first.for_each(|slot| slot_mask[slot] = true);
        Mixture { columns, batch_mask, slot_mask, weights: weights.clone() }
    }

    /// Number of weighted sums.
    pub fn n_columns(&self) -> usize {
        self.columns.len()
    }

    pub(super) fn check(&self, layout: &Layout) -> Result<()> {
        if self.slot_mask.len() == layout.slots.len() && self.batch_mask.len() == layout.batches.len() {
            Ok(())
        } else {
            Err(Error::input("a mixture can be used with stacks of the kernels it was made for, and no others"))
        }
    }
}

impl Recipe {
    /// Adds the slots of the next batch.
    fn add(&mut self, slots: impl Iterator<Item = (usize, f64)>) {
        let start = self.slots.len();
        self.slots.extend(slots);
        let range = start..self.slots.len();
        self.terms.push(if range.is_empty() { Term::Nothing } else { Term::Slots(range) });
    }
}

/// What each column needs from kernels that are treated as one function.
fn radial_terms(radial: &Radial, columns: &[Vec<f64>], pool: &Pool) -> Vec<Term> {
    let picked = |weights: &Vec<f64>| radial.kernels.iter().map(|&m| weights[m]).collect::<Vec<f64>>();
    let columns: Vec<Vec<f64>> = columns.iter().map(picked).collect();
    let profiles = Profile::several(&radial.grid, &radial.rates, &columns, pool);
    let term = |(weights, profile): (&Vec<f64>, Profile)| {
        if weights.iter().all(|&weight| weight == 0.0) { Term::Nothing } else { Term::Radial(profile) }
    };
    columns.iter().zip(profiles).map(term).collect()
}
