//! Cross-validation: the same splits for every plan, everything learned from training rows only.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use super::metrics::Metrics;
use super::numbers::NumberMetrics;
use super::paired::{Paired, compare_common};
use super::rare::rare_classes;
use super::result::{Evaluation, Fold, NumberFold, PlanResult, TestRows, TimeFold};
use super::side_by_side::Limits;
use super::times::{TimeMetrics, concordance, grid, integrated_brier};
use super::watch::Watch;
use crate::data::{Dataset, Numbers, Samples, Split, Target, TargetKind, Times, folds_by_group, repeats_by_group};
use crate::error::{Error, Result};
use crate::plan::{Model, Plan, Prepared, Session};
use crate::pool::Pool;
use crate::run::{Control, KernelsOfView, Observer, Progress, seconds_in_words};

/// Confidence level of the paired intervals.
pub const LEVEL: f64 = 0.95;

/// How rows are split into training and test parts.
#[derive(Clone, Debug)]
pub enum Protocol {
    /// Stratified cross-validation with this many folds.
    Folds(usize),
    /// Repeated stratified splits.
    Repeats {
        /// Number of repeats.
        n_repeats: usize,
        /// Share of rows to train on.
        train_fraction: f64,
    },
    /// Train on all rows, test on these.
    Test(Box<Dataset>),
}

/// Evaluates plans on the same splits. All learning, including scaling and medians, sees training rows only. A stop
/// request keeps every plan on every split that was finished; if there is none, the error says how far the first fit
/// got. A session with a checkpoint is rejected: a checkpoint belongs to one run, and this makes many.
///
/// ```
/// use multikernel::{Plan, Pool, data::bundled, evaluate::{Protocol, evaluate}, plan::Session, run::Silent};
/// let data = bundled("sonar")?;
/// let plans = [Plan::new("majority")?, Plan::new("svm")?];
/// let pool = Pool::new(1)?;
/// let found = evaluate(&data, &plans, &Protocol::Folds(3), 0, &mut Session::new(&pool, &mut Silent))?;
/// assert_eq!(found.results[1].folds.len(), 3);
/// assert!(found.paired[0].difference < 0.0, "majority is below svm");
/// assert_eq!(found.predictions().count(), 2 * 208, "each row once by each method");
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
    let cut = Cut::new(data, plans, protocol, seed)?;
    cut.warnings().iter().for_each(|warning| session.observer.note(&format!("warning: {warning}")));
    let mut found = cut.finished();
    let stopped = cut.all_splits(session, &mut found)?;
    session.observer.phase("");
    cut.evaluation(found, stopped)
}

/// An evaluation cut into splits.
pub(super) struct Cut<'a> {
    data: &'a Dataset,
    pub(super) plans: &'a [Plan],
    protocol: &'a Protocol,
    seed: u64,
    pub(super) splits: Vec<Split>,
    /// The protocol in words.
    pub(super) words: String,
}

