//! How much of a model's decisions each kernel makes.

use std::time::Duration;

use super::sample::{MAX_ROWS, sample};
use crate::error::{Error, Result};
use crate::linalg::{Matrix, centre_columns};
use crate::run::{Control, Predict, Task};
use crate::stack::Symmetric;

/// How long shares may take where a run was stopped: small sets have theirs, and nobody waits for those of large ones.
const GRACE: Duration = Duration::from_millis(300);

/// `share_m = sum_p Cov_i(w_m (K_m a_p)_i, f_p(x_i)) / sum_p Var_i(f_p(x_i))` over training rows i and the decisions p of
/// the model: they add up to 1. A weight says how much a kernel could do, the share how much of what is decided it does: a
/// kernel that is nearly constant, or that the others contradict, has a weight but no share.
///
/// `None` for models without such decisions, for one kernel, where all decisions are constant, where memory does not
/// suffice, and where somebody asks to stop. Cost: two passes over the kernels with a weight, of at most a thousand rows with the
/// points of the model, and that many products with each coefficient that is not zero.
pub(super) fn shares(task: &Task<'_>, model: &dyn Predict, control: &Control) -> Result<Option<Vec<f64>>> {
    match all_shares(task, model, control) {
        Err(Error::Memory { .. } | Error::Stopped(_)) => Ok(None),
        shares => shares,
    }
}

fn all_shares(task: &Task<'_>, model: &dyn Predict, control: &Control) -> Result<Option<Vec<f64>>> {
    let (Some(weights), Some(coef), Ok(stack)) = (model.weights(), model.coefficients(), task.stack()) else {
        return Ok(None);
    };
    if weights.len() < 2 || model.points().is_empty() {
        return Ok(None);
    }
    let used: Vec<usize> = (0..weights.len()).filter(|&m| weights[m] != 0.0).collect();
    let rows = sample(task.labels, MAX_ROWS);
    let stack = stack.stopped_by(control.after(GRACE)).between(&rows, model.points())?.pick(&used)?;
    let column = Matrix::from_vec(used.len(), 1, used.iter().map(|&m| weights[m]).collect())?;
    let gram = stack.combine(&column, task.pool)?.remove(0);
    let mut decisions = coef.decisions(&gram, &vec![0.0; coef.n_decisions()], task.pool)?;
    drop(gram);
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
