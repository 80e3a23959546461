//! Representative subsets of the training rows.

use crate::data::Labels;

/// Maximum number of rows used for side results and for work after a stop: all of a small set, and enough of a large
/// one for two digits in a fraction of a second.
pub(crate) const MAX_ROWS: usize = 1000;

/// All rows, or `most` of them: evenly spaced among the rows sorted by class, so that each class has its share.
pub(crate) fn sample(labels: &Labels, most: usize) -> Vec<usize> {
    let n = labels.n_samples();
    if n <= most {
        return (0..n).collect();
    }
    let mut by_class: Vec<usize> = (0..n).collect();
    by_class.sort_by_key(|&i| labels.codes()[i]);
    let mut rows: Vec<usize> = (0..most).map(|k| by_class[(2 * k + 1) * n / (2 * most)]).collect();
    rows.sort_unstable();
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_has_each_class_in_its_proportion_and_all_rows_of_few() {
        let texts: Vec<&str> = (0..1200).map(|i| if i % 4 == 0 { "rare" } else { "common" }).collect();
        let labels = Labels::new(&texts).unwrap();
        let rows = sample(&labels, 100);
        assert!(rows.len() == 100 && rows.is_sorted_by(|a, b| a < b));
        assert_eq!(rows.iter().filter(|&&i| i % 4 == 0).count(), 25);
        assert_eq!(sample(&labels, 1200), (0..1200).collect::<Vec<_>>());
    }
}
