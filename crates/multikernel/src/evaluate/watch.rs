//! Watches an evaluation: the progress of the current fit, and which remarks were made before.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use crate::run::{Observer, Progress, seconds_in_words};

/// Forwards everything to another observer, but each remark only once: splits and methods often repeat the same ones.
pub(super) struct Watch<'a> {
    inner: &'a mut dyn Observer,
    phase: String,
    began: Instant,
    done: Option<(u64, u64)>,
    said: HashSet<String>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(inner: &'a mut dyn Observer) -> Self {
        Watch { inner, phase: String::new(), began: Instant::now(), done: None, said: HashSet::new() }
    }

    /// How far the fit of a method got in the time since it started, and how long it needs, if that can be estimated.
    pub(super) fn far(&self, method: &str, since: Duration) -> String {
        let part = self.done.filter(|&(done, total)| 0 < done && done < total);
        let steps = part.map_or(String::new(), |(done, total)| format!(" ({done} of {total})"));
        let after = seconds_in_words(since.as_secs_f64());
        // A phase that started before the fit is not part of it.
        let phase = if self.began.elapsed() <= since { self.phase.as_str() } else { "" };
        match (phase, part) {
            (phase, Some((done, total))) if phase == method => {
                let before = since.as_secs_f64() - self.began.elapsed().as_secs_f64();
                let all = before.max(0.0) + self.began.elapsed().as_secs_f64() * total as f64 / done as f64;
                format!(
                    "had done {done} of {total} steps after {after}, so one split needs up to {}",
                    seconds_in_words(all)
                )
            }
            (phase, None) if phase == method => format!("had not done its first step after {after}"),
            ("kernels", _) => format!("was computing kernels{steps} after {after}"),
            ("inner folds", _) => format!("was choosing parameters on inner folds{steps} after {after}"),
            ("probabilities", _) => format!("was learning probabilities on inner folds{steps} after {after}"),
            ("predicting", _) => format!("was predicting its test rows after {after}"),
            _ if since < Duration::from_secs(1) => "had just begun".into(),
            _ => format!("was preparing its rows after {after}"),
        }
    }

    /// Whether this is the first remark of its kind: remarks that differ only in numbers are of one kind.
    fn is_new(&mut self, text: &str) -> bool {
        self.said.insert(without_numbers(text))
    }
}

impl Observer for Watch<'_> {
    fn phase(&mut self, name: &str) {
        // A fit stopped half-way still computes its shares; its progress is what its steps reported.
        if name != "shares" {
            (self.phase, self.began, self.done) = (name.to_string(), Instant::now(), None);
        }
        self.inner.phase(name);
    }

    fn progress(&mut self, progress: &Progress) {
        self.done = Some((progress.done, progress.total));
        self.inner.progress(progress);
    }

    fn talk(&mut self, text: &str) {
        if self.is_new(text) {
            self.inner.talk(text);
        }
    }

    fn note(&mut self, text: &str) {
        if self.is_new(text) {
            self.inner.note(text);
        }
    }

    fn warn(&mut self, text: &str) {
        if self.is_new(text) {
            self.inner.warn(text);
        }
    }
}

/// The text with each number as `#`: the common part of remarks on several splits.
pub(super) fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '0'..='9' if out.ends_with('#') => {}
            '0'..='9' => out.push('#'),
            // The decimal point in `1.097`.
            '.' if out.ends_with('#') => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Heard(Vec<String>);

    impl Observer for Heard {
        fn note(&mut self, text: &str) {
            self.0.push(text.into());
        }
    }

    #[test]
    fn remarks_that_differ_in_numbers_are_passed_on_once() {
        let mut heard = Heard::default();
        let mut watch = Watch::new(&mut heard);
        for text in ["3 rows lack a view", "12 rows lack a view", "R-hat 1.097, x", "R-hat 1.2, x", "another"] {
            watch.note(text);
        }
        assert_eq!(heard.0, ["3 rows lack a view", "R-hat 1.097, x", "another"]);
    }

    #[test]
    fn far_tells_steps_and_what_a_split_needs() {
        let mut heard = Heard::default();
        let mut watch = Watch::new(&mut heard);
        watch.phase("kernels");
        watch.progress(&Progress::of(3, 4));
        assert_eq!(watch.far("svm", Duration::from_secs(2)), "was computing kernels (3 of 4) after 2.0 s");
        watch.phase("svm");
        assert_eq!(watch.far("svm", Duration::from_secs(2)), "had not done its first step after 2.0 s");
        watch.progress(&Progress::of(500, 500));
        std::thread::sleep(Duration::from_millis(2));
        assert_eq!(watch.far("svm", Duration::from_millis(1)), "had just begun", "that was the fit before");
        watch.progress(&Progress::of(3, 500));
        watch.phase("shares");
        // Ten seconds into this phase: 500/3 of them in all.
        watch.began = Instant::now().checked_sub(Duration::from_secs(10)).unwrap();
        let found = watch.far("svm", watch.began.elapsed() + Duration::from_millis(1));
        assert!(found.starts_with("had done 3 of 500 steps after 10 s, so one split needs up to 27 min 4"), "{found}");
    }
}
