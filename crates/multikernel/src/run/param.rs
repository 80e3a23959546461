//! Parameters of a method: declared once, with [`params!`](crate::params), as a plain struct from which its defaults,
//! checks, text form and help are derived.

use std::fmt;

use crate::closest::closest;
use crate::error::{Error, Result};

/// The value of a parameter, whatever its type in the method's struct.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A real number.
    Number(f64),
    /// A whole number.
    Whole(u64),
    /// A word or free text.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Scientific notation where there would be too many digits to count.
            Value::Number(value) if *value != 0.0 && value.is_finite() && !(1e-4..1e7).contains(&value.abs()) => {
                write!(f, "{value:e}")
            }
            Value::Number(value) => write!(f, "{value}"),
            Value::Whole(value) => write!(f, "{value}"),
            Value::Text(value) => f.write_str(value),
        }
    }
}

/// The allowed values of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Allowed {
    /// A finite number above zero.
    Positive,
    /// A finite number above zero, or `auto`: the best of these by inner cross-validation, the first in a tie.
    PositiveOrAuto(&'static [f64]),
    /// A number from the first to the second, both included; `inf` where the second is infinite.
    Number(f64, f64),
    /// The same, or `auto`, as in [`Allowed::PositiveOrAuto`].
    NumberOrAuto(f64, f64, &'static [f64]),
    /// A whole number from the first to the second, both included.
    Whole(u64, u64),
    /// The same, or `auto`: these are tried in their order, from cheap to dear, until what one more gains is no longer worth
    /// it.
    WholeOrAuto(u64, u64, &'static [f64]),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// Free text, parsed by the field's type; the string describes it.
    Text(&'static str),
}

impl Allowed {
    /// The values `auto` chooses from, for parameters that can be left to inner cross-validation.
    pub fn grid(self) -> Option<&'static [f64]> {
        match self {
            Allowed::PositiveOrAuto(grid) | Allowed::NumberOrAuto(_, _, grid) | Allowed::WholeOrAuto(_, _, grid) => {
                Some(grid)
            }
            _ => None,
        }
    }

    /// Whether `auto` goes through its values from cheap to dear, and ends where more is not worth it.
    pub(crate) fn grows(self) -> bool {
        matches!(self, Allowed::WholeOrAuto(..))
    }

    /// One of the values of `auto`.
    pub(crate) fn value_of(self, value: f64) -> Value {
        if self.grows() { Value::Whole(value as u64) } else { Value::Number(value) }
    }

    fn admits(self, value: &Value) -> bool {
        match (self, value) {
            (Allowed::Positive | Allowed::PositiveOrAuto(_), Value::Number(value)) => value.is_finite() && *value > 0.0,
            (Allowed::Number(low, high) | Allowed::NumberOrAuto(low, high, _), Value::Number(value)) => {
                low <= *value && *value <= high
            }
            (Allowed::Whole(low, high) | Allowed::WholeOrAuto(low, high, _), Value::Whole(value)) => {
                (low..=high).contains(value)
            }
            (Allowed::OneOf(words), Value::Text(text)) => words.contains(&text.as_str()),
            (Allowed::Text(_), Value::Text(_)) => true,
            _ => false,
        }
    }

    /// Parses a text as the kind of value that is allowed; `None` if it is not a number.
    fn read(self, text: &str) -> Option<Value> {
        match self {
            Allowed::Positive | Allowed::PositiveOrAuto(_) | Allowed::Number(..) | Allowed::NumberOrAuto(..) => {
                text.parse().ok().map(Value::Number)
            }
            Allowed::Whole(..) | Allowed::WholeOrAuto(..) => text.parse().ok().map(Value::Whole),
            Allowed::OneOf(_) | Allowed::Text(_) => Some(Value::Text(text.to_string())),
        }
    }
}

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Allowed::Positive => f.write_str("a number above 0"),
            Allowed::PositiveOrAuto(_) => f.write_str("a number above 0, or auto"),
            Allowed::Number(low, high) => {
                write!(f, "a number from {} to {}", Value::Number(*low), Value::Number(*high))
            }
            Allowed::NumberOrAuto(low, high, _) => {
                write!(f, "a number from {} to {}, or auto", Value::Number(*low), Value::Number(*high))
            }
            Allowed::Whole(low, u64::MAX) => write!(f, "a whole number from {low}"),
            Allowed::Whole(low, high) => write!(f, "a whole number from {low} to {high}"),
            Allowed::WholeOrAuto(low, high, _) => write!(f, "a whole number from {low} to {high}, or auto"),
            Allowed::OneOf(words) => write!(f, "one of {}", words.join(", ")),
            Allowed::Text(what) => f.write_str(what),
        }
    }
}

