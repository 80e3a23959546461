//! The weights of rows: the combined kernel they define, and the convex problem they solve.

use crate::error::{Error, Result};
use crate::linalg::{Matrix, axpy, dot};
use crate::pool::Pool;
use crate::run::Task;
use crate::solve::simplex;
use crate::stack::Stack;

/// Maximum number of weight steps per round: H changes with the weights, so an exact solution for this H is pointless.
const STEPS: usize = 10;
/// Fraction of a kernel's mean diagonal entry below which a row's entry counts as zero: rounding left by centring.
const NOTHING: f64 = 1e-10;
/// A step is not halved below this.
const SHORTEST: f64 = 1.0 / 64.0;

/// The kernels scaled to unit diagonal, except at rows with a zero entry.
pub(super) struct Local<'a> {
    stack: &'a Stack,
    pool: &'a Pool,
    /// The factor on a row's weight: 1 over the root of the diagonal, 0 for kernels that are zero at the row.
    scales: Matrix,
}

impl<'a> Local<'a> {
    pub(super) fn new(task: &Task<'a>) -> Result<Local<'a>> {
        let (stack, pool) = (task.stack()?, task.pool);
        let mut scales = stack.diagonals(pool)?;
        for (m, mean) in means(&scales).into_iter().enumerate() {
            if !(mean.is_finite() && mean > 0.0) {
                return Err(Error::input(format!(
                    "the kernel {} has a mean diagonal entry of {mean}, and rows need a length above 0 in it; leave it out",
                    stack.kernels()[m]
                )));
            }
            for i in 0..scales.n_rows() {
                let entry = scales.get(i, m);
                scales.set(i, m, if entry > NOTHING * mean { 1.0 / entry.sqrt() } else { 0.0 });
            }
        }
        Ok(Local { stack, pool, scales })
    }

    /// Equal weights for all kernels that are nonzero at a row.
    pub(super) fn even(&self) -> Matrix {
        let mut weights = Matrix::zeros(self.scales.n_rows(), self.scales.n_cols());
        self.pool.chunks_mut(weights.data_mut(), self.scales.n_cols().max(1), |i, row| self.project(i, row));
        weights
    }

    /// The objective without clusters: the trace of the combined kernel under [`Local::even`] weights.
    pub(super) fn scatter(&self) -> f64 {
        // A row with m nonzero kernels has m weights of 1/m.
        let known = |row: &[f64]| row.iter().filter(|scale| **scale > 0.0).count();
        self.scales.rows().map(known).filter(|&known| known > 0).map(|known| 1.0 / known as f64).sum()
    }

    /// The combined kernel.
    pub(super) fn combined(&self, weights: &Matrix) -> Result<Matrix> {
        self.stack.combine_local(&self.scaled(weights), self.pool)
    }

    fn scaled(&self, weights: &Matrix) -> Matrix {
        let mut scaled = weights.clone();
        scaled.data_mut().iter_mut().zip(self.scales.data()).for_each(|(value, scale)| *value *= scale);
        scaled
    }

    /// `((I - H H') o K_m) t_m`, half the gradient of the objective, whose value is the inner product of this with the
    /// weights.
    fn image(&self, weights: &Matrix, h: &Matrix) -> Result<Matrix> {
        let mut image = self.stack.apply_local(&self.scaled(weights), h, self.pool)?;
        let all = image.data_mut().iter_mut().zip(self.scales.data()).zip(weights.data());
        // The diagonal is 1 after scaling, and 0 where a kernel is zero.
        all.for_each(|((value, &scale), &weight)| *value = if scale > 0.0 { weight - scale * *value } else { 0.0 });
        Ok(image)
    }

    /// Projects a row's weights onto the feasible set: nonnegative, summing to 1, and 0 for kernels that are zero at
    /// the row. A row at which all kernels are zero gets equal weights, which are unused.
    fn project(&self, i: usize, row: &mut [f64]) {
        let scales = self.scales.row(i);
        if scales.iter().all(|&scale| scale == 0.0) {
            return row.fill(1.0 / scales.len() as f64);
        }
        for (value, _) in row.iter_mut().zip(scales).filter(|(_, scale)| **scale == 0.0) {
            *value = f64::NEG_INFINITY;
        }
        row.copy_from_slice(&simplex::project(row));
    }

    /// Weights with an objective that is no higher, and the objective: projected gradient steps with momentum, which is
    /// reset whenever the objective rises, until a step gains no more than `little`.
    ///
    /// With unit-diagonal kernels no eigenvalue of `(I - H H') o K_m` exceeds 1 (Schur), so a full step of `image`
    /// never raises the objective; for kernels that are not positive semi-definite it is halved if it does. As `image`
    /// is linear, its value at a point with momentum follows from those at two points: each step is one pass over the
    /// kernels.
    pub(super) fn lowered(&self, h: &Matrix, weights: Matrix, little: f64) -> Result<(Matrix, f64)> {
        let mut best = Point::new(weights, |weights| self.image(weights, h))?;
        let (mut ahead, mut momentum, mut rate) = (best.clone(), 1.0f64, 1.0);
        for _ in 0..STEPS {
            let mut weights = ahead.weights.clone();
            axpy(-rate, ahead.image.data(), weights.data_mut());
            self.pool.chunks_mut(weights.data_mut(), self.scales.n_cols(), |i, row| self.project(i, row));
            let next = Point::new(weights, |weights| self.image(weights, h))?;
            let gain = best.objective - next.objective;
            if gain > 0.0 {
                let after = 0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt());
                ahead = next.ahead_of(&best, (momentum - 1.0) / after);
                (best, momentum) = (next, after);
                if gain <= little {
                    break;
                }
            } else if momentum > 1.0 {
                (ahead, momentum) = (best.clone(), 1.0);
            } else if -gain > f64::EPSILON * best.objective.abs() && rate > SHORTEST {
                rate *= 0.5;
            } else {
                break;
            }
        }
        Ok((best.weights, best.objective))
    }
}

/// The mean of each column.
pub(super) fn means(matrix: &Matrix) -> Vec<f64> {
    let mut sums = vec![0.0; matrix.n_cols()];
    matrix.rows().for_each(|row| axpy(1.0, row, &mut sums));
    sums.iter().map(|sum| sum / matrix.n_rows().max(1) as f64).collect()
}

/// Weights, with their image and objective.
#[derive(Clone)]
struct Point {
    weights: Matrix,
    image: Matrix,
    objective: f64,
}

impl Point {
    fn new(weights: Matrix, image: impl Fn(&Matrix) -> Result<Matrix>) -> Result<Point> {
        let image = image(&weights)?;
        let objective = dot(weights.data(), image.data());
        Ok(Point { weights, image, objective })
    }

    /// Extrapolates beyond this point by a fraction of the step from another. Its objective is unused.
    fn ahead_of(&self, other: &Point, part: f64) -> Point {
        let beyond = |a: &Matrix, b: &Matrix| {
            let mut sum = a.clone();
            sum.data_mut().iter_mut().zip(b.data()).for_each(|(a, b)| *a += part * (*a - b));
            sum
        };
        let (weights, image) = (beyond(&self.weights, &other.weights), beyond(&self.image, &other.image));
        Point { weights, image, objective: f64::NAN }
    }
}
