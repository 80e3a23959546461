//! `mklda`: max-margin multiple kernel learning by data augmentation (Nguyen, Le, Nguyen, Nguyen and Phung 2016).
//!
//! The group elastic net `alpha/2 |w_mf|^2 + beta |w_mf|` on the weights of class m in kernel f is written as a mixture of
//! ridges `gamma_mf = (alpha + beta^2 / lambda_mf) / N`. Given those the weights are found by stochastic gradient steps of
//! size `1/(gamma_mf t)`, which start at t = 1, so that `w_mf = (1 / (gamma_mf t)) sum_n c_nm Phi_f(x_n)` with whole
//! numbers c shared by all kernels; given the norms of the weights come new ridges.

use super::batch::{Batch, Rule};
use super::expansion::Expansion;
use super::model::Mixed;
use crate::error::{Error, Result};
use crate::kernel::DEFAULT_BANK;
use crate::linalg::Matrix;
use crate::record;
use crate::run::{About, Allowed, Needs, Param, Params, Task};
use crate::stack::Symmetric;

/// Max-margin multiple kernel learning by data augmentation, by stochastic gradients on whole-number coefficients.
pub type MklDa = Batch<Ridges>;

const PARAMS: &[Param] = &[
    Param {
        name: "variant",
        default: "stable",
        allowed: Allowed::OneOf(&["stable", "published", "gibbs"]),
        help: "stable: ridges from the norms, scale fixed; published: sampled as printed; gibbs: sampled, weights rescaled",
    },
    Param { name: "r", default: "10", allowed: Allowed::Positive, help: "stable: how far the margin outweighs the norms" },
    Param { name: "rho", default: "1", allowed: Allowed::Positive, help: "stable: evenness of the kernel weights" },
    Param { name: "epochs", default: "3", allowed: Allowed::Whole(1, 1000), help: "passes over the rows in each loop" },
    Param { name: "loops", default: "5", allowed: Allowed::Whole(1, 1000), help: "times the ridges are found anew" },
];

record! {
    /// Ridges and how they moved.
    #[derive(Clone, Debug)]
    pub struct Ridges {
        n_samples: usize,
        r: f64,
        rho: f64,
        epochs: u64,
        loops: u64,
        /// Rows since the coefficients were begun.
        time: u64,
        /// `1 / gamma_mf` up to a common factor: the mean over the functions adds up to 1.
        weights: Matrix,
        /// How far the weights moved in each loop: half the sum of differences, mean over the functions.
        moves: Vec<f64>,
        /// The loop before, for a run that is stopped early in the next.
        kept: Expansion,
        kept_weights: Matrix,
    }
}

impl Ridges {
    /// New weights of the kernels from `c_m'K_f c_m` (P x functions).
    fn reweigh(&mut self, norms: &Matrix) {
        let weights = stable(&self.weights, norms, self.rho);
        let total: f64 = weights.data().iter().zip(self.weights.data()).map(|(a, b)| (a - b).abs()).sum();
        self.moves.push(0.5 * total / weights.n_cols() as f64);
        self.weights = weights;
    }
}

/// `q = 1 / (rho + 1/s)` for norms `s_mf = d_mf sqrt(c_m'K_f c_m)` of unit root mean square; d is q with a mean over the
/// functions that adds up to 1.
fn stable(d: &Matrix, norms: &Matrix, rho: f64) -> Matrix {
    let s: Vec<f64> = d.data().iter().zip(norms.data()).map(|(d, norm)| d * norm.max(0.0).sqrt()).collect();
    let mean = (s.iter().map(|s| s * s).sum::<f64>() / s.len() as f64).sqrt();
    if !(mean > 0.0 && mean.is_finite()) {
        return d.clone();
    }
    let q = |s: f64| 1.0 / (rho + 1.0 / (s / mean).max(1e-30));
    let total: f64 = s.iter().map(|&s| q(s)).sum::<f64>() / d.n_cols() as f64;
    Matrix::from_fn(d.n_rows(), d.n_cols(), |f, m| q(s[f * d.n_cols() + m]) / total)
}

