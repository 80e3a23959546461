//! Limited-memory quasi-Newton steps (L-BFGS) for a smooth unconstrained function, and the line search along them.
//!
//! The function, and how its value along a line is found without a pass over the data, are left to the caller.

use crate::error::Result;
use crate::simd::Real;

/// Number of remembered pairs of steps and gradient changes.
const MEMORY: usize = 30;
/// A step is accepted if it lowers the value by at least this fraction of what the slope promises, ...
const SUFFICIENT: f64 = 1e-4;
/// ... and leaves at most this fraction of the slope.
const FLAT: f64 = 0.9;
/// Maximum evaluations along a line.
const MAX_LOOKS: usize = 40;

/// The remembered steps, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Memory {
    pub(crate) steps: Vec<Vec<f64>>,
    pub(crate) changes: Vec<Vec<f64>>,
}

impl Memory {
    /// Remembers a step and the gradient change along it; one along which the slope does not rise carries no
    /// information and is skipped.
    pub(crate) fn remember(&mut self, step: Vec<f64>, change: Vec<f64>) {
        let least = 1e-14 * f64::dot(&change, &change).sqrt() * f64::dot(&step, &step).sqrt();
        let rise = f64::dot(&step, &change);
        if rise.is_nan() || rise <= least {
            return;
        }
        if self.steps.len() == MEMORY {
            self.steps.remove(0);
            self.changes.remove(0);
        }
        self.steps.push(step);
        self.changes.push(change);
    }

    /// `-H g`, where H is the inverse Hessian built from the pairs and the initial scaling `precondition` (Nocedal
    /// 1980), which is applied to up to two vectors at once.
    pub(crate) fn direction(
        &self,
        gradient: &[f64],
        precondition: impl Fn(&[&[f64]]) -> Result<Vec<Vec<f64>>>,
    ) -> Result<Vec<f64>> {
        let pairs = || self.steps.iter().zip(&self.changes);
        let rises: Vec<f64> = pairs().map(|(step, change)| f64::dot(step, change)).collect();
        let mut left: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let mut taken = vec![];
        for ((step, change), rise) in pairs().zip(&rises).rev() {
            let part = f64::dot(step, &left) / rise;
            f64::add_scaled(-part, change, &mut left);
            taken.push(part);
        }
        let last = self.changes.last().map(Vec::as_slice);
        let asked: Vec<&[f64]> = [Some(left.as_slice()), last].into_iter().flatten().collect();
        let mut found = precondition(&asked)?.into_iter();
        let mut out = found.next().unwrap_or_default();
        if let (Some(rise), Some(change), Some(moved)) = (rises.last(), last, found.next()) {
            let scale = rise / f64::dot(change, &moved);
            if scale.is_finite() && scale > 0.0 {
                out.iter_mut().for_each(|value| *value *= scale);
            }
        }
        for (((step, change), rise), part) in pairs().zip(&rises).zip(taken.into_iter().rev()) {
            let back = f64::dot(change, &out) / rise;
            f64::add_scaled(part - back, step, &mut out);
        }
        Ok(out)
    }
}

/// A point on a line: its distance, and the value and slope there.
#[derive(Clone, Copy, Debug)]
struct At {
    length: f64,
    value: f64,
    slope: f64,
}

/// The length of a step that satisfies the strong Wolfe conditions, given the value and slope at its start; `None` if
/// rounding hides any descent. `look` returns value and slope at a length; a NaN value is taken as very large.
pub(crate) fn search(
    (value, slope): (f64, f64),
    first: f64,
    mut look: impl FnMut(f64) -> Result<(f64, f64)>,
) -> Result<Option<f64>> {
    if slope >= 0.0 || !slope.is_finite() {
        return Ok(None);
    }
    let begin = At { length: 0.0, value, slope };
    // The lowest point so far, and an end beyond which there is no need to search.
    let (mut low, mut high): (At, Option<At>) = (begin, None);
    let mut length = first;
    for _ in 0..MAX_LOOKS {
        let (value, slope) = look(length)?;
        let here = At { length, value: if value.is_finite() { value } else { f64::INFINITY }, slope };
        // Strictly lower, which rounding may hide from the second condition.
        let low_enough = here.value < begin.value && here.value <= begin.value + SUFFICIENT * length * begin.slope;
        if !low_enough || (low.length > 0.0 && here.value >= low.value) {
            high = Some(here);
        } else if slope.abs() <= FLAT * begin.slope.abs() {
            return Ok(Some(length));
        } else {
            // The slope tells on which side of the new lowest point to continue.
            let ahead = high.map_or(1.0, |high| high.length - low.length);
            if slope * ahead >= 0.0 {
                high = Some(low);
            }
            low = here;
        }
        length = match high {
            None => 2.5 * length,
            Some(high) => between(low, high),
        };
        if high.is_some_and(|high| (high.length - low.length).abs() <= 1e-12 * low.length.max(high.length)) {
            break;
        }
    }
    Ok((low.length > 0.0).then_some(low.length))
}

