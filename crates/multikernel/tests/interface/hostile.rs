//! Files of others with any content: an error or a table within the memory allowed, never a panic. Each target mutates
//! its seeds from a fixed stream of random numbers, so that a failure comes back.
//!
//! `HOSTILE_RUNS=N` sets the runs of each target (default 400), `HOSTILE_SEED` where they begin.

use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};

use multikernel::data::{
    FeatureSets, Format, Gram, ReadOptions, ViewSource, bundled, read_from, read_matrix, read_views, read_with_labels,
};
use multikernel::dist::Rng;
use multikernel::plan::Session;
use multikernel::run::{Checkpoint, Observer};
use multikernel::{Plan, Pool};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn below(rng: &mut Rng, n: usize) -> usize {
    ((rng.uniform() * n as f64) as usize).min(n.saturating_sub(1))
}

/// Texts that readers treat in special ways.
const BITS: [&[u8]; 24] = [
    b"\n",
    b"\r",
    b"\t",
    b",",
    b";",
    b"\"",
    b"\"\"",
    b"'",
    b"#",
    b":",
    b"nan",
    b"1e999",
    b"-",
    b"99999999999999999999",
    b"0x",
    b"\xff",
    b"\0",
    b"\xef\xbb\xbf",
    b"id",
    b"label",
    b"NA",
    b"=1+1",
    b"\xe2\x80\xae",
    b"1,5",
];

/// Changes a few places: bytes turned over or doubled, pieces gone, moved or replaced by special texts.
fn mutated(rng: &mut Rng, seed: &[u8]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=below(rng, 4) {
        let at = below(rng, bytes.len() + 1);
        let end = (at + 1 + below(rng, 40)).min(bytes.len());
        match below(rng, 6) {
            0 if at < bytes.len() => bytes[at] ^= 1 << below(rng, 8),
            1 if at < bytes.len() => drop(bytes.drain(at..end)),
            2 => bytes.truncate(at),
            3 => {
                let piece = bytes[at.min(end)..end].to_vec();
                let to = below(rng, bytes.len() + 1);
                bytes.splice(to..to, piece);
            }
            _ => {
                let bit = BITS[below(rng, BITS.len())];
                bytes.splice(at..at, bit.iter().copied());
            }
        }
    }
    bytes
}

/// Runs a target on mutations of its seeds.
fn attack(target: &str, seeds: &[Vec<u8>], run: impl Fn(&[u8])) {
    assert!(!seeds.is_empty());
    let (runs, first) = (number("HOSTILE_RUNS", 400), number("HOSTILE_SEED", 0));
    for at in first..first + runs {
        let mut rng = Rng::new(at, 29);
        let bytes = mutated(&mut rng, &seeds[at as usize % seeds.len()]);
        let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(&bytes)));
        assert!(found.is_ok(), "{target} HOSTILE_SEED={at} HOSTILE_RUNS=1: {:?}", String::from_utf8_lossy(&bytes));
    }
}

fn options() -> ReadOptions {
    let mut options = ReadOptions::default();
    options.memory = Some(64 << 20);
    options
}

fn csv() -> Vec<u8> {
    b"id,age,city,\"note, long\",seen,label\na1,5.5,Rome,\"x \"\"y\"\"\",2024-01-02,p\na2,,Oslo,none,2023-11-30,q\na3,1e3,Rome,z,,p\n".to_vec()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn testdata(folder: &str, endings: &[&str]) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(folder);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| endings.iter().any(|known| ending == *known)));
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).unwrap()).filter(|bytes| bytes.len() < 1 << 18).collect()
}

#[test]
fn mutated_gzip_is_refused_or_read() {
    let seeds = [gzip(&csv()), [gzip(&csv()), gzip(b"a4,2,Oslo,n,,q\n")].concat()];
    attack("gzip", &seeds, |bytes| drop(read_from(bytes, "f.csv.gz", &options())));
    // Whole gzip around mutated text.
    attack("packed text", &[csv(), b"1 1:2 5:3\n2 3:1\n".to_vec()], |bytes| {
        drop(read_from(&gzip(bytes)[..], "f", &options()));
        let mut turned = options();
        turned.transpose = true;
        drop(read_from(bytes, "f.csv", &turned));
    });
}

