//! Which method is best, and whether learned weights were worth it.

use serde_json::Value;

use super::super::chart::{Row, Rows};
use super::super::evaluation::{is_ablation, score};
use super::super::html::{Cell, Figure, Section, Table};
use super::super::value::{interval, mean, number, std, text, values};
use crate::report::figures::FIGURES;
use crate::report::numbers::figure;

/// Differences that a chart shows.
const MOST_PAIRS: usize = 60;

/// The figures that plans are compared by, which come with their spread.
const SCORES: [&str; 3] = ["accuracy", "r2", "concordance"];

/// The plan that the others are held against, and what it is called.
struct Reference {
    name: String,
    words: &'static str,
    is_ablation: bool,
}

/// The verdict, the differences and the table of methods.
pub(in crate::report::page) fn sections(found: &Value) -> Vec<Section> {
    let reference = reference(found);
    let rows = differences(found, &reference);
    let words = if reference.is_ablation { "all views".to_string() } else { reference.name.clone() };
    let (_, score) = score(found);
    let title = format!("Difference in {score} from {words}");
    let mut table = Table::new(
        &title,
        &[if reference.is_ablation { "views" } else { "method" }, "difference", "from", "to", "verdict"],
    );
    for row in &rows {
        let (low, high) = row.interval.map_or((f64::NAN, f64::NAN), |ends| ends);
        let verdict = match row.is_certain {
            true => "distinguishable",
            false if is_equal(row) => "equal in every split",
            false => "not distinguishable",
        };
        table.row(vec![
            row.name.clone().into(),
            Cell::Number(row.value),
            Cell::Number(low),
            Cell::Number(high),
            verdict.into(),
        ]);
    }
    let mut says = verdict(found, &reference, &rows);
    if rows.iter().any(|row| row.interval.is_some()) {
        says += " Dots are mean differences, bars their 95 % intervals, which allow for splits that share training rows and for several \
                 comparisons; a full dot differs from zero for certain, an open one may be chance.";
    }
    let describes = format!(
        "The {score} minus that of {words} on the same splits, with intervals corrected for overlapping splits and for the number of \
         comparisons. A full dot is distinguishable from zero, an open one is not."
    );
    let mut figures = vec![];
    if !rows.is_empty() {
        let svg = Rows {
            id: "forest",
            title: &title,
            describes: &describes,
            axis: &format!("difference in {score}; right is better"),
            rows: rows.into_iter().take(MOST_PAIRS).collect(),
            zero: Some((0.0, reference.words)),
            band: None,
            is_root: false,
        }
        .svg();
        figures.push(Figure { svg, table });
    }
    let compared = Section { id: "verdict", title: "Verdict".into(), says, figures };
    vec![compared, methods(found, &reference)]
}

/// `average` where it took part; else the whole plan of an ablation, or the first.
fn reference(found: &Value) -> Reference {
    let names: Vec<String> = values(found, "results").iter().map(|result| text(result, "method")).collect();
    let first = names.first().cloned().unwrap_or_default();
    let is_ablation = is_ablation(values(found, "results"));
    let has_average = names.iter().any(|name| name == "average");
    match (is_ablation, has_average) {
        (true, _) => Reference { name: first, words: "all views", is_ablation },
        (false, true) => Reference { name: "average".into(), words: "average: the plain sum of kernels", is_ablation },
        (false, false) => Reference { name: first, words: "the first method", is_ablation },
    }
}

/// Each other plan minus the reference, the best first.
fn differences(found: &Value, reference: &Reference) -> Vec<Row> {
    let mut rows = vec![];
    for pair in values(found, "paired") {
        let (a, b) = (text(pair, "a"), text(pair, "b"));
        let sign = match (a == reference.name, b == reference.name) {
            (false, true) => 1.0,
            (true, false) => -1.0,
            _ => continue,
        };
        let other = if sign > 0.0 { a } else { b };
        let name = other.strip_prefix(&format!("{}, ", reference.name)).map_or(other.clone(), str::to_string);
        let interval =
            interval(pair, "interval").map(|(low, high)| if sign > 0.0 { (low, high) } else { (-high, -low) });
        // No minus before a zero.
        let value = number(pair, "difference").map_or(f64::NAN, |value| sign * value + 0.0);
        let interval = interval.map(|(low, high)| (low + 0.0, high + 0.0));
        rows.push(Row { name, value, interval, is_certain: pair["distinguishable"].as_bool().unwrap_or(false) });
    }
    rows.sort_by(|x, y| y.value.total_cmp(&x.value));
    rows
}

