//! Stopping, limits and pipes, on the real program.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::common::example;
use multikernel::plan::Registry;
use multikernel::{Model, Result};

const MULTIKERNEL: &str = env!("CARGO_BIN_EXE_multikernel");

fn run(program: impl AsRef<std::ffi::OsStr>, args: &[&str]) -> Output {
    Command::new(program).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// `slow` is not in the standard registry, which is how its model is told from a finished one: by the words of
/// `inspect`.
fn inspect(model: &Path) -> String {
    text(&run(example("slow"), &["inspect", &model.display().to_string()]).stdout)
}

#[cfg(unix)]
#[test]
fn interrupt_ends_a_run_with_what_was_learned() {
    let folder = tempfile::tempdir().unwrap();
    let (out, checkpoint) = (folder.path().join("m"), folder.path().join("c"));
    let child = Command::new(example("slow"))
        .args(["train", "sonar", "--method", "slow", "--set", "pause=20000", "--out"])
        .arg(&out)
        .arg("--checkpoint")
        .arg(&checkpoint)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(inspect(&out).contains("cancelled after "), "{}", inspect(&out));
    assert!(text(&output.stderr).contains("add --resume to go on from"), "{}", text(&output.stderr));
    assert!(checkpoint.exists());
}

#[test]
fn time_limit_ends_a_run_with_what_was_learned() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("m");
    let path = out.display().to_string();
    let args = ["train", "sonar", "--method", "slow", "--set", "pause=20000", "--max-seconds", "1", "--out", &path];
    let output = run(example("slow"), &args);
    assert!(output.status.success());
    assert!(text(&output.stderr).contains("the model holds what was learned so far"), "{}", text(&output.stderr));
    assert!(inspect(&out).contains("time limit reached after "));
    // The model of an unfinished run is a model.
    let predicted = run(example("slow"), &["predict", &path, "sonar", "--quiet"]);
    assert_eq!(text(&predicted.stdout).lines().count(), 209);
}

#[test]
fn train_in_a_pipe_says_nothing_but_its_result() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m").display().to_string();
    let output = run(MULTIKERNEL, &["train", "wdbc", "--method", "average", "--out", &path]);
    assert_eq!(text(&output.stderr), "");
    assert_eq!(text(&output.stdout).lines().count(), 1);
    let output = run(MULTIKERNEL, &["evaluate", "sonar", "--method", "average", "--json"]);
    assert_eq!(text(&output.stderr), "");
    assert!(text(&output.stdout).starts_with("{\n"));
}

#[cfg(unix)]
#[test]
fn closed_pipe_is_no_error() {
    let command = format!("{MULTIKERNEL} methods | true; exit ${{PIPESTATUS[0]}}");
    let output = Command::new("bash").args(["-c", &command]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let output = text(&run(MULTIKERNEL, &["completions", shell]).stdout);
        for command in ["train", "predict", "evaluate", "inspect", "datasets", "methods"] {
            assert!(output.contains(command), "{shell} lacks {command}");
        }
    }
}

#[test]
fn evaluate_json_has_the_fields_of_the_contract() {
    let output = run(MULTIKERNEL, &["evaluate", "sonar", "--method", "majority,average", "--folds", "3", "--json"]);
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for field in ["dataset", "n_samples", "n_features", "n_classes", "n_kernels", "seed", "results", "paired"] {
        assert!(!found[field].is_null(), "{field}");
    }
    let result = &found["results"][1];
    for figure in ["accuracy", "macro_f", "auroc"] {
        assert!(result[figure]["mean"].is_f64() && result[figure]["std"].is_f64(), "{figure}");
    }
    assert!(result["train_seconds"]["mean"].is_f64() && result["predict_seconds"]["mean"].is_f64());
    assert_eq!(result["method"], "average");
    assert_eq!(result["folds"].as_array().unwrap().len(), 3);
    assert_eq!(result["folds"][0]["weights"].as_array().unwrap().len(), 10);
    let pair = &found["paired"][0];
    assert_eq!((pair["a"].as_str(), pair["b"].as_str()), (Some("majority"), Some("average")));
    let mean = |figure: &serde_json::Value| figure["accuracy"]["mean"].as_f64().unwrap();
    let difference = mean(&found["results"][0]) - mean(result);
    assert!((pair["difference"].as_f64().unwrap() - difference).abs() < 1e-12);
    assert_eq!(pair["interval"].as_array().unwrap().len(), 2);
}

