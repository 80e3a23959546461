//! A method with its parameters, some of which may be left to inner cross-validation.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::method::AnyMethod;
use super::param::{Param, find};
use crate::error::{Error, Result};

/// The word for a parameter to be chosen by cross-validation.
const AUTO: &str = "auto";

/// Names of settings that are not parameters of the method.
const RESERVED: [&str; 4] = ["method", "kernels", "scale", "seed"];

/// A method with its parameters, each inside its range or `auto`: to be chosen by inner cross-validation.
///
/// ```
/// use multikernel::{Plan, method::Average};
/// let plan = Plan::of(Average { c: 50.0, ..Default::default() })?.set("c", "auto")?;
/// assert_eq!(plan.params().autos(), ["c"]);
/// assert_eq!(plan.params().candidates().len(), 6);
/// assert!(plan.set("c", "-1").is_err());
/// # Ok::<(), multikernel::Error>(())
/// ```
pub struct Params {
    method: Box<dyn AnyMethod>,
    autos: BTreeSet<&'static str>,
}

impl Clone for Params {
    fn clone(&self) -> Self {
        Params { method: self.method.boxed(), autos: self.autos.clone() }
    }
}

impl PartialEq for Params {
    fn eq(&self, other: &Self) -> bool {
        (self.method.about().name, self.to_texts()) == (other.method.about().name, other.to_texts())
    }
}

impl fmt::Debug for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.to_texts()).finish()
    }
}

impl Params {
    /// A method as it is. Values out of range are rejected, and so is a parameter named like one of the other settings
    /// of a run, since they share one list in reports and checkpoints.
    pub fn new(method: Box<dyn AnyMethod>) -> Result<Self> {
        if let Some(param) = method.param_list().iter().find(|param| RESERVED.contains(&param.name)) {
            return Err(Error::param(
                param.name,
                format!("a method may not call a parameter {}; rename it", RESERVED.join(", ")),
            ));
        }
        method.check_params()?;
        Ok(Params { method, autos: BTreeSet::new() })
    }

    /// The method, with `auto` parameters at their defaults.
    pub fn method(&self) -> &dyn AnyMethod {
        self.method.as_ref()
    }

    /// Sets one parameter from its text; unknown names and values out of range are rejected by name, and change
    /// nothing.
    pub fn set(&mut self, name: &str, text: &str) -> Result<()> {
        let param = find(self.method.param_list(), name)?;
        if text == AUTO && param.allowed.grid().is_some() {
            self.method.set_param(name, &param.default)?;
            self.autos.insert(param.name);
        } else {
            self.method.set_param(name, text)?;
            self.autos.remove(param.name);
        }
        Ok(())
    }

    /// Whether the method has a parameter with this name.
    pub fn has(&self, name: &str) -> bool {
        self.method.param_list().iter().any(|param| param.name == name)
    }

    /// The settings to choose from: one for each combination of values of the `auto` parameters, in the order of their
    /// lists; just these parameters if none is `auto`.
    pub fn candidates(&self) -> Vec<Params> {
        let mut all = vec![self.with_defaults()];
        for param in self.method.param_list().iter().filter(|param| self.autos.contains(param.name)) {
            let grid = param.allowed.grid().unwrap_or_default();
            let with = |params: &Params, value: f64| {
                let mut params = params.clone();
                params.method.assign_param(param.name, &param.allowed.value_of(value));
                params
            };
            all = all.iter().flat_map(|params| grid.iter().map(move |&value| with(params, value))).collect();
        }
        all
    }

    /// The values of the first `auto` parameter that is tried from cheap to dear, each with the other ones at their
    /// defaults; `None` if there is no such parameter.
    pub(crate) fn growing(&self) -> Option<(&'static str, Vec<Params>)> {
        let grows = |param: &&Param| self.autos.contains(param.name) && param.allowed.grows();
        let name = self.method.param_list().iter().find(grows)?.name;
        let alone = Params { method: self.method.boxed(), autos: BTreeSet::from([name]) };
        Some((name, alone.candidates()))
    }

    /// These parameters with one of them as it is in others.
    pub(crate) fn with_value_of(&self, name: &'static str, others: &Params) -> Params {
        let mut params = self.clone();
        if let Some(value) = others.method.param_value(name) {
            params.method.assign_param(name, &value);
            params.autos.remove(name);
        }
        params
    }

    /// See [`Method::rehearsal`](super::Method::rehearsal).
    pub(crate) fn rehearsal(&self, n_rows: usize) -> Option<Params> {
        Some(Params { method: self.method.rehearsal(n_rows)?, autos: BTreeSet::new() })
    }

    /// These parameters, with `auto` ones at their defaults.
    pub(crate) fn with_defaults(&self) -> Params {
        Params { method: self.method.boxed(), autos: BTreeSet::new() }
    }

