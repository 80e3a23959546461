//! The sampler: utilities, coefficients, frequencies and their clusters.

use crate::dist::{Rng, gamma, normal, normal_above};
use crate::error::{Error, Result};
use crate::linalg::{Matrix, axpy};
use crate::mixture::{Mixture, Nothing, Prior, Shape};
use crate::pool::Pool;
use crate::simd::{dispatched, ln, sin_cos};
use crate::solve::cholesky::Cholesky;
use crate::solve::product::PackedRows;

/// The variance of the bias, on the scale of utilities with noise variance 1.
pub(super) const BIAS_VARIANCE: f64 = 4.0;
/// The variance of the decision function is inverse gamma with this shape and scale.
pub(super) const AMPLITUDE: [f64; 2] = [1.0, 5.0];
/// Up to this many columns, clusters of frequencies have a full covariance.
const MAX_FULL: usize = 20;
/// Number of frequencies between checks for a stop.
const FREQUENCIES: usize = 16;

/// The prior of frequencies over d columns: mean 0 and expected covariance I / d, that of a Gaussian kernel of width
/// sqrt(d), about the distance between rows whose columns have variance 1.
pub(super) fn prior(d: usize, alpha: f64) -> Prior {
    let unit = 1.0 / d.max(1) as f64;
    let (shape, nu, scale) =
        if d <= MAX_FULL { (Shape::Full, d as f64 + 2.0, unit) } else { (Shape::Diagonal, 4.0, 2.0 * unit) };
    Prior { shape, mean: vec![0.0; d], tau: 1.0, nu, scale: vec![scale; d], alpha }
}

/// The target of a chain: utilities `u = f(x) + noise` with noise variance 1 and known sign, and `f(x) = bias + sum_i
/// a_i cos(w_i'x) + b_i sin(w_i'x)`.
#[derive(Clone, Copy)]
pub(super) struct Target<'a> {
    /// Rows as columns: d x N.
    pub(super) columns: &'a Matrix,
    /// +1 or -1.
    pub(super) sides: &'a [f64],
    pub(super) pool: &'a Pool,
    pub(super) stop: &'a (dyn Fn() -> bool + Sync),
}

/// State of a chain.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    /// w, one per row: D x d.
    pub(super) frequencies: Matrix,
    pub(super) mixture: Mixture,
    /// a, b and the bias: 2 D + 1.
    pub(super) coef: Vec<f64>,
    /// v: a and b are N(0, v / D), so v is the variance of f without the bias.
    pub(super) amplitude: f64,
    /// Number of accepted frequencies so far.
    pub(super) accepted: usize,
}

