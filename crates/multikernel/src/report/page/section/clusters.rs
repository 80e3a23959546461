//! Clusters as a map, with what sets each apart.

use super::super::canvas::{Anchor, Canvas, WIDTH};
use super::super::chart::around;
use super::super::html::{Cell, Figure, Section, Table};
use crate::linalg::Matrix;
use crate::report::count;

/// Clusters with a shape and colour of their own; smaller ones share the last.
const MOST_SHAPES: usize = 6;

/// A clustering: the cluster of each row, two coordinates of each row, and for each cluster what sets it apart.
pub(in crate::report::page) struct Map<'a> {
    pub(in crate::report::page) clusters: &'a [usize],
    pub(in crate::report::page) places: &'a Matrix,
    pub(in crate::report::page) apart: &'a [String],
}

pub(in crate::report::page) fn section(map: &Map<'_>) -> Option<Section> {
    let n_clusters = map.clusters.iter().max()? + 1;
    let mut sizes = vec![0usize; n_clusters];
    map.clusters.iter().for_each(|&cluster| sizes[cluster] += 1);
    let mut order: Vec<usize> = (0..n_clusters).filter(|&k| sizes[k] > 0).collect();
    order.sort_by_key(|&k| std::cmp::Reverse(sizes[k]));
    let mut table = Table::new(
        "Clusters, the largest first",
        &["cluster", "rows", "columns that set it apart (standard deviations)"],
    );
    for &k in &order {
        table.row(vec![
            Cell::Text(k.to_string()),
            Cell::Count(sizes[k]),
            map.apart.get(k).cloned().unwrap_or_default().into(),
        ]);
    }
    let says = format!(
        "{} in {}; the largest holds {:.0} % of the rows. The map shows the two directions in which rows differ most, so clusters that \
         overlap here may lie apart in others.",
        count(map.clusters.len(), "row"),
        count(order.len(), "cluster"),
        100.0 * sizes[order[0]] as f64 / map.clusters.len() as f64
    );
    let svg = picture(map, &order);
    Some(Section { id: "clusters", title: "Clusters".into(), says, figures: vec![Figure { svg, table }] })
}

fn picture(map: &Map<'_>, order: &[usize]) -> String {
    let (left, top, wide, high) = (20.0, 10.0, 520.0, 380.0);
    let mut canvas = Canvas::new(top + high + 34.0);
    let axes = [0, 1].map(|j| around(map.places.column(j).into_iter()));
    canvas.path("box", &format!("M{left} {top}h{wide}v{high}h-{wide}z"));
    for (i, &cluster) in map.clusters.iter().enumerate().take(map.places.n_rows()) {
        let shape = order.iter().position(|&k| k == cluster).unwrap_or(0).min(MOST_SHAPES - 1);
        let x = left + wide * axes[0].place(map.places.get(i, 0));
        let y = top + high * (1.0 - axes[1].place(map.places.get(i, 1)));
        canvas.path(&format!("p{shape}"), &mark(shape, x, y));
    }
    for (shape, &k) in order.iter().enumerate().take(MOST_SHAPES) {
        let y = top + 16.0 + 22.0 * shape as f64;
        canvas.path(&format!("p{shape}"), &mark(shape, left + wide + 24.0, y - 4.0));
        let name = if shape + 1 == MOST_SHAPES && order.len() > MOST_SHAPES {
            "smaller ones".to_string()
        } else {
            format!("cluster {k}")
        };
        canvas.text([left + wide + 40.0, y], Anchor::Start, &name, 18);
    }
    canvas.text([0.5 * WIDTH - 80.0, top + high + 22.0], Anchor::Middle, "first and second principal component", 60);
    canvas.finish(
        "clusters-chart",
        "Map of the clusters",
        "Rows in their two leading components, with a mark for each cluster",
    )
}

/// Marks that differ in shape as well as in colour.
fn mark(shape: usize, x: f64, y: f64) -> String {
    let at = |dx: f64, dy: f64| format!("{:.1} {:.1}", x + dx, y + dy);
    match shape {
        0 => format!("M{}a4 4 0 1 0 8 0a4 4 0 1 0-8 0z", at(-4.0, 0.0)),
        1 => format!("M{}h7v7h-7z", at(-3.5, -3.5)),
        2 => format!("M{}l4.5 8h-9z", at(0.0, -5.0)),
        3 => format!("M{}l5 5l-5 5l-5-5z", at(0.0, -5.0)),
        4 => format!("M{}h9l-4.5 8z", at(-4.5, -4.0)),
        _ => format!("M{}h2v-3h3v3h3v2h-3v3h-3v-3h-2z", at(-4.0, -1.0)),
    }
}
