//! The state of a run.

use crate::error::Result;
use crate::file::{Cache, Codec, Record, record};
use crate::linalg::Matrix;
use crate::solve::cholesky::Cholesky;
use crate::solve::lbfgs::Memory;
use crate::stack::Stack;

use super::clip::Clip;
use super::objective::CurvatureSums;

record! {
    /// The parameters learned so far, and the history the next step needs.
    #[derive(Clone, Debug)]
    pub struct Fit {
        /// All parameters, in the order of `Layout`.
        pub(super) x: Vec<f64>,
        /// The outputs of all kernels at the training rows; zeros with `solver=ascent`, which computes those it needs.
        pub(super) outputs: Vec<f64>,
        /// Minus the bound after each step.
        pub(super) losses: Vec<f64>,
        pub(super) gradient: Vec<f64>,
        pub(super) memory: Memory,
        /// The curvature of the loss at the training rows.
        pub(super) curvature: Vec<f64>,
        pub(super) basis: Basis,
        /// Adam's moments, one after the other: means of gradients, of their squares, of iterates.
        pub(super) moments: Vec<f64>,
        pub(super) converged: bool,
        /// Error of the scale identity after the last step; NaN if it is to be computed from the state.
        pub(super) gap: f64,
        /// The clipped kernels, recomputed when a run resumes.
        pub(super) clip: Cache<Clip>,
        /// What the curvature adds up to, where the rows are elsewhere.
        pub(super) sums: Cache<CurvatureSums>,
        /// The kernels between the rows and the points, and back.
        pub(super) between: Cache<[Stack; 2]>,
    }
}

record! {
    /// The point at which the initial curvature of quasi-Newton steps was taken.
    #[derive(Clone, Debug, Default)]
    pub(super) struct Basis {
        /// Mean kernel weights.
        pub(super) means: Vec<f64>,
        /// Curvature at the training rows.
        pub(super) curvature: Vec<f64>,
        /// Curvature in the parameters other than sample weights.
        pub(super) others: Vec<f64>,
        /// The point itself, where the rows are elsewhere: they are asked for the curvature there.
        pub(super) at: Cache<Vec<f64>>,
        /// The factor of the curvature in the sample weights, recomputed when a run resumes.
        pub(super) factor: Cache<Cholesky>,
    }
}

impl Codec for Memory {
    fn encode(&self) -> Record {
        let rows = |vectors: &[Vec<f64>]| {
            let width = vectors.first().map_or(0, Vec::len);
            Matrix::from_fn(vectors.len(), width, |i, j| vectors[i][j])
        };
        let mut record = Record::default();
        record.put("steps", &rows(&self.steps));
        record.put("changes", &rows(&self.changes));
        record
    }

    fn decode(record: &Record) -> Result<Self> {
        let vectors = |name: &str| -> Result<Vec<Vec<f64>>> {
            Ok(record.take::<Matrix>(name)?.rows().map(<[f64]>::to_vec).collect())
        };
        Ok(Memory { steps: vectors("steps")?, changes: vectors("changes")? })
    }
}
