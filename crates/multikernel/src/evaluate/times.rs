//! Metrics of predicted times to an event.

use crate::data::Times;
use crate::error::{Error, Result};
use crate::linalg::Matrix;

/// Metrics of predicted risks and survival curves on one test set.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct TimeMetrics {
    /// Harrell's concordance: the share of comparable pairs whose earlier event has the larger risk; NaN where no pair
    /// is comparable. 0.5 is chance.
    pub concordance: f64,
    /// Brier's score of the survival curves, integrated over time; see [`integrated_brier`].
    pub integrated_brier: Option<f64>,
}

/// Risks that differ by less are tied.
const TIED: f64 = 1e-8;

/// Harrell's concordance of risks with times: of all pairs in which one row had its event before the other was last
/// seen, the share in which it has the larger risk; ties in risk count half. `None` where no pair is comparable. Cost:
/// n^2.
///
/// ```
/// use multikernel::{data::Times, evaluate::concordance};
/// let times = Times::new(vec![1.0, 2.0, 3.0], vec![true, false, true])?;
/// assert_eq!(concordance(&times, &[3.0, 1.0, 2.0]), Some(1.0));
/// assert_eq!(concordance(&times, &[1.0, 2.0, 1.0]), Some(0.25));
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn concordance(times: &Times, risks: &[f64]) -> Option<f64> {
    let (mut right, mut all) = (0.0, 0u64);
    each_pair(times, risks, |_, _, score| {
        right += score;
        all += 1;
    });
    (all > 0).then(|| right / all as f64)
}

/// For each row a number whose mean is the [`concordance`] and whose spread over rows is, as that of a mean, its error:
/// with `A_i` of the `B_i` pairs of row i in the right order, and `A` of `B` in all, `C = A / B`, it is
/// `C + n (A_i - C B_i) / B` (the linear part of a ratio of U-statistics).
pub(super) fn concordances(times: &Times, risks: &[f64]) -> Option<Vec<f64>> {
    let whole = concordance(times, risks)?;
    let (mut off, mut all) = (vec![0.0; risks.len()], 0.0);
    each_pair(times, risks, |i, j, score| {
        off[i] += score - whole;
        off[j] += score - whole;
        all += 1.0;
    });
    Some(off.into_iter().map(|off| whole + risks.len() as f64 * off / all).collect())
}

/// Each pair of rows, the one with the earlier event first, and 1 if that has the larger risk, 0 if not.
fn each_pair(times: &Times, risks: &[f64], mut visit: impl FnMut(usize, usize, f64)) {
    let (time, event) = (times.time(), times.event());
    for i in (0..time.len()).filter(|&i| event[i]) {
        // A row censored at the time of an event was seen a little longer.
        for j in (0..time.len()).filter(|&j| time[j] > time[i] || time[j] == time[i] && !event[j]) {
            let ahead = risks[i] - risks[j];
            visit(i, j, if ahead.abs() <= TIED { 0.5 } else { f64::from(u8::from(ahead > 0.0)) });
        }
    }
}

/// The Kaplan-Meier estimate of the share of rows without the event after each time.
///
/// ```
/// use multikernel::{data::Times, evaluate::KaplanMeier};
/// let seen = KaplanMeier::of(&Times::new(vec![1.0, 2.0, 3.0, 4.0], vec![true, false, true, false])?);
/// assert_eq!([0.5, 1.0, 2.5, 3.0].map(|time| seen.at(time)), [1.0, 0.75, 0.75, 0.375]);
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct KaplanMeier {
    /// Times ascending, and the value from each on.
    times: Vec<f64>,
    values: Vec<f64>,
}

impl KaplanMeier {
    /// The estimate from rows. Cost: sorting them.
    pub fn of(times: &Times) -> KaplanMeier {
        KaplanMeier::leaving(times, true)
    }

    /// The estimate of being uncensored.
    fn of_censoring(times: &Times) -> KaplanMeier {
        KaplanMeier::leaving(times, false)
    }

