//! Conformance suites that every kernel and every method must pass, built-in or your own.
//!
//! Call them from your own tests; on failure, each returns a sentence that says what failed.
//!
//! ```
//! use multikernel::{method::Average, testing};
//! testing::check_kernel(&"gaussian(0.5)".parse()?)?;
//! testing::check_method(Average::default())?;
//! # Ok::<(), multikernel::Error>(())
//! ```

use std::path::PathBuf;

use crate::data::{Dataset, Labels, Numbers, Samples, Target, Times, bundled};
use crate::dist::Rng;
use crate::error::{Error, Result};
use crate::features::Features;
use crate::kernel::{Columns, Families, Kernel};
use crate::linalg::Matrix;
use crate::plan::{Model, Plan, Registry, Session};
use crate::pool::Pool;
use crate::run::{Canceller, Checkpoint, Control, Method, Observer, Progress, Silent};
use crate::stack::{Stack, StackOptions};

fn ensure(holds: bool, message: impl FnOnce() -> String) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::input(message())) }
}

/// Checks a kernel: symmetric, positive semi-definite (unless declared otherwise), its diagonal, column subsets equal
/// to the kernel on those columns alone, the text form, and entries that do not depend on their neighbours.
pub fn check_kernel(kernel: &Kernel) -> Result<()> {
    let pool = Pool::new(2)?;
    let options = StackOptions::new(&pool);
    let (n, d) = (40, 12);
    let points = Features::from(random_points(n, d));
    let gram_of = |points: &Features, kernel: &Kernel| -> Result<Matrix> {
        let all: Vec<usize> = (0..points.n_rows()).collect();
        Stack::train(points, std::slice::from_ref(kernel), &options)?.block(0, &all, &all)
    };
    let gram = gram_of(&points, kernel)?;
    for i in 0..n {
        for j in 0..n {
            let (a, b) = (gram.get(i, j), gram.get(j, i));
            ensure(a.is_finite(), || format!("{kernel}: entry ({i}, {j}) is {a}"))?;
            ensure(a.to_bits() == b.to_bits(), || format!("{kernel}: entry ({i}, {j}) is {a} but ({j}, {i}) is {b}"))?;
        }
        let unit = !kernel.has_unit_diagonal() || kernel.is_centred() || gram.get(i, i) == 1.0;
        ensure(unit, || format!("{kernel}: diagonal entry {i} is {}, not 1", gram.get(i, i)))?;
    }
    if kernel.is_positive_semidefinite() {
        let scale = (0..n).map(|i| gram.get(i, i)).fold(0.0, f64::max);
        ensure(is_positive_semidefinite(&gram, 1e-12 * scale * n as f64), || {
            format!("{kernel}: not positive semi-definite")
        })?;
    }
    check_columns(kernel, &points, &gram, gram_of)?;
    check_new_points(kernel, &points, &gram, &options)?;
    let text = kernel.to_string();
    let read = Families::standard().with(kernel.family()).kernel(&text)?;
    ensure(read == *kernel, || format!("{kernel}: its text `{text}` reads back as another kernel"))
}

/// A kernel on some columns must equal the same kernel on data with only those columns, and must not see the others.
fn check_columns(
    kernel: &Kernel,
    points: &Features,
    gram: &Matrix,
    gram_of: impl Fn(&Features, &Kernel) -> Result<Matrix>,
) -> Result<()> {
    let columns = kernel.columns().indices(points.n_cols());
    let alone = gram_of(&points.select_cols(&columns), &kernel.clone().on(Columns::all())?)?;
    ensure(alone == *gram, || format!("{kernel}: differs from the same kernel on those columns alone"))
}

/// New points equal to training points must get the training values, in any order.
fn check_new_points(kernel: &Kernel, points: &Features, gram: &Matrix, options: &StackOptions<'_>) -> Result<()> {
    let kernels = std::slice::from_ref(kernel);
    let train = Stack::train(points, kernels, options)?;
    let order: Vec<usize> = (0..points.n_rows()).rev().collect();
    let all: Vec<usize> = (0..points.n_rows()).collect();
    let cross =
        Stack::cross(&points.select_rows(&order), points, kernels, train.centring(), options)?.block(0, &all, &all)?;
    for (row, &i) in cross.rows().zip(&order) {
        // Centring subtracts means that are rounded in a different order for new rows.
        let tolerance = if kernel.is_centred() {
            1e-12 * (1.0 + gram.row(i).iter().fold(0.0, |m: f64, v| m.max(v.abs())))
        } else {
            0.0
        };
        for (j, (new, old)) in row.iter().zip(gram.row(i)).enumerate() {
            ensure((new - old).abs() <= tolerance, || {
                format!("{kernel}: entry ({i}, {j}) is {old} in training but {new} for a new row")
            })?;
        }
    }
    Ok(())
}

