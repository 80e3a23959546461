//! Evaluations and models as a person reads them in a terminal.

use super::draws::{draws_text, figure};
use super::json::confusion;
use super::{Table, bars, count};
use crate::evaluate::{Evaluation, Fold, KernelSummary, LEVEL, Paired, PlanResult, Spread};
use crate::method::Model;
use crate::run::Intervals;

/// Width of a drawing in columns.
const WIDTH: usize = 78;

/// Confusion tables wider than this many classes are left to JSON.
const MOST_CLASSES: usize = 12;

/// Kernels listed after an evaluation.
const MOST_KERNELS: usize = 20;

/// Kernels drawn one by one; the rest are summed up in a line.
const MOST_BARS: usize = 40;

/// An evaluation as text: one row per method, then paired differences, then the confusion of a lone method.
pub fn evaluation_text(found: &Evaluation) -> String {
    let (n_samples, n_features, n_classes) = found.shape;
    let mut text = format!(
        "{}: {}, {}, {n_classes} classes\n{}, seed {}\n",
        found.dataset,
        count(n_samples, "row"),
        count(n_features, "feature"),
        found.protocol,
        found.seed
    );
    let done = found.results.first().map_or(0, |result| result.folds.len());
    if done < found.n_splits {
        text += &format!("stopped after {done} of {} splits; the figures are of those {done}\n", found.n_splits);
    }
    text += &format!("\n{}", methods(&found.results));
    if done > 1 {
        text += "± standard deviation over splits\n";
    }
    if !found.paired.is_empty() {
        let interval = format!(", {:.0} % intervals (corrected for overlap, Holm)", 100.0 * LEVEL);
        let interval = if done > 1 { interval.as_str() } else { "" };
        text += &format!("\nDifferences in accuracy on the same splits{interval}\n{}", paired(&found.paired));
    }
    if !found.paired_auroc.is_empty() && found.results.iter().any(|result| result.method.contains(", ")) {
        text += &format!("\nThe same in AUROC\n{}", paired(&found.paired_auroc));
    }
    if let Some(first) = found.results.first().filter(|_| is_lone(found)) {
        text += &kernels_over_splits(first);
    }
    if let [result] = found.results.as_slice()
        && n_classes <= MOST_CLASSES
    {
        text += &format!("\nConfusion over all splits (rows: true class)\n{}", confusion_table(result, &found.classes));
    }
    text
}

/// Whether all results are of one method, on different views.
fn is_lone(found: &Evaluation) -> bool {
    let first = found.results.first().map_or("", |result| result.method.as_str());
    found.results.iter().skip(1).all(|result| result.method.starts_with(&format!("{first}, ")))
}

/// Weights and shares of views and of the kernels that matter most.
fn kernels_over_splits(result: &PlanResult) -> String {
    let views = result.view_summaries();
    let mut kernels = result.kernel_summaries();
    if kernels.len() < 2 {
        return String::new();
    }
    let size = |kernel: &KernelSummary| kernel.share.unwrap_or(kernel.weight).mean;
    let n = kernels.len();
    if n > MOST_KERNELS {
        kernels.sort_by(|a, b| size(b).total_cmp(&size(a)));
        kernels.truncate(MOST_KERNELS);
    }
    let most = if n > kernels.len() {
        format!(", the {} with the largest shares of {n}", kernels.len())
    } else {
        String::new()
    };
    let views = if views.len() > 1 { format!("\nViews\n{}", summaries("view", &views)) } else { String::new() };
    format!("{views}\nKernels{most}\n{}", summaries("kernel", &kernels))
}

fn summaries(what: &str, all: &[KernelSummary]) -> Table {
    let mut table = Table::new(&[what, "weight", "share of the decision", "selected"]);
    let text = |spread: Spread| match spread.std {
        Some(std) => format!("{:.4} ± {std:.4}", spread.mean),
        None => format!("{:.4}", spread.mean),
    };
    for one in all {
        let share = one.share.map_or("-".into(), text);
        table.row(vec![short(&one.name), text(one.weight), share, format!("{:.0}%", 100.0 * one.selected)]);
    }
    table
}

