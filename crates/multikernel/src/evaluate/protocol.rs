//! Cross-validation: the same splits for every plan, everything learned on training rows only.

use std::time::Instant;

use super::metrics::Metrics;
use super::paired::{Paired, compare, compare_with_first};
use crate::data::{Dataset, Split, folds_by_group, repeats_by_group};
use crate::error::{Error, Result};
use crate::method::{Model, Plan, Prepared, Session};
use crate::run::{KernelsOfView, Progress};

/// Level of the paired intervals.
pub const LEVEL: f64 = 0.95;

/// How rows are split into training and test parts.
#[derive(Clone, Debug)]
pub enum Protocol {
    /// Stratified cross-validation with this many folds.
    Folds(usize),
    /// Repeated stratified splits.
    Repeats {
        /// How many.
        n_repeats: usize,
        /// Share of rows to train on.
        train_fraction: f64,
    },
    /// Train on all rows, test on these.
    Test(Box<Dataset>),
}

/// One plan on one split.
#[derive(Clone, Debug)]
pub struct Fold {
    /// Which split, counted from 0.
    pub split: usize,
    /// How good it was.
    pub metrics: Metrics,
    /// Seconds to train, kernels included.
    pub train_seconds: f64,
    /// Seconds to predict the test rows.
    pub predict_seconds: f64,
    /// Kernel weights, for methods that have them.
    pub weights: Option<Vec<f64>>,
    /// Each kernel's share of the decisions, for methods that have them.
    pub shares: Option<Vec<f64>>,
    /// What the model warns of.
    pub warnings: Vec<String>,
}

/// One plan on all splits.
#[derive(Clone, Debug)]
pub struct PlanResult {
    /// The method, with the views that take part if not all do.
    pub method: String,
    /// Everything the plan decided.
    pub settings: std::collections::BTreeMap<String, String>,
    /// Number of kernels.
    pub n_kernels: usize,
    /// What the kernels are called; widths that come from the rows are those of the first split.
    pub kernel_names: Vec<String>,
    /// The kernels on each single view; none for data without views.
    pub views: Vec<KernelsOfView>,
    /// One entry per split.
    pub folds: Vec<Fold>,
}

/// Mean and sample standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The sample standard deviation; none of one value.
    pub std: Option<f64>,
}

impl Spread {
    /// Of the values; `None` if there are none.
    pub fn of(values: &[f64]) -> Option<Spread> {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let std = (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt());
        (!values.is_empty()).then_some(Spread { mean, std })
    }
}

impl PlanResult {
    /// Mean and spread over splits of one figure; splits that lack it are left out.
    pub fn spread(&self, figure: impl Fn(&Fold) -> Option<f64>) -> Option<Spread> {
        Spread::of(&self.folds.iter().filter_map(figure).collect::<Vec<_>>())
    }
}

/// What an evaluation found.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// Name of the data.
    pub dataset: String,
    /// Rows, features, classes.
    pub shape: (usize, usize, usize),
    /// Class names.
    pub classes: Vec<String>,
    /// The protocol in words.
    pub protocol: String,
    /// The seed of the splits; each plan has its own, in its settings.
    pub seed: u64,
    /// Splits asked for; fewer are reported when it was stopped.
    pub n_splits: usize,
    /// One entry per plan.
    pub results: Vec<PlanResult>,
    /// Differences in accuracy of all pairs of plans, or of the first with each of the others if those have other views.
    pub paired: Vec<Paired>,
    /// The same differences in AUROC; none where a split has no AUROC.
    pub paired_auroc: Vec<Paired>,
}

