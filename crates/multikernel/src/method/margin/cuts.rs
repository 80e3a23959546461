//! `silp` and `level`: cutting planes, which bound the objective from below by its tangents.
//!
//! Every SVM gives a tangent `J(d) >= 1'a - 1/2 s'd` that holds for all d. `silp` moves to the minimum of their
//! maximum; `level` moves to the nearest point where they still allow a good part of the possible decrease.

use super::{
    Descend, Descends, Descent, DescentParams, Objective, Point, TARGETS, descent_params, relative, simplex_params,
};
use crate::data::TargetKind;
use crate::error::Result;
use crate::file::{Codec, Record, record};
use crate::kernel::DEFAULT_BANK;
use crate::linalg::{Matrix, dot};
use crate::method::problems::{Cost, Loss};
use crate::method::svc::{EndsInSvc, svc_params};
use crate::run::{About, Allowed, Method, Needs};
use crate::solve::program::{self, Program};

simplex_params! {
    /// The problem of [`SimpleMkl`](super::SimpleMkl) as a semi-infinite linear program (Sonnenburg et al. 2006): each
    /// step solves a linear program over all tangents so far, then the SVMs at its solution. Cost: as `simplemkl` per
    /// step, plus the linear program; the number of steps grows with the number of kernels.
    pub struct Silp;
}

impl Method for Silp {
    type State = Descent<Cuts<false>>;

