//! `rational_quadratic(s, alpha=a)`: `(1 + |x-y|^2 / (2 a s^2))^-a`, a mixture of Gaussians of all widths around s:
//! small `alpha` mixes more of them, so distant rows still count; large `alpha` approaches the Gaussian of width s.

use crate::error::Result;
use crate::kernel::base::Base;
use crate::kernel::concrete::Kernel;
use crate::kernel::declaration::{Family, Form, Forms, KernelFunction, KernelParam, ParamRange};
use crate::simd::{dispatched, exp, ln_of_normal};

/// The declaration.
pub static FAMILY: Family = Family {
    name: "rational_quadratic",
    key: None,
    written: "rational_quadratic(s, alpha=a)",
    takes: "a width",
    example: "rational_quadratic(1, alpha=2)",
    also: &[("rq", "rational_quadratic(1)"), ("rationalquadratic", "rational_quadratic(1)")],
    params: &[
        KernelParam::WIDTH,
        KernelParam { name: "alpha", range: ParamRange::Between(1e-3, 1e3), default: Some(1.0), median: false },
    ],
    forms: Forms::Unit(Form {
        formula: "(1 + abs(x-y)^2 / (2 a s^2))^-a",
        base: Base::SquaredDistance,
        function: KernelFunction::Values(|params, base, out| {
            let (width, alpha) = (params[0], params[1]);
            powers_into(1.0 / (2.0 * alpha * width * width), alpha, base, out);
        }),
    }),
    positive_semidefinite: true,
};

impl Kernel {
    /// `(1 + |x-y|^2 / (2 alpha width^2))^-alpha`, the width from 1e-150 to 1e150, alpha from 0.001 to 1000.
    pub fn rational_quadratic(width: f64, alpha: f64) -> Result<Kernel> {
        Kernel::new(&FAMILY, &[width, alpha])
    }
}

dispatched! {
    /// `(1 + rate base)^-alpha`, element by element, for bases from 0 up. Avoids `powf`, whose bits differ between
    /// machines.
    fn powers_into(rate: f64, alpha: f64, base: &[f64], out: &mut [f64]) {
        for (out, base) in out.iter_mut().zip(base) {
            let q = rate * base;
            let sum = 1.0 + q;
            // ln(1 + q), with the rounding error of the sum restored: large powers need it.
            let lost = if q < 1.0 { q - (sum - 1.0) } else { 1.0 - (sum - q) };
            let power = exp(-(alpha * (ln_of_normal(sum) + lost / sum)));
            // Infinity and NaN have no logarithm here.
            *out = if sum < f64::INFINITY { power } else { 1.0 / sum };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;
    use crate::simd::at_every_level;
    use crate::simd::check::{LENGTHS, bits, uniform};

    #[test]
    fn value_is_the_formula_from_equal_rows_to_far_ones() {
        for (width, alpha) in [(1.0, 1.0), (0.3, 0.5), (7.0, 2.0), (2.0, 1e-3), (1.0, 1e3), (1e-150, 3.0), (1e150, 3.0)]
        {
            let kernel = Kernel::rational_quadratic(width, alpha).unwrap();
            assert_eq!(kernel.value(0.0), 1.0);
            assert_eq!(kernel.value(f64::INFINITY), 0.0);
            assert!(kernel.value(f64::NAN).is_nan());
            for squared in [1e-20, 1e-9, 0.1, 0.5, 1.0, 15.8125, 1e3, 1e6] {
                let q: f64 = squared * width * width / (2.0 * alpha * width * width);
                let expected = (-alpha * q.ln_1p()).exp();
                let found = kernel.value(squared * width * width);
                assert!((found - expected).abs() <= 1e-12 * expected, "{kernel} {squared}: {found} {expected}");
            }
        }
    }

    #[test]
    fn value_of_large_alpha_is_nearly_the_gaussian() {
        let (kernel, gaussian) = (Kernel::rational_quadratic(2.0, 1e3).unwrap(), Kernel::gaussian(2.0).unwrap());
        for squared in [0.1, 1.0, 5.0, 20.0] {
            assert!((kernel.value(squared) - gaussian.value(squared)).abs() < 1e-3, "{squared}");
        }
    }

    #[test]
    fn powers_into_any_length_has_the_same_bits_at_every_level() {
        let mut rng = Rng::new(8, 0);
        for (n, alpha) in LENGTHS.into_iter().flat_map(|n| [0.01, 0.5, 1.0, 30.0].map(|alpha| (n, alpha))) {
            let base: Vec<f64> = uniform(&mut rng, n).iter().map(|value| value.abs() * 30.0).collect();
            at_every_level(|| {
                let mut out = vec![0.0; n];
                powers_into(0.7, alpha, &base, &mut out);
                bits(&out)
            });
        }
    }

    #[test]
    fn text_of_a_kernel_leaves_the_default_alpha_out_and_reads_back() {
        for (width, alpha, text) in [
            (1.5, 1.0, "rational_quadratic(1.5)"),
            (0.1, 0.25, "rational_quadratic(0.1, alpha=0.25)"),
            (1e-20, 1e3, "rational_quadratic(1e-20, alpha=1000)"),
        ] {
            let kernel = Kernel::rational_quadratic(width, alpha).unwrap();
            assert_eq!(kernel.to_string(), text);
            assert_eq!(text.parse::<Kernel>().unwrap(), kernel);
        }
        assert_eq!("rational_quadratic(2, alpha=1)".parse::<Kernel>().unwrap().to_string(), "rational_quadratic(2)");
    }
}