#[test]
fn mutated_labels_and_views_are_refused_or_joined() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(at("rows.csv"), csv()).unwrap();
    std::fs::write(at("plain.csv"), "a,b\n1,2\n3,4\n5,6\n").unwrap();
    let seeds =
        [b"id,label\na1,p\na3,q\na2,p\n".to_vec(), b"label\np\nq\np\n".to_vec(), b"a1\tp\na2\tq\na3\tp\n".to_vec()];
    attack("labels", &seeds, |bytes| {
        std::fs::write(at("labels.csv"), bytes).unwrap();
        drop(read_with_labels(&at("rows.csv"), &at("labels.csv"), &options()));
        drop(read_with_labels(&at("plain.csv"), &at("labels.csv"), &options()));
    });
    attack("views", &[b"id,x,y\na1,1,2\na2,3,4\na3,5,6\n".to_vec(), csv()], |bytes| {
        std::fs::write(at("view.csv"), bytes).unwrap();
        let view = |name: &str, file: &str| ViewSource { name: name.into(), source: at(file) };
        let views = [view("one", "rows.csv"), view("two", "view.csv")];
        if let Ok(table) = read_views(&views, None, &options()) {
            drop(table.into_dataset());
        }
    });
}

#[test]
fn views_without_ids_are_joined_in_time_linear_in_columns() {
    let folder = tempfile::tempdir().unwrap();
    let written = |name: &str, n_columns: usize, first: usize, pid: &str| {
        // Whole numbers that differ in every row, others in each file; `pid` ends each row.
        let line = |cell: &dyn Fn(usize) -> String, last: String| {
            (0..n_columns).map(cell).chain([last]).collect::<Vec<_>>().join(",") + "\n"
        };
        let mut text = line(&|j| format!("g{j}"), "pid".into());
        for (i, last) in pid.chars().enumerate() {
            text += &line(&|j| (first + 7 * i + j).to_string(), last.into());
        }
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        ViewSource { name: name.into(), source: path.display().to_string() }
    };
    let mut options = ReadOptions::default();
    options.unlabelled = true;
    let joined = |n_columns: usize, pid: &str| {
        let views = [written("a", n_columns, 0, "123456"), written("b", n_columns, 99_999, pid)];
        let begin = std::time::Instant::now();
        read_views(&views, None, &options).map(|_| begin.elapsed().as_secs_f64())
    };
    let refused = joined(5, "654321").unwrap_err().to_string();
    assert!(refused.contains("'pid' has mostly the numbers it has in"), "{refused}");
    assert!(joined(5, "123456").is_ok() && joined(5, "665432").is_ok());
    // 16 times the columns take 16 times the time, not 256 times; the least of several is free of what else runs.
    let seconds = |n_columns| (0..4).map(|_| joined(n_columns, "123456").unwrap()).fold(f64::MAX, f64::min);
    let (few, many) = (seconds(500), seconds(8000));
    assert!(many < 64.0 * few, "{few} s for 500 columns, {many} s for 8,000");
}

#[test]
fn mutated_gram_matrices_are_refused_or_used() {
    let folder = tempfile::tempdir().unwrap();
    let seeds =
        [b"1,0.5,0.2\n0.5,1,0.1\n0.2,0.1,1\n".to_vec(), b"2 1\n1 2\n".to_vec(), b"id,a,b\na,1,0\nb,0,1\n".to_vec()];
    let npy = testdata("npy", &["npy"]);
    for (name, seeds) in [("g.csv", &seeds[..]), ("g.npy", &npy)] {
        let path = folder.path().join(name);
        attack(name, seeds, |bytes| {
            std::fs::write(&path, bytes).unwrap();
            if let Ok(values) = read_matrix(&path, Some(64 << 20)) {
                drop(Gram::square("g", values));
            }
        });
    }
}

