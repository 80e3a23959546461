//! One rule by which a figure that a paper prints counts as reached.

use multikernel::evaluate::{LEVEL, Spread, student_quantile};
use serde_json::{Value, json};

/// The rule in words, printed once below a table.
pub(super) const RULE: &str = "\
verdict: our mean minus the paper's, with the 95 % t interval of two independent runs on the same rows, whose variance is \
s^2/n + s_paper^2/n_paper (Welch); where one of the two has no spread the other's stands in. reached: the whole interval is \
within .01 of 0; above, below: it is not, and excludes 0; else not distinguishable";

/// An interval within this of 0 is as good as equal: one point of accuracy.
const MARGIN: f64 = 0.01;

/// A figure that a paper prints.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Figure {
    pub(super) mean: f64,
    /// Standard deviation over splits, if printed.
    pub(super) std: Option<f64>,
    /// Number of splits behind the mean.
    pub(super) n_splits: usize,
}

/// How our figure stands to a published one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Reached,
    Above,
    Below,
    NotDistinguishable,
}

impl Verdict {
    pub(super) fn word(self) -> &'static str {
        match self {
            Verdict::Reached => "reached",
            Verdict::Above => "above",
            Verdict::Below => "below",
            Verdict::NotDistinguishable => "not distinguishable",
        }
    }
}

/// A published figure beside ours.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Judged {
    /// What was measured.
    pub(super) of: String,
    pub(super) paper: Figure,
    /// Our mean minus the paper's.
    pub(super) difference: f64,
    /// Its 95 % interval; `None` if neither side has a spread.
    pub(super) interval: Option<(f64, f64)>,
    pub(super) verdict: Verdict,
}

/// Judges our values, one per split, by [`RULE`]; `None` without values.
///
/// Both means are over splits of the same rows, drawn independently of each other, so `s^2/n` is the variance of each
/// around the mean over all splits, which is what a rerun should meet. The correction for splits that share rows belongs
/// to another question, what other rows would give.
pub(super) fn judge(of: &str, ours: &[f64], paper: Figure) -> Option<Judged> {
    let Spread { mean, std } = Spread::of(ours)?;
    let difference = mean - paper.mean;
    let half = half_width(std, ours.len() as f64, paper);
    let interval = half.map(|half| (difference - half, difference + half));
    let verdict = match interval {
        Some((low, high)) if -MARGIN <= low && high <= MARGIN => Verdict::Reached,
        Some((low, _)) if low > 0.0 => Verdict::Above,
        Some((_, high)) if high < 0.0 => Verdict::Below,
        _ => Verdict::NotDistinguishable,
    };
    Some(Judged { of: of.into(), paper, difference, interval, verdict })
}

/// Half of the interval: quantile times standard error.
fn half_width(ours: Option<f64>, n: f64, paper: Figure) -> Option<f64> {
    let n_paper = paper.n_splits as f64;
    let (variance, df) = match (ours, paper.std) {
        (None, None) => return None,
        // A shared spread is estimated once.
        (Some(s), None) => (s * s * (1.0 / n + 1.0 / n_paper), n - 1.0),
        (None, Some(s)) => (s * s * (1.0 / n + 1.0 / n_paper), n_paper - 1.0),
        (Some(s), Some(s_paper)) => {
            let (a, b) = (s * s / n, s_paper * s_paper / n_paper);
            // Satterthwaite's degrees of freedom; without any variance they do not matter.
            let df = (a + b).powi(2) / (a * a / (n - 1.0) + b * b / (n_paper - 1.0));
            (a + b, if df.is_nan() { 1.0 } else { df })
        }
    };
    Some(student_quantile(0.5 + 0.5 * LEVEL, df) * variance.sqrt())
}

