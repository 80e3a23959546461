//! One concrete kernel: a family with its parameters, columns and switches.

use std::fmt;
use std::sync::Arc;

use super::base::Base;
use super::columns::Columns;
use super::declaration::{Family, Forms, KernelFunction, MAX_KERNEL_PARAMS};
use super::text::{Decimal, Enclosed, Name};
use crate::error::{Error, Result};
use crate::simd::decay_into;

/// One concrete kernel: everything needed to evaluate it except the rows.
///
/// Prints in the grammar's notation and parses back exactly, including every bit of its parameters.
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
    family: &'static Family,
    /// The values of the family's parameters, padded with zeros.
    params: [f64; MAX_KERNEL_PARAMS],
    columns: Columns,
    /// The name of the Gram matrix of a precomputed kernel.
    gram: Option<Arc<str>>,
    unscaled: bool,
    raw: bool,
    centred: bool,
}

impl Kernel {
    /// A kernel of this family on all columns, with unit diagonal (raw, if that is its only form) and not centred.
    ///
    /// `values` are those of [`Family::params`]; trailing values with defaults may be omitted. Built-in families have
    /// their own constructors: [`Kernel::gaussian`], [`Kernel::polynomial`] and so on.
    ///
    /// # Errors
    /// Names a parameter out of range, or says how many values the family takes. A family of Gram matrices needs the
    /// name of one: see [`Kernel::precomputed`].
    ///
    /// ```
    /// use multikernel::kernel::{Columns, Kernel, family::laplacian};
    /// let kernel = Kernel::polynomial(2)?.on(Columns::from_positions([0, 1]))?.raw();
    /// assert_eq!(kernel.to_string(), "polynomial(2) on [0:2] raw");
    /// assert_eq!(Kernel::new(&laplacian::FAMILY, &[0.1])?, Kernel::laplacian(0.1)?);
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn new(family: &'static Family, values: &[f64]) -> Result<Self> {
        let name = family.name;
        if family.takes_gram() {
            let matrix = if family.takes_distances() { "distance" } else { "Gram" };
            return Err(Error::input(format!("a {name} kernel needs the name of its {matrix} matrix")));
        }
        if values.len() > family.params.len() || family.params.len() > MAX_KERNEL_PARAMS {
            let n_most = family.params.len().min(MAX_KERNEL_PARAMS);
            return Err(Error::input(format!("{name} takes at most {n_most} values, found {}", values.len())));
        }
        let mut params = [0.0; MAX_KERNEL_PARAMS];
        for (k, param) in family.params.iter().enumerate() {
            let value = values.get(k).copied().or(param.default);
            params[k] = value.ok_or_else(|| Error::param(param.name, format!("{name} needs a value for it")))?;
            if let Some(must) = param.fault(params[k]) {
                return Err(Error::param(param.name, format!("{must}, found {}", Decimal(params[k]))));
            }
        }
        Ok(Kernel::unchecked(family, params))
    }

    /// [`Kernel::new`] for parameters already checked.
    pub(super) fn unchecked(family: &'static Family, params: [f64; MAX_KERNEL_PARAMS]) -> Self {
        let raw = family.needs_raw();
        Kernel { family, params, columns: Columns::all(), gram: None, unscaled: false, raw, centred: false }
    }

    /// A kernel of a Gram-matrix family, on the matrix with this name; the first parameter if it has one.
    pub(super) fn of_gram(family: &'static Family, name: &str, first: f64) -> Self {
        let mut params = [0.0; MAX_KERNEL_PARAMS];
        params[0] = first;
        Kernel { gram: Some(name.into()), ..Kernel::unchecked(family, params) }
    }

    /// The name of the given matrix of a `precomputed` or `distance` kernel.
    pub fn gram(&self) -> Option<&str> {
        self.gram.as_deref()
    }

    /// The same kernel on these columns; an empty set is an error.
    pub fn on(mut self, columns: Columns) -> Result<Self> {
        if columns.ranges().is_some_and(<[_]>::is_empty) {
            return Err(Error::input("a kernel on no columns is constant; choose at least one column"));
        }
        self.columns = columns;
        Ok(self)
    }

    /// [`Kernel::on`] for columns known to be non-empty.
    pub(super) fn placed(mut self, columns: Columns) -> Self {
        self.columns = columns;
        self
    }

    /// The same kernel without unit diagonal; affects only families that have both forms, such as `linear`.
    pub fn raw(mut self) -> Self {
        self.raw = true;
        self
    }

