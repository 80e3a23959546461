//! Partitions against one machine: the same objective, gradients and optimum, whatever the cut; and what is refused.

use std::time::Duration;

use super::*;
use crate::Pool;
use crate::data::{Column, LogChoice, Recipe, Scale, Times, View, bundled, samples_of_columns};
use crate::dist::{Rng, normal};
use crate::run::{Canceller, Checkpoint, Control, Observer, Progress, Silent};

/// Partitions in this process.
struct Here<'a> {
    sets: Vec<Dataset>,
    pool: &'a Pool,
    /// Changes a set before this question.
    change: Option<usize>,
    asked: usize,
}

impl Partitions for Here<'_> {
    fn ask(&mut self, setup: &[u8], request: &[u8], take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        if self.change == Some(self.asked) {
            let rows: Vec<usize> = (0..self.sets[1].samples.n_samples()).rev().collect();
            self.sets[1] = self.sets[1].select(&rows);
        }
        self.asked += 1;
        for (number, rows) in self.sets.iter().enumerate() {
            take(&answer(setup, request, number, rows, self.pool)?)?;
        }
        Ok(())
    }
}

fn cut(data: &Dataset, ends: &[usize]) -> Vec<Dataset> {
    let mut start = 0;
    let mut part = |&end: &usize| {
        let rows: Vec<usize> = (start..end).collect();
        start = end;
        data.select(&rows)
    };
    ends.iter().map(&mut part).collect()
}

fn trained(plan: &Plan, sets: Vec<Dataset>, threads: usize) -> Result<Model> {
    let pool = Pool::new(threads).unwrap();
    let mut here = Here { sets, pool: &pool, change: None, asked: 0 };
    plan.train_partitions("rows", &mut here, &mut Session::new(&pool, &mut Silent))
}

/// Rows with numbers that depend on two of three columns, and gaps.
fn numbers(n: usize, counts: bool) -> Dataset {
    let mut rng = Rng::new(3, 0);
    let x = Matrix::from_fn(n, 3, |i, j| if i % 17 == 3 && j == 2 { f64::NAN } else { 2.0 * normal(&mut rng) + 5.0 });
    let y = Matrix::from_fn(n, 1, |i, _| {
        let f = (x.get(i, 0) - 5.0).sin() + 0.3 * (x.get(i, 1) - 5.0);
        if counts { (f.exp() + rng.uniform()).floor() } else { 100.0 + 10.0 * f + normal(&mut rng) }
    });
    Dataset::of_numbers("rows", Samples::unnamed(x).unwrap(), Numbers::new(vec!["y".into()], y).unwrap()).unwrap()
}

/// Rows whose events come the earlier the larger the first column, with ties, rows censored before the first event and
/// after the last, and gaps.
fn times(n: usize) -> Dataset {
    let (set, mut rng) = (numbers(n, false), Rng::new(5, 0));
    let x = set.samples.features().to_dense().unwrap().into_owned();
    let time = (0..n).map(|i| (40.0 * (-0.5 * (x.get(i, 0) - 5.0)).exp() * rng.uniform()).ceil()).collect();
    let event = (0..n).map(|i| i % 3 > 0).collect();
    Dataset::of_times("rows", set.samples, Times::new(time, event).unwrap()).unwrap()
}

fn mklr(settings: &[(&str, &str)]) -> Plan {
    let plan = Plan::new("mklr").unwrap().kernels("gaussian(0.5, 1, 2), linear").unwrap();
    settings.iter().fold(plan, |plan, (name, value)| plan.set(name, value).unwrap())
}

/// All rows are points: the landmarks then are those of one machine, and so is the optimum. The objective is strictly
/// convex in the functions, and both runs end where a step gains less than `tol` of it.
#[test]
fn model_of_partitions_is_that_of_one_machine() {
    let few = |data: Dataset| data.select(&(0..data.samples.n_samples()).step_by(3).collect::<Vec<_>>());
    let mut rng = Rng::new(8, 0);
    let x = Matrix::from_fn(90, 2, |i, j| normal(&mut rng) + if i % 3 == j { 2.0 } else { 0.0 });
    let labels = Labels::new(&(0..90).map(|i| ["b", "c", "a"][i % 3]).collect::<Vec<_>>()).unwrap();
    let three = Dataset::new("three", Samples::unnamed(x).unwrap(), labels).unwrap();
    for (data, settings) in [
        (few(bundled("sonar").unwrap()), vec![]),
        (three, vec![]),
        (numbers(80, false), vec![]),
        (numbers(80, true), vec![("loss", "poisson")]),
        (times(80), vec![]),
    ] {
        let plan = mklr(&[&settings[..], &[("tol", "1e-12")]].concat());
        let n = data.samples.n_samples();
        let (whole, parts) = (plan.train(&data).unwrap(), trained(&plan, cut(&data, &[40, 41, 60, n]), 1).unwrap());
        assert_eq!(parts.training().n_samples(), n);
        assert_eq!(parts.classes(), whole.classes());
        let scores = |model: &Model| match model.numbers() {
            Some(numbers) => numbers.predict(&data.samples).unwrap(),
            None if model.times().is_some() => {
                Matrix::from_vec(n, 1, model.times().unwrap().risks(&data.samples).unwrap()).unwrap()
            }
            None => model.predict(&data.samples).unwrap().scores,
        };
        let (found, expected) = (scores(&parts), scores(&whole));
        let size = expected.data().iter().fold(0.0f64, |size, value| size.max(value.abs()));
        for (found, expected) in found.data().iter().zip(expected.data()) {
            assert!((found - expected).abs() < 1e-3 * size, "{}: {found} {expected}", data.name);
        }
    }
}

