//! Losses from scores, and the label probabilities they imply.

use crate::simd::{exp, ln};

/// The best class other than `y` (the first of equals) if it violates the margin: `None` if the margin is kept, or if
/// there is no other class.
pub(super) fn rival(scores: &[f64], y: usize) -> Option<usize> {
    let others = scores.iter().enumerate().filter(|(m, _)| *m != y);
    let (best, score) = others.fold((y, f64::NEG_INFINITY), |best, (m, &f)| if f > best.1 { (m, f) } else { best });
    (best != y && 1.0 + score - scores[y] > 0.0).then_some(best)
}

/// The Crammer-Singer hinge loss of each label y given the scores of a row: `max(0, 1 + max_{m != y} f_m - f_y)`.
///
/// Zeros if there is only one class. Cost: linear in the classes.
///
/// # Panics
/// If `losses` and `scores` differ in length.
pub(crate) fn losses(scores: &[f64], losses: &mut [f64]) {
    assert_eq!(scores.len(), losses.len(), "a loss for each class");
    let (mut best, mut second, mut at) = (f64::NEG_INFINITY, f64::NEG_INFINITY, 0);
    for (m, &f) in scores.iter().enumerate() {
        if f > best {
            (best, second, at) = (f, best, m);
        } else if f > second {
            second = f;
        }
    }
    for (y, (loss, f)) in losses.iter_mut().zip(scores).enumerate() {
        let other = if y == at { second } else { best };
        *loss = (1.0 + other - f).max(0.0);
    }
}

/// Log probability of the label y given the scores of a row, `exp(-beta l_y) / sum_m exp(-beta l_m)` for [`losses`] l,
/// which it writes to `room`.
pub(crate) fn ln_softmin(scores: &[f64], y: usize, beta: f64, room: &mut [f64]) -> f64 {
    losses(scores, room);
    let least = room.iter().copied().fold(f64::INFINITY, f64::min);
    let sum: f64 = room.iter().map(|loss| exp(beta * (least - loss))).sum();
    beta * (least - room[y]) - ln(sum)
}

/// The probabilities of all labels given the scores of a row; their logarithms are [`ln_softmin`].
pub(crate) fn softmin(scores: &[f64], beta: f64, probabilities: &mut [f64]) {
    losses(scores, probabilities);
    let least = probabilities.iter().copied().fold(f64::INFINITY, f64::min);
    probabilities.iter_mut().for_each(|p| *p = exp(beta * (least - *p)));
    let sum: f64 = probabilities.iter().sum();
    probabilities.iter_mut().for_each(|p| *p /= sum);
}
