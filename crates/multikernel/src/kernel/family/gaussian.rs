//! `gaussian(s)`: `exp(-|x-y|^2 / (2 s^2))`, smooth and local; the width s sets how far a row's influence reaches.

use crate::error::Result;
use crate::kernel::base::Base;
use crate::kernel::concrete::Kernel;
use crate::kernel::declaration::{Family, Form, Forms, KernelFunction, KernelParam};

/// The declaration.
pub static FAMILY: Family = Family {
    name: "gaussian",
    key: None,
    written: "gaussian(s)",
    takes: "a width",
    example: "gaussian(1)",
    also: &[("gauss", "gaussian(1)")],
    params: &[KernelParam::WIDTH],
    forms: Forms::Unit(Form {
        formula: "exp(-abs(x-y)^2 / (2 s^2))",
        base: Base::SquaredDistance,
        function: KernelFunction::Decay(|params| 1.0 / (2.0 * params[0] * params[0])),
    }),
    positive_semidefinite: true,
};

impl Kernel {
    /// `exp(-|x-y|^2 / (2 width^2))`, the width from 1e-150 to 1e150.
    pub fn gaussian(width: f64) -> Result<Kernel> {
        Kernel::new(&FAMILY, &[width])
    }
}
