//! Malformed inputs: every case of `testdata/malformed/cases.txt` ends with status 2 and the sentence written there,
//! prints nothing as a result, leaves no file behind, and never panics.
//!
//! A case is a line `# what is wrong`, then `file NAME: CONTENT` (with \n, \t, \r, \\ and \xNN), `copy NAME: PATH` with
//! `cut N` or `flip N` after it (a file of `testdata`, its first N bytes, or with byte N turned over), `run: ARGUMENTS`
//! as a shell would split them (`more NAME N: CONTENT` appends the content N times to a file), and `says: MESSAGE`, continued on lines that begin with `    | `; `[..]` in it stands
//! for anything. `MALFORMED=overwrite cargo test --release --test cli malformed::` writes the messages anew: read the
//! difference.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Default)]
struct Case {
    title: String,
    setup: Vec<String>,
    run: String,
    says: String,
}

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}

fn cases(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = vec![];
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if let Some(title) = line.strip_prefix("# ") {
            cases.push(Case { title: title.into(), ..Case::default() });
            continue;
        }
        let case = cases.last_mut().expect("a case begins with a line `# ...`");
        if let Some(run) = line.strip_prefix("run: ") {
            case.run = run.into();
        } else if let Some(says) = line.strip_prefix("says: ") {
            case.says = says.into();
        } else if let Some(more) = line.strip_prefix("    | ") {
            case.says += &format!("\n{more}");
        } else {
            let is_setup = ["file ", "more ", "copy "].into_iter().any(|word| line.starts_with(word));
            assert!(is_setup, "what is this: {line}");
            case.setup.push(line.into());
        }
    }
    cases
}

fn unescape(text: &str) -> Vec<u8> {
    let (mut out, mut chars) = (vec![], text.chars());
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.extend(c.to_string().as_bytes());
            continue;
        }
        match chars.next().expect("something after \\") {
            'n' => out.push(b'\n'),
            't' => out.push(b'\t'),
            'r' => out.push(b'\r'),
            'x' => {
                let digits: String = chars.by_ref().take(2).collect();
                out.push(u8::from_str_radix(&digits, 16).expect("two hexadecimal digits"));
            }
            other => out.extend(other.to_string().as_bytes()),
        }
    }
    out
}

/// Words as a shell splits them: double quotes keep spaces together.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted, mut begun) = (vec![], String::new(), false, false);
    for c in text.chars() {
        match c {
            '"' => (quoted, begun) = (!quoted, true),
            ' ' if !quoted => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            c => {
                word.push(c);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    words
}

fn set_up(case: &Case, dir: &Path) {
    for line in &case.setup {
        let (name, content) = line[5..].split_once(": ").expect("NAME: CONTENT");
        if line.starts_with("more ") {
            let (name, n) = name.split_once(' ').expect("NAME N");
            let mut bytes = std::fs::read(dir.join(name)).expect("a file before `more`");
            bytes.extend(unescape(content).repeat(n.parse().expect("a number")));
            std::fs::write(dir.join(name), bytes).expect("a file to read");
            continue;
        }
        let bytes = if line.starts_with("file ") {
            unescape(content)
        } else {
            let parts: Vec<&str> = content.split(' ').collect();
            let mut bytes = std::fs::read(testdata().join(parts[0])).expect("a file of testdata");
            match parts[1..] {
                [] => {}
                ["cut", n] => bytes.truncate(n.parse().expect("a number")),
                ["flip", n] => bytes[n.parse::<usize>().expect("a number")] ^= 0xff,
                _ => panic!("what is this: {content}"),
            }
            bytes
        };
        std::fs::write(dir.join(name), bytes).expect("a file to read");
    }
}

fn files(dir: &Path) -> BTreeSet<String> {
    std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into()).collect()
}

/// What the program says, without its `error: `; panics if it does anything else.
fn message(case: &Case) -> String {
    let dir = tempfile::tempdir().unwrap();
    set_up(case, dir.path());
    let before = files(dir.path());
    let run = Command::new(env!("CARGO_BIN_EXE_multikernel"))
        .args(words(&case.run))
        .current_dir(dir.path())
        .output()
        .unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    let title = &case.title;
    assert!(!stderr.contains("panicked"), "{title}: {stderr}");
    assert_eq!(run.status.code(), Some(2), "{title}: {stdout}{stderr}");
    assert_eq!(stdout, "", "{title}: a result beside an error");
    assert_eq!(files(dir.path()), before, "{title}: files were left behind or lost");
    let error = stderr.split_once("error: ").unwrap_or_else(|| panic!("{title}: no error in {stderr}")).1;
    // What the argument parser adds about its own help is not ours.
    error.split("\n\nFor more information").next().unwrap_or(error).trim_end().to_string()
}

#[test]
fn every_malformed_input_gets_its_message() {
    let path = testdata().join("malformed/cases.txt");
    let text = std::fs::read_to_string(&path).unwrap();
    let cases = cases(&text);
    assert!(cases.len() >= 80, "{} cases", cases.len());
    let found: Vec<String> = cases.iter().map(message).collect();
    if std::env::var("MALFORMED").is_ok_and(|value| value == "overwrite") {
        let one = |(case, found): (&Case, &String)| {
            let setup: String = case.setup.iter().map(|line| format!("{line}\n")).collect();
            let says = found.lines().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n    | ");
            format!("# {}\n{setup}run: {}\nsays: {says}\n", case.title, case.run)
        };
        let head: String =
            text.lines().take_while(|line| line.starts_with("; ")).map(|line| format!("{line}\n")).collect();
        let all: Vec<String> = cases.iter().zip(&found).map(one).collect();
        std::fs::write(&path, head + &all.join("\n")).unwrap();
        return;
    }
    for (case, found) in cases.iter().zip(&found) {
        let found: Vec<&str> = found.lines().filter(|line| !line.trim().is_empty()).collect();
        let found = found.join("\n");
        // `[..]` stands for a list that grows with the program.
        let fits = case.says.split_once("[..]").is_some_and(|(a, b)| found.starts_with(a) && found.ends_with(b));
        assert!(fits || found == case.says, "{}: {found}\nis not\n{}", case.title, case.says);
    }
}
