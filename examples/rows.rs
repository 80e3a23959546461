//! Rows from a `Vec`: compare with the majority class, train, save, load, predict. `cargo run --release --example rows`
use std::f64::consts::PI;

use multikernel::data::{Dataset, Labels, Samples};
use multikernel::evaluate::cross_validate;
use multikernel::method::Average;
use multikernel::{Matrix, Model, Plan};

fn main() -> multikernel::Result<()> {
    // Two spirals of 60 points each: any rows of numbers with a label will do.
    let spiral = |i: usize, turn: f64| {
        let t = 0.5 + i as f64 / 20.0;
        vec![t * (3.0 * t + turn).cos(), t * (3.0 * t + turn).sin()]
    };
    let rows: Vec<Vec<f64>> = (0..120).map(|i| spiral(i / 2, if i % 2 == 0 { 0.0 } else { PI })).collect();
    let labels: Vec<&str> = (0..120).map(|i| if i % 2 == 0 { "left" } else { "right" }).collect();

    let samples = Samples::unnamed(Matrix::from_vec(rows.len(), 2, rows.concat())?)?;
    let data = Dataset::new("spirals", samples, Labels::new(&labels)?)?;
    let plan = Plan::of(Average { c: 50.0, ..Default::default() })?.kernels("gaussian(2^-3..2^2), linear")?;
    for result in cross_validate(&data, &[Plan::new("majority")?, plan.clone()], 5, 0)?.results {
        println!("{}: {:.0} % of held-out rows are right", result.method, 100.0 * result.accuracy());
    }

    plan.train(&data)?.save("spirals.multikernel")?;
    let model = Model::load("spirals.multikernel")?;
    for (kernel, share) in model.kernels().names().iter().zip(model.kernels().shares().unwrap_or_default()) {
        println!("{kernel}: {:.0} % of the decision", 100.0 * share);
    }
    let new = Samples::unnamed(Matrix::from_vec(1, 2, spiral(33, 0.0))?)?;
    println!("a new row is {}", model.classes()[model.predict(&new)?.labels[0]]);
    Ok(())
}
