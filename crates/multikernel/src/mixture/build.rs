//! Builds clusters from their rows.

use super::cluster::{Cluster, Scratch, add_scatter, diagonal};
use super::loops::factor;
use super::{Prior, Shape};
use crate::linalg::Matrix;
use crate::pool::Pool;

/// Rows of one cluster summed in one piece: pieces, not threads, determine the bits.
const PIECE: usize = 4096;

/// The clusters with these rows, in two passes over the rows: means, then sums of squares about them.
///
/// Cost: d^2 / 2 products per row (diagonal: d), shared among threads.
pub(super) fn build(prior: &Prior, rows: &Matrix, members: &[&[usize]], pool: &Pool) -> Vec<Cluster> {
    let pieces: Vec<(usize, &[usize])> =
        members.iter().enumerate().flat_map(|(k, list)| list.chunks(PIECE).map(move |piece| (k, piece))).collect();
    let mut means = vec![vec![0.0; rows.n_cols()]; members.len()];
    let sums = pool.map(pieces.len(), |p| sum(rows, pieces[p].1));
    gather(&pieces, &sums, &mut means);
    for (mean, list) in means.iter_mut().zip(members) {
        mean.iter_mut().for_each(|sum| *sum /= list.len().max(1) as f64);
    }
    let scatters = pool.map(pieces.len(), |p| {
        let (k, piece) = pieces[p];
        scatter(prior, rows, piece, &means[k])
    });
    let mut totals = vec![vec![0.0; size(prior)]; members.len()];
    gather(&pieces, &scatters, &mut totals);
    let whole = |k: usize| finish(prior, rows, members[k], &means[k], &totals[k]);
    pool.map(members.len(), whole)
}

/// The length of a cluster's `spread`.
pub(super) fn size(prior: &Prior) -> usize {
    let d = prior.mean.len();
    match prior.shape {
        Shape::Full => d * (d + 1) / 2,
        Shape::Diagonal => d,
    }
}

/// Adds the results of the pieces, in order.
fn gather(pieces: &[(usize, &[usize])], found: &[Vec<f64>], totals: &mut [Vec<f64>]) {
    for ((k, _), part) in pieces.iter().zip(found) {
        totals[*k].iter_mut().zip(part).for_each(|(total, part)| *total += part);
    }
}

fn sum(rows: &Matrix, piece: &[usize]) -> Vec<f64> {
    let mut sums = vec![0.0; rows.n_cols()];
    for &i in piece {
        sums.iter_mut().zip(rows.row(i)).for_each(|(sum, x)| *sum += x);
    }
    sums
}

fn scatter(prior: &Prior, rows: &Matrix, piece: &[usize], mean: &[f64]) -> Vec<f64> {
    let (mut sums, mut apart) = (vec![0.0; size(prior)], vec![0.0; mean.len()]);
    let lines: Vec<&[f64]> = piece.iter().map(|&i| rows.row(i)).collect();
    add_scatter(prior.shape, &lines, mean, &mut apart, &mut sums);
    sums
}

/// The cluster of these rows, given their mean and scatter.
fn finish(prior: &Prior, rows: &Matrix, members: &[usize], mean: &[f64], scatter: &[f64]) -> Cluster {
    // Without a factor, the sums have so few digits left that only the factor itself is reliable.
    of_scatter(prior, members.len(), mean, scatter.to_vec()).unwrap_or_else(|| one_by_one(prior, rows, members))
}

/// The cluster of n rows with this mean and scatter about it: `S = S0 + scatter + (tau0 n / tau) (mean - m0)(mean - m0)'`,
/// and its factor; `None` if rounding leaves it none.
pub(super) fn of_scatter(prior: &Prior, n_rows: usize, mean: &[f64], mut sums: Vec<f64>) -> Option<Cluster> {
    let n = n_rows as f64;
    let tau = prior.tau + n;
    let apart: Vec<f64> = mean.iter().zip(&prior.mean).map(|(mean, prior)| mean - prior).collect();
    let pull = prior.tau * n / tau;
    for (i, scale) in prior.scale.iter().enumerate() {
        match prior.shape {
            Shape::Diagonal => sums[i] += scale + pull * apart[i] * apart[i],
            Shape::Full => {
                let line = &mut sums[diagonal(i) - i..=diagonal(i)];
                line.iter_mut().zip(&apart).for_each(|(sum, y)| *sum += pull * apart[i] * y);
                line[i] += scale;
            }
        }
    }
    if prior.shape == Shape::Full && !factor(&mut sums, mean.len()) {
        return None;
    }
    let centre = prior.mean.iter().zip(&apart).map(|(prior, y)| prior + n / tau * y).collect();
    Some(Cluster::of_parts(prior, n_rows, centre, sums))
}

/// Row by row, which never fails: a factor only grows.
fn one_by_one(prior: &Prior, rows: &Matrix, members: &[usize]) -> Cluster {
    let (mut cluster, mut scratch) = (Cluster::empty(prior), Scratch::new(prior.mean.len()));
    members.iter().for_each(|&i| cluster.add(prior, rows.row(i), &mut scratch));
    cluster
}

/// The rows of each of `count` clusters, in order.
pub(super) fn members(clusters: &[usize], count: usize) -> Vec<Vec<usize>> {
    let mut lists = vec![vec![]; count];
    clusters.iter().enumerate().for_each(|(i, &k)| lists[k].push(i));
    lists
}
