//! Small linear and quadratic programmes with a diagonal Hessian, by an interior-point method.

use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::simd::Real;

/// `min cost'x + 1/2 sum_j curvature_j x_j^2` over `rows x = right`, `x >= 0`; all of `curvature` zero is a linear
/// programme.
#[derive(Clone, Copy, Debug)]
pub struct Program<'a> {
    /// One number per variable.
    pub cost: &'a [f64],
    /// One non-negative number per variable.
    pub curvature: &'a [f64],
    /// The equations, m x n.
    pub rows: &'a Matrix,
    /// Their right-hand sides.
    pub right: &'a [f64],
}

/// Maximum iterations: a solvable programme takes 10 to 40.
const MAX_ITERATIONS: usize = 200;
/// Relative tolerance of the equations, costs and duality gap.
const TOLERANCE: f64 = 1e-10;
/// Accepted if rounding ends the progress earlier.
const ACCEPTED: f64 = 1e-6;
/// Fraction of the way to the boundary that a step takes.
const TO_BOUNDARY: f64 = 0.9995;

/// Solves a programme by Mehrotra's predictor-corrector method. Cost: 10 to 40 times m^2 n + m^3 / 3.
///
/// # Errors
/// Mismatched shapes, and programmes without a solution (infeasible, or unbounded below), for which no point within
/// 1e-6 of the optimality conditions is found.
///
/// ```
/// use multikernel::{Matrix, solve::program::{Program, solve}};
/// // The cheapest mix: min 3 a + b, a + b = 1.
/// let rows = Matrix::from_vec(1, 2, vec![1.0, 1.0])?;
/// let x = solve(&Program { cost: &[3.0, 1.0], curvature: &[0.0; 2], rows: &rows, right: &[1.0] })?;
/// assert!((x[1] - 1.0).abs() < 1e-8);
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn solve(program: &Program<'_>) -> Result<Vec<f64>> {
    let (m, n) = (program.rows.n_rows(), program.rows.n_cols());
    if [program.cost.len(), program.curvature.len()] != [n; 2] || program.right.len() != m {
        return Err(Error::input(format!(
            "a programme of {n} variables and {m} equations got arrays of other lengths"
        )));
    }
    let mut point = Interior::start(program);
    let mut best = (f64::INFINITY, point.x.clone());
    for _ in 0..MAX_ITERATIONS {
        let residuals = Residuals::new(program, &point);
        if residuals.worst < best.0 {
            best = (residuals.worst, point.x.clone());
        }
        // From here on rounding only moves the point away.
        if best.0 <= TOLERANCE || !residuals.worst.is_finite() || residuals.worst > 1e6 * best.0.max(TOLERANCE) {
            break;
        }
        point.step(program, &residuals);
    }
    if best.0 > ACCEPTED {
        return Err(Error::input(format!(
            "a programme of {n} variables and {m} equations has no solution that can be found: the best point misses its \
             conditions by {:.1e}",
            best.0
        )));
    }
    Ok(best.1)
}

/// A point inside `x > 0`, `z > 0`: `z` are the multipliers of `x >= 0`, `y` those of the equations.
struct Interior {
    x: Vec<f64>,
    y: Vec<f64>,
    z: Vec<f64>,
}

/// Residuals of the optimality conditions at a point.
struct Residuals {
    /// `right - rows x`.
    primal: Vec<f64>,
    /// `curvature x + cost - rows'y - z`.
    dual: Vec<f64>,
    /// The mean of `x z`.
    mu: f64,
    /// The largest of the three, each relative to its size.
    worst: f64,
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, value| if value.abs() > most || value.is_nan() { value.abs() } else { most })
}

impl Residuals {
    fn new(program: &Program<'_>, point: &Interior) -> Residuals {
        let Program { cost, curvature, rows, right } = program;
        let primal: Vec<f64> = rows.rows().zip(*right).map(|(row, b)| b - f64::dot(row, &point.x)).collect();
        let mut dual: Vec<f64> = (0..cost.len()).map(|j| curvature[j] * point.x[j] + cost[j] - point.z[j]).collect();
        for (row, &y) in rows.rows().zip(&point.y) {
            f64::add_scaled(-y, row, &mut dual);
        }
        let gap = f64::dot(&point.x, &point.z);
        let value =
            f64::dot(cost, &point.x) + 0.5 * point.x.iter().zip(*curvature).map(|(x, d)| d * x * x).sum::<f64>();
        let worst = [
            largest(&primal) / (1.0 + largest(right)),
            largest(&dual) / (1.0 + largest(cost)),
            gap / (1.0 + value.abs()),
        ];
        let worst = worst.into_iter().fold(0.0, |a: f64, b| if b > a || b.is_nan() { b } else { a });
        Residuals { primal, dual, mu: gap / cost.len().max(1) as f64, worst }
    }
}

