//! What targets share: small sets of rows, and models and checkpoints of every method on them, made once when a target
//! begins. What a target forges is therefore always what this version writes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, OnceLock, PoisonError};

use multikernel::data::{Dataset, Format, Gram, Labels, ReadOptions, Samples, Times, ViewSource, read_from, read_views};
use multikernel::dist::Rng;
use multikernel::file::{self, Kind, Record};
use multikernel::plan::{Registry, Session};
use multikernel::run::{Canceller, Checkpoint, Control, Observer, Progress};
use multikernel::{Matrix, Model, Online, OnlineOptions, Plan, Pool};

/// One thread: what goes wrong comes back.
pub fn pool() -> &'static Pool {
    static POOL: OnceLock<Pool> = OnceLock::new();
    POOL.get_or_init(|| Pool::new(1).expect("a thread"))
}

/// A folder of this process, in memory where the system has one there.
pub fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let memory = Path::new("/dev/shm");
        let above = if memory.is_dir() { memory.into() } else { std::env::temp_dir() };
        let folder = above.join(format!("multikernel-fuzz-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder for files");
        folder
    })
}

/// The content as a file.
pub fn written(name: &str, content: &[u8]) -> String {
    let path = folder().join(name);
    std::fs::write(&path, content).expect("files can be written");
    path.display().to_string()
}

/// Options for a stranger's file of a few bytes.
pub fn options() -> ReadOptions {
    let mut options = ReadOptions::default();
    options.memory = Some(1 << 22);
    options
}

/// Lets panics be caught inside the library, where readers of others may panic: these are refusals, and nothing is said of them. One that
/// leaves it still ends the target.
pub fn refusing(work: impl FnOnce()) {
    static SAID: Mutex<String> = Mutex::new(String::new());
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| {
        std::panic::set_hook(Box::new(|info| *SAID.lock().unwrap_or_else(PoisonError::into_inner) = info.to_string()));
    });
    if catch_unwind(AssertUnwindSafe(work)).is_err() {
        eprintln!("{}", SAID.lock().unwrap_or_else(PoisonError::into_inner));
        std::process::abort();
    }
}

/// Rows of two columns that have something to do with their class.
fn table(n_rows: usize, n_classes: usize) -> (Matrix, Vec<String>) {
    let mut rng = Rng::new(3, 0);
    let rows = Matrix::from_fn(n_rows, 2, |i, j| 2.0 * rng.uniform() + 2.0 * f64::from(u8::from(i % n_classes == j)));
    (rows, (0..n_rows).map(|i| format!("c{}", i % n_classes)).collect())
}