    fn about(&self) -> About {
        let summary = "the problem of simplemkl by cutting planes and a linear programme";
        About { name: "silp", summary, needs: Needs::Stack, bank: DEFAULT_BANK }
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

impl Descends for Silp {
    type Solver = Cuts<false>;

    fn descent(&self) -> DescentParams {
        let cost = Cost { loss: self.loss, epsilon: self.epsilon };
        DescentParams { svc: self.svc(), sparsity: self.sparsity, cost, gap: self.gap, iterations: self.iterations }
    }

    fn solver(&self) -> Cuts<false> {
        Cuts::default()
    }
}

simplex_params! {
    /// The problem of [`SimpleMkl`](super::SimpleMkl) by the level method (Xu et al. 2008): tangents as in [`Silp`],
    /// but the next weights are the ones nearest to the last at which the tangents allow nine tenths of the remaining
    /// gain. Cost: as `silp` per step, with far fewer steps.
    pub struct Level;
}

impl Method for Level {
    type State = Descent<Cuts<true>>;

    fn about(&self) -> About {
        let summary = "the problem of simplemkl by the level method";
        About { name: "level", summary, needs: Needs::Stack, bank: DEFAULT_BANK }
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

impl Descends for Level {
    type Solver = Cuts<true>;

    fn descent(&self) -> DescentParams {
        let cost = Cost { loss: self.loss, epsilon: self.epsilon };
        DescentParams { svc: self.svc(), sparsity: self.sparsity, cost, gap: self.gap, iterations: self.iterations }
    }

    fn solver(&self) -> Cuts<true> {
        Cuts::default()
    }
}

/// The share of the remaining gain that the tangents must allow at the next weights.
const GAIN: f64 = 0.9;

record! {
    /// The tangents: `constants - 1/2 slopes d`, one row each, the best lower bound they gave, and the point of the
    /// last one.
    #[derive(Clone, Debug, Default)]
    struct Tangents {
        constants: Vec<f64>,
        slopes: Vec<f64>,
        last: Vec<f64>,
        lower: f64,
    }
}

/// Tangents and the rule: nearest point on a level set (true), or minimum (false).
#[derive(Clone, Debug, Default)]
pub struct Cuts<const LEVEL: bool>(Tangents);

impl<const LEVEL: bool> Codec for Cuts<LEVEL> {
    fn encode(&self) -> Record {
        self.0.encode()
    }

    fn decode(record: &Record) -> Result<Self> {
        Tangents::decode(record).map(Cuts)
    }
}

impl Tangents {
    /// The equations `theta + 1/2 s_k'd - slack_k = constant_k`, `sum d = 1` in the variables (d, theta, slack),
    /// without theta if it is given. Everything is divided by `scale`.
    fn equations(&self, theta: Option<f64>, scale: f64) -> (Matrix, Vec<f64>) {
        let (k, p) = (self.constants.len(), self.last.len());
        let free = usize::from(theta.is_none());
        let mut rows = Matrix::zeros(k + 1, p + free + k);
        for (i, slopes) in self.slopes.chunks_exact(p).enumerate() {
            let row = rows.row_mut(i);
            row.iter_mut().zip(slopes).for_each(|(out, slope)| *out = 0.5 * slope / scale);
            row[p..p + free].fill(1.0);
            row[p + free + i] = -1.0;
        }
        rows.row_mut(k)[..p].fill(1.0);
        let right = self.constants.iter().map(|constant| (constant - theta.unwrap_or(0.0)) / scale).chain([1.0]);
        (rows, right.collect())
    }

    /// The minimum of the tangents' maximum, and its value. The SVMs' objective is never below 0, so neither is theta.
    fn lowest(&self, scale: f64) -> Result<(Vec<f64>, f64)> {
        let (rows, right) = self.equations(None, scale);
        let (p, n) = (self.last.len(), rows.n_cols());
        let cost: Vec<f64> = (0..n).map(|j| f64::from(u8::from(j == p))).collect();
        let x = program::solve(&Program { cost: &cost, curvature: &vec![0.0; n], rows: &rows, right: &right })?;
        let theta = scale * x[p];
        Ok((on_simplex(&x[..p]), theta))
    }

    /// The point nearest to the last one where no tangent is above the level.
    fn nearest(&self, level: f64, scale: f64) -> Result<Vec<f64>> {
        let (rows, right) = self.equations(Some(level), scale);
        let (p, n) = (self.last.len(), rows.n_cols());
        let cost: Vec<f64> = (0..n).map(|j| if j < p { -self.last[j] } else { 0.0 }).collect();
        let curvature: Vec<f64> = (0..n).map(|j| f64::from(u8::from(j < p))).collect();
        let x = program::solve(&Program { cost: &cost, curvature: &curvature, rows: &rows, right: &right })?;
        Ok(on_simplex(&x[..p]))
    }
}

/// The weights from a program's solution, normalised: their sum is 1 only up to its tolerance.
fn on_simplex(x: &[f64]) -> Vec<f64> {
    let sum: f64 = x.iter().map(|x| x.max(0.0)).sum();
    x.iter().map(|x| x.max(0.0) / sum).collect()
}

impl<const LEVEL: bool> Descend for Cuts<LEVEL> {
    const FROM_ANY_WEIGHTS: bool = true;

    fn fits(&self, n_kernels: Option<usize>) -> bool {
        let Tangents { constants, slopes, last, .. } = &self.0;
        match n_kernels {
            Some(p) => last.len() == p && Some(slopes.len()) == constants.len().checked_mul(p),
            None => constants.is_empty() && slopes.is_empty() && last.is_empty(),
        }
    }

    fn see(&mut self, point: &Point) {
        let half = 0.5 * dot(&point.weights, &point.slopes);
        self.0.constants.push(point.objective + half);
        self.0.slopes.extend_from_slice(&point.slopes);
        self.0.last.clone_from(&point.weights);
        // Each tangent alone bounds the objective, too.
        let largest = point.slopes.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.0.lower = self.0.lower.max(point.objective + half - 0.5 * largest);
    }

    fn gap(&self, best: &Point) -> f64 {
        relative(best.objective - self.0.lower, best)
    }

    fn next(&mut self, objective: &Objective<'_>, best: &Point) -> Result<Option<Point>> {
        let scale = best.objective.abs().max(f64::MIN_POSITIVE);
        let (lowest, theta) = self.0.lowest(scale)?;
        self.0.lower = self.0.lower.max(theta);
        let weights = if LEVEL {
            let level = best.objective - GAIN * (best.objective - self.0.lower).max(0.0);
            self.0.nearest(level, scale).unwrap_or(lowest)
        } else {
            lowest
        };
        // A repeated point adds no information.
        if weights == self.0.last {
            return Ok(None);
        }
        objective.at(weights, &best.alpha).map(Some)
    }
}
