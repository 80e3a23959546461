//! Weighted sums of kernels that are used again and again: for learners that meet their points row by row.

use std::ops::Range;

use super::core::Element;
use super::cut::{BLOCK_ROWS, TILE_COLS, Tile};
use super::layout::{Layout, Radial};
use super::ops::{Sums, add_terms, mix, sums};
use super::profile::{Moments, Profile};
use super::source::{Held, Scratch, Source};
use super::{Precision, Stack, Symmetric, check};
use crate::error::{Error, Result};
use crate::file::{Field, Record};
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::simd::{Buffer, Real, SimdElement};

/// Weighted sums of the kernels of a stack, one per column of weights, made ready once: from [`Stack::mixture`], for
/// [`Stack::mix`] and [`Stack::decide`] on any stack of the same kernels.
///
/// For 32 or more radial kernels on the same columns it is a table of about 100 KB per column, made with one exponential per
/// kernel and entry of the table: about a millisecond for 300 kernels.
#[derive(Debug)]
pub struct Mixture {
    pub(super) columns: Vec<Recipe>,
    /// Batches that any column asks for.
    pub(super) batch_mask: Vec<bool>,
    n_slots: usize,
}

/// What one column of weights asks for.
#[derive(Debug, Default)]
pub(super) struct Recipe {
    /// For each batch.
    pub(super) terms: Vec<Term>,
    /// Slots with a weight that is not zero, in their order.
    pub(super) slots: Vec<(usize, f64)>,
}

/// What one column of weights asks of a batch.
#[derive(Debug)]
pub(super) enum Term {
    /// Nothing: all weights are zero.
    Nothing,
    /// These of the slots it asks for, which follow those of the batch before.
    Slots(Range<usize>),
    /// One function of the distance.
    Radial(Profile),
}

impl Mixture {
    /// Weights are those of all kernels of the layout.
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
        let batch_mask = (0..layout.batches.len()).map(asks).collect();
        Mixture { columns, batch_mask, n_slots: layout.slots.len() }
    }

    /// Number of weighted sums.
    pub fn n_columns(&self) -> usize {
        self.columns.len()
    }

    fn check(&self, layout: &Layout) -> Result<()> {
        if self.n_slots == layout.slots.len() && self.batch_mask.len() == layout.batches.len() {
            Ok(())
        } else {
            Err(Error::input("a mixture can be used with stacks of the kernels it was made for, and no others"))
        }
    }
}

impl Recipe {
    /// Slots of the next batch.
    fn add(&mut self, slots: impl Iterator<Item = (usize, f64)>) {
        let start = self.slots.len();
        self.slots.extend(slots);
        let range = start..self.slots.len();
        self.terms.push(if range.is_empty() { Term::Nothing } else { Term::Slots(range) });
    }
}

/// What each column asks of kernels that are one function.
fn radial_terms(radial: &Radial, columns: &[Vec<f64>], pool: &Pool) -> Vec<Term> {
    let picked = |weights: &Vec<f64>| radial.kernels.iter().map(|&m| weights[m]).collect::<Vec<f64>>();
    let columns: Vec<Vec<f64>> = columns.iter().map(picked).collect();
    let profiles = Profile::several(&radial.grid, &radial.rates, &columns, pool);
    let term = |(weights, profile): (&Vec<f64>, Profile)| {
        if weights.iter().all(|&weight| weight == 0.0) { Term::Nothing } else { Term::Radial(profile) }
    };
    columns.iter().zip(profiles).map(term).collect()
}

/// The coefficients of one column that are not zero, tile by tile.
struct Chosen {
    /// Where the entries of each tile begin; one more for the end.
    starts: Vec<usize>,
    /// Places within their tile.
    places: Vec<u32>,
    values: Vec<f64>,
}

impl Chosen {
    fn new(coefficients: &Matrix, c: usize) -> Chosen {
        let mut chosen = Chosen { starts: vec![], places: vec![], values: vec![] };
        for (j, row) in coefficients.rows().enumerate() {
            if j % TILE_COLS == 0 {
                chosen.starts.push(chosen.places.len());
            }
            if row[c] != 0.0 {
                chosen.places.push((j % TILE_COLS) as u32);
                chosen.values.push(row[c]);
            }
        }
        chosen.starts.push(chosen.places.len());
        chosen
    }

