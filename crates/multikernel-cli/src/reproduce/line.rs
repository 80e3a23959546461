//! A line of a table: what was measured, what was published, and whether the two agree.

use std::collections::BTreeSet;

use multikernel::data::Dataset;
use multikernel::evaluate::{ClusterIndices, Fold, LEVEL, Paired, Spread, bootstrap, nmi, purity, rand_index};
use multikernel::{Error, Model, Pool, Result};

use super::coverage::Calibration;
use super::verdict::{Figure, Judged, judge};
use super::{cik, svimkl};

/// Resamples of the test rows behind each interval.
const N_RESAMPLES: usize = 1000;

/// Weights are kept for each split up to this many kernels.
const MAX_WEIGHTS: usize = 64;

/// Published figures: the paper's and our prototype's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Published {
    pub(super) paper: Option<PaperFigures>,
    /// The mean accuracy of our prototype, shown beside the paper's.
    pub(super) prototype: Option<f64>,
}

/// Figures of a paper.
#[derive(Clone, Copy, Debug)]
pub(super) struct PaperFigures {
    /// Mean accuracy.
    pub(super) accuracy: f64,
    /// Its standard deviation over splits, if printed.
    pub(super) std: Option<f64>,
    /// Mean macro F, if printed.
    pub(super) macro_f: Option<f64>,
    /// Number of splits behind the means.
    pub(super) n_splits: usize,
    /// Why the figures are of another experiment than ours, if they are.
    pub(super) caveat: Option<&'static str>,
}

/// Other figures of a paper, beside its accuracy; `None` where it prints none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Printed {
    /// Macro averages.
    pub(super) precision: Option<f64>,
    pub(super) recall: Option<f64>,
    pub(super) specificity: Option<f64>,
}

/// One method on one set with one bank, over all seeds.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// The data set.
    pub(super) dataset: String,
    /// The bank in words.
    pub(super) bank: String,
    /// How rows are split into training and test parts, in words.
    pub(super) split: String,
    /// Number of kernels.
    pub(super) n_kernels: usize,
    /// The method and its settings that differ from the defaults.
    pub(super) method: String,
    /// Accuracy on the test rows, for a stream on all rows: one per split. A seed has one split, or as many as it has
    /// folds.
    pub(super) accuracies: Vec<f64>,
    /// Macro F on the test rows, one per split; empty for streams.
    pub(super) macro_fs: Vec<f64>,
    /// Macro averages of precision, recall and specificity, like macro F.
    pub(super) precisions: Vec<f64>,
    pub(super) recalls: Vec<f64>,
    pub(super) specificities: Vec<f64>,
    /// The 95 % bootstrap interval of each macro F over test rows.
    pub(super) macro_f_intervals: Vec<(f64, f64)>,
    /// Brier score of the probabilities, one per split; empty if they are not judged.
    pub(super) briers: Vec<f64>,
    /// Their log-loss.
    pub(super) log_losses: Vec<f64>,
    /// Seconds to train, kernels included, for a stream to predict and learn all rows; one per seed.
    pub(super) seconds: Vec<f64>,
    /// SVMs solved, for methods that count them; one per seed.
    pub(super) fits: Vec<f64>,
    /// Support vectors at the end of a stream, one per seed.
    pub(super) supports: Vec<f64>,
    /// Number of clusters, for methods that find them; one per split, as are the next fields.
    pub(super) n_clusters: Vec<f64>,
    /// Agreement of the clusters of test rows, assigned without their classes, with those classes: normalised mutual
    /// information.
    pub(super) nmis: Vec<f64>,
    /// Their Rand index.
    pub(super) rand_indices: Vec<f64>,
    /// Their purity.
    pub(super) purities: Vec<f64>,
    /// Davies-Bouldin index of the clusters of training rows, with columns as in the file; empty if it is not defined.
    pub(super) davies_bouldins: Vec<f64>,
    /// Their Dunn index.
    pub(super) dunns: Vec<f64>,
    /// Kernel weights, for methods that have them and few kernels; one list per split.
    pub(super) weights: Vec<Vec<f64>>,
    /// For sets drawn from a prior: whether the method knew what from.
    pub(super) calibration: Calibration,
    /// The published figures.
    pub(super) published: Option<Published>,
    /// Other figures of the paper.
    pub(super) printed: Printed,
    /// The difference in accuracy from the first method of the part, on the same splits; `None` if the splits are not
    /// random.
    pub(super) difference: Option<Paired>,
    /// The same in the Brier score.
    pub(super) brier_difference: Option<Paired>,
    /// The same in the log-loss.
    pub(super) log_loss_difference: Option<Paired>,
    /// Number of splits on which training failed, for tables of one method: they are no part of the other figures.
    pub(super) n_failed: usize,
    /// Number of seeds whose model had a warning.
    pub(super) n_warnings: usize,
    /// The models' warnings, each text once.
    pub(super) warnings: BTreeSet<String>,
}

