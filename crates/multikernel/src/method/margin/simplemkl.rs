//! `simplemkl`: descent on the simplex.

use super::{
    Descend, Descends, Descent, DescentParams, Objective, Point, TARGETS, descent_params, relative, simplex_gap,
    simplex_params,
};
use crate::data::TargetKind;
use crate::error::Result;
use crate::file::record;
use crate::kernel::DEFAULT_BANK;
use crate::linalg::dot;
use crate::method::problems::{Cost, Loss};
use crate::method::svc::{EndsInSvc, svc_params};
use crate::run::{About, Allowed, Method, Needs};
use crate::solve::quasi::{Hessian, MEMORY};
use crate::solve::simplex;

simplex_params! {
    /// Sparse kernel weights: the SVM's objective minimised over the simplex (Rakotomamonjy et al. 2008), by projected
    /// quasi-Newton steps with a line search. Most weights of a large bank become exactly 0. The published reduced
    /// gradient removes one kernel per step and uses no curvature; a projection removes many, and the curvature is
    /// estimated from the last points (Schmidt et al. 2009), so that far fewer SVMs are solved.
    ///
    /// Cost: 10 to 100 steps, each a few warm-started SVMs and two passes over the active kernels: all of a small bank;
    /// for a large one those with a weight and the most promising ones, until they are optimal and all are checked
    /// again. More than two classes share one set of weights, one-vs-one or one-vs-rest.
    pub struct SimpleMkl;
}

impl Method for SimpleMkl {
    type State = Descent<Newton>;

    fn about(&self) -> About {
        let summary = "sparse kernel weights that minimise the SVM's objective, by projected quasi-Newton steps";
        About { name: "simplemkl", summary, needs: Needs::Stack, bank: DEFAULT_BANK }
    }

    fn targets(&self) -> &'static [TargetKind] {
        TARGETS
    }

    fn tuned_targets(&self) -> &'static [TargetKind] {
        TARGETS
    }

    fn tunes_by_log_loss(&self) -> bool {
        true
    }
}

impl Descends for SimpleMkl {
    type Solver = Newton;

    fn descent(&self) -> DescentParams {
        let cost = Cost { loss: self.loss, epsilon: self.epsilon };
        DescentParams { svc: self.svc(), sparsity: self.sparsity, cost, gap: self.gap, iterations: self.iterations }
    }

    fn solver(&self) -> Newton {
        let [weights, slopes, steps, changes] = [const { vec![] }; 4];
        let (known, wanted) = (f64::INFINITY, self.gap);
        Newton { weights, slopes, steps, changes, active: vec![], whole: true, known, wanted }
    }
}

record! {
    /// The last steps and gradient changes, oldest first, and the point before the best.
    #[derive(Clone, Debug)]
    pub struct Newton {
        weights: Vec<f64>,
        slopes: Vec<f64>,
        steps: Vec<f64>,
        changes: Vec<f64>,
        /// The active kernels; the others have zero weight, and slopes from an earlier point.
        active: Vec<usize>,
        /// Whether the slopes at the best point are up to date for all kernels.
        whole: bool,
        /// The gap when they last were.
        known: f64,
        /// The requested gap.
        wanted: f64,
    }
}

/// Active kernels besides those with a weight. Banks up to twice this size are always fully active.
const PROMISING: usize = 64;

impl Descend for Newton {
    const FROM_ANY_WEIGHTS: bool = true;

    fn see(&mut self, point: &Point) {
        if self.whole {
            self.known = simplex_gap(point);
        }
    }

    fn gap(&self, _: &Point) -> f64 {
        self.known
    }

    fn next(&mut self, objective: &Objective<'_>, best: &Point) -> Result<Option<Point>> {
        // Done if the remaining gap is small compared with the requested one, or with the SVMs' own error.
        let enough = (0.5 * self.wanted).max(2.0 * relative(0.0, best));
        if !self.whole && self.gap_at_work(best) <= enough {
            self.whole = true;
            return objective.with_all_slopes(best.clone()).map(Some);
        }
        self.choose(best);
        self.remember(best);
        let found = self.search(objective, best)?;
        self.whole = self.active.len() == best.weights.len();
        Ok(found)
    }
}

/// Fraction of the decrease predicted by the slope that a step must achieve.
const ARMIJO: f64 = 1e-4;
/// Maximum number of SVMs along one direction.
const TRIES: usize = 20;

impl Newton {
    /// The gap restricted to the active kernels.
    fn gap_at_work(&self, best: &Point) -> f64 {
        let (weights, slopes) = (self.at_work(&best.weights), self.at_work(&best.slopes));
        let Point { objective, excess, .. } = *best;
        simplex_gap(&Point { weights, slopes, objective, excess, ..Point::default() })
    }

