//! What the functions are to say of each row, and what it costs where they do not: minus the log likelihood of classes,
//! numbers, counts or times.

use crate::data::{Numbers, Target};
use crate::dist::ln_gamma_function;
use crate::linalg::Matrix;
use crate::method::ends::{PartialLikelihood, RowHazards};
use crate::method::problems::positive_classes;
use crate::pool::Pool;
use crate::run::{Task, choice};
use crate::simd::{decay_into, exps, ln};

choice! {
    /// The likelihood of numbers.
    pub enum NumbersLoss {
        /// Normal: squared error.
        Gaussian = "gaussian",
        /// Poisson, with the logarithm as link: for counts.
        Poisson = "poisson",
    }
}

/// Factors multiplied before taking a logarithm: as many as cannot overflow, whatever the number of classes.
const FACTORS: usize = 16;

/// The targets of all rows.
#[derive(Clone, Debug)]
pub(super) enum Loss {
    /// The function each row belongs to; `n_functions` for none of them, as for the second of two classes. Logistic for
    /// one function, else a softmax.
    Classes(Vec<usize>),
    /// A number for each row and function, with noise of variance 1.
    Gaussian(Matrix),
    /// A count for each row and function, and `sum ln y!` of each row.
    Poisson(Matrix, Vec<f64>),
    /// Efron's partial likelihood of times.
    Cox(PartialLikelihood),
    /// The same at some of the rows, where all of them have told the hazards: its slope is one of each row, its value is not.
    Hazards(RowHazards),
}

/// The loss and its derivatives at all rows, where a row's depend on the functions at others.
pub(super) struct Joint {
    pub(super) loss: f64,
    /// By row and node: minus the derivative in the function, divided by the number of nodes.
    residuals: Vec<f64>,
    curvature: Vec<f64>,
    n_nodes: usize,
}

/// Number of functions learned: one for two classes, else one for each class that has rows; one for each number; one
/// for times.
pub(super) fn n_functions(task: &Task<'_>) -> usize {
    match task.target {
        Target::Classes => positive_classes(task.labels).len(),
        Target::Numbers(numbers) => numbers.n_targets(),
        Target::Times(_) => 1,
    }
}

impl Loss {
    pub(super) fn new(task: &Task<'_>, of_numbers: NumbersLoss) -> Loss {
        Loss::of_functions(task, &positive_classes(task.labels), of_numbers)
    }

    /// The same where these classes have functions, whether they have rows here or not.
    pub(super) fn of_functions(task: &Task<'_>, functions: &[usize], of_numbers: NumbersLoss) -> Loss {
        match (task.target, of_numbers) {
            (Target::Classes, _) => {
                let of = |&code: &usize| functions.iter().position(|&class| class == code).unwrap_or(functions.len());
                Loss::Classes(task.labels.codes().iter().map(of).collect())
            }
            (Target::Numbers(numbers), NumbersLoss::Gaussian) => Loss::Gaussian(numbers.values().clone()),
            (Target::Numbers(numbers), NumbersLoss::Poisson) => {
                let constant = |row: &[f64]| row.iter().map(|count| ln_gamma_function(count + 1.0)).sum();
                Loss::Poisson(numbers.values().clone(), numbers.values().rows().map(constant).collect())
            }
            (Target::Times(times), _) => Loss::Cox(PartialLikelihood::new(times)),
        }
    }

    /// Number of rows.
    pub(super) fn n_rows(&self) -> usize {
        match self {
            Loss::Classes(targets) => targets.len(),
            Loss::Gaussian(numbers) | Loss::Poisson(numbers, _) => numbers.n_rows(),
            Loss::Cox(likelihood) => likelihood.n_rows(),
            Loss::Hazards(rows) => rows.n_rows(),
        }
    }

    /// Whether the loss is a sum over rows, each of the functions at that row alone.
    pub(super) fn is_by_row(&self) -> bool {
        !matches!(self, Loss::Cox(_))
    }

    /// Whether adding a constant to a function changes the loss.
    pub(super) fn has_intercepts(&self) -> bool {
        !matches!(self, Loss::Cox(_) | Loss::Hazards(_))
    }

    /// The best intercept of a function that is zero otherwise, where steps begin; 0 where they may begin anywhere.
    pub(super) fn first_intercept(&self, function: usize) -> f64 {
        let Loss::Poisson(counts, _) = self else { return 0.0 };
        // Half an event more, so that counts which are all zero have a logarithm.
        let sum: f64 = (0..counts.n_rows()).map(|i| counts.get(i, function)).sum();
        ln((sum + 0.5) / counts.n_rows().max(1) as f64)
    }

