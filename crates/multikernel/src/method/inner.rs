//! Inner cross-validation: scores of training rows by models that did not see them, to choose parameters and to learn
//! probabilities. Rows, kernels and their scaling are those of the outer training part; nothing is computed anew.

use std::collections::BTreeMap;

use crate::data::{Split, inner_folds};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::run::{AnyMethod, Control, Input, Params, Predict, Rows, Runner, Silent, Stop, Task};

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
}

impl Want {
    fn of(self, model: &dyn Predict, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        match self {
            Want::Scores => model.scores(input, pool),
            Want::Margins => model.margins(input, pool),
        }
    }
}

/// The scores or margins (n_samples x n_classes) of all rows, each by a model trained without its fold.
pub(super) fn held_out(
    want: Want,
    method: &dyn AnyMethod,
    params: &Params,
    task: &Task<'_>,
    folds: &[Split],
    control: &Control,
) -> Result<Matrix> {
    let mut scores = Matrix::zeros(task.n_samples(), task.labels.n_classes());
    let found = task.pool.map(folds.len(), |f| one_fold(want, method, params, task, &folds[f], control));
    for (fold, found) in folds.iter().zip(found) {
        for (&i, row) in fold.test.iter().zip(found?.rows()) {
            scores.row_mut(i).copy_from_slice(row);
        }
    }
    Ok(scores)
}

fn one_fold(
    want: Want,
    method: &dyn AnyMethod,
    params: &Params,
    task: &Task<'_>,
    split: &Split,
    control: &Control,
) -> Result<Matrix> {
    let labels = task.labels.select(&split.train);
    let groups = task.groups.map(|groups| split.train.iter().map(|&i| groups[i]).collect::<Vec<_>>());
    let inner = Task { labels: &labels, groups: groups.as_deref(), ..*task };
    match task.input {
        Input::Stack(stack) => {
            let part = stack.view(&split.train)?;
            let model = run(method, params, &Task { input: Input::Stack(&part), ..inner }, control)?;
            let points: Vec<usize> = model.points().iter().map(|&i| split.train[i]).collect();
            let cross = stack.between(&split.test, &points)?;
            let cross = match model.kernels() {
                Some(kernels) => cross.pick(&kernels)?,
                None => cross,
            };
            want.of(model.as_ref(), Input::Stack(&cross), task.pool)
        }
        Input::Rows(rows) => {
            let (train, test) = (rows.features().select_rows(&split.train), rows.features().select_rows(&split.test));
            let (train, test) = (Rows::new(&train, None), Rows::new(&test, None));
            let model = run(method, params, &Task { input: Input::Rows(&train), ..inner }, control)?;
            want.of(model.as_ref(), Input::Rows(&test), task.pool)
        }
    }
}

fn run(method: &dyn AnyMethod, params: &Params, task: &Task<'_>, control: &Control) -> Result<Box<dyn Predict>> {
    let mut runner = Runner { control, observer: &mut Silent, checkpoint: None, identity: BTreeMap::new() };
    let run = runner.run(method, task, params)?;
    if run.stop != Stop::Finished {
        return Err(Error::Stopped(format!("{} during inner cross-validation; nothing was learned", run.stop)));
    }
    Ok(run.model)
}

/// The share of rows whose first largest score is that of their class.
pub(super) fn accuracy(scores: &Matrix, codes: &[usize]) -> f64 {
    let right = scores.rows().zip(codes).filter(|(row, code)| crate::run::first_largest(row) == **code).count();
    right as f64 / codes.len().max(1) as f64
}

/// The best of several settings of the parameters by held-out accuracy, the first of equals, and the accuracy of each.
pub(super) fn tune(
    method: &dyn AnyMethod,
    candidates: &[Params],
    task: &Task<'_>,
    control: &Control,
) -> Result<(usize, Vec<f64>)> {
    let folds = folds(task, Deal::Tune)?;
    let mut found = Vec::with_capacity(candidates.len());
    for params in candidates {
        found.push(accuracy(&held_out(Want::Scores, method, params, task, &folds, control)?, task.labels.codes()));
    }
    let best = (0..found.len()).rev().max_by(|&a, &b| found[a].total_cmp(&found[b])).unwrap_or(0);
    Ok((best, found))
}