#[test]
fn mutated_sets_and_archives_are_refused_or_read() {
    attack("sets", &[b"one\t-\ta\tb\ntwo\t\tc\ta\n".to_vec()], |bytes| {
        drop(FeatureSets::parse(&String::from_utf8_lossy(bytes), "f.gmt"));
    });
    attack("archives", &testdata("npy", &["npz"]), |bytes| drop(read_from(bytes, "f.npz", &options())));
    attack("sequences", &[b">a one\nACGT\nAC\n>b\nGG-T\n".to_vec()], |bytes| {
        drop(read_from(bytes, "f.fasta", &options()));
    });
}

/// A zip archive with one of its files mutated, packed again with right checksums.
fn repacked(rng: &mut Rng, archive: &[u8]) -> Option<Vec<u8>> {
    let mut old = zip::ZipArchive::new(Cursor::new(archive)).ok()?;
    let chosen = below(rng, old.len());
    let mut new = zip::ZipWriter::new(Cursor::new(vec![]));
    for k in 0..old.len() {
        let (mut file, mut bytes) = (old.by_index(k).ok()?, vec![]);
        file.read_to_end(&mut bytes).ok()?;
        new.start_file(file.name().ok()?, zip::write::SimpleFileOptions::default()).ok()?;
        let bytes = if k == chosen { mutated(rng, &bytes) } else { bytes };
        new.write_all(&bytes).ok()?;
    }
    Some(new.finish().ok()?.into_inner())
}

#[test]
fn mutated_workbooks_are_refused_or_read() {
    let seeds = testdata("xlsx", &["xlsx"]);
    attack("workbooks", &seeds, |bytes| drop(read_from(bytes, "f.xlsx", &options())));
    for at in 0..number("HOSTILE_RUNS", 400) {
        let mut rng = Rng::new(at, 31);
        let Some(bytes) = repacked(&mut rng, &seeds[at as usize % seeds.len()]) else { continue };
        let found = std::panic::catch_unwind(|| drop(read_from(&bytes[..], "f.xlsx", &options())));
        assert!(found.is_ok(), "sheets, run {at}");
    }
}

#[test]
fn mutated_parquet_and_arrow_files_are_refused_or_read() {
    attack("parquet", &testdata("arrow", &["parquet"]), |bytes| drop(read_from(bytes, "f.parquet", &options())));
    let mut arrow = options();
    arrow.format = Some(Format::Arrow);
    attack("arrow", &testdata("arrow", &["arrow", "feather"]), |bytes| drop(read_from(bytes, "f.arrow", &arrow)));
}

/// What a user is told.
#[derive(Default)]
struct Heard(Vec<String>);

impl Observer for Heard {
    fn warn(&mut self, text: &str) {
        self.0.push(text.into());
    }
}

#[test]
fn checkpoints_that_fail_are_told_once_as_a_loss() {
    let folder = tempfile::tempdir().unwrap();
    let (pool, mut heard) = (Pool::new(1).unwrap(), Heard::default());
    let mut session = Session::new(&pool, &mut heard);
    let every = std::time::Duration::ZERO;
    session.checkpoint = Some(Checkpoint { every, ..Checkpoint::new(folder.path().join("absent/c")) });
    let plan = Plan::new("silp").unwrap().kernels("gaussian(0.5, 1, 2, 4), linear").unwrap();
    let data = bundled("sonar").unwrap();
    let model = plan.train_in(&data.select(&(0..208).step_by(4).collect::<Vec<_>>()), &mut session).unwrap();
    assert!(model.training().is_finished() && model.training().steps() > 2);
    assert_eq!(heard.0.len(), 1, "{:?}", heard.0);
    assert!(heard.0[0].contains("this checkpoint was not stored, the run goes on"), "{:?}", heard.0);
}
