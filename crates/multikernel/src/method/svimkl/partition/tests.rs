//! Times in parts against the objective of all rows on the same landmarks.

use super::super::Family;
use super::super::state::{Basis, Fit};
use super::super::tests::{DISTRIBUTIONS, SETTINGS, random_points, random_x, whole as on_all_rows};
use super::*;
use crate::data::Times;
use crate::dist::Rng;
use crate::method::check::{labels, with_target};
use crate::run::Input;

const KERNELS: [&str; 2] = ["gaussian(1)", "polynomial(2)"];
const N: usize = 61;
const POINTS: [usize; 9] = [2, 3, 11, 20, 29, 30, 44, 51, 60];

/// Times with ties that follow from the points; some rows are censored, some before the first event.
fn times(points: &Matrix) -> Times {
    let mut rng = Rng::new(31, 0);
    let time = (0..N).map(|i| (8.0 * (-points.get(i, 0)).exp() * rng.uniform()).ceil().min(12.0)).collect::<Vec<_>>();
    let event = (0..N).map(|i| i % 4 > 0 && time[i] > 1.0).collect();
    Times::new(time, event).unwrap()
}

fn select<'a>(task: &Task<'a>, target: &'a Target, input: Input<'a>) -> Task<'a> {
    Task { input, target, ..*task }
}

/// Calls `f` with the objective on the landmarks and rows dealt to this many parts.
fn in_parts(task: &Task<'_>, settings: &Settings, n_parts: usize, f: impl FnOnce(&Objective<'_>, &Asked<'_>)) {
    let (stack, all) = (task.stack().unwrap(), task.target.times().unwrap());
    let mut rng = Rng::new(n_parts as u64, 9);
    let mut parts = vec![vec![]; n_parts];
    (0..N).for_each(|i| parts[rng.below(n_parts)].push(i));
    let ask = |request: &Record| {
        let mut sums = Record::default();
        for rows in parts.iter().filter(|rows| !rows.is_empty()) {
            let (few, target) = (stack.between(rows, &POINTS)?, Target::Times(all.select(rows)));
            // As partitions do, which give each block a seed of its own.
            let block = Task { seed: rows[0] as u64, ..select(task, &target, Input::Stack(&few)) };
            settings.add(&mut sums, &settings.sums(request, &block)?)?;
        }
        Ok(sums)
    };
    let rows = AllRows { n_rows: N, number_means: vec![], events: all.events(), ask: &ask };
    let asked = Asked { rows: &rows, seed: task.seed, pool: task.pool, last: RefCell::default() };
    let (among, target) = (stack.between(&POINTS, &POINTS).unwrap(), Target::Times(all.select(&POINTS)));
    let landmarks = select(task, &target, Input::Stack(&among));
    f(&objective(&landmarks, settings).unwrap(), &asked);
}

/// Calls `f` with the task and the objective on all rows, and settings, for each distribution of weights.
fn each(f: impl Fn(&Task<'_>, &Objective<'_>, &Settings)) {
    let points = random_points(N, 3);
    let target = Target::Times(times(&points));
    for (family, prior) in DISTRIBUTIONS {
        let nodes = if family == Family::Point { 1 } else { 6 };
        let settings = Settings { family, prior, nodes, clip: false, tol: 1e-13, ..SETTINGS };
        with_target(&points, &target, &labels(&[0; N]), &KERNELS, |task| {
            let loss = (Loss::new(task, settings.loss), 1);
            f(task, &on_points(task, &settings, Clip::default(), loss, POINTS.to_vec()).unwrap(), &settings);
        });
    }
}

fn near(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let size = expected.iter().fold(1.0f64, |size, value| size.max(value.abs()));
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-10 * size, "{what}: {found} {expected}");
    }
}

