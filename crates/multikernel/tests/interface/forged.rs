//! Files with a right checksum and wrong content: an error, or a prediction, but never a panic.

use std::path::Path;

use multikernel::data::{Dataset, Labels, Samples, Sparse, bundled};
use multikernel::file::{self, Kind, Record};
use multikernel::plan::Session;
use multikernel::run::{Canceller, Checkpoint, Control, Observer, Progress, Silent};
use multikernel::{Matrix, Model, Plan, Pool};

/// Writes the record with each of its known fields replaced in turn by something that does not fit.
fn forge(path: &Path, kind: Kind, record: &Record, names: &[&str], check: impl Fn(&str)) {
    type Change = (&'static str, fn(&mut Record, &str));
    let changes: [Change; 11] = [
        ("an empty vector", |record, name| record.put(name, &Vec::<f64>::new())),
        ("one number", |record, name| record.put(name, &vec![1.0])),
        ("a huge number", |record, name| record.put(name, &vec![1e308; 3])),
        ("NaN", |record, name| record.put(name, &vec![f64::NAN])),
        ("an empty matrix", |record, name| record.put(name, &Matrix::zeros(0, 0))),
        ("another matrix", |record, name| record.put(name, &Matrix::zeros(3, 2))),
        ("no indices", |record, name| record.put(name, &Vec::<u64>::new())),
        ("an index out of range", |record, name| record.put(name, &vec![u64::MAX, 7])),
        ("a huge count", |record, name| record.put(name, &u64::MAX)),
        ("a text", |record, name| record.put(name, &"nonsense".to_string())),
        ("texts", |record, name| record.put(name, &vec!["gaussian(1) on [99]".to_string()])),
    ];
    for name in names {
        for (what, change) in changes {
            let mut forged = record.clone();
            change(&mut forged, name);
            file::write(path, kind, &forged).unwrap();
            check(&format!("{name} replaced by {what}"));
        }
    }
}

#[test]
fn forged_model_is_refused_or_predicts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m");
    let data = bundled("glass6").unwrap();
    let data = data.select(&(0..214).step_by(2).collect::<Vec<_>>());
    let names = [
        "method",
        "params",
        "kernels",
        "resolved",
        "classes",
        "features",
        "n_samples",
        "scaler.mean",
        "scaler.scale",
        "points",
        "columns",
        "centring.1.means",
        "centring.1.grand",
        "model.weights",
        "model.support",
        "model.coef",
        "model.bias",
        "model.n_classes",
        "model.one_vs_one",
        "model.trained",
        "model.warnings",
    ];
    for multiclass in ["ovo", "ovr"] {
        let plan = Plan::new("average").unwrap().kernels("gaussian(1), linear centred").unwrap();
        plan.set("multiclass", multiclass).unwrap().train(&data).unwrap().save(&path).unwrap();
        let record = file::read(&path, Kind::Model).unwrap();
        let refused = std::cell::Cell::new(0);
        forge(&path, Kind::Model, &record, &names, |_| match Model::load(&path) {
            Ok(model) => drop(model.predict(&data.samples)),
            Err(error) => {
                refused.set(refused.get() + 1);
                assert!(error.to_string().starts_with(&path.display().to_string()), "{error}");
            }
        });
        // An array under the name of a text is no fault: the text is still there.
        assert!(refused.get() > 100, "only {} of {} forgeries were refused", refused.get(), 11 * names.len());
    }
}

