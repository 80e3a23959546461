use proptest::prelude::*;

use super::*;
use crate::dist::Rng;

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

/// The smallest distance from the shares over every split of the counts with the wanted total inside the bounds.
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
fn strata_of_numbers_and_times_may_be_one_in_a_training_part() {
    for codes in [vec![1; 6], vec![0, 1, 1, 1, 1, 1]] {
        let names = vec!["censored".into(), "event".into()];
        let strata = Labels::strata(names.clone(), codes.clone()).unwrap();
        let classes = Labels::from_parts(names, codes).unwrap();
        let groups = [0, 0, 1, 1, 2, 2];
        for groups in [None, Some(&groups[..])] {
            assert_eq!(folds_by_group(&strata, groups, 3, 0).unwrap().len(), 3);
            assert_eq!(repeats_by_group(&strata, groups, 4, 0.5, 0).unwrap().len(), 4);
            assert!(inner_folds(&strata.select(&[0, 1, 2, 3, 4, 5]), groups, 3, 0, 0).is_ok());
            assert!(folds_by_group(&classes, groups, 3, 0).is_err());
        }
        assert!(folds(&strata.select(&[0]), 2, 0).unwrap_err().to_string().ends_with("1 row; give at least 2 rows"));
    }
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

fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn groups_too_few_or_of_another_length_refused() {
    let labels = labels(vec![0, 1, 0, 1, 0, 1]);
    let whole = "which stay whole; choose 2 to 3";
    for k in [0, 1, 4] {
        assert_eq!(
            message(folds_by_group(&labels, Some(&[0, 0, 1, 1, 2, 2]), k, 0)),
            format!("parameter folds: {k} folds of 6 rows in 3 groups, {whole}")
        );
    }
    let one = "parameter groups: 6 rows in 1 group, which cannot be cut into rows to train and to test on; give at \
               least 2 groups or leave them out";
    assert_eq!(message(folds_by_group(&labels, Some(&[7; 6]), 2, 0)), one);
    assert_eq!(message(repeats_by_group(&labels, Some(&[7; 6]), 2, 0.5, 0)), one);
    let length = "parameter groups: 2 groups for 6 rows; give one group per row";
    assert_eq!(message(folds_by_group(&labels, Some(&[0, 1]), 2, 0)), length);
    assert_eq!(message(repeats_by_group(&labels, Some(&[0, 1]), 2, 0.5, 0)), length);
    assert_eq!(message(inner_folds(&labels, Some(&[0, 1]), 2, 0, 0)), length);
    assert!(repeats_by_group(&labels, Some(&[0, 0, 1, 1, 2, 2]), 1, 1.0, 0).is_err());
}

#[test]
fn groups_that_leave_one_class_to_train_on_refused() {
    // Class c1 is in one group alone: when that is tested, c0 is left.
    let (labels, groups) = (labels(vec![0, 0, 1, 1, 0, 0]), [0, 0, 1, 1, 2, 2]);
    let found = message(folds_by_group(&labels, Some(&groups), 3, 0));
    assert!(found.starts_with("parameter folds: fold "), "{found}");
    let needed = "would train on only class 'c0'; at least two classes are needed, so give more groups of the others";
    assert!(found.ends_with(needed), "{found}");
    let splits = (0..20).map(|seed| repeats_by_group(&labels, Some(&groups), 1, 0.4, seed));
    let refused: Vec<String> = splits.filter_map(Result::err).map(|error| error.to_string()).collect();
    assert!(!refused.is_empty());
    assert!(refused.iter().all(|text| *text == format!("parameter train-fraction: a fraction of 0.4 {needed}")));
}

#[test]
fn inner_folds_that_cannot_be_made_say_why() {
    let none = "no inner folds (for parameters that are auto, or for probabilities) can be made of";
    let two = "at least two classes are needed, so give more rows of the others, or do without";
    let found = message(inner_folds(&labels(vec![0, 0, 0, 0, 1]), None, 5, 0, 0));
    assert!(found.starts_with(&format!("{none} 5 training rows: fold ")), "{found}");
    assert!(found.ends_with(&format!(" of 2 would train on only class 'c0'; {two}")), "{found}");
    assert_eq!(
        message(inner_folds(&labels(vec![1, 0, 1, 0]), Some(&[3; 4]), 5, 0, 0)),
        format!("{none} 4 training rows in 1 group, which stay whole: give at least 2 groups, or do without")
    );
    assert_eq!(
        message(inner_folds(&labels(vec![0]), None, 5, 0, 0)),
        format!("{none} 1 training rows: give at least 2 rows, or do without")
    );
    assert_eq!(
        message(inner_folds(&labels(vec![0, 1, 0, 1]), None, 1, 0, 0)),
        "parameter folds: 1 inner folds; choose at least 2"
    );
}

#[test]
fn inner_folds_are_as_many_as_the_smallest_class_allows() {
    let count =
        |codes: Vec<usize>, groups: Option<&[usize]>| inner_folds(&labels(codes), groups, 5, 1, 2).unwrap().len();
    assert_eq!(count((0..40).map(|i| i % 2).collect(), None), 5);
    assert_eq!(count([vec![0; 30], vec![1; 3]].concat(), None), 3);
    // A single row of a class is missing from one training part anyway, and classes without rows do not matter.
    assert_eq!(count([vec![0; 30], vec![1; 30], vec![3]].concat(), None), 5);
    assert_eq!(count(vec![0, 1, 2, 3], None), 4);
    // Three rows, but in two groups.
    assert_eq!(count([vec![0; 9], vec![1; 3]].concat(), Some(&[0, 0, 1, 1, 2, 2, 3, 3, 4, 0, 0, 1])), 2);
}

#[test]
fn seeds_and_streams_deal_differently() {
    let labels = labels((0..40).map(|i| i % 2).collect());
    let groups: Vec<usize> = (0..40).map(|i| i / 2).collect();
    for groups in [None, Some(&groups[..])] {
        let folds = |seed| folds_by_group(&labels, groups, 4, seed).unwrap();
        let inner = |seed, stream| inner_folds(&labels, groups, 4, seed, stream).unwrap();
        let repeats = |seed| repeats_by_group(&labels, groups, 2, 0.5, seed).unwrap();
        assert_ne!(folds(0), folds(1));
        assert_ne!(inner(0, 0), inner(1, 0));
        assert_ne!(inner(0, 0), inner(0, 1));
        assert_ne!(repeats(0), repeats(1));
        assert_ne!(repeats(0)[0], repeats(0)[1]);
    }
}

#[test]
fn repeats_by_group_draw_every_group_equally_often() {
    let labels = labels((0..60).map(|i| i % 2).collect());
    let groups: Vec<usize> = (0..60).map(|i| i / 6).collect();
    let n = 2000;
    let mut times = [0u32; 10];
    for split in repeats_by_group(&labels, Some(&groups), n, 0.5, 9).unwrap() {
        assert_eq!(split.train.len(), 30);
        split.train.iter().step_by(6).for_each(|&row| times[groups[row]] += 1);
    }
    // Five standard errors of a Binomial(2000, 1/2).
    assert!(times.iter().all(|&t| (f64::from(t) - 1000.0).abs() < 5.0 * (n as f64 / 4.0).sqrt()), "{times:?}");
}

/// Rows of 3 classes in groups, codes in no order: group `g` has mostly class `g % 3`.
fn grouped() -> impl Strategy<Value = (Labels, Vec<usize>)> {
    prop::collection::vec((0usize..9, 0usize..3, prop::bool::weighted(0.6)), 12..60).prop_map(|rows| {
        let codes = rows.iter().map(|&(group, class, usual)| if usual { group % 3 } else { class }).collect();
        let groups = rows.iter().map(|&(group, _, _)| group * 7919 % 10).collect();
        (Labels::from_parts(vec!["a".into(), "b".into(), "c".into()], codes).unwrap(), groups)
    })
}

fn has_group(groups: &[usize], rows: &[usize], group: usize) -> bool {
    rows.iter().any(|&row| groups[row] == group)
}

/// Both parts together are all rows, both ascend, and no group is in both.
fn check_split(labels: &Labels, groups: &[usize], split: &Split) -> std::result::Result<(), TestCaseError> {
    let mut both = [split.train.clone(), split.test.clone()].concat();
    both.sort_unstable();
    prop_assert_eq!(both, (0..labels.n_samples()).collect::<Vec<_>>());
    prop_assert!(ascending(&split.train) && ascending(&split.test) && !split.test.is_empty());
    prop_assert!(split.test.iter().all(|&row| !has_group(groups, &split.train, groups[row])));
    prop_assert!(counts(labels, &split.train).iter().filter(|&&n| n > 0).count() >= 2);
    Ok(())
}

/// The number of groups that contain each class.
fn groups_per_class(labels: &Labels, groups: &[usize]) -> Vec<usize> {
    let pairs: std::collections::BTreeSet<_> = labels.codes().iter().zip(groups).collect();
    (0..labels.n_classes()).map(|class| pairs.iter().filter(|&&(&c, _)| c == class).count()).collect()
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
    fn folds_deal_the_rows_of_each_class_in_turn(
        codes in prop::collection::vec(0usize..4, 8..60), k in 2usize..8, seed: u64,
    ) {
        let labels = labels(codes);
        let mut dealt = vec![vec![]; k];
        let mut next = 0;
        for class in 0..labels.n_classes() {
            let mut rows: Vec<usize> = (0..labels.n_samples()).filter(|&i| labels.codes()[i] == class).collect();
            Rng::new(seed, class as u64).shuffle(&mut rows);
            for row in rows {
                dealt[next].push(row);
                next = (next + 1) % k;
            }
        }
        dealt.iter_mut().for_each(|rows| rows.sort_unstable());
        for splits in [folds(&labels, k, seed), folds_by_group(&labels, None, k, seed)].into_iter().flatten() {
            prop_assert_eq!(splits.into_iter().map(|split| split.test).collect::<Vec<_>>(), dealt.clone());
        }
        let (a, b) = (repeats(&labels, 3, 0.4, seed), repeats_by_group(&labels, None, 3, 0.4, seed));
        prop_assert_eq!(a.ok(), b.ok());
    }

    #[test]
    fn folds_by_group_test_every_row_once_and_cut_no_group((labels, groups) in grouped(), k in 2usize..5, seed: u64) {
        let codes: std::collections::BTreeSet<_> = groups.iter().collect();
        let per_class = groups_per_class(&labels, &groups);
        let Ok(splits) = folds_by_group(&labels, Some(&groups), k, seed) else {
            // Too few groups, or two of the three classes in one group or none.
            prop_assert!(codes.len() < k || per_class.iter().filter(|&&n| n >= 2).count() < 2 || k == 2);
            return Ok(());
        };
        prop_assert_eq!(splits.len(), k);
        let mut tested: Vec<usize> = splits.iter().flat_map(|split| split.test.clone()).collect();
        tested.sort_unstable();
        prop_assert_eq!(tested, (0..labels.n_samples()).collect::<Vec<_>>());
        for split in &splits {
            check_split(&labels, &groups, split)?;
            for (class, &n) in counts(&labels, &split.train).iter().enumerate() {
                prop_assert!(n > 0 || per_class[class] < 2 || k == 2, "class {class} is not trained on");
            }
        }
        prop_assert_eq!(&folds_by_group(&labels, Some(&groups), k, seed).unwrap(), &splits);
        // Other names for the same groups in the same order change nothing.
        let renamed: Vec<usize> = groups.iter().map(|&group| group * 1000 + 5).collect();
        prop_assert_eq!(&folds_by_group(&labels, Some(&renamed), k, seed).unwrap(), &splits);
    }

    #[test]
    fn folds_by_group_of_single_rows_are_as_balanced_as_folds(
        codes in prop::collection::vec(0usize..3, 12..40), k in 2usize..5, seed: u64,
    ) {
        let labels = labels(codes);
        let groups: Vec<usize> = (0..labels.n_samples()).collect();
        let Ok(splits) = folds_by_group(&labels, Some(&groups), k, seed) else { return Ok(()) };
        for class in 0..labels.n_classes() {
            let per_fold: Vec<usize> = splits.iter().map(|split| counts(&labels, &split.test)[class]).collect();
            prop_assert!(per_fold.iter().max().unwrap() - per_fold.iter().min().unwrap() <= 1, "{per_fold:?}");
        }
    }

    #[test]
    fn inner_folds_are_folds_of_their_stream((labels, groups) in grouped(), k in 2usize..6, seed: u64) {
        for groups in [None, Some(&groups[..])] {
            let Ok(splits) = inner_folds(&labels, groups, k, seed, 3) else { continue };
            prop_assert!((2..=k).contains(&splits.len()));
            let own: Vec<usize> = (0..labels.n_samples()).collect();
            let per_class = groups_per_class(&labels, groups.unwrap_or(&own));
            let few = per_class.into_iter().filter(|&n| n >= 2).min();
            prop_assert!(few.is_none_or(|few| splits.len() <= few), "{} folds", splits.len());
            let mut tested: Vec<usize> = splits.iter().flat_map(|split| split.test.clone()).collect();
            tested.sort_unstable();
            prop_assert_eq!(&tested, &own);
            for split in &splits {
                check_split(&labels, groups.unwrap_or(&own), split)?;
            }
            prop_assert_eq!(&inner_folds(&labels, groups, k, seed, 3).unwrap(), &splits);
        }
    }

    #[test]
    fn repeats_by_group_cut_no_group_and_do_not_depend_on_their_number(
        (labels, groups) in grouped(), fraction in 0.2f64..0.8, seed: u64,
    ) {
        let Ok(splits) = repeats_by_group(&labels, Some(&groups), 6, fraction, seed) else { return Ok(()) };
        prop_assert_eq!(&repeats_by_group(&labels, Some(&groups), 3, fraction, seed).unwrap()[..], &splits[..3]);
        for split in &splits {
            check_split(&labels, &groups, split)?;
        }
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
