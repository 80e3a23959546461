//! Model files and checkpoints with right checksums and any content: an error or a result, never a panic. Mutations know
//! the structure ([`crate::file::forge`]); `fuzz/run forged` lets a fuzzer choose them.
//!
//! `HOSTILE_RUNS=N` sets the number of mutations of each file, `HOSTILE_SEED` where they begin.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Once;

use crate::data::{Column, Dataset, Labels, Numbers, Samples, Times, View, bundled, samples_of_columns};
use crate::dist::Rng;
use crate::error::{Error, Result};
use crate::evaluate::{Protocol, SplitEvaluation};
use crate::file::forge::mutate;
use crate::file::{self, Kind, Record};
use crate::linalg::Matrix;
use crate::plan::{Model, Online, OnlineOptions, Partitions, PartsBy, Plan, Registry, Session, answer};
use crate::pool::Pool;
use crate::run::{Canceller, Checkpoint, Control, Observer, Progress, Silent};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Panics found, by their first line, each with how it was reached.
#[derive(Default)]
struct Faults(BTreeMap<String, String>);

thread_local! {
    /// What a panic said while this thread is watched.
    static SAID: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps what panics say on watched threads, and leaves those of other tests as they are.
fn listen() {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let text = info.to_string().replace('\n', " ");
            if !SAID.with_borrow_mut(|said| said.as_mut().map(|said| *said = text).is_some()) {
                before(info);
            }
        }));
    });
}

impl Faults {
    fn watch(&mut self, how: impl Fn() -> String, work: impl FnOnce()) {
        listen();
        SAID.set(Some(String::new()));
        let panicked = catch_unwind(AssertUnwindSafe(work)).is_err();
        let said = SAID.take();
        if panicked {
            self.0.entry(said.unwrap_or_default()).or_insert_with(how);
        }
    }

    fn none(self, runs: u64) {
        let all: Vec<String> = self.0.into_iter().map(|(fault, how)| format!("{how}: {fault}")).collect();
        assert!(all.is_empty(), "{} faults in {runs} runs\n{}", all.len(), all.join("\n"));
    }
}

/// Rows with a model's columns.
fn rows_for(names: &[String]) -> Samples {
    let mut rng = Rng::new(5, 5);
    Samples::new(Matrix::from_fn(5, names.len(), |_, _| 6.0 * rng.uniform() - 3.0), names.to_vec()).unwrap()
}

fn stored_models() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/models");
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "multikernel"));
    paths.sort();
    paths
}

/// Everything a model can be asked for.
fn use_model(bytes: &[u8], samples: &Samples, pool: &Pool) -> bool {
    let Ok(model) = Model::from_bytes(bytes) else { return false };
    drop(model.predict_in(samples, pool));
    drop(model.probabilities_in(samples, pool));
    drop(model.parts_in(samples, PartsBy::View, pool));
    drop((crate::report::model_text(&model), crate::report::model_json(&model)));
    if let Some(clusters) = model.clustering() {
        drop(clusters.place_in(samples, pool));
    }
    if let Some(numbers) = model.numbers() {
        drop(numbers.intervals_in(samples, 0.9, pool));
    }
    drop(model.to_bytes());
    true
}

#[test]
fn mutated_models_are_refused_or_used() {
    let (runs, first, pool) = (number("HOSTILE_RUNS", 60), number("HOSTILE_SEED", 0), Pool::new(1).unwrap());
    let (mut faults, mut n_runs, mut n_used) = (Faults::default(), 0, 0);
    for path in stored_models() {
        let record = file::read(&path, Kind::Model).unwrap();
        let samples = rows_for(&record.take::<Vec<String>>("features").unwrap());
        for seed in first..first + runs {
            let (mut rng, mut forged) = (Rng::new(seed, 17), record.clone());
            mutate(&mut rng, &mut forged, "");
            let Ok(bytes) = file::bytes(Kind::Model, &forged) else { continue };
            n_runs += 1;
            let how = || format!("{} HOSTILE_SEED={seed}", path.display());
            faults.watch(how, || n_used += u64::from(use_model(&bytes, &samples, &pool)));
        }
    }
    assert!(n_used * 20 > n_runs, "{n_used} of {n_runs} were used: the others say little");
    faults.none(n_runs);
}

