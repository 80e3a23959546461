//! Cluster quality: how compact clusters are and how far apart, and how well they agree with reference classes.

use serde::Serialize;

use super::agreement::{Contingency, Partition};
use crate::dist::Rng;
use crate::error::{Error, Result};
use crate::features::Features;
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::simd::{dispatched, sum_of_squares};
use crate::stack::Distances;

/// Up to this many rows, all pairs are compared; of more, this many are sampled.
const MAX_ROWS: usize = 20_000;
/// Distinct from the streams of splits, inner folds, resamples and methods.
const STREAM: u64 = 1 << 53;
/// Squared distance between two means, relative to their squared lengths, below which they differ by rounding alone.
const SAME: f64 = 1e-24;

/// All indices of one clustering: against a reference partition, if there is one, and from the points alone.
///
/// ```
/// use multikernel::{Matrix, Pool, evaluate::ClusterIndices};
/// let points = Matrix::from_vec(4, 1, vec![0.0, 1.0, 10.0, 12.0])?.into();
/// let indices = ClusterIndices::of(&points, &[0, 0, 1, 1], Some(&[1, 1, 0, 0]), 0, &Pool::new(1)?)?;
/// assert_eq!((indices.n_clusters, indices.adjusted_rand, indices.dunn), (2, Some(1.0), Some(4.5)));
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ClusterIndices {
    /// Number of nonempty clusters.
    pub n_clusters: usize,
    /// Normalised mutual information, see [`nmi`](super::nmi); `None`, like the next three, without a reference.
    pub nmi: Option<f64>,
    /// Adjusted Rand index, see [`adjusted_rand`](super::adjusted_rand).
    pub adjusted_rand: Option<f64>,
    /// Rand index, see [`rand_index`](super::rand_index).
    pub rand_index: Option<f64>,
    /// Purity, see [`purity`](super::purity).
    pub purity: Option<f64>,
    /// See [`davies_bouldin`]: smaller is better.
    pub davies_bouldin: Option<f64>,
    /// See [`dunn`]: larger is better, and 0 means that there are equal rows in different clusters.
    pub dunn: Option<f64>,
    /// See [`silhouette`]: from -1 to 1, larger is better.
    pub silhouette: Option<f64>,
    /// Number of rows that `dunn` and `silhouette` were computed from, if that was a random sample.
    pub sampled: Option<usize>,
}

impl ClusterIndices {
    /// The indices of `clusters`, one label per row of `points`, any numbers; `reference` holds the classes of the same
    /// rows.
    ///
    /// Pass points scaled as the clustering saw them: distances are Euclidean, with all columns weighted equally.
    /// Beyond 20,000 rows, `dunn` and `silhouette`, which compare all pairs, are computed on 20,000 rows drawn with
    /// `seed`: a sample's silhouette is close to that of all rows, its Dunn index is never smaller.
    ///
    /// Cost: min(n, 20,000)^2 distances, n log n, and that of [`davies_bouldin`]. Empty input, unequal lengths and
    /// values that are not finite are errors.
    pub fn of(
        points: &Features,
        clusters: &[usize],
        reference: Option<&[usize]>,
        seed: u64,
        pool: &Pool,
    ) -> Result<ClusterIndices> {
        ClusterIndices::of_at_most(MAX_ROWS, points, clusters, reference, seed, pool)
    }