impl Line {
    /// An empty line.
    pub(super) fn new(dataset: &str, bank: &str, split: String, method: String, published: Option<Published>) -> Line {
        Line {
            dataset: dataset.into(),
            bank: bank.into(),
            split,
            n_kernels: 0,
            method,
            accuracies: vec![],
            macro_fs: vec![],
            precisions: vec![],
            recalls: vec![],
            specificities: vec![],
            printed: Printed::default(),
            macro_f_intervals: vec![],
            briers: vec![],
            log_losses: vec![],
            seconds: vec![],
            fits: vec![],
            supports: vec![],
            n_clusters: vec![],
            nmis: vec![],
            rand_indices: vec![],
            purities: vec![],
            davies_bouldins: vec![],
            dunns: vec![],
            weights: vec![],
            calibration: Calibration::default(),
            published,
            difference: None,
            brier_difference: None,
            log_loss_difference: None,
            n_failed: 0,
            n_warnings: 0,
            warnings: BTreeSet::new(),
        }
    }

    /// Adds the result of one seed.
    pub(super) fn add(&mut self, model: &Model, fold: Fold, seed: u64) -> Result<()> {
        self.n_kernels = model.kernels().len();
        self.accuracies.push(fold.metrics.accuracy);
        self.macro_fs.push(fold.metrics.macro_f);
        self.precisions.push(fold.metrics.macro_precision);
        self.recalls.push(fold.metrics.macro_recall);
        self.specificities.push(fold.metrics.macro_specificity);
        self.macro_f_intervals.push(bootstrap(&fold.metrics, |metrics| metrics.macro_f, N_RESAMPLES, LEVEL, seed)?);
        self.briers.extend(fold.metrics.brier);
        self.log_losses.extend(fold.metrics.log_loss);
        self.seconds.push(fold.train_seconds);
        self.weights
            .extend(model.kernels().weights().filter(|weights| weights.len() <= MAX_WEIGHTS).map(<[f64]>::to_vec));
        let fits = model.training().facts().into_iter().find(|(name, _)| name == "SVM fits");
        self.fits.extend(fits.and_then(|(_, text)| text.parse::<f64>().ok()));
        self.warn(fold.warnings);
        Ok(())
    }

    /// Adds the cluster indices of one seed, for methods that find clusters.
    pub(super) fn add_clusters(&mut self, model: &Model, train: &Dataset, test: &Dataset, pool: &Pool) -> Result<()> {
        let Some(clustering) = model.clustering() else { return Ok(()) };
        let clusters = clustering.clusters();
        let found = ClusterIndices::of(train.samples.features(), clusters, None, model.training().seed(), pool)?;
        self.n_clusters.push(found.n_clusters as f64);
        self.davies_bouldins.extend(found.davies_bouldin);
        self.dunns.extend(found.dunn);
        let placed = clustering.place_in(&test.samples, pool)?.clusters;
        let classes = test.labels.codes();
        self.nmis.push(nmi(&placed, classes)?);
        self.rand_indices.push(rand_index(&placed, classes)?);
        self.purities.push(purity(&placed, classes)?);
        Ok(())
    }

    /// Counts a split on which training failed.
    pub(super) fn fail(&mut self, error: &Error) {
        self.n_failed += 1;
        self.warnings.insert(error.to_string());
    }

    /// Counts the warnings of one seed.
    pub(super) fn warn(&mut self, warnings: Vec<String>) {
        self.n_warnings += usize::from(!warnings.is_empty());
        self.warnings.extend(warnings);
    }

