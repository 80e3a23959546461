//! Class labels: a list of names and a code per row.

use std::collections::BTreeMap;

use super::words::{finite, list};
use crate::error::{Error, Result};

/// The class of every row: a sorted list of class names and, per row, an index into it.
///
/// Classes are sorted numerically if all of them are finite numbers, else as text.
///
/// ```
/// use multikernel::data::Labels;
/// let labels = Labels::new(&["10", "9", "10"])?;
/// assert_eq!(labels.classes(), ["9", "10"]);
/// assert_eq!(labels.codes(), [1, 0, 1]);
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    classes: Vec<String>,
    codes: Vec<usize>,
    /// Whether these only balance splits, so that a training part may have a single one.
    strata: bool,
}

impl Labels {
    /// Labels as they appear in the rows. Blank labels are refused, and so are two spellings of one number (`1` and
    /// `1.0`) in all-numeric labels, which would silently split one class in two.
    pub fn new(labels: &[impl AsRef<str>]) -> Result<Self> {
        if labels.is_empty() {
            return Err(Error::input("no labels; at least one row is needed"));
        }
        let mut codes_of = BTreeMap::new();
        for (i, label) in labels.iter().enumerate() {
            check_label(label.as_ref(), i)?;
            codes_of.insert(label.as_ref(), 0);
        }
        let classes = sorted(codes_of.keys().copied().collect())?;
        for (code, class) in classes.iter().enumerate() {
            codes_of.insert(class, code);
        }
        let codes = labels.iter().map(|label| codes_of[label.as_ref()]).collect();
        Ok(Labels { classes: classes.into_iter().map(str::to_string).collect(), codes, strata: false })
    }

    /// Labels coded by a given class list (that of a model), for comparing predictions with the truth.
    ///
    /// A label that is not a class as written is matched by its numeric value (`1.0` matches `1`); one that matches no
    /// class is an error.
    pub fn with_classes(labels: &[impl AsRef<str>], classes: &[String]) -> Result<Self> {
        let exact: BTreeMap<&str, usize> = classes.iter().enumerate().map(|(k, class)| (class.as_str(), k)).collect();
        let code_of = |label: &str| {
            exact.get(label).copied().or_else(|| {
                let number = finite(label)?;
                classes.iter().position(|class| finite(class) == Some(number))
            })
        };
        let mut codes = Vec::with_capacity(labels.len());
        for (i, label) in labels.iter().enumerate() {
            let label = label.as_ref();
            codes.push(code_of(label).ok_or_else(|| {
                Error::input(format!(
                    "row {}: label '{label}' is none of the {} known classes ({})",
                    i + 1,
                    classes.len(),
                    list(classes, 5)
                ))
            })?);
        }
        Labels::from_parts(classes.to_vec(), codes)
    }

    /// Labels from a class list (kept in its order) and a code per row.
    pub fn from_parts(classes: Vec<String>, codes: Vec<usize>) -> Result<Self> {
        let mut seen = std::collections::BTreeSet::new();
        for (k, class) in classes.iter().enumerate() {
            if class.trim().is_empty() {
                return Err(Error::input(format!("class {} has a blank name; give it a name", k + 1)));
            }
            if !seen.insert(class) {
                return Err(Error::input(format!("two classes are called '{class}'; rename one")));
            }
        }
        if let Some(i) = codes.iter().position(|&code| code >= classes.len()) {
            return Err(Error::input(format!(
                "row {}: class code {} with {} classes; codes are 0..{}",
                i + 1,
                codes[i],
                classes.len(),
                classes.len()
            )));
        }
        Ok(Labels { classes, codes, strata: false })
    }

    /// Strata of rows that have numbers or times: splits are balanced by them, and nothing is learned from them.
    pub(crate) fn strata(names: Vec<String>, codes: Vec<usize>) -> Result<Self> {
        Ok(Labels { strata: true, ..Labels::from_parts(names, codes)? })
    }

    /// Whether these are strata, not classes.
    pub(crate) fn are_strata(&self) -> bool {
        self.strata
    }

    /// Class names, sorted.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Per row, the index of its class in [`Labels::classes`].
    pub fn codes(&self) -> &[usize] {
        &self.codes
    }

    /// Number of classes in the list (a subset of the rows may lack some).
    pub fn n_classes(&self) -> usize {
        self.classes.len()
    }

