//! The cost of missing views: mfeat (six views of 2,000 digits) with a share of all (sample, view) pairs removed.
//!
//! ```text
//! cargo bench -p multikernel --bench views -- --data-dir DIR [--share 0.3] [--splits 10]
//! ```
//!
//! The same splits (half for training) four times: all views present; missing pairs skipped (`skip`); only complete
//! rows used for training (`drop`); means imputed (`impute`). The missing pairs are drawn once for each split. Skipped
//! without the data.

use std::error::Error;
use std::path::PathBuf;

use multikernel::data::{Dataset, Presence, ReadOptions, Samples, ViewSource, read_views};
use multikernel::dist::Rng;
use multikernel::evaluate::{LEVEL, Metrics, Spread, compare};
use multikernel::plan::{Missing, Session};
use multikernel::run::Silent;
use multikernel::{Plan, Pool, data::repeats};

type Outcome<T> = Result<T, Box<dyn Error>>;

const VIEWS: [&str; 6] = ["fac", "fou", "kar", "mor", "pix", "zer"];

fn main() -> Outcome<()> {
    let (mut dir, mut share, mut n_splits) = (None, 0.3, 10);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut next = || words.next().ok_or(format!("{word} needs a value"));
        match word.as_str() {
            "--data-dir" => dir = Some(PathBuf::from(next()?)),
            "--share" => share = next()?.parse::<f64>()?,
            "--splits" => n_splits = next()?.parse::<usize>()?,
            // Cargo adds these.
            "--bench" | "--test" => {}
            _ => return Err(format!("unknown word {word}").into()),
        }
    }
    let Some(dir) = dir.map(|dir| dir.join("mfeat")).filter(|dir| dir.exists()) else {
        println!("skipped: give --data-dir with the folder mfeat");
        return Ok(());
    };
    let source = |name: &str| dir.join(format!("{name}.csv.gz")).display().to_string();
    let views = VIEWS.map(|name| ViewSource { name: name.into(), source: source(name) });
    let whole = read_views(&views, None, &ReadOptions::default())?.into_dataset()?;
    let pool = Pool::new(0)?;
    let ways = [
        ("all views there", None),
        ("skip", Some(Missing::Skip)),
        ("drop", Some(Missing::Drop)),
        ("impute", Some(Missing::Impute)),
    ];
    let mut found = vec![vec![]; ways.len()];
    for (s, split) in repeats(&whole.labels, n_splits, 0.5, 0)?.into_iter().enumerate() {
        let holes = with_holes(&whole, share, s as u64)?;
        for ((_, missing), found) in ways.iter().zip(&mut found) {
            let set = if missing.is_some() { &holes } else { &whole };
            let plan = Plan::new("average")?.missing(missing.unwrap_or_default());
            let train = set.select(&split.train);
            let model = plan.train_in(&train, &mut Session::new(&pool, &mut Silent))?;
            let test = set.select(&split.test);
            let predicted = model.predict_in(&test.samples, &pool)?;
            found.push(Metrics::new(test.labels.codes(), &predicted.labels, None, 10)?.accuracy);
        }
        if s == 0 {
            let complete = Presence::of(holes.samples.features(), holes.samples.views());
            let n = complete.map_or(2000, |presence| (0..2000).filter(|&i| presence.is_complete(i)).count());
            println!(
                "mfeat, method average at its defaults, {n_splits} splits, {:.0} % of pairs missing: {n} of 2000 rows are complete\n",
                100.0 * share
            );
        }
    }
    for ((name, _), found) in ways.iter().zip(&found) {
        let spread = Spread::of(found).ok_or("no splits")?;
        println!("{name:<16} accuracy {:.4} ± {:.4}   {found:.4?}", spread.mean, spread.std.unwrap_or(0.0));
    }
    println!("\npaired differences, {:.0} % intervals", 100.0 * LEVEL);
    let names: Vec<String> = ways.iter().map(|(name, _)| name.to_string()).collect();
    for pair in compare(&names, &found, 1000.0, 1000.0, LEVEL)? {
        let (low, high) = pair.interval.unwrap_or((f64::NAN, f64::NAN));
        let verdict = if pair.distinguishable { "" } else { "not distinguishable" };
        println!(
            "{:<32} {:+.4} [{low:+.4}, {high:+.4}] {verdict}",
            format!("{} - {}", pair.a, pair.b),
            pair.difference
        );
    }
    Ok(())
}

/// Removes each (sample, view) pair with this probability; a sample that would lose all keeps one, drawn at random.
fn with_holes(set: &Dataset, share: f64, stream: u64) -> Outcome<Dataset> {
    let mut rng = Rng::new(0, (1 << 41) + stream);
    let mut rows = set.samples.features().to_dense()?.into_owned();
    let views = set.samples.views();
    for i in 0..rows.n_rows() {
        let mut gone: Vec<bool> = views.iter().map(|_| rng.uniform() < share).collect();
        if gone.iter().all(|&gone| gone) {
            gone[rng.below(views.len())] = false;
        }
        for (view, _) in views.iter().zip(gone).filter(|(_, gone)| *gone) {
            rows.row_mut(i)[view.columns.clone()].fill(f64::NAN);
        }
    }
    let samples = Samples::new(rows, set.samples.names().to_vec())?.with_views(views.to_vec())?;
    Ok(Dataset { samples, ..set.clone() })
}
