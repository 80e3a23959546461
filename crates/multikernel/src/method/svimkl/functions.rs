//! The model of numbers, counts and times: functions at the mean kernel weights.

use super::loss::{Loss, NumbersLoss};
use super::model::{LogisticModel, intervals, is_lawful, word};
use super::objective::{Objective, Prior};
use crate::error::{Error, Result};
use crate::file::record;
use crate::linalg::Matrix;
use crate::method::machine::{Told, weighted_parts};
use crate::pool::Pool;
use crate::run::{
    Additive, Coefficients, Decision, Explain, Input, Intervals, Predict, Regressor, Survival, model_by_target,
};
use crate::simd::exp;

/// The largest logarithm of a predicted count, so that predictions stay finite far from all training rows.
const MAX_LOG_COUNT: f64 = 700.0;

record! {
    /// Functions `f_t(x) = sum_i coef_it k(x_i, x) + bias_t` on `k = sum_m weights_m k_m`, at the mean kernel weights:
    /// numbers themselves, logarithms of the means of counts, or the log risk of Cox's model with its baseline hazard.
    ///
    /// Cost of a score: one kernel value per point and kernel. Numbers have no distribution: see [`SviMklEnd`].
    #[derive(Clone, Debug)]
    pub struct FunctionsModel {
        weights: Vec<f64>,
        points: Vec<usize>,
        coef: Coefficients,
        bias: Vec<f64>,
        /// gaussian, poisson or cox.
        loss: String,
        /// The times of events in the training rows, ascending, and the cumulated baseline hazard at each.
        times: Vec<f64>,
        hazard: Vec<f64>,
        /// Kernels whose negative eigenvalues were clipped, and their own coefficients: a column for each kernel and
        /// function.
        clipped: Vec<usize>,
        own: Matrix,
        /// As in [`LogisticModel`].
        q: String,
        shapes: Vec<f64>,
        prior: Vec<f64>,
        warnings: Vec<String>,
        told: Told,
    }
}

const COX: &str = "cox";

impl FunctionsModel {
    /// The fitted model. `baseline` are the times of events and the cumulated hazard at each; empty without times.
    pub(super) fn new(objective: &Objective<'_>, x: &[f64], (times, hazard): (Vec<f64>, Vec<f64>)) -> FunctionsModel {
        let layout = objective.layout;
        let samples = &x[layout.samples()];
        let coef = Matrix::from_fn(layout.n_points, layout.n_functions, |i, c| samples[c * layout.n_points + i]);
        let loss = match objective.loss {
            Loss::Poisson(..) => NumbersLoss::Poisson.word(),
            Loss::Cox(_) | Loss::Hazards(_) => COX,
            _ => NumbersLoss::Gaussian.word(),
        };
        FunctionsModel {
            weights: objective.means(x),
            points: objective.points.clone(),
            coef: Coefficients::new(&coef),
            bias: if layout.intercept { x[layout.intercepts()].to_vec() } else { vec![0.0; layout.n_functions] },
            loss: loss.into(),
            times,
            hazard,
            clipped: objective.clip.kernels.iter().map(|(d, ..)| *d).collect(),
            own: objective.clip.own(&coef),
            q: word(objective.distribution.family).into(),
            shapes: if layout.shaped { x[layout.shapes()].to_vec() } else { vec![0.0; layout.n_kernels] },
            prior: match objective.prior {
                Prior::Gamma { shape, rate } => vec![shape, rate],
                _ => vec![],
            },
            warnings: vec![],
            told: Told::default(),
        }
    }

    /// The functions at each point.
    fn functions(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        let used = self.kernels().unwrap_or_default();
        if self.clipped.is_empty() {
            let weights: Vec<f64> = used.iter().map(|&m| self.weights[m]).collect();
            return self.coef.decisions_on(input.stack()?, weights, &self.bias, pool);
        }
        let (coef, count) = (self.coef.to_matrix(), self.bias.len());
        let vectors = Matrix::from_fn(coef.n_rows(), used.len() * count, |i, k| {
            let (m, c) = (used[k / count], k % count);
            let own = self.clipped.iter().position(|&d| d == m);
            self.weights[m] * own.map_or(coef.get(i, c), |place| self.own.get(i, place * count + c))
        });
        let mut found = input.stack()?.collect(&vectors, pool)?;
        (0..found.n_rows()).for_each(|i| found.row_mut(i).iter_mut().zip(&self.bias).for_each(|(f, bias)| *f += bias));
        Ok(found)
    }

    fn is_of_counts(&self) -> bool {
        self.loss == NumbersLoss::Poisson.word()
    }
}

