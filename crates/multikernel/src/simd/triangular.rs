//! Small triangular systems, and the Cholesky factor of one small block.
//!
//! A block is [`NARROW`] x [`NARROW`] and given by its columns, together with the reciprocals of its diagonal, because
//! a product is many times faster than a division.

use super::tile::{Lines, NARROW, Tile, VECTOR, WIDE};
use super::{dispatched, each};

/// Unrolls a piece of code for each column of a block: a loop would keep the block in memory, not in registers.
macro_rules! columns {
    ($c:ident => $body:block) => {
        columns!($c => $body, 0, 1, 2, 3, 4, 5, 6, 7)
    };
    ($c:ident => $body:block, $($value:literal),*) => {
        $({
            const $c: usize = $value;
            $body
        })*
    };
}

dispatched! {
    /// Overwrites [`NARROW`] lines of `width` numbers, `stride` apart in `right`, with the solution x of `L x = right -
    /// sums`: one system per number of a line, side by side.
    pub(crate) fn divide(
        right: &mut [f64],
        stride: usize,
        width: usize,
        sums: &Tile,
        block: Lines<'_>,
        inverses: &[f64],
    ) {
        let inverses = &inverses[..NARROW];
        for v in (0..width).step_by(VECTOR) {
            let mut x = difference(right, stride, sums, v);
            columns!(C => {
                scale::<C>(&mut x, inverses[C]);
                eliminate::<C>(&mut x, block.line(C, NARROW));
            });
            store(&x, right, stride, v);
        }
    }
}

dispatched! {
    /// Overwrites a block, whose columns are `stride` apart, with the Cholesky factor of `block - sums`, zero above its
    /// diagonal, and returns the reciprocals of its diagonal; or the first row whose pivot is not above its `least`,
    /// and that pivot.
    pub(crate) fn factor(
        block: &mut [f64],
        stride: usize,
        sums: &Tile,
        least: &[f64],
        inverses: &mut [f64],
    ) -> Result<(), (usize, f64)> {
        let (least, inverses) = (&least[..NARROW], &mut inverses[..NARROW]);
        let mut x = difference(block, stride, sums, 0);
        columns!(C => {
            let pivot = x[C][C];
            // Catches NaN too.
            if !(pivot > least[C] && pivot.is_finite()) {
                return Err((C, pivot));
            }
            let root = pivot.sqrt();
            inverses[C] = 1.0 / root;
            scale::<C>(&mut x, inverses[C]);
            x[C][C] = root;
            let column = x[C];
            eliminate::<C>(&mut x, &column);
            x[C][..C].fill(0.0);
        });
        store(&x, block, stride, 0);
        Ok(())
    }
}

#[inline(always)]
fn scale<const C: usize>(x: &mut [[f64; VECTOR]; NARROW], factor: f64) {
    x[C].iter_mut().for_each(|x| *x *= factor);
}

/// Subtracts line C, times the entries of the column, from the lines after it.
#[inline(always)]
fn eliminate<const C: usize>(x: &mut [[f64; VECTOR]; NARROW], column: &[f64]) {
    let line = x[C];
    for r in C + 1..NARROW {
        take_off(&mut x[r], column[r], &line);
    }
}

/// `x -= factor y`.
#[inline(always)]
fn take_off(x: &mut [f64; VECTOR], factor: f64, y: &[f64]) {
    for l in 0..VECTOR {
        x[l] = (-factor).mul_add(y[l], x[l]);
    }
}

/// One vector of each line, less its sums.
#[inline(always)]
fn difference(lines: &[f64], stride: usize, sums: &Tile, v: usize) -> [[f64; VECTOR]; NARROW] {
    let mut x = [[0.0; VECTOR]; NARROW];
    for r in 0..NARROW {
        let line = &lines[r * stride + v..][..VECTOR];
        for l in 0..VECTOR {
            x[r][l] = line[l] - sums[r][v + l];
        }
    }
    x
}

#[inline(always)]
fn store(x: &[[f64; VECTOR]; NARROW], lines: &mut [f64], stride: usize, v: usize) {
    for (r, x) in x.iter().enumerate() {
        lines[r * stride + v..][..VECTOR].copy_from_slice(x);
    }
}

dispatched! {
    /// Overwrites x with the solution of `L x = x - sums`, for one system of a whole number of blocks, at most [`WIDE`]
    /// rows; `columns` are those of L.
    pub(crate) fn forward(x: &mut [f64], sums: &[f64; WIDE], columns: Lines<'_>, inverses: &[f64]) {
        let (vectors, _) = x.as_chunks_mut::<VECTOR>();
        for (x, sums) in vectors.iter_mut().zip(sums.as_chunks::<VECTOR>().0) {
            for l in 0..VECTOR {
                x[l] -= sums[l];
            }
        }
        for v in 0..vectors.len() {
            let block = columns.skip(v * VECTOR, v * VECTOR);
            let mut solved = vectors[v];
            columns!(C => {
                let column = block.line(C, VECTOR);
                let value = solved[C] * inverses[v * VECTOR + C];
                take_off(&mut solved, value, column);
                solved[C] = value;
            });
            vectors[v] = solved;
            for (w, open) in vectors.iter_mut().enumerate().skip(v + 1) {
                let below = columns.skip(v * VECTOR, w * VECTOR);
                solved.iter().enumerate().for_each(|(c, &x)| take_off(open, x, below.line(c, VECTOR)));
            }
        }
    }
}