    fn of_tile(&self, tile: &Tile) -> (&[u32], &[f64]) {
        let t = tile.cols.start / TILE_COLS;
        let here = self.starts[t]..self.starts[t + 1];
        (&self.places[here.clone()], &self.values[here])
    }
}

/// Buffers of one thread of `decide`.
#[derive(Default)]
struct DecideScratch {
    distances: Buffer,
    picked: Buffer,
    values: Buffer,
    /// Of a tile, for each weighted sum with coefficients in it.
    sums: Vec<Buffer>,
}

/// The values at some places of every row of a tile, as a table of its own.
fn pick(values: &[f64], width: usize, places: &[u32], out: &mut Buffer) {
    out.set_len(values.len() / width * places.len());
    for (row, out) in values.chunks_exact(width).zip(out.chunks_exact_mut(places.len())) {
        for (out, &place) in out.iter_mut().zip(places) {
            *out = row[place as usize];
        }
    }
}

/// Adds the products of each row of a table with the values to one column of `out`.
fn add_products(table: &[f64], values: &[f64], n_columns: usize, c: usize, out: &mut [f64]) {
    for (row, out) in table.chunks_exact(values.len()).zip(out.chunks_exact_mut(n_columns)) {
        out[c] += f64::dot(row, values);
    }
}

/// The coefficients of some columns within one tile: the column, the places and the values.
type Lists<'a> = Vec<(usize, &'a [u32], &'a [f64])>;

fn lists<'a>(chosen: &[(usize, &'a Chosen)], tile: &Tile) -> Lists<'a> {
    let of_tile = |&(c, chosen): &(usize, &'a Chosen)| {
        let (places, values) = chosen.of_tile(tile);
        (c, places, values)
    };
    chosen.iter().map(of_tile).filter(|(_, places, _)| !places.is_empty()).collect()
}

/// One weighted sum and what it is multiplied by within one tile.
struct Column<'a> {
    recipe: &'a Recipe,
    lists: Lists<'a>,
}

impl Column<'_> {
    /// The coefficients, if there is one column of them and most are zero: functions of distances are worked out for these alone.
    fn few(&self, width: usize) -> Option<(usize, &[u32], &[f64])> {
        match self.lists[..] {
            [(c, places, values)] if places.len() < width => Some((c, places, values)),
            _ => None,
        }
    }
}

