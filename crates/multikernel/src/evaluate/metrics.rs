//! Metrics of one split: predictions against the truth.

use serde::Serialize;

use crate::error::{Error, Result};
use crate::linalg::Matrix;

/// Metrics of the predictions on one test set.
///
/// One set of conventions for two classes and for many, those of scikit-learn's macro averages:
/// - macro means run over the classes that occur in the truth or in the predictions; a ratio 0/0 counts as 0;
/// - `macro_f` is the mean of the per-class F1, not the F1 of the mean precision and mean recall;
/// - `auroc` and `auprc` are means over the classes for which the truth holds both members and non-members, the class
///   against the rest. Rows are ranked by the score column of the class; with two classes by how much its score exceeds
///   the other, so the two-class AUROC is the usual one even if the scores share an offset.
///
/// ```
/// use multikernel::{Matrix, evaluate::Metrics};
/// let scores = Matrix::from_vec(4, 2, vec![0.9, 0.1, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8])?;
/// let metrics = Metrics::new(&[0, 0, 1, 1], &[0, 1, 1, 1], Some(&scores), 2)?;
/// assert_eq!(metrics.accuracy, 0.75);
/// assert_eq!(metrics.auroc, Some(1.0));
/// assert_eq!(metrics.confusion, vec![vec![1, 1], vec![0, 2]]);
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Metrics {
    /// Share of rows predicted correctly.
    pub accuracy: f64,
    /// Mean recall over the classes that occur in the truth.
    pub balanced_accuracy: f64,
    /// Mean over classes of (rows correctly assigned to the class) / (rows assigned to the class).
    pub macro_precision: f64,
    /// Mean over classes of (rows correctly assigned to the class) / (rows of the class).
    pub macro_recall: f64,
    /// Mean over classes of the harmonic mean of precision and recall.
    pub macro_f: f64,
    /// Mean over classes of (rows correctly not assigned to the class) / (rows not of the class).
    pub macro_specificity: f64,
    /// Matthews correlation, for more than two classes Gorodkin's R_K; 0 when truth or predictions are all one class.
    pub mcc: f64,
    /// Mean one-against-rest area under the ROC curve; `None` without scores or when the truth is all one class.
    pub auroc: Option<f64>,
    /// Mean one-against-rest average precision; `None` when `auroc` is.
    pub auprc: Option<f64>,
    /// Squared error of the probabilities, see [`brier`]; `None` without probabilities.
    pub brier: Option<f64>,
    /// Mean of -ln of the probability of the true class, see [`log_loss`]; `None` without probabilities.
    pub log_loss: Option<f64>,
    /// The gap between the confidence in the likeliest class and how often it is right, see [`calibration_error`];
    /// `None` without probabilities.
    pub calibration_error: Option<f64>,
    /// Row counts by true class, then predicted class (`n_classes` x `n_classes`).
    pub confusion: Vec<Vec<u64>>,
}

impl Metrics {
    /// Metrics of `predicted` against `truth`, both class numbers below `n_classes`; `scores`, if the method has them,
    /// is n_samples x n_classes, larger meaning more of that class (any scale, infinities allowed).
    ///
    /// Costs O(n_classes n_samples log n_samples) with scores. Empty input, unequal lengths, a label outside the
    /// classes, a wrong shape of `scores` or a NaN in it are errors.
    pub fn new(truth: &[usize], predicted: &[usize], scores: Option<&Matrix>, n_classes: usize) -> Result<Metrics> {
        check_labels(truth, predicted, n_classes)?;
        if let Some(scores) = scores {
            check_scores(scores, truth.len(), n_classes)?;
        }
        let mut confusion = vec![vec![0u64; n_classes]; n_classes];
        for (&t, &p) in truth.iter().zip(predicted) {
            confusion[t][p] += 1;
        }
        Ok(Metrics {
            auroc: scores.and_then(|s| one_against_rest(truth, s, auroc)),
            auprc: scores.and_then(|s| one_against_rest(truth, s, auprc)),
            ..Metrics::of_confusion(confusion)
        })
    }

