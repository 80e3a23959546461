//! Tests of `auto` through its plan.

use crate::Plan;
use crate::data::{Dataset, Labels, Numbers, Samples, Times, bundled};
use crate::dist::Rng;
use crate::linalg::Matrix;
use crate::method::svimkl::LAMBDAS;
use crate::plan::{Model, Session};
use crate::pool::Pool;
use crate::run::{Canceller, Checkpoint, Control, Observer, Progress, Silent};

fn some(set: &str, step: usize) -> Dataset {
    let data = bundled(set).unwrap();
    data.select(&(0..data.samples.n_samples()).step_by(step).collect::<Vec<_>>())
}

fn fact(model: &Model, name: &str) -> Option<String> {
    model.training().facts().into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

#[test]
fn labels_are_the_likeliest_classes_and_probabilities_need_no_more_folds() {
    let data = some("glass6", 2);
    let model = Plan::new("auto").unwrap().train(&data).unwrap();
    let predicted = model.predict(&data.samples).unwrap();
    let probabilities = model.probabilities(&data.samples).unwrap();
    assert_eq!(probabilities, predicted.scores);
    for row in probabilities.rows() {
        assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{row:?}");
    }
}

#[test]
fn alternatives_of_the_user_are_compared_and_the_useful_one_is_kept() {
    // The class is whether two columns have the same sign; the third is noise.
    let mut rng = Rng::new(8, 0);
    let points = Matrix::from_fn(120, 3, |_, _| 2.0 * rng.uniform() - 1.0);
    let texts: Vec<&str> = points.rows().map(|row| if row[0] * row[1] > 0.0 { "same" } else { "different" }).collect();
    let data = Dataset::new("signs", Samples::unnamed(points).unwrap(), Labels::new(&texts).unwrap()).unwrap();
    let bank = "linear on [2], gaussian(1) on [2] | polynomial(2) on [0, 1], linear on [2]";
    let model = Plan::new("auto").unwrap().kernels(bank).unwrap().train(&data).unwrap();
    let kept = fact(&model, "kept").unwrap();
    assert!(kept.contains("bank 2") && !kept.contains("bank 1"), "{kept}");
    let candidates = fact(&model, "candidates").unwrap();
    assert_eq!(candidates.matches("bank ").count(), 4, "{candidates}");
    assert!(candidates.starts_with("4 compared on rows that inner folds left out"), "{candidates}");
    let losses: Vec<f64> =
        candidates.split("; ").filter_map(|line| line.split_whitespace().nth_back(0)?.parse().ok()).collect();
    assert!(losses.len() >= 2 && losses.is_sorted(), "{candidates}");
    assert!(kept.contains("optimistic") && kept.ends_with("trained again on all 120 rows"), "{kept}");
    let weights = fact(&model, "learned weights").unwrap();
    assert!(
        weights.contains("from average (") && weights.contains("to evidence (") && weights.contains("["),
        "{weights}"
    );
    let right = model.predict(&data.samples).unwrap().labels;
    let right = right.iter().zip(data.labels.codes()).filter(|(a, b)| a == b).count();
    assert!(right > 110, "{right} of 120");
}

#[test]
fn many_rows_are_chosen_on_some_of_them_and_it_is_told() {
    let mut rng = Rng::new(9, 0);
    let points = Matrix::from_fn(1100, 2, |_, _| rng.uniform());
    let texts: Vec<&str> = points.rows().map(|row| if row[0] > row[1] { "above" } else { "below" }).collect();
    let data = Dataset::new("half", Samples::unnamed(points).unwrap(), Labels::new(&texts).unwrap()).unwrap();
    let plan = Plan::new("auto").unwrap().set("effort", "quick").unwrap().kernels("linear, gaussian(1)").unwrap();
    let model = plan.train(&data).unwrap();
    let chosen = fact(&model, "chosen on").unwrap();
    assert!(chosen.starts_with("1000 of 1100 rows"), "{chosen}");
    let kept = fact(&model, "kept").unwrap();
    assert!(kept.ends_with("trained again on all 1100 rows"), "{kept}");
}

#[test]
fn times_with_one_event_are_learned_and_nothing_is_compared() {
    let few = signs(30);
    let times = Times::new((1..=30).map(f64::from).collect(), (0..30).map(|i| i == 7).collect()).unwrap();
    let data = Dataset::of_times("t", few.samples, times).unwrap();
    let plan = Plan::new("auto").unwrap().kernels("linear, gaussian(1)").unwrap();
    let model = plan.train(&data).unwrap();
    let risks = model.times().unwrap().risks(&data.samples).unwrap();
    assert!(risks.iter().all(|risk| risk.is_finite()), "{risks:?}");
}

/// Rows whose class is whether two columns have the same sign.
fn signs(n: usize) -> Dataset {
    let mut rng = Rng::new(10, 0);
    let points = Matrix::from_fn(n, 2, |_, _| 2.0 * rng.uniform() - 1.0);
    let texts: Vec<&str> = points.rows().map(|row| if row[0] * row[1] > 0.0 { "same" } else { "different" }).collect();
    Dataset::new("signs", Samples::unnamed(points).unwrap(), Labels::new(&texts).unwrap()).unwrap()
}

#[test]
fn rows_beyond_memory_have_landmarks_and_it_is_told() {
    let data = signs(1200);
    let plan = Plan::new("auto").unwrap().set("effort", "quick").unwrap().kernels("linear, gaussian(1)").unwrap();
    let train = |plan: &Plan, n_threads: usize| {
        let (pool, mut silent) = (Pool::new(n_threads).unwrap(), Silent);
        let mut session = Session::new(&pool, &mut silent);
        // The kernel between all rows takes 11 MiB, between rows and landmarks 8.
        session.memory = Some(10 << 20);
        plan.train_in(&data, &mut session).unwrap()
    };
    let model = train(&plan, 1);
    let trained = fact(&model, "kept").unwrap();
    assert!(trained.contains("all 1200 rows with 250 landmarks (mklr, lambda = "), "{trained}");
    let right = model.predict(&data.samples).unwrap().labels;
    let right = right.iter().zip(data.labels.codes()).filter(|(a, b)| a == b).count();
    assert!(right > 1100, "{right} of 1200");
    let probabilities = model.probabilities(&data.samples).unwrap();
    assert!(probabilities.rows().all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-12));
    assert_eq!(train(&plan, 2).probabilities(&data.samples).unwrap(), probabilities);
    // A saved model is the same.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m");
    model.save(&path).unwrap();
    assert_eq!(Model::load(&path).unwrap().probabilities(&data.samples).unwrap(), probabilities);
    // Landmarks know no class weights.
    let weighted = train(&plan.set("class_weights", "balanced").unwrap(), 1);
    let trained = fact(&weighted, "kept").unwrap();
    assert!(trained.contains("of 1200 rows: the kernel"), "{trained}");
}

