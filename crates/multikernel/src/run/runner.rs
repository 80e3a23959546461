//! The one loop.

use std::collections::BTreeMap;

use super::checkpoint::{Checkpoint, Schedule};
use super::control::{Control, Stop};
use super::method::{AnyMethod, Predict, Task};
use super::observer::{Observer, Progress, Status};
use super::params::Params;
use crate::error::{Error, Result};
use crate::file::Record;

/// What a run ended with.
pub struct Run {
    /// The model.
    pub model: Box<dyn Predict>,
    /// The model's fields, as they go into a file.
    pub record: Record,
    /// Why it ended.
    pub stop: Stop,
    /// Steps done, those before a resume included.
    pub steps: u64,
    /// Where it stood.
    pub progress: Progress,
}

/// Drives a method to its end, or to Ctrl-C or the time limit, with progress and checkpoints.
pub struct Runner<'a> {
    /// When to stop.
    pub control: &'a Control,
    /// Who is told.
    pub observer: &'a mut dyn Observer,
    /// Where the state is stored, if anywhere.
    pub checkpoint: Option<&'a Checkpoint>,
    /// What a stored state must agree with.
    pub identity: BTreeMap<String, String>,
}

impl Runner<'_> {
    /// Runs the method on the task. Stopped before its first step, it gives an [`Error::Stopped`]; after it, a model
    /// of what was learned so far.
    pub fn run(&mut self, method: &dyn AnyMethod, task: &Task<'_>, params: &Params) -> Result<Run> {
        let stored = self.checkpoint.map(|checkpoint| checkpoint.open(&self.identity)).transpose()?.flatten();
        if let Some(checkpoint) = self.checkpoint.filter(|checkpoint| checkpoint.resume) {
            let path = checkpoint.path.display();
            self.observer.note(&match &stored {
                Some((steps, _)) => format!("resuming from {path} after step {steps}"),
                None => format!("no checkpoint at {path} yet: starting from the beginning"),
            });
        }
        let mut steps = stored.as_ref().map_or(0, |(steps, _)| *steps);
        let mut state = method.start(stored.as_ref().map(|(_, state)| state), task, params)?;
        let mut schedule = Schedule::new(self.checkpoint.map_or_else(Default::default, |checkpoint| checkpoint.every));
        let mut progress = Progress::of(0, 1);
        self.observer.phase(method.about().name);
        let stop = loop {
            if let Some(stop) = self.control.stop() {
                break stop;
            }
            let now = state.step(task, params, self.control)?;
            if now.status == Status::Cancelled {
                break self.control.stop().unwrap_or(Stop::Cancelled);
            }
            steps += 1;
            self.observer.progress(&now);
            progress = now;
            if progress.status == Status::Finished {
                break Stop::Finished;
            }
            if let Some(checkpoint) = self.checkpoint
                && schedule.due()
            {
                checkpoint.write(&self.identity, steps, state.encode())?;
            }
        };
        if steps == 0 {
            return Err(Error::Stopped(format!("{stop} before anything was learned; no model was made")));
        }
        if let Some(checkpoint) = self.checkpoint.filter(|_| stop != Stop::Finished) {
            checkpoint.write(&self.identity, steps, state.encode())?;
        }
        let (model, record) = state.finish(task, params)?;
        Ok(Run { model, record, stop, steps, progress })
    }
}
