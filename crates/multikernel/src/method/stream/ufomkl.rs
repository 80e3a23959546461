//! `ufomkl`: Ultra-Fast Optimisation of sparse multiple kernel learning (Orabona and Luo 2011).

use super::batch::{Rule, StreamMethod, StreamState, TARGETS};
use super::expansion::Expansion;
use super::learner::{self, Streamed};
use super::model::StreamModel;
use super::power::{dual_power, q_norm};
use crate::data::TargetKind;
use crate::error::Result;
use crate::file::record;
use crate::kernel::DEFAULT_BANK;
use crate::linalg::Matrix;
use crate::method::weighted::misfit;
use crate::run::{About, Allowed, Begin, Learner, Method, Needs, Task, params};

params! {
    /// Minimises `lambda/2 |w|_{2,p}^2 + alpha |w|_{2,1}` plus the mean hinge loss by one subgradient per row, with
    /// `lambda = 1/(c N)` and p close to 1. With `theta_f = sum_n c_n Phi_f(x_n)`, the sum of all subgradients, and
    /// `v_f = max(0, |theta_f| - alpha t)`, the weights are `w_f = (v_f / |theta_f|) (v_f / |v|_q)^(q-2) theta_f /
    /// (lambda t)`: all kernels share the integer coefficients c, and all classes the kernel weights. The norms are
    /// kept up to date as rows are learned, and the weights follow them after each block of 64 rows in which they may
    /// have changed by more than one part in 64.
    ///
    /// Numbers are learned with the loss `max(0, |y - f(x)| - epsilon)`, a function for each, all of them with the
    /// same kernel weights. A row whose error is larger adds `s = min(1, (|y - f(x)| - epsilon) lambda t / k(x, x))`
    /// to its coefficient, with the sign of the error: the subgradient of the loss after the step instead of before
    /// it, so that no step leads past the number, however small lambda t still is. On a stream `f = sum_n c_n k(x_n, x)`
    /// and `s = min(c / sqrt(t), (|y - f(x)| - epsilon) / k(x, x))`.
    pub struct UfoMkl {
        /// trade-off: lambda is 1/(c N), on a stream 1/(c t); auto chooses among 0.1, 1, 10 and 100
        c: f64 = 1.0, Allowed::NumberOrAuto(1e-6, 1e9, &[0.1, 1.0, 10.0, 100.0]);
        /// weight of the group norm: above 0, kernels drop out altogether; auto chooses among 1, 0.1, 0.01 and 0
        alpha: f64 = 0.0, Allowed::NumberOrAuto(0.0, 1000.0, &[1.0, 0.1, 0.01, 0.0]);
        /// passes over the rows
        epochs: usize = 5, Allowed::Whole(1, 1000);
        /// numbers: residuals up to this cost nothing, in standard deviations of the target
        epsilon: f64 = 0.1, Allowed::Number(0.0, 10.0);
        /// for very many rows: points drawn at random that alone carry coefficients; 0 for none, which is exact
        landmarks: usize = 0, Allowed::Whole(0, 20_000);
    }
}

impl Method for UfoMkl {
    type State = StreamState<Subgradients>;

    fn about(&self) -> About {
        About {
            name: "ufomkl",
            summary: "UFO-MKL: sparse MKL by subgradients of the group norm, one row at a time",
            needs: Needs::Pass,
            bank: DEFAULT_BANK,
        }
    }

    fn n_squares(&self) -> usize {
        0
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

    fn learner(&self, begin: &Begin<'_>) -> Result<Option<Box<dyn Learner>>> {
        Ok(Some(Box::new(Streamed::<StreamSubgradients>::begin(self, begin)?)))
    }
}

impl StreamMethod for UfoMkl {
    fn landmarks(&self) -> usize {
        self.landmarks
    }

    fn epsilon(&self) -> f64 {
        self.epsilon
    }
}

record! {
    /// Kernel weights and the quantities they depend on.
    #[derive(Clone, Debug)]
    pub struct Subgradients {
        lambda: f64,
        alpha: f64,
        epochs: u64,
        time: u64,
        q: f64,
        weights: Matrix,
    }
}

impl Subgradients {
    fn new(method: &UfoMkl, n_samples: usize, n_kernels: usize) -> Subgradients {
        let q = dual_power(n_kernels);
        Subgradients {
            lambda: 1.0 / (method.c * n_samples as f64),
            alpha: method.alpha,
            epochs: method.epochs as u64,
            time: 0,
            q,
            // Unit-diagonal kernels have equal norms after the first row.
            weights: Matrix::from_fn(n_kernels, 1, |_, _| (n_kernels as f64).powf(2.0 / q - 1.0)),
        }
    }