/// `c_m'K_f c_m` for all kernels f (rows) and functions m (columns).
fn norms(task: &Task<'_>, expansion: &Expansion) -> Result<Matrix> {
    let stack = task.stack()?;
    let mut norms = Matrix::zeros(stack.n_kernels(), expansion.n_functions());
    for m in 0..expansion.n_functions() {
        let (places, coefficients) = expansion.used(m);
        let points: Vec<usize> = places.iter().map(|&i| expansion.points[i]).collect();
        let c = Matrix::from_vec(coefficients.len(), 1, coefficients)?;
        let found = stack.view(&points)?.project(&[Symmetric::Factored(&c, &c)], task.pool)?;
        (0..found.n_rows()).for_each(|f| norms.set(f, m, found.get(f, 0)));
    }
    Ok(norms)
}

impl Rule for Ridges {
    const ABOUT: About = About {
        name: "mklda",
        summary: "max-margin MKL by data augmentation: stochastic gradients, kernel weights from norms, for many rows and kernels",
        needs: Needs::Pass,
        params: PARAMS,
        bank: DEFAULT_BANK,
    };
    const NORMS: bool = false;

    fn begin(params: &Params, task: &Task<'_>, n_kernels: usize) -> Result<Self> {
        let n_functions = super::expansion::n_functions(task.labels.n_classes());
        Ok(Ridges {
            n_samples: task.n_samples(),
            r: params.number("r"),
            rho: params.number("rho"),
            epochs: params.whole("epochs") as u64,
            loops: params.whole("loops") as u64,
            time: 0,
            weights: Matrix::from_fn(n_kernels, n_functions, |_, _| 1.0 / n_kernels as f64),
            moves: vec![],
            kept: Expansion::new(n_functions),
            kept_weights: Matrix::zeros(n_kernels, n_functions),
        })
    }

    fn check(&self, n_kernels: usize, n_functions: usize) -> Result<()> {
        let shapes = [&self.weights, &self.kept_weights];
        let fits = shapes.iter().all(|m| m.n_rows() == n_kernels && m.n_cols() == n_functions);
        self.kept.check(self.n_samples, n_functions)?;
        if fits { Ok(()) } else { Err(Error::input("the checkpoint's arrays do not fit the data; start anew")) }
    }

    fn n_epochs(&self) -> u64 {
        self.epochs * self.loops
    }

    fn weights(&self) -> &Matrix {
        &self.weights
    }

    fn threshold(&self) -> f64 {
        self.time.max(1) as f64 / (self.r * self.n_samples as f64)
    }

    fn time(&self) -> u64 {
        self.time
    }

    fn next(&mut self, _: bool) -> f64 {
        self.time += 1;
        1.0
    }

    fn turn(&mut self, task: &Task<'_>, epoch: u64, expansion: &mut Expansion) -> Result<()> {
        if epoch % self.epochs != 0 {
            return Ok(());
        }
        self.kept_weights = self.weights.clone();
        let averaged = expansion.averaged(self.time);
        if epoch < self.n_epochs() {
            self.reweigh(&norms(task, expansion)?);
        }
        self.kept = std::mem::replace(expansion, Expansion::new(expansion.n_functions()));
        self.kept.coefficients = averaged;
        self.time = 0;
        Ok(())
    }

    fn model(&self, _: &Task<'_>, expansion: Expansion) -> Result<Mixed> {
        // A loop that was not finished knows less than the one before it.
        let model = if self.kept.points.is_empty() {
            Mixed::new(&expansion.points, &expansion.averaged(self.time), &self.weights)
        } else {
            Mixed::new(&self.kept.points, &self.kept.coefficients, &self.kept_weights)
        };
        let moves: Vec<String> = self.moves.iter().map(|moved| format!("{moved:.3}")).collect();
        Ok(model.with_facts(vec![("kernel weights moved by".into(), moves.join(", "))]))
    }
}
