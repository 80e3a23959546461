//! Evaluations and models as text for a terminal.

use super::bars::cut;
use super::draws::draws_text;
use super::figures::plus_minus;
use super::numbers::{figure, short};
use super::{Figures, TextTable, WIDTH, bars, count, one_line, paragraph, some_of, width, wrap_list};
use crate::data::TargetKind;
use crate::evaluate::{Evaluation, KernelSummary, LEVEL, Paired, PlanResult};
use crate::plan::Model;
use crate::run::Intervals;

/// Confusion tables with more classes are left to JSON.
const MAX_CLASSES: usize = 12;

/// Width of a class name above a column of the confusion table.
const CLASS: usize = 12;

/// Maximum number of a model's classes listed.
const MAX_NAMES: usize = 20;

/// Maximum number of kernels listed after an evaluation.
const MAX_KERNELS: usize = 20;

/// Maximum number of kernels drawn individually; the rest are summed up in one line.
const MAX_BARS: usize = 40;
/// Kernels without weight from which on they are counted instead.
const MIN_UNUSED: usize = 10;

/// An evaluation as text: one row per method, then paired differences with the better method first, then the confusion
/// table if there is a single method. Lines have at most 80 characters.
pub fn evaluation_text(found: &Evaluation) -> String {
    evaluation_text_with(found, &Figures::default())
}

/// [`evaluation_text`] with a choice of figures.
pub fn evaluation_text_with(found: &Evaluation, figures: &Figures) -> String {
    let ablated = ablated(found);
    let mut text = head(found);
    if let Some(method) = ablated {
        text += &paragraph(&format!("{method}, with fewer views or all columns as one"));
    }
    text += &methods(found, figures, ablated).to_string();
    let n_most = found.results.iter().map(|result| result.folds.len()).max().unwrap_or(0);
    if n_most > 1 {
        text += "± standard deviation over splits\n";
    }
    if !found.paired.is_empty() {
        let interval = format!(", {:.0} % intervals (corrected for overlapping splits, Holm)", 100.0 * LEVEL);
        let interval = if n_most > 1 { interval.as_str() } else { "" };
        let score = found.score_name();
        text += &format!("\nDifferences in {score}{interval}\n{}", paired(&found.paired, ablated));
    }
    if !found.paired_auroc.is_empty() && ablated.is_some() {
        text += &format!("\nThe same in AUROC\n{}", paired(&found.paired_auroc, ablated));
    }
    if let Some(first) = found.results.first().filter(|_| ablated.is_some() || found.results.len() == 1) {
        text += &kernels_over_splits(first);
    }
    if let [result] = found.results.as_slice()
        && (1..=MAX_CLASSES).contains(&found.shape.2)
    {
        text += &format!("\nConfusion over all splits (rows: true class)\n{}", confusion_table(result, &found.classes));
    }
    text
}

/// The head of the report: what was evaluated, on which data, and how far it got.
fn head(found: &Evaluation) -> String {
    let (n_samples, n_features, n_classes) = found.shape;
    let label = found.label.as_ref().map_or(String::new(), |label| format!(" in {}", label_words(label)));
    let target = match found.target() {
        TargetKind::Classes => format!("{n_classes} classes{label}"),
        TargetKind::Numbers => format!("numbers{label}"),
        TargetKind::Times => "times to an event".into(),
    };
    let mut text = paragraph(&format!(
        "{}: {}, {}, {target}",
        found.dataset,
        count(n_samples, "row"),
        count(n_features, "feature"),
    ));
    text += &paragraph(&format!("{}, seed {}", found.protocol, found.seed));
    if let Some(stopped) = &found.stopped {
        text += &paragraph(&format!("stopped: {stopped}"));
        text +=
            &paragraph("each row covers the splits that method finished; differences use splits that both finished");
    }
    text + "\n"
}

/// A label column in a sentence: its name, or its position (`column 5 (the last)`).
pub fn label_words(label: &str) -> String {
    if label.starts_with("column ") && label.ends_with(')') { label.into() } else { format!("column `{label}`") }
}

/// The method under ablation, if views were left out in turn.
fn ablated(found: &Evaluation) -> Option<&str> {
    let (first, others) = found.results.split_first()?;
    let is_part = |result: &PlanResult| result.method.starts_with(&format!("{}, ", first.method));
    (!others.is_empty() && others.iter().all(is_part)).then_some(&first.method)
}

