//! One concrete kernel: a family with its parameter, columns and switches.

use std::fmt;
use std::sync::Arc;

use super::columns::Columns;
use super::term::Enclosed;
use crate::error::{Error, Result};
use crate::linalg::dot;
use crate::simd::{decay_into, dispatched, exp};

/// Widths outside `NARROWEST..=WIDEST` would make 1 / (2 s^2) leave the normal numbers.
const NARROWEST: f64 = 1e-150;
const WIDEST: f64 = 1e150;
/// Degrees above this are all but the identity matrix after scaling, or overflow before it.
const HIGHEST_DEGREE: u32 = 64;
/// Elements raised to a power together.
const RUN: usize = 256;

/// What a kernel is a function of, for two rows `x` and `y` restricted to the kernel's columns.
///
/// Kernels with equal base and equal [`Columns`] share one computation of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// `|x - y|^2`.
    SquaredDistance,
    /// `|x - y|_1`, the sum of absolute differences.
    L1Distance,
    /// `x'y`.
    InnerProduct,
    /// `x'y / (|x| |y|)`, 0 where either row is zero.
    Cosine,
    /// `t = (1 + x'y) / sqrt((1 + |x|^2)(1 + |y|^2))`.
    ShiftedCosine,
    /// The entry `g(x, y)` of a Gram matrix that was given.
    Given,
    /// `g(x, y) / sqrt(g(x, x) g(y, y))`, 0 where either is 0.
    GivenCosine,
}

impl Base {
    /// The base quantity of two rows, by its definition: for checks and for a few pairs. Blocks belong to the stack. Not a
    /// number for a Gram matrix that was given: rows do not tell it.
    pub fn between(self, x: &[f64], y: &[f64]) -> f64 {
        let differences = x.iter().zip(y).map(|(x, y)| x - y);
        match self {
            Base::SquaredDistance => differences.map(|d| d * d).sum(),
            Base::L1Distance => differences.map(f64::abs).sum(),
            Base::InnerProduct => dot(x, y),
            Base::Cosine => {
                let lengths = dot(x, x).sqrt() * dot(y, y).sqrt();
                if lengths == 0.0 { 0.0 } else { dot(x, y) / lengths }
            }
            Base::ShiftedCosine => (1.0 + dot(x, y)) / ((1.0 + dot(x, x)) * (1.0 + dot(y, y))).sqrt(),
            Base::Given | Base::GivenCosine => f64::NAN,
        }
    }
}

/// A kernel family with its parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Family {
    /// `exp(-|x-y|^2 / (2 width^2))`.
    Gaussian {
        /// The width s.
        width: f64,
    },
    /// `exp(-gamma |x-y|^2)`: the same kernels, named by their rate.
    GaussianGamma {
        /// The rate.
        gamma: f64,
    },
    /// `exp(-gamma |x-y|_1)`.
    Laplacian {
        /// The rate.
        gamma: f64,
    },
    /// The cosine of two rows; `x'y` when raw.
    Linear,
    /// `t^degree` of [`Base::ShiftedCosine`]; `(1 + x'y)^degree` when raw.
    Polynomial {
        /// The degree q, 1 to 64.
        degree: u32,
    },
    /// `tanh(slope x'y)`, always raw; not positive semidefinite.
    Sigmoid {
        /// The slope a.
        slope: f64,
    },
    /// The values of a Gram matrix that was given.
    Precomputed,
}

