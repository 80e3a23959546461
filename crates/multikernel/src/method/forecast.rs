//! What training will take, before it begins.

use std::time::Instant;

use super::Plan;
use super::inner::FOLDS;
use super::plan::Session;
use super::sample::sample;
use crate::data::Dataset;
use crate::error::{Error, Result, gib};
use crate::pool::Pool;
use crate::run::{Control, Observer, Progress};

/// Rows of the two runs a forecast is made from.
const TRIALS: [usize; 2] = [500, 1000];
/// Most seconds of each.
const TRIAL_SECONDS: f64 = 1.0;
/// Rows below which training is over before a forecast would be.
const MIN_ROWS: usize = 4 * TRIALS[1];

/// What training takes, as far as runs on some of the rows can tell.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Forecast {
    /// Rows to train on.
    pub n_rows: usize,
    /// Seconds of one training, parameters that are `auto` and probabilities included.
    pub seconds: f64,
    /// Whether it may well be more: the runs on some of the rows were not over in time.
    pub at_least: bool,
    /// Bytes of the matrices between all rows that the method keeps; 0 for methods without.
    pub bytes: u64,
}

/// Remembers how far a run came.
#[derive(Default)]
struct Last(Option<Progress>);

impl Observer for Last {
    fn phase(&mut self, _name: &str) {
        self.0 = None;
    }

    fn progress(&mut self, progress: &Progress) {
        self.0 = Some(progress.clone());
    }
}

impl Plan {
    /// What training on `n_rows` rows like these will take, measured on 500 and 1,000 of them: `None` for few rows, where it
    /// would take longer than training. Cost: two seconds at most.
    ///
    /// ```
    /// use multikernel::{Plan, Pool, data::moons};
    /// let rows = moons(2000, 0.2, 0)?;
    /// let forecast = Plan::new("average")?.forecast(&rows, 50_000, &Pool::new(1)?)?.unwrap();
    /// assert_eq!(forecast.bytes, 8 * 50_000 * 50_000);
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn forecast(&self, data: &Dataset, n_rows: usize, pool: &Pool) -> Result<Option<Forecast>> {
        if n_rows < MIN_ROWS || data.samples.n_samples() < TRIALS[1] {
            return Ok(None);
        }
        let plan = self.clone().proba(false).without_autos();
        let [small, large] = TRIALS.map(|n| plan.trial(&data.select(&sample(&data.labels, n)), pool));
        let ((small, _), (large, at_least)) = (small?, large?);
        let n_squares = if self.uses_kernels() { self.method().n_squares(self.params()) as u64 } else { 0 };
        // Matrices between all rows grow with their square whatever small runs say; nothing here grows faster than the cube.
        let least = if n_squares > 0 { 2.0 } else { 1.0 };
        let power = (large / small).log2().clamp(least, 3.0);
        let inner = (1.0 - 1.0 / FOLDS as f64).powf(power) * FOLDS as f64;
        let n_inner = if self.wants_proba() { 1 } else { 0 } + self.params().candidates().len();
        let n_inner = if self.params().autos().is_empty() { n_inner - 1 } else { n_inner };
        Ok(Some(Forecast {
            n_rows,
            seconds: large * (n_rows as f64 / TRIALS[1] as f64).powf(power) * (1.0 + n_inner as f64 * inner),
            at_least,
            bytes: n_squares * 8 * (n_rows as u64).pow(2),
        }))
    }

    /// Seconds of training on these rows, and whether they are a guess from a run that was not over in time.
    fn trial(&self, data: &Dataset, pool: &Pool) -> Result<(f64, bool)> {
        let (start, mut last) = (Instant::now(), Last::default());
        let mut session = Session::new(pool, &mut last);
        session.control = Control::default().with_max_seconds(TRIAL_SECONDS)?;
        let finished = match self.prepare(data, &mut session).and_then(|ready| self.fit(&ready, &mut session)) {
            Ok(model) => model.stop().0,
            Err(Error::Stopped(_)) => false,
            Err(error) => return Err(error),
        };
        let seconds = start.elapsed().as_secs_f64();
        let part = last.0.map_or(1.0, |last| last.done.max(1) as f64 / last.total.max(1) as f64);
        Ok(if finished { (seconds, false) } else { (seconds / part.min(1.0), true) })
    }

    /// The error of a job that is too large, with what would fit.
    pub(super) fn with_way_out(&self, error: Error, n_rows: usize) -> Error {
        let Error::Memory { what, need, limit, help } = error else { return error };
        let mut ways = vec![];
        if self.uses_kernels() && self.method().n_squares(self.params()) > 0 && n_rows >= MIN_ROWS {
            let rows = (limit as f64 / 8.0).sqrt() / 1000.0;
            ways.push(format!("about {:.0},000 rows fit", rows.floor().max(1.0)));
            ways.push("the methods ufomkl and mklda keep no matrix between rows".to_string());
            // Three matrices between landmarks and rows.
            let landmarks = 3 * 8 * 500 * n_rows as u64;
            if landmarks < limit {
                ways.push(format!("svimkl with landmarks=500 takes about {}", gib(landmarks)));
            }
        }
        let help = std::iter::once(help).chain(ways).collect::<Vec<_>>().join("; ");
        Error::Memory { what, need, limit, help }
    }
}
