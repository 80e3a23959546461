//! Where the values of a tile come from: stored, gathered for a view, or computed on the fly by the code that fills the
//! store, so that the bits are the same.

use std::ops::Range;

use super::cut::{Cut, Tile};
use super::layout::{Batch, Layout, STREAMS, Step};
use super::points::Sides;
use crate::simd::{Buffer, MAX_RAISES, PastCaches, Real, UninitPart, skip_to_line};

/// Bytes of stored values handed out together, unless a single batch has more: an operation with several results, which
/// reads them once for each, then finds them in the second-level cache.
const RUN_BYTES: usize = 512 << 10;

/// Values left unused at the start or end of a store, so that the rest starts at a cache line.
pub(super) const SLACK: usize = 16;

/// The values of one view of a stack.
pub(super) struct Source<'a, T> {
    pub(super) layout: &'a Layout,
    /// The shape of the view.
    pub(super) cut: Cut,
    values: Values<'a, T>,
    /// Slots that are read; `None` for all.
    slot_mask: Option<&'a [bool]>,
}

enum Values<'a, T> {
    /// Stored, and the view shows everything.
    Stored(&'a [T]),
    /// Stored; the rows and columns of the view are indices into the store, which has the shape `store`.
    Gathered { values: &'a [T], store: Cut, rows: &'a [usize], cols: &'a [usize] },
    /// Computed from points, group by group.
    Computed(Computed),
}

/// Inputs from which values are computed.
pub(super) struct Computed {
    /// The points of each group.
    pub(super) sides: Vec<Option<Sides>>,
    /// Factors for the rows and columns of each group's kernels, if points lack views.
    pub(super) gates: Vec<Option<[Vec<f64>; 2]>>,
    /// The means of each kernel.
    pub(super) centring: Vec<Option<Means>>,
}

/// The means of a centred kernel at the rows and columns of the view.
pub(super) struct Means {
    pub(super) rows: Vec<f64>,
    pub(super) cols: Vec<f64>,
    pub(super) grand: f64,
}

/// The values of some slots in a tile.
pub(super) struct TileValues<'a, T> {
    values: &'a [T],
    /// Entries of the tile.
    n: usize,
    slots: Range<usize>,
    /// The layout for locating slots, if the values are those of the whole tile in the store.
    spread: Option<&'a Layout>,
}

impl<'a, T> TileValues<'a, T> {
    /// The range of slots.
    pub(super) fn slots(&self) -> Range<usize> {
        self.slots.clone()
    }

    /// The values of one of the slots.
    pub(super) fn slot(&self, slot: usize) -> &'a [T] {
        let at = self.spread.map_or_else(|| slot - self.slots.start, |layout| layout.place(slot));
        &self.values[at * self.n..(at + 1) * self.n]
    }
}

/// Buffers of one thread.
#[derive(Default)]
pub(super) struct Scratch<T> {
    /// The base quantity of a tile, and the group and tile it belongs to.
    base: Buffer,
    held: Option<(usize, Tile)>,
    current: Buffer,
    values: Vec<T>,
    places: Vec<(usize, usize)>,
}

impl<'a, T: Real> Source<'a, T> {
    pub(super) fn stored(layout: &'a Layout, cut: Cut, values: &'a [T]) -> Self {
        Source { layout, cut, values: Values::Stored(values), slot_mask: None }
    }

    pub(super) fn gathered(
        layout: &'a Layout,
        cut: Cut,
        values: &'a [T],
        store: Cut,
        rows: &'a [usize],
        cols: &'a [usize],
    ) -> Self {
        Source { layout, cut, values: Values::Gathered { values, store, rows, cols }, slot_mask: None }
    }

    pub(super) fn computed(layout: &'a Layout, cut: Cut, computed: Computed) -> Self {
        Source { layout, cut, values: Values::Computed(computed), slot_mask: None }
    }

    /// The same without the values of slots that nobody reads, where they would have to be gathered.
    pub(super) fn reading(self, slot_mask: &'a [bool]) -> Self {
        Source { slot_mask: Some(slot_mask), ..self }
    }

