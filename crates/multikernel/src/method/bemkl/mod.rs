//! `bemkl` and `sbemkl`: Bayesian efficient multiple kernel learning (Gönen 2012), by variational inference.

mod beliefs;
mod bound;
mod model;
mod posterior;
#[cfg(test)]
mod tests;
mod update;

use beliefs::Beliefs;
pub use model::BemklModel;
use update::Update;

use super::weighted::misfit;
use crate::error::{Error, Result};
use crate::kernel::DEFAULT_BANK;
use crate::run::{About, Allowed, Control, Method, Needs, Param, Params, Progress, Task};

/// Gaussian kernel weights that are inferred together with everything else, as a distribution; no weight becomes zero.
///
/// Each kernel makes an output of its own from the same sample weights, `g_m = K_m a + noise`, and the decision is `f = sum_m e_m
/// g_m + b + noise`, beyond a margin of 1 on the side of its class. Sample weights, kernel weights and bias are normal with
/// precisions that have the prior gamma(1, 1). What is inferred are independent distributions of all of these that come nearest to
/// the posterior: updates in turn, each of which raises a lower bound of the evidence. More than two classes are one against the
/// rest, with sample weights and a bias each and with the same kernel weights.
///
/// **Weights may be negative** and have any scale: a kernel's output may be taken off. Probabilities come with the
/// model: the normal distribution of the decision beyond the margin, with the variance that the inferred distribution of weights and biases leaves.
/// There is no randomness in it: what the published programme draws to begin with is set to its mean.
///
/// Cost of an iteration for c problems: c N^3 + 2 P^3 + 1.5 P^2 N c, and 1 + c passes over the kernels; once P N^3 / 2. Memory:
/// 2 P N c + 3 P^2 + 4 N^2 numbers beside the kernels.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bemkl;

/// [`Bemkl`] with a prior that switches kernels off: the precision of each kernel weight has a gamma prior of shape 1e-10 and
/// *scale* 1e10, so that weights of kernels that do not help go towards zero (and never are exactly zero).
#[derive(Clone, Copy, Debug, Default)]
pub struct Sbemkl;

const ITERATIONS: Param =
    Param { name: "iterations", default: "200", allowed: Allowed::Whole(1, 100_000), help: "most rounds of updates" };
const TOL: Param = Param {
    name: "tol",
    default: "1e-5",
    allowed: Allowed::Number(0.0, 1.0),
    help: "stop when a round raises the bound by less than this part of it; 0 goes through all iterations",
};
const SIGMA: Param = Param {
    name: "sigma",
    default: "0.1",
    allowed: Allowed::Number(1e-3, 1e3),
    help: "standard deviation of the noise on each kernel's output",
};

/// The gamma prior of a precision, by shape and scale.
#[derive(Clone, Copy, Debug)]
struct Prior {
    shape: f64,
    scale: f64,
    /// ln Gamma(shape + 1/2) - ln Gamma(shape) - shape ln(scale).
    constant: f64,
}

/// Wide: of sample weights, biases, and the kernel weights of `bemkl`.
const PLAIN: Prior = Prior { shape: 1.0, scale: 1.0, constant: -0.120_782_237_635_245_22 };
/// Of the kernel weights of `sbemkl`. Read as a rate, 1e10 would shrink nothing.
const SPARSE: Prior = Prior { shape: 1e-10, scale: 1e10, constant: -22.453_485_989_456_97 };

/// Writes `impl Method` from a name card and the prior of the kernel weights.
macro_rules! variational {
    ($method:ident, $name:literal, $summary:literal, $prior:expr) => {
        impl Method for $method {
            type State = Beliefs;
            type Model = BemklModel;

            fn about(&self) -> About {
                About {
                    name: $name,
                    summary: $summary,
                    needs: Needs::Stack,
                    params: &[ITERATIONS, TOL, SIGMA],
                    bank: DEFAULT_BANK,
                }
            }

            fn init(&self, task: &Task<'_>, _: &Params) -> Result<Beliefs> {
                begin(task)
            }

            fn check(&self, task: &Task<'_>, _: &Params, state: &Beliefs) -> Result<()> {
                if state.fits(task)? { Ok(()) } else { Err(misfit()) }
            }

            fn step(
                &self,
                task: &Task<'_>,
                params: &Params,
                state: &mut Beliefs,
                control: &Control,
            ) -> Result<Progress> {
                step(task, params, $prior, state, control)
            }

            fn finish(&self, task: &Task<'_>, _: &Params, state: Beliefs) -> Result<BemklModel> {
                BemklModel::new(task, &state)
            }
        }
    };
}

variational!(
    Bemkl,
    "bemkl",
    "Bayesian efficient MKL: Gaussian kernel weights, by variational inference; with probabilities",
    PLAIN
);
variational!(Sbemkl, "sbemkl", "bemkl with a prior under which the weights of useless kernels go towards zero", SPARSE);

fn begin(task: &Task<'_>) -> Result<Beliefs> {
    if task.stack()?.n_kernels() == 0 {
        return Err(Error::input("there is no kernel to weigh"));
    }
    Ok(Beliefs::default())
}

/// One round of updates. The state is changed at the end, when nothing can stop it any more.
fn step(task: &Task<'_>, params: &Params, prior: Prior, state: &mut Beliefs, control: &Control) -> Result<Progress> {
    let stop = || control.stop().is_some();
    let update = Update { task, prior, noise: params.number("sigma").powi(2), stop: &stop };
    let next = update.round(state).map_err(too_large)?;
    let rise = next.bounds.last().zip(state.bounds.last()).map(|(now, before)| (now - before) / now.abs());
    *state = next;
    state.converged = rise.is_some_and(|rise| rise < params.number("tol"));
    let iterations = params.whole("iterations");
    let done = if state.converged { iterations } else { state.bounds.len().min(iterations) };
    let bound = state.bounds.last().copied().unwrap_or(f64::NAN);
    Ok(Progress::of(done, iterations).with("bound", bound))
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
