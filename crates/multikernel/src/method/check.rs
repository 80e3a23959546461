//! Helpers shared by the tests of methods.

use crate::data::{Labels, Target};
use crate::kernel::Kernel;
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::run::{Input, Parameters, Task};
use crate::stack::{Stack, StackOptions};

/// Labels with these class codes.
pub(super) fn labels(codes: &[usize]) -> Labels {
    Labels::new(&codes.iter().map(|code| format!("class {code}")).collect::<Vec<_>>()).unwrap()
}

/// Calls `f` with a task on these kernels.
pub(super) fn with_task<T>(points: &Matrix, codes: &[usize], kernels: &[&str], f: impl FnOnce(&Task<'_>) -> T) -> T {
    with_target(points, &Target::Classes, &labels(codes), kernels, f)
}

/// Calls `f` with a task on these kernels, for any target; labels are its strata.
pub(super) fn with_target<T>(
    points: &Matrix,
    target: &Target,
    labels: &Labels,
    kernels: &[&str],
    f: impl FnOnce(&Task<'_>) -> T,
) -> T {
    let pool = Pool::new(2).unwrap();
    let kernels: Vec<Kernel> = kernels.iter().map(|text| text.parse().unwrap()).collect();
    let stack = Stack::train(points, &kernels, &StackOptions::new(&pool)).unwrap();
    f(&Task {
        input: Input::Stack(&stack),
        labels,
        target,
        groups: None,
        views: &[],
        alternatives: &[],
        seed: 1,
        pool: &pool,
    })
}

/// A method at its defaults except for some parameters, given as text.
pub(crate) fn with<M: Parameters + Default>(settings: &[(&str, &str)]) -> M {
    let mut method = M::default();
    settings.iter().for_each(|(name, text)| method.set(name, text).unwrap());
    method
}
