//! `majority`: the most frequent class, whatever the features. The bar under every bar.

use crate::error::{Error, Result};
use crate::file::record;
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::run::{About, Control, Input, Method, Needs, Params, Predict, Progress, Task};

/// Predicts the most frequent training class; its probabilities are the class frequencies.
#[derive(Clone, Copy, Debug, Default)]
pub struct Majority;

record! {
    /// The class frequencies: all there is to learn.
    #[derive(Clone, Debug)]
    pub struct MajorityModel {
        frequencies: Vec<f64>,
    }
}

impl Method for Majority {
    type State = MajorityModel;
    type Model = MajorityModel;

    fn about(&self) -> About {
        About {
            name: "majority",
            summary: "the most frequent class, whatever the features: what every method must beat",
            needs: Needs::Rows,
            params: &[],
            bank: "",
        }
    }

    fn init(&self, _: &Task<'_>, _: &Params) -> Result<MajorityModel> {
        Ok(MajorityModel { frequencies: vec![] })
    }

    fn step(&self, task: &Task<'_>, _: &Params, state: &mut MajorityModel, _: &Control) -> Result<Progress> {
        let n = task.labels.codes().len() as f64;
        state.frequencies = task.labels.counts().into_iter().map(|count| count as f64 / n).collect();
        Ok(Progress::of(1, 1))
    }

    fn finish(&self, _: &Task<'_>, _: &Params, state: MajorityModel) -> Result<MajorityModel> {
        Ok(state)
    }
}

impl Predict for MajorityModel {
    fn scores(&self, input: Input<'_>, _: &Pool) -> Result<Matrix> {
        Ok(Matrix::from_fn(input.n_samples(), self.frequencies.len(), |_, class| self.frequencies[class]))
    }

    fn has_probabilities(&self) -> bool {
        true
    }

    fn probabilities(&self, input: Input<'_>, pool: &Pool) -> Result<Option<Matrix>> {
        self.scores(input, pool).map(Some)
    }

    fn check(&self, _: usize, n_classes: usize) -> Result<()> {
        if self.frequencies.len() == n_classes {
            Ok(())
        } else {
            Err(Error::input("it has not one frequency per class"))
        }
    }
}