dispatched! {
    /// Overwrites x with the solution of `L' x = x`, for one system of a whole number of blocks; `rows` are those of L.
    pub(crate) fn backward(x: &mut [f64], rows: Lines<'_>, inverses: &[f64]) {
        let (vectors, _) = x.as_chunks_mut::<VECTOR>();
        for v in (0..vectors.len()).rev() {
            let rows = rows.skip(v * VECTOR, 0);
            let mut solved = vectors[v];
            columns!(C => {
                const R: usize = NARROW - 1 - C;
                let (row, value) = (rows.skip(R, v * VECTOR).line(0, VECTOR), solved[R] * inverses[v * VECTOR + R]);
                take_off(&mut solved, value, row);
                solved[R] = value;
            });
            vectors[v] = solved;
            for (w, open) in vectors[..v].iter_mut().enumerate() {
                let before = rows.skip(0, w * VECTOR);
                solved.iter().enumerate().for_each(|(r, &x)| take_off(open, x, before.line(r, VECTOR)));
            }
        }
    }
}

dispatched! {
    /// Adds the squares of consecutive lines, each as long as `sums`, line after line.
    pub(crate) fn add_squares(lines: &[f64], sums: &mut [f64]) {
        for line in lines.chunks_exact(sums.len().max(1)) {
            sums.iter_mut().zip(line).for_each(|(sum, x)| *sum = x.mul_add(*x, *sum));
        }
    }
}

