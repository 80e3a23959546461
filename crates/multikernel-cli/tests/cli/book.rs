//! The book hangs together: every page is in the table of contents, every link leads somewhere, and the page of methods
//! is that of this build (`METHODS=overwrite cargo test --release --test cli book::` writes it anew).

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// All pages under a folder, relative to it, with `/`.
fn pages(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let (path, name) = entry.map(|entry| (entry.path(), entry.file_name().into_string().unwrap())).unwrap();
        if path.is_dir() {
            found.extend(pages(&path).into_iter().map(|page| format!("{name}/{page}")));
        } else if name.ends_with(".md") {
            found.insert(name);
        }
    }
    found
}

/// The text without what stands between backticks or fences, where nothing is a link.
fn prose(text: &str) -> String {
    let mut open = false;
    let lines = text.lines().filter(|line| {
        let fence = line.starts_with("```");
        open ^= fence;
        !fence && !open
    });
    lines.map(|line| line.split('`').step_by(2).collect::<String>() + "\n").collect()
}

/// What stands in the parentheses of `[text](target)`.
fn links(text: &str) -> Vec<String> {
    let after = prose(text);
    let targets = after.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.map(str::to_string).collect()
}

/// The anchors of a page: its headings in lower case, with hyphens for spaces and without other signs.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut open = false;
    let headings = text.lines().filter(|line| {
        open ^= line.starts_with("```");
        !open && line.starts_with('#')
    });
    let sign = |c: char| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c.to_ascii_lowercase()),
        _ => None,
    };
    headings.map(|line| line.trim_start_matches('#').trim().chars().filter_map(sign).collect()).collect()
}

/// The path with its `..` taken away.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => assert!(plain.pop(), "{} leads outside", path.display()),
            part => plain.push(part),
        }
    }
    plain
}

#[test]
fn the_table_of_contents_has_every_page_once() {
    let docs = repository().join("docs");
    let listed = links(&std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap());
    let mut found = pages(&docs);
    found.remove("SUMMARY.md");
    let once: BTreeSet<String> = listed.iter().cloned().collect();
    assert_eq!(once.len(), listed.len(), "a page is listed twice: {listed:?}");
    assert_eq!(once, found, "left: docs/SUMMARY.md, right: the folder");
}

#[test]
fn every_link_of_the_documentation_leads_somewhere() {
    let root = repository();
    let inside = pages(&root.join("docs")).into_iter().map(|page| format!("docs/{page}"));
    let outside = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "crates/multikernel-cli/README.md"].map(String::from);
    for page in inside.chain(outside) {
        let text = std::fs::read_to_string(root.join(&page)).unwrap();
        for link in links(&text).iter().filter(|link| !link.starts_with("http")) {
            let (path, anchor) = link.split_once('#').map_or((link.as_str(), None), |(path, a)| (path, Some(a)));
            let folder = Path::new(&page).parent().unwrap();
            let target = if path.is_empty() { PathBuf::from(&page) } else { plain(&folder.join(path)) };
            assert!(root.join(&target).exists(), "{page}: ({link}) leads nowhere");
            // What is outside docs is not part of the book.
            assert!(!page.starts_with("docs/") || target.starts_with("docs"), "{page}: ({link}) leaves the book");
            if let Some(anchor) = anchor {
                let there = std::fs::read_to_string(root.join(&target)).unwrap();
                assert!(anchors(&there).contains(anchor), "{page}: ({link}): no heading #{anchor}");
            }
        }
        for include in text.split("{{#include ").skip(1).filter_map(|rest| rest.split(['}', ':']).next()) {
            let target = plain(&Path::new(&page).parent().unwrap().join(include));
            assert!(root.join(&target).is_file(), "{page}: {include} is not there");
        }
    }
}

fn methods() -> Vec<serde_json::Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_multikernel")).args(["methods", "--json"]).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The page of methods as this build would have it.
fn methods_page() -> String {
    let methods = methods();
    let cell = |value: &serde_json::Value| value.as_str().unwrap().replace('|', "\\|");
    let mut page = "# Methods and parameters\n\n\
        What `multikernel methods --all` prints. `--set KEY=VALUE` sets a parameter on the command line, `Plan::set` in Rust; where \
        `auto` is\nallowed, inner cross-validation chooses. [Choosing a method](guide/choosing-a-method.md) tells which to take.\n\n\
        | method | what it does |\n|---|---|\n"
        .to_string();
    for method in &methods {
        let name = cell(&method["name"]);
        writeln!(page, "| [`{name}`](#{name}) | {} |", cell(&method["summary"])).unwrap();
    }
    for method in &methods {
        write!(page, "\n## {}\n\n{}.\n\n", cell(&method["name"]), method["summary"].as_str().unwrap()).unwrap();
        match method["bank"].as_str().unwrap() {
            "" => page += "Takes no kernels.\n",
            bank => writeln!(page, "Default bank: `{bank}`.").unwrap(),
        }
        let params = method["params"].as_array().unwrap();
        if !params.is_empty() {
            page += "\n| parameter | default | allowed | meaning |\n|---|---|---|---|\n";
        }
        for param in params {
            let [name, default, allowed, help] = ["name", "default", "allowed", "help"].map(|key| cell(&param[key]));
            writeln!(page, "| `{name}` | `{default}` | {allowed} | {help} |").unwrap();
        }
    }
    page
}

