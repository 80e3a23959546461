//! Agreement with scikit-learn, and properties of the approximation and the search.

use super::laplace::sigmoid;
use super::model::averaged;
use super::*;
use crate::data::{Dataset, Labels, Samples, bundled};
use crate::linalg::dot;
use crate::method::check::with_task;
use crate::plan::Plan;
use crate::pool::Pool;
use crate::run::{Input, Predict};
use crate::stack::{Stack, StackOptions};

fn go_on() -> bool {
    false
}

/// Twenty points on a grid; two classes with a curved boundary, three that are bands, each with two labels flipped.
fn points() -> Matrix {
    Matrix::from_fn(20, 2, |i, j| ((if j == 0 { 7 } else { 3 } * i) % 20) as f64 / 10.0 - 1.0)
}

const TWO: [usize; 20] = [0, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0];
const THREE: [usize; 20] = [0, 1, 2, 0, 2, 2, 0, 1, 2, 0, 1, 0, 0, 1, 2, 0, 1, 2, 0, 1];
const NEW: [f64; 8] = [0.1, 0.2, -0.9, 0.5, 0.77, -0.33, 2.5, 2.5];

const EVIDENCE_TWO: f64 = -13.379_931_959_313_623;
const PROBABILITY_TWO: [f64; 4] = [0.530_582_503_911, 0.282_980_863_668, 0.394_624_900_97, 0.500_146_183_828];
const EVIDENCE_THREE: f64 = -12.534_796_978_991_992;
const PROBABILITY_THREE: [[f64; 3]; 4] = [
    [0.247_801_175_871, 0.416_276_200_416, 0.335_922_623_713],
    [0.653_734_489_617, 0.158_144_162_899, 0.188_121_347_484],
    [0.173_926_097_438, 0.208_165_012_89, 0.617_908_889_671],
    [0.333_331_007_803, 0.333_337_593_487, 0.333_331_398_71],
];

/// Log evidence and probabilities at an amplitude of 3 with gaussian(0.7).
fn at_three(codes: &[usize]) -> (f64, Matrix) {
    with_task(&points(), codes, &["gaussian(0.7)"], |task| {
        let fit = Fit::new(task, 0).unwrap();
        let laplace = fit.at(3.0, &vec![vec![]; fit.sides.n_rows()], &go_on).unwrap().unwrap();
        let evidence = laplace.iter().map(|laplace| laplace.evidence).sum();
        let search = Search { evidence: vec![evidence], amplitude: vec![3.0] };
        let model = GpcModel::new(task, &search, 0, 1.0, &laplace).unwrap();
        let kernels = ["gaussian(0.7)".parse().unwrap()];
        let new = Matrix::from_vec(4, 2, NEW.to_vec()).unwrap();
        let stack = Stack::cross(&new, &points(), &kernels, &[None], &StackOptions::new(task.pool)).unwrap();
        (evidence, model.scores(Input::Stack(&stack), task.pool).unwrap())
    })
}

/// The constants are from `GaussianProcessClassifier(ConstantKernel(3.0) * RBF(0.7), optimizer=None)` of scikit-learn
/// 1.9.1, which averages the evidence over the classes where we sum it.
#[test]
fn evidence_and_probabilities_equal_those_of_scikit_learn() {
    let (evidence, found) = at_three(&TWO);
    assert!((evidence - EVIDENCE_TWO).abs() < 1e-6, "{evidence}");
    for (row, expected) in found.rows().zip(PROBABILITY_TWO) {
        assert!((row[0] - expected).abs() < 1e-6 && (row[1] + expected - 1.0).abs() < 1e-6, "{row:?} {expected}");
    }
    let (evidence, found) = at_three(&THREE);
    assert!((evidence - 3.0 * EVIDENCE_THREE).abs() < 1e-6, "{evidence}");
    for (row, expected) in found.rows().zip(PROBABILITY_THREE) {
        assert!(row.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-6), "{row:?}");
    }
}

/// At the mode the gradient of the log posterior is zero, and Newton's iteration ends there from any start.
#[test]
fn mode_is_where_the_slopes_cancel_whatever_the_start() {
    with_task(&points(), &TWO, &["gaussian(0.3)"], |task| {
        let fit = Fit::new(task, 0).unwrap();
        for amplitude in [0.1, 3.0, 1e4] {
            let problem = Problem { kernel: &fit.kernel, amplitude, sides: fit.sides.row(0) };
            let evidence: Vec<f64> = [0.0, 0.5, -3.0]
                .into_iter()
                .map(|start| {
                    let found = problem.solve(&[start; 20], task.pool, &go_on).unwrap().unwrap();
                    for (i, row) in fit.kernel.rows().enumerate() {
                        let f = amplitude * dot(row, &found.coef);
                        let slope = problem.sides[i] * sigmoid(-problem.sides[i] * f);
                        assert!(
                            (slope - found.coef[i]).abs() < 1e-5,
                            "amplitude {amplitude}: {slope} {}",
                            found.coef[i]
                        );
                    }
                    found.evidence
                })
                .collect();
            assert!(evidence.iter().all(|value| (value - evidence[0]).abs() < 1e-7), "{evidence:?}");
        }
    });
}

