//! The scale of kernel weights and sample weights, which updates in turn find slowly.
//!
//! Kernel weights times t, with outputs and sample weights divided by t, make the same decisions: only the priors and
//! the noise on outputs see t. Each update holds one side of that product fixed, so hundreds of rounds creep along a
//! ridge of the bound. One step to its top (parameter expansion, Qi and Jaakkola 2006) raises the bound, so that a round
//! still does.

use super::{PLAIN, Prior};
use crate::simd::exp;

/// Newton steps at most; the bound is concave along the ridge, and ten are plenty.
const STEPS: usize = 50;
/// The largest step in ln t.
const STRIDE: f64 = 1.0;
/// A step that changes nothing any more.
const STILL: f64 = 1e-12;

/// The bound as a function of `u = ln t`, up to a constant, with the optimal distributions of precisions at each t.
pub(super) struct Ridge<'a> {
    /// `E|g - K a|^2` over the noise, summed over kernels, rows and problems.
    pub(super) misfit: f64,
    /// Kernel weights less sample weights less outputs: what t does to the volume of their distributions.
    pub(super) volume: f64,
    /// Mean squares of the kernel weights, and their prior.
    pub(super) weights: &'a [f64],
    pub(super) prior: Prior,
    /// Mean squares of the sample weights.
    pub(super) samples: &'a [f64],
}

impl Ridge<'_> {
    /// The first and second derivative of the bound.
    pub(super) fn slopes(&self, u: f64) -> (f64, f64) {
        let up = exp(2.0 * u);
        let (mut slope, mut curvature) = (self.misfit / up + self.volume, -2.0 * self.misfit / up);
        let mut add = |prior: Prior, square: f64, sign: f64| {
            let half = 0.5 * square;
            let part = half / (1.0 / prior.scale + half);
            let factor = 2.0 * prior.shape + 1.0;
            slope -= sign * factor * part;
            curvature -= 2.0 * factor * part * (1.0 - part);
        };
        self.weights.iter().for_each(|square| add(self.prior, square * up, 1.0));
        self.samples.iter().for_each(|square| add(PLAIN, square / up, -1.0));
        (slope, curvature)
    }

    /// The best t; 1 where numbers are too large or too small to tell.
    pub(super) fn top(&self) -> f64 {
        let mut u = 0.0;
        for _ in 0..STEPS {
            let (slope, curvature) = self.slopes(u);
            let step = (-slope / curvature).clamp(-STRIDE, STRIDE);
            if !step.is_finite() {
                return 1.0;
            }
            u += step;
            if step.abs() < STILL {
                break;
            }
        }
        exp(u)
    }
}
