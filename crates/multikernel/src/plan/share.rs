//! Each kernel's share of a model's decisions.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::linalg::{Matrix, centre_columns, dot};
use crate::method::sample::{MAX_ROWS, sample};
use crate::run::{Control, Input, Predict, Task};
use crate::stack::Symmetric;

/// Time allowed for shares after a run was stopped: small data sets get theirs, and large ones cause no wait.
const GRACE: Duration = Duration::from_millis(300);

/// `share_m = sum_p Cov_i(w_m (K_m a_p)_i, f_p(x_i)) / sum_p Var_i(f_p(x_i))` over training rows i and the decisions p
/// of the model: they add up to 1. The weight is how much a kernel could contribute, the share how much of the
/// decisions it does contribute: a kernel that is nearly constant, or that the others contradict, has a weight but no
/// share.
///
/// `None` for models without such decisions, for a single kernel, if all decisions are constant, if memory does not
/// suffice, and if asked to stop. Cost: two passes over the kernels with nonzero weight, between at most a thousand
/// rows and the points of the model, and that many products with each nonzero coefficient.
pub(super) fn shares(task: &Task<'_>, model: &dyn Predict, control: &Control) -> Result<Option<Vec<f64>>> {
    match shares_over(MAX_ROWS, task, model, control) {
        Err(Error::Memory { .. } | Error::Stopped(_)) => Ok(None),
        shares => shares,
    }
}

/// [`shares`] over at most this many rows.
fn shares_over(most: usize, task: &Task<'_>, model: &dyn Predict, control: &Control) -> Result<Option<Vec<f64>>> {
    let members = model.members();
    if !members.is_empty() {
        let mut mean = vec![0.0; model.weights().map_or(0, <[f64]>::len)];
        for member in &members {
            let Some(shares) = shares_over(most, task, *member, control)? else { return Ok(None) };
            mean.iter_mut().zip(shares).for_each(|(mean, share)| *mean += share / members.len() as f64);
        }
        return Ok(Some(mean));
    }
    if model.has_own_coefficients() {
        return shares_of_parts(most, task, model, control);
    }
    let (Some(weights), Some(coef), Ok(stack)) = (model.weights(), model.coefficients(), task.stack()) else {
        return Ok(None);
    };
    if weights.len() < 2 || model.points().is_empty() {
        return Ok(None);
    }
    let used: Vec<usize> = (0..weights.len()).filter(|&m| weights[m] != 0.0).collect();
    let rows = sample(task.labels, most);
    let stack = stack.stopped_by(control.after(GRACE)).pick(&used)?;
    // The whole of symmetric kernels is read faster than most of their rows and columns.
    let most_of_all = rows.len() == task.n_samples() && 2 * model.points().len() > rows.len();
    let (stack, coef) = if most_of_all {
        (stack, &coef.among(rows.len(), model.points()))
    } else {
        (stack.between(&rows, model.points())?, coef)
    };
    let column = Matrix::from_vec(used.len(), 1, used.iter().map(|&m| weights[m]).collect())?;
    let gram = stack.combine(&column, task.pool)?.remove(0);
    let mut decisions = coef.decisions(&gram, &vec![0.0; coef.n_decisions()], task.pool)?;
    gram.give_back();
    centre_columns(&mut decisions);
    let total: f64 = decisions.data().iter().map(|value| value * value).sum();
    if !(total.is_finite() && total > 0.0) {
        return Ok(None);
    }
    // Cov_i((K_m a)_i, f_i) = <K_m, (f - mean f) a'> / n, for all decisions at once.
    let along = coef.spread(&decisions, task.pool)?;
    let products = stack.project(&[Symmetric::Dense(&along)], task.pool)?;
    let mut shares = vec![0.0; weights.len()];
    for (k, &m) in used.iter().enumerate() {
        shares[m] = weights[m] * products.get(k, 0) / total;
    }
    Ok(Some(shares))
}