impl Family {
    /// The word of the grammar: `gaussian`, `laplacian`, `linear`, `polynomial`, `sigmoid` or `precomputed`.
    pub fn name(self) -> &'static str {
        match self {
            Family::Gaussian { .. } | Family::GaussianGamma { .. } => "gaussian",
            Family::Laplacian { .. } => "laplacian",
            Family::Linear => "linear",
            Family::Polynomial { .. } => "polynomial",
            Family::Sigmoid { .. } => "sigmoid",
            Family::Precomputed => "precomputed",
        }
    }

    /// The rate g of `exp(-g base)`: `1 / (2 width^2)` or gamma; none for families that are no such decay.
    pub fn rate(self) -> Option<f64> {
        match self {
            Family::Gaussian { width } => Some(1.0 / (2.0 * width * width)),
            Family::GaussianGamma { gamma } | Family::Laplacian { gamma } => Some(gamma),
            _ => None,
        }
    }

    /// The width, gamma, degree or slope; none for `linear` and `precomputed`.
    pub fn parameter(self) -> Option<f64> {
        match self {
            Family::Gaussian { width: value }
            | Family::GaussianGamma { gamma: value }
            | Family::Laplacian { gamma: value }
            | Family::Sigmoid { slope: value } => Some(value),
            Family::Polynomial { degree } => Some(f64::from(degree)),
            Family::Linear | Family::Precomputed => None,
        }
    }

    /// The parameter's name and what it must be, if it is not.
    pub(super) fn fault(self) -> Option<(&'static str, &'static str)> {
        let positive = |value: f64| value > 0.0 && value.is_finite();
        const ABOVE_ZERO: &str = "must be above 0 and finite";
        match self {
            Family::Gaussian { width } if !(NARROWEST..=WIDEST).contains(&width) => {
                Some(("width", "must lie between 1e-150 and 1e150"))
            }
            Family::GaussianGamma { gamma } | Family::Laplacian { gamma } if !positive(gamma) => {
                Some(("gamma", ABOVE_ZERO))
            }
            Family::Sigmoid { slope } if !positive(slope) => Some(("slope", ABOVE_ZERO)),
            Family::Polynomial { degree } if !(1..=HIGHEST_DEGREE).contains(&degree) => {
                Some(("degree", "must be a whole number from 1 to 64"))
            }
            _ => None,
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        match (*self, self.parameter()) {
            (_, None) => f.write_str(name),
            (Family::GaussianGamma { .. }, Some(value)) => write!(f, "{name}(gamma={})", Decimal(value)),
            (_, Some(value)) => write!(f, "{name}({})", Decimal(value)),
        }
    }
}

/// The shortest decimal that reads back as the same number; scientific where plain digits would be long.
pub(super) struct Decimal(pub(super) f64);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.abs();
        if self.0 == 0.0 || (1e-5..1e16).contains(&size) || !size.is_finite() {
            write!(f, "{}", self.0)
        } else {
            write!(f, "{:e}", self.0)
        }
    }
}

/// One concrete kernel: everything needed to evaluate it but the rows.
///
/// Prints as the grammar writes it and reads back exactly, every bit of its parameter included.
///
/// ```
/// use multikernel::kernel::{Base, Kernel};
/// let kernel: Kernel = "gaussian(2.5) on [0:5]".parse()?;
/// assert_eq!(kernel.base(), Base::SquaredDistance);
/// assert_eq!(kernel.value(0.0), 1.0);
/// assert_eq!(kernel.to_string(), "gaussian(2.5) on [0:5]");
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    family: Family,
    columns: Columns,
    /// The name of the Gram matrix of a precomputed kernel.
    gram: Option<Arc<str>>,
    raw: bool,
    centred: bool,
}

impl Kernel {
    /// A kernel of this family on all columns, with unit diagonal (a sigmoid: raw, its only form) and not centred; an error
    /// names a parameter out of range. A precomputed kernel needs the name of its Gram matrix: see [`Kernel::precomputed`].
    ///
    /// ```
    /// use multikernel::kernel::{Columns, Family, Kernel};
    /// let kernel = Kernel::new(Family::Polynomial { degree: 2 })?.on(Columns::from_positions([0, 1]))?.raw();
    /// assert_eq!(kernel.to_string(), "polynomial(2) on [0:2] raw");
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn new(family: Family) -> Result<Self> {
        match family.fault() {
            _ if family == Family::Precomputed => {
                Err(Error::input("a precomputed kernel needs the name of its Gram matrix"))
            }
            Some((name, must)) => {
                let found = Decimal(family.parameter().unwrap_or_default());
                Err(Error::param(name, format!("{must}, found {found}")))
            }
            None => Ok(Kernel::unchecked(family)),
        }
    }

    /// [`Kernel::new`] for a family whose parameter was checked.
    pub(super) fn unchecked(family: Family) -> Self {
        let raw = matches!(family, Family::Sigmoid { .. });
        Kernel { family, columns: Columns::all(), gram: None, raw, centred: false }
    }

    /// The kernel whose values are those of the Gram matrix of this name, divided to a unit diagonal unless `raw`.
    pub fn precomputed(name: &str) -> Self {
        Kernel { gram: Some(name.into()), ..Kernel::unchecked(Family::Precomputed) }
    }

