//! One training step.

use super::adam::{Step, average, descend, descend_plainly};
use super::hinge::rival;
use super::strips::{
    Ballots, FACTORS, FEATURES, GROUP, Miss, PARTIAL, STRIP, across, add_scores, add_weighted, class_sums, slopes,
    slopes_of_errors,
};
use super::{Answers, GROUPS, Learned, Machine, Rates, fit};
use crate::error::Result;
use crate::linalg::Matrix;
use crate::simd::{Buffer, Lines, Tile, VECTOR, sums};

/// Workspace for steps, kept from one machine to the next, because allocating it takes as long as a step.
#[derive(Default)]
pub(crate) struct Work {
    /// Rows of a batch, padded to whole groups.
    padded: usize,
    /// Columns, padded to the last tile.
    n_columns: usize,
    /// The rows of the batch.
    pub(super) batch: Vec<usize>,
    /// The same, scaled: one line per column.
    points: Buffer,
    /// Strip by strip, group by group.
    features: Buffer,
    partial: Buffer,
    scores: Buffer,
    misses: Vec<Miss>,
    /// Numbers: score less number, row by row.
    errors: Vec<f64>,
    /// Rows that have a gradient.
    n_missed: usize,
    ballots: Ballots,
    /// The rows that have a gradient, unscaled.
    missed: Buffer,
    slopes: Buffer,
    /// Gradients for one strip, and those of sigma in partial sums.
    gradient: Buffer,
    sigma: Buffer,
}

impl Work {
    /// Bytes for batches of `size` rows, counting only the features, which dominate.
    pub(crate) fn bytes(n_frequencies: usize, size: usize) -> u64 {
        let groups = n_frequencies.div_ceil(STRIP) as u64 * size.div_ceil(GROUP) as u64;
        groups.saturating_mul(8 * FEATURES as u64)
    }

    /// Makes room for batches of `size` rows. Data left by another machine are overwritten before they are read, except
    /// for the points that pad the last group, which must be ordinary numbers.
    pub(super) fn fit(&mut self, machine: &Machine, size: usize) -> Result<()> {
        let (d, m) = (machine.n_features, machine.n_classes);
        self.padded = size.next_multiple_of(GROUP);
        self.n_columns = columns_of(d);
        fit(&mut self.points, &[d, self.padded])?;
        self.points.fill(0.0);
        fit(&mut self.features, &[machine.n_strips(), self.padded / GROUP, FEATURES])?;
        fit(&mut self.partial, &[GROUPS, m, PARTIAL])?;
        fit(&mut self.scores, &[self.padded, m])?;
        fit(&mut self.missed, &[size, self.n_columns])?;
        fit(&mut self.slopes, &[size, STRIP])?;
        fit(&mut self.gradient, &[m, FACTORS])?;
        fit(&mut self.sigma, &[self.n_columns, VECTOR])
    }

    /// One step on the rows of the batch.
    pub(super) fn step(&mut self, machine: &mut Machine, rows: &Matrix, answers: Answers<'_>, rates: &Rates) {
        for (b, &row) in self.batch.iter().enumerate() {
            machine.put_point(rows.row(row), &mut self.points[b..], self.padded);
        }
        self.score(machine);
        self.errors.clear();
        match answers {
            Answers::Codes(codes) => self.find_misses(machine, rows, codes),
            Answers::Numbers(numbers) => self.find_errors(machine, rows, numbers),
        }
        let learned = &mut machine.learned;
        learned.n_steps += 1;
        learned.n_averaged += usize::from(!learned.average_sigma.is_empty());
        let (number, scale) = (learned.n_steps, machine.scale() / self.batch.len() as f64);
        let step = |rate: f64, decay: f64| {
            if rates.plain { Step::plain(rate, scale, decay) } else { Step::new(number, rate, scale, decay) }
        };
        self.learn_weights(machine, step(rates.weights, rates.lambda));
        self.learn_sigma(&mut machine.learned, step(rates.sigma, 0.0));
    }

    /// Features and scores of the batch.
    fn score(&mut self, machine: &Machine) {
        let n_groups = self.padded / GROUP;
        for first in (0..n_groups).step_by(GROUPS) {
            let here = first..(first + GROUPS).min(n_groups);
            self.partial.fill(0.0);
            for s in 0..machine.n_strips() {
                let at = s * n_groups;
                let features = &mut self.features[(at + here.start) * FEATURES..(at + here.end) * FEATURES];
                machine.features(s, Lines::new(&self.points, self.padded).skip(0, first * GROUP), features);
                add_scores(features, machine.strip(s), &mut self.partial);
            }
            let m = machine.n_classes * GROUP;
            machine.put_scores(&self.partial, &mut self.scores[here.start * m..here.end * m]);
        }
    }