/// A result's title; in an ablation, the views that are left.
fn title<'t>(title: &'t str, ablated: Option<&str>) -> &'t str {
    match ablated.and_then(|method| title.strip_prefix(method)) {
        Some("") => "all",
        Some(part) => part.trim_start_matches(", "),
        None => title,
    }
}

/// Weights and shares of the views and of the most important kernels.
fn kernels_over_splits(result: &PlanResult) -> String {
    let views = result.view_summaries();
    let mut kernels = result.kernel_summaries();
    if kernels.len() < 2 {
        return String::new();
    }
    let size = |kernel: &KernelSummary| kernel.share.unwrap_or(kernel.weight).mean;
    let n = kernels.len();
    if n > MAX_KERNELS {
        kernels.sort_by(|a, b| size(b).total_cmp(&size(a)));
        kernels.truncate(MAX_KERNELS);
    }
    let most = if n > kernels.len() {
        format!(", the {} with the largest shares of {n}", kernels.len())
    } else {
        String::new()
    };
    let views = if views.len() > 1 { format!("\nViews\n{}", summaries("view", &views)) } else { String::new() };
    format!("{views}\nKernels{most}\n{}", summaries("kernel", &kernels))
}

fn summaries(what: &str, all: &[KernelSummary]) -> TextTable {
    let mut table = TextTable::new(&[what, "weight", "share of the decision", "selected"]);
    for one in all {
        let share = one.share.map_or("-".into(), plus_minus);
        table.row(vec![short(&one.name), plus_minus(one.weight), share, format!("{:.0}%", 100.0 * one.selected)]);
    }
    table
}

fn methods(found: &Evaluation, figures: &Figures, ablated: Option<&str>) -> TextTable {
    let columns = figures.columns(&found.results);
    let mut head = vec![if ablated.is_some() { "views" } else { "method" }, "kernels"];
    head.extend(found.stopped.is_some().then_some("splits"));
    head.extend(columns.iter().map(|column| column.0));
    let mut table = TextTable::new(&head);
    for (at, result) in found.results.iter().enumerate() {
        let is_begun = !result.folds.is_empty();
        let n_kernels = if is_begun { result.n_kernels.to_string() } else { "-".into() };
        let mut row = vec![title(&result.method, ablated).to_string(), n_kernels];
        row.extend(found.stopped.is_some().then(|| result.folds.len().to_string()));
        row.extend(columns.iter().map(|column| column.1[at].clone()));
        table.row(row);
    }
    table
}

/// Differences with the better one first, so that they are positive; after an ablation with the full plan first, so
/// that they show what is lost.
fn paired(pairs: &[Paired], ablated: Option<&str>) -> TextTable {
    let mut table =
        TextTable::new(&[if ablated.is_some() { "all minus" } else { "difference" }, "mean", "interval", ""]);
    for pair in pairs {
        // A difference that rounds to zero has no sign.
        let rounded = if pair.difference.abs() < 5e-5 { 0.0 } else { pair.difference };
        let is_turned = ablated.is_none() && rounded < 0.0;
        let (a, b) = if is_turned { (&pair.b, &pair.a) } else { (&pair.a, &pair.b) };
        let mean = if is_turned { -rounded } else { rounded };
        let (interval, verdict) =
            match pair.interval.map(|(low, high)| if is_turned { (-high, -low) } else { (low, high) }) {
                None => ("-".into(), "one split"),
                Some((low, high)) if low == high && low == 0.0 => ("-".into(), "equal in every split"),
                Some((low, high)) if low == high => ("-".into(), "the same in every split"),
                Some((low, high)) => {
                    (format!("[{low:+.4}, {high:+.4}]"), if pair.distinguishable { "" } else { "not distinguishable" })
                }
            };
        let difference = if ablated.is_some() { title(b, ablated).to_string() } else { format!("{a} - {b}") };
        table.row(vec![difference, format!("{mean:+.4}"), interval, verdict.into()]);
    }
    table
}

fn confusion_table(result: &PlanResult, classes: &[String]) -> TextTable {
    let names: Vec<String> = classes.iter().map(|class| cut(&one_line(class), CLASS)).collect();
    let mut head = vec![""];
    head.extend(names.iter().map(String::as_str));
    let mut table = TextTable::new(&head);
    for (class, counts) in classes.iter().zip(result.confusion()) {
        let mut row = vec![class.clone()];
        row.extend(counts.iter().map(u64::to_string));
        table.row(row);
    }
    table
}

