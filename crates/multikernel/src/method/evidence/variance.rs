//! The variance of predictions by the model on landmarks.
//!
//! The weights of the features have the posterior covariance `D - D Phi' H Phi D = s D^1/2 R^-1 D^1/2` (see
//! [`space`](super::space)). What the features leave out of the kernels of a new row, `k_m(x, x) - |phi_m(x)|^2`, is as
//! uncertain as before any row was seen. The noise, which fits the residuals of training rows, has taken in what is left out of
//! these, l on average; so only what a row has beyond l is added, and of that no more than the residuals allow: the noise over l, if
//! that is less than 1. With all rows as landmarks the variance is that of the exact model.

use super::Point;
use super::basis::Basis;
use super::space::Space;
use crate::error::{Error, Result};
use crate::file::{Codec, Field, Record, record};
use crate::linalg::{Matrix, dot};
use crate::pool::Pool;
use crate::stack::Stack;

record! {
    /// What the variance of a number needs, of the kernels with nonzero weight.
    ///
    /// Cost of a variance for F features: F^2 / 2 products; memory for as many numbers.
    #[derive(Clone, Debug)]
    pub(super) struct Variance {
        basis: Basis,
        /// The weight of each kernel.
        weights: Vec<f64>,
        noise: f64,
        /// The variance that features leave out at training rows, on average.
        left_out: f64,
        /// The factor of R: its lower triangle with the diagonal, row by row.
        factor: Vec<f64>,
        /// The variance of each number that is 1 in the model.
        amplitudes: Vec<f64>,
    }
}

impl Variance {
    /// That of a model at a point, whose kernels with nonzero weight are `used`.
    pub(super) fn new(
        space: &Space,
        basis: &Basis,
        now: &Point,
        (weights, noise): (&[f64], f64),
        used: &[usize],
    ) -> Result<Variance> {
        // Features without weight stand apart from all others in R.
        let (lower, features) = (now.factor.here()?.lower(), space.features_of(used));
        let rows = features.iter().enumerate().flat_map(|(k, &i)| features[..=k].iter().map(move |&j| (i, j)));
        Ok(Variance {
            basis: basis.of_kernels(used),
            weights: used.iter().map(|&m| weights[m]).collect(),
            noise,
            left_out: dot(&space.left_out(basis), weights),
            factor: rows.map(|(i, j)| lower.get(i, j)).collect(),
            amplitudes: space.amplitudes(now, weights, noise),
        })
    }

    /// Whether it fits these numbers of kernels, points and outputs.
    pub(super) fn check(&self, n_kernels: usize, n_points: usize, n_outputs: usize) -> Result<()> {
        self.basis.check(n_kernels, n_points)?;
        let f = self.basis.len();
        let triangle = f.checked_add(1).and_then(|next| f.checked_mul(next)).map(|twice| twice / 2);
        let is_positive = |value: &f64| value.is_finite() && *value > 0.0;
        let fits = self.weights.len() == n_kernels
            && self.weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0)
            && is_positive(&self.noise)
            && self.left_out.is_finite()
            && self.amplitudes.len() == n_outputs
            && self.amplitudes.iter().all(is_positive)
            && triangle == Some(self.factor.len())
            && (0..f).all(|i| self.factor[i * (i + 3) / 2] > 0.0);
        if fits { Ok(()) } else { Err(Error::input("its arrays do not fit together")) }
    }

    /// The variance of each number (columns), noise included, at the rows of a stack between them and the points.
    pub(super) fn at(&self, stack: &Stack, pool: &Pool) -> Result<Matrix> {
        let (features, selves) = (self.basis.features(stack, pool)?.transposed(), stack.selves(pool)?);
        let (kernels, width) = (self.basis.kernels(), self.amplitudes.len());
        let mut found = Matrix::zeros(stack.n_rows(), width);
        pool.chunks_mut(found.data_mut(), width, |i, found| {
            let (row, mut left) = (features.row(i), selves.row(i).to_vec());
            row.iter().zip(&kernels).for_each(|(value, &m)| left[m] -= value * value);
            let left: f64 = left.iter().zip(&self.weights).map(|(left, weight)| weight * left.max(0.0)).sum();
            let scaled: Vec<f64> = row.iter().zip(&kernels).map(|(value, &m)| self.weights[m].sqrt() * value).collect();
            let function = self.noise * self.length(&scaled) + self.allowed() * (left - self.left_out).max(0.0);
            found.iter_mut().zip(&self.amplitudes).for_each(|(found, a)| *found = a * (function + self.noise));
        });
        Ok(found)
    }

    /// The part of what is left out that the residuals of training rows allow.
    fn allowed(&self) -> f64 {
        if self.left_out > self.noise { self.noise / self.left_out } else { 1.0 }
    }

    /// `v' R^-1 v`.
    fn length(&self, v: &[f64]) -> f64 {
        let mut solved: Vec<f64> = Vec::with_capacity(v.len());
        for (i, value) in v.iter().enumerate() {
            let row = &self.factor[i * (i + 1) / 2..][..=i];
            solved.push((value - dot(&row[..i], &solved)) / row[i]);
        }
        dot(&solved, &solved)
    }
}

/// The variance of models of numbers. Stored only if there is one.
#[derive(Clone, Debug, Default)]
pub(super) struct OfNumbers(pub(super) Option<Variance>);

impl Field for OfNumbers {
    fn put(&self, name: &str, record: &mut Record) {
        if let Some(variance) = &self.0 {
            record.put_record(name, variance.encode());
        }
    }

    fn take(name: &str, record: &Record) -> Result<Self> {
        let stored = record.take_record(name);
        if stored.is_empty() { Ok(OfNumbers(None)) } else { Variance::decode(&stored).map(|v| OfNumbers(Some(v))) }
    }
}
