//! The sampler of `bm3kl`: the time of a sweep against the limits of the machine, and what its draws are worth per
//! second.
//!
//! ```text
//! cargo bench -p multikernel --bench bm3kl -- [sweep] [growth] [worth] [agreement] [mixing]
//!     [--shapes 793,144] [--leaps 2,3] [--draws 100] [--json FILE]
//! ```
//!
//! Without a section all are run. `sweep` times the published step (warm-up sweeps, which compute no more than the
//! chain needs) on synthetic points; its bound is two passes over the packed stack at the bandwidth, and `(4/3) N^3`
//! operations per function at the speed of fused multiply-adds, both measured in alternation with it. `growth` fits the
//! exponent in the number of kernels. `worth` is the effective draws per second of the kernel weight that has the
//! fewest, `agreement` the number of draws until the chains agree on all kernel weights. `mixing` compares
//! sampler=collapsed with sampler=split (`--leaps`: its gradients per update) sweep by sweep in alternation. `benches/bm3kl_numpy.py` does
//! the sweeps in numpy.

mod limits;

use std::error::Error;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use multikernel::data::{Features, Labels, Scaler, Target, bundled, repeats};
use multikernel::dist::{Rng, normal};
use multikernel::draws::{Draws, diagnose};
use multikernel::kernel::KernelBank;
use multikernel::method::Bm3kl;
use multikernel::plan::Session;
use multikernel::run::{Control, Explain, Input, Method, Parameters, Silent, State, Task};
use multikernel::stack::{Precision, Stack, StackOptions, Storage};
use multikernel::{Matrix, Plan, Pool};
use serde_json::{Value, json};

use limits::{chains, read_eight, read_four, read_one};

type Outcome<T> = Result<T, Box<dyn Error>>;
type Settings<'a> = &'a [(&'a str, &'a str)];

/// The sampler as published; a warm-up that never ends.
const PUBLISHED: Settings<'static> = &[
    ("sampler", "paper"),
    ("prior", "paper"),
    ("gamma0", "100"),
    ("epsilon", "0.01"),
    ("chains", "1"),
    ("warmup", "1000000"),
];

/// A problem's kernels, rows, columns and classes, and its bank.
type Shape = (usize, usize, usize, usize, &'static str);

const COLUMNS: &str = "gaussian(2^-3..2^6), polynomial(1..3), gaussian(2^-3..2^6) each, polynomial(1..3) each";
const SHAPES: [Shape; 3] = [
    (793, 144, 60, 2, COLUMNS),
    (2158, 78, 165, 2, COLUMNS),
    (3088, 280, 1024, 40, "gaussian(2^-6..2^6), polynomial(1..3), gaussian(2^-1..2^1) each"),
];

fn main() -> Outcome<()> {
    let (mut sections, mut shapes, mut out) = (vec![], vec![], None);
    let (mut leaps, mut n_draws) = (vec!["0".to_string()], "100".to_string());
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--shapes" => {
                shapes = words
                    .next()
                    .ok_or("--shapes needs numbers of kernels")?
                    .split(',')
                    .map(str::parse)
                    .collect::<Result<_, _>>()?
            }
            "--leaps" => {
                let list = words.next().ok_or("--leaps needs numbers of gradients")?;
                leaps = list.split(',').map(str::to_string).collect();
            }
            "--draws" => n_draws = words.next().ok_or("--draws needs a number")?,
            "--json" => out = Some(PathBuf::from(words.next().ok_or("--json needs a file")?)),
            // Cargo adds these.
            "--bench" | "--test" => {}
            "sweep" | "growth" | "worth" | "agreement" | "mixing" => sections.push(word),
            _ => return Err(format!("unknown word {word}").into()),
        }
    }
    let wants = |name: &str| sections.is_empty() || sections.iter().any(|section| section == name);
    let mut results = vec![];
    if wants("sweep") {
        let shapes: Vec<&Shape> =
            SHAPES.iter().filter(|shape| shapes.is_empty() || shapes.contains(&shape.0)).collect();
        results = sweeps(&shapes)?;
    }
    if wants("growth") {
        growth()?;
    }
    if wants("worth") {
        small_worth()?;
        sonar_worth()?;
    }
    if wants("agreement") {
        agreement()?;
    }
    if wants("mixing") {
        mixing(&shapes, &leaps, &n_draws)?;
    }
    if let Some(path) = out {
        std::fs::write(path, Value::from(results).to_string())?;
    }
    Ok(())
}

