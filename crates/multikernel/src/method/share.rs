//! How much of a model's decisions each kernel makes.

use crate::error::{Error, Result};
use crate::linalg::{Matrix, axpy, centre_columns};
use crate::run::{Predict, Task};
use crate::stack::Symmetric;

/// `share_m = sum_p Cov_i(w_m (K_m a_p)_i, f_p(x_i)) / sum_p Var_i(f_p(x_i))` over the training rows i and the decisions p of
/// the model: they add up to 1. A weight says how much a kernel could do, the share how much of what is decided it does: a
/// kernel that is nearly constant, or that the others contradict, has a weight but no share.
///
/// `None` for models without such decisions, for one kernel, where all decisions are constant, and where memory does not
/// suffice. Cost: two passes over the kernels with a weight, and one product of n_samples x n_points x decisions.
pub(super) fn shares(task: &Task<'_>, model: &dyn Predict) -> Result<Option<Vec<f64>>> {
    let (Some(weights), Some(coef), Ok(stack)) = (model.weights(), model.coefficients(), task.stack()) else {
        return Ok(None);
    };
    if weights.len() < 2 || model.points().is_empty() {
        return Ok(None);
    }
    let used: Vec<usize> = (0..weights.len()).filter(|&m| weights[m] != 0.0).collect();
    let all: Vec<usize> = (0..task.n_samples()).collect();
    // What was learned is told whatever stopped the run.
    let stack = stack.unstoppable().between(&all, model.points())?.pick(&used)?;
    let column = Matrix::from_vec(used.len(), 1, used.iter().map(|&m| weights[m]).collect())?;
    let gram = match stack.combine(&column, task.pool) {
        Ok(mut sums) => sums.remove(0),
        Err(Error::Memory { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut decisions = Matrix::zeros(all.len(), coef.n_cols());
    task.pool.chunks_mut(decisions.data_mut(), coef.n_cols(), |i, row| {
        for (&value, coef) in gram.row(i).iter().zip(coef.rows()) {
            axpy(value, coef, row);
        }
    });
    drop(gram);
    centre_columns(&mut decisions);
    let total: f64 = decisions.data().iter().map(|value| value * value).sum();
    if !(total.is_finite() && total > 0.0) {
        return Ok(None);
    }
    // Cov_i((K_m a)_i, f_i) = <K_m, (f - mean f) a'> / n, for all decisions at once.
    let products = stack.project(&[Symmetric::Factored(&decisions, coef)], task.pool)?;
    let mut shares = vec![0.0; weights.len()];
    for (k, &m) in used.iter().enumerate() {
        shares[m] = weights[m] * products.get(k, 0) / total;
    }
    Ok(Some(shares))
}
