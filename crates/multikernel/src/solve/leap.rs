//! Where many variables of a quadratic problem go at once: the minimum on the face they are on.

use crate::linalg::dot;

/// Most variables that leap together: the factor costs their cube.
pub(super) const MOST: usize = 128;
/// Kernel values below this count as 0.
pub(super) const LEAST: f64 = 1e-60;
/// Part of the mean diagonal added to it. On a kernel of low rank the minimum is far away then, along what costs nothing, and
/// the way there ends at a bound.
const RIDGE: f64 = 1e-10;

/// The `d` that minimises `1/2 d'Kd - r'd` with `sum d = 0`; `k` is row by row. `None` where `K` is not positive definite.
///
/// With `K u = r` and `K v = 1` it is `u - (sum u / sum v) v`.
pub(super) fn direction(mut k: Vec<f64>, r: &[f64]) -> Option<Vec<f64>> {
    let n = r.len();
    let ridge = RIDGE * (0..n).map(|i| k[i * n + i]).sum::<f64>() / n as f64;
    (0..n).for_each(|i| k[i * n + i] += ridge);
    factor(&mut k, n)?;
    let (mut u, mut v) = (r.to_vec(), vec![1.0; n]);
    solve(&k, &mut u);
    solve(&k, &mut v);
    let ratio = u.iter().sum::<f64>() / v.iter().sum::<f64>();
    u.iter_mut().zip(&v).for_each(|(u, v)| *u -= ratio * v);
    // What rounding leaves of the sum is taken off everywhere.
    let mean = u.iter().sum::<f64>() / n as f64;
    u.iter_mut().for_each(|u| *u -= mean);
    u.iter().all(|u| u.is_finite()).then_some(u)
}

/// The Cholesky factor, in the lower half.
fn factor(k: &mut [f64], n: usize) -> Option<()> {
    for i in 0..n {
        let (above, row) = k.split_at_mut(i * n);
        for j in 0..i {
            let other = &above[j * n..j * n + j + 1];
            row[j] = (row[j] - dot(&row[..j], &other[..j])) / other[j];
        }
        let rest = row[i] - dot(&row[..i], &row[..i]);
        if rest.is_nan() || rest <= 0.0 {
            return None;
        }
        row[i] = rest.sqrt();
    }
    Some(())
}

/// Solves with a factor, in place.
fn solve(factor: &[f64], x: &mut [f64]) {
    let n = x.len();
    for i in 0..n {
        let row = &factor[i * n..i * n + i + 1];
        x[i] = (x[i] - dot(&row[..i], &x[..i])) / row[i];
    }
    for i in (0..n).rev() {
        let row = &factor[i * n..i * n + i + 1];
        x[i] /= row[i];
        let value = x[i];
        x[..i].iter_mut().zip(row).for_each(|(x, l)| *x -= value * l);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;

    #[test]
    fn direction_is_where_all_residuals_are_equal() {
        let mut rng = Rng::new(1, 0);
        for n in [2, 3, 17, 60] {
            let factor: Vec<f64> = (0..n * n).map(|_| rng.uniform() - 0.5).collect();
            let entry = |i: usize, j: usize| (0..n).map(|k| factor[i * n + k] * factor[j * n + k]).sum::<f64>();
            let k: Vec<f64> =
                (0..n * n).map(|at| entry(at / n, at % n) + f64::from(u8::from(at / n == at % n))).collect();
            let r: Vec<f64> = (0..n).map(|_| rng.uniform()).collect();
            let d = direction(k.clone(), &r).unwrap();
            assert!(d.iter().sum::<f64>().abs() < 1e-14);
            let rest = |i: usize| r[i] - (0..n).map(|j| k[i * n + j] * d[j]).sum::<f64>();
            for i in 1..n {
                assert!((rest(i) - rest(0)).abs() < 1e-8, "{n}: {} and {}", rest(i), rest(0));
            }
        }
    }

    #[test]
    fn direction_on_an_indefinite_matrix_is_none() {
        assert_eq!(direction(vec![1.0, 2.0, 2.0, 1.0], &[1.0, -1.0]), None);
        assert_eq!(direction(vec![1.0, f64::NAN, f64::NAN, 1.0], &[1.0, -1.0]), None);
    }
}
