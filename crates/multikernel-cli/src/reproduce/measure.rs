//! Runs a table: every method on the same splits.

use std::path::Path;

use multikernel::data::{self, Dataset, folds, repeats};
use multikernel::evaluate::{Fold, LEVEL, Paired, compare_with_first, train_and_test};
use multikernel::plan::Session;
use multikernel::run::Progress;
use multikernel::{Error, Model, Plan, Result};

use super::line::Line;
use super::show::Reproduction;
use super::source::{self, Source, find};
use super::stream;
use super::table::{Entry, Reproducible, Split, TablePart};

/// Reruns a table on the data sets that are bundled or in `data_dir`: as `NAME.csv.gz`, as `NAME.train.csv.gz` and
/// `NAME.test.csv.gz` if the split is fixed, or as a folder of views. `only` names the sets to run, all if empty;
/// `n_seeds` is the number of seeds, `None` for the table's default. If stopped, returns the finished sets, and the
/// finished seeds of the current one.
pub(super) fn reproduce(
    table: &Reproducible,
    data_dir: Option<&Path>,
    only: &[String],
    n_seeds: Option<u64>,
    session: &mut Session<'_>,
) -> Result<Reproduction> {
    if let Some(set) = only.iter().find(|set| !table.sets.contains(&set.as_str())) {
        let sets = table.sets.join(", ");
        return Err(Error::param(
            "only",
            format!("`{set}` is not a set of the table {}; its sets are {sets}", table.name),
        ));
    }
    let (mut lines, mut left_out) = (vec![], vec![]);
    for set in table.sets.iter().filter(|set| only.is_empty() || only.iter().any(|name| name == *set)) {
        let parts = (table.parts)(set);
        let source = match find(set, parts.iter().any(|part| part.split == Split::Fixed), data_dir)? {
            Ok(source) => source,
            Err(missing) => {
                left_out.push(missing);
                continue;
            }
        };
        for part in parts {
            let wanted = n_seeds.unwrap_or(part.n_seeds);
            let rest = match measure(&source, &part, wanted, session) {
                Ok((measured, done)) => {
                    lines.extend(measured);
                    if done == wanted {
                        continue;
                    }
                    format!("{set} ({}) from seed {done} on and what follows: stopped", part.bank)
                }
                Err(Error::Stopped(_)) if !lines.is_empty() => {
                    format!("{set} ({}) and what follows: stopped", part.bank)
                }
                Err(error) => return Err(error),
            };
            left_out.push(rest);
            return Ok(Reproduction { table: table.name.into(), lines, left_out, layout: table.layout });
        }
    }
    Ok(Reproduction { table: table.name.into(), lines, left_out, layout: table.layout })
}

/// The results of a part on one set over its seeds, and the number of seeds: if stopped, those that were finished.
fn measure(source: &Source, part: &TablePart, n_seeds: u64, session: &mut Session<'_>) -> Result<(Vec<Line>, u64)> {
    let name = &source.data.name;
    let empty = |entry: &Entry| Line {
        printed: entry.printed,
        ..Line::new(name, part.bank, part.split.words(), entry.title(), entry.published)
    };
    let mut lines: Vec<Line> = part.entries.iter().map(empty).collect();
    let (mut sizes, mut done) = (None, 0);
    while done < n_seeds {
        session.observer.phase(&format!("{name}, {}", part.bank));
        session.observer.progress(&Progress::of(done as usize, n_seeds as usize));
        // A seed counts whole or not at all: some of its folds, or of its methods, would spoil every comparison.
        let mut with_seed = lines.clone();
        match one_seed(source, part, done, &mut with_seed, session) {
            Ok(found) => (lines, sizes, done) = (with_seed, found, done + 1),
            Err(Error::Stopped(_)) if done > 0 => break,
            Err(error) => return Err(error),
        }
    }
    if let Some(sizes) = sizes {
        let compared = |values: fn(&Line) -> &[f64]| compared(&lines, values, sizes);
        let accuracy = compared(|line| &line.accuracies)?;
        let (brier, log_loss) = (compared(|line| &line.briers)?, compared(|line| &line.log_losses)?);
        put(&mut lines, accuracy, |line, paired| line.difference = paired);
        put(&mut lines, brier, |line, paired| line.brier_difference = paired);
        put(&mut lines, log_loss, |line, paired| line.log_loss_difference = paired);
    }
    Ok((lines, done))
}

