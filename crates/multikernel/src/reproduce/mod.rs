//! The papers' tables run again: every method on the same splits, published figures beside ours.
//!
//! Seed s makes one stratified half-and-half split and is the seed of all methods on it; a table has the seeds from 0 on.

mod columns;
mod mkboost;

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::data::{Dataset, bundled, bundled_sets, repeats};
use crate::error::{Error, Result};
use crate::evaluate::{LEVEL, Paired, Spread, compare_with_first, one_split};
use crate::method::{Plan, Session};
use crate::report::{Table, count};
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
}

/// All tables.
pub fn tables() -> &'static [Reproducible] {
    &[mkboost::TABLE, columns::TABLE]
}

/// What is run on one set with one bank.
struct Part {
    /// The bank in words.
    bank: &'static str,
    /// The bank for a set of so many columns under a seed.
    kernels: fn(usize, u64) -> String,
    entries: Vec<Entry>,
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

    fn plan(&self, kernels: &str, seed: u64) -> Result<Plan> {
        let plan = Plan::new(self.method)?.seed(seed).kernels(kernels)?;
        self.settings.iter().try_fold(plan, |plan, (name, value)| plan.set(name, value))
    }
}

/// What a paper and our prototype say.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// The paper's mean accuracy and its standard deviation over 20 splits; `None` where it is no honest target.
    pub paper: Option<(f64, f64)>,
    /// The mean accuracy of our prototype; without one the paper's figure is shown and not judged, because what it was
    /// measured with is not known well enough.
    pub prototype: Option<f64>,
}

/// Whether a figure agrees with a published one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// Within two standard errors of the difference of the means.
    Paper,
    /// Not with the paper, but within one point of the prototype.
    Prototype,
    /// With neither.
    Neither,
}

impl Agreement {
    fn word(self) -> &'static str {
        match self {
            Agreement::Paper => "paper",
            Agreement::Prototype => "prototype",
            Agreement::Neither => "NEITHER",
        }
    }
}

impl Published {
    /// `|ours - paper| <= 2 sqrt(s_paper^2 / 20 + s_ours^2 / n)`, or within .01 of the prototype.
    fn agreement(&self, ours: Spread, n: usize) -> Option<Agreement> {
        let prototype = self.prototype?;
        let near = |&(mean, std): &(f64, f64)| {
            // One split says nothing of its spread: the paper's stands in.
            let own = ours.std.unwrap_or(std);
            (ours.mean - mean).abs() <= 2.0 * (std * std / 20.0 + own * own / n.max(1) as f64).sqrt()
        };
        Some(if self.paper.as_ref().is_some_and(near) {
            Agreement::Paper
        } else if (ours.mean - prototype).abs() <= 0.01 {
            Agreement::Prototype
        } else {
            Agreement::Neither
        })
    }
}

/// One method on one set with one bank, over all seeds.
#[derive(Clone, Debug)]
pub struct Line {
    /// The data set.
    pub dataset: String,
    /// The bank in words.
    pub bank: String,
    /// Number of kernels.
    pub n_kernels: usize,
    /// The method and the settings that are not its defaults.
    pub method: String,
    /// Accuracy on the held-out half, one per seed.
    pub accuracies: Vec<f64>,
    /// Seconds to train, kernels included, one per seed.
    pub seconds: Vec<f64>,
    /// SVMs solved, for methods that count them; one per seed.
    pub fits: Vec<f64>,
    /// What was published.
    pub published: Option<Published>,
    /// The difference in accuracy to the first method of the part, on the same splits.
    pub difference: Option<Paired>,
    /// Splits on which the model had a warning.
    pub n_warnings: usize,
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
}

