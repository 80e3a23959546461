//! The results of an evaluation.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::metrics::Metrics;
use super::numbers::NumberMetrics;
use super::paired::Paired;
use super::times::TimeMetrics;
use crate::data::{Dataset, Target, TargetKind};
use crate::linalg::Matrix;
use crate::plan::Plan;
use crate::run::KernelsOfView;

/// One plan on one split.
#[derive(Clone, Debug)]
pub struct Fold {
    /// Index of the split, counted from 0.
    pub split: usize,
    /// Its metrics of classes; all zero where something else is predicted.
    pub metrics: Metrics,
    /// The numbers it predicted, if numbers are predicted.
    pub numbers: Option<NumberFold>,
    /// The risks it predicted, if times are predicted.
    pub times: Option<TimeFold>,
    /// Seconds to train, kernels included.
    pub train_seconds: f64,
    /// Seconds to predict the test rows.
    pub predict_seconds: f64,
    /// Kernel weights, for methods that have them.
    pub weights: Option<Vec<f64>>,
    /// Each kernel's share of the decisions, for methods that have them.
    pub shares: Option<Vec<f64>>,
    /// Which parameters that were `auto` were chosen, and from which values.
    pub chosen: Option<String>,
    /// The model's warnings.
    pub warnings: Vec<String>,
    /// The rows it was tested on, as indices into [`Evaluation::test_rows`]; plans on one split share them.
    pub rows: Arc<[usize]>,
    /// The predicted class of each, as a code; see [`Evaluation::predictions`].
    pub predicted: Vec<usize>,
    /// Their probabilities, rows x classes, if the plan requested them.
    pub probabilities: Option<Matrix>,
}

/// The predicted numbers of a split.
#[derive(Clone, Debug)]
pub struct NumberFold {
    /// Their metrics.
    pub metrics: NumberMetrics,
    /// The prediction for each test row and number.
    pub predicted: Matrix,
    /// Its standard deviation, for methods that have one.
    pub deviations: Option<Matrix>,
}

/// The predicted risks of a split.
#[derive(Clone, Debug)]
pub struct TimeFold {
    /// Their metrics.
    pub metrics: TimeMetrics,
    /// The log risk of each test row.
    pub risks: Vec<f64>,
}

impl Fold {
    /// The metrics of classes, if classes are predicted.
    pub fn classes(&self) -> Option<&Metrics> {
        (self.numbers.is_none() && self.times.is_none()).then_some(&self.metrics)
    }

    /// The figure that methods are compared by: accuracy for classes, R2 for numbers, concordance for times.
    pub fn score(&self) -> f64 {
        match (&self.numbers, &self.times) {
            (Some(numbers), _) => numbers.metrics.r2,
            (_, Some(times)) => times.metrics.concordance,
            _ => self.metrics.accuracy,
        }
    }
}

/// One plan on the splits it finished.
#[derive(Clone, Debug)]
pub struct PlanResult {
    /// The method, with the views that take part if not all do.
    pub method: String,
    /// All settings of the plan.
    pub settings: BTreeMap<String, String>,
    /// Number of kernels.
    pub n_kernels: usize,
    /// Names of the kernels; widths derived from the rows are those of the first split.
    pub kernel_names: Vec<String>,
    /// The kernels on each single view; empty for data without views.
    pub views: Vec<KernelsOfView>,
    /// One entry per finished split: all of them, unless the evaluation was stopped.
    pub folds: Vec<Fold>,
}

/// Mean and sample standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The sample standard deviation; `None` for a single value.
    pub std: Option<f64>,
}

impl Spread {
    /// Mean and standard deviation of the values; `None` if there are none.
    pub fn of(values: &[f64]) -> Option<Spread> {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let std = (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt());
        (!values.is_empty()).then_some(Spread { mean, std })
    }
}