#[test]
fn value_gradient_and_curvature_are_those_of_all_rows() {
    each(|task, objective, settings| {
        let x = random_x(objective);
        let (loss, gradient) = on_all_rows(objective, &x);
        let passes = Passes::new(objective).unwrap();
        let outputs = objective.outputs(&x[objective.layout.samples()], &passes.forward).unwrap();
        let plain = objective.value_on_all(&x, &outputs).curvature;
        let curvature: Vec<f64> = plain.iter().map(|value| value.max(MIN_CURVATURE)).collect();
        let means = objective.means(&x);
        let basis = Basis { means: means.clone(), curvature: curvature.clone(), ..Basis::default() };
        let full = objective.curvature(&basis, &passes, &|| false).unwrap();
        for n_parts in [1, 3, 7] {
            in_parts(task, settings, n_parts, |landmarks, asked| {
                let passes = Passes::over(landmarks, asked);
                let at_points = landmarks.outputs(&x[landmarks.layout.samples()], &passes.forward).unwrap();
                let fit = landmarks.begin(x.clone(), at_points, &passes).unwrap();
                near(&fit.losses, &[loss], "value");
                near(&fit.gradient, &gradient, "gradient");
                let sums = fit.sums.0.unwrap();
                near(&[sums.total], &[curvature.iter().sum()], "curvature");
                near(&sums.squares, &objective.squares(&outputs, &curvature), "squares");
                near(&sums.plain, &objective.squares(&outputs, &plain), "plain squares");
                let mut found = asked.curvature(&x, &means).unwrap();
                let weights = Matrix::from_vec(means.len(), 1, means.clone()).unwrap();
                let penalty = landmarks.stack.combine(&weights, task.pool).unwrap().remove(0);
                let penalty = penalty.data().iter().map(|value| 2.0 * objective.lambda * value);
                found.data_mut().iter_mut().zip(penalty).for_each(|(value, penalty)| *value += penalty);
                near(found.data(), full.data(), "curvature between points");
            });
        }
    });
}

/// The functions at all rows, at the mean weights.
fn functions(objective: &Objective<'_>, x: &[f64]) -> Vec<f64> {
    let passes = Passes::new(objective).unwrap();
    objective.mean_functions(x, &objective.outputs(&x[objective.layout.samples()], &passes.forward).unwrap())
}

fn climbed(objective: &Objective<'_>, mut fit: Fit, settings: &Settings, passes: &Passes<'_>) -> Fit {
    while !fit.converged && fit.losses.len() < 400 {
        objective.climb(&mut fit, settings.tol, passes, &|| false).unwrap();
    }
    fit
}

#[test]
fn optimum_on_given_landmarks_is_that_of_one_machine() {
    each(|task, objective, settings| {
        let first = first_point(objective, settings, |_| 0.0);
        let passes = Passes::new(objective).unwrap();
        let zeros = vec![0.0; N * KERNELS.len()];
        let alone = climbed(objective, objective.begin(first.clone(), zeros, &passes).unwrap(), settings, &passes);
        in_parts(task, settings, 3, |landmarks, asked| {
            let passes = Passes::over(landmarks, asked);
            let zeros = vec![0.0; POINTS.len() * KERNELS.len()];
            let fit = climbed(landmarks, landmarks.begin(first, zeros, &passes).unwrap(), settings, &passes);
            assert!(fit.converged && alone.converged);
            let (found, expected) = (functions(objective, &fit.x), functions(objective, &alone.x));
            let size = expected.iter().fold(0.0f64, |size, value| size.max(value.abs()));
            // Near the optimum a step gains the square of its length: 1e-13 of the bound leaves about 1e-6.
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-4 * size, "{:?}: {found} {expected}", settings.family);
            }
            let (times, counts) = &asked.rows.events;
            let risks = asked.risks(BASELINE, &fit.x).unwrap();
            let (at, hazard) = objective.loss.baseline(&found);
            assert_eq!(*times, at);
            near(&risks.baseline(counts).unwrap(), &hazard, "baseline hazard");
        });
    });
}
