use super::*;
use crate::data::{Dataset, Labels, Numbers, Samples, Target, bundled};
use crate::dist::{Rng, normal};
use crate::evaluate::nmi;
use crate::method::check::with;
use crate::mixture::Witness;
use crate::plan::{Model, Plan, Session};
use crate::pool::Pool;
use crate::run::{Input, Predict, Rows, Silent};

/// Ten overlapping Gaussians in five columns, in three groups, one class each.
fn planted(seed: u64, n: usize) -> Dataset {
    let mut rng = Rng::new(seed, 77);
    let mut normals = |n_rows: usize, n_cols: usize| Matrix::from_fn(n_rows, n_cols, |_, _| normal(&mut rng));
    let (bunches, places, noise) = (normals(3, 5), normals(10, 5), normals(n, 5));
    let value = |i: usize, j: usize| 4.0 * bunches.get(i % 10 % 3, j) + 1.5 * places.get(i % 10, j) + noise.get(i, j);
    let labels: Vec<String> = (0..n).map(|i| (i % 10).to_string()).collect();
    let samples = Samples::unnamed(Matrix::from_fn(n, 5, value)).unwrap();
    Dataset::new("planted", samples, Labels::new(&labels).unwrap()).unwrap()
}

fn train(data: &Dataset, method: &str, settings: &[(&str, &str)]) -> Model {
    let plan = Plan::new(method).unwrap();
    settings.iter().try_fold(plan, |plan, (name, value)| plan.set(name, value)).unwrap().train(data).unwrap()
}

const SHORT: [(&str, &str); 3] = [("sweeps", "3"), ("frequencies", "16"), ("epochs", "2")];

#[test]
fn machines_help_to_find_planted_clusters() {
    let (mut with, mut without) = (0.0, 0.0);
    for seed in 0..3 {
        let data = planted(seed, 500);
        let found = |settings: &[(&str, &str)]| {
            let model = train(&data, "cik", &[&[("frequencies", "96"), ("epochs", "1")], settings].concat());
            nmi(model.clustering().unwrap().clusters(), data.labels.codes()).unwrap() / 3.0
        };
        with += found(&[("beta", "3")]);
        without += found(&[("beta", "0")]);
    }
    assert!(with >= 0.95 && without < with - 0.05, "{with} {without}");
}

/// Which of four centres a row of [`apart`] belongs to.
fn place(i: usize) -> usize {
    if i == 103 { 3 } else { i / 50 }
}

/// Rows with two columns: 50 around one centre, 50 around another, three far from both, and one far from all.
fn apart() -> Dataset {
    let mut rng = Rng::new(9, 0);
    let values = Matrix::from_fn(104, 2, |i, _| [0.0, 30.0, 400.0, -400.0][place(i)] + normal(&mut rng));
    let labels: Vec<String> = (0..104).map(|i| (i % 2).to_string()).collect();
    Dataset::new("apart", Samples::unnamed(values).unwrap(), Labels::new(&labels).unwrap()).unwrap()
}

/// The machine of most rows of each of [`GROUPS`] after a sweep, as its index before it; `None` for a fresh one.
fn handed(clusters: fn(usize) -> usize, n_rounds: usize, sampling: Sampling, moves: &str) -> [Option<usize>; 5] {
    let (data, pool) = (apart(), Pool::new(1).unwrap());
    let rows = Rows::new(data.samples.features(), None);
    let task = Task {
        input: Input::Rows(&rows),
        labels: &data.labels,
        target: &Target::Classes,
        groups: None,
        views: &[],
        alternatives: &[],
        seed: 1,
        pool: &pool,
    };
    // Narrow clusters, so that assignments are unambiguous.
    let params: Cik =
        with(&[("frequencies", "2"), ("moves", moves), ("spread", "1e-4"), ("nu", "30"), ("tau", "1e-4")]);
    let mut search = Search::init(&params, &task).unwrap();
    let (table, mut rng) = (search.table.0.take().unwrap(), Rng::new(5, 0));
    let clusters = (0..104).map(clusters).collect();
    search.mixture = Mixture::new(search.space.prior(&table, &params.clustering()).unwrap(), &table, clusters).unwrap();
    let machines: Vec<Machine> =
        (0..search.mixture.n_clusters()).map(|_| fresh(&task, &params, &mut rng).unwrap()).collect();
    (search.machines, search.n_rounds) = (Machines(machines.clone()), n_rounds);
    let (rows, codes) = (task.rows().unwrap(), data.labels.codes());
    let scene =
        Scene { rows, table: &table, answers: Answers::Codes(codes), n_outputs: 2, pool: &pool, stop: &|| false };
    search.sweep(&task, &params, &scene, sampling, &mut rng).unwrap();
    assert_eq!(search.machines.0.len(), search.mixture.n_clusters());
    let of = |row: usize| {
        let machine = &search.machines.0[search.mixture.clusters()[row]];
        machines.iter().position(|old| format!("{old:?}") == format!("{machine:?}"))
    };
    GROUPS.map(|group| {
        let found: Vec<Option<usize>> = group.map(of).collect();
        let count = |one: &Option<usize>| found.iter().filter(|other| *other == one).count();
        *found.iter().max_by_key(|one| count(one)).unwrap()
    })
}

