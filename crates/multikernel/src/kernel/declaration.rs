//! The declaration of a kernel family.

use super::base::Base;
use super::text::Decimal;

/// The maximum number of parameters of a family: kernels store their values inline.
pub const MAX_KERNEL_PARAMS: usize = 4;

/// A kernel family: its name, its parameters and its functions, declared in one place.
///
/// The families of this crate are the modules of [`kernel::family`](super::family). Your own family is a `static` of
/// this type, added with [`Registry::with_kernel`](crate::plan::Registry::with_kernel); it then gets everything the
/// built-in ones have: the grammar, every method, model files, the conformance suite. The guide "Adding a kernel" walks
/// through one.
///
/// ```
/// use multikernel::kernel::{Base, Families, Family, Form, Forms, KernelFunction, KernelParam};
///
/// static CAUCHY: Family = Family {
///     name: "cauchy",
///     key: None,
///     written: "cauchy(s)",
///     takes: "a width",
///     example: "cauchy(1)",
///     also: &[],
///     params: &[KernelParam::WIDTH],
///     forms: Forms::Unit(Form {
///         formula: "1 / (1 + abs(x-y)^2 / s^2)",
///         base: Base::SquaredDistance,
///         function: KernelFunction::Values(|params, base, out| {
///             let rate = 1.0 / (params[0] * params[0]);
///             out.iter_mut().zip(base).for_each(|(out, base)| *out = 1.0 / (1.0 + rate * base));
///         }),
///     }),
///     positive_semidefinite: true,
/// };
///
/// let kernel = Families::standard().with(&CAUCHY).kernel("cauchy(2) on [0:5]")?;
/// assert_eq!(kernel.value(4.0), 0.5);
/// multikernel::testing::check_kernel(&kernel)?;
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Debug)]
pub struct Family {
    /// Its name in the grammar.
    pub name: &'static str,
    /// For an alternative parametrisation of a family: the key before its values, as `gamma` in `gaussian(gamma=0.5)`.
    pub key: Option<&'static str>,
    /// Its notation in the documentation: `gaussian(s)`.
    pub written: &'static str,
    /// What goes in the parentheses, in words: `a width`.
    pub takes: &'static str,
    /// A sample kernel of the family, shown in messages and used by the conformance suite.
    pub example: &'static str,
    /// Names for the family used elsewhere, each with what to write here.
    pub also: &'static [(&'static str, &'static str)],
    /// The parameters, at most [`MAX_KERNEL_PARAMS`]. The first takes the values in parentheses; the others are written
    /// `name=number` after them and need a default.
    pub params: &'static [KernelParam],
    /// Its functions, with unit diagonal and raw.
    pub forms: Forms,
    /// Whether every Gram matrix is positive semidefinite.
    pub positive_semidefinite: bool,
}

/// One parameter of a [`Family`]. Parameters are positive.
#[derive(Clone, Copy, Debug)]
pub struct KernelParam {
    /// Its name in messages and, except for the first parameter, in the grammar.
    pub name: &'static str,
    /// Its allowed values.
    pub range: ParamRange,
    /// Its default value.
    pub default: Option<f64>,
    /// Whether it may be written as a multiple of the median distance. For the first parameter only.
    pub median: bool,
}

/// The allowed values of a [`KernelParam`].
#[derive(Clone, Copy, Debug)]
pub enum ParamRange {
    /// Any finite number above 0.
    Positive,
    /// A number between the two, both included.
    Between(f64, f64),
    /// A whole number between the two, both included.
    Whole(u32, u32),
}

/// The two forms a family may have: with unit diagonal, the default, and with the suffix `raw`.
#[derive(Clone, Copy, Debug)]
pub enum Forms {
    /// k(x, x) = 1 by construction; `raw` has no effect.
    Unit(Form),
    /// One form scaled to k(x, x) = 1, and one that is not.
    Both {
        /// The form without `raw`.
        unit: Form,
        /// The form with `raw`.
        raw: Form,
    },
    /// No unit diagonal: `raw` is mandatory.
    Raw(Form),
}

