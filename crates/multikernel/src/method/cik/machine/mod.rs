//! The kernel machine of one cluster: random Fourier features with learned scales, and a linear function on them.
//!
//! Frequencies are `omega_i = sigma (.) noise_i` with standard normal noise, D of them; features of a row x are `D^-1/2
//! [cos(omega_i'x), sin(omega_i'x)]`, and their inner products tend to the Gaussian kernel `exp(-1/2 sum_j sigma_j^2
//! (x_j - y_j)^2)`. Scores are `f = W features`, with a row of W for each class or number. Training minimises `lambda/2
//! |W|^2 +` the mean loss over W and sigma, by mini-batches: the Crammer-Singer hinge loss of classes, or half the squared
//! error of numbers.

mod adam;
mod hinge;
mod step;
mod strips;
#[cfg(test)]
mod tests;

pub(crate) use hinge::{ln_softmin, losses, softmin};
pub(crate) use step::Work;
use strips::{FACTORS, FEATURES, GROUP, PARTIAL, STRIP, add_scores, features, put_scores};

use crate::dist::{Rng, normal};
use crate::error::{Error, Result};
use crate::file::record;
use crate::linalg::Matrix;
use crate::simd::{Buffer, Lines};

/// Training settings of a machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rates {
    /// Weight of `|W|^2 / 2` relative to the mean loss.
    pub(crate) lambda: f64,
    /// Step size for W.
    pub(crate) weights: f64,
    /// Step size for sigma.
    pub(crate) sigma: f64,
    /// Rows per mini-batch.
    pub(crate) batch: usize,
    /// Plain gradient steps in place of Adam's.
    pub(crate) plain: bool,
}

impl Default for Rates {
    fn default() -> Self {
        Rates { lambda: 1e-4, weights: 1e-2, sigma: 1e-3, batch: 64, plain: false }
    }
}

/// What the scores of rows should be.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answers<'a> {
    /// The class of each row, which should have the largest score.
    Codes(&'a [usize]),
    /// The numbers of each row (rows x numbers), which should be the scores.
    Numbers(&'a Matrix),
}

/// Training data: `n_steps` mini-batches of `members`, which are rows, taken in this order and cyclically: the caller
/// shuffles them. A batch has no row twice unless `members` does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lesson<'a> {
    pub(crate) rows: &'a Matrix,
    pub(crate) answers: Answers<'a>,
    pub(crate) members: &'a [usize],
    pub(crate) n_steps: usize,
}

record! {
    /// A kernel machine: its frequencies, and its learned parameters.
    ///
    /// Frequencies are stored in strips of 24; the last is padded with zeros, whose weights stay zero.
    #[derive(Clone, Debug)]
    pub(crate) struct Machine {
        n_features: usize,
        n_frequencies: usize,
        n_classes: usize,
        /// Strip by strip, with one line of frequencies for each column.
        noise: Buffer,
        learned: Learned,
    }
}

record! {
    /// The state that changes in training.
    #[derive(Clone, Debug, Default)]
    struct Learned {
        sigma: Buffer,
        /// W: strip by strip, class by class, the factors of cosines, then those of sines.
        weights: Buffer,
        /// Running means of gradients and of their squares; zero for plain steps.
        sigma_means: Buffer,
        sigma_squares: Buffer,
        weight_means: Buffer,
        weight_squares: Buffer,
        n_steps: usize,
        /// Averages of sigma and W over the latest steps, and their count; empty unless requested.
        average_sigma: Buffer,
        average_weights: Buffer,
        n_averaged: usize,
    }
}

/// Groups of rows whose scores are summed at a time: with ten classes their data still leave half of the L1 cache to
/// the features being computed.
const GROUPS: usize = 2;
/// Steps below which a machine from elsewhere counts on.
const MAX_STEPS: f64 = (1u64 << 48) as f64;

