//! Splits of small data side by side, each on a thread of its own as long as there are enough: single fits are too small
//! for all threads.

use std::sync::Arc;
use std::time::Instant;

use super::protocol::{Cut, FinishedFits};
use super::result::Fold;
use super::watch::Watch;
use crate::error::{Error, Result};
use crate::plan::Session;
use crate::pool::Pool;
use crate::run::{Control, KernelsOfView, Observer, Progress};

/// Training rows up to which a fit leaves most threads idle.
const SMALL: usize = 1000;

/// What splits may use.
pub(super) struct Limits<'a> {
    pub(super) pool: &'a Pool,
    pub(super) memory: Option<u64>,
    pub(super) control: Control,
}

/// What was said, for later.
#[derive(Default)]
struct Remarks(Vec<(Level, String)>);

#[derive(Clone, Copy)]
enum Level {
    Talk,
    Note,
    Warn,
}

impl Observer for Remarks {
    fn talk(&mut self, text: &str) {
        self.0.push((Level::Talk, text.into()));
    }

    fn note(&mut self, text: &str) {
        self.0.push((Level::Note, text.into()));
    }

    fn warn(&mut self, text: &str) {
        self.0.push((Level::Warn, text.into()));
    }
}

/// What became of a split.
struct Outcome {
    sizes: (usize, usize),
    /// The names and views of kernels, and the fold, of each plan that was done.
    folds: Vec<(Vec<String>, Vec<KernelsOfView>, Fold)>,
    remarks: Vec<(Level, String)>,
    /// How it ended, and how far the plan was that did not.
    end: Result<()>,
    far: String,
}

