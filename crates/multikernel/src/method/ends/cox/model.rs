//! Predictions of Cox's model: the log risk of each row, and the baseline hazard.

use super::{Fit, PartialLikelihood, times};
use crate::error::{Error, Result};
use crate::file::record;
use crate::linalg::Matrix;
use crate::method::machine::{Told, weighted_parts};
use crate::pool::Pool;
use crate::run::{Additive, Coefficients, Decision, Explain, Input, Predict, Survival, Task};

record! {
    /// Cox's model on fixed kernel weights. The score of a row is its log risk.
    ///
    /// Cost of a score: one kernel value per training row and kernel with nonzero weight.
    #[derive(Clone, Debug)]
    pub struct CoxModel {
        weights: Vec<f64>,
        points: Vec<usize>,
        coef: Coefficients,
        /// The times of events in the training rows, ascending, and the cumulated baseline hazard at each.
        times: Vec<f64>,
        hazard: Vec<f64>,
        warnings: Vec<String>,
        told: Told,
    }
}

impl CoxModel {
    pub(super) fn new(weights: Vec<f64>, fit: &Fit, task: &Task<'_>, warnings: Vec<String>) -> Result<CoxModel> {
        let (n, rows) = (task.n_samples(), times(task)?);
        let coef = Matrix::from_fn(n, 1, |i, _| fit.amplitude * fit.slope[i]);
        let (event_times, hazard) = PartialLikelihood::new(rows).baseline(&fit.risks);
        let spread = {
            let mean = fit.risks.iter().sum::<f64>() / n.max(1) as f64;
            (fit.risks.iter().map(|f| (f - mean).powi(2)).sum::<f64>() / n.max(1) as f64).sqrt()
        };
        let told = vec![
            ("events".into(), format!("{} of {n} rows", rows.n_events())),
            ("log evidence of the times".into(), format!("{:.2} (Laplace)", fit.evidence)),
            ("log risks".into(), format!("standard deviation {spread:.3}")),
        ];
        let coef = Coefficients::new(&coef);
        let points = (0..n).collect();
        Ok(CoxModel { weights, points, coef, times: event_times, hazard, warnings, told: Told(told) })
    }

    /// Adds facts about how the weights were found.
    #[must_use]
    pub(in crate::method) fn with_facts(mut self, facts: Vec<(String, String)>) -> CoxModel {
        self.told.0.extend(facts);
        self
    }

    /// Adds a warning for the user.
    #[must_use]
    pub(in crate::method) fn with_warning(mut self, warning: Option<String>) -> CoxModel {
        self.warnings.extend(warning);
        self
    }

    /// Turns a model trained on a subset, `rows`, into one over all training rows.
    #[must_use]
    pub(in crate::method) fn of_rows(mut self, rows: &[usize]) -> CoxModel {
        self.points.iter_mut().for_each(|point| *point = rows[*point]);
        self
    }
}

impl Predict for CoxModel {
    fn scores(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        let weights: Vec<f64> = self.weights.iter().copied().filter(|&weight| weight != 0.0).collect();
        self.coef.decisions_on(input.stack()?, weights, &[0.0], pool)
    }

    fn points(&self) -> &[usize] {
        &self.points
    }

    fn kernels(&self) -> Option<Vec<usize>> {
        Some((0..self.weights.len()).filter(|&m| self.weights[m] != 0.0).collect())
    }

    fn check(&self, n_kernels: usize, n_outputs: usize) -> Result<()> {
        let ascends =
            |values: &[f64]| values.is_sorted() && values.iter().all(|value| value.is_finite() && *value >= 0.0);
        let fits = self.weights.len() == n_kernels
            && n_outputs == 1
            && self.coef.n_points() == self.points.len()
            && self.coef.n_decisions() == 1
            && self.times.len() == self.hazard.len()
            && ascends(&self.times)
            && ascends(&self.hazard);
        if fits { Ok(()) } else { Err(Error::input("its arrays do not fit together")) }
    }

    fn survival(&self) -> Option<&dyn Survival> {
        Some(self)
    }

    fn additive(&self) -> Option<&dyn Additive> {
        Some(self)
    }
}

impl Additive for CoxModel {
    fn decisions(&self) -> Vec<Decision> {
        (0..self.coef.n_decisions()).map(Decision::For).collect()
    }

    fn biases(&self) -> Vec<f64> {
        vec![0.0; self.coef.n_decisions()]
    }

    fn parts(&self, input: Input<'_>, pool: &Pool) -> Result<Vec<Matrix>> {
        weighted_parts(&self.weights, &self.coef.to_matrix(), input, pool)
    }
}

impl Survival for CoxModel {
    fn baseline(&self) -> (&[f64], &[f64]) {
        (&self.times, &self.hazard)
    }
}

impl Explain for CoxModel {
    fn weights(&self) -> Option<&[f64]> {
        Some(&self.weights)
    }

    fn coefficients(&self) -> Option<&Coefficients> {
        Some(&self.coef)
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
