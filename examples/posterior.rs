//! Which kernels matter, and how certain is that? Posterior draws of kernel weights.
//! `cargo run --release --example posterior`
use multikernel::data::{Dataset, Labels, Samples};
use multikernel::dist::{Rng, normal};
use multikernel::{Matrix, Plan};

fn main() -> multikernel::Result<()> {
    // 100 rows of four columns; the class depends on the first two only.
    let mut rng = Rng::new(1, 0);
    let rows = Matrix::from_fn(100, 4, |_, _| normal(&mut rng));
    let labels: Vec<&str> = rows.rows().map(|x| if x[0].abs() + 0.7 * x[1] > 0.6 { "yes" } else { "no" }).collect();
    let data = Dataset::new("four columns", Samples::unnamed(rows)?, Labels::new(&labels)?)?;

    // One kernel on each column, four chains of 150 draws.
    let plan = Plan::new("bm3kl")?.kernels("gaussian(median) each")?.set("draws", "150")?;
    let model = plan.train(&data)?;
    let Some(draws) = model.draws() else { return Ok(()) };
    for weight in draws.summary().iter().filter(|summary| summary.variable == "weights") {
        let (kernel, found) = (weight.coordinate.as_deref().unwrap_or_default(), &weight.diagnosis);
        let (low, high) = found.interval;
        println!("{kernel}: weight {:.2}, 90 % interval {low:.2} to {high:.2}, R-hat {:.3}", found.mean, found.r_hat);
    }
    if let Some(share) = draws.outweighs(0, 2) {
        println!("the first column outweighs the third in {:.0} % of the draws", 100.0 * share);
    }
    // If the chains disagree, every figure above is worthless: always check.
    println!("{}", draws.verdict().unwrap_or_else(|| "the chains agree".into()));
    let probabilities = model.probabilities(&data.samples.select_rows(&[0]))?;
    println!("row 0 is {} with probability {:.2}", model.classes()[0], probabilities.get(0, 0));
    Ok(())
}
