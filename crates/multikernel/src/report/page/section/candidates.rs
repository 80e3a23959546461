//! What a method tried on inner folds before it chose.

use super::super::chart::{Row, Rows};
use super::super::html::{Figure, Section, Table};
use super::MOST;
use crate::run::Compared;

/// The candidates with their losses, and in `told` what was made of them.
pub(in crate::report::page) fn section(compared: &Compared, told: &[(String, String)]) -> Section {
    let Compared { metric, candidates, losses, kept } = compared;
    let mut order: Vec<usize> = (0..candidates.len()).filter(|&k| losses[k].is_finite()).collect();
    // Stable: of equals the first stays.
    order.sort_by(|&a, &b| losses[a].total_cmp(&losses[b]));
    let mut table = Table::new("Candidates", &["candidate", &format!("held-out {metric}"), "kept"]);
    for &k in &order {
        let is_kept = if kept.contains(&k) { "yes" } else { "" };
        table.row(vec![candidates[k].clone().into(), format!("{:.4}", losses[k]).into(), is_kept.into()]);
    }
    let row = |&k: &usize| Row {
        name: candidates[k].clone(),
        value: losses[k],
        interval: None,
        is_certain: kept.contains(&k),
    };
    let svg = Rows {
        id: "candidates-chart",
        title: &format!("Held-out {metric} of the candidates"),
        describes: &format!("The {metric} of each candidate on rows that inner folds held out; those kept are marked"),
        axis: &format!("{metric}; left is better"),
        rows: order.iter().take(MOST).map(row).collect(),
        zero: None,
        band: None,
        is_root: false,
    }
    .svg();
    let lines = told.iter().filter(|(name, _)| name != "candidates").map(|(name, value)| format!("{name}: {value}."));
    let says = format!(
        "All were trained on the same inner folds. Their figures are optimistic, as the best was taken: `multikernel evaluate` \
         tells how well the method does. {}",
        lines.collect::<Vec<_>>().join(" ")
    );
    let figures = if order.is_empty() { vec![] } else { vec![Figure { svg, table }] };
    Section { id: "candidates", title: "What was tried".into(), says, figures }
}
