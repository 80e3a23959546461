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
    let any = views.or(columns)?;
    let mut says = String::new();
    for (what, found) in
        [("view", views), ("column", columns)].into_iter().filter_map(|(what, found)| Some((what, found?)))
    {
        let certain: Vec<&Importance> = found.found.iter().filter(|one| one.distinguishable).collect();
        says += &match certain.first() {
            Some(first) => format!(
                "{} is missed most: accuracy falls by {:.1} points when its values are dealt to other rows. {} of {} are missed for certain. ",
                brief(&first.name),
                100.0 * first.drop,
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

fn figure(id: &str, what: &str, found: &Importances) -> Figure {
    let row = |one: &Importance| Row {
        name: one.name.clone(),
        value: one.drop,
        interval: Some(one.interval),
        is_certain: one.distinguishable,
    };
    let svg = Rows {
        id: &format!("importance-{id}"),
        title: &format!("Fall in accuracy without a {what}"),
        describes: &format!("How much accuracy falls when the values of each {what} are dealt to other rows, with 95 % intervals over rows"),
        axis: "fall in accuracy; right is more important",
        rows: found.found.iter().take(MOST).map(row).collect(),
        zero: Some((0.0, "no fall")),
        band: None,
        is_root: false,
    }
    .svg();
    let mut table = Table::new(
        &format!("Permutation importance by {what}"),
        &[what, "columns", "fall in accuracy", "from", "to", "predictions changed"],
    );
    for one in &found.found {
        table.row(vec![
            one.name.clone().into(),
            Cell::Count(one.n_columns),
            Cell::Number(one.drop),
            Cell::Number(one.interval.0),
            Cell::Number(one.interval.1),
            Cell::Number(one.changed),
        ]);
    }
    Figure { svg, table }
}