    /// The name of its Gram matrix, for a precomputed kernel.
    pub fn gram(&self) -> Option<&str> {
        self.gram.as_deref()
    }

    /// The same kernel on these columns; no columns at all are an error.
    pub fn on(mut self, columns: Columns) -> Result<Self> {
        if columns.ranges().is_some_and(<[_]>::is_empty) {
            return Err(Error::input("a kernel on no columns is constant; choose at least one column"));
        }
        self.columns = columns;
        Ok(self)
    }

    /// [`Kernel::on`] for columns known not to be empty.
    pub(super) fn placed(mut self, columns: Columns) -> Self {
        self.columns = columns;
        self
    }

    /// The same kernel without unit diagonal; changes only `linear` and `polynomial`.
    pub fn raw(mut self) -> Self {
        self.raw = true;
        self
    }

    /// The same kernel, to be centred with the training means by whoever stores them.
    pub fn centred(mut self) -> Self {
        self.centred = true;
        self
    }

    /// The same kernel before it is centred.
    pub(crate) fn not_centred(mut self) -> Self {
        self.centred = false;
        self
    }

    /// The quantity the kernel is a function of.
    pub fn base(&self) -> Base {
        match self.family {
            Family::Gaussian { .. } | Family::GaussianGamma { .. } => Base::SquaredDistance,
            Family::Laplacian { .. } => Base::L1Distance,
            Family::Sigmoid { .. } => Base::InnerProduct,
            Family::Linear | Family::Polynomial { .. } if self.raw => Base::InnerProduct,
            Family::Linear => Base::Cosine,
            Family::Polynomial { .. } => Base::ShiftedCosine,
            Family::Precomputed if self.raw => Base::Given,
            Family::Precomputed => Base::GivenCosine,
        }
    }

    /// The family with its parameter.
    pub fn family(&self) -> Family {
        self.family
    }

    /// The columns the kernel looks at.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// The kernel's text with its columns called by a name: `linear on gene raw`.
    pub(crate) fn text_on(&self, name: &str) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut text, &format!(" on {name}"));
        text
    }

    /// Writes the text, with `place` where the columns stand.
    fn write(&self, f: &mut dyn fmt::Write, place: &str) -> fmt::Result {
        match &self.gram {
            Some(name) => write!(f, "{}{}", self.family, Enclosed(name))?,
            None => write!(f, "{}", self.family)?,
        }
        f.write_str(place)?;
        f.write_str(if self.raw { " raw" } else { "" })?;
        f.write_str(if self.centred { " centred" } else { "" })
    }

    /// Whether `raw` was asked for.
    pub fn is_raw(&self) -> bool {
        self.raw
    }

    /// Whether the kernel is to be centred. [`Kernel::value`] is the kernel before centring.
    pub fn is_centred(&self) -> bool {
        self.centred
    }

    /// Whether every Gram matrix of the kernel is positive semidefinite: all but `sigmoid`, and `precomputed`, of which nobody
    /// knows.
    pub fn is_positive_semidefinite(&self) -> bool {
        !matches!(self.family, Family::Sigmoid { .. } | Family::Precomputed)
    }

    /// Whether k(x, x) = 1 for every row but, for `linear`, the zero row, where it is 0. Never for centred kernels.
    pub fn has_unit_diagonal(&self) -> bool {
        let unit = matches!(self.base(), Base::Cosine | Base::ShiftedCosine | Base::GivenCosine);
        !self.centred && (self.family.rate().is_some() || unit)
    }

    /// k as a function of its base quantity, before centring. Not-a-number in gives not-a-number out.
    pub fn value(&self, base: f64) -> f64 {
        match self.family {
            Family::Linear | Family::Precomputed => base,
            Family::Polynomial { degree } => power(self.shift() + base, degree),
            Family::Sigmoid { slope } => (slope * base).tanh(),
            family => exp(-(family.rate().unwrap_or_default() * base)),
        }
    }

    /// [`Kernel::value`] of every element, with the same bits, several lanes at a time (`sigmoid` one by one).
    ///
    /// # Panics
    /// If the lengths differ, as slices do.
    pub fn values_into(&self, base: &[f64], out: &mut [f64]) {
        assert_eq!(base.len(), out.len(), "values_into needs as many outputs as inputs");
        match self.family {
            Family::Linear | Family::Precomputed => out.copy_from_slice(base),
            Family::Polynomial { degree } => power_into(self.shift(), degree, base, out),
            Family::Sigmoid { slope } => {
                for (out, base) in out.iter_mut().zip(base) {
                    *out = (slope * base).tanh();
                }
            }
            family => decay_into(family.rate().unwrap_or_default(), base, out),
        }
    }

    /// k(x, y) before centring of two whole rows, from the definitions: for checks and for a few pairs.
    ///
    /// # Panics
    /// If a row is shorter than [`Columns::end`].
    pub fn between(&self, x: &[f64], y: &[f64]) -> f64 {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        self.columns.gather(x, &mut a);
        self.columns.gather(y, &mut b);
        self.value(self.base().between(&a, &b))
    }

    /// A polynomial is a power of base + 1 when raw; t already holds the 1. Adding 0 changes no power.
    fn shift(&self) -> f64 {
        if self.raw { 1.0 } else { 0.0 }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.columns.is_all() { self.write(f, "") } else { self.write(f, &format!(" on {}", self.columns)) }
    }
}

