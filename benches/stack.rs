//! Speed of the kernel stack's operations, against the limits of the machine measured in the same run.
//!
//! ```text
//! cargo bench -p multikernel --bench stack -- [limits] [passes] [radial] [sparse] [bank] [--data-dir DIR] [--json FILE]
//! ```
//!
//! Without a section all are run; `bank` and `sparse` need the data sets of `--data-dir` and are skipped without them.
//! `benches/stack_numpy.py` runs this and the same banks in numpy. Times are the best of several repeats.

mod limits;

use std::error::Error;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use multikernel::data::{self, Features, ReadOptions, Scaler};
use multikernel::dist::Rng;
use multikernel::kernel::{Kernel, KernelBank};
use multikernel::stack::{Precision, Stack, StackOptions, Storage, Symmetric};
use multikernel::{Matrix, Pool};
use serde_json::{Value, json};

use limits::{chains, read_eight, read_four, read_one};

type Outcome<T> = Result<T, Box<dyn Error>>;

const BANK: &str = "gaussian(2^-6..2^7), polynomial(1..3)";

fn main() -> Outcome<()> {
    let (mut sections, mut data_dir, mut out) = (vec![], None, None);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--data-dir" => data_dir = Some(PathBuf::from(words.next().ok_or("--data-dir needs a folder")?)),
            "--json" => out = Some(PathBuf::from(words.next().ok_or("--json needs a file")?)),
            // Cargo adds these.
            "--bench" | "--test" => {}
            "limits" | "passes" | "radial" | "sparse" | "bank" => sections.push(word),
            _ => return Err(format!("unknown word {word}").into()),
        }
    }
    let wants = |name: &str| sections.is_empty() || sections.iter().any(|section| section == name);
    let mut results = vec![];
    if wants("limits") {
        limits();
    }
    if wants("passes") {
        passes()?;
    }
    if wants("radial") {
        radial()?;
    }
    match &data_dir {
        Some(dir) => {
            if wants("sparse") {
                sparse(dir)?;
            }
            if wants("bank") {
                results.extend(bank(dir)?);
            }
        }
        None => println!(
            "\nbank, sparse: skipped, give --data-dir with german.numer.csv.gz, pendigits.train.csv.gz, mushrooms.csv.gz"
        ),
    }
    if let Some(path) = out {
        std::fs::write(path, Value::from(results).to_string())?;
    }
    Ok(())
}

/// Best seconds over repeats that take about a second in total, at least seven.
fn best<T>(mut f: impl FnMut() -> T) -> f64 {
    best_after(|| (), |()| f())
}

/// [`best`] for a job with an untimed setup before each repeat.
fn best_after<S, T>(ready: impl FnMut() -> S, f: impl FnMut(S) -> T) -> f64 {
    limits::best_of(1.0, 200, ready, f)
}

/// Seconds a job takes.
fn seconds<T>(f: impl FnOnce() -> T) -> f64 {
    let begin = Instant::now();
    black_box(f());
    begin.elapsed().as_secs_f64()
}

/// Best seconds of each of several jobs, which return their own times, run in alternation for about six seconds, at
/// least seven turns.
fn side_by_side(jobs: &mut [&mut dyn FnMut() -> f64]) -> Vec<f64> {
    let (mut least, start, mut turns) = (vec![f64::INFINITY; jobs.len()], Instant::now(), 0);
    while turns < 7 || start.elapsed().as_secs_f64() < 6.0 {
        for (job, least) in jobs.iter_mut().zip(&mut least) {
            *least = least.min(job());
        }
        turns += 1;
    }
    least
}

// ---- limits

/// Bytes per second of the fastest way to read a buffer of this size once, on one thread.
fn read_bandwidth(bytes: usize) -> f64 {
    let data = vec![1.0f64; bytes / 8];
    let ways: [fn(&[f64]) -> f64; 3] = [read_one, read_four, read_eight];
    bytes as f64 / ways.iter().map(|way| best(|| way(&data))).fold(f64::INFINITY, f64::min)
}

