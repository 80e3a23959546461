//! Regression: against LIBSVM, against the form with two variables per row, and by its optimality conditions.

use proptest::prelude::*;

use super::*;
use crate::dist::Rng;
use crate::linalg::Matrix;

/// A regression that owns its parts.
#[derive(Clone, Debug)]
struct Owned {
    gram: Matrix,
    rows: Vec<usize>,
    values: Vec<f64>,
    upper: Vec<f64>,
    epsilon: f64,
}

impl Owned {
    fn view(&self) -> Regression<'_> {
        let Owned { gram, rows, values, upper, epsilon } = self;
        Regression { gram: gram.into(), rows, values, upper, epsilon: *epsilon }
    }

    fn solve(&self, options: &Options) -> SmoSolution {
        solve_regression(&self.view(), options, None, &|| false).unwrap().unwrap()
    }

    fn solve_from(&self, options: &Options, start: &[f64]) -> SmoSolution {
        solve_regression(&self.view(), options, Some(start), &|| false).unwrap().unwrap()
    }

    /// `(K b)_i`.
    fn score(&self, beta: &[f64], i: usize) -> f64 {
        beta.iter().zip(&self.rows).map(|(b, &row)| b * self.gram.get(self.rows[i], row)).sum()
    }

    fn objective(&self, beta: &[f64]) -> f64 {
        let term = |(i, b): (usize, &f64)| b * (0.5 * self.score(beta, i) - self.values[i]) + self.epsilon * b.abs();
        beta.iter().enumerate().map(term).sum()
    }

    fn primal(&self, beta: &[f64], bias: f64) -> f64 {
        let term = |(i, b): (usize, &f64)| {
            let score = self.score(beta, i);
            0.5 * b * score + self.upper[i] * ((self.values[i] - score - bias).abs() - self.epsilon).max(0.0)
        };
        beta.iter().enumerate().map(term).sum()
    }

    /// How far the signs of the residuals are from what the dual variables ask for, from scratch.
    fn violation(&self, beta: &[f64], bias: f64) -> f64 {
        let mut worst = 0.0f64;
        for (i, (&b, &u)) in beta.iter().zip(&self.upper).enumerate() {
            let d = self.values[i] - self.score(beta, i) - bias;
            // b < u: d <= epsilon or, below 0, d <= -epsilon; the other side by symmetry.
            if b < u {
                worst = worst.max(d - if b < 0.0 { -self.epsilon } else { self.epsilon });
            }
            if b > -u {
                worst = worst.max(if b > 0.0 { self.epsilon } else { -self.epsilon } - d);
            }
        }
        worst
    }

    fn assert_feasible(&self, beta: &[f64]) {
        assert!(beta.iter().zip(&self.upper).all(|(b, u)| b.abs() <= *u), "{beta:?} {:?}", self.upper);
        let total: f64 = beta.iter().map(|b| b.abs()).sum();
        assert!(beta.iter().sum::<f64>().abs() <= 1e-12 * total, "{beta:?}");
    }

    /// The same optimum from two variables per row, as in LIBSVM: `[0, u]` with `y - epsilon`, `[-u, 0]` with `y +
    /// epsilon`, and no kink.
    fn solve_doubled(&self) -> SmoSolution {
        let n = self.rows.len();
        let rows: Vec<usize> = self.rows.iter().chain(&self.rows).copied().collect();
        let (below, above) =
            (self.values.iter().map(|y| y - self.epsilon), self.values.iter().map(|y| y + self.epsilon));
        let bounds = self.upper.iter().map(|&u| (0.0, u)).chain(self.upper.iter().map(|&u| (-u, 0.0))).collect();
        let dual =
            Dual { gram: (&self.gram).into(), rows: &rows, aim: below.chain(above).collect(), bounds, epsilon: 0.0 };
        let mut solution = descended(&dual, vec![0.0; 2 * n], &tight(), &|| false).unwrap().unwrap();
        solution.alpha = (0..n).map(|i| solution.alpha[i] + solution.alpha[i + n]).collect();
        solution
    }
}

fn tight() -> Options {
    Options { tolerance: 1e-8, ..Options::default() }
}

