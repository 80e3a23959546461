//! A picture as SVG: lines, marks and words, with a title and a description for those who cannot see it.

use std::fmt::Write;

use crate::report::bars::cut;
use crate::report::boundary::{escaped, short};

/// Width of every chart, in its own units.
pub(super) const WIDTH: f64 = 720.0;

/// Colours, sizes and marks of charts, for pictures that stand alone; the page has its own, with the same names.
pub(super) const STYLE: &str = include_str!("chart.css");

/// A chart in the making. Colours come from classes, so that the page decides about light and dark.
pub(super) struct Canvas {
    height: f64,
    body: String,
}

/// Where a word stands relative to its point.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Canvas {
    pub(super) fn new(height: f64) -> Canvas {
        Canvas { height, body: String::new() }
    }

    fn put(&mut self, arguments: std::fmt::Arguments<'_>) {
        self.body.write_fmt(arguments).ok();
    }

    /// A path of a class: `axis`, `grid`, `zero`, `line`, ...
    pub(super) fn path(&mut self, class: &str, d: &str) {
        if !d.is_empty() {
            self.put(format_args!("<path class=\"{class}\" d=\"{d}\"/>"));
        }
    }

    pub(super) fn line(&mut self, class: &str, [x, y]: [f64; 2], [to_x, to_y]: [f64; 2]) {
        let d = format!("M{} {}L{} {}", short(x), short(y), short(to_x), short(to_y));
        self.path(class, &d);
    }

    /// A box with a tooltip, unless that is empty; `depth` from 0 to 1 is how strong its colour is.
    pub(super) fn cell(&mut self, class: &str, [x, y, w, h]: [f64; 4], depth: f64, tip: &str) {
        let [x, y, w, h] = [x, y, w, h].map(short);
        let depth = short(depth.clamp(0.0, 1.0));
        let head = format!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" fill-opacity=\"{depth}\""
        );
        match tip {
            "" => self.put(format_args!("{head}/>")),
            tip => self.put(format_args!("{head}><title>{}</title></rect>", escaped(tip, 200))),
        }
    }

    /// A dot with a tooltip.
    pub(super) fn dot(&mut self, class: &str, [x, y]: [f64; 2], radius: f64, tip: &str) {
        let ([x, y], radius) = ([x, y].map(short), short(radius));
        let tip = escaped(tip, 200);
        self.put(format_args!(
            "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius}\"><title>{tip}</title></circle>"
        ));
    }

    /// Words, cut to so many characters.
    pub(super) fn text(&mut self, [x, y]: [f64; 2], anchor: Anchor, words: &str, most: usize) {
        let [x, y] = [x, y].map(short);
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        // A name that is cut has its full text as a tooltip.
        let full =
            if cut(words, most) == words { String::new() } else { format!("<title>{}</title>", escaped(words, 400)) };
        let words = escaped(words, most);
        self.put(format_args!("<text x=\"{x}\" y=\"{y}\"{anchor}>{words}{full}</text>"));
    }

    /// A name under a column, turned to run downwards.
    pub(super) fn turned(&mut self, [x, y]: [f64; 2], words: &str, most: usize) {
        let ([x, y], words) = ([x, y].map(short), escaped(words, most));
        self.put(format_args!("<text transform=\"translate({x} {y})rotate(-50)\" text-anchor=\"end\">{words}</text>"));
    }

    /// The name of an upright axis.
    pub(super) fn turned_up(&mut self, [x, y]: [f64; 2], words: &str) {
        let ([x, y], words) = ([x, y].map(short), escaped(words, 60));
        self.put(format_args!(
            "<text transform=\"translate({x} {y})rotate(-90)\" text-anchor=\"middle\">{words}</text>"
        ));
    }

    /// The finished picture. `id` is unique in the page; the title names it, the description says what it shows.
    pub(super) fn finish(self, id: &str, title: &str, description: &str) -> String {
        let (title, description) = (escaped(title, 200), escaped(description, 1000));
        let (width, height) = (short(WIDTH), short(self.height));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
             aria-labelledby=\"{id}-t {id}-d\"><title id=\"{id}-t\">{title}</title><desc id=\"{id}-d\">{description}</desc>{}</svg>\n",
            self.body
        )
    }
}

/// A picture that stands alone: with its size, its colours and a ground.
pub(super) fn alone(svg: &str) -> String {
    let open = svg.find('>').map_or(0, |at| at + 1);
    let (head, rest) = svg.split_at(open);
    format!("{head}<style>{STYLE}</style><rect class=\"ground\" width=\"100%\" height=\"100%\"/>{rest}")
}
