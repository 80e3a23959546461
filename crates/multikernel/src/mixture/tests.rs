//! Densities against one another and against averages over drawn parameters; sweeps against all partitions of a few
//! rows.

use std::collections::BTreeMap;

use super::build::build;
use super::cluster::{Cluster, Scratch, fill};
use super::loops::SIDE;
use super::sweep::one;
use super::*;
use crate::dist::{Rng, normal};
use crate::simd::at_every_level;
use crate::simd::check::bits;

const SHAPES: [Shape; 2] = [Shape::Full, Shape::Diagonal];

fn go_on() -> bool {
    false
}

fn alone() -> &'static Pool {
    Pool::alone().unwrap()
}

fn prior(shape: Shape, d: usize) -> Prior {
    let nu = if shape == Shape::Full { d as f64 + 1.5 } else { 3.0 };
    let scale = (0..d).map(|j| 0.7 + 0.3 * j as f64).collect();
    Prior { shape, mean: (0..d).map(|j| 0.2 * j as f64 - 0.1).collect(), tau: 0.4, nu, scale, alpha: 0.8 }
}

fn cloud(n: usize, d: usize, seed: u64) -> Matrix {
    let mut rng = Rng::new(seed, 0);
    Matrix::from_fn(n, d, |i, j| normal(&mut rng) + 2.5 * ((i + j) % 3) as f64)
}

fn near(found: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((found - expected).abs() <= tolerance * (1.0 + expected.abs()), "{what}: {found}, expected {expected}");
}

/// Log marginal likelihood of some rows in one cluster.
fn ln_marginal(prior: &Prior, rows: &Matrix, members: &[usize]) -> f64 {
    one(prior, rows, members).ln_marginal(prior)
}

#[test]
fn density_is_the_ratio_of_marginal_likelihoods() {
    for (shape, d) in SHAPES.into_iter().flat_map(|shape| [1, 2, 5, 11].map(|d| (shape, d))) {
        let (prior, rows, mut scratch) = (prior(shape, d), cloud(12, d, 1), Scratch::new(d));
        for n in [0, 1, 2, 7] {
            let members: Vec<usize> = (0..n).collect();
            let part = one(&prior, &rows, &members);
            let weight = if n == 0 { prior.alpha } else { n as f64 };
            let found = part.ln_joint(shape, rows.row(n), &mut scratch) - weight.ln();
            let with = one(&prior, &rows, &(0..=n).collect::<Vec<_>>());
            let expected = with.ln_marginal(&prior) - part.ln_marginal(&prior);
            near(found, expected, 1e-12, &format!("{shape:?} {d} {n}"));
            // The same from a cluster that contains the row.
            if n > 0 {
                let found = with.ln_joint_without(shape, rows.row(n), &mut scratch).unwrap() - weight.ln();
                near(found, expected, 1e-11, &format!("{shape:?} {d} {n}, taken out"));
            }
        }
    }
}

/// Student's distribution of one column by its definition: nu degrees of freedom, scale^2 = s (tau + 1) / (tau nu).
#[test]
fn density_of_one_column_is_students() {
    let (prior, rows) = (prior(Shape::Diagonal, 1), cloud(4, 1, 2));
    let full = Prior { shape: Shape::Full, ..prior.clone() };
    let members = [0, 1, 2];
    let mean: f64 = members.iter().map(|&i| rows.get(i, 0)).sum::<f64>() / 3.0;
    let (tau, nu) = (prior.tau + 3.0, prior.nu + 3.0);
    let centre = (prior.tau * prior.mean[0] + 3.0 * mean) / tau;
    let scatter: f64 = members.iter().map(|&i| (rows.get(i, 0) - mean).powi(2)).sum();
    let s = prior.scale[0] + scatter + prior.tau * 3.0 / tau * (mean - prior.mean[0]).powi(2);
    let scale = (s * (tau + 1.0) / (tau * nu)).sqrt();
    let density = |x: f64| (1.0 + ((x - centre) / scale).powi(2) / nu).powf(-0.5 * (nu + 1.0));
    // Its constant by a sum over the real line, y = tan.
    let steps = 20_000;
    let total: f64 = (0..steps)
        .map(|i| {
            let angle = std::f64::consts::PI * ((i as f64 + 0.5) / f64::from(steps) - 0.5);
            density(angle.tan()) / angle.cos().powi(2) * std::f64::consts::PI / f64::from(steps)
        })
        .sum();
    for prior in [prior, full] {
        let part = one(&prior, &rows, &members);
        let found = part.ln_joint(prior.shape, rows.row(3), &mut Scratch::new(1)) - 3f64.ln();
        near(found, (density(rows.get(3, 0)) / total).ln(), 1e-9, "Student");
    }
}

/// The density of a row averaged over draws of mean and covariance equals its density with both integrated out.
#[test]
fn drawn_laws_average_to_the_density() {
    for (shape, d) in [(Shape::Full, 3), (Shape::Diagonal, 2), (Shape::Full, 1)] {
        let (prior, rows, mut rng) = (prior(shape, d), cloud(9, d, 3), Rng::new(4, 0));
        let mixture = Mixture::new(prior.clone(), &rows, vec![0; 9]).unwrap();
        let part = &mixture.parts[0];
        let x: Vec<f64> = part.mean.iter().map(|mean| mean + 0.4).collect();
        let expected = (part.ln_joint(shape, &x, &mut Scratch::new(d)) - 9f64.ln()).exp();
        let mut block = vec![0.0; d * SIDE];
        fill(&mut block, [x.as_slice()].into_iter());
        let constant = (2.0 * std::f64::consts::PI).powf(-0.5 * d as f64);
        let draws: Vec<f64> = (0..40_000)
            .map(|_| constant * mixture.gaussians(&mut rng)[0].ln_densities(&block, &mut [0.0; 3 * SIDE])[0].exp())
            .collect();
        let (mean, error) = mean_and_error(&draws);
        assert!((mean - expected).abs() < 5.0 * error, "{shape:?} {d}: {mean} for {expected}, error {error}");
        assert!(error < 0.02 * expected, "{error} {expected}");
        // Rows of drawn distributions have the moments of the cluster.
        let drawn: Vec<f64> = (0..40_000).map(|_| mixture.gaussians(&mut rng)[0].sample(&mut rng)[0]).collect();
        let (mean, error) = mean_and_error(&drawn);
        assert!((mean - part.mean[0]).abs() < 5.0 * error, "{mean} for {}", part.mean[0]);
        let tau = prior.tau + 9.0;
        // nu grows by the rows; a full covariance has the mean S / (nu - d - 1), a variance alone S / (nu - 2).
        let nu = prior.nu + 9.0 - if shape == Shape::Full { d as f64 + 1.0 } else { 2.0 };
        let variance = part.sums(shape)[0] / nu * (1.0 + 1.0 / tau);
        let squares: Vec<f64> = drawn.iter().map(|x| (x - part.mean[0]).powi(2)).collect();
        let (mean, error) = mean_and_error(&squares);
        assert!((mean - variance).abs() < 5.0 * error, "{mean} for {variance}, error {error}");
    }
}

