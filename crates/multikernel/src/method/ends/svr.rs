//! Predictions of support vector regressions on given kernel weights.

use crate::error::{Error, Result};
use crate::file::record;
use crate::linalg::Matrix;
use crate::method::machine::{Told, weighted_parts};
use crate::pool::Pool;
use crate::run::{Additive, Coefficients, Decision, Explain, Input, Predict, Regressor};

record! {
    /// One expansion `f_t(x) = sum_i coef_it k(x_i, x) + bias_t` for each number t, on `k = sum_m weights_m k_m`. Scores
    /// are the predictions; they have no distribution.
    ///
    /// Cost of a prediction: one kernel value per support point, those with a nonzero coefficient, and kernel with
    /// nonzero weight.
    #[derive(Clone, Debug)]
    pub struct SvrModel {
        weights: Vec<f64>,
        support: Vec<usize>,
        coef: Coefficients,
        bias: Vec<f64>,
        warnings: Vec<String>,
        told: Told,
    }
}

impl SvrModel {
    /// From the coefficients of all training rows; only support points are kept.
    pub(in crate::method) fn new(weights: Vec<f64>, coef: &Coefficients, bias: Vec<f64>) -> SvrModel {
        let (support, coef) = coef.support();
        SvrModel { weights, support, coef, bias, warnings: vec![], told: Told::default() }
    }

    /// Adds facts about how the machine was trained.
    #[must_use]
    pub(in crate::method) fn with_facts(mut self, facts: Vec<(String, String)>) -> SvrModel {
        self.told.0.extend(facts);
        self
    }

    /// Adds a warning for the user.
    #[must_use]
    pub(in crate::method) fn with_warning(mut self, warning: Option<String>) -> SvrModel {
        self.warnings.extend(warning);
        self
    }

    /// Turns a machine trained on a subset, `rows`, into one over all training rows.
    #[must_use]
    pub(in crate::method) fn of_rows(mut self, rows: &[usize]) -> SvrModel {
        self.support.iter_mut().for_each(|point| *point = rows[*point]);
        self
    }
}

impl Predict for SvrModel {
    fn scores(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        let weights: Vec<f64> = self.weights.iter().copied().filter(|&weight| weight != 0.0).collect();
        self.coef.decisions_on(input.stack()?, weights, &self.bias, pool)
    }

    fn points(&self) -> &[usize] {
        &self.support
    }

    fn kernels(&self) -> Option<Vec<usize>> {
        Some((0..self.weights.len()).filter(|&m| self.weights[m] != 0.0).collect())
    }

    fn check(&self, n_kernels: usize, n_outputs: usize) -> Result<()> {
        let fits = self.weights.len() == n_kernels
            && self.weights.iter().all(|weight| weight.is_finite())
            && self.coef.n_points() == self.support.len()
            && self.coef.n_decisions() == n_outputs
            && self.bias.len() == n_outputs
            && self.bias.iter().all(|bias| bias.is_finite());
        if fits { Ok(()) } else { Err(Error::input("its arrays do not fit together")) }
    }

    fn regressor(&self) -> Option<&dyn Regressor> {
        Some(self)
    }

    fn additive(&self) -> Option<&dyn Additive> {
        Some(self)
    }
}

impl Additive for SvrModel {
    fn decisions(&self) -> Vec<Decision> {
        (0..self.bias.len()).map(Decision::For).collect()
    }

    fn biases(&self) -> Vec<f64> {
        self.bias.clone()
    }

    fn parts(&self, input: Input<'_>, pool: &Pool) -> Result<Vec<Matrix>> {
        weighted_parts(&self.weights, &self.coef.to_matrix(), input, pool)
    }
}

impl Regressor for SvrModel {
    fn variances(&self, _: Input<'_>, _: &Pool) -> Result<Option<Matrix>> {
        Ok(None)
    }
}

impl Explain for SvrModel {
    fn weights(&self) -> Option<&[f64]> {
        Some(&self.weights)
    }

    fn coefficients(&self) -> Option<&Coefficients> {
        Some(&self.coef)
    }

    fn facts(&self) -> Vec<(String, String)> {
        let mut facts = vec![("support points".into(), self.support.len().to_string())];
        facts.extend(self.told.0.iter().cloned());
        facts
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }
}
