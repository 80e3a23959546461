//! The kinds of charts: rows of values with intervals, grids of shades, curves, bars up and down.

use super::canvas::{Anchor, Canvas, WIDTH};
use crate::report::boundary::{Axis, short};
use crate::report::numbers::figure;

/// Left edge of plots beside names, and right edge of all.
const LEFT: f64 = 250.0;
const RIGHT: f64 = WIDTH - 24.0;
/// Characters of a name beside a plot.
const NAME: usize = 30;

/// One line of a chart of rows.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) value: f64,
    pub(super) interval: Option<(f64, f64)>,
    /// A full dot; an open one says that the value cannot be told from the zero line.
    pub(super) is_certain: bool,
}

/// Values beside their names, with intervals, a line to compare with and a band behind them.
pub(super) struct Rows<'a> {
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    pub(super) describes: &'a str,
    pub(super) axis: &'a str,
    pub(super) rows: Vec<Row>,
    /// A dashed line with its name.
    pub(super) zero: Option<(f64, &'a str)>,
    /// A shaded range with its name.
    pub(super) band: Option<((f64, f64), &'a str)>,
    /// Whether distances are those of square roots, which shows small values beside large ones.
    pub(super) is_root: bool,
}

impl Rows<'_> {
    pub(super) fn svg(&self) -> String {
        let (step, top) = (24.0, if self.zero.is_some() || self.band.is_some() { 26.0 } else { 8.0 });
        let bottom = top + step * self.rows.len() as f64;
        let mut canvas = Canvas::new(bottom + 46.0);
        let axis = self.axis();
        let at = |value: f64| LEFT + (RIGHT - LEFT) * axis.place(self.bent(value)).clamp(0.0, 1.0);
        if let Some(((low, high), name)) = self.band {
            canvas.cell("band", [at(low), top, (at(high) - at(low)).max(1.0), bottom - top], 0.22, name);
            canvas.text([0.5 * (at(low) + at(high)), 16.0], Anchor::Middle, name, 40);
        }
        scale(&mut canvas, &axis, [LEFT, RIGHT], [top, bottom], self.is_root);
        if let Some((value, name)) = self.zero {
            canvas.line("zero", [at(value), top - 6.0], [at(value), bottom]);
            if self.band.is_none() {
                canvas.text([at(value), 14.0], Anchor::Middle, name, 40);
            }
        }
        for (k, row) in self.rows.iter().enumerate() {
            let y = top + step * (k as f64 + 0.5);
            canvas.text([LEFT - 10.0, y + 4.5], Anchor::End, &row.name, NAME);
            if let Some((low, high)) = row.interval.filter(|(low, high)| low.is_finite() && high.is_finite()) {
                canvas.line("span", [at(low), y], [at(high), y]);
                canvas.line("span", [at(low), y - 4.0], [at(low), y + 4.0]);
                canvas.line("span", [at(high), y - 4.0], [at(high), y + 4.0]);
            }
            if row.value.is_finite() {
                let class = if row.is_certain { "full" } else { "open" };
                canvas.dot(class, [at(row.value), y], 5.0, &format!("{}: {}", row.name, told(row.value, row.interval)));
            } else {
                canvas.text([LEFT + 6.0, y + 4.5], Anchor::Start, "not known", 20);
            }
        }
        let root = if self.is_root { " (square-root scale)" } else { "" };
        canvas.text([0.5 * (LEFT + RIGHT), bottom + 38.0], Anchor::Middle, &format!("{}{root}", self.axis), 90);
        canvas.finish(self.id, self.title, self.describes)
    }

    fn bent(&self, value: f64) -> f64 {
        if self.is_root { value.signum() * value.abs().sqrt() } else { value }
    }

    fn axis(&self) -> Axis {
        let ends = |(low, high): (f64, f64)| [low, high];
        let all =
            self.rows.iter().flat_map(|row| [row.value].into_iter().chain(row.interval.into_iter().flat_map(ends)));
        let all =
            all.chain(self.zero.map(|(value, _)| value)).chain(self.band.into_iter().flat_map(|(band, _)| ends(band)));
        let known = all.filter(|value| value.is_finite()).map(|value| self.bent(value));
        around(known)
    }
}

