//! The mathematics against brute force, and planted clusters.

use super::weights::Local;
use super::*;
use crate::data::{Dataset, Samples};
use crate::dist::Rng;
use crate::evaluate::adjusted_rand;
use crate::linalg::dot;
use crate::method::check::with;
use crate::method::check::{labels, with_task};
use crate::plan::{Model, Plan, Session};
use crate::pool::Pool;
use crate::run::{Clusterer, Explain, Silent, Status};
use crate::solve::eigen::jacobi;

/// Three clouds A, B, C in two views of six columns; the first separates A from the others, the second C, so each alone
/// merges two.
fn clouds(n: usize) -> (Matrix, Vec<usize>) {
    let mut rng = Rng::new(5, 0);
    let codes: Vec<usize> = (0..n).map(|i| i % 3).collect();
    let far = |i: usize, j: usize| if j < 6 { i.is_multiple_of(3) } else { i % 3 == 2 };
    let points = Matrix::from_fn(n, 12, |i, j| 2.0 * f64::from(u8::from(far(i, j))) + rng.uniform() + rng.uniform());
    (points, codes)
}

fn params(settings: &[(&str, &str)]) -> Mkc {
    with(settings)
}

fn run(task: &Task<'_>, params: &Mkc) -> Rounds {
    let mut state = Rounds::init(params, task).unwrap();
    while state.step(params, task, &Control::default()).unwrap().status == Status::Running {}
    state
}

fn model(task: &Task<'_>, params: &Mkc) -> MkcModel {
    run(task, params).finish(params, task).unwrap()
}

const ONE: &str = "gaussian(2.5) on [0:6]";
const OTHER: &str = "gaussian(2.5) on [6:12]";
const ONE_CENTRED: &str = "gaussian(2.5) on [0:6] centred";
const OTHER_CENTRED: &str = "gaussian(2.5) on [6:12] centred";

/// The kernels scaled to unit diagonal, combined with weights, from the definition.
fn combined(task: &Task<'_>, weights: &Matrix) -> Matrix {
    let n = task.n_samples();
    let all: Vec<usize> = (0..n).collect();
    let mut sum = Matrix::zeros(n, n);
    for m in 0..weights.n_cols() {
        let kernel = task.stack().unwrap().block(m, &all, &all).unwrap();
        for i in 0..n {
            for j in 0..n {
                let unit = kernel.get(i, j) / (kernel.get(i, i) * kernel.get(j, j)).sqrt();
                sum.set(i, j, sum.get(i, j) + weights.get(i, m) * weights.get(j, m) * unit);
            }
        }
    }
    sum
}

/// tr K - tr H' K H.
fn objective(task: &Task<'_>, weights: &Matrix, h: &Matrix) -> f64 {
    let kernel = combined(task, weights);
    let inner = |column: &[f64]| dot(&kernel.times(column), column);
    (0..kernel.n_rows()).map(|i| kernel.get(i, i)).sum::<f64>()
        - (0..h.n_cols()).map(|c| inner(&h.column(c))).sum::<f64>()
}

#[test]
fn combined_kernel_and_objective_are_those_of_the_definition() {
    let (points, codes) = clouds(40);
    with_task(&points, &codes, &[ONE_CENTRED, OTHER, "polynomial(2)", "linear raw"], |task| {
        let local = Local::new(task).unwrap();
        let mut rng = Rng::new(2, 0);
        let h = Matrix::from_fn(40, 3, |_, _| 0.2 * (rng.uniform() - 0.5));
        let (weights, found) = local.lowered(&h, local.even(), 0.0).unwrap();
        assert!(weights.rows().all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-12));
        assert!((found - objective(task, &weights, &h)).abs() < 1e-11);
        let (plain, kernel) = (combined(task, &weights), local.combined(&weights).unwrap());
        assert!(plain.data().iter().zip(kernel.data()).all(|(a, b)| (a - b).abs() < 1e-12));
    });
}

