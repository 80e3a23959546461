//! Progress on a terminal: bars with rate and time left; nothing in a pipe.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use multikernel::run::{Observer, Progress};

use crate::say;

/// Draws one bar per phase; while splits are counted, the phases of a split stand under their bar.
pub(crate) struct Bar {
    quiet: bool,
    terminal: bool,
    screen: MultiProgress,
    splits: Option<ProgressBar>,
    phase: Option<ProgressBar>,
    in_splits: bool,
}

impl Bar {
    pub(crate) fn new(quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal() && !quiet;
        Bar { quiet, terminal, screen: MultiProgress::new(), splits: None, phase: None, in_splits: false }
    }

    /// Removes the bars.
    pub(crate) fn clear(&mut self) {
        for bar in self.phase.take().into_iter().chain(self.splits.take()) {
            bar.finish_and_clear();
        }
    }

    fn line(&self, text: &str) {
        self.above(|| say(text));
    }

    /// Does something that prints while the bars are out of the way.
    pub(crate) fn above<T>(&self, f: impl FnOnce() -> T) -> T {
        self.screen.suspend(f)
    }

    /// Shows one line, in the place of the last: where a stream stands that has no end to measure by.
    pub(crate) fn live(&mut self, text: impl FnOnce() -> String) {
        if !self.terminal {
            return;
        }
        let bar = self.phase.get_or_insert_with(|| {
            let bar = self.screen.add(ProgressBar::new_spinner());
            let style = ProgressStyle::with_template("{spinner} {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        bar.set_message(text());
    }

    fn start(&self, name: &str) -> ProgressBar {
        let bar = self.screen.add(ProgressBar::new(1));
        let style =
            ProgressStyle::with_template("{prefix:>10} {bar:32} {human_pos}/{human_len}  {per_sec}, {eta} left  {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_prefix(name.to_string());
        bar.enable_steady_tick(Duration::from_millis(200));
        bar
    }
}

impl Observer for Bar {
    fn phase(&mut self, name: &str) {
        self.in_splits = name == "splits";
        if let Some(bar) = self.phase.take() {
            bar.finish_and_clear();
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
        let Some(bar) = (if self.in_splits { &self.splits } else { &self.phase }) else { return };
        // What was done before a resume must not count in the rate.
        let is_first = bar.position() == 0;
        bar.set_length(progress.total);
        bar.set_position(progress.done);
        if is_first {
            bar.reset_eta();
        }
        let figures: Vec<String> = progress.values.iter().map(|(name, value)| format!("{name} {value:.3e}")).collect();
        bar.set_message(figures.join("  "));
    }

    fn talk(&mut self, text: &str) {
        if self.terminal {
            self.line(text);
        }
    }

    fn note(&mut self, text: &str) {
        if !self.quiet {
            self.line(text);
        }
    }
}