/// Survival curves need the baseline hazard of all rows.
#[test]
fn curves_of_partitions_are_those_of_one_machine() {
    let (data, rng) = (times(90), &mut Rng::new(6, 0));
    let mut order: Vec<usize> = (0..90).collect();
    rng.shuffle(&mut order);
    let mixed = data.select(&order);
    for method in ["mklr", "svimkl"] {
        let plan = Plan::new(method).unwrap().kernels("gaussian(1, 2)").unwrap();
        let plan = if method == "svimkl" { plan.set("nodes", "4").unwrap() } else { plan };
        // Rounding may end one of the runs a step earlier.
        let plan = plan.set("tol", "1e-12").unwrap();
        let whole = plan.train(&data).unwrap();
        for (set, ends) in [(&data, &[90][..]), (&data, &[30, 31, 90]), (&mixed, &[5, 20, 33, 47, 47, 80, 90])] {
            let parts = trained(&plan, cut(set, ends), 1).unwrap();
            let (found, expected) = (parts.times().unwrap(), whole.times().unwrap());
            assert_eq!(found.baseline().0, expected.baseline().0);
            let at = [2.0, 10.0, 25.0, 60.0];
            let (found, expected) =
                (found.survival(&data.samples, &at).unwrap(), expected.survival(&data.samples, &at).unwrap());
            for (found, expected) in found.data().iter().zip(expected.data()) {
                assert!((found - expected).abs() < 1e-3, "{method} {ends:?}: {found} {expected}");
            }
        }
    }
}

/// Two groups of rows: in one the class is the side of a line, in the other of another.
fn two_groups(n: usize) -> Dataset {
    let mut rng = Rng::new(12, 0);
    let x = Matrix::from_fn(n, 2, |i, j| normal(&mut rng) + if i % 2 == j { 8.0 } else { 0.0 });
    let class = |i: usize| {
        let near = |j: usize| x.get(i, j) - if i % 2 == j { 8.0 } else { 0.0 };
        if near(i % 2) > 0.0 { "up" } else { "down" }
    };
    let labels = Labels::new(&(0..n).map(class).collect::<Vec<_>>()).unwrap();
    Dataset::new("groups", Samples::unnamed(x.clone()).unwrap(), labels).unwrap()
}

#[test]
fn clusters_and_their_machines_are_found_in_partitions() {
    let data = two_groups(3000);
    let few = [("frequencies", "48"), ("sweeps", "5"), ("epochs", "3"), ("start", "6")];
    let cik = few.iter().fold(Plan::new("cik").unwrap(), |plan, (name, value)| plan.set(name, value).unwrap());
    let dpm = few[1..].iter().filter(|(name, _)| *name != "epochs");
    let dpm = dpm.fold(Plan::new("dpm").unwrap(), |plan, (name, value)| plan.set(name, value).unwrap());
    for (plan, least) in [(&cik, 2850), (&dpm, 0)] {
        let train = |threads: usize| trained(plan, cut(&data, &[100, 100, 2600, 3000]), threads).unwrap();
        let model = train(1);
        let predicted = model.predict(&data.samples).unwrap();
        let right = predicted.labels.iter().zip(data.labels.codes()).filter(|(a, b)| a == b).count();
        assert!(right >= least, "{}: {right} of 3000", plan.name());
        // No cluster has rows of both groups, and the saved model is the same.
        let placed = model.clustering().unwrap().place(&data.samples).unwrap().clusters;
        let mut groups = vec![[0; 2]; 1 + placed.iter().max().unwrap()];
        placed.iter().enumerate().for_each(|(i, &cluster)| groups[cluster][i % 2] += 1);
        let wrong: usize = groups.iter().map(|counts| counts[0].min(counts[1])).sum();
        assert!(wrong < 5 && groups.len() > 1, "{groups:?}");
        let bytes = model.to_bytes().unwrap();
        assert!(bytes == train(3).to_bytes().unwrap());
        let again = Model::from_bytes(&bytes).unwrap().predict(&data.samples).unwrap();
        assert_eq!(again.scores, predicted.scores);
    }
    let error = trained(&dpm.set("sampler", "collapsed").unwrap(), cut(&data, &[100, 3000]), 1).unwrap_err();
    assert!(error.to_string().starts_with("parameter sampler: rows in partitions"), "{error}");
}

#[test]
fn machines_of_clusters_predict_numbers_in_partitions() {
    let data = numbers(2000, false);
    let few = [("frequencies", "48"), ("sweeps", "2"), ("epochs", "5"), ("start", "2"), ("lambda", "0.001")];
    let plan = few.iter().fold(Plan::new("cik").unwrap(), |plan, (name, value)| plan.set(name, value).unwrap());
    let truth = data.target.numbers().unwrap().values();
    let error = |model: &Model| -> f64 {
        let predicted = model.numbers().unwrap().predict(&data.samples).unwrap();
        predicted.data().iter().zip(truth.data()).map(|(found, truth)| (found - truth).powi(2)).sum()
    };
    // What they are trained on after the rows drawn, here all of them, is a gain.
    let (parts, whole) = (trained(&plan, cut(&data, &[1000, 2000]), 1).unwrap(), plan.train(&data).unwrap());
    assert!(error(&parts) < error(&whole), "{} {}", error(&parts), error(&whole));
}