/// A small set of each kind: two classes, three, numbers, times, cells of all kinds, sparse rows, views, a Gram matrix.
pub fn sets() -> Vec<(&'static str, Dataset)> {
    let classes = |n_classes: usize| {
        let (rows, labels) = table(24, n_classes);
        Dataset::new("rows", Samples::unnamed(rows)?, Labels::new(&labels)?)
    };
    let numbers = || {
        let (rows, _) = table(24, 2);
        let values = (0..24).map(|i| rows.get(i, 0) + 0.1 * i as f64).collect();
        Dataset::of_numbers("rows", Samples::unnamed(rows)?, multikernel::data::Numbers::one("y", values)?)
    };
    let times = || {
        let (rows, _) = table(24, 2);
        let times = Times::new((0..24).map(|i| 1.0 + i as f64).collect(), (0..24).map(|i| i % 3 > 0).collect())?;
        Dataset::of_times("rows", Samples::unnamed(rows)?, times)
    };
    let read = |text: &str, format: Format| {
        let mut options = options();
        options.format = Some(format);
        read_from(text.as_bytes(), "rows", &options)?.into_dataset()
    };
    let cells: String = (0..20)
        .map(|i| {
            let (city, word) = (["Rome", "Oslo", "", "Bonn"][i % 4], ["red wine", "white", "a red"][i % 3]);
            format!("{},{city},{word},2024-01-{:02},{}\n", i * i % 7, 1 + i % 28, ["p", "q"][i % 2])
        })
        .collect();
    let sparse: String = (0..20).map(|i| format!("{} {}:{} 9:1\n", i % 2, 1 + i % 8, i % 5)).collect();
    let views = || {
        let half = |column: usize| {
            let rows = (0..20).filter(|i| i % 5 != column).map(|i| format!("s{i},{},{}\n", i * (3 + column) % 11, i % 4));
            let name = format!("v{column}.csv");
            let source = written(&name, format!("id,a{column},b{column}\n{}", rows.collect::<String>()).as_bytes());
            ViewSource { name: format!("v{column}"), source }
        };
        let labels: String = (0..20).map(|i| format!("s{i},{}\n", ["p", "q"][i % 2])).collect();
        let labels = written("labels.csv", format!("id,label\n{labels}").as_bytes());
        read_views(&[half(0), half(1)], Some(&labels), &options())?.into_dataset()
    };
    let gram = || {
        let (rows, labels) = table(16, 2);
        let values = Matrix::from_fn(16, 16, |i, j| rows.row(i).iter().zip(rows.row(j)).map(|(a, b)| a * b).sum());
        Dataset::new("rows", Samples::of_grams(vec![Gram::square("k", values)?])?, Labels::new(&labels)?)
    };
    let all = [
        ("two", classes(2)),
        ("three", classes(3)),
        ("numbers", numbers()),
        ("times", times()),
        ("cells", read(&format!("x,city,note,day,label\n{cells}"), Format::Csv)),
        ("sparse", read(&sparse, Format::Libsvm)),
        ("views", views()),
        ("gram", gram()),
    ];
    all.into_iter().map(|(name, set)| (name, set.unwrap_or_else(|error| panic!("{name}: {error}")))).collect()
}

/// A plan that ends soon, on few kernels.
pub fn plan(method: &str, set: &str) -> Plan {
    let plan = Plan::new(method).expect("a method");
    let bank = match set {
        "gram" => "precomputed(k)",
        "cells" => "gaussian(1) on [x], clinical on [city], overlap on [city]",
        _ => "gaussian(1, 2), linear centred",
    };
    let plan = match method {
        "mklda" | "ufomkl" | "obscure" if set != "gram" => plan.kernels("gaussian(1, 2), linear"),
        _ if plan.uses_kernels() => plan.kernels(bank),
        _ => Ok(plan),
    };
    let settings = [
        ("kernel", "0"),
        ("warmup", "2"),
        ("sweeps", "4"),
        ("draws", "6"),
        ("chains", "2"),
        ("thin", "2"),
        ("frequencies", "4"),
        ("trials", "6"),
        ("start", "3"),
        ("clusters", "2"),
        ("effort", "quick"),
    ];
    settings.iter().fold(plan.expect("a bank"), |plan, (name, value)| plan.clone().set(name, value).unwrap_or(plan))
}

/// A file of ours that is forged, and rows to use it on.
pub struct Seed {
    /// The method.
    pub method: &'static str,
    /// What it holds.
    pub record: Record,
    /// How it was made.
    pub plan: Plan,
    /// What it was made from.
    pub data: Dataset,
    /// A few of its rows.
    pub few: Samples,
}

fn seed(method: &'static str, plan: Plan, data: &Dataset, bytes: &[u8]) -> Seed {
    let record = file::parse(Path::new("seed"), bytes, Kind::Model).expect("what was just written");
    Seed { method, record, plan, data: data.clone(), few: data.samples.select_rows(&[0, 1, 2]) }
}

/// Models of all methods on all sets they can learn, of which those are kept that `wanted` asks for.
pub fn models(wanted: impl Fn(&Model) -> bool) -> Vec<Seed> {
    let (sets, mut found) = (sets(), vec![]);
    for method in Registry::standard().names() {
        for (name, data) in &sets {
            let plan = plan(method, name);
            // With probabilities in half of the cases, which are stored beside the method's own fields.
            let plan = if found.len() % 2 == 0 { plan.proba(true) } else { plan };
            let Ok(model) = plan.train(data).or_else(|_| plan.clone().proba(false).train(data)) else { continue };
            if wanted(&model) {
                found.push(seed(method, plan, data, &model.to_bytes().expect("a model can be stored")));
            }
        }
    }
    assert!(!found.is_empty(), "no model to forge");
    found
}

