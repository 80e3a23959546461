//! Classes with too few rows for the splits.

use super::protocol::{Parts, Protocol};
use crate::data::Labels;

/// Classes that a remark names.
const MOST: usize = 5;

/// A remark on the classes that are missing from the test or the training rows of a split, if there are any.
pub(super) fn rare_classes(labels: &Labels, splits: &[Parts], protocol: &Protocol) -> Option<String> {
    if matches!(protocol, Protocol::Test(_)) {
        return None;
    }
    let counts = labels.counts();
    let (train, test): (Vec<_>, Vec<_>) =
        splits.iter().map(|(train, test)| (present(labels, train), present(labels, test))).unzip();
    let absent = |parts: &[Vec<bool>], class: usize| parts.iter().filter(|has| !has[class]).count();
    let of = |parts: &[Vec<bool>]| -> Vec<usize> {
        (0..labels.n_classes()).filter(|&class| counts[class] > 0 && absent(parts, class) > 0).collect()
    };
    let (untested, unlearned) = (of(&test), of(&train));
    let named = |classes: &[usize], parts: &[Vec<bool>]| {
        let one = |&class: &usize| {
            let rows = if counts[class] == 1 { "row" } else { "rows" };
            let n = absent(parts, class);
            format!("{} ({} {rows}; {n} of {} splits)", labels.classes()[class], counts[class], splits.len())
        };
        let more = classes.len().saturating_sub(MOST);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        classes.iter().take(MOST).map(one).collect::<Vec<_>>().join(", ") + &more
    };
    let mut parts = vec![];
    if !untested.is_empty() {
        parts.push(format!("no row to test of class {}", named(&untested, &test)));
    }
    if !unlearned.is_empty() {
        parts.push(format!("none to train of class {}", named(&unlearned, &train)));
    }
    let fewest = untested.iter().chain(&unlearned).map(|&class| counts[class]).min()?;
    let fewer = match protocol {
        Protocol::Folds(k) if fewest >= 2 && fewest < *k => format!("use --folds {fewest}, or "),
        _ => String::new(),
    };
    Some(format!(
        "{}: figures are of the classes that are there; {fewer}merge small classes or leave them out",
        parts.join(", and ")
    ))
}

/// Which classes the rows have.
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
        let parts: Vec<Parts> = splits.into_iter().map(|split| (split.train, split.test)).collect();
        rare_classes(&labels, &parts, &Protocol::Folds(k))
    }

    #[test]
    fn classes_with_fewer_rows_than_folds_are_named_with_what_to_do() {
        assert_eq!(remark(&[("a", 20), ("b", 5)], 5), None);
        assert_eq!(
            remark(&[("a", 20), ("b", 3)], 5).unwrap(),
            "no row to test of class b (3 rows; 2 of 5 splits): figures are of the classes that are there; \
             use --folds 3, or merge small classes or leave them out"
        );
        let found = remark(&[("a", 20), ("b", 1)], 5).unwrap();
        assert!(found.contains("class b (1 row; 4 of 5 splits), and none to train of class b (1 row; 1 of 5 splits)"));
        assert!(!found.contains("--folds"), "{found}");
        let many: Vec<(&str, usize)> = [("a", 20)].into_iter().chain(["b", "c", "d", "e", "f", "g", "h"].map(|c| (c, 2))).collect();
        assert!(remark(&many, 5).unwrap().contains("f (2 rows; 3 of 5 splits) and 2 more: "), "{:?}", remark(&many, 5));
    }
}
