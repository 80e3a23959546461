//! Bad inputs by the hundred, on the real program: it ends by itself within 5 s and within twice the memory it was allowed,
//! with a result or with a refusal that names what is wrong. Never a panic, an abort or a file left behind.
//!
//! `testdata/attack/cases.txt` has options and places; here are files of every kind cut, turned over and forged with
//! right checksums, encodings, and things that do not end. `ATTACK=WORD` runs the cases that contain a word and tells of each.

use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use multikernel::Matrix;
use multikernel::dist::Rng;
use multikernel::file::{self, Kind, Record};

const MULTIKERNEL: &str = env!("CARGO_BIN_EXE_multikernel");
/// What `--memory` allows where a case does not say otherwise, in MiB.
const MEMORY: u64 = 256;
/// Seconds of the processor; the clock may run longer on a busy machine, and a build without optimisation does.
const MOST_SECONDS: f64 = if cfg!(debug_assertions) { 40.0 } else { 5.0 };
const HANG: Duration = Duration::from_secs(80);

/// A command line for the shell, in which `MK` is the program, and a word that a refusal names.
struct Case {
    line: String,
    names: Option<String>,
}

/// How a run ended.
struct Found {
    code: Option<i32>,
    seconds: f64,
    bytes: u64,
    said: String,
}

fn case(line: impl Into<String>, names: &str) -> Case {
    Case { line: line.into(), names: (names != "*").then(|| names.into()) }
}

fn testdata() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata")
}

