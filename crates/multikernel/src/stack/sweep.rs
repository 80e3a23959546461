//! Products with the kernels between two sets of points and with their transposes, in one pass.

use std::ops::Range;

use super::core::Element;
use super::cut::{BLOCK_ROWS, Tile};
use super::layout::Layout;
use super::ops::{Either, each_kernel};
use super::source::{Scratch, Source, TileValues};
use super::view::{Stack, check};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::precision::Precision;
use crate::simd::{Buffer, Real};

/// Result of one pass.
#[derive(Debug)]
pub(crate) struct Swept<R> {
    /// `K_m v`, ordered by vector, row and kernel.
    pub(crate) outputs: Vec<f64>,
    /// `sum_m K_m' g_m`, vector by vector.
    pub(crate) collected: Vec<f64>,
    /// What `answer` made of the outputs, in row order.
    pub(crate) parts: Vec<R>,
}

/// Some rows and the outputs at them, ordered by vector, row and kernel.
#[derive(Clone, Debug)]
pub(crate) struct AtRows<'a> {
    pub(crate) rows: Range<usize>,
    pub(crate) outputs: &'a [f64],
}

impl Stack {
    /// [`Stack::apply`] to V of n_cols x r, then [`Stack::collect`] with the transposed kernels of what `answer`
    /// returns for the outputs at each row. `answer` is given some rows at a time, one of the parts created by `begin`,
    /// and a buffer for its answer, laid out like the outputs. Each value is computed once for both products, which
    /// halves the cost if nothing is stored. Only for kernels between two sets of points: half of a symmetric stack
    /// stands for rows that are not at hand.
    pub(crate) fn sweep<R: Send>(
        &self,
        vectors: &Matrix,
        pool: &Pool,
        begin: impl Fn() -> R + Sync,
        answer: impl Fn(AtRows<'_>, &mut [f64], &mut R) + Sync,
    ) -> Result<Swept<R>> {
        check("sweep: vectors", "rows", vectors.n_rows(), self.n_cols())?;
        if self.cut().symmetric {
            return Err(Error::input("sweep needs kernels between two sets of points, got those of one set"));
        }
        if let Some(there) = self.there(pool) {
            return there.sweep(vectors, pool, &begin, &answer);
        }
        match self.core.precision {
            Precision::F64 => sweep::<f64, R>(self, vectors, pool, &begin, &answer),
            Precision::F32 => sweep::<f32, R>(self, vectors, pool, &begin, &answer),
        }
    }
}

/// Accumulated result of some blocks of rows.
struct PartialSweep<R> {
    /// Block by block.
    outputs: Vec<f64>,
    collected: Vec<f64>,
    made: R,
}

fn sweep<T: Element, R: Send>(
    stack: &Stack,
    vectors: &Matrix,
    pool: &Pool,
    begin: &(impl Fn() -> R + Sync),
    answer: &(impl Fn(AtRows<'_>, &mut [f64], &mut R) + Sync),
) -> Result<Swept<R>> {
    let (cut, count, n_kernels) = (stack.cut(), vectors.n_cols(), stack.n_kernels());
    let vectors = vectors.transposed();
    let (batch_mask, kernel_mask, places) = (stack.batch_mask(), stack.kernel_mask(), stack.places());
    let (indices, watch) = (stack.indices(), stack.watch());
    let source: Source<'_, T> = stack.source(&indices, &batch_mask, Some(pool));
    let products = TileProducts {
        layout: &stack.core.layout,
        kernel_mask: &kernel_mask,
        places: &places,
        n_kernels,
        n_cols: cut.n_cols,
    };
    let blocks = cut.parts();
    let parts = pool.map(blocks.len(), |part| {
        let mut found = PartialSweep { outputs: vec![], collected: vec![0.0; count * cut.n_cols], made: begin() };
        let (mut scratch, mut kept, mut buffers) = (Scratch::default(), vec![], <[Buffer; 2]>::default());
        let mut pulls = vec![];
        for block in blocks[part].clone().take_while(|_| watch.go_on()) {
            let (rows, tiles) = (cut.rows(block), cut.tiles(block).collect::<Vec<_>>());
            let held = source.hold(block, &tiles, &batch_mask, &mut scratch, &mut kept);
            let start = found.outputs.len();
            found.outputs.resize(start + count * rows.len() * n_kernels, 0.0);
            let outputs = &mut found.outputs[start..];
            for (tile, held) in source.held(&tiles, held) {
                products.forward(tile, &held, &mut buffers, &vectors, outputs);
            }
            pulls.clear();
            pulls.resize(outputs.len(), 0.0);
            answer(AtRows { rows, outputs }, &mut pulls, &mut found.made);
            for (tile, held) in source.held(&tiles, held) {
                products.backward(tile, &held, &mut buffers, &pulls, &mut found.collected);
            }
        }
        found
    });
    watch.result(())?;
    let mut swept = Swept {
        outputs: vec![0.0; count * cut.n_rows * n_kernels],
        collected: vec![0.0; count * cut.n_cols],
        parts: Vec::with_capacity(parts.len()),
    };
    for (part, blocks) in parts.into_iter().zip(blocks) {
        let mut from = part.outputs.as_slice();
        for rows in blocks.map(|block| cut.rows(block)) {
            for c in 0..count {
                let (here, rest) = from.split_at(rows.len() * n_kernels);
                swept.outputs[(c * cut.n_rows + rows.start) * n_kernels..][..here.len()].copy_from_slice(here);
                from = rest;
            }
        }
        f64::add_scaled(1.0, &part.collected, &mut swept.collected);
        swept.parts.push(part.made);
    }
    Ok(swept)
}

/// Products with the kernels of a tile, in both directions.
struct TileProducts<'a> {
    layout: &'a Layout,
    kernel_mask: &'a [bool],
    /// The positions of each kernel among those in the mask.
    places: &'a [Vec<usize>],
    n_kernels: usize,
    n_cols: usize,
}

impl TileProducts<'_> {
    fn forward<T: Real>(
        &self,
        tile: &Tile,
        held: &TileValues<'_, T>,
        buffers: &mut [Buffer; 2],
        vectors: &Matrix,
        outputs: &mut [f64],
    ) {
        each_kernel(self.layout, held, buffers, self.kernel_mask, |m, values| {
            for (v, vector) in vectors.rows().enumerate() {
                let products = values.products(tile, &vector[tile.cols.clone()]);
                for (i, product) in products.into_iter().take(tile.rows.len()).enumerate() {
                    for &place in &self.places[m] {
                        outputs[(v * tile.rows.len() + i) * self.n_kernels + place] += product;
                    }
                }
            }
        });
    }

    fn backward<T: Real>(
        &self,
        tile: &Tile,
        held: &TileValues<'_, T>,
        buffers: &mut [Buffer; 2],
        pulls: &[f64],
        collected: &mut [f64],
    ) {
        let (n_rows, n_kernels) = (tile.rows.len(), self.n_kernels);
        each_kernel(self.layout, held, buffers, self.kernel_mask, |m, values| {
            for (v, out) in collected.chunks_exact_mut(self.n_cols.max(1)).enumerate() {
                let mut weights = [0.0; BLOCK_ROWS];
                for (weight, pulls) in weights.iter_mut().zip(pulls[v * n_rows * n_kernels..].chunks_exact(n_kernels)) {
                    *weight = self.places[m].iter().map(|&place| pulls[place]).sum();
                }
                values.add_rows(tile, weights, &mut out[tile.cols.clone()]);
            }
        });
    }
}

impl<T: Real> Either<'_, T> {
    fn products(&self, tile: &Tile, with: &[f64]) -> [f64; BLOCK_ROWS] {
        match self {
            Either::Stored(values) => products(values, tile, with),
            Either::Wide(values) => products(values, tile, with),
        }
    }

