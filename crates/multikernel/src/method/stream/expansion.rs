//! Coefficients shared by all kernels, and learning rows one after the other in blocks.
//!
//! Learners in this folder write their weights as `w_mf = scale_mf sum_n c_nm Phi_f(x_n)`: the coefficients c are the
//! same for every kernel f, so that a score needs one combined kernel per class instead of F. Rows are processed in
//! blocks. The scores of a block from the points known at its start are one product, on all threads; updates within the
//! block are added for its later rows one by one. So results for a row are bit-identical however many rows come with
//! it.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::file::record;
use crate::linalg::Matrix;
use crate::pool::Pool;
use crate::run::Task;
use crate::stack::{Inner, Stack, Symmetric};

/// Rows per block.
pub(super) const BLOCK: u64 = 64;
/// Rows per long block, by the number of points from which on they are so long: more rows share the cost of packing the points and
/// of waking threads, and 256 rows are hardly more tasks than there may be threads. The kernels among the rows of a block stay a small
/// part of those with the points.
const LONG_BLOCKS: [(usize, u64); 3] = [(0, 256), (4 << 10, 512), (16 << 10, 1024)];

/// The largest number of rows in a block, given that of the points so far.
pub(super) fn longest_block(n_points: usize, long: bool) -> u64 {
    let fitting = LONG_BLOCKS.iter().rev().find(|&&(from, _)| long && n_points >= from);
    fitting.map_or(BLOCK, |&(_, rows)| rows)
}

/// The end of the block that contains row number `seen` (from 0) of a table, with at most so many rows: early blocks are short,
/// because the first rows change most.
pub(super) fn block_end(seen: u64, most: u64) -> u64 {
    if seen < most { (seen + 1).next_power_of_two() } else { (seen / most + 1) * most }
}

/// Number of score functions for this many classes: two classes need one function, positive for the second.
pub(super) fn n_functions(n_classes: usize) -> usize {
    if n_classes == 2 { 1 } else { n_classes }
}

/// One score per class from the functions' scores.
pub(super) fn class_scores(functions: &[f64]) -> Vec<f64> {
    match functions {
        [one] => vec![-one, *one],
        all => all.to_vec(),
    }
}

/// A learned row.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Event {
    /// Its position in the block.
    pub(super) row: usize,
    pub(super) lesson: Lesson,
    /// Rows seen before it.
    pub(super) time: u64,
}

/// What a learned row adds to the coefficients.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Lesson {
    /// `delta` more for its class, less for the rival.
    Class { class: usize, rival: usize, delta: f64 },
    /// A value for the function of each number.
    Numbers(Vec<f64>),
}

impl Event {
    /// Its contributions to the coefficients: function and value.
    pub(super) fn parts(&self, n_functions: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let (pair, numbers): (_, &[f64]) = match &self.lesson {
            Lesson::Numbers(values) => ([None, None], values),
            Lesson::Class { class, delta, .. } if n_functions == 1 => {
                ([Some((0, if *class == 1 { *delta } else { -delta })), None], &[])
            }
            Lesson::Class { class, rival, delta } => ([Some((*class, *delta)), Some((*rival, -delta))], &[]),
        };
        pair.into_iter().flatten().chain(numbers.iter().copied().enumerate())
    }
}