/// A model as text: what it is, how it was trained, and its kernel weights: as bars, or with their intervals and
/// diagnostics if they were sampled.
pub fn model_text(model: &Model) -> String {
    let (kernels, input, training) = (model.kernels(), model.input(), model.training());
    let params: Vec<String> = training.params().iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let n_classes = model.classes().len();
    let all = if n_classes > MAX_NAMES { format!("{n_classes}: ") } else { String::new() };
    let classes = all + &some_of(model.classes(), MAX_NAMES);
    let mut facts = vec![
        ("method".to_string(), training.method().to_string()),
        ("parameters".into(), if params.is_empty() { "none".into() } else { params.join(", ") }),
        (
            "trained on".into(),
            format!(
                "{}, {}, {}",
                training.dataset(),
                count(training.n_samples(), "row"),
                count(input.features().len(), "feature")
            ),
        ),
        ("fingerprint".into(), training.fingerprint().chars().take(16).collect()),
        match model.numbers() {
            Some(numbers) => ("numbers".into(), some_of(numbers.names(), MAX_NAMES)),
            None if model.times().is_some() => ("predicts".into(), "times to an event".into()),
            None => ("classes".into(), classes),
        },
        ("scale".into(), input.scale().word().into()),
        ("seed".into(), training.seed().to_string()),
        ("ended".into(), training.stop().into()),
    ];
    if let Some(label) = input.label() {
        let at = facts.iter().position(|(name, _)| name == "classes");
        // Numbers are listed by the names of their columns.
        at.into_iter().for_each(|at| facts.insert(at, ("label".into(), label.into())));
    }
    facts.extend(training.facts());
    if let Some(bank) = kernels.bank() {
        facts.push(("kernels".into(), bank.into()));
        facts.push(("precision".into(), kernels.precision().word().into()));
    }
    let mut text = listed(&facts);
    for warning in training.warnings() {
        text += &paragraph(&format!("warning: {warning}"));
    }
    let draws = model.draws();
    text += &draws.as_ref().map_or(String::new(), draws_text);
    if let Some(weights) = kernels.weights() {
        // Sampled weights already have their table; bars would only repeat their means.
        if draws.is_none_or(|draws| draws.variable("weights").is_none()) {
            text += &match kernels.intervals() {
                Some(intervals) => weights_with(&kernels.names(), weights, &intervals),
                None => format!("\nKernel weights\n{}", weight_bars(&kernels.names(), weights)),
            };
        }
        if let Some(shares) = kernels.shares() {
            text += &format!("\nShares of the decision\n{}", weight_bars(&kernels.names(), shares));
        }
        text += &views_of(model, weights);
    }
    text
}

/// Names and values in two columns, long values on several lines.
fn listed(facts: &[(String, String)]) -> String {
    let longest = facts.iter().map(|(name, _)| width(name)).max().unwrap_or(0).min(WIDTH / 2);
    let mut text = String::new();
    for (name, value) in facts {
        for (at, line) in wrap_list(&one_line(value), WIDTH - longest - 2, 0).iter().enumerate() {
            let name = if at == 0 { cut(name, longest) } else { String::new() };
            text += format!("{name:<longest$}  {line}").trim_end();
            text.push('\n');
        }
    }
    text
}

/// Weights with their intervals, the largest first if there are many.
fn weights_with(kernels: &[String], weights: &[f64], intervals: &Intervals) -> String {
    let mut order: Vec<usize> = (0..weights.len().min(intervals.bounds.len())).collect();
    let rest = if order.len() > MAX_BARS {
        order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
        let rest = order.split_off(MAX_BARS);
        let sum: f64 = rest.iter().map(|&m| weights[m]).sum();
        format!("and {} more kernels with {sum:.4} together; the JSON report has them all\n", rest.len())
    } else {
        String::new()
    };
    let interval = |(low, high): (f64, f64)| format!("{} to {}", figure(low), figure(high));
    let head = format!("{:.0} % interval", 100.0 * intervals.level);
    let mut table = TextTable::new(&["kernel", "weight", &head]);
    for m in order {
        table.row(vec![short(&kernels[m]), figure(weights[m]), interval(intervals.bounds[m])]);
    }
    let prior = interval(intervals.prior);
    format!("\nKernel weights, before any data {prior}\n{table}{rest}{}", paragraph(&intervals.note))
}

