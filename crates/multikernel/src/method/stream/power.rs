//! Norms over the kernels.

/// The exponent q dual to the p nearest to 1 at which `|w|_{2,p}^2` is still strongly convex for this many kernels: 2
/// ln P.
pub(super) fn dual_power(n_kernels: usize) -> f64 {
    (2.0 * (n_kernels as f64).ln()).max(2.0)
}

/// `(sum v^q)^(1/q)` for nonnegative numbers of any size.
pub(super) fn q_norm(v: &[f64], q: f64) -> f64 {
    let largest = v.iter().copied().fold(0.0, f64::max);
    if !(largest > 0.0 && largest.is_finite()) {
        return largest;
    }
    largest * v.iter().map(|v| (v / largest).powf(q)).sum::<f64>().powf(1.0 / q)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q_norm_is_the_sum_of_powers_at_any_size() {
        let v = [3.0, 4.0, 0.0];
        assert!((q_norm(&v, 2.0) - 5.0).abs() < 1e-15);
        assert!((q_norm(&v, 3.0) - 91f64.cbrt()).abs() < 1e-14);
        assert!((q_norm(&v.map(|v| v * 1e300), 11.0) / 1e300 - q_norm(&v, 11.0)).abs() < 1e-14);
        assert_eq!(q_norm(&[0.0; 3], 11.0), 0.0);
    }
}
