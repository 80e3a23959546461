//! The problems that SVMs solve: two-class problems, with their rows, sides and bounds, or a regression for each number.

use super::machine::{SvmModel, pairs};
use super::svc::{ClassWeights, Multiclass, Svc};
use crate::data::{Labels, Numbers};
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::run::{Coefficients, Control, Task, choice};
use crate::solve::cholesky::Cholesky;
use crate::solve::smo;

/// One two-class problem: its training rows and which of them are positive.
#[derive(Clone, Debug)]
pub(super) struct Problem {
    pub(super) rows: Vec<usize>,
    pub(super) positive: Vec<bool>,
}

impl Problem {
    /// Whether both sides have rows; a class may be absent from a fold.
    pub(super) fn is_trainable(&self) -> bool {
        self.positive.contains(&true) && self.positive.contains(&false)
    }
}

choice! {
    /// What a residual of a number costs.
    pub enum Loss {
        /// Its size beyond epsilon.
        Insensitive = "insensitive",
        /// Half its square.
        Squared = "squared",
    }
}

/// What a residual of a number costs, in standard deviations of the number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cost {
    pub(super) loss: Loss,
    pub(super) epsilon: f64,
}

/// What the SVMs of a task learn.
enum Asked {
    /// Two-class problems, one-vs-one or one-vs-rest.
    Sides { list: Vec<Problem>, one_vs_one: bool, n_classes: usize },
    /// Numbers, a column each, on all rows.
    Numbers { columns: Vec<Vec<f64>>, rows: Vec<usize>, cost: Cost },
}

/// All SVMs of a task: two-class problems, or regressions. Their dual variables are stored problem by problem; those of
/// a regression are signed.
pub(super) struct Problems {
    asked: Asked,
    /// Offsets of each problem's dual variables, plus the end of the last.
    starts: Vec<usize>,
    /// The upper bound of each row's dual variable; with squared loss its cost.
    upper: Vec<f64>,
}

impl Problems {
    /// The problems of a task.
    pub(super) fn new(task: &Task<'_>, svc: &Svc) -> Result<Problems> {
        let (labels, n_classes) = (task.labels, task.labels.n_classes());
        let in_pairs = svc.multiclass == Multiclass::Ovo || n_classes == 2;
        let list = if in_pairs { one_vs_one(labels) } else { one_vs_rest(labels) };
        let mut starts = vec![0];
        for problem in &list {
            starts.push(starts[starts.len() - 1] + problem.rows.len());
        }
        Ok(Problems {
            asked: Asked::Sides { list, one_vs_one: in_pairs, n_classes },
            starts,
            upper: upper(labels, svc)?,
        })
    }

    /// The regressions of a task: one for each number.
    pub(super) fn of_numbers(numbers: &Numbers, c: f64, cost: Cost) -> Problems {
        let n = numbers.n_samples();
        let columns: Vec<Vec<f64>> = (0..numbers.n_targets()).map(|t| numbers.values().column(t)).collect();
        let starts = (0..=columns.len()).map(|t| t * n).collect();
        Problems { asked: Asked::Numbers { columns, rows: (0..n).collect(), cost }, starts, upper: vec![c; n] }
    }

    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Total number of dual variables.
    pub(super) fn size(&self) -> usize {
        self.starts[self.len()]
    }

    /// The range of a problem's dual variables.
    pub(super) fn range(&self, p: usize) -> std::ops::Range<usize> {
        self.starts[p]..self.starts[p + 1]
    }

    /// The upper bounds of a problem's dual variables.
    pub(super) fn bounds(&self, p: usize) -> Vec<f64> {
        match &self.asked {
            Asked::Sides { list, .. } => list[p].rows.iter().map(|&i| self.upper[i]).collect(),
            Asked::Numbers { .. } => self.upper.clone(),
        }
    }

    /// Whether both sides of a problem have rows.
    pub(super) fn is_trainable(&self, p: usize) -> bool {
        match &self.asked {
            Asked::Sides { list, .. } => list[p].is_trainable(),
            Asked::Numbers { .. } => true,
        }
    }

