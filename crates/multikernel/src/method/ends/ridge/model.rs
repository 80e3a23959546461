//! Predictions of a Gaussian process: the mean and the variance of each number.

use super::{Fit, numbers};
use crate::dist::normal_quantile;
use crate::error::{Error, Result};
use crate::file::record;
use crate::linalg::{Matrix, dot};
use crate::method::machine::{Told, weighted_parts};
use crate::pool::Pool;
use crate::run::{Additive, Coefficients, Decision, Explain, Input, Predict, Regressor, Task};

record! {
    /// Kernel ridge regression with predictive variances, on fixed kernel weights. Scores are the predicted means.
    ///
    /// Cost of a mean: one kernel value per training row and kernel with nonzero weight; of a variance, N^2 / 2
    /// products more. The factor takes 4 N^2 bytes.
    #[derive(Clone, Debug)]
    pub struct RidgeModel {
        weights: Vec<f64>,
        points: Vec<usize>,
        coef: Coefficients,
        /// The factor of `K + r I`: its lower triangle with the diagonal, row by row.
        factor: Vec<f64>,
        /// The amplitude of each number.
        amplitudes: Vec<f64>,
        /// The noise relative to the amplitude.
        ratio: f64,
        warnings: Vec<String>,
        told: Told,
    }
}

impl RidgeModel {
    pub(super) fn new(weights: Vec<f64>, fit: Fit, task: &Task<'_>, warning: Option<String>) -> Result<RidgeModel> {
        let n = task.n_samples();
        let held_out = HeldOut::of(&fit, task)?;
        let noise: Vec<String> = fit.amplitudes.iter().map(|a| format!("{:.4}", (a * fit.ratio).sqrt())).collect();
        let told = vec![
            ("log evidence of the numbers".into(), format!("{:.2}", fit.evidence)),
            ("noise of the numbers".into(), format!("{} standard deviations of the target", noise.join(", "))),
            ("leave-one-out R2".into(), held_out.r2.iter().map(|r2| format!("{r2:.4}")).collect::<Vec<_>>().join(", ")),
            ("leave-one-out 90 % intervals".into(), format!("hold {:.1} % of the rows", 100.0 * held_out.coverage)),
        ];
        let lower = fit.factor.lower();
        Ok(RidgeModel {
            weights,
            points: (0..n).collect(),
            coef: Coefficients::new(&fit.solved),
            factor: lower.rows().enumerate().flat_map(|(i, row)| row[..=i].to_vec()).collect(),
            amplitudes: fit.amplitudes,
            ratio: fit.ratio,
            warnings: warning.into_iter().collect(),
            told: Told(told),
        })
    }

    /// Adds facts about how the weights were found.
    #[must_use]
    pub(in crate::method) fn with_facts(mut self, facts: Vec<(String, String)>) -> RidgeModel {
        self.told.0.extend(facts);
        self
    }

    /// Adds a warning for the user.
    #[must_use]
    pub(in crate::method) fn with_warning(mut self, warning: Option<String>) -> RidgeModel {
        self.warnings.extend(warning);
        self
    }

    /// Turns a model trained on a subset, `rows`, into one over all training rows.
    #[must_use]
    pub(in crate::method) fn of_rows(mut self, rows: &[usize]) -> RidgeModel {
        self.points.iter_mut().for_each(|point| *point = rows[*point]);
        self
    }

    /// The weights that are not zero, as a column.
    fn used(&self) -> Result<Matrix> {
        let weights: Vec<f64> = self.weights.iter().copied().filter(|&weight| weight != 0.0).collect();
        Matrix::from_vec(weights.len(), 1, weights)
    }

    /// `k' (K + r I)^-1 k` for the kernel values of a point.
    fn explained(&self, kernel: &[f64]) -> f64 {
        let mut solved: Vec<f64> = Vec::with_capacity(kernel.len());
        for (i, value) in kernel.iter().enumerate() {
            let row = &self.factor[i * (i + 1) / 2..][..=i];
            solved.push((value - dot(&row[..i], &solved)) / row[i]);
        }
        dot(&solved, &solved)
    }
}

