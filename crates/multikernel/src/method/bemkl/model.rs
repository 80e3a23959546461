//! The model: mean weights for labels, and the covariance of the kernel weights for probabilities.

use super::beliefs::Beliefs;
use super::update::MARGIN;
use crate::dist::ln_normal_cdf;
use crate::error::{Error, Result};
use crate::file::record;
use crate::linalg::{Matrix, dot};
use crate::method::machine::SvmModel;
use crate::method::problems::positive_classes;
use crate::pool::Pool;
use crate::run::{Additive, Coefficients, Explain, Input, Predict, Probabilistic, Task};
use crate::simd::{exp, ln};

record! {
    /// An [`SvmModel`] with the mean sample weights, kernel weights and biases, and the covariance of biases and kernel
    /// weights.
    ///
    /// The probability of a class is that of its decision lying beyond the margin on one side rather than the other:
    /// the decision is normal with the machine's decision as mean and variance `1 + (1, g)' S (1, g)`, where g are the
    /// outputs of the single kernels. With more than two classes the variance is averaged over them, so that the most
    /// probable class is the label, and the one-vs-rest probabilities are normalised to sum to one. The uncertainty of
    /// the sample weights is ignored, as published: it would take N^2 numbers per class.
    ///
    /// Cost of a score: one kernel value per training row and kernel; probabilities take P^2/2 more products per class.
    #[derive(Clone, Debug)]
    pub struct BemklModel {
        machine: SvmModel,
        /// The positive class of each two-class problem.
        problems: Vec<usize>,
        /// Covariance of the biases of the problems, then the kernel weights: the lower triangle with the diagonal, row
        /// by row.
        covariance: Vec<f64>,
    }
}

impl BemklModel {
    pub(super) fn new(task: &Task<'_>, state: &Beliefs) -> Result<BemklModel> {
        let (problems, n_classes) = (positive_classes(task.labels), task.labels.n_classes());
        let (biases, weights) = state.weights.split_at(problems.len());
        let machine = if n_classes == 2 {
            SvmModel::one_vs_one(weights.to_vec(), &state.samples, biases.to_vec(), n_classes)
        } else {
            let (mut coef, mut bias) = (Matrix::zeros(state.samples.n_rows(), n_classes), vec![0.0; n_classes]);
            for (p, &class) in problems.iter().enumerate() {
                bias[class] = biases[p];
                (0..coef.n_rows()).for_each(|i| coef.set(i, class, state.samples.get(i, p)));
            }
            SvmModel::one_vs_rest(weights.to_vec(), &coef, bias).with_trained(problems.clone())
        };
        let machine = machine.with_facts(facts(state, weights));
        let covariance = state.covariance.rows().enumerate().flat_map(|(k, row)| row[..=k].to_vec()).collect();
        Ok(BemklModel { machine, problems, covariance })
    }

    /// The mean variance of the decisions for one point over all problems: `outputs` has one row per problem, starting
    /// with 1.
    fn variance(&self, used: &[usize], outputs: &Matrix) -> f64 {
        let c = self.problems.len();
        let places = |p: usize| std::iter::once(p).chain(used.iter().map(|&m| c + m)).collect::<Vec<usize>>();
        let quadratic = |(p, outputs): (usize, &[f64])| {
            let places = places(p);
            let row = |(k, &place): (usize, &usize)| {
                let row = &self.covariance[place * (place + 1) / 2..][..=place];
                let below: f64 = places[..k].iter().zip(outputs).map(|(&other, &output)| row[other] * output).sum();
                outputs[k] * (2.0 * below + row[place] * outputs[k])
            };
            places.iter().enumerate().map(row).sum::<f64>()
        };
        // Rounding must not make the variance negative.
        1.0 + (outputs.rows().enumerate().map(quadratic).sum::<f64>() / c as f64).max(0.0)
    }

