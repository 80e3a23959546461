//! Class probabilities for methods that give margins.
//!
//! The margins `m_c` of a row, one per class, become
//!
//! ```text
//! q_c = exp(z_c) / (exp(z_0) + ... + exp(z_{k-1})),    z_c = slope_c * clamp(m_c) / scale + offset_c,    slope_c > 0
//! ```
//!
//! With two classes and margins (f, -f) this is Platt's sigmoid 1 / (1 + exp(-(A f + B))). Each class has its own
//! slope, because margins of different classes differ in spread. Slopes and offsets are learned on held-out rows, since
//! margins of training rows are too optimistic. The objective is convex:
//!
//! ```text
//! sum_i [ln(sum_c exp(z_ic)) - sum_c t_ic z_ic]  +  sum_c (slope_c - ln slope_c) / 32  +  sum_c offset_c^2 / 2
//! ```
//!
//! - The targets `t` are Platt's: a row of a class with n rows counts as `1 - e` of it and as `e / (k - 1)` of each
//!   other class, with `e = (2/k) / (n + 2)`: two wrong rows in all, whatever the number of classes. So separable rows
//!   do not lead to certainty, and a class without rows keeps a small probability.
//! - The two penalties weigh as much as a row or less. They keep slopes above 0 and the minimum unique with few rows,
//!   and pull towards "one slope for all, offsets 0", where probabilities and margins agree by themselves.
//! - `scale` is the root mean square of the margins around their row's mean, so rescaling the margins changes nothing.
//! - `clamp` keeps margins within the range seen in training: rows far outside are no more certain than any row seen,
//!   and infinite margins (a class that was not trained) are mapped to a finite value.
//!
//! The label has the last word. Offsets may rank another class first, in many rows if the classes are imbalanced. Then
//! the label and the classes above it share their probabilities evenly (the nearest probabilities, by squares and by
//! divergence, that do not contradict the label), less a millionth (2^-20) of it for the others, so that the label is
//! the largest in ties as well. With two classes: p = max(1/2, sigmoid) of the label. Compared with the free sigmoid
//! this cost at most 0.001 in Brier score on ten sets, 0.0001 in the mean.
//!
//! The minimum is found by Newton's method: directions by conjugate gradients, steps halved until the value decreases
//! enough, which converges from any start since the objective is strictly convex.

use crate::error::{Error, Result};
use crate::file::{Codec, Record};
use crate::linalg::{Matrix, dot};
use crate::simd::exp;

/// A map from a method's margins to class probabilities that never contradict the label: the softmax of `slope_c *
/// margin_c + offset_c`, where classes above the label are brought level with it. The head of `run/calibrate.rs`
/// describes how it is learned, and why.
///
/// Margins are n_samples x n_classes, larger meaning more of that class, of one kind for all classes: scores of a
/// one-vs-rest machine, log densities, and for one-vs-one the smallest decision against another class; 0 should mean
/// something, such as the border of the class. Votes work, but carry little information: the log-loss is up to 2.5
/// times as high.
///
/// ```
/// use multikernel::{Matrix, plan::Calibration};
/// let held_out = Matrix::from_fn(40, 2, |i, c| (i as f64 - 19.5) * if c == 1 { 0.1 } else { -0.1 });
/// let codes: Vec<usize> = (0..40).map(|i| usize::from(i > 22 || i == 12)).collect();
/// let calibration = Calibration::fit(&held_out, &codes)?;
/// let new = Matrix::from_vec(2, 2, vec![-1.5, 1.5, 0.1, -0.1])?;
/// let p = calibration.apply(&new, &[1, 0])?;
/// assert!(p.get(0, 1) > 0.9 && p.get(1, 0) > 0.5 && p.get(1, 0) < 0.8);
/// # Ok::<(), multikernel::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    slope: Vec<f64>,
    offset: Vec<f64>,
    scale: f64,
    lowest: f64,
    highest: f64,
}

/// Written by hand instead of with `record!`, because the parts must be consistent: margins are clamped and indexed
/// with them.
impl Codec for Calibration {
    fn encode(&self) -> Record {
        let mut record = Record::default();
        record.put("slope", &self.slope);
        record.put("offset", &self.offset);
        record.put("scale", &self.scale);
        record.put("lowest", &self.lowest);
        record.put("highest", &self.highest);
        record
    }

    fn decode(record: &Record) -> Result<Self> {
        let map = Calibration {
            slope: record.take("slope")?,
            offset: record.take("offset")?,
            scale: record.take("scale")?,
            lowest: record.take("lowest")?,
            highest: record.take("highest")?,
        };
        map.check(map.slope.len())?;
        Ok(map)
    }
}