fn evidence(settings: &[(&str, &str)]) -> Plan {
    let plan = Plan::new("evidence").unwrap().kernels("gaussian(0.5, 1, 2), linear").unwrap();
    settings.iter().fold(plan, |plan, (name, value)| plan.set(name, value).unwrap())
}

/// What a model says of some rows: numbers, or the scores of classes.
fn said(model: &Model, samples: &Samples) -> Matrix {
    match model.numbers() {
        Some(numbers) => numbers.predict(samples).unwrap(),
        None => model.predict(samples).unwrap().scores,
    }
}

/// The rows that are drawn do not depend on the cut, so the sums are the same to rounding; and one machine on all rows as
/// landmarks has the same ones.
#[test]
fn evidence_of_any_cut_is_that_of_one_machine() {
    let sonar = bundled("sonar").unwrap();
    let few = sonar.select(&(0..208).step_by(3).collect::<Vec<_>>());
    for data in [few, numbers(60, false)] {
        let n = data.samples.n_samples();
        let whole = evidence(&[("landmarks", "20000")]).train(&data).unwrap();
        let expected = said(&whole, &data.samples);
        let size = expected.data().iter().fold(0.0f64, |size, value| size.max(value.abs()));
        for ends in [vec![n], vec![20, 21, n], vec![10, 20, 30, 40, 50, 51, n]] {
            let parts = trained(&evidence(&[]), cut(&data, &ends), 1).unwrap();
            assert_eq!(parts.training().n_samples(), n);
            for (found, expected) in said(&parts, &data.samples).data().iter().zip(expected.data()) {
                assert!((found - expected).abs() < 1e-7 * size, "{}: {found} {expected}", data.name);
            }
            let (found, expected) = (parts.kernels().weights().unwrap(), whole.kernels().weights().unwrap());
            assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-7), "{found:?} {expected:?}");
        }
    }
}

#[test]
fn evidence_on_partitions_is_saved_whole_and_same_on_any_threads() {
    let mut rng = Rng::new(8, 0);
    let x = Matrix::from_fn(600, 2, |i, j| normal(&mut rng) + if i % 3 == j { 3.0 } else { 0.0 });
    let labels = Labels::new(&(0..600).map(|i| ["b", "c", "a"][i % 3]).collect::<Vec<_>>()).unwrap();
    let three = Dataset::new("three", Samples::unnamed(x).unwrap(), labels).unwrap();
    for data in [three, numbers(600, false)] {
        let train =
            |threads: usize| trained(&evidence(&[("landmarks", "25")]), cut(&data, &[300, 300, 600]), threads).unwrap();
        let (model, bytes) = (train(1), train(1).to_bytes().unwrap());
        assert!(bytes == train(3).to_bytes().unwrap());
        let again = Model::from_bytes(&bytes).unwrap();
        let expected = said(&model, &data.samples);
        assert_eq!(said(&again, &data.samples), expected);
        // Good, and the sum of its parts.
        match &data.target {
            Target::Numbers(numbers) => {
                let pairs = || expected.data().iter().zip(numbers.values().data());
                let mean = numbers.values().data().iter().sum::<f64>() / 600.0;
                let error: f64 = pairs().map(|(found, truth)| (found - truth).powi(2)).sum();
                let spread: f64 = pairs().map(|(_, truth)| (truth - mean).powi(2)).sum();
                assert!(error < 0.1 * spread, "{error} of {spread}");
            }
            _ => {
                let found = model.predict(&data.samples).unwrap().labels;
                let right = found.iter().zip(data.labels.codes()).filter(|(a, b)| a == b).count();
                assert!(right > 540, "{right}");
            }
        }
        let shares: f64 = model.kernels().shares().unwrap().iter().sum();
        assert!((shares - 1.0).abs() < 1e-9, "{shares}");
        let facts = crate::report::model_text(&model);
        assert!(facts.contains("600 in partitions") && facts.contains("log evidence"), "{facts}");
    }
    let x = Matrix::from_fn(30, 2, |i, j| ((i * 7 + j * 5) % 11) as f64);
    let times = Times::new((1..31).map(f64::from).collect(), (0..30).map(|i| i % 3 > 0).collect()).unwrap();
    let times = Dataset::of_times("times", Samples::unnamed(x).unwrap(), times).unwrap();
    let error = trained(&evidence(&[]), cut(&times, &[15, 30]), 1).unwrap_err();
    assert!(error.to_string().contains("classes and numbers; for times to an event use mklr"), "{error}");
    let weighted = evidence(&[("class_weights", "balanced")]);
    let error = trained(&weighted, cut(&bundled("sonar").unwrap(), &[100, 208]), 1).unwrap_err();
    assert!(error.to_string().starts_with("parameter class_weights: with landmarks"), "{error}");
}