fn limits() {
    println!("\n== limits of the machine, one thread");
    for megabytes in [36, 72, 472, 944] {
        println!("read {megabytes} MB: {:.1} GB/s", read_bandwidth(megabytes * 1_000_000) / 1e9);
    }
    let mut buffer = vec![1.0f64; 100_000_000];
    println!("write 800 MB: {:.1} GB/s", 0.8 / best(|| black_box(&mut buffer).fill(2.0)));
    println!("write 800 MB never touched before: {:.1} GB/s", 0.8 / best(|| vec![1.0f64; 100_000_000]));
    let (_, flops) = chains(1_000_000);
    println!("fused multiply-adds: {:.1} Gflop/s", flops / best(|| chains(1_000_000)) / 1e9);
    let gaussian: Kernel = "gaussian(1)".parse().expect("a kernel");
    let base: Vec<f64> = (0..2048).map(|i| f64::from(i) * 0.01).collect();
    let mut out = vec![0.0; 2048];
    let seconds = best(|| (0..1000).for_each(|_| gaussian.values_into(black_box(&base), &mut out)));
    println!("exp, in the first-level cache: {:.2} ns", seconds * 1e9 / 2048e3);
}

// ---- passes over a packed stack

fn random(n_rows: usize, n_cols: usize) -> Features {
    let mut rng = Rng::new(0, 0);
    Matrix::from_fn(n_rows, n_cols, |_, _| 4.0 * rng.uniform() - 2.0).into()
}

fn kernels(bank: &str, rows: &Features) -> Outcome<Vec<Kernel>> {
    Ok(bank.parse::<KernelBank>()?.resolve(&Default::default(), rows)?)
}

fn passes() -> Outcome<()> {
    println!("\n== combine and project on a packed stack, one thread, share of the read bandwidth");
    let pool = Pool::new(1)?;
    for (n, columns, bank) in [(150, 100, "gaussian(2^-3..2^4) each"), (280, 300, "gaussian(2^-4..2^5) each")] {
        let rows = random(n, columns);
        let kernels = kernels(bank, &rows)?;
        for precision in [Precision::F64, Precision::F32] {
            let options = StackOptions { storage: Storage::Packed, precision, ..StackOptions::new(&pool) };
            let stack = Stack::train(&rows, &kernels, &options)?;
            let size = if precision == Precision::F64 { 8 } else { 4 };
            // Bytes that must be read: one triangle with its diagonal.
            let bytes = kernels.len() * n * (n + 1) / 2 * size;
            let weights = Matrix::from_fn(kernels.len(), 1, |m, _| 1.0 / (m + 1) as f64);
            let matrix = Matrix::from_fn(n, n, |i, j| ((i * j) % 7) as f64);
            let buffer = vec![1.0f64; bytes / 8];
            // In alternation: the machine's speed varies from second to second.
            let turns = side_by_side(&mut [
                &mut || seconds(|| read_one(&buffer)),
                &mut || seconds(|| read_four(&buffer)),
                &mut || seconds(|| read_eight(&buffer)),
                &mut || seconds(|| stack.combine(&weights, &pool)),
                &mut || seconds(|| stack.project(&[Symmetric::Dense(&matrix)], &pool)),
            ]);
            let bound = bytes as f64 / turns[..3].iter().copied().fold(f64::INFINITY, f64::min);
            let (combine, project) = (bytes as f64 / turns[3], bytes as f64 / turns[4]);
            println!(
                "P {} N {n} {}: {} MB, bound {:.1} GB/s, combine {:.1} GB/s = {:.0} %, project {:.1} GB/s = {:.0} %",
                kernels.len(),
                precision.word(),
                bytes / 1_000_000,
                bound / 1e9,
                combine / 1e9,
                100.0 * combine / bound,
                project / 1e9,
                100.0 * project / bound
            );
        }
    }
    Ok(())
}