#[test]
fn lowered_weights_meet_the_optimality_conditions() {
    let (points, codes) = clouds(30);
    with_task(&points, &codes, &[ONE_CENTRED, OTHER_CENTRED, "gaussian(2)"], |task| {
        let local = Local::new(task).unwrap();
        let all: Vec<usize> = (0..30).collect();
        let h = jacobi(task.stack().unwrap().block(0, &all, &all).unwrap()).vectors.select_rows(&[0, 1]).transposed();
        // Round by round with the same H, until nothing changes.
        let start = local.even();
        let (mut weights, mut value) = (start.clone(), f64::INFINITY);
        for _ in 0..60 {
            let next = local.lowered(&h, weights, 0.0).unwrap();
            assert!(next.1 <= value);
            (weights, value) = next;
        }
        assert!(value < objective(task, &start, &h) - 1e-3);
        // Slopes by central differences: those of kernels in use are equal, others are no lower.
        for i in 0..30 {
            let slope = |m: usize| {
                let moved = |by: f64| {
                    let mut moved = weights.clone();
                    moved.set(i, m, moved.get(i, m) + by);
                    objective(task, &moved, &h)
                };
                (moved(1e-4) - moved(-1e-4)) / 2e-4
            };
            let slopes: Vec<f64> = (0..3).map(slope).collect();
            let least = slopes.iter().copied().fold(f64::INFINITY, f64::min);
            let used = |m: &usize| weights.get(i, *m) > 1e-6;
            assert!((0..3).filter(used).all(|m| slopes[m] < least + 1e-5), "row {i}: {slopes:?} {:?}", weights.row(i));
        }
    });
}

#[test]
fn objective_never_rises_and_converges() {
    let (points, codes) = clouds(90);
    with_task(&points, &codes, &[ONE_CENTRED, OTHER_CENTRED, "gaussian(1) centred", "linear centred"], |task| {
        let state = run(task, &params(&[("tol", "1e-7")]));
        assert!(state.converged && state.objectives.len() > 2, "{:?}", state.objectives);
        assert!(state.objectives.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-12)), "{:?}", state.objectives);
        assert!(state.objectives.last() < state.objectives.first());
    });
}

#[test]
fn two_views_that_merge_two_clusters_each_tell_all_three_together() {
    let (points, codes) = clouds(90);
    let agreement = |kernels: &[&str]| {
        with_task(&points, &codes, kernels, |task| {
            let model = model(task, &params(&[]));
            adjusted_rand(model.clusters(), &codes).unwrap()
        })
    };
    assert!(agreement(&[ONE]) < 0.8 && agreement(&[OTHER]) < 0.8);
    assert_eq!(agreement(&[ONE, OTHER]), 1.0);
    // One of three leading vectors of centred kernels is noise.
    assert!(agreement(&[ONE_CENTRED, OTHER_CENTRED]) > 0.85);
}

#[test]
fn equal_kernels_have_equal_weights() {
    let (points, codes) = clouds(60);
    with_task(&points, &codes, &["gaussian(3)", "gaussian(3)"], |task| {
        let model = model(task, &params(&[]));
        assert!(model.weights().unwrap().iter().all(|weight| (weight - 0.5).abs() < 1e-9), "{:?}", model.weights());
    });
}

#[test]
fn one_kernel_is_the_relaxation_of_kernel_k_means() {
    let (points, codes) = clouds(70);
    with_task(&points, &codes, &["gaussian(3)"], |task| {
        let state = run(task, &params(&[("clusters", "4")]));
        assert!(state.weights.data().iter().all(|&weight| weight == 1.0));
        let all: Vec<usize> = (0..70).collect();
        let exact = jacobi(task.stack().unwrap().block(0, &all, &all).unwrap());
        // The spaces are the same: so are the projections onto them.
        let projection =
            |vectors: &Matrix, i: usize, j: usize| (0..4).map(|k| vectors.get(k, i) * vectors.get(k, j)).sum::<f64>();
        for (i, j) in (0..70).flat_map(|i| (0..70).map(move |j| (i, j))) {
            let (found, expected) = (projection(&state.vectors, i, j), projection(&exact.vectors, i, j));
            assert!((found - expected).abs() < 1e-7, "({i}, {j}): {found} {expected}");
        }
        let rest = 70.0 - exact.values[..4].iter().sum::<f64>();
        assert!((state.objectives[0] - rest).abs() < 1e-9, "{:?} {rest}", state.objectives);
    });
}