impl Interior {
    /// Mehrotra's starting point: the least-squares solutions of both sets of equations, shifted into the interior.
    fn start(program: &Program<'_>) -> Interior {
        let Program { cost, rows, right, .. } = program;
        let ones = vec![1.0; cost.len()];
        let factor = Factor::new(&normal(rows, &ones));
        let mut x = vec![0.0; cost.len()];
        for (row, &y) in rows.rows().zip(&factor.solve(right)) {
            f64::add_scaled(y, row, &mut x);
        }
        let y = factor.solve(&rows.rows().map(|row| f64::dot(row, cost)).collect::<Vec<f64>>());
        let mut z = cost.to_vec();
        for (row, &y) in rows.rows().zip(&y) {
            f64::add_scaled(-y, row, &mut z);
        }
        for values in [&mut x, &mut z] {
            let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
            let shift = (-1.5 * lowest).max(0.0) + 1e-3;
            values.iter_mut().for_each(|value| *value += shift);
        }
        let gap = f64::dot(&x, &z);
        let (more_x, more_z) = (0.5 * gap / z.iter().sum::<f64>(), 0.5 * gap / x.iter().sum::<f64>());
        x.iter_mut().for_each(|x| *x += more_x);
        z.iter_mut().for_each(|z| *z += more_z);
        Interior { x, y, z }
    }

    /// One predictor-corrector step.
    fn step(&mut self, program: &Program<'_>, residuals: &Residuals) {
        let n = self.x.len();
        let theta: Vec<f64> = (0..n).map(|j| 1.0 / (program.curvature[j] + self.z[j] / self.x[j])).collect();
        let factor = Factor::new(&normal(program.rows, &theta));
        let towards = |target: &[f64]| self.direction(program, residuals, &theta, &factor, target);
        let straight: Vec<f64> = (0..n).map(|j| -self.x[j] * self.z[j]).collect();
        let (dx, _, dz) = towards(&straight);
        let (to_x, to_z) = (room(&self.x, &dx), room(&self.z, &dz));
        let ahead: f64 =
            (0..n).map(|j| (self.x[j] + to_x * dx[j]) * (self.z[j] + to_z * dz[j])).sum::<f64>() / n as f64;
        let sigma = (ahead / residuals.mu).powi(3);
        let target: Vec<f64> = (0..n).map(|j| sigma * residuals.mu + straight[j] - dx[j] * dz[j]).collect();
        let (dx, dy, dz) = towards(&target);
        let (mut to_x, mut to_z) =
            ((TO_BOUNDARY * room(&self.x, &dx)).min(1.0), (TO_BOUNDARY * room(&self.z, &dz)).min(1.0));
        if program.curvature.iter().any(|&d| d != 0.0) {
            // With a Hessian the two sides are coupled and take the same step.
            (to_x, to_z) = (to_x.min(to_z), to_x.min(to_z));
        }
        f64::add_scaled(to_x, &dx, &mut self.x);
        f64::add_scaled(to_z, &dy, &mut self.y);
        f64::add_scaled(to_z, &dz, &mut self.z);
    }

    /// The Newton direction for `x z + dx z + x dz = x z + target`.
    fn direction(
        &self,
        program: &Program<'_>,
        residuals: &Residuals,
        theta: &[f64],
        factor: &Factor,
        target: &[f64],
    ) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let n = self.x.len();
        let mut push: Vec<f64> = (0..n).map(|j| target[j] / self.x[j] - residuals.dual[j]).collect();
        let scaled: Vec<f64> = (0..n).map(|j| theta[j] * push[j]).collect();
        let right: Vec<f64> =
            program.rows.rows().zip(&residuals.primal).map(|(row, primal)| primal - f64::dot(row, &scaled)).collect();
        let dy = factor.solve(&right);
        for (row, &dy) in program.rows.rows().zip(&dy) {
            f64::add_scaled(dy, row, &mut push);
        }
        let dx: Vec<f64> = (0..n).map(|j| theta[j] * push[j]).collect();
        let dz = (0..n).map(|j| (target[j] - self.z[j] * dx[j]) / self.x[j]).collect();
        (dx, dy, dz)
    }
}

/// The largest step along a direction, at most 1, that keeps all values non-negative.
fn room(values: &[f64], direction: &[f64]) -> f64 {
    values.iter().zip(direction).filter(|(_, d)| **d < 0.0).map(|(v, d)| -v / d).fold(1.0, f64::min)
}

/// `rows diag(theta) rows'`.
fn normal(rows: &Matrix, theta: &[f64]) -> Matrix {
    let m = rows.n_rows();
    let mut normal = Matrix::zeros(m, m);
    let mut scaled = vec![0.0; theta.len()];
    for i in 0..m {
        scaled.iter_mut().zip(rows.row(i)).zip(theta).for_each(|((out, a), t)| *out = a * t);
        for j in 0..=i {
            let value = f64::dot(&scaled, rows.row(j));
            normal.set(i, j, value);
            normal.set(j, i, value);
        }
    }
    normal
}

