//! `simplemkl`, `silp`, `level`, `lpmkl`: one optimum, whoever finds it.

use multikernel::data::{Dataset, Gram, Labels, Samples, bundled};
use multikernel::dist::Rng;
use multikernel::plan::Session;
use multikernel::run::Silent;
use multikernel::solve::smo;
use multikernel::{Matrix, Model, Plan, Pool};

const BANK: &str = "gaussian(2^-6..2^7), polynomial(1..3)";
const SIMPLEX: [&str; 3] = ["simplemkl", "silp", "level"];

fn plan(method: &str, settings: &[(&str, &str)]) -> Plan {
    let plan = Plan::new(method).unwrap().kernels(BANK).unwrap();
    settings.iter().fold(plan, |plan, (name, value)| plan.set(name, value).unwrap())
}

fn half(set: &str) -> Dataset {
    let data = bundled(set).unwrap();
    data.select(&(0..data.samples.n_samples()).step_by(2).collect::<Vec<_>>())
}

/// The SVM optimum of a two-class set for given kernel weights, by one cold and exact SVM.
fn objective(data: &Dataset, weights: &[f64], c: f64) -> f64 {
    let pool = Pool::new(1).unwrap();
    let plan = plan("average", &[]);
    let prepared = plan.prepare(data, &mut Session::new(&pool, &mut Silent)).unwrap();
    let stack = prepared.stack().unwrap();
    let column = Matrix::from_vec(weights.len(), 1, weights.to_vec()).unwrap();
    let gram = stack.combine(&column, &pool).unwrap().remove(0);
    let rows: Vec<usize> = (0..data.samples.n_samples()).collect();
    let positive: Vec<bool> = data.labels.codes().iter().map(|&code| code == 0).collect();
    let problem = smo::Problem { gram: (&gram).into(), rows: &rows, positive: &positive, upper: &vec![c; rows.len()] };
    let options = smo::Options { tolerance: 1e-6, ..Default::default() };
    -smo::solve(&problem, &options, None, &|| false).unwrap().unwrap().objective
}

fn weights(model: &Model) -> Vec<f64> {
    model.kernels().weights().unwrap().to_vec()
}

/// A random point with `(1/P sum d^p)^(1/p) = 1/P`.
fn random_weights(rng: &mut Rng, p: f64, n: usize) -> Vec<f64> {
    // Some points near corners, some near the middle.
    let sharp = 1.0 + 6.0 * rng.uniform();
    let raw: Vec<f64> = (0..n).map(|_| rng.uniform().powf(sharp)).collect();
    let mean = (raw.iter().map(|d| d.powf(p)).sum::<f64>() / n as f64).powf(1.0 / p);
    raw.iter().map(|d| d / mean / n as f64).collect()
}

#[test]
fn three_solvers_find_one_optimum_that_no_random_weights_undercut() {
    for (set, c) in [("sonar", 10.0), ("sonar", 0.5), ("ionosphere", 50.0)] {
        let data = half(set);
        let settings = [("c", &*c.to_string()), ("gap", "1e-5")];
        let found: Vec<f64> = SIMPLEX
            .iter()
            .map(|method| {
                let weights = weights(&plan(method, &settings).train(&data).unwrap());
                assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{method} on {set}: {weights:?}");
                objective(&data, &weights, c)
            })
            .collect();
        let best = found.iter().copied().fold(f64::INFINITY, f64::min);
        for (method, found) in SIMPLEX.iter().zip(&found) {
            assert!(found / best - 1.0 < 2e-5, "{method} on {set}: {found} against {best}");
        }
        let mut rng = Rng::new(11, 0);
        for _ in 0..100 {
            let tried = objective(&data, &random_weights(&mut rng, 1.0, 17), c);
            assert!(tried > best * (1.0 - 2e-5), "{set}: random weights reach {tried}, the optimum is {best}");
        }
    }
}

#[test]
fn most_weights_on_the_simplex_are_zero() {
    let found = weights(&plan("simplemkl", &[]).train(&half("ionosphere")).unwrap());
    assert!(found.iter().filter(|&&d| d > 0.0).count() < 9, "{found:?}");
}

