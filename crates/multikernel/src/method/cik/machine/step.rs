//! One step of training.

use super::adam::{Step, average, descend};
use super::hinge::rival;
use super::strips::{
    Ballots, FACTORS, FEATURES, GROUP, Miss, PARTIAL, STRIP, across, add_scores, add_weighted, class_sums, slopes,
};
use super::{GROUPS, Learned, Machine, Rates, zeros};
use crate::error::Result;
use crate::linalg::Matrix;
use crate::simd::{Buffer, Lines, Tile, VECTOR, sums};

/// What a step works with; made once for many steps.
pub(super) struct Work {
    /// Rows of a batch, and as many more as fill the last group.
    padded: usize,
    /// Columns, and as many more as the last tile has.
    n_columns: usize,
    /// The rows of the batch, scaled: a line for each column.
    points: Buffer,
    /// Strip after strip, group after group.
    features: Buffer,
    partial: Buffer,
    scores: Buffer,
    misses: Vec<Miss>,
    ballots: Ballots,
    /// The rows of the misses, as they are.
    missed: Buffer,
    slopes: Buffer,
    /// Gradients of one strip, and of sigma in partial sums.
    gradient: Buffer,
    sigma: Buffer,
}

impl Work {
    /// For batches of `size` rows.
    pub(super) fn new(machine: &Machine, size: usize) -> Result<Work> {
        let (d, m) = (machine.n_features, machine.n_classes);
        let padded = size.next_multiple_of(GROUP);
        let n_columns = columns_of(d);
        Ok(Work {
            padded,
            n_columns,
            points: zeros(&[d, padded])?,
            features: zeros(&[machine.n_strips(), padded / GROUP, FEATURES])?,
            partial: zeros(&[GROUPS, m, PARTIAL])?,
            scores: zeros(&[padded, m])?,
            misses: Vec::with_capacity(size),
            ballots: Ballots::default(),
            missed: zeros(&[size, n_columns])?,
            slopes: zeros(&[size, STRIP])?,
            gradient: zeros(&[m, FACTORS])?,
            sigma: zeros(&[n_columns, VECTOR])?,
        })
    }

    /// One step on the rows of a batch.
    pub(super) fn step(
        &mut self,
        machine: &Machine,
        learned: &mut Learned,
        rows: &Matrix,
        codes: &[usize],
        batch: impl Iterator<Item = usize> + Clone,
        rates: &Rates,
    ) {
        for (b, row) in batch.clone().enumerate() {
            machine.put_point(&learned.sigma, rows.row(row), &mut self.points[b..], self.padded);
        }
        self.score(machine, learned);
        let size = self.find_misses(machine, rows, codes, batch);
        learned.n_steps += 1;
        learned.n_averaged += usize::from(!learned.average_sigma.is_empty());
        let scale = machine.scale() / size as f64;
        self.learn_weights(machine, learned, Step::new(learned.n_steps, rates.weights, scale, rates.lambda));
        self.learn_sigma(machine, learned, Step::new(learned.n_steps, rates.sigma, scale, 0.0));
    }

    /// Features and scores of the batch.
    fn score(&mut self, machine: &Machine, learned: &Learned) {
        let n_groups = self.padded / GROUP;
        for first in (0..n_groups).step_by(GROUPS) {
            let here = first..(first + GROUPS).min(n_groups);
            self.partial.fill(0.0);
            for s in 0..machine.n_strips() {
                let at = s * n_groups;
                let features = &mut self.features[(at + here.start) * FEATURES..(at + here.end) * FEATURES];
                machine.features(s, Lines::new(&self.points, self.padded).skip(0, first * GROUP), features);
                add_scores(features, machine.strip(&learned.weights, s), &mut self.partial);
            }
            let m = machine.n_classes * GROUP;
            machine.put_scores(&self.partial, &mut self.scores[here.start * m..here.end * m]);
        }
    }

