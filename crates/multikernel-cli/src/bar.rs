//! Progress on a terminal: bars with rate and time left; silent in a pipe.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use multikernel::file;
use multikernel::report::Watch;
use multikernel::run::{Observer, Progress, Status, seconds_in_words};

use crate::{report, say, stop, terminal};

/// Draws one bar per phase; while splits are counted, the phases of a split are drawn under their bar.
pub(crate) struct Bar {
    quiet: bool,
    terminal: bool,
    screen: MultiProgress,
    splits: Option<Phase>,
    phase: Option<Phase>,
    in_splits: bool,
    watch: Option<Watched>,
}

impl Bar {
    pub(crate) fn new(quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal() && !quiet;
        Bar { quiet, terminal, screen: MultiProgress::new(), splits: None, phase: None, in_splits: false, watch: None }
    }

    /// Also writes a page about the running job, if there is a path for it.
    pub(crate) fn watching(mut self, path: Option<&Path>) -> Result<Self> {
        if let Some(path) = path {
            report::check_out("--watch", path)?;
            self.watch = Some(Watched::new(path)?);
        }
        Ok(self)
    }

    /// A figure of a stream after so many rows, for the page.
    pub(crate) fn figure(&mut self, name: &'static str, rows: u64, value: f64) {
        if let Some(watched) = &mut self.watch {
            watched.tell(|watch| {
                watch.phase("stream");
                let progress = Progress { done: rows, total: 0, status: Status::Running, values: vec![(name, value)] };
                watch.progress(&progress);
            });
        }
    }

    /// The job has ended: the page is now one about its result. A page that cannot be written takes nothing from a result
    /// that is safe.
    pub(crate) fn end_watch(&mut self, page: impl FnOnce(&Watch) -> Result<String>) {
        let Some(mut watched) = self.watch.take() else { return };
        watched.is_ended = true;
        let written = page(&watched.watch).and_then(|page| Ok(file::write_atomic(&watched.path, page.as_bytes())?));
        if let Err(error) = written {
            self.warn(&format!("warning: the page of --watch is not about the result: {error:#}"));
        }
    }

    /// Removes the bars.
    pub(crate) fn clear(&mut self) {
        for phase in self.phase.take().into_iter().chain(self.splits.take()) {
            phase.bar.finish_and_clear();
        }
    }

    fn line(&self, text: &str) {
        self.above(|| say(text));
    }

    /// Runs something that prints, with the bars hidden.
    pub(crate) fn above<T>(&self, f: impl FnOnce() -> T) -> T {
        self.screen.suspend(f)
    }

    /// Shows one line, replacing the last: the progress of a stream with no known end.
    pub(crate) fn live(&mut self, text: impl FnOnce() -> String) {
        if !self.terminal {
            return;
        }
        let phase = self.phase.get_or_insert_with(|| {
            let bar = self.screen.add(ProgressBar::new_spinner());
            bar.set_style(style("{spinner} {msg}"));
            bar.enable_steady_tick(Duration::from_millis(200));
            Phase { bar, begun: None }
        });
        phase.bar.set_message(terminal::escaped(&text()).into_owned());
    }

    /// Starts a phase: shows its name and elapsed time until it reports progress.
    fn start(&self, name: &str) -> Phase {
        let bar = self.screen.add(ProgressBar::new(1));
        bar.set_style(style("{prefix:>13} {spinner} {elapsed} so far  {msg}"));
        bar.set_prefix(name.to_string());
        bar.enable_steady_tick(Duration::from_millis(200));
        Phase { bar, begun: None }
    }
}

/// Seconds between two writings of a page.
const WATCH_SECONDS: f64 = 2.0;

/// A page about a running job, written now and then.
struct Watched {
    watch: Watch,
    path: PathBuf,
    written: Instant,
    is_ended: bool,
}

impl Watched {
    fn new(path: &Path) -> Result<Watched> {
        let watched = Watched {
            watch: Watch::new(&report::command()),
            path: path.into(),
            written: Instant::now(),
            is_ended: false,
        };
        file::write_atomic(path, watched.watch.html().as_bytes())?;
        Ok(watched)
    }

    /// Passes something on. A page that cannot be written for once does not end the job: the next one may.
    fn tell(&mut self, what: impl FnOnce(&mut Watch)) {
        what(&mut self.watch);
        if !self.is_ended && self.written.elapsed().as_secs_f64() >= WATCH_SECONDS {
            file::write_atomic(&self.path, self.watch.html().as_bytes()).ok();
            self.written = Instant::now();
        }
    }
}