#[test]
fn lpmkl_reaches_from_simplemkl_to_average() {
    for set in ["sonar", "ionosphere"] {
        let data = half(set);
        let at = |method: &str, settings: &[(&str, &str)]| {
            let model = plan(method, settings).set("c", "10").unwrap().train(&data).unwrap();
            let prediction = model.predict(&data.samples).unwrap();
            (weights(&model), objective(&data, &weights(&model), 10.0), prediction)
        };
        let (_, sparse, _) = at("simplemkl", &[("gap", "1e-5")]);
        let (_, near_one, _) = at("lpmkl", &[("p", "1.001"), ("gap", "1e-4")]);
        // The ball is smaller than the simplex by a factor of at most P^(1 - 1/p), and the objective larger by no more.
        let (ratio, most) = (near_one / sparse, 17f64.powf(1.0 - 1.0 / 1.001));
        assert!(ratio > 1.0 - 1e-5 && ratio < most * (1.0 + 1.2e-4), "{set}: p = 1.001 {near_one}, simplemkl {sparse}");
        let (_, one, _) = at("lpmkl", &[("p", "1"), ("gap", "1e-4")]);
        assert!((one / sparse - 1.0).abs() < 1.2e-4, "{set}: p = 1 {one}, simplemkl {sparse}");
        let (uniform, _, average) = at("average", &[]);
        for p in ["1e6", "inf"] {
            let (found, _, prediction) = at("lpmkl", &[("p", p)]);
            let worst = found.iter().zip(&uniform).map(|(a, b)| (a / b - 1.0).abs()).fold(0.0, f64::max);
            assert!(worst < if p == "inf" { 1e-15 } else { 1e-4 }, "{set}, p = {p}: weights off by {worst}");
            assert_eq!(prediction.labels, average.labels, "{set}, p = {p}");
        }
    }
}

#[test]
fn lpmkl_is_on_the_boundary_of_its_ball_and_no_random_weights_in_it_are_better() {
    let data = half("sonar");
    for p in [1.5, 2.0, 4.0] {
        let model = plan("lpmkl", &[("p", &p.to_string()), ("c", "10"), ("gap", "1e-6")]).train(&data).unwrap();
        assert_eq!(model.training().warnings(), Vec::<String>::new());
        let found = weights(&model);
        let norm = found.iter().map(|d| d.powf(p)).sum::<f64>() / 17f64.powf(1.0 - p);
        assert!((norm - 1.0).abs() < 1e-4, "p = {p}: {norm}");
        let best = objective(&data, &found, 10.0);
        let mut rng = Rng::new(13, 0);
        for _ in 0..100 {
            let tried = objective(&data, &random_weights(&mut rng, p, 17), 10.0);
            assert!(tried > best * (1.0 - 1e-5), "p = {p}: {tried} below {best}");
        }
    }
}

#[test]
fn a_large_weight_goes_to_the_only_kernel_that_knows_the_classes() {
    let mut rng = Rng::new(21, 0);
    let rows = Matrix::from_fn(80, 6, |i, j| {
        let noise = (0..6).map(|_| rng.uniform()).sum::<f64>() - 3.0;
        noise + if j == 4 { 2.5 * f64::from(u8::from(i % 2 == 0)) } else { 0.0 }
    });
    let labels: Vec<&str> = (0..80).map(|i| if i % 2 == 0 { "a" } else { "b" }).collect();
    let data = Dataset::new("planted", Samples::unnamed(rows).unwrap(), Labels::new(&labels).unwrap()).unwrap();
    for method in ["simplemkl", "silp", "level", "lpmkl"] {
        let plan = Plan::new(method).unwrap().kernels("gaussian(1) each").unwrap().set("c", "1").unwrap();
        let found = weights(&plan.train(&data).unwrap());
        let largest = found.iter().copied().fold(0.0, f64::max);
        assert_eq!(found[4], largest, "{method}: {found:?}");
    }
}