#[test]
fn rows_taken_in_and_out_leave_what_a_rebuild_gives() {
    for shape in SHAPES {
        let (d, n) = (6, 40);
        let (prior, rows, mut rng, mut scratch) = (prior(shape, d), cloud(n, d, 5), Rng::new(6, 0), Scratch::new(d));
        let mut clusters: Vec<usize> = (0..n).map(|i| i % 3).collect();
        let mut parts: Vec<Cluster> =
            (0..3).map(|k| one(&prior, &rows, &(k..n).step_by(3).collect::<Vec<_>>())).collect();
        for _ in 0..50 * n {
            let (i, to) = (rng.below(n), rng.below(3));
            if parts[clusters[i]].n > 1 && clusters[i] != to {
                assert!(parts[clusters[i]].remove(&prior, rows.row(i), &mut scratch));
                parts[to].add(&prior, rows.row(i), &mut scratch);
                clusters[i] = to;
            }
        }
        for (k, part) in parts.iter().enumerate() {
            let fresh = one(&prior, &rows, &members(&clusters, 3)[k]);
            assert_eq!(part.n, fresh.n);
            let pairs = part.spread.iter().zip(&fresh.spread).chain(part.mean.iter().zip(&fresh.mean));
            pairs.for_each(|(found, expected)| near(*found, *expected, 1e-9, "rebuilt"));
            near(part.ln_marginal(&prior), fresh.ln_marginal(&prior), 1e-9, "marginal");
            let x = rows.row(0);
            near(part.ln_joint(shape, x, &mut scratch), fresh.ln_joint(shape, x, &mut scratch), 1e-9, "density");
            let own = rows.row(members(&clusters, 3)[k][0]);
            let [found, expected] = [part, &fresh].map(|part| part.ln_joint_without(shape, own, &mut scratch).unwrap());
            near(found, expected, 1e-9, "density without a row");
        }
    }
}

#[test]
fn clusters_of_many_rows_are_those_of_rows_taken_in_one_by_one() {
    for shape in SHAPES {
        let (prior, rows, pool) = (prior(shape, 3), cloud(9_000, 3, 7), Pool::new(3).unwrap());
        let all: Vec<usize> = (0..9_000).collect();
        let built = build(&prior, &rows, &[&all], &pool).remove(0);
        let (mut part, mut scratch) = (Cluster::empty(&prior), Scratch::new(3));
        all.iter().for_each(|&i| part.add(&prior, rows.row(i), &mut scratch));
        let pairs = part.spread.iter().zip(&built.spread).chain(part.mean.iter().zip(&built.mean));
        pairs.for_each(|(found, expected)| near(*found, *expected, 1e-10, "built"));
        assert_eq!(bits(&built.spread), bits(&one(&prior, &rows, &all).spread));
    }
}

#[test]
fn partitions_have_the_log_joint_of_its_definition() {
    for shape in SHAPES {
        let (prior, rows) = (prior(shape, 2), cloud(7, 2, 8));
        let mixture = Mixture::new(prior.clone(), &rows, vec![4, 4, 1, 9, 1, 1, 4]).unwrap();
        assert_eq!((mixture.n_clusters(), mixture.counts()), (3, vec![3, 3, 1]));
        assert_eq!(mixture.clusters(), [1, 1, 0, 2, 0, 0, 1]);
        // alpha^3 2! 2! 0! / (alpha (alpha + 1) ... (alpha + 6)).
        let rising: f64 = (0..7).map(|i| (prior.alpha + f64::from(i)).ln()).sum();
        let partition = 3.0 * prior.alpha.ln() + 4f64.ln() - rising;
        let lists: [&[usize]; 3] = [&[2, 4, 5], &[0, 1, 6], &[3]];
        let expected = partition + lists.iter().map(|list| ln_marginal(&prior, &rows, list)).sum::<f64>();
        near(mixture.ln_joint(), expected, 1e-12, "log joint");
    }
}

/// The partition numbered in the order of first rows.
fn canonical(clusters: &[usize]) -> Vec<usize> {
    let mut seen = vec![];
    let mut place = |k: &usize| {
        seen.iter().position(|other| other == k).unwrap_or_else(|| {
            seen.push(*k);
            seen.len() - 1
        })
    };
    clusters.iter().map(&mut place).collect()
}

