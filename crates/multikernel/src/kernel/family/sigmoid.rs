//! `sigmoid(a) raw`: `tanh(a x'y)`, not positive semidefinite; for comparison with published results.

use crate::error::Result;
use crate::kernel::base::Base;
use crate::kernel::concrete::Kernel;
use crate::kernel::declaration::{Family, Form, Forms, KernelFunction, KernelParam};

/// The declaration.
pub static FAMILY: Family = Family {
    name: "sigmoid",
    key: None,
    written: "sigmoid(a)",
    takes: "a slope",
    example: "sigmoid(0.5) raw",
    also: &[("tanh", "sigmoid(0.5) raw")],
    params: &[KernelParam::positive("slope")],
    forms: Forms::Raw(Form {
        formula: "tanh(a x'y)",
        base: Base::InnerProduct,
        function: KernelFunction::Values(|params, base, out| {
            for (out, base) in out.iter_mut().zip(base) {
                *out = (params[0] * base).tanh();
            }
        }),
    }),
    positive_semidefinite: false,
};

impl Kernel {
    /// `tanh(slope x'y)`, the slope above 0; always raw.
    pub fn sigmoid(slope: f64) -> Result<Kernel> {
        Kernel::new(&FAMILY, &[slope])
    }
}
