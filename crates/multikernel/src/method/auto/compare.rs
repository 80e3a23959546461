//! Held-out predictions of candidates, and what follows from them.

use super::Auto;
use super::candidate::{Candidate, Part, Rule};
use crate::data::{Split, Target};
use crate::error::Result;
use crate::file::{Codec, Record};
use crate::linalg::Matrix;
use crate::method::ends::partial_log_likelihood;
use crate::run::inner::{self, Deal, HeldOut, Want, log_losses};
use crate::run::{Calibration, Control, Silent, Task};

/// What inner folds found of one candidate.
#[derive(Clone, Debug)]
pub(super) struct Tried {
    /// The value of c with the lowest loss.
    pub(super) c: f64,
    /// That loss, over all rows: log-loss, squared error, or minus the partial likelihood of an event.
    pub(super) loss: f64,
    /// What each held-out row is predicted at this c: probabilities, numbers, or a log risk.
    pub(super) predicted: Matrix,
    /// The map from margins to probabilities, for classes.
    pub(super) calibration: Option<Calibration>,
}

impl Codec for Tried {
    fn encode(&self) -> Record {
        let mut record = Record::default();
        record.put("c", &self.c);
        record.put("loss", &self.loss);
        record.put("predicted", &self.predicted);
        if let Some(calibration) = &self.calibration {
            record.put_record("calibration", calibration.encode());
        }
        record
    }

    fn decode(record: &Record) -> Result<Self> {
        let calibration = record.take_record("calibration");
        let calibration = if calibration.is_empty() { None } else { Some(Calibration::decode(&calibration)?) };
        let (c, loss) = (record.take("c")?, record.take("loss")?);
        Ok(Tried { c, loss, predicted: record.take("predicted")?, calibration })
    }
}

impl Tried {
    /// Runs a candidate on the inner folds. `Err(Stopped)` if asked to stop.
    pub(super) fn of(candidate: &Candidate, auto: &Auto, task: &Task<'_>, control: &Control) -> Result<Tried> {
        let part = Part::new(task, &Part::rows(auto, task), &candidate.kernels)?;
        let part = part.task(task);
        // A handful of rows is not compared.
        let Ok(folds) = inner::folds(&part, Deal::Choose) else { return Ok(Tried::unknown()) };
        // Nor where so few times are of events that some fold would be trained on none.
        let is_silent =
            |fold: &Split| part.target.select(&fold.train).times().is_some_and(|times| times.n_events() == 0);
        if folds.iter().any(is_silent) {
            return Ok(Tried::unknown());
        }
        let want = if *part.target == Target::Classes { Want::Margins } else { Want::Scores };
        let held_out = HeldOut { want, task: &part, folds: &folds, control };
        let cs = Candidate::cs(task);
        let found = held_out.all(&candidate.settings(auto, cs)?, &mut Silent)?;
        let mut best: Option<Tried> = None;
        for (&c, outputs) in cs.iter().zip(found) {
            let tried = Tried::at(c, outputs, &part, &folds);
            // Of equals the smoothest stays.
            if best.as_ref().is_none_or(|best| tried.loss < best.loss) {
                best = Some(tried);
            }
        }
        Ok(best.unwrap_or_else(Tried::unknown))
    }

    fn at(c: f64, outputs: Matrix, task: &Task<'_>, folds: &[Split]) -> Tried {
        let (predicted, calibration) = match task.target {
            Target::Classes => match Calibration::fit(&outputs, task.labels.codes()) {
                Ok(map) => (map.free(&outputs), Some(map)),
                // No margin is finite: nothing was learned.
                Err(_) => return Tried::unknown(),
            },
            _ => (outputs, None),
        };
        let loss = mean(&losses(&predicted, task, folds));
        Tried { c, loss, predicted, calibration }
    }

    /// A candidate that nothing is known of, at the default c.
    fn unknown() -> Tried {
        Tried { c: 10.0, loss: f64::INFINITY, predicted: Matrix::zeros(0, 0), calibration: None }
    }
}

/// The loss of each row; of times the loss of each fold, as a partial likelihood compares rows of one model.
fn losses(predicted: &Matrix, task: &Task<'_>, folds: &[Split]) -> Vec<f64> {
    match task.target {
        Target::Classes => log_losses(predicted, task.labels.codes()),
        Target::Numbers(numbers) => {
            let square = |(a, b): (&[f64], &[f64])| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
            predicted.rows().zip(numbers.values().rows()).map(square).collect()
        }
        Target::Times(times) => {
            let of_fold = |fold: &Split| {
                let risks: Vec<f64> = fold.test.iter().map(|&i| predicted.get(i, 0)).collect();
                let times = times.select(&fold.test);
                let n_events = times.event().iter().filter(|&&event| event).count();
                -partial_log_likelihood(&times, &risks) / n_events.max(1) as f64
            };
            folds.iter().map(of_fold).collect()
        }
    }
}

