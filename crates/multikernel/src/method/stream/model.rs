//! The model of the learners in this folder: kernel weights, per class or common to all, and coefficients.

use super::expansion::{class_scores, n_functions};
use crate::error::{Error, Result};
use crate::file::{Field, Record, record};
use crate::linalg::Matrix;
use crate::method::machine::{IsNumbers, Told};
use crate::pool::Pool;
use crate::run::{Additive, Decision, Explain, Input, Predict, Regressor};
use crate::stack::Stack;

/// Where the points of each segment end, for models whose points do not share their kernel weights. Stored only if
/// there are several segments.
#[derive(Clone, Debug, Default, PartialEq)]
struct Ends(Vec<usize>);

impl Field for Ends {
    fn put(&self, name: &str, record: &mut Record) {
        if !self.0.is_empty() {
            record.put(name, &self.0);
        }
    }

    fn take(name: &str, record: &Record) -> Result<Self> {
        if record.has(name) { record.take(name).map(Ends) } else { Ok(Ends::default()) }
    }
}

record! {
    /// `g_m(x) = sum_n coef_nm sum_f weights_fm k_f(x_n, x)`, one function per class, or one for two classes, or
    /// one per number. Only points with a nonzero coefficient are kept.
    ///
    /// Cost of a score: one kernel value per point and kernel; one in total for many radial kernels on the same
    /// columns.
    #[derive(Clone, Debug)]
    pub struct StreamModel {
        support: Vec<usize>,
        coef: Matrix,
        /// P x 1 for all functions, or P x functions; those of several segments of points side by side.
        weights: Matrix,
        ends: Ends,
        is_numbers: IsNumbers,
        /// The mean of the weights over the functions; they sum to 1.
        overall: Vec<f64>,
        warnings: Vec<String>,
        told: Told,
    }
}

impl StreamModel {
    /// From all points and their coefficients; points with zero coefficients are dropped.
    pub(super) fn new(points: &[usize], coef: &Matrix, weights: &Matrix) -> StreamModel {
        let used: Vec<usize> = (0..points.len()).filter(|&i| coef.row(i).iter().any(|&c| c != 0.0)).collect();
        let points: Vec<usize> = used.iter().map(|&i| points[i]).collect();
        StreamModel::whole(&points, &coef.select_rows(&used), weights)
    }

    /// With all points, whatever their coefficients.
    pub(super) fn whole(points: &[usize], coef: &Matrix, weights: &Matrix) -> StreamModel {
        let overall: Vec<f64> = weights.rows().map(|row| row.iter().sum::<f64>()).collect();
        let total: f64 = overall.iter().sum();
        let even = 1.0 / overall.len().max(1) as f64;
        if total <= 0.0 {
            // Every kernel dropped out: all scores are 0, whatever the kernels.
            let weights = Matrix::from_fn(weights.n_rows(), weights.n_cols(), |_, _| even);
            return StreamModel::whole(points, &Matrix::zeros(coef.n_rows(), coef.n_cols()), &weights);
        }
        StreamModel {
            support: points.to_vec(),
            coef: coef.clone(),
            weights: weights.clone(),
            ends: Ends::default(),
            is_numbers: IsNumbers::default(),
            overall: overall.iter().map(|w| w / total).collect(),
            warnings: vec![],
            told: Told::default(),
        }
    }

    /// Segments of points with weights of their own, P x functions each; the last weights are the current ones.
    pub(super) fn segmented(coef: &Matrix, segments: &[(usize, Matrix)]) -> StreamModel {
        let points: Vec<usize> = (0..coef.n_rows()).collect();
        let Some((_, current)) = segments.last() else { return StreamModel::new(&[], coef, &Matrix::zeros(0, 1)) };
        let model = StreamModel::whole(&points, coef, current);
        if segments.len() == 1 {
            return model;
        }
        let n_functions = current.n_cols();
        let weight = |f: usize, column: usize| segments[column / n_functions].1.get(f, column % n_functions);
        StreamModel {
            weights: Matrix::from_fn(current.n_rows(), n_functions * segments.len(), weight),
            ends: Ends(segments.iter().map(|(end, _)| *end).collect()),
            ..model
        }
    }

    /// Says whether its functions are numbers instead of classes.
    pub(super) fn of_numbers(mut self, is_numbers: bool) -> StreamModel {
        self.is_numbers = IsNumbers(is_numbers);
        self
    }

    /// The weights of one segment: a part of the columns.
    fn weights_of(&self, segment: usize) -> Matrix {
        let n_functions = self.weights.n_cols() / self.n_segments();
        let first = segment * n_functions;
        Matrix::from_fn(self.weights.n_rows(), n_functions, |f, m| self.weights.get(f, first + m))
    }

    fn n_segments(&self) -> usize {
        self.ends.0.len().max(1)
    }