dispatched! {
    /// Subtracts the inner products of [`NARROW`] lines with x from `out`. The lines are those from `first` on of all
    /// `panels`, as long as these are wide.
    pub(crate) fn subtract_inner(panels: &[Lines<'_>], first: usize, x: &[f64], out: &mut [f64]) {
        // Separate sums for each position in a vector, added up once at the end.
        let mut sums = [[0.0; VECTOR]; NARROW];
        let (whole, rest) = x.as_chunks::<WIDE>();
        for (lines, x) in panels.iter().zip(whole) {
            sums = with_products::<3>(lines.skip(first, 0), x, sums);
        }
        if let Some(lines) = panels.get(whole.len()).map(|lines| lines.skip(first, 0)) {
            sums = match rest.len() {
                16 => with_products::<2>(lines, rest, sums),
                _ => with_products::<1>(lines, rest, sums),
            };
        }
        for (out, sums) in out.iter_mut().zip(sums) {
            let half: [f64; VECTOR / 2] = each(0.0, |l| sums[l] + sums[l + VECTOR / 2]);
            *out -= (half[0] + half[2]) + (half[1] + half[3]);
        }
    }
}

#[inline(always)]
fn with_products<const V: usize>(
    lines: Lines<'_>,
    x: &[f64],
    mut sums: [[f64; VECTOR]; NARROW],
) -> [[f64; VECTOR]; NARROW] {
    let lines = &lines.values().as_chunks::<VECTOR>().0.as_chunks::<V>().0[..NARROW];
    let x = &x.as_chunks::<VECTOR>().0[..V];
    for v in 0..V {
        for r in 0..NARROW {
            for l in 0..VECTOR {
                sums[r][l] = lines[r][v][l].mul_add(x[v][l], sums[r][l]);
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;
    use crate::simd::at_every_level;
    use crate::simd::check::{bits, uniform};

    /// A lower triangle of numbers around 0 and a diagonal around 2.
    fn triangle(rng: &mut Rng, n: usize) -> Vec<Vec<f64>> {
        let mut entry = |i: usize, j: usize| match i.cmp(&j) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => 1.5 + rng.uniform(),
            std::cmp::Ordering::Greater => rng.uniform() - 0.5,
        };
        (0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect()
    }

    fn columns_of(lower: &[Vec<f64>]) -> Vec<f64> {
        (0..lower.len()).flat_map(|c| lower.iter().map(move |row| row[c])).collect()
    }

    fn inverses(lower: &[Vec<f64>]) -> Vec<f64> {
        lower.iter().enumerate().map(|(i, row)| 1.0 / row[i]).collect()
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() <= 1e-12 * (1.0 + expected.abs()), "{found} for {expected}");
    }

    #[test]
    fn what_was_divided_multiplies_back_at_every_level() {
        let mut rng = Rng::new(1, 0);
        for (width, stride) in [(8, 8), (16, 19), (24, 24), (8, 24)] {
            let lower = triangle(&mut rng, NARROW);
            let right = uniform(&mut rng, NARROW * stride);
            let sums: Tile = std::array::from_fn(|_| std::array::from_fn(|_| rng.uniform()));
            let (columns, inverses) = (columns_of(&lower), inverses(&lower));
            let found = at_every_level(|| {
                let mut x = right.clone();
                divide(&mut x, stride, width, &sums, Lines::new(&columns, NARROW), &inverses);
                bits(&x)
            });
            let x = |r: usize, l: usize| f64::from_bits(found[r * stride + l]);
            for (r, row) in lower.iter().enumerate() {
                for l in 0..width {
                    near((0..NARROW).map(|c| row[c] * x(c, l)).sum(), right[r * stride + l] - sums[r][l]);
                }
                (width..stride).for_each(|l| assert_eq!(x(r, l), right[r * stride + l]));
            }
        }
    }

    #[test]
    fn factor_of_a_block_multiplies_back_and_names_a_pivot_that_is_too_small_at_every_level() {
        let mut rng = Rng::new(2, 0);
        let lower = triangle(&mut rng, NARROW);
        let entry = |r: usize, c: usize| (0..NARROW).map(|k| lower[r][k] * lower[c][k]).sum::<f64>();
        let sums: Tile = std::array::from_fn(|_| std::array::from_fn(|_| rng.uniform()));
        let stride = 11;
        let block = |less: f64| -> Vec<f64> {
            let value = |c: usize, r: usize| if r < NARROW { entry(r, c) + sums[c][r] } else { 7.0 };
            let mut block: Vec<f64> = (0..NARROW * stride).map(|e| value(e / stride, e % stride)).collect();
            block[5 * stride + 5] -= less;
            block
        };
        let run = |less: f64, least: f64| {
            at_every_level(|| {
                let (mut x, mut inverses) = (block(less), [0.0; NARROW]);
                let outcome = factor(&mut x, stride, &sums, &[least; NARROW], &mut inverses);
                (bits(&x), bits(&inverses), outcome.map_err(|(row, pivot)| (row, bits(&[pivot])[0])))
            })
        };
        let (x, inverses, outcome) = run(0.0, 0.0);
        assert_eq!(outcome, Ok(()));
        for c in 0..NARROW {
            (0..NARROW).for_each(|r| near(f64::from_bits(x[c * stride + r]), lower[r][c]));
            (0..c).for_each(|r| assert_eq!(x[c * stride + r], 0));
            (NARROW..stride).for_each(|r| assert_eq!(f64::from_bits(x[c * stride + r]), 7.0));
            near(f64::from_bits(inverses[c]), 1.0 / lower[c][c]);
        }
        let pivot = lower[5][5] * lower[5][5];
        let (row, found) = run(pivot + 1.0, 0.0).2.unwrap_err();
        assert_eq!(row, 5);
        near(f64::from_bits(found), -1.0);
        assert_eq!(run(pivot - 0.1, 0.2).2.unwrap_err().0, 5);
        assert_eq!(run(f64::NAN, 0.0).2.unwrap_err().0, 5);
        assert_eq!(run(f64::NEG_INFINITY, 0.0).2.unwrap_err().0, 5);
    }

    #[test]
    fn forward_and_backward_multiply_back_at_every_level() {
        let mut rng = Rng::new(3, 0);
        for n in [8, 16, 24] {
            let (lower, right) = (triangle(&mut rng, n), uniform(&mut rng, n));
            let sums: [f64; WIDE] = std::array::from_fn(|_| rng.uniform());
            let (columns, inverses) = (columns_of(&lower), inverses(&lower));
            let x = at_every_level(|| {
                let mut x = right.clone();
                forward(&mut x, &sums, Lines::new(&columns, n), &inverses);
                bits(&x)
            });
            for (i, row) in lower.iter().enumerate() {
                near((0..n).map(|k| row[k] * f64::from_bits(x[k])).sum(), right[i] - sums[i]);
            }
            let rows = lower.concat();
            let x = at_every_level(|| {
                let mut x = right.clone();
                backward(&mut x, Lines::new(&rows, n), &inverses);
                bits(&x)
            });
            for i in 0..n {
                near((0..n).map(|k| lower[k][i] * f64::from_bits(x[k])).sum(), right[i]);
            }
        }
    }

    #[test]
    fn inner_products_are_taken_off_at_every_level() {
        let mut rng = Rng::new(4, 0);
        for (n, first) in [(0, 3), (8, 0), (24, 5), (40, 1), (72, 0), (88, 2)] {
            let (x, right) = (uniform(&mut rng, n), uniform(&mut rng, NARROW));
            let widths: Vec<usize> = x.chunks(WIDE).map(<[f64]>::len).collect();
            let panels: Vec<Vec<f64>> =
                widths.iter().map(|width| uniform(&mut rng, (first + NARROW) * width)).collect();
            let lines: Vec<Lines<'_>> =
                panels.iter().zip(&widths).map(|(panel, &width)| Lines::new(panel, width)).collect();
            let found = at_every_level(|| {
                let mut out = right.clone();
                subtract_inner(&lines, first, &x, &mut out);
                bits(&out)
            });
            for (r, found) in found.into_iter().enumerate() {
                let entry = |k: usize| panels[k / WIDE][(first + r) * widths[k / WIDE] + k % WIDE];
                near(f64::from_bits(found), right[r] - (0..n).map(|k| entry(k) * x[k]).sum::<f64>());
            }
        }
    }
}
