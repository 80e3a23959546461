//! Nonnegative least squares from its normal equations, by an active-set method.
//!
//! The set of positive variables grows by the one with the steepest descent; if the minimum over the set is infeasible,
//! the step towards it is cut at the boundary and variables that became zero leave the set (Lawson and Hanson 1974,
//! "Solving least squares problems", chapter 23). The objective falls with every change of the set, so no set occurs
//! twice.

use crate::error::{Error, Result};
use crate::linalg::{Matrix, dot};

/// For a variable at zero to enter, its gradient must exceed this fraction of the largest of `b`; diagonals are 1.
const ENTER: f64 = 1e-10;
/// A variable whose component outside the span of the set is below this fraction adds nothing but rounding.
const INDEPENDENT: f64 = 1e-10;

/// The minimum and how it was reached.
#[derive(Clone, Debug, PartialEq)]
pub struct NnlsSolution {
    /// The variables; zero or positive.
    pub x: Vec<f64>,
    /// Number of changes of the set of positive variables.
    pub n_iter: u64,
}

/// `argmin_{x >= 0} x'Mx - 2 b'x` for a positive semi-definite `M` (P x P, symmetry is not checked) and `b` in its
/// range, as in normal equations.
///
/// If `M` is singular there are many minima; among duplicate variables (identical rows of `M`) only one is positive. At
/// the result `b - Mx` is at most 1e-10 of the largest `b` (all scaled to a unit diagonal of `M`) for variables at
/// zero, and about rounding for the others. Variables with a zero diagonal stay zero. Deterministic. Cost: k^2 + P k
/// for each change of a set of k variables, k^3 if one leaves it.
///
/// # Errors
/// Mismatched shapes and non-finite numbers.
///
/// ```
/// use multikernel::{Matrix, solve::nnls};
/// // Without bounds the minimum is (2, -1).
/// let m = Matrix::from_vec(2, 2, vec![2.0, 1.0, 1.0, 1.0])?;
/// let solution = nnls::solve(&m, &[3.0, 1.0])?;
/// assert!((solution.x[0] - 1.5).abs() < 1e-15 && solution.x[1] == 0.0);
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn solve(m: &Matrix, b: &[f64]) -> Result<NnlsSolution> {
    let n = b.len();
    if m.n_rows() != n || m.n_cols() != n {
        let (rows, cols) = (m.n_rows(), m.n_cols());
        return Err(Error::input(format!("nonnegative least squares needs {n} x {n} products, got {rows} x {cols}")));
    }
    if let Some(value) = m.data().iter().chain(b).find(|value| !value.is_finite()) {
        return Err(Error::input(format!(
            "nonnegative least squares needs finite numbers, got {value}; scale the kernels down"
        )));
    }
    let scale: Vec<f64> = (0..n).map(|j| if m.get(j, j) > 0.0 { 1.0 / m.get(j, j).sqrt() } else { 0.0 }).collect();
    let scaled = Matrix::from_fn(n, n, |i, j| m.get(i, j) * scale[i] * scale[j]);
    let b: Vec<f64> = b.iter().zip(&scale).map(|(b, scale)| b * scale).collect();
    let mut search = Search { m: &scaled, b: &b, set: vec![], factor: vec![], x: vec![0.0; n], n_iter: 0 };
    search.descend();
    let Search { x, n_iter, .. } = search;
    Ok(NnlsSolution { x: x.iter().zip(&scale).map(|(x, scale)| x * scale).collect(), n_iter })
}

/// The positive variables in the order they entered, and the rows of the Cholesky factor of `M` on them.
struct Search<'a> {
    m: &'a Matrix,
    b: &'a [f64],
    set: Vec<usize>,
    factor: Vec<Vec<f64>>,
    x: Vec<f64>,
    n_iter: u64,
}

