//! Agreement between two partitions of the same rows: a clustering and reference classes, or two clusterings.

use crate::error::{Error, Result};

/// Normalised mutual information of two partitions: their mutual information divided by the mean of their entropies.
///
/// Use it to compare partitions with different numbers of clusters. The normalisation is the **arithmetic mean** of the
/// two entropies, scikit-learn's default (others take the root of their product, the smaller or the larger). It is 1
/// for equal partitions whatever their labels and 0 for independent ones; it is not corrected for chance, so many small
/// clusters score above 0 by luck: see [`adjusted_rand`]. Two partitions of one cluster each agree: 1.
///
/// `clusters` and `reference` have one label per row, any numbers. Unequal lengths and empty input are errors. O(n log
/// n).
///
/// ```
/// use multikernel::evaluate::nmi;
/// assert_eq!(nmi(&[0, 0, 1, 1], &[7, 7, 3, 3])?, 1.0);
/// assert_eq!(nmi(&[0, 0, 1, 1], &[0, 1, 0, 1])?, 0.0);
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn nmi(clusters: &[usize], reference: &[usize]) -> Result<f64> {
    Ok(Contingency::new(clusters, reference)?.nmi())
}

/// Rand index: the share of pairs of rows on which two partitions agree, putting the pair together in both or apart in
/// both.
///
/// Use it to compare with published figures; with many clusters most pairs are apart in any two partitions, so it is
/// near 1 by chance alone, which [`adjusted_rand`] corrects for. One row has no pairs: 1.
///
/// Arguments, errors and cost as for [`nmi`]. Exact: pairs are counted in integers.
///
/// ```
/// use multikernel::evaluate::rand_index;
/// // Of six pairs, {0, 1} is together in both and {0, 3}, {1, 3} are apart in both.
/// assert_eq!(rand_index(&[0, 0, 1, 1], &[0, 0, 0, 1])?, 0.5);
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn rand_index(clusters: &[usize], reference: &[usize]) -> Result<f64> {
    Ok(Contingency::new(clusters, reference)?.rand_index())
}

/// Adjusted Rand index (Hubert and Arabie 1985): [`rand_index`] minus its expectation under randomly shuffled labels,
/// scaled so that equal partitions score 1.
///
/// Use it by default: 0 is chance level, whatever the numbers of clusters, and values below 0 are worse than chance.
/// Equal partitions score 1, even where chance could do no worse (one cluster each, or as many clusters as rows).
///
/// Arguments, errors and cost as for [`nmi`]. Exact: pairs are counted in integers.
///
/// ```
/// use multikernel::evaluate::adjusted_rand;
/// assert_eq!(adjusted_rand(&[0, 0, 1, 1], &[1, 1, 0, 0])?, 1.0);
/// assert_eq!(adjusted_rand(&[0, 0, 1, 1], &[0, 1, 0, 1])?, -0.5);
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn adjusted_rand(clusters: &[usize], reference: &[usize]) -> Result<f64> {
    Ok(Contingency::new(clusters, reference)?.adjusted_rand())
}

/// Purity: the share of rows whose reference class is the most frequent one in their cluster.
///
/// Use it to see how well one class names each cluster: it is the accuracy of that naming. It never falls when clusters
/// are split, and clusters of one row score 1, so compare only partitions with similar numbers of clusters. Not
/// symmetric: the reference comes second.
///
/// Arguments, errors and cost as for [`nmi`].
///
/// ```
/// use multikernel::evaluate::purity;
/// assert_eq!(purity(&[0, 0, 0, 1], &[5, 5, 6, 6])?, 0.75);
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn purity(clusters: &[usize], reference: &[usize]) -> Result<f64> {
    Ok(Contingency::new(clusters, reference)?.purity())
}

/// A partition with its clusters numbered from 0, in the order of their labels.
pub(super) struct Partition {
    pub(super) codes: Vec<usize>,
    /// Rows of each cluster; at least one.
    pub(super) counts: Vec<usize>,
}

impl Partition {
    /// By sorting: labels may be any numbers, so no table is as long as the largest of them.
    pub(super) fn new(labels: &[usize]) -> Partition {
        let mut known = labels.to_vec();
        known.sort_unstable();
        known.dedup();
        let codes: Vec<usize> = labels.iter().map(|label| known.partition_point(|other| other < label)).collect();
        let mut counts = vec![0; known.len()];
        codes.iter().for_each(|&code| counts[code] += 1);
        Partition { codes, counts }
    }
}

