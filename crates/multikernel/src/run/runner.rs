//! The one loop.

use std::collections::BTreeMap;

use super::checkpoint::{Checkpoint, Schedule, Stored};
use super::control::{Control, Stop};
use super::input::Input;
use super::method::{AnyMethod, AnyState, Task};
use super::observer::{Observer, Progress, Status};
use super::predict::Predict;
use crate::error::{Error, Result};
use crate::file::Record;
use crate::stack::Stack;

/// The result of a run.
pub struct Run {
    /// The model.
    pub model: Box<dyn Predict>,
    /// The model's fields, as they go into a file.
    pub record: Record,
    /// Why it ended.
    pub stop: Stop,
    /// Steps done, including those before a resume.
    pub steps: u64,
    /// Its final progress.
    pub progress: Progress,
}

/// Drives a method until it finishes, is cancelled (Ctrl-C) or reaches the time limit, with progress and checkpoints.
pub struct Runner<'a> {
    /// When to stop.
    pub control: &'a Control,
    /// Receives progress and messages.
    pub observer: &'a mut dyn Observer,
    /// Where to write checkpoints, if anywhere.
    pub checkpoint: Option<&'a Checkpoint>,
    /// What a stored state must match.
    pub identity: BTreeMap<String, String>,
}

impl Runner<'_> {
    /// Runs the method on the task. If stopped before the first step, returns an [`Error::Stopped`]; after it, a model
    /// of what was learned so far.
    pub fn run(&mut self, method: &dyn AnyMethod, task: &Task<'_>) -> Result<Run> {
        let stored = self.stored()?;
        let state = method.start(stored.as_ref().map(|stored| &stored.state), task)?;
        self.observer.phase(method.about().name);
        self.drive(state, stored, task)?.finish(task)
    }

    /// Advances a state until it is done or asked to stop.
    pub(crate) fn drive<'s>(
        &mut self,
        mut state: Box<dyn AnyState + 's>,
        stored: Option<Stored>,
        task: &Task<'_>,
    ) -> Result<Driven<'s>> {
        let mut steps = stored.as_ref().map_or(0, |stored| stored.steps);
        let mut progress =
            stored.map_or(Progress::of(0, 1), |stored| Progress::of(stored.done as usize, stored.total as usize));
        let mut schedule = Schedule::new(self.checkpoint.map_or_else(Default::default, |checkpoint| checkpoint.every));
        let mut failing = false;
        let stop = loop {
            if let Some(stop) = self.control.stop() {
                break stop;
            }
            let now = match state.step(task, self.control) {
                Err(Error::Stopped(_)) => Progress::cancelled(),
                now => now?,
            };
            if now.status == Status::Cancelled {
                break self.control.stop().unwrap_or(Stop::Cancelled);
            }
            steps += 1;
            self.observer.progress(&now);
            progress = now;
            if progress.status == Status::Finished {
                break Stop::Finished;
            }
            if self.checkpoint.is_some() && schedule.due() {
                failing = self.store(steps, &progress, state.as_ref(), failing);
            }
        };
        if steps == 0 {
            return Err(Error::Stopped(format!(
                "{stop} before anything was learned; no model was made: give it more time"
            )));
        }
        if stop != Stop::Finished {
            self.store(steps, &progress, state.as_ref(), false);
        }
        Ok(Driven { state, stop, steps, progress })
    }

    /// The state an earlier run stored, if this one resumes it.
    fn stored(&mut self) -> Result<Option<Stored>> {
        let Some(checkpoint) = self.checkpoint else { return Ok(None) };
        let stored = checkpoint.open(&self.identity)?;
        if checkpoint.resume {
            let path = checkpoint.path.display();
            self.observer.note(&match &stored {
                Some(stored) => format!("resuming from {path} after step {}", stored.steps),
                None => format!("no checkpoint at {path} yet: starting from the beginning"),
            });
        }
        Ok(stored)
    }

    /// Writes a checkpoint; see [`Checkpoint::store`].
    fn store(&mut self, steps: u64, progress: &Progress, state: &dyn AnyState, was_told: bool) -> bool {
        let Some(checkpoint) = self.checkpoint else { return false };
        let (done, total) = (progress.done, progress.total);
        let stored = Stored { steps, done, total, state: state.encode() };
        checkpoint.store(&self.identity, stored, was_told, self.observer)
    }
}

/// A state after its last step.
pub(crate) struct Driven<'s> {
    pub(crate) state: Box<dyn AnyState + 's>,
    pub(crate) stop: Stop,
    steps: u64,
    progress: Progress,
}

impl Driven<'_> {
    /// The model of the state.
    pub(crate) fn finish(self, task: &Task<'_>) -> Result<Run> {
        // A stopped run is still finished properly, including its kernel operations.
        let stack = task.stack().map(Stack::unstoppable).ok();
        let input = stack.as_ref().map_or(task.input, Input::Stack);
        let (model, record) = self.state.finish(&Task { input, ..*task })?;
        Ok(Run { model, record, stop: self.stop, steps: self.steps, progress: self.progress })
    }
}
