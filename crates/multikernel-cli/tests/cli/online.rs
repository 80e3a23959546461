//! `multikernel online` on the real program: what it prints, what it writes, and that a run which is killed and resumed
//! is the run that was not.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use multikernel::dist::Rng;
use serde_json::Value;

const MULTIKERNEL: &str = env!("CARGO_BIN_EXE_multikernel");

/// Rows of two classes that lie apart; from row `new` on every fifth is of a third class.
fn rows(n: usize, new: usize) -> Vec<String> {
    let mut rng = Rng::new(7, 0);
    let row = |i: usize| {
        let class = if i >= new && i.is_multiple_of(5) { 2 } else { usize::from(rng.uniform() < 0.5) };
        let mut value = || rng.uniform() + [0.0, 0.7, -0.7][class];
        let (a, b) = (value(), value());
        format!("{a:.4},{b:.4},{}\n", ["no", "yes", "new, quoted"][class].replace("new, quoted", "\"new, quoted\""))
    };
    (0..n).map(row).collect()
}

fn stream(rows: &[String]) -> String {
    format!("a,b,class\n{}", rows.concat())
}

/// A folder with a stream of 700 rows in it.
struct Bench {
    folder: tempfile::TempDir,
    rows: Vec<String>,
}

impl Bench {
    fn new() -> Self {
        let bench = Bench { folder: tempfile::tempdir().unwrap(), rows: rows(700, 400) };
        std::fs::write(bench.path("rows.csv"), stream(&bench.rows)).unwrap();
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    fn text(&self, name: &str) -> String {
        text(&self.read(name))
    }

    fn command(&self, args: &str) -> Command {
        let mut command = Command::new(MULTIKERNEL);
        command.arg("online").args(args.split(' ')).current_dir(self.folder.path());
        command
    }

    fn run(&self, args: &str) -> Output {
        self.command(args).output().unwrap()
    }

    /// What a run that succeeds prints.
    fn good(&self, args: &str) -> String {
        let output = self.run(args);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    }

    /// What a run that fails says.
    fn bad(&self, args: &str) -> String {
        let output = self.run(args);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        text(&output.stderr).trim_end().strip_prefix("error: ").unwrap().to_string()
    }

    /// A run on standard input, which is still open.
    fn live(&self, args: &str) -> Child {
        let mut command = self.command(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }
}

/// Sends a child the rest of its input and waits for it.
fn feed(mut child: Child, input: &str) -> Output {
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    output
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The cells of a table of predictions: label and predicted, after checking rows and header.
fn predictions(text: &str) -> Vec<(String, String)> {
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("row,label,predicted"));
    let cells = |(i, line): (usize, &str)| {
        let line = line.replace("\"new, quoted\"", "new");
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!((cells.len(), cells[0]), (3, (i + 1).to_string().as_str()), "{line}");
        (cells[1].to_string(), cells[2].to_string())
    };
    lines.enumerate().map(cells).collect()
}

fn accuracy(predictions: &[(String, String)]) -> f64 {
    predictions.iter().filter(|(label, predicted)| label == predicted).count() as f64 / predictions.len() as f64
}

#[test]
fn table_has_a_line_at_each_power_of_two_and_at_the_end() {
    let bench = Bench::new();
    let printed = bench.good("rows.csv --warmup 50 --predictions p.csv");
    let found = predictions(&bench.text("p.csv"));
    assert_eq!(found.len(), 700);
    let lines: Vec<&str> = printed.lines().collect();
    assert!(lines[0].ends_with("rows  accuracy  since last   support      rows/s  kernels"), "{printed}");
    // Two spaces, then the kernels, at the same place in every line.
    assert!(lines.iter().all(|line| line[56..].starts_with("  ") && !line[58..].starts_with(' ')), "{printed}");
    let (mut last, mut counts) = (0, vec![]);
    for line in &lines[2..] {
        let cells: Vec<&str> = line.split_whitespace().collect();
        let rows: usize = cells[0].parse().unwrap();
        assert_eq!(cells[1], format!("{:.4}", accuracy(&found[..rows])), "{line}");
        assert_eq!(cells[2], format!("{:.4}", accuracy(&found[last..rows])), "{line}");
        assert!(cells[3].parse::<usize>().is_ok() && cells[4].parse::<f64>().unwrap() > 0.0, "{line}");
        assert_eq!(line[58..].matches(", ").count(), 2, "three kernels: {line}");
        last = rows;
        counts.push(rows);
    }
    assert_eq!(counts, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 700]);
    // A last line that is there already is not printed twice.
    std::fs::write(bench.path("four.csv"), stream(&bench.rows[..4])).unwrap();
    let printed = bench.good("four.csv");
    assert_eq!(printed.lines().count(), 5, "{printed}");
}

#[test]
fn predictions_are_made_before_the_label_is_known() {
    let bench = Bench::new();
    bench.good("rows.csv --warmup 50 --predictions p.csv");
    let found = predictions(&bench.text("p.csv"));
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for ((label, predicted), row) in found.iter().zip(&bench.rows) {
        assert!(row.replace("\"new, quoted\"", "new").trim_end().ends_with(&format!(",{label}")), "{row} {label}");
        // The first row of all has nothing to be predicted from, and a class is not predicted before it has come.
        assert!(
            if known.is_empty() { predicted.is_empty() } else { known.contains(predicted.as_str()) },
            "{predicted}"
        );
        known.insert(label);
    }
    assert_eq!(known.into_iter().collect::<Vec<_>>(), ["new", "no", "yes"]);
}

#[test]
fn json_has_one_object_per_line_and_a_final_one() {
    let bench = Bench::new();
    let printed = bench.good("rows.csv --warmup 50 --json --predictions p.csv");
    let found = predictions(&bench.text("p.csv"));
    let objects: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let rows: Vec<u64> = objects.iter().map(|object| object["rows"].as_u64().unwrap()).collect();
    assert_eq!(rows, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 700]);
    for object in &objects {
        let rows = object["rows"].as_u64().unwrap() as usize;
        assert_eq!(object["accuracy"], accuracy(&found[..rows]));
        assert_eq!(object["final"], rows == 700);
        assert!(object["n_support"].is_u64() && object["rows_per_second"].is_f64());
        assert!(object["kernels"][0]["name"].is_string() && object["kernels"][0]["weight"].is_f64());
    }
    let last = objects.last().unwrap();
    let sum: f64 = last["kernels"].as_array().unwrap().iter().map(|kernel| kernel["weight"].as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    assert_eq!((&last["stop"], &last["skipped"]), (&"finished".into(), &0.into()));
    assert_eq!(last["total_rows"], 700);
    // A class that came late is a class.
    let classes: BTreeSet<&str> = last["classes"].as_array().unwrap().iter().map(|c| c.as_str().unwrap()).collect();
    assert_eq!(classes.into_iter().collect::<Vec<_>>(), ["new, quoted", "no", "yes"]);
}

#[test]
fn result_does_not_depend_on_threads_nor_on_how_rows_come() {
    let bench = Bench::new();
    bench.good("rows.csv --warmup 50 --threads 1 --predictions p.csv --out m");
    bench.good("rows.csv --warmup 50 --threads 2 --predictions p2.csv --out m2");
    assert!(bench.read("m") == bench.read("m2"));
    let mut child = bench.live("- --format csv --warmup 50 --predictions p3.csv --quiet");
    let mut stdin = child.stdin.take().unwrap();
    for piece in stream(&bench.rows).as_bytes().chunks(997) {
        stdin.write_all(piece).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert_eq!(bench.text("p.csv"), bench.text("p2.csv"));
    assert_eq!(bench.text("p.csv"), bench.text("p3.csv"));
}

#[test]
fn stream_of_few_rows_is_its_own_warmup_and_one_of_none_is_an_error() {
    let bench = Bench::new();
    bench.good("rows.csv --warmup 700 --out m");
    bench.good("rows.csv --warmup 100000 --predictions p.csv");
    bench.good("rows.csv --warmup 700 --predictions p2.csv");
    assert_eq!(bench.text("p.csv"), bench.text("p2.csv"));
    std::fs::write(bench.path("none.csv"), "a,b,class\n\n").unwrap();
    assert_eq!(
        bench.bad("none.csv --out m3 --predictions p3.csv"),
        "none.csv: the stream ended without a row to learn from; give at least one"
    );
    assert!(!bench.path("m3").exists() && !bench.path("p3.csv").exists());
}

#[test]
fn model_of_a_stream_predicts_and_goes_on_where_it_stands() {
    let bench = Bench::new();
    bench.good("rows.csv --warmup 50 --predictions whole.csv");
    std::fs::write(bench.path("one.csv"), stream(&bench.rows[..300])).unwrap();
    std::fs::write(bench.path("two.csv"), stream(&bench.rows[300..])).unwrap();
    bench.good("one.csv --warmup 50 --predictions one.out --out m");
    let output = bench.run("two.csv --model m --predictions two.out --out m2 --json");
    assert_eq!(text(&output.stderr), "going on from m, which has learned 300 rows\n");
    let last: Value = serde_json::from_str(text(&output.stdout).lines().last().unwrap()).unwrap();
    assert_eq!((&last["rows"], &last["total_rows"]), (&400.into(), &700.into()));
    // The table counts the rows of its own stream.
    assert_eq!(last["accuracy"], accuracy(&predictions(&bench.text("two.out"))));
    let halves = [predictions(&bench.text("one.out")), predictions(&bench.text("two.out"))].concat();
    assert_eq!(halves, predictions(&bench.text("whole.csv")));
    let mut predict = Command::new(MULTIKERNEL);
    let predicted =
        predict.args(["predict", "m2", "rows.csv", "--quiet"]).current_dir(bench.path("")).output().unwrap();
    assert!(predicted.status.success(), "{}", text(&predicted.stderr));
    assert_eq!(text(&predicted.stdout).lines().count(), 701);
    for (args, expected) in [
        ("two.csv --model m --budget 9", "--budget cannot be given: m was learned online and goes on as it was begun"),
        (
            "two.csv --model m --kernels linear",
            "--kernels cannot be given with --model, whose preprocessing and kernels are taken; leave one of them out",
        ),
        ("two.csv --model m --out m", "--out m would overwrite what is read from it; give another file"),
    ] {
        assert_eq!(bench.bad(args), expected);
    }
}

/// Rows of a category, a date, words and a number, each of which says something about the class.
fn mixed(n: usize) -> Vec<String> {
    let mut rng = Rng::new(3, 0);
    let row = |i: usize| {
        let class = usize::from(rng.uniform() < 0.5);
        let mut pick = |words: [&'static str; 2]| words[if rng.uniform() < 0.85 { class } else { 1 - class }];
        let colour = if i % 17 == 5 { "" } else { pick(["red", "blue"]) };
        let words = pick(["it went very well today", "so much pain at night"]);
        let (day, size) = (1 + (rng.uniform() * 28.0) as usize, rng.uniform() + class as f64 / 2.0);
        format!("{colour},2021-03-{day:02},{words} {i},{size:.3},{}\n", ["no", "yes"][class])
    };
    (0..n).map(row).collect()
}

#[test]
fn columns_of_all_kinds_are_learned_and_gone_on_with() {
    let bench = Bench::new();
    let rows = mixed(400);
    let write = |name: &str, rows: &[String]| {
        std::fs::write(bench.path(name), format!("colour,seen,note,size,class\n{}", rows.concat())).unwrap();
    };
    write("mixed.csv", &rows);
    write("one.csv", &rows[..150]);
    write("two.csv", &rows[150..]);
    let output = bench.run("mixed.csv --warmup 50 --predictions whole.csv --out whole");
    let told = text(&output.stderr);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("mixed.csv: taken as categories: colour; if not, say --kinds colour=text\n"), "{told}");
    assert!(told.contains("taken as dates: seen;") && told.contains("taken as text: note;"), "{told}");
    let found = predictions(&bench.text("whole.csv"));
    assert!(accuracy(&found) > 0.8, "{}", accuracy(&found));
    bench.good("one.csv --warmup 50 --predictions one.out --out m");
    bench.good("two.csv --model m --predictions two.out --out m2");
    let halves = [predictions(&bench.text("one.out")), predictions(&bench.text("two.out"))].concat();
    assert_eq!(halves, found);
    // A kind that is told holds: without the words and the colour there is less to learn from.
    bench.good("mixed.csv --warmup 50 --kinds note=category,colour=text --ignore size --predictions told.csv");
    assert_ne!(predictions(&bench.text("told.csv")), found);
    let mut predict = Command::new(MULTIKERNEL);
    let predicted =
        predict.args(["predict", "m2", "mixed.csv", "--quiet"]).current_dir(bench.path("")).output().unwrap();
    assert!(predicted.status.success(), "{}", text(&predicted.stderr));
    assert_eq!(text(&predicted.stdout).lines().count(), 401);
}

/// Rows of a category and two numbers, and a price that follows from them.
fn prices(n: usize) -> Vec<String> {
    let mut rng = Rng::new(5, 0);
    let row = |i: usize| {
        let (kind, a, b) = (rng.below(3), 4.0 * rng.uniform(), rng.uniform());
        let price = 1000.0 + 300.0 * a.sin() + 150.0 * kind as f64 + 40.0 * (b - 0.5) * a;
        let price = if i == 350 { "1.25e3".into() } else { format!("{price:.2}") };
        format!("{},{a:.4},{price},{b:.4}\n", ["red", "blue", "grey"][kind])
    };
    (0..n).map(row).collect()
}

#[test]
fn numbers_are_learned_told_resumed_and_gone_on_with() {
    let bench = Bench::new();
    let rows = prices(600);
    let write = |name: &str, rows: &[String]| {
        std::fs::write(bench.path(name), format!("kind,a,price,b\n{}", rows.concat())).unwrap();
    };
    write("half.csv", &rows[..300]);
    write("rest.csv", &rows[300..]);
    for method in ["ufomkl", "mklda"] {
        let settings = format!("--target price --method {method} --warmup 100 --update-every 10");
        // A run that ends without --out leaves its checkpoint, from which it goes on when the file has grown.
        write("all.csv", &rows[..300]);
        bench.good(&format!("all.csv {settings} --predictions part.csv --checkpoint c"));
        write("all.csv", &rows);
        let output = bench.run(&format!("all.csv {settings} --predictions whole.csv --out whole --json"));
        let told = text(&output.stderr);
        assert!(output.status.success(), "{told}");
        assert!(told.contains("price: standardised by the first 100 rows, mean 1"), "{told}");
        let last: Value = serde_json::from_str(text(&output.stdout).lines().last().unwrap()).unwrap();
        assert_eq!((&last["rows"], &last["target"], last.get("accuracy")), (&600.into(), &"price".into(), None));
        // What is told is what was predicted.
        let found = predictions(&bench.text("whole.csv"));
        let pairs: Vec<(f64, f64)> = found.iter().map(|(y, f)| (y.parse().unwrap(), f.parse().unwrap())).collect();
        assert_eq!(pairs[350].0, 1250.0);
        let mean = pairs.iter().map(|pair| pair.0).sum::<f64>() / 600.0;
        let sum = |f: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(f).sum::<f64>();
        let (errors, spread) = (sum(&|(y, f)| (y - f).powi(2)), sum(&|(y, _)| (y - mean).powi(2)));
        let close = |name: &str, expected: f64| {
            let found = last[name].as_f64().unwrap();
            assert!((found - expected).abs() < 1e-9 * expected.abs(), "{name}: {found} {expected}");
        };
        close("r2", 1.0 - errors / spread);
        close("rmse", (errors / 600.0).sqrt());
        close("mae", sum(&|(y, f)| (y - f).abs()) / 600.0);
        // Better than the mean, and ever better.
        let halves = [&pairs[..300], &pairs[300..]].map(|half| half.iter().map(|(y, f)| (y - f).powi(2)).sum::<f64>());
        assert!(errors < spread && halves[1] < halves[0], "{method}: {halves:?} {spread}");
        let output = bench
            .run(&format!("all.csv {settings} --predictions part.csv --checkpoint c --resume --out resumed --json"));
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(bench.read("whole") == bench.read("resumed"), "{method}");
        assert_eq!(bench.text("whole.csv"), bench.text("part.csv"));
        let again: Value = serde_json::from_str(text(&output.stdout).lines().last().unwrap()).unwrap();
        let kept = ["r2", "rmse", "mae", "since_last", "n_support", "kernels"];
        assert!(kept.iter().all(|name| again[name] == last[name]), "{again} {last}");
        // In two halves with a model between, and with the target under its own name.
        bench.good(&format!("half.csv {settings} --predictions one.csv --out m"));
        bench.good("rest.csv --model m --predictions two.csv --out m2");
        let halves = [predictions(&bench.text("one.csv")), predictions(&bench.text("two.csv"))].concat();
        assert_eq!(halves, found);
        let mut predict = Command::new(MULTIKERNEL);
        let predicted =
            predict.args(["predict", "m2", "rest.csv", "--quiet"]).current_dir(bench.path("")).output().unwrap();
        assert!(text(&predicted.stdout).starts_with("price\n"), "{predicted:?}");
        assert_eq!(text(&predicted.stdout).lines().count(), 301);
    }
    let table = bench.good("all.csv --target price");
    assert!(table.starts_with("        rows        R2  since last          RMSE   support"), "{table}");
}

#[test]
fn targets_that_are_none_are_told() {
    let bench = Bench::new();
    let rows = prices(60);
    let mut odd = rows.clone();
    odd[30] = "red,1,cheap,2\n".into();
    std::fs::write(bench.path("odd.csv"), format!("kind,a,price,b\n{}", odd.concat())).unwrap();
    std::fs::write(bench.path("good.csv"), format!("kind,a,price,b\n{}", rows.concat())).unwrap();
    // Remarks on the columns come before the error.
    let fails = |args: &str| {
        let output = bench.run(args);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        text(&output.stderr).lines().last().unwrap().to_string()
    };
    let error = "odd.csv:32:3: 'cheap' for the target 'price' is not a number; correct or remove the row";
    assert_eq!(fails("odd.csv --target price"), format!("error: {error}"));
    let output = bench.run("odd.csv --target price --on-error skip --json");
    assert!(text(&output.stderr).contains(&format!("skipped {error}")), "{}", text(&output.stderr));
    let last: Value = serde_json::from_str(text(&output.stdout).lines().last().unwrap()).unwrap();
    assert_eq!((&last["rows"], &last["skipped"]), (&59.into(), &1.into()));
    let error = fails("good.csv --target cost");
    assert!(error.starts_with("error: --target: good.csv has no column 'cost'"), "{error}");
    let error = fails("good.csv --target price --method obscure");
    assert!(error.starts_with("error: the method obscure does not predict numbers; use "), "{error}");
    bench.good("good.csv --label kind --out m");
    assert_eq!(
        fails("good.csv --model m --target price"),
        "error: --target cannot be given: the model to go on from predicts classes"
    );
}

#[test]
fn model_that_is_gone_on_from_says_how() {
    let bench = Bench::new();
    let plain = ["--kernels", "gaussian(1..3)"];
    let mut first = Command::new(MULTIKERNEL);
    first.args(["online", "rows.csv", "--method", "ufomkl", "--set", "c=3", "--out", "m"]).args(plain);
    assert!(first.current_dir(bench.path("")).output().unwrap().status.success());
    let output = bench.run("rows.csv --model m --out m2 --json");
    assert_eq!(text(&output.stderr), "going on from m, which has learned 700 rows\n");
    let model = multikernel::Model::load(bench.path("m2")).unwrap();
    assert_eq!(
        (model.training().method(), model.training().params()["c"].as_str(), model.training().n_samples()),
        ("ufomkl", "3", 1400)
    );
    let error = bench.bad("rows.csv --model m --set c=2");
    assert!(error.contains("the model was learned online by ufomkl with") && error.contains("c=3"), "{error}");
    assert_eq!(
        bench.bad("rows.csv --model m --scale none"),
        "--scale none cannot be given: the model's features are scaled standard"
    );
}

#[test]
fn model_that_was_not_learned_online_gives_its_scales_and_kernels() {
    let bench = Bench::new();
    let mut train = Command::new(MULTIKERNEL);
    train
        .args(["train", "rows.csv", "--method", "average", "--kernels", "gaussian(1..3), linear", "--out", "m"])
        .current_dir(bench.path(""));
    assert!(train.output().unwrap().status.success());
    let output = bench.run("rows.csv --model m --budget 300 --update-every 50 --out m2 --json");
    let remark = "m was not learned online: only its scales, kernels and classes are taken\n";
    assert_eq!(text(&output.stderr), remark);
    let last: Value = serde_json::from_str(text(&output.stdout).lines().last().unwrap()).unwrap();
    assert_eq!((&last["rows"], &last["total_rows"]), (&700.into(), &700.into()));
    let names: Vec<&str> =
        last["kernels"].as_array().unwrap().iter().map(|kernel| kernel["name"].as_str().unwrap()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    let error = bench.bad("rows.csv --model m --warmup 9");
    assert!(error.starts_with("the argument '--model <MODEL>' cannot be used with '--warmup <ROWS>'"), "{error}");
    assert_eq!(
        bench.bad("rows.csv --checkpoint m --resume"),
        "m: belongs to another run: its method is `average`, this run's is `mklda`; use the same settings and data, or \
         another checkpoint file"
    );
}

#[test]
fn columns_of_a_model_are_found_by_name_or_missed() {
    let bench = Bench::new();
    bench.good("rows.csv --warmup 50 --out m");
    std::fs::write(bench.path("turned.csv"), "class,extra,b,a\nyes,9,1.5,1.4\nno,9,0.3,0.2\n").unwrap();
    std::fs::write(bench.path("same.csv"), "a,b,class\n1.4,1.5,yes\n0.2,0.3,no\n").unwrap();
    bench.good("turned.csv --model m --predictions turned.out");
    bench.good("same.csv --model m --predictions same.out");
    assert_eq!(bench.text("turned.out"), bench.text("same.out"));
    for (text, expected) in [
        ("a,c,class\n1,2,yes\n", "f.csv: 1 of the 2 expected features are missing: b; give a table with all of them"),
        (
            "a,b\n1,2\n",
            "f.csv: the rows have no label column, and there is nothing to learn without labels; add one, or say which it is \
             with --label",
        ),
    ] {
        std::fs::write(bench.path("f.csv"), text).unwrap();
        assert_eq!(bench.bad("f.csv --model m"), expected);
    }
}

#[test]
fn malformed_lines_end_the_run_or_are_skipped_told_and_counted() {
    let bench = Bench::new();
    let mut lines: Vec<String> = bench.rows.clone();
    for k in 0..25 {
        lines.insert(100 + 2 * k, ["1,2\n", "1,\"2,yes\n", "oops,2,yes\n", "1,2,\n"][k % 4].into());
    }
    std::fs::write(bench.path("bad.csv"), stream(&lines)).unwrap();
    let output = bench.run("bad.csv --warmup 50 --predictions p.csv --checkpoint c --checkpoint-seconds 1000");
    assert_eq!(output.status.code(), Some(2));
    let short = "bad.csv:102: found 2 columns, the first line has 3; give every row the same";
    assert_eq!(text(&output.stderr), format!("error: {short}\n"));
    // All rows before it are learned, and stored to go on from once the line is mended.
    assert_eq!(predictions(&bench.text("p.csv")).len(), 100);
    assert!(bench.path("c").exists());

    let output = bench.run("bad.csv --warmup 50 --predictions p.csv --on-error skip --json");
    assert!(output.status.success());
    let told = text(&output.stderr);
    let told: Vec<&str> = told.lines().collect();
    assert_eq!(told.len(), 22, "{told:#?}");
    assert_eq!(told[0], format!("skipped {short}"));
    assert_eq!(
        told[1],
        "skipped bad.csv:104:2: the quote that opens this cell is not closed in its line; close it, or double a quote inside a \
         cell (a row of a stream is one line)"
    );
    assert_eq!(
        told[2],
        "skipped bad.csv:106:1: 'oops' in column 'a' is not a number; correct it, or leave the column out with --ignore"
    );
    assert_eq!(told[3], "skipped bad.csv:108:3: the label is missing; remove the row or fill it in first");
    assert_eq!(told[20..], ["further lines that are no rows are skipped and only counted", "25 lines skipped in all"]);
    let last: Value = serde_json::from_str(text(&output.stdout).lines().last().unwrap()).unwrap();
    assert_eq!((&last["rows"], &last["skipped"]), (&700.into(), &25.into()));
    // What was learned is what the good lines say.
    bench.good("rows.csv --warmup 50 --predictions p2.csv");
    assert_eq!(bench.text("p.csv"), bench.text("p2.csv"));
}

#[test]
fn row_that_the_learner_refuses_is_a_line_that_is_no_row() {
    let bench = Bench::new();
    let mut lines: Vec<String> = bench.rows.clone();
    // A number like any other to the reader, but too far from all others to be scaled.
    lines.insert(150, "1.5e308,0.5,no\n".into());
    std::fs::write(bench.path("far.csv"), stream(&lines)).unwrap();
    let message = "far.csv:152: row 1, column 1: 150000000000000";
    let output = bench.run("far.csv --warmup 50 --predictions p.csv");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).starts_with(&format!("error: {message}")), "{}", text(&output.stderr));
    assert_eq!(predictions(&bench.text("p.csv")).len(), 150);
    let output = bench.run("far.csv --warmup 50 --predictions p.csv --on-error skip");
    let told = text(&output.stderr);
    assert!(told.starts_with(&format!("skipped {message}")) && told.ends_with("\n1 line skipped in all\n"), "{told}");
    bench.good("rows.csv --warmup 50 --predictions p2.csv");
    assert_eq!(bench.text("p.csv"), bench.text("p2.csv"));
}

/// Waits for something that happens soon, or never.
fn until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn live_source_is_answered_row_by_row() {
    let bench = Bench::new();
    let mut child = bench.live("- --warmup 5 --predictions p.csv");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(stream(&bench.rows[..5]).as_bytes()).unwrap();
    let n_answers = || std::fs::read_to_string(bench.path("p.csv")).map_or(0, |text| text.lines().count());
    until("the warm-up is answered", || n_answers() == 6);
    for (i, row) in bench.rows[5..30].iter().enumerate() {
        stdin.write_all(row.as_bytes()).unwrap();
        until("the row is answered before the next one is sent", || n_answers() == 7 + i);
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[cfg(unix)]
#[test]
fn predictions_go_into_a_pipe_as_well() {
    use std::io::{BufRead, BufReader};
    let bench = Bench::new();
    assert!(Command::new("mkfifo").arg(bench.path("p")).status().unwrap().success());
    let mut child = bench.live("- --warmup 1 --predictions p");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(stream(&bench.rows[..1]).as_bytes()).unwrap();
    let pipe = bench.path("p");
    let (sender, answers) = std::sync::mpsc::channel();
    // In a thread of its own: an answer that never comes is to fail the test, not to hold it up.
    std::thread::spawn(move || {
        let lines = BufReader::new(std::fs::File::open(pipe).unwrap()).lines();
        lines.for_each(|line| sender.send(line.unwrap()).unwrap_or(()));
    });
    let next = || answers.recv_timeout(Duration::from_secs(60)).expect("an answer");
    assert_eq!(next(), "row,label,predicted");
    assert!(next().starts_with("1,"));
    for (i, row) in bench.rows[1..20].iter().enumerate() {
        stdin.write_all(row.as_bytes()).unwrap();
        assert!(next().starts_with(&format!("{},", i + 2)));
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn run_killed_at_random_moments_and_resumed_is_bit_identical() {
    let bench = Bench::new();
    let mut lines: Vec<String> = bench.rows.clone();
    // A line that is no row, a blank one, and a row that the learner refuses.
    for (at, line) in [(33, "1,2\n"), (344, "\n"), (500, "1.5e308,0.5,no\n")] {
        lines.insert(at, line.into());
    }
    let whole = stream(&lines);
    feed(bench.live("- --format csv --warmup 50 --on-error skip --predictions whole.csv --out whole"), &whole);
    // Other moments every time the test is run; the seed is printed with a failure.
    let seed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
    let mut rng = Rng::new(seed, 0);
    let mut resumed = 0;
    for case in 0..10 {
        let args = format!(
            "- --format csv --warmup 50 --on-error skip --predictions {case}.csv --out {case} --checkpoint {case}.checkpoint \
             --checkpoint-seconds 0 --resume"
        );
        for _ in 0..2 {
            let mut child = bench.live(&args);
            let mut stdin = child.stdin.take().unwrap();
            let end = (rng.uniform() * whole.len() as f64) as usize;
            for piece in whole.as_bytes()[..end].chunks(500) {
                stdin.write_all(piece).unwrap();
                std::thread::sleep(Duration::from_millis(1));
            }
            std::thread::sleep(Duration::from_secs_f64(rng.uniform() * 0.05));
            child.kill().unwrap();
            child.wait().unwrap();
            resumed += usize::from(bench.path(&format!("{case}.checkpoint")).exists());
        }
        feed(bench.live(&args), &whole);
        let context = format!("seed {seed}, case {case}");
        assert!(bench.read(&case.to_string()) == bench.read("whole"), "{context}: the resumed model differs");
        assert!(bench.read(&format!("{case}.csv")) == bench.read("whole.csv"), "{context}: its predictions differ");
        assert!(!bench.path(&format!("{case}.checkpoint")).exists(), "a finished run leaves no checkpoint");
    }
    assert!(resumed >= 5, "seed {seed}: only {resumed} of 20 kills came after a checkpoint, the test says little");
}

#[cfg(unix)]
#[test]
fn interrupt_ends_a_quiet_stream_cleanly_and_it_can_be_resumed() {
    let bench = Bench::new();
    feed(bench.live("- --warmup 50 --predictions whole.csv --out whole"), &stream(&bench.rows));
    let mut child = bench.live("- --warmup 50 --predictions p.csv --out m --checkpoint c");
    let mut stdin = child.stdin.take().unwrap();
    // The last row is cut in the middle, and nothing comes after it.
    stdin.write_all(format!("{}0.5,", stream(&bench.rows[..300])).as_bytes()).unwrap();
    let n_answers = || std::fs::read_to_string(bench.path("p.csv")).map_or(0, |text| text.lines().count());
    until("the rows are learned", || n_answers() == 301);
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stderr).ends_with("cancelled; add --resume to go on from c\n"), "{}", text(&output.stderr));
    assert!(text(&output.stdout).lines().last().unwrap().starts_with("         300 "), "{}", text(&output.stdout));
    assert!(bench.path("m").exists() && bench.path("c").exists());
    assert_eq!(
        bench.bad("rows.csv --warmup 50 --checkpoint c"),
        "c: exists already and would be overwritten; add --resume to go on from it, or remove it to start anew"
    );
    // What differs from the run that was stored is refused, and it stays as it was.
    let stored = bench.read("c");
    let (mut other, mut fewer) = (bench.rows.clone(), bench.rows.clone());
    other[7] = "9,9,no\n".into();
    fewer.truncate(200);
    std::fs::write(bench.path("other.csv"), stream(&other)).unwrap();
    std::fs::write(bench.path("fewer.csv"), stream(&fewer)).unwrap();
    std::fs::write(bench.path("wider.csv"), "a,b,c,class\n1,2,3,no\n").unwrap();
    let same = "use the same settings and data, or another checkpoint file";
    let again = "give the same stream from its beginning, or another checkpoint file";
    for (args, expected) in [
        ("rows.csv --warmup 60", format!("c: belongs to another run: its warmup is `50`, this run's is `60`; {same}")),
        (
            "rows.csv --warmup 50 --seed 1",
            format!("c: belongs to another run: its seed is `0`, this run's is `1`; {same}"),
        ),
        (
            "rows.csv --warmup 50 --budget 9",
            format!("c: belongs to another run: its budget is `none`, this run's is `9`; {same}"),
        ),
        (
            "rows.csv --warmup 50 --scale none",
            format!("c: belongs to another run: its scale is `standard`, this run's is `none`; {same}"),
        ),
        (
            "other.csv --warmup 50",
            format!(
                "c: belongs to another run: the rows of other.csv up to line 301 are not those it has learned; {again}"
            ),
        ),
        (
            "fewer.csv --warmup 50",
            "fewer.csv: ended after line 201, but c has learned up to line 301; give the whole stream again".into(),
        ),
        (
            "wider.csv --warmup 50",
            format!("c: belongs to another run: its features are not those of wider.csv; {again}"),
        ),
    ] {
        assert_eq!(bench.bad(&format!("{args} --checkpoint c --resume")), expected);
        assert!(bench.read("c") == stored, "{args}");
    }
    let run = "- --warmup 50 --predictions p.csv --out m --checkpoint c --resume";
    let output = feed(bench.live(run), &stream(&bench.rows));
    assert_eq!(text(&output.stderr), "resumed: read past 300 rows that c has learned\n");
    assert!(bench.read("p.csv") == bench.read("whole.csv"));
    assert!(bench.read("m") == bench.read("whole"));
    assert!(!bench.path("c").exists());
}

#[test]
fn time_limit_ends_a_stream_that_says_nothing() {
    let bench = Bench::new();
    let mut child = bench.live("- --format csv --warmup 50 --max-seconds 0.3 --out m");
    let stdin = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert_eq!(text(&output.stderr), "error: time limit reached before the first row; nothing was learned\n");
    assert!(!bench.path("m").exists());
    // With rows, what came is the warm-up, and is learned.
    let mut child = bench.live("- --format csv --warmup 50 --max-seconds 1 --out m --json");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(stream(&bench.rows[..20]).as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    assert!(output.status.success(), "{output:?}");
    let last: Value = serde_json::from_str(text(&output.stdout).lines().last().unwrap()).unwrap();
    assert_eq!((&last["rows"], &last["stop"]), (&20.into(), &"time limit reached".into()));
    assert!(bench.path("m").exists());
}

#[cfg(unix)]
#[test]
fn model_is_written_though_nobody_reads_the_table() {
    let bench = Bench::new();
    let command = format!("{MULTIKERNEL} online rows.csv --warmup 50 --out m | true; exit ${{PIPESTATUS[0]}}");
    let output = Command::new("bash").args(["-c", &command]).current_dir(bench.path("")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert!(bench.path("m").exists());
}

#[test]
fn outputs_that_have_no_place_of_their_own_are_refused_before_work_begins() {
    let bench = Bench::new();
    for (args, expected) in [
        ("rows.csv --out rows.csv", "--out rows.csv would overwrite what is read from it; give another file"),
        (
            "rows.csv --predictions rows.csv",
            "--predictions rows.csv would overwrite what is read from it; give another file",
        ),
        ("rows.csv --out m --checkpoint ./m", "--checkpoint and --out are both ./m; give two different files"),
        ("rows.csv --out m --predictions m", "--predictions and --out are both m; give two different files"),
        ("rows.csv --predictions no/p", "no/p: cannot be written: there is no folder no; create it first"),
        ("rows.csv --warmup 0", "--warmup 0: must be 1 or more"),
        ("rows.csv --update-every 0", "--update-every 0: must be 1 or more"),
        ("rows.csv --budget 0", "--budget 0: must be 1 or more"),
        (
            "rows.csv --checkpoint c --checkpoint-seconds=-1",
            "--checkpoint-seconds -1: must be 0 (after each chunk of rows) or more",
        ),
    ] {
        assert_eq!(bench.bad(args), expected);
    }
    let files: Vec<_> = std::fs::read_dir(bench.path("")).unwrap().collect();
    assert_eq!(files.len(), 1, "nothing is left behind");
}
