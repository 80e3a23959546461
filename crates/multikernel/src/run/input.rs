//! A method's input points: kernels between them, or the scaled rows themselves.

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

/// Scaled points, converted to a dense table when a method first asks for one: sparse points that are never used in
/// dense form stay sparse.
#[derive(Debug)]
pub struct Rows<'a> {
    features: &'a Features,
    memory: Option<u64>,
    dense: OnceLock<Matrix>,
}

impl<'a> Rows<'a> {
    /// The points; `memory` limits the bytes taken by a dense copy of sparse points and by what a method derives from
    /// it.
    pub fn new(features: &'a Features, memory: Option<u64>) -> Self {
        Rows { features, memory, dense: OnceLock::new() }
    }

    /// The points in their stored form.
    pub fn features(&self) -> &'a Features {
        self.features
    }

    /// Bytes available beyond the dense table.
    pub(crate) fn room(&self) -> u64 {
        let table = (self.features.n_rows() as u64).saturating_mul(self.features.n_cols() as u64).saturating_mul(8);
        self.memory.map_or(u64::MAX, |limit| limit.saturating_sub(table))
    }

    /// The dense table, built once; an error if it exceeds the memory limit.
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
    /// The stack, for methods that declared [`Needs::Stack`](super::Needs) or [`Needs::Pass`](super::Needs).
    pub fn stack(self) -> Result<&'a Stack> {
        match self {
            Input::Stack(stack) => Ok(stack),
            Input::Rows(_) => Err(Error::input("this method needs kernels, got rows")),
        }
    }

    /// The scaled points, for methods that declared [`Needs::Rows`](super::Needs): a dense table, which takes 8 bytes
    /// per value where the points were sparse.
    pub fn rows(self) -> Result<&'a Matrix> {
        match self {
            Input::Rows(rows) => rows.dense(),
            Input::Stack(_) => Err(Error::input("this method needs rows, got kernels")),
        }
    }

    /// Bytes a method may take beyond the points or their kernels.
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
