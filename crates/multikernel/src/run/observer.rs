//! Progress of a run, and its observers.

/// A method's progress after a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Units of work done.
    pub done: u64,
    /// Total units of work.
    pub total: u64,
    /// Whether to continue.
    pub status: Status,
    /// Figures worth showing, such as the gap or the objective.
    pub values: Vec<(&'static str, f64)>,
}

/// The outcome of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// There is more to do.
    Running,
    /// Everything is done.
    Finished,
    /// The step saw [`Control::stop`](super::Control::stop) and left the state unchanged.
    Cancelled,
}

impl Progress {
    /// `done` of `total` units; finished when they are equal.
    pub fn of(done: usize, total: usize) -> Self {
        let status = if done >= total { Status::Finished } else { Status::Running };
        Progress { done: done as u64, total: total as u64, status, values: vec![] }
    }

    /// A step abandoned on request: the state is unchanged.
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

/// A duration in human-readable form: `0.4 s`, `40 s`, `3 min 20 s`, `2 h 5 min`. For progress and forecasts of any
/// length.
///
/// ```
/// assert_eq!(multikernel::run::seconds_in_words(200.0), "3 min 20 s");
/// ```
pub fn seconds_in_words(seconds: f64) -> String {
    if seconds < 9.95 {
        return format!("{seconds:.1} s");
    }
    let seconds = seconds.round() as u64;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, min, s) => format!("{min} min {s} s"),
        (h, min, _) => format!("{h} h {min} min"),
    }
}

/// Receives a run's progress; the command line draws bars, a library caller may ignore it ([`Silent`]).
pub trait Observer: Send {
    /// A phase starts: `preparing`, `kernels`, `inner folds`, the method's name, `shares`, `probabilities`,
    /// `predicting`, `splits`. An empty name ends the last.
    fn phase(&mut self, _name: &str) {}
    /// The phase advanced.
    fn progress(&mut self, _progress: &Progress) {}
    /// A message of interest only at a terminal: what is being computed, and where it is kept.
    fn talk(&mut self, _text: &str) {}
    /// A message the user should read: a warning, a file that was written.
    fn note(&mut self, _text: &str) {}
    /// A warning that something is lost unless the user acts, such as a checkpoint that cannot be stored: also for users
    /// who asked for silence. By default a note.
    fn warn(&mut self, text: &str) {
        self.note(text);
    }
}

/// An observer that does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_in_their_unit() {
        for (seconds, words) in [
            (0.04, "0.0 s"),
            (9.9, "9.9 s"),
            (9.96, "10 s"),
            (59.4, "59 s"),
            (59.5, "1 min 0 s"),
            (1680.0, "28 min 0 s"),
            (7500.0, "2 h 5 min"),
            (1e9, "277777 h 46 min"),
        ] {
            assert_eq!(seconds_in_words(seconds), words);
        }
    }
}
