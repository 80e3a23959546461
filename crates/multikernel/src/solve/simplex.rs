//! Projection onto the simplex.

/// So many entries are sorted as they are.
const FEW: usize = 16;
/// More than the relative error of a sum, per term.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// The point of `{d >= 0, sum d = 1}` nearest to `x`: `d_m = max(x_m - t, 0)` for the unique t that makes the sum 1.
/// Entries below t become exactly 0. Cost: P log P.
///
/// ```
/// use multikernel::solve::simplex::project;
/// assert_eq!(project(&[0.75, 0.75, -3.0]), [0.5, 0.5, 0.0]);
/// ```
pub fn project(x: &[f64]) -> Vec<f64> {
    // Entries more than 1 below the largest are below t, and in a large bank most are: they need not be sorted.
    let largest = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sorted: Vec<f64> = x.iter().copied().filter(|&x| x > largest - 1.0 || x == largest).collect();
    // So are those below the t of any subset, which is at most that of all (Michelot 1986): what is left over after a few
    // rounds is little more than what stays above t. A margin for rounding keeps the entries that decide.
    while sorted.len() > FEW {
        let n = sorted.len();
        let bound = (sorted.iter().sum::<f64>() - 1.0) / n as f64;
        let margin = ROUNDING * n as f64 * largest.abs().max(bound.abs()).max(1.0);
        sorted.retain(|&x| x > bound - margin);
        if sorted.len() == n || sorted.is_empty() {
            break;
        }
    }
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    // The largest k for which the k-th largest entry stays above the threshold of the first k.
    let (mut sum, mut threshold) = (0.0, f64::NEG_INFINITY);
    for (k, &value) in sorted.iter().enumerate() {
        sum += value;
        let candidate = (sum - 1.0) / (k + 1) as f64;
        if value <= candidate {
            break;
        }
        threshold = candidate;
    }
    x.iter().map(|&x| (x - threshold).max(0.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;

    #[test]
    fn project_of_random_points_meets_the_optimality_conditions() {
        let mut rng = Rng::new(3, 0);
        for n in [1, 2, 3, 10, 100] {
            for scale in [0.01, 1.0, 100.0] {
                let x: Vec<f64> = (0..n).map(|_| scale * (rng.uniform() - 0.5)).collect();
                let d = project(&x);
                assert!((d.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{d:?}");
                // x - d is constant where d > 0, and no larger anywhere else.
                let top = x.iter().zip(&d).filter(|(_, d)| **d > 0.0).map(|(x, d)| x - d).fold(f64::MIN, f64::max);
                for (x, d) in x.iter().zip(&d) {
                    assert!(if *d > 0.0 { (x - d - top).abs() < 1e-12 * scale.max(1.0) } else { *x <= top + 1e-12 });
                }
            }
        }
    }

    #[test]
    fn project_of_a_point_of_the_simplex_is_that_point() {
        assert_eq!(project(&[0.25, 0.0, 0.75]), [0.25, 0.0, 0.75]);
        assert_eq!(project(&[1.0]), [1.0]);
    }
}
