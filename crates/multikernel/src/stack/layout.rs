//! The contents of a stack: kernels grouped by base quantity, each group as slots in the order they are computed.

use std::collections::HashMap;
use std::ops::Range;

use super::profile::Grid;
use crate::kernel::{Base, Columns, Kernel};
use crate::precision::Precision;
use crate::simd::{MAX_RAISES, NARROW_RATES};

/// From this many on, radial kernels on the same columns are treated as one function of the distance. Below it their
/// exponentials cost about as much as the lookup, and are exact to the last place.
pub(super) const MIN_PROFILE_KERNELS: usize = 32;
/// Slots computed together: few enough for the second-level cache, enough to share a base quantity.
const BATCH: usize = 1 + MAX_RAISES;
/// Slots an operation processes at a time.
pub(super) const STREAMS: usize = 8;
/// Highest power of a fresh exponential that stands for a narrower kernel; its relative error is as many times larger.
/// In `f32` each kernel of a chain has an exponential of its own, and a chain may be as long as a batch.
const HIGHEST_POWER: u32 = 16;

/// How the values of a slot are computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// The kernel, from its base quantity.
    Value,
    /// The square (or, with `true`, the fourth power) of the slot before: the Gaussian of twice (four times) its rate.
    Raise(bool),
    /// The base quantity itself, for a group that is treated as one function of it.
    Base,
}

/// One array of values per tile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// The kernel; for [`Step::Base`] the first of the group.
    pub(super) kernel: usize,
    pub(super) step: Step,
}

/// Kernels that share a base quantity on the same columns.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) base: Base,
    pub(super) columns: Columns,
    /// Whether the columns are in their own units.
    pub(super) unscaled: bool,
    /// The Gram matrix the base quantity is read from.
    pub(super) gram: Option<String>,
    pub(super) slots: Range<usize>,
    /// For a group treated as one function of the distance: its kernels with their rates, and the segments.
    pub(super) radial: Option<Radial>,
}

/// Radial kernels as functions of one distance.
#[derive(Debug)]
pub(super) struct Radial {
    pub(super) kernels: Vec<usize>,
    pub(super) rates: Vec<f64>,
    pub(super) grid: Grid,
}

/// Slots computed together.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    pub(super) group: usize,
    pub(super) slots: Range<usize>,
}

/// The kernels of a stack, and how they are computed.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) kernels: Vec<Kernel>,
    pub(super) groups: Vec<Group>,
    pub(super) slots: Vec<Slot>,
    pub(super) batches: Vec<Batch>,
    /// The slot of each kernel.
    pub(super) slot_of: Vec<usize>,
}

impl Layout {
    /// `collapse` allows many radial kernels to be treated as one function of the distance.
    pub(super) fn new(kernels: &[Kernel], precision: Precision, collapse: bool) -> Layout {
        let mut layout =
            Layout { kernels: kernels.to_vec(), groups: vec![], slots: vec![], batches: vec![], slot_of: vec![] };
        for (kernel, members) in share(kernels) {
            let (radial, others): (Vec<usize>, Vec<usize>) =
                members.into_iter().partition(|&m| kernels[m].rate().is_some() && !kernels[m].is_centred());
            let (mut alone, mut together): (Vec<usize>, Vec<usize>) =
                radial.into_iter().partition(|&m| !holds_distances(precision, &kernels[m]));
            if collapse && together.len() >= MIN_PROFILE_KERNELS {
                layout.add_radial(kernel, together);
            } else {
                alone.append(&mut together);
            }
            layout.add(kernel, order(&layout.kernels, precision, alone, others));
        }
        layout.slot_of = vec![0; kernels.len()];
        for group in &layout.groups {
            for s in group.slots.clone() {
                layout.slot_of[layout.slots[s].kernel] = s;
            }
            for &m in group.radial.iter().flat_map(|radial| &radial.kernels) {
                layout.slot_of[m] = group.slots.start;
            }
        }
        layout
    }

    fn add_radial(&mut self, like: &Kernel, kernels: Vec<usize>) {
        let rates: Vec<f64> = kernels.iter().map(|&m| self.kernels[m].rate().unwrap_or_default()).collect();
        let slot = Slot { kernel: kernels[0], step: Step::Base };
        let grid = Grid::new(&rates);
        self.push(like, vec![slot], Some(Radial { kernels, rates, grid }));
    }

