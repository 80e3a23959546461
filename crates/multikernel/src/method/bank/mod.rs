//! `bank`: Bayesian nonparametric kernel learning, by Gibbs sampling.

mod chain;
#[cfg(test)]
mod geweke;
mod model;
#[cfg(test)]
mod tests;

use chain::{AMPLITUDE, Chain, Target, prior};
pub use model::BankModel;

use super::bsvm::{SWEEPS, WARMUP};
use super::problems::sides;
use super::weighted::misfit;
use crate::dist::normal;
use crate::error::{Error, Result};
use crate::file::Cache;
use crate::file::record;
use crate::linalg::Matrix;
use crate::mixture::Mixture;
use crate::run::{About, Allowed, Control, Method, Needs, Param, Params, Progress, Task};

/// A kernel whose spectrum is learned (Oliva, Dubey, Wilson, Poczos, Schneider and Xing 2016): random Fourier frequencies of a
/// Dirichlet-process mixture of Gaussians, and a linear model of two classes on their cosines and sines. So the kernel is any
/// that depends on differences of rows, not one of a list.
///
/// A sweep draws utilities given the labels, coefficients given these, each frequency, and the clusters of frequencies. Labels
/// are by a probit with drawn utilities (Albert and Chib 1993), which is our choice: with it every step but that of a frequency
/// is an exact draw. A frequency is proposed from the distribution of its own cluster, and accepted with its two coefficients
/// integrated out, so that one that has found its coefficients is not stuck with them. Priors: frequencies have clusters of
/// mean 0 and an expected covariance of I / d (full up to 20 columns, else diagonal), the variance of the decision function is
/// inverse gamma (1, 5), the bias N(0, 4).
///
/// Probabilities are the probit's, averaged over the kept draws. More than two classes are refused: take `cik`.
///
/// Cost of a sweep: 4 N D^2 operations, good for some ten thousand rows. Memory: about 6 N D numbers. A model keeps
/// D (d + 2) numbers for each draw.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bank;

const FREQUENCIES: Param = Param {
    name: "frequencies",
    default: "384",
    allowed: Allowed::Whole(1, 10_000),
    help: "number of frequencies D: features are their cosines and sines",
};
const THIN: Param = Param {
    name: "thin",
    default: "5",
    allowed: Allowed::Whole(1, 10_000),
    help: "every so many sweeps one draw is kept for predictions; at most as many as there are sweeps",
};
const ALPHA: Param = Param {
    name: "alpha",
    default: "1",
    allowed: Allowed::Positive,
    help: "concentration of the mixture of frequencies: more gives more clusters",
};

record! {
    /// Where the chain stands, and the draws kept so far.
    #[derive(Clone, Debug)]
    pub struct Waves {
        n_sweeps: usize,
        position: u64,
        /// D x d.
        frequencies: Matrix,
        mixture: Mixture,
        coef: Vec<f64>,
        amplitude: f64,
        accepted: usize,
        /// Draw after draw, D d frequencies and 2 D + 1 coefficients each; the last sweep alone during the warm-up.
        kept_frequencies: Vec<f64>,
        kept_coef: Vec<f64>,
        /// The number of clusters of each draw.
        kept_clusters: Vec<usize>,
        columns: Cache<Matrix>,
    }
}

impl Method for Bank {
    type State = Waves;
    type Model = BankModel;

    fn about(&self) -> About {
        About {
            name: "bank",
            summary: "two classes by a kernel whose spectrum is a sampled mixture of Gaussians",
            needs: Needs::Rows,
            params: &[FREQUENCIES, WARMUP, SWEEPS, THIN, ALPHA],
            bank: "",
        }
    }

