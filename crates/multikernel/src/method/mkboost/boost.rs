//! Boosting for one pair of classes.

use super::BoostParams;
use super::kernels::{Decided, Held};
use super::trials::{Learner, Outcome, Trials};
use super::weak::{Drawn, Trial, Weak};
use crate::data::ln_1p;
use crate::error::Result;
use crate::run::{Control, Task};
use crate::simd::exp;

/// Errors are clamped to this and one minus this where their logarithm is taken: an error of 0 would have an infinite
/// vote.
pub(super) const MIN_ERROR: f64 = 1e-10;

/// A pair of classes and its training rows.
#[derive(Clone, Debug)]
pub(super) struct Pair {
    /// The index of the pair.
    pub(super) at: usize,
    pub(super) rows: Vec<usize>,
    /// Whether each row belongs to the first class.
    pub(super) positive: Vec<bool>,
    /// Whether each row is held out of boosting.
    pub(super) held: Vec<bool>,
    /// Rows drawn per trial.
    pub(super) n_drawn: usize,
}

impl Pair {
    /// Whether both classes have rows to train on.
    pub(super) fn is_trainable(&self) -> bool {
        let has =
            |class: bool| self.positive.iter().zip(&self.held).any(|(&positive, &held)| positive == class && !held);
        has(true) && has(false)
    }

    pub(super) fn n_held(&self) -> usize {
        self.held.iter().filter(|&&held| held).count()
    }
}

/// Settings shared by all pairs.
#[derive(Clone, Copy)]
pub(super) struct Setting<'a> {
    pub(super) task: &'a Task<'a>,
    pub(super) params: &'a BoostParams,
    pub(super) control: &'a Control,
}

/// State of the boosting of one pair.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Boost {
    /// `D`, zero for rows held out.
    pub(super) weights: Vec<f64>,
    /// `F`.
    pub(super) votes: Vec<f64>,
    /// `S`.
    pub(super) sampling: Vec<f64>,
    /// Positions of the random streams that draw rows and kernels.
    pub(super) row_position: u64,
    pub(super) kernel_position: u64,
    /// SVMs fitted, and those that did not converge.
    pub(super) n_fits: usize,
    pub(super) n_open: usize,
}

/// `1/2 ln((1 - e) / e)`, exact on both sides and the same on every machine.
pub(super) fn half_log_odds(error: f64) -> f64 {
    if error <= 0.5 {
        0.5 * ln_1p((1.0 - 2.0 * error) / error)
    } else {
        -0.5 * ln_1p((2.0 * error - 1.0) / (1.0 - error))
    }
}

fn clamped(error: f64) -> f64 {
    error.clamp(MIN_ERROR, 1.0 - MIN_ERROR)
}

/// One classifier's predictions for all rows.
struct Said {
    positive: Vec<bool>,
    error: f64,
}

impl Said {
    /// The signs of decisions; zero is positive.
    fn new(decisions: &[f64], pair: &Pair, weights: &[f64]) -> Said {
        let positive: Vec<bool> = decisions.iter().map(|&decision| decision >= 0.0).collect();
        let wrong = positive.iter().zip(&pair.positive).zip(weights);
        let error = wrong.map(|((said, is), &weight)| if said == is { 0.0 } else { weight }).sum();
        Said { positive, error }
    }
}

impl Boost {
    pub(super) fn new(pair: &Pair, n_kernels: usize) -> Boost {
        let n = pair.rows.len();
        let share = 1.0 / (n - pair.n_held()).max(1) as f64;
        Boost {
            weights: pair.held.iter().map(|&held| if held { 0.0 } else { share }).collect(),
            votes: vec![0.0; n],
            sampling: vec![1.0; n_kernels],
            row_position: 0,
            kernel_position: 0,
            n_fits: 0,
            n_open: 0,
        }
    }

    /// One trial, added to `trials`; false if cancelled, in which case neither `self` nor `trials` can be used any
    /// more.
    pub(super) fn trial(&mut self, pair: &Pair, held: &Held, how: Setting<'_>, trials: &mut Trials) -> Result<bool> {
        let params = how.params;
        let drawn = self.draw_rows(pair, how.task);
        let kernels = self.draw_kernels(pair, how);
        let trial = Trial::new(drawn, &pair.positive, params.c, params.tol);
        let Some(learned) = self.learn(&trial, &kernels, pair, held, how)? else { return Ok(false) };
        let said: Vec<Said> = learned.iter().map(|(_, decisions)| Said::new(decisions, pair, &self.weights)).collect();
        if how.params.variant.samples {
            self.decay(&learned, &said, params.decay);
        }
        let best = (0..said.len()).min_by(|&a, &b| said[a].error.total_cmp(&said[b].error)).unwrap_or(0);
        let inner = |said: &Said| half_log_odds(clamped(said.error));
        let taken: Vec<(usize, f64)> = if how.params.variant.combines {
            said.iter().enumerate().map(|(k, said)| (k, inner(said))).collect()
        } else {
            vec![(best, 1.0)]
        };
        let mut sums = vec![0.0; pair.rows.len()];
        for &(k, inner) in &taken {
            add_signs(inner, &said[k].positive, &mut sums);
            trials.push(learner(&learned[k].0, inner, &support(&learned[k].0, &trial, pair)));
        }
        let outcome = self.update(&Said::new(&sums, pair, &self.weights), pair);
        trials.close(pair.at, outcome);
        Ok(true)
    }

