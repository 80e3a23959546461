//! The model in the space of features against matrices between all rows.

use super::basis::Basis;
use super::model::functions;
use super::partition::{outcomes, posterior};
use super::space::{InSpace, Space, Sums};
use super::*;
use crate::data::{Numbers, Target};
use crate::dist::{Rng, normal};
use crate::method::check::{labels, with_target};
use crate::pool::Pool;
use crate::run::{Explain, Input, Predict, Regressor, State, Status};
use crate::stack::{Stack, StackOptions, Storage};

/// Kernels of full rank on the rows, one of which repeats a form on other columns, and two of low rank.
const KERNELS: [&str; 5] = ["gaussian(0.4)", "gaussian(0.4) on [0]", "gaussian(0.4) on [1]", "linear", "polynomial(2)"];

/// Calls `f` with tasks of two classes, three, one number and two, on n rows.
fn on_each_target(n: usize, f: impl Fn(&Task<'_>)) {
    let mut rng = Rng::new(6, 0);
    let points = Matrix::from_fn(n, 3, |i, j| normal(&mut rng) + if i % 3 == j { 1.5 } else { 0.0 });
    let codes = |n_classes: usize| labels(&(0..n).map(|i| i % 3 % n_classes).collect::<Vec<_>>());
    let mut noise = || 0.3 * normal(&mut rng);
    let both = Matrix::from_fn(n, 2, |i, t| points.get(i, t).sin() + points.get(i, 2) + noise());
    let one = Numbers::new(vec!["y".into()], both.select_cols(&[0])).unwrap();
    let two = Numbers::new(vec!["y".into(), "z".into()], both).unwrap();
    with_target(&points, &Target::Classes, &codes(2), &KERNELS, &f);
    with_target(&points, &Target::Classes, &codes(3), &KERNELS, &f);
    with_target(&points, &Target::Numbers(one), &codes(1), &KERNELS, &f);
    with_target(&points, &Target::Numbers(two), &codes(1), &KERNELS, &f);
}

/// Calls `f` with the task between all rows and these, and among these.
fn on_landmarks<T>(task: &Task<'_>, points: &[usize], f: impl FnOnce(&Task<'_>, &Task<'_>) -> T) -> T {
    let stack = task.stack().unwrap();
    let all: Vec<usize> = (0..task.n_samples()).collect();
    let (cross, among) = (stack.between(&all, points).unwrap(), stack.view(points).unwrap());
    f(&Task { input: Input::Stack(&cross), ..*task }, &Task { input: Input::Stack(&among), ..*task })
}

/// The basis and the space of a task on these landmarks, from sums over so many cuts of the rows.
fn space(task: &Task<'_>, points: &[usize], cuts: usize) -> (Basis, Space) {
    on_landmarks(task, points, |cross, among| {
        let basis = Basis::new(among, &|| false).unwrap();
        let (n, y) = (task.n_samples(), outcomes(task, &functions(task)));
        let mut sums: Option<Sums> = None;
        for cut in 0..cuts {
            let rows: Vec<usize> = (n * cut / cuts..n * (cut + 1) / cuts).collect();
            let stack = cross.stack().unwrap().between(&rows, &(0..points.len()).collect::<Vec<_>>()).unwrap();
            let features = basis.features(&stack, task.pool).unwrap();
            let next = Sums::of(&features, &y.select_rows(&rows), task.pool, &|| false).unwrap();
            match &mut sums {
                None => sums = Some(next),
                Some(sums) => assert!(sums.add(&next)),
            }
        }
        let space = Space::new(&sums.unwrap(), &basis, n).unwrap();
        (basis, space)
    })
}

fn close(found: f64, expected: f64, within: f64, what: &str) {
    assert!((found - expected).abs() <= within * expected.abs(), "{what}: {found} {expected}");
}

#[test]
fn all_rows_as_landmarks_make_the_same_updates() {
    on_each_target(45, |task| {
        let (_, space) = space(task, &(0..45).collect::<Vec<_>>(), 1);
        let forms = forms(&task.stack().unwrap().kernels(), &[]);
        assert_eq!(forms, [0, 1, 1, 2, 3]);
        let (method, mut exact, mut found) = (Evidence::default(), Climb::default(), Climb::default());
        loop {
            let goes_on = exact.advance(&method, &BetweenRows(task), &forms, &|| false).unwrap();
            assert_eq!(found.advance(&method, &InSpace(&space, task.pool), &forms, &|| false).unwrap(), goes_on);
            close(found.noise, exact.noise, 1e-8, "noise");
            let pairs = found.weights.iter().zip(&exact.weights).chain(found.evidence.iter().zip(&exact.evidence));
            pairs.for_each(|(&found, &exact)| close(found, exact, 1e-8, "weight or evidence"));
            if !goes_on {
                break;
            }
        }
        assert!(found.evidence.len() == 11 && found.evidence.is_sorted(), "{:?}", found.evidence);
        assert_ne!(found.weights[1], found.weights[2], "the last updates are of each kernel");
    });
}

/// `Phi_m Phi_m'` of each kernel between all rows.
fn approximations(task: &Task<'_>, points: &[usize], basis: &Basis) -> Vec<Matrix> {
    let features = on_landmarks(task, points, |cross, _| basis.features(cross.stack().unwrap(), task.pool).unwrap());
    let kernel = |m: usize| {
        let own: Vec<usize> = (0..basis.len()).filter(|&j| basis.kernels()[j] == m).collect();
        let own = features.select_rows(&own).transposed();
        Matrix::from_fn(own.n_rows(), own.n_rows(), |i, k| dot(own.row(i), own.row(k)))
    };
    (0..basis.n_kernels()).map(kernel).collect()
}

#[test]
fn sums_over_any_cut_give_the_products_of_matrices_between_rows() {
    let points: Vec<usize> = (0..60).step_by(4).collect();
    // From features that say much more than the noise to ones that say next to nothing.
    let settings = [([0.3, 0.2, 0.1, 0.25, 0.15], 0.1), ([2.0, 1e-7, 0.0, 1e-12, 0.5], 3e-4), ([1e-9; 5], 1.0)];
    on_each_target(60, |task| {
        let pool = task.pool;
        for cuts in [1, 3, 7] {
            let (basis, space) = space(task, &points, cuts);
            let (kernels, y) = (approximations(task, &points, &basis), target(task));
            for (weights, noise) in settings {
                let mut sum = Matrix::from_fn(60, 60, |i, j| if i == j { noise } else { 0.0 });
                for (kernel, weight) in kernels.iter().zip(weights) {
                    sum.data_mut().iter_mut().zip(kernel.data()).for_each(|(sum, value)| *sum += weight * value);
                }
                let factor = Cholesky::new(sum, pool, &|| false).unwrap();
                let (a, inverse) = (factor.solve(&y).unwrap(), factor.inverse(pool, &|| false).unwrap());
                let model = InSpace(&space, pool);
                let now = model.point(&weights, noise, &|| false).unwrap();
                let found = model.products(&now, &weights, noise, &|| false).unwrap();
                let expected = log_evidence(60, y.n_cols(), factor.log_determinant(), dot(a.data(), y.data()));
                close(now.evidence, expected, 1e-10, "evidence");
                close(found.noise[0], dot(a.data(), a.data()), 1e-8, "A'A");
                close(found.noise[1], (0..60).map(|i| inverse.get(i, i)).sum(), 1e-8, "tr H");
                for (m, kernel) in kernels.iter().enumerate().filter(|&(m, _)| weights[m] > 0.0) {
                    let along = crate::solve::product::product(kernel, &a, pool).unwrap();
                    close(found.kernels.get(m, 0), dot(along.data(), a.data()), 1e-8, "<K, A A'>");
                    close(found.kernels.get(m, 1), dot(kernel.data(), inverse.data()), 1e-8, "<K, H>");
                }
            }
        }
    });
}

#[test]
fn model_is_the_posterior_mean_of_the_matrices_between_rows() {
    let points: Vec<usize> = (0..50).step_by(3).collect();
    on_each_target(50, |task| {
        let (basis, space) = space(task, &points, 3);
        let forms = forms(&task.stack().unwrap().kernels(), &[]);
        let (method, mut climb) = (Evidence::default(), Climb::default());
        while climb.advance(&method, &InSpace(&space, task.pool), &forms, &|| false).unwrap() {}
        // Y - mean = scale * target, and the mean at the rows is K H (Y - mean) = (Y - mean) - s H (Y - mean).
        let (raw, y) = (outcomes(task, &functions(task)), target(task));
        let mut sum = Matrix::from_fn(50, 50, |i, j| if i == j { climb.noise } else { 0.0 });
        for (kernel, weight) in approximations(task, &points, &basis).iter().zip(&climb.weights) {
            sum.data_mut().iter_mut().zip(kernel.data()).for_each(|(sum, value)| *sum += weight * value);
        }
        let a = Cholesky::new(sum, task.pool, &|| false).unwrap().solve(&y).unwrap();
        let (first, second) = (0..50).map(|i| (i, 49 - i)).find(|&(i, k)| y.get(i, 0) != y.get(k, 0)).unwrap();
        let scale = (raw.get(first, 0) - raw.get(second, 0)) / (y.get(first, 0) - y.get(second, 0));
        let noise = climb.noise;
        let (model, scores) = on_landmarks(task, &points, |_, among| {
            let model = posterior(climb, (&space, &basis), among, functions(task), true).unwrap().of_rows(&points);
            let all: Vec<usize> = (0..50).collect();
            let used = model.kernels().unwrap();
            let stack = task.stack().unwrap().between(&all, model.points()).unwrap().pick(&used).unwrap();
            let scores = model.scores(Input::Stack(&stack), task.pool).unwrap();
            (model, scores)
        });
        model.check(5, task.n_outputs()).unwrap();
        for (i, row) in scores.rows().enumerate() {
            for (t, &function) in functions(task).iter().enumerate() {
                let expected = raw.get(i, t) - scale * noise * a.get(i, t);
                assert!((row[function] - expected).abs() < 1e-8, "{} {expected}", row[function]);
            }
            if *task.target == Target::Classes && row.len() == 2 {
                assert_eq!(row[1], -row[0]);
            }
        }
    });
}

#[test]
fn variance_is_that_of_the_matrices_between_rows() {
    let mut rng = Rng::new(14, 0);
    let points = Matrix::from_fn(40, 2, |_, _| normal(&mut rng));
    // The last is far from all others.
    let new = Matrix::from_fn(6, 2, |i, _| normal(&mut rng) + if i == 5 { 30.0 } else { 0.0 });
    let y = Matrix::from_fn(40, 2, |i, t| points.get(i, 0).sin() + (0.1 + t as f64) * normal(&mut rng));
    let target = Target::Numbers(Numbers::new(vec!["y".into(), "z".into()], y).unwrap());
    let (texts, pool) = (["gaussian(0.7)", "linear"], Pool::new(1).unwrap());
    let at: Vec<usize> = (0..40).step_by(4).collect();
    with_target(&points, &target, &labels(&[0; 40]), &texts, |task| {
        let (basis, space) = space(task, &at, 2);
        let mut climb = Climb::default();
        while climb.advance(&Evidence::default(), &InSpace(&space, task.pool), &[0, 1], &|| false).unwrap() {}
        let (weights, noise) = (climb.weights.clone(), climb.noise);
        let model = on_landmarks(task, &at, |_, among| {
            posterior(climb, (&space, &basis), among, vec![0, 1], true).unwrap().of_rows(&at)
        });
        assert_eq!(model.kernels().unwrap(), [0, 1]);
        let kernels = texts.map(|text| text.parse().unwrap());
        let options = StackOptions { storage: Storage::Tiled, ..StackOptions::new(&pool) };
        let between =
            |rows: &[usize]| Stack::cross(&new, &points.select_rows(rows), &kernels, &[None, None], &options).unwrap();
        let input = between(model.points());
        let found = model.variances(Input::Stack(&input), &pool).unwrap().unwrap();
        let here = on_landmarks(task, &at, |cross, _| basis.features(cross.stack().unwrap(), &pool).unwrap());
        let there = basis.features(&between(&at), &pool).unwrap();
        let sum = |a: &Matrix, i: usize, b: &Matrix, k: usize| -> f64 {
            let kernels = basis.kernels();
            (0..basis.len()).map(|j| weights[kernels[j]] * a.get(j, i) * b.get(j, k)).sum()
        };
        let all = Matrix::from_fn(40, 40, |i, k| sum(&here, i, &here, k) + if i == k { noise } else { 0.0 });
        let factor = Cholesky::new(all, &pool, &|| false).unwrap();
        let y = super::target(task);
        let solved = factor.solve(&y).unwrap();
        let scale = space.scale();
        // What is left out on average: the diagonals of these kernels are 1.
        let left_out: f64 = (0..40).map(|k| weights.iter().sum::<f64>() - sum(&here, k, &here, k)).sum::<f64>() / 40.0;
        let allowed = (noise / left_out).min(1.0);
        for i in 0..6 {
            let along = Matrix::from_fn(40, 1, |k, _| sum(&there, i, &here, k));
            let known = dot(factor.solve(&along).unwrap().data(), along.data());
            let within = sum(&there, i, &there, i);
            let beyond = dot(input.selves(&pool).unwrap().row(i), &weights) - within - left_out;
            for t in 0..2 {
                let product: f64 = (0..40).map(|k| y.get(k, t) * solved.get(k, t)).sum();
                let expected = scale * scale * product / 40.0 * (within - known + allowed * beyond.max(0.0) + noise);
                close(found.get(i, t), expected, 1e-8, "variance");
            }
        }
        assert!(found.get(5, 0) > found.get(0, 0) && found.get(0, 1) > found.get(0, 0));
    });
}

#[test]
fn features_are_cut_where_kernels_lose_the_same_part() {
    on_each_target(40, |task| {
        let whole = Basis::new(task, &|| false).unwrap();
        let few = Basis::up_to(30, task, &|| false).unwrap();
        let ranks = |basis: &Basis, m: usize| basis.kernels().iter().filter(|&&kernel| kernel == m).count();
        assert!(few.len() == 30 && whole.len() > 100, "{} {}", few.len(), whole.len());
        assert_eq!((ranks(&whole, 0), ranks(&whole, 3)), (40, 3));
        // Every step that was made had more left to take than any that was not.
        let left = |m: usize| {
            let kernel = task.stack().unwrap().pick(&[m]).unwrap().unfold(task.pool).unwrap();
            crate::solve::pivoted::pivoted(&kernel, 1e-10, 40, &|| false).unwrap().left
        };
        let left: Vec<Vec<f64>> = (0..5).map(left).collect();
        let made = (0..5).filter(|&m| ranks(&few, m) > 0).map(|m| left[m][ranks(&few, m) - 1]);
        let least = made.fold(f64::INFINITY, f64::min);
        assert!((0..5).all(|m| left[m][ranks(&few, m)] <= least), "{least}");
        assert!(few.check(5, 40).is_ok() && few.check(4, 40).is_err() && few.check(5, 10).is_err());
    });
}

#[test]
fn sums_of_other_shapes_or_rows_are_refused() {
    on_each_target(30, |task| {
        let points: Vec<usize> = (0..30).step_by(5).collect();
        let (basis, _) = space(task, &points, 1);
        let y = outcomes(task, &functions(task));
        let features =
            on_landmarks(task, &points, |cross, _| basis.features(cross.stack().unwrap(), task.pool).unwrap());
        let of = |features: &Matrix, y: &Matrix| Sums::of(features, y, &Pool::new(1).unwrap(), &|| false).unwrap();
        let sums = of(&features, &y);
        assert!(Space::new(&sums, &basis, 30).is_ok());
        assert!(Space::new(&sums, &basis, 31).is_err());
        assert!(Space::new(&Sums::default(), &basis, 30).is_err());
        let fewer: Vec<usize> = (1..features.n_rows()).collect();
        assert!(Space::new(&of(&features.select_rows(&fewer), &y), &basis, 30).is_err());
        assert!(!sums.clone().add(&of(&features.select_rows(&fewer), &y)));
        let mut wrong = y.clone();
        wrong.set(3, 0, f64::NAN);
        assert!(Space::new(&of(&features, &wrong), &basis, 30).is_err());
    });
}

#[test]
fn blocks_of_many_rows_add_up_and_some_of_them_make_a_model() {
    let mut rng = Rng::new(30, 0);
    // Sorted by class, so that the first rows would know one class alone.
    let codes: Vec<usize> = (0..2500).map(|i| i / 1250).collect();
    let points = Matrix::from_fn(2500, 2, |i, _| normal(&mut rng) + 2.0 * codes[i] as f64);
    with_target(&points, &Target::Classes, &labels(&codes), &["gaussian(2)", "linear"], |task| {
        let method = Evidence { landmarks: 12, iterations: 3, ..Evidence::default() };
        let (mut state, control) = (EvidenceState::init(&method, task).unwrap(), Control::default());
        state.step(&method, task, &control).unwrap();
        let EvidenceEnd::Posterior(part) = state.clone().finish(&method, task).unwrap() else { panic!("no landmarks") };
        assert!(part.warnings().iter().any(|text| text.starts_with("stopped after 1250 of 2500 rows")));
        while state.step(&method, task, &control).unwrap().status == Status::Running {}
        let EvidenceEnd::Posterior(model) = state.finish(&method, task).unwrap() else { panic!("no landmarks") };
        let at = crate::method::stream::draw_landmarks(task, 12);
        let (_, space) = space(task, &at, 1);
        let mut climb = Climb::default();
        while climb.advance(&method, &InSpace(&space, task.pool), &[0, 1], &|| false).unwrap() {}
        let expected = Weights::new("evidence", climb.weights).values;
        model.weights().unwrap().iter().zip(&expected).for_each(|(&found, &sum)| close(found, sum, 1e-9, "weight"));
        assert!(model.warnings().is_empty(), "{:?}", model.warnings());
        for model in [&model, &part] {
            let all: Vec<usize> = (0..2500).collect();
            let stack = task.stack().unwrap().between(&all, model.points()).unwrap();
            let scores = model.scores(Input::Stack(&stack), task.pool).unwrap();
            let right = scores.rows().zip(&codes).filter(|(row, code)| (row[0] < 0.0) == (**code == 1)).count();
            // The line between the means is right for 92 %.
            assert!(right > 2200, "{right}");
        }
    });
}