    /// The metrics determined by the confusion counts, `[true][predicted]`; the others are `None`.
    pub(super) fn of_confusion(confusion: Vec<Vec<u64>>) -> Metrics {
        let counts = Counts::of_classes(&confusion);
        let seen: Vec<&Counts> = counts.iter().filter(|c| c.truth + c.predicted > 0).collect();
        let (hits, all) = (counts.iter().map(|c| c.both).sum(), counts.iter().map(|c| c.truth).sum());
        Metrics {
            accuracy: ratio(hits, all),
            balanced_accuracy: mean(counts.iter().filter(|c| c.truth > 0).map(Counts::recall)).unwrap_or(0.0),
            macro_precision: mean(seen.iter().map(|c| c.precision())).unwrap_or(0.0),
            macro_recall: mean(seen.iter().map(|c| c.recall())).unwrap_or(0.0),
            macro_f: mean(seen.iter().map(|c| c.f())).unwrap_or(0.0),
            macro_specificity: mean(seen.iter().map(|c| c.specificity())).unwrap_or(0.0),
            mcc: mcc(&counts),
            auroc: None,
            auprc: None,
            brier: None,
            log_loss: None,
            calibration_error: None,
            confusion,
        }
    }

    /// Adds the three figures of the probabilities (n_samples x n_classes) predicted for the same rows. Costs
    /// O(n_samples (n_classes + log n_samples)). Values that are not probabilities and rows that do not sum to 1 are
    /// errors.
    ///
    /// ```
    /// use multikernel::{Matrix, evaluate::Metrics};
    /// let probabilities = Matrix::from_vec(2, 2, vec![0.75, 0.25, 0.5, 0.5])?;
    /// let metrics = Metrics::new(&[0, 1], &[0, 0], None, 2)?.with_probabilities(&[0, 1], &probabilities)?;
    /// assert_eq!(metrics.brier, Some((2.0 * 0.0625 + 2.0 * 0.25) / 2.0));
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn with_probabilities(self, truth: &[usize], probabilities: &Matrix) -> Result<Metrics> {
        check_shape("probabilities", probabilities, truth.len(), self.confusion.len())?;
        Ok(Metrics {
            brier: Some(brier(truth, probabilities)?),
            log_loss: Some(log_loss(truth, probabilities)?),
            calibration_error: Some(calibration_error(truth, probabilities)?),
            ..self
        })
    }
}

/// Row counts of one class against the rest.
struct Counts {
    /// Rows of the class.
    truth: u64,
    /// Rows assigned to the class.
    predicted: u64,
    /// Rows of the class that were assigned to it.
    both: u64,
    /// All rows.
    all: u64,
}

impl Counts {
    fn of_classes(confusion: &[Vec<u64>]) -> Vec<Counts> {
        let all = confusion.iter().flatten().sum();
        (0..confusion.len())
            .map(|c| Counts {
                truth: confusion[c].iter().sum(),
                predicted: confusion.iter().map(|row| row[c]).sum(),
                both: confusion[c][c],
                all,
            })
            .collect()
    }

    fn precision(&self) -> f64 {
        ratio(self.both, self.predicted)
    }

    fn recall(&self) -> f64 {
        ratio(self.both, self.truth)
    }

    /// 2 TP / (2 TP + FP + FN): the harmonic mean of precision and recall without their 0/0 cases.
    fn f(&self) -> f64 {
        ratio(2 * self.both, self.truth + self.predicted)
    }

    fn specificity(&self) -> f64 {
        let neither = self.all + self.both - self.truth - self.predicted;
        ratio(neither, self.all - self.truth)
    }
}

/// Gorodkin's R_K (Comput. Biol. Chem. 28, 2004, eq. 8) = cov(t, p) / sqrt(cov(t, t) cov(p, p)) of the class
/// indicators. The covariances are n^2 times integers, so they are summed as integers: 0/0 is found exactly.
fn mcc(counts: &[Counts]) -> f64 {
    let sum = |product: fn(&Counts) -> (u64, u64)| -> i128 {
        counts.iter().map(product).map(|(x, y)| i128::from(x) * i128::from(y)).sum()
    };
    // Every row has one class, so sum_c both_c * all - sum_c truth_c * predicted_c is the covariance of the indicators.
    let cross = sum(|c| (c.both, c.all)) - sum(|c| (c.truth, c.predicted));
    let truth = sum(|c| (c.truth, c.all)) - sum(|c| (c.truth, c.truth));
    let predicted = sum(|c| (c.predicted, c.all)) - sum(|c| (c.predicted, c.predicted));
    if truth == 0 || predicted == 0 { 0.0 } else { cross as f64 / (truth as f64 * predicted as f64).sqrt() }
}