impl<'a> Cut<'a> {
    pub(super) fn new(data: &'a Dataset, plans: &'a [Plan], protocol: &'a Protocol, seed: u64) -> Result<Cut<'a>> {
        // Before rows are dealt out: messages name rows of the data, not of a split.
        plans.iter().try_for_each(|plan| plan.check_target(data))?;
        plans.iter().try_for_each(|plan| plan.check(&data.samples))?;
        let (splits, words) = splits(data, protocol, seed)?;
        Ok(Cut { data, plans, protocol, seed, splits, words })
    }

    /// Remarks on the splits.
    fn warnings(&self) -> Vec<String> {
        let rare = match self.protocol {
            _ if self.data.target != Target::Classes => None,
            Protocol::Folds(k) => rare_classes(&self.data.labels, &self.splits, Some(*k)),
            Protocol::Repeats { .. } => rare_classes(&self.data.labels, &self.splits, None),
            Protocol::Test(_) => None,
        };
        rare.into_iter().collect()
    }

    /// The results before anything is done.
    pub(super) fn finished(&self) -> FinishedFits {
        FinishedFits { results: self.plans.iter().map(PlanResult::of).collect(), sizes: vec![] }
    }

    /// The training and test rows of a split, and the indices of the latter.
    pub(super) fn rows(&self, split: usize) -> (Dataset, Dataset, Arc<[usize]>) {
        let parts = &self.splits[split];
        match self.protocol {
            Protocol::Test(test) => (self.data.clone(), test.as_ref().clone(), (0..test.samples.n_samples()).collect()),
            _ => (self.data.select(&parts.train), self.data.select(&parts.test), Arc::from(parts.test.as_slice())),
        }
    }

    /// What is predicted, and the number of classes if they are.
    pub(super) fn target(&self) -> (&Target, usize) {
        let tested = if let Protocol::Test(test) = self.protocol { test } else { self.data };
        (&tested.target, tested.labels.n_classes())
    }

    /// The numbers of training and test rows of a split, and which the latter are.
    pub(super) fn sizes(&self, split: usize) -> ([usize; 2], Vec<usize>) {
        let parts = &self.splits[split];
        match self.protocol {
            Protocol::Test(test) => {
                let n = test.samples.n_samples();
                ([self.data.samples.n_samples(), n], (0..n).collect())
            }
            _ => ([parts.train.len(), parts.test.len()], parts.test.clone()),
        }
    }

    /// Some plans, one after another, on one split.
    pub(super) fn run(
        &self,
        split: usize,
        train: &Dataset,
        test: &Dataset,
        plans: Range<usize>,
        session: &mut Session<'_>,
        keep: &mut dyn FnMut(Model, Fold),
    ) -> Result<()> {
        plan_by_plan(split, train, test, &self.plans[plans], session, keep)
    }

    /// All results with their comparisons.
    pub(super) fn evaluation(&self, found: FinishedFits, stopped: Option<String>) -> Result<Evaluation> {
        let data = self.data;
        let (paired, paired_auroc) = found.compared(self.plans)?;
        let classes = if data.target == Target::Classes { data.labels.classes().to_vec() } else { vec![] };
        Ok(Evaluation {
            dataset: data.name.clone(),
            shape: (data.samples.n_samples(), data.samples.n_features(), classes.len()),
            classes,
            label: data.label_name.clone().or_else(|| data.label_column.clone()),
            protocol: self.words.clone(),
            seed: self.seed,
            n_splits: self.splits.len(),
            stopped,
            warnings: self.warnings(),
            test_rows: TestRows::of(if let Protocol::Test(test) = self.protocol { test } else { data }),
            results: found.results,
            paired,
            paired_auroc,
        })
    }
}

/// The results so far: for each plan the splits it finished, and for each split its numbers of training and test rows.
pub(super) struct FinishedFits {
    results: Vec<PlanResult>,
    pub(super) sizes: Vec<(usize, usize)>,
}

impl FinishedFits {
    /// Keeps a fold of a plan, with the kernels of its model.
    pub(super) fn keep(&mut self, plan: usize, names: Vec<String>, views: Vec<KernelsOfView>, fold: Fold) {
        let result = &mut self.results[plan];
        if result.folds.is_empty() {
            (result.n_kernels, result.kernel_names, result.views) = (names.len(), names, views);
        }
        result.folds.push(fold);
    }

    /// Paired differences in accuracy (R2 for numbers) and in AUROC.
    fn compared(&self, plans: &[Plan]) -> Result<(Vec<Paired>, Vec<Paired>)> {
        let names: Vec<String> = self.results.iter().map(|result| result.method.clone()).collect();
        let values = |figure: fn(&Fold) -> Option<f64>| -> Vec<Vec<Option<f64>>> {
            let on = |result: &PlanResult, split| result.folds.iter().find(|fold| fold.split == split).and_then(figure);
            let row = |result| (0..self.sizes.len()).map(|split| on(result, split)).collect();
            self.results.iter().map(row).collect()
        };
        let with_first = plans.iter().any(Plan::is_part);
        let pairs = || {
            let n = names.len();
            (0..n).flat_map(move |a| (a + 1..n).map(move |b| (a, b))).filter(move |&(a, _)| a == 0 || !with_first)
        };
        let compared = |figure| compare_common(pairs(), &names, &values(figure), &self.sizes, LEVEL);
        let has_auroc = self.results.iter().flat_map(|result| &result.folds).all(|fold| fold.metrics.auroc.is_some());
        let in_auroc = if has_auroc { compared(|fold| fold.metrics.auroc)? } else { vec![] };
        Ok((compared(|fold| Some(fold.score()))?, in_auroc))
    }
}

impl Cut<'_> {
    /// Runs all plans on one split after another; returns why and where it was stopped, if it was.
    fn all_splits(&self, session: &mut Session<'_>, found: &mut FinishedFits) -> Result<Option<String>> {
        let (start, plans, n_splits) = (Instant::now(), self.plans, self.splits.len());
        let control = session.control.clone();
        let mut watch = Watch::new(&mut *session.observer);
        for split in 0..n_splits {
            watch.phase("splits");
            watch.progress(&Progress::of(split, n_splits));
            let (train, test, rows) = self.rows(split);
            found.sizes.push((train.samples.n_samples(), test.samples.n_samples()));
            let (mut done, mut began) = (0, Instant::now());
            let mut keep = |model: Model, fold: Fold| {
                let kernels = model.kernels();
                found.keep(done, kernels.names(), kernels.by_view().to_vec(), Fold { rows: Arc::clone(&rows), ..fold });
                (done, began) = (done + 1, Instant::now());
            };
            let (pool, memory, control) = (session.pool, session.memory, control.clone());
            let mut inner = Session { pool, control: control.clone(), observer: &mut watch, checkpoint: None, memory };
            match self.run(split, &train, &test, 0..plans.len(), &mut inner, &mut keep) {
                Err(Error::Stopped(_)) => {
                    let far = watch.far(plans.get(done).map_or("", Plan::name), began.elapsed());
                    return self.stopped_at(split, done, &far, &control, found).map(Some);
                }
                done => done?,
            }
            if split == 0 {
                tell_pace(start.elapsed().as_secs_f64(), n_splits, &control, &mut watch);
                if self.is_small(pool) {
                    return self.side_by_side(1, &Limits { pool, memory, control }, &mut watch, found);
                }
            }
        }
        Ok(None)
    }

