//! The page of an evaluation, from its JSON.

use serde_json::Value;

use super::html::Page;
use super::section::shares::Share;
use super::section::weights::Weight;
use super::section::{calibration, confusion, curves, settings, shares, verdict, weights};
use super::value::{mean, number, numbers, std, text, texts, values};
use crate::error::{Error, Result};
use crate::evaluate::{Bin, Curve};
use crate::report::count;

/// An evaluation as one HTML page, from the JSON text of [`evaluation_json`](crate::report::evaluation_json) (that is of
/// `evaluate --json`): the verdict with paired differences, weights and shares over splits, confusion, curves and
/// calibration where probabilities were asked for, and the settings. `command` makes it again, if known.
///
/// The page loads nothing, is at most 1 MB long, can be read without script and printed.
///
/// ```
/// use multikernel::{Plan, Pool, data::bundled, evaluate::{Protocol, evaluate}, plan::Session, run::Silent};
/// use multikernel::report::{evaluation_json, evaluation_page};
/// let (pool, data) = (Pool::new(1)?, bundled("sonar")?);
/// let plans = [Plan::new("majority")?, Plan::new("average")?];
/// let found = evaluate(&data, &plans, &Protocol::Folds(2), 0, &mut Session::new(&pool, &mut Silent))?;
/// let page = evaluation_page(&evaluation_json(&found), None)?;
/// assert!(page.starts_with("<!doctype html>") && page.len() < 1_000_000);
/// # Ok::<(), multikernel::Error>(())
/// ```
pub fn evaluation_page(json: &str, command: Option<&str>) -> Result<String> {
    Ok(page(json, command)?.html())
}

/// One chart of [`evaluation_page`] as an SVG file: `verdict` (the differences), `weights`, `shares`, `confusion`,
/// `curves` (ROC), `curves-2` (precision by recall) or `calibration`, as far as the page has it.
pub fn evaluation_picture(json: &str, kind: &str) -> Result<String> {
    page(json, None)?.picture(kind)
}

fn page(json: &str, command: Option<&str>) -> Result<Page> {
    let found: Value = serde_json::from_str(json).map_err(|error| {
        Error::input(format!("not the JSON of an evaluation: {error}; give what `evaluate` printed as JSON"))
    })?;
    if values(&found, "results").is_empty() {
        return Err(Error::input("the JSON has no results of an evaluation; give what `evaluate` printed as JSON"));
    }
    let classes = texts(&found, "classes");
    let mut sections = verdict::sections(&found);
    if let Some(result) = shown(&found) {
        let method = text(result, "method");
        let of = format!("{method}, mean over splits");
        sections.extend(weights::section(&of, &weights_of(result), ", ± one standard deviation over splits", None, ""));
        sections.extend(shares_of(result));
    }
    if let Some(result) = best(&found) {
        let of = format!("{} on the test rows of all splits", text(result, "method"));
        sections.extend(confusion::section(&of, &classes, &counts(result)));
    }
    let named = |key: &str| -> Vec<(String, Curve)> {
        values(&found, "results")
            .iter()
            .filter_map(|result| Some((text(result, "method"), curve(&result["curves"][key])?)))
            .collect()
    };
    sections.extend(curves::section(&named("roc"), &named("precision_recall"), &classes, ", mean over splits"));
    sections.extend(calibration::section(&reliability(&found), " of all splits"));
    sections.push(settings::section(&facts(&found, command)));
    let dataset = text(&found, "dataset");
    let of = |key: &str, noun: &str| count(number(&found, key).unwrap_or(0.0) as usize, noun);
    Ok(Page {
        title: match is_ablation(values(&found, "results")) {
            true => format!("{dataset}: what each view is worth"),
            false => format!("{dataset}: comparison of methods"),
        },
        subtitle: format!(
            "{}, {}, {}; {}",
            of("n_samples", "row"),
            of("n_features", "feature"),
            match found["target"].as_str() {
                Some("numbers") => format!("numbers to predict: {}", texts(&found, "numbers").join(", ")),
                Some("times") => "times to an event".into(),
                _ => format!("{} classes", classes.len()),
            },
            text(&found, "protocol")
        ),
        warnings: texts(&found, "warnings")
            .into_iter()
            .chain(found["stopped"].as_str().map(|why| format!("stopped: {why}")))
            .collect(),
        sections,
        json: json.to_string(),
        refresh: None,
    })
}

/// The figure that plans are compared by: its key in the JSON, and what it is called.
pub(super) fn score(found: &Value) -> (&'static str, &'static str) {
    match found["target"].as_str() {
        Some("numbers") => ("r2", "R2"),
        Some("times") => ("concordance", "concordance"),
        _ => ("accuracy", "accuracy"),
    }
}

