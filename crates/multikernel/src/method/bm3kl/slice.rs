//! Elliptical slice sampling of the kernel weights and variances (Murray, Adams and MacKay 2010): no step size, no
//! gradient, slow; used to check the Hamiltonian moves.
//!
//! With eta = 1 each e is half the sum of two squared normal variates, and log nu is normal: the prior is one normal
//! distribution.

use super::chain::{Latent, log_squares, weights_of};
use super::density::{Place, Point, Problem};
use super::hmc::{SPREAD, no_density};
use crate::dist::{Rng, normal};
use crate::error::Result;
use crate::simd::ln;

/// One chain on its ellipse.
struct Ellipse {
    other: Vec<f64>,
    least: f64,
    angle: f64,
    bracket: (f64, f64),
}

/// `log e` and `log nu` at a point of the ellipse.
fn unpack(problem: &Problem<'_>, latent: &Latent, z: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let (squares, rest) = z.split_at(2 * latent.x.len());
    let x = if problem.settings.learned { log_squares(squares) } else { latent.x.clone() };
    (x, rest.iter().map(|r| SPREAD * r).collect())
}

/// Updates per sweep: each costs a few likelihoods and moves little.
const UPDATES: usize = 4;

/// A few updates of each chain.
pub(super) fn update(problem: &Problem<'_>, latents: &mut [Latent], rngs: &mut [Rng]) -> Result<Vec<(Point, f64)>> {
    let all: Vec<usize> = (0..latents.len()).collect();
    let now: Vec<Vec<f64>> = latents.iter().map(|latent| latent.ellipse.clone()).collect();
    let starts = evaluate(problem, latents, &all, &now)?;
    let mut points = starts.into_iter().map(|start| start.ok_or_else(no_density)).collect::<Result<Vec<Point>>>()?;
    for _ in 0..UPDATES {
        points = turn_all(problem, latents, rngs, &points)?;
    }
    Ok(points.into_iter().map(|point| (point, 1.0)).collect())
}

/// One update of each chain; chains shrink their brackets in lockstep until the last is done.
fn turn_all(problem: &Problem<'_>, latents: &mut [Latent], rngs: &mut [Rng], starts: &[Point]) -> Result<Vec<Point>> {
    let mut ellipses = vec![];
    for (start, (latent, rng)) in starts.iter().zip(latents.iter().zip(rngs.iter_mut())) {
        let other = latent.ellipse.iter().map(|_| normal(rng)).collect();
        // 1 - u is never 0.
        let least = start.likelihood + ln(1.0 - rng.uniform());
        let angle = std::f64::consts::TAU * rng.uniform();
        ellipses.push(Ellipse { other, least, angle, bracket: (angle - std::f64::consts::TAU, angle) });
    }
    let mut ends: Vec<Option<Point>> = latents.iter().map(|_| None).collect();
    let mut open: Vec<usize> = (0..latents.len()).collect();
    while !open.is_empty() {
        let turned: Vec<Vec<f64>> = open.iter().map(|&k| turn(&latents[k].ellipse, &ellipses[k])).collect();
        let found = evaluate(problem, latents, &open, &turned)?;
        let mut left = vec![];
        for ((k, z), point) in open.into_iter().zip(turned).zip(found) {
            let ellipse = &mut ellipses[k];
            // Angle 0 is the current point, which is above the slice level.
            let width = ellipse.bracket.1 - ellipse.bracket.0;
            match point.filter(|point| point.likelihood > ellipse.least || width < 1e-12) {
                Some(point) => {
                    let (x, log_nu) = unpack(problem, &latents[k], &z);
                    (latents[k].x, latents[k].log_nu, latents[k].ellipse) = (x, log_nu, z);
                    ends[k] = Some(point);
                }
                None => {
                    let side = if ellipse.angle < 0.0 { &mut ellipse.bracket.0 } else { &mut ellipse.bracket.1 };
                    *side = ellipse.angle;
                    ellipse.angle = ellipse.bracket.0 + (ellipse.bracket.1 - ellipse.bracket.0) * rngs[k].uniform();
                    left.push(k);
                }
            }
        }
        open = left;
    }
    ends.into_iter().map(|end| end.ok_or_else(no_density)).collect()
}

fn turn(z: &[f64], ellipse: &Ellipse) -> Vec<f64> {
    let (sin, cos) = ellipse.angle.sin_cos();
    z.iter().zip(&ellipse.other).map(|(z, other)| cos * z + sin * other).collect()
}

/// The likelihood of some chains at points on their ellipses.
fn evaluate(problem: &Problem<'_>, latents: &[Latent], which: &[usize], z: &[Vec<f64>]) -> Result<Vec<Option<Point>>> {
    let unpacked: Vec<(Vec<f64>, Vec<f64>)> =
        which.iter().zip(z).map(|(&k, z)| unpack(problem, &latents[k], z)).collect();
    let weights: Vec<Vec<f64>> = unpacked.iter().map(|(x, _)| weights_of(x)).collect();
    let places = which.iter().enumerate();
    let places = places.map(|(i, &k)| Place { weights: &weights[i], log_nu: &unpacked[i].1, latent: &latents[k] });
    problem.evaluate(&places.collect::<Vec<_>>(), false)
}