    fn of_at_most(
        most_rows: usize,
        points: &Features,
        clusters: &[usize],
        reference: Option<&[usize]>,
        seed: u64,
        pool: &Pool,
    ) -> Result<ClusterIndices> {
        let table = reference.map(|reference| Contingency::new(clusters, reference)).transpose()?;
        let groups = Groups::new(points, clusters)?;
        let sampled = (clusters.len() > most_rows).then_some(most_rows);
        let spread = match sampled {
            None => Spread::of(points, &groups, pool),
            Some(m) => {
                let rows = sample(clusters.len(), m, seed);
                let clusters: Vec<usize> = rows.iter().map(|&i| clusters[i]).collect();
                let points = points.select_rows(&rows);
                Spread::of(&points, &Groups::new(&points, &clusters)?, pool)
            }
        };
        Ok(ClusterIndices {
            n_clusters: groups.ends.len(),
            nmi: table.as_ref().map(Contingency::nmi),
            adjusted_rand: table.as_ref().map(Contingency::adjusted_rand),
            rand_index: table.as_ref().map(Contingency::rand_index),
            purity: table.as_ref().map(Contingency::purity),
            davies_bouldin: centres_apart(points, &groups, pool)?,
            dunn: spread.as_ref().and_then(Spread::dunn),
            silhouette: spread.as_ref().and_then(Spread::silhouette),
            sampled,
        })
    }

    /// Remarks for a reader of the figures, in sentences: sampling, equal rows in different clusters.
    pub fn notes(&self) -> Vec<String> {
        let sampled = self.sampled.map(|m| format!("Dunn index and silhouette are those of {m} rows drawn at random"));
        let split = "equal rows lie in different clusters, so the Dunn index is 0, whatever the other rows do";
        sampled.into_iter().chain((self.dunn == Some(0.0)).then(|| split.into())).collect()
    }
}

/// Davies-Bouldin index: for each cluster the worst `(s_i + s_j) / d_ij` over other clusters, averaged. s is the mean
/// distance of a cluster's rows from their mean, d the distance between two means. Smaller is better; 0 is best.
///
/// Use it for round clusters of any size; it sees only means, so interlocked or ring-shaped clusters look bad whatever
/// their gap. As in scikit-learn, clusters with the same mean are left out of each other's worst case; here, means that
/// differ by rounding alone count as the same.
///
/// `clusters` has one label per row of `points`, any numbers. `None` for one cluster, for as many clusters as rows, and
/// if all means are the same. Cost: n d + K^2 d for n rows of d columns in K clusters; memory: K d numbers. Errors as
/// for [`ClusterIndices::of`].
///
/// ```
/// use multikernel::{Matrix, Pool, evaluate::davies_bouldin};
/// let points = Matrix::from_vec(4, 1, vec![0.0, 2.0, 10.0, 12.0])?.into();
/// assert_eq!(davies_bouldin(&points, &[0, 0, 1, 1], &Pool::new(1)?)?, Some(0.2));
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn davies_bouldin(points: &Features, clusters: &[usize], pool: &Pool) -> Result<Option<f64>> {
    centres_apart(points, &Groups::new(points, clusters)?, pool)
}

/// Dunn index: the smallest distance between two rows of different clusters over the largest distance between two rows
/// of one cluster (single linkage over complete diameter; there are other definitions). Larger is better; above 1,
/// every row is closer to all rows of its cluster than to any other.
///
/// Use it to compare with published figures: it depends on two pairs of rows only. **Equal rows in different clusters
/// make it 0**, and that is what 0 means; it is then uninformative for data with repeated rows.
///
/// Arguments as for [`davies_bouldin`]. `None` for one cluster, and if no cluster has two different rows. Cost: n^2
/// distances; [`ClusterIndices::of`] draws a sample if there are many rows.
///
/// ```
/// use multikernel::{Matrix, Pool, evaluate::dunn};
/// let points = Matrix::from_vec(4, 1, vec![0.0, 2.0, 10.0, 11.0])?.into();
/// assert_eq!(dunn(&points, &[0, 0, 1, 1], &Pool::new(1)?)?, Some(4.0));
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn dunn(points: &Features, clusters: &[usize], pool: &Pool) -> Result<Option<f64>> {
    Ok(Spread::of(points, &Groups::new(points, clusters)?, pool).as_ref().and_then(Spread::dunn))
}

