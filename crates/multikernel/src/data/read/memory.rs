//! Refusing tables that do not fit in memory before anything is allocated.

use crate::error::{Error, Result};

/// A column name, its entry in the check for repeated names, and room for both to grow.
const NAME_BYTES: u128 = 96;

/// What a column of sparse rows takes until a model is trained, measured: names in the table, the plan and the model,
/// background, scales. Values may be few, so that columns are what counts.
const SPARSE_COLUMN_BYTES: u128 = 560;

/// Refuses a dense table that would need more than `limit` bytes, column names included.
pub(in crate::data) fn check_memory(name: &str, n_rows: usize, n_cols: usize, limit: u64) -> Result<()> {
    let need = n_rows as u128 * n_cols as u128 * 8 + n_cols as u128 * NAME_BYTES;
    check_need(name, n_rows, n_cols, need, limit)
}

/// Refuses sparse rows that would need more than `limit` bytes: 12 per stored value, 8 per row, and what each column
/// takes.
pub(in crate::data) fn check_sparse_memory(
    name: &str,
    n_rows: usize,
    n_cols: usize,
    n_stored: usize,
    limit: u64,
) -> Result<()> {
    let need = n_stored as u128 * 12 + n_rows as u128 * 8 + n_cols as u128 * SPARSE_COLUMN_BYTES;
    check_need(name, n_rows, n_cols, need, limit)
}

fn check_need(name: &str, n_rows: usize, n_cols: usize, need: u128, limit: u64) -> Result<()> {
    if need > u128::from(limit) {
        return Err(out_of_memory(name, n_rows, n_cols, u64::try_from(need).unwrap_or(u64::MAX), limit));
    }
    Ok(())
}

/// The error for a table that does not fit.
pub(in crate::data) fn out_of_memory(name: &str, n_rows: usize, n_cols: usize, need: u64, limit: u64) -> Error {
    Error::Memory {
        what: format!("{name}: a table of {n_rows} rows and {n_cols} columns"),
        need,
        limit,
        help: "allow more memory, or use fewer rows or columns".into(),
    }
}
