//! The operations of a stack with a device against those without: the reference everywhere, and the GPU where there is
//! one (`MULTIKERNEL_CUDA=1`).

use super::Device;
use crate::data::{Dataset, Features, Presence, Scaler, View, bundled};
use crate::dist::Rng;
use crate::error::Error;
use crate::kernel::Kernel;
use crate::linalg::Matrix;
use crate::plan::{Plan, Session};
use crate::pool::Pool;
use crate::precision::Precision;
use crate::run::Silent;
use crate::solve::product::scaled_square;
use crate::stack::{AtRows, Points, Stack, StackOptions, Symmetric};

/// Kernels of every kind that devices know, on several sets of columns.
const KERNELS: [&str; 13] = [
    "gaussian(0.7)",
    "gaussian(2)",
    "gaussian(3) on [1]",
    "laplacian(0.3)",
    "laplacian(1) on [0:2]",
    "linear",
    "linear raw",
    "polynomial(2)",
    "polynomial(5) raw on [2]",
    "rational_quadratic(1, alpha=2)",
    "sigmoid(0.5) raw",
    "clinical on [0]",
    "gaussian(gamma=0.2)",
];

fn devices() -> Vec<Device> {
    let mut devices = vec![Device::reference()];
    if std::env::var_os("MULTIKERNEL_CUDA").is_some() {
        devices.push(Device::cuda().expect("MULTIKERNEL_CUDA asks for a GPU"));
    }
    devices
}

fn points(n: usize, seed: u64) -> Matrix {
    let mut rng = Rng::new(seed, 0);
    // A row of zeros has no direction.
    Matrix::from_fn(n, 3, |i, _| if i == 1 { 0.0 } else { rng.uniform() - 0.3 })
}

fn kernels() -> Vec<Kernel> {
    KERNELS.iter().map(|text| text.parse().unwrap()).collect()
}

/// A stack on the threads alone and one on each device, with their pools and the difference allowed between values of
/// size 1.
fn pairs(build: impl Fn(&StackOptions<'_>) -> Stack) -> Vec<(Stack, Pool, Stack, Pool, f64)> {
    let mut found = vec![];
    for device in devices() {
        for (precision, close) in [(Precision::F64, 1e-12), (Precision::F32, 2e-6)] {
            let [here, there] = [None, Some(device.clone())].map(|device| {
                let pool = Pool::new(2).unwrap().with_device(device);
                (build(&StackOptions { precision, ..StackOptions::new(&pool) }), pool)
            });
            found.push((here.0, here.1, there.0, there.1, close));
        }
    }
    found
}

fn assert_close(found: &[f64], expected: &[f64], close: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let size = expected.iter().fold(1.0f64, |size, value| size.max(value.abs()));
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= close * size, "{what} {at}: {found} {expected}");
    }
}

fn numbers(n_rows: usize, n_cols: usize, seed: u64) -> Matrix {
    let mut rng = Rng::new(seed, 1);
    Matrix::from_fn(n_rows, n_cols, |_, _| rng.uniform() - 0.4)
}

