//! Which kernels see the same: alignment between kernels.

use super::super::chart::Heat;
use super::super::html::{Cell, Figure, Section, Table};
use super::brief;
use crate::linalg::Matrix;
use crate::report::numbers::{figure, short};

/// Pairs that the table lists.
const MOST_PAIRS: usize = 300;

/// The alignments between kernels, in an order that puts alike ones together.
pub(in crate::report::page) fn section(names: &[String], alignment: &Matrix, note: &str) -> Option<Section> {
    let n = names.len();
    if n < 2 {
        return None;
    }
    let order = chained(alignment);
    let sorted: Vec<String> = order.iter().map(|&m| short(&names[m])).collect();
    let at = |i: usize, j: usize| alignment.get(order[i], order[j]);
    let words = |i: usize, j: usize| format!("{:.2}", at(i, j));
    let svg = Heat {
        id: "alignment-chart",
        title: "Alignment between kernels",
        describes: "Centred alignment of each pair of kernels: 1 is the same kernel, 0 unrelated; deeper is more alike, and alike kernels \
                    stand together",
        rows: &sorted,
        columns: &sorted,
        sides: ["kernel", "kernel"],
        depth: &at,
        words: &words,
    }
    .svg();
    let mut pairs: Vec<(usize, usize)> = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).collect();
    pairs.sort_by(|&(a, b), &(c, d)| alignment.get(c, d).total_cmp(&alignment.get(a, b)));
    let alike = pairs.iter().filter(|&&(i, j)| alignment.get(i, j) > 0.95).count();
    let mut table = Table::new("Alignment of pairs of kernels, the most alike first", &["kernel", "and", "alignment"]);
    for &(i, j) in pairs.iter().take(MOST_PAIRS) {
        table.row(vec![names[i].clone().into(), names[j].clone().into(), Cell::Number(alignment.get(i, j))]);
    }
    let (i, j) = pairs[0];
    let says = format!(
        "{alike} of {} pairs of kernels are nearly the same (above 0.95), so how weight is divided between them means little; the most \
         alike are {} and {} ({}).{note}",
        pairs.len(),
        brief(&names[i]),
        brief(&names[j]),
        figure(alignment.get(i, j)),
    );
    Some(Section {
        id: "alignment",
        title: "Kernels that see the same".into(),
        says,
        figures: vec![Figure { svg, table }],
    })
}

/// An order in which each is followed by the one most like it among those left, from the one least like all.
fn chained(alignment: &Matrix) -> Vec<usize> {
    let n = alignment.n_rows();
    let total = |m: &usize| alignment.row(*m).iter().sum::<f64>();
    let mut left: Vec<usize> = (0..n).collect();
    let mut order: Vec<usize> = vec![];
    while !left.is_empty() {
        let next = match order.last() {
            None => (0..left.len()).min_by(|&a, &b| total(&left[a]).total_cmp(&total(&left[b]))),
            Some(&last) => {
                (0..left.len()).max_by(|&a, &b| alignment.get(last, left[a]).total_cmp(&alignment.get(last, left[b])))
            }
        };
        order.push(left.remove(next.unwrap_or(0)));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alike_kernels_stand_together() {
        let groups = [0, 1, 0, 1, 0];
        let alignment = Matrix::from_fn(5, 5, |i, j| if groups[i] == groups[j] { 0.9 } else { 0.1 });
        let order: Vec<usize> = chained(&alignment).into_iter().map(|m| groups[m]).collect();
        assert_eq!(order.windows(2).filter(|two| two[0] != two[1]).count(), 1, "{order:?}");
    }
}
