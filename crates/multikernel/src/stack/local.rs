//! Localised kernel weights: each point has its own weights for all kernels.

use super::core::Element;
use super::ops::{each_kernel, multiply};
use super::source::{Scratch, Source};
use super::view::{Stack, check};
use super::write::StripWriter;
use crate::error::{Error, Result};
use crate::linalg::{Matrix, Pieces};
use crate::pool::Pool;
use crate::precision::Precision;
use crate::simd::{Buffer, Real, dispatched};

/// Memory for the partial results of `apply_local`.
const PARTIAL_BYTES: usize = 128 << 20;

impl Stack {
    /// `sum_m T_im T_jm k_m(i, j)` for all pairs of points, T the n x P weights of the points: n x n, symmetric to the
    /// last bit. With one row of weights for all points it is [`Stack::combine`] of their squares. One pass, two
    /// products per value.
    ///
    /// ```
    /// use multikernel::{Matrix, Pool, stack::{StackOptions, Stack}};
    /// let pool = Pool::new(1)?;
    /// let kernels = ["linear raw".parse()?, "polynomial(2) raw".parse()?];
    /// let stack = Stack::train(&Matrix::from_vec(2, 1, vec![1.0, 2.0])?, &kernels, &StackOptions::new(&pool))?;
    /// let sum = stack.combine_local(&Matrix::from_vec(2, 2, vec![1.0, 0.0, 0.5, 0.5])?, &pool)?;
    /// assert_eq!(sum.data(), [1.0, 1.0, 1.0, 0.25 * 4.0 + 0.25 * 25.0]);
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn combine_local(&self, weights: &Matrix, pool: &Pool) -> Result<Matrix> {
        self.check_local("combine_local", weights)?;
        in_precision!(self, combine(self, &weights.transposed(), pool))
    }

    /// `((H H') o K_m) t_m` for all kernels m, where o is the entrywise product, `t_m` is the m-th column of the n x P
    /// weights, and H is n x r. The result is n x P. It is half the gradient of `<H H', combine_local>` with respect to
    /// the weights, and linear in them. One pass, three products per value and r per entry.
    pub fn apply_local(&self, weights: &Matrix, h: &Matrix, pool: &Pool) -> Result<Matrix> {
        self.check_local("apply_local", weights)?;
        check("apply_local: H", "rows", h.n_rows(), self.n_rows())?;
        in_precision!(self, apply(self, &weights.transposed(), &h.transposed(), pool))
    }

    /// `k_m(i, i)` of all points (rows) and kernels (columns), for a square stack. Cost: 256 values per point and
    /// kernel if nothing is stored.
    pub fn diagonals(&self, pool: &Pool) -> Result<Matrix> {
        check("diagonals: the stack", "columns", self.n_cols(), self.n_rows())?;
        in_precision!(self, diagonals(self, pool))
    }

    fn check_local(&self, what: &str, weights: &Matrix) -> Result<()> {
        if !self.cut().symmetric {
            let (n_rows, n_cols) = (self.n_rows(), self.n_cols());
            return Err(Error::input(format!(
                "{what} needs kernels of points among themselves, got {n_rows} x {n_cols} of two sets"
            )));
        }
        check(&format!("{what}: weights"), "rows", weights.n_rows(), self.n_rows())?;
        check(&format!("{what}: weights"), "columns (one per kernel)", weights.n_cols(), self.n_kernels())
    }
}

dispatched! {
    /// `out += (weight weights) values`. The weights are multiplied first, so that (i, j) and (j, i) have the same
    /// bits.
    fn add_weighted(weight: f64, weights: &[f64], values: &[f64], out: &mut [f64]) {
        for ((out, value), other) in out.iter_mut().zip(values).zip(weights) {
            *out = (weight * other).mul_add(*value, *out);
        }
    }
}

dispatched! {
    fn multiply_into(values: &[f64], with: &[f64], out: &mut [f64]) {
        for ((out, value), with) in out.iter_mut().zip(values).zip(with) {
            *out = value * with;
        }
    }
}

