//! Inner cross-validation: scores of training rows by models that did not see them, to choose parameters and to learn
//! probabilities. Rows, kernels and their scaling are those of the outer training part; nothing is recomputed.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::{
    AnyState, Calibration, Control, Input, Needs, Observer, Params, Predict, Progress, Rows, Runner, Silent, Stop, Task,
};
use crate::data::{Split, Target, inner_folds};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::simd::ln;

/// Number of folds in an inner cross-validation; fewer where a class or the groups have fewer rows.
pub(crate) const FOLDS: usize = 5;

/// The purpose of the inner folds, so that no two purposes share folds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deal {
    /// To choose parameters.
    Tune,
    /// To choose among kernels, inside a method.
    Choose,
    /// To learn probabilities.
    Calibrate,
}

/// The inner folds of a task.
pub(crate) fn folds(task: &Task<'_>, deal: Deal) -> Result<Vec<Split>> {
    // Streams far from those of the outer splits, which count from 0.
    let stream = (1 << 40) + deal as u64;
    inner_folds(task.labels, task.groups, FOLDS, task.seed, stream)
}

/// Which output of the inner models is needed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Want {
    /// See [`Predict::scores`].
    Scores,
    /// See [`Predict::margins`].
    Margins,
    /// See [`Predict::probabilistic`]; the margins of models that have no probabilities.
    Probabilities,
}

impl Want {
    fn of(self, model: &dyn Predict, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        match self {
            Want::Scores => model.scores(input, pool),
            Want::Margins => model.margins(input, pool),
            Want::Probabilities => match model.probabilistic() {
                Some(model) => model.probabilities(input, pool),
                None => model.margins(input, pool),
            },
        }
    }
}

/// The models of the inner folds: which output, on which rows.
pub(crate) struct HeldOut<'a> {
    pub(crate) want: Want,
    pub(crate) task: &'a Task<'a>,
    pub(crate) folds: &'a [Split],
    pub(crate) control: &'a Control,
}

/// The result of one fold: the scores of its rows for each setting it finished, and why it stopped early, if it did.
struct FoldScores {
    of_settings: Vec<Matrix>,
    /// Whether the models have probabilities of their own.
    probabilistic: bool,
    stop: Stop,
}

/// Told what a fold has so far; whether it goes on.
type Scored<'a> = &'a (dyn Fn(&FoldScores) -> bool + Sync);

