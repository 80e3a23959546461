//! The library examples run and say what they promise. `centroid`, `drift` and `own_kernel` have tests of their own,
//! `kill.rs` runs `slow`, `pages.rs` runs `quickstart`.

use std::process::Command;

fn run(name: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(crate::common::example(name)).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The number before `unit` in the line that begins with `start`.
fn number(said: &str, start: &str, unit: &str) -> f64 {
    let line = said.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no `{start}` in\n{said}"));
    let before = line.split(unit).next().unwrap();
    before.split_whitespace().last().unwrap().parse().unwrap_or_else(|error| panic!("{line}: {error}"))
}

#[test]
fn rows_learns_the_spirals() {
    let said = run("rows");
    assert!(number(&said, "average:", " %") > 90.0 && number(&said, "majority:", " %") < 60.0, "{said}");
    assert!(said.contains("a new row is left"), "{said}");
}

#[test]
fn gaps_knows_what_is_missing_and_predicts_all_the_same() {
    let said = run("gaps");
    assert!(said.contains("gene: 40 of 40 mice\nlipid: 26 of 40 mice\n"), "{said}");
    assert!(number(&said, "skip:", " %") > number(&said, "drop:", " %"), "{said}");
    assert!(said.contains("is put on the diet "), "{said}");
}

#[test]
fn grams_knows_the_languages() {
    let said = run("grams");
    for (word, language) in [("thoughtful", "en"), ("wasserfall", "de"), ("gartenhaus", "de"), ("watering", "en")] {
        assert!(said.contains(&format!("{word}: {language} (it is {language})")), "{said}");
    }
}

#[test]
fn posterior_finds_the_two_columns_and_its_chains_agree() {
    let said = run("posterior");
    assert!(said.contains("the chains agree"), "{said}");
    assert!(number(&said, "the first column outweighs the third", " %") > 90.0, "{said}");
}

#[test]
fn stream_follows_the_classes_and_keeps_its_budget() {
    let said = run("stream");
    assert!(number(&said, "rows 7000", " %") > 85.0, "{said}");
    assert!(said.contains("8000 rows, 300 points kept"), "{said}");
}