/// Cancels after so many steps of the method.
struct StopAfter {
    steps: usize,
    heard: usize,
    canceller: Canceller,
    in_method: bool,
}

impl Observer for StopAfter {
    fn phase(&mut self, name: &str) {
        self.in_method = name == "auto";
    }

    fn progress(&mut self, _: &Progress) {
        self.heard += usize::from(self.in_method);
        if self.in_method && self.heard == self.steps {
            self.canceller.cancel();
        }
    }
}

/// A run in this much memory, stopped after so many steps; how many there were.
fn stopped(plan: &Plan, data: &Dataset, memory: u64, steps: usize, checkpoint: Option<Checkpoint>) -> (Model, usize) {
    let (pool, control) = (Pool::new(2).unwrap(), Control::default());
    let mut observer = StopAfter { steps, heard: 0, canceller: control.canceller(), in_method: false };
    let memory = Some(memory);
    let mut session = Session { control, checkpoint, memory, ..Session::new(&pool, &mut observer) };
    let model = plan.train_in(data, &mut session).unwrap();
    (model, observer.heard)
}

#[test]
fn runs_on_landmarks_are_resumed_to_the_same_bits_for_classes_and_times() {
    let quick = || Plan::new("auto").unwrap().set("effort", "quick").unwrap();
    let few = signs(1200);
    let points = few.samples.features().to_dense().unwrap().into_owned();
    let time: Vec<f64> = points.rows().map(|row| (-2.0 * row[0]).exp()).collect();
    let times = Times::new(time, (0..1200).map(|i| i % 5 != 0).collect()).unwrap();
    let times = Dataset::of_times("t", few.samples.clone(), times).unwrap();
    // The memory has room for landmarks, and not for the kernel between all rows.
    let (memory, told) = (10 << 20, "all 1200 rows with 250 landmarks");
    for (data, kernels) in [(&few, "linear, gaussian(1)"), (&times, "gaussian(1)")] {
        let plan = quick().kernels(kernels).unwrap();
        let (whole, total) = stopped(&plan, data, memory, usize::MAX, None);
        let trained = fact(&whole, "kept").unwrap();
        assert!(trained.contains(told), "{trained}");
        assert!(LAMBDAS.iter().any(|lambda| trained.contains(&format!("(mklr, lambda = {lambda})"))) || data == &few);
        let folder = tempfile::tempdir().unwrap();
        let bytes = |model: &Model| {
            let path = folder.path().join("model");
            model.save(&path).unwrap();
            std::fs::read(path).unwrap()
        };
        let saved = bytes(&whole);
        // While candidates are compared, and while the model is trained.
        let at = if data == &few { 1 } else { total - 1 };
        let checkpoint = Checkpoint::new(folder.path().join("part"));
        let (part, _) = stopped(&plan, data, memory, at, Some(checkpoint.clone()));
        assert!(!part.training().is_finished(), "{at} of {total}");
        let (rest, _) = stopped(&plan, data, memory, usize::MAX, Some(Checkpoint { resume: true, ..checkpoint }));
        assert!(bytes(&rest) == saved, "stopped after {at} of {total}, the model differs");
    }
}

