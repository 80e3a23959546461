//! Finds kernels that are numerically identical on the training rows.

use crate::dist::Rng;
use crate::error::Result;
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::stack::{Stack, Symmetric};

/// Pairs of random vectors used to probe the kernels.
const PROBES: usize = 8;
/// Kernels whose difference has less than this fraction of their norm are the same.
const SAME: f64 = 1e-6;

/// Approximate number of kernel values used: a tenth of a second, as this runs after every run, even a stopped one.
const VALUES: usize = 20_000_000;

/// For each kernel, the first kernel that is numerically the same: `|K_a - K_b|_F < 1e-6 |K_a|_F`, estimated.
///
/// Very narrow Gaussians are all the identity matrix and very wide ones all ones: which of them a method picks means
/// nothing, so their weights belong together. Large data sets are subsampled at equal spacing. For vectors with
/// independent entries of mean 0 and variance 1, the square of `u'Dv` has mean `|D|_F^2`; eight such pairs separate
/// kernels whose difference is not just rounding. Cost: one [`Stack::project`].
pub(super) fn alike(stack: &Stack, rng: &mut Rng, pool: &Pool) -> Result<Vec<usize>> {
    let n_kernels = stack.n_kernels();
    let n = stack.n_rows().min((VALUES / n_kernels.max(1)).isqrt()).max(1);
    let rows: Vec<usize> = (0..n).map(|k| k * stack.n_rows() / n).collect();
    let stack = if n < stack.n_rows() { stack.view(&rows)? } else { stack.clone() };
    // Uniform on an interval, not random signs: with signs, two swapped entries would cancel half of the time.
    let half_width = 3f64.sqrt();
    let mut vector = || Matrix::from_fn(n, 1, |_, _| half_width * (2.0 * rng.uniform() - 1.0));
    let vectors: Vec<[Matrix; 2]> = (0..PROBES).map(|_| [vector(), vector()]).collect();
    let probes: Vec<Symmetric<'_>> = vectors.iter().map(|[u, v]| Symmetric::Factored(u, v)).collect();
    let found = stack.project(&probes, pool)?;
    let square = |a: usize| found.row(a).iter().map(|value| value * value).sum::<f64>();
    let distance =
        |a: usize, b: usize| -> f64 { found.row(a).iter().zip(found.row(b)).map(|(a, b)| (a - b).powi(2)).sum() };
    let mut first: Vec<usize> = Vec::with_capacity(n_kernels);
    for b in 0..n_kernels {
        let same = |&a: &usize| first[a] == a && distance(a, b) <= SAME * SAME * square(a);
        first.push((0..b).find(same).unwrap_or(b));
    }
    Ok(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Kernel;
    use crate::stack::StackOptions;

    fn groups(texts: &[&str], seed: u64) -> Vec<usize> {
        let pool = Pool::new(1).unwrap();
        let mut rng = Rng::new(3, 0);
        let points = Matrix::from_fn(50, 4, |_, _| 4.0 * rng.uniform());
        let kernels: Vec<Kernel> = texts.iter().map(|text| text.parse().unwrap()).collect();
        let stack = Stack::train(&points, &kernels, &StackOptions::new(&pool)).unwrap();
        alike(&stack, &mut Rng::new(seed, 1), &pool).unwrap()
    }

    #[test]
    fn kernels_that_are_the_identity_matrix_or_all_ones_are_alike_and_others_are_not() {
        for seed in 0..20 {
            let found = groups(
                &[
                    "gaussian(1e-3)",
                    "linear",
                    "gaussian(2e-3)",
                    "gaussian(1e6)",
                    "gaussian(1)",
                    "gaussian(1e7)",
                    "linear",
                ],
                seed,
            );
            assert_eq!(found, [0, 1, 0, 3, 4, 3, 1]);
        }
    }

    #[test]
    fn estimate_has_the_mean_of_the_squared_norm() {
        // Ten times 1e-6 is distinguished from a tenth of it, whatever the seed.
        let near = |part: f64| format!("gaussian({})", 1.0 + part);
        for seed in 0..20 {
            // |K_s - K_1| / |K_1| is about 0.9 (s - 1) on these points.
            let (apart, same) = (near(3e-5), near(1e-7));
            assert_eq!(groups(&["gaussian(1)", &apart, &same], seed), [0, 1, 0]);
        }
    }
}
