//! The inner loops of a machine, each over one strip of frequencies, so that their data stay in the L1 cache.
//!
//! Rows are taken in groups of [`GROUP`]. The features of a group on a strip are a tile of cosines, row by row, and one
//! of sines. Every sum uses fused multiply-add in a fixed order, so the bits depend neither on the instruction set nor
//! on the group.

use crate::simd::{Lines, NARROW, Tile, VECTOR, WIDE, dispatched, sin_cos, sums, transpose};

/// Frequencies per strip.
pub(super) const STRIP: usize = WIDE;
/// Rows per group.
pub(super) const GROUP: usize = NARROW;
/// Numbers per tile.
const TILE: usize = STRIP * GROUP;
/// Cosines and sines of a group on a strip.
pub(super) const FEATURES: usize = 2 * TILE;
/// Weights of the cosines and sines of a strip for one class.
pub(super) const FACTORS: usize = 2 * STRIP;
/// Partial sums of a group for one class: a vector for each row.
pub(super) const PARTIAL: usize = GROUP * VECTOR;
/// Vectors per line of a strip.
const VECTORS: usize = STRIP / VECTOR;
/// Rows whose scores are summed together: this many vectors times two classes leave registers for the multiplicands.
const QUAD: usize = 4;

/// The features of a group of rows on a strip: `points` has a line for each column with the rows contiguous, `noise`
/// one with the frequencies contiguous.
pub(super) fn features(points: Lines<'_>, noise: &[f64], n_features: usize, out: &mut [f64]) {
    let mut tile: Tile = [[0.0; STRIP]; GROUP];
    sums(points, GROUP, Lines::new(noise, STRIP), STRIP, n_features, &mut tile);
    let (cosines, sines) = out.split_at_mut(TILE);
    sin_cos(tile.as_flattened(), sines, cosines);
}

dispatched! {
    /// Adds a strip's contribution to the scores of some groups of rows, in [`PARTIAL`] sums for each group and class.
    pub(super) fn add_scores(features: &[f64], weights: &[f64], partial: &mut [f64]) {
        let (features, n_classes) = (features.as_chunks::<FEATURES>().0, weights.len() / FACTORS);
        let weights = weights.as_chunks::<VECTOR>().0.as_chunks::<{ 2 * VECTORS }>().0;
        // Two classes at a time, whose weights stay in registers while looping over the groups.
        let (pairs, last) = weights.as_chunks::<2>();
        for (p, [first, second]) in pairs.iter().enumerate() {
            for (features, partial) in features.iter().zip(partial.chunks_exact_mut(n_classes * PARTIAL)) {
                let quads = partial.as_chunks_mut::<VECTOR>().0.as_chunks_mut::<QUAD>().0;
                let [a, b, c, d] = &mut quads.as_chunks_mut::<4>().0[p];
                add_quad([first, second], features, [a, c]);
                add_quad([first, second], &features[QUAD * STRIP..], [b, d]);
            }
        }
        for weights in last {
            for (features, partial) in features.iter().zip(partial.chunks_exact_mut(n_classes * PARTIAL)) {
                let quads = partial.as_chunks_mut::<VECTOR>().0.as_chunks_mut::<QUAD>().0;
                let [a, b] = &mut quads.as_chunks_mut::<2>().0[n_classes - 1];
                add_quad([weights], features, [a]);
                add_quad([weights], &features[QUAD * STRIP..], [b]);
            }
        }
    }
}

/// [`add_scores`] for four rows, the first of `features`, and some classes.
#[inline(always)]
fn add_quad<const C: usize>(
    weights: [&[[f64; VECTOR]; 2 * VECTORS]; C],
    features: &[f64],
    partial: [&mut [[f64; VECTOR]; QUAD]; C],
) {
    let features = features.as_chunks::<VECTOR>().0;
    let halves = [&features[..QUAD * VECTORS], &features[GROUP * VECTORS..(GROUP + QUAD) * VECTORS]];
    let mut sums: [[[f64; VECTOR]; QUAD]; C] = std::array::from_fn(|c| *partial[c]);
    for (h, half) in halves.into_iter().enumerate() {
        for v in 0..VECTORS {
            for r in 0..QUAD {
                for c in 0..C {
                    let (x, w) = (&half[r * VECTORS + v], &weights[c][h * VECTORS + v]);
                    for l in 0..VECTOR {
                        sums[c][r][l] = x[l].mul_add(w[l], sums[c][r][l]);
                    }
                }
            }
        }
    }
    partial.into_iter().zip(sums).for_each(|(partial, sums)| *partial = sums);
}

/// The sum of a vector, always in this order.
#[inline(always)]
pub(super) fn across(v: &[f64; VECTOR]) -> f64 {
    ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]))
}

dispatched! {
    /// Reduces the partial sums of a group to scores, `scale` times [`across`], row by row.
    pub(super) fn put_scores(scale: f64, partial: &[f64], n_classes: usize, out: &mut [f64]) {
        for (m, partial) in partial.as_chunks::<PARTIAL>().0.iter().enumerate() {
            // Transposed, so that the vectors of eight rows are summed side by side.
            let mut lanes = [[0.0; GROUP]; VECTOR];
            transpose(partial, VECTOR, lanes.as_flattened_mut(), GROUP);
            let mut sums = [0.0; GROUP];
            for r in 0..GROUP {
                let even = (lanes[0][r] + lanes[4][r]) + (lanes[2][r] + lanes[6][r]);
                let odd = (lanes[1][r] + lanes[5][r]) + (lanes[3][r] + lanes[7][r]);
                sums[r] = scale * (even + odd);
            }
            out.iter_mut().skip(m).step_by(n_classes).zip(sums).for_each(|(out, sum)| *out = sum);
        }
    }
}