    /// Why and where an evaluation ended: in a split of which `done` plans are done, the next one that far. An error if
    /// there is nothing to show.
    pub(super) fn stopped_at(
        &self,
        split: usize,
        done: usize,
        far: &str,
        control: &Control,
        found: &FinishedFits,
    ) -> Result<String> {
        let why = control.stop().map_or("stopped".into(), |stop| stop.to_string());
        let at = self.plans.get(done).map_or(String::new(), Plan::title);
        if found.results.iter().all(|result| result.folds.is_empty()) {
            return Err(Error::Stopped(format!(
                "{why}, and nothing was measured: the first fit, of `{at}`, {far}; {}",
                advice(control)
            )));
        }
        Ok(format!("{why} in split {} of {}: the fit of `{at}` {far}", split + 1, self.splits.len()))
    }
}

/// What to do if not even one fit finishes in time.
fn advice(control: &Control) -> String {
    let time = control.seconds_left().map_or("give it more time", |_| "raise the time limit");
    format!("{time}, give fewer rows or kernels, or choose a faster method")
}

/// After the first split: how long all splits will take, if that is long, and whether the time limit allows for it.
fn tell_pace(seconds: f64, n_splits: usize, control: &Control, observer: &mut dyn Observer) {
    let all = seconds * n_splits as f64;
    let pace = format!("{n_splits} splits will take about {} at the pace of the first", seconds_in_words(all));
    match control.seconds_left() {
        Some(left) if n_splits > 1 && left < all - seconds => {
            let n = 1 + (left / seconds) as usize;
            observer.note(&format!("{pace}; the time limit ends it after about {n}, with what was measured so far"));
        }
        _ if n_splits > 1 && all > 60.0 => observer.talk(&pace),
        _ => {}
    }
}

fn splits(data: &Dataset, protocol: &Protocol, seed: u64) -> Result<(Vec<Split>, String)> {
    Ok(match protocol {
        Protocol::Folds(k) => {
            let splits = folds_by_group(&data.labels, data.groups.as_deref(), *k, seed)?;
            (splits, format!("{k}-fold {}cross-validation{}", stratified(data), by_groups(data)))
        }
        Protocol::Repeats { n_repeats, train_fraction } => {
            let splits = repeats_by_group(&data.labels, data.groups.as_deref(), *n_repeats, *train_fraction, seed)?;
            let (train, test) = splits.first().map_or((0, 0), |split| (split.train.len(), split.test.len()));
            let kind = stratified(data);
            let words = format!("{n_repeats} {kind}splits, {train} rows to train and {test} to test");
            (splits, words + &by_groups(data))
        }
        Protocol::Test(test) => {
            check_test(data, test)?;
            (vec![Split { train: vec![], test: vec![] }], format!("trained on all rows, tested on {}", test.name))
        }
    })
}

