//! `majority`: the most frequent class, whatever the features. The baseline below all baselines.

use crate::error::{Error, Result};
use crate::file::record;
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::run::{
    About, Control, Explain, Input, Method, Needs, Predict, Probabilistic, Progress, State, Task, params,
};

params! {
    /// Predicts the most frequent training class; its probabilities are the class frequencies.
    #[derive(Copy)]
    pub struct Majority {}
}

record! {
    /// The class frequencies: all there is to learn.
    #[derive(Clone, Debug)]
    pub struct MajorityModel {
        frequencies: Vec<f64>,
    }
}

impl Method for Majority {
    type State = MajorityModel;

    fn about(&self) -> About {
        About {
            name: "majority",
            summary: "the most frequent class, whatever the features: what every method must beat",
            needs: Needs::Rows,
            bank: "",
        }
    }
}

impl State<Majority> for MajorityModel {
    type Model = MajorityModel;

    fn init(_: &Majority, _: &Task<'_>) -> Result<MajorityModel> {
        Ok(MajorityModel { frequencies: vec![] })
    }

    fn step(&mut self, _: &Majority, task: &Task<'_>, _: &Control) -> Result<Progress> {
        let n = task.labels.codes().len() as f64;
        self.frequencies = task.labels.counts().into_iter().map(|count| count as f64 / n).collect();
        Ok(Progress::of(1, 1))
    }

    fn finish(self, _: &Majority, _: &Task<'_>) -> Result<MajorityModel> {
        Ok(self)
    }
}

impl Predict for MajorityModel {
    fn scores(&self, input: Input<'_>, _: &Pool) -> Result<Matrix> {
        Ok(Matrix::from_fn(input.n_samples(), self.frequencies.len(), |_, class| self.frequencies[class]))
    }

    fn check(&self, _: usize, n_classes: usize) -> Result<()> {
        if self.frequencies.len() == n_classes {
            Ok(())
        } else {
            Err(Error::input("it has not one frequency per class"))
        }
    }

    fn is_constant(&self) -> bool {
        true
    }

    fn probabilistic(&self) -> Option<&dyn Probabilistic> {
        Some(self)
    }
}

impl Explain for MajorityModel {}

impl Probabilistic for MajorityModel {}
