//! What a long job will take, reported before it starts.

use multikernel::data::Dataset;
use multikernel::plan::Forecast;
use multikernel::run::{Control, Observer, seconds_in_words};
use multikernel::{Plan, Pool};

/// Jobs below these limits are not worth mentioning.
const SECONDS: f64 = 20.0;
const BYTES: u64 = 1 << 30;

/// Time limits below this are not worth spending on a forecast.
const MIN_LIMIT: f64 = 10.0;

/// What training will take; no forecast if it cannot be made or would use much of the time allowed.
pub(crate) fn of(plan: &Plan, rows: &Dataset, n_rows: usize, pool: &Pool, control: &Control) -> Option<Forecast> {
    if control.seconds_left().is_some_and(|left| left < MIN_LIMIT) {
        return None;
    }
    plan.forecast(rows, n_rows, pool, control).ok().flatten()
}

/// Reports what `n_fits` trainings of a method will take, if that is long, large, or more than the time allowed.
pub(crate) fn tell(forecast: &Forecast, method: &str, n_fits: usize, limit: Option<f64>, observer: &mut dyn Observer) {
    let all = forecast.seconds * n_fits as f64;
    let over = limit.is_some_and(|limit| all > limit);
    if all < SECONDS && forecast.bytes < BYTES && !over {
        return;
    }
    observer.note(&words(forecast, method, n_fits, limit.filter(|_| over)));
}

fn words(forecast: &Forecast, method: &str, n_fits: usize, over: Option<f64>) -> String {
    let span = |seconds: f64| seconds_in_words(seconds.clamp(1.0, 1e9));
    let about = if forecast.at_least { "at least" } else { "about" };
    let mut text = format!("{method} on {} rows: {about} {}", forecast.n_rows, span(forecast.seconds));
    if n_fits > 1 {
        text += &format!(" a fit, {} for {n_fits} fits", span(forecast.seconds * n_fits as f64));
    }
    if forecast.bytes > 0 {
        let gib = forecast.bytes as f64 / (1u64 << 30) as f64;
        text += &format!(", and {gib:.1} GiB for a matrix between all rows");
    }
    text += " (estimated from 500 and 1,000 rows)";
    if let Some(limit) = over {
        text += &format!("; --max-seconds {limit} will stop it earlier and keep what it has learned");
    }
    text
}

#[cfg(test)]
mod tests {
    use multikernel::data::moons;

    use super::*;

    #[derive(Default)]
    struct Heard(Vec<String>);

    impl Observer for Heard {
        fn note(&mut self, text: &str) {
            self.0.push(text.into());
        }
    }

    #[test]
    fn large_jobs_are_told_with_time_memory_and_the_limit_they_cross_and_small_ones_are_not() {
        let (rows, pool) = (moons(1000, 0.2, 0).unwrap(), Pool::new(1).unwrap());
        let (plan, control) = (Plan::new("average").unwrap(), Control::default());
        assert_eq!(plan.forecast(&rows, 1000, &pool, &control).unwrap(), None);
        let forecast = plan.forecast(&rows, 50_000, &pool, &control).unwrap().unwrap();
        let mut heard = Heard::default();
        tell(&forecast, "average", 5, Some(1e-3), &mut heard);
        let [text] = heard.0.as_slice() else { panic!("one remark, got {:?}", heard.0) };
        assert!(text.starts_with("average on 50000 rows: about "), "{text}");
        assert!(text.contains(" for 5 fits, and 18.6 GiB for a matrix between all rows"), "{text}");
        assert!(text.ends_with("; --max-seconds 0.001 will stop it earlier and keep what it has learned"), "{text}");
        tell(&plan.forecast(&rows, 4000, &pool, &control).unwrap().unwrap(), "average", 1, None, &mut heard);
        assert_eq!(heard.0.len(), 1, "4,000 rows take a second or two: {:?}", heard.0);
    }
}
