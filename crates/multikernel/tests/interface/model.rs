//! Models: what is kept, in which order, and what comes back from a file.

use multikernel::data::{Dataset, Labels, Samples, bundled};
use multikernel::{Matrix, Model, Online, OnlineOptions, Plan, Pool};

fn set(points: Matrix, labels: &[&str]) -> Dataset {
    Dataset::new("set", Samples::unnamed(points).unwrap(), Labels::new(labels).unwrap()).unwrap()
}

fn largest_difference(a: &Matrix, b: &Matrix) -> f64 {
    a.data().iter().zip(b.data()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn two_points_give_the_line_between_them() {
    // Hard margin on x = -1, 3: f(x) = (x - 1) / 2, the first class on the left.
    let data = set(Matrix::from_vec(2, 1, vec![-1.0, 3.0]).unwrap(), &["a", "b"]);
    let plan = Plan::new("svm").unwrap().kernels("linear raw").unwrap().scale(multikernel::data::Scale::None);
    let model = plan.set("c", "1000").unwrap().set("tol", "1e-12").unwrap().train(&data).unwrap();
    let new = Samples::unnamed(Matrix::from_vec(3, 1, vec![-1.0, 5.0, 1.5]).unwrap()).unwrap();
    let predicted = model.predict(&new).unwrap();
    let expected = Matrix::from_vec(3, 2, vec![1.0, -1.0, -2.0, 2.0, -0.25, 0.25]).unwrap();
    assert!(largest_difference(&predicted.scores, &expected) < 1e-9, "{:?}", predicted.scores);
    assert_eq!(predicted.labels, [0, 1, 1]);
}

#[test]
fn one_vs_rest_scores_are_those_of_each_class_against_the_rest() {
    let data = bundled("vehicle").unwrap();
    let data = data.select(&(0..846).step_by(4).collect::<Vec<_>>());
    let plan = |multiclass: &str| {
        Plan::new("average").unwrap().set("tol", "1e-9").unwrap().set("multiclass", multiclass).unwrap()
    };
    let rest = plan("ovr").train(&data).unwrap().predict(&data.samples).unwrap();
    for (class, name) in data.labels.classes().iter().enumerate() {
        let labels: Vec<&str> = data.labels.codes().iter().map(|&code| if code == class { "a" } else { "b" }).collect();
        let two = Dataset::new("two", data.samples.clone(), Labels::new(&labels).unwrap()).unwrap();
        let alone = plan("ovo").train(&two).unwrap().predict(&data.samples).unwrap();
        for i in 0..data.samples.n_samples() {
            let (a, b) = (rest.scores.get(i, class), alone.scores.get(i, 0));
            assert!((a - b).abs() < 1e-6, "row {i}, class {name}: {a} and {b}");
        }
    }
}

#[test]
fn one_vs_one_labels_are_the_vote_of_the_pairs() {
    let data = bundled("vehicle").unwrap();
    let data = data.select(&(0..846).step_by(4).collect::<Vec<_>>());
    let model = Plan::new("average")
        .unwrap()
        .scale(multikernel::data::Scale::None)
        .kernels("gaussian(100), polynomial(2)")
        .unwrap();
    let predicted = model.train(&data).unwrap().predict(&data.samples).unwrap();
    let mut votes = vec![[0u32; 4]; data.samples.n_samples()];
    for first in 0..4 {
        for second in first + 1..4 {
            let rows: Vec<usize> =
                (0..data.samples.n_samples()).filter(|&i| [first, second].contains(&data.labels.codes()[i])).collect();
            let names: Vec<&str> =
                rows.iter().map(|&i| if data.labels.codes()[i] == first { "a" } else { "b" }).collect();
            let pair = Dataset::new("pair", data.samples.select_rows(&rows), Labels::new(&names).unwrap()).unwrap();
            for (vote, label) in
                votes.iter_mut().zip(model.train(&pair).unwrap().predict(&data.samples).unwrap().labels)
            {
                vote[if label == 0 { first } else { second }] += 1;
            }
        }
    }
    let winner = |vote: &[u32; 4]| (0..4).rev().max_by_key(|&class| vote[class]).unwrap();
    assert_eq!(predicted.labels, votes.iter().map(winner).collect::<Vec<_>>());
    for (row, &label) in predicted.scores.rows().zip(&predicted.labels) {
        assert!(row.iter().all(|&score| score <= row[label]), "score and label disagree: {row:?}, {label}");
    }
}

#[test]
fn average_of_a_kernel_given_twice_is_that_kernel() {
    let data = bundled("sonar").unwrap();
    let scores = |bank: &str| {
        // So small a c that all dual variables are bounded by it: then the scale of the kernel counts.
        let plan = Plan::new("average").unwrap().kernels(bank).unwrap().set("c", "0.01").unwrap();
        plan.train(&data).unwrap().predict(&data.samples).unwrap().scores
    };
    assert_eq!(scores("gaussian(3)"), scores("gaussian(3), gaussian(3)"));
}

#[test]
fn centring_a_kernel_that_is_centred_already_changes_nothing() {
    // Standardised columns have mean 0, so x'y is centred on the training rows; and a model keeps all rows for it.
    let data = bundled("ionosphere").unwrap();
    let half: Vec<usize> = (0..351).step_by(2).collect();
    let scores = |bank: &str| {
        let plan =
            Plan::new("average").unwrap().kernels(bank).unwrap().set("c", "0.01").unwrap().set("tol", "1e-10").unwrap();
        plan.train(&data.select(&half)).unwrap().predict(&data.samples).unwrap().scores
    };
    let (plain, centred) = (scores("linear raw"), scores("linear raw centred"));
    assert!(largest_difference(&plain, &centred) < 1e-6, "{}", largest_difference(&plain, &centred));
}

#[test]
fn prediction_of_more_rows_than_a_batch_equals_that_of_each() {
    let data = bundled("sonar").unwrap();
    let model = Plan::new("average").unwrap().train(&data).unwrap();
    let once = model.predict(&data.samples).unwrap();
    let many: Vec<usize> = (0..9001).map(|i| (i * 7) % 208).collect();
    let predicted = model.predict(&data.samples.select_rows(&many)).unwrap();
    assert_eq!(predicted.scores, once.scores.select_rows(&many));
}

#[test]
fn columns_in_another_order_are_matched_by_name() {
    let names = |order: &[usize]| order.iter().map(|i| format!("f{i}")).collect::<Vec<_>>();
    let data = bundled("glass6").unwrap();
    let straight: Vec<usize> = (0..9).collect();
    let turned: Vec<usize> = (0..9).rev().collect();
    let samples = |order: &[usize]| Samples::new(data.samples.features().select_cols(order), names(order)).unwrap();
    let named = Dataset::new("named", samples(&straight), data.labels.clone()).unwrap();
    let model = Plan::new("average").unwrap().train(&named).unwrap();
    assert_eq!(model.predict(&samples(&turned)).unwrap(), model.predict(&samples(&straight)).unwrap());
    let strange = Samples::new(data.samples.features().clone(), (0..9).map(|i| format!("g{i}")).collect()).unwrap();
    let message = model.predict(&strange).unwrap_err().to_string();
    assert!(message.starts_with("the rows lack features the model was trained with: f0, f1, f2, f3, f4;"), "{message}");
    // Rows without names of their own are taken by position.
    assert_eq!(model.predict(&data.samples).unwrap(), model.predict(&samples(&straight)).unwrap());
}

#[test]
fn kernels_are_named_by_views_and_columns() {
    let mouse = bundled("nutrimouse").unwrap();
    let plan = Plan::new("average").unwrap().kernels("gaussian(2) on gene, linear on [0:5] raw, linear").unwrap();
    assert_eq!(
        plan.train(&mouse).unwrap().kernels().names(),
        ["gaussian(2) on gene", "linear on [0:5] raw", "linear"],
        "five columns are too many to name"
    );
    let plan = Plan::new("average").unwrap().kernels("linear on [1, 130] centred, polynomial(2) on lipid").unwrap();
    assert_eq!(
        plan.train(&mouse).unwrap().kernels().names(),
        ["linear on [gene:x2, lipid:x11] centred", "polynomial(2) on lipid"]
    );
    let sonar =
        Plan::new("average").unwrap().kernels("linear on [3]").unwrap().train(&bundled("sonar").unwrap()).unwrap();
    assert_eq!(sonar.kernels().names(), ["linear on [3]"], "made-up names say no more than positions");
}

#[test]
fn kernels_on_feature_sets_keep_their_names_in_a_file_even_on_a_set_of_all_columns() {
    let folder = tempfile::tempdir().unwrap();
    let (sets, path) = (folder.path().join("sets.gmt"), folder.path().join("m.multikernel"));
    std::fs::write(&sets, "pair\tna\ta\tc\nwhole\tna\ta\tb\tc\n").unwrap();
    let rows = Matrix::from_fn(6, 3, |i, j| ((i + 1) * (j + 2) % 7) as f64);
    let samples = Samples::new(rows, ["a", "b", "c"].map(String::from).to_vec()).unwrap();
    let data = Dataset::new("sets", samples, Labels::new(&["p", "q", "q", "p", "q", "p"]).unwrap()).unwrap();
    let bank = format!("linear each set(\"{}\") raw", sets.display());
    let model = Plan::new("average").unwrap().kernels(&bank).unwrap().train(&data).unwrap();
    model.save(&path).unwrap();
    let again = Model::load(&path).unwrap();
    for model in [&model, &again] {
        assert_eq!(model.kernels().names(), ["linear on pair raw", "linear raw"]);
    }
    assert_eq!(again.predict(&data.samples).unwrap(), model.predict(&data.samples).unwrap());
}

#[test]
fn calls_without_a_pool_give_the_bits_of_calls_with_one() {
    let data = bundled("sonar").unwrap();
    let (samples, pool) = (&data.samples, Pool::new(1).unwrap());
    let model = Plan::new("average").unwrap().proba(true).train(&data).unwrap();
    assert_eq!(model.predict(samples).unwrap(), model.predict_in(samples, &pool).unwrap());
    assert_eq!(model.probabilities(samples).unwrap(), model.probabilities_in(samples, &pool).unwrap());
    let model = Plan::new("dpm").unwrap().set("sweeps", "2").unwrap().train(&data).unwrap();
    let clustering = model.clustering().unwrap();
    let (placed, again) = (clustering.place(samples).unwrap(), clustering.place_in(samples, &pool).unwrap());
    assert_eq!((placed.clusters, placed.density), (again.clusters, again.density));
}

#[test]
fn label_is_the_first_of_equal_scores() {
    let data = set(Matrix::from_fn(4, 1, |i, _| i as f64), &["p", "q", "q", "p"]);
    let model = Plan::new("majority").unwrap().train(&data).unwrap();
    assert_eq!(model.predict(&data.samples).unwrap().labels, [0; 4]);
    let probabilities = model.probabilities(&data.samples).unwrap();
    assert_eq!(probabilities.data(), [0.5; 8]);
}

#[test]
fn solver_that_can_make_no_further_step_ends_with_a_warning() {
    let data = bundled("sonar").unwrap();
    let plan = Plan::new("svm").unwrap().set("tol", "1e-300").unwrap();
    let model = plan.train(&data).unwrap();
    assert!(model.training().warnings()[0].contains("did not converge"), "{:?}", model.training().warnings());
    assert!(model.training().is_finished());
}

/// A kept model of a stream can be gone on from, and predicts the next row as it did on file.
fn goes_on(model: Model, data: &Dataset) {
    let pool = Pool::new(1).unwrap();
    let mut plan = Plan::new(model.training().method()).unwrap();
    for (name, value) in model.training().params() {
        plan = plan.set(name, value).unwrap();
    }
    let (n, next) = (model.training().n_samples() as u64, data.samples.select_rows(&[7]));
    let (expected, label) = (model.predict(&next).unwrap().labels[0], model.classes()[0].clone());
    let mut online = Online::from_model(model, &plan, &OnlineOptions::default(), &pool).unwrap();
    assert_eq!(online.learn(&next, &[label], &pool).unwrap(), [Some(expected)]);
    assert!(online.is_continued() && online.n_rows() == n + 1);
}

/// Old models stay loadable: each file under `testdata/models` beside the scores it gave when it was written.
#[test]
fn kept_models_predict_what_they_predicted() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/models");
    let mut found = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "multikernel") {
            continue;
        }
        found += 1;
        let model = Model::load(&path).unwrap();
        let data = bundled(model.training().dataset()).unwrap();
        assert_eq!(model.training().fingerprint(), data.fingerprint(), "{}", path.display());
        let predicted = model.predict(&data.samples).unwrap();
        let text = std::fs::read_to_string(path.with_extension("csv")).unwrap();
        for (i, line) in text.lines().skip(1).enumerate() {
            let mut cells = line.split(',');
            assert_eq!(
                cells.next(),
                Some(model.classes()[predicted.labels[i]].as_str()),
                "{}: row {i}",
                path.display()
            );
            for (expected, score) in cells.zip(predicted.scores.row(i)) {
                let expected: f64 = expected.parse().unwrap();
                // Later versions may round in another order.
                assert!(
                    (score - expected).abs() <= 1e-10 * (1.0 + expected.abs()),
                    "{}: row {i}: {score}",
                    path.display()
                );
            }
        }
        assert_eq!(text.lines().count(), 1 + predicted.labels.len());
        if model.training().is_online() {
            goes_on(model, &data);
        }
    }
    assert!(found > 0, "no model in {}", folder.display());
}
