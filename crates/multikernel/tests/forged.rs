//! Files with a right checksum and wrong content: an error, or a prediction, but never a panic.

use std::path::Path;

use multikernel::data::{Dataset, Labels, bundled};
use multikernel::file::{self, Kind, Record};
use multikernel::method::Session;
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

struct StopAfterOne(Canceller, bool);

impl Observer for StopAfterOne {
    fn phase(&mut self, name: &str) {
        self.1 = name == "svm";
    }

    fn progress(&mut self, _: &Progress) {
        if self.1 {
            self.0.cancel();
        }
    }
}

#[test]
fn forged_checkpoint_is_refused_or_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = Checkpoint::new(folder.path().join("c"));
    // Eight classes are 28 pairs, more than one step takes.
    let labels: Vec<String> = (0..208).map(|i| (i % 8).to_string()).collect();
    let data = Dataset::new("eight", bundled("sonar").unwrap().samples, Labels::new(&labels).unwrap()).unwrap();
    let plan = Plan::new("svm").unwrap();
    let pool = Pool::new(1).unwrap();
    let control = Control::default();
    let mut observer = StopAfterOne(control.canceller(), false);
    let mut session = Session::new(&pool, &mut observer);
    (session.control, session.checkpoint) = (control, Some(checkpoint.clone()));
    let part = plan.train_in(&data, &mut session).unwrap();
    assert!(!part.stop().0, "the run ended in one step: nothing was stored");
    let record = file::read(&checkpoint.path, Kind::Checkpoint).unwrap();
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
    forge(&checkpoint.path, Kind::Checkpoint, &record, &names, |what| {
        let mut silent = Silent;
        let mut session = Session::new(&pool, &mut silent);
        session.checkpoint = Some(Checkpoint { resume: true, ..checkpoint.clone() });
        session.control = Control::default().with_max_seconds(0.05).unwrap();
        if let Err(error) = plan.train_in(&data, &mut session) {
            assert!(!error.to_string().is_empty(), "{what}");
        }
    });
}
