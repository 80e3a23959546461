//! The papers' tables run again: every method on the same splits, published figures beside ours.
//!
//! Seed s makes one split, or one order of a stream, and is the seed of all methods on it; a table has the seeds from 0 on.
//! Where training and test rows are fixed, it is the seed of the methods alone.

mod columns;
mod line;
mod mkboost;
mod mklda;
mod show;
mod source;
mod stream;

use std::path::Path;

pub use line::{Agreement, Figures, Line, Published};

use self::show::Layout;
use self::source::{Source, find};
use crate::data::repeats;
use crate::error::{Error, Result};
use crate::evaluate::{Fold, LEVEL, compare_with_first, one_split};
use crate::method::{Model, Plan, Session};
use crate::run::Progress;

/// A table that can be run again.
#[derive(Clone, Copy, Debug)]
pub struct Reproducible {
    /// What `multikernel reproduce` calls it.
    pub name: &'static str,
    /// What it shows.
    pub summary: &'static str,
    /// The data sets it takes, in order.
    pub sets: &'static [&'static str],
    parts: fn(&str) -> Vec<Part>,
    layout: Layout,
}

/// All tables.
pub fn tables() -> &'static [Reproducible] {
    &[mkboost::TABLE, columns::TABLE, mklda::TABLE, mklda::CONFIRM, mklda::ONLINE]
}

/// What is run on one set with one bank.
struct Part {
    /// The bank in words.
    bank: &'static str,
    /// The bank for a set of so many columns under a seed; none is each method's own.
    kernels: Option<fn(usize, u64) -> String>,
    split: Split,
    /// Seeds, unless the caller wants another number of them.
    n_seeds: u64,
    entries: Vec<Entry>,
}

impl Part {
    /// On 20 stratified halves.
    fn halves(bank: &'static str, kernels: fn(usize, u64) -> String, entries: Vec<Entry>) -> Part {
        Part { bank, kernels: Some(kernels), split: Split::Share(0.5), n_seeds: 20, entries }
    }
}

/// Who learns and who is tested.
#[derive(Clone, Copy, PartialEq)]
enum Split {
    /// This share of the rows learns, drawn by the seed class by class.
    Share(f64),
    /// So many rows learn, drawn by the seed class by class.
    Rows(usize),
    /// One file learns, another tests.
    Fixed,
    /// All rows in an order drawn by the seed, each predicted, then learned; weights are learned every so many rows.
    Stream { update_every: usize },
}

impl Split {
    fn words(self) -> String {
        match self {
            Split::Share(0.5) => "stratified halves".into(),
            Split::Share(share) => format!("{:.0} % to train", 100.0 * share),
            Split::Rows(n) => format!("{n} rows to train"),
            Split::Fixed => "two files".into(),
            Split::Stream { update_every } => format!("updates every {update_every} rows"),
        }
    }
}

/// A method with its settings; the first of a part is what the others are compared with.
struct Entry {
    method: &'static str,
    settings: &'static [(&'static str, &'static str)],
    published: Option<Published>,
}

impl Entry {
    fn title(&self) -> String {
        let settings: Vec<String> = self.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        [&[self.method.to_string()], settings.as_slice()].concat().join(" ")
    }

    fn plan(&self, kernels: Option<&str>, seed: u64) -> Result<Plan> {
        let plan = Plan::new(self.method)?.seed(seed);
        let plan = kernels.into_iter().try_fold(plan, Plan::kernels)?;
        self.settings.iter().try_fold(plan, |plan, (name, value)| plan.set(name, value))
    }
}

/// A table that was run again.
#[derive(Clone, Debug)]
pub struct Reproduction {
    /// Its name.
    pub table: String,
    /// Its lines.
    pub lines: Vec<Line>,
    /// Sets that were not found, or not reached.
    pub left_out: Vec<String>,
    layout: Layout,
}