    fn add(&mut self, like: &Kernel, slots: Vec<Slot>) {
        if !slots.is_empty() {
            self.push(like, slots, None);
        }
    }

    /// Adds a group of kernels with the base quantity of `like`.
    fn push(&mut self, like: &Kernel, slots: Vec<Slot>, radial: Option<Radial>) {
        let (group, first) = (self.groups.len(), self.slots.len());
        let mut begin = 0;
        for end in 1..=slots.len() {
            // A batch may end where the next slot does not depend on the one before it.
            let whole = slots.get(end).is_none_or(|slot| !matches!(slot.step, Step::Raise(_)));
            let next = (end + 1..=slots.len())
                .find(|&e| slots.get(e).is_none_or(|slot| !matches!(slot.step, Step::Raise(_))))
                .unwrap_or(slots.len());
            if whole && (end == slots.len() || next - begin > BATCH) {
                self.batches.push(Batch { group, slots: first + begin..first + end });
                begin = end;
            }
        }
        let range = first..first + slots.len();
        self.slots.extend(slots);
        let (base, columns, gram) = (like.base(), like.columns().clone(), like.gram().map(str::to_string));
        let unscaled = like.is_unscaled();
        self.groups.push(Group { base, columns, unscaled, gram, slots: range, radial });
    }

    /// The position of a slot among those of a tile in the store. Eight consecutive slots are an eighth of the tile
    /// apart: an operation that takes eight slots at a time then reads eight sequential streams, which is as fast as
    /// memory gets.
    pub(super) fn place(&self, slot: usize) -> usize {
        let (n, stream) = (self.slots.len(), slot % STREAMS);
        stream * (n / STREAMS) + stream.min(n % STREAMS) + slot / STREAMS
    }

    /// The groups that have a requested batch.
    pub(super) fn groups_of(&self, batch_mask: &[bool]) -> Vec<bool> {
        let mut groups = vec![false; self.groups.len()];
        for (batch, _) in self.batches.iter().zip(batch_mask).filter(|&(_, &batch_mask)| batch_mask) {
            groups[batch.group] = true;
        }
        groups
    }

    /// The batch that holds a kernel.
    pub(super) fn batch_of(&self, kernel: usize) -> usize {
        self.batches.partition_point(|batch| batch.slots.end <= self.slot_of[kernel])
    }
}

/// Whether the distances at which a radial kernel falls are representable: for extreme rates they are 0 or infinite in
/// `f32`.
fn holds_distances(precision: Precision, kernel: &Kernel) -> bool {
    precision == Precision::F64 || kernel.rate().is_some_and(|rate| NARROW_RATES.contains(&rate))
}

/// Kernels grouped by base quantity: the first kernel of each group and all its members, in order of the first.
fn share(kernels: &[Kernel]) -> Vec<(&Kernel, Vec<usize>)> {
    let mut place = HashMap::new();
    let mut groups: Vec<(&Kernel, Vec<usize>)> = vec![];
    for (m, kernel) in kernels.iter().enumerate() {
        let at =
            *place.entry((kernel.base(), kernel.columns(), kernel.is_unscaled(), kernel.gram())).or_insert_with(|| {
                groups.push((kernel, vec![]));
                groups.len() - 1
            });
        groups[at].1.push(m);
    }
    groups
}

/// The slots of a group: chains of radial kernels, each starting with its widest, then the other kernels.
fn order(kernels: &[Kernel], precision: Precision, mut radial: Vec<usize>, others: Vec<usize>) -> Vec<Slot> {
    let rate = |m: usize| kernels[m].rate().unwrap_or_default();
    radial.sort_by(|&a, &b| rate(a).total_cmp(&rate(b)).then(a.cmp(&b)));
    let mut left: Vec<usize> = radial;
    let mut slots = vec![];
    while !left.is_empty() {
        let mut last = left.remove(0);
        slots.push(Slot { kernel: last, step: Step::Value });
        let (mut power, mut length) = (1, 1);
        let goes_on = |power: u32, length: usize, twice: bool| match precision {
            Precision::F64 => power << (1 + u32::from(twice)) <= HIGHEST_POWER,
            Precision::F32 => length < BATCH,
        };
        while let Some((place, twice)) = next(&left, rate, last).filter(|&(_, twice)| goes_on(power, length, twice)) {
            (power, length) = (power << (1 + u32::from(twice)), length + 1);
            last = left.remove(place);
            slots.push(Slot { kernel: last, step: Step::Raise(twice) });
        }
    }
    slots.extend(others.into_iter().map(|kernel| Slot { kernel, step: Step::Value }));
    slots
}

