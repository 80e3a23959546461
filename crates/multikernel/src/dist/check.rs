//! Shared by the tests of the variates: distribution functions, and bounds that a wrong distribution violates.

use std::f64::consts::TAU;

/// P(Z <= z) of the standard normal distribution: a series near 0, a continued fraction in the tails.
pub(super) fn normal_cdf(z: f64) -> f64 {
    let density = (-0.5 * z * z).exp() / TAU.sqrt();
    if z.abs() > 3.0 {
        let fraction = (1..100).rev().fold(z.abs(), |below, k| z.abs() + f64::from(k) / below);
        let tail = density / fraction;
        return if z < 0.0 { tail } else { 1.0 - tail };
    }
    let (mut term, mut sum) = (z, z);
    for k in 1..60 {
        term *= z * z / f64::from(2 * k + 1);
        sum += term;
    }
    0.5 + density * sum
}

/// P(ln X <= ln_x) of the gamma distribution of scale 1: the series of the incomplete gamma function.
pub(super) fn gamma_cdf(ln_x: f64, shape: f64) -> f64 {
    let x = ln_x.exp();
    let (mut term, mut sum, mut n) = (1.0, 1.0, shape);
    while term > 1e-17 * sum {
        n += 1.0;
        term *= x / n;
        sum += term;
    }
    ((shape * ln_x - x - ln_factorial(shape)) + sum.ln()).exp().min(1.0)
}

/// ln Gamma(x + 1) by Stirling's series.
fn ln_factorial(x: f64) -> f64 {
    let (mut z, mut shift) = (x + 1.0, 0.0);
    while z < 40.0 {
        shift += z.ln();
        z += 1.0;
    }
    let w = 1.0 / (z * z);
    (z - 0.5) * z.ln() - z + 0.5 * TAU.ln() + (1.0 / 12.0 - w * (1.0 / 360.0 - w / 1260.0)) / z - shift
}

/// P(X <= x) of the inverse Gaussian distribution, for 2 shape/mean below 700.
pub(super) fn inverse_gaussian_cdf(x: f64, mean: f64, shape: f64) -> f64 {
    let root = (shape / x).sqrt();
    normal_cdf(root * (x / mean - 1.0)) + (2.0 * shape / mean).exp() * normal_cdf(-root * (x / mean + 1.0))
}

/// sqrt(n) times the Kolmogorov-Smirnov distance between the draws and a distribution.
pub(super) fn law_distance(draws: &[f64], cdf: impl Fn(f64) -> f64) -> f64 {
    let mut sorted = draws.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let apart = |(i, &x): (usize, &f64)| {
        let p = cdf(x);
        assert!(!p.is_nan(), "no probability at {x}");
        (p - i as f64 / n).abs().max(((i + 1) as f64 / n - p).abs())
    };
    n.sqrt() * sorted.iter().enumerate().map(apart).fold(0.0, f64::max)
}

/// Draws from the right distribution exceed this bound for one in 10^4 seeds (2 exp(-2 d^2) at d = 2.23).
pub(super) fn assert_law(draws: &[f64], cdf: impl Fn(f64) -> f64, what: &str) {
    let distance = law_distance(draws, cdf);
    assert!(distance < 2.23, "{what}: distance {distance}");
}

/// Asserts that the mean of `of` over the draws is `mean` to five standard errors; `variance` is that of `of` at one
/// draw.
pub(super) fn assert_mean(draws: &[f64], of: impl Fn(f64) -> f64, mean: f64, variance: f64, what: &str) {
    let n = draws.len() as f64;
    let found = draws.iter().map(|&x| of(x)).sum::<f64>() / n;
    let error = (found - mean) / (variance / n).sqrt();
    assert!(error.abs() < 5.0, "{what}: {found}, expected {mean}, {error} standard errors off");
}

/// Asserts that this share of the draws satisfies `is`, to five standard errors.
pub(super) fn assert_share(draws: &[f64], is: impl Fn(f64) -> bool, share: f64, what: &str) {
    let indicator = |x| f64::from(u8::from(is(x)));
    assert_mean(draws, indicator, share, share * (1.0 - share), what);
}

#[test]
fn distribution_functions_have_known_values() {
    // From Python's `math.erfc` and, for integer shapes, Poisson probabilities to 60 digits.
    let table = [
        (normal_cdf(-4.0), 3.167_124_183_311_992e-5),
        (normal_cdf(-1.0), 0.158_655_253_931_457_05),
        (normal_cdf(2.5), 0.993_790_334_674_223_8),
        (gamma_cdf(0.5f64.ln(), 0.5), 0.682_689_492_137_085_9),
        (gamma_cdf(4f64.ln(), 4.0), 0.566_529_879_633_291),
        (gamma_cdf(310f64.ln(), 300.0), 0.722_488_754_171_861_1),
        (inverse_gaussian_cdf(1.5, 2.0, 3.0), 0.495_690_124_841_629_6),
        (inverse_gaussian_cdf(10.0, 2.0, 3.0), 0.995_963_551_041_999_6),
    ];
    for (found, expected) in table {
        assert!((found - expected).abs() < 1e-12 * (1.0 + expected), "{found:e}, expected {expected:e}");
    }
}
