//! What the lists print as JSON, and nothing but JSON.

use std::process::Command;

use serde_json::Value;

/// Runs the program; what it prints must be one JSON text.
fn json(args: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_multikernel")).args(args).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{args:?}: {error}"))
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect()
}

#[test]
fn methods_are_listed_whole_or_one_alone() {
    let (all, one) = (json(&["methods", "--json"]), json(&["methods", "svm", "--json"]));
    assert!(names(&all).len() > 20 && names(&one) == ["svm"]);
    let svm = all.as_array().unwrap().iter().find(|method| method["name"] == "svm").unwrap();
    assert_eq!(*svm, one[0]);
    assert!(!svm["params"].as_array().unwrap().is_empty());
}

#[test]
fn tables_are_listed_and_run_as_json() {
    let list = json(&["reproduce", "--json"]);
    assert!(names(&list).contains(&"mkboost"));
    for table in list.as_array().unwrap() {
        assert!(table["summary"].is_string() && table["sets"].is_array(), "{table}");
    }
    let run = json(&["reproduce", "svimkl-toys", "--only", "moons", "--repeats", "1", "--json"]);
    assert_eq!(run["table"], "svimkl-toys");
    assert!(!run["lines"].as_array().unwrap().is_empty());
}

#[test]
fn data_sets_are_listed_as_json() {
    assert!(names(&json(&["datasets", "list", "--json"])).contains(&"nutrimouse"));
}
