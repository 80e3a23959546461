//! How a stack is built.

use std::sync::Arc;

use crate::pool::Pool;
use crate::precision::Precision;

/// Where kernel values are kept between operations. Results have the same bits in every case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Storage {
    /// Packed if memory allows and reading is sufficiently faster than computing, else tiled.
    #[default]
    Fit,
    /// Packed in memory: each operation reads them. An error if there is too little memory.
    Packed,
    /// Not kept: each operation computes them tile by tile. Right for a single pass.
    Tiled,
}

/// Polled from any thread; true means stop.
pub(super) type StopQuery = Arc<dyn Fn() -> bool + Send + Sync>;

/// How a stack is built: threads, memory limit, storage, and callbacks for progress and stopping.
#[derive(Clone)]
pub struct StackOptions<'a> {
    /// The threads.
    pub pool: &'a Pool,
    /// Memory limit in bytes for the stack together with the result of one operation.
    pub memory: Option<u64>,
    /// Precision of the stored values.
    pub precision: Precision,
    /// Where values are kept.
    pub storage: Storage,
    /// Whether dense points that mostly share one value per column are treated as sparse: faster, but whether they
    /// qualify depends on all column points. Without it a kernel value depends on its two points alone.
    pub sparse: bool,
    /// Called with (values done, total) while values are stored; returning false aborts with [`Error::Stopped`](crate::Error::Stopped).
    pub watch: Option<&'a (dyn Fn(usize, usize) -> bool + Sync)>,
    /// Polled by every operation on the stack; returning true aborts it with [`Error::Stopped`](crate::Error::Stopped).
    pub stop: Option<StopQuery>,
}

impl<'a> StackOptions<'a> {
    /// Defaults with these threads: `f64`, stored, no memory limit, no callbacks.
    pub fn new(pool: &'a Pool) -> Self {
        let (precision, storage) = (Precision::default(), Storage::default());
        StackOptions { pool, memory: None, precision, storage, sparse: true, watch: None, stop: None }
    }
}

/// The training means of one `centred` kernel: k~(x, y) = k(x, y) - mean_i k(x, x_i) - mean_i k(x_i, y) + grand mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Centring {
    /// mean_i k(x_i, x_j) for each training point j.
    pub means: Vec<f64>,
    /// Their mean.
    pub grand: f64,
}