#[test]
fn the_page_of_methods_is_that_of_this_build() {
    let (path, wanted) = (repository().join("docs/methods.md"), methods_page());
    if std::env::var("METHODS").as_deref() == Ok("overwrite") {
        std::fs::write(&path, &wanted).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == wanted,
        "docs/methods.md is out of date: METHODS=overwrite cargo test --release --test cli book::"
    );
}

#[test]
fn every_method_has_its_place_where_people_choose() {
    for page in ["docs/guide/choosing-a-method.md", "crates/multikernel/src/lib.rs"] {
        let text = std::fs::read_to_string(repository().join(page)).unwrap();
        for method in methods() {
            let word = format!("`{}`", method["name"].as_str().unwrap());
            assert!(text.contains(&word), "{page} does not mention {word}");
        }
    }
}

#[test]
fn every_file_the_references_name_exists() {
    let root = repository();
    for page in ["docs/architecture.md", "docs/performance.md", "docs/format.md", "CONTRIBUTING.md"] {
        let text = std::fs::read_to_string(root.join(page)).unwrap();
        let quoted = text.split('`').skip(1).step_by(2).flat_map(str::split_whitespace);
        for file in quoted.filter(|word| word.contains('/') && [".rs", ".py"].iter().any(|end| word.ends_with(end))) {
            let places = ["", "crates", "crates/multikernel/src"].map(|place| root.join(place).join(file));
            assert!(places.iter().any(|place| place.is_file()), "{page}: {file} is not there");
        }
    }
}

/// The names of functions in all sources under a folder.
fn functions(folder: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(functions(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs" || ending == "py") {
            let text = std::fs::read_to_string(&path).unwrap();
            let names = text.lines().filter_map(|line| {
                let line = line.trim_start();
                line.strip_prefix("fn ").or_else(|| line.strip_prefix("def "))?.split_once('(')
            });
            found.extend(names.map(|(name, _)| name.to_string()));
        }
    }
    found
}

#[test]
fn tests_of_faults_exist_and_each_kind_has_three_that_were_looked_for() {
    let page = std::fs::read_to_string(repository().join("docs/promises.md")).unwrap();
    let mut known = functions(&repository().join("crates"));
    known.extend(functions(&repository().join("python/tests")));
    let section = page.split("## Faults, and the tests").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let rows: Vec<Vec<&str>> =
        section.lines().filter(|line| line.starts_with("| ")).skip(1).map(|row| row.split(" | ").collect()).collect();
    assert!(rows.len() >= 9, "{} kinds", rows.len());
    for row in rows {
        let tests = |cell: &str| -> Vec<String> {
            cell.split('`').skip(1).step_by(2).filter(|name| name.contains('_')).map(str::to_string).collect()
        };
        assert!(!tests(row[1]).is_empty() && tests(row[2]).len() >= 3, "{row:?}");
        for name in row.iter().flat_map(|cell| tests(cell)) {
            assert!(known.contains(&name), "{}: no test is called {name}", row[0]);
        }
    }
}

#[test]
fn every_fuzz_target_is_built_told_of_and_run_by_the_workflow() {
    let read = |path: &str| std::fs::read_to_string(repository().join(path)).unwrap();
    let words = |text: &str| text.split([' ', ',', ';', '\n']).map(str::to_string).collect::<BTreeSet<_>>();
    let files = std::fs::read_dir(repository().join("fuzz/targets")).unwrap();
    let targets: BTreeSet<String> =
        files.map(|file| file.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned()).collect();
    let (workflow, script, manifest) = (read(".github/workflows/fuzz.yml"), read("fuzz/run"), read("fuzz/Cargo.toml"));
    let matrix = workflow.split("target:\n").nth(1).and_then(|rest| rest.split(['[', ']']).nth(1)).unwrap();
    assert_eq!(words(matrix).into_iter().filter(|word| !word.is_empty()).collect::<BTreeSet<_>>(), targets);
    let told =
        words(script.split("text and tables").nth(1).and_then(|rest| rest.split("# fuzz/python.py").next()).unwrap());
    for target in &targets {
        assert!(told.contains(target), "fuzz/run says nothing of {target}");
        assert!(manifest.contains(&format!("path = \"targets/{target}.rs\"")), "fuzz/Cargo.toml lacks {target}");
    }
}