// ---- many Gaussians on the same columns

fn radial() -> Outcome<()> {
    const N: usize = 4000;
    println!("\n== 300 Gaussians on one set of 16 columns, {N} x {N}, one thread");
    let pool = Pool::new(1)?;
    let rows = random(N, 16);
    let options = StackOptions { storage: Storage::Tiled, ..StackOptions::new(&pool) };
    let matrix = Matrix::from_fn(N, N, |i, j| ((i * j) % 7) as f64);
    let stack = |bank: &str| -> Outcome<(Stack, Matrix)> {
        let kernels = kernels(bank, &rows)?;
        let weights = Matrix::from_fn(kernels.len(), 1, |m, _| 1.0 / (m + 1) as f64);
        Ok((Stack::train(&rows, &kernels, &options)?, weights))
    };
    const MANY: &str = "gaussian(gamma=2^-15..2^15; 300)";
    let (one, many) = (stack("gaussian(gamma=0.1)")?, stack(MANY)?);
    let combine = |(stack, weights): &(Stack, Matrix)| seconds(|| stack.combine(weights, &pool));
    let project = |(stack, _): &(Stack, Matrix)| seconds(|| stack.project(&[Symmetric::Dense(&matrix)], &pool));
    let gaussians = kernels(MANY, &rows)?;
    // In alternation: the machine's speed varies from second to second.
    let turns = side_by_side(&mut [
        &mut || combine(&one),
        &mut || combine(&many),
        &mut || project(&one),
        &mut || project(&many),
        // A tenth of the pairs, to keep a turn short.
        &mut || 10.0 * exponentials(&gaussians, N * N / 2 / 10),
    ]);
    let direct = turns[4];
    for (what, one, many) in [("combine", turns[0], turns[1]), ("project", turns[2], turns[3])] {
        println!(
            "{what}: one {one:.3} s, 300 {many:.3} s: {:.2} times one, {:.0} times faster than 300 exponentials ({direct:.2} s)",
            many / one,
            direct / many
        );
    }
    Ok(())
}

/// Seconds for all kernels of `pairs` distances, kernel by kernel: vectorised exponentials of each, summed in the
/// cache.
fn exponentials(kernels: &[Kernel], pairs: usize) -> f64 {
    let mut rng = Rng::new(3, 0);
    let base: Vec<f64> = (0..2048).map(|_| 60.0 * rng.uniform()).collect();
    let (mut values, mut sum) = (vec![0.0; 2048], vec![0.0; 2048]);
    let begin = Instant::now();
    for _ in 0..pairs / 2048 {
        for kernel in kernels {
            kernel.values_into(&base, &mut values);
            for (sum, value) in sum.iter_mut().zip(&values) {
                *sum += value;
            }
        }
    }
    black_box(sum);
    begin.elapsed().as_secs_f64()
}

// ---- real data sets

fn read(dir: &Path, name: &str) -> Outcome<Features> {
    let table = data::read(&dir.join(format!("{name}.csv.gz")), &ReadOptions::default())?;
    Ok(table.samples.features().clone())
}

/// Every other row for training, the rest for testing, standardised by the training rows.
fn halves(rows: &Features) -> Outcome<(Features, Features)> {
    let pick = |first: usize| (first..rows.n_rows()).step_by(2).collect::<Vec<_>>();
    let (train, test) = (rows.select_rows(&pick(0)), rows.select_rows(&pick(1)));
    let scaler = Scaler::fit(&train)?;
    Ok((scaler.apply(&train)?, scaler.apply(&test)?))
}

/// Best seconds for both stacks of the bank.
struct BankTimes {
    /// Stored in newly allocated memory each time.
    fresh: f64,
    /// Stored in the memory of the previous repeat.
    reused: f64,
    /// What svm and average do instead: the weighted sum on the fly, nothing stored.
    combined: f64,
    /// A fixed amount of arithmetic in registers, split in two: the best possible gain from more threads on this
    /// machine.
    arithmetic: f64,
}

