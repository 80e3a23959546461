//! Methods that compute kernel weights by a rule: their formulas, written out.

use multikernel::data::{Gram, Labels, Target, bundled, moons, separable};
use multikernel::dist::Rng;
use multikernel::kernel::Kernel;
use multikernel::method::{Alignf, EasyMkl, Evidence, Fheuristic};
use multikernel::plan::{Plan, Registry, Session};
use multikernel::run::{
    Canceller, Control, Explain, Input, Method, Observer, Parameters, Progress, State, Status, Task,
};
use multikernel::stack::{Points, Stack, StackOptions};
use multikernel::{Matrix, Pool};

/// The model of a method.
type ModelOf<M> = <<M as Method>::State as State<M>>::Model;

/// Points with labels, and kernels on them.
struct Case {
    labels: Labels,
    stack: Stack,
    pool: Pool,
}

impl Case {
    fn new(points: &Matrix, labels: &[usize], kernels: &[&str]) -> Case {
        let pool = Pool::new(2).unwrap();
        let kernels: Vec<Kernel> = kernels.iter().map(|text| text.parse().unwrap()).collect();
        // Squared distances are the opposite of a kernel: their matrix has one eigenvalue above zero, and classes lie
        // apart.
        let (all, n) = ((0..points.n_rows()).collect::<Vec<_>>(), points.n_rows());
        let distance = |i: usize, j: usize| points.row(i).iter().zip(points.row(j)).map(|(x, y)| (x - y).powi(2)).sum();
        let mut grams =
            vec!["near", "far"].into_iter().map(|name| (name, Matrix::from_fn(n, n, distance))).collect::<Vec<_>>();
        // Neighbours in a row of samples, and something off the diagonal: not semi-definite, but definite with some
        // noise.
        let apart = |i: usize, j: usize| i.abs_diff(j) as f64;
        let bent = |i: usize, j: usize| (-apart(i, j).powi(2)).exp() - if i == j { 0.35 } else { 0.0 };
        grams.push(("bent", Matrix::from_fn(n, n, bent)));
        let grams: Vec<Gram> = grams.into_iter().map(|(name, values)| Gram::square(name, values).unwrap()).collect();
        let points = Points::from(points).with_grams(&grams, &all).unwrap();
        let stack = Stack::train(&points, &kernels, &StackOptions::new(&pool)).unwrap();
        let texts: Vec<String> = labels.iter().map(|label| format!("class {label}")).collect();
        Case { labels: Labels::new(&texts).unwrap(), stack, pool }
    }

    /// Clouds of `n_classes`, of which the first columns know; a few kernels, one of zeros, and one twice.
    fn clouds(n: usize, n_classes: usize) -> Case {
        let mut rng = Rng::new(4, n_classes as u64);
        let mut noise = || (0..4).map(|_| rng.uniform()).sum::<f64>() - 2.0;
        let labels: Vec<usize> = (0..n).map(|i| i * n_classes / n).collect();
        let shift = |i: usize, j: usize| if j == 0 { labels[i] as f64 } else { 0.0 };
        let points = Matrix::from_fn(n, 4, |i, j| if j == 3 { 0.0 } else { shift(i, j) + noise() });
        let kernels = [
            "gaussian(0.5)",
            "gaussian(2) on [0]",
            "polynomial(2)",
            "gaussian(1) on [1]",
            "linear on [2]",
            "linear on [3] raw",
            "polynomial(2)",
            "linear on [0, 1] raw",
        ];
        Case::new(&points, &labels, &kernels)
    }