fn partitions(n: usize) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for _ in 0..n {
        let longer = |partition: &Vec<usize>| {
            let next = partition.iter().max().map_or(0, |most| most + 1);
            (0..=next).map(|k| [partition.as_slice(), &[k]].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

/// The probability of every partition of the rows.
fn exact(prior: &Prior, rows: &Matrix) -> BTreeMap<Vec<usize>, f64> {
    let of = |partition: Vec<usize>| {
        let mixture = Mixture::new(prior.clone(), rows, partition.clone()).unwrap();
        (partition, mixture.ln_joint().exp())
    };
    let all: BTreeMap<Vec<usize>, f64> = partitions(rows.n_rows()).into_iter().map(of).collect();
    let total: f64 = all.values().sum();
    all.into_iter().map(|(partition, p)| (partition, p / total)).collect()
}

/// Half the sum of differences between the frequency of each partition and its probability.
fn total_variation(shape: Shape, n_sweeps: usize, mut step: impl FnMut(&mut Mixture, &Matrix, &mut Rng)) -> f64 {
    let rows = Matrix::from_vec(5, 2, vec![0.1, 0.3, 0.4, -0.2, 2.0, 1.5, 2.4, 1.1, -1.2, 2.2]).unwrap();
    let (prior, mut rng) = (prior(shape, 2), Rng::new(9, 0));
    let expected = exact(&prior, &rows);
    assert_eq!(expected.len(), 52);
    let mut mixture = Mixture::new(prior, &rows, vec![0; 5]).unwrap();
    let mut counts: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
    for _ in 0..n_sweeps {
        step(&mut mixture, &rows, &mut rng);
        *counts.entry(canonical(mixture.clusters())).or_default() += 1.0 / n_sweeps as f64;
    }
    expected.iter().map(|(partition, p)| 0.5 * (p - counts.get(partition).unwrap_or(&0.0)).abs()).sum()
}

#[test]
fn sweeps_leave_all_partitions_their_probability() {
    let pool = Pool::new(1).unwrap();
    for shape in SHAPES {
        let found = total_variation(shape, 120_000, |mixture, rows, rng| {
            mixture.sweep(rows, &Nothing, rng, &go_on).unwrap();
        });
        assert!(found < 0.01, "{shape:?}: {found}");
        let found = total_variation(shape, 200_000, |mixture, rows, rng| {
            mixture.blocked_sweep(rows, &Nothing, rng, &pool, &go_on).unwrap();
        });
        assert!(found < 0.01, "{shape:?} blocked: {found}");
    }
}

/// Deals rows as if they were elsewhere, in two blocks.
fn deal_elsewhere(mixture: &mut Mixture, rows: &Matrix, n_fresh: usize, rng: &mut Rng) -> Vec<usize> {
    let offer = Offer::decode(&mixture.offer(n_fresh, rng).encode()).unwrap();
    let (mut sums, mut all) = (Record::default(), vec![]);
    let half = rows.n_rows() / 2;
    for range in [0..half, half..rows.n_rows()] {
        let block = rows.select_rows(&range.collect::<Vec<_>>());
        let dealt = offer.deal(&offer.ln_joints(&block).unwrap(), &Nothing, rng).unwrap();
        let next = offer.sums(&block, &dealt).encode();
        if sums.is_empty() {
            sums = next;
        } else {
            assert!(sums.add_arrays(&next));
        }
        all.extend(dealt);
    }
    mixture.take_dealt(&offer, &DealtSums::decode(&sums).unwrap()).unwrap();
    compact(&all).0
}

#[test]
fn rows_dealt_elsewhere_leave_all_partitions_their_probability() {
    for shape in SHAPES {
        // Twenty new ones: what the last of them has is a millionth.
        let found = total_variation(shape, 100_000, |mixture, rows, rng| {
            mixture.clusters = deal_elsewhere(mixture, rows, 20, rng);
        });
        assert!(found < 0.01, "{shape:?}: {found}");
    }
}

#[test]
fn clusters_of_sums_are_those_of_their_rows() {
    let rows = cloud(400, 3, 5);
    for shape in SHAPES {
        let mut rng = Rng::new(4, 0);
        let mut mixture = Mixture::new(prior(shape, 3), &rows, (0..400).map(|i| i % 3).collect()).unwrap();
        for _ in 0..5 {
            let clusters = deal_elsewhere(&mut mixture, &rows, N_FRESH, &mut rng);
            assert!(mixture.clusters().is_empty() && mixture.n_rows() == 400);
            mixture.check(0, 3).unwrap();
            let expected = Mixture::new(prior(shape, 3), &rows, clusters).unwrap();
            assert_eq!(mixture.counts(), expected.counts());
            for (found, expected) in mixture.parts.iter().zip(&expected.parts) {
                let values = |part: &Cluster| [part.mean.clone(), part.spread.clone()].concat();
                values(found).iter().zip(values(expected)).for_each(|(a, b)| near(*a, b, 1e-10, "sums"));
            }
        }
    }
}

#[test]
fn splits_and_merges_leave_all_partitions_their_probability() {
    for shape in SHAPES {
        // Alone, and together with sweeps.
        let found = total_variation(shape, 120_000, |mixture, rows, rng| {
            mixture.split_merge(rows, &Nothing, 3, rng, alone(), &go_on).unwrap();
        });
        assert!(found < 0.01, "{shape:?}: {found}");
        let found = total_variation(shape, 120_000, |mixture, rows, rng| {
            mixture.split_merge(rows, &Nothing, 2, rng, alone(), &go_on).unwrap();
            mixture.sweep(rows, &Nothing, rng, &go_on).unwrap();
        });
        assert!(found < 0.01, "{shape:?} with sweeps: {found}");
    }
}

fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// Mean and standard error of a mixing sequence, from the means of 50 parts of it.
fn mean_of_parts(values: &[f64]) -> (f64, f64) {
    let parts: Vec<f64> =
        values.chunks_exact(values.len() / 50).map(|part| part.iter().sum::<f64>() / part.len() as f64).collect();
    mean_and_error(&parts)
}

/// Uninformative rows: a prior so sure of mean and covariance that all clusters are alike.
fn sure(shape: Shape, alpha: f64) -> Prior {
    Prior { shape, mean: vec![0.0; 2], tau: 1e12, nu: 1e12, scale: vec![1e12; 2], alpha }
}

#[test]
fn rows_that_say_nothing_have_the_partitions_of_the_process() {
    let (rows, pool) = (cloud(50, 2, 10), Pool::new(1).unwrap());
    for (shape, alpha, expected) in [(Shape::Full, 1.0, 4.499), (Shape::Diagonal, 3.0, 9.114)] {
        for kind in 0..3 {
            let (mut rng, mut counts, mut together) = (Rng::new(11, kind), vec![], vec![]);
            let mut mixture = Mixture::new(sure(shape, alpha), &rows, vec![0; 50]).unwrap();
            for _ in 0..[8_000, 20_000, 8_000][kind as usize] {
                match kind {
                    0 => drop(mixture.sweep(&rows, &Nothing, &mut rng, &go_on).unwrap()),
                    1 => drop(mixture.blocked_sweep(&rows, &Nothing, &mut rng, &pool, &go_on).unwrap()),
                    _ => {
                        mixture.split_merge(&rows, &Nothing, 3, &mut rng, alone(), &go_on).unwrap();
                        mixture.sweep(&rows, &Nothing, &mut rng, &go_on).unwrap();
                    }
                }
                counts.push(mixture.n_clusters() as f64);
                together.push(f64::from(u8::from(mixture.clusters()[0] == mixture.clusters()[1])));
            }
            let (mean, error) = mean_of_parts(&counts);
            assert!((mean - expected).abs() < 4.0 * error, "{alpha}, {kind}: {mean} clusters, error {error}");
            assert!(error < 0.15, "{error}");
            let (mean, error) = mean_of_parts(&together);
            assert!((mean - 1.0 / (1.0 + alpha)).abs() < 4.0 * error, "{alpha}, {kind}: {mean}, error {error}");
        }
    }
}

/// Keeps all rows but one in place, and has information about that one.
struct Pins {
    free: usize,
    homes: Vec<usize>,
    known: Vec<f64>,
    fresh: f64,
}

impl Witness for Pins {
    fn known(&self, row: usize, cluster: usize) -> f64 {
        match row == self.free {
            true => self.known[cluster],
            false if self.homes[row] == cluster => 0.0,
            false => f64::NEG_INFINITY,
        }
    }

    fn fresh(&self, row: usize) -> f64 {
        if row == self.free { self.fresh } else { f64::NEG_INFINITY }
    }
}

#[test]
fn one_row_is_dealt_with_the_exact_probabilities_of_density_and_witness() {
    for shape in SHAPES {
        let (prior, mut rng) = (Prior { alpha: 2.0, ..prior(shape, 2) }, Rng::new(12, 0));
        let rows = Matrix::from_fn(9, 2, |_, _| normal(&mut rng));
        let homes = vec![0, 0, 1, 1, 2, 2, 1, 0, 1];
        let pins = Pins { free: 8, homes: homes.clone(), known: vec![-0.7, -2.0, 0.4], fresh: -0.2 };
        let start = Mixture::new(prior.clone(), &rows, homes).unwrap();
        let lists: [&[usize]; 3] = [&[0, 1, 7], &[2, 3, 6], &[4, 5]];
        let mut scratch = Scratch::new(2);
        let mut weights: Vec<f64> = lists
            .iter()
            .zip(&pins.known)
            .map(|(list, known)| {
                let part = one(&prior, &rows, list);
                (part.ln_joint(shape, rows.row(8), &mut scratch) + known).exp()
            })
            .collect();
        weights.push((Cluster::empty(&prior).ln_joint(shape, rows.row(8), &mut scratch) + pins.fresh).exp());
        let total: f64 = weights.iter().sum();
        let (n, mut counts) = (40_000, vec![0.0; 4]);
        for _ in 0..n {
            let mut mixture = start.clone();
            let origins = mixture.sweep(&rows, &pins, &mut rng, &go_on).unwrap();
            counts[origins[mixture.clusters()[8]].unwrap_or(3)] += 1.0;
        }
        for (k, (count, weight)) in counts.iter().zip(&weights).enumerate() {
            let p = weight / total;
            let error = (p * (1.0 - p) / f64::from(n)).sqrt();
            assert!((count / f64::from(n) - p).abs() < 5.0 * error, "{shape:?} {k}: {count} of {n}, expected {p}");
            assert!(p > 0.01, "{k} says nothing: {p}");
        }
    }
}

/// Two rows apart: a merge is accepted with the ratio of its definition, including the witness of the larger cluster.
#[test]
fn merges_are_accepted_with_what_the_witness_says_of_the_rows_that_change() {
    struct Table([[f64; 2]; 2]);
    impl Witness for Table {
        fn known(&self, row: usize, cluster: usize) -> f64 {
            self.0[row][cluster]
        }
        fn fresh(&self, _: usize) -> f64 {
            0.0
        }
    }
    let (prior, mut rng) = (prior(Shape::Full, 1), Rng::new(13, 0));
    let rows = Matrix::from_vec(2, 1, vec![-0.4, 0.5]).unwrap();
    let table = Table([[-0.3, -1.1], [-0.8, -0.1]]);
    let apart = Mixture::new(prior.clone(), &rows, vec![0, 1]).unwrap();
    let ratio = (Mixture::new(prior, &rows, vec![0, 0]).unwrap().ln_joint() - apart.ln_joint()).exp();
    // If both have the same size, the first row drawn determines the position.
    let changes = [table.0[1][0] - table.0[1][1], table.0[0][1] - table.0[0][0]];
    let expected = changes.iter().map(|change| 0.5 * (ratio * change.exp()).min(1.0)).sum::<f64>();
    assert!(ratio * changes[0].exp() < 0.9 && ratio * changes[1].exp() < 0.9, "{ratio}");
    let n = 40_000;
    let (mut merged, mut of_first) = (0.0, 0.0);
    for _ in 0..n {
        let mut mixture = apart.clone();
        let (origins, moves) = mixture.split_merge(&rows, &table, 1, &mut rng, alone(), &go_on).unwrap();
        assert_eq!((moves.proposed, moves.splits, origins.len()), (1, 0, 2 - moves.merges));
        merged += moves.merges as f64;
        of_first += f64::from(u8::from(origins == [0]));
    }
    let error = (expected * (1.0 - expected) / f64::from(n)).sqrt();
    assert!((merged / f64::from(n) - expected).abs() < 5.0 * error, "{merged} of {n}, expected {expected}");
    let expected = 0.5 * ratio * changes[0].exp();
    let error = (expected * (1.0 - expected) / f64::from(n)).sqrt();
    assert!((of_first / f64::from(n) - expected).abs() < 5.0 * error, "{of_first} of {n}, expected {expected}");
}

/// A likelihood that is the same in all clusters has no effect, even across splits, whose halves use the witness of the
/// whole.
#[test]
fn witness_that_knows_no_clusters_changes_nothing() {
    struct Same;
    impl Witness for Same {
        fn known(&self, row: usize, _: usize) -> f64 {
            -(row as f64)
        }
        fn fresh(&self, row: usize) -> f64 {
            -(row as f64)
        }
    }
    let (rows, pool) = (cloud(30, 2, 14), Pool::new(1).unwrap());
    let run = |witness: &dyn Witness| {
        let mut mixture = Mixture::new(prior(Shape::Full, 2), &rows, vec![0; 30]).unwrap();
        let mut rng = Rng::new(15, 0);
        for _ in 0..20 {
            mixture.split_merge(&rows, witness, 5, &mut rng, alone(), &go_on).unwrap();
            mixture.sweep(&rows, witness, &mut rng, &go_on).unwrap();
            mixture.blocked_sweep(&rows, witness, &mut rng, &pool, &go_on).unwrap();
        }
        mixture.clusters().to_vec()
    };
    assert_eq!(run(&Same), run(&Nothing));
}

/// Two clouds far apart in one cluster: single rows do not leave it, a split does.
#[test]
fn splits_and_merges_find_what_sweeps_do_not() {
    let mut rng = Rng::new(16, 0);
    let rows = Matrix::from_fn(60, 3, |i, _| 0.5 * normal(&mut rng) + if i % 2 == 0 { 0.0 } else { 4.0 });
    let prior = Prior { scale: vec![1.0; 3], nu: 8.0, tau: 0.01, alpha: 1e-4, ..prior(Shape::Full, 3) };
    let mut stuck = Mixture::new(prior.clone(), &rows, vec![0; 60]).unwrap();
    (0..20).for_each(|_| drop(stuck.sweep(&rows, &Nothing, &mut rng, &go_on).unwrap()));
    assert_eq!(stuck.n_clusters(), 1);
    let mut mixture = stuck.clone();
    let (origins, moves) = mixture.split_merge(&rows, &Nothing, 20, &mut rng, alone(), &go_on).unwrap();
    assert_eq!((origins, moves.proposed), (vec![0; mixture.n_clusters()], 20));
    assert_eq!(moves.splits - moves.merges, mixture.n_clusters() - 1);
    let settle = |mixture: &mut Mixture, rng: &mut Rng| {
        for _ in 0..10 {
            mixture.split_merge(&rows, &Nothing, 10, rng, alone(), &go_on).unwrap();
            mixture.sweep(&rows, &Nothing, rng, &go_on).unwrap();
        }
        assert_eq!(mixture.n_clusters(), 2);
        assert!(mixture.clusters().iter().enumerate().all(|(i, &k)| k == mixture.clusters()[i % 2]));
    };
    settle(&mut mixture, &mut rng);
    assert!(mixture.ln_joint() > stuck.ln_joint() + 10.0);
    // Each cloud in two, and back.
    let mut mixture = Mixture::new(prior, &rows, (0..60).map(|i| i % 4).collect()).unwrap();
    settle(&mut mixture, &mut rng);
}

/// Share of sweeps in which each pair of rows is together.
fn co_clustering(step: &mut dyn FnMut() -> Vec<usize>, n_sweeps: usize) -> Vec<Vec<f64>> {
    let mut found: Vec<Vec<f64>> = vec![];
    for _ in 0..n_sweeps {
        let clusters = step();
        let n = clusters.len();
        let mut pairs: Vec<f64> = vec![*clusters.iter().max().unwrap() as f64];
        for i in 0..n {
            pairs.extend((0..i).map(|j| f64::from(u8::from(clusters[i] == clusters[j]))));
        }
        found.push(pairs);
    }
    found
}

#[test]
fn blocked_and_collapsed_sweeps_agree_about_pairs() {
    let (rows, pool) = (cloud(14, 2, 17), Pool::new(1).unwrap());
    for shape in SHAPES {
        let start = Mixture::new(prior(shape, 2), &rows, vec![0; 14]).unwrap();
        let (mut a, mut b) = (start.clone(), start);
        let (mut rng_a, mut rng_b) = (Rng::new(18, 0), Rng::new(18, 1));
        let collapsed = co_clustering(
            &mut || {
                a.sweep(&rows, &Nothing, &mut rng_a, &go_on).unwrap();
                a.clusters().to_vec()
            },
            15_000,
        );
        let blocked = co_clustering(
            &mut || {
                b.blocked_sweep(&rows, &Nothing, &mut rng_b, &pool, &go_on).unwrap();
                b.clusters().to_vec()
            },
            40_000,
        );
        for k in 0..collapsed[0].len() {
            let column = |draws: &[Vec<f64>]| mean_of_parts(&draws.iter().map(|draw| draw[k]).collect::<Vec<_>>());
            let ((mean, error), (other, other_error)) = (column(&collapsed), column(&blocked));
            let apart = (mean - other).abs() / error.hypot(other_error).max(1e-6);
            assert!(apart < 5.0, "{shape:?} {k}: {mean} and {other}, {apart} standard errors");
        }
    }
}

/// All bits of a mixture's state.
fn all_bits(mixture: &Mixture) -> (Vec<usize>, Vec<u64>) {
    let numbers = mixture.parts.iter().flat_map(|part| bits(&[part.mean.as_slice(), &part.spread].concat()));
    (mixture.clusters.clone(), numbers.collect())
}

#[test]
fn threads_and_instruction_sets_change_no_bit() {
    let pools = [1, 3].map(|threads| Pool::new(threads).unwrap());
    for (shape, d) in [(Shape::Full, 5), (Shape::Diagonal, 9)] {
        let rows = cloud(2_500, d, 19);
        let run = |pool: &Pool| {
            let mut rng = Rng::new(20, 0);
            let start = k_means(&rows, 7, &mut rng, pool).unwrap();
            let mut mixture = Mixture::new(prior(shape, d), &rows, start).unwrap();
            for _ in 0..2 {
                mixture.sweep(&rows, &Nothing, &mut rng, &go_on).unwrap();
                mixture.blocked_sweep(&rows, &Nothing, &mut rng, pool, &go_on).unwrap();
            }
            mixture.split_merge(&rows, &Nothing, 2, &mut rng, alone(), &go_on).unwrap();
            (all_bits(&mixture), bits(mixture.ln_joint_densities(&rows, pool).unwrap().data()))
        };
        assert_eq!(at_every_level(|| run(&pools[0])), run(&pools[1]));
    }
}

#[test]
fn densities_of_many_rows_are_those_of_single_rows_and_of_sweeps() {
    let pool = Pool::new(2).unwrap();
    for (shape, d) in [(Shape::Full, 4), (Shape::Diagonal, 700)] {
        let (rows, mut scratch) = (cloud(150, d, 21), Scratch::new(d));
        let mixture = Mixture::new(prior(shape, d), &rows, (0..150).map(|i| i % 3).collect()).unwrap();
        let found = mixture.ln_joint_densities(&rows, &pool).unwrap();
        assert_eq!((found.n_rows(), found.n_cols()), (150, 4));
        let empty = Cluster::empty(mixture.prior());
        for i in [0, 15, 16, 127, 128, 149] {
            for (k, part) in mixture.parts.iter().chain([&empty]).enumerate() {
                let expected = part.ln_joint(shape, rows.row(i), &mut scratch);
                assert_eq!(found.get(i, k).to_bits(), expected.to_bits(), "{i} {k}");
            }
            let alone = mixture.ln_joint_densities(&rows.select_rows(&[i]), &pool).unwrap();
            assert_eq!(bits(alone.row(0)), bits(found.row(i)));
        }
    }
    let mixture = Mixture::new(prior(Shape::Full, 2), &cloud(5, 2, 1), vec![0; 5]).unwrap();
    let message = mixture.ln_joint_densities(&cloud(5, 3, 1), &pool).unwrap_err().to_string();
    assert_eq!(message, "new rows have 3 columns, those of the mixture 2");
}

#[test]
fn odd_rows_do_no_harm() {
    let (pool, mut rng) = (Pool::new(1).unwrap(), Rng::new(22, 0));
    let wide = Matrix::from_fn(4, 12, |i, j| ((5 * i + 3 * j) % 7) as f64);
    let equal = Matrix::from_fn(20, 2, |_, j| j as f64);
    let constant = Matrix::from_fn(20, 3, |i, j| if j == 1 { 5.0 } else { (i * (j + 1) % 5) as f64 });
    let one_row = Matrix::from_fn(1, 2, |_, j| j as f64);
    let far = Matrix::from_fn(9, 2, |i, j| if i == 4 { 1e99 } else { (i + j) as f64 });
    let tiny = Matrix::from_fn(9, 2, |i, j| 1e-200 * (i + j) as f64);
    for (rows, shape) in
        [&wide, &equal, &constant, &one_row, &far, &tiny].into_iter().flat_map(|rows| SHAPES.map(|s| (rows, s)))
    {
        let (n, d) = (rows.n_rows(), rows.n_cols());
        let start = k_means(rows, 3, &mut rng, &pool).unwrap();
        let mut mixture = Mixture::new(prior(shape, d), rows, start).unwrap();
        for _ in 0..30 {
            let before = mixture.n_clusters();
            let origins = mixture.sweep(rows, &Nothing, &mut rng, &go_on).unwrap();
            assert_eq!(origins.len(), mixture.n_clusters());
            assert!(origins.iter().flatten().all(|&k| k < before));
            mixture.blocked_sweep(rows, &Nothing, &mut rng, &pool, &go_on).unwrap();
            mixture.split_merge(rows, &Nothing, 3, &mut rng, alone(), &go_on).unwrap();
            mixture.check(n, d).unwrap();
            assert!(mixture.ln_joint().is_finite());
        }
        for value in [0.0, 1e150, -1e300, f64::MAX] {
            let new = Matrix::from_fn(2, d, |i, j| if (i + j) % 2 == 0 { value } else { -value });
            let found = mixture.ln_joint_densities(&new, &pool).unwrap();
            assert!(found.data().iter().all(|density| density.is_finite()), "{value}: {found:?}");
        }
    }
    assert_eq!(k_means(&equal, 3, &mut rng, &pool).unwrap(), vec![0; 20]);
}

/// Distant rows keep their order: densities keep falling, even beyond the largest number whose square is finite.
#[test]
fn densities_fall_on_where_squares_end() {
    let pool = Pool::new(1).unwrap();
    for shape in SHAPES {
        let mixture = Mixture::new(prior(shape, 2), &cloud(30, 2, 23), vec![0; 30]).unwrap();
        let at = |x: f64| {
            let row = Matrix::from_vec(1, 2, vec![x, 0.5 * x]).unwrap();
            mixture.ln_joint_densities(&row, &pool).unwrap().get(0, 0)
        };
        // Each factor of 1e10 costs (nu + 1) ln 1e10 for each column with its own distribution.
        let nu = mixture.prior.nu + 30.0;
        let distributions = if shape == Shape::Full { 1.0 } else { 2.0 };
        for x in [1e20, 1e140, 1e150, 1e160, 1e290] {
            near(at(x) - at(1e10 * x), distributions * (nu + 1.0) * 1e10f64.ln(), 1e-9, &format!("{shape:?} {x}"));
        }
    }
}

#[test]
fn stored_mixtures_go_on_with_the_same_bits() {
    let (rows, pool) = (cloud(40, 3, 24), Pool::new(1).unwrap());
    for shape in SHAPES {
        let mut rng = Rng::new(25, 0);
        let mut mixture = Mixture::new(prior(shape, 3), &rows, vec![0; 40]).unwrap();
        (0..5).for_each(|_| drop(mixture.sweep(&rows, &Nothing, &mut rng, &go_on).unwrap()));
        let mut read = Mixture::decode(&mixture.encode()).unwrap();
        read.check(40, 3).unwrap();
        for mixture in [&mut mixture, &mut read] {
            let mut rng = rng.clone();
            for _ in 0..5 {
                mixture.sweep(&rows, &Nothing, &mut rng, &go_on).unwrap();
                mixture.split_merge(&rows, &Nothing, 4, &mut rng, alone(), &go_on).unwrap();
                mixture.blocked_sweep(&rows, &Nothing, &mut rng, &pool, &go_on).unwrap();
            }
        }
        assert_eq!(all_bits(&mixture), all_bits(&read));
        let densities = [&mixture, &read].map(|m| bits(m.ln_joint_densities(&rows, &pool).unwrap().data()));
        assert_eq!(densities[0], densities[1]);
    }
}

/// Proposals computed beside an accepted one must not count: the clusters they saw are gone.
#[test]
fn splits_and_merges_have_the_same_bits_on_any_number_of_threads() {
    let rows = cloud(60, 2, 28);
    for shape in SHAPES {
        let found = [1, 3, 8].map(|n_threads| {
            let (pool, mut rng) = (Pool::new(n_threads).unwrap(), Rng::new(29, 0));
            let mut mixture = Mixture::new(prior(shape, 2), &rows, vec![0; 60]).unwrap();
            let (origins, moves) = mixture.split_merge(&rows, &Nothing, 200, &mut rng, &pool, &go_on).unwrap();
            assert!(moves.splits > 2 && moves.merges > 2, "{moves:?}");
            (all_bits(&mixture), origins, moves)
        });
        assert!(found[0] == found[1] && found[0] == found[2]);
    }
}

#[test]
fn stopped_sweeps_leave_the_mixture_as_it_was() {
    let (rows, pool, mut rng) = (cloud(40, 2, 26), Pool::new(1).unwrap(), Rng::new(27, 0));
    let mut mixture = Mixture::new(prior(Shape::Full, 2), &rows, vec![0; 40]).unwrap();
    let before = all_bits(&mixture);
    let asked = std::sync::atomic::AtomicUsize::new(0);
    let stop = || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= 1;
    for kind in 0..3 {
        asked.store(0, std::sync::atomic::Ordering::Relaxed);
        let now = || true;
        let error = match kind {
            0 => mixture.sweep(&rows, &Nothing, &mut rng, &stop).unwrap_err(),
            1 => mixture.blocked_sweep(&rows, &Nothing, &mut rng, &pool, &now).unwrap_err(),
            _ => mixture.split_merge(&rows, &Nothing, 5, &mut rng, alone(), &stop).unwrap_err(),
        };
        assert_eq!(error.to_string(), "stopped while rows were dealt to clusters");
        assert_eq!(all_bits(&mixture), before);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let (rows, pool, mut rng) = (cloud(6, 2, 28), Pool::new(1).unwrap(), Rng::new(29, 0));
    let refused = |prior: Prior, clusters: Vec<usize>| Mixture::new(prior, &rows, clusters).unwrap_err().to_string();
    let fine = prior(Shape::Full, 2);
    let table = [
        (Prior { nu: 1.0, ..fine.clone() }, "the prior of a mixture has a nu of 1; it must be a number above 1"),
        (Prior { tau: 0.0, ..fine.clone() }, "the prior of a mixture has a tau of 0; it must be a number above 0"),
        (
            Prior { alpha: f64::NAN, ..fine.clone() },
            "the prior of a mixture has an alpha of NaN; it must be a number above 0",
        ),
        (
            Prior { scale: vec![1.0], ..fine.clone() },
            "the prior of a mixture has 2 means and 1 scales; give one of each for every column",
        ),
        (
            Prior { scale: vec![1.0, -1.0], ..fine.clone() },
            "the prior of a mixture has a scale of -1; it must be from 1e-100 to 1e100",
        ),
        (
            Prior { mean: vec![0.0, f64::INFINITY], ..fine.clone() },
            "the prior of a mixture has a mean of inf; it must be a number from -1e100 to 1e100",
        ),
        (
            prior(Shape::Full, 3),
            "a mixture of 6 rows of 2 columns got clusters of 6 rows and a prior for 3 columns; give as many, and at least one row",
        ),
    ];
    for (prior, message) in table {
        assert_eq!(refused(prior, vec![0; 6]), message);
    }
    assert!(refused(fine.clone(), vec![0; 5]).contains("got clusters of 5 rows"));
    let mut large = rows.clone();
    large.set(3, 1, 1e101);
    let message = "row 4 has 1e101 in column 2; clusters are found in numbers from -1e100 to 1e100: scale the columns";
    assert_eq!(Mixture::new(fine.clone(), &large, vec![0; 6]).unwrap_err().to_string(), message);
    assert_eq!(k_means(&large, 2, &mut rng, &pool).unwrap_err().to_string(), message);
    let message = k_means(&rows, 0, &mut rng, &pool).unwrap_err().to_string();
    assert_eq!(message, "6 rows cannot be dealt to 0 clusters; give one at least");
    let mut mixture = Mixture::new(fine, &rows, vec![0, 0, 0, 1, 1, 1]).unwrap();
    let message = mixture.sweep(&cloud(7, 2, 1), &Nothing, &mut rng, &go_on).unwrap_err().to_string();
    assert_eq!(message, "the mixture is one of 6 rows of 2 columns, got 7 of 2");
    // A witness that leaves a row no cluster, or returns NaN.
    for value in [f64::NEG_INFINITY, f64::NAN] {
        let pins = Pins { free: 2, homes: mixture.clusters().to_vec(), known: vec![value; 2], fresh: value };
        let message = "row 3 fits no cluster: its likelihoods are zero, infinite or no numbers; scale the columns";
        assert_eq!(mixture.sweep(&rows, &pins, &mut rng, &go_on).unwrap_err().to_string(), message);
        let error = mixture.blocked_sweep(&rows, &pins, &mut rng, &pool, &go_on).unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

#[test]
fn forged_records_are_refused() {
    let rows = cloud(6, 2, 30);
    let mixture = Mixture::new(prior(Shape::Full, 2), &rows, vec![0, 0, 0, 1, 1, 1]).unwrap();
    let forged = |change: &dyn Fn(&mut Record)| {
        let mut record = mixture.encode();
        change(&mut record);
        Mixture::decode(&record).and_then(|mixture| mixture.check(6, 2)).unwrap_err().to_string()
    };
    let tail = "; the file was not written by this method";
    let misfit = |what: &str| format!("the mixture does not fit: {what}{tail}");
    let numbers = misfit("the numbers of its clusters do not fit together");
    let found = forged(&|record| record.put("counts", &vec![3usize, 3, 1]));
    assert_eq!(found, numbers);
    assert_eq!(forged(&|record| record.put("means", &Matrix::zeros(2, 3))), numbers);
    assert_eq!(forged(&|record| record.put("spreads", &Matrix::zeros(2, 2))), numbers);
    let found = forged(&|record| record.put("clusters", &vec![0usize, 0, 0, 1, 1, 2]));
    assert_eq!(found, misfit("a row is in a cluster that is not there"));
    let found = forged(&|record| record.put("clusters", &vec![0usize, 0, 0, 0, 1, 1]));
    assert_eq!(found, misfit("its clusters have other rows"));
    assert_eq!(forged(&|record| record.put("clusters", &vec![0usize])), misfit("its clusters have other rows"));
    let found = forged(&|record| record.put("spreads", &Matrix::zeros(2, 3)));
    assert_eq!(found, misfit("a covariance is none"));
    let found = forged(&|record| record.put("shape", &"round".to_string()));
    assert_eq!(found, "field `shape` is `round`; it may be full or diagonal");
    assert!(forged(&|record| record.put("nu", &f64::NAN)).contains("has a nu of NaN"));
    assert_eq!(mixture.check(6, 3).unwrap_err().to_string(), misfit("it has another number of columns"));
}

#[test]
fn k_means_finds_clouds_and_gives_numbers_without_gaps() {
    let (mut rng, pool) = (Rng::new(31, 0), Pool::new(2).unwrap());
    let rows =
        Matrix::from_fn(3_000, 2, |i, j| 0.3 * normal(&mut rng) + if j == 0 { (i % 4) as f64 * 5.0 } else { 0.0 });
    let found = k_means(&rows, 4, &mut rng, &pool).unwrap();
    assert!((0..3_000).all(|i| found[i] == found[i % 4]));
    let mut names = found[..4].to_vec();
    names.sort_unstable();
    assert_eq!(names, [0, 1, 2, 3]);
    // More than there are distinct rows.
    let few = Matrix::from_fn(12, 1, |i, _| (i % 3) as f64);
    let found = k_means(&few, 10, &mut rng, &pool).unwrap();
    assert_eq!(found.iter().max(), Some(&2));
    assert!((0..12).all(|i| found[i] == found[i % 3]));
}

#[test]
fn condensed_pieces_of_one_cluster_are_one() {
    let pool = Pool::new(2).unwrap();
    let mut rng = Rng::new(41, 0);
    for (shape, n_blobs, d) in
        [(Shape::Full, 1, 6), (Shape::Full, 3, 4), (Shape::Diagonal, 1, 6), (Shape::Diagonal, 3, 4)]
    {
        let far = |i: usize, j: usize| if i % n_blobs == j { 8.0 } else { 0.0 };
        let rows = Matrix::from_fn(900, d, |i, j| far(i, j) + normal(&mut rng));
        let nu = if shape == Shape::Full { d as f64 + 2.0 } else { 20.0 };
        let prior = Prior { shape, mean: vec![0.0; d], tau: 0.1, nu, scale: vec![1.0; d], alpha: 1.0 };
        let start = k_means(&rows, 20, &mut rng, &pool).unwrap();
        let mut mixture = Mixture::new(prior, &rows, start).unwrap();
        let before = mixture.ln_joint();
        let origins = mixture.condense(&rows, &Nothing, &pool, &|| false).unwrap();
        assert_eq!(origins.len(), mixture.n_clusters());
        assert_eq!(mixture.n_clusters(), n_blobs, "{shape:?}");
        assert!(mixture.ln_joint() > before);
        let rebuilt = Mixture::new(mixture.prior().clone(), &rows, mixture.clusters().to_vec()).unwrap();
        assert!((mixture.ln_joint() - rebuilt.ln_joint()).abs() < 1e-9 * rebuilt.ln_joint().abs());
        // A condensed mixture stays as it is.
        let joint = mixture.ln_joint();
        mixture.condense(&rows, &Nothing, &pool, &|| false).unwrap();
        assert_eq!(mixture.ln_joint(), joint);
    }
}

#[test]
fn what_the_witness_knows_keeps_pieces_apart() {
    /// Rows of the first half belong to cluster 0 alone, the others to cluster 1.
    struct Halves(f64);
    impl Witness for Halves {
        fn known(&self, row: usize, cluster: usize) -> f64 {
            if (row < 100) == (cluster == 0) { 0.0 } else { -self.0 }
        }
        fn fresh(&self, _: usize) -> f64 {
            0.0
        }
    }
    let (pool, mut rng) = (Pool::new(1).unwrap(), Rng::new(42, 0));
    let rows = Matrix::from_fn(200, 2, |_, _| normal(&mut rng));
    let prior = Prior { shape: Shape::Full, mean: vec![0.0; 2], tau: 0.1, nu: 4.0, scale: vec![1.0; 2], alpha: 1.0 };
    for (say, n_clusters) in [(0.01, 1), (10.0, 2)] {
        let start = (0..200).map(|i| usize::from(i >= 100)).collect();
        let mut mixture = Mixture::new(prior.clone(), &rows, start).unwrap();
        mixture.condense(&rows, &Halves(say), &pool, &|| false).unwrap();
        assert_eq!(mixture.n_clusters(), n_clusters);
    }
    let mut mixture = Mixture::new(prior, &rows, (0..200).map(|i| i % 5).collect()).unwrap();
    assert!(mixture.condense(&rows, &Nothing, &pool, &|| true).is_err());
    assert_eq!(mixture.n_clusters(), 5);
}

#[test]
fn left_out_densities_are_those_of_mixtures_without_the_row() {
    let pool = Pool::new(2).unwrap();
    for (shape, seed) in [(Shape::Full, 5), (Shape::Diagonal, 6)] {
        let mut rows = cloud(40, 3, seed);
        // A row so far away that its cluster has to be built again, and one that is alone.
        rows.row_mut(7).iter_mut().for_each(|value| *value = 1e7);
        let clusters: Vec<usize> = (0..40).map(|i| if i == 11 { 2 } else { i % 2 }).collect();
        let prior = prior(shape, 3);
        let found = Mixture::new(prior.clone(), &rows, clusters.clone()).unwrap();
        let found = found.ln_densities_left_out(&rows, &pool).unwrap();
        for (i, &found) in found.iter().enumerate() {
            let others: Vec<usize> = (0..40).filter(|&other| other != i).collect();
            // Row 11 was the only one of cluster 2.
            let kept = others.iter().map(|&other| clusters[other]).collect();
            let without = Mixture::new(prior.clone(), &rows.select_rows(&others), kept).unwrap();
            let joint = without.ln_joint_densities(&rows.select_rows(&[i]), &pool).unwrap();
            let most = joint.row(0).iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let sum: f64 = joint.row(0).iter().map(|value| (value - most).exp()).sum();
            let expected = most + sum.ln() - (39.0 + prior.alpha).ln();
            near(found, expected, 1e-9, &format!("{shape:?} {i}"));
        }
    }
}