fn random_points(n: usize, d: usize) -> Matrix {
    let mut rng = Rng::new(11, 0);
    // Sums of uniforms, a few repeated rows, and one column of zeros and ones.
    let mut points = Matrix::from_fn(n, d, |_, _| (0..4).map(|_| rng.uniform()).sum::<f64>() - 2.0);
    for i in 0..n {
        points.set(i, d - 1, (i % 2) as f64);
    }
    let first = points.row(0).to_vec();
    points.row_mut(n - 1).copy_from_slice(&first);
    points
}

/// Whether a symmetric matrix plus `shift` on the diagonal has a Cholesky factor.
fn is_positive_semidefinite(matrix: &Matrix, shift: f64) -> bool {
    let n = matrix.n_rows();
    let mut factor = Matrix::zeros(n, n);
    for i in 0..n {
        for j in 0..=i {
            let mut rest = matrix.get(i, j) - (0..j).map(|k| factor.get(i, k) * factor.get(j, k)).sum::<f64>();
            if i == j {
                rest += shift;
                if rest <= 0.0 {
                    return false;
                }
                factor.set(i, i, rest.sqrt());
            } else {
                factor.set(i, j, rest / factor.get(j, j));
            }
        }
    }
    true
}

/// Checks a method on two, six and eight classes: bit-identical results on 1, 2 and 4 threads; permuted rows give
/// permuted results; a saved and reloaded model is equal; a run stopped anywhere and resumed is equal; and bad input is
/// refused. A method that needs no labels must accept a single class. The same for numbers and for times, if the method
/// predicts them; if not, it must refuse them.
pub fn check_method(method: impl Method) -> Result<()> {
    check_method_with(method, &[])
}

/// [`check_method`] with some parameters set (name and value), for methods that are slow with their defaults.
pub fn check_method_with(method: impl Method, settings: &[(&str, &str)]) -> Result<()> {
    check_on(method, settings, &[every_third("ionosphere")?, every_third("glass6")?, many_classes()?], false)
}

/// [`check_method_with`] for parameters with which a method predicts classes alone: it must refuse other targets.
pub fn check_method_of_classes_with(method: impl Method, settings: &[(&str, &str)]) -> Result<()> {
    check_on(method, settings, &[every_third("ionosphere")?, every_third("glass6")?, many_classes()?], true)
}

/// [`check_method_with`] for two-class methods: passes on two classes and refuses more.
pub fn check_two_class_method_with(method: impl Method, settings: &[(&str, &str)]) -> Result<()> {
    check_on(method.clone(), settings, &[every_third("ionosphere")?], false)?;
    let name = Method::about(&method).name;
    let registry = Registry::standard().with(method);
    let refused = Plan::from_registry(&registry, name)?.train(&every_third("glass6")?).is_err();
    ensure(refused, || format!("{name} on six classes was accepted"))
}

fn check_on(method: impl Method, settings: &[(&str, &str)], sets: &[Dataset], classes_alone: bool) -> Result<()> {
    let name = Method::about(&method).name;
    let registry = Registry::standard().with(method);
    let plan = Plan::from_registry(&registry, name)?.seed(5);
    let plan = settings.iter().try_fold(plan, |plan, (name, value)| plan.set(name, value))?;
    let folder = Scratch::new()?;
    let numbers = if plan.params().method().takes_counts() { some_counts()? } else { some_numbers()? };
    let others = [numbers, some_times()?];
    let (able, unable): (Vec<&Dataset>, _) =
        others.iter().partition(|data| !classes_alone && plan.targets().contains(&data.target.kind()));
    for data in unable {
        ensure(train(&plan, data, 1).is_err(), || format!("{name} on {}: was accepted", data.name))?;
    }
    for data in sets.iter().chain(able) {
        let fault = |error: Error| Error::input(format!("{name} on {}: {error}", data.name));
        check_equalities(&plan, &registry, data, &folder).map_err(fault)?;
        check_resume(&plan, data, &folder).map_err(fault)?;
        check_refusals(&plan, data).map_err(fault)?;
    }
    Ok(())
}

/// Enough rows for all six classes of glass6, few enough for a slow method.
fn every_third(set: &str) -> Result<Dataset> {
    let data = bundled(set)?;
    Ok(data.select(&(0..data.samples.n_samples()).step_by(3).collect::<Vec<_>>()))
}

