//! The model: many draws, with averaged predictions.

use super::hmc::SPREAD;
use super::spread::Spread;
use crate::dist::beta_quantile;
use crate::draws::{Draws, Variable};
use crate::error::{Error, Result};
use crate::file::record;
use crate::linalg::Matrix;
use crate::method::machine::Told;
use crate::pool::Pool;
use crate::run::{Explain, Input, Predict, Probabilistic};
use crate::simd::{exp, ln};

record! {
    /// Draws of kernel weights and functions. A probability is the mean over draws, softened by one common temperature;
    /// under likelihood=logit, averaged over the distribution of the function at the row instead.
    ///
    /// Cost of a prediction: N P operations per kept draw (up to 100), and N more per class, or N^2 / 2 more under
    /// likelihood=logit.
    #[derive(Clone, Debug)]
    pub struct Bm3klModel {
        /// Classes that have rows; one function each, or one for two classes, positive for the first.
        present: Vec<usize>,
        n_classes: usize,
        points: Vec<usize>,
        n_chains: usize,
        /// Draws (chain by chain) x kernels.
        weights: Matrix,
        /// Draws x 1; draws x 0 for prior=paper.
        log_nu: Matrix,
        log_posterior: Vec<f64>,
        /// For the draws used in prediction: kept x kernels, or one row if weights were not learned.
        kept_weights: Matrix,
        /// N x (kept x functions).
        coef: Matrix,
        /// Kept x functions.
        bias: Matrix,
        temperature: f64,
        /// The mean weights.
        mean: Vec<f64>,
        /// Parameter of the Dirichlet prior; 0 if weights were not learned.
        eta: f64,
        warnings: Vec<String>,
        told: Told,
        /// likelihood=logit: what variances at new rows need.
        spread: Option<Spread>,
    }
}

/// The parts of a model.
pub(super) struct Sample {
    pub(super) present: Vec<usize>,
    pub(super) n_classes: usize,
    pub(super) n_chains: usize,
    pub(super) weights: Matrix,
    pub(super) log_nu: Matrix,
    pub(super) log_posterior: Vec<f64>,
    pub(super) kept_weights: Matrix,
    pub(super) coef: Matrix,
    pub(super) bias: Matrix,
    pub(super) temperature: f64,
    pub(super) eta: f64,
    /// likelihood=logit: the rows of the factors, and these.
    pub(super) spread: Option<(Vec<usize>, Spread)>,
}

impl Bm3klModel {
    pub(super) fn new(sample: Sample, warnings: Vec<String>, facts: Vec<(String, String)>) -> Bm3klModel {
        // Among rows that are one point, only the first has coefficients.
        let counts = |i: &usize| sample.coef.row(*i).iter().any(|&coef| coef != 0.0);
        let (points, spread) = match sample.spread {
            Some((points, spread)) => (points, Some(spread)),
            None => ((0..sample.coef.n_rows()).filter(counts).collect::<Vec<usize>>(), None),
        };
        let mut sampled = Bm3klModel {
            present: sample.present,
            n_classes: sample.n_classes,
            n_chains: sample.n_chains,
            mean: mean_weights(&sample.weights),
            weights: sample.weights,
            log_nu: sample.log_nu,
            log_posterior: sample.log_posterior,
            kept_weights: sample.kept_weights,
            coef: sample.coef.select_rows(&points),
            points,
            bias: sample.bias,
            temperature: sample.temperature,
            eta: sample.eta,
            warnings,
            told: Told(facts),
            spread,
        };
        sampled.warnings.extend(sampled.draws().and_then(|draws| draws.verdict()));
        sampled
    }

    /// Probabilities of the present classes from the decisions of all kept draws, scattered to their positions among
    /// all classes.
    fn average(&self, decisions: &[f64], out: &mut [f64]) {
        let n_functions = self.bias.n_cols();
        let share = 1.0 / self.bias.n_rows() as f64;
        let mut likely = vec![0.0; self.present.len()];
        for (f, bias) in decisions.chunks_exact(n_functions).zip(self.bias.rows()) {
            let f: Vec<f64> = f.iter().zip(bias).map(|(f, b)| f + b).collect();
            soften(&f, self.temperature, &mut likely);
        }
        self.present.iter().zip(likely).for_each(|(&class, p)| out[class] = share * p);
    }
}

/// Adds the probabilities implied by decisions: `sigmoid(2 f / T)` for two classes, `softmax(f / T)` for more.
pub(super) fn soften(f: &[f64], temperature: f64, likely: &mut [f64]) {
    if let [f] = f {
        if let [first, second] = likely {
            let p = 1.0 / (1.0 + exp(-2.0 * f / temperature));
            *first += p;
            *second += 1.0 - p;
        } else {
            likely[0] += 1.0;
        }
        return;
    }
    let most = f.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let scaled: Vec<f64> = f.iter().map(|f| exp((f - most) / temperature)).collect();
    let sum: f64 = scaled.iter().sum();
    likely.iter_mut().zip(scaled).for_each(|(likely, value)| *likely += value / sum);
}

