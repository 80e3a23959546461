//! `bm3kl` as users have it; its own tests, which see the inside, check the sampler.

use multikernel::data::{Dataset, bundled};
use multikernel::plan::Session;
use multikernel::run::{Canceller, Checkpoint, Control, Observer, Progress, Silent};
use multikernel::stack::Precision;
use multikernel::{Model, Plan, Pool};

/// The bank of the paper's second table.
const BANK: &str = "gaussian(2^-6..2^6), polynomial(1..3)";

fn some(set: &str, step: usize) -> Dataset {
    let data = bundled(set).unwrap();
    data.select(&(0..data.samples.n_samples()).step_by(step).collect::<Vec<_>>())
}

fn plan(settings: &[(&str, &str)]) -> Plan {
    let few = [("chains", "2"), ("warmup", "20"), ("draws", "20")];
    let plan = Plan::new("bm3kl").unwrap();
    few.iter().chain(settings).fold(plan, |plan, (name, value)| plan.set(name, value).unwrap())
}

fn saved(model: &Model) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    model.save(&path).unwrap();
    std::fs::read(path).unwrap()
}

fn train(plan: &Plan, data: &Dataset, n_threads: usize, memory: Option<u64>) -> Model {
    let pool = Pool::new(n_threads).unwrap();
    let mut silent = Silent;
    let mut session = Session::new(&pool, &mut silent);
    session.memory = memory;
    plan.train_in(data, &mut session).unwrap()
}

/// Every way to sample.
const WAYS: [&[(&str, &str)]; 10] = [
    &[],
    &[("sampler", "split")],
    &[("sampler", "slice")],
    &[("weights", "uniform")],
    &[("prior", "paper")],
    &[("prior", "paper"), ("sampler", "slice")],
    &[("prior", "paper"), ("sampler", "split"), ("eta", "0.5")],
    &[("prior", "paper"), ("sampler", "paper"), ("gamma0", "100")],
    &[("prior", "paper"), ("sampler", "paper"), ("weights", "uniform"), ("decay", "yes")],
    &[("prior", "paper"), ("sampler", "published"), ("gamma0", "100"), ("epsilon", "0.001")],
];

/// The ways that are for two classes.
const OF_TWO_CLASSES: [&[(&str, &str)]; 3] = [
    &[("likelihood", "logit")],
    &[("likelihood", "logit"), ("sampler", "slice")],
    &[("likelihood", "logit"), ("weights", "uniform")],
];

#[test]
fn every_way_to_sample_predicts_and_tells_what_it_drew() {
    for (set, step) in [("sonar", 3), ("glass6", 3)] {
        let data = some(set, step);
        let of_two: &[_] = if set == "sonar" { &OF_TWO_CLASSES } else { &[] };
        for settings in WAYS.iter().chain(of_two).copied() {
            let model = train(&plan(settings), &data, 2, None);
            let weights = model.kernels().weights().unwrap();
            assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{settings:?}");
            let (labels, found) =
                (model.predict(&data.samples).unwrap().labels, model.probabilities(&data.samples).unwrap());
            for (row, label) in found.rows().zip(&labels) {
                assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{settings:?}");
                assert!(row.iter().all(|&p| (0.0..=row[*label]).contains(&p)), "{settings:?}");
            }
            let right = labels.iter().zip(data.labels.codes()).filter(|(found, is)| found == is).count();
            assert!(right as f64 > 0.7 * labels.len() as f64, "{set} {settings:?}: {right} of {}", labels.len());
            let draws = model.draws().unwrap();
            assert_eq!((draws.n_chains(), draws.n_draws()), (2, 20), "{settings:?}");
            if let Some(drawn) = draws.variable("weights") {
                assert_eq!(drawn.coordinates, model.kernels().names());
                let (low, high) = drawn.prior.unwrap();
                assert!(0.0 < low && low < high && high < 1.0);
            } else {
                assert!(settings.contains(&("weights", "uniform")), "{settings:?}");
            }
            let has_variance = !settings.contains(&("prior", "paper"));
            assert_eq!(draws.variable("log_nu").map(|drawn| drawn.values.n_cols()), has_variance.then_some(1));
        }
    }
}