/// How rows are dealt to splits.
fn stratified(data: &Dataset) -> &'static str {
    match data.target.kind() {
        TargetKind::Classes | TargetKind::Times => "stratified ",
        // Quantiles of the numbers are dealt evenly, which is a random split to most readers.
        TargetKind::Numbers => "",
    }
}

/// Whether the test rows have the classes of the training rows, or the same numbers.
fn check_test(train: &Dataset, test: &Dataset) -> Result<()> {
    let names = |data: &Dataset| data.target.numbers().map(|numbers| numbers.names().join(", "));
    if train.target.kind() != test.target.kind() || names(train) != names(test) {
        let shown = |data: &Dataset| names(data).unwrap_or_else(|| data.target.kind().to_string());
        return Err(Error::input(format!(
            "the test data are of {}, the training data of {}; they must be the same",
            shown(test),
            shown(train)
        )));
    }
    if train.target != Target::Classes {
        return Ok(());
    }
    if test.labels.classes() == train.labels.classes() {
        return Ok(());
    }
    Err(Error::input(format!(
        "the test data have the classes {}, the training data {}; they must be the same",
        test.labels.classes().join(", "),
        train.labels.classes().join(", ")
    )))
}

/// The protocol's wording for groups that stay together.
fn by_groups(data: &Dataset) -> String {
    let Some(groups) = &data.groups else { return String::new() };
    let n = groups.iter().collect::<std::collections::BTreeSet<_>>().len();
    let name = data.group_name.as_ref().map_or(String::new(), |name| format!(" of {name}"));
    format!(", {n} groups{name} kept together")
}

/// Trains every plan on `train` and tests it on `test`: one split, with the models that [`evaluate`] does not keep.
/// Classes must be the same on both sides. Plans with the same kernels share them. One entry per plan, in order; if
/// stopped before the last is done, an [`Error::Stopped`].
///
/// ```
/// use multikernel::{Plan, Pool, data::{bundled, repeats}, evaluate::train_and_test, plan::Session, run::Silent};
/// let data = bundled("sonar")?;
/// let halves = &repeats(&data.labels, 1, 0.5, 0)?[0];
/// let (train, test) = (data.select(&halves.train), data.select(&halves.test));
/// let pool = Pool::new(1)?;
/// let found = train_and_test(&train, &test, &[Plan::new("svm")?], &mut Session::new(&pool, &mut Silent))?;
/// let (model, fold) = &found[0];
/// assert_eq!(model.predict(&test.samples)?.labels, fold.predicted);
/// assert!(fold.metrics.accuracy > 0.7);
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn train_and_test(
    train: &Dataset,
    test: &Dataset,
    plans: &[Plan],
    session: &mut Session<'_>,
) -> Result<Vec<(Model, Fold)>> {
    check_test(train, test)?;
    let mut found = vec![];
    plan_by_plan(0, train, test, plans, session, &mut |model, fold| found.push((model, fold)))?;
    Ok(found)
}

/// One plan after another on one split; each is handed over as soon as it is done. A fit stopped half-way is an
/// [`Error::Stopped`], like one stopped before it learned anything.
fn plan_by_plan(
    split: usize,
    train: &Dataset,
    test: &Dataset,
    plans: &[Plan],
    session: &mut Session<'_>,
    keep: &mut dyn FnMut(Model, Fold),
) -> Result<()> {
    let stopped = |stop: &str| Error::Stopped(format!("{stop} before the first split was done; nothing was measured"));
    let mut prepared: Option<Prepared<'_>> = None;
    for plan in plans {
        if let Some(stop) = session.control.stop() {
            return Err(stopped(&stop.to_string()));
        }
        // Plans with the same bank share one stack; each is charged for it, as if it had run alone.
        if !prepared.as_ref().is_some_and(|ready| plan.can_use(ready)) {
            // Dropped before the next is built: two stacks at once could take twice the memory allowed.
            prepared = None;
        }
        let ready = match &prepared {
            Some(ready) => ready,
            None => prepared.insert(plan.prepare(train, session)?),
        };
        let start = Instant::now();
        let model = plan.fit(ready, session)?;
        if !model.training().is_finished() {
            return Err(stopped("stopped"));
        }
        let train_seconds = ready.seconds(plan.uses_kernels()) + start.elapsed().as_secs_f64();
        session.observer.phase("predicting");
        let stop = || session.control.stop().is_some();
        let mut fold = test_fold(split, &model, train_seconds, (train, test), session.pool, &stop)?;
        if plan.wants_proba() {
            let probabilities = model.probabilities_until(&test.samples, session.pool, &stop)?;
            fold.metrics = fold.metrics.with_probabilities(test.labels.codes(), &probabilities)?;
            fold.probabilities = Some(probabilities);
        }
        keep(model, fold);
    }
    Ok(())
}