impl Machine {
    /// An untrained machine: W = 0, sigma = d^-1/2, fresh noise.
    ///
    /// # Errors
    /// Out of memory.
    pub(crate) fn new(n_features: usize, n_frequencies: usize, n_classes: usize, rng: &mut Rng) -> Result<Machine> {
        let n_strips = n_frequencies.div_ceil(STRIP);
        let mut noise = zeros(&[n_strips, n_features, STRIP])?;
        for i in 0..n_frequencies {
            for j in 0..n_features {
                noise[(i / STRIP * n_features + j) * STRIP + i % STRIP] = normal(rng);
            }
        }
        let weights = zeros(&[n_strips, n_classes, FACTORS])?;
        let mut sigma = zeros(&[n_features])?;
        sigma.fill(1.0 / (n_features as f64).sqrt());
        let learned = Learned {
            sigma_means: zeros(&[n_features])?,
            sigma_squares: zeros(&[n_features])?,
            weight_means: weights.clone(),
            weight_squares: weights.clone(),
            sigma,
            weights,
            ..Learned::default()
        };
        Ok(Machine { n_features, n_frequencies, n_classes, noise, learned })
    }

    /// Bytes of a machine in training, with its averages.
    pub(crate) fn bytes(n_features: usize, n_frequencies: usize, n_classes: usize) -> u64 {
        let [d, frequencies, m] = [n_features, n_frequencies.div_ceil(STRIP) * STRIP, n_classes].map(|n| n as u64);
        // Noise; weights, means, squares and averages of a cosine and a sine for each class; the same for sigma.
        let of_frequency = d.saturating_add(m.saturating_mul(4 * 2));
        of_frequency.saturating_mul(frequencies).saturating_add(d.saturating_mul(4)).saturating_mul(8)
    }

    /// Checks a machine read from a file: it must fit this many columns and classes.
    pub(crate) fn check(&self, n_features: usize, n_classes: usize) -> Result<()> {
        let learned = &self.learned;
        let n_strips = self.n_frequencies.div_ceil(STRIP);
        let is = |buffers: &[&Buffer], sizes: [usize; 3]| {
            let size = sizes.iter().try_fold(1usize, |size, n| size.checked_mul(*n));
            buffers.iter().all(|buffer| Some(buffer.len()) == size)
        };
        let averages = learned.n_averaged > 0 || !learned.average_sigma.is_empty();
        let is_settled = learned.weight_means.is_empty();
        let in_training = |buffers: [&Buffer; 2], sizes| {
            if is_settled { buffers.iter().all(|buffer| buffer.is_empty()) } else { is(&buffers, sizes) }
        };
        let fits = (self.n_features, self.n_classes) == (n_features, n_classes)
            && self.n_frequencies > 0
            && is(&[&self.noise], [n_strips, n_features, STRIP])
            && is(&[&learned.sigma], [n_features, 1, 1])
            && is(&[&learned.weights], [n_strips, n_classes, FACTORS])
            && in_training([&learned.sigma_means, &learned.sigma_squares], [n_features, 1, 1])
            && in_training([&learned.weight_means, &learned.weight_squares], [n_strips, n_classes, FACTORS])
            && is(&[&learned.average_sigma], [if averages { n_features } else { 0 }, 1, 1])
            && is(&[&learned.average_weights], [if averages { n_strips } else { 0 }, n_classes, FACTORS]);
        if fits { Ok(()) } else { Err(Error::input("the arrays of a kernel machine do not fit together")) }
    }