/// [`shares_over`] for a model whose kernels have coefficients of their own.
fn shares_of_parts(most: usize, task: &Task<'_>, model: &dyn Predict, control: &Control) -> Result<Option<Vec<f64>>> {
    let (Some(weights), Some(additive), Ok(stack)) = (model.weights(), model.additive(), task.stack()) else {
        return Ok(None);
    };
    if weights.len() < 2 || model.points().is_empty() {
        return Ok(None);
    }
    let used = model.kernels().unwrap_or_else(|| (0..weights.len()).collect());
    let rows = sample(task.labels, most);
    let stack = stack.stopped_by(control.after(GRACE)).between(&rows, model.points())?.pick(&used)?;
    let parts = additive.parts(Input::Stack(&stack), task.pool)?;
    let mut decisions = Matrix::zeros(rows.len(), parts.first().map_or(0, Matrix::n_cols));
    for part in &parts {
        decisions.data_mut().iter_mut().zip(part.data()).for_each(|(sum, value)| *sum += value);
    }
    centre_columns(&mut decisions);
    let total = dot(decisions.data(), decisions.data());
    if !(total.is_finite() && total > 0.0) {
        return Ok(None);
    }
    let mut shares = vec![0.0; weights.len()];
    used.iter().zip(&parts).for_each(|(&m, part)| shares[m] = dot(part.data(), decisions.data()) / total);
    Ok(Some(shares))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Dataset, Samples, Target, bundled};
    use crate::dist::Rng;
    use crate::plan::{Plan, Session};
    use crate::pool::Pool;
    use crate::run::{Canceller, Observer, Runner, Silent};

    /// Four classes in six columns, of which only the first two are informative.
    fn rows(n: usize) -> Dataset {
        let mut rng = Rng::new(5, 0);
        let codes: Vec<usize> = (0..n).map(|i| i % 4).collect();
        let mut value = |i: usize, j: usize| rng.uniform() + if j < 2 { ((codes[i] >> j) & 1) as f64 } else { 0.0 };
        let table = Matrix::from_fn(n, 6, &mut value);
        let texts: Vec<String> = codes.iter().map(usize::to_string).collect();
        Dataset::new("rows", Samples::unnamed(table).unwrap(), crate::data::Labels::new(&texts).unwrap()).unwrap()
    }

    #[test]
    fn shares_of_some_rows_are_those_of_all_to_two_digits() {
        let (data, pool) = (rows(2400), Pool::new(2).unwrap());
        let plan = Plan::new("average").unwrap().kernels("gaussian(1) on [0:2], gaussian(1) on [2:6], linear").unwrap();
        let prepared = plan.prepare(&data, &mut Session::new(&pool, &mut Silent)).unwrap();
        let input = Input::Stack(prepared.stack().unwrap());
        let task = Task {
            input,
            labels: &data.labels,
            target: &Target::Classes,
            groups: None,
            views: &[],
            alternatives: &[],
            seed: 0,
            pool: &pool,
        };
        let control = Control::default();
        let mut runner =
            Runner { control: &control, observer: &mut Silent, checkpoint: None, identity: Default::default() };
        let run = runner.run(plan.method(), &task).unwrap();
        let found = shares(&task, run.model.as_ref(), &control).unwrap().unwrap();
        let all = shares_over(usize::MAX, &task, run.model.as_ref(), &control).unwrap().unwrap();
        assert_ne!(found, all, "some rows are left out");
        assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        for (found, all) in found.iter().zip(&all) {
            assert!((found - all).abs() < 0.01, "{found} of some rows, {all} of all");
        }
    }

    /// Cancels when a phase starts.
    struct CancelAt(&'static str, Canceller);

    impl Observer for CancelAt {
        fn phase(&mut self, name: &str) {
            if name == self.0 {
                self.1.cancel();
            }
        }
    }

    #[test]
    fn stop_after_the_last_step_keeps_the_model() {
        let (data, pool) = (bundled("sonar").unwrap(), Pool::new(1).unwrap());
        let plan = Plan::new("average").unwrap().proba(true);
        for phase in ["shares", "probabilities"] {
            let control = Control::default();
            let mut observer = CancelAt(phase, control.canceller());
            let mut session = Session::new(&pool, &mut observer);
            session.control = control;
            let model = plan.train_in(&data, &mut session).unwrap();
            let (finished, why) = (model.training().is_finished(), model.training().stop());
            assert!(!finished && why == "cancelled while probabilities were learned: the model has none", "{why}");
            assert_eq!(model.predict(&data.samples).unwrap().labels.len(), 208);
        }
    }
}
