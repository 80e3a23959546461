//! ROC and precision by recall.

use super::super::chart::{self, Line, MOST_LINES};
use super::super::html::{Cell, Figure, Section, Table};
use super::brief;
use crate::evaluate::Curve;

/// A method's name and curve.
pub(in crate::report::page) type Named = (String, Curve);

/// Both kinds of curves, for methods with probabilities.
pub(in crate::report::page) fn section(
    roc: &[Named],
    precision: &[Named],
    classes: &[String],
    over: &str,
) -> Option<Section> {
    if roc.is_empty() {
        return None;
    }
    let whose = match classes {
        [_, second] => format!("for the class {}", brief(second)),
        _ => "averaged over the classes, each against the rest".to_string(),
    };
    let area = |curve: &Curve| {
        let steps = curve.x.windows(2).zip(curve.mean.windows(2));
        steps.map(|(x, y)| 0.5 * (x[1] - x[0]) * (y[0] + y[1])).sum::<f64>()
    };
    let best = roc.iter().map(|(name, curve)| (name, area(curve))).max_by(|a, b| a.1.total_cmp(&b.1));
    let mut says = format!(
        "In the ROC chart the upper left corner is perfect and the dashed line is chance; by recall the upper right corner is perfect. Both are \
         {whose}{over}."
    );
    if let Some((name, area)) = best {
        says += &match roc {
            [_] => format!(" The area below the ROC curve is {area:.3}."),
            _ => format!(" The largest area is that of {name}, {area:.3}."),
        };
    }
    let spread = if roc.iter().any(|(_, curve)| curve.std.is_some()) {
        "; the band is ± a standard deviation over splits"
    } else {
        ""
    };
    let figures = vec![
        figure("roc", "ROC curves", ["false positive rate", "true positive rate"], roc, true, spread),
        figure("pr", "Precision by recall", ["recall", "precision"], precision, false, spread),
    ];
    Some(Section { id: "curves", title: "ROC and precision by recall".into(), says, figures })
}

fn figure(id: &str, title: &str, axes: [&str; 2], named: &[Named], has_diagonal: bool, spread: &str) -> Figure {
    let line = |(name, curve): &Named| {
        let points = curve.x.iter().zip(&curve.mean).map(|(&x, &y)| [x, y]).collect();
        let band = curve
            .std
            .as_ref()
            .map(|std| curve.mean.iter().zip(std).map(|(mean, std)| [mean - std, mean + std]).collect());
        Line { name: name.clone(), points, spread: band }
    };
    let describes = format!("{} by {} of each method{spread}", axes[1], axes[0]);
    let lines = named.iter().take(MOST_LINES).map(line).collect();
    let svg =
        chart::Curves { id, title, describes: &describes, axes, lines, has_diagonal, radius: None, until: 1.0 }.svg();
    let names: Vec<&str> = named.iter().take(MOST_LINES).map(|one| one.0.as_str()).collect();
    let mut table = Table::new(title, &[&[axes[0]], names.as_slice()].concat());
    for (k, &x) in named.first().map_or(&[][..], |one| &one.1.x).iter().enumerate() {
        let mut row = vec![Cell::Text(format!("{x:.3}"))];
        row.extend(named.iter().take(MOST_LINES).map(|(_, curve)| Cell::from(curve.mean.get(k).copied())));
        table.row(row);
    }
    Figure { svg, table }
}