/// Fraction of its probability by which the label leads a class it is level with: visible in six digits and in `f32`.
const AHEAD: f64 = 1.0 / (1u64 << 20) as f64;

/// Weight of the penalty on slopes, minimal at slope 1; 0.03 to 0.3 differ by less than 0.5 % in log-loss.
const SLOPE_PENALTY: f64 = 1.0 / 32.0;

/// Weight of the penalty on offsets.
const OFFSET_PENALTY: f64 = 1.0;

/// The value is within this of the minimum: parameters are then known to a millionth of their standard error.
const TOLERANCE: f64 = 1e-12;

/// Maximum number of Newton steps; ten is typical.
const MAX_STEPS: usize = 100;

impl Calibration {
    /// Learns the map from the margins of held-out rows (n_samples x n_classes) and their true classes. Infinite
    /// margins count as the largest or smallest finite one.
    ///
    /// A class without rows gets a small probability. Costs O(n_samples n_classes) for each of about ten steps of up to
    /// 4 n_classes parts. Fewer than two classes, no rows, labels outside the classes and NaN are errors.
    pub fn fit(margins: &Matrix, codes: &[usize]) -> Result<Calibration> {
        check_rows(margins, codes, margins.n_cols())?;
        if codes.is_empty() || margins.n_cols() < 2 {
            return Err(Error::input(format!(
                "calibration: margins are {} x {}; at least one row held out and two classes are needed",
                margins.n_rows(),
                margins.n_cols()
            )));
        }
        let finite = || margins.data().iter().copied().filter(|margin| margin.is_finite());
        let lowest = finite().fold(f64::INFINITY, f64::min);
        let highest = finite().fold(f64::NEG_INFINITY, f64::max);
        if lowest > highest {
            return Err(Error::input("calibration: no margin is finite; train on more rows of each class"));
        }
        let mut map = Calibration { slope: vec![], offset: vec![], scale: 1.0, lowest, highest };
        map.scale = map.spread(margins);
        let points = Matrix::from_fn(margins.n_rows(), margins.n_cols(), |i, c| map.scaled(margins.get(i, c)));
        let theta = Objective::new(points, codes).minimise();
        let (slope, offset) = theta.split_at(margins.n_cols());
        Ok(Calibration { slope: slope.to_vec(), offset: offset.to_vec(), ..map })
    }

    /// Probabilities of rows from their margins and labels: rows sum to 1, and the first largest is the label. With the
    /// label fixed, raising a class's margin never makes it less likely. O(n_samples n_classes), plus a sort for each
    /// row whose label was not the likeliest.
    pub fn apply(&self, margins: &Matrix, labels: &[usize]) -> Result<Matrix> {
        check_rows(margins, labels, self.slope.len())?;
        let mut probabilities = self.free(margins);
        labels.iter().enumerate().for_each(|(i, &label)| give_way(probabilities.row_mut(i), label));
        Ok(probabilities)
    }

    /// Probabilities of rows from their margins alone, for models whose label is the likeliest class. A column for each
    /// class it was learned on.
    pub(crate) fn free(&self, margins: &Matrix) -> Matrix {
        let mut probabilities = Matrix::zeros(margins.n_rows(), margins.n_cols());
        for i in 0..margins.n_rows() {
            let row = probabilities.row_mut(i);
            for (c, (value, &margin)) in row.iter_mut().zip(margins.row(i)).enumerate() {
                *value = self.slope[c] * self.scaled(margin) + self.offset[c];
            }
            softmax(row);
        }
        probabilities
    }

    /// Whether its numbers are consistent with each other and with the number of classes of the model it was read with.
    pub fn check(&self, n_classes: usize) -> Result<()> {
        let positive = |value: &f64| value.is_finite() && *value > 0.0;
        // The ends may be finite while the values they map to are not.
        let mapped = |end: f64| self.slope.iter().zip(&self.offset).map(move |(s, o)| s * (end / self.scale) + o);
        let fits = self.slope.len() == n_classes
            && self.offset.len() == n_classes
            && self.slope.iter().all(positive)
            && positive(&self.scale)
            && self.lowest <= self.highest
            && mapped(self.lowest).chain(mapped(self.highest)).all(f64::is_finite);
        if fits { Ok(()) } else { Err(Error::input("the numbers of its calibration do not fit together")) }
    }

    fn scaled(&self, margin: f64) -> f64 {
        margin.clamp(self.lowest, self.highest) / self.scale
    }

