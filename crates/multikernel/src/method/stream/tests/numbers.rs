//! Numbers: the same bookkeeping with another loss.

use super::*;
use crate::data::{Dataset, Numbers, Samples};
use crate::plan::Plan;

const EPSILON: f64 = 0.1;

/// A problem with two numbers, standardised: waves along the first two columns, with noise.
fn waves(n: usize, bank: &str) -> (Problem, Matrix) {
    let problem = Problem::new(n, 2, bank);
    let points = problem.stack.block(0, &[0], &(0..n).collect::<Vec<_>>()).unwrap();
    let mut rng = Rng::new(9, 4);
    // Functions of the distance to the first row, the only coordinate at hand, and of the class.
    let truth = |i: usize, t: usize| match t {
        0 => (4.0 * points.get(0, i)).sin(),
        _ => problem.labels.codes()[i] as f64 - points.get(0, i),
    };
    let values = Matrix::from_fn(n, 2, |i, t| truth(i, t) + 0.4 * (rng.uniform() - 0.5));
    let numbers = Numbers::new(vec!["a".into(), "b".into()], values).unwrap().standardised().0;
    let values = numbers.values().clone();
    (Problem { target: Target::Numbers(numbers), ..problem }, values)
}

/// Gradient steps with a separate weight vector for each kernel and number: `w <- (1 - 1/t) w + (s / (gamma t))
/// Phi(x)`, `s` the part of a step that brings the error of `w` to epsilon, at most 1.
fn naive(problem: &Problem, values: &Matrix, gamma: &Matrix, rows: &[usize]) -> (Vec<Vec<Vec<f64>>>, usize) {
    let (n, n_kernels) = (problem.n(), problem.kernels.len());
    let mut average = vec![vec![vec![0.0; n]; n_kernels]; 2];
    let (mut w, mut cut) = (average.clone(), 0);
    let total = (rows.len() * (rows.len() + 1)) as f64 / 2.0;
    for (t, &row) in (1..).zip(rows) {
        for m in 0..2 {
            let f: f64 = (0..n_kernels).map(|f| crate::linalg::dot(&w[m][f], problem.kernels[f].row(row))).sum();
            let itself: f64 = (0..n_kernels).map(|f| problem.kernels[f].get(row, row) / gamma.get(f, m)).sum();
            let error = values.get(row, m) - f;
            let before = f64::max(f64::from(t) - 1.0, 1.0);
            let step = ((error.abs() - EPSILON).max(0.0) * before / itself).min(1.0).copysign(error);
            cut += usize::from(step != 0.0 && step.abs() < 1.0);
            for f in 0..n_kernels {
                w[m][f].iter_mut().for_each(|value| *value *= 1.0 - 1.0 / f64::from(t));
                w[m][f][row] += step / (gamma.get(f, m) * f64::from(t));
                for (average, value) in average[m][f].iter_mut().zip(&w[m][f]) {
                    *average += f64::from(t) / total * value;
                }
            }
        }
    }
    (average, cut)
}

#[test]
fn mklda_of_numbers_has_the_averages_of_naive_bookkeeping() {
    let (problem, values) = waves(200, FORTY);
    let (n, n_kernels) = (problem.n(), problem.kernels.len());
    let (_, states) = problem.run::<Ridges>(&[("epochs", "2"), ("loops", "2"), ("r", "0.3")]);
    let mut d = Matrix::from_fn(n_kernels, 2, |_, _| 1.0 / n_kernels as f64);
    for (l, state) in [&states[1], &states[3]].into_iter().enumerate() {
        let gamma = Matrix::from_fn(n_kernels, 2, |f, m| 1.0 / (0.3 * n as f64 * d.get(f, m)));
        let rows: Vec<usize> = (2 * l as u64..2 * l as u64 + 2).flat_map(|epoch| problem.order(epoch)).collect();
        let (average, cut) = naive(&problem, &values, &gamma, &rows);
        // Whole steps and cut ones both count.
        assert!(cut > 20 && cut < 700, "{cut}");
        let ridges = state.rule();
        let found = spread(&ridges.kept().points, &ridges.kept().coefficients, n);
        for (m, f, i) in (0..2).flat_map(|m| (0..n_kernels).flat_map(move |f| (0..n).map(move |i| (m, f, i)))) {
            let (found, expected) = (found.get(i, m) / gamma.get(f, m), average[m][f][i]);
            assert!((found - expected).abs() <= 1e-10 * expected.abs().max(1e-3), "{found} {expected}");
        }
        d = ridges.weights().clone();
    }
}