    /// Kernel weights from `|theta_f|^2` over all functions, when the steps so far add up to `steps`.
    fn follow(&mut self, norms: &Matrix, steps: f64) {
        let theta: Vec<f64> = norms.data().iter().map(|norm| norm.max(0.0).sqrt()).collect();
        let v: Vec<f64> = theta.iter().map(|norm| (norm - self.alpha * steps).max(0.0)).collect();
        // If every kernel drops out, all rows are learned until a norm exceeds alpha t again.
        let total = q_norm(&v, self.q);
        let weight = |f: usize| if v[f] > 0.0 { v[f] / theta[f] * (v[f] / total).powf(self.q - 2.0) } else { 0.0 };
        self.weights = Matrix::from_fn(theta.len(), 1, |f, _| weight(f));
    }
}

impl Rule for Subgradients {
    type Method = UfoMkl;
    const NORMS: bool = true;

    fn begin(method: &UfoMkl, task: &Task<'_>, n_kernels: usize) -> Result<Self> {
        Ok(Subgradients::new(method, task.n_samples(), n_kernels))
    }

    fn check(&self, n_kernels: usize, _: usize) -> Result<()> {
        if self.weights.n_rows() == n_kernels && self.weights.n_cols() == 1 { Ok(()) } else { Err(misfit()) }
    }

    fn n_epochs(&self) -> u64 {
        self.epochs
    }

    fn weights(&self) -> &Matrix {
        &self.weights
    }

    fn threshold(&self) -> f64 {
        self.lambda * self.time.max(1) as f64
    }

    fn time(&self) -> u64 {
        self.time
    }

    fn next(&mut self, _: bool) -> f64 {
        self.time += 1;
        1.0
    }

    fn refresh(&mut self, norms: &Matrix) {
        self.follow(norms, self.time as f64);
    }

    fn turn(&mut self, _: &Task<'_>, _: u64, _: &mut Expansion) -> Result<()> {
        Ok(())
    }

    fn model(&self, task: &Task<'_>, expansion: Expansion) -> Result<StreamModel> {
        let is_numbers = task.target.numbers().is_some();
        let found = if self.weights.data().iter().any(|&weight| weight > 0.0) {
            let mut coefficients = expansion.averaged(self.time);
            if is_numbers {
                // Classes are compared with each other, numbers need their scale.
                coefficients.data_mut().iter_mut().for_each(|c| *c /= self.lambda);
            }
            StreamModel::new(&expansion.points, &coefficients, &self.weights)
        } else {
            let even = Matrix::from_fn(self.weights.n_rows(), 1, |_, _| 1.0 / self.weights.n_rows() as f64);
            let told =
                if is_numbers { "the mean is predicted" } else { "all scores are 0, and the first class is predicted" };
            let warning = format!("alpha = {} removed every kernel: {told}; use a smaller alpha", self.alpha);
            StreamModel::new(&[], &Matrix::zeros(0, expansion.n_functions()), &even).with_warnings(vec![warning])
        };
        Ok(found.of_numbers(is_numbers))
    }
}

record! {
    /// Subgradients on a stream of unknown length: `lambda` is `1/(c t)`, so that the margin below which a row is
    /// learned stays constant.
    #[derive(Clone, Debug)]
    pub(super) struct StreamSubgradients {
        c: f64,
        inner: Subgradients,
    }
}

impl learner::Rule for StreamSubgradients {
    type Method = UfoMkl;

    const POOLED: bool = true;

    fn begin(method: &UfoMkl, n_kernels: usize) -> Result<Self> {
        Ok(StreamSubgradients { c: method.c, inner: Subgradients::new(method, 1, n_kernels) })
    }

    fn weights(&self) -> &Matrix {
        &self.inner.weights
    }

    fn threshold(&self) -> f64 {
        1.0 / self.c
    }

    fn delta(&self) -> f64 {
        1.0
    }

    fn refresh(&mut self, norms: &Matrix, seen: u64, steps: f64) {
        self.inner.time = seen;
        self.inner.follow(norms, steps);
    }
}
