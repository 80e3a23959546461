//! `bank`: Bayesian nonparametric kernel learning, by Gibbs sampling.

mod chain;
#[cfg(test)]
mod geweke;
mod model;
#[cfg(test)]
mod tests;

use chain::{AMPLITUDE, Chain, Target, prior};
pub use model::BankModel;

use super::problems::sides;
use super::weighted::misfit;
use crate::dist::normal;
use crate::error::{Error, Result};
use crate::file::{Cache, record};
use crate::linalg::Matrix;
use crate::mixture::Mixture;
use crate::run::{About, Allowed, Control, Method, Needs, Progress, State, Task, params};

params! {
    /// A kernel whose spectrum is learned (Oliva, Dubey, Wilson, Poczos, Schneider and Xing 2016): random Fourier
    /// frequencies from a Dirichlet-process mixture of Gaussians, and a linear two-class model on their cosines and
    /// sines. So the kernel can be any stationary kernel, not one from a list.
    ///
    /// A sweep draws utilities given the labels, coefficients given the utilities, each frequency, and the clusters of
    /// frequencies. Labels follow a probit with sampled utilities (Albert and Chib 1993), which is our choice: it makes
    /// every step but the frequency update an exact draw. A frequency is proposed from the distribution of its own
    /// cluster, and accepted with its two coefficients integrated out, so that a frequency does not get stuck on its
    /// current coefficients. Priors: frequency clusters have mean 0 and expected covariance I / d (full up to 20
    /// columns, else diagonal), the variance of the decision function is inverse gamma (1, 5), the bias N(0, 4).
    ///
    /// Probabilities are the probit's, averaged over the kept draws. More than two classes are rejected: use `cik`.
    ///
    /// Cost of a sweep: 4 N D^2 operations, good for about ten thousand rows. Memory: about 6 N D numbers. A model
    /// keeps D (d + 2) numbers for each draw.
    pub struct Bank {
        /// number of frequencies D: features are their cosines and sines
        frequencies: usize = 384, Allowed::Whole(1, 10_000);
        /// sweeps before the first draw that is kept
        warmup: usize = 50, Allowed::Whole(0, 1_000_000);
        /// sweeps after the warm-up
        sweeps: usize = 100, Allowed::Whole(1, 1_000_000);
        /// every so many sweeps one draw is kept for predictions; at most as many as there are sweeps
        thin: usize = 5, Allowed::Whole(1, 10_000);
        /// concentration of the mixture of frequencies: more gives more clusters
        alpha: f64 = 1.0, Allowed::Positive;
    }
}

record! {
    /// State of the chain, and the draws kept so far.
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
        /// Draw by draw, D d frequencies and 2 D + 1 coefficients each; only the last sweep during warm-up.
        kept_frequencies: Vec<f64>,
        kept_coef: Vec<f64>,
        /// The number of clusters in each draw.
        kept_clusters: Vec<usize>,
        columns: Cache<Matrix>,
    }
}

impl Method for Bank {
    type State = Waves;

    fn about(&self) -> About {
        About {
            name: "bank",
            summary: "two classes by a kernel whose spectrum is a sampled mixture of Gaussians",
            needs: Needs::Rows,
            bank: "",
        }
    }
}

impl State<Bank> for Waves {
    type Model = BankModel;

    fn init(method: &Bank, task: &Task<'_>) -> Result<Waves> {
        let (thin, sweeps) = (method.thin, method.sweeps);
        if thin > sweeps {
            return Err(Error::param("thin", format!("must be at most the {sweeps} sweeps, got {thin}")));
        }
        let n_classes = task.labels.n_classes();
        if n_classes != 2 {
            let message = format!("bank is for two classes, these data have {n_classes}; take cik");
            return Err(Error::param("method", message));
        }
        let (d, count) = (task.rows()?.n_cols(), method.frequencies);
        let mut rng = task.rng(0, 0);
        let prior = prior(d, method.alpha);
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

    fn check(&self, method: &Bank, task: &Task<'_>) -> Result<()> {
        let (d, count) = (task.rows()?.n_cols(), method.frequencies);
        let draws = self.kept_clusters.len();
        let fits = (self.frequencies.n_rows(), self.frequencies.n_cols()) == (count, d)
            && task.labels.n_classes() == 2
            && self.coef.len() == 2 * count + 1
            && self.amplitude > 0.0
            && draws.checked_mul(count * d) == Some(self.kept_frequencies.len())
            && draws.checked_mul(2 * count + 1) == Some(self.kept_coef.len())
            && (self.n_sweeps > 0) == (draws > 0);
        if fits { self.mixture.check(count, d) } else { Err(misfit()) }
    }

    fn step(&mut self, method: &Bank, task: &Task<'_>, control: &Control) -> Result<Progress> {
        let stop = || control.stop().is_some();
        let rows = task.rows()?;
        let columns = self.columns.get_or_make(|| Ok(rows.transposed()))?;
        let sides = sides(task.labels).into_data();
        let target = Target { columns, sides: &sides, pool: task.pool, stop: &stop };
        let mut chain = Chain {
            frequencies: self.frequencies.clone(),
            mixture: self.mixture.clone(),
            coef: self.coef.clone(),
            amplitude: self.amplitude,
            accepted: self.accepted,
        };
        let mut rng = task.rng(0, self.position);
        target.sweep(&mut chain, &mut rng)?;
        self.take(chain, rng.position(), method.warmup, method.thin);
        let total = method.warmup + method.sweeps;
        Ok(Progress::of(self.n_sweeps, total).with("clusters", self.mixture.n_clusters() as f64))
    }

    fn finish(self, method: &Bank, task: &Task<'_>) -> Result<BankModel> {
        BankModel::new(task, method, self)
    }
}

impl Waves {
    /// Replaces the previous sweep with this one, and keeps its draw if it is due.
    fn take(&mut self, chain: Chain, position: u64, warmup: usize, thin: usize) {
        self.n_sweeps = self.n_sweeps.saturating_add(1);
        self.position = position;
        let after = self.n_sweeps.saturating_sub(warmup);
        if after <= thin {
            // The warm-up draw is there for runs stopped before the first kept draw.
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