/// Kernels between points, and their classes.
struct Problem {
    stack: Stack,
    labels: Labels,
}

impl Problem {
    fn new(rows: &Features, codes: Vec<usize>, bank: &str, precision: Precision) -> Outcome<Problem> {
        let kernels = bank.parse::<KernelBank>()?.resolve(&Default::default(), rows)?;
        let pool = Pool::new(1)?;
        let options = StackOptions { storage: Storage::Packed, precision, ..StackOptions::new(&pool) };
        let stack = Stack::train(rows, &kernels, &options)?;
        let n_classes = codes.iter().max().map_or(0, |most| most + 1);
        let labels = Labels::from_parts((0..n_classes).map(|class| class.to_string()).collect(), codes)?;
        Ok(Problem { stack, labels })
    }

    /// Random points in random classes: the time of a sweep does not depend on them.
    fn random(&(_, n, n_columns, n_classes, bank): &Shape, precision: Precision) -> Outcome<Problem> {
        let mut rng = Rng::new(0, 0);
        let rows = Matrix::from_fn(n, n_columns, |_, _| 4.0 * rng.uniform() - 2.0);
        Problem::new(&rows.into(), (0..n).map(|i| i % n_classes).collect(), bank, precision)
    }

    fn task<'a>(&'a self, pool: &'a Pool) -> Task<'a> {
        Task {
            input: Input::Stack(&self.stack),
            labels: &self.labels,
            target: &Target::Classes,
            groups: None,
            views: &[],
            alternatives: &[],
            seed: 0,
            pool,
        }
    }
}

fn method(settings: Settings<'_>) -> Outcome<Bm3kl> {
    let mut method = Bm3kl::default();
    settings.iter().try_for_each(|(name, value)| method.set(name, value))?;
    Ok(method)
}

/// A chain that runs indefinitely.
struct Run<'a> {
    task: Task<'a>,
    method: Bm3kl,
    state: <Bm3kl as Method>::State,
}

impl<'a> Run<'a> {
    fn new(problem: &'a Problem, settings: Settings<'_>, pool: &'a Pool) -> Outcome<Run<'a>> {
        let (task, method) = (problem.task(pool), method(settings)?);
        let state = State::init(&method, &task)?;
        Ok(Run { task, method, state })
    }

    fn step(&mut self) {
        // An error would be timed as a very fast sweep.
        self.state.step(&self.method, &self.task, &Control::default()).expect("a sweep");
    }
}

/// Sorted seconds of each of several jobs, run in alternation for this many seconds, at least nine turns.
fn side_by_side(seconds: f64, jobs: &mut [&mut dyn FnMut()]) -> Vec<Vec<f64>> {
    let (mut times, start) = (vec![vec![]; jobs.len()], Instant::now());
    while times[0].len() < 9 || start.elapsed().as_secs_f64() < seconds {
        for (job, times) in jobs.iter_mut().zip(&mut times) {
            let begin = Instant::now();
            job();
            times.push(begin.elapsed().as_secs_f64());
        }
    }
    times.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
    times
}

fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}

// ---- one sweep

fn sweeps(shapes: &[&Shape]) -> Outcome<Vec<Value>> {
    println!(
        "\n== a sweep of the published sampler: median (least) of turns, beside the median (least) of the bound of one thread"
    );
    let mut results = vec![];
    for shape in shapes {
        for precision in [Precision::F32, Precision::F64] {
            results.push(sweep(shape, precision)?);
        }
    }
    Ok(results)
}

