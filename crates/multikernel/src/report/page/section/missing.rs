//! Which views rows lack.

use std::collections::BTreeMap;

use super::super::canvas::{Anchor, Canvas, WIDTH};
use super::super::html::{Cell, Figure, Section, Table};
use super::brief;
use crate::data::{Presence, Samples};
use crate::report::count;

/// Patterns that the chart shows, and views in it.
const MOST_PATTERNS: usize = 20;
const MOST_VIEWS: usize = 24;

/// The patterns of missing views, the commonest first; `None` where no row lacks one.
pub(in crate::report::page) fn section(samples: &Samples) -> Option<Section> {
    let views = samples.views();
    let presence = Presence::of(samples.features(), views)?;
    let n = samples.n_samples();
    let mut counts: BTreeMap<Vec<bool>, usize> = BTreeMap::new();
    for i in 0..n {
        *counts.entry((0..views.len()).map(|v| presence.has(i, v)).collect()).or_default() += 1;
    }
    if counts.len() < 2 && counts.keys().all(|pattern| pattern.iter().all(|&has| has)) {
        return None;
    }
    let mut patterns: Vec<(Vec<bool>, usize)> = counts.into_iter().collect();
    patterns.sort_by_key(|(_, rows)| std::cmp::Reverse(*rows));
    let complete = (0..n).filter(|&i| presence.is_complete(i)).count();
    let rarest = (0..views.len()).min_by_key(|&v| presence.count(v)).map_or(String::new(), |v| brief(&views[v].name));
    let says = format!(
        "{complete} of {} have every view; {rarest} is missing most often. A filled circle is a view that is there, an open one a view \
         that is missing.",
        count(n, "row")
    );
    let mut table = Table::new("Rows by the views they have", &["views", "rows"]);
    for (pattern, rows) in &patterns {
        let here: Vec<&str> =
            pattern.iter().zip(views).filter(|(has, _)| **has).map(|(_, view)| view.name.as_str()).collect();
        table.row(vec![if here.is_empty() { "none".into() } else { Cell::Text(here.join(", ")) }, Cell::Count(*rows)]);
    }
    let names: Vec<&str> = views.iter().map(|view| view.name.as_str()).collect();
    let svg = picture(&patterns, &names);
    Some(Section { id: "missing", title: "Missing views".into(), says, figures: vec![Figure { svg, table }] })
}

/// Circles for each pattern (columns) and view (rows), with a bar of rows above.
fn picture(patterns: &[(Vec<bool>, usize)], views: &[&str]) -> String {
    let (left, top, high, step) = (200.0, 110.0, 80.0, 22.0);
    let shown = patterns.len().min(MOST_PATTERNS);
    let wide = ((WIDTH - left - 20.0) / shown as f64).min(60.0);
    let most = patterns.iter().map(|one| one.1).max().unwrap_or(1).max(1) as f64;
    let views = &views[..views.len().min(MOST_VIEWS)];
    let mut canvas = Canvas::new(top + step * views.len() as f64 + 12.0);
    canvas.text([left - 10.0, top - 24.0], Anchor::End, "rows", 10);
    for (v, view) in views.iter().enumerate() {
        canvas.text([left - 10.0, top + step * v as f64 + 12.0], Anchor::End, view, 24);
    }
    for (k, (pattern, rows)) in patterns.iter().take(shown).enumerate() {
        let (x, tall) = (left + wide * (k as f64 + 0.5), high * *rows as f64 / most);
        canvas.cell("bar", [x - 0.3 * wide, top - 12.0 - tall, 0.6 * wide, tall], 0.8, &count(*rows, "row"));
        canvas.text([x, top - 16.0 - tall], Anchor::Middle, &rows.to_string(), 8);
        for (v, view) in views.iter().enumerate() {
            let class = if pattern[v] { "full" } else { "open" };
            let word = if pattern[v] { "there" } else { "missing" };
            canvas.dot(class, [x, top + step * v as f64 + 8.0], 6.0, &format!("{view}: {word}"));
        }
    }
    canvas.finish(
        "missing-chart",
        "Missing views",
        "For each pattern of views, how many rows have it; filled circles are views that are there",
    )
}
