//! The partial likelihood of rows that are in many parts: two rounds of sums give it exactly.
//!
//! Let `t_1 < ... < t_K` be the times of events. A row with time t in `[t_k, t_(k+1))`, interval k, is at risk up to
//! `t_k`. First each part sums up `exp f` over the rows of each interval, and over those with the event at its start
//! ([`RiskSums`]). Cumulated from the last interval to the first these are the sums that Efron's likelihood divides by;
//! its value follows, and the hazard that a row meets up to its interval ([`Hazards`]). Then a row knows its slope,
//! whether it has the event less `exp f` times that hazard, and a part whatever it sums up of slopes.
//!
//! Sums are relative to the largest risk of their interval and hazards are logarithms, so that nothing overflows or
//! vanishes, however far log risks are apart.

use crate::data::Times;
use crate::error::{Error, Result};
use crate::file::record;
use crate::pool::Pool;
use crate::simd::{exp, ln};

record! {
    /// What rows add up to in the first round, for functions at several nodes. Arrays are by node and interval.
    #[derive(Clone, Debug)]
    pub(in crate::method) struct RiskSums {
        /// The largest function at the rows of the interval; minus infinity without any.
        most: Vec<f64>,
        /// `sum exp(f - most)` over the rows of the interval, and over those with the event at its start.
        risks: Vec<f64>,
        tied: Vec<f64>,
        /// By node: the sum of the functions at rows with events; at all rows, and of their squares.
        scores: Vec<f64>,
        totals: Vec<f64>,
        squares: Vec<f64>,
    }
}

record! {
    /// What the second round needs: by node and interval, the logarithm of the hazard cumulated up to its start.
    #[derive(Clone, Debug)]
    pub(in crate::method) struct Hazards {
        /// For rows that outlive it.
        later: Vec<f64>,
        /// For rows with the event there: by Efron's method they meet only a part of its last step.
        ended: Vec<f64>,
    }
}

fn misfit() -> Error {
    Error::input("the sums of risks do not fit the events; all workers need the same version")
}

/// `exp(from - to)`, 1 for no risk from none.
fn ratio(from: f64, to: f64) -> f64 {
    if from == to { 1.0 } else { exp(from - to) }
}

/// The interval of each row; none for rows that were last seen before the first event.
fn intervals(times: &Times, events: &[f64]) -> Result<Vec<Option<usize>>> {
    let place = |(&time, &event): (&f64, &bool)| {
        let place = events.partition_point(|start| *start <= time).checked_sub(1);
        if event && place.is_none_or(|place| events[place] != time) { Err(misfit()) } else { Ok(place) }
    };
    times.time().iter().zip(times.event()).map(place).collect()
}

impl RiskSums {
    /// The sums of some rows; `events` are the times of events of all rows, functions are by row and node.
    pub(in crate::method) fn new(times: &Times, events: &[f64], functions: &[f64], n_nodes: usize) -> Result<RiskSums> {
        let (n, count) = (events.len(), n_nodes * events.len());
        let mut sums = RiskSums {
            most: vec![f64::NEG_INFINITY; count],
            risks: vec![0.0; count],
            tied: vec![0.0; count],
            scores: vec![0.0; n_nodes],
            totals: vec![0.0; n_nodes],
            squares: vec![0.0; n_nodes],
        };
        let intervals = intervals(times, events)?;
        let rows = || intervals.iter().zip(functions.chunks_exact(n_nodes));
        for (interval, functions) in rows() {
            let Some(k) = interval else { continue };
            functions.iter().enumerate().for_each(|(s, f)| sums.most[s * n + k] = sums.most[s * n + k].max(*f));
        }
        for ((interval, functions), &event) in rows().zip(times.event()) {
            for (s, f) in functions.iter().enumerate() {
                sums.totals[s] += f;
                sums.squares[s] += f * f;
                let Some(at) = interval.map(|k| s * n + k) else { continue };
                let risk = ratio(*f, sums.most[at]);
                sums.risks[at] += risk;
                if event {
                    sums.tied[at] += risk;
                    sums.scores[s] += f;
                }
            }
        }
        Ok(sums)
    }

    /// Adds other rows.
    pub(in crate::method) fn add(&mut self, next: &RiskSums) -> Result<()> {
        let sizes = |sums: &RiskSums| {
            let RiskSums { most, risks, tied, scores, totals, squares } = sums;
            [most, risks, tied, scores, totals, squares].map(Vec::len)
        };
        let [count, rest @ ..] = sizes(self);
        if sizes(self) != sizes(next) || rest[..2] != [count; 2] {
            return Err(misfit());
        }
        for at in 0..count {
            let most = self.most[at].max(next.most[at]);
            let (own, other) = (ratio(self.most[at], most), ratio(next.most[at], most));
            self.risks[at] = self.risks[at] * own + next.risks[at] * other;
            self.tied[at] = self.tied[at] * own + next.tied[at] * other;
            self.most[at] = most;
        }
        let add = |sums: &mut [f64], next: &[f64]| sums.iter_mut().zip(next).for_each(|(sum, value)| *sum += value);
        add(&mut self.scores, &next.scores);
        add(&mut self.totals, &next.totals);
        add(&mut self.squares, &next.squares);
        Ok(())
    }

    /// Refuses sums of other nodes or intervals, and intervals without the rows whose events they begin with.
    fn check(&self, n_nodes: usize, n_times: usize) -> Result<()> {
        let count = n_nodes.checked_mul(n_times).ok_or_else(misfit)?;
        let fits = [self.scores.len(), self.totals.len(), self.squares.len()] == [n_nodes; 3]
            && [self.most.len(), self.risks.len(), self.tied.len()] == [count; 3]
            // Functions that are NaN are no maximum: the likelihood is NaN with them.
            && (self.scores.iter().any(|score| score.is_nan()) || !self.most.contains(&f64::NEG_INFINITY));
        if fits { Ok(()) } else { Err(misfit()) }
    }