/// Rows with the same centre, those of the first in two parts.
const GROUPS: [std::ops::Range<usize>; 5] = [0..30, 30..50, 50..100, 100..103, 103..104];

#[test]
fn clusters_keep_their_machines_wherever_they_come_to_stand() {
    // The only row of the first cluster joins others of its kind, and the clusters behind it move up. A singleton row
    // that is removed gets a new cluster, with a fresh machine, when it is put back.
    let lost = |i: usize| if i == 49 { 0 } else { 1 + place(i) };
    assert_eq!(handed(lost, 2, Sampling::Collapsed, "0"), [Some(1), Some(1), Some(2), Some(3), None]);
    assert_eq!(handed(lost, 2, Sampling::Blocked, "0"), [1, 1, 2, 3, 4].map(Some));
    // Pieces of one cluster are merged before the first sweep; the result has the machine of the larger.
    let pieces = |i: usize| if i < 30 { 1 } else { [0, 2, 3, 4][place(i)] };
    assert_eq!(handed(pieces, 1, Sampling::Fixed, "0"), [1, 1, 2, 3, 4].map(Some));
    assert_eq!(handed(pieces, 2, Sampling::Fixed, "0"), [1, 0, 2, 3, 4].map(Some), "later they stay");
    // Merges and splits after the sweep: one machine for the merged cluster, the same one for both halves.
    assert_eq!(handed(pieces, 2, Sampling::Fixed, "200"), [1, 1, 2, 3, 4].map(Some));
    let glued = |i: usize| usize::from(i < 100);
    assert_eq!(handed(glued, 2, Sampling::Fixed, "200"), [1, 1, 1, 0, 0].map(Some));
}

/// The hinge loss of a label.
fn loss(scores: &[f64], y: usize) -> f64 {
    let other = (0..scores.len()).filter(|&m| m != y).map(|m| scores[m]).fold(f64::NEG_INFINITY, f64::max);
    (1.0 + other - scores[y]).max(0.0)
}

