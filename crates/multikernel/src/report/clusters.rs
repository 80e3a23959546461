//! A clustering, as text and as JSON.

use serde_json::{Value, json};

use super::{TextTable, count, paragraph};
use crate::data::Labels;
use crate::evaluate::ClusterIndices;
use crate::features::Features;
use crate::linalg::Matrix;
use crate::plan::{Model, ModelClusters};

/// Maximum number of clusters and columns listed; JSON has them all.
const MAX_CLUSTERS: usize = 20;
const MAX_COLUMNS: usize = 3;
const MAX_CLASSES: usize = 3;

/// A clustering of a data set: the model, the classes of the rows if they have any, and how good the clusters are.
#[derive(Debug)]
pub struct Clustering<'a> {
    /// The model, trained on the rows.
    pub model: &'a Model,
    /// The classes of the rows, if known.
    pub labels: Option<&'a Labels>,
    /// The rows as the model sees them ([`ModelInput::scaled`](crate::plan::ModelInput::scaled)).
    pub points: &'a Features,
    /// How good the clusters are.
    pub indices: &'a ClusterIndices,
}

impl Clustering<'_> {
    /// The cluster of each row.
    fn clusters(&self) -> &[usize] {
        self.model.clustering().map_or(&[], ModelClusters::clusters)
    }

    fn relevance(&self) -> Option<Matrix> {
        self.model.clustering()?.relevance()
    }

    fn sizes(&self) -> Vec<usize> {
        let clusters = self.clusters();
        let mut sizes = vec![0; clusters.iter().max().map_or(0, |most| most + 1)];
        clusters.iter().for_each(|&cluster| sizes[cluster] += 1);
        sizes
    }

    /// Rows by cluster and class.
    fn classes(&self) -> Option<Matrix> {
        let labels = self.labels?;
        let mut table = Matrix::zeros(self.sizes().len(), labels.n_classes());
        for (&cluster, &code) in self.clusters().iter().zip(labels.codes()) {
            table.set(cluster, code, table.get(cluster, code) + 1.0);
        }
        Some(table)
    }

    fn apart(&self) -> Matrix {
        apart(self.points, self.clusters(), self.sizes().len())
    }

    /// The indices by name, and which values are good.
    fn figures(&self) -> [(&'static str, Option<f64>, &'static str); 7] {
        let found = self.indices;
        [
            ("nmi", found.nmi, "with the classes: 1 is equal, 0 unrelated"),
            ("adjusted_rand", found.adjusted_rand, "with the classes: 1 is equal, 0 by chance"),
            ("rand_index", found.rand_index, "with the classes: share of pairs that agree"),
            ("purity", found.purity, "share of rows in the class of most rows of their cluster"),
            ("davies_bouldin", found.davies_bouldin, "smaller is better"),
            ("dunn", found.dunn, "larger is better"),
            ("silhouette", found.silhouette, "from -1 to 1, larger is better"),
        ]
    }

    /// As text for a terminal.
    pub fn text(&self) -> String {
        let training = self.model.training();
        let sizes = self.sizes();
        let mut text = paragraph(&format!(
            "{}: {} in {}, {}, seed {}",
            training.dataset(),
            count(training.n_samples(), "row"),
            count(sizes.len(), "cluster"),
            training.method(),
            training.seed()
        ));
        text += &format!("\n{}", self.table(&sizes));
        if sizes.len() > MAX_CLUSTERS {
            text += &format!(
                "and {}; the JSON report has them all\n",
                count(sizes.len() - MAX_CLUSTERS, "smaller cluster")
            );
        }
        let mut table = TextTable::new(&["index", "value", "meaning"]);
        for (name, value, meaning) in self.figures() {
            if let Some(value) = value {
                table.row(vec![name.to_string(), format!("{value:.4}"), meaning.to_string()]);
            }
        }
        text += &format!("\n{table}");
        self.indices.notes().iter().for_each(|note| text += &paragraph(note));
        text
    }

    /// One line for each cluster, the largest first.
    fn table(&self, sizes: &[usize]) -> TextTable {
        let (classes, relevance, apart) = (self.classes(), self.relevance(), self.apart());
        let mut head = vec!["cluster", "rows"];
        head.extend(classes.as_ref().map(|_| "classes"));
        head.push("columns that set it apart");
        head.extend(relevance.as_ref().map(|_| "columns that its kernel sees most"));
        let mut table = TextTable::new(&head);
        for k in by_size(sizes).into_iter().take(MAX_CLUSTERS) {
            let mut row = vec![k.to_string(), sizes[k].to_string()];
            if let (Some(classes), Some(labels)) = (&classes, self.labels) {
                row.push(largest(classes.row(k), labels.classes(), MAX_CLASSES, |count| format!("{count:.0}")));
            }
            let names = self.model.input().scaled_names();
            row.push(largest(apart.row(k), names, MAX_COLUMNS, |off| format!("{off:+.1}")));
            if let Some(relevance) = &relevance {
                row.push(largest(relevance.row(k), names, MAX_COLUMNS, |share| format!("{share:.3}")));
            }
            table.row(row);
        }
        table
    }

    /// As JSON: the indices, and for each cluster its size, its classes, what sets it apart (its mean's distance from
    /// the overall mean, in standard deviations of all rows) and the columns its kernel depends on.
    pub fn json(&self) -> String {
        let (training, columns) = (self.model.training(), self.model.input().scaled_names());
        let (sizes, classes, relevance) = (self.sizes(), self.classes(), self.relevance());
        let apart = self.apart();
        let named = |names: &[String], values: &[f64]| -> Value {
            names
                .iter()
                .zip(values)
                .map(|(name, value)| (name.clone(), json!(value)))
                .collect::<serde_json::Map<_, _>>()
                .into()
        };
        let of = |k: usize| {
            json!({
                "cluster": k,
                "n_samples": sizes[k],
                "classes": classes.as_ref().zip(self.labels).map(|(table, labels)| named(labels.classes(), table.row(k))),
                "apart": named(columns, apart.row(k)),
                "relevance": relevance.as_ref().map(|table| named(columns, table.row(k))),
            })
        };
        let indices: serde_json::Map<_, _> =
            self.figures().into_iter().map(|(name, value, _)| (name.to_string(), json!(value))).collect();
        let value = json!({
            "dataset": training.dataset(),
            "n_samples": training.n_samples(),
            "fingerprint": training.fingerprint(),
            "method": training.method(),
            "params": training.params(),
            "seed": training.seed(),
            "n_clusters": sizes.len(),
            "indices": indices,
            "sampled": self.indices.sampled,
            "clusters": by_size(&sizes).into_iter().map(of).collect::<Vec<_>>(),
            "assignments": self.clusters(),
            "facts": training.facts().into_iter().map(|(name, value)| (name, json!(value))).collect::<serde_json::Map<_, _>>(),
            "warnings": training.warnings(),
        });
        format!("{value:#}")
    }
}