    /// Solves some of the problems in parallel, from the given dual variables; `None` if `control` stopped it.
    pub(super) fn solve(
        &self,
        which: &[usize],
        gram: smo::Gram<'_>,
        alpha: &[f64],
        options: &smo::Options,
        task: &Task<'_>,
        control: &Control,
    ) -> Result<Option<Vec<smo::SmoSolution>>> {
        let stop = || control.stop().is_some();
        if let Asked::Numbers { columns, cost: Cost { loss: Loss::Squared, .. }, .. } = &self.asked {
            let columns: Vec<&[f64]> = which.iter().map(|&p| columns[p].as_slice()).collect();
            let smo::Gram::F64(gram) = gram else {
                return Err(Error::input("squared loss needs a combined kernel in f64"));
            };
            return least_squares(gram, &columns, &self.upper, task, &stop);
        }
        let solved = task.pool.map(which.len(), |k| {
            let start = Some(&alpha[self.range(which[k])]);
            match &self.asked {
                Asked::Sides { list, .. } => {
                    let Problem { rows, positive } = &list[which[k]];
                    let upper = self.bounds(which[k]);
                    smo::solve(&smo::Problem { gram, rows, positive, upper: &upper }, options, start, &stop)
                }
                Asked::Numbers { columns, rows, cost } => {
                    let (values, upper, epsilon) = (&columns[which[k]], &self.upper, cost.epsilon);
                    smo::solve_regression(
                        &smo::Regression { gram, rows, values, upper, epsilon },
                        options,
                        start,
                        &stop,
                    )
                }
            }
        });
        solved.into_iter().collect()
    }

    /// The rows whose dual variables are inside their boxes: where the others stay at their bounds, these move with the kernel.
    pub(super) fn free(&self, p: usize, alpha: &[f64]) -> Vec<usize> {
        let alpha = &alpha[self.range(p)];
        match &self.asked {
            Asked::Sides { list, .. } => {
                let inside = |&(&i, &alpha): &(&usize, &f64)| alpha > 0.0 && alpha < self.upper[i];
                list[p].rows.iter().zip(alpha).filter(inside).map(|(&i, _)| i).collect()
            }
            Asked::Numbers { cost: Cost { loss: Loss::Squared, .. }, rows, .. } => rows.clone(),
            Asked::Numbers { rows, .. } => {
                let inside = |&(&i, &b): &(&usize, &f64)| b != 0.0 && b.abs() < self.upper[i];
                rows.iter().zip(alpha).filter(inside).map(|(&i, _)| i).collect()
            }
        }
    }

    /// What the problems add to the diagonal of the kernel: 1/c with squared loss.
    pub(super) fn ridge(&self, i: usize) -> f64 {
        match &self.asked {
            Asked::Numbers { cost: Cost { loss: Loss::Squared, .. }, .. } => 1.0 / self.upper[i],
            _ => 0.0,
        }
    }

    /// `y_i a_i` for each problem.
    pub(super) fn coefficients(&self, alpha: &[f64]) -> Coefficients {
        let problem = |p: usize| {
            let (rows, positive) = match &self.asked {
                Asked::Sides { list, .. } => (&list[p].rows, Some(&list[p].positive)),
                Asked::Numbers { rows, .. } => (rows, None),
            };
            let sign =
                move |k: usize, alpha: f64| if positive.is_none_or(|positive| positive[k]) { alpha } else { -alpha };
            let signed = alpha[self.range(p)].iter().enumerate().map(move |(k, &alpha)| sign(k, alpha));
            rows.iter().copied().zip(signed).filter(|&(_, value)| value != 0.0)
        };
        Coefficients::of_decisions(self.upper.len(), (0..self.len()).map(problem))
    }

    /// The machine with these kernel weights and dual variables.
    pub(super) fn machine(&self, weights: Vec<f64>, alpha: &[f64], bias: Vec<f64>) -> SvmModel {
        let (n_classes, one_vs_one) = match self.asked {
            Asked::Sides { n_classes, one_vs_one, .. } => (n_classes, one_vs_one),
            Asked::Numbers { .. } => (self.len(), false),
        };
        SvmModel::of(weights, &self.coefficients(alpha), bias, n_classes, one_vs_one)
    }
}