    /// What the functions at the training rows, function by function, say about the targets.
    pub(super) fn facts(&self, functions: &[f64]) -> Vec<(String, String)> {
        let n = self.n_rows();
        match self {
            Loss::Gaussian(numbers) => {
                let error = |(c, function): (usize, &[f64])| {
                    let squares = function.iter().enumerate().map(|(i, f)| (numbers.get(i, c) - f).powi(2));
                    format!("{:.4}", (squares.sum::<f64>() / n.max(1) as f64).sqrt())
                };
                let errors: Vec<String> = functions.chunks_exact(n.max(1)).enumerate().map(error).collect();
                let text = format!("{} standard deviations of the target", errors.join(", "));
                vec![("error at training rows".into(), text)]
            }
            Loss::Cox(likelihood) => {
                let mean = functions.iter().sum::<f64>() / n.max(1) as f64;
                let variance = functions.iter().map(|f| (f - mean).powi(2)).sum::<f64>() / n.max(1) as f64;
                vec![
                    ("events".into(), format!("{} of {n} rows", likelihood.rows_with_events().count())),
                    ("log risks".into(), format!("standard deviation {:.3}", variance.sqrt())),
                ]
            }
            Loss::Classes(_) | Loss::Poisson(..) | Loss::Hazards(_) => vec![],
        }
    }

    /// The times of events and the baseline hazard cumulated up to each, for the functions at the training rows; empty
    /// unless times are predicted.
    pub(super) fn baseline(&self, functions: &[f64]) -> (Vec<f64>, Vec<f64>) {
        match self {
            Loss::Cox(likelihood) => likelihood.baseline(functions),
            _ => (vec![], vec![]),
        }
    }

    /// The mean loss of a row over the nodes and its mean curvature; replaces the functions at the nodes, one after the
    /// other, by residuals divided by the number of nodes.
    pub(super) fn at_row(&self, row: usize, functions: &mut [f64], n_nodes: usize, scratch: &mut [f64]) -> (f64, f64) {
        match self {
            Loss::Classes(targets) if functions.len() == n_nodes => logistic(functions, targets[row] == 0, scratch),
            Loss::Classes(targets) => softmax(functions, targets[row], n_nodes, scratch),
            Loss::Gaussian(numbers) => gaussian(functions, numbers.row(row), n_nodes),
            Loss::Poisson(counts, constants) => {
                let (loss, curvature) = poisson(functions, counts.row(row), n_nodes, scratch);
                (loss + constants[row], curvature)
            }
            // Its value is known already.
            Loss::Hazards(rows) => (0.0, rows.at_row(row, functions)),
            // Only through `joint`.
            Loss::Cox(_) => (0.0, 0.0),
        }
    }

    /// The loss at all rows for functions by row and node, if it is no sum over rows.
    pub(super) fn joint(&self, functions: Vec<f64>, n_nodes: usize, pool: &Pool) -> Option<Joint> {
        let Loss::Cox(likelihood) = self else { return None };
        let n = likelihood.n_rows();
        let slopes = pool.map(n_nodes, |s| {
            let f: Vec<f64> = (0..n).map(|i| functions[i * n_nodes + s]).collect();
            likelihood.slope(&f)
        });
        let part = 1.0 / n_nodes as f64;
        let (mut residuals, mut loss) = (functions, 0.0);
        // The Hessian is `diag(e) - sum p p'` with the expected events e of each row, and e less its residual is whether
        // it had one: e bounds the curvature.
        let mut curvature = vec![0.0; n];
        likelihood.rows_with_events().for_each(|i| curvature[i] = 1.0);
        for (s, slope) in slopes.into_iter().enumerate() {
            loss -= part * slope.value;
            for (i, gradient) in slope.gradient.into_iter().enumerate() {
                residuals[i * n_nodes + s] = part * gradient;
                curvature[i] -= part * gradient;
            }
        }
        Some(Joint { loss, residuals, curvature, n_nodes })
    }
}

impl Joint {
    /// Residuals of a row, in place of the functions; its curvature.
    pub(super) fn at_row(&self, row: usize, functions: &mut [f64]) -> f64 {
        functions.copy_from_slice(&self.residuals[row * self.n_nodes..][..self.n_nodes]);
        self.curvature[row]
    }
}