/// Powers by repeated squaring. `powi` leaves its rounding open.
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

dispatched! {
    /// [`power`] of `shift + base`, element by element: the same products, each for a run of elements.
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
    use proptest::prelude::*;

    fn kernel(text: &str) -> Kernel {
        text.parse().unwrap()
    }

    /// Within a few roundings, the only difference allowed between two ways of writing one formula.
    fn assert_close(a: f64, b: f64) {
        assert!((a - b).abs() <= 1e-14 * a.abs().max(b.abs()), "{a} {b}");
    }

    const X: [f64; 3] = [1.0, -2.0, 0.5];
    const Y: [f64; 3] = [0.25, 1.0, 3.0];

    #[test]
    fn between_two_rows_is_the_literal_formula() {
        // |x-y|^2 = 0.5625 + 9 + 6.25, |x-y|_1 = 0.75 + 3 + 2.5, x'y = 0.25 - 2 + 1.5, |x|^2 = 5.25, |y|^2 = 10.0625.
        let (d2, d1, xy, xx, yy) = (15.8125f64, 6.25f64, -0.25f64, 5.25f64, 10.0625f64);
        let t = (1.0 + xy) / ((1.0 + xx) * (1.0 + yy)).sqrt();
        for (text, expected) in [
            ("gaussian(3)", (-d2 / (2.0 * 9.0)).exp()),
            ("gaussian(gamma=0.3)", (-0.3 * d2).exp()),
            ("gaussian(3) raw", (-d2 / (2.0 * 9.0)).exp()),
            ("laplacian(0.1)", (-0.1 * d1).exp()),
            ("linear", xy / (xx * yy).sqrt()),
            ("linear raw", xy),
            ("polynomial(1)", t),
            ("polynomial(3)", t * t * t),
            ("polynomial(13) raw", 0.75f64.powi(13)),
            ("polynomial(64) raw", 0.75f64.powi(64)),
            ("sigmoid(0.5) raw", (0.5 * xy).tanh()),
            ("gaussian(1) on [1]", (-9.0f64 / 2.0).exp()),
            ("linear on [0, 2] raw", 1.75),
        ] {
            assert_close(kernel(text).between(&X, &Y), expected);
            assert_close(kernel(text).between(&Y, &X), expected);
        }
    }

    #[test]
    fn between_a_row_and_itself_is_one_where_unit_diagonal_is_claimed() {
        for text in ["gaussian(3)", "gaussian(gamma=2) raw", "laplacian(1)", "linear", "polynomial(1)", "polynomial(7)"]
        {
            assert!(kernel(text).has_unit_diagonal(), "{text}");
            assert!((kernel(text).between(&X, &X) - 1.0).abs() < 1e-14, "{text}");
        }
        for text in ["linear raw", "polynomial(2) raw", "sigmoid(1) raw", "gaussian(1) centred", "linear centred"] {
            assert!(!kernel(text).has_unit_diagonal(), "{text}");
        }
    }

    #[test]
    fn between_a_zero_row_and_any_is_zero_for_linear() {
        assert_eq!(kernel("linear").between(&[0.0; 3], &Y), 0.0);
        assert_eq!(kernel("linear").between(&[0.0; 3], &[0.0; 3]), 0.0);
    }

    #[test]
    fn positive_semidefinite_of_every_family_is_all_but_sigmoid() {
        for text in ["gaussian(3)", "laplacian(1)", "linear", "polynomial(2) raw"] {
            assert!(kernel(text).is_positive_semidefinite(), "{text}");
        }
        assert!(!kernel("sigmoid(1) raw").is_positive_semidefinite());
    }

    #[test]
    fn values_into_any_length_has_the_bits_of_value() {
        let mut rng = Rng::new(5, 0);
        let texts =
            ["gaussian(0.7)", "gaussian(gamma=3)", "laplacian(0.1)", "linear", "linear raw", "sigmoid(0.3) raw"];
        let powers: Vec<String> =
            (1..=64).flat_map(|q| [format!("polynomial({q})"), format!("polynomial({q}) raw")]).collect();
        for text in texts.into_iter().chain(powers.iter().map(String::as_str)) {
            let kernel = kernel(text);
            for n in [0, 1, 7, 8, 9, 67] {
                let mut base: Vec<f64> = (0..n).map(|_| 40.0 * rng.uniform() - 2.0).collect();
                if n > 2 {
                    (base[0], base[1]) = (f64::NAN, f64::INFINITY);
                }
                let mut out = vec![0.0; n];
                kernel.values_into(&base, &mut out);
                for (b, o) in base.iter().zip(&out) {
                    assert_eq!(kernel.value(*b).to_bits(), o.to_bits(), "{text} {b}");
                }
            }
        }
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

    #[test]
    fn new_with_a_parameter_out_of_range_names_it() {
        for (family, message) in [
            (Family::Gaussian { width: 0.0 }, "parameter width: must lie between 1e-150 and 1e150, found 0"),
            (Family::Gaussian { width: f64::NAN }, "parameter width: must lie between 1e-150 and 1e150, found NaN"),
            (Family::GaussianGamma { gamma: -1.0 }, "parameter gamma: must be above 0 and finite, found -1"),
            (Family::Laplacian { gamma: f64::INFINITY }, "parameter gamma: must be above 0 and finite, found inf"),
            (Family::Polynomial { degree: 65 }, "parameter degree: must be a whole number from 1 to 64, found 65"),
            (Family::Sigmoid { slope: 0.0 }, "parameter slope: must be above 0 and finite, found 0"),
        ] {
            assert_eq!(Kernel::new(family).unwrap_err().to_string(), message);
        }
        assert!(Kernel::new(Family::Linear).unwrap().on(Columns::from_positions([])).is_err());
    }

    #[test]
    fn new_sigmoid_is_raw() {
        assert_eq!(Kernel::new(Family::Sigmoid { slope: 0.5 }).unwrap(), kernel("sigmoid(0.5) raw"));
    }

    fn any_family() -> impl Strategy<Value = Family> {
        let positive = any::<u64>()
            .prop_map(|bits| f64::from_bits(bits >> 1))
            .prop_filter("finite", |v| v.is_finite() && *v > 0.0);
        let width = positive.clone().prop_filter("in range", |v| (NARROWEST..=WIDEST).contains(v));
        let plain = 1e-6..1e6f64;
        prop_oneof![
            width.prop_map(|width| Family::Gaussian { width }),
            plain.prop_map(|width| Family::Gaussian { width }),
            positive.clone().prop_map(|gamma| Family::GaussianGamma { gamma }),
            positive.clone().prop_map(|gamma| Family::Laplacian { gamma }),
            positive.prop_map(|slope| Family::Sigmoid { slope }),
            (1..=HIGHEST_DEGREE).prop_map(|degree| Family::Polynomial { degree }),
            Just(Family::Linear),
        ]
    }

    proptest! {
        #[test]
        fn parse_of_a_printed_kernel_is_the_same_kernel(
            family in any_family(),
            columns in prop::option::of(prop::collection::vec(0usize..40, 1..12)),
            raw: bool,
            centred: bool,
        ) {
            let mut kernel = Kernel::new(family).unwrap();
            if let Some(columns) = columns {
                kernel = kernel.on(Columns::from_positions(columns)).unwrap();
            }
            kernel = if raw { kernel.raw() } else { kernel };
            kernel = if centred { kernel.centred() } else { kernel };
            let text = kernel.to_string();
            let back: Kernel = text.parse().unwrap();
            prop_assert_eq!(&back, &kernel, "{}", text);
            prop_assert_eq!(back.to_string(), text);
        }
    }
}
