//! Checks the learners against naive bookkeeping for every kernel, class and row.

mod numbers;

use super::batch::{Rule, StreamState};
use super::expansion::{block_end, longest_block};
use super::mklda::Ridges;
use super::obscure::TwoStages;
use super::ufomkl::Subgradients;
use crate::data::{Labels, Target};
use crate::dist::Rng;
use crate::kernel::KernelBank;
use crate::linalg::Matrix;
use crate::method::check::with;
use crate::pool::Pool;
use crate::run::{Control, Explain, Input, Method, Predict, State, Status, Task};
use crate::stack::{Stack, StackOptions, Storage};

/// Three noisy clouds, or the first of them against the others, with a bank of 40 Gaussians or a smaller one.
struct Problem {
    stack: Stack,
    labels: Labels,
    target: Target,
    /// All kernels, as dense matrices.
    kernels: Vec<Matrix>,
    pool: Pool,
}

impl Problem {
    fn new(n: usize, n_classes: usize, bank: &str) -> Problem {
        let mut rng = Rng::new(3, 1);
        let class: Vec<usize> = (0..n).map(|_| rng.below(3)).collect();
        let centre = |k: usize, j: usize| if k == j { 1.5 } else { 0.0 };
        let noise = |rng: &mut Rng| (0..4).map(|_| rng.uniform()).sum::<f64>() - 2.0;
        let points = Matrix::from_fn(n, 3, |i, j| centre(class[i], j) + 1.2 * noise(&mut rng));
        let names: Vec<String> = class.iter().map(|&k| format!("class {}", k.min(n_classes - 1))).collect();
        let bank: KernelBank = bank.parse().unwrap();
        let kernels = bank.resolve(&Default::default(), &points.clone().into()).unwrap();
        let pool = Pool::new(2).unwrap();
        let options = StackOptions { storage: Storage::Tiled, ..StackOptions::new(&pool) };
        let stack = Stack::train(&points, &kernels, &options).unwrap();
        let all: Vec<usize> = (0..n).collect();
        let kernels = (0..kernels.len()).map(|f| stack.block(f, &all, &all).unwrap()).collect();
        Problem { stack, labels: Labels::new(&names).unwrap(), target: Target::Classes, kernels, pool }
    }

    fn task(&self) -> Task<'_> {
        let input = Input::Stack(&self.stack);
        Task {
            input,
            labels: &self.labels,
            target: &self.target,
            groups: None,
            views: &[],
            alternatives: &[],
            seed: 7,
            pool: &self.pool,
        }
    }

    fn n(&self) -> usize {
        self.labels.n_samples()
    }

    /// The method, and the state after each epoch.
    fn run<R: Rule>(&self, settings: &[(&str, &str)]) -> (R::Method, Vec<StreamState<R>>)
    where
        R::Method: Default,
    {
        let method: R::Method = with(settings);
        let mut state = StreamState::<R>::init(&method, &self.task()).unwrap();
        let mut states = vec![];
        loop {
            let progress = state.step(&method, &self.task(), &Control::default()).unwrap();
            states.push(state.clone());
            if progress.status == Status::Finished {
                return (method, states);
            }
        }
    }

    fn order(&self, epoch: u64) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.n()).collect();
        self.task().rng(epoch, 0).shuffle(&mut order);
        order
    }
}

const FORTY: &str = "gaussian(gamma=2^-6..2^6; 40)";

/// `w[m][f][n]`: the coefficient of row n in the weights of class m and kernel f, and the same for the average of the
/// iterates, weighted by t.
struct Naive {
    w: Vec<Vec<Vec<f64>>>,
    average: Vec<Vec<Vec<f64>>>,
    events: Vec<usize>,
}

/// Stochastic gradient steps with a separate weight vector each: `w <- (1 - 1/t) w + (1/(gamma t)) (...)`.
fn naive_descent(problem: &Problem, gamma: &Matrix, epochs: std::ops::Range<u64>) -> Naive {
    let rows: Vec<usize> = epochs.flat_map(|epoch| problem.order(epoch)).collect();
    naive_descent_on(problem, gamma, &rows)
}

