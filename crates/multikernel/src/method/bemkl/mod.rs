//! `bemkl` and `sbemkl`: Bayesian efficient multiple kernel learning (Gönen 2012), by variational inference.

mod beliefs;
mod bound;
mod model;
mod numbers;
mod posterior;
mod ridge;
#[cfg(test)]
mod tests;
mod update;

use beliefs::Beliefs;
pub use model::BemklModel;
pub use numbers::BemklEnd;
use update::Update;

use super::weighted::misfit;
use crate::data::{Target, TargetKind};
use crate::error::{Error, Result};
use crate::kernel::DEFAULT_BANK;
use crate::run::{About, Allowed, Control, Method, Needs, Progress, State, Task, params};

params! {
    /// Normal kernel weights, inferred as a distribution together with everything else; no weight becomes exactly zero.
    ///
    /// Each kernel has its own output from the shared sample weights, `g_m = K_m a + noise`, and the decision is `f =
    /// sum_m e_m g_m + b + noise`, beyond a margin of 1 on the side of its class. Sample weights, kernel weights and
    /// bias are normal, with precisions that have a gamma(1, 1) prior. The posterior is approximated by independent
    /// distributions of all of these (mean field), updated in turn; each update raises a lower bound on the evidence. The
    /// scale that kernel weights and sample weights share is set after each round, which the published program leaves to
    /// hundreds of rounds: same model, a higher bound.
    /// More than two classes are handled one against the rest, each with its own sample weights and bias, all with the
    /// same kernel weights.
    ///
    /// Numbers are `f` itself, with noise whose precision has a gamma(1, 1) prior too, one for all columns. They come
    /// without intervals: see [`BemklEnd`].
    ///
    /// **Weights may be negative** and have any scale: a kernel's output may be subtracted. Probabilities come with the
    /// model: the normal probability of the decision beyond the margin, with the variance implied by the inferred
    /// distribution of weights and biases. Nothing is random: the random start of the published program is replaced by
    /// its mean.
    ///
    /// Cost per iteration for c problems: c N^3 + 2 P^3 + 1.5 P^2 N c, and 2 passes over the kernels; P N^3 / 2
    /// once. Memory: 2 P N c + 3 P^2 + 4 N^2 numbers besides the kernels.
    pub struct Bemkl {
        /// most rounds of updates
        iterations: usize = 200, Allowed::Whole(1, 100_000);
        /// stop when a round raises the bound by less than this part of it; 0 goes through all iterations
        tol: f64 = 1e-4, Allowed::Number(0.0, 1.0);
        /// standard deviation of the noise on each kernel's output
        sigma: f64 = 0.1, Allowed::Number(1e-3, 1e3);
    }
}

params! {
    /// [`Bemkl`] with a sparse prior: the precision of each kernel weight has a gamma prior of shape 1e-10 and *scale*
    /// 1e10, so that the weights of kernels that do not help shrink towards zero (but never reach it).
    pub struct Sbemkl {
        /// most rounds of updates
        iterations: usize = 200, Allowed::Whole(1, 100_000);
        /// stop when a round raises the bound by less than this part of it; 0 goes through all iterations
        tol: f64 = 1e-4, Allowed::Number(0.0, 1.0);
        /// standard deviation of the noise on each kernel's output
        sigma: f64 = 0.1, Allowed::Number(1e-3, 1e3);
    }
}

/// The gamma prior of a precision, by shape and scale.
#[derive(Clone, Copy, Debug)]
struct Prior {
    shape: f64,
    scale: f64,
    /// ln Gamma(shape + 1/2) - ln Gamma(shape) - shape ln(scale).
    constant: f64,
}

/// Wide: for sample weights, biases, and the kernel weights of `bemkl`.
const PLAIN: Prior = Prior { shape: 1.0, scale: 1.0, constant: -0.120_782_237_635_245_22 };
/// For the kernel weights of `sbemkl`. Read as a rate, 1e10 would shrink nothing.
const SPARSE: Prior = Prior { shape: 1e-10, scale: 1e10, constant: -22.453_485_989_456_97 };