    /// Root mean square of the margins around their row's mean; 1 if they are all equal.
    fn spread(&self, margins: &Matrix) -> f64 {
        // In units of the largest margin, so that no square overflows or underflows.
        let unit = self.lowest.abs().max(self.highest.abs());
        let mut sum = 0.0;
        for row in margins.rows() {
            let row: Vec<f64> = row.iter().map(|margin| margin.clamp(self.lowest, self.highest) / unit).collect();
            let mean = row.iter().sum::<f64>() / row.len() as f64;
            sum += row.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
        }
        let spread = unit * (sum / margins.data().len() as f64).sqrt();
        if spread.is_normal() { spread } else { 1.0 }
    }
}

/// Turns exponents into probabilities and returns the logarithm of their sum.
fn softmax(row: &mut [f64]) -> f64 {
    let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for value in row.iter_mut() {
        *value = exp(*value - top);
        sum += *value;
    }
    row.iter_mut().for_each(|value| *value /= sum);
    top + sum.ln()
}

/// Makes the label the likeliest class: classes above it are lowered until all of them are level, up to [`AHEAD`].
fn give_way(row: &mut [f64], label: usize) {
    let behind = 1.0 - AHEAD;
    if (0..row.len()).all(|c| c == label || row[c] <= behind * row[label]) {
        return;
    }
    let mut others: Vec<usize> = (0..row.len()).filter(|&c| c != label).collect();
    others.sort_by(|&a, &b| row[b].total_cmp(&row[a]));
    let (mut sum, mut level, mut shared) = (row[label], row[label], 0);
    while shared < others.len() && row[others[shared]] > behind * level {
        sum += row[others[shared]];
        shared += 1;
        level = sum / (1.0 + shared as f64 * behind);
    }
    others[..shared].iter().for_each(|&c| row[c] = behind * level);
    row[label] = level;
}

fn check_rows(margins: &Matrix, labels: &[usize], n_classes: usize) -> Result<()> {
    if (margins.n_rows(), margins.n_cols()) != (labels.len(), n_classes) {
        return Err(Error::input(format!(
            "calibration: margins are {} x {}, expected {} x {n_classes}; pass one row for each label and one column for \
             each class",
            margins.n_rows(),
            margins.n_cols(),
            labels.len()
        )));
    }
    if let Some(row) = labels.iter().position(|&label| label >= n_classes) {
        return Err(Error::input(format!(
            "calibration: label {} of row {row} is outside 0..{n_classes}; number the classes from 0",
            labels[row]
        )));
    }
    match margins.data().iter().position(|margin| margin.is_nan()) {
        Some(at) => Err(Error::input(format!(
            "calibration: the margin of row {} for class {} is NaN; leave rows out whose kernels overflow",
            at / n_classes,
            at % n_classes
        ))),
        None => Ok(()),
    }
}

/// The objective, a function of `theta`: slopes, then offsets.
struct Objective<'a> {
    /// Scaled margins.
    points: Matrix,
    codes: &'a [usize],
    /// The total target weight that a row of each class gives to the other classes.
    missed: Vec<f64>,
}

/// A point in parameter space with everything Newton's method needs there.
struct Place {
    theta: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
    probabilities: Matrix,
}

impl<'a> Objective<'a> {
    fn new(points: Matrix, codes: &'a [usize]) -> Self {
        let n_classes = points.n_cols();
        let mut counts = vec![0usize; n_classes];
        codes.iter().for_each(|&code| counts[code] += 1);
        let missed = counts.iter().map(|&count| 2.0 / n_classes as f64 / (count as f64 + 2.0)).collect();
        Objective { points, codes, missed }
    }

    fn n_classes(&self) -> usize {
        self.points.n_cols()
    }

    fn minimise(&self) -> Vec<f64> {
        let k = self.n_classes();
        let mut place = self.look((0..2 * k).map(|j| if j < k { 1.0 } else { 0.0 }).collect());
        for _ in 0..MAX_STEPS {
            let direction = self.direction(&place);
            // Half of this is how far the value would fall if the objective were quadratic.
            let descent = -dot(&place.gradient, &direction);
            if descent.is_nan() || descent <= TOLERANCE {
                break;
            }
            match self.step(&place, &direction, descent) {
                Some(next) => place = next,
                None => break,
            }
        }
        place.theta
    }

