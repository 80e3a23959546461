//! Tables of docs/results come from stored runs, `docs/results/runs/NAME.json`, which are the output of
//! `multikernel reproduce ... --json`.
//!
//! A table between `<!-- table NAME FORM -->` and `<!-- end -->` is rendered from the run NAME; `RESULTS=overwrite cargo
//! test --release --test cli results::` trims new runs and writes the tables anew. FORM is one of
//!
//! | form | what |
//! |---|---|
//! | `lines COLUMN, ...` | a row for each line of the run |
//! | `grid COLUMN` | a row for each data set, a column for each method |
//! | `study KEY COLUMN` | a row for each data set and method, a column for each value of the parameter KEY |
//!
//! followed, if not all, by `of METHOD, METHOD, ...`. A table outside must say `_Not stored: ..._` on the line before it,
//! and there are as many of those as [`NOT_STORED`] has: no more may come.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Number, Value};

/// Tables that no stored run is behind, by page: hours of computing, other programs, or hand-made studies.
const NOT_STORED: [(&str, usize); 7] = [
    ("auto.md", 5),
    ("bm3kl.md", 9),
    ("cik.md", 3),
    ("mkboost.md", 5),
    ("mklda.md", 4),
    ("svimkl.md", 4),
    ("views.md", 2),
];

/// Pages whose tables are lists, and pictures in a table.
const LISTS: [&str; 2] = ["experiments.md", "index.md"];

/// Fields of a line that nobody renders.
const DROPPED: [&str; 3] = ["macro_f_intervals", "seconds", "macro_fs"];

/// Fields that nobody renders of lines with hundreds of sets.
const DROPPED_OF_SETS: [&str; 6] =
    ["macro_precisions", "macro_recalls", "macro_specificities", "briers", "weights", "warnings"];

/// Weights are kept for this many kernels.
const MAX_WEIGHTS: usize = 8;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results").canonicalize().unwrap()
}

fn pages() -> Vec<(String, String)> {
    let names = std::fs::read_dir(folder()).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".md")).collect();
    names.sort();
    names.into_iter().map(|name| (name.clone(), std::fs::read_to_string(folder().join(name)).unwrap())).collect()
}

fn is_overwriting() -> bool {
    std::env::var("RESULTS").as_deref() == Ok("overwrite")
}

/// Six decimals, no nulls and nothing empty, and only the fields that are rendered.
fn trimmed(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::Number(number) if number.is_f64() => {
            let rounded = (number.as_f64().unwrap() * 1e6).round() / 1e6;
            Number::from_f64(rounded).map(Value::Number)
        }
        Value::Array(list) if list.is_empty() => None,
        Value::Array(list) => Some(list.iter().filter_map(trimmed).collect()),
        Value::Object(fields) => {
            let n_kernels = fields.get("n_kernels").and_then(Value::as_u64).unwrap_or(0) as usize;
            let is_of_sets = fields.get("covered").and_then(Value::as_array).is_some_and(|sets| !sets.is_empty());
            let is_dropped = |name: &str| {
                DROPPED.contains(&name)
                    || (is_of_sets && DROPPED_OF_SETS.contains(&name))
                    || (name == "weights" && n_kernels > MAX_WEIGHTS)
            };
            let kept = fields.iter().filter(|(name, _)| !is_dropped(name));
            let kept: Map<String, Value> =
                kept.filter_map(|(name, value)| Some((name.clone(), trimmed(value)?))).collect();
            Some(Value::Object(kept))
        }
        other => Some(other.clone()),
    }
}

/// A run as it is stored: a line of text for each line of the table.
fn stored(run: &Value) -> String {
    let run = trimmed(run).unwrap();
    let lines: Vec<String> = run["lines"].as_array().unwrap().iter().map(Value::to_string).collect();
    let head = ["table", "rule", "left_out"].iter().filter_map(|name| Some((name, run.get(*name)?)));
    let head: String = head.map(|(name, value)| format!("\"{name}\": {value},\n")).collect();
    format!("{{\n{head}\"lines\": [\n{}\n]\n}}\n", lines.join(",\n"))
}

/// Tests run side by side, and one may be writing.
static FILES: Mutex<()> = Mutex::new(());