impl HeldOut<'_> {
    /// The scores or margins (n_samples x n_classes) of all rows, each by a model trained without its fold, for each
    /// setting of the parameters. Within a fold, each setting is warm-started from the previous one. `observer`
    /// receives the number of models finished.
    pub(crate) fn all(&self, settings: &[Params], observer: &mut dyn Observer) -> Result<Vec<Matrix>> {
        let found = self.each_fold(settings, observer)?;
        if let Some(fold) = found.iter().find(|fold| fold.stop != Stop::Finished) {
            return Err(Error::Stopped(format!(
                "{} during inner cross-validation, whose runs are not stored; nothing was learned: give it more time, or set the \
                 parameters that are auto",
                fold.stop
            )));
        }
        let mut scores = vec![Matrix::zeros(self.task.n_samples(), self.task.n_outputs()); settings.len()];
        for (fold, found) in self.folds.iter().zip(found) {
            for (scores, found) in scores.iter_mut().zip(found.of_settings) {
                fold.test.iter().zip(found.rows()).for_each(|(&i, row)| scores.row_mut(i).copy_from_slice(row));
            }
        }
        Ok(scores)
    }

    fn each_fold(&self, settings: &[Params], observer: &mut dyn Observer) -> Result<Vec<FoldScores>> {
        let total = self.folds.len() * settings.len();
        let told = Mutex::new((observer, 0));
        // Models run in parallel, so progress on one may wait for another, but not for long.
        let done = || {
            let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
            told.1 += 1;
            let progress = Progress::of(told.1, total);
            told.0.progress(&progress);
        };
        let scored = |_: &FoldScores| {
            done();
            true
        };
        let found = self.task.pool.map(self.folds.len(), |f| self.one_fold(&self.folds[f], settings, &scored));
        found.into_iter().collect()
    }

    /// The settings in turn on one fold. After each, `scored` says whether to go on.
    fn one_fold(&self, split: &Split, settings: &[Params], scored: Scored<'_>) -> Result<FoldScores> {
        let task = self.task;
        let (labels, target) = (task.labels.select(&split.train), task.target.select(&split.train));
        let groups = task.groups.map(|groups| split.train.iter().map(|&i| groups[i]).collect::<Vec<_>>());
        let inner = Task { labels: &labels, target: &target, groups: groups.as_deref(), ..*task };
        match task.input {
            Input::Stack(stack) => {
                // Indexing every value through a view takes longer than most methods need to learn from it; not so one that
                // reads its kernels once.
                let part = stack.view(&split.train)?;
                let part = if reads_once(settings) { Ok(part) } else { part.compact(task.pool) };
                let part = match part {
                    Err(Error::Stopped(_)) => {
                        return Ok(FoldScores { of_settings: vec![], probabilistic: false, stop: self.reason() });
                    }
                    part => part?,
                };
                self.each_setting(settings, &Task { input: Input::Stack(&part), ..inner }, scored, |model| {
                    let points: Vec<usize> = model.points().iter().map(|&i| split.train[i]).collect();
                    let cross = stack.between(&split.test, &points)?;
                    let cross = match model.kernels() {
                        Some(kernels) => cross.pick(&kernels)?,
                        None => cross,
                    };
                    self.want.of(model, Input::Stack(&cross), task.pool)
                })
            }
            Input::Rows(rows) => {
                let part = |of: &[usize]| rows.features().select_rows(of);
                let (train, test) = (part(&split.train), part(&split.test));
                let (train, test) = (Rows::new(&train, None), Rows::new(&test, None));
                self.each_setting(settings, &Task { input: Input::Rows(&train), ..inner }, scored, |model| {
                    self.want.of(model, Input::Rows(&test), task.pool)
                })
            }
        }
    }

    /// Applies `f` to the model of each setting in turn, until asked to stop.
    fn each_setting(
        &self,
        settings: &[Params],
        task: &Task<'_>,
        scored: Scored<'_>,
        f: impl Fn(&dyn Predict) -> Result<Matrix>,
    ) -> Result<FoldScores> {
        let mut runner =
            Runner { control: self.control, observer: &mut Silent, checkpoint: None, identity: BTreeMap::new() };
        let mut found =
            FoldScores { of_settings: Vec::with_capacity(settings.len()), probabilistic: false, stop: Stop::Finished };
        let mut next: Option<Box<dyn AnyState + '_>> = None;
        for (k, params) in settings.iter().enumerate() {
            let after = settings.get(k + 1).map(Params::method);
            let state = match next.take() {
                // The model would be that of the setting before.
                Some(state) if state.is_done() => {
                    found.of_settings.extend(found.of_settings.last().cloned());
                    next = after.map(|method| method.start_from(state.as_ref(), task)).transpose()?;
                    if !scored(&found) {
                        break;
                    }
                    continue;
                }
                Some(state) => state,
                None => params.method().start(None, task)?,
            };
            let scores = match runner.drive(state, None, task) {
                Ok(driven) if driven.stop != Stop::Finished => Err(Error::Stopped(driven.stop.to_string())),
                Ok(driven) => {
                    next = after.map(|method| method.start_from(driven.state.as_ref(), task)).transpose()?;
                    driven.finish(task).and_then(|run| {
                        found.probabilistic = run.model.probabilistic().is_some();
                        f(run.model.as_ref())
                    })
                }
                Err(error) => Err(error),
            };
            match scores {
                Err(Error::Stopped(_)) => return Ok(FoldScores { stop: self.reason(), ..found }),
                scores => found.of_settings.push(scores?),
            }
            if !scored(&found) {
                break;
            }
        }
        Ok(found)
    }

    fn reason(&self) -> Stop {
        self.control.stop().unwrap_or(Stop::Cancelled)
    }
}

/// Whether kernels are read once, by a single model.
fn reads_once(settings: &[Params]) -> bool {
    matches!(settings, [one] if one.method().about().needs == Needs::Pass)
}

/// The share of rows whose first largest score is that of their true class.
pub(crate) fn accuracy(scores: &Matrix, codes: &[usize]) -> f64 {
    let right = scores.rows().zip(codes).filter(|(row, code)| crate::run::first_largest(row) == **code).count();
    right as f64 / codes.len().max(1) as f64
}

/// Floor on probabilities, so that one confidently wrong row does not decide the outcome.
const MIN_PROBABILITY: f64 = 1e-15;