    /// Finds and copies the rows that miss the margin.
    fn find_misses(&mut self, machine: &Machine, rows: &Matrix, codes: &[usize]) {
        self.misses.clear();
        let m = machine.n_classes;
        for (b, &row) in self.batch.iter().enumerate() {
            let label = codes[row];
            if let Some(rival) = rival(&self.scores[b * m..(b + 1) * m], label) {
                let at = self.misses.len() * self.n_columns;
                self.missed[at..at + machine.n_features].copy_from_slice(rows.row(row));
                self.misses.push(Miss { row: b, label, rival });
            }
        }
        self.n_missed = self.misses.len();
        self.ballots.set(&self.misses, m);
    }

    /// The derivatives of half the squared errors in the scores: every row has some.
    fn find_errors(&mut self, machine: &Machine, rows: &Matrix, numbers: &Matrix) {
        let m = machine.n_classes;
        for (b, &row) in self.batch.iter().enumerate() {
            self.missed[b * self.n_columns..][..machine.n_features].copy_from_slice(rows.row(row));
            let scores = &self.scores[b * m..(b + 1) * m];
            self.errors.extend(scores.iter().zip(numbers.row(row)).map(|(score, number)| score - number));
        }
        self.n_missed = self.batch.len();
        self.ballots.set_errors(&self.errors, m);
    }

    /// The step of W, strip by strip, and the partial sums of the gradient of sigma, which needs W before the step.
    fn learn_weights(&mut self, machine: &mut Machine, step: Step) {
        let (n_strips, n_frequencies) = (machine.n_strips(), machine.n_frequencies);
        let (d, n_groups, factors) = (machine.n_features, self.padded / GROUP, machine.n_classes * FACTORS);
        let learned = &mut machine.learned;
        self.sigma.fill(0.0);
        for s in 0..n_strips {
            let features = &self.features[s * n_groups * FEATURES..(s + 1) * n_groups * FEATURES];
            let here = s * factors..(s + 1) * factors;
            let weights = &learned.weights[here.clone()];
            if self.errors.is_empty() {
                slopes(features, weights, &self.misses, &mut self.slopes);
            } else {
                slopes_of_errors(features, weights, &self.errors, &mut self.slopes);
            }
            class_sums(features, &self.ballots, &mut self.gradient);
            self.add_sigma(&machine.noise[s * d * STRIP..], d);
            let frequencies = n_frequencies - s * STRIP;
            if frequencies < STRIP {
                // Cosines of the padding are not zero.
                self.gradient.chunks_exact_mut(STRIP).for_each(|line| line[frequencies..].fill(0.0));
            }
            let weights = &mut learned.weights[here.clone()];
            let (means, squares) = (&mut learned.weight_means[here.clone()], &mut learned.weight_squares[here.clone()]);
            if step.is_plain {
                descend_plainly(step, &self.gradient, weights);
            } else {
                descend(step, &self.gradient, weights, means, squares);
            }
            if learned.n_averaged > 0 {
                average(learned.n_averaged, weights, &mut learned.average_weights[here]);
            }
        }
    }

    /// The step of sigma.
    fn learn_sigma(&mut self, learned: &mut Learned, step: Step) {
        let d = learned.sigma.len();
        for j in 0..d {
            self.sigma[j] = across(&self.sigma.as_chunks::<VECTOR>().0[j]);
        }
        let gradient = &self.sigma[..d];
        if step.is_plain {
            descend_plainly(step, gradient, &mut learned.sigma);
        } else {
            descend(step, gradient, &mut learned.sigma, &mut learned.sigma_means, &mut learned.sigma_squares);
        }
        if learned.n_averaged > 0 {
            average(learned.n_averaged, &learned.sigma, &mut learned.average_sigma);
        }
    }

    /// Adds a strip of noise's contribution to the gradient of sigma, one line for each of d columns: `sum_i noise_ji
    /// sum_n x_nj slope_ni`.
    fn add_sigma(&mut self, noise: &[f64], d: usize) {
        let mut tile: Tile = [[0.0; STRIP]; GROUP];
        for j in (0..d).step_by(GROUP) {
            let columns = (self.n_columns - j).min(GROUP);
            let (missed, slopes) = (Lines::new(&self.missed, self.n_columns), Lines::new(&self.slopes, STRIP));
            sums(missed.skip(0, j), columns, slopes, STRIP, self.n_missed, &mut tile);
            let partial = &mut self.sigma[j * VECTOR..];
            add_weighted(&noise[j * STRIP..], &tile[..columns.min(d - j)], partial);
        }
    }
}

/// Columns in tiles of 8, and one of 1, 2, 4 or 8 for the rest.
fn columns_of(n_features: usize) -> usize {
    let rest = n_features % GROUP;
    n_features - rest + if rest == 0 { 0 } else { rest.next_power_of_two() }
}
