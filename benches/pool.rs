//! What threads gain: pieces of arithmetic, and training, on one thread and on several in turns.
//!
//! ```text
//! cargo bench -p multikernel --bench pool -- [pieces] [train] [--data-dir DIR] [--threads 2] [--turns 9] [--quick]
//! ```
//!
//! Without a section both are run. `pieces` is sixteen equal pieces of arithmetic after a pause in which threads may
//! fall asleep; `train` is `bm3kl` on sonar and `evidence` on german.numer (from DIR, skipped without it) at their
//! defaults. Medians and minima over all turns are printed. Models must be the same.

use std::error::Error;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use multikernel::data::{Dataset, ReadOptions, bundled, read};
use multikernel::plan::Session;
use multikernel::run::Silent;
use multikernel::{Plan, Pool};

type Outcome<T> = Result<T, Box<dyn Error>>;

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

/// Prints the median and minimum of the seconds on one thread and on several.
fn tell(times: &mut [Vec<f64>; 2], unit: (f64, &str)) {
    times.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
    let [one, several] = [0, 1].map(|k| [times[k][times[k].len() / 2], times[k][0]].map(|time| unit.0 * time));
    println!(
        "  one thread {:.3} {unit} ({:.3}), several {:.3} ({:.3}): {:.2} ({:.2}) times as fast",
        one[0],
        one[1],
        several[0],
        several[1],
        one[0] / several[0],
        one[1] / several[1],
        unit = unit.1,
    );
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
        let pools = [Pool::new(1)?, Pool::new(n_threads)?];
        let mut times = [vec![], vec![]];
        (0..turns).for_each(|_| times.iter_mut().zip(&pools).for_each(|(times, pool)| times.push(once(pool))));
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
    let pools = [Pool::new(1)?, Pool::new(n_threads)?];
    let (mut times, mut weights) = ([vec![], vec![]], None);
    for _ in 0..turns {
        for (times, pool) in times.iter_mut().zip(&pools) {
            let (found, seconds) = once(pool).map_err(|error: multikernel::Error| error)?;
            times.push(seconds);
            if *weights.get_or_insert_with(|| found.clone()) != found {
                return Err(format!("{method}: {} threads gave other weights", pool.n_threads()).into());
            }
        }
    }
    println!("\n{method} on {}, {} rows, {n_threads} threads, {turns} turns", data.name, data.labels.codes().len());
    tell(&mut times, (1.0, "s"));
    Ok(())
}
