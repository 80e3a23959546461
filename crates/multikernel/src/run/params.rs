//! Parameters of a method: declared once as data, from which checks and help text are made.

use std::collections::BTreeMap;
use std::fmt;

use crate::closest::closest;
use crate::error::{Error, Result};

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A real number.
    Number(f64),
    /// A whole number.
    Whole(u64),
    /// A word or free text.
    Text(String),
    /// To be chosen by inner cross-validation.
    Auto,
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Digits that can be counted.
            Value::Number(value) if *value != 0.0 && value.is_finite() && !(1e-4..1e7).contains(&value.abs()) => {
                write!(f, "{value:e}")
            }
            Value::Number(value) => write!(f, "{value}"),
            Value::Whole(value) => write!(f, "{value}"),
            Value::Text(value) => f.write_str(value),
            Value::Auto => f.write_str(AUTO),
        }
    }
}

/// The word for a parameter that is to be chosen.
const AUTO: &str = "auto";

/// What a parameter may be.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Allowed {
    /// A finite number above zero.
    Positive,
    /// A finite number above zero, or `auto`: the best of these by inner cross-validation, the first of equals.
    PositiveOrAuto(&'static [f64]),
    /// A number from the first to the second, both included; `inf` where the second is infinite.
    Number(f64, f64),
    /// The same, or `auto`, as in [`Allowed::PositiveOrAuto`].
    NumberOrAuto(f64, f64, &'static [f64]),
    /// A whole number from the first to the second, both included.
    Whole(u64, u64),
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// Free text, checked by the method; the string says what is meant.
    Text(&'static str),
}

impl Allowed {
    /// What `auto` chooses from.
    fn grid(self) -> Option<&'static [f64]> {
        match self {
            Allowed::PositiveOrAuto(grid) | Allowed::NumberOrAuto(_, _, grid) => Some(grid),
            _ => None,
        }
    }

    fn holds(self, value: f64) -> bool {
        match self {
            Allowed::Number(low, high) | Allowed::NumberOrAuto(low, high, _) => low <= value && value <= high,
            _ => value.is_finite() && value > 0.0,
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
            Allowed::OneOf(words) => write!(f, "one of {}", words.join(", ")),
            Allowed::Text(what) => f.write_str(what),
        }
    }
}

/// One parameter: its name (the same in Rust, `--set` and files), default, range and meaning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Param {
    /// The name.
    pub name: &'static str,
    /// The default, in the text form `--set` takes.
    pub default: &'static str,
    /// What it may be.
    pub allowed: Allowed,
    /// One line of meaning.
    pub help: &'static str,
}

impl Param {
    fn parse(&self, text: &str) -> Result<Value> {
        let refuse = || Error::param(self.name, format!("must be {}, got `{text}`", self.allowed));
        match self.allowed {
            allowed if text == AUTO && allowed.grid().is_some() => Ok(Value::Auto),
            Allowed::Positive | Allowed::PositiveOrAuto(_) | Allowed::Number(..) | Allowed::NumberOrAuto(..) => {
                match text.parse::<f64>() {
                    Ok(value) if self.allowed.holds(value) => Ok(Value::Number(value)),
                    _ => Err(refuse()),
                }
            }
            Allowed::Whole(low, high) => match text.parse::<u64>() {
                Ok(value) if (low..=high).contains(&value) => Ok(Value::Whole(value)),
                _ => Err(refuse()),
            },
            Allowed::OneOf(words) if !words.contains(&text) => Err(refuse()),
            Allowed::OneOf(_) | Allowed::Text(_) => Ok(Value::Text(text.to_string())),
        }
    }
}

/// Names of settings that are not parameters of the method.
const RESERVED: [&str; 4] = ["method", "kernels", "scale", "seed"];

/// The values of all parameters of one method, each inside its range.
///
/// ```
/// use multikernel::run::{Allowed, Param, Params};
/// const PARAMS: &[Param] = &[Param { name: "c", default: "1", allowed: Allowed::Positive, help: "trade-off" }];
/// let mut params = Params::new(PARAMS)?;
/// params.set("c", "50")?;
/// assert_eq!(params.number("c"), 50.0);
/// assert!(params.set("c", "-1").is_err());
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    known: &'static [Param],
    values: BTreeMap<&'static str, Value>,
}

