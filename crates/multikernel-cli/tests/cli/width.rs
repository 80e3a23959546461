//! What people read fits a terminal of 80 columns, whatever data and methods are called.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Standard output of a command that succeeds, in a folder.
fn shown(folder: &Path, args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_multikernel")).args(args).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn assert_fits(folder: &Path, args: &[&str]) -> String {
    let text = shown(folder, args);
    assert!(text.lines().count() > 3, "{args:?}\n{text}");
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{args:?}: {} characters:\n{line}", line.chars().count());
    }
    text
}

/// Rows of `n_classes` classes with long names, in columns with long names that belong to two views.
fn write_rows(folder: &Path, n_classes: usize) -> PathBuf {
    let path = folder.join(format!("measurements_of_{n_classes}_kinds_of_samples_from_all_of_the_cohorts.csv"));
    let names: Vec<String> =
        (0..6).map(|j| format!("{}_probe_with_a_long_name_{j}", ["blood", "urine"][j % 2])).collect();
    let mut text = format!("{},diagnosis_of_the_second_reader\n", names.join(","));
    for i in 0..6 * n_classes {
        let class = i % n_classes;
        let cells: Vec<String> =
            (0..6).map(|j| (((i * (j + 3)) % 11) as f64 * 0.1 + (class * (j + 1)) as f64).to_string()).collect();
        text += &format!("{},adenocarcinoma of an unusual kind {class}\n", cells.join(","));
    }
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn tables_fit_eighty_columns_with_long_names_and_many_classes() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for n_classes in [9, 30] {
        let rows = write_rows(folder, n_classes).file_name().unwrap().to_string_lossy().into_owned();
        let views = ["--view", "methylation_of_blood=blood*", "--view", "metabolites_of_urine=urine*"];
        let evaluate = [&["evaluate", &rows, "--folds", "2", "--quiet"][..], &views].concat();
        let with = |more: &[&'static str]| [&evaluate[..], more].concat();
        let text = assert_fits(folder, &with(&["--method", "majority,svm,fheuristic"]));
        assert!(text.contains("`diagnosis_of_the_second_reader`"), "{text}");
        assert_fits(folder, &with(&["--method", "fheuristic", "--ablate", "views"]));
        assert_fits(folder, &with(&["--method", "average", "--proba", "--metrics", "all"]));
        assert_fits(
            folder,
            &with(&["--method", "svm,average", "--metrics", "accuracy,balanced_accuracy,macro_f,mcc,auroc"]),
        );
        let train = [&["train", &rows, "--method", "fheuristic", "--out", "m", "--quiet"][..], &views].concat();
        shown(folder, &train);
        let text = assert_fits(folder, &["inspect", "m"]);
        assert!(text.contains("\nlabel ") && text.contains("  diagnosis_of_the_second_reader\n"), "{text}");
        assert!(n_classes == 9 || text.contains(" and 10 more\n"), "{text}");
        let label = "diagnosis_of_the_second_reader";
        assert_fits(folder, &["cluster", &rows, "--label", label, "--set", "sweeps=2", "--set", "moves=1", "--quiet"]);
    }
    shown(
        folder,
        &[
            "train",
            "nutrimouse",
            "--method",
            "bm3kl",
            "--set",
            "draws=10",
            "--set",
            "warmup=10",
            "--out",
            "b",
            "--quiet",
        ],
    );
    let text = assert_fits(folder, &["inspect", "b"]);
    assert!(text.contains("ESS") && text.contains("; prior ["), "{text}");
}