/// Whether a plan is as good as the reference in every split.
fn is_equal(row: &Row) -> bool {
    row.value == 0.0 && row.interval.is_some_and(|(low, high)| low == high)
}

/// Points of a percentage; a difference that rounds to zero has no sign.
fn points(row: &Row) -> String {
    let point = |x: f64| if (100.0 * x).abs() < 0.05 { "0.0".to_string() } else { format!("{:+.1}", 100.0 * x) };
    match row.interval {
        Some((low, high)) if low == high => format!("{} points in every split", point(row.value)),
        Some((low, high)) => format!("{} points [{}, {}]", point(row.value), point(low), point(high)),
        None => format!("{} points (one split, so without an interval)", point(row.value)),
    }
}

fn verdict(found: &Value, reference: &Reference, rows: &[Row]) -> String {
    let (key, score) = score(found);
    let best =
        values(found, "results").iter().filter_map(|result| Some((text(result, "method"), mean(result, key)?))).fold(
            None,
            |best: Option<(String, f64)>, one| {
                if best.as_ref().is_none_or(|best| one.1 > best.1) { Some(one) } else { best }
            },
        );
    let Some((best, value)) = best else { return "No split was finished, so there is nothing to compare.".into() };
    let named = |name: &str| match name.strip_prefix(&format!("{}, ", reference.name)) {
        Some(views) if reference.is_ablation => views.to_string(),
        None if reference.is_ablation => format!("all views (the method `{name}`)"),
        _ => format!("The method {name}"),
    };
    let lead = format!("{} has the highest mean {score}, {}.", capital(&named(&best)), figure(value));
    let majority = |row: &&Row| row.name != "majority";
    if reference.is_ablation {
        let whole = mean(&values(found, "results")[0], key).unwrap_or(f64::NAN);
        let name = &reference.name;
        let lead = format!("With all views mean {score} of the method `{name}` is {}.", figure(whole));
        return format!("{lead} {}{}", of_views(rows, score, whole), of_weights(rows, whole));
    }
    if reference.name != "average" {
        let better = rows.iter().find(|row| row.is_certain && row.value > 0.0);
        let than = &reference.name;
        return match better {
            Some(row) => format!("{lead} {} is distinguishably above {than}: {}.", row.name, points(row)),
            None => format!("{lead} No method is distinguishably above {than}."),
        };
    }
    let learned: Vec<&Row> = rows.iter().filter(majority).collect();
    let gained = learned.iter().find(|row| row.is_certain && row.value > 0.0);
    match (gained, learned.first()) {
        (Some(row), _) => format!(
            "{lead} Learned weights were worth it: {} gains {} over the plain sum of kernels.",
            row.name,
            points(row)
        ),
        (None, Some(row)) if row.value > 0.0 => format!(
            "{lead} Whether learned weights help is not known from these splits: {} differs from the plain sum by {}, and the interval \
             holds 0.",
            row.name,
            points(row)
        ),
        (None, Some(row)) => {
            format!(
                "{lead} Learned weights gained nothing here: the best of them, {}, differs from the plain sum by {}.",
                row.name,
                points(row)
            )
        }
        (None, None) => format!(
            "{lead} Only the plain sum of kernels was measured; add a method that learns weights, such as evidence."
        ),
    }
}

/// The first letter in upper case, as a sentence begins.
fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or(String::new(), |first| first.to_uppercase().chain(rest).collect())
}

/// The view that a plan of an ablation does without: `without A`, or `only B (without A)`.
fn lost(name: &str) -> Option<&str> {
    let inside = || name.split_once("(without ").and_then(|(_, rest)| rest.strip_suffix(')'));
    name.strip_prefix("without ").or_else(inside)
}