/// What the rows of a block are to be scored as.
#[derive(Clone, Copy)]
pub(super) enum Goal<'a> {
    /// Their class above all others.
    Classes(&'a [usize]),
    /// Their standardised numbers, `n_numbers` for each row, to within epsilon.
    Numbers { values: &'a [f64], n_numbers: usize, epsilon: f64 },
}

/// How a row misses its goal.
pub(super) enum Miss {
    Class {
        class: usize,
        rival: usize,
    },
    /// How far each number is above (or below) its prediction beyond epsilon, in raw scores.
    Numbers(Vec<f64>),
}

impl<'a> Goal<'a> {
    /// The numbers of rows, a column per function.
    pub(super) fn of_numbers(values: &'a Matrix, epsilon: f64) -> Goal<'a> {
        Goal::Numbers { values: values.data(), n_numbers: values.n_cols(), epsilon }
    }

    /// That of some of the rows.
    pub(super) fn part(self, rows: Range<usize>) -> Goal<'a> {
        match self {
            Goal::Classes(classes) => Goal::Classes(&classes[rows]),
            Goal::Numbers { values, n_numbers, epsilon } => {
                let values = &values[rows.start * n_numbers..rows.end * n_numbers];
                Goal::Numbers { values, n_numbers, epsilon }
            }
        }
    }

    pub(super) fn n_rows(self) -> usize {
        match self {
            Goal::Classes(classes) => classes.len(),
            Goal::Numbers { values, n_numbers, .. } => values.len() / n_numbers,
        }
    }

    /// Whether and how a row with these raw scores, which are `unit` times those of the model, misses its goal: a
    /// margin of 1 over all other classes, or an error of at most epsilon.
    pub(super) fn miss(self, row: usize, scores: &[f64], unit: f64) -> Option<Miss> {
        match self {
            Goal::Classes(classes) => {
                let (rival, margin) = rival(scores, classes[row])?;
                (margin < unit).then_some(Miss::Class { class: classes[row], rival })
            }
            Goal::Numbers { values, n_numbers, epsilon } => {
                let beyond = |(y, score): (&f64, &f64)| {
                    let error = y * unit - score;
                    (error.abs() - epsilon * unit).max(0.0).copysign(error)
                };
                let values = &values[row * n_numbers..(row + 1) * n_numbers];
                let beyond: Vec<f64> = values.iter().zip(scores).map(beyond).collect();
                beyond.iter().any(|&beyond| beyond != 0.0).then_some(Miss::Numbers(beyond))
            }
        }
    }
}

impl Miss {
    /// The functions that have to change.
    pub(super) fn functions(&self, n_functions: usize) -> Vec<usize> {
        match self {
            Miss::Class { .. } if n_functions == 1 => vec![0],
            Miss::Class { class, rival } => vec![*class, *rival],
            Miss::Numbers(beyond) => (0..beyond.len()).filter(|&m| beyond[m] != 0.0).collect(),
        }
    }

    /// The subgradient of the loss, `most` times: of classes that of the hinge before the row is learned. Numbers take
    /// the step that is a subgradient of their loss after it (an implicit one), `min(most, beyond / k(x, x))`: a step
    /// that would carry the prediction past the number ends at epsilon from it.
    pub(super) fn lesson(self, most: f64, kernel: impl Fn(usize) -> f64) -> Lesson {
        match self {
            Miss::Class { class, rival } => Lesson::Class { class, rival, delta: most },
            Miss::Numbers(beyond) => {
                let step = |(m, beyond): (usize, &f64)| {
                    if *beyond == 0.0 {
                        return 0.0;
                    }
                    // Where every kernel has dropped out, k is 0, and steps are whole until one is back.
                    let size = if kernel(m) > 0.0 { (beyond.abs() / kernel(m)).min(most) } else { most };
                    size.copysign(*beyond)
                };
                Lesson::Numbers(beyond.iter().enumerate().map(step).collect())
            }
        }
    }
}

/// The highest-scoring class other than `class`, the first of equals, and the margin of `class` over it. None for a
/// single class.
pub(super) fn rival(functions: &[f64], class: usize) -> Option<(usize, f64)> {
    if let [one] = functions {
        let sign = if class == 1 { 2.0 } else { -2.0 };
        return Some((1 - class.min(1), sign * one));
    }
    let others = (0..functions.len()).filter(|&m| m != class);
    let best = others.rev().max_by(|&a, &b| functions[a].total_cmp(&functions[b]))?;
    Some((best, functions[class] - functions[best]))
}

record! {
    /// Points and their coefficients.
    #[derive(Clone, Debug, Default)]
    pub struct Expansion {
        /// Indices of training rows; for a stream, of the points kept.
        pub(super) points: Vec<usize>,
        /// One row per point, one column per function.
        pub(super) coefficients: Matrix,
        /// Sums of time times the value added then, from which averages over time are computed.
        pub(super) times: Matrix,
        /// Whether the points are landmarks, fixed from the start.
        pub(super) fixed: bool,
    }
}

impl Expansion {
    pub(super) fn new(n_functions: usize) -> Expansion {
        let none = Matrix::zeros(0, n_functions);
        Expansion { points: vec![], coefficients: none.clone(), times: none, fixed: false }
    }

    /// An expansion on these points with zero coefficients.
    pub(super) fn on(points: Vec<usize>, n_functions: usize) -> Expansion {
        let none = Matrix::zeros(points.len(), n_functions);
        Expansion { points, coefficients: none.clone(), times: none, fixed: true }
    }

    /// The initial state again.
    pub(super) fn begun_anew(&self) -> Expansion {
        if self.fixed {
            Expansion::on(self.points.clone(), self.n_functions())
        } else {
            Expansion::new(self.n_functions())
        }
    }

    pub(super) fn n_functions(&self) -> usize {
        self.coefficients.n_cols()
    }

    /// Checks that arrays read from a file are consistent with each other and with the training data.
    pub(super) fn check(&self, n_samples: usize, n_functions: usize) -> Result<()> {
        let n = self.points.len();
        let shapes = [&self.coefficients, &self.times].iter().all(|m| m.n_rows() == n && m.n_cols() == n_functions);
        if shapes && self.points.iter().all(|&i| i < n_samples) {
            Ok(())
        } else {
            Err(Error::input("points and coefficients do not fit together; the file was not written by this method"))
        }
    }

    /// Adds the updates of a block. `at` gives the index of a row among the points from before the block, if it is one.
    pub(super) fn add(&mut self, events: &[Event], rows: &[usize], at: impl Fn(usize) -> Option<usize>) {
        let n_functions = self.n_functions();
        let mut grown = [&mut self.coefficients, &mut self.times].map(|matrix| std::mem::take(matrix).into_data());
        let before = self.points.len();
        for event in events {
            let row = rows[event.row];
            // Rows drawn with replacement may be learned twice in a block.
            let new = |points: &[usize]| points[before..].iter().position(|&p| p == row).map(|place| before + place);
            let place = at(row).or_else(|| new(&self.points)).unwrap_or_else(|| {
                self.points.push(row);
                grown.iter_mut().for_each(|values| values.resize(values.len() + n_functions, 0.0));
                self.points.len() - 1
            });
            for (m, delta) in event.parts(n_functions) {
                grown[0][place * n_functions + m] += delta;
                grown[1][place * n_functions + m] += delta * event.time as f64;
            }
        }
        let n = self.points.len();
        let [coefficients, times] = grown.map(|data| Matrix::from_vec(n, n_functions, data).unwrap_or_default());
        (self.coefficients, self.times) = (coefficients, times);
    }

    /// The coefficients of the average of the first `n` iterates, the t-th of which, `(1/t) sum c`, has weight t: a
    /// value added at time tau (from 0) has weight `2 (n - tau) / (n (n + 1))`.
    pub(super) fn averaged(&self, n: u64) -> Matrix {
        let (n, norm) = (n as f64, 2.0 / (n as f64 * (n as f64 + 1.0)));
        let (c, times) = (&self.coefficients, &self.times);
        Matrix::from_fn(c.n_rows(), c.n_cols(), |i, m| norm * (n * c.get(i, m) - times.get(i, m)))
    }

    /// `c_m'K_f c_m` for all kernels f (rows) and functions m (columns).
    pub(super) fn norms(&self, stack: &Stack, pool: &Pool) -> Result<Matrix> {
        let mut norms = Matrix::zeros(stack.n_kernels(), self.n_functions());
        for m in 0..self.n_functions() {
            let (places, coefficients) = self.used(m);
            let points: Vec<usize> = places.iter().map(|&i| self.points[i]).collect();
            let c = Matrix::from_vec(coefficients.len(), 1, coefficients)?;
            let found = stack.view(&points)?.project(&[Symmetric::Factored(&c, &c)], pool)?;
            (0..found.n_rows()).for_each(|f| norms.set(f, m, found.get(f, 0)));
        }
        Ok(norms)
    }

    /// The margin of each training row's class over its rival, in raw scores under these kernel weights.
    pub(super) fn margins(&self, task: &Task<'_>, weights: &Matrix) -> Result<Vec<f64>> {
        let (stack, all) = (task.stack()?, (0..task.n_samples()).collect::<Vec<_>>());
        let mixture = stack.mixture(weights, task.pool)?;
        let scores = stack.between(&all, &self.points)?.decide(&mixture, &self.coefficients, task.pool)?;
        let margin = |(&class, row): (&usize, &[f64])| rival(row, class).map_or(0.0, |(_, margin)| margin);
        Ok(task.labels.codes().iter().zip(scores.rows()).map(margin).collect())
    }

    /// Indices of the nonzero coefficients, and the coefficients.
    pub(super) fn used(&self, m: usize) -> (Vec<usize>, Vec<f64>) {
        let column = self.coefficients.rows().enumerate().map(|(i, row)| (i, row[m]));
        column.filter(|&(_, value)| value != 0.0).unzip()
    }
}

/// Processes the rows of a block in order. `scores` are their raw scores from before the block; `own[c]` are the
/// combined kernels among the rows, for one function or for all; `learn` is given a row and its current raw scores, and
/// returns the event if the row is learned. `after` is called with each event, and may change the scores of the rows
/// after it.
pub(super) fn walk(
    scores: &mut Matrix,
    own: &[Matrix],
    mut learn: impl FnMut(usize, &[f64]) -> Option<Event>,
    mut after: impl FnMut(&[Event], &mut Matrix),
) -> Vec<Event> {
    let mut events = vec![];
    for row in 0..scores.n_rows() {
        let Some(event) = learn(row, scores.row(row)) else { continue };
        let n_functions = scores.n_cols();
        for (m, delta) in event.parts(n_functions) {
            // Symmetric to the last bit: its rows are read faster than its columns.
            let kernel = &own[m.min(own.len() - 1)].row(row)[row + 1..];
            let later = scores.data_mut()[(row + 1) * n_functions..].chunks_exact_mut(n_functions.max(1));
            later.zip(kernel).for_each(|(scores, value)| scores[m] += delta * value);
        }
        events.push(event);
        after(&events, scores);
    }
    events
}

/// Adds the effect of an earlier event to the scores of one row; `kernel` is the combined kernel of each function
/// between the two rows.
pub(super) fn add_event(event: &Event, kernel: impl Fn(usize) -> f64, scores: &mut [f64]) {
    for (m, delta) in event.parts(scores.len()) {
        scores[m] += delta * kernel(m);
    }
}

/// Coefficient changes at some points: `deltas` has one row per point, one column per function.
pub(super) struct Change<'a> {
    /// Kernels between the changed points (rows) and all points before the change (columns).
    pub(super) across: &'a Stack,
    /// Kernels among the changed points.
    pub(super) among: &'a Stack,
    pub(super) deltas: &'a Matrix,
}

