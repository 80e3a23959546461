//! Inputs and surroundings that mean harm, on the real program: memory, time, links, other runs, signals, terminals.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const MULTIKERNEL: &str = env!("CARGO_BIN_EXE_multikernel");

fn run(folder: &Path, args: &[&str]) -> Output {
    Command::new(MULTIKERNEL).args(args).current_dir(folder).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs with a limit on addresses, in KiB, where the shell has one.
fn within(folder: &Path, kib: u64, args: &str) -> Output {
    let command = format!("ulimit -v {kib}; exec {MULTIKERNEL} {args}");
    Command::new("bash").args(["-c", &command]).current_dir(folder).output().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn device_without_end_is_no_model_and_takes_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let output = within(folder.path(), 400_000, "inspect /dev/zero");
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains("not a multikernel model: it looks like a binary file"), "{}", said(&output));
}

#[cfg(target_os = "linux")]
#[test]
fn page_of_what_does_not_end_is_refused_in_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    // Holes cost no disk.
    std::fs::write(folder.path().join("hole.json"), "{").unwrap();
    std::fs::OpenOptions::new()
        .write(true)
        .open(folder.path().join("hole.json"))
        .and_then(|file| file.set_len(1 << 40))
        .unwrap();
    for (input, reason) in [
        ("/dev/zero", "not a multikernel model: it looks like a binary file"),
        ("hole.json", "hole.json: is larger than any evaluation"),
    ] {
        let output = within(folder.path(), 900_000, &format!("report {input} --out page.html"));
        assert_eq!(output.status.code(), Some(2), "{input}: {}", said(&output));
        assert!(said(&output).contains(reason), "{input}: {}", said(&output));
    }
}

#[cfg(unix)]
#[test]
fn line_without_end_is_refused_within_the_memory_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let command = format!("yes | tr -d '\\n' | {MULTIKERNEL} train - --memory 100MiB --out m");
    let output = Command::new("bash").args(["-c", &command]).current_dir(folder.path()).output().unwrap();
    assert!(said(&output).contains("standard input:1: the line is longer than 12.5 MiB"), "{}", said(&output));
    assert!(said(&output).contains("raise --memory"), "{}", said(&output));
}

#[test]
fn rows_of_many_lines_are_refused_within_the_memory_allowed() {
    let folder = tempfile::tempdir().unwrap();
    let lines = "some text\n".repeat(1 << 18);
    std::fs::write(folder.path().join("quote.csv"), format!("a,label\n1,p\n2,\"{lines}")).unwrap();
    std::fs::write(folder.path().join("long.fasta"), format!(">a\n{}", "ACGT\n".repeat(1 << 19))).unwrap();
    for (name, line) in [("quote.csv", 3), ("long.fasta", 1)] {
        let output = run(folder.path(), &["columns", name, "--memory", "8MiB"]);
        let begin = format!("error: {name}:{line}: the row that begins here is longer than 1.0 MiB");
        assert!(said(&output).starts_with(&begin), "{name}: {}", said(&output));
    }
}

#[test]
fn labels_ids_and_groups_count_as_memory() {
    let folder = tempfile::tempdir().unwrap();
    let long = "x".repeat(10_000);
    let table = |name: &str, row: &dyn Fn(usize) -> String| {
        let rows: String = (0..2000).map(row).collect();
        std::fs::write(folder.path().join(name), rows).unwrap();
    };
    table("label.csv", &|i| if i == 0 { "a,label\n".into() } else { format!("{i},{long}{}\n", i % 2) });
    table("id.csv", &|i| if i == 0 { "id,a,label\n".into() } else { format!("{long}{i},{i},{}\n", i % 2) });
    table("group.csv", &|i| if i == 0 { "g,a,label\n".into() } else { format!("{long},{i},{}\n", i % 2) });
    table("label.svm", &|i| format!("{long}{} 1:{i}\n", i % 2));
    for (name, more) in [("label.csv", ""), ("id.csv", ""), ("group.csv", "g"), ("label.svm", "")] {
        let mut args = vec!["train", name, "--memory", "5MiB", "--out", "m"];
        if !more.is_empty() {
            args.extend(["--groups", more]);
        }
        let output = run(folder.path(), &args);
        assert!(said(&output).contains("but 5.0 MiB may be used"), "{name}: {}", said(&output));
    }
}

#[test]
fn columns_are_charged_before_they_are_made() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("wide.svm"), "1 1:1 1000000:1\n2 1:2\n").unwrap();
    std::fs::write(folder.path().join("wide.csv"), ",".repeat(1 << 20) + "\n").unwrap();
    let output = run(folder.path(), &["train", "wide.svm", "--memory", "200MiB", "--out", "m"]);
    assert!(said(&output).contains("1000000 columns needs 534.1 MiB but 200.0 MiB"), "{}", said(&output));
    let output = run(folder.path(), &["columns", "wide.csv", "--memory", "50MiB"]);
    assert!(said(&output).contains("1048561 columns needs 104.0 MiB but 50.0 MiB"), "{}", said(&output));
}