/// Compares the first line with each of the others on the same splits, with these mean numbers of training and test
/// rows; empty if not all lines have the figure on every split.
fn compared(lines: &[Line], values: fn(&Line) -> &[f64], (n_train, n_test): (f64, f64)) -> Result<Vec<Paired>> {
    if lines.iter().any(|line| values(line).is_empty() || values(line).len() != line.accuracies.len()) {
        return Ok(vec![]);
    }
    let names: Vec<String> = lines.iter().map(|line| line.method.clone()).collect();
    let values: Vec<Vec<f64>> = lines.iter().map(|line| values(line).to_vec()).collect();
    compare_with_first(&names, &values, n_train, n_test, LEVEL)
}

/// Gives each line but the first its comparison.
fn put(lines: &mut [Line], paired: Vec<Paired>, set: fn(&mut Line, Option<Paired>)) {
    lines.iter_mut().skip(1).zip(paired).for_each(|(line, paired)| set(line, Some(paired)));
}

/// Adds one seed to each line; returns the mean numbers of training and test rows of its random splits, for those that
/// can be compared.
fn one_seed(
    source: &Source,
    part: &TablePart,
    seed: u64,
    lines: &mut [Line],
    session: &mut Session<'_>,
) -> Result<Option<(f64, f64)>> {
    let data = &source.data;
    let kernels = part.kernels.map(|kernels| kernels(data.samples.n_features(), seed));
    let plan = |entry: &Entry| Ok(entry.plan(kernels.as_deref(), seed)?.proba(part.proba));
    let plans: Vec<Plan> = part.entries.iter().map(plan).collect::<Result<_>>()?;
    let drawn = |share: f64| repeats(&data.labels, 1, share, seed);
    let splits = match part.split {
        Split::Stream { update_every } => {
            let data = stream::in_random_order(data, seed);
            for (line, plan) in lines.iter_mut().zip(&plans) {
                stream::measure(&data, plan, update_every, line, session)?;
            }
            return Ok(None);
        }
        Split::Fixed => {
            let Some(test) = &source.test else { return Ok(None) };
            let found = train_and_test(data, test, &plans, session)?;
            add(lines, found, (data, test), seed, session)?;
            return Ok(None);
        }
        Split::Planted => {
            let (train, test) = source::drawn(&data.name, seed)?;
            let found = train_and_test(&train, &test, &plans, session)?;
            add(lines, found, (&train, &test), seed, session)?;
            return Ok(None);
        }
        Split::Share(share) => drawn(share)?,
        Split::Rows(n_train) => drawn(n_train as f64 / data.samples.n_samples() as f64)?,
        Split::Folds(k) => folds(&data.labels, k, seed)?,
    };
    for split in &splits {
        let (train, test) = (data.select(&split.train), data.select(&split.test));
        match (train_and_test(&train, &test, &plans, session), &mut *lines) {
            // Alone, a method that fails on some splits is a result; beside others it would spoil every comparison.
            (Err(error), [line]) if !matches!(error, Error::Stopped(_)) => line.fail(&error),
            (found, _) => add(lines, found?, (&train, &test), seed, session)?,
        }
    }
    let mean = |of: fn(&data::Split) -> usize| splits.iter().map(of).sum::<usize>() as f64 / splits.len() as f64;
    Ok(Some((mean(|split| split.train.len()), mean(|split| split.test.len()))))
}

