//! A picture of a table that varies a parameter: the mean accuracy of each method by it, a panel for each data set.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use multikernel::evaluate::Spread;
use multikernel::{Error, Result};

use super::line::Line;

/// Colours distinguishable to people with red-green colour blindness (Okabe and Ito).
const COLOURS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000"];

/// Pixels: a panel with its margins, and the plot in it.
const PANEL: [f64; 2] = [380.0, 300.0];
const PLOT: [f64; 4] = [62.0, 30.0, 300.0, 210.0];
const PANELS_ABREAST: usize = 2;
const LEGEND: f64 = 20.0;

/// From this ratio of the largest value to the smallest on, the scale is logarithmic.
const LOGARITHMIC: f64 = 50.0;

/// Accuracy at a value of the parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    x: f64,
    mean: f64,
    /// Standard error of the mean over splits.
    error: f64,
}

/// Data set, then method, then its points.
type Panels<'a> = Vec<(&'a str, BTreeMap<String, Vec<Point>>)>;

/// Draws the lines of a table as SVG.
pub(super) fn svg(table: &str, lines: &[Line]) -> Result<String> {
    let key = varied(lines).ok_or_else(|| {
        Error::param("picture", format!("the table {table} does not vary a number, so there is nothing to draw"))
    })?;
    let panels = panels(lines, &key);
    let names: BTreeSet<&String> = panels.iter().flat_map(|(_, series)| series.keys()).collect();
    let names: Vec<&String> = names.into_iter().collect();
    let n_rows = panels.len().div_ceil(PANELS_ABREAST);
    let top = 20.0 + LEGEND * names.len() as f64;
    let [width, height] = [PANEL[0] * PANELS_ABREAST.min(panels.len()) as f64, top + PANEL[1] * n_rows as f64];
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n<title>{table}: accuracy by {key}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    for (at, name) in names.iter().enumerate() {
        let (y, colour) = (18.0 + LEGEND * at as f64, COLOURS[at % COLOURS.len()]);
        put(&mut svg, format_args!("<path stroke=\"{colour}\" stroke-width=\"2\" d=\"M20 {}h26\"/>\n", y - 4.0));
        put(&mut svg, format_args!("<text x=\"54\" y=\"{y}\">{name}</text>\n"));
    }
    for (at, (set, series)) in panels.iter().enumerate() {
        let corner = [PANEL[0] * (at % PANELS_ABREAST) as f64, top + PANEL[1] * (at / PANELS_ABREAST) as f64];
        panel(&mut svg, corner, (set, &key), series, &names);
    }
    Ok(svg + "</svg>\n")
}

/// The number with most values in the titles of the methods.
fn varied(lines: &[Line]) -> Option<String> {
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (key, value) in lines.iter().flat_map(|line| settings(&line.method)) {
        if value.parse::<f64>().is_ok_and(f64::is_finite) {
            values.entry(key).or_default().insert(value);
        }
    }
    let most = values.into_iter().filter(|(_, values)| values.len() > 2).max_by_key(|(_, values)| values.len());
    most.map(|(key, _)| key.to_string())
}

fn settings(title: &str) -> impl Iterator<Item = (&str, &str)> {
    title.split(' ').filter_map(|word| word.split_once('='))
}

/// Lines without the parameter are left out.
fn panels<'a>(lines: &'a [Line], key: &str) -> Panels<'a> {
    let mut panels: Panels<'a> = vec![];
    for line in lines {
        let found = settings(&line.method).find(|(name, _)| *name == key);
        let Some(x) = found.and_then(|(_, value)| value.parse::<f64>().ok()) else { continue };
        let Some(Spread { mean, std }) = Spread::of(&line.accuracies) else { continue };
        let is_other = |word: &&str| word.split_once('=').is_none_or(|(name, _)| name != key);
        let name = line.method.split(' ').filter(is_other).collect::<Vec<_>>().join(" ");
        let error = std.unwrap_or(0.0) / (line.accuracies.len() as f64).sqrt();
        if panels.last().is_none_or(|(set, _)| *set != line.dataset) {
            panels.push((&line.dataset, BTreeMap::new()));
        }
        if let Some((_, series)) = panels.last_mut() {
            series.entry(name).or_default().push(Point { x, mean, error });
        }
    }
    panels
}

