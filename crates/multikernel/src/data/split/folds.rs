//! Stratified folds and repeated splits, of rows or of whole groups of rows.

use super::groups::Groups;
use crate::data::table::Labels;
use crate::dist::Rng;
use crate::error::{Error, Result};

/// Rows to learn from and rows to test on, both ascending and disjoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Training rows.
    pub train: Vec<usize>,
    /// Test rows.
    pub test: Vec<usize>,
}

/// `k` stratified folds: every row is in exactly one test part.
///
/// The counts of a class in any two test parts differ by at most 1, and so do the sizes of the test parts. A class with
/// fewer than `k` rows is missing from some test parts, and one with a single row is missing from the training part of
/// one fold; every training part has at least two classes, or the call is an error (strata of numbers or times may be
/// one). The rows of class `c` are dealt with stream `c` of `seed`.
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
        let message = if n < 2 {
            format!("{k} folds of {n} row; give at least 2 rows")
        } else {
            format!("{k} folds of {n} rows; choose 2 to {n}")
        };
        return Err(Error::param("folds", message));
    }
    let fold_of = deal_rows(labels, k, |class, rows| Rng::new(seed, class as u64).shuffle(rows));
    fold_splits(labels, &fold_of, k, "rows").map_err(|reason| Error::param("folds", reason))
}

/// [`folds`] that keep groups whole: no group, such as a patient or a batch, is in both the training and the test part
/// of a fold. `groups` has one code per row; without groups these are the splits of [`folds`].
///
/// Groups are dealt from the largest down (in random order among equals, by stream 0 of `seed`), each to the fold where
/// the class counts then deviate least from equal shares, so that folds are stratified as well as groups allow. A class
/// in two or more groups is in every training part if one move or exchange of groups after dealing can achieve it.
/// Every training part has at least two classes and every test part at least one group, or the call is an error.
///
/// ```
/// use multikernel::data::{Labels, folds_by_group};
/// let labels = Labels::new(&["a", "b", "a", "b", "a", "b"])?;
/// let patients = [0, 0, 1, 1, 2, 2];
/// let splits = folds_by_group(&labels, Some(&patients), 3, 0)?;
/// assert!(splits.iter().all(|split| patients[split.test[0]] == patients[split.test[1]]));
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn folds_by_group(labels: &Labels, groups: Option<&[usize]>, k: usize, seed: u64) -> Result<Vec<Split>> {
    let Some(codes) = groups else { return folds(labels, k, seed) };
    let groups = at_least_two_groups(labels, codes)?;
    if k < 2 || k > groups.len() {
        let (n, n_groups) = (labels.n_samples(), groups.len());
        return Err(Error::param(
            "folds",
            format!("{k} folds of {n} rows in {n_groups} groups, which stay whole; choose 2 to {n_groups}"),
        ));
    }
    let fold_of = deal_groups(&groups, k, &mut Rng::new(seed, 0));
    fold_splits(labels, &fold_of, k, "groups").map_err(|reason| Error::param("folds", reason))
}

/// Up to `k` folds for choosing parameters: [`folds`], or [`folds_by_group`], with their own random order and fewer of
/// them if rows are few.
///
/// There are as many folds as rows in the smallest class (with groups: as groups that contain it), at least 2 and at
/// most `k`; a class with one row or group does not count, because it is missing from the training part of one fold
/// anyway. All randomness comes from `stream` of `seed`. An error says why not even 2 folds can be made.
///
/// ```
/// use multikernel::data::{Labels, inner_folds};
/// let labels = Labels::new(&["a", "b", "a", "b", "a", "b", "a"])?;
/// assert_eq!(inner_folds(&labels, None, 5, 0, 1)?.len(), 3);
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn inner_folds(labels: &Labels, groups: Option<&[usize]>, k: usize, seed: u64, stream: u64) -> Result<Vec<Split>> {
    if k < 2 {
        return Err(Error::param("folds", format!("{k} inner folds; choose at least 2")));
    }
    let groups = groups.map(|codes| Groups::new(labels, codes)).transpose()?;
    let n = labels.n_samples();
    let (n_units, per_class, units) = match &groups {
        None => (n, labels.counts(), "rows"),
        Some(groups) => (groups.len(), groups.per_class().to_vec(), "groups"),
    };
    let most = per_class.into_iter().filter(|&n| n >= 2).min().unwrap_or(n_units).min(k);
    let mut why = format!("give at least 2 {units}");
    for k in (2..=most).rev() {
        let mut rng = Rng::new(seed, stream);
        let fold_of = match &groups {
            None => deal_rows(labels, k, |_, rows| rng.shuffle(rows)),
            Some(groups) => deal_groups(groups, k, &mut rng),
        };
        match fold_splits(labels, &fold_of, k, units) {
            Ok(splits) => return Ok(splits),
            Err(reason) => why = reason,
        }
    }
    let of = groups.map_or(String::new(), |_| format!(" in {}, which stay whole", n_groups(n_units)));
    Err(Error::input(format!(
        "no inner folds (for parameters that are auto, or for probabilities) can be made of {n} training rows{of}: {why}, or do without"
    )))
}

