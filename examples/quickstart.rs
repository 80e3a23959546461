//! The library on one page: cross-validate, train with probabilities, save, load, predict.
//! `multikernel datasets write wdbc --out rows.csv` makes a file for it; `new_rows.csv` has the same columns.
use multikernel::data::{ReadOptions, load};
use multikernel::evaluate::cross_validate;
use multikernel::{Model, Plan};

fn main() -> multikernel::Result<()> {
    let data = load("rows.csv", &ReadOptions::default())?.into_dataset()?;
    let plan = Plan::new("average")?.kernels("gaussian(median*2^-3..2^3), polynomial(1..3)")?.set("c", "50")?;
    for result in cross_validate(&data, &[Plan::new("majority")?, plan.clone()], 5, 0)?.results {
        println!("{}: {:.1} % right on held-out rows", result.method, 100.0 * result.accuracy());
    }
    let model = plan.proba(true).train(&data)?;
    println!("kernel weights {:?}", model.kernels().weights());
    model.save("m.multikernel")?;

    let model = Model::load("m.multikernel")?;
    let new = load("new_rows.csv", &ReadOptions::expecting(model.input().expect()))?.samples;
    let (predicted, probabilities) = (model.predict(&new)?, model.probabilities(&new)?);
    let class = predicted.labels[0];
    println!("row 0 is {} with probability {:.2}", model.classes()[class], probabilities.get(0, class));
    Ok(())
}