    /// The share of rows that have not left by the event, or by being censored. Rows with the event at a time leave
    /// before those that are censored at it.
    fn leaving(times: &Times, by_event: bool) -> KaplanMeier {
        let mut order: Vec<usize> = (0..times.n_samples()).collect();
        order.sort_by(|&a, &b| times.time()[a].total_cmp(&times.time()[b]));
        let (mut found, mut value, mut start) = (KaplanMeier { times: vec![], values: vec![] }, 1.0, 0);
        while start < order.len() {
            let time = times.time()[order[start]];
            let end = start + order[start..].iter().take_while(|&&i| times.time()[i] == time).count();
            let events = order[start..end].iter().filter(|&&i| times.event()[i]).count();
            let at_risk = order.len() - start;
            let (left, at_risk) = if by_event { (events, at_risk) } else { (end - start - events, at_risk - events) };
            if left > 0 {
                value *= 1.0 - left as f64 / at_risk as f64;
            }
            found.times.push(time);
            found.values.push(value);
            start = end;
        }
        found
    }

    /// The share after a time.
    pub fn at(&self, time: f64) -> f64 {
        let n = self.times.partition_point(|&known| known <= time);
        if n == 0 { 1.0 } else { self.values[n - 1] }
    }
}

/// Brier's score of survival probabilities (n_samples x times) at ascending times, integrated over them by the
/// trapezoidal rule and divided by their span; censoring is weighed out by its Kaplan-Meier estimate in the training
/// rows (Graf et al. 1999). `None` for fewer than two times, or where no training row is seen that long.
pub fn integrated_brier(train: &Times, test: &Times, survival: &Matrix, times: &[f64]) -> Result<Option<f64>> {
    if (survival.n_rows(), survival.n_cols()) != (test.n_samples(), times.len()) {
        let (n, t) = (test.n_samples(), times.len());
        return Err(Error::input(format!("survival probabilities must be {n} x {t}, one for each row and time")));
    }
    let censoring = KaplanMeier::of_censoring(train);
    let score = |t: usize, time: f64| -> f64 {
        let later = censoring.at(time);
        let each = (0..test.n_samples()).map(|i| {
            let (seen, event, p) = (test.time()[i], test.event()[i], survival.get(i, t));
            match (seen <= time, event) {
                (true, true) => p * p / censoring.at(seen),
                (true, false) => 0.0,
                (false, _) => (1.0 - p).powi(2) / later,
            }
        });
        each.sum::<f64>() / test.n_samples().max(1) as f64
    };
    let scores: Vec<f64> = times.iter().enumerate().map(|(t, &time)| score(t, time)).collect();
    let span = times.last().copied().unwrap_or(0.0) - times.first().copied().unwrap_or(0.0);
    if span <= 0.0 || scores.iter().any(|score| !score.is_finite()) {
        return Ok(None);
    }
    let area: f64 = (1..times.len()).map(|k| 0.5 * (scores[k] + scores[k - 1]) * (times[k] - times[k - 1])).sum();
    Ok(Some(area / span))
}

