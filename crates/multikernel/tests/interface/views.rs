//! Views, missing views, Gram matrices, shares, chosen parameters and probabilities, from data to saved models.

use multikernel::data::{Dataset, Gram, Labels, ReadOptions, Samples, View, bundled, read_with_labels};
use multikernel::dist::Rng;
use multikernel::evaluate::{Evaluation, Protocol, ablations, evaluate};
use multikernel::kernel::Kernel;
use multikernel::plan::{Missing, Part, Session};
use multikernel::run::Silent;
use multikernel::{Matrix, Model, Plan, Pool};

/// Two classes told by view `a` (two columns) and less so by view `b` (three); a third view is noise.
fn views(n: usize, stream: u64) -> Dataset {
    let mut rng = Rng::new(7, stream);
    let mut normal = || (0..12).map(|_| rng.uniform()).sum::<f64>() - 6.0;
    let labels: Vec<&str> = (0..n).map(|i| if i % 2 == 0 { "no" } else { "yes" }).collect();
    let shift = |j: usize| [1.6, -1.6, 0.9, 0.0, 0.0, 0.0, 0.0][j];
    let rows = Matrix::from_fn(n, 7, |i, j| normal() + if i % 2 == 0 { shift(j) } else { -shift(j) });
    let view = |(name, columns): (&str, std::ops::Range<usize>)| View { name: name.into(), columns };
    let samples =
        Samples::unnamed(rows).unwrap().with_views([("a", 0..2), ("b", 2..5), ("c", 5..7)].map(view).to_vec());
    Dataset::new("views", samples.unwrap(), Labels::new(&labels).unwrap()).unwrap()
}

/// The same with views taken from rows at random, at least one left to each.
fn with_holes(set: &Dataset, share: f64, stream: u64) -> Dataset {
    let mut rng = Rng::new(8, stream);
    let mut rows = set.samples.features().to_dense().unwrap().into_owned();
    for i in 0..rows.n_rows() {
        let kept = rng.below(3);
        for (v, view) in set.samples.views().iter().enumerate() {
            if v != kept && rng.uniform() < share {
                rows.row_mut(i)[view.columns.clone()].fill(f64::NAN);
            }
        }
    }
    let samples = Samples::new(rows, set.samples.names().to_vec()).unwrap();
    Dataset { samples: samples.with_views(set.samples.views().to_vec()).unwrap(), ..set.clone() }
}

fn saved(model: &Model) -> Model {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("m");
    model.save(&path).unwrap();
    let again = Model::load(&path).unwrap();
    again.save(dir.path().join("n")).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(dir.path().join("n")).unwrap());
    again
}

fn run(set: &Dataset, plans: &[Plan], protocol: &Protocol, seed: u64) -> Evaluation {
    let pool = Pool::new(2).unwrap();
    evaluate(set, plans, protocol, seed, &mut Session::new(&pool, &mut Silent)).unwrap()
}

fn accuracy(found: &Evaluation, k: usize) -> f64 {
    found.results[k].spread(|fold| Some(fold.metrics.accuracy)).unwrap().mean
}

#[test]
fn default_bank_of_views_is_on_each_of_them() {
    let set = views(60, 0);
    let model = Plan::new("average").unwrap().train(&set).unwrap();
    assert_eq!(model.kernels().len(), 30);
    assert!(model.kernels().names()[0].ends_with(" on a"), "{}", model.kernels().names()[0]);
    assert_eq!(model.kernels().by_view().iter().map(|view| view.kernels.len()).collect::<Vec<_>>(), [10, 10, 10]);
    let without = |part| Plan::new("average").unwrap().part(part).train(&set).unwrap();
    assert_eq!(without(Part::Without("b".into())).kernels().len(), 20);
    assert!(without(Part::Only("b".into())).kernels().names().iter().all(|name| name.ends_with(" on b")));
    assert!(without(Part::Concatenated).kernels().names().iter().all(|name| !name.contains(" on ")));
}

