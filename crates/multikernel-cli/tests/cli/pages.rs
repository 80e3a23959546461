//! Every block of the README and of the guide runs: page by page, in order, each page in an empty folder of its own,
//! which is what a stranger who pastes block after block gets.
//!
//! | block | what is checked |
//! |---|---|
//! | `sh` | it runs in bash and succeeds |
//! | `text` | where commands ran before it: its lines are among their output, in order; `...` stands for any lines |
//! | `bank` | what stands left of two spaces is a bank of kernels |
//! | `rust` | an example has these lines; `{{#include}}` is checked by `book.rs` |
//! | `toml` | cargo reads it |

use std::path::{Path, PathBuf};
use std::process::Command;

use multikernel::kernel::KernelBank;

/// A fenced block: what it says it is, where it stands and its text.
struct Block {
    kind: String,
    place: String,
    text: String,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn blocks(page: &str) -> Vec<Block> {
    let text = std::fs::read_to_string(repository().join(page)).unwrap();
    let (mut found, mut open): (Vec<Block>, bool) = (vec![], false);
    for (i, line) in text.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(_) if open => open = false,
            Some(kind) => {
                found.push(Block { kind: kind.into(), place: format!("{page}:{}", i + 2), text: String::new() });
                open = true;
            }
            None if open => found.last_mut().unwrap().text += &format!("{line}\n"),
            None => {}
        }
    }
    assert!(!open, "a block of {page} has no end");
    found
}

/// The path with this build's `multikernel` and a `cargo` that builds nothing: it runs the program for `cargo run`, and
/// for `cargo install` looks whether there is something to install.
fn path_with_stand_ins(folder: &Path) -> std::ffi::OsString {
    std::fs::create_dir(folder).unwrap();
    let program = env!("CARGO_BIN_EXE_multikernel");
    let cargo = format!(
        "#!/bin/sh\ncase \"$*\" in\n'run --release -- '*) shift 3; exec '{program}' \"$@\" ;;\n\
         'install --locked --path '*) grep -q '^name = \"multikernel\"' '{}'/\"$4\"/Cargo.toml ;;\n\
         *) echo \"cargo $*: the test of the pages does not know this\" >&2; exit 1 ;;\nesac\n",
        repository().display()
    );
    for (name, text) in [("cargo", cargo), ("multikernel", format!("#!/bin/sh\nexec '{program}' \"$@\"\n"))] {
        let path = folder.join(name);
        std::fs::write(&path, text).unwrap();
        Command::new("chmod").arg("+x").arg(&path).status().unwrap();
    }
    let rest = std::env::var_os("PATH").unwrap_or_default();
    std::env::join_paths([folder.to_path_buf()].into_iter().chain(std::env::split_paths(&rest))).unwrap()
}

fn run(command: &mut Command, block: &Block) -> String {
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {error}\n{}", block.place, block.text);
    String::from_utf8(output.stdout).unwrap()
}

fn check_output(block: &Block, said: &str) {
    let mut lines = said.lines().map(str::trim_end);
    for wanted in block.text.lines().map(str::trim_end).filter(|line| *line != "...") {
        assert!(lines.any(|line| line == wanted), "{}: the program did not print\n{wanted}\nbut\n{said}", block.place);
    }
}

/// The left column of a block of banks; the right one explains.
fn check_banks(block: &Block) {
    for line in block.text.lines() {
        let bank = line.split("  ").next().unwrap();
        bank.parse::<KernelBank>().unwrap_or_else(|error| panic!("{}: {error}", block.place));
    }
}

/// The lines stand in one of the examples, at any depth.
fn check_rust(block: &Block) {
    if block.text.starts_with("{{#include ") {
        return;
    }
    let flat = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join("\n");
    let examples = std::fs::read_dir(repository().join("examples")).unwrap();
    let known = examples.map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    let wanted = flat(&block.text);
    assert!(known.into_iter().any(|text| flat(&text).contains(&wanted)), "{}: in no example", block.place);
}

