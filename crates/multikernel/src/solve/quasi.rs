//! A quasi-Newton model of a function on the simplex, and its minimum there.

use super::simplex;
use crate::linalg::Matrix;
use crate::simd::Real;

/// Number of remembered pairs of steps and gradient changes.
pub(crate) const MEMORY: usize = 10;
/// Maximum projections to find the minimum of a model: their cost is negligible beside one SVM.
const INNER: usize = 500;

/// The Hessian of L-BFGS in compact form (Byrd, Nocedal, Schnabel 1994): `B = sigma I - Q M^-1 Q'`.
pub(crate) struct Hessian {
    sigma: f64,
    /// The columns of Q: steps times sigma, then gradient changes.
    columns: Vec<Vec<f64>>,
    /// M^-1.
    inverse: Matrix,
}

impl Hessian {
    /// From steps `s_i` and gradient changes `y_i`, oldest first; `None` if the result would not be positive definite.
    pub(crate) fn new(steps: &[&[f64]], changes: &[&[f64]]) -> Option<Hessian> {
        let k = steps.len();
        let last = k.checked_sub(1)?;
        let sigma = f64::dot(changes[last], changes[last]) / f64::dot(steps[last], changes[last]);
        let mut middle = Matrix::zeros(2 * k, 2 * k);
        for i in 0..k {
            for j in 0..k {
                middle.set(i, j, sigma * f64::dot(steps[i], steps[j]));
                if i > j {
                    let across = f64::dot(steps[i], changes[j]);
                    middle.set(i, k + j, across);
                    middle.set(k + j, i, across);
                }
            }
            middle.set(k + i, k + i, -f64::dot(steps[i], changes[i]));
        }
        let scaled = steps.iter().map(|step| step.iter().map(|s| sigma * s).collect());
        let columns = scaled.chain(changes.iter().map(|change| change.to_vec())).collect();
        let usable = sigma.is_finite() && sigma > 0.0;
        usable.then_some(())?;
        Some(Hessian { sigma, columns, inverse: inverse(middle)? })
    }

    /// `B x`.
    fn times(&self, x: &[f64]) -> Vec<f64> {
        let columns: Vec<&[f64]> = self.columns.iter().map(Vec::as_slice).collect();
        let rows: Vec<&[f64]> = self.inverse.rows().collect();
        let factors: Vec<f64> = dots(&rows, &dots(&columns, x)).into_iter().map(|factor| -factor).collect();
        let mut out: Vec<f64> = x.iter().map(|x| self.sigma * x).collect();
        let ((fours, rest), (of_fours, of_rest)) = (columns.as_chunks::<4>(), factors.as_chunks::<4>());
        fours.iter().zip(of_fours).for_each(|(four, of_four)| f64::add_four(*of_four, *four, &mut out));
        rest.iter().zip(of_rest).for_each(|(column, &factor)| f64::add_scaled(factor, column, &mut out));
        out
    }

    /// The minimiser of `g'(x - d) + 1/2 (x - d)'B(x - d)` on the simplex, by projected gradients with exact steps.
    pub(crate) fn lowest_on_simplex(&self, d: &[f64], gradient: &[f64]) -> Vec<f64> {
        let mut x = d.to_vec();
        let mut slope = gradient.to_vec();
        let (mut length, mut first) = (1.0 / self.sigma, None);
        for _ in 0..INNER {
            let ahead: Vec<f64> = x.iter().zip(&slope).map(|(x, g)| x - length * g).collect();
            let target = simplex::project(&ahead);
            let step: Vec<f64> = target.iter().zip(&x).map(|(t, x)| t - x).collect();
            let (square, fall) = (f64::dot(&step, &step), f64::dot(&step, &slope));
            // The model is not accurate beyond this.
            if fall >= 1e-13 * *first.get_or_insert(fall) || fall >= 0.0 {
                break;
            }
            let turned = self.times(&step);
            let curvature = f64::dot(&step, &turned);
            let part = if curvature > 0.0 { (-fall / curvature).min(1.0) } else { 1.0 };
            if part == 1.0 {
                x = target;
            } else {
                f64::add_scaled(part, &step, &mut x);
            }
            f64::add_scaled(part, &turned, &mut slope);
            length = if curvature > 0.0 { square / curvature } else { 1.0 / self.sigma };
        }
        x
    }
}

/// The inner products of some arrays with one, four at a time.
fn dots(values: &[&[f64]], with: &[f64]) -> Vec<f64> {
    let (fours, rest) = values.as_chunks::<4>();
    let fours = fours.iter().flat_map(|four| f64::dot_four(*four, with));
    fours.chain(rest.iter().map(|values| f64::dot(values, with))).collect()
}