/// Minus the Poisson log likelihood of counts that were predicted, without the terms in which no prediction occurs.
pub(super) fn poisson_loss(counts: &Numbers, predicted: &Matrix) -> f64 {
    let of = |(&mean, &count): (&f64, &f64)| mean - count * ln(mean.max(f64::MIN_POSITIVE));
    predicted.data().iter().zip(counts.values().data()).map(of).sum()
}

/// `sum ln x` for numbers of at least 1.
fn sum_of_ln(values: &[f64]) -> f64 {
    values.chunks(FACTORS).map(|few| ln(few.iter().product())).sum()
}

/// [`Loss::at_row`] for two classes.
fn logistic(functions: &mut [f64], positive: bool, scratch: &mut [f64]) -> (f64, f64) {
    let n_nodes = functions.len();
    let (sizes, decays) = scratch.split_at_mut(n_nodes);
    sizes.iter_mut().zip(functions.iter()).for_each(|(size, f)| *size = f.abs());
    decays.copy_from_slice(sizes);
    decay_into(1.0, sizes, decays);
    let (mut loss, mut curvature, sign) = (0.0, 0.0, if positive { 1.0 } else { -1.0 });
    for ((f, size), decay) in functions.iter_mut().zip(sizes.iter_mut()).zip(decays.iter()) {
        let margin = sign * *f;
        loss += (-margin).max(0.0);
        // 1 - p of the correct class.
        let miss = if margin >= 0.0 { decay / (1.0 + decay) } else { 1.0 / (1.0 + decay) };
        curvature += decay / ((1.0 + decay) * (1.0 + decay));
        *f = sign * miss / n_nodes as f64;
        *size = 1.0 + decay;
    }
    ((loss + sum_of_ln(sizes)) / n_nodes as f64, curvature / n_nodes as f64)
}

/// [`Loss::at_row`] for several functions, one after the other; the row belongs to one of them.
fn softmax(functions: &mut [f64], target: usize, n_nodes: usize, scratch: &mut [f64]) -> (f64, f64) {
    let (most, sums) = scratch.split_at_mut(n_nodes);
    most.fill(f64::NEG_INFINITY);
    sums.fill(0.0);
    for function in functions.chunks_exact(n_nodes) {
        most.iter_mut().zip(function).for_each(|(most, &f)| *most = most.max(f));
    }
    let mut loss = 0.0;
    for (c, function) in functions.chunks_exact_mut(n_nodes).enumerate() {
        function.iter_mut().zip(most.iter()).for_each(|(f, most)| *f -= most);
        loss -= if c == target { function.iter().sum::<f64>() } else { 0.0 };
        exps(function);
        sums.iter_mut().zip(function.iter()).for_each(|(sum, f)| *sum += f);
    }
    loss += sum_of_ln(sums);
    let (mut curvature, n_functions) = (0.0, functions.len() / n_nodes);
    for (c, function) in functions.chunks_exact_mut(n_nodes).enumerate() {
        let own = f64::from(u8::from(c == target));
        for (f, sum) in function.iter_mut().zip(sums.iter()) {
            let p = *f / sum;
            curvature += p * (1.0 - p);
            *f = (own - p) / n_nodes as f64;
        }
    }
    (loss / n_nodes as f64, curvature / (n_nodes * n_functions) as f64)
}

/// [`Loss::at_row`] for numbers: half the squared error.
fn gaussian(functions: &mut [f64], numbers: &[f64], n_nodes: usize) -> (f64, f64) {
    let mut loss = 0.0;
    for (function, number) in functions.chunks_exact_mut(n_nodes).zip(numbers) {
        for f in function {
            let residual = number - *f;
            loss += 0.5 * residual * residual;
            *f = residual / n_nodes as f64;
        }
    }
    (loss / n_nodes as f64, 1.0)
}

/// [`Loss::at_row`] for counts, functions being the logarithms of their means; without `ln y!`.
fn poisson(functions: &mut [f64], counts: &[f64], n_nodes: usize, scratch: &mut [f64]) -> (f64, f64) {
    let (mut loss, mut curvature) = (0.0, 0.0);
    let means = &mut scratch[..n_nodes];
    for (function, count) in functions.chunks_exact_mut(n_nodes).zip(counts) {
        means.copy_from_slice(function);
        exps(means);
        for (f, &mean) in function.iter_mut().zip(means.iter()) {
            loss += mean - count * *f;
            curvature += mean;
            *f = (count - mean) / n_nodes as f64;
        }
    }
    (loss / n_nodes as f64, curvature / (n_nodes * counts.len()) as f64)
}