#[test]
fn several_classes_share_their_weights_in_both_schemes() {
    let data = half("vehicle");
    for scheme in ["ovo", "ovr"] {
        let mut found: Vec<Vec<f64>> = vec![];
        for method in SIMPLEX {
            let model = plan(method, &[("multiclass", scheme), ("c", "10"), ("gap", "1e-4")]).train(&data).unwrap();
            assert_eq!(model.training().warnings(), Vec::<String>::new(), "{method} {scheme}");
            found.push(weights(&model));
            let right = model.predict(&data.samples).unwrap().labels;
            let right = right.iter().zip(data.labels.codes()).filter(|(a, b)| a == b).count();
            assert!(right as f64 > 0.9 * data.labels.n_samples() as f64, "{method} {scheme}: {right} rows right");
        }
        // The narrow Gaussians are all nearly the identity and share a weight as they like; the others are told apart.
        let joint = |weights: &[f64]| [&[weights[..6].iter().sum::<f64>()], &weights[6..]].concat();
        for (m, first) in joint(&found[0]).into_iter().enumerate() {
            for other in &found[1..] {
                assert!((joint(other)[m] - first).abs() < 0.05, "{scheme}, kernel {m}: {found:?}");
            }
        }
    }
}

#[test]
fn kernels_that_are_identical_share_one_optimum_with_one_of_them() {
    let data = half("sonar");
    let trained = |bank: &str| {
        let plan = Plan::new("simplemkl").unwrap().kernels(bank).unwrap().set("c", "10").unwrap();
        plan.set("gap", "1e-5").unwrap().train(&data).unwrap()
    };
    let (once, thrice) =
        (trained("gaussian(4), linear"), trained("gaussian(4), gaussian(4) on [0:60], gaussian(4), linear"));
    let (once, thrice) = (weights(&once), weights(&thrice));
    let joint = thrice[..3].iter().sum::<f64>();
    assert!((joint - once[0]).abs() < 0.01, "{once:?} {thrice:?}");
}

#[test]
fn an_indefinite_gram_matrix_gives_a_finite_model_and_a_warning() {
    let mut rng = Rng::new(31, 0);
    let n = 40;
    let mut noise = Matrix::from_fn(n, n, |_, _| rng.uniform() - 0.5);
    for i in 0..n {
        noise.set(i, i, 0.1);
        for j in 0..i {
            noise.set(i, j, noise.get(j, i));
        }
    }
    let points = Matrix::from_fn(n, 2, |i, j| if (i % 2 == 0) == (j == 0) { 1.0 } else { 0.0 } + 0.8 * rng.uniform());
    let labels: Vec<&str> = (0..n).map(|i| if i % 2 == 0 { "a" } else { "b" }).collect();
    let samples = Samples::unnamed(points).unwrap().with_grams(vec![Gram::square("g", noise).unwrap()]).unwrap();
    let data = Dataset::new("indefinite", samples, Labels::new(&labels).unwrap()).unwrap();
    for method in ["simplemkl", "silp", "level", "lpmkl"] {
        let plan = Plan::new(method).unwrap().kernels("gaussian(1), precomputed(g) raw").unwrap();
        let model = plan.set("iterations", "60").unwrap().train(&data).unwrap();
        assert!(model.kernels().weights().unwrap().iter().all(|d| d.is_finite()), "{method}");
        assert!(model.predict(&data.samples).is_ok(), "{method}");
    }
}

#[test]
fn a_class_with_one_row_and_a_kernel_of_zeros_are_no_obstacle() {
    let sonar = half("sonar");
    let rows: Vec<usize> = (0..sonar.labels.n_samples()).collect();
    let first = rows.iter().position(|&i| sonar.labels.codes()[i] == 0).unwrap();
    let kept: Vec<usize> = rows.into_iter().filter(|&i| i == first || sonar.labels.codes()[i] == 1).collect();
    let data = sonar.select(&kept);
    let zeros = Gram::square("zero", Matrix::zeros(kept.len(), kept.len())).unwrap();
    let data = Dataset { samples: data.samples.clone().with_grams(vec![zeros]).unwrap(), ..data };
    for method in ["simplemkl", "silp", "level", "lpmkl"] {
        let plan = Plan::new(method).unwrap().kernels("gaussian(2^0..2^3), precomputed(zero) raw").unwrap();
        let found = weights(&plan.train(&data).unwrap());
        assert!(found.iter().all(|d| d.is_finite()) && found[4] < 1e-3, "{method}: {found:?}");
    }
}

