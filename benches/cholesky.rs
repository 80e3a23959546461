//! Speed of factors, inverses, products and systems of symmetric matrices, against the machine's fused multiply-adds
//! measured in the same run.
//!
//! ```text
//! cargo bench -p multikernel --bench cholesky -- [N ...] [--threads 1]
//! ```
//!
//! Gflop/s count n^3 / 3 operations for the factor, 2 n^3 / 3 for the inverse, 2 n^3 for a product, n^3 for `H diag(d)
//! H'`, and 2 n^2 for each right-hand side of a system. Times are the best of several repeats.

mod limits;

use std::error::Error;

use multikernel::dist::Rng;
use multikernel::solve::cholesky::Cholesky;
use multikernel::solve::product::{product, scaled_square};
use multikernel::{Matrix, Pool};

use limits::chains;

type Outcome<T> = Result<T, Box<dyn Error>>;

const SIZES: [usize; 7] = [78, 144, 187, 280, 316, 615, 1000];

fn main() -> Outcome<()> {
    let (mut sizes, mut n_threads) = (vec![], 1);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--threads" => n_threads = words.next().ok_or("--threads needs a number")?.parse::<usize>()?,
            // Cargo adds these.
            "--bench" | "--test" => {}
            _ => sizes.push(word.parse::<usize>().map_err(|_| format!("{word} is no number of rows"))?),
        }
    }
    let pool = Pool::new(n_threads)?;
    let (_, flops) = chains(1_000_000);
    let bound = flops / best(|| (), |()| chains(1_000_000)) / 1e9;
    println!("bound: {bound:.1} Gflop/s of fused multiply-adds in registers of one thread");
    for n in if sizes.is_empty() { SIZES.to_vec() } else { sizes } {
        measure(n, bound, &pool)?;
    }
    Ok(())
}

fn measure(n: usize, bound: f64, pool: &Pool) -> Outcome<()> {
    let mut rng = Rng::new(1, 0);
    let points: Vec<f64> = (0..n).map(|_| rng.uniform()).collect();
    let entry = |i: usize, j: usize| (-(points[i] - points[j]).abs()).exp() + if i == j { 0.1 } else { 0.0 };
    let matrix = Matrix::from_fn(n, n, entry);
    let factor = Cholesky::new(matrix.clone(), pool, &|| false)?;
    let tell = |what: &str, operations: f64, seconds: f64| {
        let (ours, us) = (operations / seconds / 1e9, 1e6 * seconds);
        println!("n {n:>4} {what:<13} {ours:>5.1} Gflop/s = {:>3.0} % ({us:.1} us)", 100.0 * ours / bound);
    };
    let square = (n * n) as f64;
    let cube = square * n as f64;
    tell("factor", cube / 3.0, best(|| matrix.clone(), |matrix| Cholesky::new(matrix, pool, &|| false)));
    tell("inverse", 2.0 * cube / 3.0, best(|| (), |()| factor.inverse(pool, &|| false)));
    tell("product", 2.0 * cube, best(|| (), |()| product(&matrix, &matrix, pool)));
    tell("scaled_square", cube, best(|| (), |()| scaled_square(&matrix, &points, pool, &|| false)));
    for c in [1, 2, 4, 10] {
        let right = Matrix::from_fn(n, c, |_, _| rng.uniform());
        tell(&format!("solve {c}"), 2.0 * square * c as f64, best(|| (), |()| factor.solve(&right)));
    }
    tell("multiply_lower", square, best(|| (), |()| factor.multiply_lower(&points)));
    Ok(())
}

/// Best seconds over repeats that take about half a second in total.
fn best<S, T>(ready: impl FnMut() -> S, f: impl FnMut(S) -> T) -> f64 {
    limits::best_of(0.5, 5000, ready, f)
}
