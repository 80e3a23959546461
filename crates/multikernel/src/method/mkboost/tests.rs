//! AdaBoost's guarantees for its weights, votes and errors, and edge cases of the parts.

use std::sync::Arc;

use super::boost::{Boost, MIN_ERROR, Pair, Setting, half_log_odds};
use super::kernels::{Held, Whole};
use super::state::{Boosting, pairs_of};
use super::trials::Trials;
use super::weak::{Drawn, Trial};
use super::*;
use crate::data::{Dataset, Gram, Labels, Samples, Target, bundled};
use crate::dist::Rng;
use crate::file::Codec;
use crate::kernel::Kernel;
use crate::linalg::Matrix;
use crate::method::check::with;
use crate::plan::{Plan, Session};
use crate::pool::Pool;
use crate::run::{Explain, Input, Predict, Silent, Status};
use crate::solve::smo;
use crate::stack::{Precision, Stack, StackOptions, Storage};

const BANK: &str = "gaussian(2^-6..2^7), polynomial(1..3)";
const VARIANTS: [(&str, Variant); 4] = [
    ("mkboost-d1", Variant { combines: false, samples: false }),
    ("mkboost-d2", Variant { combines: true, samples: false }),
    ("mkboost-s1", Variant { combines: false, samples: true }),
    ("mkboost-s2", Variant { combines: true, samples: true }),
];

/// Some rows of a bundled set.
fn some(set: &str, step: usize) -> Dataset {
    let data = bundled(set).unwrap();
    data.select(&(0..data.samples.n_samples()).step_by(step).collect::<Vec<_>>())
}

fn params(settings: &[(&str, &str)]) -> BoostParams {
    with::<MkBoostS2>(settings).boost()
}

