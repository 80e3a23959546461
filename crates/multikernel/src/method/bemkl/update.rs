//! A round of updates: each distribution in turn is set to the optimal one given all others.

use std::sync::Arc;

use super::beliefs::Beliefs;
use super::bound::{Bound, spread};
use super::posterior::{LN_TAU, Outputs, Precision, Samples, Weights};
use super::ridge::Ridge;
use super::{PLAIN, Prior};
use crate::data::Target;
use crate::dist::{inverse_mills, ln_gamma_function, ln_normal_cdf};
use crate::error::{Error, Result};
use crate::file::Cache;
use crate::linalg::{Matrix, axpy, dot};
use crate::method::problems::sides;
use crate::method::weighted::dense_block;
use crate::run::Task;
use crate::simd::ln;
use crate::solve::cholesky::Cholesky;
use crate::solve::product::{product, scaled_square};

/// How far beyond zero decisions must lie.
pub(super) const MARGIN: f64 = 1.0;
/// The mean of |z| for a standard normal z, which the published program draws as its start.
const MEAN_ABSOLUTE: f64 = 0.797_884_560_802_865_4;

/// The inputs of a round.
pub(super) struct Update<'a> {
    pub(super) task: &'a Task<'a>,
    /// Prior of the kernel weights.
    pub(super) prior: Prior,
    /// Variance of the noise on each kernel's output.
    pub(super) noise: f64,
    pub(super) stop: &'a (dyn Fn() -> bool + Sync),
}

/// Decisions: their means, what they add to the bound and by which spread they lower it, and the mean precision of the
/// noise on them.
pub(super) struct Decisions {
    pub(super) means: Matrix,
    pub(super) ln_target: f64,
    pub(super) spread: f64,
    pub(super) precision: f64,
}