#[test]
fn wide_table_is_read_in_linear_time() {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..100_000).map(|j| format!("x{j}")).collect();
    let row = "1,".repeat(100_000);
    std::fs::write(folder.path().join("wide.csv"), format!("{},label\n{row}a\n{row}b\n", names.join(","))).unwrap();
    let start = Instant::now();
    assert!(run(folder.path(), &["columns", "wide.csv"]).status.success());
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn labels_that_are_ids_are_refused_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let table = |name: &str, n: usize, n_classes: usize| {
        let rows: String = (0..n).map(|i| format!("{},{},c{}\n", i % 17, i % 5, i % n_classes)).collect();
        std::fs::write(folder.path().join(name), format!("a,b,label\n{rows}")).unwrap();
    };
    table("many.csv", 6000, 3000);
    table("each.csv", 1200, 1200);
    for (args, begin) in [
        (&["train", "many.csv", "--out", "m"][..], "error: many.csv: the label has 3000 classes in 6000 rows"),
        (&["online", "each.csv"], "error: the first 1000 rows have 1000 labels: a number or an id is no class"),
    ] {
        let start = Instant::now();
        let output = run(folder.path(), args);
        assert!(said(&output).starts_with(begin), "{args:?}: {}", said(&output));
        assert!(start.elapsed() < Duration::from_secs(5), "{args:?}: {:?}", start.elapsed());
    }
}

#[cfg(unix)]
#[test]
fn second_run_on_one_file_is_refused_and_a_killed_one_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["online", "-", "--out", "m", "--checkpoint", "c", "-q"];
    let mut first = Command::new(MULTIKERNEL)
        .args(args)
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while !folder.path().join(".c.multikernel-lock").exists() {
        assert!(start.elapsed() < Duration::from_secs(20), "nothing was claimed");
        std::thread::sleep(Duration::from_millis(20));
    }
    for second in [["train", "sonar", "--out", "m"], ["train", "sonar", "--out", "c"]] {
        let output = run(folder.path(), &second);
        assert_eq!(output.status.code(), Some(2));
        assert!(said(&output).contains("is being written by another run"), "{}", said(&output));
    }
    assert!(run(folder.path(), &["train", "sonar", "--method", "average", "--out", "other"]).status.success());
    first.kill().unwrap();
    first.wait().unwrap();
    let output = run(folder.path(), &["train", "sonar", "--method", "average", "--out", "m"]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(!folder.path().join(".m.multikernel-lock").exists());
}

#[cfg(unix)]
#[test]
fn stream_is_not_overwritten_under_another_of_its_names() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..20).map(|i| format!("{i},{},{}\n", i % 7, ["p", "q"][i % 2])).collect();
    let (stream, second) = (folder.path().join("rows.csv"), folder.path().join("second.csv"));
    std::fs::write(&stream, format!("a,b,label\n{rows}")).unwrap();
    std::fs::hard_link(&stream, &second).unwrap();
    let output = run(folder.path(), &["online", "rows.csv", "--warmup", "5", "--predictions", "second.csv"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("second.csv"), "{}", said(&output));
    assert!(std::fs::read_to_string(&stream).unwrap().ends_with("19,5,q\n"), "the stream is gone");
}

#[cfg(unix)]
#[test]
fn quiet_run_tells_once_that_checkpoints_fail() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("d")).unwrap();
    let args = ["online", "-", "--warmup", "8", "--checkpoint", "d/c", "--checkpoint-seconds", "0", "--out", "m", "-q"];
    let mut child = Command::new(MULTIKERNEL)
        .args(args)
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stream = child.stdin.take().unwrap();
    let mut feed = |text: &str| {
        stream.write_all(text.as_bytes()).and_then(|()| stream.flush()).unwrap();
        std::thread::sleep(Duration::from_millis(300));
    };
    feed("a,b,label\n");
    feed(&(0..20).map(|i| format!("{i},{},{}\n", i % 7, ["p", "q"][i % 2])).collect::<String>());
    let start = Instant::now();
    while !folder.path().join("d/c").exists() {
        assert!(start.elapsed() < Duration::from_secs(20), "no checkpoint");
        std::thread::sleep(Duration::from_millis(20));
    }
    std::fs::remove_dir_all(folder.path().join("d")).unwrap();
    (0..4).for_each(|i| feed(&format!("{i},1,p\n{i},2,q\n")));
    drop(stream);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(
        said(&output).matches("this checkpoint was not stored, the run goes on").count(),
        1,
        "{}",
        said(&output)
    );
    assert!(folder.path().join("m").exists());
}

