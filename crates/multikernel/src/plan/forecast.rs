//! The time and memory training will take, before it starts.

use std::time::Instant;

use super::Plan;
use super::session::Session;
use crate::data::{Dataset, TargetKind};
use crate::error::{Error, Result, gib, message};
use crate::method::sample::sample;
use crate::pool::Pool;
use crate::run::inner::FOLDS;
use crate::run::{Control, Observer, Progress};

/// Rows of the two trial runs behind a forecast.
const TRIALS: [usize; 2] = [500, 1000];
/// Time limit of each, in seconds.
const TRIAL_SECONDS: f64 = 1.0;
/// Trial runs up to this long, in seconds, are repeated: a moment of another program would be most of one.
const SHORT: f64 = 0.3;
/// How many times at most.
const REPEATS: usize = 3;
/// The most landmarks of a trial run: few enough that neither has a landmark in every row.
const TRIAL_LANDMARKS: usize = TRIALS[0] / 2;
/// With fewer rows, training finishes before a forecast would.
const MIN_ROWS: usize = 4 * TRIALS[1];

/// What training takes, estimated from runs on some of the rows.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Forecast {
    /// Rows to train on.
    pub n_rows: usize,
    /// Seconds for one training run, including `auto` parameters and probabilities.
    pub seconds: f64,
    /// Whether it may well be more: the trial runs did not finish in time.
    pub at_least: bool,
    /// Bytes of the matrices between all rows that the method keeps; 0 for methods that keep none.
    pub bytes: u64,
}

/// Seconds to train on many rows, and for `n_inner` rounds of inner folds, from those of the two trials. Matrices
/// between all rows grow quadratically whatever small runs suggest; nothing here grows faster than cubically.
fn extrapolated([small, large]: [f64; 2], n_rows: usize, has_squares: bool, n_inner: usize) -> f64 {
    let power = (large / small).log2().clamp(if has_squares { 2.0 } else { 1.0 }, 3.0);
    let folds = FOLDS as f64 * (1.0 - 1.0 / FOLDS as f64).powf(power);
    large * (n_rows as f64 / TRIALS[1] as f64).powf(power) * (1.0 + n_inner as f64 * folds)
}