impl Drop for Watched {
    /// A job that failed leaves no page that pretends to run.
    fn drop(&mut self) {
        if !self.is_ended {
            file::write_atomic(&self.path, self.watch.ended("ended without a result").as_bytes()).ok();
        }
    }
}

/// The current phase.
struct Phase {
    bar: ProgressBar,
    /// When it first reported progress, and how much: work done before a resume does not count towards the rate.
    begun: Option<(Instant, u64)>,
}

impl Phase {
    fn show(&mut self, progress: &Progress) {
        let bar = &self.bar;
        bar.set_length(progress.total);
        bar.set_position(progress.done);
        let (start, before) = *self.begun.get_or_insert_with(|| (Instant::now(), progress.done));
        let pace = pace(
            progress.done.saturating_sub(before),
            progress.total - progress.done.min(progress.total),
            start.elapsed(),
        );
        // During a long step there is nothing new to report: the elapsed time is shown until it is done.
        bar.set_style(style(match pace {
            Some(_) => "{prefix:>13} {bar:24} {human_pos}/{human_len}  {msg}",
            None => "{prefix:>13} {bar:24} {human_pos}/{human_len}  {elapsed} so far  {msg}",
        }));
        let figures = progress.values.iter().map(|(name, value)| format!("{name} {value:.3e}"));
        bar.set_message(pace.into_iter().chain(figures).collect::<Vec<_>>().join("  "));
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Rate and time left after `done` units in this time, with `open` more to come; `None` while unknown.
fn pace(done: u64, open: u64, elapsed: Duration) -> Option<String> {
    let seconds = elapsed.as_secs_f64();
    if done == 0 || seconds < 0.2 {
        return None;
    }
    let left = (seconds / done as f64 * open as f64).min(1e9);
    Some(format!("{}, {} left", rate(done as f64 / seconds), seconds_in_words(left)))
}

/// `3.8M/s`, `120/s`, `2.5/s`; below one a second `4.0 s each`.
fn rate(per_second: f64) -> String {
    match per_second {
        r if r < 1.0 => format!("{} each", seconds_in_words(1.0 / r)),
        r if r < 10.0 => format!("{r:.1}/s"),
        r if r < 1e4 => format!("{r:.0}/s"),
        r if r < 1e6 => format!("{:.0}k/s", r / 1e3),
        r if r < 1e9 => format!("{:.1}M/s", r / 1e6),
        r => format!("{:.1}G/s", r / 1e9),
    }
}

impl Observer for Bar {
    fn phase(&mut self, name: &str) {
        if let Some(watched) = &mut self.watch {
            watched.tell(|watch| watch.phase(name));
        }
        stop::enter(name);
        self.in_splits = name == "splits";
        if let Some(phase) = self.phase.take() {
            phase.bar.finish_and_clear();
        }
        if !self.terminal || name.is_empty() {
            self.clear();
        } else if !self.in_splits {
            self.phase = Some(self.start(name));
        } else if self.splits.is_none() {
            self.splits = Some(self.start(name));
        }
    }

    fn progress(&mut self, progress: &Progress) {
        if let Some(watched) = &mut self.watch {
            watched.tell(|watch| watch.progress(progress));
        }
        if let Some(phase) = if self.in_splits { &mut self.splits } else { &mut self.phase } {
            phase.show(progress);
        }
    }

    fn talk(&mut self, text: &str) {
        if self.terminal {
            self.line(text);
        }
    }

    fn note(&mut self, text: &str) {
        if let Some(watched) = &mut self.watch {
            watched.tell(|watch| watch.note(text));
        }
        if !self.quiet {
            self.line(text);
        }
    }

    fn warn(&mut self, text: &str) {
        self.line(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pace_is_told_once_something_is_done_and_in_words_a_person_reads() {
        let after = |done, open, seconds| pace(done, open, Duration::from_secs_f64(seconds));
        assert_eq!(after(0, 10, 100.0), None);
        assert_eq!(after(1, 10, 0.01), None);
        assert_eq!(after(5, 5, 2.0).unwrap(), "2.5/s, 2.0 s left");
        assert_eq!(after(2, 3, 300.0).unwrap(), "2 min 30 s each, 7 min 30 s left");
        assert_eq!(after(1, 4, 4.04).unwrap(), "4.0 s each, 16 s left");
        assert_eq!(after(3_786_274, 0, 1.0).unwrap(), "3.8M/s, 0.0 s left");
        assert_eq!(after(1, u64::MAX, 1e6).unwrap(), "277 h 46 min each, 277777 h 46 min left");
        for (per_second, text) in [(120.4, "120/s"), (9999.0, "9999/s"), (55_500.0, "56k/s"), (2e9, "2.0G/s")] {
            assert_eq!(rate(per_second), text);
        }
    }
}