fn bank(dir: &Path) -> Outcome<Vec<Value>> {
    println!("\n== bank {BANK}: all kernels of the training rows and between test and training rows, stored");
    let mut results = vec![];
    for name in ["german.numer", "pendigits.train"] {
        if !dir.join(format!("{name}.csv.gz")).exists() {
            println!("{name}: skipped, no {name}.csv.gz in {}", dir.display());
            continue;
        }
        let (train, test) = halves(&read(dir, name)?)?;
        let kernels = kernels(BANK, &train)?;
        for precision in [Precision::F64, Precision::F32] {
            let [one, two] = bank_times(&train, &test, &kernels, precision)?;
            println!(
                "{name} {} + {} rows, {}: one thread {:.4} s, two {:.4} s ({:.2} times); in fresh memory {:.4} s and \
                 {:.4} s ({:.2} times); combined, nothing stored {:.4} s and {:.4} s ({:.2} times); two threads of arithmetic \
                 alone {:.2} times one",
                train.n_rows(),
                test.n_rows(),
                precision.word(),
                one.reused,
                two.reused,
                one.reused / two.reused,
                one.fresh,
                two.fresh,
                one.fresh / two.fresh,
                one.combined,
                two.combined,
                one.combined / two.combined,
                one.arithmetic / two.arithmetic
            );
            let named = |t: &BankTimes| json!({ "fresh": t.fresh, "reused": t.reused, "combined": t.combined, "arithmetic": t.arithmetic });
            results.push(json!({
                "set": name,
                "precision": precision.word(),
                "one_thread": named(&one),
                "two_threads": named(&two),
                "sample": bank_sample(&train, &test, &kernels, precision)?,
            }));
        }
    }
    Ok(results)
}

/// The stack of the training rows, and that between test and training rows.
fn bank_stacks(
    train: &Features,
    test: &Features,
    kernels: &[Kernel],
    options: &StackOptions<'_>,
) -> multikernel::Result<[Stack; 2]> {
    let none = vec![None; kernels.len()];
    Ok([Stack::train(train, kernels, options)?, Stack::cross(test, train, kernels, &none, options)?])
}

/// With one thread and with two, in alternation: the machine's speed varies from second to second.
fn bank_times(train: &Features, test: &Features, kernels: &[Kernel], precision: Precision) -> Outcome<[BankTimes; 2]> {
    let pools = [Pool::new(1)?, Pool::new(2)?];
    let packed =
        pools.each_ref().map(|pool| StackOptions { storage: Storage::Packed, precision, ..StackOptions::new(pool) });
    let tiled = packed.each_ref().map(|packed| StackOptions { storage: Storage::Tiled, ..packed.clone() });
    // Errors would be timed as very fast stacks.
    let build = |options: &StackOptions<'_>| bank_stacks(train, test, kernels, options).expect("both stacks");
    let weights = Matrix::from_fn(kernels.len(), 1, |_, _| 1.0 / kernels.len() as f64);
    // A pool passes memory on from stack to stack, so a new one has none to pass on. Starting its threads is not timed,
    // returning the memory to the system is.
    let fresh = |t: usize| {
        let once = |pool: Pool| seconds(|| drop(build(&StackOptions { pool: &pool, ..packed[t].clone() })));
        // The first run pays for pages the system reclaimed while other jobs had their turns.
        once(Pool::new(t + 1).expect("threads"));
        once(Pool::new(t + 1).expect("threads"))
    };
    let reused = |t: usize| seconds(|| build(&packed[t]));
    let combined = |t: usize| {
        seconds(|| build(&tiled[t]).map(|stack| stack.combine(&weights, &pools[t]).expect("a combined kernel")))
    };
    let arithmetic = |t: usize| seconds(|| pools[t].map(2, |_| chains(100_000)));
    let turns = side_by_side(&mut [
        &mut || fresh(0),
        &mut || fresh(1),
        &mut || reused(0),
        &mut || reused(1),
        &mut || combined(0),
        &mut || combined(1),
        &mut || arithmetic(0),
        &mut || arithmetic(1),
    ]);
    let of = |t: usize| BankTimes {
        fresh: turns[t],
        reused: turns[2 + t],
        combined: turns[4 + t],
        arithmetic: turns[6 + t],
    };
    Ok([of(0), of(1)])
}