/// Share_m = sum_p Cov_i(w_m (K_m a_p)_i, f_p(x_i)) / sum_p Var_i(f_p(x_i)): written out for a two-class and a
/// three-class model from its scores on altered banks is not possible, so from the kernels themselves.
#[test]
fn shares_are_covariances_with_the_decision_and_add_up_to_one() {
    for (name, bank) in [
        ("sonar", "gaussian(2^0..2^3), polynomial(1..2)"),
        ("nutrimouse", "gaussian(4) on gene, gaussian(2, 8) on lipid, linear on lipid raw"),
    ] {
        let set = bundled(name).unwrap();
        // Solved far enough that the solver's own freedom is out of the comparison.
        let plan = Plan::new("average").unwrap().kernels(bank).unwrap().set("tol", "1e-10").unwrap();
        let model = plan.train(&set).unwrap();
        let shares = model.kernels().shares().unwrap();
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-10, "{shares:?}");
        let expected = brute_shares(&set, &model);
        for (found, expected) in shares.iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-7, "{found} {expected}");
        }
        assert_eq!(saved(&model).kernels().shares(), Some(shares));
    }
}

/// Shares from the decisions of the dual problems, solved once more by the same SVM on the summed kernel.
fn brute_shares(set: &Dataset, model: &Model) -> Vec<f64> {
    use multikernel::solve::smo;
    let features = set.samples.features().to_dense().unwrap().into_owned();
    let scaler = multikernel::data::Scaler::fit(set.samples.features()).unwrap();
    let rows = scaler.apply(&features.into()).unwrap().to_dense().unwrap().into_owned();
    let kernels = model.kernels().as_slice();
    let (n, codes) = (rows.n_rows(), set.labels.codes());
    let gram = |kernel: &Kernel| Matrix::from_fn(n, n, |i, j| kernel.between(rows.row(i), rows.row(j)));
    let grams: Vec<Matrix> = kernels.iter().map(gram).collect();
    let weight = 1.0 / kernels.len() as f64;
    let sum = Matrix::from_fn(n, n, |i, j| grams.iter().map(|gram| weight * gram.get(i, j)).sum());
    let (mut covariances, mut variance) = (vec![0.0; kernels.len()], 0.0);
    for first in 0..set.labels.n_classes() {
        for second in first + 1..set.labels.n_classes() {
            let members: Vec<usize> = (0..n).filter(|&i| [first, second].contains(&codes[i])).collect();
            let positive: Vec<bool> = members.iter().map(|&i| codes[i] == first).collect();
            let upper = vec![10.0; members.len()];
            let problem = smo::Problem { gram: (&sum).into(), rows: &members, positive: &positive, upper: &upper };
            let options = smo::Options { tolerance: 1e-10, max_iter: 1_000_000, ..Default::default() };
            let solution = smo::solve(&problem, &options, None, &|| false).unwrap().unwrap();
            let coef = |k: usize| if positive[k] { solution.alpha[k] } else { -solution.alpha[k] };
            let apply = |gram: &Matrix| -> Vec<f64> {
                (0..n).map(|i| members.iter().enumerate().map(|(k, &j)| coef(k) * gram.get(i, j)).sum()).collect()
            };
            let mean = |values: &[f64]| values.iter().sum::<f64>() / n as f64;
            let covariance = |a: &[f64], b: &[f64]| {
                let (ma, mb) = (mean(a), mean(b));
                a.iter().zip(b).map(|(a, b)| (a - ma) * (b - mb)).sum::<f64>() / n as f64
            };
            let decision = apply(&sum);
            variance += covariance(&decision, &decision);
            for (total, gram) in covariances.iter_mut().zip(&grams) {
                let part: Vec<f64> = apply(gram).iter().map(|value| weight * value).collect();
                *total += covariance(&part, &decision);
            }
        }
    }
    covariances.iter().map(|covariance| covariance / variance).collect()
}