    /// A bundled set, every other row, with a bank.
    fn bundled(name: &str, kernels: &[String]) -> Case {
        let data = bundled(name).unwrap();
        let rows: Vec<usize> = (0..data.samples.n_samples()).step_by(2).collect();
        let data = data.select(&rows);
        let mut points = data.samples.features().to_dense().unwrap().into_owned();
        for j in 0..points.n_cols() {
            let column = points.column(j);
            let mean = column.iter().sum::<f64>() / rows.len() as f64;
            let spread = (column.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / rows.len() as f64).sqrt().max(1e-9);
            (0..rows.len()).for_each(|i| points.set(i, j, (column[i] - mean) / spread));
        }
        Case::new(&points, data.labels.codes(), &kernels.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// The model and the values of `figure` that the steps showed.
    fn run<M: Method>(&self, mut method: M, set: &[(&str, &str)], figure: &str) -> (ModelOf<M>, Vec<f64>) {
        set.iter().for_each(|(name, value)| Parameters::set(&mut method, name, value).unwrap());
        let input = Input::Stack(&self.stack);
        let task = Task {
            input,
            labels: &self.labels,
            target: &Target::Classes,
            groups: None,
            views: &[],
            alternatives: &[],
            seed: 1,
            pool: &self.pool,
        };
        let mut state = M::State::init(&method, &task).unwrap();
        let mut shown = vec![];
        for step in 0.. {
            let progress = state.step(&method, &task, &Control::default()).unwrap();
            shown.extend(progress.values.iter().filter(|(name, _)| *name == figure).map(|(_, value)| value));
            assert!(step < 10_000 && progress.status != Status::Cancelled);
            if progress.status == Status::Finished {
                break;
            }
        }
        (state.finish(&method, &task).unwrap(), shown)
    }

    fn weights<M: Method>(&self, method: M, set: &[(&str, &str)]) -> Vec<f64> {
        self.run(method, set, "").0.weights().unwrap().to_vec()
    }

    fn kernel(&self, m: usize) -> Matrix {
        let all: Vec<usize> = (0..self.stack.n_rows()).collect();
        self.stack.block(m, &all, &all).unwrap()
    }

    /// +1 for a class, -1 for the rest: a column for each class, one for two.
    fn signs(&self) -> Vec<Vec<f64>> {
        let n_columns = if self.labels.n_classes() == 2 { 1 } else { self.labels.n_classes() };
        let sign = |class: usize| self.labels.codes().iter().map(move |&code| if code == class { 1.0 } else { -1.0 });
        (0..n_columns).map(|class| sign(class).collect()).collect()
    }

    /// `Y Y'`.
    fn target(&self) -> Matrix {
        let (n, signs) = (self.labels.n_samples(), self.signs());
        Matrix::from_fn(n, n, |i, j| signs.iter().map(|y| y[i] * y[j]).sum())
    }
}

fn inner(a: &Matrix, b: &Matrix) -> f64 {
    a.data().iter().zip(b.data()).map(|(a, b)| a * b).sum()
}

fn centred(k: &Matrix) -> Matrix {
    let n = k.n_rows();
    let mean = |i: usize| k.row(i).iter().sum::<f64>() / n as f64;
    let grand = k.data().iter().sum::<f64>() / (n * n) as f64;
    Matrix::from_fn(n, n, |i, j| k.get(i, j) - mean(i) - mean(j) + grand)
}

fn normalised(values: Vec<f64>) -> Vec<f64> {
    let sum: f64 = values.iter().sum();
    values.into_iter().map(|value| value / sum).collect()
}

fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    let worst = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst <= tolerance, "off by {worst}: {found:?} for {expected:?}");
}

#[test]
fn fheuristic_weighs_by_alignment() {
    for n_classes in [2, 3] {
        let case = Case::clouds(60, n_classes);
        let target = case.target();
        let alignment = |m: usize| {
            let k = case.kernel(m);
            let norm = inner(&k, &k).sqrt();
            if norm > 0.0 { (inner(&k, &target) / (norm * inner(&target, &target).sqrt())).max(0.0) } else { 0.0 }
        };
        let expected = normalised((0..8).map(alignment).collect());
        assert_close(&case.weights(Fheuristic::default(), &[]), &expected, 1e-13);
        assert!(expected[5] == 0.0 && expected[1] > expected[3]);
    }
}

#[test]
fn fheuristic_gives_nothing_to_a_kernel_that_contradicts_the_classes() {
    let points = Matrix::from_vec(4, 1, vec![1.0, 1.2, -1.0, -1.1]).unwrap();
    let case = Case::new(&points, &[0, 0, 1, 1], &["linear raw", "precomputed(far) raw"]);
    assert!(inner(&case.kernel(1), &case.target()) < 0.0);
    assert_eq!(case.weights(Fheuristic::default(), &[]), [1.0, 0.0]);
}