/// The plan whose kernels are shown: the whole one of an ablation, else the most accurate with weights that differ.
fn shown(found: &Value) -> Option<&Value> {
    let results = values(found, "results");
    if is_ablation(results) {
        return results.first();
    }
    let learned = results.iter().filter(|one| values(one, "kernels").len() > 1 && text(one, "method") != "average");
    let (key, _) = score(found);
    let by_score = |a: &&Value, b: &&Value| mean(a, key).unwrap_or(0.0).total_cmp(&mean(b, key).unwrap_or(0.0));
    learned.max_by(by_score).or_else(|| results.iter().find(|one| values(one, "kernels").len() > 1))
}

/// The most accurate plan, the first of equals; the whole one of an ablation.
fn best(found: &Value) -> Option<&Value> {
    let results = values(found, "results");
    if is_ablation(results) {
        return results.first();
    }
    let (key, _) = score(found);
    let of = |one: &Value| mean(one, key).unwrap_or(f64::NEG_INFINITY);
    results.iter().reduce(|best, one| if of(one) > of(best) { one } else { best })
}

/// Whether the plans are one with all views and the same with fewer.
pub(super) fn is_ablation(results: &[Value]) -> bool {
    let Some((first, others)) = results.split_first() else { return false };
    let whole = format!("{}, ", text(first, "method"));
    !others.is_empty() && others.iter().all(|one| text(one, "method").starts_with(&whole))
}

fn weights_of(result: &Value) -> Vec<Weight> {
    let one = |kernel: &Value| {
        let weight = mean(kernel, "weight")?;
        // Weights that cannot be negative have no bar below zero.
        let least = if weight >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
        let interval = std(kernel, "weight").map(|std| ((weight - std).max(least), weight + std));
        let (share, selected) = (mean(kernel, "share"), number(kernel, "selected"));
        Some(Weight { name: text(kernel, "name"), weight, interval, share, selected })
    };
    values(result, "kernels").iter().filter_map(one).collect()
}

/// By view where there are several, else by kernel.
fn shares_of(result: &Value) -> Option<super::html::Section> {
    let (what, all) = match values(result, "views") {
        views if views.len() > 1 => ("view", views),
        _ => ("kernel", values(result, "kernels")),
    };
    let one = |value: &Value| {
        let share = mean(value, "share")?;
        Some(Share { name: text(value, "name"), share, std: std(value, "share"), weight: mean(value, "weight") })
    };
    shares::section(what, &all.iter().filter_map(one).collect::<Vec<_>>())
}

fn counts(result: &Value) -> Vec<Vec<u64>> {
    let row = |row: &Value| row.as_array().map_or(vec![], |row| row.iter().map(|n| n.as_u64().unwrap_or(0)).collect());
    values(result, "confusion").iter().map(row).collect()
}

fn curve(value: &Value) -> Option<Curve> {
    let (x, mean) = (numbers(&value["x"])?, numbers(&value["mean"])?);
    let std = numbers(&value["std"]).filter(|std| std.len() == mean.len());
    (x.len() == mean.len()).then_some(Curve { x, mean, std })
}

fn reliability(found: &Value) -> Vec<(String, Vec<Bin>)> {
    let bin = |value: &Value| {
        let range = super::value::interval(value, "range")?;
        let n = value["n"].as_u64()? as usize;
        Some(Bin { range, n, confidence: number(value, "confidence")?, right: number(value, "right")? })
    };
    let of = |result: &Value| {
        (text(result, "method"), values(&result["curves"], "reliability").iter().filter_map(bin).collect())
    };
    values(found, "results").iter().map(of).collect()
}

fn facts(found: &Value, command: Option<&str>) -> Vec<(String, String)> {
    let mut facts = vec![
        ("command".to_string(), command.unwrap_or_default().to_string()),
        ("data".into(), text(found, "dataset")),
        ("label".into(), text(found, "label")),
        ("protocol".into(), text(found, "protocol")),
        ("seed of the splits".into(), found["seed"].to_string()),
        ("version".into(), env!("CARGO_PKG_VERSION").into()),
    ];
    for result in values(found, "results") {
        let told = |(key, value): (&String, &Value)| format!("{key} = {}", value.as_str().unwrap_or_default());
        let settings: Vec<String> = result["settings"].as_object().map_or(vec![], |all| all.iter().map(told).collect());
        facts.push((text(result, "method"), settings.join(", ")));
    }
    facts
}
