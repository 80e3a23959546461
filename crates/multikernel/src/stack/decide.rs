//! Decision values of weighted kernel sums, without forming the matrices.

use super::core::Element;
use super::cut::{BLOCK_ROWS, TILE_COLS, Tile};
use super::layout::Layout;
use super::mixture::{Mixture, Recipe};
use super::ops::{add_terms, mix};
use super::profile::Profile;
use super::source::{Scratch, Source, TileValues};
use super::view::{Stack, check};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::precision::Precision;
use crate::simd::{Buffer, Real, SimdElement};

impl Stack {
    /// The weighted kernel sums, one per column of the P x C weights, prepared for repeated use.
    pub fn mixture(&self, weights: &Matrix, pool: &Pool) -> Result<Mixture> {
        check("mixture: weights", "rows (one per kernel)", weights.n_rows(), self.n_kernels())?;
        Ok(Mixture::new(&self.core.layout, &self.spread(weights.clone()), pool))
    }

    /// The matrices of a mixture: [`Stack::combine`] with prepared weights.
    pub fn mix(&self, mixture: &Mixture, pool: &Pool) -> Result<Vec<Matrix>> {
        mixture.check(&self.core.layout)?;
        if let Some(there) = self.there(pool) {
            return there.mix(mixture);
        }
        in_precision!(self, mix(self, mixture, pool))
    }

    /// `sum_j coefficients_jc sum_m W_mc k_m(i, j)` for each row point i and column c, without forming the matrices:
    /// n_rows x C for n_cols x C coefficients. If the mixture has fewer columns, each serves C / columns neighbouring
    /// columns of coefficients, so that a weighted sum is computed only once. Zero coefficients cost next to nothing.
    /// Each row has the same bits as if it were computed alone.
    pub fn decide(&self, mixture: &Mixture, coefficients: &Matrix, pool: &Pool) -> Result<Matrix> {
        mixture.check(&self.core.layout)?;
        check("decide: coefficients", "rows", coefficients.n_rows(), self.n_cols())?;
        if !coefficients.n_cols().is_multiple_of(mixture.n_columns().max(1)) {
            let (columns, sums) = (coefficients.n_cols(), mixture.n_columns());
            return Err(Error::input(format!(
                "decide: {columns} columns of coefficients cannot be shared out among {sums} weighted sums"
            )));
        }
        if let Some(there) = self.there(pool) {
            return there.decide(mixture, coefficients);
        }
        if self.cut().symmetric {
            // Treat every entry separately, so that each row is complete.
            let all: Vec<usize> = (0..self.n_rows()).collect();
            return self.between(&all, &all)?.decide(mixture, coefficients, pool);
        }
        in_precision!(self, decide(self, mixture, coefficients, pool))
    }
}

/// The non-zero coefficients of one column, tile by tile.
struct Chosen {
    /// Start of each tile's entries, plus the end of the last.
    starts: Vec<usize>,
    /// Positions within their tile.
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

/// Per-thread buffers of `decide`.
#[derive(Default)]
struct DecideScratch {
    distances: Buffer,
    picked: Buffer,
    values: Buffer,
    /// One per weighted sum that has coefficients in the current tile.
    sums: Vec<Buffer>,
}

/// Copies the values at some positions of every row of a tile into a table of its own.
fn pick(values: &[f64], width: usize, places: &[u32], out: &mut Buffer) {
    out.set_len(values.len() / width * places.len());
    for (row, out) in values.chunks_exact(width).zip(out.chunks_exact_mut(places.len())) {
        for (out, &place) in out.iter_mut().zip(places) {
            *out = row[place as usize];
        }
    }
}

/// Adds the inner product of each row of a table with `values` to one column of `out`.
fn add_products(table: &[f64], values: &[f64], n_columns: usize, c: usize, out: &mut [f64]) {
    for (row, out) in table.chunks_exact(values.len()).zip(out.chunks_exact_mut(n_columns)) {
        out[c] += f64::dot(row, values);
    }
}

/// The coefficients of some columns within one tile: the column, the positions and the values.
type Lists<'a> = Vec<(usize, &'a [u32], &'a [f64])>;

fn lists<'a>(chosen: &[(usize, &'a Chosen)], tile: &Tile) -> Lists<'a> {
    let of_tile = |&(c, chosen): &(usize, &'a Chosen)| {
        let (places, values) = chosen.of_tile(tile);
        (c, places, values)
    };
    chosen.iter().map(of_tile).filter(|(_, places, _)| !places.is_empty()).collect()
}

/// One weighted sum and the coefficients it is multiplied by within one tile.
struct Column<'a> {
    recipe: &'a Recipe,
    lists: Lists<'a>,
}

impl Column<'_> {
    /// The coefficients, if there is only one column of them and it is sparse: functions of distances are then
    /// evaluated for these alone.
    fn few(&self, width: usize) -> Option<(usize, &[u32], &[f64])> {
        match self.lists[..] {
            [(c, places, values)] if places.len() < width => Some((c, places, values)),
            _ => None,
        }
    }
}

impl DecideScratch {
    /// The decision values of a tile: `each` supplies its kernel values; `out` has one row per row of the tile.
    fn add<T: SimdElement>(
        &mut self,
        layout: &Layout,
        columns: &[Column<'_>],
        tile: &Tile,
        each: impl FnOnce(&mut dyn FnMut(&TileValues<'_, T>)),
        out: &mut [f64],
    ) {
        let (width, n_columns) = (tile.cols.len(), out.len() / tile.rows.len());
        let DecideScratch { distances, picked, values: found, sums } = self;
        sums.resize_with(columns.len().max(sums.len()), Buffer::default);
        // A column needs no sum if all its terms are evaluated only at its few coefficients.
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
    // Neighbouring columns of coefficients share one weighted sum.
    let shared = (n_columns / mixture.n_columns().max(1)).max(1);
    let numbered: Vec<(usize, &Chosen)> = all.iter().enumerate().collect();
    let chosen: Vec<Vec<(usize, &Chosen)>> = numbered.chunks(shared).map(<[_]>::to_vec).collect();
    let mut out = stack.core.matrices("the decisions", 1, cut.n_rows, n_columns)?.remove(0);
    let indices = stack.indices();
    let source: Source<'_, T> = stack.source(&indices, &mixture.batch_mask, Some(pool)).reading(&mixture.slot_mask);
    let watch = stack.watch();
    let blocks = pool.map(cut.n_blocks(), |block| {
        let (mut scratch, mut decide) = (Scratch::default(), DecideScratch::default());
        let mut sums = vec![0.0; cut.rows(block).len() * n_columns];
        for tile in cut.tiles(block).take_while(|_| watch.go_on()) {
            let column = |(recipe, chosen): (_, &Vec<_>)| Column { recipe, lists: lists(chosen, &tile) };
            let columns = mixture.columns.iter().zip(&chosen).map(column);
            let columns: Vec<Column<'_>> = columns.filter(|column| !column.lists.is_empty()).collect();
            let each =
                |f: &mut dyn FnMut(&TileValues<'_, T>)| source.each(block, &tile, &mixture.batch_mask, &mut scratch, f);
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