/// Weights, and H below, are transposed: the numbers of one kernel are contiguous.
fn combine<T: Element>(stack: &Stack, weights: &Matrix, pool: &Pool) -> Result<Matrix> {
    let (layout, cut) = (&stack.core.layout, stack.cut());
    let what = format!("the combined kernel of {} x {} points", cut.n_rows, cut.n_cols);
    let mut sum = stack.core.matrices(&what, 1, cut.n_rows, cut.n_cols)?.remove(0);
    let (batch_mask, kernel_mask, places) = (stack.batch_mask(), stack.kernel_mask(), stack.places());
    let (indices, watch) = (stack.indices(), stack.watch());
    let source: Source<'_, T> = stack.source(&indices, &batch_mask, Some(pool));
    let pieces = Pieces::new(&mut sum);
    pool.each(cut.strips(), |strip| {
        let (mut scratch, mut buffers) = (Scratch::default(), <[Buffer; 2]>::default());
        let (mut wide, mut out) = (Buffer::default(), Buffer::default());
        let mut writer = StripWriter::new(&cut, &strip, &pieces);
        for (cols, tiles) in cut.tiles_of_strip(&strip) {
            for (block, tile) in tiles.take_while(|_| watch.go_on()) {
                let width = tile.cols.len();
                wide.set_len(tile.len());
                out.set_len(tile.len());
                out.fill(0.0);
                source.each(block, &tile, &batch_mask, &mut scratch, |held| {
                    each_kernel(layout, held, &mut buffers, &kernel_mask, |m, values| {
                        values.widen_into(&mut wide);
                        for &place in &places[m] {
                            let weights = weights.row(place);
                            let lines = wide.chunks_exact(width).zip(out.chunks_exact_mut(width));
                            for (i, (values, out)) in tile.rows.clone().zip(lines) {
                                add_weighted(weights[i], &weights[tile.cols.clone()], values, out);
                            }
                        }
                    });
                });
                writer.put(&tile, &out);
            }
            writer.finish(cols);
        }
    });
    watch.result(())?;
    Ok(sum)
}

fn apply<T: Element>(stack: &Stack, weights: &Matrix, h: &Matrix, pool: &Pool) -> Result<Matrix> {
    let (layout, cut) = (&stack.core.layout, stack.cut());
    let (n, n_kernels) = (cut.n_rows, stack.n_kernels());
    let (batch_mask, kernel_mask, places) = (stack.batch_mask(), stack.kernel_mask(), stack.places());
    let (indices, watch) = (stack.indices(), stack.watch());
    let source: Source<'_, T> = stack.source(&indices, &batch_mask, Some(pool));
    // As many parts as there is memory for their partial results, whatever the number of threads.
    let parts = cut.parts_up_to((PARTIAL_BYTES / (8 * n * n_kernels).max(1)).max(1));
    let partial = pool.map(parts.len(), |part| {
        let (mut scratch, mut buffers) = (Scratch::default(), <[Buffer; 2]>::default());
        let [mut wide, mut with, mut product] = <[Buffer; 3]>::default();
        let mut sums = Matrix::zeros(n_kernels, n);
        for block in parts[part].clone() {
            for tile in cut.tiles(block).take_while(|_| watch.go_on()) {
                for buffer in [&mut wide, &mut with, &mut product] {
                    buffer.set_len(tile.len());
                }
                for (i, row) in tile.rows.clone().zip(with.chunks_exact_mut(tile.cols.len())) {
                    row.fill(0.0);
                    h.rows().for_each(|h| f64::add_scaled(h[i], &h[tile.cols.clone()], row));
                }
                source.each(block, &tile, &batch_mask, &mut scratch, |held| {
                    each_kernel(layout, held, &mut buffers, &kernel_mask, |m, values| {
                        values.widen_into(&mut wide);
                        multiply_into(&wide, &with, &mut product);
                        for &place in &places[m] {
                            multiply(&product, &tile, &cut, &[weights.row(place)], sums.row_mut(place));
                        }
                    });
                });
            }
        }
        sums
    });
    watch.result(())?;
    let mut sums = Matrix::zeros(n_kernels, n);
    partial.iter().for_each(|part| f64::add_scaled(1.0, part.data(), sums.data_mut()));
    Ok(sums.transposed())
}

