//! Predictions averaged over draws.

use super::Bsvm;
use super::{Chains, squared_distance};
use crate::error::{Error, Result};
use crate::file::record;
use crate::linalg::Matrix;
use crate::method::machine::Told;
use crate::method::problems::positive_classes;
use crate::pool::Pool;
use crate::run::{Explain, Input, Predict, Task};
use crate::simd::exp;

record! {
    /// The decision functions of the kept draws, averaged.
    ///
    /// Cost of a score: one exponential per training row, class and draw.
    #[derive(Clone, Debug)]
    pub struct BsvmModel {
        rows: Matrix,
        /// The positive class of each problem.
        problems: Vec<usize>,
        n_classes: usize,
        /// Draw by draw, one for each problem.
        widths: Vec<f64>,
        biases: Vec<f64>,
        /// Likewise, N coefficients each.
        coef: Vec<f64>,
        told: Told,
        warnings: Vec<String>,
    }
}

impl BsvmModel {
    pub(super) fn new(task: &Task<'_>, method: &Bsvm, state: Chains) -> Result<BsvmModel> {
        let problems = positive_classes(task.labels);
        let draws = state.widths.len() / problems.len().max(1);
        let warmup = method.warmup;
        let early = state.n_sweeps < warmup + method.thin;
        let warning = format!(
            "stopped after {} sweeps, before the first draw that is kept: only the last sweep is predicted with; give it more \
             time",
            state.n_sweeps
        );
        let told = vec![
            ("draws".into(), format!("{draws} of {} sweeps after {warmup}", state.n_sweeps.saturating_sub(warmup))),
            ("width".into(), quantiles(&state.widths)),
            ("amplitude".into(), quantiles(&state.amplitudes)),
        ];
        Ok(BsvmModel {
            rows: task.rows()?.clone(),
            problems,
            n_classes: task.labels.n_classes(),
            widths: state.widths,
            biases: state.biases,
            coef: state.coef,
            told: Told(told),
            warnings: if early { vec![warning] } else { vec![] },
        })
    }

    /// The averaged decision of each problem for a row.
    fn decide(&self, row: &[f64]) -> Vec<f64> {
        let (n, c) = (self.rows.n_rows(), self.problems.len());
        let distances: Vec<f64> = self.rows.rows().map(|other| squared_distance(row, other)).collect();
        let mut sums = vec![0.0; c];
        for (k, (width, bias)) in self.widths.iter().zip(&self.biases).enumerate() {
            let rate = 0.5 / (width * width);
            let coef = &self.coef[k * n..(k + 1) * n];
            sums[k % c] += bias + coef.iter().zip(&distances).map(|(coef, d)| coef * exp(-rate * d)).sum::<f64>();
        }
        let draws = (self.widths.len() / c) as f64;
        sums.iter().map(|sum| sum / draws).collect()
    }
}

/// The median and the 90 % interval.
fn quantiles(values: &[f64]) -> String {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let at = |part: f64| sorted.get((part * sorted.len() as f64) as usize).copied().unwrap_or(f64::NAN);
    format!("{:.3} (90 % of draws from {:.3} to {:.3})", at(0.5), at(0.05), at(0.95))
}

impl Predict for BsvmModel {
    fn scores(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        let rows = input.rows()?;
        if rows.n_cols() != self.rows.n_cols() {
            let (found, needed) = (rows.n_cols(), self.rows.n_cols());
            return Err(Error::input(format!("new rows have {found} features, training rows {needed}")));
        }
        let mut found = Matrix::from_fn(rows.n_rows(), self.n_classes, |_, _| f64::NEG_INFINITY);
        pool.chunks_mut(found.data_mut(), self.n_classes, |i, out| {
            let decisions = self.decide(rows.row(i));
            if self.n_classes == 2 {
                return out.copy_from_slice(&[decisions[0], -decisions[0]]);
            }
            self.problems.iter().zip(decisions).for_each(|(&class, decision)| out[class] = decision);
        });
        Ok(found)
    }

    fn check(&self, _: usize, n_classes: usize) -> Result<()> {
        let (n, c) = (self.rows.n_rows(), self.problems.len());
        let fits = self.n_classes == n_classes
            && c > 0
            && if n_classes == 2 { c == 1 } else { self.problems.iter().all(|&class| class < n_classes) }
            && !self.widths.is_empty()
            && self.widths.len().is_multiple_of(c)
            && self.biases.len() == self.widths.len()
            && self.widths.len().checked_mul(n) == Some(self.coef.len());
        if fits { Ok(()) } else { Err(Error::input("its arrays do not fit together")) }
    }
}

impl Explain for BsvmModel {
    fn facts(&self) -> Vec<(String, String)> {
        self.told.0.clone()
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }
}
