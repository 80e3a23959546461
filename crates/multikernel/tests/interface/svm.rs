//! `svm` and `average` as methods: what the solver's own tests cannot see.

use multikernel::data::{Dataset, Labels, Samples, bundled};
use multikernel::dist::Rng;
use multikernel::plan::Session;
use multikernel::run::{Canceller, Checkpoint, Control, Observer, Progress, Silent};
use multikernel::stack::Precision;
use multikernel::{Matrix, Model, Plan, Pool};

/// Labels that no function of the rows explains: the solver needs many iterations.
fn noise(n: usize) -> Dataset {
    let mut rng = Rng::new(8, 0);
    let points = Matrix::from_fn(n, 3, |_, _| rng.uniform());
    let labels: Vec<&str> = (0..n).map(|_| if rng.uniform() < 0.5 { "a" } else { "b" }).collect();
    Dataset::new("noise", Samples::unnamed(points).unwrap(), Labels::new(&labels).unwrap()).unwrap()
}

/// Counts the steps of the method and cancels after one of them.
struct StopAfter {
    step: u64,
    heard: u64,
    counting: bool,
    canceller: Canceller,
}

impl Observer for StopAfter {
    fn phase(&mut self, name: &str) {
        self.counting = name == "svm";
    }

    fn progress(&mut self, _: &Progress) {
        self.heard += u64::from(self.counting);
        if self.heard == self.step {
            self.canceller.cancel();
        }
    }
}

fn saved(model: &Model) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    model.save(&path).unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn svm_cut_inside_one_problem_and_resumed_is_bit_identical() {
    let data = noise(300);
    let plan = Plan::new("svm").unwrap().kernels("gaussian(1)").unwrap();
    let plan = plan.set("c", "3e3").unwrap().set("tol", "1e-6").unwrap();
    let pool = Pool::new(2).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let run = |step: u64, checkpoint: Option<Checkpoint>| {
        let control = Control::default();
        let mut observer = StopAfter { step, heard: 0, counting: false, canceller: control.canceller() };
        let mut session = Session::new(&pool, &mut observer);
        (session.control, session.checkpoint) = (control, checkpoint);
        let model = plan.train_in(&data, &mut session).unwrap();
        (model, observer.heard)
    };
    let (whole, steps) = run(u64::MAX, None);
    assert!(steps > 2, "one problem was solved in {steps} steps: the test cuts nothing");
    assert!(whole.training().warnings().is_empty(), "{:?}", whole.training().warnings());
    for step in [1, steps / 2, steps - 1] {
        let checkpoint = Checkpoint::new(folder.path().join(format!("{step}")));
        let (part, _) = run(step, Some(checkpoint.clone()));
        assert!(
            !part.training().is_finished()
                && part.training().warnings()[0].contains("1 of 1 two-class problems did not converge")
        );
        let (resumed, heard) = run(u64::MAX, Some(Checkpoint { resume: true, ..checkpoint }));
        assert_eq!(heard, steps - step);
        assert!(saved(&resumed) == saved(&whole), "stopped after step {step} of {steps}");
    }
}

#[test]
fn checkpoint_of_another_run_is_refused_by_what_differs() {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::new(1).unwrap();
    let train = |data: &Dataset, plan: &Plan, resume: bool| {
        let control = Control::default();
        let mut observer = StopAfter { step: 1, heard: 0, counting: false, canceller: control.canceller() };
        let mut session = Session::new(&pool, &mut observer);
        session.control = control;
        session.checkpoint = Some(Checkpoint { resume, ..Checkpoint::new(folder.path().join("c")) });
        plan.train_in(data, &mut session).map_err(|error| error.to_string())
    };
    let plan =
        Plan::new("svm").unwrap().kernels("gaussian(1)").unwrap().set("c", "1e6").unwrap().set("tol", "1e-7").unwrap();
    train(&noise(300), &plan, false).unwrap();
    let refused = |data: &Dataset, plan: &Plan, resume: bool, words: &str| {
        let message = train(data, plan, resume).unwrap_err();
        assert!(message.contains(words), "{message}");
    };
    refused(&noise(300), &plan, false, "exists already and would be overwritten; add `Checkpoint::resume`");
    refused(&noise(300), &plan.clone().set("c", "1e5").unwrap(), true, "its c is `1000000`, this run's is `100000`");
    refused(&noise(300), &plan.clone().seed(1), true, "its seed is `0`, this run's is `1`");
    refused(&noise(299), &plan, true, "its data fingerprint is");
    refused(&noise(300), &plan.clone().kernels("gaussian(2)").unwrap(), true, "its kernels is `gaussian(1)`");
}

