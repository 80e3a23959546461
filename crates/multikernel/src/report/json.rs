//! The JSON of `evaluate --json`, `inspect --json`, `datasets list` and `methods`: a contract, documented in
//! `docs/json.md`.

use serde_json::{Map, Value, json};

use super::draws::draws_json;
use super::figures::{FIGURES, MetricKind};
use crate::data::{BundledSet, TargetKind, bundled_sets};
use crate::evaluate::{Evaluation, Fold, Importances, KernelSummary, PlanResult, Spread};
use crate::linalg::Matrix;
use crate::plan::Model;
use crate::run::{AnyMethod, Param};

/// An evaluation as the JSON text of `evaluate --json`.
pub fn evaluation_json(found: &Evaluation) -> String {
    let (n_samples, n_features, n_classes) = found.shape;
    let n_kernels = found.results.iter().map(|result| result.n_kernels).max().unwrap_or(0);
    let mut all = json!({
        "dataset": found.dataset,
        "n_samples": n_samples,
        "n_features": n_features,
        "n_classes": n_classes,
        "classes": found.classes,
        "label": found.label,
        "n_kernels": n_kernels,
        "protocol": found.protocol,
        "n_splits": found.n_splits,
        "seed": found.seed,
        "stopped": found.stopped,
        "warnings": found.warnings,
        "results": found.results.iter().map(|one| result(one, found)).collect::<Vec<_>>(),
        "paired": found.paired,
        "best": best_json(found),
        "paired_auroc": found.paired_auroc,
    });
    // Absent where classes are predicted, as before numbers could be.
    if found.target() != TargetKind::Classes {
        all["target"] = json!(found.target().word());
    }
    if let Some(numbers) = found.test_rows.target.numbers() {
        all["numbers"] = json!(numbers.names());
    }
    pretty(&all)
}

fn result(result: &PlanResult, found: &Evaluation) -> Value {
    let mut object = Map::new();
    object.insert("method".into(), json!(result.method));
    object.insert("settings".into(), json!(result.settings));
    object.insert("n_kernels".into(), json!(result.n_kernels));
    object.insert("n_splits".into(), json!(result.folds.len()));
    let is_other = result.folds.iter().any(|fold| fold.classes().is_none());
    for figure in &FIGURES {
        let of = result.spread(figure.of);
        if of.is_some() || figure.kind == MetricKind::Labels && !is_other {
            object.insert(figure.name.into(), spread(of));
        }
    }
    object.insert("confusion".into(), json!(result.confusion()));
    if let Some(curves) = result.curves(found) {
        object.insert("curves".into(), json!(curves));
    }
    object.insert("views".into(), result.view_summaries().iter().map(summary).collect());
    object.insert("kernels".into(), result.kernel_summaries().iter().map(summary).collect());
    object.insert("folds".into(), result.folds.iter().map(fold).collect());
    Value::Object(object)
}

fn fold(fold: &Fold) -> Value {
    let mut object = Map::new();
    object.insert("split".into(), json!(fold.split));
    for figure in &FIGURES {
        let found = (figure.of)(fold);
        if found.is_some() || figure.kind == MetricKind::Labels && fold.classes().is_some() {
            object.insert(figure.name.into(), json!(found));
        }
    }
    object.insert("confusion".into(), json!(fold.metrics.confusion));
    object.insert("weights".into(), json!(fold.weights));
    object.insert("shares".into(), json!(fold.shares));
    if let Some(chosen) = &fold.chosen {
        object.insert("chosen".into(), json!(chosen));
    }
    object.insert("warnings".into(), json!(fold.warnings));
    Value::Object(object)
}

fn summary(one: &KernelSummary) -> Value {
    json!({
        "name": one.name,
        "weight": spread(Some(one.weight)),
        "share": spread(one.share),
        "selected": one.selected,
    })
}

fn spread(spread: Option<Spread>) -> Value {
    spread.map_or(Value::Null, |spread| json!({"mean": spread.mean, "std": spread.std}))
}