impl Target<'_> {
    /// One sweep: utilities; coefficients given the utilities; frequencies one by one, each with its two coefficients
    /// integrated out; the amplitude; and clusters of frequencies, with their means and covariances integrated out.
    pub(super) fn sweep(&self, chain: &mut Chain, rng: &mut Rng) -> Result<()> {
        let mut waves = self.waves(&chain.frequencies)?;
        let utilities = self.utilities(&decide(&waves, &chain.coef), rng);
        self.coefficients(chain, &waves, &utilities, rng)?;
        self.frequencies(chain, &mut waves, &utilities, rng)?;
        chain.draw_amplitude(rng);
        chain.mixture.sweep(&chain.frequencies, &Nothing, rng, self.stop)?;
        Ok(())
    }

    /// Cosines, sines and ones: (2 D + 1) x N.
    pub(super) fn waves(&self, frequencies: &Matrix) -> Result<Matrix> {
        let (count, n) = (frequencies.n_rows(), self.columns.n_cols());
        let need = |what: usize| {
            Error::input(format!("no memory for {what} waves of {n} rows; use fewer rows, or set fewer frequencies"))
        };
        let mut waves = Matrix::try_zeros(2 * count + 1, n).ok_or_else(|| need(2 * count + 1))?;
        let (cosines, rest) = waves.data_mut().split_at_mut(count * n);
        let (sines, ones) = rest.split_at_mut(count * n);
        ones.fill(1.0);
        let lines: Vec<_> = cosines.chunks_mut(n.max(1)).zip(sines.chunks_mut(n.max(1))).enumerate().collect();
        self.pool.each(lines, |(i, (cos, sin))| self.wave(frequencies.row(i), &mut vec![0.0; n], cos, sin));
        Ok(waves)
    }

    /// Cosine and sine of one frequency for all rows.
    fn wave(&self, frequency: &[f64], angles: &mut [f64], cos: &mut [f64], sin: &mut [f64]) {
        angles.fill(0.0);
        self.columns.rows().zip(frequency).for_each(|(column, w)| axpy(*w, column, angles));
        sin_cos(angles, sin, cos);
    }

    /// Utilities given the decisions and the labels.
    pub(super) fn utilities(&self, decisions: &[f64], rng: &mut Rng) -> Vec<f64> {
        let one = |(f, side): (&f64, &f64)| f + side * normal_above(rng, -side * f);
        decisions.iter().zip(self.sides).map(one).collect()
    }

    /// All coefficients given the utilities: with A the precision, `A^-1 (W (u + e) + P^1/2 e')` has their mean and
    /// covariance.
    fn coefficients(&self, chain: &mut Chain, waves: &Matrix, utilities: &[f64], rng: &mut Rng) -> Result<()> {
        let count = chain.frequencies.n_rows();
        let mut precisions = vec![count as f64 / chain.amplitude; 2 * count];
        precisions.push(1.0 / BIAS_VARIANCE);
        let ones = vec![1.0; utilities.len()];
        let rows = PackedRows::new(waves, self.pool)?;
        let factor = Cholesky::of_square(&rows, &ones, 0.0, &precisions, self.pool, self.stop)?;
        let noisy: Vec<f64> = utilities.iter().map(|u| u + normal(rng)).collect();
        let right = waves.times(&noisy).into_iter().zip(&precisions).map(|(x, p)| x + p.sqrt() * normal(rng));
        chain.coef = factor.solve(&Matrix::from_vec(precisions.len(), 1, right.collect())?)?.into_data();
        Ok(())
    }

    /// Each frequency given all others: a frequency is proposed from its own cluster's distribution, whose mean and
    /// covariance were drawn, and accepted by the likelihood ratio of the utilities with the two coefficients
    /// integrated out; then these are drawn.
    fn frequencies(&self, chain: &mut Chain, waves: &mut Matrix, utilities: &[f64], rng: &mut Rng) -> Result<()> {
        let (count, n) = (chain.frequencies.n_rows(), utilities.len());
        let distributions = chain.mixture.gaussians(rng);
        let clusters = chain.mixture.clusters().to_vec();
        let precision = count as f64 / chain.amplitude;
        let fitted = decide(waves, &chain.coef);
        let mut rest: Vec<f64> = utilities.iter().zip(&fitted).map(|(u, f)| u - f).collect();
        let (mut angles, mut cos, mut sin) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
        for i in 0..count {
            if i.is_multiple_of(FREQUENCIES) && (self.stop)() {
                return Err(Error::Stopped("stopped while frequencies were drawn".into()));
            }
            let (old_cos, old_sin) = (waves.row(i), waves.row(count + i));
            add_wave([chain.coef[i], chain.coef[count + i]], old_cos, old_sin, &mut rest);
            let mut fit = Fit::of(moments(old_cos, old_sin, &rest), precision);
            let proposed = distributions[clusters[i]].sample(rng);
            self.wave(&proposed, &mut angles, &mut cos, &mut sin);
            let other = Fit::of(moments(&cos, &sin, &rest), precision);
            if ln(1.0 - rng.uniform()) < other.ln_evidence() - fit.ln_evidence() {
                fit = other;
                waves.row_mut(i).copy_from_slice(&cos);
                waves.row_mut(count + i).copy_from_slice(&sin);
                chain.frequencies.row_mut(i).copy_from_slice(&proposed);
                chain.accepted += 1;
            }
            let [a, b] = fit.draw(rng);
            (chain.coef[i], chain.coef[count + i]) = (a, b);
            add_wave([-a, -b], waves.row(i), waves.row(count + i), &mut rest);
        }
        chain.mixture = Mixture::new(chain.mixture.prior().clone(), &chain.frequencies, clusters)?;
        Ok(())
    }
}