#[test]
fn rows_that_lack_views_are_learned_and_predicted() {
    let (whole, new) = (views(160, 1), views(80, 2));
    let (train, test) = (with_holes(&whole, 0.4, 1), with_holes(&new, 0.4, 2));
    for missing in [Missing::Skip, Missing::Impute, Missing::Drop] {
        let plan = Plan::new("average").unwrap().missing(missing);
        let model = saved(&plan.train(&train).unwrap());
        let found = model.predict(&test.samples).unwrap();
        let right = found.labels.iter().zip(test.labels.codes()).filter(|(a, b)| a == b).count();
        assert!(right > 60, "{missing:?}: {right} of 80");
        // A row has the scores it has alone.
        let alone = model.predict(&test.samples.select_rows(&[5])).unwrap();
        assert_eq!(alone.scores.row(0), found.scores.row(5));
    }
    // Nothing that is missing: all three are the same model.
    let model = |missing| Plan::new("average").unwrap().missing(missing).train(&whole).unwrap();
    let scores = |missing| model(missing).predict(&new.samples).unwrap().scores;
    assert_eq!(scores(Missing::Skip), scores(Missing::Impute));
    assert_eq!(scores(Missing::Skip), scores(Missing::Drop));
    // What lies in a view that a row lacks plays no role: a model of complete rows and one view alone agree on it.
    let only_a = Plan::new("average").unwrap().part(Part::Only("a".into())).train(&whole).unwrap();
    let mut rows = new.samples.features().to_dense().unwrap().into_owned();
    (0..80).for_each(|i| rows.row_mut(i)[2..].fill(1e6));
    let moved = Samples::new(rows, new.samples.names().to_vec()).unwrap();
    let moved = moved.with_views(new.samples.views().to_vec()).unwrap();
    assert_eq!(only_a.predict(&moved).unwrap().labels, only_a.predict(&new.samples).unwrap().labels);
}

#[test]
fn row_without_any_view_is_refused() {
    let mut set = views(30, 3);
    let mut rows = set.samples.features().to_dense().unwrap().into_owned();
    rows.row_mut(4).fill(f64::NAN);
    let ids: Vec<String> = (0..30).map(|i| format!("s{i}")).collect();
    let samples = Samples::new(rows, set.samples.names().to_vec()).unwrap();
    set.samples = samples.with_views(set.samples.views().to_vec()).unwrap().with_ids(ids).unwrap();
    let error = Plan::new("average").unwrap().train(&set).unwrap_err().to_string();
    assert_eq!(error, "sample s4 (row 5) has no view at all; leave it out");
}

#[test]
fn widths_come_from_rows_that_have_the_view() {
    let whole = views(90, 9);
    let holes = with_holes(&whole, 0.5, 9);
    let median = |set: &Dataset| {
        let plan = Plan::new("average").unwrap().kernels("gaussian(median) on a").unwrap();
        let text = plan.scale(multikernel::data::Scale::None).train(set).unwrap().kernels().as_slice()[0].to_string();
        text.trim_start_matches("gaussian(").split(')').next().unwrap().parse::<f64>().unwrap()
    };
    let table = holes.samples.features().to_dense().unwrap().into_owned();
    let has: Vec<usize> = (0..90).filter(|&i| !table.get(i, 0).is_nan()).collect();
    assert!(has.len() < 75);
    let only = Dataset { samples: whole.samples.select_rows(&has), labels: whole.labels.select(&has), ..whole.clone() };
    assert_eq!(median(&holes), median(&only));
    assert_ne!(median(&holes), median(&whole));
}

#[test]
fn rows_that_no_kernel_knows_are_left_to_the_bias_and_ablation_goes_on() {
    let set = with_holes(&views(80, 10), 0.5, 10);
    let plans = ablations(&Plan::new("average").unwrap(), &set.samples).unwrap();
    let found = run(&set, &plans, &Protocol::Folds(3), 0);
    assert_eq!(found.results.len(), 8);
    assert!(found.results.iter().all(|result| result.folds.len() == 3));
    // Kernels on all columns know nothing of rows with a hole: their scores are the bias, the same for all.
    let model = Plan::new("svm").unwrap().train(&set).unwrap();
    let table = set.samples.features().to_dense().unwrap().into_owned();
    let with_hole: Vec<usize> = (0..80).filter(|&i| table.row(i).iter().any(|value| value.is_nan())).collect();
    let scores = model.predict(&set.samples.select_rows(&with_hole)).unwrap().scores;
    assert!(scores.rows().all(|row| row == scores.row(0)));
}