fn read_run(name: &str) -> Value {
    let _held = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    let path = folder().join("runs").join(format!("{name}.json"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let run: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let wanted = stored(&run);
    if is_overwriting() && text != wanted {
        std::fs::write(&path, &wanted).unwrap();
        return serde_json::from_str(&wanted).unwrap();
    }
    assert!(text == wanted, "{name}.json is not trimmed: RESULTS=overwrite cargo test --release --test cli results::");
    run
}

fn percent(value: f64) -> String {
    format!("{:.2}", 100.0 * value + 0.0)
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().map(|list| list.iter().filter_map(Value::as_f64).collect()).unwrap_or_default()
}

/// Mean and standard deviation.
fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt())
}

/// `mean ± deviation` with some decimals; the deviation where there is one.
fn with_spread(values: &[f64], digits: usize) -> String {
    let (mean, std) = moments(values);
    match values.len() {
        0 => String::new(),
        1 => format!("{mean:.digits$}"),
        _ => format!("{mean:.digits$} ± {std:.digits$}"),
    }
}

fn in_percent(mean: &Value, std: &Value) -> String {
    let Some(mean) = mean.as_f64() else { return String::new() };
    std.as_f64().map_or(percent(mean), |std| format!("{} ± {}", percent(mean), percent(std)))
}

/// A difference with its interval, in percent.
fn interval(middle: f64, ends: &Value) -> String {
    let ends = numbers(ends);
    let signed = |value: f64| format!("{:+.2}", 100.0 * value + 0.0);
    match ends[..] {
        [low, high] => format!("{} [{}, {}]", signed(middle), signed(low), signed(high)),
        _ => signed(middle),
    }
}

/// The published figure of this name.
fn published<'a>(line: &'a Value, of: &str) -> Option<&'a Value> {
    line["published"].as_array()?.iter().find(|one| one["of"] == of)
}

fn verdict(line: &Value, of: &str) -> String {
    let star = if line.get("caveat").is_some() { "*" } else { "" };
    published(line, of).map_or(String::new(), |one| format!("{}{star}", one["verdict"].as_str().unwrap()))
}

fn beside(ours: String, paper: String, verdict: String) -> String {
    if verdict.is_empty() { ours } else { format!("{ours} ({paper}: {verdict})") }
}

/// This line minus the first of its set.
fn minus_first(line: &Value, field: &str) -> String {
    let Some(paired) = line.get(field) else { return String::new() };
    let ends: Vec<Value> = numbers(&paired["interval"]).iter().rev().map(|end| (-end).into()).collect();
    let text = interval(-paired["difference"].as_f64().unwrap(), &Value::Array(ends));
    if paired["distinguishable"] == true { format!("**{text}**") } else { text }
}

/// All other figures that a paper prints, with their verdicts.
fn others(line: &Value) -> String {
    let all = line["published"].as_array().cloned().unwrap_or_default();
    let rest = all.iter().filter(|one| one["of"] != "accuracy" && one["of"] != "macro F");
    let one = |one: &Value| {
        let mean = one["mean"].as_f64().unwrap();
        let paper = one["std"].as_f64().map_or(format!("{mean:.3}"), |std| format!("{mean:.3} ± {std:.3}"));
        format!("{} {paper}: {}", one["of"].as_str().unwrap(), one["verdict"].as_str().unwrap())
    };
    rest.map(one).collect::<Vec<_>>().join("; ")
}

/// Weights, averaged over splits.
fn weights(line: &Value) -> String {
    let rows: Vec<Vec<f64>> = line["weights"].as_array().unwrap_or(&vec![]).iter().map(numbers).collect();
    let n = rows.first().map_or(0, Vec::len);
    let mean = |m: usize| rows.iter().map(|row| row[m]).sum::<f64>() / rows.len() as f64;
    (0..n).map(|m| format!("{:.2}", mean(m))).collect::<Vec<_>>().join(" / ")
}

/// A macro average in percent, and what the paper has.
fn with_printed(line: &Value, of: &str) -> String {
    let field = if of == "specificity" { "macro_specificities".into() } else { format!("macro_{of}s") };
    let values = numbers(&line[field]);
    if values.is_empty() {
        return String::new();
    }
    let printed = line["printed"][of].as_f64().map_or(String::new(), |paper| format!(" ({})", percent(paper)));
    percent(moments(&values).0) + &printed
}

/// A mean in percent with its standard error.
fn with_error(values: &[f64]) -> String {
    let (mean, std) = moments(values);
    format!("{:.1} ± {:.1}", 100.0 * mean, 100.0 * std / (values.len() as f64).sqrt())
}

