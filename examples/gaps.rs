//! Views with gaps: 40 mice with genes and lipids, every third of them without lipids.
//! `cargo run --release --example gaps`
use multikernel::Plan;
use multikernel::data::{Dataset, Presence, Samples, bundled};
use multikernel::evaluate::cross_validate;
use multikernel::plan::Missing;

fn main() -> multikernel::Result<()> {
    let whole = bundled("nutrimouse")?;
    let views = whole.samples.views().to_vec();
    let lipids = views.iter().find(|view| view.name == "lipid").map_or(0..0, |view| view.columns.clone());

    // NaN is a missing value; a view whose values are all missing is absent.
    let mut features = whole.samples.features().to_dense()?.into_owned();
    for mouse in (0..features.n_rows()).step_by(3) {
        features.row_mut(mouse)[lipids.clone()].fill(f64::NAN);
    }
    let samples = Samples::new(features, whole.samples.names().to_vec())?.with_views(views.clone())?;
    let data = Dataset::new("mice with gaps", samples, whole.labels.clone())?;
    if let Some(presence) = Presence::of(data.samples.features(), &views) {
        for (v, view) in views.iter().enumerate() {
            println!("{}: {} of {} mice", view.name, presence.count(v), presence.n_rows());
        }
    }

    // Kernels of an absent view are skipped and the others compensate; or means are imputed; or such rows are dropped.
    let plan = Plan::new("average")?.kernels("gaussian(median) each view, linear each view")?;
    for missing in [Missing::Skip, Missing::Impute, Missing::Drop] {
        let found = cross_validate(&data, &[plan.clone().missing(missing)], 5, 0)?;
        println!("{}: {:.1} % right", missing.word(), 100.0 * found.results[0].accuracy());
    }

    let model = plan.train(&data)?;
    let first = model.predict(&data.samples.select_rows(&[0]))?;
    println!("a mouse without lipids is put on the diet {}", model.classes()[first.labels[0]]);
    Ok(())
}
