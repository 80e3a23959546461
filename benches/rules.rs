//! Times the Cholesky factor, and the methods that compute kernel weights by a rule.
//!
//! ```text
//! cargo bench -p multikernel --bench rules -- [--data-dir DIR] [--threads 1]
//! ```
//!
//! The factor and the inverse of synthetic matrices, as operations per second: the best of several repeats. Then
//! seconds of training on half of german.numer (from DIR, skipped without it) and of sonar: 17 kernels on all columns,
//! and the same on nine or all single columns in addition.

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use multikernel::data::{Dataset, ReadOptions, bundled, read, repeats};
use multikernel::dist::Rng;
use multikernel::plan::Session;
use multikernel::run::Silent;
use multikernel::solve::cholesky::Cholesky;
use multikernel::{Matrix, Plan, Pool};

type Outcome<T> = Result<T, Box<dyn Error>>;

const BANK: &str = "gaussian(2^-6..2^7), polynomial(1..3)";

fn main() -> Outcome<()> {
    let (mut dir, mut n_threads) = (None, 1);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut next = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--data-dir" => dir = Some(PathBuf::from(next()?)),
            "--threads" => n_threads = next()?.parse::<usize>()?,
            // Cargo adds these.
            "--bench" | "--test" => {}
            _ => return Err(format!("unknown word {word}").into()),
        }
    }
    let pool = Pool::new(n_threads)?;
    for n in [100, 500, 1000, 2000] {
        cholesky(n, &pool)?;
    }
    methods(&bundled("sonar")?, "each", &pool)?;
    match dir.map(|dir| dir.join("german.numer.csv.gz")).filter(|path| path.exists()) {
        Some(path) => methods(&read(&path, &ReadOptions::default())?.into_dataset()?, "on [0:9] each", &pool)?,
        None => println!("german.numer is left out: give --data-dir with the file"),
    }
    Ok(())
}

fn cholesky(n: usize, pool: &Pool) -> Outcome<()> {
    let mut rng = Rng::new(1, 0);
    let points: Vec<f64> = (0..n).map(|_| rng.uniform()).collect();
    let entry = |i: usize, j: usize| (-(points[i] - points[j]).abs()).exp() + if i == j { 0.1 } else { 0.0 };
    let matrix = Matrix::from_fn(n, n, entry);
    let (mut best, repeats) = ([f64::INFINITY; 2], (20_000_000_000 / n.pow(3)).clamp(3, 200));
    for _ in 0..repeats {
        let copy = matrix.clone();
        let start = Instant::now();
        let factor = Cholesky::new(copy, pool, &|| false)?;
        best[0] = best[0].min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        factor.inverse(pool, &|| false)?;
        best[1] = best[1].min(start.elapsed().as_secs_f64());
    }
    let operations = (n as f64).powi(3) / 3e9;
    let [factor, inverse] = [operations / best[0], 2.0 * operations / best[1]];
    println!(
        "n {n:>4}: factor {factor:>5.1} GF/s ({:.1} ms), inverse {inverse:>5.1} GF/s ({:.1} ms)",
        1e3 * best[0],
        1e3 * best[1]
    );
    Ok(())
}

fn methods(data: &Dataset, more: &str, pool: &Pool) -> Outcome<()> {
    let split = repeats(&data.labels, 1, 0.5, 0)?.remove(0);
    let train = data.select(&split.train);
    let each = BANK.split(", ").map(|term| format!("{term} {more}")).collect::<Vec<_>>().join(", ");
    for bank in [BANK.to_string(), format!("{BANK}, {each}")] {
        for method in ["average", "fheuristic", "alignf", "easymkl", "evidence"] {
            let plan = Plan::new(method)?.kernels(&bank)?;
            let start = Instant::now();
            let model = plan.train_in(&train, &mut Session::new(pool, &mut Silent))?;
            let seconds = start.elapsed().as_secs_f64();
            let n_kernels = model.kernels().weights().map_or(0, <[f64]>::len);
            println!("{}, {} rows, {n_kernels} kernels: {method} {seconds:.3} s", data.name, split.train.len());
        }
    }
    Ok(())
}
