//! Fits a one-vs-one support vector machine on a Gram matrix from a file and times the fit alone.
//!
//! ```text
//! cargo bench -p multikernel --bench svm -- PROBLEM RESULT [--c 50] [--tolerance 1e-3] [--repeats 5]
//! ```
//!
//! PROBLEM is little-endian binary without padding, as `benches/svm_libsvm.py` writes it:
//!
//! | what | type | count |
//! |---|---|---|
//! | n_train, n_test, n_classes | u64 | 3 |
//! | class of each training row, from 0 | u64 | n_train |
//! | training Gram, row by row | f64 | n_train * n_train |
//! | kernel between test rows and training rows, row by row | f64 | n_test * n_train |
//!
//! RESULT is JSON: `seconds` of every repeat, and for the last fit `labels` of the test rows, `decision` (one row per
//! test row, one column per pair), and for each pair its two classes, `objective`, `gap`, `n_iter`, `converged`.
//! Without PROBLEM a small synthetic problem is fitted and its time printed.

use std::error::Error;
use std::time::Instant;

use multikernel::Matrix;
use multikernel::dist::Rng;
use multikernel::solve::smo::{Options, Problem, SmoSolution, solve};
use serde_json::json;

/// The content of the problem file.
struct Task {
    n_classes: usize,
    classes: Vec<usize>,
    gram: Matrix,
    test: Matrix,
}

/// One pair of classes: its training rows and the solver's result.
struct Pair {
    first: usize,
    second: usize,
    rows: Vec<usize>,
    positive: Vec<bool>,
    solution: SmoSolution,
}

/// The command line.
struct Args {
    files: Vec<String>,
    c: f64,
    tolerance: f64,
    repeats: usize,
}

fn main() -> Result<(), Box<dyn Error>> {
    let args = parse(std::env::args().skip(1))?;
    let task = match args.files.first() {
        Some(path) => read(&std::fs::read(path)?)?,
        None => made_up(400),
    };
    let options = Options { tolerance: args.tolerance, ..Options::default() };
    let mut seconds = Vec::new();
    let mut pairs = Vec::new();
    for _ in 0..args.repeats.max(1) {
        let begin = Instant::now();
        pairs = fit(&task, args.c, &options)?;
        seconds.push(begin.elapsed().as_secs_f64());
    }
    let best = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    let n_iter: u64 = pairs.iter().map(|pair| pair.solution.n_iter).sum();
    eprintln!("{} rows, {} pairs: {n_iter} iterations, best fit {best:.6} s", task.classes.len(), pairs.len());
    if let Some(path) = args.files.get(1) {
        std::fs::write(path, report(&task, &pairs, &seconds).to_string())?;
    }
    Ok(())
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Args, Box<dyn Error>> {
    let mut args = Args { files: Vec::new(), c: 50.0, tolerance: 1e-3, repeats: 5 };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--c" => args.c = value()?.parse()?,
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

fn read(bytes: &[u8]) -> Result<Task, Box<dyn Error>> {
    let mut words = bytes.chunks_exact(8).map(|word| <[u8; 8]>::try_from(word).unwrap_or_default());
    let mut count = || words.next().map(u64::from_le_bytes).ok_or("problem file: ends inside the header");
    let (n_train, n_test, n_classes) = (count()? as usize, count()? as usize, count()? as usize);
    let classes = (0..n_train).map(|_| count().map(|class| class as usize)).collect::<Result<Vec<_>, _>>()?;
    let gram: Vec<f64> = words.by_ref().take(n_train * n_train).map(f64::from_le_bytes).collect();
    let test: Vec<f64> = words.map(f64::from_le_bytes).collect();
    let (gram, test) = (Matrix::from_vec(n_train, n_train, gram)?, Matrix::from_vec(n_test, n_train, test)?);
    Ok(Task { n_classes, classes, gram, test })
}

/// Three classes on a line with a Gaussian kernel and a tenth of the labels wrong.
fn made_up(n: usize) -> Task {
    let mut rng = Rng::new(0, 0);
    let x: Vec<f64> = (0..n).map(|_| 3.0 * rng.uniform()).collect();
    let classes = x.iter().map(|&x| if rng.uniform() < 0.1 { rng.below(3) } else { x as usize }).collect();
    let gram = Matrix::from_fn(n, n, |i, j| (-2.0 * (x[i] - x[j]).powi(2)).exp());
    Task { n_classes: 3, classes, gram, test: Matrix::zeros(0, n) }
}

fn fit(task: &Task, c: f64, options: &Options) -> Result<Vec<Pair>, Box<dyn Error>> {
    let mut pairs = Vec::new();
    for first in 0..task.n_classes {
        for second in first + 1..task.n_classes {
            let rows: Vec<usize> =
                (0..task.classes.len()).filter(|&i| [first, second].contains(&task.classes[i])).collect();
            let positive: Vec<bool> = rows.iter().map(|&i| task.classes[i] == first).collect();
            let upper = vec![c; rows.len()];
            let problem = Problem { gram: (&task.gram).into(), rows: &rows, positive: &positive, upper: &upper };
            let solution = solve(&problem, options, None, &|| false)?.ok_or("cancelled")?;
            pairs.push(Pair { first, second, rows, positive, solution });
        }
    }
    Ok(pairs)
}

/// f(x) of a pair for one test row.
fn decide(pair: &Pair, kernel: &[f64]) -> f64 {
    let signed = |(&row, (&a, &positive)): (&usize, (&f64, &bool))| if positive { a } else { -a } * kernel[row];
    let variables = pair.solution.alpha.iter().zip(&pair.positive);
    pair.rows.iter().zip(variables).map(signed).sum::<f64>() + pair.solution.bias
}

fn report(task: &Task, pairs: &[Pair], seconds: &[f64]) -> serde_json::Value {
    let decision: Vec<Vec<f64>> =
        task.test.rows().map(|kernel| pairs.iter().map(|pair| decide(pair, kernel)).collect()).collect();
    let labels: Vec<usize> = decision.iter().map(|row| vote(task.n_classes, pairs, row)).collect();
    let pairs: Vec<_> = pairs
        .iter()
        .map(|Pair { first, second, solution, .. }| {
            json!({
                "first": first, "second": second, "objective": solution.objective, "gap": solution.gap,
                "n_iter": solution.n_iter, "converged": solution.converged,
            })
        })
        .collect();
    json!({ "seconds": seconds, "labels": labels, "decision": decision, "pairs": pairs })
}

/// The first class with the most pairs won.
fn vote(n_classes: usize, pairs: &[Pair], decision: &[f64]) -> usize {
    let mut votes = vec![0u32; n_classes];
    for (pair, &f) in pairs.iter().zip(decision) {
        votes[if f > 0.0 { pair.first } else { pair.second }] += 1;
    }
    // `max_by_key` would return the last in a tie.
    (0..n_classes).rev().max_by_key(|&class| votes[class]).unwrap_or(0)
}