/// The minimum of the cubic through two points with their slopes, kept away from both.
fn between(low: At, high: At) -> f64 {
    let (a, b) = (low.length, high.length);
    let middle = 0.5 * (a + b);
    if !(high.value.is_finite() && high.slope.is_finite()) {
        return a + 0.2 * (b - a);
    }
    let d1 = low.slope + high.slope - 3.0 * (low.value - high.value) / (a - b);
    let root = (d1 * d1 - low.slope * high.slope).sqrt().copysign(b - a);
    let found = b - (b - a) * (high.slope + root - d1) / (high.slope - low.slope + 2.0 * root);
    let (least, most) = (a.min(b), a.max(b));
    let edge = 0.1 * (most - least);
    if found.is_finite() { found.clamp(least + edge, most - edge) } else { middle }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A curved valley, 100 (y - x^2)^2 + (1 - x)^2 in pairs of variables.
    fn rosenbrock(x: &[f64]) -> (f64, Vec<f64>) {
        let mut gradient = vec![0.0; x.len()];
        let mut value = 0.0;
        for k in (0..x.len()).step_by(2) {
            let (a, b) = (x[k + 1] - x[k] * x[k], 1.0 - x[k]);
            value += 100.0 * a * a + b * b;
            gradient[k] = -400.0 * a * x[k] - 2.0 * b;
            gradient[k + 1] = 200.0 * a;
        }
        (value, gradient)
    }

    fn minimise(
        mut x: Vec<f64>,
        f: impl Fn(&[f64]) -> (f64, Vec<f64>),
        scale: &[f64],
        most: usize,
    ) -> (Vec<f64>, usize) {
        let mut memory = Memory::default();
        let (mut value, mut gradient) = f(&x);
        for round in 0..most {
            if f64::dot(&gradient, &gradient) < 1e-20 {
                return (x, round);
            }
            let scaled = |g: &&[f64]| g.iter().zip(scale).map(|(g, s)| g * s).collect();
            let precondition = |all: &[&[f64]]| Ok(all.iter().map(scaled).collect());
            let direction = memory.direction(&gradient, precondition).unwrap();
            let at = |t: f64| x.iter().zip(&direction).map(|(x, d)| x + t * d).collect::<Vec<f64>>();
            let slope = f64::dot(&gradient, &direction);
            let first = if memory.steps.is_empty() { (1.0 / slope.abs().sqrt()).min(1.0) } else { 1.0 };
            let look = |t: f64| {
                let (value, gradient) = f(&at(t));
                Ok((value, f64::dot(&gradient, &direction)))
            };
            let length = search((value, slope), first, look).unwrap().unwrap();
            let next = at(length);
            let (lower, slopes) = f(&next);
            assert!(lower <= value + SUFFICIENT * length * slope);
            memory.remember(
                next.iter().zip(&x).map(|(a, b)| a - b).collect(),
                slopes.iter().zip(&gradient).map(|(a, b)| a - b).collect(),
            );
            (x, value, gradient) = (next, lower, slopes);
        }
        (x, most)
    }

    #[test]
    fn finds_the_lowest_point_of_a_bent_valley() {
        let (x, rounds) = minimise([-1.2, 1.0].repeat(10), rosenbrock, &[1.0; 20], 200);
        assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-8), "{x:?}");
        assert!(rounds < 80, "{rounds}");
    }

    /// With the exact inverse Hessian one step is enough, whatever the scales.
    #[test]
    fn a_perfect_precondition_needs_one_step() {
        let curvatures: Vec<f64> = (0..8).map(|k| 10f64.powi(k - 3)).collect();
        let quadratic = |x: &[f64]| {
            let gradient: Vec<f64> = x.iter().zip(&curvatures).map(|(x, c)| c * (x - 2.0)).collect();
            (x.iter().zip(&gradient).map(|(x, g)| 0.5 * g * (x - 2.0)).sum(), gradient)
        };
        let scale: Vec<f64> = curvatures.iter().map(|c| 1.0 / c).collect();
        let mut memory = Memory::default();
        memory.remember(vec![1.0; 8], curvatures.clone());
        let (_, gradient) = quadratic(&[0.0; 8]);
        let scaled = |g: &&[f64]| g.iter().zip(&scale).map(|(g, s)| g * s).collect();
        let step = memory.direction(&gradient, |all| Ok(all.iter().map(scaled).collect())).unwrap();
        assert!(step.iter().all(|step| (step - 2.0).abs() < 1e-12), "{step:?}");
        assert!(minimise(vec![0.0; 8], quadratic, &[1.0; 8], 200).1 > 8, "without it there are more");
    }

    #[test]
    fn search_gets_over_walls_and_says_where_there_is_no_way_down() {
        // Infinite beyond 0.1, lowest at 0.05.
        let wall = |t: f64| Ok(if t > 0.1 { (f64::NAN, f64::NAN) } else { ((t - 0.05).powi(2), 2.0 * (t - 0.05)) });
        let length = search((0.0025, -0.1), 1.0, wall).unwrap().unwrap();
        assert!((length - 0.05).abs() < 0.04, "{length}");
        // Minus infinity is no way down, but an overflow.
        let hole = |t: f64| Ok(if t > 0.1 { (f64::NEG_INFINITY, 0.0) } else { wall(t)? });
        assert_eq!(search((0.0025, -0.1), 1.0, hole).unwrap(), Some(length));
        assert_eq!(search((1.0, 0.0), 1.0, |_| Ok((0.0, 0.0))).unwrap(), None);
        // A slope that is only rounding.
        assert_eq!(search((1.0, -1e-3), 1.0, |_| Ok((1.0, 1e-3))).unwrap(), None);
    }
}
