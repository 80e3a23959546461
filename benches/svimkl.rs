//! Kernel logistic regression of `svimkl`: a whole fit against numpy, and landmarks on many rows.
//!
//! ```text
//! cargo bench -p multikernel --bench svimkl -- [fit] [landmarks] [--rows FILE.csv] [--json FILE]
//! ```
//!
//! Without a section both are run. `fit` learns 1,000 synthetic rows with 17 kernels on one thread, kernels
//! precomputed, to a relative change of the bound below 1e-9; `--rows` writes them for `benches/svimkl_numpy.py`, which
//! does the same in numpy. `landmarks` learns 50,000 rows with 500 landmarks on two threads, with kernels computed on
//! the fly or stored, as memory allows.

use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Instant;

use multikernel::data::{Dataset, Labels, Samples, Target};
use multikernel::dist::{Rng, normal};
use multikernel::kernel::KernelBank;
use multikernel::method::SviMkl;
use multikernel::plan::Session;
use multikernel::run::{Control, Input, Method, Silent, State, Status, Task};
use multikernel::stack::{Precision, Stack, StackOptions, Storage};
use multikernel::{Matrix, Plan, Pool};
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn Error>>;

const BANK: &str = "gaussian(2^-6..2^7), polynomial(1..3)";

fn main() -> Outcome<()> {
    let (mut sections, mut rows, mut out) = (vec![], None, None);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--rows" => rows = Some(PathBuf::from(words.next().ok_or("--rows needs a file")?)),
            "--json" => out = Some(PathBuf::from(words.next().ok_or("--json needs a file")?)),
            // Cargo adds these.
            "--bench" | "--test" => {}
            "fit" | "landmarks" => sections.push(word),
            _ => return Err(format!("unknown word {word}").into()),
        }
    }
    let wants = |name: &str| sections.is_empty() || sections.iter().any(|section| section == name);
    let mut results = vec![];
    if wants("fit") {
        let (points, codes) = problem(1000, 20);
        if let Some(path) = rows {
            write_rows(&path, &points, &codes)?;
        }
        for precision in [Precision::F64, Precision::F32] {
            results.push(fit(&points, &codes, precision)?);
        }
    }
    if wants("landmarks") {
        landmarks()?;
    }
    if let Some(path) = out {
        std::fs::write(path, Value::from(results).to_string())?;
    }
    Ok(())
}

/// Standard normal rows; classes by a wavy function of four columns, with noise.
fn problem(n: usize, d: usize) -> (Matrix, Vec<usize>) {
    let mut rng = Rng::new(0, 0);
    let points = Matrix::from_fn(n, d, |_, _| normal(&mut rng));
    let class = |row: &[f64]| {
        let f = (1.5 * row[0]).sin() + row[1] * row[2] + 0.5 * row[3];
        usize::from(f + 0.5 * normal(&mut rng) > 0.0)
    };
    let codes = points.rows().map(class).collect();
    (points, codes)
}

fn write_rows(path: &std::path::Path, points: &Matrix, codes: &[usize]) -> Outcome<()> {
    let mut text = String::new();
    for (row, code) in points.rows().zip(codes) {
        row.iter().try_for_each(|value| write!(text, "{value},"))?;
        writeln!(text, "{code}")?;
    }
    Ok(std::fs::write(path, text)?)
}

/// The fastest of five fits on one thread.
fn fit(points: &Matrix, codes: &[usize], precision: Precision) -> Outcome<Value> {
    let pool = Pool::new(1)?;
    let rows = points.clone().into();
    let kernels = BANK.parse::<KernelBank>()?.resolve(&Default::default(), &rows)?;
    let options = StackOptions { storage: Storage::Packed, precision, ..StackOptions::new(&pool) };
    let stack = Stack::train(&rows, &kernels, &options)?;
    let labels = Labels::from_parts(vec!["0".into(), "1".into()], codes.to_vec())?;
    let task = Task {
        input: Input::Stack(&stack),
        labels: &labels,
        target: &Target::Classes,
        groups: None,
        views: &[],
        alternatives: &[],
        seed: 0,
        pool: &pool,
    };
    let method = SviMkl::default();
    let (mut best, mut steps, mut bound) = (f64::INFINITY, 0, f64::NAN);
    for _ in 0..5 {
        let start = Instant::now();
        let mut state = <SviMkl as Method>::State::init(&method, &task)?;
        steps = 0;
        loop {
            let progress = state.step(&method, &task, &Control::default())?;
            steps += 1;
            bound = progress.values.iter().find(|(name, _)| *name == "bound").map_or(f64::NAN, |(_, value)| *value);
            if progress.status != Status::Running {
                break;
            }
        }
        best = best.min(start.elapsed().as_secs_f64());
    }
    let word = precision.word();
    println!("fit, N 1000, 17 kernels, {word}, one thread: {best:.3} s, {steps} steps, bound {bound:.4}");
    Ok(json!({"what": "fit", "precision": word, "seconds": best, "steps": steps, "bound": bound}))
}

fn landmarks() -> Outcome<()> {
    let (points, codes) = problem(50_000, 20);
    let labels = Labels::from_parts(vec!["0".into(), "1".into()], codes)?;
    let data = Dataset::new("waves", Samples::unnamed(points)?, labels)?;
    let pool = Pool::new(2)?;
    let plan = Plan::new("svimkl")?.kernels(BANK)?.set("landmarks", "500")?;
    let start = Instant::now();
    let model = plan.train_in(&data, &mut Session::new(&pool, &mut Silent))?;
    let seconds = start.elapsed().as_secs_f64();
    let told = model
        .training()
        .facts()
        .into_iter()
        .find(|(name, _)| name == "lower bound")
        .map_or(String::new(), |(_, text)| text);
    println!("landmarks, N 50,000, 500 landmarks, 17 kernels, two threads: {seconds:.1} s, bound {told}");
    let warnings = model.training().warnings();
    warnings.iter().for_each(|warning| println!("warning: {warning}"));
    Ok(())
}
