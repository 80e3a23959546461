//! `simplemkl`: descent on the simplex.

use super::{Descend, Objective, PARAMS, Point, descending, simplex_gap};
use crate::error::Result;
use crate::file::{Codec, Field, Record};
use crate::linalg::dot;
use crate::record;
use crate::run::Params;
use crate::solve::quasi::{Hessian, MEMORY};
use crate::solve::simplex;

/// Sparse kernel weights: the SVM's objective minimised over the simplex (Rakotomamonjy et al. 2008), by projected
/// quasi-Newton steps with a line search. Most weights of a large bank become exactly 0. The published reduced gradient takes
/// one kernel out at a step and knows no curvature; a projection takes out many, and the curvature is learned from the last
/// points (Schmidt et al. 2009), so that far fewer SVMs are solved.
///
/// Cost: each step is two passes over the stack and a few SVMs, each started from the last; 10 to 100 steps. More than two
/// classes share one set of weights, one-vs-one or one-vs-rest.
#[derive(Clone, Copy, Debug, Default)]
pub struct SimpleMkl;

descending!(
    SimpleMkl,
    Newton,
    "simplemkl",
    "sparse kernel weights that minimise the SVM's objective, by projected quasi-Newton steps",
    PARAMS
);

record! {
    /// The last steps and what they did to the gradient, oldest first, and the point before the best.
    #[derive(Clone, Debug, Default)]
    pub struct Newton {
        weights: Vec<f64>,
        slopes: Vec<f64>,
        steps: Vec<f64>,
        changes: Vec<f64>,
    }
}

impl Field for Newton {
    fn put(&self, name: &str, record: &mut Record) {
        record.put_record(name, self.encode());
    }

    fn take(name: &str, record: &Record) -> Result<Self> {
        Newton::decode(&record.take_record(name))
    }
}

impl Descend for Newton {
    const FROM_ANY_WEIGHTS: bool = true;

    fn start(_: &Params) -> Self {
        Newton::default()
    }

    fn gap(&self, best: &Point) -> f64 {
        simplex_gap(best)
    }

    fn next(&mut self, objective: &Objective<'_>, best: &Point) -> Result<Option<Point>> {
        if self.weights.is_empty() {
            (self.weights, self.slopes) = (best.weights.clone(), best.slopes.clone());
        } else {
            self.remember(best);
        }
        let target = self.target(best);
        let direction: Vec<f64> = target.iter().zip(&best.weights).map(|(t, d)| t - d).collect();
        let slope = -0.5 * dot(&direction, &best.slopes);
        if slope >= 0.0 {
            return Ok(None);
        }
        let grams = objective.combine(&[&best.weights, &direction])?;
        let (mut part, mut sum) = (1.0, grams[0].clone());
        for _ in 0..TRIES {
            let weights: Vec<f64> = if part == 1.0 {
                target.clone()
            } else {
                best.weights.iter().zip(&direction).map(|(d, step)| d + part * step).collect()
            };
            sum.data_mut()
                .iter_mut()
                .zip(grams[0].data())
                .zip(grams[1].data())
                .for_each(|((s, a), b)| *s = a + part * b);
            let point = objective.solve(weights, &sum, &best.alpha)?;
            if point.objective <= best.objective + KEPT * part * slope {
                return objective.with_slopes(point).map(Some);
            }
            // Where the line through both derivatives is 0, kept inside the interval.
            let there = -0.5 * objective.slope(&point, &grams[1])?;
            let zero = part * slope / (slope - there);
            part = if zero.is_finite() { zero.clamp(0.1 * part, 0.5 * part) } else { 0.5 * part };
        }
        Ok(None)
    }
}

/// Part of the decrease promised by the slope that a step must keep.
const KEPT: f64 = 1e-4;
/// Most SVMs along one direction.
const TRIES: usize = 20;

impl Newton {
    /// Takes in the step from the last point to this one.
    fn remember(&mut self, best: &Point) {
        let step: Vec<f64> = best.weights.iter().zip(&self.weights).map(|(a, b)| a - b).collect();
        let change: Vec<f64> = best.slopes.iter().zip(&self.slopes).map(|(a, b)| -0.5 * (a - b)).collect();
        // A pair without curvature is no news, and would make the model indefinite.
        if dot(&step, &change) > 1e-10 * (dot(&step, &step) * dot(&change, &change)).sqrt() {
            self.steps.extend(step);
            self.changes.extend(change);
            let surplus = self.steps.len().saturating_sub(MEMORY * best.weights.len());
            self.steps.drain(..surplus);
            self.changes.drain(..surplus);
        }
        (self.weights, self.slopes) = (best.weights.clone(), best.slopes.clone());
    }

    /// Where the model of the objective is lowest; at first, and where there is no model, one projected gradient step.
    fn target(&self, best: &Point) -> Vec<f64> {
        let p = best.weights.len();
        let steps: Vec<&[f64]> = self.steps.chunks_exact(p).collect();
        let changes: Vec<&[f64]> = self.changes.chunks_exact(p).collect();
        let gradient: Vec<f64> = best.slopes.iter().map(|s| -0.5 * s).collect();
        if let Some(hessian) = Hessian::new(&steps, &changes) {
            return hessian.lowest_on_simplex(&best.weights, &gradient);
        }
        // So far that the largest difference of slopes moves a weight by one.
        let largest = best.slopes.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let spread = largest - best.slopes.iter().copied().fold(f64::INFINITY, f64::min);
        let length = 2.0 / spread.max(f64::MIN_POSITIVE);
        let ahead: Vec<f64> = best.weights.iter().zip(&gradient).map(|(d, g)| d - length * g).collect();
        simplex::project(&ahead)
    }
}
