//! The model on landmarks: the posterior mean of the Gaussian model.

use super::variance::{OfNumbers, Variance};
use crate::data::Target;
use crate::error::{Error, Result};
use crate::file::record;
use crate::linalg::Matrix;
use crate::method::ends::EndModel;
use crate::method::machine::{IsNumbers, Told};
use crate::method::problems::positive_classes;
use crate::pool::Pool;
use crate::run::{Additive, Decision, Explain, Input, Predict, Regressor, Task, model_by_target};

record! {
    /// Functions `f_t(x) = sum_m sum_i coef_imt k_m(x_i, x) + bias_t`, with coefficients of their own for each kernel: the
    /// numbers, or for classes +1 (the class) and -1 (the others), of which the largest decides.
    ///
    /// Cost of a score: one kernel value per landmark and kernel with nonzero weight. Numbers have variances, F^2 / 2 products
    /// each for F features.
    #[derive(Clone, Debug)]
    pub struct PosteriorModel {
        weights: Vec<f64>,
        points: Vec<usize>,
        /// One row per point, the functions of the first kernel with nonzero weight first.
        coef: Matrix,
        bias: Vec<f64>,
        /// The class or number of each function.
        functions: Vec<usize>,
        n_outputs: usize,
        is_numbers: IsNumbers,
        variance: OfNumbers,
        warnings: Vec<String>,
        told: Told,
    }
}

/// The classes or numbers that have functions.
pub(super) fn functions(task: &Task<'_>) -> Vec<usize> {
    match task.target {
        Target::Classes => positive_classes(task.labels),
        Target::Numbers(numbers) => (0..numbers.n_targets()).collect(),
        Target::Times(_) => vec![0],
    }
}

/// What a model has besides its coefficients.
pub(super) struct Decided {
    pub(super) functions: Vec<usize>,
    pub(super) bias: Vec<f64>,
    /// The kernel weights, which sum to 1.
    pub(super) weights: Vec<f64>,
    /// The landmarks that the kernels with nonzero weight use.
    pub(super) points: Vec<usize>,
}

impl PosteriorModel {
    /// The model of a task on its points, from the coefficients of all kernels at them.
    pub(super) fn new(task: &Task<'_>, decided: Decided, coef: &Matrix, variance: Option<Variance>) -> PosteriorModel {
        let Decided { functions, bias, weights, points } = decided;
        let c = functions.len();
        let used: Vec<usize> = (0..weights.len() * c).filter(|k| weights[k / c] != 0.0).collect();
        PosteriorModel {
            coef: coef.select_cols(&used).select_rows(&points),
            weights,
            points,
            bias,
            functions,
            n_outputs: task.n_outputs(),
            is_numbers: IsNumbers(matches!(task.target, Target::Numbers(_))),
            variance: OfNumbers(variance),
            warnings: vec![],
            told: Told::default(),
        }
    }

    /// Adds facts about how it was trained, and a warning for the user.
    #[must_use]
    pub(super) fn with(mut self, facts: Vec<(String, String)>, warning: Option<String>) -> PosteriorModel {
        self.told.0.extend(facts);
        self.warnings.extend(warning);
        self
    }

    /// The points given as places among `rows`.
    #[must_use]
    pub(super) fn of_rows(mut self, rows: &[usize]) -> PosteriorModel {
        self.points.iter_mut().for_each(|point| *point = rows[*point]);
        self
    }
}

impl Predict for PosteriorModel {
    fn scores(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        let found = input.stack()?.collect(&self.coef, pool)?;
        let mut scores = Matrix::zeros(found.n_rows(), self.n_outputs);
        scores.data_mut().fill(f64::NEG_INFINITY);
        for (i, row) in found.rows().enumerate() {
            let scores = scores.row_mut(i);
            for ((value, bias), &function) in row.iter().zip(&self.bias).zip(&self.functions) {
                scores[function] = value + bias;
            }
            if let ([first, second], false) = (scores, self.is_numbers.0) {
                *second = -*first;
            }
        }
        Ok(scores)
    }

    fn points(&self) -> &[usize] {
        &self.points
    }

    fn kernels(&self) -> Option<Vec<usize>> {
        Some((0..self.weights.len()).filter(|&m| self.weights[m] != 0.0).collect())
    }

    fn check(&self, n_kernels: usize, n_outputs: usize) -> Result<()> {
        let used = self.weights.iter().filter(|&&weight| weight != 0.0).count();
        let is_finite = |values: &[f64]| values.iter().all(|value| value.is_finite());
        let all: Vec<usize> = (0..n_outputs).collect();
        // Two classes have one function, that of the first.
        let functions = match (self.is_numbers.0, n_outputs) {
            (true, _) => self.functions == all,
            (false, 2) => self.functions == [0],
            (false, _) => self.functions.is_sorted_by(|a, b| a < b) && self.functions.iter().all(|&c| c < n_outputs),
        };
        let fits = self.weights.len() == n_kernels
            && is_finite(&self.weights)
            && used > 0
            && self.n_outputs == n_outputs
            && functions
            && !self.functions.is_empty()
            && self.bias.len() == self.functions.len()
            && is_finite(&self.bias)
            && self.coef.n_rows() == self.points.len()
            && Some(self.coef.n_cols()) == used.checked_mul(self.bias.len())
            && is_finite(self.coef.data());
        if !fits {
            return Err(Error::input("its arrays do not fit together"));
        }
        self.variance.0.as_ref().map_or(Ok(()), |variance| variance.check(used, self.points.len(), n_outputs))
    }

    fn regressor(&self) -> Option<&dyn Regressor> {
        if self.is_numbers.0 { Some(self) } else { None }
    }

    fn additive(&self) -> Option<&dyn Additive> {
        Some(self)
    }
}

impl Regressor for PosteriorModel {
    fn variances(&self, input: Input<'_>, pool: &Pool) -> Result<Option<Matrix>> {
        self.variance.0.as_ref().map(|variance| variance.at(input.stack()?, pool)).transpose()
    }
}

impl Additive for PosteriorModel {
    fn decisions(&self) -> Vec<Decision> {
        match (self.is_numbers.0, self.n_outputs) {
            (false, 2) => vec![Decision::Between(0, 1)],
            _ => self.functions.iter().map(|&function| Decision::For(function)).collect(),
        }
    }

    fn biases(&self) -> Vec<f64> {
        self.bias.clone()
    }

    fn parts(&self, input: Input<'_>, pool: &Pool) -> Result<Vec<Matrix>> {
        let (stack, c) = (input.stack()?, self.bias.len());
        let part = |k: usize| {
            let own = Matrix::from_fn(self.coef.n_rows(), c, |i, t| self.coef.get(i, k * c + t));
            Ok(stack.pick(&[k])?.apply(&own, pool)?.remove(0))
        };
        (0..stack.n_kernels()).map(part).collect()
    }
}

impl Explain for PosteriorModel {
    fn weights(&self) -> Option<&[f64]> {
        Some(&self.weights)
    }

    fn has_own_coefficients(&self) -> bool {
        true
    }

    fn facts(&self) -> Vec<(String, String)> {
        let mut facts = vec![("training rows kept".into(), self.points.len().to_string())];
        facts.extend(self.told.0.iter().cloned());
        facts
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }
}

model_by_target! {
    /// The model of `evidence`: on all rows, or on landmarks.
    pub enum EvidenceEnd {
        /// A machine on the weighted kernels.
        Machine(EndModel),
        /// The mean of the Gaussian model.
        Posterior(PosteriorModel) as "posterior",
    }
}