fn sweep(shape: &Shape, precision: Precision) -> Outcome<Value> {
    const STEPS: usize = 1_000_000;
    let &(n_kernels, n, _, n_classes, _) = shape;
    let problem = Problem::random(shape, precision)?;
    assert_eq!(problem.stack.n_kernels(), n_kernels);
    let (one, two) = (Pool::new(1)?, Pool::new(2)?);
    let [mut alone, mut both] = [Run::new(&problem, PUBLISHED, &one)?, Run::new(&problem, PUBLISHED, &two)?];
    let size = if precision == Precision::F64 { 8 } else { 4 };
    // Bytes that must be read: one triangle with its diagonal.
    let bytes = n_kernels * n * (n + 1) / 2 * size;
    let buffer = vec![1.0f64; bytes / 8];
    let turns = side_by_side(
        6.0,
        &mut [
            &mut || _ = black_box(read_one(&buffer)),
            &mut || _ = black_box(read_four(&buffer)),
            &mut || _ = black_box(read_eight(&buffer)),
            &mut || _ = black_box(chains(STEPS)),
            &mut || alone.step(),
            &mut || both.step(),
        ],
    );
    let n_functions = if n_classes == 2 { 1 } else { n_classes };
    let (flops, work) = ((n_functions * n.pow(3)) as f64 * 4.0 / 3.0, chains(STEPS).1);
    // Medians against medians, minima against minima: other load on the machine slows both sides.
    let read = |pick: fn(&[f64]) -> f64| turns[..3].iter().map(|times| pick(times)).fold(f64::INFINITY, f64::min);
    let bound = |pick: fn(&[f64]) -> f64| 2.0 * read(pick) + flops * pick(&turns[3]) / work;
    let first = |times: &[f64]| times[0];
    let [least, middle, both] = [turns[4][0], median(&turns[4]), median(&turns[5])];
    println!(
        "P {n_kernels} N {n} functions {n_functions} {}: {:.2} ms ({:.2}), bound {:.2} ms ({:.2}; {:.1} GB/s, {:.0} Gflop/s), \
         ratio {:.2} ({:.2}); two threads {:.2} ms, {:.2} times faster",
        precision.word(),
        1e3 * middle,
        1e3 * least,
        1e3 * bound(median),
        1e3 * bound(first),
        bytes as f64 / read(first) / 1e9,
        work / turns[3][0] / 1e9,
        middle / bound(median),
        least / bound(first),
        1e3 * both,
        middle / both
    );
    Ok(json!({
        "kernels": n_kernels, "rows": n, "functions": n_functions, "precision": precision.word(),
        "median": middle, "least": least, "bound": bound(median), "two_threads": both,
    }))
}

fn growth() -> Outcome<()> {
    println!("\n== growth with the number of kernels, N 144, one function, f32, one thread");
    let pool = Pool::new(1)?;
    // Thirteen kernels on each column, and on all columns.
    let shapes = [76, 114, 153, 229].map(|columns| (13 * (columns + 1), 144, columns, 2, COLUMNS));
    let problems = shapes.iter().map(|shape| Problem::random(shape, Precision::F32)).collect::<Outcome<Vec<_>>>()?;
    let mut runs = problems.iter().map(|problem| Run::new(problem, PUBLISHED, &pool)).collect::<Outcome<Vec<_>>>()?;
    let mut jobs: Vec<_> = runs.iter_mut().map(|run| || run.step()).collect();
    let times = side_by_side(10.0, &mut jobs.iter_mut().map(|job| job as &mut dyn FnMut()).collect::<Vec<_>>());
    let points = |pick: fn(&[f64]) -> f64| {
        let logs = shapes.iter().zip(&times).map(|(shape, times)| ((shape.0 as f64).ln(), pick(times).ln()));
        logs.collect::<Vec<(f64, f64)>>()
    };
    for (shape, times) in shapes.iter().zip(&times) {
        println!("P {}: {:.2} ms ({:.2})", shape.0, 1e3 * median(times), 1e3 * times[0]);
    }
    println!("exponent {:.3} of medians, {:.3} of the least", slope(&points(median)), slope(&points(|times| times[0])));
    Ok(())
}

