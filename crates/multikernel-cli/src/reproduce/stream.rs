//! Rows in random order, each predicted before it is learned.

use std::time::Instant;

use multikernel::data::Dataset;
use multikernel::dist::Rng;
use multikernel::plan::Session;
use multikernel::{Error, Online, OnlineOptions, Plan, Result};

use super::line::Line;

/// Distinct from the streams of splits, intervals and methods.
const STREAM: u64 = 1 << 52;

/// Rows between two checks of the clock.
const CHUNK: usize = 500;

/// The rows in an order drawn from `seed`.
pub(super) fn in_random_order(data: &Dataset, seed: u64) -> Dataset {
    let mut order: Vec<usize> = (0..data.samples.n_samples()).collect();
    Rng::new(seed, STREAM).shuffle(&mut order);
    data.select(&order)
}

/// Predicts and learns all rows in order; preprocessing is learned from all of them beforehand.
pub(super) fn measure(
    data: &Dataset,
    plan: &Plan,
    update_every: usize,
    line: &mut Line,
    session: &Session<'_>,
) -> Result<()> {
    let names = data.labels.classes();
    let labels: Vec<String> = data.labels.codes().iter().map(|&code| names[code].clone()).collect();
    let rows: Vec<usize> = (0..labels.len()).collect();
    let start = Instant::now();
    let options = OnlineOptions { update_every, ..OnlineOptions::default() };
    let mut online = Online::begin(plan, data, &options, session.pool)?;
    for (rows, labels) in rows.chunks(CHUNK).zip(labels.chunks(CHUNK)) {
        if let Some(stop) = session.control.stop() {
            return Err(Error::Stopped(format!("{stop} before the first stream was done; nothing was measured")));
        }
        online.learn(&data.samples.select_rows(rows), labels, session.pool)?;
    }
    line.seconds.push(start.elapsed().as_secs_f64());
    line.n_kernels = online.kernel_names().len();
    line.accuracies.push(online.n_correct() as f64 / online.n_rows() as f64);
    line.supports.push(online.n_support() as f64);
    line.warn(online.model()?.training().warnings());
    Ok(())
}

#[cfg(test)]
mod tests {
    use multikernel::Pool;
    use multikernel::data::bundled;
    use multikernel::run::Silent;

    use super::*;

    #[test]
    fn orders_hold_every_row_once_and_differ_by_seed() {
        let data = bundled("sonar").unwrap();
        let (first, again, other) = (in_random_order(&data, 0), in_random_order(&data, 0), in_random_order(&data, 1));
        assert_eq!(first.fingerprint(), again.fingerprint());
        assert_ne!(first.fingerprint(), other.fingerprint());
        assert_eq!(first.labels.counts(), data.labels.counts());
        let sorted = |set: &Dataset| {
            let rows = set.samples.features().to_dense().unwrap().into_owned();
            let mut firsts: Vec<u64> = rows.rows().map(|row| row[7].to_bits()).collect();
            firsts.sort_unstable();
            firsts
        };
        assert_eq!(sorted(&first), sorted(&data));
    }

    #[test]
    fn stream_is_predicted_before_it_is_learned() {
        let pool = Pool::new(1).unwrap();
        let data = in_random_order(&bundled("wisconsin").unwrap(), 2);
        let plan = Plan::new("mklda").unwrap().kernels("gaussian(gamma=2^-5..2^5; 40)").unwrap();
        let mut line = Line::new("wisconsin", "bank", "stream".into(), "mklda".into(), None);
        measure(&data, &plan, 100, &mut line, &Session::new(&pool, &mut Silent)).unwrap();
        // 683 rows in chunks of 500: the whole stream is counted, whose first row cannot be right.
        let right = line.accuracies[0] * 683.0;
        assert!((right - right.round()).abs() < 1e-9 && (600.0..683.0).contains(&right), "{right} rows right");
        assert!(line.n_kernels == 40 && line.supports[0] > 1.0 && line.seconds.len() == 1);
        let mut silent = Silent;
        let stopped = Session::new(&pool, &mut silent);
        stopped.control.canceller().cancel();
        let error = measure(&data, &plan, 100, &mut line, &stopped).unwrap_err();
        assert!(matches!(error, Error::Stopped(_)), "{error}");
    }
}
