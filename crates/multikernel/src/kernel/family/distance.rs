//! `distance(s) on D`: `exp(-d(x,y) / s)` of given distances; the width s sets how far a row's influence reaches.

use crate::error::{Error, Result};
use crate::kernel::base::Base;
use crate::kernel::concrete::Kernel;
use crate::kernel::declaration::{Family, Form, Forms, KernelFunction, KernelParam};

/// The declaration. Whether the kernel is positive semidefinite depends on the distances.
pub static FAMILY: Family = Family {
    name: "distance",
    key: None,
    written: "distance(s) on D",
    takes: "a width",
    example: "distance(1) on shape",
    also: &[],
    params: &[KernelParam::WIDTH],
    forms: Forms::Unit(Form {
        formula: "exp(-d(x,y) / s)",
        base: Base::Given,
        function: KernelFunction::Decay(|params| 1.0 / params[0]),
    }),
    positive_semidefinite: false,
};

impl Kernel {
    /// `exp(-d(x,y) / width)` of the distances given as the matrix with this name, the width from 1e-150 to 1e150.
    pub fn distance(name: &str, width: f64) -> Result<Kernel> {
        match KernelParam::WIDTH.fault(width) {
            Some(must) => Err(Error::param("width", format!("{must}, found {width}"))),
            None => Ok(Kernel::of_gram(&FAMILY, name, width)),
        }
    }
}
