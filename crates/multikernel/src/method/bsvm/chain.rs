//! One chain: the Gibbs sampler of one two-class problem.

use std::f64::consts::TAU;

use crate::dist::{Rng, half_gig, normal, normals};
use crate::error::{Error, Result};
use crate::linalg::{Matrix, dot};
use crate::pool::Pool;
use crate::simd::{decay_into, exp, ln};
use crate::solve::cholesky::Cholesky;

use super::margin::{Margin, Place};

/// Rows of a covariance between checks for a stop.
const ROWS_BETWEEN_STOPS: usize = 64;
/// The relative noise variance of each row added to the kernel, so that equal rows do no harm.
pub(super) const JITTER: f64 = 1e-6;
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
/// Rounds of updates per sweep: as many as make chains of the default length agree, whatever they start from.
const ROUNDS: usize = 5;
/// Updates of f alone with the scales integrated out, per round: together they cost less than a factorisation does for
/// a few hundred rows.
const TURNS: usize = 20;
/// How often a bracket may shrink, by roughly half each time.
const MAX_SHRINKS: usize = 200;

/// The target of a chain: `f = g + b`, `g ~ N(0, v (K_s + jitter))` with `K_s = exp(-d^2 / (2 s^2))`, `b ~ N(0, 1)`,
/// and for each row `o ~ N(y f - scale, scale)`, scale ~ Exp(rate). With o = 1 and rate 0 the scales integrate out to
/// the pseudo-likelihood `exp(-2 max(1 - y f, 0))`.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    /// Squared distances.
    pub(super) distances: &'a Matrix,
    /// The row of the distances for each row of the chain.
    pub(super) order: &'a [usize],
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
    /// One sweep: rounds of f given scales, then f, width and amplitude with the scales integrated out; at last, f given
    /// scales once more, which is what predictions are made of.
    pub(super) fn sweep(&self, chain: &mut Chain, rng: &mut Rng) -> Result<Mean> {
        let mut factor = self.unit(chain.ln_width)?;
        for _ in 0..ROUNDS {
            let scales = self.scales(&chain.f, rng);
            let (_, bias) = self.function(chain, &factor, &scales, rng)?;
            factor = self.without_scales(chain, bias, factor, rng)?;
        }
        let scales = self.scales(&chain.f, rng);
        Ok(self.function(chain, &factor, &scales, rng)?.0)
    }

    /// The part of a round with the scales integrated out, which must be drawn next. The factor is that of the width,
    /// before and after.
    ///
    /// Width and amplitude move with the places of the rows held fixed: each row's place in the law of f there given
    /// the rows before it and its own loss (the transformation of Genz 1992). Wherever they move, rows stay on their side,
    /// whereas given f, the scales, or the normal variates behind f, there is hardly room to move: their margins hold
    /// hundreds of rows at once.
    pub(super) fn without_scales(
        &self,
        chain: &mut Chain,
        bias: f64,
        factor: Cholesky,
        rng: &mut Rng,
    ) -> Result<Cholesky> {
        (0..TURNS).for_each(|_| self.turn(chain, bias, &factor, rng));
        let places = self.places(chain, bias, &factor)?;
        let factor = self.rewiden(chain, bias, &places, factor, rng)?;
        self.rescale(chain, bias, &places, &factor, rng)?;
        Ok(factor)
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
        let mut from = vec![0.0; n];
        for i in 0..n {
            if i % ROWS_BETWEEN_STOPS == 0 && (self.stop)() {
                return Err(Error::Stopped("stopped while covariances were computed".into()));
            }
            let distances = self.distances.row(self.order[i]);
            from[..=i].iter_mut().zip(self.order).for_each(|(from, &j)| *from = distances[j]);
            let row = &mut prior.row_mut(i)[..=i];
            decay_into(rate, &from[..=i], row);
            row.iter_mut().for_each(|k| *k = amplitude * *k + BIAS_VARIANCE);
            row[i] += amplitude * JITTER;
        }
        Ok(prior)
    }

    /// f given the rest: a prior draw, corrected by the targets. Also returns its b. The factor is [`Target::unit`]'s.
    pub(super) fn function(
        &self,
        chain: &mut Chain,
        unit: &Cholesky,
        scales: &[f64],
        rng: &mut Rng,
    ) -> Result<(Mean, f64)> {
        let (n, amplitude) = (scales.len(), exp(chain.ln_amplitude));
        let prior = self.prior(chain.ln_width, chain.ln_amplitude)?;
        let mut with_scales = prior.clone();
        scales.iter().enumerate().for_each(|(i, scale)| with_scales.set(i, i, prior.get(i, i) + scale));
        let factor = Cholesky::new(with_scales, self.pool, self.stop)?;
        let (drawn, bias) = self.draw(chain, unit, rng);
        let targets = self.targets(scales);
        let miss: Vec<f64> = (0..n).map(|i| targets[i] - drawn[i] - scales[i].sqrt() * normal(rng)).collect();
        let right = Matrix::from_fn(n, 2, |i, k| if k == 0 { miss[i] } else { targets[i] });
        let solved = factor.solve(&right)?;
        let (q, mean) = (solved.column(0), solved.column(1));
        let corrected = |i: usize| drawn[i] + (0..n).map(|j| prior.get(i.max(j), i.min(j)) * q[j]).sum::<f64>();
        chain.f = (0..n).map(corrected).collect();
        let mean = Mean {
            coef: mean.iter().map(|value| amplitude * value).collect(),
            bias: BIAS_VARIANCE * mean.iter().sum::<f64>(),
        };
        Ok((mean, bias + BIAS_VARIANCE * q.iter().sum::<f64>()))
    }

    fn root(&self) -> f64 {
        (1.0 + 2.0 * self.rate).sqrt()
    }

    /// ln p(o | f) up to a constant, with the scales integrated out: `-zeta - s |zeta|`, `zeta = o - y f`, `s^2 = 1 + 2
    /// rate`.
    fn ln_likelihood(&self, f: impl Iterator<Item = f64>) -> f64 {
        let s = self.root();
        let rows = f.zip(self.sides).zip(self.margins);
        -rows.map(|((f, side), margin)| margin - side * f).map(|z| z + s * z.abs()).sum::<f64>()
    }

    /// f given b, width and amplitude, by elliptical slice sampling (Murray, Adams and MacKay 2010). Cost: N^2 / 2.
    fn turn(&self, chain: &mut Chain, bias: f64, factor: &Cholesky, rng: &mut Rng) {
        let other = along(factor, 0.0, exp(0.5 * chain.ln_amplitude), &normals(rng, chain.f.len()));
        let level = self.ln_likelihood(chain.f.iter().copied()) + ln(1.0 - rng.uniform());
        let mut angle = TAU * rng.uniform();
        let mut bracket = (angle - TAU, angle);
        for _ in 0..MAX_SHRINKS {
            let (sin, cos) = angle.sin_cos();
            let turned = || chain.f.iter().zip(&other).map(|(f, other)| bias + cos * (f - bias) + sin * other);
            if self.ln_likelihood(turned()) > level {
                chain.f = turned().collect();
                return;
            }
            if angle < 0.0 {
                bracket.0 = angle
            } else {
                bracket.1 = angle
            }
            angle = bracket.0 + (bracket.1 - bracket.0) * rng.uniform();
        }
    }

    /// The law of a row given the rows before it: of `y f`, times its loss. `mean` is that of f.
    fn margin(&self, i: usize, mean: f64, deviation: f64) -> Margin {
        Margin::new(self.sides[i] * mean, deviation, self.margins[i], self.root())
    }

    /// The place of each row in its law given b and the rows before it.
    pub(super) fn places(&self, chain: &Chain, bias: f64, factor: &Cholesky) -> Result<Vec<Place>> {
        let root = exp(0.5 * chain.ln_amplitude);
        let h = Matrix::from_fn(chain.f.len(), 1, |i, _| (chain.f[i] - bias) / root);
        let z = factor.half_solve(&h)?.into_data();
        let rows = factor.lower().rows().enumerate();
        let place = |(i, row): (usize, &[f64])| {
            let mean = bias + root * dot(&row[..i], &z[..i]);
            self.margin(i, mean, root * row[i]).place(self.sides[i] * chain.f[i])
        };
        Ok(rows.map(place).collect())
    }

    /// f with the rows at these places, and the logarithm of the ratio of `p(f | b, width, amplitude) p(o | f)` to the
    /// density of f if places are uniform: the product of the masses of all laws. Cost: N^2.
    pub(super) fn placed(&self, places: &[Place], bias: f64, ln_amplitude: f64, factor: &Cholesky) -> (f64, Vec<f64>) {
        let (root, n) = (exp(0.5 * ln_amplitude), places.len());
        let (mut f, mut z, mut ln_mass) = (vec![0.0; n], vec![0.0; n], 0.0);
        for (i, row) in factor.lower().rows().enumerate() {
            let mean = bias + root * dot(&row[..i], &z[..i]);
            let law = self.margin(i, mean, root * row[i]);
            f[i] = self.sides[i] * law.at(places[i]);
            z[i] = (f[i] - mean) / (root * row[i]);
            ln_mass += law.ln_mass;
        }
        (ln_mass, f)
    }

    /// The width and f together, with b and the places fixed. Returns the factor of the new width.
    fn rewiden(
        &self,
        chain: &mut Chain,
        bias: f64,
        places: &[Place],
        factor: Cholesky,
        rng: &mut Rng,
    ) -> Result<Cholesky> {
        let (now, ln_amplitude) = (chain.ln_width, chain.ln_amplitude);
        let mut last = None;
        let next = slice(now, rng, |x| {
            let width = (x - self.ln_width) / WIDTH_DEVIATION;
            let prior = -0.5 * width * width;
            if x == now {
                return Ok(prior + self.placed(places, bias, ln_amplitude, &factor).0);
            }
            let factor = match self.unit(x) {
                Err(Error::NotDefinite { .. }) => return Ok(f64::NEG_INFINITY),
                factor => factor?,
            };
            let (ln_mass, f) = self.placed(places, bias, ln_amplitude, &factor);
            last = Some((x, f, factor));
            Ok(prior + ln_mass)
        })?;
        // The width that was taken is the last one tried, unless the bracket shrank to nothing.
        match last {
            Some((x, f, factor)) if x == next => {
                (chain.ln_width, chain.f) = (x, f);
                Ok(factor)
            }
            _ => Ok(factor),
        }
    }

    /// The amplitude and f together, with b and the places fixed. Cost: N^2 per density.
    fn rescale(&self, chain: &mut Chain, bias: f64, places: &[Place], factor: &Cholesky, rng: &mut Rng) -> Result<()> {
        let mut last = (chain.ln_amplitude, chain.f.clone());
        let next = slice(chain.ln_amplitude, rng, |x| {
            let amplitude = x / AMPLITUDE_DEVIATION;
            let (ln_mass, f) = self.placed(places, bias, x, factor);
            last = (x, f);
            Ok(ln_mass - 0.5 * amplitude * amplitude)
        })?;
        if next == last.0 {
            (chain.ln_amplitude, chain.f) = last;
        }
        Ok(())
    }

    /// The factor of the kernel, without amplitude and bias, whose share would swamp the jitter at a small amplitude.
    pub(super) fn unit(&self, ln_width: f64) -> Result<Cholesky> {
        let mut unit = self.prior(ln_width, 0.0)?;
        let rows = 0..self.sides.len();
        rows.for_each(|i| unit.row_mut(i)[..=i].iter_mut().for_each(|value| *value -= BIAS_VARIANCE));
        Cholesky::new(unit, self.pool, self.stop)
    }

    /// A draw of f from its prior, and its b. The factor is [`Target::unit`]'s.
    pub(super) fn draw(&self, chain: &Chain, factor: &Cholesky, rng: &mut Rng) -> (Vec<f64>, f64) {
        let bias = BIAS_VARIANCE.sqrt() * normal(rng);
        let z = normals(rng, self.sides.len());
        (along(factor, bias, exp(0.5 * chain.ln_amplitude), &z), bias)
    }
}

/// `b + sqrt(v) L z`.
fn along(factor: &Cholesky, bias: f64, root: f64, z: &[f64]) -> Vec<f64> {
    factor.lower().rows().enumerate().map(|(i, row)| bias + root * dot(&row[..=i], &z[..=i])).collect()
}

/// A draw that leaves the distribution with log density `of` invariant: slice sampling from `x`, by stepping out and
/// shrinking (Neal 2003).
pub(in crate::method) fn slice(x: f64, rng: &mut Rng, mut of: impl FnMut(f64) -> Result<f64>) -> Result<f64> {
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
