//! `precomputed(G)`: the values of a given Gram matrix, normalised to unit diagonal unless `raw`.

use crate::kernel::base::Base;
use crate::kernel::concrete::Kernel;
use crate::kernel::declaration::{Family, Form, Forms, KernelFunction};

/// The declaration. Whether a given matrix is positive semidefinite is unknown.
pub static FAMILY: Family = Family {
    name: "precomputed",
    key: None,
    written: "precomputed(G)",
    takes: "the name of a Gram matrix",
    example: "precomputed(shape)",
    also: &[],
    params: &[],
    forms: Forms::Both {
        unit: Form {
            formula: "g(x,y) / sqrt(g(x,x) g(y,y))",
            base: Base::GivenCosine,
            function: KernelFunction::IDENTITY,
        },
        raw: Form { formula: "g(x,y)", base: Base::Given, function: KernelFunction::IDENTITY },
    },
    positive_semidefinite: false,
};

impl Kernel {
    /// The kernel whose values are those of the Gram matrix with this name, normalised to unit diagonal unless `raw`.
    pub fn precomputed(name: &str) -> Kernel {
        Kernel::of_gram(&FAMILY, name, 0.0)
    }
}
