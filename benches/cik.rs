//! `cik` on increasing numbers of rows, and on the ten digits; its machines beside the speed of the processor.
//!
//! ```text
//! cargo bench -p multikernel --bench cik -- [machine] [growth] [digits] [--rows 10000,100000] [--data-dir DIR] [--threads N]
//! ```
//!
//! Without a section all are run. `machine` is the time of a training step of one machine on one thread (64 rows, 384
//! frequencies; epochs of two runs of different length, so that all else cancels) beside the time that its multiplications
//! and additions take at the peak, sines and cosines not counted. `growth` trains at the defaults on rows from ten
//! Gaussians in eight columns, three classes, and fits the exponent in the number of rows; memory is the peak of the
//! process, so row counts increase. `digits` is the whole run on the training rows of pendigits.

mod limits;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use multikernel::data::{Dataset, Labels, ReadOptions, Samples, read};
use multikernel::dist::{Rng, normal};
use multikernel::plan::Session;
use multikernel::run::Silent;
use multikernel::{Matrix, Plan, Pool};

use limits::{best_of, chains};

type Outcome<T> = Result<T, Box<dyn Error>>;

const COLUMNS: usize = 8;
const CLUSTERS: usize = 10;

fn main() -> Outcome<()> {
    let (mut sections, mut rows, mut dir, mut threads) =
        (vec![], vec![10_000, 30_000, 100_000, 300_000, 1_000_000], None, 0);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--rows" => rows = value()?.split(',').map(str::parse).collect::<Result<_, _>>()?,
            "--data-dir" => dir = Some(PathBuf::from(value()?)),
            "--threads" => threads = value()?.parse()?,
            "--bench" => {}
            _ => sections.push(word),
        }
    }
    let pool = Pool::new(threads)?;
    let wanted = |section: &str| sections.is_empty() || sections.iter().any(|word| word == section);
    if wanted("machine") {
        machine()?;
    }
    if wanted("growth") {
        growth(&rows, &pool)?;
    }
    if wanted("digits") {
        digits(dir.as_deref(), &pool)?;
    }
    Ok(())
}

/// Columns and classes.
const SHAPES: [(usize, usize); 10] =
    [(4, 2), (8, 2), (16, 2), (68, 2), (112, 2), (4, 10), (8, 10), (16, 10), (68, 10), (112, 10)];

/// One machine on 320 rows, five steps an epoch. Labels mean nothing and lambda is large: nearly all rows miss the margin
/// throughout, as the count of operations assumes.
fn machine() -> Outcome<()> {
    const EPOCHS: usize = 40;
    let operation = best_of(0.2, 100, || (), |()| chains(200_000)) / chains(200_000).1;
    println!("\n== machine: one thread, {:.1} Gflop/s", 1e-9 / operation);
    let pool = Pool::new(1)?;
    for (d, m) in SHAPES {
        let mut rng = Rng::new(1, 1);
        let rows = Matrix::from_fn(320, d, |_, _| normal(&mut rng));
        let labels: Vec<String> = (0..320).map(|i| (i % m).to_string()).collect();
        let data = Dataset::new("noise", Samples::unnamed(rows)?, Labels::new(&labels)?)?;
        let plan =
            Plan::new("cik")?.set("start", "1")?.set("sampler", "fixed")?.set("sweeps", "0")?.set("lambda", "1")?;
        let run = |epochs: usize| -> Outcome<f64> {
            let plan = plan.clone().set("epochs", &epochs.to_string())?;
            // A run that fails would be a very fast one.
            let train = |()| plan.train_in(&data, &mut Session::new(&pool, &mut Silent)).expect("a machine");
            Ok(best_of(0.5, 50, || (), train))
        };
        let seconds = (run(2 * EPOCHS)? - run(EPOCHS)?) / (5 * EPOCHS) as f64;
        let bound = (64 * 384 * (4 * d + 4 * m + 4)) as f64 * operation;
        let (us, percent) = (1e6 * seconds, 100.0 * bound / seconds);
        println!(
            "{d:>3} columns, {m:>2} classes: {us:>6.1} us a step, {:>6.1} at the peak: {percent:.0} %",
            1e6 * bound
        );
    }
    Ok(())
}