impl DecideScratch {
    /// The decisions of a tile: `each` gives its values; `out` has one row per row of the tile.
    fn add<T: SimdElement>(
        &mut self,
        layout: &Layout,
        columns: &[Column<'_>],
        tile: &Tile,
        each: impl FnOnce(&mut dyn FnMut(&Held<'_, T>)),
        out: &mut [f64],
    ) {
        let (width, n_columns) = (tile.cols.len(), out.len() / tile.rows.len());
        let DecideScratch { distances, picked, values: found, sums } = self;
        sums.resize_with(columns.len().max(sums.len()), Buffer::default);
        // A column whose every term is worked out where its few coefficients are has no sum.
        let summed = |column: &Column<'_>| column.few(width).is_none() || !column.recipe.slots.is_empty();
        for (column, sum) in columns.iter().zip(sums.iter_mut()) {
            sum.set_len(if summed(column) { tile.len() } else { 0 });
            sum.fill(0.0);
        }
        let recipes: Vec<&Recipe> = columns.iter().map(|column| column.recipe).collect();
        each(&mut |held| {
            add_terms(layout, &recipes, held, distances, sums, |k, profile, distances, sum| {
                match columns[k].few(width) {
                    Some((c, places, values)) => {
                        pick(distances, width, places, picked);
                        evaluate(profile, picked, found);
                        add_products(found, values, n_columns, c, out);
                    }
                    None => profile.add_into(distances, sum),
                }
            });
        });
        for (column, sum) in columns.iter().zip(sums.iter()).filter(|(column, _)| summed(column)) {
            for &(c, places, values) in &column.lists {
                if places.len() == width {
                    add_products(sum, values, n_columns, c, out);
                } else {
                    pick(sum, width, places, picked);
                    add_products(picked, values, n_columns, c, out);
                }
            }
        }
    }
}

fn evaluate(profile: &Profile, distances: &[f64], out: &mut Buffer) {
    out.set_len(distances.len());
    out.fill(0.0);
    profile.add_into(distances, out);
}

fn decide<T: Element>(stack: &Stack, mixture: &Mixture, coefficients: &Matrix, pool: &Pool) -> Result<Matrix> {
    let (layout, cut, n_columns) = (&stack.core.layout, stack.cut(), coefficients.n_cols());
    let all: Vec<Chosen> = (0..n_columns).map(|c| Chosen::new(coefficients, c)).collect();
    // Neighbouring columns of coefficients share a weighted sum.
    let shared = (n_columns / mixture.n_columns().max(1)).max(1);
    let numbered: Vec<(usize, &Chosen)> = all.iter().enumerate().collect();
    let chosen: Vec<Vec<(usize, &Chosen)>> = numbered.chunks(shared).map(<[_]>::to_vec).collect();
    let mut out = stack.core.matrices("the decisions", 1, cut.n_rows, n_columns)?.remove(0);
    let indices = stack.indices();
    let source: Source<'_, T> = stack.source(&indices, &mixture.batch_mask);
    let watch = stack.watch();
    let blocks = pool.map(cut.n_blocks(), |block| {
        let (mut scratch, mut decide) = (Scratch::default(), DecideScratch::default());
        let mut sums = vec![0.0; cut.rows(block).len() * n_columns];
        for tile in cut.tiles(block).take_while(|_| watch.go_on()) {
            let column = |(recipe, chosen): (_, &Vec<_>)| Column { recipe, lists: lists(chosen, &tile) };
            let columns = mixture.columns.iter().zip(&chosen).map(column);
            let columns: Vec<Column<'_>> = columns.filter(|column| !column.lists.is_empty()).collect();
            let each =
                |f: &mut dyn FnMut(&Held<'_, T>)| source.each(block, &tile, &mixture.batch_mask, &mut scratch, f);
            decide.add(layout, &columns, &tile, each, &mut sums);
        }
        sums
    });
    out.data_mut()
        .chunks_mut(BLOCK_ROWS * n_columns.max(1))
        .zip(blocks)
        .for_each(|(out, sums)| out.copy_from_slice(&sums));
    watch.result(out)
}

/// Inner products with all kernels of a stack, summed up over many calls: `<K_m, u v'>` for pairs of points that come one
/// after the other. Take one from [`Stack::inner`], add with [`Stack::add_inner`], read with [`Stack::inner_products`].
///
/// It holds one number per kernel, or about 40 KB for all radial kernels on the same columns if there are 32 or more.
#[derive(Clone, Debug)]
pub struct Inner(Sums);

/// Stored as numbers; [`Stack::check_inner`] says whether they fit.
impl Field for Inner {
    fn put(&self, name: &str, record: &mut Record) {
        record.put(&format!("{name}.slots"), &self.0.slots);
        for (g, moments) in self.0.moments.iter().enumerate() {
            let numbers = moments.as_ref().map_or_else(Vec::new, Moments::to_numbers);
            record.put(&format!("{name}.moments.{g}"), &numbers);
        }
    }

    fn take(name: &str, record: &Record) -> Result<Self> {
        let slots = record.take(&format!("{name}.slots"))?;
        let mut moments = vec![];
        while record.has(&format!("{name}.moments.{}", moments.len())) {
            let numbers: Vec<f64> = record.take(&format!("{name}.moments.{}", moments.len()))?;
            moments.push(Moments::from_numbers(&numbers));
        }
        Ok(Inner(Sums { slots, moments }))
    }
}

impl Stack {
    /// The weighted sums of the kernels, one per column of the P x C weights, ready for use again and again.
    pub fn mixture(&self, weights: &Matrix, pool: &Pool) -> Result<Mixture> {
        check("mixture: weights", "rows (one per kernel)", weights.n_rows(), self.n_kernels())?;
        Ok(Mixture::new(&self.core.layout, &self.spread(weights), pool))
    }

    /// The matrices of a mixture: [`Stack::combine`] with weights that were made ready.
    pub fn mix(&self, mixture: &Mixture, pool: &Pool) -> Result<Vec<Matrix>> {
        mixture.check(&self.core.layout)?;
        in_precision!(self, mix(self, mixture, pool))
    }

    /// `sum_j coefficients_jc sum_m W_mc k_m(i, j)` for each row point i and column c, without the matrices in between:
    /// n_rows x C for n_cols x C coefficients. A mixture of fewer columns serves C / columns neighbours with each, so that one
    /// weighted sum is computed once. Coefficients that are zero cost next to nothing. Each row has the bits it has alone.
    pub fn decide(&self, mixture: &Mixture, coefficients: &Matrix, pool: &Pool) -> Result<Matrix> {
        mixture.check(&self.core.layout)?;
        check("decide: coefficients", "rows", coefficients.n_rows(), self.n_cols())?;
        if !coefficients.n_cols().is_multiple_of(mixture.n_columns().max(1)) {
            let (columns, sums) = (coefficients.n_cols(), mixture.n_columns());
            return Err(Error::input(format!(
                "decide: {columns} columns of coefficients cannot be shared out among {sums} weighted sums"
            )));
        }
        if self.cut().symmetric {
            // Every entry in its own right: a row is then a row.
            let all: Vec<usize> = (0..self.n_rows()).collect();
            return self.between(&all, &all)?.decide(mixture, coefficients, pool);
        }
        in_precision!(self, decide(self, mixture, coefficients, pool))
    }

    /// Inner products of nothing yet.
    pub fn inner(&self) -> Inner {
        Inner(Sums::new(&self.core.layout))
    }

    /// Adds `<K_m, u v'>` for all kernels, u with one number per row point and v per column point.
    pub fn add_inner(&self, u: &[f64], v: &[f64], inner: &mut Inner, pool: &Pool) -> Result<()> {
        self.check_inner(inner)?;
        let column = |values: &[f64]| Matrix::from_vec(values.len(), 1, values.to_vec());
        let (u, v) = (column(u)?, column(v)?);
        check("add_inner: u", "rows", u.n_rows(), self.n_rows())?;
        check("add_inner: v", "rows", v.n_rows(), self.n_cols())?;
        let added = in_precision!(self, sums(self, &[Symmetric::Factored(&u, &v)], pool))?;
        let before = std::mem::replace(&mut inner.0, Sums::new(&self.core.layout));
        inner.0 = before.merge(&added[0]);
        Ok(())
    }

    /// One number per kernel of the stack (rows) for each sum (columns).
    pub fn inner_products(&self, inner: &[&Inner], pool: &Pool) -> Result<Matrix> {
        inner.iter().try_for_each(|inner| self.check_inner(inner))?;
        let layout = &self.core.layout;
        let slot = |m: usize, c: usize| inner[c].0.slots[layout.slot_of[m]];
        let mut products = Matrix::from_fn(layout.kernels.len(), inner.len(), slot);
        for (g, group) in layout.groups.iter().enumerate() {
            let Some(radial) = &group.radial else { continue };
            let sets: Vec<&Moments> = inner.iter().filter_map(|inner| inner.0.moments[g].as_ref()).collect();
            let found = Moments::several(&sets, &radial.grid, &radial.rates, pool);
            for (&m, found) in radial.kernels.iter().zip(found) {
                products.row_mut(m).copy_from_slice(&found);
            }
        }
        Ok(if self.kernels.is_all() { products } else { products.select_rows(&self.kernels.indices()) })
    }

    /// Whether sums that were read from a file are those of these kernels.
    pub fn check_inner(&self, inner: &Inner) -> Result<()> {
        let layout = &self.core.layout;
        let fits = |(group, moments): (&super::layout::Group, &Option<Moments>)| match (&group.radial, moments) {
            (Some(radial), Some(moments)) => moments.fits(&radial.grid),
            (None, None) => true,
            _ => false,
        };
        let (sums, groups) = (&inner.0, &layout.groups);
        let lengths = sums.slots.len() == layout.slots.len() && sums.moments.len() == groups.len();
        if lengths && groups.iter().zip(&sums.moments).all(fits) {
            Ok(())
        } else {
            Err(Error::input("inner products can be used with stacks of the kernels they were made for, and no others"))
        }
    }
}
