//! `gpc`: Gaussian process classification by Laplace's approximation, on the one kernel with the largest evidence.

mod laplace;
mod model;
#[cfg(test)]
mod tests;

use laplace::{Laplace, Problem};
pub use model::GpcModel;

use super::problems::sides;
use super::weighted::misfit;
use crate::error::{Error, Result};
use crate::file::record;
use crate::kernel::DEFAULT_BANK;
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::run::{About, Control, Method, Needs, Progress, State, Task, params};
use crate::simd::exp;
use crate::solve::cholesky::Cholesky;

params! {
    /// Gaussian process classification on one kernel of the bank: the one under which the classes have the largest
    /// evidence (marginal likelihood), by Laplace's approximation with a logistic likelihood (Rasmussen and Williams
    /// 2006, algorithms 3.1 and 3.2).
    ///
    /// For each kernel the evidence is maximised over the amplitude, the variance `v` of the prior `f ~ N(0, v K)`: the
    /// best of the powers of 4 from 1/16 to 4096, then golden section around it. More than two classes are handled one
    /// against the rest with the same kernel and amplitude, and their evidence is summed. Probabilities are averages of
    /// the logistic function over the approximate posterior of `f`. There is no bias: the prior mean corresponds to
    /// even odds.
    ///
    /// Weights are `v` for the chosen kernel and 0 for the others. Kernels that are not positive semi-definite have no
    /// evidence and are left out with a warning.
    ///
    /// Cost: for each kernel and two-class problem some 20 amplitudes of about 5 N^3 / 3 each. A model keeps N^2 / 2
    /// numbers per problem, and a probability takes as many products.
    #[derive(Copy)]
    pub struct Gpc {}
}

record! {
    /// The kernels tried so far: log evidence at the best amplitude (minus infinity where there is none), and that
    /// amplitude.
    #[derive(Clone, Debug, Default)]
    pub struct Search {
        evidence: Vec<f64>,
        amplitude: Vec<f64>,
    }
}

/// Powers of 4 to try, lowest to highest.
const POWERS: std::ops::RangeInclusive<i32> = -2..=6;
/// Golden-section steps on the two intervals around the best power: what is left is 1 % of an amplitude.
const SECTIONS: usize = 12;
/// Smaller matrices are factored by one thread.
const SEQUENTIAL_ROWS: usize = 512;
/// Added to the diagonal, relative to it, before a kernel is declared not positive semi-definite.
const SHIFT: f64 = 1e-4;
/// The fraction a golden-section step leaves.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

impl Method for Gpc {
    type State = Search;

    fn about(&self) -> About {
        About {
            name: "gpc",
            summary: "Gaussian process classification (Laplace) on the kernel with the most evidence; with probabilities",
            needs: Needs::Stack,
            bank: DEFAULT_BANK,
        }
    }
}

impl State<Gpc> for Search {
    type Model = GpcModel;

    fn init(_: &Gpc, task: &Task<'_>) -> Result<Search> {
        if task.stack()?.n_kernels() == 0 {
            return Err(Error::input("there is no kernel to choose"));
        }
        Ok(Search::default())
    }

    fn check(&self, _: &Gpc, task: &Task<'_>) -> Result<()> {
        let fits = self.evidence.len() == self.amplitude.len() && self.evidence.len() <= task.stack()?.n_kernels();
        if fits { Ok(()) } else { Err(misfit()) }
    }

    fn step(&mut self, _: &Gpc, task: &Task<'_>, control: &Control) -> Result<Progress> {
        let (m, n_kernels) = (self.evidence.len(), task.stack()?.n_kernels());
        if m < n_kernels {
            let stop = || control.stop().is_some();
            let (amplitude, evidence) = Fit::new(task, m)?.best(&stop)?;
            self.evidence.push(evidence);
            self.amplitude.push(amplitude);
        }
        Ok(Progress::of(self.evidence.len(), n_kernels).with("evidence", self.evidence[m.min(n_kernels - 1)]))
    }

    fn finish(self, _: &Gpc, task: &Task<'_>) -> Result<GpcModel> {
        let best = (0..self.evidence.len()).rev().max_by(|&a, &b| self.evidence[a].total_cmp(&self.evidence[b]));
        let best = best.filter(|&m| self.evidence[m] > f64::NEG_INFINITY).ok_or_else(|| {
            Error::input("no kernel that was looked at is positive semi-definite, so none has evidence; add a gaussian")
        })?;
        let fit = Fit::new(task, best)?;
        let mut laplace = fit.at(self.amplitude[best], &vec![vec![]; fit.sides.n_rows()], &|| false)?;
        // The factor exists at the amplitude found in the search.
        let laplace = laplace.take().ok_or_else(misfit)?;
        GpcModel::new(task, &self, best, fit.mean_diagonal(), &laplace)
    }
}