/// Models that were learned row by row, of classes and of numbers, with a budget and without.
pub fn streams() -> Vec<Seed> {
    let (sets, mut found) = (sets(), vec![]);
    for method in ["mklda", "ufomkl", "obscure", "published"] {
        for (name, data) in sets.iter().filter(|(name, _)| ["two", "three", "numbers"].contains(name)) {
            for budget in [None, Some(5)] {
                let plan = match method {
                    "published" => plan("mklda", name).set("variant", "published").expect("a variant"),
                    _ => plan(method, name),
                };
                let options = OnlineOptions { budget, update_every: 7 };
                let Ok(mut online) = Online::begin(&plan, data, &options, pool()) else { continue };
                if learn(&mut online, data).is_ok() {
                    let path = folder().join("stream");
                    online.save(&path).expect("a stream can be stored");
                    found.push(seed(method, plan, data, &std::fs::read(path).expect("what was just written")));
                }
            }
        }
    }
    assert!(found.len() > 10, "{} streams", found.len());
    found
}

/// Learns all rows of a set.
pub fn learn(online: &mut Online, data: &Dataset) -> multikernel::Result<()> {
    if let Some(numbers) = data.target.numbers() {
        return online.learn_numbers(&data.samples, numbers.values(), pool()).map(drop);
    }
    let labels: Vec<String> = data.labels.codes().iter().map(|&code| data.labels.classes()[code].clone()).collect();
    online.learn(&data.samples, &labels, pool()).map(drop)
}

/// Ends a run after so many steps of the method itself.
pub struct StopAfter {
    canceller: Canceller,
    method: &'static str,
    is_method: bool,
    left: usize,
}

impl Observer for StopAfter {
    fn phase(&mut self, name: &str) {
        self.is_method = name == self.method;
    }

    fn progress(&mut self, _: &Progress) {
        if self.is_method {
            self.left = self.left.saturating_sub(1);
            if self.left == 0 {
                self.canceller.cancel();
            }
        }
    }
}

/// Trains for a few steps, from a checkpoint or with one; the model, if it came to one.
pub fn train(plan: &Plan, method: &'static str, data: &Dataset, steps: usize, resume: bool) -> multikernel::Result<Model> {
    let control = Control::default();
    let mut observer = StopAfter { canceller: control.canceller(), method, is_method: false, left: steps };
    let mut session = Session::new(pool(), &mut observer);
    let checkpoint = Checkpoint { resume, ..Checkpoint::new(folder().join("checkpoint")) };
    (session.control, session.checkpoint) = (control, Some(checkpoint));
    plan.train_in(data, &mut session)
}

/// Checkpoints of all methods that have one after two steps.
pub fn checkpoints() -> Vec<Seed> {
    let (sets, mut found) = (sets(), vec![]);
    let path = folder().join("checkpoint");
    for method in Registry::standard().names() {
        for (name, data) in sets.iter().filter(|(name, _)| ["two", "three", "numbers", "times"].contains(name)) {
            let plan = plan(method, name);
            let _ = std::fs::remove_file(&path);
            let Ok(model) = train(&plan, method, data, 2, false) else { continue };
            if model.training().is_finished() || !path.exists() {
                continue;
            }
            let record = file::read(&path, Kind::Checkpoint).expect("what was just written");
            found.push(Seed { method, record, plan, data: data.clone(), few: data.samples.select_rows(&[0]) });
        }
    }
    assert!(found.len() > 15, "{} checkpoints", found.len());
    found
}

/// The seed that the first byte names, with its record changed as the others say.
pub fn forged<'a>(seeds: &'a [Seed], bytes: &[u8], prefix: &str) -> Option<(&'a Seed, Record)> {
    let (&pick, mut choices) = bytes.split_first()?;
    let seed = &seeds[usize::from(pick) % seeds.len()];
    let mut record = seed.record.clone();
    file::forge::mutate(&mut choices, &mut record, prefix);
    Some((seed, record))
}
