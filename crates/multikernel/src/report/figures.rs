//! The figures of an evaluation: their names in JSON and in tables, and which of them a table shows.

use std::str::FromStr;

use crate::error::{Error, Result};
use crate::evaluate::{Fold, PlanResult, Spread};

/// One figure of a split.
pub(super) struct Figure {
    /// Its name in JSON and for `--metrics`.
    pub(super) name: &'static str,
    /// Its column header.
    title: &'static str,
    pub(super) of: fn(&Fold) -> Option<f64>,
    pub(super) kind: MetricKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MetricKind {
    /// Every method for classes has it.
    Labels,
    /// Every method for numbers, or for times, has it.
    Numbers,
    /// Reported if there are probabilities.
    Probabilities,
    /// A time: its spread over splits is not informative.
    Seconds,
}

const fn figure(name: &'static str, title: &'static str, kind: MetricKind, of: fn(&Fold) -> Option<f64>) -> Figure {
    Figure { name, title, of, kind }
}

/// All of them, in the order of JSON.
pub(super) const FIGURES: [Figure; 21] = [
    figure("accuracy", "accuracy", MetricKind::Labels, |fold| Some(fold.classes()?.accuracy)),
    figure("balanced_accuracy", "balanced", MetricKind::Labels, |fold| Some(fold.classes()?.balanced_accuracy)),
    figure("macro_precision", "precision", MetricKind::Labels, |fold| Some(fold.classes()?.macro_precision)),
    figure("macro_recall", "recall", MetricKind::Labels, |fold| Some(fold.classes()?.macro_recall)),
    figure("macro_f", "macro F", MetricKind::Labels, |fold| Some(fold.classes()?.macro_f)),
    figure("macro_specificity", "specificity", MetricKind::Labels, |fold| Some(fold.classes()?.macro_specificity)),
    figure("mcc", "MCC", MetricKind::Labels, |fold| Some(fold.classes()?.mcc)),
    figure("auroc", "AUROC", MetricKind::Labels, |fold| fold.metrics.auroc),
    figure("auprc", "AUPRC", MetricKind::Labels, |fold| fold.metrics.auprc),
    figure("brier", "Brier", MetricKind::Probabilities, |fold| fold.metrics.brier),
    figure("log_loss", "log-loss", MetricKind::Probabilities, |fold| fold.metrics.log_loss),
    figure("calibration_error", "calibration", MetricKind::Probabilities, |fold| fold.metrics.calibration_error),
    figure("r2", "R2", MetricKind::Numbers, |fold| Some(fold.numbers.as_ref()?.metrics.r2)),
    figure("rmse", "RMSE", MetricKind::Numbers, |fold| Some(fold.numbers.as_ref()?.metrics.rmse)),
    figure("mae", "MAE", MetricKind::Numbers, |fold| Some(fold.numbers.as_ref()?.metrics.mae)),
    figure("crps", "CRPS", MetricKind::Numbers, |fold| fold.numbers.as_ref()?.metrics.crps),
    figure("coverage", "in 90 %", MetricKind::Numbers, |fold| fold.numbers.as_ref()?.metrics.coverage),
    figure("concordance", "concordance", MetricKind::Numbers, |fold| Some(fold.times.as_ref()?.metrics.concordance)),
    figure("integrated_brier", "Brier over time", MetricKind::Numbers, |fold| {
        fold.times.as_ref()?.metrics.integrated_brier
    }),
    figure("train_seconds", "train s", MetricKind::Seconds, |fold| Some(fold.train_seconds)),
    figure("predict_seconds", "predict s", MetricKind::Seconds, |fold| Some(fold.predict_seconds)),
];

/// The figures a table shows by default.
const DEFAULT_METRICS: [&str; 12] = [
    "accuracy",
    "balanced_accuracy",
    "auroc",
    "log_loss",
    "r2",
    "rmse",
    "mae",
    "crps",
    "coverage",
    "concordance",
    "integrated_brier",
    "train_seconds",
];

/// Which figures the table of an evaluation shows: by default a few that fit a terminal, or all of them, or those
/// named. Figures of probabilities that no method has are left out unless named.
///
/// ```
/// use multikernel::report::Figures;
/// assert!("accuracy,mcc".parse::<Figures>().is_ok());
/// assert!("precision".parse::<Figures>().unwrap_err().to_string().contains("macro_precision"));
/// assert_eq!("all".parse::<Figures>()?, Figures::all());
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    names: Vec<&'static str>,
    is_named: bool,
}

impl Default for Figures {
    fn default() -> Self {
        Figures { names: DEFAULT_METRICS.to_vec(), is_named: false }
    }
}

impl Figures {
    /// All figures, including those of probabilities if there are any.
    pub fn all() -> Figures {
        Figures { names: FIGURES.iter().map(|figure| figure.name).collect(), is_named: false }
    }

    /// If figures were named, the first one that only plans with probabilities have.
    pub fn wants_probabilities(&self) -> Option<&str> {
        let named = self.chosen().find(|figure| figure.kind == MetricKind::Probabilities && self.is_named);
        named.map(|figure| figure.name)
    }

    fn chosen(&self) -> impl Iterator<Item = &'static Figure> {
        self.names.iter().filter_map(|name| FIGURES.iter().find(|figure| figure.name == *name))
    }

    /// The columns of a table: the header, and the cell of each result.
    pub(super) fn columns(&self, results: &[PlanResult]) -> Vec<(&'static str, Vec<String>)> {
        let any =
            |figure: &Figure| results.iter().flat_map(|result| &result.folds).any(|fold| (figure.of)(fold).is_some());
        let is_other = results.iter().flat_map(|result| &result.folds).any(|fold| fold.classes().is_none());
        let shown = |figure: &&Figure| {
            self.is_named
                || match figure.kind {
                    MetricKind::Labels => !is_other,
                    MetricKind::Numbers | MetricKind::Probabilities => any(figure),
                    MetricKind::Seconds => true,
                }
        };
        let cell = |result: &PlanResult, figure: &Figure| {
            let with_std = ["accuracy", "r2", "concordance"].contains(&figure.name)
                || self.is_named && figure.kind != MetricKind::Seconds;
            result
                .spread(figure.of)
                .map_or("-".into(), |spread| if with_std { plus_minus(spread) } else { mean(spread) })
        };
        let column = |figure: &Figure| (figure.title, results.iter().map(|result| cell(result, figure)).collect());
        self.chosen().filter(shown).map(column).collect()
    }
}

impl FromStr for Figures {
    type Err = Error;

    fn from_str(text: &str) -> Result<Figures> {
        if text.trim() == "all" {
            return Ok(Figures::all());
        }
        let mut names = vec![];
        for word in text.split(',').map(str::trim) {
            let Some(figure) = FIGURES.iter().find(|figure| figure.name == word) else {
                let known: Vec<&str> = FIGURES.iter().map(|figure| figure.name).collect();
                return Err(Error::param(
                    "metrics",
                    format!("`{word}` is unknown; give all, or some of {}", known.join(", ")),
                ));
            };
            if !names.contains(&figure.name) {
                names.push(figure.name);
            }
        }
        Ok(Figures { names, is_named: true })
    }
}

fn mean(spread: Spread) -> String {
    // Errors are in the units of the number, which may be large.
    if spread.mean.abs() >= 1000.0 { format!("{:.1}", spread.mean) } else { format!("{:.4}", spread.mean) }
}

/// Mean and, if there is one, standard deviation.
pub(super) fn plus_minus(spread: Spread) -> String {
    spread.std.map_or(mean(spread), |std| format!("{:.4} ± {std:.4}", spread.mean))
}