/// A range around values that is never empty.
pub(super) fn around(values: impl Iterator<Item = f64>) -> Axis {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    if !(low.is_finite() && high.is_finite() && (high - low).is_finite()) {
        return Axis { low: 0.0, high: 1.0 };
    }
    let room = if high > low { 0.04 * (high - low) } else { 0.5 * low.abs().max(1e-3) };
    Axis { low: low - room, high: high + room }
}

/// A scale under a plot, with a grid.
fn scale(canvas: &mut Canvas, axis: &Axis, [left, right]: [f64; 2], [top, bottom]: [f64; 2], is_root: bool) {
    for (value, text) in axis.ticks() {
        let x = left + (right - left) * axis.place(value);
        canvas.line("grid", [x, top], [x, bottom]);
        let text = if is_root {
            figure(value * value.abs()).trim_end_matches('0').trim_end_matches('.').to_string()
        } else {
            text
        };
        canvas.text([x, bottom + 18.0], Anchor::Middle, if text == "-0" { "0" } else { &text }, 14);
    }
    canvas.line("axis", [left, bottom], [right, bottom]);
}

/// A value with its interval, in words.
pub(super) fn told(value: f64, interval: Option<(f64, f64)>) -> String {
    match interval {
        Some((low, high)) => format!("{} [{}, {}]", figure(value), figure(low), figure(high)),
        None => figure(value),
    }
}

/// A grid of shades, one cell for each row and column.
pub(super) struct Heat<'a> {
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    pub(super) describes: &'a str,
    pub(super) rows: &'a [String],
    pub(super) columns: &'a [String],
    /// Names of the two sides.
    pub(super) sides: [&'a str; 2],
    /// From -1 to 1: the depth of a cell, negative in the other colour.
    pub(super) depth: &'a dyn Fn(usize, usize) -> f64,
    /// What stands in a cell, where there is room, and in its tooltip.
    pub(super) words: &'a dyn Fn(usize, usize) -> String,
}

impl Heat<'_> {
    pub(super) fn svg(&self) -> String {
        let (n, m) = (self.rows.len().max(1), self.columns.len().max(1));
        let (left, top) = (200.0, 44.0);
        let size = ((WIDTH - left - 16.0) / m as f64).min(64.0);
        let side = size.min(34.0).max(size.min(8.0));
        let bottom = top + side * n as f64;
        let has_words = size >= 26.0 && side >= 16.0;
        // Every name where there is room, else every few.
        let every = |room: f64, need: f64| (need / room).ceil().max(1.0) as usize;
        let (some_rows, some_columns) = (every(side, 14.0), every(size, 14.0));
        let longest = self.columns.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        let are_flat = size >= 7.5 * longest.min(12) as f64;
        let below = if are_flat { 24.0 } else { 20.0 + 5.4 * longest.min(24) as f64 };
        let mut canvas = Canvas::new(bottom + below + 22.0);
        canvas.text([left, 16.0], Anchor::Start, &format!("rows: {}, columns: {}", self.sides[0], self.sides[1]), 90);
        for (i, row) in self.rows.iter().enumerate() {
            let y = top + side * i as f64;
            if i % some_rows == 0 {
                canvas.text([left - 8.0, y + 0.5 * side + 4.5], Anchor::End, row, 24);
            }
            for (j, column) in self.columns.iter().enumerate() {
                let (depth, x) = ((self.depth)(i, j), left + size * j as f64);
                let words = (self.words)(i, j);
                let class = if depth < 0.0 { "over" } else { "fill" };
                let tip = if n * m <= 1000 { format!("{row}, {column}: {words}") } else { String::new() };
                if depth != 0.0 || !tip.is_empty() {
                    canvas.cell(class, [x, y, size, side], 0.7 * depth.abs(), &tip);
                }
                if has_words {
                    let middle = [x + 0.5 * size, y + 0.5 * side + 4.5];
                    canvas.text(middle, Anchor::Middle, &words, (size / 7.0) as usize);
                }
            }
        }
        let (width, height) = (size * m as f64, side * n as f64);
        canvas.path(
            "box",
            &format!("M{} {}h{}v{}h-{}z", short(left), short(top), short(width), short(height), short(width)),
        );
        for (j, column) in self.columns.iter().enumerate().filter(|(j, _)| j % some_columns == 0) {
            let x = left + size * (j as f64 + 0.5);
            if are_flat {
                canvas.text([x, bottom + 18.0], Anchor::Middle, column, 12);
            } else {
                canvas.turned([x + 4.0, bottom + 14.0], column, 24);
            }
        }
        canvas.finish(self.id, self.title, self.describes)
    }
}