/// [`naive_descent`] on these rows.
fn naive_descent_on(problem: &Problem, gamma: &Matrix, rows: &[usize]) -> Naive {
    let (n, n_classes, n_kernels) = (problem.n(), problem.labels.n_classes(), problem.kernels.len());
    let zeros = || vec![vec![vec![0.0; n]; n_kernels]; n_classes];
    let (mut w, mut average, mut events) = (zeros(), zeros(), vec![]);
    let total = (rows.len() * (rows.len() + 1)) as f64 / 2.0;
    for (t, &row) in (1..).zip(rows) {
        let score = |m: usize| -> f64 {
            (0..n_kernels).map(|f| crate::linalg::dot(&w[m][f], problem.kernels[f].row(row))).sum()
        };
        let scores: Vec<f64> = (0..n_classes).map(score).collect();
        let class = problem.labels.codes()[row];
        let others = (0..n_classes).filter(|&m| m != class);
        let rival = others.rev().max_by(|&a, &b| scores[a].total_cmp(&scores[b])).unwrap();
        let learned = 1.0 + scores[rival] - scores[class] > 0.0;
        for m in 0..n_classes {
            for f in 0..n_kernels {
                w[m][f].iter_mut().for_each(|value| *value *= 1.0 - 1.0 / f64::from(t));
                let sign =
                    f64::from(u8::from(learned)) * (f64::from(u8::from(m == class)) - f64::from(u8::from(m == rival)));
                w[m][f][row] += sign / (gamma.get(f, m) * f64::from(t));
                for (average, value) in average[m][f].iter_mut().zip(&w[m][f]) {
                    *average += f64::from(t) / total * value;
                }
            }
        }
        if learned {
            events.push(row);
        }
    }
    Naive { w, average, events }
}

fn quadratic(kernel: &Matrix, c: &[f64]) -> f64 {
    kernel.rows().zip(c).map(|(row, c_i)| c_i * crate::linalg::dot(row, c)).sum()
}

/// The coefficients of all rows, including those that are not points.
fn spread(points: &[usize], coefficients: &Matrix, n: usize) -> Matrix {
    let mut all = Matrix::zeros(n, coefficients.n_cols());
    for (&point, row) in points.iter().zip(coefficients.rows()) {
        all.row_mut(point).copy_from_slice(row);
    }
    all
}

#[test]
fn mklda_has_the_weights_and_averages_of_naive_bookkeeping_loop_after_loop() {
    let problem = Problem::new(300, 3, FORTY);
    let (n, n_kernels) = (problem.n(), problem.kernels.len());
    let (_, states) = problem.run::<Ridges>(&[("epochs", "2"), ("loops", "2"), ("r", "4"), ("rho", "0.5")]);
    let mut d = Matrix::from_fn(n_kernels, 3, |_, _| 1.0 / n_kernels as f64);
    for (l, state) in [&states[1], &states[3]].into_iter().enumerate() {
        let gamma = Matrix::from_fn(n_kernels, 3, |f, m| 1.0 / (4.0 * n as f64 * d.get(f, m)));
        let naive = naive_descent(&problem, &gamma, 2 * l as u64..2 * l as u64 + 2);
        assert!(naive.events.len() > 100 && naive.events.len() < 550, "{}", naive.events.len());
        let ridges = state.rule();
        let found = spread(&ridges.kept().points, &ridges.kept().coefficients, n);
        for m in 0..3 {
            for f in 0..n_kernels {
                for i in 0..n {
                    let (found, expected) = (found.get(i, m) / gamma.get(f, m), naive.average[m][f][i]);
                    assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1e-3), "{found} {expected}");
                }
            }
        }
        // s = |w_mf| over its root mean square, q = 1/(rho + 1/s), gauge: the mean over the classes sums to 1.
        let norm = |f: usize, m: usize| quadratic(&problem.kernels[f], &naive.w[m][f]).sqrt();
        let norms = Matrix::from_fn(n_kernels, 3, norm);
        let mean = (norms.data().iter().map(|s| s * s).sum::<f64>() / norms.data().len() as f64).sqrt();
        let q = Matrix::from_fn(n_kernels, 3, |f, m| 1.0 / (0.5 + mean / norms.get(f, m)));
        let total = q.data().iter().sum::<f64>() / 3.0;
        d = Matrix::from_fn(n_kernels, 3, |f, m| q.get(f, m) / total);
        if l == 0 {
            for (found, expected) in ridges.weights().data().iter().zip(d.data()) {
                assert!((found - expected).abs() <= 1e-6 * expected, "{found} {expected}");
            }
        }
    }
}

