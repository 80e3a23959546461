//! Laplace's approximation of one two-class problem with a logistic likelihood: the normal distribution that matches
//! the posterior at its mode.

use crate::error::{Error, Result};
use crate::linalg::{Matrix, dot};
use crate::pool::Pool;
use crate::simd::{exp, ln};
use crate::solve::cholesky::Cholesky;

/// Newton's iteration ends when it raises the log posterior by less than this.
const TOLERANCE: f64 = 1e-10;
/// Maximum number of Newton steps; about ten are needed.
const MAX_STEPS: usize = 100;
/// Maximum number of halvings of a step that overshoots.
const MAX_HALVINGS: usize = 30;

/// 1 / (1 + e^-x).
pub(super) fn sigmoid(x: f64) -> f64 {
    if x < 0.0 { exp(x) / (1.0 + exp(x)) } else { 1.0 / (1.0 + exp(-x)) }
}

/// ln sigmoid(x).
fn ln_sigmoid(x: f64) -> f64 {
    // ln(1 + e) keeps its digits for a small e as e - e^2/2.
    let e = exp(-x.abs());
    let grown = if e < 1e-6 { e - 0.5 * e * e } else { ln(1.0 + e) };
    x.min(0.0) - grown
}

/// A two-class problem under a prior `f ~ N(0, v K)`.
pub(super) struct Problem<'a> {
    /// `K`.
    pub(super) kernel: &'a Matrix,
    /// `v`.
    pub(super) amplitude: f64,
    /// +1 or -1 for each row.
    pub(super) sides: &'a [f64],
}

/// The approximation.
pub(super) struct Laplace {
    /// `(v K)^-1 f` at the mode, which is the gradient of the log likelihood there.
    pub(super) coef: Vec<f64>,
    /// Square roots of the curvature of the negative log likelihood at the mode.
    pub(super) roots: Vec<f64>,
    /// Factor of `I + W^(1/2) v K W^(1/2)`, with W the curvature.
    pub(super) factor: Cholesky,
    /// The log evidence.
    pub(super) evidence: f64,
}

/// A point of Newton's iteration.
struct Point {
    coef: Vec<f64>,
    f: Vec<f64>,
    /// `ln p(y | f) - f' (v K)^-1 f / 2`.
    value: f64,
}

impl Problem<'_> {
    /// The approximation; `start` is the initial [`Laplace::coef`] of the iteration, the prior mean if empty. `None` if
    /// the kernel is not positive semi-definite. Cost: about ten times N^3 / 3.
    pub(super) fn solve(
        &self,
        start: &[f64],
        pool: &Pool,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Laplace>> {
        match self.climb(start, pool, stop) {
            Err(Error::NotDefinite { .. }) => Ok(None),
            found => found.map(Some),
        }
    }

    fn climb(&self, start: &[f64], pool: &Pool, stop: &(dyn Fn() -> bool + Sync)) -> Result<Laplace> {
        let n = self.sides.len();
        let mut now = self.point(if start.len() == n { start.to_vec() } else { vec![0.0; n] });
        for _ in 0..MAX_STEPS {
            let (roots, factor) = self.curvature(&now, pool, stop)?;
            let next = self.newton(&now, &roots, &factor)?;
            let Some(next) = self.forward(&now, next) else { break };
            let rise = next.value - now.value;
            now = next;
            if rise < TOLERANCE {
                break;
            }
        }
        let (roots, factor) = self.curvature(&now, pool, stop)?;
        let evidence = now.value - 0.5 * factor.log_determinant();
        Ok(Laplace { coef: now.coef, roots, factor, evidence })
    }

    fn point(&self, coef: Vec<f64>) -> Point {
        let f: Vec<f64> = self.kernel.rows().map(|row| self.amplitude * dot(row, &coef)).collect();
        let likelihood: f64 = f.iter().zip(self.sides).map(|(f, side)| ln_sigmoid(side * f)).sum();
        Point { value: likelihood - 0.5 * dot(&coef, &f), coef, f }
    }

    /// The square roots of W, and the factor of `I + W^(1/2) v K W^(1/2)`.
    fn curvature(&self, now: &Point, pool: &Pool, stop: &(dyn Fn() -> bool + Sync)) -> Result<(Vec<f64>, Cholesky)> {
        let n = now.f.len();
        let roots: Vec<f64> = now.f.iter().map(|&f| (sigmoid(f) * sigmoid(-f)).sqrt()).collect();
        let mut matrix = Matrix::zeros(n, n);
        // Entries above the diagonal are not read.
        for i in 0..n {
            let (row, left) = (&mut matrix.row_mut(i)[..=i], self.amplitude * roots[i]);
            let entries = self.kernel.row(i).iter().zip(&roots);
            row.iter_mut().zip(entries).for_each(|(out, (value, right))| *out = left * value * right);
            row[i] += 1.0;
        }
        Ok((roots, Cholesky::new(matrix, pool, stop)?))
    }

    /// The result of a full Newton step: `a = b - W^(1/2) B^-1 W^(1/2) v K b` with `b = W f` plus the gradient.
    fn newton(&self, now: &Point, roots: &[f64], factor: &Cholesky) -> Result<Vec<f64>> {
        let b: Vec<f64> = (0..roots.len())
            .map(|i| roots[i] * roots[i] * now.f[i] + self.sides[i] * sigmoid(-self.sides[i] * now.f[i]))
            .collect();
        let right = self.kernel.rows().zip(roots).map(|(row, root)| root * self.amplitude * dot(row, &b)).collect();
        let solved = factor.solve(&Matrix::from_vec(b.len(), 1, right)?)?;
        Ok(b.iter().zip(solved.data()).zip(roots).map(|((b, solved), root)| b - root * solved).collect())
    }

    /// The point at `next`, or as far towards it as the log posterior rises; `None` if it does not.
    fn forward(&self, now: &Point, next: Vec<f64>) -> Option<Point> {
        let mut part = 1.0;
        for _ in 0..MAX_HALVINGS {
            let between = now.coef.iter().zip(&next).map(|(now, next)| now + part * (next - now)).collect();
            let point = self.point(between);
            if point.value >= now.value {
                return Some(point);
            }
            part *= 0.5;
        }
        None
    }
}
