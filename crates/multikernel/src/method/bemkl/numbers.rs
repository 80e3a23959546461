//! The model for the target: an SVM with probabilities for classes, an expansion for numbers.

use super::beliefs::Beliefs;
use super::model::{BemklModel, facts};
use crate::method::ends::SvrModel;
use crate::run::{Coefficients, model_by_target};

/// The mean sample weights, kernel weights and biases as a machine for numbers.
pub(super) fn machine(state: &Beliefs) -> SvrModel {
    let (biases, weights) = state.weights.split_at(state.samples.n_cols());
    let deviation = (1.0 / state.precision).sqrt();
    let told = ("noise of the numbers".to_string(), format!("{deviation:.4} standard deviations of the target"));
    let facts = facts(state, weights).into_iter().chain([told]).collect();
    SvrModel::new(weights.to_vec(), &Coefficients::new(&state.samples), biases.to_vec()).with_facts(facts)
}

model_by_target! {
    /// The model of `bemkl` and `sbemkl`, for the target.
    ///
    /// Numbers have no distribution. That of the published program has the variance `1 / E[precision] + v' S v`, `v = (1, g)`
    /// with the outputs g of the single kernels. Like that of a relevance vector machine it knows only functions at training
    /// rows: a narrow kernel explains each of these by itself and says nothing of a new row. With the default bank 90 %
    /// intervals held 31 % of the rows of diabetes, with the variances of outputs and sample weights added.
    pub enum BemklEnd {
        /// Classes.
        Classes(BemklModel),
        /// Numbers.
        Numbers(SvrModel) as "numbers",
    }
}