    /// Activates the most promising kernels if all slopes are known.
    fn choose(&mut self, best: &Point) {
        if !self.whole {
            return;
        }
        let p = best.weights.len();
        let mut order: Vec<usize> = (0..p).collect();
        order.sort_by(|&a, &b| best.slopes[b].total_cmp(&best.slopes[a]));
        let promising = if p > 2 * PROMISING { PROMISING } else { p };
        let mut active: Vec<usize> =
            order[..promising].iter().copied().chain((0..p).filter(|&m| best.weights[m] > 0.0)).collect();
        active.sort_unstable();
        active.dedup();
        // At the start all have a weight; after the first step of a large bank, few do.
        if active != self.active {
            self.active = active;
            (self.steps, self.changes, self.weights) = (vec![], vec![], vec![]);
        }
    }

    /// Records the step from the last point to this one.
    fn remember(&mut self, best: &Point) {
        if !self.weights.is_empty() {
            let step: Vec<f64> = best.weights.iter().zip(&self.weights).map(|(a, b)| a - b).collect();
            let change: Vec<f64> = best.slopes.iter().zip(&self.slopes).map(|(a, b)| -0.5 * (a - b)).collect();
            // A pair without curvature carries no information, and would make the model indefinite.
            if dot(&step, &change) > 1e-10 * (dot(&step, &step) * dot(&change, &change)).sqrt() {
                self.steps.extend(step);
                self.changes.extend(change);
                let surplus = self.steps.len().saturating_sub(MEMORY * best.weights.len());
                self.steps.drain(..surplus);
                self.changes.drain(..surplus);
            }
        }
        (self.weights, self.slopes) = (best.weights.clone(), best.slopes.clone());
    }

    /// Restricts per-kernel values to the active kernels.
    fn at_work(&self, values: &[f64]) -> Vec<f64> {
        self.active.iter().map(|&m| values[m]).collect()
    }

    /// The minimum of the model of the objective; initially, and without a model, one projected gradient step.
    fn target(&self, best: &Point) -> Vec<f64> {
        let pairs = |flat: &[f64]| -> Vec<Vec<f64>> {
            flat.chunks_exact(best.weights.len()).map(|pair| self.at_work(pair)).collect()
        };
        let (steps, changes) = (pairs(&self.steps), pairs(&self.changes));
        let [steps, changes] = [&steps, &changes].map(|pairs| pairs.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let (weights, slopes) = (self.at_work(&best.weights), self.at_work(&best.slopes));
        let gradient: Vec<f64> = slopes.iter().map(|slope| -0.5 * slope).collect();
        let found = match Hessian::new(&steps, &changes) {
            Some(hessian) => hessian.lowest_on_simplex(&weights, &gradient),
            None => {
                // Scaled so that the largest difference of slopes moves a weight by one.
                let largest = slopes.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let spread = largest - slopes.iter().copied().fold(f64::INFINITY, f64::min);
                let length = 2.0 / spread.max(f64::MIN_POSITIVE);
                simplex::project(&weights.iter().zip(&gradient).map(|(d, g)| d - length * g).collect::<Vec<_>>())
            }
        };
        let mut target = vec![0.0; best.weights.len()];
        self.active.iter().zip(found).for_each(|(&m, weight)| target[m] = weight);
        target
    }

    /// The first point towards the target with sufficient decrease.
    fn search(&self, objective: &Objective<'_>, best: &Point) -> Result<Option<Point>> {
        let target = self.target(best);
        let direction: Vec<f64> = target.iter().zip(&best.weights).map(|(t, d)| t - d).collect();
        let slope = -0.5 * dot(&direction, &best.slopes);
        if slope >= 0.0 {
            return Ok(None);
        }
        let (here, along) = objective.combine(&best.weights, &[&direction])?;
        let (mut part, mut sum) = (1.0, here.clone());
        for _ in 0..TRIES {
            let weights: Vec<f64> = if part == 1.0 {
                target.clone()
            } else {
                best.weights.iter().zip(&direction).map(|(d, step)| d + part * step).collect()
            };
            let values = here.data().iter().zip(along[0].data());
            sum.data_mut().iter_mut().zip(values).for_each(|(sum, (a, b))| *sum = a + part * b);
            let point = objective.solve(weights, &sum, &best.alpha)?;
            if point.objective <= best.objective + ARMIJO * part * slope {
                return objective.with_slopes(point, &self.active, &best.slopes).map(Some);
            }
            // The zero of the line through both derivatives, kept inside the interval.
            let there = -0.5 * objective.slope(&point, &along[0])?;
            let zero = part * slope / (slope - there);
            part = if zero.is_finite() { zero.clamp(0.1 * part, 0.5 * part) } else { 0.5 * part };
        }
        Ok(None)
    }
}
