//! The nearest point of a convex hull whose corners cost: a quadratic programme on the simplex, by an active-set method.
//!
//! The corners in use grow by the one that costs least at the present point; where the minimum over them has a negative
//! weight, the way there ends at the first that reaches 0, which leaves (Wolfe 1976, "Finding the nearest point in a
//! polytope"). The objective falls with every change of the set, so no set occurs twice.

use crate::linalg::{Matrix, axpy, dot};

/// Added to the squared length of each corner, relative to it: corners that depend on others then have one minimum.
const RIDGE: f64 = 1e-10;
/// A corner enters if it costs less than those in use by more than this part of the largest cost.
const ENTER: f64 = 1e-10;
/// A start that uses more corners than this begins at the cheapest one instead: each corner that leaves takes a new factor.
const FEW: usize = 32;

/// The weights x on the simplex with the least `costs'x + 1/2 |A'x - target|^2`; the rows of A are the corners. `start` is a
/// guess, of which only the corners in use count. `None` if numbers overflow. Cost: a few changes of the set more than corners
/// in use, each P r for corners of r numbers.
pub(crate) fn nearest(corners: &Matrix, target: &[f64], costs: &[f64], start: &[f64]) -> Option<Vec<f64>> {
    let squares: Vec<f64> = corners.rows().map(|corner| dot(corner, corner)).collect();
    // On the simplex adding a constant to all products changes nothing; it makes corners independent that are so but for
    // the origin.
    let shift = squares.iter().copied().filter(|&square| square > 0.0).fold(f64::INFINITY, f64::min);
    let shift = if shift.is_finite() { shift } else { 1.0 };
    let linear = corners.rows().zip(costs).map(|(corner, cost)| dot(corner, target) - cost).collect();
    let p = costs.len();
    let mut search = Search { corners, squares, shift, linear, set: vec![], factor: vec![], x: vec![0.0; p] };
    search.begin(start, costs)?;
    search.descend(ENTER * costs.iter().fold(0.0, |most: f64, cost| most.max(cost.abs())));
    let sum: f64 = search.x.iter().sum();
    (sum.is_finite() && sum > 0.0).then(|| search.x.iter().map(|x| x / sum).collect())
}

/// The corners in use in the order they came in, the rows of the Cholesky factor of their products, and where they are.
struct Search<'a> {
    corners: &'a Matrix,
    squares: Vec<f64>,
    shift: f64,
    /// `A target - costs`.
    linear: Vec<f64>,
    set: Vec<usize>,
    factor: Vec<Vec<f64>>,
    x: Vec<f64>,
}