/// Rows from ten Gaussians; the class is that of the cluster, or is decided by a curve through it.
fn mixture(n: usize) -> Outcome<Dataset> {
    let mut rng = Rng::new(1, 0);
    let means = Matrix::from_fn(CLUSTERS, COLUMNS, |_, _| 3.0 * normal(&mut rng));
    let mut labels = Vec::with_capacity(n);
    let mut values = Vec::with_capacity(n * COLUMNS);
    for _ in 0..n {
        let k = rng.below(CLUSTERS);
        let row: Vec<f64> = means.row(k).iter().map(|mean| mean + normal(&mut rng)).collect();
        let off = |j: usize| row[j] - means.get(k, j);
        let bent = off(k % COLUMNS) > off((k + 1) % COLUMNS).powi(2) - 0.5;
        labels.push(if bent { k % 3 } else { (k + 1) % 3 });
        values.extend(row);
    }
    let classes = ["a", "b", "c"].map(str::to_string).to_vec();
    let samples = Samples::unnamed(Matrix::from_vec(n, COLUMNS, values)?)?;
    Ok(Dataset::new("mixture", samples, Labels::from_parts(classes, labels)?)?)
}

fn growth(rows: &[usize], pool: &Pool) -> Outcome<()> {
    println!("\n== growth: defaults, {} threads", pool.n_threads());
    let mut found: Vec<(f64, f64)> = vec![];
    for &n in rows {
        let data = mixture(n)?;
        let seconds = train(&data, pool)?;
        found.push((n as f64, seconds));
        let exponent = exponent(&found).map_or(String::new(), |slope| format!(", exponent so far {slope:.2}"));
        println!("{n} rows: {seconds:.1} s, at most {} MiB so far{exponent}", peak_mib());
    }
    Ok(())
}

fn digits(dir: Option<&Path>, pool: &Pool) -> Outcome<()> {
    let Some(path) = dir.map(|dir| dir.join("pendigits.train.csv.gz")).filter(|path| path.exists()) else {
        println!("\ndigits: give --data-dir with pendigits.train.csv.gz; left out");
        return Ok(());
    };
    let data = read(&path, &ReadOptions::default())?.into_dataset()?;
    println!("\n== digits: the training rows of pendigits, defaults, {} threads", pool.n_threads());
    println!("{:.1} s (limit 20)", train(&data, pool)?);
    Ok(())
}

fn train(data: &Dataset, pool: &Pool) -> Outcome<f64> {
    let plan = Plan::new("cik")?;
    let start = Instant::now();
    let model = plan.train_in(data, &mut Session::new(pool, &mut Silent))?;
    let seconds = start.elapsed().as_secs_f64();
    let clusters = model.training().facts().into_iter().find(|(name, _)| name == "clusters").map(|(_, text)| text);
    println!("  clusters: {}", clusters.unwrap_or_default());
    Ok(seconds)
}

/// Slope of a line through the logarithms.
fn exponent(found: &[(f64, f64)]) -> Option<f64> {
    let n = found.len() as f64;
    let logs: Vec<(f64, f64)> = found.iter().map(|(rows, seconds)| (rows.ln(), seconds.ln())).collect();
    let (x, y) = (logs.iter().map(|log| log.0).sum::<f64>() / n, logs.iter().map(|log| log.1).sum::<f64>() / n);
    let up: f64 = logs.iter().map(|log| (log.0 - x) * (log.1 - y)).sum();
    let across: f64 = logs.iter().map(|log| (log.0 - x).powi(2)).sum();
    (found.len() > 1).then_some(up / across)
}

/// Peak memory of the process, if the system reports it.
fn peak_mib() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    line.map_or("?".into(), |kib| (kib / 1024).to_string())
}
