//! Predictions: the approximate posterior of the latent function at new points, and the logistic function averaged over
//! it.

use super::Search;
use super::laplace::Laplace;
use crate::dist::normal_cdf;
use crate::error::{Error, Result};
use crate::file::record;
use crate::linalg::{Matrix, dot};
use crate::method::machine::Told;
use crate::method::problems::positive_classes;
use crate::pool::Pool;
use crate::run::{Explain, Input, Predict, Probabilistic, Task};

record! {
    /// Gaussian processes on one kernel, one per two-class problem. Scores are probabilities.
    ///
    /// The variance of a prediction starts from the kernel between a new point and itself: 1 for unit-diagonal kernels,
    /// the mean over the training rows for others.
    ///
    /// Cost of a score: one kernel value per training row, and N^2 / 2 products per two-class problem.
    #[derive(Clone, Debug)]
    pub struct GpcModel {
        weights: Vec<f64>,
        kernel: usize,
        points: Vec<usize>,
        /// The positive class of each problem.
        problems: Vec<usize>,
        n_classes: usize,
        /// Mean functions: N x problems.
        coef: Matrix,
        /// Square roots of curvatures: N x problems.
        roots: Matrix,
        /// The factors of all problems, lower triangles with the diagonal, row by row.
        factors: Vec<f64>,
        /// The kernel between a point and itself.
        diagonal: f64,
        told: Told,
        warnings: Vec<String>,
    }
}

/// The sum of error functions that approximates the logistic function (Williams and Barber 1998): widths and
/// coefficients.
const WIDTHS: [f64; 5] = [0.41, 0.4, 0.37, 0.44, 0.39];
const COEFFICIENTS: [f64; 5] = [-1_854.821_415_1, 3_516.898_936_46, 221.293_467_12, 128.123_238_05, -2_010.494_226_54];

/// The logistic function averaged over a normal distribution.
pub(super) fn averaged(mean: f64, variance: f64) -> f64 {
    let one = |(width, coefficient): (&f64, &f64)| {
        coefficient * normal_cdf(width * mean / (0.5 + variance * width * width).sqrt())
    };
    WIDTHS.iter().zip(&COEFFICIENTS).map(one).sum::<f64>().clamp(0.0, 1.0)
}

impl GpcModel {
    pub(super) fn new(
        task: &Task<'_>,
        search: &Search,
        kernel: usize,
        diagonal: f64,
        laplace: &[Laplace],
    ) -> Result<GpcModel> {
        let stack = task.stack()?;
        let (n, n_kernels) = (task.n_samples(), stack.n_kernels());
        let amplitude = search.amplitude[kernel];
        let mut weights = vec![0.0; n_kernels];
        weights[kernel] = amplitude;
        let factor = |laplace: &Laplace| -> Vec<f64> {
            laplace.factor.lower().rows().enumerate().flat_map(|(i, row)| row[..=i].to_vec()).collect()
        };
        let told = vec![
            ("kernel".into(), format!("{} of {n_kernels}: {}", kernel + 1, stack.kernels()[kernel])),
            ("amplitude".into(), format!("{amplitude:.4}")),
            ("log evidence".into(), format!("{:.2}", search.evidence[kernel])),
        ];
        Ok(GpcModel {
            weights,
            kernel,
            points: (0..n).collect(),
            problems: positive_classes(task.labels),
            n_classes: task.labels.n_classes(),
            coef: Matrix::from_fn(n, laplace.len(), |i, p| laplace[p].coef[i]),
            roots: Matrix::from_fn(n, laplace.len(), |i, p| laplace[p].roots[i]),
            factors: laplace.iter().flat_map(factor).collect(),
            diagonal: if stack.kernels()[kernel].has_unit_diagonal() { 1.0 } else { diagonal },
            told: Told(told),
            warnings: warnings(search, n_kernels),
        })
    }