/// With one row the evidence is an integral over one variable, which the approximation is close to.
#[test]
fn averages_and_evidence_of_one_row_are_near_their_integrals() {
    let integral = |mean: f64, variance: f64| {
        let step = 1e-3;
        let weight = |z: f64| (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
        let term = |k: i32| {
            let z = f64::from(k) * step;
            step * weight(z) * sigmoid(mean + variance.sqrt() * z)
        };
        (-9000..=9000).map(term).sum::<f64>()
    };
    for (mean, variance) in [(0.0, 1.0), (1.0, 0.5), (-2.0, 3.0), (4.0, 0.01), (-0.3, 20.0)] {
        let (found, expected) = (averaged(mean, variance), integral(mean, variance));
        assert!((found - expected).abs() < 3e-4, "{mean} {variance}: {found}, expected {expected}");
    }
    let pool = Pool::new(1).unwrap();
    let problem = Problem { kernel: &Matrix::from_fn(1, 1, |_, _| 1.0), amplitude: 0.3, sides: &[1.0] };
    let evidence = problem.solve(&[], &pool, &go_on).unwrap().unwrap().evidence;
    assert!((evidence - integral(0.0, 0.3).ln()).abs() < 2e-3, "{evidence}");
}

#[test]
fn search_finds_the_amplitude_with_the_most_evidence() {
    for codes in [TWO, THREE] {
        with_task(&points(), &codes, &["gaussian(0.7)"], |task| {
            let fit = Fit::new(task, 0).unwrap();
            let (amplitude, evidence) = fit.best(&go_on).unwrap();
            let start = vec![vec![]; fit.sides.n_rows()];
            let at = |amplitude: f64| -> f64 {
                fit.at(amplitude, &start, &go_on).unwrap().unwrap().iter().map(|laplace| laplace.evidence).sum()
            };
            assert!((at(amplitude) - evidence).abs() < 1e-7);
            for k in -40..=140 {
                let other = at(1.06f64.powi(k));
                assert!(other <= evidence + 1e-4, "{} has {other}, {amplitude} only {evidence}", 1.06f64.powi(k));
            }
        });
    }
}

#[test]
fn golden_section_keeps_the_best_point_it_saw() {
    let mut seen = vec![];
    let mut of = |x: f64| {
        seen.push(-(x - 0.37f64).powi(2));
        Ok(-(x - 0.37).powi(2))
    };
    let (at, value) = section((0.0, -0.1369), 1.0, &mut of).unwrap();
    assert!((at - 0.37).abs() < 0.01 && seen.iter().all(|&other| other <= value), "{at}");
    let known = section((0.0, 5.0), 1.0, &mut |_| Ok(-1.0)).unwrap();
    assert_eq!(known, (0.0, 5.0));
}

#[test]
fn kernel_of_the_right_width_is_taken_and_indefinite_ones_are_left_out() {
    let data = bundled("sonar").unwrap();
    let some = data.select(&(0..208).step_by(2).collect::<Vec<_>>());
    let rest = data.select(&(1..208).step_by(2).collect::<Vec<_>>());
    let plan = Plan::new("gpc").unwrap().kernels("gaussian(0.01), gaussian(5), gaussian(1000)").unwrap();
    let model = plan.train(&some).unwrap();
    let weights = model.kernels().weights().unwrap();
    assert!(weights[1] > 0.0 && weights[0] == 0.0 && weights[2] == 0.0, "{weights:?}");
    let labels = model.predict(&rest.samples).unwrap().labels;
    let right = labels.iter().zip(rest.labels.codes()).filter(|(a, b)| a == b).count();
    assert!(right > 75, "{right} of 104");
    let model = Plan::new("gpc").unwrap().kernels("sigmoid(5) raw, gaussian(5)").unwrap().train(&some).unwrap();
    let expected = "kernels that are not positive semi-definite have no evidence and were left out: 0 (counted from 0)";
    assert_eq!(model.training().warnings(), [expected]);
    let message = Plan::new("gpc").unwrap().kernels("sigmoid(5) raw").unwrap().train(&some).unwrap_err().to_string();
    assert_eq!(message, "no kernel that was looked at is positive semi-definite, so none has evidence; add a gaussian");
}

#[test]
fn label_is_the_most_probable_class_and_a_class_without_rows_has_none() {
    let table = points();
    let codes: Vec<usize> = THREE.iter().map(|&code| if code == 2 { 3 } else { code }).collect();
    let mut texts: Vec<String> = codes.iter().map(|code| format!("class {code}")).collect();
    texts.push("class 2".into());
    let mut rows: Vec<f64> = table.data().to_vec();
    rows.extend([0.0, 0.0]);
    let all = Samples::unnamed(Matrix::from_vec(21, 2, rows).unwrap()).unwrap();
    let data = Dataset::new("bands", all, Labels::new(&texts).unwrap()).unwrap().select(&(0..20).collect::<Vec<_>>());
    let model = Plan::new("gpc").unwrap().train(&data).unwrap();
    let found = model.probabilities(&data.samples).unwrap();
    let absent = data.labels.classes().iter().position(|class| class == "class 2").unwrap();
    for (row, label) in found.rows().zip(model.predict(&data.samples).unwrap().labels) {
        assert!(row[absent] == 0.0 && (row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        assert_eq!(crate::run::first_largest(row), label);
    }
}