/// The number of rows each cluster shares with each reference class. Only nonzero counts are stored, so that partitions
/// into as many clusters as rows take no more memory than others.
pub(super) struct Contingency {
    n: usize,
    clusters: Vec<usize>,
    reference: Vec<usize>,
    /// Cluster, class and number of rows in both, sorted.
    cells: Vec<(usize, usize, usize)>,
}

impl Contingency {
    pub(super) fn new(clusters: &[usize], reference: &[usize]) -> Result<Contingency> {
        if clusters.len() != reference.len() {
            return Err(Error::input(format!(
                "cluster indices: {} clusters but {} reference labels; pass one of each for each row",
                clusters.len(),
                reference.len()
            )));
        }
        if clusters.is_empty() {
            return Err(Error::input("cluster indices: no rows; at least one is needed"));
        }
        let (clusters, reference) = (Partition::new(clusters), Partition::new(reference));
        let mut pairs: Vec<(usize, usize)> = clusters.codes.into_iter().zip(reference.codes).collect();
        pairs.sort_unstable();
        let cells = pairs.chunk_by(|a, b| a == b).map(|same| (same[0].0, same[0].1, same.len())).collect();
        Ok(Contingency { n: pairs.len(), clusters: clusters.counts, reference: reference.counts, cells })
    }

    pub(super) fn nmi(&self) -> f64 {
        if self.clusters.len() == 1 && self.reference.len() == 1 {
            return 1.0;
        }
        let n = self.n as f64;
        let entropy = |counts: &[usize]| -> f64 { counts.iter().map(|&k| k as f64 / n * (n / k as f64).ln()).sum() };
        let term = |&(a, b, both): &(usize, usize, usize)| {
            // The ratio of integers is exactly 1 where the two are independent.
            let (apart, both) = (self.clusters[a] as f64 * self.reference[b] as f64, both as f64);
            both / n * (n * both / apart).ln()
        };
        let information: f64 = self.cells.iter().map(term).sum();
        // Rounding must not push it out of range.
        (information / (0.5 * (entropy(&self.clusters) + entropy(&self.reference)))).clamp(0.0, 1.0)
    }

    pub(super) fn purity(&self) -> f64 {
        let of_cluster = self.cells.chunk_by(|a, b| a.0 == b.0);
        let most = of_cluster.map(|cells| cells.iter().map(|cell| cell.2).max().unwrap_or(0));
        most.sum::<usize>() as f64 / self.n as f64
    }

    /// Ordered pairs of rows: together in both, in the clusters alone, in the reference alone, and in neither.
    fn pairs(&self) -> [i128; 4] {
        let squares = |counts: &mut dyn Iterator<Item = usize>| counts.map(|k| (k as i128).pow(2)).sum::<i128>();
        let both = squares(&mut self.cells.iter().map(|cell| cell.2));
        let (clusters, reference) =
            (squares(&mut self.clusters.iter().copied()), squares(&mut self.reference.iter().copied()));
        let n = self.n as i128;
        [both - n, clusters - both, reference - both, n * n - clusters - reference + both]
    }

    pub(super) fn rand_index(&self) -> f64 {
        let [both, one, other, neither] = self.pairs();
        let all = both + one + other + neither;
        if all == 0 { 1.0 } else { (both + neither) as f64 / all as f64 }
    }