#[test]
fn gram_matrices_train_and_predict_like_the_kernel_they_are() {
    let (set, new) = (views(60, 4), views(25, 5));
    let rows = |set: &Dataset| set.samples.features().to_dense().unwrap().into_owned();
    let own: Kernel = "polynomial(2) raw".parse().unwrap();
    let between =
        |a: &Matrix, b: &Matrix| Matrix::from_fn(a.n_rows(), b.n_rows(), |i, j| own.between(a.row(i), b.row(j)));
    let gram = Gram::square("g", between(&rows(&set), &rows(&set))).unwrap();
    let samples = Samples::of_grams(vec![gram.clone()]).unwrap();
    let given = Dataset { samples, ..set.clone() };
    let model = saved(&Plan::new("average").unwrap().train(&given).unwrap());
    assert_eq!(model.kernels().bank(), Some("precomputed(g)"));
    assert_eq!(model.input().gram_diagonals()[0].1, gram.diagonal());
    let diagonal: Vec<f64> = rows(&new).rows().map(|row| own.between(row, row)).collect();
    let cross = Gram::cross("g", between(&rows(&new), &rows(&set)), Some(diagonal), gram.diagonal()).unwrap();
    let found = model.predict(&Samples::of_grams(vec![cross]).unwrap()).unwrap();
    let plan = Plan::new("average").unwrap().scale(multikernel::data::Scale::None);
    let computed = plan.kernels("polynomial(2)").unwrap().train(&set).unwrap().predict(&new.samples).unwrap();
    for (a, b) in found.scores.data().iter().zip(computed.scores.data()) {
        assert!((a - b).abs() < 1e-2, "{a} {b}");
    }
    // Folds take their rows and columns of the whole matrix.
    let both = given.samples.clone();
    assert_eq!(both.select_rows(&[3, 1]).rows_of_grams(), [3, 1]);
    let (of_gram, of_rows) = (
        run(&given, &[Plan::new("average").unwrap()], &Protocol::Folds(4), 0),
        run(
            &set,
            &[Plan::new("average").unwrap().scale(multikernel::data::Scale::None).kernels("polynomial(2)").unwrap()],
            &Protocol::Folds(4),
            0,
        ),
    );
    assert!((accuracy(&of_gram, 0) - accuracy(&of_rows, 0)).abs() < 0.05);
}

#[test]
fn distances_train_and_predict_like_the_gram_matrix_of_their_exponentials() {
    let (set, new) = (views(60, 4), views(25, 5));
    let rows = |set: &Dataset| set.samples.features().to_dense().unwrap().into_owned();
    let apart = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum::<f64>();
    let between = |a: &Matrix, b: &Matrix| Matrix::from_fn(a.n_rows(), b.n_rows(), |i, j| apart(a.row(i), b.row(j)));
    let (square, cross) = (between(&rows(&set), &rows(&set)), between(&rows(&new), &rows(&set)));
    let of = |square: Matrix| {
        let samples = Samples::of_grams(vec![Gram::square("d", square).unwrap()]).unwrap();
        Dataset { samples, ..set.clone() }
    };
    // Half of the rows, so that the median is that of rows trained on.
    let half: Vec<usize> = (0..60).filter(|i| i % 4 < 2).collect();
    let plan = Plan::new("average").unwrap().kernels("distance(median*2^-1..2^1) on d").unwrap();
    let model = saved(&plan.train(&of(square.clone()).select(&half)).unwrap());
    let mut apart: Vec<f64> = half
        .iter()
        .flat_map(|&i| half.iter().filter(move |&&j| j < i).map(move |&j| (i, j)))
        .map(|(i, j)| square.get(i, j))
        .collect();
    apart.sort_by(f64::total_cmp);
    let median = 0.5 * (apart[(apart.len() - 1) / 2] + apart[apart.len() / 2]);
    let widths = [0.5 * median, median, 2.0 * median];
    let names = widths.map(|width| Kernel::distance("d", width).unwrap().to_string());
    assert_eq!(model.kernels().names(), names);
    assert!(names[0].ends_with(") on d"), "{names:?}");
    let found =
        model.predict(&Samples::of_grams(vec![Gram::cross("d", cross.clone(), None, &[0.0; 60]).unwrap()]).unwrap());
    // The same three kernels as Gram matrices.
    let exponential = |matrix: &Matrix, width: f64| {
        Matrix::from_fn(matrix.n_rows(), matrix.n_cols(), |i, j| (-matrix.get(i, j) / width).exp())
    };
    let square_of = |(k, width): (usize, f64)| Gram::square(&format!("g{k}"), exponential(&square, width)).unwrap();
    let cross_of = |(k, width): (usize, f64)| {
        Gram::cross(&format!("g{k}"), exponential(&cross, width), Some(vec![1.0; 25]), &[1.0; 60]).unwrap()
    };
    let grams: Vec<Gram> = widths.into_iter().enumerate().map(square_of).collect();
    let given = Dataset { samples: Samples::of_grams(grams).unwrap(), ..set.clone() }.select(&half);
    let precomputed = Plan::new("average").unwrap().train(&given).unwrap();
    let crosses: Vec<Gram> = widths.into_iter().enumerate().map(cross_of).collect();
    let expected = precomputed.predict(&Samples::of_grams(crosses).unwrap()).unwrap();
    for (a, b) in found.unwrap().scores.data().iter().zip(expected.scores.data()) {
        assert!((a - b).abs() < 1e-6, "{a} {b}");
    }
}