/// Slope of the least-squares line.
fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let both = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum::<f64>();
    both / points.iter().map(|p| (p.0 - x).powi(2)).sum::<f64>()
}

// ---- what draws are worth

/// Draws after warm-up, and the seconds they took.
fn drawn(problem: &Problem, settings: Settings<'_>, pool: &Pool) -> Outcome<(Draws, f64)> {
    let mut run = Run::new(problem, settings, pool)?;
    let (warmup, n_draws) = (run.method.warmup, run.method.draws);
    (0..warmup).for_each(|_| run.step());
    let begin = Instant::now();
    (0..n_draws).for_each(|_| run.step());
    let seconds = begin.elapsed().as_secs_f64();
    let model = run.state.finish(&run.method, &run.task)?;
    Ok((model.draws().ok_or("no draws")?, seconds))
}

/// Effective draws, in total and per second, of the kernel weight that has the fewest, and how well the chains agree.
fn tell_worth(what: &str, (draws, seconds): &(Draws, f64)) -> Outcome<()> {
    let worst = draws.worst().ok_or("no kernel weights")?;
    print!(
        "{what}: {} x {} draws in {seconds:.2} s, least ESS {:.0} = {:.1} per 1000 draws = {:.2} a second, R-hat {:.3}",
        draws.n_chains(),
        draws.n_draws(),
        worst.ess_bulk,
        1e3 * worst.ess_bulk / (draws.n_chains() * draws.n_draws()) as f64,
        worst.ess_bulk / seconds,
        worst.r_hat
    );
    Ok(())
}

/// A problem whose posterior is known by other means: eight rows, three kernels, the published prior.
fn small_worth() -> Outcome<()> {
    const ROWS: [[f64; 2]; 8] = [
        [0.346, 0.822],
        [0.33, -1.303],
        [0.905, 0.446],
        [-0.537, 0.581],
        [0.365, 0.294],
        [0.028, 0.547],
        [-0.736, -0.163],
        [-0.482, 0.599],
    ];
    // Mean and standard deviation of the first weight: see the tests of the method.
    const REFERENCES: [(&str, f64, f64); 2] = [("2", 0.370_24, 0.249_28), ("100", 0.878_15, 0.083_95)];
    println!("\n== worth of draws: 8 rows, 3 kernels, prior=paper, one thread");
    let rows = Matrix::from_vec(8, 2, ROWS.as_flattened().to_vec())?.into();
    let codes = vec![0, 1, 1, 1, 0, 1, 0, 0];
    let bank = "gaussian(0.5), gaussian(1.5), polynomial(2)";
    let (problem, pool) = (Problem::new(&rows, codes, bank, Precision::F64)?, Pool::new(1)?);
    for (gamma0, mean, sd) in REFERENCES {
        for (sampler, epsilon) in [("collapsed", "0.1"), ("paper", "0.05"), ("paper", "0.1")] {
            let settings = [
                ("prior", "paper"),
                ("sampler", sampler),
                ("epsilon", epsilon),
                ("gamma0", gamma0),
                ("beta", "6"),
                ("kappa", "1"),
                ("tau", "0.5"),
                ("warmup", "400"),
                ("draws", "20000"),
            ];
            let found = drawn(&problem, &settings, &pool)?;
            let name = if sampler == "paper" { format!("paper, epsilon {epsilon}") } else { sampler.into() };
            tell_worth(&format!("gamma0 {gamma0}, {name}"), &found)?;
            let first = diagnose(&found.0.chains("weights", 0)?);
            println!("; E[w_1] off by {:+.3} ± {:.3} sd", (first.mean - mean) / sd, first.mcse / sd);
        }
    }
    Ok(())
}