    pub(super) fn adjusted_rand(&self) -> f64 {
        let [both, one, other, neither] = self.pairs();
        if one == 0 && other == 0 {
            return 1.0;
        }
        let chance = (both + one) * (one + neither) + (both + other) * (other + neither);
        2.0 * (both * neither - one * other) as f64 / chance as f64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Two partitions of the same rows.
    fn cases() -> impl Strategy<Value = (Vec<usize>, Vec<usize>)> {
        (1usize..40, 1usize..7, 1usize..7)
            .prop_flat_map(|(n, k, l)| (prop::collection::vec(0..k, n), prop::collection::vec(0..l, n)))
    }

    /// Counts of pairs of rows by enumeration: together in both, in one, in the other, in neither.
    fn enumerated(a: &[usize], b: &[usize]) -> [f64; 4] {
        let mut pairs = [0.0; 4];
        for i in 0..a.len() {
            for j in 0..i {
                pairs[2 * usize::from(a[i] != a[j]) + usize::from(b[i] != b[j])] += 1.0;
            }
        }
        pairs
    }

    fn all(a: &[usize], b: &[usize]) -> [f64; 4] {
        [nmi(a, b).unwrap(), adjusted_rand(a, b).unwrap(), rand_index(a, b).unwrap(), purity(a, b).unwrap()]
    }

    proptest! {
        #[test]
        fn indices_of_pairs_are_those_of_enumerated_pairs((a, b) in cases()) {
            let [both, one, other, neither] = enumerated(&a, &b);
            let n_pairs = both + one + other + neither;
            let expected = if n_pairs == 0.0 { 1.0 } else { (both + neither) / n_pairs };
            prop_assert!((rand_index(&a, &b)? - expected).abs() < 1e-14);
            // As published: (index - expected index) / (largest index - expected index).
            let (in_a, in_b) = (both + one, both + other);
            let (chance, most) = (in_a * in_b / n_pairs, 0.5 * (in_a + in_b));
            if n_pairs > 0.0 && most > chance {
                prop_assert!((adjusted_rand(&a, &b)? - (both - chance) / (most - chance)).abs() < 1e-12);
            }
        }

        #[test]
        fn renamed_clusters_and_permuted_rows_change_nothing((a, b) in cases()) {
            let renamed = |labels: &[usize]| labels.iter().map(|&k| usize::MAX - 1000 * k).collect::<Vec<_>>();
            let turned = |labels: &[usize]| labels.iter().rev().copied().collect::<Vec<_>>();
            for (x, y) in all(&a, &b).into_iter().zip(all(&turned(&renamed(&a)), &turned(&b))) {
                prop_assert!((x - y).abs() < 1e-12);
            }
            // All but purity are symmetric, and a partition agrees with itself.
            for (x, y) in all(&a, &b).into_iter().zip(all(&b, &a)).take(3) {
                prop_assert!((x - y).abs() < 1e-12);
            }
            for x in all(&a, &renamed(&a)) {
                prop_assert!((x - 1.0).abs() < 1e-12);
            }
        }

        #[test]
        fn purity_is_the_accuracy_of_the_best_naming((a, b) in cases()) {
            let right = |k: usize| {
                let rows: Vec<usize> = (0..a.len()).filter(|&i| a[i] == k).collect();
                (0..7).map(|class| rows.iter().filter(|&&i| b[i] == class).count()).max().unwrap_or(0)
            };
            prop_assert_eq!(purity(&a, &b)?, (0..7).map(right).sum::<usize>() as f64 / a.len() as f64);
        }
    }

    #[test]
    fn nmi_of_a_small_table_is_that_worked_by_hand() {
        // Rows in both: 2 and 1 of cluster 0, none and 1 of cluster 1.
        let (h_clusters, h_reference) = (0.75 * (4f64 / 3.0).ln() + 0.25 * 4f64.ln(), 2f64.ln());
        let information = 0.5 * (4f64 / 3.0).ln() + 0.25 * (2f64 / 3.0).ln() + 0.25 * 2f64.ln();
        let found = nmi(&[0, 0, 0, 1], &[0, 0, 1, 1]).unwrap();
        assert!((found - information / (0.5 * (h_clusters + h_reference))).abs() < 1e-15);
    }

    #[test]
    fn extreme_partitions_have_the_values_of_convention() {
        let (one, each): (Vec<usize>, Vec<usize>) = (vec![0; 6], (0..6).collect());
        assert_eq!(all(&one, &one), [1.0; 4]);
        assert_eq!(all(&each, &each), [1.0; 4]);
        assert_eq!(all(&one, &each), [0.0, 0.0, 0.0, 1.0 / 6.0]);
        assert_eq!(all(&each, &one), [0.0, 0.0, 0.0, 1.0]);
        assert_eq!(all(&[3], &[9]), [1.0; 4]);
        // As many clusters as rows must not allocate a quadratic table.
        let many: Vec<usize> = (0..200_000).collect();
        assert_eq!(adjusted_rand(&many, &many).unwrap(), 1.0);
    }

    #[test]
    fn partitions_of_other_rows_are_refused() {
        let text = |a: &[usize], b: &[usize]| nmi(a, b).unwrap_err().to_string();
        assert_eq!(
            text(&[0, 1], &[0]),
            "cluster indices: 2 clusters but 1 reference labels; pass one of each for each row"
        );
        assert_eq!(text(&[], &[]), "cluster indices: no rows; at least one is needed");
    }
}