/// A hundred times over the middle four fifths of the test rows' times: the ends have too few rows.
pub(super) fn grid(times: &Times) -> Vec<f64> {
    let mut sorted = times.time().to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    if n < 2 {
        return vec![];
    }
    let (low, high) = (sorted[n / 10], sorted[(9 * n / 10).min(n - 1)]);
    (0..100).map(|k| low + (high - low) * f64::from(k) / 99.0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(time: &[f64], event: &[u8]) -> Times {
        Times::new(time.to_vec(), event.iter().map(|&event| event == 1).collect()).unwrap()
    }

    /// scikit-survival 0.28 on the same numbers.
    #[test]
    fn concordance_and_brier_are_those_of_scikit_survival() {
        let rows =
            times(&[5.0, 3.0, 9.0, 1.0, 4.0, 4.0, 7.0, 2.0, 6.0, 3.0, 8.0, 5.0], &[1, 0, 1, 1, 1, 0, 1, 1, 0, 1, 0, 1]);
        let risks = [0.3, -0.2, -1.1, 2.0, 0.3, 0.1, -0.5, 1.2, 0.0, 0.7, -0.9, 0.25];
        assert!((concordance(&rows, &risks).unwrap() - 0.989_361_702_127_659_6).abs() < 1e-15);
        let at = [2.5, 3.5, 4.5, 5.5, 6.5, 7.5];
        let survival = Matrix::from_fn(12, 6, |i, t| (-risks[i].exp() * at[t] / 8.0).exp());
        let found = integrated_brier(&rows, &rows, &survival, &at).unwrap().unwrap();
        assert!((found - 0.105_597_671_977_062_57).abs() < 1e-12, "{found}");
    }

    #[test]
    fn concordances_have_its_mean_and_the_spread_of_the_jackknife() {
        let mut rng = crate::dist::Rng::new(4, 0);
        let n = 60;
        let time: Vec<f64> = (0..n).map(|_| (20.0 * rng.uniform()).ceil()).collect();
        let event: Vec<bool> = (0..n).map(|_| rng.uniform() < 0.7).collect();
        let risks: Vec<f64> = time.iter().map(|time| -time + 12.0 * rng.uniform()).collect();
        let rows = Times::new(time, event).unwrap();
        let (found, whole) = (concordances(&rows, &risks).unwrap(), concordance(&rows, &risks).unwrap());
        assert!((found.iter().sum::<f64>() / n as f64 - whole).abs() < 1e-12);
        let without = |i: usize| {
            let rest: Vec<usize> = (0..n).filter(|&j| j != i).collect();
            let risks: Vec<f64> = rest.iter().map(|&j| risks[j]).collect();
            concordance(&rows.select(&rest), &risks).unwrap()
        };
        let jackknife: Vec<f64> = (0..n).map(without).collect();
        let mean = jackknife.iter().sum::<f64>() / n as f64;
        let theirs = jackknife.iter().map(|value| (value - mean).powi(2)).sum::<f64>() * (n - 1) as f64 / n as f64;
        let ours = found.iter().map(|value| (value - whole).powi(2)).sum::<f64>() / (n * n) as f64;
        // Both are estimates of the variance to the order of 1 / n.
        assert!((ours / theirs - 1.0).abs() < 4.0 / n as f64, "{ours} {theirs}");
    }

    #[test]
    fn censoring_is_the_kaplan_meier_estimate_of_it() {
        // By hand: at 2 the row with the event leaves first, so one of three is censored; at 4 the last one is.
        let found = KaplanMeier::of_censoring(&times(&[1.0, 2.0, 2.0, 3.0, 4.0], &[1, 0, 1, 1, 0]));
        assert_eq!(found.values, [1.0, 1.0 - 1.0 / 3.0, 1.0 - 1.0 / 3.0, 0.0]);
        assert_eq!((found.at(0.5), found.at(1.5)), (1.0, 1.0));
    }

    #[test]
    fn brier_of_certain_and_right_curves_is_zero_and_of_even_odds_a_quarter() {
        let all = times(&[1.0, 2.0, 3.0, 4.0], &[1, 1, 1, 1]);
        let at = [1.5, 2.5, 3.5];
        let right = Matrix::from_fn(4, 3, |i, t| if all.time()[i] > at[t] { 1.0 } else { 0.0 });
        assert_eq!(integrated_brier(&all, &all, &right, &at).unwrap(), Some(0.0));
        let even = Matrix::from_fn(4, 3, |_, _| 0.5);
        assert_eq!(integrated_brier(&all, &all, &even, &at).unwrap(), Some(0.25));
        assert!(integrated_brier(&all, &all, &even, &at[..2]).is_err());
    }
}