/// The inverse of a small matrix by elimination with partial pivoting; `None` if it is singular.
fn inverse(mut a: Matrix) -> Option<Matrix> {
    let n = a.n_rows();
    let mut out = Matrix::from_fn(n, n, |i, j| f64::from(u8::from(i == j)));
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a.get(i, k).abs().total_cmp(&a.get(j, k).abs()))?;
        let value = a.get(pivot, k);
        if !value.is_finite() || value == 0.0 {
            return None;
        }
        for matrix in [&mut a, &mut out] {
            for j in 0..n {
                let (kept, moved) = (matrix.get(k, j), matrix.get(pivot, j));
                matrix.set(pivot, j, kept);
                matrix.set(k, j, moved / value);
            }
        }
        for i in (0..n).filter(|&i| i != k) {
            let factor = a.get(i, k);
            for matrix in [&mut a, &mut out] {
                let row = matrix.row(k).to_vec();
                f64::add_scaled(-factor, &row, matrix.row_mut(i));
            }
        }
    }
    out.data().iter().all(|value| value.is_finite()).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;
    use crate::linalg::dot;

    fn random(rng: &mut Rng, n: usize) -> Vec<f64> {
        (0..n).map(|_| rng.uniform() - 0.5).collect()
    }

    /// BFGS pair by pair on a dense matrix.
    fn dense(sigma: f64, steps: &[&[f64]], changes: &[&[f64]]) -> Matrix {
        let n = steps[0].len();
        let mut b = Matrix::from_fn(n, n, |i, j| if i == j { sigma } else { 0.0 });
        for (s, y) in steps.iter().zip(changes) {
            let bs: Vec<f64> = b.rows().map(|row| dot(row, s)).collect();
            let (sbs, sy) = (dot(s, &bs), dot(s, y));
            b = Matrix::from_fn(n, n, |i, j| b.get(i, j) - bs[i] * bs[j] / sbs + y[i] * y[j] / sy);
        }
        b
    }

    #[test]
    fn hessian_in_compact_form_is_that_of_bfgs_pair_by_pair() {
        let mut rng = Rng::new(4, 0);
        let n = 6;
        let steps: Vec<Vec<f64>> = (0..4).map(|_| random(&mut rng, n)).collect();
        // Changes of the gradient of a quadratic, so that every s'y is positive.
        let changes: Vec<Vec<f64>> =
            steps.iter().map(|s| s.iter().enumerate().map(|(i, s)| (1.0 + i as f64) * s).collect()).collect();
        let (steps, changes): (Vec<&[f64]>, Vec<&[f64]>) =
            (steps.iter().map(Vec::as_slice).collect(), changes.iter().map(Vec::as_slice).collect());
        let hessian = Hessian::new(&steps, &changes).unwrap();
        let plain = dense(hessian.sigma, &steps, &changes);
        let x = random(&mut rng, n);
        for (found, row) in hessian.times(&x).iter().zip(plain.rows()) {
            assert!((found - dot(row, &x)).abs() < 1e-10, "{found} {}", dot(row, &x));
        }
    }

    #[test]
    fn lowest_on_simplex_meets_the_optimality_conditions() {
        let mut rng = Rng::new(5, 0);
        for n in [2, 7, 40] {
            let steps: Vec<Vec<f64>> = (0..3).map(|_| random(&mut rng, n)).collect();
            let changes: Vec<Vec<f64>> =
                steps.iter().map(|s| s.iter().enumerate().map(|(i, s)| (0.1 + i as f64) * s).collect()).collect();
            let (steps, changes): (Vec<&[f64]>, Vec<&[f64]>) =
                (steps.iter().map(Vec::as_slice).collect(), changes.iter().map(Vec::as_slice).collect());
            let hessian = Hessian::new(&steps, &changes).unwrap();
            let (d, gradient) = (vec![1.0 / n as f64; n], random(&mut rng, n));
            let x = hessian.lowest_on_simplex(&d, &gradient);
            let moved: Vec<f64> = x.iter().zip(&d).map(|(x, d)| x - d).collect();
            let slope: Vec<f64> = hessian.times(&moved).iter().zip(&gradient).map(|(b, g)| b + g).collect();
            let lowest = slope.iter().copied().fold(f64::INFINITY, f64::min);
            assert!((x.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            for (x, slope) in x.iter().zip(&slope) {
                assert!(*x < 1e-9 || slope - lowest < 1e-6, "{x} {slope} {lowest}");
            }
        }
    }
}
