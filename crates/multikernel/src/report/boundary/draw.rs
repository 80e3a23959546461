//! The picture as SVG.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::super::{count, one_line};
use super::axis::Axis;
use super::{Boundary, LEVELS, PlottedRows, STEPS};
use crate::report::bars::cut;

/// Colours distinguishable to people with red-green colour blindness (Okabe and Ito).
const COLOURS: [[u8; 3]; 8] = [
    [0, 114, 178],
    [213, 94, 0],
    [0, 158, 115],
    [204, 121, 167],
    [230, 159, 0],
    [86, 180, 233],
    [240, 228, 66],
    [0, 0, 0],
];

/// Pixels: the overall size, the corner and side of the square in it, and the column beside it.
const SIZE: [usize; 2] = [770, 580];
const LEFT: usize = 82;
const TOP: usize = 40;
const SIDE: usize = 3 * STEPS;
const BESIDE: usize = LEFT + SIDE + 20;

/// Maximum number of classes named beside the picture, and the longest name there and elsewhere.
const MAX_CLASSES: usize = 20;
const MAX_IN_LIST: usize = 18;
const MAX_IN_TITLE: usize = 64;

const DARK: &str = "#222";

pub(super) fn svg(picture: &Boundary) -> String {
    let [width, height] = SIZE;
    let title = escaped(&picture.title, MAX_IN_TITLE);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\" fill=\"{DARK}\">\n\
         <title>{title}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"26\" font-size=\"16\">{title}</text>\n"
    );
    ground(picture, &mut svg);
    points(picture, "training", &picture.train, &mut svg);
    if let Some(held_out) = &picture.held_out {
        points(picture, "held-out", held_out, &mut svg);
    }
    frame(picture, &mut svg);
    beside(picture, &mut svg);
    remarks(picture, &mut svg);
    svg + "</svg>\n"
}

/// The shades, each as one path of strokes as wide as a grid row, and the lines between classes.
fn ground(picture: &Boundary, svg: &mut String) {
    let mut shades: BTreeMap<(usize, usize), String> = BTreeMap::new();
    for (down, row) in picture.ground.chunks(STEPS + 1).enumerate() {
        let mut right = 0;
        for run in row.chunk_by(|a, b| a == b) {
            let path = shades.entry(run[0]).or_default();
            put(path, format_args!("M{right} {down}h{}", run.len()));
            right += run.len();
        }
    }
    // A nested picture is clipped to its frame, since the outermost cells extend beyond it by half.
    put(
        svg,
        format_args!(
            "<svg x=\"{LEFT}\" y=\"{TOP}\" width=\"{SIDE}\" height=\"{SIDE}\" viewBox=\"0 0 {STEPS} {STEPS}\">\n"
        ),
    );
    svg.push_str("<g class=\"ground\" transform=\"translate(-.5)\" fill=\"none\" shape-rendering=\"crispEdges\">\n");
    for ((class, level), path) in shades {
        put(svg, format_args!("<path stroke=\"{}\" d=\"{path}\"/>\n", shade(class, level)));
    }
    svg.push_str("</g>\n");
    let mut path = String::new();
    for [[x, y], [to_x, to_y]] in &picture.lines {
        put(&mut path, format_args!("M{} {}L{} {}", short(*x), short(*y), short(*to_x), short(*to_y)));
    }
    put(
        svg,
        format_args!(
            "<path class=\"boundary\" fill=\"none\" stroke=\"{DARK}\" stroke-width=\".6\" stroke-linecap=\"round\" d=\"{path}\"/>\n</svg>\n"
        ),
    );
}

/// Rows by class: training rows as discs, others as rings.
fn points(picture: &Boundary, kind: &str, rows: &PlottedRows, svg: &mut String) {
    let across = |x: f64| LEFT as f64 + SIDE as f64 * picture.across.place(x);
    let down = |y: f64| TOP as f64 + SIDE as f64 * (1.0 - picture.up.place(y));
    let mut by_class = vec![String::new(); picture.classes.len()];
    for ([x, y], class) in &rows.points {
        let (x, y) = (short(across(*x)), short(down(*y)));
        put(&mut by_class[*class], format_args!("<circle cx=\"{x}\" cy=\"{y}\" r=\"3.5\"/>\n"));
    }
    for (class, circles) in by_class.iter().enumerate().filter(|(_, circles)| !circles.is_empty()) {
        put(svg, format_args!("<g class=\"{kind}\" {}>\n{circles}</g>\n", mark(kind, &colour(class))));
    }
}

/// The style of a kind of row.
fn mark(kind: &str, colour: &str) -> String {
    match kind {
        "training" => format!("fill=\"{colour}\" stroke=\"#fff\" stroke-width=\".8\""),
        _ => format!("fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\""),
    }
}

/// The frame with ticks and the names of the columns.
fn frame(picture: &Boundary, svg: &mut String) {
    let (bottom, middle) = (TOP + SIDE, SIDE / 2);
    let mut ticks = format!("M{LEFT} {TOP}h{SIDE}v{SIDE}h-{SIDE}z");
    let mut texts = String::new();
    let places =
        |axis: Axis| axis.ticks().into_iter().map(move |(value, text)| (SIDE as f64 * axis.place(value), text));
    for (place, text) in places(picture.across) {
        let x = short(LEFT as f64 + place);
        put(&mut ticks, format_args!("M{x} {bottom}v5"));
        put(&mut texts, format_args!("<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{text}</text>\n", bottom + 19));
    }
    for (place, text) in places(picture.up) {
        let y = bottom as f64 - place;
        put(&mut ticks, format_args!("M{LEFT} {}h-5", short(y)));
        let (x, y) = (LEFT - 9, short(y + 4.0));
        put(&mut texts, format_args!("<text x=\"{x}\" y=\"{y}\" text-anchor=\"end\">{text}</text>\n"));
    }
    put(svg, format_args!("<path fill=\"none\" stroke=\"{DARK}\" d=\"{ticks}\"/>\n{texts}"));
    let [across, up] = [0, 1].map(|j| escaped(&picture.columns[j], MAX_IN_TITLE));
    let (x, y) = (LEFT + middle, TOP + middle);
    put(svg, format_args!("<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{across}</text>\n", bottom + 38));
    put(svg, format_args!("<text transform=\"translate(18 {y})rotate(-90)\" text-anchor=\"middle\">{up}</text>\n"));
}