    /// Value, gradient and probabilities at `theta`.
    fn look(&self, theta: Vec<f64>) -> Place {
        let k = self.n_classes();
        let (slope, offset) = theta.split_at(k);
        let mut probabilities = Matrix::zeros(self.points.n_rows(), k);
        let mut value = 0.0;
        let mut gradient = vec![0.0; 2 * k];
        for (i, &code) in self.codes.iter().enumerate() {
            let (point, row) = (self.points.row(i), probabilities.row_mut(i));
            let other = self.missed[code] / (k - 1) as f64;
            let target = |c: usize| if c == code { 1.0 - self.missed[code] } else { other };
            for c in 0..k {
                row[c] = slope[c] * point[c] + offset[c];
                value -= target(c) * row[c];
            }
            value += softmax(row);
            for c in 0..k {
                let error = row[c] - target(c);
                gradient[c] += error * point[c];
                gradient[k + c] += error;
            }
        }
        for c in 0..k {
            value += SLOPE_PENALTY * (slope[c] - slope[c].ln()) + OFFSET_PENALTY * offset[c] * offset[c] / 2.0;
            gradient[c] += SLOPE_PENALTY * (1.0 - 1.0 / slope[c]);
            gradient[k + c] += OFFSET_PENALTY * offset[c];
        }
        Place { theta, value, gradient, probabilities }
    }

    /// Second derivative of the penalty on parameter `j`.
    fn penalty_curvature(&self, place: &Place, j: usize) -> f64 {
        if j < self.n_classes() { SLOPE_PENALTY / place.theta[j].powi(2) } else { OFFSET_PENALTY }
    }

    /// The Hessian times a vector.
    fn curve(&self, place: &Place, vector: &[f64]) -> Vec<f64> {
        let k = self.n_classes();
        let mut product: Vec<f64> =
            vector.iter().enumerate().map(|(j, v)| v * self.penalty_curvature(place, j)).collect();
        for (point, p) in self.points.rows().zip(place.probabilities.rows()) {
            let change = |c: usize| vector[c] * point[c] + vector[k + c];
            let mean: f64 = (0..k).map(|c| p[c] * change(c)).sum();
            for c in 0..k {
                let part = p[c] * (change(c) - mean);
                product[c] += part * point[c];
                product[k + c] += part;
            }
        }
        product
    }

    /// The diagonal of the Hessian.
    fn diagonal(&self, place: &Place) -> Vec<f64> {
        let k = self.n_classes();
        let mut diagonal: Vec<f64> = (0..2 * k).map(|j| self.penalty_curvature(place, j)).collect();
        for (point, p) in self.points.rows().zip(place.probabilities.rows()) {
            for c in 0..k {
                let part = p[c] * (1.0 - p[c]);
                diagonal[c] += part * point[c] * point[c];
                diagonal[k + c] += part;
            }
        }
        diagonal
    }

    /// The Newton direction to a thousandth, by conjugate gradients in units of the diagonal; a descent direction at
    /// any iteration.
    fn direction(&self, place: &Place) -> Vec<f64> {
        let diagonal = self.diagonal(place);
        let ease = |residual: &[f64]| -> Vec<f64> { residual.iter().zip(&diagonal).map(|(r, d)| r / d).collect() };
        let mut residual: Vec<f64> = place.gradient.iter().map(|g| -g).collect();
        let mut direction = vec![0.0; residual.len()];
        let mut search = ease(&residual);
        let mut size = dot(&residual, &search);
        let enough = 1e-6 * size;
        for _ in 0..2 * residual.len() {
            if size <= enough {
                break;
            }
            let product = self.curve(place, &search);
            let length = size / dot(&search, &product);
            for j in 0..direction.len() {
                direction[j] += length * search[j];
                residual[j] -= length * product[j];
            }
            let eased = ease(&residual);
            let next = dot(&residual, &eased);
            search.iter_mut().zip(&eased).for_each(|(s, e)| *s = e + next / size * *s);
            size = next;
        }
        direction
    }

