//! Shares by sample: what each view adds to the decision on each row.

use super::super::chart::Lanes;
use super::super::html::{Cell, Figure, Section, Table};
use super::{brief, largest};
use crate::plan::Parts;
use crate::report::count;
use crate::report::numbers::short;
use crate::run::Decision;

/// Rows that a strip shows, lanes in it, and decisions with a strip.
const MOST_ROWS: usize = 400;
const MOST_LANES: usize = 8;
const MOST_DECISIONS: usize = 6;
/// Rows that the tables of all decisions list.
const MOST_LISTED: usize = 1200;

/// A part that is at least this share of the largest one, and of the other sign, is a view that disagrees.
const DISAGREES: f64 = 0.25;

/// What decisions are about.
pub(in crate::report::page) struct Outputs<'a> {
    pub(in crate::report::page) names: &'a [String],
    /// Classes, not numbers or risks.
    pub(in crate::report::page) are_classes: bool,
}

/// The strips of the decisions. `names` are those of the rows, `of` says by what the parts are told.
pub(in crate::report::page) fn section(
    parts: &Parts,
    outputs: &Outputs<'_>,
    names: &[String],
    of: &str,
) -> Option<Section> {
    let n = parts.values.first()?.n_rows();
    if n == 0 || parts.names.is_empty() {
        return None;
    }
    let totals = parts.totals();
    let spread = |p: usize| totals.column(p).iter().map(|value| value * value).sum::<f64>();
    let (order, is_cut) = largest(&(0..parts.values.len()).map(spread).collect::<Vec<_>>(), MOST_DECISIONS);
    let mut n_disagree = 0;
    let mut figures = vec![];
    for &p in &order {
        let (figure, disagree) = strip(parts, p, &totals.column(p), outputs, names, of);
        n_disagree += disagree;
        figures.push(figure);
    }
    let pieces = order.len() * n.min(MOST_ROWS);
    let what = outputs.word();
    let disagree = if outputs.are_classes { "speak for different classes" } else { "pull in different directions" };
    let mut says = format!(
        "Each column of bars is a row of the data, sorted by the {what} in the top lane. The bars under it are what each {of} adds; with \
         the constant they sum to the {what} exactly. In {n_disagree} of {pieces} {what}s shown, marked at the bottom, {of}s {disagree}.",
    );
    if is_cut {
        says += &format!(
            " {} with the largest decisions of {} are drawn.",
            count(MOST_DECISIONS, "pair"),
            parts.values.len()
        );
    }
    if n > MOST_ROWS {
        says += &format!(" {MOST_ROWS} of {n} rows are drawn, evenly spaced.");
    }
    Some(Section { id: "rows", title: "Shares by row".into(), says, figures })
}

impl Outputs<'_> {
    fn word(&self) -> &'static str {
        if self.are_classes { "decision" } else { "prediction" }
    }
}

fn strip(
    parts: &Parts,
    p: usize,
    totals: &[f64],
    outputs: &Outputs<'_>,
    names: &[String],
    of: &str,
) -> (Figure, usize) {
    let (title, what) = (parts.title(p, outputs.names), outputs.word());
    let values = &parts.values[p];
    let mut order: Vec<usize> = (0..totals.len()).collect();
    order.sort_by(|&i, &j| totals[j].total_cmp(&totals[i]));
    let n = order.len().min(MOST_ROWS);
    let order: Vec<usize> = (0..n).map(|k| order[k * order.len() / n]).collect();
    let size = |k: usize| values.column(k).iter().map(|value| value.abs()).sum::<f64>();
    let (shown, is_cut) = largest(&(0..parts.names.len()).map(size).collect::<Vec<_>>(), MOST_LANES);
    let rest: Vec<usize> = (0..parts.names.len()).filter(|k| !shown.contains(k)).collect();
    let of_rest = |i: usize| rest.iter().map(|&k| values.get(i, k)).sum::<f64>();
    // A number far from zero would be a lane of equal bars: it is drawn relative to its constant.
    let from = if outputs.are_classes { 0.0 } else { parts.biases[p] };
    let mut lanes = vec![(what.to_string(), order.iter().map(|&i| totals[i] - from).collect::<Vec<f64>>())];
    lanes.extend(shown.iter().map(|&k| (short(&parts.names[k]), order.iter().map(|&i| values.get(i, k)).collect())));
    if is_cut {
        lanes.push((format!("{} others", rest.len()), order.iter().map(|&i| of_rest(i)).collect()));
    }
    let disagree = |at: &usize| {
        let here = lanes[1..].iter().map(|lane| lane.1[*at]);
        let (low, high) = here.fold((0.0f64, 0.0f64), |(low, high), value| (low.min(value), high.max(value)));
        (-low).min(high) > DISAGREES * (-low).max(high)
    };
    let marked: Vec<usize> = (0..n).filter(disagree).collect();
    let describes = format!(
        "For {n} rows, sorted by the {what} {title}: the {what}, and the part of each {of}; bars up {sides}",
        sides = if outputs.are_classes {
            "speak for the first class, bars down against it"
        } else {
            "raise it, bars down lower it"
        },
    );
    let mut head = vec!["row", what];
    let lane_names: Vec<String> = lanes[1..].iter().map(|lane| lane.0.clone()).collect();
    head.extend(lane_names.iter().map(String::as_str));
    head.extend(["constant", "disagree"]);
    let mut table = Table::new(&format!("Parts of the {what} {title}"), &head);
    let listed = MOST_LISTED / parts.values.len().min(MOST_DECISIONS);
    for (at, &i) in order.iter().enumerate().step_by(n.div_ceil(listed)) {
        let mut row = vec![Cell::Text(names.get(i).cloned().unwrap_or_else(|| (i + 1).to_string()))];
        row.push(Cell::Number(six_digits(totals[i])));
        row.extend(lanes[1..].iter().map(|lane| Cell::Number(six_digits(lane.1[at]))));
        row.push(Cell::Number(six_digits(parts.biases[p])));
        row.push(if marked.contains(&at) { "yes" } else { "" }.into());
        table.row(row);
    }
    let n_marked = marked.len();
    let sides = match parts.decisions[p] {
        Decision::Between(first, second) => {
            format!("up: {}, down: {}", brief(&outputs.names[first]), brief(&outputs.names[second]))
        }
        Decision::For(class) if outputs.are_classes => {
            format!("up: {}, down: another class", brief(&outputs.names[class]))
        }
        Decision::For(number) => format!("up: {} above its constant, down: below", brief(&outputs.names[number])),
    };
    let svg = Lanes {
        id: &format!("rows-chart-{p}"),
        title: &format!("Parts of the {what} {title} by row"),
        describes: &describes,
        axis: &format!("rows, sorted by the {what}; {sides}"),
        lanes,
        marked,
        marks: if n_marked > 0 { "disagree" } else { "" },
    }
    .svg();
    (Figure { svg, table }, n_marked)
}

/// A number to six digits, which take less room than sixteen.
fn six_digits(x: f64) -> f64 {
    format!("{x:.5e}").parse().unwrap_or(x)
}