/// Runs a table again on the sets that are bundled or lie in `data_dir` as `NAME.csv.gz`; `only` names the sets wanted, all
/// if empty. Stopped, it gives the sets that were done.
pub fn reproduce(
    table: &str,
    data_dir: Option<&Path>,
    only: &[String],
    n_seeds: u64,
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
        let Some(data) = find(set, data_dir)? else {
            left_out.push(format!("{set} (give --data-dir with {set}.csv.gz)"));
            continue;
        };
        for part in (found.parts)(set) {
            match measure(&data, &part, n_seeds, session) {
                Ok(found) => lines.extend(found),
                Err(Error::Stopped(_)) if !lines.is_empty() => {
                    left_out.push(format!("{set} ({}) and what follows: stopped", part.bank));
                    return Ok(Reproduction { table: table.into(), lines, left_out });
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(Reproduction { table: table.into(), lines, left_out })
}

fn find(set: &str, data_dir: Option<&Path>) -> Result<Option<Dataset>> {
    if bundled_sets().iter().any(|known| known.name == set) {
        return bundled(set).map(Some);
    }
    let path: Option<PathBuf> = data_dir.map(|dir| dir.join(format!("{set}.csv.gz"))).filter(|path| path.exists());
    let Some(path) = path else { return Ok(None) };
    let table = crate::data::read(&path, &crate::data::ReadOptions::default())?;
    table.into_dataset().map(Some)
}

fn measure(data: &Dataset, part: &Part, n_seeds: u64, session: &mut Session<'_>) -> Result<Vec<Line>> {
    let empty = |entry: &Entry| Line {
        dataset: data.name.clone(),
        bank: part.bank.into(),
        n_kernels: 0,
        method: entry.title(),
        accuracies: vec![],
        seconds: vec![],
        fits: vec![],
        published: entry.published,
        difference: None,
        n_warnings: 0,
    };
    let mut lines: Vec<Line> = part.entries.iter().map(empty).collect();
    let mut sizes = (0.0, 0.0);
    for seed in 0..n_seeds {
        session.observer.phase(&format!("{}, {}", data.name, part.bank));
        session.observer.progress(&Progress::of(seed as usize, n_seeds as usize));
        let split = repeats(&data.labels, 1, 0.5, seed)?.remove(0);
        let (train, test) = (data.select(&split.train), data.select(&split.test));
        sizes = (train.samples.n_samples() as f64, test.samples.n_samples() as f64);
        let kernels = (part.kernels)(data.samples.n_features(), seed);
        let plans: Vec<Plan> = part.entries.iter().map(|entry| entry.plan(&kernels, seed)).collect::<Result<_>>()?;
        for (line, (model, fold)) in lines.iter_mut().zip(one_split(0, &train, &test, &plans, session)?) {
            line.n_kernels = model.kernels().len();
            line.accuracies.push(fold.metrics.accuracy);
            line.seconds.push(fold.train_seconds);
            line.n_warnings += usize::from(!fold.warnings.is_empty());
            let fits = model.facts().into_iter().find(|(name, _)| name == "SVM fits");
            line.fits.extend(fits.and_then(|(_, text)| text.parse::<f64>().ok()));
        }
    }
    let names: Vec<String> = lines.iter().map(|line| line.method.clone()).collect();
    let values: Vec<Vec<f64>> = lines.iter().map(|line| line.accuracies.clone()).collect();
    let paired = compare_with_first(&names, &values, sizes.0, sizes.1, LEVEL)?;
    lines[1..].iter_mut().zip(paired).for_each(|(line, paired)| line.difference = Some(paired));
    Ok(lines)
}

impl Line {
    fn accuracy(&self) -> Spread {
        Spread::of(&self.accuracies).unwrap_or(Spread { mean: f64::NAN, std: None })
    }

    fn mean_seconds(&self) -> f64 {
        Spread::of(&self.seconds).map_or(f64::NAN, |spread| spread.mean)
    }

    /// Ours minus the first method's, as the reader of a table wants it, and whether that means anything.
    fn against_first(&self) -> (String, &'static str) {
        match self.difference.as_ref().map(|paired| (paired, paired.interval)) {
            Some((paired, Some((low, high)))) => {
                // Plus zero, so that none is printed as -0.
                let [middle, low, high] = [-paired.difference, -high, -low].map(|value| value + 0.0);
                let difference = format!("{middle:+.4} [{low:+.4}, {high:+.4}]");
                let word = match (paired.distinguishable, paired.difference < 0.0) {
                    (false, _) => "not distinguishable",
                    (true, true) => "above",
                    (true, false) => "below",
                };
                (difference, word)
            }
            _ => (String::new(), ""),
        }
    }
}

impl std::fmt::Display for Reproduction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut table = Table::new(&[
            "set",
            "bank",
            "P",
            "method",
            "accuracy",
            "paper",
            "prototype",
            "agrees with",
            "minus the first",
            "",
            "SVM fits",
            "train s",
        ]);
        for line in &self.lines {
            let accuracy = line.accuracy();
            let paper = line.published.and_then(|published| published.paper);
            let prototype = line.published.and_then(|published| published.prototype);
            let agreement = line.published.and_then(|published| published.agreement(accuracy, line.accuracies.len()));
            let (difference, word) = line.against_first();
            table.row(vec![
                line.dataset.clone(),
                line.bank.clone(),
                line.n_kernels.to_string(),
                line.method.clone(),
                accuracy.std.map_or(format!("{:.4}", accuracy.mean), |std| format!("{:.4} ± {std:.4}", accuracy.mean)),
                paper.map_or(String::new(), |(mean, std)| format!("{mean:.4} ± {std:.4}")),
                prototype.map_or(String::new(), |prototype| format!("{prototype:.4}")),
                agreement.map_or("", Agreement::word).to_string(),
                difference,
                word.to_string(),
                Spread::of(&line.fits).map_or(String::new(), |fits| format!("{:.0}", fits.mean)),
                format!("{:.3}", line.mean_seconds()),
            ]);
        }
        write!(f, "{table}")?;
        let n_seeds = self.lines.first().map_or(0, |line| line.accuracies.len());
        writeln!(f, "\nStratified halves, {}; ± standard deviation", count(n_seeds, "seed"))?;
        for line in self.lines.iter().filter(|line| line.n_warnings > 0) {
            writeln!(f, "{} on {}: warnings on {} splits", line.method, line.dataset, line.n_warnings)?;
        }
        if !self.left_out.is_empty() {
            writeln!(f, "left out: {}", self.left_out.join(", "))?;
        }
        Ok(())
    }
}

impl Reproduction {
    /// The table as JSON, every seed included.
    pub fn to_json(&self) -> Value {
        let line = |line: &Line| {
            let accuracy = line.accuracy();
            json!({
                "dataset": line.dataset,
                "bank": line.bank,
                "n_kernels": line.n_kernels,
                "method": line.method,
                "accuracy": { "mean": accuracy.mean, "std": accuracy.std },
                "accuracies": line.accuracies,
                "train_seconds": { "mean": line.mean_seconds() },
                "svm_fits": Spread::of(&line.fits).map(|fits| fits.mean),
                "paper": line.published.and_then(|published| published.paper).map(|(mean, std)| json!({ "mean": mean, "std": std })),
                "prototype": line.published.and_then(|published| published.prototype),
                "agrees_with": line.published.and_then(|published| published.agreement(accuracy, line.accuracies.len())).map(Agreement::word),
                "first_minus_this": line.difference,
                "n_warnings": line.n_warnings,
            })
        };
        json!({ "table": self.table, "lines": self.lines.iter().map(line).collect::<Vec<_>>(), "left_out": self.left_out })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pool::Pool;
    use crate::run::Silent;

    #[test]
    fn agreement_is_with_the_paper_first_then_with_the_prototype() {
        let ours = |mean| Spread { mean, std: Some(0.02) };
        let published = Published { paper: Some((0.90, 0.02)), prototype: Some(0.95) };
        // 2 sqrt(2 * .0004 / 20) = .01265.
        assert_eq!(published.agreement(ours(0.9126), 20), Some(Agreement::Paper));
        assert_eq!(published.agreement(ours(0.9127), 20), Some(Agreement::Neither));
        assert_eq!(published.agreement(ours(0.9401), 20), Some(Agreement::Prototype));
        let prototype = Published { paper: None, prototype: Some(0.9) };
        assert_eq!(prototype.agreement(ours(0.8899), 20), Some(Agreement::Neither));
        assert_eq!(Published { prototype: None, ..published }.agreement(ours(0.9), 20), None);
    }

    #[test]
    fn reproduce_names_the_tables_and_sets_it_knows() {
        let pool = Pool::new(1).unwrap();
        let run = |table: &str, only: &[String]| {
            reproduce(table, None, only, 1, &mut Session::new(&pool, &mut Silent)).unwrap_err().to_string()
        };
        assert_eq!(run("mkbost", &[]), "parameter table: `mkbost` is unknown; known: mkboost, columns");
        assert!(
            run("columns", &["iris".into()]).starts_with("parameter only: `iris` is not a set of the table columns")
        );
    }

    #[test]
    fn every_plan_of_every_table_can_be_made() {
        for table in tables() {
            for set in table.sets {
                for part in (table.parts)(set) {
                    let kernels = (part.kernels)(12, 3);
                    part.entries.iter().for_each(|entry| drop(entry.plan(&kernels, 3).unwrap()));
                }
            }
        }
    }
}
