//! `linear`: the cosine of two rows, or `x'y` with `raw`; for many columns, and for interpretable column weights.

use crate::kernel::base::Base;
use crate::kernel::concrete::Kernel;
use crate::kernel::declaration::{Family, Form, Forms, KernelFunction, MAX_KERNEL_PARAMS};

/// The declaration.
pub static FAMILY: Family = Family {
    name: "linear",
    key: None,
    written: "linear",
    takes: "nothing",
    example: "linear",
    also: &[("cosine", "linear"), ("identity", "linear")],
    params: &[],
    forms: Forms::Both {
        unit: Form { formula: "x'y / (abs(x) abs(y))", base: Base::Cosine, function: KernelFunction::IDENTITY },
        raw: Form { formula: "x'y", base: Base::InnerProduct, function: KernelFunction::IDENTITY },
    },
    positive_semidefinite: true,
};

impl Kernel {
    /// The cosine of two rows; `x'y` when raw.
    pub fn linear() -> Kernel {
        Kernel::unchecked(&FAMILY, [0.0; MAX_KERNEL_PARAMS])
    }
}
