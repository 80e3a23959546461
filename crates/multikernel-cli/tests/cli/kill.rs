//! A run killed with -9 at any moment and resumed is the uninterrupted run, bit for bit.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::example;
use multikernel::dist::Rng;

fn train(out: &Path, checkpoint: &Path) -> Command {
    let mut command = Command::new(example("slow"));
    command.args(["train", "ionosphere", "--method", "slow", "--seed", "4", "--threads", "1"]);
    // A thousand steps in about half a second, stored about ten times: each write is flushed to disk, which may be
    // slow.
    command.args(["--set", "pause=300", "--checkpoint-seconds", "0.04", "--resume"]);
    command.arg("--out").arg(out).arg("--checkpoint").arg(checkpoint);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command
}

#[test]
fn run_killed_at_random_moments_and_resumed_is_bit_identical() {
    let folder = tempfile::tempdir().unwrap();
    let (out, checkpoint) = (folder.path().join("whole"), folder.path().join("whole.checkpoint"));
    let start = Instant::now();
    assert!(train(&out, &checkpoint).status().unwrap().success());
    let length = start.elapsed();
    let whole = std::fs::read(&out).unwrap();
    // Another twenty moments every time the test is run; the seed is printed with a failure.
    let seed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
    let mut rng = Rng::new(seed, 0);
    let (mut resumed, mut kills) = (0, 0);
    for case in 0..20 {
        let out = folder.path().join(format!("{case}"));
        let checkpoint = folder.path().join(format!("{case}.checkpoint"));
        // Two kills in each case, so that a resumed run is killed as well.
        for _ in 0..2 {
            let mut child = train(&out, &checkpoint).spawn().unwrap();
            std::thread::sleep(Duration::from_secs_f64(length.as_secs_f64() * rng.uniform() * 0.6));
            child.kill().unwrap();
            child.wait().unwrap();
            kills += 1;
            if checkpoint.exists() {
                resumed += 1;
                let read = multikernel::file::read(&checkpoint, multikernel::file::Kind::Checkpoint);
                assert!(
                    read.is_ok(),
                    "seed {seed}, case {case}: a killed run left a checkpoint that cannot be read: {read:?}"
                );
            }
        }
        assert!(train(&out, &checkpoint).status().unwrap().success(), "seed {seed}, case {case}");
        assert!(std::fs::read(&out).unwrap() == whole, "seed {seed}, case {case}: the resumed model differs");
        assert!(!checkpoint.exists(), "a finished run leaves no checkpoint");
    }
    println!("20 of 20 cases bit-identical after {kills} kills, {resumed} of them with a checkpoint to go on from");
    assert!(
        resumed >= 10,
        "seed {seed}: only {resumed} of {kills} kills came after a checkpoint, the test says little"
    );
}