/// Leave-one-out decisions for the training rows.
pub(super) struct HeldOut<'a> {
    /// Draws x functions x N.
    pub(super) decisions: &'a [f64],
    /// Draws x N: see [`Draw`](super::chain::Draw).
    pub(super) log_ratios: &'a [f64],
    /// The index of each row's class among those present.
    pub(super) places: &'a [usize],
    pub(super) n_functions: usize,
    pub(super) n_present: usize,
    /// The typical size of decisions that meet their margins.
    pub(super) size: f64,
}

impl HeldOut<'_> {
    /// The weight of each draw for row i: its importance ratio at the row, which turns a draw given all rows into one
    /// given the others, truncated at their mean times the root of the number of draws, so that no draw dominates.
    fn shares(&self, i: usize) -> Vec<f64> {
        let log_ratios: Vec<f64> = self.log_ratios.chunks_exact(self.places.len()).map(|draw| draw[i]).collect();
        let most = log_ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let raw: Vec<f64> = log_ratios.iter().map(|s| exp(s - most)).collect();
        let n = raw.len() as f64;
        let cut = raw.iter().sum::<f64>() / n * n.sqrt();
        let total: f64 = raw.iter().map(|share| share.min(cut)).sum();
        raw.iter().map(|share| share.min(cut) / total).collect()
    }

    /// The log-loss over all rows at a temperature, given the weight of each draw for each row.
    fn loss(&self, shares: &[Vec<f64>], temperature: f64, pool: &Pool) -> f64 {
        let mut counts = vec![0usize; self.n_present];
        self.places.iter().for_each(|&class| counts[class] += 1);
        let losses = pool.map(shares.len(), |i| self.loss_of_row(i, &shares[i], counts[self.places[i]], temperature));
        losses.iter().sum()
    }

    /// The log-loss of row i, whose class has so many rows.
    fn loss_of_row(&self, i: usize, shares: &[f64], count: usize, temperature: f64) -> f64 {
        let n = self.places.len();
        let mut likely = vec![0.0; self.n_present];
        for (draw, share) in self.decisions.chunks_exact(n * self.n_functions).zip(shares) {
            let f: Vec<f64> = (0..self.n_functions).map(|c| draw[c * n + i]).collect();
            let mut of_draw = vec![0.0; self.n_present];
            soften(&f, temperature, &mut of_draw);
            likely.iter_mut().zip(of_draw).for_each(|(sum, p)| *sum += share * p);
        }
        // A class of n rows that were all classified correctly may still be missed once in n + 2 (Laplace's rule,
        // as in Platt's targets): otherwise separable rows would push all probabilities to 0 and 1.
        let doubt = 1.0 / (count as f64 + 2.0);
        let term = |(k, likely): (usize, &f64)| {
            let target = if k == self.places[i] { 1.0 - doubt } else { doubt / (self.n_present - 1) as f64 };
            -target * ln(likely.max(1e-300))
        };
        likely.iter().enumerate().map(term).sum()
    }
}

/// Logarithms of the smallest and largest temperature, for decisions of size 1.
const RANGE: (f64, f64) = (-4.0, 3.0);

/// Whether a temperature for decisions of this size is just an end of the range.
pub(super) fn at_an_end(temperature: f64, size: f64) -> bool {
    let log = ln(temperature / size);
    log < RANGE.0 + 0.05 || log > RANGE.1 - 0.05
}

/// The temperature whose averaged probabilities have the smallest leave-one-out log-loss.
pub(super) fn temperature(held_out: &HeldOut<'_>, pool: &Pool) -> f64 {
    let shares = pool.map(held_out.places.len(), |i| held_out.shares(i));
    let loss = |log_t: f64| held_out.loss(&shares, held_out.size * exp(log_t), pool);
    // Golden section: in all cases we have seen the loss has one valley in log T, and any T in it is a valid choice.
    let ratio = 0.5 * (5f64.sqrt() - 1.0);
    let (mut low, mut high) = RANGE;
    let (mut a, mut b) = (high - ratio * (high - low), low + ratio * (high - low));
    let (mut at_a, mut at_b) = (loss(a), loss(b));
    while high - low > 0.01 {
        if at_a <= at_b {
            (high, b, at_b) = (b, a, at_a);
            a = high - ratio * (high - low);
            at_a = loss(a);
        } else {
            (low, a, at_a) = (a, b, at_b);
            b = low + ratio * (high - low);
            at_b = loss(b);
        }
    }
    held_out.size * exp(0.5 * (low + high))
}

