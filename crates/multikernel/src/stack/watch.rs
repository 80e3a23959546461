//! Stops an operation between two tiles.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

/// Polls before each tile whether to continue.
pub(super) struct Watch<'a> {
    ask: Option<&'a (dyn Fn() -> bool + Send + Sync)>,
    stopped: AtomicBool,
}

impl<'a> Watch<'a> {
    pub(super) fn new(ask: Option<&'a (dyn Fn() -> bool + Send + Sync)>) -> Self {
        Watch { ask, stopped: AtomicBool::new(false) }
    }

    pub(super) fn go_on(&self) -> bool {
        if !self.stopped.load(Ordering::Relaxed) && self.ask.is_some_and(|ask| ask()) {
            self.stopped.store(true, Ordering::Relaxed);
        }
        !self.stopped.load(Ordering::Relaxed)
    }

    pub(super) fn result<T>(&self, value: T) -> Result<T> {
        if self.stopped.load(Ordering::Relaxed) {
            return Err(Error::Stopped("stopped while kernels were computed".into()));
        }
        Ok(value)
    }
}