impl Predict for FunctionsModel {
    fn scores(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        let mut found = self.functions(input, pool)?;
        if self.is_of_counts() {
            found.data_mut().iter_mut().for_each(|f| *f = exp(f.min(MAX_LOG_COUNT)));
        }
        Ok(found)
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
        let is_cox = self.loss == COX;
        let own = n_outputs.checked_mul(self.clipped.len());
        let fits = self.weights.len() == n_kernels
            && self.weights.iter().all(|weight| weight.is_finite())
            && self.coef.n_points() == self.points.len()
            && self.coef.n_decisions() == n_outputs
            && self.bias.len() == n_outputs
            && self.bias.iter().all(|bias| bias.is_finite())
            && (is_cox || NumbersLoss::WORDS.contains(&self.loss.as_str()))
            && (!is_cox || n_outputs == 1)
            && self.times.len() == self.hazard.len()
            && ascends(&self.times)
            && ascends(&self.hazard)
            && self.clipped.iter().all(|&m| m < n_kernels)
            && (self.clipped.is_empty() || self.own.n_rows() == self.points.len() && Some(self.own.n_cols()) == own)
            && is_lawful(&self.q, &self.shapes, &self.prior, n_kernels);
        if fits { Ok(()) } else { Err(Error::input("its arrays do not fit together")) }
    }

    fn regressor(&self) -> Option<&dyn Regressor> {
        if self.loss == COX { None } else { Some(self) }
    }

    fn survival(&self) -> Option<&dyn Survival> {
        if self.loss == COX { Some(self) } else { None }
    }

    fn additive(&self) -> Option<&dyn Additive> {
        Some(self)
    }
}

impl Regressor for FunctionsModel {
    fn predicts_logarithms(&self) -> bool {
        self.is_of_counts()
    }
}

impl Survival for FunctionsModel {
    fn baseline(&self) -> (&[f64], &[f64]) {
        (&self.times, &self.hazard)
    }
}

impl Additive for FunctionsModel {
    fn decisions(&self) -> Vec<Decision> {
        (0..self.bias.len()).map(Decision::For).collect()
    }

    fn biases(&self) -> Vec<f64> {
        self.bias.clone()
    }

    fn parts(&self, input: Input<'_>, pool: &Pool) -> Result<Vec<Matrix>> {
        let mut parts = weighted_parts(&self.weights, &self.coef.to_matrix(), input, pool)?;
        let (used, count) = (self.kernels().unwrap_or_default(), self.bias.len());
        // Clipped kernels have coefficients of their own.
        for (place, &m) in self.clipped.iter().enumerate() {
            let Ok(at) = used.binary_search(&m) else { continue };
            let own =
                Matrix::from_fn(self.own.n_rows(), count, |i, c| self.weights[m] * self.own.get(i, place * count + c));
            parts[at] = input.stack()?.pick(&[at])?.apply(&own, pool)?.remove(0);
        }
        Ok(parts)
    }
}

impl Explain for FunctionsModel {
    fn weights(&self) -> Option<&[f64]> {
        Some(&self.weights)
    }

    fn coefficients(&self) -> Option<&Coefficients> {
        Some(&self.coef).filter(|_| self.clipped.is_empty())
    }

    fn intervals(&self) -> Option<Intervals> {
        intervals(&self.weights, &self.q, &self.shapes, &self.prior)
    }

    fn facts(&self) -> Vec<(String, String)> {
        self.told.0.clone()
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }
}

model_by_target! {
    /// The model of `svimkl` and `mklr`, for the target.
    ///
    /// Numbers have no distribution. Squared error with the penalty `lambda a'K a` is the mean of a Gaussian process whose
    /// amplitude is 1/(2 lambda) of the noise, but 90 % intervals of that process held 84 to 91 % of new rows at the default
    /// lambda. They held 89 to 91 % with `lambda=auto`; a model cannot tell which of the two it is.
    pub enum SviMklEnd {
        /// Classes.
        Classes(LogisticModel),
        /// Numbers, counts and times.
        Functions(FunctionsModel) as "functions",
    }
}

impl SviMklEnd {
    /// Adds facts about how it was trained, and a warning for the user.
    #[must_use]
    pub(super) fn with(self, facts: Vec<(String, String)>, warning: Option<String>) -> SviMklEnd {
        match self {
            SviMklEnd::Classes(model) => SviMklEnd::Classes(model.with_facts(facts).with_warning(warning)),
            SviMklEnd::Functions(mut model) => {
                model.told.0.extend(facts);
                model.warnings.extend(warning);
                SviMklEnd::Functions(model)
            }
        }
    }
}