#[test]
fn a_run_that_is_too_short_says_how_far_it_is_and_what_to_change() {
    let data = half("sonar");
    for method in ["simplemkl", "silp", "level", "lpmkl"] {
        let model = plan(method, &[("iterations", "2"), ("gap", "1e-9")]).train(&data).unwrap();
        let warning = model.training().warnings().join("\n");
        assert!(warning.contains("asked was 1.0e-9; allow more iterations or a larger gap"), "{method}: {warning}");
    }
}

#[test]
fn sparsity_goes_from_average_to_simplemkl_and_each_mixture_is_optimal() {
    let data = half("sonar");
    let at = |method: &str, sparsity: &str| {
        let plan = plan(method, &[("c", "10"), ("gap", "1e-5"), ("sparsity", sparsity)]);
        let found = weights(&plan.train(&data).unwrap());
        let objective = objective(&data, &found, 10.0);
        (found, objective)
    };
    assert!(at("simplemkl", "0").0.iter().all(|d| (d * 17.0 - 1.0).abs() < 1e-12));
    for sparsity in [0.3, 0.8] {
        let (found, best) = at("simplemkl", &sparsity.to_string());
        assert!(found.iter().all(|&d| d >= (1.0 - sparsity) / 17.0 * (1.0 - 1e-12)), "{found:?}");
        for other in ["silp", "level"] {
            let other = at(other, &sparsity.to_string()).1;
            assert!((other / best - 1.0).abs() < 2e-5, "{sparsity}: {best} {other}");
        }
        let mut rng = Rng::new(17, 0);
        for _ in 0..50 {
            let mixed: Vec<f64> =
                random_weights(&mut rng, 1.0, 17).iter().map(|d| sparsity * d + (1.0 - sparsity) / 17.0).collect();
            assert!(objective(&data, &mixed, 10.0) > best * (1.0 - 2e-5));
        }
    }
}

#[test]
fn a_large_bank_of_which_a_part_is_at_work_has_the_optimum_of_the_whole() {
    let data = half("ionosphere");
    let data = data.select(&(0..data.samples.n_samples()).step_by(2).collect::<Vec<_>>());
    let found: Vec<f64> = ["simplemkl", "level"]
        .iter()
        .map(|method| {
            let plan = Plan::new(method).unwrap().kernels("gaussian(2^-2..2^3) each, linear each").unwrap();
            let model = plan.set("gap", "1e-4").unwrap().train(&data).unwrap();
            assert_eq!(model.training().warnings(), Vec::<String>::new());
            assert_eq!(model.kernels().len(), 34 * 7);
            let facts = model.training().facts();
            let text = &facts.iter().find(|(name, _)| name == "objective").unwrap().1;
            text.split(',').next().unwrap().parse().unwrap()
        })
        .collect();
    assert!((found[0] / found[1] - 1.0).abs() < 1e-4, "{found:?}");
}

#[test]
fn bounds_hold_also_where_svms_are_coarse() {
    let data = half("ionosphere");
    let best = objective(&data, &weights(&plan("simplemkl", &[("gap", "1e-6")]).train(&data).unwrap()), 10.0);
    for method in ["simplemkl", "silp", "level"] {
        let model = plan(method, &[("tol", "1"), ("iterations", "200")]).train(&data).unwrap();
        let facts = model.training().facts();
        let text = &facts.iter().find(|(name, _)| name == "objective").unwrap().1;
        let mut words = text.split([' ', ',']);
        let told: f64 = words.next().unwrap().parse().unwrap();
        let gap: f64 = text.split("at most ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        let true_value = objective(&data, &weights(&model), 10.0);
        assert!(told >= true_value * (1.0 - 1e-6), "{method}: told {told}, is {true_value}");
        assert!(told * (1.0 - 1.06 * gap) <= best * (1.0 + 1e-6), "{method}: told {told}, gap {gap}, optimum {best}");
    }
}