/// Mean silhouette: the mean over rows of `(b - a) / max(a, b)`. a is a row's mean distance from the other rows of its
/// cluster, b that from the rows of the nearest other cluster; a row alone in its cluster counts as 0. From -1 to 1; 0
/// is on the border, and rows below it are closer to another cluster.
///
/// Use it to choose a number of clusters. As scikit-learn's `silhouette_score`.
///
/// Arguments as for [`davies_bouldin`]. `None` for one cluster and for as many clusters as rows. Cost: n^2 distances;
/// [`ClusterIndices::of`] draws a sample if there are many rows.
///
/// ```
/// use multikernel::{Matrix, Pool, evaluate::silhouette};
/// let points = Matrix::from_vec(3, 1, vec![0.0, 1.0, 5.0])?.into();
/// // (5 - 1) / 5, (4 - 1) / 4, and a row alone.
/// assert_eq!(silhouette(&points, &[0, 0, 1], &Pool::new(1)?)?, Some((0.8 + 0.75 + 0.0) / 3.0));
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn silhouette(points: &Features, clusters: &[usize], pool: &Pool) -> Result<Option<f64>> {
    Ok(Spread::of(points, &Groups::new(points, clusters)?, pool).as_ref().and_then(Spread::silhouette))
}

/// Rows drawn without replacement, ascending.
fn sample(n: usize, m: usize, seed: u64) -> Vec<usize> {
    let mut rng = Rng::new(seed, STREAM);
    let mut rows: Vec<usize> = (0..n).collect();
    (0..m).for_each(|i| rows.swap(i, i + rng.below(n - i)));
    rows.truncate(m);
    rows.sort_unstable();
    rows
}

/// Rows sorted by cluster, so that distances to a cluster are contiguous.
struct Groups {
    order: Vec<usize>,
    /// End of each cluster in the order.
    ends: Vec<usize>,
}

impl Groups {
    fn new(points: &Features, clusters: &[usize]) -> Result<Groups> {
        let n = points.n_rows();
        if clusters.len() != n {
            let found = clusters.len();
            return Err(Error::input(format!(
                "cluster indices: {found} clusters for {n} rows; pass the cluster of each row"
            )));
        }
        if n == 0 {
            return Err(Error::input("cluster indices: no rows; at least one is needed"));
        }
        if let Some((i, j, value)) = points.first_not_finite() {
            return Err(Error::input(format!(
                "cluster indices: the value of row {i}, column {j} (counted from 0) is {value}; distances need finite \
                 numbers, fill in what is missing"
            )));
        }
        let partition = Partition::new(clusters);
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by_key(|&i| partition.codes[i]);
        let add = |end: &mut usize, count: &usize| {
            *end += count;
            Some(*end)
        };
        Ok(Groups { order, ends: partition.counts.iter().scan(0, add).collect() })
    }

    fn range(&self, cluster: usize) -> std::ops::Range<usize> {
        let start = if cluster == 0 { 0 } else { self.ends[cluster - 1] };
        start..self.ends[cluster]
    }

    /// The cluster of the row at a position in the order.
    fn cluster_at(&self, place: usize) -> usize {
        self.ends.partition_point(|&end| end <= place)
    }

    /// Whether there is more than one cluster, and one with more than one row.
    fn are_many(&self) -> bool {
        (2..self.order.len()).contains(&self.ends.len())
    }
}

dispatched! {
    /// The sum of the square roots of some squares, their minimum and their maximum, in eight interleaved parts.
    fn summary(squares: &[f64]) -> [f64; 3] {
        let (mut sums, mut least, mut most) = ([0.0; 8], [f64::INFINITY; 8], [0.0; 8]);
        let mut add = |l: usize, square: f64| {
            sums[l] += square.sqrt();
            least[l] = if square < least[l] { square } else { least[l] };
            most[l] = if square > most[l] { square } else { most[l] };
        };
        let (eights, rest) = squares.as_chunks::<8>();
        for eight in eights {
            for (l, &square) in eight.iter().enumerate() {
                add(l, square);
            }
        }
        for (l, &square) in rest.iter().enumerate() {
            add(l, square);
        }
        [sums.iter().sum(), least.into_iter().fold(f64::INFINITY, f64::min), most.into_iter().fold(0.0, f64::max)]
    }
}

