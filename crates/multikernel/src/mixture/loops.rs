//! The inner loops: rows side by side, one cluster at a time, with the same bits for a row among others and for a row
//! alone.

use std::f64::consts::LN_2;

use crate::simd::{dispatched, ln_of_normal};

/// Rows side by side: enough independent sums to hide latency.
pub(super) const SIDE: usize = 16;
/// Number of factors below 2 that a product can hold without overflow.
const MAX_FACTORS: usize = 512;
/// If removing a row leaves less than this share, too few digits remain and the cluster is rebuilt.
pub(super) const MIN_LEFT: f64 = 1e-10;
const MANTISSA: u64 = (1 << 52) - 1;
const ONE: u64 = 1023 << 52;

/// A cluster as the loops see it: its mean, and the triangle of a factor, row by row, or one number per column.
#[derive(Clone, Copy)]
pub(super) struct GaussianRef<'a> {
    pub(super) mean: &'a [f64],
    pub(super) spread: &'a [f64],
    /// The reciprocals of the factor's diagonal, or of the numbers.
    pub(super) inverses: &'a [f64],
}

dispatched! {
    /// `|L^-1 (x - mean)|^2` of [`SIDE`] rows, with value j of row s at `j * SIDE + s`. `solved` has the size of
    /// `block`.
    pub(super) fn squares(gaussian: GaussianRef<'_>, block: &[f64], solved: &mut [f64]) -> [f64; SIDE] {
        squares_of::<SIDE>(gaussian, block, solved)
    }
}

dispatched! {
    /// [`squares`] of a single row.
    pub(super) fn square(gaussian: GaussianRef<'_>, row: &[f64], solved: &mut [f64]) -> f64 {
        squares_of::<1>(gaussian, row, solved)[0]
    }
}

dispatched! {
    /// `ln(1 + ratio |L^-1 (x - mean)|^2)` of [`SIDE`] rows; infinite if the square is.
    pub(super) fn spreads(gaussian: GaussianRef<'_>, ratio: f64, block: &[f64], solved: &mut [f64]) -> [f64; SIDE] {
        spreads_of::<SIDE>(gaussian, ratio, block, solved)
    }
}

dispatched! {
    /// [`spreads`] of a single row.
    pub(super) fn spread(gaussian: GaussianRef<'_>, ratio: f64, row: &[f64], solved: &mut [f64]) -> f64 {
        spreads_of::<1>(gaussian, ratio, row, solved)[0]
    }
}

dispatched! {
    /// `sum_j ln(1 + ratio (x_j - mean_j)^2 / s_j)` of [`SIDE`] rows; infinite if a square is.
    pub(super) fn diagonal_spreads(gaussian: GaussianRef<'_>, ratio: f64, block: &[f64]) -> [f64; SIDE] {
        diagonal_spreads_of::<SIDE>(gaussian, ratio, block)
    }
}

dispatched! {
    /// [`diagonal_spreads`] of a single row.
    pub(super) fn diagonal_spread(gaussian: GaussianRef<'_>, ratio: f64, row: &[f64]) -> f64 {
        diagonal_spreads_of::<1>(gaussian, ratio, row)[0]
    }
}

dispatched! {
    /// `sum_j (x_j - mean_j)^2 / s_j` of [`SIDE`] rows.
    pub(super) fn diagonal_squares(gaussian: GaussianRef<'_>, block: &[f64]) -> [f64; SIDE] {
        let mut sums = [0.0; SIDE];
        for ((x, mean), inverse) in block.as_chunks::<SIDE>().0.iter().zip(gaussian.mean).zip(gaussian.inverses) {
            for s in 0..SIDE {
                let apart = x[s] - mean;
                sums[s] = (apart * apart).mul_add(*inverse, sums[s]);
            }
        }
        sums
    }
}

dispatched! {
    /// The logarithm of the product of positive normal numbers.
    pub(super) fn ln_product(values: &[f64]) -> f64 {
        let mut products = Products::<1>::new();
        values.iter().for_each(|&value| products.take([value]));
        products.ln()[0]
    }
}

dispatched! {
    /// Adds the lower triangle of `y y'` for each row, y = row - mean, to a triangle stored row by row.
    pub(super) fn add_squares(rows: &[&[f64]], mean: &[f64], apart: &mut [f64], triangle: &mut [f64]) {
        for row in rows {
            apart.iter_mut().zip(row.iter().zip(mean)).for_each(|(y, (x, mean))| *y = x - mean);
            let mut rest = &mut *triangle;
            for (i, &y) in apart.iter().enumerate() {
                let (line, after) = rest.split_at_mut(i + 1);
                line.iter_mut().zip(&*apart).for_each(|(sum, x)| *sum = y.mul_add(*x, *sum));
                rest = after;
            }
        }
    }
}

dispatched! {
    /// Replaces a triangle, row by row, by its Cholesky factor; returns whether it has one.
    pub(super) fn factor(triangle: &mut [f64], d: usize) -> bool {
        for i in 0..d {
            let (before, line) = triangle.split_at_mut(i * (i + 1) / 2);
            for j in 0..=i {
                let other = if j < i { &before[j * (j + 1) / 2..][..=j] } else { &[] };
                let sum = (0..j).fold(line[j], |sum, k| {
                    let left = if j < i { other[k] } else { line[k] };
                    (-line[k]).mul_add(left, sum)
                });
                if j < i {
                    line[j] = sum / other[j];
                } else if sum > d as f64 * f64::EPSILON * line[j] && sum.is_finite() {
                    line[j] = sum.sqrt();
                } else {
                    return false;
                }
            }
        }
        true
    }
}