/// A learner goes on from a mutated model of a stream.
#[test]
fn mutated_streams_are_refused_or_gone_on_from() {
    let (runs, first, pool) = (number("HOSTILE_RUNS", 60), number("HOSTILE_SEED", 0), Pool::new(1).unwrap());
    let mut faults = Faults::default();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/models/mklda-online-0.1.0.multikernel");
    let record = file::read(&path, Kind::Model).unwrap();
    let samples = rows_for(&record.take::<Vec<String>>("features").unwrap());
    for seed in first..first + runs {
        let (mut rng, mut forged) = (Rng::new(seed, 19), record.clone());
        mutate(&mut rng, &mut forged, if seed % 2 == 0 { "stream" } else { "" });
        let Ok(bytes) = file::bytes(Kind::Model, &forged) else { continue };
        faults.watch(
            || format!("stream HOSTILE_SEED={seed}"),
            || {
                let Ok(model) = Model::from_bytes(&bytes) else { return };
                let Ok(plan) = Plan::new(model.training().method()) else { return };
                let Ok(mut online) = Online::from_model(model, &plan, &OnlineOptions::default(), &pool) else { return };
                let labels: Vec<String> =
                    (0..5).map(|i| online.classes()[i % online.classes().len().max(1)].clone()).collect();
                drop(online.learn(&samples, &labels, &pool));
                drop(online.model());
            },
        );
    }
    faults.none(runs);
}

