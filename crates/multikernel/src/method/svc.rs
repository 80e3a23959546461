//! The parameters of every method that ends in a C-SVC: trade-off, tolerance, multiclass scheme, class weights.

use crate::run::{Method, Setting, Value, choice};

choice! {
    /// How more than two classes are handled.
    pub enum Multiclass {
        /// One vs. one: a vote over class pairs.
        Ovo = "ovo",
        /// One vs. rest: the largest score wins.
        Ovr = "ovr",
    }
}

/// Factors on `c`, by class.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ClassWeights {
    /// 1 for every class.
    #[default]
    None,
    /// `n / (n_classes * count)`: rare classes count as much as frequent ones.
    Balanced,
    /// Given for some classes by name; 1 for the others.
    Given(Vec<(String, f64)>),
}

impl Setting for ClassWeights {
    fn to_value(&self) -> Value {
        Value::Text(match self {
            ClassWeights::None => "none".into(),
            ClassWeights::Balanced => "balanced".into(),
            ClassWeights::Given(weights) => {
                weights.iter().map(|(class, weight)| format!("{class}={weight}")).collect::<Vec<_>>().join(",")
            }
        })
    }

    fn from_value(value: &Value) -> Option<Self> {
        let Value::Text(text) = value else { return None };
        let given = |part: &str| {
            let (class, weight) = part.rsplit_once('=')?;
            Some((class.trim().to_string(), weight.trim().parse::<f64>().ok()?))
        };
        match text.as_str() {
            "none" => Some(ClassWeights::None),
            "balanced" => Some(ClassWeights::Balanced),
            text => text.split(',').map(given).collect::<Option<_>>().map(ClassWeights::Given),
        }
    }
}

/// The parameters of a C-SVC.
#[derive(Clone, Debug)]
pub struct Svc {
    pub(super) c: f64,
    pub(super) tol: f64,
    pub(super) multiclass: Multiclass,
    pub(super) class_weights: ClassWeights,
}

/// A method that ends in a C-SVC; [`svc_params!`] writes the implementation.
pub trait EndsInSvc: Method {
    /// The parameters of the C-SVC.
    fn svc(&self) -> Svc;
}

/// The names of these parameters.
pub(super) const SVC_PARAMS: [&str; 4] = ["c", "tol", "multiclass", "class_weights"];

/// The values of c that `auto` tries, from smooth to wiggly.
pub(super) const CS: &[f64] = &[0.3, 1.0, 3.0, 10.0, 30.0, 100.0];

/// [`params!`](crate::params) with the parameters of a C-SVC in front.
macro_rules! svc_params {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($rest:tt)* }) => {
        $crate::run::params! {
            $(#[$meta])*
            $vis struct $name {
                /// trade-off: large follows the training rows, small is smooth; auto chooses among 0.3, 1, 3, 10, 30, 100 by
                /// held-out log-loss
                c: f64 = 10.0, $crate::run::Allowed::PositiveOrAuto($crate::method::svc::CS);
                /// stop when the optimality conditions hold to this
                tol: f64 = 0.001, $crate::run::Allowed::Positive;
                /// one-vs-one (a vote of class pairs) or one-vs-rest (the largest score)
                multiclass: $crate::method::Multiclass = $crate::method::Multiclass::Ovo,
                    $crate::run::Allowed::OneOf($crate::method::Multiclass::WORDS);
                /// multiply c per class: none, balanced (n / (n_classes * count)), or CLASS=WEIGHT,...
                class_weights: $crate::method::ClassWeights = $crate::method::ClassWeights::None,
                    $crate::run::Allowed::Text("none, balanced, or CLASS=WEIGHT,...");
                $($rest)*
            }
        }

        impl $crate::method::svc::EndsInSvc for $name {
            fn svc(&self) -> $crate::method::svc::Svc {
                let (multiclass, class_weights) = (self.multiclass, self.class_weights.clone());
                $crate::method::svc::Svc { c: self.c, tol: self.tol, multiclass, class_weights }
            }
        }
    };
}
pub(super) use svc_params;
