//! How close predicted numbers come to the truth, and whether their intervals hold what they promise.

use super::super::canvas::{Anchor, Canvas};
use super::super::chart::around;
use super::super::html::{Cell, Figure, Section, Table};
use super::brief;
use crate::dist::normal_quantile;
use crate::evaluate::NumberMetrics;
use crate::linalg::Matrix;
use crate::report::count;
use crate::report::numbers::figure;

/// Numbers that are drawn, and rows of each.
const MOST_NUMBERS: usize = 4;
const MOST_ROWS: usize = 400;
/// The intervals whose coverage is told.
const LEVELS: [f64; 4] = [0.5, 0.8, 0.9, 0.95];

/// Predicted numbers on rows whose numbers are known.
pub(in crate::report::page) struct Residuals<'a> {
    pub(in crate::report::page) names: &'a [String],
    pub(in crate::report::page) truth: &'a Matrix,
    pub(in crate::report::page) predicted: &'a Matrix,
    /// Where predictions are normal distributions.
    pub(in crate::report::page) deviations: Option<&'a Matrix>,
    pub(in crate::report::page) metrics: NumberMetrics,
    /// Which rows these are, in words.
    pub(in crate::report::page) over: &'a str,
    pub(in crate::report::page) rows: &'a [String],
}

pub(in crate::report::page) fn section(found: &Residuals<'_>) -> Option<Section> {
    let n = found.truth.n_rows();
    if n == 0 {
        return None;
    }
    let mut says = format!(
        "On the dashed line a prediction is right; R2 is {:.3} {}. Half of the squared error lies in {} of {n}. ",
        found.metrics.r2,
        found.over,
        count(largest_half(found), "row"),
    );
    let covered: Vec<f64> = LEVELS.iter().filter_map(|&level| coverage(found, level)).collect();
    if let Some(&inside) = covered.get(2) {
        let word = match inside {
            _ if (inside - 0.9).abs() <= 2.0 * (0.09 / n as f64).sqrt() => {
                "as promised, as far as so many rows can tell"
            }
            _ if inside < 0.9 => "fewer than promised: they are too narrow for these rows",
            _ => "more than promised: they are wider than these rows need",
        };
        says += &format!("The 90 % intervals hold {:.1} % of the rows, {word}.", 100.0 * inside);
    }
    let mut figures: Vec<Figure> = (0..found.names.len().min(MOST_NUMBERS)).map(|t| of_number(found, t)).collect();
    if !covered.is_empty() {
        figures.push(of_coverage(&covered));
    }
    Some(Section { id: "residuals", title: "Predicted and true numbers".into(), says, figures })
}

/// How few rows make up half of the squared error of the first number.
fn largest_half(found: &Residuals<'_>) -> usize {
    let mut errors: Vec<f64> =
        (0..found.truth.n_rows()).map(|i| (found.truth.get(i, 0) - found.predicted.get(i, 0)).powi(2)).collect();
    errors.sort_by(|a, b| b.total_cmp(a));
    let all: f64 = errors.iter().sum();
    let sums = errors.iter().scan(0.0, |sum, error| {
        *sum += error;
        Some(*sum)
    });
    sums.take_while(|&sum| sum < 0.5 * all).count() + 1
}

/// The share of numbers inside their intervals of a level.
fn coverage(found: &Residuals<'_>, level: f64) -> Option<f64> {
    let wide = normal_quantile(0.5 + 0.5 * level);
    let all = found.truth.data().iter().zip(found.predicted.data()).zip(found.deviations?.data());
    let inside = all.filter(|&((y, f), s)| (y - f).abs() <= wide * s).count();
    Some(inside as f64 / found.truth.data().len() as f64)
}

fn of_number(found: &Residuals<'_>, t: usize) -> Figure {
    let name = brief(&found.names[t]);
    let n = found.truth.n_rows();
    let shown: Vec<usize> = (0..n.min(MOST_ROWS)).map(|k| k * n / n.min(MOST_ROWS)).collect();
    let wide = normal_quantile(0.95);
    let mut head = vec!["row", "predicted", "true", "residual"];
    if found.deviations.is_some() {
        head.extend(["90 % from", "to"]);
    }
    let title = format!("Predicted and true {name}");
    let mut table = Table::new(&title, &head);
    for &i in &shown {
        let (y, f) = (found.truth.get(i, t), found.predicted.get(i, t));
        let mut row = vec![Cell::Text(found.rows[i].clone()), Cell::Number(f), Cell::Number(y), Cell::Number(y - f)];
        if let Some(deviations) = found.deviations {
            let half = wide * deviations.get(i, t);
            row.extend([Cell::Number(f - half), Cell::Number(f + half)]);
        }
        table.row(row);
    }
    Figure { svg: scatter(found, t, &shown, &title), table }
}