/// Few landmarks leave much of the kernels out, and the function, a sine, is then most of the noise: bounded, so that more
/// rows than said are within intervals of normal noise.
#[test]
fn intervals_of_evidence_hold_as_many_new_rows_as_they_say() {
    let data = numbers(1200, false);
    let new = data.select(&(600..1200).collect::<Vec<_>>());
    let truth = new.target.numbers().unwrap().values().data();
    // Four standard deviations of a binomial count around 540.
    for (landmarks, most) in [("15", 599), ("60", 570), ("150", 570)] {
        let model = trained(&evidence(&[("landmarks", landmarks)]), cut(&data, &[300, 600]), 1).unwrap();
        let [low, high] = model.numbers().unwrap().intervals(&new.samples, 0.9).unwrap();
        let held = (0..600).filter(|&i| low.get(i, 0) <= truth[i] && truth[i] <= high.get(i, 0)).count();
        assert!((511..=most).contains(&held), "{held} of 600 rows, {landmarks} landmarks");
    }
}

#[test]
fn features_that_do_not_fit_are_refused() {
    let (data, pool) = (numbers(300, false), Pool::new(1).unwrap());
    for (megabytes, what) in [(2, "features, of 4 kernels on 100 landmarks"), (0, "4 kernels between 100 landmarks")] {
        let mut here = Here { sets: cut(&data, &[100, 300]), pool: &pool, change: None, asked: 0 };
        let mut silent = Silent;
        let mut session = Session::new(&pool, &mut silent);
        session.memory = Some((megabytes << 20) + 100_000);
        let error = evidence(&[("landmarks", "100")]).train_partitions("rows", &mut here, &mut session).unwrap_err();
        let message = error.to_string();
        assert!(message.contains(what) && message.contains("fewer kernels"), "{message}");
    }
}

/// 20,000 rows, a tenth of which are on the wrong side.
#[test]
fn evidence_is_as_accurate_as_logistic_regression() {
    let mut rng = Rng::new(21, 0);
    let x = Matrix::from_fn(20_000, 2, |_, _| 4.0 * rng.uniform() - 2.0);
    let side = |i: usize| (2.0 * x.get(i, 0)).sin() > x.get(i, 1);
    let texts: Vec<&str> = (0..20_000).map(|i| if side(i) != (rng.uniform() < 0.1) { "up" } else { "down" }).collect();
    let data = Dataset::new("waves", Samples::unnamed(x.clone()).unwrap(), Labels::new(&texts).unwrap()).unwrap();
    let right = |plan: Plan| {
        let plan = plan.kernels("gaussian(1), linear").unwrap().set("landmarks", "30").unwrap();
        let found = trained(&plan, cut(&data, &[9000, 20_000]), 2).unwrap().predict(&data.samples).unwrap();
        let truth = data.labels.codes();
        found.labels.iter().zip(truth).filter(|(found, truth)| found == truth).count()
    };
    let found = right(Plan::new("evidence").unwrap());
    let other = right(Plan::new("mklr").unwrap().set("iterations", "20").unwrap());
    // 18,000 is the most to be expected.
    assert!(found > 17_600 && found + 100 > other, "{found} of 20,000 right, mklr {other}");
}

#[test]
fn bits_depend_on_neither_threads_nor_repetition() {
    let plan = mklr(&[("landmarks", "30"), ("iterations", "12")]);
    for data in [numbers(5000, false), times(5000)] {
        let bytes = |threads: usize| trained(&plan, cut(&data, &[2500, 5000]), threads).unwrap().to_bytes().unwrap();
        let first = bytes(1);
        assert!(first == bytes(1) && first == bytes(3));
    }
}

#[test]
fn scales_are_those_of_all_rows() {
    let data = numbers(300, false);
    let model = trained(&mklr(&[("landmarks", "20"), ("iterations", "2")]), cut(&data, &[10, 200, 300]), 1).unwrap();
    let whole = mklr(&[("landmarks", "20"), ("iterations", "2")]).train(&data).unwrap();
    let (found, expected) = (model.kept.preprocessor.encode(), whole.kept.preprocessor.encode());
    for name in ["mean", "scale", "fill"] {
        let (found, expected): (Vec<f64>, Vec<f64>) = (found.take(name).unwrap(), expected.take(name).unwrap());
        for (found, expected) in found.iter().zip(&expected) {
            // Two sums of 300 numbers in another order.
            assert!((found / expected - 1.0).abs() < 300.0 * f64::EPSILON, "{name}: {found} {expected}");
        }
    }
    assert_eq!(found.take::<Vec<String>>("notes").unwrap(), expected.take::<Vec<String>>("notes").unwrap());
}

#[test]
fn a_class_without_landmarks_can_be_predicted() {
    let mut rng = Rng::new(1, 0);
    // Class c: 4 of 400 rows, far away.
    let codes: Vec<usize> = (0..400).map(|i| if i % 100 == 50 { 2 } else { i % 2 }).collect();
    let x = Matrix::from_fn(400, 2, |i, j| {
        normal(&mut rng) + if codes[i] == 2 { 30.0 } else { 3.0 * (codes[i] * j) as f64 }
    });
    let labels = Labels::from_parts(vec!["a".into(), "b".into(), "c".into()], codes).unwrap();
    let data = Dataset::new("rare", Samples::unnamed(x).unwrap(), labels).unwrap();
    let plan = mklr(&[("landmarks", "20"), ("lambda", "0.001")]);
    // The second partition has no row of c.
    let order: Vec<usize> = (0..400).filter(|i| i % 100 == 50).chain((0..400).filter(|i| i % 100 != 50)).collect();
    let data = data.select(&order);
    // The third has no row at all.
    let model = trained(&plan, cut(&data, &[50, 300, 300, 400]), 1).unwrap();
    assert_eq!(model.classes(), ["a", "b", "c"]);
    let found = model.predict(&data.samples).unwrap().labels;
    assert!(found.iter().zip(data.labels.codes()).filter(|(a, b)| a == b).count() > 360);
}

