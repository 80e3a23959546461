//! Kernel boosting, timed: `mkboost-d1` and its variants on half of the rows of a few data sets.
//!
//! ```text
//! cargo bench -p multikernel --bench mkboost -- --data-dir DIR [--sets sonar,segment] [--methods mkboost-d1] [--splits 3]
//!     [--repeats 3] [--threads 1,2] [--set key=value] [--json FILE]
//! ```
//!
//! For each set and method: mean accuracy on the other half, and seconds of training, kernels included, the best of
//! several repeats of the first split. With `--json` everything goes to a file, with the training rows of each split,
//! so that `benches/mkboost_sklearn.py` can do the same. Sets that are not in DIR are skipped with a message.

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use multikernel::data::{Dataset, ReadOptions, load, repeats};
use multikernel::evaluate::{Metrics, Spread};
use multikernel::plan::Session;
use multikernel::run::Silent;
use multikernel::{Plan, Pool};
use serde_json::{Value, json};

type Outcome<T> = Result<T, Box<dyn Error>>;

const BANK: &str = "gaussian(2^-6..2^7), polynomial(1..3)";

struct Args {
    dir: Option<PathBuf>,
    sets: Vec<String>,
    methods: Vec<String>,
    n_splits: usize,
    n_repeats: usize,
    threads: Vec<usize>,
    params: Vec<(String, String)>,
    json: Option<PathBuf>,
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::to_string).collect()
}

fn parse(mut words: impl Iterator<Item = String>) -> Outcome<Args> {
    let mut args = Args {
        dir: None,
        sets: list("sonar,ionosphere,german.numer,segment"),
        methods: list("mkboost-d1,mkboost-d2,mkboost-s1,mkboost-s2"),
        n_splits: 3,
        n_repeats: 3,
        threads: vec![1, 2],
        params: vec![],
        json: None,
    };
    while let Some(word) = words.next() {
        let mut next = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--data-dir" => args.dir = Some(PathBuf::from(next()?)),
            "--sets" => args.sets = list(&next()?),
            "--methods" => args.methods = list(&next()?),
            "--splits" => args.n_splits = next()?.parse()?,
            "--repeats" => args.n_repeats = next()?.parse()?,
            "--threads" => args.threads = list(&next()?).iter().map(|n| n.parse()).collect::<Result<_, _>>()?,
            "--set" => {
                let text = next()?;
                let (name, value) = text.split_once('=').ok_or("--set needs key=value")?;
                args.params.push((name.into(), value.into()));
            }
            "--json" => args.json = Some(PathBuf::from(next()?)),
            // Cargo adds these.
            "--bench" | "--test" => {}
            _ => return Err(format!("unknown word {word}").into()),
        }
    }
    Ok(args)
}

fn main() -> Outcome<()> {
    let args = parse(std::env::args().skip(1))?;
    let Some(dir) = &args.dir else {
        println!("skipped: give --data-dir with the folder of the sets");
        return Ok(());
    };
    let mut all = vec![];
    for name in &args.sets {
        let path = dir.join(format!("{name}.csv.gz"));
        if !path.exists() {
            println!("{name}: skipped, no {name}.csv.gz in the folder");
            continue;
        }
        let data = load(&path.display().to_string(), &ReadOptions::default())?.into_dataset()?;
        all.push(measure(name, &data, &args)?);
    }
    if let Some(path) = &args.json {
        std::fs::write(path, Value::from(all).to_string())?;
    }
    Ok(())
}

fn measure(name: &str, data: &Dataset, args: &Args) -> Outcome<Value> {
    let splits = repeats(&data.labels, args.n_splits, 0.5, 0)?;
    println!("{name}: {} training rows, {} classes", splits[0].train.len(), data.labels.n_classes());
    let pools = args.threads.iter().map(|&n| Pool::new(n)).collect::<Result<Vec<_>, _>>()?;
    let mut methods = vec![];
    for method in &args.methods {
        let mut plan = Plan::new(method)?.kernels(BANK)?;
        for (name, value) in &args.params {
            plan = plan.set(name, value)?;
        }
        let mut accuracies = vec![];
        let mut fits = 0;
        for (s, split) in splits.iter().enumerate() {
            let (train, test) = (data.select(&split.train), data.select(&split.test));
            let plan = plan.clone().seed(s as u64);
            let model = plan.train_in(&train, &mut Session::new(&pools[pools.len() - 1], &mut Silent))?;
            let predicted = model.predict_in(&test.samples, &pools[pools.len() - 1])?;
            let n_classes = data.labels.n_classes();
            accuracies.push(Metrics::new(test.labels.codes(), &predicted.labels, None, n_classes)?.accuracy);
            let fact = model.training().facts().into_iter().find(|(name, _)| name == "SVM fits");
            fits += fact.and_then(|(_, n)| n.parse::<usize>().ok()).unwrap_or(0);
        }
        let train = data.select(&splits[0].train);
        let seconds: Vec<f64> =
            pools.iter().map(|pool| best_of(&plan, &train, pool, args.n_repeats)).collect::<Outcome<_>>()?;
        let spread = Spread::of(&accuracies).ok_or("no splits")?;
        let times: Vec<String> =
            args.threads.iter().zip(&seconds).map(|(n, s)| format!("{n} threads {s:.4} s")).collect();
        println!(
            "  {method:<12} accuracy {:.4} ± {:.4}   {}   {:.2} of one thread   {fits} SVMs",
            spread.mean,
            spread.std.unwrap_or(0.0),
            times.join(", "),
            seconds[0] / seconds[seconds.len() - 1],
        );
        methods.push(json!({
            "method": method, "accuracy": accuracies, "threads": args.threads, "seconds": seconds, "fits": fits,
        }));
    }
    let train: Vec<&Vec<usize>> = splits.iter().map(|split| &split.train).collect();
    Ok(json!({"name": name, "train": train, "methods": methods}))
}

/// Seconds of the fastest of several trainings, kernels included.
fn best_of(plan: &Plan, train: &Dataset, pool: &Pool, n_repeats: usize) -> Outcome<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..n_repeats.max(1) {
        let begin = Instant::now();
        plan.train_in(train, &mut Session::new(pool, &mut Silent))?;
        best = best.min(begin.elapsed().as_secs_f64());
    }
    Ok(best)
}