#[expect(clippy::zombie_processes, reason = "wait4 waits for it, and tells what it used")]
fn run(folder: &Path, line: &str, said: &Path) -> Found {
    let line = line.replace("MK", MULTIKERNEL);
    let begin = Instant::now();
    let child = Command::new("bash")
        .args(["-c", &line])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(said).unwrap())
        .process_group(0)
        .spawn()
        .unwrap();
    let pid = child.id() as libc::pid_t;
    let (mut status, mut hung) = (0, false);
    // SAFETY: an all-zero rusage is a valid one.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointers are to local variables, and nobody else waits for this child.
    while unsafe { libc::wait4(pid, &mut status, libc::WNOHANG, &mut usage) } == 0 {
        if begin.elapsed() > HANG && !hung {
            hung = true;
            // SAFETY: the group is that of the child, which is not waited for yet.
            unsafe { libc::kill(-pid, libc::SIGKILL) };
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    Found {
        code: (libc::WIFEXITED(status) && !hung).then(|| libc::WEXITSTATUS(status)),
        seconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        bytes: usage.ru_maxrss as u64 * 1024,
        said: String::from_utf8_lossy(&std::fs::read(said).unwrap()).into_owned(),
    }
}

/// What a run may take for a moment: twice what it is allowed.
fn most_bytes(line: &str) -> u64 {
    let told = line.split_once("--memory ").and_then(|(_, rest)| rest.split_once("MiB"));
    2 * (told.and_then(|(number, _)| number.parse().ok()).unwrap_or(MEMORY) << 20)
}

/// What is wrong with how a run ended.
fn faults(case: &Case, found: &Found) -> Vec<String> {
    let mut faults = vec![];
    match found.code {
        Some(0 | 130) if case.names.is_some() => faults.push("it was not refused".to_string()),
        Some(0 | 2 | 130) => {}
        code => faults.push(format!("it ended with {code:?}")),
    }
    if ["panicked", "RUST_BACKTRACE", "internal error"].iter().any(|word| found.said.contains(word)) {
        faults.push("it panicked".into());
    }
    if found.seconds > MOST_SECONDS {
        faults.push(format!("it took {:.1} s", found.seconds));
    }
    if found.bytes > most_bytes(&case.line) {
        faults.push(format!("it took {} MiB", found.bytes >> 20));
    }
    if let (Some(2), Some(names)) = (found.code, &case.names)
        && !found.said.contains(names)
    {
        faults.push(format!("it does not name {names}"));
    }
    if found.code == Some(2) && !found.said.contains("error: ") {
        faults.push("no error is told".into());
    }
    faults
}

/// Files to spoil: rows in every format, models of every kind, a checkpoint.
fn furnish(folder: &Path) {
    let mut rng = Rng::new(1, 0);
    let rows: Vec<(f64, f64)> = (0..40).map(|i| (2.0 * rng.uniform() + f64::from(i % 2), rng.uniform())).collect();
    let put = |name: &str, content: &dyn Fn(usize, f64, f64) -> String, head: &str| {
        let lines = rows.iter().enumerate().map(|(i, &(a, b))| content(i, a, b));
        std::fs::write(folder.join(name), head.to_string() + &lines.collect::<String>()).unwrap();
    };
    let (colour, label) = (|i: usize| ["red", "blue"][i / 3 % 2], |i: usize| ["p", "q"][i % 2]);
    put("rows.csv", &|i, a, b| format!("{a:.3},{b:.3},{},{}\n", colour(i), label(i)), "a,b,colour,label\n");
    put("num.csv", &|i, a, b| format!("{a:.3},{b:.3},{}\n", label(i)), "a,b,label\n");
    put("num.tsv", &|i, a, b| format!("{a:.3}\t{b:.3}\t{}\n", label(i)), "a\tb\tlabel\n");
    put("rows.svm", &|i, a, b| format!("{} 1:{a:.3} 2:{b:.3} 7:1\n", i % 2), "");
    let time = |i: usize| 1.5 * i as f64 + 1.0;
    put("t.csv", &|i, a, b| format!("{a:.3},{b:.3},{:.3},{},{}\n", a - 1.0, time(i), i % 3 % 2), "a,b,y,time,event\n");
    put("v1.csv", &|i, a, _| format!("s{i},{a:.3}\n"), "id,a\n");
    put("v2.csv", &|i, _, b| format!("s{i},{b:.3}\n"), "id,b\n");
    put("labels.csv", &|i, _, _| format!("s{i},{}\n", label(i)), "id,label\n");
    put(
        "gram.csv",
        &|i, _, _| (0..40).map(|j| f64::from(u8::from(i == j)).to_string()).collect::<Vec<_>>().join(",") + "\n",
        "",
    );
    put("seqs.fasta", &|i, _, _| format!(">s{i}\n{}\n", "ACGT".repeat(1 + i % 5)), "");
    std::fs::write(folder.join("sets.gmt"), "one\t-\ta\tb\ntwo\t-\tb\n").unwrap();
    for (name, from) in [("whole.npz", "npy/whole.npz"), ("f8.npy", "npy/f8.npy"), ("book.xlsx", "xlsx/patients.xlsx")]
    {
        std::fs::copy(testdata().join(from), folder.join(name)).unwrap();
    }
    for line in [
        "gzip -k num.csv",
        "MK train num.csv --method average --out m",
        "MK train t.csv --target y --ignore time,event --method evidence --out n",
        "MK train t.csv --time time --event event --ignore y --method mklr --out t",
        "MK online num.csv --warmup 10 --out s",
        "MK train num.csv --method bm3kl --set draws=10 --set warmup=5 --set chains=2 --out d",
        "MK cluster num.csv --method mkc --model k",
        "MK evaluate num.csv --method majority,average --folds 3 --json > e.json",
        "MK train num.csv --method bm3kl --set draws=100000 --out o --checkpoint c --max-seconds 0.3",
    ] {
        let found = run(folder, line, &folder.join("said"));
        assert_eq!(found.code, Some(0), "{line}: {}", found.said);
    }
    assert!(folder.join("c").exists(), "the checkpoint of a stopped run");
}

/// Options and places, from a file.
fn written_cases() -> Vec<Case> {
    let text = std::fs::read_to_string(testdata().join("attack/cases.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with(';'));
    let cases = lines.map(|line| line.rsplit_once(" => ").unwrap_or_else(|| panic!("no => in {line}")));
    cases.map(|(line, names)| case(format!("MK {line}"), names)).collect()
}

/// How each kind of file is used; `F` is the file.
const USES: [(&str, &str); 20] = [
    ("num.csv", "MK train F --method average --out OUT --memory MEMORY"),
    ("rows.csv", "MK columns F --memory MEMORY"),
    ("num.tsv", "MK evaluate F --method majority --memory MEMORY"),
    ("rows.svm", "MK train F --method average --out OUT --memory MEMORY"),
    ("num.csv.gz", "MK train F --method average --out OUT --memory MEMORY"),
    ("num.csv", "MK online F --warmup 5 --on-error skip"),
    ("f8.npy", "MK columns F --memory MEMORY"),
    ("whole.npz", "MK columns F --memory MEMORY"),
    ("book.xlsx", "MK columns F --memory MEMORY"),
    ("seqs.fasta", "MK columns F --labels labels.csv --memory MEMORY"),
    ("labels.csv", "MK evaluate --view a=v1.csv --view b=v2.csv --labels F --method average --folds 3 --memory MEMORY"),
    ("v2.csv", "MK evaluate --view a=v1.csv --view b=F --labels labels.csv --method average --folds 3 --memory MEMORY"),
    ("gram.csv", "MK evaluate --gram k=F --labels labels.csv --kernels 'precomputed(k)' --method average --folds 3"),
    ("sets.gmt", "MK train num.csv --kernels 'linear each set(F)' --method average --out OUT"),
    ("m", "MK predict F num.csv --scores --out OUT"),
    ("n", "MK predict F t.csv --interval 0.9 --out OUT"),
    ("s", "MK online num.csv --model F --out OUT"),
    ("d", "MK draws F --out OUT.csv"),
    ("e.json", "MK report F --out OUT.html"),
    ("c", "MK train num.csv --method bm3kl --set draws=100000 --out OUT --checkpoint F --resume --max-seconds 0.2"),
];

/// Twelve ways to spoil a file.
fn spoilt(bytes: &[u8]) -> Vec<Vec<u8>> {
    let n = bytes.len();
    let turned = |at: usize, bits: u8| {
        let mut bytes = bytes.to_vec();
        bytes[at.min(n - 1)] ^= bits;
        bytes
    };
    let moved = [&bytes[n / 2..], &bytes[..n / 2]].concat();
    vec![
        vec![],
        bytes[..1].to_vec(),
        bytes[..n / 3].to_vec(),
        bytes[..n - 1].to_vec(),
        turned(0, 0xff),
        turned(9, 4),
        turned(n / 2, 0x80),
        turned(n - 5, 1),
        [bytes, bytes].concat(),
        vec![0; n],
        [&b"\xff\xfe"[..], bytes].concat(),
        moved,
    ]
}

fn spoilt_cases(folder: &Path) -> Vec<Case> {
    let mut cases = vec![];
    for (use_number, (name, line)) in USES.into_iter().enumerate() {
        for (k, bytes) in spoilt(&std::fs::read(folder.join(name)).unwrap()).into_iter().enumerate() {
            // The ending tells the format.
            let file = format!("spoilt-{use_number}-{k}-{name}");
            std::fs::write(folder.join(&file), bytes).unwrap();
            cases.push(case(line.replace('F', &file), "*"));
        }
    }
    cases
}

/// Fields of a file replaced by what does not fit, with the checksum right.
fn forged_cases(folder: &Path) -> Vec<Case> {
    type Change = fn(&mut Record, &str);
    let changes: [Change; 8] = [
        |record, name| record.put(name, &Vec::<f64>::new()),
        |record, name| record.put(name, &vec![1e308; 3]),
        |record, name| record.put(name, &vec![f64::INFINITY; 40]),
        |record, name| record.put(name, &Matrix::zeros(1000, 0)),
        |record, name| record.put(name, &Matrix::zeros(40, 1)),
        |record, name| record.put(name, &vec![u64::MAX; 40]),
        |record, name| record.put(name, &(1u64 << 53)),
        |record, name| record.put(name, &vec!["gaussian(1e300) on [0:9]".to_string(); 2]),
    ];
    let fields: [(&str, Kind, &[&str]); 6] = [
        ("m", Kind::Model, &["points", "columns", "model.weights", "model.coef", "classes", "resolved", "scaler.mean"]),
        ("n", Kind::Model, &["model.ridge.factor", "model.ridge.coef", "numbers.scale"]),
        ("t", Kind::Model, &["model.functions.hazard", "model.functions.times", "model.functions.coef"]),
        (
            "s",
            Kind::Model,
            &["stream.budget", "stream.expansion.coefficients", "stream.pending.times", "stream.n_rows"],
        ),
        ("d", Kind::Model, &["model.kept_weights", "model.n_chains", "model.log_nu", "model.temperature"]),
        ("c", Kind::Checkpoint, &["steps", "total", "state.sweeps", "state.chain0.x", "state.trace1.weights"]),
    ];
    let mut cases = vec![];
    for (name, kind, fields) in fields {
        let record = file::read(&folder.join(name), kind).unwrap();
        for (f, field) in fields.iter().enumerate() {
            for (k, change) in changes.iter().enumerate() {
                assert!(record.has(field), "{name} has no {field}");
                let (mut record, file) = (record.clone(), format!("forged-{name}-{f}-{k}"));
                change(&mut record, field);
                file::write(&folder.join(&file), kind, &record).unwrap();
                let line = match name {
                    "m" if k % 2 == 0 => "MK report F --out OUT.html num.csv",
                    "m" => "MK predict F num.csv --parts kernels --out OUT",
                    "t" => "MK predict F t.csv --at 3 --out OUT",
                    _ => USES.iter().find(|(used, _)| *used == name).unwrap().1,
                };
                cases.push(case(line.replace('F', &file), "*"));
            }
        }
    }
    cases
}

/// Text in other encodings, and text that is odd.
fn text_cases(folder: &Path) -> Vec<Case> {
    let plain = std::fs::read_to_string(folder.join("num.csv")).unwrap();
    let wide = |big: bool| {
        let word = move |unit: u16| if big { unit.to_be_bytes() } else { unit.to_le_bytes() };
        plain.encode_utf16().flat_map(word).collect::<Vec<u8>>()
    };
    let texts: Vec<Vec<u8>> = vec![
        [&b"\xff\xfe"[..], &wide(false)].concat(),
        [&b"\xfe\xff"[..], &wide(true)].concat(),
        wide(false),
        b"\xef\xbb\xbf".to_vec(),
        [&b"\xef\xbb\xbf\xef\xbb\xbf"[..], plain.as_bytes()].concat(),
        plain.replace('q', "\u{e9}").chars().map(|c| c as u32 as u8).collect(),
        plain.replace('q', "\u{202e}q").into_bytes(),
        plain.replace('\n', "\r").into_bytes(),
        plain.replace('\n', "\n\r").into_bytes(),
        plain.replace('\n', "\0\n").into_bytes(),
        plain.replace(',', "\u{a0},").into_bytes(),
        plain.replace(',', ";,").into_bytes(),
        plain.replace("a,b", &format!("{},b", "x".repeat(100_000))).into_bytes(),
        plain.replace('.', "\u{66b}").into_bytes(),
        format!("\"{plain}").into_bytes(),
        plain.replace('q', "\"q").into_bytes(),
        ",".repeat(50_000).into_bytes(),
        "\n".repeat(1_000_000).into_bytes(),
        "a\n".repeat(1_000_000).into_bytes(),
        format!("a,label\n{}", "1e308,p\n-1e308,q\n".repeat(30)).into_bytes(),
        format!("a,label\n{}", "1e-308,p\n1e-320,q\n".repeat(30)).into_bytes(),
        b"1 2147483647:1\n2 1:1\n".to_vec(),
        b"1 18446744073709551615:1\n2 1:1\n".to_vec(),
        b"1 -1:1\n2 0:1\n".to_vec(),
        b"1 1:1 1:2\n".to_vec(),
    ];
    let file = |(k, bytes)| {
        let name = format!("odd-{k}");
        std::fs::write(folder.join(&name), bytes).unwrap();
        name
    };
    let names: Vec<String> = texts.into_iter().enumerate().map(file).collect();
    let lines = ["MK train F --method average --out OUT --memory MEMORY", "MK online F --warmup 4 --out OUT"];
    lines.iter().flat_map(|line| names.iter().map(|name| case(line.replace('F', name), "*"))).collect()
}

/// Small files that unpack to gigabytes, headers that promise them, and files with holes.
fn bombs(folder: &Path) {
    let header = |shape: &str| {
        let text = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
        let text = format!("{text:<117}\n");
        [&b"\x93NUMPY\x01\x00"[..], &(text.len() as u16).to_le_bytes(), text.as_bytes()].concat()
    };
    let shapes =
        [("huge.npy", "(1000000000000, 8)"), ("over.npy", "(18446744073709551615, 2)"), ("none.npy", "(300000000, 0)")];
    for (name, shape) in shapes {
        std::fs::write(folder.join(name), header(shape)).unwrap();
    }
    File::create(folder.join("hole.csv")).unwrap().set_len(1 << 40).unwrap();
    let mut forged = 100_000_000u64.to_le_bytes().to_vec();
    forged.extend(b"{\"__metadata__\":{\"multikernel\":\"");
    File::create(folder.join("hole.multikernel"))
        .and_then(|mut file| {
            file.write_all(&forged)?;
            file.set_len(1 << 40)
        })
        .unwrap();
    for (name, target) in [("nowhere", "gone/away"), ("loop", "loop"), ("linked", "num.csv")] {
        std::os::unix::fs::symlink(target, folder.join(name)).unwrap();
    }
}

/// What does not end, what unpacks to too much, and what is not a file.
fn other_cases(folder: &Path) -> Vec<Case> {
    bombs(folder);
    let lines = [
        ("yes 1,2,p | MK train - --method average --memory 64MiB --out OUT", "memory"),
        ("yes | tr -d '\\n' | MK online - --out OUT", "line"),
        ("cat /dev/zero | MK train - --memory 64MiB --out OUT", "standard input"),
        ("cat /dev/urandom | MK train - --memory 64MiB --out OUT", "standard input"),
        ("cat /dev/zero | gzip -c | MK train - --format csv --memory 64MiB --out OUT", "standard input"),
        (
            "head -c 30000000 /dev/zero | tr '\\0' '\\n' | gzip -1 > OUT.csv.gz; MK columns OUT.csv.gz --memory 64MiB",
            "OUT.csv.gz",
        ),
        ("yes '\"' | MK columns - --memory 64MiB", "standard input"),
        ("yes ',,,,,,,,' | MK columns - --memory 64MiB", "standard input"),
        ("yes '1 1:1' | MK train - --memory 64MiB --out OUT", "memory"),
        ("yes '>a' | MK columns - --memory 64MiB", "standard input"),
        ("MK inspect /dev/zero", "/dev/zero"),
        ("MK inspect /dev/urandom", "/dev/urandom"),
        ("MK predict m /dev/zero", "/dev/zero"),
        ("MK report /dev/zero --out OUT.html", "/dev/zero"),
        ("MK report hole.multikernel --out OUT.html", "hole.multikernel"),
        ("yes '{' | MK report /dev/stdin --out OUT.html", "/dev/stdin"),
        (
            "head -c 200000000 /dev/zero | tr '\\0' x | gzip -1 > OUT.gmt.gz; MK train num.csv --kernels 'linear each set(OUT.gmt.gz)' --out OUT",
            "OUT.gmt.gz",
        ),
        ("MK columns /dev/urandom --memory 64MiB", "/dev/urandom"),
        ("MK train - --out OUT < /dev/null", "standard input"),
        ("MK train - --out OUT <&-", "standard input"),
        ("MK train - --labels - --out OUT < num.csv", "*"),
        ("MK columns huge.npy --memory 64MiB", "huge.npy"),
        ("MK columns over.npy --memory 64MiB", "over.npy"),
        ("MK columns none.npy --memory 64MiB", "none.npy"),
        ("MK columns hole.csv --memory 64MiB", "hole.csv"),
        ("MK inspect hole.multikernel", "hole.multikernel"),
        ("MK train nowhere --out OUT", "nowhere"),
        ("MK train loop --out OUT", "loop"),
        ("MK train num.csv --method average --out loop", "loop"),
        ("MK train num.csv --method average --out nowhere", "nowhere"),
        ("MK train linked --method average --out linked", "linked"),
        ("MK train num.csv --method average --out /dev/stdout | head -c 1", "*"),
        ("MK predict m num.csv > /dev/full", "*"),
        ("MK predict m num.csv | true", "*"),
        ("MK inspect m >&-", "*"),
        ("MK train $(printf 'x%.0s' $(seq 5000)).csv --out OUT", "name"),
        ("MK train num.csv --method average --out $(printf 'x%.0s' $(seq 300))", "name"),
        ("MK train $'a\\nb.csv' --out OUT", "a"),
        ("MK train $'\\xff\\xfe.csv' --out OUT", "error"),
        ("MK train num.csv --label $'\\xff' --out OUT", "error"),
        ("MK train num.csv --kernels \"$(printf '(%.0s' $(seq 50000))\" --out OUT", "kernel"),
        ("MK train num.csv --kernels \"$(printf 'linear,%.0s' $(seq 9000)) linear\" --method average --out OUT", "*"),
        ("MK train num.csv --ignore $(seq -s, 20000) --out OUT", "ignore"),
        ("ulimit -v 300000; MK train num.csv --method average --out OUT", "*"),
        ("ulimit -n 8; MK train num.csv --method average --out OUT", "*"),
        ("ulimit -f 1; MK datasets make moons --rows 9999 --out OUT.csv", "OUT.csv"),
        ("ulimit -u 1; MK train num.csv --method average --out OUT --threads 4", "*"),
        ("HOME= PATH= LANG=xx_YY.nope TERM= COLUMNS=0 MK inspect m", "*"),
        ("COLUMNS=-5 MK evaluate num.csv --method majority", "*"),
        ("RAYON_NUM_THREADS=x MK train num.csv --method average --out OUT --threads 2", "*"),
    ];
    lines.into_iter().map(|(line, names)| case(line, names)).collect()
}

#[test]
fn bad_inputs_end_soon_in_little_memory_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let (place, out) = (folder.path().join("in"), folder.path().join("out"));
    std::fs::create_dir(&place).and_then(|()| std::fs::create_dir(&out)).unwrap();
    furnish(&place);
    let mut cases = written_cases();
    for more in [spoilt_cases(&place), forged_cases(&place), text_cases(&place), other_cases(&place)] {
        cases.extend(more);
    }
    let only = std::env::var("ATTACK").ok();
    cases.retain(|case| only.as_deref().is_none_or(|word| case.line.contains(word)));
    assert!(only.is_some() || cases.len() > 600, "{} cases", cases.len());
    let (next, bad, worst) = (AtomicUsize::new(0), Mutex::new(vec![]), Mutex::new((0.0f64, 0u64, 0usize)));
    let work = || {
        while let Some((k, case)) = Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|k| Some((k, cases.get(k)?))) {
            let line = case.line.replace("OUT", &format!("../out/{k}")).replace("MEMORY", &format!("{MEMORY}MiB"));
            let names = case.names.as_ref().map(|names| names.replace("OUT", &format!("../out/{k}")));
            let found = run(&place, &line, &out.join(format!("{k}.said")));
            let faults = faults(&Case { line: line.clone(), names }, &found);
            let mut worst = worst.lock().unwrap();
            *worst =
                (worst.0.max(found.seconds), worst.1.max(found.bytes), worst.2 + usize::from(found.code == Some(2)));
            let told = format!(
                "{line:.300}\n  {faults:?} {:?} {:.1} s {} MiB: {:.400}",
                found.code,
                found.seconds,
                found.bytes >> 20,
                found.said
            );
            if only.is_some() {
                println!("{told}");
            }
            if !faults.is_empty() {
                bad.lock().unwrap().push(told);
            }
        }
    };
    std::thread::scope(|scope| (0..2).for_each(|_| drop(scope.spawn(work))));
    let (seconds, bytes, refused) = *worst.lock().unwrap();
    println!("{} cases, {refused} refused, at most {seconds:.1} s and {} MiB", cases.len(), bytes >> 20);
    let bad = bad.into_inner().unwrap();
    assert!(bad.is_empty(), "{} of {} cases\n{}", bad.len(), cases.len(), bad.join("\n"));
    for folder in [&place, &out] {
        let left = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let left: Vec<String> = left.filter(|name| name.ends_with(".partial") || name.ends_with("-lock")).collect();
        assert!(left.is_empty(), "left behind: {left:?}");
    }
}
