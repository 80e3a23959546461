//! `simplemkl`: descent on the simplex.

use std::sync::Arc;

use super::curvature::Curvature;
use super::{
    Descend, Descends, Descent, DescentParams, Objective, Point, TARGETS, descent_params, relative, simplex_gap,
    simplex_params,
};
use crate::data::TargetKind;
use crate::error::Result;
use crate::file::{Cache, record};
use crate::kernel::DEFAULT_BANK;
use crate::linalg::{Matrix, dot};
use crate::method::problems::{Cost, Loss};
use crate::method::svc::{EndsInSvc, svc_params};
use crate::run::{About, Allowed, Method, Needs};
use crate::solve::quasi::{Hessian, MEMORY};
use crate::solve::simplex;

simplex_params! {
    /// Sparse kernel weights: the SVM's objective minimised over the simplex (Rakotomamonjy et al. 2008), by Newton steps
    /// with a line search. Most weights of a large bank become exactly 0. The published reduced gradient removes one
    /// kernel per step and uses no curvature; each step here goes to the minimum on the simplex of the second-order model,
    /// whose second derivatives follow from the free support vectors (Chapelle and Rakotomamonjy 2008). Where these are so
    /// many that their factor takes longer than passes over the kernels, curvature is estimated from the last points
    /// (Schmidt et al. 2009).
    ///
    /// Cost: about 10 steps, each a warm-started SVM, three passes over the active kernels and a factor of the free support
    /// vectors' kernel; 10 to 100 steps of two passes with estimated curvature. Active are all kernels of a small bank; of a
    /// large one those with a weight and the most promising ones, until they are optimal and all are checked again. More than
    /// two classes share one set of weights, one-vs-one or one-vs-rest.
    pub struct SimpleMkl;
}

impl Method for SimpleMkl {
    type State = Descent<Newton>;