impl Params {
    /// All parameters at their defaults. A parameter may not be called like one of the other settings of a run, which
    /// share one list with it in reports and checkpoints.
    pub fn new(known: &'static [Param]) -> Result<Self> {
        if let Some(param) = known.iter().find(|param| RESERVED.contains(&param.name)) {
            return Err(Error::param(
                param.name,
                format!("a method may not call a parameter {}; rename it", RESERVED.join(", ")),
            ));
        }
        let values = known.iter().map(|param| Ok((param.name, param.parse(param.default)?))).collect::<Result<_>>()?;
        Ok(Params { known, values })
    }

    /// Sets one parameter from its text; unknown names and values out of range are refused by name.
    pub fn set(&mut self, name: &str, text: &str) -> Result<()> {
        let Some(param) = self.known.iter().find(|param| param.name == name) else {
            let names: Vec<&str> = self.known.iter().map(|param| param.name).collect();
            let known =
                if names.is_empty() { "this method has none".into() } else { format!("known: {}", names.join(", ")) };
            let hint =
                closest(name, names.iter().copied()).map_or(String::new(), |word| format!(" (did you mean {word}?)"));
            return Err(Error::param(name, format!("is unknown{hint}; {known}")));
        };
        self.values.insert(param.name, param.parse(text)?);
        Ok(())
    }

    /// Whether the method has a parameter of this name.
    pub fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// A real or whole parameter.
    ///
    /// # Panics
    /// If the method declared none of this name and kind: a slip in the method, which its first run shows.
    pub fn number(&self, name: &str) -> f64 {
        match self.declared(name) {
            Value::Number(value) => *value,
            Value::Whole(value) => *value as f64,
            Value::Text(_) => panic!("the parameter {name} is a text, not a number"),
            Value::Auto => panic!("the parameter {name} was not chosen before the method ran"),
        }
    }

    /// A whole parameter.
    ///
    /// # Panics
    /// See [`Params::number`].
    pub fn whole(&self, name: &str) -> usize {
        match self.declared(name) {
            Value::Whole(value) => usize::try_from(*value).unwrap_or(usize::MAX),
            _ => panic!("the parameter {name} is not a whole number"),
        }
    }

    /// A word or text parameter.
    ///
    /// # Panics
    /// See [`Params::number`].
    pub fn text(&self, name: &str) -> &str {
        match self.declared(name) {
            Value::Text(value) => value,
            _ => panic!("the parameter {name} is a number, not a text"),
        }
    }

    fn declared(&self, name: &str) -> &Value {
        match self.values.get(name) {
            Some(value) => value,
            None => panic!("the method declared no parameter {name}"),
        }
    }

    /// The settings to choose from: one for each value of each parameter that is `auto`, in the order of their lists; these
    /// parameters themselves where none is.
    pub fn candidates(&self) -> Vec<Params> {
        let mut all = vec![self.clone()];
        for param in self.known {
            if let (Some(grid), Some(Value::Auto)) = (param.allowed.grid(), self.values.get(param.name)) {
                let with = |params: &Params, value: f64| {
                    let mut params = params.clone();
                    params.values.insert(param.name, Value::Number(value));
                    params
                };
                all = all.iter().flat_map(|params| grid.iter().map(move |&value| with(params, value))).collect();
            }
        }
        all
    }

    /// These parameters with those that are `auto` at their defaults, or where that is `auto` too at the middle of their lists.
    pub(crate) fn with_defaults(&self) -> Params {
        let mut params = self.clone();
        for param in self.known.iter().filter(|param| self.values.get(param.name) == Some(&Value::Auto)) {
            let default = param.default.parse().ok().filter(|value: &f64| value.is_finite());
            let middle = || param.allowed.grid().and_then(|grid| grid.get(grid.len() / 2).copied());
            if let Some(value) = default.or_else(middle) {
                params.values.insert(param.name, Value::Number(value));
            }
        }
        params
    }

