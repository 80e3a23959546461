//! Everything in the README runs, in its order, in one empty folder: what a stranger who pastes block after block gets.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use multikernel::kernel::KernelBank;

/// A fenced block: what it says it is, its first line in the README and its text.
struct Block {
    kind: String,
    line: usize,
    text: String,
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn blocks(readme: &str) -> Vec<Block> {
    let (mut found, mut open): (Vec<Block>, bool) = (vec![], false);
    for (i, line) in readme.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(_) if open => open = false,
            Some(kind) => {
                found.push(Block { kind: kind.into(), line: i + 2, text: String::new() });
                open = true;
            }
            None if open => found.last_mut().unwrap().text += &format!("{line}\n"),
            None => {}
        }
    }
    assert!(!open, "a block of the README has no end");
    found
}

/// The path with this build's `multikernel` and a `cargo` that builds nothing: it runs the program for `cargo run`, and for
/// `cargo install` looks whether there is something to install.
fn path_with_stand_ins(folder: &Path) -> std::ffi::OsString {
    std::fs::create_dir(folder).unwrap();
    let program = env!("CARGO_BIN_EXE_multikernel");
    let cargo = format!(
        "#!/bin/sh\ncase \"$*\" in\n'run --release -- '*) shift 3; exec '{program}' \"$@\" ;;\n\
         'install --locked --path '*) grep -q '^name = \"multikernel\"' '{}'/\"$4\"/Cargo.toml ;;\n\
         *) echo \"cargo $*: the test of the README does not know this\" >&2; exit 1 ;;\nesac\n",
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
    assert!(output.status.success(), "README.md:{}: {error}\n{}", block.line, block.text);
    String::from_utf8(output.stdout).unwrap()
}

/// The left column of the block of banks; the right one explains.
fn check_banks(block: &Block) {
    for line in block.text.lines() {
        let bank = line.split("  ").next().unwrap();
        bank.parse::<KernelBank>().unwrap_or_else(|error| panic!("README.md:{}: {error}", block.line));
    }
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
    assert!(block.text.contains(&profile), "README.md:{}: no {profile}", block.line);
}

#[test]
fn every_block_of_the_readme_runs_in_its_order() {
    let readme = std::fs::read_to_string(repository().join("README.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = path_with_stand_ins(&folder.path().join("bin"));
    let work = folder.path().join("work");
    std::fs::create_dir(&work).unwrap();
    let mut kinds = vec![];
    for block in blocks(&readme) {
        match block.kind.as_str() {
            // All tests: this one among them.
            "sh" if block.text.trim() == "bash scripts/test" => assert!(repository().join("scripts/test").is_file()),
            "sh" => {
                // Pasted into zsh, what comes after a # is no comment.
                assert!(!block.text.contains('#'), "README.md:{}: a comment", block.line);
                let mut bash = Command::new("bash");
                run(bash.args(["-euo", "pipefail", "-c", &block.text]).env("PATH", &path).current_dir(&work), &block);
            }
            "rust" => {
                let example = std::fs::read_to_string(repository().join("examples/quickstart.rs")).unwrap();
                let code: String = example.split_inclusive('\n').skip_while(|line| line.starts_with("//!")).collect();
                assert_eq!(block.text, code, "README.md:{} and examples/quickstart.rs differ", block.line);
                let said = run(Command::new(common::example("quickstart")).current_dir(&work), &block);
                assert!(said.contains("right on held-out rows") && said.contains("with probability"), "{said}");
            }
            "text" => check_banks(&block),
            "toml" => check_manifest(&block),
            other => panic!("README.md:{}: a block of the kind `{other}` is not tested", block.line),
        }
        kinds.push(block.kind);
    }
    for (kind, n) in [("sh", 9), ("rust", 1), ("text", 1), ("toml", 1)] {
        assert!(kinds.iter().filter(|found| *found == kind).count() >= n, "fewer than {n} blocks of the kind {kind}");
    }
}