/// Eight overlapping clouds on a circle: 28 pairs of classes, so that pairwise methods need several steps.
fn many_classes() -> Result<Dataset> {
    let mut rng = Rng::new(12, 0);
    let angle = |i: usize| (i % 8) as f64 * std::f64::consts::TAU / 8.0;
    let points = Matrix::from_fn(64, 2, |i, j| {
        let centre = if j == 0 { angle(i).cos() } else { angle(i).sin() };
        centre + (0..4).map(|_| rng.uniform()).sum::<f64>() - 2.0
    });
    let labels: Vec<String> = (0..64).map(|i| format!("class {}", i % 8)).collect();
    Dataset::new("eight clouds", Samples::unnamed(points)?, Labels::new(&labels)?)
}

/// Two numbers that follow from four columns, with noise.
fn some_numbers() -> Result<Dataset> {
    let mut rng = Rng::new(13, 0);
    let points = Matrix::from_fn(60, 4, |_, _| rng.uniform() - 0.5);
    let values = Matrix::from_fn(60, 2, |i, t| {
        let row = points.row(i);
        50.0 + [4.0 * row[0] * row[1] + row[2], 30.0 * row[3]][t] + 0.1 * rng.uniform()
    });
    Dataset::of_numbers("two numbers", Samples::unnamed(points)?, Numbers::new(vec!["a".into(), "b".into()], values)?)
}

/// The same numbers, rounded down.
fn some_counts() -> Result<Dataset> {
    let data = some_numbers()?;
    let values = data.target.numbers().map(|numbers| numbers.values().clone()).unwrap_or_default();
    let values = Matrix::from_fn(values.n_rows(), values.n_cols(), |i, t| (values.get(i, t) - 30.0).floor());
    Dataset::of_numbers("two counts", data.samples, Numbers::new(vec!["a".into(), "b".into()], values)?)
}

/// Times with ties, a third of them censored, that are shorter where the first column is large.
fn some_times() -> Result<Dataset> {
    let mut rng = Rng::new(14, 0);
    let points = Matrix::from_fn(60, 3, |_, _| rng.uniform() - 0.5);
    let time = (0..60).map(|i| (10.0 * (rng.uniform() - points.get(i, 0) + 0.6)).ceil()).collect();
    let event = (0..60).map(|i| i % 3 > 0).collect();
    Dataset::of_times("times", Samples::unnamed(points)?, Times::new(time, event)?)
}

/// Everything a model predicts, a row for each sample: labels and scores; numbers and deviations; risks and survival.
fn predicted(model: &Model, samples: &Samples, pool: &Pool) -> Result<(Vec<usize>, Matrix)> {
    let beside = |a: &Matrix, b: &Matrix| {
        let at = |i: usize, j: usize| if j < a.n_cols() { a.get(i, j) } else { b.get(i, j - a.n_cols()) };
        Matrix::from_fn(a.n_rows(), a.n_cols() + b.n_cols(), at)
    };
    if let Some(numbers) = model.numbers() {
        let found = numbers.predict_in(samples, pool)?;
        let deviations = numbers.deviations_in(samples, pool)?;
        return Ok((vec![], deviations.map_or_else(|| found.clone(), |deviations| beside(&found, &deviations))));
    }
    if let Some(times) = model.times() {
        let risks = times.risks_in(samples, pool)?;
        let survival = times.survival_in(samples, &[2.0, 7.0], pool)?;
        return Ok((vec![], beside(&Matrix::from_vec(risks.len(), 1, risks)?, &survival)));
    }
    model.predict_in(samples, pool).map(|found| (found.labels, found.scores))
}

fn train(plan: &Plan, data: &Dataset, n_threads: usize) -> Result<Model> {
    plan.train_in(data, &mut Session::new(&Pool::new(n_threads)?, &mut Silent))
}

fn bytes(model: &Model, path: &PathBuf) -> Result<Vec<u8>> {
    model.save(path)?;
    std::fs::read(path).map_err(|error| Error::io("read", path, error))
}

