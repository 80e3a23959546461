//! One column of a picture: its drawn range, and its ticks.

use crate::error::{Error, Result};

/// Margin beyond the outermost values, as a fraction of their span.
const ROOM: f64 = 0.08;

/// Approximate number of intervals between ticks.
const PARTS: f64 = 5.0;

/// The drawn range of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::report) struct Axis {
    pub(in crate::report) low: f64,
    pub(in crate::report) high: f64,
}

impl Axis {
    /// The range of the named column's values (at least one), with some margin.
    pub(super) fn around(name: &str, values: impl Iterator<Item = f64>) -> Result<Axis> {
        let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        // A constant column gets a span too, of the size of its value.
        let room = if high > low { ROOM * (high - low) } else { 0.5 * low.abs().max(1.0) };
        let axis = Axis { low: low - room, high: high + room };
        if (axis.high - axis.low).is_finite() {
            return Ok(axis);
        }
        Err(Error::input(format!(
            "column '{name}': its values, from {low:e} to {high:e}, are too large to be drawn; scale the column"
        )))
    }

    /// The position of a value: 0 at the low end, 1 at the high end.
    pub(in crate::report) fn place(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }

    /// The value at a position.
    pub(super) fn value(&self, place: f64) -> f64 {
        self.low + place * (self.high - self.low)
    }

    /// Two to six round values inside, with their texts.
    pub(in crate::report) fn ticks(&self) -> Vec<(f64, String)> {
        let rough = (self.high - self.low) / PARTS;
        // Via decimal text the step is as exact as possible, and the same on every system.
        let (mantissa, mut exponent) = decimal(rough);
        let factor = match mantissa {
            ..=1.0 => 1,
            ..=2.0 => 2,
            ..=5.0 => 5,
            _ => {
                exponent += 1;
                1
            }
        };
        let step = format!("{factor}e{exponent}").parse().unwrap_or(rough);
        let (first, last) = ((self.low / step).ceil(), (self.high / step).floor());
        let most = (last - first).clamp(0.0, 2.0 * PARTS) as usize;
        // Adding 0 turns -0 into 0.
        let values: Vec<f64> = (0..=most).map(|k| (first + k as f64) * step + 0.0).collect();
        let is_plain = exponent >= -5 && values.iter().all(|value| value.abs() < 1e6);
        let shown = |value: f64| if is_plain { plain(value, exponent) } else { scientific(value, exponent) };
        values.into_iter().map(|value| (value, shown(value))).collect()
    }
}

/// A positive number as a mantissa from 1 to below 10 and a power of ten.
fn decimal(value: f64) -> (f64, i32) {
    let text = format!("{value:e}");
    let parts = text
        .split_once('e')
        .and_then(|(mantissa, exponent)| Some((mantissa.parse::<f64>().ok()?, exponent.parse::<i32>().ok()?)));
    parts.unwrap_or((1.0, 0))
}

/// A multiple of 10^exponent with exactly its digits.
fn plain(value: f64, exponent: i32) -> String {
    format!("{value:.*}", (-exponent).max(0) as usize)
}

/// The same with an exponent: as many digits as distinguish it from its neighbours.
fn scientific(value: f64, exponent: i32) -> String {
    let digits = (decimal(value.abs()).1 - exponent).clamp(0, 16) as usize;
    if value == 0.0 { "0".into() } else { format!("{value:.digits$e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(low: f64, high: f64) -> String {
        Axis { low, high }.ticks().into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ticks_are_few_round_and_inside() {
        assert_eq!(ticks(-1.16, 2.16), "-1 0 1 2");
        assert_eq!(ticks(-0.3, 0.7), "-0.2 0.0 0.2 0.4 0.6");
        assert_eq!(ticks(3.0, 47.0), "10 20 30 40");
        assert_eq!(ticks(0.0, 5e7), "0 1e7 2e7 3e7 4e7 5e7");
        assert_eq!(ticks(-2.3e-8, 1e-9), "-2.0e-8 -1.5e-8 -1.0e-8 -5e-9 0");
        assert_eq!(ticks(2e9 - 0.9, 2e9 + 1.2), "1.9999999995e9 2.0000000000e9 2.0000000005e9 2.0000000010e9");
        for span in 1..200 {
            let axis = Axis { low: -0.37 * f64::from(span), high: 0.63 * f64::from(span) };
            let values: Vec<f64> = axis.ticks().into_iter().map(|(value, _)| value).collect();
            assert!((2..=6).contains(&values.len()), "{span}: {values:?}");
            assert!(values.iter().all(|value| (axis.low..=axis.high).contains(value)));
        }
        // The limits of floating point, where steps round to zero.
        for (low, high) in [(0.0, 5e-324), (1e16, 1e16 + 2.0), (-8e307, 8e307), (1.0, 1.0 + f64::EPSILON)] {
            assert!(!Axis { low, high }.ticks().is_empty());
        }
    }

    #[test]
    fn axis_has_room_and_places_are_values() {
        let axis = Axis::around("a", [1.0, -1.0, 0.5].into_iter()).unwrap();
        assert_eq!((axis.low, axis.high), (-1.16, 1.16));
        assert_eq!((axis.place(-1.16), axis.place(1.16), axis.value(0.5)), (0.0, 1.0, 0.0));
        assert_eq!(Axis::around("a", [4.0].into_iter()).unwrap(), Axis { low: 2.0, high: 6.0 });
        assert_eq!(Axis::around("a", [0.0].into_iter()).unwrap(), Axis { low: -1.0 + 0.5, high: 0.5 });
        assert_eq!(
            Axis::around("a", [1e308, -1e308].into_iter()).unwrap_err().to_string(),
            "column 'a': its values, from -1e308 to 1e308, are too large to be drawn; scale the column"
        );
    }
}
