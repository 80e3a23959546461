//! Our own pool against rayon, whose pool includes the calling thread as a worker and is entered once around the whole
//! job.
//!
//! ```text
//! cargo bench -p multikernel --features rayon-bench --bench pool -- [pieces] [train] [--data-dir DIR] [--threads 2] [--turns 9] [--quick]
//! ```
//!
//! Without a section both are run. `pieces` is sixteen equal pieces of arithmetic after a pause in which threads may
//! fall asleep; `train` is `bm3kl` on sonar and `evidence` on german.numer (from DIR, skipped without it) at their
//! defaults. Pools alternate, each on a separate thread; medians and minima over all turns are printed. rayon is run
//! with pieces of our size, and with its own choice. Models must be the same.

use std::error::Error;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use multikernel::data::{Dataset, ReadOptions, bundled, read};
use multikernel::plan::Session;
use multikernel::run::Silent;
use multikernel::{Plan, Pool, RayonPieces};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// The pools compared.
#[derive(Clone, Copy)]
enum Kind {
    Alone,
    Ours,
    Rayon(RayonPieces),
}

const KINDS: [(&str, Kind); 4] = [
    ("one thread", Kind::Alone),
    ("ours", Kind::Ours),
    ("rayon, pieces as ours", Kind::Rayon(RayonPieces::Same)),
    ("rayon, its own pieces", Kind::Rayon(RayonPieces::Rayon)),
];

impl Kind {
    fn pool(self, n_threads: usize) -> multikernel::Result<Pool> {
        match self {
            Kind::Alone => Pool::new(1),
            Kind::Ours => Pool::new(n_threads),
            Kind::Rayon(pieces) => Pool::rayon(n_threads, pieces),
        }
    }
}

fn main() -> Outcome<()> {
    let (mut sections, mut dir, mut n_threads, mut turns) = (vec![], None, 2, 9);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut next = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--data-dir" => dir = Some(PathBuf::from(next()?)),
            "--threads" => n_threads = next()?.parse()?,
            "--turns" => turns = next()?.parse::<usize>()?.max(1),
            "--quick" => turns = 1,
            // Cargo adds these.
            "--bench" | "--test" => {}
            "pieces" | "train" => sections.push(word),
            _ => return Err(format!("unknown word {word}").into()),
        }
    }
    let wants = |name: &str| sections.is_empty() || sections.iter().any(|section| section == name);
    if wants("pieces") {
        pieces(n_threads, 200 * turns)?;
    }
    if wants("train") {
        train("bm3kl", &bundled("sonar")?, n_threads, turns)?;
        match dir.map(|dir| dir.join("german.numer.csv.gz")).filter(|path| path.exists()) {
            Some(path) => train("evidence", &read(&path, &ReadOptions::default())?.into_dataset()?, n_threads, turns)?,
            None => println!("\nevidence on german.numer is left out: give --data-dir with german.numer.csv.gz"),
        }
    }
    Ok(())
}

/// The result of `job` with a pool of this kind, on a separate thread: a thread can be a worker of only one rayon pool.
fn with_pool<T: Send>(kind: Kind, n_threads: usize, job: impl FnOnce(&Pool) -> T + Send) -> multikernel::Result<T> {
    let inside = || {
        let pool = kind.pool(n_threads)?;
        Ok(pool.install(|| job(&pool)))
    };
    std::thread::scope(|scope| scope.spawn(inside).join().expect("no panic"))
}

/// Prints the median and minimum of the seconds in `of_kinds` for each kind.
fn tell(of_kinds: &mut [Vec<f64>], unit: (f64, &str)) {
    of_kinds.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
    let pick = |k: usize| [of_kinds[k][of_kinds[k].len() / 2], of_kinds[k][0]];
    let (alone, ours) = (pick(0), pick(1));
    for (k, (name, _)) in KINDS.iter().enumerate() {
        let [median, least] = pick(k);
        println!(
            "  {name:<22} {:>9.3} {unit} ({:.3}), {:.2} ({:.2}) times one thread, takes {:.3} ({:.3}) times as long as ours",
            unit.0 * median,
            unit.0 * least,
            alone[0] / median,
            alone[1] / least,
            median / ours[0],
            least / ours[1],
            unit = unit.1,
        );
    }
}

/// A chain of this many multiply-adds.
fn arithmetic(steps: usize) -> f64 {
    (0..steps).fold(black_box(1.0), |x: f64, _| x.mul_add(0.999_999, 1e-6))
}

fn pieces(n_threads: usize, turns: usize) -> Outcome<()> {
    const PIECES: usize = 16;
    for (steps, pause) in [1_000, 10_000, 100_000].into_iter().flat_map(|steps| [0, 20, 200].map(|us| (steps, us))) {
        let turns = (turns * 1_000 / steps).max(9);
        let once = |pool: &Pool| {
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_micros(pause) {
                std::hint::spin_loop();
            }
            let begin = Instant::now();
            black_box(pool.map(PIECES, |_| arithmetic(steps)));
            begin.elapsed().as_secs_f64()
        };
        let run = |(_, kind): (_, Kind)| with_pool(kind, n_threads, |pool| (0..turns).map(|_| once(pool)).collect());
        let mut times = KINDS.map(run).into_iter().collect::<multikernel::Result<Vec<Vec<f64>>>>()?;
        println!("\n{PIECES} pieces of {steps} steps, {n_threads} threads, {pause} us after the last");
        tell(&mut times, (1e6, "us"));
    }
    Ok(())
}

fn train(method: &str, data: &Dataset, n_threads: usize, turns: usize) -> Outcome<()> {
    let plan = Plan::new(method)?;
    let once = |pool: &Pool| {
        let begin = Instant::now();
        let model = plan.train_in(data, &mut Session::new(pool, &mut Silent))?;
        let seconds = begin.elapsed().as_secs_f64();
        Ok((model.kernels().weights().map(<[f64]>::to_vec), seconds))
    };
    let (mut times, mut weights) = (vec![vec![]; KINDS.len()], None);
    for _ in 0..turns {
        for (times, (name, kind)) in times.iter_mut().zip(KINDS) {
            let (found, seconds) = with_pool(kind, n_threads, once)?.map_err(|error: multikernel::Error| error)?;
            times.push(seconds);
            if *weights.get_or_insert_with(|| found.clone()) != found {
                return Err(format!("{method}: {name} gave other weights").into());
            }
        }
    }
    println!("\n{method} on {}, {} rows, {n_threads} threads, {turns} turns", data.name, data.labels.codes().len());
    tell(&mut times, (1.0, "s"));
    Ok(())
}