struct StopAfterOne(Canceller, &'static str, bool);

impl Observer for StopAfterOne {
    fn phase(&mut self, name: &str) {
        self.2 = name == self.1;
    }

    fn progress(&mut self, _: &Progress) {
        if self.2 {
            self.0.cancel();
        }
    }
}

/// The checkpoint of a method after its first step; `None` if it ends with that.
fn checkpoint_of(plan: &Plan, name: &'static str, data: &Dataset, path: &Path, pool: &Pool) -> Option<Record> {
    let control = Control::default();
    let mut observer = StopAfterOne(control.canceller(), name, false);
    let mut session = Session::new(pool, &mut observer);
    (session.control, session.checkpoint) = (control, Some(Checkpoint::new(path)));
    // Some methods need views or other banks; most do not.
    let model = plan.train_in(data, &mut session).ok()?;
    (!model.training().is_finished()).then(|| file::read(path, Kind::Checkpoint).unwrap())
}

/// Goes on from a checkpoint for a moment.
fn resume(plan: &Plan, data: &Dataset, path: &Path, pool: &Pool) {
    let mut silent = Silent;
    let mut session = Session::new(pool, &mut silent);
    session.checkpoint = Some(Checkpoint { resume: true, ..Checkpoint::new(path) });
    session.control = Control::default().with_max_seconds(0.05).unwrap();
    drop(plan.train_in(data, &mut session));
}

#[test]
fn mutated_checkpoints_are_refused_or_resumed() {
    let (runs, first, pool) = (number("HOSTILE_RUNS", 25), number("HOSTILE_SEED", 0), Pool::new(1).unwrap());
    let (mut faults, mut n_runs, mut n_methods) = (Faults::default(), 0, 0);
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::standard();
    let only = std::env::var("HOSTILE_METHOD").ok();
    for name in registry.names().into_iter().filter(|name| only.as_deref().is_none_or(|only| only == *name)) {
        // Two classes for the methods that know no others.
        let set = if matches!(name, "bank" | "cik") { "ionosphere" } else { "glass6" };
        let data = bundled(set).unwrap();
        let data = data.select(&(0..data.samples.n_samples()).step_by(8).collect::<Vec<_>>());
        let plan = Plan::new(name).unwrap();
        let plan = if plan.uses_kernels() { plan.kernels("gaussian(1, 2), linear").unwrap() } else { plan };
        let plan = if name == "svm" { plan.set("kernel", "0").unwrap() } else { plan };
        let path = folder.path().join(name);
        let Some(record) = checkpoint_of(&plan, name, &data, &path, &pool) else { continue };
        assert_eq!(record.nan(), None, "{name}: a state with NaN could not be told from a forged one");
        n_methods += 1;
        for seed in first..first + runs {
            let (mut rng, mut forged) = (Rng::new(seed, 23), record.clone());
            mutate(&mut rng, &mut forged, if seed % 8 == 0 { "" } else { "state" });
            if file::write(&path, Kind::Checkpoint, &forged).is_err() {
                continue;
            }
            n_runs += 1;
            faults.watch(|| format!("{name} HOSTILE_SEED={seed}"), || resume(&plan, &data, &path, &pool));
        }
    }
    assert!(only.is_some() || n_methods > 10, "{n_methods} methods have checkpoints");
    faults.none(n_runs);
}

#[test]
fn counts_of_forged_checkpoints_that_could_overflow_are_refused() {
    let (pool, folder) = (Pool::new(1).unwrap(), tempfile::tempdir().unwrap());
    let data = bundled("glass6").unwrap();
    let data = data.select(&(0..data.samples.n_samples()).step_by(8).collect::<Vec<_>>());
    for name in ["mklda", "ufomkl", "obscure"] {
        let plan = Plan::new(name).unwrap().kernels("gaussian(1, 2), linear").unwrap();
        let path = folder.path().join(name);
        let record = checkpoint_of(&plan, name, &data, &path, &pool).unwrap();
        for field in ["state.seen", "state.learned", "state.looked", "state.rule.time"] {
            let mut forged = record.clone();
            assert!(forged.take::<u64>(field).is_ok(), "{name}: {field}");
            forged.put(field, &u64::MAX);
            file::write(&path, Kind::Checkpoint, &forged).unwrap();
            let mut silent = Silent;
            let mut session = Session::new(&pool, &mut silent);
            session.checkpoint = Some(Checkpoint { resume: true, ..Checkpoint::new(&path) });
            assert!(plan.train_in(&data, &mut session).is_err(), "{name}: {field}");
        }
    }
}

/// Classes, numbers and times of the same rows.
fn small_sets() -> Vec<Dataset> {
    let mut rng = Rng::new(7, 0);
    let samples =
        Samples::unnamed(Matrix::from_fn(24, 2, |i, j| rng.uniform() + f64::from(u8::from(i % 2 == j)))).unwrap();
    let labels: Vec<String> = (0..24).map(|i| format!("c{}", i % 2)).collect();
    let numbers = Numbers::one("y", (0..24).map(|i| f64::from(i % 5)).collect()).unwrap();
    let ends = Times::new((0..24).map(|i| f64::from(i) + 1.0).collect(), (0..24).map(|i| i % 3 > 0).collect()).unwrap();
    vec![
        Dataset::new("rows", samples.clone(), Labels::new(&labels).unwrap()).unwrap(),
        Dataset::of_numbers("rows", samples.clone(), numbers).unwrap(),
        Dataset::of_times("rows", samples, ends).unwrap(),
    ]
}

#[test]
fn mutated_parts_of_an_evaluation_are_refused_or_joined() {
    let (runs, first, pool) = (number("HOSTILE_RUNS", 150), number("HOSTILE_SEED", 0), Pool::new(1).unwrap());
    let mut faults = Faults::default();
    for data in small_sets() {
        let plans = [Plan::new("evidence").unwrap().kernels("gaussian(1, 2), linear").unwrap()];
        let cut = SplitEvaluation::new(&data, &plans, &Protocol::Folds(2), 0).unwrap();
        let mut silent = Silent;
        let mut session = Session::new(&pool, &mut silent);
        let parts: Vec<Vec<u8>> =
            cut.parts().into_iter().map(|(plan, split)| cut.run(plan, split, &mut session).unwrap()).collect();
        assert!(cut.join(&parts).is_ok());
        for seed in first..first + runs {
            let (mut rng, mut parts) = (Rng::new(seed, 37), parts.clone());
            let mut record = file::parse(Path::new("part"), &parts[1], Kind::Part).unwrap();
            mutate(&mut rng, &mut record, "");
            let Ok(bytes) = file::bytes(Kind::Part, &record) else { continue };
            parts[1] = bytes;
            let joined = || cut.join(&parts).map(|found| crate::report::evaluation_text(&found));
            faults.watch(|| format!("part HOSTILE_SEED={seed}"), || drop(joined()));
        }
    }
    faults.none(3 * runs);
}

/// `evidence` on landmarks has a state and a model of its own.
#[test]
fn mutated_files_of_landmarks_are_refused_or_used() {
    let (runs, first, pool) = (number("HOSTILE_RUNS", 60), number("HOSTILE_SEED", 0), Pool::new(1).unwrap());
    let (mut faults, mut n_used, folder) = (Faults::default(), 0, tempfile::tempdir().unwrap());
    let plan = Plan::new("evidence").unwrap().kernels("gaussian(1, 2), linear").unwrap().set("landmarks", "6").unwrap();
    // Times are not for landmarks.
    for (k, data) in small_sets().into_iter().take(2).enumerate() {
        let path = folder.path().join(k.to_string());
        let state = checkpoint_of(&plan, "evidence", &data, &path, &pool).unwrap();
        let model = plan.train_in(&data, &mut Session::new(&pool, &mut Silent)).unwrap().to_bytes().unwrap();
        let model = file::parse(Path::new("model"), &model, Kind::Model).unwrap();
        let samples = rows_for(&model.take::<Vec<String>>("features").unwrap());
        for seed in first..first + runs {
            let (mut rng, mut forged) = (Rng::new(seed, 43), model.clone());
            mutate(&mut rng, &mut forged, "");
            if let Ok(bytes) = file::bytes(Kind::Model, &forged) {
                let used = || n_used += u64::from(use_model(&bytes, &samples, &pool));
                faults.watch(|| format!("model HOSTILE_SEED={seed}"), used);
            }
            let mut forged = state.clone();
            mutate(&mut rng, &mut forged, "state");
            if file::write(&path, Kind::Checkpoint, &forged).is_ok() {
                faults.watch(|| format!("state HOSTILE_SEED={seed}"), || resume(&plan, &data, &path, &pool));
            }
        }
    }
    assert!(n_used * 20 > 2 * runs, "{n_used} models were used: the others say little");
    faults.none(4 * runs);
}

/// Two partitions, one of which changes an answer, or is asked a changed question.
struct Changing<'a> {
    halves: Vec<Dataset>,
    pool: &'a Pool,
    rng: Rng,
    /// The question that is changed, and whether its answer is instead.
    at: (usize, bool),
    asked: usize,
}

