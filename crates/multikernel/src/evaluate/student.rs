//! Student's t distribution: distribution function and quantile, relative error in the lower tail below 1e-12 up to
//! 1000 degrees of freedom. Beyond, 1 - x = t^2/(df + t^2) is small and the fraction is sensitive to the rounding of x:
//! about 1e-11 at 10^5.

use std::f64::consts::PI;

use crate::dist::fraction;

/// P(T <= t) with `df > 0` degrees of freedom; small tails on the left keep their relative accuracy.
pub(crate) fn cdf(t: f64, df: f64) -> f64 {
    if t <= 0.0 { Half::new(df).tail(-t) } else { 1.0 - Half::new(df).tail(t) }
}

/// Student's t distribution with `df > 0` degrees of freedom: the t with P(T <= t) = p, for `p` strictly between 0 and 1;
/// NaN outside.
pub fn quantile(p: f64, df: f64) -> f64 {
    if !(p > 0.0 && p < 1.0) {
        f64::NAN
    } else if p == 0.5 {
        0.0
    } else if p < 0.5 {
        -Half::new(df).quantile(p)
    } else {
        Half::new(df).quantile(1.0 - p)
    }
}

/// The right half of the distribution.
struct Half {
    df: f64,
    /// 1 / B(df/2, 1/2) = Gamma(df/2 + 1/2) / (Gamma(df/2) sqrt(pi)).
    inverse_beta: f64,
}

impl Half {
    fn new(df: f64) -> Half {
        Half { df, inverse_beta: gamma_ratio(0.5 * df) / PI.sqrt() }
    }

    /// P(T > t) for `t >= 0`: half of I_x(df/2, 1/2) with x = df / (df + t^2) (DLMF 8.17).
    fn tail(&self, t: f64) -> f64 {
        let (a, b) = (0.5 * self.df, 0.5);
        let u = t / self.df.sqrt();
        let h = u.hypot(1.0);
        if h == f64::INFINITY {
            return 0.0;
        }
        // x = 1/h^2 and 1 - x = (u/h)^2, both without cancellation; t^2 is never formed, so it cannot overflow.
        let (x, y) = (h.powi(-2), (u / h).powi(2));
        let front = self.power(u, self.df) * (u / h) * self.inverse_beta;
        if x < (a + 1.0) / (a + b + 2.0) {
            0.5 * front * fraction(a, b, x) / a
        } else {
            0.5 - 0.5 * front * fraction(b, a, y) / b
        }
    }

    fn density(&self, t: f64) -> f64 {
        self.inverse_beta / self.df.sqrt() * self.power(t / self.df.sqrt(), self.df + 1.0)
    }

    /// (1 + u^2)^(-e/2).
    fn power(&self, u: f64, e: f64) -> f64 {
        let ln_h = if u < 1.0 { 0.5 * (u * u).ln_1p() } else { u.hypot(1.0).ln() };
        (-e * ln_h).exp()
    }

    /// The `t > 0` with tail `p < 1/2`: Newton on the logarithm of the tail, kept inside a bracket.
    fn quantile(&self, p: f64) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        while self.tail(high) > p {
            low = high;
            high *= 2.0;
        }
        let mut t = 0.5 * (low + high);
        // Bisecting a bracket of doubles reaches neighbours within 64 cuts even if no Newton step is taken.
        for _ in 0..64 {
            let tail = self.tail(t);
            if tail > p {
                low = t;
            } else {
                high = t;
            }
            let mut next = t + (tail / p).ln() * tail / self.density(t);
            if !(next > low && next < high) {
                next = 0.5 * (low + high);
            }
            if (next - t).abs() <= 2.0 * f64::EPSILON * t {
                return next;
            }
            t = next;
        }
        t
    }
}