/// The minimum of `lambda/2 |w|^2 + mean_n max(0, |y_n - f_n| - epsilon)` by coordinate ascent in the dual.
fn best(kernel: &Matrix, y: &[f64], lambda: f64) -> f64 {
    let n = y.len();
    let (mut b, mut f) = (vec![0.0; n], vec![0.0; n]);
    for _ in 0..3000 {
        for i in 0..n {
            // w = sum b_n phi / lambda, |b_n| <= 1/n: y b - epsilon |b| is maximal where the error is epsilon.
            let k = kernel.get(i, i) / lambda;
            let rest = f[i] - b[i] * k;
            let error = y[i] - rest;
            let after = ((error.abs() - EPSILON).max(0.0).copysign(error) / k).clamp(-1.0 / n as f64, 1.0 / n as f64);
            let change = (after - b[i]) / lambda;
            b[i] = after;
            f.iter_mut().zip(kernel.row(i)).for_each(|(f, k)| *f += change * k);
        }
    }
    let norm: f64 = b.iter().zip(&f).map(|(b, f)| b * f / lambda).sum();
    let loss: f64 = y.iter().zip(&f).map(|(y, f)| ((y - f).abs() - EPSILON).max(0.0)).sum::<f64>() / n as f64;
    0.5 * lambda * norm + loss
}

#[test]
fn ufomkl_of_numbers_reaches_the_optimum_of_its_objective() {
    // Two kernels and one number: the norm over kernels is the 2-norm, and the optimum is that of one regression.
    let (problem, values) = waves(150, "gaussian(gamma=0.3), gaussian(gamma=1.5)");
    let y = values.column(0);
    let one = Numbers::one("a", y.clone()).unwrap();
    let problem = Problem { target: Target::Numbers(one), ..problem };
    let lambda = 1.0 / (2.0 * problem.n() as f64);
    let sum = Matrix::from_fn(150, 150, |i, j| problem.kernels.iter().map(|k| k.get(i, j)).sum());
    let best = best(&sum, &y, lambda);
    let (params, mut states) = problem.run::<Subgradients>(&[("c", "2"), ("epochs", "400")]);
    let model = states.pop().unwrap().finish(&params, &problem.task()).unwrap();
    let all: Vec<usize> = (0..150).collect();
    let cross = problem.stack.between(&all, model.points()).unwrap();
    let f = model.scores(Input::Stack(&cross), &problem.pool).unwrap();
    assert_eq!(f.n_cols(), 1);
    let loss = y.iter().zip(f.data()).map(|(y, f)| ((y - f).abs() - EPSILON).max(0.0)).sum::<f64>() / 150.0;
    // w = weight^(1/2) times the features of the weighted kernel.
    let (coefficients, weights) = model.coefficients_and_weights();
    let parts = model.points().iter().zip(coefficients.data()).map(|(&i, c)| c * f.get(i, 0) * weights.get(0, 0));
    let found = 0.5 * lambda * parts.sum::<f64>() + loss;
    // Averages weighted by t are above the optimum by at most 2 G^2 / (lambda (T + 1)) in the mean (Lacoste-Julien,
    // Schmidt and Bach 2012), G^2 = k(x, x) = 2.
    let bound = 2.0 * 2.0 / (lambda * (400.0 * 150.0 + 1.0));
    assert!(found >= best - 1e-9 && found < best + bound, "{found} {best} {bound}");
}

#[test]
fn all_rows_as_landmarks_of_numbers_are_as_good_as_none() {
    let (problem, _) = waves(120, "gaussian(gamma=0.5), gaussian(gamma=2), gaussian(gamma=8)");
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
fn variants_without_a_scale_refuse_numbers() {
    let x = Matrix::from_fn(30, 1, |i, _| i as f64);
    let numbers = Numbers::one("y", x.data().to_vec()).unwrap();
    let data = Dataset::of_numbers("line", Samples::unnamed(x).unwrap(), numbers).unwrap();
    for variant in ["published", "gibbs"] {
        let plan = Plan::new("mklda").unwrap().set("variant", variant).unwrap();
        let expected =
            format!("the method mklda does not predict numbers with variant={variant}; with its defaults it does");
        assert_eq!(plan.train(&data).err().unwrap().to_string(), expected);
    }
}

#[test]
fn step_of_a_number_ends_at_epsilon_or_is_whole() {
    use super::super::expansion::{Goal, Lesson};
    let values = Matrix::from_vec(1, 4, vec![1.0, -2.0, 0.55, 3.0]).unwrap();
    let (unit, scores, kernels) = (0.5, [0.2, 0.1, 0.27, 1.4], [2.0, 0.3, 1.0, 0.0]);
    let goal = Goal::of_numbers(&values, EPSILON);
    let miss = goal.miss(0, &scores, unit).unwrap();
    assert_eq!(miss.functions(4), [0, 1, 3]);
    let Lesson::Numbers(steps) = miss.lesson(1.0, |m| kernels[m]) else { panic!("a lesson of numbers") };
    // Cut: the new score is unit (y - epsilon). Whole: the kernel is too small to get there, or has dropped out. None: near
    // enough.
    assert!((scores[0] + steps[0] * kernels[0] - unit * (1.0 - EPSILON)).abs() < 1e-15);
    assert_eq!((steps[1], steps[2], steps[3]), (-1.0, 0.0, 1.0));
    assert!(goal.miss(0, &[0.5, -1.0, 0.275, 1.5], unit).is_none());
}
