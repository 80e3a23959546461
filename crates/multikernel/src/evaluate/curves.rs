//! Curves of probabilities over splits: ROC, precision by recall, and how often a confidence is right.

use serde::Serialize;

use super::result::{Evaluation, PlanResult};
use crate::linalg::Matrix;

/// Points of a curve.
const STEPS: usize = 40;
/// Bins of confidence.
const BINS: usize = 10;

/// A curve over a grid from 0 to 1: its mean over splits, and its standard deviation where there are several.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// The grid.
    pub x: Vec<f64>,
    /// The mean over splits.
    pub mean: Vec<f64>,
    /// The sample standard deviation over splits; `None` for one split.
    pub std: Option<Vec<f64>>,
}

/// Rows whose likeliest class has a probability in one range.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bin {
    /// Ends of the range.
    pub range: (f64, f64),
    /// Number of rows, over all splits.
    pub n: usize,
    /// Their mean probability of the likeliest class.
    pub confidence: f64,
    /// The share of them that is of that class.
    pub right: f64,
}

/// The curves of one method's probabilities on test rows.
///
/// With two classes they are those of the second class; with more, means over the classes, each against the rest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curves {
    /// The true positive rate (mean) by the false positive rate (x).
    pub roc: Curve,
    /// Precision (mean) by recall (x): the best precision at that recall or above.
    pub precision_recall: Curve,
    /// Ten ranges of confidence, without the empty ones.
    pub reliability: Vec<Bin>,
}

impl Curves {
    /// The curves of splits: the classes of each one's test rows, and their probabilities (rows x classes). `None`
    /// without splits in which some class has both members and others. Costs a sort of the rows for each class and
    /// split.
    ///
    /// ```
    /// use multikernel::{Matrix, evaluate::Curves};
    /// let probabilities = Matrix::from_vec(4, 2, vec![0.9, 0.1, 0.6, 0.4, 0.3, 0.7, 0.2, 0.8])?;
    /// let curves = Curves::of(&[(vec![0, 0, 1, 1], &probabilities)]).unwrap();
    /// assert!(curves.roc.mean.iter().all(|&rate| rate == 1.0));
    /// assert_eq!(curves.reliability.iter().map(|bin| bin.n).sum::<usize>(), 4);
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn of(splits: &[(Vec<usize>, &Matrix)]) -> Option<Curves> {
        let (mut roc, mut precision) = (vec![], vec![]);
        for (truth, probabilities) in splits {
            let n_classes = probabilities.n_cols();
            let first = if n_classes == 2 { 1 } else { 0 };
            let found: Vec<_> =
                (first..n_classes).filter_map(|class| of_class(truth, class, &probabilities.column(class))).collect();
            if found.is_empty() {
                continue;
            }
            roc.push(mean(found.iter().map(|one| &one.0)));
            precision.push(mean(found.iter().map(|one| &one.1)));
        }
        let (roc, precision_recall) = (curve(&roc)?, curve(&precision)?);
        Some(Curves { roc, precision_recall, reliability: bins(splits) })
    }
}

impl PlanResult {
    /// The curves of the probabilities on all finished splits of `found`, which this is a result of; `None` if the plan
    /// had none.
    pub fn curves(&self, found: &Evaluation) -> Option<Curves> {
        let truth = |rows: &[usize]| rows.iter().map(|&row| found.test_rows.labels[row]).collect();
        let splits: Option<Vec<_>> =
            self.folds.iter().map(|fold| Some((truth(&fold.rows), fold.probabilities.as_ref()?))).collect();
        Curves::of(&splits?)
    }
}

fn grid() -> impl Iterator<Item = f64> {
    (0..=STEPS).map(|k| k as f64 / STEPS as f64)
}

/// Both curves of a class against the rest, at the grid; `None` if all rows or none are of the class.
fn of_class(truth: &[usize], class: usize, scores: &[f64]) -> Option<(Vec<f64>, Vec<f64>)> {
    let mut order: Vec<usize> = (0..truth.len()).collect();
    order.sort_by(|&i, &j| scores[j].total_cmp(&scores[i]));
    let members = truth.iter().filter(|&&code| code == class).count() as f64;
    let others = truth.len() as f64 - members;
    if members == 0.0 || others == 0.0 {
        return None;
    }
    // (false positive rate, true positive rate, precision) after each group of equal scores.
    let (mut hits, mut misses) = (0.0, 0.0);
    let mut points = vec![(0.0, 0.0, 1.0)];
    for tied in order.chunk_by(|&i, &j| scores[i] == scores[j]) {
        for &i in tied {
            if truth[i] == class { hits += 1.0 } else { misses += 1.0 }
        }
        points.push((misses / others, hits / members, hits / (hits + misses)));
    }
    let rate = |x: f64| {
        // The highest rate at x: the last point not beyond it, and the line to the next.
        let after = points.partition_point(|point| point.0 <= x);
        let (left, right) = (points[after - 1], points.get(after).copied().unwrap_or(points[after - 1]));
        let width = right.0 - left.0;
        if width > 0.0 { left.1 + (right.1 - left.1) * (x - left.0) / width } else { left.1 }
    };
    let precise =
        |x: f64| points[1..].iter().filter(|point| point.1 >= x - 1e-12).map(|point| point.2).fold(0.0, f64::max);
    Some((grid().map(rate).collect(), grid().map(precise).collect()))
}