/// One data set: frame, ticks, then a line with bars for each method.
fn panel(
    svg: &mut String,
    corner: [f64; 2],
    (set, key): (&str, &str),
    series: &BTreeMap<String, Vec<Point>>,
    names: &[&String],
) {
    let [left, top, width, height] = PLOT;
    let all = || series.values().flatten();
    let across = Scale::of(all().map(|point| point.x));
    let up = Scale::linear(all().flat_map(|point| [point.mean - point.error, point.mean + point.error]));
    let x = |value: f64| left + width * across.place(value);
    let y = |value: f64| top + height * (1.0 - up.place(value));
    put(svg, format_args!("<g transform=\"translate({} {})\">\n", corner[0], corner[1]));
    put(svg, format_args!("<text x=\"{left}\" y=\"20\" font-size=\"14\">{set}</text>\n"));
    put(svg, format_args!("<path fill=\"none\" stroke=\"#222\" d=\"M{left} {top}h{width}v{height}h-{width}z\"/>\n"));
    let bottom = top + height;
    let values: BTreeSet<String> = all().map(|point| point.x.to_string()).collect();
    for value in values.iter().filter_map(|text| text.parse::<f64>().ok()) {
        let at = x(value);
        put(svg, format_args!("<path stroke=\"#222\" d=\"M{at:.2} {bottom}v4\"/>\n"));
        let text = short(value);
        put(
            svg,
            format_args!(
                "<text x=\"{at:.2}\" y=\"{}\" text-anchor=\"middle\" font-size=\"10\">{text}</text>\n",
                bottom + 17.0
            ),
        );
    }
    for (value, text) in up.ticks() {
        let at = y(value);
        put(svg, format_args!("<path stroke=\"#ddd\" d=\"M{left} {at:.2}h{width}\"/>\n"));
        put(svg, format_args!("<text x=\"{}\" y=\"{:.2}\" text-anchor=\"end\">{text}</text>\n", left - 6.0, at + 4.0));
    }
    put(
        svg,
        format_args!(
            "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{key}</text>\n",
            left + width / 2.0,
            bottom + 36.0
        ),
    );
    for (name, points) in series {
        let colour = names.iter().position(|known| *known == name).map_or(COLOURS[0], |at| COLOURS[at % COLOURS.len()]);
        let mut path = String::new();
        for (i, point) in points.iter().enumerate() {
            put(&mut path, format_args!("{}{:.2} {:.2}", if i == 0 { "M" } else { "L" }, x(point.x), y(point.mean)));
        }
        for point in points {
            let (low, high) = (y(point.mean - point.error), y(point.mean + point.error));
            put(&mut path, format_args!("M{:.2} {low:.2}V{high:.2}", x(point.x)));
        }
        put(svg, format_args!("<path fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\" d=\"{path}\"/>\n"));
    }
    svg.push_str("</g>\n");
}

/// Where a value lies between the ends of an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Scale {
    low: f64,
    high: f64,
    is_log: bool,
}

impl Scale {
    fn linear(values: impl Iterator<Item = f64>) -> Scale {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        // A constant gets a span too.
        let room = if high > low { 0.05 * (high - low) } else { 0.01 };
        Scale { low: low - room, high: high + room, is_log: false }
    }

    /// Logarithmic where positive values span much.
    fn of(values: impl Iterator<Item = f64> + Clone) -> Scale {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.clone().fold(f64::NEG_INFINITY, f64::max);
        let is_log = low > 0.0 && high / low > LOGARITHMIC;
        let scale = Scale::linear(values.map(|value| if is_log { value.ln() } else { value }));
        Scale { is_log, ..scale }
    }

    fn place(&self, value: f64) -> f64 {
        let value = if self.is_log { value.ln() } else { value };
        (value - self.low) / (self.high - self.low)
    }