    fn init(&self, task: &Task<'_>, params: &Params) -> Result<Waves> {
        let (thin, sweeps) = (params.whole("thin"), params.whole("sweeps"));
        if thin > sweeps {
            return Err(Error::param("thin", format!("must be at most the {sweeps} sweeps, got {thin}")));
        }
        let n_classes = task.labels.n_classes();
        if n_classes != 2 {
            let message = format!("bank is for two classes, these data have {n_classes}; take cik");
            return Err(Error::param("method", message));
        }
        let (d, count) = (task.rows()?.n_cols(), params.whole("frequencies"));
        let mut rng = task.rng(0, 0);
        let prior = prior(d, params.number("alpha"));
        let root = (1.0 / d.max(1) as f64).sqrt();
        let frequencies = Matrix::from_fn(count, d, |_, _| root * normal(&mut rng));
        Ok(Waves {
            n_sweeps: 0,
            position: rng.position(),
            mixture: Mixture::new(prior, &frequencies, vec![0; count])?,
            frequencies,
            coef: vec![0.0; 2 * count + 1],
            amplitude: AMPLITUDE[1],
            accepted: 0,
            kept_frequencies: vec![],
            kept_coef: vec![],
            kept_clusters: vec![],
            columns: Cache(None),
        })
    }

    fn check(&self, task: &Task<'_>, params: &Params, state: &Waves) -> Result<()> {
        let (d, count) = (task.rows()?.n_cols(), params.whole("frequencies"));
        let draws = state.kept_clusters.len();
        let fits = (state.frequencies.n_rows(), state.frequencies.n_cols()) == (count, d)
            && task.labels.n_classes() == 2
            && state.coef.len() == 2 * count + 1
            && state.amplitude > 0.0
            && draws.checked_mul(count * d) == Some(state.kept_frequencies.len())
            && draws.checked_mul(2 * count + 1) == Some(state.kept_coef.len())
            && (state.n_sweeps > 0) == (draws > 0);
        if fits { state.mixture.check(count, d) } else { Err(misfit()) }
    }

    fn step(&self, task: &Task<'_>, params: &Params, state: &mut Waves, control: &Control) -> Result<Progress> {
        let stop = || control.stop().is_some();
        let rows = task.rows()?;
        let columns = state.columns.get_or_make(|| Ok(rows.transposed()))?;
        let sides = sides(task.labels).into_data();
        let target = Target { columns, sides: &sides, pool: task.pool, stop: &stop };
        let mut chain = Chain {
            frequencies: state.frequencies.clone(),
            mixture: state.mixture.clone(),
            coef: state.coef.clone(),
            amplitude: state.amplitude,
            accepted: state.accepted,
        };
        let mut rng = task.rng(0, state.position);
        target.sweep(&mut chain, &mut rng)?;
        state.take(chain, rng.position(), params.whole("warmup"), params.whole("thin"));
        let total = params.whole("warmup") + params.whole("sweeps");
        Ok(Progress::of(state.n_sweeps, total).with("clusters", state.mixture.n_clusters() as f64))
    }

    fn finish(&self, task: &Task<'_>, params: &Params, state: Waves) -> Result<BankModel> {
        BankModel::new(task, params, state)
    }
}

impl Waves {
    /// Puts a sweep in the place of the one before, and keeps its draw if it is its turn.
    fn take(&mut self, chain: Chain, position: u64, warmup: usize, thin: usize) {
        self.n_sweeps = self.n_sweeps.saturating_add(1);
        self.position = position;
        let after = self.n_sweeps.saturating_sub(warmup);
        if after <= thin {
            // What the warm-up left is there for a run that is stopped before the first draw.
            (self.kept_frequencies, self.kept_coef, self.kept_clusters) = (vec![], vec![], vec![]);
        }
        if after <= thin || after.is_multiple_of(thin) {
            self.kept_frequencies.extend_from_slice(chain.frequencies.data());
            self.kept_coef.extend_from_slice(&chain.coef);
            self.kept_clusters.push(chain.mixture.n_clusters());
        }
        (self.frequencies, self.mixture, self.coef) = (chain.frequencies, chain.mixture, chain.coef);
        (self.amplitude, self.accepted) = (chain.amplitude, chain.accepted);
    }
}
