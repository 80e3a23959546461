//! Shares of the decision, by view or by kernel.

use super::super::chart::{Row, Rows};
use super::super::html::{Cell, Figure, Section, Table};
use super::{MOST, brief, largest};
use crate::report::numbers::{figure, short};

/// One view or kernel: its name, share, the spread of that over splits, and its weight.
pub(in crate::report::page) struct Share {
    pub(in crate::report::page) name: String,
    pub(in crate::report::page) share: f64,
    pub(in crate::report::page) std: Option<f64>,
    pub(in crate::report::page) weight: Option<f64>,
}

/// What views, or kernels where there are no views, contribute to decisions.
pub(in crate::report::page) fn section(what: &str, all: &[Share]) -> Option<Section> {
    if all.len() < 2 {
        return None;
    }
    let sizes: Vec<f64> = all.iter().map(|one| one.share).collect();
    let (order, _) = largest(&sizes, MOST);
    let spread = |one: &Share| one.std.map(|std| (one.share - std, one.share + std));
    let rows: Vec<Row> = order
        .iter()
        .map(|&m| Row { name: short(&all[m].name), value: all[m].share, interval: spread(&all[m]), is_certain: true })
        .collect();
    let first = &all[order[0]];
    let mut says =
        format!("{} carries the largest share of the decisions, {:.0} %.", brief(&first.name), 100.0 * first.share);
    if let Some(last) = sizes.iter().copied().reduce(f64::min).filter(|&least| least < -0.005) {
        says += &format!(" A negative share (down to {}) means that a {what} works against the others.", figure(last));
    }
    says +=
        &format!(" This is what decisions use: another {what} may know as much and not be needed. Shares add up to 1.");
    let spans = if all.iter().any(|one| one.std.is_some()) { ", ± standard deviation over splits" } else { "" };
    let svg = Rows {
        id: "shares-chart",
        title: &format!("Shares of the decision by {what}"),
        describes: &format!("The share of each {what} in the decisions{spans}; shares add up to 1"),
        axis: "share of the decision; all add up to 1",
        rows,
        zero: Some((0.0, "")),
        band: None,
        is_root: false,
    }
    .svg();
    let mut table =
        Table::new(&format!("Shares of the decision by {what}{spans}"), &[what, "share", "± over splits", "weight"]);
    for m in largest(&sizes, usize::MAX).0 {
        let one = &all[m];
        table.row(vec![one.name.clone().into(), Cell::Number(one.share), one.std.into(), one.weight.into()]);
    }
    Some(Section { id: "shares", title: format!("Shares by {what}"), says, figures: vec![Figure { svg, table }] })
}