/// Remembers a run's latest progress.
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
    /// What training on `n_rows` rows like these will take, measured on 500 and 1,000 of them. `None` for few rows,
    /// where forecasting would take longer than training, for methods that treat many rows otherwise, and where `control` says to stop. Cost: two seconds at most.
    ///
    /// ```
    /// use multikernel::{Plan, Pool, data::moons, run::Control};
    /// let rows = moons(2000, 0.2, 0)?;
    /// let forecast = Plan::new("average")?.forecast(&rows, 50_000, &Pool::new(1)?, &Control::default())?.unwrap();
    /// assert_eq!(forecast.bytes, 8 * 50_000 * 50_000);
    /// # Ok::<(), multikernel::Error>(())
    /// ```
    pub fn forecast(&self, data: &Dataset, n_rows: usize, pool: &Pool, control: &Control) -> Result<Option<Forecast>> {
        if n_rows < MIN_ROWS || data.samples.n_samples() < TRIALS[1] || !self.method().grows_evenly() {
            return Ok(None);
        }
        let (plan, per_trial) = self.tried(n_rows)?;
        let [small, large] = TRIALS.map(|n| plan.shortest(&data.select(&sample(&data.labels, n)), pool, control));
        let ((small, _), (large, at_least)) = (small?, large?);
        if control.stop().is_some() {
            return Ok(None);
        }
        let n_squares = if self.uses_kernels() { self.method().n_squares() as u64 } else { 0 };
        // A rehearsal takes a part of the run itself.
        let rehearsed = self.params().rehearsal(n_rows).is_some();
        let autos = if self.params().autos().is_empty() || rehearsed { 0 } else { self.params().candidates().len() };
        let n_inner = autos + usize::from(self.wants_proba());
        Ok(Some(Forecast {
            n_rows,
            seconds: per_trial * extrapolated([small, large], n_rows, n_squares > 0, n_inner),
            at_least,
            bytes: n_squares * 8 * (n_rows as u64).pow(2),
        }))
    }

    /// The plan of the trial runs, and how much more work each row is in the run on `n_rows`. With landmarks the work grows
    /// as rows times landmarks, while small trials would have all their rows as landmarks.
    fn tried(&self, n_rows: usize) -> Result<(Plan, f64)> {
        let plan = self.clone().proba(false).without_autos();
        let Some(landmarks) = self.method().n_landmarks(n_rows).filter(|&landmarks| landmarks < n_rows) else {
            return Ok((plan, 1.0));
        };
        let tried = landmarks.min(TRIAL_LANDMARKS);
        Ok((plan.set("landmarks", &tried.to_string())?, landmarks as f64 / tried as f64))
    }

    /// The shortest of a few trial runs: other programs only add to what one takes.
    fn shortest(&self, data: &Dataset, pool: &Pool, control: &Control) -> Result<(f64, bool)> {
        let mut least = self.trial(data, pool, control)?;
        for _ in 1..REPEATS {
            if least.0 > SHORT {
                break;
            }
            least.0 = least.0.min(self.trial(data, pool, control)?.0);
        }
        Ok(least)
    }

    /// Seconds to train on these rows, and whether this is extrapolated from a run that did not finish in time.
    fn trial(&self, data: &Dataset, pool: &Pool, control: &Control) -> Result<(f64, bool)> {
        let (start, mut last) = (Instant::now(), Last::default());
        let mut session = Session::new(pool, &mut last);
        session.control = control.within(TRIAL_SECONDS);
        let finished = match self.prepare(data, &mut session).and_then(|ready| self.fit(&ready, &mut session)) {
            Ok(model) => model.training().is_finished(),
            Err(Error::Stopped(_)) => false,
            Err(error) => return Err(error),
        };
        let seconds = start.elapsed().as_secs_f64();
        let part = last.0.map_or(1.0, |last| last.done.max(1) as f64 / last.total.max(1) as f64);
        Ok(if finished { (seconds, false) } else { (seconds / part.min(1.0), true) })
    }

    /// The error for a job that is too large, with suggestions that would fit.
    pub(super) fn with_way_out(&self, error: Error, n_rows: usize, kind: TargetKind) -> Error {
        let Error::Memory { what, need, limit, help } = error else { return error };
        let mut ways = vec![];
        if self.uses_kernels() && self.method().n_squares() > 0 && n_rows >= MIN_ROWS {
            let rows = (limit as f64 / 8.0).sqrt() / 1000.0;
            ways.push(format!("about {:.0},000 rows fit", rows.floor().max(1.0)));
            if kind == TargetKind::Classes {
                ways.push("the methods ufomkl and mklda keep no matrix between rows".to_string());
            }
            // Three matrices between landmarks and rows.
            let landmarks = 3 * 8 * 500 * n_rows as u64;
            if landmarks < limit {
                let method = if kind == TargetKind::Classes { "svimkl" } else { "mklr" };
                ways.push(format!("{method} with landmarks=500 takes about {}", gib(landmarks)));
            }
        }
        let help = ways.into_iter().fold(help, |help, way| message![help, "; ", way]);
        Error::Memory { what, need, limit, help }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Numbers, moons};
    use crate::run::Silent;

    #[test]
    fn job_that_does_not_fit_is_told_what_would() {
        let (rows, pool) = (moons(5000, 0.2, 0).unwrap(), Pool::new(1).unwrap());
        let mut silent = Silent;
        let mut session = Session::new(&pool, &mut silent);
        session.memory = Some(100 << 20);
        let plan = Plan::new("average").unwrap();
        let message = plan.train_in(&rows, &mut session).err().unwrap().to_string();
        assert!(message.contains("needs 190.7 MiB but 100.0 MiB may be used"), "{message}");
        let ways = "about 3,000 rows fit; the methods ufomkl and mklda keep no matrix between rows; svimkl with landmarks=500 takes \
                    about 57.2 MiB";
        assert!(message.ends_with(ways), "{message}");
        let numbers = Numbers::one("y", (0..5000).map(f64::from).collect()).unwrap();
        let rows = Dataset::of_numbers("numbers", rows.samples, numbers).unwrap();
        let message = plan.train_in(&rows, &mut session).err().unwrap().to_string();
        assert!(message.ends_with("3,000 rows fit; mklr with landmarks=500 takes about 57.2 MiB"), "{message}");
    }

    #[test]
    fn forecast_counts_the_matrices_a_method_keeps() {
        let (rows, pool) = (moons(1000, 0.2, 0).unwrap(), Pool::new(1).unwrap());
        let forecast = |plan: Plan| plan.forecast(&rows, 20_000, &pool, &Control::default()).unwrap().unwrap();
        let plain = forecast(Plan::new("average").unwrap());
        assert_eq!((plain.bytes, plain.at_least), (8 * 20_000 * 20_000, false));
        assert_eq!(forecast(Plan::new("ufomkl").unwrap()).bytes, 0);
        assert_eq!(Plan::new("auto").unwrap().forecast(&rows, 20_000, &pool, &Control::default()).unwrap(), None);
        assert_eq!(Plan::new("average").unwrap().forecast(&rows, 3999, &pool, &Control::default()).unwrap(), None);
        let cancelled = Control::default();
        cancelled.canceller().cancel();
        assert_eq!(Plan::new("average").unwrap().forecast(&rows, 20_000, &pool, &cancelled).unwrap(), None);
    }

    #[test]
    fn trials_of_a_method_with_landmarks_have_few_of_them() {
        let tried = |plan: Plan, n_rows| {
            let (plan, more) = plan.tried(n_rows).unwrap();
            (plan.settings()["landmarks"].clone(), more)
        };
        let plan = || Plan::new("mklr").unwrap();
        assert_eq!(tried(plan(), 100_000), ("250".into(), 4.0));
        assert_eq!(tried(plan().set("landmarks", "50").unwrap(), 100_000), ("50".into(), 1.0));
        assert_eq!(tried(plan(), 4000), ("0".into(), 1.0));
    }

    #[test]
    fn extrapolation_follows_the_power_of_the_trials_within_reason() {
        // Four times as long for twice the rows: a square.
        assert_eq!(extrapolated([0.1, 0.4], 10_000, true, 0), 40.0);
        assert_eq!(extrapolated([0.1, 0.1], 10_000, true, 0), 10.0);
        assert_eq!(extrapolated([0.1, 0.1], 10_000, false, 0), 1.0);
        assert_eq!(extrapolated([0.1, 9.9], 10_000, false, 0), 9900.0);
        // Two rounds of five folds, each of 0.64 of the work.
        assert!((extrapolated([0.1, 0.4], 10_000, true, 2) - 40.0 * 7.4).abs() < 1e-9);
    }
}
