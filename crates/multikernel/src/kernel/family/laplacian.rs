//! `laplacian(g)`: `exp(-g |x-y|_1)`, local with a kink at 0: rougher functions than a Gaussian's, and less sensitive
//! to an outlier in a single column.

use crate::error::Result;
use crate::kernel::base::Base;
use crate::kernel::concrete::Kernel;
use crate::kernel::declaration::{Family, Form, Forms, KernelFunction, KernelParam};

/// The declaration.
pub static FAMILY: Family = Family {
    name: "laplacian",
    key: None,
    written: "laplacian(g)",
    takes: "a rate",
    example: "laplacian(0.1)",
    also: &[("laplace", "laplacian(0.1)")],
    params: &[KernelParam::positive("gamma")],
    forms: Forms::Unit(Form {
        formula: "exp(-g abs(x-y)_1)",
        base: Base::L1Distance,
        function: KernelFunction::Decay(|params| params[0]),
    }),
    positive_semidefinite: true,
};

impl Kernel {
    /// `exp(-gamma |x-y|_1)`, gamma above 0.
    pub fn laplacian(gamma: f64) -> Result<Kernel> {
        Kernel::new(&FAMILY, &[gamma])
    }
}
