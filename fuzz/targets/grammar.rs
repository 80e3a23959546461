//! Any text as a kernel bank: an error that points into the text, or a bank that prints as a text that reads back
//! equal.
#![no_main]

use libfuzzer_sys::fuzz_target;
use multikernel::data::View;
use multikernel::kernel::{KernelBank, Kernel, Layout};
use multikernel::{Error, Matrix};

fuzz_target!(|text: &str| {
    let bank: KernelBank = match text.parse() {
        Ok(bank) => bank,
        Err(Error::Bank { at, .. }) => return assert!(at <= text.chars().count()),
        Err(error) => panic!("another kind of error: {error}"),
    };
    let canonical = bank.to_string();
    assert_eq!(canonical.parse::<KernelBank>().expect("what it prints"), bank);
    let sets = canonical.contains(" each set(");
    let n_kernels: usize = bank.terms().iter().map(|term| term.n_values()).sum();
    if sets || n_kernels > 1000 {
        return;
    }
    let names: Vec<String> = ["a", "b", "rna:c", "rna:d"].map(String::from).to_vec();
    let views = [View { name: "rna".into(), columns: 2..4 }];
    let rows = Matrix::from_fn(3, 4, |i, j| (i * 4 + j) as f64).into();
    if let Ok(kernels) = bank.resolve(&Layout { names: &names, views: &views, medians: &[], units: None, encoded: None }, &rows) {
        for kernel in kernels {
            assert_eq!(kernel.to_string().parse::<Kernel>().expect("what it prints"), kernel);
        }
    }
});