/// Regression with squared loss, `min 1/2 b'(K + I/c)b - y'b`, `sum b = 0`, for several columns: with `H = (K +
/// I/c)^-1` it is `b = H (y - bias)`, `bias = 1'Hy / 1'H1`. `None` when stopped.
fn least_squares(
    gram: &Matrix,
    columns: &[&[f64]],
    c: &[f64],
    task: &Task<'_>,
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Vec<smo::SmoSolution>>> {
    let (n, mut sum) = (gram.n_rows(), gram.clone());
    (0..n).for_each(|i| sum.set(i, i, sum.get(i, i) + 1.0 / c[i]));
    let factor = match Cholesky::new(sum, task.pool, stop) {
        Err(Error::Stopped(_)) => return Ok(None),
        Err(Error::NotDefinite { .. }) => {
            return Err(Error::input(
                "the combined kernel is not positive semi-definite, which squared loss needs; leave out kernels that are not \
                 (sigmoid, given Gram matrices), lower c, or use loss=insensitive",
            ));
        }
        factor => factor?,
    };
    let right = Matrix::from_fn(n, columns.len() + 1, |i, t| columns.get(t).map_or(1.0, |column| column[i]));
    let solved = factor.solve(&right)?;
    let total = |t: usize| (0..n).map(|i| solved.get(i, t)).sum::<f64>();
    let ones = total(columns.len());
    let solution = |(t, column): (usize, &&[f64])| {
        let bias = total(t) / ones;
        let alpha: Vec<f64> = (0..n).map(|i| solved.get(i, t) - bias * solved.get(i, columns.len())).collect();
        // At the optimum the objective is -1/2 y'b.
        let objective = -0.5 * crate::linalg::dot(column, &alpha);
        smo::SmoSolution { alpha, bias, objective, n_iter: 1, gap: 0.0, duality_gap: 0.0, converged: true }
    };
    Ok(Some(columns.iter().enumerate().map(solution).collect()))
}

/// The positive class of each one-vs-rest problem: the first of two classes, else each class that has rows.
pub(super) fn positive_classes(labels: &Labels) -> Vec<usize> {
    match labels.n_classes() {
        2 => vec![0],
        n => {
            let counts = labels.counts();
            (0..n).filter(|&class| counts[class] > 0).collect()
        }
    }
}

/// +1 for rows of the positive class of each of these problems (columns), -1 for the others.
pub(super) fn sides(labels: &Labels) -> Matrix {
    let (codes, classes) = (labels.codes(), positive_classes(labels));
    Matrix::from_fn(codes.len(), classes.len(), |i, p| if codes[i] == classes[p] { 1.0 } else { -1.0 })
}

fn one_vs_rest(labels: &Labels) -> Vec<Problem> {
    let codes = labels.codes();
    let positive = |class: usize| codes.iter().map(|&code| code == class).collect();
    (0..labels.n_classes())
        .map(|class| Problem { rows: (0..codes.len()).collect(), positive: positive(class) })
        .collect()
}

/// The problem of each pair of classes, in the order of [`pairs`]: the first class is positive, rows are ascending.
pub(super) fn one_vs_one(labels: &Labels) -> Vec<Problem> {
    let codes = labels.codes();
    let mut members = vec![vec![]; labels.n_classes()];
    for (i, &code) in codes.iter().enumerate() {
        members[code].push(i);
    }
    let problem = |(first, second): (usize, usize)| {
        let mut rows = [members[first].as_slice(), &members[second]].concat();
        rows.sort_unstable();
        Problem { positive: rows.iter().map(|&i| codes[i] == first).collect(), rows }
    };
    pairs(labels.n_classes()).map(problem).collect()
}

/// The factor on `c` for each class.
fn class_weights(labels: &Labels, weights: &ClassWeights) -> Result<Vec<f64>> {
    let n_classes = labels.n_classes();
    match weights {
        ClassWeights::None => Ok(vec![1.0; n_classes]),
        ClassWeights::Balanced => {
            let share = labels.n_samples() as f64 / n_classes as f64;
            Ok(labels.counts().into_iter().map(|count| share / count.max(1) as f64).collect())
        }
        ClassWeights::Given(weights) => given_weights(labels, weights).map_err(|fault| {
            let classes = labels.classes().join(", ");
            let help = format!("use none, balanced, or CLASS=WEIGHT,... with classes {classes}");
            Error::param("class_weights", format!("{fault}; {help}"))
        }),
    }
}

/// The given class weights, 1 for classes not named; the error says what was wrong.
fn given_weights(labels: &Labels, given: &[(String, f64)]) -> std::result::Result<Vec<f64>, String> {
    let mut weights = vec![None; labels.n_classes()];
    for (class, weight) in given {
        let code = labels.classes().iter().position(|known| known == class);
        let code = code.ok_or_else(|| format!("class `{class}` is unknown"))?;
        if !(weight.is_finite() && *weight > 0.0) {
            return Err(format!("weight `{weight}` of class `{class}` is not a number above 0"));
        }
        if weights[code].replace(*weight).is_some() {
            return Err(format!("class `{class}` is given twice"));
        }
    }
    Ok(weights.into_iter().map(|weight| weight.unwrap_or(1.0)).collect())
}

/// The upper bound of each row's dual variable: c times the weight of its class.
fn upper(labels: &Labels, svc: &Svc) -> Result<Vec<f64>> {
    let weights = class_weights(labels, &svc.class_weights)?;
    let bounds: Vec<f64> = weights.iter().map(|weight| svc.c * weight).collect();
    match bounds.iter().position(|bound| !bound.is_normal()) {
        Some(class) => {
            let (name, bound) = (&labels.classes()[class], bounds[class]);
            Err(Error::param(
                "c",
                format!("c times the weight of class `{name}` is {bound}; bring c and class_weights nearer to 1"),
            ))
        }
        None => Ok(labels.codes().iter().map(|&code| bounds[code]).collect()),
    }
}