/// A named line.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) points: Vec<[f64; 2]>,
    /// The lowest and highest at each point over splits, if there are several.
    pub(super) spread: Option<Vec<[f64; 2]>>,
}

/// Lines in a square, from 0 to 1 upwards and from 0 to `until` across.
pub(super) struct Curves<'a> {
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    pub(super) describes: &'a str,
    pub(super) axes: [&'a str; 2],
    pub(super) lines: Vec<Line>,
    /// Whether there is a line from corner to corner to compare with.
    pub(super) has_diagonal: bool,
    /// The radius of the mark at a point of a line; `None` for lines without marks.
    pub(super) radius: Option<&'a dyn Fn(usize, usize) -> f64>,
    /// The right end of the square.
    pub(super) until: f64,
}

/// Lines that can be told apart by colour and dashes.
pub(super) const MOST_LINES: usize = 6;

impl Curves<'_> {
    pub(super) fn svg(&self) -> String {
        let (left, top, side) = (70.0, 10.0, 330.0);
        let mut canvas = Canvas::new(top + side + 50.0);
        let across = Axis { low: 0.0, high: self.until };
        let place =
            |[x, y]: [f64; 2]| [left + side * across.place(x).clamp(0.0, 1.0), top + side * (1.0 - y.clamp(0.0, 1.0))];
        for k in 0..=5 {
            let part = f64::from(k) / 5.0;
            let [_, y] = place([0.0, part]);
            canvas.line("grid", [left, y], [left + side, y]);
            canvas.text([left - 8.0, y + 4.5], Anchor::End, &format!("{part:.1}"), 4);
        }
        for (value, text) in across.ticks() {
            let [x, _] = place([value, 0.0]);
            canvas.line("grid", [x, top], [x, top + side]);
            canvas.text([x, top + side + 18.0], Anchor::Middle, &text, 12);
        }
        if self.has_diagonal {
            canvas.line("zero", place([0.0, 0.0]), place([self.until, 1.0]));
        }
        for (k, Line { name, points, spread }) in self.lines.iter().enumerate().take(MOST_LINES) {
            if let Some(spread) = spread {
                let up = points.iter().zip(spread).map(|(&[x, _], &[_, high])| [x, high]);
                let down = points.iter().zip(spread).rev().map(|(&[x, _], &[low, _])| [x, low]);
                canvas.path(&format!("p{k} spread"), &(joined(up.chain(down).map(place)) + "z"));
            }
            canvas.path(&format!("l{k}"), &joined(points.iter().copied().map(place)));
            if let Some(radius) = self.radius {
                for (at, &[x, y]) in points.iter().enumerate() {
                    let tip = format!("{name}: {} {}", figure(x), figure(y));
                    canvas.dot(&format!("p{k}"), place([x, y]), radius(k, at), &tip);
                }
            }
            let y = top + 16.0 + 22.0 * k as f64;
            canvas.line(&format!("l{k}"), [left + side + 24.0, y - 4.0], [left + side + 58.0, y - 4.0]);
            canvas.text([left + side + 66.0, y], Anchor::Start, name, 32);
        }
        canvas.text([left + 0.5 * side, top + side + 40.0], Anchor::Middle, self.axes[0], 60);
        canvas.turned_up([18.0, top + 0.5 * side], self.axes[1]);
        canvas.finish(self.id, self.title, self.describes)
    }
}

/// One curve over its own range.
pub(super) struct Trace<'a> {
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    pub(super) describes: &'a str,
    pub(super) axes: [&'a str; 2],
    pub(super) points: &'a [[f64; 2]],
}