/// Runs a table again on the sets that are bundled or lie in `data_dir`: as `NAME.csv.gz`, as `NAME.train.csv.gz` and
/// `NAME.test.csv.gz` where the split is fixed, or as a folder of views. `only` names the sets wanted, all if empty; `n_seeds`
/// is how many seeds, `None` for the table's own number. Stopped, it gives the sets that were done.
pub fn reproduce(
    table: &str,
    data_dir: Option<&Path>,
    only: &[String],
    n_seeds: Option<u64>,
    session: &mut Session<'_>,
) -> Result<Reproduction> {
    let names: Vec<&str> = tables().iter().map(|table| table.name).collect();
    let found = tables()
        .iter()
        .find(|known| known.name == table)
        .ok_or_else(|| Error::param("table", format!("`{table}` is unknown; known: {}", names.join(", "))))?;
    if let Some(set) = only.iter().find(|set| !found.sets.contains(&set.as_str())) {
        let sets = found.sets.join(", ");
        return Err(Error::param("only", format!("`{set}` is not a set of the table {table}; its sets are {sets}")));
    }
    let (mut lines, mut left_out) = (vec![], vec![]);
    for set in found.sets.iter().filter(|set| only.is_empty() || only.iter().any(|name| name == *set)) {
        let parts = (found.parts)(set);
        let source = match find(set, parts.iter().any(|part| part.split == Split::Fixed), data_dir)? {
            Ok(source) => source,
            Err(missing) => {
                left_out.push(missing);
                continue;
            }
        };
        for part in parts {
            match measure(&source, &part, n_seeds.unwrap_or(part.n_seeds), session) {
                Ok(found) => lines.extend(found),
                Err(Error::Stopped(_)) if !lines.is_empty() => {
                    left_out.push(format!("{set} ({}) and what follows: stopped", part.bank));
                    return Ok(Reproduction { table: table.into(), lines, left_out, layout: found.layout });
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(Reproduction { table: table.into(), lines, left_out, layout: found.layout })
}

/// What a part finds on one set over its seeds.
fn measure(source: &Source, part: &Part, n_seeds: u64, session: &mut Session<'_>) -> Result<Vec<Line>> {
    let name = &source.data.name;
    let empty = |entry: &Entry| Line::new(name, part.bank, part.split.words(), entry.title(), entry.published);
    let mut lines: Vec<Line> = part.entries.iter().map(empty).collect();
    let mut sizes = None;
    for seed in 0..n_seeds {
        session.observer.phase(&format!("{name}, {}", part.bank));
        session.observer.progress(&Progress::of(seed as usize, n_seeds as usize));
        sizes = one_seed(source, part, seed, &mut lines, session)?;
    }
    if let Some((n_train, n_test)) = sizes {
        let names: Vec<String> = lines.iter().map(|line| line.method.clone()).collect();
        let values: Vec<Vec<f64>> = lines.iter().map(|line| line.accuracies.clone()).collect();
        let paired = compare_with_first(&names, &values, n_train as f64, n_test as f64, LEVEL)?;
        lines[1..].iter_mut().zip(paired).for_each(|(line, paired)| line.difference = Some(paired));
    }
    Ok(lines)
}

/// Adds one seed to each line; the rows of a random split to train and to test on, for those that can be compared.
fn one_seed(
    source: &Source,
    part: &Part,
    seed: u64,
    lines: &mut [Line],
    session: &mut Session<'_>,
) -> Result<Option<(usize, usize)>> {
    let data = &source.data;
    let kernels = part.kernels.map(|kernels| kernels(data.samples.n_features(), seed));
    let plans: Vec<Plan> =
        part.entries.iter().map(|entry| entry.plan(kernels.as_deref(), seed)).collect::<Result<_>>()?;
    let n = data.samples.n_samples();
    let share = match part.split {
        Split::Stream { update_every } => {
            let data = stream::in_random_order(data, seed);
            for (line, plan) in lines.iter_mut().zip(&plans) {
                stream::measure(&data, plan, update_every, line, session)?;
            }
            return Ok(None);
        }
        Split::Fixed => {
            let Some(test) = &source.test else { return Ok(None) };
            add(lines, one_split(0, data, test, &plans, session)?, seed)?;
            return Ok(None);
        }
        Split::Share(share) => share,
        Split::Rows(n_train) => n_train as f64 / n as f64,
    };
    let split = repeats(&data.labels, 1, share, seed)?.remove(0);
    let (train, test) = (data.select(&split.train), data.select(&split.test));
    add(lines, one_split(0, &train, &test, &plans, session)?, seed)?;
    Ok(Some((split.train.len(), split.test.len())))
}

fn add(lines: &mut [Line], found: Vec<(Model, Fold)>, seed: u64) -> Result<()> {
    lines.iter_mut().zip(found).try_for_each(|(line, (model, fold))| line.add(&model, fold, seed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, bundled};
    use crate::dist::Rng;
    use crate::evaluate::{Protocol, evaluate};
    use crate::pool::Pool;
    use crate::run::Silent;

    #[test]
    fn reproduce_names_the_tables_and_sets_it_knows() {
        let pool = Pool::new(1).unwrap();
        let run = |table: &str, only: &[String]| {
            reproduce(table, None, only, Some(1), &mut Session::new(&pool, &mut Silent)).unwrap_err().to_string()
        };
        assert_eq!(
            run("mkbost", &[]),
            "parameter table: `mkbost` is unknown; known: mkboost, columns, mklda, mklda-confirm, mklda-online"
        );
        assert!(
            run("columns", &["iris".into()]).starts_with("parameter only: `iris` is not a set of the table columns")
        );
    }

    fn part(split: Split, entries: &[&'static str]) -> Part {
        let entry = |&method: &&'static str| Entry { method, settings: &[], published: None };
        let entries = entries.iter().map(entry).collect();
        Part { bank: "each method's own", kernels: None, split, n_seeds: 20, entries }
    }

    fn sonar(rows: std::ops::Range<usize>) -> Dataset {
        let mut order: Vec<usize> = (0..208).collect();
        Rng::new(0, 0).shuffle(&mut order);
        bundled("sonar").unwrap().select(&order[rows])
    }

    #[test]
    fn fixed_rows_differ_by_the_seed_of_the_method_alone() {
        let pool = Pool::new(1).unwrap();
        let source = Source { data: sonar(0..120), test: Some(sonar(120..208)) };
        let part = part(Split::Fixed, &["average", "majority"]);
        let lines = measure(&source, &part, 2, &mut Session::new(&pool, &mut Silent)).unwrap();
        let model = Plan::new("average").unwrap().train(&source.data).unwrap();
        let test = sonar(120..208);
        let predicted = model.predict(&test.samples).unwrap().labels;
        let right = predicted.iter().zip(test.labels.codes()).filter(|(a, b)| a == b).count();
        assert_eq!(lines[0].accuracies, [right as f64 / 88.0; 2]);
        // A method without randomness: nothing to compare, but each seed draws its own test rows for the interval.
        assert!(lines[1].difference.is_none());
        assert_eq!(lines[0].macro_fs[0], lines[0].macro_fs[1]);
        assert_ne!(lines[0].macro_f_intervals[0], lines[0].macro_f_intervals[1]);
        let (f, low, high) = lines[0].macro_f().unwrap();
        assert!(low < f && f < high && high - low > 0.05 && high - low < 0.3, "{low} {f} {high}");
    }

    #[test]
    fn drawn_rows_are_as_many_as_asked_for_and_stratified() {
        let pool = Pool::new(1).unwrap();
        let source = Source { data: sonar(0..208), test: None };
        for (split, sizes, words) in [
            (Split::Rows(150), (150, 58), "150 rows to train"),
            (Split::Share(0.8), (166, 42), "80 % to train"),
            (Split::Share(0.5), (104, 104), "stratified halves"),
        ] {
            let part = part(split, &["majority"]);
            let mut lines = [Line::new("sonar", part.bank, split.words(), "majority".into(), None)];
            let found = one_seed(&source, &part, 3, &mut lines, &mut Session::new(&pool, &mut Silent));
            assert_eq!(found.unwrap(), Some(sizes));
            // 111 of 208 are of the larger class, and as many of the test rows to one row.
            assert!((lines[0].accuracies[0] - 111.0 / 208.0).abs() <= 1.0 / sizes.1 as f64, "{words}");
            assert_eq!(lines[0].split, words);
        }
    }

    #[test]
    fn methods_on_drawn_rows_are_compared_with_the_first() {
        let pool = Pool::new(1).unwrap();
        let source = Source { data: sonar(0..208), test: None };
        let part = part(Split::Rows(150), &["average", "majority"]);
        let lines = measure(&source, &part, 4, &mut Session::new(&pool, &mut Silent)).unwrap();
        let paired = lines[1].difference.as_ref().unwrap();
        assert!(lines[0].difference.is_none() && paired.difference > 0.1 && paired.distinguishable);
        assert_eq!(lines[1].against_first().1, "below");
        // The split of a seed is the first of the repeats of that seed.
        let plan = Plan::new("average").unwrap();
        let protocol = Protocol::Repeats { n_repeats: 1, train_fraction: 150.0 / 208.0 };
        let found = evaluate(&source.data, &[plan], &protocol, 2, &mut Session::new(&pool, &mut Silent)).unwrap();
        assert_eq!(lines[0].accuracies[2], found.results[0].folds[0].metrics.accuracy);
    }

    #[test]
    fn every_plan_of_every_table_can_be_made() {
        for table in tables() {
            for set in table.sets {
                for part in (table.parts)(set) {
                    let kernels = part.kernels.map(|kernels| kernels(12, 3));
                    part.entries.iter().for_each(|entry| drop(entry.plan(kernels.as_deref(), 3).unwrap()));
                }
            }
        }
    }
}
