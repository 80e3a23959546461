//! Which columns matter: permutation importance.

use super::super::chart::{Row, Rows};
use super::super::html::{Cell, Figure, Section, Table};
use super::{MOST, brief};
use crate::evaluate::{Importance, Importances};
use crate::report::count;

/// The importance of views and of columns, as far as it was asked for.
pub(in crate::report::page) fn section(
    views: Option<&Importances>,
    columns: Option<&Importances>,
    note: &str,
) -> Option<Section> {
    let Some(any) = views.or(columns) else {
        let says = format!("How much worse predictions get without a column was not measured.{note}");
        let title = "Which columns matter".into();
        return (!note.is_empty()).then_some(Section { id: "importance", title, says, figures: vec![] });
    };
    let mut says = String::new();
    for (what, found) in
        [("view", views), ("column", columns)].into_iter().filter_map(|(what, found)| Some((what, found?)))
    {
        let certain: Vec<&Importance> = found.found.iter().filter(|one| one.distinguishable).collect();
        says += &match certain.first() {
            Some(first) => format!(
                "{} is missed most: {} falls by {} when its values are dealt to other rows. {} of {} are missed for certain. ",
                brief(&first.name),
                word(found),
                amount(found, first.drop),
                certain.len(),
                count(found.found.len(), what)
            ),
            None => format!("No single {what} is missed for certain: the others make up for each of them. "),
        };
    }
    says += &format!("Measured on {}, {} of each.", count(any.n_rows, "row"), count(any.n_repeats, "permutation"));
    if any.is_trained_on {
        says += " The model was trained on these very rows: this tells what it uses, not what helps on others.";
    }
    says += note;
    let mut figures = vec![];
    figures.extend(views.map(|found| figure("views", "view", found)));
    figures.extend(columns.map(|found| figure("columns", "column", found)));
    Some(Section { id: "importance", title: "Which columns matter".into(), says, figures })
}

/// The metric in words.
fn word(found: &Importances) -> &'static str {
    if found.metric == "r2" { "R2" } else { found.metric }
}

/// A fall in words: points of accuracy, plain numbers of others.
fn amount(found: &Importances, drop: f64) -> String {
    if found.metric == "accuracy" { format!("{:.1} points", 100.0 * drop) } else { format!("{drop:.3}") }
}

fn figure(id: &str, what: &str, found: &Importances) -> Figure {
    let metric = word(found);
    let row = |one: &Importance| Row {
        name: one.name.clone(),
        value: one.drop,
        interval: Some(one.interval),
        is_certain: one.distinguishable,
    };
    let svg = Rows {
        id: &format!("importance-{id}"),
        title: &format!("Fall in {metric} without a {what}"),
        describes: &format!("How much {metric} falls when the values of each {what} are dealt to other rows, with 95 % intervals over rows"),
        axis: &format!("fall in {metric}; right is more important"),
        rows: found.found.iter().take(MOST).map(row).collect(),
        zero: Some((0.0, "no fall")),
        band: None,
        is_root: false,
    }
    .svg();
    let fall = format!("fall in {metric}");
    let mut head = vec![what, "columns", &fall, "from", "to"];
    head.extend(found.accuracy.map(|_| "predictions changed"));
    let mut table = Table::new(&format!("Permutation importance by {what}"), &head);
    for one in &found.found {
        let mut row = vec![one.name.clone().into(), Cell::Count(one.n_columns)];
        row.extend([one.drop, one.interval.0, one.interval.1].map(Cell::Number));
        row.extend(one.changed.map(Cell::Number));
        table.row(row);
    }
    Figure { svg, table }
}