/// The differences between the two methods.
trait Variational: Method {
    /// The prior of the precisions of kernel weights.
    const PRIOR: Prior;

    /// Maximum number of rounds, the increase of the bound at which they end, and the noise.
    fn rounds(&self) -> Rounds;
}

/// The targets of both methods.
const TARGETS: &[TargetKind] = &[TargetKind::Classes, TargetKind::Numbers];

/// Settings of a run.
#[derive(Clone, Copy, Debug)]
struct Rounds {
    iterations: usize,
    tol: f64,
    sigma: f64,
}

impl Method for Bemkl {
    type State = Beliefs;

    fn about(&self) -> About {
        let summary = "Bayesian efficient MKL: Gaussian kernel weights, by variational inference; with probabilities";
        About { name: "bemkl", summary, needs: Needs::Stack, bank: DEFAULT_BANK }
    }

    fn targets(&self) -> &'static [TargetKind] {
        TARGETS
    }
}

impl Variational for Bemkl {
    const PRIOR: Prior = PLAIN;

    fn rounds(&self) -> Rounds {
        Rounds { iterations: self.iterations, tol: self.tol, sigma: self.sigma }
    }
}

impl Method for Sbemkl {
    type State = Beliefs;

    fn about(&self) -> About {
        let summary = "bemkl with a prior under which the weights of useless kernels go towards zero";
        About { name: "sbemkl", summary, needs: Needs::Stack, bank: DEFAULT_BANK }
    }

    fn targets(&self) -> &'static [TargetKind] {
        TARGETS
    }
}

impl Variational for Sbemkl {
    const PRIOR: Prior = SPARSE;

    fn rounds(&self) -> Rounds {
        Rounds { iterations: self.iterations, tol: self.tol, sigma: self.sigma }
    }
}

impl<M: Variational> State<M> for Beliefs {
    type Model = BemklEnd;

    fn init(_: &M, task: &Task<'_>) -> Result<Beliefs> {
        if task.stack()?.n_kernels() == 0 {
            return Err(Error::input("there is no kernel to weigh"));
        }
        Ok(Beliefs::default())
    }

    fn check(&self, _: &M, task: &Task<'_>) -> Result<()> {
        if self.fits(task)? { Ok(()) } else { Err(misfit()) }
    }

    /// One round of updates. The state changes only at the end, once nothing can stop it any more.
    fn step(&mut self, method: &M, task: &Task<'_>, control: &Control) -> Result<Progress> {
        let Rounds { iterations, tol, sigma } = method.rounds();
        let stop = || control.stop().is_some();
        let update = Update { task, prior: M::PRIOR, noise: sigma.powi(2), stop: &stop };
        let next = update.round(self).map_err(too_large)?;
        let rise = next.bounds.last().zip(self.bounds.last()).map(|(now, before)| (now - before) / now.abs());
        *self = next;
        self.converged = rise.is_some_and(|rise| rise < tol);
        let done = if self.converged { iterations } else { self.bounds.len().min(iterations) };
        let bound = self.bounds.last().copied().unwrap_or(f64::NAN);
        Ok(Progress::of(done, iterations).with("bound", bound))
    }

    fn finish(self, _: &M, task: &Task<'_>) -> Result<BemklEnd> {
        match task.target {
            Target::Numbers(_) => Ok(BemklEnd::Numbers(numbers::machine(&self))),
            _ => BemklModel::new(task, &self).map(BemklEnd::Classes),
        }
    }
}

fn too_large(error: Error) -> Error {
    match error {
        Error::NotDefinite { .. } => Error::input(
            "kernel values are so large that rounding hides the prior of the sample weights; leave out `raw`, or scale Gram \
             matrices to a diagonal of 1",
        ),
        other => other,
    }
}