#[test]
fn alignf_meets_the_optimality_conditions() {
    for n_classes in [2, 3] {
        let case = Case::clouds(60, n_classes);
        let kernels: Vec<Matrix> = (0..8).map(|m| centred(&case.kernel(m))).collect();
        let target = centred(&case.target());
        let a: Vec<f64> = kernels.iter().map(|k| inner(k, &target)).collect();
        let w = case.weights(Alignf::default(), &[]);
        assert!((w.iter().sum::<f64>() - 1.0).abs() < 1e-13 && w.iter().all(|&w| w >= 0.0));
        let mw: Vec<f64> = kernels.iter().map(|k| kernels.iter().zip(&w).map(|(l, w)| w * inner(k, l)).sum()).collect();
        // The scale that is best for these weights.
        let scale =
            w.iter().zip(&a).map(|(w, a)| w * a).sum::<f64>() / w.iter().zip(&mw).map(|(w, m)| w * m).sum::<f64>();
        let most = a.iter().copied().fold(0.0, f64::max);
        for m in 0..8 {
            let gradient = a[m] - scale * mw[m];
            let holds = if w[m] > 0.0 { gradient.abs() < 1e-7 * most } else { gradient < 1e-7 * most };
            assert!(holds, "{n_classes} classes, kernel {m} of weight {}: {gradient}", w[m]);
        }
        assert!(w[5] == 0.0 && (w[2] == 0.0 || w[6] == 0.0), "{w:?}");
        assert!(w.iter().filter(|&&w| w > 0.0).count() > 1, "{w:?}");
    }
}

/// The nearest points on the line between the two hulls, by projected gradient steps on either simplex.
fn nearest(k: &Matrix, y: &[f64], lambda: f64) -> Vec<f64> {
    let n = y.len();
    let count = |sign: f64| y.iter().filter(|&&y| y == sign).count() as f64;
    let mut gamma: Vec<f64> = y.iter().map(|&y| 1.0 / count(y)).collect();
    let largest = (0..n).map(|i| (0..n).map(|j| k.get(i, j).abs()).sum::<f64>()).fold(0.0, f64::max);
    for _ in 0..50_000 {
        let gradient = |i: usize| {
            let sum: f64 = (0..n).map(|j| y[j] * k.get(i, j) * gamma[j]).sum();
            (1.0 - lambda) * y[i] * sum + lambda * gamma[i]
        };
        let moved: Vec<f64> = (0..n).map(|i| gamma[i] - gradient(i) / (largest + lambda)).collect();
        for sign in [1.0, -1.0] {
            let mut sorted: Vec<f64> = (0..n).filter(|&i| y[i] == sign).map(|i| moved[i]).collect();
            sorted.sort_by(|a, b| b.total_cmp(a));
            let (mut sum, mut threshold) = (0.0, 0.0);
            for (k, value) in sorted.iter().enumerate() {
                sum += value;
                if value - (sum - 1.0) / (k + 1) as f64 > 0.0 {
                    threshold = (sum - 1.0) / (k + 1) as f64;
                }
            }
            (0..n).filter(|&i| y[i] == sign).for_each(|i| gamma[i] = (moved[i] - threshold).max(0.0));
        }
    }
    gamma
}

#[test]
fn easymkl_weighs_by_the_distance_along_the_margin() {
    for (n_classes, lambda) in [(2, "0.1"), (3, "0.1"), (2, "0.7")] {
        let case = Case::clouds(40, n_classes);
        let kernels: Vec<Matrix> = (0..8).map(|m| case.kernel(m)).collect();
        let n = case.labels.n_samples();
        let mean = Matrix::from_fn(n, n, |i, j| kernels.iter().map(|k| k.get(i, j)).sum::<f64>() / 8.0);
        let mut expected = vec![0.0; 8];
        for y in case.signs() {
            let gamma = nearest(&mean, &y, lambda.parse().unwrap());
            let along = Matrix::from_fn(n, n, |i, j| y[i] * gamma[i] * y[j] * gamma[j]);
            expected.iter_mut().zip(&kernels).for_each(|(sum, k)| *sum += inner(k, &along));
        }
        assert_close(&case.weights(EasyMkl::default(), &[("lambda", lambda)]), &normalised(expected), 1e-4);
    }
}