/// A model as the JSON text of `inspect --json`.
pub fn model_json(model: &Model) -> String {
    let (kernels, input, training) = (model.kernels(), model.input(), model.training());
    let weight = |m: usize| kernels.weights().and_then(|weights| weights.get(m));
    let share = |m: usize| kernels.shares().and_then(|shares| shares.get(m));
    let view =
        |m: usize| kernels.by_view().iter().find(|view| view.kernels.contains(&m)).map(|view| view.name.as_str());
    let intervals = kernels.intervals();
    let names = kernels.as_slice().iter().zip(kernels.names());
    let listed: Vec<Value> = names
        .enumerate()
        .map(|(m, (kernel, name))| {
            let mut one =
                json!({"kernel": kernel.to_string(), "name": name, "view": view(m), "weight": weight(m), "share": share(m)});
            if let Some(bounds) = intervals.as_ref().and_then(|intervals| intervals.bounds.get(m)) {
                one["interval"] = json!([bounds.0, bounds.1]);
            }
            one
        })
        .collect();
    let of_class = |weights: &Matrix| {
        let column = |(m, class): (usize, &String)| (class.clone(), json!(weights.column(m)));
        model.classes().iter().enumerate().map(column).collect::<Map<_, _>>()
    };
    pretty(&json!({
        "method": training.method(),
        "params": training.params(),
        "bank": kernels.bank(),
        "kernels": listed,
        "class_weights": kernels.class_weights().as_ref().map(of_class),
        "draws": model.draws().as_ref().map(draws_json),
        "intervals": intervals.as_ref().map(|found| json!({"level": found.level, "prior": [found.prior.0, found.prior.1], "note": found.note})),
        "classes": model.classes(),
        "label": input.label(),
        "features": input.features(),
        "scale": input.scale().word(),
        "precision": kernels.precision().word(),
        "seed": training.seed(),
        "dataset": training.dataset(),
        "n_samples": training.n_samples(),
        "fingerprint": training.fingerprint(),
        "finished": training.is_finished(),
        "stop": training.stop(),
        "facts": training.facts().into_iter().map(|(name, value)| (name, json!(value))).collect::<Map<_, _>>(),
        "warnings": training.warnings(),
    }))
}

/// Permutation importance as the JSON text of `importance --json`.
pub fn importance_json(found: &Importances) -> String {
    pretty(&json!(found))
}

/// The bundled sets as the JSON text of `datasets list --json`.
pub fn datasets_json() -> String {
    let one = |set: &BundledSet| {
        let views: Map<_, _> = set.views.iter().map(|(name, columns)| (name.to_string(), json!(columns))).collect();
        json!({
            "name": set.name,
            "n_samples": set.n_samples,
            "n_features": set.n_features,
            "n_classes": set.n_classes,
            "views": views,
            "source": set.source,
            "licence": set.licence,
            "note": set.note,
        })
    };
    pretty(&bundled_sets().iter().map(one).collect())
}

/// The methods of a registry as the JSON text of `methods --json`.
pub fn methods_json<'a>(methods: impl IntoIterator<Item = &'a dyn AnyMethod>) -> String {
    let param = |param: &Param| {
        json!({
            "name": param.name,
            "default": param.default,
            "allowed": param.allowed.to_string(),
            "help": param.help,
        })
    };
    let one = |method: &dyn AnyMethod| {
        let about = method.about();
        json!({
            "name": about.name,
            "summary": about.summary,
            "bank": about.bank,
            "targets": method.targets().iter().map(|target| target.word()).collect::<Vec<_>>(),
            "params": method.param_list().iter().map(param).collect::<Vec<_>>(),
        })
    };
    pretty(&methods.into_iter().map(one).collect())
}

fn pretty(value: &Value) -> String {
    format!("{value:#}")
}