fn of_views(rows: &[Row], score: &str, whole: f64) -> String {
    let without = rows.iter().filter(|row| row.value.is_finite()).filter_map(|row| Some((lost(&row.name)?, row)));
    let costly = without.min_by(|x, y| x.1.value.total_cmp(&y.1.value));
    let alone = rows.iter().filter(|row| row.name.starts_with("only ")).max_by(|x, y| x.value.total_cmp(&y.value));
    let mut says = match costly {
        Some((view, row)) if row.is_certain && row.value < 0.0 => {
            format!("The view that matters most is {view}: without it {score} changes by {}.", points(row))
        }
        Some((view, row)) => format!(
            "The view that seems to matter most is {view}: without it {score} changes by {}, but the interval holds 0, so these splits do \
             not prove it; few rows or few splits make it wide.",
            points(row)
        ),
        None => String::new(),
    };
    if let Some(row) = alone {
        let view = row.name.trim_start_matches("only ").split(" (").next().unwrap_or_default();
        says += &match is_equal(row) {
            true => format!(" The view {view} alone does as well as all views in every split"),
            false => format!(" The best single view is {view}; it differs from all views by {}", points(row)),
        };
        says +=
            if is_equal(row) && whole >= 1.0 { ", and there is no room for the others to add to that." } else { "." };
    }
    says += " A view is a group of columns.";
    if rows.iter().any(|row| row.name == "concatenated") {
        says += " `concatenated` has all columns in one group.";
    }
    says
}

/// Whether learned weights were worth it, where equal ones took part.
fn of_weights(rows: &[Row], whole: f64) -> String {
    let Some(row) = rows.iter().find(|row| row.name == "equal weights") else { return String::new() };
    match (row.is_certain, row.value < 0.0) {
        (true, true) => format!(" Learned weights were worth it: equal ones change that by {}.", points(row)),
        (true, false) => format!(" Learned weights did harm: equal ones change that by {}.", points(row)),
        (false, _) if is_equal(row) && whole >= 1.0 => {
            " Learned weights could gain nothing: equal ones do as well in every split, and better is not possible."
                .into()
        }
        (false, _) if is_equal(row) => " Learned weights gained nothing: equal ones do as well in every split.".into(),
        (false, _) => format!(
            " Whether learned weights were worth it is not known from these splits: equal ones change that by {}, and the interval holds 0.",
            points(row)
        ),
    }
}

/// The table of methods with every figure that was measured.
fn methods(found: &Value, reference: &Reference) -> Section {
    let results = values(found, "results");
    let shown: Vec<&str> = FIGURES
        .iter()
        .map(|figure| figure.name)
        .filter(|name| results.iter().any(|result| mean(result, name).is_some()))
        .collect();
    let mut head = vec![if reference.is_ablation { "views" } else { "method" }, "kernels", "splits"];
    head.extend(
        shown.iter().flat_map(|&name| if SCORES.contains(&name) { vec![name, "± over splits"] } else { vec![name] }),
    );
    let mut table = Table::new("Means over splits", &head);
    for result in results {
        let method = text(result, "method");
        let whole = || if reference.is_ablation { format!("all views ({method})") } else { method.clone() };
        let name = method.strip_prefix(&format!("{}, ", reference.name)).map_or_else(whole, str::to_string);
        let mut row: Vec<Cell> = vec![name.into()];
        row.extend(["n_kernels", "n_splits"].map(|key| Cell::Count(number(result, key).unwrap_or(0.0) as usize)));
        for &name in &shown {
            row.push(mean(result, name).into());
            if SCORES.contains(&name) {
                row.push(std(result, name).into());
            }
        }
        table.row(row);
    }
    Section {
        id: "methods",
        title: if reference.is_ablation { "Figures with and without views" } else { "Figures of each method" }.into(),
        says: "Every figure is a mean over the same splits; ± is the standard deviation over them, which is not the error of the mean.".into(),
        figures: vec![Figure { svg: String::new(), table }],
    }
}
