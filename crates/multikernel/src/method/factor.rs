//! The factor of a combined kernel, in this machine's memory or on the pool's device.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::solve::cholesky::Cholesky;
use crate::stack::FactorThere;

/// `L L'` of a positive definite matrix, wherever it is.
#[derive(Clone, Debug)]
pub(super) enum Factor {
    Here(Cholesky),
    There(Arc<FactorThere>),
}

impl Factor {
    /// `A^-1 B`.
    pub(super) fn solve(&self, right: &Matrix) -> Result<Matrix> {
        match self {
            Factor::Here(factor) => factor.solve(right),
            Factor::There(factor) => factor.solve(right),
        }
    }

    /// `log det A`.
    pub(super) fn log_determinant(&self) -> Result<f64> {
        match self {
            Factor::Here(factor) => Ok(factor.log_determinant()),
            Factor::There(factor) => factor.log_determinant(),
        }
    }

    /// `L v`.
    pub(super) fn multiply_lower(&self, vector: &[f64]) -> Result<Vec<f64>> {
        match self {
            Factor::Here(factor) => Ok(factor.multiply_lower(vector)),
            Factor::There(factor) => factor.multiply_lower(vector),
        }
    }

    /// The lower triangle of `L`, row by row.
    pub(super) fn packed(&self) -> Result<Vec<f64>> {
        let fetched;
        let lower = match self {
            Factor::Here(factor) => factor.lower(),
            Factor::There(factor) => {
                fetched = factor.lower()?;
                &fetched
            }
        };
        Ok(lower.rows().enumerate().flat_map(|(i, row)| row[..=i].to_vec()).collect())
    }

    /// The factor in this machine's memory, where it was made here.
    pub(super) fn here(&self) -> Result<&Cholesky> {
        match self {
            Factor::Here(factor) => Ok(factor),
            Factor::There(_) => Err(Error::input("the factor is on the device")),
        }
    }

    /// The diagonal of `A^-1`.
    pub(super) fn diagonal_of_inverse(&self, pool: &Pool, stop: &(dyn Fn() -> bool + Sync)) -> Result<Vec<f64>> {
        match self {
            Factor::Here(factor) => factor.diagonal_of_inverse(pool, stop),
            Factor::There(factor) => Ok(factor.inverse()?.1),
        }
    }
}