#[test]
fn easymkl_with_lambda_one_weighs_by_the_distance_of_means() {
    let case = Case::clouds(50, 2);
    let (y, n) = (case.signs().remove(0), 50);
    let counts = [1.0, -1.0].map(|sign| y.iter().filter(|&&y| y == sign).count() as f64);
    let gamma = |i: usize| if y[i] > 0.0 { 1.0 / counts[0] } else { -1.0 / counts[1] };
    let along = Matrix::from_fn(n, n, |i, j| gamma(i) * gamma(j));
    let expected = normalised((0..8).map(|m| inner(&case.kernel(m), &along)).collect());
    assert_close(&case.weights(EasyMkl::default(), &[("lambda", "1")]), &expected, 1e-5);
}

/// Inverse and log-determinant by elimination.
fn inverted(a: &Matrix) -> (Matrix, f64) {
    let n = a.n_rows();
    let mut rows: Vec<Vec<f64>> = (0..n)
        .map(|i| (0..2 * n).map(|j| if j < n { a.get(i, j) } else { f64::from(u8::from(j == n + i)) }).collect())
        .collect();
    let mut log = 0.0;
    for c in 0..n {
        let pivot = (c..n).max_by(|&p, &q| rows[p][c].abs().total_cmp(&rows[q][c].abs())).unwrap();
        rows.swap(c, pivot);
        log += rows[c][c].abs().ln();
        let line: Vec<f64> = rows[c].iter().map(|value| value / rows[c][c]).collect();
        for (r, row) in rows.iter_mut().enumerate() {
            if r != c {
                let factor = row[c];
                row.iter_mut().zip(&line).for_each(|(value, line)| *value -= factor * line);
            }
        }
        rows[c] = line;
    }
    (Matrix::from_fn(n, n, |i, j| rows[i][n + j]), log)
}

#[test]
fn evidence_of_one_update_is_the_formula() {
    for n_classes in [2, 3] {
        let case = Case::clouds(45, n_classes);
        let (n, p) = (45, 8);
        let mut y = case.signs();
        for column in &mut y {
            let mean = column.iter().sum::<f64>() / n as f64;
            column.iter_mut().for_each(|value| *value -= mean);
        }
        let c = y.len() as f64;
        let square = y.iter().flatten().map(|value| value * value).sum::<f64>() / (c * n as f64);
        let y: Vec<Vec<f64>> =
            y.iter().map(|column| column.iter().map(|value| value / square.sqrt()).collect()).collect();
        let kernels: Vec<Matrix> = (0..p).map(|m| case.kernel(m)).collect();
        let model = |d: &[f64], s: f64| {
            let sum = |i: usize, j: usize| kernels.iter().zip(d).map(|(k, d)| d * k.get(i, j)).sum::<f64>();
            let (h, log) = inverted(&Matrix::from_fn(n, n, |i, j| sum(i, j) + if i == j { s } else { 0.0 }));
            let a: Vec<Vec<f64>> =
                y.iter().map(|y| h.rows().map(|row| row.iter().zip(y).map(|(h, y)| h * y).sum()).collect()).collect();
            let fit: f64 = a.iter().zip(&y).map(|(a, y)| a.iter().zip(y).map(|(a, y)| a * y).sum::<f64>()).sum();
            let constant = n as f64 * (2.0 * std::f64::consts::PI).ln();
            (h, a, -0.5 * (c * (log + constant) + fit))
        };
        // No two kernels here have one form but the two on single columns that are `gaussian`, and `linear`.
        let start = [1.0, 0.5, 1.0, 0.5, 1.0, 1.0, 1.0, 1.0].map(|share| share / 7.0);
        let (h, a, before) = model(&start, 0.1);
        let outer = Matrix::from_fn(n, n, |i, j| a.iter().map(|a| a[i] * a[j]).sum::<f64>() / c);
        let ratio = |k: &Matrix| if inner(k, &h) > 0.0 { inner(k, &outer) / inner(k, &h) } else { 0.0 };
        let trace = |m: &Matrix| (0..n).map(|i| m.get(i, i)).sum::<f64>();
        let updated: Vec<f64> = kernels.iter().zip(start).map(|(k, d)| d * ratio(k)).collect();
        let (_, _, after) = model(&updated, 0.1 * trace(&outer) / trace(&h));
        let set = [("iterations", "1"), ("own", "1")];
        let (machine, shown) = case.run(Evidence::default(), &set, "evidence");
        assert_close(machine.weights().unwrap(), &normalised(updated), 1e-10);
        let facts = machine.facts();
        let told = |name: &str| facts.iter().find(|(fact, _)| fact == name).unwrap().1.clone();
        assert!((shown[0] - before).abs() < 1e-9 * before.abs(), "{} for {before}", shown[0]);
        assert_eq!(told("log evidence"), format!("{before:.2} at the start, {after:.2} after 1 updates (0 damped)"));
        assert_eq!(told("noise"), format!("{:.3e}", 0.1 * trace(&outer) / trace(&h)));
    }
}

