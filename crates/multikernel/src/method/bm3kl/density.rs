//! The likelihood of kernel weights and variances with the functions integrated out, and its slopes: for all chains at once, so
//! that they share each pass over the kernels.
//!
//! Given the scales of the loss, `t = delta (1 + lambda)` is normal around the function with variances lambda, so
//! `t ~ N(0, S)` with `S = nu (H + j I) + tau 11' + diag(lambda)` (prior=gp) or `S = H diag(nu) H + tau 11' + diag(lambda)`
//! (prior=paper), H the combined kernel.

use super::chain::Latent;
use super::settings::{Prior, Settings};
use crate::error::{Error, Result};
use crate::linalg::{Matrix, dot};
use crate::pool::Pool;
use crate::simd::exp;
use crate::solve::cholesky::Cholesky;
use crate::solve::product::{product, scaled_square};
use crate::stack::{Stack, Symmetric};

/// What is added to the diagonal of the combined kernel: functions of narrow kernels on equal rows stay functions.
pub(super) const JITTER: f64 = 1e-6;
/// Functions whose matrices one task adds up: by the shape alone, so threads change no bit.
const CHUNK: usize = 4;

/// The data of a run.
pub(super) struct Problem<'a> {
    pub(super) stack: &'a Stack,
    pub(super) pool: &'a Pool,
    pub(super) settings: &'a Settings,
    /// Functions x N: +1 for rows of the function's class, else -1.
    pub(super) sign: Matrix,
    /// The margin asked for, times the sign. It is 1, but for tests that take the margin as data.
    pub(super) margin: Matrix,
    /// See [`State`](super::chain::State).
    pub(super) scale: f64,
    /// The combined kernel of uniform weights, where they are not learned.
    pub(super) fixed: Option<&'a Matrix>,
    pub(super) stop: &'a (dyn Fn() -> bool + Sync),
}

/// Where the likelihood is wanted.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) weights: &'a [f64],
    pub(super) log_nu: &'a [f64],
    pub(super) latent: &'a Latent,
}

/// The likelihood at a place.
pub(super) struct Point {
    pub(super) likelihood: f64,
    /// Its slope in each kernel weight, as if they were free.
    pub(super) by_weight: Vec<f64>,
    /// Its slope in each `log nu`.
    pub(super) by_log_nu: Vec<f64>,
    /// The combined kernel, scaled.
    pub(super) kernel: Matrix,
    pub(super) parts: Vec<Part>,
}

/// One function at a place.
pub(super) struct Part {
    pub(super) factor: Cholesky,
    /// `S^-1 t`.
    pub(super) solved: Vec<f64>,
    /// The diagonal of `S^-1`, where slopes were asked for.
    pub(super) diagonal: Vec<f64>,
    likelihood: f64,
    by_log_nu: f64,
}