#[test]
fn what_is_no_sum_over_rows_is_refused() {
    let (data, message) = (bundled("sonar").unwrap(), |found: Result<Model>| found.unwrap_err().to_string());
    let halves = || cut(&data, &[100, 208]);
    assert_eq!(
        message(trained(&Plan::new("average").unwrap(), halves(), 1)),
        "parameter method: average is no sum over rows, so it cannot be trained on partitions; evidence, cik, dpm, svimkl, mklr can, and learners of \
         streams go through partitions in their order"
    );
    assert!(message(trained(&mklr(&[("lambda", "auto")]), halves(), 1)).contains("choose it on a sample"));
    let centred = Plan::new("mklr").unwrap().kernels("linear centred").unwrap();
    assert!(message(trained(&centred, halves(), 1)).contains("depends on all training rows"));
    let ascent = Plan::new("svimkl").unwrap().set("solver", "ascent").unwrap();
    assert!(message(trained(&ascent, halves(), 1)).contains("use lbfgs"));
    let times = |event: bool| {
        let times = Times::new((1..=208).map(f64::from).collect(), vec![event; 208]).unwrap();
        Dataset::of_times("times", data.samples.clone(), times).unwrap()
    };
    assert!(
        message(trained(&mklr(&[]), cut(&times(false), &[100, 208]), 1))
            .contains("no row of any partition has an event")
    );
    let many = Plan::new("svimkl").unwrap().set("nodes", "4096").unwrap();
    let wide = Matrix::from_fn(600, 1, |i, _| i as f64);
    let wide = Dataset::of_times(
        "wide",
        Samples::unnamed(wide).unwrap(),
        Times::new((0..600).map(f64::from).collect(), vec![true; 600]).unwrap(),
    );
    assert!(
        message(trained(&many, cut(&wide.unwrap(), &[300, 600]), 1))
            .contains("600 distinct times, and partitions send three numbers")
    );
    let one = data.select(&(0..90).collect::<Vec<_>>());
    assert!(message(trained(&mklr(&[]), cut(&one, &[40, 90]), 1)).contains("one class"));
    let other =
        Dataset::new("other", Samples::unnamed(Matrix::zeros(5, 3)).unwrap(), one.labels.select(&[0; 5])).unwrap();
    assert!(message(trained(&mklr(&[]), vec![data.clone(), other], 1)).contains("partition 1 has"));
    assert!(message(trained(&mklr(&[]), vec![], 1)).contains("there is no partition"));
}

/// Partitions that can be asked so often.
struct Lost<'a>(Here<'a>, usize);

impl Partitions for Lost<'_> {
    fn ask(&mut self, setup: &[u8], request: &[u8], take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        if self.0.asked >= self.1 {
            return Err(Error::Stopped("the cluster is lost".into()));
        }
        self.0.ask(setup, request, take)
    }
}

/// Asks partitions this often, from a checkpoint to it; also how often they were asked.
fn session(plan: &Plan, sets: &[Dataset], most: usize, every: Duration, path: &Path) -> (Result<Model>, usize) {
    let pool = Pool::new(1).unwrap();
    let mut lost = Lost(Here { sets: sets.to_vec(), pool: &pool, change: None, asked: 0 }, most);
    let mut silent = Silent;
    let mut session = Session::new(&pool, &mut silent);
    session.checkpoint = Some(Checkpoint { every, resume: true, ..Checkpoint::new(path) });
    (plan.train_partitions("rows", &mut lost, &mut session), lost.0.asked)
}

fn with(method: &str, settings: &[(&str, &str)]) -> Plan {
    settings.iter().fold(Plan::new(method).unwrap(), |plan, (name, value)| plan.set(name, value).unwrap())
}

/// Plans and rows whose runs are short.
fn short_runs() -> Vec<(Plan, Dataset)> {
    let few = [("frequencies", "8"), ("sweeps", "2"), ("epochs", "4"), ("start", "3")];
    vec![
        (mklr(&[("landmarks", "12"), ("iterations", "20")]), times(90)),
        (mklr(&[("landmarks", "12"), ("iterations", "20")]), numbers(90, false)),
        (with("svimkl", &[("landmarks", "9"), ("iterations", "11"), ("nodes", "4")]), two_groups(80)),
        (with("cik", &few), two_groups(300)),
        (with("cik", &few), numbers(200, false)),
        (with("dpm", &[("sweeps", "5"), ("start", "3")]), two_groups(300)),
    ]
}