#[test]
fn forged_sparse_points_are_refused_or_predict() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m");
    let data = bundled("glass6").unwrap();
    let data = data.select(&(0..214).step_by(2).collect::<Vec<_>>());
    let table = data.samples.features().to_dense().unwrap().into_owned();
    let stored: Vec<(u32, f64)> =
        table.rows().flat_map(|row| (0..).zip(row.iter().copied())).filter(|&(_, value)| value != 0.0).collect();
    let count = |row: &[f64]| row.iter().filter(|&&value| value != 0.0).count();
    let ends = table.rows().scan(0, |end, row| {
        *end += count(row);
        Some(*end)
    });
    let (columns, values) = stored.into_iter().unzip();
    let rows = Sparse::from_parts(ends.collect(), columns, values, vec![0.0; 9]).unwrap();
    let sparse = Dataset { samples: Samples::new(rows, data.samples.names().to_vec()).unwrap(), ..data.clone() };
    let plan = Plan::new("average").unwrap().kernels("gaussian(1), linear centred").unwrap();
    plan.train(&sparse).unwrap().save(&path).unwrap();
    let record = file::read(&path, Kind::Model).unwrap();
    let parts = ["points.ends", "points.columns", "points.values", "points.background"];
    let refused = std::cell::Cell::new(0);
    let check = |what: &str| match Model::load(&path) {
        Ok(model) => drop((model.predict(&sparse.samples), model.predict(&data.samples))),
        Err(error) => {
            refused.set(refused.get() + 1);
            assert!(error.to_string().starts_with(&path.display().to_string()), "{what}: {error}");
        }
    };
    forge(&path, Kind::Model, &record, &parts, check);
    // A value or a text under the name of an array is no fault: the array is still there.
    assert_eq!(refused.get(), parts.len() * 9, "forgeries by another array that were not refused");
    // Lengths that fit, with a content that does not.
    let ends: Vec<usize> = record.take("points.ends").unwrap();
    let columns: Vec<u64> = record.take("points.columns").unwrap();
    let background: Vec<f64> = record.take("points.background").unwrap();
    let mut forged = vec![record.clone(); 6];
    let swapped = |i: usize, j: usize, mut ends: Vec<usize>| {
        ends.swap(i, j);
        ends
    };
    forged[0].put("points.ends", &swapped(0, 1, ends.clone()));
    forged[1].put("points.ends", &swapped(0, ends.len() - 1, ends.clone()));
    forged[2].put("points.columns", &columns.iter().map(|_| 0u64).collect::<Vec<_>>());
    forged[3].put("points.columns", &columns.iter().map(|&column| column + (1 << 32)).collect::<Vec<_>>());
    forged[4].put("points.background", &background[1..].to_vec());
    forged[5].put("points.background", &vec![f64::INFINITY; 9]);
    refused.set(0);
    for (k, forged) in forged.iter().enumerate() {
        file::write(&path, Kind::Model, forged).unwrap();
        check(&format!("forgery {k}"));
        assert_eq!(refused.get(), k + 1, "forgery {k} was accepted");
    }
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

/// Forges these fields of a checkpoint that was written after the first step.
fn forge_checkpoint(method: &'static str, data: &Dataset, names: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = Checkpoint::new(folder.path().join("c"));
    let plan = Plan::new(method).unwrap();
    let pool = Pool::new(1).unwrap();
    let control = Control::default();
    let mut observer = StopAfterOne(control.canceller(), method, false);
    let mut session = Session::new(&pool, &mut observer);
    (session.control, session.checkpoint) = (control, Some(checkpoint.clone()));
    let part = plan.train_in(data, &mut session).unwrap();
    assert!(!part.training().is_finished(), "{method}: the run ended in one step: nothing was stored");
    let record = file::read(&checkpoint.path, Kind::Checkpoint).unwrap();
    forge(&checkpoint.path, Kind::Checkpoint, &record, names, |what| {
        let mut silent = Silent;
        let mut session = Session::new(&pool, &mut silent);
        session.checkpoint = Some(Checkpoint { resume: true, ..checkpoint.clone() });
        session.control = Control::default().with_max_seconds(0.05).unwrap();
        if let Err(error) = plan.train_in(data, &mut session) {
            assert!(!error.to_string().is_empty(), "{what}");
        }
    });
}

#[test]
fn forged_checkpoint_is_refused_or_resumed() {
    // Eight classes are 28 pairs, more than one step takes.
    let labels: Vec<String> = (0..208).map(|i| (i % 8).to_string()).collect();
    let data = Dataset::new("eight", bundled("sonar").unwrap().samples, Labels::new(&labels).unwrap()).unwrap();
    let names = [
        "identity",
        "steps",
        "done",
        "total",
        "state.weights",
        "state.alpha",
        "state.bias",
        "state.gap",
        "state.n_iter",
        "state.status",
    ];
    forge_checkpoint("svm", &data, &names);
}

#[test]
fn forged_tangents_are_refused_or_resumed() {
    let data = bundled("sonar").unwrap().select(&(0..208).step_by(4).collect::<Vec<_>>());
    let names = ["solver.constants", "solver.slopes", "solver.last", "solver.lower", "n_steps"];
    let names = names.map(|name| format!("state.{name}"));
    for method in ["silp", "level"] {
        forge_checkpoint(method, &data, &names.each_ref().map(String::as_str));
    }
}