fn methods(results: &[PlanResult]) -> Table {
    let probable = results.iter().flat_map(|result| &result.folds).any(|fold| fold.metrics.brier.is_some());
    let mut head = vec!["method", "kernels", "accuracy", "balanced", "macro F", "MCC", "AUROC", "AUPRC"];
    head.extend(if probable { &["Brier", "log-loss", "calibration"][..] } else { &[] });
    head.extend(["train s", "predict s"]);
    let mut table = Table::new(&head);
    for result in results {
        let with_std = |figure: fn(&Fold) -> f64| match result.spread(|fold| Some(figure(fold))) {
            Some(Spread { mean, std: Some(std) }) => format!("{mean:.4} ± {std:.4}"),
            Some(Spread { mean, std: None }) => format!("{mean:.4}"),
            None => "-".into(),
        };
        let mean = |figure: fn(&Fold) -> Option<f64>| {
            result.spread(figure).map_or("-".into(), |spread| format!("{:.4}", spread.mean))
        };
        let mut row = vec![
            result.method.clone(),
            result.n_kernels.to_string(),
            with_std(|fold| fold.metrics.accuracy),
            mean(|fold| Some(fold.metrics.balanced_accuracy)),
            with_std(|fold| fold.metrics.macro_f),
            mean(|fold| Some(fold.metrics.mcc)),
            mean(|fold| fold.metrics.auroc),
            mean(|fold| fold.metrics.auprc),
        ];
        if probable {
            row.push(mean(|fold| fold.metrics.brier));
            row.push(mean(|fold| fold.metrics.log_loss));
            row.push(mean(|fold| fold.metrics.calibration_error));
        }
        row.extend([mean(|fold| Some(fold.train_seconds)), mean(|fold| Some(fold.predict_seconds))]);
        table.row(row);
    }
    table
}

fn paired(pairs: &[Paired]) -> Table {
    let mut table = Table::new(&["difference", "mean", "interval", ""]);
    for pair in pairs {
        let interval = match pair.interval {
            None => "one split: none".into(),
            Some((low, high)) if low == high => "no spread: none".into(),
            Some((low, high)) => format!("[{low:+.4}, {high:+.4}]"),
        };
        let verdict = if pair.distinguishable || pair.interval.is_none() { "" } else { "not distinguishable" };
        let difference = format!("{} - {}", pair.a, pair.b);
        // What rounds to nothing has no sign.
        let mean = if pair.difference.abs() < 5e-5 { 0.0 } else { pair.difference };
        table.row(vec![difference, format!("{mean:+.4}"), interval, verdict.into()]);
    }
    table
}

fn confusion_table(result: &PlanResult, classes: &[String]) -> Table {
    let mut head = vec![""];
    head.extend(classes.iter().map(String::as_str));
    let mut table = Table::new(&head);
    for (class, counts) in classes.iter().zip(confusion(result)) {
        let mut row = vec![class.clone()];
        row.extend(counts.iter().map(u64::to_string));
        table.row(row);
    }
    table
}

/// A model as text: what it is, how it was trained, and its kernel weights: as bars, or with their
/// intervals and diagnostics where they were drawn.
pub fn model_text(model: &Model) -> String {
    let (n_samples, dataset, fingerprint) = model.trained_on();
    let params: Vec<String> = model.params().iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let mut facts = vec![
        ("method".to_string(), model.method().to_string()),
        ("parameters".into(), if params.is_empty() { "none".into() } else { params.join(", ") }),
        (
            "trained on".into(),
            format!("{dataset}, {}, {}", count(n_samples, "row"), count(model.features().len(), "feature")),
        ),
        ("fingerprint".into(), fingerprint.chars().take(16).collect()),
        ("classes".into(), model.classes().join(", ")),
        ("scale".into(), model.scale().into()),
        ("seed".into(), model.seed().to_string()),
        ("ended".into(), model.stop().1.into()),
    ];
    facts.extend(model.facts());
    if let Some(bank) = model.bank() {
        facts.push(("kernels".into(), bank.into()));
        facts.push(("precision".into(), model.precision().word().into()));
    }
    let longest = facts.iter().map(|(name, _)| super::width(name)).max().unwrap_or(0);
    let mut text: String =
        facts.iter().map(|(name, value)| format!("{name:<longest$}  {}\n", super::one_line(value))).collect();
    for warning in model.warnings() {
        text += &format!("warning: {warning}\n");
    }
    let draws = model.draws();
    text += &draws.as_ref().map_or(String::new(), draws_text);
    if let Some(weights) = model.weights() {
        // Drawn weights have their table already, and bars would show their means once more.
        if draws.is_none_or(|draws| draws.variable("weights").is_none()) {
            text += &match model.intervals() {
                Some(intervals) => weights_with(&model.kernel_names(), weights, &intervals),
                None => format!("\nKernel weights\n{}", weight_bars(&model.kernel_names(), weights)),
            };
        }
        if let Some(shares) = model.shares() {
            text += &format!("\nShares of the decision\n{}", weight_bars(&model.kernel_names(), shares));
        }
        text += &views_of(model, weights);
    }
    text
}