/// The legend.
fn beside(picture: &Boundary, svg: &mut String) {
    let mut y = TOP + 12;
    let mut line = |mark: &str, told: &str| {
        if !mark.is_empty() {
            put(svg, format_args!("<circle cx=\"{}\" cy=\"{}\" r=\"4.5\" {mark}/>\n", BESIDE + 5, y - 4));
        }
        put(svg, format_args!("<text x=\"{}\" y=\"{y}\">{told}</text>\n", BESIDE + 16));
        y += 18;
    };
    for (class, name) in picture.classes.iter().enumerate().take(MAX_CLASSES) {
        line(&format!("fill=\"{}\"", colour(class)), &escaped(name, MAX_IN_LIST));
    }
    if picture.classes.len() > MAX_CLASSES {
        line("", &format!("and {} more", picture.classes.len() - MAX_CLASSES));
    }
    let kinds = [("training", Some(&picture.train)), ("held-out", picture.held_out.as_ref())];
    for (kind, rows) in kinds.into_iter().filter_map(|(kind, rows)| Some((kind, rows?))) {
        line(&mark(kind, "#777"), &count(rows.n_rows, &format!("{kind} row")));
    }
    line("", if picture.has_probabilities { "deeper: more probable" } else { "deeper: leads by more" });
}

/// The accuracy in the lower right corner, and remarks on what is not drawn.
fn remarks(picture: &Boundary, svg: &mut String) {
    if let Some(accuracy) = picture.accuracy {
        let (x, y) = (LEFT + SIDE - 10, TOP + SIDE - 12);
        put(
            svg,
            format_args!(
                "<text class=\"accuracy\" x=\"{x}\" y=\"{y}\" text-anchor=\"end\" font-size=\"15\" paint-order=\"stroke\" stroke=\"#fff\" \
             stroke-width=\"3\">accuracy {accuracy:.3}</text>\n"
            ),
        );
    }
    let rows = || [Some(&picture.train), picture.held_out.as_ref()].into_iter().flatten();
    let hidden: usize = rows().map(|rows| rows.n_rows - rows.points.len()).sum();
    if hidden > 0 {
        let (y, rows) = (SIZE[1] - 8, count(hidden, "row"));
        put(
            svg,
            format_args!(
                "<text x=\"{LEFT}\" y=\"{y}\" font-size=\"10\">not drawn for want of a value: {rows}</text>\n"
            ),
        );
    }
}

/// Red, green and blue of a class, from 0 to 255. After eight classes the colours repeat, darker.
fn parts(class: usize) -> [f64; 3] {
    let darker = if class < COLOURS.len() { 1.0 } else { 0.6 };
    COLOURS[class % COLOURS.len()].map(|part| darker * f64::from(part))
}

fn colour(class: usize) -> String {
    hex(parts(class))
}

/// A tint: some of the class's colour, the rest white.
fn shade(class: usize, level: usize) -> String {
    let share = 0.12 + 0.4 * level as f64 / (LEVELS - 1) as f64;
    hex(parts(class).map(|part| 255.0 + share * (part - 255.0)))
}

fn hex(parts: [f64; 3]) -> String {
    let [red, green, blue] = parts.map(|part| part.round() as u8);
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// A coordinate to a hundredth, without trailing zeros.
pub(in crate::report) fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

/// A name on one line, truncated, as XML text: names come from data files.
pub(in crate::report) fn escaped(name: &str, most: usize) -> String {
    let mut safe = String::new();
    for c in cut(&one_line(name), most).chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            // Not allowed in XML, not even escaped.
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// Appends to a text, which cannot fail.
fn put(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_cut_and_on_one_line() {
        assert_eq!(escaped("a<b & \"c\">d", 64), "a&lt;b &amp; &quot;c&quot;&gt;d");
        assert_eq!(escaped("two\nlines\u{1b}[1m\u{ffff}", 64), "two lines [1m\u{fffd}");
        assert_eq!(escaped("<<<<<<<<<<", 5), "&lt;&lt;…&lt;&lt;");
    }

    #[test]
    fn coordinates_are_short() {
        for (value, expected) in
            [(12.0, "12"), (12.346, "12.35"), (0.5, "0.5"), (-0.001, "0"), (100.0, "100"), (0.0, "0")]
        {
            assert_eq!(short(value), expected);
        }
    }

    #[test]
    fn colours_differ_between_classes_and_shades() {
        let mut all: Vec<String> = (0..16).map(colour).collect();
        all.extend((0..8).flat_map(|class| (0..LEVELS).map(move |level| shade(class, level))));
        all.sort();
        let n = all.len();
        all.dedup();
        // Black stays black.
        assert_eq!(all.len(), n - 1);
        assert_eq!((colour(0), shade(1, LEVELS - 1)), ("#0072b2".into(), "#e9ab7a".into()));
    }
}
