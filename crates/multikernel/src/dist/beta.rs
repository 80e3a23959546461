//! The beta distribution: quantiles, and the continued fraction of the incomplete beta function.

use super::gamma_function::{ASYMPTOTIC_FROM, ln_gamma_function, series};

/// The x with P(X <= x) = p for a beta variate X with density proportional to `x^(a-1) (1-x)^(b-1)`: for example an
/// interval end point for one weight under a Dirichlet prior, which is beta(eta, eta (P - 1)) for P kernels.
///
/// Relative error below 1e-10 for a and b up to 10^5, even for x near 0; x below the range of `f64` is 0. NaN unless a
/// and b are positive and finite and 0 < p < 1. Cost: some ten evaluations of a continued fraction.
///
/// ```
/// use multikernel::dist::beta_quantile;
/// // beta(1, b): P(X <= x) = 1 - (1 - x)^b.
/// assert!((beta_quantile(0.05, 1.0, 15.0) - (1.0 - 0.95f64.powf(1.0 / 15.0))).abs() < 1e-14);
/// ```
pub fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    let is_positive = |x: f64| x > 0.0 && x.is_finite();
    if !(p > 0.0 && p < 1.0 && is_positive(a) && is_positive(b)) {
        return f64::NAN;
    }
    let distribution = Beta { a, b, ln_beta: ln_beta(a, b) };
    distribution.ln_quantile(p).exp()
}

struct Beta {
    a: f64,
    b: f64,
    ln_beta: f64,
}

impl Beta {
    /// P(X <= e^y) for `y < 0`, and its derivative with respect to y. The logarithm resolves both ends: x near 0 and,
    /// through 1 - x = -expm1(y), x near 1.
    fn cdf(&self, y: f64) -> (f64, f64) {
        let (a, b) = (self.a, self.b);
        let (x, rest) = (y.exp(), -y.exp_m1());
        // x^a (1-x)^b / B(a, b); the density in y is this over (1 - x).
        let front = (a * y + b * rest.ln() - self.ln_beta).exp();
        let below = if x < (a + 1.0) / (a + b + 2.0) {
            front * fraction(a, b, x) / a
        } else {
            1.0 - front * fraction(b, a, rest) / b
        };
        (below, front / rest)
    }

    /// Newton's method on the log probability, safeguarded by a bracket.
    fn ln_quantile(&self, p: f64) -> f64 {
        // e^-745 is the smallest number.
        let (mut low, mut high) = (-745.2, 0.0);
        let mut y = (self.a / (self.a + self.b)).ln().max(-700.0);
        for _ in 0..200 {
            let (below, slope) = self.cdf(y);
            if below < p {
                low = y;
            } else {
                high = y;
            }
            let mut next = y - (below / p).ln() * below / slope;
            if !(next > low && next < high) {
                next = 0.5 * (low + high);
            }
            if (next - y).abs() <= 2.0 * f64::EPSILON * y.abs() {
                return next;
            }
            y = next;
        }
        y
    }
}

/// ln B(a, b) by Stirling's series, with the part of the larger argument as a difference so that nothing large cancels.
fn ln_beta(a: f64, b: f64) -> f64 {
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    let (mut z, mut shift) = (large, 0.0);
    // Gamma(z) / Gamma(z + small) from arguments where the series holds.
    while z < ASYMPTOTIC_FROM {
        shift += (small / z).ln_1p();
        z += 1.0;
    }
    let sum = z + small;
    let ratio = -(z - 0.5) * (small / z).ln_1p() - small * sum.ln() + small + series(z) - series(sum);
    ln_gamma_function(small) + ratio + shift
}

/// The continued fraction of I_x(a, b) a B(a, b) / (x^a (1-x)^b) (DLMF 8.17.22) by Lentz's method; fast for
/// x < (a + 1)/(a + b + 2), where about sqrt(a + b) terms are needed.
pub(crate) fn fraction(a: f64, b: f64, x: f64) -> f64 {
    // Replaces a zero denominator, which Lentz's recurrence may meet; any tiny value works.
    const TINY: f64 = 1e-300;
    let guard = |v: f64| if v.abs() < TINY { TINY } else { v };
    let (mut c, mut d, mut value) = (1.0, 0.0, 1.0);
    for j in 1..100_000u32 {
        let m = f64::from(j / 2);
        let numerator = if j % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        d = 1.0 / guard(1.0 + numerator * d);
        c = guard(1.0 + numerator / c);
        value *= c * d;
        if (c * d - 1.0).abs() <= f64::EPSILON {
            break;
        }
    }
    1.0 / value
}