/// One parameter: its name (the same in Rust, `--set` and files), default, range and meaning.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// The name.
    pub name: &'static str,
    /// The default, in its text form.
    pub default: String,
    /// The allowed values.
    pub allowed: Allowed,
    /// Its meaning, in one line.
    pub help: &'static str,
}

impl Param {
    fn refusal(&self, found: &dyn fmt::Display) -> Error {
        Error::param(self.name, format!("must be {}, got `{found}`", self.allowed))
    }
}

/// A type that a field of [`params!`](crate::params) may have. Implemented for `f64`, `usize`, `bool` (the words `yes`
/// and `no`), and for enums by [`choice!`](crate::choice).
pub trait Setting: Sized {
    /// The value.
    fn to_value(&self) -> Value;
    /// The setting for a value; `None` if there is none.
    fn from_value(value: &Value) -> Option<Self>;
}

impl Setting for f64 {
    fn to_value(&self) -> Value {
        Value::Number(*self)
    }

    fn from_value(value: &Value) -> Option<f64> {
        if let Value::Number(number) = value { Some(*number) } else { None }
    }
}

impl Setting for usize {
    fn to_value(&self) -> Value {
        Value::Whole(*self as u64)
    }

    fn from_value(value: &Value) -> Option<usize> {
        if let Value::Whole(number) = value { usize::try_from(*number).ok() } else { None }
    }
}

impl Setting for bool {
    fn to_value(&self) -> Value {
        Value::Text(if *self { "yes" } else { "no" }.into())
    }

    fn from_value(value: &Value) -> Option<bool> {
        match value {
            Value::Text(text) if text == "yes" => Some(true),
            Value::Text(text) if text == "no" => Some(false),
            _ => None,
        }
    }
}

/// The parameters of a method as a plain struct; the [`params!`](crate::params) macro writes the implementation.
///
/// ```
/// use multikernel::{method::Average, run::Parameters};
/// let mut average = Average { c: 50.0, ..Default::default() };
/// assert!(average.check().is_ok());
/// average.set("c", "0.5")?;
/// assert_eq!(average.c, 0.5);
/// assert!(average.set("c", "-1").is_err() && Average { c: -1.0, ..average }.check().is_err());
/// # Ok::<(), multikernel::Error>(())
/// ```
pub trait Parameters {
    /// The declared parameters, in order of declaration.
    fn params() -> &'static [Param]
    where
        Self: Sized;

    /// The value of a parameter; `None` if no parameter has this name.
    fn value(&self, name: &str) -> Option<Value>;

    /// Assigns a value without checking its range; `false` if no parameter has this name or the value has another type.
    fn assign(&mut self, name: &str, value: &Value) -> bool;

    /// Sets one parameter from its text; unknown names and values out of range are rejected by name, and change
    /// nothing.
    fn set(&mut self, name: &str, text: &str) -> Result<()>
    where
        Self: Sized,
    {
        let param = find(Self::params(), name)?;
        let value = param.allowed.read(text).filter(|value| param.allowed.admits(value));
        match value {
            Some(value) if self.assign(name, &value) => Ok(()),
            _ => Err(param.refusal(&text)),
        }
    }

    /// Whether every value is in its range.
    fn check(&self) -> Result<()>
    where
        Self: Sized,
    {
        for param in Self::params() {
            if let Some(value) = self.value(param.name).filter(|value| !param.allowed.admits(value)) {
                return Err(param.refusal(&value));
            }
        }
        Ok(())
    }
}

/// The parameter of this name; an error lists the known ones.
pub(super) fn find<'a>(known: &'a [Param], name: &str) -> Result<&'a Param> {
    known.iter().find(|param| param.name == name).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|param| param.name).collect();
        let known =
            if names.is_empty() { "this method has none".into() } else { format!("known: {}", names.join(", ")) };
        let hint =
            closest(name, names.iter().copied()).map_or(String::new(), |word| format!(" (did you mean {word}?)"));
        Error::param(name, format!("is unknown{hint}; {known}"))
    })
}

