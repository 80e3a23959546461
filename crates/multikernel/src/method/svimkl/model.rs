//! The model: functions at the mean kernel weights, and the distribution of each weight.

use super::distribution::{Family, WeightDistribution};
use super::layout::Layout;
use super::objective::{Objective, Prior};
use crate::error::{Error, Result};
use crate::file::record;
use crate::linalg::Matrix;
use crate::method::machine::SvmModel;
use crate::method::problems::positive_classes;
use crate::pool::Pool;
use crate::run::{Additive, Coefficients, Decision, Explain, Input, Intervals, Predict, Probabilistic, Task};
use crate::simd::{exp, ln};

/// Coverage of a kernel weight's interval.
const LEVEL: f64 = 0.95;

record! {
    /// Kernel logistic regression: probabilities are the logistic function of one decision or, for more than two
    /// classes, the softmax of one decision per class, at the mean kernel weights.
    ///
    /// Cost of a score: one kernel value per point and kernel.
    #[derive(Clone, Debug)]
    pub struct LogisticModel {
        machine: SvmModel,
        intercepts: Vec<f64>,
        /// The classes of the functions.
        functions: Vec<usize>,
        n_classes: usize,
        /// Kernels whose negative eigenvalues were clipped, and their own coefficients: a column for each kernel and
        /// function.
        clipped: Vec<usize>,
        own: Matrix,
        /// The distribution of the kernel weights (`q` of the parameters, or none), their shapes, and the prior's shape
        /// and rate.
        q: String,
        shapes: Vec<f64>,
        prior: Vec<f64>,
    }
}

/// The word of a family in files.
pub(super) fn word(family: Family) -> &'static str {
    match family {
        Family::Point => "none",
        Family::Exponential => "exponential",
        Family::Gamma => "gamma",
        Family::LogNormal => "lognormal",
    }
}

/// Whether stored distributions of kernel weights make sense.
pub(super) fn is_lawful(q: &str, shapes: &[f64], prior: &[f64], n_kernels: usize) -> bool {
    match q {
        "none" => true,
        "gamma" | "exponential" | "lognormal" => {
            shapes.len() == n_kernels
                && shapes.iter().all(|shape| shape.is_finite())
                && prior.len() == 2
                && prior.iter().all(|&value| value.is_finite() && value > 0.0)
        }
        _ => false,
    }
}

/// The intervals of kernel weights with these means.
pub(super) fn intervals(weights: &[f64], q: &str, shapes: &[f64], prior: &[f64]) -> Option<Intervals> {
    let (family, [shape, rate]) = (family(q), prior.first_chunk::<2>()?);
    let (distribution, prior) = (WeightDistribution::new(family, 1), WeightDistribution::new(Family::Gamma, 1));
    let ends = [0.5 * (1.0 - LEVEL), 0.5 * (1.0 + LEVEL)];
    let means = weights.iter().zip(shapes);
    let bounds = means.map(|(&mean, &bend)| ends.map(|p| distribution.quantile(p, mean, bend)).into()).collect();
    let useless = shape / rate;
    Some(Intervals {
        level: LEVEL,
        bounds,
        prior: ends.map(|p| prior.quantile(p, useless, ln(*shape))).into(),
        note: format!(
            "Intervals hold given the sample weights, which are not uncertain here; a kernel that does nothing has the weight \
             {useless:.4} of the prior, not 0"
        ),
    })
}

fn family(q: &str) -> Family {
    match q {
        "exponential" => Family::Exponential,
        "gamma" => Family::Gamma,
        "lognormal" => Family::LogNormal,
        _ => Family::Point,
    }
}

impl LogisticModel {
    /// The fitted model.
    pub(super) fn new(task: &Task<'_>, objective: &Objective<'_>, x: &[f64]) -> Result<LogisticModel> {
        LogisticModel::of_functions(positive_classes(task.labels), task, objective, x)
    }

    /// The same where these classes have functions, whether they have rows in the task or not.
    pub(super) fn of_functions(
        functions: Vec<usize>,
        task: &Task<'_>,
        objective: &Objective<'_>,
        x: &[f64],
    ) -> Result<LogisticModel> {
        let layout = objective.layout;
        let intercepts = if layout.intercept { x[layout.intercepts()].to_vec() } else { vec![0.0; layout.n_functions] };
        let mut coef = Matrix::zeros(task.n_samples(), layout.n_functions);
        for (k, &value) in x[layout.samples()].iter().enumerate() {
            coef.set(objective.points[k % layout.n_points], k / layout.n_points, value);
        }
        let mut model = LogisticModel::plain(functions, task, objective.means(x), coef, intercepts);
        model.clip(objective, x, &layout);
        model.q = word(objective.distribution.family).into();
        model.shapes = if layout.shaped { x[layout.shapes()].to_vec() } else { vec![0.0; layout.n_kernels] };
        if let Prior::Gamma { shape, rate } = objective.prior {
            model.prior = vec![shape, rate];
        }
        Ok(model)
    }

