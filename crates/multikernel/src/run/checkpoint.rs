//! Checkpoints: the state of a run, with enough context to refuse a state that belongs to another run.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::observer::{Observer, Progress};
use crate::error::{Error, Remedy, Result, message};
use crate::file::{self, Kind, Record};

/// Where and how often to write checkpoints.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// The file.
    pub path: PathBuf,
    /// Minimum time between two writes; zero writes after every step.
    pub every: Duration,
    /// Whether to resume from the file if it exists. Without this, an existing file is refused, not overwritten.
    pub resume: bool,
}

impl Checkpoint {
    /// Writes to `path` every five seconds at most; does not resume.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Checkpoint { path: path.into(), every: Duration::from_secs(5), resume: false }
    }

    /// The stored state, if there is a file to resume from.
    ///
    /// `identity` lists everything that must match for the state to fit: method, parameters, bank, data.
    pub(crate) fn open(&self, identity: &BTreeMap<String, String>) -> Result<Option<Stored>> {
        if !self.path.exists() {
            return Ok(None);
        }
        if !self.resume {
            return Err(Error::file(
                &self.path,
                message![
                    "exists already and would be overwritten; add ",
                    Remedy::Resume,
                    " to go on from it, or remove it to start anew"
                ],
            ));
        }
        let record = file::read(&self.path, Kind::Checkpoint)?;
        self.decode(&record, identity).map(Some).map_err(|error| match error {
            Error::File { .. } => error,
            other => Error::file(&self.path, format!("cannot be used: {other}")),
        })
    }

    fn decode(&self, record: &Record, identity: &BTreeMap<String, String>) -> Result<Stored> {
        let stored: BTreeMap<String, String> = record.take("identity")?;
        let value = |map: &BTreeMap<String, String>, name: &str| map.get(name).map_or("nothing".into(), String::clone);
        // A different method also means different parameters: report the cause first.
        let method = "method".to_string();
        for name in [&method].into_iter().chain(identity.keys()).chain(stored.keys()) {
            let (then, now) = (value(&stored, name), value(identity, name));
            if then != now {
                return Err(Error::file(
                    &self.path,
                    format!(
                        "belongs to another run: its {name} is `{then}`, this run's is `{now}`; use the same settings and \
                         data, or another checkpoint file"
                    ),
                ));
            }
        }
        if let Some(name) = record.nan() {
            return Err(Error::input(format!("its array `{name}` holds NaN")));
        }
        if let Some(name) = record.huge() {
            return Err(Error::input(format!("its count `{name}` is larger than that of any run")));
        }
        let (steps, done, total) = (record.take("steps")?, record.take("done")?, record.take("total")?);
        Ok(Stored { steps, done, total, state: record.take_record("state") })
    }

    pub(super) fn write(&self, identity: &BTreeMap<String, String>, stored: Stored) -> Result<()> {
        let mut record = Record::default();
        record.put("identity", identity);
        record.put("steps", &stored.steps);
        record.put("done", &stored.done);
        record.put("total", &stored.total);
        record.put_record("state", stored.state);
        file::write(&self.path, Kind::Checkpoint, &record)
    }

    /// Writes a state, and returns whether that failed. A temporarily full disk must not cost the run: the failure is
    /// reported unless the one before it was, and the run continues.
    pub(super) fn store(
        &self,
        identity: &BTreeMap<String, String>,
        stored: Stored,
        was_told: bool,
        observer: &mut dyn Observer,
    ) -> bool {
        let written = self.write(identity, stored);
        let failed = written.is_err();
        if let (Err(error), false) = (written, was_told) {
            observer.warn(&format!("warning: this checkpoint was not stored, the run goes on: {error}"));
        }
        failed
    }
}

/// Keeps the state of a run that makes its own steps, where there is a checkpoint.
pub struct Keeper {
    to: Option<(Checkpoint, BTreeMap<String, String>)>,
    stored: Option<Stored>,
    schedule: Schedule,
    is_failing: bool,
}

impl Keeper {
    /// Keeps nothing.
    pub fn none() -> Keeper {
        Keeper { to: None, stored: None, schedule: Schedule::new(Duration::ZERO), is_failing: false }
    }

    /// Keeps states in a checkpoint, if there is one, and reads what it has; `identity` is what must match.
    pub(crate) fn new(
        checkpoint: Option<Checkpoint>,
        identity: BTreeMap<String, String>,
        observer: &mut dyn Observer,
    ) -> Result<Keeper> {
        let Some(checkpoint) = checkpoint else { return Ok(Keeper::none()) };
        let stored = checkpoint.open(&identity)?;
        if let Some(stored) = &stored {
            observer.note(&format!("resuming from {} after step {}", checkpoint.path.display(), stored.steps));
        }
        let schedule = Schedule::new(checkpoint.every);
        Ok(Keeper { to: Some((checkpoint, identity)), stored, schedule, is_failing: false })
    }

    /// Whether there is a checkpoint.
    pub fn is_on(&self) -> bool {
        self.to.is_some()
    }

    /// The state that an earlier run left.
    pub fn take_stored(&mut self) -> Option<Record> {
        self.stored.take().map(|stored| stored.state)
    }

    /// Keeps the state after a step, if it is time.
    pub fn after_step(&mut self, progress: &Progress, state: impl FnOnce() -> Record, observer: &mut dyn Observer) {
        if self.is_on() && self.schedule.due() {
            self.keep(progress, state(), observer);
        }
    }

    /// Keeps the state of a run that ends early; one without a step has none.
    pub fn keep(&mut self, progress: &Progress, state: Record, observer: &mut dyn Observer) {
        let Some((checkpoint, identity)) = self.to.as_ref().filter(|_| progress.done > 0) else { return };
        let (done, total) = (progress.done, progress.total);
        let stored = Stored { steps: done, done, total, state };
        self.is_failing = checkpoint.store(identity, stored, self.is_failing, observer);
    }
}

/// The stored state of a run.
pub(crate) struct Stored {
    /// Steps done.
    pub(super) steps: u64,
    /// Units of work done.
    pub(super) done: u64,
    /// Total units of work.
    pub(super) total: u64,
    /// The method's state.
    pub(super) state: Record,
}

/// Decides when the next checkpoint is due.
pub(super) struct Schedule {
    every: Duration,
    last: Instant,
}

impl Schedule {
    pub(super) fn new(every: Duration) -> Self {
        Schedule { every, last: Instant::now() }
    }

    pub(super) fn due(&mut self) -> bool {
        let due = self.last.elapsed() >= self.every;
        if due {
            self.last = Instant::now();
        }
        due
    }
}