#[test]
fn runs_go_on_where_they_were_lost_to_the_same_bits() {
    let (folder, never, at_once) = (tempfile::tempdir().unwrap(), Duration::from_secs(3600), Duration::ZERO);
    for (number, (plan, data)) in short_runs().into_iter().enumerate() {
        let path = |name: &str| folder.path().join(format!("{number}-{name}"));
        let n = data.samples.n_samples();
        let sets = cut(&data, &[n / 3, n / 2, n]);
        let (whole, n_asked) = session(&plan, &sets, usize::MAX, never, &path("whole"));
        let whole = whole.unwrap().to_bytes().unwrap();
        assert!(!path("whole").exists() && n_asked > 5, "{n_asked}");
        // Lost once, at any question after the first step, whether the state is stored then or was before.
        let mut n_stored = 0;
        let ends = (3..n_asked - 1).step_by(4).chain([n_asked - 1]);
        for (most, every) in ends.flat_map(|most| [(most, never), (most, at_once)]) {
            let path = path(&format!("{most} {every:?}"));
            let lost = session(&plan, &sets, most, every, &path).0.unwrap_err();
            assert!(lost.to_string().contains("the cluster is lost"), "{lost}");
            n_stored += usize::from(path.exists());
            assert!(path.exists() || most < n_asked - 1, "{}: the last question costs the run", plan.name());
            let (found, asked) = session(&plan, &sets, usize::MAX, never, &path);
            assert!(found.unwrap().to_bytes().unwrap() == whole, "{} lost after {most}", plan.name());
            // The summary, the rows drawn, and perhaps the factor of a curvature are asked for again.
            assert!(!path.exists() || most < 6 || asked < n_asked, "{asked} of {n_asked}");
        }
        assert!(n_stored > 1, "{}: {n_stored}", plan.name());
    }
}

#[test]
fn runs_go_on_where_they_were_stopped_to_the_same_bits() {
    struct StopAt(Canceller, u64);
    impl Observer for StopAt {
        fn progress(&mut self, progress: &Progress) {
            if progress.done == self.1 {
                self.0.cancel();
            }
        }
    }
    let (folder, pool) = (tempfile::tempdir().unwrap(), Pool::new(1).unwrap());
    for (number, (plan, data)) in short_runs().into_iter().enumerate().take(3) {
        let (path, sets) =
            (folder.path().join(number.to_string()), cut(&data, &[30, 80.min(data.samples.n_samples())]));
        let whole = trained(&plan, sets.clone(), 1).unwrap().to_bytes().unwrap();
        for step in [2, 5, 9] {
            let control = Control::default();
            let mut observer = StopAt(control.canceller(), step);
            let mut stopped = Session::new(&pool, &mut observer);
            stopped.control = control;
            stopped.checkpoint = Some(Checkpoint { resume: true, ..Checkpoint::new(&path) });
            let mut here = Here { sets: sets.clone(), pool: &pool, change: None, asked: 0 };
            let model = plan.train_partitions("rows", &mut here, &mut stopped).unwrap();
            assert!(!model.training().is_finished() && path.exists());
        }
        // Other rows, other settings, and whoever does not want to go on.
        let message = |found: Result<Model>| found.unwrap_err().to_string();
        let other = [sets[1].clone(), sets[0].clone()];
        let hour = Duration::from_secs(3600);
        assert!(message(session(&plan, &other, usize::MAX, hour, &path).0).contains("its data fingerprint is"));
        let smoother = plan.clone().set("lambda", "0.5").unwrap();
        assert!(message(session(&smoother, &sets, usize::MAX, hour, &path).0).contains("its lambda is `0.1`"));
        let mut here = Here { sets: sets.clone(), pool: &pool, change: None, asked: 0 };
        let mut silent = Silent;
        let mut anew = Session::new(&pool, &mut silent);
        anew.checkpoint = Some(Checkpoint::new(&path));
        assert!(message(plan.train_partitions("rows", &mut here, &mut anew)).contains("exists already"));
        assert!(session(&plan, &sets, usize::MAX, hour, &path).0.unwrap().to_bytes().unwrap() == whole);
    }
}

#[test]
fn rows_that_change_are_noticed() {
    let (data, pool) = (bundled("sonar").unwrap(), Pool::new(1).unwrap());
    for change in [1, 2, 4] {
        let mut here = Here { sets: cut(&data, &[100, 208]), pool: &pool, change: Some(change), asked: 0 };
        let found = mklr(&[]).train_partitions("rows", &mut here, &mut Session::new(&pool, &mut Silent));
        let message = found.unwrap_err().to_string();
        assert!(message.contains("rows of partition 1 have changed"), "{message}");
    }
}

#[test]
fn draws_are_distinct_and_even() {
    let mut hits = vec![0; 10];
    for seed in 0..2000 {
        let drawn = draw(10, 4, seed, DRAW);
        assert!(drawn.len() == 4 && drawn.windows(2).all(|pair| pair[0] < pair[1]));
        drawn.iter().for_each(|&row| hits[row] += 1);
    }
    // 800 expected; four standard deviations of a binomial count.
    assert!(hits.iter().all(|&n: &i32| (n - 800).abs() < 88), "{hits:?}");
    assert_eq!(draw(3, 3, 0, DRAW), [0, 1, 2]);
}

#[test]
fn svimkl_and_other_settings_are_trained_too() {
    let data = bundled("sonar").unwrap();
    let plan = Plan::new("svimkl").unwrap().set("landmarks", "40").unwrap().scale(Scale::None).seed(3);
    let model = trained(&plan, cut(&data, &[60, 208]), 1).unwrap();
    assert!(
        model.training().is_finished() && model.training().warnings().is_empty(),
        "{:?}",
        model.training().warnings()
    );
    assert!(model.kernels().weights().is_some());
    let again = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
    assert_eq!(again.predict(&data.samples).unwrap(), model.predict(&data.samples).unwrap());
}

/// The kinds of the columns of [`mixed`].
const KINDS: [(&str, &str); 7] = [
    ("age", "number"),
    ("smoker", "yesno"),
    ("city", "category"),
    ("sex", "category"),
    ("grade", "ordered(low<mid<high)"),
    ("day", "date(ymd)"),
    ("note", "text"),
];

