//! A page of sections: each a sentence, a chart and the numbers behind it.

use std::fmt::Write;

use super::canvas::{STYLE, alone};
use crate::error::{Error, Result};
use crate::report::boundary::escaped;
use crate::report::count;
use crate::report::numbers::figure;

/// Rows that a table shows: a page is read, the JSON holds the rest.
const MOST_ROWS: usize = 400;
/// Bytes of a page.
pub(super) const MOST_BYTES: usize = 1_000_000;
/// Bytes of JSON that a page carries along.
const MOST_JSON: usize = 250_000;

const PAGE_STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// The hash of the script, which the policy of the page allows; `scripts/report-test` tells when it is stale.
const SCRIPT_HASH: &str = include_str!("page.js.sha256");

/// One cell of a table.
pub(super) enum Cell {
    Text(String),
    Number(f64),
    Count(usize),
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.into())
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

impl From<Option<f64>> for Cell {
    fn from(value: Option<f64>) -> Cell {
        value.map_or(Cell::Text("-".into()), Cell::Number)
    }
}

/// The numbers behind a chart.
pub(super) struct Table {
    caption: String,
    head: Vec<String>,
    rows: Vec<Vec<Cell>>,
    n_rows: usize,
}

impl Table {
    pub(super) fn new(caption: &str, head: &[&str]) -> Table {
        Table { caption: caption.into(), head: head.iter().map(ToString::to_string).collect(), rows: vec![], n_rows: 0 }
    }

    pub(super) fn row(&mut self, row: Vec<Cell>) {
        self.n_rows += 1;
        if self.rows.len() < MOST_ROWS {
            self.rows.push(row);
        }
    }

    /// As HTML; the first cell of a row is its name.
    fn html(&self, id: &str) -> String {
        let caption = escaped(&self.caption, 300);
        let mut html = format!(
            "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Table: {caption}\"><table id=\"{id}\"><caption>{caption}</caption><thead><tr>"
        );
        for name in &self.head {
            put(&mut html, format_args!("<th scope=\"col\">{}</th>", escaped(name, 60)));
        }
        html.push_str("</tr></thead><tbody>");
        for row in &self.rows {
            html.push_str("<tr>");
            for (at, cell) in row.iter().enumerate() {
                match (cell, at) {
                    (Cell::Text(text), 0) => {
                        put(&mut html, format_args!("<th scope=\"row\">{}</th>", escaped(text, 300)))
                    }
                    (Cell::Text(text), _) => put(&mut html, format_args!("<td>{}</td>", escaped(text, 300))),
                    (Cell::Count(n), 0) => put(&mut html, format_args!("<th scope=\"row\">{n}</th>")),
                    (Cell::Count(n), _) => put(&mut html, format_args!("<td class=\"n\">{n}</td>")),
                    // The exact value is what sorting and copying take.
                    (Cell::Number(x), _) if x.is_nan() => html.push_str("<td class=\"n\">not known</td>"),
                    (Cell::Number(x), _) => {
                        put(&mut html, format_args!("<td class=\"n\" data-v=\"{x}\">{}</td>", figure(*x)))
                    }
                }
            }
            html.push_str("</tr>");
        }
        html.push_str("</tbody></table></div>");
        let rest = self.n_rows - self.rows.len();
        if rest > 0 {
            put(
                &mut html,
                format_args!("<p class=\"soft\">and {}, which the JSON report has</p>", count(rest, "more row")),
            );
        }
        put(&mut html, format_args!("<button type=\"button\" class=\"js\" data-copy=\"{id}\">Copy as CSV</button>\n"));
        html
    }
}

/// A chart and its numbers.
pub(super) struct Figure {
    pub(super) svg: String,
    pub(super) table: Table,
}

/// A part of the page.
pub(super) struct Section {
    pub(super) id: &'static str,
    pub(super) title: String,
    /// What it means, in a sentence or two.
    pub(super) says: String,
    pub(super) figures: Vec<Figure>,
}

impl Section {
    fn html(&self, with_tables: bool) -> String {
        let id = self.id;
        let mut html = format!(
            "<section id=\"{id}\" aria-labelledby=\"{id}-h\"><h2 id=\"{id}-h\">{}</h2>\n",
            escaped(&self.title, 200)
        );
        put(&mut html, format_args!("<p class=\"says\">{}</p>\n", with_code(&escaped(&self.says, 4000))));
        for (k, figure) in self.figures.iter().enumerate() {
            html.push_str("<figure>");
            if !figure.svg.is_empty() {
                let label = escaped(&figure.table.caption, 300);
                put(
                    &mut html,
                    format_args!(
                        "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"Chart: {label}\">{}</div>",
                        figure.svg
                    ),
                );
            }
            let table = figure.table.html(&format!("{id}-{k}"));
            match (with_tables, figure.svg.is_empty()) {
                (_, true) => html.push_str(&table),
                (true, false) => put(&mut html, format_args!("<details><summary>Numbers</summary>{table}</details>")),
                (false, false) => {
                    html.push_str("<p class=\"soft\">The numbers are left out to keep the page below 1 MB.</p>")
                }
            }
            html.push_str("</figure>\n");
        }
        html + "</section>\n"
    }
}