/// A stream that is open until its checkpoint is stored, whose folder then goes away.
#[cfg(unix)]
fn stream_without_its_folder(folder: &Path, args: &[&str]) -> std::process::Child {
    std::fs::create_dir(folder.join("d")).unwrap();
    let mut child = Command::new(MULTIKERNEL)
        .args(["online", "-", "--warmup", "8", "--checkpoint", "d/c", "--checkpoint-seconds", "0", "-q"])
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let rows: String = (0..20).map(|i| format!("{i},{},{}\n", i % 7, ["p", "q"][i % 2])).collect();
    let stream = child.stdin.as_mut().unwrap();
    stream.write_all(format!("a,b,label\n{rows}").as_bytes()).and_then(|()| stream.flush()).unwrap();
    let start = Instant::now();
    let mut was_there = false;
    // Something may be written there just now.
    while !was_there || std::fs::remove_dir_all(folder.join("d")).is_err() {
        was_there |= folder.join("d/c").exists();
        assert!(start.elapsed() < Duration::from_secs(20), "no checkpoint");
        std::thread::sleep(Duration::from_millis(20));
    }
    child
}

#[cfg(unix)]
#[test]
fn model_is_kept_where_its_last_checkpoint_cannot_be_stored() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = stream_without_its_folder(folder.path(), &["--out", "m"]);
    // The stream goes on: its end would be that of the run.
    let _stream = child.stdin.take();
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("error: ") && said(&output).contains("d/c"), "{}", said(&output));
    assert!(run(folder.path(), &["inspect", "m"]).status.success(), "what was learned is lost");
}

#[cfg(unix)]
#[test]
fn signal_while_loading_ends_the_program_at_once() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("wide.svm"), "1 1:1 8000000:1\n2 1:2 8000000:2\n1 2:1\n2 1:1\n").unwrap();
    let child = Command::new(MULTIKERNEL)
        .args(["train", "wide.svm", "--memory", "6GiB", "--out", "m"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    let start = Instant::now();
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!(output.status.code(), Some(130), "{}", said(&output));
    assert!(said(&output).contains("cancelled; nothing was written"), "{}", said(&output));
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 1, "a claim or a partial file stays");
}

#[cfg(target_os = "linux")]
#[test]
fn limit_on_addresses_is_told_from_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    assert!(run(folder.path(), &["datasets", "make", "moons", "--rows", "12000", "--out", "r.csv"]).status.success());
    let output = within(folder.path(), 800_000, "train r.csv --method ufomkl --out m --max-seconds 2");
    assert!(!said(&output).contains("0 bytes may be used"), "{}", said(&output));
    let output = within(folder.path(), 800_000, "train r.csv --method average --out m");
    assert!(said(&output).contains("needs 1.07 GiB but ") && said(&output).contains("rows fit"), "{}", said(&output));
    assert!(!said(&output).contains("0 bytes may be used"), "{}", said(&output));
}

#[cfg(target_os = "linux")]
#[test]
fn limit_on_data_is_told_before_it_is_met() {
    let folder = tempfile::tempdir().unwrap();
    assert!(run(folder.path(), &["datasets", "make", "moons", "--rows", "12000", "--out", "r.csv"]).status.success());
    let command = format!("ulimit -d 800000; exec {MULTIKERNEL} train r.csv --method average --out m");
    let output = Command::new("bash").args(["-c", &command]).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("needs 1.07 GiB but ") && said(&output).contains("rows fit"), "{}", said(&output));
}

#[test]
fn names_and_labels_cannot_act_on_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = (0..30).map(|i| format!("{i},{},\x1b[31m{}\x07\n", i * i % 11, ["p", "q"][i % 2])).collect();
    std::fs::write(folder.path().join("rows.csv"), format!("\x1b]0;owned\x07,b\u{9b}2J,label\n{rows}")).unwrap();
    let hostile = |c: char| c.is_control() && c != '\n' && c != '\t';
    for args in [
        &["columns", "rows.csv"][..],
        &["train", "rows.csv", "--out", "m"],
        &["inspect", "m"],
        &["evaluate", "rows.csv", "--folds", "3", "--method", "majority,svm"],
        &["train", "rows.csv", "--out", "n", "--ignore", "\x1b[2J"],
        &["train", "rows.csv", "--label", "b\u{9b}2J", "--out", "n"],
        &["inspect", "\x1b[2J"],
        &["importance", "m", "rows.csv"],
    ] {
        let output = run(folder.path(), args);
        let all = printed(&output) + &said(&output);
        assert!(!all.contains(hostile), "{args:?}: {:?}", all);
        assert!(!all.is_empty());
    }
}

