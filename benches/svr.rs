//! Fits a support vector regression on a Gram matrix from a file and times the fit alone.
//!
//! ```text
//! cargo bench -p multikernel --bench svr -- PROBLEM RESULT [--c 10] [--epsilon 0.1] [--tolerance 1e-3] [--repeats 5]
//! ```
//!
//! PROBLEM is little-endian binary without padding, as `benches/svr_libsvm.py` writes it:
//!
//! | what | type | count |
//! |---|---|---|
//! | n_train | u64 | 1 |
//! | number of each training row | f64 | n_train |
//! | training Gram, row by row | f64 | n_train * n_train |
//!
//! RESULT is JSON: `seconds` of every repeat, and of the last fit `beta`, `bias`, `objective`, `gap`, `n_iter`,
//! `converged`. Without PROBLEM a small synthetic problem is fitted and its time printed.

use std::error::Error;
use std::time::Instant;

use multikernel::Matrix;
use multikernel::dist::Rng;
use multikernel::solve::smo::{Options, Regression, solve_regression};
use serde_json::json;

/// The command line.
struct Args {
    files: Vec<String>,
    c: f64,
    epsilon: f64,
    tolerance: f64,
    repeats: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let args = parse(std::env::args().skip(1))?;
    let (values, gram) = match args.files.first() {
        Some(path) => read(&std::fs::read(path)?)?,
        None => made_up(400),
    };
    let (rows, upper): (Vec<usize>, Vec<f64>) = (0..values.len()).map(|i| (i, args.c)).unzip();
    let problem =
        Regression { gram: (&gram).into(), rows: &rows, values: &values, upper: &upper, epsilon: args.epsilon };
    let options = Options { tolerance: args.tolerance, ..Options::default() };
    let fit = || -> Result<_, Box<dyn Error>> {
        let begin = Instant::now();
        let solution = solve_regression(&problem, &options, None, &|| false)?.ok_or("cancelled")?;
        Ok((begin.elapsed().as_secs_f64(), solution))
    };
    let (first, mut solution) = fit()?;
    let mut seconds = vec![first];
    for _ in 1..args.repeats {
        let (again, found) = fit()?;
        seconds.push(again);
        solution = found;
    }
    let best = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    eprintln!("{} rows: {} iterations, best fit {best:.6} s", values.len(), solution.n_iter);
    if let Some(path) = args.files.get(1) {
        let found = json!({
            "seconds": seconds, "beta": solution.alpha, "bias": solution.bias, "objective": solution.objective,
            "gap": solution.gap, "n_iter": solution.n_iter, "converged": solution.converged,
        });
        std::fs::write(path, found.to_string())?;
    }
    Ok(())
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Args, Box<dyn Error>> {
    let mut args = Args { files: Vec::new(), c: 10.0, epsilon: 0.1, tolerance: 1e-3, repeats: 5 };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--c" => args.c = value()?.parse()?,
            "--epsilon" => args.epsilon = value()?.parse()?,
            "--tolerance" => args.tolerance = value()?.parse()?,
            "--repeats" => args.repeats = value()?.parse()?,
            // Cargo adds these.
            "--bench" | "--test" => {}
            _ if word.starts_with('-') => return Err(format!("unknown option {word}").into()),
            _ => args.files.push(word),
        }
    }
    Ok(args)
}

fn read(bytes: &[u8]) -> Result<(Vec<f64>, Matrix), Box<dyn Error>> {
    let mut words = bytes.chunks_exact(8).map(|word| <[u8; 8]>::try_from(word).unwrap_or_default());
    let n = words.next().map(u64::from_le_bytes).ok_or("problem file: it is empty")? as usize;
    let values = words.by_ref().take(n).map(f64::from_le_bytes).collect();
    let gram: Vec<f64> = words.map(f64::from_le_bytes).collect();
    Ok((values, Matrix::from_vec(n, n, gram)?))
}

/// A wave on a line with noise and a Gaussian kernel.
fn made_up(n: usize) -> (Vec<f64>, Matrix) {
    let mut rng = Rng::new(0, 0);
    let x: Vec<f64> = (0..n).map(|_| 3.0 * rng.uniform()).collect();
    let values = x.iter().map(|x| (4.0 * x).sin() + rng.uniform() - 0.5).collect();
    (values, Matrix::from_fn(n, n, |i, j| (-2.0 * (x[i] - x[j]).powi(2)).exp()))
}