    /// The first of the halved steps that keeps slopes above 0 and achieves a fraction of the predicted decrease;
    /// `None` when rounding leaves nothing to gain.
    fn step(&self, place: &Place, direction: &[f64], descent: f64) -> Option<Place> {
        let shrink = (0..self.n_classes()).map(|c| -direction[c] / place.theta[c]).fold(0.0, f64::max);
        let mut length = if shrink > 0.9 { 0.9 / shrink } else { 1.0 };
        let rounding = 1e-13 * place.value.abs();
        for _ in 0..60 {
            let theta = place.theta.iter().zip(direction).map(|(t, d)| t + length * d).collect();
            let next = self.look(theta);
            if next.value <= place.value - 1e-4 * length * descent + rounding {
                return Some(next);
            }
            length /= 2.0;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::dist::Rng;

    fn first_largest(row: &[f64]) -> usize {
        let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        row.iter().position(|&value| value == largest).unwrap()
    }

    fn labels(margins: &Matrix) -> Vec<usize> {
        margins.rows().map(first_largest).collect()
    }

    /// Margins on a few levels, for many ties: rows to learn from, and new rows that reach further out, whose labels
    /// are unrelated to their margins, as where a vote decided.
    fn cases() -> impl Strategy<Value = (Matrix, Vec<usize>, Matrix, Vec<usize>)> {
        (2usize..6, 1usize..30, 1usize..20).prop_flat_map(|(k, n, m)| {
            let matrix = |rows: usize, levels: std::ops::Range<i32>| {
                let values = prop::collection::vec(levels, rows * k);
                values.prop_map(move |v| Matrix::from_fn(rows, k, |i, c| f64::from(v[i * k + c]) / 3.0))
            };
            (matrix(n, -4..5), prop::collection::vec(0..k, n), matrix(m, -9..10), prop::collection::vec(0..k, m))
        })
    }

    /// Margins with the given spread for each class, and classes drawn from the probabilities `truth` gives each row.
    fn simulated(n: usize, spread: &[f64], truth: impl Fn(&[f64]) -> Vec<f64>, seed: u64) -> (Matrix, Vec<usize>) {
        let mut rng = Rng::new(seed, 0);
        let margins = Matrix::from_fn(n, spread.len(), |_, c| spread[c] * (4.0 * rng.uniform() - 2.0));
        let draw = |row: &[f64]| {
            let mut left = rng.uniform();
            truth(row).iter().position(|p| {
                left -= p;
                left < 0.0
            })
        };
        let codes = margins.rows().map(draw).map(|code| code.unwrap_or(spread.len() - 1)).collect();
        (margins, codes)
    }

    /// (f, -f) of each row from its first margin.
    fn opposite(margins: &Matrix) -> Matrix {
        Matrix::from_fn(margins.n_rows(), 2, |i, c| if c == 0 { margins.get(i, 0) } else { -margins.get(i, 0) })
    }

    fn sigmoid(z: f64) -> f64 {
        1.0 / (1.0 + (-z).exp())
    }

    proptest! {
        #[test]
        fn label_is_the_first_largest_probability_in_ties_and_against_the_margins(
            (margins, codes, new, given) in cases()
        ) {
            let map = Calibration::fit(&margins, &codes)?;
            for labels in [labels(&new), given] {
                let p = map.apply(&new, &labels)?;
                for (row, label) in p.rows().zip(labels) {
                    prop_assert_eq!(first_largest(row), label, "{:?}", row);
                    prop_assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                    prop_assert!(row.iter().all(|p| (0.0..=1.0).contains(p)));
                    // Still distinct in single precision.
                    let level = row.iter().filter(|&&other| other as f32 == row[label] as f32).count();
                    prop_assert_eq!(level, 1);
                }
            }
        }

        #[test]
        fn any_numbers_have_probabilities(
            values in prop::collection::vec(prop::num::f64::ANY.prop_filter("NaN is refused", |v| !v.is_nan()), 12..60),
            seed in 0u64..99,
        ) {
            let (n, mut rng) = (values.len() / 3, Rng::new(seed, 0));
            let margins = Matrix::from_fn(n, 3, |i, c| values[3 * i + c]);
            let codes: Vec<usize> = (0..n).map(|_| rng.below(3)).collect();
            prop_assume!(margins.data().iter().any(|margin| margin.is_finite()));
            let map = Calibration::fit(&margins, &codes)?;
            prop_assert!(map.check(3).is_ok(), "{map:?}");
            let labels = labels(&margins);
            for (row, label) in map.apply(&margins, &labels)?.rows().zip(labels) {
                prop_assert_eq!(first_largest(row), label);
                prop_assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            }
        }

        #[test]
        fn larger_margin_is_never_less_likely((margins, codes, new, given) in cases(), class in 0usize..2) {
            let map = Calibration::fit(&margins, &codes)?;
            let raised = Matrix::from_fn(new.n_rows(), new.n_cols(), |i, c| {
                new.get(i, c) + if c == class { 0.25 } else { 0.0 }
            });
            let (low, high) = (map.apply(&new, &given)?, map.apply(&raised, &given)?);
            for i in 0..new.n_rows() {
                prop_assert!(high.get(i, class) >= low.get(i, class) - 1e-12);
            }
        }

        #[test]
        fn giving_way_moves_as_little_as_possible(levels in prop::collection::vec(1u32..9, 2..6), pick in 0usize..6) {
            let label = pick % levels.len();
            let sum: f64 = levels.iter().map(|&level| f64::from(level)).sum();
            let before: Vec<f64> = levels.iter().map(|&level| f64::from(level) / sum).collect();
            let mut after = before.clone();
            give_way(&mut after, label);
            // The nearest point of a convex set: no move towards another of its points is a move towards `before`. Its
            // corners have the label level with any subset of the other classes, up to the millionth.
            for members in 0u32..1 << levels.len() {
                let inside = |c: usize| c == label || members >> c & 1 == 1;
                let size = (0..levels.len()).filter(|&c| inside(c)).count() as f64;
                let corner = |c: usize| if inside(c) { 1.0 / size } else { 0.0 };
                let along: f64 = (0..levels.len()).map(|c| (before[c] - after[c]) * (corner(c) - after[c])).sum();
                prop_assert!(along < 1e-5, "{before:?} {after:?} {members}");
            }
        }

        #[test]
        fn derivatives_equal_differences((margins, codes, _, _) in cases(), seed in 0u64..99) {
            let (k, mut rng) = (margins.n_cols(), Rng::new(seed, 0));
            let objective = Objective::new(margins, &codes);
            let theta: Vec<f64> = (0..2 * k).map(|j| if j < k { 0.5 + rng.uniform() } else { rng.uniform() - 0.5 }).collect();
            let moved = |j: usize, by: f64| {
                let mut theta = theta.clone();
                theta[j] += by;
                objective.look(theta)
            };
            let place = objective.look(theta.clone());
            let diagonal = objective.diagonal(&place);
            for j in 0..2 * k {
                let (up, down) = (moved(j, 1e-5), moved(j, -1e-5));
                prop_assert!(((up.value - down.value) / 2e-5 - place.gradient[j]).abs() < 1e-6 * (1.0 + codes.len() as f64));
                let unit: Vec<f64> = (0..2 * k).map(|i| f64::from(u8::from(i == j))).collect();
                let product = objective.curve(&place, &unit);
                prop_assert!((product[j] - diagonal[j]).abs() < 1e-9 * (1.0 + diagonal[j]));
                for (i, product) in product.iter().enumerate() {
                    let difference = (up.gradient[i] - down.gradient[i]) / 2e-5;
                    prop_assert!((difference - product).abs() < 1e-6 * (1.0 + codes.len() as f64));
                }
            }
        }

        #[test]
        fn fit_of_any_rows_is_the_minimum((margins, codes, _, _) in cases()) {
            let objective = Objective::new(margins, &codes);
            let place = objective.look(objective.minimise());
            // How far the value could still fall along each parameter.
            let falls = place.gradient.iter().zip(objective.diagonal(&place)).map(|(g, d)| g * g / d);
            prop_assert!(falls.fold(0.0, f64::max) < 1e-11, "{:?}", place.gradient);
            prop_assert!(place.theta[..objective.n_classes()].iter().all(|&slope| slope > 0.0));
        }
    }

    #[test]
    fn fit_of_ten_rows_equals_a_general_optimiser() {
        let rows = [
            [1.5, -0.5, -1.0],
            [0.25, 0.5, -1.25],
            [-0.75, 1.0, 0.5],
            [2.0, -2.0, -0.5],
            [-1.0, -0.25, 0.75],
            [-0.5, -1.5, 1.25],
            [0.5, 0.75, -1.0],
            [-1.5, 0.25, -0.25],
            [1.0, -1.0, 0.125],
            [-0.5, 0.5, 2.0],
        ];
        let margins = Matrix::from_fn(10, 3, |i, c| rows[i][c]);
        let map = Calibration::fit(&margins, &[0, 1, 1, 0, 2, 2, 0, 1, 2, 2]).unwrap();
        // L-BFGS-B of SciPy 1.17 on the formula at the head of this file, gradient below 1e-10.
        let expected = [0.733337181, 1.237414273, 1.538142505, -0.14224102, 0.062789149, 0.079451871];
        for (found, expected) in map.slope.iter().chain(&map.offset).zip(expected) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
        assert!((map.scale - 0.9847800092744909).abs() < 1e-15);
        assert_eq!((map.lowest, map.highest), (-2.0, 2.0));
    }

    #[test]
    fn two_classes_recover_the_sigmoid_they_were_drawn_from() {
        let (a, b) = (1.5, -0.7);
        let n = 20_000;
        let (margins, codes) =
            simulated(n, &[1.0, 1.0], |row| vec![sigmoid(a * row[0] + b), sigmoid(-a * row[0] - b)], 1);
        let map = Calibration::fit(&opposite(&margins), &codes).unwrap();
        let (slope, offset) = ((map.slope[0] + map.slope[1]) / map.scale, map.offset[0] - map.offset[1]);
        // Fisher's information at the truth: [sum v f^2, sum v f; sum v f, sum v] with v = p (1 - p).
        let mut information = [0.0; 3];
        for i in 0..n {
            let f = margins.get(i, 0);
            let v = sigmoid(a * f + b) * sigmoid(-a * f - b);
            information[0] += v * f * f;
            information[1] += v * f;
            information[2] += v;
        }
        let determinant = information[0] * information[2] - information[1] * information[1];
        let (slope_error, offset_error) =
            ((information[2] / determinant).sqrt(), (information[0] / determinant).sqrt());
        assert!((slope - a).abs() < 4.0 * slope_error, "{slope} ± {slope_error}");
        assert!((offset - b).abs() < 4.0 * offset_error, "{offset} ± {offset_error}");
        // Both are estimated precisely enough for this to be a real test.
        assert!(slope_error < 0.03 && offset_error < 0.03);
    }

    #[test]
    fn three_classes_recover_the_probabilities_they_were_drawn_from() {
        let truth = |row: &[f64]| {
            let mut z: Vec<f64> = (0..3).map(|c| [2.0, 0.8, 0.3][c] * row[c] + [0.0, 0.5, -1.0][c]).collect();
            softmax(&mut z);
            z
        };
        let n = 20_000;
        let (margins, codes) = simulated(n, &[0.5, 1.0, 3.0], truth, 2);
        let map = Calibration::fit(&margins, &codes).unwrap();
        let divergence: f64 = margins
            .rows()
            .map(|row| {
                let (p, mut q) = (truth(row), vec![0.0; 3]);
                (0..3).for_each(|c| q[c] = map.slope[c] * map.scaled(row[c]) + map.offset[c]);
                softmax(&mut q);
                p.iter().zip(&q).map(|(p, q)| p * (p / q).ln()).sum::<f64>()
            })
            .sum();
        // Twice the divergence is chi-square with one degree of freedom for each of the 5 parameters that matter
        // (offsets have one too many); 25.7 is its 0.9999 quantile.
        assert!(2.0 * divergence < 25.7, "{divergence}");
    }

    #[test]
    fn margins_times_a_factor_have_the_same_probabilities() {
        let (margins, codes) = simulated(
            300,
            &[1.0, 2.0, 0.5],
            |row| {
                let mut z = row.to_vec();
                softmax(&mut z);
                z
            },
            3,
        );
        let found = |factor: f64| {
            let margins = Matrix::from_fn(300, 3, |i, c| factor * margins.get(i, c));
            let map = Calibration::fit(&margins, &codes).unwrap();
            map.apply(&margins, &labels(&margins)).unwrap()
        };
        let plain = found(1.0);
        for factor in [10.0, 0.1, 1e-200, 1e200] {
            let scaled = found(factor);
            let apart = plain.data().iter().zip(scaled.data()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(apart < 1e-9, "{factor}: {apart}");
        }
    }

    #[test]
    fn separable_rows_are_not_certain() {
        for n in [2, 10, 1000] {
            let margins = Matrix::from_fn(n, 2, |i, c| if i % 2 == c { 5.0 } else { -5.0 });
            let codes: Vec<usize> = (0..n).map(|i| i % 2).collect();
            let map = Calibration::fit(&margins, &codes).unwrap();
            let p = map.apply(&margins, &codes).unwrap();
            // Platt's target, from which the penalties may move a few rows a little.
            let target = (n as f64 / 2.0 + 1.0) / (n as f64 / 2.0 + 2.0);
            let doubt = (1.0 - p.get(0, 0)) / (1.0 - target);
            assert!((0.8..1.25).contains(&doubt), "{n}: {} and not {target}", p.get(0, 0));
            // Rows further out than any seen are not more certain, however far.
            let far = Matrix::from_vec(3, 2, vec![f64::MAX, f64::MIN, f64::INFINITY, f64::NEG_INFINITY, 6.0, -6.0]);
            let far = map.apply(&far.unwrap(), &[0, 0, 0]).unwrap();
            assert!((0..3).all(|i| far.row(i) == p.row(0)), "{far:?}");
        }
    }

    #[test]
    fn class_without_rows_has_a_small_probability() {
        let (margins, codes) = simulated(200, &[1.0, 1.0, 1.0, 1.0], |row| vec![sigmoid(row[0]), sigmoid(-row[0])], 4);
        assert!(codes.iter().all(|&code| code < 2));
        // As a one-vs-rest machine scores a class it was not trained on.
        for absent in [-1.0, f64::NEG_INFINITY] {
            let margins = Matrix::from_fn(200, 4, |i, c| if c < 2 { margins.get(i, c) } else { absent });
            let map = Calibration::fit(&margins, &codes).unwrap();
            let p = map.apply(&margins, &labels(&margins)).unwrap();
            let share = p.column(3).iter().sum::<f64>() / 200.0;
            assert!(share > 1e-4 && share < 0.02, "{share}");
        }
    }

    #[test]
    fn rows_all_alike_have_the_share_of_their_class() {
        let codes: Vec<usize> = (0..100).map(|i| usize::from(i < 30)).collect();
        let margins = Matrix::zeros(100, 2);
        let map = Calibration::fit(&margins, &codes).unwrap();
        let p = map.apply(&margins, &labels(&margins)).unwrap();
        assert!((p.get(0, 0) - 0.7).abs() < 0.02, "{}", p.get(0, 0));
        // The label is the first class by its margins: where the other is likelier, the two are level.
        let opposite: Vec<usize> = codes.iter().map(|code| 1 - code).collect();
        let p = Calibration::fit(&margins, &opposite).unwrap().apply(&margins, &[0; 100]).unwrap();
        assert!(p.get(0, 0) > 0.5 && p.get(0, 0) < 0.500001 && p.get(0, 1) > 0.499999);
    }

    #[test]
    fn stored_calibration_is_the_same_and_a_forged_one_is_refused() {
        let (margins, codes) = simulated(50, &[1.0, 1.0], |row| vec![sigmoid(row[0]), sigmoid(-row[0])], 5);
        let map = Calibration::fit(&margins, &codes).unwrap();
        assert_eq!(Calibration::decode(&map.encode()).unwrap(), map);
        assert_eq!(Calibration::fit(&margins, &codes).unwrap(), map, "the same bits again");
        assert!(map.check(2).is_ok() && map.check(3).is_err());
        let forged = |change: &dyn Fn(&mut Calibration)| {
            let mut map = map.clone();
            change(&mut map);
            Calibration::decode(&map.encode()).unwrap_err().to_string()
        };
        let changes: [&dyn Fn(&mut Calibration); 9] = [
            &|map| map.slope[0] = -1.0,
            &|map| map.slope[1] = f64::INFINITY,
            &|map| map.slope.push(1.0),
            &|map| map.offset.clear(),
            &|map| map.offset[0] = f64::NAN,
            &|map| map.scale = 0.0,
            &|map| map.scale = 1e-320,
            &|map| map.lowest = f64::NEG_INFINITY,
            &|map| (map.lowest, map.highest) = (1.0, -1.0),
        ];
        for change in changes {
            assert_eq!(forged(change), "the numbers of its calibration do not fit together");
        }
        let mut record = map.encode();
        record.put("scale", &"wide".to_string());
        record.arrays.remove("scale");
        let message = Calibration::decode(&record).unwrap_err().to_string();
        assert_eq!(message, "field `scale` is missing; the file was not written by this method");
    }

    #[test]
    fn what_cannot_be_calibrated_is_an_error_naming_it() {
        let fit = |n_rows: usize, values: &[f64], codes: &[usize]| {
            let margins = Matrix::from_vec(n_rows, values.len() / n_rows.max(1), values.to_vec()).unwrap();
            Calibration::fit(&margins, codes).unwrap_err().to_string()
        };
        assert_eq!(
            fit(2, &[0.0, 1.0, 2.0, 3.0], &[0]),
            "calibration: margins are 2 x 2, expected 1 x 2; pass one row for each label and one column for each class"
        );
        assert_eq!(
            fit(1, &[0.0, 1.0], &[2]),
            "calibration: label 2 of row 0 is outside 0..2; number the classes from 0"
        );
        assert_eq!(
            fit(2, &[0.0, 1.0, 2.0, f64::NAN], &[0, 1]),
            "calibration: the margin of row 1 for class 1 is NaN; leave rows out whose kernels overflow"
        );
        assert_eq!(
            fit(1, &[0.0], &[0]),
            "calibration: margins are 1 x 1; at least one row held out and two classes are needed"
        );
        assert_eq!(
            fit(0, &[], &[]),
            "calibration: margins are 0 x 0; at least one row held out and two classes are needed"
        );
        assert_eq!(
            fit(1, &[f64::INFINITY, f64::NEG_INFINITY], &[0]),
            "calibration: no margin is finite; train on more rows of each class"
        );
        let map = Calibration::fit(&Matrix::from_fn(4, 2, |i, c| (i + c) as f64), &[0, 1, 0, 1]).unwrap();
        let message = map.apply(&Matrix::zeros(1, 3), &[0]).unwrap_err().to_string();
        assert!(message.starts_with("calibration: margins are 1 x 3, expected 1 x 2"), "{message}");
    }
}
