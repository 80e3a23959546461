//! A line of a table: what was measured, what was published, and whether the two agree.

use std::collections::BTreeSet;

use multikernel::data::Dataset;
use multikernel::evaluate::{ClusterIndices, Fold, LEVEL, Paired, Spread, bootstrap, nmi, purity, rand_index};
use multikernel::{Model, Pool, Result};

/// Resamples of the test rows behind each interval.
const N_RESAMPLES: usize = 1000;

/// Weights are kept for each split up to this many kernels.
const MAX_WEIGHTS: usize = 64;

/// A result may fall this far below a paper's figure that is a floor, since that has two decimals of a percentage.
const SLACK: f64 = 0.001;

/// Published figures: the paper's and our prototype's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Published {
    /// The paper's figures; `None` if they are not a fair target.
    pub(super) paper: Option<PaperFigures>,
    /// The mean accuracy of our prototype; without it the paper's figure is shown but not judged, because its
    /// experimental setup is not known well enough.
    pub(super) prototype: Option<f64>,
    /// Whether the paper's accuracy is a floor, where more is as good, instead of a figure to agree with.
    pub(super) is_floor: bool,
}

/// Figures of a paper.
#[derive(Clone, Copy, Debug)]
pub(super) struct PaperFigures {
    /// Mean accuracy.
    pub(super) accuracy: f64,
    /// Its standard deviation over 20 splits, if printed.
    pub(super) std: Option<f64>,
    /// Mean macro F, if printed.
    pub(super) macro_f: Option<f64>,
}

/// Whether a figure agrees with a published one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agreement {
    /// Within two standard errors of the difference of the means.
    Paper,
    /// Not with the paper, but within one point of the prototype.
    Prototype,
    /// Agrees with neither.
    Neither,
    /// The paper's figure is a floor, and it was reached to a tenth of a point.
    Reached,
    /// The paper's figure is a floor, and it was not reached.
    Below,
}

impl Agreement {
    pub(super) fn word(self) -> &'static str {
        match self {
            Agreement::Paper => "paper",
            Agreement::Prototype => "prototype",
            Agreement::Neither => "NEITHER",
            Agreement::Reached => "reached",
            Agreement::Below => "BELOW",
        }
    }
}

impl Published {
    /// `|ours - paper| <= 2 sqrt(s_paper^2 / 20 + s_ours^2 / n)`, or within .01 of the prototype; for a floor
    /// `ours >= paper - .001`.
    fn agreement(&self, ours: Spread, n: usize) -> Option<Agreement> {
        if self.is_floor {
            let floor = self.paper?.accuracy - SLACK;
            return Some(if ours.mean >= floor { Agreement::Reached } else { Agreement::Below });
        }
        let prototype = self.prototype?;
        let near = |(mean, std): (f64, f64)| {
            // One split has no spread: the paper's stands in.
            let own = ours.std.unwrap_or(std);
            (ours.mean - mean).abs() <= 2.0 * (std * std / 20.0 + own * own / n.max(1) as f64).sqrt()
        };
        let paper = self.paper.and_then(|paper| Some((paper.accuracy, paper.std?)));
        Some(if paper.is_some_and(near) {
            Agreement::Paper
        } else if (ours.mean - prototype).abs() <= 0.01 {
            Agreement::Prototype
        } else {
            Agreement::Neither
        })
    }
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
    /// The published figures.
    pub(super) published: Option<Published>,
    /// The difference in accuracy from the first method of the part, on the same splits; `None` if the splits are not
    /// random.
    pub(super) difference: Option<Paired>,
    /// The same in the Brier score.
    pub(super) brier_difference: Option<Paired>,
    /// The same in the log-loss.
    pub(super) log_loss_difference: Option<Paired>,
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
            published,
            difference: None,
            brier_difference: None,
            log_loss_difference: None,
            n_warnings: 0,
            warnings: BTreeSet::new(),
        }
    }

    /// Adds the result of one seed.
    pub(super) fn add(&mut self, model: &Model, fold: Fold, seed: u64) -> Result<()> {
        self.n_kernels = model.kernels().len();
        self.accuracies.push(fold.metrics.accuracy);
        self.macro_fs.push(fold.metrics.macro_f);
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

    /// Counts the warnings of one seed.
    pub(super) fn warn(&mut self, warnings: Vec<String>) {
        self.n_warnings += usize::from(!warnings.is_empty());
        self.warnings.extend(warnings);
    }

    pub(super) fn accuracy(&self) -> Spread {
        Spread::of(&self.accuracies).unwrap_or(Spread { mean: f64::NAN, std: None })
    }

    pub(super) fn agreement(&self) -> Option<Agreement> {
        self.published?.agreement(self.accuracy(), self.accuracies.len())
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

    fn ours(mean: f64) -> Spread {
        Spread { mean, std: Some(0.02) }
    }

    #[test]
    fn agreement_is_with_the_paper_first_then_with_the_prototype() {
        let paper = PaperFigures { accuracy: 0.90, std: Some(0.02), macro_f: None };
        let published = Published { paper: Some(paper), prototype: Some(0.95), is_floor: false };
        // 2 sqrt(2 * .0004 / 20) = .01265.
        assert_eq!(published.agreement(ours(0.9126), 20), Some(Agreement::Paper));
        assert_eq!(published.agreement(ours(0.9127), 20), Some(Agreement::Neither));
        assert_eq!(published.agreement(ours(0.9401), 20), Some(Agreement::Prototype));
        let prototype = Published { paper: None, prototype: Some(0.9), is_floor: false };
        assert_eq!(prototype.agreement(ours(0.8899), 20), Some(Agreement::Neither));
        assert_eq!(Published { prototype: None, ..published }.agreement(ours(0.9), 20), None);
        // A paper's figure without its spread can only be missed.
        let bare = Published { paper: Some(PaperFigures { std: None, ..paper }), ..published };
        assert_eq!(bare.agreement(ours(0.9), 20), Some(Agreement::Neither));
    }

    #[test]
    fn floor_is_reached_to_a_tenth_of_a_point() {
        let paper = PaperFigures { accuracy: 0.90, std: None, macro_f: None };
        let floor = Published { paper: Some(paper), prototype: Some(0.5), is_floor: true };
        assert_eq!(floor.agreement(ours(0.99), 5), Some(Agreement::Reached));
        assert_eq!(floor.agreement(ours(0.8991), 5), Some(Agreement::Reached));
        assert_eq!(floor.agreement(ours(0.8989), 5), Some(Agreement::Below));
        assert_eq!(Published { paper: None, ..floor }.agreement(ours(0.99), 5), None);
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