/// Evaluates plans on the same splits. All learning, scaling and medians included, sees training rows only. A stop
/// request ends it after the last split that all plans finished. A session with a checkpoint is refused: a checkpoint
/// belongs to one run, and this makes many.
///
/// ```
/// use multikernel::{Plan, Pool, data::bundled, evaluate::{Protocol, evaluate}, method::Session, run::Silent};
/// let data = bundled("sonar")?;
/// let plans = [Plan::new("majority")?, Plan::new("svm")?];
/// let pool = Pool::new(1)?;
/// let found = evaluate(&data, &plans, &Protocol::Folds(3), 0, &mut Session::new(&pool, &mut Silent))?;
/// assert_eq!(found.results[1].folds.len(), 3);
/// assert!(found.paired[0].difference < 0.0, "majority is below svm");
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn evaluate(
    data: &Dataset,
    plans: &[Plan],
    protocol: &Protocol,
    seed: u64,
    session: &mut Session<'_>,
) -> Result<Evaluation> {
    if session.checkpoint.is_some() {
        return Err(Error::param("checkpoint", "an evaluation has many runs and no checkpoint; leave it out"));
    }
    plans.iter().try_for_each(|plan| plan.check(&data.samples))?;
    let (splits, words) = splits(data, protocol, seed)?;
    let mut results: Vec<PlanResult> = plans
        .iter()
        .map(|plan| PlanResult {
            method: plan.title(),
            settings: plan.settings(),
            n_kernels: 0,
            kernel_names: vec![],
            views: vec![],
            folds: vec![],
        })
        .collect();
    let mut sizes = (0.0, 0.0);
    let total = splits.len();
    for (split, (train, test)) in splits.into_iter().enumerate() {
        session.observer.phase("splits");
        session.observer.progress(&Progress::of(split, total));
        let (train, test) = match protocol {
            Protocol::Test(test) => (data.clone(), test.as_ref().clone()),
            _ => (data.select(&train), data.select(&test)),
        };
        match one_split(split, &train, &test, plans, session) {
            Ok(found) => {
                sizes = (sizes.0 + train.samples.n_samples() as f64, sizes.1 + test.samples.n_samples() as f64);
                for (result, (model, fold)) in results.iter_mut().zip(found) {
                    if result.folds.is_empty() {
                        result.n_kernels = model.kernels().len();
                        (result.kernel_names, result.views) = (model.kernel_names(), model.views().to_vec());
                    }
                    result.folds.push(fold);
                }
            }
            Err(Error::Stopped(_)) if split > 0 => break,
            Err(error) => return Err(error),
        }
    }
    session.observer.phase("");
    let done = results.first().map_or(0, |result| result.folds.len()).max(1) as f64;
    let names: Vec<String> = results.iter().map(|result| result.method.clone()).collect();
    let of = |figure: fn(&Fold) -> Option<f64>| -> Option<Vec<Vec<f64>>> {
        results.iter().map(|result| result.folds.iter().map(figure).collect()).collect()
    };
    let compare = if plans.iter().any(Plan::is_part) { compare_with_first } else { compare };
    let paired = |values: Option<Vec<Vec<f64>>>| match values {
        Some(values) => compare(&names, &values, sizes.0 / done, sizes.1 / done, LEVEL),
        None => Ok(vec![]),
    };
    let (paired, paired_auroc) =
        (paired(of(|fold| Some(fold.metrics.accuracy)))?, paired(of(|fold| fold.metrics.auroc))?);
    Ok(Evaluation {
        dataset: data.name.clone(),
        shape: (data.samples.n_samples(), data.samples.n_features(), data.labels.n_classes()),
        classes: data.labels.classes().to_vec(),
        protocol: words,
        seed,
        n_splits: total,
        results,
        paired,
        paired_auroc,
    })
}

type Parts = (Vec<usize>, Vec<usize>);