impl PlanResult {
    /// The result of a plan that has not started.
    pub(super) fn of(plan: &Plan) -> PlanResult {
        PlanResult {
            method: plan.title(),
            settings: plan.settings(),
            n_kernels: 0,
            kernel_names: vec![],
            views: vec![],
            folds: vec![],
        }
    }

    /// Mean and spread over splits of one figure; splits that lack it are left out.
    pub fn spread(&self, figure: impl Fn(&Fold) -> Option<f64>) -> Option<Spread> {
        Spread::of(&self.folds.iter().filter_map(figure).collect::<Vec<_>>())
    }

    /// Confusion counts summed over splits, `[true][predicted]`.
    pub fn confusion(&self) -> Vec<Vec<u64>> {
        let mut sum: Vec<Vec<u64>> = vec![];
        for fold in &self.folds {
            let counts = &fold.metrics.confusion;
            sum.resize(counts.len(), vec![0; counts.len()]);
            for (sum, counts) in sum.iter_mut().flatten().zip(counts.iter().flatten()) {
                *sum += counts;
            }
        }
        sum
    }

    /// The mean accuracy over splits; NaN if there are none, or numbers are predicted.
    pub fn accuracy(&self) -> f64 {
        self.spread(|fold| Some(fold.classes()?.accuracy)).map_or(f64::NAN, |spread| spread.mean)
    }
}

/// The test rows of an evaluation: those of the data, or of the test set.
#[derive(Clone, Debug, PartialEq)]
pub struct TestRows {
    /// The code of each row's true class; of its stratum where numbers are predicted.
    pub labels: Vec<usize>,
    /// What is predicted, with the true numbers.
    pub target: Target,
    /// Their ids, if they have any.
    pub ids: Option<Vec<String>>,
    /// The name of the id column, if it has one.
    pub id_name: Option<String>,
    /// The row number of each in its file, counted from 1 and without the header.
    pub numbers: Vec<usize>,
}

impl TestRows {
    pub(super) fn of(data: &Dataset) -> TestRows {
        TestRows {
            labels: data.labels.codes().to_vec(),
            target: data.target.clone(),
            ids: data.samples.ids().map(<[String]>::to_vec),
            id_name: data.samples.id_name().map(str::to_string),
            numbers: (0..data.samples.n_samples()).map(|row| data.samples.row_number(row)).collect(),
        }
    }
}

/// The results of an evaluation.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// Name of the data.
    pub dataset: String,
    /// Rows, features, classes (0 where numbers are predicted).
    pub shape: (usize, usize, usize),
    /// Class names; none where numbers are predicted.
    pub classes: Vec<String>,
    /// The label column: its name, or its position in a file without names.
    pub label: Option<String>,
    /// The protocol, described in words.
    pub protocol: String,
    /// The seed of the splits; each plan has its own, in its settings.
    pub seed: u64,
    /// Number of splits requested; results have fewer if it was stopped.
    pub n_splits: usize,
    /// Why and where it was stopped; `None` if it finished.
    pub stopped: Option<String>,
    /// Remarks on the splits, such as classes with too few rows for them.
    pub warnings: Vec<String>,
    /// The rows that were tested on.
    pub test_rows: TestRows,
    /// One entry per plan.
    pub results: Vec<PlanResult>,
    /// Differences in accuracy (R2 for numbers) for all pairs of plans, or between the first and each of the others if those use
    /// different views; each over the splits that both finished, pairs without any left out.
    pub paired: Vec<Paired>,
    /// The same differences in AUROC; empty if a split has no AUROC.
    pub paired_auroc: Vec<Paired>,
}

impl Evaluation {
    /// What was predicted.
    pub fn target(&self) -> TargetKind {
        self.test_rows.target.kind()
    }

    /// The figure that methods are compared by.
    pub fn score_name(&self) -> &'static str {
        match self.target() {
            TargetKind::Classes => "accuracy",
            TargetKind::Numbers => "R2",
            TargetKind::Times => "concordance",
        }
    }
}