/// Cargo reads the lines beside a package of any name.
fn check_manifest(block: &Block) {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("[package]\nname = \"any\"\nedition = \"2024\"\n[lib]\npath = \"any.rs\"\n{}", block.text);
    std::fs::write(folder.path().join("Cargo.toml"), text).unwrap();
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]).current_dir(folder.path());
    let read: serde_json::Value = serde_json::from_str(&run(&mut cargo, block)).unwrap();
    let name = read["packages"][0]["dependencies"][0]["name"].as_str().unwrap();
    assert_eq!(name, "multikernel");
    let profile = format!("[profile.dev.package.{name}]");
    assert!(block.text.contains(&profile), "{}: no {profile}", block.place);
}

/// Runs a page in an empty folder, which it returns with the kinds of its blocks.
fn check_page(page: &str) -> (tempfile::TempDir, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = path_with_stand_ins(&folder.path().join("bin"));
    let work = folder.path().join("work");
    std::fs::create_dir(&work).unwrap();
    let (mut kinds, mut said) = (vec![], String::new());
    for block in blocks(page) {
        match block.kind.as_str() {
            // All tests: this one among them.
            "sh" if block.text.trim() == "bash scripts/test" => assert!(repository().join("scripts/test").is_file()),
            "sh" => {
                // Pasted into zsh, what comes after a # is no comment.
                assert!(!block.text.contains('#'), "{}: a comment", block.place);
                let mut bash = Command::new("bash");
                said += &run(
                    bash.args(["-euo", "pipefail", "-c", &block.text]).env("PATH", &path).current_dir(&work),
                    &block,
                );
            }
            "text" if said.is_empty() => {}
            "text" => check_output(&block, &said),
            "bank" => check_banks(&block),
            "rust" => check_rust(&block),
            "toml" => check_manifest(&block),
            "rust,ignore" => {}
            // python/tests/test_examples.py runs them.
            "python" => {}
            other => panic!("{}: a block of the kind `{other}` is not tested", block.place),
        }
        kinds.push(block.kind);
    }
    (folder, kinds)
}

#[test]
fn readme() {
    let (folder, kinds) = check_page("README.md");
    assert!(kinds.iter().filter(|kind| *kind == "sh").count() >= 4 && kinds.contains(&"rust".to_string()), "{kinds:?}");
    // What the README shows of it, on the files that the README makes.
    let mut quickstart = Command::new(crate::common::example("quickstart"));
    let output = quickstart.current_dir(folder.path().join("work")).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("right on held-out rows") && said.contains("with probability"), "{said}");
    let text = std::fs::read_to_string(repository().join("README.md")).unwrap();
    assert!(text.split_whitespace().count() <= 900, "the README is longer than 900 words: the guide has room");
}

macro_rules! guide {
    ($($test:ident: $page:literal,)*) => {
        $(#[test]
        fn $test() {
            check_page(concat!("docs/guide/", $page));
        })*

        #[test]
        fn every_page_of_the_guide_is_run() {
            let pages = std::fs::read_dir(repository().join("docs/guide")).unwrap();
            for page in pages.map(|page| page.unwrap().file_name().into_string().unwrap()) {
                assert!([$($page),*].contains(&page.as_str()), "docs/guide/{page} is not in the list of this test");
            }
        }
    };
}

guide! {
    first_model: "first-model.md",
    gpu: "gpu.md",
    your_data: "your-data.md",
    mixed_tables: "mixed-tables.md",
    numbers_and_times: "numbers-and-times.md",
    choosing_kernels: "choosing-kernels.md",
    choosing_a_method: "choosing-a-method.md",
    several_views: "several-views.md",
    which_kernels_matter: "which-kernels-matter.md",
    reports: "reports.md",
    streams: "streams.md",
    clusters: "clusters.md",
    from_rust: "from-rust.md",
    adding_a_method: "adding-a-method.md",
    adding_a_kernel: "adding-a-kernel.md",
}