    /// A model for rows of one class only: it predicts that class, with two classes by Laplace's rule of succession.
    pub(super) fn of_one_class(task: &Task<'_>, n_kernels: usize) -> LogisticModel {
        let functions = positive_classes(task.labels);
        let n = task.n_samples();
        let first = task.labels.codes().first() == Some(&0);
        let odds = ln(n as f64 + 1.0) * if first { 1.0 } else { -1.0 };
        let weights = vec![1.0 / n_kernels as f64; n_kernels];
        // One row needs a nonzero coefficient for the model to have a point.
        let coef = Matrix::from_fn(n, functions.len(), |i, _| if i == 0 { f64::MIN_POSITIVE } else { 0.0 });
        let intercepts = vec![odds; functions.len()];
        LogisticModel::plain(functions, task, weights, coef, intercepts)
    }

    fn plain(
        functions: Vec<usize>,
        task: &Task<'_>,
        weights: Vec<f64>,
        coef: Matrix,
        intercepts: Vec<f64>,
    ) -> LogisticModel {
        let n_classes = task.labels.n_classes();
        let machine = if n_classes == 2 {
            SvmModel::one_vs_one(weights, &coef, intercepts.clone(), n_classes)
        } else {
            let (mut all, mut bias) = (Matrix::zeros(coef.n_rows(), n_classes), vec![0.0; n_classes]);
            for (c, &class) in functions.iter().enumerate() {
                bias[class] = intercepts[c];
                (0..coef.n_rows()).for_each(|i| all.set(i, class, coef.get(i, c)));
            }
            SvmModel::one_vs_rest(weights, &all, bias).with_trained(functions.clone())
        };
        let (own, q) = (Matrix::zeros(0, 0), "none".into());
        LogisticModel {
            machine,
            intercepts,
            functions,
            n_classes,
            clipped: vec![],
            own,
            q,
            shapes: vec![],
            prior: vec![],
        }
    }

    /// Coefficients of clipped kernels.
    fn clip(&mut self, objective: &Objective<'_>, x: &[f64], layout: &Layout) {
        let clip = &objective.clip;
        self.clipped = clip.kernels.iter().map(|(d, ..)| *d).collect();
        if self.clipped.is_empty() {
            return;
        }
        let columns: Vec<Vec<f64>> = (0..self.clipped.len())
            .flat_map(|k| (0..layout.n_functions).map(move |c| (k, c)))
            .map(|(k, c)| clip.samples(k, &x[c * layout.n_points..(c + 1) * layout.n_points]))
            .collect();
        // Coefficients of the machine's points, which are the nonzero ones.
        self.own = Matrix::from_fn(self.points().len(), columns.len(), |i, k| columns[k][self.points()[i]]);
    }

    #[must_use]
    pub(super) fn with_facts(mut self, facts: Vec<(String, String)>) -> LogisticModel {
        self.machine = self.machine.with_facts(facts);
        self
    }

    #[must_use]
    pub(super) fn with_warning(mut self, warning: Option<String>) -> LogisticModel {
        self.machine = self.machine.with_warning(warning);
        self
    }

    /// The decisions for each point: for two classes one and its negative.
    fn decisions(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        if self.clipped.is_empty() {
            return self.machine.scores(input, pool);
        }
        let (weights, coef) = (self.machine.weights().unwrap_or_default(), self.machine.coefficients());
        let coef = coef.ok_or_else(|| Error::input("its arrays do not fit together"))?.to_matrix();
        let used = self.kernels().unwrap_or_default();
        let count = self.functions.len();
        let column = |c: usize| if self.n_classes == 2 { 0 } else { self.functions[c] };
        let vectors = Matrix::from_fn(coef.n_rows(), used.len() * count, |i, k| {
            let (m, c) = (used[k / count], k % count);
            let coefficient = match self.clipped.iter().position(|&d| d == m) {
                Some(place) => self.own.get(i, place * count + c),
                None => coef.get(i, column(c)),
            };
            weights[m] * coefficient
        });
        let found = input.stack()?.collect(&vectors, pool)?;
        let mut decisions = Matrix::zeros(found.n_rows(), self.n_classes);
        decisions.data_mut().fill(f64::NEG_INFINITY);
        for (i, row) in found.rows().enumerate() {
            for (c, value) in row.iter().enumerate() {
                decisions.set(i, self.functions[c], value + self.intercepts[c]);
            }
            if self.n_classes == 2 {
                decisions.set(i, 1, -decisions.get(i, 0));
            }
        }
        Ok(decisions)
    }
}