    /// The same kernel on columns in their own units, as they were before they were scaled; a stack needs
    /// [`Points::with_units`](crate::stack::Points::with_units) for it. Of no effect on a Gram matrix.
    pub fn unscaled(mut self) -> Self {
        self.unscaled = self.gram.is_none();
        self
    }

    /// The same kernel, to be centred with the training means by whatever stores them.
    pub fn centred(mut self) -> Self {
        self.centred = true;
        self
    }

    /// The same kernel without centring.
    pub(crate) fn not_centred(mut self) -> Self {
        self.centred = false;
        self
    }

    /// The quantity the kernel is a function of.
    pub fn base(&self) -> Base {
        self.family.form(self.raw).base
    }

    /// The family.
    pub fn family(&self) -> &'static Family {
        self.family
    }

    /// The values of the family's parameters, in the order it declares them.
    pub fn params(&self) -> &[f64] {
        &self.params[..self.family.params.len()]
    }

    /// The first parameter: the width, gamma, degree or slope; `None` for `linear` and `precomputed`.
    pub fn parameter(&self) -> Option<f64> {
        self.params().first().copied()
    }

    /// The rate g of `exp(-g base)`; `None` for families without this form.
    pub fn rate(&self) -> Option<f64> {
        match self.family.form(self.raw).function {
            KernelFunction::Decay(rate) => Some(rate(self.params())),
            KernelFunction::Values(_) => None,
        }
    }

    /// The columns the kernel uses.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// Whether it looks at columns in their own units. [`Kernel::between`] takes rows in these.
    pub fn is_unscaled(&self) -> bool {
        self.unscaled
    }

    /// Whether the kernel is `raw`.
    pub fn is_raw(&self) -> bool {
        self.raw
    }

    /// Whether the kernel is to be centred. [`Kernel::value`] is the kernel before centring.
    pub fn is_centred(&self) -> bool {
        self.centred
    }

    /// Whether every Gram matrix of the kernel is positive semidefinite: true for all but `sigmoid`, and `precomputed`,
    /// for which it is unknown.
    pub fn is_positive_semidefinite(&self) -> bool {
        self.family.positive_semidefinite
    }

    /// Whether k(x, x) = 1 for every row except, for `linear`, the zero row, where it is 0. Never for centred kernels.
    pub fn has_unit_diagonal(&self) -> bool {
        let unit = match self.family.forms {
            Forms::Unit(_) => true,
            Forms::Both { .. } => !self.raw,
            Forms::Raw(_) => false,
        };
        unit && !self.centred
    }

    /// k as a function of its base quantity, before centring. NaN gives NaN.
    pub fn value(&self, base: f64) -> f64 {
        let mut value = [0.0];
        self.values_into(&[base], &mut value);
        value[0]
    }

    /// [`Kernel::value`] of every element, bit for bit, several lanes at a time (`sigmoid` one by one).
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn values_into(&self, base: &[f64], out: &mut [f64]) {
        assert_eq!(base.len(), out.len(), "values_into needs as many outputs as inputs");
        match self.family.form(self.raw).function {
            KernelFunction::Decay(rate) => decay_into(rate(self.params()), base, out),
            KernelFunction::Values(values) => values(self.params(), base, out),
        }
    }

    /// Whether its values before centring are those of a Gram matrix as they are.
    pub(crate) fn is_as_given(&self) -> bool {
        self.raw && self.family.takes_gram() && !self.family.takes_distances()
    }

    /// k(x, y) of two whole rows before centring, by definition: for checks and for a few pairs.
    ///
    /// # Panics
    /// If a row is shorter than [`Columns::end`].
    pub fn between(&self, x: &[f64], y: &[f64]) -> f64 {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        self.columns.gather(x, &mut a);
        self.columns.gather(y, &mut b);
        self.value(self.base().between(&a, &b))
    }
}