/// Statistics over all pairs of rows.
struct Spread {
    n: usize,
    /// Sum of the rows' silhouettes.
    silhouettes: f64,
    /// The smallest squared distance between clusters and the largest within one.
    between: f64,
    within: f64,
    /// Whether a silhouette is defined.
    are_many: bool,
}

impl Spread {
    /// `None` for a single cluster.
    fn of(points: &Features, groups: &Groups, pool: &Pool) -> Option<Spread> {
        if groups.ends.len() < 2 {
            return None;
        }
        let distances = Distances::new(&points.select_rows(&groups.order));
        let blocks = pool.map(distances.n_blocks(), |block| Spread::of_block(&distances, groups, block));
        blocks.into_iter().reduce(|a, b| Spread {
            n: a.n + b.n,
            silhouettes: a.silhouettes + b.silhouettes,
            between: a.between.min(b.between),
            within: a.within.max(b.within),
            are_many: a.are_many,
        })
    }

    fn of_block(distances: &Distances, groups: &Groups, block: usize) -> Spread {
        let (rows, n_clusters) = (distances.rows(block), groups.ends.len());
        let own: Vec<usize> = rows.clone().map(|place| groups.cluster_at(place)).collect();
        let mut sums = Matrix::zeros(rows.len(), n_clusters);
        let (mut between, mut within) = (f64::INFINITY, 0.0f64);
        distances.each(block, |cols, squares| {
            let first = groups.cluster_at(cols.start);
            for (r, squares) in squares.chunks_exact(cols.len()).enumerate() {
                for cluster in (first..n_clusters).take_while(|&cluster| groups.range(cluster).start < cols.end) {
                    let range = groups.range(cluster);
                    let here = range.start.max(cols.start) - cols.start..range.end.min(cols.end) - cols.start;
                    let [sum, least, most] = summary(&squares[here]);
                    sums.row_mut(r)[cluster] += sum;
                    if cluster == own[r] {
                        within = within.max(most);
                    } else {
                        between = between.min(least);
                    }
                }
            }
        });
        let silhouettes = sums.rows().zip(&own).map(|(sums, &own)| silhouette_of(sums, own, groups)).sum();
        Spread { n: rows.len(), silhouettes, between, within, are_many: groups.are_many() }
    }

    fn dunn(&self) -> Option<f64> {
        // If distances overflow, there is nothing to divide.
        Some(self.between.sqrt() / self.within.sqrt())
            .filter(|ratio| ratio.is_finite() && self.within > 0.0 && self.within.is_finite())
    }

    fn silhouette(&self) -> Option<f64> {
        Some(self.silhouettes / self.n as f64).filter(|mean| mean.is_finite() && self.are_many)
    }
}

/// The silhouette of a row from its summed distances to all clusters.
fn silhouette_of(sums: &[f64], own: usize, groups: &Groups) -> f64 {
    let count = |cluster: usize| groups.range(cluster).len();
    if count(own) == 1 {
        return 0.0;
    }
    let inside = sums[own] / (count(own) - 1) as f64;
    let others = (0..sums.len()).filter(|&cluster| cluster != own);
    let outside = others.map(|cluster| sums[cluster] / count(cluster) as f64).fold(f64::INFINITY, f64::min);
    let largest = inside.max(outside);
    // Rows equal to those of both clusters are on the border.
    if largest > 0.0 { (outside - inside) / largest } else { 0.0 }
}

