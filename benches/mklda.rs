//! Online learners, timed: the cost of the number of kernels, a whole training run, and growth with the length of a
//! stream.
//!
//! ```text
//! cargo bench -p multikernel --bench mklda -- --data-dir DIR [--only kernels,train,growth]
//! ```
//!
//! `kernels`: one epoch of `mklda` on 300 Gaussians is recorded (which rows were learned, in which block), then
//! replayed with the same points and coefficients on 300 kernels, on one, and on 300 with an exponential for each:
//! nanoseconds per pair of a row and a point, one thread. `train`: seconds of training on ijcnn1 with 300 Gaussians,
//! one and two threads. `growth`: seconds and peak memory of a stream with a budget of 500 and of 2,000 points. Sets
//! that are not in DIR are skipped with a message.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use multikernel::data::{Dataset, Labels, Preprocessor, ReadOptions, Recipe, Samples, read};
use multikernel::dist::Rng;
use multikernel::kernel::{Kernel, KernelBank};
use multikernel::plan::Session;
use multikernel::run::Silent;
use multikernel::stack::{Mixture, Stack, StackOptions, Storage};
use multikernel::{Matrix, Online, OnlineOptions, Plan, Pool};

type Outcome<T> = Result<T, Box<dyn Error>>;

const BANK: &str = "gaussian(gamma=2^-15..2^15; 300)";
const BLOCK: usize = 64;
/// The slowest replay does only one block in this many.
const SELDOM: usize = 25;

fn main() -> Outcome<()> {
    let (mut dir, mut only) = (None, vec!["kernels".to_string(), "train".into(), "growth".into()]);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut next = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--data-dir" => dir = Some(PathBuf::from(next()?)),
            "--only" => only = next()?.split(',').map(str::to_string).collect(),
            // Cargo adds these.
            "--bench" | "--test" => {}
            _ => return Err(format!("unknown word {word}").into()),
        }
    }
    let wants = |what: &str| only.iter().any(|word| word == what);
    if wants("growth") {
        growth()?;
    }
    let Some(dir) = dir else {
        println!("kernels and train are skipped: give --data-dir with the folder of the sets");
        return Ok(());
    };
    for set in ["ijcnn1.train", "pendigits.train"].into_iter().filter(|_| wants("kernels")) {
        match load(&dir, set)? {
            Some(data) => kernels(&data)?,
            None => println!("{set} is skipped: it is not in {}", dir.display()),
        }
    }
    match load(&dir, "ijcnn1.train")?.filter(|_| wants("train")) {
        Some(data) => train(&data),
        None => Ok(()),
    }
}

fn load(dir: &Path, set: &str) -> Outcome<Option<Dataset>> {
    let path = dir.join(format!("{set}.csv.gz"));
    if !path.exists() {
        return Ok(None);
    }
    Ok(Some(read(&path, &ReadOptions::default())?.into_dataset()?))
}

/// A block of rows, and which of them were learned: position, class and rival.
struct Block {
    rows: Vec<usize>,
    events: Vec<(usize, usize, usize)>,
}

/// The points known at a time and their coefficients, one column per class.
#[derive(Default)]
struct Known {
    points: Vec<usize>,
    coefficients: Vec<f64>,
}

impl Known {
    fn add(&mut self, block: &Block, n_classes: usize) {
        for &(place, class, rival) in &block.events {
            let mut row = vec![0.0; n_classes];
            (row[class], row[rival]) = (1.0, -1.0);
            self.points.push(block.rows[place]);
            self.coefficients.extend(row);
        }
    }

    fn matrix(&self, n_classes: usize) -> Outcome<Matrix> {
        Ok(Matrix::from_vec(self.points.len(), n_classes, self.coefficients.clone())?)
    }
}

/// The cost of a row: decisions on the points, and the kernels among the rows of the block.
fn decide(
    stack: &Stack,
    mixture: &Mixture,
    rows: &[usize],
    known: &Known,
    coefficients: &Matrix,
    pool: &Pool,
) -> Outcome<(Matrix, Vec<Matrix>)> {
    let scores = stack.between(rows, &known.points)?.decide(mixture, coefficients, pool)?;
    Ok((scores, stack.view(rows)?.mix(mixture, pool)?))
}

/// One epoch of the stable variant with equal weights.
fn record(stack: &Stack, labels: &Labels, mixture: &Mixture, pool: &Pool) -> Outcome<Vec<Block>> {
    let (n, n_classes) = (labels.n_samples(), labels.n_classes());
    let mut order: Vec<usize> = (0..n).collect();
    Rng::new(0, 0).shuffle(&mut order);
    let (mut known, mut blocks, mut seen) = (Known::default(), vec![], 0usize);
    for rows in order.chunks(BLOCK) {
        let (mut scores, own) = decide(stack, mixture, rows, &known, &known.matrix(n_classes)?, pool)?;
        let mut block = Block { rows: rows.to_vec(), events: vec![] };
        for (place, &row) in rows.iter().enumerate() {
            let (class, here) = (labels.codes()[row], scores.row(place).to_vec());
            let others = (0..n_classes).filter(|&m| m != class);
            let rival = others.max_by(|&a, &b| here[a].total_cmp(&here[b])).unwrap_or(class);
            if here[class] - here[rival] < seen.max(1) as f64 / (10.0 * n as f64) {
                for later in place + 1..rows.len() {
                    scores.row_mut(later)[class] += own[class].get(later, place);
                    scores.row_mut(later)[rival] -= own[rival].get(later, place);
                }
                block.events.push((place, class, rival));
            }
            seen += 1;
        }
        known.add(&block, n_classes);
        blocks.push(block);
    }
    Ok(blocks)
}

