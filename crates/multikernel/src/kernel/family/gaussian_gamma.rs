//! `gaussian(gamma=g)`: `exp(-g |x-y|^2)`, the Gaussian parametrised by its rate, as in other libraries.

use crate::error::Result;
use crate::kernel::base::Base;
use crate::kernel::concrete::Kernel;
use crate::kernel::declaration::{Family, Form, Forms, KernelFunction, KernelParam};

/// The declaration.
pub static FAMILY: Family = Family {
    name: "gaussian",
    key: Some("gamma"),
    written: "gaussian(gamma=g)",
    takes: "a rate",
    example: "gaussian(gamma=0.5)",
    also: &[("rbf", "gaussian(gamma=0.5)")],
    params: &[KernelParam::positive("gamma")],
    forms: Forms::Unit(Form {
        formula: "exp(-g abs(x-y)^2)",
        base: Base::SquaredDistance,
        function: KernelFunction::Decay(|params| params[0]),
    }),
    positive_semidefinite: true,
};

impl Kernel {
    /// `exp(-gamma |x-y|^2)`, gamma above 0.
    pub fn gaussian_gamma(gamma: f64) -> Result<Kernel> {
        Kernel::new(&FAMILY, &[gamma])
    }
}