/// One kernel and all two-class problems.
struct Fit<'a> {
    task: &'a Task<'a>,
    /// For small factors, whose blocks take less time than dispatching them, and for problems that share the threads.
    own: Pool,
    kernel: Matrix,
    sides: Matrix,
}

impl<'a> Fit<'a> {
    fn new(task: &'a Task<'a>, m: usize) -> Result<Fit<'a>> {
        let one = Matrix::from_vec(1, 1, vec![1.0])?;
        // The result is reported whatever stopped the run.
        let kernel = task.stack()?.unstoppable().pick(&[m])?.combine(&one, task.pool)?.remove(0);
        Ok(Fit { task, own: Pool::new(1)?, kernel, sides: sides(task.labels).transposed() })
    }

    fn mean_diagonal(&self) -> f64 {
        let n = self.kernel.n_rows();
        (0..n).map(|i| self.kernel.get(i, i)).sum::<f64>() / n.max(1) as f64
    }

    /// Whether the kernel is positive semi-definite up to rounding: others have something like evidence at small
    /// amplitudes, which means nothing.
    fn is_semidefinite(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<bool> {
        let (mut shifted, mean) = (self.kernel.clone(), self.mean_diagonal());
        let shift = if mean > 0.0 { SHIFT * mean } else { SHIFT };
        (0..shifted.n_rows()).for_each(|i| shifted.set(i, i, shifted.get(i, i) + shift));
        match Cholesky::new(shifted, self.task.pool, stop) {
            Err(Error::NotDefinite { .. }) => Ok(false),
            factor => factor.map(|_| true),
        }
    }

    /// The approximations for all problems at an amplitude; `None` if one does not exist.
    fn at(&self, amplitude: f64, start: &[Vec<f64>], stop: &(dyn Fn() -> bool + Sync)) -> Result<Option<Vec<Laplace>>> {
        let alone = self.sides.n_rows() == 1 && self.kernel.n_rows() >= SEQUENTIAL_ROWS;
        let pool = if alone { self.task.pool } else { &self.own };
        let found = self.task.pool.map(self.sides.n_rows(), |p| {
            Problem { kernel: &self.kernel, amplitude, sides: self.sides.row(p) }.solve(&start[p], pool, stop)
        });
        found.into_iter().collect()
    }

    /// The best amplitude and its evidence, minus infinity if no amplitude has any.
    fn best(&self, stop: &(dyn Fn() -> bool + Sync)) -> Result<(f64, f64)> {
        if !self.is_semidefinite(stop)? {
            return Ok((1.0, f64::NEG_INFINITY));
        }
        // Each search starts from the previous mode, which is near.
        let mut start = vec![vec![]; self.sides.n_rows()];
        let mut evidence = |ln_amplitude: f64| -> Result<f64> {
            let Some(found) = self.at(exp(ln_amplitude), &start, stop)? else {
                return Ok(f64::NEG_INFINITY);
            };
            let sum = found.iter().map(|laplace| laplace.evidence).sum();
            start = found.into_iter().map(|laplace| laplace.coef).collect();
            Ok(sum)
        };
        let step = 2.0 * std::f64::consts::LN_2;
        let mut best = (0.0, f64::NEG_INFINITY);
        for power in POWERS {
            let at = step * f64::from(power);
            let found = evidence(at)?;
            if found > best.1 {
                best = (at, found);
            }
        }
        if best.1 > f64::NEG_INFINITY {
            best = section(best, step, &mut evidence)?;
        }
        Ok((exp(best.0), best.1))
    }
}

/// Golden section for the maximum of a function within `step` of a known point; returns the best point evaluated.
fn section(known: (f64, f64), step: f64, of: &mut impl FnMut(f64) -> Result<f64>) -> Result<(f64, f64)> {
    let (mut low, mut high) = (known.0 - step, known.0 + step);
    let inner = |low: f64, high: f64| (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
    let (left, right) = inner(low, high);
    let (mut left, mut right) = ((left, of(left)?), (right, of(right)?));
    let mut best = known;
    for _ in 0..SECTIONS {
        for point in [left, right] {
            if point.1 > best.1 {
                best = point;
            }
        }
        if left.1 >= right.1 {
            (high, right) = (right.0, left);
            let at = inner(low, high).0;
            left = (at, of(at)?);
        } else {
            (low, left) = (left.0, right);
            let at = inner(low, high).1;
            right = (at, of(at)?);
        }
    }
    Ok(best)
}