dispatched! {
    /// Replaces L, row by row, by the factor of `L L' + v v'`. `turns` has two numbers per row.
    pub(super) fn update(factor: &mut [f64], v: &[f64], turns: &mut [f64]) {
        let (turns, mut rest) = (turns.as_chunks_mut::<2>().0, factor);
        for (i, &v) in v.iter().enumerate() {
            let (line, after) = rest.split_at_mut(i + 1);
            let mut x = v;
            for (l, [c, s]) in line.iter_mut().zip(&turns[..i]) {
                // The rotation [c s; -s c] of (l, x).
                let turned = c.mul_add(*l, s * x);
                x = c.mul_add(x, -s * *l);
                *l = turned;
            }
            let r = line[i].mul_add(line[i], x * x).sqrt();
            turns[i] = [line[i] / r, x / r];
            line[i] = r;
            rest = after;
        }
    }
}

dispatched! {
    /// Replaces L, row by row, by the factor of `L L' - v v'`; returns whether it exists, and if not, L is lost.
    pub(super) fn downdate(factor: &mut [f64], v: &[f64], turns: &mut [f64]) -> bool {
        let (turns, mut rest) = (turns.as_chunks_mut::<2>().0, factor);
        for (i, &v) in v.iter().enumerate() {
            let (line, after) = rest.split_at_mut(i + 1);
            let mut x = v;
            for (l, [c, s]) in line.iter_mut().zip(&turns[..i]) {
                // The hyperbolic rotation, whose second half uses the new l: rounding errors of the first do not grow.
                let turned = (-s).mul_add(x, *l) / c;
                x = c.mul_add(x, -s * turned);
                *l = turned;
            }
            let left = (line[i] - x) * (line[i] + x);
            // False for NaN too.
            let holds = left > MIN_LEFT * line[i] * line[i];
            if !holds {
                return false;
            }
            let r = left.sqrt();
            turns[i] = [r / line[i], x / line[i]];
            line[i] = r;
            rest = after;
        }
        true
    }
}

#[inline(always)]
fn squares_of<const S: usize>(gaussian: GaussianRef<'_>, block: &[f64], solved: &mut [f64]) -> [f64; S] {
    let (block, solved) = (block.as_chunks::<S>().0, solved.as_chunks_mut::<S>().0);
    let (mut sums, mut rest) = ([0.0; S], gaussian.spread);
    for (i, (mean, inverse)) in gaussian.mean.iter().zip(gaussian.inverses).enumerate() {
        let (line, after) = rest.split_at(i + 1);
        let mut open = block[i];
        open.iter_mut().for_each(|x| *x -= mean);
        for (l, done) in line.iter().zip(&solved[..i]) {
            for s in 0..S {
                open[s] = (-l).mul_add(done[s], open[s]);
            }
        }
        for s in 0..S {
            open[s] *= inverse;
            sums[s] = open[s].mul_add(open[s], sums[s]);
        }
        solved[i] = open;
        rest = after;
    }
    sums
}

#[inline(always)]
fn spreads_of<const S: usize>(gaussian: GaussianRef<'_>, ratio: f64, block: &[f64], solved: &mut [f64]) -> [f64; S] {
    let squares = squares_of::<S>(gaussian, block, solved);
    let (mut terms, mut sums) = ([0.0; S], [0.0; S]);
    for s in 0..S {
        terms[s] = ratio.mul_add(squares[s], 1.0);
        sums[s] = ln_of_normal(terms[s]);
    }
    // The logarithm of a non-finite term would be meaningless.
    for s in 0..S {
        sums[s] = if terms[s] < f64::INFINITY { sums[s] } else { f64::INFINITY };
    }
    sums
}

#[inline(always)]
fn diagonal_spreads_of<const S: usize>(gaussian: GaussianRef<'_>, ratio: f64, block: &[f64]) -> [f64; S] {
    let (mut products, mut most) = (Products::<S>::new(), [1.0f64; S]);
    for ((x, mean), inverse) in block.as_chunks::<S>().0.iter().zip(gaussian.mean).zip(gaussian.inverses) {
        let weight = ratio * inverse;
        let mut factors = [0.0; S];
        for s in 0..S {
            let apart = x[s] - mean;
            factors[s] = weight.mul_add(apart * apart, 1.0);
            most[s] = most[s].max(factors[s]);
        }
        products.take(factors);
    }
    let mut sums = products.ln();
    for s in 0..S {
        sums[s] = if most[s] < f64::INFINITY { sums[s] } else { f64::INFINITY };
    }
    sums
}

/// Products of many numbers, with separate exponents, so that a single logarithm suffices for all of them.
struct Products<const S: usize> {
    mantissas: [f64; S],
    exponents: [i64; S],
    count: usize,
}

impl<const S: usize> Products<S> {
    #[inline(always)]
    fn new() -> Self {
        Products { mantissas: [1.0; S], exponents: [0; S], count: 0 }
    }

    #[inline(always)]
    fn take(&mut self, factors: [f64; S]) {
        for ((exponent, mantissa), factor) in self.exponents.iter_mut().zip(&mut self.mantissas).zip(factors) {
            let bits = factor.to_bits();
            *exponent += (bits >> 52) as i64 - 1023;
            *mantissa *= f64::from_bits(bits & MANTISSA | ONE);
        }
        self.count += 1;
        if self.count == MAX_FACTORS {
            let open = self.mantissas;
            (self.mantissas, self.count) = ([1.0; S], 0);
            self.take(open);
        }
    }

    #[inline(always)]
    fn ln(self) -> [f64; S] {
        let mut sums = [0.0; S];
        for ((sum, exponent), mantissa) in sums.iter_mut().zip(self.exponents).zip(self.mantissas) {
            *sum = exponent as f64 * LN_2 + ln_of_normal(mantissa);
        }
        sums
    }
}