/// The Davies-Bouldin index, if defined.
fn centres_apart(points: &Features, groups: &Groups, pool: &Pool) -> Result<Option<f64>> {
    if !groups.are_many() {
        return Ok(None);
    }
    let centres = centres(points, groups, pool)?;
    let norms: Vec<f64> = centres.rows().map(sum_of_squares).collect();
    let centres = Features::from(centres);
    let spreads = pool.map(groups.ends.len(), |cluster| mean_distance(points, groups, cluster, &centres));
    let distances = Distances::new(&centres);
    let worst = pool.map(distances.n_blocks(), |block| {
        let rows = distances.rows(block);
        let mut worst = vec![None; rows.len()];
        distances.each(block, |cols, squares| {
            for ((i, worst), squares) in rows.clone().zip(&mut worst).zip(squares.chunks_exact(cols.len())) {
                let differ = |&(j, &square): &(usize, &f64)| square > SAME * (norms[i] + norms[j]);
                for (j, square) in cols.clone().zip(squares).filter(differ) {
                    let ratio = (spreads[i] + spreads[j]) / square.sqrt();
                    *worst = Some(worst.map_or(ratio, |worst: f64| worst.max(ratio)));
                }
            }
        });
        worst
    });
    let worst: Vec<Option<f64>> = worst.concat();
    let mean = worst.iter().flatten().sum::<f64>() / worst.len() as f64;
    Ok(Some(mean).filter(|mean| mean.is_finite() && worst.iter().any(Option::is_some)))
}

/// The mean of the rows of each cluster.
fn centres(points: &Features, groups: &Groups, pool: &Pool) -> Result<Matrix> {
    let (n_clusters, d) = (groups.ends.len(), points.n_cols());
    let mut centres = Matrix::try_zeros(n_clusters, d).ok_or_else(|| Error::Memory {
        what: format!("the means of {n_clusters} clusters in {d} columns"),
        need: 8 * (n_clusters as u64).saturating_mul(d as u64),
        limit: 0,
        help: "use fewer clusters or columns".into(),
    })?;
    pool.chunks_mut(centres.data_mut(), d, |cluster, centre| {
        let (range, mut row) = (groups.range(cluster), vec![0.0; d]);
        for &i in &groups.order[range.clone()] {
            points.row_into(i, &mut row);
            // Accumulated as fractions of the mean, not as a sum: it cannot overflow.
            centre.iter_mut().zip(&row).for_each(|(mean, value)| *mean += value / range.len() as f64);
        }
    });
    Ok(centres)
}