impl Kernel {
    /// The kernel's text with a name for its columns: `linear on gene raw`.
    pub(crate) fn text_on(&self, name: &str) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = self.write(&mut text, &format!(" on {name}"));
        text
    }

    /// Writes the text, with `place` in the position of the columns. Parameters at their defaults are omitted, except
    /// the first.
    fn write(&self, f: &mut dyn fmt::Write, place: &str) -> fmt::Result {
        f.write_str(self.family.name)?;
        for (k, (param, &value)) in self.family.params.iter().zip(&self.params).enumerate() {
            match (k, self.family.key) {
                (0, None) => write!(f, "({}", Decimal(value))?,
                (0, Some(key)) => write!(f, "({key}={}", Decimal(value))?,
                _ if param.default == Some(value) => {}
                _ => write!(f, ", {}={}", param.name, Decimal(value))?,
            }
        }
        f.write_str(if self.family.params.is_empty() { "" } else { ")" })?;
        match &self.gram {
            Some(name) if self.family.takes_distances() => write!(f, " on {}", Name(name))?,
            Some(name) => write!(f, "{}", Enclosed(name))?,
            None => {}
        }
        f.write_str(place)?;
        f.write_str(if self.unscaled { " unscaled" } else { "" })?;
        f.write_str(if self.raw { " raw" } else { "" })?;
        f.write_str(if self.centred { " centred" } else { "" })
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.columns.is_all() { self.write(f, "") } else { self.write(f, &format!(" on {}", self.columns)) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::family::{gaussian, linear, precomputed};
    use super::*;
    use crate::dist::Rng;
    use proptest::prelude::*;

    fn kernel(text: &str) -> Kernel {
        text.parse().unwrap()
    }

    /// Equal to within a few roundings, the only difference allowed between two ways of writing one formula.
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
            ("rational_quadratic(3)", 1.0 / (1.0 + d2 / (2.0 * 9.0))),
            ("rational_quadratic(3, alpha=0.5)", 1.0 / (1.0 + d2 / 9.0).sqrt()),
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
    fn new_with_a_parameter_out_of_range_names_it() {
        for (found, message) in [
            (Kernel::gaussian(0.0), "parameter width: must lie between 1e-150 and 1e150, found 0"),
            (Kernel::gaussian(f64::NAN), "parameter width: must lie between 1e-150 and 1e150, found NaN"),
            (Kernel::gaussian_gamma(-1.0), "parameter gamma: must be above 0 and finite, found -1"),
            (Kernel::laplacian(f64::INFINITY), "parameter gamma: must be above 0 and finite, found inf"),
            (Kernel::polynomial(65), "parameter degree: must be a whole number from 1 to 64, found 65"),
            (Kernel::sigmoid(0.0), "parameter slope: must be above 0 and finite, found 0"),
            (Kernel::new(&gaussian::FAMILY, &[]), "parameter width: gaussian needs a value for it"),
            (Kernel::new(&linear::FAMILY, &[1.0]), "linear takes at most 0 values, found 1"),
            (Kernel::new(&precomputed::FAMILY, &[]), "a precomputed kernel needs the name of its Gram matrix"),
        ] {
            assert_eq!(found.unwrap_err().to_string(), message);
        }
        assert!(Kernel::linear().on(Columns::from_positions([])).is_err());
    }

    #[test]
    fn new_sigmoid_is_raw() {
        assert_eq!(Kernel::sigmoid(0.5).unwrap(), kernel("sigmoid(0.5) raw"));
    }

    fn any_kernel() -> impl Strategy<Value = Kernel> {
        let positive = any::<u64>()
            .prop_map(|bits| f64::from_bits(bits >> 1))
            .prop_filter("finite", |v| v.is_finite() && *v > 0.0);
        let width = positive.clone().prop_filter("in range", |v| (1e-150..=1e150).contains(v));
        let plain = 1e-6..1e6f64;
        let kernel = prop_oneof![
            width.prop_map(Kernel::gaussian),
            plain.prop_map(Kernel::gaussian),
            positive.clone().prop_map(Kernel::gaussian_gamma),
            positive.clone().prop_map(Kernel::laplacian),
            positive.prop_map(Kernel::sigmoid),
            (1..=64u32).prop_map(Kernel::polynomial),
            (1e-6..1e6f64, 1e-3..1e3f64).prop_map(|(width, alpha)| Kernel::rational_quadratic(width, alpha)),
            Just(()).prop_map(|()| Ok(Kernel::linear())),
        ];
        kernel.prop_map(|kernel| kernel.unwrap())
    }

    proptest! {
        #[test]
        fn parse_of_a_printed_kernel_is_the_same_kernel(
            kernel in any_kernel(),
            columns in prop::option::of(prop::collection::vec(0usize..40, 1..12)),
            unscaled: bool,
            raw: bool,
            centred: bool,
        ) {
            let mut kernel = if unscaled { kernel.unscaled() } else { kernel };
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
