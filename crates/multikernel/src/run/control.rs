//! When to stop: Ctrl-C and the time limit, polled by the runner and by long steps.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The method was done.
    Finished,
    /// Someone cancelled it (Ctrl-C).
    Cancelled,
    /// The time limit was reached.
    TimeLimit,
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stop::Finished => "finished",
            Stop::Cancelled => "cancelled",
            Stop::TimeLimit => "time limit reached",
        })
    }
}

/// Cancels a run from another thread or a signal handler.
#[derive(Clone, Debug)]
pub struct Canceller(Arc<AtomicBool>);

impl Canceller {
    /// Asks the run to stop; it ends within about a second with what was learned so far.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether cancellation has already been requested.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Tells a run whether it may continue; cheap to clone, and all clones stop together.
///
/// ```
/// use multikernel::run::{Control, Stop};
/// let control = Control::default();
/// assert_eq!(control.stop(), None);
/// control.canceller().cancel();
/// assert_eq!(control.stop(), Some(Stop::Cancelled));
/// ```
#[derive(Clone, Debug)]
pub struct Control {
    cancel: Canceller,
    deadline: Option<Instant>,
}

impl Default for Control {
    fn default() -> Self {
        Control { cancel: Canceller(Arc::new(AtomicBool::new(false))), deadline: None }
    }
}

impl Control {
    /// Ends the run `seconds` from now; the number must be positive.
    pub fn with_max_seconds(mut self, seconds: f64) -> Result<Self> {
        if seconds.is_nan() || seconds <= 0.0 {
            return Err(Error::param("max-seconds", format!("must be a positive number of seconds, got {seconds}")));
        }
        // A limit too long for the clock is no limit.
        self.deadline = Duration::try_from_secs_f64(seconds).ok().and_then(|limit| Instant::now().checked_add(limit));
        Ok(self)
    }

    /// The handle that cancels this control.
    pub fn canceller(&self) -> Canceller {
        self.cancel.clone()
    }

    /// A control that stops with this one, or once the given fraction of the remaining time has passed: for work that
    /// must leave time for more.
    pub(crate) fn part(&self, part: f64) -> Control {
        let now = Instant::now();
        let sooner = |deadline: Instant| now + deadline.saturating_duration_since(now).mul_f64(part);
        Control { cancel: self.cancel.clone(), deadline: self.deadline.map(sooner) }
    }

    /// A control that stops with this one, or after this many seconds.
    pub(crate) fn within(&self, seconds: f64) -> Control {
        let sooner = Instant::now() + Duration::from_secs_f64(seconds);
        Control { deadline: Some(self.deadline.map_or(sooner, |deadline| deadline.min(sooner))), ..self.clone() }
    }

    /// A stop check callable from any thread that stays false until `grace` has passed from now: for work done after a
    /// run was stopped.
    pub(crate) fn after(&self, grace: Duration) -> impl Fn() -> bool + Send + Sync + 'static {
        let (control, begun) = (self.clone(), Instant::now());
        move || control.stop().is_some() && begun.elapsed() >= grace
    }

    /// Seconds until the time limit, if there is one.
    pub fn seconds_left(&self) -> Option<f64> {
        Some(self.deadline?.saturating_duration_since(Instant::now()).as_secs_f64())
    }

    /// The reason to stop now, if there is one. A step that lasts over a second polls this.
    pub fn stop(&self) -> Option<Stop> {
        if self.cancel.is_cancelled() {
            Some(Stop::Cancelled)
        } else if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            Some(Stop::TimeLimit)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_limit_stops_when_it_is_over_and_not_before() {
        let control = Control::default().with_max_seconds(0.02).unwrap();
        let long = Control::default().with_max_seconds(1e30).unwrap();
        let hour = Control::default().with_max_seconds(3600.0).unwrap();
        std::thread::sleep(Duration::from_millis(30));
        assert_eq!((control.stop(), long.stop(), hour.stop()), (Some(Stop::TimeLimit), None, None));
        for seconds in [0.0, -1.0, f64::NAN] {
            assert!(Control::default().with_max_seconds(seconds).is_err(), "{seconds}");
        }
    }

    #[test]
    fn cancelled_clones_stop_together() {
        let control = Control::default();
        let clone = control.clone();
        clone.canceller().cancel();
        assert_eq!(control.stop(), Some(Stop::Cancelled));
    }
}