impl Partitions for Changing<'_> {
    fn ask(&mut self, setup: &[u8], request: &[u8], take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let (is_now, is_answer) = (self.at.0 == self.asked, self.at.1);
        self.asked += 1;
        for (number, rows) in self.halves.iter().enumerate() {
            let mut changed = |bytes: &[u8]| -> Result<Vec<u8>> {
                let mut record = file::parse(Path::new("message"), bytes, Kind::Partition)?;
                mutate(&mut self.rng, &mut record, "content");
                file::bytes(Kind::Partition, &record)
            };
            let is_here = is_now && number == 1;
            let setup = if is_here && !is_answer { changed(setup)? } else { setup.to_vec() };
            let request = if is_here && !is_answer { changed(request)? } else { request.to_vec() };
            let found = answer(&setup, &request, number, rows, self.pool)?;
            take(&if is_here && is_answer { changed(&found)? } else { found })?;
        }
        Ok(())
    }
}

/// Partitions that can be asked so often.
struct Counted<'a> {
    halves: Vec<Dataset>,
    pool: &'a Pool,
    left: usize,
}

impl Partitions for Counted<'_> {
    fn ask(&mut self, setup: &[u8], request: &[u8], take: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        self.left = self.left.checked_sub(1).ok_or_else(|| Error::input("enough"))?;
        let mut halves = self.halves.iter().enumerate();
        halves.try_for_each(|(number, rows)| take(&answer(setup, request, number, rows, self.pool)?))
    }
}

#[test]
fn mutated_checkpoints_of_partitions_are_refused_or_resumed() {
    let (runs, first, pool) = (number("HOSTILE_RUNS", 60), number("HOSTILE_SEED", 0), Pool::new(1).unwrap());
    let (mut faults, mut n_runs, folder) = (Faults::default(), 0, tempfile::tempdir().unwrap());
    for data in small_sets() {
        for method in ["mklr", "svimkl", "evidence", "cik", "dpm"] {
            let plan = Plan::new(method).unwrap();
            let plan = match method {
                "cik" => plan.set("frequencies", "4").unwrap().set("epochs", "6").unwrap(),
                "dpm" => plan.set("sweeps", "6").unwrap(),
                _ => plan.kernels("gaussian(1), linear").unwrap().set("landmarks", "4").unwrap(),
            };
            let path = folder.path().join(format!("{method} {}", data.target.kind().word()));
            let train = |left: usize| {
                let halves =
                    vec![data.select(&(0..12).collect::<Vec<_>>()), data.select(&(12..24).collect::<Vec<_>>())];
                let mut silent = Silent;
                let mut session = Session::new(&pool, &mut silent);
                session.checkpoint = Some(Checkpoint { resume: true, ..Checkpoint::new(&path) });
                plan.train_partitions("rows", &mut Counted { halves, pool: &pool, left }, &mut session)
            };
            // Methods that do not predict it are refused.
            let Err(_) = train(if method == "dpm" || method == "cik" { 5 } else { 12 }) else { continue };
            let Ok(record) = file::read(&path, Kind::Checkpoint) else { continue };
            for seed in first..first + runs {
                let (mut rng, mut forged) = (Rng::new(seed, 43), record.clone());
                mutate(&mut rng, &mut forged, if seed % 8 == 0 { "" } else { "state" });
                if file::write(&path, Kind::Checkpoint, &forged).is_err() {
                    continue;
                }
                n_runs += 1;
                faults.watch(|| format!("{method} HOSTILE_SEED={seed}"), || drop(train(8)));
            }
        }
    }
    assert!(n_runs > 7 * runs / 2, "{n_runs}");
    faults.none(n_runs);
}