fn bank(texts: &[&str]) -> Vec<String> {
    let widths: Vec<String> = (-3..4).map(|k| format!("gaussian({})", f64::powi(2.0, k))).collect();
    widths
        .into_iter()
        .chain(["polynomial(1)".into(), "polynomial(2)".into()])
        .chain(texts.iter().map(|t| t.to_string()))
        .collect()
}

/// The bank on all columns, and on each single one.
fn each(n_columns: usize) -> Vec<String> {
    let all = bank(&[]);
    let single = (0..n_columns).flat_map(|j| all.iter().map(move |kernel| format!("{kernel} on [{j}]")));
    all.iter().cloned().chain(single).collect()
}

#[test]
fn evidence_rises_with_every_update() {
    let twice: Vec<String> = bank(&[]).into_iter().chain(bank(&["linear on [0] raw", "linear on [0] raw"])).collect();
    let cases = [
        ("ionosphere", bank(&[])),
        ("sonar", each(60)),
        ("wdbc", each(5)),
        ("glass6", twice),
        ("vehicle", bank(&["linear centred", "gaussian(1e-3)", "gaussian(1e6)"])),
    ];
    for (name, kernels) in cases {
        let case = Case::bundled(name, &kernels);
        for own in ["0", "2", "40"] {
            let (machine, shown) = case.run(Evidence::default(), &[("iterations", "40"), ("own", own)], "evidence");
            // The last update ends the rule, and is told by the model.
            assert_eq!(shown.len(), 40, "{name}");
            assert!(shown.windows(2).all(|pair| pair[0] < pair[1]), "{name}, {} kernels: {shown:?}", kernels.len());
            assert!(shown[39] - shown[0] > 5.0, "{name}: {shown:?}");
            let weights = machine.weights().unwrap();
            assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12 && weights.iter().all(|&w| w >= 0.0));
            assert!(machine.warnings().is_empty(), "{:?}", machine.warnings());
        }
    }
}

#[test]
fn evidence_shares_weights_between_columns_until_the_last_updates() {
    let case = Case::bundled("wdbc", &each(5));
    let shared = case.weights(Evidence::default(), &[("own", "0")]);
    for k in 0..9 {
        assert!((1..6).all(|column| shared[9 * column + k] == shared[9 + k]), "{shared:?}");
    }
    assert!(shared[0] != shared[9]);
    let own = case.weights(Evidence::default(), &[]);
    assert!((1..6).any(|column| own[9 * column] != own[9]), "{own:?}");
}

#[test]
fn evidence_of_a_kernel_that_is_not_semidefinite_leaves_it_out() {
    let points = bundled("sonar").unwrap();
    let rows = points.samples.features().to_dense().unwrap().into_owned();
    let labels = points.labels.codes();
    let kernels = ["gaussian(1)", "precomputed(far) raw", "polynomial(2)"];
    let (machine, shown) = Case::new(&rows, labels, &kernels).run(Evidence::default(), &[], "evidence");
    let weights = machine.weights().unwrap();
    assert!(weights[0] > 0.0 && weights[1] == 0.0 && weights[2] > 0.0, "{weights:?}");
    let text = "kernels that are not positive semi-definite have no evidence and get no weight: 1 (counted from 0)";
    assert_eq!(machine.warnings(), [text]);
    let without = Case::new(&rows, labels, &["gaussian(1)", "polynomial(2)"]).run(Evidence::default(), &[], "evidence");
    assert_close(&[weights[0], weights[2]], without.0.weights().unwrap(), 1e-12);
    assert_close(&shown, &without.1, 1e-9 * shown[0].abs());
    // Nothing is left: all get the same weight, and the user is told why.
    let machine = Case::new(&rows, labels, &["precomputed(far) raw", "precomputed(near) raw"])
        .run(Evidence::default(), &[], "")
        .0;
    assert_eq!(machine.weights().unwrap(), [0.5, 0.5]);
    assert!(
        machine.warnings()[0]
            .starts_with("no kernel is positive semi-definite, so none has evidence; every kernel has the weight 1/2")
    );
}

