//! The uncertainty of a figure on one test set: its interval over resampled test rows.

use super::metrics::Metrics;
use crate::dist::Rng;
use crate::error::{Error, Result};

/// Distinct from the streams of splits, inner folds and methods.
const STREAM: u64 = 1 << 51;

/// More resamples than anyone needs; each keeps one number.
const MAX_RESAMPLES: usize = 1_000_000;

/// The percentile bootstrap interval of a figure: test rows are resampled with replacement, as many as there were.
///
/// It shows how much a figure depends on which rows were tested: macro averages with rare classes depend on few of
/// them. It does not show the effect of different training rows. `figure` must be determined by the confusion matrix
/// (not AUROC, AUPRC or a figure of probabilities, which are `None` here). A class with neither rows nor predictions in
/// a resample is left out of its macro means, as everywhere. Quantiles are interpolated between neighbours. All
/// randomness comes from a separate stream of `seed`.
///
/// Costs `n_resamples` draws for each row, a few nanoseconds each. Zero or more than a million resamples, or a level
/// not strictly between 0 and 1, are errors.
///
/// ```
/// use multikernel::evaluate::{Metrics, bootstrap};
/// let metrics = Metrics::new(&[0, 0, 0, 0, 1, 1, 1, 1], &[0, 0, 0, 1, 1, 1, 1, 0], None, 2)?;
/// let (low, high) = bootstrap(&metrics, |metrics| metrics.accuracy, 1000, 0.95, 0)?;
/// assert!(low < 0.75 && 0.75 < high);
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn bootstrap(
    metrics: &Metrics,
    figure: impl Fn(&Metrics) -> f64,
    n_resamples: usize,
    level: f64,
    seed: u64,
) -> Result<(f64, f64)> {
    if !(1..=MAX_RESAMPLES).contains(&n_resamples) {
        let message = format!("{n_resamples} resamples; choose 1 to {MAX_RESAMPLES}, such as 1000");
        return Err(Error::param("n_resamples", message));
    }
    if !(level > 0.0 && level < 1.0) {
        return Err(Error::param(
            "level",
            format!("{level} is not a confidence; pass one between 0 and 1, such as 0.95"),
        ));
    }
    let n_classes = metrics.confusion.len();
    // The confusion-matrix cell of each row: all that a figure sees of it.
    let cells = metrics.confusion.iter().flatten().enumerate();
    let rows: Vec<usize> = cells.flat_map(|(cell, &n)| std::iter::repeat_n(cell, n as usize)).collect();
    let mut rng = Rng::new(seed, STREAM);
    let mut found: Vec<f64> = (0..n_resamples)
        .map(|_| {
            let mut confusion = vec![vec![0; n_classes]; n_classes];
            for _ in 0..rows.len() {
                let cell = rows[rng.below(rows.len())];
                confusion[cell / n_classes][cell % n_classes] += 1;
            }
            figure(&Metrics::of_confusion(confusion))
        })
        .collect();
    found.sort_unstable_by(f64::total_cmp);
    let tail = 0.5 * (1.0 - level);
    Ok((quantile(&found, tail), quantile(&found, 1.0 - tail)))
}

/// The quantile of sorted values (at least one), linearly interpolated.
fn quantile(sorted: &[f64], p: f64) -> f64 {
    let place = p * (sorted.len() - 1) as f64;
    let below = (place as usize).min(sorted.len() - 1);
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `right` of `n` rows correct, two equally frequent classes.
    fn metrics(n: u64, right: u64) -> Metrics {
        let (a, b) = (right / 2, right - right / 2);
        Metrics::of_confusion(vec![vec![a, n / 2 - a], vec![n - n / 2 - b, b]])
    }

    #[test]
    fn interval_of_an_accuracy_is_that_of_the_binomial_law() {
        let (low, high) = bootstrap(&metrics(10_000, 9_000), |m| m.accuracy, 4000, 0.95, 1).unwrap();
        // Normal here; a quantile of 4000 resamples is off by .04 standard deviations.
        let half = 1.959_964 * (0.9f64 * 0.1 / 10_000.0).sqrt();
        assert!((low - (0.9 - half)).abs() < 0.1 * half && (high - (0.9 + half)).abs() < 0.1 * half, "{low} {high}");
        let (narrow, wide) = bootstrap(&metrics(10_000, 9_000), |m| m.accuracy, 4000, 0.5, 1).unwrap();
        let half = 0.674_490 * (0.9f64 * 0.1 / 10_000.0).sqrt();
        assert!((narrow - (0.9 - half)).abs() < 0.15 * half && (wide - (0.9 + half)).abs() < 0.15 * half);
    }

    #[test]
    fn interval_of_few_rows_is_that_of_all_resamples() {
        // Three rows, two right: a resample's accuracy is Binomial(3, 2/3) / 3, with quantiles .0 and 1 beyond 1/27.
        let three = metrics(3, 2);
        assert_eq!(bootstrap(&three, |m| m.accuracy, 20_000, 0.95, 0).unwrap(), (0.0, 1.0));
        assert_eq!(bootstrap(&three, |m| m.accuracy, 20_000, 0.90, 0).unwrap(), (1.0 / 3.0, 1.0));
        assert_eq!(bootstrap(&three, |m| m.accuracy, 20_000, 0.25, 0).unwrap(), (2.0 / 3.0, 2.0 / 3.0));
    }

    #[test]
    fn rare_classes_make_a_macro_average_unsure() {
        let f = |m: &Metrics| m.macro_f;
        let width = |confusion| {
            let (low, high) = bootstrap(&Metrics::of_confusion(confusion), f, 1000, 0.95, 0).unwrap();
            high - low
        };
        let (even, rare) = (width(vec![vec![480, 20], vec![20, 480]]), width(vec![vec![985, 5], vec![5, 5]]));
        assert!(rare > 5.0 * even, "{rare} {even}");
    }

    #[test]
    fn a_perfect_result_has_a_point_and_seeds_draw_differently() {
        assert_eq!(bootstrap(&metrics(50, 50), |m| m.macro_f, 100, 0.95, 0).unwrap(), (1.0, 1.0));
        let run = |seed| bootstrap(&metrics(500, 440), |m| m.macro_f, 200, 0.95, seed).unwrap();
        assert_eq!(run(3), run(3));
        assert_ne!(run(3), run(4));
    }

    #[test]
    fn wrong_numbers_are_named() {
        let run = |n, level| bootstrap(&metrics(4, 3), |m| m.accuracy, n, level, 0).unwrap_err().to_string();
        assert_eq!(run(0, 0.95), "parameter n_resamples: 0 resamples; choose 1 to 1000000, such as 1000");
        assert_eq!(run(10, 95.0), "parameter level: 95 is not a confidence; pass one between 0 and 1, such as 0.95");
        assert!(run(10, f64::NAN).starts_with("parameter level: NaN"));
    }

    #[test]
    fn quantiles_lie_between_neighbours() {
        let sorted = [1.0, 2.0, 4.0];
        assert_eq!([0.0, 0.25, 0.5, 0.75, 1.0].map(|p| quantile(&sorted, p)), [1.0, 1.5, 2.0, 3.0, 4.0]);
        assert_eq!(quantile(&[7.0], 0.975), 7.0);
    }
}
