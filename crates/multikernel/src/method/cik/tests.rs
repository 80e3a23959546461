use super::*;
use crate::data::{Dataset, Labels, Samples, bundled};
use crate::dist::{Rng, normal};
use crate::evaluate::nmi;
use crate::method::{Model, Plan};
use crate::mixture::Witness;
use crate::pool::Pool;
use crate::run::{Input, Predict, Rows};

/// Ten overlapping Gaussians in five columns, in three bunches, a class each.
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
            nmi(model.clusters().unwrap(), data.labels.codes()).unwrap() / 3.0
        };
        with += found(&[("beta", "3")]);
        without += found(&[("beta", "0")]);
    }
    assert!(with >= 0.95 && without < with - 0.05, "{with} {without}");
}

/// The hinge loss of a label.
fn loss(scores: &[f64], y: usize) -> f64 {
    let other = (0..scores.len()).filter(|&m| m != y).map(|m| scores[m]).fold(f64::NEG_INFINITY, f64::max);
    (1.0 + other - scores[y]).max(0.0)
}

/// A state after some rounds, with what it was made from.
fn searched(data: &Dataset, settings: &[(&'static str, &str)]) -> (Search, Params, Matrix) {
    let pool = Pool::new(1).unwrap();
    let mut params = Params::new(Cik.about().params).unwrap();
    settings.iter().for_each(|(name, value)| params.set(name, value).unwrap());
    let rows = Rows::new(data.samples.features(), None);
    let task = Task { input: Input::Rows(&rows), labels: &data.labels, groups: None, views: &[], seed: 1, pool: &pool };
    let mut search = Cik.init(&task, &params).unwrap();
    for _ in 0..3 {
        Cik.step(&task, &params, &mut search, &Control::default()).unwrap();
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
            codes: data.labels.codes(),
            n_classes: 10,
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
                    // One that was not asked can make no difference, whichever of the two it says.
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
    let task = Task { input: Input::Rows(&rows), labels: &data.labels, groups: None, views: &[], seed: 1, pool: &pool };
    let model = Cik.finish(&task, &params, search.clone()).unwrap();
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
        let placed = model.place(&Samples::unnamed(grid).unwrap(), &Pool::new(1).unwrap()).unwrap();
        // In units of the standard deviation, in which clusters see the column.
        let sum: f64 = placed.density.unwrap().iter().map(|ln| ln.exp() * 0.01 / spread).sum();
        assert!((sum - 1.0).abs() < 2e-3, "{method}: {sum}");
    }
}

#[test]
fn one_fixed_cluster_is_one_machine() {
    let data = planted(6, 200);
    let one = train(&data, "cik", &[&SHORT[..], &[("start", "1"), ("sampler", "fixed")]].concat());
    assert_eq!(one.clusters().unwrap(), [0; 200]);
    assert_eq!(one.relevance().unwrap().n_rows(), 1);
    // A pass over the start, three in place of sweeps, two at the end: the machine has no more and no less.
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
                    let placed = model.place(&data.samples, &Pool::new(1).unwrap()).unwrap();
                    assert!(placed.density.unwrap().iter().all(|ln| ln.is_finite()), "{}, {method}", data.name);
                }
            }
        }
    }
    // The class that lives in one cluster only is learned there.
    let model = train(&sets[5], "cik", &SHORT);
    let right = model.predict(&sets[5].samples).unwrap().labels;
    assert_eq!(right, sets[5].labels.codes());
    assert_eq!(model.clusters().unwrap()[..10].iter().collect::<std::collections::BTreeSet<_>>().len(), 1);
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
    let task = Task { input: Input::Rows(&rows), labels: &data.labels, groups: None, views: &[], seed: 1, pool: &pool };
    let model = Cik.finish(&task, &params, search.clone()).unwrap();
    assert!(model.check(0, 10).is_ok() && Cik.check(&task, &params, &search).is_ok());
    assert!(model.check(0, 9).is_err());
    let mut fewer = search.clone();
    fewer.machines.0.pop();
    assert!(Cik.check(&task, &params, &fewer).is_err());
    let model = Cik.finish(&task, &params, fewer).unwrap();
    assert!(model.check(0, 10).is_err());
}