#[test]
fn mklda_of_two_classes_is_one_function_with_the_same_events() {
    let problem = Problem::new(200, 2, FORTY);
    let (n, n_kernels) = (problem.n(), problem.kernels.len());
    let (_, states) = problem.run::<Ridges>(&[("epochs", "1"), ("loops", "1")]);
    let gamma = Matrix::from_fn(n_kernels, 2, |_, _| n_kernels as f64 / (10.0 * n as f64));
    let naive = naive_descent(&problem, &gamma, 0..1);
    let kept = states[0].rule().kept();
    let found = spread(&kept.points, &kept.coefficients, n);
    for i in 0..n {
        for (m, sign) in [(0, -1.0), (1, 1.0)] {
            let (found, expected) = (sign * found.get(i, 0) / gamma.get(0, m), naive.average[m][0][i]);
            assert!((found - expected).abs() <= 1e-12 * expected.abs().max(1e-3));
        }
    }
    assert_eq!(naive.events.iter().filter(|&&i| found.get(i, 0) == 0.0).count(), 0);
}

#[test]
fn rows_drawn_with_replacement_are_learned_like_naive_bookkeeping_does() {
    let problem = Problem::new(90, 3, "gaussian(gamma=0.5), gaussian(gamma=2)");
    let settings = [("variant", "published"), ("replacement", "yes"), ("epochs", "2"), ("loops", "1")];
    let (_, states) = problem.run::<Ridges>(&settings);
    let drawn = |epoch: u64| {
        let mut rng = problem.task().rng(epoch, 0);
        (0..90).map(|_| rng.below(90)).collect::<Vec<usize>>()
    };
    let rows: Vec<usize> = (0..2).flat_map(drawn).collect();
    // Some rows are drawn several times, some never.
    let mut distinct = rows[..90].to_vec();
    distinct.sort_unstable();
    distinct.dedup();
    assert!((45..70).contains(&distinct.len()), "{}", distinct.len());
    let begun = StreamState::<Ridges>::init(&with(&settings), &problem.task()).unwrap();
    let (weights, unit) = (begun.rule().weights().clone(), begun.rule().threshold());
    let gamma = Matrix::from_fn(2, 3, |f, m| unit / weights.get(f, m));
    let naive = naive_descent_on(&problem, &gamma, &rows);
    let kept = states.last().unwrap().rule().kept();
    let found = spread(&kept.points, &kept.coefficients, 90);
    for m in 0..3 {
        for f in 0..2 {
            for i in 0..90 {
                let (found, expected) = (found.get(i, m) / gamma.get(f, m) / 180.0, naive.w[m][f][i]);
                assert!((found - expected).abs() <= 1e-9 * expected.abs().max(1e-6), "{found} {expected}");
            }
        }
    }
    // A row is one point, however often it was learned.
    let mut points = kept.points.clone();
    points.sort_unstable();
    points.dedup();
    assert_eq!(points.len(), kept.points.len());
    assert!(kept.coefficients.data().iter().any(|c| c.abs() > 1.0));
}

