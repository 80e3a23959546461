//! Seconds of one call of the library: `average` on wdbc, one thread, from rows in memory to the model, and the
//! prediction of one row. `benches/python_cost.py` puts Python's beside it.
//!
//!     cargo bench --bench fit [-- REPEATS]

use std::time::Instant;

use multikernel::data::bundled;
use multikernel::plan::Session;
use multikernel::run::Silent;
use multikernel::{Plan, Pool};

fn least(repeats: usize, mut work: impl FnMut()) -> f64 {
    let timed = |_| {
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64()
    };
    (0..repeats).map(timed).fold(f64::INFINITY, f64::min)
}

fn main() -> multikernel::Result<()> {
    let repeats = std::env::args().skip(1).find_map(|word| word.parse().ok()).unwrap_or(30);
    let data = bundled("wdbc")?;
    let pool = Pool::new(1)?;
    let plan = Plan::new("average")?;
    let mut silent = Silent;
    let mut session = Session::new(&pool, &mut silent);
    let model = plan.train_in(&data, &mut session)?;
    let fit = least(repeats, || {
        std::hint::black_box(plan.train_in(&data, &mut session)).ok();
    });
    let row = data.samples.select_rows(&[0]);
    let predict = least(repeats * 20, || {
        std::hint::black_box(model.predict_in(&row, &pool)).ok();
    });
    println!("{{\"fit\": {fit:.6}, \"predict_one\": {predict:.9}}}");
    Ok(())
}