fn test_fold(
    split: usize,
    model: &Model,
    train_seconds: f64,
    (train, test): (&Dataset, &Dataset),
    pool: &Pool,
    stop: &dyn Fn() -> bool,
) -> Result<Fold> {
    let start = Instant::now();
    let numbers =
        test.target.numbers().map(|truth| number_fold(model, &test.samples, truth, pool, stop)).transpose()?;
    let times = match (train.target.times(), test.target.times()) {
        (Some(known), Some(truth)) => Some(time_fold(model, known, &test.samples, truth, pool, stop)?),
        _ => None,
    };
    let (metrics, predicted) = match test.target {
        Target::Numbers(_) | Target::Times(_) => (Metrics::of_confusion(vec![]), vec![]),
        Target::Classes => {
            let prediction = model.predict_until(&test.samples, pool, stop)?;
            let (truth, n_classes) = (test.labels.codes(), test.labels.n_classes());
            let metrics = Metrics::new(truth, &prediction.labels, Some(&prediction.scores), n_classes)?;
            (metrics, prediction.labels)
        }
    };
    let predict_seconds = start.elapsed().as_secs_f64();
    Ok(Fold {
        split,
        metrics,
        numbers,
        times,
        train_seconds,
        predict_seconds,
        weights: model.kernels().weights().map(<[f64]>::to_vec),
        shares: model.kernels().shares().map(<[f64]>::to_vec),
        chosen: model.training().chosen().map(str::to_string),
        warnings: model.training().warnings(),
        rows: (0..test.samples.n_samples()).collect(),
        predicted,
        probabilities: None,
    })
}

fn time_fold(
    model: &Model,
    known: &Times,
    samples: &Samples,
    truth: &Times,
    pool: &Pool,
    stop: &dyn Fn() -> bool,
) -> Result<TimeFold> {
    let times = model.times().ok_or_else(|| Error::input("the model predicts no times, which the test rows have"))?;
    let risks = times.risks_until(samples, pool, stop)?;
    let grid = grid(truth);
    let survival = times.survival_of(&risks, &grid)?;
    let metrics = TimeMetrics {
        concordance: concordance(truth, &risks).unwrap_or(f64::NAN),
        integrated_brier: integrated_brier(known, truth, &survival, &grid)?,
    };
    Ok(TimeFold { metrics, risks })
}

fn number_fold(
    model: &Model,
    samples: &Samples,
    truth: &Numbers,
    pool: &Pool,
    stop: &dyn Fn() -> bool,
) -> Result<NumberFold> {
    let numbers =
        model.numbers().ok_or_else(|| Error::input("the model predicts classes, the test rows have numbers"))?;
    let predicted = numbers.predict_until(samples, pool, stop)?;
    let deviations = numbers.deviations_until(samples, pool, stop)?;
    let metrics = NumberMetrics::new(truth.values(), &predicted, deviations.as_ref())?;
    Ok(NumberFold { metrics, predicted, deviations })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Heard {
        notes: Vec<String>,
        talk: Vec<String>,
    }

    impl Observer for Heard {
        fn note(&mut self, text: &str) {
            self.notes.push(text.into());
        }

        fn talk(&mut self, text: &str) {
            self.talk.push(text.into());
        }
    }

    #[test]
    fn pace_of_the_first_split_tells_whether_the_time_limit_can_be_kept() {
        let mut heard = Heard::default();
        let hour = Control::default().with_max_seconds(3600.0).unwrap();
        tell_pace(1000.5, 5, &hour, &mut heard);
        let expected = "5 splits will take about 1 h 23 min at the pace of the first; the time limit ends it after about 4, \
                        with what was measured so far";
        assert_eq!(heard.notes, [expected]);
        // A long run without a limit is reported only at a terminal; a short one, or a single split, not at all.
        tell_pace(1000.0, 5, &Control::default(), &mut heard);
        tell_pace(1.0, 5, &hour, &mut heard);
        tell_pace(9000.0, 1, &hour, &mut heard);
        assert_eq!((heard.notes.len(), heard.talk.len()), (1, 1));
    }
}
