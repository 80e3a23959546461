//! The cost of side results relative to the fit: widths and scaling, shares, the map to probabilities, saving.
//!
//! Every method at its defaults on many classes (26 classes, 1,300 rows) and, for those limited to two, on two; seconds
//! by observer phase. A side result may take a tenth of the fit, or a hundredth of a second.

use std::collections::BTreeMap;
use std::time::Instant;

use multikernel::data::{Dataset, Labels, Samples};
use multikernel::plan::{Calibration, Plan, Registry, Session};
use multikernel::run::{Control, Observer};
use multikernel::{Matrix, Pool};

/// Seconds of each phase.
struct Clock {
    seconds: BTreeMap<String, f64>,
    now: Option<(String, Instant)>,
}

impl Observer for Clock {
    fn phase(&mut self, name: &str) {
        if let Some((name, begun)) = self.now.take() {
            *self.seconds.entry(name).or_default() += begun.elapsed().as_secs_f64();
        }
        self.now = (!name.is_empty()).then(|| (name.to_string(), Instant::now()));
    }
}

/// A normal cluster for each class, from a generator that needs no library.
fn rows(n_rows: usize, n_classes: usize) -> multikernel::Result<Dataset> {
    let mut state = 1u64;
    let mut uniform = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    let mut normal = move || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
    let centres = Matrix::from_fn(n_classes, 16, |_, _| 1.5 * normal());
    let table = Matrix::from_fn(n_rows, 16, |i, j| centres.get(i % n_classes, j) + normal());
    let labels: Vec<String> = (0..n_rows).map(|i| format!("c{}", i % n_classes)).collect();
    Dataset::new(format!("{n_classes} classes"), Samples::unnamed(table)?, Labels::new(&labels)?)
}

fn measure(method: &str, data: &Dataset, pool: &Pool) -> multikernel::Result<()> {
    let plan = Plan::new(method)?;
    let mut clock = Clock { seconds: BTreeMap::new(), now: None };
    let mut session = Session::new(pool, &mut clock);
    session.control = Control::default().with_max_seconds(60.0)?;
    let model = plan.train_in(data, &mut session)?;
    clock.phase("saving");
    let path = std::env::temp_dir().join(format!("sides-{}", std::process::id()));
    model.save(&path)?;
    clock.phase("");
    let bytes = std::fs::metadata(&path).map_or(0, |file| file.len());
    std::fs::remove_file(&path).ok();
    let of = |name: &str| clock.seconds.get(name).copied().unwrap_or(0.0);
    let fit = of(method) + of("kernels");
    let sides = ["preparing", "shares", "saving"].map(|name| (name, of(name)));
    let worst = sides.iter().map(|(_, seconds)| *seconds).fold(0.0, f64::max);
    let verdict = if worst > 0.01 && worst > 0.1 * fit { "  OVER A TENTH" } else { "" };
    let words: Vec<String> = sides.iter().map(|(name, seconds)| format!("{name} {:6.1} ms", 1e3 * seconds)).collect();
    let ended = if model.training().is_finished() { "" } else { "  (stopped after 60 s)" };
    let (name, size) = (&data.name, bytes / 1024);
    println!("{method:<11} {name:<11} fit {fit:8.3} s  {}  {size} KiB{ended}{verdict}", words.join("  "));
    Ok(())
}

fn main() -> multikernel::Result<()> {
    let pool = Pool::new(1)?;
    let sets = [rows(1300, 2)?, rows(1300, 26)?];
    for method in Registry::standard().iter().filter(|method| method.about().name != "bestview") {
        for data in &sets {
            if let Err(error) = measure(method.about().name, data, &pool) {
                println!("{:<11} {:<11} {error}", method.about().name, data.name);
            }
        }
    }
    let margins = Matrix::from_fn(6366, 77, |i, c| ((i * 31 + c * 17) % 101) as f64 / 101.0);
    let codes: Vec<usize> = (0..6366).map(|i| i % 77).collect();
    let start = Instant::now();
    Calibration::fit(&margins, &codes)?;
    println!("map to probabilities, 77 classes x 6,366 rows: {:.3} s", start.elapsed().as_secs_f64());
    Ok(())
}
