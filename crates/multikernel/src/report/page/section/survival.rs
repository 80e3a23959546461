//! Whether rows of higher predicted risk have their events earlier.

use super::super::chart::{Curves, Line};
use super::super::html::{Cell, Figure, Section, Table};
use crate::data::Times;
use crate::evaluate::KaplanMeier;
use crate::linalg::Matrix;
use crate::report::count;

/// Groups by predicted risk, from high to low.
const GROUPS: [&str; 3] = ["high risk", "middle", "low risk"];
/// Fewer rows than this say nothing in thirds.
const LEAST: usize = 12;
/// Times that the table and the curves have.
const TIMES: usize = 40;

/// Rows whose times are known, with what a model says about them.
pub(in crate::report::page) struct Survived<'a> {
    pub(in crate::report::page) times: &'a Times,
    pub(in crate::report::page) risks: &'a [f64],
    /// The predicted probability to be without the event (rows) after each of the given times.
    pub(in crate::report::page) predicted: &'a dyn Fn(&[f64]) -> Option<Matrix>,
    pub(in crate::report::page) concordance: Option<f64>,
    /// Which rows these are, in words.
    pub(in crate::report::page) over: &'a str,
}

pub(in crate::report::page) fn section(found: &Survived<'_>) -> Option<Section> {
    let n = found.times.n_samples();
    let last = found.times.time().iter().copied().fold(0.0, f64::max);
    if n < LEAST || last <= 0.0 {
        return None;
    }
    let at: Vec<f64> = (0..=TIMES).map(|k| last * k as f64 / TIMES as f64).collect();
    let predicted = (found.predicted)(&at)?;
    let groups = thirds(found.risks);
    let mut lines = vec![];
    let mut columns: Vec<(String, Vec<f64>)> = vec![];
    for (name, rows) in GROUPS.iter().zip(&groups) {
        let seen = KaplanMeier::of(&found.times.select(rows));
        let mean = |t: usize| rows.iter().map(|&i| predicted.get(i, t)).sum::<f64>() / rows.len() as f64;
        columns.push((format!("{name}, seen"), at.iter().map(|&time| seen.at(time)).collect()));
        columns.push((format!("{name}, predicted"), (0..at.len()).map(mean).collect()));
    }
    for (name, values) in &columns {
        let points = at.iter().zip(values).map(|(&time, &value)| [time, value]).collect();
        lines.push(Line { name: name.clone(), points, spread: None });
    }
    let svg = Curves {
        id: "survival-chart",
        title: "Survival by predicted risk",
        describes: "The share of rows without the event by time, for thirds of the rows by predicted risk: as seen (Kaplan-Meier) and as predicted",
        axes: ["time", "share without the event"],
        lines,
        has_diagonal: false,
        radius: None,
        until: last,
    }
    .svg();
    let names: Vec<&str> = columns.iter().map(|column| column.0.as_str()).collect();
    let mut table = Table::new("Survival by predicted risk", &[&["time"], names.as_slice()].concat());
    for (t, &time) in at.iter().enumerate() {
        let mut row = vec![Cell::Number(time)];
        row.extend(columns.iter().map(|(_, values)| Cell::Number(values[t])));
        table.row(row);
    }
    let middle = TIMES / 2;
    let (high, low) = (columns[0].1[middle], columns[4].1[middle]);
    let mut says = format!("{} of {} {} had the event. ", found.times.n_events(), count(n, "row"), found.over);
    if let Some(concordance) = found.concordance {
        says += &format!(
            "Of two rows the one with the earlier event has the higher predicted risk in {:.1} % of pairs (concordance). ",
            100.0 * concordance
        );
    }
    says += &format!(
        "Halfway, {:.0} % of the third with the highest predicted risk are without the event, and {:.0} % of the lowest. Where the predicted \
         curve of a third follows the seen one, probabilities can be taken at their word.",
        100.0 * high,
        100.0 * low
    );
    Some(Section {
        id: "survival",
        title: "Survival by predicted risk".into(),
        says,
        figures: vec![Figure { svg, table }],
    })
}

/// Rows in thirds by falling risk.
fn thirds(risks: &[f64]) -> [Vec<usize>; 3] {
    let mut order: Vec<usize> = (0..risks.len()).collect();
    order.sort_by(|&a, &b| risks[b].total_cmp(&risks[a]).then(a.cmp(&b)));
    let n = order.len();
    [0, 1, 2].map(|k| order[k * n / 3..(k + 1) * n / 3].to_vec())
}