impl Cut<'_> {
    /// Whether splits are small enough, and threads enough, to run them side by side. A device has calls take turns.
    pub(super) fn is_small(&self, pool: &Pool) -> bool {
        let rows = self.splits.iter().map(|split| split.train.len()).max().unwrap_or(0);
        pool.n_threads() > 1 && pool.device().is_none() && self.splits.len() > 2 && (1..=SMALL).contains(&rows)
    }

    /// Runs the splits from `first` on, one on each thread as long as there are enough. Results are those of one after another:
    /// fits have the same bits on any number of threads. Returns why and where it was stopped, if it was.
    pub(super) fn side_by_side(
        &self,
        first: usize,
        limits: &Limits<'_>,
        watch: &mut Watch<'_>,
        found: &mut FinishedFits,
    ) -> Result<Option<String>> {
        let (n_splits, n_threads) = (self.splits.len(), limits.pool.n_threads());
        // Two for each thread, so that few wait for the last one, and progress is told now and then.
        let step = 2 * n_threads;
        for start in (first..n_splits).step_by(step) {
            watch.phase("splits");
            watch.progress(&Progress::of(start, n_splits));
            let count = step.min(n_splits - start);
            let memory = limits.memory.map(|memory| memory / count.min(n_threads) as u64);
            let alone = Limits { pool: Pool::alone()?, memory, control: limits.control.clone() };
            let with_others = Limits { pool: limits.pool, memory, control: limits.control.clone() };
            // The last ones, too few for all threads, have the help of those that have nothing left to do.
            let whole = count / n_threads * n_threads;
            let mut outcomes: Vec<Option<Outcome>> = (0..count).map(|_| None).collect();
            limits.pool.in_order(outcomes.iter_mut().enumerate().collect(), n_threads, |(k, found)| {
                let outcome = self.outcome(start + k, if k < whole { &alone } else { &with_others });
                // What did not fit has all memory at once, once the others are done.
                if !matches!(outcome.end, Err(Error::Memory { .. })) {
                    *found = Some(outcome);
                }
            });
            for (split, outcome) in (start..).zip(outcomes) {
                let outcome = outcome.unwrap_or_else(|| self.outcome(split, limits));
                if let Some(stopped) = self.keep_outcome(split, outcome, &limits.control, watch, found)? {
                    return Ok(Some(stopped));
                }
            }
        }
        Ok(None)
    }

    fn outcome(&self, split: usize, limits: &Limits<'_>) -> Outcome {
        let mut remarks = Remarks::default();
        let mut watch = Watch::new(&mut remarks);
        let (train, test, rows) = self.rows(split);
        let (mut folds, mut began) = (vec![], Instant::now());
        let mut keep = |model: crate::plan::Model, fold: Fold| {
            let kernels = model.kernels();
            folds.push((kernels.names(), kernels.by_view().to_vec(), Fold { rows: Arc::clone(&rows), ..fold }));
            began = Instant::now();
        };
        let Limits { pool, memory, ref control } = *limits;
        let mut inner = Session { pool, control: control.clone(), observer: &mut watch, checkpoint: None, memory };
        let end = self.run(split, &train, &test, 0..self.plans.len(), &mut inner, &mut keep);
        let name = self.plans.get(folds.len()).map_or("", |plan| plan.name());
        let far = watch.far(name, began.elapsed());
        Outcome { sizes: (train.samples.n_samples(), test.samples.n_samples()), folds, remarks: remarks.0, end, far }
    }

    fn keep_outcome(
        &self,
        split: usize,
        outcome: Outcome,
        control: &Control,
        watch: &mut Watch<'_>,
        found: &mut FinishedFits,
    ) -> Result<Option<String>> {
        for (level, text) in &outcome.remarks {
            match level {
                Level::Talk => watch.talk(text),
                Level::Note => watch.note(text),
                Level::Warn => watch.warn(text),
            }
        }
        found.sizes.push(outcome.sizes);
        let done = outcome.folds.len();
        for (plan, (names, views, fold)) in outcome.folds.into_iter().enumerate() {
            found.keep(plan, names, views, fold);
        }
        match outcome.end {
            Err(Error::Stopped(_)) => self.stopped_at(split, done, &outcome.far, control, found).map(Some),
            end => end.map(|()| None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Protocol, evaluate};
    use super::*;
    use crate::data::bundled;
    use crate::plan::Plan;

    /// What an evaluation said, in order.
    #[derive(Default)]
    struct Heard(Vec<String>);

    impl Observer for Heard {
        fn note(&mut self, text: &str) {
            self.0.push(text.into());
        }
    }

    #[test]
    fn splits_side_by_side_are_those_of_one_after_another() {
        let data = bundled("glass6").unwrap();
        let plans = ["majority", "average", "mklda"].map(|name| Plan::new(name).unwrap());
        let found = [1, 3].map(|threads| {
            let (pool, mut heard) = (Pool::new(threads).unwrap(), Heard::default());
            let mut session = Session::new(&pool, &mut heard);
            // Too little for a third of it to hold a stack.
            session.memory = Some(3 << 20);
            let protocol = Protocol::Repeats { n_repeats: 8, train_fraction: 0.6 };
            let cut = Cut::new(&data, &plans, &protocol, 4).unwrap();
            assert_eq!(cut.is_small(&pool), threads > 1);
            let found = evaluate(&data, &plans, &protocol, 4, &mut session).unwrap();
            (found, heard.0)
        });
        let [(one, said), (three, told)] = &found;
        assert_eq!(said, told);
        for (one, three) in one.results.iter().zip(&three.results) {
            assert_eq!(one.folds.len(), 8);
            assert_eq!(one.kernel_names, three.kernel_names);
            for (one, three) in one.folds.iter().zip(&three.folds) {
                assert_eq!((one.split, &one.predicted, &one.rows), (three.split, &three.predicted, &three.rows));
                assert_eq!((&one.weights, &one.shares), (&three.weights, &three.shares));
            }
        }
    }

    #[test]
    fn evaluation_stopped_between_splits_keeps_what_was_done() {
        let data = bundled("sonar").unwrap();
        let (plans, pool) = ([Plan::new("average").unwrap()], Pool::new(2).unwrap());
        let mut silent = crate::run::Silent;
        let session = Session::new(&pool, &mut silent);
        let protocol = Protocol::Folds(5);
        let cut = Cut::new(&data, &plans, &protocol, 0).unwrap();
        let mut found = cut.finished();
        let mut quiet = crate::run::Silent;
        let mut watch = Watch::new(&mut quiet);
        let limits = Limits { pool: &pool, memory: None, control: session.control.clone() };
        let first = cut.outcome(0, &limits);
        cut.keep_outcome(0, first, &limits.control, &mut watch, &mut found).unwrap();
        session.control.canceller().cancel();
        let told = cut.side_by_side(1, &limits, &mut watch, &mut found).unwrap().unwrap();
        assert!(told.contains("in split 2 of 5"), "{told}");
        assert_eq!(found.sizes.len(), 2);
        let kept = cut.evaluation(found, Some(told)).unwrap();
        assert_eq!(kept.results[0].folds.len(), 1);
    }
}
