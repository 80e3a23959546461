//! The points a method is given: kernels between them, or the scaled rows themselves.

use std::sync::OnceLock;

use crate::error::{Error, Result};
use crate::features::Features;
use crate::linalg::Matrix;
use crate::stack::Stack;

/// The points a method learns from or predicts for.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// Kernels between the points (rows) and the training points (columns).
    Stack(&'a Stack),
    /// The scaled points.
    Rows(&'a Rows<'a>),
}

/// Scaled points, of which a dense table is made when a method first asks for it: sparse ones that nobody looks at stay
/// as they are.
#[derive(Debug)]
pub struct Rows<'a> {
    features: &'a Features,
    memory: Option<u64>,
    dense: OnceLock<Matrix>,
}

impl<'a> Rows<'a> {
    /// The points; `memory` is the most bytes a dense table of sparse ones, and what a method makes of it, may take.
    pub fn new(features: &'a Features, memory: Option<u64>) -> Self {
        Rows { features, memory, dense: OnceLock::new() }
    }

    /// The points as they are kept.
    pub fn features(&self) -> &'a Features {
        self.features
    }

    /// Bytes that may be taken beside the dense table.
    pub(crate) fn room(&self) -> u64 {
        let table = (self.features.n_rows() as u64).saturating_mul(self.features.n_cols() as u64).saturating_mul(8);
        self.memory.map_or(u64::MAX, |limit| limit.saturating_sub(table))
    }

    /// The dense table, made once; an error if it takes more memory than it may.
    pub fn dense(&self) -> Result<&Matrix> {
        match (self.features, self.dense.get()) {
            (Features::Dense(matrix), _) | (_, Some(matrix)) => Ok(matrix),
            (features, None) => {
                let matrix = features.to_dense_within(self.memory)?.into_owned();
                Ok(self.dense.get_or_init(|| matrix))
            }
        }
    }
}

impl<'a> Input<'a> {
    /// The stack, for methods that said [`Needs::Stack`](super::Needs) or [`Needs::Pass`](super::Needs).
    pub fn stack(self) -> Result<&'a Stack> {
        match self {
            Input::Stack(stack) => Ok(stack),
            Input::Rows(_) => Err(Error::input("this method needs kernels, got rows")),
        }
    }

    /// The scaled points, for methods that said [`Needs::Rows`](super::Needs): a dense table, which takes 8 bytes a
    /// value where the points were sparse.
    pub fn rows(self) -> Result<&'a Matrix> {
        match self {
            Input::Rows(rows) => rows.dense(),
            Input::Stack(_) => Err(Error::input("this method needs rows, got kernels")),
        }
    }

    /// Bytes that a method may take beside the points or their kernels.
    pub(crate) fn room(self) -> u64 {
        match self {
            Input::Stack(stack) => stack.room(),
            Input::Rows(rows) => rows.room(),
        }
    }

    /// Number of points.
    pub fn n_samples(self) -> usize {
        match self {
            Input::Stack(stack) => stack.n_rows(),
            Input::Rows(rows) => rows.features.n_rows(),
        }
    }
}
