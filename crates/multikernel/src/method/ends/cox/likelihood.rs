//! Cox's partial likelihood with Efron's treatment of ties: its value, slope and curvature in the log risks.

use crate::data::Times;
use crate::error::Result;
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::simd::{exp, ln};
use crate::solve::product::scaled_square;

/// The rows in the order of their times, and where the events are.
#[derive(Clone, Debug)]
pub(in crate::method) struct PartialLikelihood {
    /// Rows by descending time: those at risk at an event are a prefix.
    order: Vec<usize>,
    /// For each distinct time of an event: the number of rows at risk, and which rows of the prefix have the event.
    events: Vec<Event>,
    n: usize,
}

#[derive(Clone, Debug)]
struct Event {
    time: f64,
    at_risk: usize,
    rows: Vec<usize>,
}

/// The partial likelihood at given log risks.
pub(in crate::method) struct Slope {
    pub(in crate::method) value: f64,
    /// The derivative in each log risk.
    pub(in crate::method) gradient: Vec<f64>,
}

impl PartialLikelihood {
    pub(in crate::method) fn new(times: &Times) -> PartialLikelihood {
        let (time, event) = (times.time(), times.event());
        let mut order: Vec<usize> = (0..time.len()).collect();
        order.sort_by(|&a, &b| time[b].total_cmp(&time[a]).then(a.cmp(&b)));
        let (mut events, mut start) = (vec![], 0);
        while start < order.len() {
            let end = start + order[start..].iter().take_while(|&&i| time[i] == time[order[start]]).count();
            let rows: Vec<usize> = order[start..end].iter().copied().filter(|&i| event[i]).collect();
            if !rows.is_empty() {
                events.push(Event { time: time[order[start]], at_risk: end, rows });
            }
            start = end;
        }
        PartialLikelihood { order, events, n: time.len() }
    }

    /// Number of rows.
    pub(in crate::method) fn n_rows(&self) -> usize {
        self.n
    }

    /// The rows that have an event.
    pub(in crate::method) fn rows_with_events(&self) -> impl Iterator<Item = usize> + '_ {
        self.events.iter().flat_map(|event| event.rows.iter().copied())
    }

    /// `exp(f - max f)`, and the maximum.
    fn risks(&self, f: &[f64]) -> (Vec<f64>, f64) {
        let most = f.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (f.iter().map(|&f| exp(f - most)).collect(), most)
    }

    /// The sums of the risks of each prefix of the order.
    fn prefixes(&self, risks: &[f64]) -> Vec<f64> {
        let mut sum = 0.0;
        std::iter::once(0.0)
            .chain(self.order.iter().map(|&i| {
                sum += risks[i];
                sum
            }))
            .collect()
    }

    /// Calls `f` with each term of the likelihood: the event, the factor that Efron's method leaves of the risk of its
    /// own rows, and the sum of risks it divides by.
    fn each_term(&self, risks: &[f64], mut f: impl FnMut(&Event, f64, f64)) {
        let prefixes = self.prefixes(risks);
        for event in &self.events {
            let tied: f64 = event.rows.iter().map(|&i| risks[i]).sum();
            let d = event.rows.len();
            for l in 0..d {
                let part = l as f64 / d as f64;
                f(event, 1.0 - part, prefixes[event.at_risk] - part * tied);
            }
        }
    }

    /// Value and slope. Cost: N and the number of events, times the ties of each.
    pub(in crate::method) fn slope(&self, f: &[f64]) -> Slope {
        let (risks, most) = self.risks(f);
        let mut gradient = vec![0.0; self.n];
        let mut value = 0.0;
        // The sum over events of 1 / (sum of risks), for the rows at risk; rows with the event have a smaller share.
        let mut hazard = vec![0.0; self.n + 1];
        self.each_term(&risks, |event, factor, sum| {
            value -= ln(sum) + most;
            hazard[event.at_risk] += 1.0 / sum;
            event.rows.iter().for_each(|&i| gradient[i] += (1.0 - factor) * risks[i] / sum);
        });
        for event in &self.events {
            for &i in &event.rows {
                value += f[i];
                gradient[i] += 1.0;
            }
        }
        let mut cumulated = 0.0;
        for place in (0..self.n).rev() {
            cumulated += hazard[place + 1];
            let i = self.order[place];
            gradient[i] -= cumulated * risks[i];
        }
        Slope { value, gradient }
    }

    /// Minus the matrix of second derivatives: `sum (diag(p) - p p')` over the terms, where p are the shares of the
    /// rows at risk. Cost: N^2 times the number of events.
    pub(super) fn curvature(&self, f: &[f64], pool: &Pool, stop: &(dyn Fn() -> bool + Sync)) -> Result<Matrix> {
        let (risks, _) = self.risks(f);
        let mut shares: Vec<Vec<f64>> = vec![];
        self.each_term(&risks, |event, factor, sum| {
            let mut share = vec![0.0; self.n];
            self.order[..event.at_risk].iter().for_each(|&i| share[i] = risks[i] / sum);
            event.rows.iter().for_each(|&i| share[i] *= factor);
            shares.push(share);
        });
        let by_row = Matrix::from_fn(self.n, shares.len(), |i, k| shares[k][i]);
        let mut curvature = scaled_square(&by_row, &vec![-1.0; shares.len()], pool, stop)?;
        for i in 0..self.n {
            let sum: f64 = by_row.row(i).iter().sum();
            curvature.set(i, i, curvature.get(i, i) + sum);
        }
        Ok(curvature)
    }

    /// Breslow's estimate of the cumulated baseline hazard: the times of events, ascending, and the hazard up to each.
    pub(in crate::method) fn baseline(&self, f: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let risks: Vec<f64> = f.iter().map(|&f| exp(f)).collect();
        let prefixes = self.prefixes(&risks);
        let mut cumulated = 0.0;
        let ascending = self.events.iter().rev();
        ascending
            .map(|event| {
                cumulated += event.rows.len() as f64 / prefixes[event.at_risk];
                (event.time, cumulated)
            })
            .unzip()
    }
}

/// The log partial likelihood of these log risks.
pub(in crate::method) fn partial_log_likelihood(times: &Times, risks: &[f64]) -> f64 {
    PartialLikelihood::new(times).slope(risks).value
}

/// What kernel weights are learned from where times are predicted: the slope of the partial likelihood at equal risks
/// (martingale residuals), with mean 0 and standard deviation 1.
pub(in crate::method) fn residuals(times: &Times) -> Matrix {
    let n = times.n_samples();
    let mut values = PartialLikelihood::new(times).slope(&vec![0.0; n]).gradient;
    let mean = values.iter().sum::<f64>() / n.max(1) as f64;
    let deviation = (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n.max(1) as f64).sqrt();
    values.iter_mut().for_each(|value| *value = (*value - mean) / if deviation > 0.0 { deviation } else { 1.0 });
    Matrix::from_fn(n, 1, |i, _| values[i])
}