/// A row that misses the margin: its position in the batch, its label, and the rival class.
#[derive(Clone, Copy, Debug)]
pub(super) struct Miss {
    pub(super) row: usize,
    pub(super) label: usize,
    pub(super) rival: usize,
}

/// The cosines and sines of a row on a strip, from the features of all groups there.
#[inline(always)]
fn of_row(features: &[f64], row: usize) -> (&[f64; STRIP], &[f64; STRIP]) {
    let lines = features.as_chunks::<STRIP>().0;
    let at = row / GROUP * 2 * GROUP + row % GROUP;
    (&lines[at], &lines[at + GROUP])
}

dispatched! {
    /// The derivatives of the losses of the rows that miss the margin in the phases of a strip, a line for each:
    /// `(v_rival - v_label) cos - (u_rival - u_label) sin` for factors u of cosines and v of sines.
    pub(super) fn slopes(features: &[f64], weights: &[f64], misses: &[Miss], out: &mut [f64]) {
        let (weights, out) = (weights.as_chunks::<STRIP>().0, out.as_chunks_mut::<STRIP>().0);
        for (miss, out) in misses.iter().zip(out) {
            let (cosines, sines) = of_row(features, miss.row);
            let (up, down) = (&weights[2 * miss.rival..][..2], &weights[2 * miss.label..][..2]);
            for i in 0..STRIP {
                let (u, v) = (up[0][i] - down[0][i], up[1][i] - down[1][i]);
                out[i] = v.mul_add(cosines[i], -(u * sines[i]));
            }
        }
    }
}

dispatched! {
    /// The same for numbers, for all rows of a batch, whose `errors` are given row by row: the sum over numbers of `error
    /// (v cos - u sin)`.
    pub(super) fn slopes_of_errors(features: &[f64], weights: &[f64], errors: &[f64], out: &mut [f64]) {
        let (weights, out) = (weights.as_chunks::<STRIP>().0, out.as_chunks_mut::<STRIP>().0);
        for (row, (errors, out)) in errors.chunks_exact((weights.len() / 2).max(1)).zip(out).enumerate() {
            let (cosines, sines) = of_row(features, row);
            out.fill(0.0);
            for (error, factors) in errors.iter().zip(weights.as_chunks::<2>().0) {
                for i in 0..STRIP {
                    let slope = factors[1][i].mul_add(cosines[i], -(factors[0][i] * sines[i]));
                    out[i] = error.mul_add(slope, out[i]);
                }
            }
        }
    }
}

/// Rows that enter the gradient of each class or number, one after the other: position in the batch, and factor, which is
/// a sign for classes.
#[derive(Clone, Debug, Default)]
pub(super) struct Ballots {
    ends: Vec<usize>,
    ballots: Vec<(usize, f64)>,
}

impl Ballots {
    /// Sorts the misses by class, keeping their order within a class.
    pub(super) fn set(&mut self, misses: &[Miss], n_classes: usize) {
        self.ends.clear();
        self.ends.resize(n_classes, 0);
        for class in misses.iter().flat_map(|miss| [miss.rival, miss.label]) {
            self.ends[class] += 1;
        }
        let mut begin = 0;
        for end in &mut self.ends {
            (*end, begin) = (begin, begin + *end);
        }
        // Starts become ends as the slots are filled.
        self.ballots.resize(2 * misses.len(), (0, 0.0));
        for miss in misses {
            for (class, sign) in [(miss.rival, 1.0), (miss.label, -1.0)] {
                self.ballots[self.ends[class]] = (miss.row, sign);
                self.ends[class] += 1;
            }
        }
    }
}

impl Ballots {
    /// All rows for each number, with their errors, which are given row by row.
    pub(super) fn set_errors(&mut self, errors: &[f64], n_numbers: usize) {
        let n_rows = errors.len() / n_numbers.max(1);
        self.ends.clear();
        self.ends.extend((1..=n_numbers).map(|number| number * n_rows));
        self.ballots.clear();
        self.ballots
            .extend((0..n_numbers).flat_map(|number| (0..n_rows).map(move |b| (b, errors[b * n_numbers + number]))));
    }
}

dispatched! {
    /// The gradient of the losses in the weights of a strip: sums of features, class by class.
    pub(super) fn class_sums(features: &[f64], ballots: &Ballots, out: &mut [f64]) {
        let mut begin = 0;
        for (&end, out) in ballots.ends.iter().zip(out.as_chunks_mut::<FACTORS>().0) {
            let mut sums = [[0.0f64; STRIP]; 2];
            for &(row, sign) in &ballots.ballots[begin..end] {
                let (cosines, sines) = of_row(features, row);
                for i in 0..STRIP {
                    sums[0][i] = sign.mul_add(cosines[i], sums[0][i]);
                    sums[1][i] = sign.mul_add(sines[i], sums[1][i]);
                }
            }
            out.copy_from_slice(sums.as_flattened());
            begin = end;
        }
    }
}

dispatched! {
    /// Adds `sum_i noise_ji by_ji`, for some columns j and a strip of frequencies i, to the partial sums of the
    /// columns.
    pub(super) fn add_weighted(noise: &[f64], by: &[[f64; STRIP]], partial: &mut [f64]) {
        let (noise, partial) = (noise.as_chunks::<STRIP>().0, partial.as_chunks_mut::<VECTOR>().0);
        for ((noise, by), partial) in noise.iter().zip(by).zip(partial) {
            for v in 0..VECTORS {
                for l in 0..VECTOR {
                    partial[l] = noise[v * VECTOR + l].mul_add(by[v * VECTOR + l], partial[l]);
                }
            }
        }
    }
}
