//! How far a run is, and who is told.

/// Where a method stands after a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Units of work done.
    pub done: u64,
    /// Units of work in all.
    pub total: u64,
    /// Whether to go on.
    pub status: Status,
    /// Figures worth showing, such as the gap or the objective.
    pub values: Vec<(&'static str, f64)>,
}

/// What a step ended with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// There is more to do.
    Running,
    /// All is done.
    Finished,
    /// The step saw [`Control::stop`](super::Control::stop) and left the state as it was.
    Cancelled,
}

impl Progress {
    /// `done` of `total` units; finished when they are equal.
    pub fn of(done: usize, total: usize) -> Self {
        let status = if done >= total { Status::Finished } else { Status::Running };
        Progress { done: done as u64, total: total as u64, status, values: vec![] }
    }

    /// A step given up on request: the state is as it was before.
    pub fn cancelled() -> Self {
        Progress { done: 0, total: 0, status: Status::Cancelled, values: vec![] }
    }

    /// Adds a figure to show.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: f64) -> Self {
        self.values.push((name, value));
        self
    }
}

/// Hears of a run's progress; the command line draws bars, a library caller may do nothing ([`Silent`]).
pub trait Observer: Send {
    /// A phase begins: `preparing`, `kernels`, `inner folds`, the method's name, `shares`, `probabilities`, `predicting`, `splits`. An
    /// empty name ends the last.
    fn phase(&mut self, _name: &str) {}
    /// The phase moved on.
    fn progress(&mut self, _progress: &Progress) {}
    /// Something a person at a terminal may like to know, and nobody else: what is computed, and where it is kept.
    fn talk(&mut self, _text: &str) {}
    /// Something a person should read: a warning, a file that was written.
    fn note(&mut self, _text: &str) {}
}

/// An observer that does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}