#[test]
fn stable_weights_stay_finite_and_add_up_to_one_for_fifty_loops() {
    let problem = Problem::new(120, 3, FORTY);
    let (_, states) = problem.run::<Ridges>(&[("epochs", "1"), ("loops", "50")]);
    for state in states {
        let weights = state.rule().weights();
        assert!(weights.data().iter().all(|d| d.is_finite() && *d >= 0.0));
        assert!((weights.data().iter().sum::<f64>() / 3.0 - 1.0).abs() < 1e-12);
    }
}

#[test]
fn published_runs_away_with_a_warning_and_without_nan_and_gibbs_does_not() {
    let problem = Problem::new(300, 2, FORTY);
    for (variant, away) in [("published", true), ("gibbs", false)] {
        let settings = [("variant", variant), ("epochs", "1"), ("loops", "12")];
        let (params, mut states) = problem.run::<Ridges>(&settings);
        let last = states.pop().unwrap();
        assert!(last.rule().weights().data().iter().all(|w| w.is_finite()));
        let model = last.finish(&params, &problem.task()).unwrap();
        let history: Vec<f64> = model.facts()[2].1.split(", ").map(|text| text.parse().unwrap()).collect();
        assert_eq!(history.len(), 12);
        assert_eq!(history[5] < -10.0, away, "{variant}: {history:?}");
        assert!(away || history.iter().all(|alpha| (-5.0..3.0).contains(alpha)), "{history:?}");
        assert_eq!(model.warnings().len(), usize::from(away));
        let scores =
            model.scores(Input::Stack(&problem.stack.between(&[0, 1], model.points()).unwrap()), &problem.pool);
        assert!(scores.unwrap().data().iter().all(|score| score.is_finite()));
    }
}

/// The minimum of `lambda/2 |w|^2 + mean_n max(0, 1 - y_n 2 f_n)`, |w|^2 over both classes, by coordinate ascent in the
/// dual.
fn best_objective(problem: &Problem, kernel: &Matrix, lambda: f64) -> f64 {
    let (n, y) = (problem.n(), problem.labels.codes().iter().map(|&c| 2.0 * c as f64 - 1.0).collect::<Vec<_>>());
    // With u = 2 w_1: lambda/4 |u|^2 + mean hinge(y u.phi), the dual is over 0 <= a_n <= 1/n with u = (2/lambda) sum a
    // y phi.
    let (mut a, mut u) = (vec![0.0; n], vec![0.0; n]);
    for _ in 0..3000 {
        for i in 0..n {
            let step = (1.0 - y[i] * u[i]) * lambda / (2.0 * kernel.get(i, i));
            let after = (a[i] + step).clamp(0.0, 1.0 / n as f64);
            let change = 2.0 / lambda * (after - a[i]) * y[i];
            a[i] = after;
            u.iter_mut().zip(kernel.row(i)).for_each(|(u, k)| *u += change * k);
        }
    }
    let norm: f64 = a.iter().zip(&y).zip(&u).map(|((a, y), u)| 2.0 / lambda * a * y * u).sum();
    let loss: f64 = y.iter().zip(&u).map(|(y, u)| (1.0 - y * u).max(0.0)).sum::<f64>() / n as f64;
    lambda / 4.0 * norm + loss
}

/// The objective of a two-class model whose norm over the kernels is the 2-norm.
fn objective<R: Rule>(problem: &Problem, settings: &[(&str, &str)], lambda: f64, scale: f64) -> f64
where
    R::Method: Default,
{
    let (params, mut states) = problem.run::<R>(settings);
    let model = states.pop().unwrap().finish(&params, &problem.task()).unwrap();
    let all: Vec<usize> = (0..problem.n()).collect();
    let cross = problem.stack.between(&all, model.points()).unwrap();
    let f = model.scores(Input::Stack(&cross), &problem.pool).unwrap();
    let classes = problem.labels.codes();
    let margin = |i: usize| scale * (f.get(i, classes[i]) - f.get(i, 1 - classes[i]));
    let loss = all.iter().map(|&i| (1.0 - margin(i)).max(0.0)).sum::<f64>() / problem.n() as f64;
    // |w|^2 = sum over both classes of c'K c for the weighted kernel.
    let c = model.coefficients_and_weights().0.column(0);
    let weight = model.coefficients_and_weights().1.get(0, 0);
    let norm: f64 = model.points().iter().zip(&c).map(|(&i, c)| c * f.get(i, 1) * weight).sum();
    0.5 * lambda * 2.0 * norm * scale * scale + loss
}