/// A state after some rounds, with its inputs.
fn searched(data: &Dataset, settings: &[(&'static str, &str)]) -> (Search, Cik, Matrix) {
    let pool = Pool::new(1).unwrap();
    let params: Cik = with(settings);
    let rows = Rows::new(data.samples.features(), None);
    let task = Task {
        input: Input::Rows(&rows),
        labels: &data.labels,
        target: &Target::Classes,
        groups: None,
        views: &[],
        alternatives: &[],
        seed: 1,
        pool: &pool,
    };
    let mut search = Search::init(&params, &task).unwrap();
    for _ in 0..3 {
        search.step(&params, &task, &Control::default()).unwrap();
    }
    let table = search.space.apply(task.rows().unwrap()).unwrap();
    (search, params, table)
}

#[test]
fn opinions_are_those_of_all_machines_where_they_matter() {
    let data = planted(4, 300);
    let pool = Pool::new(2).unwrap();
    for likelihood in ["normalised", "published"] {
        let (search, params, table) =
            searched(&data, &[("likelihood", likelihood), ("frequencies", "16"), ("start", "8"), ("beta", "2")]);
        let rows = data.samples.features().to_dense().unwrap();
        let scene = Scene {
            rows: &rows,
            table: &table,
            answers: Answers::Codes(data.labels.codes()),
            n_outputs: 10,
            pool: &pool,
            stop: &|| false,
        };
        let how = Likelihood::new(&params);
        let opinions = Opinions::of(&scene, &search.mixture, &search.machines.0, &how).unwrap();
        let densities = search.mixture.ln_joint_densities(&table, &pool).unwrap();
        let n_clusters = search.mixture.n_clusters();
        let (mut asked, mut spared) = (0, 0);
        for i in 0..300 {
            let all: Vec<f64> = (0..n_clusters)
                .map(|k| {
                    let mut scores = vec![0.0; 10];
                    search.machines.0[k].scores(&rows, &[i], &mut scores).unwrap();
                    let losses: Vec<f64> = (0..10).map(|y| loss(&scores, y)).collect();
                    let own = -2.0 * losses[data.labels.codes()[i]];
                    let sum = losses.iter().map(|loss| (-2.0 * loss).exp()).sum::<f64>();
                    if likelihood == "normalised" { own - sum.ln() } else { own }
                })
                .collect();
            let best = (0..n_clusters).map(|k| densities.get(i, k) + all[k]).fold(f64::NEG_INFINITY, f64::max);
            for (k, exact) in all.iter().enumerate() {
                let (found, density) = (opinions.known(i, k), densities.get(i, k));
                if (found - exact).abs() < 1e-5 * (1.0 + exact.abs()) {
                    asked += 1;
                } else {
                    // A cluster that was not evaluated makes no difference, whichever of the two values it has.
                    assert!(density + found.max(*exact) < best - 25.0, "{i} {k} {found} {exact} {density} {best}");
                    spared += 1;
                }
            }
        }
        assert!(asked >= 300 && spared > 300, "{asked} {spared}");
    }
}

#[test]
fn probabilities_are_the_sum_over_clusters() {
    let data = planted(5, 200);
    let pool = Pool::new(1).unwrap();
    let (search, params, table) = searched(&data, &[("frequencies", "8"), ("start", "6"), ("alpha", "2")]);
    let rows = Rows::new(data.samples.features(), None);
    let task = Task {
        input: Input::Rows(&rows),
        labels: &data.labels,
        target: &Target::Classes,
        groups: None,
        views: &[],
        alternatives: &[],
        seed: 1,
        pool: &pool,
    };
    let model = search.clone().finish(&params, &task).unwrap();
    let found = model.scores(Input::Rows(&rows), &pool).unwrap();
    let joint = search.mixture.ln_joint_densities(&table, &pool).unwrap();
    let dense = data.samples.features().to_dense().unwrap();
    let k = search.mixture.n_clusters();
    for i in 0..200 {
        let most = joint.row(i).iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = joint.row(i).iter().map(|value| (value - most).exp()).sum();
        for y in 0..10 {
            let mut expected = (joint.get(i, k) - most).exp() / sum / 10.0;
            for c in 0..k {
                let mut scores = vec![0.0; 10];
                search.machines.0[c].scores(&dense, &[i], &mut scores).unwrap();
                let weight = |y: usize| (-loss(&scores, y)).exp();
                let share = weight(y) / (0..10).map(weight).sum::<f64>();
                expected += (joint.get(i, c) - most).exp() / sum * share;
            }
            assert!((found.get(i, y) - expected).abs() < 1e-12, "{i} {y}: {} {expected}", found.get(i, y));
        }
    }
}

#[test]
fn density_of_new_rows_adds_up_to_one() {
    // One column, so that the density can be summed over a grid.
    let mut rng = Rng::new(3, 0);
    let n = 60;
    let values: Vec<f64> = (0..n).map(|i| if i % 3 == 0 { 4.0 } else { 0.0 } + normal(&mut rng)).collect();
    let spread = {
        let mean = values.iter().sum::<f64>() / n as f64;
        (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n as f64).sqrt()
    };
    let labels: Vec<&str> = (0..n).map(|i| if i % 2 == 0 { "a" } else { "b" }).collect();
    let samples = Samples::unnamed(Matrix::from_vec(n, 1, values).unwrap()).unwrap();
    let data = Dataset::new("line", samples, Labels::new(&labels).unwrap()).unwrap();
    for method in ["dpm", "cik"] {
        let settings = [("start", "3")].into_iter().chain(SHORT.into_iter().filter(|_| method == "cik"));
        let model = train(&data, method, &settings.collect::<Vec<_>>());
        let grid = Matrix::from_fn(80_001, 1, |i, _| (i as f64 - 40_000.0) * 0.01);
        let placed = model.clustering().unwrap().place(&Samples::unnamed(grid).unwrap()).unwrap();
        // In units of the standard deviation, as the clusters see the column.
        let sum: f64 = placed.density.unwrap().iter().map(|ln| ln.exp() * 0.01 / spread).sum();
        assert!((sum - 1.0).abs() < 2e-3, "{method}: {sum}");
    }
}

#[test]
fn one_fixed_cluster_is_one_machine() {
    let data = planted(6, 200);
    let one = train(&data, "cik", &[&SHORT[..], &[("start", "1"), ("sampler", "fixed")]].concat());
    assert_eq!(one.clustering().unwrap().clusters(), [0; 200]);
    assert_eq!(one.clustering().unwrap().relevance().unwrap().n_rows(), 1);
    // One epoch on the start, three in place of sweeps, two at the end: the machine gets no more and no fewer.
    let again = train(&data, "cik", &[("start", "1"), ("sweeps", "0"), ("frequencies", "16"), ("epochs", "2")]);
    assert_ne!(one.predict(&data.samples).unwrap(), again.predict(&data.samples).unwrap());
}

/// Rows that break careless code.
fn odd(
    name: &str,
    value: impl Fn(usize, usize) -> f64,
    (n, d): (usize, usize),
    label: impl Fn(usize) -> usize,
) -> Dataset {
    let labels: Vec<String> = (0..n).map(|i| label(i).to_string()).collect();
    let samples = Samples::unnamed(Matrix::from_fn(n, d, value)).unwrap();
    Dataset::new(name, samples, Labels::new(&labels).unwrap()).unwrap()
}

#[test]
fn odd_rows_are_learned() {
    let noise = |i: usize, j: usize| ((i * 7919 + j * 104_729) % 1000) as f64 / 500.0 - 1.0;
    let half = |i: usize| i % 2;
    let sets = [
        odd("duplicates", |i, j| noise(i % 4, j), (60, 3), half),
        odd("constant columns", |i, j| if j == 1 { 5.0 } else { noise(i, j) }, (60, 3), half),
        odd("all rows equal", |_, j| j as f64, (20, 3), half),
        odd("more columns than rows", noise, (12, 40), half),
        odd("full, more columns than rows", noise, (8, 15), half),
        odd(
            "a class in one cluster",
            |i, j| if i < 10 { 50.0 } else { 0.0 } + noise(i, j),
            (80, 2),
            |i| usize::from(i < 10),
        ),
        odd("huge", |i, j| 1e150 * noise(i, j), (40, 3), half),
        odd("tiny", |i, j| 1e-150 * noise(i, j), (40, 3), half),
        odd("two rows", |i, _| i as f64, (2, 1), half),
    ];
    for data in &sets {
        for covariance in ["full", "diagonal"] {
            for sampler in ["collapsed", "blocked"] {
                let settings = [("covariance", covariance), ("sampler", sampler)];
                for (method, more) in [("cik", &SHORT[..]), ("dpm", &SHORT[..1])] {
                    let model = train(data, method, &[&settings[..], more].concat());
                    let found = model.predict(&data.samples).unwrap();
                    let sums = found.scores.rows().map(|row| row.iter().sum::<f64>());
                    assert!(sums.into_iter().all(|sum| (sum - 1.0).abs() < 1e-9), "{}, {method}", data.name);
                    let placed = model.clustering().unwrap().place(&data.samples).unwrap();
                    assert!(placed.density.unwrap().iter().all(|ln| ln.is_finite()), "{}, {method}", data.name);
                }
            }
        }
    }
    // The class that occurs in one cluster only is learned there.
    let model = train(&sets[5], "cik", &SHORT);
    let right = model.predict(&sets[5].samples).unwrap().labels;
    assert_eq!(right, sets[5].labels.codes());
    assert_eq!(model.clustering().unwrap().clusters()[..10].iter().collect::<std::collections::BTreeSet<_>>().len(), 1);
}

#[test]
fn machines_that_do_not_fit_into_memory_are_refused() {
    let (data, pool) = (planted(8, 200), Pool::new(1).unwrap());
    let plan = Plan::new("cik").unwrap().set("frequencies", "100000").unwrap();
    let mut silent = Silent;
    let mut session = Session::new(&pool, &mut silent);
    session.memory = Some(1 << 30);
    // 20 clusters, three times; 100,008 frequencies with 5 numbers of noise and 8 for each of 10 classes; 64 rows of
    // features.
    assert_eq!(
        plan.train_in(&data, &mut session).unwrap_err().to_string(),
        "a set of 20 machines of 100000 frequencies for 10 classes needs 3.90 GiB but 1024.0 MiB may be used; take fewer frequencies \
         (`Plan::set(\"frequencies\", \"96\")`), start from fewer clusters (`Plan::set(\"start\", \"5\")`), or raise the \
         memory limit"
    );
}

#[test]
fn machines_of_clusters_that_are_born_are_refused_where_there_is_no_memory_for_them() {
    let (data, pool) = (apart(), Pool::new(1).unwrap());
    let params: Cik =
        with(&[("start", "1"), ("frequencies", "240"), ("spread", "1e-4"), ("nu", "30"), ("tau", "1e-4")]);
    let run = |memory: Option<u64>| {
        let rows = Rows::new(data.samples.features(), memory);
        let input = Input::Rows(&rows);
        let task = Task {
            input,
            labels: &data.labels,
            target: &Target::Classes,
            groups: None,
            views: &[],
            alternatives: &[],
            seed: 1,
            pool: &pool,
        };
        let mut search = Search::init(&params, &task)?;
        (0..3).try_for_each(|_| search.step(&params, &task, &Control::default()).map(|_| ()))?;
        Ok((search.mixture.n_clusters(), needed(&task, &params, 1)?))
    };
    let (n_clusters, need): (usize, u64) = run(None).unwrap();
    assert!(n_clusters > 2);
    let table = 104 * 2 * 8;
    let error: Error = run(Some(table + need + 1000)).unwrap_err();
    assert!(matches!(error, Error::Memory { limit, .. } if limit == need + 1000), "{error}");
}

#[test]
fn prior_that_has_no_mean_is_refused() {
    let data = bundled("glass").unwrap();
    let plan = Plan::new("dpm").unwrap().set("covariance", "full").unwrap().set("nu", "10").unwrap();
    let error = plan.train(&data).unwrap_err().to_string();
    assert_eq!(error, "parameter nu: must be above 10 for 9 columns, or 0 for the method's own 11, got 10");
}

#[test]
fn models_with_arrays_that_do_not_fit_are_refused() {
    let data = planted(7, 100);
    let (search, params, _) = searched(&data, &[("frequencies", "4"), ("start", "3")]);
    let pool = Pool::new(1).unwrap();
    let rows = Rows::new(data.samples.features(), None);
    let task = Task {
        input: Input::Rows(&rows),
        labels: &data.labels,
        target: &Target::Classes,
        groups: None,
        views: &[],
        alternatives: &[],
        seed: 1,
        pool: &pool,
    };
    let model = search.clone().finish(&params, &task).unwrap();
    assert!(model.check(0, 10).is_ok() && search.check(&params, &task).is_ok());
    assert!(model.check(0, 9).is_err());
    let mut fewer = search.clone();
    fewer.machines.0.pop();
    assert!(fewer.check(&params, &task).is_err());
    let model = fewer.finish(&params, &task).unwrap();
    assert!(model.check(0, 10).is_err());
}

#[test]
fn rows_like_the_training_rows_are_typical_and_others_are_not() {
    let mut rng = Rng::new(3, 0);
    let mut draw = |n: usize, shift: f64| {
        let rows = Matrix::from_fn(n, 3, |i, _| normal(&mut rng) + if i % 2 == 0 { shift } else { -shift });
        Samples::unnamed(rows).unwrap()
    };
    let (train, new, far) = (draw(400, 3.0), draw(2000, 3.0), draw(50, 12.0));
    let train = Dataset::new("", train, Labels::from_parts(vec!["row".into()], vec![0; 400]).unwrap()).unwrap();
    let model = Plan::new("dpm").unwrap().train(&train).unwrap();
    let clustering = model.clustering().unwrap();
    let placed = clustering.place(&new).unwrap();
    let (typical, density) = (placed.typical.unwrap(), placed.density.unwrap());
    // A share of 0.1 of 2,000 new rows has a standard error of 0.007, and 400 rows know it to 0.015.
    for quantile in [0.05, 0.1, 0.3] {
        let share = typical.iter().filter(|&&value| value < quantile).count() as f64 / 2000.0;
        let error = (quantile * (1.0 - quantile) * (1.0 / 2000.0 + 1.0 / 400.0)).sqrt();
        assert!((share - quantile).abs() < 3.0 * error, "{quantile}: {share} +- {error}");
        let threshold = clustering.threshold(quantile).unwrap();
        assert!(typical.iter().zip(&density).all(|(typical, density)| (*typical < quantile) == (*density < threshold)));
    }
    assert!(clustering.place(&far).unwrap().typical.unwrap().iter().all(|&value| value < 0.01));
}

/// Rows around two centres, each with a function of its own, which both are far from linear.
fn two_functions(n: usize, seed: u64) -> Dataset {
    let mut rng = Rng::new(seed, 6);
    let rows = Matrix::from_fn(n, 2, |i, j| if i % 2 == j { 4.0 } else { 0.0 } + normal(&mut rng));
    let number = |i: usize| {
        let row = rows.row(i);
        if i.is_multiple_of(2) { 500.0 + 30.0 * (1.2 * row[1]).sin() } else { 500.0 - 20.0 * row[0].abs() }
    };
    let numbers = (0..n).map(|i| number(i) + 2.0 * normal(&mut rng)).collect();
    Dataset::of_numbers("two functions", Samples::unnamed(rows).unwrap(), Numbers::one("y", numbers).unwrap()).unwrap()
}

/// The share of the variance of the numbers that these explain.
fn r2(found: &[f64], truth: &[f64]) -> f64 {
    let mean = truth.iter().sum::<f64>() / truth.len() as f64;
    let square = |of: &dyn Fn(usize) -> f64| (0..truth.len()).map(|i| (truth[i] - of(i)).powi(2)).sum::<f64>();
    1.0 - square(&|i| found[i]) / square(&|_| mean)
}

#[test]
fn machines_of_two_clusters_learn_two_functions() {
    let (data, new) = (two_functions(400, 1), two_functions(400, 2));
    let truth = new.target.numbers().unwrap().values().data();
    let model = train(&data, "cik", &[("epochs", "60")]);
    let numbers = model.numbers().unwrap();
    let found = r2(numbers.predict(&new.samples).unwrap().data(), truth);
    let linear = Plan::new("average").unwrap().kernels("linear").unwrap().train(&data).unwrap();
    let baseline = r2(linear.numbers().unwrap().predict(&new.samples).unwrap().data(), truth);
    assert!(found > 0.85 && found > baseline + 0.5, "{found} against {baseline} of a linear function");
    assert!(numbers.deviations(&new.samples).unwrap().is_none(), "there are no intervals");
    // Both clusters were found, and each has its machine.
    let clusters = model.clustering().unwrap();
    let sides: Vec<usize> = (0..400).map(|i| i % 2).collect();
    assert!(nmi(clusters.clusters(), &sides).unwrap() > 0.6);
    // A row far from all is of an unseen cluster, which says the mean.
    let far = Samples::unnamed(Matrix::from_fn(1, 2, |_, _| 1e4)).unwrap();
    let said = numbers.predict(&far).unwrap().get(0, 0);
    let mean = data.target.numbers().unwrap().values().data().iter().sum::<f64>() / 400.0;
    assert!((said - mean).abs() < 1e-6 * mean, "{said} {mean}");
}

#[test]
fn machines_have_a_say_in_the_clusters_of_numbers() {
    // One cloud in which the number tells two kinds of rows apart.
    let scores = [[0.5], [2.0]];
    let numbers = Matrix::from_vec(2, 1, vec![0.5, -1.0]).unwrap();
    let likelihood = Likelihood { beta: 2.0, normalised: true };
    let of = |row: usize, scores: &[f64]| likelihood.of(scores, Answers::Numbers(&numbers), row, &mut [0.0]);
    assert_eq!([of(0, &scores[0]), of(0, &scores[1]), of(1, &scores[1])], [0.0, -2.25, -9.0]);
    assert_eq!(likelihood.fresh(Answers::Numbers(&numbers), 1), [-0.25, -1.0]);
}
