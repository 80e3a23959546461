//! `obscure`: online-batch strongly convex multiple kernel learning (Orabona, Luo and Caputo 2010).

use super::batch::{Rule, StreamMethod, StreamState};
use super::expansion::Expansion;
use super::learner::{self, Streamed};
use super::model::StreamModel;
use super::power::{dual_power, q_norm};
use crate::error::Result;
use crate::file::record;
use crate::kernel::DEFAULT_BANK;
use crate::linalg::Matrix;
use crate::method::weighted::misfit;
use crate::run::{About, Allowed, Begin, Learner, Method, Needs, Task, params};

params! {
    /// Minimises `lambda/2 |w|_{2,p}^2` plus the mean hinge loss, `lambda = 1/(c N)`, in two stages. The first is a
    /// perceptron with a margin and constant steps, which ends after an epoch without a mistake; its objective bounds
    /// the norm of the optimum. The second takes subgradient steps whose sizes follow from that bound, and stays within
    /// it. The weights are `w_f = (1/q) (|theta_f| / |theta|_q)^(q-2) theta_f` with coefficients that all kernels
    /// share, and 1/p + 1/q = 1. Norms are kept up to date as rows are learned, and the kernel weights follow them
    /// after each block of 64 rows in which they may have changed by more than one part in 64. Step sizes are those of
    /// kernels with unit diagonal.
    pub struct Obscure {
        /// trade-off: lambda is 1/(c N)
        c: f64 = 1.0, Allowed::Number(1e-6, 1e9);
        /// norm over the kernels, from sparse (1, raised to 1/(1 - 1/(2 ln P))) to even (2)
        p: f64 = 1.0, Allowed::Number(1.0, 2.0);
        /// passes over the rows in each stage
        epochs: usize = 5, Allowed::Whole(1, 1000);
        /// for very many rows: points drawn at random that alone carry coefficients; 0 for none, which is exact
        landmarks: usize = 0, Allowed::Whole(0, 20_000);
    }
}

impl Method for Obscure {
    type State = StreamState<TwoStages>;

    fn about(&self) -> About {
        About {
            name: "obscure",
            summary: "OBSCURE: a perceptron with a margin, then subgradients of the p-norm over kernels",
            needs: Needs::Pass,
            bank: DEFAULT_BANK,
        }
    }

    fn n_squares(&self) -> usize {
        0
    }

    fn learner(&self, begin: &Begin<'_>) -> Result<Option<Box<dyn Learner>>> {
        Ok(Some(Box::new(Streamed::<StreamStage>::begin(self, begin)?)))
    }
}

impl StreamMethod for Obscure {
    fn landmarks(&self) -> usize {
        self.landmarks
    }
}

record! {
    /// Kernel weights, stage and step size.
    #[derive(Clone, Debug)]
    pub struct TwoStages {
        lambda: f64,
        q: f64,
        epochs: u64,
        /// Epochs of the first stage: at most the requested number, fewer once one had no mistake.
        first: u64,
        /// Whether the second stage has started, the rows of this stage, and the rows learned in this epoch.
        second: bool,
        time: u64,
        learned: u64,
        /// theta is this factor times the coefficients.
        shrink: f64,
        /// |theta|_q, without what was learned since the norms were last refreshed.
        norm: f64,
        /// |w|_{2,p} at the last refresh, without the factor `shrink`.
        length: f64,
        /// Bound on the squared norm of the optimum, and the accumulated extra strong convexity.
        bound: f64,
        tau: f64,
        weights: Matrix,
    }
}

impl TwoStages {
    fn new(method: &Obscure, n_samples: usize, n_kernels: usize) -> TwoStages {
        let p = method.p;
        let q = if p > 1.0 { (1.0 / (1.0 - 1.0 / p)).min(dual_power(n_kernels)) } else { dual_power(n_kernels) };
        let epochs = method.epochs as u64;
        TwoStages {
            lambda: 1.0 / (method.c * n_samples as f64),
            q,
            epochs,
            first: epochs,
            second: false,
            time: 0,
            learned: 0,
            shrink: 1.0,
            norm: 0.0,
            length: 0.0,
            bound: 1.0,
            tau: 0.0,
            weights: Matrix::from_fn(n_kernels, 1, |_, _| (n_kernels as f64).powf(2.0 / q - 1.0) / q),
        }
    }

    /// The step size of the first stage.
    fn eta(&self) -> f64 {
        (self.weights.n_rows() as f64).powf(-2.0 / self.q)
    }