/// Gamma(a + 1/2) / Gamma(a): Stirling's series for the difference of logarithms, so nothing large cancels.
fn gamma_ratio(a: f64) -> f64 {
    let (mut z, mut shift) = (a, 1.0);
    // From 16 on the first omitted term is below 1e-16.
    while z < 16.0 {
        shift *= z / (z + 0.5);
        z += 1.0;
    }
    // DLMF 5.11.8 at h = 1/2 minus h = 0: coefficients (2^(1-k) - 2) B_k / (k (k - 1)) of z^(1-k), k = 2, 4, ..., 10.
    let coefficients = [-1.0 / 8.0, 1.0 / 192.0, -1.0 / 640.0, 17.0 / 14336.0, -31.0 / 18432.0];
    let w = 1.0 / (z * z);
    let series = coefficients.iter().rev().fold(0.0, |sum, c| sum * w + c) / z;
    shift * z.sqrt() * series.exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lower tails at `-t`, by antiderivatives written without cancellation.
    fn closed_form(t: f64, df: u32) -> f64 {
        let u = t / (f64::from(df) + t * t).sqrt();
        let complement = f64::from(df) / (f64::from(df) + t * t) / (1.0 + u);
        match df {
            1 => 1.0f64.atan2(t) / PI,
            2 => 0.5 * complement,
            _ => 0.25 * complement * complement * (2.0 + u),
        }
    }

    fn assert_relative(found: f64, expected: f64, tolerance: f64, what: &str) {
        assert!((found - expected).abs() <= tolerance * expected.abs(), "{what}: {found:e}, expected {expected:e}");
    }

    #[test]
    fn cdf_one_two_four_degrees_equals_closed_form() {
        for df in [1, 2, 4] {
            for i in -80..=200 {
                let t = 1.2f64.powi(i);
                let what = format!("t {t}, df {df}");
                let expected = closed_form(t, df);
                assert_relative(cdf(-t, f64::from(df)), expected, 1e-13, &what);
                assert_relative(cdf(t, f64::from(df)), 1.0 - expected, 1e-13, &what);
            }
        }
    }

    #[test]
    fn quantile_one_and_two_degrees_equals_closed_form() {
        for i in 1..400 {
            let p = 0.45 * 0.9f64.powi(i);
            assert_relative(quantile(p, 1.0), -1.0 / (PI * p).tan(), 1e-12, "df 1");
            let expected = (1.0 - 2.0 * p) / (2.0 * p * (1.0 - p)).sqrt();
            assert_relative(quantile(p, 2.0), -expected, 1e-12, "df 2");
        }
    }

    #[test]
    fn cdf_other_degrees_equals_scipy() {
        // (df, t, P(T <= -t)), by `scipy.stats.t.cdf(-t, df)`, SciPy 1.17.1.
        let table = [
            (3.0, 0.1, 0.46332617440040297),
            (3.0, 2.5, 0.04385332350403278),
            (5.0, 1.0, 0.18160873382456144),
            (9.0, 0.5, 0.31453564991301314),
            (9.0, 12.0, 3.8499431114928265e-07),
            (19.0, 3.0, 0.003680862091934319),
            (29.0, 1.7, 0.04991689574423466),
            (49.0, 6.0, 1.1702151953105309e-07),
            (99.0, 2.0, 0.02411984668631648),
            (99.0, 20.0, 7.532224297300891e-37),
            (999.0, 1.96, 0.025136731366905023),
            (999.0, 8.0, 1.7149991288817997e-15),
        ];
        for (df, t, expected) in table {
            assert_relative(cdf(-t, df), expected, 1e-12, &format!("t {t}, df {df}"));
        }
    }

    #[test]
    fn quantile_other_degrees_equals_scipy() {
        // (df, p, t with P(T <= t) = p), by `scipy.stats.t.ppf(p, df)`, SciPy 1.17.1.
        let table = [
            (3.0, 0.025, -3.1824463052837086),
            (4.0, 0.025, -2.7764451051977943),
            (5.0, 0.005, -4.032142983555229),
            (9.0, 0.025, -2.2621571627982053),
            (9.0, 0.0025, -3.689662392304231),
            (19.0, 0.01, -2.539483190623963),
            (29.0, 0.025, -2.045229642132704),
            (49.0, 0.025 / 45.0, -3.465180214838105),
            (99.0, 0.025, -1.9842169515864176),
            (99.0, 0.1, -1.2901614420344851),
            (999.0, 0.025, -1.9623414611334498),
            (999.0, 1e-06, -4.781636978830079),
        ];
        for (df, p, expected) in table {
            assert_relative(quantile(p, df), expected, 1e-12, &format!("p {p}, df {df}"));
        }
    }

    #[test]
    fn quantile_inverts_cdf_for_many_degrees() {
        for df in (1..60).map(f64::from).chain([99.0, 999.0, 1e5]) {
            let tolerance = if df < 1000.0 { 1e-12 } else { 1e-10 };
            for p in [1e-12, 1e-6, 0.001, 0.025, 0.2, 0.4, 0.49] {
                assert_relative(cdf(quantile(p, df), df), p, tolerance, &format!("p {p}, df {df}"));
                assert_eq!(quantile(1.0 - 0.25, df), -quantile(0.25, df));
            }
        }
    }

    #[test]
    fn student_ends_of_the_line_are_exact() {
        assert_eq!(cdf(0.0, 3.0), 0.5);
        assert_eq!(cdf(f64::NEG_INFINITY, 3.0), 0.0);
        assert_eq!(cdf(f64::INFINITY, 3.0), 1.0);
        assert_eq!(quantile(0.5, 3.0), 0.0);
        assert!(quantile(0.0, 3.0).is_nan() && quantile(1.0, 3.0).is_nan() && cdf(f64::NAN, 3.0).is_nan());
        // Far beyond the range in which t^2 is finite, the Cauchy tail is 1 / (pi t).
        assert_relative(cdf(-1e200, 1.0), 1e-200 / PI, 1e-13, "t 1e200");
    }
}