/// The mean distance of the rows of a cluster from its centre.
fn mean_distance(points: &Features, groups: &Groups, cluster: usize, centres: &Features) -> f64 {
    let (range, d) = (groups.range(cluster), points.n_cols());
    let (mut row, mut centre) = (vec![0.0; d], vec![0.0; d]);
    centres.row_into(cluster, &mut centre);
    let distances = groups.order[range.clone()].iter().map(|&i| {
        points.row_into(i, &mut row);
        row.iter().zip(&centre).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
    });
    distances.sum::<f64>() / range.len() as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::dist::Rng;
    use crate::features::tests::sparse;
    use crate::simd::at_every_level;
    use crate::simd::check::{LENGTHS, bits, whole};

    fn alone() -> Pool {
        Pool::new(1).unwrap()
    }

    fn of(points: &Matrix, clusters: &[usize]) -> ClusterIndices {
        ClusterIndices::of(&points.clone().into(), clusters, None, 0, &alone()).unwrap()
    }

    fn close(a: Option<f64>, b: Option<f64>) -> bool {
        match (a, b) {
            (Some(a), Some(b)) => (a - b).abs() <= 1e-12,
            (a, b) => a == b,
        }
    }

    fn distance(points: &Matrix, i: usize, j: usize) -> f64 {
        points.row(i).iter().zip(points.row(j)).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt()
    }

    fn dunn_by_pairs(points: &Matrix, clusters: &[usize]) -> Option<f64> {
        let (mut between, mut within) = (f64::INFINITY, 0.0f64);
        for i in 0..clusters.len() {
            for j in 0..i {
                let d = distance(points, i, j);
                if clusters[i] == clusters[j] { within = within.max(d) } else { between = between.min(d) }
            }
        }
        (between.is_finite() && within > 0.0).then(|| between / within)
    }

    fn silhouette_by_rows(points: &Matrix, clusters: &[usize]) -> Option<f64> {
        let n = clusters.len();
        let mean = |i: usize, cluster: usize| {
            let others: Vec<usize> = (0..n).filter(|&j| j != i && clusters[j] == cluster).collect();
            (!others.is_empty())
                .then(|| others.iter().map(|&j| distance(points, i, j)).sum::<f64>() / others.len() as f64)
        };
        let row = |i: usize| {
            let others = (0..9).filter(|&k| k != clusters[i]).filter_map(|k| mean(i, k));
            let (a, b) = (mean(i, clusters[i])?, others.reduce(f64::min)?);
            Some(if a.max(b) > 0.0 { (b - a) / a.max(b) } else { 0.0 })
        };
        let n_clusters = (0..9).filter(|k| clusters.contains(k)).count();
        (n_clusters > 1 && n_clusters < n).then(|| (0..n).map(|i| row(i).unwrap_or(0.0)).sum::<f64>() / n as f64)
    }

    /// Points with few distinct values, so that some are equal, and their clusters.
    fn cases() -> impl Strategy<Value = (Matrix, Vec<usize>)> {
        (1usize..40, 1usize..5, 1usize..9).prop_flat_map(|(n, d, k)| {
            let values = prop::collection::vec(0u8..5, n * d);
            let points =
                values.prop_map(move |values| Matrix::from_fn(n, d, |i, j| 0.1 * f64::from(values[i * d + j])));
            (points, prop::collection::vec(0..k, n))
        })
    }

    proptest! {
        #[test]
        fn dunn_and_silhouette_are_those_of_all_pairs((points, clusters) in cases()) {
            let found = of(&points, &clusters);
            prop_assert!(close(found.dunn, dunn_by_pairs(&points, &clusters)), "{found:?}");
            prop_assert!(close(found.silhouette, silhouette_by_rows(&points, &clusters)), "{found:?}");
            let features = points.clone().into();
            prop_assert_eq!(dunn(&features, &clusters, &alone())?, found.dunn);
            prop_assert_eq!(silhouette(&features, &clusters, &alone())?, found.silhouette);
            prop_assert_eq!(davies_bouldin(&features, &clusters, &alone())?, found.davies_bouldin);
            let split = (0..clusters.len()).any(|i| {
                (0..i).any(|j| clusters[i] != clusters[j] && points.row(i) == points.row(j))
            });
            prop_assert_eq!(found.dunn == Some(0.0), split && dunn_by_pairs(&points, &clusters).is_some());
        }

        #[test]
        fn renamed_clusters_and_moved_points_change_nothing((points, clusters) in cases()) {
            let renamed: Vec<usize> = clusters.iter().map(|&k| usize::MAX - 7 * k).collect();
            let moved = Matrix::from_fn(points.n_rows(), points.n_cols(), |i, j| 4.0 * (points.get(i, j) - 3.0));
            let (a, b) = (of(&points, &clusters), of(&moved, &renamed));
            prop_assert_eq!(a.n_clusters, b.n_clusters);
            let near = |a: Option<f64>, b: Option<f64>| match (a, b) {
                (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * (1.0 + a.abs()),
                (a, b) => a == b,
            };
            prop_assert!(near(a.silhouette, b.silhouette) && near(a.dunn, b.dunn), "{a:?} {b:?}");
        }
    }

    #[test]
    fn indices_of_reference_cases_equal_scikit_learn() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/metrics/clusters.json");
        let reference: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let cases = reference["cases"].as_array().unwrap();
        assert!(cases.len() >= 20);
        for case in cases {
            let labels = |key: &str| -> Vec<usize> { serde_json::from_value(case[key].clone()).unwrap() };
            let values: Vec<f64> = serde_json::from_value(case["points"].clone()).unwrap();
            let n_columns = case["n_columns"].as_u64().unwrap() as usize;
            let points = Matrix::from_vec(values.len() / n_columns, n_columns, values).unwrap();
            let (clusters, reference) = (labels("clusters"), labels("reference"));
            for points in [points.clone().into(), sparse(&points, &vec![0.0; n_columns])] {
                let found = ClusterIndices::of(&points, &clusters, Some(&reference), 0, &alone()).unwrap();
                let found = serde_json::to_value(&found).unwrap();
                let expected = case["expected"].as_object().unwrap();
                assert_eq!(expected.len(), found.as_object().unwrap().len());
                for (name, value) in expected {
                    let agrees = match (value.as_f64(), found[name].as_f64()) {
                        (Some(a), Some(b)) => (a - b).abs() <= 1e-12,
                        _ => value == &found[name],
                    };
                    assert!(agrees, "{} {name}: expected {value}, found {}", case["name"], found[name]);
                }
            }
        }
    }

    #[test]
    fn indices_of_five_points_are_those_worked_by_hand() {
        let points = Matrix::from_vec(5, 1, vec![0.0, 2.0, 10.0, 11.0, 12.0]).unwrap();
        let found = of(&points, &[4, 4, 9, 9, 9]);
        // Means 1 and 11, mean distances 1 and 2/3.
        assert!(close(found.davies_bouldin, Some((1.0 + 2.0 / 3.0) / 10.0)));
        assert_eq!(found.dunn, Some(8.0 / 2.0));
        let rows = [(11.0, 2.0), (9.0, 2.0), (9.0, 1.5), (10.0, 1.0), (11.0, 1.5)];
        assert!(close(found.silhouette, Some(rows.iter().map(|(b, a)| (b - a) / b).sum::<f64>() / 5.0)));
        assert_eq!((found.nmi, found.sampled, found.notes()), (None, None, vec![]));
    }

    #[test]
    fn summary_of_any_length_is_that_of_its_squares_at_every_level() {
        let mut rng = Rng::new(4, 0);
        for n in LENGTHS {
            // The roots are integers: no rounding, whatever the order.
            let roots: Vec<f64> = whole(&mut rng, n).into_iter().map(f64::abs).collect();
            let squares: Vec<f64> = roots.iter().map(|root| root * root).collect();
            let found = at_every_level(|| bits(&summary(&squares)));
            let least = squares.iter().copied().fold(f64::INFINITY, f64::min);
            assert_eq!(
                found,
                bits(&[
                    roots.iter().fold(0.0, |sum, root| sum + root),
                    least,
                    squares.iter().copied().fold(0.0, f64::max)
                ])
            );
        }
    }

    fn clouds(n: usize, d: usize) -> (Features, Vec<usize>) {
        let mut rng = Rng::new(7, 0);
        let points = Matrix::from_fn(n, d, |i, _| 3.0 * (i % 3) as f64 + rng.uniform());
        (points.into(), (0..n).map(|i| i % 3).collect())
    }

    #[test]
    fn indices_on_any_number_of_threads_have_the_same_bits() {
        let (points, clusters) = clouds(700, 5);
        let run = |n_threads: usize, most: usize| {
            let pool = Pool::new(n_threads).unwrap();
            ClusterIndices::of_at_most(most, &points, &clusters, Some(&clusters), 3, &pool).unwrap()
        };
        for most in [1000, 200] {
            let one = run(1, most);
            assert!([2, 4].iter().all(|&n_threads| run(n_threads, most) == one));
        }
    }

    #[test]
    fn sample_of_many_rows_is_named_and_near_the_whole() {
        let (points, clusters) = clouds(700, 5);
        let of = |most: usize, seed: u64| {
            ClusterIndices::of_at_most(most, &points, &clusters, None, seed, &alone()).unwrap()
        };
        let (all, some, other) = (of(700, 1), of(200, 1), of(200, 2));
        assert_eq!((all.sampled, some.sampled), (None, Some(200)));
        assert_eq!(some.notes(), ["Dunn index and silhouette are those of 200 rows drawn at random"]);
        assert_eq!(all.davies_bouldin, some.davies_bouldin);
        assert!(some.dunn >= all.dunn && some.silhouette != other.silhouette);
        assert!((all.silhouette.unwrap() - some.silhouette.unwrap()).abs() < 0.02);
        let rows = sample(50, 20, 9);
        assert!(rows.is_sorted_by(|a, b| a < b) && rows.len() == 20 && rows[19] < 50);
        // Every row equally often: 400 times of 1000, with a standard deviation of 15.5.
        let counts = (0..1000).flat_map(|seed| sample(50, 20, seed)).fold([0i32; 50], |mut counts, i| {
            counts[i] += 1;
            counts
        });
        assert!(counts.iter().all(|count| (count - 400).abs() < 70), "{counts:?}");
    }

    #[test]
    fn equal_rows_in_different_clusters_are_told() {
        let points = Matrix::from_vec(4, 1, vec![0.0, 1.0, 1.0, 3.0]).unwrap();
        let found = of(&points, &[0, 0, 1, 1]);
        assert_eq!(found.dunn, Some(0.0));
        assert_eq!(
            found.notes(),
            ["equal rows lie in different clusters, so the Dunn index is 0, whatever the other rows do"]
        );
    }

    #[test]
    fn what_is_not_defined_is_none() {
        let of_values = |values: Vec<f64>, clusters: &[usize]| {
            let found = of(&Matrix::from_vec(values.len(), 1, values).unwrap(), clusters);
            (found.davies_bouldin, found.dunn, found.silhouette)
        };
        assert_eq!(of_values(vec![0.0, 1.0, 3.0], &[2, 2, 2]), (None, None, None));
        assert_eq!(of_values(vec![0.0, 1.0, 3.0], &[0, 1, 2]), (None, None, None));
        assert_eq!(of_values(vec![5.0], &[0]), (None, None, None));
        // No cluster has two different rows.
        assert_eq!(of_values(vec![1.0, 1.0, 3.0, 3.0], &[0, 0, 1, 1]), (Some(0.0), None, Some(1.0)));
        // Squares that overflow.
        let huge = of_values(vec![1e200, -1e200, 0.0, 1.0], &[0, 0, 1, 1]);
        assert!([huge.0, huge.1, huge.2].iter().all(|index| index.is_none_or(f64::is_finite)), "{huge:?}");
        // No columns: all rows are equal.
        let none = ClusterIndices::of(&Matrix::zeros(4, 0).into(), &[0, 0, 1, 1], None, 0, &alone()).unwrap();
        assert_eq!((none.davies_bouldin, none.dunn, none.silhouette), (None, None, Some(0.0)));
        // Two clusters around the same mean, which is rounded.
        assert_eq!(of_values(vec![0.1, 0.3, 0.2, 0.2 + 1e-17, 0.5, -0.1], &[0, 0, 1, 1, 2, 2]).0, None);
    }

    #[test]
    fn rows_that_cannot_be_measured_are_refused() {
        let text = |values: Vec<f64>, clusters: &[usize]| {
            let points = Matrix::from_vec(values.len() / 2, 2, values).unwrap().into();
            ClusterIndices::of(&points, clusters, None, 0, &alone()).unwrap_err().to_string()
        };
        assert_eq!(
            text(vec![0.0; 4], &[0, 1, 1]),
            "cluster indices: 3 clusters for 2 rows; pass the cluster of each row"
        );
        assert_eq!(text(vec![], &[]), "cluster indices: no rows; at least one is needed");
        assert_eq!(
            text(vec![0.0, 1.0, 2.0, f64::NAN], &[0, 1]),
            "cluster indices: the value of row 1, column 1 (counted from 0) is NaN; distances need finite numbers, fill in \
             what is missing"
        );
    }
}
