//! Whether a probability is what it says.

use super::super::chart::{Curves, Line, MOST_LINES};
use super::super::html::{Cell, Figure, Section, Table};
use crate::evaluate::Bin;

/// How often the likeliest class is right, by its probability, for each method.
pub(in crate::report::page) fn section(named: &[(String, Vec<Bin>)], over: &str) -> Option<Section> {
    let named: Vec<_> = named.iter().filter(|(_, bins)| !bins.is_empty()).take(MOST_LINES).collect();
    if named.is_empty() {
        return None;
    }
    let line = |(name, bins): &&(String, Vec<Bin>)| Line {
        name: name.clone(),
        points: bins.iter().map(|bin| [bin.confidence, bin.right]).collect(),
        spread: None,
    };
    // The area of a mark is its number of rows.
    let most = named.iter().flat_map(|(_, bins)| bins).map(|bin| bin.n).max().unwrap_or(1).max(1) as f64;
    let radius = |line: usize, at: usize| 2.0 + 6.0 * (named[line].1[at].n as f64 / most).sqrt();
    let svg = Curves {
        id: "calibration-chart",
        title: "Calibration",
        describes: "The share of rows that are right by the probability of their predicted class; on the dashed line probabilities are what \
                    they say, below it they promise too much; larger marks hold more rows",
        axes: ["probability of the predicted class", "share that is right"],
        lines: named.iter().map(line).collect(),
        has_diagonal: true,
        radius: Some(&radius),
        until: 1.0,
    }
    .svg();
    let mut table =
        Table::new("Calibration", &["method", "probability from", "to", "rows", "mean probability", "share right"]);
    let mut says = String::from(
        "On the dashed line probabilities are what they say; below it they promise too much. Larger marks hold more rows.",
    );
    for (name, bins) in &named {
        let n: usize = bins.iter().map(|bin| bin.n).sum();
        let gap: f64 =
            bins.iter().map(|bin| bin.n as f64 * (bin.confidence - bin.right)).sum::<f64>() / n.max(1) as f64;
        let word = if gap > 0.0 { "above" } else { "below" };
        says += &format!(
            " {name} states probabilities {:.1} points {word} how often it is right, on average over {n} rows{over}.",
            100.0 * gap.abs()
        );
        for bin in bins {
            let numbers = [bin.range.0, bin.range.1].map(Cell::Number);
            let mut row = vec![Cell::Text(name.clone())];
            row.extend(numbers);
            row.extend([Cell::Count(bin.n), Cell::Number(bin.confidence), Cell::Number(bin.right)]);
            table.row(row);
        }
    }
    Some(Section { id: "calibration", title: "Calibration".into(), says, figures: vec![Figure { svg, table }] })
}