/// Every hundredth row against every hundredth column of each kernel, for comparison by others.
fn bank_sample(train: &Features, test: &Features, kernels: &[Kernel], precision: Precision) -> Outcome<Value> {
    const EVERY: usize = 100;
    let pool = Pool::new(1)?;
    let options = StackOptions { storage: Storage::Packed, precision, ..StackOptions::new(&pool) };
    let stacks = bank_stacks(train, test, kernels, &options)?;
    let sample = |stack: &Stack| -> Outcome<Vec<Vec<f64>>> {
        let pick = |n: usize| (0..n).step_by(EVERY).collect::<Vec<_>>();
        let (rows, cols) = (pick(stack.n_rows()), pick(stack.n_cols()));
        (0..kernels.len()).map(|m| Ok(stack.block(m, &rows, &cols)?.data().to_vec())).collect()
    };
    Ok(json!({ "every": EVERY, "train": sample(&stacks[0])?, "cross": sample(&stacks[1])? }))
}

/// mushrooms: 112 one-hot columns, 21 of them set in each row.
fn sparse(dir: &Path) -> Outcome<()> {
    println!("\n== sparse rows: mushrooms, whole Gram matrix of gaussian(median) and polynomial(2), one thread");
    let pool = Pool::new(1)?;
    let raw = read(dir, "mushrooms")?;
    let scaled = Scaler::fit(&raw)?.apply(&raw)?;
    for (name, rows) in [("0/1", raw), ("standardised", scaled)] {
        // Columns without a common value are dense: the same numbers, up to the ninth digit.
        let mut rng = Rng::new(1, 0);
        let mut noise = rows.to_dense()?.into_owned();
        noise.data_mut().iter_mut().for_each(|value| *value += 1e-9 * rng.uniform());
        let noise = Features::from(noise);
        for bank in ["gaussian(median)", "polynomial(2)"] {
            let kernels = kernels(bank, &rows)?;
            let options = StackOptions { storage: Storage::Packed, ..StackOptions::new(&pool) };
            let sparse = best(|| Stack::train(&rows, &kernels, &options).is_ok());
            let dense = best(|| Stack::train(&noise, &kernels, &options).is_ok());
            let error = worst(&rows, &kernels[0], &options)?;
            println!(
                "{name} {bank}: sparse {sparse:.3} s, dense {dense:.3} s: {:.1} times faster; largest difference from the \
                 formula on dense rows {error:.1e}",
                dense / sparse
            );
        }
    }
    Ok(())
}

/// The largest difference between the stack and the kernel's formula on dense rows, over some rows and all columns.
fn worst(rows: &Features, kernel: &Kernel, options: &StackOptions<'_>) -> Outcome<f64> {
    let dense = rows.to_dense()?;
    let (some, all): (Vec<usize>, Vec<usize>) =
        ((0..rows.n_rows()).step_by(40).collect(), (0..rows.n_rows()).collect());
    let block = Stack::train(rows, std::slice::from_ref(kernel), options)?.block(0, &some, &all)?;
    let difference = |(a, &i): (usize, &usize)| {
        let of = |&j: &usize| (block.get(a, j) - kernel.between(dense.row(i), dense.row(j))).abs();
        all.iter().map(of).fold(0.0, f64::max)
    };
    Ok(some.iter().enumerate().map(difference).fold(0.0, f64::max))
}