#[test]
fn what_is_no_distance_is_refused_with_its_row_and_column() {
    let set = views(6, 4);
    let square = |i: usize, j: usize, value: f64| {
        let mut matrix = Matrix::from_fn(6, 6, |i, j| i.abs_diff(j) as f64);
        matrix.set(i, j, value);
        matrix.set(j, i, value);
        let samples = Samples::of_grams(vec![Gram::square("d", matrix).unwrap()]).unwrap();
        Dataset { samples, ..set.clone() }
    };
    let plan = Plan::new("average").unwrap().kernels("distance(median) on d").unwrap();
    let refused = |data: &Dataset| plan.train(data).unwrap_err().to_string();
    let found = refused(&square(4, 1, -2.0));
    assert!(found.contains("`d` holds -2 in row 2, column 5;") && found.contains("none below 0"), "{found}");
    let found = refused(&square(3, 3, 0.5));
    assert!(found.contains("`d` holds 0.5 in row 4, column 4;") && found.contains("none from itself"), "{found}");
    let found = refused(&set);
    assert!(found.contains("on d needs a Gram matrix that is not there"), "{found}");
    let model = plan.train(&square(0, 1, 1.0)).unwrap();
    let new = |value: f64| {
        let cross =
            Gram::cross("d", Matrix::from_fn(2, 6, |i, j| if (i, j) == (1, 3) { value } else { 1.0 }), None, &[0.0; 6]);
        model.predict(&Samples::of_grams(vec![cross.unwrap()]).unwrap())
    };
    assert!(new(0.0).is_ok());
    let found = new(-1.0).unwrap_err().to_string();
    assert!(found.contains("holds -1 in row 2, column 4;"), "{found}");
}

#[test]
fn auto_takes_the_best_of_its_list_and_says_so() {
    let set = bundled("glass").unwrap();
    let model = Plan::new("average").unwrap().set("c", "auto").unwrap().train(&set).unwrap();
    let chosen = model.training().facts().into_iter().find(|(name, _)| name == "chosen").unwrap().1;
    let c = model.training().params()["c"].clone();
    assert!(["0.3", "1", "3", "10", "30", "100"].contains(&c.as_str()));
    assert!(chosen.starts_with(&format!("c = {c}; held-out log-loss of c = 0.3 ")), "{chosen}");
    // The model is the one with that value set.
    let same = Plan::new("average").unwrap().set("c", &c).unwrap().train(&set).unwrap();
    assert_eq!(model.predict(&set.samples).unwrap(), same.predict(&set.samples).unwrap());
    assert!(saved(&model).training().facts().iter().any(|(_, value)| *value == chosen));
}

