//! The model of numbers: draws, whose mean functions are one function of each kernel.

use super::model::{Bm3klModel, draws, mean_weights};
use super::spread::Spread;
use crate::draws::Draws;
use crate::error::{Error, Result};
use crate::file::record;
use crate::linalg::Matrix;
use crate::method::machine::Told;
use crate::pool::Pool;
use crate::run::{Additive, Decision, Explain, Input, Predict, Regressor, model_by_target};

record! {
    /// Draws of kernel weights, functions and noise. A predicted number is the mean over draws. Its variance is the mean
    /// over draws of that of the function at the row and of the noise, and the variance of the mean functions among
    /// draws.
    ///
    /// Cost of a prediction: N P operations per kept draw (up to 100), and N more per number; N^2 / 2 more per draw and
    /// number for variances.
    #[derive(Clone, Debug)]
    pub struct Bm3klNumbers {
        points: Vec<usize>,
        n_chains: usize,
        /// Draws (chain by chain) x kernels.
        weights: Matrix,
        /// Draws x 2: of the functions, and of the noise.
        log_variances: Matrix,
        log_posterior: Vec<f64>,
        /// For the draws used in prediction: kept x kernels, or one row if weights were not learned.
        kept_weights: Matrix,
        /// Points x (kept x numbers).
        coef: Matrix,
        /// Kept x numbers.
        bias: Matrix,
        /// The variance of the noise in each kept draw.
        noise: Vec<f64>,
        /// The mean weights.
        mean: Vec<f64>,
        /// Parameter of the Dirichlet prior; 0 if weights were not learned.
        eta: f64,
        warnings: Vec<String>,
        told: Told,
        spread: Spread,
    }
}

/// The parts of a model.
pub(super) struct NumbersSample {
    pub(super) points: Vec<usize>,
    pub(super) n_chains: usize,
    pub(super) weights: Matrix,
    pub(super) log_variances: Matrix,
    pub(super) log_posterior: Vec<f64>,
    pub(super) kept_weights: Matrix,
    /// Rows x (kept x numbers).
    pub(super) coef: Matrix,
    pub(super) bias: Matrix,
    pub(super) noise: Vec<f64>,
    pub(super) eta: f64,
    pub(super) spread: Spread,
}

impl Bm3klNumbers {
    pub(super) fn new(sample: NumbersSample, warnings: Vec<String>, mut facts: Vec<(String, String)>) -> Bm3klNumbers {
        let noise = (sample.noise.iter().sum::<f64>() / sample.noise.len().max(1) as f64).sqrt();
        facts.push(("noise of the numbers".into(), format!("{noise:.4} standard deviations of the target")));
        let mut model = Bm3klNumbers {
            coef: sample.coef.select_rows(&sample.points),
            points: sample.points,
            n_chains: sample.n_chains,
            mean: mean_weights(&sample.weights),
            weights: sample.weights,
            log_variances: sample.log_variances,
            log_posterior: sample.log_posterior,
            kept_weights: sample.kept_weights,
            bias: sample.bias,
            noise: sample.noise,
            eta: sample.eta,
            warnings,
            told: Told(facts),
            spread: sample.spread,
        };
        model.warnings.extend(model.draws().and_then(|draws| draws.verdict()));
        model
    }

    /// The mean function of each draw and number (columns, draw by draw) at each row.
    fn functions(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        let stack = input.stack()?;
        let mixture = stack.mixture(&self.kept_weights.transposed(), pool)?;
        let mut functions = stack.decide(&mixture, &self.coef, pool)?;
        for i in 0..functions.n_rows() {
            functions.row_mut(i).iter_mut().zip(self.bias.data()).for_each(|(f, bias)| *f += bias);
        }
        Ok(functions)
    }

    /// The mean over draws of one number at a row, and the variance among them.
    fn over_draws(&self, functions: &[f64], number: usize) -> (f64, f64) {
        let (kept, n_numbers) = (self.bias.n_rows() as f64, self.bias.n_cols());
        let of_draws = || functions.iter().skip(number).step_by(n_numbers);
        let mean = of_draws().sum::<f64>() / kept;
        (mean, of_draws().map(|f| (f - mean) * (f - mean)).sum::<f64>() / kept)
    }
}

impl Predict for Bm3klNumbers {
    fn scores(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        let functions = self.functions(input, pool)?;
        let mean = |i: usize, number: usize| self.over_draws(functions.row(i), number).0;
        Ok(Matrix::from_fn(functions.n_rows(), self.bias.n_cols(), mean))
    }