/// More splits than anyone needs; each stores all row numbers.
pub(crate) const MAX_REPEATS: usize = 10_000;

/// `n_repeats` independent stratified splits with `round(train_fraction * n_samples)` training rows.
///
/// Each class contributes its share to the training part, rounded so that the total fits (largest remainder; ties go to
/// the class that sorts first). A class with two or more rows has at least one row on each side; this takes precedence
/// over the total if both cannot hold. Repeat `r` is drawn from stream `r` of `seed`, so it does not depend on
/// `n_repeats`.
///
/// ```
/// use multikernel::data::{Labels, repeats};
/// let labels = Labels::new(&["a", "b", "a", "b", "a", "b", "a", "b", "a", "b"])?;
/// let splits = repeats(&labels, 20, 0.6, 0)?;
/// assert!(splits.iter().all(|split| split.train.len() == 6 && split.test.len() == 4));
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn repeats(labels: &Labels, n_repeats: usize, train_fraction: f64, seed: u64) -> Result<Vec<Split>> {
    check_repeats(n_repeats, train_fraction)?;
    let members = members(labels);
    let quotas = quotas(&members.iter().map(Vec::len).collect::<Vec<_>>(), train_fraction);
    let draw = |repeat: usize| {
        let mut rng = Rng::new(seed, repeat as u64);
        let mut in_train = vec![false; labels.n_samples()];
        for (rows, &quota) in members.iter().zip(&quotas) {
            let mut rows = rows.clone();
            rng.shuffle(&mut rows);
            rows[..quota].iter().for_each(|&row| in_train[row] = true);
        }
        repeat_split(labels, train_fraction, "rows", |row| in_train[row])
    };
    (0..n_repeats).map(draw).collect()
}

/// [`repeats`] that keep groups whole: no group is in both parts of a split. `groups` has one code per row; without
/// groups these are the splits of [`repeats`].
///
/// Groups are drawn in random order (stream `r` of `seed` for repeat `r`), each to the side where the class counts then
/// deviate least from `train_fraction` of every class and of all rows, until no single move of a group improves this. A
/// class in two or more groups is on both sides if one move or exchange of groups afterwards can achieve it; both sides
/// have at least one group, and the training part has at least two classes, or the call is an error.
///
/// ```
/// use multikernel::data::{Labels, repeats_by_group};
/// let labels = Labels::new(&["a", "b", "a", "b", "a", "b", "a", "b"])?;
/// let patients = [0, 0, 1, 1, 2, 2, 3, 3];
/// let splits = repeats_by_group(&labels, Some(&patients), 20, 0.75, 0)?;
/// assert!(splits.iter().all(|split| split.train.len() == 6 && patients[split.test[0]] == patients[split.test[1]]));
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn repeats_by_group(
    labels: &Labels,
    groups: Option<&[usize]>,
    n_repeats: usize,
    train_fraction: f64,
    seed: u64,
) -> Result<Vec<Split>> {
    let Some(codes) = groups else { return repeats(labels, n_repeats, train_fraction, seed) };
    check_repeats(n_repeats, train_fraction)?;
    let groups = at_least_two_groups(labels, codes)?;
    let draw = |repeat: usize| {
        let mut order: Vec<usize> = (0..groups.len()).collect();
        Rng::new(seed, repeat as u64).shuffle(&mut order);
        let side = groups.deal(&order, &[train_fraction, 1.0 - train_fraction]);
        repeat_split(labels, train_fraction, "groups", |row| side[row] == 0)
    };
    (0..n_repeats).map(draw).collect()
}