/// Labels that have nothing to do with the rows.
fn permuted(set: &Dataset, seed: u64) -> Dataset {
    let mut codes = set.labels.codes().to_vec();
    Rng::new(seed, 77).shuffle(&mut codes);
    Dataset { labels: Labels::from_parts(set.labels.classes().to_vec(), codes).unwrap(), ..set.clone() }
}

#[test]
fn permuted_labels_give_chance_accuracy_on_every_path() {
    let sonar = bundled("sonar").unwrap();
    let groups: Vec<String> = (0..208).map(|i| format!("g{}", i / 4)).collect();
    let mut found = vec![vec![]; 3];
    for seed in 0..12 {
        let set = permuted(&sonar, seed);
        let grouped = permuted(&sonar.clone().with_groups(&groups, None).unwrap(), seed);
        let plain = Plan::new("average").unwrap();
        let nested = || plain.clone().set("c", "auto").unwrap();
        for (k, (set, plan)) in [(&set, plain.clone()), (&set, nested()), (&grouped, nested())].into_iter().enumerate()
        {
            found[k].push(accuracy(&run(set, &[plan], &Protocol::Folds(4), seed), 0));
        }
    }
    // Without a leak a guess is right with the share of a class: .50 here (.534 for who always says the larger one).
    for accuracies in found {
        let n = accuracies.len() as f64;
        let mean = accuracies.iter().sum::<f64>() / n;
        let sd = (accuracies.iter().map(|a| (a - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        let error = (sd / n.sqrt()).max(0.5 / (208.0 * n).sqrt());
        assert!((0.5 - 3.0 * error..0.534 + 3.0 * error).contains(&mean), "{mean} ± {error}: {accuracies:?}");
    }
}

#[test]
fn groups_are_never_on_both_sides() {
    // A column that names the group and labels that depend on it: only a split that tears groups apart can learn it.
    let n = 120;
    let mut rng = Rng::new(3, 0);
    let mut class_of = vec![0; 30];
    class_of.iter_mut().enumerate().for_each(|(g, class)| *class = g % 2);
    rng.shuffle(&mut class_of);
    let rows = Matrix::from_fn(n, 8, |i, j| ((i / 4) * (j + 3) * 7919 % 101) as f64 + 0.01 * rng.uniform());
    let labels: Vec<String> = (0..n).map(|i| class_of[i / 4].to_string()).collect();
    let set = Dataset::new("g", Samples::unnamed(rows).unwrap(), Labels::new(&labels).unwrap()).unwrap();
    let groups: Vec<String> = (0..n).map(|i| (i / 4).to_string()).collect();
    let grouped = set.clone().with_groups(&groups, Some("patient".into())).unwrap();
    let plan = || [Plan::new("average").unwrap().kernels("gaussian(1)").unwrap()];
    let (apart, together) =
        (run(&set, &plan(), &Protocol::Folds(5), 0), run(&grouped, &plan(), &Protocol::Folds(5), 0));
    assert!(accuracy(&apart, 0) > 0.95, "{}", accuracy(&apart, 0));
    assert!(accuracy(&together, 0) < 0.75, "{}", accuracy(&together, 0));
    assert!(together.protocol.ends_with("30 groups of patient kept together"), "{}", together.protocol);
}

#[test]
fn ablation_finds_the_view_that_matters() {
    let set = views(120, 6);
    let plans = ablations(&Plan::new("average").unwrap(), &set.samples).unwrap();
    let found = run(&set, &plans, &Protocol::Repeats { n_repeats: 8, train_fraction: 0.5 }, 0);
    let titles: Vec<&str> = found.results.iter().map(|result| result.method.as_str()).collect();
    assert_eq!(
        titles[3..],
        ["average, without c", "average, only a", "average, only b", "average, only c", "average, concatenated"]
    );
    assert_eq!(found.paired.len(), 7);
    let loss = |name: &str| found.paired.iter().find(|pair| pair.b.ends_with(name)).unwrap();
    assert!(loss("without a").difference > 0.1 && loss("without a").distinguishable);
    assert!(loss("without c").difference < 0.05);
    assert_eq!(found.paired_auroc.len(), 7);
    let views = found.results[0].view_summaries();
    assert!((views.iter().map(|view| view.weight.mean).sum::<f64>() - 1.0).abs() < 1e-12);
    assert!((views.iter().map(|view| view.share.unwrap().mean).sum::<f64>() - 1.0).abs() < 1e-9);
    assert!(views[0].share.unwrap().mean > views[2].share.unwrap().mean);
    assert!(ablations(&Plan::new("average").unwrap(), &bundled("sonar").unwrap().samples).is_err());
}

#[test]
fn single_and_bestview_choose_what_tells_the_classes() {
    let set = views(120, 8);
    let model = Plan::new("bestview").unwrap().train(&set).unwrap();
    let weights = model.kernels().weights().unwrap();
    assert!(model.kernels().by_view()[0].kernels.iter().all(|&m| (weights[m] - 0.1).abs() < 1e-12));
    assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    let model = Plan::new("single").unwrap().train(&set).unwrap();
    let weights = model.kernels().weights().unwrap();
    let chosen = weights.iter().position(|&weight| weight == 1.0).unwrap();
    assert!(model.kernels().names()[chosen].ends_with("on a"), "{}", model.kernels().names()[chosen]);
    assert_eq!(weights.iter().filter(|&&weight| weight != 0.0).count(), 1);
    let error = Plan::new("bestview").unwrap().train(&bundled("sonar").unwrap()).unwrap_err().to_string();
    assert!(error.contains("bestview chooses among views"), "{error}");
}

#[test]
fn probabilities_agree_with_labels_and_survive_a_file() {
    for name in ["sonar", "vehicle"] {
        let set = bundled(name).unwrap();
        let half: Vec<usize> = (0..set.samples.n_samples()).step_by(2).collect();
        let plain = Plan::new("average").unwrap();
        let model = saved(&plain.clone().proba(true).train(&set.select(&half)).unwrap());
        let found = model.probabilities(&set.samples).unwrap();
        let labels = model.predict(&set.samples).unwrap().labels;
        for (row, label) in found.rows().zip(labels) {
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert!(row.iter().all(|&p| p <= row[label] && p >= 0.0));
        }
        let none = plain.train(&set.select(&half)).unwrap();
        assert!(!none.has_probabilities() && model.has_probabilities());
        let error = none.probabilities(&set.samples).unwrap_err().to_string();
        assert!(error.contains("train it with `Plan::proba`"), "{error}");
        assert_eq!(none.predict(&set.samples).unwrap(), model.predict(&set.samples).unwrap());
    }
}

#[test]
fn first_label_of_a_file_without_a_header_takes_no_feature_out() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let rows = write("rows.csv", "a,b,c\n1,2,3\n4,5,6\n7,8,9\n");
    let bare = read_with_labels(&rows, &write("bare.csv", "b\nx\nb\n"), &ReadOptions::default()).unwrap();
    assert_eq!(bare.samples.names(), ["a", "b", "c"]);
    assert_eq!(bare.labels.unwrap(), ["b", "x", "b"]);
    // A header that a feature is called like is left out with it: it would tell the classes.
    let named = read_with_labels(&rows, &write("named.csv", "b\nx\ny\nx\n"), &ReadOptions::default()).unwrap();
    assert_eq!(named.samples.names(), ["a", "c"]);
}

#[test]
fn ablation_of_two_views_makes_each_run_once() {
    let mice = bundled("nutrimouse").unwrap();
    let plan = Plan::new("average").unwrap();
    let plans = ablations(&plan, &mice.samples).unwrap();
    let titles: Vec<String> = plans.iter().map(Plan::title).collect();
    let expected = [
        "average",
        "average, only gene (without lipid)",
        "average, only lipid (without gene)",
        "average, concatenated",
    ];
    assert_eq!(titles, expected);
    let found = run(&mice, &plans, &Protocol::Folds(3), 0);
    let both = [Part::Only("gene".into()), Part::Without("lipid".into())].map(|part| plan.clone().part(part));
    let each = run(&mice, &both, &Protocol::Folds(3), 0);
    for result in &each.results {
        for (a, b) in result.folds.iter().zip(&found.results[1].folds) {
            assert_eq!((&a.metrics, &a.weights, &a.predicted), (&b.metrics, &b.weights, &b.predicted));
        }
    }
    assert_eq!(found.paired.len(), 3);
    // A kernel on both views goes with either of them, so the two runs are still the same one.
    let across = plan.clone().kernels("linear on gene, linear on lipid, gaussian(1)").unwrap();
    assert_eq!(ablations(&across, &mice.samples).unwrap().len(), 4);
}

#[test]
fn ablation_of_learned_weights_has_equal_ones_beside_them() {
    let mice = bundled("nutrimouse").unwrap();
    let plan = Plan::new("evidence").unwrap().set("c", "3").unwrap();
    let plans = ablations(&plan, &mice.samples).unwrap();
    let equal = plans.last().unwrap();
    assert_eq!((equal.title().as_str(), plans.len()), ("evidence, equal weights", 5));
    let plain = Plan::new("average").unwrap().set("c", "3").unwrap();
    let found = run(&mice, &[equal.clone(), plain], &Protocol::Folds(3), 0);
    for (a, b) in found.results[0].folds.iter().zip(&found.results[1].folds) {
        assert_eq!((&a.metrics, &a.weights, &a.predicted), (&b.metrics, &b.weights, &b.predicted));
    }
}

#[test]
fn ablation_of_a_view_and_a_gram_matrix_makes_two_runs_where_kernels_differ() {
    let mice = bundled("nutrimouse").unwrap();
    let table = mice.samples.features().to_dense().unwrap().into_owned();
    let gram = Matrix::from_fn(40, 40, |i, j| table.row(i).iter().zip(table.row(j)).map(|(a, b)| a * b).sum());
    let one = Samples::new(table, mice.samples.names().to_vec()).unwrap();
    let one = one.with_views(vec![View { name: "gene".into(), columns: 0..120 }]).unwrap();
    let samples = one.with_grams(vec![Gram::square("g", gram).unwrap()]).unwrap();
    let titles = |bank: &str| -> Vec<String> {
        let plan = Plan::new("average").unwrap().kernels(bank).unwrap();
        ablations(&plan, &samples).unwrap().iter().map(Plan::title).collect()
    };
    let expected = ["average", "average, only gene (without g)", "average, only g (without gene)"];
    assert_eq!(titles("linear on gene, precomputed(g)"), expected);
    // A kernel on all columns, whatever their view, is left without g, and is not on the view alone.
    assert_eq!(titles("linear, linear on gene, precomputed(g)").len(), 5);
}

/// Four columns that are one view, beside a Gram matrix.
fn view_of_all_columns_and_gram() -> Dataset {
    let set = views(40, 0);
    let rows = set.samples.features().to_dense().unwrap().into_owned();
    let gram = Matrix::from_fn(40, 40, |i, j| rows.row(i).iter().zip(rows.row(j)).map(|(a, b)| a * b).sum());
    let table = Matrix::from_fn(40, 4, |i, j| rows.get(i, j));
    let samples = Samples::unnamed(table).unwrap().with_views(vec![View { name: "a".into(), columns: 0..4 }]).unwrap();
    Dataset { samples: samples.with_grams(vec![Gram::square("g", gram).unwrap()]).unwrap(), ..set }
}

#[test]
fn view_of_all_columns_is_a_view_beside_a_gram_matrix() {
    let (set, plan) = (view_of_all_columns_and_gram(), Plan::new("average").unwrap());
    let plans = ablations(&plan, &set.samples).unwrap();
    let titles: Vec<String> = plans.iter().map(Plan::title).collect();
    assert_eq!(titles, ["average", "average, only a (without g)", "average, only g (without a)"]);
    let n_kernels: Vec<usize> = plans.iter().map(|plan| plan.train(&set).unwrap().kernels().len()).collect();
    assert_eq!(n_kernels, [11, 10, 1]);
    let model = plan.train(&set).unwrap();
    for model in [&model, &saved(&model)] {
        let views = model.kernels().by_view().iter().map(|view| (view.name.as_str(), view.kernels.len()));
        assert_eq!(views.collect::<Vec<_>>(), [("a", 10), ("g", 1)]);
    }
}
