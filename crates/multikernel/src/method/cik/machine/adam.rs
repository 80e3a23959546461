//! Adam: an adaptive step for every parameter (Kingma and Ba 2015); and plain steps.

use crate::simd::dispatched;

/// Decay rates of the running means of gradients and of their squares.
const FORGET: [f64; 2] = [0.9, 0.999];
/// Added to the denominator.
const SMALL: f64 = 1e-8;

/// One step for all parameters: its factors, with the bias correction of the means.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    rate: f64,
    root: f64,
    /// The gradient is `scale` times the given sum, plus `decay` times the parameter itself.
    scale: f64,
    decay: f64,
    /// The step is the gradient times the rate.
    pub(super) is_plain: bool,
}

impl Step {
    /// The step with this number, from 1.
    pub(super) fn new(number: usize, rate: f64, scale: f64, decay: f64) -> Step {
        let [first, second] = FORGET.map(|forget| 1.0 - power(forget, number));
        Step { rate: rate / first, root: 1.0 / second.sqrt(), scale, decay, is_plain: false }
    }

    /// A step of plain gradient descent, the same whatever its number.
    pub(super) fn plain(rate: f64, scale: f64, decay: f64) -> Step {
        Step { rate, root: 0.0, scale, decay, is_plain: true }
    }
}

/// By repeated squaring: bit-identical everywhere.
fn power(base: f64, mut exponent: usize) -> f64 {
    let (mut power, mut square) = (1.0, base);
    while exponent > 0 {
        if exponent % 2 == 1 {
            power *= square;
        }
        square *= square;
        exponent /= 2;
    }
    power
}

/// 1/x for x far from overflow and underflow, to two units in the last place: an initial guess from the bits and three
/// steps that cube its error of an eighth, in half the time of a division.
#[inline(always)]
fn inverse(x: f64) -> f64 {
    let mut inverse = f64::from_bits(0x7fde_6238_22fc_16e6u64.wrapping_sub(x.to_bits()));
    for _ in 0..3 {
        let error = (-x).mul_add(inverse, 1.0);
        inverse = error.mul_add(error, error).mul_add(inverse, inverse);
    }
    inverse
}

dispatched! {
    /// Moves `values` against their gradient, and updates the running means.
    pub(super) fn descend(step: Step, sums: &[f64], values: &mut [f64], means: &mut [f64], squares: &mut [f64]) {
        for (((sum, value), mean), square) in sums.iter().zip(values).zip(means).zip(squares) {
            let gradient = step.decay.mul_add(*value, step.scale * sum);
            *mean = FORGET[0].mul_add(*mean, (1.0 - FORGET[0]) * gradient);
            *square = FORGET[1].mul_add(*square, (1.0 - FORGET[1]) * (gradient * gradient));
            *value -= step.rate * *mean * inverse(square.sqrt().mul_add(step.root, SMALL));
        }
    }
}

dispatched! {
    /// Moves `values` against their gradient by the rate alone, as published.
    pub(super) fn descend_plainly(step: Step, sums: &[f64], values: &mut [f64]) {
        for (sum, value) in sums.iter().zip(values) {
            *value -= step.rate * step.decay.mul_add(*value, step.scale * sum);
        }
    }
}

dispatched! {
    /// Updates the mean of `count` values, `values` being the latest.
    pub(super) fn average(count: usize, values: &[f64], means: &mut [f64]) {
        let share = 1.0 / count as f64;
        for (value, mean) in values.iter().zip(means) {
            *mean = share.mul_add(value - *mean, *mean);
        }
    }
}