/// For each cluster and column, the cluster mean's distance from the overall mean, in standard deviations of all rows.
pub(super) fn apart(points: &Features, clusters: &[usize], n_clusters: usize) -> Matrix {
    let d = points.n_cols();
    let (mut sums, mut all, mut squares) = (Matrix::zeros(n_clusters, d), vec![0.0; d], vec![0.0; d]);
    let (mut sizes, mut row) = (vec![0usize; n_clusters], vec![0.0; d]);
    let n = points.n_rows() as f64;
    for (i, &cluster) in clusters.iter().enumerate() {
        points.row_into(i, &mut row);
        sizes[cluster] += 1;
        for (j, &x) in row.iter().enumerate() {
            sums.set(cluster, j, sums.get(cluster, j) + x);
            all[j] += x / n;
            squares[j] += x * x / n;
        }
    }
    Matrix::from_fn(n_clusters, d, |k, j| {
        let spread = (squares[j] - all[j] * all[j]).max(0.0).sqrt();
        let off = sums.get(k, j) / (sizes[k] as f64).max(1.0) - all[j];
        if spread > 1e-9 * (1.0 + all[j].abs()) { off / spread } else { 0.0 }
    })
}

/// Cluster indices, the largest first.
fn by_size(sizes: &[usize]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&k| std::cmp::Reverse(sizes[k]));
    order
}

/// The names of the largest nonzero values, with those values.
pub(super) fn largest(values: &[f64], names: &[String], most: usize, shown: impl Fn(f64) -> String) -> String {
    let mut order: Vec<usize> = (0..values.len()).filter(|&j| values[j] != 0.0).collect();
    order.sort_by(|&a, &b| values[b].abs().total_cmp(&values[a].abs()));
    let rest = if order.len() > most { ", ..." } else { "" };
    let all: Vec<String> = order.iter().take(most).map(|&j| format!("{} {}", names[j], shown(values[j]))).collect();
    all.join(", ") + rest
}