    fn about(&self) -> About {
        let summary = "sparse kernel weights that minimise the SVM's objective, by Newton steps";
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
        Newton { weights, slopes, steps, changes, active: vec![], whole: true, known, wanted, combined: Cache(None) }
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
        /// The combined kernel at the weights found last.
        combined: Cache<(Vec<f64>, Arc<Matrix>)>,
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
        let here = self.combined(objective, best)?;
        let target = match few(best) {
            Some(few) => few,
            None => self.target(objective, best, &here)?,
        };
        let found = self.search(objective, best, &here, target)?;
        if let Ok(here) = Arc::try_unwrap(here) {
            here.give_back();
        }
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
        let promising = most_promising(best, if p > 2 * PROMISING { PROMISING } else { p });
        let with_weight = (0..p).filter(|&m| best.weights[m] > 0.0);
        let mut active: Vec<usize> = promising.into_iter().chain(with_weight).collect();
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

    /// The combined kernel at a point.
    fn combined(&mut self, objective: &Objective<'_>, best: &Point) -> Result<Arc<Matrix>> {
        match self.combined.0.take() {
            Some((weights, gram)) if weights == best.weights => Ok(gram),
            _ => objective.combine(&best.weights).map(Arc::new),
        }
    }

    /// The minimum of the second-order model of the objective.
    fn target(&self, objective: &Objective<'_>, best: &Point, here: &Matrix) -> Result<Vec<f64>> {
        let (weights, slopes) = (self.at_work(&best.weights), self.at_work(&best.slopes));
        let gradient: Vec<f64> = slopes.iter().map(|slope| -0.5 * slope).collect();
        let curvature = Curvature::new(objective, best, here, &self.active)?;
        let found = curvature.and_then(|curvature| curvature.lowest(&weights, &gradient));
        let found = found.unwrap_or_else(|| self.lowest_estimated(best, &gradient));
        let mut target = vec![0.0; best.weights.len()];
        self.active.iter().zip(found).for_each(|(&m, weight)| target[m] = weight);
        Ok(target)
    }

    /// The minimum of the estimated model of the objective; initially, and without a model, one projected gradient step.
    fn lowest_estimated(&self, best: &Point, gradient: &[f64]) -> Vec<f64> {
        let pairs = |flat: &[f64]| -> Vec<Vec<f64>> {
            flat.chunks_exact(best.weights.len()).map(|pair| self.at_work(pair)).collect()
        };
        let (steps, changes) = (pairs(&self.steps), pairs(&self.changes));
        let [steps, changes] = [&steps, &changes].map(|pairs| pairs.iter().map(Vec::as_slice).collect::<Vec<_>>());
        let weights = self.at_work(&best.weights);
        match Hessian::new(&steps, &changes) {
            Some(hessian) => hessian.lowest_on_simplex(&weights, gradient),
            None => {
                // Scaled so that the largest difference of slopes moves a weight by one.
                let least = gradient.iter().copied().fold(f64::INFINITY, f64::min);
                let spread = gradient.iter().copied().fold(f64::NEG_INFINITY, f64::max) - least;
                let length = 1.0 / spread.max(f64::MIN_POSITIVE);
                simplex::project(&weights.iter().zip(gradient).map(|(d, g)| d - length * g).collect::<Vec<_>>())
            }
        }
    }

    /// The first point towards the target with sufficient decrease.
    fn search(
        &mut self,
        objective: &Objective<'_>,
        best: &Point,
        here: &Matrix,
        target: Vec<f64>,
    ) -> Result<Option<Point>> {
        let direction: Vec<f64> = target.iter().zip(&best.weights).map(|(t, d)| t - d).collect();
        let slope = -0.5 * dot(&direction, &best.slopes);
        if slope >= 0.0 {
            return Ok(None);
        }
        let mut sum = objective.combine(&target)?;
        let mut point = objective.solve(target, &sum, &best.alpha)?;
        if point.objective <= best.objective + ARMIJO * slope {
            self.combined = Cache(Some((point.weights.clone(), Arc::new(sum))));
            return objective.with_slopes(point, &self.active, &best.slopes).map(Some);
        }
        let mut along = sum.clone();
        along.data_mut().iter_mut().zip(here.data()).for_each(|(along, here)| *along -= here);
        let mut part = 1.0;
        for _ in 1..TRIES {
            // The zero of the line through both derivatives, kept inside the interval.
            let there = -0.5 * objective.slope(&point, &along)?;
            let zero = part * slope / (slope - there);
            part = if zero.is_finite() { zero.clamp(0.1 * part, 0.5 * part) } else { 0.5 * part };
            let values = here.data().iter().zip(along.data());
            sum.data_mut().iter_mut().zip(values).for_each(|(sum, (a, b))| *sum = a + part * b);
            let weights = best.weights.iter().zip(&direction).map(|(d, step)| d + part * step).collect();
            point = objective.solve(weights, &sum, &best.alpha)?;
            if point.objective <= best.objective + ARMIJO * part * slope {
                return objective.with_slopes(point, &self.active, &best.slopes).map(Some);
            }
        }
        Ok(None)
    }
}

/// Equal weights of the most promising kernels, in place of the equal weights of all of a large bank that a run begins with:
/// few of those keep a weight, and second derivatives for all would take longer than the rest of the run.
fn few(best: &Point) -> Option<Vec<f64>> {
    let (p, first) = (best.weights.len(), best.weights.first()?);
    if p <= 2 * PROMISING || best.weights.iter().any(|weight| weight != first) {
        return None;
    }
    let mut target = vec![0.0; p];
    most_promising(best, PROMISING).iter().for_each(|&m| target[m] = 1.0 / PROMISING as f64);
    Some(target)
}

/// The kernels with the largest slopes, largest first.
fn most_promising(best: &Point, count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..best.slopes.len()).collect();
    order.sort_by(|&a, &b| best.slopes[b].total_cmp(&best.slopes[a]));
    order.truncate(count);
    order
}