/// Weights with their intervals, the largest first where there are many.
fn weights_with(kernels: &[String], weights: &[f64], intervals: &Intervals) -> String {
    let mut order: Vec<usize> = (0..weights.len().min(intervals.bounds.len())).collect();
    let rest = if order.len() > MOST_BARS {
        order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
        let rest = order.split_off(MOST_BARS);
        let sum: f64 = rest.iter().map(|&m| weights[m]).sum();
        format!("and {} more kernels with {sum:.4} together; --json has them all\n", rest.len())
    } else {
        String::new()
    };
    let interval = |(low, high): (f64, f64)| format!("{} to {}", figure(low), figure(high));
    let head = format!("{:.0} % interval", 100.0 * intervals.level);
    let mut table = Table::new(&["kernel", "weight", &head]);
    for m in order {
        table.row(vec![short(&kernels[m]), figure(weights[m]), interval(intervals.bounds[m])]);
    }
    let prior = interval(intervals.prior);
    format!("\nKernel weights, before any data {prior}\n{table}{rest}{}\n", intervals.note)
}

/// Weight and share of each view.
fn views_of(model: &Model, weights: &[f64]) -> String {
    if model.views().len() < 2 {
        return String::new();
    }
    let mut table = Table::new(&["view", "kernels", "weight", "share"]);
    for view in model.views() {
        let sum = |values: &[f64]| format!("{:.4}", view.kernels.iter().map(|&m| values[m]).sum::<f64>());
        let share = model.shares().map_or("-".into(), sum);
        table.row(vec![view.name.clone(), view.kernels.len().to_string(), sum(weights), share]);
    }
    format!("\nViews\n{table}")
}

fn weight_bars(kernels: &[String], weights: &[f64]) -> String {
    let mut items: Vec<(String, f64)> = kernels.iter().map(|text| short(text)).zip(weights.iter().copied()).collect();
    let rest = if items.len() > MOST_BARS {
        items.sort_by(|a, b| b.1.total_cmp(&a.1));
        let rest = items.split_off(MOST_BARS);
        let sum: f64 = rest.iter().map(|(_, weight)| weight).sum();
        format!("and {} more kernels with {sum:.4} together; --json has them all\n", rest.len())
    } else {
        String::new()
    };
    bars(&items, WIDTH) + &rest
}

/// The text with its long decimals at four significant digits: `gaussian(0.9747232880672418)` as `gaussian(0.9747)`.
pub(super) fn short(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let length = rest[start..].find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len() - start);
        let (before, number) = (&rest[..start], &rest[start..start + length]);
        out.push_str(before);
        match number.parse::<f64>() {
            Ok(value) if number.contains('.') && number.len() > 7 && value > 0.0 => {
                // Digits after the point that leave four significant ones.
                let digits = (3 - value.log10().floor() as i32).clamp(0, 12) as usize;
                out.push_str(&format!("{value:.digits$}"));
            }
            _ => out.push_str(number),
        }
        rest = &rest[start + length..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_keeps_four_significant_digits_of_long_decimals_only() {
        let cases = [
            ("gaussian(0.9747232880672418)", "gaussian(0.9747)"),
            ("gaussian(62.38229043630348) on [0:120]", "gaussian(62.38) on [0:120]"),
            ("gaussian(gamma=0.000030517578125)", "gaussian(gamma=0.00003052)"),
            ("gaussian(0.015625), polynomial(3)", "gaussian(0.01562), polynomial(3)"),
            ("laplacian(0.1) on [0:1000000]", "laplacian(0.1) on [0:1000000]"),
            ("linear", "linear"),
        ];
        for (text, expected) in cases {
            assert_eq!(short(text), expected);
        }
    }
}