/// Every operation of a stack on a device against the same without.
fn check(here: &Stack, pool: &Pool, there: &Stack, device: &Pool, close: f64) {
    let (n, width, p) = (here.n_rows(), here.n_cols(), here.n_kernels());
    assert_eq!(there.bytes(), 0, "nothing is stored beside a device");
    let weights = numbers(p, 2, 3);
    for (a, b) in there.combine(&weights, device).unwrap().iter().zip(here.combine(&weights, pool).unwrap()) {
        assert_close(a.data(), b.data(), close, "combine");
    }
    let column = weights.column(0);
    let rounded = [there.combine_f32(&column, device), here.combine_f32(&column, pool)].map(|found| found.unwrap());
    for i in 0..n {
        let [found, expected] =
            [0, 1].map(|k| rounded[k].row(i).iter().map(|&value| value.into()).collect::<Vec<f64>>());
        assert_close(&found, &expected, close.max(1.2e-7), "combine_f32");
    }
    let vectors = numbers(width, 3, 4);
    for (a, b) in there.apply(&vectors, device).unwrap().iter().zip(here.apply(&vectors, pool).unwrap()) {
        assert_close(a.data(), b.data(), close, "apply");
    }
    let vectors = numbers(width, 2 * p, 5);
    let found = [there.collect(&vectors, device), here.collect(&vectors, pool)].map(|found| found.unwrap());
    assert_close(found[0].data(), found[1].data(), close, "collect");
    let coefficients = numbers(width, 4, 6);
    let decide = |stack: &Stack, pool: &Pool| {
        stack.decide(&stack.mixture(&weights, pool).unwrap(), &coefficients, pool).unwrap()
    };
    assert_close(decide(there, device).data(), decide(here, pool).data(), close, "decide");
    let (half, u, v) = (numbers(n, width, 7), numbers(n, 2, 8), numbers(width, 2, 9));
    let mut with = vec![Symmetric::Dense(&half), Symmetric::Factored(&u, &v)];
    if n == width {
        with.push(Symmetric::Lower(&half));
    }
    let found = [there.project(&with, device), here.project(&with, pool)].map(|found| found.unwrap());
    assert_close(found[0].data(), found[1].data(), close, "project");
    let rows: Vec<usize> = (0..n).rev().collect();
    let cols: Vec<usize> = (0..width).step_by(2).collect();
    check_between(&here.between(&rows, &cols).unwrap(), pool, &there.between(&rows, &cols).unwrap(), device, close);
}

/// What only kernels between two sets of points have.
fn check_between(here: &Stack, pool: &Pool, there: &Stack, device: &Pool, close: f64) {
    let (n_kernels, vectors) = (here.n_kernels(), numbers(here.n_cols(), 5, 4));
    for count in [1, 5] {
        let vectors = vectors.select_cols(&(0..count).collect::<Vec<_>>());
        // Answers differ from row to row, and parts come in order.
        let sweep = |stack: &Stack, pool: &Pool| {
            let answer = |AtRows { rows, outputs }: AtRows<'_>, answers: &mut [f64], seen: &mut Vec<usize>| {
                for (k, (answer, output)) in answers.iter_mut().zip(outputs).enumerate() {
                    *answer = (rows.start + k / n_kernels % rows.len()) as f64 % 5.0 - output * output;
                }
                seen.extend(rows);
            };
            stack.sweep(&vectors, pool, Vec::new, answer).unwrap()
        };
        let (found, expected) = (sweep(there, device), sweep(here, pool));
        assert_close(&found.outputs, &expected.outputs, close, "outputs of a sweep");
        // Answers are as wrong as outputs times their size.
        let size = expected.outputs.iter().fold(1.0f64, |size, value| size.max(value.abs()));
        assert_close(&found.collected, &expected.collected, 4.0 * size * close, "what a sweep collects");
        assert!(found.parts.into_iter().flatten().eq(0..here.n_rows()));
    }
    let weights = numbers(n_kernels, 1, 3);
    let d: Vec<f64> = numbers(here.n_rows(), 1, 5).data().iter().map(|value| value * value).collect();
    let found = there.scaled_square_there(&weights, &d, device).unwrap().unwrap();
    let combined = here.combine(&weights, pool).unwrap()[0].transposed();
    let expected = scaled_square(&combined, &d, pool, &|| false).unwrap();
    assert_close(found.data(), expected.data(), close * here.n_rows() as f64, "square");
}

#[test]
fn operations_of_a_training_stack_are_those_without_a_device() {
    for (here, pool, there, device, close) in
        pairs(|options| Stack::train(&points(150, 1), &kernels(), options).unwrap())
    {
        check(&here, &pool, &there, &device, close);
        let view = |stack: &Stack| stack.view(&[5, 0, 149, 70]).unwrap().pick(&[12, 3, 0, 3]).unwrap();
        check(&view(&here), &pool, &view(&there), &device, close);
    }
}

#[test]
fn operations_between_new_and_training_points_are_those_without_a_device() {
    for (here, pool, there, device, close) in pairs(|options| {
        let centring = vec![None; KERNELS.len()];
        Stack::cross(&points(67, 2), &points(130, 1), &kernels(), &centring, options).unwrap()
    }) {
        check(&here, &pool, &there, &device, close);
    }
}

