//! Stratified folds and repeated splits.

use super::Labels;
use crate::dist::Rng;
use crate::error::{Error, Result};

/// Rows to learn from and rows to test on, both ascending, without a row in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Training rows.
    pub train: Vec<usize>,
    /// Test rows.
    pub test: Vec<usize>,
}

/// `k` stratified folds: every row is in exactly one test part.
///
/// The counts of a class in two test parts differ by at most 1, and so do the sizes of the test parts. A class with
/// fewer than `k` rows is missing from some test parts, and one with a single row is missing from the training part of
/// one fold; every training part has at least two classes, or the call is an error. The rows of class `c` are dealt by
/// stream `c` of `seed`.
///
/// ```
/// use multikernel::data::{Labels, folds};
/// let labels = Labels::new(&["a", "b", "a", "b", "a", "b"])?;
/// let splits = folds(&labels, 3, 0)?;
/// assert!(splits.iter().all(|split| split.test.len() == 2 && split.train.len() == 4));
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn folds(labels: &Labels, k: usize, seed: u64) -> Result<Vec<Split>> {
    let n = labels.n_samples();
    if k < 2 || k > n {
        return Err(Error::param("folds", format!("{k} folds of {n} rows; choose 2 to {n}")));
    }
    let mut fold_of = vec![0; n];
    let mut next = 0;
    for (class, mut rows) in members(labels).into_iter().enumerate() {
        Rng::new(seed, class as u64).shuffle(&mut rows);
        // Each class goes on where the one before stopped, so small classes do not all land in the first fold.
        for row in rows {
            fold_of[row] = next;
            next = (next + 1) % k;
        }
    }
    let splits: Vec<Split> = (0..k).map(|fold| split_where(n, |row| fold_of[row] != fold)).collect();
    for (fold, split) in splits.iter().enumerate() {
        check_train(labels, split, "folds", &format!("fold {} of {k}", fold + 1))?;
    }
    Ok(splits)
}

/// More splits than anyone needs; each holds all row numbers.
const MOST_REPEATS: usize = 10_000;

/// `n_repeats` independent stratified splits with `round(train_fraction * n_samples)` training rows.
///
/// Each class gives its share to the training part, rounded so that the total fits (largest remainder; ties go to the
/// class that sorts first). A class with two rows or more has at least one row on each side, which wins over the total
/// where both cannot hold. Repeat `r` is drawn by stream `r` of `seed`, so it does not depend on `n_repeats`.
///
/// ```
/// use multikernel::data::{Labels, repeats};
/// let labels = Labels::new(&["a", "b", "a", "b", "a", "b", "a", "b", "a", "b"])?;
/// let splits = repeats(&labels, 20, 0.6, 0)?;
/// assert!(splits.iter().all(|split| split.train.len() == 6 && split.test.len() == 4));
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn repeats(labels: &Labels, n_repeats: usize, train_fraction: f64, seed: u64) -> Result<Vec<Split>> {
    if n_repeats == 0 {
        return Err(Error::param("repeats", "0 repeats; choose at least 1"));
    }
    if n_repeats > MOST_REPEATS {
        return Err(Error::param("repeats", format!("must be at most {MOST_REPEATS}, got {n_repeats}")));
    }
    if !(train_fraction > 0.0 && train_fraction < 1.0) {
        return Err(Error::param(
            "train-fraction",
            format!("must lie between 0 and 1, both left out, got {train_fraction}"),
        ));
    }
    let members = members(labels);
    let quotas = quotas(&members.iter().map(Vec::len).collect::<Vec<_>>(), train_fraction);
    let mut splits = Vec::with_capacity(n_repeats);
    for repeat in 0..n_repeats {
        let mut rng = Rng::new(seed, repeat as u64);
        let mut in_train = vec![false; labels.n_samples()];
        for (rows, &quota) in members.iter().zip(&quotas) {
            let mut rows = rows.clone();
            rng.shuffle(&mut rows);
            rows[..quota].iter().for_each(|&row| in_train[row] = true);
        }
        let split = split_where(labels.n_samples(), |row| in_train[row]);
        check_train(labels, &split, "train-fraction", &format!("a fraction of {train_fraction}"))?;
        if split.test.is_empty() {
            return Err(Error::param(
                "train-fraction",
                format!("a fraction of {train_fraction} leaves no test rows; choose a smaller one"),
            ));
        }
        splits.push(split);
    }
    Ok(splits)
}

/// Rows of each class, ascending.
fn members(labels: &Labels) -> Vec<Vec<usize>> {
    let mut members = vec![Vec::new(); labels.n_classes()];
    for (row, &code) in labels.codes().iter().enumerate() {
        members[code].push(row);
    }
    members
}

fn split_where(n: usize, in_train: impl Fn(usize) -> bool) -> Split {
    let (train, test) = (0..n).partition(|&row| in_train(row));
    Split { train, test }
}