/// The result with the highest mean score, and those that cannot be told from it.
fn best_json(found: &Evaluation) -> Value {
    found.best().map_or(Value::Null, |best| {
        let name = |place: &usize| json!(found.results[*place].method);
        json!({ "method": name(&best.place), "level": best.level.iter().map(name).collect::<Vec<_>>() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::bundled;
    use crate::evaluate::{Protocol, evaluate};
    use crate::plan::{Plan, Session};
    use crate::report::figures::Figure;
    use crate::report::{Figures, evaluation_text, evaluation_text_with};
    use crate::run::Silent;
    use crate::{Matrix, Pool};

    #[test]
    fn figures_of_probabilities_are_reported_where_there_are_some() {
        let (pool, data) = (Pool::new(1).unwrap(), bundled("sonar").unwrap());
        let plans = [Plan::new("majority").unwrap(), Plan::new("majority").unwrap()];
        let protocol = Protocol::Folds(2);
        let mut found = evaluate(&data, &plans, &protocol, 0, &mut Session::new(&pool, &mut Silent)).unwrap();
        let plain = evaluation_json(&found);
        assert!(!plain.contains("brier") && !plain.contains("log_loss") && !plain.contains("calibration_error"));
        assert!(!evaluation_text(&found).contains("Brier"));

        // The second method has probabilities: three quarters for the first class.
        for fold in &mut found.results[1].folds {
            let truth: Vec<usize> =
                (0..2).flat_map(|c| vec![c; fold.metrics.confusion[c].iter().sum::<u64>() as usize]).collect();
            let p = Matrix::from_fn(truth.len(), 2, |_, c| [0.75, 0.25][c]);
            fold.metrics = fold.metrics.clone().with_probabilities(&truth, &p).unwrap();
        }
        let json: Value = serde_json::from_str(&evaluation_json(&found)).unwrap();
        assert!(json["results"][0].get("brier").is_none() && json["results"][0]["folds"][0].get("brier").is_none());
        let second = &json["results"][1];
        for Figure { name, of, .. } in FIGURES.iter().filter(|figure| figure.kind == MetricKind::Probabilities) {
            let values: Vec<f64> = (0..2).map(|split| of(&found.results[1].folds[split]).unwrap()).collect();
            assert_eq!(second["folds"][1][name], json!(values[1]));
            assert_eq!(second[name]["mean"], json!((values[0] + values[1]) / 2.0));
        }
        let mean = |name: &str| format!("{:.4}", second[name]["mean"].as_f64().unwrap());
        let rows = |text: &str| -> Vec<Vec<String>> {
            let cells = |line: &str| line.split_whitespace().map(str::to_string).collect();
            text.lines().filter(|line| line.starts_with("majority ")).map(cells).collect()
        };
        let text = evaluation_text(&found);
        assert!(text.contains("AUROC  log-loss  train s"), "{text}");
        assert!(rows(&text)[1].contains(&mean("log_loss")) && rows(&text)[0].contains(&"-".to_string()), "{text}");
        let three = "brier,log_loss,calibration_error".parse().unwrap();
        let text = evaluation_text_with(&found, &three);
        let names = ["brier", "log_loss", "calibration_error"];
        assert_eq!(rows(&text)[0], ["majority", "0", "-", "-", "-"]);
        assert!(names.iter().all(|name| rows(&text)[1].contains(&mean(name))), "{text}");
    }

    #[test]
    fn every_figure_can_be_shown_and_all_of_them_fit_the_terminal() {
        let (pool, data) = (Pool::new(1).unwrap(), bundled("glass").unwrap());
        let plans = [Plan::new("majority").unwrap(), Plan::new("svm").unwrap()];
        let found = evaluate(&data, &plans, &Protocol::Folds(2), 0, &mut Session::new(&pool, &mut Silent)).unwrap();
        let json: Value = serde_json::from_str(&evaluation_json(&found)).unwrap();
        let text = evaluation_text_with(&found, &Figures::all());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        for figure in FIGURES.iter().filter(|figure| figure.kind == MetricKind::Labels) {
            let mean = format!("{:.4}", json["results"][1][figure.name]["mean"].as_f64().unwrap());
            assert!(text.contains(&mean), "{}\n{text}", figure.name);
            let alone = evaluation_text_with(&found, &figure.name.parse().unwrap());
            assert!(alone.contains(&format!("{mean} ± ")), "{alone}");
        }
    }
}