/// Area under the ROC curve: the chance that a random positive scores above a random negative, ties counting half.
///
/// Exact: pairs are counted in integers over tie groups (midranks), O(n log n). `None` if positives or negatives are
/// absent, the lengths differ or a score is NaN.
///
/// ```
/// use multikernel::evaluate::auroc;
/// assert_eq!(auroc(&[true, false, true, false], &[0.9, 0.5, 0.5, 0.1]), Some(0.875));
/// assert_eq!(auroc(&[true, true], &[0.9, 0.5]), None);
/// ```
pub fn auroc(positive: &[bool], score: &[f64]) -> Option<f64> {
    let groups = tie_groups(positive, score)?;
    let mut negatives_above = 0u128;
    let mut positives = 0u128;
    let mut losses = 0u128;
    for group in &groups {
        let (p, n) = (u128::from(group.positives), u128::from(group.negatives));
        // Twice the count: a tied pair is half a loss.
        losses += p * (2 * negatives_above + n);
        negatives_above += n;
        positives += p;
    }
    let pairs = 2 * positives * negatives_above;
    Some((pairs - losses) as f64 / pairs as f64)
}

/// Average precision: the sum over distinct thresholds, from the highest, of (R_k - R_{k-1}) P_k, with recall R and
/// precision P of the rows at or above the threshold; no interpolation, as scikit-learn's `average_precision_score`.
///
/// O(n log n). `None` if positives or negatives are absent (without negatives every order would score 1), the lengths
/// differ or a score is NaN.
///
/// ```
/// use multikernel::evaluate::auprc;
/// assert_eq!(auprc(&[true, false, true], &[0.9, 0.5, 0.1]), Some((1.0 + 2.0 / 3.0) / 2.0));
/// ```
pub fn auprc(positive: &[bool], score: &[f64]) -> Option<f64> {
    let groups = tie_groups(positive, score)?;
    let (mut positives, mut rows) = (0u64, 0u64);
    let mut sum = 0.0;
    for group in &groups {
        positives += group.positives;
        rows += group.positives + group.negatives;
        sum += group.positives as f64 * ratio(positives, rows);
    }
    Some(sum / positives as f64)
}

/// Rows with the same score.
struct TieGroup {
    positives: u64,
    negatives: u64,
}

/// Tie groups from the highest score down; `None` if no curve is defined.
fn tie_groups(positive: &[bool], score: &[f64]) -> Option<Vec<TieGroup>> {
    let n_positives = positive.iter().filter(|&&p| p).count();
    if positive.len() != score.len()
        || n_positives == 0
        || n_positives == positive.len()
        || score.iter().any(|s| s.is_nan())
    {
        return None;
    }
    let mut rows: Vec<(f64, bool)> = score.iter().copied().zip(positive.iter().copied()).collect();
    rows.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    // `==` and not the total order, so that 0.0 and -0.0 tie.
    let groups = rows.chunk_by(|a, b| a.0 == b.0).map(|group| {
        let positives = group.iter().filter(|row| row.1).count();
        TieGroup { positives: positives as u64, negatives: (group.len() - positives) as u64 }
    });
    Some(groups.collect())
}

/// Brier score: the mean over rows of sum_c (p_c - y_c)^2, where y_c is 1 for the true class and 0 elsewhere.
///
/// One definition for any number of classes: 0 is perfect, 2 is certain and wrong, and k equally likely classes score
/// 1 - 1/k. With two classes it is twice the mean of (p - y)^2 of one of them, which is scikit-learn's default
/// `brier_score_loss`; with `scale_by_half=False` that equals this one.
///
/// `probabilities` is n_samples x n_classes; a wrong shape, a value outside 0 to 1 or a row that does not sum to 1
/// within 1e-6 is an error. O(n_samples n_classes).
///
/// ```
/// use multikernel::{Matrix, evaluate::brier};
/// assert_eq!(brier(&[1], &Matrix::from_vec(1, 2, vec![0.25, 0.75])?)?, 0.125);
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn brier(truth: &[usize], probabilities: &Matrix) -> Result<f64> {
    check_probabilities(truth, probabilities)?;
    let square = |(row, &t): (&[f64], &usize)| -> f64 {
        row.iter().enumerate().map(|(c, p)| (p - f64::from(u8::from(c == t))).powi(2)).sum()
    };
    Ok(mean(probabilities.rows().zip(truth).map(square)).unwrap_or(0.0))
}