#[test]
fn forged_checkpoints_of_the_bayesian_methods_are_refused_or_resumed() {
    let data = bundled("glass6").unwrap();
    let data = data.select(&(0..214).step_by(4).collect::<Vec<_>>());
    let names = ["bounds", "converged", "samples", "squares", "decisions", "weights", "covariance"];
    forge_checkpoint("bemkl", &data, &names.map(|name| format!("state.{name}")).each_ref().map(String::as_str));
    forge_checkpoint("gpc", &data, &["state.evidence", "state.amplitude"]);
    let names = ["n_sweeps", "positions", "f", "ln_width", "ln_amplitude", "widths", "amplitudes", "biases", "coef"];
    forge_checkpoint("bsvm", &data, &names.map(|name| format!("state.{name}")).each_ref().map(String::as_str));
    let data = bundled("ionosphere").unwrap();
    let data = data.select(&(0..351).step_by(4).collect::<Vec<_>>());
    let own = ["n_sweeps", "frequencies", "coef", "amplitude", "kept_frequencies", "kept_coef", "kept_clusters"];
    let mixture = ["shape", "mean", "tau", "nu", "scale", "alpha", "clusters", "counts", "means", "spreads"];
    let names = own.iter().map(|name| format!("state.{name}"));
    let names: Vec<String> = names.chain(mixture.iter().map(|name| format!("state.mixture.{name}"))).collect();
    forge_checkpoint("bank", &data, &names.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn forged_files_of_clusterings_are_refused_or_used() {
    let data = bundled("glass6").unwrap();
    let data = data.select(&(0..214).step_by(3).collect::<Vec<_>>());
    let names = ["weights", "vectors", "objectives", "converged"].map(|name| format!("state.{name}"));
    forge_checkpoint("mkc", &data, &names.each_ref().map(String::as_str));
    let plan = Plan::new("mkc").unwrap().kernels("gaussian(1), linear centred").unwrap();
    let names = ["weights", "clusters", "points", "squares", "offsets", "frequencies"];
    let names = names.map(|name| format!("model.{name}"));
    let refused = forge_model(&plan, &data, &names.each_ref().map(String::as_str));
    assert!(refused >= 45, "mkc: only {refused} of {} forgeries were refused", 11 * names.len());
}

/// Forges these fields of a model, and predicts with what is not refused; how many were.
fn forge_model(plan: &Plan, data: &Dataset, names: &[&str]) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m");
    plan.train(data).unwrap().save(&path).unwrap();
    let record = file::read(&path, Kind::Model).unwrap();
    let refused = std::cell::Cell::new(0);
    forge(&path, Kind::Model, &record, names, |_| match Model::load(&path) {
        Ok(model) => drop((model.predict(&data.samples), model.probabilities(&data.samples))),
        Err(_) => refused.set(refused.get() + 1),
    });
    refused.get()
}

#[test]
fn forged_models_of_the_bayesian_methods_are_refused_or_predict() {
    for set in ["glass6", "ionosphere"] {
        let data = bundled(set).unwrap();
        let data = data.select(&(0..data.samples.n_samples()).step_by(4).collect::<Vec<_>>());
        let on = |method: &str| Plan::new(method).unwrap().kernels("gaussian(1), linear centred").unwrap();
        let names = [
            "model.machine.weights",
            "model.machine.support",
            "model.machine.coef",
            "model.machine.bias",
            "model.machine.n_classes",
            "model.machine.one_vs_one",
            "model.machine.trained",
            "model.problems",
            "model.covariance",
        ];
        let refused = forge_model(&on("bemkl"), &data, &names);
        assert!(refused >= 50, "bemkl: only {refused} of {} forgeries were refused", 11 * names.len());
        let names = ["weights", "kernel", "points", "problems", "n_classes", "coef", "roots", "factors", "diagonal"];
        let names = names.map(|name| format!("model.{name}"));
        let refused = forge_model(&on("gpc"), &data, &names.each_ref().map(String::as_str));
        assert!(refused >= 50, "gpc: only {refused} of {} forgeries were refused", 11 * names.len());
        let plan = Plan::new("bsvm").unwrap().set("warmup", "5").unwrap().set("sweeps", "10").unwrap();
        let names = ["rows", "problems", "n_classes", "widths", "biases", "coef"].map(|name| format!("model.{name}"));
        let refused = forge_model(&plan, &data, &names.each_ref().map(String::as_str));
        assert!(refused >= 35, "bsvm: only {refused} of {} forgeries were refused", 11 * names.len());
        if set == "ionosphere" {
            let settings = [("frequencies", "20"), ("warmup", "2"), ("sweeps", "4"), ("thin", "2")];
            let plan = Plan::new("bank").unwrap();
            let plan = settings.iter().fold(plan, |plan, (name, value)| plan.set(name, value).unwrap());
            let names = ["frequencies", "coef", "n_features"].map(|name| format!("model.{name}"));
            let refused = forge_model(&plan, &data, &names.each_ref().map(String::as_str));
            assert!(refused >= 15, "bank: only {refused} of {} forgeries were refused", 11 * names.len());
        }
    }
}
