//! Predictions averaged over draws.

use super::chain::{AMPLITUDE_DEVIATION, WIDTH_DEVIATION};
use super::{Bsvm, Chains, squared_distance};
use crate::draws::{Draws, Variable};
use crate::error::{Error, Result};
use crate::file::{Field, Record, record};
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
        amplitudes: Amplitudes,
        biases: Vec<f64>,
        /// Likewise, N coefficients each.
        coef: Vec<f64>,
        told: Told,
        warnings: Vec<String>,
    }
}

/// Draws of the amplitude, which older files lack: predictions do without.
#[derive(Clone, Debug)]
struct Amplitudes(Vec<f64>);

impl Field for Amplitudes {
    fn put(&self, name: &str, record: &mut Record) {
        record.put(name, &self.0);
    }

    fn take(name: &str, record: &Record) -> Result<Self> {
        Ok(Amplitudes(if record.has(name) { record.take(name)? } else { vec![] }))
    }
}

/// Above this the halves of a chain are said to disagree: [`Draws::verdict`] has the same.
const LARGEST_R_HAT: f64 = 1.05;

impl BsvmModel {
    pub(super) fn new(task: &Task<'_>, method: &Bsvm, state: Chains) -> Result<BsvmModel> {
        let problems = positive_classes(task.labels);
        let draws = state.widths.len() / problems.len().max(1);
        let warmup = method.warmup;
        let early = (state.n_sweeps < warmup + method.thin).then(|| {
            format!(
                "stopped after {} sweeps, before the first draw that is kept: only the last sweep is predicted with; give it \
                 more time",
                state.n_sweeps
            )
        });
        let told = vec![
            ("draws".into(), format!("{draws} of {} sweeps after {warmup}", state.n_sweeps.saturating_sub(warmup))),
            ("width".into(), quantiles(&state.widths)),
            ("amplitude".into(), quantiles(&state.amplitudes)),
        ];
        let mut model = BsvmModel {
            rows: task.rows()?.clone(),
            problems,
            n_classes: task.labels.n_classes(),
            widths: state.widths,
            amplitudes: Amplitudes(state.amplitudes),
            biases: state.biases,
            coef: state.coef,
            told: Told(told),
            warnings: early.into_iter().collect(),
        };
        if let Some(worst) = model.largest_r_hat() {
            model.told.0.push(("R-hat".into(), format!("{worst:.3}, the largest of width and amplitude")));
            if worst > LARGEST_R_HAT {
                model.warnings.push(format!(
                    "the two halves of the chain disagree on width or amplitude (largest R-hat {worst:.3}, {LARGEST_R_HAT} is the \
                     most that is fine): their intervals are not to be trusted; raise warmup and sweeps"
                ));
            }
        }
        Ok(model)
    }

    /// The largest R-hat of the halves of the chains; `None` if there are too few draws to tell.
    fn largest_r_hat(&self) -> Option<f64> {
        let found = self.draws()?.summary().into_iter().map(|one| one.diagnosis.r_hat).filter(|r_hat| !r_hat.is_nan());
        found.reduce(f64::max)
    }

    /// A variable with a number for each problem; the prior is that of its logarithm.
    fn variable(&self, name: &str, values: &[f64], (mean, deviation): (f64, f64)) -> Option<Variable> {
        let c = self.problems.len();
        let ends = [-MIDDLE, MIDDLE].map(|end| exp(mean + end * deviation));
        let classes = self.problems.iter().map(usize::to_string);
        Some(Variable {
            name: name.into(),
            dimension: (c > 1).then(|| "class".into()),
            coordinates: if c > 1 { classes.collect() } else { vec![] },
            values: Matrix::from_vec(values.len() / c, c, values.to_vec()).ok()?,
            prior: Some(ends.into()),
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

/// The middle 90 % of a standard normal distribution end here.
const MIDDLE: f64 = 1.644_853_626_951_472_6;

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
            && [0, self.widths.len()].contains(&self.amplitudes.0.len())
            && self.widths.len().checked_mul(n) == Some(self.coef.len());
        if fits { Ok(()) } else { Err(Error::input("its arrays do not fit together")) }
    }
}

impl Explain for BsvmModel {
    fn draws(&self) -> Option<Draws> {
        let of_width = (super::ln_median(&super::distances(&self.rows, &Pool::new(1).ok()?).ok()?), WIDTH_DEVIATION);
        let mut variables = vec![self.variable("width", &self.widths, of_width)?];
        if !self.amplitudes.0.is_empty() {
            variables.push(self.variable("amplitude", &self.amplitudes.0, (0.0, AMPLITUDE_DEVIATION))?);
        }
        Draws::new(1, variables).ok()
    }

    fn facts(&self) -> Vec<(String, String)> {
        self.told.0.clone()
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }
}