/// Weight and share of each view.
fn views_of(model: &Model, weights: &[f64]) -> String {
    if model.kernels().by_view().len() < 2 {
        return String::new();
    }
    let mut table = TextTable::new(&["view", "kernels", "weight", "share"]);
    for view in model.kernels().by_view() {
        let sum = |values: &[f64]| format!("{:.4}", view.kernels.iter().map(|&m| values[m]).sum::<f64>());
        let share = model.kernels().shares().map_or("-".into(), sum);
        table.row(vec![view.name.clone(), view.kernels.len().to_string(), sum(weights), share]);
    }
    format!("\nViews\n{table}")
}

/// Bars of the kernels in use, the largest first if there are many; of a few, those without weight are listed too.
fn weight_bars(kernels: &[String], weights: &[f64]) -> String {
    let mut items: Vec<(String, f64)> = kernels.iter().map(|text| short(text)).zip(weights.iter().copied()).collect();
    let n_unused = weights.iter().filter(|&&weight| weight == 0.0).count();
    let n_all = items.len();
    if n_unused >= MIN_UNUSED && n_unused < n_all {
        items.retain(|(_, weight)| *weight != 0.0);
    }
    if items.len() > MAX_BARS {
        items.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        items.truncate(MAX_BARS);
    }
    let rest = match n_all - items.len() {
        0 => String::new(),
        n => {
            let sum = weights.iter().sum::<f64>() - items.iter().map(|(_, weight)| weight).sum::<f64>();
            // A difference of sums has no sign to speak of.
            let sum = if sum.abs() < 5e-5 { 0.0 } else { sum };
            format!("and {n} more kernels with {sum:.4} together; the JSON report has them all\n")
        }
    };
    bars(&items, WIDTH - 2) + &rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::compare;

    fn pair(a: &str, b: &str, difference: f64, interval: Option<(f64, f64)>) -> Paired {
        let template = compare(&[a.into(), b.into()], &[vec![0.0], vec![0.0]], 1.0, 1.0, 0.95).unwrap();
        let distinguishable = interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0);
        Paired { difference, interval, distinguishable, ..template[0].clone() }
    }

    #[test]
    fn differences_have_the_better_first_and_after_an_ablation_the_whole() {
        let pairs = [
            pair("majority", "svm", -0.3, Some((-0.4, -0.2))),
            pair("svm", "average", 0.01, Some((-0.05, 0.07))),
            pair("svm", "bemkl", -0.00001, Some((-0.1, 0.1))),
            pair("svm", "gpc", -0.5, None),
            pair("svm", "silp", 0.0, Some((0.0, 0.0))),
        ];
        let expected = "\
difference         mean            interval
--------------  -------  ------------------  --------------------
svm - majority  +0.3000  [+0.2000, +0.4000]
svm - average   +0.0100  [-0.0500, +0.0700]  not distinguishable
svm - bemkl     +0.0000  [-0.1000, +0.1000]  not distinguishable
gpc - svm       +0.5000                   -  one split
svm - silp      +0.0000                   -  equal in every split
";
        assert_eq!(paired(&pairs, None).to_string(), expected);
        let part = [pair("svm", "svm, without rna", -0.02, Some((-0.03, -0.01)))];
        let expected = "\
all minus       mean            interval
-----------  -------  ------------------
without rna  -0.0200  [-0.0300, -0.0100]
";
        assert_eq!(paired(&part, Some("svm")).to_string(), expected);
    }

    #[test]
    fn facts_and_long_lists_are_wrapped_under_their_value() {
        let names: Vec<String> = (0..30).map(|i| format!("class{i}")).collect();
        let facts = [("seed".to_string(), "0".to_string()), ("classes".into(), some_of(&names, MAX_NAMES))];
        let text = listed(&facts);
        assert!(text.starts_with("seed     0\nclasses  class0, class1, "), "{text}");
        assert!(text.contains("\n         class") && text.ends_with("class19 and 10 more\n"), "{text}");
        assert!(text.lines().all(|line| width(line) <= WIDTH), "{text}");
    }
}