/// A table of every kind, whose class is told by its categories and words together, cut at `ends`; each part is read on its
/// own, so that it knows its own texts alone.
fn mixed(n: usize, ends: &[usize]) -> Vec<Dataset> {
    let mut rng = Rng::new(4, 0);
    let mut rows: Vec<(Vec<Option<String>>, &str)> = vec![];
    for i in 0..n {
        let (sick, city) = (rng.below(2), rng.below(if i < n / 2 { 5 } else { 8 }));
        let words = [["well", "fine", "calm"], ["fever", "cough", "pain"]][sick];
        let filler = format!("w{} visit{}", rng.below(40), i % 30);
        let cells = vec![
            (i % 9 > 0).then(|| format!("{}", 30.0 + 20.0 * rng.uniform())),
            Some(["yes", "no"][rng.below(2)].to_string()),
            // A level of one row, which is in one part alone.
            Some(if i == 3 { "Atlantis".into() } else { format!("town{city}") }),
            (i % 11 > 0).then(|| if (city + sick) % 2 == 0 { "f".to_string() } else { "m".to_string() }),
            Some(["low", "mid", "high"][rng.below(3)].to_string()),
            Some(format!("2021-{:02}-{:02}", 1 + rng.below(12), 1 + rng.below(28))),
            Some(format!("patient {} {} {filler}", words[rng.below(3)], words[rng.below(3)])),
        ];
        rows.push((cells, ["healthy", "sick"][sick]));
    }
    let mut start = 0;
    let mut part = |&end: &usize| {
        let here = &rows[start..end];
        start = end;
        let column = |(j, (name, kind)): (usize, &(&str, &str))| {
            let cells = here.iter().map(|(cells, _)| cells[j].clone()).collect();
            (name.to_string(), Column::Known(kind.parse().unwrap(), cells))
        };
        let samples = samples_of_columns(KINDS.iter().enumerate().map(column).collect()).unwrap().0;
        let codes = here.iter().map(|(_, class)| usize::from(*class == "sick")).collect();
        let labels = Labels::from_parts(vec!["healthy".into(), "sick".into()], codes).unwrap();
        Dataset::new("mixed", samples, labels).unwrap()
    };
    ends.iter().map(&mut part).collect()
}

fn encoder(model: &Model) -> Record {
    model.kept.preprocessor.encode().take_record("encoder")
}

#[test]
fn tables_of_every_kind_have_the_encoder_and_the_model_of_one_machine() {
    let n = 96;
    let whole = mixed(n, &[n]).remove(0);
    let banks = ["gaussian(1) on numbers, overlap, linear on words(note), gaussian(2)", "period(day; week)"];
    let banks = [banks[0].to_string(), format!("{}, gaussian(1) on {}", banks[0], banks[1])];
    for bank in &banks {
        let plan = Plan::new("mklr").unwrap().kernels(bank).unwrap().set("tol", "1e-12").unwrap();
        let parts = trained(&plan, mixed(n, &[30, 31, 31, 60, n]), 1).unwrap();
        let one = plan.train(&whole).unwrap();
        assert!(!encoder(&one).is_empty());
        assert_eq!(encoder(&parts), encoder(&one));
        // Words make rows wide: they stay sparse.
        assert!(encoder(&parts).take::<u64>("sparse").unwrap() == 1);
        let scores = |model: &Model| model.predict(&whole.samples).unwrap().scores;
        let (found, expected) = (scores(&parts), scores(&one));
        let size = expected.data().iter().fold(0.0f64, |size, value| size.max(value.abs()));
        for (found, expected) in found.data().iter().zip(expected.data()) {
            assert!((found - expected).abs() < 1e-3 * size, "{bank}: {found} {expected}");
        }
        // One partition of all rows, too, and its file.
        let alone = trained(&plan, vec![whole.clone()], 1).unwrap();
        assert_eq!(encoder(&alone), encoder(&one));
        let again = Model::from_bytes(&parts.to_bytes().unwrap()).unwrap();
        assert_eq!(scores(&again), found);
    }
}

#[test]
fn default_banks_of_other_kinds_are_those_of_one_machine() {
    let n = 60;
    let plan = Plan::new("mklr").unwrap().set("iterations", "3").unwrap();
    let parts = trained(&plan, mixed(n, &[20, n]), 1).unwrap();
    let whole = plan.train(&mixed(n, &[n])[0]).unwrap();
    assert_eq!(encoder(&parts), encoder(&whole));
    assert_eq!(parts.header.bank, whole.header.bank);
    assert_eq!(parts.header.features, whole.header.features);
}

#[test]
fn bits_of_other_kinds_depend_on_neither_threads_nor_repetition() {
    let plan = Plan::new("mklr").unwrap().kernels("overlap, linear on words(note), gaussian(2)").unwrap();
    let plan = plan.set("landmarks", "25").unwrap().set("iterations", "5").unwrap();
    let bytes = |threads: usize| trained(&plan, mixed(2500, &[2200, 2500]), threads).unwrap().to_bytes().unwrap();
    let first = bytes(1);
    assert!(first == bytes(1) && first == bytes(3));
}