#[test]
fn class_weights_equal_a_box_per_class() {
    // Twice the weight is twice the c of that class: with both doubled it is the same problem as 2 c.
    let data = bundled("sonar").unwrap();
    let train = |c: &str, weights: &str| {
        let plan = Plan::new("average").unwrap().set("c", c).unwrap().set("class_weights", weights).unwrap();
        plan.train(&data).unwrap().predict(&data.samples).unwrap().scores
    };
    assert_eq!(train("0.02", "none"), train("0.01", "M=2,R=2"));
    assert_ne!(train("0.02", "none"), train("0.01", "M=2"));
    // 111 M and 97 R: balanced is 208 / (2 count).
    assert_eq!(train("0.5", "balanced"), train("0.5", &format!("M={},R={}", 208.0 / 222.0, 208.0 / 194.0)));
}

#[test]
fn class_weights_that_name_no_class_are_refused() {
    let data = bundled("sonar").unwrap();
    for (weights, words) in [
        ("rock=2", "class `rock` is unknown; use none, balanced, or CLASS=WEIGHT,... with classes M, R"),
        ("M=0", "weight `0` of class `M` is not a number above 0"),
        ("heavy", "must be none, balanced, or CLASS=WEIGHT,..., got `heavy`"),
    ] {
        let plan = Plan::new("svm").unwrap().set("class_weights", weights);
        let message = plan.and_then(|plan| plan.train(&data)).unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn average_of_one_kernel_is_svm_on_it() {
    let data = bundled("glass6").unwrap();
    for multiclass in ["ovo", "ovr"] {
        let scores = |method: &str| {
            let plan =
                Plan::new(method).unwrap().kernels("polynomial(2)").unwrap().set("multiclass", multiclass).unwrap();
            plan.train(&data).unwrap().predict(&data.samples).unwrap().scores
        };
        assert_eq!(scores("svm"), scores("average"));
    }
    let pool = Pool::new(1).unwrap();
    let of_three = Plan::new("svm").unwrap().kernels("gaussian(1), polynomial(2), linear").unwrap();
    let chosen =
        of_three.clone().set("kernel", "1").unwrap().train_in(&data, &mut Session::new(&pool, &mut Silent)).unwrap();
    let alone = Plan::new("svm").unwrap().kernels("polynomial(2)").unwrap().train(&data).unwrap();
    assert_eq!(chosen.predict(&data.samples).unwrap(), alone.predict(&data.samples).unwrap());
    assert_eq!(chosen.kernels().weights(), Some(&[0.0, 1.0, 0.0][..]));
    assert!(of_three.train(&data).unwrap_err().to_string().contains("the number of kernels in the bank is 3"));
}

#[test]
fn class_absent_from_the_training_rows_is_never_predicted() {
    let data = bundled("glass6").unwrap();
    let rows: Vec<usize> = (0..data.samples.n_samples()).filter(|&i| data.labels.codes()[i] != 3).collect();
    for multiclass in ["ovo", "ovr"] {
        let plan = Plan::new("average").unwrap().set("multiclass", multiclass).unwrap();
        let model = plan.train(&data.select(&rows)).unwrap();
        assert!(model.training().warnings().is_empty());
        assert!(!model.predict(&data.samples).unwrap().labels.contains(&3));
    }
}

#[test]
fn run_out_of_time_before_the_first_step_makes_no_model() {
    let pool = Pool::new(1).unwrap();
    let mut session_observer = Silent;
    let mut session = Session::new(&pool, &mut session_observer);
    session.control.canceller().cancel();
    let message =
        Plan::new("average").unwrap().train_in(&bundled("wdbc").unwrap(), &mut session).unwrap_err().to_string();
    assert!(message.contains("before anything was learned; no model was made"), "{message}");
}

/// Twice as many rows fit: the combined kernel is the one matrix of their number. What is predicted is the same but on the edge.
#[test]
fn combined_kernel_in_f32_takes_half_the_memory_and_predicts_the_same() {
    let (data, pool) = (bundled("sonar").unwrap(), Pool::new(2).unwrap());
    let n = data.samples.n_samples() as u64;
    let train = |precision: Precision, memory: Option<u64>| {
        let (plan, mut silent) = (Plan::new("average").unwrap().precision(precision), Silent);
        let mut session = Session::new(&pool, &mut silent);
        session.memory = memory;
        plan.train_in(&data, &mut session)
    };
    let tight = Some(7 * n * n);
    let error = train(Precision::F64, tight).unwrap_err().to_string();
    assert!(error.contains("needs") && error.contains("use `Precision::F32`, fewer rows, or raise"), "{error}");
    let [wide, narrow] = [(Precision::F64, None), (Precision::F32, tight)].map(|(p, m)| train(p, m).unwrap());
    let scores = |model: &Model| model.predict_in(&data.samples, &pool).unwrap().scores;
    for (wide, narrow) in scores(&wide).data().iter().zip(scores(&narrow).data()) {
        // The solver stops at a violation of 1e-3 in either case.
        assert!((wide - narrow).abs() < 2e-3, "{wide} {narrow}");
    }
}