fn check_equalities(plan: &Plan, registry: &Registry, data: &Dataset, folder: &Scratch) -> Result<()> {
    let path = folder.path("model");
    let model = train(plan, data, 1)?;
    let (saved, one) = (bytes(&model, &path)?, predicted(&model, &data.samples, &Pool::new(1)?)?);
    for n_threads in [2, 4] {
        let again = train(plan, data, n_threads)?;
        ensure(bytes(&again, &path)? == saved, || {
            format!("the model on {n_threads} threads differs from the one on 1")
        })?;
        let many = predicted(&again, &data.samples, &Pool::new(n_threads)?)?;
        ensure(many == one, || format!("predictions on {n_threads} threads differ from those on 1"))?;
    }
    let n = data.samples.n_samples();
    let mut order: Vec<usize> = (0..n).collect();
    Rng::new(3, 0).shuffle(&mut order);
    let permuted = predicted(&model, &data.samples.select_rows(&order), &Pool::new(2)?)?;
    let expected: Vec<usize> = order.iter().filter_map(|&i| one.0.get(i).copied()).collect();
    let holds = permuted.0 == expected && permuted.1 == one.1.select_rows(&order);
    ensure(holds, || "permuted rows do not give permuted predictions".into())?;
    for i in [0, n / 2, n - 1] {
        let single = predicted(&model, &data.samples.select_rows(&[i]), &Pool::new(1)?)?;
        ensure(single.1.row(0) == one.1.row(i), || format!("row {i} alone gets other scores than among others"))?;
    }
    std::fs::write(&path, &saved).map_err(|error| Error::io("write", &path, error))?;
    let loaded = Model::load_with(&path, registry)?;
    ensure(predicted(&loaded, &data.samples, &Pool::new(2)?)? == one, || "a loaded model predicts otherwise".into())?;
    ensure(bytes(&loaded, &path)? == saved, || "a loaded model saves other bytes".into())
}

/// Cancels a run after a given number of steps.
struct StopAfter {
    steps: u64,
    canceller: Canceller,
    heard: u64,
    method: &'static str,
    in_method: bool,
}

impl Observer for StopAfter {
    fn phase(&mut self, name: &str) {
        self.in_method = name == self.method;
    }

    fn progress(&mut self, _: &Progress) {
        self.heard += u64::from(self.in_method);
        if self.in_method && self.heard == self.steps {
            self.canceller.cancel();
        }
    }
}

fn check_resume(plan: &Plan, data: &Dataset, folder: &Scratch) -> Result<()> {
    let pool = Pool::new(2)?;
    let path = folder.path("model");
    let stop_after = |steps: u64, checkpoint: Option<Checkpoint>| -> Result<(u64, Result<Model>)> {
        let control = Control::default();
        let mut observer =
            StopAfter { steps, canceller: control.canceller(), heard: 0, method: plan.name(), in_method: false };
        let mut session = Session { control, checkpoint, ..Session::new(&pool, &mut observer) };
        let model = plan.train_in(data, &mut session);
        Ok((observer.heard, model))
    };
    let (total, whole) = stop_after(u64::MAX, None)?;
    let whole = bytes(&whole?, &path)?;
    let mut stops: Vec<u64> =
        [1, 2, total / 3, total / 2, total.saturating_sub(1)].into_iter().filter(|&at| at > 0 && at < total).collect();
    stops.dedup();
    for at in stops {
        let checkpoint = Checkpoint::new(folder.path("checkpoint"));
        let (_, part) = stop_after(at, Some(checkpoint.clone()))?;
        ensure(!part?.training().is_finished(), || {
            format!("a run stopped after step {at} of {total} says it finished")
        })?;
        let (_, rest) = stop_after(u64::MAX, Some(Checkpoint { resume: true, ..checkpoint.clone() }))?;
        ensure(bytes(&rest?, &path)? == whole, || {
            format!("stopped after step {at} of {total} and resumed, the model differs")
        })?;
        std::fs::remove_file(&checkpoint.path).map_err(|error| Error::io("remove", &checkpoint.path, error))?;
    }
    Ok(())
}

fn check_refusals(plan: &Plan, data: &Dataset) -> Result<()> {
    let refused = |what: &str, result: Result<Model>| ensure(result.is_err(), || format!("{what} was accepted"));
    let first = data.labels.codes()[0];
    let one_class: Vec<usize> = (0..data.samples.n_samples()).filter(|&i| data.labels.codes()[i] == first).collect();
    if data.target != Target::Classes {
        // There is no class to lack.
    } else if plan.is_supervised() {
        refused("a single class", train(plan, &data.select(&one_class), 1))?;
        refused("a single row", train(plan, &data.select(&[0]), 1))?;
    } else {
        train(plan, &data.select(&one_class), 1)?;
    }
    let mut boundless = data.samples.features().to_dense()?.into_owned();
    boundless.set(1, 0, f64::INFINITY);
    ensure(Samples::unnamed(boundless).is_err(), || "a row with an infinite value was accepted".into())?;
    let model = train(plan, data, 1)?;
    let fewer: Vec<usize> = (1..data.samples.n_features()).collect();
    let fewer = Samples::unnamed(data.samples.features().select_cols(&fewer))?;
    ensure(predicted(&model, &fewer, &Pool::new(1)?).is_err(), || "rows with a feature too few were accepted".into())
}

/// A folder that is removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Scratch> {
        static COUNT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("multikernel-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&path).map_err(|error| Error::io("create", &path, error))?;
        Ok(Scratch(path))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}