/// Calls `f` with the task of training on all rows of a set.
fn with_task<T>(data: &Dataset, bank: &str, n_threads: usize, f: impl FnOnce(&Task<'_>) -> T) -> T {
    let pool = Pool::new(n_threads).unwrap();
    let plan = Plan::new("average").unwrap().kernels(bank).unwrap();
    let mut silent = Silent;
    let prepared = plan.prepare(data, &mut Session::new(&pool, &mut silent)).unwrap();
    let input = Input::Stack(prepared.stack().unwrap());
    let labels = &prepared.data().labels;
    f(&Task {
        input,
        labels,
        target: &Target::Classes,
        groups: data.groups.as_deref(),
        views: &[],
        alternatives: &[],
        seed: 7,
        pool: &pool,
    })
}

/// Runs to the end.
fn run(variant: Variant, task: &Task<'_>, params: &BoostParams) -> Boosting {
    let params = &BoostParams { variant, ..*params };
    let mut state = Boosting::new(task, params).unwrap();
    while state.advance(task, params, &Control::default()).unwrap().status == Status::Running {}
    state
}

fn sign(positive: bool) -> f64 {
    if positive { 1.0 } else { -1.0 }
}

/// The mean of exp(-y F), as a logarithm.
fn log_loss(votes: &[f64], pair: &Pair) -> f64 {
    let terms: Vec<f64> = votes.iter().zip(&pair.positive).map(|(vote, &is)| -sign(is) * vote).collect();
    let top = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = terms.iter().map(|term| (term - top).exp()).sum();
    top + (sum / terms.len() as f64).ln()
}

#[test]
fn identities_of_boosting_hold_in_all_variants() {
    let mut n_clamped = 0;
    for data in [some("sonar", 2), some("ionosphere", 2), some("glass", 2), clouds()] {
        for (name, variant) in VARIANTS {
            n_clamped += with_task(&data, BANK, 1, |task| check_identities(name, variant, task));
        }
    }
    assert!(n_clamped > 0, "no trial was clamped: the clamped identity was not looked at");
}

/// Two clouds that hardly overlap: many trials have no error.
fn clouds() -> Dataset {
    let mut rng = Rng::new(5, 0);
    let points = Matrix::from_fn(60, 2, |i, _| (i % 2) as f64 + 0.7 * rng.uniform());
    let labels: Vec<&str> = (0..60).map(|i| if i % 2 == 0 || i == 7 { "a" } else { "b" }).collect();
    Dataset::new("clouds", Samples::unnamed(points).unwrap(), Labels::new(&labels).unwrap()).unwrap()
}

/// Returns the number of clamped trials.
fn check_identities(name: &str, variant: Variant, task: &Task<'_>) -> usize {
    let params = params(&[("trials", "60")]);
    let pair = &pairs_of(task, &params).unwrap()[0];
    let held = Held::new(task.stack().unwrap().clone(), task.pool).unwrap();
    let control = Control::default();
    let params = BoostParams { variant, ..params };
    let how = Setting { task, params: &params, control: &control };
    let (mut boost, mut trials) = (Boost::new(pair, task.stack().unwrap().n_kernels()), Trials::default());
    let mut n_clamped = 0;
    for t in 0..params.trials {
        let before = boost.clone();
        assert!(boost.trial(pair, &held, how, &mut trials).unwrap());
        let (error, weight) = (trials.error[t], trials.weight[t]);
        let total: f64 = boost.weights.iter().sum();
        assert!((total - 1.0).abs() < 1e-12, "{name}: sum of D is {total}");
        assert_eq!(boost.sampling.iter().copied().fold(0.0, f64::max), 1.0);
        // The predictions of the trial, from its vote.
        let said: Vec<bool> =
            boost.votes.iter().zip(&before.votes).map(|(new, old)| (new - old >= 0.0) == (weight >= 0.0)).collect();
        let mass = |weights: &[f64]| -> f64 {
            let rows = weights.iter().zip(&said).zip(&pair.positive);
            rows.filter(|((_, said), is)| said != is).map(|((weight, _), _)| weight).sum()
        };
        assert!((mass(&before.weights) - error).abs() < 1e-12, "{name}: e is {error}");
        if (MIN_ERROR..=1.0 - MIN_ERROR).contains(&error) {
            assert!((mass(&boost.weights) - 0.5).abs() < 1e-12, "{name}: {} on wrong rows", mass(&boost.weights));
        } else {
            n_clamped += 1;
        }
        let right = boost.votes.iter().zip(&pair.positive).filter(|(vote, is)| (**vote >= 0.0) == **is).count();
        assert_eq!(trials.right[t], right);
    }
    let factor = |(e, a): (&f64, &f64)| ((1.0 - e) * (-a).exp() + e * a.exp()).ln();
    let product: f64 = trials.error.iter().zip(&trials.weight).map(factor).sum();
    let found = log_loss(&boost.votes, pair);
    assert!((found - product).abs() < 1e-10 * product.abs(), "{name}: {found} is not {product}");
    if n_clamped == 0 {
        let plain: f64 = trials.error.iter().map(|e| (2.0 * (e * (1.0 - e)).sqrt()).ln()).sum();
        assert!((found - plain).abs() < 1e-10 * plain.abs(), "{name}: {found} is not {plain}");
    }
    let wrong = pair.rows.len() - trials.right[trials.len() - 1];
    assert!(wrong as f64 / pair.rows.len() as f64 <= found.exp() * (1.0 + 1e-12), "{name}: more errors than the bound");
    n_clamped
}

#[test]
fn decay_of_one_draws_all_kernels_and_gives_the_bits_of_the_deterministic_variants() {
    for set in ["sonar", "glass6"] {
        with_task(&some(set, 2), "gaussian(0.5), gaussian(2), linear", 2, |task| {
            let params = params(&[("decay", "1"), ("trials", "30")]);
            for (deterministic, stochastic) in [(0, 2), (1, 3)] {
                let (d, s) =
                    (run(VARIANTS[deterministic].1, task, &params), run(VARIANTS[stochastic].1, task, &params));
                assert_eq!((&d.trials, &d.votes, &d.weights), (&s.trials, &s.votes, &s.weights), "{set}");
                assert!(s.sampling.iter().all(|&chance| chance == 1.0));
                assert_eq!(d.n_fits, s.n_fits);
            }
        });
    }
}

#[test]
fn drawn_kernels_take_about_half_of_the_fits() {
    for set in ["sonar", "ionosphere", "wdbc"] {
        with_task(&some(set, 2), BANK, 2, |task| {
            let params = params(&[]);
            for (deterministic, stochastic) in [(0, 2), (1, 3)] {
                let [d, s] = [deterministic, stochastic]
                    .map(|v| run(VARIANTS[v].1, task, &params).n_fits.iter().sum::<usize>() as f64);
                assert!((0.40..=0.66).contains(&(s / d)), "{set}: {} of the fits", s / d);
            }
        });
    }
}

#[test]
fn svm_on_unique_rows_is_the_one_on_repeated_rows() {
    with_task(&some("sonar", 2), "gaussian(4), linear, polynomial(2)", 1, |task| {
        let params = params(&[]);
        let pair = &pairs_of(task, &params).unwrap()[0];
        let all: Vec<usize> = (0..pair.rows.len()).collect();
        let matrices: Vec<Matrix> = (0..3).map(|m| task.stack().unwrap().block(m, &all, &all).unwrap()).collect();
        let held = Held::new(task.stack().unwrap().clone(), task.pool).unwrap();
        let weights = vec![1.0; pair.rows.len()];
        for (c, seed) in [(50.0, 1), (0.3, 2)] {
            let drawn = Drawn::new(&weights, 40, &mut Rng::new(seed, 0));
            assert!(drawn.times.iter().any(|&times| times > 2));
            let repeated: Vec<usize> =
                drawn.rows.iter().zip(&drawn.times).flat_map(|(&row, &times)| vec![row; times]).collect();
            let trial = Trial::new(drawn, &pair.positive, c, 1e-11);
            let found = held.learn(&trial, &[0, 1, 2], task.pool, &|| false).unwrap().unwrap();
            for ((weak, decisions), gram) in found.iter().zip(&matrices) {
                assert!(weak.converged);
                let positive: Vec<bool> = repeated.iter().map(|&i| pair.positive[i]).collect();
                let upper = vec![c; repeated.len()];
                let problem = smo::Problem { gram: gram.into(), rows: &repeated, positive: &positive, upper: &upper };
                let options = smo::Options { tolerance: 1e-11, ..Default::default() };
                let solution = smo::solve(&problem, &options, None, &|| false).unwrap().unwrap();
                for (i, decision) in decisions.iter().enumerate() {
                    let of_row = |(&row, &alpha): (&usize, &f64)| sign(pair.positive[row]) * alpha * gram.get(i, row);
                    let expected = repeated.iter().zip(&solution.alpha).map(of_row).sum::<f64>() + solution.bias;
                    assert!((decision - expected).abs() < 1e-8, "row {i}: {decision} and {expected}");
                }
            }
        }
    });
}

#[test]
fn pieces_of_a_stack_give_the_bits_of_whole_kernels_however_it_is_stored() {
    let mut rng = Rng::new(4, 0);
    let points = Matrix::from_fn(70, 5, |_, _| rng.uniform());
    let kernels: Vec<Kernel> =
        ["gaussian(0.2)", "gaussian(0.4)", "linear", "polynomial(2)"].map(|text| text.parse().unwrap()).to_vec();
    let pool = Pool::new(2).unwrap();
    let positive: Vec<bool> = (0..70).map(|i| points.get(i, 0) + points.get(i, 1) > 1.0).collect();
    for precision in [Precision::F64, Precision::F32] {
        let mut found = vec![];
        for storage in [Storage::Packed, Storage::Tiled] {
            let stack =
                Stack::train(&points, &kernels, &StackOptions { precision, storage, ..StackOptions::new(&pool) })
                    .unwrap();
            // Stored in full on the points themselves, and among other points.
            let order: Vec<usize> = (40..70).chain(0..40).collect();
            let other = Arc::new(stack.view(&order).unwrap().unfold(&pool).unwrap());
            let two_runs = Whole { kernels: other, runs: [30..70, 0..30] };
            let whole = Held::new(stack.clone(), &pool).unwrap();
            assert!(matches!(whole, Held::Whole(_)));
            for held in [Held::Pieces(stack.clone()), whole, Held::Whole(two_runs)] {
                let drawn = Drawn::new(&[1.0; 70], 21, &mut Rng::new(2, 0));
                let trial = Trial::new(drawn, &positive, 5.0, 1e-3);
                let learned = held.learn(&trial, &[3, 0, 1], &pool, &|| false).unwrap().unwrap();
                let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
                let plain = |(weak, decisions): &super::kernels::Decided| {
                    (weak.kernel, weak.support.clone(), bits(&weak.coef), bits(decisions))
                };
                found.push(learned.iter().map(plain).collect::<Vec<_>>());
            }
        }
        assert!(found.iter().all(|other| *other == found[0]));
        assert_eq!(found[0].iter().map(|(kernel, ..)| *kernel).collect::<Vec<_>>(), [3, 0, 1]);
    }
}

#[test]
fn a_pair_among_three_classes_is_boosted_as_if_there_were_no_third() {
    let data = bundled("nutrimouse").unwrap();
    with_task(&data, "gaussian(4), linear", 2, |task| {
        let params = params(&[("trials", "12"), ("ratio", "0.6")]);
        let all = pairs_of(task, &params).unwrap();
        let state = run(VARIANTS[3].1, task, &params);
        // The pair (0, 1) has the first streams in both.
        let rows = &all[0].rows;
        let alone = task.labels.select(rows);
        let codes: Vec<String> = alone.codes().iter().map(usize::to_string).collect();
        let labels = Labels::new(&codes).unwrap();
        let stack = task.stack().unwrap().view(rows).unwrap();
        let two = run(VARIANTS[3].1, &Task { input: Input::Stack(&stack), labels: &labels, ..*task }, &params);
        let kept: Vec<usize> = all.iter().map(|pair| if pair.at == 0 { usize::MAX } else { 0 }).collect();
        let mut expected = two.trials.clone();
        expected.support.iter_mut().for_each(|row| *row = rows[*row]);
        assert_eq!(state.trials.grouped(&kept), expected);
        assert_eq!(state.votes[..rows.len()], two.votes);
    });
}

#[test]
fn model_decides_about_training_rows_as_training_did() {
    for (set, variant) in [("sonar", 0), ("sonar", 3), ("glass6", 1)] {
        with_task(&some(set, 2), "gaussian(0.5), gaussian(3), linear", 2, |task| {
            let params = params(&[("trials", "25")]);
            let state = run(VARIANTS[variant].1, task, &params);
            let (votes, weights) = (state.votes.clone(), state.trials.clone());
            let model = state.model(task, &params).unwrap();
            let all: Vec<usize> = (0..task.n_samples()).collect();
            let stack = task.stack().unwrap().between(&all, model.points()).unwrap();
            let stack = stack.pick(&model.kernels().unwrap()).unwrap();
            let decisions = model.decisions(Input::Stack(&stack), task.pool).unwrap();
            let mut start = 0;
            for pair in pairs_of(task, &params).unwrap() {
                let of_pair = weights.pair.iter().zip(&weights.weight).filter(|(p, _)| **p == pair.at);
                let total: f64 = of_pair.map(|(_, weight)| weight.abs()).sum();
                for (k, &i) in pair.rows.iter().enumerate() {
                    assert_eq!(decisions.get(i, pair.at), votes[start + k] / total, "{set}: pair {}, row {i}", pair.at);
                }
                start += pair.rows.len();
            }
        });
    }
}

#[test]
fn cancelled_step_leaves_the_state_as_it_was() {
    with_task(&some("glass6", 2), "gaussian(0.5), linear", 2, |task| {
        let params = params(&[]);
        let mut state = Boosting::new(task, &params).unwrap();
        let control = Control::default();
        control.canceller().cancel();
        let before = state.encode();
        let progress = state.advance(task, &BoostParams { variant: VARIANTS[2].1, ..params }, &control).unwrap();
        assert_eq!(progress.status, Status::Cancelled);
        assert_eq!(state.encode(), before);
    });
}

#[test]
fn drawn_rows_follow_the_weights() {
    let weights = [0.1, 0.0, 0.4, 0.3, 0.0, 0.2, 0.0];
    let mut counts = [0.0; 7];
    let (n_trials, n) = (2000, 20);
    for seed in 0..n_trials {
        let drawn = Drawn::new(&weights, n, &mut Rng::new(seed, 0));
        assert_eq!(drawn.times.iter().sum::<usize>(), n);
        assert!(drawn.rows.is_sorted() && drawn.times.iter().all(|&times| times > 0));
        drawn.rows.iter().zip(&drawn.times).for_each(|(&row, &times)| counts[row] += times as f64);
    }
    assert_eq!((counts[1], counts[4], counts[6]), (0.0, 0.0, 0.0));
    let total = (n_trials as usize * n) as f64;
    let chi2: f64 = [0, 2, 3, 5].map(|i| (counts[i] - total * weights[i]).powi(2) / (total * weights[i])).iter().sum();
    // Three degrees of freedom: 21.1 is the 0.9999 quantile.
    assert!(chi2 < 21.1, "{counts:?}");
}

#[test]
fn half_log_odds_is_that_of_the_system_on_both_sides_and_odd() {
    for error in [1e-10f64, 1e-4, 0.1, 0.25, 0.4999, 0.5] {
        let expected = 0.5 * ((1.0 - error) / error).ln();
        assert!((half_log_odds(error) - expected).abs() < 1e-14 * (1.0 + expected), "{error}");
    }
    assert_eq!((half_log_odds(0.75), half_log_odds(0.5)), (-half_log_odds(0.25), 0.0));
}

/// Two clouds on a line, one of them a single row.
fn lonely() -> Dataset {
    let points = Matrix::from_fn(30, 2, |i, j| if i == 0 { 9.0 } else { (i * (j + 3) % 7) as f64 });
    let labels: Vec<&str> = (0..30).map(|i| if i == 0 { "a" } else { "b" }).collect();
    Dataset::new("lonely", Samples::unnamed(points).unwrap(), Labels::new(&labels).unwrap()).unwrap()
}

#[test]
fn edges_train_and_predict_in_all_variants() {
    for (name, _) in VARIANTS {
        let plan = Plan::new(name).unwrap().kernels("gaussian(1), linear").unwrap().set("trials", "10").unwrap();
        // A class of one row; draws of two rows, mostly of one class.
        for ratio in ["0", "0.001", "0.5", "1"] {
            let model = plan.clone().set("ratio", ratio).unwrap().train(&lonely()).unwrap();
            let found = model.predict(&lonely().samples).unwrap();
            assert!(found.scores.data().iter().all(|score| score.is_finite() && score.abs() <= 1.0), "{name} {ratio}");
        }
        // One trial on two rows of one class: a constant, without a point or a kernel.
        let one = plan.clone().set("ratio", "0").unwrap().set("trials", "1").unwrap().seed(1);
        let model = one.train(&lonely()).unwrap();
        assert_eq!(model.predict(&lonely().samples).unwrap().labels, [1; 30], "{name}");
        assert!(
            model.training().facts().contains(&("support points".into(), "0".into())),
            "{name}: {:?}",
            model.training().facts()
        );
        assert!(model.training().facts().contains(&("SVM fits".into(), "0".into())));
    }
}

#[test]
fn identical_kernels_share_their_votes() {
    let data = some("sonar", 2);
    let weights = |name: &str, bank: &str| {
        let plan = Plan::new(name).unwrap().kernels(bank).unwrap().set("trials", "20").unwrap();
        let model = plan.train(&data).unwrap();
        (model.kernels().weights().unwrap().to_vec(), model.training().facts())
    };
    for (name, variant) in VARIANTS {
        let (found, facts) = weights(name, "linear, gaussian(1e-3), gaussian(5), linear, gaussian(2e-3), linear");
        assert!((found.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert_eq!((found[0], found[1]), (found[3], found[4]), "{name}");
        assert_eq!(found[0], found[5]);
        let line = format!(
            "0 3 5 ({:.4} of the votes), 1 4 ({:.4} of the votes)",
            found[0] + found[3] + found[5],
            found[1] + found[4]
        );
        assert!(facts.contains(&("identical kernels".into(), line)), "{facts:?}");
        // The best of identical kernels is the first: without the others the same SVMs are picked.
        if !variant.combines && !variant.samples {
            let (alone, _) = weights(name, "linear, gaussian(1e-3), gaussian(5)");
            for (m, group) in [vec![0, 3, 5], vec![1, 4], vec![2]].into_iter().enumerate() {
                let share: f64 = group.iter().map(|&k| found[k]).sum();
                assert!((share - alone[m]).abs() < 1e-12, "{share} and {}", alone[m]);
            }
        }
    }
}

#[test]
fn indefinite_gram_matrix_trains() {
    let data = some("sonar", 2);
    let n = data.samples.n_samples();
    let mut rng = Rng::new(6, 0);
    let mut gram = Matrix::from_fn(n, n, |_, _| 2.0 * rng.uniform() - 1.0);
    for i in 0..n {
        gram.set(i, i, 1.0);
        (0..i).for_each(|j| gram.set(i, j, gram.get(j, i)));
    }
    let samples = data.samples.clone().with_grams(vec![Gram::square("odd", gram).unwrap()]).unwrap();
    let data = Dataset { samples, ..data };
    for (name, _) in VARIANTS {
        let plan = Plan::new(name).unwrap().kernels("precomputed(odd), linear").unwrap().set("trials", "20").unwrap();
        let model = plan.train(&data).unwrap();
        assert!(model.predict(&data.samples).unwrap().scores.data().iter().all(|score| score.is_finite()));
    }
}

#[test]
fn held_out_rows_are_not_learned_from_and_stop_boosting() {
    for (set, variant) in [("ionosphere", 0), ("glass6", 3)] {
        with_task(&some(set, 2), "gaussian(0.5), gaussian(3), linear", 2, |task| {
            let params = params(&[("holdout", "0.3"), ("patience", "5"), ("trials", "60")]);
            let state = run(VARIANTS[variant].1, task, &params);
            let all = pairs_of(task, &params).unwrap();
            let mut start = 0;
            let mut stopped = 0;
            for pair in &all {
                let held: Vec<usize> = (0..pair.rows.len()).filter(|&k| pair.held[k]).collect();
                assert!(!held.is_empty() && held.iter().all(|&k| state.weights[start + k] == 0.0));
                start += pair.rows.len();
                let trials: Vec<usize> = (0..state.trials.len()).filter(|&t| state.trials.pair[t] == pair.at).collect();
                let right: Vec<usize> = trials.iter().map(|&t| state.trials.held_right[t]).collect();
                let best = *right.iter().max().unwrap();
                let first = right.iter().position(|&n| n == best).unwrap() + 1;
                assert_eq!((state.best[pair.at], state.best_right[pair.at]), (first, best));
                assert_eq!(right.len(), (first + 5).min(60));
                stopped += usize::from(right.len() < 60);
                let points: Vec<usize> = held.iter().map(|&k| pair.rows[k]).collect();
                let learned =
                    trials.iter().flat_map(|&t| state.trials.learners(t)).flat_map(|svm| svm.support.to_vec());
                assert!(learned.into_iter().all(|row| !points.contains(&row)), "a row held out is a support point");
            }
            assert!(stopped > 0, "{set}: no pair was stopped");
            let kept: Vec<usize> = state.best.clone();
            let model = state.model(task, &params).unwrap();
            let found: Vec<usize> = model.trials.of_pairs(all.len()).iter().map(|trials| trials.len()).collect();
            assert_eq!(found, kept);
            assert!(model.facts().iter().any(|(name, _)| name.ends_with("held out")));
        });
    }
}

#[test]
fn facts_of_a_small_model() {
    with_task(&some("sonar", 2), "gaussian(3), linear", 1, |task| {
        let params = params(&[("trials", "7")]);
        let state = run(VARIANTS[0].1, task, &params);
        let (right, n) = (state.trials.right.clone(), task.n_samples() as f64);
        let staged = [1, 2, 5, 7].map(|t| format!("{t}: {:.4}", right[t - 1] as f64 / n)).join(", ");
        let n_clamped = state.trials.error.iter().filter(|&&error| error < 1e-10).count();
        let facts = state.model(task, &params).unwrap().facts();
        let expected = [
            ("trials", "7".to_string()),
            ("SVM fits", "14".to_string()),
            ("trials with a clamped error", format!("{n_clamped} of 7")),
            ("support points", facts[3].1.clone()),
            ("accuracy in training", staged),
        ];
        assert_eq!(facts, expected.map(|(name, value)| (name.to_string(), value)));
    });
}

#[test]
fn c_out_of_range_is_refused() {
    let refused = |c: &str| {
        let plan = Plan::new("mkboost-d1").unwrap().set("c", c).unwrap();
        plan.train(&some("sonar", 2)).unwrap_err().to_string()
    };
    assert_eq!(refused("1e308"), "parameter c: c times 21 rows drawn is inf; bring c nearer to 1");
}