/// The probability of a test; stored runs have six decimals.
fn probability(value: &Value) -> String {
    value.as_f64().map_or(String::new(), |p| if p < 1e-4 { "below 1e-4".into() } else { format!("{p:.4}") })
}

fn cell(line: &Value, column: &str) -> String {
    let text = |field: &str| line[field].as_str().unwrap_or_default().to_string();
    let spread = |field: &str, digits: usize| with_spread(&numbers(&line[field]), digits);
    match column {
        "set" => text("dataset"),
        "bank" => text("bank"),
        "split" => text("split"),
        "splits" => numbers(&line["accuracies"]).len().to_string(),
        "P" => line["n_kernels"].to_string(),
        "method" => format!("`{}`", text("method")),
        "accuracy" => in_percent(&line["accuracy"]["mean"], &line["accuracy"]["std"]),
        "paper" => in_percent(&line["paper"]["mean"], &line["paper"]["std"]),
        "minus the paper" => published(line, "accuracy")
            .map_or(String::new(), |one| interval(one["minus_paper"].as_f64().unwrap(), &one["interval"])),
        "verdict" => verdict(line, "accuracy"),
        "accuracy (paper: verdict)" => beside(cell(line, "accuracy"), cell(line, "paper"), verdict(line, "accuracy")),
        "macro F (paper: verdict)" => beside(cell(line, "macro F"), cell(line, "paper F"), verdict(line, "macro F")),
        "macro F" => in_percent(&line["macro_f"]["mean"], &Value::Null),
        "paper F" => in_percent(&line["paper"]["macro_f"], &Value::Null),
        "F verdict" => verdict(line, "macro F"),
        "paper: verdict" => others(line),
        "prototype" => in_percent(&line["prototype"], &Value::Null),
        "minus the first" => minus_first(line, "first_minus_this"),
        "log-loss" => spread("log_losses", 3),
        "Brier" => spread("briers", 4),
        "NMI" => spread("nmis", 3),
        "Rand" => spread("rand_indices", 3),
        "purity" => spread("purities", 3),
        "K" => spread("n_clusters", 1),
        "Davies-Bouldin" => spread("davies_bouldins", 2),
        "Dunn" => spread("dunns", 4),
        "weights" => weights(line),
        "SVM fits" => line["svm_fits"].as_f64().map_or(String::new(), |fits| format!("{fits:.0}")),
        "s" => format!("{:.3}", line["train_seconds"]["mean"].as_f64().unwrap()),
        "precision (paper)" => with_printed(line, "precision"),
        "recall (paper)" => with_printed(line, "recall"),
        "specificity (paper)" => with_printed(line, "specificity"),
        "sets" => numbers(&line["covered"]).len().to_string(),
        "nominal %" => line["level"].as_f64().map_or(String::new(), |level| format!("{:.0}", 100.0 * level)),
        "coverage %" => with_error(&numbers(&line["covered"])),
        "p (ranks)" => probability(&line["p_of_ranks"]),
        "failed" => line["n_failed"].to_string(),
        "warnings" => line["n_warnings"].to_string(),
        other => panic!("a table asks for the column `{other}`, which does not exist"),
    }
}

fn markdown(titles: &[String], rows: &[Vec<String>]) -> String {
    let row = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule = format!("|{}\n", "---|".repeat(titles.len()));
    let body: String = rows.iter().map(|cells| row(cells)).collect();
    row(titles) + &rule + &body
}

/// Values of a field in the order they first come.
fn distinct(lines: &[&Value], of: impl Fn(&Value) -> String) -> Vec<String> {
    let mut found: Vec<String> = vec![];
    lines.iter().map(|line| of(line)).for_each(|value| {
        if !found.contains(&value) {
            found.push(value)
        }
    });
    found
}

/// The method without the setting of this key, and the setting's value.
fn series(line: &Value, key: &str) -> (String, String) {
    let method = line["method"].as_str().unwrap();
    let is_key = |word: &&str| word.split_once('=').is_some_and(|(name, _)| name == key);
    let value = method.split(' ').find(is_key).and_then(|word| word.split_once('=')).map_or("", |two| two.1);
    (method.split(' ').filter(|word| !is_key(word)).collect::<Vec<_>>().join(" "), value.into())
}