    /// Calls `f` with runs of slots and their values in the tile, in slot order, for all slots of the batches in the
    /// mask. A run may span batches.
    pub(super) fn each(
        &self,
        block: usize,
        tile: &Tile,
        batch_mask: &[bool],
        scratch: &mut Scratch<T>,
        mut f: impl FnMut(&TileValues<'_, T>),
    ) {
        let batches = &self.layout.batches;
        let mut next = 0;
        while let Some(begin) = (next..batches.len()).find(|&b| batch_mask[b]) {
            next = match &self.values {
                // Neighbours in the store are read together.
                Values::Stored(_) => self.run(begin, tile, batch_mask),
                _ => begin + 1,
            };
            let slots = batches[begin].slots.start..batches[next - 1].slots.end;
            match self.whole(block, tile) {
                Some(whole) => f(&TileValues { slots, ..whole }),
                None => {
                    let values = self.batch(tile, &batches[begin], scratch);
                    f(&TileValues { values, n: tile.len(), slots, spread: None });
                }
            }
        }
    }

    /// The values of all slots in a tile, if the view shows everything and they are stored.
    pub(super) fn whole(&self, block: usize, tile: &Tile) -> Option<TileValues<'_, T>> {
        let Values::Stored(values) = &self.values else { return None };
        let n_slots = self.layout.slots.len();
        let start = self.cut.start(block) * n_slots + tile.rows.len() * tile.cols.start * n_slots;
        let values = &values[start..start + tile.len() * n_slots];
        Some(TileValues { values, n: tile.len(), slots: 0..n_slots, spread: Some(self.layout) })
    }

    /// The end of the batches that are read together with this one. Slots of a run are taken several at a time, so a
    /// run that leaves no remainder is best.
    fn run(&self, begin: usize, tile: &Tile, batch_mask: &[bool]) -> usize {
        let (batches, most) = (&self.layout.batches, RUN_BYTES / (tile.len() * T::BYTES).max(1));
        let slots = |end: usize| batches[end - 1].slots.end - batches[begin].slots.start;
        let joins = |end: &usize| batch_mask[end - 1] && slots(*end) <= most;
        let ends = (begin + 2..=batches.len()).take_while(joins);
        let (mut last, mut whole) = (begin + 1, None);
        for end in ends {
            last = end;
            whole = if slots(end).is_multiple_of(STREAMS) { Some(end) } else { whole };
        }
        // The very last run may leave a remainder.
        whole.filter(|_| last < batches.len()).unwrap_or(last)
    }

