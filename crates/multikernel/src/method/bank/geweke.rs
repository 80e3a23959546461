//! Checks the sampler against its own joint distribution (Geweke 2004).

use super::chain::{AMPLITUDE, BIAS_VARIANCE, Chain, Fit, Target, decide, moments, prior};
use crate::dist::{Rng, gamma, normal};
use crate::linalg::Matrix;
use crate::mixture::{Mixture, Prior};
use crate::pool::Pool;
use crate::solve::cholesky::Cholesky;

fn go_on() -> bool {
    false
}

/// Mean and standard error of an autocorrelated sequence, by 50 batch means.
fn mean_of_parts(values: &[f64]) -> (f64, f64) {
    let parts: Vec<f64> =
        values.chunks_exact(values.len() / 50).map(|part| part.iter().sum::<f64>() / part.len() as f64).collect();
    let n = parts.len() as f64;
    let mean = parts.iter().sum::<f64>() / n;
    let variance = parts.iter().map(|part| (part - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// Draws everything from its prior: frequencies one after the other, each in the cluster of an earlier one or in a new
/// one.
fn forward(prior: &Prior, count: usize, rng: &mut Rng) -> Chain {
    let d = prior.mean.len();
    let mut clusters: Vec<usize> = vec![];
    for i in 0..count {
        let new = rng.uniform() < prior.alpha / (prior.alpha + i as f64);
        let next = clusters.iter().max().map_or(0, |most| most + 1);
        clusters.push(if new { next } else { clusters[rng.below(i)] });
    }
    // Each cluster's distribution is a draw from the prior: one fitted to a single row drawn far from the prior would
    // not be.
    let distributions: Vec<(Vec<f64>, Vec<Vec<f64>>)> = (0..count).map(|_| distribution(prior, rng)).collect();
    let mut frequencies = Matrix::zeros(count, d);
    for (i, &k) in clusters.iter().enumerate() {
        let z: Vec<f64> = (0..d).map(|_| normal(rng)).collect();
        for j in 0..d {
            let apart: f64 = distributions[k].1[j].iter().zip(&z).map(|(l, z)| l * z).sum();
            frequencies.set(i, j, distributions[k].0[j] + apart);
        }
    }
    let [shape, scale] = AMPLITUDE;
    let amplitude = scale / gamma(rng, shape, 1.0);
    let mut coef: Vec<f64> = (0..2 * count).map(|_| (amplitude / count as f64).sqrt() * normal(rng)).collect();
    coef.push(BIAS_VARIANCE.sqrt() * normal(rng));
    let mixture = Mixture::new(prior.clone(), &frequencies, clusters).unwrap();
    Chain { frequencies, mixture, coef, amplitude, accepted: 0 }
}

/// Mean and rows of a covariance factor: inverse Wishart in two columns by its definition, as the inverse of a sum of
/// outer products of nu normal vectors with covariance 1 / scale (nu is an integer here).
fn distribution(prior: &Prior, rng: &mut Rng) -> (Vec<f64>, Vec<Vec<f64>>) {
    let (mut a, mut b, mut c) = (0.0, 0.0, 0.0);
    for _ in 0..prior.nu as usize {
        let [x, y] = [0, 1].map(|j: usize| normal(rng) / prior.scale[j].sqrt());
        (a, b, c) = (a + x * x, b + x * y, c + y * y);
    }
    let det = a * c - b * b;
    let [s11, s12, s22] = [c / det, -b / det, a / det];
    let first = s11.sqrt();
    let below = s12 / first;
    let factor = vec![vec![first, 0.0], vec![below, (s22 - below * below).sqrt()]];
    let z = [normal(rng), normal(rng)];
    let root = prior.tau.sqrt();
    let mean = factor.iter().zip(&prior.mean).map(|(row, m)| m + (row[0] * z[0] + row[1] * z[1]) / root);
    (mean.collect(), factor)
}

fn statistics(columns: &Matrix, chain: &Chain, sides: &[f64], utilities: &[f64]) -> Vec<f64> {
    let count = chain.frequencies.n_rows();
    let w = chain.frequencies.data();
    let mean = |f: &dyn Fn(f64) -> f64| w.iter().map(|&w| f(w)).sum::<f64>() / w.len() as f64;
    // How strongly the utilities correlate with the first wave.
    let along = |i: usize| utilities[i] * (w[0] * columns.get(0, i) + w[1] * columns.get(1, i)).cos();
    let share: f64 = (0..sides.len()).map(along).sum();
    let together = chain.mixture.clusters()[0] == chain.mixture.clusters()[1];
    vec![
        chain.mixture.n_clusters() as f64,
        f64::from(u8::from(together)),
        chain.amplitude.ln(),
        chain.amplitude.ln().powi(2),
        mean(&|w| w.tanh()),
        mean(&|w| w.abs().ln_1p()),
        (w[0] * w[1]).tanh(),
        (w[0] * w[2]).tanh(),
        chain.coef[0].tanh(),
        chain.coef[..2 * count].iter().map(|c| c.abs().ln_1p()).sum::<f64>(),
        chain.coef[2 * count],
        chain.coef[2 * count].powi(2),
        sides[0] * chain.coef[2 * count].tanh(),
        sides.iter().sum::<f64>() * chain.coef[0].tanh(),
        utilities[1].abs().ln_1p(),
        (share * share).ln_1p(),
        (share * share).ln_1p() * w[0].abs().ln_1p(),
        (chain.coef[0] * utilities[1]).tanh() * w[0].abs().ln_1p(),
    ]
}

/// Utilities and their sides given the rest.
fn observe(target: &Target<'_>, chain: &Chain, rng: &mut Rng) -> (Vec<f64>, Vec<f64>) {
    let decisions = decide(&target.waves(&chain.frequencies).unwrap(), &chain.coef);
    let utilities: Vec<f64> = decisions.iter().map(|f| f + normal(rng)).collect();
    (utilities.iter().map(|u| u.signum()).collect(), utilities)
}

/// Largest difference, in standard errors, between forward draws from the joint distribution and draws by the sampler
/// with the labels redrawn in each sweep: the sampler leaves the joint distribution invariant if and only if its
/// updates are right.
fn geweke(n: usize, sampler_scale: f64) -> (f64, usize) {
    let pool = Pool::new(1).unwrap();
    let columns = Matrix::from_fn(2, 5, |j, i| ((5 * i + 3 * j) % 7) as f64 / 3.0 - 1.0);
    let mut prior = prior(2, 1.0);
    prior.scale = vec![1.5, 0.8];
    let count = 4;
    let none = vec![1.0; 5];
    let of = Target { columns: &columns, sides: &none, pool: &pool, stop: &go_on };
    let (mut rng, mut found) = (Rng::new(3, 0), [vec![], vec![]]);
    for _ in 0..n {
        let chain = forward(&prior, count, &mut rng);
        let (sides, utilities) = observe(&of, &chain, &mut rng);
        found[0].push(statistics(&columns, &chain, &sides, &utilities));
    }
    let mut chain = forward(&prior, count, &mut rng);
    let (mut sides, _) = observe(&of, &chain, &mut rng);
    for _ in 0..n {
        // A sampler with a different frequency prior, if requested.
        let wrong = Prior { scale: prior.scale.iter().map(|s| sampler_scale * s).collect(), ..prior.clone() };
        chain.mixture = Mixture::new(wrong, &chain.frequencies, chain.mixture.clusters().to_vec()).unwrap();
        let target = Target { sides: &sides, ..of };
        target.sweep(&mut chain, &mut rng).unwrap();
        let utilities;
        (sides, utilities) = observe(&of, &chain, &mut rng);
        found[1].push(statistics(&columns, &chain, &sides, &utilities));
    }
    let worst = |k: usize| {
        let [(a, error_a), (b, error_b)] =
            found.each_ref().map(|draws| mean_of_parts(&draws.iter().map(|draw| draw[k]).collect::<Vec<_>>()));
        (a - b).abs() / error_a.hypot(error_b)
    };
    ((0..found[0][0].len()).map(worst).fold(0.0, f64::max), chain.accepted)
}

#[test]
fn sampler_leaves_its_joint_law_alone() {
    let (worst, accepted) = geweke(60_000, 1.0);
    assert!(worst < 4.0, "{worst} standard errors");
    assert!(accepted > 60_000, "{accepted}");
    // A prior that is wrong by a factor of 2 is detected, so this test can fail.
    let (wrong, _) = geweke(20_000, 2.0);
    assert!(wrong > 6.0, "{wrong} standard errors");
}

/// Residuals are N(0, I + W W' / precision) once the coefficients are integrated out; waves are compared by this
/// density.
#[test]
fn evidence_is_the_density_with_coefficients_integrated_out() {
    let (pool, mut rng, n, precision) = (Pool::new(1).unwrap(), Rng::new(4, 0), 11, 0.7);
    let rest: Vec<f64> = (0..n).map(|_| 1.5 * normal(&mut rng)).collect();
    let mut waves = || -> [Vec<f64>; 2] {
        let w = normal(&mut rng);
        let angle = |i: usize| w * (i as f64 - 4.0);
        [(0..n).map(|i| angle(i).cos()).collect(), (0..n).map(|i| angle(i).sin()).collect()]
    };
    let exact = |[cos, sin]: &[Vec<f64>; 2]| {
        let entry = |i: usize, j: usize| f64::from(u8::from(i == j)) + (cos[i] * cos[j] + sin[i] * sin[j]) / precision;
        let factor = Cholesky::new(Matrix::from_fn(n, n, entry), &pool, &go_on).unwrap();
        let half = factor.half_solve(&Matrix::from_vec(n, 1, rest.clone()).unwrap()).unwrap();
        -0.5 * (factor.log_determinant() + half.data().iter().map(|x| x * x).sum::<f64>())
    };
    let (one, other) = (waves(), waves());
    let [found, expected] = [&one, &other].map(|[cos, sin]| Fit::of(moments(cos, sin, &rest), precision).ln_evidence());
    let apart = exact(&one) - exact(&other);
    assert!((found - expected - apart).abs() < 1e-10 && apart.abs() > 0.1, "{} {apart}", found - expected);
    // Drawn coefficients have the mean and precision of ridge regression.
    let fit = Fit::of(moments(&one[0], &one[1], &rest), precision);
    let sum = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let [cc, cs, ss] = [sum(&one[0], &one[0]) + precision, sum(&one[0], &one[1]), sum(&one[1], &one[1]) + precision];
    let (cr, sr, det) = (sum(&one[0], &rest), sum(&one[1], &rest), cc * ss - cs * cs);
    let mean = [(ss * cr - cs * sr) / det, (cc * sr - cs * cr) / det];
    let mut rng = Rng::new(5, 0);
    let draws: Vec<[f64; 2]> = (0..40_000).map(|_| fit.draw(&mut rng)).collect();
    let check = |of: &dyn Fn(&[f64; 2]) -> f64, expected: f64| {
        let (found, error) = mean_of_parts(&draws.iter().map(of).collect::<Vec<_>>());
        assert!((found - expected).abs() < 5.0 * error, "{found} for {expected}, error {error}");
    };
    check(&|draw| draw[0], mean[0]);
    check(&|draw| draw[1], mean[1]);
    check(&|draw| (draw[0] - mean[0]).powi(2), ss / det);
    check(&|draw| (draw[1] - mean[1]).powi(2), cc / det);
    check(&|draw| (draw[0] - mean[0]) * (draw[1] - mean[1]), -cs / det);
}