    pub(super) fn accuracy(&self) -> Spread {
        Spread::of(&self.accuracies).unwrap_or(Spread { mean: f64::NAN, std: None })
    }

    /// The accuracy beside that of the paper.
    pub(super) fn judged(&self) -> Option<Judged> {
        let PaperFigures { accuracy: mean, std, n_splits, .. } = self.paper()?;
        judge("accuracy", &self.accuracies, Figure { mean, std, n_splits })
    }

    /// The macro F beside that of the paper.
    pub(super) fn judged_f(&self) -> Option<Judged> {
        let PaperFigures { macro_f, n_splits, .. } = self.paper()?;
        judge("macro F", &self.macro_fs, Figure { mean: macro_f?, std: None, n_splits })
    }

    /// What else the paper prints, beside ours: indices of clusters, weights of kernels.
    pub(super) fn judged_others(&self) -> Vec<Judged> {
        [cik::judged(self), svimkl::judged(self)].concat()
    }

    pub(super) fn paper(&self) -> Option<PaperFigures> {
        self.published?.paper
    }

    pub(super) fn prototype(&self) -> Option<f64> {
        self.published?.prototype
    }

    /// Mean macro F, and the mean endpoints of its intervals: the interval of one split, not of the mean, whose splits
    /// share rows.
    pub(super) fn macro_f(&self) -> Option<(f64, f64, f64)> {
        let mean = |values: Vec<f64>| Spread::of(&values).map(|spread| spread.mean);
        let (low, high) = self.macro_f_intervals.iter().copied().unzip();
        Some((mean(self.macro_fs.clone())?, mean(low)?, mean(high)?))
    }
}

/// This line minus the first, formatted for a table, and whether the difference is significant.
pub(super) fn against_first(first_minus_this: Option<&Paired>) -> (String, &'static str) {
    match first_minus_this.map(|paired| (paired, paired.interval)) {
        Some((paired, Some((low, high)))) => {
            // Plus zero, so that nothing is printed as -0.
            let [middle, low, high] = [-paired.difference, -high, -low].map(|value| value + 0.0);
            let difference = format!("{middle:+.4} [{low:+.4}, {high:+.4}]");
            let word = match (paired.distinguishable, paired.difference < 0.0) {
                (false, _) => "not distinguishable",
                (true, true) => "above",
                (true, false) => "below",
            };
            (difference, word)
        }
        _ => (String::new(), ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::verdict::Verdict;

    #[test]
    fn figures_of_a_paper_are_judged_with_its_number_of_splits() {
        let paper = PaperFigures { accuracy: 0.9, std: Some(0.02), macro_f: Some(0.5), n_splits: 20, caveat: None };
        let published = Published { paper: Some(paper), prototype: Some(0.1) };
        let mut line = Line::new("set", "bank", "split".into(), "method".into(), Some(published));
        assert_eq!((line.judged(), line.judged_f()), (None, None));
        (line.accuracies, line.macro_fs) = (vec![0.95], vec![0.5, 0.75]);
        // One split: the paper's spread, 2.093024 * .02 * sqrt(1 + 1/20) = .042893.
        let found = line.judged().unwrap();
        assert_eq!((found.verdict, found.paper.n_splits), (Verdict::Above, 20));
        assert!((found.interval.unwrap().0 - 0.007_107).abs() < 1e-5, "{found:?}");
        // Two splits: ours, 12.7062 * .176777 * sqrt(1/2 + 1/20) = 1.6658.
        let (low, high) = line.judged_f().unwrap().interval.unwrap();
        assert!((high - low - 2.0 * 1.665_8).abs() < 1e-3, "{low} {high}");
    }

    #[test]
    fn macro_f_is_shown_with_the_mean_ends_of_its_intervals() {
        let mut line = Line::new("set", "bank", "split".into(), "method".into(), None);
        assert_eq!(line.macro_f(), None);
        line.macro_fs = vec![0.5, 0.75];
        line.macro_f_intervals = vec![(0.25, 0.5), (0.5, 1.0)];
        assert_eq!(line.macro_f(), Some((0.625, 0.375, 0.75)));
    }
}