/// Sonar with 13 kernels on all columns and on each, 70 % of the rows.
fn sonar_worth() -> Outcome<()> {
    println!("\n== worth of draws: sonar, 793 kernels, f32, one thread");
    let (problem, pool) = (part("sonar", COLUMNS)?, Pool::new(1)?);
    let of = |prior, sampler, gamma0, epsilon, warmup, draws| {
        let settings = [
            ("prior", prior),
            ("sampler", sampler),
            ("gamma0", gamma0),
            ("epsilon", epsilon),
            ("warmup", warmup),
            ("draws", draws),
        ];
        let found = drawn(&problem, &settings, &pool)?;
        tell_worth(&format!("prior={prior} sampler={sampler} gamma0={gamma0}"), &found)?;
        println!();
        Outcome::Ok(())
    };
    of("gp", "collapsed", "1", "0.1", "50", "100")?;
    of("paper", "collapsed", "100", "0.1", "50", "100")?;
    of("paper", "paper", "100", "0.1", "200", "1000")
}

// ---- agreement

fn agreement() -> Outcome<()> {
    const MOST: usize = 8000;
    println!(
        "\n== draws of each of four chains until R-hat is below 1.01 for all weights: sonar, 16 kernels, one thread"
    );
    let (data, pool) = (bundled("sonar")?, Pool::new(1)?);
    let plan = Plan::new("bm3kl")?.kernels("gaussian(2^-6..2^6), polynomial(1..3)")?.seed(0);
    for n_draws in std::iter::successors(Some(250), |n| Some(2 * n)).take_while(|&n| n <= MOST) {
        let begin = Instant::now();
        let plan = plan.clone().set("draws", &n_draws.to_string())?;
        let model = plan.train_in(&data, &mut Session::new(&pool, &mut Silent))?;
        let seconds = begin.elapsed().as_secs_f64();
        let worst = model.draws().and_then(|draws| draws.worst()).ok_or("no draws")?;
        println!("{n_draws} draws: R-hat {:.4}, least ESS {:.0}, {seconds:.1} s", worst.r_hat, worst.ess_bulk);
        if worst.r_hat < 1.01 {
            return Ok(());
        }
    }
    println!("not reached with {MOST} draws");
    Ok(())
}

// ---- mixing

/// Seconds of processor time of this thread; NaN where Linux does not say.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|word| word.parse().ok()).map_or(f64::NAN, |nanoseconds: f64| 1e-9 * nanoseconds)
}

/// 70 % of the rows of a set.
fn part(set: &str, bank: &str) -> Outcome<Problem> {
    let data = bundled(set)?;
    let train = data.select(&repeats(&data.labels, 1, 0.7, 0)?[0].train);
    let rows = Scaler::fit(train.samples.features())?.apply(train.samples.features())?;
    Problem::new(&rows, train.labels.codes().to_vec(), bank, Precision::F32)
}

/// 144 rows of 229 columns, two of which decide the class: 2,990 kernels.
fn planted() -> Outcome<Problem> {
    let mut rng = Rng::new(0, 0);
    let rows = Matrix::from_fn(144, 229, |_, _| normal(&mut rng));
    let class = |row: &[f64]| usize::from((2.0 * row[3]).sin() + row[7] > 0.0);
    let codes = rows.rows().map(class).collect();
    Problem::new(&rows.into(), codes, COLUMNS, Precision::F32)
}

/// A sampler, its run, and seconds by the clock and of the processor.
struct Rival<'a> {
    name: String,
    run: Run<'a>,
    clock: f64,
    processor: f64,
}