#[test]
fn ufomkl_and_obscure_reach_the_optimum_of_their_objective() {
    // Two kernels: the norms over kernels are then 2-norms, and the optimum is that of one SVM.
    let problem = Problem::new(150, 2, "gaussian(gamma=0.3), gaussian(gamma=1.5)");
    let lambda = 1.0 / (2.0 * problem.n() as f64);
    let sum = Matrix::from_fn(problem.n(), problem.n(), |i, j| problem.kernels.iter().map(|k| k.get(i, j)).sum());
    let best = best_objective(&problem, &sum, lambda);
    let time = 150.0 * 400.0;
    let found = objective::<Subgradients>(&problem, &[("c", "2"), ("epochs", "400")], lambda, time / (lambda * time));
    assert!(found >= best - 1e-9 && found < 1.01 * best, "ufomkl {found} {best}");
    let found = objective::<TwoStages>(&problem, &[("c", "2"), ("epochs", "400")], lambda, 1.0);
    assert!(found >= best - 1e-9 && found < 1.02 * best, "obscure {found} {best}");
}

#[test]
fn ufomkl_weights_are_the_gradient_of_the_squared_norm_over_kernels() {
    let problem = Problem::new(200, 3, FORTY);
    let (_, states) = problem.run::<Subgradients>(&[("epochs", "1"), ("alpha", "0.02")]);
    let state: &StreamState<Subgradients> = states.last().unwrap();
    let (n, q) = (problem.n(), 2.0 * 40f64.ln());
    let (time, expansion) = state.looked_at();
    let c = spread(&expansion.points, &expansion.coefficients, n);
    let norm = |f: usize| (0..3).map(|m| quadratic(&problem.kernels[f], &c.column(m))).sum::<f64>().sqrt();
    let theta: Vec<f64> = (0..40).map(norm).collect();
    let v: Vec<f64> = theta.iter().map(|theta| (theta - 0.02 * time as f64).max(0.0)).collect();
    let total = v.iter().map(|v| v.powf(q)).sum::<f64>().powf(1.0 / q);
    assert!(v.iter().any(|&v| v > 0.0));
    for (f, found) in state.rule().weights().data().iter().enumerate() {
        let expected = if v[f] > 0.0 { v[f] / theta[f] * (v[f] / total).powf(q - 2.0) } else { 0.0 };
        assert!((found - expected).abs() < 1e-6 * expected.max(1e-9), "{f}: {found} {expected}");
    }
}

#[test]
fn obscure_stops_its_first_stage_after_an_epoch_without_mistakes_and_bounds_its_steps() {
    let problem = Problem::new(60, 2, FORTY);
    let (_, states) = problem.run::<TwoStages>(&[("c", "1000"), ("epochs", "40")]);
    let last: &StreamState<TwoStages> = states.last().unwrap();
    let first = last.rule().n_epochs() - 40;
    assert!((1..40).contains(&first), "{first}");
    assert_eq!(states.len() as u64, first + 40);
}

