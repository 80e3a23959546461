//! Moves many variables of a quadratic problem at once: to the minimum on the face they are on.

use crate::linalg::dot;

/// Maximum number of variables that leap together: the factor costs their cube.
pub(super) const MAX_BLOCK: usize = 128;
/// Kernel values below this are taken as 0: products of them would be subnormal, which processors handle slowly.
const SUBNORMAL_GUARD: f64 = 1e-60;
/// Fraction of the mean diagonal added to it. With a kernel of low rank the minimum is then far away, along directions
/// that cost nothing, and the path to it ends at a bound.
const RIDGE: f64 = 1e-10;

/// The Cholesky factor of a kernel between some variables, in the lower half of a square array.
#[derive(Debug)]
pub(super) struct Face {
    /// Variables on the face, and the row stride.
    size: usize,
    stride: usize,
    factor: Vec<f64>,
}

impl Face {
    /// The factor of a kernel given row by row; `None` where it is not positive definite.
    pub(super) fn new(mut kernel: Vec<f64>, size: usize) -> Option<Face> {
        let ridge = RIDGE * (0..size).map(|i| kernel[i * size + i]).sum::<f64>() / size as f64;
        kernel.iter_mut().filter(|value| value.abs() < SUBNORMAL_GUARD).for_each(|value| *value = 0.0);
        for i in 0..size {
            let (above, row) = kernel.split_at_mut(i * size);
            for j in 0..i {
                let other = &above[j * size..j * size + j + 1];
                row[j] = (row[j] - dot(&row[..j], &other[..j])) / other[j];
            }
            let rest = row[i] + ridge - dot(&row[..i], &row[..i]);
            if rest.is_nan() || rest <= 0.0 {
                return None;
            }
            row[i] = rest.sqrt();
        }
        Some(Face { size, stride: size, factor: kernel })
    }

    /// The `d` that minimises `1/2 d'Kd - r'd` with `sum d = 0`: with `K u = r` and `K v = 1` it is `u - (sum u / sum
    /// v) v`. `None` where it overflows.
    pub(super) fn direction(&self, r: &[f64]) -> Option<Vec<f64>> {
        let (mut u, mut v) = (r.to_vec(), vec![1.0; r.len()]);
        self.solve(&mut u);
        self.solve(&mut v);
        let ratio = u.iter().sum::<f64>() / v.iter().sum::<f64>();
        u.iter_mut().zip(&v).for_each(|(u, v)| *u -= ratio * v);
        // Subtract what rounding leaves of the sum evenly.
        let mean = u.iter().sum::<f64>() / u.len() as f64;
        u.iter_mut().for_each(|u| *u -= mean);
        u.iter().all(|u| u.is_finite()).then_some(u)
    }

    /// Removes a variable from the face. Without its row the factor has one column too many, which rotations of
    /// neighbouring columns clear: quadratic in the size, where a new factor is cubic.
    pub(super) fn remove(&mut self, at: usize) {
        let stride = self.stride;
        for i in at + 1..self.size {
            self.factor.copy_within(i * stride..i * stride + i + 1, (i - 1) * stride);
        }
        self.size -= 1;
        for k in at..self.size {
            let (a, b) = (self.factor[k * stride + k], self.factor[k * stride + k + 1]);
            let length = (a * a + b * b).sqrt();
            let (cosine, sine) = (a / length, b / length);
            self.factor[k * stride + k] = length;
            for row in self.factor.chunks_mut(stride).take(self.size).skip(k + 1) {
                let (x, y) = (row[k], row[k + 1]);
                row[k] = cosine * x + sine * y;
                row[k + 1] = cosine * y - sine * x;
            }
        }
    }

    fn row(&self, i: usize) -> &[f64] {
        &self.factor[i * self.stride..i * self.stride + i + 1]
    }

    fn solve(&self, x: &mut [f64]) {
        for i in 0..self.size {
            let row = self.row(i);
            x[i] = (x[i] - dot(&row[..i], &x[..i])) / row[i];
        }
        for i in (0..self.size).rev() {
            let row = self.row(i);
            x[i] /= row[i];
            let value = x[i];
            x[..i].iter_mut().zip(row).for_each(|(x, l)| *x -= value * l);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;

    /// A well-conditioned kernel.
    fn kernel(n: usize, rng: &mut Rng) -> Vec<f64> {
        let factor: Vec<f64> = (0..n * n).map(|_| rng.uniform() - 0.5).collect();
        let entry = |i: usize, j: usize| (0..n).map(|k| factor[i * n + k] * factor[j * n + k]).sum::<f64>();
        (0..n * n).map(|at| entry(at / n, at % n) + f64::from(u8::from(at / n == at % n))).collect()
    }

    #[test]
    fn direction_is_where_all_residuals_are_equal() {
        let mut rng = Rng::new(1, 0);
        for n in [2, 3, 17, 60] {
            let k = kernel(n, &mut rng);
            let r: Vec<f64> = (0..n).map(|_| rng.uniform()).collect();
            let d = Face::new(k.clone(), n).unwrap().direction(&r).unwrap();
            assert!(d.iter().sum::<f64>().abs() < 1e-14);
            let rest = |i: usize| r[i] - (0..n).map(|j| k[i * n + j] * d[j]).sum::<f64>();
            for i in 1..n {
                assert!((rest(i) - rest(0)).abs() < 1e-8, "{n}: {} and {}", rest(i), rest(0));
            }
        }
    }

    #[test]
    fn removed_variables_leave_the_factor_of_the_rest() {
        let mut rng = Rng::new(2, 0);
        for n in [2, 5, 30] {
            let k = kernel(n, &mut rng);
            let (mut face, mut kept) = (Face::new(k.clone(), n).unwrap(), (0..n).collect::<Vec<_>>());
            while kept.len() > 1 {
                let at = rng.below(kept.len());
                face.remove(at);
                kept.remove(at);
                let rest = kept.iter().flat_map(|&i| kept.iter().map(move |&j| (i, j))).map(|(i, j)| k[i * n + j]);
                let expected = Face::new(rest.collect(), kept.len()).unwrap();
                for i in 0..kept.len() {
                    for (a, b) in face.row(i).iter().zip(expected.row(i)) {
                        assert!((a - b).abs() < 1e-8, "{n}, {} left: {a} and {b}", kept.len());
                    }
                }
            }
        }
    }

    #[test]
    fn indefinite_kernel_has_no_factor() {
        assert!(Face::new(vec![1.0, 2.0, 2.0, 1.0], 2).is_none());
        assert!(Face::new(vec![1.0, f64::NAN, f64::NAN, 1.0], 2).is_none());
    }
}