/// One cell of a table with two keys; empty if there is no such line.
fn at(lines: &[&Value], column: &str, is_wanted: impl Fn(&Value) -> bool) -> String {
    lines.iter().find(|line| is_wanted(line)).map_or(String::new(), |line| cell(line, column))
}

fn render(run: &Value, form: &str) -> String {
    let (form, only) = form.split_once(" of ").map_or((form, None), |(form, only)| (form, Some(only)));
    let only: Option<Vec<&str>> = only.map(|only| only.split(", ").collect());
    let is_wanted = |line: &&Value| only.as_ref().is_none_or(|only| only.contains(&line["method"].as_str().unwrap()));
    let lines: Vec<&Value> = run["lines"].as_array().unwrap().iter().filter(is_wanted).collect();
    assert!(!lines.is_empty(), "`{form}`: no line of the run has this method");
    let set = |line: &Value| cell(line, "set");
    match form.split_once(' ').unwrap() {
        ("lines", columns) => {
            let columns: Vec<String> = columns.split(", ").map(String::from).collect();
            let rows: Vec<Vec<String>> =
                lines.iter().map(|line| columns.iter().map(|column| cell(line, column)).collect()).collect();
            markdown(&columns, &rows)
        }
        ("grid", column) => {
            let methods = distinct(&lines, |line| cell(line, "method"));
            let row = |name: String| {
                let of =
                    |method: &String| at(&lines, column, |line| set(line) == name && cell(line, "method") == *method);
                [name.clone()].into_iter().chain(methods.iter().map(of)).collect()
            };
            let rows: Vec<Vec<String>> = distinct(&lines, set).into_iter().map(row).collect();
            markdown(&[vec!["set".into()], methods.clone()].concat(), &rows)
        }
        ("study", rest) => {
            let (key, column) = rest.split_once(' ').unwrap();
            let values = distinct(&lines, |line| series(line, key).1);
            let rows = distinct(&lines, |line| format!("{} | `{}`", set(line), series(line, key).0));
            let row = |name: String| {
                let of = |value: &String| {
                    at(&lines, column, |line| {
                        format!("{} | `{}`", set(line), series(line, key).0) == name && series(line, key).1 == *value
                    })
                };
                [name.clone()].into_iter().chain(values.iter().map(of)).collect()
            };
            let rows: Vec<Vec<String>> = rows.into_iter().map(row).collect();
            let value = |value: &String| if value.is_empty() { "-".into() } else { format!("{key}={value}") };
            let titles = ["set".to_string(), "method".into()].into_iter().chain(values.iter().map(value));
            markdown(&titles.collect::<Vec<_>>(), &rows)
        }
        (other, _) => panic!("`{other}` is no form of a table"),
    }
}

/// The page with its marked tables rendered, and what stands outside them.
fn rendered(page: &str, text: &str) -> (String, String) {
    let (mut whole, mut outside) = (String::new(), String::new());
    let mut pieces = text.split("<!-- table ");
    let first = pieces.next().unwrap();
    whole += first;
    outside += first;
    for piece in pieces {
        let (head, rest) = piece.split_once(" -->\n").unwrap_or_else(|| panic!("{page}: a marker has no end"));
        let (_, after) = rest.split_once("<!-- end -->").unwrap_or_else(|| panic!("{page}: `{head}` has no end"));
        let (name, form) = head.split_once(' ').unwrap();
        let run = read_run(name);
        let command = format!("multikernel reproduce {}", run["table"].as_str().unwrap());
        assert!(outside.contains(&command), "{page}: `{command}` must stand above the table of {name}");
        whole += &format!("<!-- table {head} -->\n{}<!-- end -->{after}", render(&run, form));
        outside += after;
    }
    (whole, outside)
}

#[test]
fn tables_of_the_results_are_those_of_the_stored_runs() {
    let mut n_tables = 0;
    for (page, text) in pages() {
        let (wanted, _) = rendered(&page, &text);
        n_tables += text.matches("<!-- table ").count();
        if is_overwriting() {
            std::fs::write(folder().join(&page), &wanted).unwrap();
        } else {
            assert!(
                text == wanted,
                "{page} differs from its runs: RESULTS=overwrite cargo test --release --test cli results::"
            );
        }
    }
    assert!(n_tables >= 8, "{n_tables}");
}