impl Trace<'_> {
    pub(super) fn svg(&self) -> String {
        let (left, top, wide, high) = (100.0, 10.0, WIDTH - 130.0, 200.0);
        let mut canvas = Canvas::new(top + high + 50.0);
        let [across, up] = [0, 1].map(|axis| around(self.points.iter().map(|point| point[axis])));
        let place = |[x, y]: [f64; 2]| [left + wide * across.place(x), top + high * (1.0 - up.place(y))];
        for (value, text) in across.ticks() {
            let [x, _] = place([value, up.low]);
            canvas.line("grid", [x, top], [x, top + high]);
            canvas.text([x, top + high + 18.0], Anchor::Middle, &text, 12);
        }
        for (value, text) in up.ticks() {
            let [_, y] = place([across.low, value]);
            canvas.line("grid", [left, y], [left + wide, y]);
            canvas.text([left - 8.0, y + 4.5], Anchor::End, &text, 12);
        }
        canvas.path("l0", &joined(self.points.iter().copied().map(place)));
        if let Some(&last) = self.points.last() {
            canvas.dot("p0", place(last), 4.0, &format!("{} {}", figure(last[0]), figure(last[1])));
        }
        canvas.text([left + 0.5 * wide, top + high + 40.0], Anchor::Middle, self.axes[0], 60);
        canvas.turned_up([18.0, top + 0.5 * high], self.axes[1]);
        canvas.finish(self.id, self.title, self.describes)
    }
}

fn joined(points: impl Iterator<Item = [f64; 2]>) -> String {
    let mut d = String::new();
    for (k, [x, y]) in points.enumerate() {
        d.push_str(if k == 0 { "M" } else { "L" });
        d += &format!("{} {}", short(x), short(y));
    }
    d
}

/// Lanes of thin bars, up for positive and down for negative values.
pub(super) struct Lanes<'a> {
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    pub(super) describes: &'a str,
    pub(super) axis: &'a str,
    /// Names and values, all of one length; the first lane has its own scale.
    pub(super) lanes: Vec<(String, Vec<f64>)>,
    /// Positions to point at under the lanes.
    pub(super) marked: Vec<usize>,
    pub(super) marks: &'a str,
}

impl Lanes<'_> {
    pub(super) fn svg(&self) -> String {
        let (left, high, gap) = (200.0, 44.0, 10.0);
        let n = self.lanes.first().map_or(0, |lane| lane.1.len()).max(1);
        let bottom = 8.0 + (high + gap) * self.lanes.len() as f64;
        let mut canvas = Canvas::new(bottom + 46.0);
        let width = (WIDTH - left - 12.0) / n as f64;
        let most = |lanes: &[(String, Vec<f64>)]| {
            lanes
                .iter()
                .flat_map(|lane| &lane.1)
                .filter(|value| value.is_finite())
                .fold(0.0, |most: f64, value| most.max(value.abs()))
        };
        for (k, (name, values)) in self.lanes.iter().enumerate() {
            let scale = if k == 0 { most(&self.lanes[..1]) } else { most(&self.lanes[1..]) };
            let middle = 8.0 + (high + gap) * k as f64 + 0.5 * high;
            let (mut up, mut down) = (String::new(), String::new());
            for (i, &value) in values.iter().enumerate().filter(|(_, value)| value.is_finite() && scale > 0.0) {
                let (x, tall) = (left + width * i as f64, 0.5 * high * value / scale);
                if tall.abs() >= 0.1 {
                    let path = if tall > 0.0 { &mut up } else { &mut down };
                    path.push_str(&format!(
                        "M{} {}h{}v{}h-{}z",
                        short(x),
                        short(middle),
                        short(width),
                        short(-tall),
                        short(width)
                    ));
                }
            }
            canvas.path("pos", &up);
            canvas.path("neg", &down);
            canvas.line(if k == 0 { "axis" } else { "grid" }, [left, middle], [WIDTH - 12.0, middle]);
            canvas.text([left - 10.0, middle + 4.5], Anchor::End, name, 24);
        }
        let marks: String = self
            .marked
            .iter()
            .map(|&i| format!("M{} {}v7", short(left + width * (i as f64 + 0.5)), short(bottom + 2.0)))
            .collect();
        canvas.path("thin", &marks);
        if !self.marks.is_empty() {
            canvas.text([left - 10.0, bottom + 10.0], Anchor::End, self.marks, 27);
        }
        canvas.text([0.5 * (left + WIDTH), bottom + 36.0], Anchor::Middle, self.axis, 80);
        canvas.finish(self.id, self.title, self.describes)
    }
}
