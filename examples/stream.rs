//! A stream: each row is predicted, then learned; saved in the middle and resumed. `cargo run --release --example
//! stream`
use multikernel::data::{Dataset, Labels, Samples};
use multikernel::dist::{Rng, normal};
use multikernel::{Matrix, Model, Online, OnlineOptions, Plan, Pool, Result};

/// 1,000 rows of two classes whose centres turn once around the origin every 8,000 rows.
fn next_rows(rng: &mut Rng, first: usize) -> Result<(Samples, Vec<String>)> {
    let (mut values, mut labels) = (vec![], vec![]);
    for row in first..first + 1000 {
        let (class, angle) = (rng.below(2), row as f64 / 8000.0 * std::f64::consts::TAU);
        let side = if class == 0 { 1.5 } else { -1.5 };
        values.extend([side * angle.cos() + normal(rng), side * angle.sin() + normal(rng)]);
        labels.push(["red", "blue"][class].to_string());
    }
    Ok((Samples::unnamed(Matrix::from_vec(1000, 2, values)?)?, labels))
}

fn main() -> Result<()> {
    let (mut rng, pool) = (Rng::new(3, 0), Pool::new(1)?);
    let plan = Plan::new("ufomkl")?.kernels("gaussian(median*2^-2..2^2)")?;
    // At most 300 points are kept: the oldest go first, which suits a drifting stream.
    let options = OnlineOptions { budget: Some(300), ..OnlineOptions::default() };

    // Scaling and kernel widths come from the first rows and stay fixed.
    let (samples, labels) = next_rows(&mut rng, 0)?;
    let warmup = Dataset::new("stream", samples.clone(), Labels::new(&labels)?)?;
    let mut online = Online::begin(&plan, &warmup, &options, &pool)?;
    online.learn(&samples, &labels, &pool)?;
    for first in (1000..8000).step_by(1000) {
        let (samples, labels) = next_rows(&mut rng, first)?;
        let before = online.n_correct();
        online.learn(&samples, &labels, &pool)?;
        println!("rows {first} to {}: {:.1} % right", first + 1000, (online.n_correct() - before) as f64 / 10.0);
        if first == 4000 {
            online.save("stream.multikernel")?;
            online = Online::from_model(Model::load("stream.multikernel")?, &plan, &options, &pool)?;
        }
    }
    println!("{} rows, {} points kept", online.n_rows(), online.n_support());
    Ok(())
}