/// All samplers on all problems, four chains each, beside what as many independent draws have.
fn mixing(shapes: &[usize], leaps: &[String], n_draws: &str) -> Outcome<()> {
    let pool = Pool::new(1)?;
    for n_kernels in [16, 126, 793, 2990] {
        if !shapes.is_empty() && !shapes.contains(&n_kernels) {
            continue;
        }
        let problem = match n_kernels {
            16 => part("sonar", "gaussian(2^-6..2^6), polynomial(1..3)")?,
            126 => part("glass6", "gaussian(2^-6..2^7) each")?,
            793 => part("sonar", COLUMNS)?,
            _ => planted()?,
        };
        assert_eq!(problem.stack.n_kernels(), n_kernels);
        println!("\n== mixing: {n_kernels} kernels, {} rows, one thread", problem.stack.n_rows());
        let samplers = std::iter::once(("collapsed", "0")).chain(leaps.iter().map(|leaps| ("split", leaps.as_str())));
        let mut rivals = vec![];
        for (sampler, leaps) in samplers {
            let settings = [("warmup", "50"), ("draws", n_draws), ("sampler", sampler), ("leapfrog", leaps)];
            let name = format!("{sampler}, leapfrog={leaps}");
            rivals.push(Rival { name, run: Run::new(&problem, &settings, &pool)?, clock: 0.0, processor: 0.0 });
        }
        race(&mut rivals);
        rivals.into_iter().try_for_each(tell_mixing)?;
        let (n_draws, mut rng) = (n_draws.parse()?, Rng::new(1, 0));
        let mut chain = || (0..n_draws).map(|_| normal(&mut rng)).collect::<Vec<f64>>();
        let independent: Vec<Vec<Vec<f64>>> = (0..n_kernels).map(|_| (0..4).map(|_| chain()).collect()).collect();
        println!("independent: R-hat by draws{}", agreement_by_draws(&independent));
    }
    Ok(())
}

/// Sweeps in alternation, so that other work on the machine slows all alike; warm-up is not timed.
fn race(rivals: &mut [Rival<'_>]) {
    let Bm3kl { warmup, draws, .. } = rivals[0].run.method;
    for sweep in 0..warmup + draws {
        for rival in &mut *rivals {
            let (clock, processor) = (Instant::now(), processor_seconds());
            rival.run.step();
            if sweep >= warmup {
                rival.clock += clock.elapsed().as_secs_f64();
                rival.processor += processor_seconds() - processor;
            }
        }
    }
}

fn tell_mixing(Rival { name, run, clock, processor }: Rival<'_>) -> Outcome<()> {
    let model = run.state.finish(&run.method, &run.task)?;
    let worth = (model.draws().ok_or("no draws")?, clock);
    tell_worth(&name, &worth)?;
    let (draws, n_kernels) = (worth.0, run.task.stack()?.n_kernels());
    let (worst, log_nu) = (draws.worst().ok_or("no kernel weights")?, diagnose(&draws.chains("log_nu", 0)?));
    println!(
        "; processor {processor:.2} s, {:.2} a second; log nu ESS {:.0}, R-hat {:.3}",
        worst.ess_bulk / processor,
        log_nu.ess_bulk,
        log_nu.r_hat
    );
    let facts = model.facts();
    let accepted = facts.iter().find(|(name, _)| name == "accepted").map_or("", |(_, text)| text);
    let weights = (0..n_kernels).map(|m| draws.chains("weights", m)).collect::<Result<Vec<_>, _>>()?;
    println!("    accepted {accepted}; R-hat by draws{}", agreement_by_draws(&weights));
    Ok(())
}

/// The largest R-hat of all variables after each fifty draws.
fn agreement_by_draws(variables: &[Vec<Vec<f64>>]) -> String {
    let n_draws = variables[0][0].len();
    let worst = |n: usize| {
        let first = |chains: &Vec<Vec<f64>>| chains.iter().map(|chain| chain[..n].to_vec()).collect::<Vec<_>>();
        variables.iter().map(|chains| diagnose(&first(chains)).r_hat).fold(0.0, f64::max)
    };
    (50..=n_draws).step_by(50).map(|n| format!(" {n} {:.3}", worst(n))).collect()
}
