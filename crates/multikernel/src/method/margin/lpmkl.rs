//! `lpmkl`: kernel weights in a p-norm ball, from the sparsest (p = 1) to uniform (p = inf).

use super::{Descend, Descends, Descent, DescentParams, Objective, Point, TARGETS, descent_params, relative};
use crate::data::TargetKind;
use crate::error::Result;
use crate::file::record;
use crate::kernel::DEFAULT_BANK;
use crate::linalg::dot;
use crate::method::problems::{Cost, Loss};
use crate::method::svc::{EndsInSvc, svc_params};
use crate::run::{About, Allowed, Method, Needs};

descent_params! {
    /// Kernel weights under a p-norm (Kloft et al. 2011): p = 1 is sparse like [`SimpleMkl`](super::SimpleMkl), p = inf
    /// is [`Average`](crate::method::Average), in between all kernels keep a weight. The ball is scaled so that uniform
    /// weights 1/P lie on its boundary for every p, so `c` means the same for all p.
    ///
    /// Cost: each step is two passes over the stack and one SVM, warm-started from the last; ten steps for p = 2,
    /// hundreds near 1.
    pub struct LpMkl {
        /// norm of the kernel weights: 1 is sparse, inf uniform; auto chooses among 1, 1.25, 2, 4, inf
        p: f64 = 2.0, Allowed::NumberOrAuto(1.0, f64::INFINITY, &[1.0, 1.25, 2.0, 4.0, f64::INFINITY]);
    }
}

impl Method for LpMkl {
    type State = Descent<PowerMean>;

    fn about(&self) -> About {
        let summary = "kernel weights under a p-norm: p = 1 sparse, p = inf uniform";
        About { name: "lpmkl", summary, needs: Needs::Stack, bank: DEFAULT_BANK }
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

impl Descends for LpMkl {
    type Solver = PowerMean;

    fn descent(&self) -> DescentParams {
        let cost = Cost { loss: self.loss, epsilon: self.epsilon };
        DescentParams { svc: self.svc(), sparsity: 1.0, cost, gap: self.gap, iterations: self.iterations }
    }

    fn solver(&self) -> PowerMean {
        PowerMean { p: self.p, stretch: 1.0 }
    }
}

record! {
    /// The norm, and the factor by which log weights move further than the closed form says.
    #[derive(Clone, Debug)]
    pub struct PowerMean {
        p: f64,
        stretch: f64,
    }
}

/// Growth of the stretch factor after a successful step, and its limit.
const GROWTH: f64 = 1.5;
const MAX_STRETCH: f64 = 100.0;

impl PowerMean {
    /// Given the norms `|w_m|^2 = d_m^2 s_m` the optimal weights are `d_m ~ |w_m|^(2 / (p + 1))`: the log weights move
    /// there, or `stretch` times as far, and are scaled back to the ball. `None` if all weights would be 0.
    fn ahead(&self, best: &Point) -> Option<Vec<f64>> {
        let log = |(d, s): (&f64, &f64)| match (d.ln(), s.max(0.0).ln()) {
            (ln_d, ln_s) if ln_d.is_finite() && ln_s.is_finite() => {
                ln_d + self.stretch * ((2.0 * ln_d + ln_s) / (self.p + 1.0) - ln_d)
            }
            _ => f64::NEG_INFINITY,
        };
        let logs: Vec<f64> = best.weights.iter().zip(&best.slopes).map(log).collect();
        let mean = ln_power_mean(self.p, &logs);
        mean.is_finite().then(|| logs.iter().map(|l| (l - mean).exp() / logs.len() as f64).collect())
    }
}

/// `ln` of the power mean `(1/n sum exp(p l))^(1/p)` of numbers given by their logarithms.
fn ln_power_mean(p: f64, logs: &[f64]) -> f64 {
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if p.is_infinite() || largest.is_infinite() {
        return largest;
    }
    let sum: f64 = logs.iter().map(|l| (p * (l - largest)).exp()).sum();
    largest + (sum / logs.len() as f64).ln() / p
}

impl Descend for PowerMean {
    const FROM_ANY_WEIGHTS: bool = false;

    /// The largest `d's` over the ball is `P^(1/p - 1) |s|_q`, 1/p + 1/q = 1: the power mean of the slopes with
    /// exponent q.
    fn gap(&self, best: &Point) -> f64 {
        // If a kernel is not positive semi-definite a slope may be below 0; its weight can then only fall.
        let slopes: Vec<f64> = best.slopes.iter().map(|slope| slope.max(0.0)).collect();
        let logs: Vec<f64> = slopes.iter().map(|slope| slope.ln()).collect();
        let q = if self.p == 1.0 { f64::INFINITY } else { 1.0 / (1.0 - 1.0 / self.p) };
        let most = ln_power_mean(q, &logs).exp();
        relative(0.5 * (most - dot(&best.weights, &slopes)), best)
    }

    /// The closed form cannot raise the objective. It is slow for p near 1, so steps are stretched while that succeeds.
    fn next(&mut self, objective: &Objective<'_>, best: &Point) -> Result<Option<Point>> {
        loop {
            let Some(weights) = self.ahead(best) else { return Ok(None) };
            let next = objective.at(weights, &best.alpha)?;
            if next.objective < best.objective {
                self.stretch = (GROWTH * self.stretch).min(MAX_STRETCH);
                return Ok(Some(next));
            }
            if self.stretch == 1.0 {
                // The accuracy of the SVMs is the limit.
                return Ok(None);
            }
            self.stretch = (0.3 * self.stretch).max(1.0);
        }
    }
}