/// The table of draws: kernel weights, unless they were not learned (`eta` is 0), the logarithms of variances, and the
/// log posterior.
pub(super) fn draws(
    n_chains: usize,
    eta: f64,
    weights: &Matrix,
    log_variances: &Matrix,
    log_posterior: &[f64],
) -> Option<Draws> {
    let variable = |name: &str, dimension: Option<&str>, values: Matrix, prior| Variable {
        name: name.into(),
        dimension: dimension.map(String::from),
        coordinates: vec![],
        values,
        prior,
    };
    let n = log_posterior.len();
    let mut variables = vec![];
    if eta > 0.0 {
        let rest = eta * (weights.n_cols() - 1) as f64;
        let prior = (rest > 0.0).then(|| (beta_quantile(0.05, eta, rest), beta_quantile(0.95, eta, rest)));
        variables.push(variable("weights", Some("kernel"), weights.clone(), prior));
    }
    for (k, name) in (0..log_variances.n_cols()).zip(["log_nu", "log_noise"]) {
        // The middle 90 % of a normal distribution.
        let middle = 1.644_853_626_951_472_6 * SPREAD;
        let values = Matrix::from_vec(n, 1, log_variances.column(k)).ok()?;
        variables.push(variable(name, None, values, Some((-middle, middle))));
    }
    let log_posterior = Matrix::from_vec(n, 1, log_posterior.to_vec()).ok()?;
    variables.push(variable("log_posterior", None, log_posterior, None));
    Draws::new(n_chains, variables).ok()
}

/// The mean of each column of weights.
pub(super) fn mean_weights(weights: &Matrix) -> Vec<f64> {
    let n_draws = weights.n_rows().max(1) as f64;
    (0..weights.n_cols()).map(|m| weights.column(m).iter().sum::<f64>() / n_draws).collect()
}

impl Predict for Bm3klModel {
    fn scores(&self, input: Input<'_>, pool: &Pool) -> Result<Matrix> {
        let stack = input.stack()?;
        let mixture = stack.mixture(&self.kept_weights.transposed(), pool)?;
        let decisions = stack.decide(&mixture, &self.coef, pool)?;
        let mut scores = Matrix::zeros(stack.n_rows(), self.n_classes);
        let Some(spread) = &self.spread else {
            pool.chunks_mut(scores.data_mut(), self.n_classes, |i, out| self.average(decisions.row(i), out));
            return Ok(scores);
        };
        let first = spread.probabilities(stack, &self.kept_weights, &decisions, self.bias.data(), pool)?;
        for (i, p) in first.into_iter().enumerate() {
            match self.present[..] {
                [first, second] => {
                    scores.set(i, first, p);
                    scores.set(i, second, 1.0 - p);
                }
                _ => scores.set(i, self.present[0], 1.0),
            }
        }
        Ok(scores)
    }

    fn points(&self) -> &[usize] {
        &self.points
    }

    fn check(&self, n_kernels: usize, n_classes: usize) -> Result<()> {
        let n_functions = if self.present.len() == 2 { 1 } else { self.present.len() };
        let (draws, kept) = (self.weights.n_rows(), self.bias.n_rows());
        let fits = self.n_classes == n_classes
            && !self.present.is_empty()
            && self.present.iter().all(|&class| class < n_classes)
            && self.weights.n_cols() == n_kernels
            && self.mean.len() == n_kernels
            && self.n_chains > 0
            && draws.is_multiple_of(self.n_chains)
            && self.log_posterior.len() == draws
            && self.log_nu.n_rows() == draws
            && [0, 1].contains(&self.log_nu.n_cols())
            && kept > 0
            && [1, kept].contains(&self.kept_weights.n_rows())
            && self.kept_weights.n_cols() == n_kernels
            && self.bias.n_cols() == n_functions
            && self.coef.n_cols() == kept * n_functions
            && self.coef.n_rows() == self.points.len()
            && self.spread.as_ref().is_none_or(|spread| n_functions == 1 && spread.fits(kept, 1, self.points.len()))
            && self.temperature > 0.0
            && self.eta >= 0.0;
        if fits {
            Ok(())
        } else {
            Err(Error::input("its arrays do not fit together; the file was not written by this method"))
        }
    }

    fn probabilistic(&self) -> Option<&dyn Probabilistic> {
        Some(self)
    }
}

impl Explain for Bm3klModel {
    fn weights(&self) -> Option<&[f64]> {
        Some(&self.mean)
    }

    fn draws(&self) -> Option<Draws> {
        draws(self.n_chains, self.eta, &self.weights, &self.log_nu, &self.log_posterior)
    }

    fn facts(&self) -> Vec<(String, String)> {
        self.told.0.clone()
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }
}

impl Probabilistic for Bm3klModel {}
