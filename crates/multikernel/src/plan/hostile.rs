//! Model files and checkpoints with right checksums and any content: an error or a result, never a panic. Mutations know
//! the structure: arrays are cut, reshaped, swapped and filled with odd numbers, values replaced and texts disturbed.
//!
//! `HOSTILE_RUNS=N` sets the number of mutations of each file, `HOSTILE_SEED` where they begin.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Once;

use serde_json::{Value, json};

use crate::data::{Dataset, Samples, bundled};
use crate::dist::Rng;
use crate::file::{self, Array, Kind, Record};
use crate::linalg::Matrix;
use crate::plan::{Model, Online, OnlineOptions, PartsBy, Plan, Registry, Session};
use crate::pool::Pool;
use crate::run::{Canceller, Checkpoint, Control, Observer, Progress, Silent};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn below(rng: &mut Rng, n: usize) -> usize {
    ((rng.uniform() * n as f64) as usize).min(n.saturating_sub(1))
}

const FLOATS: [f64; 13] =
    [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1.0, -1.0, 0.5, 1e308, -1e308, 1e-320, 1e16, 3.0];

fn odd_word(rng: &mut Rng, length: usize) -> u64 {
    let words =
        [0, 1, 2, 3, length as u64, (length as u64).wrapping_sub(1), 1 << 20, 1 << 32, 1 << 53, 1 << 63, u64::MAX];
    words[below(rng, words.len())]
}

/// A list with some of it gone, doubled or out of order.
fn disturbed<T: Clone>(rng: &mut Rng, list: &mut Vec<T>) {
    let n = list.len();
    match below(rng, 5) {
        0 => list.clear(),
        1 => list.truncate(below(rng, n.max(1))),
        2 => list.extend(list.clone()),
        3 => list.reverse(),
        _ if n > 0 => drop(list.remove(below(rng, n))),
        _ => {}
    }
}

fn change_array(rng: &mut Rng, array: &mut Array) {
    let is_content = rng.uniform() < 0.5;
    match array {
        Array::F64 { data, .. } if is_content && !data.is_empty() => {
            let (at, value) = (below(rng, data.len()), FLOATS[below(rng, FLOATS.len())]);
            if rng.uniform() < 0.2 { data.fill(value) } else { data[at] = value }
        }
        Array::U64 { data, .. } if is_content && !data.is_empty() => {
            let (at, value) = (below(rng, data.len()), odd_word(rng, data.len()));
            if rng.uniform() < 0.2 { data.fill(value) } else { data[at] = value }
        }
        Array::F64 { shape, data } => change_shape(rng, shape, data, 1.0),
        Array::U64 { shape, data } => change_shape(rng, shape, data, 1),
    }
}

fn change_shape<T: Clone>(rng: &mut Rng, shape: &mut Vec<usize>, data: &mut Vec<T>, one: T) {
    match below(rng, 6) {
        0 => shape.reverse(),
        1 => *shape = vec![data.len()],
        2 => *shape = vec![1, data.len()],
        3 => {
            // No values, but a length: as many rows as the file may state.
            data.clear();
            *shape = vec![[0, 1, 1000][below(rng, 3)], 0];
        }
        4 => {
            disturbed(rng, data);
            *shape = vec![data.len()];
        }
        _ => {
            let n_cols = shape.get(1).copied().unwrap_or(1).max(1);
            let n_rows = data.len() / n_cols + below(rng, 3);
            data.resize(n_rows * n_cols, one);
            *shape = if shape.len() == 2 { vec![n_rows, n_cols] } else { vec![data.len()] };
        }
    }
}

fn change_value(rng: &mut Rng, value: &mut Value) {
    match value {
        Value::Array(list) if rng.uniform() < 0.5 => disturbed(rng, list),
        Value::Array(list) if !list.is_empty() => {
            let at = below(rng, list.len());
            change_value(rng, &mut list[at]);
        }
        Value::Object(map) if !map.is_empty() => {
            let at = below(rng, map.len());
            if let Some((_, value)) = map.iter_mut().nth(at) {
                change_value(rng, value);
            }
        }
        Value::String(text) if rng.uniform() < 0.8 => {
            let bits = ["9", "-", ":", "(", ")", "[", "]", " on ", "=", ",", "1e999", "99999999999999999999", "\u{0}"];
            let mut letters: Vec<String> = text.chars().map(String::from).collect();
            let (at, bit) = (below(rng, letters.len() + 1), bits[below(rng, bits.len())]);
            if rng.uniform() < 0.5 || at >= letters.len() {
                letters.insert(at, bit.into());
            } else {
                letters[at] = bit.into();
            }
            *text = letters.concat();
        }
        _ => {
            let odd = [
                json!(null),
                json!(0),
                json!(u64::MAX),
                json!(-1),
                json!(1.5),
                json!(""),
                json!("x"),
                json!([]),
                json!(true),
            ];
            *value = odd[below(rng, odd.len())].clone();
        }
    }
}

/// Changes one to three things in a record, among those whose names start with `prefix`.
fn mutate(rng: &mut Rng, record: &mut Record, prefix: &str) {
    for _ in 0..=below(rng, 3) {
        let arrays: Vec<String> = record.arrays.keys().filter(|name| name.starts_with(prefix)).cloned().collect();
        let values: Vec<String> = record.values.keys().filter(|name| name.starts_with(prefix)).cloned().collect();
        let at = below(rng, arrays.len() + values.len());
        match (arrays.get(at), values.get(at.wrapping_sub(arrays.len()))) {
            (Some(name), _) if rng.uniform() < 0.1 => {
                let other = record.arrays[&arrays[below(rng, arrays.len())]].clone();
                record.arrays.insert(name.clone(), other);
            }
            (Some(name), _) if rng.uniform() < 0.05 => drop(record.arrays.remove(name)),
            (Some(name), _) => change_array(rng, record.arrays.get_mut(name).unwrap()),
            (_, Some(name)) if rng.uniform() < 0.05 => drop(record.values.remove(name)),
            (_, Some(name)) => change_value(rng, record.values.get_mut(name).unwrap()),
            _ => {}
        }
    }
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
            faults.watch(
                || format!("{name} HOSTILE_SEED={seed}"),
                || {
                    let mut silent = Silent;
                    let mut session = Session::new(&pool, &mut silent);
                    session.checkpoint = Some(Checkpoint { resume: true, ..Checkpoint::new(&path) });
                    session.control = Control::default().with_max_seconds(0.05).unwrap();
                    drop(plan.train_in(&data, &mut session));
                },
            );
        }
    }
    assert!(only.is_some() || n_methods > 10, "{n_methods} methods have checkpoints");
    faults.none(n_runs);
}
