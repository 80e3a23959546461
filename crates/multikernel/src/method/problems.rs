//! The two-class problems a classifier is made of: their rows, sides and bounds.

use super::machine::{SvmModel, pairs};
use super::svc::{ClassWeights, Multiclass, Svc};
use crate::data::Labels;
use crate::error::{Error, Result};
use crate::linalg::Matrix;
use crate::run::{Coefficients, Control, Task};
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

/// All two-class problems of a task, one-vs-one or one-vs-rest. Their dual variables are stored problem by problem.
pub(super) struct Problems {
    list: Vec<Problem>,
    /// Offsets of each problem's dual variables, plus the end of the last.
    starts: Vec<usize>,
    /// The upper bound of each row's dual variable.
    upper: Vec<f64>,
    one_vs_one: bool,
    n_classes: usize,
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
        Ok(Problems { list, starts, upper: upper(labels, svc)?, one_vs_one: in_pairs, n_classes })
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// Total number of dual variables.
    pub(super) fn size(&self) -> usize {
        self.starts[self.list.len()]
    }

    /// The range of a problem's dual variables.
    pub(super) fn range(&self, p: usize) -> std::ops::Range<usize> {
        self.starts[p]..self.starts[p + 1]
    }

    /// The upper bounds of a problem's dual variables.
    pub(super) fn bounds(&self, p: usize) -> Vec<f64> {
        self.list[p].rows.iter().map(|&i| self.upper[i]).collect()
    }

    /// Whether both sides of a problem have rows.
    pub(super) fn is_trainable(&self, p: usize) -> bool {
        self.list[p].is_trainable()
    }

    /// Solves some of the problems in parallel, from the given dual variables; `None` if `control` stopped it.
    pub(super) fn solve(
        &self,
        which: &[usize],
        gram: &Matrix,
        alpha: &[f64],
        options: &smo::Options,
        task: &Task<'_>,
        control: &Control,
    ) -> Result<Option<Vec<smo::SmoSolution>>> {
        let solved = task.pool.map(which.len(), |k| {
            let Problem { rows, positive } = &self.list[which[k]];
            let upper = self.bounds(which[k]);
            let dual = smo::Problem { gram, rows, positive, upper: &upper };
            smo::solve(&dual, options, Some(&alpha[self.range(which[k])]), &|| control.stop().is_some())
        });
        solved.into_iter().collect()
    }

    /// `y_i a_i` for each problem.
    pub(super) fn coefficients(&self, alpha: &[f64]) -> Coefficients {
        let problem = |p: usize| {
            let Problem { rows, positive } = &self.list[p];
            let signed = positive.iter().zip(&alpha[self.range(p)]);
            let signed = signed.map(|(&positive, &alpha)| if positive { alpha } else { -alpha });
            rows.iter().copied().zip(signed).filter(|&(_, value)| value != 0.0)
        };
        Coefficients::of_decisions(self.upper.len(), (0..self.len()).map(problem))
    }

    /// The machine with these kernel weights and dual variables.
    pub(super) fn machine(&self, weights: Vec<f64>, alpha: &[f64], bias: Vec<f64>) -> SvmModel {
        SvmModel::of(weights, &self.coefficients(alpha), bias, self.n_classes, self.one_vs_one)
    }
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