/// A Cholesky factor that skips directions in which the matrix is zero up to rounding: redundant equations.
struct Factor(Matrix);

impl Factor {
    fn new(matrix: &Matrix) -> Factor {
        let n = matrix.n_rows();
        let mut lower = Matrix::zeros(n, n);
        let scale = (0..n).map(|i| matrix.get(i, i)).fold(0.0, f64::max);
        for i in 0..n {
            for j in 0..=i {
                let rest = matrix.get(i, j) - f64::dot(&lower.row(i)[..j], &lower.row(j)[..j]);
                let value = if i > j {
                    rest / lower.get(j, j)
                } else if rest > 1e-30 * scale {
                    rest.sqrt()
                } else {
                    1e64
                };
                lower.set(i, j, value);
            }
        }
        Factor(lower)
    }

    fn solve(&self, right: &[f64]) -> Vec<f64> {
        let lower = &self.0;
        let mut x = right.to_vec();
        for i in 0..x.len() {
            x[i] = (x[i] - f64::dot(&lower.row(i)[..i], &x[..i])) / lower.get(i, i);
        }
        for i in (0..x.len()).rev() {
            x[i] /= lower.get(i, i);
            let value = x[i];
            f64::add_scaled(-value, &lower.row(i)[..i], &mut x[..i]);
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;
    use crate::linalg::dot;
    use crate::solve::simplex;

    /// The best of all basic solutions of a small linear programme, enumerated.
    fn best_vertex(cost: &[f64], rows: &Matrix, right: &[f64]) -> f64 {
        let n = cost.len();
        let mut best = f64::INFINITY;
        for a in 0..n {
            for b in a + 1..n {
                let det = rows.get(0, a) * rows.get(1, b) - rows.get(0, b) * rows.get(1, a);
                let xa = (right[0] * rows.get(1, b) - rows.get(0, b) * right[1]) / det;
                let xb = (rows.get(0, a) * right[1] - right[0] * rows.get(1, a)) / det;
                if xa >= 0.0 && xb >= 0.0 {
                    best = best.min(cost[a] * xa + cost[b] * xb);
                }
            }
        }
        best
    }

    #[test]
    fn linear_programmes_reach_the_best_of_all_vertices() {
        let mut rng = Rng::new(8, 0);
        for _ in 0..50 {
            let n = 3 + rng.below(8);
            let cost: Vec<f64> = (0..n).map(|_| rng.uniform()).collect();
            let rows = Matrix::from_fn(2, n, |_, _| rng.uniform() + 0.01);
            // The right-hand sides come from a feasible point.
            let inside: Vec<f64> = (0..n).map(|_| rng.uniform()).collect();
            let right: Vec<f64> = rows.rows().map(|row| dot(row, &inside)).collect();
            let x = solve(&Program { cost: &cost, curvature: &vec![0.0; n], rows: &rows, right: &right }).unwrap();
            let (found, best) = (dot(&cost, &x), best_vertex(&cost, &rows, &right));
            assert!((found - best).abs() < 1e-8 * (1.0 + best.abs()), "{found} {best}");
        }
    }

    #[test]
    fn quadratic_programme_of_the_nearest_point_of_the_simplex_is_its_projection() {
        let mut rng = Rng::new(9, 0);
        for n in [1, 2, 5, 40] {
            let x: Vec<f64> = (0..n).map(|_| 2.0 * rng.uniform() - 0.5).collect();
            let cost: Vec<f64> = x.iter().map(|x| -x).collect();
            let rows = Matrix::from_fn(1, n, |_, _| 1.0);
            let found = solve(&Program { cost: &cost, curvature: &vec![1.0; n], rows: &rows, right: &[1.0] }).unwrap();
            for (found, want) in found.iter().zip(simplex::project(&x)) {
                assert!((found - want).abs() < 1e-7, "{found} {want}");
            }
        }
    }

    #[test]
    fn equations_given_twice_change_nothing_and_contradictions_are_refused() {
        let rows = Matrix::from_vec(2, 3, vec![1.0, 1.0, 1.0, 1.0, 1.0, 1.0]).unwrap();
        let (cost, curvature) = ([1.0, 2.0, 3.0], [0.0; 3]);
        let x = solve(&Program { cost: &cost, curvature: &curvature, rows: &rows, right: &[1.0, 1.0] }).unwrap();
        assert!((x[0] - 1.0).abs() < 1e-8);
        assert!(solve(&Program { cost: &cost, curvature: &curvature, rows: &rows, right: &[1.0, 2.0] }).is_err());
        let falls = Matrix::from_vec(1, 2, vec![1.0, -1.0]).unwrap();
        assert!(solve(&Program { cost: &[-1.0, 0.0], curvature: &[0.0; 2], rows: &falls, right: &[0.0] }).is_err());
    }
}
