//! Which classes are taken for which.

use super::super::chart::Heat;
use super::super::html::{Cell, Figure, Section, Table};
use super::brief;
use crate::report::count;

/// Classes that the table lists pair by pair.
const MOST_PAIRS: usize = 300;

/// The confusion counts `[true][predicted]`; `of` says whose, and on which rows.
pub(in crate::report::page) fn section(of: &str, classes: &[String], counts: &[Vec<u64>]) -> Option<Section> {
    let total: u64 = counts.iter().flatten().sum();
    if classes.len() < 2 || counts.len() != classes.len() || total == 0 {
        return None;
    }
    let sums: Vec<u64> = counts.iter().map(|row| row.iter().sum()).collect();
    let part = |i: usize, j: usize| if sums[i] == 0 { 0.0 } else { counts[i][j] as f64 / sums[i] as f64 };
    let depth = |i: usize, j: usize| if i == j { part(i, j) } else { -part(i, j) };
    let words = |i: usize, j: usize| counts[i][j].to_string();
    let svg = Heat {
        id: "confusion-chart",
        title: "Confusion matrix",
        describes: "Rows are true classes, columns are predictions. Blue on the diagonal is right, orange elsewhere is wrong; deeper is a \
                    larger share of the class.",
        rows: classes,
        columns: classes,
        sides: ["true class", "predicted class"],
        depth: &depth,
        words: &words,
    }
    .svg();
    let mut pairs: Vec<(usize, usize)> = (0..classes.len())
        .flat_map(|i| (0..classes.len()).map(move |j| (i, j)))
        .filter(|&(i, j)| counts[i][j] > 0)
        .collect();
    pairs.sort_by_key(|&(i, j)| std::cmp::Reverse(counts[i][j]));
    let mut table =
        Table::new("Rows by true and predicted class", &["true class", "predicted", "rows", "share of the class"]);
    for &(i, j) in pairs.iter().take(MOST_PAIRS) {
        table.row(vec![
            classes[i].clone().into(),
            classes[j].clone().into(),
            Cell::Count(counts[i][j] as usize),
            Cell::Number(part(i, j)),
        ]);
    }
    let right: u64 = (0..classes.len()).map(|i| counts[i][i]).sum();
    let worst = pairs.iter().find(|(i, j)| i != j);
    let mut says = format!("{of}: {right} of {} are right.", count(total as usize, "prediction"));
    if let Some(&(i, j)) = worst {
        says += &format!(
            " Most often {} is taken for {}: {}.",
            brief(&classes[i]),
            brief(&classes[j]),
            count(counts[i][j] as usize, "time")
        );
    }
    Some(Section { id: "confusion", title: "Confusion matrix".into(), says, figures: vec![Figure { svg, table }] })
}