    /// Scores of the functions: the sum over the segments, each with its own weights.
    fn functions(&self, stack: &Stack, pool: &Pool) -> Result<Matrix> {
        let used = self.used();
        if self.ends.0.is_empty() {
            let mixture = stack.mixture(&self.weights.select_rows(&used), pool)?;
            return stack.decide(&mixture, &self.coef, pool);
        }
        let mut functions = Matrix::zeros(stack.n_rows(), self.coef.n_cols());
        let all: Vec<usize> = (0..stack.n_rows()).collect();
        let mut first = 0;
        for (segment, &end) in self.ends.0.iter().enumerate() {
            let points: Vec<usize> = (first..end).collect();
            first = end;
            if points.is_empty() {
                continue;
            }
            let mixture = stack.mixture(&self.weights_of(segment).select_rows(&used), pool)?;
            let part = stack.between(&all, &points)?.decide(&mixture, &self.coef.select_rows(&points), pool)?;
            functions.data_mut().iter_mut().zip(part.data()).for_each(|(sum, part)| *sum += part);
        }
        Ok(functions)
    }

    pub(super) fn with_facts(mut self, facts: Vec<(String, String)>) -> StreamModel {
        self.told = Told(facts);
        self
    }

    pub(super) fn with_warnings(mut self, warnings: Vec<String>) -> StreamModel {
        self.warnings = warnings;
        self
    }

    #[cfg(test)]
    pub(super) fn coefficients_and_weights(&self) -> (&Matrix, &Matrix) {
        (&self.coef, &self.weights)
    }

    /// Kernels with nonzero weight.
    fn used(&self) -> Vec<usize> {
        (0..self.weights.n_rows()).filter(|&f| self.weights.row(f).iter().any(|&w| w != 0.0)).collect()
    }
}

impl Predict for StreamModel {
    fn scores(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        let functions = self.functions(input.stack()?, pool)?;
        if self.is_numbers.0 {
            return Ok(functions);
        }
        let data: Vec<f64> = functions.rows().flat_map(class_scores).collect();
        let n_classes = if functions.n_cols() == 1 { 2 } else { functions.n_cols() };
        Matrix::from_vec(functions.n_rows(), n_classes, data)
    }

    fn points(&self) -> &[usize] {
        &self.support
    }

    fn kernels(&self) -> Option<Vec<usize>> {
        Some(self.used())
    }

    fn check(&self, n_kernels: usize, n_outputs: usize) -> Result<()> {
        let n_functions = if self.is_numbers.0 { n_outputs } else { n_functions(n_outputs) };
        let fits = self.coef.n_rows() == self.support.len()
            && self.coef.n_cols() == n_functions
            && self.weights.n_rows() == n_kernels
            && (self.weights.n_cols() == n_functions * self.n_segments()
                || self.ends.0.is_empty() && self.weights.n_cols() == 1)
            && self.ends.0.is_sorted()
            && self.ends.0.last().is_none_or(|&end| end == self.support.len())
            && self.overall.len() == n_kernels;
        if fits {
            Ok(())
        } else {
            Err(Error::input("its arrays do not fit together; the file was not written by this method"))
        }
    }

    fn regressor(&self) -> Option<&dyn Regressor> {
        self.is_numbers.0.then_some(self)
    }

    fn additive(&self) -> Option<&dyn Additive> {
        Some(self)
    }
}

impl Regressor for StreamModel {}

impl Additive for StreamModel {
    fn decisions(&self) -> Vec<Decision> {
        match self.coef.n_cols() {
            1 if !self.is_numbers.0 => vec![Decision::Between(1, 0)],
            n => (0..n).map(Decision::For).collect(),
        }
    }

    fn biases(&self) -> Vec<f64> {
        vec![0.0; self.coef.n_cols()]
    }

    fn parts(&self, input: Input<'_>, pool: &Pool) -> Result<Vec<Matrix>> {
        let (stack, used) = (input.stack()?, self.used());
        let mut parts = vec![Matrix::zeros(stack.n_rows(), self.coef.n_cols()); used.len()];
        let all: Vec<usize> = (0..stack.n_rows()).collect();
        let mut first = 0;
        for segment in 0..self.n_segments() {
            let end = self.ends.0.get(segment).copied().unwrap_or(self.support.len());
            let points: Vec<usize> = (first..end).collect();
            first = end;
            if points.is_empty() {
                continue;
            }
            let weights = self.weights_of(segment);
            let found = stack.between(&all, &points)?.apply(&self.coef.select_rows(&points), pool)?;
            for ((sum, found), &f) in parts.iter_mut().zip(found).zip(&used) {
                for (k, (sum, value)) in sum.data_mut().iter_mut().zip(found.data()).enumerate() {
                    // One column of weights serves all functions, or each has its own.
                    *sum += weights.get(f, k % found.n_cols() % weights.n_cols()) * value;
                }
            }
        }
        Ok(parts)
    }
}

impl Explain for StreamModel {
    fn weights(&self) -> Option<&[f64]> {
        Some(&self.overall)
    }

    fn class_weights(&self) -> Option<Matrix> {
        let weights = self.weights_of(self.n_segments() - 1);
        if weights.n_cols() == 1 || self.is_numbers.0 {
            return None;
        }
        let totals: Vec<f64> = (0..weights.n_cols()).map(|m| weights.column(m).iter().sum()).collect();
        let share = |f: usize, m: usize| if totals[m] > 0.0 { weights.get(f, m) / totals[m] } else { 0.0 };
        Some(Matrix::from_fn(weights.n_rows(), weights.n_cols(), share))
    }

    fn facts(&self) -> Vec<(String, String)> {
        let mut facts = vec![("support points".to_string(), self.support.len().to_string())];
        facts.extend(self.told.0.iter().cloned());
        facts
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }
}