#[test]
fn all_rows_as_landmarks_are_as_good_as_none() {
    // The projection onto all rows is the identity, up to the ridge.
    let problem = Problem::new(120, 3, "gaussian(gamma=0.5), gaussian(gamma=2), gaussian(gamma=8)");
    let scores = |landmarks: &str| -> Matrix {
        let settings = [("landmarks", landmarks), ("epochs", "2"), ("loops", "2")];
        let (params, mut states) = problem.run::<Ridges>(&settings);
        let model = states.pop().unwrap().finish(&params, &problem.task()).unwrap();
        let all: Vec<usize> = (0..120).collect();
        let cross = problem.stack.between(&all, model.points()).unwrap();
        model.scores(Input::Stack(&cross), &problem.pool).unwrap()
    };
    let (exact, landmarks) = (scores("0"), scores("120"));
    for (a, b) in exact.data().iter().zip(landmarks.data()) {
        assert!((a - b).abs() < 1e-3 * exact.data().iter().fold(0.0, |m, v| f64::max(m, v.abs())), "{a} {b}");
    }
}

#[test]
fn few_landmarks_bound_the_points_and_still_tell_the_classes_apart() {
    let problem = Problem::new(300, 3, FORTY);
    let all: Vec<usize> = (0..300).collect();
    let right = |model: &dyn Predict| {
        let cross = problem.stack.between(&all, model.points()).unwrap();
        let scores = model.scores(Input::Stack(&cross), &problem.pool).unwrap();
        let found = scores.rows().map(crate::run::first_largest);
        found.zip(problem.labels.codes()).filter(|(found, class)| found == *class).count()
    };
    fn check<R: Rule>(problem: &Problem, right: &dyn Fn(&dyn Predict) -> usize)
    where
        R::Method: Default,
    {
        let (params, mut states) = problem.run::<R>(&[("landmarks", "25")]);
        let model = states.pop().unwrap().finish(&params, &problem.task()).unwrap();
        assert_eq!(model.points().len(), 25);
        // Two thirds is what nearest centres reach on clouds with this overlap.
        assert!(right(&model) > 200, "{}: {}", params.about().name, right(&model));
    }
    check::<Ridges>(&problem, &right);
    check::<Subgradients>(&problem, &right);
    check::<TwoStages>(&problem, &right);
}

#[test]
fn ufomkl_with_an_alpha_that_removes_every_kernel_says_so() {
    let problem = Problem::new(100, 2, FORTY);
    let (params, mut states) = problem.run::<Subgradients>(&[("alpha", "100"), ("epochs", "1")]);
    let model = states.pop().unwrap().finish(&params, &problem.task()).unwrap();
    assert!(model.warnings()[0].starts_with("alpha = 100 removed every kernel"), "{:?}", model.warnings());
    let cross = problem.stack.between(&[0, 1, 2], model.points()).unwrap();
    assert!(model.scores(Input::Stack(&cross), &problem.pool).unwrap().data().iter().all(|&score| score == 0.0));
}

#[test]
fn rival_is_the_first_largest_of_the_others() {
    use super::expansion::rival;
    assert_eq!(rival(&[1.0, 3.0, 3.0], 0), Some((1, -2.0)));
    assert_eq!(rival(&[1.0, 3.0, 3.0], 1), Some((2, 0.0)));
    assert_eq!(rival(&[0.5], 1), Some((0, 1.0)));
    assert_eq!(rival(&[0.5], 0), Some((1, -1.0)));
}

#[test]
fn blocks_follow_one_another_and_never_go_beyond_a_step() {
    let lengths = [0, 4_095, 4_096, 16_383, 16_384].map(|n_points| longest_block(n_points, true));
    assert_eq!(lengths, [256, 256, 512, 512, 1024]);
    assert_eq!(longest_block(1 << 20, false), 64);
    // Points come while rows are learned, so that a block may be longer than the one before it.
    for (before, after) in [(64, 64), (256, 256), (256, 512), (512, 1024), (256, 1024)] {
        let (mut seen, mut longest) = (0, 0);
        while seen < 20_000 {
            let most = if seen < 9_300 { before } else { after };
            let end = block_end(seen, most);
            assert!(seen < end && end - seen <= most && seen / 1024 == (end - 1) / 1024, "{seen}..{end}");
            (seen, longest) = (end, longest.max(end - seen));
        }
        assert_eq!(longest, after);
    }
}