    /// At a node, the sum of risks of all rows at risk at each event, relative to the largest, and the largest log risk.
    fn at_risk(&self, node: usize, n_times: usize) -> Vec<(f64, f64)> {
        let (mut sum, mut most) = (0.0, f64::NEG_INFINITY);
        let mut sets: Vec<(f64, f64)> = (node * n_times..(node + 1) * n_times)
            .rev()
            .map(|at| {
                let larger = self.most[at].max(most);
                sum = sum * ratio(most, larger) + self.risks[at] * ratio(self.most[at], larger);
                most = larger;
                (sum, most)
            })
            .collect();
        sets.reverse();
        sets
    }

    /// The mean of Efron's log partial likelihood over the nodes, and the hazards of the second round; `counts` are the
    /// numbers of events at each time. Cost: two logarithms for each event and node.
    pub(in crate::method) fn likelihood(&self, counts: &[usize], pool: &Pool) -> Result<(f64, Hazards)> {
        let n_nodes = self.scores.len();
        self.check(n_nodes, counts.len())?;
        let (mut value, mut hazards) = (0.0, Hazards { later: vec![], ended: vec![] });
        for (of_node, later, ended) in pool.map(n_nodes, |node| self.at_node(node, counts)) {
            value += of_node / n_nodes as f64;
            hazards.later.extend(later);
            hazards.ended.extend(ended);
        }
        Ok((value, hazards))
    }

    /// The same at one node.
    fn at_node(&self, node: usize, counts: &[usize]) -> (f64, Vec<f64>, Vec<f64>) {
        let sets = self.at_risk(node, counts.len());
        let (mut value, mut later, mut ended) = (self.scores[node], vec![], vec![]);
        // Relative to 1 / the largest risk, which falls from event to event: rows leave.
        let (mut cumulated, mut before) = (0.0, sets.first().map_or(0.0, |set| set.1));
        for (k, (&(sum, most), &count)) in sets.iter().zip(counts).enumerate() {
            let at = node * counts.len() + k;
            let tied = self.tied[at] * ratio(self.most[at], most);
            let (mut step, mut own) = (0.0, 0.0);
            for l in 0..count {
                let part = l as f64 / count as f64;
                let rest = sum - part * tied;
                value -= ln(rest) + most;
                step += 1.0 / rest;
                own += (1.0 - part) / rest;
            }
            cumulated *= ratio(most, before);
            ended.push(ln(cumulated + own) - most);
            cumulated += step;
            later.push(ln(cumulated) - most);
            before = most;
        }
        (value, later, ended)
    }

    /// Breslow's estimate of the cumulated baseline hazard at each time of an event, for sums at one node.
    pub(in crate::method) fn baseline(&self, counts: &[usize]) -> Result<Vec<f64>> {
        self.check(1, counts.len())?;
        let mut cumulated = 0.0;
        let step = |((sum, most), &count): ((f64, f64), &usize)| {
            cumulated += count as f64 / sum * exp(-most);
            cumulated
        };
        let hazard: Vec<f64> = self.at_risk(0, counts.len()).into_iter().zip(counts).map(step).collect();
        if hazard.iter().all(|hazard| hazard.is_finite()) {
            return Ok(hazard);
        }
        Err(Error::input("the baseline hazard leaves the range of numbers: log risks are too far from 0; raise lambda"))
    }

    /// The standard deviation of the functions at all rows, at the first node.
    pub(in crate::method) fn deviation(&self, n_rows: usize) -> f64 {
        let mean = |sums: &[f64]| sums.first().map_or(0.0, |sum| sum / n_rows.max(1) as f64);
        (mean(&self.squares) - mean(&self.totals).powi(2)).max(0.0).sqrt()
    }
}

/// Rows in the second round.
#[derive(Clone, Debug)]
pub(in crate::method) struct RowHazards {
    hazards: Hazards,
    n_times: usize,
    intervals: Vec<Option<usize>>,
    event: Vec<bool>,
}

impl RowHazards {
    /// The hazards of some rows.
    pub(in crate::method) fn new(
        times: &Times,
        events: &[f64],
        hazards: Hazards,
        n_nodes: usize,
    ) -> Result<RowHazards> {
        let (intervals, n_times) = (intervals(times, events)?, events.len());
        if [hazards.later.len(), hazards.ended.len()].map(Some) != [n_nodes.checked_mul(n_times); 2] {
            return Err(misfit());
        }
        Ok(RowHazards { hazards, n_times, intervals, event: times.event().to_vec() })
    }

    /// Number of rows.
    pub(in crate::method) fn n_rows(&self) -> usize {
        self.event.len()
    }

    /// Replaces the functions of a row at all nodes by their slopes, divided by the number of nodes; returns the mean
    /// number of events expected of it, which bounds its curvature.
    pub(in crate::method) fn at_row(&self, row: usize, functions: &mut [f64]) -> f64 {
        let (event, part) = (self.event[row], 1.0 / functions.len() as f64);
        let logs = if event { &self.hazards.ended } else { &self.hazards.later };
        let mut curvature = 0.0;
        for (s, f) in functions.iter_mut().enumerate() {
            let expected = self.intervals[row].map_or(0.0, |k| exp(*f + logs[s * self.n_times + k]));
            curvature += part * expected;
            *f = part * (f64::from(u8::from(event)) - expected);
        }
        curvature
    }
}