impl Problem<'_> {
    pub(super) fn n(&self) -> usize {
        self.sign.n_cols()
    }

    pub(super) fn n_functions(&self) -> usize {
        self.sign.n_rows()
    }

    /// `t` of one function.
    pub(super) fn target(&self, latent: &Latent, c: usize) -> Vec<f64> {
        let lambda = latent.lambda.row(c).iter().zip(self.sign.row(c)).map(|(lambda, sign)| sign * lambda);
        self.margin.row(c).iter().zip(lambda).map(|(margin, lambda)| margin + lambda).collect()
    }

    /// The pool for work inside one of `n` tasks that run side by side.
    pub(super) fn inner_pool(&self, n: usize) -> Result<&Pool> {
        if n >= self.pool.n_threads() { Pool::alone() } else { Ok(self.pool) }
    }

    /// The likelihood at each place; `None` where a matrix is not positive definite. Two passes over the kernels for all
    /// places with slopes, one without; N^3 operations per place and function with slopes, a third without (prior=gp).
    pub(super) fn evaluate(&self, places: &[Place<'_>], slopes: bool) -> Result<Vec<Option<Point>>> {
        let kernels = self.combine(places)?;
        let chunks = self.n_functions().div_ceil(CHUNK);
        let pool = self.inner_pool(places.len() * chunks)?;
        let tasks = self.pool.map(places.len() * chunks, |task| {
            self.chunk(&kernels[task / chunks], places[task / chunks], task % chunks, slopes, pool)
        });
        let mut tasks = tasks.into_iter().collect::<Result<Vec<_>>>()?.into_iter();
        let mut points: Vec<Option<Point>> = vec![];
        let mut sums: Vec<Matrix> = vec![];
        for kernel in kernels {
            let of_place: Option<Vec<(Vec<Part>, Option<Matrix>)>> = tasks.by_ref().take(chunks).collect();
            points.push(of_place.map(|chunks| {
                let (parts, matrices): (Vec<Vec<Part>>, Vec<Option<Matrix>>) = chunks.into_iter().unzip();
                sums.extend(matrices.into_iter().flatten().reduce(|mut sum, next| {
                    sum.data_mut().iter_mut().zip(next.data()).for_each(|(a, b)| *a += b);
                    sum
                }));
                Point::of(kernel, parts.into_iter().flatten().collect())
            }));
        }
        if slopes && self.settings.learned {
            let form = if self.settings.prior == Prior::Gp { Symmetric::Lower } else { Symmetric::Dense };
            let with: Vec<Symmetric<'_>> = sums.iter().map(form).collect();
            let slopes = self.stack.project(&with, self.pool)?;
            for (k, point) in points.iter_mut().flatten().enumerate() {
                point.by_weight = slopes.rows().map(|row| self.scale * row[k]).collect();
            }
        }
        Ok(points)
    }

    fn combine(&self, places: &[Place<'_>]) -> Result<Vec<Matrix>> {
        if let Some(fixed) = self.fixed {
            return Ok(places.iter().map(|_| fixed.clone()).collect());
        }
        let weights = |m: usize, k: usize| self.scale * places[k].weights[m];
        self.stack.combine(&Matrix::from_fn(self.stack.n_kernels(), places.len(), weights), self.pool)
    }

    /// Some functions at one place, and the sum of the matrices whose inner products with the kernels are the slopes.
    fn chunk(
        &self,
        kernel: &Matrix,
        place: Place<'_>,
        chunk: usize,
        slopes: bool,
        pool: &Pool,
    ) -> Result<Option<(Vec<Part>, Option<Matrix>)>> {
        let functions = chunk * CHUNK..((chunk + 1) * CHUNK).min(self.n_functions());
        let mut sum = (slopes && self.settings.learned).then(|| Matrix::zeros(self.n(), self.n()));
        let mut parts = vec![];
        for c in functions {
            let part = match self.settings.prior {
                Prior::Gp => self.gp_part(kernel, place, c, slopes, sum.as_mut(), pool),
                Prior::Paper => self.shrunk_part(kernel, place, c, slopes, sum.as_mut(), pool),
            };
            match part {
                Err(Error::NotDefinite { .. }) => return Ok(None),
                part => parts.push(part?),
            }
        }
        Ok(Some((parts, sum)))
    }

    /// prior=gp. Slopes: `nu/2 (al al' - S^-1)` in the kernel, and `1/2 (al' K al - tr S^-1 K)` in log nu, where
    /// `K = S - tau 11' - diag(lambda)`.
    fn gp_part(
        &self,
        kernel: &Matrix,
        place: Place<'_>,
        c: usize,
        slopes: bool,
        sum: Option<&mut Matrix>,
        pool: &Pool,
    ) -> Result<Part> {
        let (tau, lambda) = (self.settings.tau, place.latent.lambda.row(c));
        let nu = exp(place.log_nu[c]);
        let mut s = kernel.clone();
        for (i, &lambda) in lambda.iter().enumerate() {
            let row = &mut s.row_mut(i)[..=i];
            row.iter_mut().for_each(|value| *value = nu * *value + tau);
            row[i] += nu * JITTER + lambda;
        }
        let mut part = Part::new(s, self.target(place.latent, c), pool, self.stop)?;
        if slopes {
            let inverse = part.factor.inverse(pool, self.stop)?;
            part.diagonal = (0..self.n()).map(|i| inverse.get(i, i)).collect();
            let al = &part.solved;
            let fit = dot(al, &self.target(place.latent, c))
                - tau * al.iter().sum::<f64>().powi(2)
                - al.iter().zip(lambda).map(|(a, l)| a * a * l).sum::<f64>();
            let size = self.n() as f64 - tau * inverse.data().iter().sum::<f64>() - dot(&part.diagonal, lambda);
            part.by_log_nu = 0.5 * (fit - size);
            if let Some(sum) = sum {
                let half = 0.5 * nu;
                let rows = sum.data_mut().chunks_exact_mut(self.n()).zip(inverse.rows()).zip(al);
                for (i, ((row, inverse), a)) in rows.enumerate() {
                    for ((value, inverse), b) in row[..=i].iter_mut().zip(inverse).zip(al) {
                        *value += half * (a * b - inverse);
                    }
                }
            }
        }
        Ok(part)
    }

    /// prior=paper. Slopes: `(al al' - S^-1) H diag(nu)` in the kernel.
    fn shrunk_part(
        &self,
        kernel: &Matrix,
        place: Place<'_>,
        c: usize,
        slopes: bool,
        sum: Option<&mut Matrix>,
        pool: &Pool,
    ) -> Result<Part> {
        let (n, tau) = (self.n(), self.settings.tau);
        let (lambda, nu) = (place.latent.lambda.row(c), place.latent.nu.row(c));
        let mut s = scaled_square(kernel, nu, pool)?;
        for (i, &lambda) in lambda.iter().enumerate() {
            s.row_mut(i)[..=i].iter_mut().for_each(|value| *value += tau);
            s.set(i, i, s.get(i, i) + lambda);
        }
        let mut part = Part::new(s, self.target(place.latent, c), pool, self.stop)?;
        if slopes {
            let inverse = part.factor.inverse(pool, self.stop)?;
            part.diagonal = (0..n).map(|i| inverse.get(i, i)).collect();
            if let Some(sum) = sum {
                let al = &part.solved;
                let pulled: Vec<f64> = kernel.rows().map(|row| dot(row, al)).collect();
                let solved = product(&inverse, kernel, pool)?;
                for ((row, solved), a) in sum.data_mut().chunks_exact_mut(n).zip(solved.rows()).zip(al) {
                    for (((value, solved), pulled), nu) in row.iter_mut().zip(solved).zip(&pulled).zip(nu) {
                        *value += nu * (a * pulled - solved);
                    }
                }
            }
        }
        Ok(part)
    }
}

impl Part {
    /// From S and t: `log N(t; 0, S)` without its constant.
    fn new(s: Matrix, t: Vec<f64>, pool: &Pool, stop: &(dyn Fn() -> bool + Sync)) -> Result<Part> {
        let n = t.len();
        let factor = Cholesky::new(s, pool, stop)?;
        let solved = factor.solve(&Matrix::from_vec(n, 1, t.clone())?)?.into_data();
        let likelihood = -0.5 * (dot(&t, &solved) + factor.log_determinant());
        Ok(Part { factor, solved, diagonal: vec![], likelihood, by_log_nu: 0.0 })
    }
}

impl Point {
    fn of(kernel: Matrix, parts: Vec<Part>) -> Point {
        Point {
            likelihood: parts.iter().map(|part| part.likelihood).sum(),
            by_weight: vec![],
            by_log_nu: parts.iter().map(|part| part.by_log_nu).collect(),
            kernel,
            parts,
        }
    }
}
