//! The operations, each written once for stored and for computed values.
//!
//! Work is split into row blocks and parts by the shape alone, and parts are added in order: the same bits for any
//! number of threads, whether kernels are stored or computed on the fly.

use super::core::Element;
use super::cut::{Cut, Tile};
use super::layout::Layout;
use super::mixture::{Mixture, Recipe, Term};
use super::profile::{Moments, Profile};
use super::source::{Scratch, Source, TileValues};
use super::view::{Stack, check};
use super::watch::Watch;
use super::write::{StripWriter, Written, write};
use crate::error::{Error, Result};
use crate::linalg::{Matrix, Matrix32, Pieces};
use crate::pool::Pool;
use crate::precision::Precision;
use crate::simd::{
    Buffer, Real, SIDE, SimdElement, add_eight, add_eight_at_hand, decay_into, dot_eight_with_each, prefetch, spans,
    transpose,
};

/// Prefetch distance in rows when a matrix is read column by column: about as long as memory latency.
const PREFETCH_ROWS: usize = 24;
/// Runs of batches that `apply` takes one after the other, at most: enough for any number of threads.
const APPLY_RUNS: usize = 16;
/// Memory for the partial results of `apply`.
const PARTIAL_BYTES: usize = 128 << 20;

/// A matrix to project on: dense, or `U V'` of low rank. If the stack is symmetric, only its symmetric part counts.
#[derive(Clone, Copy, Debug)]
pub enum Symmetric<'a> {
    /// The whole matrix.
    Dense(&'a Matrix),
    /// A symmetric matrix of which only the lower triangle, including the diagonal, is read: faster than reading all of
    /// it.
    Lower(&'a Matrix),
    /// `U V'`, both n x r.
    Factored(&'a Matrix, &'a Matrix),
}

impl Stack {
    /// `sum_m W_mc K_m` for each column c of the P x C weights: C matrices of n_rows x n_cols. One pass over the
    /// kernels with a non-zero weight, whatever C.
    pub fn combine(&self, weights: &Matrix, pool: &Pool) -> Result<Vec<Matrix>> {
        check("combine: weights", "rows (one per kernel)", weights.n_rows(), self.n_kernels())?;
        self.mix(&self.mixture(weights, pool)?, pool)
    }

    /// [`Stack::combine`] with one weight per kernel, rounded to `f32`: half the memory, and an error of up to 6e-8 of each
    /// value. Cost: one pass over the kernels with a non-zero weight.
    pub fn combine_f32(&self, weights: &[f64], pool: &Pool) -> Result<Matrix32> {
        check("combine_f32: weights", "rows (one per kernel)", weights.len(), self.n_kernels())?;
        let mixture = self.mixture(&Matrix::from_vec(weights.len(), 1, weights.to_vec())?, pool)?;
        if let Some(there) = self.there(pool) {
            return there.mix_f32(&mixture);
        }
        in_precision!(self, mix_f32(self, &mixture, pool))
    }

    /// `<K_m, M_c>` for all kernels m (rows) and matrices c (columns): the gradient for all kernels at once. One pass
    /// over the kernels; a matrix of rank r costs r operations per entry, whatever P.
    pub fn project(&self, matrices: &[Symmetric<'_>], pool: &Pool) -> Result<Matrix> {
        for matrix in matrices {
            let (rows, cols) = match matrix {
                Symmetric::Dense(matrix) | Symmetric::Lower(matrix) => (matrix.n_rows(), matrix.n_cols()),
                Symmetric::Factored(u, v) => {
                    check("project: factors", "columns", v.n_cols(), u.n_cols())?;
                    (u.n_rows(), v.n_rows())
                }
            };
            check("project: matrix", "rows", rows, self.n_rows())?;
            check("project: matrix", "columns", cols, self.n_cols())?;
            if matches!(matrix, Symmetric::Lower(_)) && rows != cols {
                return Err(Error::input(format!("project: half of a matrix must be square, got {rows} x {cols}")));
            }
        }
        if let Some(there) = self.there(pool) {
            return there.project(matrices);
        }
        let all = in_precision!(self, project(self, matrices, pool))?;
        Ok(if self.kernels.is_all() { all } else { all.select_rows(&self.kernels.indices()) })
    }

    /// `K_m V` for all kernels, V of n_cols x r: P matrices of n_rows x r. One pass, r products per entry.
    pub fn apply(&self, vectors: &Matrix, pool: &Pool) -> Result<Vec<Matrix>> {
        check("apply: vectors", "rows", vectors.n_rows(), self.n_cols())?;
        if let Some(there) = self.there(pool) {
            return there.apply(vectors);
        }
        in_precision!(self, apply(self, vectors, pool))
    }

    /// `sum_m K_m G_m` with one n_cols x r matrix G_m per kernel, given side by side as n_cols x P r. The result is
    /// n_rows x r; this is the adjoint of [`Stack::apply`]. One pass, r products per entry.
    pub fn collect(&self, vectors: &Matrix, pool: &Pool) -> Result<Matrix> {
        check("collect: vectors", "rows", vectors.n_rows(), self.n_cols())?;
        let (n_kernels, count) = (self.n_kernels(), vectors.n_cols());
        if n_kernels == 0 && count == 0 {
            return Ok(Matrix::zeros(self.n_rows(), 0));
        }
        if n_kernels == 0 || count % n_kernels != 0 {
            return Err(Error::input(format!(
                "collect: vectors has {count} columns, the stack needs as many for each of its {n_kernels} kernels"
            )));
        }
        let each = count / n_kernels;
        if let Some(there) = self.there(pool) {
            return there.collect(vectors, each);
        }
        // One row per kernel, its vectors concatenated.
        let mut rows = Matrix::zeros(n_kernels, each * self.n_cols());
        pool.chunks_mut(rows.data_mut(), self.n_cols(), |c, row| {
            row.iter_mut().enumerate().for_each(|(i, value)| *value = vectors.get(i, c));
        });
        let all = self.spread(rows);
        in_precision!(self, collect(self, &all, each, pool))
    }

    /// The submatrix of kernel `m` between these row and column points of the view.
    pub fn block(&self, m: usize, rows: &[usize], cols: &[usize]) -> Result<Matrix> {
        let piece = self.between(rows, cols)?.pick(&[m])?;
        in_precision!(piece, block(&piece))
    }

    /// All kernel matrices stacked vertically: P n_rows x n_cols, row `m n_rows + i` is that of point i in kernel m,
    /// with the bits of [`Stack::block`]. One pass, for methods that go over the same few points again and again:
    /// nothing is read faster than a row of a matrix.
    pub fn unfold(&self, pool: &Pool) -> Result<Matrix> {
        in_precision!(self, unfold(self, pool))
    }
}

/// `out += sum of the weighted slots`, in order, several at a time: more memory streams, fewer passes over `out`.
fn add_slots<T: SimdElement>(slots: &[(usize, f64)], held: &TileValues<'_, T>, out: &mut [f64]) {
    let (eights, rest) = slots.as_chunks::<8>();
    for eight in eights {
        add_eight(eight.map(|(_, weight)| weight), eight.map(|(slot, _)| held.slot(slot)), out);
    }
    let (fours, rest) = rest.as_chunks::<4>();
    for four in fours {
        T::add_four(four.map(|(_, weight)| weight), four.map(|(slot, _)| held.slot(slot)), out);
    }
    for &(slot, weight) in rest {
        T::add_scaled(weight, held.slot(slot), out);
    }
}

/// [`add_slots`] for each column of weighted slots, with the same bits. If all columns use the same slots, these are
/// read once: a span of eight stays in the first-level cache until every column has used it.
fn add_slots_to_each<T: SimdElement>(columns: &[&[(usize, f64)]], held: &TileValues<'_, T>, out: &mut [Buffer]) {
    let Some((first, others)) = columns.split_first() else { return };
    let same = |other: &&[(usize, f64)]| first.iter().map(|of| of.0).eq(other.iter().map(|of| of.0));
    let (together, _) = first.as_chunks::<8>();
    let together = if !others.is_empty() && others.iter().all(same) { together } else { &[] };
    for (at, eight) in together.iter().enumerate() {
        let values = eight.map(|(slot, _)| held.slot(slot));
        for span in spans::<T>(values[0].len()) {
            let part = values.map(|values| &values[span.clone()]);
            for (slots, out) in columns.iter().zip(out.iter_mut()) {
                add_eight(std::array::from_fn(|k| slots[8 * at + k].1), part, &mut out[span.clone()]);
            }
        }
    }
    for (slots, out) in columns.iter().zip(out) {
        add_slots(&slots[8 * together.len()..], held, out);
    }
}

pub(super) fn mix<T: Element>(stack: &Stack, mixture: &Mixture, pool: &Pool) -> Result<Vec<Matrix>> {
    let cut = stack.cut();
    let what = match mixture.n_columns() {
        1 => format!("the combined kernel of {} x {} points", cut.n_rows, cut.n_cols),
        n => format!("{n} combined kernels of {} x {} points", cut.n_rows, cut.n_cols),
    };
    let mut sums = stack.core.unspecified(&what, mixture.n_columns(), cut.n_rows, cut.n_cols)?;
    let pieces: Vec<Pieces<'_>> = sums.iter_mut().map(Pieces::new).collect();
    mix_into::<T, f64>(stack, mixture, &pieces, pool)?;
    drop(pieces);
    Ok(sums)
}

/// The first matrix of a mixture.
fn mix_f32<T: Element>(stack: &Stack, mixture: &Mixture, pool: &Pool) -> Result<Matrix32> {
    let cut = stack.cut();
    let mut sum = stack.core.narrow(cut.n_rows, cut.n_cols)?;
    mix_into::<T, f32>(stack, mixture, &[Pieces::of(&mut sum)], pool)?;
    Ok(sum)
}

/// Writes the matrices of a mixture, one to each of `pieces`.
fn mix_into<T: Element, U: Written>(
    stack: &Stack,
    mixture: &Mixture,
    pieces: &[Pieces<'_, U>],
    pool: &Pool,
) -> Result<()> {
    let (layout, cut) = (&stack.core.layout, stack.cut());
    let (columns, batch_mask): (Vec<&Recipe>, _) = (mixture.columns.iter().collect(), &mixture.batch_mask);
    let indices = stack.indices();
    let source: Source<'_, T> = stack.source(&indices, batch_mask, Some(pool)).reading(&mixture.slot_mask);
    let watch = stack.watch();
    pool.each(cut.strips(), |strip| {
        let (mut scratch, mut distances) = (Scratch::default(), Buffer::default());
        let mut out: Vec<Buffer> = vec![Buffer::default(); columns.len()];
        let mut writers: Vec<_> = pieces.iter().map(|pieces| StripWriter::new(&cut, &strip, pieces)).collect();
        for (cols, tiles) in cut.tiles_of_strip(&strip) {
            for (block, tile) in tiles.take_while(|_| watch.go_on()) {
                for out in &mut out {
                    out.set_len(tile.len());
                    out.fill(0.0);
                }
                source.each(block, &tile, batch_mask, &mut scratch, |held| {
                    let radial =
                        |_, profile: &Profile, distances: &[f64], out: &mut [f64]| profile.add_into(distances, out);
                    add_terms(layout, &columns, held, &mut distances, &mut out, radial);
                });
                writers.iter_mut().zip(&out).for_each(|(writer, out)| writer.put(&tile, out));
            }
            writers.iter_mut().for_each(|writer| writer.finish(cols.clone()));
        }
    });
    watch.result(())
}

/// Adds what each column needs from the available values. `radial` handles a group treated as one function; it is given
/// the column index, the function, the distances and the sum.
pub(super) fn add_terms<T: SimdElement>(
    layout: &Layout,
    columns: &[&Recipe],
    held: &TileValues<'_, T>,
    distances: &mut Buffer,
    out: &mut [Buffer],
    mut radial: impl FnMut(usize, &Profile, &[f64], &mut [f64]),
) {
    let slots = held.slots();
    let first = layout.batches.partition_point(|batch| batch.slots.end <= slots.start);
    let at_hand = layout.batches.iter().enumerate().skip(first).take_while(|(_, batch)| batch.slots.end <= slots.end);
    // Slots of consecutive batches are contiguous and are added together.
    let mut open = vec![0..0; columns.len()];
    for (b, batch) in at_hand {
        let values = held.slot(batch.slots.start);
        let mut widened = false;
        for (k, recipe) in columns.iter().enumerate() {
            match &recipe.terms[b] {
                Term::Nothing => {}
                Term::Slots(range) if open[k].is_empty() => open[k] = range.clone(),
                Term::Slots(range) => open[k].end = range.end,
                Term::Radial(profile) => {
                    add_slots(&recipe.slots[std::mem::take(&mut open[k])], held, &mut out[k]);
                    if !widened {
                        distances.set_len(values.len());
                        T::widen_into(values, distances);
                        widened = true;
                    }
                    radial(k, profile, distances, &mut out[k]);
                }
            }
        }
    }
    let open: Vec<&[(usize, f64)]> = columns.iter().zip(open).map(|(recipe, range)| &recipe.slots[range]).collect();
    add_slots_to_each(&open, held, out);
}

/// A symmetric matrix, prepared for reading tile by tile.
enum Folded<'a> {
    Dense(&'a Matrix),
    Lower(&'a Matrix),
    /// The columns of U and of V.
    Factored(Vec<Vec<f64>>, Vec<Vec<f64>>),
}

impl<'a> Folded<'a> {
    fn new(matrix: &Symmetric<'a>) -> Self {
        let columns = |matrix: &Matrix| (0..matrix.n_cols()).map(|r| matrix.column(r)).collect();
        match matrix {
            Symmetric::Dense(matrix) => Folded::Dense(matrix),
            Symmetric::Lower(matrix) => Folded::Lower(matrix),
            Symmetric::Factored(u, v) => Folded::Factored(columns(u), columns(v)),
        }
    }

    /// M at the entries of a tile, with M' added if an entry stands for two.
    fn tile_into(&self, tile: &Tile, cut: &Cut, out: &mut Buffer) {
        let (width, mirrored) = (tile.cols.len(), tile.n_mirrored(cut));
        let across = tile.cols.start..tile.cols.start + mirrored;
        out.set_len(tile.len());
        for (i, row) in tile.rows.clone().zip(out.chunks_exact_mut(width)) {
            match self {
                Folded::Dense(matrix) => row.copy_from_slice(&matrix.row(i)[tile.cols.clone()]),
                Folded::Lower(matrix) => lower_into(matrix, i, tile.cols.clone(), mirrored, row),
                Folded::Factored(u, v) => {
                    row.fill(0.0);
                    for (u, v) in u.iter().zip(v) {
                        f64::add_scaled(u[i], &v[tile.cols.clone()], row);
                        if mirrored > 0 {
                            f64::add_scaled(v[i], &u[across.clone()], &mut row[..mirrored]);
                        }
                    }
                }
            }
        }
        if let Folded::Dense(matrix) = self {
            add_transposed(matrix, tile, mirrored, out);
        }
    }
}

/// Some columns of a row of a symmetric matrix given by its lower triangle; the first `mirrored` of them are doubled.
fn lower_into(matrix: &Matrix, i: usize, cols: std::ops::Range<usize>, mirrored: usize, row: &mut [f64]) {
    let below = (i + 1).clamp(cols.start, cols.end) - cols.start;
    row[..below].copy_from_slice(&matrix.row(i)[cols.start..cols.start + below]);
    for (j, value) in (cols.start + below..cols.end).zip(&mut row[below..]) {
        *value = matrix.get(j, i);
    }
    row[..mirrored].iter_mut().for_each(|value| *value += *value);
}

/// Adds the transposed entries for the first columns of a tile, square by square.
fn add_transposed(matrix: &Matrix, tile: &Tile, mirrored: usize, out: &mut [f64]) {
    let mut square = Buffer::default();
    square.set_len(SIDE * SIDE);
    for first in (0..mirrored).step_by(SIDE) {
        let j = tile.cols.start + first;
        (j..j + SIDE).for_each(|j| prefetch(matrix.row_start(j + PREFETCH_ROWS, tile.rows.start)));
        if tile.rows.len() == SIDE {
            transpose(&matrix.data()[j * matrix.n_cols() + tile.rows.start..], matrix.n_cols(), &mut square, SIDE);
        } else {
            for (k, j) in (j..j + SIDE).enumerate() {
                for (r, i) in tile.rows.clone().enumerate() {
                    square[r * SIDE + k] = matrix.get(j, i);
                }
            }
        }
        for (out, row) in out.chunks_exact_mut(tile.cols.len()).zip(square.chunks_exact(SIDE)) {
            for (out, value) in out[first..first + SIDE].iter_mut().zip(row) {
                *out += value;
            }
        }
    }
}

/// Inner products with one matrix: a number per slot, and moments per group treated as one function.
#[derive(Clone, Debug)]
pub(super) struct Sums {
    pub(super) slots: Vec<f64>,
    pub(super) moments: Vec<Option<Moments>>,
}

impl Sums {
    pub(super) fn new(layout: &Layout) -> Sums {
        let moments = |group: &super::layout::Group| group.radial.as_ref().map(|radial| Moments::new(&radial.grid));
        Sums { slots: vec![0.0; layout.slots.len()], moments: layout.groups.iter().map(moments).collect() }
    }

    pub(super) fn merge(mut self, other: &Sums) -> Sums {
        for (a, b) in self.slots.iter_mut().zip(&other.slots) {
            *a += b;
        }
        for (a, b) in self.moments.iter_mut().zip(&other.moments) {
            if let (Some(a), Some(b)) = (a, b) {
                a.merge(b);
            }
        }
        self
    }

    /// One number per kernel.
    fn finish(&self, layout: &Layout, pool: &Pool) -> Vec<f64> {
        let mut sums: Vec<f64> = layout.slot_of.iter().map(|&slot| self.slots[slot]).collect();
        for (group, moments) in layout.groups.iter().zip(&self.moments) {
            if let (Some(radial), Some(moments)) = (&group.radial, moments) {
                for (&m, value) in radial.kernels.iter().zip(moments.inner(&radial.grid, &radial.rates, pool)) {
                    sums[m] = value;
                }
            }
        }
        sums
    }
}

/// Adds the inner products of the available values with each matrix.
fn add_inner<T: SimdElement>(
    layout: &Layout,
    held: &TileValues<'_, T>,
    with: &[Buffer],
    distances: &mut Buffer,
    sums: &mut [Sums],
) {
    let slots = held.slots();
    let first = layout.groups.partition_point(|group| group.slots.end <= slots.start);
    // Slots before this one are done; those before a group treated as one function are added together, whatever their
    // groups.
    let mut done = slots.start;
    for (g, group) in layout.groups.iter().enumerate().skip(first).take_while(|(_, g)| g.slots.start < slots.end) {
        let Some(radial) = &group.radial else { continue };
        add_dots(held, &(done..group.slots.start).collect::<Vec<_>>(), with, sums);
        let values = held.slot(group.slots.start);
        distances.set_len(values.len());
        T::widen_into(values, distances);
        for (sums, with) in sums.iter_mut().zip(with) {
            sums.moments[g].iter_mut().for_each(|moments| moments.add(&radial.grid, distances, with));
        }
        done = group.slots.end;
    }
    add_dots(held, &(done..slots.end).collect::<Vec<_>>(), with, sums);
}

/// `sums_s += values of slot s . with` for each matrix, several slots at a time.
fn add_dots<T: SimdElement>(held: &TileValues<'_, T>, slots: &[usize], with: &[Buffer], sums: &mut [Sums]) {
    let columns: Vec<&[f64]> = with.iter().map(|with| &with[..]).collect();
    let mut dots = vec![[0.0; 8]; with.len()];
    let (eights, rest) = slots.as_chunks::<8>();
    for eight in eights {
        dot_eight_with_each(eight.map(|slot| held.slot(slot)), &columns, &mut dots);
        for (sums, dots) in sums.iter_mut().zip(&dots) {
            eight.iter().zip(dots).for_each(|(&slot, dot)| sums.slots[slot] += dot);
        }
    }
    let (fours, ones) = rest.as_chunks::<4>();
    for (sums, with) in sums.iter_mut().zip(with) {
        for four in fours {
            let dots = T::dot_four(four.map(|slot| held.slot(slot)), with);
            four.iter().zip(dots).for_each(|(&slot, dot)| sums.slots[slot] += dot);
        }
        ones.iter().for_each(|&slot| sums.slots[slot] += T::dot(held.slot(slot), with));
    }
}

pub(super) fn project<T: Element>(stack: &Stack, matrices: &[Symmetric<'_>], pool: &Pool) -> Result<Matrix> {
    let layout = &stack.core.layout;
    let sums = sums::<T>(stack, matrices, pool)?;
    let columns: Vec<Vec<f64>> = sums.iter().map(|sums| sums.finish(layout, pool)).collect();
    Ok(Matrix::from_fn(layout.kernels.len(), columns.len(), |m, c| columns[c][m]))
}

/// The inner products with each matrix, not yet reduced to one per kernel.
pub(super) fn sums<T: Element>(stack: &Stack, matrices: &[Symmetric<'_>], pool: &Pool) -> Result<Vec<Sums>> {
    let (layout, cut) = (&stack.core.layout, stack.cut());
    let folded: Vec<Folded<'_>> = matrices.iter().map(Folded::new).collect();
    let batch_mask = stack.batch_mask();
    let indices = stack.indices();
    let source: Source<'_, T> = stack.source(&indices, &batch_mask, Some(pool));
    let watch = stack.watch();
    // Kernels that are picked here and there in a store are taken together, eight at a time.
    let is_plain = layout.groups.iter().all(|group| group.radial.is_none());
    let asked = layout.batches.iter().zip(&batch_mask).filter(|&(_, &asked)| asked);
    let slots: Vec<usize> = asked.flat_map(|(batch, _)| batch.slots.clone()).collect();
    let parts = cut.parts();
    let partial = pool.map(parts.len(), |part| {
        let (mut scratch, mut distances) = (Scratch::default(), Buffer::default());
        let mut with: Vec<Buffer> = vec![Buffer::default(); folded.len()];
        let mut sums = vec![Sums::new(layout); folded.len()];
        for block in parts[part].clone() {
            for tile in cut.tiles(block).take_while(|_| watch.go_on()) {
                for (folded, with) in folded.iter().zip(&mut with) {
                    folded.tile_into(&tile, &cut, with);
                }
                if let Some(held) = source.whole(block, &tile).filter(|_| is_plain) {
                    add_dots(&held, &slots, &with, &mut sums);
                    continue;
                }
                source.each(block, &tile, &batch_mask, &mut scratch, |held| {
                    add_inner(layout, held, &with, &mut distances, &mut sums);
                });
            }
        }
        sums
    });
    watch.result(())?;
    let add = |all: Vec<Sums>, part: &Vec<Sums>| all.into_iter().zip(part).map(|(a, b)| a.merge(b)).collect();
    Ok(partial.iter().fold(vec![Sums::new(layout); folded.len()], add))
}

/// `out += K V` for the entries of a tile and, for those that stand for two, their mirror images. `columns` are those
/// of V; `out` has `n_rows` values per column. Whole tiles are taken eight rows at a time, with the same bits.
pub(super) fn multiply<T: SimdElement>(values: &[T], tile: &Tile, cut: &Cut, columns: &[&[f64]], out: &mut [f64]) {
    let (mirrored, width) = (tile.n_mirrored(cut), tile.cols.len());
    let across = tile.cols.start..tile.cols.start + mirrored;
    if tile.rows.len() == 8 {
        let rows: [&[T]; 8] = std::array::from_fn(|r| &values[r * width..(r + 1) * width]);
        for (columns, out) in columns.chunks(4).zip(out.chunks_mut(4 * cut.n_rows)) {
            let mut with: [&[f64]; 4] = [&[]; 4];
            with.iter_mut().zip(columns).for_each(|(with, column)| *with = &column[tile.cols.clone()]);
            let mut dots = [[0.0; 8]; 4];
            dot_eight_with_each(rows, &with[..columns.len()], &mut dots);
            for ((column, dots), out) in columns.iter().zip(dots).zip(out.chunks_exact_mut(cut.n_rows)) {
                out[tile.rows.clone()].iter_mut().zip(dots).for_each(|(out, dot)| *out += dot);
                if mirrored > 0 {
                    let weights = std::array::from_fn(|r| column[tile.rows.start + r]);
                    add_eight_at_hand(weights, rows, &mut out[across.clone()]);
                }
            }
        }
        return;
    }
    for (column, out) in columns.iter().zip(out.chunks_exact_mut(cut.n_rows)) {
        for (i, row) in tile.rows.clone().zip(values.chunks_exact(width)) {
            out[i] += T::dot(row, &column[tile.cols.clone()]);
            if mirrored > 0 {
                T::add_scaled(column[i], &row[..mirrored], &mut out[across.clone()]);
            }
        }
    }
}

/// Calls `f` with each kernel of the mask among some slots, and its values; kernels of a group treated as one function
/// are computed.
pub(super) fn each_kernel<T: Real>(
    layout: &Layout,
    held: &TileValues<'_, T>,
    buffers: &mut [Buffer; 2],
    kernel_mask: &[bool],
    mut f: impl FnMut(usize, Either<'_, T>),
) {
    for slot in held.slots() {
        let values = held.slot(slot);
        let group = &layout.groups[layout.groups.partition_point(|group| group.slots.end <= slot)];
        let Some(radial) = &group.radial else {
            let m = layout.slots[slot].kernel;
            if kernel_mask[m] {
                f(m, Either::Stored(values));
            }
            continue;
        };
        let [distances, kernel] = buffers;
        distances.set_len(values.len());
        kernel.set_len(values.len());
        T::widen_into(values, distances);
        for (&m, &rate) in radial.kernels.iter().zip(&radial.rates).filter(|&(&m, _)| kernel_mask[m]) {
            decay_into(rate, distances, kernel);
            f(m, Either::Wide(kernel));
        }
    }
}

/// Values as they are stored, or in `f64`.
pub(super) enum Either<'a, T> {
    Stored(&'a [T]),
    Wide(&'a [f64]),
}

impl<T: SimdElement> Either<'_, T> {
    fn multiply(&self, tile: &Tile, cut: &Cut, columns: &[&[f64]], out: &mut [f64]) {
        match self {
            Either::Stored(values) => multiply(values, tile, cut, columns, out),
            Either::Wide(values) => multiply(values, tile, cut, columns, out),
        }
    }
}

pub(super) fn apply<T: Element>(stack: &Stack, vectors: &Matrix, pool: &Pool) -> Result<Vec<Matrix>> {
    let (layout, cut) = (&stack.core.layout, stack.cut());
    let (n_kernels, size) = (stack.n_kernels(), cut.n_rows * vectors.n_cols());
    let what = format!("{n_kernels} products of {} x {}", cut.n_rows, vectors.n_cols());
    let mut products = stack.core.matrices(&what, n_kernels, cut.n_rows, vectors.n_cols())?;
    let columns: Vec<Vec<f64>> = (0..vectors.n_cols()).map(|r| vectors.column(r)).collect();
    let columns: Vec<&[f64]> = columns.iter().map(Vec::as_slice).collect();
    // As many parts as there is memory for their partial results, whatever the number of threads.
    let n_parts = (PARTIAL_BYTES / (8 * size * n_kernels).max(1)).max(1);
    let parts = cut.parts_up_to(n_parts);
    let (batch_mask, kernel_mask, places) = (stack.batch_mask(), stack.kernel_mask(), stack.places());
    let indices = stack.indices();
    let source: Source<'_, T> = stack.source(&indices, &batch_mask, Some(pool));
    let watch = stack.watch();
    let batches: Vec<usize> = (0..batch_mask.len()).filter(|&b| batch_mask[b]).collect();
    // Gram matrices are a batch each: a task takes several.
    let runs: Vec<&[usize]> = batches.chunks(batches.len().div_ceil(APPLY_RUNS).max(1)).collect();
    let partial = pool.map(parts.len() * runs.len(), |task| {
        let (part, run) = (task / runs.len(), runs[task % runs.len()]);
        let mut only = vec![false; batch_mask.len()];
        run.iter().for_each(|&b| only[b] = true);
        let mut sums: Vec<(usize, Vec<f64>)> = run
            .iter()
            .flat_map(|&b| members(layout, b).filter(|&m| kernel_mask[m]))
            .map(|m| (m, vec![0.0; size]))
            .collect();
        let (mut scratch, mut buffers) = (Scratch::default(), <[Buffer; 2]>::default());
        for block in parts[part].clone() {
            for tile in cut.tiles(block).take_while(|_| watch.go_on()) {
                let mut sums = sums.iter_mut();
                source.each(block, &tile, &only, &mut scratch, |held| {
                    each_kernel(layout, held, &mut buffers, &kernel_mask, |_, values| {
                        if let Some((_, out)) = sums.next() {
                            values.multiply(&tile, &cut, &columns, out);
                        }
                    });
                });
            }
        }
        sums
    });
    watch.result(())?;
    let mut of_kernel: Vec<Vec<&[f64]>> = vec![vec![]; places.len()];
    partial.iter().flatten().for_each(|(m, sums)| of_kernel[*m].push(sums));
    let mut sources: Vec<&[&[f64]]> = vec![&[]; n_kernels];
    places.iter().zip(&of_kernel).for_each(|(places, sums)| places.iter().for_each(|&place| sources[place] = sums));
    let count = vectors.n_cols().max(1);
    let rows_at_once = SUMMED.div_ceil(count);
    let items: Vec<_> = products
        .iter_mut()
        .zip(sources)
        .flat_map(|(product, parts)| {
            let pieces = product.data_mut().chunks_mut(rows_at_once * count).enumerate();
            pieces.map(move |(k, rows)| (k * rows_at_once, rows, parts))
        })
        .collect();
    pool.each(items, |(first, rows, parts)| {
        let mut sums = vec![0.0; rows.len() / count];
        for r in 0..count {
            sums.fill(0.0);
            parts
                .iter()
                .for_each(|part| f64::add_scaled(1.0, &part[r * cut.n_rows + first..][..sums.len()], &mut sums));
            rows.chunks_exact_mut(count).zip(&sums).for_each(|(row, &sum)| row[r] = sum);
        }
    });
    Ok(products)
}

/// The kernels of a batch in the order used by [`each_kernel`].
fn members(layout: &Layout, batch: usize) -> impl Iterator<Item = usize> + '_ {
    let batch = &layout.batches[batch];
    let radial = layout.groups[batch.group].radial.as_ref();
    let all: Vec<usize> = match radial {
        Some(radial) => radial.kernels.clone(),
        None => layout.slots[batch.slots.clone()].iter().map(|slot| slot.kernel).collect(),
    };
    all.into_iter()
}

/// Entries of a sum over parts that a task adds.
const SUMMED: usize = 2048;

/// `vectors` has one row per kernel: its `count` vectors, concatenated.
pub(super) fn collect<T: Element>(stack: &Stack, vectors: &Matrix, count: usize, pool: &Pool) -> Result<Matrix> {
    let (layout, cut) = (&stack.core.layout, stack.cut());
    let columns: Vec<Vec<&[f64]>> = vectors.rows().map(|row| row.chunks_exact(cut.n_cols.max(1)).collect()).collect();
    let some: Vec<bool> = vectors.rows().map(|row| row.iter().any(|&value| value != 0.0)).collect();
    let batch_mask = stack.batch_mask();
    let indices = stack.indices();
    let source: Source<'_, T> = stack.source(&indices, &batch_mask, Some(pool));
    let watch = stack.watch();
    let parts = cut.parts();
    let partial = pool.map(parts.len(), |part| {
        let (mut scratch, mut buffers) = (Scratch::default(), <[Buffer; 2]>::default());
        let mut sums = vec![0.0; cut.n_rows * count];
        for block in parts[part].clone() {
            for tile in cut.tiles(block).take_while(|_| watch.go_on()) {
                source.each(block, &tile, &batch_mask, &mut scratch, |held| {
                    each_kernel(layout, held, &mut buffers, &some, |m, values| {
                        values.multiply(&tile, &cut, &columns[m], &mut sums);
                    });
                });
            }
        }
        sums
    });
    let mut sums = vec![0.0; cut.n_rows * count];
    pool.chunks_mut(&mut sums, SUMMED, |k, sums| {
        for part in &partial {
            f64::add_scaled(1.0, &part[k * SUMMED..][..sums.len()], sums);
        }
    });
    let by_vector = watch.result(sums)?;
    Ok(Matrix::from_fn(cut.n_rows, count, |i, r| by_vector[r * cut.n_rows + i]))
}

/// Kernel matrices stacked vertically.
struct Unfold<'a, T> {
    layout: &'a Layout,
    cut: Cut,
    source: Source<'a, T>,
    batch_mask: Vec<bool>,
    kernel_mask: Vec<bool>,
    places: Vec<Vec<usize>>,
    pieces: Pieces<'a>,
    watch: Watch<'a>,
}

impl<'a, T: Element> Unfold<'a, T> {
    fn new(
        stack: &'a Stack,
        indices: &'a [std::sync::Arc<[usize]>; 2],
        out: &'a mut Matrix,
        pool: Option<&'a Pool>,
    ) -> Self {
        let (batch_mask, kernel_mask, places) = (stack.batch_mask(), stack.kernel_mask(), stack.places());
        let (layout, cut, watch) = (&*stack.core.layout, stack.cut(), stack.watch());
        let (source, pieces) = (stack.source(indices, &batch_mask, pool), Pieces::new(out));
        Unfold { layout, cut, source, batch_mask, kernel_mask, places, pieces, watch }
    }

    /// Writes all kernels for a block of rows.
    fn block(&self, block: usize) {
        let (mut scratch, mut buffers, mut wide) = (Scratch::default(), <[Buffer; 2]>::default(), Buffer::default());
        for tile in self.cut.tiles(block).take_while(|_| self.watch.go_on()) {
            wide.set_len(tile.len());
            self.source.each(block, &tile, &self.batch_mask, &mut scratch, |held| {
                each_kernel(self.layout, held, &mut buffers, &self.kernel_mask, |m, values| {
                    values.widen_into(&mut wide);
                    for &place in &self.places[m] {
                        write(&tile, &self.cut, &wide, &self.pieces, place * self.cut.n_rows);
                    }
                });
            });
        }
    }
}

impl<T: Real> Either<'_, T> {
    pub(super) fn widen_into(&self, out: &mut [f64]) {
        match self {
            Either::Stored(values) => T::widen_into(values, out),
            Either::Wide(values) => out.copy_from_slice(values),
        }
    }
}

pub(super) fn unfold<T: Element>(stack: &Stack, pool: &Pool) -> Result<Matrix> {
    let cut = stack.cut();
    let what = format!("{} kernels of {} x {} points", stack.n_kernels(), cut.n_rows, cut.n_cols);
    let n_rows = stack.n_kernels().saturating_mul(cut.n_rows);
    let mut found = stack.core.matrices(&what, 1, n_rows, cut.n_cols)?.remove(0);
    let indices = stack.indices();
    let unfold: Unfold<'_, T> = Unfold::new(stack, &indices, &mut found, Some(pool));
    pool.each((0..cut.n_blocks()).collect(), |block| unfold.block(block));
    unfold.watch.result(())?;
    drop(unfold);
    Ok(found)
}

/// The only kernel of a stack, on the calling thread.
pub(super) fn block<T: Element>(stack: &Stack) -> Result<Matrix> {
    let cut = stack.cut();
    let what = format!("a piece of {} x {} of one kernel", cut.n_rows, cut.n_cols);
    let mut found = stack.core.matrices(&what, 1, cut.n_rows, cut.n_cols)?.remove(0);
    let indices = stack.indices();
    let unfold: Unfold<'_, T> = Unfold::new(stack, &indices, &mut found, None);
    (0..cut.n_blocks()).for_each(|block| unfold.block(block));
    unfold.watch.result(())?;
    drop(unfold);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;
    use crate::simd::check::{bits, uniform};
    use crate::simd::{UninitPart, at_every_level};

    /// Entry by entry, as a product and its mirror image add up.
    fn plain<T: SimdElement>(values: &[T], tile: &Tile, cut: &Cut, columns: &[&[f64]], out: &mut [f64]) {
        let mirrored = tile.n_mirrored(cut);
        for (i, row) in tile.rows.clone().zip(values.chunks_exact(tile.cols.len())) {
            for (column, out) in columns.iter().zip(out.chunks_exact_mut(cut.n_rows)) {
                out[i] += T::dot(row, &column[tile.cols.clone()]);
                for (value, j) in row[..mirrored].iter().zip(tile.cols.clone()) {
                    out[j] = column[i].mul_add((*value).into(), out[j]);
                }
            }
        }
    }

    fn check_products<T: SimdElement>() {
        let mut rng = Rng::new(4, 0);
        for n in [5, 8, 21, 300] {
            for cut in [true, false].map(|symmetric| Cut { n_rows: n, n_cols: n, symmetric }) {
                let [columns, before] = [(); 2].map(|()| uniform(&mut rng, 3 * n));
                let columns: Vec<&[f64]> = columns.chunks_exact(n).collect();
                for tile in (0..cut.n_blocks()).flat_map(|block| cut.tiles(block)) {
                    let mut values = vec![T::default(); tile.len()];
                    T::round_into(&uniform(&mut rng, tile.len()), &mut UninitPart::over(&mut values));
                    let mut expected = before.clone();
                    plain(&values, &tile, &cut, &columns, &mut expected);
                    let found = at_every_level(|| {
                        let mut found = before.clone();
                        multiply(&values, &tile, &cut, &columns, &mut found);
                        bits(&found)
                    });
                    assert_eq!(found, bits(&expected), "{n}, {tile:?}");
                }
            }
        }
    }

    #[test]
    fn products_of_a_tile_have_the_bits_of_row_after_row_at_every_level() {
        check_products::<f64>();
        check_products::<f32>();
    }
}