/// The position of the kernel with exactly twice the rate, or else of the one with four times the rate.
fn next(left: &[usize], rate: impl Fn(usize) -> f64, last: usize) -> Option<(usize, bool)> {
    let find = |factor: f64| left.iter().position(|&m| rate(m) == factor * rate(last));
    find(2.0).map(|place| (place, false)).or_else(|| find(4.0).map(|place| (place, true)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::KernelBank;

    fn layout(bank: &str) -> Layout {
        let bank: KernelBank = bank.parse().unwrap();
        let kernels = bank.resolve(&Default::default(), &crate::linalg::Matrix::zeros(2, 3).into()).unwrap();
        Layout::new(&kernels, Precision::F64, true)
    }

    #[test]
    fn widths_in_powers_of_two_begin_anew_every_third() {
        let layout = layout("gaussian(2^-6..2^7), polynomial(1..3)");
        assert_eq!((layout.groups.len(), layout.slots.len()), (2, 17));
        let fresh = layout.slots[..14].iter().filter(|slot| slot.step == Step::Value).count();
        assert_eq!(fresh, 5);
        assert!(layout.slots[..14].iter().all(|slot| slot.step != Step::Raise(false)));
        for batch in &layout.batches {
            assert!(batch.slots.len() <= BATCH && layout.slots[batch.slots.start].step == Step::Value);
        }
        for m in 0..17 {
            assert_eq!(layout.slots[layout.slot_of[m]].kernel, m);
            assert!(layout.batches[layout.batch_of(m)].slots.contains(&layout.slot_of[m]));
        }
    }

    #[test]
    fn places_are_all_slots_once_and_neighbours_an_eighth_apart() {
        for n in 1..40 {
            let layout = layout(&vec!["linear raw"; n].join(", "));
            let mut places: Vec<usize> = (0..n).map(|slot| layout.place(slot)).collect();
            assert!((STREAMS..n).all(|slot| places[slot] == places[slot - STREAMS] + 1));
            places.sort_unstable();
            assert!(places.into_iter().eq(0..n));
        }
    }

    #[test]
    fn rates_in_powers_of_two_begin_anew_every_fifth() {
        let layout = layout("gaussian(gamma=2^-4..2^5)");
        assert_eq!(layout.slots.iter().filter(|slot| slot.step == Step::Value).count(), 2);
    }

    #[test]
    fn many_radial_kernels_take_one_slot_and_centred_ones_their_own() {
        let layout = layout("gaussian(gamma=2^-5..2^5; 40), gaussian(1) centred, laplacian(1)");
        assert_eq!(
            layout.slots.iter().map(|slot| slot.step).collect::<Vec<_>>(),
            [Step::Base, Step::Value, Step::Value]
        );
        assert_eq!(layout.groups[0].radial.as_ref().unwrap().kernels, (0..40).collect::<Vec<_>>());
        assert_eq!((layout.slot_of[39], layout.slot_of[40], layout.slot_of[41]), (0, 1, 2));
    }

    #[test]
    fn chains_in_f32_are_as_long_as_a_batch() {
        let bank: KernelBank = "gaussian(2^-6..2^7), gaussian(3)".parse().unwrap();
        let kernels = bank.resolve(&Default::default(), &crate::linalg::Matrix::zeros(2, 3).into()).unwrap();
        let layout = Layout::new(&kernels, Precision::F32, true);
        let lengths: Vec<usize> = layout.batches.iter().map(|batch| batch.slots.len()).collect();
        let fresh = layout.slots.iter().filter(|slot| slot.step == Step::Value).count();
        assert_eq!((lengths, fresh), (vec![BATCH, 7], 3));
    }
}
