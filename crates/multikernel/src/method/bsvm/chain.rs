//! One chain: the Gibbs sampler of one two-class problem.

use crate::dist::{Rng, half_gig, normal};
use crate::error::{Error, Result};
use crate::linalg::{Matrix, dot};
use crate::pool::Pool;
use crate::simd::{decay_into, exp, ln};
use crate::solve::cholesky::Cholesky;

/// Rows of a covariance between checks for a stop.
const ROWS_BETWEEN_STOPS: usize = 64;
/// The relative noise variance of each row added to the kernel, so that equal rows do no harm.
const JITTER: f64 = 1e-6;
/// The variance of the bias, on the scale of decisions that are about 1.
pub(super) const BIAS_VARIANCE: f64 = 1.0;
/// Standard deviations of the logarithms of width and amplitude under their priors.
pub(super) const WIDTH_DEVIATION: f64 = 1.0;
pub(super) const AMPLITUDE_DEVIATION: f64 = 3.0;
/// Minimum scale: below it, a row would have to be fitted to more digits than there are.
const MIN_SCALE: f64 = 1e-8;
/// Initial width of a slice, and how often it may be widened on either side.
const SLICE: f64 = 1.0;
const MAX_SLICES: usize = 8;
/// How often a bracket may shrink, by roughly half each time.
const MAX_SHRINKS: usize = 200;

/// The target of a chain: `f = g + b`, `g ~ N(0, v (K_s + jitter))` with `K_s = exp(-d^2 / (2 s^2))`, `b ~ N(0, 1)`,
/// and for each row `o ~ N(y f - scale, scale)`, scale ~ Exp(rate). With o = 1 and rate 0 the scales integrate out to
/// the pseudo-likelihood `exp(-2 max(1 - y f, 0))`.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    /// Squared distances.
    pub(super) distances: &'a Matrix,
    /// y: +1 or -1.
    pub(super) sides: &'a [f64],
    /// o.
    pub(super) margins: &'a [f64],
    pub(super) rate: f64,
    /// The prior mean of ln s.
    pub(super) ln_width: f64,
    pub(super) pool: &'a Pool,
    pub(super) stop: &'a (dyn Fn() -> bool + Sync),
}

/// State of a chain.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    pub(super) f: Vec<f64>,
    /// ln s.
    pub(super) ln_width: f64,
    /// ln v.
    pub(super) ln_amplitude: f64,
}

/// The result of a sweep used for predictions: `f(x) = sum_i coef_i k_s(x_i, x) + bias`, the mean given scales, width
/// and amplitude.
pub(super) struct Mean {
    pub(super) coef: Vec<f64>,
    pub(super) bias: f64,
}