#[test]
fn mutated_messages_of_partitions_are_refused_or_answered() {
    let (runs, first, pool) = (number("HOSTILE_RUNS", 200), number("HOSTILE_SEED", 0), Pool::new(1).unwrap());
    let mut faults = Faults::default();
    for data in small_sets() {
        for method in ["mklr", "svimkl", "evidence"] {
            let plan = Plan::new(method).unwrap().kernels("gaussian(1), linear").unwrap();
            let plan = plan.set("landmarks", "4").unwrap().set("iterations", "3").unwrap();
            for seed in first..first + runs {
                let halves =
                    vec![data.select(&(0..12).collect::<Vec<_>>()), data.select(&(12..24).collect::<Vec<_>>())];
                let at = ((seed / 2 % 5) as usize, seed % 2 == 0);
                let mut changing = Changing { halves, pool: &pool, rng: Rng::new(seed, 41), at, asked: 0 };
                let how = || format!("{method} HOSTILE_SEED={seed}");
                let mut train = || plan.train_partitions("rows", &mut changing, &mut Session::new(&pool, &mut Silent));
                faults.watch(how, || drop(train()));
            }
        }
    }
    faults.none(6 * runs);
}

/// A table that is not all numbers, with views.
fn mixed_set() -> Dataset {
    let text = |of: &dyn Fn(usize) -> String| Column::Text((0..24).map(|i| Some(of(i))).collect());
    let columns = vec![
        ("age".to_string(), Column::Number((0..24).map(|i| if i == 5 { f64::NAN } else { i as f64 }).collect())),
        ("sex".to_string(), text(&|i| ["f", "m", "d"][i % 3].into())),
        ("day".to_string(), text(&|i| format!("2021-02-{:02}", 1 + i))),
        ("note".to_string(), text(&|i| format!("a note of five words{} and{}", i % 5, i))),
        ("dna".to_string(), text(&|i| format!("ACGTACGTACG{}", ["A", "CG", "T"][i % 3]))),
    ];
    let samples = samples_of_columns(columns).unwrap().0;
    let views = vec![View { name: "one".into(), columns: 0..2 }, View { name: "two".into(), columns: 2..5 }];
    let labels = Labels::new(&(0..24).map(|i| ["a", "b"][i % 2]).collect::<Vec<_>>()).unwrap();
    Dataset::new("mixed", samples.with_views(views).unwrap(), labels).unwrap()
}

#[test]
fn mutated_messages_about_other_kinds_are_refused_or_answered() {
    let (runs, first, pool) = (number("HOSTILE_RUNS", 200), number("HOSTILE_SEED", 0), Pool::new(1).unwrap());
    let (mut faults, data) = (Faults::default(), mixed_set());
    let bank = "gaussian(1) each view, clinical, overlap, linear on words(note), mismatch(2, 1) on [dna], \
                gaussian(1) on period(day; week)";
    let plan = Plan::new("mklr").unwrap().kernels(bank).unwrap();
    let plan = plan.set("landmarks", "4").unwrap().set("iterations", "3").unwrap();
    for seed in first..first + 2 * runs {
        let halves = vec![data.select(&(0..12).collect::<Vec<_>>()), data.select(&(12..24).collect::<Vec<_>>())];
        let at = ((seed / 2 % 5) as usize, seed % 2 == 0);
        let mut changing = Changing { halves, pool: &pool, rng: Rng::new(seed, 43), at, asked: 0 };
        let mut train = || plan.train_partitions("rows", &mut changing, &mut Session::new(&pool, &mut Silent));
        faults.watch(|| format!("mixed HOSTILE_SEED={seed}"), || drop(train()));
    }
    faults.none(2 * runs);
}