impl Search<'_> {
    /// Starts from the corners in use by a guess, or from the cheapest.
    fn begin(&mut self, start: &[f64], costs: &[f64]) -> Option<()> {
        let used: Vec<usize> = (0..start.len()).filter(|&m| start[m] > 0.0).collect();
        let cheapest = (0..costs.len()).min_by(|&a, &b| costs[a].total_cmp(&costs[b]))?;
        let begun = used.len() <= FEW && used.iter().all(|&m| self.append(m)) && !used.is_empty();
        if !begun {
            self.set.clear();
            self.factor.clear();
            self.append(cheapest).then_some(())?;
        }
        let sum: f64 = self.set.iter().map(|&m| start[m]).sum();
        for &m in &self.set {
            self.x[m] = if begun { start[m] / sum } else { 1.0 };
        }
        Some(())
    }

    fn descend(&mut self, enter: f64) {
        // Rounding could stall the objective; the limit prevents an endless loop.
        let mut left = 10 * self.x.len() + 100;
        // Corners that came in and went at once.
        let mut refused = vec![false; self.x.len()];
        let mut entered = None;
        while left > 0 {
            left = left.saturating_sub(1 + self.walk());
            match entered {
                Some(m) if self.x[m] == 0.0 => refused[m] = true,
                _ => refused.fill(false),
            }
            entered = self.cheapest_outside(&refused, enter);
            let Some(m) = entered else { return };
            if !self.append(m) {
                return;
            }
        }
    }

    /// The corner not in use that costs least, the first if tied, if it is worth taking in.
    fn cheapest_outside(&self, refused: &[bool], enter: f64) -> Option<usize> {
        let mut place = vec![0.0; self.corners.n_cols()];
        self.set.iter().for_each(|&m| axpy(self.x[m], self.corners.row(m), &mut place));
        let cost = |m: usize| dot(self.corners.row(m), &place) - self.linear[m];
        let here: f64 = self.set.iter().map(|&m| self.x[m] * cost(m)).sum();
        let mut best = None;
        for m in (0..self.x.len()).filter(|&m| self.x[m] == 0.0 && !refused[m]) {
            let cost = cost(m);
            if cost < best.map_or(here - enter, |(_, least)| least) {
                best = Some((m, cost));
            }
        }
        best.map(|(m, _)| m)
    }

    /// Adds a corner and its row of the factor; false if numbers overflow.
    fn append(&mut self, m: usize) -> bool {
        let mut row: Vec<f64> = Vec::with_capacity(self.set.len() + 1);
        for (&k, of_k) in self.set.iter().zip(&self.factor) {
            let product = dot(self.corners.row(m), self.corners.row(k)) + self.shift;
            row.push((product - dot(&row, &of_k[..row.len()])) / of_k[row.len()]);
        }
        let square = (1.0 + RIDGE) * (self.squares[m] + self.shift);
        // What rounding leaves of a corner that depends on others is the ridge.
        let rest = (square - dot(&row, &row)).max(RIDGE * square);
        row.push(rest.sqrt());
        self.set.push(m);
        self.factor.push(row);
        rest.is_finite()
    }

    /// Moves to the minimum over the corners in use; those that reach 0 leave, and the move goes on. Returns how many left.
    fn walk(&mut self) -> usize {
        let mut n_left = 0;
        loop {
            let wish = self.minimum();
            let way =
                |(&m, &wish): (&usize, &f64)| if wish < 0.0 { self.x[m] / (self.x[m] - wish) } else { f64::INFINITY };
            let ways: Vec<f64> = self.set.iter().zip(&wish).map(way).collect();
            let first = (0..ways.len()).min_by(|&a, &b| ways[a].total_cmp(&ways[b]));
            let Some(out) = first.filter(|&k| ways[k] < 1.0 && self.set.len() > 1) else {
                self.set.iter().zip(&wish).for_each(|(&m, &wish)| self.x[m] = wish.max(0.0));
                return n_left;
            };
            for (&m, &wish) in self.set.iter().zip(&wish) {
                self.x[m] += ways[out] * (wish - self.x[m]);
            }
            self.x[self.set[out]] = 0.0;
            n_left += 1;
            let kept: Vec<usize> = self.set.iter().copied().filter(|&m| self.x[m] > 0.0).collect();
            self.set.clear();
            self.factor.clear();
            kept.into_iter().for_each(|m| {
                self.append(m);
            });
        }
    }

    /// The minimum over the corners in use with weights that add up to 1, of any sign.
    fn minimum(&self) -> Vec<f64> {
        let (mut z, mut ones) =
            (self.set.iter().map(|&m| self.linear[m]).collect::<Vec<_>>(), vec![1.0; self.set.len()]);
        self.divide(&mut z);
        self.divide(&mut ones);
        let ratio = (1.0 - z.iter().sum::<f64>()) / ones.iter().sum::<f64>();
        axpy(ratio, &ones, &mut z);
        z
    }

    /// Divides by the products of the corners in use.
    fn divide(&self, z: &mut [f64]) {
        for (i, row) in self.factor.iter().enumerate() {
            z[i] = (z[i] - dot(&row[..i], &z[..i])) / row[i];
        }
        for (i, row) in self.factor.iter().enumerate().rev() {
            z[i] /= row[i];
            let value = z[i];
            z[..i].iter_mut().zip(row).for_each(|(z, l)| *z -= value * l);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Rng;

    fn random(rng: &mut Rng, n: usize, scale: f64) -> Vec<f64> {
        (0..n).map(|_| scale * (rng.uniform() - 0.5)).collect()
    }

    fn slopes(corners: &Matrix, target: &[f64], costs: &[f64], x: &[f64]) -> Vec<f64> {
        let mut off: Vec<f64> = target.iter().map(|t| -t).collect();
        corners.rows().zip(x).for_each(|(corner, &x)| axpy(x, corner, &mut off));
        corners.rows().zip(costs).map(|(corner, cost)| dot(corner, &off) + cost).collect()
    }

    #[test]
    fn nearest_meets_the_optimality_conditions_from_any_start() {
        let mut rng = Rng::new(6, 0);
        for (p, r) in [(1, 3), (2, 1), (17, 40), (60, 8), (200, 30), (30, 0)] {
            for scale in [1e-6, 1.0, 1e3] {
                let corners = Matrix::from_vec(p, r, random(&mut rng, p * r, 1.0)).unwrap();
                let (target, costs) = (random(&mut rng, r, 2.0), random(&mut rng, p, scale));
                let most = costs.iter().fold(0.0, |most: f64, cost| most.max(cost.abs())) + 2.0 * r as f64;
                let mut one = vec![0.0; p];
                one[p / 2] = 1.0;
                let starts = [vec![1.0 / p as f64; p], one];
                let found = starts.map(|start| nearest(&corners, &target, &costs, &start).unwrap());
                for x in &found {
                    assert!((x.iter().sum::<f64>() - 1.0).abs() < 1e-12 && x.iter().all(|&x| x >= 0.0));
                    let slopes = slopes(&corners, &target, &costs, x);
                    let here = dot(&slopes, x);
                    for (x, slope) in x.iter().zip(&slopes) {
                        assert!(slope - here > -1e-7 * most, "{p} x {r}: {slope} below {here}");
                        assert!(*x < 1e-9 || slope - here < 1e-7 * most, "{p} x {r}: {x} at {slope} above {here}");
                    }
                }
            }
        }
    }

    #[test]
    fn corners_that_occur_twice_or_depend_on_others_are_no_obstacle() {
        // A square around the target, each corner twice, and its middle.
        let corners = [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]];
        let all: Vec<f64> = corners.iter().chain(&corners).flatten().copied().chain([0.0; 2]).collect();
        let corners = Matrix::from_vec(9, 2, all).unwrap();
        for start in [vec![1.0 / 9.0; 9], vec![0.0; 9]] {
            let x = nearest(&corners, &[0.5, 0.25], &[0.0; 9], &start).unwrap();
            let off = slopes(&corners, &[0.5, 0.25], &[0.0; 9], &x);
            assert!(off.iter().all(|slope| slope.abs() < 1e-7), "{off:?} at {x:?}");
        }
        let costs: Vec<f64> = (0..9).map(|m| f64::from(m == 3) - 1.0).collect();
        assert!(nearest(&corners, &[f64::INFINITY, 0.0], &costs, &[0.0; 9]).is_none());
    }
}