    /// The values of all slots of the batches in the mask, for the tiles of a block, as [`Source::held`] takes them: from the
    /// store, or in `kept`.
    pub(super) fn hold<'k>(
        &'k self,
        block: usize,
        tiles: &[Tile],
        batch_mask: &[bool],
        scratch: &mut Scratch<T>,
        kept: &'k mut Vec<T>,
    ) -> &'k [T] {
        let n_slots = self.layout.slots.len();
        if let Values::Stored(values) = &self.values {
            return &values[self.cut.start(block) * n_slots..self.cut.start(block + 1) * n_slots];
        }
        kept.resize(n_slots * tiles.iter().map(Tile::len).sum::<usize>(), T::default());
        let mut left = kept.as_mut_slice();
        for tile in tiles {
            let (values, rest) = std::mem::take(&mut left).split_at_mut(n_slots * tile.len());
            left = rest;
            let mut places: Vec<_> = values.chunks_exact_mut(tile.len()).map(UninitPart::over).collect();
            if let Values::Computed(computed) = &self.values {
                computed.tile(self.layout, tile, batch_mask, scratch, &mut places);
                continue;
            }
            self.copy_tile(block, tile, batch_mask, scratch, None, &mut places);
        }
        kept
    }

    /// Writes all slots of the batches in the mask in a tile, in store order; `past` bypasses the caches.
    fn copy_tile(
        &self,
        block: usize,
        tile: &Tile,
        batch_mask: &[bool],
        scratch: &mut Scratch<T>,
        past: Option<&PastCaches>,
        places: &mut [UninitPart<'_, T>],
    ) {
        self.each(block, tile, batch_mask, scratch, |held| {
            for slot in held.slots() {
                let (from, to) = (held.slot(slot), &mut places[self.layout.place(slot)]);
                match past {
                    Some(past) => past.copy(from, to),
                    None => to.extend_from_slice(from),
                }
            }
        });
    }

    /// The tiles of a block with the values kept by [`Source::hold`].
    pub(super) fn held<'k>(
        &'k self,
        tiles: &'k [Tile],
        kept: &'k [T],
    ) -> impl Iterator<Item = (&'k Tile, TileValues<'k, T>)> {
        let (n_slots, mut left) = (self.layout.slots.len(), kept);
        tiles.iter().map(move |tile| {
            let (values, rest) = left.split_at(n_slots * tile.len());
            left = rest;
            (tile, TileValues { values, n: tile.len(), slots: 0..n_slots, spread: Some(self.layout) })
        })
    }

    /// The values of one batch, gathered or computed.
    fn batch<'s>(&self, tile: &Tile, batch: &Batch, scratch: &'s mut Scratch<T>) -> &'s [T] {
        let size = batch.slots.len() * tile.len();
        // Taken out, so that the rest of the scratch space can be borrowed mutably.
        let mut values = std::mem::take(&mut scratch.values);
        if values.len() < size + SLACK {
            values.resize(size + SLACK, T::default());
        }
        let start = skip_to_line(&values);
        let mut out: Vec<_> = values[start..start + size].chunks_exact_mut(tile.len()).map(UninitPart::over).collect();
        match &self.values {
            Values::Gathered { values, store, rows, cols } => {
                let read =
                    batch.slots.clone().zip(out).filter(|(slot, _)| self.slot_mask.is_none_or(|mask| mask[*slot]));
                gather(values, store, self.layout, [rows, cols], tile, read, &mut scratch.places);
            }
            Values::Computed(computed) => computed.batch(self.layout, tile, batch, scratch, &mut out),
            Values::Stored(_) => {}
        }
        scratch.values = values;
        &scratch.values[start..start + size]
    }

    /// Fills the store of one block: all slots of its tiles, one tile after the other; `past` bypasses the caches.
    /// `go_on` is polled before each tile.
    pub(super) fn fill(
        &self,
        block: usize,
        scratch: &mut Scratch<T>,
        past: bool,
        mut go_on: impl FnMut() -> bool,
        out: &mut UninitPart<'_, T>,
    ) {
        let (n_slots, all) = (self.layout.slots.len(), vec![true; self.layout.batches.len()]);
        let past = past.then(PastCaches::new);
        for tile in self.cut.tiles(block).take_while(|_| go_on()) {
            let filled = out.extend_parts((0..n_slots).map(|_| tile.len()), |places| match &self.values {
                Values::Computed(computed) if past.is_none() => {
                    computed.tile(self.layout, &tile, &all, scratch, places);
                }
                _ => self.copy_tile(block, &tile, &all, scratch, past.as_ref(), places),
            });
            debug_assert!(filled, "every slot of a tile has its values");
        }
    }
}