fn check_train(labels: &Labels, split: &Split, parameter: &str, which: &str) -> Result<()> {
    let codes = labels.codes();
    if split.train.iter().any(|&row| codes[row] != codes[split.train[0]]) {
        return Ok(());
    }
    let found = match split.train.first() {
        Some(&row) => format!("only class '{}'", labels.classes()[codes[row]]),
        None => "no row".to_string(),
    };
    Err(Error::param(
        parameter,
        format!("{which} would train on {found}; at least two classes are needed, so give more rows of the others"),
    ))
}

/// Training rows per class for the given class counts.
fn quotas(counts: &[usize], fraction: f64) -> Vec<usize> {
    let least = |c: usize| usize::from(counts[c] >= 2);
    let most = |c: usize| if counts[c] >= 2 { counts[c] - 1 } else { counts[c] };
    let share = |c: usize| counts[c] as f64 * fraction;
    let n: usize = counts.iter().sum();
    let total = (n as f64 * fraction).round() as usize;
    let mut quotas: Vec<usize> =
        (0..counts.len()).map(|c| (share(c).floor() as usize).clamp(least(c), most(c))).collect();
    // Always the class furthest from its share: a sum of convex distances is least after such single steps.
    while quotas.iter().sum::<usize>() < total {
        let short = |c: &usize| share(*c) - quotas[*c] as f64;
        let open = (0..counts.len()).rev().filter(|&c| quotas[c] < most(c));
        let Some(c) = open.max_by(|a, b| short(a).total_cmp(&short(b))) else { break };
        quotas[c] += 1;
    }
    while quotas.iter().sum::<usize>() > total {
        let over = |c: &usize| quotas[*c] as f64 - share(*c);
        let open = (0..counts.len()).filter(|&c| quotas[c] > least(c));
        let Some(c) = open.max_by(|a, b| over(a).total_cmp(&over(b))) else { break };
        quotas[c] -= 1;
    }
    quotas
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn labels(codes: Vec<usize>) -> Labels {
        let n_classes = codes.iter().max().map_or(1, |&c| c + 1);
        Labels::from_parts((0..n_classes).map(|c| format!("c{c}")).collect(), codes).unwrap()
    }

    fn counts(labels: &Labels, rows: &[usize]) -> Vec<usize> {
        labels.select(rows).counts()
    }

    fn ascending(rows: &[usize]) -> bool {
        rows.windows(2).all(|pair| pair[0] < pair[1])
    }

    /// Every split of the counts with the wanted total inside the bounds, the one nearest to the shares.
    fn best_distance(counts: &[usize], fraction: f64, total: usize) -> Option<f64> {
        fn walk(counts: &[usize], fraction: f64, total: usize) -> Option<f64> {
            let Some((&count, rest)) = counts.split_first() else { return (total == 0).then_some(0.0) };
            let (least, most) = if count >= 2 { (1, count - 1) } else { (0, count) };
            (least..=most.min(total))
                .filter_map(|q| Some((q as f64 - count as f64 * fraction).powi(2) + walk(rest, fraction, total - q)?))
                .min_by(f64::total_cmp)
        }
        walk(counts, fraction, total)
    }

    #[test]
    fn folds_bad_k_refused() {
        let labels = labels(vec![0, 1, 0, 1]);
        for k in [0, 1, 5] {
            assert_eq!(
                folds(&labels, k, 0).unwrap_err().to_string(),
                format!("parameter folds: {k} folds of 4 rows; choose 2 to 4")
            );
        }
    }

    #[test]
    fn folds_training_on_one_class_refused() {
        let message = folds(&labels(vec![0, 0, 0, 1]), 4, 0).unwrap_err().to_string();
        assert!(message.contains("would train on only class 'c0'; at least two classes are needed"), "{message}");
        assert!(folds(&labels(vec![0; 6]), 2, 0).is_err());
    }

    #[test]
    fn folds_small_classes_spread_over_the_folds() {
        // Ten classes of one row: all in fold 1 if every class started there.
        let labels = labels((0..10).collect());
        assert!(folds(&labels, 5, 3).unwrap().iter().all(|split| split.test.len() == 2));
    }

    #[test]
    fn repeats_bad_arguments_refused() {
        let labels = labels(vec![0, 1, 0, 1]);
        assert!(repeats(&labels, 0, 0.5, 0).is_err());
        for fraction in [0.0, 1.0, -0.1, 1.5, f64::NAN] {
            assert_eq!(
                repeats(&labels, 1, fraction, 0).unwrap_err().to_string(),
                format!("parameter train-fraction: must lie between 0 and 1, both left out, got {fraction}")
            );
        }
        assert!(repeats(&self::labels(vec![0, 0, 0]), 1, 0.5, 0).is_err());
        assert!(repeats(&self::labels(vec![0, 1]), 1, 0.9, 0).is_err());
        assert!(repeats(&self::labels(vec![0, 1]), 1, 0.1, 0).is_err());
    }

    #[test]
    fn repeats_awkward_fraction_reaches_the_exact_total() {
        // 0.29 * 100 is below 29 in floating point; rounding down alone would give 28 and 28.
        let labels = labels((0..200).map(|i| i % 2).collect());
        let split = &repeats(&labels, 1, 0.29, 0).unwrap()[0];
        assert_eq!(counts(&labels, &split.train), [29, 29]);
    }

    #[test]
    fn repeats_draw_every_row_equally_often() {
        let labels = labels((0..20).map(|i| i % 2).collect());
        let n = 2000;
        let mut times = [0u32; 20];
        for split in repeats(&labels, n, 0.5, 9).unwrap() {
            split.train.iter().for_each(|&row| times[row] += 1);
        }
        // Five standard errors of a Binomial(2000, 1/2).
        assert!(times.iter().all(|&t| (f64::from(t) - 1000.0).abs() < 5.0 * (n as f64 / 4.0).sqrt()), "{times:?}");
    }

    proptest! {
        #[test]
        fn folds_are_a_balanced_stratified_partition(
            codes in prop::collection::vec(0usize..4, 8..60), k in 2usize..8, seed: u64,
        ) {
            let labels = labels(codes);
            let Ok(splits) = folds(&labels, k, seed) else {
                prop_assert!(labels.counts().iter().max().unwrap() + labels.n_samples() / k + 1 >= labels.n_samples());
                return Ok(());
            };
            prop_assert_eq!(splits.len(), k);
            let mut all: Vec<usize> = splits.iter().flat_map(|split| split.test.clone()).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..labels.n_samples()).collect::<Vec<_>>());
            for split in &splits {
                let mut both = [split.train.clone(), split.test.clone()].concat();
                both.sort_unstable();
                prop_assert_eq!(both, (0..labels.n_samples()).collect::<Vec<_>>());
                prop_assert!(ascending(&split.train) && ascending(&split.test));
                prop_assert!(counts(&labels, &split.train).iter().filter(|&&c| c > 0).count() >= 2);
            }
            for class in 0..labels.n_classes() {
                let per_fold: Vec<usize> = splits.iter().map(|split| counts(&labels, &split.test)[class]).collect();
                prop_assert!(per_fold.iter().max().unwrap() - per_fold.iter().min().unwrap() <= 1);
            }
            let sizes: Vec<usize> = splits.iter().map(|split| split.test.len()).collect();
            prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
            prop_assert_eq!(&folds(&labels, k, seed).unwrap(), &splits);
        }

        #[test]
        fn quotas_are_the_nearest_to_the_shares(
            counts in prop::collection::vec(0usize..7, 1..5), fraction in 0.01f64..0.99,
        ) {
            let found = quotas(&counts, fraction);
            let total = (counts.iter().sum::<usize>() as f64 * fraction).round() as usize;
            for (&count, &quota) in counts.iter().zip(&found) {
                prop_assert!(quota <= count && (count < 2 || (quota >= 1 && quota < count)));
            }
            if let Some(best) = best_distance(&counts, fraction, total) {
                prop_assert_eq!(found.iter().sum::<usize>(), total);
                let distance: f64 =
                    counts.iter().zip(&found).map(|(&c, &q)| (q as f64 - c as f64 * fraction).powi(2)).sum();
                prop_assert!(distance <= best + 1e-9, "{found:?} {distance} {best}");
            }
        }

        #[test]
        fn repeats_are_stratified_and_independent_of_their_number(
            half in prop::collection::vec(0usize..3, 10..40), fraction in 0.2f64..0.8, seed: u64,
        ) {
            // Every class at least twice.
            let labels = labels([half.clone(), half, vec![0, 0, 1, 1, 2, 2]].concat());
            let splits = repeats(&labels, 6, fraction, seed).unwrap();
            prop_assert_eq!(&repeats(&labels, 3, fraction, seed).unwrap()[..], &splits[..3]);
            prop_assert_ne!(&splits[0], &splits[1]);
            prop_assert_ne!(&repeats(&labels, 1, fraction, seed ^ 1).unwrap()[0], &splits[0]);
            prop_assert_ne!(folds(&labels, 2, seed).unwrap(), folds(&labels, 2, seed ^ 1).unwrap());
            for split in &splits {
                prop_assert_eq!(split.train.len(), (labels.n_samples() as f64 * fraction).round() as usize);
                prop_assert!(ascending(&split.train) && ascending(&split.test));
                let mut both = [split.train.clone(), split.test.clone()].concat();
                both.sort_unstable();
                prop_assert_eq!(both, (0..labels.n_samples()).collect::<Vec<_>>());
                // Away from the one-row-on-each-side bounds every class is within one row of its share.
                let share = |count: usize| count as f64 * fraction;
                let free = labels.counts().iter().all(|&c| share(c) >= 1.0 && c as f64 - share(c) >= 1.0);
                for (&count, &train) in labels.counts().iter().zip(&counts(&labels, &split.train)) {
                    prop_assert!(train >= 1 && train < count);
                    prop_assert!(!free || (train as f64 - share(count)).abs() < 1.0 + 1e-9);
                }
            }
        }
    }
}
