//! Inner cross-validation: scores of training rows by models that did not see them, to choose parameters and to learn
//! probabilities. Rows, kernels and their scaling are those of the outer training part; nothing is computed anew.

use std::collections::BTreeMap;

use crate::data::{Split, inner_folds};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::run::{AnyMethod, Control, Input, Params, Predict, Rows, Runner, Silent, Stop, Task};
use crate::simd::ln;

/// Folds of an inner cross-validation; fewer where a class or the groups have fewer rows.
const FOLDS: usize = 5;

/// What inner folds are dealt for, so that no two jobs share their folds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Deal {
    /// To choose parameters.
    Tune,
    /// To choose among kernels, inside a method.
    Choose,
    /// To learn probabilities.
    Calibrate,
}

/// The inner folds of a task.
pub(super) fn folds(task: &Task<'_>, deal: Deal) -> Result<Vec<Split>> {
    // Streams far from those of outer splits, which count from 0.
    let stream = (1 << 40) + deal as u64;
    inner_folds(task.labels, task.groups, FOLDS, task.seed, stream)
}

/// What is wanted of the models of inner folds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Want {
    /// See [`Predict::scores`].
    Scores,
    /// See [`Predict::margins`].
    Margins,
    /// See [`Predict::probabilities`].
    Probabilities,
}

impl Want {
    fn of(self, model: &dyn Predict, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        match self {
            Want::Scores => model.scores(input, pool),
            Want::Margins => model.margins(input, pool),
            Want::Probabilities => model
                .probabilities(input, pool)?
                .ok_or_else(|| Error::input("this method has no probabilities to choose its parameters by")),
        }
    }
}

/// The scores or margins (n_samples x n_classes) of all rows, each by a model trained without its fold, for each of some
/// settings of the parameters. A fold goes from one setting to the next from where it stands.
pub(super) fn held_out(
    want: Want,
    method: &dyn AnyMethod,
    settings: &[Params],
    task: &Task<'_>,
    folds: &[Split],
    control: &Control,
) -> Result<Vec<Matrix>> {
    let mut scores = vec![Matrix::zeros(task.n_samples(), task.labels.n_classes()); settings.len()];
    let found = task.pool.map(folds.len(), |f| one_fold(want, method, settings, task, &folds[f], control));
    for (fold, found) in folds.iter().zip(found) {
        for (scores, found) in scores.iter_mut().zip(found?) {
            for (&i, row) in fold.test.iter().zip(found.rows()) {
                scores.row_mut(i).copy_from_slice(row);
            }
        }
    }
    Ok(scores)
}

fn one_fold(
    want: Want,
    method: &dyn AnyMethod,
    settings: &[Params],
    task: &Task<'_>,
    split: &Split,
    control: &Control,
) -> Result<Vec<Matrix>> {
    let labels = task.labels.select(&split.train);
    let groups = task.groups.map(|groups| split.train.iter().map(|&i| groups[i]).collect::<Vec<_>>());
    let inner = Task { labels: &labels, groups: groups.as_deref(), ..*task };
    match task.input {
        Input::Stack(stack) => {
            // Looking for each value of a view takes longer than most methods take to learn from it.
            let part = stack.view(&split.train)?.compact(task.pool)?;
            each_setting(method, settings, &Task { input: Input::Stack(&part), ..inner }, control, |model| {
                let points: Vec<usize> = model.points().iter().map(|&i| split.train[i]).collect();
                let cross = stack.between(&split.test, &points)?;
                let cross = match model.kernels() {
                    Some(kernels) => cross.pick(&kernels)?,
                    None => cross,
                };
                want.of(model, Input::Stack(&cross), task.pool)
            })
        }
        Input::Rows(rows) => {
            let (train, test) = (rows.features().select_rows(&split.train), rows.features().select_rows(&split.test));
            let (train, test) = (Rows::new(&train, None), Rows::new(&test, None));
            each_setting(method, settings, &Task { input: Input::Rows(&train), ..inner }, control, |model| {
                want.of(model, Input::Rows(&test), task.pool)
            })
        }
    }
}