#[test]
fn evidence_that_would_fall_is_climbed_in_smaller_steps_and_then_no_more() {
    let labels: Vec<usize> = (0..24).map(|i| usize::from(i % 3 == 0)).collect();
    let case = Case::new(&Matrix::zeros(24, 1), &labels, &["precomputed(bent) raw"]);
    let (machine, shown) = case.run(Evidence::default(), &[], "evidence");
    assert!(shown.len() == 3 && shown[0] < shown[1] && shown[1] < shown[2], "{shown:?}");
    let facts = machine.facts();
    let told = &facts.iter().find(|(name, _)| name == "log evidence").unwrap().1;
    assert!(told.ends_with(" after 2 updates (1 damped), then none was left that raises it"), "{told}");
}

#[test]
fn rules_with_a_class_of_one_row_or_nothing_to_see_still_give_a_model() {
    let points = Matrix::from_fn(12, 2, |i, j| ((i * 7 + j * 3) % 5) as f64);
    let cases = [
        (Case::new(&points, &[0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2], &["gaussian(1)", "linear"]), false),
        (Case::new(&points, &[0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1], &["gaussian(1)"]), false),
        (Case::new(&Matrix::zeros(6, 1), &[0, 1, 0, 1, 0, 1], &["linear raw", "linear raw"]), true),
    ];
    for (case, nothing) in cases {
        let found: [Box<dyn Explain>; 5] = [
            Box::new(case.run(Fheuristic::default(), &[], "").0),
            Box::new(case.run(Alignf::default(), &[], "").0),
            Box::new(case.run(EasyMkl::default(), &[], "").0),
            Box::new(case.run(Evidence::default(), &[], "").0),
            Box::new(case.run(Evidence::default(), &[("landmarks", "8")], "").0),
        ];
        for machine in found {
            let weights = machine.weights().unwrap();
            assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{weights:?}");
            assert_eq!(
                machine.warnings().iter().any(|text| text.contains("found no kernel")),
                nothing,
                "{:?}",
                machine.warnings()
            );
        }
    }
}

#[test]
fn rules_are_registered() {
    let names = Registry::standard().names();
    assert!(["fheuristic", "alignf", "easymkl", "evidence"].iter().all(|name| names.contains(name)));
}

/// Cancels after the first step of the method.
struct CancelAfterOne(Canceller);

impl Observer for CancelAfterOne {
    fn progress(&mut self, progress: &Progress) {
        // Kernels count values, of which there are many.
        if progress.total < 100 {
            self.0.cancel();
        }
    }
}

#[test]
fn rule_that_is_stopped_gives_an_svm_on_some_of_many_rows() {
    let pool = Pool::new(2).unwrap();
    for (rows, said) in [(moons(1500, 0.1, 0), true), (separable(300, 0), false)] {
        let rows = rows.unwrap();
        let control = Control::default();
        let mut observer = CancelAfterOne(control.canceller());
        let mut session = Session::new(&pool, &mut observer);
        session.control = control;
        let model = Plan::new("fheuristic").unwrap().train_in(&rows, &mut session).unwrap();
        let warnings = model.training().warnings().join("; ");
        assert!(warnings.contains("stopped before the kernel weights were learned"), "{warnings}");
        assert_eq!(warnings.contains("the SVM saw 1000 of 1500 rows"), said, "{warnings}");
        let right = model.predict(&rows.samples).unwrap().labels;
        let right = right.iter().zip(rows.labels.codes()).filter(|(a, b)| a == b).count();
        assert!(right as f64 > 0.95 * rows.samples.n_samples() as f64, "{right}");
    }
}