/// Truth against prediction, with 90 % intervals as thin lines.
fn scatter(found: &Residuals<'_>, t: usize, shown: &[usize], title: &str) -> String {
    let (left, top, side) = (90.0, 10.0, 360.0);
    let mut canvas = Canvas::new(top + side + 50.0);
    let wide = normal_quantile(0.95);
    let axis = around(shown.iter().flat_map(|&i| [found.truth.get(i, t), found.predicted.get(i, t)]));
    let x = |value: f64| left + side * axis.place(value).clamp(0.0, 1.0);
    let y = |value: f64| top + side * (1.0 - axis.place(value).clamp(0.0, 1.0));
    for (value, text) in axis.ticks() {
        canvas.line("grid", [x(value), top], [x(value), top + side]);
        canvas.line("grid", [left, y(value)], [left + side, y(value)]);
        canvas.text([x(value), top + side + 18.0], Anchor::Middle, &text, 12);
        canvas.text([left - 8.0, y(value) + 4.5], Anchor::End, &text, 10);
    }
    canvas.line("zero", [x(axis.low), y(axis.low)], [x(axis.high), y(axis.high)]);
    for &i in shown {
        let (truth, predicted) = (found.truth.get(i, t), found.predicted.get(i, t));
        let mut tip = format!("{}: predicted {}, true {}", found.rows[i], figure(predicted), figure(truth));
        let mut class = "full";
        if let Some(deviations) = found.deviations {
            let half = wide * deviations.get(i, t);
            tip += &format!(", 90 % {} to {}", figure(predicted - half), figure(predicted + half));
            if (truth - predicted).abs() > half {
                class = "open";
            }
        }
        canvas.dot(class, [x(predicted), y(truth)], 3.0, &tip);
    }
    if found.deviations.is_some() {
        let at = left + side + 24.0;
        canvas.dot("full", [at, top + 12.0], 3.0, "inside");
        canvas.text([at + 12.0, top + 16.0], Anchor::Start, "inside its 90 % interval", 30);
        canvas.dot("open", [at, top + 34.0], 3.0, "outside");
        canvas.text([at + 12.0, top + 38.0], Anchor::Start, "outside", 30);
    }
    canvas.text([left + 0.5 * side, top + side + 40.0], Anchor::Middle, "predicted", 60);
    canvas.turned_up([18.0, top + 0.5 * side], "true");
    let describes = "The true number of each row by the predicted one; on the dashed line they are the same; open dots lie outside their 90 % \
                     intervals";
    canvas.finish(&format!("residuals-chart-{t}"), title, describes)
}

fn of_coverage(covered: &[f64]) -> Figure {
    let mut table = Table::new("Coverage of intervals", &["interval", "share of rows inside"]);
    let mut canvas = Canvas::new(40.0 + 26.0 * covered.len() as f64);
    for (k, (&level, &inside)) in LEVELS.iter().zip(covered).enumerate() {
        table.row(vec![Cell::Number(level), Cell::Number(inside)]);
        let (y, left, wide) = (10.0 + 26.0 * k as f64, 200.0, 480.0);
        canvas.text([left - 10.0, y + 13.0], Anchor::End, &format!("{:.0} % intervals", 100.0 * level), 24);
        let tip = format!("{:.0} % intervals hold {:.1} %", 100.0 * level, 100.0 * inside);
        canvas.cell("fill", [left, y, wide * inside, 18.0], 0.7, &tip);
        canvas.line("zero", [left + wide * level, y - 3.0], [left + wide * level, y + 21.0]);
    }
    let y = 30.0 + 26.0 * covered.len() as f64;
    canvas.text([440.0, y], Anchor::Middle, "share of rows inside; the dashed line is what was promised", 70);
    let describes = "The share of rows inside intervals of four levels, beside the level";
    Figure { svg: canvas.finish("coverage-chart", "Coverage of intervals", describes), table }
}