/// How the training rows are predicted by the others: with `H = (K + r I)^-1`, the residual of row i is `(H y)_i /
/// H_ii` and its variance `a / H_ii` (Rasmussen and Williams 2006, 5.12).
struct HeldOut {
    r2: Vec<f64>,
    coverage: f64,
}

impl HeldOut {
    fn of(fit: &Fit, task: &Task<'_>) -> Result<HeldOut> {
        let y = numbers(task)?.values();
        let n = y.n_rows();
        let inverse = fit.factor.inverse(task.pool, &|| false)?;
        let wide = normal_quantile(0.95);
        let (mut r2, mut inside) = (vec![], 0usize);
        for (t, amplitude) in fit.amplitudes.iter().enumerate() {
            let mean = y.column(t).iter().sum::<f64>() / n.max(1) as f64;
            let (mut rest, mut all) = (0.0, 0.0);
            for i in 0..n {
                let residual = fit.solved.get(i, t) / inverse.get(i, i);
                inside += usize::from(residual.abs() <= wide * (amplitude / inverse.get(i, i)).sqrt());
                rest += residual * residual;
                all += (y.get(i, t) - mean).powi(2);
            }
            r2.push(if all > 0.0 { 1.0 - rest / all } else { 0.0 });
        }
        Ok(HeldOut { r2, coverage: inside as f64 / (n * fit.amplitudes.len()).max(1) as f64 })
    }
}

impl Predict for RidgeModel {
    fn scores(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        let bias = vec![0.0; self.coef.n_decisions()];
        self.coef.decisions_on(input.stack()?, self.used()?.into_data(), &bias, pool)
    }

    fn points(&self) -> &[usize] {
        &self.points
    }

    fn kernels(&self) -> Option<Vec<usize>> {
        Some((0..self.weights.len()).filter(|&m| self.weights[m] != 0.0).collect())
    }

    fn check(&self, n_kernels: usize, n_outputs: usize) -> Result<()> {
        let n = self.points.len();
        let triangle = n.checked_add(1).and_then(|next| n.checked_mul(next)).map(|twice| twice / 2);
        let diagonal = |i: usize| self.factor[i * (i + 3) / 2];
        let fits = self.weights.len() == n_kernels
            && self.weights.iter().all(|weight| weight.is_finite())
            && self.coef.n_points() == n
            && self.coef.n_decisions() == n_outputs
            && self.amplitudes.len() == n_outputs
            && self.amplitudes.iter().all(|amplitude| amplitude.is_finite() && *amplitude > 0.0)
            && self.ratio.is_finite()
            && self.ratio > 0.0
            && triangle == Some(self.factor.len())
            && (0..n).all(|i| diagonal(i) > 0.0);
        if fits { Ok(()) } else { Err(Error::input("its arrays do not fit together")) }
    }

    fn regressor(&self) -> Option<&dyn Regressor> {
        Some(self)
    }

    fn additive(&self) -> Option<&dyn Additive> {
        Some(self)
    }
}

impl Additive for RidgeModel {
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

impl Regressor for RidgeModel {
    fn variances(&self, input: Input<'_>, pool: &Pool) -> Result<Option<Matrix>> {
        let (stack, weights) = (input.stack()?, self.used()?);
        let gram = stack.combine(&weights, pool)?.remove(0);
        let selves = stack.selves(pool)?;
        let mut found = Matrix::zeros(gram.n_rows(), self.amplitudes.len());
        pool.chunks_mut(found.data_mut(), self.amplitudes.len(), |i, found| {
            let own = dot(selves.row(i), weights.data());
            let function = (own - self.explained(gram.row(i))).max(0.0);
            found.iter_mut().zip(&self.amplitudes).for_each(|(found, a)| *found = a * (function + self.ratio));
        });
        Ok(Some(found))
    }
}

impl Explain for RidgeModel {
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
