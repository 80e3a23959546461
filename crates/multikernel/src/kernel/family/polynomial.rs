//! `polynomial(q)`: powers of the shifted cosine, or `(1 + x'y)^q` with `raw`; products of up to q columns.

use crate::error::Result;
use crate::kernel::base::Base;
use crate::kernel::concrete::Kernel;
use crate::kernel::declaration::{Family, Form, Forms, KernelFunction, KernelParam, ParamRange};
use crate::simd::dispatched;

/// Higher degrees are nearly the identity matrix after scaling, or overflow before it.
const MAX_DEGREE: u32 = 64;
/// Elements raised to a power together.
const RUN: usize = 256;

/// The declaration. Adding 0 to the shifted cosine, which already holds the 1, changes no power.
pub static FAMILY: Family = Family {
    name: "polynomial",
    key: None,
    written: "polynomial(q)",
    takes: "a degree",
    example: "polynomial(2)",
    also: &[("poly", "polynomial(2)")],
    params: &[KernelParam { name: "degree", range: ParamRange::Whole(1, MAX_DEGREE), default: None, median: false }],
    forms: Forms::Both {
        unit: Form {
            formula: "t^q, t = (1 + x'y) / sqrt((1 + abs(x)^2)(1 + abs(y)^2))",
            base: Base::ShiftedCosine,
            function: KernelFunction::Values(|params, base, out| power_into(0.0, params[0] as u32, base, out)),
        },
        raw: Form {
            formula: "(1 + x'y)^q",
            base: Base::InnerProduct,
            function: KernelFunction::Values(|params, base, out| power_into(1.0, params[0] as u32, base, out)),
        },
    },
    positive_semidefinite: true,
};

impl Kernel {
    /// `t^degree` of [`Base::ShiftedCosine`]; `(1 + x'y)^degree` when raw. The degree is 1 to 64.
    pub fn polynomial(degree: u32) -> Result<Kernel> {
        Kernel::new(&FAMILY, &[f64::from(degree)])
    }
}

dispatched! {
    /// `(shift + base)^degree` by repeated squaring, a run of elements at a time. The rounding of `powi` is
    /// unspecified.
    fn power_into(shift: f64, degree: u32, base: &[f64], out: &mut [f64]) {
        let each = base.iter().zip(&mut *out);
        match degree {
            1 => return each.for_each(|(base, out)| *out = shift + base),
            2 => return each.for_each(|(base, out)| *out = (shift + base) * (shift + base)),
            3 => return each.for_each(|(base, out)| *out = (shift + base) * ((shift + base) * (shift + base))),
            _ => {}
        }
        let mut squares = [0.0; RUN];
        for (base, out) in base.chunks(RUN).zip(out.chunks_mut(RUN)) {
            let squares = &mut squares[..base.len()];
            for ((square, out), base) in squares.iter_mut().zip(&mut *out).zip(base) {
                *square = shift + base;
                *out = if degree & 1 == 1 { *square } else { 1.0 };
            }
            let mut left = degree >> 1;
            while left > 0 {
                for (square, out) in squares.iter_mut().zip(&mut *out) {
                    *square *= *square;
                    *out *= if left & 1 == 1 { *square } else { 1.0 };
                }
                left >>= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;
    use crate::simd::at_every_level;
    use crate::simd::check::{LENGTHS, bits, uniform};

    /// Powers by repeated squaring. The rounding of `powi` is unspecified.
    fn power(base: f64, degree: u32) -> f64 {
        let (mut square, mut result, mut left) = (base, 1.0, degree);
        while left > 0 {
            if left & 1 == 1 {
                result *= square;
            }
            square *= square;
            left >>= 1;
        }
        result
    }

    #[test]
    fn power_into_any_length_has_the_bits_of_power_at_every_level() {
        let mut rng = Rng::new(6, 0);
        for (n, degree) in LENGTHS.into_iter().flat_map(|n| [1, 2, 3, 13, 31, 32, 63, 64].map(|degree| (n, degree))) {
            for (skip, shift) in [(0, 0.0), (1, 1.0), (3, 0.0)] {
                let base = uniform(&mut rng, n + skip);
                let found = at_every_level(|| {
                    let mut out = vec![7.0; n + skip];
                    power_into(shift, degree, &base[skip..], &mut out[skip..]);
                    assert!(out[..skip].iter().all(|&out| out == 7.0));
                    bits(&out[skip..])
                });
                let expected: Vec<f64> = base[skip..].iter().map(|base| power(shift + base, degree)).collect();
                assert_eq!(found, bits(&expected), "{n} {degree}");
            }
        }
    }
}