fn check_repeats(n_repeats: usize, train_fraction: f64) -> Result<()> {
    if n_repeats == 0 {
        return Err(Error::param("repeats", "0 repeats; choose at least 1"));
    }
    if n_repeats > MAX_REPEATS {
        return Err(Error::param("repeats", format!("must be at most {MAX_REPEATS}, got {n_repeats}")));
    }
    if !(train_fraction > 0.0 && train_fraction < 1.0) {
        return Err(Error::param(
            "train-fraction",
            format!("must lie between 0 and 1, both left out, got {train_fraction}"),
        ));
    }
    Ok(())
}

fn repeat_split(labels: &Labels, fraction: f64, units: &str, in_train: impl Fn(usize) -> bool) -> Result<Split> {
    let split = split_where(labels.n_samples(), in_train);
    let which = format!("a fraction of {fraction}");
    check_train(labels, &split, &which, units).map_err(|reason| Error::param("train-fraction", reason))?;
    if split.test.is_empty() {
        return Err(Error::param("train-fraction", format!("{which} leaves no test rows; choose a smaller one")));
    }
    Ok(split)
}

fn at_least_two_groups(labels: &Labels, codes: &[usize]) -> Result<Groups> {
    let groups = Groups::new(labels, codes)?;
    if groups.len() < 2 {
        return Err(Error::param(
            "groups",
            format!(
                "{} rows in {}, which cannot be cut into rows to train and to test on; give at least 2 groups or leave \
                 them out",
                codes.len(),
                n_groups(groups.len())
            ),
        ));
    }
    Ok(groups)
}

/// `1 group`, `2 groups`.
fn n_groups(n: usize) -> String {
    format!("{n} group{}", if n == 1 { "" } else { "s" })
}

/// The fold of each row: the shuffled rows, class by class, dealt in turn.
fn deal_rows(labels: &Labels, k: usize, mut shuffle: impl FnMut(usize, &mut Vec<usize>)) -> Vec<usize> {
    let mut fold_of = vec![0; labels.n_samples()];
    let mut next = 0;
    for (class, mut rows) in members(labels).into_iter().enumerate() {
        shuffle(class, &mut rows);
        // Each class continues where the previous one stopped, so small classes do not all land in the first fold.
        for row in rows {
            fold_of[row] = next;
            next = (next + 1) % k;
        }
    }
    fold_of
}

/// The fold of each row: groups from the largest down, because the last ones even out the remainder.
fn deal_groups(groups: &Groups, k: usize, rng: &mut Rng) -> Vec<usize> {
    let mut order: Vec<usize> = (0..groups.len()).collect();
    rng.shuffle(&mut order);
    order.sort_by_key(|&group| std::cmp::Reverse(groups.size(group)));
    groups.deal(&order, &vec![1.0 / k as f64; k])
}

/// The splits of folds, or why they are invalid.
fn fold_splits(labels: &Labels, fold_of: &[usize], k: usize, units: &str) -> std::result::Result<Vec<Split>, String> {
    let splits: Vec<Split> = (0..k).map(|fold| split_where(fold_of.len(), |row| fold_of[row] != fold)).collect();
    for (fold, split) in splits.iter().enumerate() {
        check_train(labels, split, &format!("fold {} of {k}", fold + 1), units)?;
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

/// Why a training part cannot be learned from, if so.
fn check_train(labels: &Labels, split: &Split, which: &str, units: &str) -> std::result::Result<(), String> {
    let codes = labels.codes();
    let varied = split.train.iter().any(|&row| codes[row] != codes[split.train[0]]);
    if varied || (labels.are_strata() && !split.train.is_empty()) {
        return Ok(());
    }
    let found = match split.train.first() {
        Some(&row) => format!("only class '{}'", labels.classes()[codes[row]]),
        None => "no row".to_string(),
    };
    Err(format!("{which} would train on {found}; at least two classes are needed, so give more {units} of the others"))
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
    // Always the class furthest from its share: such single steps minimise a sum of convex distances.
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
mod tests;
