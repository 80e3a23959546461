//! A run's environment, apart from the data.

use crate::pool::Pool;
use crate::run::{Checkpoint, Control, Observer};

/// A run's environment, apart from the data: threads, limits, observer, checkpoint.
pub struct Session<'a> {
    /// The threads.
    pub pool: &'a Pool,
    /// When to stop.
    pub control: Control,
    /// Receives progress and messages.
    pub observer: &'a mut dyn Observer,
    /// Where to write checkpoints, if anywhere.
    pub checkpoint: Option<Checkpoint>,
    /// Memory limit in bytes for the kernel stack, or for the dense table of sparse rows if a method asks for one.
    pub memory: Option<u64>,
}

impl<'a> Session<'a> {
    /// A session without limits or checkpoints.
    pub fn new(pool: &'a Pool, observer: &'a mut dyn Observer) -> Self {
        Session { pool, control: Control::default(), observer, checkpoint: None, memory: None }
    }
}