/// The mean loss of held-out predictions.
pub(super) fn loss_of(predicted: &Matrix, task: &Task<'_>, folds: &[Split]) -> f64 {
    mean(&losses(predicted, task, folds))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// What is kept of the candidates.
#[derive(Clone, Debug)]
pub(super) struct Verdict {
    /// The best candidate, and the second best if the mean of the two is better than the best alone.
    pub(super) kept: Vec<usize>,
    /// The held-out loss of what is kept.
    pub(super) loss: f64,
    /// What learned weights gained over uniform ones, where both were tried.
    pub(super) gain: Option<Gain>,
}

/// The loss of the best candidate with uniform weights minus that of the best with learned ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gain {
    pub(super) mean: f64,
    /// Half the width of a 95 % interval, from the paired differences of rows.
    pub(super) half_width: f64,
    /// Which candidates these are.
    pub(super) uniform: usize,
    pub(super) learned: usize,
}

/// 97.5 % of a normal distribution.
const NORMAL: f64 = 1.959_963_984_540_054;

impl Verdict {
    pub(super) fn of(candidates: &[Candidate], tried: &[Tried], auto: &Auto, task: &Task<'_>) -> Result<Verdict> {
        let part = Part::new(task, &Part::rows(auto, task), &[0])?;
        let part = part.task(task);
        let folds = inner::folds(&part, Deal::Choose).unwrap_or_default();
        let mut order: Vec<usize> = (0..tried.len()).collect();
        // Stable: of equals the first stays.
        order.sort_by(|&a, &b| tried[a].loss.total_cmp(&tried[b].loss));
        let Some(&best) = order.first() else { return Ok(Verdict { kept: vec![0], loss: f64::NAN, gain: None }) };
        let mut verdict = Verdict { kept: vec![best], loss: tried[best].loss, gain: None };
        let second = order.get(1).filter(|&&second| tried[second].loss.is_finite());
        if let (Some(&second), Target::Classes) = (second, part.target) {
            let both = mean_of(&[&tried[best].predicted, &tried[second].predicted]);
            let loss = mean(&losses(&both, &part, &folds));
            if loss < verdict.loss {
                (verdict.kept, verdict.loss) = (vec![best, second], loss);
            }
        }
        let best_of = |learned: bool| order.iter().find(|&&k| (candidates[k].rule != Rule::Average) == learned);
        // A handful of folds has no interval worth printing.
        let is_known = verdict.loss.is_finite() && !matches!(part.target, Target::Times(_));
        if let (Some(&uniform), Some(&learned), true) = (best_of(false), best_of(true), is_known) {
            let of = |k: usize| losses(&tried[k].predicted, &part, &folds);
            let (mean, half_width) = paired(&of(uniform), &of(learned));
            verdict.gain = Some(Gain { mean, half_width, uniform, learned });
        }
        Ok(verdict)
    }
}

/// The mean of paired differences, and half the width of its 95 % interval.
fn paired(first: &[f64], second: &[f64]) -> (f64, f64) {
    let differences: Vec<f64> = first.iter().zip(second).map(|(a, b)| a - b).collect();
    let (mean, n) = (mean(&differences), differences.len() as f64);
    let square: f64 = differences.iter().map(|difference| (difference - mean).powi(2)).sum();
    (mean, NORMAL * (square / (n - 1.0).max(1.0) / n.max(1.0)).sqrt())
}

/// The mean of matrices of one shape.
pub(super) fn mean_of(matrices: &[&Matrix]) -> Matrix {
    let n = matrices.len() as f64;
    let first = matrices[0];
    let at = |i: usize, j: usize| matrices.iter().map(|matrix| matrix.get(i, j)).sum::<f64>() / n;
    Matrix::from_fn(first.n_rows(), first.n_cols(), at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gain_is_the_paired_mean_with_its_interval() {
        // Differences 1, 2, 3: mean 2, standard deviation 1.
        let (mean, half_width) = paired(&[2.0, 4.0, 6.0], &[1.0, 2.0, 3.0]);
        assert!((mean - 2.0).abs() < 1e-15 && (half_width - NORMAL / 3f64.sqrt()).abs() < 1e-15);
    }
}