/// What `f` makes of the model of each setting of the parameters.
fn each_setting(
    method: &dyn AnyMethod,
    settings: &[Params],
    task: &Task<'_>,
    control: &Control,
    f: impl Fn(&dyn Predict) -> Result<Matrix>,
) -> Result<Vec<Matrix>> {
    let mut runner = Runner { control, observer: &mut Silent, checkpoint: None, identity: BTreeMap::new() };
    let mut found = Vec::with_capacity(settings.len());
    let mut next = None;
    for (k, params) in settings.iter().enumerate() {
        let state = match next.take() {
            Some(state) => state,
            None => method.start(None, task, params)?,
        };
        let driven = runner.drive(state, None, task, params)?;
        if driven.stop != Stop::Finished {
            return Err(Error::Stopped(format!(
                "{} during inner cross-validation, whose runs are not stored; nothing was learned: give it more time, or set the parameters that are auto",
                driven.stop
            )));
        }
        next = settings.get(k + 1).map(|params| driven.state.again(task, params)).transpose()?;
        found.push(f(driven.finish(task, params)?.model.as_ref())?);
    }
    Ok(found)
}

/// The share of rows whose first largest score is that of their class.
pub(super) fn accuracy(scores: &Matrix, codes: &[usize]) -> f64 {
    let right = scores.rows().zip(codes).filter(|(row, code)| crate::run::first_largest(row) == **code).count();
    right as f64 / codes.len().max(1) as f64
}

/// The probability that a wrong certainty is taken for, so that one row does not decide over all.
const LEAST: f64 = 1e-15;

/// Minus the mean logarithm of the probability of the right class.
pub(super) fn log_loss(probabilities: &Matrix, codes: &[usize]) -> f64 {
    let of = |(row, &code): (&[f64], &usize)| -ln(row[code].max(LEAST));
    probabilities.rows().zip(codes).map(of).sum::<f64>() / codes.len().max(1) as f64
}

/// The best of several settings of the parameters by held-out accuracy, or log-loss for methods that say so, the first of
/// equals, and the figure of each.
pub(super) fn tune(
    method: &dyn AnyMethod,
    candidates: &[Params],
    task: &Task<'_>,
    control: &Control,
) -> Result<(usize, Vec<f64>)> {
    let folds = folds(task, Deal::Tune)?;
    let codes = task.labels.codes();
    let by_loss = method.tunes_by_log_loss();
    let want = if by_loss { Want::Probabilities } else { Want::Scores };
    let held_out = held_out(want, method, candidates, task, &folds, control)?;
    let figure = |found: &Matrix| if by_loss { log_loss(found, codes) } else { accuracy(found, codes) };
    let found: Vec<f64> = held_out.iter().map(figure).collect();
    let gain = |k: usize| if by_loss { -found[k] } else { found[k] };
    let best = (0..found.len()).rev().max_by(|&a, &b| gain(a).total_cmp(&gain(b))).unwrap_or(0);
    Ok((best, found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::bundled;
    use crate::method::{Plan, Session};

    #[test]
    fn held_out_from_setting_to_setting_decides_as_each_begun_anew() {
        let data = bundled("ionosphere").unwrap().select(&(0..351).step_by(3).collect::<Vec<_>>());
        let pool = Pool::new(2).unwrap();
        for (method, tight) in [("average", "tol"), ("simplemkl", "gap"), ("level", "gap"), ("lpmkl", "gap")] {
            let plan = Plan::new(method).unwrap().set("c", "auto").unwrap().set(tight, "1e-5").unwrap();
            let prepared = plan.prepare(&data, &mut Session::new(&pool, &mut Silent)).unwrap();
            let input = Input::Stack(prepared.stack().unwrap());
            let task = Task { input, labels: &data.labels, groups: None, views: &[], seed: 1, pool: &pool };
            let (candidates, folds) = (plan.params().candidates(), folds(&task, Deal::Tune).unwrap());
            let scores = |settings: &[Params]| {
                held_out(Want::Scores, plan.method(), settings, &task, &folds, &Control::default()).unwrap()
            };
            let together = scores(&candidates);
            assert_eq!(together.len(), 5);
            for (params, together) in candidates.iter().zip(&together) {
                let alone = &scores(std::slice::from_ref(params))[0];
                let off = |(a, b): (&f64, &f64)| (a - b).abs() / (1.0 + b.abs());
                let worst = together.data().iter().zip(alone.data()).map(off).fold(0.0, f64::max);
                assert!(worst < 2e-2, "{method}, c = {}: decisions differ by {worst}", params.number("c"));
            }
        }
    }
}
