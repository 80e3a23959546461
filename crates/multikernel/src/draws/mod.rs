//! Samplers' draws: named numbers, by draw and by chain. Independent of any method.

mod diagnose;
mod export;
mod ranks;
mod summary;
#[cfg(test)]
mod tests;

pub use diagnose::{Diagnosis, diagnose};
pub use export::DrawsFormat;
pub use ranks::{rank, rank_uniformity};
pub use summary::{MEANINGS, Summary, Worst};

use crate::error::{Error, Result};
use crate::linalg::Matrix;

/// One sampled quantity, for example the kernel weights: one number per draw, or one for each kernel or class.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// One word: `weights`, `log_posterior`.
    pub name: String,
    /// What its numbers are indexed by (`kernel`, `class`); `None` for a single number.
    pub dimension: Option<String>,
    /// The names along that dimension, one per number; empty if unknown.
    pub coordinates: Vec<String>,
    /// One row per draw, chain after chain; one column per number.
    pub values: Matrix,
    /// The middle 90 % of each number under the prior, if known.
    pub prior: Option<(f64, f64)>,
}

/// All draws of one run.
///
/// ```
/// use multikernel::{Matrix, draws::{Draws, Variable}};
/// let weights = Variable {
///     name: "weights".into(),
///     dimension: Some("kernel".into()),
///     coordinates: vec!["linear".into(), "gaussian(1)".into()],
///     values: Matrix::from_vec(4, 2, vec![0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.6, 0.4])?,
///     prior: None,
/// };
/// let draws = Draws::new(2, vec![weights])?;
/// assert_eq!((draws.n_chains(), draws.n_draws()), (2, 2));
/// assert_eq!(draws.chains("weights", 0)?, vec![vec![0.1, 0.2], vec![0.3, 0.6]]);
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Draws {
    n_chains: usize,
    n_draws: usize,
    variables: Vec<Variable>,
}

impl Draws {
    /// Draws of chains of equal length: every variable has the same number of rows, a multiple of the number of chains.
    pub fn new(n_chains: usize, variables: Vec<Variable>) -> Result<Draws> {
        let rows = variables.first().map_or(0, |variable| variable.values.n_rows());
        let even = variables.iter().all(|variable| variable.values.n_rows() == rows);
        if n_chains == 0 || !rows.is_multiple_of(n_chains) || !even {
            return Err(Error::input(format!("{rows} draws cannot be {n_chains} chains of one length")));
        }
        Ok(Draws { n_chains, n_draws: rows / n_chains, variables })
    }

    /// Number of chains.
    pub fn n_chains(&self) -> usize {
        self.n_chains
    }

    /// Draws per chain.
    pub fn n_draws(&self) -> usize {
        self.n_draws
    }

    /// The sampled variables.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// The sampled variables, for naming their coordinates.
    pub(crate) fn variables_mut(&mut self) -> &mut [Variable] {
        &mut self.variables
    }

    /// The variable with this name.
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|variable| variable.name == name)
    }

    /// One number of a variable: its draws, chain by chain.
    pub fn chains(&self, name: &str, index: usize) -> Result<Vec<Vec<f64>>> {
        let missing = || Error::input(format!("no draws of `{name}` number {index}"));
        let variable = self.variable(name).filter(|v| index < v.values.n_cols()).ok_or_else(missing)?;
        let column = variable.values.column(index);
        Ok(column.chunks_exact(self.n_draws.max(1)).map(<[f64]>::to_vec).collect())
    }
}