impl Chain {
    /// v given the coefficients.
    fn draw_amplitude(&mut self, rng: &mut Rng) {
        let count = self.frequencies.n_rows() as f64;
        let squares: f64 = self.coef[..self.coef.len() - 1].iter().map(|c| c * c).sum();
        let [shape, scale] = AMPLITUDE;
        self.amplitude = (scale + 0.5 * count * squares) / gamma(rng, shape + count, 1.0);
    }
}

/// The decision function for all rows.
pub(super) fn decide(waves: &Matrix, coef: &[f64]) -> Vec<f64> {
    let mut decisions = vec![0.0; waves.n_cols()];
    waves.rows().zip(coef).for_each(|(wave, coef)| axpy(*coef, wave, &mut decisions));
    decisions
}

fn add_wave([a, b]: [f64; 2], cos: &[f64], sin: &[f64], rest: &mut [f64]) {
    rest.iter_mut().zip(cos.iter().zip(sin)).for_each(|(rest, (cos, sin))| *rest += a * cos + b * sin);
}

dispatched! {
    /// The sums of cos^2, cos sin, sin^2, cos r and sin r, each in eight partial sums.
    pub(super) fn moments(cos: &[f64], sin: &[f64], rest: &[f64]) -> [f64; 5] {
        const LANES: usize = 8;
        let mut sums = [[0.0; LANES]; 5];
        let ((cos, last_cos), (sin, last_sin)) = (cos.as_chunks::<LANES>(), sin.as_chunks::<LANES>());
        let (rest, last_rest) = rest.as_chunks::<LANES>();
        let mut take = |cos: &[f64; LANES], sin: &[f64; LANES], rest: &[f64; LANES]| {
            for l in 0..LANES {
                sums[0][l] = cos[l].mul_add(cos[l], sums[0][l]);
                sums[1][l] = cos[l].mul_add(sin[l], sums[1][l]);
                sums[2][l] = sin[l].mul_add(sin[l], sums[2][l]);
                sums[3][l] = cos[l].mul_add(rest[l], sums[3][l]);
                sums[4][l] = sin[l].mul_add(rest[l], sums[4][l]);
            }
        };
        cos.iter().zip(sin).zip(rest).for_each(|((cos, sin), rest)| take(cos, sin, rest));
        let padded = |values: &[f64]| std::array::from_fn(|l| values.get(l).copied().unwrap_or(0.0));
        take(&padded(last_cos), &padded(last_sin), &padded(last_rest));
        sums.map(|s| ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7])))
    }
}

/// Two coefficients given the residuals they have to explain: precision `M = L L'`, and `h = L^-1 W r`.
pub(super) struct Fit {
    l: [f64; 3],
    h: [f64; 2],
}

impl Fit {
    pub(super) fn of([cc, cs, ss, cr, sr]: [f64; 5], precision: f64) -> Fit {
        let first = (cc + precision).sqrt();
        let below = cs / first;
        // At least the prior's precision, up to rounding.
        let second = (ss + precision - below * below).max(precision * f64::EPSILON).sqrt();
        let h = cr / first;
        Fit { l: [first, below, second], h: [h, (sr - below * h) / second] }
    }

    /// ln p(r) with the coefficients integrated out, up to terms that do not depend on the frequency.
    pub(super) fn ln_evidence(&self) -> f64 {
        0.5 * (self.h[0] * self.h[0] + self.h[1] * self.h[1]) - ln(self.l[0]) - ln(self.l[2])
    }

    /// `L^-T (h + z)`.
    pub(super) fn draw(&self, rng: &mut Rng) -> [f64; 2] {
        let [first, below, second] = self.l;
        let b = (self.h[1] + normal(rng)) / second;
        [(self.h[0] + normal(rng) - below * b) / first, b]
    }
}