    /// Runs the steps of a lesson.
    ///
    /// Cost: some `D (4 d + 4 M)` operations and a sine and a cosine for each row of a batch and frequency; rows that
    /// keep the margin cost half of that (none of numbers do). A step is bit-identical everywhere, whatever `work` was used for before.
    ///
    /// # Errors
    /// Stopped, after some of the steps; or out of memory, before the first.
    pub(crate) fn train(
        &mut self,
        lesson: &Lesson<'_>,
        rates: &Rates,
        work: &mut Work,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<()> {
        let size = rates.batch.max(1).min(lesson.members.len());
        work.fit(self, size)?;
        let mut next = lesson.members.iter().copied().cycle();
        for _ in 0..if size == 0 { 0 } else { lesson.n_steps } {
            if stop() {
                return Err(Error::Stopped("stopped while a kernel machine was trained".into()));
            }
            work.batch.clear();
            work.batch.extend(next.by_ref().take(size));
            work.step(self, lesson.rows, lesson.answers, rates);
        }
        Ok(())
    }

    /// All that training changes: sigma, W, the running means of their gradients and squares, and the number of steps.
    pub(crate) fn state(&self) -> impl Iterator<Item = f64> {
        let learned = &self.learned;
        let buffers = [
            &learned.sigma,
            &learned.weights,
            &learned.sigma_means,
            &learned.sigma_squares,
            &learned.weight_means,
            &learned.weight_squares,
        ];
        buffers.into_iter().flat_map(|buffer| buffer.iter().copied()).chain([learned.n_steps as f64])
    }

    /// Replaces [`Machine::state`]; returns whether there were as many values.
    pub(crate) fn set_state(&mut self, mut values: impl Iterator<Item = f64>) -> bool {
        let learned = &mut self.learned;
        let buffers = [
            &mut learned.sigma,
            &mut learned.weights,
            &mut learned.sigma_means,
            &mut learned.sigma_squares,
            &mut learned.weight_means,
            &mut learned.weight_squares,
        ];
        for place in buffers.into_iter().flat_map(|buffer| buffer.iter_mut()) {
            let Some(value) = values.next() else { return false };
            *place = value;
        }
        let Some(n_steps) = values.next().filter(|n_steps| (0.0..MAX_STEPS).contains(n_steps)) else { return false };
        learned.n_steps = n_steps.round() as usize;
        values.next().is_none()
    }

    /// Starts averaging sigma and W over the steps from here on.
    pub(crate) fn begin_average(&mut self) {
        let learned = &mut self.learned;
        (learned.average_sigma, learned.average_weights) = (learned.sigma.clone(), learned.weights.clone());
        learned.n_averaged = 0;
    }

    /// Number of columns.
    pub(crate) fn n_features(&self) -> usize {
        self.n_features
    }

    /// Number of frequencies.
    pub(crate) fn n_frequencies(&self) -> usize {
        self.n_frequencies
    }

    /// Whether it can be trained further.
    pub(crate) fn is_in_training(&self) -> bool {
        !self.learned.weight_means.is_empty()
    }

    /// Whether all learned parameters are finite.
    pub(crate) fn is_finite(&self) -> bool {
        self.learned.sigma.iter().chain(self.learned.weights.iter()).all(|value| value.is_finite())
    }

    /// Ends training: averages replace sigma and W, and training-only state is dropped.
    pub(crate) fn settle(&mut self) {
        self.take_average();
        let learned = &mut self.learned;
        for room in [
            &mut learned.sigma_means,
            &mut learned.sigma_squares,
            &mut learned.weight_means,
            &mut learned.weight_squares,
        ] {
            *room = Buffer::default();
        }
    }

    /// Replaces sigma and W by their averages, and ends averaging; does nothing if it was not started.
    pub(crate) fn take_average(&mut self) {
        let learned = &mut self.learned;
        let averages = (std::mem::take(&mut learned.average_sigma), std::mem::take(&mut learned.average_weights));
        if std::mem::take(&mut learned.n_averaged) > 0 {
            (learned.sigma, learned.weights) = averages;
        }
    }

    /// The scores of the rows `which`, one for each class, row by row.
    ///
    /// Scores of a row are bit-identical in any block. Cost: `D (2 d + 4 M)` operations and a sine and a cosine for
    /// each row and frequency; a call allocates some small buffers, so blocks of some hundred rows are best.
    ///
    /// # Panics
    /// If `out` is too short.
    pub(crate) fn scores(&self, rows: &Matrix, which: &[usize], out: &mut [f64]) -> Result<()> {
        self.score(which.len(), |i| rows.row(which[i]), out)
    }

    fn score<'a>(&self, n: usize, row: impl Fn(usize) -> &'a [f64], out: &mut [f64]) -> Result<()> {
        const ROWS: usize = GROUPS * GROUP;
        let mut points = zeros(&[self.n_features, ROWS])?;
        let mut partial = zeros(&[GROUPS, self.n_classes, PARTIAL])?;
        let mut features = zeros(&[GROUPS, FEATURES])?;
        for first in (0..n).step_by(ROWS) {
            let taken = ROWS.min(n - first);
            (0..taken).for_each(|b| self.put_point(row(first + b), &mut points[b..], ROWS));
            let n_groups = taken.div_ceil(GROUP);
            partial.fill(0.0);
            for s in 0..self.n_strips() {
                let features = &mut features[..n_groups * FEATURES];
                self.features(s, Lines::new(&points, ROWS), features);
                add_scores(features, self.strip(s), &mut partial);
            }
            let out = &mut out[first * self.n_classes..(first + taken) * self.n_classes];
            self.put_scores(&partial, out);
        }
        Ok(())
    }