fn splits(data: &Dataset, protocol: &Protocol, seed: u64) -> Result<(Vec<Parts>, String)> {
    let parts = |splits: Vec<Split>| splits.into_iter().map(|split| (split.train, split.test)).collect();
    Ok(match protocol {
        Protocol::Folds(k) => {
            let splits = folds_by_group(&data.labels, data.groups.as_deref(), *k, seed)?;
            (parts(splits), format!("{k}-fold stratified cross-validation{}", by_groups(data)))
        }
        Protocol::Repeats { n_repeats, train_fraction } => {
            let splits = repeats_by_group(&data.labels, data.groups.as_deref(), *n_repeats, *train_fraction, seed)?;
            let (train, test) = splits.first().map_or((0, 0), |split| (split.train.len(), split.test.len()));
            let words = format!("{n_repeats} stratified splits, {train} rows to train and {test} to test");
            (parts(splits), words + &by_groups(data))
        }
        Protocol::Test(test) => {
            check_test(data, test)?;
            (vec![(vec![], vec![])], format!("trained on all rows, tested on {}", test.name))
        }
    })
}

/// Whether rows to test on have the classes of those to learn from.
pub(crate) fn check_test(train: &Dataset, test: &Dataset) -> Result<()> {
    if test.labels.classes() == train.labels.classes() {
        return Ok(());
    }
    Err(Error::input(format!(
        "the test data have the classes {}, the training data {}; they must be the same",
        test.labels.classes().join(", "),
        train.labels.classes().join(", ")
    )))
}

/// What a protocol says of groups that stay together.
fn by_groups(data: &Dataset) -> String {
    let Some(groups) = &data.groups else { return String::new() };
    let n = groups.iter().collect::<std::collections::BTreeSet<_>>().len();
    let name = data.group_name.as_ref().map_or(String::new(), |name| format!(" of {name}"));
    format!(", {n} groups{name} kept together")
}

/// All plans on one split.
pub(crate) fn one_split(
    split: usize,
    train: &Dataset,
    test: &Dataset,
    plans: &[Plan],
    session: &mut Session<'_>,
) -> Result<Vec<(Model, Fold)>> {
    let stopped = |stop: &str| Error::Stopped(format!("{stop} before the first split was done; nothing was measured"));
    let mut found = vec![];
    let mut prepared: Option<Prepared<'_>> = None;
    for plan in plans {
        if let Some(stop) = session.control.stop() {
            return Err(stopped(&stop.to_string()));
        }
        // Plans with one bank share one stack; each is charged for it, as if it had run alone.
        if !prepared.as_ref().is_some_and(|ready| ready.fits(plan)) {
            // Gone before the next is made: two stacks at once could be twice the memory allowed.
            prepared = None;
        }
        let ready = match &prepared {
            Some(ready) => ready,
            None => prepared.insert(plan.prepare(train, session)?),
        };
        let start = Instant::now();
        let model = plan.fit(ready, session)?;
        if !model.stop().0 {
            return Err(stopped("stopped"));
        }
        let train_seconds = ready.seconds(plan) + start.elapsed().as_secs_f64();
        let mut fold = test_fold(split, &model, train_seconds, test, session)?;
        if plan.wants_proba() {
            let probabilities = model.probabilities_in(&test.samples, session.pool)?;
            fold.metrics = fold.metrics.with_probabilities(test.labels.codes(), &probabilities)?;
        }
        found.push((model, fold));
    }
    Ok(found)
}

fn test_fold(split: usize, model: &Model, train_seconds: f64, test: &Dataset, session: &Session<'_>) -> Result<Fold> {
    let start = Instant::now();
    let prediction = model.predict_in(&test.samples, session.pool)?;
    let predict_seconds = start.elapsed().as_secs_f64();
    let (truth, n_classes) = (test.labels.codes(), test.labels.n_classes());
    let metrics = Metrics::new(truth, &prediction.labels, Some(&prediction.scores), n_classes)?;
    let (weights, shares) = (model.weights().map(<[f64]>::to_vec), model.shares().map(<[f64]>::to_vec));
    Ok(Fold { split, metrics, train_seconds, predict_seconds, weights, shares, warnings: model.warnings() })
}