    /// Mean and variance of a problem's latent function at a point with these kernel values.
    fn latent(&self, p: usize, kernels: &[f64]) -> (f64, f64) {
        let (n, amplitude) = (self.points.len(), self.weights[self.kernel]);
        let mean = kernels.iter().zip(self.coef.rows()).map(|(kernel, coef)| amplitude * kernel * coef[p]).sum();
        let factor = &self.factors[p * (n * (n + 1) / 2)..];
        let mut solved: Vec<f64> = Vec::with_capacity(n);
        for (i, (kernel, root)) in kernels.iter().zip(self.roots.rows()).enumerate() {
            let row = &factor[i * (i + 1) / 2..][..=i];
            solved.push((amplitude * kernel * root[p] - dot(&row[..i], &solved)) / row[i]);
        }
        (mean, (amplitude * self.diagonal - dot(&solved, &solved)).max(0.0))
    }

    /// The probabilities for one point.
    fn decide(&self, kernels: &[f64], out: &mut [f64]) {
        if self.n_classes == 2 {
            let (mean, variance) = self.latent(0, kernels);
            out.copy_from_slice(&[averaged(mean, variance), averaged(-mean, variance)]);
        } else {
            for (p, &class) in self.problems.iter().enumerate() {
                let (mean, variance) = self.latent(p, kernels);
                out[class] = averaged(mean, variance);
            }
        }
        let sum: f64 = out.iter().sum();
        if sum > 0.0 {
            out.iter_mut().for_each(|value| *value /= sum);
        }
    }
}

fn warnings(search: &Search, n_kernels: usize) -> Vec<String> {
    let without: Vec<String> = (0..search.evidence.len())
        .filter(|&m| search.evidence[m] == f64::NEG_INFINITY)
        .map(|m| m.to_string())
        .collect();
    let mut warnings = vec![];
    if !without.is_empty() {
        warnings.push(format!(
            "kernels that are not positive semi-definite have no evidence and were left out: {} (counted from 0)",
            without.join(", ")
        ));
    }
    if search.evidence.len() < n_kernels {
        let looked = search.evidence.len();
        warnings.push(format!(
            "stopped after {looked} of {n_kernels} kernels: the best of these was taken; give it more time"
        ));
    }
    warnings
}

impl Predict for GpcModel {
    fn scores(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        let one = Matrix::from_vec(1, 1, vec![1.0])?;
        let kernel = input.stack()?.combine(&one, pool)?.remove(0);
        let mut found = Matrix::zeros(kernel.n_rows(), self.n_classes);
        pool.chunks_mut(found.data_mut(), self.n_classes, |i, out| self.decide(kernel.row(i), out));
        Ok(found)
    }

    fn points(&self) -> &[usize] {
        &self.points
    }

    fn kernels(&self) -> Option<Vec<usize>> {
        Some(vec![self.kernel])
    }

    fn check(&self, n_kernels: usize, n_classes: usize) -> Result<()> {
        let (n, c) = (self.points.len(), self.problems.len());
        let factor = n.checked_mul(n + 1).map(|twice| twice / 2);
        let shape = |matrix: &Matrix| (matrix.n_rows(), matrix.n_cols());
        let fits = self.weights.len() == n_kernels
            && self.kernel < n_kernels
            && self.weights.iter().enumerate().all(|(m, &weight)| (weight != 0.0) == (m == self.kernel))
            && self.n_classes == n_classes
            && if n_classes == 2 { c == 1 } else { self.problems.iter().all(|&class| class < n_classes) }
            && shape(&self.coef) == (n, c)
            && shape(&self.roots) == (n, c)
            && factor.and_then(|factor| factor.checked_mul(c)) == Some(self.factors.len());
        if fits { Ok(()) } else { Err(Error::input("its arrays do not fit together")) }
    }

    fn probabilistic(&self) -> Option<&dyn Probabilistic> {
        Some(self)
    }
}

impl Explain for GpcModel {
    fn weights(&self) -> Option<&[f64]> {
        Some(&self.weights)
    }

    fn facts(&self) -> Vec<(String, String)> {
        self.told.0.clone()
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }
}

impl Probabilistic for GpcModel {}
