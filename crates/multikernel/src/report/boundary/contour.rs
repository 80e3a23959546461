//! The lines between classes on a grid: marching squares for any number of classes.

use crate::linalg::Matrix;
use crate::run::first_largest;

/// A position on the grid, in steps from its upper left corner: to the right, and down.
pub(super) type PlanePoint = [f64; 2];

/// A square grid of nodes with the class margins at each, row by row from the top.
pub(super) struct Grid<'a> {
    /// Nodes per side.
    pub(super) side: usize,
    /// n_nodes x n_classes: larger is more likely, and smooth.
    pub(super) margins: &'a Matrix,
    /// The class of each node.
    pub(super) labels: &'a [usize],
}

impl Grid<'_> {
    /// Line segments between classes. Between two neighbouring nodes of different classes, one segment ends for each
    /// grid square beside that edge (one or two), at the point where both classes have equal margins, interpolating
    /// linearly between the nodes. Three or more classes meet in a point inside a square.
    pub(super) fn borders(&self) -> Vec<[PlanePoint; 2]> {
        let mut pieces = vec![];
        for down in 1..self.side {
            for right in 1..self.side {
                let low = down * self.side + right;
                self.cross([low - self.side - 1, low - self.side, low, low - 1], &mut pieces);
            }
        }
        pieces
    }

    /// Adds the segments inside the square of these nodes, which are given in cyclic order.
    fn cross(&self, nodes: [usize; 4], pieces: &mut Vec<[PlanePoint; 2]>) {
        let labels = nodes.map(|node| self.labels[node]);
        let ends: [Option<PlanePoint>; 4] = std::array::from_fn(|k| {
            (labels[k] != labels[(k + 1) % 4]).then(|| self.between(nodes[k], nodes[(k + 1) % 4]))
        });
        let found: Vec<PlanePoint> = ends.iter().flatten().copied().collect();
        match (found.as_slice(), self.joined(nodes, labels)) {
            ([], _) => {}
            (&[a, b], _) => pieces.push([a, b]),
            // Two opposite corners form one region through the middle: each of the others is cut off.
            (&[a, b, c, d], Some(0)) => pieces.extend([[a, b], [c, d]]),
            (&[a, b, c, d], Some(_)) => pieces.extend([[d, a], [b, c]]),
            (spots, _) => {
                let middle = [0, 1].map(|j| spots.iter().map(|spot| spot[j]).sum::<f64>() / spots.len() as f64);
                pieces.extend(spots.iter().map(|&spot| [spot, middle]));
            }
        }
    }

    /// Which pair of opposite corners (0: the first and the third) has the class of the middle of the square, judged by
    /// the mean margins of its corners.
    fn joined(&self, nodes: [usize; 4], labels: [usize; 4]) -> Option<usize> {
        let mean: Vec<f64> = (0..self.margins.n_cols())
            .map(|c| nodes.iter().map(|&node| self.margins.get(node, c) / 4.0).sum())
            .collect();
        let middle = first_largest(&mean);
        (0..2).find(|&k| labels[k] == middle && labels[k + 2] == middle)
    }

    /// The point where the classes of two neighbours have equal margins; half way if the margins do not determine it.
    fn between(&self, a: usize, b: usize) -> PlanePoint {
        // From the same end for both adjacent squares, so that segments meet to the last bit.
        let (a, b) = (a.min(b), a.max(b));
        let lead = |node: usize| self.margins.get(node, self.labels[a]) - self.margins.get(node, self.labels[b]);
        let part = lead(a) / (lead(a) - lead(b));
        let part = if (0.0..=1.0).contains(&part) { part } else { 0.5 };
        let [from, to] = [a, b].map(|node| [(node % self.side) as f64, (node / self.side) as f64]);
        [0, 1].map(|j| from[j] + part * (to[j] - from[j]))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::dist::Rng;

    fn borders(side: usize, margins: &Matrix) -> (Vec<usize>, Vec<[PlanePoint; 2]>) {
        let labels: Vec<usize> = margins.rows().map(first_largest).collect();
        let pieces = Grid { side, margins, labels: &labels }.borders();
        (labels, pieces)
    }

    fn at(side: usize, f: impl Fn(f64, f64) -> Vec<f64>) -> Matrix {
        let rows: Vec<Vec<f64>> = (0..side * side).map(|i| f((i % side) as f64, (i / side) as f64)).collect();
        Matrix::from_vec(side * side, rows[0].len(), rows.concat()).unwrap()
    }

    #[test]
    fn every_change_of_class_has_one_end_and_no_other_place_has() {
        for (n_classes, seed) in [(2, 0), (2, 1), (3, 2), (4, 3), (7, 4)] {
            let (side, mut rng) = (12, Rng::new(seed, 0));
            let margins = Matrix::from_fn(side * side, n_classes, |_, _| rng.uniform());
            let (labels, pieces) = borders(side, &margins);
            // Endpoints on grid lines: the number of segments that reach each grid edge.
            let mut reached = BTreeMap::new();
            for spot in pieces.iter().flatten() {
                let [x, y] = *spot;
                if x.fract() == 0.0 || y.fract() == 0.0 {
                    let (from, to) = ((x.floor(), y.floor()), (x.ceil(), y.ceil()));
                    let node = |(x, y): (f64, f64)| y as usize * side + x as usize;
                    *reached.entry((node(from), node(to))).or_insert(0) += 1;
                }
            }
            let mut expected = BTreeMap::new();
            for node in 0..side * side {
                let (x, y) = (node % side, node / side);
                // On the frame an edge has one adjacent square, elsewhere two.
                if x + 1 < side && labels[node] != labels[node + 1] {
                    expected.insert((node, node + 1), if y == 0 || y + 1 == side { 1 } else { 2 });
                }
                if y + 1 < side && labels[node] != labels[node + side] {
                    expected.insert((node, node + side), if x == 0 || x + 1 == side { 1 } else { 2 });
                }
            }
            assert_eq!(reached, expected, "{n_classes} classes");
        }
    }

    #[test]
    fn straight_lines_are_found_to_rounding() {
        let margins = at(9, |x, y| vec![0.7 * x - 1.1 * y, 0.3 * x + 0.4 * y - 1.7]);
        let (_, pieces) = borders(9, &margins);
        assert!(pieces.len() > 5);
        for [x, y] in pieces.into_iter().flatten() {
            assert!((0.4 * x - 1.5 * y + 1.7).abs() < 1e-12, "{x} {y}");
        }
    }

    #[test]
    fn classes_meet_in_a_point_near_the_place_of_equal_distance() {
        // The class of the nearest of three points; squared distances differ by linear functions.
        let places = [[1.0, 1.0], [9.0, 2.0], [4.0, 9.0]];
        let margins = at(11, |x, y| places.iter().map(|p| -(p[0] - x).powi(2) - (p[1] - y).powi(2)).collect());
        let (_, pieces) = borders(11, &margins);
        let inner: Vec<PlanePoint> =
            pieces.iter().flatten().copied().filter(|p| p.iter().all(|c| c.fract() != 0.0)).collect();
        assert_eq!(inner.len(), 3);
        let distances = places.map(|p| (p[0] - inner[0][0]).hypot(p[1] - inner[0][1]));
        assert!(distances.iter().all(|d| (d - distances[0]).abs() < 0.7), "{distances:?}");
        // Lines stay where two classes are equally near and the third is not nearer.
        for spot in pieces.into_iter().flatten().filter(|p| p.iter().any(|c| c.fract() == 0.0)) {
            let mut d = places.map(|p| (p[0] - spot[0]).powi(2) + (p[1] - spot[1]).powi(2));
            d.sort_by(f64::total_cmp);
            assert!((d[1] - d[0]).abs() < 1e-9, "{spot:?} {d:?}");
        }
    }

    #[test]
    fn saddles_join_the_class_of_the_middle() {
        // Class 0 at the upper left and lower right corners; its strength decides whether it is one region.
        let pieces = |strong: f64| {
            let lead = [strong, -1.0, -1.0, strong];
            borders(2, &Matrix::from_fn(4, 2, |i, c| if c == 0 { lead[i] } else { 0.0 })).1
        };
        // The other corners are cut off: each piece is on one side of the line from upper left to lower right.
        let crosses = |piece: &[PlanePoint; 2]| (piece[0][0] - piece[0][1]) * (piece[1][0] - piece[1][1]) < 0.0;
        assert!(pieces(3.0).len() == 2 && !pieces(3.0).iter().any(crosses));
        assert!(pieces(0.3).len() == 2 && pieces(0.3).iter().all(crosses));
    }

    #[test]
    fn margins_without_a_place_of_equality_give_the_middle() {
        let margins =
            Matrix::from_vec(4, 2, vec![0.0, f64::NEG_INFINITY, f64::NEG_INFINITY, 0.0, 1.0, 0.0, 1.0, 0.0]).unwrap();
        let (_, pieces) = borders(2, &margins);
        assert!(pieces.iter().flatten().any(|spot| *spot == [0.5, 0.0]), "{pieces:?}");
        assert!(pieces.iter().flatten().flatten().all(|c| c.is_finite()));
        assert!(borders(3, &Matrix::zeros(9, 2)).1.is_empty());
    }
}