impl Target<'_> {
    /// One sweep: scales, then width and amplitude with f integrated out, then f.
    pub(super) fn sweep(&self, chain: &mut Chain, rng: &mut Rng) -> Result<Mean> {
        let scales = self.scales(&chain.f, rng);
        self.after_scales(chain, &scales, rng)
    }

    /// The sweep except for the scales.
    pub(super) fn after_scales(&self, chain: &mut Chain, scales: &[f64], rng: &mut Rng) -> Result<Mean> {
        self.hyper(chain, scales, rng)?;
        self.function(chain, scales, rng)
    }

    /// `scale ~ GIG(1/2, 1 + 2 rate, (o - y f)^2)`.
    pub(super) fn scales(&self, f: &[f64], rng: &mut Rng) -> Vec<f64> {
        let a = 1.0 + 2.0 * self.rate;
        let mut scale = |((f, side), margin): ((&f64, &f64), &f64)| {
            let short = margin - side * f;
            half_gig(rng, a, short * short)
        };
        f.iter().zip(self.sides).zip(self.margins).map(&mut scale).map(|scale| scale.max(MIN_SCALE)).collect()
    }

    /// `y (o + scale)`, observations of f with the scale as variance.
    fn targets(&self, scales: &[f64]) -> Vec<f64> {
        let target = |((scale, side), margin): ((&f64, &f64), &f64)| side * (margin + scale);
        scales.iter().zip(self.sides).zip(self.margins).map(target).collect()
    }

    /// The lower triangle of the covariance of f, with the diagonal. Checks for a stop as it goes: many chains build
    /// theirs one after the other.
    fn prior(&self, ln_width: f64, ln_amplitude: f64) -> Result<Matrix> {
        let (n, rate, amplitude) = (self.sides.len(), 0.5 * exp(-2.0 * ln_width), exp(ln_amplitude));
        let mut prior = Matrix::zeros(n, n);
        for i in 0..n {
            if i % ROWS_BETWEEN_STOPS == 0 && (self.stop)() {
                return Err(Error::Stopped("stopped while covariances were computed".into()));
            }
            let from = &self.distances.row(i)[..=i];
            let row = &mut prior.row_mut(i)[..=i];
            decay_into(rate, from, row);
            row.iter_mut().for_each(|k| *k = amplitude * *k + BIAS_VARIANCE);
            row[i] += amplitude * JITTER;
        }
        Ok(prior)
    }

    /// The factor of the covariance of the targets.
    fn factor(&self, ln_width: f64, ln_amplitude: f64, scales: &[f64]) -> Result<Cholesky> {
        let mut matrix = self.prior(ln_width, ln_amplitude)?;
        scales.iter().enumerate().for_each(|(i, scale)| matrix.set(i, i, matrix.get(i, i) + scale));
        Cholesky::new(matrix, self.pool, self.stop)
    }

    /// ln p(targets, width, amplitude | scales) up to a constant; minus infinity where the factorisation fails.
    fn ln_posterior(&self, ln_width: f64, ln_amplitude: f64, scales: &[f64], targets: &Matrix) -> Result<f64> {
        let factor = match self.factor(ln_width, ln_amplitude, scales) {
            Err(Error::NotDefinite { .. }) => return Ok(f64::NEG_INFINITY),
            factor => factor?,
        };
        let fit = dot(factor.solve(targets)?.data(), targets.data()) + factor.log_determinant();
        let width = (ln_width - self.ln_width) / WIDTH_DEVIATION;
        let amplitude = ln_amplitude / AMPLITUDE_DEVIATION;
        Ok(-0.5 * (fit + width * width + amplitude * amplitude))
    }

    /// Width and amplitude, by slice sampling in turn.
    fn hyper(&self, chain: &mut Chain, scales: &[f64], rng: &mut Rng) -> Result<()> {
        let targets = Matrix::from_vec(scales.len(), 1, self.targets(scales))?;
        let amplitude = chain.ln_amplitude;
        chain.ln_width = slice(chain.ln_width, rng, |x| self.ln_posterior(x, amplitude, scales, &targets))?;
        let width = chain.ln_width;
        chain.ln_amplitude = slice(amplitude, rng, |x| self.ln_posterior(width, x, scales, &targets))?;
        Ok(())
    }

    /// f given the rest: a prior draw, corrected by the targets.
    fn function(&self, chain: &mut Chain, scales: &[f64], rng: &mut Rng) -> Result<Mean> {
        let (n, amplitude) = (scales.len(), exp(chain.ln_amplitude));
        let factor = self.factor(chain.ln_width, chain.ln_amplitude, scales)?;
        let drawn = self.draw(chain, rng)?;
        let targets = self.targets(scales);
        let miss: Vec<f64> = (0..n).map(|i| targets[i] - drawn[i] - scales[i].sqrt() * normal(rng)).collect();
        let right = Matrix::from_fn(n, 2, |i, k| if k == 0 { miss[i] } else { targets[i] });
        let solved = factor.solve(&right)?;
        let (q, mean) = (solved.column(0), solved.column(1));
        let prior = self.prior(chain.ln_width, chain.ln_amplitude)?;
        let corrected = |i: usize| drawn[i] + (0..n).map(|j| prior.get(i.max(j), i.min(j)) * q[j]).sum::<f64>();
        chain.f = (0..n).map(corrected).collect();
        Ok(Mean {
            coef: mean.iter().map(|value| amplitude * value).collect(),
            bias: BIAS_VARIANCE * mean.iter().sum::<f64>(),
        })
    }

    /// A draw of f from its prior.
    pub(super) fn draw(&self, chain: &Chain, rng: &mut Rng) -> Result<Vec<f64>> {
        let n = self.sides.len();
        // Without the bias, whose share would swamp the jitter at a small amplitude.
        let mut unit = self.prior(chain.ln_width, 0.0)?;
        (0..n).for_each(|i| unit.row_mut(i)[..=i].iter_mut().for_each(|value| *value -= BIAS_VARIANCE));
        let factor = Cholesky::new(unit, self.pool, self.stop)?;
        let bias = BIAS_VARIANCE.sqrt() * normal(rng);
        let root = exp(0.5 * chain.ln_amplitude);
        let z: Vec<f64> = (0..n).map(|_| normal(rng)).collect();
        Ok(factor.lower().rows().enumerate().map(|(i, row)| bias + root * dot(&row[..=i], &z[..=i])).collect())
    }
}

/// A draw that leaves the distribution with log density `of` invariant: slice sampling from `x`, by stepping out and
/// shrinking (Neal 2003).
pub(super) fn slice(x: f64, rng: &mut Rng, mut of: impl FnMut(f64) -> Result<f64>) -> Result<f64> {
    let level = of(x)? + ln(1.0 - rng.uniform());
    let mut low = x - SLICE * rng.uniform();
    let mut high = low + SLICE;
    // The number of steps downwards is drawn: otherwise a bounded number of steps would not be reversible.
    let down = rng.below(MAX_SLICES + 1);
    for _ in 0..down {
        if of(low)? <= level {
            break;
        }
        low -= SLICE;
    }
    for _ in 0..MAX_SLICES - down {
        if of(high)? <= level {
            break;
        }
        high += SLICE;
    }
    for _ in 0..MAX_SHRINKS {
        let next = low + (high - low) * rng.uniform();
        if of(next)? > level {
            return Ok(next);
        }
        if next < x {
            low = next;
        } else {
            high = next;
        }
    }
    // The slice contains x itself, which the bracket has shrunk onto by now.
    Ok(x)
}