/// A wave with noise at `n` points; the linear kernel plus, when `smooth`, a Gaussian.
fn random(seed: u64, n: usize, n_features: usize, smooth: bool, epsilon: f64) -> Owned {
    let mut rng = Rng::new(seed, 0);
    let x = Matrix::from_fn(n, n_features, |_, _| (0..4).map(|_| rng.uniform() - 0.5).sum::<f64>());
    let gram = Matrix::from_fn(n, n, |i, j| {
        let (a, b) = (x.row(i), x.row(j));
        let dot: f64 = a.iter().zip(b).map(|(p, q)| p * q).sum();
        let distance: f64 = a.iter().zip(b).map(|(p, q)| (p - q).powi(2)).sum();
        dot + if smooth { (-distance).exp() } else { 0.0 }
    });
    let values = (0..n).map(|i| 3.0 * x.get(i, 0) + (4.0 * x.get(i, 0)).sin() + rng.uniform()).collect();
    let mut upper: Vec<f64> =
        (0..n).map(|_| if rng.below(5) == 0 { 0.0 } else { 10f64.powf(2.0 * rng.uniform() - 1.0) }).collect();
    upper[0] = 1.0;
    Owned { gram, rows: (0..n).collect(), values, upper, epsilon }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn optimum_meets_the_optimality_conditions_and_has_no_duality_gap(
        seed in any::<u64>(), n in 1usize..40, n_features in 1usize..8, smooth in any::<bool>(),
        epsilon in prop::sample::select(vec![0.0, 0.01, 0.1, 1.0]),
    ) {
        let owned = random(seed, n, n_features, smooth, epsilon);
        let solution = owned.solve(&tight());
        owned.assert_feasible(&solution.alpha);
        prop_assert!(solution.converged);
        // Rounding of sums of at most 40 products of size at most 10 * 10.
        let noise = 1e-11;
        prop_assert!(owned.violation(&solution.alpha, solution.bias) <= 1e-8 + noise);
        let objective = owned.objective(&solution.alpha);
        prop_assert!((solution.objective - objective).abs() <= noise * (1.0 + objective.abs()));
        let gap = owned.primal(&solution.alpha, solution.bias) + objective;
        prop_assert!((gap - solution.duality_gap).abs() <= 1e-9 * (1.0 + objective.abs()));
        prop_assert!(gap <= 1e-8 * owned.upper.iter().sum::<f64>() + noise * (1.0 + objective.abs()), "{gap}");
    }

    #[test]
    fn one_variable_per_row_finds_what_two_do(
        seed in any::<u64>(), n in 2usize..40, epsilon in prop::sample::select(vec![0.0, 0.02, 0.3]),
    ) {
        let owned = random(seed, n, 3, true, epsilon);
        let (one, two) = (owned.solve(&tight()), owned.solve_doubled());
        prop_assert!((one.objective - two.objective).abs() <= 1e-8 * (1.0 + owned.upper.iter().sum::<f64>()));
        // Functions, unlike dual variables, are unique: |f - g|^2 is at most twice the objective's excess.
        let change: Vec<f64> = one.alpha.iter().zip(&two.alpha).map(|(a, b)| a - b).collect();
        let norm: f64 = change.iter().enumerate().map(|(i, c)| c * owned.score(&change, i)).sum();
        prop_assert!(norm <= 4e-8 * (1.0 + owned.upper.iter().sum::<f64>()), "{norm}");
    }

    #[test]
    fn start_any_numbers_gives_the_same_optimum(seed in any::<u64>(), n in 2usize..40, scale in -2.0f64..2.0) {
        let owned = random(seed, n, 3, true, 0.1);
        let mut rng = Rng::new(seed, 1);
        let start: Vec<f64> = (0..n).map(|_| (rng.uniform() - 0.4) * 10f64.powf(scale)).collect();
        let at_once = owned.solve_from(&Options { max_iter: 0, ..tight() }, &start);
        owned.assert_feasible(&at_once.alpha);
        let (cold, warm) = (owned.solve(&tight()), owned.solve_from(&tight(), &start));
        prop_assert!((cold.objective - warm.objective).abs() <= 1e-8 * owned.upper.iter().sum::<f64>());
    }
}