    fn draw_rows(&mut self, pair: &Pair, task: &Task<'_>) -> Drawn {
        let mut rng = task.rng(2 * pair.at as u64, self.row_position);
        let drawn = Drawn::new(&self.weights, pair.n_drawn, &mut rng);
        self.row_position = rng.position();
        drawn
    }

    /// The kernels of a trial, never empty: one of them has probability 1.
    fn draw_kernels(&mut self, pair: &Pair, how: Setting<'_>) -> Vec<usize> {
        if !how.params.variant.samples {
            return (0..self.sampling.len()).collect();
        }
        let mut rng = how.task.rng(2 * pair.at as u64 + 1, self.kernel_position);
        let drawn = (0..self.sampling.len()).filter(|&j| rng.uniform() < self.sampling[j]).collect();
        self.kernel_position = rng.position();
        drawn
    }

    fn learn(
        &mut self,
        trial: &Trial,
        kernels: &[usize],
        pair: &Pair,
        held: &Held,
        how: Setting<'_>,
    ) -> Result<Option<Vec<Decided>>> {
        if let Some(class) = trial.only_class() {
            let constant = |&kernel: &usize| {
                let weak = Weak::constant(kernel, class);
                let decisions = vec![weak.bias; pair.rows.len()];
                (weak, decisions)
            };
            return Ok(Some(kernels.iter().map(constant).collect()));
        }
        let learned = held.learn(trial, kernels, how.task.pool, &|| how.control.stop().is_some())?;
        if let Some(learned) = &learned {
            self.n_fits += learned.len();
            self.n_open += learned.iter().filter(|(weak, _)| !weak.converged).count();
        }
        Ok(learned)
    }

    /// Makes kernels that did badly less likely to be drawn; the best of all keeps probability 1.
    fn decay(&mut self, learned: &[Decided], said: &[Said], decay: f64) {
        let log = -ln_1p((1.0 - decay) / decay);
        for ((weak, _), said) in learned.iter().zip(said) {
            self.sampling[weak.kernel] *= exp(said.error * log);
        }
        let most = self.sampling.iter().copied().fold(0.0, f64::max);
        self.sampling.iter_mut().for_each(|chance| *chance /= most);
    }

    /// Adds the vote of the trial, and shifts the weights to the rows it got wrong.
    fn update(&mut self, said: &Said, pair: &Pair) -> Outcome {
        let odds = clamped(said.error) / (1.0 - clamped(said.error));
        // exp(-a) and exp(a).
        let (less, more) = (odds.sqrt(), (1.0 / odds).sqrt());
        let weight = half_log_odds(clamped(said.error));
        add_signs(weight, &said.positive, &mut self.votes);
        for ((w, said), is) in self.weights.iter_mut().zip(&said.positive).zip(&pair.positive) {
            *w *= if said == is { less } else { more };
        }
        let total: f64 = self.weights.iter().sum();
        self.weights.iter_mut().for_each(|w| *w /= total);
        let right = |of_held: bool| {
            let rows = self.votes.iter().zip(&pair.positive).zip(&pair.held);
            rows.filter(|&((&vote, &is), &held)| held == of_held && (vote >= 0.0) == is).count()
        };
        Outcome { error: said.error, weight, right: right(false), held_right: right(true) }
    }
}

/// `sums += weight` where positive, `-= weight` elsewhere; shared by training and prediction.
pub(super) fn add_signs(weight: f64, positive: &[bool], sums: &mut [f64]) {
    for (sum, &positive) in sums.iter_mut().zip(positive) {
        *sum += if positive { weight } else { -weight };
    }
}

/// The support points of an SVM as training rows.
fn support(weak: &Weak, trial: &Trial, pair: &Pair) -> Vec<usize> {
    weak.support.iter().map(|&at| pair.rows[trial.rows[at]]).collect()
}

fn learner<'a>(weak: &'a Weak, inner: f64, support: &'a [usize]) -> Learner<'a> {
    Learner { kernel: weak.kernel, inner, bias: weak.bias, support, coef: &weak.coef }
}