impl Judged {
    /// The difference and its interval.
    pub(super) fn difference_text(&self) -> String {
        let difference = self.difference + 0.0;
        self.interval.map_or(format!("{difference:+.4}"), |(low, high)| {
            format!("{difference:+.4} [{:+.4}, {:+.4}]", low + 0.0, high + 0.0)
        })
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "of": self.of,
            "mean": self.paper.mean,
            "std": self.paper.std,
            "n_splits": self.paper.n_splits,
            "minus_paper": self.difference,
            "interval": self.interval,
            "verdict": self.verdict.word(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(ours: &[f64], mean: f64, std: Option<f64>, n_splits: usize) -> Judged {
        judge("accuracy", ours, Figure { mean, std, n_splits }).unwrap()
    }

    /// Four values with mean 0.9 and standard deviation sqrt((4 * .01^2) / 3).
    const OURS: [f64; 4] = [0.91, 0.89, 0.91, 0.89];

    #[test]
    fn welch_interval_is_that_of_a_hand_computed_case() {
        // s^2 = 4e-4/3; a = s^2/4 = 3.3333e-5. The paper: .02^2/5 = 8e-5.
        // Degrees of freedom: (1.13333e-4)^2 / (1.1111e-9/3 + 6.4e-9/4) = 6.5194; the 97.5 % quantile 2.40 times
        // sqrt(1.13333e-4) = .0106458.
        let found = judged(&OURS, 0.95, Some(0.02), 5);
        assert!((found.difference + 0.05).abs() < 1e-12);
        let half = found.interval.unwrap().1 - found.difference;
        // Between the quantiles at 6 and at 7 degrees of freedom, 2.4469 and 2.3646, near the middle.
        assert!(half > 2.3646 * 0.010_645_8 && half < 2.4469 * 0.010_645_8, "{half}");
        assert!((half / 0.010_645_8 - 2.400).abs() < 0.01, "{half}");
        assert_eq!(found.verdict, Verdict::Below);
    }

    #[test]
    fn other_side_stands_in_for_a_missing_spread() {
        // s sqrt(1/4 + 1/5) with 3 degrees of freedom, whose 97.5 % quantile is 3.182446.
        let (low, high) = judged(&OURS, 0.9, None, 5).interval.unwrap();
        let expected = 3.182_446 * (4e-4f64 / 3.0).sqrt() * 0.45f64.sqrt();
        assert!((high - expected).abs() < 1e-8 && (low + expected).abs() < 1e-8, "{low} {high} {expected}");
        // One split of ours: s_paper sqrt(1 + 1/20) with 19 degrees of freedom, 2.093024.
        let (low, high) = judged(&[0.9], 0.9, Some(0.02), 20).interval.unwrap();
        let expected = 2.093_024 * 0.02 * 1.05f64.sqrt();
        assert!((high - expected).abs() < 1e-8 && (low + expected).abs() < 1e-8, "{low} {high} {expected}");
        // Neither: nothing can be said.
        let bare = judged(&[0.9], 0.5, None, 1);
        assert_eq!((bare.interval, bare.verdict), (None, Verdict::NotDistinguishable));
        assert_eq!(judge("accuracy", &[], Figure { mean: 0.5, std: None, n_splits: 1 }), None);
    }

    #[test]
    fn every_verdict_is_given_where_the_rule_says() {
        // Equal values have no spread: the interval is the difference alone.
        let word = |ours: f64, paper: f64| judged(&[ours; 3], paper, Some(0.0), 5).verdict.word();
        assert_eq!(word(1.0, 0.9999), "reached");
        assert_eq!(word(0.8901, 0.9), "reached");
        assert_eq!(word(0.9101, 0.9), "above");
        assert_eq!(word(0.8899, 0.9), "below");
        // A half width of .0246 ([`OURS`] against five splits): above from a difference of .0247 on.
        assert_eq!(judged(&OURS, 0.875, None, 5).verdict.word(), "above");
        assert_eq!(judged(&OURS, 0.876, None, 5).verdict.word(), "not distinguishable");
        assert_eq!(judged(&OURS, 0.925, None, 5).verdict.word(), "below");
        assert_eq!(judged(&OURS, 0.924, None, 5).verdict.word(), "not distinguishable");
        // Equal means are not reached where the interval is wide.
        assert_eq!(judged(&OURS, 0.9, None, 5).verdict.word(), "not distinguishable");
    }
}