    fn points(&self) -> &[usize] {
        &self.points
    }

    fn check(&self, n_kernels: usize, n_outputs: usize) -> Result<()> {
        let (n_draws, kept) = (self.weights.n_rows(), self.bias.n_rows());
        let fits = self.weights.n_cols() == n_kernels
            && self.mean.len() == n_kernels
            && self.n_chains > 0
            && n_draws.is_multiple_of(self.n_chains)
            && self.log_posterior.len() == n_draws
            && (self.log_variances.n_rows(), self.log_variances.n_cols()) == (n_draws, 2)
            && kept > 0
            && [1, kept].contains(&self.kept_weights.n_rows())
            && self.kept_weights.n_cols() == n_kernels
            && self.bias.n_cols() == n_outputs
            && Some(self.coef.n_cols()) == kept.checked_mul(n_outputs)
            && self.coef.n_rows() == self.points.len()
            && self.noise.len() == kept
            && self.noise.iter().all(|noise| *noise >= 0.0)
            && self.spread.fits(kept, n_outputs, self.points.len())
            && self.eta >= 0.0;
        if fits {
            Ok(())
        } else {
            Err(Error::input("its arrays do not fit together; the file was not written by this method"))
        }
    }

    fn regressor(&self) -> Option<&dyn Regressor> {
        Some(self)
    }

    fn additive(&self) -> Option<&dyn Additive> {
        Some(self)
    }
}

impl Regressor for Bm3klNumbers {
    fn variances(&self, input: Input<'_>, pool: &Pool) -> Result<Option<Matrix>> {
        let functions = self.functions(input, pool)?;
        let mut found = self.spread.variances(input.stack()?, &self.kept_weights, self.bias.n_cols(), pool)?;
        let noise = self.noise.iter().sum::<f64>() / self.noise.len() as f64;
        for i in 0..found.n_rows() {
            for (number, value) in found.row_mut(i).iter_mut().enumerate() {
                *value += noise + self.over_draws(functions.row(i), number).1;
            }
        }
        Ok(Some(found))
    }
}

impl Additive for Bm3klNumbers {
    fn decisions(&self) -> Vec<Decision> {
        (0..self.bias.n_cols()).map(Decision::For).collect()
    }

    fn biases(&self) -> Vec<f64> {
        let bias = self.bias.rows().collect::<Vec<_>>().concat();
        (0..self.bias.n_cols()).map(|number| self.over_draws(&bias, number).0).collect()
    }

    /// The mean over draws of `w_m K_m a`: one function of each kernel.
    fn parts(&self, input: Input<'_>, pool: &Pool) -> Result<Vec<Matrix>> {
        let (stack, kept) = (input.stack()?, self.bias.n_rows());
        let (n_kernels, n_numbers) = (self.mean.len(), self.bias.n_cols());
        let weight = |draw: usize, m: usize| self.kept_weights.get(draw % self.kept_weights.n_rows(), m);
        let coef = Matrix::from_fn(self.coef.n_rows(), n_kernels * n_numbers, |i, k| {
            let (m, number) = (k / n_numbers, k % n_numbers);
            let of_draw = |draw: usize| weight(draw, m) * self.coef.get(i, draw * n_numbers + number);
            (0..kept).map(of_draw).sum::<f64>() / kept as f64
        });
        let each = Matrix::from_fn(n_kernels, n_kernels, |m, k| f64::from(u8::from(m == k)));
        let found = stack.decide(&stack.mixture(&each, pool)?, &coef, pool)?;
        let columns = |m: usize| (m * n_numbers..(m + 1) * n_numbers).collect::<Vec<usize>>();
        Ok((0..n_kernels).map(|m| found.select_cols(&columns(m))).collect())
    }
}

impl Explain for Bm3klNumbers {
    fn weights(&self) -> Option<&[f64]> {
        Some(&self.mean)
    }

    fn draws(&self) -> Option<Draws> {
        draws(self.n_chains, self.eta, &self.weights, &self.log_variances, &self.log_posterior)
    }

    fn facts(&self) -> Vec<(String, String)> {
        self.told.0.clone()
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }
}

model_by_target! {
    /// The model of `bm3kl`, for the target.
    pub enum Bm3klEnd {
        /// Classes.
        Classes(Bm3klModel),
        /// Numbers.
        Numbers(Bm3klNumbers) as "numbers",
    }
}