impl Search<'_> {
    fn descend(&mut self) {
        let n = self.b.len();
        let enter = ENTER * self.b.iter().fold(0.0, |most: f64, b| most.max(b.abs()));
        // Rounding could stall the objective; the limit prevents an endless loop.
        let limit = 10 * n as u64 + 100;
        // Variables that brought no improvement with the present set.
        let mut refused = vec![false; n];
        while self.n_iter < limit {
            let steepest = self.steepest(&refused, enter);
            let Some(j) = steepest else { return };
            if !self.append(j) {
                refused[j] = true;
                continue;
            }
            let wish = self.minimum();
            if wish.last().is_none_or(|&last| last <= 0.0) {
                // The gradient was only rounding.
                self.set.pop();
                self.factor.pop();
                refused[j] = true;
                continue;
            }
            self.n_iter += 1;
            self.walk(wish);
            refused.fill(false);
        }
    }

    /// The variable at zero with the largest gradient, the first if tied, if it is worth entering.
    fn steepest(&self, refused: &[bool], enter: f64) -> Option<usize> {
        let mut best = None;
        for j in (0..self.b.len()).filter(|&j| !refused[j] && !self.set.contains(&j) && self.m.get(j, j) > 0.0) {
            let gradient = self.b[j] - self.set.iter().map(|&k| self.m.get(j, k) * self.x[k]).sum::<f64>();
            if gradient > best.map_or(enter, |(_, most)| most) {
                best = Some((j, gradient));
            }
        }
        best.map(|(j, _)| j)
    }

    /// Adds a variable to the set and its row to the factor; false if it depends linearly on those in the set.
    fn append(&mut self, j: usize) -> bool {
        let mut row: Vec<f64> = Vec::with_capacity(self.set.len() + 1);
        for (&k, of_k) in self.set.iter().zip(&self.factor) {
            let rest = self.m.get(j, k) - dot(&row, &of_k[..row.len()]);
            row.push(rest / of_k[row.len()]);
        }
        let rest = self.m.get(j, j) - dot(&row, &row);
        if rest <= INDEPENDENT {
            return false;
        }
        row.push(rest.sqrt());
        self.set.push(j);
        self.factor.push(row);
        true
    }

    /// The unconstrained minimum over the set.
    fn minimum(&self) -> Vec<f64> {
        let mut z: Vec<f64> = Vec::with_capacity(self.set.len());
        for (&k, row) in self.set.iter().zip(&self.factor) {
            z.push((self.b[k] - dot(&z, &row[..z.len()])) / row[z.len()]);
        }
        for i in (0..z.len()).rev() {
            z[i] /= self.factor[i][i];
            let solved = z[i];
            z[..i].iter_mut().zip(&self.factor[i]).for_each(|(z, l)| *z -= solved * l);
        }
        z
    }

    /// Moves to the minimum over the set, or as far as all variables stay nonnegative; those that reach zero leave the
    /// set, and the move continues.
    fn walk(&mut self, mut wish: Vec<f64>) {
        loop {
            let mut first: Option<(usize, f64)> = None;
            for (&k, &wish) in self.set.iter().zip(&wish).filter(|(_, wish)| **wish <= 0.0) {
                let way = self.x[k] / (self.x[k] - wish);
                if first.is_none_or(|(_, least)| way < least) {
                    first = Some((k, way));
                }
            }
            let Some((out, way)) = first else {
                self.set.iter().zip(&wish).for_each(|(&k, &wish)| self.x[k] = wish);
                return;
            };
            for (&k, &wish) in self.set.iter().zip(&wish) {
                self.x[k] += way * (wish - self.x[k]);
            }
            self.x[out] = 0.0;
            self.n_iter += 1;
            self.factor.clear();
            for k in std::mem::take(&mut self.set) {
                if self.x[k] <= 0.0 || !self.append(k) {
                    self.x[k] = 0.0;
                }
            }
            wish = self.minimum();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;

    /// The normal equations of random columns; the last repeats the first and the one before is a sum of two.
    fn problem(rng: &mut Rng, n_rows: usize, n: usize) -> (Matrix, Vec<f64>) {
        let mut z = Matrix::from_fn(n_rows, n, |_, j| (rng.uniform() - 0.3) * (1.0 + j as f64));
        for i in 0..n_rows {
            z.set(i, n - 1, z.get(i, 0));
            z.set(i, n - 2, z.get(i, 0) + z.get(i, 1));
        }
        let t: Vec<f64> = (0..n_rows).map(|_| rng.uniform() - 0.4).collect();
        let m = Matrix::from_fn(n, n, |k, l| (0..n_rows).map(|i| z.get(i, k) * z.get(i, l)).sum());
        let b = (0..n).map(|k| (0..n_rows).map(|i| z.get(i, k) * t[i]).sum()).collect();
        (m, b)
    }

    fn objective(m: &Matrix, b: &[f64], x: &[f64]) -> f64 {
        let mx: Vec<f64> = m.rows().map(|row| dot(row, x)).collect();
        dot(x, &mx) - 2.0 * dot(b, x)
    }

    /// The best over all sets of positive variables, each solved by elimination.
    fn brute_force(m: &Matrix, b: &[f64]) -> f64 {
        let n = b.len();
        let mut best = 0.0f64;
        for bits in 1u32..1 << n {
            let set: Vec<usize> = (0..n).filter(|&j| bits >> j & 1 == 1).collect();
            let mut a: Vec<Vec<f64>> =
                set.iter().map(|&i| set.iter().map(|&j| m.get(i, j)).chain([b[i]]).collect()).collect();
            let k = set.len();
            let mut regular = true;
            for c in 0..k {
                let pivot = (c..k).max_by(|&p, &q| a[p][c].abs().total_cmp(&a[q][c].abs())).unwrap();
                a.swap(c, pivot);
                if a[c][c].abs() < 1e-9 {
                    regular = false;
                    break;
                }
                for r in (0..k).filter(|&r| r != c) {
                    let factor = a[r][c] / a[c][c];
                    let line = a[c].clone();
                    a[r].iter_mut().zip(line).skip(c).for_each(|(value, line)| *value -= factor * line);
                }
            }
            let mut x = vec![0.0; n];
            if regular {
                set.iter().enumerate().for_each(|(c, &j)| x[j] = a[c][k] / a[c][c]);
                if x.iter().all(|&x| x >= 0.0) {
                    best = best.min(objective(m, b, &x));
                }
            }
        }
        best
    }

    #[test]
    fn solve_finds_the_best_of_all_sets() {
        let mut rng = Rng::new(1, 0);
        for (n_rows, n) in [(3, 2), (5, 4), (20, 6), (4, 8), (30, 9)] {
            for _ in 0..20 {
                let (m, b) = problem(&mut rng, n_rows, n);
                let x = solve(&m, &b).unwrap().x;
                let (found, best) = (objective(&m, &b, &x), brute_force(&m, &b));
                assert!(x.iter().all(|&x| x >= 0.0));
                assert!((found - best).abs() <= 1e-8 * (1.0 + best.abs()), "{n_rows} x {n}: {found} against {best}");
            }
        }
    }

    #[test]
    fn solve_with_many_variables_meets_the_optimality_conditions() {
        let mut rng = Rng::new(2, 0);
        for (n_rows, n) in [(40, 200), (300, 200)] {
            let (m, b) = problem(&mut rng, n_rows, n);
            let NnlsSolution { x, n_iter } = solve(&m, &b).unwrap();
            let most = (0..n).map(|j| (b[j] / m.get(j, j).sqrt()).abs()).fold(0.0, f64::max);
            let positive = x.iter().filter(|&&x| x > 0.0).count();
            assert!(positive > 5 && positive <= n_rows && n_iter >= positive as u64);
            for j in 0..n {
                let gradient = (b[j] - dot(m.row(j), &x)) / m.get(j, j).sqrt();
                let allowed = if x[j] > 0.0 { -1e-7 * most..=1e-7 * most } else { f64::NEG_INFINITY..=1e-9 * most };
                assert!(allowed.contains(&gradient), "{n_rows} rows, variable {j} = {}: {gradient}", x[j]);
            }
        }
    }

    #[test]
    fn solve_without_use_for_any_variable_is_zero() {
        let m = Matrix::from_vec(2, 2, vec![1.0, 0.0, 0.0, 0.0]).unwrap();
        assert_eq!(solve(&m, &[-1.0, 0.0]).unwrap(), NnlsSolution { x: vec![0.0, 0.0], n_iter: 0 });
        assert_eq!(solve(&Matrix::zeros(0, 0), &[]).unwrap().x, Vec::<f64>::new());
    }

    #[test]
    fn solve_refuses_what_does_not_fit() {
        let message = |m: &Matrix, b: &[f64]| solve(m, b).unwrap_err().to_string();
        let shape = "nonnegative least squares needs 2 x 2 products, got 1 x 2";
        assert_eq!(message(&Matrix::zeros(1, 2), &[0.0; 2]), shape);
        let finite = "nonnegative least squares needs finite numbers, got inf; scale the kernels down";
        assert_eq!(message(&Matrix::zeros(1, 1), &[f64::INFINITY]), finite);
    }
}