#[test]
fn methods_on_rows_take_other_kinds() {
    let few = [("frequencies", "24"), ("sweeps", "2"), ("epochs", "1"), ("start", "2")];
    let plan = few.iter().fold(Plan::new("cik").unwrap(), |plan, (name, value)| plan.set(name, value).unwrap());
    let (parts, whole) = (trained(&plan, mixed(300, &[90, 300]), 1).unwrap(), mixed(300, &[300]).remove(0));
    assert_eq!(encoder(&parts), encoder(&plan.train(&whole).unwrap()));
    assert_eq!(parts.predict(&whole.samples).unwrap().labels.len(), 300);
}

#[test]
fn partitions_of_other_kinds_are_named() {
    let mut parts = mixed(60, &[30, 60]);
    let note: Vec<Option<String>> = (0..30).map(|i| Some(format!("n{}", i % 3))).collect();
    let columns =
        KINDS[..6].iter().map(|(name, kind)| (name.to_string(), Column::Known(kind.parse().unwrap(), vec![None; 30])));
    let columns = columns.chain([("note".to_string(), Column::Text(note))]).collect();
    parts[1].samples = samples_of_columns(columns).unwrap().0;
    let plan = mklr(&[]);
    assert_eq!(
        trained(&plan, parts, 1).unwrap_err().to_string(),
        "partition 1: column 'note' is taken as category, in the first as text; say its kind for all of them"
    );
}

/// Rows with two views, one of which some rows lack.
fn viewed(n: usize) -> Dataset {
    let mut rng = Rng::new(9, 0);
    let x = Matrix::from_fn(n, 5, |i, j| match (i % 7, j) {
        (3, 2..) => f64::NAN,
        (5, 1) => f64::NAN,
        _ => (normal(&mut rng) + if (i + j) % 3 == 0 { 1.5 } else { 0.0 }).exp(),
    });
    let labels = Labels::new(&(0..n).map(|i| ["a", "b", "a"][i % 3]).collect::<Vec<_>>()).unwrap();
    let views = vec![View { name: "one".into(), columns: 0..2 }, View { name: "two".into(), columns: 2..5 }];
    Dataset::new("viewed", Samples::unnamed(x).unwrap().with_views(views).unwrap(), labels).unwrap()
}

#[test]
fn views_are_those_of_one_machine_whatever_rows_lack() {
    let data = viewed(90);
    for missing in ["skip", "impute", "drop"] {
        for log in [LogChoice::None, LogChoice::Views(vec!["two".into()])] {
            let plan = Plan::new("mklr").unwrap().kernels("gaussian(1, 2) each view, linear on one").unwrap();
            let plan = plan
                .set("tol", "1e-12")
                .unwrap()
                .missing(missing.parse().unwrap())
                .recipe(Recipe { log, ..Recipe::default() });
            let parts = trained(&plan, cut(&data, &[20, 55, 90]), 1).unwrap();
            let one = plan.train(&data).unwrap();
            assert_eq!(parts.header.views, one.header.views);
            assert_eq!(parts.header.kernels.len(), one.header.kernels.len());
            assert_eq!(parts.training().n_samples(), one.training().n_samples());
            let notes = |model: &Model| model.kept.preprocessor.notes();
            assert_eq!(notes(&parts), notes(&one));
            let scores = |model: &Model| model.predict(&data.samples).unwrap().scores;
            let (found, expected) = (scores(&parts), scores(&one));
            let size = expected.data().iter().fold(0.0f64, |size, value| size.max(value.abs()));
            for (found, expected) in found.data().iter().zip(expected.data()) {
                assert!((found - expected).abs() < 1e-3 * size, "{missing}: {found} {expected}");
            }
            assert_eq!(scores(&Model::from_bytes(&parts.to_bytes().unwrap()).unwrap()), found);
        }
    }
    let plain = Plan::new("mklr").unwrap().set("iterations", "2").unwrap();
    let (parts, one) = (trained(&plain, cut(&data, &[40, 90]), 1).unwrap(), plain.train(&data).unwrap());
    assert_eq!(parts.header.bank, one.header.bank);
    let mut other = cut(&data, &[40, 90]);
    other[1].samples = other[1].samples.clone().with_views(vec![]).unwrap();
    assert!(trained(&plain, other, 1).unwrap_err().to_string().contains("partition 1 has other views"));
    let mut empty = data.samples.features().to_dense().unwrap().into_owned();
    empty.row_mut(50).fill(f64::NAN);
    let samples = Samples::unnamed(empty).unwrap().with_views(data.samples.views().to_vec()).unwrap();
    let empty = Dataset { samples, ..data };
    let message = trained(&plain, cut(&empty, &[40, 90]), 1).unwrap_err().to_string();
    assert_eq!(message, "viewed: row 11 has no view at all; leave it out");
}

#[test]
fn too_many_levels_or_terms_are_refused() {
    let whole = mixed(40, &[40]).remove(0);
    let names = whole.samples.names();
    let wanted = Wanted { encoded: vec![], letters: vec![] };
    let seen = Seen::of(&whole.samples, &wanted);
    assert!(check_size(&seen, names, &wanted).is_ok());
    let levels: Vec<Option<String>> = (0..MOST_TEXTS + 1).map(|i| Some(i.to_string())).collect();
    let column = Column::Known(crate::data::Kind::Category.into(), levels);
    let samples = samples_of_columns(vec![("id".into(), column)]).unwrap().0;
    let error = check_size(&Seen::of(&samples, &wanted), samples.names(), &wanted).unwrap_err().to_string();
    assert!(
        error.starts_with("1048577 levels of column 'id', 5 MiB of texts in all: partitions take up to"),
        "{error}"
    );
}
