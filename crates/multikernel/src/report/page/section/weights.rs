//! Kernel weights with their intervals, beside the prior.

use super::super::chart::{Row, Rows};
use super::super::html::{Cell, Figure, Section, Table};
use super::{MOST, largest};
use crate::report::count;
use crate::report::numbers::{figure, short};

/// One kernel.
pub(in crate::report::page) struct Weight {
    pub(in crate::report::page) name: String,
    pub(in crate::report::page) weight: f64,
    pub(in crate::report::page) interval: Option<(f64, f64)>,
    pub(in crate::report::page) share: Option<f64>,
    /// The share of splits in which the weight is not zero.
    pub(in crate::report::page) selected: Option<f64>,
}

/// The weights of a model, or of a method over splits. `spans` says what the intervals are.
pub(in crate::report::page) fn section(
    of: &str,
    all: &[Weight],
    spans: &str,
    prior: Option<(f64, f64)>,
    note: &str,
) -> Option<Section> {
    if all.is_empty() {
        return None;
    }
    let sizes: Vec<f64> = all.iter().map(|one| one.weight).collect();
    let (order, is_cut) = largest(&sizes, MOST);
    let row = |&m: &usize| {
        let one = &all[m];
        let is_certain = match (one.interval, prior) {
            (Some((low, high)), Some((from, to))) => low > to || high < from,
            // A spread over splits is no test.
            (_, None) | (None, _) => true,
        };
        Row { name: short(&one.name), value: one.weight, interval: one.interval, is_certain }
    };
    let rows: Vec<Row> = order.iter().map(row).collect();
    let (total, shown): (f64, f64) = (sizes.iter().sum(), order.iter().map(|&m| sizes[m]).sum());
    let bars = spans.trim_start_matches(", with ").trim_start_matches(", ");
    let bars = if bars.is_empty() { String::new() } else { format!(" Bars are {bars}.") };
    let says = says(of, all, (total, shown), prior, is_cut) + &bars + note;
    let is_root = order.iter().all(|&m| sizes[m] >= 0.0);
    let describes = format!(
        "Weight of each kernel{}{spans}",
        if is_cut { ", the largest first, with the rest in the table" } else { "" }
    );
    let svg = Rows {
        id: "weights-chart",
        title: "Kernel weights",
        describes: &describes,
        axis: "weight",
        is_root,
        rows,
        zero: None,
        band: prior.map(|prior| (prior, "before any data")),
    }
    .svg();
    let mut table = Table::new(
        &format!("Kernel weights{spans}"),
        &["kernel", "weight", "from", "to", "share of the decision", "selected"],
    );
    for m in largest(&sizes, usize::MAX).0 {
        let one = &all[m];
        let (low, high) = (one.interval.map(|ends| ends.0), one.interval.map(|ends| ends.1));
        table.row(vec![
            one.name.clone().into(),
            Cell::Number(one.weight),
            low.into(),
            high.into(),
            one.share.into(),
            one.selected.into(),
        ]);
    }
    Some(Section { id: "weights", title: "Kernel weights".into(), says, figures: vec![Figure { svg, table }] })
}

fn says(of: &str, all: &[Weight], (total, shown): (f64, f64), prior: Option<(f64, f64)>, is_cut: bool) -> String {
    let used = all.iter().filter(|one| one.weight != 0.0).count();
    let mut says =
        format!("{of}: {used} of {} have a weight; weights add up to {}.", count(all.len(), "kernel"), figure(total));
    if is_cut && total != 0.0 {
        says += &format!(" The {MOST} largest are drawn and hold {:.0} % of it.", 100.0 * shown / total);
    }
    if let Some((low, high)) = prior {
        let above = all.iter().filter(|one| one.interval.is_some_and(|(from, _)| from > high)).count();
        let same = all.iter().filter(|one| one.interval.is_some_and(|(from, to)| from <= low && to >= high)).count();
        says += &format!(
            " The shaded band, {} to {}, is where weights were expected before any data. {}",
            figure(low),
            figure(high),
            match above {
                0 => "No kernel lies above it for certain, which a full dot would show".to_string(),
                1 => "1 kernel lies above it for certain (full dot)".into(),
                n => format!("{n} kernels lie above it for certain (full dots)"),
            }
        );
        says += if same == all.len() { "; the data say little about single kernels." } else { "." };
    }
    says += " A kernel measures how alike two rows are; its weight says how much it may count";
    says +=
        if all.iter().any(|one| one.share.is_some()) { ", its share of the decision how much it does." } else { "." };
    if all.iter().any(|one| one.selected.is_some()) {
        says += " `selected` is the share of splits in which it has a weight.";
    }
    says
}