    /// The relevance of each column: `|sigma_j|`, the inverse width of the kernel along it.
    pub(crate) fn relevance(&self) -> Vec<f64> {
        self.learned.sigma.iter().map(|sigma| sigma.abs()).collect()
    }

    fn n_strips(&self) -> usize {
        self.n_frequencies.div_ceil(STRIP)
    }

    /// Writes a row, scaled, into a column of the points.
    fn put_point(&self, row: &[f64], points: &mut [f64], stride: usize) {
        for (j, (x, sigma)) in row.iter().zip(self.learned.sigma.iter()).enumerate() {
            points[j * stride] = x * sigma;
        }
    }

    /// The features of groups of points for a strip.
    fn features(&self, strip: usize, points: Lines<'_>, out: &mut [f64]) {
        let noise = &self.noise[strip * self.n_features * STRIP..];
        for (g, out) in out.chunks_exact_mut(FEATURES).enumerate() {
            features(points.skip(0, g * GROUP), noise, self.n_features, out);
        }
    }

    /// The weights of a strip.
    fn strip(&self, strip: usize) -> &[f64] {
        let size = self.n_classes * FACTORS;
        &self.learned.weights[strip * size..(strip + 1) * size]
    }

    /// Reduces partial sums to scores, row by row.
    fn put_scores(&self, partial: &[f64], out: &mut [f64]) {
        let groups = partial.chunks_exact((self.n_classes * PARTIAL).max(1));
        for (partial, out) in groups.zip(out.chunks_mut((self.n_classes * GROUP).max(1))) {
            put_scores(self.scale(), partial, self.n_classes, out);
        }
    }

    /// D^-1/2.
    fn scale(&self) -> f64 {
        1.0 / (self.n_frequencies as f64).sqrt()
    }
}

/// A buffer of zeros whose length is the product of the sizes.
fn zeros(sizes: &[usize]) -> Result<Buffer> {
    let mut buffer = Buffer::default();
    fit(&mut buffer, sizes)?;
    Ok(buffer)
}

/// Resizes a buffer to the product of the sizes; its contents are unspecified.
fn fit(buffer: &mut Buffer, sizes: &[usize]) -> Result<()> {
    let size = sizes.iter().try_fold(1usize, |size, n| size.checked_mul(*n));
    size.and_then(|size| buffer.try_set_len(size)).ok_or_else(|| {
        Error::input(format!(
            "no memory for a kernel machine with an array of {sizes:?} numbers; use fewer frequencies"
        ))
    })
}
