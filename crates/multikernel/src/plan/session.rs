//! What a run works with besides the data.

use crate::pool::Pool;
use crate::run::{Checkpoint, Control, Observer};

/// What a run works with besides the data: threads, limits, who is told, where it is stored.
pub struct Session<'a> {
    /// The threads.
    pub pool: &'a Pool,
    /// When to stop.
    pub control: Control,
    /// Who is told.
    pub observer: &'a mut dyn Observer,
    /// Where the state is stored, if anywhere.
    pub checkpoint: Option<Checkpoint>,
    /// Most bytes the kernel stack may take, or the dense table of sparse rows for a method that asks for one.
    pub memory: Option<u64>,
}

impl<'a> Session<'a> {
    /// A session without limits or checkpoints.
    pub fn new(pool: &'a Pool, observer: &'a mut dyn Observer) -> Self {
        Session { pool, control: Control::default(), observer, checkpoint: None, memory: None }
    }
}