/// Log softmax of a row.
fn normalise(row: &mut [f64]) {
    let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = row.iter().map(|&value| exp(value - most)).sum();
    let shift = most + ln(sum);
    row.iter_mut().for_each(|value| *value -= shift);
}

impl Predict for LogisticModel {
    fn scores(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        let mut scores = self.decisions(input, pool)?;
        if self.n_classes > 2 {
            let width = scores.n_cols();
            scores.data_mut().chunks_exact_mut(width).for_each(normalise);
        }
        Ok(scores)
    }

    fn points(&self) -> &[usize] {
        self.machine.points()
    }

    fn kernels(&self) -> Option<Vec<usize>> {
        self.machine.kernels()
    }

    fn check(&self, n_kernels: usize, n_classes: usize) -> Result<()> {
        self.machine.check(n_kernels, n_classes)?;
        let lawful = is_lawful(&self.q, &self.shapes, &self.prior, n_kernels);
        let (count, points) = (self.functions.len(), self.points().len());
        let most = if n_classes == 2 { 1 } else { n_classes };
        let clipped = self.clipped.is_empty()
            || self.own.n_rows() == points && Some(self.own.n_cols()) == count.checked_mul(self.clipped.len());
        let fits = self.n_classes == n_classes
            && lawful
            && clipped
            && self.intercepts.len() == count
            && self.clipped.iter().all(|&m| m < n_kernels)
            && self.functions.iter().all(|&class| class < most);
        if fits { Ok(()) } else { Err(Error::input("its arrays do not fit together")) }
    }

    fn probabilistic(&self) -> Option<&dyn Probabilistic> {
        Some(self)
    }

    fn additive(&self) -> Option<&dyn Additive> {
        Some(self)
    }
}

impl Additive for LogisticModel {
    fn decisions(&self) -> Vec<Decision> {
        self.machine.decisions()
    }

    fn biases(&self) -> Vec<f64> {
        self.machine.biases()
    }

    fn parts(&self, input: Input<'_>, pool: &Pool) -> Result<Vec<Matrix>> {
        let mut parts = self.machine.parts(input, pool)?;
        if self.clipped.is_empty() {
            return Ok(parts);
        }
        // Clipped kernels have coefficients of their own.
        let (used, weights) = (self.kernels().unwrap_or_default(), self.weights().unwrap_or_default());
        let (stack, count) = (input.stack()?, self.functions.len());
        for (place, &m) in self.clipped.iter().enumerate() {
            let Ok(at) = used.binary_search(&m) else { continue };
            let own = Matrix::from_fn(self.own.n_rows(), count, |i, c| weights[m] * self.own.get(i, place * count + c));
            parts[at] = stack.pick(&[at])?.apply(&own, pool)?.remove(0);
        }
        Ok(parts)
    }
}

impl Explain for LogisticModel {
    fn weights(&self) -> Option<&[f64]> {
        self.machine.weights()
    }

    fn coefficients(&self) -> Option<&Coefficients> {
        // Clipped kernels have coefficients of their own.
        self.machine.coefficients().filter(|_| self.clipped.is_empty())
    }

    fn intervals(&self) -> Option<Intervals> {
        intervals(self.machine.weights()?, &self.q, &self.shapes, &self.prior)
    }

    fn facts(&self) -> Vec<(String, String)> {
        self.machine.facts()
    }

    fn warnings(&self) -> Vec<String> {
        self.machine.warnings()
    }
}

impl Probabilistic for LogisticModel {
    fn probabilities(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        let mut found = self.scores(input, pool)?;
        let width = found.n_cols().max(1);
        for row in found.data_mut().chunks_exact_mut(width) {
            match self.n_classes {
                2 => row.iter_mut().for_each(|value| {
                    *value = if *value >= 0.0 { 1.0 / (1.0 + exp(-*value)) } else { exp(*value) / (1.0 + exp(*value)) }
                }),
                _ => row.iter_mut().for_each(|value| *value = exp(*value)),
            }
        }
        Ok(found)
    }
}