#[test]
fn bits_are_the_same_for_any_number_of_threads_and_any_storage() {
    let data = some("glass6", 3);
    for (way, settings) in WAYS.into_iter().enumerate() {
        // Samplers know nothing of what kernels are stored as.
        let precisions = [Precision::F64, Precision::F32];
        for precision in precisions.into_iter().take(if way < 3 { 2 } else { 1 }) {
            // 126 kernels, which take more than what the chains need beside them, in f32 too.
            let plan = plan(settings).set("draws", "4").unwrap().kernels("gaussian(2^-6..2^7) each").unwrap();
            let plan = plan.precision(precision);
            let one = saved(&train(&plan, &data, 1, None));
            assert!(saved(&train(&plan, &data, 2, None)) == one, "{settings:?}: 2 threads");
            assert!(saved(&train(&plan, &data, 5, None)) == one, "{settings:?}: 5 threads");
            // Too little for stored kernels, enough for the matrices of two chains and six classes.
            let memory = 8 * 2 * 10 * (data.samples.n_samples() as u64).pow(2) + 4096;
            assert!(saved(&train(&plan, &data, 2, Some(memory))) == one, "{settings:?}: computed");
        }
    }
}

#[test]
fn likelihood_of_labels_has_the_same_bits_for_any_number_of_threads_and_from_a_file() {
    let (data, folder) = (some("sonar", 3), tempfile::tempdir().unwrap());
    for settings in OF_TWO_CLASSES {
        let model = train(&plan(settings), &data, 1, None);
        assert!(saved(&train(&plan(settings), &data, 3, None)) == saved(&model), "{settings:?}: 3 threads");
        let path = folder.path().join("model");
        model.save(&path).unwrap();
        let read = Model::load(&path).unwrap();
        let rows = bundled("sonar").unwrap().samples;
        let found = read.probabilities(&rows).unwrap();
        assert_eq!(found.data(), model.probabilities(&rows).unwrap().data(), "{settings:?}");
        // One row alone has the probabilities it has among others.
        let one = read.probabilities(&rows.select_rows(&[5])).unwrap();
        assert_eq!(one.data(), found.row(5), "{settings:?}");
    }
}

/// Cancels after so many steps of the method, out of all.
struct StopAfter(Canceller, u64, u64);

impl Observer for StopAfter {
    fn progress(&mut self, progress: &Progress) {
        // Kernels and other phases have other totals.
        if (progress.done, progress.total) == (self.1, self.2) {
            self.0.cancel();
        }
    }
}

#[test]
fn run_cut_in_warm_up_and_among_draws_is_a_model_and_resumes_bit_identical() {
    let folder = tempfile::tempdir().unwrap();
    let data = some("sonar", 2);
    for (way, settings) in WAYS.into_iter().chain(OF_TWO_CLASSES).enumerate() {
        let plan = plan(settings);
        let whole = saved(&train(&plan, &data, 2, None));
        for cut in [7, 20, 33] {
            let checkpoint = Checkpoint::new(folder.path().join(format!("{way} {cut}")));
            let (pool, control) = (Pool::new(2).unwrap(), Control::default());
            let mut observer = StopAfter(control.canceller(), cut, 40);
            let mut session = Session::new(&pool, &mut observer);
            (session.control, session.checkpoint) = (control, Some(checkpoint.clone()));
            let part = plan.train_in(&data, &mut session).unwrap();
            assert!(!part.training().is_finished(), "{settings:?}: nothing was cut");
            let told = part.training().warnings().join(" ");
            assert!(told.contains(&format!("stopped after {cut} of ")), "{told}");
            assert_eq!(part.predict(&data.samples).unwrap().labels.len(), data.samples.n_samples());
            let (pool, mut silent) = (Pool::new(1).unwrap(), Silent);
            let mut session = Session::new(&pool, &mut silent);
            session.checkpoint = Some(Checkpoint { resume: true, ..checkpoint });
            assert!(saved(&plan.train_in(&data, &mut session).unwrap()) == whole, "{settings:?} cut at {cut}");
        }
    }
}

#[test]
fn run_cut_before_the_first_draw_kept_for_good_is_a_model() {
    let (data, folder) = (some("sonar", 3), tempfile::tempdir().unwrap());
    for (way, settings) in [&[] as &[(&str, &str)], OF_TWO_CLASSES[0]].into_iter().enumerate() {
        // Of so many draws one in some hundred is kept, and none of the first five.
        let plan = plan(settings).set("draws", "100000").unwrap();
        let checkpoint = Checkpoint::new(folder.path().join(way.to_string()));
        let mut files = vec![];
        for cut in [25, 27] {
            let (pool, control) = (Pool::new(2).unwrap(), Control::default());
            let mut observer = StopAfter(control.canceller(), cut, 100_020);
            let mut session = Session::new(&pool, &mut observer);
            (session.control, session.checkpoint) =
                (control, Some(Checkpoint { resume: cut > 25, ..checkpoint.clone() }));
            let part = plan.train_in(&data, &mut session).unwrap();
            let scores = part.predict(&data.samples).unwrap().scores;
            assert!(scores.data().iter().all(|score| score.is_finite()), "{settings:?}");
            files.push(saved(&part));
        }
        let (pool, control) = (Pool::new(1).unwrap(), Control::default());
        let mut observer = StopAfter(control.canceller(), 27, 100_020);
        let mut session = Session::new(&pool, &mut observer);
        session.control = control;
        assert!(
            saved(&plan.train_in(&data, &mut session).unwrap()) == files[1],
            "{settings:?}: not resumed bit-identical"
        );
    }
}