/// Log-loss: the mean over rows of -ln(p of the true class), in nats. A probability below 2^-52 counts as 2^-52, so
/// that a row deemed impossible costs 36 and not infinity; this is scikit-learn's `log_loss`, to 2^-52.
///
/// `probabilities` as for [`brier`]. O(n_samples n_classes).
///
/// ```
/// use multikernel::{Matrix, evaluate::log_loss};
/// assert_eq!(log_loss(&[1], &Matrix::from_vec(1, 2, vec![0.5, 0.5])?)?, 2f64.ln());
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn log_loss(truth: &[usize], probabilities: &Matrix) -> Result<f64> {
    check_probabilities(truth, probabilities)?;
    let loss = |(row, &t): (&[f64], &usize)| -row[t].max(f64::EPSILON).ln();
    Ok(mean(probabilities.rows().zip(truth).map(loss)).unwrap_or(0.0))
}

/// Bins of [`calibration_error`].
const N_BINS: usize = 15;

/// Expected calibration error of the likeliest class (the first, in a tie): rows are put into 15 bins by its
/// probability, and the error is the mean over bins, weighted by rows, of |mean probability - share of rows where it is
/// the true class|.
///
/// Bins have equal counts: a row with r of n rows strictly below it is in bin floor(15 r / n), so rows of equal
/// probability share a bin, whatever their order. Small test sets have an error of some percent by chance alone:
/// compare it between methods on the same rows, not with 0.
///
/// `probabilities` as for [`brier`]. O(n_samples (n_classes + log n_samples)).
///
/// ```
/// use multikernel::{Matrix, evaluate::calibration_error};
/// let probabilities = Matrix::from_vec(4, 2, vec![0.75, 0.25, 0.75, 0.25, 0.75, 0.25, 0.75, 0.25])?;
/// assert_eq!(calibration_error(&[0, 0, 1, 0], &probabilities)?, 0.0);
/// assert_eq!(calibration_error(&[0, 0, 0, 0], &probabilities)?, 0.25);
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn calibration_error(truth: &[usize], probabilities: &Matrix) -> Result<f64> {
    check_probabilities(truth, probabilities)?;
    let mut rows: Vec<(f64, bool)> = probabilities.rows().zip(truth).map(|(row, &t)| likeliest(row, t)).collect();
    rows.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    // For each bin, the sum of probabilities minus the number of correct rows.
    let mut excess = [0.0; N_BINS];
    let mut below = 0;
    for ties in rows.chunk_by(|a, b| a.0 == b.0) {
        let right = ties.iter().filter(|row| row.1).count();
        excess[N_BINS * below / rows.len()] += ties[0].0 * ties.len() as f64 - right as f64;
        below += ties.len();
    }
    Ok(excess.iter().map(|excess| excess.abs()).sum::<f64>() / rows.len() as f64)
}

/// The largest probability of a row, and whether the first class that has it is the true one.
fn likeliest(row: &[f64], truth: usize) -> (f64, bool) {
    let largest = row.iter().copied().fold(0.0, f64::max);
    (largest, row.iter().position(|&p| p == largest) == Some(truth))
}

/// Mean of `area` over the classes for which it is defined, class against rest.
fn one_against_rest(truth: &[usize], scores: &Matrix, area: fn(&[bool], &[f64]) -> Option<f64>) -> Option<f64> {
    // Two classes are ranked by the difference of their scores, which is what decides between them.
    let rank = |i: usize, class: usize| match scores.n_cols() {
        // Both infinite: no order.
        2 if scores.get(i, 0) == scores.get(i, 1) => 0.0,
        2 => scores.get(i, class) - scores.get(i, 1 - class),
        _ => scores.get(i, class),
    };
    let areas = (0..scores.n_cols()).filter_map(|class| {
        let positive: Vec<bool> = truth.iter().map(|&t| t == class).collect();
        // With many classes, most may be absent from a small test set: no column is copied for those.
        let ranks = || (0..scores.n_rows()).map(|i| rank(i, class)).collect::<Vec<f64>>();
        if positive.contains(&true) { area(&positive, &ranks()) } else { None }
    });
    mean(areas)
}