/// Adds one split to each line.
fn add(
    lines: &mut [Line],
    found: Vec<(Model, Fold)>,
    (train, test): (&Dataset, &Dataset),
    seed: u64,
    session: &Session<'_>,
) -> Result<()> {
    for (line, (model, fold)) in lines.iter_mut().zip(found) {
        line.add(&model, fold, seed)?;
        line.add_clusters(&model, train, test, session.pool)?;
        line.add_calibration(&model, seed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use multikernel::Pool;
    use multikernel::data::bundled;
    use multikernel::dist::Rng;
    use multikernel::evaluate::{Protocol, Spread, evaluate};
    use multikernel::run::{Canceller, Control, Observer, Silent};

    use super::*;
    use crate::reproduce::line::against_first;

    /// Cancels when this method starts for the nth time.
    struct StopAt {
        method: &'static str,
        left: usize,
        canceller: Canceller,
    }

    impl Observer for StopAt {
        fn phase(&mut self, name: &str) {
            self.left -= usize::from(name == self.method && self.left > 0);
            if self.left == 0 {
                self.canceller.cancel();
            }
        }
    }

    #[test]
    fn stopped_tables_keep_the_seeds_that_were_done() {
        let pool = Pool::new(1).unwrap();
        let source = Source { data: sonar(0..208), test: None };
        let part = part(Split::Folds(3), &["average", "majority"]);
        let until = |left: usize| {
            let control = Control::default();
            let mut observer = StopAt { method: "majority", left, canceller: control.canceller() };
            measure(&source, &part, 4, &mut Session { control, ..Session::new(&pool, &mut observer) })
        };
        // Stopped in the second method on the second fold of seed 2: seeds 0 and 1 as if no more had been requested.
        let (lines, done) = until(2 * 3 + 2).unwrap();
        let whole = measure(&source, &part, 2, &mut Session::new(&pool, &mut Silent)).unwrap();
        assert_eq!((done, whole.1), (2, 2));
        for (line, whole) in lines.iter().zip(&whole.0) {
            assert_eq!(line.accuracies, whole.accuracies);
            let intervals = [line, whole].map(|line| line.difference.as_ref().map(|paired| paired.interval));
            assert_eq!(intervals[0], intervals[1]);
        }
        assert!(lines[1].difference.is_some());
        // An incomplete seed gives no result.
        assert!(matches!(until(2).unwrap_err(), Error::Stopped(_)));
    }

    fn part(split: Split, entries: &[&'static str]) -> TablePart {
        let entries = entries.iter().map(|method| Entry::new(method, &[])).collect();
        TablePart { bank: "each method's own", kernels: None, split, n_seeds: 20, proba: false, entries }
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
        let (lines, _) = measure(&source, &part, 2, &mut Session::new(&pool, &mut Silent)).unwrap();
        let model = Plan::new("average").unwrap().train(&source.data).unwrap();
        let test = sonar(120..208);
        let predicted = model.predict(&test.samples).unwrap().labels;
        let right = predicted.iter().zip(test.labels.codes()).filter(|(a, b)| a == b).count();
        assert_eq!(lines[0].accuracies, [right as f64 / 88.0; 2]);
        // A method without randomness: nothing to compare, but each seed draws its own resamples for the interval.
        assert!(lines[1].difference.is_none());
        assert_eq!(lines[0].macro_fs[0], lines[0].macro_fs[1]);
        assert_ne!(lines[0].macro_f_intervals[0], lines[0].macro_f_intervals[1]);
        let (f, low, high) = lines[0].macro_f().unwrap();
        assert!(low < f && f < high && high - low > 0.05 && high - low < 0.3, "{low} {f} {high}");
    }

    #[test]
    fn test_rows_of_other_classes_are_refused() {
        let pool = Pool::new(1).unwrap();
        let source = Source { data: sonar(0..120), test: Some(bundled("ionosphere").unwrap()) };
        let found = measure(&source, &part(Split::Fixed, &["majority"]), 1, &mut Session::new(&pool, &mut Silent));
        let error = found.unwrap_err().to_string();
        assert!(
            error.starts_with("the test data have the classes ") && error.contains(", the training data "),
            "{error}"
        );
    }

    #[test]
    fn splits_on_which_a_method_alone_fails_are_counted() {
        let pool = Pool::new(1).unwrap();
        let source = Source { data: sonar(0..60), test: None };
        // A step so long that the printed sampler diverges at once.
        let settings = &[("prior", "paper"), ("sampler", "published"), ("epsilon", "1"), ("chains", "1")];
        let fails = || Entry::new("bm3kl", settings);
        let part = |entries| TablePart { entries, ..part(Split::Folds(2), &[]) };
        let found = measure(&source, &part(vec![fails()]), 1, &mut Session::new(&pool, &mut Silent));
        let line = &found.unwrap().0[0];
        assert!(line.n_failed > 0 && line.n_failed + line.accuracies.len() == 2, "{line:?}");
        assert!(line.warnings.iter().any(|warning| warning.contains("diverged")), "{:?}", line.warnings);
        let both = part(vec![Entry::new("majority", &[]), fails()]);
        assert!(measure(&source, &both, 1, &mut Session::new(&pool, &mut Silent)).is_err());
    }

    #[test]
    fn drawn_rows_are_as_many_as_asked_for_and_stratified() {
        let pool = Pool::new(1).unwrap();
        let source = Source { data: sonar(0..208), test: None };
        for (split, sizes, words) in [
            (Split::Rows(150), (150.0, 58.0), "150 rows to train"),
            (Split::Share(0.8), (166.0, 42.0), "80 % to train"),
            (Split::Share(0.5), (104.0, 104.0), "stratified halves"),
        ] {
            let part = part(split, &["majority"]);
            let mut lines = [Line::new("sonar", part.bank, split.words(), "majority".into(), None)];
            let found = one_seed(&source, &part, 3, &mut lines, &mut Session::new(&pool, &mut Silent));
            assert_eq!(found.unwrap(), Some(sizes));
            // 111 of 208 are of the larger class, as is the same share of the test rows, to within one row.
            assert!((lines[0].accuracies[0] - 111.0 / 208.0).abs() <= 1.0 / sizes.1, "{words}");
            assert_eq!(lines[0].split, words);
        }
    }

    #[test]
    fn methods_on_drawn_rows_are_compared_with_the_first() {
        let pool = Pool::new(1).unwrap();
        let source = Source { data: sonar(0..208), test: None };
        let part = part(Split::Rows(150), &["average", "majority"]);
        let (lines, _) = measure(&source, &part, 4, &mut Session::new(&pool, &mut Silent)).unwrap();
        let paired = lines[1].difference.as_ref().unwrap();
        assert!(lines[0].difference.is_none() && paired.difference > 0.1 && paired.distinguishable);
        assert_eq!(against_first(Some(paired)).1, "below");
        // The split of a seed is the first repeat of that seed.
        let plan = Plan::new("average").unwrap();
        let protocol = Protocol::Repeats { n_repeats: 1, train_fraction: 150.0 / 208.0 };
        let found = evaluate(&source.data, &[plan], &protocol, 2, &mut Session::new(&pool, &mut Silent)).unwrap();
        assert_eq!(lines[0].accuracies[2], found.results[0].folds[0].metrics.accuracy);
    }

    #[test]
    fn folds_of_several_seeds_are_compared_as_the_splits_they_are() {
        let pool = Pool::new(1).unwrap();
        let source = Source { data: sonar(0..208), test: None };
        let part = part(Split::Folds(4), &["average", "majority"]);
        let (lines, _) = measure(&source, &part, 3, &mut Session::new(&pool, &mut Silent)).unwrap();
        assert_eq!((lines[0].accuracies.len(), lines[0].split.as_str()), (12, "4 folds"));
        // Each seed is a separate cross-validation, the same as that of `evaluate`.
        let plan = Plan::new("average").unwrap();
        for seed in 0..3 {
            let (plans, protocol) = (std::slice::from_ref(&plan), Protocol::Folds(4));
            let found = evaluate(&source.data, plans, &protocol, seed, &mut Session::new(&pool, &mut Silent)).unwrap();
            let expected: Vec<f64> = found.results[0].folds.iter().map(|fold| fold.metrics.accuracy).collect();
            assert_eq!(lines[0].accuracies[4 * seed as usize..][..4], expected);
        }
        // s sqrt(1/12 + 52/156) with 11 degrees of freedom, whose 97.5 % quantile is 2.200985.
        let paired = lines[1].difference.as_ref().unwrap();
        let apart: Vec<f64> = lines[0].accuracies.iter().zip(&lines[1].accuracies).map(|(a, b)| a - b).collect();
        let spread = Spread::of(&apart).unwrap();
        let half = 2.200_985 * spread.std.unwrap() * (1.0f64 / 12.0 + 1.0 / 3.0).sqrt();
        let (low, high) = paired.interval.unwrap();
        assert!((paired.difference - spread.mean).abs() < 1e-12);
        assert!((high - low - 2.0 * half).abs() < 1e-6, "{low} {high} {half}");
    }

    #[test]
    fn probabilities_are_judged_where_the_part_asks_for_them() {
        let pool = Pool::new(1).unwrap();
        let source = Source { data: sonar(0..208), test: None };
        let part = TablePart { proba: true, ..part(Split::Share(0.5), &["average", "majority"]) };
        let (lines, _) = measure(&source, &part, 2, &mut Session::new(&pool, &mut Silent)).unwrap();
        let plan = Plan::new("average").unwrap().seed(1).proba(true);
        let protocol = Protocol::Repeats { n_repeats: 1, train_fraction: 0.5 };
        let found = evaluate(&source.data, &[plan], &protocol, 1, &mut Session::new(&pool, &mut Silent)).unwrap();
        let metrics = &found.results[0].folds[0].metrics;
        assert_eq!((Some(lines[0].briers[1]), Some(lines[0].log_losses[1])), (metrics.brier, metrics.log_loss));
        let mean = |values: &[f64]| values.iter().sum::<f64>() / 2.0;
        let paired = [&lines[1].brier_difference, &lines[1].log_loss_difference].map(|paired| paired.as_ref().unwrap());
        assert!((paired[0].difference - (mean(&lines[0].briers) - mean(&lines[1].briers))).abs() < 1e-12);
        assert!((paired[1].difference - (mean(&lines[0].log_losses) - mean(&lines[1].log_losses))).abs() < 1e-12);
        assert!(lines[0].brier_difference.is_none() && paired[0].difference < -0.1, "{paired:?}");
    }
}