#[test]
fn numbers_on_landmarks_are_met_at_a_lambda_of_the_list() {
    let many = signs(2900);
    let points = many.samples.features().to_dense().unwrap().into_owned();
    let mut rng = Rng::new(3, 0);
    let truth: Vec<f64> = points.rows().map(|row| (3.0 * row[0]).sin() + row[1]).collect();
    let numbers = Matrix::from_fn(2900, 1, |i, _| truth[i] + 0.5 * (rng.uniform() - 0.5));
    let data = Dataset::of_numbers("n", many.samples, Numbers::new(vec!["y".into()], numbers).unwrap()).unwrap();
    let plan = Plan::new("auto").unwrap().set("effort", "quick").unwrap().kernels("linear, gaussian(1)").unwrap();
    let (model, _) = stopped(&plan, &data, 60 << 20, usize::MAX, None);
    let trained = fact(&model, "kept").unwrap();
    assert!(trained.contains("all 2900 rows with 500 landmarks"), "{trained}");
    assert!(LAMBDAS.iter().any(|lambda| trained.contains(&format!("(mklr, lambda = {lambda})"))), "{trained}");
    let found = model.numbers().unwrap().predict(&data.samples).unwrap();
    let rmse = ((0..2900).map(|i| (found.get(i, 0) - truth[i]).powi(2)).sum::<f64>() / 2900.0).sqrt();
    // The noise has a standard deviation of 0.144; 2,900 rows at a few dozen degrees of freedom leave little of it.
    assert!(rmse < 0.05, "{rmse}");
}

#[test]
fn shares_of_a_mean_of_two_add_up_to_one() {
    let model = Plan::new("auto").unwrap().train(&some("glass6", 2)).unwrap();
    assert!(fact(&model, "kept").unwrap().starts_with("the mean of"), "{:?}", fact(&model, "kept"));
    let shares = model.kernels().shares().unwrap();
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{shares:?}");
}

#[test]
fn many_columns_have_one_width_each_where_rows_are_twice_as_many() {
    let mut rng = Rng::new(11, 0);
    let points = Matrix::from_fn(60, 20, |_, _| rng.uniform());
    let texts: Vec<&str> = points.rows().map(|row| if row[0] > 0.5 { "above" } else { "below" }).collect();
    let data = Dataset::new("wide", Samples::unnamed(points).unwrap(), Labels::new(&texts).unwrap()).unwrap();
    let tried = |data: &Dataset| fact(&Plan::new("auto").unwrap().train(data).unwrap(), "candidates").unwrap();
    assert!(tried(&data).contains("(bank 3, 30 kernels"), "{}", tried(&data));
    let few = data.select(&(0..39).collect::<Vec<_>>());
    assert!(!tried(&few).contains("bank 3"), "{}", tried(&few));
}

#[test]
fn too_few_rows_for_folds_give_the_plain_sum_and_say_so() {
    let data = some("ionosphere", 1);
    let codes = data.labels.codes();
    let of = |class: usize, n: usize| (0..codes.len()).filter(move |&i| codes[i] == class).take(n);
    let data = data.select(&of(0, 1).chain(of(1, 4)).collect::<Vec<_>>());
    let model = Plan::new("auto").unwrap().train(&data).unwrap();
    assert_eq!(fact(&model, "candidates").unwrap(), "not compared: fewer than 20 rows");
    assert!(fact(&model, "kept").unwrap().starts_with("average (bank 1, 10 kernels"));
}