    fn add_rows(&self, tile: &Tile, weights: [f64; BLOCK_ROWS], out: &mut [f64]) {
        match self {
            Either::Stored(values) => add_rows(values, tile, weights, out),
            Either::Wide(values) => add_rows(values, tile, weights, out),
        }
    }
}

/// The inner product of each row of a tile with a vector.
fn products<T: Real>(values: &[T], tile: &Tile, with: &[f64]) -> [f64; BLOCK_ROWS] {
    let (mut products, width) = ([0.0; BLOCK_ROWS], with.len());
    let row = |i: usize| &values[i * width..(i + 1) * width];
    let fours = tile.rows.len() / 4 * 4;
    for i in (0..fours).step_by(4) {
        products[i..i + 4].copy_from_slice(&T::dot_four(std::array::from_fn(|k| row(i + k)), with));
    }
    for (product, row) in products.iter_mut().zip(values.chunks_exact(width)).skip(fours) {
        *product = T::dot(row, with);
    }
    products
}

/// `out += sum_i weights_i row_i` over the rows of a tile.
fn add_rows<T: Real>(values: &[T], tile: &Tile, weights: [f64; BLOCK_ROWS], out: &mut [f64]) {
    let width = out.len();
    let row = |i: usize| &values[i * width..(i + 1) * width];
    let fours = tile.rows.len() / 4 * 4;
    for i in (0..fours).step_by(4) {
        T::add_four(std::array::from_fn(|k| weights[i + k]), std::array::from_fn(|k| row(i + k)), out);
    }
    for (weight, row) in weights.into_iter().zip(values.chunks_exact(width)).skip(fours) {
        T::add_scaled(weight, row, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;
    use crate::kernel::Kernel;
    use crate::stack::{StackOptions, Storage};

    fn uniform(n_rows: usize, n_cols: usize, seed: u64) -> Matrix {
        let mut rng = Rng::new(seed, 0);
        Matrix::from_fn(n_rows, n_cols, |_, _| rng.uniform() - 0.5)
    }

    /// The answer to an output: nonlinear, and different for each row.
    fn answer_to(row: usize, output: f64) -> f64 {
        (row % 5) as f64 - output * output
    }

    fn swept(stack: &Stack, vectors: &Matrix, threads: usize) -> (Vec<f64>, Vec<f64>, Vec<usize>) {
        let pool = Pool::new(threads).unwrap();
        let n_kernels = stack.n_kernels();
        let found =
            stack.sweep(vectors, &pool, Vec::new, |AtRows { rows, outputs }, answers, seen: &mut Vec<usize>| {
                for (k, (answer, &output)) in answers.iter_mut().zip(outputs).enumerate() {
                    *answer = answer_to(rows.start + k / n_kernels % rows.len(), output);
                }
                seen.extend(rows);
            });
        let found = found.unwrap();
        (found.outputs, found.collected, found.parts.into_iter().flatten().collect())
    }

    /// Both products, from the full kernel matrices.
    fn expected(stack: &Stack, vectors: &Matrix) -> (Vec<f64>, Vec<f64>) {
        let (n, m) = (stack.n_rows(), stack.n_cols());
        let all = |n: usize| (0..n).collect::<Vec<_>>();
        let written: Vec<Matrix> = (0..stack.n_kernels()).map(|k| stack.block(k, &all(n), &all(m)).unwrap()).collect();
        let (mut outputs, mut collected) = (vec![], vec![0.0; vectors.n_cols() * m]);
        for c in 0..vectors.n_cols() {
            for i in 0..n {
                for kernel in &written {
                    let output = (0..m).map(|j| kernel.get(i, j) * vectors.get(j, c)).sum();
                    outputs.push(output);
                    (0..m).for_each(|j| collected[c * m + j] += kernel.get(i, j) * answer_to(i, output));
                }
            }
        }
        (outputs, collected)
    }

    #[test]
    fn one_pass_is_both_products_with_the_kernels_written_out() {
        let few: Vec<Kernel> =
            ["gaussian(1)", "gaussian(2)", "gaussian(0.5) centred", "polynomial(2)", "linear raw on [1]"]
                .iter()
                .map(|text| text.parse().unwrap())
                .collect();
        let widths = (1..40).map(|w| format!("gaussian({})", 0.2 * f64::from(w)).parse().unwrap());
        let many: Vec<Kernel> = widths.chain(few.clone()).collect();
        let pool = Pool::new(2).unwrap();
        let near = |a: &[f64], b: &[f64]| {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-11 * (1.0 + b.abs()))
        };
        for (n, m, kernels) in [(1, 1, &few), (21, 4, &few), (600, 290, &few), (40, 9, &many)] {
            for precision in [Precision::F64, Precision::F32] {
                let of = |storage| {
                    let options = StackOptions { storage, precision, ..StackOptions::new(&pool) };
                    let stack = Stack::train(&uniform(n, 3, 4), kernels, &options).unwrap();
                    let rows: Vec<usize> = (0..n).rev().collect();
                    let points: Vec<usize> = (0..m).map(|j| j * n / m).collect();
                    stack.between(&rows, &points).unwrap()
                };
                let (tiled, packed) = (of(Storage::Tiled), of(Storage::Packed));
                // All kernels, then a subset with one of them twice.
                for pick in [(0..kernels.len()).collect::<Vec<_>>(), vec![2, 0, 2]] {
                    let (tiled, packed) = (tiled.pick(&pick).unwrap(), packed.pick(&pick).unwrap());
                    for count in [1, 3] {
                        let vectors = uniform(m, count, 5);
                        let (outputs, collected, seen) = swept(&tiled, &vectors, 1);
                        let right = expected(&tiled, &vectors);
                        assert!(
                            near(&outputs, &right.0) && near(&collected, &right.1),
                            "{n} {m} {precision:?} {count}"
                        );
                        assert!(seen.iter().copied().eq(0..n));
                        assert_eq!(swept(&tiled, &vectors, 3), (outputs.clone(), collected.clone(), seen.clone()));
                        let kept = tiled.kept(0, &pool).unwrap();
                        assert_eq!(swept(&kept, &vectors, 2), (outputs.clone(), collected.clone(), seen.clone()));
                        assert_eq!(swept(&packed, &vectors, 1), (outputs, collected, seen));
                    }
                }
            }
        }
    }

    #[test]
    fn kernels_of_one_set_are_refused() {
        let pool = Pool::new(1).unwrap();
        let stack = Stack::train(&uniform(4, 2, 1), &["linear".parse().unwrap()], &StackOptions::new(&pool)).unwrap();
        let told = stack.sweep(&uniform(4, 1, 2), &pool, || (), |_, _, ()| {}).unwrap_err().to_string();
        assert!(told.contains("two sets of points"), "{told}");
    }
}