/// What a terminal shows of a command's result.
#[cfg(target_os = "linux")]
fn on_a_terminal(folder: &Path, args: &[&str]) -> String {
    use std::io::Read;
    use std::os::fd::{FromRawFd, OwnedFd};
    let (mut ours, mut its, none) = (0, 0, std::ptr::null_mut());
    // SAFETY: the pointers are to local variables, or null where nothing is wanted.
    assert_eq!(unsafe { libc::openpty(&mut ours, &mut its, none, none.cast(), none.cast()) }, 0);
    // SAFETY: both were just opened, and nobody else closes them.
    let (ours, its) = unsafe { (OwnedFd::from_raw_fd(ours), OwnedFd::from_raw_fd(its)) };
    let mut child =
        Command::new(MULTIKERNEL).args(args).current_dir(folder).stdout(its).stderr(Stdio::null()).spawn().unwrap();
    // The end of a terminal is an error.
    let mut shown = vec![];
    std::fs::File::from(ours).read_to_end(&mut shown).ok();
    assert!(child.wait().unwrap().success(), "{args:?}");
    String::from_utf8(shown).unwrap().replace("\r\n", "\n")
}

#[cfg(target_os = "linux")]
#[test]
fn results_on_a_terminal_cannot_act_on_it_and_programs_get_them_whole() {
    let folder = tempfile::tempdir().unwrap();
    let class = |i: usize| ["p\x1b[31m", "q\u{9b}2J\u{202e}"][i % 2];
    let rows: String = (0..30).map(|i| format!("s{i}\x1b[2J,{i},{},{}\n", i * i % 11, class(i))).collect();
    std::fs::write(folder.path().join("rows.csv"), format!("id,a,b,label\n{rows}")).unwrap();
    assert!(run(folder.path(), &["train", "rows.csv", "--method", "average", "--out", "m"]).status.success());
    for args in [
        &["predict", "m", "rows.csv"][..],
        &["inspect", "m", "--json"],
        &["evaluate", "rows.csv", "--method", "majority", "--folds", "2", "--json"],
        &["online", "rows.csv", "--warmup", "5", "--json"],
    ] {
        let shown = on_a_terminal(folder.path(), args);
        let hostile = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
        assert!(!shown.contains(hostile), "{args:?}: {shown:?}");
        assert!(shown.contains("\\u{9b}2J\\u{202e}"), "{args:?}: {shown:?}");
    }
    let piped = printed(&run(folder.path(), &["predict", "m", "rows.csv"]));
    assert!(piped.contains("s0\x1b[2J,p\x1b[31m"), "{piped:?}");
}

#[test]
fn arguments_cannot_act_on_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    for args in [
        &["--\x1b]0;owned\x07"][..],
        &["\x1b[2J"],
        &["train", "-\u{9b}2J.csv"],
        &["train", "sonar", "sonar", "\u{202e}csv"],
        &["evaluate", "sonar", "--folds", "\x1b[2J"],
        &["evaluate", "sonar", "--folds=3", "--header=\x07"],
    ] {
        let output = run(folder.path(), args);
        let hostile = |c: char| (c.is_control() && c != '\n' && c != '\t') || c == '\u{202e}';
        assert!(output.status.code() == Some(2) && said(&output).contains("error: "), "{args:?}: {}", said(&output));
        assert!(!said(&output).contains(hostile), "{args:?}: {:?}", said(&output));
    }
    // Of sequences that begin with an escape character nothing is left; others are shown.
    let output = run(folder.path(), &["train", "--\u{9b}2J"]);
    assert!(said(&output).contains("\\u{9b}2J"), "{:?}", said(&output));
}

#[test]
fn formulas_in_written_tables_are_guarded_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let classes = ["=HYPERLINK(\"x\")", "＝1+1"];
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let rows: String = (0..30).map(|i| format!("+id{i},{i},{},{}\n", i * i % 11, quoted(classes[i % 2]))).collect();
    std::fs::write(folder.path().join("rows.csv"), format!("id,a,b,label\n{rows}")).unwrap();
    assert!(run(folder.path(), &["train", "rows.csv", "--method", "average", "--out", "m"]).status.success());
    let plain = printed(&run(folder.path(), &["predict", "m", "rows.csv", "-q", "--scores"]));
    assert!(plain.contains("\n+id0,") && !plain.contains('\''), "{plain}");
    let guarded = printed(&run(folder.path(), &["predict", "m", "rows.csv", "-q", "--scores", "--guard-formulas"]));
    assert!(guarded.contains("\n\"'+id0\",") && guarded.contains("\"'=HYPERLINK(\"\"x\"\")\""), "{guarded}");
    // Some spreadsheets take signs of full width for the same.
    assert!(guarded.contains("\"'＝1+1\""), "{guarded}");
    // Negative numbers are no formulas.
    assert!(guarded.contains(",-0.") || guarded.contains(",-1"), "{guarded}");
}