#[test]
fn results_of_the_command_line_do_not_depend_on_threads() {
    let accuracy = |threads: &str| {
        let args = ["evaluate", "vehicle", "--method", "average", "--threads", threads, "--folds", "3", "--json"];
        let found: serde_json::Value = serde_json::from_slice(&run(MULTIKERNEL, &args).stdout).unwrap();
        found["results"][0]["folds"]
            .as_array()
            .unwrap()
            .iter()
            .map(|fold| fold["confusion"].to_string())
            .collect::<Vec<_>>()
    };
    let one = accuracy("1");
    assert_eq!(one, accuracy("2"));
    assert_eq!(one, accuracy("4"));
}

#[test]
fn model_of_an_unknown_method_is_refused_by_name() -> Result<()> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m").display().to_string();
    let args = ["train", "sonar", "--method", "slow", "--set", "steps=3", "--out", &path];
    assert!(run(example("slow"), &args).status.success());
    let message = Model::load_with(&path, &Registry::standard()).unwrap_err().to_string();
    assert!(message.contains("`slow` is unknown"), "{message}");
    Ok(())
}

#[test]
fn time_limit_keeps_what_an_evaluation_measured() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.csv").display().to_string();
    let limited = ["--set", "pause=20000", "--max-seconds", "2"];
    let both = ["evaluate", "sonar", "--method", "majority,slow", "--predictions", &path];
    let output = run(example("slow"), &[&both[..], &limited].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(shown.contains("stopped: time limit reached in split 1 of 5: the fit of `slow` had done "), "{shown}");
    assert!(shown.contains("kernels  splits") && shown.contains("\nslow            -       0"), "{shown}");
    let written = std::fs::read_to_string(&path).unwrap();
    assert_eq!(written.lines().count(), 1 + 42, "the test rows of majority on the first split");
    assert!(written.lines().skip(1).all(|line| line.contains(",majority,1,")), "{written}");

    let output = run(example("slow"), &[&["evaluate", "sonar", "--method", "slow"][..], &limited].concat());
    assert_eq!(output.status.code(), Some(2));
    let message = text(&output.stderr);
    let begin = "error: time limit reached, and nothing was measured: the first fit, of `slow`, had done ";
    assert!(message.starts_with(begin) && message.contains(" of 1000 steps after "), "{message}");
}

#[test]
fn predictions_of_an_evaluation_have_ids_methods_splits_and_probabilities() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let rows: String = (0..30).map(|i| format!("s{i},{},{},\"k,{}\"\n", i % 7, i % 3, i % 3)).collect();
    std::fs::write(at("rows.csv"), format!("sample,x,y,kind\n{rows}")).unwrap();
    let args =
        ["evaluate", &at("rows.csv"), "--id", "sample", "--label", "kind", "--method", "majority,svm", "--proba"];
    let output = run(MULTIKERNEL, &[&args[..], &["--folds", "3", "--predictions", &at("p.csv"), "--json"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let found: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&found["label"], &found["stopped"]), (&"kind".into(), &serde_json::Value::Null));
    let written = std::fs::read_to_string(at("p.csv")).unwrap();
    let lines: Vec<&str> = written.lines().collect();
    assert_eq!(lines[0], "sample,method,split,label,predicted,\"p:k,0\",\"p:k,1\",\"p:k,2\"");
    assert_eq!(lines.len(), 1 + 2 * 30);
    let right = lines.iter().filter(|line| line.contains(",svm,")).filter(|line| {
        let cells: Vec<&str> = line.split('"').collect();
        cells[1] == cells[3]
    });
    let confusion = found["results"][1]["confusion"].as_array().unwrap();
    let diagonal: u64 = (0..3).map(|c| confusion[c][c].as_u64().unwrap()).sum();
    assert_eq!(right.count() as u64, diagonal);
    assert!(
        lines[1..]
            .iter()
            .all(|line| line.starts_with('s') && line.rsplit(',').take(3).all(|p| p.parse::<f64>().is_ok()))
    );
}
