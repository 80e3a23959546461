//! Cox's partial likelihood with Efron's treatment of ties: its value, slope and curvature in the log risks.

use crate::data::Times;
use crate::linalg::Matrix;
use crate::simd::{exp, ln};

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

/// Sums over terms of one by the sum of risks (first) and by its square, times the sum of risks up to a place and its square:
/// risks may be far apart, and these do not overflow.
struct InverseSums {
    /// Over the terms in which the row at a place is at risk.
    firsts: Vec<f64>,
    squares: Vec<f64>,
    own: Vec<Own>,
    /// The event of each row.
    event_of: Vec<Option<usize>>,
}

/// What changes in the terms of an event, by Efron's factors of the risks of its own rows: of the first sum, and of the squares
/// where one row or both are its own.
#[derive(Clone, Default)]
struct Own {
    first: f64,
    one: f64,
    both: f64,
}

/// The partial likelihood at given log risks.
pub(in crate::method) struct Slope {
    /// Minus infinity where all rows at risk at an event are e^708 times less so than another row: no step goes there.
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
            value -= if sum > 0.0 { ln(sum) + most } else { f64::INFINITY };
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
    /// rows at risk. Two rows are both at risk in the terms of the events from the later one's place on, so the sum over terms
    /// of the product of their shares is that of their risks times a cumulated sum, but for the terms of their own events.
    /// Cost: N^2.
    pub(super) fn curvature(&self, f: &[f64]) -> Matrix {
        let (risks, _) = self.risks(f);
        let prefixes = self.prefixes(&risks);
        let sums = self.inverse_sums(&risks, &prefixes);
        let mut curvature = Matrix::zeros(self.n, self.n);
        for (place, &i) in self.order.iter().enumerate() {
            let (up_to_here, event) = (prefixes[place + 1], sums.event_of[i]);
            // What is kept of an event is relative to the risks of its prefix.
            let relative = |event: usize| up_to_here / prefixes[self.events[event].at_risk];
            let square = |event: usize| relative(event) * relative(event);
            let cumulated = sums.squares[place];
            let of_own = event.map_or(cumulated, |event| cumulated + square(event) * sums.own[event].one);
            for &j in &self.order[..=place] {
                let terms = match (event, sums.event_of[j]) {
                    (Some(a), Some(b)) if a == b => cumulated + square(a) * sums.own[a].both,
                    // Events of earlier rows count only with the same time, where rows without an event are at risk, too.
                    (None, Some(b)) if place < self.events[b].at_risk => cumulated + square(b) * sums.own[b].one,
                    _ => of_own,
                };
                let value = -(risks[i] / up_to_here) * (risks[j] / up_to_here) * terms;
                curvature.set(i, j, value);
                curvature.set(j, i, value);
            }
            let first = sums.firsts[place] + event.map_or(0.0, |event| relative(event) * sums.own[event].first);
            curvature.set(i, i, curvature.get(i, i) + risks[i] / up_to_here * first);
        }
        curvature
    }

    fn inverse_sums(&self, risks: &[f64], prefixes: &[f64]) -> InverseSums {
        let mut event_of = vec![None; self.n];
        for (k, event) in self.events.iter().enumerate() {
            event.rows.iter().for_each(|&i| event_of[i] = Some(k));
        }
        let [mut firsts, mut squares] = [0, 1].map(|_| vec![0.0; self.n]);
        let mut own = vec![Own::default(); self.events.len()];
        self.each_term(risks, |event, factor, sum| {
            // A prefix of n rows ends at place n - 1.
            let first = prefixes[event.at_risk] / sum;
            firsts[event.at_risk - 1] += first;
            squares[event.at_risk - 1] += first * first;
            if let Some(of_event) = event_of[event.rows[0]].map(|k: usize| &mut own[k]) {
                of_event.first += (factor - 1.0) * first;
                of_event.one += (factor - 1.0) * first * first;
                of_event.both += (factor * factor - 1.0) * first * first;
            }
        });
        for place in (1..self.n).rev() {
            let relative = prefixes[place] / prefixes[place + 1];
            firsts[place - 1] += relative * firsts[place];
            squares[place - 1] += relative * relative * squares[place];
        }
        InverseSums { firsts, squares, own, event_of }
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
