//! `clinical`: one less the mean difference of two rows over their columns, numbers by their range; for tables of
//! measurements and categories.

use crate::kernel::base::Base;
use crate::kernel::declaration::{Family, Form, Forms, KernelFunction};

/// The declaration. The columns come scaled by the encoding of the same name, so that the difference is at most 1.
pub static FAMILY: Family = Family {
    name: "clinical",
    key: None,
    written: "clinical",
    takes: "nothing",
    example: "clinical",
    also: &[],
    params: &[],
    forms: Forms::Unit(Form {
        formula: "1 - abs(x-y)_1",
        base: Base::L1Distance,
        function: KernelFunction::Values(|_, base, out| {
            out.iter_mut().zip(base).for_each(|(out, base)| *out = 1.0 - base);
        }),
    }),
    positive_semidefinite: true,
};