fn mean<'a>(curves: impl Iterator<Item = &'a Vec<f64>> + Clone) -> Vec<f64> {
    let n = curves.clone().count() as f64;
    (0..=STEPS).map(|k| curves.clone().map(|curve| curve[k]).sum::<f64>() / n).collect()
}

fn curve(splits: &[Vec<f64>]) -> Option<Curve> {
    if splits.is_empty() {
        return None;
    }
    let (mean, n) = (mean(splits.iter()), splits.len() as f64);
    let squares = |k: usize| splits.iter().map(|split| (split[k] - mean[k]).powi(2)).sum::<f64>();
    let std = (splits.len() > 1).then(|| (0..=STEPS).map(|k| (squares(k) / (n - 1.0)).sqrt()).collect());
    Some(Curve { x: grid().collect(), mean, std })
}

fn bins(splits: &[(Vec<usize>, &Matrix)]) -> Vec<Bin> {
    let mut sums = [(0usize, 0.0, 0.0); BINS];
    for (truth, probabilities) in splits {
        for (&code, row) in truth.iter().zip(probabilities.rows()) {
            let top = crate::run::first_largest(row);
            let bin = &mut sums[((row[top] * BINS as f64) as usize).min(BINS - 1)];
            *bin = (bin.0 + 1, bin.1 + row[top], bin.2 + f64::from(u8::from(top == code)));
        }
    }
    let bin = |(k, &(n, confidence, right)): (usize, &(usize, f64, f64))| Bin {
        range: (k as f64 / BINS as f64, (k + 1) as f64 / BINS as f64),
        n,
        confidence: confidence / n as f64,
        right: right / n as f64,
    };
    sums.iter().enumerate().filter(|(_, sum)| sum.0 > 0).map(bin).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;
    use crate::evaluate::auroc;

    #[test]
    fn area_under_the_curve_is_the_auroc_and_bins_hold_all_rows() {
        let mut rng = Rng::new(3, 0);
        let truth: Vec<usize> = (0..4000).map(|i| i % 2).collect();
        let p: Vec<f64> = truth.iter().map(|&code| (0.5 * rng.uniform() + 0.3 * code as f64).clamp(0.0, 1.0)).collect();
        let probabilities = Matrix::from_fn(truth.len(), 2, |i, c| if c == 1 { p[i] } else { 1.0 - p[i] });
        let curves = Curves::of(&[(truth.clone(), &probabilities)]).unwrap();
        let area: f64 = curves.roc.mean.windows(2).map(|two| 0.5 * (two[0] + two[1]) / STEPS as f64).sum();
        let is_member: Vec<bool> = truth.iter().map(|&code| code == 1).collect();
        let exact = auroc(&is_member, &p).unwrap();
        assert!((area - exact).abs() < 2e-3, "{area} {exact}");
        assert_eq!(curves.reliability.iter().map(|bin| bin.n).sum::<usize>(), 4000);
        assert!(curves.roc.std.is_none());
        let two = Curves::of(&[(truth.clone(), &probabilities), (truth.clone(), &probabilities)]).unwrap();
        assert!(two.roc.std.unwrap().iter().all(|&std| std == 0.0) && two.roc.mean == curves.roc.mean);
        assert!(Curves::of(&[(vec![1; 4000], &probabilities)]).is_none() && Curves::of(&[]).is_none());
    }

    #[test]
    fn precision_is_that_of_brute_force_thresholds() {
        let (truth, p) = (vec![1, 0, 1, 1, 0, 0], [0.9, 0.8, 0.8, 0.4, 0.3, 0.1]);
        let table = Matrix::from_fn(6, 2, |i, c| if c == 1 { p[i] } else { 1.0 - p[i] });
        let curves = Curves::of(&[(truth.clone(), &table)]).unwrap();
        for (x, found) in curves.precision_recall.x.iter().zip(&curves.precision_recall.mean) {
            let best = p.iter().filter_map(|&threshold| {
                let taken: Vec<usize> = (0..6).filter(|&i| p[i] >= threshold).map(|i| truth[i]).collect();
                let hits = taken.iter().sum::<usize>() as f64;
                (hits / 3.0 >= x - 1e-12).then_some(hits / taken.len() as f64)
            });
            assert_eq!(*found, best.fold(0.0, f64::max), "{x}");
        }
    }
}