#[test]
fn rows_have_no_weight_for_kernels_that_know_nothing_of_them() {
    // Zero rows have no direction: their linear kernel is zero.
    let points = Matrix::from_fn(12, 2, |i, j| if j == 1 && i < 4 { 0.0 } else { 1.0 + ((i * (j + 3)) % 5) as f64 });
    with_task(&points, &[0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1], &["gaussian(1)", "linear on [1]"], |task| {
        let state = run(task, &params(&[]));
        assert!((0..4).all(|i| state.weights.row(i) == [1.0, 0.0]));
        assert!((4..12).all(|i| state.weights.row(i)[1] > 0.0));
    });
}

fn dataset(n: usize) -> Dataset {
    let (points, codes) = clouds(n);
    Dataset::new("clouds", Samples::unnamed(points).unwrap(), labels(&codes)).unwrap()
}

fn plan() -> Plan {
    Plan::new("mkc").unwrap().kernels("gaussian(2.5) on [0:6], gaussian(2.5) on [6:12]").unwrap()
}

#[test]
fn new_rows_are_put_with_their_cluster() {
    let model: Model = plan().train(&dataset(90)).unwrap();
    let found = model.predict(&dataset(150).samples).unwrap();
    assert_eq!(found.labels, (0..150).map(|i| i % 3).collect::<Vec<_>>());
    // 30 of 30 rows of one class, one added to each of three.
    assert!(found.scores.row(0).iter().zip([31.0, 1.0, 1.0]).all(|(a, b)| (a - b / 33.0).abs() < 1e-15));
}

#[test]
fn scatter_is_the_objective_without_clusters() {
    let (points, codes) = clouds(12);
    with_task(&points, &codes, &[ONE_CENTRED, OTHER, "linear raw"], |task| {
        let local = Local::new(task).unwrap();
        let kernel = combined(task, &local.even());
        let trace: f64 = (0..12).map(|i| kernel.get(i, i)).sum();
        assert!((local.scatter() - trace).abs() < 1e-12 * trace, "{} {trace}", local.scatter());
    });
}

#[test]
fn clusters_far_apart_are_found_in_few_rounds() {
    // The objective goes to zero: what is left of it keeps falling for ever, while no row moves any more.
    let mut rng = Rng::new(8, 0);
    let points = Matrix::from_fn(90, 2, |i, j| 30.0 * [[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]][i % 3][j] + rng.uniform());
    let codes: Vec<usize> = (0..90).map(|i| i % 3).collect();
    let data = Dataset::new("far", Samples::unnamed(points).unwrap(), labels(&codes)).unwrap();
    let model = Plan::new("mkc").unwrap().train(&data).unwrap();
    assert_eq!(model.training().warnings(), Vec::<String>::new());
    assert_eq!(adjusted_rand(model.clustering().unwrap().clusters(), &codes).unwrap(), 1.0);
}

#[test]
fn rounds_that_do_not_suffice_are_told() {
    let model = plan().set("rounds", "3").unwrap().set("tol", "1e-12").unwrap().train(&dataset(30)).unwrap();
    let [warning] = &model.training().warnings()[..] else { panic!("{:?}", model.training().warnings()) };
    assert!(warning.starts_with("the last of 3 rounds still lowered the objective by "), "{warning}");
    assert!(warning.ends_with(" of what it is without clusters; raise rounds"), "{warning}");
}

#[test]
fn number_of_clusters_is_that_of_classes_unless_it_is_set() {
    let rows = |codes: &[usize], settings: &[(&str, &str)]| n_clusters(&labels(codes), &params(settings));
    assert_eq!(rows(&[0, 1, 2, 1], &[]), 3);
    assert_eq!(rows(&[0; 30], &[]), 10);
    assert_eq!(rows(&[0; 4], &[]), 4);
    assert_eq!(rows(&[0, 1, 2, 1], &[("clusters", "2")]), 2);
    let few = dataset(6);
    assert_eq!(
        plan().set("clusters", "7").unwrap().train(&few).unwrap_err().to_string(),
        "parameter clusters: must be at most the number of training rows, 6, got 7"
    );
}

#[test]
fn more_memory_than_allowed_is_refused_before_the_first_round() {
    let data = dataset(300);
    let pool = Pool::new(1).unwrap();
    let mut observer = Silent;
    let mut session = Session::new(&pool, &mut observer);
    session.memory = Some(1 << 20);
    let error = plan().train_in(&data, &mut session).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the combined kernel of 300 rows and its eigenvectors needs 1.5 MiB but 1.0 MiB may be used; use fewer rows, or \
         raise the memory limit"
    );
}