/// A kernel as a function of a base quantity.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// The function as a plain-text formula.
    pub formula: &'static str,
    /// Its argument.
    pub base: Base,
    /// The function.
    pub function: KernelFunction,
}

/// The function of a [`Form`]. The first argument holds the parameters in the order of [`Family::params`].
#[derive(Clone, Copy, Debug)]
pub enum KernelFunction {
    /// `exp(-rate base)`, given the rate: the stack computes many of these from few exponentials.
    Decay(fn(&[f64]) -> f64),
    /// Anything else: writes the kernel value for each base quantity (second argument) to the output (third), of the
    /// same length. An output may depend only on its own input, and NaN must give NaN. Called once for hundreds of
    /// entries, so a plain loop is fast.
    Values(fn(&[f64], &[f64], &mut [f64])),
}

impl KernelFunction {
    /// The base quantity itself.
    pub const IDENTITY: KernelFunction = KernelFunction::Values(|_, base, out| out.copy_from_slice(base));
}

impl Family {
    /// The form with or without `raw`; a family with one form returns it in both cases.
    pub fn form(&self, raw: bool) -> &Form {
        match &self.forms {
            Forms::Unit(form) | Forms::Raw(form) => form,
            Forms::Both { unit, .. } if !raw => unit,
            Forms::Both { raw, .. } => raw,
        }
    }

    /// Whether the name must be followed by `raw`.
    pub(super) fn needs_raw(&self) -> bool {
        matches!(self.forms, Forms::Raw(_))
    }

    /// Whether it is a function of a given matrix, whose name goes in the parentheses or, if these hold values, after
    /// `on`.
    pub fn takes_gram(&self) -> bool {
        matches!(self.form(false).base, Base::Given | Base::GivenCosine)
    }

    /// Whether the given matrix holds distances.
    pub(crate) fn takes_distances(&self) -> bool {
        self.takes_gram() && !self.params.is_empty()
    }
}

impl Family {
    /// The fault in the declaration, if any: a bug in the program, not in its data.
    pub(super) fn unsound(&self) -> Option<String> {
        let name = self.name;
        let is_word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        if !is_word(name) || !self.key.is_none_or(is_word) {
            return Some(format!("{name}: names are lower-case letters and _"));
        }
        if self.params.len() > MAX_KERNEL_PARAMS {
            return Some(format!("{name}: at most {MAX_KERNEL_PARAMS} parameters"));
        }
        for (k, param) in self.params.iter().enumerate() {
            if k > 0 && (param.default.is_none() || param.median) {
                return Some(format!("{name}: {} needs a default and takes no median", param.name));
            }
            if let Some(must) = param.default.and_then(|value| param.fault(value)) {
                return Some(format!("{name}: the default of {} {must}", param.name));
            }
        }
        None
    }
}

/// Families are identified by name and key.
impl PartialEq for Family {
    fn eq(&self, other: &Family) -> bool {
        (self.name, self.key) == (other.name, other.key)
    }
}

impl KernelParam {
    /// A width in the units of the data: far enough from 0 and infinity that `1 / width^2` is a normal number.
    pub const WIDTH: KernelParam =
        KernelParam { name: "width", range: ParamRange::Between(1e-150, 1e150), default: None, median: true };

    /// Any positive number, without a default.
    pub const fn positive(name: &'static str) -> KernelParam {
        KernelParam { name, range: ParamRange::Positive, default: None, median: false }
    }

    /// The requirement that the value violates, if any.
    pub(super) fn fault(&self, value: f64) -> Option<String> {
        let (holds, must) = match self.range {
            ParamRange::Positive => (value > 0.0 && value.is_finite(), "be above 0 and finite".into()),
            ParamRange::Between(low, high) => {
                ((low..=high).contains(&value), format!("lie between {} and {}", Decimal(low), Decimal(high)))
            }
            ParamRange::Whole(low, high) => {
                let holds = (f64::from(low)..=f64::from(high)).contains(&value) && value.fract() == 0.0;
                (holds, format!("be a whole number from {low} to {high}"))
            }
        };
        (!holds).then(|| format!("must {must}"))
    }
}