    /// Finds and copies the rows that miss the margin; returns the rows of the batch.
    fn find_misses(
        &mut self,
        machine: &Machine,
        rows: &Matrix,
        codes: &[usize],
        batch: impl Iterator<Item = usize>,
    ) -> usize {
        self.misses.clear();
        let (mut size, m) = (0, machine.n_classes);
        for (b, row) in batch.enumerate() {
            size += 1;
            let label = codes[row];
            if let Some(rival) = rival(&self.scores[b * m..(b + 1) * m], label) {
                let at = self.misses.len() * self.n_columns;
                self.missed[at..at + machine.n_features].copy_from_slice(rows.row(row));
                self.misses.push(Miss { row: b, label, rival });
            }
        }
        self.ballots.set(&self.misses, m);
        size
    }

    /// The step of W, strip by strip, and the partial sums of the gradient of sigma, for which W must be what it was.
    fn learn_weights(&mut self, machine: &Machine, learned: &mut Learned, step: Step) {
        let (d, n_groups, factors) = (machine.n_features, self.padded / GROUP, machine.n_classes * FACTORS);
        self.sigma.fill(0.0);
        for s in 0..machine.n_strips() {
            let features = &self.features[s * n_groups * FEATURES..(s + 1) * n_groups * FEATURES];
            let here = s * factors..(s + 1) * factors;
            slopes(features, &learned.weights[here.clone()], &self.misses, &mut self.slopes);
            class_sums(features, &self.ballots, &mut self.gradient);
            self.add_sigma(&machine.noise[s * d * STRIP..], d);
            let frequencies = machine.n_frequencies - s * STRIP;
            if frequencies < STRIP {
                // Cosines of what fills up the strip are not zero.
                self.gradient.chunks_exact_mut(STRIP).for_each(|line| line[frequencies..].fill(0.0));
            }
            let weights = &mut learned.weights[here.clone()];
            let (means, squares) = (&mut learned.weight_means[here.clone()], &mut learned.weight_squares[here.clone()]);
            descend(step, &self.gradient, weights, means, squares);
            if learned.n_averaged > 0 {
                average(learned.n_averaged, weights, &mut learned.average_weights[here]);
            }
        }
    }

    /// The step of sigma.
    fn learn_sigma(&mut self, machine: &Machine, learned: &mut Learned, step: Step) {
        for j in 0..machine.n_features {
            self.sigma[j] = across(&self.sigma.as_chunks::<VECTOR>().0[j]);
        }
        let gradient = &self.sigma[..machine.n_features];
        descend(step, gradient, &mut learned.sigma, &mut learned.sigma_means, &mut learned.sigma_squares);
        if learned.n_averaged > 0 {
            average(learned.n_averaged, &learned.sigma, &mut learned.average_sigma);
        }
    }

    /// Adds what a strip of noise, a line for each of d columns, gives to the gradient of sigma:
    /// `sum_i noise_ji sum_n x_nj slope_ni`.
    fn add_sigma(&mut self, noise: &[f64], d: usize) {
        let mut tile: Tile = [[0.0; STRIP]; GROUP];
        for j in (0..d).step_by(GROUP) {
            let columns = (self.n_columns - j).min(GROUP);
            let (missed, slopes) = (Lines::new(&self.missed, self.n_columns), Lines::new(&self.slopes, STRIP));
            sums(missed.skip(0, j), columns, slopes, STRIP, self.misses.len(), &mut tile);
            let partial = &mut self.sigma[j * VECTOR..];
            add_weighted(&noise[j * STRIP..], &tile[..columns.min(d - j)], partial);
        }
    }
}

/// Columns of tiles of 8, and of one of 1, 2, 4 or 8 for the rest.
fn columns_of(n_features: usize) -> usize {
    let rest = n_features % GROUP;
    n_features - rest + if rest == 0 { 0 } else { rest.next_power_of_two() }
}