impl Computed {
    /// All slots of the batches in the mask in a tile, in store order.
    fn tile<T: Real>(
        &self,
        layout: &Layout,
        tile: &Tile,
        batch_mask: &[bool],
        scratch: &mut Scratch<T>,
        places: &mut [UninitPart<'_, T>],
    ) {
        for (batch, _) in layout.batches.iter().zip(batch_mask).filter(|(_, batch_mask)| **batch_mask) {
            // Taken out, so that slots of the batch are contiguous here.
            let at = |slot| std::mem::take(&mut places[layout.place(slot)]);
            let mut out: Vec<UninitPart<'_, T>> = batch.slots.clone().map(at).collect();
            self.batch(layout, tile, batch, scratch, &mut out);
            batch.slots.clone().zip(out).for_each(|(slot, part)| places[layout.place(slot)] = part);
        }
    }

    /// The values of one batch, with the factors for missing views applied.
    fn batch<T: Real>(
        &self,
        layout: &Layout,
        tile: &Tile,
        batch: &Batch,
        scratch: &mut Scratch<T>,
        out: &mut [UninitPart<'_, T>],
    ) {
        let Some(sides) = &self.sides[batch.group] else { return };
        compute(layout, sides, &self.centring, tile, batch, scratch, out);
        let Some([rows, cols]) = &self.gates[batch.group] else { return };
        for out in out {
            for (&row, values) in rows[tile.rows.clone()].iter().zip(out.written().chunks_exact_mut(tile.cols.len())) {
                T::gate(row, &cols[tile.cols.clone()], values);
            }
        }
    }
}

/// The values of a batch of kernels in a tile: the base quantity once, then each kernel from it or from the previous
/// kernel.
fn compute<T: Real>(
    layout: &Layout,
    sides: &Sides,
    centring: &[Option<Means>],
    tile: &Tile,
    batch: &Batch,
    scratch: &mut Scratch<T>,
    out: &mut [UninitPart<'_, T>],
) {
    if let ([slot], [out]) = (&layout.slots[batch.slots.clone()], &mut *out) {
        let as_given = layout.kernels[slot.kernel].is_as_given() && centring[slot.kernel].is_none();
        if as_given && sides.append_given(tile, out) {
            return;
        }
    }
    let key = (batch.group, tile.clone());
    if scratch.held.as_ref() != Some(&key) {
        scratch.base.set_len(tile.len());
        sides.base_into(tile, &mut scratch.base);
        scratch.held = Some(key);
    }
    let (n, mut out) = (tile.len(), out);
    let mut slots = &layout.slots[batch.slots.clone()];
    while let Some((slot, after)) = slots.split_first() {
        let n_raised = after.iter().take_while(|slot| matches!(slot.step, Step::Raise(_))).count();
        let (here, rest) = out.split_at_mut(1 + n_raised);
        let kernel = &layout.kernels[slot.kernel];
        match (slot.step, kernel.rate(), &centring[slot.kernel]) {
            (Step::Base, ..) => T::round_into(&scratch.base, &mut here[0]),
            (_, Some(rate), None) => {
                let mut raises = [false; MAX_RAISES];
                for (raise, slot) in raises.iter_mut().zip(after) {
                    *raise = slot.step == Step::Raise(true);
                }
                T::decays_into(rate, &raises[..n_raised], &scratch.base, here);
            }
            (_, _, means) => {
                scratch.current.set_len(n);
                kernel.values_into(&scratch.base, &mut scratch.current);
                if let Some(means) = means {
                    means.centre(tile, &mut scratch.current);
                }
                T::round_into(&scratch.current, &mut here[0]);
            }
        }
        (slots, out) = (&after[n_raised..], rest);
    }
}

impl Means {
    fn centre(&self, tile: &Tile, values: &mut [f64]) {
        for (i, row) in tile.rows.clone().zip(values.chunks_exact_mut(tile.cols.len())) {
            let mean = self.rows[i];
            for (value, other) in row.iter_mut().zip(&self.cols[tile.cols.clone()]) {
                // Add the two means first: a sum of two is the same in either order, so symmetry is exact.
                *value = (*value - (mean + other)) + self.grand;
            }
        }
    }
}

/// The values of some slots at the entries of a view's tile, gathered from the store.
fn gather<'o, T: Real>(
    values: &[T],
    store: &Cut,
    layout: &Layout,
    [rows, cols]: [&[usize]; 2],
    tile: &Tile,
    slots: impl Iterator<Item = (usize, UninitPart<'o, T>)>,
    places: &mut Vec<(usize, usize)>,
) {
    places.clear();
    for &row in &rows[tile.rows.clone()] {
        places.extend(cols[tile.cols.clone()].iter().map(|&col| store.place(row, col, layout.slots.len())));
    }
    for (slot, mut out) in slots {
        let place = layout.place(slot);
        out.extend(places, |&(start, stride)| values[start + place * stride]);
    }
}