impl Page {
    /// One chart as a picture that stands alone: that of the section `kind`, or the k-th of it as `kind-k`.
    pub(super) fn picture(&self, kind: &str) -> Result<String> {
        let named = |section: &'_ Section| -> Vec<(String, String)> {
            let drawn = section.figures.iter().map(|figure| figure.svg.clone()).filter(|svg| !svg.is_empty());
            let name = |k: usize| if k == 0 { section.id.to_string() } else { format!("{}-{}", section.id, k + 1) };
            drawn.enumerate().map(|(k, svg)| (name(k), svg)).collect()
        };
        let all: Vec<(String, String)> = self.sections.iter().flat_map(named).collect();
        match all.iter().find(|(name, _)| name == kind) {
            Some((_, svg)) => Ok(alone(svg)),
            None => {
                let known: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
                let known = if known.is_empty() { "none".to_string() } else { known.join(", ") };
                Err(Error::param("picture", format!("`{kind}` is not among the charts of this page: {known}")))
            }
        }
    }
}

/// What stands at the top and bottom of a page.
pub(super) struct Page {
    pub(super) title: String,
    pub(super) subtitle: String,
    pub(super) warnings: Vec<String>,
    pub(super) sections: Vec<Section>,
    /// The JSON report, which the page carries along where it is small.
    pub(super) json: String,
    /// Seconds after which it loads itself again: for a job that is still running.
    pub(super) refresh: Option<u32>,
}

impl Page {
    /// The page, at most [`MOST_BYTES`] long: the numbers of the largest sections go first.
    pub(super) fn html(&self) -> String {
        let mut parts: Vec<String> = self.sections.iter().map(|section| section.html(true)).collect();
        let (head, json) = (self.head(), self.json());
        loop {
            let total = head.len() + json.len() + parts.iter().map(String::len).sum::<usize>() + 2000;
            let largest = (0..parts.len()).max_by_key(|&k| parts[k].len());
            let Some(at) = largest.filter(|_| total > MOST_BYTES) else { break };
            let shorter = self.sections[at].html(false);
            if shorter.len() >= parts[at].len() {
                parts.remove(at);
            } else {
                parts[at] = shorter;
            }
        }
        let foot = format!("<footer><p>multikernel {}</p></footer>\n", env!("CARGO_PKG_VERSION"));
        format!(
            "{head}<main id=\"main\">\n{}{}</main>\n{foot}{json}<script>{SCRIPT}</script>\n</body>\n</html>\n",
            self.warned(),
            parts.concat()
        )
    }

    fn head(&self) -> String {
        let title = escaped(&self.title, 200);
        let refresh = self
            .refresh
            .map_or(String::new(), |seconds| format!("<meta http-equiv=\"refresh\" content=\"{seconds}\">\n"));
        let links: String = self
            .sections
            .iter()
            .map(|section| format!("<li><a href=\"#{}\">{}</a></li>", section.id, escaped(&section.title, 60)))
            .collect();
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src '{}'; base-uri 'none'; form-action 'none'\">\n\
             {refresh}<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{title}</title>\n<style>{STYLE}{PAGE_STYLE}</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the results</a>\n\
             <header><h1>{title}</h1><p class=\"soft\">{}</p>\
             <button type=\"button\" class=\"js\" id=\"theme\">Dark or light</button>{}</header>\n<nav aria-label=\"Sections\"><ul>{links}</ul></nav>\n",
            SCRIPT_HASH.trim(),
            escaped(&self.subtitle, 1000),
            if self.json.len() <= MOST_JSON {
                "<button type=\"button\" class=\"js\" id=\"json\">Copy JSON</button>"
            } else {
                ""
            },
        )
    }

    fn warned(&self) -> String {
        let one = |text: &String| format!("<li>{}</li>", escaped(text, 1000));
        match self.warnings.as_slice() {
            [] => String::new(),
            some => {
                let list: String = some.iter().take(20).map(one).collect();
                format!(
                    "<section class=\"warn\" aria-labelledby=\"warn-h\"><h2 id=\"warn-h\">Remarks</h2><ul>{list}</ul></section>\n"
                )
            }
        }
    }

    /// A block of data, not of code; no name in it can end it.
    fn json(&self) -> String {
        if self.json.len() > MOST_JSON {
            return String::new();
        }
        format!("<script type=\"application/json\" id=\"data\">{}</script>\n", self.json.replace('<', "\\u003c"))
    }
}

/// What stands between backticks as code; text in which they do not pair is left as it is.
fn with_code(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return text.to_string();
    }
    let part = |(k, part): (usize, &&str)| if k % 2 == 1 { format!("<code>{part}</code>") } else { part.to_string() };
    parts.iter().enumerate().map(part).collect()
}

fn put(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    text.write_fmt(arguments).ok();
}