    /// The probabilities for one point from its scores and the standard deviation of the decisions.
    fn probabilities_of(&self, scores: &[f64], deviation: f64, out: &mut [f64]) {
        let ln_sigmoid = |odds: f64| if odds < 0.0 { odds - ln(1.0 + exp(odds)) } else { -ln(1.0 + exp(-odds)) };
        let ln_odds =
            |score: f64| ln_normal_cdf((score - MARGIN) / deviation) - ln_normal_cdf((-MARGIN - score) / deviation);
        for (out, &score) in out.iter_mut().zip(scores) {
            *out = if score.is_finite() { ln_sigmoid(ln_odds(score)) } else { f64::NEG_INFINITY };
        }
        let most = out.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        out.iter_mut().for_each(|value| *value = exp(*value - most));
        let sum: f64 = out.iter().sum();
        out.iter_mut().for_each(|value| *value /= sum);
    }
}

pub(super) fn facts(state: &Beliefs, weights: &[f64]) -> Vec<(String, String)> {
    let (Some(first), Some(last)) = (state.bounds.first(), state.bounds.last()) else { return vec![] };
    let (rounds, n) = (state.bounds.len(), weights.len());
    // The published number of rounds seldom reaches a small tolerance, and labels have long stopped changing: no
    // warning.
    let rise = match state.bounds[..] {
        [.., before, last] => format!(" (the last raised it by {:.1e} of itself)", (last - before) / last.abs()),
        _ => String::new(),
    };
    let negative = weights.iter().filter(|&&weight| weight < 0.0).count();
    vec![
        (
            "lower bound of the log evidence".into(),
            format!("{first:.2} after the first round, {last:.2} after {rounds}{rise}"),
        ),
        ("kernel weights".into(), format!("Gaussian, of any sign and scale; {negative} of {n} are negative")),
    ]
}

impl Predict for BemklModel {
    fn scores(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        self.machine.scores(input, pool)
    }

    fn points(&self) -> &[usize] {
        self.machine.points()
    }

    fn kernels(&self) -> Option<Vec<usize>> {
        self.machine.kernels()
    }

    fn check(&self, n_kernels: usize, n_classes: usize) -> Result<()> {
        self.machine.check(n_kernels, n_classes)?;
        let size = self.problems.len().checked_add(n_kernels);
        let length = size.and_then(|size| Some(size.checked_mul(size.checked_add(1)?)? / 2));
        let most = if n_classes == 2 { 1 } else { n_classes };
        let fits = length == Some(self.covariance.len())
            && !self.problems.is_empty()
            && self.problems.iter().all(|&class| class < most);
        if fits { Ok(()) } else { Err(Error::input("its arrays do not fit together")) }
    }

    fn probabilistic(&self) -> Option<&dyn Probabilistic> {
        Some(self)
    }

    fn additive(&self) -> Option<&dyn Additive> {
        self.machine.additive()
    }
}

impl Explain for BemklModel {
    fn weights(&self) -> Option<&[f64]> {
        self.machine.weights()
    }

    fn coefficients(&self) -> Option<&Coefficients> {
        self.machine.coefficients()
    }

    fn facts(&self) -> Vec<(String, String)> {
        self.machine.facts()
    }

    fn warnings(&self) -> Vec<String> {
        self.machine.warnings()
    }
}

impl Probabilistic for BemklModel {
    fn probabilities(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        let scores = self.machine.scores(input, pool)?;
        let (stack, used) = (input.stack()?, self.kernels().unwrap_or_default());
        let coef = self.coefficients().map(|coef| coef.to_matrix().transposed()).unwrap_or_default();
        let n = stack.n_rows();
        // Row m n + i belongs to point i in the m-th kernel used.
        let kernels = stack.unfold(pool)?;
        let mut found = Matrix::zeros(n, scores.n_cols());
        pool.chunks_mut(found.data_mut(), scores.n_cols(), |i, found| {
            let outputs = Matrix::from_fn(self.problems.len(), 1 + used.len(), |p, k| match k {
                0 => 1.0,
                _ => dot(kernels.row((k - 1) * n + i), coef.row(self.problems[p])),
            });
            self.probabilities_of(scores.row(i), self.variance(&used, &outputs).sqrt(), found);
        });
        Ok(found)
    }
}