impl Change<'_> {
    /// Keeps `c_m'K_f c_m` up to date for all kernels f: `(c + d)'K(c + d) = c'K c + 2 d'K c + d'K d`. There is one sum
    /// per function or, if there is a single one, over all functions. With two classes the one function stands for
    /// both: `pooled` is 2 then, and 1 otherwise.
    pub(super) fn add_to(
        &self,
        inner: &mut [Inner],
        pooled: Option<f64>,
        before: &Expansion,
        pool: &Pool,
    ) -> Result<()> {
        let (n_functions, factor) = (self.deltas.n_cols(), pooled.unwrap_or(1.0));
        for m in 0..n_functions {
            let sum = if pooled.is_some() { 0 } else { m };
            let rows: Vec<usize> = (0..self.deltas.n_rows()).filter(|&i| self.deltas.get(i, m) != 0.0).collect();
            if rows.is_empty() {
                continue;
            }
            let deltas: Vec<f64> = rows.iter().map(|&i| self.deltas.get(i, m)).collect();
            let scaled = |by: f64| deltas.iter().map(|delta| by * delta).collect::<Vec<f64>>();
            let (columns, coefficients) = before.used(m);
            if !columns.is_empty() {
                let across = self.across.between(&rows, &columns)?;
                across.add_inner(&scaled(2.0 * factor), &coefficients, &mut inner[sum], pool)?;
            }
            self.among.view(&rows)?.add_inner(&scaled(factor), &deltas, &mut inner[sum], pool)?;
        }
        Ok(())
    }
}