/// C and epsilon, the objective, the intercept, the dual variables and the first predictions of LIBSVM (scikit-learn 1.9
/// with tol=1e-12) on twelve points of a wave.
type Reference = ((f64, f64), f64, f64, [f64; 12], [f64; 3]);
#[rustfmt::skip]
const LIBSVM: [Reference; 4] = [
    ((0.5, 0.1), -1.525_882_759_4, 0.009_633_697_1,
     [-0.2799070707, 0.0, 0.5, -0.5, 0.5, -0.1434746775, -0.2270016673, 0.0, -0.0689110786, 0.2192944942, -0.5, 0.5],
     [-0.1999999991, -0.1698191579, 0.6779072169]),
    ((10.0, 0.1), -1.584_344_899_0, 0.005_168_973_3,
     [-0.2958994201, 0.0, 0.6685197862, -0.7047882138, 0.7582392869, -0.0462679862, -0.247925834, 0.0, 0.0, 0.0,
      -0.6084732484, 0.4765956294],
     [-0.1999999988, -0.1744374338, 0.7414709857]),
    ((100.0, 0.3), -0.973_693_858_7, 0.048_733_274_6,
     [-0.1036690553, 0.0, 0.4040581418, -0.5944655692, 0.7515725342, 0.0, 0.0, 0.0, 0.0, 0.0, -0.5470962968,
      0.0896002453],
     [7e-10, -0.0173197854, 0.541470986]),
    ((3.0, 0.0), -2.052_388_928_4, -0.016_237_261_6,
     [-0.2859355462, 0.5712440496, 0.9425745118, -0.6326090516, 0.5976809592, -0.096040729, -0.9629540807,
      -0.2066758927, -0.2936039925, -0.0215976766, -0.6670304506, 1.0549478994],
     [-0.299999997, -0.1507832186, 0.8414709871]),
];

#[test]
fn twelve_points_of_a_wave_are_as_libsvm_fits_them() {
    let x: Vec<f64> = (0..12).map(|i| f64::from(i * 7 % 12) / 4.0).collect();
    let values: Vec<f64> = (0..12).map(|i| (2.0 * x[i]).sin() + ((i * 5 % 7) as f64 - 3.0) / 10.0).collect();
    let gram = Matrix::from_fn(12, 12, |i, j| (-8.0 * (x[i] - x[j]).powi(2)).exp());
    for ((c, epsilon), objective, bias, beta, predictions) in LIBSVM {
        let (rows, upper) = ((0..12).collect(), vec![c; 12]);
        let owned = Owned { gram: gram.clone(), rows, values: values.clone(), upper, epsilon };
        let solution = owned.solve(&Options { tolerance: 1e-12, ..Options::default() });
        assert!((solution.objective - objective).abs() < 1e-8, "{} {objective}", solution.objective);
        assert!((solution.bias - bias).abs() < 1e-6, "{} {bias}", solution.bias);
        for (found, want) in solution.alpha.iter().zip(beta) {
            assert!((found - want).abs() < 1e-6, "{found} {want}");
        }
        for (i, want) in predictions.iter().enumerate() {
            let found = owned.score(&solution.alpha, i) + solution.bias;
            assert!((found - want).abs() < 1e-6, "{found} {want}");
        }
    }
}

#[test]
fn duality_gap_is_primal_minus_dual_also_far_from_the_optimum() {
    for (seed, tolerance) in [(1, 1.5), (2, 0.5), (3, 0.1), (4, 1e-3)] {
        let owned = random(seed, 30, 3, true, 0.1);
        let solution = owned.solve(&Options { tolerance, ..tight() });
        let gap = owned.primal(&solution.alpha, solution.bias) + owned.objective(&solution.alpha);
        assert!((gap - solution.duality_gap).abs() < 1e-9 * (1.0 + gap), "{gap} {}", solution.duality_gap);
        assert!(tolerance < 0.2 || gap > 1e-3, "a coarse solution should have a gap to speak of, got {gap}");
    }
}