#[cfg(test)]
mod tests {
    use super::super::check::assert_law;
    use super::super::{Rng, gamma};
    use super::*;

    fn assert_relative(found: f64, expected: f64, tolerance: f64, what: &str) {
        assert!((found - expected).abs() <= tolerance * expected.abs(), "{what}: {found:e}, expected {expected:e}");
    }

    #[test]
    fn quantiles_with_a_one_in_an_argument_equal_their_closed_form() {
        for b in [0.05, 0.3, 1.0, 2.5, 15.0, 792.0, 3087.0, 1e5] {
            for p in [1e-9f64, 0.025, 0.05, 0.5, 0.95, 0.999] {
                let what = format!("p {p}, b {b}");
                let expected = -((-p).ln_1p() / b).exp_m1();
                assert_relative(beta_quantile(p, 1.0, b), expected, 1e-10, &what);
                let expected = (p.ln() / b).exp();
                assert_relative(beta_quantile(p, b, 1.0), expected, 1e-10, &what);
            }
        }
        // The arcsine distribution.
        for p in [0.01, 0.3, 0.5, 0.9] {
            let expected = (0.5 * std::f64::consts::PI * p).sin().powi(2);
            assert_relative(beta_quantile(p, 0.5, 0.5), expected, 1e-12, "arcsine");
        }
    }

    #[test]
    fn quantiles_leave_the_probability_that_was_asked_for() {
        for (a, b) in [(0.1, 9.0), (2.0, 3.0), (0.1, 308.7), (7.5, 0.4), (30.0, 30.0), (3.0, 5000.0)] {
            let distribution = Beta { a, b, ln_beta: ln_beta(a, b) };
            for p in [1e-6, 0.05, 0.4, 0.95, 0.9999] {
                let (found, _) = distribution.cdf(distribution.ln_quantile(p));
                assert_relative(found, p, 1e-12, &format!("p {p}, a {a}, b {b}"));
                let mirrored = 1.0 - beta_quantile(1.0 - p, b, a);
                assert!((beta_quantile(p, a, b) - mirrored).abs() < 1e-9, "p {p}, a {a}, b {b}");
            }
        }
    }

    #[test]
    fn one_weight_of_a_dirichlet_law_has_this_law() {
        let (mut rng, eta, n) = (Rng::new(5, 0), 0.7, 5);
        let weight = |rng: &mut Rng| {
            let parts: Vec<f64> = (0..n).map(|_| gamma(rng, eta, 1.0)).collect();
            parts[0] / parts.iter().sum::<f64>()
        };
        let draws: Vec<f64> = (0..50_000).map(|_| weight(&mut rng)).collect();
        let (a, b) = (eta, eta * 4.0);
        let distribution = Beta { a, b, ln_beta: ln_beta(a, b) };
        assert_law(&draws, |x| distribution.cdf(x.ln()).0, "one weight of five");
    }

    #[test]
    fn ln_beta_has_known_values() {
        // B(2, 3) = 1/12, B(1/2, 1/2) = pi, B(1, b) = 1/b, B(20, 30) = 19! 29! / 49!.
        let factorial = |n: u32| (2..=n).map(f64::from).product::<f64>();
        let table = [
            (ln_beta(2.0, 3.0), (1.0f64 / 12.0).ln()),
            (ln_beta(0.5, 0.5), std::f64::consts::PI.ln()),
            (ln_beta(3087.0, 1.0), -3087f64.ln()),
            (ln_beta(20.0, 30.0), (factorial(19) * factorial(29) / factorial(49)).ln()),
        ];
        for (found, expected) in table {
            assert_relative(found, expected, 1e-14, "ln B");
        }
    }

    #[test]
    fn quantiles_at_the_ends_are_numbers_and_what_is_no_law_is_nan() {
        assert_eq!(beta_quantile(0.05, 1e-4, 1.0), 0.0);
        assert!(beta_quantile(1e-300, 1.0, 1.0) > 0.0 && beta_quantile(0.999_999, 1e-3, 1e3) < 1.0);
        for (p, a, b) in
            [(0.0, 1.0, 1.0), (1.0, 1.0, 1.0), (0.5, 0.0, 1.0), (0.5, 1.0, f64::INFINITY), (f64::NAN, 1.0, 1.0)]
        {
            assert!(beta_quantile(p, a, b).is_nan(), "{p} {a} {b}");
        }
    }
}