    /// Number of rows.
    pub fn n_samples(&self) -> usize {
        self.codes.len()
    }

    /// Rows per class.
    pub fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.n_classes()];
        for &code in &self.codes {
            counts[code] += 1;
        }
        counts
    }

    /// The labels of the given rows, in the given order; the class list stays whole, so codes keep their meaning.
    /// Panics on a row out of range, as slices do.
    pub fn select(&self, rows: &[usize]) -> Labels {
        let codes = rows.iter().map(|&i| self.codes[i]).collect();
        Labels { classes: self.classes.clone(), codes, strata: self.strata }
    }
}

fn check_label(label: &str, row: usize) -> Result<()> {
    if label.trim().is_empty() {
        return Err(Error::input(format!("row {}: the label is empty; remove the row or fill it in", row + 1)));
    }
    Ok(())
}

/// `classes` (distinct, in text order) in class order.
fn sorted(classes: Vec<&str>) -> Result<Vec<&str>> {
    let numbers: Option<Vec<f64>> = classes.iter().map(|class| finite(class)).collect();
    let Some(numbers) = numbers else { return Ok(classes) };
    let mut pairs: Vec<(f64, &str)> = numbers.into_iter().zip(classes).collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    for pair in pairs.windows(2) {
        if pair[0].0 == pair[1].0 {
            return Err(Error::input(format!(
                "labels '{}' and '{}' are one number written in two ways; write them alike",
                pair[0].1, pair[1].1
            )));
        }
    }
    Ok(pairs.into_iter().map(|(_, class)| class).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_all_numbers_sorted_as_numbers() {
        let labels = Labels::new(&["10", "-1", "2.5", "9", "-1"]).unwrap();
        assert_eq!(labels.classes(), ["-1", "2.5", "9", "10"]);
        assert_eq!(labels.codes(), [3, 0, 1, 2, 0]);
        assert_eq!(labels.counts(), [2, 1, 1, 1]);
    }

    #[test]
    fn classes_with_a_word_or_infinity_sorted_as_text() {
        assert_eq!(Labels::new(&["10", "9", "a"]).unwrap().classes(), ["10", "9", "a"]);
        assert_eq!(Labels::new(&["9", "10", "inf"]).unwrap().classes(), ["10", "9", "inf"]);
    }

    #[test]
    fn labels_empty_or_ambiguous_refused() {
        assert_eq!(Labels::new(&[] as &[&str]).unwrap_err().to_string(), "no labels; at least one row is needed");
        assert_eq!(
            Labels::new(&["a", " "]).unwrap_err().to_string(),
            "row 2: the label is empty; remove the row or fill it in"
        );
        assert_eq!(
            Labels::new(&["1", "2", "1.0"]).unwrap_err().to_string(),
            "labels '1' and '1.0' are one number written in two ways; write them alike"
        );
        assert!(Labels::new(&["0", "-0"]).is_err());
        // As text they are different words, and nothing says they are numbers.
        assert_eq!(Labels::new(&["1", "1.0", "a"]).unwrap().n_classes(), 3);
    }

    #[test]
    fn select_keeps_the_class_list() {
        let labels = Labels::new(&["a", "b", "c"]).unwrap().select(&[2, 2]);
        assert_eq!((labels.classes().len(), labels.codes(), labels.counts()), (3, &[2, 2][..], vec![0, 0, 2]));
    }

    #[test]
    fn with_classes_matches_text_then_number() {
        let classes = vec!["1".to_string(), "2".to_string()];
        assert_eq!(Labels::with_classes(&["2", "1.0", "+2"], &classes).unwrap().codes(), [1, 0, 1]);
        assert_eq!(
            Labels::with_classes(&["2", "3"], &classes).unwrap_err().to_string(),
            "row 2: label '3' is none of the 2 known classes (1, 2)"
        );
    }

    #[test]
    fn from_parts_bad_parts_refused() {
        let classes = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        assert!(Labels::from_parts(classes(&["a", "b"]), vec![0, 1, 1]).is_ok());
        assert_eq!(
            Labels::from_parts(classes(&["a", "b"]), vec![0, 2]).unwrap_err().to_string(),
            "row 2: class code 2 with 2 classes; codes are 0..2"
        );
        assert!(Labels::from_parts(classes(&["a", "a"]), vec![]).is_err());
        assert!(Labels::from_parts(classes(&[""]), vec![]).is_err());
    }
}