    /// Kernel weights from `|theta_f|^2` over all classes.
    fn follow(&mut self, norms: &Matrix) {
        let theta: Vec<f64> = norms.data().iter().map(|norm| norm.max(0.0).sqrt()).collect();
        let total = q_norm(&theta, self.q);
        if !(total > 0.0 && total.is_finite()) {
            return;
        }
        self.norm = self.shrink * total;
        let weight = |f: usize| (theta[f] / total).powf(self.q - 2.0) / self.q;
        self.weights = Matrix::from_fn(theta.len(), 1, |f, _| weight(f));
        let lengths: Vec<f64> = theta.iter().zip(self.weights.data()).map(|(theta, weight)| theta * weight).collect();
        self.length = q_norm(&lengths, 1.0 / (1.0 - 1.0 / self.q));
    }

    /// Advances by a row of the second stage.
    fn second(&mut self, learned: bool) -> f64 {
        let (lambda, q) = (self.lambda, self.q);
        let n_kernels = self.weights.n_rows() as f64;
        let reach = if learned { n_kernels.powf(1.0 / q) * std::f64::consts::SQRT_2 } else { 0.0 };
        let gradient = reach + lambda / q * self.norm;
        let a = lambda * self.time as f64 + self.tau;
        self.tau += 0.5 * ((a * a + q * gradient * gradient / self.bound).sqrt() - a);
        let eta = q / (lambda * self.time as f64 + self.tau);
        self.scale(1.0 - eta * lambda / q);
        let delta = eta / self.shrink;
        let most = q * self.bound.sqrt();
        if self.norm > most {
            self.scale(most / self.norm);
        }
        delta
    }

    fn scale(&mut self, by: f64) {
        self.shrink *= by;
        self.norm *= by;
    }

    /// The objective, from the scores of all rows.
    fn objective(&self, task: &Task<'_>, expansion: &Expansion) -> Result<f64> {
        let margins = expansion.margins(task, &self.weights)?;
        let loss: f64 = margins.iter().map(|margin| (1.0 - self.shrink * margin).max(0.0)).sum();
        let length = self.shrink * self.length;
        Ok(0.5 * self.lambda * length * length + loss / task.n_samples() as f64)
    }
}

impl Rule for TwoStages {
    type Method = Obscure;
    const NORMS: bool = true;

    fn begin(method: &Obscure, task: &Task<'_>, n_kernels: usize) -> Result<Self> {
        Ok(TwoStages::new(method, task.n_samples(), n_kernels))
    }

    fn check(&self, n_kernels: usize, _: usize) -> Result<()> {
        if self.weights.n_rows() == n_kernels && self.weights.n_cols() == 1 { Ok(()) } else { Err(misfit()) }
    }

    fn n_epochs(&self) -> u64 {
        self.first.saturating_add(self.epochs)
    }

    fn weights(&self) -> &Matrix {
        &self.weights
    }

    fn threshold(&self) -> f64 {
        1.0 / self.shrink
    }

    fn time(&self) -> u64 {
        self.time
    }

    fn next(&mut self, learned: bool) -> f64 {
        self.time += 1;
        self.learned = self.learned.saturating_add(u64::from(learned));
        if self.second { self.second(learned) } else { self.eta() }
    }

    fn refresh(&mut self, norms: &Matrix) {
        self.follow(norms);
    }

    fn turn(&mut self, task: &Task<'_>, epoch: u64, expansion: &mut Expansion) -> Result<()> {
        let done = std::mem::take(&mut self.learned) == 0;
        if !self.second && (done || epoch == self.epochs) {
            self.bound = 2.0 * self.objective(task, expansion)? / self.lambda;
            (self.first, self.second, self.time) = (epoch, true, 0);
        }
        Ok(())
    }

    fn model(&self, _: &Task<'_>, mut expansion: Expansion) -> Result<StreamModel> {
        expansion.coefficients.data_mut().iter_mut().for_each(|c| *c *= self.shrink);
        let model = StreamModel::new(&expansion.points, &expansion.coefficients, &self.weights);
        Ok(model.with_facts(vec![("epochs of the first stage".into(), self.first.to_string())]))
    }
}

record! {
    /// The first stage, which does not need the length of the stream.
    #[derive(Clone, Debug)]
    pub(super) struct StreamStage {
        inner: TwoStages,
    }
}

impl learner::Rule for StreamStage {
    type Method = Obscure;

    const POOLED: bool = true;

    fn begin(method: &Obscure, n_kernels: usize) -> Result<Self> {
        Ok(StreamStage { inner: TwoStages::new(method, 1, n_kernels) })
    }

    fn weights(&self) -> &Matrix {
        &self.inner.weights
    }

    fn threshold(&self) -> f64 {
        1.0
    }

    fn delta(&self) -> f64 {
        self.inner.eta()
    }

    fn refresh(&mut self, norms: &Matrix, _: u64, _: f64) {
        self.inner.follow(norms);
    }
}