/// `a / b`, and 0 for 0/0.
fn ratio(a: u64, b: u64) -> f64 {
    if b == 0 { 0.0 } else { a as f64 / b as f64 }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut n) = (0.0, 0u64);
    for value in values {
        sum += value;
        n += 1;
    }
    if n == 0 { None } else { Some(sum / n as f64) }
}

fn check_labels(truth: &[usize], predicted: &[usize], n_classes: usize) -> Result<()> {
    if truth.len() != predicted.len() {
        return Err(Error::input(format!(
            "metrics: {} true labels but {} predictions; pass one prediction for each test row",
            truth.len(),
            predicted.len()
        )));
    }
    if truth.is_empty() {
        return Err(Error::input("metrics: no test rows; at least one is needed, make the test part larger"));
    }
    for (name, labels) in [("true", truth), ("predicted", predicted)] {
        if let Some(row) = labels.iter().position(|&label| label >= n_classes) {
            return Err(Error::input(format!(
                "metrics: {name} label {} of row {row} is outside 0..{n_classes}; \
                 number the classes from 0 and pass their count",
                labels[row]
            )));
        }
    }
    Ok(())
}

fn check_shape(what: &str, values: &Matrix, n_samples: usize, n_classes: usize) -> Result<()> {
    if (values.n_rows(), values.n_cols()) == (n_samples, n_classes) {
        return Ok(());
    }
    Err(Error::input(format!(
        "metrics: {what} are {} x {}, expected {n_samples} x {n_classes}; pass one row for each test row and one column \
         for each class",
        values.n_rows(),
        values.n_cols()
    )))
}

/// How far from 1 the probabilities of a row may sum: the rounding error of seven printed digits.
const SUM_TOLERANCE: f64 = 1e-6;

fn check_probabilities(truth: &[usize], probabilities: &Matrix) -> Result<()> {
    let n_classes = probabilities.n_cols();
    check_labels(truth, truth, n_classes)?;
    check_shape("probabilities", probabilities, truth.len(), n_classes)?;
    for (i, row) in probabilities.rows().enumerate() {
        if let Some(class) = row.iter().position(|p| !(0.0..=1.0).contains(p)) {
            let found = row[class];
            return Err(Error::input(format!(
                "metrics: the probability of row {i} for class {class} is {found}; it must lie between 0 and 1, pass \
                 scores as scores"
            )));
        }
        let sum: f64 = row.iter().sum();
        if (sum - 1.0).abs() > SUM_TOLERANCE {
            return Err(Error::input(format!(
                "metrics: the probabilities of row {i} sum to {sum}; they must sum to 1, divide them by their sum"
            )));
        }
    }
    Ok(())
}