#[test]
fn kernels_on_columns_in_their_own_units_are_those_without_a_device() {
    let units = Scaler::from_parts(vec![1.0, -2.0, 0.5], vec![3.0, 0.2, 1.5]).unwrap();
    let mixed: Vec<Kernel> = kernels()
        .into_iter()
        .enumerate()
        .map(|(m, kernel)| if m % 2 == 0 { kernel.unscaled() } else { kernel })
        .collect();
    for (here, pool, there, device, close) in pairs(|options| {
        let points = Points::from(&points(70, 1)).with_units(Some(&units)).unwrap();
        Stack::train(points, &mixed, options).unwrap()
    }) {
        check(&here, &pool, &there, &device, close);
    }
}

#[test]
fn kernels_of_points_that_lack_views_are_those_without_a_device() {
    let all = points(70, 1);
    let gaps: Features = Matrix::from_fn(70, 3, |i, j| if i % 4 == j { f64::NAN } else { all.get(i, j) }).into();
    let filled: Features = Matrix::from_fn(70, 3, |i, j| if i % 4 == j { 0.0 } else { all.get(i, j) }).into();
    let views: Vec<View> = (0..3).map(|v| View { name: format!("v{v}"), columns: v..v + 1 }).collect();
    let presence = Presence::of(&gaps, &views).unwrap();
    for (here, pool, there, device, close) in pairs(|options| {
        let points = Points::from(&filled).with_presence(&presence, &views, &kernels()).unwrap();
        Stack::train(points, &kernels(), options).unwrap()
    }) {
        check(&here, &pool, &there, &device, close);
    }
}

#[test]
fn many_radial_kernels_are_one_function_of_the_distance() {
    let kernels: Vec<Kernel> = (0..40).map(|m| Kernel::gaussian(0.1 * f64::from(m + 1)).unwrap()).collect();
    for (here, pool, there, device, close) in pairs(|options| Stack::train(&points(80, 1), &kernels, options).unwrap())
    {
        // As one function of the distance they are exact to 1e-11.
        check(&here, &pool, &there, &device, close.max(1e-11));
    }
}

#[test]
fn factor_on_a_device_solves_and_projects_as_the_definitions_say() {
    for (here, pool, there, device, close) in pairs(|options| {
        let kernels = ["gaussian(0.7)".parse().unwrap(), "linear".parse().unwrap()];
        Stack::train(&points(90, 1), &kernels, options).unwrap()
    }) {
        let (weights, noise, n) = ([0.6, 0.9], 0.3, here.n_rows());
        let factor = there.factor_there(&weights, noise, &device).unwrap().unwrap();
        let column = Matrix::from_vec(2, 1, weights.to_vec()).unwrap();
        let mut sum = here.combine(&column, &pool).unwrap().remove(0);
        (0..n).for_each(|i| sum.set(i, i, sum.get(i, i) + noise));
        let y = numbers(n, 2, 3);
        let solved = factor.solve(&y).unwrap();
        let back = Matrix::from_fn(n, 2, |i, c| (0..n).map(|j| sum.get(i, j) * solved.get(j, c)).sum());
        assert_close(back.data(), y.data(), 100.0 * close, "solve");
        let exact = crate::solve::cholesky::Cholesky::new(sum, &pool, &|| false).unwrap();
        assert!((factor.log_determinant().unwrap() - exact.log_determinant()).abs() < 1e3 * close);
        let inverse = exact.inverse(&pool, &|| false).unwrap();
        let with = [Symmetric::Factored(&y, &y), Symmetric::Dense(&inverse)];
        let expected = here.project(&with, &pool).unwrap();
        let (found, trace) = factor.products(&there, &y, &device).unwrap();
        assert_close(found.data(), expected.data(), 100.0 * close, "products");
        let expected: f64 = (0..n).map(|i| inverse.get(i, i)).sum();
        assert!((trace - expected).abs() < 100.0 * close * expected);
    }
}

#[test]
fn what_has_no_factor_is_not_definite() {
    for device in devices() {
        let pool = Pool::new(1).unwrap().with_device(device);
        let stack = Stack::train(&points(20, 1), &["linear".parse().unwrap()], &StackOptions::new(&pool)).unwrap();
        let found = stack.factor_there(&[-1.0], 0.5, &pool).unwrap_err();
        assert!(matches!(found, Error::NotDefinite { .. }), "{found}");
    }
}