fn diagonals<T: Element>(stack: &Stack, pool: &Pool) -> Result<Matrix> {
    let (layout, cut, n_kernels) = (&stack.core.layout, stack.cut(), stack.n_kernels());
    let (batch_mask, kernel_mask, places) = (stack.batch_mask(), stack.kernel_mask(), stack.places());
    let (indices, watch) = (stack.indices(), stack.watch());
    let source: Source<'_, T> = stack.source(&indices, &batch_mask, Some(pool));
    let blocks = pool.map(cut.n_blocks(), |block| {
        let (mut scratch, mut buffers, mut wide) = (Scratch::default(), <[Buffer; 2]>::default(), Buffer::default());
        let rows = cut.rows(block);
        let mut found = vec![0.0; rows.len() * n_kernels];
        // The squares on the diagonal are never split: a tile is a whole number of blocks wide.
        let on_diagonal = cut.tiles(block).find(|tile| tile.cols.contains(&rows.start));
        if let Some(tile) = on_diagonal.filter(|_| watch.go_on()) {
            wide.set_len(tile.len());
            source.each(block, &tile, &batch_mask, &mut scratch, |held| {
                each_kernel(layout, held, &mut buffers, &kernel_mask, |m, values| {
                    values.widen_into(&mut wide);
                    for (r, i) in rows.clone().enumerate() {
                        let value = wide[r * tile.cols.len() + i - tile.cols.start];
                        places[m].iter().for_each(|&place| found[r * n_kernels + place] = value);
                    }
                });
            });
        }
        found
    });
    watch.result(())?;
    Matrix::from_vec(cut.n_rows, n_kernels, blocks.concat())
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

    fn kernels(bank: &[&str]) -> Vec<Kernel> {
        bank.iter().map(|text| text.parse().unwrap()).collect()
    }

    /// The full matrix of each kernel.
    fn written(stack: &Stack) -> Vec<Matrix> {
        let all: Vec<usize> = (0..stack.n_rows()).collect();
        (0..stack.n_kernels()).map(|m| stack.block(m, &all, &all).unwrap()).collect()
    }

    fn near(a: &Matrix, b: &Matrix) -> bool {
        (a.n_rows(), a.n_cols()) == (b.n_rows(), b.n_cols())
            && a.data().iter().zip(b.data()).all(|(a, b)| (a - b).abs() < 1e-11)
    }

    fn check_all(stack: &Stack, pool: &Pool) {
        let (n, n_kernels) = (stack.n_rows(), stack.n_kernels());
        let (weights, h, written) = (uniform(n, n_kernels, 1), uniform(n, 3, 2), written(stack));
        let combined = stack.combine_local(&weights, pool).unwrap();
        let entry = |i: usize, j: usize| {
            (0..n_kernels).map(|m| weights.get(i, m) * weights.get(j, m) * written[m].get(i, j)).sum::<f64>()
        };
        assert!(near(&combined, &Matrix::from_fn(n, n, entry)));
        assert_eq!(combined, combined.transposed());
        let applied = stack.apply_local(&weights, &h, pool).unwrap();
        let outer = |i: usize, j: usize| (0..3).map(|c| h.get(i, c) * h.get(j, c)).sum::<f64>();
        let entry =
            |i: usize, m: usize| (0..n).map(|j| outer(i, j) * written[m].get(i, j) * weights.get(j, m)).sum::<f64>();
        assert!(near(&applied, &Matrix::from_fn(n, n_kernels, entry)));
        assert_eq!(stack.diagonals(pool).unwrap(), Matrix::from_fn(n, n_kernels, |i, m| written[m].get(i, i)));
    }

    #[test]
    fn local_operations_are_those_of_the_kernels_written_out() {
        let few = kernels(&["gaussian(1)", "gaussian(0.5) centred", "polynomial(2)", "linear raw on [1]"]);
        let many: Vec<Kernel> =
            (1..40).map(|w| format!("gaussian({})", 0.2 * f64::from(w)).parse().unwrap()).chain(few.clone()).collect();
        let pool = Pool::new(2).unwrap();
        for (n, kernels) in [(1, &few), (21, &few), (300, &few), (30, &many)] {
            let points = uniform(n, 3, 4);
            for storage in [Storage::Packed, Storage::Tiled] {
                let options = StackOptions { storage, ..StackOptions::new(&pool) };
                let stack = Stack::train(&points, kernels, &options).unwrap();
                check_all(&stack, &pool);
                // Some kernels, one of them twice, on a subset of the points.
                let part = stack.pick(&[2, 0, 2]).unwrap().view(&(0..n).rev().step_by(2).collect::<Vec<_>>()).unwrap();
                check_all(&part, &pool);
            }
        }
    }

    #[test]
    fn local_operations_have_the_same_bits_stored_or_not_on_any_number_of_threads() {
        let (points, weights, h) = (uniform(270, 4, 5), uniform(270, 3, 6), uniform(270, 2, 7));
        let run = |storage: Storage, n_threads: usize| {
            let pool = Pool::new(n_threads).unwrap();
            let options = StackOptions { storage, ..StackOptions::new(&pool) };
            let stack =
                Stack::train(&points, &kernels(&["gaussian(1)", "gaussian(2)", "linear centred"]), &options).unwrap();
            let (sum, applied) = (stack.combine_local(&weights, &pool), stack.apply_local(&weights, &h, &pool));
            (sum.unwrap(), applied.unwrap(), stack.diagonals(&pool).unwrap())
        };
        let one = run(Storage::Packed, 1);
        assert!(run(Storage::Tiled, 4) == one && run(Storage::Packed, 3) == one);
    }

    #[test]
    fn shapes_that_do_not_fit_are_refused() {
        let pool = Pool::new(1).unwrap();
        let stack = Stack::train(&uniform(5, 2, 8), &kernels(&["gaussian(1)"]), &StackOptions::new(&pool)).unwrap();
        let text = |result: Result<Matrix>| result.unwrap_err().to_string();
        assert_eq!(
            text(stack.combine_local(&Matrix::zeros(4, 1), &pool)),
            "combine_local: weights has 4 rows, the stack needs 5"
        );
        assert_eq!(
            text(stack.apply_local(&Matrix::zeros(5, 1), &Matrix::zeros(3, 2), &pool)),
            "apply_local: H has 3 rows, the stack needs 5"
        );
        assert_eq!(
            text(stack.between(&[0, 1], &[2, 3]).unwrap().combine_local(&Matrix::zeros(2, 1), &pool)),
            "combine_local needs kernels of points among themselves, got 2 x 2 of two sets"
        );
    }
}