fn check_scores(scores: &Matrix, n_samples: usize, n_classes: usize) -> Result<()> {
    check_shape("scores", scores, n_samples, n_classes)?;
    match scores.data().iter().position(|s| s.is_nan()) {
        Some(at) => Err(Error::input(format!(
            "metrics: the score of row {} for class {} is NaN; only numbers and infinities can be ranked, leave the \
             scores out if the method has none",
            at / n_classes,
            at % n_classes
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    /// Labels, few enough score levels for many ties, and scores for every class.
    fn cases() -> impl Strategy<Value = (usize, Vec<usize>, Vec<usize>, Vec<u8>)> {
        (2usize..6, 1usize..40).prop_flat_map(|(k, n)| {
            (
                Just(k),
                prop::collection::vec(0..k, n),
                prop::collection::vec(0..k, n),
                prop::collection::vec(0u8..8, n * k),
            )
        })
    }

    fn column(truth: &[usize], levels: &[u8], k: usize, class: usize) -> (Vec<bool>, Vec<f64>) {
        let score = levels.chunks(k).map(|row| f64::from(row[class])).collect();
        (truth.iter().map(|&t| t == class).collect(), score)
    }

    /// Probabilities in eighths, for many ties; all equal if the levels are all 0.
    fn probabilities(levels: &[u8], k: usize) -> Matrix {
        let one = |row: &[u8]| -> Vec<f64> {
            let sum: f64 = row.iter().map(|&level| f64::from(level)).sum();
            row.iter().map(|&level| if sum == 0.0 { 1.0 / k as f64 } else { f64::from(level) / sum }).collect()
        };
        Matrix::from_vec(levels.len() / k, k, levels.chunks(k).flat_map(one).collect()).unwrap()
    }

    /// Finds each bin by a pass over all rows.
    fn calibration_error_by_bins(truth: &[usize], p: &Matrix) -> f64 {
        let n = truth.len();
        let largest = |i: usize| p.row(i).iter().copied().fold(0.0, f64::max);
        let right =
            |i: usize| p.row(i).iter().take(truth[i]).all(|&q| q < largest(i)) && p.get(i, truth[i]) == largest(i);
        let bin = |i: usize| 15 * (0..n).filter(|&j| largest(j) < largest(i)).count() / n;
        let errors = (0..15).map(|b| {
            let rows: Vec<usize> = (0..n).filter(|&i| bin(i) == b).collect();
            let count = rows.len().max(1) as f64;
            let certain = rows.iter().map(|&i| largest(i)).sum::<f64>() / count;
            let hits = rows.iter().filter(|&&i| right(i)).count() as f64 / count;
            rows.len() as f64 / n as f64 * (certain - hits).abs()
        });
        errors.sum()
    }

    fn auroc_by_pairs(positive: &[bool], score: &[f64]) -> Option<f64> {
        let (mut wins, mut pairs) = (0.0, 0.0);
        for (i, _) in positive.iter().enumerate().filter(|(_, p)| **p) {
            for (j, _) in positive.iter().enumerate().filter(|(_, p)| !**p) {
                pairs += 1.0;
                wins += if score[i] > score[j] { 1.0 } else { 0.0 } + if score[i] == score[j] { 0.5 } else { 0.0 };
            }
        }
        (pairs > 0.0).then(|| wins / pairs)
    }

    /// Each positive contributes 1/n_positives of recall at the precision of the rows scoring at least as high.
    fn auprc_by_rows(positive: &[bool], score: &[f64]) -> Option<f64> {
        let n_positives = positive.iter().filter(|p| **p).count();
        let sum: f64 = (0..score.len())
            .filter(|&i| positive[i])
            .map(|i| {
                let above: Vec<usize> = (0..score.len()).filter(|&j| score[j] >= score[i]).collect();
                above.iter().filter(|&&j| positive[j]).count() as f64 / above.len() as f64
            })
            .sum();
        (n_positives > 0 && n_positives < positive.len()).then(|| sum / n_positives as f64)
    }

    fn close(a: Option<f64>, b: Option<f64>) -> bool {
        match (a, b) {
            (Some(a), Some(b)) => (a - b).abs() <= 1e-12,
            (a, b) => a == b,
        }
    }

    proptest! {
        #[test]
        fn areas_random_scores_equal_enumeration((k, truth, _, levels) in cases()) {
            for class in 0..k {
                let (positive, score) = column(&truth, &levels, k, class);
                prop_assert_eq!(auroc(&positive, &score), auroc_by_pairs(&positive, &score));
                prop_assert!(close(auprc(&positive, &score), auprc_by_rows(&positive, &score)));
            }
        }

        #[test]
        fn auroc_opposite_scores_is_the_complement((k, truth, _, levels) in cases()) {
            let (positive, score) = column(&truth, &levels, k, 0);
            let opposite: Vec<f64> = score.iter().map(|s| -s).collect();
            prop_assert!(close(auroc(&positive, &score), auroc(&positive, &opposite).map(|a| 1.0 - a)));
        }

        #[test]
        fn mcc_random_labels_equals_correlation_of_indicators((k, truth, predicted, _) in cases()) {
            let n = truth.len() as f64;
            let cov = |x: &[usize], y: &[usize]| -> f64 {
                (0..k).map(|c| {
                    let is = |z: &[usize], i: usize| f64::from(u8::from(z[i] == c));
                    let mean = |z: &[usize]| (0..z.len()).map(|i| is(z, i)).sum::<f64>() / n;
                    (0..x.len()).map(|i| (is(x, i) - mean(x)) * (is(y, i) - mean(y))).sum::<f64>()
                }).sum()
            };
            let (tt, pp) = (cov(&truth, &truth), cov(&predicted, &predicted));
            let expected = if tt < 1e-9 || pp < 1e-9 { 0.0 } else { cov(&truth, &predicted) / (tt * pp).sqrt() };
            let metrics = Metrics::new(&truth, &predicted, None, k)?;
            prop_assert!((metrics.mcc - expected).abs() < 1e-12);
        }

        #[test]
        fn calibration_error_with_ties_equals_enumeration((k, truth, _, levels) in cases()) {
            let p = probabilities(&levels, k);
            let found = calibration_error(&truth, &p)?;
            prop_assert!((found - calibration_error_by_bins(&truth, &p)).abs() < 1e-12);
            // The order of rows does not matter.
            let turned: Vec<usize> = (0..truth.len()).rev().collect();
            let truth: Vec<usize> = truth.into_iter().rev().collect();
            prop_assert!((found - calibration_error(&truth, &p.select_rows(&turned))?).abs() < 1e-12);
        }

        #[test]
        fn brier_of_two_classes_is_twice_that_of_one((_, _, _, levels) in cases()) {
            let p = probabilities(&levels[..levels.len() / 2 * 2], 2);
            let truth: Vec<usize> = (0..p.n_rows()).map(|i| i % 2).collect();
            let squares = (0..p.n_rows()).map(|i| (p.get(i, 1) - (i % 2) as f64).powi(2));
            let half = squares.sum::<f64>() / p.n_rows() as f64;
            prop_assert!((brier(&truth, &p)? - 2.0 * half).abs() < 1e-12);
        }

        #[test]
        fn metrics_renamed_classes_are_unchanged((k, truth, predicted, _) in cases()) {
            let turn = |labels: &[usize]| labels.iter().map(|&l| (l + 1) % k).collect::<Vec<_>>();
            let a = Metrics::new(&truth, &predicted, None, k)?;
            let b = Metrics::new(&turn(&truth), &turn(&predicted), None, k)?;
            for (x, y) in [(a.macro_f, b.macro_f), (a.macro_specificity, b.macro_specificity), (a.mcc, b.mcc)] {
                prop_assert!((x - y).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn metrics_reference_cases_equal_scikit_learn() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/metrics/reference.json");
        let text = std::fs::read_to_string(path).unwrap();
        let reference: Value = serde_json::from_str(&text).unwrap();
        let cases = reference["cases"].as_array().unwrap();
        assert!(cases.len() >= 20);
        for case in cases {
            let n_classes = case["n_classes"].as_u64().unwrap() as usize;
            let labels = |key: &str| -> Vec<usize> { serde_json::from_value(case[key].clone()).unwrap() };
            let (truth, predicted) = (labels("truth"), labels("predicted"));
            let scores: Vec<f64> = serde_json::from_value(case["scores"].clone()).unwrap();
            let scores = Matrix::from_vec(truth.len(), n_classes, scores).unwrap();
            let probabilities: Vec<f64> = serde_json::from_value(case["probabilities"].clone()).unwrap();
            let probabilities = Matrix::from_vec(truth.len(), n_classes, probabilities).unwrap();
            let metrics = Metrics::new(&truth, &predicted, Some(&scores), n_classes).unwrap();
            let metrics = metrics.with_probabilities(&truth, &probabilities).unwrap();
            let found = serde_json::to_value(&metrics).unwrap();
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

    #[test]
    fn metrics_small_table_equal_hand_computed_values() {
        // Confusion [[2, 1, 0], [0, 1, 0], [1, 0, 0]]: precision 2/3, 1/2, 0/0; recall 2/3, 1, 0.
        let metrics = Metrics::new(&[0, 0, 0, 1, 2], &[0, 0, 1, 1, 0], None, 4).unwrap();
        assert_eq!(metrics.confusion[0], vec![2, 1, 0, 0]);
        assert!((metrics.macro_precision - (2.0 / 3.0 + 0.5) / 3.0).abs() < 1e-15);
        assert!((metrics.macro_recall - (2.0 / 3.0 + 1.0) / 3.0).abs() < 1e-15);
        assert!((metrics.macro_f - (2.0 / 3.0 + 2.0 / 3.0) / 3.0).abs() < 1e-15);
        assert!((metrics.macro_specificity - (1.0 / 2.0 + 3.0 / 4.0 + 1.0) / 3.0).abs() < 1e-15);
        assert_eq!((metrics.auroc, metrics.auprc), (None, None));
    }

    #[test]
    fn areas_undefined_are_none() {
        assert_eq!(auroc(&[], &[]), None);
        assert_eq!(auroc(&[false, false], &[0.1, 0.2]), None);
        assert_eq!(auprc(&[true, true], &[0.1, 0.2]), None);
        assert_eq!(auprc(&[true, false], &[0.1]), None);
        assert_eq!(auroc(&[true, false], &[f64::NAN, 0.2]), None);
    }

    #[test]
    fn auroc_signed_zeros_and_infinities_are_ranked_as_numbers() {
        assert_eq!(auroc(&[true, false], &[0.0, -0.0]), Some(0.5));
        assert_eq!(auroc(&[true, false], &[f64::INFINITY, f64::NEG_INFINITY]), Some(1.0));
        assert_eq!(auroc(&[true, false], &[f64::INFINITY, f64::INFINITY]), Some(0.5));
    }

    #[test]
    fn metrics_bad_input_is_an_error_naming_it() {
        let text = |r: Result<Metrics>| r.unwrap_err().to_string();
        let nan = Matrix::from_vec(2, 2, vec![0.1, 0.2, f64::NAN, 0.3]).unwrap();
        assert!(text(Metrics::new(&[0, 1], &[0], None, 2)).starts_with("metrics: 2 true labels but 1 predictions"));
        assert!(text(Metrics::new(&[], &[], None, 2)).starts_with("metrics: no test rows"));
        assert!(text(Metrics::new(&[0, 2], &[0, 1], None, 2)).starts_with("metrics: true label 2 of row 1"));
        assert!(text(Metrics::new(&[0], &[7], None, 2)).starts_with("metrics: predicted label 7 of row 0"));
        assert!(text(Metrics::new(&[0], &[0], None, 0)).contains("outside 0..0"));
        assert!(text(Metrics::new(&[0], &[1], Some(&nan), 2)).contains("are 2 x 2, expected 1 x 2"));
        assert!(text(Metrics::new(&[0, 1], &[0, 1], Some(&nan), 2)).contains("row 1 for class 0 is NaN"));
    }

    #[test]
    fn metrics_of_what_is_no_probability_is_an_error_naming_it() {
        let plain = Metrics::new(&[0, 1], &[0, 1], None, 2).unwrap();
        let text = |n_rows: usize, n_cols: usize, values: &[f64]| {
            let matrix = Matrix::from_vec(n_rows, n_cols, values.to_vec()).unwrap();
            plain.clone().with_probabilities(&[0, 1], &matrix).unwrap_err().to_string()
        };
        assert_eq!(
            text(2, 2, &[0.5, 0.5, 1.5, -0.5]),
            "metrics: the probability of row 1 for class 0 is 1.5; it must lie between 0 and 1, pass scores as scores"
        );
        assert_eq!(
            text(2, 2, &[0.5, 0.25, 0.5, 0.5]),
            "metrics: the probabilities of row 0 sum to 0.75; they must sum to 1, divide them by their sum"
        );
        assert!(text(2, 2, &[0.5, 0.5, f64::NAN, 0.5]).contains("row 1 for class 0 is NaN"));
        let shape = "expected 2 x 2; pass one row for each test row and one column for each class";
        assert_eq!(text(1, 2, &[0.5, 0.5]), format!("metrics: probabilities are 1 x 2, {shape}"));
        assert_eq!(text(2, 3, &[0.5, 0.5, 0.0, 0.5, 0.5, 0.0]), format!("metrics: probabilities are 2 x 3, {shape}"));
    }

    #[test]
    fn log_loss_of_the_impossible_is_finite() {
        let p = Matrix::from_vec(1, 2, vec![1.0, 0.0]).unwrap();
        assert_eq!(log_loss(&[1], &p).unwrap(), 52.0 * 2f64.ln());
        assert_eq!(log_loss(&[0], &p).unwrap(), 0.0);
    }
}