#[test]
fn kernels_no_device_knows_are_computed_here_with_the_same_bits() {
    let kernels: Vec<Kernel> = ["gaussian(1) centred", "linear"].iter().map(|text| text.parse().unwrap()).collect();
    for (here, pool, there, device, _) in pairs(|options| Stack::train(&points(40, 1), &kernels, options).unwrap()) {
        let weights = numbers(2, 1, 3);
        assert_eq!(there.combine(&weights, &device).unwrap(), here.combine(&weights, &pool).unwrap());
        assert!(there.factor_there(&[1.0, 1.0], 1.0, &device).unwrap().is_none());
    }
}

#[test]
fn same_call_twice_has_the_same_bits() {
    for (_, _, there, device, _) in pairs(|options| Stack::train(&points(200, 1), &kernels(), options).unwrap()) {
        let weights = numbers(KERNELS.len(), 1, 3);
        assert_eq!(there.combine(&weights, &device).unwrap(), there.combine(&weights, &device).unwrap());
        let u = numbers(200, 2, 8);
        let project = || there.project(&[Symmetric::Factored(&u, &u)], &device).unwrap();
        assert_eq!(project(), project());
    }
}

#[test]
fn device_that_is_not_there_says_what_to_do() {
    let error = Device::named("tpu").unwrap_err().to_string();
    assert!(error.contains("cpu or cuda"), "{error}");
    assert!(Device::named("cpu").unwrap().is_none());
    if std::env::var_os("MULTIKERNEL_CUDA").is_none() {
        let error = Device::named("cuda").unwrap_err().to_string();
        assert!(error.contains("cpu"), "{error}");
    }
}

/// The weights of kernels and the decisions on all rows of a model trained with this pool.
fn trained(plan: &Plan, data: &Dataset, pool: &Pool) -> (Vec<f64>, Vec<f64>) {
    let model = plan.train_in(data, &mut Session::new(pool, &mut Silent)).unwrap();
    let weights = model.kernels().weights().unwrap().to_vec();
    (weights, model.predict_in(&data.samples, pool).unwrap().scores.into_data())
}

/// A method, its settings, and the difference allowed.
type Run = (&'static str, &'static [(&'static str, &'static str)], f64);

#[test]
fn methods_learn_the_same_with_a_device() {
    // Half of the rows: the slow device adds number by number.
    let data = bundled("sonar").unwrap().select(&(0..208).step_by(2).collect::<Vec<_>>());
    let runs: [Run; 6] = [
        ("mklr", &[("landmarks", "40")], 1e-6),
        ("svimkl", &[("landmarks", "40"), ("nodes", "4")], 1e-6),
        ("svimkl", &[("nodes", "4"), ("iterations", "9")], 1e-6),
        ("evidence", &[], 1e-8),
        ("bm3kl", &[("chains", "2"), ("warmup", "2"), ("draws", "2")], 1e-6),
        ("bm3kl", &[("chains", "1"), ("warmup", "2"), ("draws", "1"), ("likelihood", "logit")], 1e-6),
    ];
    for (method, settings, close) in runs {
        let mut plan = Plan::new(method).unwrap().kernels("gaussian(2^0..2^4), polynomial(1)").unwrap();
        for (name, value) in settings {
            plan = plan.set(name, value).unwrap();
        }
        let (weights, decisions) = trained(&plan, &data, &Pool::new(2).unwrap());
        for device in devices() {
            let there = trained(&plan, &data, &Pool::new(2).unwrap().with_device(device));
            assert_close(&there.0, &weights, close, method);
            assert_close(&there.1, &decisions, close, method);
        }
    }
}

#[test]
fn what_is_on_a_device_can_be_dropped_by_any_thread() {
    for (_, _, there, device, _) in pairs(|options| Stack::train(&points(40, 1), &kernels(), options).unwrap()) {
        let weights = numbers(KERNELS.len(), 1, 3);
        let found = there.combine(&weights, &device).unwrap();
        let rest = there.view(&[1, 2, 3]).unwrap();
        let factor = there.factor_there(&vec![0.1; KERNELS.len()], 9.0, &device).unwrap();
        std::thread::spawn(move || drop((there, factor))).join().unwrap();
        assert_eq!(rest.combine(&weights, &device).unwrap()[0].get(0, 1), found[0].get(1, 2));
    }
}