    /// At most seven round values inside a linear scale, with their texts.
    fn ticks(&self) -> Vec<(f64, String)> {
        let steps = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5];
        let span = self.high - self.low;
        let Some(step) = steps.into_iter().find(|step| span / step <= 6.0) else { return vec![] };
        let first = (self.low / step).ceil() as i64;
        let values = (first..).map(|k| k as f64 * step).take_while(|value| *value <= self.high);
        values.map(|value| (value, format!("{value:.3}"))).collect()
    }
}

/// Few digits: powers of two of a decay have many.
fn short(value: f64) -> String {
    if value != 0.0 && value.abs() < 0.05 { format!("2^{:.0}", value.log2()) } else { value.to_string() }
}

/// Appends to a text, which cannot fail.
fn put(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(set: &str, method: &str, accuracies: &[f64]) -> Line {
        let empty = Line::new(set, "bank", "split".into(), method.into(), None);
        Line { accuracies: accuracies.to_vec(), ..empty }
    }

    fn lines() -> Vec<Line> {
        let one = |set, trials: u32, accuracies: &[f64]| line(set, &format!("a c=1 trials={trials} x=no"), accuracies);
        vec![
            one("first", 20, &[0.5, 0.75]),
            one("first", 50, &[0.75, 0.75]),
            one("first", 100, &[0.75, 1.0]),
            line("first", "b", &[0.5]),
            one("second", 20, &[0.25]),
        ]
    }

    #[test]
    fn points_have_the_mean_and_its_standard_error() {
        let lines = lines();
        assert_eq!(varied(&lines).as_deref(), Some("trials"));
        let found = panels(&lines, "trials");
        assert_eq!((found.len(), found[0].0, found[1].0), (2, "first", "second"));
        // Standard deviation .25 / sqrt(2), over sqrt(2) splits: .125. Methods without the parameter are left out.
        let points = [(20.0, 0.625, 0.125), (50.0, 0.75, 0.0), (100.0, 0.875, 0.125)];
        let points = points.map(|(x, mean, error)| Point { x, mean, error });
        assert_eq!(found[0].1.len(), 1);
        let drawn = &found[0].1["a c=1 x=no"];
        assert!(
            drawn.iter().zip(points).all(|(a, b)| a.x == b.x && a.mean == b.mean && (a.error - b.error).abs() < 1e-12)
        );
    }

    #[test]
    fn picture_has_a_panel_for_each_set_and_a_line_for_each_method() {
        let drawn = svg("t", &lines()).unwrap();
        assert_eq!((drawn.matches("<g ").count(), drawn.matches("</g>").count()), (2, 2));
        assert_eq!(drawn.matches("stroke-width=\"1.6\"").count(), 2);
        assert!(drawn.contains(">a c=1 x=no</text>") && drawn.contains(">first</text>"), "{drawn}");
        // The middle point of the first panel: accuracies from .5 to 1 with a twentieth of room, trials from 20 to 100.
        let (x, y) = (62.0 + 300.0 * (34.0 / 88.0), 30.0 + 210.0 * 0.5);
        assert!(drawn.contains(&format!("L{x:.2} {y:.2}")), "{drawn}");
        let error = svg("t", &[line("first", "b", &[0.5])]).unwrap_err().to_string();
        assert_eq!(error, "parameter picture: the table t does not vary a number, so there is nothing to draw");
    }

    #[test]
    fn scales_are_logarithmic_where_values_span_much() {
        let scale = Scale::of([0.001, 0.1, 1.0].into_iter());
        assert!(scale.is_log && (scale.place(0.001f64.sqrt()) - 0.5).abs() < 1e-9);
        let scale = Scale::of([20.0, 200.0].into_iter());
        assert!(!scale.is_log && (scale.place(110.0) - 0.5).abs() < 1e-12);
        let texts: Vec<String> = Scale::linear([0.8, 0.9].into_iter()).ticks().into_iter().map(|tick| tick.1).collect();
        assert_eq!(texts, ["0.800", "0.820", "0.840", "0.860", "0.880", "0.900"]);
    }
}