    /// The names of the `auto` parameters.
    pub fn autos(&self) -> Vec<&'static str> {
        self.autos.iter().copied().collect()
    }

    /// All values as text, the form in which they are stored and compared.
    pub fn to_texts(&self) -> BTreeMap<String, String> {
        let text = |name: &'static str| match self.autos.contains(name) {
            true => AUTO.to_string(),
            false => self.method.param_value(name).map_or(String::new(), |value| value.to_string()),
        };
        self.method.param_list().iter().map(|param| (param.name.to_string(), text(param.name))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::record;
    use crate::linalg::Matrix;
    use crate::pool::Pool;
    use crate::run::{
        About, Allowed, Control, Explain, Input, Method, Needs, Parameters, Predict, Progress, State, Task, choice,
        params,
    };

    choice! {
        /// How several classes are told apart.
        enum Scheme { Ovo = "ovo", Ovr = "ovr" }
    }

    params! {
        /// Knows how to be set, and nothing else.
        struct Known {
            /// one
            c: f64 = 1.0, Allowed::Positive;
            /// two
            p: f64 = 1.0, Allowed::PositiveOrAuto(&[1.0, 2.0]);
            /// three
            q: f64 = 2.0, Allowed::PositiveOrAuto(&[3.0, 5.0]);
            /// four
            norm: f64 = 2.0, Allowed::NumberOrAuto(1.0, f64::INFINITY, &[1.0]);
            /// five
            ratio: f64 = 0.2, Allowed::Number(0.0, 1.0);
            /// six
            /// and more
            trials: usize = 100, Allowed::Whole(1, 1000);
            /// seven
            multiclass: Scheme = Scheme::Ovo, Allowed::OneOf(Scheme::WORDS);
        }
    }

    params! {
        /// A name that is taken.
        struct Seeded {
            /// of all randomness
            seed: f64 = 1.0, Allowed::Positive;
        }
    }

    record! {
        /// Nothing.
        #[derive(Clone, Debug)]
        struct Nothing { none: u64 }
    }

    macro_rules! idle {
        ($method:ident) => {
            impl Method for $method {
                type State = Nothing;

                fn about(&self) -> About {
                    About { name: "idle", summary: "", needs: Needs::Rows, bank: "" }
                }
            }
        };
    }
    idle!(Known);
    idle!(Seeded);

    impl<M> State<M> for Nothing {
        type Model = Nothing;

        fn init(_: &M, _: &Task<'_>) -> Result<Self> {
            Ok(Nothing { none: 0 })
        }

        fn step(&mut self, _: &M, _: &Task<'_>, _: &Control) -> Result<Progress> {
            Ok(Progress::of(1, 1))
        }

        fn finish(self, _: &M, _: &Task<'_>) -> Result<Self> {
            Ok(self)
        }
    }

    impl Explain for Nothing {}

    impl Predict for Nothing {
        fn scores(&self, input: Input<'_>, _: &Pool) -> Result<Matrix> {
            Ok(Matrix::zeros(input.n_samples(), 1))
        }

        fn check(&self, _: usize, _: usize) -> Result<()> {
            Ok(())
        }
    }

    fn known() -> Params {
        Params::new(Box::new(Known::default())).unwrap()
    }

    #[test]
    fn set_outside_the_range_says_what_is_allowed() {
        let mut params = known();
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
        assert_eq!(params, known(), "a refused value changes nothing");
    }

    #[test]
    fn struct_out_of_range_is_refused_as_its_text_is() {
        let refused = |method: Known| Params::new(Box::new(method)).unwrap_err().to_string();
        assert_eq!(refused(Known { c: -1.0, ..Known::default() }), "parameter c: must be a number above 0, got `-1`");
        let message = "parameter trials: must be a whole number from 1 to 1000, got `0`";
        assert_eq!(refused(Known { trials: 0, ..Known::default() }), message);
        assert!(Params::new(Box::new(Known { multiclass: Scheme::Ovr, ..Known::default() })).is_ok());
    }

    #[test]
    fn both_doors_make_the_same_parameters() {
        let typed = Known { c: 0.5, trials: 7, multiclass: Scheme::Ovr, ..Known::default() };
        let mut text = known();
        [("c", "0.5"), ("trials", "7"), ("multiclass", "ovr")].iter().for_each(|(k, v)| text.set(k, v).unwrap());
        assert_eq!(Params::new(Box::new(typed)).unwrap(), text);
        assert_eq!(Known::params()[5].help, "six and more");
    }

    #[test]
    fn parameter_called_like_another_setting_is_refused() {
        assert!(Params::new(Box::new(Seeded::default())).is_err());
    }

    #[test]
    fn candidates_are_all_values_of_all_parameters_that_are_auto() {
        let mut params = known();
        assert_eq!(params.candidates(), [params.clone()]);
        params.set("p", "auto").unwrap();
        params.set("q", "auto").unwrap();
        assert_eq!(params.autos(), ["p", "q"]);
        let texts = |params: &Params| (params.to_texts()["p"].clone(), params.to_texts()["q"].clone());
        let expected = [("1", "3"), ("1", "5"), ("2", "3"), ("2", "5")].map(|(p, q)| (p.to_string(), q.to_string()));
        assert_eq!(params.candidates().iter().map(texts).collect::<Vec<_>>(), expected);
        assert_eq!(params.with_defaults(), known());
    }

    #[test]
    fn texts_of_every_value_read_back_equal() {
        let mut params = known();
        params.set("c", "0.1").unwrap();
        params.set("trials", "7").unwrap();
        params.set("q", "auto").unwrap();
        params.set("norm", "inf").unwrap();
        let mut again = known();
        for (name, text) in params.to_texts() {
            again.set(&name, &text).unwrap();
        }
        assert_eq!(again, params);
    }
}
