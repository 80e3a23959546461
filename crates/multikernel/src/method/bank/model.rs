//! Predictions averaged over draws.

use super::Bank;
use super::Waves;
use crate::dist::normal_cdf;
use crate::error::{Error, Result};
use crate::file::record;
use crate::linalg::{Matrix, dot};
use crate::method::machine::Told;
use crate::pool::Pool;
use crate::run::{Explain, Input, Predict, Probabilistic, Task};
use crate::simd::sin_cos;

record! {
    /// The linear models of the kept draws on cosines and sines of their frequencies; their probabilities are averaged.
    /// Scores are probabilities.
    ///
    /// Cost of a score: D sines and cosines for each draw.
    #[derive(Clone, Debug)]
    pub struct BankModel {
        n_features: usize,
        /// Frequencies of all draws, one per row.
        frequencies: Matrix,
        /// One draw per row: coefficients of cosines, of sines, and the bias.
        coef: Matrix,
        told: Told,
        warnings: Vec<String>,
    }
}

impl BankModel {
    pub(super) fn new(task: &Task<'_>, method: &Bank, state: Waves) -> Result<BankModel> {
        let (d, count) = (task.rows()?.n_cols(), method.frequencies);
        let (draws, warmup) = (state.kept_clusters.len(), method.warmup);
        let early = state.n_sweeps < warmup + method.thin;
        let warning = format!(
            "stopped after {} sweeps, before the first draw that is kept: only the last sweep is predicted with; give it more \
             time",
            state.n_sweeps
        );
        let least = state.kept_clusters.iter().min().copied().unwrap_or(0);
        let most = state.kept_clusters.iter().max().copied().unwrap_or(0);
        let proposed = (state.n_sweeps as f64 * count as f64).max(1.0);
        let told = vec![
            ("draws".into(), format!("{draws} of {} sweeps after {warmup}", state.n_sweeps.saturating_sub(warmup))),
            ("clusters of frequencies".into(), format!("from {least} to {most}")),
            ("frequencies accepted".into(), format!("{:.0} %", 100.0 * state.accepted as f64 / proposed)),
        ];
        Ok(BankModel {
            n_features: d,
            frequencies: Matrix::from_vec(draws * count, d, state.kept_frequencies)?,
            coef: Matrix::from_vec(draws, 2 * count + 1, state.kept_coef)?,
            told: Told(told),
            warnings: if early { vec![warning] } else { vec![] },
        })
    }

    /// The probability that a row belongs to the first class.
    fn probability(&self, row: &[f64]) -> f64 {
        let count = self.coef.n_cols() / 2;
        let (mut angles, mut cos, mut sin) = (vec![0.0; count], vec![0.0; count], vec![0.0; count]);
        let mut sum = 0.0;
        for (k, coef) in self.coef.rows().enumerate() {
            let frequencies = (k * count..(k + 1) * count).map(|i| self.frequencies.row(i));
            angles.iter_mut().zip(frequencies).for_each(|(angle, frequency)| *angle = dot(frequency, row));
            sin_cos(&angles, &mut sin, &mut cos);
            sum += normal_cdf(dot(&coef[..count], &cos) + dot(&coef[count..2 * count], &sin) + coef[2 * count]);
        }
        let mean = sum / self.coef.n_rows() as f64;
        // Angles that overflow carry no information.
        if mean.is_nan() { 0.5 } else { mean }
    }
}

impl Predict for BankModel {
    fn scores(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        let rows = input.rows()?;
        if rows.n_cols() != self.n_features {
            let (found, needed) = (rows.n_cols(), self.n_features);
            return Err(Error::input(format!("new rows have {found} features, training rows {needed}")));
        }
        let mut found = Matrix::zeros(rows.n_rows(), 2);
        pool.chunks_mut(found.data_mut(), 2, |i, out| {
            let first = self.probability(rows.row(i));
            out.copy_from_slice(&[first, 1.0 - first]);
        });
        Ok(found)
    }

    fn check(&self, _: usize, n_classes: usize) -> Result<()> {
        let (draws, count) = (self.coef.n_rows(), self.coef.n_cols() / 2);
        let fits = n_classes == 2
            && draws > 0
            && self.coef.n_cols() == 2 * count + 1
            && draws.checked_mul(count) == Some(self.frequencies.n_rows())
            && self.frequencies.n_cols() == self.n_features;
        if fits { Ok(()) } else { Err(Error::input("its arrays do not fit together")) }
    }

    fn probabilistic(&self) -> Option<&dyn Probabilistic> {
        Some(self)
    }
}

impl Explain for BankModel {
    fn facts(&self) -> Vec<(String, String)> {
        self.told.0.clone()
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }
}

impl Probabilistic for BankModel {}