/// The negative log probability of the true class of each row.
pub(crate) fn log_losses(probabilities: &Matrix, codes: &[usize]) -> Vec<f64> {
    let of = |(row, &code): (&[f64], &usize)| -ln(row[code].max(MIN_PROBABILITY));
    probabilities.rows().zip(codes).map(of).collect()
}

/// Their mean.
pub(crate) fn log_loss(probabilities: &Matrix, codes: &[usize]) -> f64 {
    log_losses(probabilities, codes).iter().sum::<f64>() / codes.len().max(1) as f64
}

/// The log-loss of the probabilities that held-out margins give by a map learned on them, which has two numbers for each
/// class; infinite for margins that no map can be learned on.
pub(crate) fn calibrated_log_loss(margins: &Matrix, codes: &[usize]) -> f64 {
    Calibration::fit(margins, codes).map_or(f64::INFINITY, |map| log_loss(&map.free(margins), codes))
}

/// The mean squared difference between predicted numbers and true ones.
fn squared_error<'a>(predicted: &Matrix, truth: impl Iterator<Item = &'a [f64]>) -> f64 {
    let of_row = |(a, b): (&[f64], &[f64])| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    predicted.rows().zip(truth).map(of_row).sum::<f64>() / predicted.data().len().max(1) as f64
}

/// The result of comparing several settings on inner folds.
pub(crate) struct Tuned {
    /// The best setting; the first in a tie.
    pub(crate) best: usize,
    /// What settings were compared by: accuracy, log-loss, the squared error of standardised numbers, or a loss of the
    /// method's own.
    pub(crate) figure: &'static str,
    /// That of each setting that was scored.
    pub(crate) figures: Vec<f64>,
    /// How many rows they were scored on.
    pub(crate) n_scored: usize,
}

impl Tuned {
    /// What is the higher the better.
    fn gain(&self, setting: usize) -> f64 {
        if self.figure == "accuracy" { self.figures[setting] } else { -self.figures[setting] }
    }
}

/// The best of several settings by held-out accuracy, by log-loss for methods that tune by it, or by the squared error
/// of numbers, or a loss of the method's own. If time runs out first, the best of the settings that some folds have
/// scored, on the rows of those folds; `None` if there is none.
pub(crate) fn tune(
    candidates: &[Params],
    task: &Task<'_>,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<Option<Tuned>> {
    let folds = folds(task, Deal::Tune)?;
    let held_out = HeldOut { want: want(candidates, task), task, folds: &folds, control };
    let found = held_out.each_fold(candidates, observer)?;
    Ok(compared(candidates, task, &folds, &found).map(|tuned| Tuned { best: best_of(&tuned), ..tuned }))
}

/// The best setting; the first in a tie.
fn best_of(tuned: &Tuned) -> usize {
    (0..tuned.figures.len()).rev().max_by(|&a, &b| tuned.gain(a).total_cmp(&tuned.gain(b))).unwrap_or(0)
}

/// Less than this part of all that was gained before is not worth another step.
const WORTH: f64 = 0.1;

/// Settings from cheap to dear, on the first inner fold: the last one that gained more than a tenth of what those before
/// it gained together. Dearer ones than the first that did not are never run. `None` if time ran out before the first.
pub(crate) fn grow(
    candidates: &[Params],
    task: &Task<'_>,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<Option<Tuned>> {
    let fold = folds(task, Deal::Tune)?.swap_remove(0);
    in_turn(candidates, task, fold, control, observer, |tuned| {
        let is_worth =
            |k: usize, best: usize| tuned.gain(k) - tuned.gain(best) > WORTH * (tuned.gain(best) - tuned.gain(0));
        (1..tuned.figures.len()).fold(0, |best, k| if is_worth(k, best) { k } else { best })
    })
}

/// Rows that do to compare settings whose best value does not depend on how many there are.
pub(crate) const SOME: usize = 20_000;

/// The stream of random numbers that chooses them.
const DRAW: u64 = 9 << 41;

