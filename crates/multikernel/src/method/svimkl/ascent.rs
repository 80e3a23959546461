//! The published stochastic ascent: kernel weights redrawn for each step, with Adam step sizes (Kingma and Ba 2015) or
//! with the gradient itself as printed (`solver=plain`, Algorithm 1), on all rows or on mini-batches.

use super::objective::{Objective, RowBatch};
use super::settings::Settings;
use super::state::Fit;
use crate::error::{Error, Result};
use crate::run::Task;
use crate::simd::Real;

/// Decay rates of the means of gradients and of their squares, and the term that keeps quotients finite.
const FIRST: f64 = 0.9;
const SECOND: f64 = 0.999;
const SMALL: f64 = 1e-8;
/// Random streams of the batches and of the nodes of each step.
const BATCHES: u64 = 3 << 41;
const DRAWS: u64 = 4 << 41;

impl Objective<'_> {
    /// The rows of a step: the next ones in an order that is reshuffled once all were seen.
    pub(super) fn batch(&self, task: &Task<'_>, size: usize, taken: usize) -> Vec<usize> {
        let n = self.loss.n_rows();
        let steps = n.div_ceil(size);
        let mut order: Vec<usize> = (0..n).collect();
        task.rng(BATCHES + (taken / steps) as u64, 0).shuffle(&mut order);
        let first = (taken % steps) * size;
        let mut rows = order[first..(first + size).min(n)].to_vec();
        rows.sort_unstable();
        rows
    }

    /// Draws a level for each kernel and node of a step.
    pub(super) fn draw_places(&mut self, task: &Task<'_>, nodes: usize, taken: usize) {
        let mut rng = task.rng(DRAWS + taken as u64, 0);
        let levels = self.distribution.levels();
        self.places = (0..nodes * self.layout.n_kernels).map(|_| rng.below(levels)).collect();
    }

    /// One step.
    pub(super) fn ascend(&mut self, task: &Task<'_>, settings: &Settings, fit: &mut Fit) -> Result<()> {
        let taken = fit.losses.len() - 1;
        self.draw_places(task, settings.nodes, taken);
        let n = self.loss.n_rows();
        let size = if settings.batch == 0 { n } else { settings.batch.min(n) };
        let rows = self.batch(task, size, taken);
        let samples = self.layout.samples();
        let outputs = self.outputs(&fit.x[samples.clone()], &self.stack.between(&rows, &self.points)?)?;
        let at_points = if rows.len() == n {
            self.at_points(&outputs)
        } else {
            self.outputs(&fit.x[samples], &self.stack.view(&self.points)?)?.into()
        };
        let batch = RowBatch { rows: Some(&rows), factor: n as f64 / rows.len() as f64 };
        let value = self.value(&fit.x, batch, &outputs, &at_points);
        let mut gradient = value.gradient;
        if let Some(output_gradients) = &value.output_gradients {
            self.add_output_gradients(output_gradients, &self.stack.between(&self.points, &rows)?, &mut gradient)?;
        }
        if settings.plain {
            // Algorithm 1: the gradient itself, one step size for all parameters and steps.
            f64::add_scaled(-settings.rate, &gradient, &mut fit.x);
        } else {
            let rate = settings.rate * cooled(taken, settings.iterations);
            adam(fit, &gradient, rate, taken, settings.iterations);
        }
        if !fit.x.iter().all(|value| value.is_finite()) {
            let message =
                format!("the ascent left the range of numbers in step {}; lower it, or use solver=lbfgs", taken + 1);
            return Err(Error::param("rate", message));
        }
        fit.losses.push(value.loss);
        Ok(())
    }
}

/// 1 for the first half of the steps, then decreasing to 0.
fn cooled(taken: usize, all: usize) -> f64 {
    (2.0 * (1.0 - taken as f64 / all as f64)).clamp(0.0, 1.0)
}

fn adam(fit: &mut Fit, gradient: &[f64], rate: f64, taken: usize, all: usize) {
    let size = gradient.len();
    if fit.moments.is_empty() {
        fit.moments = vec![0.0; 3 * size];
    }
    let (count, x) = (taken as i32 + 1, &mut fit.x);
    let (first, rest) = fit.moments.split_at_mut(size);
    let (second, mean) = rest.split_at_mut(size);
    let (left, right) = (1.0 - FIRST.powi(count), 1.0 - SECOND.powi(count));
    // Iterates of the last quarter are averaged.
    let averaged = (taken + 1).saturating_sub(all - all / 4);
    for (k, &g) in gradient.iter().enumerate() {
        first[k] = FIRST * first[k] + (1.0 - FIRST) * g;
        second[k] = SECOND * second[k] + (1.0 - SECOND) * g * g;
        x[k] -= rate * (first[k] / left) / ((second[k] / right).sqrt() + SMALL);
        if averaged > 0 {
            mean[k] += (x[k] - mean[k]) / averaged as f64;
        }
    }
}