#[test]
fn tables_without_a_stored_run_say_so_and_are_no_more_than_they_were() {
    for (page, text) in pages().into_iter().filter(|(page, _)| !LISTS.contains(&page.as_str())) {
        let (_, outside) = rendered(&page, &text);
        let lines: Vec<&str> = outside.lines().collect();
        let is_rule = |line: &&str| line.starts_with("|-") || line.starts_with("|:");
        // A table of pictures has no figures.
        let is_figures = |at: usize| !lines.get(at + 1).is_some_and(|line| line.starts_with("| !["));
        let tables = lines.iter().enumerate().filter(|(at, line)| is_rule(line) && is_figures(*at));
        let mut n_found = 0;
        for (at, _) in tables {
            let above = lines[..at - 1].iter().rev().find(|line| !line.trim().is_empty()).unwrap();
            // No figures of a run.
            if *above == "<!-- list -->" {
                continue;
            }
            assert!(above.starts_with("_Not stored: "), "{page}: above `{}` stands `{above}`", lines[at - 1]);
            n_found += 1;
        }
        let known = NOT_STORED.iter().find(|(name, _)| *name == page).map_or(0, |(_, n)| *n);
        assert_eq!(n_found, known, "{page}: store the run of a new table; a table that is stored now leaves the list");
    }
}

#[test]
fn means_of_stored_runs_are_those_of_their_splits() {
    let files = std::fs::read_dir(folder().join("runs")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let pages = pages();
    for name in names.map(|name| name.strip_suffix(".json").expect("only runs in docs/results/runs").to_string()) {
        let is_used = pages.iter().any(|(_, text)| text.contains(&format!("<!-- table {name} ")));
        assert!(is_used, "{name}.json is behind no table");
        for line in read_run(&name)["lines"].as_array().unwrap() {
            let (mean, _) = moments(&numbers(&line["accuracies"]));
            let said = line["accuracy"]["mean"].as_f64().unwrap();
            assert!((mean - said).abs() < 2e-6, "{name}: {} on {}", line["method"], line["dataset"]);
            if let Some(one) = published(line, "accuracy") {
                let apart = said - one["mean"].as_f64().unwrap() - one["minus_paper"].as_f64().unwrap();
                assert!(apart.abs() < 3e-6, "{name}: {} on {}", line["method"], line["dataset"]);
            }
        }
    }
}

/// Tables and figures of each paper, in the order of the page.
const EXPERIMENTS: [(&str, usize, usize); 5] =
    [("MKBoost", 3, 8), ("MKL-DA", 2, 2), ("BM3KL", 3, 4), ("CIK", 4, 3), ("SVIMKL", 1, 2)];

#[test]
fn every_table_and_figure_of_every_paper_has_a_row() {
    let text = std::fs::read_to_string(folder().join("experiments.md")).unwrap();
    let sections: Vec<&str> = text.split("\n## ").skip(1).collect();
    assert_eq!(sections.len(), EXPERIMENTS.len());
    for (section, (paper, n_tables, n_figures)) in sections.iter().zip(EXPERIMENTS) {
        assert!(section.starts_with(&format!("{paper}: ")), "{paper}");
        let rows: Vec<&str> = section.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
        let wanted = [("Table", n_tables), ("Figure", n_figures)];
        for what in wanted.iter().flat_map(|(kind, n)| (1..=*n).map(move |i| format!("| {kind} {i} "))) {
            assert!(rows.iter().any(|row| row.starts_with(&what)), "{paper}: no row for {what}");
        }
        for row in rows {
            let status = row.split('|').nth(4).unwrap().trim();
            let words = ["**runs**", "**own data**", "**no data**", "**not built**", "nothing to run"];
            assert!(words.iter().any(|word| status.starts_with(word)), "{paper}: `{status}` is no status");
        }
    }
}

#[test]
fn tables_that_pages_tell_to_run_exist() {
    let output = Command::new(env!("CARGO_BIN_EXE_multikernel")).args(["reproduce", "--json"]).output().unwrap();
    let known: Value = serde_json::from_slice(&output.stdout).unwrap();
    let known: BTreeSet<&str> = known.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    for (page, text) in pages() {
        for rest in text.split("multikernel reproduce ").skip(1) {
            let name = rest.split([' ', '`', '\n', ';', ',']).next().unwrap().trim_end_matches(['.', ')']);
            assert!(name == "NAME" || known.contains(name), "{page}: no table is called {name}");
        }
    }
}