impl Update<'_> {
    /// The distributions after one more round.
    pub(super) fn round(&self, now: &Beliefs) -> Result<Beliefs> {
        self.next(now).map(|(next, misfit)| self.rescaled(next, misfit))
    }

    /// The distributions after all updates in turn, and [`Bound::misfit`].
    pub(super) fn next(&self, now: &Beliefs) -> Result<(Beliefs, f64)> {
        let powers = match &now.powers.0 {
            Some(powers) => Arc::clone(powers),
            None => Arc::new(self.powers()?),
        };
        let begun;
        let now = if now.bounds.is_empty() {
            begun = self.begin(&powers)?;
            &begun
        } else {
            now
        };
        let outputs = self.outputs(now)?;
        let weights = self.weights(now, &outputs)?;
        let decisions = match self.task.target {
            Target::Numbers(numbers) => self.numbers(numbers.values(), &outputs, &weights, now.precision),
            _ => self.decisions(&outputs, &weights),
        };
        let c = now.samples.n_cols();
        let samples = self.samples(&powers, &outputs, &now.squares)?;
        let bound = Bound { noise: self.noise, outputs: &outputs, weights: &weights, samples: &samples };
        let mut bounds = now.bounds.clone();
        bounds.push(bound.value(&decisions));
        let (n, misfit) = (self.task.n_samples(), bound.misfit());
        let next = Beliefs {
            bounds,
            converged: false,
            samples: Matrix::from_fn(n, c, |i, p| samples[p].means[i]),
            squares: Matrix::from_fn(n, c, |i, p| samples[p].means[i].powi(2) + samples[p].variances[i]),
            precision: decisions.precision,
            decisions: decisions.means,
            weights: weights.means,
            covariance: weights.covariance,
            powers: Cache(Some(powers)),
        };
        Ok((next, misfit))
    }

    /// The same decisions with the best scale of kernel weights and sample weights ([`Ridge`]).
    fn rescaled(&self, mut now: Beliefs, misfit: f64) -> Beliefs {
        let c = now.samples.n_cols();
        let square = |k: usize| now.weights[k].powi(2) + now.covariance.get(k, k);
        let weights: Vec<f64> = (c..now.weights.len()).map(square).collect();
        let (n_kernels, rows) = (weights.len() as f64, now.samples.data().len() as f64);
        let volume = n_kernels - rows - rows * n_kernels;
        let ridge = Ridge { misfit, volume, weights: &weights, prior: self.prior, samples: now.squares.data() };
        let t = ridge.top();
        now.samples.data_mut().iter_mut().for_each(|value| *value /= t);
        now.squares.data_mut().iter_mut().for_each(|value| *value /= t * t);
        let scale = |k: usize| if k < c { 1.0 } else { t };
        for k in 0..now.weights.len() {
            now.weights[k] *= scale(k);
            now.covariance.row_mut(k).iter_mut().enumerate().for_each(|(l, value)| *value *= scale(k) * scale(l));
        }
        now
    }

    /// `sum_m K_m K_m`.
    pub(super) fn powers(&self) -> Result<Matrix> {
        let (stack, n) = (self.task.stack()?, self.task.n_samples());
        let mut powers = room(n, n)?;
        let mut m = 0;
        while m < stack.n_kernels() {
            for kernel in dense_block(self.task, stack, m)? {
                self.add_square(&kernel, &mut powers)?;
                m += 1;
            }
        }
        Ok(powers)
    }

    /// Adds `A A'` to a symmetric matrix.
    fn add_square(&self, a: &Matrix, out: &mut Matrix) -> Result<()> {
        let square = scaled_square(a, &vec![1.0; a.n_cols()], self.task.pool, self.stop)?;
        out.data_mut().iter_mut().zip(square.data()).for_each(|(out, value)| *out += value);
        Ok(())
    }

    /// The distributions before the first round: all kernel weights 1, decisions and the outputs of all kernels equal
    /// on their sides (of numbers, the numbers), and sample weights computed from these.
    pub(super) fn begin(&self, powers: &Matrix) -> Result<Beliefs> {
        let (task, n_kernels) = (self.task, self.task.stack()?.n_kernels());
        let decisions = match task.target {
            Target::Numbers(numbers) => numbers.values().clone(),
            _ => {
                let mut decisions = sides(task.labels);
                decisions.data_mut().iter_mut().for_each(|value| *value *= MARGIN + MEAN_ABSOLUTE);
                decisions
            }
        };
        let (n, c) = (decisions.n_rows(), decisions.n_cols());
        let mut means = room(n_kernels, n * c)?;
        let row = decisions.transposed().into_data();
        (0..n_kernels).for_each(|m| means.row_mut(m).copy_from_slice(&row));
        let outputs = Outputs { means, covariance: Matrix::default(), ln_determinant: 0.0 };
        // The published start: means drawn from the standard normal distribution, variances of 1.
        let squares = Matrix::from_fn(n, c, |_, _| 2.0);
        let samples = self.samples(powers, &outputs, &squares)?;
        let size = c + n_kernels;
        Ok(Beliefs {
            samples: Matrix::from_fn(n, c, |i, p| samples[p].means[i]),
            squares: Matrix::from_fn(n, c, |i, p| samples[p].means[i].powi(2) + samples[p].variances[i]),
            decisions,
            precision: 1.0,
            weights: (0..size).map(|k| if k < c { 0.0 } else { 1.0 }).collect(),
            covariance: Matrix::from_fn(size, size, |i, j| f64::from(u8::from(i == j))),
            ..Beliefs::default()
        })
    }

    /// `S = (I / noise + E[v] E[e e'])^-1`, means `S (K a / noise + E[v] E[e (f - b)])`, v the precision of the noise on
    /// decisions.
    pub(super) fn outputs(&self, now: &Beliefs) -> Result<Outputs> {
        let c = now.samples.n_cols();
        let n_kernels = now.weights.len() - c;
        let (biases, weights) = now.weights.split_at(c);
        let mut precision = room(n_kernels, n_kernels)?;
        for (m, row) in (0..n_kernels).zip(precision.data_mut().chunks_exact_mut(n_kernels)) {
            row.copy_from_slice(&now.covariance.row(c + m)[c..]);
            axpy(weights[m], weights, row);
            row.iter_mut().for_each(|value| *value *= now.precision);
            row[m] += 1.0 / self.noise;
        }
        let factor = Cholesky::new(precision, self.task.pool, self.stop)?;
        let covariance = factor.inverse(self.task.pool, self.stop)?;
        let products = self.task.stack()?.apply(&now.samples, self.task.pool)?;
        let n = self.task.n_samples();
        let mut right = room(n_kernels, c * n)?;
        self.task.pool.chunks_mut(right.data_mut(), c * n, |m, row| {
            for (p, row) in row.chunks_exact_mut(n).enumerate() {
                let less = now.precision * now.covariance.get(p, c + m);
                for (i, value) in row.iter_mut().enumerate() {
                    let rest = now.decisions.get(i, p) - biases[p];
                    *value = products[m].get(i, p) / self.noise + now.precision * (weights[m] * rest) - less;
                }
            }
        });
        drop(products);
        let means = product(&covariance, &right, self.task.pool)?;
        Ok(Outputs { means, covariance, ln_determinant: -factor.log_determinant() })
    }

    /// Precisions first, then biases and kernel weights together: the regression of the decisions on the outputs.
    pub(super) fn weights(&self, now: &Beliefs, outputs: &Outputs) -> Result<Weights> {
        let (n, c) = (now.samples.n_rows(), now.samples.n_cols());
        let (means, size) = (&outputs.means, now.weights.len());
        let precisions: Vec<Precision> = (0..size)
            .map(|k| {
                let prior = if k < c { PLAIN } else { self.prior };
                Precision::given(prior, now.weights[k].powi(2) + now.covariance.get(k, k))
            })
            .collect();
        let rows = (n * c) as f64;
        let mut square = outputs.covariance.clone();
        square.data_mut().iter_mut().for_each(|value| *value *= rows);
        self.add_square(means, &mut square)?;
        square.data_mut().iter_mut().for_each(|value| *value *= now.precision);
        let target = now.decisions.transposed();
        let mut full = room(size, size)?;
        let mut right = Matrix::zeros(size, 1);
        for (p, precision) in precisions[..c].iter().enumerate() {
            full.set(p, p, now.precision * n as f64 + precision.mean());
            right.set(p, 0, now.precision * target.row(p).iter().sum::<f64>());
        }
        // Only the lower triangle with the diagonal is read.
        for m in 0..size - c {
            let row = full.row_mut(c + m);
            row[c..].copy_from_slice(square.row(m));
            row[c + m] += precisions[c + m].mean();
            let sums = means.row(m).chunks_exact(n).map(|means| means.iter().sum::<f64>());
            row.iter_mut().zip(sums).for_each(|(out, sum)| *out = now.precision * sum);
            right.set(c + m, 0, now.precision * dot(means.row(m), target.data()));
        }
        let factor = Cholesky::new(full, self.task.pool, self.stop)?;
        Ok(Weights {
            means: factor.solve(&right)?.into_data(),
            covariance: factor.inverse(self.task.pool, self.stop)?,
            ln_determinant: -factor.log_determinant(),
            precisions,
        })
    }

    /// Normal distributions of variance 1, truncated at the margin.
    pub(super) fn decisions(&self, outputs: &Outputs, weights: &Weights) -> Decisions {
        let sides = sides(self.task.labels);
        let (n, c) = (sides.n_rows(), sides.n_cols());
        let centres = centres(outputs, weights, n, c);
        let beyond = |i: usize, p: usize| sides.get(i, p) * centres[p * n + i] - MARGIN;
        let ln_target = (0..n * c).map(|r| ln_normal_cdf(beyond(r % n, r / n))).sum();
        let mean = |i: usize, p: usize| centres[p * n + i] + sides.get(i, p) * inverse_mills(beyond(i, p));
        let spread = spread(outputs, weights, 1.0);
        Decisions { means: Matrix::from_fn(n, c, mean), ln_target, spread, precision: 1.0 }
    }

    /// The precision of the noise on numbers: with a gamma(1, 1) prior it is gamma, of shape `1 + n c / 2` and rate `1 +
    /// E|y - e'g - b|^2 / 2`. Together with the numbers it adds the logarithm of their normalising constant.
    pub(super) fn numbers(&self, y: &Matrix, outputs: &Outputs, weights: &Weights, precision: f64) -> Decisions {
        let (n, c) = (y.n_rows(), y.n_cols());
        let centres = centres(outputs, weights, n, c);
        let rest: f64 = (0..n * c).map(|r| (y.get(r % n, r / n) - centres[r]).powi(2)).sum();
        let half = 0.5 * (n * c) as f64;
        let (shape, rate) = (1.0 + half, 1.0 + 0.5 * (rest + spread(outputs, weights, precision)));
        let ln_target = ln_gamma_function(shape) - shape * ln(rate) - half * LN_TAU;
        Decisions { means: y.clone(), ln_target, spread: 0.0, precision: shape / rate }
    }

    /// Precisions from the means of squares (rows x problems) first, then the sample weights of each problem: `(L + sum_m
    /// K_m K_m / noise)^-1`. One pass over the kernels for all problems.
    pub(super) fn samples(&self, powers: &Matrix, outputs: &Outputs, squares: &Matrix) -> Result<Vec<Samples>> {
        let (n, c, n_kernels) = (squares.n_rows(), squares.n_cols(), outputs.means.n_rows());
        let mut sides = room(n, n_kernels * c)?;
        self.task.pool.chunks_mut(sides.data_mut(), n_kernels * c, |i, row| {
            row.iter_mut().enumerate().for_each(|(k, side)| *side = outputs.means.get(k / c, k % c * n + i));
        });
        let collected = self.task.stack()?.collect(&sides, self.task.pool)?;
        drop(sides);
        let mut scaled = powers.clone();
        let row = powers.n_cols().max(1);
        self.task
            .pool
            .chunks_mut(scaled.data_mut(), row, |_, row| row.iter_mut().for_each(|value| *value /= self.noise));
        (0..c).map(|p| self.samples_of(powers, &scaled, collected.column(p), &squares.column(p))).collect()
    }

    /// The sample weights of one problem; `scaled` is `powers` over the noise.
    fn samples_of(&self, powers: &Matrix, scaled: &Matrix, collected: Vec<f64>, squares: &[f64]) -> Result<Samples> {
        let (n, pool) = (squares.len(), self.task.pool);
        let precisions: Vec<Precision> = squares.iter().map(|&square| Precision::given(PLAIN, square)).collect();
        let diagonal: Vec<f64> = precisions.iter().map(Precision::mean).collect();
        let factor = Cholesky::of_sum(scaled, 1.0, 0.0, &diagonal, pool, self.stop)?;
        let variances = factor.diagonal_of_inverse(pool, self.stop)?;
        let right = Matrix::from_vec(n, 1, collected.iter().map(|value| value / self.noise).collect())?;
        let means = factor.solve(&right)?.into_data();
        let power = powers.rows().zip(&means).map(|(row, &mean)| mean * dot(row, &means)).sum();
        Ok(Samples { means, variances, ln_determinant: -factor.log_determinant(), precisions, collected, power })
    }
}

/// The mean of `e'g + b` for each row, problem by problem.
fn centres(outputs: &Outputs, weights: &Weights, n: usize, c: usize) -> Vec<f64> {
    let (biases, weights) = weights.means.split_at(c);
    let mut centres: Vec<f64> = biases.iter().flat_map(|&bias| vec![bias; n]).collect();
    weights.iter().zip(outputs.means.rows()).for_each(|(&weight, row)| axpy(weight, row, &mut centres));
    centres
}

fn room(n_rows: usize, n_cols: usize) -> Result<Matrix> {
    Matrix::try_zeros(n_rows, n_cols).ok_or_else(|| {
        Error::input(format!("no memory for a matrix of {n_rows} x {n_cols}; use fewer kernels, or fewer rows"))
    })
}