/// Settings from smooth to wiggly on the first inner fold, each begun where the one before it ended: the best before the
/// first that is worse. Of rows to train and to compare on, `most` each are drawn. For settings that cost too much to try
/// all of them on all folds. `None` if time ran out before the first.
pub(crate) fn descend(
    candidates: &[Params],
    task: &Task<'_>,
    most: usize,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<Option<Tuned>> {
    let mut fold = folds(task, Deal::Tune)?.swap_remove(0);
    for (rows, stream) in [(&mut fold.train, 0), (&mut fold.test, 1)] {
        if rows.len() > most {
            task.rng(DRAW, stream).shuffle(rows);
            rows.truncate(most);
            rows.sort_unstable();
        }
    }
    in_turn(candidates, task, fold, control, observer, best_of)
}

/// Settings in turn on one fold, until `best` names another than the last of those that were scored.
fn in_turn(
    candidates: &[Params],
    task: &Task<'_>,
    fold: Split,
    control: &Control,
    observer: &mut dyn Observer,
    best: impl Fn(&Tuned) -> usize + Sync,
) -> Result<Option<Tuned>> {
    let folds = [fold];
    let held_out = HeldOut { want: want(candidates, task), task, folds: &folds, control };
    let observer = Mutex::new(observer);
    let scored = |found: &FoldScores| {
        let Some(tuned) = compared(candidates, task, &folds, std::slice::from_ref(found)) else { return true };
        let last = tuned.figures.len() - 1;
        let progress = Progress::of(last + 1, candidates.len()).with(tuned.figure, tuned.figures[last]);
        observer.lock().unwrap_or_else(PoisonError::into_inner).progress(&progress);
        best(&tuned) == last
    };
    let found = held_out.one_fold(&folds[0], candidates, &scored)?;
    Ok(compared(candidates, task, &folds, &[found]).map(|tuned| Tuned { best: best(&tuned), ..tuned }))
}

fn want(candidates: &[Params], task: &Task<'_>) -> Want {
    if tunes_by_log_loss(candidates) && *task.target == Target::Classes { Want::Probabilities } else { Want::Scores }
}

fn tunes_by_log_loss(candidates: &[Params]) -> bool {
    candidates.first().is_some_and(|params| params.method().tunes_by_log_loss())
}

/// The figures of the settings that were scored, before one is chosen; `None` if there is none.
fn compared(candidates: &[Params], task: &Task<'_>, folds: &[Split], found: &[FoldScores]) -> Option<Tuned> {
    let (by_loss, has_classes) = (tunes_by_log_loss(candidates), *task.target == Target::Classes);
    // Settings are compared on the same rows: those of the folds that got furthest.
    let n_settings = found.iter().map(|fold| fold.of_settings.len()).max().unwrap_or(0);
    if n_settings == 0 {
        return None;
    }
    let furthest: Vec<usize> = (0..folds.len()).filter(|&f| found[f].of_settings.len() == n_settings).collect();
    let mut rows: Vec<(usize, usize, usize)> = vec![];
    for &f in &furthest {
        rows.extend(folds[f].test.iter().enumerate().map(|(at, &i)| (i, f, at)));
    }
    rows.sort_unstable();
    let codes: Vec<usize> = rows.iter().map(|&(i, ..)| task.labels.codes()[i]).collect();
    let probabilistic = furthest.iter().all(|&f| found[f].probabilistic);
    // A likelihood may compare rows with one another, which only those that one model has scored can be: fold by fold.
    let own = |k: usize| -> Option<(&'static str, f64)> {
        let (mut name, mut sum) = ("", 0.0);
        for &f in &furthest {
            let target = task.target.select(&folds[f].test);
            let (loss, value) = candidates[k].method().held_out_loss(&target, &found[f].of_settings[k])?;
            (name, sum) = (loss, sum + value);
        }
        Some((name, sum / rows.len().max(1) as f64))
    };
    let owns: Option<Vec<(&'static str, f64)>> = if has_classes { None } else { (0..n_settings).map(own).collect() };
    let figure = |k: usize| {
        if let Some(owns) = &owns {
            return owns[k].1;
        }
        let scores = Matrix::from_fn(rows.len(), task.n_outputs(), |r, c| {
            let (_, f, at) = rows[r];
            found[f].of_settings[k].get(at, c)
        });
        match (task.target, by_loss, probabilistic) {
            (Target::Numbers(numbers), ..) => {
                squared_error(&scores, rows.iter().map(|&(i, ..)| numbers.values().row(i)))
            }
            (_, true, true) => log_loss(&scores, &codes),
            (_, true, false) => calibrated_log_loss(&scores, &codes),
            (_, false, _) => accuracy(&scores, &codes),
        }
    };
    let figures: Vec<f64> = (0..n_settings).map(figure).collect();
    let figure = match (task.target, owns.as_deref()) {
        (_, Some([(name, _), ..])) => name,
        (Target::Numbers(_), _) => "squared error",
        _ if by_loss => "log-loss",
        _ => "accuracy",
    };
    Some(Tuned { best: 0, figure, figures, n_scored: rows.len() })
}