/// Nanoseconds per pair for one in this many blocks, on all of these kernel stacks.
fn replay(parts: &[(Stack, Mixture)], blocks: &[Block], n_classes: usize, one_in: usize, pool: &Pool) -> Outcome<f64> {
    let (mut known, mut seconds, mut pairs) = (Known::default(), 0.0, 0.0);
    for (b, block) in blocks.iter().enumerate() {
        if b % one_in == one_in - 1 {
            let coefficients = known.matrix(n_classes)?;
            let start = Instant::now();
            for (stack, mixture) in parts {
                decide(stack, mixture, &block.rows, &known, &coefficients, pool)?;
            }
            seconds += start.elapsed().as_secs_f64();
            pairs += (block.rows.len() * known.points.len()) as f64;
        }
        known.add(block, n_classes);
    }
    Ok(1e9 * seconds / pairs)
}

fn kernels(data: &Dataset) -> Outcome<()> {
    let (pool, samples, n_classes) = (Pool::new(1)?, &data.samples, data.labels.n_classes());
    let preprocessor = Preprocessor::fit(&Recipe::default(), samples.features(), samples.names(), samples.views())?;
    let rows = preprocessor.apply(samples.features())?;
    let all = BANK.parse::<KernelBank>()?.resolve(&Default::default(), &rows)?;
    let part = |kernels: &[Kernel]| -> Outcome<(Stack, Mixture)> {
        let stack =
            Stack::train(&rows, kernels, &StackOptions { storage: Storage::Tiled, ..StackOptions::new(&pool) })?;
        let even = Matrix::from_fn(kernels.len(), n_classes, |_, _| 1.0 / all.len() as f64);
        let mixture = stack.mixture(&even, &pool)?;
        Ok((stack, mixture))
    };
    let many = part(&all)?;
    let blocks = record(&many.0, &data.labels, &many.1, &pool)?;
    let learned: usize = blocks.iter().map(|block| block.events.len()).sum();
    let one = part(&all[150..151])?;
    // Fewer than 32 radial kernels at a time are not collapsed: an exponential each.
    let each = all.chunks(30).map(part).collect::<Outcome<Vec<_>>>()?;
    let many = replay(&[many], &blocks, n_classes, 1, &pool)?;
    let one = replay(&[one], &blocks, n_classes, 1, &pool)?;
    let each = replay(&each, &blocks, n_classes, SELDOM, &pool)?;
    println!(
        "{}: {} rows, {learned} learned, {n_classes} classes; ns per pair: F = 300 {many:.1}, F = 1 {one:.1}, 300 \
         exponentials {each:.0}; 300 against 1: {:.2} times; exponentials against ours: {:.0} times",
        data.name,
        data.samples.n_samples(),
        many / one,
        each / many
    );
    Ok(())
}

fn train(data: &Dataset) -> Outcome<()> {
    for n_threads in [1, 2] {
        let pool = Pool::new(n_threads)?;
        let start = Instant::now();
        let model = Plan::new("mklda")?.kernels(BANK)?.train_in(data, &mut Session::new(&pool, &mut Silent))?;
        let seconds = start.elapsed().as_secs_f64();
        let points = &model.training().facts()[0].1;
        println!("{}, F = 300, mklda, {n_threads} threads: {seconds:.2} s, {points} support points", data.name);
    }
    Ok(())
}

/// Peak resident memory so far, in MiB; `None` if the system does not report it.
fn peak() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
}

/// This many rows from six slowly turning clouds, in three classes.
fn clouds(rng: &mut Rng, first: usize, n: usize) -> Outcome<(Samples, Vec<String>)> {
    let mut labels = vec![];
    let mut data = vec![];
    for i in first..first + n {
        let cloud = rng.below(6);
        let angle = (cloud as f64 + i as f64 / 100_000.0) * std::f64::consts::TAU / 6.0;
        let noise = |rng: &mut Rng| (0..4).map(|_| rng.uniform()).sum::<f64>() - 2.0;
        let centre = [3.0 * angle.cos(), 3.0 * angle.sin()];
        data.extend((0..8).map(|j| centre.get(j).copied().unwrap_or(0.0) + noise(rng)));
        labels.push(format!("class {}", cloud % 3));
    }
    Ok((Samples::unnamed(Matrix::from_vec(n, 8, data)?)?, labels))
}

fn growth() -> Outcome<()> {
    [500, 2000].into_iter().try_for_each(growth_with)
}

fn growth_with(budget: usize) -> Outcome<()> {
    let pool = Pool::new(1)?;
    let mut times = vec![];
    for n in [10_000usize, 50_000, 200_000] {
        let mut rng = Rng::new(1, 0);
        let (samples, labels) = clouds(&mut rng, 0, 1000)?;
        let warmup = Dataset::new("clouds", samples, Labels::new(&labels)?)?;
        let options = OnlineOptions { budget: Some(budget), update_every: 100 };
        let mut online = Online::begin(&Plan::new("mklda")?.kernels(BANK)?, &warmup, &options, &pool)?;
        let start = Instant::now();
        for first in (0..n).step_by(1000) {
            let (samples, labels) = clouds(&mut rng, first, 1000)?;
            online.learn(&samples, &labels, &pool)?;
        }
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{n} rows, budget {budget}: {seconds:.2} s, {:.0} rows/s, accuracy {:.4}, {} points, peak {:.0} MiB",
            n as f64 / seconds,
            online.n_correct() as f64 / n as f64,
            online.n_support(),
            peak().unwrap_or(f64::NAN)
        );
        times.push((n as f64, seconds));
    }
    let ((n1, s1), (n2, s2)) = (times[0], times[times.len() - 1]);
    println!("budget {budget}, growth from 10,000 to 200,000 rows: exponent {:.3}", (s2 / s1).ln() / (n2 / n1).ln());
    Ok(())
}