#[test]
fn numbers_within_epsilon_of_their_middle_need_no_function() {
    let mut owned = random(5, 20, 2, true, 0.0);
    let (low, high) = owned.values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), &y| (l.min(y), h.max(y)));
    owned.epsilon = 0.5 * (high - low) + 1e-9;
    owned.upper.fill(1.0);
    let solution = owned.solve(&tight());
    assert_eq!(solution.alpha, [0.0; 20]);
    assert!((solution.bias - 0.5 * (low + high)).abs() < 1e-12 && solution.objective == 0.0);
}

#[test]
fn setting_aside_keeps_the_residuals_and_the_optimum() {
    let mut owned = random(3, 120, 2, true, 0.3);
    owned.upper.iter_mut().for_each(|u| *u *= 10.0);
    let (with, without) = (owned.solve(&tight()), owned.solve(&Options { shrinking: false, ..tight() }));
    assert!(with.converged && without.converged);
    assert!((with.objective - without.objective).abs() <= 1e-8 * owned.upper.iter().sum::<f64>());
    let mut smallest = 120;
    for max_iter in (0..with.n_iter).step_by(with.n_iter as usize / 40) {
        let full = Variables::new(&owned.view().dual(), vec![0.0; 120]).unwrap();
        let mut solver = Solver { full, small: None, moved: Vec::new(), width: Width::detect(), n_iter: 0 };
        solver.descend(&Options { max_iter, ..tight() }, &|| false).unwrap();
        smallest = smallest.min(solver.small.as_ref().map_or(120, |small| small.beta.len()));
        solver.unshrink();
        owned.assert_feasible(&solver.full.beta);
        for i in 0..120 {
            // Bounds go up to 100: sums of 120 products of that size.
            assert!((solver.full.resid[i] - (owned.values[i] - owned.score(&solver.full.beta, i))).abs() < 1e-9);
        }
    }
    assert!(smallest <= 60, "{smallest}");
}

#[test]
fn leaps_reach_the_same_optimum() {
    for (seed, smooth) in [(1, false), (2, false), (3, true), (4, true)] {
        let mut owned = random(seed, 90, 6, smooth, 0.05);
        owned.upper.iter_mut().for_each(|u| *u *= 100.0);
        let (fast, slow) = (owned.solve(&Options { leaps: true, ..tight() }), owned.solve(&tight()));
        assert!(fast.converged && slow.converged);
        owned.assert_feasible(&fast.alpha);
        assert!((fast.objective - slow.objective).abs() <= 1e-8 * owned.upper.iter().sum::<f64>());
    }
}

#[test]
fn slices_of_any_length_reach_the_same_optimum() {
    let owned = random(11, 200, 4, true, 0.1);
    let whole = owned.solve(&tight());
    for max_iter in [7, 100] {
        let slice = Options { max_iter, ..tight() };
        let mut solution = owned.solve(&slice);
        while !solution.converged {
            let next = owned.solve_from(&slice, &solution.alpha);
            assert!(next.objective <= solution.objective + 1e-9);
            solution = next;
        }
        assert!((solution.objective - whole.objective).abs() <= 1e-8 * owned.upper.iter().sum::<f64>());
    }
}

#[test]
fn bad_input_is_refused_by_name() {
    let good = random(1, 6, 2, true, 0.1);
    let refuse = |change: &dyn Fn(&mut Owned)| {
        let mut owned = good.clone();
        change(&mut owned);
        solve_regression(&owned.view(), &tight(), None, &|| false).unwrap_err().to_string()
    };
    assert!(refuse(&|o| o.values[2] = f64::NAN).starts_with("values[2] must be finite, got NaN"));
    assert!(refuse(&|o| o.values.truncate(5)).starts_with("values needs one value for each of the 6 rows, got 5"));
    assert!(refuse(&|o| o.epsilon = -0.1).starts_with("parameter epsilon: must be finite and at least 0, got -0.1"));
    assert!(refuse(&|o| o.upper.fill(0.0)).starts_with("no sample with a bound above 0 among 6 rows"));
    assert!(refuse(&|o| o.gram.set(4, 4, f64::NAN)).starts_with("gram: found NaN at row 4, column 4 "));
}
