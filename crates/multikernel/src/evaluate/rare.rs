//! Classes with too few rows for the splits.

use crate::data::{Labels, Split};

/// Maximum number of classes named in a remark.
const MAX_NAMED: usize = 5;

/// A remark on classes missing from the test or training rows of a split, if there are any. `n_folds` is the number of
/// folds if fewer could help.
pub(super) fn rare_classes(labels: &Labels, splits: &[Split], n_folds: Option<usize>) -> Option<String> {
    let counts = labels.counts();
    let (train, test): (Vec<_>, Vec<_>) =
        splits.iter().map(|split| (present(labels, &split.train), present(labels, &split.test))).unzip();
    let of = |parts: &[Vec<bool>]| -> Vec<usize> {
        let is_absent = |class: usize| parts.iter().any(|has| !has[class]);
        (0..labels.n_classes()).filter(|&class| counts[class] > 0 && is_absent(class)).collect()
    };
    let (untested, unlearned) = (of(&test), of(&train));
    let named = |classes: &[usize]| {
        let rows = |n| if n == 1 { "1 row".to_string() } else { format!("{n} rows") };
        let one = |&class: &usize| format!("{} ({})", labels.classes()[class], rows(counts[class]));
        let more = classes.len().saturating_sub(MAX_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        classes.iter().take(MAX_NAMED).map(one).collect::<Vec<_>>().join(", ") + &more
    };
    let mut parts = vec![];
    if !untested.is_empty() {
        parts.push(format!("classes missing from the test rows of some splits: {}", named(&untested)));
    }
    if !unlearned.is_empty() {
        parts.push(format!("classes missing from the training rows of some splits: {}", named(&unlearned)));
    }
    let fewest = untested.iter().chain(&unlearned).map(|&class| counts[class]).min()?;
    let fewer = match n_folds {
        Some(k) if fewest >= 2 && fewest < k => format!("use {fewest} folds, or "),
        _ => String::new(),
    };
    Some(format!(
        "{}; each split is scored on the classes it contains; {fewer}merge small classes or leave them out",
        parts.join("; ")
    ))
}

/// Which classes occur in the rows.
fn present(labels: &Labels, rows: &[usize]) -> Vec<bool> {
    let mut has = vec![false; labels.n_classes()];
    rows.iter().for_each(|&row| has[labels.codes()[row]] = true);
    has
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::folds;

    fn remark(classes: &[(&str, usize)], k: usize) -> Option<String> {
        let names: Vec<&str> = classes.iter().flat_map(|&(name, n)| vec![name; n]).collect();
        let labels = Labels::new(&names).unwrap();
        let splits = folds(&labels, k, 0).unwrap();
        rare_classes(&labels, &splits, Some(k))
    }

    #[test]
    fn classes_with_fewer_rows_than_folds_are_named_with_what_to_do() {
        assert_eq!(remark(&[("a", 20), ("b", 5)], 5), None);
        assert_eq!(
            remark(&[("a", 20), ("b", 3)], 5).unwrap(),
            "classes missing from the test rows of some splits: b (3 rows); each split is scored on the classes it contains; \
             use 3 folds, or merge small classes or leave them out"
        );
        let found = remark(&[("a", 20), ("b", 1), ("c", 9)], 5).unwrap();
        let both =
            "test rows of some splits: b (1 row); classes missing from the training rows of some splits: b (1 row); ";
        assert!(found.contains(both) && !found.contains(" folds, or"), "{found}");
        let mut many: Vec<(&str, usize)> = ["b", "c", "d", "e", "f", "g", "h"].map(|class| (class, 2)).into();
        many.push(("a", 20));
        let found = remark(&many, 5).unwrap();
        assert!(found.contains("f (2 rows) and 2 more; "), "{found}");
    }
}