#[test]
fn wisconsin_with_its_equal_rows_breaks_no_factor() {
    // 234 of its 683 rows occur more than once; half of it has enough of them, and costs an eighth.
    let data = some("wisconsin", 2);
    for settings in [
        &[("gamma0", "100")] as &[_],
        &[("prior", "paper"), ("sampler", "paper"), ("gamma0", "100")],
        &[("prior", "paper"), ("sampler", "collapsed"), ("gamma0", "500")],
    ] {
        let plan = plan(settings).kernels(BANK).unwrap().set("draws", "40").unwrap();
        let model = train(&plan, &data, 2, None);
        let labels = model.predict(&data.samples).unwrap().labels;
        let right = labels.iter().zip(data.labels.codes()).filter(|(found, is)| found == is).count();
        assert!(right as f64 > 0.95 * labels.len() as f64, "{settings:?}: {right} of {}", labels.len());
    }
}

#[test]
fn kernels_in_f32_have_functions_too() {
    // Of low rank: rounding alone makes eigenvalues negative.
    let data = some("wisconsin", 2);
    for bank in ["polynomial(1)", "gaussian(2^5..2^10)"] {
        let plan = plan(&[]).kernels(bank).unwrap().precision(Precision::F32);
        assert!(train(&plan, &data, 2, None).predict(&data.samples).is_ok(), "{bank}");
    }
}

#[test]
fn chains_of_the_published_method_disagree_and_a_warning_says_so() {
    let settings = [("prior", "paper"), ("sampler", "paper"), ("gamma0", "100"), ("warmup", "60"), ("draws", "60")];
    let model = train(&plan(&settings).kernels(BANK).unwrap(), &some("sonar", 2), 2, None);
    let told = model.training().warnings().join(" ");
    assert!(told.contains("chains disagree on the kernel weights") && told.contains("leave the prior at gp"), "{told}");
}

#[test]
fn kernels_of_any_size_are_the_same_kernels() {
    // A common factor is taken off, so that variances mean the same.
    let data = some("sonar", 3);
    let unit = train(&plan(&[]).kernels("linear raw, gaussian(8)").unwrap(), &data, 2, None);
    let found = unit.predict(&data.samples).unwrap();
    assert!(found.scores.data().iter().all(|score| score.is_finite()));
    let right = found.labels.iter().zip(data.labels.codes()).filter(|(found, is)| found == is).count();
    assert!(right as f64 > 0.8 * found.labels.len() as f64, "{right}");
}

#[test]
fn class_without_rows_is_never_predicted() {
    let data = bundled("glass6").unwrap();
    let rows: Vec<usize> =
        (0..data.samples.n_samples()).filter(|&i| ![1, 4].contains(&data.labels.codes()[i])).collect();
    let part = data.select(&rows.iter().copied().step_by(2).collect::<Vec<_>>());
    let model = train(&plan(&[]), &part, 2, None);
    let found = model.probabilities(&data.samples).unwrap();
    assert!(found.rows().all(|row| row[1] == 0.0 && row[4] == 0.0 && (row.iter().sum::<f64>() - 1.0).abs() < 1e-9));
}

#[test]
fn settings_that_do_not_go_together_are_refused_with_what_does() {
    let data = some("sonar", 4);
    let refused = |settings: &[(&str, &str)]| plan(settings).train(&data).err().unwrap().to_string();
    let text = refused(&[("sampler", "paper")]);
    assert!(text.starts_with("parameter sampler: `paper`") && text.contains("set prior=paper too"), "{text}");
    let text = refused(&[("sampler", "published")]);
    assert!(text.starts_with("parameter sampler: `published`") && text.contains("set prior=paper too"), "{text}");
    let text = refused(&[("sampler", "slice"), ("eta", "2")]);
    assert_eq!(text, "parameter sampler: `slice` needs eta=1, got eta=2; take sampler=collapsed");
}

#[test]
fn chains_that_would_not_fit_are_refused_before_they_begin() {
    let data = some("glass6", 2);
    let (pool, mut silent) = (Pool::new(1).unwrap(), Silent);
    let mut session = Session::new(&pool, &mut silent);
    session.memory = Some(1 << 20);
    let text = plan(&[("chains", "16")]).train_in(&data, &mut session).err().unwrap().to_string();
    assert!(
        text.contains("the matrices of 16 chains on 107 rows") && text.contains("Plan::set(\"chains\", \"1\")"),
        "{text}"
    );
}