/// Declares a method and its parameters: a plain struct with public fields, its `Default`, and
/// [`Parameters`](crate::run::Parameters). Each field has a doc comment, which is its help text, a type
/// ([`Setting`](crate::run::Setting)), a default and a range ([`Allowed`](crate::run::Allowed)).
///
/// ```
/// use multikernel::{params, run::{Allowed, Parameters}};
/// params! {
///     /// The nearest class mean.
///     pub struct Centroid {
///         /// how far means are drawn towards the mean of all rows
///         shrink: f64 = 0.0, Allowed::Number(0.0, 1.0);
///     }
/// }
/// assert_eq!(Centroid::default().shrink, 0.0);
/// assert_eq!(Centroid::params()[0].help, "how far means are drawn towards the mean of all rows");
/// assert!(Centroid { shrink: 2.0 }.check().is_err());
/// ```
#[macro_export]
macro_rules! params {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[doc = $help:literal])+ $field:ident : $type:ty = $default:expr, $allowed:expr;)*
    }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $name {
            $($(#[doc = $help])+ pub $field: $type,)*
        }

        impl ::core::default::Default for $name {
            fn default() -> Self {
                $name { $($field: $default,)* }
            }
        }

        impl $crate::run::Parameters for $name {
            fn params() -> &'static [$crate::run::Param] {
                static PARAMS: ::std::sync::LazyLock<::std::vec::Vec<$crate::run::Param>> =
                    ::std::sync::LazyLock::new(|| {
                        #[allow(unused_variables)]
                        let method = $name::default();
                        ::std::vec![$($crate::run::Param {
                            name: ::core::stringify!($field),
                            default: $crate::run::Setting::to_value(&method.$field).to_string(),
                            allowed: $allowed,
                            help: ::core::concat!($($help),+).trim_ascii(),
                        }),*]
                    });
                &PARAMS
            }

            fn value(&self, name: &str) -> ::core::option::Option<$crate::run::Value> {
                match name {
                    $(::core::stringify!($field) => {
                        ::core::option::Option::Some($crate::run::Setting::to_value(&self.$field))
                    })*
                    _ => ::core::option::Option::None,
                }
            }

            #[allow(unused_variables)]
            fn assign(&mut self, name: &str, value: &$crate::run::Value) -> bool {
                match name {
                    $(::core::stringify!($field) => {
                        let setting = $crate::run::Setting::from_value(value);
                        let known = setting.is_some();
                        if let ::core::option::Option::Some(setting) = setting {
                            self.$field = setting;
                        }
                        known
                    })*
                    _ => false,
                }
            }
        }
    };
}

// Imported by path, as below: the crate root, where macros are exported, sits above every module that uses them.
pub(crate) use params;

/// Declares an enum parameter type, with the word for each variant; `NAME::WORDS` lists them for
/// [`Allowed::OneOf`](crate::run::Allowed::OneOf).
///
/// ```
/// use multikernel::{choice, run::{Setting, Value}};
/// choice! {
///     /// How several classes are told apart.
///     pub enum Scheme {
///         /// One against one.
///         Pairs = "ovo",
///         /// One against the rest.
///         Rest = "ovr",
///     }
/// }
/// assert_eq!((Scheme::WORDS, Scheme::Rest.word()), (&["ovo", "ovr"][..], "ovr"));
/// assert_eq!(Scheme::from_value(&Value::Text("ovo".into())), Some(Scheme::Pairs));
/// ```
#[macro_export]
macro_rules! choice {
    ($(#[$meta:meta])* $vis:vis enum $name:ident {
        $($(#[$variant_meta:meta])* $variant:ident = $word:literal),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $name { $($(#[$variant_meta])* $variant),* }

        impl $name {
            /// The words, in the order of the variants.
            $vis const WORDS: &'static [&'static str] = &[$($word),*];

            /// The word for this variant.
            $vis fn word(self) -> &'static str {
                match self { $($name::$variant => $word),* }
            }
        }

        impl $crate::run::Setting for $name {
            fn to_value(&self) -> $crate::run::Value {
                $crate::run::Value::Text(self.word().into())
            }

            fn from_value(value: &$crate::run::Value) -> ::core::option::Option<Self> {
                match value {
                    $($crate::run::Value::Text(text) if text == $word => {
                        ::core::option::Option::Some($name::$variant)
                    })*
                    _ => ::core::option::Option::None,
                }
            }
        }
    };
}
pub(crate) use choice;
