//! A custom kernel with the whole command line: the Cauchy kernel, 1 / (1 + |x-y|^2 / s^2).
//! `cargo run --release --example own_kernel -- evaluate sonar --kernels "cauchy(median*2^-2..2^2)"` measures it;
//! `cargo test --release --example own_kernel` runs the conformance suite on it and saves a model.
use multikernel::kernel::{Base, Family, Form, Forms, KernelFunction, KernelParam};
use multikernel::plan::Registry;

static CAUCHY: Family = Family {
    name: "cauchy",
    key: None,
    written: "cauchy(s)",
    takes: "a width",
    example: "cauchy(1)",
    also: &[],
    params: &[KernelParam::WIDTH],
    forms: Forms::Unit(Form {
        formula: "1 / (1 + abs(x-y)^2 / s^2)",
        base: Base::SquaredDistance,
        function: KernelFunction::Values(cauchy),
    }),
    positive_semidefinite: true,
};

/// Maps squared distances to kernel values: called for hundreds of entries at a time.
fn cauchy(params: &[f64], base: &[f64], out: &mut [f64]) {
    let rate = 1.0 / (params[0] * params[0]);
    for (out, base) in out.iter_mut().zip(base) {
        *out = 1.0 / (1.0 + rate * base);
    }
}

fn main() -> std::process::ExitCode {
    multikernel_cli::main(Registry::standard().with_kernel(&CAUCHY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use multikernel::data::bundled;
    use multikernel::kernel::Kernel;
    use multikernel::{Model, Plan, Result, testing};

    #[test]
    fn cauchy_passes_the_conformance_suite() -> Result<()> {
        for width in [0.1, 1.0, 30.0] {
            testing::check_kernel(&Kernel::new(&CAUCHY, &[width])?)?;
        }
        Ok(())
    }

    #[test]
    fn model_with_cauchy_kernels_is_saved_and_read_by_who_knows_them() -> Result<()> {
        let registry = Registry::standard().with_kernel(&CAUCHY);
        let data = bundled("sonar")?;
        let plan = Plan::from_registry(&registry, "average")?.kernels("cauchy(median*2^-1..2^1), linear")?;
        let model = plan.train(&data)?;
        let path = std::env::temp_dir().join(format!("own-kernel-{}.multikernel", std::process::id()));
        model.save(&path)?;
        let (read, unknown) = (Model::load_with(&path, &registry), Model::load(&path));
        std::fs::remove_file(&path).ok();
        assert_eq!(read?.predict(&data.samples)?.scores, model.predict(&data.samples)?.scores);
        assert!(unknown.unwrap_err().to_string().contains("unknown kernel `cauchy`"));
        Ok(())
    }
}