    /// The names of the parameters that are `auto`.
    pub fn autos(&self) -> Vec<&'static str> {
        self.values.iter().filter(|(_, value)| **value == Value::Auto).map(|(name, _)| *name).collect()
    }

    /// All values as text, the form they are stored and compared in.
    pub fn to_texts(&self) -> BTreeMap<String, String> {
        self.values.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: &[Param] = &[
        Param { name: "c", default: "1", allowed: Allowed::Positive, help: "" },
        Param { name: "p", default: "1", allowed: Allowed::PositiveOrAuto(&[1.0, 2.0]), help: "" },
        Param { name: "q", default: "2", allowed: Allowed::PositiveOrAuto(&[3.0, 5.0]), help: "" },
        Param { name: "norm", default: "2", allowed: Allowed::NumberOrAuto(1.0, f64::INFINITY, &[1.0]), help: "" },
        Param { name: "ratio", default: "0.2", allowed: Allowed::Number(0.0, 1.0), help: "" },
        Param { name: "trials", default: "100", allowed: Allowed::Whole(1, 1000), help: "" },
        Param { name: "multiclass", default: "ovo", allowed: Allowed::OneOf(&["ovo", "ovr"]), help: "" },
    ];

    #[test]
    fn set_outside_the_range_says_what_is_allowed() {
        let mut params = Params::new(KNOWN).unwrap();
        let cases = [
            ("c", "0", "parameter c: must be a number above 0, got `0`"),
            ("c", "inf", "parameter c: must be a number above 0, got `inf`"),
            ("c", "NaN", "parameter c: must be a number above 0, got `NaN`"),
            ("trials", "1.5", "parameter trials: must be a whole number from 1 to 1000, got `1.5`"),
            ("multiclass", "all", "parameter multiclass: must be one of ovo, ovr, got `all`"),
            (
                "trails",
                "3",
                "parameter trails: is unknown (did you mean trials?); known: c, p, q, norm, ratio, trials, multiclass",
            ),
            ("norm", "0.9", "parameter norm: must be a number from 1 to inf, or auto, got `0.9`"),
            ("norm", "NaN", "parameter norm: must be a number from 1 to inf, or auto, got `NaN`"),
            ("ratio", "1.1", "parameter ratio: must be a number from 0 to 1, got `1.1`"),
            ("ratio", "auto", "parameter ratio: must be a number from 0 to 1, got `auto`"),
            ("c", "auto", "parameter c: must be a number above 0, got `auto`"),
            ("p", "none", "parameter p: must be a number above 0, or auto, got `none`"),
        ];
        for (name, text, message) in cases {
            assert_eq!(params.set(name, text).unwrap_err().to_string(), message);
        }
        assert_eq!(params, Params::new(KNOWN).unwrap(), "a refused value changes nothing");
    }

    #[test]
    fn parameter_called_like_another_setting_is_refused() {
        const SEED: &[Param] = &[Param { name: "seed", default: "1", allowed: Allowed::Positive, help: "" }];
        assert!(Params::new(SEED).is_err());
    }

    #[test]
    fn candidates_are_all_values_of_all_parameters_that_are_auto() {
        let mut params = Params::new(KNOWN).unwrap();
        assert_eq!(params.candidates(), [params.clone()]);
        params.set("p", "auto").unwrap();
        params.set("q", "auto").unwrap();
        assert_eq!(params.autos(), ["p", "q"]);
        let found: Vec<(f64, f64)> = params.candidates().iter().map(|c| (c.number("p"), c.number("q"))).collect();
        assert_eq!(found, [(1.0, 3.0), (1.0, 5.0), (2.0, 3.0), (2.0, 5.0)]);
    }

    #[test]
    fn texts_of_every_value_read_back_equal() {
        let mut params = Params::new(KNOWN).unwrap();
        params.set("c", "0.1").unwrap();
        params.set("trials", "7").unwrap();
        params.set("q", "auto").unwrap();
        params.set("norm", "inf").unwrap();
        let mut again = Params::new(KNOWN).unwrap();
        for (name, text) in params.to_texts() {
            again.set(&name, &text).unwrap();
        }
        assert_eq!(again, params);
    }
}
