//! How a stack is built.

use std::sync::Arc;

use crate::pool::Pool;
use crate::precision::Precision;

/// Where kernel values are between two operations. The results of operations have the same bits for all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Storage {
    /// Packed in memory where that is allowed and reading is faster than computing by enough, else tiled.
    #[default]
    Fit,
    /// Packed in memory: each operation reads them. An error where the memory does not suffice.
    Packed,
    /// Nowhere: each operation computes them tile by tile. Right for a single pass.
    Tiled,
}

/// StopQuery now and then, from any thread: whether to stop.
pub(super) type StopQuery = Arc<dyn Fn() -> bool + Send + Sync>;

/// How a stack is built: with which threads, within which memory, and who hears of it.
#[derive(Clone)]
pub struct StackOptions<'a> {
    /// The threads.
    pub pool: &'a Pool,
    /// Most bytes the stack, and the result of one operation beside it, may take.
    pub memory: Option<u64>,
    /// How values are held.
    pub precision: Precision,
    /// Where values are held.
    pub storage: Storage,
    /// Whether dense points that mostly have one value per column are treated as sparse ones: faster, but which they
    /// are depends on all column points. Without it a kernel value depends on its two points alone.
    pub sparse: bool,
    /// Called with (values done, in all) while values are stored; returning false gives up with [`Error::Stopped`].
    pub watch: Option<&'a (dyn Fn(usize, usize) -> bool + Sync)>,
    /// StopQuery now and then by every operation on the stack; true ends it with [`Error::Stopped`].
    pub stop: Option<StopQuery>,
}

impl<'a> StackOptions<'a> {
    /// With these threads, in `f64`, stored, no limit, silently.
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
